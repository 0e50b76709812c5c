//! `fathom recover`: the results of a run on several hosts whose leader is gone.

use std::path::Path;

use clap::{Arg, ArgMatches, Command, ValueHint};
use run::hosts::recover;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet::read_journal;
use crate::outputs::Outputs;

use super::show;

/// The command line.
pub fn command() -> Command {
    let command = Command::new("recover")
        .about("Merge what the hosts of an interrupted test kept")
        .long_about(
            "Merges what the hosts of a test kept, where the coordinator was lost or every process was killed. Each host keeps its \
             results (FATHOM_JOURNAL, by default in the user's data folder, below `fleet`) until the coordinator has them. Copy \
             these folders into one, or name the one they share.",
        )
        .after_help(
            "Examples:\n  fathom recover ~/.local/share/fathom/fleet\n  fathom recover collected --out json --save partial.fathom",
        )
        .arg(
            Arg::new("folder")
                .value_name("DIR")
                .required(true)
                .value_hint(ValueHint::DirPath)
                .help("The folder with the parts, or with a folder for each run"),
        );
    show::options(command)
}

/// Puts them together and reports.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let folder = args.get_one::<String>("folder").expect("clap asks for it");
    let fault = |why: String| Faults::one(Fault::new(why).at(folder.as_str()), Exit::Refused);
    let mut found = read_journal(Path::new(folder)).map_err(fault)?;
    // Of several runs it is the latest: their names begin with the time.
    let latest = found.iter().map(|(_, kept)| kept.run.clone()).max();
    found.retain(|(_, kept)| Some(&kept.run) == latest.as_ref());
    let mut results = recover(found.into_iter().map(|(_, kept)| kept).collect()).map_err(fault)?;
    let checked = analysis::check(&results);
    results.findings.extend(checked);
    let outputs = Outputs::from_args(args, &results.plan)?;
    outputs.finish(&results, None)?;
    Ok(Exit::Partial)
}
