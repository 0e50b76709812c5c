//! Finds the number of queue slots that a promise needs.
//!
//! If a latency is promised, Little's law gives the number of operations in flight; more slots
//! would stay unused. If only a rate is promised, the required depth is unknown. Short probes then
//! double it until the storage reaches the rate, or until more depth gains nothing.

use analysis::attribution::{Attribution, Fault};
use analysis::policies::{DEFAULT_LATENCY_SECS, open_loop_slots};
use analysis::requirement::Metric;
use analysis::verdict::{Cause, DepthSearch, MAX_BLOCKED_OPS, Outcome, Verdict};
use model::observation::Observation;
use model::{Bytes, Nanos};

use super::Verification;

/// Upper limit of the slots of an attempt.
pub const SLOTS_MAX: u32 = 4096;
/// Upper limit of the buffers of all slots together, in bytes.
const MAX_BUFFER_BYTES: u64 = 1 << 30;
/// Measured time of a probe.
pub const PROBE_TIME: Nanos = Nanos::secs(5);
/// Warm-up of a probe.
pub const PROBE_WARM_UP: Nanos = Nanos::secs(1);
/// Upper limit of the number of full windows.
const MAX_WINDOWS: usize = 3;
/// A probe that reaches this share of the promised rate meets it.
const RATE_MET_SHARE: f64 = 0.995;
/// After a probe that met the rate, the full window gets this multiple of its slots. Unused slots
/// cost nothing, and storage that slows down later needs more slots for the same rate.
const HEADROOM_FACTOR: u32 = 8;
/// The search probes fewer slots if each of this many last seconds of a window missed the rate.
const RECHECK_SECONDS: usize = 5;
/// Minimum relative gain of the rate for a doubled depth to count as useful.
const MIN_GROWTH: f64 = 0.05;

/// Upper limit of the slots for buffers of this size.
pub fn slots_max(block: Bytes) -> u32 {
    let slots_max_by_memory = MAX_BUFFER_BYTES / block.0.max(1);
    SLOTS_MAX
        .min(slots_max_by_memory.min(u64::from(u32::MAX)) as u32)
        .max(1)
}

/// One run of the promised load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Maximum number of operations in flight.
    pub slots: u32,
    /// Number of the full window, counted from 1; a probe has the number of the window that it
    /// precedes.
    pub number: u32,
    /// True for a probe, a short run that only searches for the depth.
    pub is_probe: bool,
}

/// Results of the attempts so far.
#[derive(Clone, Debug, Default)]
pub struct Search {
    depth_search: DepthSearch,
    windows: Vec<Window>,
    /// Operations per second of a probe after a window that missed the rate.
    recheck: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// Queue slots in use.
    slots: u32,
    /// The operations per second that it reached.
    iops: f64,
    /// Slots for another window, if too few slots distorted this one.
    retry_slots: Option<u32>,
    /// The smaller number of slots with which a probe met the rate, if this window missed the rate
    /// until its end.
    shallower_slots: Option<u32>,
}

impl Verification {
    /// True if probes must find the depth, because neither a promised latency nor the user sets it.
    pub fn needs_depth_probes(&self) -> bool {
        self.promise.latency_secs().is_none() && self.concurrency.is_none()
    }

    /// The number of slots of the first attempt.
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

    /// Returns the next attempt; `None` if another one cannot improve the verdict.
    pub fn next(&self, search: &Search) -> Option<Attempt> {
        let number = search.windows.len() as u32 + 1;
        let window = |slots| Attempt {
            slots,
            number,
            is_probe: false,
        };
        let probe = |slots| Attempt {
            is_probe: true,
            ..window(slots)
        };
        if let Some(last) = search.windows.last() {
            return match (last.retry_slots, last.shallower_slots, search.recheck) {
                (Some(slots), ..) => Some(window(slots)),
                (None, Some(slots), None) => Some(probe(slots)),
                (None, Some(slots), Some(iops)) => self.meets_rate(iops).then(|| window(slots)),
                (None, None, _) => None,
            };
        }
        if !self.needs_depth_probes() {
            return Some(window(self.first_slots()));
        }
        let Some(&(slots, _)) = search.depth_search.probes.last() else {
            return Some(probe(self.first_slots()));
        };
        let multiplied = |factor: u32| slots.saturating_mul(factor).min(self.slots_max());
        if search.depth_search.met {
            return Some(window(multiplied(HEADROOM_FACTOR)));
        }
        if search.depth_search.saturated || slots >= self.slots_max() {
            return Some(window(search.best_slots().unwrap_or(slots)));
        }
        Some(probe(multiplied(2)))
    }

    fn meets_rate(&self, iops: f64) -> bool {
        iops >= RATE_MET_SHARE * self.promise.rate_iops
    }

    /// Records the operations per second that a probe reached.
    pub fn record_probe(&self, search: &mut Search, attempt: &Attempt, iops: f64) {
        if !search.windows.is_empty() {
            search.recheck = Some(iops);
            return;
        }
        search.depth_search.probes.push((attempt.slots, iops));
        search.depth_search.met = self.meets_rate(iops);
        let growths = search
            .depth_search
            .probes
            .windows(2)
            .map(|pair| pair[1].1 / pair[0].1.max(1e-9) - 1.0);
        let growths: Vec<f64> = growths.collect();
        if let [.., before, last] = growths[..] {
            // Assume that each further gain is at most two thirds of the previous one. Then all of
            // them together are less than three times the last gain.
            let reachable = iops * (1.0 + 3.0 * last.max(0.0));
            search.depth_search.saturated =
                before < MIN_GROWTH && last < MIN_GROWTH && reachable < RATE_MET_SHARE * self.promise.rate_iops;
        }
    }

    /// Records a full window, and whether another one with more or fewer slots can help.
    pub fn record_window(&self, search: &mut Search, attempt: &Attempt, verdict: &Verdict, observed: &Observation) {
        let is_generator_limit = |judged: &analysis::verdict::ClauseVerdict| judged.cause == Some(Cause::Generator);
        let fixed = self.concurrency.is_some();
        let distorted = verdict.outcome != Outcome::Pass && verdict.clauses.iter().any(is_generator_limit);
        let attribution = Attribution::new(observed, None).filter(|_| distorted && !fixed);
        let retry_slots = attribution
            .filter(|attribution| attribution.blocked_share() > MAX_BLOCKED_OPS)
            .and_then(|attribution| {
                // Enough slots for all operations that became due during the longest wait.
                let wait = self.promise.rate_iops * attribution.blocked_secs_max;
                let slots = attempt
                    .slots
                    .saturating_mul(2)
                    .max(attempt.slots.saturating_add(wait.ceil() as u32));
                let slots = slots.min(self.slots_max());
                (slots > attempt.slots && search.windows.len() + 1 < MAX_WINDOWS).then_some(slots)
            });
        let probed = search.depth_search.probes.last().filter(|_| search.depth_search.met);
        let shallower = probed.map(|(slots, _)| *slots).filter(|slots| *slots < attempt.slots);
        search.windows.push(Window {
            slots: attempt.slots,
            iops: observed.total.iops.unwrap_or(0.0),
            retry_slots,
            shallower_slots: shallower.filter(|_| verdict.outcome != Outcome::Pass && misses_rate_at_end(observed)),
        });
    }
}

/// True if the storage missed the rate in each of the last seconds. Only then can the depth be what
/// slows it down: a stall that has passed or a limit that was changed has another cause.
fn misses_rate_at_end(observed: &Observation) -> bool {
    let mut hosts = observed.seconds.iter().flat_map(|second| &second.hosts);
    if hosts.any(|host| host.changed_limits.is_some()) {
        return false;
    }
    let seconds = observed.seconds.iter().rev().take(RECHECK_SECONDS);
    let last: Vec<f64> = seconds.map(|second| second.facts.start_ns.as_secs()).collect();
    Attribution::new(observed, None).is_some_and(|attribution| {
        let is_missed = |at: &f64| {
            attribution
                .missed
                .iter()
                .any(|failure| failure.at == *at && failure.fault == Fault::Storage)
        };
        last.len() == RECHECK_SECONDS && last.iter().all(is_missed)
    })
}

impl Search {
    /// The number of slots of the fastest probe. A deeper queue can be slower, for example under a
    /// throttle. Of probes with almost equal rates, the one with the most slots counts, because
    /// more slots absorb longer stalls.
    fn best_slots(&self) -> Option<u32> {
        let rates = self.depth_search.probes.iter().map(|(_, iops)| *iops);
        let best = rates.max_by(f64::total_cmp)?;
        let is_near = |(_, iops): &&(u32, f64)| *iops >= best * (1.0 - MIN_GROWTH);
        self.depth_search
            .probes
            .iter()
            .rev()
            .find(is_near)
            .map(|(slots, _)| *slots)
    }

    /// Describes the probe after a window that missed the rate.
    pub fn describe_recheck(&self) -> Option<String> {
        let iops = self.recheck?;
        let missed = self.windows.iter().find(|window| window.shallower_slots.is_some())?;
        let (slots, shallower) = (missed.slots, missed.shallower_slots?);
        let (show, last) = (|iops: f64| Metric::Iops.show(iops), self.windows.last()?);
        Some(match self.windows.len() {
            1 => format!(
                "a probe with {shallower} slots after the window did not meet the rate either: {} IOPS",
                show(iops)
            ),
            _ if last.iops > missed.iops * (1.0 + MIN_GROWTH) => format!(
                "with up to {slots} in flight the storage served only {} IOPS, but {} with {shallower}: a \
                 deeper queue slows it down, so the verdict applies to {shallower}",
                show(missed.iops),
                show(last.iops)
            ),
            _ => format!(
                "probes of {PROBE_TIME} reach {} IOPS with {shallower} slots, but a whole window with {shallower} or \
                 {slots} does not: the storage is slower under sustained load, for example if credits ran out in the warm-up",
                show(iops)
            ),
        })
    }

    /// The probes that searched for the depth, if there were any.
    pub fn depth_search(&self) -> Option<&DepthSearch> {
        (!self.depth_search.probes.is_empty()).then_some(&self.depth_search)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rate_alone;
    use super::*;
    use analysis::verdict::{Context, judge};
    use model::observation::Second;
    use model::seconds::{HostSample, IntervalFacts, QueueUse};

    #[test]
    fn the_best_depth_has_the_highest_rate() {
        let searched = |rates: &[f64]| Search {
            depth_search: DepthSearch {
                probes: rates
                    .iter()
                    .enumerate()
                    .map(|(step, iops)| (32 << step, *iops))
                    .collect(),
                ..DepthSearch::default()
            },
            ..Search::default()
        };
        assert_eq!(searched(&[1778.0, 2018.0, 2021.0, 1283.0]).best_slots(), Some(128));
        assert_eq!(searched(&[1000.0, 1010.0, 1020.0]).best_slots(), Some(128));
        assert_eq!(searched(&[]).best_slots(), None);
    }

    /// A window with every slot in use, in which each second serves this number of operations.
    fn window(slots: u32, served: &[u64]) -> Observation {
        let second = |(number, operations): (usize, &u64)| Second {
            facts: IntervalFacts {
                start_ns: Nanos::secs(number as u64),
                length_ns: Nanos::secs(1),
                operations: *operations,
                queue: QueueUse {
                    slots_ns: Nanos::secs(slots.into()),
                    in_use_ns: Nanos::secs(slots.into()),
                    queues_ns: Nanos::secs(1),
                    full_ns: Nanos::secs(1),
                    issued: *operations,
                    ..QueueUse::default()
                },
                ..IntervalFacts::default()
            },
            ..Second::default()
        };
        let mut observation = Observation {
            seconds: served.iter().enumerate().map(second).collect(),
            measured_ns: Some(Nanos::secs(served.len() as u64)),
            ..Observation::default()
        };
        observation.load.rate_iops = Some(2000.0);
        observation.total.iops = Some(served.iter().sum::<u64>() as f64 / served.len() as f64);
        observation
    }

    /// Simulates a probe, a window of 256 slots and another probe. The first probe meets the rate,
    /// the window serves `served`, and the last probe reaches `recheck`. Returns the attempt after
    /// the window, the next attempt, and the note.
    fn after_missed_window(served: &[u64], recheck: f64) -> (Option<Attempt>, Option<Attempt>, Option<String>) {
        let verification = rate_alone("2000");
        let mut search = Search::default();
        let mut attempt = verification.next(&search).unwrap();
        verification.record_probe(&mut search, &attempt, 1999.0);
        attempt = verification.next(&search).unwrap();
        assert_eq!((attempt.slots, attempt.is_probe), (256, false));
        let observed = window(attempt.slots, served);
        let verdict = judge(&verification.promise.clauses, &observed, &Context::default());
        verification.record_window(&mut search, &attempt, &verdict, &observed);
        let Some(probe) = verification.next(&search) else {
            return (None, None, None);
        };
        verification.record_probe(&mut search, &probe, recheck);
        let next = verification.next(&search);
        if let Some(next) = &next {
            let observed = window(next.slots, &[2000; 10]);
            let verdict = judge(&verification.promise.clauses, &observed, &Context::default());
            verification.record_window(&mut search, next, &verdict, &observed);
            assert_eq!(verification.next(&search), None);
        }
        (Some(probe), next, search.describe_recheck())
    }

    /// Some throttles serve a deep queue at a lower rate than a shallow one.
    #[test]
    fn a_window_slower_than_its_probe_is_repeated_with_the_slots_of_the_probe() {
        let attempt = |slots, number, is_probe| Attempt {
            slots,
            number,
            is_probe,
        };
        let (probe, next, note) = after_missed_window(&[1300; 10], 1995.0);
        assert_eq!((probe, next), (Some(attempt(32, 2, true)), Some(attempt(32, 2, false))));
        assert!(
            note.unwrap()
                .contains("with up to 256 in flight the storage served only 1300")
        );
        // Burst credits stay exhausted, even with fewer slots.
        let (probe, next, note) = after_missed_window(&[2000, 2000, 500, 500, 500, 500, 500, 500], 500.0);
        assert_eq!((probe, next), (Some(attempt(32, 2, true)), None));
        assert!(note.unwrap().contains("did not meet the rate either: 500 IOPS"));
        // If a limit was lowered, the depth is not the cause.
        let mut lowered = window(256, &[1300; 10]);
        lowered.seconds[3].hosts.push(HostSample {
            changed_limits: Some(Vec::new()),
            ..HostSample::default()
        });
        assert!(misses_rate_at_end(&window(256, &[1300; 10])) && !misses_rate_at_end(&lowered));
        // A stall that has passed occurs at any depth, so fewer slots would not help.
        let stalled = [2000, 0, 0, 0, 2000, 2000, 2000, 2000, 2000, 2000];
        assert_eq!(after_missed_window(&stalled, 2000.0), (None, None, None));
        assert_eq!(after_missed_window(&[2000; 10], 2000.0), (None, None, None));
    }
}
