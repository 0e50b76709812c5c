//! `fathom run`.

use std::fs;
use std::path::Path;

use ::run::targets::guard::{Decision, Permissions};
use ::run::targets::{PrepareAction, TargetDecision};
use analysis::lint::Purpose;
use analysis::requirement::Clause;
use archive::history::EntryKind;
use clap::{Args as _, Command, FromArgMatches, ValueHint};
use dialects::import::recognise_test;
use dialects::native::{self, Document, JobSpec, presets};
use dialects::{Location, convert};
use model::Nanos;
use model::finding::Finding;
use model::plan::Plan;
use model::results::Results;
use report::{html, words};
use study::confirm;
use study::diagnosis::KnownLimits;

use super::{lint, source};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet;
use crate::history;
use crate::judged;
use crate::limits::{self, LimitArgs, MetadataArgs, Storage};
use crate::options::{OptionWithValues, Subset, TestArgs};
use crate::outputs::{OutputArgs, Outputs, PAGE};
use crate::pages;
use crate::permissions::{self, SafetyArgs};
use crate::preflight;
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::silenced;
use crate::user_file;

/// Options that do not change what a preset tests: its target, files and logs.
const PRESET_NEUTRAL: [&str; 3] = ["target", "keep", "log"];

/// Run a job file, or a test described by flags
#[derive(clap::Args)]
#[command(
    long_about = "Runs a job file, or a test described by flags. Keys of a job file and flags are the same; with both, flags \
        change every job of the file. Sizes take k, m, g, t (powers of 1024) or kB, MB, GB (powers of 1000); times \
        take ns, us, ms, s, m, h.",
    after_help = "Examples:\n  fathom run --target /data --size 10g --depth 32 --time 1m\n  fathom run --target \
        /data/f.dat --size 4g --read 70 --block 8k --rate 5000iops --time 5m\n  fathom run nightly.toml --out \
        text,json=nightly.json --save nightly.result\n  fathom run --preset oltp --target /data --size 100g \
        --objective 'most IOPS with p99 up to 3 ms'"
)]
pub struct Args {
    /// Job file
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(super) file: Option<String>,
    /// Run a preset; `fathom presets` lists them
    #[arg(
        long,
        value_name = "NAME[@VERSION]",
        long_help = "Run a preset instead of a job file; `fathom presets` lists them. A preset needs a --target. Other flags \
            change each of its jobs, and the result lists these flags. Without a version the newest one runs."
    )]
    preset: Option<String>,
    #[command(flatten)]
    pub(super) test: TestArgs,
    /// Purpose of the test, in your words; saved with the result
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    objective: Option<String>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    #[command(flatten)]
    metadata: MetadataArgs,
    /// Judge the results, such as 'iops>=4000,p99<=5ms'
    #[arg(
        long,
        value_name = "CLAUSES",
        help_heading = "Output",
        long_help = "Judge each job by these clauses, such as 'iops>=4000,p99<=5ms', with the exit codes of `fathom \
            verify`. The load stays as described; to issue a promised rate for the full time, use `fathom verify`."
    )]
    require: Option<String>,
    /// Repeat each step at twice the depth for 10 s, to find limits
    #[arg(long, help_heading = limits::HEADING)]
    confirm: bool,
    /// Watch the devices for other I/O before the test [default: 0]
    #[arg(long, value_name = "TIME", help_heading = "Safety")]
    preflight: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// Parses flags of `fathom run` that are an argument of another command.
pub(super) fn parse(flags: &[String]) -> Result<Args, clap::Error> {
    let command = Args::augment_args(Command::new("run")).no_binary_name(true);
    Args::from_arg_matches(&command.try_get_matches_from(flags)?)
}

/// Runs a job file or the test that the flags describe.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let mut document = build_document(session, args)?;
    if !session.has_fleet() {
        fleet::expand_names_for_one_host(&mut document)?;
    }
    let mut clauses = judged::read_clauses(&document)?;
    if let Some(text) = &args.require {
        clauses.extend(judged::parse_clauses(text, "--require")?);
    }
    let mut plan = native::lower(&document)?;
    let permissions = permissions::from_args(&args.safety);
    let silenced = silenced::from_args(&args.output.silence)?;
    let preflight = preflight::parse_time(&args.preflight, Nanos(0))?;
    let (metadata, quiet) = (args.metadata.metadata, args.output.measure.progress.quiet);
    let diagnosed = (args.confirm || metadata || args.limits.is_given() || !plan.limits.is_empty())
        .then(|| limits::from_args_and_machine(&args.limits, metadata, quiet, &plan))
        .transpose()?;
    Storage::from_host_cache(args.limits.host_cache).apply_to_plan(&mut plan);
    let named = diagnosed.iter().flat_map(|diagnoses| &diagnoses.layers);
    limits::refuse_unused(
        &named.chain(&plan.limits).cloned().collect::<Vec<_>>(),
        &limits::list_jobs(&plan),
    )?;
    let purpose = lint::build_purpose(diagnosed.as_ref().unwrap_or(&KnownLimits::default()), &plan, &clauses);
    let confirmed = args.confirm.then(|| confirm::add_repetitions(&plan));
    if let Some(confirmed) = &confirmed {
        plan = confirmed.plan.clone();
    }
    if args.test.dry.dry_run {
        Outputs::parse(&args.output)?;
        ::run::check(&plan)?;
        ::run::check_engines(&plan)?;
        session.merge_fleet_plan(&plan)?;
        let (text, exit) = dry_run(session.ranks(), [&plan, &plan], &permissions, &silenced, &purpose)?;
        screen::put(&text)?;
        return Ok(exit);
    }
    // fio's reports show the process number.
    let process = std::process::id().to_string();
    plan.origin.presentation.other.push(("pid".into(), process));
    let whole = session.merge_fleet_plan(&plan)?;
    let mut outputs = Outputs::from_args(&args.output, &plan)?;
    session.set_translates(outputs.has_whole_result(&args.output.measure));
    let mut screen = Screen::from_args(session, &args.output.measure.progress, outputs.streams_to_stdout())?;
    let background_io = preflight::watch_and_report(session, &plan, &permissions, preflight, quiet)?;
    screen.begin(&whole, None);
    // The verdict itself states that the load was not limited.
    let purpose = Purpose {
        promised_latency_ns: None,
        ..purpose
    };
    let execution = session.execution(plan, &permissions);
    let execution = execution.with_background_io(background_io).with_purpose(purpose);
    let results = execution.run(&mut |event| {
        screen.handle_event(&event);
        let message = outputs.handle_event(&event);
        message.iter().for_each(|message| screen.print(message));
    });
    drop(screen);
    let mut results = results?;
    if let Some(diagnoses) = diagnosed {
        results.diagnoses = study::diagnosis::diagnoses(&results, &diagnoses);
        results.shared_limits = study::diagnosis::limit_tables(&results, &diagnoses);
        results
            .findings
            .extend(study::diagnosis::detect_cache_hits(&results, &diagnoses));
    }
    if let Some(confirmed) = &confirmed {
        results.findings.extend(confirmed.findings());
    }
    results.findings = analysis::lint::filter_silenced(results.findings, &silenced);
    write_outputs(args, outputs, &results, &clauses)
}

/// Writes the reports, with the verdict if there are clauses; returns the exit code.
fn write_outputs(args: &Args, outputs: Outputs, results: &Results, clauses: &[Clause]) -> Result<Exit, Faults> {
    let strict = args.output.strict;
    if clauses.is_empty() {
        let written = outputs.finish(results, &[]);
        args.output.record(EntryKind::Run, results, None);
        written?;
        return Ok(Exit::from_results(results, strict));
    }
    let judged = judged::judge(results, clauses);
    let text = judged::render_report(results) + &judged.text(clauses);
    let json = judged.json(results, clauses);
    let page = match outputs.has_page() {
        true => html::render_file(&pages::run(results, pages::worst_verdict(&judged, clauses))),
        false => String::new(),
    };
    let written = outputs.finish(results, &[("text", &text), ("json", &json), (PAGE, &page)]);
    args.output.record(EntryKind::Run, results, Some(judged.word()));
    written?;
    Ok(Exit::from_verdict(results, judged.outcome(), strict))
}

/// Builds the document of a job file, a preset or flags.
pub(super) fn build_document(session: &Session, args: &Args) -> Result<Document, Faults> {
    let file = args.file.as_ref();
    let mut document = match &args.preset {
        Some(name) => load_preset(name, file)?,
        None => load_document(file)?,
    };
    document.arguments.clone_from(&session.process.arguments);
    if let Some(text) = &args.objective {
        let line = native::normalize_objective(text).ok_or_else(|| {
            let fault = Fault::new("the objective is empty").at("--objective");
            fault.into_usage("for example --objective 'most IOPS with p99 up to 3 ms'")
        })?;
        document.objective = Some(line);
    }
    args.test.apply(&mut document, args.output.measure.seed)?;
    record_preset_changes(&mut document, &args.test.load.options);
    check_target_count(&document)?;
    Ok(document)
}

/// Records which flags changed a preset, so that the result lists them.
pub(super) fn record_preset_changes(document: &mut Document, options: &[OptionWithValues]) {
    let Some(used) = &mut document.preset else { return };
    let (before, set) = (&used.changed, |name: &str| {
        options.iter().any(|(option, _)| option.name == name)
    });
    let names = native::options().map(|option| option.name);
    let changed =
        names.filter(|name| !PRESET_NEUTRAL.contains(name) && (set(name) || before.iter().any(|flag| flag == name)));
    used.changed = changed.map(str::to_owned).collect();
}

/// Loads a preset. A preset is a job file itself, so a second job file is refused.
pub(super) fn load_preset(name: &str, file: Option<&String>) -> Result<Document, Faults> {
    if let Some(file) = file {
        let fault = Fault::new(format!(
            "cannot run the job file `{file}` and the preset `{name}` together"
        ));
        return Err(fault.into_usage(
            "remove one of them. To name a target, use --target; to change a preset, edit the job file that \
             `fathom presets NAME --toml` prints",
        ));
    }
    let location = || Location::on_command_line(format!("--preset {name}"));
    let preset = presets::find(name).map_err(|problem| problem.at(location()))?;
    Ok(preset.document())
}

/// Checks that a preset for several volumes has the right number of targets.
pub(super) fn check_target_count(document: &Document) -> Result<(), Faults> {
    let Some((info, wanted)) = document
        .preset_info
        .as_ref()
        .and_then(|info| Some((info, info.targets?)))
    else {
        return Ok(());
    };
    let wrong = document
        .jobs
        .iter()
        .map(|job| job.targets.len())
        .find(|count| *count != wanted as usize);
    match wrong {
        None => Ok(()),
        Some(count) => {
            let fault = Fault::new(format!(
                "the preset `{}` needs {wanted} targets, but {count} are named",
                info.id
            ));
            Err(fault.into_usage(format!(
                "name {wanted} volumes or files: $(printf -- '--target %s ' /dev/mapper/volume{{01..{wanted}}}); \
                 with --size, missing files are created"
            )))
        }
    }
}

/// Loads the jobs of a file, or one job without options.
pub(super) fn load_document(file: Option<&String>) -> Result<Document, Faults> {
    Ok(match file {
        Some(file) => {
            refuse_other_tool(file)?;
            let saved_faults = || {
                let fault = Fault::new(format!("`{file}` is a saved result, not a job file"));
                fault.into_usage(format!("convert it: `fathom convert --to native {file} > job.toml`"))
            };
            if history::is_entry(file) {
                return Err(saved_faults());
            }
            let path = Path::new(file);
            let text = user_file::read_text(path, user_file::MAX_TEXT).map_err(|error| match error.kind() {
                std::io::ErrorKind::IsADirectory => {
                    let fault = Fault::for_file("read", path, &error).help(format!("test it with --target {file}"));
                    Faults::refused(fault)
                }
                _ => Faults::unreadable(path, &error),
            })?;
            if archive::is_saved(text.as_bytes()) {
                return Err(saved_faults());
            }
            native::read_job_file(file, &text)?
        }
        None => Document {
            jobs: vec![JobSpec::default()],
            ..Document::default()
        },
    })
}

/// Job files of other tools: extension, description, and the command that runs them. The
/// description is that of [`recognise_test`].
const OTHER_TOOLS: &[(&str, &str, &str)] = &[
    ("fio", "an fio job file", "run it with `fathom fio FILE`"),
    ("xml", "a DiskSpd profile", "run it with `fathom diskspd -XFILE`"),
    (
        "parm",
        "a Vdbench parameter file",
        "run it with `fathom vdbench -f FILE`",
    ),
    (
        "icf",
        "an Iometer configuration",
        "run it with `fathom iometer FILE RESULTS.csv`",
    ),
];

/// Larger files without a known extension are targets, not job files.
const MAX_JOB_FILE: u64 = 1 << 20;

/// Finds the row of a job file by its extension, or else by its content: files of Vdbench usually
/// have no extension.
fn find_other_tool(file: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let path = Path::new(file);
    let facts = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let extension = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    let by_extension = OTHER_TOOLS.iter().find(|(end, ..)| extension.as_deref() == Some(end));
    // Reports of DiskSpd end with `.xml` too, and reports of fio may have any name.
    let head = user_file::read_head(path).ok()?;
    let head = String::from_utf8_lossy(&head);
    if ["<Results", "{"]
        .iter()
        .any(|start| head.trim_start().starts_with(start))
    {
        return None;
    }
    if by_extension.is_some() || extension.as_deref() == Some("toml") || facts.len() > MAX_JOB_FILE {
        return by_extension;
    }
    let bytes = user_file::read_bytes(path, MAX_JOB_FILE).ok()?;
    let name = recognise_test(&String::from_utf8_lossy(&bytes))?;
    OTHER_TOOLS.iter().find(|(_, what, _)| *what == name)
}

/// Detects a job file of another tool. Returns its description and the command that runs it.
pub(super) fn detect_other_tool(file: &str) -> Option<(&'static str, String)> {
    let (_, what, help) = find_other_tool(file)?;
    Some((what, help.replace("FILE", file)))
}

/// Returns the extension that a job file of another tool would have.
pub(super) fn detect_extension(file: &str) -> Option<&'static str> {
    find_other_tool(file).map(|(extension, ..)| *extension)
}

/// Refuses a job file of another tool: parsing it as a native one would cause misleading errors.
fn refuse_other_tool(file: &str) -> Result<(), Faults> {
    match detect_other_tool(file) {
        Some((what, help)) => Err(Fault::new(format!("`{file}` is {what}")).into_usage(help)),
        None => Ok(()),
    }
}

/// Translates a file of another tool to jobs. If there is only one, prints the settings that it
/// lost, and refuses another load than that of the file. The options in `replaced` replace theirs;
/// `iometer` are switches for a configuration of Iometer.
pub(super) fn translate_document(
    session: &Session,
    file: &str,
    replaced: &[&str],
    iometer: &[&str],
) -> Result<Document, Faults> {
    let source = source::read_job_file(session, file, iometer)?;
    // A sweep would create a file with the name of the missing target.
    if !replaced.contains(&"target") {
        source.refuse_missing(
            "sweep",
            "name the target here: `--target PATH --size SIZE`, or map it: `--map \"NAME=PATH\" --size SIZE`",
        )?;
    }
    let mut jobs = convert::to_native_jobs(&source.plan)?;
    jobs.document.file = Some(file.to_owned());
    if jobs.document.jobs.len() > 1 {
        return Ok(jobs.document);
    }
    jobs.load
        .retain(|(option, _)| option.is_empty() || !replaced.contains(option));
    if !jobs.load.is_empty() {
        let help = detect_other_tool(file).map_or(String::new(), |(_, help)| format!("{help} as it is, or "));
        let fault = |(_, lost): &(&str, convert::Lost)| {
            Fault::new(format!("cannot sweep the load of {file}: {lost}"))
                .help(format!("{help}write its load as a job file (.toml)"))
        };
        return Err(Faults::many(jobs.load.iter().map(fault).collect(), Exit::Usage));
    }
    let lost = jobs.lost.iter().map(ToString::to_string);
    let all = source.lost.into_iter().chain(lost);
    all.for_each(|what| screen::note(&format!("lost: {what}")));
    Ok(jobs.document)
}

impl<S: Subset> TestArgs<S> {
    pub(super) fn apply(&self, document: &mut Document, seed: Option<u64>) -> Result<(), Faults> {
        if self.name.is_some() {
            document.name.clone_from(&self.name);
        }
        apply_options(document, &self.load.options, seed)
    }
}

pub(super) fn apply_options(
    document: &mut Document,
    options: &[OptionWithValues],
    seed: Option<u64>,
) -> Result<(), Faults> {
    document.seed = seed.or(document.seed);
    let mut problems = Vec::new();
    for job in &mut document.jobs {
        for (option, values) in options {
            if option.name == "target" {
                job.targets.clear();
            }
            for value in values {
                let location = || {
                    Location::on_command_line(match option.value {
                        "" => format!("--{}", option.name),
                        _ => format!("--{} {value}", option.name),
                    })
                };
                if let Err(problem) = native::apply(job, option.name, value, location)
                    && !problems.contains(&problem)
                {
                    problems.push(problem);
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.into())
    }
}

/// Describes a plan without running it: actions, decisions of the guard, findings. With `hosts` it
/// omits the targets, because the same path on this host is another target.
pub(super) fn dry_run(
    hosts: Option<u32>,
    [shown, targets_plan]: [&Plan; 2],
    permissions: &Permissions,
    silenced: &[String],
    purpose: &Purpose,
) -> Result<(String, Exit), Faults> {
    if let Some(hosts) = hosts {
        let mut lines = words::plan(shown);
        let hosts = if hosts == 1 {
            "the host checks its".into()
        } else {
            format!("each of {hosts} hosts checks its")
        };
        lines.push(String::new());
        lines.push(format!(
            "dry run: nothing was opened; {hosts} own targets when the test begins"
        ));
        return Ok((lines.join("\n") + "\n", Exit::Done));
    }
    let decisions = ::run::targets::judge(targets_plan, permissions)?;
    let refused = decisions.iter().any(|target| target.decision.refusal().is_some());
    let exit = if refused { Exit::Refused } else { Exit::Done };
    let findings = lint::lint_plan(shown, silenced, purpose);
    Ok((describe(shown, &decisions, &findings), exit))
}

/// Checks a run of a study, and describes it as [`dry_run`] does.
pub(super) fn dry_run_in_study(
    hosts: Option<u32>,
    plans: [&Plan; 2],
    permissions: &Permissions,
) -> Result<(String, Exit), Faults> {
    ::run::check(plans[0])?;
    let silenced = lint::SHORT_BY_DESIGN.map(str::to_owned);
    dry_run(hosts, plans, permissions, &silenced, &Purpose::default())
}

fn describe(plan: &Plan, decisions: &[TargetDecision], findings: &[Finding]) -> String {
    let mut lines = words::plan(plan);
    for target in decisions {
        lines.push(String::new());
        let path = target.examined.path.display();
        lines.push(format!("{path}: {}", describe_action(&target.examined.action)));
        lines.push(format!("  it would be {}", target.intent));
        match &target.decision {
            Decision::Allowed { notes } => {
                lines.push("  allowed".into());
                lines.extend(notes.iter().map(|note| format!("  note: {note}")));
            }
            Decision::Refused(refusal) => {
                lines.push("  refused".into());
                lines.extend(refusal.reasons.iter().map(|reason| format!("  why: {reason}")));
                lines.push(format!("  help: {}", refusal.help));
            }
        }
    }
    lines.push(String::new());
    if !findings.is_empty() {
        lines.push(lint::format_findings(findings));
    }
    let logs = plan
        .jobs()
        .filter_map(|(_, job)| Some((job, job.operation_log.as_ref()?)));
    lines.extend(logs.map(|(job, log)| format!("{log}: job `{}` would log its operations here", job.name)));
    lines.push("dry run: nothing was opened for writing".into());
    lines.join("\n") + "\n"
}

fn describe_action(action: &PrepareAction) -> String {
    match action {
        PrepareAction::UseUnchanged => "used unchanged".into(),
        PrepareAction::Reuse { size } => format!("reused: {size} of random data from an earlier run"),
        PrepareAction::Create { size, temporary: true } => {
            format!("created with {size} of random data, removed at the end")
        }
        PrepareAction::Create { size, temporary: false } => format!("created with {size} of random data"),
        PrepareAction::CreateDirectory => "created as a directory".into(),
        PrepareAction::CreateTree { directories, files } => {
            format!(
                "a tree of {files} files in {} directories, removed at the end",
                directories + 1
            )
        }
        PrepareAction::Extend { from, to } => format!("extended from {from} to {to}"),
        PrepareAction::Rewrite { size } => format!("truncated and rewritten with {size}"),
    }
}
