//! Plans for tests, with everything usual filled in.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::atomic::AtomicBool;

use engine::clock::ClockStart;
use model::access::{Access, Placement, Uniform};
use model::content::Content;
use model::draws::DrawsForm;
use model::event::Event;
use model::mix::Mix;
use model::plan::{
    Batching, CacheMode, Depth, EngineChoice, EngineKind, ErrorPolicy, Grid, GridScope, Job, LatencyPoints, Memory,
    OpenHint, Pacing, Pattern, Plan, Prepare, Region, SimulatedDevice, SimulatedService, Step, Stop, Stream,
    StreamTarget, SyncRule, Target, TargetId, TargetKind, ThreadPlacement, Worker,
};
use model::results::{JobResults, Results};
use model::{Bytes, Nanos};
use run::targets::guard::Permissions;
use run::{RunContext, RunError};

/// A device that serves 32 operations at once in 100 µs each.
pub fn device() -> SimulatedDevice {
    SimulatedDevice {
        size: Bytes::gib(1),
        servers: 32,
        service: SimulatedService::Constant {
            time_ns: Nanos::micros(100),
        },
        ..SimulatedDevice::default()
    }
}

/// Uniform random reads of 4 KiB at depth 1.
pub fn stream() -> Stream {
    Stream {
        target: StreamTarget::One { target: TargetId(0) },
        region: Region::default(),
        mix: Mix::READS,
        pattern: Pattern::simple(
            Access::Random {
                placement: Placement::Uniform(Uniform::default()),
            },
            Bytes::kib(4),
        ),
        content: Content::Fresh,
        cache: CacheMode::BUFFERED,
        hint: OpenHint::default(),
        sync: SyncRule::default(),
        pacing: Pacing::Unpaced,
        think: None,
        depth: 1,
        weight: 1,
        priority: None,
        on_error: ErrorPolicy::default(),
        verify: None,
        priorities: Vec::new(),
        lock: Default::default(),
        flow: None,
        replay: None,
    }
}

/// A worker with one stream of each kind given.
pub fn worker(streams: Vec<Stream>) -> Worker {
    Worker {
        engine: EngineChoice {
            registered: true,
            ..EngineChoice::default()
        },
        depth: Depth::PerStream,
        batching: Batching::default(),
        draws: DrawsForm::Native { seed: 7 },
        placement: ThreadPlacement::default(),
        memory: Memory::default(),
        latency: LatencyPoints::default(),
        streams,
    }
}

/// One job of one step on a simulated device.
pub fn plan(device: SimulatedDevice, stop: Stop, workers: Vec<Worker>) -> Plan {
    let target = Target {
        path: "simulated".into(),
        kind: TargetKind::Simulated { device },
        prepare: Prepare::Existing,
        at_end: Default::default(),
    };
    let job = Job {
        name: "job".into(),
        stop,
        workers,
        ..Job::default()
    };
    Plan {
        name: "test".into(),
        targets: vec![target],
        steps: vec![Step {
            jobs: vec![job],
            prepare: None,
        }],
        grids: vec![
            Grid {
                length_ns: Nanos::millis(100),
                scope: GridScope::Job,
            },
            Grid {
                length_ns: Nanos::secs(1),
                scope: GridScope::Stream,
            },
        ],
        ..Plan::default()
    }
}

/// The same on a file or device.
pub fn plan_on(path: &str, engine: EngineKind, stop: Stop, mut workers: Vec<Worker>) -> Plan {
    workers.iter_mut().for_each(|worker| worker.engine.kind = engine);
    let mut plan = plan(device(), stop, workers);
    plan.targets[0] = Target {
        path: path.into(),
        kind: TargetKind::Path,
        prepare: Prepare::Existing,
        at_end: Default::default(),
    };
    plan
}

/// Carries a plan out.
pub fn try_run(plan: Plan) -> Result<(Results, Vec<Event>), RunError> {
    try_run_permitted(plan, &Permissions::default())
}

/// Carries a plan out with what its user has named again.
pub fn try_run_permitted(plan: Plan, permissions: &Permissions) -> Result<(Results, Vec<Event>), RunError> {
    let interrupt = AtomicBool::new(false);
    let context = RunContext::new(ClockStart::now().settle(), &interrupt, permissions);
    let mut events = Vec::new();
    let results = run::execute(plan, context, &mut |event| events.push(event))?;
    Ok((results, events))
}

/// An engine of this system that keeps a queue of operations.
pub const QUEUE: EngineKind = if cfg!(windows) {
    EngineKind::Iocp
} else {
    EngineKind::IoUring
};

/// Carries a plan out that must succeed, and returns its first job.
pub fn run_job(plan: Plan) -> JobResults {
    let (mut results, _) = try_run(plan).expect("the plan can be carried out");
    results.steps.remove(0).jobs.remove(0)
}

/// |a/b − 1|
pub fn off(a: f64, b: f64) -> f64 {
    (a / b - 1.0).abs()
}
