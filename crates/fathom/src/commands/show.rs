//! `fathom show`: a saved result, once more in any form.

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};

use super::results;
use crate::exit::{EXPLAINED, Exit};
use crate::fault::{Fault, Faults};
use crate::outputs::{self, Outputs};

/// The command line.
pub fn command() -> Command {
    Command::new("show")
        .about("Shows a saved result again, in any output format")
        .after_help(format!(
            "Examples:\n  fathom show result.fathom\n  fathom show result.fathom --out fio-json\n  \
             fathom show result.fathom --out text,csv=intervals.csv\n\n{EXPLAINED}"
        ))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_hint(ValueHint::FilePath)
                .help("A saved result (--save); `-` is standard input"),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FORMAT[=FILE],…")
                .action(ArgAction::Append)
                .help("Reports to write, each to stdout or a file [default: text]")
                .long_help(format!(
                    "Reports to write, each to standard output or to a file of its own; the default is text.\n{}",
                    outputs::explained()
                )),
        )
        .arg(
            Arg::new("save")
                .long("save")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Keep it in this file as well, in the form of this version"),
        )
}

/// Shows it.
pub fn carry_out(given: &ArgMatches) -> Result<Exit, Faults> {
    let file = given.get_one::<String>("file").expect("clap asks for a file");
    let formats = given.get_many::<String>("out").into_iter().flatten();
    if formats
        .flat_map(|text| text.split(','))
        .any(|one| one.split('=').next() == Some("ndjson"))
    {
        let fault = Fault::new("ndjson is written while a run goes on, and this one is over").at("--out");
        return Err(Faults::usage(
            fault.help("--out json has all figures, --out csv every interval"),
        ));
    }
    let found = results::saved(file)?;
    let outputs = Outputs::of(given, &found.plan)?;
    outputs.finish(&found, None)?;
    Ok(Exit::of(&found, false))
}
