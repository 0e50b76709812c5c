//! The page of a trend: the figures of a test over the runs of it, with the levels they kept.

use analysis::compare::{Figure, Judgement, MIN_RUNS, Trend};
use report::html::chart::{Across, Axis, Chart, Form, Mark, Series, Tick, Tone, time_unit};
use report::html::page::{self, Block, Download, Lead, Page, Section, Verdict};
use serde::Serialize;

/// Ticks at most.
const MAX_TICKS: usize = 12;

/// One job of a test over its runs.
pub struct Test<'a> {
    /// What it is called, and where it ran.
    pub title: String,
    /// Which runs there are, and how one more is made.
    pub about: Vec<String>,
    /// Its figures.
    pub figures: &'a [Trend],
}

/// The page of trends.
pub fn page<T: Serialize>(tests: &[Test<'_>], document: &T) -> Page {
    let section = |(number, test): (usize, &Test<'_>)| Section {
        title: test.title.clone(),
        folded: number >= 4,
        blocks: test
            .figures
            .iter()
            .enumerate()
            .filter_map(|(figure, trend)| Block::chart(Some(chart(&format!("t{number}f{figure}"), trend))))
            .collect(),
        ..Section::default()
    };
    let lead = tests.iter().take(4).map(|test| Lead {
        topic: match tests.len() {
            1 => "What this means".into(),
            _ => test.title.clone(),
        },
        sentence: sentences(test.figures).join(" "),
        advice: Vec::new(),
    });
    let (title, about) = match tests {
        [only] => (only.title.clone(), only.about.clone()),
        _ => (
            "Figures over the history".into(),
            vec![format!(
                "{} tests, as the history of this user holds them.",
                tests.len()
            )],
        ),
    };
    let mut page = Page {
        title,
        about,
        verdict: verdict(tests),
        lead: lead.collect(),
        sections: tests.iter().enumerate().map(section).collect(),
        downloads: vec![Download {
            file: "trend.json".into(),
            words: "All figures (JSON)".into(),
            media: "application/json".into(),
            text: serde_json::to_string_pretty(document).unwrap_or_default(),
        }],
        provenance: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    };
    if tests.len() == 1 {
        page.raise_charts(&["t0f0", "t0f2"]);
        page.sections[0].title = "Further figures".into();
    }
    page
}

/// What the figures of a test did; what holds for all of them is said once, at the end.
pub fn sentences(figures: &[Trend]) -> Vec<String> {
    let all: Vec<&String> = figures.iter().flat_map(|trend| &trend.sentences).collect();
    let is_last = |(at, sentence): &(usize, &&String)| !all[at + 1..].contains(sentence);
    all.iter()
        .enumerate()
        .filter(is_last)
        .map(|(_, sentence)| (**sentence).clone())
        .collect()
}

/// Better, worse or the same since the history began, by the last change of each figure.
fn verdict(tests: &[Test<'_>]) -> Verdict {
    let figures = || tests.iter().flat_map(|test| test.figures);
    let last: Vec<Judgement> = figures()
        .filter_map(|trend| Some(trend.changes.last()?.judgement))
        .collect();
    let (word, tone, sentence) = if figures().any(|trend| trend.detectable_step.is_none()) {
        (
            "TOO FEW RUNS",
            page::Tone::Unsure,
            format!("Repeat the test until there are {MIN_RUNS} runs: fewer do not show a change."),
        )
    } else if last.contains(&Judgement::Worse) {
        (
            "WORSE",
            page::Tone::Bad,
            "At its last change a figure became worse, by more than chance.".to_owned(),
        )
    } else if last.is_empty() {
        (
            "UNCHANGED",
            page::Tone::Good,
            "No figure changed by more than chance and the margin.".to_owned(),
        )
    } else {
        (
            "BETTER",
            page::Tone::Good,
            "What changed last became better, by more than chance.".to_owned(),
        )
    };
    Verdict {
        word: word.into(),
        tone,
        sentence,
        ..Verdict::default()
    }
}

fn chart(id: &str, trend: &Trend) -> Chart {
    let (unit, per_unit) = match trend.figure {
        Figure::Iops => ("IOPS", 1.0),
        Figure::Mean | Figure::Quantile(_) => {
            time_unit(trend.points.iter().map(|point| point.value).fold(0.0, f64::max) / 4.0)
        }
    };
    // Runs stand beside each other in their order: how far apart in time they were says nothing of
    // the device.
    let place = |entry: u64| {
        trend
            .points
            .iter()
            .position(|point| point.entry == entry)
            .map_or(0.0, |index| index as f64 + 1.0)
    };
    let mut runs = Series::new(
        "runs",
        Form::Points,
        trend
            .points
            .iter()
            .map(|point| (place(point.entry), point.value / per_unit)),
    )
    .tone(Tone::Total);
    runs.words = trend
        .points
        .iter()
        .map(|point| format!("entry {}, {}", point.entry, day(point.unix_ns)))
        .collect();
    let levels = trend.levels.iter().enumerate().map(|(number, level)| {
        let ends = [level.first, level.last].map(|entry| (place(entry), level.median / per_unit));
        Series::new(format!("level {} ({} runs)", number + 1, level.runs), Form::Guide, ends).tone(Tone::Read)
    });
    let marks = trend.changes.iter().map(|change| Mark {
        across: Across::X,
        at: place(change.after) - 0.5,
        to: None,
        words: format!("{:+.0} %", 100.0 * (change.ratio - 1.0)),
        tone: Tone::Limit,
    });
    let each = trend.points.len().div_ceil(MAX_TICKS).max(1);
    let ticks = trend.points.iter().step_by(each).map(|point| Tick {
        at: place(point.entry),
        words: day(point.unix_ns),
    });
    Chart {
        id: id.into(),
        title: trend.name.clone(),
        about: "Each point is a run of the same test, in the order of their start. The broken lines are the levels that the figure kept.".into(),
        x: Axis {
            ticks: ticks.collect(),
            ..Axis::linear("run", "")
        },
        y: Axis::linear(&trend.name, unit),
        series: std::iter::once(runs).chain(levels).collect(),
        marks: marks.collect(),
        ..Chart::default()
    }
}

fn day(unix_ns: u64) -> String {
    let moment = jiff::Timestamp::from_second((unix_ns / 1_000_000_000) as i64);
    moment
        .map(|moment| moment.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}
