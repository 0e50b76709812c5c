//! The trend of a repeated test: whether a figure stayed the same, and when it changed.
//!
//! Finding a change takes at least [`MIN_RUNS`] runs, and each level has at least [`MIN_LEVEL`].
//! With uncorrelated noise, at most 4 % of series of 6 to 12 runs show a false change, and fewer of
//! the longer series do (measured on 4,000 series of each length). A fact that differs across a
//! change coincides with it, but need not be its cause.

use model::stats::{Segment, segments};
use serde::Serialize;

use super::change::{Figure, Judgement};
use super::fingerprint::{Difference, Fact, has_invalidating_findings, list_differences};
use crate::figures::format_change;

/// Minimum number of runs in a series that is searched for changes.
pub const MIN_RUNS: usize = 6;
/// Minimum number of runs in a level.
pub const MIN_LEVEL: usize = 2;
/// Minimum distance of an outlier from the level before it, in standard deviations.
const MIN_OUTLIER_DEVIATIONS: f64 = 4.0;
/// Facts that are never listed with a change, because they cannot explain it.
const IGNORED_FACTS: [&str; 1] = ["seed"];

/// One run of a series.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Number in the history.
    pub entry: u64,
    /// Start of the run.
    pub unix_ns: u64,
    /// Day, as text.
    pub day: String,
    /// Value of the figure in this run.
    pub value: f64,
    /// Facts of the run.
    pub facts: Vec<Fact>,
}

/// The trend of a figure over several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The figure that is followed.
    pub figure: Figure,
    /// Name of the figure in reports.
    pub name: String,
    /// The runs, the earliest first.
    pub points: Vec<TrendPoint>,
    /// The levels in order of time; one if nothing changed or there are too few runs.
    pub levels: Vec<Level>,
    /// The changes between levels that exceed the margin.
    pub changes: Vec<LevelChange>,
    /// The smallest relative change of the latest two runs that would be detected in about three of
    /// four series. Absent if there are too few runs.
    #[serde(rename = "smallest")]
    pub detectable_step: Option<f64>,
    /// The latest run, if it is an outlier.
    #[serde(rename = "alone")]
    pub outlier: Option<u64>,
    /// The trend in sentences.
    pub sentences: Vec<String>,
}

/// A run in the trend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// Number in the history.
    pub entry: u64,
    /// Start of the run.
    pub unix_ns: u64,
    /// The figure: operations per second or nanoseconds.
    pub value: f64,
}

/// Runs with the same level of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Number of the first run.
    pub first: u64,
    /// Number of the last run.
    pub last: u64,
    /// Number of runs.
    pub runs: usize,
    /// Their median.
    pub median: f64,
    /// Sample standard deviation as a share of the mean.
    pub variation: f64,
}

/// The boundary between two levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// History number of the last run before the change.
    #[serde(rename = "before")]
    pub entry_before: u64,
    /// History number of the first run after the change.
    #[serde(rename = "after")]
    pub entry_after: u64,
    /// Start of the first run after.
    pub unix_ns: u64,
    /// Level before.
    pub from: f64,
    /// Level after.
    pub to: f64,
    /// After / before.
    pub ratio: f64,
    /// Better or worse.
    #[serde(rename = "word")]
    pub judgement: Judgement,
    /// Facts that differ between the last run before and the first run after.
    pub differences: Vec<Difference>,
}

/// Analyses the trend of a figure; `None` for fewer than two runs. Levels that differ by at most
/// `margin`, as a share, count as the same.
pub fn trend(figure: Figure, runs: &[RunRecord], margin: f64) -> Option<Trend> {
    if runs.len() < 2 {
        return None;
    }
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    let has_enough_runs = values.len() >= MIN_RUNS;
    let level_segments = match has_enough_runs {
        true => merge_close_levels(&values, segments(&values, MIN_LEVEL), margin),
        false => vec![Segment::new(&values, 0, values.len())],
    };
    let level = |segment: &Segment| Level {
        first: runs[segment.start].entry,
        last: runs[segment.end - 1].entry,
        runs: segment.end - segment.start,
        median: segment.level,
        variation: segment.variation(),
    };
    let changes = level_segments
        .windows(2)
        .map(|pair| level_change(figure, runs, &pair[0], &pair[1]));
    let last_level = level_segments.last()?;
    let mut trend = Trend {
        figure,
        name: figure.name(),
        points: runs
            .iter()
            .map(|run| TrendPoint {
                entry: run.entry,
                unix_ns: run.unix_ns,
                value: run.value,
            })
            .collect(),
        levels: level_segments.iter().map(level).collect(),
        changes: changes.collect(),
        detectable_step: has_enough_runs.then(|| detectable_step(&level_segments, values.len()).max(margin)),
        outlier: (has_enough_runs && is_outlier(&values, last_level, margin)).then(|| runs[runs.len() - 1].entry),
        sentences: Vec::new(),
    };
    trend.sentences = describe_trend(&trend, runs, last_level);
    Some(trend)
}

/// Merges neighbouring levels that differ by at most the margin.
fn merge_close_levels(values: &[f64], segments: Vec<Segment>, margin: f64) -> Vec<Segment> {
    let mut levels: Vec<Segment> = Vec::new();
    for segment in segments {
        match levels.last_mut() {
            Some(previous) if (segment.level / previous.level - 1.0).abs() <= margin => {
                *previous = Segment::new(values, previous.start, segment.end);
            }
            _ => levels.push(segment),
        }
    }
    levels
}

fn level_change(figure: Figure, runs: &[RunRecord], from: &Segment, to: &Segment) -> LevelChange {
    let (before, after) = (&runs[from.end - 1], &runs[to.start]);
    let mut differences = list_differences(&[before.facts.clone(), after.facts.clone()]);
    differences.retain(|difference| !IGNORED_FACTS.contains(&&*difference.name));
    LevelChange {
        entry_before: before.entry,
        entry_after: after.entry,
        unix_ns: after.unix_ns,
        from: from.level,
        to: to.level,
        ratio: to.level / from.level,
        judgement: match (to.level > from.level) == figure.higher_is_better() {
            _ if runs[from.start..to.end]
                .iter()
                .any(|run| has_invalidating_findings(&run.facts)) =>
            {
                Judgement::Doubtful
            }
            true => Judgement::Better,
            false => Judgement::Worse,
        },
        differences,
    }
}

/// The smallest step of the latest two runs that would be detected, as a share: (3 ln n + 6) / 2
/// standard deviations. The search for changes subtracts a penalty of 3 ln n for each change; a
/// step of d deviations over two runs gains about 2 d, so it is found if 2 d exceeds 3 ln n + 6;
/// the 6 allows for noise.
fn detectable_step(levels: &[Segment], runs: usize) -> f64 {
    (1.5 * (runs as f64).ln() + 3.0) * pooled_variation(levels)
}

/// The standard deviation within the levels as a share, pooled over all levels.
fn pooled_variation(levels: &[Segment]) -> f64 {
    let freedom = |level: &Segment| (level.end - level.start - 1) as f64;
    let squares: f64 = levels
        .iter()
        .map(|level| freedom(level) * level.variation().powi(2))
        .sum();
    (squares / levels.iter().map(freedom).sum::<f64>().max(1.0)).sqrt()
}

fn is_outlier(values: &[f64], last_level: &Segment, margin: f64) -> bool {
    let (latest, latest_index) = (values[last_level.end - 1], last_level.end - 1);
    if latest_index - last_level.start < MIN_LEVEL + 1 {
        return false;
    }
    let level_before = Segment::new(values, last_level.start, latest_index);
    let deviation = (latest / level_before.level - 1.0).abs();
    deviation > margin.max(MIN_OUTLIER_DEVIATIONS * level_before.variation())
}

fn describe_trend(trend: &Trend, runs: &[RunRecord], last_level: &Segment) -> Vec<String> {
    let figure = trend.figure;
    let (name, stayed) = match figure {
        Figure::Iops => ("Operations per second".to_owned(), "have stayed"),
        Figure::Mean => ("Mean latency".to_owned(), "has stayed"),
        Figure::Quantile(_) => (figure.name(), "has stayed"),
    };
    let run_label = |entry: u64| {
        let run = runs.iter().find(|run| run.entry == entry);
        format!("run {entry} ({})", run.map_or("", |run| &run.day))
    };
    let mut sentences = Vec::new();
    let (first, latest) = (&runs[0], &runs[runs.len() - 1]);
    let Some(detectable_step) = trend.detectable_step else {
        sentences.push(format!(
            "{name}: {} in {}, {} in {}: {}.",
            figure.format_value(first.value),
            run_label(first.entry),
            figure.format_value(latest.value),
            run_label(latest.entry),
            format_change(latest.value / first.value)
        ));
        sentences.push(format!(
            "{} runs are too few to distinguish a change from chance; at least {MIN_RUNS} are needed.",
            runs.len()
        ));
        return sentences;
    };
    for change in &trend.changes {
        let count_runs_of_level = |edge: fn(&Level) -> u64, entry: u64| {
            let level = trend.levels.iter().find(|level| edge(level) == entry);
            level.map_or(0, |level| level.runs)
        };
        let verb = if change.ratio < 1.0 { "fell" } else { "rose" };
        sentences.push(format!(
            "{name} {verb} by {} between {} and {}, from {} ({} runs) to {} ({} runs): {}.",
            format_change(1.0 + (change.ratio - 1.0).abs()).trim_start_matches('+'),
            run_label(change.entry_before),
            run_label(change.entry_after),
            figure.format_value(change.from),
            count_runs_of_level(|level| level.last, change.entry_before),
            figure.format_value(change.to),
            count_runs_of_level(|level| level.first, change.entry_after),
            change.judgement.word()
        ));
        sentences.push(match change.differences.is_empty() {
            true => "No recorded condition changed at that time.".into(),
            false => {
                let value_or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".into());
                let changes = change.differences.iter().map(|difference| {
                    let values: Vec<String> = difference.values.iter().map(value_or_unknown).collect();
                    format!("{} {}", difference.name, values.join(" → "))
                });
                format!(
                    "Also changed at that time, not necessarily the cause: {}.",
                    changes.collect::<Vec<_>>().join("; ")
                )
            }
        });
    }
    let level_start = &runs[last_level.start];
    sentences.push(format!(
        "{name} {stayed} the same since {}: {} in {} runs, which vary by {:.1} %.",
        run_label(level_start.entry),
        figure.format_value(last_level.level),
        last_level.end - last_level.start,
        100.0 * last_level.variation()
    ));
    if let Some(entry) = trend.outlier {
        sentences.push(format!(
            "The latest run is an outlier: {} in {}. One run does not show a trend; repeat the test.",
            figure.format_value(latest.value),
            run_label(entry)
        ));
    }
    sentences.push(format!(
        "A change of about {:.0} % or more in the latest two runs would have been detected; smaller or slower \
         changes would not.",
        (100.0 * detectable_step).ceil()
    ));
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint::{FactKind, INVALIDATING_FINDINGS};
    use super::*;
    use model::testing::{assert_contains, assert_starts_with};

    /// A generator of reproducible, normally distributed numbers.
    struct Draws(u64);

    impl Draws {
        fn normal(&mut self) -> f64 {
            let mut sum = 0.0;
            for _ in 0..12 {
                self.0 ^= self.0 << 13;
                self.0 ^= self.0 >> 7;
                self.0 ^= self.0 << 17;
                sum += (self.0 >> 11) as f64 / (1u64 << 53) as f64;
            }
            sum - 6.0
        }
    }

    fn runs(values: &[f64]) -> Vec<RunRecord> {
        let record = |(index, value): (usize, &f64)| RunRecord {
            entry: 10 + index as u64,
            unix_ns: index as u64,
            day: format!("day {index}"),
            value: *value,
            facts: vec![
                Fact {
                    kind: FactKind::System,
                    name: "kernel".into(),
                    value: if index < 7 { "6.1" } else { "6.8" }.into(),
                },
                Fact {
                    kind: FactKind::Other,
                    name: "seed".into(),
                    value: index.to_string(),
                },
            ],
        };
        values.iter().enumerate().map(record).collect()
    }

    fn describe(values: &[f64]) -> (Trend, String) {
        let trend = trend(Figure::Iops, &runs(values), 0.02).unwrap();
        let text = trend.sentences.join(" ");
        (trend, text)
    }

    #[test]
    fn a_lasting_drop_is_reported_with_changed_facts() {
        let (trend, text) = describe(&[
            1000.0, 1004.0, 997.0, 1002.0, 999.0, 1001.0, 1003.0, 880.0, 882.0, 879.0,
        ]);
        let [found] = &trend.changes[..] else {
            panic!("{trend:#?}")
        };
        assert_eq!(
            (found.entry_before, found.entry_after, found.judgement),
            (16, 17, Judgement::Worse)
        );
        assert_eq!(trend.levels.iter().map(|level| level.runs).collect::<Vec<_>>(), [7, 3]);
        assert_eq!(
            text,
            "Operations per second fell by 12 % between run 16 (day 6) and run 17 (day 7), from 1,000 (7 runs) to 880 (3 \
             runs): worse. Also changed at that time, not necessarily the cause: kernel 6.1 → 6.8. Operations \
             per second have stayed the same since run 17 (day 7): 880 in 3 runs, which vary by 0.2 %. A change of about \
             2 % or more in the latest two runs would have been detected; smaller or slower changes would not."
        );
    }

    #[test]
    fn a_constant_level_reports_the_detectable_step() {
        let (trend, text) = describe(&[100.0, 103.0, 98.0, 101.0, 97.0, 102.0, 99.0, 100.0]);
        assert!(trend.changes.is_empty());
        assert_starts_with(
            &text,
            "Operations per second have stayed the same since run 10 (day 0): 100 in 8 runs, which vary by 2.0 %.",
        );
        // 1.5 ln 8 + 3 = 6.1 deviations of 2 %.
        assert_contains(&text, "A change of about 13 % or more in the latest two runs");
    }

    #[test]
    fn one_run_is_an_outlier_and_five_runs_are_too_few() {
        let (trend, text) = describe(&[100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 60.0]);
        assert_eq!((trend.changes.len(), trend.outlier), (0, Some(16)));
        assert_contains(
            &text,
            "The latest run is an outlier: 60 in run 16 (day 6). One run does not show a trend; repeat the test.",
        );
        let (trend, text) = describe(&[100.0, 100.0, 100.0, 50.0, 50.0]);
        assert!(trend.changes.is_empty() && trend.detectable_step.is_none());
        assert_eq!(
            text,
            "Operations per second: 100 in run 10 (day 0), 50 in run 14 (day 4): -50 %. 5 runs are too few to distinguish a \
             change from chance; at least 6 are needed."
        );
        assert!(super::trend(Figure::Iops, &runs(&[1.0]), 0.02).is_none());
    }

    #[test]
    fn a_rising_latency_is_worse_unless_within_the_margin() {
        let rising = runs(&[1e6, 1e6, 1e6, 1e6, 1.5e6, 1.5e6, 1.5e6]);
        let found = trend(Figure::Quantile(0.99), &rising, 0.02).unwrap();
        assert_eq!(found.changes[0].judgement, Judgement::Worse);
        assert_starts_with(
            &found.sentences[0],
            "p99 rose by 50 % between run 13 (day 3) and run 14 (day 4), from 1 ms (4 runs)",
        );
        let slight = runs(&[1000.0, 1000.0, 1000.0, 1000.0, 1015.0, 1015.0, 1015.0, 1015.0]);
        assert!(trend(Figure::Iops, &slight, 0.02).unwrap().changes.is_empty());
        assert_eq!(trend(Figure::Iops, &slight, 0.01).unwrap().changes.len(), 1);
    }

    #[test]
    fn findings_that_came_with_a_change_are_named_and_prevent_a_judgement() {
        let mut runs = runs(&[1000.0, 1001.0, 999.0, 3000.0, 3001.0, 2999.0]);
        for (number, run) in runs.iter_mut().enumerate() {
            run.facts.push(Fact {
                kind: FactKind::System,
                name: INVALIDATING_FINDINGS.into(),
                value: if number < 3 { "none" } else { "HOLES" }.into(),
            });
        }
        let found = trend(Figure::Iops, &runs, 0.02).unwrap();
        assert_eq!(found.changes[0].judgement, Judgement::Doubtful);
        assert_contains(&found.sentences.join(" "), "invalidating findings none → HOLES");
    }

    /// Checks the share of false changes that the module documentation states, and that most
    /// detectable steps are detected.
    #[test]
    fn false_changes_are_rare_and_most_detectable_steps_are_detected() {
        let mut draws = Draws(0x2545_f491_4f6c_dd1d);
        for length in [6, 8, 12, 20] {
            let (mut false_alarms, mut detected) = (0, 0);
            const SERIES: u32 = 1000;
            for _ in 0..SERIES {
                let mut values: Vec<f64> = (0..length).map(|_| 1000.0 * (1.0 + 0.03 * draws.normal())).collect();
                false_alarms += u32::from(!trend(Figure::Iops, &runs(&values), 0.0).unwrap().changes.is_empty());
                let step = 0.03 * (1.5 * (length as f64).ln() + 3.0);
                values[length - 2..].iter_mut().for_each(|value| *value *= 1.0 - step);
                let found = trend(Figure::Iops, &runs(&values), 0.0).unwrap();
                detected += u32::from(
                    found
                        .changes
                        .iter()
                        .any(|change| change.entry_after == 10 + length as u64 - 2),
                );
            }
            assert!(
                false_alarms <= SERIES * 5 / 100,
                "{false_alarms} false alarms in {SERIES} series of {length} runs"
            );
            assert!(
                detected >= SERIES * 7 / 10,
                "a step was detected in {detected} of {SERIES} series of {length} runs"
            );
            println!("{length} runs: {false_alarms} false alarms, {detected} detected");
        }
    }
}
