//! Reads a real XML result as DiskSpd's own scripts do, and checks its figures.

use roxmltree::{Document, Node};
#[cfg(target_os = "linux")]
use testbed::need;

use crate::diskspd::support::Sandbox;

/// All nodes at a path of element names: `a/b/c`.
fn nodes_at<'a>(from: Node<'a, 'a>, path: &str) -> Vec<Node<'a, 'a>> {
    path.split('/').fold(vec![from], |nodes, name| {
        let children = nodes.iter().flat_map(|node| node.children());
        children.filter(|child| child.has_tag_name(name)).collect()
    })
}

fn numbers(from: Node, path: &str) -> Vec<f64> {
    let nodes = nodes_at(from, path).into_iter();
    nodes.map(|node| node.text().unwrap().trim().parse().unwrap()).collect()
}

/// The only number at a path.
#[track_caller]
fn number(from: Node, path: &str) -> f64 {
    let found = numbers(from, path);
    assert_eq!(found.len(), 1, "{path}");
    found[0]
}

fn sum(from: Node, path: &str) -> f64 {
    numbers(from, path).iter().sum()
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance,
        "{value} is not {expected} ± {tolerance}"
    );
}

const BLOCK: f64 = 4096.0;
const THREADS: f64 = 4.0;
const DEPTH: f64 = 4.0;
const BUCKET_MS: usize = 500;
/// Milliseconds have three decimals.
const ROUNDING_MS: f64 = 0.000_501;

#[test]
fn figures_of_a_real_xml_result_are_consistent() {
    let sandbox = Sandbox::new();
    let line = "-Rxml -c16M -b4K -r -w30 -t2 -o4 -Sh -d2 -W0 -L -D500 one.dat two.dat";
    let ran = sandbox.line(line);
    ran.succeeds_silently();
    // DiskSpd's script looks only at the first line.
    assert_eq!(ran.out.lines().next(), Some("<Results>"));
    let document = Document::parse(&ran.out).unwrap();
    let results = document.root_element();
    let span = nodes_at(results, "TimeSpan")[0];

    assert_near(number(span, "ThreadCount"), THREADS, 0.0);
    assert_near(number(results, "Profile/TimeSpans/TimeSpan/Duration"), 2.0, 0.0);
    let targets = nodes_at(results, "Profile/TimeSpans/TimeSpan/Targets/Target");
    assert_eq!(targets.len(), 2);
    for target in targets {
        assert_near(number(target, "Random"), BLOCK, 0.0);
        assert_near(number(target, "WriteRatio"), 30.0, 0.0);
        assert_near(number(target, "RequestCount"), DEPTH, 0.0);
    }
    let threads = nodes_at(span, "Thread");
    let ids: Vec<f64> = threads.iter().map(|thread| number(*thread, "Id")).collect();
    assert_eq!(ids, [0.0, 1.0, 2.0, 3.0]);
    check_threads(&threads);
    check_latencies(span);
    check_intervals(span);
}

/// Checks that the counts of each thread add up.
fn check_threads(threads: &[Node]) {
    for thread in threads {
        let figure = |name: &str| number(*thread, &format!("Target/{name}"));
        assert_near(figure("IOCount"), figure("ReadCount") + figure("WriteCount"), 0.0);
        assert_near(figure("BytesCount"), figure("ReadBytes") + figure("WriteBytes"), 0.0);
        assert_near(figure("ReadBytes"), figure("ReadCount") * BLOCK, 0.0);
        assert_near(figure("WriteBytes"), figure("WriteCount") * BLOCK, 0.0);
        assert_near(figure("FileSize"), f64::from(16 << 20), 0.0);
        assert!(figure("ReadCount") > 0.0 && figure("WriteCount") > 0.0);
    }
}

/// Checks that the threads' means add up to the overall mean. Percentiles must rise, and be at the
/// positions where scripts look for them.
fn check_latencies(span: Node) {
    let latency = nodes_at(span, "Latency")[0];
    for (of_thread, counted, overall) in [
        ("AverageReadLatencyMilliseconds", "ReadCount", "AverageReadMilliseconds"),
        (
            "AverageWriteLatencyMilliseconds",
            "WriteCount",
            "AverageWriteMilliseconds",
        ),
    ] {
        let means = numbers(span, &format!("Thread/Target/{of_thread}"));
        let counts = numbers(span, &format!("Thread/Target/{counted}"));
        let weighted: f64 = means.iter().zip(&counts).map(|(mean, count)| mean * count).sum();
        assert_near(
            weighted / counts.iter().sum::<f64>(),
            number(latency, overall),
            2.0 * ROUNDING_MS,
        );
    }
    let (reads, writes) = (
        sum(span, "Thread/Target/ReadCount"),
        sum(span, "Thread/Target/WriteCount"),
    );
    let both =
        number(latency, "AverageReadMilliseconds") * reads + number(latency, "AverageWriteMilliseconds") * writes;
    assert_near(
        both / (reads + writes),
        number(latency, "AverageTotalMilliseconds"),
        2.0 * ROUNDING_MS,
    );

    let buckets = nodes_at(latency, "Bucket");
    assert_eq!(buckets.len(), 108);
    for percentile in [0, 1, 25, 50, 75, 90, 95, 99] {
        assert_near(number(buckets[percentile], "Percentile"), percentile as f64, 0.0);
    }
    let names: Vec<&str> = buckets
        .iter()
        .map(|bucket| nodes_at(*bucket, "Percentile")[0].text().unwrap())
        .collect();
    let nines = [
        "99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999", "100",
    ];
    assert_eq!(names[100..], nines);
    for kind in ["ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds"] {
        let rising = numbers(latency, &format!("Bucket/{kind}"));
        assert_eq!(rising.len(), 108);
        assert!(rising.is_sorted(), "{kind}: {rising:?}");
        // The fastest read from memory may take less than half a microsecond.
        assert!(rising[0] >= 0.0 && rising[107] > 0.0, "{kind}: {rising:?}");
    }
    let [smallest, largest] =
        [0, 107].map(|at| ["Read", "Write", "Total"].map(|kind| number(buckets[at], &format!("{kind}Milliseconds"))));
    assert_near(smallest[2], smallest[0].min(smallest[1]), 0.0);
    assert_near(largest[2], largest[0].max(largest[1]), 0.0);
}

/// Checks that the intervals' rates, times their length, add up to all operations.
fn check_intervals(span: Node) {
    let iops = nodes_at(span, "Iops")[0];
    for name in ["ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev"] {
        assert!(number(iops, name) > 0.0, "{name}");
    }
    let attribute = |node: Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let buckets = nodes_at(iops, "Bucket");
    let ends: Vec<f64> = buckets
        .iter()
        .map(|bucket| attribute(*bucket, "SampleMillisecond"))
        .collect();
    // Intervals at the end without an operation are not listed.
    assert!(
        [500.0, 1000.0, 1500.0, 2000.0].starts_with(&ends) && !ends.is_empty(),
        "{ends:?}"
    );
    let seconds = BUCKET_MS as f64 / 1e3;
    let total = |buckets: &[Node], name: &str| {
        buckets
            .iter()
            .map(|bucket| attribute(*bucket, name) * seconds)
            .sum::<f64>()
    };
    let late = number(span, "TestTimeSeconds") - 2.0;
    for (name, counted) in [("Read", "ReadCount"), ("Write", "WriteCount"), ("Total", "IOCount")] {
        let count = sum(span, &format!("Thread/Target/{counted}"));
        let found = total(&buckets, name);
        // Operations that completed after the last interval are in none.
        let max_missed = count * (late / 2.0).max(0.0) * 2.0 + 4.0 * THREADS * DEPTH;
        assert!(
            found <= count && count - found <= max_missed,
            "{name}: {found} of {count}"
        );
        let of_threads: f64 = nodes_at(span, "Thread/Target/Iops")
            .iter()
            .map(|iops| total(&nodes_at(*iops, "Bucket"), name))
            .sum();
        assert_near(of_threads, found, 0.0);
    }
    for bucket in &buckets {
        assert_near(
            attribute(*bucket, "Read") + attribute(*bucket, "Write"),
            attribute(*bucket, "Total"),
            0.0,
        );
        let [smallest, mean, largest] =
            ["Min", "Avg", "Max"].map(|kind| attribute(*bucket, &format!("Read{kind}LatencyMilliseconds")));
        assert!(smallest <= mean && mean <= largest);
    }
}

/// By Little's law, the latencies add up to the test time, times the depth. They exclude the work
/// of a thread between one completion and the next submission. That is short compared with 20 ms,
/// but longer on busy processors.
#[cfg(target_os = "linux")]
#[test]
fn latencies_of_a_closed_loop_fill_the_test_time() {
    use std::time::Duration;

    use crate::calling::{faulty_fs, text};

    let (first, second) = (need!(faulty_fs()), need!(faulty_fs()));
    let sandbox = Sandbox::new();
    let slow = [&first, &second].map(|file| {
        file.delay_every(1, Duration::from_millis(20));
        text(file.file())
    });
    let line = format!("-Rxml -b4K -r -w30 -t2 -o4 -Sh -d2 -W0 -L {} {}", slow[0], slow[1]);
    let ran = sandbox.line(&line);
    ran.expect(0, &[]);
    let document = Document::parse(&ran.out).unwrap();
    let span = nodes_at(document.root_element(), "TimeSpan")[0];
    let operations = sum(span, "Thread/Target/IOCount");
    let times = number(span, "Latency/AverageTotalMilliseconds") * operations;
    let requests = THREADS * DEPTH;
    let share = times / (requests * number(span, "TestTimeSeconds") * 1e3);
    assert_near(share, 1.0, 0.03 + requests / operations);
}
