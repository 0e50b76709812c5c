//! What is written.

use super::row::*;
use super::special;
use crate::fio::lower::data as lower;
use crate::fio::options::data;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    flag(first(2080), field!(data.zero_buffers)).help("Write zeros."),
    flag(first(2090), field!(data.refill_buffers)).help("New random data for every write."),
    boolean(first(2100), field!(data.scramble_buffers)).default("1").example("0")
        .help("Stamp position and time into every 512 bytes of repeated data."),
    special(first(2110), "buffer_pattern", special::buffer_pattern).example("0xdeadbeef").help("Repeat these bytes.")
        .means(lower::contents),
    int(first(2120), field!(data.buffer_compress_percentage)).least(0).most(100).default("0").example("50")
        .help("How far written data can be compressed, in percent."),
    int(second(2130), field!(data.buffer_compress_chunk)).default("512").example("4k")
        .help("Bytes over which that holds."),
    int(first(2140), field!(data.dedupe_percentage)).least(0).most(100).default("0").example("30")
        .help("Share of buffers that repeat an earlier one, in percent."),
    word(second(2150), "dedupe_mode", data::DedupeMode::WORDS).default("repeat").example("working_set")
        .help("Which earlier buffer is repeated."),
    int(second(2160), field!(data.dedupe_working_set_percentage)).least(0).most(100).default("5").example("10")
        .help("Size of the set that repeated buffers come from, in percent."),
    boolean(second(2170), field!(data.dedupe_global)).default("0").example("1")
        .help("That set is shared by the jobs."),
    int(second(900), field!(data.trim_percentage)).least(0).most(100).default("0").example("10")
        .help("Share of written blocks that are discarded again, in percent; needs verify and trim_backlog."),
    boolean(second(910), field!(data.trim_verify_zero)).default("1").example("0")
        .help("Discarded blocks have to read as zeros."),
    size(second(920), field!(data.trim_backlog)).default("0").example("100")
        .help("Discard such blocks whenever this many wait to be read back."),
    int(second(930), field!(data.trim_backlog_batch)).default("0").example("10").help("Blocks discarded at once."),
};
