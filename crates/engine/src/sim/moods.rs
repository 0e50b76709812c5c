//! What makes the simulated device slower at times: a write buffer that is full, tidying up, neighbours, age.

use model::Nanos;
use model::draws::{Draws, Purpose};
use model::plan::{SimulatedCollection, SimulatedDevice, SimulatedNeighbour, SimulatedPause};

use super::after_pauses;

/// The state of all that changes with time and use.
#[derive(Debug)]
pub(super) struct Moods {
    written: u64,
    /// When it tidies up next, for how long, and whether anything was written since the last time.
    collection: Option<(SimulatedPause, bool)>,
    /// When the neighbour comes next, and for how long.
    visit: Option<SimulatedPause>,
}

impl Moods {
    pub(super) fn new(device: &SimulatedDevice, draws: &mut Draws) -> Moods {
        let first = |is: &SimulatedCollection| SimulatedPause {
            at_ns: about(is.every_ns, draws),
            for_ns: is.first_ns,
        };
        let collection = device.collection.as_ref().map(first).map(|pause| (pause, false));
        let visit = device.neighbour.as_ref().map(|is| next_visit(is, Nanos(0), draws));
        Moods {
            written: 0,
            collection,
            visit,
        }
    }

    /// Notes that bytes are being written.
    pub(super) fn write(&mut self, length: u32) {
        self.written += u64::from(length);
        if let Some((_, wrote)) = &mut self.collection {
            *wrote = true;
        }
    }

    /// The first instant from `at` on at which the device does not tidy up. Instants never go back by more than the
    /// pauses last.
    pub(super) fn after_collections(&mut self, device: &SimulatedDevice, at: Nanos, draws: &mut Draws) -> Nanos {
        let (Some(is), Some((pause, wrote))) = (&device.collection, &mut self.collection) else {
            return at;
        };
        let mut at = at;
        while at >= pause.at_ns {
            // Without writes there is nothing to tidy up.
            if *wrote {
                at = after_pauses(std::slice::from_ref(pause), at);
                pause.for_ns = Nanos((pause.for_ns.0 as f64 * is.growth.max(0.0)) as u64);
                *wrote = false;
            }
            pause.at_ns += about(is.every_ns, draws);
        }
        at
    }

    /// By what factor service that starts at `at` takes longer.
    pub(super) fn factor(&mut self, device: &SimulatedDevice, at: Nanos, writes: bool, draws: &mut Draws) -> f64 {
        let mut factor = 1.0 + device.drift_per_second * at.as_secs();
        if let Some(buffer) = device.write_buffer
            && writes
            && self.written > buffer.size.0
        {
            factor *= buffer.slower;
        }
        if let (Some(is), Some(visit)) = (&device.neighbour, &mut self.visit) {
            while at >= visit.at_ns + visit.for_ns {
                *visit = next_visit(is, visit.at_ns + visit.for_ns, draws);
            }
            if at >= visit.at_ns {
                factor *= is.slower;
            }
        }
        factor.max(0.0)
    }
}

/// Between a half and one and a half of a time.
fn about(time: Nanos, draws: &mut Draws) -> Nanos {
    Nanos(((0.5 + draws.unit(Purpose::Jump)) * time.0 as f64) as u64).max(Nanos(1))
}

fn next_visit(is: &SimulatedNeighbour, after: Nanos, draws: &mut Draws) -> SimulatedPause {
    let gap = -(1.0 - draws.unit(Purpose::Delay)).ln() * is.every_ns.0 as f64;
    SimulatedPause {
        at_ns: after + Nanos(gap as u64),
        for_ns: about(is.for_ns, draws),
    }
}
