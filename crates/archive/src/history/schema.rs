//! The tables, and how those of earlier versions become the present ones.
//!
//! `PRAGMA user_version` says which form a file has. A file is raised step by step in one
//! transaction, so that it has one form or the other whatever happens meanwhile.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::entry::{digest_of_plan, digest_of_test};
use super::error::HistoryError;
use crate::{Saved, load_any_bytes};

/// The form of the files that this version writes.
pub const HISTORY_VERSION: i64 = STEPS.len() as i64;

/// `fthm`: a file with this mark is ours.
const APPLICATION: i64 = 0x6674_686d;

/// What raises a file from the form of its place in the list to the next one; an empty file has
/// form 0.
const STEPS: [fn(&Transaction<'_>) -> rusqlite::Result<()>; 2] = [tables, tests];

fn tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
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

/// Which runs are of one test. It is found out for those that are there; an entry whose result this
/// version does not read has none.
fn tests(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch("ALTER TABLE entry ADD COLUMN test TEXT; CREATE INDEX entry_test ON entry (test);")?;
    let mut select = transaction.prepare("SELECT entry, bytes FROM document")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (entry, bytes): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if let Ok(Saved::Run(results)) = load_any_bytes(&bytes, Path::new("history")) {
            let (plan, test) = (digest_of_plan(&results.plan), digest_of_test(&results.plan));
            transaction.execute(
                "UPDATE entry SET plan = ?2, test = ?3 WHERE id = ?1",
                params![entry, plan, test],
            )?;
        }
    }
    Ok(())
}

/// Gives a file the present form.
pub(super) fn raise(connection: &mut Connection, path: &Path) -> Result<(), HistoryError> {
    let failed = |error| HistoryError::from_sqlite(error, path);
    let (found, is_ours) = read_form(connection).map_err(failed)?;
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
        // So that what is pruned goes back to the file system. It can be said of an empty file
        // only.
        connection.pragma_update(None, "auto_vacuum", "FULL").map_err(failed)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(failed)?;
    // Another program may have done it since.
    let found = version(&transaction).map_err(failed)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        step(&transaction).map_err(failed)?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION)
        .map_err(failed)?;
    transaction
        .pragma_update(None, "user_version", HISTORY_VERSION)
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Its form, and whether it is ours; an empty file may become so. All of one moment: another
/// program may be making it.
fn read_form(connection: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    let moment = connection.transaction()?;
    let found = version(&moment)?;
    let mark: i64 = moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let things: i64 = moment.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok((found, mark == APPLICATION || things == 0))
}
