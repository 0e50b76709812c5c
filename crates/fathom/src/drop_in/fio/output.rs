//! Writes output to the terminal or the file of `--output`, which gets errors too.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::super::{print_stderr, print_stdout, text_mode};
use crate::process::start_thread;
use crate::screen;

/// How often the wait for the reader of a pipe checks whether the run is interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The output of a run.
#[derive(Debug)]
pub(super) struct Output {
    destination: Destination,
    /// True if information lines are printed. A JSON report alone has none, so that programs can
    /// parse it.
    has_information: bool,
    first_error: Option<io::Error>,
    /// Set when the user or the system requests a stop.
    interrupt: &'static AtomicBool,
}

#[derive(Debug)]
enum Destination {
    /// stdout, and stderr for problems.
    Terminal,
    /// A file that is written immediately: a pipe, or reports that are repeated during the run. It
    /// is opened, and emptied, only when the run is permitted; `buffered` collects the text until
    /// then.
    Direct {
        path: PathBuf,
        file: Option<File>,
        buffered: Vec<u8>,
    },
    /// A file that is replaced at the end: no reader sees an incomplete document.
    Whole { path: PathBuf, bytes: Vec<u8> },
}

/// True if a new file can replace a path: it is free or a regular file, and its directory is
/// writable.
fn can_replace(path: &Path) -> bool {
    // These paths are open descriptors, not files.
    if ["/dev", "/proc"].iter().any(|special| path.starts_with(special)) {
        return false;
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let regular = fs::metadata(path).map_or(true, |meta| meta.is_file());
    regular && tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).is_ok()
}

/// Opens and empties a file. A pipe without a reader blocks this, so another thread opens it, and
/// an interrupt ends the wait.
fn open_for_writing(path: &Path, interrupt: &AtomicBool) -> io::Result<File> {
    if fs::metadata(path).map_or(true, |meta| meta.is_file()) {
        return File::create(path);
    }
    let (sender, opened) = mpsc::channel();
    let path = path.to_owned();
    start_thread("output", move || sender.send(File::create(path)))?;
    loop {
        match opened.recv_timeout(POLL_INTERVAL) {
            Ok(file) => return file,
            Err(RecvTimeoutError::Timeout) if !interrupt.load(Ordering::Relaxed) => {}
            Err(_) => return Err(io::Error::other("interrupted before a program read it")),
        }
    }
}

impl Output {
    /// Chooses the destination. `has_repeated_reports` is true if reports are repeated during the
    /// run.
    pub(super) fn new(file: Option<PathBuf>, has_repeated_reports: bool, interrupt: &'static AtomicBool) -> Output {
        let destination = match file {
            None => Destination::Terminal,
            Some(path) if !has_repeated_reports && can_replace(&path) => Destination::Whole {
                path,
                bytes: Vec::new(),
            },
            Some(path) => Destination::Direct {
                path,
                file: None,
                buffered: Vec::new(),
            },
        };
        Output {
            destination,
            has_information: true,
            first_error: None,
            interrupt,
        }
    }

    /// Opens and empties a file that is written immediately. Call it only when this cannot destroy
    /// an input or a target.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(super) fn open(&mut self) -> io::Result<()> {
        if let Destination::Direct { path, file, buffered } = &mut self.destination
            && file.is_none()
        {
            file.insert(open_for_writing(path, self.interrupt)?)
                .write_all(&std::mem::take(buffered))?;
        }
        Ok(())
    }

    /// Leaves the file unchanged: later text goes to the terminal.
    pub(super) fn redirect_to_terminal(&mut self) {
        self.destination = Destination::Terminal;
    }

    /// Prints no more information lines.
    pub(super) fn suppress_information(&mut self) {
        self.has_information = false;
    }

    pub(super) fn print_line(&mut self, line: &str) {
        if self.has_information {
            self.put(&format!("{line}\n"));
        }
    }

    /// Prints an error that fio writes to stdout. If stdout has only reports, it goes to stderr.
    pub(super) fn print_error_line(&mut self, line: &str) {
        match self.has_information {
            true => self.print_line(line),
            false => self.print_problem(line),
        }
    }

    /// Prints an error or warning. With `--output` it goes to the file and to stderr, as with fio.
    pub(super) fn print_problem(&mut self, line: &str) {
        print_stderr(&[line.to_owned()]);
        match &self.destination {
            Destination::Direct { .. } | Destination::Whole { .. } => self.put(&format!("{line}\n")),
            Destination::Terminal => {}
        }
    }

    /// Prints a hint. fio has no such lines, so they go to stderr only: programs read the file.
    #[expect(clippy::unused_self, reason = "all output uses this type")]
    pub(super) fn print_hint(&self, text: &str) {
        print_stderr(&[format!("hint: {text}")]);
    }

    /// Prints a report in one write.
    pub(super) fn print_report(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        self.put(&screen::write_to_string(|out| write(out)));
    }

    fn put(&mut self, text: &str) {
        let written = match &mut self.destination {
            Destination::Direct { file: Some(file), .. } => file.write_all(text_mode(text).as_bytes()),
            Destination::Direct { buffered: bytes, .. } | Destination::Whole { bytes, .. } => {
                bytes.extend(text_mode(text).as_bytes());
                Ok(())
            }
            Destination::Terminal => print_stdout(text),
        };
        if let Err(error) = written {
            self.first_error.get_or_insert(error);
        }
    }

    /// Closes the output.
    ///
    /// # Errors
    /// The first error of any write.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.open()?;
        if let Destination::Whole { path, bytes } = &self.destination {
            archive::write_whole(path, bytes)?;
        }
        match self.first_error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
