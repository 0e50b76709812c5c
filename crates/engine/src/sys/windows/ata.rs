//! Questions that an ATA disk answers about itself: not asked on this system.

use std::io;
use std::path::Path;

/// Length of what a disk answers in one block.
pub const BLOCK: usize = 512;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// CHECK POWER MODE.
    PowerMode,
    /// SMART RETURN STATUS.
    SmartStatus,
    /// SMART READ DATA.
    SmartData,
    /// SMART READ THRESHOLDS.
    SmartThresholds,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of the command.
    pub status: u8,
    /// Sense data.
    pub sense: Vec<u8>,
    /// The block.
    pub block: Option<Box<[u8; BLOCK]>>,
}

/// A disk that cannot be asked.
#[derive(Debug)]
pub struct Disk(());

impl Disk {
    /// Not on this system.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Path) -> io::Result<Disk> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Not on this system.
    ///
    /// # Errors
    /// Always.
    pub fn ask(&self, _: Question) -> io::Result<Answer> {
        let () = self.0;
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
