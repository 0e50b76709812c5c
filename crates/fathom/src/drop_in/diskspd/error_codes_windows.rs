//! Windows error codes (winerror.h) for DiskSpd messages when no system call failed.

/// `ERROR_FILE_NOT_FOUND`.
pub(super) const FILE_NOT_FOUND: i32 = 2;
/// `ERROR_PATH_NOT_FOUND`.
pub(super) const PATH_NOT_FOUND: i32 = 3;
/// `ERROR_ACCESS_DENIED`: opening a directory needs FILE_FLAG_BACKUP_SEMANTICS.
pub(super) const IS_DIRECTORY: i32 = 5;
/// `ERROR_INVALID_FUNCTION`: the target has no size.
pub(super) const NO_TARGET_SIZE: i32 = 1;
/// `ERROR_DISK_FULL`.
pub(super) const DISK_FULL: i32 = 112;
/// `ERROR_INVALID_PARAMETER`.
pub(super) const INVALID_PARAMETER: i32 = 87;
/// `ERROR_NOT_SUPPORTED`.
pub(super) const NOT_SUPPORTED: i32 = 50;
/// `ERROR_NOT_ENOUGH_MEMORY`.
pub(super) const NOT_ENOUGH_MEMORY: i32 = 8;
