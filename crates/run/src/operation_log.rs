//! A line for every operation of a job, written to a file while the job runs.
//!
//! Each worker has a bounded ring of its own, made before the job begins; one thread for the job empties them all into
//! the file. A worker that finds its ring full waits until there is room, and that is counted: a log that leaves out what
//! it had no time for would not be a log. Lines of one worker are in the order in which its operations ended; those of
//! several are mixed as they came.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{Identity, os_error_name, sys};
use model::operation_log::HEADER;
use model::results::Failure;
use model::{Direction, Nanos};
use rtrb::{Consumer, Producer, RingBuffer};

/// Lines that a worker may be ahead of the file: 16 ms at a million operations per second.
const MOST_LINES: usize = 1 << 14;
/// The same for all workers of a job together, which bounds the memory of jobs with very many.
const MOST_LINES_OF_JOB: usize = 1 << 21;
/// How long the writer sleeps when it finds nothing to write.
const PAUSE: Duration = Duration::from_millis(1);

/// Bytes that are written at a time.
const PIECE: usize = 64 << 10;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// When it was reaped, from the start of the measured window.
    pub(crate) completed: Nanos,
    pub(crate) stream: u32,
    /// Absent for flushes.
    pub(crate) direction: Option<Direction>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Bytes that were really moved.
    pub(crate) moved: u32,
    /// Due → queued, where it was paced.
    pub(crate) schedule_delay: Option<Nanos>,
    /// Queued → issued.
    pub(crate) submission: Nanos,
    /// Queued → reaped.
    pub(crate) total: Nanos,
    /// Error number; 0 if it did not fail.
    pub(crate) error: i32,
}

impl Line {
    const NOTHING: Line = Line {
        completed: Nanos(0),
        stream: 0,
        direction: None,
        offset: 0,
        length: 0,
        moved: 0,
        schedule_delay: None,
        submission: Nanos(0),
        total: Nanos(0),
        error: 0,
    };
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
pub(crate) struct Pen {
    lines: Producer<Line>,
    shared: Arc<Shared>,
}

/// The log of one job.
#[derive(Debug)]
pub(crate) struct OperationLog {
    path: String,
    shared: Arc<Shared>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The rings are there, the file is not touched yet.
    Ready(Vec<Consumer<Line>>),
    Writing(JoinHandle<io::Result<()>>),
    Ended,
}

impl OperationLog {
    /// The log of a job with so many workers, and a pen for each of them. Nothing is written yet.
    pub(crate) fn new(path: &str, workers: usize) -> (OperationLog, Vec<Pen>) {
        let lines = (MOST_LINES_OF_JOB / workers.max(1)).clamp(64, MOST_LINES);
        OperationLog::with_rings_of(lines, path, workers)
    }

    fn with_rings_of(lines: usize, path: &str, workers: usize) -> (OperationLog, Vec<Pen>) {
        let shared = Arc::new(Shared::default());
        let (mut pens, mut rings) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (producer, ring) = touched_ring(lines);
            pens.push(Pen {
                lines: producer,
                shared: Arc::clone(&shared),
            });
            rings.push(ring);
        }
        let log = OperationLog {
            path: path.to_owned(),
            shared,
            state: State::Ready(rings),
        };
        (log, pens)
    }

    /// The file that it writes.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Opens the file, replacing what is in it, and starts to write. To be called once the job is certain to start.
    ///
    /// # Errors
    /// The system's error. Also if the path leads to a device or to one of the targets: nothing is written there.
    pub(crate) fn start(&mut self, targets: &[Option<Identity>]) -> io::Result<()> {
        let State::Ready(rings) = std::mem::replace(&mut self.state, State::Ended) else {
            return Ok(());
        };
        let file = open(Path::new(&self.path), targets)?;
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("operation log".into())
            .spawn(move || write_all(file, rings, &shared))?;
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
        Some(Failure {
            what: format!("the operation log could not be written on: {why}"),
            at: self.path.clone(),
            errno,
            operation: None,
            help: full.then(|| "write the log where there is more space; a line takes about 70 bytes".to_owned()),
        })
    }

    /// Times a worker had to wait until there was room for its line.
    pub(crate) fn waits(&self) -> u64 {
        self.shared.waits.load(Ordering::Relaxed)
    }
}

impl Pen {
    /// Keeps a line. True if the worker had to wait for that. Once the writer has given up, lines go nowhere.
    #[inline]
    pub(crate) fn write(&mut self, line: Line) -> bool {
        match self.lines.push(line) {
            Ok(()) => false,
            Err(rtrb::PushError::Full(line)) => self.wait(line),
        }
    }

    #[cold]
    fn wait(&mut self, mut line: Line) -> bool {
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
fn touched_ring(lines: usize) -> (Producer<Line>, Consumer<Line>) {
    let (mut producer, mut ring) = RingBuffer::new(lines);
    while producer.push(Line::NOTHING).is_ok() {}
    while ring.pop().is_ok() {}
    (producer, ring)
}

fn open(path: &Path, targets: &[Option<Identity>]) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let identity = sys::facts::identity_of_file(&file);
    if identity.is_some() && targets.contains(&identity) {
        return Err(io::Error::other("it is a target of the test"));
    }
    if let Some(Identity::BlockDevice(_)) = identity {
        return Err(io::Error::other("it is a device; a log needs a file"));
    }
    // A pipe or a terminal has no length.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

fn write_all(mut file: File, mut rings: Vec<Consumer<Line>>, shared: &Shared) -> io::Result<()> {
    let mut text = Vec::with_capacity(2 * PIECE);
    text.extend_from_slice(HEADER.as_bytes());
    loop {
        // Looked at first: what came before it is seen below.
        let closing = shared.closing.load(Ordering::Acquire);
        let mut taken = 0;
        for (worker, ring) in rings.iter_mut().enumerate() {
            let count = ring.slots();
            for line in ring.read_chunk(count).into_iter().flatten() {
                put_line(&mut text, worker, &line);
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

fn put_line(text: &mut Vec<u8>, worker: usize, line: &Line) {
    put(text, line.completed.0);
    put(text, worker as u64);
    put(text, u64::from(line.stream));
    text.extend_from_slice(line.direction.map_or("flush", Direction::word).as_bytes());
    text.push(b',');
    put(text, line.offset);
    put(text, u64::from(line.length));
    put(text, u64::from(line.moved));
    match line.schedule_delay {
        Some(delay) => put(text, delay.0),
        None => text.push(b','),
    }
    put(text, line.submission.0);
    put(text, line.total.0);
    if line.error != 0 {
        put(text, u64::from(line.error.unsigned_abs()));
        text.pop();
    }
    text.push(b'\n');
}

/// A number and a comma. The formatting of the standard library takes several times as long, and the writer must keep up
/// with all workers of a job.
fn put(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b','; 21];
    let mut first = 20;
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_holds_the_worker_up_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.csv");
        let (mut log, mut pens) = OperationLog::with_rings_of(4, path.to_str().unwrap(), 1);
        let mut pen = pens.remove(0);
        let worker = std::thread::spawn(move || {
            let line = |number| Line {
                completed: Nanos(number),
                ..Line::NOTHING
            };
            (0..1000).filter(|number| pen.write(line(*number))).count() as u64
        });
        // No one empties the ring yet.
        while log.waits() == 0 {
            std::thread::yield_now();
        }
        log.start(&[]).unwrap();
        let held_up = worker.join().unwrap();
        assert_eq!(log.finish(), None);
        assert_eq!(log.waits(), held_up);
        let text = std::fs::read_to_string(&path).unwrap();
        let numbers: Vec<u64> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn numbers_of_all_lengths_are_written_in_full() {
        for number in [0, 9, 10, 4096, u64::from(u32::MAX), u64::MAX] {
            let mut text = Vec::new();
            put(&mut text, number);
            assert_eq!(text, format!("{number},").into_bytes());
        }
    }
}
