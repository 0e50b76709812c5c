//! File systems in memory.

use std::path::Path;

use crate::Unavailable;
use crate::ground::{Directory, Remedy, Undo};
use crate::tools::{need_root, run, text};

/// A mounted tmpfs or ramfs, gone with all it holds when dropped.
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
        TmpFs::mount("tmpfs", &format!("size={bytes}"))
    }

    /// A ramfs, whose files have no extended attributes and no time of birth, and which has no
    /// bound.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where mounting is forbidden.
    pub fn without_attributes() -> Result<TmpFs, Unavailable> {
        TmpFs::mount("ramfs", "mode=755")
    }

    fn mount(kind: &str, options: &str) -> Result<TmpFs, Unavailable> {
        need_root("mounting a file system in memory")?;
        let directory = Directory::new()?;
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        run(
            "mount",
            &["-t", kind, "-o", options, "fathom-testbed", text(directory.path())],
        )?;
        Ok(TmpFs { _undo: undo, directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}
