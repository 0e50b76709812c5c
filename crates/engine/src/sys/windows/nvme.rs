//! Pages that an NVMe device keeps about itself: not read on this system.

use std::io;
use std::path::Path;

/// Size of what is read at once.
pub const PAGE: usize = 4096;

/// Not read on this system.
///
/// # Errors
/// Always.
pub fn log_page(_: &Path, _: u8) -> io::Result<Box<[u8; PAGE]>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
