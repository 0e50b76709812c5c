//! Saves the native results of runs, and writes their pages.

use std::fs;
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Recording, Subject};
use dialects::vdbench::is_layout;
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
        let mut numbered = (2..=count).flat_map(|number| numbered_outputs(number, number));
        Ok(numbered.try_for_each(|(name, path)| check_replaceable(name, &path))?)
    }

    /// Checks whether the result of the next run can be saved. The number of runs is unknown if
    /// they repeat until a time.
    pub(super) fn check_next_result(&self, plan: &Plan) -> Result<(), Failure> {
        check_own_outputs()?;
        for (name, path) in numbered_outputs(self.saved_results + 1, self.written_pages + 1) {
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
            report_page::write(results, &add_number(&page, self.written_pages + 1))?;
            // The first run of the user replaces the page of its lay-out.
            self.written_pages += u32::from(!is_layout(&results.plan.name));
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

/// Returns the files of a run that have a number in their name. Results and pages are counted from
/// 1, and the first of each has the name that the user gave.
fn numbered_outputs(result: u32, page: u32) -> Vec<(&'static str, PathBuf)> {
    let outputs = own_outputs().into_iter();
    let with_number = outputs.map(|(name, path)| (name, path, if name == RESULT { result } else { page }));
    with_number
        .filter(|(_, _, number)| *number > 1)
        .map(|(name, path, number)| (name, add_number(&path, number)))
        .collect()
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
