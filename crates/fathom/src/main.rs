//! The program: selects the command or the drop-in mode, connects the fleet, and returns the exit
//! code.
//!
//! Nothing is measured, judged or rendered here.

#![forbid(unsafe_code)]
// Output goes through `screen`, which escapes control characters.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod address;
mod catalogue;
mod command_line;
mod commands;
mod drop_in;
mod exit;
mod fault;
mod fleet;
mod history;
mod judged;
mod limits;
mod metadata;
mod named_files;
mod options;
mod outputs;
mod own_files;
mod pages;
mod permissions;
mod preflight;
mod process;
#[cfg(test)]
mod recommendations;
mod running;
mod screen;
mod session;
mod silenced;
mod slow_paths;
mod terminal;
mod user_data;
mod user_file;

use std::ffi::OsString;
use std::process::ExitCode;

use exit::Exit;
use fault::{Fault, Faults};
use fleet::FleetRole;
use process::Process;
use session::Session;

fn main() -> ExitCode {
    // Calibration compares the processor's clock with the system's over time, so it starts first.
    let clock = process::start_clock();
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut arguments: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let tool = drop_in::detect_tool(&arguments);
    if let Some(fault) = find_non_utf8_arg(&words) {
        let exit = match tool {
            Some(_) => Exit::Failed,
            None => Exit::Usage,
        };
        return print_faults(&Faults::one(fault, exit));
    }
    // A copy named like the tool accepts only its arguments.
    if let Some((_, 2)) = tool
        && let Err(fault) = drop_in::report_page::take_option(&mut arguments)
    {
        return print_faults(&Faults::one(fault, Exit::Failed));
    }
    let session = Session::new(Process::new(clock, arguments));
    let command = session.process.arguments.get(1).and_then(|name| commands::find(name));
    // An agent only follows its command line, so it does not join a launcher's fleet.
    match fleet::join(&session.process, command.is_some_and(|row| row.name == "agent")) {
        Ok(FleetRole::Alone { launcher_cpu_count }) => session.set_launcher_cpu_count(launcher_cpu_count),
        Ok(FleetRole::Coordinator(fleet)) => session.set_fleet(*fleet),
        Ok(FleetRole::AgentDone(code)) => return code,
        Err(faults) => return print_faults(&faults),
    }
    engine::sys::signals::set_examining(tool.is_some() || command.is_some_and(|row| row.group.examines_targets()));
    let code = match tool {
        Some((tool, words)) => run_drop_in(&session, tool, words),
        None => run_command(&session),
    };
    session.disconnect_fleet();
    code.unwrap_or_else(|faults| print_faults(&faults))
}

/// Runs the drop-in mode of a tool. The first `words` arguments are the program's name.
fn run_drop_in(session: &Session, tool: drop_in::Tool, words: usize) -> Result<ExitCode, Faults> {
    if let Some(topic) = drop_in::requested_help(tool, &session.process.arguments) {
        return commands::help::print(Some(topic)).map(Exit::code);
    }
    connect_fleet(session, None)?;
    session.set_translates(drop_in::is_keeping_results());
    Ok(match tool {
        drop_in::Tool::Diskspd => drop_in::diskspd::execute(session, words),
        drop_in::Tool::Vdbench => drop_in::vdbench::execute(session, words),
        drop_in::Tool::Fio => drop_in::fio::execute(session, words),
        drop_in::Tool::Iometer => drop_in::iometer::execute(session, words),
    })
}

fn run_command(session: &Session) -> Result<ExitCode, Faults> {
    let arguments = &session.process.arguments;
    let mut command = command_line::command_for(arguments);
    let matches = match command.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error) => return Ok(command_line::print_error(error, arguments)),
    };
    if engine::sys::signals::is_examining() {
        slow_paths::watch(arguments);
    }
    named_files::check_distinct_files(&command, &matches)?;
    let (name, args) = matches.subcommand().expect("clap requires a subcommand");
    // Only commands that measure have --hosts.
    if let Ok(hosts) = args.try_get_one::<String>("hosts") {
        if name == "quick" {
            fleet::refuse_fleet(session.ranks(), name, hosts)?;
        }
        connect_fleet(session, hosts)?;
    }
    let row = commands::find(name).expect("clap accepts only rows");
    (row.execute)(session, args).map(Exit::code)
}

/// Refuses arguments that are not UTF-8, except the program's name. Plans and results store names
/// as text, which would name another file.
fn find_non_utf8_arg(words: &[OsString]) -> Option<Fault> {
    let (number, word) = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, word)| word.to_str().is_none())?;
    let message = format!("argument {number} is not valid Unicode: {word:?}");
    Some(Fault::new(message).help("rename the file, or use a link whose name is UTF-8 (Windows: UTF-16)"))
}

fn print_faults(faults: &Faults) -> ExitCode {
    faults.print(screen::colour_on_stderr());
    faults.exit().code()
}

/// Connects the hosts that the command line or the environment names.
fn connect_fleet(session: &Session, named: Option<&String>) -> Result<(), Faults> {
    if session.has_fleet() {
        return fleet::refuse_hosts_under_launcher(named);
    }
    if let Some(others) = fleet::connect_from_options(&session.process, named)? {
        session.set_fleet(others);
    }
    Ok(())
}
