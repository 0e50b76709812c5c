//! Structured option values.

/// A range of numbers, in the order written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First number, as written.
    pub low: u64,
    /// The second; the same as the first if there was only one.
    pub high: u64,
}

/// A time in microseconds, or a range from which one is drawn.
pub type Delay = Range;

/// A block size and its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Bytes.
    pub bytes: u64,
    /// Its share in percent; blank shares are filled in.
    pub percent: u64,
}

/// An I/O priority for operations of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrioritySplit {
    /// Bytes.
    pub bytes: u64,
    /// Share of these operations, in percent.
    pub percent: u64,
    /// Class, level and hint; absent: from the `cmdprio*` options.
    pub priority: Option<(u64, u64, u64)>,
}

/// The name of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogName {
    /// The name of the job.
    OfJob,
    /// This one.
    Named(String),
}

/// Processors from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuRange {
    /// Lowest CPU number.
    pub first: u32,
    /// Highest CPU number, included.
    pub last: u32,
}

/// A piece of a pattern of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The contents of a file.
    File(String),
    /// The offset of the block, in eight bytes.
    Offset,
}

/// `sync_file_range`: its flags and the number of writes between calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncFileRange {
    /// Wait for writes in progress before.
    pub wait_before: bool,
    /// Start writing dirty pages.
    pub write: bool,
    /// Wait for these writes.
    pub wait_after: bool,
    /// Writes between two calls; 0 for never.
    pub every: i64,
}

/// The distribution of random offsets over a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Evenly.
    #[default]
    Even,
    /// By a Zipf law.
    Zipf {
        /// Exponent of the law.
        theta: f64,
        /// The position of the most frequent block, from 0 to 1.
        center: Option<f64>,
    },
    /// By a Pareto law.
    Pareto {
        /// Parameter of the law.
        h: f64,
        /// The position of the most frequent block, from 0 to 1.
        center: Option<f64>,
    },
    /// By a normal law.
    Normal {
        /// Standard deviation in percent.
        deviation: f64,
        /// The middle, from 0 to 1.
        center: Option<f64>,
    },
    /// Shares of accesses for parts of the file in percent, for reads, writes, trims.
    Zoned(model::PerDirection<Vec<Zone>>),
    /// The same with parts in bytes.
    ZonedAbsolute(model::PerDirection<Vec<Zone>>),
    /// These blocks, cyclically.
    Sequence(Vec<u64>),
}

/// A part of a file and its share of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Percent of the accesses.
    pub access: u64,
    /// Size: percent of the file, or bytes.
    pub size: u64,
}
