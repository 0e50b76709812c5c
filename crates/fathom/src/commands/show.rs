//! `fathom show`: prints a saved result in any format.

use archive::Saved;
use std::path::PathBuf;

use clap::ValueHint;
use model::plan::Plan;
use model::study::{Question, Study};

use super::study_outputs::{self, Form, StudyOutputs};
use super::{ab, results, sweep};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::{ChartsArg, OutputSpec, Outputs, out_help};
use crate::session::Session;

/// Print a saved result in any output format
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  fathom show result.fathom\n  fathom show result.fathom --out fio-json\n  fathom show \
        result.fathom --out text,csv=intervals.csv\n  fathom show history:last"
)]
pub struct Args {
    /// Saved result; `-` is stdin, `history:12` a history entry
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: String,
    #[command(flatten)]
    output: ShowArgs,
}

/// Destinations of the output.
#[derive(clap::Args)]
#[command(mut_arg("out", |arg| arg.help("Reports to write, each to stdout or a file [default: text]").long_help(
    out_help("Sweeps have text, json and csv; `fathom ab` has text and json.")
)))]
pub struct ShowArgs {
    #[command(flatten)]
    spec: OutputSpec,
    #[command(flatten)]
    charts: ChartsArg,
    /// Also save it to this file, in the format of this version
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    save: Option<PathBuf>,
}

impl ShowArgs {
    /// Parses the outputs for a run.
    pub fn outputs(&self, plan: &Plan) -> Result<Outputs, Faults> {
        Outputs::new(&self.spec, self.charts, self.save.clone(), None)?.open(plan)
    }

    fn study_outputs(&self, formats: &[Form]) -> Result<StudyOutputs, Faults> {
        if self.charts.charts {
            let fault = Fault::new("cannot draw charts in text: this is a study, not a run").at("--charts");
            return Err(fault.into_usage("--report FILE.html writes a page with charts"));
        }
        StudyOutputs::new(&self.spec, self.save.clone(), formats)
    }
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    show_file(&args.file, &args.output)
}

/// Prints the result in a file or an entry of the history.
pub(super) fn show_file(file: &str, args: &ShowArgs) -> Result<Exit, Faults> {
    if args.spec.forms().any(|form| form.split('=').next() == Some("ndjson")) {
        let fault =
            Fault::new("cannot write ndjson: it is the stream of a live run, but this run has ended").at("--out");
        return Err(fault.into_usage("--out json has all figures, --out csv every interval"));
    }
    let results = match results::load_saved(file)? {
        Saved::Run(results) => results,
        Saved::Study(study) => return show_study(file, &study, args),
    };
    args.outputs(&results.plan)?.finish(&results, &[])?;
    Ok(Exit::from_results(&results, false))
}

fn show_study(file: &str, study: &Study, args: &ShowArgs) -> Result<Exit, Faults> {
    if study.runs.is_empty() {
        return Err(Faults::one(
            Fault::new(format!("{file} holds a study without runs")),
            Exit::Internal,
        ));
    }
    match study.question {
        Question::Sweep { .. } => sweep::show(file, study, None, &args.study_outputs(study_outputs::STUDY_FORMS)?)?,
        Question::Ab { .. } => ab::show(
            file,
            study,
            analysis::compare::MARGIN,
            false,
            &args.study_outputs(study_outputs::STUDY_FORMS)?,
        )?,
        Question::Suite { .. } => {
            let fault = Fault::new(format!("{file} is a saved suite, which can only be shown as a page"));
            return Err(fault.into_usage(format!("create it with `fathom report {file}`")));
        }
    }
    Ok(Exit::Done)
}
