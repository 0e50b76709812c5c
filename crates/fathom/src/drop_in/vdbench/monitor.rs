//! `monitor=`: a file whose first line ends the run or the test.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::user_file;

/// Larger files are not monitor files.
const MAX_BYTES: u64 = 4096;

/// The words that end something.
const WORDS: [(&str, Request); 4] = [
    ("end_rd", Request::EndRun),
    ("shutdown", Request::EndRun),
    ("end_vdbench", Request::EndTest),
    ("terminate", Request::EndTest),
];

/// A request in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    EndRun,
    EndTest,
}

/// What can end a run before its time is over.
#[derive(Clone, Copy, Debug)]
pub struct EarlyEnds<'a> {
    /// `maxdata=`: bytes that end the run with the interval after the one that reaches them.
    pub max_bytes: Option<u64>,
    /// The file of `monitor=`.
    pub monitor: Option<&'a Path>,
    /// Set to end the run.
    pub finished: &'a AtomicBool,
}

/// Empties the file, or creates it. Refuses to empty other files.
///
/// # Errors
/// A sentence with the reason.
pub fn prepare(path: &Path) -> Result<(), String> {
    let is_empty = fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == 0);
    if path.exists() && !is_empty && read_request(path).is_none() {
        return Err(format!(
            "monitor={}: the file exists and is not a monitor file; remove it, or set another name",
            path.display()
        ));
    }
    let created = File::create(path).map(|_| ());
    created.map_err(|error| format!("monitor={}: cannot create the file: {error}", path.display()))
}

/// Reads the request in the file and empties it, so that a request ends only one run.
pub fn take_request(path: &Path) -> Option<Request> {
    let request = read_request(path)?;
    let _ = File::create(path);
    Some(request)
}

fn read_request(path: &Path) -> Option<Request> {
    let text = user_file::read_text(path, MAX_BYTES).ok()?;
    let line = text.lines().next()?.trim();
    WORDS
        .iter()
        .find(|(word, _)| *word == line)
        .map(|(_, request)| *request)
}
