//! Runs on trees of files: anchors, formats, columns and what the console prints of them.

use std::fs;
use std::path::Path;

use dialects::vdbench::values::loop_text;
use dialects::vdbench::{FileRun, Fsd, OPERATIONS, Parameters, Run, TreeFormat};
use model::plan::FileOperationKind;
use report::formats::vdbench::FileColumns;

use super::follow::Style;
use super::{Drive, Failure};

/// The columns of a file's runs; `None` if they are on SDs.
pub(super) fn columns_of(runs: &[Run]) -> Option<FileColumns> {
    let mut on_files = runs.iter().filter_map(|run| run.files.as_ref()).peekable();
    on_files.peek()?;
    let requested: Vec<FileOperationKind> = on_files.flat_map(requested_of).collect();
    Some(FileColumns {
        extra: requested.contains(&FileOperationKind::Stat),
        requested: Vec::new(),
    })
}

fn requested_of(files: &FileRun) -> Vec<FileOperationKind> {
    match files.makes {
        Some(_) => vec![FileOperationKind::WriteBlock],
        None => files.loads().iter().flat_map(|load| load.requested()).collect(),
    }
}

/// The operations that a run asks for are those of its rate.
pub(super) fn set_requested(style: &mut Style, run: &Run) {
    if let (Some(columns), Some(files)) = (&mut style.files, &run.files) {
        columns.requested = requested_of(files);
    }
}

/// The runs, with those that make their trees in front.
pub(super) fn with_tree_formats(runs: &[Run], parameters: &Parameters) -> Vec<Run> {
    let mut all = Vec::new();
    for run in runs {
        all.extend(run.tree_format(&parameters.format_fwd));
        if !run.files.as_ref().is_some_and(|files| files.format.only) {
            all.push(run.clone());
        }
    }
    all
}

/// A count with commas.
pub(super) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    let groups: Vec<_> = groups.iter().map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(",")
}

fn anchor_size(fsd: &Fsd) -> String {
    let tree = fsd.tree();
    let bytes = tree.total_size().0;
    let short = match loop_text(bytes as f64) {
        text if bytes < 1 << 20 && !text.ends_with('k') => text,
        text => match text.strip_suffix(|c: char| c.is_ascii_alphabetic()) {
            Some(number) if !number.contains('.') => format!("{number}.000{}", &text[number.len()..]),
            _ => text,
        },
    };
    format!(
        "Anchor size: anchor={}: dirs: {:>12}; files: {:>12}; bytes: {short:>10} ({})",
        fsd.anchor,
        thousands(tree.directory_count()),
        thousands(tree.file_count()),
        thousands(bytes)
    )
}

impl Drive<'_> {
    /// Makes anchors that are missing, and prints what each will hold.
    pub(super) fn prepare_anchors(&mut self, runs: &[Run], parameters: &Parameters) -> Result<(), Failure> {
        let mut known: Vec<Fsd> = Vec::new();
        for fsd in runs
            .iter()
            .filter_map(|run| run.files.as_ref())
            .flat_map(|files| &files.fsds)
        {
            if !known.contains(fsd) {
                known.push(fsd.clone());
            }
        }
        for fsd in &known {
            self.output.say_now(&anchor_size(fsd));
        }
        for fsd in &known {
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
                    "help: `create_anchors=yes` makes missing parents too".into(),
                ],
            })?;
            let host = self.style.host.clone();
            self.output
                .say_now(&format!("{host}-0: Created anchor directory: {}", fsd.anchor));
        }
        Ok(())
    }

    /// Prints that a format is complete, or why a run ended before its time.
    pub(super) fn report_end_on_files(&mut self, run: &Run, ended_early: bool) {
        let Some(files) = &run.files else { return };
        let host = self.style.host.clone();
        for fsd in files.fsds.iter().filter(|_| files.makes.is_some()) {
            let mut say = |what: &str| {
                self.output
                    .say_now(&format!("{host}-0: anchor={} {what} complete.", fsd.anchor))
            };
            match files.makes {
                Some(TreeFormat::All | TreeFormat::Restart) => {
                    say("mkdir");
                    say("create");
                }
                Some(TreeFormat::Directories) => say("mkdir"),
                Some(TreeFormat::Clean) | None => say("cleanup"),
            }
        }
        if files.makes.is_some() || !ended_early {
            return;
        }
        for load in files.loads() {
            let operation = OPERATIONS[load.operation];
            let (object, other) = match operation {
                "create" => ("a new", "deleting files"),
                _ => ("a", "creating new files"),
            };
            self.output.say_now(&format!("Anchor: {}", load.fsd.anchor));
            self.output.say_now(&format!(
                "Vdbench is trying to {operation} {object} file, but no files are available, and no"
            ));
            self.output.say_now(&format!("threads are currently active {other}."));
        }
    }
}
