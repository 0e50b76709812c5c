//! The clock that stamps operations: the processor's counter if it is reliable. On the machine
//! where this was written, reading the time stamp counter costs 13 ns and `clock_gettime` costs 21
//! ns. The counter's frequency is fitted against the system's monotonic clock between program start
//! and run start, so no calibration pause is needed. At the end of the run the two clocks are
//! compared again, and the drift is reported.

use model::Nanos;
use model::environment;

use crate::sys::clock as system;

/// Minimum time between the two readings of a calibration.
const MIN_CALIBRATION: Nanos = Nanos::millis(2);

/// A clock that several threads may read. Its origin is the start of the program.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Counter value at the origin.
    origin: u64,
    /// Nanoseconds per tick, times 2^32.
    multiplier: u64,
    /// The system's monotonic clock at the origin.
    system_origin: Nanos,
    /// Why the counter is not used, if so.
    refusal: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Counter,
    System,
}

/// The first reading of a calibration. Take it as early as possible.
#[derive(Clone, Copy, Debug)]
pub struct ClockStart {
    counter: u64,
    system: Nanos,
    refusal: Option<&'static str>,
}

impl ClockStart {
    /// Takes the first pair of readings.
    pub fn now() -> ClockStart {
        let refusal = system::counter_refusal();
        let (counter, system) = if refusal.is_none() {
            paired_reading()
        } else {
            (0, system::monotonic())
        };
        ClockStart {
            counter,
            system,
            refusal,
        }
    }

    /// Selects the system's clock even if the processor's counter is reliable.
    pub fn from_system() -> ClockStart {
        ClockStart {
            counter: 0,
            system: system::monotonic(),
            refusal: Some("the system's clock was requested"),
        }
    }

    /// Takes the second pair of readings and returns the clock. Spins only if less than 2 ms have
    /// passed.
    pub fn calibrate(self) -> Clock {
        let system_clock = Clock {
            source: Source::System,
            origin: 0,
            multiplier: 0,
            system_origin: self.system,
            refusal: self.refusal.or(Some("the counter could not be fitted")),
        };
        if self.refusal.is_some() {
            return system_clock;
        }
        let (counter, system) = loop {
            let (counter, system) = paired_reading();
            if system.since(self.system) >= MIN_CALIBRATION {
                break (counter, system);
            }
            std::hint::spin_loop();
        };
        let ticks = counter.wrapping_sub(self.counter);
        if ticks == 0 || counter < self.counter {
            return system_clock;
        }
        let multiplier = (u128::from(system.since(self.system).0) << 32) / u128::from(ticks);
        Clock {
            source: Source::Counter,
            origin: self.counter,
            multiplier: multiplier as u64,
            system_origin: self.system,
            refusal: None,
        }
    }
}

/// Reads counter and system clock together: the closest of sixteen tries.
fn paired_reading() -> (u64, Nanos) {
    let mut best = (u64::MAX, 0, Nanos(0));
    for _ in 0..16 {
        let before = system::counter();
        let system = system::monotonic();
        let after = system::counter();
        let width = after.wrapping_sub(before);
        if width < best.0 {
            best = (width, before + width / 2, system);
        }
    }
    (best.1, best.2)
}

impl Clock {
    /// The time since the origin.
    #[inline(always)]
    pub fn now(&self) -> Nanos {
        match self.source {
            Source::Counter => {
                let ticks = system::counter().wrapping_sub(self.origin);
                Nanos(((u128::from(ticks) * u128::from(self.multiplier)) >> 32) as u64)
            }
            Source::System => system::monotonic() - self.system_origin,
        }
    }

    /// The time, read after all earlier instructions have completed. Out-of-order execution could
    /// otherwise move the reading by a fraction of a microsecond.
    pub fn now_in_order(&self) -> Nanos {
        system::wait_for_earlier_instructions();
        self.now()
    }

    /// Drift from the system's clock since the origin in parts per million; positive if this clock
    /// is fast. `None` if too little time has passed for a meaningful comparison.
    pub fn drift_ppm(&self) -> Option<f64> {
        if self.source == Source::System {
            return Some(0.0);
        }
        let (counter, system) = paired_reading();
        let ticks = counter.wrapping_sub(self.origin);
        let ours = ((u128::from(ticks) * u128::from(self.multiplier)) >> 32) as f64;
        let theirs = system.since(self.system_origin).0 as f64;
        (theirs >= 1e8).then(|| (ours / theirs - 1.0) * 1e6)
    }

    /// A description of this clock, for the results.
    pub fn describe(&self) -> environment::Clock {
        let (source, reason, frequency_hz) = match self.source {
            Source::Counter => {
                let frequency = (1e9 * (1u64 << 32) as f64 / self.multiplier as f64).round() as u64;
                (
                    system::COUNTER_NAME,
                    "invariant, and the kernel keeps its own time by it",
                    frequency,
                )
            }
            Source::System => (system::SYSTEM_NAME, self.refusal.unwrap_or_default(), 0),
        };
        environment::Clock {
            source: source.into(),
            reason: reason.into(),
            frequency_hz,
            reading_ns: measure_reading_cost(|| self.now()),
            drift_ppm: None,
        }
    }
}

/// Readings in a row whose mean is one value of [`measure_reading_cost`].
const READINGS_PER_BATCH: u32 = 50;
/// Batches of [`measure_reading_cost`]; odd, so that one of them is the median.
const READING_BATCHES: usize = 21;

/// The time of one reading in nanoseconds: the median of batches. On a busy machine the system may
/// stop the thread during some of them for milliseconds.
fn measure_reading_cost(mut now: impl FnMut() -> Nanos) -> f64 {
    let mut batches = [0.0; READING_BATCHES];
    for batch in &mut batches {
        let start = now();
        let mut last = start;
        for _ in 0..READINGS_PER_BATCH {
            last = std::hint::black_box(now());
        }
        *batch = last.since(start).0 as f64 / f64::from(READINGS_PER_BATCH);
    }
    batches.sort_by(f64::total_cmp);
    batches[READING_BATCHES / 2]
}

/// Spins for this many ticks of the processor's counter, or nanoseconds if it has none.
pub fn spin_cycles(cycles: u64) {
    let reading = || match system::counter() {
        0 => system::monotonic().0,
        ticks => ticks,
    };
    let start = reading();
    while reading().wrapping_sub(start) < cycles {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_does_not_change_the_cost_of_a_reading() {
        let mut readings = 0;
        let cost = measure_reading_cost(|| {
            readings += 1;
            let paused = if readings > 300 { 7_000_000 } else { 0 };
            Nanos(20 * readings + paused)
        });
        assert!((cost - 20.0).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn the_clock_agrees_with_the_system() {
        let clock = ClockStart::now().calibrate();
        let (ours, theirs) = (clock.now(), system::monotonic());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (ours, theirs) = (
            clock.now().since(ours).0 as f64,
            system::monotonic().since(theirs).0 as f64,
        );
        // A tolerance of 5 %, because a busy machine may pause the thread between the two readings.
        assert!((ours / theirs - 1.0).abs() < 0.05, "{ours} {theirs}");
    }

    #[test]
    fn time_does_not_go_backwards() {
        let clock = ClockStart::now().calibrate();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
