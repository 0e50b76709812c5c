//! A simulated device: its description, and the state that its users share. Either the cache serves
//! an operation, or the operation passes the layers in order and the device serves it. The
//! completion time is computed on arrival, so operations must arrive in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Nanos;
use model::draws::{Draws, GeneratorChoice, Purpose};
use model::plan::{CacheContents, SimulatedDevice, SimulatedFault, SimulatedService};

use super::after_pauses;
use super::disturbances::Disturbances;
use super::layer::Layer;
use crate::batch::{Action, Request};

#[derive(Debug)]
pub(super) struct Device {
    plan: SimulatedDevice,
    /// Number of operations that have arrived from all workers.
    operations: u64,
    /// The lowest worker number among its users, and that worker's seed.
    seed: (u32, u64),
    /// `None` before the first operation.
    state: Option<State>,
}

/// State that operations change.
#[derive(Debug)]
struct State {
    /// When each server is free again.
    servers: BinaryHeap<Reverse<Nanos>>,
    /// Earliest start of the next operation under the caps.
    next_by_iops: Nanos,
    next_by_bytes: Nanos,
    layers: Vec<Layer>,
    disturbances: Disturbances,
    /// Random draws for the device itself, separate from its users' draws.
    draws: Draws,
}

/// Random draws for the operations of one worker: cache hits and service times. With separate
/// draws, workers do not affect each other.
#[derive(Debug)]
pub(super) struct OperationDraws(Draws);

impl Device {
    pub(super) fn new(plan: SimulatedDevice) -> Device {
        Device {
            plan,
            operations: 0,
            seed: (u32::MAX, 0),
            state: None,
        }
    }

    pub(super) fn plan(&self) -> &SimulatedDevice {
        &self.plan
    }

    /// Offers a seed. The device keeps the seed of the lowest worker, regardless of the order in
    /// which workers are set up.
    pub(super) fn offer_seed(&mut self, worker: u32, seed: u64) {
        self.seed = self.seed.min((worker, seed));
    }

    /// Serves an operation that arrives at `arrival`. Returns the completion time and a result:
    /// bytes transferred or a negative error number.
    pub(super) fn serve(&mut self, io: &Request, arrival: Nanos, draws: &mut OperationDraws) -> (Nanos, i64) {
        self.operations += 1;
        let (plan, seed) = (&self.plan, self.seed.1);
        let state = self.state.get_or_insert_with(|| State::new(plan, seed));
        (state.completion_time(plan, io, arrival, draws), self.result(io))
    }

    fn result(&self, io: &Request) -> i64 {
        let moved = match io.action {
            Action::Read | Action::Write | Action::Trim => i64::from(io.length),
            Action::Flush | Action::FlushData | Action::FlushRange(_) => 0,
        };
        for fault in &self.plan.faults {
            match *fault {
                SimulatedFault::Nth { operation, errno: 0 } if operation == self.operations => return moved / 2,
                SimulatedFault::Nth { operation, errno } if operation == self.operations => return -i64::from(errno),
                SimulatedFault::From { operation, errno } if self.operations >= operation => {
                    return -i64::from(errno);
                }
                SimulatedFault::Bytes { offset, length, errno }
                    if io.offset < offset.saturating_add(length) && io.offset + u64::from(io.length) > offset =>
                {
                    return -i64::from(errno);
                }
                _ => {}
            }
        }
        moved
    }
}

impl State {
    fn new(plan: &SimulatedDevice, seed: u64) -> State {
        let mut draws = start_draws(seed);
        State {
            servers: (0..plan.servers.max(1)).map(|_| Reverse(Nanos(0))).collect(),
            next_by_iops: Nanos(0),
            next_by_bytes: Nanos(0),
            layers: plan.layers.iter().map(|layer| Layer::new(*layer)).collect(),
            disturbances: Disturbances::new(plan, &mut draws),
            draws,
        }
    }

    fn completion_time(
        &mut self,
        plan: &SimulatedDevice,
        io: &Request,
        mut arrival: Nanos,
        draws: &mut OperationDraws,
    ) -> Nanos {
        let hit = draws.cache_hit(plan, io);
        for layer in self.layers.iter_mut().filter(|layer| layer.applies_to(io, hit)) {
            arrival = layer.schedule(arrival, io.length);
        }
        match plan.cache.filter(|_| hit) {
            Some(cache) => arrival + cache.time_ns.max(Nanos(1)),
            None => self.serve_after_layers(plan, io, arrival, draws),
        }
    }

    /// Completion time of an operation that has passed the layers at `arrival`.
    fn serve_after_layers(
        &mut self,
        plan: &SimulatedDevice,
        io: &Request,
        arrival: Nanos,
        draws: &mut OperationDraws,
    ) -> Nanos {
        let Reverse(free) = self.servers.pop().unwrap_or(Reverse(Nanos(0)));
        let mut start = arrival.max(free);
        if let Some(gap) = 1_000_000_000u64.checked_div(plan.iops_cap) {
            start = start.max(self.next_by_iops);
            self.next_by_iops = start + Nanos(gap);
        }
        if plan.bytes_per_second_cap > 0 {
            start = start.max(self.next_by_bytes);
            let time = u128::from(io.length) * 1_000_000_000 / u128::from(plan.bytes_per_second_cap);
            self.next_by_bytes = start + Nanos(time as u64);
        }
        start = after_pauses(&plan.stalls, start);
        start = self.disturbances.skip_collections(plan, start, &mut self.draws);
        let writes = matches!(io.action, Action::Write);
        if writes {
            self.disturbances.record_write(io.length);
        }
        let factor = self.disturbances.slowdown_at(plan, start, writes, &mut self.draws);
        let time = draws.service_time(&plan.service);
        let time = match factor == 1.0 {
            true => time,
            false => Nanos(((time.0 as f64 * factor) as u64).max(1)),
        };
        let mut end = start + time;
        // A stall extends the operations that it interrupts.
        for stall in &plan.stalls {
            if stall.at_ns > start && stall.at_ns < end {
                end += stall.length_ns;
            }
        }
        self.servers.push(Reverse(end));
        end
    }
}

fn start_draws(seed: u64) -> Draws {
    GeneratorChoice::Native {
        seed: seed ^ 0x51e0_11a7_ed00_0001,
    }
    .start()
}

impl OperationDraws {
    pub(super) fn new(seed: u64) -> OperationDraws {
        OperationDraws(start_draws(seed))
    }

    /// True if the cache holds the data of a read.
    fn cache_hit(&mut self, plan: &SimulatedDevice, io: &Request) -> bool {
        let Some(cache) = plan.cache.filter(|_| matches!(io.action, Action::Read)) else {
            return false;
        };
        match cache.holds {
            CacheContents::Share { hits } => self.0.next_f64(Purpose::Mix) < hits,
            CacheContents::First { size } => io.offset + u64::from(io.length) <= size.0,
        }
    }

    fn service_time(&mut self, service: &SimulatedService) -> Nanos {
        let time = match *service {
            SimulatedService::Constant { time_ns } => time_ns.0,
            SimulatedService::Exponential { mean_ns } => {
                (-libm::log(1.0 - self.0.next_f64(Purpose::Offset)) * mean_ns.0 as f64) as u64
            }
            SimulatedService::Uniform { low_ns, high_ns } => {
                low_ns.0 + (self.0.next_f64(Purpose::Offset) * high_ns.since(low_ns).0 as f64) as u64
            }
            SimulatedService::Lognormal { median_ns, sigma } => {
                (median_ns.0 as f64 * libm::exp(sigma * self.standard_normal())) as u64
            }
            SimulatedService::Bimodal {
                fast_ns,
                slow_ns,
                slow_share,
            } => match self.0.next_f64(Purpose::Offset) < slow_share {
                true => slow_ns.0,
                false => fast_ns.0,
            },
        };
        // Take at least a nanosecond, or a run with a time limit would never end.
        Nanos(time.max(1))
    }

    /// A draw from the standard normal distribution (Box and Muller 1958).
    fn standard_normal(&mut self) -> f64 {
        let (radius, angle) = (self.0.next_f64(Purpose::Offset), self.0.next_f64(Purpose::Offset));
        (-2.0 * libm::log(1.0 - radius)).sqrt() * libm::cos(std::f64::consts::TAU * angle)
    }
}
