//! The report of a suite in each format: JSON, study, text, CSV and JUnit.

use std::path::Path;

use ::report::junit::{self, Case, CaseOutcome};
use ::report::words;
use analysis::verdict::{FORMAT_VERSION, JudgedWorkload, SuiteKind, SuiteReport};
use dialects::native::suite::Suite;
use jiff::Zoned;
use model::observation::{Latency, Observation};
use model::plan::TargetKind;
use model::results::Results;
use model::stats::{Support, support};
use model::study::{DocumentKind, Question, Setting, SkippedPoint, Study, StudyRun, WorkloadRequirement};
use study::suite;

use super::super::compare;
use super::super::study_outputs::{csv_number, csv_table};
use crate::judged::case_outcome;
use crate::{pages, screen};

pub(super) fn build_report(
    suite: &Suite,
    file: &str,
    started: &Zoned,
    workloads: Vec<JudgedWorkload>,
    first_results: Option<&Results>,
) -> SuiteReport {
    let stem = Path::new(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut environment = Vec::new();
    if let Some(results) = first_results {
        for (number, target) in results.plan.targets.iter().enumerate() {
            let facts = results
                .hosts
                .iter()
                .find_map(|host| host.environment.target(number as u32));
            let words = match (&target.kind, facts) {
                (TargetKind::Simulated { .. }, _) | (_, None) => target.path.clone(),
                (_, Some(facts)) => words::describe_target(facts),
            };
            environment.push(("Tested".to_owned(), words));
        }
        if let Some(fleet) = &results.fleet {
            let words = format!(
                "{} together; settings in `divide` are totals, other settings apply to each host",
                fleet.describe()
            );
            environment.push(("Issued by".into(), words));
        }
        for host in &results.hosts {
            let environment_of = &host.environment;
            let (machine, cpu) = (&environment_of.host, &environment_of.cpu);
            environment.push(("Machine".into(), machine.name.clone()));
            environment.push((
                "System".into(),
                format!("{}, kernel {}", machine.system, machine.kernel),
            ));
            environment.push((
                "Processors and memory".into(),
                format!("{} × {}, {}", cpu.logical, cpu.model, environment_of.memory),
            ));
            environment.extend(
                machine
                    .hypervisor
                    .iter()
                    .map(|name| ("Hypervisor".to_owned(), name.clone())),
            );
        }
    }
    let now = |moment: &Zoned| moment.strftime("%Y-%m-%d %H:%M:%S %Z").to_string();
    SuiteReport {
        format_version: FORMAT_VERSION,
        kind: SuiteKind::Suite,
        tool: first_results.map_or_else(this_tool, |results| results.tool.clone()),
        name: suite.name.clone().or(stem).unwrap_or_else(|| "suite".into()),
        objective: suite.objective.clone(),
        started: now(started),
        ended: now(&Zoned::now()),
        environment,
        outcome: suite::worst(workloads.iter().map(JudgedWorkload::outcome)),
        workloads,
    }
}

/// Builds the study with all measurements, for `--save`.
pub(super) fn build_study(report: &SuiteReport, runs: Vec<StudyRun>, interrupted: bool) -> Study {
    let not_run = |workload: &&JudgedWorkload| workload.failure.is_some();
    Study {
        format_version: model::results::FORMAT_VERSION,
        kind: DocumentKind::Study,
        tool: report.tool.clone(),
        name: report.name.clone(),
        question: Question::Suite {
            workloads: report
                .workloads
                .iter()
                .map(|workload| WorkloadRequirement {
                    workload: workload.name.clone(),
                    required: workload.required.clone(),
                })
                .collect(),
        },
        runs,
        skipped: report
            .workloads
            .iter()
            .filter(not_run)
            .map(|workload| SkippedPoint {
                settings: settings(&workload.name, None),
                why: workload.failure.clone().unwrap_or_default(),
            })
            .collect(),
        interrupted,
    }
}

/// Builds the settings that distinguish the runs of a suite.
pub(super) fn settings(workload: &str, attempt: Option<u32>) -> Vec<Setting> {
    let attempt = attempt.map(|attempt| Setting {
        name: "attempt".into(),
        value: attempt.to_string(),
        number: Some(f64::from(attempt)),
    });
    let workload = Setting {
        name: "workload".into(),
        value: workload.to_owned(),
        number: None,
    };
    [workload].into_iter().chain(attempt).collect()
}

fn this_tool() -> model::results::Tool {
    model::results::Tool {
        name: "fathom".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine_revision: 0,
    }
}

pub(super) fn format_text(report: &SuiteReport, runs: &[StudyRun]) -> String {
    let (lines, notes) = suite::table(report);
    let mut text = format!("{}, {}\n", report.name, report.started);
    if let Some(simulation) = runs
        .iter()
        .find_map(|run| words::describe_simulation(&run.results.plan))
    {
        text += &format!("{simulation}\n");
    }
    if let Some(objective) = &report.objective {
        text += &format!("objective: {objective}\n");
    }
    for (_, tested) in report.environment.iter().filter(|(name, _)| name == "Tested") {
        text += &format!("{tested}\n");
    }
    text += "\n";
    for line in lines {
        text += &format!("{}\n", line.trim_end());
    }
    text += &format!("\n{}\n", report.outcome.word());
    let times: Vec<_> = runs
        .iter()
        .filter_map(|run| suite::measured_time(&run.results))
        .collect();
    if let Some(times) = suite::describe_times(&times, "") {
        text += &screen::wrap_paragraph(&format!("Scope of this verdict: {times}."));
    }
    for note in notes {
        text += &screen::wrap_paragraph(&note);
    }
    let findings = report
        .workloads
        .iter()
        .map(|workload| (workload.name.as_str(), workload.findings.as_slice()));
    text + &compare::format_warnings(&pages::merge_warnings(findings))
}

/// Formats one CSV row per workload, with the figures of its last run.
pub(super) fn format_csv(report: &SuiteReport, runs: &[StudyRun]) -> String {
    let row = |workload: &JudgedWorkload| {
        let is_of_workload = |run: &&StudyRun| {
            run.settings
                .iter()
                .any(|setting| setting.name == "workload" && setting.value == workload.name)
        };
        let observation = runs
            .iter()
            .rfind(is_of_workload)
            .and_then(|run| Observation::from_results(&run.results, 0, 0));
        let total = observation.as_ref().map(|observation| &observation.total);
        let latency = total.and_then(|total| total.user_latency());
        let quantile = |share: f64| {
            let is_supported = |latency: &&Latency| support(share, latency.samples.unwrap_or(0)) != Support::None;
            csv_number(latency.filter(is_supported).and_then(|latency| latency.quantile(share)))
        };
        let of_clauses = workload.verdict.iter().flat_map(|verdict| &verdict.clauses);
        let reasons: Vec<String> = of_clauses
            .map(|clause| clause.reason.clone())
            .chain(workload.reasons())
            .collect();
        vec![
            workload.name.clone(),
            workload.outcome().word().into(),
            workload.required.clone(),
            csv_number(total.and_then(|total| total.iops)),
            csv_number(total.and_then(|total| total.bytes_per_sec)),
            csv_number(latency.and_then(|latency| latency.mean_ns)),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            workload.load.clone(),
            reasons.join("; "),
        ]
    };
    csv_table(
        "workload,verdict,required,iops,bytes_per_sec,mean_ns,p50_ns,p99_ns,p999_ns,load,reasons",
        report.workloads.iter().map(row),
    )
}

pub(super) fn junit_suite(report: &SuiteReport, started: &Zoned, text: &str) -> junit::Suite {
    let mut cases = Vec::new();
    for workload in &report.workloads {
        let clauses = workload.verdict.iter().flat_map(|verdict| &verdict.clauses);
        cases.extend(clauses.map(|clause| Case {
            name: format!("{}: {}", workload.name, clause.clause),
            outcome: case_outcome(clause.outcome),
            message: clause.reason.clone(),
        }));
        let reasons = workload.verdict.iter().flat_map(|verdict| &verdict.reasons);
        let as_a_whole = |outcome: CaseOutcome, message: String| Case {
            name: format!("{}: the test as a whole", workload.name),
            outcome,
            message,
        };
        cases.extend(reasons.map(|reason| {
            let outcome = if reason.cause.is_none() {
                CaseOutcome::Failed
            } else {
                CaseOutcome::Undecided
            };
            as_a_whole(outcome, reason.what.clone())
        }));
        cases.extend(
            workload
                .failure
                .iter()
                .map(|why| as_a_whole(CaseOutcome::Undecided, why.clone())),
        );
    }
    junit::Suite {
        name: report.name.clone(),
        started: started.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        seconds: (Zoned::now().timestamp().as_second() - started.timestamp().as_second()) as f64,
        cases,
        properties: vec![
            ("verdict".into(), report.outcome.word().into()),
            ("fathom".into(), report.tool.version.clone()),
        ],
        output: text.to_owned(),
    }
}
