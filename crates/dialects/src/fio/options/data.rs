//! What is written.

use super::row::*;
use super::special;
use super::typed::Piece;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Data {
    pub zero_buffers: bool,
    pub refill_buffers: bool,
    pub scramble_buffers: bool,
    pub buffer_pattern: Vec<Piece>,
    pub buffer_compress_percentage: i64,
    pub buffer_compress_chunk: i64,
    pub dedupe_percentage: i64,
    pub dedupe_mode: DedupeMode,
    pub dedupe_working_set_percentage: i64,
    pub dedupe_global: bool,
    pub trim_percentage: i64,
    pub trim_verify_zero: bool,
    pub trim_backlog: u64,
    pub trim_backlog_batch: i64,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    flag(first(2080), "zero_buffers", |job| &mut job.data.zero_buffers).help("Write zeros."),
    flag(first(2090), "refill_buffers", |job| &mut job.data.refill_buffers).help("New random data for every write."),
    boolean(first(2100), "scramble_buffers", |job| &mut job.data.scramble_buffers)
        .default("1")
        .help("Stamp position and time into every 512 bytes of repeated data.")
        .example("0"),
    special(first(2110), "buffer_pattern", special::buffer_pattern)
        .help("Repeat these bytes.")
        .example("0xdeadbeef"),
    int(first(2120), "buffer_compress_percentage", |job| {
        &mut job.data.buffer_compress_percentage
    })
    .least(0)
    .most(100)
    .default("0")
    .help("How far written data can be compressed, in percent.")
    .example("50"),
    int(second(2130), "buffer_compress_chunk", |job| {
        &mut job.data.buffer_compress_chunk
    })
    .default("512")
    .help("Bytes over which that holds.")
    .example("4k"),
    int(first(2140), "dedupe_percentage", |job| &mut job.data.dedupe_percentage)
        .least(0)
        .most(100)
        .default("0")
        .help("Share of buffers that repeat an earlier one, in percent.")
        .example("30"),
    word(second(2150), "dedupe_mode", DEDUPE_MODE_WORDS)
        .default("repeat")
        .help("Which earlier buffer is repeated.")
        .example("working_set"),
    int(second(2160), "dedupe_working_set_percentage", |job| {
        &mut job.data.dedupe_working_set_percentage
    })
    .least(0)
    .most(100)
    .default("5")
    .help("Size of the set that repeated buffers come from, in percent.")
    .example("10"),
    boolean(second(2170), "dedupe_global", |job| &mut job.data.dedupe_global)
        .default("0")
        .help("That set is shared by the jobs.")
        .example("1"),
    int(second(900), "trim_percentage", |job| &mut job.data.trim_percentage)
        .least(0)
        .most(100)
        .default("0")
        .help("Share of written blocks that are discarded again, in percent; needs verify and trim_backlog.")
        .example("10"),
    boolean(second(910), "trim_verify_zero", |job| &mut job.data.trim_verify_zero)
        .default("1")
        .help("Discarded blocks have to read as zeros.")
        .example("0"),
    size(second(920), "trim_backlog", |job| &mut job.data.trim_backlog)
        .default("0")
        .help("Discard such blocks whenever this many wait to be read back.")
        .example("100"),
    int(second(930), "trim_backlog_batch", |job| {
        &mut job.data.trim_backlog_batch
    })
    .default("0")
    .help("Blocks discarded at once.")
    .example("10"),
];

/// Which earlier buffer is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DedupeMode {
    /// `repeat`: the one before.
    #[default]
    Repeat,
    /// `working_set`: one of a set.
    WorkingSet,
}

const DEDUPE_MODE_WORDS: &[Word] = &[
    Word::new("repeat", "the one before", |job| {
        job.data.dedupe_mode = DedupeMode::Repeat
    }),
    Word::new("working_set", "one of a set", |job| {
        job.data.dedupe_mode = DedupeMode::WorkingSet
    }),
];
