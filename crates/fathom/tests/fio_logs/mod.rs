//! fio's log files of real runs, compared with the results.

use model::mix::{Mix, MixRule};
use model::plan::{
    EngineKind, Grid, GridScope, LatencyPoints, SimulatedDevice, SimulatedService, Stop, TargetId, TargetKind, Windows,
    Workload,
};
use model::{Direction, testing};
use report::formats::fio::logs::LogRequest;
use testbed::With;

use crate::calling::names;
use crate::execute;
use crate::prelude::*;

/// Averaging window of the logs.
const WINDOW: Nanos = Nanos::millis(100);

/// Two workers with depth 4 and 70 % reads.
fn plan(kind: TargetKind, engine: EngineKind, stop: Stop) -> Plan {
    let mut workload =
        Workload::new("job", vec![TargetId(0)], stop).with(|workload| (workload.workers, workload.depth) = (2, 4));
    workload.parts[0].mix = Mix::drawn(30.0, MixRule::Independent);
    let mut job = workload.build_job(0);
    for worker in &mut job.workers {
        worker.engine.kind = engine;
        worker.latency = LatencyPoints::AfterCall;
    }
    job.windows = vec![Windows {
        length_ns: WINDOW,
        histograms: true,
    }];
    Plan {
        grids: vec![Grid::new(WINDOW, GridScope::Stream)],
        ..testing::plan(
            "logs",
            vec![testing::target("target", kind)],
            vec![testing::step(vec![job])],
        )
    }
}

/// A plan on a simulated device that needs 50 to 150 µs per operation.
fn simulated() -> Plan {
    let device = SimulatedDevice {
        size: Bytes::gib(1),
        servers: 32,
        service: SimulatedService::Uniform {
            low_ns: Nanos::micros(50),
            high_ns: Nanos::micros(150),
        },
        ..SimulatedDevice::default()
    };
    let stop = Stop::after(Nanos::millis(1000));
    plan(TargetKind::Simulated { device }, EngineKind::Auto, stop)
}

fn averaged_request(prefix: &str) -> LogRequest {
    let name = Some(prefix.to_owned());
    LogRequest {
        bandwidth: name.clone(),
        latency: name.clone(),
        iops: name.clone(),
        histogram: name,
        averaging_time: Some(WINDOW),
        histogram_interval: Some(WINDOW),
        ..LogRequest::default()
    }
}

/// Parses the columns of each line of a file.
fn lines(path: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let columns = |line: &str| line.split(", ").map(|column| column.parse().unwrap()).collect();
    text.lines().map(columns).collect()
}

fn operations(results: &Results, worker: usize, direction: Direction) -> u64 {
    let streams = &results.steps[0].jobs[0].workers[worker].streams;
    let found = streams
        .iter()
        .filter_map(|stream| stream.directions[direction].as_ref());
    found.map(|found| found.operations).sum()
}

/// Adds up a figure of all lines of a direction.
fn sum(lines: &[Vec<u64>], direction: u64, figure: impl Fn(&[u64]) -> u64) -> u64 {
    let matching = lines.iter().filter(|line| line[2] == direction);
    matching.map(|line| figure(line)).sum()
}

#[test]
fn averages_and_histograms_agree_with_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let results = execute(simulated());
    let paths = archive::write_fio_logs(&results, &[Some(averaged_request("run"))], folder.path()).unwrap();
    assert_eq!(paths.len(), 12);
    let kinds = ["bw", "clat", "clat_hist", "iops", "lat", "slat"];
    let expected = kinds.map(|kind| [1, 2].map(|worker| format!("run_{kind}.{worker}.log")));
    assert_eq!(names(folder.path()), expected.as_flattened(), "no temporary files");
    for worker in 0..2 {
        let log = |kind: &str| lines(&folder.path().join(format!("run_{kind}.{}.log", worker + 1)));
        for kind in ["bw", "slat", "clat", "lat", "iops"] {
            let keys: Vec<(u64, u64)> = log(kind).iter().map(|line| (line[0], line[2])).collect();
            let all = (1..=10).flat_map(|window| [(window * 100, 0), (window * 100, 1)]);
            assert_eq!(keys, all.collect::<Vec<_>>(), "{kind}");
        }
        let histograms = log("clat_hist");
        for (number, direction) in [(0, Direction::Read), (1, Direction::Write)] {
            let expected = operations(&results, worker, direction);
            assert!(expected > 1000, "{expected}");
            assert_eq!(sum(&log("iops"), number, |line| line[1]), expected * 10);
            assert_eq!(sum(&log("bw"), number, |line| line[1]), expected * 4 * 10);
            for (window, line) in log("iops").iter().filter(|line| line[2] == number).enumerate() {
                let histogram = histograms.iter().filter(|line| line[1] == number).nth(window).unwrap();
                assert_eq!((histogram[0], histogram[2]), (line[0], 4096));
                assert_eq!(histogram[3..].iter().sum::<u64>() * 10, line[1]);
            }
            // The overall mean is the mean of the windows, weighted by their operations.
            let (clat, iops) = (log("clat"), log("iops"));
            let weighted = clat.iter().zip(&iops).filter(|(line, _)| line[2] == number);
            let weighted = weighted.map(|(clat, iops)| clat[1] * iops[1]).sum::<u64>() as f64 / (expected * 10) as f64;
            let streams = &results.steps[0].jobs[0].workers[worker].streams;
            let mean = streams[0].directions[direction].as_ref().unwrap().completion.mean();
            assert!((weighted - mean).abs() <= 0.5, "{weighted} {mean}");
        }
    }
}

#[test]
fn each_operation_has_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::after_operations(5_000);
    let nothing = TargetKind::Nothing { size: Bytes::gib(1) };
    for mut plan in [simulated(), plan(nothing, EngineKind::Null, stop)] {
        let operation_log = folder.path().join("operations");
        plan.steps[0].jobs[0].operation_log = Some(operation_log.to_str().unwrap().to_owned());
        let results = execute(plan);
        let wanted = averaged_request("each")
            .with(|request| (request.averaging_time, request.offset, request.issue_time) = (None, true, true));
        archive::write_fio_logs(&results, &[Some(wanted)], folder.path()).unwrap();
        for worker in 0..2 {
            let log = |kind: &str| lines(&folder.path().join(format!("each_{kind}.{}.log", worker + 1)));
            let (clat, slat, lat) = (log("clat"), log("slat"), log("lat"));
            for (number, direction) in [(0, Direction::Read), (1, Direction::Write)] {
                let expected = operations(&results, worker, direction);
                assert!(expected > 500, "{expected}");
                assert_eq!(sum(&clat, number, |_| 1), expected);
                assert_eq!(sum(&log("iops"), number, |line| line[1]), expected);
                let streams = &results.steps[0].jobs[0].workers[worker].streams;
                let found = streams[0].directions[direction].as_ref().unwrap();
                assert_eq!(u128::from(sum(&clat, number, |line| line[1])), found.completion.sum());
                assert_eq!(u128::from(sum(&slat, number, |line| line[1])), found.submission.sum());
            }
            for ((clat, slat), lat) in clat.iter().zip(&slat).zip(&lat) {
                assert_eq!(clat[1] + slat[1], lat[1]);
                assert_eq!((clat.len(), clat[3]), (7, 4096));
                assert!(clat[4].is_multiple_of(4096) && clat[4] < 1 << 30, "{clat:?}");
                let ended = clat[6] + clat[1];
                assert!(
                    clat[0] == ended / 1_000_000 || clat[6] == 0,
                    "issue time plus latency is the time of completion: {clat:?}"
                );
            }
            assert!(clat.iter().map(|line| line[0]).is_sorted());
        }
    }
}

#[test]
fn workers_append_to_an_existing_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("all_iops.log");
    fs::write(&log, "1, 2, 0, 0, 0\n").unwrap();
    let wanted = LogRequest {
        iops: Some("all".into()),
        averaging_time: Some(WINDOW),
        per_job: false,
        ..LogRequest::default()
    };
    let results = execute(simulated());
    let paths = archive::write_fio_logs(&results, &[Some(wanted)], folder.path()).unwrap();
    assert_eq!(paths, std::slice::from_ref(&log));
    assert_eq!(names(folder.path()), ["all_iops.log"]);
    let lines = lines(&log);
    assert_eq!(lines.len(), 1 + 2 * 20);
    assert_eq!(lines[0], [1, 2, 0, 0, 0]);
    let lines_of = |worker: usize| &lines[1 + worker * 20..][..20];
    for worker in 0..2 {
        let reads = operations(&results, worker, Direction::Read);
        assert_eq!(sum(lines_of(worker), 0, |line| line[1]), reads * 10);
    }
}

#[test]
fn a_failure_changes_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run_iops.1.log");
    fs::write(&log, "precious").unwrap();
    let mut results = execute(simulated());
    // The operation log of the second job is missing. By then, all logs of the first job have been
    // prepared.
    let mut second = results.plan.steps[0].jobs[0].clone();
    second.operation_log = Some(folder.path().join("none").to_str().unwrap().to_owned());
    results.plan.steps[0].jobs.push(second);
    let request = LogRequest::default().with(|request| request.iops = Some("each".into()));
    let requests = [Some(averaged_request("run")), Some(request)];
    let error = archive::write_fio_logs(&results, &requests, folder.path()).unwrap_err();
    assert!(error.to_string().contains("none"), "{error}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "precious");
    assert_eq!(names(folder.path()), ["run_iops.1.log"]);
    let missing = folder.path().join("no such folder");
    let error = archive::write_fio_logs(&results, &requests, &missing).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}
