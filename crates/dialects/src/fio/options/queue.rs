//! How operations are handed to the system.

use super::row::*;
use super::special;
use super::typed::SyncFileRange;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Queue {
    pub ioengine: String,
    pub iodepth: i64,
    pub iodepth_batch: i64,
    pub iodepth_batch_complete_min: i64,
    pub iodepth_batch_complete_max: i64,
    pub iodepth_low: i64,
    pub serialize_overlap: bool,
    pub io_submit_mode: SubmitMode,
    pub direct: bool,
    pub buffered: bool,
    pub atomic: bool,
    pub sync: Sync,
    pub fsync: i64,
    pub fdatasync: i64,
    pub sync_file_range: SyncFileRange,
    pub write_barrier: i64,
    pub end_fsync: bool,
    pub end_syncfs: bool,
    pub fsync_on_close: bool,
    pub write_hint: WriteHint,
    pub mem: Memory,
    pub iomem_align: i64,
    pub hugepage_size: i64,
    pub lockmem: u64,
    pub ioscheduler: Option<String>,
    pub mem_path: Option<String>,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    special(first(230), "ioengine", special::engine)
        .default("psync")
        .help("How operations are carried out.")
        .example("libaio"),
    int(first(240), "iodepth", |job| &mut job.queue.iodepth)
        .least(1)
        .default("1")
        .help("Operations that each clone keeps in flight.")
        .example("32"),
    int(first(250), "iodepth_batch", |job| &mut job.queue.iodepth_batch)
        .aliases(&["iodepth_batch_submit"])
        .default("1")
        .help("Operations handed over at once; 0 for all of iodepth.")
        .example("8"),
    int(first(260), "iodepth_batch_complete_min", |job| {
        &mut job.queue.iodepth_batch_complete_min
    })
    .least(0)
    .aliases(&["iodepth_batch_complete"])
    .default("1")
    .help("Completions to wait for at least; 0 asks without waiting.")
    .example("4"),
    int(first(270), "iodepth_batch_complete_max", |job| {
        &mut job.queue.iodepth_batch_complete_max
    })
    .least(0)
    .default("0")
    .help("Completions to take at most.")
    .example("16"),
    int(first(280), "iodepth_low", |job| &mut job.queue.iodepth_low)
        .default("0")
        .help("Depth to fall to before the queue is filled again.")
        .example("16"),
    boolean(second(290), "serialize_overlap", |job| &mut job.queue.serialize_overlap)
        .default("0")
        .help("Hold back an operation that overlaps one in flight.")
        .example("1"),
    word(first(300), "io_submit_mode", IO_SUBMIT_MODE_WORDS)
        .default("inline")
        .help("Which thread hands operations over.")
        .example("offload"),
    boolean(first(550), "direct", |job| &mut job.queue.direct)
        .default("0")
        .then(|job| job.queue.buffered = !job.queue.direct)
        .help("Pass the page cache by (O_DIRECT).")
        .example("1"),
    boolean(first(570), "buffered", |job| &mut job.queue.buffered)
        .default("1")
        .then(|job| job.queue.direct = !job.queue.buffered)
        .help("Use the page cache; the opposite of direct.")
        .example("0"),
    boolean(first(560), "atomic", |job| &mut job.queue.atomic)
        .default("0")
        .help("Write without tearing (RWF_ATOMIC); needs direct.")
        .example("1"),
    word(first(1590), "sync", SYNC_WORDS)
        .default("none")
        .help("Each write waits until it is durable.")
        .example("dsync"),
    int(first(510), "fsync", |job| &mut job.queue.fsync)
        .default("0")
        .help("fsync after this many writes; 0 for never.")
        .example("32"),
    int(first(520), "fdatasync", |job| &mut job.queue.fdatasync)
        .default("0")
        .help("fdatasync after this many writes; 0 for never.")
        .example("1"),
    special(first(540), "sync_file_range", special::sync_file_range)
        .help("sync_file_range with these flags after a number of writes.")
        .example("write:8"),
    int(second(530), "write_barrier", |job| &mut job.queue.write_barrier)
        .default("0")
        .without_effect("no engine here knows barriers")
        .help("Mark every n-th write as a barrier.")
        .example("8"),
    boolean(first(1730), "end_fsync", |job| &mut job.queue.end_fsync)
        .default("0")
        .help("Flush all files at the end of the writes.")
        .example("1"),
    boolean(second(1740), "end_syncfs", |job| &mut job.queue.end_syncfs)
        .default("0")
        .help("Flush the whole file system at the end of the writes.")
        .example("1"),
    boolean(first(1750), "fsync_on_close", |job| &mut job.queue.fsync_on_close)
        .default("0")
        .help("Flush a file whenever it is closed.")
        .example("1"),
    word(first(1600), "write_hint", WRITE_HINT_WORDS)
        .default("none")
        .help("What the system is told about the life of written data.")
        .example("short"),
    word(first(710), "mem", MEM_WORDS)
        .tail(special::memory)
        .aliases(&["iomem"])
        .default("malloc")
        .help("Where buffers come from.")
        .example("mmap"),
    int(first(720), "iomem_align", |job| &mut job.queue.iomem_align)
        .least(0)
        .aliases(&["mem_align"])
        .default("0")
        .help("Alignment of buffers beyond that of a page.")
        .example("4k"),
    int(second(2430), "hugepage-size", |job| &mut job.queue.hugepage_size)
        .default("2m")
        .help("Memory of huge pages is taken in multiples of this; the pages are of the system's usual size.")
        .example("2m"),
    size(first(1320), "lockmem", |job| &mut job.queue.lockmem)
        .default("0")
        .help("Memory to pin, so that less is left for caches.")
        .example("1g"),
    text(second(1090), "ioscheduler", |job| &mut job.queue.ioscheduler)
        .help("I/O scheduler for the device under the files, as long as the run lasts.")
        .example("none"),
];

/// Which thread hands operations over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmitMode {
    /// `inline`: the job itself.
    #[default]
    Inline,
    /// `offload`: one of a pool.
    Offload,
}

const IO_SUBMIT_MODE_WORDS: &[Word] = &[
    Word::new("inline", "the job itself", |job| {
        job.queue.io_submit_mode = SubmitMode::Inline
    }),
    Word::new("offload", "one of a pool", |job| {
        job.queue.io_submit_mode = SubmitMode::Offload
    }),
];

/// What each write waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// `none`: nothing.
    #[default]
    None,
    /// `sync`: data and metadata.
    Sync,
    /// `dsync`: data.
    DataSync,
}

const SYNC_WORDS: &[Word] = &[
    Word::new("none", "nothing", |job| job.queue.sync = Sync::None),
    Word::new("0", "as none", |job| job.queue.sync = Sync::None),
    Word::new("sync", "data and metadata", |job| job.queue.sync = Sync::Sync),
    Word::new("1", "as sync", |job| job.queue.sync = Sync::Sync),
    Word::new("dsync", "data", |job| job.queue.sync = Sync::DataSync),
];

/// How long written data is expected to live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteHint {
    /// `none`: nothing is said.
    #[default]
    None,
    /// `short`: short.
    Short,
    /// `medium`: medium.
    Medium,
    /// `long`: long.
    Long,
    /// `extreme`: longest.
    Extreme,
}

const WRITE_HINT_WORDS: &[Word] = &[
    Word::new("none", "nothing is said", |job| job.queue.write_hint = WriteHint::None),
    Word::new("short", "short", |job| job.queue.write_hint = WriteHint::Short),
    Word::new("medium", "medium", |job| job.queue.write_hint = WriteHint::Medium),
    Word::new("long", "long", |job| job.queue.write_hint = WriteHint::Long),
    Word::new("extreme", "longest", |job| job.queue.write_hint = WriteHint::Extreme),
];

/// Where buffers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// `malloc`: the allocator.
    #[default]
    Malloc,
    /// `shm`: shared memory.
    Shm,
    /// `shmhuge`: shared memory in huge pages.
    ShmHuge,
    /// `mmap`: a private mapping.
    Mmap,
    /// `mmapshared`: a shared mapping.
    MmapShared,
    /// `mmaphuge`: a mapping of huge pages.
    MmapHuge,
    /// `cudamalloc`: a GPU.
    CudaMalloc,
}

const MEM_WORDS: &[Word] = &[
    Word::new("malloc", "the allocator", |job| job.queue.mem = Memory::Malloc),
    Word::new("shm", "shared memory", |job| job.queue.mem = Memory::Shm),
    Word::new("shmhuge", "shared memory in huge pages", |job| {
        job.queue.mem = Memory::ShmHuge
    }),
    Word::new("mmap", "a private mapping", |job| job.queue.mem = Memory::Mmap),
    Word::new("mmapshared", "a shared mapping", |job| {
        job.queue.mem = Memory::MmapShared
    }),
    Word::new("mmaphuge", "a mapping of huge pages", |job| {
        job.queue.mem = Memory::MmapHuge
    }),
    Word::new("cudamalloc", "a GPU", |job| job.queue.mem = Memory::CudaMalloc),
];
