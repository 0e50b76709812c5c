//! Sleeping until an instant of our own clock.

use model::Nanos;

use crate::clock::Clock;
use crate::sys::thread::sleep;

/// Longer sleeps are cut, so that a stop request is seen: the caller looks for one after each turn.
const MAX_SLEEP: Nanos = Nanos::millis(100);

/// Sleeps that end at an instant of our own clock, within a microsecond where the processor is
/// free.
///
/// The timer wakes the thread a little early and the rest is spent spinning. How early follows the
/// wake-ups that were too late: 30 µs at first, more where the system needs more, less again when
/// it does not.
#[derive(Clone, Debug)]
pub(crate) struct PreciseSleep {
    spin: bool,
    margin: Nanos,
}

impl PreciseSleep {
    const MIN_MARGIN: Nanos = Nanos::micros(5);
    const MAX_MARGIN: Nanos = Nanos::micros(100);

    /// With `spin` false the timer alone decides, for machines with more busy threads than
    /// processors.
    pub(crate) fn new(spin: bool) -> PreciseSleep {
        PreciseSleep {
            spin,
            margin: Nanos::micros(30),
        }
    }

    /// When the timer should fire for a wake-up at `until`.
    pub(crate) fn wake_up_for(&self, until: Nanos) -> Nanos {
        if self.spin { until - self.margin } else { until }
    }

    /// Adapts the margin to a timer that was set for `timer` and fired at `woken`.
    pub(crate) fn adjust_margin(&mut self, timer: Nanos, woken: Nanos) {
        let late = woken.since(timer);
        // Follow a late wake-up quickly and forget it slowly, which settles near the 99th
        // percentile.
        let wanted = (late + late).max(Self::MIN_MARGIN).min(Self::MAX_MARGIN);
        self.margin = if wanted > self.margin {
            Nanos((self.margin.0 + wanted.0) / 2)
        } else {
            Nanos((self.margin.0 * 63 + wanted.0) / 64)
        };
    }

    /// Sleeps until the clock reaches `until`. Returns at once if it has.
    pub(crate) fn sleep_until(&mut self, until: Nanos, clock: &Clock) {
        loop {
            let now = clock.now();
            if now >= until {
                return;
            }
            let timer = self.wake_up_for(until);
            if timer > now {
                sleep(timer.since(now).min(MAX_SLEEP));
                let woken = clock.now();
                if timer.since(now) > MAX_SLEEP {
                    if woken < timer {
                        return;
                    }
                } else {
                    self.adjust_margin(timer, woken);
                }
                continue;
            }
            std::hint::spin_loop();
        }
    }
}
