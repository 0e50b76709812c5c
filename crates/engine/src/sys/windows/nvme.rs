//! Log pages of NVMe devices: not supported on Windows.

use std::io;
use std::path::Path;

/// The namespace that every device has.
pub const FIRST_NAMESPACE: u32 = 1;

/// Not supported on Windows.
///
/// # Errors
/// Always.
pub fn log_page(_: &Path, _: u8, _: u32, _: usize) -> io::Result<Vec<u8>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
