//! Plans for tests, with default values.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(target_os = "linux")]
pub mod verified;

use model::operation_log::LoggedOperation;

use crate::prelude::*;

/// A device that serves 32 operations at the same time, in 100 µs each.
pub fn device() -> SimulatedDevice {
    SimulatedDevice {
        size: Bytes::gib(1),
        servers: 32,
        ..SimulatedDevice::default()
    }
}

/// Every operation takes this long.
pub fn constant(time_ns: Nanos) -> SimulatedService {
    SimulatedService::Constant { time_ns }
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
            Grid::new(Nanos::millis(100), GridScope::Job),
            Grid::new(Nanos::secs(1), GridScope::Stream),
        ],
        ..testing::plan("test", vec![target], steps)
    }
}

/// Like [`plan`], but on a file or device.
pub fn plan_on(path: impl AsRef<Path>, engine: EngineKind, stop: Stop, mut workers: Vec<Worker>) -> Plan {
    workers.iter_mut().for_each(|worker| worker.engine.kind = engine);
    let path = path.as_ref().to_str().expect("a path in UTF-8");
    plan(device(), stop, workers).with(|plan| plan.targets[0] = testing::file(path))
}

/// A directory on a disk: `/tmp` may be in memory.
pub fn create_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("cargo has created it")
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

/// Executes a plan as [`run_job`] does. Also returns the operations of the job.
pub fn run_logged(mut plan: Plan) -> (JobResults, Vec<LoggedOperation>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("log.csv");
    plan.steps[0].jobs[0].operation_log = Some(path.display().to_string());
    let job = run_job(plan);
    let text = fs::read_to_string(path).expect("the log exists");
    let parse = |line: &str| LoggedOperation::parse(line).unwrap_or_else(|| panic!("{line}"));
    (job, text.lines().skip(1).map(parse).collect())
}

/// Fails unless the relative error is below a limit.
#[track_caller]
pub fn assert_near(found: f64, expected: f64, limit: f64, label: &str) {
    let error = (found / expected - 1.0).abs();
    assert!(error < limit, "{label}: {found} instead of {expected}");
}
