//! Lines that workers leave while a job runs, written to a file beside it.
//!
//! Each worker has a bounded ring of its own, made before the job begins; one thread for the job
//! empties them all into the file. A worker that finds its ring full waits until there is room, and
//! that is counted: a log that leaves out what it had no time for would not be a log. Lines of one
//! worker are in the order in which it left them; those of several are mixed as they came, each of
//! them whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{Identity, os_error_name, sys};
use model::results::Failure;
use rtrb::{Consumer, Producer, RingBuffer};

/// Lines that a worker may be ahead of the file: 16 ms at a million operations per second.
const MAX_LINES: usize = 1 << 14;
/// The same for all workers of a job together, which bounds the memory of jobs with very many.
const MAX_LINES_OF_JOB: usize = 1 << 21;
/// How long the writer sleeps when it finds nothing to write.
const PAUSE: Duration = Duration::from_millis(1);

/// Bytes that are written at a time.
const PIECE: usize = 64 << 10;

/// What a line says.
pub(crate) trait Line: Copy + Send + 'static {
    /// Stands where there is no line yet.
    const NOTHING: Self;

    /// Puts it at the end of a text, with the end of its line.
    fn put(&self, worker: usize, form: &Form, text: &mut Vec<u8>);
}

/// How a log is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// What messages call it.
    pub(crate) name: &'static str,
    /// What stands before all lines; not where lines are added to what is there.
    pub(crate) header: &'static str,
    /// What stands before the lines of this run.
    pub(crate) preface: Vec<u8>,
    /// What is in the file stays.
    pub(crate) appends: bool,
    /// Names that lines have numbers for.
    pub(crate) names: Vec<String>,
}

/// What workers, writer and coordinator share.
#[derive(Debug, Default)]
struct Shared {
    /// Times a worker found its ring full.
    waits: AtomicU64,
    /// No more lines will come.
    closing: AtomicBool,
}

/// A worker's end.
#[derive(Debug)]
pub(crate) struct LogWriter<L> {
    lines: Producer<L>,
    shared: Arc<Shared>,
}

/// The log of one job.
#[derive(Debug)]
pub(crate) struct LineLog<L> {
    path: String,
    form: Form,
    shared: Arc<Shared>,
    state: State<L>,
}

#[derive(Debug)]
enum State<L> {
    /// The rings are there, the file is not touched yet.
    Ready(Vec<Consumer<L>>),
    Writing(JoinHandle<io::Result<()>>),
    Ended,
}

impl<L: Line> LineLog<L> {
    /// The log of a job with that many workers, and a writer for each of them. Nothing is written
    /// yet.
    pub(crate) fn new(path: &str, form: Form, workers: usize) -> (LineLog<L>, Vec<LogWriter<L>>) {
        let lines = (MAX_LINES_OF_JOB / workers.max(1)).clamp(64, MAX_LINES);
        LineLog::with_rings_of(lines, path, form, workers)
    }

    fn with_rings_of(lines: usize, path: &str, form: Form, workers: usize) -> (LineLog<L>, Vec<LogWriter<L>>) {
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
            form,
            shared,
            state: State::Ready(rings),
        };
        (log, writers)
    }

    /// The file that it writes.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Opens the file and starts to write. To be called once the job is certain to start.
    ///
    /// # Errors
    /// The system's error. Also if the path leads to a device or to one of the targets: nothing is
    /// written there.
    pub(crate) fn start(&mut self, targets: &[Option<Identity>]) -> io::Result<()> {
        let State::Ready(rings) = std::mem::replace(&mut self.state, State::Ended) else {
            return Ok(());
        };
        let (file, is_new) = open(Path::new(&self.path), targets, self.form.appends)?;
        let mut text = Vec::with_capacity(2 * PIECE);
        if is_new {
            text.extend_from_slice(self.form.header.as_bytes());
        }
        text.append(&mut self.form.preface);
        let (shared, form) = (Arc::clone(&self.shared), self.form.clone());
        let thread = std::thread::Builder::new()
            .name(self.form.name.into())
            .spawn(move || write_all(file, text, rings, &form, &shared))?;
        self.state = State::Writing(thread);
        Ok(())
    }

    /// True if the writer has given up.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.state, State::Writing(thread) if thread.is_finished())
    }

    /// Waits until everything is in the file. What kept it from that, if something did.
    pub(crate) fn finish(&mut self) -> Option<Failure> {
        self.shared.closing.store(true, Ordering::Release);
        let State::Writing(thread) = std::mem::replace(&mut self.state, State::Ended) else {
            return None;
        };
        let error = match thread.join() {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error,
            Err(_) => io::Error::other("a fault of this program"),
        };
        let errno = error.raw_os_error();
        let why = errno.map_or_else(|| error.to_string(), os_error_name);
        let full = errno.is_some_and(|errno| [sys::file::NO_SPACE, sys::file::OVER_QUOTA].contains(&errno));
        let name = self.form.name;
        Some(Failure {
            errno,
            help: full.then(|| format!("write the {name} where there is more space; a line takes up to 100 bytes")),
            ..Failure::new(format!("the {name} could not be written on: {why}"), self.path.clone())
        })
    }

    /// Times a worker had to wait until there was room for its line.
    pub(crate) fn waits(&self) -> u64 {
        self.shared.waits.load(Ordering::Relaxed)
    }
}

impl<L> LogWriter<L> {
    /// Keeps a line. True if the worker had to wait for that. Once the writer has given up, lines
    /// go nowhere.
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

/// A ring whose memory is there: the measured window sees no first faults.
fn touched_ring<L: Line>(lines: usize) -> (Producer<L>, Consumer<L>) {
    let (mut producer, mut ring) = RingBuffer::new(lines);
    while producer.push(L::NOTHING).is_ok() {}
    while ring.pop().is_ok() {}
    (producer, ring)
}

/// Opens the file, and says whether nothing is in it.
fn open(path: &Path, targets: &[Option<Identity>], appends: bool) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false);
    match appends {
        true => options.append(true),
        false => options.write(true),
    };
    let file = options.open(path)?;
    let identity = sys::facts::identity_of_file(&file);
    if identity.is_some() && targets.contains(&identity) {
        return Err(io::Error::other("it is a target of the test"));
    }
    if let Some(Identity::BlockDevice(_)) = identity {
        return Err(io::Error::other("it is a device; a log needs a file"));
    }
    let meta = file.metadata()?;
    // A pipe or a terminal has no length.
    if !appends && meta.is_file() {
        file.set_len(0)?;
    }
    Ok((file, !appends || meta.len() == 0))
}

fn write_all<L: Line>(
    mut file: File,
    mut text: Vec<u8>,
    mut rings: Vec<Consumer<L>>,
    form: &Form,
    shared: &Shared,
) -> io::Result<()> {
    loop {
        // Looked at first: what came before it is seen below.
        let closing = shared.closing.load(Ordering::Acquire);
        let mut taken = 0;
        for (worker, ring) in rings.iter_mut().enumerate() {
            let count = ring.slots();
            for line in ring.read_chunk(count).into_iter().flatten() {
                line.put(worker, form, &mut text);
                if text.len() >= PIECE {
                    file.write_all(&text)?;
                    text.clear();
                }
            }
            taken += count;
        }
        if taken > 0 {
            continue;
        }
        // What has come by now can be read by others while the job runs.
        file.write_all(&text)?;
        text.clear();
        if closing {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Number(u64);

    impl Line for Number {
        const NOTHING: Number = Number(0);

        fn put(&self, _: usize, _: &Form, text: &mut Vec<u8>) {
            text.extend_from_slice(format!("{}\n", self.0).as_bytes());
        }
    }

    fn form() -> Form {
        Form {
            header: "first\n",
            ..Form::default()
        }
    }

    fn numbers(text: &str) -> Vec<u64> {
        text.lines().skip(1).map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn a_full_ring_holds_the_worker_up_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.csv");
        let (mut log, mut writers) = LineLog::with_rings_of(4, path.to_str().unwrap(), form(), 1);
        let mut writer = writers.remove(0);
        let worker =
            std::thread::spawn(move || (0..1000).filter(|number| writer.write(Number(*number))).count() as u64);
        // No one empties the ring yet.
        while log.waits() == 0 {
            std::thread::yield_now();
        }
        log.start(&[]).unwrap();
        let stalls = worker.join().unwrap();
        assert_eq!(log.finish(), None);
        assert_eq!(log.waits(), stalls);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(numbers(&text), (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn what_is_there_stays_where_lines_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        for (appends, expected) in [(false, &[1][..]), (true, &[1, 1]), (true, &[1, 1, 1]), (false, &[1])] {
            let form = Form { appends, ..form() };
            let (mut log, mut writers) = LineLog::new(path.to_str().unwrap(), form, 1);
            log.start(&[]).unwrap();
            writers[0].write(Number(1));
            assert_eq!(log.finish(), None);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("first\n"), "{text}");
            assert_eq!(numbers(&text), expected);
        }
    }
}
