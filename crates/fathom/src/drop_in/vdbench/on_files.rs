//! Runs on trees of files: anchors, formats, columns and console lines.

use std::fs;
use std::path::Path;

use ::run::targets::kept_file_path;
use dialects::vdbench::values::format_loop_value;
use dialects::vdbench::{FileRun, Fsd, OPERATIONS, Parameters, Run, TreeFormat};
use model::plan::{FileOperationKind, Plan};
use report::formats::vdbench::{FileColumns, group_digits};

use super::super::note;
use super::run_printer::RowStyle;
use super::{Drive, Failure};

/// Returns the columns of a parameter file's runs. `None` if the runs are on SDs.
pub(super) fn file_columns(runs: &[Run]) -> Option<FileColumns> {
    let mut on_files = runs.iter().filter_map(|run| run.files.as_ref()).peekable();
    on_files.peek()?;
    Some(FileColumns {
        extra: on_files.flat_map(requested_operations).collect(),
        requested: Vec::new(),
    })
}

/// Returns the operations that count for the rate of a run on files.
fn requested_operations(files: &FileRun) -> Vec<FileOperationKind> {
    match files.makes {
        Some(_) => vec![FileOperationKind::WriteBlock],
        None => files.loads().iter().flat_map(|load| load.requested()).collect(),
    }
}

/// Sets the operations that count for the rate of a run.
pub(super) fn set_requested(style: &mut RowStyle, run: &Run) {
    if let (Some(columns), Some(files)) = (&mut style.files, &run.files) {
        columns.requested = requested_operations(files);
    }
}

/// Formats bytes in the largest unit with one decimal.
fn format_short_size(bytes: u64) -> String {
    let (mut rest, mut units) = (bytes as f64, ["k", "m", "g", "t"].iter());
    let mut unit = "";
    while rest >= 1024.0
        && let Some(next) = units.next()
    {
        (rest, unit) = (rest / 1024.0, next);
    }
    format!("{rest:.1}{unit}")
}

fn format_anchor_size(fsd: &Fsd) -> String {
    let tree = fsd.whole_tree();
    let bytes = tree.total_size().0;
    let short = match format_loop_value(bytes as f64) {
        text if bytes < 1 << 20 && !text.ends_with('k') => text,
        text => match text.strip_suffix(|c: char| c.is_ascii_alphabetic()) {
            Some(number) if !number.contains('.') => format!("{number}.000{}", &text[number.len()..]),
            _ => text,
        },
    };
    format!(
        "Anchor size: anchor={}: dirs: {:>12}; files: {:>12}; bytes: {short:>10} ({})",
        fsd.anchor,
        group_digits(tree.directory_count()),
        group_digits(tree.file_count()),
        group_digits(bytes)
    )
}

fn working_set_files(plan: &Plan, fsd: &Fsd) -> Option<u64> {
    let workers = plan.jobs().flat_map(|(_, job)| &job.workers);
    let on_tree = workers.flat_map(|worker| &worker.streams).find(|stream| {
        let mut targets = stream.target.ids().iter().map(|id| plan.target(*id));
        targets.any(|target| target.path == fsd.anchor)
    });
    let set = on_tree.and_then(|stream| stream.files.as_ref()?.working_set)?;
    Some(u64::from(set.files))
}

/// Headers of the page of anchors, above columns of three figures each, and two for opened files.
const ANCHOR_HEADERS: [&str; 2] = [
    "......Anchor size....    ......Total size.....    ......Workingset.....    ....Existing ........    ...Opened...",
    "files     dirs  bytes    files     dirs  bytes    files     dirs  bytes    files     dirs  bytes    files  bytes",
];

/// Formats the row of an anchor. Existing and opened files are not counted.
fn format_anchor_row(fsd: &Fsd, set: Option<u64>, width: usize) -> String {
    let tree = fsd.whole_tree();
    let size = |files: u64, bytes: u64| format!("{files:>8} {:>8} {:>6}", 0, format_short_size(bytes));
    let whole = format!(
        "{:>8} {:>8} {:>6}",
        tree.file_count(),
        tree.directory_count(),
        format_short_size(tree.total_size().0)
    );
    let none = format!("{:>8} {:>8} {:>6}", 0, 0, 0);
    let total = fsd
        .total
        .map_or(none.clone(), |bytes| size(fsd.tree().file_count(), bytes));
    let working = match (set, fsd.working_set) {
        (Some(files), Some(bytes)) => size(files, bytes),
        _ => none,
    };
    let unknown = format!("{0:>8} {0:>8} {0:>6} {0:>8} {0:>6}", "n/a");
    format!("{:<width$} {whole} {total} {working} {unknown}", fsd.anchor)
}

fn list_fsds<'a>(runs: impl IntoIterator<Item = &'a Run>) -> impl Iterator<Item = &'a Fsd> {
    let files = runs.into_iter().filter_map(|run| run.files.as_ref());
    files.flat_map(|files| &files.fsds)
}

impl Drive<'_> {
    /// Creates missing anchors, and prints the size of each.
    pub(super) fn prepare_anchors(&mut self, runs: &[Run], parameters: &Parameters) -> Result<(), Failure> {
        let mut prepared: Vec<Fsd> = Vec::new();
        for fsd in list_fsds(runs) {
            if !prepared.contains(fsd) {
                prepared.push(fsd.clone());
            }
        }
        for fsd in &prepared {
            self.output.print_stamped(&format_anchor_size(fsd));
        }
        for fsd in prepared.iter().filter(|fsd| fsd.rank().is_none()) {
            let path = Path::new(&fsd.anchor);
            if path.exists() {
                continue;
            }
            let made = match parameters.general.create_anchors {
                true => fs::create_dir_all(path),
                false => fs::create_dir(path),
            };
            made.map_err(|error| Failure {
                text: format!("Unable to create anchor directory: {}", fsd.anchor),
                more: vec![
                    format!("cause: {error}"),
                    "help: `create_anchors=yes` creates missing parents too".into(),
                ],
            })?;
            let host = self.style.host(None);
            self.output
                .print_stamped(&format!("{host}-0: Created anchor directory: {}", fsd.anchor));
        }
        Ok(())
    }

    /// Creates the page of anchors, with a row for each.
    pub(super) fn create_anchors_page(&mut self, runs: &[&Run]) -> Result<(), Failure> {
        let mut listed: Vec<&Fsd> = Vec::new();
        for fsd in list_fsds(runs.iter().copied()) {
            if !listed.iter().any(|other| other.name == fsd.name) {
                listed.push(fsd);
            }
        }
        self.anchor_width = listed.iter().map(|fsd| fsd.anchor.len()).max().unwrap_or(0);
        let [first, second] = ANCHOR_HEADERS.map(|text| format!("{:width$}{text}", "", width = self.anchor_width + 4));
        let title = format!("Anchor status report\n\n(existing and opened files are not counted)\n\n{first}\n{second}");
        self.create_linked("anchors", &title, &[])?;
        for fsd in listed {
            let row = format_anchor_row(fsd, None, self.anchor_width);
            self.output.write("anchors", &row);
        }
        Ok(())
    }

    pub(super) fn write_anchor_rows(&mut self, run: &Run, plan: &Plan) {
        for fsd in run.files.iter().flat_map(|files| &files.fsds) {
            let row = format_anchor_row(fsd, working_set_files(plan, fsd), self.anchor_width);
            self.output.write("anchors", &row);
        }
    }

    /// Prints the part of its trees that a run uses.
    pub(super) fn report_sizes(&mut self, run: &Run, plan: &Plan) {
        let Some(files) = &run.files else { return };
        for fsd in &files.fsds {
            let count = fsd.tree().file_count();
            let set = working_set_files(plan, fsd);
            let parts = [
                fsd.total
                    .map(|bytes| ("totalsize", bytes, count, fsd.whole_tree().file_count())),
                set.map(|files| ("workingset", fsd.working_set.unwrap_or(0), files, count)),
            ];
            for (what, bytes, used, total) in parts.into_iter().flatten() {
                self.output.print_stamped(&format!(
                    "{}-0: Created {what}={} using {:>12} of {:>12} files for anchor={}",
                    self.style.host(fsd.rank()),
                    format_short_size(bytes),
                    group_digits(used),
                    group_digits(total),
                    fsd.anchor
                ));
            }
        }
    }

    /// Prints that a format is complete, or why a run ended early.
    pub(super) fn report_end_on_files(&mut self, run: &Run, ended_early: bool) {
        let Some(files) = &run.files else { return };
        // An interrupted format is not complete.
        let is_complete = run.elapsed.is_none() || ended_early;
        for fsd in files.fsds.iter().filter(|_| files.makes.is_some() && is_complete) {
            let host = self.style.host(fsd.rank());
            let mut print_line = |what: &str| {
                self.output
                    .print_stamped(&format!("{host}-0: anchor={} {what} complete.", fsd.anchor))
            };
            match files.makes {
                Some(TreeFormat::All | TreeFormat::Restart) => {
                    print_line("mkdir");
                    print_line("create");
                }
                Some(TreeFormat::Directories) => print_line("mkdir"),
                Some(TreeFormat::Clean) | None => print_line("cleanup"),
            }
        }
        if files.makes.is_some() || !ended_early {
            return;
        }
        for load in files.loads() {
            let operation = OPERATIONS[load.operation].0;
            let lines = match operation {
                // Every file was used.
                _ if load.fwd.once => continue,
                "mkdir" | "rmdir" => {
                    let (verb, is_there, other) = match operation {
                        "mkdir" => ("create", "already exists", "delete"),
                        _ => ("delete", "does not exist", "create new"),
                    };
                    [
                        format!("Vdbench is trying to {verb} a directory, but the directory that we are"),
                        format!("trying to {verb} {is_there}, and there are no threads currently"),
                        format!("active that {other} directories."),
                    ]
                }
                _ => {
                    let (object, other) = match operation {
                        "create" => ("a new", "deleting files"),
                        _ => ("a", "creating new files"),
                    };
                    [
                        format!("Vdbench is trying to {operation} {object} file, but no files are available, and no"),
                        format!("threads are currently active {other}."),
                        String::new(),
                    ]
                }
            };
            let first = kept_file_path(Path::new(&load.fsd.anchor), &load.fsd.tree(), 0);
            if operation == "create" && !self.style.in_fleet && !first.parent().is_some_and(Path::exists) {
                note(
                    "create makes files only in directories that exist, and this tree has none: add `mkdir` to the \
                     operations, or give `format=directories` first",
                );
            }
            self.output.print_stamped(&format!("Anchor: {}", load.fsd.anchor));
            for line in lines.iter().filter(|line| !line.is_empty()) {
                self.output.print_stamped(line);
            }
        }
    }
}
