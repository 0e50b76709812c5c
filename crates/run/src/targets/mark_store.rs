//! Storage of the marks of files. The mark is an extended attribute of the file. If the file system
//! has no attributes, a registry in the user's state directory has a line for each file; without
//! such a directory, the process keeps the mark in memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use engine::{FileId, sys};

const ATTRIBUTE: &str = "user.fathom";

/// Marks that could not be stored elsewhere, newer than those in the registry.
static MARKS_IN_MEMORY: Mutex<Vec<(FileId, String)>> = Mutex::new(Vec::new());

/// Loads the mark of a file.
pub(super) fn load(file: &fs::File) -> Option<String> {
    if let Some(bytes) = sys::file::read_attribute(file, ATTRIBUTE) {
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let id = sys::file::file_stamp(file).ok()?.id;
    let in_memory = MARKS_IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let newer = in_memory.iter().find(|(mark_id, _)| *mark_id == id);
    newer.map(|(_, text)| text.clone()).or_else(|| load_registered(id))
}

/// Saves the mark of a file, replacing an earlier one.
///
/// # Errors
/// The system's error if the file cannot be identified.
pub(super) fn save(file: &fs::File, text: &str) -> io::Result<()> {
    if sys::file::set_attribute(file, ATTRIBUTE, text.as_bytes()).is_ok() {
        return Ok(());
    }
    let id = sys::file::file_stamp(file)?.id;
    let mut in_memory = MARKS_IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    in_memory.retain(|(mark_id, _)| *mark_id != id);
    if register(id, text).is_err() {
        in_memory.push((id, text.to_owned()));
    }
    Ok(())
}

/// The directory in which facts about files are kept for later commands of this user.
pub(super) fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = set("XDG_STATE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .or_else(|| set("LOCALAPPDATA"))?;
    Some(state.join("fathom"))
}

fn registry() -> Option<PathBuf> {
    Some(state_folder()?.join("prepared"))
}

fn load_registered(id: FileId) -> Option<String> {
    let path = registry()?;
    // Windows refuses to open a file that is being replaced.
    let lock = fs::File::open(lock_path(&path)).ok()?;
    let _ = lock.lock_shared();
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| mark_in(id, line)).map(str::to_owned)
}

fn lock_path(registry: &Path) -> PathBuf {
    registry.with_extension("lock")
}

/// The mark in a line, if it belongs to this file.
fn mark_in(id: FileId, line: &str) -> Option<&str> {
    line.strip_prefix(&id.to_string())?.strip_prefix(' ')
}

/// Replaces the line of a file atomically. A crash leaves the old or the new registry.
fn register(id: FileId, text: &str) -> io::Result<()> {
    let path = registry().ok_or(io::ErrorKind::NotFound)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Take a lock if possible, so that no line is lost.
    let lock = fs::File::create(lock_path(&path))?;
    let _ = lock.lock();
    let old = match fs::read_to_string(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        old => old.unwrap_or_default(),
    };
    let other_lines = old.lines().filter(|line| mark_in(id, line).is_none());
    let mut new: String = other_lines.map(|line| format!("{line}\n")).collect();
    new.push_str(&format!("{id} {text}\n"));
    let draft = path.with_extension(format!("{}", std::process::id()));
    fs::write(&draft, new)?;
    fs::rename(&draft, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows does not open a file while it is being replaced. Other systems keep marks as
    /// attributes.
    #[cfg(windows)]
    #[test]
    fn a_mark_is_read_while_others_are_written() {
        let id = |number| FileId {
            file_system: 0,
            number,
            born_ns: i64::from(std::process::id()),
        };
        register(id(1), "kept").unwrap();
        let writer = std::thread::spawn(move || (0..100).for_each(|turn| register(id(2), &turn.to_string()).unwrap()));
        while !writer.is_finished() {
            assert_eq!(load_registered(id(1)).as_deref(), Some("kept"));
        }
        writer.join().unwrap();
    }

    #[test]
    fn a_line_is_matched_by_the_complete_identity() {
        let id = |number, born_ns| FileId {
            file_system: 5,
            number,
            born_ns,
        };
        let line = "5:7@100 2 writing 0 5:7@100";
        assert_eq!(mark_in(id(7, 100), line), Some("2 writing 0 5:7@100"));
        assert_eq!(mark_in(id(7, 10), line), None);
        assert_eq!(mark_in(id(7, 101), line), None);
        assert_eq!(mark_in(id(70, 100), line), None);
    }
}
