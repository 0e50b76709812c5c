//! A simulated device with its own clock: the truth that the rest of the program is tested against.
//!
//! An operation is served by the cache, or passes the layers one after the other and is then served by the device itself.
//! Nothing waits: a turn moves the clock to the next completion or the deadline. A run of minutes takes milliseconds, and
//! the same plan gives the same figures every time.

mod layer;
mod moods;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Nanos;
use model::draws::{Draws, DrawsForm, Purpose};
use model::plan::{EngineKind, SimulatedDevice, SimulatedFault, SimulatedHolding, SimulatedPause, SimulatedService};
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::error::EngineError;
use crate::{Engine, File, Setup};
use layer::Layer;
use moods::Moods;

pub(crate) struct Simulated {
    device: SimulatedDevice,
    buffers: SharedBuffers,
    /// Operations in flight by completion time, then by order of arrival.
    pending: BinaryHeap<Reverse<(Nanos, u64, Slot, i64)>>,
    /// When each server is free again.
    servers: BinaryHeap<Reverse<Nanos>>,
    /// When the caps let the next operation start.
    next_by_iops: Nanos,
    next_by_bytes: Nanos,
    layers: Vec<Layer>,
    moods: Moods,
    now: Nanos,
    arrivals: u64,
    draws: Draws,
    submit_batch: u32,
}

impl Simulated {
    pub(crate) fn open(setup: Setup) -> Result<Simulated, EngineError> {
        let device = setup.simulated.clone().ok_or_else(|| {
            EngineError::unavailable(
                EngineKind::Simulated,
                "the target is not a simulated device",
                "describe one in the job file, or choose another engine",
            )
        })?;
        let servers = (0..device.servers.max(1)).map(|_| Reverse(Nanos(0))).collect();
        let mut draws = DrawsForm::Native {
            seed: setup.seed ^ 0x51e0_11a7_ed00_0001,
        }
        .start();
        Ok(Simulated {
            layers: device.layers.iter().map(|layer| Layer::new(*layer)).collect(),
            moods: Moods::new(&device, &mut draws),
            buffers: SharedBuffers::new(&setup)?,
            pending: BinaryHeap::with_capacity(setup.slots as usize),
            servers,
            next_by_iops: Nanos(0),
            next_by_bytes: Nanos(0),
            now: Nanos(0),
            arrivals: 0,
            draws,
            submit_batch: setup.submit_batch,
            device,
        })
    }

    /// Moves the host's clock forward, over pauses of the host.
    fn advance_to(&mut self, instant: Nanos) {
        self.now = self.now.max(instant);
        self.now = after_pauses(&self.device.host_pauses, self.now);
    }

    fn service_time(&mut self) -> Nanos {
        let time = match self.device.service {
            SimulatedService::Constant { time_ns } => time_ns.0,
            SimulatedService::Exponential { mean_ns } => {
                (-libm::log(1.0 - self.draws.unit(Purpose::Offset)) * mean_ns.0 as f64) as u64
            }
            SimulatedService::Uniform { low_ns, high_ns } => {
                low_ns.0 + (self.draws.unit(Purpose::Offset) * high_ns.since(low_ns).0 as f64) as u64
            }
            SimulatedService::Lognormal { median_ns, sigma } => {
                (median_ns.0 as f64 * libm::exp(sigma * self.standard_normal())) as u64
            }
            SimulatedService::Bimodal {
                fast_ns,
                slow_ns,
                slow_share,
            } => match self.draws.unit(Purpose::Offset) < slow_share {
                true => slow_ns.0,
                false => fast_ns.0,
            },
        };
        // At least a nanosecond, or a run with a time limit would never end.
        Nanos(time.max(1))
    }

    /// A draw from the standard normal distribution (Box and Muller 1958).
    fn standard_normal(&mut self) -> f64 {
        let (radius, angle) = (self.draws.unit(Purpose::Offset), self.draws.unit(Purpose::Offset));
        (-2.0 * libm::log(1.0 - radius)).sqrt() * libm::cos(std::f64::consts::TAU * angle)
    }

    /// Whether the cache holds what an operation wants.
    fn hits(&mut self, io: &Request) -> bool {
        let Some(cache) = self.device.cache.filter(|_| matches!(io.action, Action::Read)) else {
            return false;
        };
        match cache.holds {
            SimulatedHolding::Share { hits } => self.draws.unit(Purpose::Mix) < hits,
            SimulatedHolding::First { size } => io.offset + u64::from(io.length) <= size.0,
        }
    }

    /// When an operation that arrives now will be done.
    fn serve(&mut self, io: &Request) -> Nanos {
        let hit = self.hits(io);
        let mut arrival = self.now;
        for layer in self.layers.iter_mut().filter(|layer| layer.concerns(io, hit)) {
            arrival = layer.pass(arrival, io.length);
        }
        match self.device.cache.filter(|_| hit) {
            Some(cache) => arrival + cache.time_ns.max(Nanos(1)),
            None => self.serve_behind_the_layers(io, arrival),
        }
    }

    /// When an operation that has passed the layers at `arrival` will be done.
    fn serve_behind_the_layers(&mut self, io: &Request, arrival: Nanos) -> Nanos {
        let Reverse(free) = self.servers.pop().unwrap_or(Reverse(Nanos(0)));
        let mut start = arrival.max(free);
        if let Some(gap) = 1_000_000_000u64.checked_div(self.device.iops_cap) {
            start = start.max(self.next_by_iops);
            self.next_by_iops = start + Nanos(gap);
        }
        if self.device.bytes_per_second_cap > 0 {
            start = start.max(self.next_by_bytes);
            let time = u128::from(io.length) * 1_000_000_000 / u128::from(self.device.bytes_per_second_cap);
            self.next_by_bytes = start + Nanos(time as u64);
        }
        start = after_pauses(&self.device.stalls, start);
        start = self.moods.after_collections(&self.device, start, &mut self.draws);
        let writes = matches!(io.action, Action::Write);
        if writes {
            self.moods.write(io.length);
        }
        let factor = self.moods.factor(&self.device, start, writes, &mut self.draws);
        let time = self.service_time();
        let time = match factor == 1.0 {
            true => time,
            false => Nanos(((time.0 as f64 * factor) as u64).max(1)),
        };
        let mut end = start + time;
        // Work that a stall interrupts goes on after it.
        for stall in &self.device.stalls {
            if stall.at_ns > start && stall.at_ns < end {
                end += stall.for_ns;
            }
        }
        self.servers.push(Reverse(end));
        end
    }

    fn outcome(&self, io: &Request) -> i64 {
        let moved = match io.action {
            Action::Read | Action::Write | Action::Trim => i64::from(io.length),
            Action::Flush | Action::FlushData | Action::FlushRange(_) => 0,
        };
        for fault in &self.device.faults {
            match *fault {
                SimulatedFault::Nth { operation, errno: 0 } if operation == self.arrivals => return moved / 2,
                SimulatedFault::Nth { operation, errno } if operation == self.arrivals => return -i64::from(errno),
                SimulatedFault::From { operation, errno } if self.arrivals >= operation => return -i64::from(errno),
                SimulatedFault::Bytes { offset, length, errno }
                    if io.offset < offset + length && io.offset + u64::from(io.length) > offset =>
                {
                    return -i64::from(errno);
                }
                _ => {}
            }
        }
        moved
    }

    fn take_done(&mut self, done: &mut Batch) {
        while let Some(Reverse((at, ..))) = self.pending.peek()
            && *at <= self.now
        {
            let Some(Reverse((_, _, slot, result))) = self.pending.pop() else {
                break;
            };
            self.buffers.release(slot);
            done.done.push(Completion {
                slot,
                result,
                at: self.now,
            });
        }
    }
}

/// The first instant at or after `instant` that lies in no pause.
fn after_pauses(pauses: &[SimulatedPause], instant: Nanos) -> Nanos {
    pauses.iter().fold(instant, |at, pause| {
        let end = pause.at_ns + pause.for_ns;
        if at >= pause.at_ns && at < end { end } else { at }
    })
}

impl Engine for Simulated {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        self.advance_to(self.now);
        done.before = self.now;
        done.submitted = requests.len() as u32;
        for request in requests {
            self.buffers.claim(request.slot, 0);
            self.arrivals += 1;
            self.advance_to(self.now + self.device.submit_cost_ns);
            let end = self.serve(request);
            let result = self.outcome(request);
            self.pending.push(Reverse((end, self.arrivals, request.slot, result)));
            if self.device.inline {
                self.advance_to(end);
            }
        }
        done.returned = self.now;
        self.take_done(done);
        while (done.done.len() as u32) < at_least {
            match self.pending.peek() {
                Some(Reverse((at, ..))) if *at <= until => self.advance_to(*at),
                _ if until != Nanos::NEVER => {
                    self.advance_to(until);
                    self.take_done(done);
                    break;
                }
                _ => break,
            }
            self.take_done(done);
        }
        done.reaped = self.now;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.of_free(slot)
    }

    fn exchange_file(&mut self, _: u16, _: File) -> Result<(), EngineError> {
        // It touches none.
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Simulated,
            submit_batch: self.submit_batch,
            inline: self.device.inline,
            ..EngineUsed::default()
        }
    }
}
