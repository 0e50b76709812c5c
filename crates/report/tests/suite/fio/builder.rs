//! Synthetic results: how much each clone of each job did, with latencies from a formula.

use model::access::{Access, Sequential};
use model::environment::{Device, Environment, TargetFacts};
use model::plan::{Grid, GridScope, Group, Job, LatencyPoints, Pattern, Plan, Step, Stream, Worker};
use model::results::{
    DirectionResults, EngineUsed, HostDeviceUse, JobResults, StreamResults, SyncResults, Usage, WorkerResults,
};

use crate::prelude::*;

/// Length of the sampling windows.
pub const HALF_SECOND: u64 = 500;

/// The work of each clone of a job.
#[derive(Clone)]
pub struct Work {
    pub name: &'static str,
    /// Index of the step in the plan.
    pub step: usize,
    pub group: usize,
    /// `group_reporting`.
    pub merged: bool,
    pub clones: usize,
    pub engine: EngineKind,
    /// True if submission and completion are separate, so that there is a submission latency.
    pub asynchronous: bool,
    pub depth: u32,
    pub operations: PerDirection<u64>,
    pub block: u64,
    pub flushes: u64,
    pub measured_ms: u64,
    pub description: Option<&'static str>,
    pub control: Vec<Control>,
}

impl Work {
    /// One clone with a queue depth of one, in a group of its own in the first step.
    pub fn new(name: &'static str, direction: Direction, operations: u64, block: u64) -> Work {
        let counts = PerDirection::default().with(|counts| counts[direction] = operations);
        Work {
            name,
            step: 0,
            group: 0,
            merged: false,
            clones: 1,
            engine: EngineKind::Psync,
            asynchronous: false,
            depth: 1,
            operations: counts,
            block,
            flushes: 0,
            measured_ms: 10,
            description: None,
            control: Vec::new(),
        }
    }

    /// The same with reads and writes.
    pub fn mixed(name: &'static str, reads: u64, writes: u64, block: u64) -> Work {
        Work::new(name, Direction::Read, reads, block).with(|work| work.operations.write = writes)
    }

    /// Executed by an asynchronous engine with this queue depth.
    pub fn queued(mut self, engine: EngineKind, depth: u32) -> Work {
        (self.engine, self.asynchronous, self.depth) = (engine, true, depth);
        self
    }
}

/// Results of a run on one disk, `vda`.
pub fn results(works: &[Work]) -> Results {
    let mut results = empty();
    for work in works {
        let (plan, steps) = (&mut results.plan, &mut results.steps);
        while plan.steps.len() <= work.step {
            plan.steps.push(Step::default());
            steps.push(StepResults::default());
        }
        while plan.groups.len() <= work.group {
            plan.groups.push(Group {
                name: plan.groups.len().to_string(),
                jobs: Vec::new(),
                merged: false,
            });
        }
        let group = &mut plan.groups[work.group];
        group.merged = work.merged;
        group
            .jobs
            .push((work.step as u32, plan.steps[work.step].jobs.len() as u32));
        plan.steps[work.step].jobs.push(planned(work));
        steps[work.step].jobs.push(found(work));
    }
    results.steps[0].devices.push(HostDeviceUse {
        host: 0,
        counters: DeviceUse::default().with(|device_use| device_use.name = "vda".into()),
        own_reads: None,
    });
    results
}

fn empty() -> Results {
    let mut plan = Plan {
        grids: vec![Grid::new(Nanos::millis(HALF_SECOND), GridScope::Stream)],
        ..testing::plan("", vec![testing::file("data")], Vec::new())
    };
    plan.origin.dialect = Dialect::Fio;
    let disk = Device::default().with(|device| (device.name, device.kind) = ("vda".into(), "disk".into()));
    let environment = Environment {
        targets: vec![TargetFacts::default().with(|target_facts| target_facts.devices = vec![disk])],
        ..Environment::default()
    };
    // Sat Nov 21 19:36:04 2026 UTC.
    let host = testing::host(environment, (1_795_289_764_250_000_000, 1_795_289_764_750_000_000));
    testing::results(plan, vec![host], Vec::new())
}

fn planned(work: &Work) -> Job {
    let stream = Stream {
        pattern: Pattern::simple(Access::Sequential(Sequential::default()), Bytes(work.block)),
        depth: work.depth,
        ..Stream::default()
    };
    let worker = Worker {
        draws: model::draws::GeneratorChoice::Fio {
            seed: 1,
            number: 1,
            writes_use_read_size_seed: false,
        },
        latency: match work.asynchronous {
            true => LatencyPoints::AfterCall,
            false => LatencyPoints::BeforeCall,
        },
        ..testing::worker(vec![stream])
    };
    Job {
        name: work.name.into(),
        description: work.description.map(str::to_owned),
        control: work.control.clone(),
        workers: vec![worker; work.clones],
        ..Job::default()
    }
}

fn found(work: &Work) -> JobResults {
    let measured = Nanos::millis(work.measured_ms);
    let worker = |number: usize| {
        let mut worker = WorkerResults {
            worker: number as u32,
            engine: EngineUsed::default().with(|engine_used| engine_used.kind = work.engine),
            started_ns: Nanos::millis(5),
            measured_ns: measured,
            active_ns: measured,
            streams: vec![stream(work)],
            slots: work.depth,
            usage: Usage {
                user_ns: Nanos(measured.0 / 10),
                system_ns: Nanos(measured.0 / 5),
                voluntary_switches: 3,
                ..Usage::default()
            },
            ..WorkerResults::default()
        };
        worker.count_one_at_a_time();
        worker
    };
    let series = |number: usize| Series {
        length_ns: Nanos::millis(HALF_SECOND),
        source: Some((number as u32, 0)),
        points: work.operations.map(|operations| points(*operations, work)),
    };
    JobResults {
        name: work.name.into(),
        workers: (0..work.clones).map(worker).collect(),
        series: (0..work.clones).map(series).collect(),
        ended: Some(EndReason::Done),
        ..JobResults::default()
    }
}

/// The latency of an operation: between 10 µs and about 1 ms.
pub fn latency(operation: u64) -> u64 {
    10_000 + operation * 104_729 % 1_000_003
}

fn stream(work: &Work) -> StreamResults {
    let results = |operations: u64| {
        let mut results = DirectionResults::default().with(|direction_results| {
            (direction_results.operations, direction_results.bytes) = (operations, Bytes(operations * work.block))
        });
        for operation in 0..operations {
            let ns = latency(operation);
            results.submission.record(ns / 10);
            results.completion.record(ns);
            results.total.record(ns / 10 + ns);
        }
        results
    };
    let mut sync = SyncResults::default().with(|sync_results| sync_results.operations = work.flushes);
    (0..work.flushes).for_each(|flush| sync.latency.record(latency(flush)));
    StreamResults {
        targets: vec![0],
        directions: work
            .operations
            .map(|operations| (*operations > 0).then(|| results(*operations))),
        sync: (work.flushes > 0).then_some(sync),
        ..StreamResults::default()
    }
}

/// The operations are spread evenly over the windows.
fn points(operations: u64, work: &Work) -> Vec<Point> {
    let windows = work.measured_ms.div_ceil(HALF_SECOND);
    let operations_per_window = operations / windows;
    let point = |_| Point::new(operations_per_window, operations_per_window * work.block);
    (0..windows).map(point).collect()
}

/// Sets a report setting.
pub fn set(results: &mut Results, name: &str, value: &str) {
    let other = &mut results.plan.origin.presentation.other;
    other.push((name.to_owned(), value.to_owned()));
}

/// The report in the format of that name.
pub fn written(results: &Results, format: &str) -> String {
    let mut bytes = Vec::new();
    let format = report::formats::find(format).unwrap();
    (format.write)(results, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The JSON report, parsed by a general JSON parser.
pub fn json(results: &Results, format: &str) -> Value {
    serde_json::from_str(&written(results, format)).unwrap()
}

/// A file of the recorded data.
pub fn recorded(path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fio");
    let path = folder.join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
