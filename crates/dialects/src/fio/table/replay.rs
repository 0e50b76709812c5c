//! Traces of operations.

use super::row::*;
use super::special;
use crate::fio::print;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    text(tier2(940), field!(replay.write_iolog)).example("trace.log")
        .help("Append all submitted operations to this trace file (version 3).")
        .plan_field(field_of_plan!(Text: job.trace))
        .effects(&[("--write_iolog=out", "job.trace=out")]),
    text(tier2(950), field!(replay.read_iolog)).example("trace.log")
        .help("Replay an fio trace (version 2 or 3) or a blktrace one; clones use several, separated by \
            colons, round-robin; `-` is standard input.")
        .prints(print::files::read_iolog)
        .effects(&[
            (
                "--read_iolog=trace",
                "plan.targets.*.path=[f,y]; stream.mix={mix:traced,reads:true,trims:false,writes:true}; \
                 stream.pattern.sizes.read={high:8192,low:512,sizes:range,unaligned:true}; \
                 stream.pattern.sizes.write={size:4096,sizes:fixed}; job.stop.passes=1; job.stop.bytes=null; \
                 target.prepare={prepare:existing}; plan.targets.1.prepare.size=0; \
                 plan.targets.1.prepare.may_create=true; \
                 stream.replay={align:0,files:[f,y],flushes:true,form:{form:fio_text},redirected:false,scale:1,\
                 skip:{flushes:false,reads:false,trims:false,writes:false},speed_percent:100,trace:trace,\
                 without_times:false}",
            ),
            // Clones use the traces round-robin.
            (
                "--numjobs=3 --read_iolog=trace:other",
                "job.workers.*.streams.*.replay.trace=[[trace],[other],[trace]]",
            ),
            (
                "--read_iolog=records --ioengine=libaio",
                "plan.targets.*.path=[dev]; stream.depth=2; stream.cache.direct=true; \
                 stream.replay.form={form:blktrace,swapped:false}; stream.replay.files=[8:16]",
            ),
            // Sizes and counts do not end a replay.
            (
                "--read_iolog=trace --size=1m --number_ios=5 --loops=3",
                "job.stop={after_ns:null,bytes:null,counts_all:true,operations:null,passes:1,region_percent:null,\
                 repeat_until_time:false,rounds:null}",
            ),
        ]),
    boolean(tier2(960), field!(replay.read_iolog_chunked)).default("0").example("1")
        .help("Read the trace in pieces.")
        .without_effect("a trace is always read in pieces, during the replay"),
    boolean(tier2(970), field!(replay.replay_no_stall)).default("0").example("1")
        .help("Ignore the times in the trace.")
        .prints(|section| print::on(section.stream().replay.as_ref()?.without_times))
        .effects(&[("--read_iolog=trace --replay_no_stall=1", "stream.replay.without_times=true")]),
    text(tier2(980), field!(replay.replay_redirect)).example("/dev/sdb")
        .help("Replay all operations on this file or device.")
        .prints(|section| Some(section.stream().replay.as_ref().filter(|replay| replay.redirected)?.files.join("")))
        .effects(&[
            (
                "--read_iolog=trace --replay_redirect=f",
                "plan.targets.*.path=[f]; stream.replay.redirected=true; stream.replay.files=[f]",
            ),
        ]),
    int(tier2(990), field!(replay.replay_scale)).default("1").example("2").help("Divide offsets by this number.")
        .prints(|section| print::non_default(section.stream().replay.as_ref()?.scale, 1))
        .effects(&[("--read_iolog=trace --replay_scale=2", "stream.replay.scale=2")]),
    special(tier2(1000), "replay_align", special::replay_align).example("4096")
        .help("Round down offsets to multiples of this power of two.")
        .prints(|section| print::non_default(section.stream().replay.as_ref()?.align, 0))
        .effects(&[("--read_iolog=trace --replay_align=4k", "stream.replay.align=4096")]),
    int(tier2(1010), field!(replay.replay_time_scale)).min(1).default("100").example("200")
        .help("Speed as a percentage of the recorded speed: 200 is twice as fast.")
        .prints(|section| print::non_default(section.stream().replay.as_ref()?.speed_percent, 100))
        .effects(&[("--read_iolog=trace --replay_time_scale=50", "stream.replay.speed_percent=50")]),
    special(tier2(1020), "replay_skip", special::replay_skip).example("trim")
        .help("Operations to skip: read, write, trim, sync, separated by commas.")
        .prints(print::files::replay_skip)
        .effects(&[
            (
                "--read_iolog=trace --replay_skip=write,sync",
                "stream.mix={mix:traced,reads:true,trims:false,writes:false}; stream.replay.flushes=false; \
                 stream.replay.skip={flushes:true,reads:false,trims:false,writes:true}",
            ),
            (
                "--read_iolog=trace --replay_skip=read,trim",
                "stream.replay.skip={flushes:false,reads:true,trims:true,writes:false}",
            ),
        ]),
    text(tier3(1030), field!(replay.merge_blktrace_file)).example("merged.bin")
        .help("Merge the blktrace files of read_iolog into this file, and replay it.")
        .effects(&[("--read_iolog=a:b --merge_blktrace_file=records", "stream.replay.trace=records")]),
    reals(tier3(1040), field!(replay.merge_blktrace_scalars)).example("100:50")
        .help("Duration of each trace in the merged one, in percent: 50 is twice as fast.")
        .without_effect("it applies to merging, before the plan exists"),
    reals(tier3(1050), field!(replay.merge_blktrace_iters)).example("1:2")
        .help("Repetitions of each trace in the merged one.")
        .without_effect("it applies to merging, before the plan exists"),
};
