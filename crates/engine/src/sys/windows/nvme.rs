//! Pages that an NVMe device keeps about itself: not read on this system.

use std::io;
use std::path::Path;

/// A namespace that every device has.
pub const FIRST_NAMESPACE: u32 = 1;

/// Not read on this system.
///
/// # Errors
/// Always.
pub fn log_page(_: &Path, _: u8, _: u32, _: usize) -> io::Result<Vec<u8>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
