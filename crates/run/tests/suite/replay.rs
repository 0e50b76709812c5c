//! Traces on the simulated device. Each operation begins at its time, to the nanosecond, and in its
//! order.

use model::operation_log::LoggedOperation;
use model::plan::{FileService, Job, Replay, TraceForm, TraceSkip};

use crate::prelude::*;
use crate::support::run_logged;

/// A stream that replays a trace of the file `x`.
fn replaying(trace: &Path) -> Stream {
    let mut tested_stream = stream();
    tested_stream.mix = Mix::Traced {
        reads: true,
        writes: true,
        trims: false,
    };
    tested_stream.replay = Some(Replay {
        trace: trace.display().to_string(),
        form: TraceForm::FioText,
        files: vec!["x".into()],
        redirected: false,
        flushes: true,
        without_times: false,
        speed_percent: 100,
        scale: 1,
        align: 0,
        skip: TraceSkip::default(),
    });
    tested_stream
}

fn single_pass() -> Stop {
    Stop::after_passes(1)
}

/// Replays a trace on a device that takes 100 µs for each operation. Returns each operation, and
/// when it began in µs.
fn run_replay(lines: &str, change: impl Fn(&mut Stream)) -> (JobResults, Vec<(String, u64)>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = directory.path().join("trace");
    fs::write(&trace, lines).unwrap();
    let mut tested_stream = replaying(&trace);
    change(&mut tested_stream);
    let (job, operations) = run_logged(plan(device(), single_pass(), vec![worker(vec![tested_stream])]));
    let describe = |operation: LoggedOperation| {
        let word = operation.direction.map_or("flush", Direction::word);
        let began = operation.completed.since(operation.total);
        (format!("{word} {}", operation.offset), began.0 / 1000)
    };
    let mut operations: Vec<_> = operations.into_iter().map(describe).collect();
    operations.sort_by_key(|(_, began)| *began);
    (job, operations)
}

const HEAD: &str = "fio version 3 iolog\n0 x add\n10 x open\n";

fn times(operations: &[(String, u64)]) -> Vec<u64> {
    operations.iter().map(|(_, began)| *began).collect()
}

#[test]
fn operations_keep_the_times_between_them() {
    // The first time of a trace is not a gap. Each later time follows a gap after the previous one.
    let lines = format!(
        "{HEAD}1010 x read 0 4096\n1510 x write 4096 4096\n1510 x sync 0 0\n9510 x read 8192 4096\n9520 x close\n"
    );
    let (job, found) = run_replay(&lines, |stream| stream.depth = 8);
    let words: Vec<&str> = found.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(words, ["read 0", "write 4096", "flush 0", "read 8192"]);
    assert_eq!(times(&found), [1000, 1500, 1500, 9500]);
    assert_eq!(job.ended, Some(EndReason::Done));
    let sync = job.workers[0].streams[0].sync.as_ref().unwrap();
    assert_eq!(sync.operations, 1);
}

#[test]
fn a_slow_device_delays_later_operations_and_loses_none() {
    let lines = format!("{HEAD}10 x read 0 4096\n20 x read 4096 4096\n30 x read 8192 4096\n1030 x read 0 4096\n");
    // One operation of 100 µs at a time: the gap begins at the actual begin of the previous
    // operation.
    let (_, found) = run_replay(&lines, |_| {});
    assert_eq!(times(&found), [0, 100, 200, 1200]);
    let (_, found) = run_replay(&lines, |stream| stream.depth = 8);
    assert_eq!(times(&found), [0, 10, 20, 1020]);
}

#[test]
fn the_speed_of_a_trace_can_be_changed_and_its_times_ignored() {
    let lines = format!("{HEAD}10 x read 0 4096\n1010 x read 4096 4096\n3010 x read 8192 4096\n");
    for (speed, expected) in [(100, [0, 1000, 3000]), (200, [0, 500, 1500]), (50, [0, 2000, 6000])] {
        let (_, found) = run_replay(&lines, |stream| stream.replay.as_mut().unwrap().speed_percent = speed);
        assert_eq!(times(&found), expected, "{speed} %");
    }
    let (_, found) = run_replay(&lines, |stream| stream.replay.as_mut().unwrap().without_times = true);
    assert_eq!(times(&found), [0, 100, 200]);
}

#[test]
fn version_2_waits_until_a_time_from_the_start() {
    let lines =
        "fio version 2 iolog\nx add\nx open\nx read 0 4096\nx wait 3 0\nx read 4096 4096\nx wait 1 0\nx read 0 4096\n";
    let (_, found) = run_replay(lines, |_| {});
    assert_eq!(times(&found), [0, 3000, 3100]);
}

#[test]
fn delays_after_gaps_do_not_accumulate() {
    let reads: String = (1..=20_000)
        .map(|number| format!("{} x read 0 4096\n", number * 150))
        .collect();
    let (job, found) = run_replay(&format!("{HEAD}{reads}"), |_| {});
    assert_eq!(found.len(), 20_000);
    let expected: Vec<u64> = (1..=20_000).map(|number| number * 150 - 10).collect();
    assert_eq!(times(&found), expected);
    assert_eq!(job.workers[0].trace_waits, 0);
}

#[test]
fn a_trace_ends_with_the_time_of_its_job() {
    let lines = format!("{HEAD}10 x read 0 4096\n5000 x read 4096 4096\n900000 x read 8192 4096\n");
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    fs::write(&trace, lines).unwrap();
    let stop = single_pass().with(|stop| stop.after_ns = Some(Nanos::millis(10)));
    let job = run_job(plan(device(), stop, vec![worker(vec![replaying(&trace)])]));
    assert_eq!(job.directions().read.unwrap().operations, 2);
    assert_eq!(job.ended, Some(EndReason::Time));
}

#[test]
fn a_trace_that_has_changed_since_its_survey_is_not_replayed() {
    for (line, why) in [
        ("20 x read 0 1048576\n", "the trace file changed after the test started"),
        ("20 x trim 0 4096\n", "the trace file changed after the test started"),
        ("20 y read 0 4096\n", "line 4 names y, which no line before has added"),
        ("20 y add\n", "y was not there when the trace was first looked at"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        fs::write(&trace, format!("{HEAD}{line}")).unwrap();
        let job = run_job(plan(device(), single_pass(), vec![worker(vec![replaying(&trace)])]));
        let failure = job.workers[0].failure.as_ref().expect("it fails");
        assert!(failure.what.contains(why), "{line}: {}", failure.what);
        assert_eq!(job.ended, Some(EndReason::Failed));
    }
}

type Change = fn(&mut Job);

#[test]
fn contradictory_plans_of_replays_are_refused() {
    let sound = || {
        let workers = vec![worker(vec![replaying(Path::new("trace"))])];
        plan(device(), single_pass(), workers)
    };
    assert!(sound().check().is_ok());
    let cases: [(&str, Change); 7] = [
        ("a trace is replayed only once", |job| job.stop.passes = Some(2)),
        ("the only stream of its worker", |job| {
            let other = stream();
            job.workers[0].streams.push(other);
        }),
        ("no trace is set", |job| job.workers[0].streams[0].replay = None),
        ("takes its mix from the trace", |job| {
            job.workers[0].streams[0].mix = Mix::READS
        }),
        ("a target for each of its files", |job| {
            job.workers[0].streams[0].replay.as_mut().unwrap().files.clear();
        }),
        ("above 0 percent", |job| {
            job.workers[0].streams[0].replay.as_mut().unwrap().speed_percent = 0
        }),
        ("a power of two", |job| {
            job.workers[0].streams[0].replay.as_mut().unwrap().align = 3000
        }),
    ];
    for (words, change) in cases {
        let mut plan = sound();
        change(&mut plan.steps[0].jobs[0]);
        let error = plan.check().unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    // A missing trace is reported before anything starts.
    let error = try_run(sound()).unwrap_err().to_string();
    assert!(error.contains("cannot read the trace"), "{error}");
}

#[test]
fn a_trace_is_written_with_the_times_of_the_worker() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let mut tested_stream = stream();
    tested_stream.pattern.access = vec![Access::Sequential(Default::default())];
    tested_stream.mix = Mix::WRITES;
    tested_stream.sync.every_writes = 2;
    let stop = Stop::after_operations(3);
    let mut traced: Plan = plan(device(), stop, vec![worker(vec![tested_stream])]);
    traced.steps[0].jobs[0].trace = Some(path.display().to_string());
    run_job(traced);
    let expected = "fio version 3 iolog\n0 simulated add\n0 simulated open\n0 simulated write 0 4096\n\
                    100 simulated write 4096 4096\n200 simulated sync 0 0\n300 simulated write 8192 4096\n\
                    400 simulated close\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn several_files_are_opened_and_closed_when_the_trace_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["a", "b"] {
        fs::write(path(name), vec![7; 16384]).unwrap();
    }
    let lines = "fio version 3 iolog\n0 a add\n0 b add\n0 a open\n0 a read 0 4096\n0 b open\n0 a close\n0 b write 0 4096\n\
                 0 b sync 0 0\n0 a open\n0 a write 4096 4096\n";
    fs::write(path("trace"), lines).unwrap();
    for engine in [EngineKind::Psync, EngineKind::IoUring, EngineKind::Libaio] {
        let mut tested_stream = replaying(&path("trace"));
        tested_stream.depth = 4;
        tested_stream.replay.as_mut().unwrap().files = vec!["a".into(), "b".into()];
        let files = vec![TargetId(0), TargetId(1)];
        tested_stream.target = StreamTarget::files(files, 2, FileService::RoundRobin, 1);
        let mut plan = plan_on(path("a"), engine, single_pass(), vec![worker(vec![tested_stream])]);
        plan.targets.push(plan.targets[0].clone());
        plan.targets[1].path = path("b").display().to_string();
        plan.target_rules.consent = model::plan::Consent::Implied;
        plan.steps[0].jobs[0].trace = Some(path("done").display().to_string());
        assert_eq!(plan.steps[0].jobs[0].workers[0].depth, DepthScope::PerStream);
        let job = run_job(plan);
        assert!(job.workers[0].failure.is_none(), "{:?}", job.workers[0].failure);
        let directions = job.directions();
        let operations_in = |direction: Direction| directions[direction].as_ref().unwrap().operations;
        assert_eq!(operations_in(Direction::Read), 1);
        assert_eq!(operations_in(Direction::Write), 2);
        let done = fs::read_to_string(path("done")).unwrap();
        fs::remove_file(path("done")).unwrap();
        let words = |name: &str| {
            let name = path(name).display().to_string();
            let lines = done.lines().filter(|line| line.contains(&format!(" {name} ")));
            lines
                .map(|line| line.split(' ').nth(2).unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        // As in fio, a file that is reopened while an operation is in flight was never closed.
        match engine {
            EngineKind::Psync => {
                assert_eq!(words("a"), ["add", "open", "read", "close", "open", "write", "close"]);
            }
            _ => assert_eq!(words("a"), ["add", "open", "read", "write", "close"], "{engine:?}"),
        }
        assert_eq!(words("b"), ["add", "open", "write", "sync", "close"], "{engine:?}");
    }
}
