//! The page of a trend: the figures of a test over its runs, with their levels.

use std::collections::BTreeSet;

use analysis::compare::{Figure, Judgement, LevelChange, MIN_RUNS, Trend};
use analysis::format_change;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use model::stats::{mean, sample_deviation, student_quantile};
use report::html::chart::{Axis, Chart, Form, Mark, MarkAxis, Series, Tick, Tone, time_unit};
use report::html::page::{self, Block, Lead, Page, Section, Tile, Verdict};
use report::html::run::KEEP_AND_REPEAT;
use serde::Serialize;

use super::figures_download;

/// If only a larger change would show, the runs are unclear, not unchanged.
const MAX_CLEAR_STEP: f64 = 0.3;

/// One job of a test over its runs.
pub struct Test<'a> {
    /// Its name, and where it ran.
    pub title: String,
    /// Its load, and the number and dates of its runs.
    pub about: Vec<String>,
    /// The command line of its latest run, if known.
    pub command: Option<String>,
    /// Trend of each figure.
    pub figures: &'a [Trend],
}

pub fn build_page<T: Serialize>(tests: &[Test<'_>], document: &T) -> Page {
    let section = |(number, test): (usize, &Test<'_>)| {
        let charts = test.figures.iter().enumerate();
        let charts = charts
            .filter_map(|(figure, trend)| Block::chart_block(Some(build_chart(&format!("t{number}f{figure}"), trend))));
        Section {
            title: test.title.clone(),
            folded: number >= 4,
            blocks: charts.chain([Block::Text(sentences(test.figures).join(" "))]).collect(),
            ..Section::default()
        }
    };
    let (title, about) = match tests {
        [only] => (only.title.clone(), only.about.clone()),
        _ => (
            format!("Trend of {} tests", tests.len()),
            vec!["Each test of your history that ran at least twice.".to_owned()],
        ),
    };
    let lead = match tests {
        [only] => describe_sensitivity(only.figures)
            .into_iter()
            .chain([advise_next_step(only)])
            .collect(),
        several => several.iter().take(4).map(|test| describe_test(test)).collect(),
    };
    let mut page = Page {
        title,
        about,
        verdict: build_verdict(tests),
        lead,
        tiles: match tests {
            [only] => only.figures.iter().filter_map(build_tile).collect(),
            _ => Vec::new(),
        },
        sections: tests.iter().enumerate().map(section).collect(),
        downloads: vec![figures_download("trend", document)],
        provenance: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    };
    if tests.len() == 1 {
        page.promote_charts(&["t0f0", "t0f2"]);
        page.sections[0].title = "Figure by figure".into();
    }
    page
}

/// The newest value of a figure, and its change: that of its level, or else the distance from the
/// earlier runs.
fn build_tile(trend: &Trend) -> Option<Tile> {
    let (newest, earlier) = trend.points.split_last()?;
    let note = match trend.changes.last() {
        Some(change) => format!(
            "{} since entry {}",
            describe_ratio(change.ratio, interval_of_last_change(trend)),
            change.entry_after
        ),
        None => {
            let values: Vec<f64> = earlier.iter().map(|point| point.value).collect();
            let interval = ratio_interval(&values, &[newest.value]);
            let runs = match values.len() {
                1 => "the earlier run".to_owned(),
                count => format!("the mean of {count} earlier runs"),
            };
            let ratio = newest.value / mean(&values);
            format!("{} against {runs}", describe_ratio(ratio, interval))
        }
    };
    let value = match trend.figure {
        Figure::Iops => format!("{} IOPS", trend.figure.format_value(newest.value)),
        Figure::Mean | Figure::Quantile(_) => trend.figure.format_value(newest.value),
    };
    Some(Tile::new(&format!("Newest run, {}", trend.name), value, note))
}

/// Describes a change with its interval: `-20 % (95 %: -22 % to -18 %)`. The change is of medians
/// and the interval of means, which outliers move, so an interval without the change is omitted.
fn describe_ratio(ratio: f64, interval: Option<[f64; 2]>) -> String {
    let change = format_change(ratio);
    let interval = interval.filter(|[low, high]| (*low..=*high).contains(&ratio));
    match interval.map(|ends| ends.map(format_change)) {
        Some([low, high]) if low != high => format!("{change} (95 %: {low} to {high})"),
        _ => change,
    }
}

fn interval_of_last_change(trend: &Trend) -> Option<[f64; 2]> {
    let [.., before, after] = &trend.levels[..] else {
        return None;
    };
    let values = |first: u64, runs: usize| -> Vec<f64> {
        let points = trend.points.iter().skip_while(|point| point.entry != first);
        points.take(runs).map(|point| point.value).collect()
    };
    ratio_interval(&values(before.first, before.runs), &values(after.first, after.runs))
}

/// The 95 % interval of after / before, by Student's test on the logarithms. `None` for fewer than
/// three runs.
fn ratio_interval(before: &[f64], after: &[f64]) -> Option<[f64; 2]> {
    let degrees = (before.len() + after.len())
        .checked_sub(2)
        .filter(|degrees| *degrees > 0)? as u32;
    if before.is_empty() || after.is_empty() || before.iter().chain(after).any(|value| *value <= 0.0) {
        return None;
    }
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
    let (before, after) = (logs(before), logs(after));
    let squares = |logs: &[f64]| (logs.len() - 1) as f64 * sample_deviation(logs).powi(2);
    let deviation = ((squares(&before) + squares(&after)) / f64::from(degrees)).sqrt();
    let error = deviation * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
    let half = student_quantile(0.975, degrees) * error;
    let middle = mean(&after) - mean(&before);
    Some([middle - half, middle + half].map(f64::exp))
}

/// Describes one of several tests: its trend, and what to do next.
fn describe_test(test: &Test<'_>) -> Lead {
    Lead {
        topic: test.title.clone(),
        sentence: format!("{} {}", judge(test.figures).sentence, advise_next_step(test).sentence),
        advice: advise_next_step(test).advice,
    }
}

/// Describes the smallest change that the runs would show.
fn describe_sensitivity(figures: &[Trend]) -> Option<Lead> {
    let steps = figures.iter().map(|trend| {
        let step = trend.detectable_step?;
        Some(format!("about {:.0} % ({})", (100.0 * step).ceil(), trend.name))
    });
    let steps: Vec<String> = steps.collect::<Option<_>>()?;
    Some(Lead {
        topic: "How sure is it?".into(),
        sentence: format!(
            "The latest two runs would have shown a change of {} or more; smaller or slower changes stay invisible.",
            steps.join(", ")
        ),
        advice: Vec::new(),
    })
}

/// Advises what to do after a trend, with the command that does it.
fn advise_next_step(test: &Test<'_>) -> Lead {
    let change = find_decisive(test.figures).and_then(|trend| trend.changes.last());
    let (sentence, command) = match change {
        Some(change) => {
            let names: Vec<&str> = change
                .differences
                .iter()
                .map(|difference| difference.name.as_str())
                .collect();
            let sentence = match names.is_empty() {
                true => "The known facts do not differ between the last run before the change and \
                    the first after it: check what else changed, such as firmware or other users."
                    .to_owned(),
                false => format!("The two runs at the change also differ in: {}.", names.join(", ")),
            };
            let command = format!(
                "fathom compare history:{} history:{}",
                change.entry_before, change.entry_after
            );
            (sentence, Some(command))
        }
        None if test.figures.iter().any(|trend| trend.detectable_step.is_none()) => (
            {
                let runs = count_runs(test.figures);
                match MIN_RUNS.saturating_sub(runs) {
                    1 => "Repeat the test once more.".to_owned(),
                    missing => format!("Repeat the test {missing} more times."),
                }
            },
            test.command.clone(),
        ),
        None => (KEEP_AND_REPEAT.to_owned(), test.command.clone()),
    };
    let advice = command.iter().map(|command| format!("`{command}`")).collect();
    Lead::new("What next", sentence, advice)
}

/// Lists the sentences about the figures of a test. A sentence about several figures comes once, at
/// the end.
pub fn sentences(figures: &[Trend]) -> Vec<String> {
    let all: Vec<&String> = figures.iter().flat_map(|trend| &trend.sentences).collect();
    let is_last = |(at, sentence): &(usize, &&String)| !all[at + 1..].contains(sentence);
    all.iter()
        .enumerate()
        .filter(is_last)
        .map(|(_, sentence)| (**sentence).clone())
        .collect()
}

fn count_runs(figures: &[Trend]) -> usize {
    figures.iter().map(|trend| trend.points.len()).max().unwrap_or_default()
}

/// The words of verdicts, those that need attention first.
const WORDS: [&str; 6] = ["WORSE", "DOUBTFUL", "UNCLEAR", "TOO FEW RUNS", "BETTER", "UNCHANGED"];

/// Judges each test by the last change of its figures; of several, the worst decides.
fn build_verdict(tests: &[Test<'_>]) -> Verdict {
    let judged = tests.iter().map(|test| (test, judge(test.figures)));
    let rank = |word: &str| WORDS.iter().position(|known| *known == word);
    match judged.min_by_key(|(_, judgement)| rank(&judgement.word)) {
        None => {
            let sentence = "A trend needs at least two runs of the same test.";
            Verdict::new("TOO FEW RUNS", page::Tone::Unsure, sentence)
        }
        Some((_, judgement)) if tests.len() == 1 => judgement,
        Some((test, judgement)) => Verdict {
            headline: String::new(),
            sentence: format!(
                "{}: {} This is the worst of {} tests; each has its lines below.",
                test.title,
                judgement.sentence,
                tests.len()
            ),
            ..judgement
        },
    }
}

fn is_worse(trend: &Trend) -> bool {
    has_last(trend, Judgement::Worse)
}

fn has_last(trend: &Trend, judgement: Judgement) -> bool {
    let last = trend.changes.last();
    last.is_some_and(|change| change.judgement == judgement)
}

/// Finds the deciding figure: the first that became worse, else the first that changed.
fn find_decisive(figures: &[Trend]) -> Option<&Trend> {
    let mut changed = figures.iter().filter(|trend| !trend.changes.is_empty());
    let first = changed.clone().next();
    changed.find(|trend| is_worse(trend)).or(first)
}

fn judge(figures: &[Trend]) -> Verdict {
    let changed: Vec<&Trend> = figures.iter().filter(|trend| !trend.changes.is_empty()).collect();
    let decisive = find_decisive(figures);
    let few = figures.iter().any(|trend| trend.detectable_step.is_none());
    let steps = figures.iter().filter_map(|trend| trend.detectable_step);
    let step = steps.fold(f64::INFINITY, f64::min);
    let (word, tone) = match decisive {
        _ if few => ("TOO FEW RUNS", page::Tone::Unsure),
        None if step > MAX_CLEAR_STEP => ("UNCLEAR", page::Tone::Unsure),
        None => ("UNCHANGED", page::Tone::Good),
        Some(trend) if is_worse(trend) => ("WORSE", page::Tone::Bad),
        Some(trend) if has_last(trend, Judgement::Doubtful) => ("DOUBTFUL", page::Tone::Unsure),
        Some(_) => ("BETTER", page::Tone::Good),
    };
    let runs = count_runs(figures);
    let (headline, sentence) = match decisive.and_then(|trend| Some((trend, trend.changes.last()?))) {
        _ if few => (
            format!("{runs} runs are too few to show a change"),
            format!("{runs} runs so far; at least {MIN_RUNS} are needed to tell a change from chance."),
        ),
        None if word == "UNCLEAR" => (
            format!("{runs} runs vary too much to show a change"),
            format!(
                "The runs vary so much that only a change of about {:.0} % would show.",
                (100.0 * step).ceil()
            ),
        ),
        None => {
            let levels = figures.iter().filter_map(|trend| {
                Some(format!(
                    "{} {}",
                    trend.name,
                    trend.figure.format_value(trend.levels.last()?.median)
                ))
            });
            (
                format!("unchanged over {runs} runs"),
                format!(
                    "No figure changed by more than chance and the margin: {}.",
                    levels.collect::<Vec<_>>().join(", ")
                ),
            )
        }
        Some((trend, change)) => {
            let since = format!("entry {} ({})", change.entry_after, format_day(change.unix_ns));
            (
                format!("{} {} since {since}", trend.name, format_change(change.ratio)),
                format!(
                    "By more than chance, since {since}: {}",
                    describe_changes(&changed, trend, change)
                ),
            )
        }
    };
    Verdict {
        headline,
        ..Verdict::new(word, tone, sentence)
    }
}

/// Describes the last change of each figure: first those at the entry of the deciding change that
/// it judges alike, then the others.
fn describe_changes(changed: &[&Trend], decisive: &Trend, deciding: &LevelChange) -> String {
    let (mut alike, mut others) = (Vec::new(), Vec::new());
    for trend in changed {
        let Some(last) = trend.changes.last() else { continue };
        let [from, to] = [last.from, last.to].map(|value| trend.figure.format_value(value));
        let ratio = describe_ratio(last.ratio, interval_of_last_change(trend));
        let described = format!("{} from {from} to {to}, {ratio}", trend.name);
        match (last.entry_after, last.judgement) == (deciding.entry_after, deciding.judgement) {
            true if trend.figure == decisive.figure => alike.insert(0, described),
            true => alike.push(described),
            false => others.push(format!(
                "{described} since entry {} ({})",
                last.entry_after,
                last.judgement.word()
            )),
        }
    }
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" Also: {}.", others.join(", ")),
    };
    format!("{}.{others}", alike.join(", "))
}

fn build_chart(id: &str, trend: &Trend) -> Chart {
    let (unit, per_unit) = match trend.figure {
        Figure::Iops => ("IOPS", 1.0),
        Figure::Mean | Figure::Quantile(_) => {
            time_unit(trend.points.iter().map(|point| point.value).fold(0.0, f64::max) / 4.0)
        }
    };
    // Runs are equally spaced in start order: the time between them does not matter.
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
        .map(|point| {
            format!(
                "entry {}, {}",
                point.entry,
                to_local_time(point.unix_ns).strftime("%Y-%m-%d %H:%M")
            )
        })
        .collect();
    let levels = trend.levels.iter().enumerate().map(|(number, level)| {
        let ends = [level.first, level.last].map(|entry| (place(entry), level.median / per_unit));
        Series::new(format!("level {} ({} runs)", number + 1, level.runs), Form::Guide, ends).tone(Tone::Read)
    });
    let marks = trend.changes.iter().map(|change| {
        let words = format_change(change.ratio);
        Mark::line(MarkAxis::X, place(change.entry_after) - 0.5, words, Tone::Limit)
    });
    Chart {
        id: id.into(),
        title: trend.name.clone(),
        about: "Each point is a run of the same test, in the order of their start. The broken lines \
            are the levels of the figure."
            .into(),
        x: time_axis(
            &trend
                .points
                .iter()
                .map(|point| to_local_time(point.unix_ns))
                .collect::<Vec<_>>(),
        ),
        y: Axis::linear(&trend.name, unit),
        series: std::iter::once(runs).chain(levels).collect(),
        marks: marks.collect(),
        ..Chart::default()
    }
}

/// The axis of runs, equally spaced from 1 on. Their labels are as short as they can be while those
/// of two runs differ.
fn time_axis(starts: &[Zoned]) -> Axis {
    let days: BTreeSet<Date> = starts.iter().map(Zoned::date).collect();
    let (format, title) = match (days.len(), days.first()) {
        (1, Some(day)) => ("%H:%M", format!("start of the run on {day}, local time")),
        (count, _) if count == starts.len() => ("%Y-%m-%d", "day of the run".to_owned()),
        _ => ("%m-%d %H:%M", "start of the run, local time".to_owned()),
    };
    let tick = |(index, start): (usize, &Zoned)| Tick {
        at: index as f64 + 1.0,
        words: start.strftime(format).to_string(),
    };
    Axis {
        ticks: starts.iter().enumerate().map(tick).collect(),
        ..Axis::linear(&title, "")
    }
}

fn format_day(unix_ns: u64) -> String {
    to_local_time(unix_ns).date().to_string()
}

fn to_local_time(unix_ns: u64) -> Zoned {
    let moment = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    moment.to_zoned(TimeZone::system())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unchanged(detectable_step: f64) -> Trend {
        Trend {
            figure: Figure::Iops,
            name: "IOPS".into(),
            points: Vec::new(),
            levels: Vec::new(),
            changes: Vec::new(),
            detectable_step: Some(detectable_step),
            outlier: None,
            sentences: Vec::new(),
        }
    }

    #[test]
    fn runs_too_noisy_for_a_change_are_unclear_not_unchanged() {
        assert_eq!(judge(&[unchanged(0.12), unchanged(3.26)]).word, "UNCHANGED");
        let unclear = judge(&[unchanged(0.71), unchanged(3.26)]);
        assert_eq!(unclear.word, "UNCLEAR");
        assert!(unclear.sentence.contains("about 71 % would show"), "{unclear:?}");
    }

    #[test]
    fn the_worst_of_several_tests_decides() {
        let (quiet, noisy) = ([unchanged(0.12)], [unchanged(0.71)]);
        let tests = [("quiet", &quiet), ("noisy", &noisy)].map(|(title, figures)| Test {
            title: title.into(),
            about: Vec::new(),
            command: None,
            figures,
        });
        let verdict = build_verdict(&tests);
        assert_eq!(verdict.word, "UNCLEAR");
        assert!(verdict.sentence.starts_with("noisy: "), "{verdict:?}");
    }

    #[test]
    fn the_newest_value_has_its_change_with_an_interval() {
        let mut trend = unchanged(0.1);
        let point = |(entry, value): (usize, &f64)| analysis::compare::TrendPoint {
            entry: entry as u64,
            unix_ns: 0,
            value: *value,
        };
        let values = [1000.0, 1010.0, 990.0, 1000.0, 1020.0];
        trend.points = values.iter().enumerate().map(point).collect();
        let tile = build_tile(&trend).unwrap();
        assert_eq!((&*tile.name, &*tile.value), ("Newest run, IOPS", "1,020 IOPS"));
        assert!(tile.note.starts_with("+2.0 % (95 %: -0.9"), "{tile:?}");
        assert!(tile.note.ends_with(" against the mean of 4 earlier runs"), "{tile:?}");
        trend.points.truncate(2);
        assert_eq!(build_tile(&trend).unwrap().note, "+1.0 % against the earlier run");
    }

    #[test]
    fn runs_are_labelled_with_their_local_dates() {
        let labels = |starts: &[&str]| {
            let starts: Vec<Zoned> = starts.iter().map(|start| start.parse().unwrap()).collect();
            let axis = time_axis(&starts);
            let words: Vec<String> = axis.ticks.iter().map(|tick| tick.words.clone()).collect();
            (axis.title, words.join(", "))
        };
        let first = "2026-11-27T23:30:00+01:00[+01:00]";
        let second = "2026-11-28T09:05:00+01:00[+01:00]";
        let third = "2026-11-28T17:00:00+01:00[+01:00]";
        assert_eq!(labels(&[first, second]).1, "2026-11-27, 2026-11-28");
        assert_eq!(
            labels(&[first, second, third]).1,
            "11-27 23:30, 11-28 09:05, 11-28 17:00"
        );
        assert_eq!(
            labels(&[second, third]),
            (
                "start of the run on 2026-11-28, local time".into(),
                "09:05, 17:00".into()
            )
        );
        assert_eq!(
            to_local_time(1_700_000_000_000_000_000).timestamp().as_second(),
            1_700_000_000
        );
    }
}
