//! What makes the simulated device slower at times: a write buffer that is full, tidying up,
//! neighbours, age.

use model::Nanos;
use model::draws::{Draws, Purpose};
use model::plan::{SimulatedCollection, SimulatedDevice, SimulatedNeighbour, SimulatedPause};

use super::after_pauses;

/// The state of all that changes with time and use.
#[derive(Debug)]
pub(super) struct Disturbances {
    written: u64,
    /// When it tidies up next, for how long, and whether anything was written since the last time.
    collection: Option<(SimulatedPause, bool)>,
    /// When the neighbour comes next, and for how long.
    visit: Option<SimulatedPause>,
}

impl Disturbances {
    pub(super) fn new(device: &SimulatedDevice, draws: &mut Draws) -> Disturbances {
        let first = |is: &SimulatedCollection| SimulatedPause::new(about(is.every_ns, draws), is.first_ns);
        let collection = device.collection.as_ref().map(first).map(|pause| (pause, false));
        let visit = device.neighbour.as_ref().map(|is| next_visit(is, Nanos(0), draws));
        Disturbances {
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

    /// The first instant from `at` on at which the device does not tidy up.
    pub(super) fn after_collections(&mut self, device: &SimulatedDevice, at: Nanos, draws: &mut Draws) -> Nanos {
        let (Some(is), Some((pause, wrote))) = (&device.collection, &mut self.collection) else {
            return at;
        };
        while at >= pause.at_ns {
            // Without writes there is nothing to tidy up.
            if *wrote {
                let end = after_pauses(std::slice::from_ref(pause), at);
                if end > at {
                    return end;
                }
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
    let gap = -libm::log(1.0 - draws.unit(Purpose::Delay)) * is.every_ns.0 as f64;
    SimulatedPause::new(after + Nanos(gap as u64), about(is.for_ns, draws))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use model::draws::DrawsForm;
    use model::plan::SimulatedWriteBuffer;

    fn start(device: &SimulatedDevice) -> (Disturbances, Draws) {
        let mut draws = DrawsForm::Native { seed: 5 }.start();
        (Disturbances::new(device, &mut draws), draws)
    }

    #[test]
    fn a_full_write_buffer_slows_writes_alone() {
        let device = SimulatedDevice {
            write_buffer: Some(SimulatedWriteBuffer {
                size: Bytes(8192),
                slower: 4.0,
            }),
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&device);
        let mut factors = Vec::new();
        for _ in 0..3 {
            disturbances.write(4096);
            factors.push(disturbances.factor(&device, Nanos(0), true, &mut draws));
        }
        assert_eq!(factors, [1.0, 1.0, 4.0]);
        assert_eq!(disturbances.factor(&device, Nanos(0), false, &mut draws), 1.0);
    }

    /// Everything that arrives in a pause waits for its end, and only after writes is there a pause
    /// at all.
    #[test]
    fn collections_come_after_writes_and_hold_up_everything() {
        let device = SimulatedDevice {
            collection: Some(SimulatedCollection {
                every_ns: Nanos::secs(1),
                first_ns: Nanos::millis(100),
                growth: 2.0,
            }),
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&device);
        let held = |disturbances: &mut Disturbances, draws: &mut Draws, writes: bool| {
            let mut held = Vec::new();
            for at in (0..4000).map(Nanos::millis) {
                if writes {
                    disturbances.write(1);
                }
                let after = disturbances.after_collections(&device, at, draws);
                if after > at {
                    held.push(after);
                }
            }
            held
        };
        assert_eq!(held(&mut disturbances, &mut draws, false), []);
        let (mut disturbances, mut draws) = start(&device);
        let held = held(&mut disturbances, &mut draws, true);
        let lengths: Vec<usize> = held.chunk_by(|a, b| a == b).map(<[Nanos]>::len).collect();
        // One operation a millisecond: as many are held up as the pause has milliseconds, give or
        // take the first.
        assert!(
            lengths.len() >= 2 && (99..=101).contains(&lengths[0]) && (199..=201).contains(&lengths[1]),
            "{lengths:?}"
        );
    }

    #[test]
    fn a_neighbour_comes_and_goes_and_age_stays() {
        let device = SimulatedDevice {
            neighbour: Some(SimulatedNeighbour {
                every_ns: Nanos::secs(5),
                for_ns: Nanos::secs(1),
                slower: 3.0,
            }),
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&device);
        let factors: Vec<f64> = (0..600)
            .map(|at| disturbances.factor(&device, Nanos::millis(at * 100), false, &mut draws))
            .collect();
        let visits = factors.chunk_by(|a, b| a == b).filter(|run| run[0] == 3.0);
        assert!((4..20).contains(&visits.count()) && factors.contains(&1.0));
        let aging = SimulatedDevice {
            drift_per_second: 0.01,
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&aging);
        assert!((disturbances.factor(&aging, Nanos::secs(50), false, &mut draws) - 1.5).abs() < 1e-9);
    }
}
