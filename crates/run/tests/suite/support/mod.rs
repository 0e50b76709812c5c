//! Plans for tests, with default values.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(target_os = "linux")]
pub mod verified;

use crate::prelude::*;

/// A device that serves 32 operations at the same time, in 100 µs each.
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
    Stream::default()
}

/// A worker with these streams.
pub fn worker(streams: Vec<Stream>) -> Worker {
    testing::worker(streams).with(|worker| worker.draws = GeneratorChoice::Native { seed: 7 })
}

/// One job of one step on a simulated device.
pub fn plan(device: SimulatedDevice, stop: Stop, workers: Vec<Worker>) -> Plan {
    let target = testing::target("simulated", TargetKind::Simulated { device });
    let steps = vec![testing::step(vec![testing::job("job", stop, workers)])];
    Plan {
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
        ..testing::plan("test", vec![target], steps)
    }
}

/// Like [`plan`], but on a file or device.
pub fn plan_on(path: &str, engine: EngineKind, stop: Stop, mut workers: Vec<Worker>) -> Plan {
    workers.iter_mut().for_each(|worker| worker.engine.kind = engine);
    plan(device(), stop, workers).with(|plan| plan.targets[0] = testing::file(path))
}

/// Executes a plan.
pub fn try_run(plan: Plan) -> Result<(Results, Vec<Event>), RunError> {
    try_run_permitted(plan, &Permissions::default())
}

/// Executes a plan with these permissions of the user.
pub fn try_run_permitted(plan: Plan, permissions: &Permissions) -> Result<(Results, Vec<Event>), RunError> {
    let mut events = Vec::new();
    let results = run_watched(plan, permissions, &mut |event| events.push(event))?;
    Ok((results, events))
}

/// Executes a plan and passes on its events as they happen.
pub fn run_watched(plan: Plan, permissions: &Permissions, watch: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
    let interrupt = AtomicBool::new(false);
    let context = RunContext::new(ClockStart::now().calibrate(), &interrupt, permissions);
    run::execute(plan, context, watch)
}

/// An engine of this system that keeps a queue of operations.
pub const QUEUE: EngineKind = if cfg!(windows) {
    EngineKind::Iocp
} else {
    EngineKind::IoUring
};

/// Executes a plan, which must succeed. Returns the results of its first job.
pub fn run_job(plan: Plan) -> JobResults {
    let (mut results, _) = try_run(plan).expect("the plan can run");
    results.steps.remove(0).jobs.remove(0)
}

/// Fails unless the relative error is below a limit.
#[track_caller]
pub fn assert_near(found: f64, expected: f64, limit: f64, label: &str) {
    let error = (found / expected - 1.0).abs();
    assert!(error < limit, "{label}: {found} instead of {expected}");
}
