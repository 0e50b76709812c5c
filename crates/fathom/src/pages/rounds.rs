//! The page of a preconditioning: its rounds, and whether it reached steady state.

use model::stats::SniaWindow;
use report::html::chart::{Axis, Chart, Form, Mark, MarkAxis, Series, Tone};
use report::html::page::{self, Block, Lead, Page, Section, Table, Verdict};
use report::numbers::{format_rough, format_time};
use study::precondition::{Report, WINDOW_ROUNDS};

use super::figures_download;

pub fn build_page(report: &Report) -> Page {
    let (word, tone, sentence) = match report.steady {
        true => (
            "STEADY",
            page::Tone::Good,
            "The last rounds meet the steady-state rule of the SNIA performance test specification.",
        ),
        false => (
            "NOT STEADY",
            page::Tone::Bad,
            "The rounds did not meet the steady-state rule of the SNIA performance test specification.",
        ),
    };
    let mut rows = Vec::new();
    for round in &report.rounds {
        for measured in &round.measured {
            rows.push(vec![
                round.number.to_string(),
                measured.cell.map_or_else(|| "the load".to_owned(), |cell| cell.name()),
                format_rough(measured.iops),
                format_rough(measured.bytes_per_sec / 1e6),
                format_time(measured.mean_ns),
                measured.p999_ns.map_or("-".into(), format_time),
            ]);
        }
    }
    let chart = Block::chart_block(Some(build_chart(report)));
    let head = ["round", "load", "IOPS", "MB/s", "mean", "p99.9"];
    let table = Table::new("Every round", &head, rows);
    let blocks = chart.into_iter().chain([Block::Table(table)]).collect();
    Page {
        title: format!("Preconditioning of {}", report.target),
        about: vec![
            report.settings.load.clone(),
            format!("{} rounds of {}", report.rounds.len(), report.settings.round),
        ],
        verdict: Verdict {
            notes: report.left_out.clone(),
            ..Verdict::new(word, tone, sentence)
        },
        lead: vec![Lead::new("What this means", report.sentences.join(" "), Vec::new())],
        sections: vec![Section::new("Rounds", blocks)],
        downloads: vec![figures_download("rounds", report)],
        provenance: format!("fathom {}, {}", env!("CARGO_PKG_VERSION"), report.target),
        ..Page::default()
    }
}

/// Describes the chart with the limits of the rule that judges the rounds.
fn describe_rule() -> String {
    format!(
        "The rate of each round. The state is steady if the rates of {WINDOW_ROUNDS} consecutive rounds differ by at \
         most {:.0} % of their mean, and the line fitted through them changes by at most {:.0} % of their mean (SNIA \
         Solid State Storage Performance Test Specification).",
        100.0 * SniaWindow::RANGE,
        100.0 * SniaWindow::EXCURSION
    )
}

/// Builds the steady-state plot of the specification: the rounds, the window, its mean, the lines
/// at ±10 %, and its slope.
fn build_chart(report: &Report) -> Chart {
    let tracked = report
        .rounds
        .iter()
        .map(|round| (f64::from(round.number), round.tracked));
    let mut series = vec![Series::new("judged rate", Form::Points, tracked).tone(Tone::Total)];
    let mut marks = Vec::new();
    if let Some(window) = &report.window {
        let (first, last) = (f64::from(window.first), f64::from(window.last));
        let figures = &window.figures;
        let level_line =
            |name: &str, at: f64, tone: Tone| Series::new(name, Form::Guide, [(first, at), (last, at)]).tone(tone);
        series.push(level_line("mean of the window", figures.average, Tone::Read));
        series.push(level_line("mean + 10 %", 1.1 * figures.average, Tone::Limit));
        series.push(level_line("mean - 10 %", 0.9 * figures.average, Tone::Limit));
        let fitted_rate = |round: f64| figures.average + figures.slope * (round - (first + last) / 2.0);
        series.push(
            Series::new(
                "slope of the window",
                Form::Guide,
                [(first, fitted_rate(first)), (last, fitted_rate(last))],
            )
            .tone(Tone::Write),
        );
        marks.push(Mark::band(MarkAxis::X, first, last, "window", Tone::Other));
    }
    Chart {
        id: "rounds".into(),
        title: "Steady state".into(),
        about: describe_rule(),
        x: Axis::linear("round", ""),
        y: Axis::from_zero("IOPS", "IOPS"),
        series,
        marks,
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::snia_window;
    use model::testing::assert_contains;

    /// Rounds that are all within 20 % of their mean may differ by 40 % of it.
    #[test]
    fn the_chart_states_the_range_and_not_a_distance_from_the_mean() {
        assert_contains(
            &describe_rule(),
            "5 consecutive rounds differ by at most 20 % of their mean, and the line fitted through them changes by \
             at most 10 %",
        );
        let range_met = |rounds: &[f64]| snia_window(rounds).unwrap().keeps_range();
        assert!(!range_met(&[85.0, 115.0, 100.0, 115.0, 85.0]));
        assert!(range_met(&[91.0, 109.0, 100.0, 109.0, 91.0]));
    }
}
