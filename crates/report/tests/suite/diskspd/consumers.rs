//! Parses the reports as public scripts do: each test relies on what one family of readers relies
//! on.

use model::results::Results;
use roxmltree::{Document, Node};
use testbed::AssertIs;

use crate::diskspd::builder::{self, Grid, Work, set, step};

/// Two threads that read and write; the parameters are the report options.
fn run(latency: bool, deviation: bool) -> Results {
    let mut results = builder::results(&[("one.dat", 16 << 20), ("two.dat", 8 << 20)]);
    let work = |target: u32, reads: u64, writes: u64| Work {
        target,
        block: 4096,
        reads,
        writes,
    };
    let grid = Grid {
        length_ms: 1000,
        count: 2,
    };
    let threads: [&[Work]; 2] = [&[work(0, 300, 100)], &[work(1, 500, 50)]];
    results.steps = vec![step(2.0, Some(grid), &threads)];
    results.plan.origin.presentation.latency = latency;
    results.plan.origin.presentation.iops_deviation = deviation;
    results.plan.origin.arguments = vec!["diskspd".into(), "one.dat".into(), "two.dat".into()];
    let markup = "<Profile>\n  <TimeSpans>\n    <TimeSpan>\n      <DisableAffinity>false</DisableAffinity>\n      <Targets>\n        \
                  <Target>\n          <BlockSize>4096</BlockSize>\n          <Random>4096</Random>\n        </Target>\n      \
                  </Targets>\n    </TimeSpan>\n  </TimeSpans>\n</Profile>";
    results.plan.origin.profile_markup = markup.lines().map(str::to_owned).collect();
    set(&mut results, "bucket_ms.1", "1000");
    set(&mut results, "expected_ms.1", "2000");
    results
}

/// All nodes at a path of element names: `a/b/c`.
fn all<'a>(from: Node<'a, 'a>, path: &str) -> Vec<Node<'a, 'a>> {
    path.split('/').fold(vec![from], |nodes, name| {
        let children = nodes.iter().flat_map(|node| node.children());
        children.filter(|child| child.has_tag_name(name)).collect()
    })
}

fn texts<'a>(from: Node<'a, 'a>, path: &str) -> Vec<&'a str> {
    let text = |node: &Node<'a, 'a>| node.text().unwrap_or_default();
    all(from, path).iter().map(text).collect()
}

fn numbers(from: Node, path: &str) -> Vec<f64> {
    texts(from, path).iter().map(|text| text.parse().unwrap()).collect()
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// The script that comes with DiskSpd.
#[test]
fn process_diskspd() {
    let xml = builder::xml(&run(true, true));
    assert_eq!(xml.lines().next(), Some("<Results>"));
    assert!(xml.ends_with("\n</Results>"));
    let document = Document::parse(&xml).unwrap();
    let root = document.root_element();
    assert_eq!(texts(root, "System/ComputerName"), ["testhost"]);
    assert_eq!(texts(root, "System/Tool/Version"), ["2.2.0"]);
    near(numbers(root, "TimeSpan/TestTimeSeconds")[0], 2.0);
    near(numbers(root, "TimeSpan/ThreadCount")[0], 2.0);
    let sum = |what: &str| {
        numbers(root, &format!("TimeSpan/Thread/Target/{what}"))
            .iter()
            .sum::<f64>()
    };
    near(sum("ReadCount"), 800.0);
    near(sum("WriteCount"), 150.0);
    near(sum("ReadBytes"), 800.0 * 4096.0);
    near(sum("WriteBytes"), 150.0 * 4096.0);
    assert_eq!(numbers(root, "TimeSpan/Iops/ReadIopsStdDev").len(), 1);
    assert_eq!(numbers(root, "TimeSpan/Iops/WriteIopsStdDev").len(), 1);
    texts(root, "Profile/TimeSpans/TimeSpan/Targets/Target/BlockSize").assert_is(&["4096"]);
    assert_eq!(texts(root, "Profile/TimeSpans/TimeSpan/DisableAffinity"), ["false"]);
    near(numbers(root, "TimeSpan/CpuUtilization/Average/UsagePercent")[0], 35.0);
    assert_eq!(numbers(root, "TimeSpan/CpuUtilization/CPU/KernelPercent"), [20.0, 10.0]);
    assert_eq!(numbers(root, "TimeSpan/Latency/AverageReadMilliseconds").len(), 1);
    for percentile in ["25", "50", "75", "90", "95", "99", "99.9", "99.99", "99.999", "100"] {
        let named = |bucket: &&Node| texts(**bucket, "Percentile") == [percentile];
        let buckets = all(root, "TimeSpan/Latency/Bucket");
        let found: Vec<_> = buckets.iter().filter(named).collect();
        assert_eq!(found.len(), 1, "{percentile}");
        assert_eq!(numbers(*found[0], "ReadMilliseconds").len(), 1);
    }
}

/// It finds percentiles by position, and treats a run without `Target` elements as failed.
#[test]
fn vm_fleet() {
    let xml = builder::xml(&run(true, false));
    let document = Document::parse(&xml).unwrap();
    let root = document.root_element();
    let buckets = all(root, "TimeSpan/Latency/Bucket");
    for percentile in [50, 90, 99] {
        assert_eq!(texts(buckets[percentile], "Percentile"), [percentile.to_string()]);
        assert_eq!(numbers(buckets[percentile], "WriteMilliseconds").len(), 1);
    }
    assert_eq!(numbers(root, "TimeSpan/Latency/AverageWriteMilliseconds").len(), 1);
    assert_eq!(all(root, "TimeSpan/Thread/Target").len(), 2);

    let mut failed = run(true, false);
    failed.steps[0].jobs[0].ended = None;
    let xml = builder::xml(&failed);
    let document = Document::parse(&xml).unwrap();
    assert!(all(document.root_element(), "TimeSpan/Thread/Target").is_empty());
}

/// It parses a number from all but a few children of each target, and from every child of the
/// latencies except the buckets.
#[test]
fn perfkit_benchmarker() {
    let xml = builder::xml(&run(true, false));
    let document = Document::parse(&xml).unwrap();
    let root = document.root_element();
    for target in all(root, "TimeSpan/Thread/Target") {
        for child in target.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if ["Path", "FileSize"].contains(&name) || name.to_lowercase().contains("latency") {
                continue;
            }
            let text = child.text().unwrap_or_default();
            assert!(text.parse::<f64>().is_ok(), "{name}: {text}");
        }
    }
    for child in all(root, "TimeSpan/Latency")[0].children().filter(Node::is_element) {
        match child.tag_name().name() {
            "Bucket" => assert_eq!(numbers(child, "TotalMilliseconds").len(), 1),
            _ => assert!(child.text().unwrap().parse::<f64>().is_ok()),
        }
    }
    for cpu in all(root, "TimeSpan/CpuUtilization/CPU") {
        for name in ["Socket", "Node", "Group", "Core", "Id"] {
            assert_eq!(numbers(cpu, name).len(), 1, "{name}");
        }
    }
}

/// Several results one after the other, in a root element that the wrapper adds.
#[test]
fn batch_wrappers() {
    let single = builder::xml(&run(true, true));
    let joined = format!("<Batch>\n{single}\n{single}</Batch>");
    let document = Document::parse(&joined).unwrap();
    assert_eq!(all(document.root_element(), "Results/TimeSpan").len(), 2);
}

/// The numbers between bars, after all blanks are removed.
fn figures(row: &str) -> Vec<f64> {
    let row = row.replace(' ', "");
    let cells = row.split(['|', ':']).map(|cell| cell.trim_end_matches('%'));
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

/// Finds rows by their labels; each has a fixed number of figures.
#[test]
fn virtual_client_by_rows() {
    let text = builder::text(&run(true, true));
    let rows = |label: &str| -> Vec<Vec<f64>> {
        let found = text.lines().filter(|line| line.trim_start().starts_with(label));
        found.map(figures).collect()
    };
    let average = rows("avg.");
    assert_eq!((average.len(), average[0].len()), (1, 4));
    let totals = rows("total:");
    assert_eq!(totals.len(), 3);
    assert!(totals.iter().all(|figures| figures.len() == 7), "{totals:?}");
    // Total, read, write.
    assert_eq!([totals[0][1], totals[1][1], totals[2][1]], [950.0, 800.0, 150.0]);
    for label in ["50th", "75th", "90th", "95th", "99th"] {
        // Two paths, and the total of both.
        let found = rows(label);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|figures| figures.len() == 3), "{label}");
    }
}

/// Splits sections at empty lines and names them by their first line; finds columns by their
/// titles.
#[test]
fn virtual_client_by_sections() {
    let text = builder::text(&run(true, true));
    let rule = |line: &&str| line.is_empty() || !line.chars().all(|c| c == '-');
    let lines: Vec<&str> = text.lines().filter(rule).collect();
    let sections: Vec<&[&str]> = lines.split(|line| line.is_empty()).filter(|s| !s.is_empty()).collect();
    let find = |name: &str| sections.iter().find(|section| section[0] == name).unwrap();
    for (name, operations) in [("Total IO", 950.0), ("Read IO", 800.0), ("Write IO", 150.0)] {
        let section = find(name);
        let titles: Vec<&str> = section[1].split('|').map(str::trim).collect();
        titles.assert_is(&[
            "thread", "bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "IopsStdDev", "LatStdDev", "file",
        ]);
        assert_eq!(section.len(), 5);
        assert!(section[2].split('|').count() == titles.len());
        assert!((figures(section[4])[1] - operations).abs() < 1e-9);
    }
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let cpu = sections
        .iter()
        .find(|s| squeezed(s[0]).ends_with("CPU | Usage | User | Kernel | Idle"));
    assert_eq!(cpu.unwrap().len(), 4);
    assert_eq!(find("Total latency distribution:").len(), 17);
}

/// `grep total:`, split at bars; `grep -A9 "Total IO"`.
#[test]
fn shell_one_liners() {
    let text = builder::text(&run(true, false));
    let total = text.lines().find(|line| line.contains("total:")).unwrap();
    let cells: Vec<&str> = total.split('|').map(str::trim).collect();
    let number = |index: usize| cells[index].parse::<f64>().unwrap();
    near(number(2), 1.86);
    near(number(3), 475.0);
    assert!(number(4) > 0.0);
    // Only the three tables contain it, so the first match is the table of all operations.
    assert_eq!(text.matches("total:").count(), 3);
    let row = text.lines().find(|line| line.starts_with("     0 |")).unwrap();
    assert!(row.ends_with("| one.dat (16MiB)"));
    assert_eq!(
        row.split('|').next_back().unwrap().split_whitespace().nth(1),
        Some("(16MiB)")
    );
}
