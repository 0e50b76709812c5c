//! Formats a verdict as text.

use analysis::policies::Reach;
use analysis::requirement::{self, Metric};
use analysis::verdict::{ClauseVerdict, Outcome, UntestedFigure, Verdict, VerificationReport};
use model::Nanos;

use super::FULL_TIME_SECS;

/// Width of the columns of the outcome and the clause.
const OUTCOME_WIDTH: usize = 13;
const CLAUSE_WIDTH: usize = 24;

/// The outcome of a promise that the load does not test.
pub const NOT_TESTED: &str = "NOT TESTED";

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
    let notes = verified.verdict.notes.iter();
    let untested = verified.verdict.untested.as_ref().map(UntestedFigure::describe);
    let notes = notes.filter(|note| Some(*note) != untested.as_ref());
    let notes = notes.chain(&verified.promise.expired);
    lines.extend(notes.map(|note| Sentences(format!("Note: {note}."))));
    let advice = "Repeat without --quick before you rely on the result or complain.";
    lines.extend(verified.issued.quick.then(|| Sentences(advice.to_owned())));
    lines
}

/// Length of a test, with the length that the promise requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestLength {
    /// Measured window.
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
    headline(
        verdict.outcome,
        &verdict.clauses,
        (Some(length), verdict.untested.as_ref()),
    )
}

/// The outcome in one line. A PASS states what it does not cover: promises that are not proven, a
/// test that was too short, and stalls that the mean rate hides. If another test can prove the
/// missing promises, it is only PARTLY PROVEN.
pub fn headline(
    outcome: Outcome,
    clauses: &[ClauseVerdict],
    (length, untested): (Option<TestLength>, Option<&UntestedFigure>),
) -> String {
    if outcome != Outcome::Pass {
        return outcome.word().to_owned();
    }
    let short = length.filter(TestLength::is_short).map_or_else(String::new, |length| {
        format!(
            " (in {} instead of {} s)",
            format_time(length.measured_ns),
            length.full_secs
        )
    });
    let list_clauses = |outcome: Outcome, what: &str| {
        let clauses = clauses.iter().filter(|judged| judged.outcome == outcome);
        let clauses: Vec<String> = clauses.map(|judged| judged.clause.to_string()).collect();
        (!clauses.is_empty()).then(|| format!("; {what}: {}", clauses.join(", ")))
    };
    let unproven = [
        list_clauses(Outcome::Consistent, "no test of this length can prove"),
        list_clauses(Outcome::Inconclusive, "undecided"),
        untested.map(|untested| format!("; not tested: {}", untested.promised)),
    ];
    let unproven: String = unproven.into_iter().flatten().collect();
    let share = count_proven(clauses, untested).map_or_else(String::new, |share| format!(": {share}{unproven}"));
    let limitation = clauses.iter().find_map(|judged| judged.limitation.as_ref());
    let limitation = limitation.map_or_else(String::new, |limitation| format!(", but {limitation}"));
    let word = match is_partly_proven(clauses, untested) {
        true => PARTLY_PROVEN,
        false => Outcome::Pass.word(),
    };
    format!("{word}{short}{share}{limitation}")
}

/// The word for a PASS that leaves promises open which another test can prove.
pub const PARTLY_PROVEN: &str = "PARTLY PROVEN";

/// True if a PASS leaves promises open which another test can prove.
pub fn is_partly_proven(clauses: &[ClauseVerdict], untested: Option<&UntestedFigure>) -> bool {
    untested.is_some() || clauses.iter().any(|judged| judged.outcome == Outcome::Inconclusive)
}

/// The word of a verdict, which is PARTLY PROVEN for a PASS that leaves such promises open.
pub fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Pass if is_partly_proven(&verdict.clauses, verdict.untested.as_ref()) => PARTLY_PROVEN,
        outcome => outcome.word(),
    }
}

/// How many of the promises a PASS proves: `2 of 4 promises proven`; `None` if it proves all.
pub fn count_proven(clauses: &[ClauseVerdict], untested: Option<&UntestedFigure>) -> Option<String> {
    let proven = clauses.iter().filter(|judged| judged.outcome == Outcome::Pass).count();
    let clause_count = clauses.len() + usize::from(untested.is_some());
    (proven < clause_count).then(|| format!("{proven} of {clause_count} promises proven"))
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
        number => format!("; window {number}, because the one before had another depth"),
    };
    let shared = match issued.targets {
        1 => String::new(),
        count => format!(" ({count} targets)"),
    };
    let warm_up = match issued.warm_up_ns {
        Nanos(0) => "without warm-up".to_owned(),
        time => format!("after {time} of warm-up"),
    };
    let load = verified.file_load.clone().unwrap_or_else(|| {
        let reads = format!("{} % reads, direct", issued.read_percent);
        format!("{} {pattern}, {reads}", issued.block)
    });
    lines.push(Sentences(
        format!(
            "issued to {}{shared}: {load}; {} per second by {} workers, up to {} in flight; {} \
             {warm_up}{attempt}",
            verified.target,
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
    lines.extend(verdict.untested.as_ref().map(|untested| {
        let (outcome, why) = (NOT_TESTED, &untested.why);
        Line(format!(
            "  {outcome:<OUTCOME_WIDTH$} {:<CLAUSE_WIDTH$} {why}",
            untested.promised
        ))
    }));
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
