//! Temporary slowdowns of the simulated device: a full write buffer, garbage collection, noisy
//! neighbours, age.

use model::Nanos;
use model::draws::{Draws, Purpose};
use model::plan::{SimulatedDevice, SimulatedGarbageCollection, SimulatedNeighbour, SimulatedPause};

use super::after_pauses;

/// State of the slowdowns.
#[derive(Debug)]
pub(super) struct Disturbances {
    written: u64,
    /// The next garbage collection, and whether anything was written since the previous one.
    garbage_collection: Option<(SimulatedPause, bool)>,
    /// The next period of neighbour load.
    neighbour_load: Option<SimulatedPause>,
}

impl Disturbances {
    pub(super) fn new(device: &SimulatedDevice, draws: &mut Draws) -> Disturbances {
        let first = |config: &SimulatedGarbageCollection| {
            SimulatedPause::new(jittered(config.interval_ns, draws), config.first_ns)
        };
        let garbage_collection = device
            .garbage_collection
            .as_ref()
            .map(first)
            .map(|pause| (pause, false));
        let neighbour_load = device
            .neighbour
            .as_ref()
            .map(|config| next_neighbour_load(config, Nanos(0), draws));
        Disturbances {
            written: 0,
            garbage_collection,
            neighbour_load,
        }
    }

    /// Records a write.
    pub(super) fn record_write(&mut self, length: u32) {
        self.written += u64::from(length);
        if let Some((_, has_writes)) = &mut self.garbage_collection {
            *has_writes = true;
        }
    }

    /// Returns the first instant at or after `at` that is outside garbage collection.
    pub(super) fn skip_collections(&mut self, device: &SimulatedDevice, at: Nanos, draws: &mut Draws) -> Nanos {
        let (Some(config), Some((pause, has_writes))) = (&device.garbage_collection, &mut self.garbage_collection)
        else {
            return at;
        };
        while at >= pause.at_ns {
            // Without writes there is nothing to collect.
            if *has_writes {
                let end = after_pauses(std::slice::from_ref(pause), at);
                if end > at {
                    return end;
                }
                pause.length_ns = Nanos((pause.length_ns.0 as f64 * config.growth.max(0.0)) as u64);
                *has_writes = false;
            }
            pause.at_ns += jittered(config.interval_ns, draws);
        }
        at
    }

    /// The slowdown factor of an operation that starts at `at`.
    pub(super) fn slowdown_at(
        &mut self,
        device: &SimulatedDevice,
        at: Nanos,
        is_write: bool,
        draws: &mut Draws,
    ) -> f64 {
        let mut slowdown = 1.0 + device.drift_per_second * at.as_secs();
        if let Some(buffer) = device.write_buffer
            && is_write
            && self.written > buffer.size.0
        {
            slowdown *= buffer.slowdown;
        }
        if let (Some(config), Some(neighbour_load)) = (&device.neighbour, &mut self.neighbour_load) {
            while at >= neighbour_load.at_ns + neighbour_load.length_ns {
                *neighbour_load = next_neighbour_load(config, neighbour_load.at_ns + neighbour_load.length_ns, draws);
            }
            if at >= neighbour_load.at_ns {
                slowdown *= config.slowdown;
            }
        }
        slowdown.max(0.0)
    }
}

/// A random time between half and one and a half times `time`. The simulator has generators of its
/// own, so purposes such as `Jump` serve other decisions.
fn jittered(time: Nanos, draws: &mut Draws) -> Nanos {
    Nanos(((0.5 + draws.next_f64(Purpose::Jump)) * time.0 as f64) as u64).max(Nanos(1))
}

fn next_neighbour_load(config: &SimulatedNeighbour, after: Nanos, draws: &mut Draws) -> SimulatedPause {
    let gap = -libm::log(1.0 - draws.next_f64(Purpose::Delay)) * config.interval_ns.0 as f64;
    SimulatedPause::new(after + Nanos(gap as u64), jittered(config.length_ns, draws))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use model::draws::GeneratorChoice;
    use model::plan::SimulatedWriteBuffer;

    fn start(device: &SimulatedDevice) -> (Disturbances, Draws) {
        let mut draws = GeneratorChoice::Native { seed: 5 }.start();
        (Disturbances::new(device, &mut draws), draws)
    }

    #[test]
    fn a_full_write_buffer_slows_only_writes() {
        let device = SimulatedDevice {
            write_buffer: Some(SimulatedWriteBuffer {
                size: Bytes(8192),
                slowdown: 4.0,
            }),
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&device);
        let mut factors = Vec::new();
        for _ in 0..3 {
            disturbances.record_write(4096);
            factors.push(disturbances.slowdown_at(&device, Nanos(0), true, &mut draws));
        }
        assert_eq!(factors, [1.0, 1.0, 4.0]);
        assert_eq!(disturbances.slowdown_at(&device, Nanos(0), false, &mut draws), 1.0);
    }

    /// Operations that arrive in a pause wait for its end. Without writes there is no pause.
    #[test]
    fn collections_follow_writes_and_delay_all_operations() {
        let device = SimulatedDevice {
            garbage_collection: Some(SimulatedGarbageCollection {
                interval_ns: Nanos::secs(1),
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
                    disturbances.record_write(1);
                }
                let after = disturbances.skip_collections(&device, at, draws);
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
        // One operation arrives per millisecond, so the pause delays one per millisecond of its
        // length, within one.
        assert!(
            lengths.len() >= 2 && (99..=101).contains(&lengths[0]) && (199..=201).contains(&lengths[1]),
            "{lengths:?}"
        );
    }

    #[test]
    fn neighbour_load_is_temporary_and_age_is_permanent() {
        let device = SimulatedDevice {
            neighbour: Some(SimulatedNeighbour {
                interval_ns: Nanos::secs(5),
                length_ns: Nanos::secs(1),
                slowdown: 3.0,
            }),
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&device);
        let factors: Vec<f64> = (0..600)
            .map(|at| disturbances.slowdown_at(&device, Nanos::millis(at * 100), false, &mut draws))
            .collect();
        let visits = factors.chunk_by(|a, b| a == b).filter(|run| run[0] == 3.0);
        assert!((4..20).contains(&visits.count()) && factors.contains(&1.0));
        let aging = SimulatedDevice {
            drift_per_second: 0.01,
            ..SimulatedDevice::default()
        };
        let (mut disturbances, mut draws) = start(&aging);
        assert!((disturbances.slowdown_at(&aging, Nanos::secs(50), false, &mut draws) - 1.5).abs() < 1e-9);
    }
}
