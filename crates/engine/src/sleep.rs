//! Sleeps until an instant of our own clock.

use model::Nanos;

use crate::clock::Clock;
use crate::sys::thread::sleep;

/// Limits each sleep so that the caller can check for a stop request.
const MAX_SLEEP: Nanos = Nanos::millis(100);

/// Sleeps until an instant of our own clock, to the microsecond if the processor is free. The timer
/// wakes the thread a little early, and the thread spins for the rest. The margin follows late
/// wake-ups: 30 µs at first, longer where the system needs it, shorter again when it does not.
#[derive(Clone, Debug)]
pub(crate) struct PreciseSleep {
    spin: bool,
    margin: Nanos,
}

impl PreciseSleep {
    const MIN_MARGIN: Nanos = Nanos::micros(5);
    const MAX_MARGIN: Nanos = Nanos::micros(100);

    /// With `spin` false only the timer is used, for machines with more busy threads than
    /// processors.
    pub(crate) fn new(spin: bool) -> PreciseSleep {
        PreciseSleep {
            spin,
            margin: Nanos::micros(30),
        }
    }

    /// When the timer should fire for a wake-up at `deadline`.
    pub(crate) fn timer_for(&self, deadline: Nanos) -> Nanos {
        if self.spin { deadline - self.margin } else { deadline }
    }

    /// Adapts the margin to a timer that was set for `timer` and fired at `woken`.
    pub(crate) fn adjust_margin(&mut self, timer: Nanos, woken: Nanos) {
        let late = woken.since(timer);
        // Grow quickly after a late wake-up and shrink slowly, which converges near the 99th
        // percentile.
        let target = (late + late).max(Self::MIN_MARGIN).min(Self::MAX_MARGIN);
        self.margin = if target > self.margin {
            Nanos((self.margin.0 + target.0) / 2)
        } else {
            Nanos((self.margin.0 * 63 + target.0) / 64)
        };
    }

    /// Sleeps until the clock reaches `deadline`. Returns immediately if it already has.
    pub(crate) fn sleep_until(&mut self, deadline: Nanos, clock: &Clock) {
        loop {
            let now = clock.now();
            if now >= deadline {
                return;
            }
            let timer = self.timer_for(deadline);
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
