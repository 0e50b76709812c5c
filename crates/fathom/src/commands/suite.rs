//! `fathom suite`.

use std::path::{Path, PathBuf};

use ::run::targets::SharedFiles;
use ::run::targets::guard::{Permissions, Refusal};
use analysis::requirement::Clause;
use analysis::verdict::{FORMAT_VERSION, Held, Outcome, SuiteKind, SuiteReport};
use archive::history::{EntryKind, Subject};
use clap::ValueHint;
use dialects::convert;
use dialects::native::suite::{Base, EXAMPLE, Suite, Workload, read_suite};
use dialects::native::{self, Document, JobSpec, PartSpec};
use jiff::Zoned;
use model::Bytes;
use model::block_size::BlockSizes;
use model::observation::Observation;
use model::plan::{DepthPer, Plan, RateUnit, TargetKind};
use model::results::Results;
use model::study::{LeftOut, Question, RequiredOf, Role, Setting, Study, StudyKind, StudyRun};
use report::junit::{self, Case, CaseOutcome};
use report::words;
use study::suite::{self, Load};
use study::verify::{Attempt, Search, Unverifiable, Verification};

use super::run::{apply_options, check_target_count, document_of, dry_run as dry_run_of, note_changes};
use super::verify::shared_among;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::history;
use crate::judged;
use crate::options::{DryRunArgs, LoadOptions, MeasureArgs, Subset};
use crate::outputs;
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::user_file;

/// Options of a load that stand on the command line too: where, how much of it, and how long.
const FLAGS: [&str; 4] = ["target", "size", "time", "warm-up"];

/// [`FLAGS`].
pub struct OfWorkloads;

impl Subset for OfWorkloads {
    fn has(name: &str) -> bool {
        FLAGS.contains(&name)
    }
}

/// Run several workloads against an SLA; write a sign-off page
#[derive(clap::Args)]
#[command(
    long_about = "Runs the workloads of a suite one after the other and holds each to its requirement: PASS, FAIL or INCONCLUSIVE for \
        each clause, by the rules of `fathom verify`. A workload is a preset, a job file, or options of its own. Where a rate \
        and a latency are required together it is issued at exactly that rate, with as many operations in flight as that \
        takes; else it runs as it stands.\n\n\
        The target is named here or in the suite; flags change every workload. A file that is made in a directory serves all \
        workloads and is removed at the end. docs/suites.md has the form.",
    after_help = "Examples:\n  fathom suite --example > acceptance.toml\n  fathom suite acceptance.toml --target /mnt/new --size 100GiB --dry-run\n  \
        fathom suite acceptance.toml --target /mnt/new --size 100GiB --sign-off acceptance.md --junit acceptance.xml"
)]
pub struct Args {
    /// The suite
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath, required_unless_present = "example")]
    file: Option<String>,
    /// Print a suite to begin with
    #[arg(long, conflicts_with = "file")]
    example: bool,
    #[command(flatten)]
    load: LoadOptions<OfWorkloads>,
    /// Write a page to sign, in Markdown: what was required, what was measured, on what, how
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    sign_off: Option<PathBuf>,
    /// Write JUnit XML for build servers: a case for each clause
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Keep every run whole in this file, with what was required
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    save: Option<PathBuf>,
    /// One JSON document for programs, in place of the table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    dry: DryRunArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// A workload that can be run.
struct Ready {
    name: String,
    document: Document,
    required: String,
    clauses: Vec<Clause>,
    /// How it is issued at the rate that is required.
    paced: Option<Verification>,
}

impl Ready {
    /// The document of an attempt; `None` for a workload without a rate.
    fn document(&self, attempt: Option<&Attempt>) -> Document {
        let mut document = self.document.clone();
        if let Some((paced, attempt)) = self.paced.as_ref().zip(attempt) {
            let issued = paced.issued(attempt);
            let job = &mut document.jobs[0];
            job.rate = Some((issued.rate_iops.ceil() as u64, RateUnit::Operations));
            job.depth = Some(issued.concurrency);
            job.depth_per = DepthPer::Job;
            job.workers = issued.workers;
            job.part.exact_mix = true;
            job.parts.iter_mut().for_each(|part| part.exact_mix = true);
        }
        document
    }

    /// The next attempt at a workload with a rate. A rate alone gets no probes here: it is judged
    /// at the depth that the workload has.
    fn attempt(&self, search: &Search) -> Option<Attempt> {
        let next = self.paced.as_ref()?.next(search)?;
        Some(Attempt {
            is_probe: false,
            ..next
        })
    }

    /// What is issued at a rate is issued at it by all hosts together, if there are several.
    fn plan(&self, attempt: Option<&Attempt>, hosts: Option<u32>) -> Result<Plan, Faults> {
        let plan = native::lower(&self.document(attempt))?;
        Ok(match &self.paced {
            Some(_) => shared_among(hosts, plan),
            None => plan,
        })
    }
}

/// Runs a suite, or prints one.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    if args.example {
        return screen::put(EXAMPLE);
    }
    let file = args.file.as_ref().expect("clap asks for a file");
    let text = user_file::read_text(Path::new(file), user_file::MAX_TEXT)
        .map_err(|error| Faults::unreadable(Path::new(file), &error))?;
    let read = read_suite(file, &text)?;
    let ready = all_ready(session, args, file, &read)?;
    let permissions = permissions::from_args(&args.safety);
    let plans = ready
        .iter()
        .map(|one| one.plan(one.attempt(&Search::default()).as_ref(), session.ranks()))
        .collect::<Result<Vec<_>, _>>()?;
    for plan in &plans {
        ::run::check(plan).map_err(|error| Faults::from(::run::RunError::Plan(error)))?;
        session.whole(plan)?;
    }
    if args.dry.dry_run {
        return dry_run(session, &ready, &plans, &permissions);
    }
    // Elsewhere each host looks at its own targets, when a workload begins.
    if !session.leads() {
        refuse(&plans, &permissions)?;
    }
    let files = || {
        [&args.sign_off, &args.junit, &args.save]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    };
    for plan in &plans {
        outputs::spare_targets(files(), &plan.targets)?;
    }
    outputs::prove_writable(files())?;
    let started = Zoned::now();
    let mut errand = SuiteRunner {
        session,
        permissions,
        shared_files: SharedFiles::default(),
        screen: Screen::from_args(session, &args.measure.progress, false)?,
        args,
        suite: read.name.as_deref().unwrap_or(file),
        runs: Vec::new(),
        exits: Vec::new(),
    };
    let mut held = Vec::new();
    for (number, one) in ready.iter().enumerate() {
        held.push(errand.hold(one, number + 1, ready.len()));
        if session.process.is_interrupted() {
            break;
        }
    }
    let (runs, exits) = (std::mem::take(&mut errand.runs), std::mem::take(&mut errand.exits));
    drop(errand);
    let left_out = ready.iter().skip(held.len()).map(left_out).collect::<Vec<_>>();
    held.extend(left_out);
    let seen = runs.first().map(|run| &run.results);
    let report = report(&read, file, &started, held, seen);
    let study = kept(&report, runs, session.process.is_interrupted());
    finish(args, &report, &study, &started)?;
    Ok(exit(&report, exits))
}

/// Every workload with its requirement, before any of them runs.
fn all_ready(session: &Session, args: &Args, file: &str, suite: &Suite) -> Result<Vec<Ready>, Faults> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let one = |workload: &Workload| ready(session, args, folder, suite, workload);
    suite.workloads.iter().map(one).collect()
}

fn ready(session: &Session, args: &Args, folder: &Path, suite: &Suite, workload: &Workload) -> Result<Ready, Faults> {
    let at = format!("{}:{}  {}", workload.at.file, workload.at.line, workload.at.text);
    let fault = |what: String, help: &str| Faults::usage(Fault::new(what).at(&*at).help(help));
    let of_file = match &workload.base {
        Base::File(name) => Some(document_of(Some(&folder.join(name).display().to_string()))?),
        Base::Usual | Base::Preset(_) => None,
    };
    let mut document = workload.document(suite, of_file)?;
    document.arguments.clone_from(&session.process.arguments);
    apply_options(&mut document, &args.load.given, args.measure.seed)?;
    note_changes(&mut document, &args.load.given);
    check_target_count(&document)?;
    if document.jobs.len() != 1 {
        let what = format!(
            "the workload `{}` has {} jobs, and one can be judged",
            workload.name,
            document.jobs.len()
        );
        return Err(fault(what, "make a workload of each"));
    }
    let judged_by = document.about.as_ref().and_then(|about| about.judged_by.clone());
    let Some(required) = workload.require.clone().or(judged_by) else {
        let what = format!("nothing is required of the workload `{}`", workload.name);
        return Err(fault(what, "say what, for example require = \"iops>=4000,p99<=3ms\""));
    };
    let clauses = judged::parsed(&required, &at)?;
    let job = &document.jobs[0];
    let paced = match workload
        .pace
        .unwrap_or_else(|| job.rate.is_none() && suite::is_paced(&clauses))
    {
        false => None,
        true if job.rate.is_some() => {
            let what = format!(
                "the workload `{}` has a rate of its own, and is to be paced by its requirement",
                workload.name
            );
            return Err(fault(what, "leave out `rate` or `pace`"));
        }
        true => {
            let paced = suite::pacing(&clauses, load(job, &document, |name| workload.sets(name)));
            Some(paced.map_err(|Unverifiable { what, .. }| {
                fault(what, "add iops>=… or mbps>=… to the requirement, or leave out `pace`")
            })?)
        }
    };
    Ok(Ready {
        name: workload.name.clone(),
        document,
        required,
        clauses,
        paced,
    })
}

fn load(job: &JobSpec, document: &Document, sets: impl Fn(&str) -> bool) -> Load {
    let parts = if job.parts.is_empty() {
        std::slice::from_ref(&job.part)
    } else {
        &job.parts
    };
    let shares: f64 = parts.iter().map(|part| f64::from(part.share)).sum();
    let mean = |of: &dyn Fn(&PartSpec) -> f64| {
        parts.iter().map(|part| of(part) * f64::from(part.share)).sum::<f64>() / shares.max(1.0)
    };
    let name = job.targets.first().and_then(|target| target.strip_prefix("simulated:"));
    let simulated = name.and_then(|name| document.simulated.iter().find(|device| device.name == name));
    Load {
        block: Bytes(mean(&|part| mean_size(&part.sizes)).round() as u64),
        read_percent: mean(&|part| part.read_percent),
        depth: job.depth.filter(|_| sets("depth")),
        workers: sets("workers").then_some(job.workers),
        cpus: engine::sys::thread::usable_cpus().len() as u32,
        simulated: simulated.map(|device| device.device.clone()),
    }
}

/// Bytes of an operation on average.
fn mean_size(sizes: &BlockSizes) -> f64 {
    match sizes {
        BlockSizes::Fixed { size } => size.0 as f64,
        BlockSizes::Range { low, high, .. } => (low.0 + high.0) as f64 / 2.0,
        BlockSizes::Split { entries } => {
            let shares: f64 = entries.iter().map(|entry| entry.percent).sum();
            entries
                .iter()
                .map(|entry| entry.size.0 as f64 * entry.percent)
                .sum::<f64>()
                / shares.max(1e-9)
        }
    }
}

fn dry_run(session: &Session, ready: &[Ready], plans: &[Plan], permissions: &Permissions) -> Result<Exit, Faults> {
    let (mut text, mut refused) = (String::new(), false);
    for (one, plan) in ready.iter().zip(plans) {
        let (described, exit) = dry_run_of(session.ranks(), plan, plan, permissions)?;
        refused |= exit == Exit::Refused;
        let paced = one.paced.as_ref().map_or("", |_| " (issued at that rate)");
        text += &format!("{}: required: {}{paced}\n{described}\n", one.name, one.required);
    }
    screen::put(&text)?;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

/// A workload that may not run is reported before the first one does, not after an hour.
fn refuse(plans: &[Plan], permissions: &Permissions) -> Result<(), Faults> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for plan in plans {
        for one in ::run::targets::judge(plan, permissions)? {
            if let Some(refusal) = one.decision.refusal().filter(|refusal| !refusals.contains(refusal)) {
                refusals.push(refusal.clone());
            }
        }
    }
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(::run::RunError::Refused(refusals).into()),
    }
}

/// What running the workloads takes.
struct SuiteRunner<'a> {
    session: &'a Session,
    permissions: Permissions,
    shared_files: SharedFiles,
    screen: Screen,
    args: &'a Args,
    /// Its name.
    suite: &'a str,
    /// Every run of every workload.
    runs: Vec<StudyRun>,
    exits: Vec<Exit>,
}

impl SuiteRunner<'_> {
    fn hold(&mut self, one: &Ready, number: usize, of: usize) -> Held {
        let mut held = left_out(one);
        match self.attempts(one, &mut held, &format!("[{number}/{of}]")) {
            Ok(results) => {
                self.exits.push(Exit::from_results(&results, false));
                held.findings.clone_from(&results.findings);
                if held.verdict.is_none() {
                    held.failure =
                        Some("not one operation ended in the measured window, so there is nothing to judge".into());
                } else {
                    held.failure = None;
                }
                let name = format!("{}: {}", self.suite, one.name);
                let verdict = held.verdict.as_ref().map(|verdict| verdict.outcome.word());
                history::keep_as(
                    &self.args.measure,
                    self.args.save.as_ref(),
                    EntryKind::Suite,
                    Subject::Run(&results),
                    Some(&name),
                    verdict,
                );
            }
            Err(faults) => {
                self.exits.push(faults.exit());
                held.failure = Some(faults.first());
            }
        }
        held
    }

    /// Runs it once, and again where operations had to wait for a free slot.
    fn attempts(&mut self, one: &Ready, held: &mut Held, place: &str) -> Result<Results, Faults> {
        let mut search = Search::default();
        loop {
            let attempt = one.attempt(&search);
            let number = attempt.map_or(1, |attempt| attempt.number);
            let mut plan = one.plan(attempt.as_ref(), self.session.ranks())?;
            held.load = said(&plan);
            held.settings = convert::to_native(&plan).text;
            self.session.prepare_shared_files(&mut self.shared_files, &mut plan)?;
            let again = if number > 1 { ", again, with more slots" } else { "" };
            self.screen.say(&format!("{place} {}: {}{again}", one.name, held.load));
            self.screen.begin(&plan, Some(format!("{place} {}", one.name)));
            let (shared_files, screen) = (&mut self.shared_files, &mut self.screen);
            let results = self.session.execution(plan, &self.permissions).run(&mut |event| {
                shared_files.adopt_created(&event);
                screen.take(&event);
            });
            let results = results?;
            held.verdict = judged::judge(&results, &one.clauses).only();
            if let (Some(paced), Some(attempt), Some(verdict)) = (&one.paced, &attempt, &held.verdict)
                && let Some(observed) = Observation::from_results(&results, 0, 0)
            {
                paced.record_window(&mut search, attempt, verdict, &observed);
            }
            let again = held.verdict.is_some() && !Exit::is_cut_short(&results) && one.attempt(&search).is_some();
            self.runs.push(StudyRun {
                settings: settings(&one.name, Some(number)),
                role: Role::Point,
                results: results.clone(),
            });
            if !again {
                return Ok(results);
            }
        }
    }
}

/// What a plan does, in a line.
fn said(plan: &Plan) -> String {
    let Some((_, job)) = plan.jobs().next() else {
        return String::new();
    };
    format!(
        "{}, {}; {}",
        words::operations(job),
        words::load(job),
        words::phases(job)
    )
}

/// A workload before anything is known about it.
fn left_out(one: &Ready) -> Held {
    Held {
        name: one.name.clone(),
        objective: one.document.objective.clone(),
        preset: one.document.preset.as_ref().map(words::preset),
        load: String::new(),
        required: one.required.clone(),
        settings: String::new(),
        verdict: None,
        failure: Some("it was not run".into()),
        findings: Vec::new(),
    }
}

fn report(suite: &Suite, file: &str, started: &Zoned, workloads: Vec<Held>, seen: Option<&Results>) -> SuiteReport {
    let stem = Path::new(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut environment = Vec::new();
    if let Some(results) = seen {
        for (number, target) in results.plan.targets.iter().enumerate() {
            let facts = results
                .hosts
                .iter()
                .find_map(|host| host.environment.target(number as u32));
            let words = match (&target.kind, facts) {
                (TargetKind::Simulated { .. }, _) | (_, None) => target.path.clone(),
                (_, Some(facts)) => words::target(facts),
            };
            environment.push(("Tested".to_owned(), words));
        }
        if let Some(fleet) = &results.fleet {
            let words = format!(
                "{} together; what a load divides is of all of them, all else of each",
                fleet.words()
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
        tool: seen.map_or_else(tool, |results| results.tool.clone()),
        name: suite.name.clone().or(stem).unwrap_or_else(|| "suite".into()),
        objective: suite.objective.clone(),
        started: now(started),
        ended: now(&Zoned::now()),
        environment,
        outcome: suite::worst(workloads.iter().map(Held::outcome)),
        workloads,
    }
}

/// Everything that was measured, for `--save`.
fn kept(report: &SuiteReport, runs: Vec<StudyRun>, interrupted: bool) -> Study {
    let not_run = |held: &&Held| held.failure.is_some();
    Study {
        format_version: model::results::FORMAT_VERSION,
        kind: StudyKind::Study,
        tool: report.tool.clone(),
        name: report.name.clone(),
        question: Question::Suite {
            workloads: report
                .workloads
                .iter()
                .map(|held| RequiredOf {
                    workload: held.name.clone(),
                    required: held.required.clone(),
                })
                .collect(),
        },
        runs,
        left_out: report
            .workloads
            .iter()
            .filter(not_run)
            .map(|held| LeftOut {
                settings: settings(&held.name, None),
                why: held.failure.clone().unwrap_or_default(),
            })
            .collect(),
        interrupted,
    }
}

/// What tells the runs of a suite apart.
fn settings(workload: &str, attempt: Option<u32>) -> Vec<Setting> {
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

fn tool() -> model::results::Tool {
    model::results::Tool {
        name: "fathom".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine_revision: 0,
    }
}

fn finish(args: &Args, report: &SuiteReport, study: &Study, started: &Zoned) -> Result<(), Faults> {
    let text = text(report);
    let shown = match args.json {
        true => serde_json::to_string_pretty(report).expect("plain values are valid JSON") + "\n",
        false => text.clone(),
    };
    let mut faults = Vec::new();
    let put = screen::print(&shown);
    faults.extend(
        put.err()
            .map(|error| Fault::of_file("write", Path::new("standard output"), &error)),
    );
    let mut write = |path: &Option<PathBuf>, content: &dyn Fn() -> String| {
        if let Some(path) = path {
            let written = outputs::write_file(path, content().as_bytes());
            faults.extend(written.err().map(|error| Fault::of_file("write", path, &error)));
        }
    };
    write(&args.sign_off, &|| suite::sign_off(report));
    write(&args.junit, &|| junit::document(&junit_suite(report, started, &text)));
    if let Some(path) = &args.save
        && let Err(archive::ArchiveError::System { source, .. }) = archive::save_study(study, path)
    {
        faults.push(Fault::of_file("write", path, &source));
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults::many(faults, Exit::Internal)),
    }
}

/// The table, for people.
fn text(report: &SuiteReport) -> String {
    let (lines, notes) = suite::table(report);
    let mut text = format!("{}, {}\n", report.name, report.started);
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
    for note in notes {
        text += &screen::wrapped(&note);
    }
    text
}

fn junit_suite(report: &SuiteReport, started: &Zoned, text: &str) -> junit::Suite {
    let outcome = |outcome: Outcome| match outcome {
        Outcome::Pass => CaseOutcome::Passed,
        Outcome::Fail => CaseOutcome::Failed,
        Outcome::Inconclusive => CaseOutcome::Undecided,
        Outcome::Consistent => CaseOutcome::Skipped,
    };
    let mut cases = Vec::new();
    for held in &report.workloads {
        let clauses = held.verdict.iter().flat_map(|verdict| &verdict.clauses);
        cases.extend(clauses.map(|one| Case {
            name: format!("{}: {}", held.name, one.clause),
            outcome: outcome(one.outcome),
            message: one.reason.clone(),
        }));
        let reasons = held.verdict.iter().flat_map(|verdict| &verdict.reasons);
        let as_a_whole = |outcome: CaseOutcome, message: String| Case {
            name: format!("{}: the test as a whole", held.name),
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
            held.failure
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

/// The gravest of what went wrong with the runs themselves, else that of the verdict.
fn exit(report: &SuiteReport, mut exits: Vec<Exit>) -> Exit {
    let rank = |exit: &Exit| match exit {
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
    exits.into_iter().max_by_key(rank).unwrap_or(Exit::Done)
}
