//! One run of a fleet, from the orders to the results.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use model::environment::Environment;
use model::event::{Event, RankFigures, RankNow, RankState as PublishedState};
use model::finding::{Finding, Severity};
use model::fleet::{Fleet, Gathering, RankFacts, Share, shifts};
use model::plan::Plan;
use model::results::{HostResults, Results, StepResults};

use super::super::agent::{JournalWriter, execute_with_shared_files, sleep_until};
use super::super::barrier::{AgentProgress, Barrier, FleetPeers, Gate};
use super::super::comm::{Comm, Incoming};
use super::super::intervals::Intervals;
use super::super::message::{Order, ToAgent, ToCoordinator, unpack};
use super::super::{HEARTBEAT_INTERVAL, Journal, POLL_INTERVAL, SILENCE_TIMEOUT, partial_results_interval};
use super::{Coordinator, HostFault};
use crate::targets::{Ground, Removal};
use crate::{RunContext, RunError, RunHooks, nothing_measured, unix_now};

/// A step begins this long after all are ready, at least: longer than a message takes.
const START_MARGIN: Nanos = Nanos::millis(20);
/// One of which nothing was heard for so long is late: it tells something each second.
const LATE_AFTER: Duration = Duration::from_millis(2500);
/// A rank that was told to stop and is alive may take this long to do so.
const STOP_TIMEOUT: Duration = Duration::from_secs(45);
/// Events of others that wait to be told, at most.
const MAX_PENDING_EVENTS: usize = 100_000;

/// How the part of a rank ended.
#[derive(Debug)]
pub(super) enum AgentEnd {
    /// With results.
    Done { results: Box<Results>, at_ns: u64 },
    /// Nothing could be measured.
    Failed(String),
}

/// What was heard of a rank.
#[derive(Debug)]
pub(super) struct AgentState {
    ready: Option<u32>,
    began: Vec<Option<u64>>,
    partial_results: Vec<Option<StepResults>>,
    pub(super) end: Option<AgentEnd>,
    pub(super) lost: Option<String>,
    heard: Instant,
}

#[derive(Debug)]
pub(super) struct FleetState {
    pub(super) ranks: Vec<AgentState>,
    /// What others have told and the watcher has not heard yet.
    events: VecDeque<(u32, Event)>,
    /// The agreed start of each step, by our clock.
    agreed: Vec<Option<Nanos>>,
    barrier: Barrier,
    stop_told: Option<Instant>,
}

/// What whoever watches was told so far.
#[derive(Debug, Default)]
struct Published {
    intervals: Intervals,
    states: Vec<PublishedState>,
}

impl Published {
    fn state(&self, rank: u32) -> PublishedState {
        self.states.get(rank as usize).copied().unwrap_or_default()
    }
}

/// One run of a fleet.
pub(super) struct FleetRun<'a> {
    coordinator: &'a Coordinator,
    shares: &'a [Share],
    /// Where the targets of each rank begin in the plan of the whole.
    shifts: Vec<u32>,
    context: RunContext<'a>,
    pub(super) state: Mutex<FleetState>,
    changed: Condvar,
    /// Asks our own part to stop.
    stop: AtomicBool,
    /// Asks it for what it has measured so far.
    wanted: AtomicBool,
    over: AtomicBool,
    /// Where our own part waits for others, with its targets.
    gate: Gate,
    /// What goes of it once all have ended.
    removals: Mutex<Vec<Removal>>,
}

impl<'a> FleetRun<'a> {
    pub(super) fn new(coordinator: &'a Coordinator, shares: &'a [Share], context: RunContext<'a>) -> FleetRun<'a> {
        let steps = shares.first().map_or(0, |share| share.plan.steps.len());
        let rank = |rank: usize| AgentState {
            ready: None,
            began: vec![None; steps],
            partial_results: vec![None; steps],
            end: None,
            lost: coordinator.peers[rank + coordinator.first() as usize].lost.clone(),
            heard: Instant::now(),
        };
        FleetRun {
            coordinator,
            shares,
            shifts: shifts(shares),
            context,
            state: Mutex::new(FleetState {
                ranks: (0..shares.len()).map(rank).collect(),
                events: VecDeque::new(),
                agreed: vec![None; steps],
                barrier: Barrier::new(shares.len()),
                stop_told: None,
            }),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            gate: Gate::default(),
            removals: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, FleetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to the others while something is done.
    pub(super) fn with_listener<T>(&self, work: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            scope.spawn(|| self.listen());
            let done = work();
            self.over.store(true, Ordering::Release);
            done
        })
    }

    fn listen(&self) {
        let begun = Instant::now();
        let (mut asked, mut looked, mut alive, mut interrupted) = (begun, begun, begun, None);
        while !self.over.load(Ordering::Acquire) {
            let incoming = self.coordinator.comm.receive(POLL_INTERVAL);
            let mut state = self.state();
            let mut is_urgent = false;
            match incoming {
                Some(Incoming::Message { from, bytes }) => {
                    if let Some(rank) = from.checked_sub(self.coordinator.first()) {
                        self.handle_message(&mut state, rank, &bytes);
                        let of = state.ranks.get(rank as usize);
                        is_urgent =
                            of.is_some_and(|of| of.lost.is_some() || matches!(of.end, Some(AgentEnd::Failed(_))));
                    }
                }
                Some(Incoming::Lost { from, why }) => {
                    if let Some(rank) = from.checked_sub(self.coordinator.first()) {
                        let rank = &mut state.ranks[rank as usize];
                        rank.lost.get_or_insert(why);
                        is_urgent = true;
                    }
                }
                None => {}
            }
            // What is about all ranks is not looked at with each message of one of them, unless it has failed: nobody may begin then.
            if looked.elapsed() < POLL_INTERVAL && !is_urgent {
                drop(state);
                self.changed.notify_all();
                continue;
            }
            looked = Instant::now();
            let first = usize::from(self.coordinator.works);
            let others = state.ranks.iter_mut().enumerate().skip(first);
            for (number, rank) in others.filter(|(_, rank)| rank.end.is_none()) {
                if rank.lost.is_none() && rank.heard.elapsed() > SILENCE_TIMEOUT {
                    let why = format!("nothing was heard of it for {} s", SILENCE_TIMEOUT.as_secs());
                    rank.lost = Some(why);
                    self.coordinator.comm.give_up(number as u32 + self.coordinator.first());
                }
            }
            if self.context.interrupt.load(Ordering::Relaxed) {
                interrupted.get_or_insert_with(Instant::now);
            }
            let stops = interrupted.is_some() || self.has_failed(&state);
            if stops && state.stop_told.is_none() {
                state.stop_told = Some(Instant::now());
                self.stop.store(true, Ordering::Release);
                for rank in first as u32..state.ranks.len() as u32 {
                    self.coordinator.send(rank, &ToAgent::Stop);
                }
            }
            let grace = self.coordinator.comm.grace();
            let has_run_out =
                |since: Option<Instant>, patience| since.is_some_and(|at: Instant| at.elapsed() > patience);
            if has_run_out(state.stop_told, STOP_TIMEOUT)
                || grace.is_some_and(|patience| has_run_out(interrupted, patience))
            {
                let others = state.ranks.iter_mut().enumerate().skip(first);
                for (number, rank) in others.filter(|(_, rank)| rank.end.is_none()) {
                    rank.lost
                        .get_or_insert_with(|| "it was asked to stop and did not".into());
                    self.coordinator.comm.give_up(number as u32 + self.coordinator.first());
                }
            }
            self.release_waiting(&mut state);
            if alive.elapsed() >= HEARTBEAT_INTERVAL {
                let is_left = |rank: &u32| state.ranks[*rank as usize].lost.is_none();
                let ranks = first as u32..state.ranks.len() as u32;
                ranks
                    .filter(is_left)
                    .for_each(|rank| self.coordinator.send(rank, &ToAgent::Alive));
                alive = Instant::now();
            }
            if asked.elapsed() >= partial_results_interval(begun.elapsed()) {
                self.wanted.store(true, Ordering::Release);
                asked = Instant::now();
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// A rank has failed, and the others are to stop.
    fn has_failed(&self, state: &FleetState) -> bool {
        // Before the start there is nothing to go on with.
        let goes_on = self.coordinator.goes_on && state.agreed.first().is_some_and(Option::is_some);
        let is_lost = |rank: &AgentState| {
            rank.lost.is_some() && rank.end.is_none() || matches!(rank.end, Some(AgentEnd::Failed(_)))
        };
        !goes_on && state.ranks.iter().any(is_lost)
    }

    /// Lets those go on that have waited for others, with their targets.
    fn release_waiting(&self, state: &mut FleetState) {
        if state.stop_told.is_some() || self.has_failed(state) {
            return;
        }
        let standing = |rank: &AgentState| AgentProgress {
            is_left: rank.lost.is_none() && rank.end.is_none(),
            ready: rank.ready,
        };
        let standings: Vec<AgentProgress> = state.ranks.iter().map(standing).collect();
        for rank in state.barrier.release(&standings) {
            match self.coordinator.works && rank == 0 {
                true => self.gate.open(),
                false => self.coordinator.send(rank, &ToAgent::GoOn),
            }
        }
    }

    fn handle_message(&self, state: &mut FleetState, number: u32, bytes: &[u8]) {
        let Some(rank) = state.ranks.get_mut(number as usize) else {
            return;
        };
        rank.heard = Instant::now();
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
            Ok(ToCoordinator::SoFar { step, results }) => {
                if let Some(partial_results) = rank.partial_results.get_mut(step as usize) {
                    *partial_results = Some(*results);
                }
            }
            Ok(ToCoordinator::Done { results, at_ns }) => rank.end = Some(AgentEnd::Done { results, at_ns }),
            Ok(ToCoordinator::Failed { why }) => rank.end = Some(AgentEnd::Failed(why)),
            Ok(ToCoordinator::Alive | ToCoordinator::Hello(_) | ToCoordinator::Clock { .. }) => {}
            Err(why) => rank.lost = Some(why),
        }
        if may_release {
            self.release_waiting(state);
        }
    }

    /// Waits until all that are left are ready for a step, agrees on a start, and tells it. `None` if none is left or the run
    /// is to stop.
    fn agree_on_start(&self, step: u32, called_off: &[u32]) -> Option<Nanos> {
        let mut state = self.state();
        if self.coordinator.works {
            state.ranks[0].ready = Some(step);
            self.release_waiting(&mut state);
        }
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            let own = self.coordinator.works;
            let is_ready = |(number, rank): (usize, &AgentState)| {
                own && number == 0 || rank.lost.is_some() || rank.end.is_some() || rank.ready >= Some(step)
            };
            if state.ranks.iter().enumerate().all(is_ready) {
                break;
            }
            state = self.wait_for_change(state);
        }
        let slowest = self
            .coordinator
            .peers
            .iter()
            .map(|peer| peer.round_trip)
            .max()
            .unwrap_or_default();
        let at = self.context.clock.now() + START_MARGIN.max(Nanos(slowest.0 * 4));
        state.agreed[step as usize] = Some(at);
        drop(state);
        for rank in u32::from(self.coordinator.works)..self.shares.len() as u32 {
            let ahead = self.coordinator.peers[(rank + self.coordinator.first()) as usize].ahead_ns;
            let at_ns = at.0.wrapping_add_signed(ahead);
            let called_off = called_off.to_vec();
            self.coordinator.send(
                rank,
                &ToAgent::Begin {
                    step,
                    at_ns,
                    called_off,
                },
            );
        }
        Some(at)
    }

    /// Jobs of a step, by their numbers in the plan of the whole, that must not begin.
    fn cancelled_jobs(&self, step: u32) -> Vec<u32> {
        let list = self.context.hooks.cancelled.and_then(|list| list.lock().ok());
        let list = list.as_deref().map_or(&[][..], Vec::as_slice);
        let of_step = list.iter().filter(|(of, _)| *of == step as usize);
        of_step.map(|(_, job)| *job as u32).collect()
    }

    fn wait_for_change<'s>(&self, state: MutexGuard<'s, FleetState>) -> MutexGuard<'s, FleetState> {
        let waited = self.changed.wait_timeout(state, POLL_INTERVAL);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells the watcher what came from others.
    fn publish_pending(&self, watch: &mut Published, watcher: &mut dyn FnMut(Event)) {
        let (events, left, states) = {
            let mut state = self.state();
            let states: Vec<PublishedState> = state
                .ranks
                .iter()
                .enumerate()
                .map(|one| self.published_state(one))
                .collect();
            let left: Vec<u32> = (0..state.ranks.len() as u32)
                .filter(|rank| {
                    let of = &state.ranks[*rank as usize];
                    of.lost.is_none() && of.end.is_none()
                })
                .collect();
            (std::mem::take(&mut state.events), left, states)
        };
        self.publish_states(&states, watch, watcher);
        for (rank, event) in events {
            self.publish_event(rank, event, &left, watch, watcher);
        }
        for interval in watch.intervals.take(&left) {
            watcher(Event::Interval(Box::new(interval)));
        }
    }

    /// How far a rank is, as is seen from here.
    fn published_state(&self, (number, rank): (usize, &AgentState)) -> PublishedState {
        let is_other = !self.coordinator.works || number > 0;
        let has_begun = |began: &Vec<Option<u64>>| began.iter().any(Option::is_some);
        match (&rank.lost, &rank.end) {
            (_, Some(AgentEnd::Done { .. })) => PublishedState::Ended,
            (Some(_), _) | (_, Some(AgentEnd::Failed(_))) => PublishedState::Lost,
            (None, None) if is_other && rank.heard.elapsed() > LATE_AFTER => PublishedState::Late,
            (None, None) if has_begun(&rank.began) => PublishedState::Running,
            (None, None) if rank.ready.is_some() => PublishedState::Ready,
            (None, None) => PublishedState::Preparing,
        }
    }

    /// Tells what has changed with the ranks; of one that was lost, in words.
    fn publish_states(&self, states: &[PublishedState], watch: &mut Published, watcher: &mut dyn FnMut(Event)) {
        if states == watch.states {
            return;
        }
        for (number, now) in states.iter().enumerate() {
            let before = watch.states.get(number);
            if before == Some(now) {
                continue;
            }
            let rank = number as u32;
            watcher(self.rank_event(rank, *now, None));
            if *now == PublishedState::Lost {
                let why = {
                    let state = self.state();
                    let of = &state.ranks[number];
                    match &of.end {
                        // What refuses a test before anything is measured is told as such, once all have answered.
                        Some(AgentEnd::Failed(_)) if of.began.iter().all(Option::is_none) => None,
                        Some(AgentEnd::Failed(why)) => Some(why.clone()),
                        _ => of.lost.clone(),
                    }
                };
                // One that was only stopped because of another has nothing to tell.
                if let Some(why) = why.filter(|why| *why != RunError::Interrupted.to_string()) {
                    let what = format!("{} was lost: {why}", self.coordinator.name(rank));
                    let finding = Finding::new("HOST-LOST", Severity::Error, what);
                    watcher(Event::Notice { finding });
                }
            }
        }
        watch.states = states.to_vec();
    }

    fn rank_event(&self, rank: u32, state: PublishedState, figures: Option<RankFigures>) -> Event {
        Event::Rank(Box::new(RankNow {
            rank,
            of: self.shares.len() as u32,
            host: self.coordinator.host_of(rank + self.coordinator.first()),
            state,
            figures,
        }))
    }

    fn publish_event(
        &self,
        rank: u32,
        event: Event,
        left: &[u32],
        watch: &mut Published,
        watcher: &mut dyn FnMut(Event),
    ) {
        let named = |target: String| {
            format!(
                "{}: {target}",
                self.coordinator.host_of(rank + self.coordinator.first())
            )
        };
        match event {
            Event::Interval(interval) => {
                let Some((shift, job)) = self.job_of_whole(rank, interval.step, interval.job) else {
                    return;
                };
                let figures = RankFigures {
                    job,
                    ..RankFigures::of(&interval)
                };
                watcher(self.rank_event(rank, watch.state(rank), Some(figures)));
                for whole in watch.intervals.add(rank, shift, job, *interval, left) {
                    watcher(Event::Interval(Box::new(whole)));
                }
            }
            Event::Notice { mut finding } => {
                finding.at = Some(named(finding.at.unwrap_or_default()));
                watcher(Event::Notice { finding });
            }
            Event::Preparing {
                target,
                done,
                total,
                left_ns,
            } => watcher(Event::Preparing {
                target: named(target),
                done,
                total,
                left_ns,
            }),
            Event::Prepared { target, how, took_ns } => watcher(Event::Prepared {
                target: named(target),
                how,
                took_ns,
            }),
            Event::Phase {
                step,
                job,
                name,
                phase,
                length_ns,
            } => {
                // The phases of the first that has the job stand for all: they begin together.
                let Some((_, number)) = self.job_of_whole(rank, step, job) else {
                    return;
                };
                let first = self
                    .shares
                    .iter()
                    .position(|share| share.jobs[step as usize].contains(&number));
                if first == Some(rank as usize) {
                    watcher(Event::Phase {
                        step,
                        job: number,
                        name,
                        phase,
                        length_ns,
                    });
                }
            }
            Event::JobEnded { step, job, reason } => {
                let Some((_, number)) = self.job_of_whole(rank, step, job) else {
                    return;
                };
                let last = self
                    .shares
                    .iter()
                    .rposition(|share| share.jobs[step as usize].contains(&number));
                if last == Some(rank as usize) {
                    watcher(Event::JobEnded {
                        step,
                        job: number,
                        reason,
                    });
                }
            }
            _ => {}
        }
    }

    /// Where the targets of a rank begin in the plan of the whole, and which job of it one of its jobs is.
    fn job_of_whole(&self, rank: u32, step: u32, job: u32) -> Option<(u32, u32)> {
        let jobs = self.shares[rank as usize].jobs.get(step as usize)?;
        Some((self.shifts[rank as usize], *jobs.get(job as usize)?))
    }

    /// Carries our own part out, as the others do theirs.
    pub(super) fn run_own_part(
        &self,
        order: &Order,
        journal: &dyn Journal,
        ground: &mut Option<Ground>,
        watcher: &mut dyn FnMut(Event),
    ) -> Option<Result<Results, RunError>> {
        let clock = self.context.clock;
        let permissions = order.permissions(self.context.permissions.programs);
        let called_off = Mutex::new(Vec::new());
        let keeper = Mutex::new(JournalWriter::new(order, &clock, journal));
        let keeper = || keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let others = FleetPeers {
            gate: &self.gate,
            stop: &self.stop,
            removals: &self.removals,
            send: &|arrival| {
                let mut state = self.state();
                state.barrier.record(0, arrival);
                self.release_waiting(&mut state);
            },
            starts: &|step, at| {
                keeper().began(step, at);
                self.state().ranks[0].began[step as usize] = Some(at.0);
            },
        };
        let context = RunContext::new(clock, &self.stop, &permissions).with_hooks(RunHooks {
            snapshots: Some(&self.wanted),
            cancelled: Some(&called_off),
            others: Some(&others),
        });
        let mut watch = Published::default();
        let own = self.with_listener(|| {
            let plan = order.share.plan.clone();
            let done = execute_with_shared_files(ground, plan, context, &mut |event| {
                match event {
                    Event::Ready { step, devices } => {
                        watcher(Event::Ready { step, devices });
                        let not = self.cancelled_jobs(step);
                        let own = order.own_jobs(step, &not);
                        called_off.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
                        if let Some(at) = self.agree_on_start(step, &not) {
                            keeper().agreed(step, at);
                            sleep_until(&clock, at, &self.stop);
                        }
                    }
                    Event::Snapshot { step, results, .. } => keeper().keep(step, &results),
                    event => {
                        let left: Vec<u32> = self.remaining_ranks();
                        self.publish_event(0, event, &left, &mut watch, watcher);
                    }
                }
                self.publish_pending(&mut watch, watcher);
            });
            if let Ok(results) = &done {
                keeper().keep_all(results);
            }
            {
                let mut state = self.state();
                let at_ns = clock.now().0;
                state.ranks[0].end = Some(match &done {
                    // The results themselves stay where they are.
                    Ok(_) => AgentEnd::Done {
                        results: Box::new(nothing_measured(Plan::default(), &clock)),
                        at_ns,
                    },
                    Err(error) => AgentEnd::Failed(error.to_string()),
                });
            }
            self.await_others(&mut watch, watcher);
            done
        });
        Some(own)
    }

    fn remaining_ranks(&self) -> Vec<u32> {
        let state = self.state();
        let is_left = |rank: &AgentState| rank.lost.is_none() && rank.end.is_none();
        (0..state.ranks.len() as u32)
            .filter(|rank| is_left(&state.ranks[*rank as usize]))
            .collect()
    }

    /// Leads without a part of our own.
    pub(super) fn run_without_part(&self, watcher: &mut dyn FnMut(Event)) {
        let mut watch = Published::default();
        let steps = self.state().agreed.len() as u32;
        for step in 0..steps {
            let waits = |state: &FleetState| {
                let left = |rank: &AgentState| rank.lost.is_none() && rank.end.is_none();
                let mut left = state.ranks.iter().filter(|rank| left(rank)).peekable();
                left.peek().is_some() && !left.all(|rank| rank.ready >= Some(step))
            };
            loop {
                self.publish_pending(&mut watch, watcher);
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
        self.await_others(&mut watch, watcher);
    }

    fn await_others(&self, watch: &mut Published, watcher: &mut dyn FnMut(Event)) {
        loop {
            self.publish_pending(watch, watcher);
            let state = self.state();
            let has_ended = |rank: &AgentState| rank.lost.is_some() || rank.end.is_some();
            if state.ranks.iter().all(has_ended) {
                break;
            }
            drop(self.wait_for_change(state));
        }
        self.publish_pending(watch, watcher);
    }

    /// What came of all of them.
    pub(super) fn results(&self, plan: &Plan, own: Option<Result<Results, RunError>>) -> Result<Results, RunError> {
        let mut state = self.state();
        let measured = |rank: &AgentState| match &rank.end {
            Some(AgentEnd::Done { .. }) => true,
            Some(AgentEnd::Failed(_)) => false,
            None => rank.partial_results.iter().any(Option::is_some),
        };
        let faults: Vec<HostFault> = state
            .ranks
            .iter()
            .enumerate()
            .filter_map(|(number, rank)| {
                let why = match &rank.end {
                    Some(AgentEnd::Failed(why)) => Some(why),
                    Some(AgentEnd::Done { .. }) => None,
                    None => rank.lost.as_ref(),
                }?;
                let host = self.coordinator.name(number as u32);
                let why = why.clone();
                Some(HostFault { host, why })
            })
            .collect();
        let failed_first = state.agreed.first().is_none_or(Option::is_none);
        if failed_first && !faults.is_empty() || !state.ranks.iter().any(measured) {
            // Those that were only stopped because of others have nothing to tell.
            let real = |one: &&HostFault| one.why != RunError::Interrupted.to_string();
            let told: Vec<HostFault> = faults.iter().filter(real).cloned().collect();
            return Err(match told.is_empty() {
                true => RunError::Interrupted,
                false => RunError::Hosts(told),
            });
        }
        let frame = nothing_measured(plan.clone(), &self.context.clock);
        let mut all = Gathering::new(plan, self.shares, frame);
        let began = state.agreed.first().copied().flatten().unwrap_or_default();
        let mut own = own.and_then(Result::ok);
        let mut facts = Vec::new();
        for number in 0..state.ranks.len() {
            let peer = &self.coordinator.peers[number + self.coordinator.first() as usize];
            let host = self.coordinator.host_of(number as u32 + self.coordinator.first());
            let agreed = state.agreed.clone();
            let rank = &mut state.ranks[number];
            let by_our_clock = |at_ns: u64| at_ns.wrapping_add_signed(-peer.ahead_ns);
            let (results, ended_ns) = match rank.end.take() {
                Some(AgentEnd::Done { results, at_ns }) => {
                    let results = own.take().unwrap_or(*results);
                    rank.end = Some(AgentEnd::Done {
                        results: Box::new(nothing_measured(Plan::default(), &self.context.clock)),
                        at_ns,
                    });
                    (Some(results), Some(Nanos(by_our_clock(at_ns)).since(began)))
                }
                Some(AgentEnd::Failed(why)) => {
                    rank.lost = Some(why);
                    (None, None)
                }
                None => (self.partial_results(number, rank), None),
            };
            let machine = results.and_then(|results| all.add(number as u32, results));
            let starts = rank
                .began
                .iter()
                .zip(&agreed)
                .filter_map(|(began, agreed)| Some(by_our_clock((*began)?).wrapping_sub((*agreed)?.0) as i64));
            facts.push(RankFacts {
                host,
                machine,
                clock_ahead_ns: peer.ahead_ns,
                round_trip_ns: peer.round_trip,
                starts_ns: starts.collect(),
                ended_ns,
                widened_from: match &peer.introduction {
                    Some(it) => it.widened_from,
                    None => self.coordinator.widened_from,
                },
                lost: rank.lost.clone().filter(|_| rank.end.is_none()),
            });
        }
        let mut results = all.finish();
        results.interrupted = self.context.interrupt.load(Ordering::Relaxed);
        results.fleet = Some(Fleet {
            transport: self.coordinator.transport(),
            ranks: facts,
            goes_on: self.coordinator.goes_on,
        });
        Ok(results)
    }

    /// What a rank that was lost had told.
    fn partial_results(&self, number: usize, rank: &mut AgentState) -> Option<Results> {
        if rank.partial_results.iter().all(Option::is_none) {
            return None;
        }
        let mut results = nothing_measured(self.shares[number].plan.clone(), &self.context.clock);
        for (step, partial_results) in results.steps.iter_mut().zip(&mut rank.partial_results) {
            if let Some(partial_results) = partial_results.take() {
                *step = partial_results.cut_short();
            }
        }
        results.hosts = vec![HostResults {
            environment: Environment {
                host: self
                    .coordinator
                    .machine_of(number as u32 + self.coordinator.first())
                    .clone(),
                ..Environment::default()
            },
            started_unix_ns: unix_now(),
            ended_unix_ns: unix_now(),
            system: None,
            idleness: None,
        }];
        Some(results)
    }
}
