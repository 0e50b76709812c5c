//! Checks whether the load matches the promise, and whether the generator could have caused a miss.

use model::Nanos;
use model::finding::{Finding, Severity, TARGET_LOST};
use model::observation::Observation;

use super::doubt::Doubt;
use super::judgement::breaks_clause;
use super::shortfall::COMPARE_CREDITS;
use super::{Case, Cause, Reason};
use crate::attribution::{Attribution, is_simulated};
use crate::checks::busiest_worker;
use crate::diagnosis::{ConstantFall, find_constant_fall};
use crate::figures::{count, three_digits};
use crate::policies::{Burst, BurstUnit, DEFAULT_LATENCY_SECS, SLOW_LATENCY_SECS, SLOW_STORAGE_SLOTS, open_loop_slots};
use crate::requirement::{Clause, Metric};

/// Tolerance of the read share, in percentage points.
const MIX_TOLERANCE_POINTS: f64 = 1.0;
/// Minimum use of the slots for the storage to be the limit instead of the generator.
const MIN_QUEUE_IN_USE: f64 = 0.95;
/// A worker above this share of a processor may be the limit itself.
const BUSY_WORKER_SHARE: f64 = 0.90;
/// A rate that exceeds the promise by more than this is a different load.
const RATE_TOLERANCE: f64 = 0.01;
/// Minimum headroom of a closed loop: the rate that it could issue, divided by the promised rate.
const MIN_HEADROOM: f64 = 1.25;
/// A constant rate this close to the refill of known credits is that refill.
const REFILL_TOLERANCE: f64 = 0.05;
/// Findings that invalidate a good figure: something other than storage served the I/O.
const OTHER_SOURCE_FINDINGS: [&str; 5] = ["CACHE-HITS", "NOT-ON-DEVICE", "HOLES", "IN-MEMORY", "BUFFERED"];
/// Findings that invalidate a bad figure: other load on the device, or too little load on it.
const OTHER_LIMIT_FINDINGS: [&str; 2] = ["OTHER-LOAD", "SYNC-ENGINE"];
/// Error findings that are reported as failed operations.
const FAILURE_FINDINGS: [&str; 3] = ["WORKER-FAILED", "JOB-FAILED", "IO-ERRORS"];

/// Lists the rules of findings with which figures are not those of the storage, each once.
pub fn list_doubts<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<&'a str> {
    let mut rules: Vec<&str> = findings.into_iter().map(|finding| finding.rule.as_str()).collect();
    rules.retain(|rule| OTHER_SOURCE_FINDINGS.contains(rule) || FAILURE_FINDINGS.contains(rule));
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Slots that were too few for a rate.
pub(super) struct SlotsNeeded {
    /// The observation, in a sentence.
    pub(super) why: String,
    /// The recommended action, with a sufficient number.
    pub(super) action: String,
}

impl SlotsNeeded {
    fn new(why: String, enough: u64) -> SlotsNeeded {
        SlotsNeeded {
            why,
            action: format!("allow more operations in flight: --depth {enough}"),
        }
    }
}

/// Operations in flight that a rate needs.
pub(super) struct NeededInFlight {
    pub(super) operations: f64,
    /// The latency behind them, in seconds, with the word for its source; `None` if it is assumed.
    latency: Option<(&'static str, f64)>,
}

impl Case<'_> {
    /// Problems of the test as a whole.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut add = |cause: Option<Cause>, what: String| reasons.push(Reason { cause, what });
        // I/O on a lost target does not test the storage; that finding is a reason below.
        let is_lost = self.context.findings.iter().any(|finding| finding.rule == TARGET_LOST);
        if let Some(errors) = self.observation.errors.filter(|errors| *errors > 0 && !is_lost) {
            add(
                None,
                format!("{} failed, so the promise is not met", count(errors, "operation")),
            );
        }
        let failed = self
            .context
            .findings
            .iter()
            .filter(|finding| FAILURE_FINDINGS.contains(&finding.rule.as_str()));
        if let (Some(finding), None | Some(0), false) = (failed.into_iter().next(), self.observation.errors, is_lost) {
            add(None, finding.what.clone());
        }
        if self.observation.load.no_io {
            let why = "the null engine does no I/O, so no storage was tested";
            add(Some(Cause::Invalid), why.into());
        }
        if self.context.interrupted {
            add(Some(Cause::Interrupted), "the test was stopped before its end".into());
        }
        for finding in self.context.findings {
            let invalid = finding.severity == Severity::Error && !FAILURE_FINDINGS.contains(&finding.rule.as_str());
            if invalid {
                add(Some(Cause::Invalid), format!("{}: {}", finding.rule, finding.what));
            }
        }
        reasons.extend(self.find_load_differences());
        reasons
    }

    /// Differences between the load and the promised load.
    fn find_load_differences(&self) -> Vec<Reason> {
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
        match block_bytes(self.observation) {
            Some(block) if (block - wanted.block.0 as f64).abs() < 0.5 => {}
            Some(block) => differs(
                Cause::Load,
                format!(
                    "operations had {block:.0} bytes, but the promise is for {}",
                    wanted.block
                ),
            ),
            None => differs(Cause::Load, "the length of the operations is unknown".into()),
        }
        match (load.random, wanted.random) {
            (Some(measured), wanted) if measured == wanted => {}
            (Some(_), true) => differs(
                Cause::Load,
                "positions were sequential, but the promise is for random ones".into(),
            ),
            (Some(_), false) => differs(
                Cause::Load,
                "positions were random, but the promise is for sequential ones".into(),
            ),
            (None, _) => differs(Cause::Load, "it is unknown whether positions were random".into()),
        }
        if load.direct == Some(false) {
            differs(Cause::Load, "operations went through the system's cache".into());
        }
        let is_promised = |percent: f64| (percent - wanted.read_percent).abs() <= MIX_TOLERANCE_POINTS;
        // fathom issues the requested mix. If fewer operations of one direction complete, the
        // storage serves that direction more slowly; the load does not differ.
        let is_issued = !self.observation.seconds.is_empty() && load.read_percent.is_some_and(is_promised);
        // Figures without directions have only the requested mix.
        match self.observation.read_percent().or(load.read_percent) {
            Some(measured) if is_promised(measured) || is_issued => {}
            Some(measured) => differs(
                Cause::Mix,
                format!(
                    "{measured:.1} % of the operations were reads, but the promise is for {} %",
                    wanted.read_percent
                ),
            ),
            None => differs(Cause::Mix, "the share of reads is unknown".into()),
        }
        reasons
    }

    /// Promised operations per second over all directions: by a clause, otherwise by the workload.
    pub(super) fn promised_iops(&self) -> Option<f64> {
        let total = |metric: Metric| {
            let mut matching = self
                .clauses
                .iter()
                .filter(move |clause| clause.metric == metric && clause.direction.is_none());
            matching.next().map(|clause| clause.target)
        };
        let by_bytes = || Some(total(Metric::Throughput)? / block_bytes(self.observation)?);
        let by_load = || self.context.workload.and_then(|workload| workload.rate_iops);
        total(Metric::Iops).or_else(by_bytes).or_else(by_load)
    }

    /// The promised operations per second, if the test requested fewer or had no rate.
    pub(super) fn unrequested_iops(&self) -> Option<f64> {
        let requested = self.observation.load.rate_iops.unwrap_or(0.0);
        self.promised_iops().filter(|promised| requested < *promised)
    }

    /// The option that a rate needs in addition, if the test has too few slots for it.
    pub(super) fn describe_missing_depth(&self, rate: f64) -> String {
        let needed = self.needed_in_flight(rate).operations;
        match self.observation.load.depth {
            Some(slots) if (slots as f64) < needed => format!(" --depth {}", open_loop_slots(needed)),
            _ => String::new(),
        }
    }

    /// The promised latency, in seconds.
    pub(super) fn promised_latency_secs(&self) -> Option<f64> {
        let mean = |clause: &&Clause| clause.metric == Metric::Mean && clause.direction.is_none();
        let by_mean = self.clauses.iter().find(mean).map(|clause| clause.target);
        // A percentile also bounds the mean.
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

    /// Operations in flight that a rate needs by Little's law.
    pub(super) fn needed_in_flight(&self, target: f64) -> NeededInFlight {
        let measured_latency = self
            .observation
            .total
            .latency
            .as_ref()
            .and_then(|latency| latency.mean_ns);
        let measured_latency = measured_latency.map_or(0.0, |ns| ns / 1e9);
        // Only a paced load shows whether latency filled every slot.
        let is_paced = Attribution::new(self.observation, None).is_some();
        let is_fixed = self
            .context
            .workload
            .is_some_and(|workload| workload.concurrency.is_some());
        let (operations, latency) = match self.promised_latency_secs() {
            // The storage may take the promised latency. If it meets all latency clauses, more
            // slots may raise the rate.
            Some(promised) if is_paced && self.service_meets_latencies() && measured_latency > promised => {
                (target * measured_latency, Some(("measured", measured_latency)))
            }
            Some(promised) => (target * promised, Some(("promised", promised))),
            // No clause promises a latency, so slow storage gets the benefit of the doubt.
            None if is_paced && !is_fixed => (target * SLOW_LATENCY_SECS, None),
            // The same for loads of other tools, but only up to a large number of slots.
            None => {
                let slow = (target * SLOW_LATENCY_SECS).min(f64::from(SLOW_STORAGE_SLOTS));
                (slow.max(target * DEFAULT_LATENCY_SECS), None)
            }
        };
        NeededInFlight { operations, latency }
    }

    /// True if there are latency clauses and the service times meet all of them.
    fn service_meets_latencies(&self) -> bool {
        let latency = |clause: &&Clause| matches!(clause.metric, Metric::Mean | Metric::Quantile { .. });
        let mut latencies = self.clauses.iter().filter(latency).peekable();
        latencies.peek().is_some()
            && latencies.all(|clause| {
                self.service_figure(clause)
                    .is_some_and(|service| !breaks_clause(clause, service))
            })
    }

    /// Doubts a test that requested less than `target` operations per second.
    pub(super) fn doubt_requested_rate(&self, target: f64) -> Option<Doubt> {
        let requested_iops = self.observation.load.rate_iops?;
        (requested_iops < target * (1.0 - RATE_TOLERANCE)).then(|| {
            let why = format!("only {requested_iops:.0} operations per second were requested");
            Doubt::new(Cause::Generator, why).with_action(format!("repeat with --rate {target:.0}"))
        })
    }

    /// Finds whether there may have been too few slots for `target` operations per second.
    pub(super) fn too_few_slots(&self, target: f64) -> Option<SlotsNeeded> {
        let (slots, rate) = (self.observation.load.depth?, self.observation.total.iops?);
        if self.was_throttled(target) {
            return None;
        }
        if let Some(depth_search) = self.context.depth_search {
            // The window has many times the slots of the probe that met the rate.
            return (!depth_search.saturated && !depth_search.met).then(|| {
                let why = format!(
                    "all {slots} slots were in use at {rate:.0} operations per second, so more slots may raise the \
                     rate"
                );
                SlotsNeeded::new(why, 2 * slots)
            });
        }
        let NeededInFlight { operations, latency } = self.needed_in_flight(target);
        ((slots as f64) < operations * (1.0 - 1e-9)).then(|| {
            let enough = open_loop_slots(operations);
            if let Some(ConstantFall { from, to, at, .. }) = self.constant_fall(target) {
                return SlotsNeeded {
                    why: format!(
                        "the rate fell from {} to {} IOPS at {at:.0} s, as when credits run out, and {slots} slots do \
                         not show whether more in flight would raise it again",
                        three_digits(from),
                        three_digits(to)
                    ),
                    action: format!("{COMPARE_CREDITS}, and repeat with more operations in flight: --depth {enough}"),
                };
            }
            let few = match slots {
                1 => "1 slot is too few".to_owned(),
                slots => format!("{slots} slots are too few"),
            };
            let why = match latency {
                Some((source, secs)) => format!(
                    "{few}: {target:.0} operations per second at the {source} {} each need {:.0} in flight",
                    Metric::Mean.show(secs * 1e9),
                    operations.ceil()
                ),
                // Slots divided by the rate.
                None => format!(
                    "{few} to tell: they keep up with {target:.0} operations per second only if each takes less than \
                     {}, and no latency is promised",
                    Metric::Mean.show(1e9 * slots as f64 / target)
                ),
            };
            SlotsNeeded::new(why, enough.into())
        })
    }

    /// The fall of a rate that the slots of this test had served.
    fn constant_fall(&self, target: f64) -> Option<ConstantFall> {
        find_constant_fall(self.observation).filter(|fall| fall.from >= target * (1.0 - RATE_TOLERANCE))
    }

    /// True if the storage served a rate and then enforced a lower one: more slots do not help.
    pub(super) fn was_throttled(&self, target: f64) -> bool {
        self.constant_fall(target).is_some_and(|fall| {
            let is_refill = |burst: &Burst| {
                burst.unit == BurstUnit::Iops && (fall.to / burst.refill - 1.0).abs() <= REFILL_TOLERANCE
            };
            fall.is_enforced || self.context.bursts.iter().any(is_refill)
        })
    }

    /// For results without per-second facts: why the generator may have caused a missed rate.
    /// `None` if it could issue `target` operations per second.
    pub(super) fn describe_generator_limit(&self, target: f64) -> Option<String> {
        let load = &self.observation.load;
        let Some(depth) = load.depth else {
            return Some("the queue depth is unknown, so the generator may have been the limit".into());
        };
        if let Some(slots) = self.too_few_slots(target) {
            return Some(slots.why);
        }
        if let Some(in_flight) = self.observation.in_flight()
            && in_flight < depth as f64 * MIN_QUEUE_IN_USE
        {
            return Some(format!(
                "on average {in_flight:.1} of {depth} slots were in use, so something other than the storage delayed \
                 operations"
            ));
        }
        // A paced worker spins until the next operation is due.
        let busiest = busiest_worker(self.observation).filter(|_| load.closed_loop == Some(true));
        busiest.filter(|share| *share > BUSY_WORKER_SHARE).map(|share| {
            format!(
                "a worker used {:.0} % of a processor, so the generator may have been the limit",
                share * 100.0
            )
        })
    }

    /// Doubts a good figure if something other than storage served the I/O.
    pub(super) fn doubt_io_source(&self) -> Option<Doubt> {
        let doubt = self.doubt_by_finding(&OTHER_SOURCE_FINDINGS)?;
        let rule = doubt.why.split(':').next().unwrap_or_default();
        let action = match rule {
            "IN-MEMORY" => {
                "choose a target on the storage that the promise is about; `--silence IN-MEMORY` judges memory"
            }
            "BUFFERED" => "repeat without the operating system's cache (DiskSpd: -Sh; fio: direct=1)",
            _ => return Some(doubt),
        };
        Some(doubt.with_action(action.into()))
    }

    /// Doubts a bad figure if something other than the storage limited the load.
    pub(super) fn doubt_other_limit(&self) -> Option<Doubt> {
        self.doubt_by_finding(&OTHER_LIMIT_FINDINGS)
    }

    fn doubt_by_finding(&self, rules: &[&str]) -> Option<Doubt> {
        let mut findings = self.context.findings.iter();
        let finding = findings.find(|finding| rules.contains(&finding.rule.as_str()))?;
        Some(Doubt::new(
            Cause::Invalid,
            format!("{}: {}", finding.rule, finding.what),
        ))
    }

    /// True if the load offered more than the promised rate. A closed loop without a rate always
    /// does.
    pub(super) fn is_uncapped(&self) -> bool {
        let load = &self.observation.load;
        let Some(promised) = self.promised_iops() else {
            return false;
        };
        match load.rate_iops {
            Some(requested) => requested > promised * (1.0 + RATE_TOLERANCE),
            None => load.closed_loop == Some(true),
        }
    }

    /// Describes how burst credits may have covered the whole test, if so.
    pub(super) fn describe_credit_use(&self, metric: Metric, target: f64) -> Option<String> {
        let counted = match metric {
            Metric::Iops => BurstUnit::Iops,
            Metric::Throughput => BurstUnit::Bytes,
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => return None,
        };
        let burst = self
            .context
            .bursts
            .iter()
            .find(|burst| burst.unit == counted && burst.refill < target * 0.99)?;
        let load = &self.observation.load;
        let ran_secs = self.observation.measured_ns?.as_secs() + load.warm_up_ns.unwrap_or_default().as_secs();
        (ran_secs < burst.lasts_secs()).then(|| {
            format!(
                "a full bucket sustains {} for {:.0} s, and the test took {ran_secs:.0} s: it shows the rate with \
                 credits, not the rate afterwards",
                metric.show(burst.ceiling),
                burst.lasts_secs()
            )
        })
    }

    /// Notes for any outcome.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(wanted), Some(measured_ns)) = (self.context.workload, self.observation.measured_ns)
            && measured_ns.as_secs() < wanted.duration_secs * 0.999
        {
            let examples = match is_simulated(self.observation) {
                true => "",
                false => ", such as a full cache, exhausted credits or other tenants",
            };
            notes.push(format!(
                "measured for {measured_ns} instead of the {} s that a verdict needs: what happens later is \
                 unknown{examples}",
                wanted.duration_secs
            ));
        }
        notes.extend(describe_credits(self.context.bursts));
        notes.extend(self.describe_little_headroom());
        notes
    }

    /// Reports a generator that could hardly have issued more.
    fn describe_little_headroom(&self) -> Option<String> {
        let promised = self.promised_iops()?;
        let service = self.observation.total.latency.as_ref()?.mean_ns?;
        let depth = self.observation.load.depth?;
        let max = depth as f64 / (service / 1e9);
        let is_paced_load = self.observation.total.response.is_some();
        (max < promised * MIN_HEADROOM && !is_paced_load).then(|| {
            format!(
                "with at most {depth} in flight, operations that would have come during a stall were never issued: \
                 real users would have seen more slow ones"
            )
        })
    }
}

/// Describes the burst credits of the storage in one sentence; `None` without credits.
fn describe_credits(bursts: &[Burst]) -> Option<String> {
    let mut rates: Vec<String> = Vec::new();
    for burst in bursts {
        let rate = match burst.unit {
            BurstUnit::Bytes => Metric::Throughput.show(burst.ceiling),
            BurstUnit::Iops => format!("{} {}", Metric::Iops.show(burst.ceiling), burst.unit()),
        };
        rates.push(format!("{rate} for {}", Nanos::secs(burst.lasts_secs().round() as u64)));
    }
    (!rates.is_empty()).then(|| {
        format!(
            "full burst credits sustain {}; whether there were any is unknown",
            rates.join(" and ")
        )
    })
}

/// Bytes of an operation: as configured, otherwise bytes divided by operations.
pub(super) fn block_bytes(observation: &Observation) -> Option<f64> {
    let counted = || {
        let total = &observation.total;
        let by_count = total.bytes.zip(total.operations.filter(|n| *n > 0));
        let by_count = by_count.map(|(bytes, operations)| bytes.0 as f64 / operations as f64);
        let by_rate = || Some(total.bytes_per_sec? / total.iops.filter(|iops| *iops > 0.0)?);
        by_count.or_else(by_rate)
    };
    observation.load.block.map(|block| block.0 as f64).or_else(counted)
}
