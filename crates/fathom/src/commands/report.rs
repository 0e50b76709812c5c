//! `fathom report`: writes an HTML page from existing results.

use std::path::{Path, PathBuf};

use archive::Saved;
use clap::ValueHint;
use dialects::import::logs::{LogName, read_log};
use model::results::Results;
use report::html;
use report::html::page::{JudgeCommand, Page, Verdict};
use report::html::run::name_program;

use super::ab::{MarginArgs, parse_margin};
use super::explain::{self, PromiseArgs};
use super::{compare, results};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits;
use crate::pages::fio_logs::{self, LogFile};
use crate::session::Session;
use crate::{judged, outputs, own_files, pages, screen, user_file};

/// Write a page with charts from results
#[derive(clap::Args)]
#[command(
    long_about = "Writes a page with charts from saved results and studies, and from reports of other tools as \
        `fathom explain` reads them. It draws fio's log files (db_bw.1.log, db_clat_hist.1.log, or a directory of \
        them) over time. A page is one file: it opens offline in any browser, can be mailed, printed, and used with \
        a keyboard or a screen reader. Several results make a comparison.\n\n--require and --policy judge the \
        results, and the page begins with PASS, FAIL or INCONCLUSIVE; --vm and --disk state the limits of a cloud \
        machine, and the page names the one that was reached.",
    after_help = "Examples:\n  fathom report result.fathom\n  fathom report result.fathom --require 'iops>=4000,p99<=3ms' -o result.html\n  \
        fathom report before.fathom after.fathom -o comparison.html\n  fathom report fio.json --vm Standard_B2ms\n  \
        fathom report logs/ -o logs.html"
)]
pub struct Args {
    /// Saved results or studies, reports, fio logs; `-` is stdin
    #[arg(value_name = "RESULT", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    file: Vec<String>,
    /// The file to write; `-` is standard output [default: the name of the result with .html]
    #[arg(short, long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<String>,
    /// Compare although loads or methods of measuring differ
    #[arg(long, help_heading = "Comparison")]
    force: bool,
    #[command(flatten)]
    margin: MarginArgs,
    #[command(flatten)]
    promise: PromiseArgs,
}

/// Writes the page.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let files = &args.file[..];
    let target = choose_output_path(args);
    if let Some(path) = &target {
        if files.iter().any(|file| Path::new(file) == path) {
            let fault = Fault::new(format!(
                "cannot write the page to {}: it is an input file",
                path.display()
            ));
            return Err(fault.into_usage("name another file with -o"));
        }
        outputs::check_writable(std::iter::once(path.as_path()))?;
    }
    let logs = find_logs(files)?;
    let (page, exit) = match files {
        _ if !logs.files.is_empty() => {
            let mut page = build_logs_page(args, &logs)?;
            name_program(&mut page, &session.process.arguments);
            (page, Exit::Done)
        }
        [file] => build_result_page(session, args, file)?,
        many => (
            compare::build_page_of_files(many, parse_margin(&args.margin)?, args.force)?,
            Exit::Done,
        ),
    };
    let text = html::render_file(&page);
    match &target {
        None => {
            screen::put_document(&text)?;
        }
        Some(path) => {
            let failed = |error| Faults::one(Fault::for_file("write", path, &error), Exit::Internal);
            own_files::write(path, text.as_bytes()).map_err(failed)?;
            screen::note(&format!(
                "{}: {} KiB; open it in a browser",
                path.display(),
                text.len() / 1024
            ));
        }
    }
    Ok(exit)
}

/// The files with names of fio logs.
#[derive(Default)]
struct Logs {
    files: Vec<(PathBuf, LogName)>,
    /// Other files in a directory of logs.
    others: Vec<String>,
}

/// Finds the logs among the arguments; a directory means all its logs.
fn find_logs(args: &[String]) -> Result<Logs, Faults> {
    let mut logs = Logs::default();
    let mut others = Vec::new();
    for arg in args {
        let path = Path::new(arg);
        let mut paths = vec![path.to_owned()];
        if path.is_dir() {
            let entries = path.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let entries = entries.map_err(|error| Faults::unreadable(path, &error))?;
            paths = entries.iter().map(std::fs::DirEntry::path).collect();
            paths.sort();
        }
        let before = logs.files.len();
        for input in paths {
            let name = input.file_name().map(|name| name.to_string_lossy().into_owned());
            match name.as_deref().and_then(LogName::parse) {
                Some(name) => logs.files.push((input, name)),
                None if path.is_dir() => logs.others.extend(name),
                None => others.push(arg),
            }
        }
        if path.is_dir() && before == logs.files.len() {
            let fault = Fault::new(format!("{arg} contains no fio logs"));
            let help = "fio names a log by its kind and worker, such as db_lat.1.log";
            return Err(fault.into_usage(help));
        }
    }
    match others.first() {
        Some(other) if !logs.files.is_empty() => {
            let fault = Fault::new(format!("cannot put {other} and fio logs on one page"));
            Err(fault.into_usage("name only logs"))
        }
        _ => Ok(logs),
    }
}

/// Builds the page of logs, which have no totals to judge or compare.
fn build_logs_page(args: &Args, logs: &Logs) -> Result<Page, Faults> {
    let context = explain::read_context(&args.promise)?;
    let is_judged = !context.clauses.is_empty() || !context.layers.is_empty() || !context.credits.is_empty();
    if is_judged || args.force || args.margin.is_some() || args.promise.describes_storage() {
        let fault = Fault::new("cannot judge or compare fio logs: they have no totals of a run");
        return Err(
            fault.into_usage("pass fio's JSON report, or remove the options that judge or compare (such as --require)")
        );
    }
    let read = |(path, name): &(PathBuf, LogName)| {
        let bytes =
            user_file::read_bytes(path, results::MAX_REPORT).map_err(|error| Faults::unreadable(path, &error))?;
        let file = path.display().to_string();
        let log = read_log(name.kind, &file, &String::from_utf8_lossy(&bytes));
        let name = name.clone();
        Ok(LogFile { file, name, log })
    };
    let read: Vec<LogFile> = logs.files.iter().map(read).collect::<Result<_, Faults>>()?;
    let title = match &args.file[..] {
        // A relative path such as `.` means nothing to other readers.
        [folder] if Path::new(folder).file_name().is_none() => {
            std::path::absolute(folder).map_or_else(|_| folder.clone(), |path| path.display().to_string())
        }
        [folder] => folder.clone(),
        many => format!("{} and {} more", many[0], many.len() - 1),
    };
    Ok(fio_logs::build_page(&title, &read, &logs.others))
}

/// Chooses the path of the page; `None` is standard output.
fn choose_output_path(args: &Args) -> Option<PathBuf> {
    match args.output.as_deref() {
        Some("-") => None,
        Some(file) => Some(PathBuf::from(file)),
        None => Some(match &args.file[..] {
            [file] if file != "-" => {
                let name = Path::new(file)
                    .file_stem()
                    .map(|name| name.to_string_lossy().into_owned());
                PathBuf::from(format!("{}.html", name.unwrap_or_else(|| "report".into())))
            }
            [_] => PathBuf::from("report.html"),
            _ => PathBuf::from("comparison.html"),
        }),
    }
}

fn build_result_page(session: &Session, args: &Args, file: &str) -> Result<(Page, Exit), Faults> {
    if let Some(loaded) = results::read_foreign(file)? {
        let context = explain::read_context(&args.promise)?;
        let promised = pages::describe_promise(&context.clauses);
        let explanation = explain::explain(loaded, &context, &args.promise.storage()?)?;
        let exit = explain::exit_code(&explanation);
        let mut page = pages::explained(&explanation, &promised);
        name_program(&mut page, &session.process.arguments);
        return Ok((page, exit));
    }
    match results::load_saved(file)? {
        Saved::Run(results) => build_run_page(session, args, *results),
        Saved::Study(study) => {
            let page = pages::study(&study, parse_margin(&args.margin)?);
            let page =
                page.ok_or_else(|| Faults::usage(Fault::new(format!("{file} holds a study that has no page"))))?;
            Ok((page, Exit::Done))
        }
    }
}

/// Builds the page of a saved run, judged by the options.
fn build_run_page(session: &Session, args: &Args, mut results: Results) -> Result<(Page, Exit), Faults> {
    let context = explain::read_context(&args.promise)?;
    args.promise.storage()?.apply_to_results(&mut results.plan)?;
    limits::refuse_unused(&context.layers, &limits::list_jobs(&results.plan))?;
    if !context.layers.is_empty() || !results.plan.limits.is_empty() {
        let known_limits = study::diagnosis::KnownLimits {
            layers: context.layers.clone(),
            bursts: context.credits.clone(),
            ..Default::default()
        };
        results.diagnoses = study::diagnosis::diagnoses(&results, &known_limits);
        results.shared_limits = study::diagnosis::limit_tables(&results, &known_limits);
    }
    if context.clauses.is_empty() {
        let exit = Exit::from_results(&results, false);
        return Ok((pages::run(&results, Verdict::default()), exit));
    }
    let judged = judged::judge(&results, &context.clauses);
    let exit = Exit::from_verdict(&results, judged.outcome(), false);
    let mut verdict = pages::worst_verdict(&judged, &context.clauses);
    verdict.judged_by = Some(JudgeCommand {
        arguments: session.process.arguments.clone(),
        file: args.file[0].clone(),
    });
    Ok((pages::run(&results, verdict), exit))
}
