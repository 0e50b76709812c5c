//! The agent: a process that executes the share of a test that a coordinator sends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use engine::Clock;
use model::Nanos;
use model::event::Event;
use model::plan::Plan;
use model::results::{Results, StepResults};

use super::barrier::{FleetPeers, Gate};
use super::comm::{Comm, Incoming};
use super::message::{ExecuteRequest, Introduction, PROTOCOL, ToAgent, ToCoordinator, pack, unpack};
use super::{
    HEARTBEAT_INTERVAL, Journal, JournalEntry, LocalHost, POLL_INTERVAL, SILENCE_TIMEOUT, partial_results_interval,
    thread_error,
};
use crate::context::{RunContext, RunHooks};
use crate::error::RunError;
use crate::pipeline::execute;
use crate::results::nothing_measured;
use crate::targets::{Cleanup, SharedFiles};

/// How long the coordinator may be silent while it merges the results.
pub(super) const CONFIRM_TIMEOUT: Duration = Duration::from_secs(60);

/// Executes requests until the coordinator disconnects.
///
/// # Errors
/// A sentence, if the coordinator is lost or sends an invalid message.
pub fn run_agent(comm: &dyn Comm, local: &LocalHost<'_>, journal: &dyn Journal) -> Result<(), String> {
    let send = |message: &ToCoordinator| comm.send(0, &pack(message));
    send(&ToCoordinator::Hello(Box::new(Introduction {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        host: local.host.clone(),
        cpus: engine::sys::thread::usable_cpus(),
        widened_from: local.launcher_cpu_count,
        announced: local.assigned_rank,
    })));
    let mut last_heartbeat = Instant::now();
    // Dropping it, when the coordinator disconnects, removes the files.
    let mut shared_files = None;
    loop {
        if last_heartbeat.elapsed() >= HEARTBEAT_INTERVAL {
            send(&ToCoordinator::Alive);
            last_heartbeat = Instant::now();
        }
        match comm.receive(POLL_INTERVAL) {
            None => {}
            Some(Incoming::Lost { why, .. }) => return Err(report_loss(comm, why)),
            Some(Incoming::Message { bytes, .. }) => match unpack::<ToAgent>(&bytes)? {
                ToAgent::Clock { number } => send_clock(comm, number, &local.clock),
                ToAgent::Execute(request) => {
                    if request.shares_files {
                        shared_files.get_or_insert_with(SharedFiles::default);
                    }
                    execute_request(comm, local, journal, *request, &mut shared_files)?;
                    last_heartbeat = Instant::now();
                }
                ToAgent::Leave => return Ok(()),
                // Late messages of a finished run.
                ToAgent::Stop
                | ToAgent::Begin { .. }
                | ToAgent::Continue
                | ToAgent::ResultsReceived
                | ToAgent::Alive => {}
            },
        }
    }
}

/// Tells the coordinator, if it is still connected, why this agent stops reading. Returns the error
/// for this host.
fn report_loss(comm: &dyn Comm, why: String) -> String {
    let lost = format!("lost the coordinator: {why}");
    comm.send(0, &pack(&ToCoordinator::Failed { why }));
    lost
}

fn send_clock(comm: &dyn Comm, number: u32, clock: &Clock) {
    let at_ns = clock.now().0;
    comm.send(0, &pack(&ToCoordinator::Clock { number, at_ns }));
}

/// State shared by the listener thread and the test's thread.
#[derive(Default)]
struct Shared {
    /// Asks the run to stop.
    stop: AtomicBool,
    /// Requests partial results of the run.
    snapshot_requested: AtomicBool,
    /// The run has ended.
    has_ended: AtomicBool,
    /// The coordinator has received the results.
    results_confirmed: AtomicBool,
    gate: Gate,
    /// Files to remove once all ranks have finished.
    cleanups: Mutex<Vec<Cleanup>>,
}

fn execute_request(
    comm: &dyn Comm,
    local: &LocalHost<'_>,
    journal: &dyn Journal,
    request: ExecuteRequest,
    shared_files: &mut Option<SharedFiles>,
) -> Result<(), String> {
    let shared = Shared::default();
    let (begin_tx, begin_rx) = channel();
    thread::scope(|scope| {
        let listening = || listen(comm, local, &shared, begin_tx);
        let listener = thread::Builder::new()
            .name("listen".into())
            .spawn_scoped(scope, listening);
        let listener = listener.map_err(thread_error)?;
        run_share(comm, local, journal, &request, &shared, &begin_rx, shared_files);
        shared.has_ended.store(true, Ordering::Release);
        listener
            .join()
            .unwrap_or_else(|_| Err("the listener thread has failed".into()))
    })?;
    // Keep the journal until the coordinator confirms that it has the results. Other ranks may take
    // longer.
    let mut last_message = Instant::now();
    while last_message.elapsed() < CONFIRM_TIMEOUT {
        if shared.results_confirmed.load(Ordering::Acquire) {
            journal.remove(request.run.as_str(), request.rank.number);
            return Ok(());
        }
        let incoming = comm.receive(POLL_INTERVAL);
        if incoming.is_some() {
            last_message = Instant::now();
        }
        match incoming {
            Some(Incoming::Message { bytes, .. }) => match unpack::<ToAgent>(&bytes)? {
                ToAgent::ResultsReceived => shared.results_confirmed.store(true, Ordering::Release),
                ToAgent::Clock { number } => send_clock(comm, number, &local.clock),
                ToAgent::Leave => {
                    return Err("the coordinator disconnected before it had all results".into());
                }
                ToAgent::Stop | ToAgent::Begin { .. } | ToAgent::Continue | ToAgent::Execute(_) | ToAgent::Alive => {}
            },
            Some(Incoming::Lost { why, .. }) => return Err(report_loss(comm, why)),
            None => comm.send(0, &pack(&ToCoordinator::Alive)),
        }
    }
    Err("the coordinator has not confirmed the results".into())
}

/// Receives messages during the run and sends heartbeats.
fn listen(
    comm: &dyn Comm,
    local: &LocalHost<'_>,
    shared: &Shared,
    begin_tx: Sender<StartSignal>,
) -> Result<(), String> {
    let start = Instant::now();
    let (mut last_heartbeat, mut last_snapshot, mut last_message) = (start, start, start);
    while !shared.has_ended.load(Ordering::Acquire) {
        if local.interrupt.load(Ordering::Relaxed) {
            shared.stop.store(true, Ordering::Release);
        }
        if last_heartbeat.elapsed() >= HEARTBEAT_INTERVAL {
            comm.send(0, &pack(&ToCoordinator::Alive));
            last_heartbeat = Instant::now();
        }
        if last_snapshot.elapsed() >= partial_results_interval(start.elapsed()) {
            shared.snapshot_requested.store(true, Ordering::Release);
            last_snapshot = Instant::now();
        }
        let incoming = comm.receive(POLL_INTERVAL);
        if incoming.is_some() {
            last_message = Instant::now();
        }
        match incoming {
            None if last_message.elapsed() > SILENCE_TIMEOUT => {
                // Without a coordinator, no process reads the results or ends the run.
                shared.stop.store(true, Ordering::Release);
                comm.mark_lost(0);
                let silence = SILENCE_TIMEOUT.as_secs();
                return Err(format!("the coordinator sent nothing for {silence} s"));
            }
            None => {}
            Some(Incoming::Lost { why, .. }) => {
                let lost = report_loss(comm, why);
                // From now on, results go only to the journal.
                shared.stop.store(true, Ordering::Release);
                return Err(lost);
            }
            Some(Incoming::Message { bytes, .. }) => match unpack::<ToAgent>(&bytes) {
                Ok(ToAgent::Clock { number }) => send_clock(comm, number, &local.clock),
                Ok(ToAgent::Begin {
                    step,
                    at_ns,
                    cancelled_jobs,
                }) => drop(begin_tx.send(StartSignal {
                    step,
                    at_ns,
                    cancelled_jobs,
                })),
                Ok(ToAgent::Continue) => shared.gate.open(),
                Ok(ToAgent::Stop | ToAgent::Leave) => shared.stop.store(true, Ordering::Release),
                Ok(ToAgent::ResultsReceived) => {
                    // The next message is for the main loop.
                    shared.results_confirmed.store(true, Ordering::Release);
                    return Ok(());
                }
                Ok(ToAgent::Execute(_) | ToAgent::Alive) => {}
                Err(why) => {
                    shared.stop.store(true, Ordering::Release);
                    return Err(why);
                }
            },
        }
    }
    Ok(())
}

/// Executes the plan and sends events and results.
fn run_share(
    comm: &dyn Comm,
    local: &LocalHost<'_>,
    journal: &dyn Journal,
    request: &ExecuteRequest,
    shared: &Shared,
    begin_rx: &Receiver<StartSignal>,
    shared_files: &mut Option<SharedFiles>,
) {
    let send = |message: &ToCoordinator| comm.send(0, &pack(message));
    if request.share.is_idle() {
        return send(&ToCoordinator::Done {
            results: Box::new(nothing_measured(request.share.plan.clone(), &local.clock)),
            at_ns: local.clock.now().0,
        });
    }
    let permissions = request.permissions(&local.permissions);
    let cancelled_jobs = Mutex::new(Vec::new());
    let journal = Mutex::new(JournalWriter::new(request, &local.clock, journal));
    let journal = || journal.lock().unwrap_or_else(PoisonError::into_inner);
    let peers = FleetPeers {
        run_id: request.run.as_str(),
        gate: &shared.gate,
        stop: &shared.stop,
        cleanups: &shared.cleanups,
        send: &|arrival| send(&ToCoordinator::Arrival(arrival)),
        on_begin: &|step, at| {
            journal().record_began(step, at);
            send(&ToCoordinator::Began { step, at_ns: at.0 });
        },
    };
    let context = RunContext::new(local.clock, &shared.stop, &permissions).with_hooks(RunHooks {
        finished: None,
        snapshots: Some(&shared.snapshot_requested),
        cancelled: Some(&cancelled_jobs),
        others: Some(&peers),
    });
    let plan = request.share.plan.clone();
    let outcome = execute_with_shared_files(shared_files, plan, context, &mut |event| match event {
        Event::Ready { step, .. } => {
            send(&ToCoordinator::Ready { step });
            if let Some(begin) = await_begin(begin_rx, step, shared, &local.clock) {
                journal().record_agreed(step, Nanos(begin.at_ns));
                let cancelled = request.to_own_jobs(step, &begin.cancelled_jobs);
                cancelled_jobs
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(cancelled);
            }
        }
        Event::Snapshot { step, results, .. } => {
            journal().write_step(step, &results);
            send(&ToCoordinator::PartialResults { step, results });
        }
        event => send(&ToCoordinator::Event(Box::new(event))),
    });
    match outcome {
        Ok(results) => {
            let at_ns = local.clock.now().0;
            journal().write_final(&results);
            let results = Box::new(results);
            send(&ToCoordinator::Done { results, at_ns });
        }
        Err(error) => send(&ToCoordinator::Failed { why: error.to_string() }),
    }
}

/// Executes a share. Files that it creates in directories serve later runs if `shared_files` is
/// present.
pub(super) fn execute_with_shared_files(
    shared_files: &mut Option<SharedFiles>,
    mut plan: Plan,
    context: RunContext<'_>,
    watcher: &mut dyn FnMut(Event),
) -> Result<Results, RunError> {
    let Some(shared_files) = shared_files else {
        return execute(plan, context, watcher);
    };
    shared_files.assign_paths(&mut plan).map_err(RunError::Targets)?;
    execute(plan, context, &mut |event| {
        shared_files.adopt_created(&event);
        watcher(event);
    })
}

/// The permission to begin a step.
struct StartSignal {
    step: u32,
    at_ns: u64,
    cancelled_jobs: Vec<u32>,
}

/// Waits for the start signal of a step, and then until its start time. `None` if the run must
/// stop.
fn await_begin(begin_rx: &Receiver<StartSignal>, step: u32, shared: &Shared, clock: &Clock) -> Option<StartSignal> {
    loop {
        if shared.stop.load(Ordering::Acquire) {
            return None;
        }
        match begin_rx.recv_timeout(POLL_INTERVAL) {
            Ok(begin) if begin.step == step => {
                sleep_until(clock, Nanos(begin.at_ns), &shared.stop);
                return Some(begin);
            }
            // This signal belongs to an earlier step.
            Ok(_) | Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Sleeps until shortly before `at` and spins the rest. Returns early if `stop` is set.
pub(super) fn sleep_until(clock: &Clock, at: Nanos, stop: &AtomicBool) {
    const SPIN_TIME: Nanos = Nanos::micros(200);
    loop {
        let time_left = at.since(clock.now());
        if time_left.0 == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        if time_left > SPIN_TIME {
            thread::sleep(Duration::from_nanos((time_left - SPIN_TIME).0).min(POLL_INTERVAL));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Writes partial results to the journal, so that they survive the loss of the coordinator.
pub(super) struct JournalWriter<'a> {
    journal: &'a dyn Journal,
    entry: JournalEntry,
    /// Agreed start of each step, by the clock of this process.
    agreed: Vec<Option<Nanos>>,
}

impl<'a> JournalWriter<'a> {
    pub(super) fn new(request: &ExecuteRequest, clock: &Clock, journal: &'a dyn Journal) -> JournalWriter<'a> {
        let mut results = nothing_measured(request.share.plan.clone(), clock);
        // Until the final results are written, the entry counts as an interrupted run.
        results.interrupted = true;
        JournalWriter {
            journal,
            entry: JournalEntry {
                run: request.run.as_str().to_owned(),
                rank: request.rank.clone(),
                common: request.common.clone(),
                jobs: request.share.jobs.clone(),
                starts_ns: Vec::new(),
                clock_ahead_ns: request.clock_ahead_ns,
                round_trip_ns: request.round_trip_ns,
                results,
            },
            agreed: Vec::new(),
        }
    }

    /// Records the agreed start of a step, by our clock.
    pub(super) fn record_agreed(&mut self, step: u32, at: Nanos) {
        self.agreed.resize(self.agreed.len().max(step as usize + 1), None);
        self.agreed[step as usize] = Some(at);
    }

    /// Records the actual start of a step.
    pub(super) fn record_began(&mut self, step: u32, at: Nanos) {
        if let Some(Some(agreed)) = self.agreed.get(step as usize) {
            self.entry.starts_ns.push(at.0.wrapping_sub(agreed.0) as i64);
        }
    }

    pub(super) fn write_step(&mut self, step: u32, results: &StepResults) {
        if let Some(mine) = self.entry.results.steps.get_mut(step as usize) {
            *mine = results.clone().into_interrupted();
            self.journal.write(&self.entry);
        }
    }

    pub(super) fn write_final(&mut self, results: &Results) {
        self.entry.results.clone_from(results);
        self.journal.write(&self.entry);
    }
}
