//! Numbers of errors that are reported where the system was not asked: Windows (winerror.h).

/// `ERROR_FILE_NOT_FOUND`.
pub(super) const MISSING: i32 = 2;
/// `ERROR_PATH_NOT_FOUND`.
pub(super) const MISSING_ABOVE: i32 = 3;
/// `ERROR_ACCESS_DENIED`: a folder is opened only by those who say that they want a folder.
pub(super) const DIRECTORY: i32 = 5;
/// `ERROR_INVALID_FUNCTION`: it has no size that could be asked for.
pub(super) const NO_STORAGE: i32 = 1;
/// `ERROR_DISK_FULL`.
pub(super) const NO_SPACE: i32 = 112;
/// `ERROR_INVALID_PARAMETER`.
pub(super) const INVALID: i32 = 87;
/// `ERROR_NOT_SUPPORTED`.
pub(super) const NOT_SUPPORTED: i32 = 50;
/// `ERROR_NOT_ENOUGH_MEMORY`.
pub(super) const NO_MEMORY: i32 = 8;
