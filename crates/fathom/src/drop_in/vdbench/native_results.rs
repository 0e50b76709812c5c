//! Saves the native results of runs.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Recording, Subject};
use model::results::Results;

use super::{Drive, Failure};
use crate::drop_in::{check_outputs, print_stderr};

impl Drive<'_> {
    /// Saves the native result and records it in the history. Each needs its variable. The file of
    /// the first run has the plain name, and the files of later runs have a number.
    pub(super) fn record_results(&mut self, results: &Results) -> Result<(), Failure> {
        self.saved_results += 1;
        let path = match (std::env::var_os("FATHOM_RESULT").map(PathBuf::from), self.saved_results) {
            (Some(path), number @ 2..) => {
                let path = add_number(&path, number);
                check_outputs(&[("the result", &path)], &self.env.inputs(), &results.plan)?;
                check_numbered(&path)?;
                Some(path)
            }
            (path, _) => path,
        };
        if let Some(path) = &path {
            archive::save(results, path).map_err(|error| format!("FATHOM_RESULT: {error}"))?;
        }
        let file = path.and_then(|path| fs::canonicalize(path).ok());
        let recording = Recording {
            subject: Subject::Run(results),
            kind: EntryKind::Vdbench,
            name: None,
            verdict: None,
            file: file.as_deref(),
        };
        if let Err(why) = crate::history::record_drop_in(&recording) {
            print_stderr(&[format!("WARNING: this result is not in the history: {why}")]);
        }
        Ok(())
    }
}

/// Refuses to replace a file that is no saved result: the user did not name it.
fn check_numbered(path: &Path) -> Result<(), String> {
    const HEAD_BYTES: u64 = 4096;
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    let mut head = Vec::new();
    let mut read = || File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head);
    match meta.is_file() && read().is_ok() && archive::is_saved(&head) {
        true => Ok(()),
        false => Err(format!(
            "FATHOM_RESULT: cannot replace {}: it exists and is not a saved result; move it, or set another name",
            path.display()
        )),
    }
}

/// Adds a number to a file name: `result.json` becomes `result.2.json`.
fn add_number(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension() {
        Some(extension) => path.with_file_name(format!("{stem}.{number}.{}", extension.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{number}")),
    }
}
