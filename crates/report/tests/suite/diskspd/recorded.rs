//! Every recorded run of DiskSpd 2.2.0, line by line: the same lines, labels, columns, elements,
//! order and number formats. Measured figures are masked, but their width and decimals are
//! compared.

use std::path::PathBuf;

use model::results::{EffectiveShare, Waits};

use crate::diskspd::builder::{self, Grid, Work, reads, set, step};
use crate::diskspd::hidden;
use crate::prelude::*;

const ONE: (&str, u64) = ("one.dat", 16 << 20);
const TWO: (&str, u64) = ("two.dat", 16 << 20);
/// An odd size, so that it is not a whole number of blocks.
const EXIST: (&str, u64) = ("exist.dat", 10_498_105);

fn mixed(target: u32, block: u64, reads: u64, writes: u64) -> Work {
    Work {
        target,
        block,
        reads,
        writes,
    }
}

fn folder(case: &str) -> PathBuf {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/diskspd/runs");
    runs.join(case)
}

fn recorded(case: &str, file: &str) -> String {
    let path = folder(case).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Renders both reports with the recorded profile and compares them with the recorded reports.
fn check(case: &str, mut results: Results) {
    let (expected_text, expected_xml) = (recorded(case, "result.txt"), recorded(case, "result.xml"));
    // Verbose lines and progress come before the report.
    let report = expected_text.find("\nCommand Line: ").unwrap();
    let expected_text = &expected_text[report..];
    let document = expected_xml.find("<Results>").unwrap();
    let expected_xml = &expected_xml[document..];

    let origin = &mut results.plan.origin;
    let arguments = recorded(case, "argv.txt");
    origin.arguments = ["diskspd.exe"]
        .into_iter()
        .chain(arguments.lines())
        .map(str::to_owned)
        .collect();
    let profile = expected_text
        .lines()
        .skip(3)
        .take_while(|line| *line != "System information:");
    origin.profile = profile.map(str::to_owned).collect();
    let inside = expected_xml.lines().skip_while(|line| *line != "  <Profile>");
    let inside = inside.take_while(|line| !line.starts_with("  <TimeSpan>"));
    origin.profile_markup = inside.map(|line| line[2..].to_owned()).collect();

    same(
        case,
        &masked_text(expected_text),
        &masked_text(&builder::text(&results)),
    );
    let written = builder::xml(&results);
    assert!(!written.ends_with('\n'));
    same(
        case,
        &expected_xml.lines().map(masked_element).collect::<Vec<_>>(),
        &hidden::without_total_latency(&written)
            .iter()
            .map(|line| masked_element(line))
            .collect::<Vec<_>>(),
    );
}

fn same(case: &str, expected: &[String], written: &[String]) {
    for (number, (expected, written)) in expected.iter().zip(written).enumerate() {
        assert_eq!(expected, written, "{case}, line {}", number + 1);
    }
    assert_eq!(expected.len(), written.len(), "{case}: lines");
}

fn masked_text(text: &str) -> Vec<String> {
    text.lines().map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    // The paths of version 2.2 have no fixed order.
    let changing = ["\tactive power scheme:\t", "Latency distribution: "];
    match changing.iter().find(|label| line.starts_with(**label)) {
        Some(label) => format!("{label}…"),
        None => hidden::line(line),
    }
}

fn masked_element(line: &str) -> String {
    match line.trim_start().starts_with("<PowerScheme ") {
        true => "    <PowerScheme/>".to_owned(),
        false => hidden::element(line),
    }
}

fn results_with(targets: &[(&str, u64)], steps: Vec<StepResults>) -> Results {
    builder::results(targets).with(|results| results.steps = steps)
}

fn with_latency(mut results: Results) -> Results {
    results.plan.origin.presentation.latency = true;
    results
}

fn with_deviation(mut results: Results, bucket_ms: &str, expected_ms: &str) -> Results {
    results.plan.origin.presentation.iops_deviation = true;
    set(&mut results, "bucket_ms.1", bucket_ms);
    set(&mut results, "expected_ms.1", expected_ms);
    results
}

fn grid(length_ms: u64, count: usize) -> Option<Grid> {
    Some(Grid { length_ms, count })
}

fn range(percent: f64, start: u64, length: u64) -> EffectiveShare {
    EffectiveShare {
        operations_percent: percent,
        start: Bytes(start),
        length: Bytes(length),
    }
}

/// The two spans show different figures: the second has neither latencies nor intervals.
fn two_time_spans() -> Results {
    let two = ("two.dat", 8 << 20);
    let first = step(1.0, grid(200, 5), &[&[mixed(0, 4096, 400, 100)]]);
    let write = mixed(1, 64 << 10, 0, 70);
    let second = step(2.0, None, &[&[reads(0, 64 << 10, 80)], &[write], &[write]]);
    let mut results = results_with(&[ONE, two], vec![first, second]);
    for (name, value) in [
        ("latency.1", "true"),
        ("deviation.1", "true"),
        ("bucket_ms.1", "200"),
        ("expected_ms.1", "1000"),
        ("latency.2", "false"),
        ("deviation.2", "false"),
    ] {
        set(&mut results, name, value);
    }
    results
}

/// Threads with effective ranges.
fn distributed(threads: usize, ranges: &[EffectiveShare]) -> Results {
    let thread: &[Work] = &[reads(0, 4096, 300)];
    let mut step = step(1.0, None, &vec![thread; threads]);
    for worker in &mut step.jobs[0].workers {
        worker.streams[0].effective_ranges = ranges.to_vec();
    }
    with_latency(results_with(&[EXIST], vec![step]))
}

fn throttled() -> Results {
    let thread: &[Work] = &[reads(0, 8192, 300)];
    let mut step = step(2.0, None, &[thread; 2]);
    step.jobs[0].workers[1].waits = Waits::default()
        .with(|waits| (waits.slept, waits.polls, waits.completions_per_poll) = (1834, 795, [0, 795, 0, 0, 0, 0, 0, 0]));
    with_latency(results_with(&[EXIST], vec![step]))
}

/// A run of one step that ended in another way.
fn ended(target: (&str, u64), mut step: StepResults, ended: Option<EndReason>) -> Results {
    step.jobs[0].ended = ended;
    results_with(&[target], vec![step])
}

#[test]
fn every_recorded_run_matches() {
    let run = |targets: &[(&str, u64)], step| results_with(targets, vec![step]);
    let with = |mut results, name, value| {
        set(&mut results, name, value);
        results
    };
    let (block, half, part) = (64 << 10, mixed(0, 4096, 500, 500), mixed(0, 4096, 700, 300));
    let kib = |percent: f64, start: u64, length: u64| range(percent, start << 10, length << 10);
    let sixty = [
        range(60.0, 0, 1 << 20),
        range(20.0, 2 << 20, 2 << 20),
        range(20.0, 4 << 20, 6_303_801),
    ];
    let tenths = [
        kib(10.0, 0, 96),
        kib(10.0, 96, 104),
        kib(50.0, 200, 3384),
        kib(30.0, 3584, 6672),
    ];
    let mixture = run(&[ONE], step(3.01, grid(500, 6), &[&[part], &[part]]));
    let two = run(
        &[ONE, TWO],
        step(2.0, None, &[&[reads(0, 8192, 500)], &[reads(1, 8192, 100)]]),
    );
    let written = run(&[ONE], step(2.0, grid(1000, 2), &[&[mixed(0, block, 0, 99)]]));
    let thread: &[Work] = &[mixed(0, 4096, 90, 100), mixed(1, 4096, 110, 80)];
    let pool = with_latency(run(&[ONE, TWO], step(2.0, grid(1000, 2), &[thread; 3])));
    let routines = with_latency(run(&[ONE], step(1.0, grid(1000, 1), &[&[half]])));
    for (case, results) in [
        (
            "01-plain-sequential-read",
            run(&[ONE], step(2.003, None, &[&[reads(0, block, 500)]])),
        ),
        (
            "02-latency-and-buckets-mixed",
            with_deviation(with_latency(mixture), "500", "3000"),
        ),
        ("03-latency-only-two-targets-read", with_latency(two)),
        ("04-buckets-only-write", with_deviation(written, "1000", "2000")),
        (
            "05-thread-pool",
            with(with_deviation(pool, "1000", "2000"), "requests.1", "4"),
        ),
        ("06-two-timespans", two_time_spans()),
        (
            "07-effective-distributions",
            with(distributed(3, &sixty), "wait_statistics", "true"),
        ),
        ("08-percent-distribution", distributed(1, &tenths)),
        (
            "09-throttled-wait-statistics",
            with(throttled(), "wait_statistics", "true"),
        ),
        (
            "10-verbose-cooldown-progress",
            run(&[EXIST], step(1.21, None, &[&[reads(0, block, 300)]])),
        ),
        (
            "11-missing-file",
            ended(("nosuchfile.dat", 0), step(0.0, None, &[&[]]), None),
        ),
        // If a worker fails, its time span has no figures.
        (
            "12-target-too-small",
            ended(EXIST, step(1.0, None, &[&[reads(0, 4096, 7)]]), Some(EndReason::Failed)),
        ),
        ("13-completion-routines", with_deviation(routines, "1000", "1000")),
        (
            "14-memory-mapped-flush",
            with_latency(run(&[ONE], step(1.0, None, &[&[half]]))),
        ),
    ] {
        check(case, results);
    }
}

/// The recorded intervals yield the recorded deviations, for each thread and for all.
#[test]
fn recorded_intervals_yield_the_recorded_deviations() {
    for (case, length_ms, expected_ms) in [
        ("02-latency-and-buckets-mixed", 500, "3000"),
        ("04-buckets-only-write", 1000, "2000"),
        ("05-thread-pool", 1000, "2000"),
        ("06-two-timespans", 200, "1000"),
        ("13-completion-routines", 1000, "1000"),
    ] {
        let file = recorded(case, "result.xml");
        let document = roxmltree::Document::parse(&file).unwrap();
        let span = document
            .descendants()
            .find(|node| node.has_tag_name("CpuUtilization"))
            .unwrap();
        let span = span.parent().unwrap();
        let mut results = results_with(&[ONE, TWO], vec![from_xml(span, length_ms)]);
        results = with_deviation(results, &length_ms.to_string(), expected_ms);
        let written = builder::xml(&results);
        let written = roxmltree::Document::parse(&written).unwrap();
        let found = iops_fields(written.root_element());
        let expected = iops_fields(span);
        assert!(!expected.is_empty());
        assert_eq!(expected, found, "{case}");
    }
}

/// Threads with the recorded count of each interval, and the smallest and largest latencies if they
/// were printed.
fn from_xml(span: roxmltree::Node, length_ms: u64) -> StepResults {
    let named = |node: roxmltree::Node, name: &'static str| {
        let found: Vec<_> = node
            .children()
            .filter(|child| child.has_tag_name(name))
            .map(|n| n.id())
            .collect();
        found
    };
    let document = span.document();
    let node = |id: roxmltree::NodeId| document.get_node(id).unwrap();
    let threads: Vec<Vec<Work>> = named(span, "Thread")
        .into_iter()
        .map(|thread| {
            named(node(thread), "Target")
                .iter()
                .map(|_| reads(0, 4096, 1))
                .collect()
        })
        .collect();
    let threads: Vec<&[Work]> = threads.iter().map(Vec::as_slice).collect();
    let mut made = step(1.0, grid(length_ms, 1), &threads);
    for series in &mut made.jobs[0].series {
        let (worker, stream) = series.source.unwrap();
        let thread = node(named(span, "Thread")[worker as usize]);
        let target = node(named(thread, "Target")[stream as usize]);
        let iops = node(named(target, "Iops")[0]);
        series.points = Default::default();
        for bucket in named(iops, "Bucket").into_iter().map(node) {
            let number = |name: &str| bucket.attribute(name).unwrap().parse::<f64>().unwrap();
            for (name, points) in [("Read", &mut series.points.read), ("Write", &mut series.points.write)] {
                let latency = |what: &str| (number(&format!("{name}{what}LatencyMilliseconds")) * 1e6).round() as u64;
                points.push(Point {
                    operations: (number(name) * length_ms as f64 / 1e3).round() as u64,
                    latency_ns_min: latency("Min"),
                    latency_ns_max: latency("Max"),
                    ..Default::default()
                });
            }
        }
    }
    made
}

/// Everything in `Iops` elements that does not need the sums of latencies.
fn iops_fields(node: roxmltree::Node) -> Vec<String> {
    let mut found = Vec::new();
    for iops in node.descendants().filter(|node| node.has_tag_name("Iops")) {
        for child in iops.children().filter(roxmltree::Node::is_element) {
            found.push(format!(
                "{} {}",
                child.tag_name().name(),
                child.text().unwrap_or_default()
            ));
            let attributes = child
                .attributes()
                .filter(|a| !a.name().contains("Avg") && !a.name().contains("StdDev"));
            found.extend(attributes.map(|attribute| format!("{}={}", attribute.name(), attribute.value())));
        }
    }
    found
}
