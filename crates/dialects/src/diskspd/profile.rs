//! DiskSpd's data model: time spans of targets, with DiskSpd's terms and defaults. A command line
//! is a profile with one time span whose targets differ only in their paths; an XML profile can
//! express everything. The profile is what the user wrote; lowering gives it a meaning.

use super::newer::Newer;

/// A profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Operations of a thread between two progress dots; 0 for none (`-P`).
    pub progress: u32,
    /// Bit mask (`-:`).
    pub experiment_flags: u32,
    /// Form of the report (`-R`).
    pub result_format: ResultFormat,
    /// Verbose output (`-v`).
    pub verbose: bool,
    /// Wait statistics in the report (`-vs`).
    pub verbose_stats: bool,
    /// Which files are created before the first time span (XML only).
    pub precreate: Option<Precreate>,
    /// Event tracing (`-e`): stored, never performed.
    pub etw: Option<Etw>,
    /// The time spans, in order.
    pub time_spans: Vec<TimeSpan>,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultFormat {
    /// Tables.
    #[default]
    Text,
    /// XML.
    Xml,
}

/// Which files are created before the first time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precreate {
    /// All with a size, each with its largest size.
    UseMaxSize,
    /// Those that have the same size above zero everywhere.
    ConstantSizes,
    /// Those whose sizes agree, apart from missing ones.
    ConstantOrZeroSizes,
}

/// Events that DiskSpd traces on Windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Etw {
    /// `PROCESS`.
    pub process: bool,
    /// `THREAD`.
    pub thread: bool,
    /// `IMAGE_LOAD`.
    pub image_load: bool,
    /// `DISK_IO`.
    pub disk_io: bool,
    /// `MEMORY_PAGE_FAULTS`.
    pub memory_page_faults: bool,
    /// `MEMORY_HARD_FAULTS`.
    pub memory_hard_faults: bool,
    /// `NETWORK`.
    pub network: bool,
    /// `REGISTRY`.
    pub registry: bool,
    /// `-ep`.
    pub use_paged_memory: bool,
    /// `-eq`.
    pub use_perf_timer: bool,
    /// `-es`.
    pub use_system_timer: bool,
    /// `-ec`.
    pub use_cycles_counter: bool,
}

/// One test: warm-up, measured time, cool-down.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSpan {
    /// Measured seconds (`-d`).
    pub duration: u32,
    /// Seconds before that (`-W`).
    pub warm_up: u32,
    /// Seconds after it (`-C`).
    pub cool_down: u32,
    /// Seed of thread 0; thread i has this plus i (`-z`).
    pub seed: u32,
    /// Threads of the pool; 0: each target has its own (`-F`).
    pub threads: u32,
    /// Requests of each thread over all its targets; 0: each target has its own. Works only with
    /// `threads` (`-O`).
    pub requests: u32,
    /// New random data for each write (`-Zr`).
    pub random_write_data: bool,
    /// Threads are not bound to processors (`-n`).
    pub no_affinity: bool,
    /// Processors that threads are bound to in turn; empty: all active ones (`-a`).
    pub affinity: Vec<Processor>,
    /// Completion routines instead of a completion port (`-x`).
    pub completion_routines: bool,
    /// Values of DiskSpd 2.3.
    pub newer: Newer,
    /// Latency in the report (`-L`).
    pub latency: bool,
    /// Deviation of IOPS in the report (`-D`).
    pub iops_deviation: bool,
    /// Length of the intervals for that, in milliseconds.
    pub bucket_ms: u32,
    /// Files and devices.
    pub targets: Vec<Target>,
}

/// A processor as Windows numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Group of up to 64 processors.
    pub group: u16,
    /// Number in the group.
    pub number: u8,
}

/// A path and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// A file, `#<n>` for a drive, `<letter>:` for a volume, `*<n>` for a slot of a template, or on
    /// Linux a device.
    pub path: String,
    /// Bytes of an operation (`-b`).
    pub block: u32,
    /// First byte that is used (`-B`).
    pub base: u64,
    /// The end of the used area, exclusive; 0: the end of the target (`-f`, `-B…:len`).
    pub end: u64,
    /// The file is recreated with this size; 0 creates nothing (`-c`).
    pub file_size: Option<u64>,
    /// Alignment of random and stride of sequential operations; 0 stands for the block size
    /// (`-r<size>`, `-s<size>`).
    pub alignment: u64,
    /// The percentage of random operations: 0 sequential, 100 random, otherwise mixed (`-r`,
    /// `-rs`).
    pub random_percent: u8,
    /// Threads share one sequential position (`-si`).
    pub interlocked: bool,
    /// Requests walk on their own (`-p`).
    pub parallel: bool,
    /// Distance between the starts of threads (`-T`).
    pub thread_stride: u64,
    /// The distribution of random operations (`-rd`).
    pub distribution: Option<Distribution>,
    /// Requests of each thread (`-o`).
    pub requests: u32,
    /// Threads; used where the time span has no pool (`-t`).
    pub threads: u32,
    /// Writes in percent (`-w`).
    pub write_percent: u8,
    /// Software caches (`-S`).
    pub cache: Cache,
    /// Writes go through to the medium (`-Sw`).
    pub write_through: bool,
    /// Memory-mapped (`-Sm`).
    pub memory_mapped: bool,
    /// The flush after a write to the map (`-N`).
    pub flush: Option<FlushType>,
    /// Sequential-scan hint (`-fs`).
    pub sequential_scan: bool,
    /// Random-access hint (`-fr`).
    pub random_access: bool,
    /// Temporary-file hint (`-ft`).
    pub temporary_file: bool,
    /// Large pages for buffers (`-l`).
    pub large_pages: bool,
    /// Write buffers of zeros (`-Z`).
    pub zero_buffers: bool,
    /// Buffer that writes are taken from (`-Z<size>[,<file>]`).
    pub source: Option<Source>,
    /// Operations of a burst, over all threads (`-i`).
    pub burst: Option<u32>,
    /// Pause between bursts in milliseconds (`-j`).
    pub think_ms: Option<u32>,
    /// Limit of each thread; 0 for none (`-g`).
    pub throughput: u32,
    /// The unit of that limit.
    pub throughput_unit: ThroughputUnit,
    /// 1 very low, 2 low, 3 normal (`-I`).
    pub priority: u8,
    /// Share of the operations of a pool with common requests (XML only).
    pub weight: u32,
    /// Threads of the pool that use it; empty: all (XML only).
    pub thread_targets: Vec<ThreadTarget>,
}

/// A distribution of random operations: consecutive ranges from the start of the addressed area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Lengths are bytes instead of percent.
    pub absolute: bool,
    /// The ranges, with the tail that makes the shares add up to 100.
    pub ranges: Vec<Range>,
}

/// A range of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Share of the operations in percent; 0 makes a hole.
    pub io_percent: u32,
    /// Percent of the area, or bytes; 0 bytes reach to the end.
    pub length: u64,
}

/// Software caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// In use.
    #[default]
    Cached,
    /// The local cache of a remote file system is bypassed (`-Sr`).
    NoLocal,
    /// Bypassed (`-Su`).
    Unbuffered,
}

/// The flush after a write to a memory map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushType {
    /// `v`: the pages are written back.
    ViewOfFile,
    /// `n`: cache lines are written back and drained.
    NonVolatileMemory,
    /// `i`: cache lines are written back.
    NonVolatileMemoryNoDrain,
}

/// A buffer that writes are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its size in bytes.
    pub size: u64,
    /// The file it is read from; random data if absent.
    pub file: Option<String>,
}

/// What a throughput limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThroughputUnit {
    /// Bytes per millisecond.
    #[default]
    BytesPerMs,
    /// Operations per second.
    Iops,
}

/// A thread of the pool that uses a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTarget {
    /// Number of the thread.
    pub thread: u32,
    /// Weight of the target for this thread; 0: that of the target.
    pub weight: u32,
}

impl Default for TimeSpan {
    fn default() -> Self {
        TimeSpan {
            duration: 10,
            warm_up: 5,
            cool_down: 0,
            seed: 0,
            threads: 0,
            requests: 0,
            random_write_data: false,
            no_affinity: false,
            affinity: Vec::new(),
            completion_routines: false,
            newer: Newer::default(),
            latency: false,
            iops_deviation: false,
            bucket_ms: 1000,
            targets: Vec::new(),
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Target {
            path: String::new(),
            block: 64 << 10,
            base: 0,
            end: 0,
            file_size: None,
            alignment: 0,
            random_percent: 0,
            interlocked: false,
            parallel: false,
            thread_stride: 0,
            distribution: None,
            requests: 2,
            threads: 1,
            write_percent: 0,
            cache: Cache::Cached,
            write_through: false,
            memory_mapped: false,
            flush: None,
            sequential_scan: false,
            random_access: false,
            temporary_file: false,
            large_pages: false,
            zero_buffers: false,
            source: None,
            burst: None,
            think_ms: None,
            throughput: 0,
            throughput_unit: ThroughputUnit::BytesPerMs,
            priority: 3,
            weight: 1,
            thread_targets: Vec::new(),
        }
    }
}

impl Target {
    /// The alignment or stride in effect.
    pub fn step(&self) -> u64 {
        match self.alignment {
            0 => u64::from(self.block),
            step => step,
        }
    }

    /// The throughput limit as DiskSpd computes it, in 32 bits: a few small operations per second
    /// round to 0.
    pub fn bytes_per_ms(&self) -> u32 {
        match self.throughput_unit {
            ThroughputUnit::BytesPerMs => self.throughput,
            ThroughputUnit::Iops => self.throughput.wrapping_mul(self.block) / 1000,
        }
    }

    /// The number of the slot, if the path is one (`*<n>`, n ≥ 1, digits only).
    pub fn slot(&self) -> Option<u32> {
        let digits = self.path.strip_prefix('*')?;
        let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| all && *number > 0)
    }
}
