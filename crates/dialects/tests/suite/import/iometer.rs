//! Iometer, in its documented form: Iometer wrote none of these files. The figures are invented so
//! that they are consistent, and the expected values were worked out by hand.

use dialects::import::{self, Form};
use model::observation::Latency;
use model::{Bytes, Direction};

use super::{check_refused, only, read, read_text, rules};

const MIB: f64 = 1_048_576.0;

/// A mean and a maximum, and nothing that was not measured.
fn latency(samples: u64, mean_ms: f64, max_ms: f64) -> Latency {
    Latency {
        samples: Some(samples),
        mean_ns: Some(mean_ms * 1e6),
        max_ns: Some(max_ms * 1e6),
        ..Latency::default()
    }
}

#[test]
fn results_of_2006_are_read_by_their_titles() {
    let imported = read("iometer/results-2006.csv");
    assert_eq!(imported.form, Form::Iometer);
    assert_eq!(rules(&imported), [""; 0]);
    assert_eq!(imported.unread.len(), 0);
    assert_eq!(imported.host.as_deref(), Some("TESTHOST"));
    assert_eq!(imported.processors, Some(2));
    assert_eq!(imported.started.as_deref(), Some("2026-11-23 10:00:00:123"));
    let [first, second] = &*imported.loads else {
        panic!("{imported:#?}")
    };
    assert_eq!(first.tool.as_str(), "Iometer");
    assert_eq!(first.version.as_deref(), Some("2006.07.27"));
    assert_eq!(first.name, "4 KiB; 100% Read; 100% random");
    assert_eq!(first.total.iops, Some(16_000.0));
    assert_eq!(first.total.bytes_per_sec, Some(62.5 * MIB));
    assert_eq!(first.total.operations, Some(960_000));
    assert_eq!(first.total.bytes, Some(Bytes(3_932_160_000)));
    assert_eq!(first.total.latency, Some(latency(960_000, 2.0, 45.5)));
    // Two workers with one disk each, 16 for each of these.
    assert_eq!((first.load.workers, first.load.depth), (Some(2), Some(32)));
    assert_eq!(first.load.targets, ["PHYSICALDRIVE:1", "PHYSICALDRIVE:2"]);
    assert_eq!(first.load.block, Some(Bytes(4096)));
    assert_eq!(first.load.read_percent, Some(100.0));
    assert_eq!((first.load.random, first.load.closed_loop), (Some(true), Some(true)));
    assert_eq!(
        (first.load.direct, first.measured_ns),
        (None, None),
        "the file contains neither"
    );
    assert_eq!(first.directions[Direction::Write], None, "none were written");
    assert_eq!(first.errors, Some(0));
    let parts: Vec<(&str, Option<f64>)> = first
        .breakdown
        .iter()
        .map(|part| (part.name.as_str(), part.flow.iops))
        .collect();
    assert_eq!(
        parts,
        [
            ("TESTHOST, Worker 1", Some(9000.0)),
            ("TESTHOST, Worker 2", Some(7000.0))
        ]
    );
    let cores: Vec<(u32, f64, f64)> = first
        .cores
        .iter()
        .map(|core| (core.cpu, core.user, core.kernel))
        .collect();
    assert_eq!(cores, [(0, 0.09, 0.22), (1, 0.07, 0.12)]);
    assert_eq!(first.stated.processors_busy, Some(0.25));

    assert_eq!(second.load.read_percent, Some(67.0));
    let [reads, writes] = [Direction::Read, Direction::Write].map(|of| second.directions[of].as_ref().unwrap());
    assert_eq!((reads.iops, writes.iops), (Some(4020.0), Some(1980.0)));
    assert_eq!(reads.bytes_per_sec, Some(31.40625 * MIB));
    assert_eq!(reads.latency, Some(latency(241_200, 4.0, 52.0)));
    assert_eq!(writes.latency.as_ref().unwrap().mean_ns, Some(8.040404 * 1e6));
    assert_eq!(second.total.operations, Some(360_000));
}

#[test]
fn results_of_1_1_have_two_kinds_of_megabytes_and_counts_by_latency() {
    let imported = read("iometer/results-1.1.csv");
    let load = &imported.loads[0];
    assert_eq!(
        load.total.bytes_per_sec,
        Some(39.0625 * MIB),
        "40.96 MB/s, 10,000 × 4096"
    );
    assert_eq!(
        load.total.latency,
        Some(latency(600_000, 0.1, 3.2)),
        "ranges are not turned into percentiles"
    );
    assert_eq!(load.load.depth, Some(1));
    let finding = only(&imported.findings);
    // 600,000 operations. Below 100 us: 390,000; below 500 us: 599,000; below 1 ms: 599,900.
    assert_eq!(finding.rule.as_str(), "PCT-RANGES");
    assert_eq!(
        finding.what.as_str(),
        "by its latency histogram, p50 is in 50 to 100 uS, p99 is in 200 to 500 uS, p99.9 is in 0.5 to 1 mS"
    );
    let decimal = read_text("iometer/results-1.1.csv").replace("MiBps (Binary)", "Mibit");
    let load = &import::read("x", &decimal).unwrap().loads[0];
    assert_eq!(load.total.bytes_per_sec, Some(40.96 * 1e6), "10^6, as in its title");
}

#[test]
fn the_depth_is_known_if_every_worker_states_it() {
    let text = read_text("iometer/results-2006.csv");
    let depth = |text: &str| import::read("x", text).unwrap().loads[0].load.depth;
    let silent = text.replace(",Queue Depth,", ",Nothing,");
    assert_eq!(depth(&silent), None);
    let set = "'Default target settings for worker\n'Number of outstanding IOs,test connection rate\n8,DISABLED\n";
    assert_eq!(
        depth(&format!("{set}{silent}")),
        Some(16),
        "eight for each of two workers with a disk each"
    );
    assert_eq!(
        depth(&format!("{set}{}{silent}", set.replace("8,", "4,"))),
        None,
        "which one holds is not stated"
    );
    assert_eq!(
        depth(&text.replace(",Queue Depth,", ",# of Outstanding IOs,")),
        Some(32)
    );
    // Disks without a number get their worker's number.
    let of_workers: Vec<&str> = text.lines().filter(|line| !line.starts_with("DISK,")).collect();
    assert_eq!(depth(&of_workers.join("\n")), Some(32));
}

/// Iometer appends to its results, and a later test may use the same name for something else.
#[test]
fn a_result_has_the_specification_that_precedes_it() {
    let text = read_text("iometer/results-2006.csv");
    let first = import::read("x", &text).unwrap().loads[0].load.block;
    let later = text.replace("4096,100,", "65536,100,");
    assert_ne!(later, text);
    let loads = import::read("x", &format!("{text}{later}")).unwrap().loads;
    assert_eq!(loads[0].load.block, first);
    assert_eq!(loads[2].load.block, Some(Bytes::kib(64)));
}

#[test]
fn units_follow_the_titles() {
    let text = read_text("iometer/results-1.1.csv");
    let micro = text.replace(",Average Response Time,", ",Average Response Time (us),");
    let loads = import::read("x", &micro).unwrap().loads;
    assert_eq!(loads[0].total.latency.as_ref().unwrap().mean_ns, Some(100.0));
    let odd = text.replace(",Average Response Time,", ",Average Response Time (ticks),");
    check_refused(&odd, "unknown unit `ticks` of `average response time`");
}

#[test]
fn workers_with_different_specifications_have_none_in_common() {
    let text = read_text("iometer/results-2006.csv");
    let specification = "WORKER,Worker 2,4 KiB; 100% Read; 100% random";
    let other = text.replacen(specification, "WORKER,Worker 2,another", 1);
    let load = &import::read("x", &other).unwrap().loads[0].load;
    assert_eq!((load.block, load.read_percent, load.closed_loop), (None, None, None));
    assert_eq!(load.depth, Some(32));
}

#[test]
fn files_saved_by_a_spreadsheet_are_read() {
    let text = read_text("iometer/results-2006.csv");
    let padded: Vec<String> = text.lines().map(|line| format!("{line},,,,")).collect();
    let saved = import::read("x", &padded.join("\r\n")).unwrap();
    assert_eq!(saved.loads, read("iometer/results-2006.csv").loads);
}

#[test]
fn a_truncated_file_is_reported_and_its_complete_rows_are_read() {
    let imported = read("iometer/cut.csv");
    assert_eq!(imported.loads.len(), 1);
    let unread = only(&imported.unread);
    let truncated = "cells, but there are 56 titles: the row is truncated";
    assert!(unread.what.ends_with(truncated), "{unread}");
    assert_eq!(unread.at.as_ref().unwrap().line, 39);
    // No row follows the titles.
    let text = read_text("iometer/results-1.1.csv");
    let titles: Vec<&str> = text.lines().take(14).collect();
    check_refused(&titles.join("\n"), "no row ALL follows the titles in line 14");
}

#[test]
fn unknown_titles_are_refused_with_their_line() {
    let problems = import::read("x", &read_text("iometer/other-titles.csv")).unwrap_err();
    let [rate, time] = &*problems else {
        panic!("{problems:#?}")
    };
    let untitled = "no column is titled `iops`: without it the operations per second are unknown";
    assert_eq!(rate.what, untitled);
    assert!(time.what.contains("`average response time`"), "{time}");
    for problem in &problems {
        assert!(
            problem.at.as_ref().unwrap().line == 14 && problem.help.is_some(),
            "{problem}"
        );
    }
    let spoiled = read_text("iometer/results-1.1.csv").replacen("10000.000000", "10.000,5", 1);
    let problem = import::read("x", &spoiled).unwrap_err()[0].to_string();
    let is_named = problem.contains("cannot read") || problem.contains("cells, but there are");
    assert!(is_named, "{problem}");
}
