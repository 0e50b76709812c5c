//! Properties of single operations: caches, flushes, priorities, verification, errors.

use std::path::{Path, PathBuf};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::{Direction, PerDirection};
use crate::units::{Bytes, Nanos};

/// The caches between the worker and the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheMode {
    /// Bypass the page cache (`O_DIRECT`, `FILE_FLAG_NO_BUFFERING`).
    pub direct: bool,
    /// Each write reaches stable storage before it completes.
    #[serde(default)]
    pub write_through: WriteThrough,
    /// Bypass only the local cache of a network file system (DiskSpd `-Sr`).
    #[serde(default)]
    pub local_only: bool,
    /// Bypass the drivers between file system and disk (DiskSpd `-Sy`, `-SY`; Windows only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_io: Option<BypassIo>,
    /// Go through a memory map instead of read and write calls.
    #[serde(default)]
    pub mapping: Option<Mapping>,
    /// Drop cached pages of the target before the job starts, before each further pass and before
    /// verification (fio `invalidate`).
    #[serde(default)]
    pub drop_before: bool,
    /// Read the target into the cache before the job starts (fio `pre_read`).
    #[serde(default)]
    pub fill_before: bool,
}

impl CacheMode {
    /// Through the page cache.
    pub const BUFFERED: CacheMode = CacheMode {
        direct: false,
        write_through: WriteThrough::Off,
        local_only: false,
        bypass_io: None,
        mapping: None,
        drop_before: false,
        fill_before: false,
    };
    /// Direct I/O.
    pub const DIRECT: CacheMode = CacheMode {
        direct: true,
        ..CacheMode::BUFFERED
    };
}

/// The drivers that BypassIO of Windows must bypass for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BypassIo {
    /// The file system filters; the volume's drivers too if they support it.
    Partial,
    /// Both.
    Full,
}

/// When a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// When the device or the cache has accepted it.
    #[default]
    Off,
    /// When the data is stable (`O_DSYNC`).
    Data,
    /// When data and metadata are stable (`O_SYNC`).
    DataAndMetadata,
}

/// How a memory map is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mapping {
    /// The flush after each write.
    #[serde(default)]
    pub flush: MapFlush,
    /// Copy with non-temporal stores.
    #[serde(default)]
    pub non_temporal: bool,
}

/// The flush after a write through a memory map (DiskSpd `-N`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapFlush {
    /// Nothing.
    #[default]
    None,
    /// The pages are written back (`msync`, `FlushViewOfFile`).
    View,
    /// Cache lines are written back and drained; needs persistent memory.
    Lines,
    /// Cache lines are written back without draining; needs persistent memory.
    LinesWithoutDrain,
}

/// Hints for the system when the target is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenHint {
    /// Sequential access is expected.
    #[serde(default)]
    pub sequential: bool,
    /// Random access is expected.
    #[serde(default)]
    pub random: bool,
    /// Data is used once (`POSIX_FADV_NOREUSE`).
    #[serde(default)]
    pub no_reuse: bool,
    /// The file is temporary.
    #[serde(default)]
    pub temporary: bool,
    /// `fcntl(F_SET_RW_HINT)` value of written data.
    #[serde(default)]
    pub write_lifetime: Option<u8>,
}

/// When data is flushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncRule {
    /// After every N writes; 0 for never.
    #[serde(default)]
    pub every_writes: u32,
    /// System call that flushes.
    #[serde(default)]
    pub kind: FlushKind,
    /// `fdatasync` after every N writes, in addition to the rule above; 0 for never.
    #[serde(default)]
    pub data_every_writes: u32,
    /// `sync_file_range` after every N writes, with these flags.
    #[serde(default)]
    pub file_range: Option<(u32, FileRangeFlags)>,
    /// Flush once at the end of the job, outside the measured latencies.
    #[serde(default)]
    pub at_end: bool,
    /// Flush at every close.
    #[serde(default)]
    pub on_close: bool,
    /// Flush the whole file system at the end (`syncfs`).
    #[serde(default)]
    pub file_system_at_end: bool,
}

/// Which flush is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushKind {
    /// `fsync`: data and metadata.
    #[default]
    Full,
    /// `fdatasync`: data and the metadata needed to read it.
    Data,
}

/// Flags of `sync_file_range`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRangeFlags {
    /// Wait for earlier write-out first.
    pub wait_before: bool,
    /// Start write-out.
    pub write: bool,
    /// Wait for it.
    pub wait_after: bool,
}

/// I/O priority of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Priority {
    /// Scheduling class of the kernel (`ioprio_set`).
    pub class: PriorityClass,
    /// Level within the class, 0 (highest) to 7.
    pub level: u8,
    /// A hint for the device, such as a duration limit; 0 for none.
    #[serde(default)]
    pub hint: u16,
    /// Share of operations that get it, in percent; the others have the default.
    #[serde(default = "all")]
    pub percent: u8,
}

fn all() -> u8 {
    100
}

/// An I/O priority for some of a stream's operations (fio `cmdprio_percentage`, `cmdprio_bssplit`).
/// The other operations have the stream's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityRule {
    /// Operations of this direction.
    pub direction: Direction,
    /// Only operations of this length; absent: of any.
    #[serde(default)]
    pub length: Option<Bytes>,
    /// Share of these operations in percent, spread evenly. Rules for the same direction and length
    /// add up.
    pub percent: u8,
    /// Scheduling class of the operations.
    pub class: PriorityClass,
    /// Level within the class, 0 (highest) to 7.
    pub level: u8,
    /// A hint for the device; 0 for none.
    #[serde(default)]
    pub hint: u16,
}

/// How a stream locks a file while it submits operations on it (fio `lockfile`). The lock delays
/// only locking streams of the same step. A synchronous engine holds it during the operation,
/// others during the submitting call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileLock {
    /// No lock.
    #[default]
    None,
    /// Readers may share the file; a writer needs it alone.
    ReadersTogether,
    /// No other job may use it.
    Exclusive,
}

impl FileLock {
    /// True if operations are not delayed.
    pub fn is_none(&self) -> bool {
        *self == FileLock::None
    }
}

/// Linux I/O priority classes; DiskSpd's very low, low and normal map to idle, best effort 7 and
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriorityClass {
    /// Before all others.
    RealTime,
    /// The default class.
    BestEffort,
    /// Only when nothing else is waiting.
    Idle,
}

/// The reaction to a failed operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorPolicy {
    /// Error numbers of reads that do not end the worker but are counted; empty: every error ends
    /// it.
    #[serde(default)]
    pub tolerate_read: Vec<i32>,
    /// The same for writes and trims.
    #[serde(default)]
    pub tolerate_write: Vec<i32>,
    /// The same for mismatches.
    #[serde(default)]
    pub tolerate_verify: Vec<i32>,
    /// Every failure is counted, and none ends a worker until the workers of the step have this
    /// many (Vdbench `data_errors`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors_max: Option<u64>,
    /// Report tolerated errors as well (fio `error_dump`).
    #[serde(rename = "tell_tolerated", default)]
    pub report_tolerated: bool,
    /// A full file system or quota ends the job without an error (fio `fill_device`).
    #[serde(rename = "full_is_end", default)]
    pub stop_when_full: bool,
    /// An operation with a longer total latency counts as failed (fio `max_latency`).
    #[serde(default)]
    pub latency_ns_max: PerDirection<Option<Nanos>>,
    /// Record the number of trims and the first failure of each block (fio
    /// `block_error_percentiles`).
    // Omitted if false, so that plans without it are saved as before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block_lifetimes: bool,
}

/// How written data is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verify {
    /// How blocks are checked.
    pub method: VerifyMethod,
    /// Bytes between headers; 0 for one per block.
    #[serde(default)]
    pub interval: u32,
    /// Pattern to write, if the method has one.
    #[serde(default)]
    pub pattern: Vec<u8>,
    /// The positions in the pattern that hold the offset of the block, in eight bytes (fio `%o`).
    #[serde(default)]
    pub pattern_offsets: Vec<u32>,
    /// Bytes after which the pattern restarts, with the offset of that position; 0 for never (fio
    /// `verify_pattern_interval`).
    #[serde(default)]
    pub pattern_interval: u32,
    /// Read everything back after the write phase.
    pub after_writes: bool,
    /// Read back after every N writes; 0 for never.
    #[serde(default)]
    pub backlog: u64,
    /// Blocks of the backlog that are read back at a time; 0 for all.
    #[serde(default)]
    pub backlog_batch: u64,
    /// Accept blocks from another seed (fio `verify_header_seed=0`).
    #[serde(default)]
    pub any_seed: bool,
    /// Accept blocks written in another order (fio `verify_write_sequence=0`).
    #[serde(default)]
    pub any_order: bool,
    /// Save the state of the writes for a later check (fio `verify_state_save`).
    #[serde(default)]
    pub save_state: bool,
    /// Stop at the first mismatch.
    #[serde(default)]
    pub fatal: bool,
    /// Dump the expected and the received data.
    #[serde(default)]
    pub dump: bool,
    /// Replay the pattern and check, but write nothing.
    #[serde(default)]
    pub only: bool,
    /// Threads that check; 0: the worker itself.
    #[serde(default)]
    pub threads: u32,
    /// Processors of those threads; any if empty.
    #[serde(default)]
    pub processors: Vec<u32>,
    /// The position of the header in each interval; it is swapped with the data there (fio
    /// `verify_offset`).
    #[serde(default)]
    pub header_at: u32,
    /// Only check flushed data (fio `verify_policy=fsynced`).
    #[serde(default)]
    pub flushed_only: bool,
    /// Recompute the written data from the seed instead of storing it, unless the data depends on
    /// time (fio `experimental_verify`).
    #[serde(default)]
    pub work_out_again: bool,
    /// Check only as much as the state file recorded.
    #[serde(default)]
    pub load_state: bool,
    /// The state file to save or to load, without its directory.
    #[serde(default)]
    pub state_file: String,
    /// Directory of the state file and of dumps; the working directory if empty.
    #[serde(default)]
    pub directory: String,
    /// Written blocks that are discarded.
    #[serde(default)]
    pub trims: Option<TrimWritten>,
    /// Check every read of a block whose last write is known; there is no separate verify phase
    /// (Vdbench's data validation).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyBlocks>,
}

impl Verify {
    /// Verification by a method with all other features off.
    pub fn new(method: VerifyMethod) -> Verify {
        Verify {
            method,
            ..Verify::default()
        }
    }

    /// The path of the state file.
    pub fn state_path(&self) -> PathBuf {
        Path::new(&self.directory).join(&self.state_file)
    }
}

/// Checks of reads against a map that knows the last write of each key block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyBlocks {
    /// Bytes of a key block. Positions and lengths of all operations are multiples of it, except at
    /// the end of a file of a tree.
    pub length: u32,
    /// The file of the map, which an earlier run may have left and the next one uses.
    pub map: String,
    /// When the map is written to its file.
    #[serde(default)]
    pub journal: KeyJournal,
    /// Read and check a block whose last write is known before writing it.
    #[serde(default)]
    pub read_before_write: bool,
    /// Read and check every write immediately.
    #[serde(default)]
    pub read_after_write: bool,
    /// Skip reads of blocks whose last write is unknown.
    #[serde(default)]
    pub known_only: bool,
    /// Number of mismatches that ends the worker, counted together with the errors of all workers
    /// of the step.
    pub max_mismatches: u64,
}

/// When a map of key blocks is written to its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyJournal {
    /// When the worker ends.
    #[default]
    AtEnd,
    /// Before and after each write, so that it survives a killed process.
    EachWrite,
    /// Before and after each write, and flushed before writes are issued, so that the map survives
    /// a system crash.
    EachWriteFlushed,
}

/// Which of the written blocks are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrimWritten {
    /// Their share in percent.
    pub percent: u8,
    /// After every N blocks that await verification.
    pub backlog: u64,
    /// Number of blocks to verify at a time; 0 for the whole backlog.
    #[serde(default)]
    pub batch: u64,
    /// Discarded blocks must read as zeros; otherwise they are not read.
    #[serde(default)]
    pub read_as_zeros: bool,
}

/// How blocks are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyMethod {
    /// Header and MD5.
    Md5,
    /// Header and CRC-64.
    Crc64,
    /// Header and CRC-32.
    Crc32,
    /// Header and CRC-32C.
    Crc32c,
    /// Header and CRC-16.
    Crc16,
    /// Header and CRC-7.
    Crc7,
    /// Header and SHA-1.
    Sha1,
    /// Header and SHA-256.
    Sha256,
    /// Header and SHA-512.
    Sha512,
    /// Header and SHA3-224.
    Sha3_224,
    /// Header and SHA3-256.
    Sha3_256,
    /// Header and SHA3-384.
    Sha3_384,
    /// Header and SHA3-512.
    Sha3_512,
    /// Header and xxHash.
    Xxhash,
    /// Header only.
    Header,
    /// The pattern without a header.
    Pattern,
    /// The pattern after a header.
    PatternWithHeader,
    /// Reads back without checking.
    #[default]
    None,
}
