//! Synthetic results: how much each thread did on each target, with latencies from a formula.

use model::environment::{CoreUse, Cpu, Environment, Host, LogicalCpu, TargetFacts};
use model::results::{DirectionResults, HostCoreUse, JobResults, StreamResults, WorkerResults};
use report::formats::diskspd;

use crate::prelude::*;

/// One thread's work on one target.
#[derive(Clone, Copy)]
pub struct Work {
    pub target: u32,
    pub block: u64,
    pub reads: u64,
    pub writes: u64,
}

/// The intervals in which operations are counted.
#[derive(Clone, Copy)]
pub struct Grid {
    pub length_ms: u64,
    pub count: usize,
}

/// Reads only, which is what most cases need.
pub fn reads(target: u32, block: u64, reads: u64) -> Work {
    let writes = 0;
    Work {
        target,
        block,
        reads,
        writes,
    }
}

/// Results without steps, for a DiskSpd plan with these targets on a machine with two processors.
pub fn results(targets: &[(&str, u64)]) -> Results {
    let facts = |(path, size): &(&str, u64)| TargetFacts {
        path: format!("/tmp/{path}"),
        size: Bytes(*size),
        ..TargetFacts::default()
    };
    let paths = targets.iter().map(|(path, _)| testing::file(path));
    let plan = testing::plan("", paths.collect(), Vec::new()).with(|plan| plan.origin.dialect = Dialect::Diskspd);
    let environment = Environment {
        host: Host::default().with(|host| host.name = "testhost".into()),
        cpu: Cpu::default()
            .with(|cpu| (cpu.logical, cpu.topology) = (2, vec![place(0, 0, 0, 0, 0), place(1, 1, 0, 0, 0)])),
        targets: targets.iter().map(facts).collect(),
        ..Environment::default()
    };
    // 2026-01-02 03:04:05 UTC and a fraction of a second.
    let host = testing::host(environment, (1_767_323_045_900_000_000, 1_767_323_047_900_000_000));
    testing::results(plan, vec![host], Vec::new())
}

pub fn place(cpu: u32, core: u32, socket: u32, node: u32, efficiency_class: u8) -> LogicalCpu {
    LogicalCpu {
        cpu,
        core,
        socket,
        node,
        efficiency_class,
    }
}

/// A time span of `seconds` in which each thread did its work.
pub fn step(seconds: f64, grid: Option<Grid>, threads: &[&[Work]]) -> StepResults {
    let measured = Nanos((seconds * 1e9).round() as u64);
    let worker = |(number, work): (usize, &&[Work])| WorkerResults {
        worker: number as u32,
        measured_ns: measured,
        streams: work.iter().map(|work| stream(number as u64, work)).collect(),
        ..WorkerResults::default()
    };
    let mut job = JobResults::default().with(|job| {
        (job.workers, job.ended) = (threads.iter().enumerate().map(worker).collect(), Some(EndReason::Time))
    });
    if let Some(grid) = grid {
        for (number, work) in threads.iter().enumerate() {
            for (target, work) in work.iter().enumerate() {
                job.series
                    .push(series((number as u32, target as u32), number as u64, work, grid));
            }
        }
    }
    StepResults::default().with(|step_results| {
        (step_results.jobs, step_results.cores) = (vec![job], vec![busy(0, [300, 200, 500]), busy(1, [100, 100, 800])])
    })
}

/// User, kernel and idle time of a processor, in milliseconds.
pub fn busy(cpu: u32, [user, system, idle]: [u64; 3]) -> HostCoreUse {
    HostCoreUse {
        host: 0,
        core: CoreUse {
            cpu,
            user_ns: Nanos::millis(user),
            system_ns: Nanos::millis(system),
            idle_ns: Nanos::millis(idle),
            ..CoreUse::default()
        },
    }
}

/// The latency of an operation: between 10 µs and about 1 ms, different for each thread.
pub fn latency(thread: u64, operation: u64) -> u64 {
    10_000 + (thread * 7_919 + operation * 104_729) % 1_000_003
}

fn stream(thread: u64, work: &Work) -> StreamResults {
    let results = |operations: u64| {
        let mut results = DirectionResults::default().with(|direction_results| {
            (direction_results.operations, direction_results.bytes) = (operations, Bytes(operations * work.block))
        });
        (0..operations).for_each(|operation| results.completion.record(latency(thread, operation)));
        (operations > 0).then_some(results)
    };
    StreamResults {
        targets: vec![work.target],
        directions: PerDirection::new(results(work.reads), results(work.writes), None),
        ..StreamResults::default()
    }
}

/// The operations are distributed over the intervals round-robin.
fn series(of: (u32, u32), thread: u64, work: &Work, grid: Grid) -> Series {
    let mut points: PerDirection<Vec<Point>> = PerDirection::all(vec![Point::default(); grid.count]);
    for (direction, operations) in [(Direction::Read, work.reads), (Direction::Write, work.writes)] {
        for operation in 0..operations {
            let ns = latency(thread, operation);
            points[direction][operation as usize % grid.count].merge(&Point {
                operations: 1,
                bytes: work.block,
                latency_ns: ns,
                latency_squares_ns2: (ns as f64).powi(2),
                latency_ns_min: ns,
                latency_ns_max: ns,
                in_flight_ns: None,
            });
        }
    }
    Series::new(Nanos::millis(grid.length_ms), Some(of), points)
}

/// A setting of the report.
pub fn set(results: &mut Results, name: &str, value: &str) {
    let other = &mut results.plan.origin.presentation.other;
    other.push((name.to_owned(), value.to_owned()));
}

pub fn text(results: &Results) -> String {
    written(|out| diskspd::text(results, out))
}

pub fn xml(results: &Results) -> String {
    written(|out| diskspd::xml(results, out))
}

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The lines from the one that starts with `from` up to the next empty line.
pub fn section<'a>(text: &'a str, from: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(!lines.is_empty(), "there is no line `{from}` in\n{text}");
    lines
}
