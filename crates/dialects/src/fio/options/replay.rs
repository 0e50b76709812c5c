//! Traces of operations.

use super::row::*;
use super::special;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Replay {
    pub write_iolog: Option<String>,
    pub read_iolog: Option<String>,
    pub read_iolog_chunked: bool,
    pub replay_no_stall: bool,
    pub replay_redirect: Option<String>,
    pub replay_scale: i64,
    pub replay_align: i64,
    pub replay_time_scale: i64,
    pub replay_skip: Vec<Skip>,
}

/// A kind of operation that a replay can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// `read`.
    Reads,
    /// `write`.
    Writes,
    /// `trim`.
    Trims,
    /// `sync`, which does not stand for `datasync`.
    Syncs,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    text(second(940), "write_iolog", |job| &mut job.replay.write_iolog)
        .help("Write everything that is issued at the end of this file, as a trace (version 3).")
        .example("trace.log"),
    text(second(950), "read_iolog", |job| &mut job.replay.read_iolog)
        .help("Carry out the operations of a trace: of fio (version 2 or 3) or of blktrace; with colons between several, clones take them in turn; `-` is standard input.")
        .example("trace.log"),
    boolean(second(960), "read_iolog_chunked", |job| &mut job.replay.read_iolog_chunked)
        .default("0")
        .without_effect("a trace is always read in pieces, while it is carried out")
        .help("Read the trace in pieces.")
        .example("1"),
    boolean(second(970), "replay_no_stall", |job| &mut job.replay.replay_no_stall)
        .default("0")
        .help("Take no notice of the times in the trace.")
        .example("1"),
    text(second(980), "replay_redirect", |job| &mut job.replay.replay_redirect)
        .help("Carry all operations out on this file or device.")
        .example("/dev/sdb"),
    int(second(990), "replay_scale", |job| &mut job.replay.replay_scale)
        .default("1")
        .help("Divide offsets by this.")
        .example("2"),
    special(second(1000), "replay_align", special::replay_align)
        .help("Round offsets down to multiples of this power of two.")
        .example("4096"),
    int(second(1010), "replay_time_scale", |job| &mut job.replay.replay_time_scale)
        .least(1)
        .default("100")
        .help("Speed in percent of that of the trace: 200 is twice as fast.")
        .example("200"),
    special(second(1020), "replay_skip", special::replay_skip)
        .help("Kinds of operation to leave out: read, write, trim, sync, with commas between them.")
        .example("trim"),
    refused(third(1030), "merge_blktrace_file", "text")
        .help("File for merged traces.")
        .example("merged.bin"),
    refused(third(1040), "merge_blktrace_scalars", "float list")
        .help("Stretch of the times of each trace.")
        .example("100:50"),
    refused(third(1050), "merge_blktrace_iters", "float list")
        .help("Repetitions of each trace.")
        .example("1:2"),
];
