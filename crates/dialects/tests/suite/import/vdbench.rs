//! Vdbench, in its documented form: Vdbench wrote none of these files. The figures are invented so
//! that they are consistent, and the expected values were worked out by hand.

use dialects::import::{self, Form};
use model::observation::{Observation, SeriesPoint};
use model::{Bytes, Nanos};
use testbed::{AssertContains, AssertIs};

use super::{check_refused, only, read, read_text, rules};

const MIB: f64 = 1_048_576.0;

fn mean_and_max(load: &Observation) -> (Option<f64>, Option<f64>) {
    let latency = load.total.latency.as_ref().unwrap();
    assert!(
        latency.quantiles.is_empty() && latency.histogram.is_none(),
        "a mean is not a percentile"
    );
    (latency.mean_ns, latency.max_ns)
}

/// The contents of both files, which describe the same two runs.
#[track_caller]
fn two_runs(path: &str, form: Form, names: [&str; 2]) -> Vec<Observation> {
    let imported = read(path);
    assert_eq!(imported.form, form);
    assert_eq!(rules(&imported), [""; 0]);
    assert_eq!(imported.unread.len(), 0);
    let [first, second] = &*imported.loads else {
        panic!("{imported:#?}")
    };
    assert_eq!([first.name.as_str(), second.name.as_str()], names);
    assert_eq!(first.tool.as_str(), "Vdbench");
    assert_eq!(first.version.as_deref(), Some("50407"));
    // Six intervals of 5 s; the first is not in any average.
    assert_eq!(first.measured_ns, Some(Nanos::secs(25)));
    assert_eq!(first.load.warm_up_ns, Some(Nanos::secs(5)));
    assert_eq!(first.total.iops, Some(20_000.0));
    assert_eq!(first.total.bytes_per_sec, Some(78.13 * MIB));
    assert_eq!(mean_and_max(first), (Some(400_000.0), Some(3_210_000.0)));
    assert_eq!((first.load.closed_loop, first.load.rate_iops), (Some(true), None));
    assert_eq!(first.load.block, Some(Bytes(4096)));
    // Eight threads for each storage definition, of which the number is not stated.
    assert_eq!(first.load.depth, None);
    assert_eq!(first.stated.in_flight, Some(8.0));
    assert_eq!(first.stated.bytes_per_operation, Some(4096.0));
    assert_eq!(first.stated.processors_busy, Some(0.214));
    assert_eq!(first.directions.read.as_ref(), Some(&first.total));
    assert_eq!(&first.directions.write, &None);
    // Neither file has counts.
    assert_eq!((first.total.operations, first.errors), (None, None));
    // The second interval: 19,800 × 5 s, and 77.34 MiB × 5.
    assert_eq!(first.series.len(), 5);
    let expected = SeriesPoint {
        start_ns: Nanos(0),
        length_ns: Nanos::secs(5),
        operations: [99_000, 0, 0],
        bytes: [405_484_339, 0, 0],
        mean_ns: Some(404_000.0),
        p99_ns: None,
    };
    assert_eq!(first.series[0], expected);
    assert_eq!(first.series[4].start_ns, Nanos::secs(20));

    assert_eq!(second.load.closed_loop, Some(false));
    assert_eq!(second.load.rate_iops, Some(5000.0));
    assert_eq!(second.load.block, Some(Bytes(8192)));
    assert_eq!(second.load.read_percent, Some(70.0));
    // The larger of the two maxima.
    assert_eq!(mean_and_max(second), (Some(650_000.0), Some(9_700_000.0)));
    let [reads, writes] = [&second.directions.read, &second.directions.write].map(|flow| flow.as_ref().unwrap());
    assert_eq!(reads.bytes_per_sec, None, "not distinguished");
    assert!((reads.iops.unwrap() - 3500.0).abs() < 1e-6 && (writes.iops.unwrap() - 1500.0).abs() < 1e-6);
    assert_eq!(mean_latency(reads), Some(500_000.0));
    assert_eq!(mean_latency(writes), Some(1_000_000.0));
    // 4,996 × 5 s = 24,980, of which 69.9 % are 17,461.
    assert_eq!(second.series[0].operations, [17_461, 7519, 0]);
    imported.loads
}

#[test]
fn a_summary_is_read_by_its_two_header_lines() {
    let names = ["rd1 (xfersize=4k threads=8)", "rd2 (xfersize=8k rdpct=70 threads=8)"];
    let loads = two_runs("vdbench/summary-50407.html", Form::VdbenchSummary, names);
    assert_eq!(loads[0].total.iops_deviation, Some(158.11));
    let load = &loads[0].load;
    assert_eq!((load.random, load.read_percent), (None, None), "no loop gives it");
    let imported = read("vdbench/summary-50407.html");
    assert_eq!(imported.started.as_deref(), Some("Nov 23, 2026"));
}

#[test]
fn a_flat_file_is_read_by_its_column_names() {
    let loads = two_runs("vdbench/flatfile-50407.html", Form::VdbenchFlat, ["rd1", "rd2"]);
    assert_eq!(loads[0].load.random, Some(true));
    assert_eq!(loads[0].load.read_percent, Some(100.0));
    assert_eq!(loads[0].total.iops_deviation, None, "it has no such row");
    let timestamp = read("vdbench/flatfile-50407.html").started;
    assert_eq!(timestamp.as_deref(), Some("11/23/2026-10:00:05-UTC"));
}

#[test]
fn the_value_of_a_maximum_rate_differs_between_releases() {
    let text = read_text("vdbench/flatfile-50407.html");
    assert!(text.contains(" max "), "the rate of the first run");
    for number in ["9999988", "9999977", "999999", "999998"] {
        let imported = import::read("x", &text.replace(" max ", &format!(" {number} "))).unwrap();
        let load = &imported.loads[0].load;
        assert_eq!((load.closed_loop, load.rate_iops), (Some(true), None), "{number}");
    }
}

#[test]
fn columns_may_be_in_any_order() {
    // Each row reversed from the third cell on.
    let text = read_text("vdbench/flatfile-50407.html");
    let turn = |line: &str| match line.starts_with(['*', '<']) {
        true => line.to_owned(),
        false => line.split_whitespace().rev().collect::<Vec<_>>().join(" "),
    };
    let turned: Vec<String> = text.lines().map(turn).collect();
    let imported = import::read("x", &turned.join("\n")).unwrap();
    assert_eq!(imported.loads, read("vdbench/flatfile-50407.html").loads);
}

#[test]
fn an_older_summary_has_fewer_columns_and_crosses_midnight() {
    let imported = read("vdbench/summary-503.txt");
    let load = only(&imported.loads);
    assert_eq!((load.name.as_str(), load.version.as_deref()), ("seqwrite", Some("503")));
    assert_eq!(load.measured_ns, Some(Nanos::secs(3)));
    assert_eq!(load.load.warm_up_ns, Some(Nanos::secs(1)));
    assert_eq!(mean_and_max(load), (Some(2_500_000.0), Some(31_250_000.0)));
    assert_eq!(load.total.latency.as_ref().unwrap().deviation_ns, Some(750_000.0));
    assert_eq!((load.stated.in_flight, load.stated.processors_busy), (None, Some(0.12)));
    assert_eq!(&load.directions.read, &None);
    assert_eq!(load.directions.write.as_ref(), Some(&load.total));
    assert_eq!(load.series.len(), 3);
}

#[test]
fn runs_of_one_definition_are_distinguished() {
    let text = read_text("vdbench/flatfile-50407.html").replace("rd2", "rd1");
    let loads = import::read("x", &text).unwrap().loads;
    let names: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
    // Named by what differs.
    names.assert_is(&[
        "rd1 (xfersize=4096 rdpct=100 iorate=max)",
        "rd1 (xfersize=8192 rdpct=70 iorate=5000)",
    ]);
    let twice = format!("{text}{text}");
    let loads = import::read("x", &twice).unwrap().loads;
    assert!(loads[2].name.ends_with("iorate=max) #2"), "{}", loads[2].name);
}

/// A flat file with one row of averages, over interval 2.
fn flat_row(columns: &str, cells: &str) -> String {
    format!(
        "tod timestamp Run Interval reqrate rate MB/sec bytes/io resp {columns}\n\
         10:00:01.000 x rd1 1 100.0000 {cells}\n10:00:02.000 x rd1 2 100.0000 {cells}\n\
         10:00:02.001 x rd1 avg_2-2 100.0000 {cells}\n"
    )
}

#[test]
fn a_column_with_one_of_several_sizes_yields_no_size() {
    let block = |bytes: &str| {
        let text = flat_row("xfersize", &format!("100.0 1.0000 {bytes} 0.5 4096"));
        import::read("x", &text).unwrap().loads[0].load.block
    };
    assert_eq!((block("4096"), block("10485")), (Some(Bytes(4096)), None));
}

#[test]
fn megabytes_are_the_unit_that_fits_the_rate_and_the_size() {
    // 1000 × 4096 bytes are 3.90625 MiB, and 4.096 MB.
    for megabytes in ["3.9062", "4.0960"] {
        let text = flat_row("xfersize", &format!("1000.0 {megabytes} 4096 0.5 4096"));
        let found = import::read("x", &text).unwrap().loads[0].total.bytes_per_sec.unwrap();
        assert!((found - 4_096_000.0).abs() < 100.0, "{megabytes}: {found}");
    }
}

#[test]
fn reads_and_writes_of_file_runs_are_read() {
    let columns = "Read_rate Read_resp Write_rate Write_resp Mkdir_rate";
    // Of 130 operations 60 are reads at 1 ms, 40 writes at 2 ms: 1.4 ms on average.
    let text = flat_row(columns, "130.0 0.3906 4096 0.9 60.0 1.0 40.0 2.0 30.0");
    let loads = import::read("x", &text).unwrap().loads;
    let load = only(&loads);
    assert_eq!((load.total.iops, load.load.rate_iops), (Some(100.0), None));
    assert_eq!(load.total.latency.as_ref().unwrap().mean_ns, Some(1_400_000.0));
    let reads = load.directions.read.as_ref().unwrap();
    assert_eq!((reads.iops, mean_latency(reads)), (Some(60.0), Some(1_000_000.0)));
}

/// Regression: the observed size of the first interval was the requested one and part of the name.
#[test]
fn the_transfer_size_of_file_runs_is_an_observed_one() {
    let columns = "Read_rate Read_resp Write_rate Write_resp Xfersize";
    let text = flat_row(columns, "100.0 0.3906 4096 0.9 60.0 1.0 40.0 2.0 11358");
    let other = text.replace("11358", "11396").replace(":0", ":1");
    let loads = import::read("x", &format!("{text}{other}")).unwrap().loads;
    let found: Vec<_> = loads.iter().map(|load| (load.name.as_str(), load.load.block)).collect();
    assert_eq!(found, [("rd1", None), ("rd1 #2", None)]);
}

fn mean_latency(flow: &model::observation::IoStats) -> Option<f64> {
    flow.latency.as_ref().unwrap().mean_ns
}

#[test]
fn a_run_that_ended_in_its_warm_up_is_not_truncated() {
    let whole = read_text("vdbench/summary-503.txt");
    let short = whole.replace("avg_2-4", "avg_2-1");
    let imported = import::read("x", &format!("{short}{whole}")).unwrap();
    assert_eq!((rules(&imported), imported.loads.len()), (vec!["RUN-INTERRUPTED"], 1));
    let layout = short.replace("Starting RD=seqwrite", "Starting RD=SD_format");
    let imported = import::read("x", &format!("{layout}{whole}")).unwrap();
    assert!(imported.findings.is_empty(), "a format run ends once the files exist");
    let problems = import::read("x", &layout).unwrap_err();
    assert!(!problems.is_empty());
}

#[test]
fn the_page_of_one_sd_lacks_the_rate_of_the_run() {
    let whole = read_text("vdbench/summary-50407.html");
    let page = format!("SD report for sd=sd1\n{whole}");
    let [of_part, of_run] = [page, whole].map(|text| import::read("x", &text).unwrap().loads.remove(1));
    assert_eq!((of_part.load.rate_iops, of_run.load.rate_iops), (None, Some(5000.0)));
    assert_eq!(of_part.name, format!("{} of sd1", of_run.name));
}

#[test]
fn absent_and_inconsistent_values_stay_unknown() {
    // Without the interval rows the length of an interval is unknown.
    let text = read_text("vdbench/summary-503.txt");
    let lines = text.lines();
    let averages: Vec<&str> = lines
        .filter(|line| !line.contains("   65536") || line.contains("avg_"))
        .collect();
    let loads = import::read("x", &averages.join("\n")).unwrap().loads;
    assert_eq!(loads[0].measured_ns, None);
    assert_eq!(loads[0].load.warm_up_ns, None);
    assert_eq!(loads[0].series.len(), 0);
    assert_eq!(loads[0].total.iops, Some(1600.0));
    // An interval is missing.
    let gap: Vec<&str> = text.lines().filter(|line| !line.contains("23:59:59.002")).collect();
    let loads = import::read("x", &gap.join("\n")).unwrap().loads;
    assert_eq!((loads[0].measured_ns, loads[0].series.len()), (Some(Nanos::secs(3)), 0));
    // n/a is not zero.
    let text = read_text("vdbench/flatfile-50407.html");
    let unknown = text.replace("0.500       1.000", "  n/a         n/a");
    let loads = import::read("x", &unknown).unwrap().loads;
    assert_eq!(mean_latency(loads[1].directions.read.as_ref().unwrap()), None);
}

#[test]
fn complete_runs_of_a_truncated_summary_are_read() {
    let imported = read("vdbench/cut.html");
    assert_eq!(imported.loads.len(), 1);
    let finding = only(&imported.findings);
    assert_eq!(finding.rule, "REPORT-TRUNCATED");
    let expected = "the run has no averages (avg_…): it is truncated or ended after interval 2";
    assert_eq!(finding.what, expected);
    let unread = only(&imported.unread);
    assert_eq!(unread.what.as_str(), "the row has 8 cells, but there are 13 columns");
    assert_eq!(unread.at.as_ref().unwrap().line, 29);
}

#[track_caller]
fn refused(path: &str, line: usize, expected: &str) {
    let problems = import::read(path, &read_text(path)).unwrap_err();
    let problem = only(&problems);
    assert_eq!(problem.at.as_ref().map(|place| place.line), Some(line), "{problem}");
    assert!(problem.to_string().contains(expected), "{problem}");
    assert!(problem.help.is_some(), "{problem}");
}

#[test]
fn unreadable_text_is_refused_with_its_line() {
    refused(
        "vdbench/no-response.txt",
        4,
        "no column is named `resp time`: without it the latency and the operations in flight are unknown",
    );
    refused("vdbench/no-header.txt", 4, "before any header");
    refused("vdbench/file-system.txt", 4, "file system workload (fwd=)");
    let without = read_text("vdbench/flatfile-50407.html").replace("  rate  MB/sec", "  pace  volume");
    let problems = import::read("x", &without).unwrap_err();
    let problems: Vec<&str> = problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    problems[0].assert_contains(&["`rate`"]);
    problems[1].assert_contains(&["`mb/sec`"]);
    let comma = read_text("vdbench/summary-503.txt").replace("2.500   31.250", "2,500   31,250");
    check_refused(&comma, "cannot read `2,500` under `resp time`");
}

#[test]
fn pages_without_rows_of_runs_are_named() {
    for page in ["skew.html", "histogram.html", "sd1.histogram.html"] {
        let start = "10:56:04.000 Starting RD=rd1; I/O rate: 100; elapsed=2; For loops: None";
        let text = format!("<title>Vdbench output/{page}</title><pre>\n\n<i><b>{start}</b></i>\n\nReads:\n");
        let name = page.trim_start_matches("sd1.");
        let refusal = format!("Vdbench's {name} has no rates and response times of runs");
        check_refused(&text, &refusal);
    }
}
