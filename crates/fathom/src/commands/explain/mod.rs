//! `fathom explain`.

mod anti_patterns;
mod promise_args;
mod text;

use clap::ValueHint;
use model::finding::Severity;
use report::words;
use study::explain::{self, ExplainContext, Explanation};

use super::results::{self, LoadedFile};
use super::{run, source};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits::{self, Storage};
use crate::screen;
use crate::session::Session;

pub use promise_args::{PromiseArgs, read_context};

/// Argument that selects the description of anti-patterns. A file of that name is
/// `./anti-patterns`.
const ANTI_PATTERNS: &str = "anti-patterns";

/// Explain an existing result of fathom or another tool
#[derive(clap::Args)]
#[command(
    long_about = "Explains an existing result: the load, the figures with their units, how many operations were in \
        flight by Little's law, which percentiles enough operations support, whether the figures agree with each \
        other, and what weakens them. With limits it names the one that the figures reach; with a requirement it \
        judges whether the figures meet it.\n\nFILE is a text or XML report of DiskSpd 2.0 to 2.2, a JSON or normal \
        report of fio, summary.html or flatfile.html of Vdbench, results of Iometer (CSV), a text copied from \
        CrystalDiskMark, a saved result of fathom, or figures that you wrote down (TOML or CSV; docs/explain.md). It \
        recognises the format by the content, even in the middle of other text, and runs nothing. Of a job file of fio, \
        DiskSpd, Vdbench or Iometer it describes what that would do.\n\n`fathom explain \
        anti-patterns [NAME]` describes common tests that do not test storage.",
    after_help = "Examples:\n  fathom explain test01.txt\n  fio --output-format=json job.fio | fathom explain - \
        --require 'iops>=4000,mean<=3ms'\n  fathom explain test01.txt --vm Standard_B2ms --disk P30 --disks 4\n  \
        fathom explain anti-patterns dd"
)]
pub struct Args {
    /// Results; `-` is standard input
    #[arg(value_name = "FILE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    file: Vec<String>,
    #[command(flatten)]
    promise: PromiseArgs,
    /// For people, or one JSON document for programs
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text", help_heading = "Output")]
    out: String,
    /// Exit with 1 if there are warnings
    #[arg(long, help_heading = "Output")]
    strict: bool,
}

/// Explains every file.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let json = args.out == "json";
    if let Some((first, names)) = args.file.split_first()
        && *first == ANTI_PATTERNS
    {
        return anti_patterns::print(names, json);
    }
    let context = read_context(&args.promise)?;
    let storage = args.promise.storage()?;
    let mut explanations = Vec::new();
    for file in &args.file {
        if let Some((what, run_it)) = run::detect_other_tool(file) {
            screen::put(&describe_test(session, args, (file, what, &run_it))?)?;
        } else {
            explanations.push(explain(results::read(file)?, &context, &storage)?);
        }
    }
    if !explanations.is_empty() {
        let text = render(&explanations, json);
        match json {
            true => screen::put_document(&text)?,
            false => screen::put(&text)?,
        };
    }
    Ok(exit_of_all(&explanations, args.strict))
}

/// Describes what a job file of another tool would do, and what its plan cannot express.
fn describe_test(
    session: &Session,
    args: &Args,
    (file, what, run_it): (&String, &str, &str),
) -> Result<String, Faults> {
    let refused = [
        (
            args.promise.judges() || args.promise.states_limits(),
            "has no results to judge or to diagnose",
            format!("`fathom verify --require CLAUSES {file}` runs and judges it"),
        ),
        (
            args.out == "json",
            "has no results for a document",
            format!("`fathom convert --to native {file}` writes it for programs"),
        ),
    ];
    if let Some((_, why, help)) = refused.into_iter().find(|(is_refused, ..)| *is_refused) {
        return Err(Fault::new(format!("{file} is {what}, which {why}")).into_usage(help));
    }
    let source = source::read(session, std::slice::from_ref(file))?;
    let mut lines = vec![format!("{file}: {what}, which describes a test")];
    lines.extend(words::plan(&source.plan));
    let targets: Vec<&str> = { source.plan.targets.iter() }.map(|target| &*target.path).collect();
    lines.push(format!("targets: {}", targets.join(", ")));
    lines.extend(source.lost.iter().map(|what| format!("lost: {what}")));
    lines.extend(source.differs.iter().map(|what| format!("differs: {what}")));
    lines.push(format!(
        "`fathom lint {file}` examines it; {run_it}, then pass its results"
    ));
    Ok(lines.join("\n") + "\n")
}

/// Explains a loaded result.
///
/// # Errors
/// It has no load, or lacks a job that `storage` or a limit names.
pub fn explain(mut loaded: LoadedFile, context: &ExplainContext, storage: &Storage) -> Result<Explanation, Faults> {
    storage.apply_to_loads(&mut loaded.loads)?;
    let jobs: Vec<_> = loaded
        .loads
        .iter()
        .map(|load| (load.name.as_str(), &load.load.storage))
        .collect();
    limits::refuse_unused(&context.layers, &jobs)?;
    let named = context.layers.iter().cloned();
    let context = ExplainContext {
        inadmissible: loaded.inadmissible,
        intervals: loaded.intervals,
        layers: named.chain(loaded.limits).collect(),
        ..context.clone()
    };
    if loaded.loads.is_empty() {
        let fault = Fault::new(format!("{} contains no measured load", loaded.source.file));
        return Err(fault.into_refusal("no operation completed, or the run was interrupted before it measured"));
    }
    Ok(explain::explain(loaded.source, loaded.findings, loaded.loads, &context))
}

pub fn exit_code(explanation: &Explanation) -> Exit {
    exit_of_all(std::slice::from_ref(explanation), false)
}

fn render(explanations: &[Explanation], json: bool) -> String {
    let texts: Vec<String> = match (json, explanations) {
        (true, [document]) => vec![screen::json_text(document)],
        (true, many) => vec![screen::json_text(&many)],
        (false, many) => many.iter().map(text::render).collect(),
    };
    texts.join("\n")
}

/// Chooses the exit code by the worst verdict; if it is PASS or absent, by errors, and with
/// `strict` also by warnings.
fn exit_of_all(explanations: &[Explanation], strict: bool) -> Exit {
    let loads = || explanations.iter().flat_map(|explanation| &explanation.loads);
    let verdicts: Vec<_> = loads()
        .filter_map(|load| load.verdict.as_ref())
        .map(|verdict| verdict.outcome)
        .collect();
    if let Some(exit) = promise_args::exit_of_verdicts(&verdicts) {
        return exit;
    }
    let bad = if strict { Severity::Warning } else { Severity::Error };
    let weak = explanations
        .iter()
        .flat_map(Explanation::findings)
        .any(|finding| finding.severity >= bad);
    if weak { Exit::Failed } else { Exit::Done }
}
