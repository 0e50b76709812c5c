//! The source of facts: this machine, or the recorded tree of another one.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use model::environment::Health;

use super::windows::Storage;
use crate::identity::Identity;
use crate::sys;

/// Initial buffer size: nearly every file of `/sys` and `/proc` fits.
const SMALL_FILE: usize = 1024;

/// The source of facts.
///
/// Paths are absolute and resolved below the root. Reading never fails: a missing or unreadable
/// file is `None`.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
    /// Results of `stat` for a recorded tree: device nodes and inode numbers cannot be recorded as
    /// files.
    recorded: Option<HashMap<String, Identity>>,
    /// Health of disks, once read.
    health: Arc<Mutex<HashMap<String, Option<Health>>>>,
}

impl System {
    /// This machine.
    pub fn live() -> System {
        System {
            root: PathBuf::from("/"),
            recorded: None,
            health: Arc::default(),
        }
    }

    /// A recorded tree: a directory with the `sys`, `proc` and so on of a machine.
    ///
    /// A file `stat` in it has a line for each path whose identity matters: `block MAJOR:MINOR
    /// PATH`, `char MAJOR:MINOR PATH` or `file MAJOR:MINOR INODE PATH`. The numbers of a file are
    /// those of its file system's device.
    pub fn from_tree(root: &Path) -> System {
        let text = fs::read_to_string(root.join("stat")).unwrap_or_default();
        System {
            root: root.to_owned(),
            recorded: Some(text.lines().filter_map(parse_recorded_line).collect()),
            health: Arc::default(),
        }
    }

    /// True for this machine, false for a recorded tree.
    pub fn is_live(&self) -> bool {
        self.recorded.is_none()
    }

    /// Disks and volumes, on systems that report them through calls (Windows).
    pub(super) fn storage(&self) -> Option<Storage> {
        self.is_live().then(sys::native_facts::storage).flatten()
    }

    /// Health of a disk. It is read once, even if several targets are on it; create another
    /// [`System::live`] to read it again. A recorded tree has no disk to query.
    pub(super) fn cached_health(&self, disk: &str, read: impl FnOnce() -> Option<Health>) -> Option<Health> {
        if !self.is_live() {
            return None;
        }
        let Ok(mut health) = self.health.lock() else {
            return read();
        };
        health.entry(disk.to_owned()).or_insert_with(read).clone()
    }

    /// Identity of the file or device at a path, following links.
    pub fn identity(&self, path: &str) -> Option<Identity> {
        match &self.recorded {
            None => sys::facts::read_identity(&self.path(path)),
            Some(recorded) => recorded.get(path).copied(),
        }
    }

    /// Identity of the file or device behind a loop device, from the kernel.
    pub(super) fn loop_backing(&self, path: &str) -> Option<Identity> {
        self.is_live()
            .then(|| sys::facts::loop_backing(&self.path(path)))
            .flatten()
    }

    /// Identity of an open file behind a kernel link (`/proc/PID/fd/N`). On this machine that works
    /// even if its path is in another mount namespace or was deleted.
    pub(crate) fn identity_behind(&self, link: &str) -> Option<Identity> {
        match &self.recorded {
            None => sys::facts::read_identity(&self.path(link)),
            Some(recorded) => recorded.get(self.read_link(link)?.to_str()?).copied(),
        }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(&self, path: &str) -> io::Result<fs::File> {
        fs::File::open(self.path(path))
    }

    /// A path below the root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        if self.is_live() {
            // User paths may be relative, and Windows paths have no common root.
            return PathBuf::from(path);
        }
        self.root.join(path.trim_start_matches('/'))
    }

    /// The bytes of a file.
    pub(crate) fn read_bytes(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// The text of a file without trailing white space.
    pub(crate) fn read_text(&self, path: &str) -> Option<String> {
        let file = fs::File::open(self.path(path)).ok()?;
        // Most of these files are small and report size 0, so skip `stat`.
        let mut text = String::with_capacity(SMALL_FILE);
        file.take(u64::MAX).read_to_string(&mut text).ok()?;
        text.truncate(text.trim_end().len());
        Some(text)
    }

    /// The trimmed text of a file; `None` if it is empty.
    pub(crate) fn read_trimmed(&self, path: &str) -> Option<String> {
        self.read_text(path)
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    }

    /// Parses a file with one value.
    pub(crate) fn read_value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.read_text(path)?.trim().parse().ok()
    }

    /// Reads a file with 0 or 1.
    pub(crate) fn read_flag(&self, path: &str) -> bool {
        self.read_text(path)
            .is_some_and(|text| text.trim() != "0" && !text.is_empty())
    }

    /// Names in a directory, sorted, without hidden files.
    pub(crate) fn list_names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// The target of a link, as written.
    pub(crate) fn read_link(&self, path: &str) -> Option<PathBuf> {
        fs::read_link(self.path(path)).ok()
    }

    /// True if the path exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

fn parse_recorded_line(line: &str) -> Option<(String, Identity)> {
    let (kind, rest) = line.split_once(' ')?;
    let (device, rest) = rest.split_once(' ')?;
    let device = device.parse().ok()?;
    // The path comes last: it may contain spaces.
    let (identity, path) = match kind {
        "block" => (Identity::BlockDevice(device), rest),
        "char" => (Identity::CharacterDevice(device), rest),
        "file" => {
            let (inode, path) = rest.split_once(' ')?;
            let inode = inode.parse().ok()?;
            (Identity::File { device, inode }, path)
        }
        _ => return None,
    };
    Some((path.to_owned(), identity))
}

/// Builds a recorded tree for tests.
#[cfg(test)]
pub(super) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let system = System::from_tree(root.path());
    (root, system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::DeviceNumber;

    #[test]
    fn a_recorded_tree_replaces_stat() {
        let (_root, system) = tree(&[(
            "stat",
            "block 8:1 /dev/sda1\nfile 8:2 77 /swap file\nnonsense\npipe 1:1 /x\n",
        )]);
        assert_eq!(
            system.identity("/dev/sda1"),
            Some(Identity::BlockDevice(DeviceNumber::new(8, 1)))
        );
        let device = DeviceNumber::new(8, 2);
        assert_eq!(
            system.identity("/swap file"),
            Some(Identity::File { device, inode: 77 })
        );
        assert_eq!(system.identity("/x"), None);
        assert_eq!(
            system.identity("/dev/null"),
            None,
            "the tree must not read from the live machine"
        );
    }

    #[test]
    fn a_missing_file_is_none() {
        let (_root, system) = tree(&[("sys/a", "1\n"), ("sys/b", "0\n"), ("sys/empty", "\n")]);
        assert!(system.read_flag("/sys/a"));
        assert!(!system.read_flag("/sys/b"));
        assert!(!system.read_flag("/sys/empty"));
        assert!(!system.read_flag("/sys/none"));
        assert_eq!(system.read_value::<u64>("/sys/empty"), None);
        assert_eq!(system.read_trimmed("/sys/empty"), None);
        assert_eq!(system.list_names("/sys"), ["a", "b", "empty"]);
        assert!(system.list_names("/none").is_empty());
    }
}
