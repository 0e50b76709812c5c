//! Reads DiskSpd's XML report of 2.0.x to 2.2. Only elements that every version has are required.
//! The report has no rates: they are computed from counts and time.

use std::borrow::Cow;

use model::finding::{Finding, Severity};
use model::observation::{BreakdownEntry, CoreShare, IoStats, Latency, Observation, SeriesPoint};
use model::{Bytes, Direction, Nanos, PerDirection};
use roxmltree::{Document, Node};

use super::{Settings, TargetSettings, Throttle, from_ms, from_seconds, latency_of, same_size};
use crate::Diagnostic;
use crate::import::numbers::{parse_decimal, parse_integer, parse_u32, percent_to_share};
use crate::import::{Form, Imported, embedded, problem_at};

/// Reads all `Results` elements.
///
/// # Errors
/// The position where the XML is malformed.
pub(in crate::import) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let range = embedded::find_diskspd_xml(text).unwrap_or(0..text.len());
    let before = embedded::line_number(text, range.start) - 1;
    // Several results in a row have no common root.
    let whole_text = format!("<All>{}</All>", escape_xml(&text[range]));
    let document = Document::parse(&whole_text).map_err(|error| {
        let row = error.pos().row as usize;
        let line = whole_text.lines().nth(row.saturating_sub(1)).unwrap_or_default();
        let problem = problem_at(file, row + before, line, format!("cannot parse the XML: {error}"));
        vec![problem.help("pass the complete report, which ends with </Results>: this one is truncated or edited")]
    })?;
    let mut imported = Imported::new(Form::DiskspdXml);
    for results in document.descendants().filter(|node| node.has_tag_name("Results")) {
        read_results(&mut imported, results);
    }
    Ok(imported)
}

/// Escapes `&` in paths and `<unknown>` in attributes, which DiskSpd writes unescaped.
fn escape_xml(text: &str) -> Cow<'_, str> {
    if !text.contains('&') && !text.contains("\"<") {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\"<unknown>\"", "\"unknown\"");
    let mut out = String::with_capacity(text.len());
    for (index, character) in text.char_indices() {
        let entity = || {
            let rest = &text[index + 1..];
            let name = rest.split(';').next().filter(|name| name.len() < rest.len());
            name.is_some_and(|name| matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#'))
        };
        out.push(character);
        if character == '&' && !entity() {
            out.push_str("amp;");
        }
    }
    Cow::Owned(out)
}

fn read_results(imported: &mut Imported, results: Node<'_, '_>) {
    let system = find_child(results, "System");
    let version = system.and_then(|system| child_text(find_child(system, "Tool")?, "Version"));
    if let Some(system) = system {
        imported.host = child_text(system, "ComputerName");
        imported.started = child_text(system, "RunTime");
    }
    let spans = results.children().filter(|node| node.has_tag_name("TimeSpan"));
    let settings = read_settings(results);
    for (index, span) in spans.enumerate() {
        let name = format!("time span {}", index + 1);
        if let Some(error) = find_child(span, "Error") {
            let message = error.text().unwrap_or("the test was interrupted").trim().to_owned();
            imported
                .findings
                .push(Finding::new("RUN-INTERRUPTED", Severity::Error, message).at(name));
            continue;
        }
        imported.processors = child_u32(span, "ProcCount").or(imported.processors);
        match read_observation(span, settings.get(index), name.clone()) {
            Some(observation) => imported.loads.push(Observation {
                version: version.clone(),
                ..observation
            }),
            None => {
                let message = "the report lacks the measured time or the thread counts";
                let finding = Finding::new("REPORT-TRUNCATED", Severity::Warning, message).at(name);
                imported
                    .findings
                    .push(finding.help("pass the complete report, or run the test again"));
            }
        }
    }
}

fn find_child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn child_text(node: Node<'_, '_>, name: &str) -> Option<String> {
    Some(find_child(node, name)?.text()?.trim().to_owned())
}

fn child_integer(node: Node<'_, '_>, name: &str) -> Option<u64> {
    parse_integer(&child_text(node, name)?)
}

fn child_u32(node: Node<'_, '_>, name: &str) -> Option<u32> {
    parse_u32(&child_text(node, name)?)
}

fn child_number(node: Node<'_, '_>, name: &str) -> Option<f64> {
    parse_decimal(&child_text(node, name)?)
}

fn is_true(node: Node<'_, '_>, name: &str) -> bool {
    child_text(node, name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn read_settings(results: Node<'_, '_>) -> Vec<Settings> {
    let spans = find_child(results, "Profile").and_then(|profile| find_child(profile, "TimeSpans"));
    let spans = spans.into_iter().flat_map(|spans| spans.children());
    let spans = spans.filter(|node| node.has_tag_name("TimeSpan"));
    spans.map(read_span_settings).collect()
}

fn read_span_settings(span: Node<'_, '_>) -> Settings {
    let targets = find_child(span, "Targets")
        .into_iter()
        .flat_map(|targets| targets.children());
    let threads = child_u32(span, "ThreadCount").filter(|threads| *threads > 0);
    Settings {
        duration_s: child_integer(span, "Duration"),
        warm_up_s: child_integer(span, "Warmup"),
        measures_latency: is_true(span, "MeasureLatency"),
        pool_threads: threads,
        pool_requests: child_u32(span, "RequestCount"),
        targets: targets
            .filter(|node| node.has_tag_name("Target"))
            .map(|node| read_target(node, threads.is_some()))
            .collect(),
        complete: true,
        ..Settings::default()
    }
}

fn read_target(node: Node<'_, '_>, is_pooled: bool) -> TargetSettings {
    let limit = find_child(node, "Throughput").and_then(|limit| {
        let number = parse_decimal(limit.text()?.trim()).filter(|number| *number > 0.0)?;
        Some(match limit.attribute("unit") {
            Some("IOPS") => Throttle::Iops(number),
            _ => Throttle::BytesPerMs(number),
        })
    });
    let disables_all_caches = is_true(node, "DisableAllCache");
    TargetSettings {
        path: child_text(node, "Path").unwrap_or_default(),
        read_percent: child_number(node, "WriteRatio").map(|writes| 100.0 - writes),
        block: child_integer(node, "BlockSize"),
        random: Some(find_child(node, "Random").is_some() || find_child(node, "RandomRatio").is_some()),
        requests: child_u32(node, "RequestCount"),
        threads: child_u32(node, "ThreadsPerFile").filter(|_| !is_pooled),
        bypasses_cache: Some(disables_all_caches || is_true(node, "DisableOSCache")),
        writes_through: Some(disables_all_caches || is_true(node, "WriteThrough")),
        limit,
        pauses: child_integer(node, "ThinkTime").is_some_and(|pause| pause > 0),
        size: child_integer(node, "FileSize").filter(|size| *size > 0),
    }
}

/// Operations and bytes of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    operations: u64,
    bytes: u64,
}

fn read_count(target: Node<'_, '_>, operations: &str, bytes: &str) -> Option<Count> {
    Some(Count {
        operations: child_integer(target, operations)?,
        bytes: child_integer(target, bytes)?,
    })
}

/// Elements with the operations and bytes of all directions, of reads and of writes.
const COUNT_ELEMENTS: [(&str, &str); 3] = [
    ("IOCount", "BytesCount"),
    ("ReadCount", "ReadBytes"),
    ("WriteCount", "WriteBytes"),
];

fn read_observation(span: Node<'_, '_>, settings: Option<&Settings>, name: String) -> Option<Observation> {
    let time = from_seconds(child_number(span, "TestTimeSeconds")?);
    let threads: Vec<Node<'_, '_>> = span.children().filter(|node| node.has_tag_name("Thread")).collect();
    let targets: Vec<(String, Node<'_, '_>)> = threads.iter().flat_map(|thread| thread_targets(*thread)).collect();
    let sum = |(operations, bytes): (&str, &str)| -> Option<Count> {
        let mut sum = Count::default();
        for (_, target) in &targets {
            let counts = read_count(*target, operations, bytes)?;
            sum.operations = sum.operations.saturating_add(counts.operations);
            sum.bytes = sum.bytes.saturating_add(counts.bytes);
        }
        (!targets.is_empty()).then_some(sum)
    };
    let totals = COUNT_ELEMENTS.map(sum);
    let total = totals[0]?;
    let latencies = read_latencies(span);
    let threads_counted = child_u32(span, "ThreadCount");
    let mut load = settings
        .map(|settings| settings.load(threads_counted))
        .unwrap_or_default();
    let sizes = targets
        .iter()
        .filter_map(|(_, target)| child_integer(*target, "FileSize"));
    load.size = same_size(sizes).or(load.size);
    let deviation = |name: &str| find_child(span, "Iops").and_then(|iops| child_number(iops, name));
    let stats_of = |index: usize, count: Count, deviation: Option<f64>| IoStats {
        iops_deviation: deviation,
        latency: latencies[index].clone().map(|latency| Latency {
            samples: Some(count.operations),
            ..latency
        }),
        ..stats_from_count(count, time)
    };
    let direction = |index: usize, name: &str| {
        let count = totals[index].filter(|count| count.operations > 0)?;
        Some(stats_of(index, count, deviation(name)))
    };
    Some(Observation {
        tool: "DiskSpd".into(),
        name,
        load,
        started_unix_ns: None,
        measured_ns: Some(time),
        directions: PerDirection::new(direction(1, "ReadIopsStdDev"), direction(2, "WriteIopsStdDev"), None),
        total: stats_of(0, total, deviation("IopsStdDev")),
        breakdown: read_breakdown(&targets, time),
        cores: read_cores(span),
        series: read_series(span, settings),
        ..Observation::default()
    })
}

fn thread_targets<'a, 'i>(thread: Node<'a, 'i>) -> Vec<(String, Node<'a, 'i>)> {
    let id = child_text(thread, "Id").unwrap_or_else(|| "?".into());
    let targets = thread.children().filter(|node| node.has_tag_name("Target"));
    let named = targets.map(|target| {
        let path = child_text(target, "Path").unwrap_or_default();
        (format!("thread {id}, {path}"), target)
    });
    named.collect()
}

fn stats_from_count(count: Count, time: Nanos) -> IoStats {
    let seconds = time.as_secs();
    let rate = |number: u64| (seconds > 0.0).then(|| number as f64 / seconds);
    IoStats {
        operations: Some(count.operations),
        bytes: Some(Bytes(count.bytes)),
        iops: rate(count.operations),
        bytes_per_sec: rate(count.bytes),
        ..IoStats::default()
    }
}

/// Latencies of all, reads and writes.
fn read_latencies(span: Node<'_, '_>) -> [Option<Latency>; 3] {
    let Some(latency) = find_child(span, "Latency") else {
        return [None, None, None];
    };
    let parse_latency = |mean: &str, deviation: &str, column: &str| {
        let mean_ns = child_number(latency, mean).map(from_ms)?;
        let buckets = latency.children().filter(|node| node.has_tag_name("Bucket"));
        let rows: Vec<(f64, f64)> = buckets
            .filter_map(|bucket| {
                Some((
                    percent_to_share(child_number(bucket, "Percentile")?),
                    from_ms(child_number(bucket, column)?),
                ))
            })
            .collect();
        Some(Latency {
            mean_ns: Some(mean_ns),
            deviation_ns: child_number(latency, deviation).map(from_ms),
            ..latency_of(&rows)
        })
    };
    [
        parse_latency("AverageTotalMilliseconds", "LatencyStdev", "TotalMilliseconds"),
        parse_latency("AverageReadMilliseconds", "ReadLatencyStdev", "ReadMilliseconds"),
        parse_latency("AverageWriteMilliseconds", "WriteLatencyStdev", "WriteMilliseconds"),
    ]
}

fn read_breakdown(targets: &[(String, Node<'_, '_>)], time: Nanos) -> Vec<BreakdownEntry> {
    let directions = [None, Some(Direction::Read), Some(Direction::Write)];
    let means = [
        "AverageLatencyMilliseconds",
        "AverageReadLatencyMilliseconds",
        "AverageWriteLatencyMilliseconds",
    ];
    let rows = directions
        .into_iter()
        .zip(COUNT_ELEMENTS)
        .zip(means)
        .flat_map(|((direction, names), mean)| {
            targets.iter().filter_map(move |(name, target)| {
                let count = read_count(*target, names.0, names.1)?;
                let mean_ns = child_number(*target, mean).map(from_ms);
                Some(BreakdownEntry {
                    name: name.clone(),
                    direction,
                    flow: IoStats {
                        latency: mean_ns.map(|mean_ns| Latency {
                            samples: Some(count.operations),
                            mean_ns: Some(mean_ns),
                            ..Latency::default()
                        }),
                        ..stats_from_count(count, time)
                    },
                })
            })
        });
    rows.collect()
}

fn read_cores(span: Node<'_, '_>) -> Vec<CoreShare> {
    let cores = find_child(span, "CpuUtilization")
        .into_iter()
        .flat_map(|node| node.children());
    let cores = cores.filter(|node| node.has_tag_name("CPU")).enumerate();
    let read = cores.filter_map(|(index, cpu)| {
        Some(CoreShare {
            // Numbers restart in each group, so the CPU number is the row's index.
            cpu: index as u32,
            user: child_number(cpu, "UserPercent")? / 100.0,
            kernel: child_number(cpu, "KernelPercent")? / 100.0,
            stolen: None,
        })
    });
    read.collect()
}

/// The buckets of `-D`. Their counts are per second; their time is the end of the bucket.
fn read_series(span: Node<'_, '_>, settings: Option<&Settings>) -> Vec<SeriesPoint> {
    let buckets = find_child(span, "Iops").into_iter().flat_map(|node| node.children());
    let block = settings
        .and_then(|settings| settings.same(|target| target.block))
        .unwrap_or(0);
    let mut before = Nanos(0);
    let points = buckets.filter(|node| node.has_tag_name("Bucket")).filter_map(|bucket| {
        let value = |name: &str| parse_decimal(bucket.attribute(name)?);
        let end = from_ms(value("SampleMillisecond")?);
        let end = Nanos(end.round() as u64);
        let (start, length) = (before, end.since(before));
        before = end;
        let seconds = length.as_secs();
        let operations = [value("Read")?, value("Write")?].map(|rate| (rate * seconds).round() as u64);
        (length > Nanos(0)).then_some(SeriesPoint {
            start_ns: start,
            length_ns: length,
            operations: [operations[0], operations[1], 0],
            bytes: [
                operations[0].saturating_mul(block),
                operations[1].saturating_mul(block),
                0,
            ],
            mean_ns: None,
            p99_ns: None,
        })
    });
    points.collect()
}
