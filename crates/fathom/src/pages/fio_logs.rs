//! The page of fio's log files: time series, and percentiles from histograms or single operations.
//! Missing data is reported, not filled in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dialects::import::logs::{DirectionLog, Log, LogKind, LogName};
use model::finding::{Finding, Severity};
use model::histogram::Histogram;
use model::stats::{Support, support};
use model::{Bytes, Direction, PerDirection, shell_word};
use report::html::chart::{Axis, Chart, Form, Series, Tone, X, direction_tone, time_unit};
use report::html::page::{self, Block, Lead, Page, Section, Table, Tile, Verdict};
use report::html::run::{percentile_curve, requirement_from_result};
use report::numbers::{count, format_time, pluralize, rate, throughput};

/// A log with its file.
#[derive(Debug)]
pub struct LogFile {
    /// Its path, as the user named it.
    pub file: String,
    /// Facts that its name states.
    pub name: LogName,
    /// Its parsed lines.
    pub log: Log,
}

/// Times from here on are Unix times in milliseconds (1973).
const EPOCH_MS: u64 = 100_000_000_000;
/// Maximum curves of one chart.
const MAX_CURVES: usize = 8;
/// Maximum points of a curve; more are averaged.
const MAX_POINTS: usize = 3600;
/// Maximum points that are drawn as dots; more are drawn as a line only.
const MAX_DOTS: usize = 60;
/// Maximum number of jobs in the title.
const MAX_TITLE_JOBS: usize = 3;
/// Maximum number of listed files that are not logs.
const MAX_NAMED: usize = 10;
/// Share of their time by which logs must overlap to count as concurrent.
const OVERLAP: f64 = 0.9;

/// Kinds that are drawn over time: title, axis, and the option that writes them.
const OVER_TIME: [(LogKind, &str, &str); 5] = [
    (LogKind::Iops, "Operations per second over time", "write_iops_log"),
    (LogKind::Bandwidth, "Throughput over time", "write_bw_log"),
    (LogKind::Latency, "Latency over time", "write_lat_log"),
    (LogKind::Completion, "Completion latency over time", "write_lat_log"),
    (LogKind::Submission, "Submission latency over time", "write_lat_log"),
];

/// Values over time of a worker and direction: bytes or operations per second, or nanoseconds.
struct Curve {
    name: String,
    direction: Direction,
    /// Seconds and value; a gap if no operation ended.
    points: Vec<(f64, Option<f64>)>,
    form: Form,
    /// Meaning of a point.
    each: String,
}

impl Curve {
    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().filter_map(|(_, value)| *value)
    }

    fn mean(&self) -> Option<f64> {
        mean(self.values())
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / f64::from(n))
}

/// Computes the mean of averages, each weighted by the time since the previous one.
fn mean_over_windows(points: &[(f64, Option<f64>)]) -> Option<f64> {
    let (mut start, mut length, mut sum) = (0.0, 0.0, 0.0);
    for (end, value) in points {
        length += end - start;
        sum += value.unwrap_or(0.0) * (end - start);
        start = *end;
    }
    (length > 0.0).then(|| sum / length)
}

/// Builds the page. `others` are files of a directory that are not logs.
pub fn build_page(title: &str, logs: &[LogFile], others: &[String]) -> Page {
    let first = logs
        .iter()
        .filter_map(|log| log.log.time_range_ms)
        .map(|times| times.0)
        .min();
    let origin = first.filter(|first| *first >= EPOCH_MS);
    let mut jobs: BTreeMap<&str, Vec<&LogFile>> = BTreeMap::new();
    for log in logs {
        jobs.entry(&log.name.job).or_default().push(log);
    }
    let mut about = vec![format!("{} of fio: {title}", pluralize(logs.len() as u64, "log file"))];
    let last = logs
        .iter()
        .filter_map(|log| log.log.time_range_ms)
        .map(|times| times.1)
        .max();
    about.extend(last.map(|last| {
        let length = last.saturating_sub(origin.unwrap_or(0));
        report::numbers::duration_with_unit(model::Nanos::millis(length))
    }));
    about.extend(
        origin
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms as i64).ok())
            .map(|at| format!("first line: {at}")),
    );
    let several = jobs.len() > 1;
    let mut page = Page {
        title: build_title(&jobs),
        about,
        verdict: Verdict::new("LOGS ONLY", page::Tone::Plain, LIMITS_OF_LOGS),
        lead: vec![advise_next_step(logs, others, origin.unwrap_or(0))],
        findings: list_unread(logs, others),
        provenance: format!("{title}, read by fathom {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    };
    for (number, (job, files)) in jobs.iter().enumerate() {
        let prefix = if several { format!("l{number}-") } else { String::new() };
        page.sections
            .push(build_section(&prefix, job, files, origin.unwrap_or(0)));
        if !several {
            page.tiles = build_tiles(files, origin.unwrap_or(0));
        }
    }
    if !several {
        page.promote_charts(&["iops", "percentiles"]);
        if page.charts.len() < 2 {
            page.promote_charts(&["latency"]);
        }
    }
    page.sections.push(build_files_section(logs));
    page
}

/// Advises to judge the JSON report of the run, by the rate of the logs if they have one.
fn advise_next_step(logs: &[LogFile], others: &[String], origin: u64) -> Lead {
    let mut folders = logs.iter().map(|log| Path::new(&log.file).parent());
    let folder = folders.next().flatten();
    let folder = folder.filter(|first| folders.all(|folder| folder == Some(*first)));
    let report = others.iter().find(|name| name.ends_with(".json"));
    let report = folder
        .zip(report)
        .map(|(folder, name)| folder.join(name).display().to_string());
    let files: Vec<&LogFile> = logs.iter().collect();
    let is_one_job = logs.iter().all(|log| log.name.job == logs[0].name.job);
    let rate = sum_of_means(&files, LogKind::Iops, origin).filter(|_| is_one_job);
    let require = match rate {
        Some((iops, _)) => requirement_from_result(iops, []),
        None => "'iops>=4000,p99<=3ms'".to_owned(),
    };
    let file = report.as_deref().unwrap_or("run.json");
    let sentence = match report {
        Some(_) => format!("If {file} is the JSON report of the run, judge that:"),
        None => "If the run also wrote a JSON report (--output-format=json --output=run.json), judge that:".to_owned(),
    };
    let command = format!("`fathom report {} --require {require} -o page.html`", shell_word(file));
    Lead::new("What next", sentence, vec![command])
}

/// What a reader must not conclude from logs.
const LIMITS_OF_LOGS: &str = "Logs show how rates and latencies went over time. You cannot conclude from them whether \
    a requirement was met, what limited the run, or which target, queue depth and engine it used: they have no totals, \
    no settings and no errors.";

/// The load of the only job, or else the names of the jobs.
fn build_title(jobs: &BTreeMap<&str, Vec<&LogFile>>) -> String {
    let names: Vec<String> = jobs.keys().map(|job| format!("“{job}”")).collect();
    match (names.len(), jobs.values().next()) {
        (1, Some(files)) => format!("{} — fio logs of {}", describe_load(files), names[0]),
        (count @ 0..=MAX_TITLE_JOBS, _) => format!("fio logs of {count} jobs: {}", names.join(", ")),
        (count, _) => format!(
            "fio logs of {count} jobs: {} and {} more",
            names[..MAX_TITLE_JOBS].join(", "),
            count - MAX_TITLE_JOBS
        ),
    }
}

/// Describes the load as far as the logs have it: `4 KiB reads and writes by 2 workers`.
fn describe_load(files: &[&LogFile]) -> String {
    let is_used = |direction: &Direction| {
        files.iter().any(|file| {
            let lines = &file.log.directions[*direction];
            !lines.samples.is_empty() || !lines.intervals.is_empty() || lines.latencies.is_some()
        })
    };
    let used = Direction::ALL.into_iter().filter(is_used);
    let used: Vec<String> = used.map(|direction| format!("{}s", direction.word())).collect();
    // Only lines of single operations have a size.
    let directions = || files.iter().flat_map(|file| file.log.directions.iter());
    let intervals = || directions().flat_map(|(_, lines)| lines.intervals.values());
    let size = intervals().next().map(|first| first.bytes / first.operations.max(1));
    let is_common = |size: &u64| intervals().all(|interval| interval.bytes == size * interval.operations);
    let size = size.filter(is_common).map(|size| format!("{} ", Bytes(size)));
    let load = match used.is_empty() {
        true => "no operations".to_owned(),
        false => used.join(" and "),
    };
    let workers: BTreeSet<u32> = files.iter().filter_map(|file| file.name.worker).collect();
    let workers = match workers.len() {
        0 => String::new(),
        count => format!(" by {}", pluralize(count as u64, "worker")),
    };
    format!("{}{load}{workers}", size.unwrap_or_default())
}

/// Lists lines and files that are not shown.
fn list_unread(logs: &[LogFile], others: &[String]) -> Vec<Finding> {
    let lines = logs.iter().filter(|log| log.log.unreadable_lines > 0).map(|log| {
        let message = format!(
            "{} of {} lines could not be read",
            log.log.unreadable_lines,
            log.log.unreadable_lines + log.log.readable_lines
        );
        let finding = Finding::new("REPORT-UNREAD", Severity::Warning, message).why("they are omitted");
        let place = log.log.first_unreadable.as_ref().and_then(|first| first.at.as_ref());
        finding.at(place.map_or_else(|| log.file.clone(), |place| format!("{}:{}", place.file, place.line)))
    });
    let empty = logs
        .iter()
        .filter(|log| log.log.readable_lines + log.log.unreadable_lines == 0)
        .map(|log| Finding::new("REPORT-UNREAD", Severity::Note, "the log is empty").at(&*log.file));
    let files = (!others.is_empty()).then(|| {
        let named = others[..others.len().min(MAX_NAMED)].join(", ");
        let omitted = match others.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!("not read, because their names are not log names: {named}{omitted}");
        let help = "print a compressed log (.fz) with `fio --inflate-log=FILE`";
        let finding = Finding::new("REPORT-UNREAD", Severity::Note, message);
        match others.iter().any(|file| file.ends_with(".fz")) {
            true => finding.help(help),
            false => finding,
        }
    });
    lines.chain(empty).chain(files).collect()
}

fn build_section(prefix: &str, job: &str, files: &[&LogFile], origin: u64) -> Section {
    let mut rows = Vec::new();
    let mut blocks = Vec::new();
    for (kind, title, _) in OVER_TIME {
        let curves = collect_curves(files, kind, origin);
        rows.extend(curves.iter().filter_map(|curve| build_row(kind, curve)));
        let parts = curves.chunks(MAX_CURVES).count();
        for (number, some) in curves.chunks(MAX_CURVES).enumerate() {
            let (id, title) = match parts {
                1 => (format!("{prefix}{}", chart_id(kind)), title.to_owned()),
                _ => (
                    format!("{prefix}{}-{number}", chart_id(kind)),
                    format!("{title} ({} of {parts})", number + 1),
                ),
            };
            blocks.extend(Block::chart_block(Some(build_time_chart(id, title, kind, some))));
        }
    }
    let head = ["log", "points", "each", "mean of the points", "smallest", "largest"];
    let table = Table::new("Figures of the logs", &head, rows);
    if !table.rows.is_empty() {
        blocks.insert(0, Block::Table(table));
    }
    blocks.extend(Block::chart_block(build_percentile_chart(prefix, files)));
    Section {
        about: format!(
            "{}. Throughput is in MB/s (10^6 bytes per second), rates are in IOPS (operations per second), and \
            latencies have the unit at their axis.",
            describe_load(files)
        ),
        ..Section::new(job, blocks)
    }
}

fn chart_id(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Bandwidth => "throughput",
        LogKind::Iops => "iops",
        LogKind::Latency => "latency",
        LogKind::Submission => "submission",
        LogKind::Completion => "completion",
        LogKind::Histogram => "percentiles",
    }
}

fn build_row(kind: LogKind, curve: &Curve) -> Option<Vec<String>> {
    let words = |value: f64| match kind {
        LogKind::Bandwidth => format!("{} MB/s", throughput(value / 1e6)),
        LogKind::Iops => format!("{} IOPS", rate(value)),
        LogKind::Latency | LogKind::Submission | LogKind::Completion | LogKind::Histogram => format_time(value),
    };
    let mean = curve.mean()?;
    Some(vec![
        format!("{}, {}", chart_id(kind), curve.name),
        count(curve.values().count() as u64),
        curve.each.clone(),
        words(mean),
        words(curve.values().fold(f64::INFINITY, f64::min)),
        words(curve.values().fold(0.0, f64::max)),
    ])
}

fn collect_curves(files: &[&LogFile], kind: LogKind, origin: u64) -> Vec<Curve> {
    let mut curves = Vec::new();
    for file in files.iter().filter(|file| file.name.kind == kind) {
        for (direction, lines) in file.log.directions.iter() {
            let name = match file.name.worker {
                Some(worker) => format!("worker {worker}, {}s", direction.word()),
                None => format!("all workers, {}s", direction.word()),
            };
            let curve = |name: String, points, form, each: String| Curve {
                name,
                direction,
                points,
                form,
                each,
            };
            let averages = |samples: &[dialects::import::logs::Sample]| points_of_averages(samples, kind, origin);
            let form = match () {
                () if file.log.is_merged => Form::Dots,
                () if lines.samples.len() <= MAX_DOTS => Form::Points,
                () => Form::Line,
            };
            if !lines.samples.is_empty() {
                let (points, description) = averages(&lines.samples);
                curves.push(curve(name.clone(), points, form, description));
            }
            if !lines.maxima.is_empty() {
                let (points, description) = averages(&lines.maxima);
                curves.push(curve(
                    format!("{name}, maxima"),
                    points,
                    form,
                    description.replace("average", "maximum"),
                ));
            }
            if let Some((points, description)) = points_of_intervals(lines, &file.log, kind, origin) {
                curves.push(curve(name, points, Form::Steps, description));
            }
        }
    }
    curves
}

type Points = (Vec<(f64, Option<f64>)>, String);

/// Computes the points of averages, each at the end of its window; merges neighbours if there are
/// too many.
fn points_of_averages(samples: &[dialects::import::logs::Sample], kind: LogKind, origin: u64) -> Points {
    let factor = if kind == LogKind::Bandwidth { 1024.0 } else { 1.0 };
    let samples_per_point = samples.len().div_ceil(MAX_POINTS).max(1);
    let point = |some: &[dialects::import::logs::Sample]| {
        let mean = some.iter().map(|sample| sample.value).sum::<f64>() / some.len() as f64;
        let end = some.last().map_or(0, |last| last.at_ms);
        (end.saturating_sub(origin) as f64 / 1e3, Some(mean * factor))
    };
    let description = match samples_per_point {
        1 => "an average of the log".to_owned(),
        some => format!("mean of {some} averages of the log"),
    };
    (samples.chunks(samples_per_point).map(point).collect(), description)
}

/// Computes the rate or mean latency of operations by interval. The last interval of a log is
/// incomplete, so it has no rate.
fn points_of_intervals(lines: &DirectionLog, log: &Log, kind: LogKind, origin: u64) -> Option<Points> {
    let (first, last) = (
        *lines.intervals.first_key_value()?.0,
        *lines.intervals.last_key_value()?.0,
    );
    let directions = log.directions.iter();
    let end = directions
        .filter_map(|(_, lines)| lines.intervals.keys().next_back().copied())
        .max()?;
    let (begin_ms, seconds) = (log.time_range_ms?.0, log.interval_ms as f64 / 1e3);
    let intervals_per_point = ((last - first + 1) as usize).div_ceil(MAX_POINTS).max(1) as u64;
    let is_rate = matches!(kind, LogKind::Bandwidth | LogKind::Iops);
    let point = |from: u64| {
        let intervals = lines
            .intervals
            .range(from..from + intervals_per_point)
            .map(|(_, interval)| interval);
        let (operations, bytes, sum) = intervals.fold((0, 0, 0.0), |sums: (u64, u64, f64), interval| {
            (
                sums.0 + interval.operations,
                sums.1 + interval.bytes,
                sums.2 + interval.sum,
            )
        });
        let length = intervals_per_point as f64 * seconds;
        let value = match kind {
            LogKind::Bandwidth => Some(bytes as f64 / length),
            LogKind::Iops => Some(operations as f64 / length),
            _ => (operations > 0).then(|| sum / operations as f64),
        };
        (
            (begin_ms.saturating_sub(origin) + from * log.interval_ms) as f64 / 1e3,
            value,
        )
    };
    let is_whole = |from: &u64| !is_rate || from + intervals_per_point <= end;
    let points = (first..=last)
        .step_by(intervals_per_point as usize)
        .filter(is_whole)
        .map(point)
        .collect();
    let length = report::numbers::duration(model::Nanos(log.interval_ms * intervals_per_point * 1_000_000));
    let quantity = if is_rate {
        "operations of"
    } else {
        "mean of the operations of"
    };
    Some((points, format!("{quantity} {length}")))
}

fn build_time_chart(id: String, title: String, kind: LogKind, curves: &[Curve]) -> Chart {
    let slowest = curves.iter().flat_map(Curve::values).fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest / 4.0);
    let (y, factor) = match kind {
        LogKind::Bandwidth => (Axis::from_zero("throughput", "MB/s"), 1e6),
        LogKind::Iops => (Axis::from_zero("IOPS", "IOPS"), 1.0),
        _ => (Axis::log("latency", unit), ns),
    };
    // A colour identifies a direction only if it has a single curve.
    let is_only_curve = |curve: &Curve| curves.iter().filter(|other| other.direction == curve.direction).count() == 1;
    let line = |curve: &Curve| {
        let (x, y) = curve
            .points
            .iter()
            .map(|(at, value)| (X::Number(*at), value.map(|value| value / factor)))
            .unzip();
        Series {
            name: curve.name.clone(),
            form: curve.form,
            x,
            y,
            tone: if is_only_curve(curve) {
                direction_tone(curve.direction)
            } else {
                Tone::Next
            },
            ..Series::default()
        }
    };
    let mut kinds: Vec<&str> = curves.iter().map(|curve| curve.each.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let merged = match curves.iter().any(|curve| curve.form == Form::Dots) {
        true => " The log mixes the lines of several workers: each point belongs to one of them.",
        false => "",
    };
    let place = match curves.iter().all(|curve| curve.form == Form::Steps) {
        true => "",
        false => " It is at the end of its averaging window.",
    };
    Chart {
        id,
        title,
        about: format!("Each point is {}.{place}{merged}", kinds.join("; or ")),
        x: Axis::linear("time in the log", "s"),
        y,
        series: curves.iter().map(line).collect(),
        ..Chart::default()
    }
}

/// Merges the latencies of all workers: of the histogram logs, or else of single operations.
fn merge_latencies<'a>(files: &[&'a LogFile]) -> Option<(LogKind, PerDirection<Histogram>, Vec<&'a Log>)> {
    [LogKind::Histogram, LogKind::Completion, LogKind::Latency]
        .into_iter()
        .find_map(|kind| {
            let logs = files.iter().filter(|file| file.name.kind == kind).map(|file| &file.log);
            let mut sum: PerDirection<Histogram> = PerDirection::default();
            for (direction, lines) in logs.clone().flat_map(|log| log.directions.iter()) {
                lines
                    .latencies
                    .iter()
                    .for_each(|histogram| sum[direction].merge(histogram));
            }
            let any = sum.iter().any(|(_, histogram)| !histogram.is_empty());
            any.then(|| (kind, sum, logs.collect()))
        })
}

fn build_percentile_chart(prefix: &str, files: &[&LogFile]) -> Option<Chart> {
    let (kind, sum, logs) = merge_latencies(files)?;
    let histograms: Vec<(String, Tone, &Histogram)> = sum
        .iter()
        .filter(|(_, histogram)| !histogram.is_empty())
        .map(|(direction, histogram)| (format!("{}s", direction.word()), direction_tone(direction), histogram))
        .collect();
    let title = match kind {
        LogKind::Latency => "Latency by percentile",
        _ => "Completion latency by percentile",
    };
    let mut chart = percentile_curve(format!("{prefix}percentiles"), title.into(), &histograms)?;
    let width = logs.iter().filter_map(|log| log.bin_width).fold(0.0, f64::max);
    if kind == LogKind::Histogram {
        chart.about += &format!(
            " The bins of the logs are up to {:.1} % of the latency wide; each operation counts as \
            the middle of its bin, including the slowest.",
            100.0 * width
        );
    }
    Some(chart)
}

/// The rate of all workers, and how it was computed. `None` unless the logs ran at the same time.
fn sum_of_means(files: &[&LogFile], kind: LogKind, origin: u64) -> Option<(f64, String)> {
    // Without a log of the rate, the lines of single operations in another log are counted.
    let kinds = [kind, LogKind::Latency, LogKind::Completion];
    let files_of_kind = |kind: LogKind| files.iter().filter(move |file| file.name.kind == kind);
    let source = kinds.into_iter().find(|kind| files_of_kind(*kind).next().is_some())?;
    let logs: Vec<&Log> = files_of_kind(source).map(|file| &file.log).collect();
    let ends: Vec<(u64, u64)> = logs.iter().filter_map(|log| log.time_range_ms).collect();
    let (start, end) = (ends.iter().map(|at| at.0).max()?, ends.iter().map(|at| at.1).min()?);
    let length = ends.iter().map(|at| at.1 - at.0).max()?;
    let are_concurrent = end.saturating_sub(start) as f64 >= OVERLAP * length as f64;
    if !are_concurrent || logs.iter().any(|log| log.is_merged) {
        return None;
    }
    let lines = logs
        .iter()
        .flat_map(|log| log.directions.iter().map(move |(_, lines)| (log, lines)))
        .filter(|(_, lines)| !lines.samples.is_empty() || !lines.intervals.is_empty());
    let means = lines.map(|(log, lines)| match points_of_intervals(lines, log, kind, origin) {
        Some((points, _)) => mean(points.iter().filter_map(|point| point.1)),
        None if source == kind => mean_over_windows(&points_of_averages(&lines.samples, kind, origin).0),
        None => None,
    });
    let value: f64 = means.sum::<Option<f64>>().filter(|value| *value > 0.0)?;
    let note = match (ends.len(), source == kind) {
        (1, true) => "mean over the log's time".to_owned(),
        (1, false) => "counted in the latency log".to_owned(),
        (several, _) => format!("sum of {several} workers, if they ran at the same time"),
    };
    Some((value, note))
}

/// Builds the tiles of the figures that the logs allow.
fn build_tiles(files: &[&LogFile], origin: u64) -> Vec<Tile> {
    let sum = |kind: LogKind, name: &str, words: &dyn Fn(f64) -> String| {
        sum_of_means(files, kind, origin).map(|(value, note)| Tile::new(name, words(value), note))
    };
    let mut tiles = Vec::new();
    tiles.extend(sum(LogKind::Iops, "Operations per second", &|iops| {
        format!("{} IOPS", rate(iops))
    }));
    tiles.extend(sum(LogKind::Bandwidth, "Throughput", &|bytes| {
        format!("{} MB/s", throughput(bytes / 1e6))
    }));
    let Some((kind, by_direction, _)) = merge_latencies(files) else {
        return tiles;
    };
    let mut histogram = Histogram::new();
    by_direction
        .iter()
        .for_each(|(_, direction_histogram)| histogram.merge(direction_histogram));
    for (share, name) in [(0.5, "Half took no longer than"), (0.99, "99 % took no longer than")] {
        if support(share, histogram.n()) != Support::None {
            let quantity = if kind == LogKind::Latency {
                "latency"
            } else {
                "completion latency"
            };
            let value = format_time(histogram.quantile(share) as f64);
            let note = format!("{quantity} of {} operations", count(histogram.n()));
            tiles.push(Tile::new(name, value, note));
        }
    }
    tiles
}

/// Builds the section about the files of the page and what is missing from them.
fn build_files_section(logs: &[LogFile]) -> Section {
    let row = |file: &LogFile| {
        let worker = file
            .name
            .worker
            .map_or_else(|| "all".to_owned(), |worker| worker.to_string());
        vec![
            file.file.clone(),
            file.name.job.clone(),
            worker,
            count(file.log.readable_lines),
        ]
    };
    let has = |kind: LogKind| {
        logs.iter()
            .any(|log| log.name.kind == kind && log.log.readable_lines > 0)
    };
    let mut lacks: Vec<String> = OVER_TIME
        .iter()
        .filter(|(kind, ..)| !has(*kind))
        .map(|(_, title, option)| format!("{title}: no log of it ({option})."))
        .collect();
    let all: Vec<&LogFile> = logs.iter().collect();
    if merge_latencies(&all).is_none() {
        lacks.push(
            "Percentiles: averages do not contain them. Use write_hist_log, or write_lat_log \
            without log_avg_msec."
                .into(),
        );
    }
    lacks.push("The load (sizes, depth, engine), errors, processor time and the totals of the run: fio's JSON report has them.".into());
    let head = ["file", "job", "worker", "lines"];
    let files = Table::new("Files", &head, logs.iter().map(row).collect());
    let mut blocks = vec![Block::Table(files)];
    blocks.push(Block::Text(
        "Throughput is in KiB/s in the logs and in MB/s (10^6 bytes) on this page. Latencies are \
        read as nanoseconds, as of fio 3; earlier versions wrote microseconds, and a log does not \
        contain the version. The mean of averages weights each average equally, regardless of its \
        duration and number of operations: it is not the rate or the mean of the run. Columns after \
        the block size (offset, priority, submission time) are not shown."
            .into(),
    ));
    blocks.push(Block::Table(Table {
        caption: "Missing from these logs".into(),
        rows: lacks
            .iter()
            .filter_map(|lack| lack.split_once(": "))
            .map(|(what, why)| vec![what.to_owned(), why.to_owned()])
            .collect(),
        ..Table::default()
    }));
    Section::new("Source and missing data", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_is_weighted_by_the_length_of_its_window() {
        let points = [(0.5, Some(100.0)), (1.5, Some(400.0))];
        assert_eq!(mean_over_windows(&points), Some(300.0));
        assert_eq!(mean_over_windows(&[]), None);
    }
}
