//! How a verdict states a missed clause. The distance from the limit is the storage's only if
//! nothing else disturbed the test and no operations queued up.

use super::doubt::{MAX_DISTURBED_EXCESS, Undisturbed};
use model::environment::is_kernel_thread;
use model::finding::{Finding, OTHER_PROGRAMS};
use model::observation::Observation;
use model::results::Results;

use super::estimate::{self, Estimate};
use super::judgement::is_rate;
use super::wording::{describe_shift, format_estimate, format_with_unit};
use super::{Case, Cause};
use crate::attribution::{self, Attribution, Fault, PROGRAMS};
use crate::caps::{LayerKind, LimitLayer};
use crate::diagnosis::{Bound, bounds, cgroup_layers, warm_up_beyond};
use crate::figures::three_digits;
use crate::requirement::{Clause, Metric};
use crate::shifts::Shift;

/// Below this share of the requested rate, a latency depends on the length of the test.
const MAX_BACKLOGGED_SHARE: f64 = 0.95;
/// From this share of all processor time on, other programs disturb a test.
const MIN_OTHERS_CPU_SHARE: f64 = 0.5;
/// Programs that used a smaller share of a processor are not named.
const MIN_NAMED_SHARE: f64 = 0.05;

/// The action after a fall of the rate.
pub(super) const COMPARE_CREDITS: &str = "compare with the burst credits of the volume that you bought";

/// How a headline states a missed clause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Shortfall {
    /// By the distance from the limit.
    #[default]
    Distance,
    /// By the rate that remained after the fall, in operations per second.
    Sustained(f64),
    /// Not at all: operations queued up, so the figure depends on the length of the test.
    Queued,
    /// Without a distance, because other programs disturbed the test.
    Disturbed,
}

impl Case<'_> {
    /// Classifies the shortfall of a failed clause.
    pub(super) fn shortfall(&self, clause: &Clause) -> Shortfall {
        match self.shift(clause) {
            _ if self.served_and_requested(clause).is_some() => Shortfall::Queued,
            _ if self.is_disturbed(clause) => Shortfall::Disturbed,
            Some(Shift::Rate {
                from, to, levels: 2, ..
            }) if clause.metric == Metric::Iops && to < from => Shortfall::Sustained(to),
            _ => Shortfall::Distance,
        }
    }

    /// The recommended action for a failed clause, if the storage alone does not explain it.
    pub(super) fn action_after_failure(&self, clause: &Clause, shortfall: Shortfall) -> Option<String> {
        match (shortfall, self.shift(clause)) {
            (Shortfall::Disturbed, _) => Some(format!(
                "stop {}, and repeat before you blame the provider",
                self.name_others()?
            )),
            (Shortfall::Sustained(_), Some(Shift::Rate { from, to, at, .. })) => {
                let warm_up = self.observation.load.warm_up_ns.map_or(0.0, |time| time.as_secs());
                Some(format!(
                    "{COMPARE_CREDITS}; to test the rate after the fall, repeat with --warm-up {}s",
                    warm_up_beyond((warm_up + at) * self.credit_time_factor(from, to))
                ))
            }
            _ => None,
        }
    }

    /// How many times longer credits last in the repetition: a latency is judged at the promised
    /// rate, which spends them more slowly than a load without a rate.
    fn credit_time_factor(&self, from: f64, to: f64) -> f64 {
        let is_latency = |clause: &Clause| matches!(clause.metric, Metric::Mean | Metric::Quantile { .. });
        let is_unpaced = self.observation.load.rate_iops.is_none();
        match self.promised_iops() {
            Some(rate) if is_unpaced && to < rate && rate < from && self.clauses.iter().any(is_latency) => {
                (from - to) / (rate - to)
            }
            _ => 1.0,
        }
    }

    /// States a failed latency for which the distance from the limit means nothing.
    pub(super) fn describe_shortfall(
        &self,
        clause: &Clause,
        estimate: &Estimate,
        shortfall: Shortfall,
    ) -> Option<String> {
        match shortfall {
            Shortfall::Queued => self.describe_queue(clause, estimate),
            Shortfall::Disturbed if !is_rate(clause) => Some(format!(
                "{}: above the limit{}",
                format_estimate(clause, estimate),
                self.describe_undisturbed(clause)
            )),
            Shortfall::Distance | Shortfall::Sustained(_) | Shortfall::Disturbed => None,
        }
    }

    /// Operations per second served and requested, for a latency under a rate beyond the capacity
    /// of the storage.
    fn served_and_requested(&self, clause: &Clause) -> Option<(f64, f64)> {
        let is_latency = matches!(clause.metric, Metric::Mean | Metric::Quantile { .. });
        let requested = self.observation.load.rate_iops.filter(|_| is_latency)?;
        let served = self.observation.total.iops?;
        (served < MAX_BACKLOGGED_SHARE * requested).then_some((served, requested))
    }

    fn describe_queue(&self, clause: &Clause, estimate: &Estimate) -> Option<String> {
        let (served, requested) = self.served_and_requested(clause)?;
        let flow = estimate::direction_flow(self.observation, clause.direction)?;
        let service = flow.latency.as_ref().filter(|_| flow.response.is_some());
        let service = service.and_then(|latency| latency.mean_ns);
        // A clause of the rate states the change.
        let states_change = self.clauses.iter().any(is_rate);
        let shift = self.shift(clause).filter(|_| !states_change);
        let shift = shift.map_or(String::new(), |shift| describe_shift(&shift));
        let queued = format_with_unit(clause, estimate.value);
        Some(match service {
            Some(service) if service > clause.target => format!(
                "missed: even without waiting, an operation took {} on average; {queued} with the queue that built \
                 up{shift}",
                clause.show(service)
            ),
            _ => format!(
                "missed: {queued}, because operations queued up: only {} of {requested:.0} requested IOPS \
                 were served{}{shift}",
                three_digits(served),
                service.map_or(String::new(), |service| format!(
                    "; without waiting, an operation took {} on average",
                    clause.show(service)
                ))
            ),
        })
    }

    /// Describes the undisturbed seconds of a disturbed test, after the figure.
    fn describe_undisturbed(&self, clause: &Clause) -> String {
        let Undisturbed { secs, n, beyond, sum } = self.undisturbed(clause);
        if n < 1.0 {
            return ", but other programs disturbed every second".to_owned();
        }
        let figure = match clause.metric {
            Metric::Quantile { share } => format!(
                "{:.1} % of the operations, {} % may",
                100.0 * beyond / n,
                (1e6 * (1.0 - share)).round() / 1e4
            ),
            _ => format!("mean {}", Metric::Mean.show(sum / n)),
        };
        format!(", also in the {secs:.0} undisturbed seconds ({figure})")
    }

    /// A limit of the system that this load reached, and that is below the required rate. Other
    /// programs do not explain the miss then.
    pub(super) fn enforced_limit(&self, clause: &Clause) -> Option<Bound> {
        let target = self.target_iops(clause).filter(|_| is_rate(clause))?;
        let required = target * (1.0 - clause.tolerance);
        let explains_miss = |bound: &Bound| {
            bound.kind == LayerKind::ControlGroup
                && bound.is_reached()
                && !bound.is_variable()
                && required > bound.allowed_iops
        };
        bounds(self.observation, &[], self.context.enforced)
            .into_iter()
            .find(explains_miss)
    }

    /// Names the limit of the system that explains a missed rate, after the figure.
    pub(super) fn describe_enforced_limit(&self, clause: &Clause) -> Option<String> {
        let bound = self.enforced_limit(clause)?;
        let limit = match bound.unit() {
            "IOPS" => format!("{} IOPS", Metric::Iops.show(bound.limit.high)),
            _ => Metric::Throughput.show(bound.limit.high),
        };
        Some(format!("; the system allows only {limit}: {}", bound.layer))
    }

    /// True if other programs disturbed the figure of a clause.
    fn is_disturbed(&self, clause: &Clause) -> bool {
        if self.enforced_limit(clause).is_some() {
            return false;
        }
        let has_named_load = self
            .context
            .findings
            .iter()
            .any(|finding| finding.rule == "OTHER-LOAD" && finding.what.contains(PROGRAMS));
        let is_of_others = |fault: Fault| matches!(fault, Fault::OtherIo | Fault::OtherCpu);
        let disturbance = match is_rate(clause) {
            true => Attribution::new(self.observation, None).map(|attribution| {
                [Fault::OtherIo, Fault::OtherCpu]
                    .map(|fault| attribution.share(fault))
                    .iter()
                    .sum()
            }),
            false => self
                .main_disturbance(clause)
                .filter(|(fault, _)| is_of_others(*fault))
                .map(|(_, share)| share),
        };
        let is_large = disturbance.is_some_and(|share: f64| share > MAX_DISTURBED_EXCESS);
        has_named_load || is_large && self.name_others().is_some()
    }

    /// Names the other programs that used the device or kept the processors busy.
    pub(super) fn name_others(&self) -> Option<String> {
        name_other_programs(self.observation, self.context.findings)
    }

    /// Adds the other programs to the action for an undecided clause: a longer test does not help
    /// while they run.
    pub(super) fn action_with_others(&self, clause: &Clause, cause: Cause) -> String {
        let action = self.action(clause, cause);
        match (self.name_others(), cause) {
            (Some(others), Cause::Others) => format!("stop {others}, or repeat when they are idle"),
            (Some(others), Cause::Spread | Cause::Stall | Cause::Samples) => format!("stop {others}, then {action}"),
            _ => action,
        }
    }
}

/// The limits that the system enforced on a job. Empty for several hosts, each of which has its
/// own.
pub fn enforced_limits(results: &Results, step: usize, job: usize) -> Vec<LimitLayer> {
    match results.hosts.len() {
        1 => cgroup_layers(results, step, job),
        _ => Vec::new(),
    }
}

/// Names the other programs that used the device or kept the processors busy: `the other programs
/// (tar, dd)`.
pub fn name_other_programs(observation: &Observation, findings: &[Finding]) -> Option<String> {
    let names = list_other_programs(observation, findings);
    (!names.is_empty()).then(|| format!("the other programs ({})", names.join(", ")))
}

/// Lists the other programs that used the device or kept the processors busy, without kernel
/// threads, which a user cannot stop.
pub fn list_other_programs(observation: &Observation, findings: &[Finding]) -> Vec<String> {
    let findings = findings.iter();
    let named = findings.filter(|finding| OTHER_PROGRAMS.contains(&&*finding.rule));
    let mut names: Vec<String> = Vec::new();
    for (_, programs) in named.filter_map(|finding| finding.what.split_once(PROGRAMS)) {
        let programs = programs.split("), ");
        names.extend(programs.filter_map(|program| Some(program.split_once(" (pid ")?.0.to_owned())));
    }
    let others = attribution::other_activity(observation, |_| true);
    if others.cpu_share >= MIN_OTHERS_CPU_SHARE {
        let busiest = others
            .busiest
            .into_iter()
            .filter(|(_, share)| *share >= MIN_NAMED_SHARE);
        names.extend(busiest.map(|(name, _)| name));
    }
    for name in names.iter_mut().filter(|name| *name == "fathom") {
        *name = "another fathom".into();
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !is_kernel_thread(name) && seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;
    use crate::requirement::parse;
    use crate::verdict::Context;

    #[test]
    fn a_disturbed_failure_has_no_distance_and_names_the_programs() {
        let clauses = parse("p99<=1ms").unwrap();
        let observation = Observation::default();
        let message = format!("96 % of the bytes{PROGRAMS}mysqld (pid 7), fathom (pid 9), kworker/u8:2 (pid 3)");
        let findings = [Finding::new("OTHER-LOAD", Severity::Warning, message)];
        let judge = |findings: &[Finding]| {
            let context = Context {
                findings,
                ..Context::default()
            };
            let case = Case {
                clauses: &clauses,
                observation: &observation,
                context: &context,
            };
            let shortfall = case.shortfall(&clauses[0]);
            let undecided = case.action_with_others(&clauses[0], Cause::Others);
            (shortfall, case.action_after_failure(&clauses[0], shortfall), undecided)
        };
        let others = "stop the other programs (mysqld, another fathom)";
        let (shortfall, action, undecided) = judge(&findings);
        assert_eq!(shortfall, Shortfall::Disturbed);
        assert_eq!(
            action,
            Some(format!("{others}, and repeat before you blame the provider"))
        );
        assert_eq!(undecided, format!("{others}, or repeat when they are idle"));
        let (shortfall, action, _) = judge(&[]);
        assert_eq!((shortfall, action), (Shortfall::Distance, None));
    }
}
