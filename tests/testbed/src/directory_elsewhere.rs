//! Folders for tests on systems other than Linux, where the rest of the testbed does not exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Unavailable;

/// A folder of its own, removed with its content.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// An empty folder where the tests may write: below `FATHOM_TEST_DIR` if that is set, else
    /// below the system's folder for temporary files.
    ///
    /// # Errors
    /// [`Unavailable`] if no such folder can be made.
    pub fn new() -> Result<Directory, Unavailable> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::var_os("FATHOM_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let cannot = |path: &Path, error| Unavailable::because(format!("cannot create {}: {error}", path.display()));
        let base = base.join("fathom-testbed");
        fs::create_dir_all(&base).map_err(|error| cannot(&base, error))?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Directory { path }),
                // Left by an earlier process with the same number, which was killed.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot(&path, error)),
            }
        }
    }

    /// The same, because there are no file systems in memory.
    ///
    /// # Errors
    /// As [`Directory::new`].
    pub fn on_disk() -> Result<Directory, Unavailable> {
        Directory::new()
    }

    /// The same, because it is in memory only on Linux.
    ///
    /// # Errors
    /// As [`Directory::new`].
    pub fn fast() -> Result<Directory, Unavailable> {
        Directory::new()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            crate::note(format!("{} was not removed: {error}", self.path.display()));
        }
    }
}
