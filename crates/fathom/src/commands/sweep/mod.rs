//! `fathom sweep`.

mod text;

pub(super) use text::describe_analyses;

use ::run::targets::SharedFiles;
use ::run::targets::guard::Permissions;
use analysis::knee::Limit;
use archive::history::EntryKind;
use clap::ValueHint;
use dialects::Location;
use dialects::native::{self, Document, JobSpec};
use model::Bytes;
use model::plan::{DepthPer, Plan};
use model::results::Results;
use model::study::{Parameter, Setting, VariedParameter};
use report::numbers::duration;
use report::words;
use study::sweep::{self, NextRun, Report, Sweep, SweepSettings};
use study::verify;

use super::results;
use super::run;
use super::source;
use super::study_outputs::{self, Contents, Form, StudyArgs, StudyOutputs};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet;
use crate::options::TestArgs;
use crate::pages;
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen};
use crate::session::Session;

/// Help heading of sweep options.
const HEADING: &str = "Sweep";

/// Vary depth, block size, rate, …; find the knee
#[derive(clap::Args)]
#[command(
    long_about = "Repeats one load while varying one or more parameters, and reports where more load stops helping: \
        bounds, knee, the highest load within a limit, scalability, and one recommendation.\n\nThe order of the \
        points is random, so that drift scatters the points instead of bending the curve. The first point is \
        measured again at the end, and points are added near the knee. Points that would show nothing new are \
        skipped: the rate has stopped rising and only the latency grows, a latency is four times its limit, or more \
        is in flight than the device's queue holds. The target is prepared once.\n\nEach point warms up for 5 s and \
        measures for at least 20 s and 10,000 operations; --time sets a fixed length.",
    after_help = "Examples:\n  fathom sweep /data --size 10g\n  fathom sweep /dev/nvme1n1 --over depth=1..256 --slo \
        'p99<=3ms'\n  fathom sweep /data --size 10g --over depth=1..64 --over block=4k,8k,64k --read 70\n  fathom \
        sweep nightly.toml --over rate=1000..64000 --save sweep.fathom\n  fathom sweep --from sweep.fathom --slo \
        'p99.9<=10ms'",
    mut_arg("out", |arg| arg.help("Reports to write, each to stdout or a file: text, json, csv, html [default: text]")),
)]
pub struct Args {
    /// Directory, file, block device, or a file of one job (.toml, .fio, .xml, .parm, .icf)
    #[arg(value_name = "TARGET|FILE", value_hint = ValueHint::AnyPath)]
    target_or_file: Option<String>,
    /// Parameter to vary; repeat for every combination [default: depth=1..512]
    #[arg(
        long,
        value_name = "PARAMETER=VALUES",
        help_heading = HEADING,
        long_help = "Parameter to vary: depth, workers (threads), block, read, rate, targets or access. Values \
            are a list (1,8,32; random,sequential), a doubling range (1..512), or a range with a step (0..100+25). \
            Repeat it to measure every combination; the curves are drawn over the first of depth, workers, rate and \
            targets. `targets` uses the first N of the targets named. [default: depth=1..512]",
    )]
    over: Vec<String>,
    /// Find the highest load within this limit: 'p99<=3ms', 'mean<=500us'
    #[arg(long, value_name = "LATENCY<=TIME", help_heading = HEADING)]
    slo: Option<String>,
    /// Map a target of an Iometer file to a path here: D:=/mnt/data
    #[arg(long, value_name = "NAME=PATH", help_heading = HEADING)]
    map: Vec<String>,
    /// Measure every point, even if it shows nothing new
    #[arg(long, help_heading = HEADING)]
    all_points: bool,
    /// Add no points near the knee and do not repeat the first
    #[arg(long, help_heading = HEADING)]
    grid_only: bool,
    /// Report a saved sweep again, with another --slo if given
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = HEADING)]
    #[arg(conflicts_with_all = ["target_or_file", "over", "map"])]
    from: Option<String>,
    #[command(flatten)]
    test: TestArgs,
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let outputs = args.study.outputs(study_outputs::STUDY_FORMS)?;
    let limit = parse_limit(args)?;
    if let Some(file) = &args.from {
        show(file, &results::load_study(file)?, limit, &outputs)?;
        return Ok(Exit::Done);
    }
    let mut document = load_document(session, args)?;
    if !session.has_fleet() {
        fleet::expand_names_for_one_host(&mut document)?;
    }
    let sweep_settings = read_settings(args, &mut document, limit)?;
    check_settings(&document, &sweep_settings)?;
    let base = native::lower(&document)?;
    let permissions = permissions::from_args(&args.safety);
    if args.test.dry.dry_run {
        return dry_run(session, &document, sweep_settings, &base, &permissions);
    }
    outputs.check_files(&base.targets)?;
    let name = document.name.clone().unwrap_or_else(|| "sweep".into());
    let mut runner = SweepRunner {
        session,
        document,
        permissions,
        shared_files: SharedFiles::default(),
        screen: Screen::from_args(session, &args.study.measure.progress, false)?,
    };
    let mut sweep = Sweep::new(sweep_settings);
    let mut failed = false;
    while let Some(next) = sweep.next_run() {
        match runner.measure(&next) {
            Ok(results) => {
                runner.print_run(&next, &results);
                sweep.record(next, results);
            }
            // A failure of the first point ends the sweep; later ones appear in the report.
            Err(faults) if next.number == 1 => return Err(faults),
            Err(_) if session.process.is_interrupted() => {}
            Err(faults) => {
                failed = true;
                sweep.record_failure(next, faults.first());
            }
        }
        if session.process.is_interrupted() {
            break;
        }
    }
    drop(runner);
    let study = sweep.finish(&name, session.process.is_interrupted()).ok_or_else(|| {
        let help = "let it run for at least one point";
        Faults::one(Fault::new("nothing was measured").help(help), Exit::Failed)
    })?;
    let report = Report::from_study(&study, limit).expect("a sweep ran here");
    let written = write_reports(&outputs, &report, &study);
    args.study.record(EntryKind::Sweep, &study);
    written?;
    Ok(exit_code(&study.runs, failed, session))
}

pub(super) fn show(
    file: &str,
    study: &model::study::Study,
    limit: Option<Limit>,
    outputs: &StudyOutputs,
) -> Result<(), Faults> {
    let report = Report::from_study(study, limit).ok_or_else(|| {
        let fault = Fault::new(format!("{file} holds another kind of study, not a sweep"));
        fault.into_usage("`fathom ab --from` shows comparisons of A and B")
    })?;
    outputs.check_files(&[])?;
    write_reports(outputs, &report, study)
}

/// Returns the exit code of an interruption, or else of the first failed run. `failed` is true if
/// some runs could not start.
pub(super) fn exit_code(runs: &[model::study::StudyRun], failed: bool, session: &Session) -> Exit {
    if session.process.is_interrupted() {
        return Exit::interrupted();
    }
    let mut exits = runs.iter().map(|run| Exit::from_results(&run.results, false));
    let default_exit = if failed { Exit::Partial } else { Exit::Done };
    exits.find(|exit| *exit != Exit::Done).unwrap_or(default_exit)
}

fn write_reports(outputs: &StudyOutputs, report: &Report, study: &model::study::Study) -> Result<(), Faults> {
    outputs.finish(&Contents {
        text: text::format_report(report, &study.runs[0].results),
        json: report,
        other_forms: &[(Form::Csv, &|| pages::sweep_csv(report))],
        page: Some(&|| pages::sweep(report, study)),
        study: Some(study),
    })
}

fn parse_limit(args: &Args) -> Result<Option<Limit>, Faults> {
    let limit = args.slo.as_ref().map(|text| {
        text.parse::<Limit>()
            .map_err(|error| Fault::new(error.to_string()).at("--slo").into_usage(error.help))
    });
    limit.transpose()
}

/// Loads the document with the one job that is varied.
fn load_document(session: &Session, args: &Args) -> Result<Document, Faults> {
    let target_or_file = args.target_or_file.as_ref();
    let maps: Vec<&str> = args.map.iter().flat_map(|map| ["--map", map]).collect();
    source::refuse_switches(target_or_file.map(String::as_str), &maps)?;
    let mut document = match target_or_file {
        Some(file) if file.ends_with(".toml") => run::load_document(target_or_file)?,
        Some(file) if run::detect_other_tool(file).is_some() => {
            let varied = args.over.iter().filter_map(|over| over.split('=').next());
            let target = args
                .test
                .load
                .options
                .iter()
                .find(|(option, _)| option.name == "target");
            let replaced: Vec<&str> = varied.chain(target.map(|(option, _)| option.name)).collect();
            run::translate_document(session, file, &replaced, &maps)?
        }
        None => run::load_document(None)?,
        Some(target) => {
            let mut document = run::load_document(None)?;
            document.jobs[0].targets = vec![target.clone()];
            document
        }
    };
    document.arguments.clone_from(&session.process.arguments);
    args.test.apply(&mut document, args.study.measure.seed)?;
    require_repeatable_job(&document, "a sweep varies")?;
    Ok(document)
}

/// Refuses documents with several jobs: a study varies one load. Also refuses a log, because each
/// run would replace it. `opening` is the subject and verb of the error.
pub(super) fn require_repeatable_job(document: &Document, opening: &str) -> Result<(), Faults> {
    if let [job] = &document.jobs[..] {
        return match &job.log {
            None => Ok(()),
            Some(log) => {
                let fault = Fault::new(format!(
                    "cannot log operations in {log}: each run would replace the log"
                ));
                Err(fault.into_usage("remove the log, or repeat one run with `fathom run --log`"))
            }
        };
    }
    if document.jobs.is_empty() {
        native::lower(document)?;
    }
    let file = document.file.clone().unwrap_or_else(|| "command line".into());
    let fault = Fault::new(format!("{opening} one job, but there are {}", document.jobs.len())).at(file);
    let keep_one = match document
        .file
        .as_deref()
        .filter(|file| run::detect_other_tool(file).is_some())
    {
        Some(file) => format!("`fathom convert --to native {file}` prints them: keep one in a job file (.toml)"),
        None => "write a job file with only one job".into(),
    };
    Err(fault.into_usage(keep_one))
}

fn read_settings(args: &Args, document: &mut Document, limit: Option<Limit>) -> Result<SweepSettings, Faults> {
    let default_over = args.over.is_empty().then_some(sweep::DEFAULT_OVER);
    let mut varied = Vec::new();
    for text in args.over.iter().map(String::as_str).chain(default_over) {
        let fault = |why: String| Faults::usage(Fault::new(why).at(format!("--over {text}")));
        let parsed = sweep::parse_varied(text).map_err(fault)?;
        if varied
            .iter()
            .any(|other: &VariedParameter| other.parameter == parsed.parameter)
        {
            return Err(fault(format!("{} is varied twice", parsed.parameter.name())));
        }
        varied.push(parsed);
    }
    let varies = |parameter: Parameter| varied.iter().any(|varied| varied.parameter == parameter);
    let job = &mut document.jobs[0];
    // A paced sweep needs slots for all operations in flight, unless the user sets a depth.
    let needs_slots = varies(Parameter::Rate) && !varies(Parameter::Depth) && job.depth.is_none();
    let slots_max = needs_slots.then(|| verify::slots_max(largest_block(job, &varied)));
    let counted = job.operations.is_some() || job.bytes.is_some() || job.passes.is_some();
    let is_extensible = job.time.is_none() && !counted;
    let time = job.time.unwrap_or(sweep::POINT_TIME);
    let warm_up = match (job.warm_up, counted) {
        (Some(warm_up), _) => warm_up,
        (None, true) => model::Nanos(0),
        (None, false) => sweep::WARM_UP,
    };
    if !counted {
        (job.time, job.warm_up) = (Some(time), Some(warm_up));
    }
    Ok(SweepSettings {
        varied,
        limit,
        time,
        warm_up,
        min_operations: is_extensible.then_some(sweep::MIN_OPERATIONS),
        refine: !args.grid_only,
        stop_early: !args.all_points,
        slots_max,
        seed: document.seed.unwrap_or(1),
    })
}

fn largest_block(job: &JobSpec, varied: &[VariedParameter]) -> Bytes {
    let parts = match job.parts.is_empty() {
        true => std::slice::from_ref(&job.part),
        false => &job.parts[..],
    };
    let is_block = |varied: &&VariedParameter| varied.parameter == Parameter::Block;
    let varied = varied.iter().filter(is_block).flat_map(|varied| &varied.values);
    let sizes = varied.filter_map(|setting| setting.number.map(|bytes| Bytes(bytes as u64)));
    let sizes = sizes.chain(parts.iter().map(|part| part.sizes.max()));
    sizes.max().unwrap_or_default()
}

fn set_parameter(job: &mut JobSpec, setting: &Setting) -> Result<(), Faults> {
    let text = format!("--over {}={}", setting.name, setting.value);
    if setting.name == Parameter::Targets.name() {
        let wanted = setting.number.unwrap_or(0.0) as usize;
        if wanted > job.targets.len() {
            let fault = Fault::new(format!(
                "{wanted} targets are needed, but {} are named",
                job.targets.len()
            ));
            return Err(fault.at(text).into_usage("name each with --target"));
        }
        job.targets.truncate(wanted);
        return Ok(());
    }
    let location = || Location::on_command_line(text.clone());
    Ok(native::apply(job, &setting.name, &setting.value, location)?)
}

/// Checks every value before the sweep. A mistake in the last one must not end it after an hour.
fn check_settings(document: &Document, sweep_settings: &SweepSettings) -> Result<(), Faults> {
    let mut settings = sweep_settings.varied.iter().flat_map(|varied| &varied.values);
    settings.try_for_each(|setting| set_parameter(&mut document.jobs[0].clone(), setting))
}

fn build_plan(document: &Document, next: &NextRun) -> Result<Plan, Faults> {
    let mut document = document.clone();
    let job = &mut document.jobs[0];
    for setting in &next.settings {
        set_parameter(job, setting)?;
    }
    job.name = Some(sweep::format_settings(&next.settings));
    if let Some(slots) = next.slots {
        (job.depth, job.depth_per) = (Some(slots.max(job.workers)), DepthPer::Job);
    }
    if job.time.is_some() {
        job.time = Some(next.time);
    }
    Ok(native::lower(&document)?)
}

/// Measures the points.
struct SweepRunner<'a> {
    session: &'a Session,
    document: Document,
    permissions: Permissions,
    shared_files: SharedFiles,
    screen: Screen,
}

impl SweepRunner<'_> {
    fn measure(&mut self, next: &NextRun) -> Result<Results, Faults> {
        let mut plan = build_plan(&self.document, next)?;
        self.session.prepare_shared_files(&mut self.shared_files, &mut plan)?;
        let slots = next.slots.map(|slots| format!(", up to {slots} in flight"));
        self.screen.print(&format!(
            "[{}/{}] {}: {} of {}{}, {} left in all",
            next.number,
            next.expected_total,
            sweep::format_settings(&next.settings),
            duration(next.time),
            words::describe_operations(&plan.steps[0].jobs[0]),
            slots.unwrap_or_default(),
            duration(next.time_left),
        ));
        let about = format!("point {} of about {}", next.number, next.expected_total);
        let (permissions, shared_files) = (&self.permissions, &mut self.shared_files);
        let executed = self
            .screen
            .execute(self.session, plan, permissions, shared_files, about);
        Ok(executed?)
    }

    fn print_run(&mut self, next: &NextRun, results: &Results) {
        if let Some(line) = text::format_run(&next.settings, results) {
            self.screen.print(&line);
        }
    }
}

fn dry_run(
    session: &Session,
    document: &Document,
    sweep_settings: SweepSettings,
    base: &Plan,
    permissions: &Permissions,
) -> Result<Exit, Faults> {
    let mut sweep = Sweep::new(sweep_settings.clone());
    let first = sweep.next_run().expect("a sweep has a point");
    let shown = build_plan(document, &first)?;
    let (described, exit) = run::dry_run_in_study(session.ranks(), [&shown, base], permissions)?;
    let mut text = format!(
        "a sweep of about {} points, {} in all\n",
        first.expected_total,
        duration(first.time_left)
    );
    for varied in &sweep_settings.varied {
        let values: Vec<&str> = varied.values.iter().map(|setting| &*setting.value).collect();
        text += &format!("  {}: {}\n", varied.parameter.name(), values.join(", "));
    }
    text += &format!("the first of them, {}:\n", sweep::format_settings(&first.settings));
    screen::put(&(text + &described))?;
    Ok(exit)
}
