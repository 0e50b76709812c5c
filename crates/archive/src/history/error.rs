//! Errors of the history.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::schema::HISTORY_VERSION;
use crate::ArchiveError;

/// The reason why a history could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file does not exist.
    #[error("there is no history in {path}")]
    Missing {
        /// Path of the history file.
        path: PathBuf,
    },
    /// No entry has this number.
    #[error("the history has no entry {id}")]
    NoEntry {
        /// Number of the requested entry.
        id: u64,
        /// Path of the history file.
        path: PathBuf,
    },
    /// Another program holds its lock for too long.
    #[error("the history {path} is in use by another program")]
    Locked {
        /// Path of the history file.
        path: PathBuf,
    },
    /// Its file system did not answer.
    #[error("the file system of the history {path} did not answer within {} s", .waited.as_secs())]
    NoAnswer {
        /// Path of the history file.
        path: PathBuf,
        /// How long fathom waited.
        waited: std::time::Duration,
    },
    /// It cannot be opened, usually for lack of permission.
    #[error("cannot open the history {path}")]
    CannotOpen {
        /// Path of the history file.
        path: PathBuf,
    },
    /// It is read-only.
    #[error("cannot write to the history {path}")]
    ReadOnly {
        /// Path of the history file.
        path: PathBuf,
    },
    /// The file system is full.
    #[error("there is no space left for the history {path}")]
    Full {
        /// Path of the history file.
        path: PathBuf,
    },
    /// It is not a database, or a corrupt one.
    #[error("the history {path} is damaged: {why}")]
    Damaged {
        /// Path of the history file.
        path: PathBuf,
        /// SQLite's message.
        why: String,
    },
    /// It is a database of another program.
    #[error("{path} is a database of another program")]
    Foreign {
        /// Path of the database.
        path: PathBuf,
    },
    /// It is a device, a pipe or a directory.
    #[error("{path} is not a regular file")]
    NotRegularFile {
        /// Path of the special file.
        path: PathBuf,
    },
    /// A newer version of this program wrote it.
    #[error(
        "the history {path} has format {found}, and this version of fathom knows formats up to {}",
        HISTORY_VERSION
    )]
    Newer {
        /// Path of the history file.
        path: PathBuf,
        /// Format version.
        found: i64,
    },
    /// An operation on a file failed.
    #[error("cannot {verb} {path}: {source}")]
    System {
        /// The operation that failed.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another SQLite error.
    #[error("cannot use the history {path}: {why}")]
    Database {
        /// Path of the history file.
        path: PathBuf,
        /// SQLite's message.
        why: String,
    },
    /// The result in an entry cannot be read.
    #[error(transparent)]
    Document(#[from] ArchiveError),
}

impl HistoryError {
    pub(super) fn from_sqlite(error: rusqlite::Error, path: &Path) -> HistoryError {
        let path = path.to_owned();
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => HistoryError::Locked { path },
            Some(ErrorCode::CannotOpen) => HistoryError::CannotOpen { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => HistoryError::ReadOnly { path },
            Some(ErrorCode::DiskFull) => HistoryError::Full { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => HistoryError::Damaged { path, why },
            _ => match error {
                // A column has a different type than at the time of writing.
                rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
                    HistoryError::Damaged { path, why }
                }
                _ => HistoryError::Database { path, why },
            },
        }
    }
}
