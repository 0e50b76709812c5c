//! Forms that no recorded run has: other versions, units and scales, errors, workers without I/O,
//! group members.

use model::plan::{LatencyTarget, MinimumRate, SteadyState, TrackedMetric};
use model::results::{ControlOutcome, FailedOperation, Failure};
use model::testing::assert_starts_with;

use crate::fio::builder::{Work, json, results, set, written};
use crate::prelude::*;

fn reader(name: &'static str) -> Work {
    Work::new(name, Direction::Read, 100, 4096)
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn terse_fields_are_at_the_positions_of_each_version() {
    let mut both = Work::mixed("job", 3000, 1000, 4096).queued(EngineKind::Libaio, 4);
    (both.measured_ms, both.description) = (1000, Some("last field"));
    both.operations.trim = 7;
    let mut results = results(&[both]);
    set(&mut results, "disk_util", "false");
    for (version, count) in [("2", 161), ("3", 121), ("4", 162), ("5", 180)] {
        results
            .plan
            .origin
            .presentation
            .other
            .retain(|(name, _)| name != "terse_version");
        set(&mut results, "terse_version", version);
        let text = written(&results, "fio-terse");
        let fields: Vec<&str> = text.trim_end().split(';').collect();
        assert_eq!(fields.len(), count + 1, "version {version}");
        assert_eq!(fields[0], version);
        assert_eq!(fields[count], "last field");
        let first = if version == "2" { 4 } else { 5 };
        assert_eq!(fields[first - 3..first], ["job", "0", "0"]);
        let block = if version == "5" { 47 } else { 41 };
        let field_at = |direction: usize, offset: usize| fields[first + direction * block + offset];
        // KiB, KiB/s, IOPS, ms of each direction.
        assert_eq!(
            [field_at(0, 0), field_at(0, 1), field_at(0, 2), field_at(0, 3)],
            ["12000", "12000", "3000", "1000"]
        );
        assert_eq!(
            [field_at(1, 0), field_at(1, 1), field_at(1, 2), field_at(1, 3)],
            ["4000", "4000", "1000", "1000"]
        );
        // The 30th of 3000 latencies spread over 10 to 1010 µs, and the middle of the last one's
        // bin.
        assert_eq!(
            [field_at(0, 12), field_at(0, 28), field_at(0, 31)],
            ["1.000000%=19", "99.990000%=1011", "0%=0"]
        );
        // Bandwidth samples.
        assert_eq!(
            [field_at(0, 36), field_at(0, 37), field_at(0, 38)],
            ["12000", "12000", "100.000000%"]
        );
        if version == "5" {
            let samples: Vec<&str> = (41..47).map(|offset| field_at(0, offset)).collect();
            assert_eq!(samples, ["2", "3000", "3000", "3000.000000", "0.000000", "2"]);
        }
        if version != "3" {
            assert_eq!(field_at(2, 2), "7");
        }
    }
}

#[test]
fn an_error_is_printed_for_its_worker() {
    let mut results = results(&[reader("broken"), reader("whole")]);
    let worker = &mut results.steps[0].jobs[0].workers[0];
    worker.failure = Some(Failure {
        errno: Some(28),
        operation: Some(FailedOperation {
            slot: 0,
            stream: 0,
            direction: Direction::Write,
            path: "f".into(),
            offset: Bytes(0),
            length: 4096,
            too_slow: None,
        }),
        ..Failure::new("no space", String::new())
    });
    let text = written(&results, "fio");
    let head =
        "broken: (groupid=0, jobs=1): err=28 (file:fathom:0, func=io_u error, error=No space left on device): pid=0: ";
    assert_eq!(lines(&text, head).len(), 1, "{text}");
    assert_eq!(lines(&text, "whole: (groupid=0, jobs=1): err= 0: pid=0: ").len(), 1);
    let document = json(&results, "fio-json");
    assert_eq!(document["jobs"][0]["error"], 28);
    assert_eq!(document["jobs"][1]["error"], 0);
    assert_eq!(document["jobs"][0].get("total_err"), None);
}

#[test]
fn tolerated_errors_are_counted() {
    let mut results = results(&[reader("job")]);
    results.plan.steps[0].jobs[0].workers[0].streams[0]
        .on_error
        .tolerate_read = vec![5, 28];
    let found = results.steps[0].jobs[0].workers[0].streams[0].directions.read.as_mut();
    let found = found.unwrap();
    (found.errors, found.first_error) = (16, Some(28));
    let text = written(&results, "fio");
    let line = "     errors    : total=16, first_error=28/<No space left on device>";
    assert_eq!(lines(&text, "     errors"), [line]);
    assert!(text.contains("err=28 (file:"), "{text}");
    let document = json(&results, "fio-json");
    assert_eq!(document["jobs"][0]["total_err"], 16);
    assert_eq!(document["jobs"][0]["first_error"], 28);
    set(&mut results, "disk_util", "false");
    let terse = written(&results, "fio-terse");
    assert!(terse.ends_with("0.00%;16;28\n"), "{terse}");
}

#[test]
fn a_missed_minimum_rate_is_an_error() {
    let mut slow = reader("slow");
    slow.control = vec![Control::MinimumRate(MinimumRate {
        metric: TrackedMetric::Iops,
        direction: None,
        min_per_sec: 1e6,
        cycle_ns: Nanos::secs(1),
    })];
    let mut results = results(&[slow]);
    results.steps[0].jobs[0].control = vec![ControlOutcome {
        rule: "at least 1000000 IOPS".into(),
        attained: false,
        detail: "fell to 5".into(),
        series: vec![5.0],
        depth: None,
    }];
    let text = written(&results, "fio");
    assert_contains(
        &text,
        "err= 5 (file:fathom:0, func=check_min_rate, error=Input/output error): pid=",
    );
}

/// The normal report leaves out workers without operations; the others show them with zeros.
#[test]
fn workers_without_operations_have_zeros() {
    let mut idle = results(&[reader("idle"), reader("never"), reader("busy")]);
    idle.steps[0].jobs[0].workers[0].streams.clear();
    idle.steps[0].jobs[1].workers.clear();
    let text = written(&idle, "fio");
    assert_eq!(lines(&text, "busy: (g").len(), 1);
    assert_eq!(lines(&text, "idle: (g").len() + lines(&text, "never: (g").len(), 0);
    let document = json(&idle, "fio-json");
    assert_eq!(document["jobs"].as_array().unwrap().len(), 3);
    for index in [0, 1] {
        assert_eq!(document["jobs"][index]["read"]["clat_ns"]["N"], 0);
        assert_eq!(document["jobs"][index]["read"]["runtime"], 0);
    }
    assert_eq!(written(&idle, "fio-terse").lines().count(), 3);
    // No report shows a job with `stats=0`.
    set(&mut idle, "stats.2", "false");
    assert_eq!(json(&idle, "fio-json")["jobs"].as_array().unwrap().len(), 2);
}

/// A job with `group_reporting` is added to the job before it (seen in fio 3.33).
#[test]
fn a_job_that_sets_group_reporting_joins_the_job_before_it() {
    let works = ["one", "two", "three", "four"].map(reader);
    let mut results = results(&works);
    let names = |results: &Results| -> Vec<(String, u64)> {
        let document = json(results, "fio-json");
        let jobs = document["jobs"].as_array().unwrap().iter();
        let forms = jobs.map(|job| {
            (
                job["jobname"].as_str().unwrap().to_owned(),
                job["read"]["total_ios"].as_u64().unwrap(),
            )
        });
        forms.collect()
    };
    let named = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs
            .iter()
            .map(|(name, operations)| ((*name).to_owned(), *operations))
            .collect()
    };
    assert_eq!(names(&results).len(), 4);
    for job in [0, 2, 3] {
        set(&mut results, &format!("group_reporting.{job}"), "true");
    }
    assert_eq!(names(&results), named(&[("one", 100), ("two", 300)]));
    set(&mut results, "group_reporting", "true");
    assert_eq!(names(&results), named(&[("one", 400)]));
    assert!(written(&results, "fio").contains("\none: (groupid=0, jobs=4): err= 0"));
}

#[test]
fn large_values_change_the_unit() {
    let mut work = reader("job");
    (work.block, work.measured_ms) = (1 << 30, 1000);
    let mut results = results(&[work]);
    let samples = |results: &Results| lines(&written(results, "fio"), "   bw (").join("");
    assert!(samples(&results).starts_with("   bw (  MiB/s): min=102400, max=102400, per=100.00%, avg=102400.00, "));
    results.plan.origin.presentation.bits = true;
    assert!(samples(&results).starts_with("   bw (Mibit/s): min=819200, "));
    set(&mut results, "kb_base", "1000");
    set(&mut results, "significant_figures", "6");
    assert!(samples(&results).starts_with("   bw (Mibit/s): min=838860, "));
    let text = written(&results, "fio");
    assert_contains(&text, "BW=858993Mbit/s (819200Mibit/s)(107374MB/1000msec)");
}

#[test]
fn latencies_are_scaled_by_their_values() {
    let mut results = results(&[reader("job")]);
    let spread = |results: &mut Results, values: &[u64]| -> Vec<String> {
        let found = results.steps[0].jobs[0].workers[0].streams[0].directions.read.as_mut();
        let found = found.unwrap();
        found.completion.clear();
        values.iter().for_each(|value| found.completion.record(*value));
        let text = written(results, "fio");
        lines(&text, "    clat ").into_iter().map(str::to_owned).collect()
    };
    // Milliseconds need a minimum above 2 ms, a maximum of 99.999999 ms and a deviation of 1 ms.
    let shown = spread(&mut results, &[3_000_999, 100_000_000]);
    shown.assert_is(&[
        "    clat (msec): min=3, max=100, avg=51.50, stdev=68.59",
        "    clat percentiles (msec):",
    ]);
    let shown = spread(&mut results, &[2_000, 3_000]);
    shown.assert_is(&[
        "    clat (nsec): min=2000, max=3000, avg=2500.00, stdev=707.11",
        "    clat percentiles (nsec):",
    ]);
    // The unit of the percentiles depends only on the percentiles; without a deviation the line
    // stays in nanoseconds.
    let shown = spread(&mut results, &[1_250_000; 2]);
    shown.assert_is(&[
        "    clat (nsec): min=1250.0k, max=1250.0k, avg=1250000.00, stdev= 0.00",
        "    clat percentiles (usec):",
    ]);
}

#[test]
fn times_and_process_counts_are_printed() {
    let mut results = results(&[reader("job")]);
    set(&mut results, "pid", "4711");
    set(&mut results, "utc_offset_s", "7200");
    results.hosts[0].ended_unix_ns += 864_000_000_000_000 * 2;
    let text = written(&results, "fio");
    assert!(text.contains("err= 0: pid=4711: Fri Dec 11 21:36:04 2026\n"), "{text}");
    results.hosts[0].ended_unix_ns -= 864_000_000_000_000;
    assert!(written(&results, "fio").contains(": Tue Dec  1 21:36:04 2026\n"));
    let document = json(&results, "fio-json");
    assert_eq!(document["timestamp"], 1_796_153_764);
    assert_eq!(document["timestamp_ms"], 1_796_153_764_750_u64);
    assert_eq!(document["jobs"][0]["job_start"], 1_795_289_764_255_u64);
    assert_eq!(document["jobs"][0]["elapsed"], 864_001);
    assert_eq!(document["jobs"][0]["eta"], 0);
}

#[test]
fn banners_precede_the_run() {
    let mut results = results(&[reader("one"), reader("two").with(|work| work.clones = 3)]);
    results.plan.origin.profile = vec!["one: …".into()];
    let head = |results: &Results| written(results, "fio").lines().take(3).collect::<Vec<_>>().join("|");
    assert_eq!(head(&results), "one: …|fio-3.42|Starting 4 processes");
    set(&mut results, "thread.0", "true");
    assert_eq!(head(&results), "one: …|fio-3.42|Starting 1 thread and 3 processes");
    let laying_out = report::formats::fio::laying_out;
    laying_out("job", 1, 16 << 20).assert_is("job: Laying out IO file (1 file / 16MiB)");
    laying_out("files", 4, 1 << 20).assert_is("files: Laying out IO files (4 files / total 1MiB)");
}

#[test]
fn text_is_escaped_as_fio_does() {
    let work = reader("a \"b\" \\ é").with(|work| work.description = Some("line\\"));
    let results = results(&[work]);
    let text = written(&results, "fio-json");
    assert!(text.contains(r#""jobname" : "a \"b\" \\ é","#), "{text}");
    assert_eq!(json(&results, "fio-json")["jobs"][0]["desc"], "line\\");
    assert!(written(&results, "fio").contains("  Description  : [line\\]\n"));
}

#[test]
fn a_latency_slope_is_printed() {
    let mut work = reader("job");
    work.control = vec![Control::SteadyState(SteadyState {
        metric: TrackedMetric::Latency,
        slope: true,
        limit: 0.1,
        percent: false,
        window_ns: Nanos::secs(3),
        interval_ns: Nanos::secs(1),
        ramp_ns: Nanos(0),
    })];
    let mut results = results(&[work]);
    results.steps[0].jobs[0].control = vec![ControlOutcome {
        rule: String::new(),
        attained: false,
        detail: String::new(),
        series: vec![1000.0, 1002.0, 1004.0],
        depth: None,
    }];
    let document = json(&results, "fio-json");
    let steady = &document["jobs"][0]["steadystate"];
    assert_eq!(steady["ss"], "lat_slope:0.100000");
    assert_eq!(steady["duration"], 3);
    assert_eq!(steady["attained"], 0);
    assert_eq!(steady["criterion"], "2.000000");
    assert_eq!((&steady["slope"], &steady["max_deviation"]), (&2.0.into(), &0.0.into()));
    assert_eq!(steady["data"]["lat_mean"], 1002);
    assert_eq!(steady["data"]["lat_ns"], serde_json::json!([1000, 1002, 1004]));
    let text = written(&results, "fio");
    assert_contains(
        &text,
        "  steadystate  : attained=no, bw=0KiB/s (0kB/s), iops=0, lat slope=2.000\n",
    );
}

/// There is neither a latency target nor an fio version, and what was not counted is not shown as
/// zero.
#[test]
fn results_of_other_dialects_show_only_what_was_measured() {
    let mut native = results(&[reader("job").queued(EngineKind::IoUring, 4)]);
    native.plan.origin.dialect = Dialect::Native;
    set(&mut native, "pid", "4711");
    let text = written(&native, "fio");
    assert_starts_with(
        &text,
        "fathom 0, in the format of fio-3.42\nStarting 1 thread\n\njob: (groupid=0, jobs=1)",
    );
    assert!(text.contains(": pid=4711: "), "{text}");
    assert!(text.contains("  IO depths    : 1=100.0%"), "{text}");
    assert!(text.contains("     submit    : "), "{text}");
    assert!(!text.contains("     latency   : "), "{text}");
    let job = &json(&native, "fio-json")["jobs"][0];
    assert_eq!(job["iodepth_level"]["1"], 100.0);
    for absent in [
        "latency_depth", "latency_target", "latency_percentile", "latency_window",
    ] {
        assert!(job.get(absent).is_none(), "{absent}");
    }
    let fields = |results: &Results| written(results, "fio-terse").split(';').count();
    let all = fields(&native);

    let worker = &mut native.steps[0].jobs[0].workers[0];
    (worker.depth, worker.submitted, worker.completed) = Default::default();
    let text = written(&native, "fio");
    for absent in ["IO depths", "     submit", "     complete"] {
        assert!(!text.contains(absent), "{text}");
    }
    assert!(text.contains("     issued rwts: total=100,0,0,0"), "{text}");
    let job = &json(&native, "fio-json")["jobs"][0];
    for absent in ["iodepth_level", "iodepth_submit", "iodepth_complete"] {
        assert!(job.get(absent).is_none(), "{absent}");
    }
    assert_eq!(fields(&native), all, "every field is at its position");

    // A latency target that was set is shown.
    native.plan.steps[0].jobs[0].control = vec![Control::LatencyTarget(LatencyTarget {
        target_ns: Nanos::millis(2),
        window_ns: Nanos::secs(1),
        percentile: 99.0,
        keep_running: false,
    })];
    let text = written(&native, "fio");
    let line = "     latency   : target=2000.00us, window=1000.00ms, percentile=99.00%, depth=4\n";
    assert!(text.contains(line), "{text}");
}
