//! The program: chooses what to do, wires the parts, and turns what came of it into an exit code.
//!
//! Nothing is measured, judged or rendered here.

#![forbid(unsafe_code)]

mod address;
mod command_line;
mod commands;
mod drop_in;
mod exit;
mod fault;
mod fleet;
mod history;
mod limits;
mod metadata;
mod outputs;
mod pages;
mod preflight;
#[cfg(test)]
mod recommendations;
mod running;
mod screen;
mod session;
mod terminal;
mod user_data;

use std::ffi::OsString;
use std::process::ExitCode;

use exit::Exit;

fn main() -> ExitCode {
    // The processor's clock is compared with the system's over as long a time as there is, so it starts first.
    let clock = session::start_clock();
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let called_for = drop_in::called_for(&arguments);
    if let Some(fault) = not_text(&words) {
        let exit = if called_for.is_some() {
            Exit::Failed
        } else {
            Exit::Usage
        };
        return told(&fault::Faults::one(fault, exit));
    }
    let session = session::Session::new(clock, arguments.clone());
    // A process that another one leads has no command of its own.
    match fleet::join(&session) {
        Ok(fleet::Part::Leading(None)) => {}
        Ok(fleet::Part::Leading(Some(others))) => session.lead(*others),
        Ok(fleet::Part::Done(code)) => return code,
        Err(faults) => return told(&faults),
    }
    if let Some((tool, words)) = called_for {
        if let Err(faults) = bring(&session, None) {
            return told(&faults);
        }
        let code = match tool {
            drop_in::Tool::Diskspd => drop_in::diskspd::carry_out(&session, words),
            drop_in::Tool::Fio => drop_in::fio::carry_out(&session, words),
        };
        session.part();
        return code;
    }
    let matches = match command_line::command_for(&arguments).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return command_line::explain(&error),
    };
    let alone = match matches.subcommand() {
        Some(("quick", given)) => fleet::refuse(&session, "quick", given),
        _ => Ok(()),
    };
    if let Err(faults) = alone.and_then(|()| bring(&session, matches.subcommand().map(|(_, given)| given))) {
        return told(&faults);
    }
    let done = match matches.subcommand() {
        Some(("quick", given)) => commands::quick::carry_out(&session, given),
        Some(("run", given)) => commands::run::carry_out(&session, given),
        Some(("presets", given)) => commands::presets::show(given),
        Some(("sweep", given)) => commands::sweep::carry_out(&session, given),
        Some(("precondition", given)) => commands::precondition::carry_out(&session, given),
        Some(("capture", given)) => commands::capture::carry_out(&session, given),
        Some(("ab", given)) => commands::ab::carry_out(&session, given),
        Some(("compare", given)) => commands::compare::carry_out(given),
        Some(("calc", given)) => commands::calc::carry_out(given),
        Some(("worker", given)) => commands::worker::carry_out(&session, given),
        Some(("recover", given)) => commands::recover::carry_out(given),
        Some(("verify", given)) => commands::verify::carry_out(&session, given),
        Some(("warm-up", given)) => commands::warm_up::carry_out(&session, given),
        Some(("suite", given)) => commands::suite::carry_out(&session, given),
        Some(("policies", given)) => commands::policies::show(given),
        Some(("advise", given)) => commands::advise::show(given),
        Some(("convert", given)) => commands::convert::carry_out(&session, given),
        Some(("lint", given)) => commands::lint::carry_out(&session, given),
        Some(("explain", given)) => commands::explain::carry_out(given),
        Some(("report", given)) => commands::report::carry_out(given),
        Some(("show", given)) => commands::show::carry_out(given),
        Some(("history", given)) => commands::history::carry_out(given),
        Some(("serve", given)) => commands::serve::carry_out(&session, given),
        Some(("trend", given)) => commands::trend::carry_out(given),
        Some(("baseline", given)) => commands::baseline::carry_out(given),
        Some(("targets", given)) => commands::targets::show(given),
        Some(("selftest", given)) => commands::selftest::carry_out(&session, given),
        Some(("schema", given)) => commands::schema::print(given),
        Some(("man", given)) => commands::man::print(given),
        Some(("completions", given)) => commands::completions::print(given),
        _ => unreachable!("clap asks for a subcommand"),
    };
    session.part();
    match done {
        Ok(exit) => exit.code(),
        Err(faults) => told(&faults),
    }
}

/// Plans and results are text. A word that is none would name another file than the one that was meant. What the program itself is
/// called does not matter.
fn not_text(words: &[OsString]) -> Option<fault::Fault> {
    let (number, word) = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, word)| word.to_str().is_none())?;
    let what = format!("word {number} of the command line is no valid text: {word:?}");
    Some(fault::Fault::new(what).help("rename the file, or name it by a link whose name is UTF-8 (Windows: UTF-16)"))
}

fn told(faults: &fault::Faults) -> ExitCode {
    faults.print(screen::colour_on_stderr());
    faults.exit().code()
}

/// Brings the hosts together that are named.
fn bring(session: &session::Session, given: Option<&clap::ArgMatches>) -> Result<(), fault::Faults> {
    if session.leads() {
        return fleet::not_twice(given);
    }
    if let Some(others) = fleet::of_options(session, given)? {
        session.lead(others);
    }
    Ok(())
}
