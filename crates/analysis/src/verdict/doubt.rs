//! Reasons why a figure does not decide a clause: the generator, other programs, the load, the
//! length of the test.

use model::finding::Finding;
use model::observation::Second;

use super::census::IntervalSums;
use super::estimate;
use super::judgement::{breaks_clause, is_rate};
use super::load::SlotsNeeded;
use super::wording::WHILE;
use super::{Case, Cause, Reason};
use crate::attribution::{
    self, Attribution, Backlog, Fault, MissedSecond, describe_fault, others_keep_processors_busy,
};
use crate::figures::{format_moment, three_digits};
use crate::policies::open_loop_slots;
use crate::requirement::{Clause, Metric};
use crate::shifts;

/// The storage breaks a promise if it caused at least this share of the missing operations.
const MIN_STORAGE_SHARE: f64 = 0.9;
/// Maximum share of a latency's excess in seconds with other causes. Above it, the latency is
/// doubted.
pub(super) const MAX_DISTURBED_EXCESS: f64 = 0.1;
/// Undisturbed seconds alone break a limit if they exceed it by this factor.
const CLEAR_EXCESS_FACTOR: f64 = 2.0;
/// Maximum share of the operations beyond a percentile whose submission may take the whole margin
/// between that percentile of the completion latency and its limit.
const MAX_SUBMISSION_SHARE: f64 = 0.1;
/// Latencies are not trusted if more than this share of operations waited for a free slot.
pub const MAX_BLOCKED_OPS: f64 = 0.01;
/// Maximum shortfall of the rate below the promised one. With a larger shortfall, the latency does
/// not show that the clause is met.
const MAX_RATE_SHORTFALL: f64 = 0.03;

/// The reason why a figure does not decide a clause.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Doubt {
    pub(super) cause: Cause,
    /// The observation, in a sentence.
    pub(super) why: String,
    /// The end of that sentence, which other clauses may share.
    pub(super) shared: Option<String>,
    /// The recommended action, if the cause alone does not imply it.
    pub(super) action: Option<String>,
}

impl Doubt {
    pub(super) fn new(cause: Cause, why: String) -> Doubt {
        Doubt {
            cause,
            why,
            shared: None,
            action: None,
        }
    }

    /// The doubt that a problem of the whole test raises.
    pub(super) fn from_reason(reason: &Reason) -> Option<Doubt> {
        Some(Doubt::new(reason.cause?, reason.what.clone()).with_shared(reason.what.clone()))
    }

    pub(super) fn with_shared(self, shared: String) -> Doubt {
        Doubt {
            shared: Some(shared),
            ..self
        }
    }

    pub(super) fn with_action(self, action: String) -> Doubt {
        Doubt {
            action: Some(action),
            ..self
        }
    }
}

/// Latency sums of the intervals that nothing disturbed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undisturbed {
    /// Their length in seconds.
    pub(super) secs: f64,
    /// Operations.
    pub(super) n: f64,
    /// Operations beyond the limit.
    pub(super) beyond: f64,
    /// Latencies in nanoseconds, added up.
    pub(super) sum: f64,
}

impl From<SlotsNeeded> for Doubt {
    fn from(slots: SlotsNeeded) -> Doubt {
        Doubt::new(Cause::Generator, slots.why).with_action(slots.action)
    }
}

impl Case<'_> {
    /// Doubts a good figure that does not show that the clause is met.
    pub(super) fn doubt_pass(&self, clause: &Clause, value: f64) -> Option<Doubt> {
        let doubt = self.doubt_io_source();
        if let Some(doubt) = doubt.or_else(|| self.doubt_completion_percentile(clause, value)) {
            return Some(doubt);
        }
        match clause.metric {
            // In a short test, credit use is reported next to the figure instead.
            Metric::Iops | Metric::Throughput if !self.has_full_time() => None,
            Metric::Iops | Metric::Throughput => {
                let credits = self.describe_credit_use(clause.metric, clause.target)?;
                Some(Doubt::new(Cause::Burst, credits))
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => {
                let (promised, measured) = (self.promised_iops()?, self.observation.total.iops?);
                (measured < promised * (1.0 - MAX_RATE_SHORTFALL)).then(|| {
                    let why = format!(
                        "it was measured at {} operations per second, but {promised:.0} are promised",
                        three_digits(measured)
                    );
                    Doubt::new(Cause::Load, why)
                })
            }
        }
    }

    /// True if the percentile of a clause is of the completion latency only.
    pub(super) fn is_of_completion(&self, clause: &Clause) -> bool {
        self.submission_ns(clause).is_some()
    }

    /// Mean and maximum time to submit an operation, which the percentile of a clause excludes.
    fn submission_ns(&self, clause: &Clause) -> Option<(f64, Option<f64>)> {
        matches!(clause.metric, Metric::Quantile { .. }).then_some(())?;
        let latency = estimate::direction_flow(self.observation, clause.direction)?.user_latency()?;
        let completion = latency.completion?;
        let mean = (latency.mean_ns? - completion.mean_ns).max(0.0);
        Some((mean, completion.submission_max_ns))
    }

    /// Doubts a percentile of the completion latency if slow submissions may take it beyond the
    /// limit. By Markov's inequality, at most `mean / margin` of them take the whole margin.
    fn doubt_completion_percentile(&self, clause: &Clause, value: f64) -> Option<Doubt> {
        let Metric::Quantile { share } = clause.metric else {
            return None;
        };
        let (mean, max) = self.submission_ns(clause)?;
        let margin = clause.target - value;
        let is_short = max.is_some_and(|max| max <= margin) || mean <= MAX_SUBMISSION_SHARE * (1.0 - share) * margin;
        let max = max.map_or(String::new(), |max| format!(" and up to {}", Metric::Mean.show(max)));
        (!is_short).then(|| {
            let why = format!(
                "clat excludes the submission, which took {} on average{max}",
                Metric::Mean.show(mean)
            );
            Doubt::new(Cause::Absent, why)
                .with_action("repeat with lat_percentiles=1, so that fio reports percentiles of lat".into())
        })
    }

    /// Doubts a bad figure that does not show that the clause is broken.
    pub(super) fn doubt_fail(&self, clause: &Clause) -> Option<Doubt> {
        match clause.metric {
            Metric::Iops | Metric::Throughput => {
                let target = self.target_iops(clause)?;
                if self.enforced_limit(clause).is_some() {
                    return self.doubt_requested_rate(target);
                }
                let stall = || self.doubt_stall_of_rate(clause, target);
                self.doubt_missed_rate(clause, target).or_else(stall)
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability if self.is_uncapped() => {
                let why = "the load was not limited to the promised rate, and beyond that rate operations wait for \
                    each other";
                let uncapped = Doubt::new(Cause::Uncapped, why.to_owned());
                // A stop explains slow operations better than the rate does.
                let stopped = self.doubt_missed_latency(clause).filter(|_| self.was_stopped());
                Some(stopped.unwrap_or(uncapped))
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => self.doubt_missed_latency(clause),
        }
    }

    /// Doubts an undecided clause that a longer test might not decide.
    pub(super) fn doubt_undecided(&self, clause: &Clause, value: f64) -> Option<Doubt> {
        let stall = || breaks_clause(clause, value).then(|| self.doubt_stall(clause)).flatten();
        self.doubt_others(clause)
            .or_else(|| self.doubt_wait_for_processor(clause, value))
            .or_else(stall)
    }

    /// Doubts a latency beyond its limit if the storage itself was fast enough, and other programs
    /// kept the processors busy.
    fn doubt_wait_for_processor(&self, clause: &Clause, value: f64) -> Option<Doubt> {
        let service = self.service_figure(clause)?;
        let is_others = breaks_clause(clause, value)
            && !breaks_clause(clause, service)
            && others_keep_processors_busy(self.observation)
            && self.excess_share_in_stalls(clause) < MIN_STORAGE_SHARE;
        is_others.then(|| {
            let why = format!(
                "operations started late, because other programs kept the processors busy; {}",
                describe_service(clause, service)
            );
            Doubt::new(Cause::Others, why)
        })
    }

    /// Doubts a missed rate that might not be the storage's fault.
    fn doubt_missed_rate(&self, clause: &Clause, target: f64) -> Option<Doubt> {
        if let Some(doubt) = self.doubt_requested_rate(target) {
            return Some(doubt);
        }
        let limit_ns = self.promised_latency_secs().map(|secs| secs * 1e9);
        let Some(attribution) = Attribution::new(self.observation, limit_ns) else {
            let generator = || Some(Doubt::new(Cause::Generator, self.describe_generator_limit(target)?));
            return self.doubt_other_limit().or_else(generator);
        };
        if attribution.share(Fault::Storage) < MIN_STORAGE_SHARE
            && !attribution.storage_alone_fails(clause.tolerance)
            && let Some(fault) = attribution.main_other_fault()
        {
            return Some(self.fault_doubt(&attribution, fault));
        }
        self.too_few_slots(target).map(Doubt::from)
    }

    /// Doubts an exceeded latency limit that might not be the storage's fault.
    fn doubt_missed_latency(&self, clause: &Clause) -> Option<Doubt> {
        let observation = self.observation;
        let attribution = Attribution::new(observation, Some(clause.target));
        if attribution.is_none()
            && let Some(doubt) = self.doubt_other_limit()
        {
            return Some(doubt);
        }
        if let Some(service) = self.service_figure(clause)
            && !breaks_clause(clause, service)
            && self.excess_share_in_stalls(clause) < MIN_STORAGE_SHARE
            && !observation.load.rate_iops.is_some_and(|rate| self.was_throttled(rate))
        {
            return Some(self.doubt_program_wait(clause, service, attribution.as_ref()));
        }
        if let Some((fault, share)) = self
            .main_disturbance(clause)
            .filter(|(_, share)| *share > MAX_DISTURBED_EXCESS)
            && !self.undisturbed_seconds_fail(clause)
        {
            let circumstance = match fault {
                Fault::Generator if !self.was_stopped() => "fathom itself was late".to_owned(),
                _ => self.describe_seconds(attribution.as_ref(), fault),
            };
            let excess = match clause.metric {
                Metric::Quantile { .. } => "operations beyond the limit",
                _ => "time beyond the limit",
            };
            let part = match 100.0 * share {
                percent if percent >= 99.5 => format!("all {excess}"),
                percent => format!("{percent:.0} % of the {excess}"),
            };
            let why = format!("{part} occurred{WHILE}{circumstance}");
            return Some(self.adjust_action_for_stops(Doubt::new(fault_cause(fault), why).with_shared(circumstance)));
        }
        let stall = || (!self.has_full_time()).then(|| self.doubt_stall(clause)).flatten();
        self.doubt_waits_in_tail(clause).or_else(stall)
    }

    /// Doubts a percentile that may exceed its limit only because threads waited for a processor.
    fn doubt_waits_in_tail(&self, clause: &Clause) -> Option<Doubt> {
        let Metric::Quantile { share } = clause.metric else {
            return None;
        };
        let (mut n, mut beyond, mut delayed) = (0.0, 0.0, 0.0);
        for interval in self.interval_sums(clause) {
            (n, beyond) = (n + interval.n, beyond + interval.beyond);
            delayed += self.operations_delayed_by_waits(clause, &interval).min(interval.beyond);
        }
        (delayed > 0.0 && beyond - delayed <= (1.0 - share) * n).then(|| {
            let seconds = self.observation.seconds.iter();
            let longest = seconds.map(|second| second.facts.threads.run_delay_ns).max();
            let why = format!(
                "fathom's threads waited for a processor for up to {} in a second, which may explain {:.0} % of the \
                 operations beyond the limit; without these, {:.2} % are beyond it, and {} % may",
                longest.unwrap_or_default(),
                100.0 * delayed / beyond,
                100.0 * (beyond - delayed) / n,
                (1e6 * (1.0 - share)).round() / 1e4
            );
            let cause = match others_keep_processors_busy(self.observation) {
                true => Cause::Others,
                false => Cause::Generator,
            };
            Doubt::new(cause, why)
        })
    }

    /// The most operations of an interval that waits for a processor may have carried beyond a
    /// limit: those due during the waits, and those in flight at each wait that is long enough.
    fn operations_delayed_by_waits(&self, clause: &Clause, interval: &IntervalSums) -> f64 {
        let is_in = |second: &&Second| {
            let start = second.facts.start_ns.as_secs();
            (start..start + second.facts.length_ns.as_secs()).contains(&(interval.at + 1e-9))
        };
        let Some(second) = self.observation.seconds.iter().find(is_in) else {
            return 0.0;
        };
        let facts = &second.facts;
        let (service, waited) = (facts.service_ns.0 as f64, facts.threads.run_delay_ns.0 as f64);
        let operations = facts.operations.max(1) as f64;
        let shortest_wait = clause.target - service / operations;
        if shortest_wait <= 0.0 || waited < shortest_wait {
            return 0.0;
        }
        let threads_ns = facts.length_ns.0.max(1) as f64 * f64::from(self.observation.load.workers.unwrap_or(1).max(1));
        let due = operations * waited / threads_ns;
        let in_flight = waited / shortest_wait * service / threads_ns;
        (due + in_flight) * interval.n / operations
    }

    /// Doubts a latency if the storage met the limit but operations waited in fathom.
    fn doubt_program_wait(&self, clause: &Clause, service: f64, attribution: Option<&Attribution>) -> Doubt {
        let within_limit = describe_service(clause, service);
        let slots = self.observation.load.depth.unwrap_or(0);
        match attribution {
            Some(attribution) if attribution.blocked_share() > MAX_BLOCKED_OPS => {
                let why = format!(
                    "{:.1} % of the operations found all {slots} slots taken and waited up to {:.3} s for one; {within_limit}",
                    100.0 * attribution.blocked_share(),
                    attribution.blocked_secs_max
                );
                let needed = self
                    .promised_iops()
                    .map(|rate| open_loop_slots(self.needed_in_flight(rate).operations));
                let enough = needed.map_or(0, u64::from).max(2 * slots);
                Doubt::new(Cause::Generator, why)
                    .with_action(format!("allow more operations in flight: --depth {enough}"))
            }
            _ => {
                let why = format!("fathom issued operations later than scheduled; {within_limit}");
                let action = "raise --workers, or use a machine with more processors";
                Doubt::new(Cause::Generator, why).with_action(action.into())
            }
        }
    }

    /// The figure of the clause as service time, without waits in the program; `None` for an
    /// unpaced load or an unknown figure.
    pub(super) fn service_figure(&self, clause: &Clause) -> Option<f64> {
        let flow = estimate::direction_flow(self.observation, clause.direction)?;
        flow.response.as_ref()?;
        let service = flow.latency.as_ref()?;
        match clause.metric {
            Metric::Mean => service.mean_ns,
            Metric::Quantile { share } => service.quantile(share),
            Metric::Iops | Metric::Throughput | Metric::Availability => None,
        }
    }

    /// The share of the excess over a latency limit in stalls of the storage and their backlogs.
    /// Waits in the program are the storage's fault there.
    fn excess_share_in_stalls(&self, clause: &Clause) -> f64 {
        let stalls = self.stalls_with_backlog();
        let (mut stalled, mut total) = (0.0, 0.0);
        for interval in self.interval_sums(clause) {
            let excess = interval.excess(clause);
            total += excess;
            if stalls.iter().any(|stall| overlaps(&interval, *stall)) {
                stalled += excess;
            }
        }
        if total > 0.0 { stalled / total } else { 0.0 }
    }

    /// Start and length of each stall of the storage. Stalls that overlap a second missed for
    /// another cause are omitted.
    pub(super) fn stalls_of_storage(&self) -> Vec<(f64, f64)> {
        let attribution = Attribution::new(self.observation, None);
        let missed = attribution.iter().flat_map(|attribution| &attribution.missed);
        let other_seconds: Vec<f64> = missed
            .filter(|missed| missed.fault != Fault::Storage)
            .map(|missed| missed.at)
            .collect();
        let mut stalls = shifts::find_stalls(self.observation);
        stalls.retain(|(at, length)| {
            !other_seconds
                .iter()
                .any(|second| second + 1.0 > *at && *second < at + length)
        });
        stalls
    }

    /// For each stall of the storage: its start, and the time when its backlog was served.
    fn stalls_with_backlog(&self) -> Vec<(f64, f64)> {
        let served = |(at, length): (f64, f64)| {
            let mut until = at + length + 1.0;
            let after = self.observation.seconds.iter().map(|second| &second.facts);
            for facts in after.filter(|facts| facts.start_ns.as_secs() >= at + length) {
                if facts.queue.blocked == 0 {
                    break;
                }
                until = until.max(facts.start_ns.as_secs() + facts.length_ns.as_secs());
            }
            (at, until)
        };
        self.stalls_of_storage().into_iter().map(served).collect()
    }

    /// Finds the fault that disturbed the operations of an interval.
    fn fault_in(&self, clause: &Clause, interval: &IntervalSums, backlogs: &[Backlog]) -> Option<Fault> {
        let backlog = backlogs
            .iter()
            .find(|backlog| overlaps(interval, (backlog.from, backlog.until)));
        let fault = backlog.map(|backlog| backlog.fault);
        fault.or_else(|| attribution::disturbance(self.observation, interval.at, Some(clause.target)))
    }

    /// Sums the undisturbed intervals.
    pub(super) fn undisturbed(&self, clause: &Clause) -> Undisturbed {
        let backlogs = attribution::backlogs(self.observation);
        let mut sums = Undisturbed::default();
        for interval in self.interval_sums(clause) {
            if self.fault_in(clause, &interval, &backlogs).is_none() {
                sums.secs += interval.length;
                sums.n += interval.n;
                sums.beyond += interval.beyond;
                sums.sum += interval.sum;
            }
        }
        sums
    }

    /// True if the undisturbed intervals alone clearly exceed the limit. Operations of disturbed
    /// intervals count as if they took no time.
    fn undisturbed_seconds_fail(&self, clause: &Clause) -> bool {
        let n: f64 = self.interval_sums(clause).map(|interval| interval.n).sum();
        let Undisturbed { beyond, sum, .. } = self.undisturbed(clause);
        match clause.metric {
            Metric::Quantile { share } => beyond > CLEAR_EXCESS_FACTOR * (1.0 - share) * n,
            _ => sum > CLEAR_EXCESS_FACTOR * clause.target * n,
        }
    }

    /// The largest cause other than the storage. Also returns the share of the excess over a
    /// latency limit that is due to all such causes.
    pub(super) fn main_disturbance(&self, clause: &Clause) -> Option<(Fault, f64)> {
        let (mut total, mut by_fault) = (
            0.0,
            [(Fault::Generator, 0.0), (Fault::OtherIo, 0.0), (Fault::OtherCpu, 0.0)],
        );
        let backlogs = attribution::backlogs(self.observation);
        for interval in self.interval_sums(clause) {
            let excess = interval.excess(clause);
            total += excess;
            if let Some(fault) = self.fault_in(clause, &interval, &backlogs)
                && let Some(entry) = by_fault.iter_mut().find(|(known_fault, _)| *known_fault == fault)
            {
                entry.1 += excess;
            }
        }
        let sum: f64 = by_fault.iter().map(|(_, excess)| excess).sum();
        let (fault, _) = by_fault.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (total > 0.0).then_some((fault, sum / total))
    }

    /// Doubts a short test whose only stall broke a clause that would otherwise be met.
    fn doubt_stall(&self, clause: &Clause) -> Option<Doubt> {
        let ([(at, length)], [stall]) = (&self.stalls_of_storage()[..], &self.stalls_with_backlog()[..]) else {
            return None;
        };
        let (mut sum, mut beyond, mut n) = (0.0, 0.0, 0.0);
        for interval in self
            .interval_sums(clause)
            .filter(|interval| !overlaps(interval, *stall))
        {
            (sum, beyond, n) = (sum + interval.sum, beyond + interval.beyond, n + interval.n);
        }
        let is_met = match clause.metric {
            Metric::Quantile { share } => beyond <= (1.0 - share) * n,
            _ => sum <= clause.target * n,
        };
        (is_met && n > 0.0).then(|| self.stall_doubt(*at, *length))
    }

    /// Doubts a short test whose only stall broke a rate. Every other second must have met the
    /// rate, and the full time must tolerate the missing operations.
    fn doubt_stall_of_rate(&self, clause: &Clause, target: f64) -> Option<Doubt> {
        let [(at, length)] = self.stalls_of_storage()[..] else {
            return None;
        };
        let missed = Attribution::new(self.observation, None)?.missed;
        let in_stall = |missed: &&MissedSecond| missed.at + 1.0 > at && missed.at < at + length;
        let missing =
            |missed: &mut dyn Iterator<Item = &MissedSecond>| missed.map(|missed| missed.operations).sum::<f64>();
        let (stalled, total) = (
            missing(&mut missed.iter().filter(in_stall)),
            missing(&mut missed.iter()),
        );
        let measured = self.observation.measured_ns?.as_secs();
        let allowed = |secs: f64| clause.tolerance * target * secs;
        let decides =
            !self.has_full_time() && total - stalled <= allowed(measured) && total <= allowed(self.full_time_secs());
        decides.then(|| self.stall_doubt(at, length))
    }

    fn stall_doubt(&self, at: f64, length: f64) -> Doubt {
        let measured = self.observation.measured_ns.unwrap_or_default().as_secs();
        let moment = format_moment(self.observation.started_unix_ns, at, 0);
        let why = format!(
            "one stall of {length:.1} s at {moment} makes the difference; {measured:.0} s do not show whether stalls recur"
        );
        Doubt::new(Cause::Stall, why)
    }

    /// Doubts a rate that other programs affected, because a longer test would not help.
    fn doubt_others(&self, clause: &Clause) -> Option<Doubt> {
        let attribution = Attribution::new(self.observation, None).filter(|_| is_rate(clause))?;
        let fault = attribution
            .main_other_fault()
            .filter(|fault| *fault != Fault::Generator)?;
        (attribution.share(fault) > MAX_DISTURBED_EXCESS).then(|| Doubt {
            cause: Cause::Others,
            ..self.fault_doubt(&attribution, fault)
        })
    }

    /// A doubt that states the observation in the seconds of a fault.
    fn fault_doubt(&self, attribution: &Attribution, fault: Fault) -> Doubt {
        let observed = self.describe_seconds(Some(attribution), fault);
        let (missed, of_fault) = (attribution.missed.len(), attribution.seconds(fault));
        let seconds = self.observation.seconds.len();
        let missed_text = match missed == seconds {
            true => format!("all {seconds} seconds missed the rate"),
            false => format!("{missed} of {seconds} seconds missed the rate"),
        };
        let relation = match of_fault == missed {
            true => String::new(),
            false => format!(", {of_fault} of them"),
        };
        let why = format!("{missed_text}{relation}{WHILE}{observed}");
        self.adjust_action_for_stops(Doubt::new(fault_cause(fault), why).with_shared(observed))
    }

    /// True if fathom, or its machine, was stopped for a time.
    fn was_stopped(&self) -> bool {
        let mut hosts = self.observation.seconds.iter().flat_map(|second| &second.hosts);
        hosts.any(|host| host.paused_ns.is_some())
    }

    /// Replaces the action if fathom was stopped, because more workers do not help then.
    fn adjust_action_for_stops(&self, doubt: Doubt) -> Doubt {
        match doubt.cause == Cause::Generator && self.was_stopped() {
            true => doubt.with_action("repeat the test while nothing stops fathom or its machine".into()),
            false => doubt,
        }
    }

    /// Describes the seconds that were missed because of a fault, or all seconds if there are none.
    /// Names the programs that the OTHER-LOAD check found.
    fn describe_seconds(&self, attribution: Option<&Attribution>, fault: Fault) -> String {
        let missed = attribution.iter().flat_map(|attribution| &attribution.missed);
        let of_fault: Vec<f64> = missed
            .filter(|missed| missed.fault == fault)
            .map(|missed| missed.at)
            .collect();
        let others = attribution::other_activity(self.observation, |at| of_fault.is_empty() || of_fault.contains(&at));
        let is_device_load = |finding: &&Finding| fault == Fault::OtherIo && finding.rule == "OTHER-LOAD";
        let named = self.context.findings.iter().find(is_device_load);
        let programs = named.and_then(|finding| finding.what.split_once(attribution::PROGRAMS));
        let programs = programs.map(|(_, programs)| format!("{}{programs}", attribution::PROGRAMS));
        describe_fault(fault, &others) + &programs.unwrap_or_default()
    }
}

/// States that the storage itself met a latency limit.
fn describe_service(clause: &Clause, service: f64) -> String {
    let operations = match clause.metric {
        Metric::Quantile { share } => format!("{} % of the operations took at most", (share * 1e8).round() / 1e6),
        _ => "operations took on average".to_owned(),
    };
    format!(
        "{operations} {} from issue to completion, within {}",
        clause.show(service),
        clause.metric.show(clause.target)
    )
}

fn fault_cause(fault: Fault) -> Cause {
    match fault {
        Fault::Generator => Cause::Generator,
        Fault::Storage | Fault::OtherIo | Fault::OtherCpu => Cause::Others,
    }
}

/// True if an interval overlaps a period.
fn overlaps(interval: &IntervalSums, (from, until): (f64, f64)) -> bool {
    interval.at + interval.length > from && interval.at < until
}
