//! The page of a suite: every workload with what was required of it and what came of it.

use analysis::verdict::{Outcome, Verdict};
use model::observation::Observation;
use model::study::{RequiredOf, Study, StudyRun};
use report::html::chart::{Axis, Chart, Form, Series, Tone};
use report::html::page::{self, Block, Clause, Lead, Page, Section, Table};
use report::html::run::{PlanePoint, plane, provenance};
use report::numbers::{local_time, rate, throughput, time};
use report::{Summary, words};
use study::suite::worst;

use crate::judged;

/// A workload with its last attempt.
struct Held<'a> {
    of: &'a RequiredOf,
    run: Option<&'a StudyRun>,
    verdict: Option<Verdict>,
}

/// The page of a suite. What was measured is held to the requirements again.
pub fn page(study: &Study, workloads: &[RequiredOf]) -> Page {
    let held: Vec<Held<'_>> = workloads.iter().map(|of| hold(study, of)).collect();
    let outcome = |one: &Held<'_>| {
        one.verdict
            .as_ref()
            .map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
    };
    let overall = worst(held.iter().map(outcome));
    let clause = |one: &Held<'_>| Clause {
        promised: format!("{}: {}", one.of.workload, one.of.required),
        word: outcome(one).word().into(),
        tone: super::tone(outcome(one)),
        sentence: match &one.verdict {
            Some(verdict) => verdict
                .clauses
                .iter()
                .map(|one| report::diagnosis::sentence(&one.reason))
                .collect::<Vec<_>>()
                .join(" "),
            None => "Nothing was measured, so there is nothing to judge.".into(),
        },
        line: None,
    };
    let summary = study.runs.first().map(|run| Summary::from_results(&run.results));
    let mut about = vec![format!("A suite of {} workloads", workloads.len())];
    if let Some(summary) = &summary {
        about.extend(summary.targets.iter().take(4).map(words::target));
        about.push(local_time(&summary.started));
    }
    Page {
        title: study.name.clone(),
        about,
        verdict: page::Verdict {
            word: overall.word().into(),
            tone: super::tone(overall),
            sentence: format!("{} what is required of all workloads.", super::meaning(overall)),
            clauses: held.iter().map(clause).collect(),
            ..page::Verdict::default()
        },
        lead: limits(&held),
        sections: vec![figures(&held)],
        provenance: summary.as_ref().map_or_else(String::new, provenance),
        ..Page::default()
    }
}

fn hold<'a>(study: &'a Study, of: &'a RequiredOf) -> Held<'a> {
    let is = |run: &&StudyRun| {
        run.settings
            .iter()
            .any(|setting| setting.name == "workload" && setting.value == of.workload)
    };
    let run = study.runs.iter().rfind(is);
    let clauses = analysis::requirement::parse(&of.required).unwrap_or_default();
    let verdict = run.and_then(|run| judged::judge(&run.results, &clauses).only());
    Held { of, run, verdict }
}

/// What limits those that do not pass.
fn limits(held: &[Held<'_>]) -> Vec<Lead> {
    let failed = held.iter().filter(|one| {
        one.verdict
            .as_ref()
            .is_some_and(|verdict| verdict.outcome != Outcome::Pass)
    });
    failed
        .filter_map(|one| {
            let found = super::diagnoses(&one.run?.results).into_iter().next()?;
            Some(Lead {
                topic: format!("What limits {}", one.of.workload),
                sentence: report::diagnosis::sentence(&found.diagnosis.sentence),
                advice: found.diagnosis.advice,
            })
        })
        .take(4)
        .collect()
}

fn figures(held: &[Held<'_>]) -> Section {
    let seen: Vec<(&str, Observation)> = held
        .iter()
        .filter_map(|one| {
            Some((
                one.of.workload.as_str(),
                Observation::from_results(&one.run?.results, 0, 0)?,
            ))
        })
        .collect();
    let row = |(name, seen): &(&str, Observation)| {
        let latency = seen.total.waited();
        vec![
            (*name).to_owned(),
            seen.total.iops.map_or("-".into(), rate),
            seen.total
                .bytes_per_sec
                .map_or("-".into(), |bytes| throughput(bytes / 1e6)),
            latency.and_then(|latency| latency.mean_ns).map_or("-".into(), time),
            latency
                .and_then(|latency| latency.quantile(0.99))
                .map_or("-".into(), time),
        ]
    };
    let bars = seen.iter().map(|(name, seen)| ((*name).to_owned(), seen.total.iops));
    let rates = Chart {
        id: "workloads".into(),
        title: "Rate of each workload".into(),
        about: "Operations per second that each workload reached.".into(),
        x: Axis::names("workload"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series: vec![Series::over_names("IOPS", Form::Bars, bars).tone(Tone::Total)],
        ..Chart::default()
    };
    let points = seen.iter().filter_map(|(name, seen)| {
        Some(PlanePoint {
            name: (*name).to_owned(),
            ..PlanePoint::from_observation(seen)?
        })
    });
    let points: Vec<PlanePoint> = points.collect();
    let mut blocks: Vec<Block> = Block::chart(Some(rates)).into_iter().collect();
    blocks.extend(Block::chart(plane("plane", "Rate and latency", &points)));
    blocks.push(Block::Table(Table {
        caption: "Every workload".into(),
        head: ["workload", "IOPS", "MB/s", "mean", "p99"].map(str::to_owned).to_vec(),
        rows: seen.iter().map(row).collect(),
    }));
    Section {
        title: "What was measured".into(),
        blocks,
        ..Section::default()
    }
}
