//! Linux error codes (errno) of DiskSpd's messages that no system call causes.

/// `ENOENT`.
pub(super) const FILE_NOT_FOUND: i32 = 2;
/// `ENOENT`, as for a missing file: Linux does not distinguish a missing directory.
pub(super) const PATH_NOT_FOUND: i32 = 2;
/// `EISDIR`.
pub(super) const IS_DIRECTORY: i32 = 21;
/// `ENOTBLK`.
pub(super) const NO_TARGET_SIZE: i32 = 15;
/// `ENOSPC`.
pub(super) const DISK_FULL: i32 = 28;
/// `EINVAL`.
pub(super) const INVALID_PARAMETER: i32 = 22;
/// `EOPNOTSUPP`.
pub(super) const NOT_SUPPORTED: i32 = 95;
/// `ENOMEM`.
pub(super) const NOT_ENOUGH_MEMORY: i32 = 12;
