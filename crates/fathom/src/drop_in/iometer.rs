//! `iometer`: runs a configuration, appends rows to a result file, and exits with 0 or 1.

use std::fs::{self, File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use archive::history::EntryKind;
use dialects::iometer::{self, Arguments, Lowered, Machine, ParseOutcome, Parsed, PathFacts};
use model::results::Results;
use report::formats::iometer as reports;

use super::{
    can_save_result, check_outputs, is_this_machine, note, print_findings, print_stderr, print_stdout, record_results,
};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::permissions;
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::user_file;

/// The exit code of failed and refused runs.
const FAILED: u8 = 1;

/// Runs a command line of Iometer. The first `skip` arguments are the program's name.
pub fn execute(session: &Session, skip: usize) -> ExitCode {
    match run(session, skip) {
        Ok(code) => ExitCode::from(code),
        Err(faults) => {
            faults.print(screen::colour_on_stderr());
            ExitCode::from(FAILED)
        }
    }
}

fn run(session: &Session, skip: usize) -> Result<u8, Faults> {
    let (program, words) = session.process.arguments.split_at(skip);
    let arguments = match parse_arguments(&program.join(" "), words)? {
        Ok(arguments) => arguments,
        Err(help) => return Ok(if print_stdout(&help).is_ok() { 0 } else { FAILED }),
    };
    if session.has_fleet() {
        let fault = Fault::new("cannot run an Iometer configuration with FATHOM_HOSTS: its managers define the hosts");
        return Err(fault.into_usage("run the configuration on each host, without FATHOM_HOSTS"));
    }
    let Some(results) = &arguments.results else {
        let fault = Fault::new(format!(
            "cannot run {} without a result file: fathom has only the batch mode of Iometer",
            arguments.config
        ));
        return Err(fault.into_usage("add `/r FILE`; its rows are appended"));
    };
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
    let (lowered, warnings) = lower(&arguments, &LocalEnv { reads_only: false }, seed)?;
    let Lowered {
        mut plan,
        notes,
        unused_maps,
        ..
    } = lowered;
    plan.origin.arguments.clone_from(&session.process.arguments);
    // The test differs from what the file asks for, so this is not a note that may be hidden.
    let warnings: Vec<String> = warnings.iter().map(|text| format!("warning: {text}")).collect();
    print_stderr(&warnings);
    notes.iter().chain(&unused_maps).for_each(|text| note(text));
    check_outputs(
        &[("results", Path::new(results))],
        &[PathBuf::from(&arguments.config)],
        &plan,
    )
    .map_err(|what| {
        let fault = Fault::new(what).help("use another file for the results");
        Faults::one(fault, Exit::Failed)
    })?;
    let opened = OpenOptions::new().append(true).create(true).open(results);
    let mut file = opened.map_err(|error| cannot_write(results, &error))?;
    if !can_save_result() {
        return Ok(FAILED);
    }
    let mut screen = Screen::line(!std::io::stderr().is_terminal());
    screen.begin(&plan, None);
    let permissions = permissions::from_env();
    let outcome = session
        .execution(plan, &permissions)
        .run(&mut |event| screen.handle_event(&event));
    screen.clear();
    append_results(&outcome?, results, &mut file)
}

/// Appends the results to the file, and returns the exit code.
fn append_results(results: &Results, path: &str, file: &mut File) -> Result<u8, Faults> {
    let is_recorded = record_results(results, EntryKind::Iometer);
    print_findings(results);
    let mut bytes = Vec::new();
    reports::write(results, &mut bytes)
        .and_then(|()| file.write_all(&bytes))
        .map_err(|error| cannot_write(path, &error))?;
    let failures: Vec<String> = results
        .workers()
        .filter_map(|worker| worker.failure.as_ref())
        .map(|failure| format!("error: {}: {}", failure.location, failure.what))
        .collect();
    print_stderr(&failures);
    let failed = !failures.is_empty() || results.interrupted || !is_recorded;
    Ok(if failed { FAILED } else { 0 })
}

/// Parses a command line. The inner error is the text of a requested help.
fn parse_arguments(program: &str, words: &[String]) -> Result<Result<Arguments, String>, Faults> {
    match iometer::command_line::read(program, words, cfg!(windows)) {
        ParseOutcome::Run(arguments) => Ok(Ok(arguments)),
        ParseOutcome::Help(text) => Ok(Err(text)),
        ParseOutcome::Wrong(what, help) => Err(Fault::new(what).into_usage(help)),
    }
}

/// Reads a command line without running it. Returns the plan, and notes about differences.
///
/// # Errors
/// The arguments or the configuration are wrong.
pub fn build_plan(words: &[String]) -> Result<Lowered, Faults> {
    match parse_arguments("iometer", words)? {
        Ok(arguments) => {
            let (mut lowered, warnings) = lower(&arguments, &LocalEnv { reads_only: true }, 1)?;
            lowered.notes.splice(0..0, warnings);
            Ok(lowered)
        }
        Err(_) => Err(Fault::new("no configuration file on the command line").into_usage("name one: `iometer x.icf`")),
    }
}

/// Reads the configuration, and lowers it to a plan. Also returns the warnings of the reader.
fn lower(arguments: &Arguments, env: &LocalEnv, seed: u64) -> Result<(Lowered, Vec<String>), Faults> {
    let path = Path::new(&arguments.config);
    let bytes = user_file::read_bytes(path, user_file::MAX_TEXT).map_err(|error| {
        let fault = Fault::new(format!("Cannot read from file: {}: {error}", arguments.config));
        Faults::one(fault.help("name the configuration file"), Exit::Usage)
    })?;
    // Configurations that are not UTF-8 are Latin-1.
    let text =
        String::from_utf8(bytes).unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect());
    if !iometer::is_one(&text) {
        let fault = Fault::new(format!(
            "{} is not an Iometer configuration: it has none of the sections",
            arguments.config
        ));
        return Err(fault.into_usage("name a file that Iometer saved (.icf)"));
    }
    let Parsed { config, warnings } = iometer::read(&arguments.config, &text)?;
    let lowered = iometer::lower(&config, arguments, env, cfg!(windows), seed)?;
    Ok((lowered, warnings))
}

fn cannot_write(path: &str, error: &std::io::Error) -> Faults {
    let fault = Fault::new(format!("Cannot write to file: {path}: {error}"));
    Faults::one(fault.help("name a result file in a writable directory"), Exit::Failed)
}

/// The environment of this machine.
struct LocalEnv {
    /// The configuration is not executed, so targets and managers of other machines are allowed.
    reads_only: bool,
}

impl Machine for LocalEnv {
    fn is_here(&self, name: &str) -> bool {
        self.reads_only || is_this_machine(name)
    }

    fn is_only_read(&self) -> bool {
        self.reads_only
    }

    fn find(&self, path: &str) -> PathFacts {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => PathFacts::Directory,
            Ok(meta) if meta.is_file() => PathFacts::File(meta.len()),
            Ok(_) => PathFacts::Device,
            Err(_) => PathFacts::Nothing,
        }
    }

    fn is_mount_point(&self, path: &str) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let point = |line: &str| line.split(' ').nth(1).map(|point| point.replace("\\040", " "));
        mounts.lines().any(|line| point(line).as_deref() == Some(path))
    }

    fn free_bytes(&self, folder: &str) -> Option<u64> {
        engine::sys::file::space(Path::new(folder)).ok().map(|(_, free)| free)
    }

    fn cpus(&self) -> u32 {
        engine::sys::thread::usable_cpus().len() as u32
    }
}
