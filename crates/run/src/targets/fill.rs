//! Fills a file with data as fast as the target accepts it. The data is incompressible and bypasses
//! the page cache, with several large writes in flight. A later read then meets no holes, no
//! unwritten extents and no cached data. Progress is reported while it runs.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{
    Access, Action, Batch, Clock, Engine, EngineError, File, Identity, OpenError, OpenOptions, Request, Setup, Slot,
    choose, os_error_name, sys,
};
use model::content::{Content, Filler};
use model::draws::GeneratorChoice;
use model::event::Event;
use model::finding::{Finding, Severity};
use model::plan::{AllocateMode, CacheMode, EngineChoice};
use model::{Bytes, Nanos};

use super::marker;

/// Writes in flight.
const DEPTH: u32 = 4;
/// Default bytes per write.
pub(super) const DEFAULT_BLOCK: u32 = 1 << 20;
/// How often progress is reported.
const PROGRESS_INTERVAL: Nanos = Nanos::millis(200);

/// Rule of the finding that a file is written because declaring it valid failed. That takes longer
/// but has no other effect.
const SLOW_PREPARATION: &str = "SLOW-PREPARATION";

/// Action of a failed creation; `is_name_taken` recognises the error by it.
const CANNOT_CREATE: &str = "cannot create";

/// The part of a file to write, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct FillRequest<'a> {
    pub(super) path: &'a Path,
    /// First byte to write; those before it stay.
    pub(super) start: u64,
    /// Size of the file afterwards.
    pub(super) size: u64,
    pub(super) content: &'a Content,
    pub(super) block: u32,
    pub(super) allocate: AllocateMode,
    /// Flush the file when it is full.
    pub(super) flush: bool,
    pub(super) seed: u64,
    /// Declare the file valid, like DiskSpd, instead of writing it, if the system permits it.
    pub(super) declare_valid: bool,
    /// Which file must exist at the path.
    pub(super) expected: ExpectedFile,
    /// Truncate the file first.
    pub(super) truncate: bool,
    /// The test uses direct I/O on the file. If the file system has none, nothing is written.
    pub(super) needs_direct: bool,
    /// Mark the file as unfinished before it is filled.
    pub(super) is_marked: bool,
}

/// Which file must be at the path when it is opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedFile {
    /// None: the file is created.
    Absent,
    /// The permitted file; `None` on systems without file identities.
    Existing(Option<Identity>),
}

/// Why a file could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// A call on the file failed.
    #[error("{action} {path}: {}", .errno.map_or_else(|| "unknown error".to_owned(), os_error_name))]
    File {
        /// The failed action, such as `cannot create`.
        action: &'static str,
        /// Path of the file.
        path: String,
        /// The error number.
        errno: Option<i32>,
        /// Bytes written before.
        written: Bytes,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The file system has no direct I/O, which the test needs.
    #[error(transparent)]
    NoDirect(OpenError),
    /// The file at the path is not the permitted one.
    #[error("{0} was replaced by another file while it was being prepared")]
    Replaced(String),
    /// The user or the system asked to stop.
    #[error("interrupted while {0} was being prepared")]
    Interrupted(String),
}

impl FillError {
    /// A failed action on a file, after `written` bytes.
    pub(super) fn file(action: &'static str, path: &Path, error: &io::Error, written: u64) -> FillError {
        FillError::File {
            action,
            path: path.display().to_string(),
            errno: error.raw_os_error(),
            written: Bytes(written),
        }
    }

    /// The file of a failed call.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            FillError::File { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The error number, if it came from the system.
    pub fn errno(&self) -> Option<i32> {
        match self {
            FillError::File { errno, .. } => *errno,
            FillError::Engine(error) => error.errno(),
            FillError::NoDirect(error) => error.source.raw_os_error(),
            FillError::Replaced(_) | FillError::Interrupted(_) => None,
        }
    }

    /// True if the file could not be created because its name is taken.
    pub(super) fn is_name_taken(&self) -> bool {
        match self {
            FillError::File { action, errno, .. } => {
                let kind = errno.map(|errno| io::Error::from_raw_os_error(errno).kind());
                *action == CANNOT_CREATE && kind == Some(io::ErrorKind::AlreadyExists)
            }
            _ => false,
        }
    }
}

/// How a file was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillMethod {
    /// It was written.
    Written,
    /// It was declared valid, and contains what the disk contained before.
    Declared,
}

/// A filled file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    /// The time it took.
    pub(super) took: Nanos,
    pub(super) method: FillMethod,
    /// The identity of the file that was written, whatever its path names by now.
    pub(super) identity: Option<Identity>,
}

/// Fills a file.
pub(super) fn fill(
    request: &FillRequest<'_>,
    clock: Clock,
    interrupt: &AtomicBool,
    watcher: &mut dyn FnMut(Event),
) -> Result<Filled, FillError> {
    let file = match request.expected {
        ExpectedFile::Absent => fs::OpenOptions::new().write(true).create_new(true).open(request.path),
        ExpectedFile::Existing(_) => fs::OpenOptions::new().write(true).open(request.path),
    };
    let action = if request.expected == ExpectedFile::Absent {
        CANNOT_CREATE
    } else {
        "cannot open"
    };
    let file = file.map_err(|error| FillError::file(action, request.path, &error, 0))?;
    let identity = sys::facts::open_file_identity(&file);
    if let ExpectedFile::Existing(Some(expected)) = request.expected
        && identity != Some(expected)
    {
        return Err(FillError::Replaced(request.path.display().to_string()));
    }
    if request.is_marked {
        // If this process is killed, the next command recognises the unfinished file. A file system
        // that stores no mark leaves an unmarked file, which is refused as well.
        let _ = marker::begin(&file, Bytes(0));
    }
    let filled = fill_opened(request, &file, clock, interrupt, watcher);
    let (took, method) = filled.inspect_err(|_| {
        // A half-filled file of this run is useless; a file that existed before is kept.
        if request.expected == ExpectedFile::Absent
            && let Ok(stamp) = sys::file::file_stamp(&file)
        {
            let _ = sys::file::remove(request.path, stamp.id);
        }
    })?;
    Ok(Filled { took, method, identity })
}

fn fill_opened(
    request: &FillRequest<'_>,
    file: &fs::File,
    clock: Clock,
    interrupt: &AtomicBool,
    watcher: &mut dyn FnMut(Event),
) -> Result<(Nanos, FillMethod), FillError> {
    let start = clock.now();
    let to_error = |action, error: &io::Error, written| FillError::file(action, request.path, error, written);
    let direct = OpenOptions::new(Access::Read, CacheMode::DIRECT);
    if request.needs_direct
        && let Err(error) = File::open(request.path, direct)
        && error.only_direct_fails
    {
        return Err(FillError::NoDirect(error));
    }
    if request.truncate {
        file.set_len(0).map_err(|error| to_error("cannot empty", &error, 0))?;
    }
    allocate(file, request).map_err(|error| to_error("cannot reserve space for", &error, 0))?;
    if request.declare_valid
        && try_declare_valid(file, request, watcher).map_err(|error| to_error("cannot set the size of", &error, 0))?
    {
        return Ok((clock.now().since(start), FillMethod::Declared));
    }
    write_all(request, sys::facts::open_file_identity(file), clock, interrupt, watcher)?;
    file.set_len(request.size)
        .map_err(|error| to_error("cannot set the size of", &error, request.size))?;
    if request.flush {
        file.sync_all()
            .map_err(|error| to_error("cannot flush", &error, request.size))?;
    }
    sys::file::drop_cache(file);
    Ok((clock.now().since(start), FillMethod::Written))
}

/// Sets the size and declares the whole file valid. Returns false if the file must be written,
/// because the system has no such call or does not permit it.
fn try_declare_valid(file: &fs::File, request: &FillRequest<'_>, watcher: &mut dyn FnMut(Event)) -> io::Result<bool> {
    file.set_len(request.size)?;
    let error = match sys::file::declare_valid(file, request.size) {
        Ok(()) => return Ok(true),
        Err(error) => error,
    };
    if error.kind() != io::ErrorKind::Unsupported {
        let path = request.path.display();
        let text =
            format!("{path} is written in full, which takes longer: its valid data length could not be set: {error}");
        let finding = Finding::new(SLOW_PREPARATION, Severity::Note, text);
        watcher(Event::Notice { finding });
    }
    Ok(false)
}

/// Reserves the space. So the file stays contiguous, and a full file system is detected before
/// writing.
fn allocate(file: &fs::File, request: &FillRequest<'_>) -> io::Result<()> {
    let reserved = match request.allocate {
        AllocateMode::None => return Ok(()),
        AllocateMode::Truncate => return file.set_len(request.size),
        AllocateMode::KeepSize => sys::file::allocate_keeping_size(file, request.size),
        AllocateMode::Native | AllocateMode::Posix => sys::file::allocate(file, request.size),
    };
    match reserved {
        // Not every file system supports this; space is then allocated during the writes.
        Err(error) if error.raw_os_error() == Some(sys::file::NOT_SUPPORTED) => Ok(()),
        // If preparation writes nothing, the requested size may exceed the free space (fio
        // `fill_device`).
        Err(error)
            if error.raw_os_error() == Some(sys::file::NO_SPACE)
                && request.start >= request.size
                && request.allocate != AllocateMode::KeepSize =>
        {
            Ok(())
        }
        result => result,
    }
}

fn write_all(
    request: &FillRequest<'_>,
    identity: Option<Identity>,
    clock: Clock,
    interrupt: &AtomicBool,
    watcher: &mut dyn FnMut(Event),
) -> Result<(), FillError> {
    if request.start >= request.size {
        return Ok(());
    }
    let file = open_for_filling(request)?;
    if file.identity() != identity {
        return Err(FillError::Replaced(request.path.display().to_string()));
    }
    // The end of a file need not be a whole sector; write that last piece through the page cache.
    let aligned_size = request.size - request.size % file.direct_alignment().max(1);
    let mut engine = start_engine(request, file, clock)?;
    let mut filler = Filler::new(
        request.content,
        request.seed,
        engine::fill::random_fill(),
        Arc::default(),
        1,
    );
    let mut draws = GeneratorChoice::Native { seed: request.seed }.start();
    let mut batch = Batch::new(DEPTH);
    let mut free: Vec<Slot> = (0..DEPTH).map(Slot).collect();
    let mut requests: Vec<Request> = Vec::new();
    let (mut next, mut written) = (request.start, request.start);
    let (start, mut last_progress) = (clock.now(), clock.now());
    while written < aligned_size {
        while next < aligned_size
            && let Some(slot) = free.pop()
        {
            let length = u64::from(request.block).min(aligned_size - next) as u32;
            let buffer = &mut engine.buffer(slot)[..length as usize];
            filler.prepare(buffer);
            filler.fill(buffer, next, Nanos(next), &mut draws);
            requests.push(Request {
                offset: next,
                length,
                slot,
                file: 0,
                action: Action::Write,
            });
            next += u64::from(length);
        }
        engine.submit_and_reap(&requests, 1, Nanos::NEVER, &mut batch)?;
        requests.drain(..batch.submitted as usize);
        for completion in batch.done.iter() {
            if completion.result <= 0 {
                let error = io::Error::from_raw_os_error((-completion.result) as i32);
                return Err(FillError::file("cannot write", request.path, &error, written));
            }
            written += completion.result as u64;
            free.push(completion.slot);
        }
        if interrupt.load(Ordering::Relaxed) {
            return Err(FillError::Interrupted(request.path.display().to_string()));
        }
        if batch.reap_time.since(last_progress) >= PROGRESS_INTERVAL {
            last_progress = batch.reap_time;
            report_progress(request, written, last_progress.since(start), watcher);
        }
    }
    write_tail(request, aligned_size, &mut filler, &mut draws)
}

fn report_progress(request: &FillRequest<'_>, written: u64, elapsed: Nanos, watcher: &mut dyn FnMut(Event)) {
    let (done, total) = (written - request.start, request.size - request.start);
    let left_ns = elapsed.0 as f64 / done.max(1) as f64 * (total - done.min(total)) as f64;
    watcher(Event::Preparing {
        target: request.path.display().to_string(),
        done: Bytes(done),
        total: Bytes(total),
        left_ns: Nanos(left_ns as u64),
    });
}

/// Opens the file, bypassing the page cache if the file system supports it.
fn open_for_filling(request: &FillRequest<'_>) -> Result<File, FillError> {
    let aligned = request.start.is_multiple_of(4096) && request.block.is_multiple_of(4096);
    let write_options = |direct| {
        OpenOptions::new(
            Access::Write,
            CacheMode {
                direct,
                ..CacheMode::BUFFERED
            },
        )
    };
    if aligned
        && let Ok(file) = File::open(request.path, write_options(true))
        && u64::from(request.block).is_multiple_of(file.direct_alignment())
    {
        return Ok(file);
    }
    File::open(request.path, write_options(false))
        .map_err(|error| FillError::file("cannot open", request.path, &error.source, 0))
}

fn start_engine(request: &FillRequest<'_>, file: File, clock: Clock) -> Result<Box<dyn Engine>, EngineError> {
    let files = vec![file];
    let kind = choose(&files, DEPTH).kind;
    engine::open(Setup {
        depth_is_one: kind.is_synchronous(),
        buffer_bytes: request.block as usize,
        seed: request.seed,
        ..Setup::new(EngineChoice::new(kind), files, DEPTH, clock)
    })
}

/// The last bytes, fewer than a sector.
fn write_tail(
    request: &FillRequest<'_>,
    start: u64,
    filler: &mut Filler,
    draws: &mut model::draws::Draws,
) -> Result<(), FillError> {
    use std::io::{Seek, Write};
    if start >= request.size {
        return Ok(());
    }
    let mut tail = vec![0u8; (request.size - start) as usize];
    filler.prepare(&mut tail);
    filler.fill(&mut tail, start, Nanos(start), draws);
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).open(request.path)?;
        file.seek(io::SeekFrom::Start(start))?;
        file.write_all(&tail)
    };
    write().map_err(|error| FillError::file("cannot write", request.path, &error, start))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Filling a large file takes minutes, after which the test could not open it.
    #[test]
    fn nothing_is_written_where_direct_io_is_needed_and_missing() {
        let Some(ramfs) = testbed::need(testbed::TmpFs::without_attributes()) else {
            return;
        };
        let path = ramfs.path().join("f");
        let what = FillRequest {
            path: &path,
            start: 0,
            size: 1 << 20,
            content: &Content::Fresh,
            block: DEFAULT_BLOCK,
            allocate: AllocateMode::None,
            flush: false,
            seed: 1,
            declare_valid: false,
            expected: ExpectedFile::Absent,
            truncate: false,
            needs_direct: true,
            is_marked: false,
        };
        let clock = engine::clock::ClockStart::now().calibrate();
        let fill = |what: &FillRequest<'_>| fill(what, clock, &AtomicBool::new(false), &mut |_| ());
        assert!(matches!(fill(&what), Err(FillError::NoDirect(_))));
        assert!(!path.exists());
        let needs_direct = false;
        fill(&FillRequest { needs_direct, ..what }).unwrap();
    }
}
