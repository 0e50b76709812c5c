//! `fathom recover`: recovers results of a fleet whose coordinator was lost.

use std::path::PathBuf;

use clap::ValueHint;
use run::hosts::recover;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet::read_journal;
use crate::session::Session;

use super::show::ShowArgs;

/// Merge the results left on the hosts of an interrupted test
#[derive(clap::Args)]
#[command(
    long_about = "Merges the results that the hosts of a test kept, after its coordinator was lost or every process \
        was killed. Each host keeps its results (FATHOM_JOURNAL, by default `fleet` in the user's data directory) until \
        the coordinator has them. Copy these directories into one, or name the one they share.",
    after_help = "Examples:\n  fathom recover ~/.local/share/fathom/fleet\n  fathom recover collected --out json --save partial.fathom"
)]
pub struct Args {
    /// The directory with the parts, or with a directory for each run
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    #[command(flatten)]
    output: ShowArgs,
}

/// Merges the parts and reports them.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let fault = |why: String| Faults::refused(Fault::new(why).at(args.folder.display().to_string()));
    let mut records = read_journal(&args.folder).map_err(fault)?;
    // Takes the latest of several runs, whose names start with the time.
    let latest = records.iter().map(|(_, kept)| kept.run.clone()).max();
    records.retain(|(_, kept)| Some(&kept.run) == latest.as_ref());
    let mut results = recover(records.into_iter().map(|(_, kept)| kept).collect()).map_err(fault)?;
    let checked = analysis::check(&results);
    results.findings.extend(checked);
    args.output.outputs(&results.plan)?.finish(&results, &[])?;
    Ok(Exit::Partial)
}
