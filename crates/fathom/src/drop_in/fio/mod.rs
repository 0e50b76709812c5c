//! Drop-in mode for fio: runs command lines and job files, with fio's reports and exit codes.

mod attempt;
mod banner;
mod clients;
mod exec;
mod failures;
mod local_env;
mod logs;
mod merge_traces;
mod mismatches;
mod output;
mod partial_plan;
mod self_tests;
mod server;
mod status;
mod together;
mod trigger;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use archive::history::EntryKind;
use dialects::fio::flags::{IdleProfile as IdleShown, StandaloneAction};
use dialects::fio::{self, Jobs, Notice, ParseOutcome, Unusable};
use engine::idle::IdleProfile;
use engine::sys::signals;
use model::draws::{GeneratorChoice, fio_seeds};
use model::plan::{Plan, Prepare};
use model::results::Results;
use report::formats::fio as reports;

use super::{can_save_result, check_outputs, lost_host_lines, note, print_findings, print_stderr, record_results};
use crate::session::Session;
use attempt::RunActions;
use exec::Commands;
use local_env::LocalEnv;
use output::Output;
use trigger::Trigger;

/// Exit code: wrong options or files, or no job could run.
const FAILED: u8 = 1;
/// Exit code: a signal ended the run.
const SIGNALLED: u8 = 128;

/// Runs a command line of fio. The first `skip` arguments are the program's name.
pub fn execute(session: &Session, skip: usize) -> ExitCode {
    let started = Instant::now();
    let (program, arguments) = session
        .process
        .arguments
        .split_at(skip.min(session.process.arguments.len()));
    let program = program.join(" ");
    if let Some(parts) = fio::split_by_host(arguments) {
        return clients::execute(session, &program, &parts);
    }
    let mut env = LocalEnv::default();
    let reading = fio::read(&program, arguments, &mut env);
    let flags = match &reading {
        ParseOutcome::End(end) => &end.read.flags,
        ParseOutcome::Run(jobs) => &jobs.flags,
    };
    let file = env.output();
    let files = Files {
        output: file.as_deref(),
        inputs: &env.inputs,
    };
    if let Err(line) = files.check(&Plan::default(), &[]) {
        print_stderr(&[line]);
        return ExitCode::from(FAILED);
    }
    let is_repeated = flags.status_interval_us > 0;
    let mut output = Output::new(file.clone(), is_repeated, session.process.interrupt_flag());
    let code = match reading {
        ParseOutcome::End(end) => {
            if let Err(error) = output.open() {
                print_stderr(&[format!("fio: output file open error: {error}")]);
                return ExitCode::from(FAILED);
            }
            let banners = match end.read.flags.formats.normal {
                true => banner::format_lines(&end.read),
                false => Vec::new(),
            };
            print_parse_messages(&mut output, &end.read, &banners);
            match (&end.action, &end.read.flags) {
                (None, flags) if flags.daemonize.is_some() && end.code == 0 => {
                    output.print_problem("fio: --daemonize needs --server");
                    FAILED
                }
                (None, _) => end.code,
                (Some(StandaloneAction::Serve), flags) => {
                    server::serve(&session.process, flags, arguments, &mut output)
                }
                (Some(action), _) => run_standalone(session, action, &mut output),
            }
        }
        ParseOutcome::Run(jobs) => match can_save_result() {
            true => run(session, (&jobs, started), files, &mut output),
            false => FAILED,
        },
    };
    finish(output, code)
}

/// Closes the output, and returns the exit code.
fn finish(output: Output, code: u8) -> ExitCode {
    match output.close() {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            print_stderr(&[format!("fio: cannot write the output: {error}")]);
            ExitCode::from(code.max(FAILED))
        }
    }
}

/// Runs an action that replaces jobs, such as `--crctest`. Unlike fio, it honours `--output`.
fn run_standalone(session: &Session, action: &StandaloneAction, output: &mut Output) -> u8 {
    match action {
        StandaloneAction::CalibrateIdle => match IdleProfile::new() {
            Ok(profile) => output.print_report(|out| reports::calibration(&profile.snapshot(), out)),
            Err(error) => {
                output.print_problem(&format!("fio: cannot measure idle processors: {error}"));
                return FAILED;
            }
        },
        StandaloneAction::InflateLog(path) => {
            let mut lines = Vec::new();
            if let Err(error) = archive::inflate_fio_log(Path::new(path), &mut lines) {
                output.print_problem(&format!("fio: {error}"));
                return FAILED;
            }
            output.print_report(|out| out.write_all(&lines));
        }
        StandaloneAction::TestChecksums(types) => return self_tests::test_checksums(types, output),
        StandaloneAction::TestCopies(types) => return self_tests::test_copies(types, output),
        StandaloneAction::TestClocks => return self_tests::test_clocks(session.process.clock(), output),
        // The server needs the session, so the caller starts it.
        StandaloneAction::Serve => {}
    }
    0
}

/// Names of jobs whose depth above 1 is capped by their engine, with that depth.
type CappedDepths = Vec<(String, u32)>;

/// Lowers a command line to a plan without running it. Opens only job files.
///
/// # Errors
/// The messages, if there is no plan.
pub fn build_plan(arguments: &[String]) -> Result<(Plan, CappedDepths), Vec<String>> {
    let mut env = LocalEnv::only_reading();
    let read = match fio::read("fio", arguments, &mut env) {
        ParseOutcome::Run(jobs) => jobs,
        ParseOutcome::End(end) => return Err(all_messages(&end.read)),
    };
    let mut words = vec!["fio".to_owned()];
    words.extend(arguments.iter().cloned());
    let lowered = lower(&read, &words, &local_env::RealDisk);
    let lowered = lowered.map_err(|problems| problems.into_iter().map(|problem| problem.what).collect::<Vec<_>>())?;
    let mut plan = lowered.plan;
    plan.origin.profile = banner::format_lines(&read).concat();
    Ok((plan, lowered.capped_depths))
}

fn all_messages(read: &Jobs) -> Vec<String> {
    let lines = read.stdout().chain(read.stderr()).map(str::to_owned);
    lines
        .chain(read.hints.iter().map(|hint| format!("hint: {hint}")))
        .collect()
}

fn lower(jobs: &Jobs, words: &[String], disk: &dyn fio::Disk) -> Result<fio::Lowered, Vec<dialects::Diagnostic>> {
    let env = fio::LowerEnv {
        arguments: words,
        disk,
        fresh_seed: local_env::fresh_seed(),
        process: std::process::id(),
        utc_offset_s: local_env::utc_offset_s(),
        client: None,
    };
    fio::lower(jobs, env)
}

/// Prints messages about options, in order.
fn print_parse_messages(output: &mut Output, jobs: &Jobs, banners: &[Vec<String>]) {
    for notice in &jobs.notices {
        match notice {
            Notice::Out(line) => output.print_line(line),
            Notice::Err(line) => output.print_problem(line),
            Notice::Hint(hint) => output.print_hint(hint),
            Notice::Added(job) => banners
                .get(*job)
                .into_iter()
                .flatten()
                .for_each(|line| output.print_line(line)),
        }
    }
    jobs.hints.iter().for_each(|hint| output.print_hint(hint));
}

/// The files that a command line names.
#[derive(Clone, Copy)]
struct Files<'a> {
    output: Option<&'a Path>,
    inputs: &'a [PathBuf],
}

impl Files<'_> {
    /// Refuses `--output` and `others` if they would replace an input, a target of the plan or
    /// each other.
    ///
    /// # Errors
    /// The line that refuses an output.
    fn check(self, plan: &Plan, others: &[(&str, &Path)]) -> Result<(), String> {
        let output = self.output.map(|path| ("--output", path));
        let outputs: Vec<_> = output.into_iter().chain(others.iter().copied()).collect();
        check_outputs(&outputs, self.inputs, plan).map_err(|line| format!("fio: {line}"))
    }

    /// Refuses the logs of a run, and the files for the outputs of its commands.
    fn check_prepared(self, prepared: &PreparedRun<'_>) -> Result<(), String> {
        let logs = prepared.logs.paths(&prepared.plan)?;
        let commands = prepared.actions.commands.output_files();
        let logs = logs.iter().map(|path| ("a log", &**path));
        let commands = commands.iter().map(|path| ("the output of a command", &**path));
        self.check(&prepared.plan, &logs.chain(commands).collect::<Vec<_>>())
    }

    /// Refuses an input as the file of the trigger, which fio removes.
    fn check_trigger(self, jobs: &Jobs) -> Result<(), String> {
        let trigger = jobs.flags.trigger_file.as_deref().map(Path::new);
        let trigger = trigger.map(|path| ("--trigger-file", path));
        self.check(&Plan::default(), trigger.as_slice())
    }
}

/// Ends the run with a message. The file of `--output` stays as it was.
fn refuse(output: &mut Output, line: &str) -> u8 {
    output.redirect_to_terminal();
    output.print_problem(line);
    FAILED
}

fn run(session: &Session, (jobs, started): (&Jobs, Instant), files: Files<'_>, output: &mut Output) -> u8 {
    let banners = banner::format_lines(jobs);
    let normal = jobs.flags.formats.normal;
    if jobs.flags.formats.is_json_only() {
        output.suppress_information();
    }
    print_parse_messages(output, jobs, if normal { &banners } else { &[] });
    if let Err(line) = merge_traces::merge(jobs, session.process.interrupt_flag()) {
        output.print_problem(&line);
        return if session.process.is_interrupted() {
            SIGNALLED
        } else {
            FAILED
        };
    }
    if jobs.flags.merge_blktrace_only {
        return 0;
    }
    if let Err(line) = files.check_trigger(jobs) {
        return refuse(output, &line);
    }
    let mut prepared = match prepare(session, jobs, banners.concat(), started) {
        Ok(prepared) => prepared,
        Err(lines) => {
            lines.iter().for_each(|line| output.print_problem(line));
            return FAILED;
        }
    };
    let plan = &prepared.plan;
    if let Err(line) = files.check_prepared(&prepared) {
        return refuse(output, &line);
    }
    if let Err(error) = output.open() {
        return refuse(output, &format!("fio: output file open error: {error}"));
    }
    if normal {
        output.print_report(|out| reports::starting(plan, out));
    }
    if jobs.flags.is_debug_enabled("random") {
        seed_lines(plan).iter().for_each(|line| output.print_line(line));
    }
    let mut unusable = std::mem::take(&mut prepared.unusable);
    // Each host of a fleet examines its own files.
    let is_alone = !session.has_fleet();
    if is_alone {
        unusable.extend(failures::unusable_targets(plan, &unusable));
    }
    print_unusable(&unusable, output);
    if normal && is_alone {
        layout_lines(plan, &unusable)
            .iter()
            .for_each(|line| output.print_line(line));
    }
    if is_alone && let Err(error) = make_directories(plan) {
        output.print_problem(&error);
        return FAILED;
    }
    prepared.stdout_lines.iter().for_each(|line| output.print_line(line));
    prepared.stderr_lines.iter().for_each(|line| output.print_problem(line));
    for job in prepared.actions.commands.run_prerun(0, output) {
        unusable.extend(skip_all_clones(plan, job));
    }
    let results = attempt::execute_usable(session, &mut prepared.actions, plan, &unusable, output);
    prepared.actions.trigger.end(output);
    let results = match results {
        Ok(results) => results,
        Err(code) => return code,
    };
    let written = prepared.logs.write(&results);
    if let Err(problem) = &written {
        output.print_problem(problem);
    }
    let triggered = prepared.actions.trigger.has_fired();
    let code = conclude(session, jobs, results, triggered, output);
    if written.is_err() { code.max(FAILED) } else { code }
}

/// Formats the seeds of each clone for `--debug=random`.
fn seed_lines(plan: &Plan) -> Vec<String> {
    let process = std::process::id();
    let workers = plan.jobs().flat_map(|(_, job)| &job.workers);
    let seeds = workers.filter_map(|worker| match worker.draws {
        GeneratorChoice::Fio { seed, number, .. } => Some(fio_seeds(seed, number)),
        _ => None,
    });
    let lines = seeds.flat_map(|seeds| {
        let count = std::iter::once(format!("random   {process} FIO_RAND_NR_OFFS={}", seeds.len()));
        let numbered_seeds = seeds.into_iter().enumerate();
        count.chain(numbered_seeds.map(move |(index, seed)| format!("random   {process} rand_seeds[{index}]={seed}")))
    });
    std::iter::once("fio: set debug option random".to_owned())
        .chain(lines)
        .collect()
}

/// Everything that a run needs, prepared before the first line of output.
struct PreparedRun<'a> {
    plan: Plan,
    unusable: Vec<Unusable>,
    stdout_lines: Vec<String>,
    stderr_lines: Vec<String>,
    logs: logs::Logs,
    actions: RunActions<'a>,
}

/// Prepares the run, or refuses it.
///
/// # Errors
/// The lines that refuse the run.
fn prepare<'a>(
    session: &Session,
    jobs: &'a Jobs,
    profile: Vec<String>,
    started: Instant,
) -> Result<PreparedRun<'a>, Vec<String>> {
    let lowered = match session.has_fleet() {
        true => {
            together::refuse_single_host_options(jobs).map_err(|line| vec![line])?;
            lower(jobs, &session.process.arguments, &together::FleetFs(jobs))
        }
        false => lower(jobs, &session.process.arguments, &local_env::RealDisk),
    };
    let lowered = lowered.map_err(|problems| problems.into_iter().map(|problem| problem.what).collect::<Vec<_>>())?;
    lowered.notes.iter().for_each(|text| note(text));
    let mut plan = lowered.plan;
    plan.origin.profile = profile;
    let single_line = |line| vec![line];
    add_clocks(jobs, &mut plan).map_err(single_line)?;
    let logs = logs::Logs::from_jobs(jobs, &mut plan).map_err(single_line)?;
    let commands = Commands::from_jobs(jobs, &plan).map_err(single_line)?;
    let idle = match jobs.flags.idle_profile {
        Some(_) => Some(IdleProfile::new().map_err(|error| single_line(format!("fio: --idle-prof: {error}")))?),
        None => None,
    };
    let trigger = Trigger::from_jobs(jobs, started, session.process.interrupt_flag()).map_err(single_line)?;
    Ok(PreparedRun {
        plan,
        unusable: lowered.unusable,
        stdout_lines: lowered.stdout,
        stderr_lines: lowered.stderr,
        logs,
        actions: RunActions {
            jobs,
            commands,
            idle,
            trigger,
        },
    })
}

/// Adds facts for reports to the plan: the offset of `job_start_clock_id` from wall time, and
/// whether idleness is shown for each processor.
///
/// # Errors
/// The line that refuses a clock.
fn add_clocks(jobs: &Jobs, plan: &mut Plan) -> Result<(), String> {
    let presentation = &mut plan.origin.presentation.other;
    for (number, job) in jobs.jobs.iter().enumerate() {
        let clock = job.options.report.job_start_clock_id;
        if clock != 0 {
            let ahead = logs::clock_ahead("job_start_clock_id", clock)?;
            presentation.push((format!("job_start_ahead_ns.{number}"), ahead.to_string()));
        }
    }
    if jobs.flags.idle_profile == Some(IdleShown::EachCpu) {
        presentation.push(("idle_prof".into(), "percpu".into()));
    }
    Ok(())
}

/// Prints messages about workers that cannot begin.
fn print_unusable(unusable: &[Unusable], output: &mut Output) {
    for error in unusable {
        match (error.line.is_empty(), error.function.is_empty()) {
            (true, _) => output.print_error_line(&failures::process_line(error.errno, &error.function)),
            (false, true) => output.print_problem(&error.line),
            (false, false)
                if matches!(error.function.as_str(), "cpuio" | "exec") || error.function.starts_with("open(") =>
            {
                output.print_problem(&error.line);
                output.print_error_line(&failures::process_line(error.errno, &error.function));
            }
            // fio has not created the process of the clone yet.
            (false, false) => {
                output.print_problem(&error.line);
                output.print_problem(&failures::format_error_line(0, error.errno, &error.function));
            }
        }
    }
    let help = |error: &Unusable| match error.function.as_str() {
        "total_file_size" => Some("set a size, or use an existing file or device that is not empty"),
        "cpuio" => Some("set the share of a processor to use, such as cpuload=50"),
        "exec" => Some("set a program, such as program=/usr/bin/vmstat"),
        _ if error.line.is_empty() || error.errno != 2 => failures::help_for_errno(error.errno),
        _ => Some("check the spelling: the file does not exist and must not be created"),
    };
    let mut hints: Vec<&str> = unusable.iter().filter_map(help).collect();
    hints.dedup();
    hints.iter().for_each(|hint| output.print_hint(hint));
}

/// Marks all clones of a job as skipped, with error 0: skipping is not an error.
fn skip_all_clones(plan: &Plan, job: (usize, usize)) -> Vec<Unusable> {
    let clones = plan.steps[job.0].jobs[job.1].workers.len();
    let error_of_clone = |clone| Unusable {
        job,
        clone,
        line: String::new(),
        errno: 0,
        function: String::new(),
    };
    (0..clones).map(error_of_clone).collect()
}

fn conclude(session: &Session, jobs: &Jobs, results: Results, triggered: bool, output: &mut Output) -> u8 {
    failures::messages_for_results(&results).print(output, |line| line.to_owned());
    let lost = lost_host_lines(&results);
    lost.iter()
        .for_each(|line| output.print_problem(&format!("fio: {line}")));
    print_reports(jobs, &results, output);
    print_findings(&results);
    let is_recorded = record_results(&results, EntryKind::Fio);
    let failed = failures::count_failed_workers(&results).max(lost.len());
    let signalled = session.process.is_interrupted() && (!triggered || signals::stop_signal().is_some());
    exit_code(signalled, failed, is_recorded)
}

/// Returns fio's exit code: the number of failed jobs. `is_recorded` is false if an output is lost.
fn exit_code(signalled: bool, failed: usize, is_recorded: bool) -> u8 {
    match (signalled, is_recorded) {
        (true, _) => SIGNALLED,
        (false, true) => (failed % 256) as u8,
        (false, false) => ((failed % 256) as u8).max(FAILED),
    }
}

/// Prints the requested reports in fio's order.
fn print_reports(jobs: &Jobs, results: &Results, output: &mut Output) {
    let formats = &jobs.flags.formats;
    if formats.terse {
        output.print_report(|out| reports::terse(results, out));
    }
    match (formats.json_plus, formats.json) {
        (true, _) => output.print_report(|out| reports::json_plus(results, out)),
        (false, true) => output.print_report(|out| reports::json(results, out)),
        (false, false) => {}
    }
    if formats.normal {
        output.print_report(|out| reports::normal(results, out));
    }
}

/// Formats the lines about files that are created or extended, one for each clone.
fn layout_lines(plan: &Plan, unusable: &[Unusable]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut noted: Vec<u32> = Vec::new();
    for ((step, number), job) in plan.jobs() {
        for (clone, worker) in job.workers.iter().enumerate() {
            if unusable
                .iter()
                .any(|error| error.job == (step, number) && error.clone == clone)
            {
                continue;
            }
            let (mut files, mut bytes) = (0, 0_u64);
            for id in worker.streams.iter().flat_map(|stream| stream.target.ids()) {
                let target = plan.target(*id);
                let Prepare::LayOut {
                    size, on_open: false, ..
                } = target.prepare
                else {
                    continue;
                };
                let meta = std::fs::metadata(&target.path);
                let present = match &meta {
                    Ok(meta) if !meta.is_file() => continue,
                    Ok(meta) => meta.len(),
                    Err(_) => 0,
                };
                if present < size.0 && !noted.contains(&id.0) {
                    noted.push(id.0);
                    files += 1;
                    bytes = bytes.saturating_add(size.0);
                }
            }
            if files > 0 {
                lines.push(reports::laying_out(&job.name, files, bytes));
            }
        }
    }
    lines
}

/// Creates the parent directories of files that will be created.
fn make_directories(plan: &Plan) -> Result<(), String> {
    for target in &plan.targets {
        if !matches!(target.prepare, Prepare::LayOut { may_create: true, .. }) {
            continue;
        }
        let Some(folder) = Path::new(&target.path).parent() else {
            continue;
        };
        if folder.as_os_str().is_empty() || folder.exists() {
            continue;
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("fio: failed to create dir ({}): {error}", folder.display()))?;
    }
    Ok(())
}
