//! Traces of operations.

use super::row::*;
use super::special;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    text(second(940), field!(replay.write_iolog)).example("trace.log")
        .help("Write everything that is issued at the end of this file, as a trace (version 3).")
        .is(field_of_plan!(Text: job.trace)),
    text(second(950), field!(replay.read_iolog)).example("trace.log")
        .help("Carry out the operations of a trace: of fio (version 2 or 3) or of blktrace; with colons between several, clones take them in turn; `-` is standard input."),
    boolean(second(960), field!(replay.read_iolog_chunked)).default("0").example("1")
        .help("Read the trace in pieces.")
        .without_effect("a trace is always read in pieces, while it is carried out"),
    boolean(second(970), field!(replay.replay_no_stall)).default("0").example("1")
        .help("Take no notice of the times in the trace."),
    text(second(980), field!(replay.replay_redirect)).example("/dev/sdb")
        .help("Carry all operations out on this file or device."),
    int(second(990), field!(replay.replay_scale)).default("1").example("2").help("Divide offsets by this."),
    special(second(1000), "replay_align", special::replay_align).example("4096")
        .help("Round offsets down to multiples of this power of two."),
    int(second(1010), field!(replay.replay_time_scale)).least(1).default("100").example("200")
        .help("Speed in percent of that of the trace: 200 is twice as fast."),
    special(second(1020), "replay_skip", special::replay_skip).example("trim")
        .help("Kinds of operation to leave out: read, write, trim, sync, with commas between them."),
    refused(third(1030), "merge_blktrace_file", "text").example("merged.bin").help("File for merged traces."),
    refused(third(1040), "merge_blktrace_scalars", "float list").example("100:50")
        .help("Stretch of the times of each trace."),
    refused(third(1050), "merge_blktrace_iters", "float list").example("1:2").help("Repetitions of each trace."),
};
