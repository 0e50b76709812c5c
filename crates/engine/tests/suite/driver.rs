//! A small driver over the [`Engine`] trait that checks every guarantee in every turn.

use std::collections::VecDeque;
use std::sync::OnceLock;

use engine::clock::ClockStart;
use engine::{Action, Batch, Clock, Completion, Engine, EngineError, File, Request, Setup, Simulation, Slot};
use model::plan::{ENGINES, Effect, EngineChoice, EngineKind, SimulatedDevice};
use model::{Bytes, Nanos};
use testbed::With;

use crate::watchdog::watch;

/// Size of a block; every target accepts it.
pub const BLOCK: u32 = 4096;

/// Every engine of this system that transfers data, or simulates it. The other engines have tests
/// of their own. An emulator does not support the system calls of all engines: `FATHOM_ENGINES`
/// names those that it supports.
pub fn engines() -> impl Iterator<Item = EngineKind> {
    let here = ENGINES
        .iter()
        .filter(|engine| engine.is_here() && engine.kind != EngineKind::Auto);
    here.filter(|engine| matches!(engine.effect, Effect::Transfer | Effect::Simulate))
        .map(|engine| engine.kind)
        // Some versions of a system lack an engine.
        .filter(|kind| engine::unsupported_reason(*kind, true).is_none())
        .filter(|kind| only().is_none_or(|only| only.contains(kind)))
}

/// True if an emulator executes the program.
pub fn emulated() -> bool {
    only().is_some()
}

/// The engines named in the environment, if any.
fn only() -> Option<&'static [EngineKind]> {
    static ONLY: OnceLock<Option<Vec<EngineKind>>> = OnceLock::new();
    let listed = || {
        let list = std::env::var("FATHOM_ENGINES").ok()?;
        let kind = |name: &str| ENGINES.iter().find(|engine| engine.name == name).unwrap().kind;
        Some(list.split(',').map(kind).collect())
    };
    ONLY.get_or_init(listed).as_deref()
}

/// Every engine that really transfers data.
pub fn real_engines() -> impl Iterator<Item = EngineKind> {
    engines().filter(|kind| !kind.simulates_io())
}

/// The clock of all tests.
pub fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(|| ClockStart::now().calibrate())
}

/// The setup that most tests start from.
pub fn setup(kind: EngineKind, files: Vec<File>, slots: u32) -> Setup {
    let size = files.iter().map(File::size).max().unwrap_or(0);
    Setup {
        depth_is_one: kind.is_synchronous(),
        submit_batch: slots.min(32),
        buffer_bytes: BLOCK as usize,
        simulated: (kind == EngineKind::Simulated).then(|| {
            Simulation::for_one_worker(
                SimulatedDevice::default().with(|device| (device.size, device.servers) = (Bytes(size), 4)),
            )
        }),
        seed: 1,
        ..Setup::new(EngineChoice::new(kind), files, slots, clock())
    }
}

/// An operation without a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub action: Action,
    pub offset: u64,
    pub length: u32,
    pub file: u16,
}

impl Job {
    pub fn read(offset: u64) -> Job {
        Job {
            action: Action::Read,
            offset,
            length: BLOCK,
            file: 0,
        }
    }

    pub fn write(offset: u64) -> Job {
        Job::read(offset).with(|job| job.action = Action::Write)
    }

    pub fn flush(action: Action) -> Job {
        Job::read(0).with(|job| (job.action, job.length) = (action, 0))
    }

    pub fn trim(offset: u64, length: u32) -> Job {
        Job::read(offset).with(|job| (job.action, job.length) = (Action::Trim, length))
    }

    pub fn in_file(self, file: u16) -> Job {
        Job { file, ..self }
    }

    pub fn in_slot(self, slot: u32) -> Request {
        Request {
            offset: self.offset,
            length: self.length,
            slot: Slot(slot),
            file: self.file,
            action: self.action,
        }
    }
}

/// Reads of consecutive blocks, one for each slot.
pub fn reads(count: u32) -> Vec<Request> {
    (0..count)
        .map(|slot| Job::read(u64::from(slot) * u64::from(BLOCK)).in_slot(slot))
        .collect()
}

/// A completed job.
#[derive(Clone, Debug)]
pub struct Done {
    pub job: Job,
    pub result: i64,
    /// The data of a read.
    pub data: Vec<u8>,
}

/// An engine with its slots.
pub struct Rig {
    // The batch and the engine may be used directly; the rig does not see that.
    pub engine: Box<dyn Engine>,
    pub batch: Batch,
    busy: Vec<Option<Request>>,
    depth_is_one: bool,
    submit_batch: usize,
    name: String,
    last_reaped: Nanos,
    /// Chooses batch sizes, and how many completions to wait for.
    dice: u64,
}

impl Rig {
    pub fn open(setup: Setup) -> Result<Rig, EngineError> {
        let (slots, submit_batch, kind) = (setup.slots, setup.submit_batch as usize, setup.choice.kind);
        let depth_is_one = setup.depth_is_one;
        let _watched = watch(&format!("opening {}", kind.name()));
        let mut engine = engine::open(setup)?;
        let name = format!("{} at depth {slots}", kind.name());
        // A buffer must change when data is read into it, so it must not contain that data at the
        // start.
        for slot in 0..slots {
            engine.buffer(Slot(slot)).fill(0xee);
        }
        Ok(Rig {
            last_reaped: engine.now(),
            engine,
            batch: Batch::new(slots),
            busy: vec![None; slots as usize],
            depth_is_one,
            submit_batch,
            name,
            dice: 0x9e37_79b9_7f4a_7c15 ^ u64::from(slots),
        })
    }

    /// An engine with the default setup.
    pub fn new(kind: EngineKind, files: Vec<File>, slots: u32) -> Rig {
        Rig::open(setup(kind, files, slots)).unwrap()
    }

    /// Operations in flight.
    pub fn in_flight(&self) -> usize {
        self.busy.iter().flatten().count()
    }

    /// Performs one turn, checks every guarantee of an engine, and returns the completed
    /// operations.
    pub fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos) -> Vec<(Request, Completion)> {
        self.try_turn(requests, at_least, until).unwrap()
    }

    pub fn try_turn(
        &mut self,
        requests: &[Request],
        at_least: u32,
        until: Nanos,
    ) -> Result<Vec<(Request, Completion)>, EngineError> {
        let name = &self.name;
        for request in requests {
            assert!(
                self.busy[request.slot.0 as usize].is_none(),
                "{name}: the test uses a slot twice"
            );
        }
        {
            let _watched = watch(&format!("{name}: {} requests, at least {at_least}", requests.len()));
            self.engine
                .submit_and_reap(requests, at_least, until, &mut self.batch)?;
        }
        let (batch, now) = (&self.batch, self.engine.now());

        let submitted = batch.submitted as usize;
        assert!(submitted <= requests.len(), "{name}: more submitted than asked for");
        for request in &requests[..submitted] {
            self.busy[request.slot.0 as usize] = Some(*request);
        }

        assert!(
            batch.submit_start >= self.last_reaped,
            "{name}: a turn begins before the last ended"
        );
        assert!(batch.submit_start <= batch.submit_end, "{name}: {batch:?}");
        assert!(batch.submit_end <= batch.reap_time, "{name}: {batch:?}");
        assert!(batch.reap_time <= now, "{name}: {batch:?}");
        let mut last = batch.submit_start;
        let mut ended = Vec::new();
        for completion in batch.done.iter() {
            assert!(completion.at >= last, "{name}: stamps go backwards: {batch:?}");
            assert!(
                completion.at <= batch.reap_time,
                "{name}: reaped before it was done: {batch:?}"
            );
            last = completion.at;
            let request = self.busy[completion.slot.0 as usize].take();
            let request = request.unwrap_or_else(|| panic!("{name}: {:?} ended, but was free", completion.slot));
            ended.push((request, *completion));
        }

        if self.depth_is_one {
            assert_eq!(ended.len(), submitted, "{name}: nothing may stay in flight");
            let stopped = submitted < requests.len();
            for (index, (_, completion)) in ended.iter().enumerate() {
                let is_last = index + 1 == ended.len();
                assert!(completion.at < until || is_last, "{name}: continues after the deadline");
                assert!(
                    !(stopped && is_last) || completion.at >= until,
                    "{name}: stops before the deadline"
                );
            }
            assert!(requests.is_empty() || submitted > 0, "{name}: nothing completed");
        }
        self.last_reaped = batch.reap_time;
        Ok(ended)
    }

    /// Waits until the clock reaches `until`, turn by turn, as the engine's user does.
    pub fn sleep(&mut self, until: Nanos) -> u32 {
        let mut turns = 0;
        while self.engine.now() < until {
            let ended = self.turn(&[], 1, until);
            assert!(
                ended.is_empty(),
                "{}: something completed although nothing was in flight",
                self.name
            );
            turns += 1;
        }
        turns
    }

    /// Executes jobs, as many in parallel as there are slots, in batches of all sizes. `fill`
    /// prepares the buffer of each write.
    pub fn run(&mut self, jobs: &[Job], mut fill: impl FnMut(&Job, &mut [u8])) -> Vec<Done> {
        let mut waiting: VecDeque<Job> = jobs.iter().copied().collect();
        let mut all = Vec::with_capacity(jobs.len());
        let mut requests: Vec<Request> = Vec::new();
        while all.len() < jobs.len() {
            let mut free: VecDeque<u32> = (0..self.busy.len() as u32)
                .filter(|slot| {
                    self.busy[*slot as usize].is_none() && requests.iter().all(|request| request.slot.0 != *slot)
                })
                .collect();
            while requests.len() < self.submit_batch
                && let Some(slot) = free.pop_front()
            {
                let Some(job) = waiting.pop_front() else { break };
                if job.action == Action::Write {
                    fill(&job, &mut self.engine.buffer(Slot(slot))[..job.length as usize]);
                }
                requests.push(job.in_slot(slot));
            }
            let count = if requests.is_empty() {
                0
            } else {
                1 + self.roll(requests.len() as u64) as usize
            };
            let in_flight = self.in_flight() + count;
            let at_least = self.roll(in_flight as u64 + 1) as u32;
            let until = match self.roll(4) {
                0 => self.engine.now() + Nanos::micros(200),
                _ => Nanos::NEVER,
            };
            let ended = self.turn(&requests[..count], at_least, until);
            requests.drain(..self.batch.submitted as usize);
            for (request, completion) in ended {
                let count = completion.result.max(0) as usize;
                let data = match request.action {
                    Action::Read => self.engine.buffer(request.slot)[..count].to_vec(),
                    _ => Vec::new(),
                };
                let job = Job {
                    action: request.action,
                    offset: request.offset,
                    length: request.length,
                    file: request.file,
                };
                all.push(Done {
                    job,
                    result: completion.result,
                    data,
                });
            }
        }
        assert_eq!(self.in_flight(), 0, "{}", self.name);
        all
    }

    /// Executes a single job and returns its result.
    pub fn one(&mut self, job: Job) -> i64 {
        self.run(&[job], |job, buffer| pattern(buffer, job.offset, 9))[0].result
    }

    /// Executes jobs that must all succeed completely.
    pub fn run_successfully(&mut self, jobs: &[Job], fill: impl FnMut(&Job, &mut [u8])) -> Vec<Done> {
        let done = self.run(jobs, fill);
        for done in &done {
            let expected = match done.job.action {
                Action::Read | Action::Write | Action::Trim => i64::from(done.job.length),
                _ => 0,
            };
            assert_eq!(done.result, expected, "{}: {:?}", self.name, done.job);
        }
        done
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % sides
    }
}

/// The expected content at an offset: different for each offset and generation.
pub fn pattern(buffer: &mut [u8], offset: u64, generation: u64) {
    for (index, word) in buffer.chunks_mut(8).enumerate() {
        let mut value = (offset + index as u64 * 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ generation << 56;
        value ^= value >> 29;
        let bytes = value.to_le_bytes();
        word.copy_from_slice(&bytes[..word.len()]);
    }
}

/// The pattern as bytes.
pub fn patterned(offset: u64, length: usize, generation: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    pattern(&mut bytes, offset, generation);
    bytes
}

/// The numbers below `count` in an order that is always the same.
pub fn shuffled(count: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    let mut state = 88_172_645_463_325_252u64;
    for index in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(index, state as usize % (index + 1));
    }
    order
}
