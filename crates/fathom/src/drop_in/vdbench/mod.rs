//! `vdbench`: runs parameter files, with Vdbench's console output, files and exit codes.

mod commands;
mod cpu;
mod failure;
mod hosts;
pub mod local_env;
mod loops;
mod monitor;
mod native_results;
mod on_files;
mod output;
mod parse;
mod reports;
mod run_printer;
mod validation;

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::run::{RunError, RunHooks};
use dialects::Diagnostic;
use dialects::vdbench::{
    self, Command, Format, Lowered, Parameters, Run, RunRate, Transfer, VdbenchEnv, expand, format_plan, lower,
    needs_format, read_command, read_parameters,
};
use model::event::{EndReason, Event};
use model::plan::Plan;
use model::results::Results;
use report::formats::vdbench::{FlatFacts, Layout};

use super::{check_outputs, lost_host_lines, note, print_findings, print_stdout};
use crate::permissions;
use crate::session::Session;
use cpu::CpuReader;
use engine::sys::signals;
use failure::{Failure, failure_from_error};
use local_env::{LocalEnv, SELF_TEST_FILE_NAME};
use monitor::EarlyEnds;
use output::{Output, time};
use reports::{header_time, report_files};
use run_printer::{Outcome, RowStyle, RunPrinter};

/// The exit code of success.
const DONE: u8 = 0;
/// The exit code of wrong input and of failed runs.
const FAILED: u8 = 157;

/// The environment variable that selects the columns of an older release.
const LAYOUT: &str = "FATHOM_VDBENCH_LAYOUT";
/// The environment variable with the seed of random decisions.
const SEED: &str = "FATHOM_VDBENCH_SEED";

/// Runs a command line of Vdbench. The first `skip` arguments are the program's name.
pub fn execute(session: &Session, skip: usize) -> ExitCode {
    let arguments = session.process.arguments.get(skip..).unwrap_or_default();
    print_banner();
    let function = arguments
        .split_first()
        .filter(|(first, _)| parse::NAMES.contains(&&***first));
    if let Some((_, rest)) = function {
        return exit_code(parse::execute(rest).map_err(Failure::from), None);
    }
    let begun = read_command(arguments, &std::env::temp_dir().display().to_string())
        .map_err(Failure::from)
        .and_then(|command| Drive::begin(session, command));
    match begun {
        Ok(drive) => drive.run_and_report(),
        Err(failure) => exit_code(Err(failure), None),
    }
}

/// Reports a failure, and returns the exit code.
fn exit_code(done: Result<(), Failure>, output: Option<&mut Output>) -> ExitCode {
    ExitCode::from(match done {
        Ok(()) => DONE,
        Err(failure) => {
            failure.report(output);
            FAILED
        }
    })
}

/// A command line that is only translated.
pub struct Translation {
    /// The plan of all its runs.
    pub plan: Plan,
    /// Settings that the plan does not contain.
    pub omitted: Vec<String>,
    /// Parameters and text of the files without effect, one sentence each.
    pub notes: Vec<String>,
}

/// Reads a command line without running it.
///
/// # Errors
/// The command line or a file is wrong.
pub fn build_plan(arguments: &[String]) -> Result<Translation, Diagnostic> {
    let mut command = read_command(arguments, &std::env::temp_dir().display().to_string())?;
    let mut env = LocalEnv::default();
    env.reads_only = true;
    take_self_test(&mut command, &mut env);
    let mut parameters = read_parameters(&command, &mut env)?;
    let validation = parameters.validation.take();
    let data_errors = parameters.general.data_errors.replace(1).filter(|count| *count > 1);
    if let Some(refusal) = parameters.refusals.first() {
        return Err(refusal.clone());
    }
    let runs = expand(&parameters, command.start_at.as_deref())?;
    local_env::check_paths_are_accessible(&runs, false)?;
    if let Some(validation) = &validation {
        // Report refused settings.
        validation
            .clone()
            .place_maps(&runs, &parameters, Path::new("."), &env)?;
    }
    let (plan, mut omitted) = vdbench::lower_all(&runs, &parameters, &env, seed().unwrap_or(1))?;
    if let [_, _, ..] = &*parameters.hosts {
        omitted.push(format!(
            "hd={}: the test of several hosts is read as that of one",
            parameters.labels().join(", ")
        ));
    }
    omitted.extend(data_errors.map(|count| format!("data_errors={count}: the first failed operation ends it")));
    let commands = runs.iter().map(|run| &run.commands);
    let mut commands = commands
        .chain([&parameters.general.commands])
        .flat_map(|commands| commands.named());
    if let Some((name, _)) = commands.next() {
        omitted.push(format!("{name}: commands, which only `fathom vdbench` runs"));
    }
    omitted.extend(validation.map(|_| "data validation, which only `fathom vdbench` does".to_owned()));
    Ok(Translation {
        plan,
        omitted,
        notes: parameters.notes,
    })
}

/// Replaces the parameter files by the built-in test, if the command requests it.
fn take_self_test(command: &mut Command, env: &mut LocalEnv) {
    if let Some((text, _)) = &command.self_test {
        env.self_test_text = Some(text.clone());
        command.files = vec![SELF_TEST_FILE_NAME.to_owned()];
    }
}

fn print_banner() {
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "\n\nVdbench distribution: vdbench50407 (run by fathom {version})\nFor documentation, see docs/vdbench.md of fathom.\n\n"
    );
    let _ = print_stdout(&text);
}

fn seed() -> Option<u64> {
    std::env::var(SEED).ok()?.parse().ok()
}

/// The execution of a command line.
struct Drive<'a> {
    session: &'a Session,
    command: Command,
    env: LocalEnv,
    output: Output,
    style: RowStyle,
    seed: u64,
    saved_results: u32,
    /// Number of pages of runs of the parameter file.
    written_pages: u32,
    printed_runs: u32,
    /// Rate of the last run in operations per second.
    last_rate: f64,
    /// Number of key blocks that data validation has compared.
    compared: u64,
    /// Locks of the maps of data validation.
    map_locks: Vec<File>,
    /// `compratio=` of the run that wrote the journals.
    compratio_before: Option<f64>,
    run_links: Vec<String>,
    /// Width of the names on the page of anchors.
    anchor_width: usize,
}

impl<'a> Drive<'a> {
    fn begin(session: &'a Session, mut command: Command) -> Result<Drive<'a>, Failure> {
        if session.has_fleet() {
            let text = "cannot run a parameter file with `--hosts`: `hd=` defines the hosts".to_owned();
            return Err(Failure::with_help(text, "run it without `--hosts`"));
        }
        let layout = match std::env::var(LAYOUT).as_deref() {
            Err(_) | Ok("5.04.07" | "50407" | "") => Layout::V50407,
            Ok("5.04.06" | "50406") => Layout::V50406,
            Ok(other) => {
                return Err(format!(
                    "invalid value `{other}` of {LAYOUT}: valid values are \
                5.04.06 and 5.04.07"
                )
                .into());
            }
        };
        let mut env = LocalEnv::default();
        take_self_test(&mut command, &mut env);
        if let Some((text, true)) = &command.self_test {
            let path = text.split_once("lun=").and_then(|(_, rest)| rest.split(',').next());
            path.map(fs::remove_file);
        }
        for file in &command.files {
            env.read_file(file).map_err(|why| match Path::new(file).exists() {
                true => format!("cannot read parameter file {file}: {why}"),
                false => format!("Requested parameter file does not exist: {file}"),
            })?;
        }
        let (output, is_new) = Output::open(command.output.as_deref().unwrap_or("output"))?;
        let clock = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |time| time.as_nanos() as u64);
        let mut drive = Drive {
            session,
            style: RowStyle {
                layout,
                decimal: command.decimal,
                hosts: vec!["localhost".into()],
                in_fleet: false,
                files: None,
            },
            command,
            env,
            output,
            seed: seed().unwrap_or(clock),
            saved_results: 0,
            written_pages: 0,
            printed_runs: 0,
            last_rate: 0.0,
            compared: 0,
            map_locks: Vec::new(),
            compratio_before: None,
            run_links: Vec::new(),
            anchor_width: 0,
        };
        drive.output.create(
            "logfile",
            &[
                String::new(),
                "Vdbench distribution: vdbench50407".into(),
                String::new(),
            ],
        )?;
        if is_new {
            let folder = drive.output.folder.display().to_string();
            drive
                .output
                .print_stamped(&format!("Created output directory '{folder}'"));
        }
        for argument in drive.command.scanned.clone() {
            drive
                .output
                .print_stamped(&format!("input argument scanned: '{argument}'"));
        }
        Ok(drive)
    }

    /// Runs everything. Reports a failure on the console and in the output files.
    fn run_and_report(mut self) -> ExitCode {
        let done = self.run_command();
        self.session.disconnect_fleet();
        exit_code(done, Some(&mut self.output))
    }

    fn run_command(&mut self) -> Result<(), Failure> {
        let head = format!("Vdbench error log, created {} ", header_time());
        self.output.create(
            "errorlog",
            &[head, "Error log. If there are no error messages beyond this line then there were no Data Validation or I/O errors.".into(), String::new()],
        )?;
        let mut parameters = read_parameters(&self.command, &mut self.env)?;
        self.write_parmfile(&parameters)?;
        for text in &parameters.notes {
            note(text);
            self.output.write("logfile", &format!("{} note: {text}", time()));
        }
        // A refused parameter may be what an RD lacks.
        let refused = |error| parameters.refusals.first().cloned().unwrap_or(error);
        let runs = expand(&parameters, self.command.start_at.as_deref()).map_err(refused)?;
        self.style.files = on_files::file_columns(&runs);
        if self.command.simulate {
            return self.simulate(&runs);
        }
        if let Some(refusal) = parameters.refusals.first() {
            return Err(refusal.clone().into());
        }
        commands::check_commands(&runs, &parameters)?;
        self.style.in_fleet = parameters.uses_fleet();
        // The figures of one process must not be reported as figures of several hosts.
        if self.style.in_fleet || parameters.hosts.len() == 1 {
            self.style.hosts = parameters.labels();
        }
        if !self.style.in_fleet {
            local_env::check_paths_are_accessible(&runs, true)?;
        }
        self.place_maps(&runs, &mut parameters)?;
        let formats = needs_format(&runs, &parameters, &self.env);
        self.prepare_anchors(&runs, &parameters)?;
        let runs = vdbench::with_tree_formats(&runs, &parameters);
        self.check_guard(&runs, &formats, &parameters)?;
        let format_run = (!formats.is_empty()).then(|| {
            let block = format_plan(&formats, &parameters, 0).plan.steps[0].jobs[0].workers[0].streams[0]
                .pattern
                .longest(&model::mix::Mix::WRITES)
                .0;
            Run {
                compratio: parameters.general.compratio,
                ..Run::format(&formats, block)
            }
        });
        let recovery_runs = self.open_maps(&parameters)?.recovery_runs(&parameters);
        let all: Vec<&Run> = recovery_runs.iter().chain(&format_run).chain(&runs).collect();
        let rounds = parameters.general.repeats.unwrap_or(1) as usize;
        let in_round: usize = runs.iter().map(|run| 1 + run.points.len()).sum();
        let before = recovery_runs.len() + usize::from(format_run.is_some());
        self.check_results(rounds.saturating_mul(in_round).saturating_add(before))?;
        if let Some(file) = &parameters.general.monitor {
            monitor::prepare(Path::new(file))?;
        }
        self.create_reports(&all, &parameters.labels())?;
        self.connect_hosts(&parameters)?;
        self.output.print_stamped("All slaves are now connected");
        let done = self.run_all(&recovery_runs, (format_run.as_ref(), &formats), &runs, &parameters);
        self.remove_maps(&parameters);
        done?;
        self.finish("execution")
    }

    /// Lowers every run, and checks its targets with the guard. So no run is refused after hours of
    /// other runs. The guard of each other host checks a run when it begins.
    fn check_guard(&self, runs: &[Run], formats: &[Format], parameters: &Parameters) -> Result<(), Failure> {
        let permissions = permissions::from_env();
        let mut checked = Vec::new();
        let mut refusals = Vec::new();
        let mut check = |plan: &Plan| {
            let judged = ::run::targets::judge(plan, &permissions).map_err(RunError::Targets)?;
            for refusal in judged.iter().filter_map(|target| target.decision.refusal().cloned()) {
                if !refusals.contains(&refusal) {
                    refusals.push(refusal);
                }
            }
            Ok::<(), RunError>(())
        };
        if !formats.is_empty() {
            check(&format_plan(formats, parameters, self.seed).plan).map_err(|error| failure_from_error(&error))?;
        }
        for run in runs {
            let plan = lower(run, parameters, &self.env, self.seed)?.plan;
            let monitor = parameters.general.monitor.as_ref();
            let monitor: Vec<_> = monitor.map(|file| ("monitor=", Path::new(file))).into_iter().collect();
            check_outputs(&monitor, &self.env.inputs(), &plan)?;
            if self.style.in_fleet {
                continue;
            }
            let luns: Vec<&str> = run.sds.iter().map(|sd| &*sd.lun).collect();
            if run.files.is_some() {
                check(&plan).map_err(|error| failure_from_error(&error))?;
                continue;
            }
            let key = (luns, run.workloads.iter().any(|(wd, _)| wd.rdpct < 100));
            if !checked.contains(&key) {
                check(&plan).map_err(|error| failure_from_error(&error))?;
                checked.push(key);
            }
        }
        match refusals.is_empty() {
            true => Ok(()),
            false => Err(failure_from_error(&RunError::Refused(refusals))),
        }
    }

    /// Runs start on a full second.
    fn sleep_until_full_second(&self) -> Result<(), Failure> {
        let past = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.subsec_nanos());
        self.sleep(Duration::from_nanos(1_000_000_000 - u64::from(past)))
    }

    fn sleep(&self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.session.process.interrupt_flag().load(Ordering::Relaxed) {
                return Err("Vdbench was interrupted".to_owned().into());
            }
            std::thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn run(&mut self, run: &Run, parameters: &Parameters) -> Result<Outcome, Failure> {
        let lowered = lower(
            run,
            parameters,
            &self.env,
            self.seed.wrapping_add(u64::from(self.printed_runs)),
        )?;
        self.execute(run, lowered, parameters)
    }

    fn execute(&mut self, run: &Run, mut lowered: Lowered, parameters: &Parameters) -> Result<Outcome, Failure> {
        let origin = &mut lowered.plan.origin;
        origin.arguments.clone_from(&self.session.process.arguments);
        self.check_next_result(&lowered.plan)?;
        self.sleep_until_full_second()?;
        self.report_sizes(run, &lowered.plan);
        let started = format!("Starting RD={}", run.start_text(false));
        self.output.print_stamped(&started);
        let heading = format!(
            "<a name=\"_{}\"></a><i><b>{} {started}</b></i>",
            self.printed_runs,
            time()
        );
        for file in report_files(run, &self.style) {
            self.output.write(&file, "");
            self.output.write(&file, &heading);
            self.output.write(&file, "");
        }
        self.write_anchor_rows(run, &lowered.plan);
        let has_headers = self.printed_runs.is_multiple_of(10);
        self.printed_runs += 1;
        let facts = flat_facts(run, lowered.lun_bytes, self.style.decimal);
        let limits = parameters.general.histogram.clone();
        self.prepare_tree_maps(run, parameters)?;
        self.mark_maps(parameters, false)?;
        let mut style = self.style.clone();
        on_files::set_requested(&mut style, run);
        let finished = AtomicBool::new(false);
        let ends = EarlyEnds {
            max_bytes: lowered.max_bytes,
            monitor: parameters.general.monitor.as_deref().map(Path::new),
            finished: &finished,
        };
        let reported = (&lowered.job_labels[..], &limits[..]);
        let mut printer = RunPrinter::new(run, facts, style, reported, ends, &mut self.output);
        printer.write_status("Starting");
        let permissions = permissions::from_env();
        let (in_fleet, interrupt) = (self.style.in_fleet, self.session.process.interrupt_flag());
        let hooks = RunHooks {
            finished: Some(&finished),
            ..RunHooks::default()
        };
        let execution = self.session.execution(lowered.plan, &permissions).with_hooks(hooks);
        let mut cpu_reader = CpuReader::new();
        let (sender, events) = mpsc::channel();
        // A thread of its own prints: while a slow console blocked the source of the events, it
        // would merge intervals.
        let (outcome, printer) = std::thread::scope(|scope| {
            let printing = scope.spawn(move || {
                for (event, cpu) in events {
                    printer.handle_event(&event, cpu);
                }
                printer
            });
            let outcome = execution.run(&mut |event| {
                // Jobs of other hosts do not end with a failed one by themselves.
                let has_failed = matches!(&event, Event::JobEnded { reason, .. } if *reason == EndReason::Failed);
                // Nor do they end with `finished`.
                if in_fleet && (has_failed || finished.load(Ordering::Relaxed)) {
                    interrupt.store(true, Ordering::Relaxed);
                }
                let _ = sender.send((event, cpu_reader.read()));
            });
            drop(sender);
            let printer = printing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (outcome, printer)
        });
        let mut results = outcome.map_err(|error| failure_from_error(&error))?;
        if in_fleet && finished.load(Ordering::Relaxed) && signals::stop_signal().is_none() {
            interrupt.store(false, Ordering::Relaxed);
            results.interrupted = false;
        }
        let outcome = printer.finish(&results, &lowered.workload_of, has_headers);
        self.mark_maps(parameters, true)?;
        self.report_results(run, &results, &outcome, parameters)?;
        self.last_rate = outcome.rate;
        Ok(outcome)
    }

    /// Records and reports the results of a run. Fails if the run has failed.
    fn report_results(
        &mut self,
        run: &Run,
        results: &Results,
        outcome: &Outcome,
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        self.record_results(results)?;
        print_findings(results);
        let errors = self.report_io_errors(results) + self.report_validation(results, parameters)?;
        let failures: Vec<_> = results.workers().filter_map(|worker| worker.failure.as_ref()).collect();
        for failure in &failures {
            let line = format!("{} {}: {}", time(), failure.location, failure.what);
            self.output.print_line(&line);
            self.output.write("errorlog", &line);
        }
        if errors > 0 || !failures.is_empty() {
            let help = failures.iter().find_map(|failure| failure.help.as_ref());
            let max = parameters.general.errors_max();
            // Below the limit, a failed operation does not end a worker. The results do not include
            // errors of the warm-up, so check the failures of workers too.
            let ends = failures
                .iter()
                .any(|failure| failure.operation.is_some() && failure.errno.is_some());
            let text = match errors >= max || ends {
                true => format!("'data_errors={max}' requested. Abort rd={} after last error.", run.name),
                false => "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.".to_owned(),
            };
            let help_lines = help.iter().map(|help| format!("help: {help}")).collect();
            return Err(Failure { text, more: help_lines });
        }
        if let Some(lost) = lost_host_lines(results).into_iter().next() {
            return Err(lost.into());
        }
        if results.interrupted {
            return Err("Vdbench was interrupted".to_owned().into());
        }
        if let Some(what) = self.output.failed.take() {
            return Err(what.into());
        }
        let ended_early = outcome.intervals < run.intervals().0;
        if outcome.request.is_some() || run.maxdata.is_some() && ended_early {
            // What ended it was printed.
        } else if run.files.is_some() {
            self.report_end_on_files(run, ended_early);
        } else if run.elapsed.is_none() || ended_early && run.ends_with_data() {
            self.output
                .print_stamped("All sequential workloads on all slaves are done.");
            self.output.print_stamped(
                "This triggers end of run inspite of possibly some non-sequential workloads that are still running.",
            );
        }
        Ok(())
    }

    /// Prints the runs without executing them.
    fn simulate(&mut self, runs: &[Run]) -> Result<(), Failure> {
        // The rate of a curve in a simulation.
        const BASE: f64 = 10_000.0;
        self.run_links = Vec::new();
        self.create_common(&[])?;
        for run in runs {
            let points = run.points.iter().map(|percent| run.point(*percent, BASE));
            for run in [run.clone()].into_iter().chain(points) {
                let line = format!("{} Simulating RD={}", time(), run.start_text(true));
                self.output.print_line(&line);
                self.output.write("summary", &line);
            }
        }
        self.finish("simulation")
    }

    /// Prints the last lines of a successful command.
    fn finish(&mut self, what: &str) -> Result<(), Failure> {
        self.output.check()?;
        let line = format!("{} Vdbench {what} completed successfully", time());
        self.output.write("summary", &line);
        self.output
            .write("status", &format!("{}\tVdbench complete", output::timestamp()));
        let folder = self.output.folder.display().to_string();
        self.output
            .print_line(&format!("{line}. Output directory: {folder} \n"));
        Ok(self.output.check()?)
    }
}

/// Collects a run's settings for the flat file. A setting needs the same value in all workloads.
fn flat_facts(run: &Run, lun_bytes: u64, decimal: bool) -> FlatFacts {
    fn common<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }
    let common_value = |value: fn(&vdbench::Wd) -> f64| common(run.workloads.iter().map(|(wd, _)| value(wd)));
    let size = |wd: &vdbench::Wd| match wd.xfersize {
        Transfer::One(size) | Transfer::Steps(size, ..) => Some(size),
        Transfer::Shares(ref shares) => shares.first().map(|(size, _)| *size),
    };
    FlatFacts {
        run: run.name.clone(),
        reqrate: match run.rate {
            // The highest of the list.
            RunRate::Variable => run.course.iter().map(|(rate, _)| *rate).fold(0.0, f64::max),
            rate => rate.requested(),
        },
        xfersize: common(run.workloads.iter().map(|(wd, _)| size(wd))).flatten(),
        threads: match run.workloads.iter().any(|(wd, _)| wd.threads.is_some()) {
            true if !run.has_threads_loop => common(run.workloads.iter().map(|(wd, _)| wd.threads)).flatten(),
            _ => common(run.sds.iter().map(|sd| sd.threads)),
        },
        threads_of_run: run.has_threads_loop,
        rdpct: common_value(|wd| f64::from(wd.rdpct)),
        rhpct: common_value(|wd| wd.hits.0),
        whpct: common_value(|wd| wd.hits.1),
        seekpct: common_value(|wd| f64::from(wd.seekpct)),
        lun_bytes,
        compratio: run.compratio,
        decimal,
    }
}
