//! Options for the depth and the rate.

use model::plan::{DepthPer, Process};

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::values;

const LOAD: NativeOption = NativeOption {
    group: Group::Load,
    ..ROW
};

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "depth",
        value: "N",
        help: "Operations that each worker keeps in flight.",
        detail: "Default: 1. `depth-per` sets what this depth applies to.",
        example: "depth = 32",
        other_tools: "fio iodepth; DiskSpd -o",
        synonyms: &["qd", "queue_depth", "outstanding"],
        set: |job, text| assign(&mut job.depth, values::parse_count_u32(text, 1, 1 << 20).map(Some)),
        ..LOAD
    },
    NativeOption {
        name: "depth-per",
        value: "WHAT",
        help: "What the queue depth applies to: worker, target or job.",
        detail: "Default: worker, over all its targets. `target`: each target of each worker. `job`: divided among workers.",
        example: "depth-per = \"job\"",
        other_tools: "DiskSpd -o is per target, -O per worker",
        set: |job, text| {
            let words = [
                ("worker", DepthPer::Worker),
                ("target", DepthPer::Target),
                ("job", DepthPer::Job),
            ];
            assign(&mut job.depth_per, values::parse_keyword(text, &words))
        },
        ..LOAD
    },
    NativeOption {
        name: "workers",
        value: "N",
        help: "Threads that issue I/O.",
        detail: "Default: 1; `auto`: one for each processor that fathom may use.",
        example: "workers = 4",
        other_tools: "fio numjobs; DiskSpd -t, -F",
        synonyms: &["threads", "jobs"],
        set: |job, text| {
            job.workers = match text.trim() {
                "auto" => {
                    std::thread::available_parallelism().map_or(1, |processors| processors.get().min(4096) as u32)
                }
                text => values::parse_count(text, 1, 4096)
                    .map_err(|why| format!("{why}; the number of threads is 1 to 4096, or `auto`"))?
                    as u32,
            };
            Ok(())
        },
        ..LOAD
    },
    NativeOption {
        name: "rate",
        value: "RATE",
        help: "Operations or bytes per second of the whole job.",
        detail: "Default: as fast as possible. `4000` is operations, `100MiB/s` is bytes. The workers divide the total, and parts by \
        their shares. Latency is then measured from the time an operation was due; reports also show the service time.",
        example: "rate = \"4000 iops\"",
        other_tools: "fio rate, rate_iops (per job clone); DiskSpd -g (per thread and target)",
        synonyms: &["iops"],
        set: |job, text| assign(&mut job.rate, values::parse_rate(text).map(Some)),
        ..LOAD
    },
    NativeOption {
        name: "arrivals",
        value: "HOW",
        help: "How due times are spaced: even or poisson.",
        detail: "Default: even. `poisson` models independent users.",
        example: "arrivals = \"poisson\"",
        other_tools: "fio rate_process",
        set: |job, text| {
            let words = [("even", Process::Linear), ("poisson", Process::Poisson)];
            assign(&mut job.arrivals, values::parse_keyword(text, &words))
        },
        ..LOAD
    },
    NativeOption {
        name: "catch-up",
        value: "TIME",
        help: "Longest delay for which a paced job catches up.",
        detail: "Default: any delay. Operations not caught up count as late.",
        example: "catch-up = \"1s\"",
        set: |job, text| assign(&mut job.catch_up, values::parse_time(text).map(Some)),
        ..LOAD
    },
    NativeOption {
        name: "pause",
        value: "TIME",
        help: "Pause of a worker between bursts of operations.",
        detail: "Default: none. `pause-after` sets the operations per burst.",
        example: "pause = \"10ms\"",
        other_tools: "fio thinktime; DiskSpd -j",
        set: |job, text| assign(&mut job.pause, values::parse_time(text).map(Some)),
        ..LOAD
    },
    NativeOption {
        name: "pause-after",
        value: "N",
        help: "Operations of a worker between two pauses.",
        detail: "Default: 1.",
        example: "pause-after = 100",
        other_tools: "fio thinktime_blocks; DiskSpd -i",
        set: |job, text| assign(&mut job.pause_after, values::parse_count_u32(text, 1, u32::MAX)),
        ..LOAD
    },
];
