//! How far the figures of a result without requirements can be trusted.

use std::collections::BTreeSet;

use model::finding::{Finding, Severity};
use model::plan::FileOperationKind;

use super::PageContext;
use super::first_screen::{
    MEANINGS, UNSTEADY_PERCENT, describe_scope, describe_warnings, is_simulated, unreliable_because,
};
use super::jobs::{MAX_LISTED_JOBS, describe_figures, format_p99, merge_findings};
use crate::diagnosis::format_sentence;
use crate::html::page::{Clause, Tone, Verdict};
use crate::numbers::{format_rough, format_time};
use crate::summary::{JobSummary, Summary};

/// The words for the quality of a result, the worst first.
const WORDS: [&str; 5] = ["NOT RELIABLE", "NOT STEADY", STALLED, "MEASURED", "STEADY"];
/// The word for a result in which the storage completed nothing for some time.
pub(super) const STALLED: &str = "STALLED";

/// Causes of a fall of the rate within the measured window.
const CAUSES_OF_FALL: [&str; 2] = ["D-BURST-END", "D-SLC-CLIFF"];
/// Findings that such a fall explains.
const EXPLAINED_BY_FALL: [&str; 2] = ["RATE-NOT-KEPT", "SCHED-LAG"];

/// True for the cause of a fall of the rate within the measured window.
pub(super) fn is_fall(finding: &Finding) -> bool {
    finding.severity == Severity::Warning && CAUSES_OF_FALL.contains(&&*finding.rule)
}

/// Lists the findings without those that a fall of the same job's rate explains.
pub(super) fn without_explained(findings: &[Finding]) -> Vec<Finding> {
    let is_explained = |finding: &&Finding| {
        let is_cause = |other: &Finding| is_fall(other) && other.at == finding.at;
        EXPLAINED_BY_FALL.contains(&&*finding.rule) && findings.iter().any(is_cause)
    };
    let kept = findings.iter().filter(|finding| !is_explained(finding));
    kept.cloned().collect()
}

/// Assesses a result that has no requirements.
pub(super) fn assess_quality(context: &PageContext, summary: &Summary) -> Option<Verdict> {
    if !context.verdict.word.is_empty() {
        return None;
    }
    match &summary.jobs[..] {
        [job] => (job.total.operations > 0).then(|| assess_job(context, summary, job)),
        _ => assess_jobs(context, summary),
    }
}

fn assess_job(context: &PageContext, summary: &Summary, job: &JobSummary) -> Verdict {
    let findings = &summary.findings;
    let word = choose_word(findings, job);
    let stalls = find_finding(findings, "STALLS").map(|finding| {
        // The backlog of a stall raises the mean of the other seconds above the requested rate.
        let is_kept = job.total.service.is_some() && find_finding(findings, "RATE-NOT-KEPT").is_none();
        let calm = match context.calm_iops {
            Some(_) if is_kept => " Otherwise, the target delivered the requested rate.".into(),
            Some(iops) => format!(" Outside of that time: {} IOPS.", format_rough(iops)),
            None => String::new(),
        };
        format_sentence(&finding.what) + &calm
    });
    let fall = findings.iter().find(|finding| is_fall(finding));
    let fall = fall
        .and_then(|finding| finding.what.split(';').next())
        .map(format_sentence);
    let rate = match job.iops_confidence_percent {
        _ if word == "NOT RELIABLE" || stalls.is_some() || fall.is_some() => String::new(),
        Some(_) if is_unsteady(job) => "The rate varied too much to quote.".into(),
        Some(_) if job.total.service.is_some() => match find_finding(findings, "RATE-NOT-KEPT") {
            Some(_) => "The target did not deliver the rate that the test requested.".into(),
            None => "The target delivered the rate that the test requested.".into(),
        },
        Some(percent) => format!("The mean rate is known within ± {percent:.1} % (95 %)."),
        None => "The run was too short to say whether the rate is steady.".into(),
    };
    let unreliable = unreliable_because(findings).map(|why| add_drift(&why, findings));
    let mut others = without_explained(findings);
    others.retain(|finding| !is_fall(finding));
    let sentences = [
        unreliable.as_deref().map(format_sentence),
        fall,
        stalls,
        describe_cache(summary),
        Some(context.comparison.clone()).filter(|_| word != "NOT RELIABLE" && !is_simulated(summary)),
        Some(rate),
        describe_other_warnings(&others, context),
    ];
    create_verdict(word, sentences, summary)
}

/// Assesses several jobs: the worst word, and a line for each.
fn assess_jobs(context: &PageContext, summary: &Summary) -> Option<Verdict> {
    let names: BTreeSet<&str> = summary.jobs.iter().map(|job| job.name.as_str()).collect();
    let measured = summary.jobs.iter().filter(|job| job.total.operations > 0);
    let rated: Vec<(&JobSummary, Vec<Finding>, &'static str)> = measured
        .map(|job| {
            let findings = findings_of_job(&summary.findings, &job.name, &names);
            let word = choose_word(&findings, job);
            (job, findings, word)
        })
        .collect();
    let has_word = |word: &&str| rated.iter().any(|(_, _, rated_word)| rated_word == word);
    let word = WORDS.into_iter().find(has_word)?;
    let disturbed = rated.iter().filter(|(_, _, word)| *word == "NOT RELIABLE").count();
    let disturbed = match (disturbed, rated.len()) {
        (2, 2) => "both jobs".to_owned(),
        (count, all) if count == all => format!("all {all} jobs"),
        (count, all) => format!("{count} of {all} jobs"),
    };
    let unreliable = unreliable_because(&summary.findings).map(|why| format_sentence(&format!("{why} in {disturbed}")));
    let merged = merge_findings(&without_explained(&summary.findings), &summary.jobs);
    let sentences = [
        unreliable,
        describe_cache(summary),
        describe_other_warnings(&merged, context),
    ];
    let mut verdict = create_verdict(word, sentences, summary);
    let listed = rated.iter().take(MAX_LISTED_JOBS);
    verdict.clauses = listed
        .map(|(job, findings, word)| {
            let stalls = describe_stalls(findings).map_or(String::new(), |stalls| format!("; {stalls}"));
            Clause {
                promised: job.name.clone(),
                word: (*word).into(),
                tone: tone_of(word),
                sentence: format!("{}{stalls}", describe_figures(job)),
                ..Clause::default()
            }
        })
        .collect();
    Some(verdict)
}

fn create_verdict(word: &str, sentences: impl IntoIterator<Item = Option<String>>, summary: &Summary) -> Verdict {
    let sentences = sentences.into_iter().flatten();
    let sentences: Vec<String> = sentences.filter(|sentence| !sentence.is_empty()).collect();
    Verdict {
        notes: vec![describe_scope("Tested", summary, &summary.jobs)],
        ..Verdict::new(word, tone_of(word), sentences.join(" "))
    }
}

fn choose_word(findings: &[Finding], job: &JobSummary) -> &'static str {
    let is_sound = findings
        .iter()
        .all(|finding| finding.severity < Severity::Error && finding.rule != "RATE-NOT-KEPT");
    match unreliable_because(findings) {
        Some(_) => "NOT RELIABLE",
        None if is_unsteady(job) || findings.iter().any(is_fall) => "NOT STEADY",
        None if find_finding(findings, "STALLS").is_some() => STALLED,
        None if job.iops_confidence_percent.is_some() && is_sound => "STEADY",
        None => "MEASURED",
    }
}

fn tone_of(word: &str) -> Tone {
    match word {
        "STEADY" => Tone::Good,
        "MEASURED" => Tone::Plain,
        _ => Tone::Unsure,
    }
}

fn is_unsteady(job: &JobSummary) -> bool {
    job.iops_confidence_percent
        .is_some_and(|percent| percent > UNSTEADY_PERCENT)
}

fn find_finding<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.rule == rule)
}

/// The findings of a job, and those that name no job. `jobs` are the names of all.
fn findings_of_job(findings: &[Finding], job: &str, jobs: &BTreeSet<&str>) -> Vec<Finding> {
    let concerns_job = |finding: &&Finding| {
        let mut places = finding.at.as_deref().unwrap_or_default().split(", ");
        places.clone().any(|place| place == job) || !places.any(|place| jobs.contains(place))
    };
    findings.iter().filter(concerns_job).cloned().collect()
}

/// Adds a change of the rate to why the figures are not reliable.
fn add_drift(why: &str, findings: &[Finding]) -> String {
    let drift = find_finding(findings, "NOT-STEADY")
        .and_then(|finding| finding.what.strip_prefix("operations per second ")?.split_once(" ("));
    match drift {
        Some((change, _)) if why == "the storage had not settled" => format!("the rate {change} IOPS: {why}"),
        Some((change, _)) => format!("the rate {change} IOPS, and {why}"),
        None => why.to_owned(),
    }
}

/// The warnings that no other sentence of the box states.
fn describe_other_warnings(findings: &[Finding], context: &PageContext) -> Option<String> {
    let is_stated = |finding: &&Finding| {
        let is_meaning = MEANINGS.iter().any(|(rule, _)| *rule == finding.rule);
        finding.severity < Severity::Error && (["STALLS", "D-STALL"].contains(&finding.rule.as_str()) || is_meaning)
    };
    let others: Vec<Finding> = findings.iter().filter(|finding| !is_stated(finding)).cloned().collect();
    describe_warnings(&others, &context.verdict)
}

/// Describes stalls in a few words: `one stall of 2.0 s`.
pub(super) fn describe_stalls(findings: &[Finding]) -> Option<String> {
    let what = &find_finding(findings, "STALLS")?.what;
    let (_, lengths) = what.split_once(" for ")?;
    let (lengths, _) = lengths.split_once(" s, ")?;
    Some(match what.contains(" times (") {
        true => format!("stalls of {lengths} s"),
        false => format!("one stall of {lengths} s"),
    })
}

/// States that file operations went through the page cache, and what a flush took.
fn describe_cache(summary: &Summary) -> Option<String> {
    find_finding(&summary.findings, "BUFFERED")?;
    let mut files = summary.jobs.iter().flat_map(|job| &job.files).peekable();
    files.peek()?;
    let fsync = files
        .find(|file| file.operation == FileOperationKind::Fsync)
        .map(|file| &file.figures.latency)
        .map_or(String::new(), |latency| {
            let p99 = format_p99(latency).map_or(String::new(), |p99| format!(" ({p99})"));
            format!("; fsync took {}{p99}", format_time(latency.mean_ns))
        });
    Some(format!(
        "Operations went through the page cache, so their figures are those of memory{fsync}."
    ))
}
