//! Queries of ATA disks: not supported on Windows.

use std::io;
use std::path::Path;

/// Bytes in a data block.
pub const BLOCK: usize = 512;

/// The supported queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// CHECK POWER MODE.
    PowerMode,
    /// SMART RETURN STATUS.
    SmartStatus,
    /// SMART READ DATA.
    SmartData,
    /// SMART READ THRESHOLDS.
    SmartThresholds,
}

/// The response to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status of the command.
    pub status: u8,
    /// Sense data.
    pub sense: Vec<u8>,
    /// The block of data, if the command returned one.
    pub block: Option<Box<[u8; BLOCK]>>,
}

/// A disk that cannot be queried.
#[derive(Debug)]
pub struct Disk(());

impl Disk {
    /// Not supported on Windows.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Path) -> io::Result<Disk> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Not supported on Windows.
    ///
    /// # Errors
    /// Always.
    pub fn query(&self, _: Query) -> io::Result<Response> {
        let () = self.0;
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
