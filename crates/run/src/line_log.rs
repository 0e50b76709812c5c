//! Logs of lines that workers produce during a job. Each worker has a bounded ring, allocated
//! before the job starts; one thread per job writes the lines of all rings to the file. A log must
//! not omit lines, so a worker waits for room in a full ring, and the wait is counted. Lines of one
//! worker are in order; lines of several workers are interleaved.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{Identity, os_error_name, sys};
use model::results::Failure;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::setup_error::SetupError;
use crate::targets::guard::Permissions;

/// The size of a worker's ring in lines. It suffices for 16 ms at a million operations per second.
const MAX_LINES: usize = 1 << 14;
/// The total size of a job's rings in lines. It bounds the memory of jobs with very many workers.
const MAX_LINES_OF_JOB: usize = 1 << 21;
/// How long the writer sleeps when it finds nothing to write.
const WRITER_PAUSE: Duration = Duration::from_millis(1);

/// The writer collects this many bytes before it writes them.
const WRITE_BYTES: usize = 64 << 10;

/// The data of a line.
pub(crate) trait Line: Copy + Send + 'static {
    /// Fills the ring's memory before the job starts.
    const PLACEHOLDER: Self;

    /// Appends the line to a text, with a line end.
    fn put(&self, worker: usize, log_format: &LogFormat, text: &mut Vec<u8>);
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LogFormat {
    /// Name in messages.
    pub(crate) name: &'static str,
    /// The first line; omitted when appending.
    pub(crate) header: &'static str,
    /// The text before the lines of this run.
    pub(crate) preface: Vec<u8>,
    /// The log appends to an existing file.
    pub(crate) appends: bool,
    /// The names to which numbers in lines refer.
    pub(crate) names: Vec<String>,
}

/// The state that workers, the writing thread and the coordinating thread share.
#[derive(Debug, Default)]
struct Shared {
    /// How often a worker found its ring full.
    waits: AtomicU64,
    /// No more lines will follow.
    closing: AtomicBool,
}

/// A worker's writer.
#[derive(Debug)]
pub(crate) struct LogWriter<L> {
    lines: Producer<L>,
    shared: Arc<Shared>,
}

/// The log of one job.
pub(crate) struct LineLog {
    path: String,
    log_format: LogFormat,
    shared: Arc<Shared>,
    state: State,
}

/// Writes the text and then the lines of all rings.
type WriteLines = Box<dyn FnOnce(File, Vec<u8>, &LogFormat, &Shared) -> io::Result<()> + Send>;

enum State {
    /// The rings exist, the file is not opened yet.
    Ready(WriteLines),
    Writing(JoinHandle<io::Result<()>>),
    Ended,
}

impl LineLog {
    /// The log of a job with this number of workers, and a writer for each. Nothing is written yet.
    pub(crate) fn new<L: Line>(path: &str, log_format: LogFormat, workers: usize) -> (LineLog, Vec<LogWriter<L>>) {
        let lines = (MAX_LINES_OF_JOB / workers.max(1)).clamp(64, MAX_LINES);
        LineLog::with_ring_lines(lines, path, log_format, workers)
    }

    fn with_ring_lines<L: Line>(
        lines: usize,
        path: &str,
        log_format: LogFormat,
        workers: usize,
    ) -> (LineLog, Vec<LogWriter<L>>) {
        let shared = Arc::new(Shared::default());
        let (mut writers, mut rings) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (producer, ring) = touched_ring(lines);
            writers.push(LogWriter {
                lines: producer,
                shared: Arc::clone(&shared),
            });
            rings.push(ring);
        }
        let log = LineLog {
            path: path.to_owned(),
            log_format,
            shared,
            state: State::Ready(Box::new(|file, text, log_format, shared| {
                write_all(file, text, rings, log_format, shared)
            })),
        };
        (log, writers)
    }

    /// The error of a worker whose log cannot be written.
    pub(crate) fn setup_error(&self, source: io::Error) -> SetupError {
        let (what, path) = (self.log_format.name, self.path.clone());
        SetupError::Log { what, path, source }
    }

    /// Opens the file and starts writing. Call it once the job is certain to start.
    ///
    /// # Errors
    /// The system's error; also if the path is a device or one of the targets, to which logs are
    /// never written, or a foreign file that the log would replace.
    pub(crate) fn start(&mut self, targets: &[Option<Identity>], permissions: &Permissions) -> io::Result<()> {
        let State::Ready(write_lines) = std::mem::replace(&mut self.state, State::Ended) else {
            return Ok(());
        };
        let (file, is_new) = open(Path::new(&self.path), targets, &self.log_format, permissions)?;
        let mut text = Vec::with_capacity(2 * WRITE_BYTES);
        if is_new {
            text.extend_from_slice(self.log_format.header.as_bytes());
        }
        text.append(&mut self.log_format.preface);
        let (shared, log_format) = (Arc::clone(&self.shared), self.log_format.clone());
        let thread = std::thread::Builder::new()
            .name(self.log_format.name.into())
            .spawn(move || write_lines(file, text, &log_format, &shared))?;
        self.state = State::Writing(thread);
        Ok(())
    }

    /// Whether writing has failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.state, State::Writing(thread) if thread.is_finished())
    }

    /// Waits until everything is in the file. Returns the failure, if any.
    pub(crate) fn finish(&mut self) -> Option<Failure> {
        self.shared.closing.store(true, Ordering::Release);
        let State::Writing(thread) = std::mem::replace(&mut self.state, State::Ended) else {
            return None;
        };
        let error = match thread.join() {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error,
            Err(_) => io::Error::other("internal error"),
        };
        let errno = error.raw_os_error();
        let why = errno.map_or_else(|| error.to_string(), os_error_name);
        let full = errno.is_some_and(|errno| [sys::file::NO_SPACE, sys::file::OVER_QUOTA].contains(&errno));
        let name = self.log_format.name;
        Some(Failure {
            errno,
            help: full
                .then(|| format!("write the {name} to a file system with more space; a line takes up to 100 bytes")),
            ..Failure::new(format!("cannot continue the {name}: {why}"), self.path.clone())
        })
    }

    /// How often a worker had to wait for room for its line.
    pub(crate) fn wait_count(&self) -> u64 {
        self.shared.waits.load(Ordering::Relaxed)
    }
}

impl<L> LogWriter<L> {
    /// Writes a line. Returns whether the worker had to wait. After a failure, lines are dropped.
    #[inline]
    pub(crate) fn write(&mut self, line: L) -> bool {
        match self.lines.push(line) {
            Ok(()) => false,
            Err(rtrb::PushError::Full(line)) => self.wait(line),
        }
    }

    #[cold]
    fn wait(&mut self, mut line: L) -> bool {
        if self.lines.is_abandoned() {
            return false;
        }
        self.shared.waits.fetch_add(1, Ordering::Relaxed);
        while !self.lines.is_abandoned() {
            std::thread::sleep(Duration::from_micros(50));
            match self.lines.push(line) {
                Ok(()) => break,
                Err(rtrb::PushError::Full(again)) => line = again,
            }
        }
        true
    }
}

/// A ring whose memory is touched, so that the measured window has no page faults.
fn touched_ring<L: Line>(lines: usize) -> (Producer<L>, Consumer<L>) {
    let (mut producer, mut ring) = RingBuffer::new(lines);
    while producer.push(L::PLACEHOLDER).is_ok() {}
    while ring.pop().is_ok() {}
    (producer, ring)
}

/// Opens the file; also returns whether it is empty.
fn open(
    path: &Path,
    targets: &[Option<Identity>],
    log_format: &LogFormat,
    permissions: &Permissions,
) -> io::Result<(File, bool)> {
    let appends = log_format.appends;
    let refuse_target = |identity: Option<Identity>| match identity.is_some() && targets.contains(&identity) {
        true => Err(io::Error::other("it is a target of the test")),
        false => Ok(()),
    };
    refuse_target(sys::facts::read_identity(path))?;
    let file = match appends {
        true => sys::file::open_to_write(OpenOptions::new().create(true).append(true), path, true)?,
        false => open_existing(path, inspect(path, log_format, permissions)?)?,
    };
    let identity = sys::facts::open_file_identity(&file);
    refuse_target(identity)?;
    if let Some(Identity::BlockDevice(_)) = identity {
        return Err(io::Error::other("it is a device, but a log needs a file"));
    }
    let meta = file.metadata()?;
    // A pipe or a terminal has no length.
    if !appends && meta.is_file() {
        // The same file may have several names. A file system without locks is trusted.
        if let Err(error) = sys::file::try_lock_for_writing(&file, false)
            && error.kind() == io::ErrorKind::WouldBlock
        {
            return Err(io::Error::other("another job or run writes to it"));
        }
        file.set_len(0)?;
    }
    Ok((file, !appends || meta.len() == 0))
}

/// What the path of a log is, before the log is opened.
#[derive(Debug)]
pub(crate) enum ExistingFile {
    Nothing,
    /// A file that the log may replace.
    File(Option<Identity>),
    /// A pipe, a terminal or a device, which nothing replaces.
    Other,
}

/// Refuses a log that would replace a file which is not such a log. A job file of someone else
/// could otherwise destroy any file of its user.
pub(crate) fn inspect(path: &Path, log_format: &LogFormat, permissions: &Permissions) -> io::Result<ExistingFile> {
    if log_format.appends {
        return match path.metadata() {
            Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => Ok(ExistingFile::Other),
            Err(_) => nothing_in_folder(path),
        };
    }
    let is_link = path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    // `/dev/stdout` is a link to a pipe or a terminal.
    let leads_to_file = path.metadata().map_or(true, |meta| meta.is_file());
    if is_link && leads_to_file {
        return Err(io::Error::other("it is a symbolic link"));
    }
    let Ok(meta) = path.metadata() else {
        return nothing_in_folder(path);
    };
    if !meta.is_file() {
        return Ok(ExistingFile::Other);
    }
    if meta.len() == 0 || permissions.may_replace(path) {
        return Ok(ExistingFile::File(sys::facts::read_identity(path)));
    }
    let header = log_format.header.as_bytes();
    let mut start = Vec::new();
    let file = sys::file::open_without_waiting(path)?;
    let identity = sys::facts::open_file_identity(&file);
    file.take(header.len() as u64).read_to_end(&mut start)?;
    match start == header {
        true => Ok(ExistingFile::File(identity)),
        false => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("it exists and is not an {}", log_format.name),
        )),
    }
}

/// A new file, if its directory exists.
fn nothing_in_folder(path: &Path) -> io::Result<ExistingFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), |folder| folder.metadata().map(drop))?;
    Ok(ExistingFile::Nothing)
}

/// Opens what [`inspect`] found, and nothing that has replaced it since: another user could put a
/// link to any file there.
fn open_existing(path: &Path, existing: ExistingFile) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(matches!(existing, ExistingFile::Nothing));
    let file = sys::file::open_to_write(&mut options, path, matches!(existing, ExistingFile::Other))?;
    let is_same = match existing {
        ExistingFile::Nothing => true,
        ExistingFile::File(identity) => sys::facts::open_file_identity(&file) == identity,
        ExistingFile::Other => !file.metadata()?.is_file(),
    };
    match is_same {
        true => Ok(file),
        false => Err(io::Error::other("another file replaced it while it was opened")),
    }
}

fn write_all<L: Line>(
    mut file: File,
    mut text: Vec<u8>,
    mut rings: Vec<Consumer<L>>,
    log_format: &LogFormat,
    shared: &Shared,
) -> io::Result<()> {
    loop {
        // Read the flag first, so that lines from before it are seen below.
        let closing = shared.closing.load(Ordering::Acquire);
        let mut written_lines = 0;
        for (worker, ring) in rings.iter_mut().enumerate() {
            let count = ring.slots();
            for line in ring.read_chunk(count).into_iter().flatten() {
                line.put(worker, log_format, &mut text);
                if text.len() >= WRITE_BYTES {
                    file.write_all(&text)?;
                    text.clear();
                }
            }
            written_lines += count;
        }
        if written_lines > 0 {
            continue;
        }
        // Flush, so that others can read the lines during the job.
        file.write_all(&text)?;
        text.clear();
        if closing {
            return Ok(());
        }
        std::thread::sleep(WRITER_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Number(u64);

    impl Line for Number {
        const PLACEHOLDER: Number = Number(0);

        fn put(&self, _: usize, _: &LogFormat, text: &mut Vec<u8>) {
            text.extend_from_slice(format!("{}\n", self.0).as_bytes());
        }
    }

    fn log_format() -> LogFormat {
        LogFormat {
            header: "first\n",
            ..LogFormat::default()
        }
    }

    fn numbers(text: &str) -> Vec<u64> {
        text.lines().skip(1).map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn a_full_ring_delays_the_worker_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.csv");
        let (mut log, mut writers) = LineLog::with_ring_lines(4, path.to_str().unwrap(), log_format(), 1);
        let mut writer = writers.remove(0);
        let worker =
            std::thread::spawn(move || (0..1000).filter(|number| writer.write(Number(*number))).count() as u64);
        // Nothing empties the ring yet.
        while log.wait_count() == 0 {
            std::thread::yield_now();
        }
        log.start(&[], &Permissions::default()).unwrap();
        let stalls = worker.join().unwrap();
        assert_eq!(log.finish(), None);
        assert_eq!(log.wait_count(), stalls);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(numbers(&text), (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn appending_keeps_existing_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        for (appends, expected) in [(false, &[1][..]), (true, &[1, 1]), (true, &[1, 1, 1]), (false, &[1])] {
            let log_format = LogFormat {
                appends,
                ..log_format()
            };
            let (mut log, mut writers) = LineLog::new(path.to_str().unwrap(), log_format, 1);
            log.start(&[], &Permissions::default()).unwrap();
            writers[0].write(Number(1));
            assert_eq!(log.finish(), None);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("first\n"), "{text}");
            assert_eq!(numbers(&text), expected);
        }
    }

    #[test]
    fn a_log_replaces_only_a_log_or_a_named_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let name = path.to_str().unwrap().to_owned();
        let start = |name: &str, permissions: &Permissions| {
            let (mut log, _writers) = LineLog::new::<Number>(name, log_format(), 1);
            let started = log.start(&[], permissions).map_err(|error| error.to_string());
            assert_eq!(log.finish(), None);
            started
        };
        let permissions = Permissions {
            overwrite: vec![name.clone()],
            ..Permissions::default()
        };
        for (text, permissions, is_replaced) in [
            ("", Permissions::default(), true),
            ("first\n5\n", Permissions::default(), true),
            ("fir", Permissions::default(), false),
            ("a foreign file\n", Permissions::default(), false),
            ("a foreign file\n", permissions.clone(), true),
        ] {
            std::fs::write(&path, text).unwrap();
            let started = start(&name, &permissions);
            let expected = if is_replaced { "first\n" } else { text };
            assert_eq!(started.is_ok(), is_replaced, "{text}: {started:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        }
        #[cfg(unix)]
        {
            let hard = directory.path().join("hard");
            std::fs::hard_link(&path, &hard).unwrap();
            let (mut log, _writers) = LineLog::new::<Number>(&name, log_format(), 1);
            log.start(&[], &permissions).unwrap();
            let why = start(hard.to_str().unwrap(), &permissions).unwrap_err();
            assert!(why.contains("another job or run writes to it"), "{why}");
            assert_eq!(log.finish(), None);
            let link = directory.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            let why = start(link.to_str().unwrap(), &permissions).unwrap_err();
            assert!(why.contains("symbolic link"), "{why}");
            std::fs::remove_file(&path).unwrap();
            start(link.to_str().unwrap(), &permissions).unwrap_err();
            assert!(!path.exists());
        }
    }

    /// Between the check and the opening, another user replaces the path by a link to a file.
    #[cfg(unix)]
    #[test]
    fn a_link_that_is_put_in_place_after_the_check_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, missing) = (directory.path().join("log"), directory.path().join("missing"));
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let find = |path: &Path| inspect(path, &log_format(), &Permissions::default()).unwrap();
        let mut founds = vec![find(&path)];
        for text in ["", "first\n5\n"] {
            std::fs::write(&path, text).unwrap();
            founds.push(find(&path));
        }
        std::fs::remove_file(&path).unwrap();
        founds.push(find(Path::new("/dev/null")));
        assert!(matches!(
            founds[..],
            [
                ExistingFile::Nothing,
                ExistingFile::File(_),
                ExistingFile::File(_),
                ExistingFile::Other
            ]
        ));
        for to in [&victim, &missing] {
            std::os::unix::fs::symlink(to, &path).unwrap();
            for state in [ExistingFile::Nothing, ExistingFile::File(None), ExistingFile::Other] {
                open_existing(&path, state).unwrap_err();
            }
            std::fs::remove_file(&path).unwrap();
        }
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        founds
            .into_iter()
            .for_each(|state| drop(open_existing(&path, state).unwrap_err()));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!missing.exists());
    }
}
