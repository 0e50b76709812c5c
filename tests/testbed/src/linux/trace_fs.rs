//! The kernel's trace events, mounted.

use std::path::Path;

use super::ground::{Directory, Remedy, Undo};
use super::tools::{need_root, run, text};
use crate::Unavailable;

/// A mounted tracefs in a place of its own, unmounted when dropped. All mounts of it show the same
/// content, so names created there are visible to every process.
#[derive(Debug)]
pub struct TraceFs {
    /// Declared first: it is unmounted before its mount point is removed.
    _undo: Undo,
    directory: Directory,
}

impl TraceFs {
    /// Mounts it.
    ///
    /// # Errors
    /// [`Unavailable`] without root, where mounting is forbidden, or where the kernel has no
    /// tracing.
    pub fn mounted() -> Result<TraceFs, Unavailable> {
        need_root("mounting tracefs")?;
        let directory = Directory::new()?;
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        run("mount", &["-t", "tracefs", "nodev", text(directory.path())])?;
        Ok(TraceFs { _undo: undo, directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}
