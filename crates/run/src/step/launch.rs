//! Starts the threads of a step's workers and waits until each of them is ready.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use engine::{Clock, Identity, Simulation};
use model::Nanos;
use model::event::{EndReason, Phase};
use model::plan::Plan;
use model::results::Failure;

use super::{StepContext, StepState, address_space};
use crate::control::JobControl;
use crate::control_groups::ControlGroups;
use crate::error::{RunError, WorkerFault, require_no_faults};
use crate::flow::Flows;
use crate::gather::Gather;
use crate::governor::Governor;
use crate::issue_trace;
use crate::line_log::LineLog;
use crate::operation_log;
use crate::setup_error::SetupError;
use crate::sources::Sources;
use crate::targets::guard::Permissions;
use crate::worker::{Assignment, CellKey, Inbox, ReadyTarget, WorkerOutcome, set_up};

/// A job while its step runs.
pub(super) struct LiveJob {
    pub(super) control: Arc<JobControl>,
    pub(super) gate: Arc<StartGate>,
    pub(super) gather: Gather,
    pub(super) governor: Governor,
    /// Its operation log and its trace, as far as the plan names them.
    pub(super) logs: Vec<LineLog>,
    pub(super) workers: Vec<LiveWorker>,
    /// Number of its first worker among all workers of the step.
    pub(super) first_worker: usize,
    pub(super) state: JobState,
    pub(super) published_phase: Phase,
    pub(super) failed: bool,
    /// When the job was stopped or began to drain.
    pub(super) stopping_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobState {
    /// Its predecessors are still running.
    Waiting,
    Running,
    /// It was cancelled before it began; its threads exit.
    Cancelled,
    /// All its threads have ended.
    Ended {
        ran: bool,
    },
}

#[derive(Default)]
pub(super) struct LiveWorker {
    pub(super) thread: Option<JoinHandle<WorkerOutcome>>,
    pub(super) outcome: Option<WorkerOutcome>,
    pub(super) lost: Option<Failure>,
}

/// Delays workers until all of them are ready.
#[derive(Debug, Default)]
pub(super) struct StartGate {
    state: Mutex<Option<Option<Nanos>>>,
    changed: Condvar,
}

impl StartGate {
    /// Releases the workers: to start at the given time, or to exit.
    pub(super) fn open(&self, start: Option<Nanos>) {
        if let Ok(mut state) = self.state.lock() {
            *state = Some(start);
        }
        self.changed.notify_all();
    }

    fn wait(&self) -> Option<Nanos> {
        let mut state = self.state.lock().ok()?;
        loop {
            if let Some(start) = *state {
                return start;
            }
            state = self.changed.wait(state).ok()?;
        }
    }
}

/// The resources that the workers of a step share.
struct StepResources {
    plan: Arc<Plan>,
    step: usize,
    targets: Arc<Vec<ReadyTarget>>,
    sources: Sources,
    flows: Flows,
    /// Error count that the workers of the step share, for `errors_max`.
    errors: Arc<AtomicU64>,
    control_groups: Arc<ControlGroups>,
    simulation: Simulation,
    grids: Vec<Nanos>,
    clock: Clock,
    spin: bool,
}

/// The result of a worker's set-up.
struct WorkerStatus {
    job: usize,
    worker: usize,
    result: Result<(Inbox, Vec<CellKey>), SetupError>,
}

/// Wakes the coordinating thread when a thread ends, even by a panic.
struct WakeOnDrop(Sender<()>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        // After the end of the step, nothing receives the message.
        let _ = self.0.send(());
    }
}

impl<'a> StepState<'a> {
    /// Starts all threads and returns once every worker is ready.
    pub(super) fn launch(
        context: &'a StepContext<'a>,
        number: usize,
        targets: &Arc<Vec<ReadyTarget>>,
    ) -> Result<StepState<'a>, RunError> {
        let step_plan = &context.plan.steps[number];
        require_no_faults(address_space::find_excess(step_plan))?;
        let sources = Sources::from_step(step_plan, context.interrupt)?;
        let resources = Arc::new(StepResources {
            plan: Arc::clone(&context.plan),
            step: number,
            targets: Arc::clone(targets),
            sources,
            flows: Flows::default(),
            errors: Arc::default(),
            control_groups: Arc::clone(&context.control_groups),
            simulation: context.simulation.clone(),
            grids: context.plan.grids.iter().map(|grid| grid.length_ns).collect(),
            clock: context.clock,
            spin: context.spin,
        });
        let worker_count = step_plan.jobs.iter().map(|job| job.workers.len()).sum();
        context.simulation.begin_step(worker_count);
        let (wake_tx, wake_rx) = channel();
        let (status_tx, status_rx) = channel();
        let mut jobs: Vec<LiveJob> = Vec::new();
        for job in 0..step_plan.jobs.len() {
            let first_worker = jobs.last().map_or(0, |job| job.worker_numbers().end);
            jobs.push(launch_job(&resources, job, first_worker, &status_tx, &wake_tx));
        }
        drop((status_tx, wake_tx));
        if let Err(error) =
            await_setup(&mut jobs, &status_rx).and_then(|()| start_logs(&mut jobs, targets, context.permissions))
        {
            jobs.iter().for_each(|job| job.gate.open(None));
            return Err(error);
        }
        Ok(StepState {
            context,
            number,
            step_plan,
            jobs,
            wake_rx,
        })
    }
}

/// Starts the threads of a job. Each sets itself up, reports its status, and waits at the gate.
fn launch_job(
    resources: &Arc<StepResources>,
    job: usize,
    first_worker: usize,
    status_tx: &Sender<WorkerStatus>,
    wake_tx: &Sender<()>,
) -> LiveJob {
    let job_plan = &resources.plan.steps[resources.step].jobs[job];
    let control = Arc::new(JobControl::default());
    let gate = Arc::new(StartGate::default());
    let governor = Governor::new(job_plan);
    if let Some(depth) = governor.first_depth() {
        control.set_depth(depth);
    }
    let interval = Governor::interval_for(job_plan);
    let count = job_plan.workers.len();
    let log = job_plan.operation_log.as_ref();
    let (log, log_writers) = log
        .map(|path| LineLog::new(path, operation_log::log_format(), count))
        .unzip();
    let trace = job_plan.trace.as_ref();
    let (trace, trace_writers) = trace
        .map(|path| LineLog::new(path, issue_trace::log_format(&resources.plan, job_plan), count))
        .unzip();
    let mut log_writers = log_writers.unwrap_or_default().into_iter();
    let mut trace_writers = trace_writers.unwrap_or_default().into_iter();
    let spawn = |worker| {
        let thread = WorkerThread {
            resources: Arc::clone(resources),
            job,
            worker,
            number: (first_worker + worker) as u32,
            interval,
            control: Arc::clone(&control),
            gate: Arc::clone(&gate),
            log_writer: log_writers.next(),
            trace_writer: trace_writers.next(),
        };
        thread.spawn(status_tx.clone(), WakeOnDrop(wake_tx.clone()))
    };
    let workers = (0..count).map(spawn).collect();
    LiveJob {
        gather: Gather::new(job_plan, &resources.plan.grids, interval),
        governor,
        logs: log.into_iter().chain(trace).collect(),
        control,
        gate,
        workers,
        first_worker,
        state: JobState::Waiting,
        published_phase: Phase::Delay,
        failed: false,
        stopping_since: None,
    }
}

/// The data of a worker's thread.
struct WorkerThread {
    resources: Arc<StepResources>,
    job: usize,
    worker: usize,
    /// Number among all workers of the step.
    number: u32,
    interval: Nanos,
    control: Arc<JobControl>,
    gate: Arc<StartGate>,
    log_writer: Option<operation_log::LogWriter>,
    trace_writer: Option<issue_trace::LogWriter>,
}

impl WorkerThread {
    fn spawn(self, status_tx: Sender<WorkerStatus>, wake: WakeOnDrop) -> LiveWorker {
        let (job, worker) = (self.job, self.worker);
        let failed_tx = status_tx.clone();
        let thread = std::thread::Builder::new()
            .name(format!("worker {}.{job}.{worker}", self.resources.step))
            .spawn(move || {
                let _wake = wake;
                self.run(status_tx)
            });
        let thread = thread.map_err(|error| {
            let result = Err(SetupError::Thread(error));
            let _ = failed_tx.send(WorkerStatus { job, worker, result });
        });
        LiveWorker {
            thread: thread.ok(),
            ..LiveWorker::default()
        }
    }

    /// Sets the worker up and waits at the gate. Then issues I/O until the job is over.
    fn run(self, status_tx: Sender<WorkerStatus>) -> WorkerOutcome {
        let resources = &*self.resources;
        let job = &resources.plan.steps[resources.step].jobs[self.job];
        let assignment = Assignment {
            job,
            worker: &job.workers[self.worker],
            targets: &resources.targets,
            control: &self.control,
            clock: resources.clock,
            interval: self.interval,
            grids: &resources.grids,
            spin: resources.spin,
            checks_alignment: !resources.plan.target_rules.kernel_checks_alignment,
            sources: &resources.sources,
            flows: &resources.flows,
            errors: &resources.errors,
            control_groups: &resources.control_groups,
            simulation: &resources.simulation,
            number: self.number,
        };
        let (ready, result) = match set_up(&assignment) {
            Ok((ready, inbox)) => (Some(ready), Ok((inbox, assignment.cell_keys()))),
            Err(error) => (None, Err(error)),
        };
        let _ = status_tx.send(WorkerStatus {
            job: self.job,
            worker: self.worker,
            result,
        });
        // The coordinating thread waits until all senders are dropped.
        drop(status_tx);
        let Some(mut ready) = ready else {
            return WorkerOutcome::never_started();
        };
        ready.attach_logs(self.log_writer, self.trace_writer);
        match self.gate.wait() {
            Some(_) if job.prepare_only => WorkerOutcome {
                reason: EndReason::Done,
                ..WorkerOutcome::never_started()
            },
            Some(start) => ready.run(start),
            None => WorkerOutcome::never_started(),
        }
    }
}

/// Waits until every worker is ready. All faults are collected.
fn await_setup(jobs: &mut [LiveJob], status_rx: &Receiver<WorkerStatus>) -> Result<(), RunError> {
    let mut faults: Vec<WorkerFault> = Vec::new();
    // The channel ends when every thread has reported or died.
    for WorkerStatus { job, worker, result } in status_rx.iter() {
        match result {
            Ok((inbox, keys)) => jobs[job].gather.connect(worker, inbox, keys),
            Err(why) => faults.push(WorkerFault { job, worker, why }),
        }
    }
    require_no_faults(faults)
}

/// Opens the logs and traces of the jobs, once nothing else can prevent their start.
fn start_logs(jobs: &mut [LiveJob], targets: &[ReadyTarget], permissions: &Permissions) -> Result<(), RunError> {
    let targets: Vec<Option<Identity>> = targets.iter().map(|target| target.identity).collect();
    let mut faults: Vec<WorkerFault> = Vec::new();
    for (job, live) in jobs.iter_mut().enumerate() {
        for log in &mut live.logs {
            if let Err(source) = log.start(&targets, permissions) {
                let why = log.setup_error(source);
                faults.push(WorkerFault { job, worker: 0, why });
            }
        }
    }
    require_no_faults(faults)
}
