//! A process that runs the part of a test that a coordinator sends.

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
use super::message::{Introduction, Order, PROTOCOL, ToAgent, ToCoordinator, pack, unpack};
use super::{
    HEARTBEAT_INTERVAL, Journal, JournalEntry, LocalHost, POLL_INTERVAL, SILENCE_TIMEOUT, no_thread,
    partial_results_interval,
};
use crate::context::{RunContext, RunHooks};
use crate::error::RunError;
use crate::pipeline::execute;
use crate::results::nothing_measured;
use crate::targets::{Cleanup, SharedFiles};

/// The process that leads may be silent for so long while it puts together what has come of all.
const MERGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Carries out what comes, until there is nothing more to do.
///
/// # Errors
/// A sentence, if the process that leads is gone or says what cannot be understood.
pub fn run_agent(comm: &dyn Comm, place: &LocalHost<'_>, journal: &dyn Journal) -> Result<(), String> {
    let send = |message: &ToCoordinator| comm.send(0, &pack(message));
    send(&ToCoordinator::Hello(Box::new(Introduction {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        host: place.host.clone(),
        cpus: engine::sys::thread::usable_cpus(),
        widened_from: place.widened_from,
        announced: place.announced,
    })));
    let mut last_heartbeat = Instant::now();
    // Dropped when there is nothing more to do.
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
                ToAgent::Clock { number } => answer(comm, number, &place.clock),
                ToAgent::CarryOut(order) => {
                    if order.holds_files {
                        shared_files.get_or_insert_with(SharedFiles::default);
                    }
                    execute_order(comm, place, journal, *order, &mut shared_files)?;
                    last_heartbeat = Instant::now();
                }
                ToAgent::Leave => return Ok(()),
                // What comes late of a run that has ended.
                ToAgent::Stop | ToAgent::Begin { .. } | ToAgent::GoOn | ToAgent::Arrived | ToAgent::Alive => {}
            },
        }
    }
}

/// Tells the coordinator why nothing more is taken from it, in case it is still there. The sentence
/// for this host.
fn report_loss(comm: &dyn Comm, why: String) -> String {
    let lost = format!("the process that leads is gone: {why}");
    comm.send(0, &pack(&ToCoordinator::Failed { why }));
    lost
}

fn answer(comm: &dyn Comm, number: u32, clock: &Clock) {
    let at_ns = clock.now().0;
    comm.send(0, &pack(&ToCoordinator::Clock { number, at_ns }));
}

/// What the thread that listens and the one that runs the test share.
struct Shared {
    /// Asks the run to stop.
    stop: AtomicBool,
    /// Asks the run for what it has measured so far.
    wanted: AtomicBool,
    /// The run has ended.
    over: AtomicBool,
    /// What was measured has arrived.
    arrived: AtomicBool,
    gate: Gate,
    /// What goes once all have ended.
    removals: Mutex<Vec<Cleanup>>,
}

fn execute_order(
    comm: &dyn Comm,
    place: &LocalHost<'_>,
    journal: &dyn Journal,
    order: Order,
    shared_files: &mut Option<SharedFiles>,
) -> Result<(), String> {
    let shared = Shared {
        stop: AtomicBool::new(false),
        wanted: AtomicBool::new(false),
        over: AtomicBool::new(false),
        arrived: AtomicBool::new(false),
        gate: Gate::default(),
        removals: Mutex::default(),
    };
    let (begin, begins) = channel();
    thread::scope(|scope| {
        let listening = || listen(comm, place, &shared, begin);
        let ear = thread::Builder::new()
            .name("listen".into())
            .spawn_scoped(scope, listening);
        let ear = ear.map_err(no_thread)?;
        work(comm, place, journal, &order, &shared, &begins, shared_files);
        shared.over.store(true, Ordering::Release);
        ear.join()
            .unwrap_or_else(|_| Err("the thread that listens has failed".into()))
    })?;
    // What was kept for the case that this never arrives is no longer needed once it has. Others
    // may take longer with their parts.
    let mut heard = Instant::now();
    while heard.elapsed() < MERGE_TIMEOUT {
        if shared.arrived.load(Ordering::Acquire) {
            journal.forget(order.run.as_str(), order.rank.number);
            return Ok(());
        }
        let incoming = comm.receive(POLL_INTERVAL);
        if incoming.is_some() {
            heard = Instant::now();
        }
        match incoming {
            Some(Incoming::Message { bytes, .. }) => match unpack::<ToAgent>(&bytes)? {
                ToAgent::Arrived => shared.arrived.store(true, Ordering::Release),
                ToAgent::Clock { number } => answer(comm, number, &place.clock),
                ToAgent::Leave => return Err("the process that leads has left before all results had arrived".into()),
                ToAgent::Stop | ToAgent::Begin { .. } | ToAgent::GoOn | ToAgent::CarryOut(_) | ToAgent::Alive => {}
            },
            Some(Incoming::Lost { why, .. }) => return Err(report_loss(comm, why)),
            None => comm.send(0, &pack(&ToCoordinator::Alive)),
        }
    }
    Err("the coordinator has not confirmed the results".into())
}

/// Hears what is said during the run, and gives signs of life.
fn listen(comm: &dyn Comm, place: &LocalHost<'_>, shared: &Shared, begin: Sender<StartSignal>) -> Result<(), String> {
    let begun = Instant::now();
    let (mut last_heartbeat, mut asked, mut heard) = (begun, begun, begun);
    while !shared.over.load(Ordering::Acquire) {
        if place.interrupt.load(Ordering::Relaxed) {
            shared.stop.store(true, Ordering::Release);
        }
        if last_heartbeat.elapsed() >= HEARTBEAT_INTERVAL {
            comm.send(0, &pack(&ToCoordinator::Alive));
            last_heartbeat = Instant::now();
        }
        if asked.elapsed() >= partial_results_interval(begun.elapsed()) {
            shared.wanted.store(true, Ordering::Release);
            asked = Instant::now();
        }
        let incoming = comm.receive(POLL_INTERVAL);
        if incoming.is_some() {
            heard = Instant::now();
        }
        match incoming {
            None if heard.elapsed() > SILENCE_TIMEOUT => {
                // Without a coordinator the results have no reader, and the run no end.
                shared.stop.store(true, Ordering::Release);
                comm.give_up(0);
                let silence = SILENCE_TIMEOUT.as_secs();
                return Err(format!("nothing was heard of the process that leads for {silence} s"));
            }
            None => {}
            Some(Incoming::Lost { why, .. }) => {
                let lost = report_loss(comm, why);
                // What is measured from here on is for the journal.
                shared.stop.store(true, Ordering::Release);
                return Err(lost);
            }
            Some(Incoming::Message { bytes, .. }) => match unpack::<ToAgent>(&bytes) {
                Ok(ToAgent::Clock { number }) => answer(comm, number, &place.clock),
                Ok(ToAgent::Begin {
                    step,
                    at_ns,
                    called_off,
                }) => drop(begin.send(StartSignal {
                    step,
                    at_ns,
                    called_off,
                })),
                Ok(ToAgent::GoOn) => shared.gate.open(),
                Ok(ToAgent::Stop | ToAgent::Leave) => shared.stop.store(true, Ordering::Release),
                Ok(ToAgent::Arrived) => {
                    // The next message is for who waits for the next run.
                    shared.arrived.store(true, Ordering::Release);
                    return Ok(());
                }
                Ok(ToAgent::CarryOut(_) | ToAgent::Alive) => {}
                Err(why) => {
                    shared.stop.store(true, Ordering::Release);
                    return Err(why);
                }
            },
        }
    }
    Ok(())
}

/// Carries the plan out and tells what happens.
fn work(
    comm: &dyn Comm,
    place: &LocalHost<'_>,
    journal: &dyn Journal,
    order: &Order,
    shared: &Shared,
    begins: &Receiver<StartSignal>,
    shared_files: &mut Option<SharedFiles>,
) {
    let send = |message: &ToCoordinator| comm.send(0, &pack(message));
    let permissions = order.permissions(place.programs);
    let called_off = Mutex::new(Vec::new());
    let keeper = Mutex::new(JournalWriter::new(order, &place.clock, journal));
    let keeper = || keeper.lock().unwrap_or_else(PoisonError::into_inner);
    let others = FleetPeers {
        gate: &shared.gate,
        stop: &shared.stop,
        removals: &shared.removals,
        send: &|arrival| send(&ToCoordinator::Arrival(arrival)),
        starts: &|step, at| {
            keeper().began(step, at);
            send(&ToCoordinator::Began { step, at_ns: at.0 });
        },
    };
    let context = RunContext::new(place.clock, &shared.stop, &permissions).with_hooks(RunHooks {
        snapshots: Some(&shared.wanted),
        cancelled: Some(&called_off),
        others: Some(&others),
    });
    let plan = order.share.plan.clone();
    let done = execute_with_shared_files(shared_files, plan, context, &mut |event| match event {
        Event::Ready { step, .. } => {
            send(&ToCoordinator::Ready { step });
            if let Some(begin) = await_begin(begins, step, shared, &place.clock) {
                keeper().agreed(step, Nanos(begin.at_ns));
                let not = order.own_jobs(step, &begin.called_off);
                called_off.lock().unwrap_or_else(PoisonError::into_inner).extend(not);
            }
        }
        Event::Snapshot { step, results, .. } => {
            keeper().keep(step, &results);
            send(&ToCoordinator::SoFar { step, results });
        }
        event => send(&ToCoordinator::Event(Box::new(event))),
    });
    match done {
        Ok(results) => {
            let at_ns = place.clock.now().0;
            keeper().keep_all(&results);
            let results = Box::new(results);
            send(&ToCoordinator::Done { results, at_ns });
        }
        Err(error) => send(&ToCoordinator::Failed { why: error.to_string() }),
    }
}

/// Carries a part out; files that it makes in directories stay for the runs that follow, if it
/// shares files.
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

/// That a step may begin.
struct StartSignal {
    step: u32,
    at_ns: u64,
    called_off: Vec<u32>,
}

/// Waits until a step may begin, and then until it is time. `None` if there is none to wait for.
fn await_begin(begins: &Receiver<StartSignal>, step: u32, shared: &Shared, clock: &Clock) -> Option<StartSignal> {
    loop {
        if shared.stop.load(Ordering::Acquire) {
            return None;
        }
        match begins.recv_timeout(POLL_INTERVAL) {
            Ok(begin) if begin.step == step => {
                sleep_until(clock, Nanos(begin.at_ns), &shared.stop);
                return Some(begin);
            }
            // Of a step before.
            Ok(_) | Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Sleeps until shortly before a moment, and spins for the rest, or returns when it is asked to
/// stop.
pub(super) fn sleep_until(clock: &Clock, at: Nanos, stop: &AtomicBool) {
    const SPUN: Nanos = Nanos::micros(200);
    loop {
        let left = at.since(clock.now());
        if left.0 == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        if left > SPUN {
            thread::sleep(Duration::from_nanos((left - SPUN).0).min(POLL_INTERVAL));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Writes down what was measured as it comes, so that it is not lost with the process that leads.
pub(super) struct JournalWriter<'a> {
    journal: &'a dyn Journal,
    kept: JournalEntry,
    /// When each step was to begin, by the clock of this process.
    agreed: Vec<Option<Nanos>>,
}

impl<'a> JournalWriter<'a> {
    pub(super) fn new(order: &Order, clock: &Clock, journal: &'a dyn Journal) -> JournalWriter<'a> {
        let mut results = nothing_measured(order.share.plan.clone(), clock);
        // It is what there is of a run that was cut short, until more is known.
        results.interrupted = true;
        JournalWriter {
            journal,
            kept: JournalEntry {
                run: order.run.as_str().to_owned(),
                rank: order.rank.clone(),
                common: order.common.clone(),
                jobs: order.share.jobs.clone(),
                starts_ns: Vec::new(),
                clock_ahead_ns: order.clock_ahead_ns,
                round_trip_ns: order.round_trip_ns,
                results,
            },
            agreed: Vec::new(),
        }
    }

    /// A step is to begin at this time of our clock.
    pub(super) fn agreed(&mut self, step: u32, at: Nanos) {
        self.agreed.resize(self.agreed.len().max(step as usize + 1), None);
        self.agreed[step as usize] = Some(at);
    }

    /// It has begun.
    pub(super) fn began(&mut self, step: u32, at: Nanos) {
        if let Some(Some(agreed)) = self.agreed.get(step as usize) {
            self.kept.starts_ns.push(at.0.wrapping_sub(agreed.0) as i64);
        }
    }

    pub(super) fn keep(&mut self, step: u32, results: &StepResults) {
        if let Some(mine) = self.kept.results.steps.get_mut(step as usize) {
            *mine = results.clone().cut_short();
            self.journal.keep(&self.kept);
        }
    }

    pub(super) fn keep_all(&mut self, results: &Results) {
        self.kept.results.clone_from(results);
        self.journal.keep(&self.kept);
    }
}
