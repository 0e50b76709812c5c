//! Options for the operations themselves.

use model::plan::FlushKind;

use super::{NativeOption, ROW};
use crate::assign;
use crate::native::values;

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "access",
        value: "PATTERN",
        help: "Where operations go: random, sequential, and others.",
        detail: "`random` (default), `sequential` (several workers divide the target), `random-once` (each block once per \
             pass), `hot:90/10` (90 % of the operations to 10 % of the target), `zipf:1.1`, `pareto:0.2`, `normal:10`, \
             `mixed:60` (60 % random jumps, sequential runs between them).",
        example: "access = \"sequential\"",
        other_tools: "fio rw, random_distribution, percentage_random; DiskSpd -r, -s, -rs, -rd",
        synonyms: &["pattern", "readwrite"],
        of_part: true,
        set: |job, text| assign(&mut job.part.access, values::parse_access(text)),
        ..ROW
    },
    NativeOption {
        name: "read",
        value: "PERCENT",
        help: "Share of reads; the rest are writes.",
        detail: "Default: 100. 0 writes only.",
        example: "read = 70",
        other_tools: "fio rwmixread; DiskSpd 100 - -w",
        of_part: true,
        set: |job, text| assign(&mut job.part.read_percent, values::parse_percent(text)),
        ..ROW
    },
    NativeOption {
        name: "write",
        value: "PERCENT",
        help: "Share of writes; the rest are reads.",
        detail: "The opposite of `read`: `write = 30` equals `read = 70`.",
        example: "write = 30",
        other_tools: "fio rwmixwrite; DiskSpd -w",
        of_part: true,
        set: |job, text| {
            job.part.read_percent = 100.0 - values::parse_percent(text)?;
            Ok(())
        },
        ..ROW
    },
    NativeOption {
        name: "trim",
        help: "Trim instead of reading or writing.",
        detail: "Discards the blocks of a device, or punches holes into a file.",
        example: "trim = true",
        other_tools: "fio rw=randtrim",
        of_part: true,
        set: |job, text| assign(&mut job.part.trim, values::parse_flag(text)),
        ..ROW
    },
    NativeOption {
        name: "exact-mix",
        help: "Keep the share of reads exactly, not only on average.",
        detail: "At any time, the share is exact to within one operation.",
        example: "exact-mix = true",
        of_part: true,
        set: |job, text| assign(&mut job.part.exact_mix, values::parse_flag(text)),
        ..ROW
    },
    NativeOption {
        name: "block",
        value: "SIZE",
        help: "Bytes per operation.",
        detail: "Default: 4KiB. A range `4KiB-64KiB` draws multiples of the first; `4KiB/60,64KiB/40` gives each length \
        a share in percent.",
        example: "block = \"8KiB\"",
        other_tools: "fio bs, bsrange, bssplit; DiskSpd -b",
        synonyms: &["block_size", "blocksize"],
        of_part: true,
        set: |job, text| assign(&mut job.part.sizes, values::parse_block_sizes(text)),
        ..ROW
    },
    NativeOption {
        name: "align",
        value: "SIZE",
        help: "Alignment of positions; for sequential access, the stride.",
        detail: "Default: the block size.",
        example: "align = \"64KiB\"",
        other_tools: "fio blockalign; DiskSpd -r<size>, -s<size>",
        of_part: true,
        set: |job, text| assign(&mut job.part.alignment, values::parse_block(text).map(Some)),
        ..ROW
    },
    NativeOption {
        name: "content",
        value: "KIND",
        help: "What writes contain.",
        detail: "`random` (default: new for each write, so that nothing can be compressed or deduplicated), `once` \
        (random, but repeated), `zeros`, `counting`, `compressible:PERCENT`, `duplicated:PERCENT`.",
        example: "content = \"compressible:50\"",
        other_tools: "fio refill_buffers, zero_buffers, buffer_compress_percentage, dedupe_percentage; DiskSpd -Z, -Zr",
        of_part: true,
        set: |job, text| assign(&mut job.part.content, values::parse_content(text)),
        ..ROW
    },
    NativeOption {
        name: "flush-every",
        value: "WRITES",
        help: "Flush after this many writes of a worker.",
        detail: "Default: never. Flushes are timed and counted separately.",
        example: "flush-every = 1",
        other_tools: "fio fsync, fdatasync",
        set: |job, text| assign(&mut job.flush_every, values::parse_count_u32(text, 0, u32::MAX)),
        ..ROW
    },
    NativeOption {
        name: "flush",
        value: "KIND",
        help: "Which flush is used: data (fdatasync) or full (fsync).",
        detail: "Default: data.",
        example: "flush = \"full\"",
        other_tools: "fio fsync, fdatasync",
        set: |job, text| {
            let words = [("data", FlushKind::Data), ("full", FlushKind::Full)];
            assign(&mut job.flush_kind, values::parse_keyword(text, &words))
        },
        ..ROW
    },
    NativeOption {
        name: "flush-at-end",
        help: "Flush once after the job, outside the measured window.",
        detail: "Default: no.",
        example: "flush-at-end = true",
        other_tools: "fio end_fsync",
        set: |job, text| assign(&mut job.flush_at_end, values::parse_flag(text)),
        ..ROW
    },
];
