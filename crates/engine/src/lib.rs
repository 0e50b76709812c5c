//! Moves bytes: the [`Engine`] trait, one file per engine, buffers, open files, the clock, CPU
//! placement.
//!
//! An engine belongs to one thread. It takes requests by slot, executes a turn, and returns the
//! completed slots with their times. It knows nothing of plans, patterns, rates or statistics. All
//! `unsafe` code of the project is in this crate, in small files behind safe functions.
//!
//! Each platform has its own files, selected in a `mod.rs`. On Windows, `iocp` is one engine over
//! three kinds of queue; it needs files opened as overlapped. Dropping an engine cancels or awaits
//! operations in flight before it frees their buffers. `tests/suite` runs the same tests over every
//! engine.
//!
//! [`probe`] reads facts about the machine below a root path, so tests can use a recorded tree. On
//! Windows it separates system calls from their interpretation, so tests can use recorded answers.

pub mod clock;
pub mod fill;
pub mod idle;
pub mod probe;
pub mod sys;

mod batch;
mod buffers;
mod capped_reaping;
mod choose;
mod cpu;
mod error;
mod falloc;
mod file;
mod files;
mod flags;
mod identity;
#[cfg(windows)]
mod iocp;
#[cfg(windows)]
mod ioring;
#[cfg(target_os = "linux")]
mod libaio;
mod metadata;
mod mmap;
mod mmap_hybrid;
mod null;
mod offload;
mod program;
mod psync;
mod sim;
mod sleep;
#[cfg(target_os = "linux")]
mod splice;
mod sync_calls;
mod truncate;
#[cfg(target_os = "linux")]
mod uring;
#[cfg(target_os = "linux")]
mod vsync;

pub use batch::{Action, Batch, Completion, Completions, RangeFlush, Request, Slot};
pub use choose::{Choice, RING_REFUSED, choose, needs_overlapped};
pub use clock::Clock;
pub use error::{EngineError, os_error_name};
pub use file::{Access, File, FileKind, OpenError, OpenOptions};
pub use files::{OpenTree, TreeSetup};
pub use identity::{DeviceNumber, FileId, FileStamp, Identity};
pub use sim::{SimulatedWorker, Simulation};
pub use sys::memory::{PinnedMemory, map_large_blocks, page_size};

use model::Nanos;
use model::plan::{EngineChoice, EngineKind};
use model::results::EngineUsed;

use sync_calls::SyncEngine;

/// Issues I/O for one thread.
pub trait Engine {
    /// Submits requests and waits until at least `wait_nr` have completed or the clock reaches
    /// `until`, with one system call where possible. If nothing is in flight, a turn with a
    /// deadline is a precise sleep. Without a deadline it waits at most for the operations in
    /// flight.
    ///
    /// Each request names a free slot, which stays in use until a turn returns its completion; the
    /// operation reads into the slot's buffer or writes from it. `batch` receives the completions,
    /// the stamps of the turn, and the number of requests accepted: the first N. The caller must
    /// offer the others again.
    ///
    /// A synchronous engine executes one request after the other until the clock reaches `until`;
    /// each starts when the previous one ends.
    ///
    /// An operation that failed is not an error here: its completion carries the error number.
    ///
    /// # Errors
    /// [`EngineError`] if the engine itself cannot continue.
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError>;

    /// The current time on the clock that stamps operations.
    fn now(&self) -> Nanos;

    /// The buffer of a free slot.
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Closes a file that no operation in flight uses and replaces it. Allowed only with
    /// [`Setup::exchanges_files`].
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot use the other file.
    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError>;

    /// Describes the engine in use, for the results.
    fn describe(&self) -> EngineUsed;
}

/// The settings with which an engine starts.
#[derive(Debug)]
pub struct Setup {
    /// Which engine, and how.
    pub choice: EngineChoice,
    /// Number of slots. A synchronous engine has one operation in flight, however many there are.
    pub slots: u32,
    /// Operations run one at a time: the queue depth is one, and additional slots only allow
    /// several requests in a turn.
    pub depth_is_one: bool,
    /// One buffer serves all slots. This works if operations run one at a time and no contents must
    /// be preserved.
    pub one_buffer: bool,
    /// Maximum number of requests in a turn.
    pub submit_batch: u32,
    /// Maximum number of completions that a turn of an asynchronous engine returns; `None` for all.
    pub complete_max: Option<u32>,
    /// Bytes in each buffer.
    pub buffer_bytes: usize,
    /// Alignment of each buffer in bytes; at least the page size is used.
    pub buffer_alignment: usize,
    /// Size of huge pages for the buffers in bytes, a power of two; `None` for normal pages.
    pub huge_page: Option<usize>,
    /// Open files and devices; [`Request::file`] is an index into them.
    pub files: Vec<File>,
    /// Files may be replaced while the engine is in use, so they are not registered with the
    /// kernel.
    pub exchanges_files: bool,
    /// Take a stamp between submitting and waiting, which costs a second system call.
    pub split_stamps: bool,
    /// Spin shortly before a deadline, because the timer alone is late.
    pub spin: bool,
    /// The clock of the run.
    pub clock: Clock,
    /// The worker's part in a simulation, for [`EngineKind::Simulated`].
    pub simulated: Option<SimulatedWorker>,
    /// The file tree and block size, for [`EngineKind::Files`].
    pub tree: Option<TreeSetup>,
    /// The worker's seed for its simulated devices.
    pub seed: u64,
}

impl Setup {
    /// A setup of `slots` slots that completes operations in any order, with empty buffers.
    pub fn new(choice: EngineChoice, files: Vec<File>, slots: u32, clock: Clock) -> Setup {
        Setup {
            choice,
            slots,
            depth_is_one: false,
            one_buffer: false,
            submit_batch: slots,
            complete_max: None,
            buffer_bytes: 0,
            buffer_alignment: 4096,
            huge_page: None,
            files,
            exchanges_files: false,
            split_stamps: false,
            spin: false,
            clock,
            simulated: None,
            tree: None,
            seed: 0,
        }
    }
}

/// Starts an engine. Call it on the thread that will use it.
///
/// # Errors
/// [`EngineError`] if the system lacks the engine, memory or a resource that it needs, with the
/// reason.
pub fn open(setup: Setup) -> Result<Box<dyn Engine>, EngineError> {
    let (slots, bound) = (setup.slots, setup.complete_max.filter(|_| !setup.depth_is_one));
    let engine = open_unbounded(setup)?;
    Ok(match bound {
        Some(max_completions) => Box::new(capped_reaping::CappedReaping::new(engine, max_completions, slots)),
        None => engine,
    })
}

fn open_unbounded(setup: Setup) -> Result<Box<dyn Engine>, EngineError> {
    if setup.choice.kind != EngineKind::Mmap && mmap_hybrid::is_mixed(&setup.files) {
        return Ok(Box::new(mmap_hybrid::MmapHybrid::open(setup, open_engine)?));
    }
    open_engine(setup)
}

fn open_engine(setup: Setup) -> Result<Box<dyn Engine>, EngineError> {
    if setup.choice.offload {
        return Ok(Box::new(offload::Offload::open(setup)?));
    }
    match setup.choice.kind {
        EngineKind::Auto => {
            let why = "the engine was opened before one was chosen";
            Err(EngineError::internal(EngineKind::Auto, why))
        }
        EngineKind::Null => Ok(Box::new(null::Null::open(setup)?)),
        EngineKind::Psync => SyncEngine::open(setup, psync::Psync::<false>::open),
        EngineKind::Pvsync2 => SyncEngine::open(setup, psync::Psync::<true>::open),
        EngineKind::Mmap => SyncEngine::open(setup, mmap::Mmap::open),
        EngineKind::Falloc => SyncEngine::open(setup, falloc::Falloc::open),
        EngineKind::Truncate => SyncEngine::open(setup, truncate::Truncate::open),
        EngineKind::FileCreate
        | EngineKind::FileStat
        | EngineKind::FileDelete
        | EngineKind::DirectoryCreate
        | EngineKind::DirectoryStat
        | EngineKind::DirectoryDelete => SyncEngine::open(setup, metadata::MetadataEngine::open),
        EngineKind::Files => SyncEngine::open(setup, files::Files::open),
        EngineKind::Cpu => SyncEngine::open(setup, cpu::Cpu::open),
        EngineKind::Program => SyncEngine::open(setup, program::ProgramRunner::open),
        EngineKind::Simulated => Ok(Box::new(sim::SimulatedEngine::open(setup)?)),
        #[cfg(target_os = "linux")]
        EngineKind::IoUring => Ok(Box::new(uring::IoUring::open(setup)?)),
        #[cfg(target_os = "linux")]
        EngineKind::Libaio => Ok(Box::new(libaio::Libaio::open(setup)?)),
        #[cfg(target_os = "linux")]
        EngineKind::Splice => SyncEngine::open(setup, splice::Splice::open),
        #[cfg(target_os = "linux")]
        EngineKind::Vsync => Ok(Box::new(vsync::Vsync::open(setup)?)),
        #[cfg(windows)]
        EngineKind::Iocp => Ok(Box::new(iocp::Iocp::open(setup)?)),
        #[cfg(windows)]
        EngineKind::Routines => Ok(Box::new(iocp::RoutinesEngine::open(setup)?)),
        #[cfg(windows)]
        EngineKind::IoRing => Ok(Box::new(ioring::open(setup)?)),
        #[cfg(not(target_os = "linux"))]
        kind @ (EngineKind::IoUring | EngineKind::Libaio | EngineKind::Splice | EngineKind::Vsync) => {
            Err(not_on_this_platform(kind))
        }
        #[cfg(not(windows))]
        kind @ (EngineKind::Iocp | EngineKind::Routines | EngineKind::IoRing) => Err(not_on_this_platform(kind)),
    }
}

/// Why this system cannot run an engine, if that is known before anything is opened. `writes`: the
/// job writes. [`open`] reports every other obstacle.
pub fn unsupported_reason(kind: EngineKind, writes: bool) -> Option<EngineError> {
    match kind {
        EngineKind::IoRing => ring_unsupported_reason(writes),
        _ => None,
    }
}

#[cfg(windows)]
use ioring::unsupported_reason as ring_unsupported_reason;

#[cfg(not(windows))]
fn ring_unsupported_reason(_writes: bool) -> Option<EngineError> {
    Some(not_on_this_platform(EngineKind::IoRing))
}

fn not_on_this_platform(kind: EngineKind) -> EngineError {
    EngineError::unavailable(kind, "this system does not have it", "use `--engine auto`")
}
