//! Records results in the history, unless the user disables it, and finds the history's file.
//!
//! `FATHOM_HISTORY` is `off`, `on`, or the path of the file. A failure is only a warning, and does
//! not change the exit code.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use archive::history::{EntryKind, History, HistoryError, PreparedEntry, Recording, Subject};
use engine::sys::signals;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::options::MeasureArgs;
use crate::{screen, user_data};

const VARIABLE: &str = "FATHOM_HISTORY";
/// How long the end of a command waits for the file system of the history. That is longer than the
/// wait for a lock of another program.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);
/// Waits that end within this time are not reported.
const NOTICE_DELAY: Duration = Duration::from_secs(2);
/// Interval at which the wait looks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Prefix that names an entry where a file name is expected.
const PREFIX: &str = "history:";

#[derive(Clone, Debug, PartialEq, Eq)]
enum HistoryLocation {
    /// The user disabled the history.
    Off,
    /// In this file; `true` if FATHOM_HISTORY requests it.
    At(PathBuf, bool),
    /// The environment has no directory for it.
    NoFolder,
}

impl HistoryLocation {
    fn from_env() -> HistoryLocation {
        let default_path = || user_data::folder().map(|folder| folder.join("history.sqlite"));
        let (path, is_requested) = match std::env::var_os(VARIABLE) {
            Some(value) if value == "off" => return HistoryLocation::Off,
            Some(value) if value == "on" => (default_path(), true),
            Some(value) if !value.is_empty() => (Some(PathBuf::from(value)), true),
            _ => (default_path(), false),
        };
        path.map_or(HistoryLocation::NoFolder, |path| {
            HistoryLocation::At(path, is_requested)
        })
    }
}

/// Records the results of a native command, and prints the entry. `save` is the file of `--save`;
/// `name` replaces the name of the test.
pub fn record(
    args: &MeasureArgs,
    save: Option<&PathBuf>,
    kind: EntryKind,
    subject: Subject<'_>,
    name: Option<&str>,
    verdict: Option<&str>,
) {
    if args.no_history {
        return;
    }
    let saved = save.and_then(|path| std::fs::canonicalize(path).ok());
    let recording = Recording {
        subject,
        kind,
        name,
        verdict,
        file: saved.as_deref(),
    };
    match HistoryLocation::from_env() {
        HistoryLocation::Off => {}
        HistoryLocation::NoFolder => warn(&missing_folder_fault()),
        HistoryLocation::At(path, _) => match add_entry(&path, &recording) {
            Ok(id) if !args.progress.quiet => screen::note(&format!("recorded as {PREFIX}{id}")),
            Ok(_) => {}
            Err(error) => warn(&fault(&error)),
        },
    }
}

/// True if the results of a native command are recorded.
pub fn is_recording(args: &MeasureArgs) -> bool {
    !args.no_history && !matches!(HistoryLocation::from_env(), HistoryLocation::Off)
}

/// True if the results of drop-in modes are recorded, because `FATHOM_HISTORY` asks for it.
pub fn is_recording_drop_ins() -> bool {
    let location = HistoryLocation::from_env();
    std::env::var_os(VARIABLE).is_some() && !matches!(location, HistoryLocation::Off | HistoryLocation::At(_, false))
}

/// Records the results of a drop-in mode if `FATHOM_HISTORY` asks for it. The error is a sentence.
pub fn record_drop_in(recording: &Recording<'_>) -> Result<(), String> {
    if !is_recording_drop_ins() {
        return Ok(());
    }
    let HistoryLocation::At(path, _) = HistoryLocation::from_env() else {
        return Err(missing_folder_fault().what);
    };
    let added = add_entry(&path, recording);
    added.map(|_| ()).map_err(|error| fault(&error).what)
}

/// Adds an entry in another thread, which a dead file system may block for ever. The first signal
/// ends the wait.
fn add_entry(path: &Path, recording: &Recording<'_>) -> Result<u64, HistoryError> {
    let prepared = PreparedEntry::new(recording, path)?;
    let (sender, receiver) = mpsc::channel();
    let history = path.to_owned();
    let add = move || {
        let added = History::open(&history).and_then(|mut history| history.add_prepared(&prepared));
        // After the timeout, the warning is already printed.
        let _ = sender.send(added);
    };
    let thread = std::thread::Builder::new().name("history".into()).spawn(add);
    thread.map_err(|source| HistoryError::System {
        verb: "start a thread for",
        path: path.to_owned(),
        source,
    })?;
    let (begun, was_stopped, mut is_named) = (Instant::now(), signals::stop_signal().is_some(), false);
    loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(added) => return added,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if begun.elapsed() > ANSWER_TIMEOUT || !was_stopped && signals::stop_signal().is_some() {
            break;
        }
        if begun.elapsed() > NOTICE_DELAY && !std::mem::replace(&mut is_named, true) {
            let path = path.display();
            screen::note(&format!("waiting for the history {path}; Ctrl-C ends the wait"));
        }
    }
    Err(HistoryError::NoAnswer {
        path: path.to_owned(),
        waited: begun.elapsed(),
    })
}

fn missing_folder_fault() -> Fault {
    let fault = Fault::new(format!(
        "cannot find a directory for the history: {}",
        user_data::NO_FOLDER_REASON
    ));
    fault.help("set FATHOM_HISTORY to the path of a file, or to `off`")
}

fn warn(fault: &Fault) {
    screen::note(&format!("warning: this result is not in the history: {}", fault.what));
    if let Some(help) = &fault.help {
        screen::note(&format!("  help: {help}"));
    }
}

/// Converts an error of the history to a fault with help.
pub fn fault(error: &HistoryError) -> Fault {
    let shown = |path: &Path| path.display().to_string();
    let help = match error {
        HistoryError::Missing { .. } => "run a command that measures, such as fathom quick".to_owned(),
        HistoryError::NoEntry { .. } => "`fathom history` lists the entries".into(),
        HistoryError::Locked { .. } => {
            "wait for the other program, or end it: usually another fathom or a database viewer".into()
        }
        HistoryError::CannotOpen { path } | HistoryError::ReadOnly { path } => format!(
            "check the owner of {} and its directory, and that its file system is writable; or set FATHOM_HISTORY=FILE",
            shown(path)
        ),
        HistoryError::Full { .. } => {
            "free some space, remove old entries (`fathom history prune --keep 100`), or set FATHOM_HISTORY=FILE".into()
        }
        HistoryError::Damaged { path, .. } => {
            format!(
                "move the file, so that the next run creates a new one: mv {0} {0}.damaged",
                shown(path)
            )
        }
        HistoryError::Foreign { .. } | HistoryError::NotRegularFile { .. } => {
            "use a separate file: FATHOM_HISTORY=FILE".into()
        }
        HistoryError::Newer { .. } => {
            "use the version of fathom that wrote it, or a newer one; or set FATHOM_HISTORY=FILE".into()
        }
        HistoryError::NoAnswer { .. } | HistoryError::System { .. } | HistoryError::Database { .. } => {
            "set FATHOM_HISTORY=FILE to use another file".into()
        }
        HistoryError::Document(_) => "`fathom history prune` removes entries".into(),
    };
    Fault::new(error.to_string()).help(help)
}

impl From<HistoryError> for Faults {
    fn from(error: HistoryError) -> Faults {
        let exit = match &error {
            HistoryError::NoEntry { .. } => Exit::Usage,
            HistoryError::Missing { .. } | HistoryError::Newer { .. } | HistoryError::Foreign { .. } => Exit::Refused,
            _ => Exit::Internal,
        };
        Faults::one(fault(&error), exit)
    }
}

/// Finds the file of the history.
///
/// # Errors
/// [`Faults`] if the history is disabled, or has no directory.
pub fn path() -> Result<PathBuf, Faults> {
    match HistoryLocation::from_env() {
        HistoryLocation::At(path, _) => Ok(path),
        HistoryLocation::NoFolder => Err(Faults::usage(missing_folder_fault())),
        HistoryLocation::Off => {
            let fault = Fault::new("the history is disabled: FATHOM_HISTORY is `off`");
            Err(fault.into_usage("unset the variable, or set it to `on` or to the path of a history"))
        }
    }
}

/// Opens the history for reading.
///
/// # Errors
/// [`Faults`] if it does not exist or cannot be opened.
pub fn open() -> Result<History, Faults> {
    Ok(History::open_existing(&path()?)?)
}

/// True if an argument names an entry of the history rather than a file.
pub fn is_entry(word: &str) -> bool {
    word.starts_with(PREFIX)
}

/// Parses the number of an entry: `12`, `last`, `history:12`, `history:last`.
///
/// # Errors
/// [`Faults`] if there is no such entry.
pub fn parse_entry(history: &History, word: &str) -> Result<u64, Faults> {
    let text = word.strip_prefix(PREFIX).unwrap_or(word);
    if text == "last" {
        let empty = || {
            let fault = Fault::new(format!("the history {} is empty", history.path().display()));
            fault.into_refusal("run a command that measures, such as fathom quick")
        };
        return history.last()?.ok_or_else(empty);
    }
    text.parse().map_err(|_| {
        let fault = Fault::new(format!("`{word}` is not an entry of the history"));
        fault.into_usage("specify an entry number or `last`; `fathom history` lists them")
    })
}

/// Loads the saved form of the entry that `history:…` names.
///
/// # Errors
/// [`Faults`] if there is none.
pub fn load_document(word: &str) -> Result<Vec<u8>, Faults> {
    let history = open()?;
    Ok(history.read_document(parse_entry(&history, word)?)?)
}
