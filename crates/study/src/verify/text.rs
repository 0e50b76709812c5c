//! Formats a verdict as text.

use analysis::policies::Reach;
use analysis::requirement::{self, Metric};
use analysis::verdict::{ClauseVerdict, Outcome, Verdict, VerificationReport};
use model::Nanos;

use super::FULL_TIME_SECS;

/// Width of the columns of the outcome and the clause.
const OUTCOME_WIDTH: usize = 13;
const CLAUSE_WIDTH: usize = 24;

/// A piece of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paragraph {
    /// A line that must not be wrapped: a heading, or a row of a table.
    Line(String),
    /// Sentences that may be indented and wrapped.
    Sentences(String),
}

use Paragraph::{Line, Sentences};

/// The report of a verification.
pub fn format_report(verified: &VerificationReport) -> Vec<Paragraph> {
    let mut lines = Vec::new();
    describe_promise(verified, &mut lines);
    describe_load(verified, &mut lines);
    if let Some(machine) = &verified.machine {
        for layer in &machine.layers {
            let iops = layer.iops.map(|limit| format!("{} IOPS", Metric::Iops.show(limit.low)));
            let bytes = layer.bytes_per_sec.map(|limit| Metric::Throughput.show(limit.low));
            let limits = [iops, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ");
            lines.push(Sentences(format!("limit: {}: {limits}", layer.name)));
        }
        if let Some(reach) = &machine.reach {
            lines.push(Sentences(format_reach(reach)));
        }
    }
    lines.push(Line(String::new()));
    lines.extend(format_clauses(&verified.verdict));
    lines.push(Line(String::new()));
    lines.push(Line(headline_for(verified)));
    for reason in &verified.verdict.reasons {
        lines.push(Sentences(format!("{}.", reason.what)));
    }
    let is_short = |note: &&String| verified.issued.quick && note.starts_with("measured for ");
    let costs = verified.issued.quick.then(|| {
        format!(
            "This was the short form: {} show permanent limits, but not later ones, such as exhausted credits or a \
             full cache. Repeat without --quick before you rely on the result or complain.",
            verified.issued.measured_ns
        )
    });
    lines.extend(costs.map(Sentences));
    lines.extend(
        verified
            .verdict
            .notes
            .iter()
            .filter(|note| !is_short(note))
            .map(|note| Sentences(format!("Note: {note}."))),
    );
    lines.extend(
        verified
            .promise
            .expired
            .iter()
            .map(|note| Sentences(format!("Note: {note}."))),
    );
    lines
}

/// Length of a test, with the length that the promise requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestLength {
    /// Its measured window.
    pub measured_ns: Nanos,
    /// The required length in seconds.
    pub full_secs: f64,
}

impl TestLength {
    /// The length of a verification.
    pub fn from_verified(verified: &VerificationReport) -> TestLength {
        let policy = verified.promise.policy.as_ref();
        TestLength {
            measured_ns: verified.issued.measured_ns,
            full_secs: policy.map_or(FULL_TIME_SECS, |policy| policy.workload.duration_secs),
        }
    }

    /// True if the test was shorter than the promise requires.
    pub fn is_short(&self) -> bool {
        self.measured_ns.as_secs() < self.full_secs * 0.999
    }
}

/// The headline of a verification.
pub fn headline_for(verified: &VerificationReport) -> String {
    let length = TestLength::from_verified(verified);
    let verdict = &verified.verdict;
    let line = headline(verdict.outcome, &verdict.clauses, Some(length));
    match describe_tested(verdict) {
        Some(tested) => line.replacen("PASS", &format!("PASS ({tested})"), 1),
        None => line,
    }
}

/// Names what a PASS covers, if a promised figure was not tested: `rate and latency; throughput
/// not tested`.
fn describe_tested(verdict: &Verdict) -> Option<String> {
    let untested = verdict.untested.as_ref().filter(|_| verdict.outcome == Outcome::Pass)?;
    let mut tested: Vec<&str> = Vec::new();
    for judged in verdict.clauses.iter().filter(|judged| judged.outcome == Outcome::Pass) {
        let name = match judged.clause.metric {
            Metric::Iops | Metric::Throughput => "rate",
            Metric::Mean | Metric::Quantile { .. } => "latency",
            Metric::Availability => continue,
        };
        if !tested.contains(&name) {
            tested.push(name);
        }
    }
    Some(format!("{}; {} not tested", tested.join(" and "), untested.name))
}

/// The outcome in one line. A PASS names the clauses that are not proven, a test that was too
/// short, and stalls that the mean rate hides.
pub fn headline(outcome: Outcome, clauses: &[ClauseVerdict], length: Option<TestLength>) -> String {
    if outcome != Outcome::Pass {
        return outcome.word().to_owned();
    }
    let short = length.filter(TestLength::is_short);
    let short = short.map_or_else(String::new, |length| {
        format!(
            " (in {} instead of {} s)",
            format_time(length.measured_ns),
            length.full_secs
        )
    });
    let list_clauses = |outcome: Outcome, why: &str| {
        let clauses = clauses.iter().filter(|judged| judged.outcome == outcome);
        let clauses: Vec<String> = clauses.map(|judged| judged.clause.to_string()).collect();
        (!clauses.is_empty()).then(|| format!("{}, {why}", clauses.join(", ")))
    };
    let unproven = [
        list_clauses(Outcome::Consistent, "which no test of this length can prove"),
        list_clauses(Outcome::Inconclusive, "which these figures cannot show"),
    ];
    let unproven: Vec<String> = unproven.into_iter().flatten().collect();
    let without = match unproven.is_empty() {
        true => String::new(),
        false => format!(" without {}", unproven.join("; ")),
    };
    let limitation = clauses.iter().find_map(|judged| judged.limitation.as_ref());
    let limitation = limitation.map_or_else(String::new, |limitation| format!(", but {limitation}"));
    format!("PASS{short}{without}{limitation}")
}

/// Formats whole seconds in seconds, so that two times are easy to compare.
fn format_time(time: Nanos) -> String {
    match time.0.is_multiple_of(1_000_000_000) {
        true => format!("{} s", time.0 / 1_000_000_000),
        false => time.to_string(),
    }
}

fn describe_promise(verified: &VerificationReport, lines: &mut Vec<Paragraph>) {
    if let Some(policy) = &verified.promise.policy {
        let tier = policy.tier.as_ref().map(|tier| format!(", {tier}")).unwrap_or_default();
        lines.push(Line(format!("{}: {}{tier}", policy.id, policy.title)));
        if let Some(wording) = &policy.wording {
            lines.push(Sentences(wording.clone()));
        }
        let source = format!(
            "as of {}, {}: {}",
            policy.as_of,
            policy.confidence.label(),
            policy.source
        );
        lines.push(Sentences(source));
    }
    if let Some(requirement) = &verified.promise.requirement {
        // As parsed, so that the user sees that `latency` means the mean.
        let clauses = requirement::parse(requirement).unwrap_or_default();
        let clauses: Vec<String> = clauses.iter().map(ToString::to_string).collect();
        lines.push(Line(format!("required: {}", clauses.join(", "))));
    }
}

fn describe_load(verified: &VerificationReport, lines: &mut Vec<Paragraph>) {
    let issued = &verified.issued;
    let pattern = if issued.random { "random" } else { "sequential" };
    let attempt = match issued.attempt {
        1 => String::new(),
        number => format!(", in window {number} with another depth"),
    };
    let shared = match issued.targets {
        1 => String::new(),
        count => format!(" ({count} targets, evenly)"),
    };
    let warm_up = match issued.warm_up_ns {
        Nanos(0) => "without warm-up".to_owned(),
        time => format!("after {time} of warm-up"),
    };
    lines.push(Sentences(
        format!(
            "issued to {}{shared}: {} {pattern}, {} % reads, direct; {} per second by {} workers, up to {} in flight; {} \
             {warm_up}{attempt}",
            verified.target,
            issued.block,
            issued.read_percent,
            Metric::Iops.show(issued.rate_iops),
            issued.workers,
            issued.concurrency,
            issued.measured_ns
        )
        .replace(" 1 workers", " 1 worker"),
    ));
    if let Some(depth_search) = &verified.depth_search {
        let probe = |(slots, iops): &(u32, f64)| format!("{slots}: {}", Metric::Iops.show(*iops));
        let probes: Vec<String> = depth_search.probes.iter().map(probe).collect();
        let end = match (depth_search.met, depth_search.saturated) {
            (true, _) => "met",
            (false, true) => "saturated",
            (false, false) => "still growing",
        };
        lines.push(Sentences(format!(
            "probes of the depth, with the IOPS reached: {} ({end})",
            probes.join(", ")
        )));
    }
    if let Some(hosts) = &verified.issued_by {
        lines.push(Sentences(format!(
            "by {hosts} together: each issues its part of the rate and of the queue depth"
        )));
    }
}

/// A row for each clause: its outcome, the clause, and the reason with the action. Statements that
/// several clauses share follow below the rows.
pub fn format_clauses(verdict: &Verdict) -> Vec<Paragraph> {
    let words = verdict.describe();
    let mut lines = Vec::new();
    for (judged, (reason, action)) in verdict.clauses.iter().zip(words.clauses) {
        let (outcome, clause) = (judged.outcome.word(), judged.clause.to_string());
        lines.push(Line(format!(
            "  {outcome:<OUTCOME_WIDTH$} {clause:<CLAUSE_WIDTH$} {reason}"
        )));
        lines.extend(action.map(|action| Sentences(format!("help: {action}"))));
    }
    lines.extend(words.shared.into_iter().map(|shared| Sentences(format!("{shared}."))));
    lines
}

/// Describes the reachable rate, and the stranded capacity of the other limits.
pub fn format_reach(reach: &Reach) -> String {
    let mut text = format!(
        "at most {} IOPS ({}), because of {}",
        Metric::Iops.show(reach.iops.low),
        Metric::Throughput.show(reach.bytes_per_sec.low),
        reach.layer
    );
    for stranded in &reach.stranded {
        text += &format!(
            "; stranded: {} IOPS ({:.0} %) of {}",
            Metric::Iops.show(stranded.iops),
            stranded.share * 100.0,
            stranded.layer
        );
    }
    text
}
