//! What Vdbench's two files have in common: rows of intervals under columns with names, and a row
//! of averages for each run. The columns differ between versions and with what was run, so every
//! figure is found by the words above it and never by its place.

mod columns;
pub(super) mod flat;
pub(super) mod summary;

use model::finding::{Finding, Severity};
use model::observation::{Flow, Latency, Load, Observation, SeriesPoint, StatedFigures};
use model::{Bytes, Nanos, PerDirection};

use columns::{Column, Figures};

use super::Imported;
use super::numbers::{decimal, whole};

const MIB: f64 = 1_048_576.0;

/// Which of its rows one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// One interval, counted from 1.
    Interval(u32),
    /// The averages over these intervals; of none (2 to 1) where the run ended within its warm-up.
    Average(u32, u32),
    /// The standard deviations between the intervals.
    Deviation,
    /// The largest of them, which nothing follows from.
    Largest,
}

impl Rank {
    /// `17`, `avg_2-60`, `std_2-60`, `max_2-60`.
    fn parse(word: &str) -> Option<Rank> {
        if let Some(number) = whole(word) {
            return u32::try_from(number).ok().map(Rank::Interval);
        }
        let (kind, range) = word.split_once('_')?;
        let (first, last) = range.split_once('-')?;
        let number = |text| u32::try_from(whole(text)?).ok().filter(|number| *number > 0);
        let (first, last) = (number(first)?, number(last)?);
        match kind {
            _ if first > last + 1 => None,
            "avg" => Some(Rank::Average(first, last)),
            "std" => Some(Rank::Deviation),
            "max" => Some(Rank::Largest),
            _ => None,
        }
    }
}

/// One row of figures.
#[derive(Clone, Debug)]
struct Row {
    /// Seconds since midnight.
    time: f64,
    rank: Rank,
    figures: Figures,
}

/// One run definition with one choice of its loops.
#[derive(Clone, Debug, Default)]
struct Run {
    name: String,
    load: Load,
    rows: Vec<Row>,
}

impl Run {
    /// True if its averages are there.
    fn is_whole(&self) -> bool {
        self.averages().is_some()
    }

    /// True if it ended before any interval that is averaged. Its rates are per interval, however
    /// short it was.
    fn ended_in_warm_up(&self) -> bool {
        self.averages().is_some_and(|(first, last, _)| first > last)
    }

    /// True if Vdbench itself put it in front of the runs, to lay out their files.
    fn is_layout(&self) -> bool {
        self.name.starts_with("SD_format") || self.name.starts_with("format_for_")
    }

    fn averages(&self) -> Option<(u32, u32, &Figures)> {
        self.rows.iter().find_map(|row| match row.rank {
            Rank::Average(first, last) => Some((first, last, &row.figures)),
            _ => None,
        })
    }

    /// A row of this rank begins another run.
    fn is_over_before(&self, rank: Rank) -> bool {
        let last = self.rows.iter().rev().find_map(|row| match row.rank {
            Rank::Interval(number) => Some(number),
            _ => None,
        });
        match rank {
            Rank::Interval(number) => self.is_whole() || last.is_some_and(|last| number <= last),
            Rank::Average(..) => self.is_whole(),
            Rank::Deviation | Rank::Largest => false,
        }
    }

    /// What it measured; `None` without averages or a rate among them.
    fn observation(&self, version: Option<&str>) -> Option<Observation> {
        let (first, last, figures) = self.averages().filter(|(first, last, _)| first <= last)?;
        let iops = figures.get(Column::Rate)?;
        let length = self.interval();
        let times = |count: u32| length.and_then(|length| length.0.checked_mul(u64::from(count)).map(Nanos));
        let total = Flow {
            iops: Some(iops),
            bytes_per_sec: bytes_per_sec(figures),
            iops_deviation: self.deviation(),
            latency: (iops > 0.0).then(|| latency_of_all(figures)).flatten(),
            ..Flow::default()
        };
        Some(Observation {
            tool: "Vdbench".into(),
            version: version.map(str::to_owned),
            name: self.name.clone(),
            load: Load {
                // What came before the intervals of the averages is not in them.
                warm_up_ns: times(first - 1),
                ..self.load.clone()
            },
            measured_ns: times(last - first + 1),
            directions: directions(figures, &total),
            total,
            series: length
                .and_then(|length| self.series(first, last, length))
                .unwrap_or_default(),
            stated: StatedFigures {
                in_flight: figures.get(Column::QueueDepth),
                bytes_per_operation: figures.get(Column::Size).filter(|size| *size > 0.0),
                processors_busy: figures.get(Column::Busy).map(|percent| percent / 100.0),
            },
            ..Observation::default()
        })
    }

    fn deviation(&self) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.rank == Rank::Deviation)?;
        row.figures.get(Column::Rate)
    }

    fn intervals(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.rows.iter().filter_map(|row| match row.rank {
            Rank::Interval(number) => Some((number, row)),
            _ => None,
        })
    }

    /// The length of an interval, by the times of the rows: whole seconds, and the same between all
    /// of them.
    fn interval(&self) -> Option<Nanos> {
        const A_DAY: f64 = 86_400.0;
        /// Rows are written a little after the end of their interval.
        const LATE: f64 = 0.25;
        let rows: Vec<(u32, f64)> = self.intervals().map(|(number, row)| (number, row.time)).collect();
        let mut found = None;
        for pair in rows.windows(2) {
            let [(one, before), (other, behind)] = *pair else {
                return None;
            };
            let passed =
                (behind - before).rem_euclid(A_DAY) / f64::from(other.checked_sub(one).filter(|steps| *steps > 0)?);
            let seconds = passed.round();
            if seconds < 1.0 || (passed - seconds).abs() > LATE || found.is_some_and(|found| found != seconds) {
                return None;
            }
            found = Some(seconds);
        }
        found.map(|seconds: f64| Nanos::secs(seconds as u64))
    }

    /// The intervals of the averages, if each of them is there with its share of reads.
    fn series(&self, first: u32, last: u32, length: Nanos) -> Option<Vec<SeriesPoint>> {
        let rows: Vec<(u32, &Row)> = self
            .intervals()
            .filter(|(number, _)| (first..=last).contains(number))
            .collect();
        if !rows.iter().map(|(number, _)| *number).eq(first..=last) {
            return None;
        }
        let seconds = length.as_secs();
        let point = |(number, row): (u32, &Row)| {
            let figures = &row.figures;
            let rate = figures.get(Column::Rate)?;
            let reads = figures.get(Column::ReadPercent).filter(|percent| *percent <= 100.0)? / 100.0;
            let bytes = bytes_per_sec(figures)?;
            let divided = |of: f64| {
                let (read, written) = (of * seconds * reads, of * seconds * (1.0 - reads));
                [read.round() as u64, written.round() as u64, 0]
            };
            Some(SeriesPoint {
                start_ns: Nanos(length.0.checked_mul(u64::from(number - first))?),
                length_ns: length,
                operations: divided(rate),
                bytes: divided(bytes),
                mean_ns: figures.get(Column::Mean).filter(|_| rate > 0.0).map(|mean| mean * 1e6),
                p99_ns: None,
            })
        };
        rows.into_iter().map(point).collect()
    }
}

fn bytes_per_sec(figures: &Figures) -> Option<f64> {
    let binary = figures.get(Column::Mib).map(|rate| rate * MIB);
    binary.or_else(|| figures.get(Column::Mb).map(|rate| rate * 1e6))
}

/// Latencies in milliseconds, as far as there are any: Vdbench has no percentiles.
fn latency(mean: Option<f64>, deviation: Option<f64>, max: Option<f64>) -> Option<Latency> {
    let ns = |ms: f64| ms * 1e6;
    mean.or(max).map(|_| Latency {
        mean_ns: mean.map(ns),
        deviation_ns: deviation.map(ns),
        max_ns: max.map(ns),
        ..Latency::default()
    })
}

fn latency_of_all(figures: &Figures) -> Option<Latency> {
    let of_directions = || {
        let (read, write) = (figures.get(Column::ReadMax)?, figures.get(Column::WriteMax)?);
        Some(read.max(write))
    };
    let max = figures.get(Column::Max).or_else(of_directions);
    latency(figures.get(Column::Mean), figures.get(Column::Deviation), max)
}

/// Reads and writes: their rates are the rate of all × the share of reads. Only what one direction
/// did is known of it in full.
fn directions(figures: &Figures, total: &Flow) -> PerDirection<Option<Flow>> {
    let of = |share: f64, mean: Column, max: Column| {
        let iops = total.iops.map(|iops| iops * share);
        (share > 0.0 && iops > Some(0.0)).then(|| Flow {
            iops,
            latency: latency(figures.get(mean), None, figures.get(max)),
            ..Flow::default()
        })
    };
    match figures.get(Column::ReadPercent).filter(|_| total.iops > Some(0.0)) {
        Some(100.0) => PerDirection {
            read: Some(total.clone()),
            ..PerDirection::default()
        },
        Some(0.0) => PerDirection {
            write: Some(total.clone()),
            ..PerDirection::default()
        },
        Some(percent) if percent < 100.0 => PerDirection {
            read: of(percent / 100.0, Column::ReadMean, Column::ReadMax),
            write: of(1.0 - percent / 100.0, Column::WriteMean, Column::WriteMax),
            trim: None,
        },
        _ => PerDirection::default(),
    }
}

/// Takes what runs measured into what was read, and tells of those that have no averages.
fn take(imported: &mut Imported, runs: &[Run], version: Option<&str>) {
    for run in runs {
        if let Some(load) = run.observation(version) {
            imported.loads.push(load);
            continue;
        }
        let (rule, what, help) = match run.intervals().last() {
            // It says nothing about the runs that follow.
            _ if run.is_layout() => continue,
            _ if run.ended_in_warm_up() => (
                "RUN-INTERRUPTED",
                "the run ended within its warm-up, so it has no averages".to_owned(),
                "let it run for longer: with a greater file, or a shorter interval",
            ),
            _ if run.is_whole() => (
                "REPORT-TRUNCATED",
                "its averages have no rate".to_owned(),
                "give flatfile.html or summary.html as Vdbench wrote it",
            ),
            last => {
                let seen = last.map_or("before its first interval".to_owned(), |(number, _)| {
                    format!("after interval {number}")
                });
                (
                    "REPORT-TRUNCATED",
                    format!("the run has no averages (avg_…): it was cut off or ended {seen}"),
                    "copy the whole file, or run it again",
                )
            }
        };
        let finding = Finding::new(rule, Severity::Warning, what).at(&*run.name);
        imported.remarks.push(finding.help(help));
    }
}

/// What was asked for by a parameter of a loop or a column of the same name. `threads` hold for
/// each storage definition, and how many of these there are neither file tells: the depth is not
/// known.
fn ask(load: &mut Load, name: &str, value: &str) {
    match name {
        "xfersize" => load.block = value.parse().ok().filter(|size: &Bytes| size.0 > 0),
        "rdpct" => load.read_percent = decimal(value).filter(|percent| *percent <= 100.0),
        "seekpct" => {
            load.random = match value {
                "random" | "rand" | "100" | "100.0" | "100.00" => Some(true),
                "seq" | "sequential" | "eof" | "seqnz" | "0" | "0.0" | "0.00" => Some(false),
                _ => None,
            }
        }
        _ => {}
    }
}

/// The rate that was asked for: a number, or as much as goes. Flat files have numbers for `max` and
/// the first run of a `curve`, which differ between releases.
fn ask_rate(load: &mut Load, value: &str) {
    match decimal(value.split_whitespace().next().unwrap_or_default()) {
        Some(999_998.0 | 999_999.0 | 9_999_977.0 | 9_999_988.0) => load.closed_loop = Some(true),
        Some(rate) if rate > 0.0 => (load.rate_iops, load.closed_loop) = (Some(rate), Some(false)),
        Some(_) => {}
        // A controlled maximum holds its fast workloads back, so that all keep their shares.
        None if matches!(
            value.to_ascii_lowercase().as_str(),
            "max" | "curve" | "uncontrolled max" | "uncontrolled curve"
        ) =>
        {
            load.closed_loop = Some(true);
        }
        None => {}
    }
}

/// Seconds since midnight of `12:02:43.050`.
fn time_of_day(word: &str) -> Option<f64> {
    let mut parts = word.split(':');
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let seconds = decimal(parts.next()?)?;
    let sound = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61.0;
    sound.then(|| (hours * 3600 + minutes * 60) as f64 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_distinguished() {
        assert_eq!(Rank::parse("17"), Some(Rank::Interval(17)));
        assert_eq!(Rank::parse("avg_2-60"), Some(Rank::Average(2, 60)));
        assert_eq!(Rank::parse("std_2-60"), Some(Rank::Deviation));
        assert_eq!(
            Rank::parse("avg_2-1"),
            Some(Rank::Average(2, 1)),
            "it ended in its warm-up"
        );
        for word in [
            "avg_60-2", "avg_3-1", "avg_0-2", "avg_2", "sum_2-60", "99999999999", "-1", "",
        ] {
            assert_eq!(Rank::parse(word), None, "{word}");
        }
        assert_eq!(time_of_day("01:00:02.500"), Some(3602.5));
        for word in [
            "24:00:00",
            "9999999999999999999:00:00",
            "1:60:00",
            "10:20",
            "10:20:30:40",
            "a:b:c",
        ] {
            assert_eq!(time_of_day(word), None, "{word}");
        }
    }

    #[test]
    fn what_was_asked_for_is_known_as_far_as_it_is_said() {
        let mut load = Load::default();
        for (name, value) in [
            ("xfersize", "4k"),
            ("rdpct", "70"),
            ("seekpct", "100"),
            ("threads", "8"),
        ] {
            ask(&mut load, name, value);
        }
        assert_eq!((load.block, load.random), (Some(Bytes(4096)), Some(true)));
        assert_eq!((load.read_percent, load.depth), (Some(70.0), None));
        ask(&mut load, "seekpct", "50");
        ask(&mut load, "xfersize", "(4k,50,8k,50)");
        assert_eq!(
            (load.block, load.random),
            (None, None),
            "neither all nor none; several sizes"
        );
        let rate = |value: &str| {
            let mut load = Load::default();
            ask_rate(&mut load, value);
            (load.rate_iops, load.closed_loop)
        };
        assert_eq!(rate("5000"), (Some(5000.0), Some(false)));
        assert_eq!(rate("Uncontrolled MAX"), (None, Some(true)));
        assert_eq!(rate("999999"), (None, Some(true)));
        assert_eq!(rate("Controlled MAX"), (None, None));
    }
}
