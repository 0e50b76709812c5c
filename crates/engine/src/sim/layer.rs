//! A rate limit of the simulated device: a token bucket.

use model::plan::{SimulatedCount, SimulatedLayer};
use model::{Direction, Nanos};

use crate::batch::{Action, Request};

/// A limit with its state.
#[derive(Debug)]
pub(super) struct Layer {
    config: SimulatedLayer,
    /// Tokens available.
    tokens: f64,
    /// When tokens were last added.
    refilled_at: Nanos,
    /// Nothing passes before this time, regardless of tokens. Enforces the burst ceiling and the
    /// order of arrival.
    next_pass: Nanos,
}

impl Layer {
    pub(super) fn new(config: SimulatedLayer) -> Layer {
        let mut layer = Layer {
            config,
            tokens: 0.0,
            refilled_at: Nanos(0),
            next_pass: Nanos(0),
        };
        layer.tokens = layer.max_tokens();
        layer
    }

    /// Maximum number of tokens: the bucket, or one refill.
    fn max_tokens(&self) -> f64 {
        let refill = self.config.rate as f64 * self.config.quantum_ns.as_secs();
        (self.config.bucket as f64).max(refill)
    }

    /// True if the limit applies to an operation; `hit`: the cache serves it.
    pub(super) fn applies_to(&self, io: &Request, hit: bool) -> bool {
        let direction = match io.action {
            Action::Read => Some(Direction::Read),
            Action::Write => Some(Direction::Write),
            Action::Trim => Some(Direction::Trim),
            Action::Flush | Action::FlushData | Action::FlushRange(_) => None,
        };
        self.config.rate > 0
            && direction.is_some()
            && self.config.only.is_none_or(|only| direction == Some(only))
            && (!hit || self.config.before_cache)
    }

    /// The time at which an operation that arrives at `at` passes.
    pub(super) fn schedule(&mut self, at: Nanos, length: u32) -> Nanos {
        let amount = match self.config.counts {
            SimulatedCount::Bytes => f64::from(length),
            SimulatedCount::Operations if self.config.unit.0 > 0 => {
                u64::from(length).div_ceil(self.config.unit.0).max(1) as f64
            }
            SimulatedCount::Operations => 1.0,
        };
        let at = at.max(self.next_pass);
        if self.config.bucket == 0 && self.config.quantum_ns == Nanos(0) {
            self.next_pass = at + nanos(amount / self.config.rate as f64);
            return at;
        }
        self.refill(at);
        let at = self.wait_for(amount, at);
        self.tokens -= amount;
        self.next_pass = match self.config.burst {
            0 => at,
            burst => at + nanos(amount / burst as f64),
        };
        at
    }

    /// Adds the tokens earned until `at`.
    fn refill(&mut self, at: Nanos) {
        let until = match self.config.quantum_ns.0 {
            0 => at,
            quantum => Nanos(at.0 - at.0 % quantum),
        };
        if until > self.refilled_at {
            let earned = until.since(self.refilled_at).as_secs() * self.config.rate as f64;
            // The cap does not limit an operation larger than the bucket, see `wait_for`.
            self.tokens = (self.tokens + earned).min(self.max_tokens());
            self.refilled_at = until;
        }
    }

    /// The first instant from `at` on with enough tokens.
    fn wait_for(&mut self, amount: f64, at: Nanos) -> Nanos {
        // Tolerate rounding to nanoseconds.
        let missing = amount - self.tokens;
        if missing <= 1e-6 * amount {
            return at;
        }
        let time = nanos(missing / self.config.rate as f64);
        let ready = match self.config.quantum_ns.0 {
            0 => at + time,
            quantum => self.refilled_at + Nanos(time.0.div_ceil(quantum).max(1) * quantum),
        };
        let earned = ready.since(self.refilled_at).as_secs() * self.config.rate as f64;
        (self.tokens, self.refilled_at) = ((self.tokens + earned).max(amount), ready);
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

    /// Operations that pass in each of the first seconds, under constant load.
    fn per_second(config: SimulatedLayer, length: u32, seconds: usize) -> Vec<u64> {
        let mut layer = Layer::new(config);
        let mut counts = vec![0; seconds];
        let mut at = Nanos(0);
        loop {
            at = layer.schedule(at, length);
            match counts.get_mut(at.0 as usize / 1_000_000_000) {
                Some(count) => *count += 1,
                None => return counts,
            }
        }
    }

    #[test]
    fn a_limit_without_bursts_passes_its_rate() {
        let even = SimulatedLayer {
            rate: 1000,
            ..SimulatedLayer::default()
        };
        assert_eq!(per_second(even, 4096, 3), [1000, 1000, 1000]);
    }

    #[test]
    fn long_operations_use_several_tokens() {
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

    /// A bucket of 4000 with a baseline of 100 and a ceiling of 500 lasts 4000 ÷ (500 − 100) = 10
    /// s.
    #[test]
    fn a_bucket_empties_at_ceiling_minus_baseline() {
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
    fn a_quantum_passes_everything_at_its_start() {
        let quantum = SimulatedLayer {
            rate: 1000,
            quantum_ns: Nanos::millis(250),
            ..SimulatedLayer::default()
        };
        let mut layer = Layer::new(quantum);
        let passed: Vec<u64> = (0..750).map(|_| layer.schedule(Nanos(0), 4096).0 / 1_000_000).collect();
        for (number, at) in passed.iter().enumerate() {
            assert_eq!(*at, 250 * (number as u64 / 250), "operation {number}");
        }
    }
}
