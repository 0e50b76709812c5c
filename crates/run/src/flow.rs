//! Flows: operations that streams divide by weight.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::plan::Flow;

/// Maximum number of rounds that a stream may be ahead of the others.
const MAX_ROUNDS_AHEAD: u128 = 16;

/// The shared state of a flow.
#[derive(Debug, Default)]
struct FlowState {
    operations: AtomicU64,
    weight: AtomicU64,
}

/// All flows of a step.
#[derive(Debug, Default)]
pub(crate) struct Flows(Mutex<BTreeMap<i64, Arc<FlowState>>>);

/// The share of a stream while its worker runs.
#[derive(Debug)]
pub(crate) struct Share {
    plan: Flow,
    own_operations: u64,
    common: Arc<FlowState>,
}

impl Flows {
    /// Joins a flow until the share is dropped.
    pub(crate) fn join(&self, plan: Flow) -> Share {
        let mut flows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let common = Arc::clone(flows.entry(plan.id).or_default());
        common.weight.fetch_add(u64::from(plan.weight), Ordering::Relaxed);
        Share {
            plan,
            own_operations: 0,
            common,
        }
    }
}

impl Share {
    /// True if the stream has exceeded its share. As in fio, the first operation counts as one of
    /// another stream, so that a single stream never waits. A stream may lead by 1/128 of the
    /// others' operations and by [`MAX_ROUNDS_AHEAD`]: otherwise each round would wait for the
    /// scheduler, and a busy machine would slow all streams.
    #[inline]
    pub(crate) fn is_exceeded(&self) -> bool {
        let other_operations =
            u128::from(self.common.operations.load(Ordering::Relaxed)).saturating_sub(self.own_operations.into());
        let weight = u128::from(self.plan.weight);
        let other_weights = u128::from(self.common.weight.load(Ordering::Relaxed)).saturating_sub(weight);
        let lead = (other_operations / 128).min(MAX_ROUNDS_AHEAD * other_weights);
        u128::from(self.own_operations) * other_weights > weight * (other_operations + 1 + lead)
    }

    /// Counts an operation of the stream.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.own_operations += 1;
        self.common.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// The pause before the next check.
    pub(crate) fn pause(&self) -> model::Nanos {
        self.plan.pause_ns
    }
}

impl Drop for Share {
    /// The others divide the remaining operations.
    fn drop(&mut self) {
        let common = &self.common;
        common.weight.fetch_sub(u64::from(self.plan.weight), Ordering::Relaxed);
        common.operations.fetch_sub(self.own_operations, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::*;

    fn flow(id: i64, weight: u32) -> Flow {
        Flow {
            id,
            weight,
            pause_ns: Nanos(0),
        }
    }

    /// In each round, lets each stream issue one operation unless it has exceeded its share.
    fn drive(shares: &mut [Share], rounds: usize) -> Vec<u64> {
        for _ in 0..rounds {
            for share in shares.iter_mut().filter(|share| !share.is_exceeded()) {
                share.count();
            }
        }
        shares.iter().map(|share| share.own_operations).collect()
    }

    #[test]
    fn operations_are_divided_by_weight() {
        let flows = Flows::default();
        let mut shares = vec![flows.join(flow(1, 8)), flows.join(flow(1, 2)), flows.join(flow(2, 1))];
        let counts = drive(&mut shares, 1000);
        let ratio = counts[0] as f64 / counts[1] as f64;
        assert!((3.9..4.1).contains(&ratio), "{counts:?}");
        assert_eq!(counts[2], 1000, "another number is another flow");
    }

    #[test]
    fn a_stream_leads_by_a_few_rounds_at_most() {
        let flows = Flows::default();
        let mut shares = [flows.join(flow(1, 8)), flows.join(flow(1, 1))];
        let lead = |shares: &mut [Share; 2], others: u64| {
            while shares[1].own_operations < others {
                shares[1].count();
            }
            while !shares[0].is_exceeded() {
                shares[0].count();
            }
            shares[0].own_operations - 8 * others
        };
        // One operation each, as in fio, and then 8 for each round of the other stream.
        assert_eq!(
            [1, 127, 1280, 1 << 20].map(|others| lead(&mut shares, others)),
            [9, 9, 89, 137]
        );
    }

    #[test]
    fn a_stream_continues_after_the_others_have_ended() {
        let flows = Flows::default();
        let mut shares = vec![flows.join(flow(1, 1)), flows.join(flow(1, 1))];
        // One stream does nothing, so the other must not continue.
        let stuck = (0..100).filter(|_| {
            let may = !shares[0].is_exceeded();
            if may {
                shares[0].count();
            }
            may
        });
        assert_eq!(stuck.count(), 2);
        shares.truncate(1);
        assert_eq!(drive(&mut shares, 100), [102]);
    }
}
