//! Running one step: its workers are set up, started together, watched, and what they send is gathered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::probe::{CoreTimes, DeviceTimes, System, VolumeCounters};
use engine::{Clock, Identity, Simulation};
use model::environment::TargetFacts;
use model::event::{DeviceUnder, EndReason, Event, Phase};
use model::finding::{Finding, Severity};
use model::plan::{Dialect, Job, Plan};
use model::results::{
    EffectiveShare, Failure, HostCoreUse, HostDeviceUse, HostVolumeUse, JobResults, StepResults, WorkerResults,
};
use model::seconds::HostSample;
use model::sequence::effective_ranges;
use model::{Bytes, Nanos};

use crate::control::JobControl;
use crate::control_groups::ControlGroups;
use crate::flow::Flows;
use crate::gather::Gather;
use crate::governor::Governor;
use crate::issue_trace::{self, IssueTrace};
use crate::operation_log::{self, OperationLog};
use crate::sampler::Sampler;
use crate::schedulers::Schedulers;
use crate::sources::Sources;
use crate::worker::{Assignment, CellKey, Ended, Inbox, ReadyTarget, SetupError, set_up};
use crate::{RunError, Wishes, WorkerFault};

/// How long a thread takes to end after its last act, or a little less.
const AFTERWARDS: Duration = Duration::from_micros(50);
/// How often the coordinator looks at its workers.
const LOOK: Duration = Duration::from_millis(20);
/// Workers begin this long after the last of them is ready, so that all of them are waiting by then.
const HEAD_START: Nanos = Nanos::micros(500);
/// Workers tell what they did once a second; one that hangs in an operation does not.
const TELLS_WITHIN: Duration = Duration::from_millis(1250);
/// A worker that has not ended this long after it should have is left behind.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all steps of a run share.
pub(crate) struct Surroundings<'a> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: Clock,
    pub(crate) spin: bool,
    /// All targets are simulated devices.
    pub(crate) simulated: bool,
    /// The simulated devices of the run.
    pub(crate) simulation: Simulation,
    pub(crate) interrupt: &'a AtomicBool,
    pub(crate) wishes: Wishes<'a>,
    /// Devices under the targets, with the targets that lie on each.
    pub(crate) devices: Vec<(String, Vec<u32>)>,
    /// What is known of each target.
    pub(crate) facts: Vec<TargetFacts>,
    pub(crate) control_groups: Arc<ControlGroups>,
    pub(crate) schedulers: Schedulers,
}

/// A job while its step runs.
struct LiveJob {
    control: Arc<JobControl>,
    gate: Arc<StartGate>,
    gather: Gather,
    governor: Governor,
    log: Option<OperationLog>,
    trace: Option<IssueTrace>,
    workers: Vec<LiveWorker>,
    /// Number of its first worker among all of the step.
    first_worker: usize,
    state: State,
    told: Phase,
    failed: bool,
    stop_asked: Option<Instant>,
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for others.
    Waiting,
    /// Its workers were let go.
    Running,
    /// It was called off before it began; its threads go home.
    CalledOff,
    /// All its threads have ended.
    Ended { ran: bool },
}

struct LiveWorker {
    thread: Option<JoinHandle<Ended>>,
    ended: Option<Ended>,
    lost: Option<Failure>,
}

/// Holds workers back until all of them are ready.
#[derive(Debug, Default)]
struct StartGate {
    state: Mutex<Option<Option<Nanos>>>,
    changed: Condvar,
}

impl StartGate {
    /// Lets the workers go: at the given time, or home.
    fn open(&self, start: Option<Nanos>) {
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

/// What the workers of a step share.
#[derive(Clone)]
struct Shared {
    targets: Arc<Vec<ReadyTarget>>,
    sources: Arc<Sources>,
    flows: Arc<Flows>,
}

/// A worker's answer to being set up.
struct Answer {
    job: usize,
    worker: usize,
    result: Result<(Inbox, Vec<CellKey>), SetupError>,
}

/// Kernel counters around the operations of a step.
struct Watch {
    devices: Vec<(String, Vec<u32>)>,
    devices_before: DeviceTimes,
    measured_before: Option<Reading>,
    measured: Option<Measured>,
    sampler: Option<Sampler>,
}

/// All counters at one moment.
struct Reading {
    at: Nanos,
    devices: DeviceTimes,
    cores: CoreTimes,
    /// Of those devices whose provider counts too.
    volumes: Vec<(String, VolumeCounters)>,
}

/// Their differences over the time in which every job was measuring.
struct Measured {
    length: Nanos,
    devices: Vec<HostDeviceUse>,
    cores: Vec<HostCoreUse>,
    volumes: Vec<HostVolumeUse>,
    samples: Vec<HostSample>,
}

/// Runs a step to its end.
///
/// # Errors
/// [`RunError::Setup`] if a worker cannot be set up; nothing has been issued then.
pub(crate) fn run_step(
    around: &Surroundings<'_>,
    step: usize,
    targets: &Arc<Vec<ReadyTarget>>,
    watcher: &mut dyn FnMut(Event),
) -> Result<StepResults, RunError> {
    let plan = &around.plan;
    let (sender, answers) = channel();
    let (rope, bell) = channel();
    choose_schedulers(around, step)?;
    let sources = Sources::of(&plan.steps[step])
        .map_err(|(job, worker, why)| RunError::Setup(vec![WorkerFault { job, worker, why }]))?;
    let shared = Shared {
        targets: Arc::clone(targets),
        sources: Arc::new(sources),
        flows: Arc::default(),
    };
    let workers_of_jobs = plan.steps[step].jobs.iter().map(|job| job.workers.len());
    around.simulation.begin_step(workers_of_jobs.clone().sum());
    let first_workers = workers_of_jobs.scan(0, |next, workers| {
        *next += workers;
        Some(*next - workers)
    });
    let mut jobs: Vec<LiveJob> = first_workers
        .enumerate()
        .map(|(job, first_worker)| launch(around, (step, job), first_worker, &shared, &sender, &rope))
        .collect();
    drop(sender);
    drop(rope);
    if let Err(error) = await_setup(&mut jobs, &answers).and_then(|()| start_logs(&mut jobs, targets)) {
        jobs.iter().for_each(|job| job.gate.open(None));
        return Err(error);
    }
    let under = |(name, targets): &(String, Vec<u32>)| DeviceUnder {
        name: name.clone(),
        targets: targets.clone(),
    };
    watcher(Event::Ready {
        step: step as u32,
        devices: around.devices.iter().map(under).collect(),
    });
    call_off(around, step, &mut jobs);
    let mut watch = Watch::new(&around.devices);
    let (mut asked, mut told_start) = (None, false);
    let mut simulation_resumed_at = None;
    loop {
        (0..jobs.len()).for_each(|job| start_if_due(around, step, &mut jobs, job, watcher));
        resume_simulation(around, &jobs, &mut simulation_resumed_at);
        (0..jobs.len()).for_each(|job| look_at(around, step, &mut jobs, job, watcher));
        end_with_io(around, step, &mut jobs);
        told_start = told_start || tell_start(around, step, &jobs);
        // What this machine does meanwhile has nothing to do with a simulated device.
        if !around.simulated {
            watch.look(&jobs, around.clock);
        }
        if around
            .wishes
            .snapshots
            .is_some_and(|wanted| wanted.swap(false, Ordering::Relaxed))
        {
            asked.get_or_insert((Instant::now(), around.clock.now()));
        }
        if asked.take_if(|asked| can_tell(&jobs, *asked)).is_some() {
            watcher(snapshot(around, step, &jobs, &watch));
        }
        if jobs.iter().all(LiveJob::has_ended) {
            break;
        }
        if around.interrupt.load(Ordering::Relaxed) {
            jobs.iter_mut().for_each(|job| job.stop(EndReason::Interrupted));
        }
        if around.simulated {
            // Simulated time does not pass while the coordinator sleeps.
            std::thread::yield_now();
        } else {
            wait_for_a_change(&bell, &jobs);
        }
    }
    if !around.simulated {
        watch.close(around.clock);
    }
    let mut results = StepResults {
        devices: watch.since_start(),
        ..StepResults::default()
    };
    if let Some(measured) = watch.measured {
        results.observed_ns = measured.length;
        (results.devices_measured, results.volumes) = (measured.devices, measured.volumes);
        (results.cores, results.samples) = (measured.cores, measured.samples);
    }
    for (number, job) in jobs.into_iter().enumerate() {
        let plan = &plan.steps[step].jobs[number];
        let mut job = job.into_results(plan);
        note_effective_ranges(plan, &mut job, targets);
        results.jobs.push(job);
    }
    if around.wishes.snapshots.is_some() {
        watcher(Event::Snapshot {
            step: step as u32,
            last: true,
            results: Box::new(results.clone()),
        });
    }
    Ok(results)
}

/// Chooses the I/O schedulers that the jobs want.
fn choose_schedulers(around: &Surroundings<'_>, step: usize) -> Result<(), RunError> {
    for (job, plan) in around.plan.steps[step].jobs.iter().enumerate() {
        if let Err(why) = around.schedulers.choose(plan, &around.facts) {
            // The others can do without.
            let why = Arc::new(why);
            let fault = |worker| WorkerFault {
                job,
                worker,
                why: SetupError::Common(Arc::clone(&why)),
            };
            return Err(RunError::Setup((0..plan.workers.len()).map(fault).collect()));
        }
    }
    Ok(())
}

/// Jobs that must not begin after all.
fn call_off(around: &Surroundings<'_>, step: usize, jobs: &mut [LiveJob]) {
    let Some(called_off) = around.wishes.called_off.and_then(|list| list.lock().ok()) else {
        return;
    };
    for (_, job) in called_off.iter().filter(|(of, _)| *of == step) {
        if let Some(job) = jobs.get_mut(*job) {
            job.stop(EndReason::Interrupted);
        }
    }
}

/// True if what the jobs did up to a moment is known, or it has taken too long to wait for it.
fn can_tell(jobs: &[LiveJob], (asked, moment): (Instant, Nanos)) -> bool {
    let known = |job: &LiveJob| job.state != State::Running || job.gather.has_heard_up_to(moment);
    jobs.iter().all(known) || asked.elapsed() > TELLS_WITHIN
}

/// What the jobs have measured so far.
fn snapshot(around: &Surroundings<'_>, step: usize, jobs: &[LiveJob], watch: &Watch) -> Event {
    let plans = &around.plan.steps[step].jobs;
    let results = StepResults {
        devices: watch.since_start(),
        jobs: jobs.iter().zip(plans).map(|(job, plan)| job.so_far(plan)).collect(),
        ..StepResults::default()
    };
    Event::Snapshot {
        step: step as u32,
        last: false,
        results: Box::new(results),
    }
}

/// Which ranges of a stepped distribution were in effect on the real targets.
fn note_effective_ranges(plan: &Job, results: &mut JobResults, targets: &[ReadyTarget]) {
    let workers = plan.workers.iter().zip(&mut results.workers);
    for (stream, results) in workers.flat_map(|(plan, results)| plan.streams.iter().zip(&mut results.streams)) {
        let Some(target) = stream.target.ids().first().and_then(|id| targets.get(id.0 as usize)) else {
            continue;
        };
        let (base, length) = stream.region.resolve(target.size);
        let ranges = effective_ranges(stream.mix, &stream.pattern, base, length);
        let share = |range: model::access::EffectiveRange| EffectiveShare {
            operations_percent: range.operations,
            start: Bytes(range.start),
            length: Bytes(range.length),
        };
        results.effective_ranges = ranges.into_iter().map(share).collect();
    }
}

/// Starts the threads of a job; each sets itself up, answers, and waits at the gate.
fn launch(
    around: &Surroundings<'_>,
    (step, job): (usize, usize),
    first_worker: usize,
    shared: &Shared,
    answers: &Sender<Answer>,
    rope: &Sender<()>,
) -> LiveJob {
    let plan_job = &around.plan.steps[step].jobs[job];
    let control = Arc::new(JobControl::default());
    let gate = Arc::new(StartGate::default());
    let governor = Governor::new(plan_job);
    if let Some(depth) = governor.first_depth() {
        control.set_depth(depth);
    }
    let interval = Governor::interval_for(plan_job);
    let count = plan_job.workers.len();
    let log = plan_job
        .operation_log
        .as_ref()
        .map(|path| OperationLog::new(path, operation_log::form(), count));
    let (log, pens) = log.unzip();
    let mut pens = pens.unwrap_or_default().into_iter();
    let trace = plan_job
        .trace
        .as_ref()
        .map(|path| IssueTrace::new(path, issue_trace::form(&around.plan, plan_job), count));
    let (trace, trace_pens) = trace.unzip();
    let mut trace_pens = trace_pens.unwrap_or_default().into_iter();
    let workers = (0..plan_job.workers.len()).map(|worker| {
        let (plan, shared) = (Arc::clone(&around.plan), shared.clone());
        let (control, gate, answers) = (Arc::clone(&control), Arc::clone(&gate), answers.clone());
        let (clock, spin, answers_on_failure) = (around.clock, around.spin, answers.clone());
        let control_groups = Arc::clone(&around.control_groups);
        let simulation = around.simulation.clone();
        let (pen, trace_pen) = (pens.next(), trace_pens.next());
        let bell = Bell(rope.clone());
        let body = move || {
            let _bell = bell;
            let grids: Vec<Nanos> = plan.grids.iter().map(|grid| grid.length_ns).collect();
            let job_plan = &plan.steps[step].jobs[job];
            let given = Assignment {
                job: job_plan,
                worker: &job_plan.workers[worker],
                targets: &shared.targets,
                control: &control,
                clock,
                interval,
                grids: &grids,
                spin,
                checks_alignment: plan.origin.dialect != Dialect::Fio,
                sources: &shared.sources,
                flows: &shared.flows,
                control_groups: &control_groups,
                simulation: &simulation,
                number: (first_worker + worker) as u32,
            };
            let mut ready = match set_up(&given) {
                Ok((ready, inbox)) => {
                    let _ = answers.send(Answer {
                        job,
                        worker,
                        result: Ok((inbox, given.cells())),
                    });
                    ready
                }
                Err(error) => {
                    let _ = answers.send(Answer {
                        job,
                        worker,
                        result: Err(error),
                    });
                    return Ended::never_started();
                }
            };
            drop(answers);
            if let Some(pen) = pen {
                ready.attach_operation_log(pen);
            }
            if let Some(pen) = trace_pen {
                ready.attach_issue_trace(pen);
            }
            match gate.wait() {
                Some(_) if job_plan.prepare_only => Ended {
                    reason: EndReason::Done,
                    ..Ended::never_started()
                },
                Some(start) => ready.run(start),
                None => Ended::never_started(),
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("worker {step}.{job}.{worker}"))
            .spawn(body);
        match thread {
            Ok(thread) => LiveWorker {
                thread: Some(thread),
                ended: None,
                lost: None,
            },
            Err(error) => {
                let _ = answers_on_failure.send(Answer {
                    job,
                    worker,
                    result: Err(SetupError::Thread(error)),
                });
                LiveWorker {
                    thread: None,
                    ended: None,
                    lost: None,
                }
            }
        }
    });
    let workers: Vec<LiveWorker> = workers.collect();
    LiveJob {
        gather: Gather::new(plan_job, &around.plan.grids, interval),
        governor,
        log,
        trace,
        control,
        gate,
        workers,
        first_worker,
        state: State::Waiting,
        told: Phase::Delay,
        failed: false,
        stop_asked: None,
    }
}

/// Waits until every worker is ready. All faults are collected.
fn await_setup(jobs: &mut [LiveJob], answers: &Receiver<Answer>) -> Result<(), RunError> {
    let mut faults: Vec<WorkerFault> = Vec::new();
    // The channel ends when every thread has answered or died.
    for answer in answers.iter() {
        match answer.result {
            Ok((inbox, keys)) => jobs[answer.job].gather.connect(answer.worker, inbox, keys),
            Err(why) => faults.push(WorkerFault {
                job: answer.job,
                worker: answer.worker,
                why,
            }),
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(RunError::Setup(faults))
    }
}

/// Opens the logs and traces that the jobs write, now that nothing else can keep them from starting.
fn start_logs(jobs: &mut [LiveJob], targets: &[ReadyTarget]) -> Result<(), RunError> {
    let targets: Vec<Option<Identity>> = targets.iter().map(|target| target.identity).collect();
    let mut faults: Vec<WorkerFault> = Vec::new();
    for (job, live) in jobs.iter_mut().enumerate() {
        let log = live
            .log
            .as_mut()
            .map(|log| (log.start(&targets), "operation log", log.path()));
        let trace = live
            .trace
            .as_mut()
            .map(|log| (log.start(&targets), "trace", log.path()));
        for (started, what, path) in log.into_iter().chain(trace) {
            if let Err(source) = started {
                let path = path.to_owned();
                let why = SetupError::Log { what, path, source };
                faults.push(WorkerFault { job, worker: 0, why });
            }
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(RunError::Setup(faults))
    }
}

/// Starts a job whose predecessors have ended.
fn start_if_due(
    around: &Surroundings<'_>,
    step: usize,
    jobs: &mut [LiveJob],
    index: usize,
    watcher: &mut dyn FnMut(Event),
) {
    let plan = &around.plan.steps[step].jobs[index];
    let free = plan.after.iter().all(|other| jobs[other.0 as usize].has_ended());
    if jobs[index].state != State::Waiting || !free {
        return;
    }
    let job = &mut jobs[index];
    // Simulated time stands still while a job is started.
    let simulated_start = around.simulation.start(job.worker_numbers());
    let start = if around.simulated {
        simulated_start
    } else {
        around.clock.now() + HEAD_START
    };
    job.state = State::Running;
    job.gate.open(Some(start + plan.phases.start_delay.low_ns));
    if plan.phases.start_delay.low_ns > Nanos(0) {
        let length_ns = Some(plan.phases.start_delay.low_ns);
        let (step, job) = (step as u32, index as u32);
        watcher(Event::Phase {
            step,
            job,
            name: plan.name.clone(),
            phase: Phase::Delay,
            length_ns,
        });
    }
}

/// Lets workers on simulated devices go on once every conclusion is drawn from the end of a worker:
/// until then simulated time stands still, so that all of it happens at the moment of that end.
fn resume_simulation(around: &Surroundings<'_>, jobs: &[LiveJob], resumed_at: &mut Option<usize>) {
    // The end of a job that was called off may start another.
    if jobs.iter().any(|job| job.state == State::CalledOff) {
        return;
    }
    let ended = || jobs.iter().flat_map(LiveJob::ended_worker_numbers);
    let count = ended().count();
    if *resumed_at != Some(count) {
        *resumed_at = Some(count);
        around.simulation.resume(ended());
    }
}

/// Tells those who take part in the same test when this step has begun, once it has.
fn tell_start(around: &Surroundings<'_>, step: usize, jobs: &[LiveJob]) -> bool {
    let (Some(others), Some(began)) = (
        around.wishes.others,
        jobs.iter().filter_map(|job| job.control.began()).min(),
    ) else {
        return false;
    };
    // A simulated device has a clock of its own, by which all begin at once.
    let at = if around.simulated { around.clock.now() } else { began };
    others.began(step as u32, at);
    true
}

/// Gathers what the workers of a job have sent, tells of it, and notices their end.
fn look_at(around: &Surroundings<'_>, step: usize, jobs: &mut [LiveJob], index: usize, watcher: &mut dyn FnMut(Event)) {
    let plan = &around.plan.steps[step].jobs[index];
    let (step_number, job_number) = (step as u32, index as u32);
    let job = &mut jobs[index];
    if job.state == State::Waiting || job.has_ended() {
        return;
    }
    job.gather.drain();
    let phase = job.gather.phase();
    if phase != job.told {
        job.told = phase;
        let length_ns = match phase {
            Phase::WarmUp => Some(plan.phases.warm_up_ns).filter(|length| *length > Nanos(0)),
            Phase::Measured => plan.stop.after_ns,
            Phase::CoolDown => Some(plan.phases.cool_down_ns),
            Phase::Delay | Phase::Verify | Phase::Draining => None,
        };
        let name = plan.name.clone();
        watcher(Event::Phase {
            step: step_number,
            job: job_number,
            name,
            phase,
            length_ns,
        });
    }
    job.notice_ends();
    if job.failed && plan.ends_with.workers_on_failure {
        job.stop(EndReason::Failed);
    }
    if plan.ends_with.workers && job.workers.iter().any(|worker| worker.thread.is_none()) {
        job.stop(EndReason::OtherJob);
    }
    let over = job.workers.iter().all(|worker| worker.thread.is_none());
    job.look_after_log(over);
    for mut interval in job.gather.finished_intervals(step_number, job_number, plan, over) {
        if let Some(depth) = job.control.depth() {
            let slots = plan.workers.iter().map(|worker| u64::from(worker.slots().min(depth)));
            interval.depth = slots.sum();
        }
        job.governor.consider(&interval, &job.control);
        watcher(Event::Interval(Box::new(interval)));
    }
    job.gather.release();
    if over {
        job.state = State::Ended {
            ran: job.state == State::Running,
        };
        let reason = job.reason();
        watcher(Event::JobEnded {
            step: step_number,
            job: job_number,
            reason: reason.clone(),
        });
        end_others(around, step, jobs, index);
    } else if let Some(finding) = job.give_up_on_stuck_workers() {
        watcher(Event::Notice { finding });
    }
}

/// A job that has ended takes others with it, where the plan says so.
fn end_others(around: &Surroundings<'_>, step: usize, jobs: &mut [LiveJob], index: usize) {
    let plan = &around.plan.steps[step].jobs[index].ends_with;
    let failed = jobs[index].failed;
    let on_failure = plan.on_failure.iter().filter(|_| failed);
    for other in plan.jobs.iter().chain(on_failure) {
        if *other as usize != index {
            jobs[*other as usize].stop(EndReason::OtherJob);
        }
    }
}

/// Jobs that are there for the I/O of others end when all of that is done. I/O of a later step is still to come, so they go on
/// then, as they do in fio.
fn end_with_io(around: &Surroundings<'_>, step: usize, jobs: &mut [LiveJob]) {
    let plans = &around.plan.steps[step].jobs;
    let mut later = around.plan.steps[step + 1..].iter().flat_map(|step| &step.jobs);
    let mut moving = plans
        .iter()
        .zip(jobs.iter())
        .filter(|(plan, _)| plan.moves_data())
        .peekable();
    if moving.peek().is_none() || !moving.all(|(_, job)| job.has_ended()) || later.any(Job::moves_data) {
        return;
    }
    for (plan, job) in plans.iter().zip(jobs) {
        if plan.ends_with_io && !job.has_ended() {
            job.stop(EndReason::OtherJob);
        }
    }
}

/// Waits until a worker has ended, or until it is time to look at all of them.
fn wait_for_a_change(bell: &Receiver<()>, jobs: &[LiveJob]) {
    let ended = || {
        let workers = jobs.iter().flat_map(|job| &job.workers);
        workers.filter(|worker| worker.is_finished()).count()
    };
    let before = ended();
    match bell.recv_timeout(LOOK) {
        Err(RecvTimeoutError::Timeout) => {}
        // All have rung.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(AFTERWARDS),
        Ok(()) => {
            let rung = 1 + bell.try_iter().count();
            // The bell is the last thing a thread does of its own; then the system takes a moment to end it.
            for _ in 0..20 {
                if ended() >= before + rung {
                    break;
                }
                std::thread::sleep(AFTERWARDS);
            }
        }
    }
}

/// Rings when a thread ends, by a panic too.
struct Bell(Sender<()>);

impl Drop for Bell {
    fn drop(&mut self) {
        // After the end of the step nobody listens.
        let _ = self.0.send(());
    }
}

impl LiveWorker {
    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl LiveJob {
    fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }

    /// Numbers of its workers among all of the step.
    fn worker_numbers(&self) -> std::ops::Range<usize> {
        self.first_worker..self.first_worker + self.workers.len()
    }

    /// Numbers of those whose threads have ended, or were left behind.
    fn ended_worker_numbers(&self) -> impl Iterator<Item = usize> {
        let numbers = self.worker_numbers().zip(&self.workers);
        numbers
            .filter(|(_, worker)| worker.thread.is_none())
            .map(|(number, _)| number)
    }

    fn stop(&mut self, reason: EndReason) {
        if self.stop_asked.is_none() {
            self.stop_asked = Some(Instant::now());
            self.control.stop(reason);
            if self.state == State::Waiting {
                self.gate.open(None);
                self.state = State::CalledOff;
            }
        }
    }

    /// Joins threads that have ended.
    fn notice_ends(&mut self) {
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if !worker.is_finished() {
                continue;
            }
            let Some(thread) = worker.thread.take() else { continue };
            match thread.join() {
                Ok(ended) => {
                    self.failed |= ended.failure.is_some();
                    worker.ended = Some(ended);
                }
                Err(panic) => {
                    self.failed = true;
                    worker.lost = Some(fault_of_ours(number, panic.as_ref()));
                }
            }
            self.gather.ended(number);
        }
    }

    /// A log that cannot be written on ends the job, with what is known by then. A job that is over completes its log.
    fn look_after_log(&mut self, over: bool) {
        let (log, trace) = (&mut self.log, &mut self.trace);
        if over {
            let failures = [
                log.as_mut().and_then(OperationLog::finish),
                trace.as_mut().and_then(IssueTrace::finish),
            ];
            for failure in failures.into_iter().flatten() {
                self.failed = true;
                if let Some(worker) = self.workers.first_mut() {
                    worker.lost.get_or_insert(failure);
                }
            }
        } else if log.as_ref().is_some_and(OperationLog::has_failed)
            || trace.as_ref().is_some_and(IssueTrace::has_failed)
        {
            self.stop(EndReason::Failed);
        }
    }

    /// Workers whose operations never come back would hold up the report for ever.
    fn give_up_on_stuck_workers(&mut self) -> Option<Finding> {
        let due = match (self.stop_asked, self.told) {
            (Some(since), _) => since,
            (None, Phase::Draining) => {
                self.stop_asked = Some(Instant::now());
                return None;
            }
            _ => return None,
        };
        if due.elapsed() < PATIENCE {
            return None;
        }
        let mut stuck = 0;
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if worker.thread.take().is_some() {
                let what = "its operations never came back from the system".to_owned();
                let help = Some("look at `dmesg` and at the health of the device".to_owned());
                worker.lost = Some(Failure {
                    what,
                    at: format!("worker {number}"),
                    errno: None,
                    operation: None,
                    help,
                });
                self.failed = true;
                self.gather.ended(number);
                stuck += 1;
            }
        }
        (stuck > 0).then(|| {
            let what = format!("{stuck} workers had to be left behind: their operations never came back");
            Finding::new("STUCK", Severity::Error, what)
        })
    }

    fn reason(&self) -> EndReason {
        let mut reasons = self.workers.iter().map(|worker| match (&worker.ended, &worker.lost) {
            (Some(ended), None) => ended.reason.clone(),
            _ => EndReason::Failed,
        });
        let first = reasons.next().unwrap_or(EndReason::Done);
        // A failure says more than how the others ended.
        reasons.fold(
            first,
            |kept, reason| if reason == EndReason::Failed { reason } else { kept },
        )
    }

    /// What is known before the end.
    fn so_far(&self, plan: &Job) -> JobResults {
        let (totals, series) = self.gather.so_far(plan);
        let workers = totals.into_iter().zip(&self.workers).enumerate();
        let workers = workers.map(|(number, ((totals, start, end), worker))| {
            let mut results = worker_results(number as u32, &worker.ended, worker.lost.clone(), totals);
            if worker.ended.is_none() {
                (results.started_ns, results.measured_ns) = (start, end.since(start));
                results.slots = plan.workers[number].slots();
                if results.depth.classes.is_empty() {
                    results.count_one_at_a_time();
                }
            }
            results
        });
        JobResults {
            name: plan.name.clone(),
            workers: workers.collect(),
            series,
            control: self.governor.outcomes(),
            ..JobResults::default()
        }
    }

    fn into_results(mut self, plan: &Job) -> JobResults {
        let reason = self.reason();
        let ran = self.state == State::Ended { ran: true };
        let windows = self.gather.take_windows();
        let totals = self.gather.take_totals(plan);
        let mut results = JobResults {
            name: plan.name.clone(),
            lost_intervals: self.gather.lost(),
            log_waits: self.log.as_ref().map_or(0, OperationLog::waits)
                + self.trace.as_ref().map_or(0, IssueTrace::waits),
            ended: ran.then_some(reason),
            control: self.governor.outcomes(),
            windows,
            ..JobResults::default()
        };
        for (number, (worker, totals)) in self.workers.into_iter().zip(totals).enumerate() {
            results
                .workers
                .push(worker_results(number as u32, &worker.ended, worker.lost, totals));
        }
        let measured = results.measured();
        results.series = self.gather.take_series(plan, measured);
        results.histograms = self.gather.take_histograms();
        results.seconds = self.gather.take_seconds();
        results
    }
}

fn worker_results(
    number: u32,
    ended: &Option<Ended>,
    lost: Option<Failure>,
    totals: crate::gather::WorkerTotals,
) -> WorkerResults {
    let mut results = WorkerResults {
        worker: number,
        streams: totals.streams,
        depth: totals.depth,
        submitted: totals.submitted,
        completed: totals.completed,
        waits: totals.waits,
        usage: totals.usage,
        failure: lost,
        ..WorkerResults::default()
    };
    let Some(ended) = ended else { return results };
    results.engine = ended.engine.clone();
    results.started_ns = ended.measured_start;
    // Reading back between rounds is no part of what was measured of the writes.
    results.measured_ns = ended.measured_end.since(ended.measured_start + ended.verified_between);
    results.verified_ns = ended.verified;
    results.block_lifetimes = ended.lifetimes.clone();
    results.not_kept = ended.not_kept.clone();
    (results.mismatches, results.mismatch_count) = (ended.mismatches.clone(), ended.mismatch_count);
    results.active_ns = ended.active;
    results.slots = ended.slots;
    results.usage = ended.usage;
    results.map_bytes = Bytes(ended.map_bytes);
    results.failure = ended.failure.clone().or(results.failure);
    results.tolerated = ended.tolerated.clone();
    results.joined_rows = ended.joined_rows;
    results.trace_waits = ended.trace_waits;
    for (stream, direction, count) in &ended.late {
        if let Some(direction) = &mut results.streams[*stream as usize].directions[*direction] {
            direction.late += count;
        }
    }
    // One operation at a time is not worth counting while I/O runs.
    if results.depth.classes.is_empty() {
        results.count_one_at_a_time();
    }
    results
}

fn fault_of_ours(worker: usize, panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    Failure {
        what: format!("a fault of this program: {}", text.unwrap_or("unknown")),
        at: format!("worker {worker}"),
        errno: None,
        operation: None,
        help: Some("please report it with the plan that led to it".into()),
    }
}

impl Watch {
    fn new(devices: &[(String, Vec<u32>)]) -> Watch {
        Watch {
            devices: devices.to_vec(),
            devices_before: DeviceTimes::read(),
            measured_before: None,
            measured: None,
            sampler: None,
        }
    }

    /// Reads counters when all jobs have begun to measure and when the first has ended.
    fn look(&mut self, jobs: &[LiveJob], clock: Clock) {
        if self.measured.is_some() {
            return;
        }
        match &self.measured_before {
            None => {
                if jobs.iter().all(|job| job.gather.phase() >= Phase::Measured) {
                    self.measured_before = Some(Reading {
                        at: clock.now(),
                        devices: DeviceTimes::read(),
                        cores: CoreTimes::read(),
                        volumes: self.volumes(),
                    });
                    let device = self.devices.first().map(|(name, _)| name.clone());
                    self.sampler = Some(Sampler::start(device, clock));
                }
            }
            Some(_) if jobs.iter().any(|job| job.gather.someone_has_measured()) => self.close(clock),
            Some(_) => self.sampler.iter_mut().for_each(|sampler| sampler.poll(clock)),
        }
    }

    /// Reads counters at the end of that time; also where the coordinator was kept from looking until all was over.
    fn close(&mut self, clock: Clock) {
        let Some(before) = self.measured_before.take().filter(|_| self.measured.is_none()) else {
            return;
        };
        let length = clock.now().since(before.at);
        let devices = use_of(&self.devices, &before.devices, &DeviceTimes::read());
        let cores = CoreTimes::read().since(&before.cores).into_iter();
        let cores = cores.map(|core| HostCoreUse { host: 0, core }).collect();
        let volumes = self.volumes_since(&before.volumes);
        let samples = self
            .sampler
            .take()
            .map(|sampler| sampler.finish(clock))
            .unwrap_or_default();
        self.measured = Some(Measured {
            length,
            devices,
            cores,
            volumes,
            samples,
        });
    }

    fn volumes(&self) -> Vec<(String, VolumeCounters)> {
        let names = self.devices.iter().map(|(name, _)| name);
        let read = |name: &String| Some((name.clone(), VolumeCounters::read(&System::live(), name)?));
        names.filter_map(read).collect()
    }

    fn volumes_since(&self, before: &[(String, VolumeCounters)]) -> Vec<HostVolumeUse> {
        let since = |(name, before): &(String, VolumeCounters)| {
            let mut volume = VolumeCounters::read(&System::live(), name)?.since(before, name)?;
            let device = self.devices.iter().find(|(device, _)| device == name);
            volume.targets = device.map(|(_, targets)| targets.clone()).unwrap_or_default();
            Some(HostVolumeUse { host: 0, volume })
        };
        before.iter().filter_map(since).collect()
    }

    fn since_start(&self) -> Vec<HostDeviceUse> {
        use_of(&self.devices, &self.devices_before, &DeviceTimes::read())
    }
}

fn use_of(devices: &[(String, Vec<u32>)], before: &DeviceTimes, after: &DeviceTimes) -> Vec<HostDeviceUse> {
    let one = |(name, targets): &(String, Vec<u32>)| {
        let mut counters = after.since(before, name)?;
        counters.targets = targets.clone();
        Some(HostDeviceUse { host: 0, counters })
    };
    devices.iter().filter_map(one).collect()
}
