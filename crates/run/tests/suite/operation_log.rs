//! The log of single operations agrees with the results.

use crate::prelude::*;
use crate::support::QUEUE;

const HEADER: &str = "completed_ns,worker,stream,operation,offset,length,moved,schedule_delay_ns,submission_ns,total_ns,\
                      error";

fn logged(mut plan: Plan, path: &Path) -> (JobResults, Vec<Vec<String>>) {
    plan.steps[0].jobs[0].operation_log = Some(path.display().to_string());
    let job = run_job(plan);
    (job, lines(path))
}

fn lines(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("the log exists");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER));
    assert!(text.ends_with('\n'), "the last line is complete");
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn number(line: &[String], column: usize) -> u64 {
    line[column].parse().unwrap_or_else(|_| panic!("{line:?}"))
}

#[test]
fn every_operation_of_the_measured_window_has_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.csv");
    fs::write(&path, format!("{HEADER}\nan older log, which is longer than nothing")).unwrap();
    let mut tested_stream = stream();
    tested_stream.depth = 7;
    tested_stream.mix = Mix::drawn(40.0, MixRule::Independent);
    tested_stream.sync = SyncRule::default().with(|sync_rule| sync_rule.every_writes = 10);
    let workers = vec![
        worker(vec![tested_stream.clone(), stream()]),
        worker(vec![tested_stream]),
    ];
    let mut both = plan(device(), Stop::after(Nanos::millis(500)), workers);
    both.steps[0].jobs[0].phases.warm_up_ns = Nanos::millis(100);
    let (job, lines) = logged(both, &path);
    assert!(lines.len() > 50_000 / 2, "{}", lines.len());
    let directions = job.directions();
    for (word, expected) in [("read", &directions.read), ("write", &directions.write)] {
        let expected = expected.as_ref().unwrap();
        let mine: Vec<_> = lines.iter().filter(|line| line[3] == word).collect();
        assert_eq!(mine.len() as u64, expected.operations, "{word}");
        let sum: u128 = mine.iter().map(|line| u128::from(number(line, 9))).sum();
        assert_eq!(sum, expected.total.sum(), "{word}");
        let submission: u128 = mine.iter().map(|line| u128::from(number(line, 8))).sum();
        assert_eq!(submission, expected.submission.sum(), "{word}");
        let moved: u64 = mine.iter().map(|line| number(line, 6)).sum();
        assert_eq!(Bytes(moved), expected.bytes);
    }
    let flushes: u64 = job
        .workers
        .iter()
        .flat_map(|worker| &worker.streams)
        .filter_map(|stream| stream.sync.as_ref())
        .map(|sync| sync.operations)
        .sum();
    assert!(flushes > 0);
    assert_eq!(lines.iter().filter(|line| line[3] == "flush").count() as u64, flushes);
    for worker in 0..2 {
        let times: Vec<u64> = lines
            .iter()
            .filter(|line| number(line, 1) == worker)
            .map(|line| number(line, 0))
            .collect();
        assert!(
            times.is_sorted(),
            "the lines of a worker are in the order of their ends"
        );
        assert!(*times.last().unwrap() <= 500_000_000);
    }
    assert!(lines.iter().all(|line| line[7].is_empty() && line[10].is_empty()));
}

#[test]
fn the_log_contains_failures_short_transfers_and_delays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.csv");
    let faulty = SimulatedDevice {
        servers: 1,
        faults: vec![
            SimulatedFault::Nth { operation: 3, errno: 5 },
            SimulatedFault::nth(10, 0),
        ],
        ..device()
    };
    let mut tested_stream = stream();
    tested_stream.on_error.tolerate_read = vec![5];
    // Twice the rate that the device can serve.
    tested_stream.pacing = Pacing::Together {
        rate: Rate::iops(20_000),
    };
    let stop = Stop::after_operations(100);
    let (job, lines) = logged(plan(faulty, stop, vec![worker(vec![tested_stream])]), &path);
    assert_eq!(lines.len(), 100);
    assert_eq!(lines[2][10], "5");
    assert_eq!((number(&lines[2], 6), number(&lines[9], 6)), (0, 2048));
    let delays: u128 = lines
        .iter()
        .filter(|line| line[10].is_empty())
        .map(|line| u128::from(number(line, 7)))
        .sum();
    assert!(delays > 0);
    assert_eq!(delays, job.total().schedule_delay.as_ref().unwrap().sum());
}

#[test]
fn real_engines_write_the_log_too() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    fs::write(&target, vec![1; 1 << 20]).unwrap();
    for (kind, depth) in [(EngineKind::Psync, 1), (QUEUE, 4), (EngineKind::Null, 1)] {
        let path = directory.path().join("log.csv");
        let tested_stream = stream().with(|tested_stream| tested_stream.depth = depth);
        let stop = Stop::after_operations(3000);
        let (job, lines) = logged(plan_on(&target, kind, stop, vec![worker(vec![tested_stream])]), &path);
        assert_eq!(lines.len(), 3000, "{}", kind.name());
        let sum: u128 = lines.iter().map(|line| u128::from(number(line, 9))).sum();
        assert_eq!(sum, job.total().total.sum(), "{}", kind.name());
    }
}

#[test]
fn a_log_that_cannot_be_opened_prevents_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    fs::write(&target, vec![7; 1 << 20]).unwrap();
    let missing = directory.path().join("no such directory").join("log.csv");
    let link = directory.path().join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&target, &link).unwrap();
    #[cfg(windows)]
    fs::hard_link(&target, &link).unwrap();
    let no_folder = if cfg!(windows) { "(os error " } else { "No such file" };
    for (log, why) in [(&missing, no_folder), (&link, "it is a target of the test")] {
        let stop = Stop::after(Nanos::secs(1));
        let mut refused = plan_on(&target, EngineKind::Psync, stop, vec![worker(vec![stream()])]);
        refused.steps[0].jobs[0].operation_log = Some(log.display().to_string());
        let error = try_run(refused).unwrap_err().to_string();
        assert!(error.contains("operation log") && error.contains(why), "{error}");
    }
    assert_eq!(
        fs::read(&target).unwrap(),
        vec![7; 1 << 20],
        "the target was not touched"
    );
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_job_and_keeps_its_results() {
    // `/dev/full` is always full.
    let stop = Stop::after(Nanos::secs(1_000_000));
    let mut endless = plan(device(), stop, vec![worker(vec![stream()]), worker(vec![stream()])]);
    endless.steps[0].jobs[0].operation_log = Some("/dev/full".into());
    let job = run_job(endless);
    assert_eq!(job.ended, Some(EndReason::Failed));
    let failure = job.workers[0].failure.as_ref().expect("it has failed");
    assert!(
        failure.what.contains("operation log") && failure.what.contains("No space left"),
        "{failure:?}"
    );
    assert!(failure.help.is_some() && failure.location == "/dev/full");
    // How much was measured before the writer met its first error is a matter of scheduling.
    assert_eq!(job.workers.len(), 2, "the results of both workers are kept");
}

#[test]
fn a_failed_start_does_not_change_an_older_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.csv");
    fs::write(&path, "precious").unwrap();
    let too_large = stream().with(|too_large| too_large.region.base = model::plan::Extent::bytes(Bytes::gib(2).0));
    let mut refused = plan(device(), Stop::after(Nanos::secs(1)), vec![worker(vec![too_large])]);
    refused.steps[0].jobs[0].operation_log = Some(path.display().to_string());
    try_run(refused).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

/// Otherwise the first step would measure, and the second would not start.
#[test]
fn logs_of_all_steps_are_checked_before_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("none/log").display().to_string();
    let stop = Stop::after(Nanos::secs(1_000_000));
    let mut plan = plan(device(), stop, vec![worker(vec![stream()])]);
    plan.steps.push(plan.steps[0].clone());
    plan.steps[1].jobs[0].trace = Some(missing.clone());
    let error = try_run(plan.clone()).unwrap_err().to_string();
    assert!(
        error.contains("cannot write the trace") && error.contains(&missing),
        "{error}"
    );
    (plan.steps[1].jobs[0].trace, plan.steps[1].jobs[0].operation_log) = (None, Some(missing.clone()));
    let error = try_run(plan).unwrap_err().to_string();
    assert!(error.contains("operation log") && error.contains(&missing), "{error}");
}

#[test]
fn two_jobs_cannot_share_a_log() {
    let mut both = plan(device(), Stop::after(Nanos::secs(1)), vec![worker(vec![stream()])]);
    both.steps[0].jobs[0].operation_log = Some("one.csv".into());
    let mut second = both.steps[0].jobs[0].clone();
    second.name = "second".into();
    both.steps[0].jobs.push(second);
    for name in ["one.csv", ".//one.csv"] {
        both.steps[0].jobs[1].operation_log = Some(name.into());
        let error = try_run(both.clone()).unwrap_err().to_string();
        assert!(error.contains("job `second`") && error.contains("one.csv"), "{error}");
    }
}
