//! The history: all results of this user on this machine, in one SQLite file.
//!
//! Each entry holds the figures for lists and trends, and the complete result, byte for byte as
//! `--save` writes it, so that the history suffices for every report. This module neither judges
//! nor prints. A [`HistoryError`] must never fail a run.
//!
//! The file uses a rollback journal, not a write-ahead log, because home directories may be on
//! network file systems. Writers wait up to five seconds for each other.

mod document;
mod entry;
mod error;
mod filter;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::Saved;

pub use entry::{Entry, EntryDevice, EntryJob, EntryKind, HistoryList, Recording, Subject};
pub use error::HistoryError;
pub use filter::{Filter, Retention};
pub use schema::HISTORY_VERSION;

/// Maximum wait while another program writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
}

/// A result in the form in which a history keeps it. Another thread can add it.
#[derive(Debug)]
pub struct PreparedEntry {
    entry: Entry,
    /// The complete result, compressed.
    bytes: Vec<u8>,
}

impl PreparedEntry {
    /// Prepares a result for the history in a file.
    ///
    /// # Errors
    /// [`HistoryError`], if it cannot be written as text.
    pub fn new(recording: &Recording<'_>, path: &Path) -> Result<PreparedEntry, HistoryError> {
        Ok(PreparedEntry {
            bytes: document::compress(recording.subject, path)?,
            entry: Entry::from_recording(recording),
        })
    }
}

impl History {
    /// Opens a history file. Creates it and its directory if necessary, and migrates an older
    /// format. A read-only file can be opened; adding to it then fails.
    ///
    /// # Errors
    /// [`HistoryError`], with the problem of the file.
    pub fn open(path: &Path) -> Result<History, HistoryError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(|source| HistoryError::System {
                verb: "create the directory",
                path: folder.to_owned(),
                source,
            })?;
        }
        History::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens an existing history file.
    ///
    /// # Errors
    /// [`HistoryError::Missing`] if it does not exist; otherwise as [`History::open`].
    pub fn open_existing(path: &Path) -> Result<History, HistoryError> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(HistoryError::Missing { path: path.to_owned() })
            }
            _ => History::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE),
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<History, HistoryError> {
        // SQLite would treat an empty device as an empty file and write to it.
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            return Err(HistoryError::NotRegularFile { path: path.to_owned() });
        }
        let failed = |error| HistoryError::from_sqlite(error, path);
        let mut connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        schema::migrate(&mut connection, path)?;
        Ok(History {
            connection,
            path: path.to_owned(),
        })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a result in one transaction and returns its number.
    ///
    /// # Errors
    /// [`HistoryError`], if it cannot be stored.
    pub fn add(&mut self, recording: &Recording<'_>) -> Result<u64, HistoryError> {
        let prepared = PreparedEntry::new(recording, &self.path)?;
        self.add_prepared(&prepared)
    }

    /// Adds a prepared result in one transaction and returns its number.
    ///
    /// # Errors
    /// [`HistoryError`], if it cannot be stored.
    pub fn add_prepared(&mut self, prepared: &PreparedEntry) -> Result<u64, HistoryError> {
        let added = schema::change(&mut self.connection, |transaction| {
            let id = prepared.entry.insert(transaction)?;
            transaction.execute(
                "INSERT INTO document (entry, bytes) VALUES (?1, ?2)",
                params![id, prepared.bytes],
            )?;
            Ok(id.unsigned_abs())
        });
        added.map_err(|error| self.sqlite_error(error))
    }

    /// The entries that match a filter, the latest first.
    ///
    /// # Errors
    /// [`HistoryError`], if they cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, HistoryError> {
        entry::read(&self.connection, filter).map_err(|error| self.sqlite_error(error))
    }

    /// One entry.
    ///
    /// # Errors
    /// [`HistoryError::NoEntry`] if there is none of this number.
    pub fn get(&self, id: u64) -> Result<Entry, HistoryError> {
        let filter = Filter {
            id: Some(id),
            ..Filter::default()
        };
        self.list(&filter)?.pop().ok_or_else(|| self.no_entry(id))
    }

    /// The number of the latest entry; `None` if there is none.
    ///
    /// # Errors
    /// [`HistoryError`], if it cannot be read.
    pub fn last(&self) -> Result<Option<u64>, HistoryError> {
        let last = self
            .connection
            .query_row("SELECT max(id) FROM entry", [], |row| row.get::<_, Option<i64>>(0));
        Ok(last.map_err(|error| self.sqlite_error(error))?.map(i64::unsigned_abs))
    }

    /// The saved form of an entry, as `--save` would have written it.
    ///
    /// # Errors
    /// [`HistoryError`], if there is none of this number or it cannot be read.
    pub fn read_document(&self, id: u64) -> Result<Vec<u8>, HistoryError> {
        let document = self
            .connection
            .query_row(
                "SELECT bytes FROM document WHERE entry = ?1",
                [id.cast_signed()],
                |row| row.get::<_, Vec<u8>>(0),
            )
            .optional()
            .map_err(|error| self.sqlite_error(error))?;
        document::to_saved_form(&document.ok_or_else(|| self.no_entry(id))?, &self.path)
    }

    /// The result of an entry.
    ///
    /// # Errors
    /// [`HistoryError`], if there is none of this number or it cannot be read.
    pub fn read_saved(&self, id: u64) -> Result<Saved, HistoryError> {
        document::read(&self.read_document(id)?, &self.path)
    }

    /// Sets the label of an entry; an empty one removes it.
    ///
    /// # Errors
    /// [`HistoryError`], if there is none of this number or it cannot be changed.
    pub fn set_label(&self, id: u64, label: &str) -> Result<(), HistoryError> {
        let label = Some(label).filter(|label| !label.is_empty());
        let changed = self
            .connection
            .execute(
                "UPDATE entry SET label = ?2 WHERE id = ?1",
                params![id.cast_signed(), label],
            )
            .map_err(|error| self.sqlite_error(error))?;
        self.require_changed(id, changed)
    }

    /// Removes an entry. Its number is never reused.
    ///
    /// # Errors
    /// [`HistoryError`], if there is none of this number or it cannot be removed.
    pub fn remove(&self, id: u64) -> Result<(), HistoryError> {
        let removed = self
            .connection
            .execute("DELETE FROM entry WHERE id = ?1", [id.cast_signed()]);
        self.require_changed(id, removed.map_err(|error| self.sqlite_error(error))?)
    }

    /// The entries that pruning would remove, the latest first.
    ///
    /// # Errors
    /// [`HistoryError`], if they cannot be read.
    pub fn entries_to_prune(&self, keep: Retention) -> Result<Vec<Entry>, HistoryError> {
        let filter = match keep {
            Retention::Latest(_) => Filter::default(),
            Retention::Since(moment) => Filter {
                until_unix_ns: Some(moment),
                ..Filter::default()
            },
        };
        let entries = self.list(&filter)?.into_iter();
        Ok(match keep {
            Retention::Latest(number) => entries.skip(number).collect(),
            Retention::Since(_) => entries.collect(),
        })
    }

    /// Removes these entries in one transaction and returns their space to the file system.
    ///
    /// # Errors
    /// [`HistoryError`], if they cannot be removed.
    pub fn prune(&mut self, entries: &[Entry]) -> Result<(), HistoryError> {
        let pruned = schema::change(&mut self.connection, |transaction| {
            for entry in entries {
                transaction.execute("DELETE FROM entry WHERE id = ?1", [entry.id.cast_signed()])?;
            }
            Ok(())
        });
        pruned.map_err(|error| self.sqlite_error(error))
    }

    fn require_changed(&self, id: u64, rows: usize) -> Result<(), HistoryError> {
        match rows {
            0 => Err(self.no_entry(id)),
            _ => Ok(()),
        }
    }

    fn no_entry(&self, id: u64) -> HistoryError {
        HistoryError::NoEntry {
            id,
            path: self.path.clone(),
        }
    }

    fn sqlite_error(&self, error: rusqlite::Error) -> HistoryError {
        HistoryError::from_sqlite(error, &self.path)
    }
}
