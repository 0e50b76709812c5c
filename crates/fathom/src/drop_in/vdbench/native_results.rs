//! Saves the native results of runs.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Recording, Subject};
use model::plan::Plan;
use model::results::Results;

use super::{Drive, Failure};
use crate::drop_in::{check_outputs, check_result_path, print_stderr};

/// Maximum number of files that are checked before the first run. Each later one is checked before
/// its run.
const MAX_CHECKED: usize = 10_000;

impl Drive<'_> {
    /// Checks before the first run whether the results of all runs can be saved, so that no
    /// measured result is lost.
    pub(super) fn check_results(&self, runs: usize) -> Result<(), Failure> {
        check_result_path()?;
        let count = runs.min(MAX_CHECKED) as u32;
        let mut numbered = (2..=count).map_while(result_path);
        Ok(numbered.try_for_each(|path| check_numbered(&path))?)
    }

    /// Checks whether the result of the next run can be saved. The number of runs is unknown if
    /// they repeat until a time.
    pub(super) fn check_next_result(&self, plan: &Plan) -> Result<(), Failure> {
        check_result_path()?;
        let number = self.saved_results + 1;
        if let Some(path) = result_path(number).filter(|_| number > 1) {
            check_outputs(&[("the result", &path)], &self.env.inputs(), plan)?;
            check_numbered(&path)?;
        }
        Ok(())
    }

    /// Saves the native result and records it in the history. Each needs its variable.
    pub(super) fn record_results(&mut self, results: &Results) -> Result<(), Failure> {
        self.saved_results += 1;
        let path = result_path(self.saved_results);
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

/// Returns the path for the result of a run, counted from 1. The file of the first run has the
/// plain name, and the files of later runs have a number.
fn result_path(number: u32) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("FATHOM_RESULT")?);
    Some(match number {
        ..=1 => path,
        2.. => add_number(&path, number),
    })
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
