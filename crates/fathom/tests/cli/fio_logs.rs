//! `fathom report` of fio's log files. The page shows the values of the lines, which are computed
//! here again.

use crate::prelude::*;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio/golden/11-logs");

/// The chart of a page with this identifier.
fn chart(page: &str, id: &str) -> Option<Value> {
    let data = page
        .split("<script type=\"application/json\" class=\"figure\">")
        .skip(1);
    let mut charts = data.map(|rest| serde_json::from_str::<Value>(rest.split("</script>").next().unwrap()).unwrap());
    charts.find(|chart| chart["id"] == id)
}

/// Values of the series of that name.
fn values(chart: &Value, name: &str) -> Vec<f64> {
    let series = chart["series"].as_array().unwrap();
    let found = series.iter().find(|series| series["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {chart}"));
    found["y"]
        .as_array()
        .unwrap()
        .iter()
        .map(|y| y.as_f64().unwrap())
        .collect()
}

fn columns(line: &str) -> Vec<f64> {
    line.split(", ").map(|column| column.parse().unwrap()).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        // The values of a chart have four significant digits.
        assert!((found / expected - 1.0).abs() < 6e-4, "{found} {expected}");
    }
}

#[test]
fn averages_of_a_recorded_log_are_shown() {
    let ran = fathom(&["report", RECORDED, "-o", "-"]);
    let page = &ran
        .expect(
            0,
            &[
                "<title>reads and writes by 1 worker — fio logs of “run”</title>",
                "You cannot conclude from them whether a requirement was met",
                "Source and missing data",
                "averages do not contain them",
                "out.json is the JSON report of the run, judge that:",
            ],
        )
        .out;
    for (file, id, per_unit) in [
        ("bw", "throughput", 1024.0 / 1e6),
        ("iops", "iops", 1.0),
        ("lat", "latency", 0.0),
    ] {
        let log = fs::read_to_string(format!("{RECORDED}/run_{file}.1.log")).unwrap();
        let chart = chart(page, id).unwrap();
        let factor = match chart["y"]["unit"].as_str() {
            Some("us") => 1e-3,
            Some("ms") => 1e-6,
            _ => per_unit,
        };
        for (direction, name) in [(0.0, "worker 1, reads"), (1.0, "worker 1, writes")] {
            let lines = log.lines().map(columns).filter(|columns| columns[2] == direction);
            let expected: Vec<f64> = lines.map(|columns| columns[1] * factor).collect();
            assert_close(&values(&chart, name), &expected);
        }
    }
    // Without histograms or single operations there are no percentiles, and averages make no total.
    assert!(chart(page, "percentiles").is_none());
    assert!(!page.contains("99 % took"), "a percentile that is in no line");
    assert!(!page.contains("<strong>3,"), "a rate that is in no line");
}

/// The first second has 40 operations, and each of the next nine about 83. An incomplete last
/// second has one.
#[test]
fn single_operations_are_counted_by_intervals() {
    let folder = need!(Directory::new());
    let mut log = String::new();
    for at in (0..1000).step_by(25).chain((1000..10_000).step_by(12)).chain([10_400]) {
        log += &format!("{at}, {}, 0, 4096, 0\n", 1000 + at);
    }
    let place = folder.path().join("one_lat.1.log");
    fs::write(&place, &log).unwrap();
    fs::write(folder.path().join("one_iops.1.log"), &log).unwrap();
    let page = fathom(&["report", text(folder.path()), "-o", "-"]).out;
    let per_second = |second: u64| {
        let lines = log.lines().map(columns);
        lines
            .filter(|columns| columns[0] as u64 / 1000 == second)
            .collect::<Vec<_>>()
    };
    assert!(page.contains("<title>4 KiB reads by 1 worker — fio logs of “one”</title>"));
    let iops = values(&chart(&page, "iops").unwrap(), "worker 1, reads");
    let expected: Vec<f64> = (0..10).map(|second| per_second(second).len() as f64).collect();
    assert_close(&iops, &expected);
    let latency = values(&chart(&page, "latency").unwrap(), "worker 1, reads");
    let mean = |second| per_second(second).iter().map(|line| line[1]).sum::<f64>() / per_second(second).len() as f64;
    assert_close(&latency, &(0..11).map(|second| mean(second) / 1e3).collect::<Vec<_>>());
    let percentiles = chart(&page, "percentiles").unwrap();
    let slowest = values(&percentiles, "reads, too few operations");
    assert_close(&slowest[slowest.len() - 1..], &[11.4]);
}

/// Nine of ten operations are in the bin from 128 to 129 ns. One of ten is in that from 2^20 ns.
#[test]
fn histograms_give_percentiles() {
    let folder = need!(Directory::new());
    let line = |at: u64| {
        let counts = (0..1856).map(|bin| match bin {
            128 => ", 900",
            // Two bins of 64 below 2^7 ns, one for each doubling from there.
            960 => ", 100",
            _ => ", 0",
        });
        format!("{at}, 1, 4096{}\n", counts.collect::<String>())
    };
    fs::write(folder.path().join("h_clat_hist.1.log"), line(500) + &line(1000)).unwrap();
    let ran = fathom(&["report", text(&folder.path().join("h_clat_hist.1.log")), "-o", "-"]);
    let page = &ran
        .exits(0)
        .prints(&["completion latency of 2,000 operations", "no log of it (write_bw_log)"])
        .out;
    let found = values(&chart(page, "percentiles").unwrap(), "writes");
    // In milliseconds; p50 and p99, a twentieth of a factor of ten apart.
    let at = |share: f64| found[(-(1.0_f64 - share).log10() * 20.0).floor() as usize];
    assert_close(&[at(0.5)], &[0.000_129]);
    let middle = f64::from(1 << 20) + f64::from(1 << 13);
    assert!((at(0.99) * 1e6 / middle - 1.0).abs() < 0.008, "{} {middle}", at(0.99));
}

#[test]
fn questions_that_logs_cannot_answer_are_refused() {
    let log = format!("{RECORDED}/run_bw.1.log");
    let refused = |more: &[&str], words: &str| {
        fathom(&[&["report", &log, "-o", "-"], more].concat()).expect(4, &[words]);
    };
    refused(&["--require", "iops>=1"], "cannot judge or compare");
    refused(&["--force"], "cannot judge or compare");
    refused(&["--margin", "5"], "cannot judge or compare");
    refused(&[&format!("{RECORDED}/out.json")], "and fio logs on one page");
    let empty = need(Directory::new());
    let Some(folder) = &empty else { return };
    fathom(&["report", text(folder.path()), "-o", "-"]).expect(4, &["contains no fio logs"]);
    let torn = folder.path().join("x_iops.1.log");
    fs::write(&torn, "500, 9, 0, 0, 0\n1000, 9, 0").unwrap();
    let place = format!("{}:2", Path::new(&torn).display());
    fathom(&["report", text(&torn), "-o", "-"]).expect(0, &["1 of 2 lines could not be read", &place]);
}
