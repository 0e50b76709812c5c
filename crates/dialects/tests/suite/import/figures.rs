//! Handwritten figures, in the form that docs/explain.md documents.

use std::collections::BTreeSet;

use dialects::import;
use model::Nanos;

const PAGE: &str = include_str!("../../../../../docs/explain.md");

/// The section of the page about handwritten figures.
fn section() -> &'static str {
    let (_, rest) = PAGE.split_once("## Figures that you write down\n").unwrap();
    rest.split("\n## ").next().unwrap()
}

#[test]
fn the_documented_example_is_read() {
    let (_, rest) = section().split_once("```toml\n").unwrap();
    let example = rest.split("```").next().unwrap();
    let imported = import::read("figures.toml", example).unwrap();
    let load = &imported.loads[0];
    assert_eq!(load.tool.as_str(), "DiskSpd");
    assert_eq!(load.load.depth, Some(64));
    assert_eq!(load.load.read_percent, Some(100.0));
    assert_eq!((load.total.operations, load.total.iops), (Some(234_408), Some(1953.3)));
    assert_eq!(load.measured_ns, Some(Nanos::micros(120_006_000)));
    assert_eq!(load.total.latency.as_ref().unwrap().mean_ns, Some(32.763 * 1e6));
    assert_eq!(imported.source.as_deref(), Some("the page it is from"));
}

/// Every key of the table, with a value in its documented form.
const EVERY_KEY: &str = r#"
[[load]]
name = "a"
tool = "b"
version = "c"
source = "d"
date = "e"
host = "f"
command = "diskspd -b8k a.dat"
targets = ["a.dat"]
block = "4k"
read = 70
random = true
direct = true
depth = 8
workers = 2
rate = 1000
warm_up = "5s"
size = "1 GiB"
time = "60s"
operations = 60000
bytes = "240000 KiB"
group = 3
iops = 1000
mib_per_sec = 3.9
iops_deviation = 2.5
errors = 0
mean = "1ms"
deviation = "0.5ms"
min = "100us"
max = "9ms"
p50 = "1ms"
p99 = "2ms"
p99_9 = "3ms"

[[load]]
name = "of each direction"
[load.read]
iops = 700
mb_per_sec = 2.8
[load.write]
iops = 300
mb_per_sec = 1.2
"#;

#[test]
fn every_documented_key_is_read() {
    let table = section().lines().filter(|line| line.starts_with("| `"));
    let documented: BTreeSet<&str> = table
        .flat_map(|line| {
            line.split('|')
                .nth(1)
                .unwrap()
                .split('`')
                .skip(1)
                .step_by(2)
                .chain(percentile(line))
        })
        .collect();
    let used: BTreeSet<&str> = EVERY_KEY
        .lines()
        .filter(|line| !line.is_empty() && *line != "[[load]]")
        .map(|line| line.split(" = ").next().unwrap())
        .collect();
    // The table writes p99.9 as in CSV.
    assert_eq!(documented.difference(&used).collect::<Vec<_>>(), [&"p99.9"]);
    let imported = import::read("figures.toml", EVERY_KEY).unwrap();
    let [first, second] = &imported.loads[..] else {
        panic!("two loads")
    };
    let latency = first.total.latency.as_ref().unwrap();
    assert_eq!(latency.quantiles, [(0.5, 1e6), (0.99, 2e6), (0.999, 3e6)]);
    assert_eq!(first.load.rate_iops, Some(1000.0));
    assert_eq!(first.load.workers, Some(2));
    assert_eq!(first.errors, Some(0));
    assert_eq!(first.concurrency.map(|at_once| at_once.group), Some(3));
    assert_eq!((second.total.iops, second.read_percent()), (Some(1000.0), Some(70.0)));
}

/// The table's note has TOML's spelling, next to CSV's, outside the first column.
fn percentile(line: &str) -> Option<&'static str> {
    line.contains("p99_9").then_some("p99_9")
}

/// A single load may be a table, or the whole document.
#[test]
fn a_single_load_may_be_a_table() {
    let imported = import::read("figures.toml", "[load]\niops = 5\n[load.read]\niops = 5\n").unwrap();
    assert_eq!(imported.loads.len(), 1);
}

#[test]
fn a_duplicate_key_is_reported_with_its_line() {
    let problems = import::read("figures.toml", "iops = 1000\nread = 70\n\n[read]\niops = 700\n").unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("duplicate key"), "{problems:?}");
    assert_eq!(problems[0].at.as_ref().unwrap().line, 4);
    assert!(
        problems[0]
            .help
            .as_ref()
            .unwrap()
            .contains("use `read` only once: as a percentage")
    );
    // For any other duplicate key, TOML's own message is sufficient.
    for text in [
        "iops = 1000\ndepth = 8\niops = 900\n",
        "iops = 9\n[load]\n[load]\niops = 3\n",
    ] {
        let problems = import::read("figures.toml", text).unwrap_err();
        assert_eq!(problems[0].at.as_ref().unwrap().line, 3, "{problems:?}");
        assert_eq!(problems[0].help, None, "{problems:?}");
    }
}
