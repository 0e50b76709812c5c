//! `fathom history`: lists past results, and manages them.

use std::path::{Path, PathBuf};

use analysis::verdict::Outcome;
use archive::history::{Entry, EntryJob, EntryKind, Filter, History, HistoryError, HistoryList, Retention};
use clap::ValueHint;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use model::visible;
use report::numbers;

use super::show::{self, ShowArgs};
use super::study_outputs::{Contents, Form, NO_PAGE, StudyOutputs, csv_table};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::OutputSpec;
use crate::session::Session;
use crate::{history, outputs, own_files, screen, terminal};

/// List, show, label, export or remove past results
#[derive(clap::Args)]
#[command(
    long_about = "Lists, shows, labels, exports and removes past results. Every command that measures keeps its \
        complete result in one SQLite file per user, unless --no-history or FATHOM_HISTORY=off is given; the drop-in \
        modes do so only if FATHOM_HISTORY is `on` or names a file. `fathom history path` prints its path; \
        FATHOM_HISTORY=FILE selects another.\n\nName an entry by its number or by `last`; wherever a command reads a \
        saved result, `history:12` or `history:last` names an entry. `fathom trend` shows how figures changed over \
        time.",
    after_help = "Examples:\n  fathom history --target nvme1n1 --since 7d\n  fathom history show last --out markdown\n  \
        fathom history label 12 'before the firmware update'\n  fathom compare history:12 history:last\n  fathom \
        history prune --older-than 90d --dry-run",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List entries, the latest first (the default)
    List(ListArgs),
    /// Print an entry in any output format
    Show {
        #[command(flatten)]
        entry: EntryArgs,
        #[command(flatten)]
        output: ShowArgs,
    },
    /// Set the label of an entry
    Label {
        #[command(flatten)]
        entry: EntryArgs,
        /// The label; an empty one removes it
        #[arg(value_name = "TEXT")]
        label: String,
    },
    /// Write the complete result of an entry to a file
    Export {
        #[command(flatten)]
        entry: EntryArgs,
        /// The file; an existing one is replaced
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove entries, and list them
    Prune(PruneArgs),
    /// Print the path of the history
    Path,
}

#[derive(clap::Args)]
struct EntryArgs {
    /// Number of the entry, or `last`
    entry: String,
}

impl EntryArgs {
    fn number(&self, history: &History) -> Result<u64, Faults> {
        history::parse_entry(history, &self.entry)
    }
}

#[derive(clap::Args)]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Show at most this many of the latest; 0 shows all
    #[arg(long, value_name = "N", default_value = "50")]
    limit: usize,
    /// Text, json, csv (a row for each job), each to stdout or a file [default: text]
    #[arg(long, value_name = "FORMAT[=FILE],…")]
    out: Vec<String>,
}

#[derive(clap::Args)]
struct PruneArgs {
    #[command(flatten)]
    limit: PruneLimit,
    /// List the entries without removing them
    #[arg(long)]
    dry_run: bool,
}

/// The entries to remove; one of the options is required.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct PruneLimit {
    /// Keep only this many of the latest
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove entries that are older: 90d, 12w, 36h
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
}

/// Help heading of the filter options.
const FILTER_HEADING: &str = "Entries";

/// Options that filter a list.
#[derive(clap::Args)]
pub(super) struct FilterArgs {
    /// Only entries whose target path contains TEXT
    #[arg(long, value_name = "TEXT", help_heading = FILTER_HEADING)]
    target: Option<String>,
    /// Only entries with a device whose name or model contains TEXT
    #[arg(long, value_name = "TEXT", help_heading = FILTER_HEADING)]
    device: Option<String>,
    /// Only entries measured on this host
    #[arg(long, value_name = "NAME", help_heading = FILTER_HEADING)]
    host: Option<String>,
    /// Only entries whose label or test name contains TEXT
    #[arg(long, value_name = "TEXT", help_heading = FILTER_HEADING)]
    label: Option<String>,
    /// Only entries of this command
    #[arg(long, value_name = "KIND", help_heading = FILTER_HEADING, value_parser = EntryKind::ALL.map(EntryKind::name))]
    kind: Option<String>,
    /// Only entries with this verdict
    #[arg(long, value_name = "VERDICT", help_heading = FILTER_HEADING, ignore_case = true, value_parser = Outcome::ALL.map(Outcome::word))]
    verdict: Option<String>,
    /// Only entries that started at this time or later: 2026-11-22T18:00, 7d, 36h
    #[arg(long, value_name = "DATE|AGE", help_heading = FILTER_HEADING)]
    since: Option<String>,
    /// Only entries that started before this time; a date includes the whole day
    #[arg(long, value_name = "DATE|AGE", help_heading = FILTER_HEADING)]
    until: Option<String>,
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    match &args.action {
        None => list(&args.list),
        Some(Action::List(args)) => list(args),
        Some(Action::Show { entry, output }) => {
            let id = entry.number(&history::open()?)?;
            show::show_file(&format!("history:{id}"), output)
        }
        Some(Action::Label { entry, label }) => set_label(entry, label),
        Some(Action::Export { entry, file }) => export(entry, file),
        Some(Action::Prune(args)) => prune(args),
        Some(Action::Path) => screen::put_document(&format!("{}\n", history::path()?.display())),
    }
}

impl FilterArgs {
    pub(super) fn filter(&self) -> Result<Filter, Faults> {
        let moment =
            |name: &str, text: &Option<String>| text.as_ref().map(|text| parse_filter_time(name, text)).transpose();
        Ok(Filter {
            target: self.target.clone(),
            device: self.device.clone(),
            host: self.host.clone(),
            label: self.label.clone(),
            kind: self.kind.as_deref().and_then(EntryKind::from_name),
            verdict: self.verdict.clone(),
            since_unix_ns: moment("since", &self.since)?,
            until_unix_ns: moment("until", &self.until)?,
            ..Filter::default()
        })
    }
}

/// Parses a date of the local calendar, or an age.
fn parse_filter_time(option: &str, text: &str) -> Result<u64, Faults> {
    parse_moment(text, option == "until", Timestamp::now(), &TimeZone::system()).ok_or_else(|| {
        let fault = Fault::new(format!("`{text}` is not a date or an age")).at(format!("--{option} {text}"));
        fault.into_usage("for example 2026-11-22, 2026-11-22T18:00, 7d, 36h")
    })
}

/// Converts a date or age to nanoseconds of Unix time. `after` selects the end of a day that is
/// named without a time.
pub(super) fn parse_moment(text: &str, after: bool, now: Timestamp, zone: &TimeZone) -> Option<u64> {
    let moment = match parse_age(text) {
        Some(age) => now.checked_sub(age).ok()?,
        None => {
            let time = match text.parse::<Date>() {
                Ok(day) if !text.contains(['T', ' ']) => match after {
                    true => day.tomorrow().ok()?.at(0, 0, 0, 0),
                    false => day.at(0, 0, 0, 0),
                },
                _ => text.parse::<DateTime>().ok()?,
            };
            time.to_zoned(zone.clone()).ok()?.timestamp()
        }
    };
    Some(u64::try_from(moment.as_nanosecond()).unwrap_or(0))
}

/// Parses an age such as `90d`, `12w`, `36h`, `30m`.
fn parse_age(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number >= 0)?;
    let hours = match unit {
        'w' => 7 * 24,
        'd' => 24,
        'h' => 1,
        'm' => return number.checked_mul(60).map(SignedDuration::from_secs),
        _ => return None,
    };
    number.checked_mul(hours * 3600).map(SignedDuration::from_secs)
}

/// Opens the history; `None` if there is none yet.
pub(super) fn open_existing() -> Result<Option<History>, Faults> {
    match History::open_existing(&history::path()?) {
        Ok(history) => Ok(Some(history)),
        Err(HistoryError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn list(args: &ListArgs) -> Result<Exit, Faults> {
    let spec = OutputSpec {
        out: args.out.clone(),
        report: None,
    };
    let outputs = StudyOutputs::new(&spec, None, NO_PAGE)?;
    outputs.check_files(&[])?;
    let limit = Some(args.limit).filter(|limit| *limit > 0);
    let filter = Filter {
        limit,
        ..args.filter.filter()?
    };
    let history = open_existing()?;
    let entries = history
        .as_ref()
        .map_or(Ok(Vec::new()), |history| history.list(&filter))?;
    let no_filter = Filter {
        limit,
        ..Filter::default()
    };
    let empty_text = match filter == no_filter {
        true => "the history is empty; every command that measures adds to it, for example `fathom quick`\n",
        false => "no entry matches\n",
    };
    let text = match entries.is_empty() {
        true => empty_text.to_owned(),
        false => format_table(&entries, terminal_width()),
    };
    let list = HistoryList::from_entries(entries);
    outputs.finish(&Contents {
        text,
        json: &list,
        other_forms: &[(Form::Csv, &|| format_csv(&list.entries))],
        page: None,
        study: None,
    })?;
    Ok(Exit::Done)
}

fn set_label(entry: &EntryArgs, label: &str) -> Result<Exit, Faults> {
    let length = label.chars().count();
    if length > MAX_CELL {
        let fault = Fault::new(format!("the label is too long: {length} characters"));
        return Err(fault.into_usage(format!("use at most {MAX_CELL}")));
    }
    let history = history::open()?;
    let id = entry.number(&history)?;
    history.set_label(id, label)?;
    screen::put(&match label.is_empty() {
        true => format!("{id} has no label\n"),
        false => format!("{id}: {label}\n"),
    })
}

fn export(entry: &EntryArgs, path: &Path) -> Result<Exit, Faults> {
    let history = history::open()?;
    let bytes = history.read_document(entry.number(&history)?)?;
    outputs::check_not_target([path].into_iter(), &[])?;
    own_files::check_before_run(path)?;
    own_files::write(path, &bytes)
        .map_err(|error| Faults::one(Fault::for_file("write", path, &error), Exit::Internal))?;
    Ok(Exit::Done)
}

fn prune(args: &PruneArgs) -> Result<Exit, Faults> {
    let keep = match (args.limit.keep, &args.limit.older_than) {
        (Some(number), _) => Retention::Latest(number),
        (None, Some(text)) => {
            let age = parse_age(text).and_then(|age| Timestamp::now().checked_sub(age).ok());
            let age = age.ok_or_else(|| {
                let fault = Fault::new(format!("`{text}` is not an age")).at(format!("--older-than {text}"));
                fault.into_usage("for example 90d, 12w, 36h")
            })?;
            Retention::Since(u64::try_from(age.as_nanosecond()).unwrap_or(0))
        }
        (None, None) => unreachable!("clap asks for one of them"),
    };
    let Some(mut history) = open_existing()? else {
        return screen::put("the history is empty; nothing to remove\n");
    };
    let out = history.entries_to_prune(keep)?;
    if out.is_empty() {
        return screen::put("nothing to remove\n");
    }
    let number = match out.len() {
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    };
    let text = format_table(&out, terminal_width());
    if args.dry_run {
        return screen::put(&format!("{text}{number} would be removed\n"));
    }
    history.prune(&out)?;
    screen::put(&format!("{text}{number} removed\n"))
}

/// Returns the width of the terminal; without a terminal nothing is cut.
fn terminal_width() -> usize {
    terminal::size_of_stdout().map_or(usize::MAX, |(width, _)| width)
}

/// The most characters of a cell. Formatting pads to at most 65,535.
const MAX_CELL: usize = 1000;

/// A column of a table.
struct Column {
    title: &'static str,
    right: bool,
    /// Fewest characters that it keeps on a narrow terminal; `None` if it is never cut.
    min_width: Option<usize>,
    cells: Vec<String>,
}

/// Formats one line per entry, each at most `width` columns.
fn format_table(entries: &[Entry], width: usize) -> String {
    let column = |title: &'static str, right: bool, min_width: Option<usize>, cell: &dyn Fn(&Entry) -> String| Column {
        title,
        right,
        min_width,
        cells: entries.iter().map(|entry| shorten(cell(entry), MAX_CELL)).collect(),
    };
    let figure = |value: fn(&EntryJob) -> Option<f64>, words: fn(f64) -> String| {
        move |entry: &Entry| match &entry.jobs[..] {
            [] => "-".into(),
            [job] => value(job).map_or("-".into(), words),
            _ => String::new(),
        }
    };
    let iops = |entry: &Entry| match (entry.runs, entry.jobs.len()) {
        (2.., _) => numbers::pluralize(entry.runs, "run"),
        (_, jobs @ 2..) => numbers::pluralize(jobs as u64, "job"),
        _ => figure(|job| job.iops, numbers::rate)(entry),
    };
    let several_hosts = entries.iter().any(|entry| entry.host != entries[0].host);
    let mut columns = vec![
        column("entry", true, None, &|entry| entry.id.to_string()),
        column("started", false, None, &|entry| {
            format_local_time(entry.started_unix_ns)
        }),
        column("kind", false, None, &|entry| entry.kind.name().into()),
        column("name", false, Some(8), &|entry| format_name(entry)),
    ];
    if several_hosts {
        columns.push(column("host", false, Some(6), &|entry| {
            visible(&entry.host).into_owned()
        }));
    }
    columns.extend([
        column("targets", false, Some(8), &|entry| {
            visible(&entry.targets.join(", ")).into_owned()
        }),
        column("IOPS", true, None, &iops),
        column(
            "MiB/s",
            true,
            None,
            &figure(
                |job| job.bytes_per_sec,
                |rate| numbers::throughput(rate / f64::from(1 << 20)),
            ),
        ),
        column("p50", true, None, &figure(|job| job.p50_ns, numbers::format_time)),
        column("p99", true, None, &figure(|job| job.p99_ns, numbers::format_time)),
        column("result", false, None, &|entry| format_verdict(entry)),
    ]);
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    fit_columns(&mut columns, width);
    format_lines(&columns)
}

/// Shows the label with the name of the test: the label is more specific.
fn format_name(entry: &Entry) -> String {
    match &entry.label {
        Some(label) => visible(&format!("{label} ({})", entry.name)).into_owned(),
        None => visible(&entry.name).into_owned(),
    }
}

fn format_verdict(entry: &Entry) -> String {
    let interrupted = if entry.interrupted { "interrupted" } else { "" };
    let words = [entry.verdict.as_deref().unwrap_or_default(), interrupted];
    words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Formats a moment in the local zone, to the minute.
pub(super) fn format_local_time(unix_ns: u64) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(unix_ns));
    moment.map_or_else(
        |_| String::new(),
        |moment| {
            moment
                .to_zoned(TimeZone::system())
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        },
    )
}

fn column_width(column: &Column) -> usize {
    let cells = column.cells.iter().map(|cell| cell.chars().count());
    cells.chain([column.title.len()]).max().unwrap_or(0)
}

/// Fits the lines into the terminal: shortens the widest columns first, then drops the least
/// useful.
fn fit_columns(columns: &mut Vec<Column>, width: usize) {
    const DROPPED_FIRST: [&str; 3] = ["MiB/s", "p50", "kind"];
    loop {
        let needed = columns.iter().map(|column| column_width(column) + 2).sum::<usize>() - 2;
        if needed <= width {
            return;
        }
        let can_give = columns.iter_mut().filter(|column| {
            column
                .min_width
                .is_some_and(|min_width| column_width(column) > min_width)
        });
        let Some(column) = can_give.max_by_key(|column| column_width(column)) else {
            let dropped = DROPPED_FIRST
                .iter()
                .find_map(|title| columns.iter().position(|column| column.title == *title));
            match dropped {
                Some(place) => drop(columns.remove(place)),
                None => return,
            }
            continue;
        };
        let to = (column_width(column) - 1).max(column.min_width.unwrap_or(0));
        for cell in &mut column.cells {
            *cell = shorten(std::mem::take(cell), to);
        }
    }
}

fn shorten(text: String, to: usize) -> String {
    match text.chars().count() > to {
        true => text.chars().take(to - 1).chain(['…']).collect(),
        false => text,
    }
}

fn format_lines(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells = columns.iter().map(|column| match column.right {
            true => format!("{:>1$}", cell(column), column_width(column)),
            false => format!("{:<1$}", cell(column), column_width(column)),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&|column| column.title.into());
    for row in 0..rows {
        text += &line(&|column| column.cells[row].clone());
    }
    text
}

/// Formats one CSV row per job of each entry.
fn format_csv(entries: &[Entry]) -> String {
    let fixed = |value: Option<f64>, unit: f64| value.map_or(String::new(), |value| format!("{:.3}", value / unit));
    let row = |entry: &Entry, job: &EntryJob| {
        let models = entry.devices.iter().map(|device| match &device.model {
            Some(model) => format!("{} ({model})", device.name),
            None => device.name.clone(),
        });
        let started = Timestamp::from_nanosecond(i128::from(entry.started_unix_ns));
        let file = entry.file.as_deref().map(Path::display);
        vec![
            entry.id.to_string(),
            started.map(|moment| moment.to_string()).unwrap_or_default(),
            entry.kind.name().into(),
            entry.name.clone(),
            entry.label.clone().unwrap_or_default(),
            entry.host.clone(),
            entry.targets.join(", "),
            models.collect::<Vec<_>>().join(", "),
            entry.version.clone(),
            entry.runs.to_string(),
            format_verdict(entry),
            job.name.clone(),
            fixed(job.iops, 1.0),
            fixed(job.bytes_per_sec, f64::from(1 << 20)),
            fixed(job.mean_ns, 1e3),
            fixed(job.p50_ns, 1e3),
            fixed(job.p99_ns, 1e3),
            file.map(|file| file.to_string()).unwrap_or_default(),
        ]
    };
    csv_table(
        "entry,started,kind,name,label,host,targets,devices,version,runs,came_to,job,iops,mib_per_s,latency_mean_us,\
         latency_p50_us,latency_p99_us,file",
        entries
            .iter()
            .flat_map(|entry| entry.jobs.iter().map(move |job| row(entry, job))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_local_and_ages_are_relative_to_now() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let check = |text: &str, after: bool, expected: Option<&str>| {
            let wanted = expected.map(|text| text.parse::<Timestamp>().unwrap().as_nanosecond() as u64);
            assert_eq!(parse_moment(text, after, now, &zone), wanted, "{text}");
        };
        check("2026-11-20", false, Some("2026-11-19T23:00:00Z"));
        check("2026-11-20", true, Some("2026-11-20T23:00:00Z"));
        check("2026-11-20T18:30", true, Some("2026-11-20T17:30:00Z"));
        check("7d", false, Some("2026-11-15T12:00:00Z"));
        check("1w", true, Some("2026-11-15T12:00:00Z"));
        check("90m", false, Some("2026-11-22T10:30:00Z"));
        for wrong in [
            "", "d", "-1d", "7", "tomorrow", "2026-13-01", "99999999999999999999d", "9223372036854775807w",
        ] {
            check(wrong, false, None);
        }
    }

    fn entry(id: u64, name: &str, target: &str) -> Entry {
        Entry {
            id,
            kind: EntryKind::Run,
            name: name.into(),
            label: None,
            host: "h".into(),
            started_unix_ns: 0,
            ended_unix_ns: 0,
            version: "0.1.0".into(),
            runs: 1,
            interrupted: false,
            verdict: None,
            plan: None,
            test: None,
            file: None,
            targets: vec![target.into()],
            devices: Vec::new(),
            jobs: Vec::new(),
        }
    }

    #[test]
    fn a_very_long_name_is_shortened() {
        let table = format_table(&[entry(1, &"n".repeat(70_000), "/t")], usize::MAX);
        assert!(table.contains("nnn…") && table.len() < 10_000, "{}", table.len());
    }

    #[test]
    fn a_table_fits_the_width_of_the_terminal() {
        let long = "a name too long to be read to its end here";
        let entries = [
            entry(1, long, "/dev/nvme0n1"),
            entry(12, "short\x1b[2J", "/data/a/b/c/d/e/f"),
        ];
        let whole = format_table(&entries, usize::MAX);
        assert!(
            whole.contains(long) && whole.contains("short\\u001b[2J") && !whole.contains("host"),
            "{whole}"
        );
        for width in [60, 80, 100] {
            let cut = format_table(&entries, width);
            assert!(cut.lines().all(|line| line.chars().count() <= width), "{width}\n{cut}");
            assert!(cut.contains("a name ") && cut.contains('…'), "{cut}");
        }
    }
}
