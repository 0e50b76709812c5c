//! Queries of ATA disks: not supported on Windows.

use std::io;
use std::path::Path;

pub use crate::sys::ata_query::{BLOCK, Query, Response};

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
