//! `fathom show`: a saved result, once more in any form.

use archive::Saved;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use model::study::{Question, Study};

use super::study_outputs::{Form, StudyOutputs};
use super::{ab, results, sweep};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::{self, Outputs};

/// The command line.
pub fn command() -> Command {
    let command = Command::new("show")
        .about("Print a saved result in any output format")
        .after_help(
            "Examples:\n  fathom show result.fathom\n  fathom show result.fathom --out fio-json\n  \
             fathom show result.fathom --out text,csv=intervals.csv\n  fathom show history:last",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_hint(ValueHint::FilePath)
                .help("A saved result (--save); `-` is standard input, `history:12` an entry of the history"),
        );
    options(command)
}

/// `--out` and `--save`.
pub(super) fn options(command: Command) -> Command {
    command
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FORMAT[=FILE],…")
                .action(ArgAction::Append)
                .help("Reports to write, each to stdout or a file [default: text]")
                .long_help(format!(
                    "Reports to write, each to standard output or to a file of its own; the default is text.\n{}\
                     Sweeps have text, json and csv, comparisons in turns text and json.",
                    outputs::explained()
                )),
        )
        .arg(outputs::page_option())
        .arg(
            Arg::new("save")
                .long("save")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Keep it in this file as well, in the form of this version"),
        )
}

/// Shows it.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let file = args.get_one::<String>("file").expect("clap asks for a file");
    show_file(file, args)
}

/// Shows what a file or an entry of the history holds.
pub(super) fn show_file(file: &str, args: &ArgMatches) -> Result<Exit, Faults> {
    let formats = args.get_many::<String>("out").into_iter().flatten();
    if formats
        .flat_map(|text| text.split(','))
        .any(|one| one.split('=').next() == Some("ndjson"))
    {
        let fault = Fault::new("ndjson is the stream of a live run, and this run is over").at("--out");
        return Err(Faults::usage(
            fault.help("--out json has all figures, --out csv every interval"),
        ));
    }
    let found = match results::any(file)? {
        Saved::Run(found) => found,
        Saved::Study(study) => return show_study(file, &study, args),
    };
    let outputs = Outputs::from_args(args, &found.plan)?;
    outputs.finish(&found, None)?;
    Ok(Exit::from_results(&found, false))
}

fn show_study(file: &str, study: &Study, args: &ArgMatches) -> Result<Exit, Faults> {
    if study.runs.is_empty() {
        return Err(Faults::one(
            Fault::new(format!("{file} holds a study without runs")),
            Exit::Internal,
        ));
    }
    match study.question {
        Question::Sweep { .. } => sweep::show(file, study, None, &StudyOutputs::from_args(args, &[Form::Csv])?)?,
        Question::Ab { .. } => ab::show(
            file,
            study,
            analysis::compare::MARGIN,
            false,
            &StudyOutputs::from_args(args, &[])?,
        )?,
        Question::Suite { .. } => {
            let fault = Fault::new(format!("{file} holds the runs of a suite, whose report is a page"));
            return Err(Faults::usage(
                fault.help(format!("make it with `fathom report {file}`")),
            ));
        }
    }
    Ok(Exit::Done)
}
