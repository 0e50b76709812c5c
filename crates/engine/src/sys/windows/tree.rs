//! Operations on the files of a tree, by paths relative to its root.

use std::fs;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::plan::{CacheMode, WriteThrough, is_tree_name};

use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_WRITE_THROUGH};

use crate::sys::OpenFor;

/// The root directory of a tree.
#[derive(Debug)]
pub struct TreeRoot {
    path: PathBuf,
}

impl TreeRoot {
    /// Creates the root directory.
    ///
    /// # Errors
    /// The system's error, such as that the path exists.
    pub fn create(path: &Path) -> io::Result<TreeRoot> {
        fs::create_dir(path)?;
        TreeRoot::open(path)
    }

    /// Opens a root directory. A link is refused.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<TreeRoot> {
        match fs::symlink_metadata(path)?.is_dir() {
            true => Ok(TreeRoot { path: path.to_owned() }),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn full_path(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Opens a file. `cache` decides whether to bypass the system's cache, and when a write counts
    /// as complete.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_file(&self, path: &str, open_for: OpenFor, cache: &CacheMode) -> io::Result<fs::File> {
        let mut options = fs::OpenOptions::new();
        match open_for {
            OpenFor::Read => options.read(true),
            OpenFor::Write => options.write(true),
            OpenFor::ReadWrite => options.read(true).write(true),
            OpenFor::Create => options.write(true).create_new(true),
            OpenFor::CreateReadWrite => options.read(true).write(true).create_new(true),
        };
        let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
        options.custom_flags(
            flag(cache.direct, FILE_FLAG_NO_BUFFERING)
                | flag(cache.write_through != WriteThrough::Off, FILE_FLAG_WRITE_THROUGH),
        );
        options.open(self.full_path(path))
    }

    /// The size of a file, in bytes.
    ///
    /// # Errors
    /// The system's error.
    pub fn file_size(&self, path: &str) -> io::Result<u64> {
        fs::symlink_metadata(self.full_path(path)).map(|metadata| metadata.len())
    }

    /// True if the last part of a path is a symbolic link.
    pub fn is_symbolic_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.full_path(path)).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Checks that a file may be read.
    ///
    /// # Errors
    /// The system's error, also if reading is not permitted.
    pub fn check_access(&self, path: &str) -> io::Result<()> {
        fs::File::open(self.full_path(path)).map(drop)
    }

    /// Sets the times of a file to the present.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_times(&self, path: &str) -> io::Result<()> {
        let now = std::time::SystemTime::now();
        let times = fs::FileTimes::new().set_accessed(now).set_modified(now);
        let file = fs::OpenOptions::new().write(true).open(self.full_path(path))?;
        file.set_times(times)
    }

    /// Lists a directory. Returns the number of entries.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_directory(&self, path: &str) -> io::Result<usize> {
        let mut count = 0;
        for entry in fs::read_dir(self.full_path(path))? {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.full_path(from), self.full_path(to))
    }

    /// Moves a file to the same path of another tree, replacing an existing file.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename_to(&self, path: &str, other: &TreeRoot) -> io::Result<()> {
        fs::rename(self.full_path(path), other.full_path(path))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_file(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.full_path(path))
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn create_directory(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.full_path(path))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_directory(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.full_path(path))
    }

    /// Does nothing: flushing a file system needs a handle of its volume.
    ///
    /// # Errors
    /// None.
    pub fn flush_file_system(&self) -> io::Result<()> {
        Ok(())
    }

    /// Removes the files and directories whose names belong to a tree. Links and all other entries
    /// stay, as do the directories that contain them. Returns how many entries stay, not counting
    /// `marker`, which also stays.
    ///
    /// # Errors
    /// The system's error if a directory cannot be read.
    pub fn remove_contents(&self, marker: &str) -> io::Result<usize> {
        let mut foreign = 0;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == marker {
                continue;
            }
            let kind = entry.file_type()?;
            let removed = match () {
                () if kind.is_file() && is_tree_name(&name, false) => self.remove_file(&name).is_ok(),
                () if kind.is_dir() && is_tree_name(&name, true) => {
                    // An unreadable directory stays, with everything in it.
                    let below = TreeRoot::open(&self.full_path(&name));
                    let remaining = below.map_or(1, |below| below.remove_contents("").unwrap_or(1));
                    foreign += remaining;
                    remaining > 0 || self.remove_directory(&name).is_ok()
                }
                () => false,
            };
            foreign += usize::from(!removed);
        }
        Ok(foreign)
    }
}
