//! Traces of operations.

use super::{Row, boolean, int, refused, text};

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
    pub replay_skip: Option<String>,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    text("write_iolog", |job| &mut job.replay.write_iolog)
        .later()
        .help("Store the operations as a trace.")
        .example("trace.log"),
    text("read_iolog", |job| &mut job.replay.read_iolog)
        .later()
        .help("Carry out the operations of a trace.")
        .example("trace.log"),
    boolean("read_iolog_chunked", |job| &mut job.replay.read_iolog_chunked)
        .default("0")
        .later()
        .help("Read the trace in pieces.")
        .example("1"),
    boolean("replay_no_stall", |job| &mut job.replay.replay_no_stall)
        .default("0")
        .later()
        .help("Take no notice of the times in the trace.")
        .example("1"),
    text("replay_redirect", |job| &mut job.replay.replay_redirect)
        .later()
        .help("Carry all operations out on this device.")
        .example("/dev/sdb"),
    int("replay_scale", |job| &mut job.replay.replay_scale)
        .default("1")
        .later()
        .help("Divide offsets by this.")
        .example("2"),
    int("replay_align", |job| &mut job.replay.replay_align)
        .default("0")
        .later()
        .help("Align offsets to this.")
        .example("4k"),
    int("replay_time_scale", |job| &mut job.replay.replay_time_scale)
        .least(1)
        .default("100")
        .later()
        .help("Stretch times to this percentage.")
        .example("200"),
    text("replay_skip", |job| &mut job.replay.replay_skip)
        .later()
        .help("Kinds of operation to leave out.")
        .example("trim"),
    refused("merge_blktrace_file", "text")
        .help("File for merged traces.")
        .example("merged.bin"),
    refused("merge_blktrace_scalars", "float list")
        .help("Stretch of the times of each trace.")
        .example("100:50"),
    refused("merge_blktrace_iters", "float list")
        .help("Repetitions of each trace.")
        .example("1:2"),
];
