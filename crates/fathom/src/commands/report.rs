//! `fathom report`: a page for browsers, made from results that are there already.

use std::path::{Path, PathBuf};

use archive::Saved;
use clap::ValueHint;
use model::results::Results;
use report::html;
use report::html::page::{Page, Verdict};

use super::ab::{MarginArgs, margin};
use super::explain::{self, PromiseArgs};
use super::{compare, results};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits;
use crate::session::Session;
use crate::{judged, outputs, pages, screen};

/// Write a page with charts from results
#[derive(clap::Args)]
#[command(
    long_about = "Makes a page with charts from saved results and studies, and from reports of other tools as `fathom explain` reads them. \
        It is one file: it opens offline in any browser, can be mailed, printed, and used with a keyboard or a screen reader. Several results make a comparison.\n\n\
        With --require or --policy the results are held to a promise, and the page begins with PASS, FAIL or INCONCLUSIVE; with --vm and --disk the limits of a cloud machine \
        are known, and the page says which one was met.",
    after_help = "Examples:\n  fathom report result.fathom\n  fathom report result.fathom --require 'iops>=4000,p99<=3ms' -o result.html\n  \
        fathom report before.fathom after.fathom -o comparison.html\n  fathom report fio.json --vm Standard_B2ms"
)]
pub struct Args {
    /// Results: saved ones (--save), studies, reports of fio or DiskSpd; `-` is standard input
    #[arg(value_name = "RESULT", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    file: Vec<String>,
    /// The file to write; `-` is standard output [default: the name of the result with .html]
    #[arg(short, long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<String>,
    /// Compare results although their loads, or the ways of measuring, differ
    #[arg(long, help_heading = "Comparison")]
    force: bool,
    #[command(flatten)]
    margin: MarginArgs,
    #[command(flatten)]
    promise: PromiseArgs,
}

/// Makes the page.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let files = &args.file[..];
    let target = target(args);
    if let Some(path) = &target {
        if files.iter().any(|file| Path::new(file) == path) {
            let fault = Fault::new(format!("{} is the result itself", path.display()));
            return Err(Faults::usage(fault.help("name another file with -o")));
        }
        outputs::prove_writable(std::iter::once(path.as_path()))?;
    }
    let (page, exit) = match files {
        [one] => of_one(args, one)?,
        many => (compare::page_with(many, margin(&args.margin)?, args.force)?, Exit::Done),
    };
    let text = html::file(&page);
    match &target {
        None => {
            screen::put(&text)?;
        }
        Some(path) => {
            let failed = |error| Faults::one(Fault::of_file("write", path, &error), Exit::Internal);
            outputs::write_file(path, text.as_bytes()).map_err(failed)?;
            screen::note(&format!("{}: {} KiB", path.display(), text.len() / 1024));
        }
    }
    Ok(exit)
}

/// Where it goes; `None` is standard output.
fn target(args: &Args) -> Option<PathBuf> {
    match args.output.as_deref() {
        Some("-") => None,
        Some(file) => Some(PathBuf::from(file)),
        None => Some(match &args.file[..] {
            [one] if one != "-" => {
                let name = Path::new(one)
                    .file_stem()
                    .map(|name| name.to_string_lossy().into_owned());
                PathBuf::from(format!("{}.html", name.unwrap_or_else(|| "report".into())))
            }
            [_] => PathBuf::from("report.html"),
            _ => PathBuf::from("comparison.html"),
        }),
    }
}

fn of_one(args: &Args, file: &str) -> Result<(Page, Exit), Faults> {
    if let Some(found) = results::of_another_tool(file)? {
        let asked = explain::asked(&args.promise)?;
        let promised = pages::promised(&asked.clauses);
        let explanation = explain::explain(found, &asked, &args.promise.storage()?)?;
        let exit = explain::exit_of(&explanation);
        return Ok((pages::explained(&explanation, &promised), exit));
    }
    match results::any(file)? {
        Saved::Run(results) => of_run(args, *results),
        Saved::Study(study) => {
            let page = pages::of_study(&study, margin(&args.margin)?);
            let page =
                page.ok_or_else(|| Faults::usage(Fault::new(format!("{file} holds a study that has no page"))))?;
            Ok((page, Exit::Done))
        }
    }
}

/// A run of ours: held to what is promised now, and seen with the limits that are named now.
fn of_run(args: &Args, mut results: Results) -> Result<(Page, Exit), Faults> {
    let asked = explain::asked(&args.promise)?;
    args.promise.storage()?.apply_to_results(&mut results.plan)?;
    limits::refuse_unused(&asked.layers, &limits::jobs_of(&results.plan))?;
    if !asked.layers.is_empty() || !results.plan.limits.is_empty() {
        let known = study::diagnosis::Known {
            layers: asked.layers.clone(),
            bursts: asked.credits.clone(),
            ..Default::default()
        };
        results.diagnoses = study::diagnosis::diagnoses(&results, &known, None);
        results.shared_limits = study::diagnosis::limit_tables(&results, &known, None);
    }
    if asked.clauses.is_empty() {
        let exit = Exit::from_results(&results, false);
        return Ok((pages::run(&results, Verdict::default()), exit));
    }
    let judged = judged::judge(&results, &asked.clauses);
    let exit = Exit::of_verdict(&results, judged.outcome(), false);
    Ok((
        pages::run(&results, pages::worst_verdict(&judged, &asked.clauses)),
        exit,
    ))
}
