//! A limit of the simulated device: so much per second, with a bucket of what was saved up.

use model::plan::{SimulatedCount, SimulatedLayer};
use model::{Direction, Nanos};

use crate::batch::{Action, Request};

/// A limit with its state.
#[derive(Debug)]
pub(super) struct Layer {
    is: SimulatedLayer,
    /// What may pass now.
    tokens: f64,
    /// When the tokens were last counted.
    counted: Nanos,
    /// Before that nothing may pass, whatever the tokens: the ceiling of a burst, and the order of
    /// arrival.
    next: Nanos,
}

impl Layer {
    pub(super) fn new(is: SimulatedLayer) -> Layer {
        let mut layer = Layer {
            is,
            tokens: 0.0,
            counted: Nanos(0),
            next: Nanos(0),
        };
        layer.tokens = layer.room();
        layer
    }

    /// The most tokens that it keeps: the bucket, or what one refill brings.
    fn room(&self) -> f64 {
        let refill = self.is.rate as f64 * self.is.quantum_ns.as_secs();
        (self.is.bucket as f64).max(refill)
    }

    /// Whether an operation passes this limit at all; `hit` says that the cache serves it.
    pub(super) fn concerns(&self, io: &Request, hit: bool) -> bool {
        let direction = match io.action {
            Action::Read => Some(Direction::Read),
            Action::Write => Some(Direction::Write),
            Action::Trim => Some(Direction::Trim),
            Action::Flush | Action::FlushData | Action::FlushRange(_) => None,
        };
        self.is.rate > 0
            && direction.is_some()
            && self.is.only.is_none_or(|only| direction == Some(only))
            && (!hit || self.is.before_cache)
    }

    /// When an operation that arrives at `at` has passed.
    pub(super) fn pass(&mut self, at: Nanos, length: u32) -> Nanos {
        let amount = match self.is.counts {
            SimulatedCount::Bytes => f64::from(length),
            SimulatedCount::Operations if self.is.unit.0 > 0 => {
                u64::from(length).div_ceil(self.is.unit.0).max(1) as f64
            }
            SimulatedCount::Operations => 1.0,
        };
        let at = at.max(self.next);
        if self.is.bucket == 0 && self.is.quantum_ns == Nanos(0) {
            self.next = at + nanos(amount / self.is.rate as f64);
            return at;
        }
        self.refill(at);
        let at = self.wait_for(amount, at);
        self.tokens -= amount;
        self.next = match self.is.burst {
            0 => at,
            burst => at + nanos(amount / burst as f64),
        };
        at
    }

    /// Counts the tokens that have come in until `at`.
    fn refill(&mut self, at: Nanos) {
        let until = match self.is.quantum_ns.0 {
            0 => at,
            quantum => Nanos(at.0 - at.0 % quantum),
        };
        if until > self.counted {
            let came = until.since(self.counted).as_secs() * self.is.rate as f64;
            // An operation larger than the bucket may still have to wait for more than it holds.
            self.tokens = (self.tokens + came).min(self.room());
            self.counted = until;
        }
    }

    /// The first instant from `at` on at which there are as many tokens as needed.
    fn wait_for(&mut self, amount: f64, at: Nanos) -> Nanos {
        // What rounding to nanoseconds leaves missing is not waited for.
        let missing = amount - self.tokens;
        if missing <= 1e-6 * amount {
            return at;
        }
        let time = nanos(missing / self.is.rate as f64);
        let ready = match self.is.quantum_ns.0 {
            0 => at + time,
            quantum => self.counted + Nanos(time.0.div_ceil(quantum).max(1) * quantum),
        };
        let came = ready.since(self.counted).as_secs() * self.is.rate as f64;
        (self.tokens, self.counted) = ((self.tokens + came).max(amount), ready);
        ready
    }
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;

    /// How many operations pass in each of the first seconds, when there are always more waiting.
    fn per_second(is: SimulatedLayer, length: u32, seconds: usize) -> Vec<u64> {
        let mut layer = Layer::new(is);
        let mut counts = vec![0; seconds];
        let mut at = Nanos(0);
        loop {
            at = layer.pass(at, length);
            match counts.get_mut(at.0 as usize / 1_000_000_000) {
                Some(count) => *count += 1,
                None => return counts,
            }
        }
    }

    #[test]
    fn an_even_limit_lets_through_its_rate() {
        let even = SimulatedLayer {
            rate: 1000,
            ..SimulatedLayer::default()
        };
        assert_eq!(per_second(even, 4096, 3), [1000, 1000, 1000]);
    }

    #[test]
    fn long_operations_count_as_several_and_bytes_as_bytes() {
        let units = SimulatedLayer {
            rate: 1000,
            unit: Bytes::kib(256),
            ..SimulatedLayer::default()
        };
        assert_eq!(per_second(units, 1 << 20, 2), [250, 250]);
        assert_eq!(per_second(units, 4096, 2), [1000, 1000]);
        let bytes = SimulatedLayer {
            counts: SimulatedCount::Bytes,
            rate: 1 << 20,
            ..SimulatedLayer::default()
        };
        assert_eq!(per_second(bytes, 4096, 2), [256, 256]);
    }

    /// A bucket of 4000 beyond a baseline of 100 at a ceiling of 500 lasts for 4000 ÷ (500 − 100) =
    /// 10 s.
    #[test]
    fn a_bucket_lasts_for_its_size_by_ceiling_less_baseline() {
        let burst = SimulatedLayer {
            rate: 100,
            burst: 500,
            bucket: 4000,
            ..SimulatedLayer::default()
        };
        let counts = per_second(burst, 4096, 14);
        assert!(
            counts[..10].iter().all(|count| (499..=500).contains(count)),
            "{counts:?}"
        );
        assert!(
            counts[11..].iter().all(|count| (99..=101).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_quantum_lets_through_all_at_its_beginning() {
        let quantum = SimulatedLayer {
            rate: 1000,
            quantum_ns: Nanos::millis(250),
            ..SimulatedLayer::default()
        };
        let mut layer = Layer::new(quantum);
        let passed: Vec<u64> = (0..750).map(|_| layer.pass(Nanos(0), 4096).0 / 1_000_000).collect();
        for (number, at) in passed.iter().enumerate() {
            assert_eq!(*at, 250 * (number as u64 / 250), "operation {number}");
        }
    }
}
