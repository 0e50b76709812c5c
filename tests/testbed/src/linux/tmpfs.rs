//! File systems without a disk.

use std::path::Path;

use super::ground::Directory;
use crate::Unavailable;

/// A mounted tmpfs, ramfs or tracefs, removed with its content when dropped.
#[derive(Debug)]
pub struct TmpFs {
    directory: Directory,
}

impl TmpFs {
    /// A file system with room for this many bytes.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where mounting is forbidden.
    pub fn with_size(bytes: u64) -> Result<TmpFs, Unavailable> {
        TmpFs::mount("tmpfs", &format!("size={bytes}"))
    }

    /// A ramfs, whose files have no extended attributes and no birth time, and whose size is not
    /// limited.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where mounting is forbidden.
    pub fn without_attributes() -> Result<TmpFs, Unavailable> {
        TmpFs::mount("ramfs", "mode=755")
    }

    /// The kernel's trace events. All mounts of them show the same content, so names created there
    /// are visible to every process.
    ///
    /// # Errors
    /// [`Unavailable`] without root, where mounting is forbidden, or where the kernel has no
    /// tracing.
    pub fn trace_events() -> Result<TmpFs, Unavailable> {
        TmpFs::mount("tracefs", "rw")
    }

    fn mount(kind: &str, options: &str) -> Result<TmpFs, Unavailable> {
        let mut directory = Directory::new()?;
        directory.mount(kind, options)?;
        Ok(TmpFs { directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}
