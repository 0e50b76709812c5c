//! The program: chooses what to do, wires the parts, and turns what came of it into an exit code.
//!
//! Nothing is measured, judged or rendered here.

#![forbid(unsafe_code)]

mod command_line;
mod commands;
mod drop_in;
mod exit;
mod fault;
mod limits;
mod outputs;
mod preflight;
mod screen;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The processor's clock is compared with the system's over as long a time as there is, so it starts first.
    let clock = session::start_clock();
    let arguments: Vec<String> = std::env::args_os()
        .map(|text| text.to_string_lossy().into_owned())
        .collect();
    if let Some((tool, words)) = drop_in::called_for(&arguments) {
        let session = session::Session::new(clock, arguments);
        return match tool {
            drop_in::Tool::Diskspd => drop_in::diskspd::carry_out(&session, words),
            drop_in::Tool::Fio => drop_in::fio::carry_out(&session, words),
        };
    }
    let matches = match command_line::command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return command_line::explain(&error),
    };
    let session = session::Session::new(clock, arguments);
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
        Some(("verify", given)) => commands::verify::carry_out(&session, given),
        Some(("warm-up", given)) => commands::warm_up::carry_out(&session, given),
        Some(("suite", given)) => commands::suite::carry_out(&session, given),
        Some(("policies", given)) => commands::policies::show(given),
        Some(("advise", given)) => commands::advise::show(given),
        Some(("convert", given)) => commands::convert::carry_out(&session, given),
        Some(("lint", given)) => commands::lint::carry_out(&session, given),
        Some(("explain", given)) => commands::explain::carry_out(given),
        Some(("show", given)) => commands::show::carry_out(given),
        Some(("baseline", given)) => commands::baseline::carry_out(given),
        Some(("targets", given)) => commands::targets::show(given),
        Some(("selftest", given)) => commands::selftest::carry_out(&session, given),
        Some(("schema", given)) => commands::schema::print(given),
        Some(("man", given)) => commands::man::print(given),
        Some(("completions", given)) => commands::completions::print(given),
        _ => unreachable!("clap asks for a subcommand"),
    };
    match done {
        Ok(exit) => exit.code(),
        Err(faults) => {
            faults.print(screen::colour_on_stderr());
            faults.exit().code()
        }
    }
}
