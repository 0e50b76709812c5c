//! File systems in memory.

use std::path::Path;

use crate::Unavailable;
use crate::ground::{Directory, Remedy, Undo};
use crate::tools::{need_root, run, text};

/// A mounted tmpfs, gone with all it holds when dropped.
#[derive(Debug)]
pub struct TmpFs {
    /// Declared first: it is unmounted before its mount point goes.
    _undo: Undo,
    directory: Directory,
}

impl TmpFs {
    /// A file system with room for this many bytes.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where mounting is forbidden.
    pub fn of_size(bytes: u64) -> Result<TmpFs, Unavailable> {
        need_root("mounting a tmpfs")?;
        let directory = Directory::new()?;
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        let size = format!("size={bytes}");
        run(
            "mount",
            &["-t", "tmpfs", "-o", &size, "fathom-testbed", text(directory.path())],
        )?;
        Ok(TmpFs { _undo: undo, directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}
