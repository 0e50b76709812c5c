//! Access to the file system for lowering.

use std::io::Read;

/// Queries to the file system while jobs are lowered.
pub trait Disk {
    /// The facts of a path, if it exists.
    fn find(&self, path: &str) -> Option<PathFacts>;

    /// True if a path without facts does not exist; false if files are not examined.
    fn is_complete(&self) -> bool {
        true
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// The system's error text.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Every regular file below a directory, sorted by name.
    ///
    /// # Errors
    /// The system's error text.
    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String>;

    /// Opens a trace, which may exceed memory; `-` is standard input.
    ///
    /// # Errors
    /// The system's error text.
    fn trace(&self, path: &str) -> Result<TraceFile, String>;

    /// Whether a path is a zoned block device, which needs sequential writes.
    fn is_zoned(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// The path of the block device with these numbers.
    fn device(&self, major: u32, minor: u32) -> Option<String>;
}

/// Facts of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The kind of file.
    pub kind: PathKind,
    /// Its size in bytes.
    pub size: u64,
}

/// Kinds of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A block device.
    Device,
    /// A character device, which has no size.
    CharacterDevice,
    /// Something else.
    Other,
}

/// An open trace.
pub struct TraceFile {
    /// The path from which it can be read again.
    pub path: String,
    /// Contents, from the beginning.
    pub bytes: Box<dyn Read>,
}
