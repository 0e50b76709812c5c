//! What giving jobs their meaning asks of the file system.

use std::io::Read;

/// What lowering asks of the file system.
pub trait Disk {
    /// What lies at a path.
    fn find(&self, path: &str) -> Option<PathFacts>;

    /// Whether a path where nothing is found has nothing; false where files are not looked at.
    fn is_complete(&self) -> bool {
        true
    }

    /// Everything that a file holds.
    ///
    /// # Errors
    /// The system's words for the reason.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Every regular file below a directory, in the order of their names.
    ///
    /// # Errors
    /// The system's words for the reason.
    fn below(&self, folder: &str) -> Result<Vec<String>, String>;

    /// A trace, which may be too large to be held; `-` is standard input.
    ///
    /// # Errors
    /// The system's words for the reason.
    fn trace(&self, path: &str) -> Result<TraceFile, String>;

    /// A block device whose zones must be written from their start to their end.
    fn is_zoned(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// The path of the block device with these numbers.
    fn device(&self, major: u32, minor: u32) -> Option<String>;
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// What it is.
    pub kind: PathKind,
    /// Its size in bytes.
    pub size: u64,
}

/// What a path can be.
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

/// A trace that was looked through.
pub struct TraceFile {
    /// Where it can be read again.
    pub path: String,
    /// What it holds, from the beginning.
    pub bytes: Box<dyn Read>,
}
