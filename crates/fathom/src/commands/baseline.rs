//! `fathom baseline`: stores figures to compare with.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::baseline::{Baseline, Comparison, FORMAT_VERSION, FigureComparison, compare};
use archive::DocumentStore;
use clap::ValueHint;
use report::numbers;

use super::results;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::session::Session;
use crate::{screen, user_data};

/// Keep reference figures and compare results with them
#[derive(clap::Args)]
#[command(
    long_about = "Stores figures of data sheets and earlier results, and compares results with them. Each baseline \
        is a JSON file below $FATHOM_DATA/baselines, or else fathom/baselines in $XDG_DATA_HOME or ~/.local/share.",
    after_help = "Examples:\n  fathom baseline import datasheet.csv --name p30-sheet\n  fathom baseline import last-year.txt --name 2025\n  \
        fathom baseline compare 2025 today.txt",
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Save the figures of a file under a name
    Import {
        #[command(flatten)]
        file: FileArgs,
        /// Letters, digits, `-`, `_` and `.`
        #[arg(long)]
        name: String,
        /// Replace the baseline of that name, if there is one
        #[arg(long)]
        replace: bool,
    },
    /// List the baselines
    List {
        /// One JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Show the figures of a baseline
    Show {
        /// Name of the baseline
        name: String,
        /// One JSON document for programs
        #[arg(long)]
        json: bool,
    },
    /// Remove a baseline
    Remove {
        /// Name of the baseline
        name: String,
    },
    /// Compare a result with a baseline
    Compare {
        /// Name of the baseline
        name: String,
        #[command(flatten)]
        file: FileArgs,
        /// One JSON document for programs
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
struct FileArgs {
    /// Result as `fathom explain` reads it; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    file: String,
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let store = DocumentStore::new(folder()?);
    match &args.action {
        Action::Import { file, name, replace } => import(&store, &file.file, check_name(name)?, *replace),
        Action::List { json } => list(&store, *json),
        Action::Show { name, json } => show(&store, check_name(name)?, *json),
        Action::Remove { name } => remove(&store, check_name(name)?),
        Action::Compare { name, file, json } => compare_with_baseline(&store, check_name(name)?, &file.file, *json),
    }
}

fn folder() -> Result<PathBuf, Faults> {
    user_data::folder().map(|data| data.join("baselines")).ok_or_else(|| {
        let fault = Fault::new(format!("cannot store baselines: {}", user_data::NO_FOLDER_REASON));
        fault.into_usage("set FATHOM_DATA to a directory")
    })
}

fn check_name(name: &str) -> Result<&str, Faults> {
    match DocumentStore::is_valid_name(name) {
        true => Ok(name),
        false => {
            let fault = Fault::new(format!("`{name}` cannot be the name of a baseline"));
            Err(fault.into_usage("use letters, digits, `-`, `_` and `.`, with a letter or digit first"))
        }
    }
}

fn import(store: &DocumentStore, file: &str, name: &str, replace: bool) -> Result<Exit, Faults> {
    if store.path(name).exists() && !replace {
        let fault = Fault::new(format!("baseline `{name}` already exists"));
        return Err(fault.into_refusal("choose another name, or add --replace"));
    }
    let loaded = results::read(file)?;
    let baseline = Baseline {
        format_version: FORMAT_VERSION,
        kind: "baseline".into(),
        name: name.to_owned(),
        file: loaded.source.file,
        form: loaded.source.form,
        source: loaded.source.origin,
        kept_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs()),
        fingerprint: loaded.fingerprint,
        loads: loaded.loads,
    };
    store.put(name, &baseline)?;
    let loads = numbers::pluralize(baseline.loads.len() as u64, "load");
    screen::put(&format!(
        "{name}: {loads} of {}, saved in {}\n",
        baseline.file,
        store.path(name).display()
    ))
}

fn get(store: &DocumentStore, name: &str) -> Result<Baseline, Faults> {
    if !store.path(name).exists() {
        let names = store.names()?;
        let help = if names.is_empty() {
            "no baselines yet: `fathom baseline import FILE --name NAME`".into()
        } else {
            format!("baselines: {}", names.join(", "))
        };
        return Err(Fault::new(format!("no baseline is named `{name}`")).into_usage(help));
    }
    let baseline: Baseline = store.get(name)?;
    if baseline.format_version == FORMAT_VERSION && baseline.kind == "baseline" {
        return Ok(baseline);
    }
    let message = format!(
        "{} has format {}, but this version reads format {FORMAT_VERSION}",
        store.path(name).display(),
        baseline.format_version
    );
    Err(Fault::new(message).into_refusal("use the version of fathom that wrote it"))
}

fn list(store: &DocumentStore, json: bool) -> Result<Exit, Faults> {
    let names = store.names()?;
    let (mut baselines, mut exit): (Vec<Baseline>, Exit) = (Vec::new(), Exit::Done);
    for name in &names {
        // One damaged file must not hide the others.
        match get(store, name) {
            Ok(baseline) => baselines.push(baseline),
            Err(faults) => {
                faults.print(screen::colour_on_stderr());
                exit = Exit::Partial;
            }
        }
    }
    if json {
        return screen::put_json(&baselines).map(|_| exit);
    }
    let mut text = String::new();
    for baseline in &baselines {
        let loads = numbers::pluralize(baseline.loads.len() as u64, "load");
        let source = baseline
            .source
            .as_ref()
            .map(|source| format!(", from {source}"))
            .unwrap_or_default();
        text += &format!(
            "{:<24} {loads}, {} ({}){source}\n",
            baseline.name, baseline.form, baseline.file
        );
    }
    if text.is_empty() {
        text += "no baselines yet: `fathom baseline import FILE --name NAME`\n";
    }
    screen::put(&text).map(|_| exit)
}

fn show(store: &DocumentStore, name: &str, json: bool) -> Result<Exit, Faults> {
    let baseline = get(store, name)?;
    if json {
        return screen::put_json(&baseline);
    }
    let mut text = format!("{}: {} ({})\n", baseline.name, baseline.form, baseline.file);
    for (name, value) in &baseline.fingerprint {
        text += &format!("  {name}: {value}\n");
    }
    text += &format!(
        "\n  {:<40}{:>12}{:>12}{:>12}{:>12}\n",
        "load", "IOPS", "MiB/s", "mean", "p99"
    );
    for load in &baseline.loads {
        let total = &load.total;
        let latency = total.user_latency();
        let cell = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        text += &format!(
            "  {:<40}{:>12}{:>12}{:>12}{:>12}\n",
            load.name,
            cell(total.iops.map(numbers::rate)),
            cell(
                total
                    .bytes_per_sec
                    .map(|rate| numbers::throughput(rate / f64::from(1 << 20)))
            ),
            cell(latency.and_then(|latency| latency.mean_ns).map(numbers::format_time)),
            cell(
                latency
                    .and_then(|latency| latency.quantile(0.99))
                    .map(numbers::format_time)
            ),
        );
    }
    screen::put(&text)
}

fn remove(store: &DocumentStore, name: &str) -> Result<Exit, Faults> {
    if !store.path(name).exists() {
        get(store, name)?;
    }
    store.remove(name)?;
    screen::put(&format!("removed {name}\n"))
}

fn compare_with_baseline(store: &DocumentStore, name: &str, file: &str, json: bool) -> Result<Exit, Faults> {
    let baseline = get(store, name)?;
    let loaded = results::read(file)?;
    let comparison = compare(&baseline, &loaded.fingerprint, &loaded.loads);
    if json {
        return screen::put_json(&comparison);
    }
    screen::put(&format_text(&comparison, Path::new(file)))
}

fn format_text(comparison: &Comparison, file: &Path) -> String {
    let mut text = format!("{} compared with {}\n", file.display(), comparison.baseline);
    for pair in &comparison.pairs {
        text += &format!("\n{} (baseline: {})\n", pair.name, pair.base);
        for row in &pair.rows {
            text += &format_figure(row, comparison.doubts.is_empty());
        }
        if pair.rows.is_empty() {
            text += "  the two have no figure in common\n";
        }
        for difference in &pair.differences {
            text += &screen::wrap_paragraph(&format!("different: {difference}"));
        }
    }
    if !comparison.doubts.is_empty() {
        text += "\nNeither is better: findings invalidate the figures\n";
        comparison
            .doubts
            .iter()
            .for_each(|doubt| text += &screen::wrap_paragraph(doubt));
    }
    if !comparison.alone.is_empty() {
        text.push('\n');
    }
    for alone in &comparison.alone {
        text += &screen::wrap_paragraph(alone);
    }
    if !comparison.fingerprint.is_empty() {
        text += "\nDifferences in conditions\n";
        for difference in &comparison.fingerprint {
            text += &screen::wrap_paragraph(difference);
        }
    }
    text
}

/// Formats a row, such as `  IOPS            +3.4 %   1.034x   7,177 (6,940)`.
fn format_figure(row: &FigureComparison, is_judged: bool) -> String {
    let show = |value: f64| match row.figure.rsplit(' ').next() {
        Some("IOPS") => numbers::rate(value),
        Some("bytes/s") => format!("{} MiB/s", numbers::throughput(value / f64::from(1 << 20))),
        _ => numbers::format_time(value),
    };
    let percent = 100.0 * (row.ratio - 1.0);
    // Even two runs of the same load can differ by this much.
    let word = match (percent.abs() < 1.0 || !is_judged, (percent > 0.0) == row.more_is_better) {
        (true, _) => "",
        (false, true) => "  better",
        (false, false) => "  worse",
    };
    format!(
        "  {:<20}{percent:>+8.1} %{:>9.3}x{:>16} ({}){word}\n",
        row.figure,
        row.ratio,
        show(row.now),
        show(row.base)
    )
}
