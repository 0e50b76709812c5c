//! Executes a plan on targets that consist only of a size, to see which operations would be issued,
//! in which order.
//!
//! It calls `Sequence`, `Draws`, `Schedule` and `Filler` as a worker does, on a device that answers
//! immediately and in the order of issue. Tests can thus compare the *plan* with what the other
//! tools really did.

#![allow(dead_code, reason = "the tests of fathom-dialects use a part of it")]

use std::collections::VecDeque;
use std::sync::Arc;

use model::access::SharedAccess;
use model::content::{Filler, WideRandom, source};
use model::draws::{Draws, GeneratorChoice, Purpose, Reduction};
use model::file_choice::{FileChoice, NextFile};
use model::pace::Schedule;
use model::plan::{DepthScope, Job, Pacing, Pattern, Plan, Stop, Stream, StreamTarget, TargetId, Think, Worker};
use model::sequence::{Operation, Sequence};
use model::{Direction, Nanos, PerDirection};
use testbed::With;

/// An operation that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Number of the stream in its worker.
    pub stream: usize,
    /// The slot that carried it, counted within the stream.
    pub slot: u32,
    pub target: TargetId,
    pub operation: Operation,
    /// When it was due, from the start of the job.
    pub due: Nanos,
}

/// Checks that a plan is complete and survives being saved, as every plan must.
pub fn whole(plan: Plan) -> Plan {
    if let Err(error) = plan.check() {
        panic!("{}: {error}", plan.name);
    }
    let saved = serde_json::to_string_pretty(&plan).unwrap();
    let read: Plan = serde_json::from_str(&saved).unwrap_or_else(|error| panic!("{}: {error}\n{saved}", plan.name));
    assert_eq!(read, plan, "{} changes when it is saved", plan.name);
    read
}

/// The operations of each worker of a job, at most `max` per worker. Workers take turns. `sizes`
/// are those of the targets.
pub fn execute(plan: &Plan, step: usize, job: usize, sizes: &[u64], max: usize) -> Vec<Vec<Issued>> {
    let job = &plan.steps[step].jobs[job];
    let shared: Vec<Arc<SharedAccess>> = sizes.iter().map(|_| Arc::default()).collect();
    let mut live: Vec<LiveWorker<'_>> = job
        .workers
        .iter()
        .map(|worker| LiveWorker::new(worker, job, sizes, &shared))
        .collect();
    let mut issued = vec![Vec::new(); live.len()];
    for _ in 0..max {
        for (worker, issued) in live.iter_mut().zip(&mut issued) {
            issued.extend(worker.issue());
        }
    }
    issued
}

/// All operations of a job with a single worker.
pub fn only_worker(plan: &Plan, sizes: &[u64], max: usize) -> Vec<Issued> {
    let mut all = execute(plan, 0, 0, sizes, max);
    assert_eq!(all.len(), 1, "{}", plan.name);
    all.remove(0)
}

fn enough_bytes(stop: &Stop, worker: &Worker, sizes: &[u64]) -> Option<u64> {
    let files = worker.streams.iter().flat_map(|stream| {
        stream
            .target
            .ids()
            .iter()
            .map(|id| stream.region.resolve(sizes[id.0 as usize]).1)
    });
    let regions: u64 = files.sum();
    let of_regions = stop.region_percent.map(|percent| regions * u64::from(percent) / 100);
    stop.bytes.map(|bytes| bytes.0).into_iter().chain(of_regions).min()
}

struct LiveWorker<'plan> {
    plan: &'plan Worker,
    stop: &'plan Stop,
    draws: Draws,
    streams: Vec<LiveStream<'plan>>,
    /// Free slots: the stream that owns each, and its number there. The oldest completion is
    /// reissued first.
    free: VecDeque<(usize, u32)>,
    /// Bytes after which nothing more is issued.
    enough_bytes: Option<u64>,
    issued_bytes: u64,
    issued_operations: u64,
    /// Slots that have carried nothing yet.
    fresh: usize,
}

struct LiveStream<'plan> {
    plan: &'plan Stream,
    /// One sequence for each file of the set, usually one.
    files: Vec<(TargetId, Sequence, bool)>,
    file: usize,
    choice: Option<FileChoice>,
    filler: Filler,
    buffer: Vec<u8>,
    schedules: Schedules,
    now: Nanos,
    since_pause: u32,
    passes: u32,
    done: bool,
}

enum Schedules {
    None,
    Together(Schedule),
    PerDirection(PerDirection<Option<Schedule>>),
}

impl<'plan> LiveWorker<'plan> {
    fn new(plan: &'plan Worker, job: &'plan Job, sizes: &[u64], shared: &[Arc<SharedAccess>]) -> LiveWorker<'plan> {
        let mut draws = plan.draws.start();
        let streams: Vec<_> = plan
            .streams
            .iter()
            .map(|stream| LiveStream::new(plan, stream, sizes, shared, &mut draws))
            .collect();
        let free: VecDeque<_> = match plan.depth {
            DepthScope::PerStream => plan
                .streams
                .iter()
                .enumerate()
                .flat_map(|(index, stream)| (0..stream.depth).map(move |slot| (index, slot)))
                .collect(),
            DepthScope::Shared { operations } => (0..operations).map(|slot| (0, slot)).collect(),
            DepthScope::PerTarget { .. } => unreachable!("bursts are tested in the worker"),
        };
        LiveWorker {
            plan,
            stop: &job.stop,
            draws,
            streams,
            fresh: free.len(),
            free,
            enough_bytes: enough_bytes(&job.stop, plan, sizes),
            issued_bytes: 0,
            issued_operations: 0,
        }
    }

    /// Issues the next operation and completes it immediately. `None` when the worker has finished.
    fn issue(&mut self) -> Option<Issued> {
        let enough = |limit: Option<u64>, sum: u64| limit.is_some_and(|limit| sum >= limit);
        if enough(self.stop.operations, self.issued_operations) || enough(self.enough_bytes, self.issued_bytes) {
            return None;
        }
        for _ in 0..self.free.len() {
            let (owner, slot) = self.free.pop_front()?;
            let number = match self.plan.depth {
                DepthScope::PerStream => owner,
                DepthScope::Shared { .. } => self.choose(),
                DepthScope::PerTarget { .. } => unreachable!("bursts are tested in the worker"),
            };
            self.fresh = self.fresh.saturating_sub(1);
            self.free.push_back((owner, slot));
            if let Some((target, operation, due)) = self.issue_from(number, slot) {
                self.issued_operations += 1;
                self.issued_bytes += u64::from(operation.length);
                return Some(Issued {
                    stream: number,
                    slot,
                    target,
                    operation,
                    due,
                });
            }
        }
        None
    }

    /// Chooses the next stream by weight: DiskSpd draws 32 bits if all weights are equal, and 64
    /// otherwise.
    fn choose(&mut self) -> usize {
        let weights: Vec<u64> = self.plan.streams.iter().map(|s| u64::from(s.weight)).collect();
        if weights.len() == 1 || self.fresh > 0 && self.plan.batching.completion_routines {
            return 0;
        }
        let total: u64 = weights.iter().sum();
        let equal = weights.iter().all(|weight| *weight == weights[0]);
        let mut level = match self.plan.draws {
            GeneratorChoice::DiskSpd { .. } if equal => {
                return self.draws.next_u32(Purpose::Stream) as usize % weights.len();
            }
            GeneratorChoice::DiskSpd { .. } => self.draws.next_below(Purpose::Stream, total, Reduction::Modulo),
            _ => self.draws.next_below(Purpose::Stream, total, Reduction::Lemire),
        };
        let chosen = weights.iter().position(|weight| match level.checked_sub(*weight) {
            Some(rest) => {
                level = rest;
                false
            }
            None => true,
        });
        chosen.unwrap()
    }

    fn issue_from(&mut self, number: usize, slot: u32) -> Option<(TargetId, Operation, Nanos)> {
        loop {
            let stream = &mut self.streams[number];
            if stream.done {
                return None;
            }
            let (due, direction) = stream.due();
            if let Some((target, operation)) = stream.next(&mut self.draws, slot, direction) {
                stream.account(&operation, due, &mut self.draws);
                return Some((target, operation, due));
            }
            stream.passes += 1;
            if self.stop.passes.is_some_and(|passes| stream.passes >= passes) {
                stream.done = true;
                continue;
            }
            // fio begins every pass with the same draws; native passes continue drawing.
            if let GeneratorChoice::Fio { .. } = self.plan.draws {
                self.draws = self.plan.draws.start();
            }
            let stream = &mut self.streams[number];
            stream.file = 0;
            stream.choice.iter_mut().for_each(FileChoice::restart);
            for (_, sequence, done) in &mut stream.files {
                sequence.restart(&mut self.draws);
                *done = false;
            }
        }
    }
}

impl<'plan> LiveStream<'plan> {
    fn new(
        worker: &Worker,
        plan: &'plan Stream,
        sizes: &[u64],
        shared: &[Arc<SharedAccess>],
        draws: &mut Draws,
    ) -> LiveStream<'plan> {
        let slots = match worker.depth {
            DepthScope::PerStream => plan.depth,
            DepthScope::Shared { operations } => operations,
            DepthScope::PerTarget { .. } => unreachable!("bursts are tested in the worker"),
        };
        let files = plan.target.ids().iter().map(|id| {
            let (base, length) = plan.region.resolve(sizes[id.0 as usize]);
            let shared = &shared[id.0 as usize];
            let sequence = Sequence::new(plan.mix, &plan.pattern, base, length, slots, shared, draws);
            (*id, sequence.unwrap_or_else(|error| panic!("{error}")), false)
        });
        let files: Vec<_> = files.collect();
        let choice = match &plan.target {
            StreamTarget::One { .. } => None,
            StreamTarget::Files {
                targets,
                open_at_once,
                service,
                operations,
            } => Some(FileChoice::new(
                *service,
                *operations,
                *open_at_once,
                targets.len(),
                draws,
            )),
        };
        let schedules = match &plan.pacing {
            Pacing::Unpaced => Schedules::None,
            Pacing::Together { rate } => Schedules::Together(Schedule::new(*rate, Nanos(0), Purpose::GapRead, draws)),
            Pacing::PerDirection { rates } => {
                let mut start =
                    |rate: &Option<_>, purpose| rate.map(|rate| Schedule::new(rate, Nanos(0), purpose, draws));
                Schedules::PerDirection(PerDirection {
                    read: start(&rates.read, Purpose::GapRead),
                    write: start(&rates.write, Purpose::GapWrite),
                    trim: start(&rates.trim, Purpose::GapTrim),
                })
            }
        };
        let step = if plan.cache.direct { 512 } else { 1 };
        LiveStream {
            plan,
            files,
            file: 0,
            choice,
            filler: Filler::new(
                &plan.content,
                1,
                WideRandom::fill,
                source(&plan.content, b"", WideRandom::fill, &|| false).unwrap(),
                step,
            ),
            buffer: vec![0; plan.pattern.longest(&plan.mix).0 as usize],
            schedules,
            now: Nanos(0),
            since_pause: 0,
            passes: 0,
            done: false,
        }
    }

    /// When the next operation may be issued, and its direction if a schedule decides that.
    fn due(&self) -> (Nanos, Option<Direction>) {
        let later = |due: Nanos| due.max(self.now);
        match &self.schedules {
            Schedules::None => (self.now, None),
            Schedules::Together(schedule) => (later(schedule.due()), None),
            Schedules::PerDirection(schedules) => {
                let due = schedules
                    .iter()
                    .filter_map(|(direction, schedule)| Some((schedule.as_ref()?.due(), direction)));
                // The first of equals, in the order of directions.
                let (due, direction) = due.reduce(|a, b| if b.0 < a.0 { b } else { a }).unwrap();
                (later(due), Some(direction))
            }
        }
    }

    fn next(&mut self, draws: &mut Draws, slot: u32, direction: Option<Direction>) -> Option<(TargetId, Operation)> {
        while self.choose_file(draws) {
            let (target, sequence, done) = &mut self.files[self.file];
            let operation = match direction {
                Some(_) => sequence.next(draws, slot, direction),
                None => sequence.take(draws, slot, 1).first().copied(),
            };
            match operation {
                Some(operation) => return Some((*target, operation)),
                None => *done = true,
            }
            // A finished file is closed immediately, since nothing stays in flight here.
            if let Some(choice) = &mut self.choice {
                choice.mark_done(self.file);
                choice.mark_closed(self.file);
            }
        }
        None
    }

    /// Makes the chosen file of the set the current one; false if all are finished.
    fn choose_file(&mut self, draws: &mut Draws) -> bool {
        match &mut self.choice {
            None => !self.files[0].2,
            Some(choice) => match choice.next(draws) {
                NextFile::Use(file) | NextFile::Open(file) => {
                    self.file = file;
                    true
                }
                NextFile::Wait | NextFile::AllDone => false,
            },
        }
    }

    fn account(&mut self, operation: &Operation, due: Nanos, draws: &mut Draws) {
        self.now = due;
        if operation.direction == Direction::Write {
            let buffer = &mut self.buffer[..operation.length as usize];
            self.filler.fill(buffer, operation.offset, due, draws);
        }
        match &mut self.schedules {
            Schedules::None => {}
            Schedules::Together(schedule) => schedule.advance(operation.length, draws),
            Schedules::PerDirection(schedules) => {
                let schedule = schedules[operation.direction].as_mut().unwrap();
                schedule.advance(operation.length, draws);
            }
        }
        if let Some(Think {
            pause_ns, operations, ..
        }) = self.plan.think
        {
            self.since_pause += 1;
            if self.since_pause == operations {
                self.since_pause = 0;
                self.now += pause_ns;
            }
        }
    }
}

/// A pattern with one access for all directions.
pub fn build_pattern(access: model::access::Access, block: u64, alignment: u64) -> Pattern {
    Pattern::simple(access, model::Bytes(block))
        .with(|pattern| pattern.alignment = PerDirection::all(model::Bytes(alignment)))
}
