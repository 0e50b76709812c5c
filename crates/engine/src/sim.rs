//! The engine for simulated devices, which tests of the rest of the program use. Time is simulated
//! too: a turn does not wait, but moves the worker's clock to the next completion or deadline. So a
//! run of minutes takes milliseconds. All workers that use a device share its state and take turns
//! in the order of their clocks ([`Simulation`]), so the same plan gives the same figures every
//! time.

mod device;
mod disturbances;
mod layer;
mod simulation;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Nanos;
use model::plan::{EngineKind, SimulatedPause};
use model::results::EngineUsed;

use crate::batch::{Batch, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::error::EngineError;
use crate::{Engine, File, Setup};
use device::OperationDraws;
use simulation::Turn;
pub use simulation::{SimulatedWorker, Simulation};

pub(crate) struct SimulatedEngine {
    worker: SimulatedWorker,
    host: Host,
    submit_batch: u32,
}

/// State of one worker: its clock, its buffers and its operations in flight.
struct Host {
    /// The clock of this worker. No other worker's clock is behind it when the worker's turn
    /// begins.
    now: Nanos,
    buffers: SharedBuffers,
    /// Operations in flight by completion time, then by order of submission.
    pending: BinaryHeap<Reverse<(Nanos, u64, Slot, i64)>>,
    submitted: u64,
    draws: OperationDraws,
    /// Number of the device behind each file.
    devices: Vec<Option<u32>>,
    pauses: Vec<SimulatedPause>,
    /// At least one device completes operations inside the submitting call.
    inline: bool,
    /// Every device completes operations inside that call, because the plan requests a synchronous
    /// engine.
    depth_is_one: bool,
}

impl SimulatedEngine {
    pub(crate) fn open(setup: Setup) -> Result<SimulatedEngine, EngineError> {
        let buffers = SharedBuffers::new(&setup)?;
        let Some(worker) = setup.simulated else {
            return Err(not_simulated());
        };
        let joined = worker.register(setup.seed);
        Ok(SimulatedEngine {
            host: Host {
                now: joined.now,
                buffers,
                pending: BinaryHeap::with_capacity(setup.slots as usize),
                submitted: 0,
                draws: OperationDraws::new(setup.seed),
                devices: setup.files.iter().map(File::simulated_device).collect(),
                pauses: joined.host_pauses,
                inline: joined.inline || setup.depth_is_one,
                depth_is_one: setup.depth_is_one,
            },
            worker,
            submit_batch: setup.submit_batch,
        })
    }
}

fn not_simulated() -> EngineError {
    EngineError::unavailable(
        EngineKind::Simulated,
        "the target is not a simulated device",
        "describe one in the job file, or choose another engine",
    )
}

impl Host {
    /// Moves the clock forward, over pauses of the host.
    fn advance_to(&mut self, instant: Nanos) {
        self.now = after_pauses(&self.pauses, self.now.max(instant));
    }

    /// Submits one operation and computes its completion time.
    fn submit(&mut self, turn: &mut Turn<'_>, request: &Request) -> Result<(), EngineError> {
        let number = self.devices.get(usize::from(request.file)).copied().flatten();
        let number = number.ok_or_else(not_simulated)?;
        self.buffers.claim(request.slot, 0);
        self.submitted += 1;
        self.advance_to(self.now + turn.device(number)?.plan().submit_cost_ns);
        turn.advance(self.now);
        let device = turn.device(number)?;
        let (end, result) = device.serve(request, self.now, &mut self.draws);
        let inline = device.plan().inline || self.depth_is_one;
        self.pending.push(Reverse((end, self.submitted, request.slot, result)));
        if inline {
            self.advance_to(end);
        }
        Ok(())
    }

    /// Reaps the operations completed by now.
    fn reap(&mut self, batch: &mut Batch) {
        while let Some(Reverse((at, ..))) = self.pending.peek()
            && *at <= self.now
        {
            let Some(Reverse((_, _, slot, result))) = self.pending.pop() else {
                break;
            };
            self.buffers.release(slot);
            batch.done.push(slot, result, self.now);
        }
    }
}

/// The first instant at or after `instant` that is in no pause.
fn after_pauses(pauses: &[SimulatedPause], instant: Nanos) -> Nanos {
    pauses.iter().fold(instant, |at, pause| {
        let end = pause.at_ns + pause.length_ns;
        if at >= pause.at_ns && at < end { end } else { at }
    })
}

impl Engine for SimulatedEngine {
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submitted = 0;
        let host = &mut self.host;
        let mut turn = self.worker.turn();
        host.advance_to(turn.clock());
        batch.submit_start = host.now;
        for request in requests {
            host.submit(&mut turn, request)?;
            batch.submitted += 1;
        }
        batch.submit_end = host.now;
        host.reap(batch);
        while (batch.done.len() as u32) < wait_nr {
            match host.pending.peek() {
                Some(Reverse((at, ..))) if *at <= until => host.advance_to(*at),
                _ if until != Nanos::NEVER => {
                    host.advance_to(until);
                    host.reap(batch);
                    break;
                }
                _ => break,
            }
            host.reap(batch);
        }
        batch.reap_time = host.now;
        // Everything that the worker does until its next turn happens at this time, so workers with
        // earlier clocks go first.
        turn.advance(host.now);
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.host.now
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.host.buffers.idle_buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        if let Some(place) = self.host.devices.get_mut(usize::from(index)) {
            *place = replacement.simulated_device();
        }
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Simulated,
            submit_batch: self.submit_batch,
            inline: self.host.inline,
            ..EngineUsed::default()
        }
    }
}
