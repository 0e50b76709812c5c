//! The program: chooses what to do, wires the parts, and turns what came of it into an exit code.
//!
//! Nothing is measured, judged or rendered here.

#![forbid(unsafe_code)]

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
mod outputs;
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
mod terminal;
mod user_data;
mod user_file;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::ArgMatches;
use exit::Exit;
use fault::{Fault, Faults};
use fleet::Part;
use process::Process;
use session::Session;

fn main() -> ExitCode {
    // The processor's clock is compared with the system's over as long a time as there is, so it starts first.
    let clock = process::start_clock();
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let tool = drop_in::detect_tool(&arguments);
    if let Some(fault) = find_non_utf8_arg(&words) {
        let exit = match tool {
            Some(_) => Exit::Failed,
            None => Exit::Usage,
        };
        return print_faults(&Faults::one(fault, exit));
    }
    let session = Session::new(Process::new(clock, arguments));
    // An agent has no command of its own.
    match fleet::join(&session.process) {
        Ok(Part::Alone { widened_from }) => session.was_widened(widened_from),
        Ok(Part::Leading(fleet)) => session.lead(*fleet),
        Ok(Part::Done(code)) => return code,
        Err(faults) => return print_faults(&faults),
    }
    let code = match tool {
        Some((tool, words)) => run_drop_in(&session, tool, words),
        None => run_command(&session),
    };
    session.disconnect_fleet();
    code.unwrap_or_else(|faults| print_faults(&faults))
}

/// Does what a command line of another tool asks for. The first `words` are the program's name.
fn run_drop_in(session: &Session, tool: drop_in::Tool, words: usize) -> Result<ExitCode, Faults> {
    connect_fleet(session, None)?;
    Ok(match tool {
        drop_in::Tool::Diskspd => drop_in::diskspd::carry_out(session, words),
        drop_in::Tool::Fio => drop_in::fio::carry_out(session, words),
    })
}

/// Does what the command line asks for.
fn run_command(session: &Session) -> Result<ExitCode, Faults> {
    let arguments = &session.process.arguments;
    let matches = match command_line::command_for(arguments).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return Ok(command_line::explain(&error)),
    };
    if let Some(("quick", given)) = matches.subcommand() {
        fleet::refuse(session.ranks(), "quick", given)?;
    }
    connect_fleet(session, matches.subcommand().map(|(_, given)| given))?;
    let done = match matches.subcommand() {
        Some(("quick", given)) => commands::quick::carry_out(session, given),
        Some(("run", given)) => commands::run::carry_out(session, given),
        Some(("presets", given)) => commands::presets::show(given),
        Some(("sweep", given)) => commands::sweep::carry_out(session, given),
        Some(("precondition", given)) => commands::precondition::carry_out(session, given),
        Some(("capture", given)) => commands::capture::carry_out(session, given),
        Some(("ab", given)) => commands::ab::carry_out(session, given),
        Some(("compare", given)) => commands::compare::carry_out(given),
        Some(("calc", given)) => commands::calc::carry_out(given),
        Some(("worker", given)) => commands::worker::carry_out(session, given),
        Some(("recover", given)) => commands::recover::carry_out(given),
        Some(("verify", given)) => commands::verify::carry_out(session, given),
        Some(("warm-up", given)) => commands::warm_up::carry_out(session, given),
        Some(("suite", given)) => commands::suite::carry_out(session, given),
        Some(("policies", given)) => commands::policies::show(given),
        Some(("advise", given)) => commands::advise::show(given),
        Some(("convert", given)) => commands::convert::carry_out(session, given),
        Some(("lint", given)) => commands::lint::carry_out(session, given),
        Some(("explain", given)) => commands::explain::carry_out(given),
        Some(("report", given)) => commands::report::carry_out(given),
        Some(("show", given)) => commands::show::carry_out(given),
        Some(("history", given)) => commands::history::carry_out(given),
        Some(("serve", given)) => commands::serve::carry_out(session, given),
        Some(("trend", given)) => commands::trend::carry_out(given),
        Some(("baseline", given)) => commands::baseline::carry_out(given),
        Some(("targets", given)) => commands::targets::show(given),
        Some(("selftest", given)) => commands::selftest::carry_out(session, given),
        Some(("schema", given)) => commands::schema::print(given),
        Some(("man", given)) => commands::man::print(given),
        Some(("completions", given)) => commands::completions::print(given),
        _ => unreachable!("clap asks for a subcommand"),
    };
    done.map(Exit::code)
}

/// Plans and results are text. A word that is none would name another file than the one that was meant. What the program itself is
/// called does not matter.
fn find_non_utf8_arg(words: &[OsString]) -> Option<Fault> {
    let (number, word) = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, word)| word.to_str().is_none())?;
    let what = format!("word {number} of the command line is no valid text: {word:?}");
    Some(Fault::new(what).help("rename the file, or name it by a link whose name is UTF-8 (Windows: UTF-16)"))
}

fn print_faults(faults: &Faults) -> ExitCode {
    faults.print(screen::colour_on_stderr());
    faults.exit().code()
}

/// Connects the hosts that the command line or the environment names.
fn connect_fleet(session: &Session, given: Option<&ArgMatches>) -> Result<(), Faults> {
    if session.leads() {
        return fleet::not_twice(given);
    }
    if let Some(others) = fleet::of_options(&session.process, given)? {
        session.lead(others);
    }
    Ok(())
}
