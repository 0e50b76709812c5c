//! A verdict for people.

use analysis::policies::Reach;
use analysis::requirement::Metric;
use analysis::verdict::{ClauseVerdict, Verified};

/// Columns of the outcome and of the clause.
const OUTCOME: usize = 13;
const CLAUSE: usize = 24;

/// The report, in paragraphs: each begins with how far it is to be set in, and may be wrapped.
pub fn text(verified: &Verified) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    promise(verified, &mut lines);
    issued(verified, &mut lines);
    if let Some(machine) = &verified.machine {
        for layer in &machine.layers {
            let iops = layer.iops.map(|limit| format!("{} IOPS", Metric::Iops.show(limit.low)));
            let bytes = layer.bytes_per_sec.map(|limit| Metric::Throughput.show(limit.low));
            let limits = [iops, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ");
            lines.push((2, format!("limit: {}: {limits}", layer.name)));
        }
        if let Some(reach) = &machine.reach {
            lines.push((2, self::reach(reach)));
        }
    }
    lines.push((0, String::new()));
    for judged in &verified.verdict.clauses {
        lines.push((2, clause(judged)));
    }
    lines.push((0, String::new()));
    lines.push((0, verified.verdict.outcome.word().to_owned()));
    for reason in &verified.verdict.reasons {
        lines.push((2, format!("{}.", reason.what)));
    }
    let costs = verified.issued.quick.then(|| {
        "This was the short form: 30 s show a limit that is always there; a promise of providers is about 300 s, so repeat \
         without --quick before you rely on it or complain."
            .to_owned()
    });
    lines.extend(costs.map(|text| (2, text)));
    lines.extend(verified.verdict.notes.iter().map(|note| (2, format!("Note: {note}."))));
    lines.extend(
        verified
            .promise
            .expired
            .iter()
            .map(|note| (2, format!("Note: {note}."))),
    );
    lines
}

fn promise(verified: &Verified, lines: &mut Vec<(usize, String)>) {
    if let Some(policy) = &verified.promise.policy {
        let tier = policy.tier.as_ref().map(|tier| format!(", {tier}")).unwrap_or_default();
        lines.push((0, format!("{}: {}{tier}", policy.id, policy.title)));
        if let Some(wording) = &policy.wording {
            lines.push((2, wording.clone()));
        }
        let source = format!(
            "as of {}, {}: {}",
            policy.as_of,
            policy.confidence.words(),
            policy.source
        );
        lines.push((2, source));
    }
    if let Some(requirement) = &verified.promise.requirement {
        lines.push((0, format!("required: {requirement}")));
    }
}

fn issued(verified: &Verified, lines: &mut Vec<(usize, String)>) {
    let issued = &verified.issued;
    let pattern = if issued.random { "random" } else { "sequential" };
    let attempt = match issued.attempt {
        1 => String::new(),
        _ => ", in a second attempt with twice as much in flight".to_owned(),
    };
    lines.push((
        0,
        format!(
            "issued to {}: {} {pattern}, {} % reads, direct; {} per second by {} workers, up to {} in flight; {} after {} of \
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
}

fn clause(judged: &ClauseVerdict) -> String {
    let (outcome, clause) = (judged.outcome.word(), judged.clause.to_string());
    format!("{outcome:<OUTCOME$} {clause:<CLAUSE$} {}", judged.reason)
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
