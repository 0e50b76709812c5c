//! Finds how many queue slots are needed to judge a promise. If a latency is promised, Little's law
//! gives the number of operations in flight; more slots stay unused. If only a rate is promised,
//! the required depth is unknown: probes raise it until the rate is met or more depth gains
//! nothing.

use analysis::attribution::Attribution;
use analysis::policies::{DEFAULT_LATENCY_SECS, open_loop_slots};
use analysis::verdict::{Cause, Climb, MAX_BLOCKED_OPS, Outcome, Verdict};
use model::observation::Observation;
use model::{Bytes, Nanos};

use super::Verification;

/// Upper limit of the slots.
pub const SLOTS_MAX: u32 = 4096;
/// Upper limit of the buffers of all slots together, in bytes.
const BUFFERS_MAX: u64 = 1 << 30;
/// Measured time of a probe.
pub const PROBE_TIME: Nanos = Nanos::secs(5);
/// Warm-up of a probe.
pub const PROBE_WARM_UP: Nanos = Nanos::secs(1);
/// Upper limit of the number of full windows.
const WINDOWS_MAX: usize = 3;
/// A probe that reaches this share of the rate has met it.
const MET_SHARE: f64 = 0.995;
/// A full window gets this multiple of the slots with which a probe met the rate. Unused slots cost
/// nothing, and storage that slows down later needs more slots for the same rate.
const HEADROOM: u32 = 8;
/// Minimum relative gain of the rate when the depth is doubled.
const GROWTH_MIN: f64 = 0.05;

/// Upper limit of the slots for buffers of this size.
pub fn slots_max(block: Bytes) -> u32 {
    let by_memory = BUFFERS_MAX / block.0.max(1);
    SLOTS_MAX.min(by_memory.min(u64::from(u32::MAX)) as u32).max(1)
}

/// One run of the promised load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Operations that may be in flight.
    pub slots: u32,
    /// Number of the full window, from 1; for a probe that of the window that follows.
    pub number: u32,
    /// A short run that only searches for the depth.
    pub is_probe: bool,
}

/// Results of the attempts so far.
#[derive(Clone, Debug, Default)]
pub struct Search {
    climb: Climb,
    windows: Vec<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// Slots for another window, if too few slots distorted this one.
    retry_slots: Option<u32>,
}

impl Verification {
    /// True if neither a latency nor the user determines the depth.
    pub fn needs_depth_probes(&self) -> bool {
        self.promise.latency_secs().is_none() && self.concurrency.is_none()
    }

    /// Slots of the first attempt.
    pub fn first_slots(&self) -> u32 {
        if let Some(fixed) = self.concurrency {
            return fixed.max(1);
        }
        let workers = self.worker_count();
        let latency = self.promise.latency_secs().unwrap_or(DEFAULT_LATENCY_SECS);
        // Each worker has slots of its own.
        let by_littles_law = match self.needs_depth_probes() {
            true => open_loop_slots(0.0),
            false => workers * open_loop_slots(self.promise.rate_iops * latency / f64::from(workers)),
        };
        let policy_slots = self.promise.workload.concurrency.unwrap_or(0).min(u64::from(SLOTS_MAX)) as u32;
        by_littles_law.max(policy_slots).min(self.slots_max())
    }

    fn slots_max(&self) -> u32 {
        slots_max(self.promise.workload.block)
    }

    /// The next attempt; `None` if another one cannot improve the verdict.
    pub fn next(&self, search: &Search) -> Option<Attempt> {
        let number = search.windows.len() as u32 + 1;
        let window = |slots| Attempt {
            slots,
            number,
            is_probe: false,
        };
        if let Some(last) = search.windows.last() {
            return last.retry_slots.map(window);
        }
        if !self.needs_depth_probes() {
            return Some(window(self.first_slots()));
        }
        let Some(&(slots, _)) = search.climb.probes.last() else {
            return Some(Attempt {
                is_probe: true,
                ..window(self.first_slots())
            });
        };
        let multiplied = |factor: u32| slots.saturating_mul(factor).min(self.slots_max());
        if search.climb.met {
            return Some(window(multiplied(HEADROOM)));
        }
        if search.climb.saturated || slots >= self.slots_max() {
            return Some(window(search.best_slots().unwrap_or(slots)));
        }
        Some(Attempt {
            is_probe: true,
            ..window(multiplied(2))
        })
    }

    /// Records the operations per second that a probe reached.
    pub fn record_probe(&self, search: &mut Search, attempt: &Attempt, iops: f64) {
        search.climb.probes.push((attempt.slots, iops));
        search.climb.met = iops >= MET_SHARE * self.promise.rate_iops;
        let growths = search
            .climb
            .probes
            .windows(2)
            .map(|pair| pair[1].1 / pair[0].1.max(1e-9) - 1.0);
        let growths: Vec<f64> = growths.collect();
        if let [.., before, last] = growths[..] {
            // If each gain is two thirds of the previous one, all further gains add up to less than
            // three times the last.
            let reachable = iops * (1.0 + 3.0 * last.max(0.0));
            search.climb.saturated =
                before < GROWTH_MIN && last < GROWTH_MIN && reachable < MET_SHARE * self.promise.rate_iops;
        }
    }

    /// Records the verdict of a full window.
    pub fn record_window(&self, search: &mut Search, attempt: &Attempt, verdict: &Verdict, observed: &Observation) {
        let is_generator_limit = |judged: &analysis::verdict::ClauseVerdict| judged.cause == Some(Cause::Generator);
        let fixed = self.concurrency.is_some();
        let distorted = verdict.outcome != Outcome::Pass && verdict.clauses.iter().any(is_generator_limit);
        let found = Attribution::new(observed, None).filter(|_| distorted && !fixed);
        let retry_slots = found
            .filter(|found| found.blocked_share() > MAX_BLOCKED_OPS)
            .and_then(|found| {
                // Enough slots for all operations that became due during the longest wait.
                let wait = self.promise.rate_iops * found.blocked_secs_max;
                let slots = attempt
                    .slots
                    .saturating_mul(2)
                    .max(attempt.slots.saturating_add(wait.ceil() as u32));
                let slots = slots.min(self.slots_max());
                (slots > attempt.slots && search.windows.len() + 1 < WINDOWS_MAX).then_some(slots)
            });
        search.windows.push(Window { retry_slots });
    }
}

impl Search {
    /// The slots with which the storage did most: a deeper queue can be slower, under a throttle
    /// for instance. Of almost equal rates, those with the most slots, which absorb most stalls.
    fn best_slots(&self) -> Option<u32> {
        let rates = self.climb.probes.iter().map(|(_, iops)| *iops);
        let best = rates.max_by(f64::total_cmp)?;
        let is_near = |(_, iops): &&(u32, f64)| *iops >= best * (1.0 - GROWTH_MIN);
        self.climb.probes.iter().rev().find(is_near).map(|(slots, _)| *slots)
    }

    /// The probes of the depth, if there were any.
    pub fn climb(&self) -> Option<&Climb> {
        (!self.climb.probes.is_empty()).then_some(&self.climb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_depth_at_which_the_storage_did_most() {
        let climbed = |rates: &[f64]| Search {
            climb: Climb {
                probes: rates
                    .iter()
                    .enumerate()
                    .map(|(step, iops)| (32 << step, *iops))
                    .collect(),
                ..Climb::default()
            },
            ..Search::default()
        };
        assert_eq!(climbed(&[1778.0, 2018.0, 2021.0, 1283.0]).best_slots(), Some(128));
        assert_eq!(climbed(&[1000.0, 1010.0, 1020.0]).best_slots(), Some(128));
        assert_eq!(climbed(&[]).best_slots(), None);
    }
}
