//! The journal: results that each host stores until the coordinator has them. `fathom recover`
//! reads it.

use std::fs;
use std::path::{Path, PathBuf};

use run::hosts::{Journal, JournalEntry};

use crate::user_data;

/// The directory of journals: the user's, or `FATHOM_JOURNAL`; `None` if that is `off`.
#[derive(Clone, Debug)]
pub struct JournalFolder(Option<PathBuf>);

impl JournalFolder {
    /// Chooses the directory by the environment.
    pub fn from_env() -> JournalFolder {
        JournalFolder(match std::env::var("FATHOM_JOURNAL") {
            Ok(text) if text == "off" => None,
            Ok(text) if !text.is_empty() => Some(text.into()),
            _ => user_data::folder().map(|folder| folder.join("fleet")),
        })
    }

    fn path(&self, run: &str, rank: u32) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(run).join(format!("rank-{rank}.json")))
    }
}

impl Journal for JournalFolder {
    fn write(&self, entry: &JournalEntry) {
        let Some(path) = self.path(&entry.run, entry.rank.number) else {
            return;
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        let written = fs::create_dir_all(folder)
            .ok()
            .and_then(|()| serde_json::to_vec(entry).ok())
            .map(|bytes| archive::write_whole(&path, &bytes));
        // A full disk here must not fail the test.
        drop(written);
    }

    fn remove(&self, run: &str, rank: u32) {
        let Some(path) = self.path(run, rank) else { return };
        let _ = fs::remove_file(&path);
        // Removes the directory once it is empty.
        let _ = path.parent().map(fs::remove_dir);
    }
}

/// Reads all journal entries of a directory and its subdirectories.
///
/// # Errors
/// A sentence about the first file that cannot be read.
pub fn read(folder: &Path) -> Result<Vec<(PathBuf, JournalEntry)>, String> {
    let mut records = Vec::new();
    let entries = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let read = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let mut files = Vec::new();
    for path in entries(folder)? {
        match path.is_dir() {
            true => files.extend(entries(&path)?),
            false => files.push(path),
        }
    }
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !(name.starts_with("rank-") && name.ends_with(".json")) {
            continue;
        }
        let entry = fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        let entry = entry.map_err(|why| format!("{} is not a journal entry: {why}", path.display()))?;
        records.push((path, entry));
    }
    Ok(records)
}
