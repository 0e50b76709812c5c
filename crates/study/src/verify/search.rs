//! What to issue next: how many queue slots it takes to judge a promise.
//!
//! Where a latency is promised, Little's law says how many operations are in flight; slots beyond
//! that are free. Where only a rate is promised, nothing says how much depth the storage needs, so
//! probes raise it until the rate is met or more depth brings nothing.

use analysis::attribution::Attribution;
use analysis::policies::{DEFAULT_LATENCY_SECS, open_loop_slots};
use analysis::verdict::{BLOCKED_SHARE, Cause, Climb, Outcome, Verdict};
use model::observation::Observation;
use model::{Bytes, Nanos};

use super::Verification;

/// Slots at most.
pub const SLOTS_MAX: u32 = 4096;
/// Bytes that the buffers of all slots may take together.
const BUFFERS_MAX: u64 = 1 << 30;
/// Measured time of a probe.
pub const PROBE: Nanos = Nanos::secs(5);
/// I/O before it.
pub const PROBE_WARM_UP: Nanos = Nanos::secs(1);
/// Full windows at most.
const WINDOWS_MAX: usize = 3;
/// A probe meets a rate from this share of it on.
const MET: f64 = 0.995;
/// A window has this many times the slots with which a probe met the rate: free slots cost nothing,
/// and storage that gets slower later needs more of them for the same rate.
const HEADROOM: u32 = 8;
/// Twice the depth that brings a smaller share more operations brings nothing.
const GROWTH_MIN: f64 = 0.05;

/// Slots at most whose buffers have this size.
pub fn slots_max(block: Bytes) -> u32 {
    let by_memory = BUFFERS_MAX / block.0.max(1);
    SLOTS_MAX.min(by_memory.min(u64::from(u32::MAX)) as u32).max(1)
}

/// One run of the promised load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Operations that may be in flight.
    pub slots: u32,
    /// Number of the full window, from 1; of a probe that of the window to come.
    pub number: u32,
    /// A short run that only looks for the depth.
    pub is_probe: bool,
}

/// What was issued so far.
#[derive(Clone, Debug, Default)]
pub struct Search {
    climb: Climb,
    windows: Vec<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// Slots for another one, if this one was distorted by too few.
    more: Option<u32>,
}

impl Verification {
    /// True if no latency says how much depth the rate takes, and the user fixed none.
    pub fn climbs(&self) -> bool {
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
        let by_law = match self.climbs() {
            true => open_loop_slots(0.0),
            false => workers * open_loop_slots(self.promise.rate_iops * latency / f64::from(workers)),
        };
        let of_policy = self.promise.workload.concurrency.unwrap_or(0).min(u64::from(SLOTS_MAX)) as u32;
        by_law.max(of_policy).min(self.slots_max())
    }

    fn slots_max(&self) -> u32 {
        slots_max(self.promise.workload.block)
    }

    /// The next attempt; `None` once the promise is judged as well as it can be.
    pub fn next(&self, search: &Search) -> Option<Attempt> {
        let number = search.windows.len() as u32 + 1;
        let window = |slots| Attempt {
            slots,
            number,
            is_probe: false,
        };
        if let Some(last) = search.windows.last() {
            return last.more.map(window);
        }
        if !self.climbs() {
            return Some(window(self.first_slots()));
        }
        let Some(&(slots, _)) = search.climb.probes.last() else {
            return Some(Attempt {
                is_probe: true,
                ..window(self.first_slots())
            });
        };
        let times = |factor: u32| slots.saturating_mul(factor).min(self.slots_max());
        if search.climb.met {
            return Some(window(times(HEADROOM)));
        }
        if search.climb.saturated || slots >= self.slots_max() {
            return Some(window(slots));
        }
        Some(Attempt {
            is_probe: true,
            ..window(times(2))
        })
    }

    /// Notes what a probe reached, in operations per second.
    pub fn record_probe(&self, search: &mut Search, attempt: &Attempt, iops: f64) {
        search.climb.probes.push((attempt.slots, iops));
        search.climb.met = iops >= MET * self.promise.rate_iops;
        let growths = search
            .climb
            .probes
            .windows(2)
            .map(|pair| pair[1].1 / pair[0].1.max(1e-9) - 1.0);
        let growths: Vec<f64> = growths.collect();
        if let [.., before, last] = growths[..] {
            // Growth that shrinks by a third with each step adds up to three times the last.
            let reachable = iops * (1.0 + 3.0 * last.max(0.0));
            search.climb.saturated =
                before < GROWTH_MIN && last < GROWTH_MIN && reachable < MET * self.promise.rate_iops;
        }
    }

    /// Notes how a full window went.
    pub fn record_window(&self, search: &mut Search, attempt: &Attempt, verdict: &Verdict, observed: &Observation) {
        let blamed = |judged: &analysis::verdict::ClauseVerdict| judged.cause == Some(Cause::Generator);
        let fixed = self.concurrency.is_some();
        let distorted = verdict.outcome != Outcome::Pass && verdict.clauses.iter().any(blamed);
        let found = Attribution::new(observed, None).filter(|_| distorted && !fixed);
        let more = found
            .filter(|found| found.blocked_share() > BLOCKED_SHARE)
            .and_then(|found| {
                // Enough for everything that came due in the longest wait.
                let wait = self.promise.rate_iops * found.blocked_secs_max;
                let slots = attempt
                    .slots
                    .saturating_mul(2)
                    .max(attempt.slots.saturating_add(wait.ceil() as u32));
                let slots = slots.min(self.slots_max());
                (slots > attempt.slots && search.windows.len() + 1 < WINDOWS_MAX).then_some(slots)
            });
        search.windows.push(Window { more });
    }
}

impl Search {
    /// How the depth was found, where probes looked for it.
    pub fn climb(&self) -> Option<&Climb> {
        (!self.climb.probes.is_empty()).then_some(&self.climb)
    }
}
