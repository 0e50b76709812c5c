//! The tables, and their migration from earlier versions.
//!
//! `PRAGMA user_version` holds the format version. All migration steps run in one transaction, so a
//! file is never left partly migrated.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::entry::{plan_digest, test_digest};
use super::error::HistoryError;
use crate::{Saved, load_any_bytes};

/// The format version that this program writes.
pub const HISTORY_VERSION: i64 = MIGRATIONS.len() as i64;

/// `fthm`: the application ID of our files.
const APPLICATION_ID: i64 = 0x6674_686d;

/// Step `n` migrates a file from format `n` to `n + 1`; an empty file has format 0.
const MIGRATIONS: [fn(&Transaction<'_>) -> rusqlite::Result<()>; 2] = [create_tables, add_test_digest];

fn create_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "CREATE TABLE entry (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            label TEXT,
            host TEXT NOT NULL,
            started_unix_ns INTEGER NOT NULL,
            ended_unix_ns INTEGER NOT NULL,
            version TEXT NOT NULL,
            runs INTEGER NOT NULL,
            interrupted INTEGER NOT NULL,
            verdict TEXT,
            plan TEXT,
            file TEXT
        ) STRICT;
        CREATE INDEX entry_started ON entry (started_unix_ns);
        CREATE TABLE target (
            entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
            path TEXT NOT NULL
        ) STRICT;
        CREATE INDEX target_entry ON target (entry);
        CREATE TABLE device (
            entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
            name TEXT NOT NULL,
            model TEXT,
            size INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX device_entry ON device (entry);
        CREATE TABLE job (
            entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
            number INTEGER NOT NULL,
            name TEXT NOT NULL,
            iops REAL,
            bytes_per_sec REAL,
            mean_ns REAL,
            p50_ns REAL,
            p99_ns REAL,
            facts TEXT NOT NULL,
            PRIMARY KEY (entry, number)
        ) STRICT;
        CREATE TABLE document (
            entry INTEGER PRIMARY KEY REFERENCES entry ON DELETE CASCADE,
            bytes BLOB NOT NULL
        ) STRICT;",
    )
}

/// Adds the digest of the test. Computes it for the existing entries whose result this version can
/// read.
fn add_test_digest(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch("ALTER TABLE entry ADD COLUMN test TEXT; CREATE INDEX entry_test ON entry (test);")?;
    let mut select = transaction.prepare("SELECT entry, bytes FROM document")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (entry, bytes): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if let Ok(Saved::Run(results)) = load_any_bytes(&bytes, Path::new("history")) {
            let (plan, test) = (plan_digest(&results.plan), test_digest(&results.plan));
            transaction.execute(
                "UPDATE entry SET plan = ?2, test = ?3 WHERE id = ?1",
                params![entry, plan, test],
            )?;
        }
    }
    Ok(())
}

/// Migrates a file to the current format.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), HistoryError> {
    let failed = |error| HistoryError::from_sqlite(error, path);
    let (found, is_ours) = read_format(connection).map_err(failed)?;
    if found > HISTORY_VERSION {
        return Err(HistoryError::Newer {
            path: path.to_owned(),
            found,
        });
    }
    if !is_ours {
        return Err(HistoryError::Foreign { path: path.to_owned() });
    }
    if found == HISTORY_VERSION {
        return Ok(());
    }
    if found == 0 {
        // Lets pruning return space to the file system. SQLite accepts it only for an empty file.
        connection.pragma_update(None, "auto_vacuum", "FULL").map_err(failed)?;
    }
    let migrated = change(connection, |transaction| {
        // Another program may have migrated the file in the meantime.
        let version = read_version(transaction)?;
        for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
            step(transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", HISTORY_VERSION)
    });
    migrated.map_err(failed)
}

/// Makes changes in one transaction.
pub(super) fn change<T>(
    connection: &mut Connection,
    changes: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = changes(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

fn read_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The format version, and whether the file is ours or empty. One transaction reads both, because
/// another program may be creating the file.
fn read_format(connection: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    let transaction = connection.transaction()?;
    let version = read_version(&transaction)?;
    let application_id: i64 = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let object_count: i64 = transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok((version, application_id == APPLICATION_ID || object_count == 0))
}
