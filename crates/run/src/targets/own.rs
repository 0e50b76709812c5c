//! Files of our own making: made in a directory that the user named, and gone when the command ends.
//!
//! Such a file is locked as long as its run lives. One that is not locked was left by a run that was killed, and is removed
//! by the next run in the same directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engine::{Identity, sys};
use model::Bytes;
use model::event::Event;
use model::finding::{Finding, Severity};

/// Says that a file is of our own making, so that a stranger's file of such a name is never taken for one.
const ATTRIBUTE: &str = "user.fathom.own";

/// A file of our own. Dropping it removes the file, unless it is to be kept.
#[derive(Debug)]
pub(super) struct OwnFile {
    path: PathBuf,
    keep: bool,
    /// Open for the lock.
    lock: fs::File,
}

/// The path of such a file in a directory. `number` tells the files of one run apart.
pub(super) fn path_in(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("fathom-{}-{number}.dat", std::process::id()))
}

impl OwnFile {
    /// Makes an empty file and locks it.
    pub(super) fn create(path: &Path, keep: bool) -> io::Result<OwnFile> {
        let lock = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        let own = OwnFile {
            path: path.to_owned(),
            keep,
            lock,
        };
        if sys::file::try_lock(&own.lock) && !keep {
            let _ = sys::file::set_attribute(&own.lock, ATTRIBUTE, b"1");
        }
        Ok(own)
    }

    /// What makes it the file that it is.
    pub(super) fn identity(&self) -> Option<Identity> {
        sys::facts::identity_of_file(&self.lock)
    }
}

/// A file of our own that several runs of one command use. Dropping it removes the file.
#[derive(Debug)]
pub struct HeldFile(OwnFile);

impl HeldFile {
    /// A path in a directory for such a file. `number` tells the files of one command apart.
    pub fn path_in(folder: &Path, number: usize) -> PathBuf {
        path_in(folder, number)
    }

    /// Takes over a file that a run of this command has made and left: from now on it is locked, marked as ours, and goes
    /// with this value, or with the next run beside it if this program is killed.
    ///
    /// # Errors
    /// The system's error; the file is then left as it is.
    pub fn adopt(path: &Path) -> io::Result<HeldFile> {
        let lock = fs::OpenOptions::new().read(true).write(true).open(path)?;
        if sys::file::try_lock(&lock) {
            let _ = sys::file::set_attribute(&lock, ATTRIBUTE, b"1");
        }
        Ok(HeldFile(OwnFile {
            path: path.to_owned(),
            keep: false,
            lock,
        }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes files in the same directory that a killed run has left behind, and tells of it.
pub(super) fn sweep(beside: &Path, watcher: &mut dyn FnMut(Event)) {
    let Some(Ok(entries)) = beside.parent().map(fs::read_dir) else {
        return;
    };
    for path in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path != beside)
    {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let numbers = name.strip_prefix("fathom-").and_then(|rest| rest.strip_suffix(".dat"));
        let ours = numbers.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'));
        if !ours {
            continue;
        }
        let Ok(file) = fs::OpenOptions::new().read(true).write(true).open(&path) else {
            continue;
        };
        if sys::file::attribute(&file, ATTRIBUTE).is_none() || !sys::file::try_lock(&file) {
            continue;
        }
        let size = file.metadata().map(|meta| meta.len()).unwrap_or(0);
        if fs::remove_file(&path).is_ok() {
            let what = format!(
                "removed {}, {} that an earlier run had left when it was killed",
                path.display(),
                Bytes(size)
            );
            watcher(Event::Notice {
                finding: Finding::new("LEFTOVER", Severity::Note, what),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_our_own_goes_with_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path(), 0);
        let own = OwnFile::create(&path, false).unwrap();
        assert!(path.exists());
        drop(own);
        assert!(!path.exists());
        drop(OwnFile::create(&path, true).unwrap());
        assert!(path.exists(), "kept");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_held_file_is_not_swept_and_goes_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = HeldFile::path_in(folder.path(), 0);
        fs::write(&path, b"data").unwrap();
        let held = HeldFile::adopt(&path).unwrap();
        sweep(&folder.path().join("fathom-1-1.dat"), &mut |_| {});
        assert!(held.path().exists());
        drop(held);
        assert!(!path.exists());
        assert!(HeldFile::adopt(&path).is_err(), "nothing is made");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_our_unlocked_files_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let leftover = folder.path().join("fathom-1-0.dat");
        let strangers = folder.path().join("fathom-2-0.dat");
        let living = folder.path().join("fathom-3-0.dat");
        let abandoned = fs::File::create(&leftover).unwrap();
        if sys::file::set_attribute(&abandoned, ATTRIBUTE, b"1").is_err() {
            return;
        }
        drop(abandoned);
        fs::write(&strangers, b"precious").unwrap();
        let held = OwnFile::create(&living, false).unwrap();
        let mut notices = 0;
        sweep(&path_in(folder.path(), 0), &mut |event| {
            notices += u32::from(matches!(event, Event::Notice { .. }))
        });
        assert!(!leftover.exists());
        assert!(strangers.exists() && living.exists());
        assert_eq!(notices, 1);
        drop(held);
    }
}
