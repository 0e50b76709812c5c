//! Numbers of errors that are reported where the system was not asked: Linux.

/// Nothing is there.
pub(super) const MISSING: i32 = 2;
/// The directory above it is missing too.
pub(super) const MISSING_ABOVE: i32 = 2;
/// It is a directory.
pub(super) const DIRECTORY: i32 = 21;
/// It is nothing that holds data: a block device was needed.
pub(super) const NO_STORAGE: i32 = 15;
/// There is no room for it.
pub(super) const NO_SPACE: i32 = 28;
/// What the first operation of a wrong length would be answered.
pub(super) const INVALID: i32 = 22;
/// The file system cannot do it.
pub(super) const NOT_SUPPORTED: i32 = 95;
/// There is no memory.
pub(super) const NO_MEMORY: i32 = 12;
