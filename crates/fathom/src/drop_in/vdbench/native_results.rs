//! Saves the native results of runs, and writes their pages.

use std::fs;
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Recording, Subject};
use model::plan::Plan;
use model::results::Results;

use super::{Drive, Failure};
use crate::drop_in::{
    RESULT, check_outputs, check_own_outputs, check_replaceable, own_outputs, print_stderr, report_page, result_path,
};
use crate::own_files;

/// Maximum number of files that are checked before the first run. Each later one is checked before
/// its run.
const MAX_CHECKED: usize = 10_000;

impl Drive<'_> {
    /// Checks before the first run whether the results of all runs can be saved, so that no
    /// measured result is lost.
    pub(super) fn check_results(&self, runs: usize) -> Result<(), Failure> {
        check_own_outputs()?;
        let count = runs.min(MAX_CHECKED) as u32;
        let mut numbered = (2..=count).flat_map(numbered_outputs);
        Ok(numbered.try_for_each(|(name, path)| check_replaceable(name, &path))?)
    }

    /// Checks whether the result of the next run can be saved. The number of runs is unknown if
    /// they repeat until a time.
    pub(super) fn check_next_result(&self, plan: &Plan) -> Result<(), Failure> {
        check_own_outputs()?;
        let number = self.saved_results + 1;
        for (name, path) in numbered_outputs(number).into_iter().filter(|_| number > 1) {
            check_outputs(&[(name, &path)], &self.env.inputs(), plan)?;
            check_replaceable(name, &path)?;
        }
        Ok(())
    }

    /// Saves the native result, writes its page, and records it in the history, each if requested.
    pub(super) fn record_results(&mut self, results: &Results) -> Result<(), Failure> {
        self.saved_results += 1;
        let path = result_path().map(|path| add_number(&path, self.saved_results));
        if let Some(path) = &path {
            let refuse = |error| format!("{RESULT}: cannot write {}: {error}", path.display());
            own_files::save(results, path).map_err(refuse)?;
        }
        if let Some((_, page)) = report_page::requested() {
            report_page::write(results, &add_number(&page, self.saved_results))?;
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

/// Returns the files for the result and the page of a run, counted from 1.
fn numbered_outputs(number: u32) -> Vec<(&'static str, PathBuf)> {
    let outputs = own_outputs().into_iter();
    outputs.map(|(name, path)| (name, add_number(&path, number))).collect()
}

/// Adds the number of a run to a file name: `result.json` becomes `result.2.json` for the second.
fn add_number(path: &Path, number: u32) -> PathBuf {
    if number < 2 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension() {
        Some(extension) => path.with_file_name(format!("{stem}.{number}.{}", extension.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{number}")),
    }
}
