//! The first screen of the page of several jobs: a line, a tile and a limit for each.

use model::diagnosis::{Answer, Diagnosis, DiagnosisNote, JobDiagnosis};
use model::finding::Finding;

use super::{OPEN_JOBS, format_percentile};
use crate::diagnosis::format_sentence;
use crate::html::page::{Lead, Tile, add_places, name_places};
use crate::numbers::{duration_with_unit, format_rough, format_time};
use crate::summary::{Figures, JobSummary, LatencyFigures, PercentileSupport, Summary};

/// Number of jobs in the box and in the header. The table below has all.
pub(super) const MAX_LISTED_JOBS: usize = 8;
/// Number of jobs whose rate is drawn on the first screen.
const PROMOTED_JOBS: usize = 2;
/// From this mean size on, operations are quoted by their throughput.
const LARGE_BLOCK: u64 = 128 * 1024;

/// Describes the figures of a job: `519 IOPS, flush 964 us, p99 1.82 ms`.
pub(super) fn describe_figures(job: &JobSummary) -> String {
    format!("{}, {}", describe_rate(&job.total), describe_latency(job))
}

fn describe_rate(total: &Figures) -> String {
    match total.bytes >= LARGE_BLOCK * total.operations.max(1) {
        true => format!("{} MB/s", format_rough(total.mb_per_sec)),
        false => format!("{} IOPS", format_rough(total.iops)),
    }
}

/// The time of a flush, for which a commit waits, or else of an operation.
fn describe_latency(job: &JobSummary) -> String {
    match job.flush.as_ref().filter(|flush| flush.operations > 0) {
        Some(flush) => {
            let p99 = format_p99(&flush.latency);
            let commit = || Some(format!("commit {}", format_time(job.commit_ns()?)));
            let more = p99.or_else(commit).map_or(String::new(), |more| format!(", {more}"));
            format!("flush {}{more}", format_time(flush.latency.mean_ns))
        }
        None => {
            format_p99(&job.total.latency).unwrap_or_else(|| format!("mean {}", format_time(job.total.latency.mean_ns)))
        }
    }
}

/// The 99th percentile; `None` with too few operations.
pub(super) fn format_p99(latency: &LatencyFigures) -> Option<String> {
    let p99 = latency.percentile(99.0)?;
    (p99.support != PercentileSupport::None).then(|| format!("p99 {}", format_percentile(&p99)))
}

pub(super) fn tiles(jobs: &[&JobSummary]) -> Vec<Tile> {
    let tile = |job: &&JobSummary| Tile::new(&job.name, describe_rate(&job.total), describe_latency(job));
    jobs.iter().take(OPEN_JOBS).map(tile).collect()
}

/// A line about the load of each job.
pub(super) fn describe_loads(jobs: &[JobSummary]) -> Vec<String> {
    let listed = jobs.iter().take(MAX_LISTED_JOBS).map(|job| {
        let measured = duration_with_unit(job.measured_ns);
        format!(
            "{}: {}; {}; measured for {measured}",
            job.name, job.operations, job.load
        )
    });
    let more = jobs.len().saturating_sub(MAX_LISTED_JOBS);
    listed
        .chain((more > 0).then(|| format!("and {more} more jobs")))
        .collect()
}

/// The identifiers of the charts for the first screen. A single job has its rate and percentiles
/// there, several have the rates of the first. `has_scopes` if identifiers name the job.
pub(super) fn promoted_charts(summary: &Summary, has_scopes: bool) -> Vec<String> {
    let jobs = summary.jobs.iter().enumerate().map(|(number, job)| {
        let earlier = &summary.jobs[..number];
        let index = earlier.iter().filter(|other| other.step == job.step).count();
        format!("s{}j{index}-", job.step)
    });
    match summary.jobs.len() {
        1 => {
            let prefix = jobs.take(usize::from(has_scopes)).collect::<String>();
            vec![format!("{prefix}iops"), format!("{prefix}percentiles")]
        }
        _ => jobs.take(PROMOTED_JOBS).map(|prefix| format!("{prefix}iops")).collect(),
    }
}

/// Causes that may limit a load next to the decisive one.
const OTHER_CAUSES: [&str; 4] = ["D-CPU", "D-GENERATOR", "D-CAP", "D-NETWORK"];

/// The first cause that may limit the load too, after the decisive one.
fn describe_other_cause(diagnosis: &Diagnosis) -> String {
    let is_cause =
        |note: &&DiagnosisNote| OTHER_CAUSES.contains(&&*note.rule) && !note.what.starts_with("no limit except");
    let cause = diagnosis.also.iter().find(is_cause);
    cause.map_or(String::new(), |cause| format!(" Also possible: {}.", cause.what))
}

/// What limits the jobs. Jobs with the same limit share an entry.
pub(super) fn limits_lead(diagnoses: &[JobDiagnosis], findings: &[Finding]) -> Vec<Lead> {
    let mut groups: Vec<Vec<&JobDiagnosis>> = Vec::new();
    for job in diagnoses {
        let is_same = |group: &Vec<&JobDiagnosis>| {
            let (first, this) = (&group[0].diagnosis, &job.diagnosis);
            // Each job measured the use of other programs in its own time.
            let [is_others, is_others_too] = [first, this].map(|found| found.sentence.starts_with("other programs "));
            (first.answer, &first.layer) == (this.answer, &this.layer)
                && (first.sentence == this.sentence || is_others && is_others_too)
        };
        match groups.iter().position(is_same) {
            Some(at) => groups[at].push(job),
            None => groups.push(vec![job]),
        }
    }
    let count = groups.len();
    let lead = |group: Vec<&JobDiagnosis>| {
        let names: Vec<&str> = group.iter().map(|job| job.name.as_str()).collect();
        let diagnosis = &group[0].diagnosis;
        let has_stalls = findings.iter().any(|finding| finding.rule == "STALLS");
        let exception = match has_stalls && diagnosis.sentence.starts_with("no limit except") {
            true => " This does not hold during stalls (see Findings).",
            false => "",
        };
        let sentence = match diagnosis.answer {
            Answer::Stall if has_stalls => "stalls (see Findings)",
            _ => diagnosis.sentence.as_str(),
        };
        Lead {
            topic: match count {
                1 if names.len() == 1 => "What limits it".into(),
                1 => "What limits them".into(),
                _ => format!("What limits {}", names.join(", ")),
            },
            sentence: format_sentence(&add_places(sentence, &names)) + exception + &describe_other_cause(diagnosis),
            advice: diagnosis.advice.clone(),
        }
    };
    groups.into_iter().take(OPEN_JOBS).map(lead).collect()
}

/// Merges the findings of several jobs: each rule once, with the jobs that have it.
pub(super) fn merge_findings(findings: &[Finding], jobs: &[JobSummary]) -> Vec<Finding> {
    let mut groups: Vec<(Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let place = finding.at.as_deref();
        let job = place.filter(|place| jobs.len() > 1 && jobs.iter().any(|job| job.name == *place));
        let same = job.and_then(|job| {
            groups.iter().position(|(first, names)| {
                (&first.rule, first.severity) == (&finding.rule, finding.severity)
                    && !names.is_empty()
                    && !names.contains(&job)
            })
        });
        match same {
            Some(at) => groups[at].1.extend(job),
            None => groups.push((finding.clone(), job.into_iter().collect())),
        }
    }
    let groups = groups.into_iter();
    groups.map(|(finding, names)| name_places(finding, &names)).collect()
}
