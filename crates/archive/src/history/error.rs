//! What can be wrong with a history.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::schema::HISTORY_VERSION;
use crate::ArchiveError;

/// Why a history could not be read or added to.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// There is no such file yet.
    #[error("there is no history in {path}")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// No entry has this number.
    #[error("the history has no entry {id}")]
    NoEntry {
        /// The number.
        id: u64,
        /// The file.
        path: PathBuf,
    },
    /// Another program has not let go of it in time.
    #[error("the history {path} is in use by another program")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened, as a rule because this user may not.
    #[error("the history {path} cannot be opened")]
    Unopened {
        /// The file.
        path: PathBuf,
    },
    /// It may only be read.
    #[error("the history {path} cannot be written to")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// There is no room for more.
    #[error("there is no space left for the history {path}")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It is no database, or one that is not whole.
    #[error("the history {path} is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In SQLite's words.
        why: String,
    },
    /// It is a database of another program.
    #[error("{path} is a database of another program")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is a device, a pipe or a directory.
    #[error("{path} is not a regular file")]
    NoFile {
        /// What it is named.
        path: PathBuf,
    },
    /// A newer version of this program has made it.
    #[error(
        "the history {path} has form {found}, and this version of fathom knows forms up to {}",
        HISTORY_VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
    },
    /// The system refused.
    #[error("cannot {verb} {path}: {source}")]
    System {
        /// What was tried.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// SQLite refused for another reason.
    #[error("the history {path} cannot be used: {why}")]
    Database {
        /// The file.
        path: PathBuf,
        /// In SQLite's words.
        why: String,
    },
    /// What an entry holds cannot be read.
    #[error(transparent)]
    Document(#[from] ArchiveError),
}

impl HistoryError {
    pub(super) fn from_sqlite(error: rusqlite::Error, path: &Path) -> HistoryError {
        let path = path.to_owned();
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => HistoryError::Locked { path },
            Some(ErrorCode::CannotOpen) => HistoryError::Unopened { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => HistoryError::ReadOnly { path },
            Some(ErrorCode::DiskFull) => HistoryError::Full { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => HistoryError::Damaged { path, why },
            _ => match error {
                // A column that does not hold what was put there.
                rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
                    HistoryError::Damaged { path, why }
                }
                _ => HistoryError::Database { path, why },
            },
        }
    }
}
