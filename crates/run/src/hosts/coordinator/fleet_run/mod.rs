//! One run of a fleet, from the orders to the results.

mod merge;
mod publish;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use model::event::Event;
use model::fleet::{Share, shifts};
use model::plan::Plan;
use model::results::{Results, StepResults};

use super::super::agent::{JournalWriter, execute_with_shared_files, sleep_until};
use super::super::barrier::{AgentProgress, Barrier, FleetPeers, Gate};
use super::super::comm::{Comm, Incoming};
use super::super::message::{ExecuteRequest, ToAgent, ToCoordinator, unpack};
use super::super::{
    HEARTBEAT_INTERVAL, Journal, POLL_INTERVAL, SILENCE_TIMEOUT, partial_results_interval, thread_error,
};
use super::Coordinator;
use crate::context::{RunContext, RunHooks};
use crate::error::{HostError, RunError};
use crate::results::nothing_measured;
use crate::targets::{Cleanup, SharedFiles};
use publish::Publisher;

/// Minimum time between the agreement on a start time and the start. A message takes less.
const START_MARGIN: Nanos = Nanos::millis(20);
/// A rank that sends nothing for this long is late, because heartbeats come every second.
const LATE_TIMEOUT: Duration = Duration::from_millis(2500);
/// How long a rank may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(45);
/// Upper limit of the events that wait to be published.
const MAX_PENDING_EVENTS: usize = 100_000;

/// How a rank ended.
#[derive(Debug)]
pub(super) enum AgentEnd {
    /// It has sent its results.
    Done { results: Box<Results>, at_ns: u64 },
    /// It measured nothing.
    Failed(String),
}

/// State of a rank.
#[derive(Debug)]
pub(super) struct AgentState {
    ready: Option<u32>,
    began: Vec<Option<u64>>,
    partial_results: Vec<Option<StepResults>>,
    pub(super) end: Option<AgentEnd>,
    pub(super) lost: Option<String>,
    last_message: Instant,
}

impl AgentState {
    /// It has not ended and was not lost.
    fn is_active(&self) -> bool {
        self.lost.is_none() && self.end.is_none()
    }
}

#[derive(Debug)]
pub(super) struct FleetState {
    pub(super) ranks: Vec<AgentState>,
    /// Events of other ranks that are not published yet.
    events: VecDeque<(u32, Event)>,
    /// The agreed start of each step, by our clock.
    agreed: Vec<Option<Nanos>>,
    barrier: Barrier,
    stop_sent: Option<Instant>,
}

impl FleetState {
    /// Ranks that have not ended and were not lost.
    fn remaining_ranks(&self) -> Vec<u32> {
        let ranks = 0..self.ranks.len() as u32;
        ranks.filter(|rank| self.ranks[*rank as usize].is_active()).collect()
    }
}

/// One run of a fleet.
pub(super) struct FleetRun<'a> {
    coordinator: &'a Coordinator,
    shares: &'a [Share],
    /// Index of each rank's first target in the plan of the fleet.
    shifts: Vec<u32>,
    context: RunContext<'a>,
    pub(super) state: Mutex<FleetState>,
    changed: Condvar,
    /// Stops our own share.
    stop: AtomicBool,
    /// Requests partial results of our own share.
    snapshot_requested: AtomicBool,
    has_ended: AtomicBool,
    /// Blocks our own share while it prepares its targets.
    gate: Gate,
    /// Our files to remove once all ranks have finished.
    cleanups: Mutex<Vec<Cleanup>>,
}

impl<'a> FleetRun<'a> {
    pub(super) fn new(coordinator: &'a Coordinator, shares: &'a [Share], context: RunContext<'a>) -> FleetRun<'a> {
        let steps = shares.first().map_or(0, |share| share.plan.steps.len());
        let rank = |rank: u32| AgentState {
            ready: None,
            began: vec![None; steps],
            partial_results: vec![None; steps],
            end: None,
            lost: coordinator.peer(rank).lost_reason.clone(),
            last_message: Instant::now(),
        };
        FleetRun {
            coordinator,
            shares,
            shifts: shifts(shares),
            context,
            state: Mutex::new(FleetState {
                ranks: (0..shares.len() as u32).map(rank).collect(),
                events: VecDeque::new(),
                agreed: vec![None; steps],
                barrier: Barrier::new(shares.len()),
                stop_sent: None,
            }),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            snapshot_requested: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            gate: Gate::default(),
            cleanups: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, FleetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` while a thread receives messages of the other ranks.
    ///
    /// # Errors
    /// [`RunError`] if the thread cannot be started. In that case, `work` was not called.
    pub(super) fn with_listener<T>(&self, work: impl FnOnce() -> T) -> Result<T, RunError> {
        thread::scope(|scope| {
            let listener = thread::Builder::new().name("listen".into());
            listener.spawn_scoped(scope, || self.listen()).map_err(|error| {
                let host = self.coordinator.rank(0).host;
                RunError::Hosts(vec![HostError {
                    host,
                    why: thread_error(error),
                }])
            })?;
            let outcome = work();
            self.has_ended.store(true, Ordering::Release);
            Ok(outcome)
        })
    }

    /// Receives messages, stops all ranks if one has failed, and gives up on silent ones.
    fn listen(&self) {
        let start = Instant::now();
        let (mut asked, mut checked, mut heartbeat) = (start, start, start);
        let mut interrupted = None;
        while !self.has_ended.load(Ordering::Acquire) {
            let incoming = self.coordinator.comm.receive(POLL_INTERVAL);
            let mut state = self.state();
            let is_urgent = incoming.is_some_and(|incoming| self.handle_incoming(&mut state, incoming));
            // Checking all ranks is expensive, so it does not happen for each message, except when
            // a rank has failed: then no rank may begin.
            if checked.elapsed() >= POLL_INTERVAL || is_urgent {
                checked = Instant::now();
                self.stop_if_due(&mut state, &mut interrupted);
                self.release_waiting(&mut state);
                if heartbeat.elapsed() >= HEARTBEAT_INTERVAL {
                    let ranks = self
                        .other_ranks(&state)
                        .filter(|rank| state.ranks[*rank as usize].lost.is_none());
                    ranks.for_each(|rank| self.coordinator.send(rank, &ToAgent::Alive));
                    heartbeat = Instant::now();
                }
                if asked.elapsed() >= partial_results_interval(start.elapsed()) {
                    self.snapshot_requested.store(true, Ordering::Release);
                    asked = Instant::now();
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The ranks that are not this process.
    fn other_ranks(&self, state: &FleetState) -> std::ops::Range<u32> {
        u32::from(self.coordinator.has_own_rank)..state.ranks.len() as u32
    }

    /// Handles a message. True if the sender has failed or was lost.
    fn handle_incoming(&self, state: &mut FleetState, incoming: Incoming) -> bool {
        let (Incoming::Message { from, .. } | Incoming::Lost { process: from, .. }) = incoming;
        let Some(rank) = from.checked_sub(self.coordinator.first_process()) else {
            return false;
        };
        match incoming {
            Incoming::Message { bytes, .. } => self.handle_message(state, rank, &bytes),
            Incoming::Lost { why, .. } => {
                state.ranks[rank as usize].lost.get_or_insert(why);
            }
        }
        let agent = state.ranks.get(rank as usize);
        agent.is_some_and(|agent| agent.lost.is_some() || matches!(agent.end, Some(AgentEnd::Failed(_))))
    }

    /// Stops all ranks if the user requests it or one has failed. Gives up on ranks that are silent
    /// or do not stop.
    fn stop_if_due(&self, state: &mut FleetState, interrupted: &mut Option<Instant>) {
        let give_up = |state: &mut FleetState, is_due: &dyn Fn(&AgentState) -> bool, why: &str| {
            for rank in self.other_ranks(state) {
                let agent = &mut state.ranks[rank as usize];
                if agent.end.is_none() && is_due(agent) {
                    agent.lost.get_or_insert_with(|| why.to_owned());
                    self.coordinator.comm.mark_lost(rank + self.coordinator.first_process());
                }
            }
        };
        let silent = |agent: &AgentState| agent.lost.is_none() && agent.last_message.elapsed() > SILENCE_TIMEOUT;
        let silence = format!("the host sent nothing for {} s", SILENCE_TIMEOUT.as_secs());
        give_up(state, &silent, &silence);
        if self.context.interrupt.load(Ordering::Relaxed) {
            interrupted.get_or_insert_with(Instant::now);
        }
        if (interrupted.is_some() || self.has_failed(state)) && state.stop_sent.is_none() {
            state.stop_sent = Some(Instant::now());
            self.stop.store(true, Ordering::Release);
            for rank in self.other_ranks(state) {
                self.coordinator.send(rank, &ToAgent::Stop);
            }
        }
        let has_passed = |since: Option<Instant>, timeout| since.is_some_and(|at: Instant| at.elapsed() > timeout);
        let grace = self.coordinator.comm.grace_period();
        let grace_is_over = grace.is_some_and(|grace| has_passed(*interrupted, grace));
        if has_passed(state.stop_sent, STOP_TIMEOUT) || grace_is_over {
            give_up(state, &|_| true, "the host did not stop when requested");
        }
    }

    /// True if a rank has failed and the others must stop.
    fn has_failed(&self, state: &FleetState) -> bool {
        // Before the start, any failure stops the run.
        let continues = self.coordinator.continues_on_loss && state.agreed.first().is_some_and(Option::is_some);
        let is_lost = |rank: &AgentState| {
            rank.lost.is_some() && rank.end.is_none() || matches!(rank.end, Some(AgentEnd::Failed(_)))
        };
        !continues && state.ranks.iter().any(is_lost)
    }

    /// Lets ranks that wait at the barrier continue.
    fn release_waiting(&self, state: &mut FleetState) {
        if state.stop_sent.is_some() || self.has_failed(state) {
            return;
        }
        let progress = |rank: &AgentState| AgentProgress {
            is_active: rank.is_active(),
            ready: rank.ready,
        };
        let progress_list: Vec<AgentProgress> = state.ranks.iter().map(progress).collect();
        for rank in state.barrier.release(&progress_list) {
            match self.coordinator.has_own_rank && rank == 0 {
                true => self.gate.open(),
                false => self.coordinator.send(rank, &ToAgent::Continue),
            }
        }
    }

    fn handle_message(&self, state: &mut FleetState, number: u32, bytes: &[u8]) {
        let Some(rank) = state.ranks.get_mut(number as usize) else {
            return;
        };
        rank.last_message = Instant::now();
        let mut may_release = false;
        match unpack(bytes) {
            Ok(ToCoordinator::Event(event)) => {
                if state.events.len() < MAX_PENDING_EVENTS {
                    state.events.push_back((number, *event));
                }
            }
            Ok(ToCoordinator::Arrival(arrival)) => {
                state.barrier.record(number, arrival);
                may_release = true;
            }
            Ok(ToCoordinator::Ready { step }) => {
                rank.ready = Some(step);
                may_release = true;
            }
            Ok(ToCoordinator::Began { step, at_ns }) => {
                if let Some(began) = rank.began.get_mut(step as usize) {
                    *began = Some(at_ns);
                }
            }
            Ok(ToCoordinator::PartialResults { step, results }) => {
                if let Some(partial_results) = rank.partial_results.get_mut(step as usize) {
                    *partial_results = Some(*results);
                }
            }
            // The first end counts, because results after a failure belong to an aborted run.
            Ok(ToCoordinator::Done { results, at_ns }) => {
                rank.end.get_or_insert(AgentEnd::Done { results, at_ns });
            }
            Ok(ToCoordinator::Failed { why }) => {
                rank.end.get_or_insert(AgentEnd::Failed(why));
            }
            Ok(ToCoordinator::Alive | ToCoordinator::Hello(_) | ToCoordinator::Clock { .. }) => {}
            Err(why) => rank.lost = Some(why),
        }
        if may_release {
            self.release_waiting(state);
        }
    }

    /// Waits until all active ranks are ready for a step. Sends them the agreed start. `None` if
    /// the run must stop.
    fn agree_on_start(&self, step: u32, cancelled_jobs: &[u32]) -> Option<Nanos> {
        let mut state = self.state();
        if self.coordinator.has_own_rank {
            state.ranks[0].ready = Some(step);
            self.release_waiting(&mut state);
        }
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            let has_own_rank = self.coordinator.has_own_rank;
            let is_ready = |(number, rank): (usize, &AgentState)| {
                has_own_rank && number == 0 || !rank.is_active() || rank.ready >= Some(step)
            };
            if state.ranks.iter().enumerate().all(is_ready) {
                break;
            }
            state = self.wait_for_change(state);
        }
        let round_trips = self.coordinator.peers.iter().map(|peer| peer.round_trip);
        let slowest = round_trips.max().unwrap_or_default();
        let at = self.context.clock.now() + START_MARGIN.max(Nanos(slowest.0 * 4));
        state.agreed[step as usize] = Some(at);
        drop(state);
        for rank in u32::from(self.coordinator.has_own_rank)..self.shares.len() as u32 {
            let ahead = self.coordinator.peer(rank).clock_offset_ns;
            let at_ns = at.0.wrapping_add_signed(ahead);
            let begin = ToAgent::Begin {
                step,
                at_ns,
                cancelled_jobs: cancelled_jobs.to_vec(),
            };
            self.coordinator.send(rank, &begin);
        }
        Some(at)
    }

    /// Jobs of a step that must not begin, by their numbers in the fleet's plan.
    fn cancelled_jobs(&self, step: u32) -> Vec<u32> {
        let list = self.context.hooks.cancelled.and_then(|list| list.lock().ok());
        let list = list.as_deref().map_or(&[][..], Vec::as_slice);
        let step_jobs = list.iter().filter(|(job_step, _)| *job_step == step as usize);
        step_jobs.map(|(_, job)| *job as u32).collect()
    }

    fn wait_for_change<'s>(&self, state: MutexGuard<'s, FleetState>) -> MutexGuard<'s, FleetState> {
        let waited = self.changed.wait_timeout(state, POLL_INTERVAL);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Executes our own share while the others execute theirs.
    pub(super) fn run_own_share(
        &self,
        request: &ExecuteRequest,
        journal: &dyn Journal,
        shared_files: &mut Option<SharedFiles>,
        watcher: &mut dyn FnMut(Event),
    ) -> Option<Result<Results, RunError>> {
        let clock = self.context.clock;
        let permissions = request.permissions(self.context.permissions);
        let cancelled_jobs = Mutex::new(Vec::new());
        let journal = Mutex::new(JournalWriter::new(request, &clock, journal));
        let journal = || journal.lock().unwrap_or_else(PoisonError::into_inner);
        let peers = FleetPeers {
            run_id: request.run.as_str(),
            gate: &self.gate,
            stop: &self.stop,
            cleanups: &self.cleanups,
            send: &|arrival| {
                let mut state = self.state();
                state.barrier.record(0, arrival);
                self.release_waiting(&mut state);
            },
            on_begin: &|step, at| {
                journal().record_began(step, at);
                self.state().ranks[0].began[step as usize] = Some(at.0);
            },
        };
        let context = RunContext::new(clock, &self.stop, &permissions).with_hooks(RunHooks {
            finished: None,
            snapshots: Some(&self.snapshot_requested),
            cancelled: Some(&cancelled_jobs),
            others: Some(&peers),
        });
        let mut published = Publisher::default();
        let own_result = self.with_listener(|| {
            let plan = request.share.plan.clone();
            let outcome = execute_with_shared_files(shared_files, plan, context, &mut |event| {
                match event {
                    Event::Ready { step, devices } => {
                        watcher(Event::Ready { step, devices });
                        let cancelled = self.cancelled_jobs(step);
                        let own_jobs = request.to_own_jobs(step, &cancelled);
                        cancelled_jobs
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend(own_jobs);
                        if let Some(at) = self.agree_on_start(step, &cancelled) {
                            journal().record_agreed(step, at);
                            sleep_until(&clock, at, &self.stop);
                        }
                    }
                    Event::Snapshot { step, results, .. } => journal().write_step(step, &results),
                    event => {
                        let left = self.remaining_ranks();
                        self.publish_event(0, event, &left, &mut published, watcher);
                    }
                }
                self.publish_pending(&mut published, watcher);
            });
            if let Ok(results) = &outcome {
                journal().write_final(results);
            }
            {
                let mut state = self.state();
                let at_ns = clock.now().0;
                state.ranks[0].end = Some(match &outcome {
                    // The real results are returned below.
                    Ok(_) => AgentEnd::Done {
                        results: Box::new(nothing_measured(Plan::default(), &clock)),
                        at_ns,
                    },
                    Err(error) => AgentEnd::Failed(error.to_string()),
                });
            }
            self.await_others(&mut published, watcher);
            outcome
        });
        Some(own_result.and_then(|outcome| outcome))
    }

    fn remaining_ranks(&self) -> Vec<u32> {
        self.state().remaining_ranks()
    }

    /// Coordinates without a share of our own.
    pub(super) fn run_without_share(&self, watcher: &mut dyn FnMut(Event)) {
        let mut published = Publisher::default();
        let steps = self.state().agreed.len() as u32;
        for step in 0..steps {
            let waits = |state: &FleetState| {
                let mut active_ranks = state.ranks.iter().filter(|rank| rank.is_active()).peekable();
                active_ranks.peek().is_some() && !active_ranks.all(|rank| rank.ready >= Some(step))
            };
            loop {
                self.publish_pending(&mut published, watcher);
                let state = self.state();
                if !waits(&state) {
                    break;
                }
                drop(self.wait_for_change(state));
            }
            if self.remaining_ranks().is_empty() {
                break;
            }
            watcher(Event::Ready {
                step,
                devices: Vec::new(),
            });
            self.agree_on_start(step, &self.cancelled_jobs(step));
        }
        self.await_others(&mut published, watcher);
    }

    fn await_others(&self, published: &mut Publisher, watcher: &mut dyn FnMut(Event)) {
        loop {
            self.publish_pending(published, watcher);
            let state = self.state();
            if !state.ranks.iter().any(AgentState::is_active) {
                break;
            }
            drop(self.wait_for_change(state));
        }
        self.publish_pending(published, watcher);
    }
}
