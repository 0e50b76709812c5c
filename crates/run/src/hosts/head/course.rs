//! One run of a fleet, from the orders to the results.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use model::environment::Environment;
use model::event::{Event, RankFigures, RankNow, RankState as NowState};
use model::finding::{Finding, Severity};
use model::fleet::{Fleet, Gathering, RankFacts, Share, shifts};
use model::plan::Plan;
use model::results::{HostResults, Results, StepResults};

use super::super::comm::{Comm, Incoming};
use super::super::intervals::Intervals;
use super::super::message::{Order, ToHead, ToRank, unpack};
use super::super::rank::{Keeper, execute_with_shared_files, sleep_until};
use super::super::turns::{Gate, OthersOf, Standing, Turns};
use super::super::{ALIVE_EVERY, Journal, LOOK, SILENCE, so_far_every};
use super::{Head, Trouble};
use crate::targets::{Cleanup, SharedFiles};
use crate::{RunContext, RunError, RunHooks, nothing_measured, unix_now};

/// A step begins this long after all are ready, at least: longer than a message takes.
const HEAD_START: Nanos = Nanos::millis(20);
/// One of which nothing was heard for so long is late: it tells something each second.
const LATE: Duration = Duration::from_millis(2500);
/// A rank that was told to stop and is alive may take this long to do so.
const STOP_PATIENCE: Duration = Duration::from_secs(45);
/// Events of others that wait to be told, at most.
const MOST_EVENTS: usize = 100_000;

/// How the part of a rank ended.
#[derive(Debug)]
pub(super) enum End {
    /// With results.
    Done { results: Box<Results>, at_ns: u64 },
    /// Nothing could be measured.
    Failed(String),
}

/// What was heard of a rank.
#[derive(Debug)]
pub(super) struct RankState {
    ready: Option<u32>,
    began: Vec<Option<u64>>,
    so_far: Vec<Option<StepResults>>,
    pub(super) end: Option<End>,
    pub(super) lost: Option<String>,
    heard: Instant,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) ranks: Vec<RankState>,
    /// What others have told and the watcher has not heard yet.
    events: VecDeque<(u32, Event)>,
    /// The agreed start of each step, by our clock.
    agreed: Vec<Option<Nanos>>,
    turns: Turns,
    stop_told: Option<Instant>,
}

/// What whoever watches was told so far.
#[derive(Debug, Default)]
struct Watch {
    intervals: Intervals,
    states: Vec<NowState>,
}

impl Watch {
    fn state(&self, rank: u32) -> NowState {
        self.states.get(rank as usize).copied().unwrap_or_default()
    }
}

/// One run of a fleet.
pub(super) struct Course<'a> {
    head: &'a Head,
    shares: &'a [Share],
    /// Where the targets of each rank begin in the plan of the whole.
    shifts: Vec<u32>,
    context: RunContext<'a>,
    pub(super) state: Mutex<State>,
    changed: Condvar,
    /// Asks our own part to stop.
    stop: AtomicBool,
    /// Asks it for what it has measured so far.
    wanted: AtomicBool,
    over: AtomicBool,
    /// Where our own part waits for others, with its targets.
    gate: Gate,
    /// What goes of it once all have ended.
    removals: Mutex<Vec<Cleanup>>,
}

impl<'a> Course<'a> {
    pub(super) fn new(head: &'a Head, shares: &'a [Share], context: RunContext<'a>) -> Course<'a> {
        let steps = shares.first().map_or(0, |share| share.plan.steps.len());
        let rank = |rank: usize| RankState {
            ready: None,
            began: vec![None; steps],
            so_far: vec![None; steps],
            end: None,
            lost: head.peers[rank + head.first() as usize].lost.clone(),
            heard: Instant::now(),
        };
        Course {
            head,
            shares,
            shifts: shifts(shares),
            context,
            state: Mutex::new(State {
                ranks: (0..shares.len()).map(rank).collect(),
                events: VecDeque::new(),
                agreed: vec![None; steps],
                turns: Turns::of(shares.len()),
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to the others while something is done.
    pub(super) fn led<T>(&self, work: impl FnOnce() -> T) -> T {
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
            let incoming = self.head.comm.receive(LOOK);
            let mut state = self.state();
            let mut is_urgent = false;
            match incoming {
                Some(Incoming::Message { from, bytes }) => {
                    if let Some(rank) = from.checked_sub(self.head.first()) {
                        self.hear(&mut state, rank, &bytes);
                        let of = state.ranks.get(rank as usize);
                        is_urgent = of.is_some_and(|of| of.lost.is_some() || matches!(of.end, Some(End::Failed(_))));
                    }
                }
                Some(Incoming::Lost { from, why }) => {
                    if let Some(rank) = from.checked_sub(self.head.first()) {
                        let rank = &mut state.ranks[rank as usize];
                        rank.lost.get_or_insert(why);
                        is_urgent = true;
                    }
                }
                None => {}
            }
            // What is about all ranks is not looked at with each message of one of them, unless it has failed: nobody may begin then.
            if looked.elapsed() < LOOK && !is_urgent {
                drop(state);
                self.changed.notify_all();
                continue;
            }
            looked = Instant::now();
            let first = usize::from(self.head.works);
            let others = state.ranks.iter_mut().enumerate().skip(first);
            for (number, rank) in others.filter(|(_, rank)| rank.end.is_none()) {
                if rank.lost.is_none() && rank.heard.elapsed() > SILENCE {
                    let why = format!("nothing was heard of it for {} s", SILENCE.as_secs());
                    rank.lost = Some(why);
                    self.head.comm.give_up(number as u32 + self.head.first());
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
                    self.head.tell(rank, &ToRank::Stop);
                }
            }
            let grace = self.head.comm.grace();
            let has_run_out =
                |since: Option<Instant>, patience| since.is_some_and(|at: Instant| at.elapsed() > patience);
            if has_run_out(state.stop_told, STOP_PATIENCE)
                || grace.is_some_and(|patience| has_run_out(interrupted, patience))
            {
                let others = state.ranks.iter_mut().enumerate().skip(first);
                for (number, rank) in others.filter(|(_, rank)| rank.end.is_none()) {
                    rank.lost
                        .get_or_insert_with(|| "it was asked to stop and did not".into());
                    self.head.comm.give_up(number as u32 + self.head.first());
                }
            }
            self.let_go_on(&mut state);
            if alive.elapsed() >= ALIVE_EVERY {
                let is_left = |rank: &u32| state.ranks[*rank as usize].lost.is_none();
                let ranks = first as u32..state.ranks.len() as u32;
                ranks
                    .filter(is_left)
                    .for_each(|rank| self.head.tell(rank, &ToRank::Alive));
                alive = Instant::now();
            }
            if asked.elapsed() >= so_far_every(begun.elapsed()) {
                self.wanted.store(true, Ordering::Release);
                asked = Instant::now();
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// A rank has failed, and the others are to stop.
    fn has_failed(&self, state: &State) -> bool {
        // Before the start there is nothing to go on with.
        let goes_on = self.head.goes_on && state.agreed.first().is_some_and(Option::is_some);
        let is_lost =
            |rank: &RankState| rank.lost.is_some() && rank.end.is_none() || matches!(rank.end, Some(End::Failed(_)));
        !goes_on && state.ranks.iter().any(is_lost)
    }

    /// Lets those go on that have waited for others, with their targets.
    fn let_go_on(&self, state: &mut State) {
        if state.stop_told.is_some() || self.has_failed(state) {
            return;
        }
        let standing = |rank: &RankState| Standing {
            is_left: rank.lost.is_none() && rank.end.is_none(),
            ready: rank.ready,
        };
        let standings: Vec<Standing> = state.ranks.iter().map(standing).collect();
        for rank in state.turns.due(&standings) {
            match self.head.works && rank == 0 {
                true => self.gate.open(),
                false => self.head.tell(rank, &ToRank::GoOn),
            }
        }
    }

    fn hear(&self, state: &mut State, number: u32, bytes: &[u8]) {
        let Some(rank) = state.ranks.get_mut(number as usize) else {
            return;
        };
        rank.heard = Instant::now();
        let mut may_release = false;
        match unpack(bytes) {
            Ok(ToHead::Event(event)) => {
                if state.events.len() < MOST_EVENTS {
                    state.events.push_back((number, *event));
                }
            }
            Ok(ToHead::Turn(turn)) => {
                state.turns.hear(number, turn);
                may_release = true;
            }
            Ok(ToHead::Ready { step }) => {
                rank.ready = Some(step);
                may_release = true;
            }
            Ok(ToHead::Began { step, at_ns }) => {
                if let Some(began) = rank.began.get_mut(step as usize) {
                    *began = Some(at_ns);
                }
            }
            Ok(ToHead::SoFar { step, results }) => {
                if let Some(so_far) = rank.so_far.get_mut(step as usize) {
                    *so_far = Some(*results);
                }
            }
            Ok(ToHead::Done { results, at_ns }) => rank.end = Some(End::Done { results, at_ns }),
            Ok(ToHead::Failed { why }) => rank.end = Some(End::Failed(why)),
            Ok(ToHead::Alive | ToHead::Hello(_) | ToHead::Clock { .. }) => {}
            Err(why) => rank.lost = Some(why),
        }
        if may_release {
            self.let_go_on(state);
        }
    }

    /// Waits until all that are left are ready for a step, agrees on a start, and tells it. `None` if none is left or the run
    /// is to stop.
    fn release(&self, step: u32, called_off: &[u32]) -> Option<Nanos> {
        let mut state = self.state();
        if self.head.works {
            state.ranks[0].ready = Some(step);
            self.let_go_on(&mut state);
        }
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            let own = self.head.works;
            let is_ready = |(number, rank): (usize, &RankState)| {
                own && number == 0 || rank.lost.is_some() || rank.end.is_some() || rank.ready >= Some(step)
            };
            if state.ranks.iter().enumerate().all(is_ready) {
                break;
            }
            state = self.wait_for_change(state);
        }
        let slowest = self
            .head
            .peers
            .iter()
            .map(|peer| peer.round_trip)
            .max()
            .unwrap_or_default();
        let at = self.context.clock.now() + HEAD_START.max(Nanos(slowest.0 * 4));
        state.agreed[step as usize] = Some(at);
        drop(state);
        for rank in u32::from(self.head.works)..self.shares.len() as u32 {
            let ahead = self.head.peers[(rank + self.head.first()) as usize].ahead_ns;
            let at_ns = at.0.wrapping_add_signed(ahead);
            let called_off = called_off.to_vec();
            self.head.tell(
                rank,
                &ToRank::Begin {
                    step,
                    at_ns,
                    called_off,
                },
            );
        }
        Some(at)
    }

    /// Jobs of a step, by their numbers in the plan of the whole, that must not begin.
    fn called_off(&self, step: u32) -> Vec<u32> {
        let list = self.context.hooks.cancelled.and_then(|list| list.lock().ok());
        let list = list.as_deref().map_or(&[][..], Vec::as_slice);
        let of_step = list.iter().filter(|(of, _)| *of == step as usize);
        of_step.map(|(_, job)| *job as u32).collect()
    }

    fn wait_for_change<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, LOOK);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells the watcher what came from others.
    fn pass_on(&self, watch: &mut Watch, watcher: &mut dyn FnMut(Event)) {
        let (events, left, states) = {
            let mut state = self.state();
            let states: Vec<NowState> = state.ranks.iter().enumerate().map(|one| self.state_of(one)).collect();
            let left: Vec<u32> = (0..state.ranks.len() as u32)
                .filter(|rank| {
                    let of = &state.ranks[*rank as usize];
                    of.lost.is_none() && of.end.is_none()
                })
                .collect();
            (std::mem::take(&mut state.events), left, states)
        };
        self.tell_states(&states, watch, watcher);
        for (rank, event) in events {
            self.pass_one(rank, event, &left, watch, watcher);
        }
        for interval in watch.intervals.take(&left) {
            watcher(Event::Interval(Box::new(interval)));
        }
    }

    /// How far a rank is, as is seen from here.
    fn state_of(&self, (number, rank): (usize, &RankState)) -> NowState {
        let is_other = !self.head.works || number > 0;
        let has_begun = |began: &Vec<Option<u64>>| began.iter().any(Option::is_some);
        match (&rank.lost, &rank.end) {
            (_, Some(End::Done { .. })) => NowState::Ended,
            (Some(_), _) | (_, Some(End::Failed(_))) => NowState::Lost,
            (None, None) if is_other && rank.heard.elapsed() > LATE => NowState::Late,
            (None, None) if has_begun(&rank.began) => NowState::Running,
            (None, None) if rank.ready.is_some() => NowState::Ready,
            (None, None) => NowState::Preparing,
        }
    }

    /// Tells what has changed with the ranks; of one that was lost, in words.
    fn tell_states(&self, states: &[NowState], watch: &mut Watch, watcher: &mut dyn FnMut(Event)) {
        if states == watch.states {
            return;
        }
        for (number, now) in states.iter().enumerate() {
            let before = watch.states.get(number);
            if before == Some(now) {
                continue;
            }
            let rank = number as u32;
            watcher(self.rank_now(rank, *now, None));
            if *now == NowState::Lost {
                let why = {
                    let state = self.state();
                    let of = &state.ranks[number];
                    match &of.end {
                        // What refuses a test before anything is measured is told as such, once all have answered.
                        Some(End::Failed(_)) if of.began.iter().all(Option::is_none) => None,
                        Some(End::Failed(why)) => Some(why.clone()),
                        _ => of.lost.clone(),
                    }
                };
                // One that was only stopped because of another has nothing to tell.
                if let Some(why) = why.filter(|why| *why != RunError::Interrupted.to_string()) {
                    let what = format!("{} was lost: {why}", self.head.name(rank));
                    let finding = Finding::new("HOST-LOST", Severity::Error, what);
                    watcher(Event::Notice { finding });
                }
            }
        }
        watch.states = states.to_vec();
    }

    fn rank_now(&self, rank: u32, state: NowState, figures: Option<RankFigures>) -> Event {
        Event::Rank(Box::new(RankNow {
            rank,
            of: self.shares.len() as u32,
            host: self.head.host_of(rank + self.head.first()),
            state,
            figures,
        }))
    }

    fn pass_one(&self, rank: u32, event: Event, left: &[u32], watch: &mut Watch, watcher: &mut dyn FnMut(Event)) {
        let named = |target: String| format!("{}: {target}", self.head.host_of(rank + self.head.first()));
        match event {
            Event::Interval(interval) => {
                let Some((shift, job)) = self.place_of(rank, interval.step, interval.job) else {
                    return;
                };
                let figures = RankFigures {
                    job,
                    ..RankFigures::of(&interval)
                };
                watcher(self.rank_now(rank, watch.state(rank), Some(figures)));
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
                let Some((_, number)) = self.place_of(rank, step, job) else {
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
                let Some((_, number)) = self.place_of(rank, step, job) else {
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
    fn place_of(&self, rank: u32, step: u32, job: u32) -> Option<(u32, u32)> {
        let jobs = self.shares[rank as usize].jobs.get(step as usize)?;
        Some((self.shifts[rank as usize], *jobs.get(job as usize)?))
    }

    /// Carries our own part out, as the others do theirs.
    pub(super) fn with_own_part(
        &self,
        order: &Order,
        journal: &dyn Journal,
        shared_files: &mut Option<SharedFiles>,
        watcher: &mut dyn FnMut(Event),
    ) -> Option<Result<Results, RunError>> {
        let clock = self.context.clock;
        let permissions = order.permissions(self.context.permissions.programs);
        let called_off = Mutex::new(Vec::new());
        let keeper = Mutex::new(Keeper::new(order, &clock, journal));
        let keeper = || keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let others = OthersOf {
            gate: &self.gate,
            stop: &self.stop,
            removals: &self.removals,
            tell: &|turn| {
                let mut state = self.state();
                state.turns.hear(0, turn);
                self.let_go_on(&mut state);
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
        let mut watch = Watch::default();
        let own = self.led(|| {
            let plan = order.share.plan.clone();
            let done = execute_with_shared_files(shared_files, plan, context, &mut |event| {
                match event {
                    Event::Ready { step, devices } => {
                        watcher(Event::Ready { step, devices });
                        let not = self.called_off(step);
                        let own = order.own_jobs(step, &not);
                        called_off.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
                        if let Some(at) = self.release(step, &not) {
                            keeper().agreed(step, at);
                            sleep_until(&clock, at, &self.stop);
                        }
                    }
                    Event::Snapshot { step, results, .. } => keeper().keep(step, &results),
                    event => {
                        let left: Vec<u32> = self.left();
                        self.pass_one(0, event, &left, &mut watch, watcher);
                    }
                }
                self.pass_on(&mut watch, watcher);
            });
            if let Ok(results) = &done {
                keeper().keep_all(results);
            }
            {
                let mut state = self.state();
                let at_ns = clock.now().0;
                state.ranks[0].end = Some(match &done {
                    // The results themselves stay where they are.
                    Ok(_) => End::Done {
                        results: Box::new(nothing_measured(Plan::default(), &clock)),
                        at_ns,
                    },
                    Err(error) => End::Failed(error.to_string()),
                });
            }
            self.wait_for_others(&mut watch, watcher);
            done
        });
        Some(own)
    }

    fn left(&self) -> Vec<u32> {
        let state = self.state();
        let is_left = |rank: &RankState| rank.lost.is_none() && rank.end.is_none();
        (0..state.ranks.len() as u32)
            .filter(|rank| is_left(&state.ranks[*rank as usize]))
            .collect()
    }

    /// Leads without a part of our own.
    pub(super) fn wait(&self, watcher: &mut dyn FnMut(Event)) {
        let mut watch = Watch::default();
        let steps = self.state().agreed.len() as u32;
        for step in 0..steps {
            let waits = |state: &State| {
                let left = |rank: &RankState| rank.lost.is_none() && rank.end.is_none();
                let mut left = state.ranks.iter().filter(|rank| left(rank)).peekable();
                left.peek().is_some() && !left.all(|rank| rank.ready >= Some(step))
            };
            loop {
                self.pass_on(&mut watch, watcher);
                let state = self.state();
                if !waits(&state) {
                    break;
                }
                drop(self.wait_for_change(state));
            }
            if self.left().is_empty() {
                break;
            }
            watcher(Event::Ready {
                step,
                devices: Vec::new(),
            });
            self.release(step, &self.called_off(step));
        }
        self.wait_for_others(&mut watch, watcher);
    }

    fn wait_for_others(&self, watch: &mut Watch, watcher: &mut dyn FnMut(Event)) {
        loop {
            self.pass_on(watch, watcher);
            let state = self.state();
            let has_ended = |rank: &RankState| rank.lost.is_some() || rank.end.is_some();
            if state.ranks.iter().all(has_ended) {
                break;
            }
            drop(self.wait_for_change(state));
        }
        self.pass_on(watch, watcher);
    }

    /// What came of all of them.
    pub(super) fn results(&self, plan: &Plan, own: Option<Result<Results, RunError>>) -> Result<Results, RunError> {
        let mut state = self.state();
        let measured = |rank: &RankState| match &rank.end {
            Some(End::Done { .. }) => true,
            Some(End::Failed(_)) => false,
            None => rank.so_far.iter().any(Option::is_some),
        };
        let troubles: Vec<Trouble> = state
            .ranks
            .iter()
            .enumerate()
            .filter_map(|(number, rank)| {
                let why = match &rank.end {
                    Some(End::Failed(why)) => Some(why),
                    Some(End::Done { .. }) => None,
                    None => rank.lost.as_ref(),
                }?;
                let host = self.head.name(number as u32);
                let why = why.clone();
                Some(Trouble { host, why })
            })
            .collect();
        let failed_first = state.agreed.first().is_none_or(Option::is_none);
        if failed_first && !troubles.is_empty() || !state.ranks.iter().any(measured) {
            // Those that were only stopped because of others have nothing to tell.
            let real = |one: &&Trouble| one.why != RunError::Interrupted.to_string();
            let told: Vec<Trouble> = troubles.iter().filter(real).cloned().collect();
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
            let peer = &self.head.peers[number + self.head.first() as usize];
            let host = self.head.host_of(number as u32 + self.head.first());
            let agreed = state.agreed.clone();
            let rank = &mut state.ranks[number];
            let by_our_clock = |at_ns: u64| at_ns.wrapping_add_signed(-peer.ahead_ns);
            let (results, ended_ns) = match rank.end.take() {
                Some(End::Done { results, at_ns }) => {
                    let results = own.take().unwrap_or(*results);
                    rank.end = Some(End::Done {
                        results: Box::new(nothing_measured(Plan::default(), &self.context.clock)),
                        at_ns,
                    });
                    (Some(results), Some(Nanos(by_our_clock(at_ns)).since(began)))
                }
                Some(End::Failed(why)) => {
                    rank.lost = Some(why);
                    (None, None)
                }
                None => (self.so_far(number, rank), None),
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
                    None => self.head.widened_from,
                },
                lost: rank.lost.clone().filter(|_| rank.end.is_none()),
            });
        }
        let mut results = all.finish();
        results.interrupted = self.context.interrupt.load(Ordering::Relaxed);
        results.fleet = Some(Fleet {
            transport: self.head.transport(),
            ranks: facts,
            goes_on: self.head.goes_on,
        });
        Ok(results)
    }

    /// What a rank that was lost had told.
    fn so_far(&self, number: usize, rank: &mut RankState) -> Option<Results> {
        if rank.so_far.iter().all(Option::is_none) {
            return None;
        }
        let mut results = nothing_measured(self.shares[number].plan.clone(), &self.context.clock);
        for (step, so_far) in results.steps.iter_mut().zip(&mut rank.so_far) {
            if let Some(so_far) = so_far.take() {
                *step = so_far.cut_short();
            }
        }
        results.hosts = vec![HostResults {
            environment: Environment {
                host: self.head.machine_of(number as u32 + self.head.first()).clone(),
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
