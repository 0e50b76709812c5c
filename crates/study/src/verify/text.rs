//! A verdict for people.

use analysis::policies::Reach;
use analysis::requirement::Metric;
use analysis::verdict::{ClauseVerdict, Verified};

/// Columns of the outcome and of the clause.
const OUTCOME: usize = 13;
const CLAUSE: usize = 24;

/// A piece of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paragraph {
    /// A line that stands as it is: a heading, or a row of a table.
    Line(String),
    /// Sentences that may be set in and wrapped.
    Sentences(String),
}

use Paragraph::{Line, Sentences};

/// The report.
pub fn text(verified: &Verified) -> Vec<Paragraph> {
    let mut lines = Vec::new();
    promise(verified, &mut lines);
    issued(verified, &mut lines);
    if let Some(machine) = &verified.machine {
        for layer in &machine.layers {
            let iops = layer.iops.map(|limit| format!("{} IOPS", Metric::Iops.show(limit.low)));
            let bytes = layer.bytes_per_sec.map(|limit| Metric::Throughput.show(limit.low));
            let limits = [iops, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ");
            lines.push(Sentences(format!("limit: {}: {limits}", layer.name)));
        }
        if let Some(reach) = &machine.reach {
            lines.push(Sentences(self::reach(reach)));
        }
    }
    lines.push(Line(String::new()));
    for judged in &verified.verdict.clauses {
        lines.push(Line(clause(judged)));
    }
    lines.push(Line(String::new()));
    lines.push(Line(verified.verdict.outcome.word().to_owned()));
    for reason in &verified.verdict.reasons {
        lines.push(Sentences(format!("{}.", reason.what)));
    }
    let costs = verified.issued.quick.then(|| {
        "This was the short form: 30 s show a limit that is always there; a promise of providers is about 300 s, so repeat \
         without --quick before you rely on it or complain."
            .to_owned()
    });
    lines.extend(costs.map(Sentences));
    lines.extend(
        verified
            .verdict
            .notes
            .iter()
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

fn promise(verified: &Verified, lines: &mut Vec<Paragraph>) {
    if let Some(policy) = &verified.promise.policy {
        let tier = policy.tier.as_ref().map(|tier| format!(", {tier}")).unwrap_or_default();
        lines.push(Line(format!("{}: {}{tier}", policy.id, policy.title)));
        if let Some(wording) = &policy.wording {
            lines.push(Sentences(wording.clone()));
        }
        let source = format!(
            "as of {}, {}: {}",
            policy.as_of,
            policy.confidence.words(),
            policy.source
        );
        lines.push(Sentences(source));
    }
    if let Some(requirement) = &verified.promise.requirement {
        lines.push(Line(format!("required: {requirement}")));
    }
}

fn issued(verified: &Verified, lines: &mut Vec<Paragraph>) {
    let issued = &verified.issued;
    let pattern = if issued.random { "random" } else { "sequential" };
    let attempt = match issued.attempt {
        1 => String::new(),
        _ => ", in a second attempt with twice as much in flight".to_owned(),
    };
    let shared = match issued.targets {
        1 => String::new(),
        count => format!(" ({count} targets, evenly)"),
    };
    lines.push(Sentences(
        format!(
            "issued to {}{shared}: {} {pattern}, {} % reads, direct; {} per second by {} workers, up to {} in flight; {} after {} of \
             warm-up{attempt}",
            verified.target,
            issued.block,
            issued.read_percent,
            Metric::Iops.show(issued.rate_iops),
            issued.workers,
            issued.concurrency,
            issued.measured_ns,
            issued.warm_up_ns
        )
        .replace(" 1 workers", " 1 worker"),
    ));
    if let Some(hosts) = &verified.issued_by {
        lines.push(Sentences(format!(
            "by {hosts} together: each issues its part of the rate and of what may be in flight"
        )));
    }
}

/// A clause in a line: what came of it, what it says, and why.
pub fn clause(judged: &ClauseVerdict) -> String {
    let (outcome, clause) = (judged.outcome.word(), judged.clause.to_string());
    format!("  {outcome:<OUTCOME$} {clause:<CLAUSE$} {}", judged.reason)
}

/// What can be reached, and what of the other limits is out of reach.
pub fn reach(reach: &Reach) -> String {
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
