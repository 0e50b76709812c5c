//! Was the load the one that the promise is about, and was the generator free to show that it is
//! broken?

use model::finding::Severity;
use model::observation::Observation;

use super::doubt::Doubt;
use super::judgement::breaks;
use super::{Case, Cause, Reason};
use crate::attribution::Attribution;
use crate::policies::{BurstOf, DEFAULT_LATENCY_SECS, PLENTY, SLOW_LATENCY_SECS, open_loop_slots};
use crate::requirement::{Clause, Metric};

/// Percentage points by which the share of reads may miss what was promised.
const MIX_POINTS: f64 = 1.0;
/// Share of the places in the queue that must have been in use for the storage to be what held
/// operations up.
const QUEUE_IN_USE: f64 = 0.95;
/// A worker above this share of a processor may be the limit itself.
const BUSY: f64 = 0.90;
/// More than this beyond the promised rate is another load.
const BEYOND: f64 = 0.01;
/// A closed loop that could issue less than this multiple of the promised rate has little headroom.
const LITTLE_HEADROOM: f64 = 1.25;
/// Findings after which a good figure says nothing about the storage: something else answered.
const ANSWERED_ELSEWHERE: [&str; 3] = ["CACHE-HITS", "NOT-ON-DEVICE", "HOLES"];
/// Findings after which a bad figure says nothing about the storage: it was not alone, or not given
/// enough to do.
const HELD_UP_ELSEWHERE: [&str; 2] = ["OTHER-LOAD", "SYNC-ENGINE"];
/// Error findings that are reported as failed operations.
const FAILURES: [&str; 2] = ["WORKER-FAILED", "IO-ERRORS"];

/// Slots that were too few for a rate.
pub(super) struct SlotsNeeded {
    /// What was observed, in a sentence.
    pub(super) why: String,
    /// How many would do.
    pub(super) enough: u64,
}

impl Case<'_> {
    /// What is wrong with the test as a whole.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut add = |cause: Option<Cause>, what: String| reasons.push(Reason { cause, what });
        if let Some(errors) = self.observation.errors.filter(|errors| *errors > 0) {
            add(
                None,
                format!("{errors} operations failed: a promise about operations is not kept by failing them"),
            );
        }
        let failed = self
            .context
            .findings
            .iter()
            .filter(|finding| FAILURES.contains(&finding.rule.as_str()));
        if let (Some(finding), None | Some(0)) = (failed.into_iter().next(), self.observation.errors) {
            add(None, finding.what.clone());
        }
        if self.context.interrupted {
            add(Some(Cause::Interrupted), "the test was stopped before its end".into());
        }
        for finding in self.context.findings {
            let invalid = finding.severity == Severity::Error && !FAILURES.contains(&finding.rule.as_str());
            if invalid {
                add(Some(Cause::Invalid), format!("{}: {}", finding.rule, finding.what));
            }
        }
        reasons.extend(self.other_load());
        reasons
    }

    /// In what the load differs from the one that the promise is about.
    fn other_load(&self) -> Vec<Reason> {
        let Some(wanted) = self.context.workload else {
            return Vec::new();
        };
        let load = &self.observation.load;
        let mut reasons = Vec::new();
        let mut differs = |cause: Cause, what: String| {
            reasons.push(Reason {
                cause: Some(cause),
                what,
            });
        };
        match block(self.observation) {
            Some(block) if (block - wanted.block.0 as f64).abs() < 0.5 => {}
            Some(block) => differs(
                Cause::Load,
                format!(
                    "operations had {block:.0} bytes, and the promise is about {}",
                    wanted.block
                ),
            ),
            None => differs(Cause::Load, "how long the operations were is not known".into()),
        }
        match (load.random, wanted.random) {
            (Some(found), wanted) if found == wanted => {}
            (Some(_), true) => differs(
                Cause::Load,
                "positions were sequential, and the promise is about random ones".into(),
            ),
            (Some(_), false) => differs(
                Cause::Load,
                "positions were random, and the promise is about sequential ones".into(),
            ),
            (None, _) => differs(Cause::Load, "whether positions were random is not known".into()),
        }
        if load.direct == Some(false) {
            differs(Cause::Load, "operations went through the system's cache".into());
        }
        match self.observation.read_percent() {
            Some(found) if (found - wanted.read_percent).abs() <= MIX_POINTS => {}
            Some(found) => differs(
                Cause::Mix,
                format!(
                    "{found:.1} % of the operations were reads, and the promise is about {} %",
                    wanted.read_percent
                ),
            ),
            None => differs(Cause::Mix, "how many of the operations were reads is not known".into()),
        }
        reasons
    }

    /// Operations per second that are promised over all directions: by a clause, else by the load
    /// of the promise.
    pub(super) fn promised_iops(&self) -> Option<f64> {
        let total = |metric: Metric| {
            let mut of = self
                .clauses
                .iter()
                .filter(move |clause| clause.metric == metric && clause.direction.is_none());
            of.next().map(|clause| clause.target)
        };
        let by_bytes = || Some(total(Metric::Throughput)? / block(self.observation)?);
        let by_load = || self.context.workload.and_then(|workload| workload.rate_iops);
        total(Metric::Iops).or_else(by_bytes).or_else(by_load)
    }

    /// The latency that is promised, in seconds.
    pub(super) fn promised_latency_secs(&self) -> Option<f64> {
        let mean = |clause: &&Clause| clause.metric == Metric::Mean && clause.direction.is_none();
        let by_mean = self.clauses.iter().find(mean).map(|clause| clause.target);
        // Where hardly an operation takes longer than a percentile, the mean does not either.
        let quantile =
            |clause: &&Clause| matches!(clause.metric, Metric::Quantile { .. }) && clause.direction.is_none();
        let paced = || Attribution::new(self.observation, None);
        let by_quantile = || {
            paced()
                .and(self.clauses.iter().find(quantile))
                .map(|clause| clause.target)
        };
        by_mean
            .or(self.context.latency_ns)
            .or_else(by_quantile)
            .map(|ns| ns / 1e9)
    }

    /// Operations in flight that a rate takes by Little's law, and the latency that they follow
    /// from, in seconds.
    pub(super) fn needed(&self, target: f64) -> (f64, f64) {
        let own = self
            .observation
            .total
            .latency
            .as_ref()
            .and_then(|latency| latency.mean_ns);
        let own = own.map_or(0.0, |ns| ns / 1e9);
        // Only of a paced load is it known that every slot was in use because of its latency.
        let is_paced = Attribution::new(self.observation, None).is_some();
        let is_fixed = self
            .context
            .workload
            .is_some_and(|workload| workload.concurrency.is_some());
        let each = match self.promised_latency_secs() {
            // The storage may take what was promised; where it takes less than all clauses allow,
            // more slots may raise the rate.
            Some(latency) if is_paced && self.service_keeps_latencies() => latency.max(own),
            Some(latency) => latency,
            // No clause promises a latency, so slow storage gets the benefit of the doubt.
            None if is_paced && !is_fixed => SLOW_LATENCY_SECS,
            // Of loads that others issued, up to a plenty.
            None => {
                let slow = (target * SLOW_LATENCY_SECS).min(f64::from(PLENTY));
                slow.max(target * DEFAULT_LATENCY_SECS) / target
            }
        };
        (target * each, each)
    }

    /// The storage itself keeps every clause about a latency, of which there are some, whatever
    /// waited in the program.
    fn service_keeps_latencies(&self) -> bool {
        let latency = |clause: &&Clause| matches!(clause.metric, Metric::Mean | Metric::Quantile { .. });
        let mut latencies = self.clauses.iter().filter(latency).peekable();
        latencies.peek().is_some()
            && latencies.all(|clause| {
                self.service_figure(clause)
                    .is_some_and(|service| !breaks(clause, service))
            })
    }

    /// A rate was asked for that is below `target` operations per second.
    pub(super) fn asked_for_less(&self, target: f64) -> Option<Doubt> {
        let asked = self.observation.load.rate_iops?;
        (asked < target * (1.0 - BEYOND)).then(|| {
            let why = format!("only {asked:.0} operations per second were asked for");
            Doubt::new(Cause::Generator, why).advise(format!("repeat with --rate {target:.0}"))
        })
    }

    /// Every slot may have been taken because there were too few of them for `target` operations
    /// per second.
    pub(super) fn too_few_slots(&self, target: f64) -> Option<SlotsNeeded> {
        let (slots, rate) = (self.observation.load.depth?, self.observation.total.iops?);
        if let Some(climb) = self.context.climb {
            // A window has many times the slots with which a probe met the rate.
            return (!climb.saturated && !climb.met).then(|| SlotsNeeded {
                why: format!(
                    "all {slots} slots were in use at {rate:.0} operations per second, and more slots may bring more"
                ),
                enough: 2 * slots,
            });
        }
        let (needed, latency) = self.needed(target);
        ((slots as f64) < needed * (1.0 - 1e-9)).then(|| SlotsNeeded {
            why: format!(
                "{} too few: {target:.0} operations per second at {:.3} ms each keep {:.0} in flight",
                if slots == 1 {
                    "1 slot is".to_owned()
                } else {
                    format!("{slots} slots are")
                },
                latency * 1e3,
                needed.ceil()
            ),
            enough: open_loop_slots(needed).into(),
        })
    }

    /// Why a rate that was missed may be the generator's fault, of results without facts of each
    /// second; `None` if it was free to issue `target` operations per second.
    pub(super) fn not_free(&self, target: f64) -> Option<String> {
        let load = &self.observation.load;
        let Some(depth) = load.depth else {
            return Some("the queue depth is unknown, so the generator may have been the limit".into());
        };
        if let Some(slots) = self.too_few_slots(target) {
            return Some(slots.why);
        }
        if let Some(in_flight) = self.observation.in_flight()
            && in_flight < depth as f64 * QUEUE_IN_USE
        {
            return Some(format!(
                "on average {in_flight:.1} of {depth} slots were in use, so something other than the storage held \
                 operations up"
            ));
        }
        let busiest = self.observation.generator.map(|generator| generator.busiest_worker);
        // A paced worker spins until the next operation is due.
        let busiest = busiest.filter(|_| load.closed_loop == Some(true));
        busiest.filter(|share| *share > BUSY).map(|share| {
            format!(
                "a worker used {:.0} % of a processor, so the generator may have been the limit",
                share * 100.0
            )
        })
    }

    /// A finding that takes the meaning from a good figure.
    pub(super) fn answered_elsewhere(&self) -> Option<String> {
        self.finding(&ANSWERED_ELSEWHERE)
    }

    /// A finding that takes the meaning from a bad figure.
    pub(super) fn held_up_elsewhere(&self) -> Option<String> {
        self.finding(&HELD_UP_ELSEWHERE)
    }

    fn finding(&self, rules: &[&str]) -> Option<String> {
        let mut found = self.context.findings.iter();
        let found = found.find(|finding| rules.contains(&finding.rule.as_str()))?;
        Some(format!("{}: {}", found.rule, found.what))
    }

    /// True if more was offered than is promised: in a closed loop without rate that is always so.
    pub(super) fn is_uncapped(&self) -> bool {
        let load = &self.observation.load;
        let Some(promised) = self.promised_iops() else {
            return false;
        };
        match load.rate_iops {
            Some(asked) => asked > promised * (1.0 + BEYOND),
            None => load.closed_loop == Some(true),
        }
    }

    /// A sentence if credits may have carried the whole test beyond what the storage does for ever.
    pub(super) fn on_credit(&self, metric: Metric, target: f64) -> Option<String> {
        let of = match metric {
            Metric::Iops => BurstOf::Iops,
            Metric::Throughput => BurstOf::Bytes,
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => return None,
        };
        let burst = self
            .context
            .bursts
            .iter()
            .find(|burst| burst.of == of && burst.refill < target * 0.99)?;
        let load = &self.observation.load;
        let ran = self.observation.measured_ns?.as_secs() + load.warm_up_ns.unwrap_or_default().as_secs();
        (ran < burst.lasts_secs()).then(|| {
            format!(
                "a full bucket carries {} for {:.0} s and the test took {ran:.0} s: it saw the credits, not what comes after",
                metric.show(burst.ceiling),
                burst.lasts_secs()
            )
        })
    }

    /// What to mind, whatever the outcome.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(wanted), Some(found)) = (self.context.workload, self.observation.measured_ns)
            && found.as_secs() < wanted.duration_secs * 0.999
        {
            notes.push(format!(
                "measured for {:.0} s of the {:.0} s that a verdict should rest on: what happens later is unknown, such as a cache that \
                 fills, credits that run out, or other tenants",
                found.as_secs(),
                wanted.duration_secs
            ));
        }
        for burst in self.context.bursts {
            notes.push(format!(
                "the storage has credits: full, they carry {} {} for {:.0} s; how full they were is not visible from here",
                Metric::Iops.show(if burst.of == BurstOf::Bytes { burst.ceiling / 1e6 } else { burst.ceiling }),
                if burst.of == BurstOf::Bytes { "MB/s" } else { burst.unit() },
                burst.lasts_secs()
            ));
        }
        notes.extend(self.little_headroom());
        notes
    }

    /// A generator that could hardly have issued more than it did.
    fn little_headroom(&self) -> Option<String> {
        let promised = self.promised_iops()?;
        let service = self.observation.total.latency.as_ref()?.mean_ns?;
        let depth = self.observation.load.depth?;
        let max = depth as f64 / (service / 1e9);
        let open = self.observation.total.response.is_some();
        (max < promised * LITTLE_HEADROOM && !open).then(|| {
            format!(
                "{depth} operations in flight at {:.3} ms each allow {max:.0} per second, {} than the promised \
                 {promised:.0}: such a closed loop hides a part of every stall",
                service / 1e6,
                if max < promised { "fewer" } else { "hardly more" }
            )
        })
    }
}

/// Bytes of an operation: as asked for, else by bytes and operations.
pub(super) fn block(observation: &Observation) -> Option<f64> {
    let counted = || {
        let total = &observation.total;
        let by_count = total.bytes.zip(total.operations.filter(|n| *n > 0));
        let by_count = by_count.map(|(bytes, operations)| bytes.0 as f64 / operations as f64);
        let by_rate = || Some(total.bytes_per_sec? / total.iops.filter(|iops| *iops > 0.0)?);
        by_count.or_else(by_rate)
    };
    observation.load.block.map(|block| block.0 as f64).or_else(counted)
}
