//! What each host keeps of a run of several until it has arrived, and `fathom recover` reads.

use std::fs;
use std::path::{Path, PathBuf};

use run::hosts::{Journal, JournalEntry};

use crate::user_data;

/// The folder of this user, or the one that `FATHOM_JOURNAL` names; none where that is `off`.
#[derive(Clone, Debug)]
pub struct Journals(Option<PathBuf>);

impl Journals {
    /// Where the environment says.
    pub fn usual() -> Journals {
        Journals(match std::env::var("FATHOM_JOURNAL") {
            Ok(text) if text == "off" => None,
            Ok(text) if !text.is_empty() => Some(text.into()),
            _ => user_data::folder().map(|folder| folder.join("fleet")),
        })
    }

    fn path(&self, run: &str, rank: u32) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(run).join(format!("rank-{rank}.json")))
    }
}

impl Journal for Journals {
    fn keep(&self, kept: &JournalEntry) {
        let Some(path) = self.path(&kept.run, kept.rank.number) else {
            return;
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        let written = fs::create_dir_all(folder)
            .ok()
            .and_then(|()| serde_json::to_vec(kept).ok())
            .map(|bytes| archive::write_whole(&path, &bytes));
        // A full disk here is no reason to end a test.
        drop(written);
    }

    fn forget(&self, run: &str, rank: u32) {
        let Some(path) = self.path(run, rank) else { return };
        let _ = fs::remove_file(&path);
        // It goes with the last of its files.
        let _ = path.parent().map(fs::remove_dir);
    }
}

/// Reads what is kept in a folder, or in the folders within it.
///
/// # Errors
/// A sentence about the first file that cannot be read.
pub fn read(folder: &Path) -> Result<Vec<(PathBuf, JournalEntry)>, String> {
    let mut found = Vec::new();
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
        let kept = fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        let kept = kept.map_err(|why| format!("{} is nothing that a host has kept: {why}", path.display()))?;
        found.push((path, kept));
    }
    Ok(found)
}
