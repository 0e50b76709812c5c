//! Targets of the workloads: files of random data and our own devices, all removed at the end.

use std::cell::OnceCell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use testbed::{TmpFs, Zram};

use super::BenchError;
use super::options::Options;

const GIB: u64 = 1 << 30;
/// A size that nearly fits into the second-level cache of server processors.
pub(crate) const HOT_BYTES: u64 = 4 << 20;

/// The targets, created on first use.
#[derive(Debug, Default)]
pub(crate) struct Places {
    dir: PathBuf,
    /// Size of each.
    pub(crate) size: u64,
    folder: OnceCell<tempfile::TempDir>,
    file: OnceCell<PathBuf>,
    hot: OnceCell<PathBuf>,
    tmpfs: OnceCell<(TmpFs, PathBuf)>,
    zram: OnceCell<Zram>,
}

impl Places {
    /// Files are created below the given folder.
    pub(crate) fn new(options: &Options) -> Places {
        Places {
            dir: options.dir.clone(),
            size: if options.smoke { GIB / 16 } else { GIB },
            ..Places::default()
        }
    }

    /// A folder for files, removed at the end.
    pub(crate) fn folder(&self) -> Result<&Path, BenchError> {
        once(&self.folder, || {
            Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(&self.dir)?)
        })
        .map(|dir| dir.path())
    }

    /// A file on disk, without holes or unwritten extents, and in the page cache.
    pub(crate) fn file(&self) -> Result<&Path, BenchError> {
        self.cached_file(&self.file, "file", self.size)
    }

    /// A file of [`HOT_BYTES`] bytes in the page cache.
    pub(crate) fn hot(&self) -> Result<&Path, BenchError> {
        self.cached_file(&self.hot, "hot", HOT_BYTES)
    }

    fn cached_file<'a>(&self, cell: &'a OnceCell<PathBuf>, name: &str, size: u64) -> Result<&'a Path, BenchError> {
        let made = once(cell, || {
            let path = self.folder()?.join(name);
            fill(&path, size)?;
            Ok(path)
        })?;
        read(made)?;
        Ok(made)
    }

    /// A file in memory.
    pub(crate) fn tmpfs(&self) -> Result<&Path, BenchError> {
        let made = once(&self.tmpfs, || {
            let tmpfs = TmpFs::with_size(self.size + (16 << 20))?;
            let path = tmpfs.path().join("file");
            fill(&path, self.size)?;
            Ok((tmpfs, path))
        })?;
        Ok(&made.1)
    }

    /// A new zram device, full of incompressible data.
    pub(crate) fn zram(&self) -> Result<&Path, BenchError> {
        let made = once(&self.zram, || {
            let zram = Zram::with_size(self.size)?;
            fill(zram.path(), self.size)?;
            Ok(zram)
        })?;
        Ok(made.path())
    }

    /// A sparse file.
    pub(crate) fn sparse(&self, name: &str, size: u64) -> Result<PathBuf, BenchError> {
        let path = self.folder()?.join(name);
        File::create(&path)?.set_len(size)?;
        Ok(path)
    }
}

/// Returns the value of a cell, created on first use.
fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, BenchError>) -> Result<&T, BenchError> {
    if cell.get().is_none() {
        let _ = cell.set(make()?);
    }
    cell.get().ok_or_else(|| BenchError("it was not made".into()))
}

/// Writes random data up to `size`, and flushes it to the device.
fn fill(path: &Path, size: u64) -> Result<(), BenchError> {
    // Without `create`: a missing block device must not become a file.
    let mut file = match path.starts_with("/dev") {
        true => File::options().write(true).open(path)?,
        false => File::create(path)?,
    };
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut block = vec![0_u8; 1 << 20];
    for _ in 0..size >> 20 {
        for word in block.chunks_exact_mut(8) {
            // xorshift64: the data cannot be compressed or deduplicated.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(())
}

/// Reads a file into the page cache.
fn read(path: &Path) -> Result<(), BenchError> {
    std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    Ok(())
}
