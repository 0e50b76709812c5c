//! `fathom trend`: the figures of a test over time.

use std::collections::BTreeMap;

use analysis::compare::{self, Fact, Figure, RunRecord, Trend};
use archive::Saved;
use archive::history::{Entry, EntryJob, Filter};
use model::visible;
use report::html::page::{Page, mark_title};
use report::html::run::repeat_command;
use report::words;
use serde::Serialize;

use super::ab::{MarginArgs, parse_margin};
use super::history::{FilterArgs, format_local_time, open_existing};
use super::study_outputs::{Contents, Form, STUDY_FORMS, StudyOutputs, csv_table};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::OutputSpec;
use crate::screen::wrap_paragraph;
use crate::session::Session;
use crate::{history, pages};

/// Figures whose trends are analysed.
const FIGURES: [Figure; 3] = [Figure::Iops, Figure::Mean, Figure::Quantile(0.99)];
/// Version of the JSON format.
const FORMAT_VERSION: u32 = 1;

/// Show how a test's results changed over time
#[derive(clap::Args)]
#[command(
    long_about = "Shows how the figures of a test changed over its runs in the history: how long they have been at \
        their level, between which two runs they changed and by how much, and which conditions differ between these \
        two: kernel, versions, device, settings.\n\nRuns belong to one test if their plans are the same apart from \
        names, times and seeds, on the same host and targets. ENTRY selects a test by one of its runs; options \
        without ENTRY select every test of the matching entries. Interrupted runs and studies are ignored. With 6 or \
        more runs it looks for levels of at least 2 runs; docs/history.md explains what that can detect.",
    after_help = "Examples:\n  fathom trend\n  fathom trend 12 --since 90d\n  fathom trend --target nvme1n1 --out json"
)]
pub struct Args {
    /// A run of the test: its number in the history, or `last` [default: last, unless an option is
    /// given]
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Treat all selected entries as runs of one test
    #[arg(long, conflicts_with = "entry")]
    force: bool,
    #[command(flatten)]
    margin: MarginArgs,
    #[command(flatten)]
    output: OutputSpec,
}

/// The report for programs, and for charts.
#[derive(Debug, Serialize)]
struct Trends {
    format_version: u32,
    kind: &'static str,
    margin: f64,
    tests: Vec<TestTrend>,
    /// Tests with one run only.
    alone: usize,
}

/// One job of a test.
#[derive(Debug, Serialize)]
struct TestTrend {
    /// Name of the test in its latest run.
    name: String,
    /// Name of the job.
    job: String,
    host: String,
    targets: Vec<String>,
    /// Facts about the latest run.
    #[serde(skip)]
    facts: Vec<Fact>,
    runs: Vec<TrendRun>,
    figures: Vec<Trend>,
}

/// A run of a test.
#[derive(Debug, Serialize)]
struct TrendRun {
    entry: u64,
    label: Option<String>,
    started_unix_ns: u64,
    version: String,
    verdict: Option<String>,
    iops: Option<f64>,
    mean_ns: Option<f64>,
    p99_ns: Option<f64>,
}

/// Formats one CSV line per figure of each run.
fn format_csv(trends: &Trends) -> String {
    let mut rows = Vec::new();
    for test in &trends.tests {
        for figure in &test.figures {
            rows.extend(figure.points.iter().map(|point| {
                vec![
                    test.name.clone(),
                    test.job.clone(),
                    test.host.clone(),
                    test.targets.join(" "),
                    point.entry.to_string(),
                    point.unix_ns.to_string(),
                    figure.figure.column(),
                    figure.figure.in_column(point.value).to_string(),
                ]
            }));
        }
    }
    csv_table("test,job,host,targets,entry,started_unix_ns,figure,value", rows)
}

fn build_page(trends: &Trends) -> Page {
    let several = trends.tests.iter().any(|test| test.job != trends.tests[0].job);
    let tests: Vec<pages::Test<'_>> = trends
        .tests
        .iter()
        .map(|test| {
            let job = if several {
                format!(", {}", test.job)
            } else {
                String::new()
            };
            let (simulation, command) = read_latest_run(test).unwrap_or_default();
            let title = format!("{}{job} on {} ({})", test.name, test.targets.join(", "), test.host);
            pages::Test {
                title: mark_title(simulation, &title),
                about: describe_runs(test),
                command,
                figures: &test.figures,
            }
        })
        .collect();
    pages::trend(&tests, trends)
}

/// Reads the mark of simulated storage and the command line of the latest run from its saved
/// result.
fn read_latest_run(test: &TestTrend) -> Option<(Option<&'static str>, Option<String>)> {
    let saved = open_existing().ok()??.read_saved(test.runs.last()?.entry).ok()?;
    let Saved::Run(results) = saved else { return None };
    let arguments = &results.plan.origin.arguments;
    let command = (!arguments.is_empty()).then(|| repeat_command(arguments, &[]));
    Some((words::describe_simulation(&results.plan), command))
}

/// Names of the facts that describe the test.
const SHOWN_FACTS: [&str; 8] = [
    "block size", "pattern", "reads", "in flight", "rate", "system's cache", "measured", "device",
];

/// Describes the test, the number of runs and their dates.
fn describe_runs(test: &TestTrend) -> Vec<String> {
    let ends = test.runs.first().zip(test.runs.last());
    let facts = test.facts.iter().filter(|fact| SHOWN_FACTS.contains(&&*fact.name));
    let load: Vec<String> = facts.map(|fact| format!("{} {}", fact.name, fact.value)).collect();
    let words = |(first, last): (&TrendRun, &TrendRun)| {
        let [first, last] = [first, last].map(|run| format_local_time(run.started_unix_ns));
        format!("{} runs from {first} to {last} in your history.", test.runs.len())
    };
    let load = (!load.is_empty()).then(|| load.join(", "));
    load.into_iter().chain(ends.map(words)).collect()
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let outputs = StudyOutputs::new(&args.output, None, STUDY_FORMS)?;
    let margin = parse_margin(&args.margin)?;
    let entries = select_entries(args)?;
    outputs.check_files(&[])?;
    let (followed, alone): (Vec<_>, Vec<_>) = group_runs(&entries, args.force)
        .into_iter()
        .partition(|runs| runs.len() > 1);
    let too_few = match followed.is_empty() {
        true => Some(describe_too_few(&alone)?),
        false => None,
    };
    let trends = Trends {
        format_version: FORMAT_VERSION,
        kind: "trend",
        margin,
        tests: followed
            .iter()
            .flat_map(|runs| compute_job_trends(runs, margin))
            .collect(),
        alone: alone.len(),
    };
    outputs.finish(&Contents {
        text: too_few.unwrap_or_else(|| format_text(&trends)),
        json: &trends,
        other_forms: &[(Form::Csv, &|| format_csv(&trends))],
        page: Some(&|| build_page(&trends)),
        study: None,
    })?;
    Ok(Exit::Done)
}

/// Groups the complete runs of each test, the test that ran last first.
fn group_runs(entries: &[Entry], is_one_test: bool) -> Vec<Vec<&Entry>> {
    let mut tests: BTreeMap<(String, String), Vec<&Entry>> = BTreeMap::new();
    for entry in entries
        .iter()
        .filter(|entry| !entry.interrupted && !entry.jobs.is_empty())
    {
        let Some(test) = &entry.test else { continue };
        let key = match is_one_test {
            true => Default::default(),
            false => (test.clone(), entry.host.clone()),
        };
        tests.entry(key).or_default().push(entry);
    }
    let mut series: Vec<Vec<&Entry>> = tests.into_values().collect();
    series
        .iter_mut()
        .for_each(|runs| runs.sort_by_key(|entry| (entry.started_unix_ns, entry.id)));
    series.sort_by_key(|runs| std::cmp::Reverse(runs.last().map(|entry| entry.started_unix_ns)));
    series
}

/// Explains why no trend is shown, and lists tests that have one.
fn describe_too_few(alone: &[Vec<&Entry>]) -> Result<String, Faults> {
    const MAX_LISTED: usize = 5;
    let describe = |entry: &Entry| {
        let words = format!("{} on {} ({})", entry.name, entry.targets.join(", "), entry.host);
        visible(&words).into_owned()
    };
    let sentence = match alone {
        [] => "The history has no runs: every command that measures adds one, unless the history is turned off.".into(),
        [runs] => format!(
            "This test ran once, but a trend needs at least two runs: {}, entry {}. Repeat it.",
            describe(runs[0]),
            runs[0].id
        ),
        _ => "Each test ran once, but a trend needs at least two runs.".to_owned(),
    };
    let mut text = wrap_paragraph(&sentence).trim_start().to_owned();
    let entries = match open_existing()? {
        Some(history) => history.list(&Filter::default())?,
        None => Vec::new(),
    };
    let tests = group_runs(&entries, false);
    let repeated = tests.iter().filter(|runs| runs.len() > 1);
    for (index, runs) in repeated.take(MAX_LISTED).enumerate() {
        let latest = runs[runs.len() - 1];
        let heading = if index == 0 { "\nTests with enough runs\n" } else { "" };
        let count = report::numbers::pluralize(runs.len() as u64, "run");
        text += &format!(
            "{heading}  fathom trend {:<6} {}, {count}\n",
            latest.id,
            describe(latest)
        );
    }
    Ok(text)
}

fn select_entries(args: &Args) -> Result<Vec<Entry>, Faults> {
    let mut wanted = args.filter.filter()?;
    let named = args.entry.as_deref();
    let Some(history) = open_existing()? else {
        return Ok(Vec::new());
    };
    if named.is_some() || (wanted == Filter::default() && !args.force) {
        let id = history::parse_entry(&history, named.unwrap_or("last"))?;
        let entry = history.get(id)?;
        let none = || {
            let fault = Fault::new(format!(
                "the entry {id} is a study of {} runs, which has no trend",
                entry.runs
            ));
            fault.into_usage("name an entry of one run; `fathom history` lists them")
        };
        wanted.test = Some(entry.test.clone().ok_or_else(none)?);
        wanted.host = wanted
            .host
            .or_else(|| Some(entry.host.clone()).filter(|host| !host.is_empty()));
    }
    Ok(history.list(&wanted)?)
}

/// Computes the trends of each job of the latest run.
fn compute_job_trends(runs: &[&Entry], margin: f64) -> Vec<TestTrend> {
    let Some(latest) = runs.last() else { return Vec::new() };
    let job_history = |number: usize| {
        let jobs: Vec<(&Entry, &EntryJob)> = runs
            .iter()
            .filter_map(|entry| Some((*entry, entry.jobs.get(number)?)))
            .collect();
        let figures = FIGURES.iter().filter_map(|figure| {
            let moments: Vec<RunRecord> = jobs
                .iter()
                .filter_map(|(entry, job)| run_record(entry, job, figure_value(*figure, job)?))
                .collect();
            compare::trend(*figure, &moments, margin)
        });
        TestTrend {
            name: latest.name.clone(),
            job: latest.jobs[number].name.clone(),
            host: latest.host.clone(),
            targets: latest.targets.clone(),
            facts: latest.jobs[number].facts.clone(),
            figures: figures.collect(),
            runs: jobs
                .iter()
                .map(|(entry, job)| TrendRun {
                    entry: entry.id,
                    label: entry.label.clone(),
                    started_unix_ns: entry.started_unix_ns,
                    version: entry.version.clone(),
                    verdict: entry.verdict.clone(),
                    iops: job.iops,
                    mean_ns: job.mean_ns,
                    p99_ns: job.p99_ns,
                })
                .collect(),
        }
    };
    (0..latest.jobs.len()).map(job_history).collect()
}

fn figure_value(figure: Figure, job: &EntryJob) -> Option<f64> {
    match figure {
        Figure::Iops => job.iops,
        Figure::Mean => job.mean_ns,
        Figure::Quantile(_) => job.p99_ns,
    }
}

fn run_record(entry: &Entry, job: &EntryJob, value: f64) -> Option<RunRecord> {
    Some(RunRecord {
        entry: entry.id,
        unix_ns: entry.started_unix_ns,
        day: format_local_time(entry.started_unix_ns).split(' ').next()?.to_owned(),
        value,
        facts: job.facts.clone(),
    })
}

fn format_text(trends: &Trends) -> String {
    let mut text = String::new();
    for (index, test) in trends.tests.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text += &format_head(test);
        text += &format_table(test);
        text += "\nWhat this means\n";
        for sentence in pages::trend_sentences(&test.figures) {
            text += &wrap_paragraph(&sentence);
        }
    }
    if trends.alone > 0 {
        text += &format!(
            "\n{} more with only one run, too few for a trend\n",
            report::numbers::pluralize(trends.alone as u64, "test")
        );
    }
    text
}

fn format_head(test: &TestTrend) -> String {
    let job = if test.job == test.name {
        String::new()
    } else {
        format!(", {}", test.job)
    };
    let mut text = format!("{}{job}: {} on {}\n", test.name, test.targets.join(", "), test.host);
    for line in describe_runs(test) {
        text += &wrap_paragraph(&line);
    }
    text + "\n"
}

/// Formats one line per run, and a rule between levels.
fn format_table(test: &TestTrend) -> String {
    let mut text = format!(
        "  {:>7}  {:<16}  {:>10}  {:>10}  {:>10}\n",
        "entry", "started", "IOPS", "mean", "p99"
    );
    let cell = |figure: Figure, value: Option<f64>| value.map_or("-".into(), |value| figure.format_value(value));
    for run in &test.runs {
        let changed = test
            .figures
            .iter()
            .filter(|figure| figure.changes.iter().any(|change| change.entry_after == run.entry));
        let names: Vec<&str> = changed.map(|figure| &*figure.name).collect();
        if !names.is_empty() {
            text += &format!("  {:->7}  {} changed\n", "", names.join(", "));
        }
        let line = format!(
            "  {:>7}  {:<16}  {:>10}  {:>10}  {:>10}  {}",
            run.entry,
            format_local_time(run.started_unix_ns),
            cell(Figure::Iops, run.iops),
            cell(Figure::Mean, run.mean_ns),
            cell(Figure::Quantile(0.99), run.p99_ns),
            run.label.as_deref().unwrap_or_default()
        );
        text += &format!("{}\n", line.trim_end());
    }
    text
}
