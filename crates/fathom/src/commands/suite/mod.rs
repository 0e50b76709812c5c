//! `fathom suite`.

mod report;
mod workloads;

use std::path::{Path, PathBuf};

use ::report::numbers::pluralize;
use ::run::targets::SharedFiles;
use ::run::targets::guard::{Permissions, Refusal};
use analysis::lint::Purpose;
use analysis::verdict::{JudgedWorkload, Outcome, SuiteReport};
use archive::history::{EntryKind, Subject};
use clap::ValueHint;
use dialects::convert;
use dialects::native::suite::{EXAMPLE, read_suite};
use jiff::Zoned;
use model::Direction;
use model::observation::Observation;
use model::plan::{Plan, Target, Worker};
use model::results::Results;
use model::study::{RunRole, Study, StudyRun};
use study::verify::Search;

use super::run::dry_run as dry_run_plan;
use super::study_outputs::{Contents, Form, StudyArgs, StudyOutputs};
use crate::exit::Exit;
use crate::fault::Faults;
use crate::options::{DryRunArgs, LoadOptions, Subset};
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::{history, judged, pages, user_file};
use workloads::{PreparedWorkload, describe_load, prepare_workloads, unrun_workload};

/// Load options that are also flags of this command: target, size and length.
const FLAGS: [&str; 4] = ["target", "size", "time", "warm-up"];

/// The options of [`FLAGS`].
pub struct WorkloadOptions;

impl Subset for WorkloadOptions {
    fn has(name: &str) -> bool {
        FLAGS.contains(&name)
    }
}

/// Run several workloads against an SLA; write a sign-off page
#[derive(clap::Args)]
#[command(
    long_about = "Runs the workloads of a suite one after the other and judges each by its requirement: PASS, FAIL \
        or INCONCLUSIVE for each clause, by the rules of `fathom verify`. A workload is a preset, a job file, or a \
        set of options. If it requires both a rate and a latency, it is issued at exactly that rate, with as many \
        operations in flight as needed; otherwise it runs unchanged.\n\nName the target here or in the suite; flags \
        change every workload. A file created in a directory serves all workloads and is removed at the end. \
        docs/suites.md describes the format.",
    after_help = "Examples:\n  fathom suite --example > acceptance.toml\n  fathom suite acceptance.toml --target /mnt/new --size 100GiB --dry-run\n  \
        fathom suite acceptance.toml --target /mnt/new --size 100GiB --sign-off acceptance.md --junit acceptance.xml",
    mut_arg("out", |arg| arg.help(
        "Reports to write, each to stdout or a file: text, json, csv (a row for each workload), markdown, junit, html [default: text]"
    ))
)]
pub struct Args {
    /// Suite file (TOML)
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath, required_unless_present = "example")]
    file: Option<String>,
    /// Print an example suite
    #[arg(long, conflicts_with = "file")]
    example: bool,
    #[command(flatten)]
    load: LoadOptions<WorkloadOptions>,
    /// Write a Markdown page to sign: requirements, results, method and system
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    sign_off: Option<PathBuf>,
    /// Write JUnit XML for build servers: a case for each clause
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    junit: Option<PathBuf>,
    /// One JSON document for programs, in place of the table
    #[arg(long, help_heading = "Output", conflicts_with = "out")]
    json: bool,
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    dry: DryRunArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// The report formats of suites.
const FORMS: &[Form] = &[
    Form::Text,
    Form::Json,
    Form::Csv,
    Form::Markdown,
    Form::Junit,
    Form::Html,
];

impl Args {
    fn outputs(&self) -> Result<StudyOutputs, Faults> {
        let mut outputs = self.study.outputs(FORMS)?;
        if self.json {
            outputs.replace(Form::Text, Form::Json);
        }
        for (form, file) in [(Form::Markdown, &self.sign_off), (Form::Junit, &self.junit)] {
            outputs.add(form, file.clone());
        }
        Ok(outputs)
    }
}

/// Runs a suite, or prints one.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    if args.example {
        return screen::put_document(EXAMPLE);
    }
    let file = args.file.as_ref().expect("clap asks for a file");
    let text = user_file::read_text(Path::new(file), user_file::MAX_TEXT)
        .map_err(|error| Faults::unreadable(Path::new(file), &error))?;
    let suite = read_suite(file, &text)?;
    let outputs = args.outputs()?;
    outputs.check_inputs(&workloads::list_job_files(file, &suite))?;
    let ready = prepare_workloads(session, args, file, &suite)?;
    let permissions = permissions::from_args(&args.safety);
    let plans = ready
        .iter()
        .map(|workload| workload.plan(workload.next_attempt(&Search::default()).as_ref(), session.ranks()))
        .collect::<Result<Vec<_>, _>>()?;
    for plan in &plans {
        ::run::check(plan)?;
        session.merge_fleet_plan(plan)?;
    }
    if args.dry.dry_run {
        return dry_run(session, &ready, &plans, &permissions);
    }
    // With --hosts, each host checks its own targets when a workload begins.
    if !session.has_fleet() {
        refuse_forbidden_files(&plans, &permissions)?;
    }
    let targets: Vec<Target> = plans.iter().flat_map(|plan| plan.targets.iter().cloned()).collect();
    outputs.check_files(&targets)?;
    let started = Zoned::now();
    let mut runner = SuiteRunner {
        session,
        permissions,
        shared_files: SharedFiles::default(),
        screen: Screen::from_args(session, &args.study.measure.progress, false)?,
        args,
        suite: suite.name.as_deref().unwrap_or(file),
        runs: Vec::new(),
        exits: Vec::new(),
    };
    if let Some(note) = describe_long_warm_ups(&plans) {
        runner.screen.print(&note);
    }
    let mut workloads = Vec::new();
    for (number, workload) in ready.iter().enumerate() {
        workloads.push(runner.run_workload(workload, number + 1, ready.len()));
        if session.process.is_interrupted() {
            break;
        }
    }
    let (runs, exits) = (std::mem::take(&mut runner.runs), std::mem::take(&mut runner.exits));
    drop(runner);
    let unrun = ready
        .iter()
        .skip(workloads.len())
        .map(unrun_workload)
        .collect::<Vec<_>>();
    workloads.extend(unrun);
    let first_results = runs.first().map(|run| &run.results);
    let report = report::build_report(&suite, file, &started, workloads, first_results);
    let study = report::build_study(&report, runs, session.process.is_interrupted());
    write_reports(&outputs, &report, &study, &started)?;
    Ok(exit_code(&report, exits))
}

fn dry_run(
    session: &Session,
    ready: &[PreparedWorkload],
    plans: &[Plan],
    permissions: &Permissions,
) -> Result<Exit, Faults> {
    let (mut text, mut refused) = (String::new(), false);
    let reads = |worker: &Worker| worker.streams.iter().any(|stream| stream.mix.includes(Direction::Read));
    let mut workers = plans.iter().flat_map(Plan::jobs).flat_map(|(_, job)| &job.workers);
    let silenced: Vec<String> = workers
        .any(reads)
        .then(|| "WRITE-ONLY-SUITE".into())
        .into_iter()
        .collect();
    for (workload, plan) in ready.iter().zip(plans) {
        let (description, exit) = dry_run_plan(
            session.ranks(),
            [plan, plan],
            permissions,
            &silenced,
            &Purpose::default(),
        )?;
        refused |= exit == Exit::Refused;
        let paced_note = workload.paced.as_ref().map_or("", |_| " (paced at that rate)");
        text += &format!(
            "{}: required: {}{paced_note}\n{description}\n",
            workload.name, workload.required
        );
    }
    screen::put(&text)?;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

/// Describes the workloads whose warm-up is longer than their measured time.
fn describe_long_warm_ups(plans: &[Plan]) -> Option<String> {
    let jobs = plans.iter().filter_map(|plan| plan.jobs().next());
    let long = jobs.filter(|(_, job)| job.stop.after_ns.is_some_and(|time| job.phases.warm_up_ns > time));
    let longest = long.clone().map(|(_, job)| job.phases.warm_up_ns).max()?;
    let workloads = pluralize(long.count() as u64, "workload");
    Some(format!(
        "note: {workloads} with a warm-up of up to {longest}, longer than the measured time; --warm-up sets it"
    ))
}

/// Before the first workload runs, reports refusals of the guard, and logs that would replace other
/// files.
fn refuse_forbidden_files(plans: &[Plan], permissions: &Permissions) -> Result<(), Faults> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for plan in plans {
        for target in ::run::targets::judge(plan, permissions)? {
            if let Some(refusal) = target.decision.refusal().filter(|refusal| !refusals.contains(refusal)) {
                refusals.push(refusal.clone());
            }
        }
    }
    if !refusals.is_empty() {
        return Err(::run::RunError::Refused(refusals).into());
    }
    for plan in plans {
        ::run::check_logs(plan, permissions)?;
    }
    Ok(())
}

/// Runs the workloads of a suite.
struct SuiteRunner<'a> {
    session: &'a Session,
    permissions: Permissions,
    shared_files: SharedFiles,
    screen: Screen,
    args: &'a Args,
    /// Name of the suite.
    suite: &'a str,
    /// Every run of every workload.
    runs: Vec<StudyRun>,
    exits: Vec<Exit>,
}

impl SuiteRunner<'_> {
    fn run_workload(&mut self, ready: &PreparedWorkload, number: usize, count: usize) -> JudgedWorkload {
        let mut workload = unrun_workload(ready);
        match self.run_attempts(ready, &mut workload, &format!("[{number}/{count}]")) {
            Ok(results) => {
                self.exits.push(Exit::from_results(&results, false));
                workload.findings.clone_from(&results.findings);
                if workload.verdict.is_none() {
                    workload.failure = Some(judged::nothing_to_judge(&results).what);
                } else {
                    workload.failure = None;
                }
                let name = format!("{}: {}", self.suite, ready.name);
                let verdict = workload.verdict.as_ref().map(study::verify::verdict_word);
                history::record(
                    &self.args.study.measure,
                    self.args.study.save.as_ref(),
                    EntryKind::Suite,
                    Subject::Run(&results),
                    Some(&name),
                    verdict,
                );
            }
            Err(faults) => {
                self.exits.push(faults.exit());
                workload.failure = Some(faults.first());
            }
        }
        workload
    }

    /// Runs a workload, and repeats it if operations had to wait for a free slot.
    fn run_attempts(
        &mut self,
        ready: &PreparedWorkload,
        workload: &mut JudgedWorkload,
        position: &str,
    ) -> Result<Results, Faults> {
        let mut search = Search::default();
        loop {
            let attempt = ready.next_attempt(&search);
            let number = attempt.map_or(1, |attempt| attempt.number);
            let mut plan = ready.plan(attempt.as_ref(), self.session.ranks())?;
            workload.load = describe_load(&plan);
            workload.settings = convert::to_native(&plan).text;
            self.session.prepare_shared_files(&mut self.shared_files, &mut plan)?;
            let retry_note = if number > 1 { " (retry with more slots)" } else { "" };
            self.screen
                .print(&format!("{position} {}: {}{retry_note}", ready.name, workload.load));
            let label = format!("{position} {}", ready.name);
            let (permissions, shared_files) = (&self.permissions, &mut self.shared_files);
            let executed = self
                .screen
                .execute(self.session, plan, permissions, shared_files, label);
            let results = executed?;
            workload.verdict = judged::judge(&results, &ready.clauses).into_only_verdict();
            if let (Some(paced), Some(attempt), Some(verdict)) = (&ready.paced, &attempt, &workload.verdict)
                && let Some(observed) = Observation::from_results(&results, 0, 0)
            {
                paced.record_window(&mut search, attempt, verdict, &observed);
            }
            let should_retry =
                workload.verdict.is_some() && !Exit::is_cut_short(&results) && ready.next_attempt(&search).is_some();
            self.runs.push(StudyRun {
                settings: report::settings(&ready.name, Some(number)),
                role: RunRole::Measured,
                results: results.clone(),
            });
            if !should_retry {
                return Ok(results);
            }
        }
    }
}

fn write_reports(outputs: &StudyOutputs, report: &SuiteReport, study: &Study, started: &Zoned) -> Result<(), Faults> {
    let text = report::format_text(report, &study.runs);
    outputs.finish(&Contents {
        text: text.clone(),
        json: report,
        other_forms: &[
            (Form::Csv, &|| report::format_csv(report, &study.runs)),
            (Form::Markdown, &|| ::study::suite::sign_off(report)),
            (Form::Junit, &|| {
                ::report::junit::document(&report::junit_suite(report, started, &text))
            }),
        ],
        page: Some(&|| pages::study(study, 0.0).expect("a suite has a page")),
        study: Some(study),
    })
}

/// Returns the worst exit code among the runs and the verdict.
fn exit_code(report: &SuiteReport, mut exits: Vec<Exit>) -> Exit {
    let severity = |exit: &Exit| match exit {
        Exit::Interrupted(_) => 7,
        Exit::Internal => 6,
        Exit::Partial => 5,
        Exit::Refused => 4,
        Exit::Usage => 3,
        Exit::Failed => 2,
        Exit::Inconclusive => 1,
        Exit::Done => 0,
    };
    exits.push(match report.outcome {
        Outcome::Pass => Exit::Done,
        Outcome::Fail => Exit::Failed,
        Outcome::Inconclusive | Outcome::Consistent => Exit::Inconclusive,
    });
    exits.into_iter().max_by_key(severity).unwrap_or(Exit::Done)
}
