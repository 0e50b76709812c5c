//! The first screen of the page of a run: title, scope of the verdict, what limits, and the four
//! figures that matter.

use std::collections::BTreeSet;

use model::Nanos;
use model::finding::Severity;
use model::results::Results;

use super::{Beside, OPEN_JOBS, fleet, percentile};
use crate::html::page::{Lead, Tile, Verdict};
use crate::numbers::{duration, rate, throughput, time as time_words};
use crate::summary::{Figures, JobSummary, LatencyFigures, Summary};
use crate::{diagnosis, words};

/// The name of a test to which its user gave none.
const DEFAULT_NAME: &str = "run";
/// A rate whose confidence interval is wider than this says little about the next run.
const UNSTEADY_PERCENT: f64 = 10.0;

/// A verdict with how long what was measured, which is all that it holds for.
pub(super) fn with_scope(verdict: &Verdict, summary: &Summary) -> Verdict {
    let mut verdict = verdict.clone();
    if let ([job], false) = (&summary.jobs[..], verdict.word.is_empty()) {
        let region = match &summary.targets[..] {
            [target] => format!(", on {} of {}", target.size, target.path),
            _ => String::new(),
        };
        let measured = duration(job.measured_ns);
        let grave = summary
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Note);
        // A rule that several findings are of is named once.
        let weakened: BTreeSet<&str> = grave.map(|finding| finding.rule.as_str()).collect();
        if !weakened.is_empty() {
            let rules = Vec::from_iter(weakened).join(", ");
            let qualified = format!("With a reservation: the checks warn ({rules}). See what they found below.");
            verdict.notes.insert(0, qualified);
        }
        verdict.notes.insert(
            0,
            format!(
                "This holds for what was measured: {measured} of {}{region}.",
                job.operations
            ),
        );
    }
    verdict
}

/// The name that a user gave; else load and target.
pub(super) fn title(results: &Results, summary: &Summary) -> String {
    let target = match &summary.targets[..] {
        [] => String::new(),
        [target] => format!(
            " — {}{}",
            target.path,
            target
                .devices
                .first()
                .map_or(String::new(), |device| format!(" on {}", device.name))
        ),
        several => format!(" — {} targets", several.len()),
    };
    match &summary.jobs[..] {
        [job] if results.plan.name == DEFAULT_NAME => {
            let load = job.operations.trim_end_matches(", direct");
            format!("{load}, QD {}{target}", job.depth)
        }
        _ => summary.name.clone(),
    }
}

pub(super) fn about(results: &Results, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(
        summary
            .objective
            .iter()
            .map(|objective| format!("Objective: {objective}")),
    );
    let mut targets: Vec<String> = summary.targets.iter().map(words::target).collect();
    // On several hosts the same names come again and again.
    if results.fleet.is_some() {
        let mut shown = BTreeSet::new();
        targets.retain(|words| shown.insert(words.clone()));
    }
    lines.extend(targets.iter().take(4).cloned());
    if let [job] = &summary.jobs[..] {
        lines.push(format!("{}; {}", job.operations, job.load));
    }
    if targets.len() > 4 {
        lines.push(format!("and {} targets more", targets.len() - 4));
    }
    let machine = summary.hosts.first().filter(|host| !host.name.is_empty());
    let machine = machine.map(|host| format!(" on {} ({}, {} CPUs)", host.name, host.system, host.cpus));
    lines.push(format!("{}{}", summary.started, machine.unwrap_or_default()));
    lines.extend(fleet::about(results, summary));
    if summary.interrupted {
        lines.push("It was cut short: this is what was measured until then.".into());
    }
    lines
}

pub(super) fn lead(beside: &Beside, summary: &Summary) -> Vec<Lead> {
    let several = beside.diagnoses.len() > 1;
    let simulated = summary.targets.iter().any(|target| target.kind == "simulated");
    let shown = simulated.then(|| Lead {
        topic: "No real storage".into(),
        sentence: "The target is simulated by the program itself: nothing here says anything of a disk.".into(),
        advice: Vec::new(),
    });
    let limits = beside.diagnoses.iter().take(OPEN_JOBS).map(|one| Lead {
        topic: match several {
            true => format!("What limits {}", one.name),
            false => "What limits it".into(),
        },
        sentence: diagnosis::sentence(&one.diagnosis.sentence),
        advice: one.diagnosis.advice.clone(),
    });
    let mut lead: Vec<Lead> = shown.into_iter().chain(limits).collect();
    if summary.jobs.iter().all(|job| job.total.operations == 0) {
        lead.push(Lead {
            topic: "Nothing was measured".into(),
            sentence: "Not one operation ended in the measured window.".into(),
            advice: Vec::new(),
        });
    }
    lead
}

pub(super) fn tiles(summary: &Summary) -> Vec<Tile> {
    let measured: Vec<&JobSummary> = summary.jobs.iter().filter(|job| job.total.operations > 0).collect();
    let [job] = measured[..] else {
        return Vec::new();
    };
    let total = &job.total;
    let mut tiles = vec![
        Tile {
            name: "Operations per second".into(),
            value: format!("{} IOPS", rate(total.iops)),
            note: job.iops_confidence_percent.map_or_else(
                || apart(job),
                |percent| {
                    let unsteady = if percent > UNSTEADY_PERCENT { ": not steady" } else { "" };
                    format!("± {percent:.1} % (95 %){unsteady}{}", and(&apart(job)))
                },
            ),
        },
        Tile {
            name: "Throughput".into(),
            value: format!("{} MB/s", throughput(total.mb_per_sec)),
            note: format!("{} MiB/s", throughput(total.mib_per_sec)),
        },
        Tile {
            name: latency_name(total).into(),
            value: time_words(total.latency.mean_ns),
            note: match total.service {
                Some(_) => "mean, from when it was due".into(),
                None => median(&total.latency),
            },
        },
    ];
    if let Some(p99) = total.latency.percentile(99.0) {
        tiles.push(Tile {
            name: "99 % took no longer than".into(),
            value: percentile(&p99),
            note: format!("maximum {}", Nanos(total.latency.max_ns)),
        });
    }
    tiles
}

fn latency_name(total: &Figures) -> &'static str {
    if total.service.is_some() {
        "Response time"
    } else {
        "Mean latency"
    }
}

fn median(latency: &LatencyFigures) -> String {
    latency
        .percentile(50.0)
        .map_or_else(String::new, |median| format!("median {}", Nanos(median.ns)))
}

fn apart(job: &JobSummary) -> String {
    let each = [("reads", &job.read), ("writes", &job.write), ("trims", &job.trim)];
    let present: Vec<String> = each
        .into_iter()
        .filter_map(|(name, figures)| figures.as_ref().map(|figures| format!("{} {name}", rate(figures.iops))))
        .collect();
    if present.len() > 1 {
        present.join(", ")
    } else {
        String::new()
    }
}

fn and(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("; {text}")
    }
}
