//! The page of a preconditioning: its rounds, and whether it reached steady state.

use report::html::chart::{Across, Axis, Chart, Form, Mark, Series, Tone};
use report::html::page::{self, Block, Lead, Page, Section, Table, Verdict};
use report::numbers::{rough, time};
use study::precondition::Report;

use super::all_figures;

/// Builds the page of a preconditioning.
pub fn page(report: &Report) -> Page {
    let verdict = match report.steady {
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
                rough(measured.iops),
                rough(measured.bytes_per_sec / 1e6),
                time(measured.mean_ns),
                measured.p999_ns.map_or("-".into(), time),
            ]);
        }
    }
    Page {
        title: format!("Preconditioning of {}", report.target),
        about: vec![
            report.settings.load.clone(),
            format!("{} rounds of {}", report.rounds.len(), report.settings.round),
        ],
        verdict: Verdict {
            word: verdict.0.into(),
            tone: verdict.1,
            sentence: verdict.2.into(),
            notes: report.left_out.clone(),
            ..Verdict::default()
        },
        lead: vec![Lead {
            topic: "What this means".into(),
            sentence: report.sentences.join(" "),
            advice: Vec::new(),
        }],
        sections: vec![Section {
            title: "Rounds".into(),
            blocks: Block::chart_block(Some(chart(report)))
                .into_iter()
                .chain([Block::Table(Table {
                    caption: "Every round".into(),
                    head: ["round", "load", "IOPS", "MB/s", "mean", "p99.9"]
                        .map(str::to_owned)
                        .to_vec(),
                    rows,
                })])
                .collect(),
            ..Section::default()
        }],
        downloads: vec![all_figures("rounds", report)],
        provenance: format!("fathom {}, {}", env!("CARGO_PKG_VERSION"), report.target),
        ..Page::default()
    }
}

/// Builds the steady-state plot of the specification: the rounds, the window, its mean, the lines
/// at ±10 %, and its slope.
fn chart(report: &Report) -> Chart {
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
        series.push(level_line("110 % of it", 1.1 * figures.average, Tone::Limit));
        series.push(level_line("90 % of it", 0.9 * figures.average, Tone::Limit));
        let line = |round: f64| figures.average + figures.slope * (round - (first + last) / 2.0);
        series.push(
            Series::new(
                "slope of the window",
                Form::Guide,
                [(first, line(first)), (last, line(last))],
            )
            .tone(Tone::Write),
        );
        marks.push(Mark {
            across: Across::X,
            at: first,
            to: Some(last),
            words: "window".into(),
            tone: Tone::Other,
        });
    }
    Chart {
        id: "rounds".into(),
        title: "Steady state".into(),
        about: "The rate of each round. The state is steady if the rates of five consecutive rounds \
            are within 20 % of their mean, and their fitted line changes by at most 10 % of it \
            (SNIA Solid State Storage Performance Test Specification)."
            .into(),
        x: Axis::linear("round", ""),
        y: Axis::from_zero("IOPS", "IOPS"),
        series,
        marks,
        ..Chart::default()
    }
}
