//! Options for how I/O is issued.

use model::plan::{DividedSettings, ENGINES, EngineKind, WriteThrough};

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::values;

const SYSTEM: NativeOption = NativeOption {
    group: Group::System,
    ..ROW
};

#[derive(Clone, Copy)]
enum Cache {
    Direct,
    DirectThrough,
    Buffered,
    BufferedThrough,
    Mapped,
}

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "cache",
        value: "MODE",
        help: "Which caches operations pass through.",
        detail: "`direct` (default: bypassing the page cache), `direct-through` (and each write reaches stable storage), \
             `buffered` (through the page cache), `buffered-through`, `mapped` (a memory map).",
        example: "cache = \"buffered\"",
        other_tools: "fio direct, sync, ioengine=mmap; DiskSpd -Su, -Sh, -Sb, -Sw, -Sm",
        set: |job, text| {
            let words = [
                ("direct", Cache::Direct),
                ("direct-through", Cache::DirectThrough),
                ("buffered", Cache::Buffered),
                ("buffered-through", Cache::BufferedThrough),
                ("mapped", Cache::Mapped),
            ];
            let mode = values::parse_keyword(text, &words)?;
            job.direct = matches!(mode, Cache::Direct | Cache::DirectThrough);
            job.mapped = matches!(mode, Cache::Mapped);
            job.write_through = match mode {
                Cache::DirectThrough | Cache::BufferedThrough => WriteThrough::Data,
                _ => WriteThrough::Off,
            };
            Ok(())
        },
        ..SYSTEM
    },
    NativeOption {
        name: "engine",
        value: "NAME",
        help: "How operations reach the kernel.",
        detail: "`auto` (default: chooses by the target and states the reason in the result), {engines}.",
        example: "engine = \"io_uring\"",
        other_tools: "fio ioengine",
        set: |job, text| {
            let native = ENGINES.iter().filter(|engine| engine.native);
            let names: Vec<(&str, EngineKind)> = native.map(|engine| (engine.name, engine.kind)).collect();
            assign(&mut job.engine, values::parse_keyword(text, &names))
        },
        ..SYSTEM
    },
    NativeOption {
        name: "batch",
        value: "N",
        help: "Maximum operations per system call.",
        detail: "Default: 8. It is 1 if the target completes operations inside that call, because the latency would then \
        grow with the batch, and on Windows, where each operation takes one call.",
        example: "batch = 32",
        other_tools: "fio iodepth_batch",
        set: |job, text| assign(&mut job.batch, values::parse_count_u32(text, 1, 32_768).map(Some)),
        ..SYSTEM
    },
    NativeOption {
        name: "poll",
        help: "Busy-wait for completions in the driver.",
        detail: "Needs a device with poll queues. Uses a whole processor per worker.",
        example: "poll = true",
        other_tools: "fio hipri",
        set: |job, text| assign(&mut job.poll, values::parse_flag(text)),
        ..SYSTEM
    },
    NativeOption {
        name: "submission-thread",
        help: "A kernel thread picks up submissions (io_uring SQPOLL).",
        detail: "Doubles the CPU time; helps only if processors are idle.",
        example: "submission-thread = true",
        other_tools: "fio sqthread_poll",
        set: |job, text| assign(&mut job.submission_thread, values::parse_flag(text)),
        ..SYSTEM
    },
    NativeOption {
        name: "cpus",
        value: "LIST",
        help: "CPUs to which workers are bound, one each, round-robin.",
        detail: "Default: no binding.",
        example: "cpus = \"0,2-5\"",
        other_tools: "fio cpus_allowed; DiskSpd -a",
        set: |job, text| assign(&mut job.cpus, values::parse_cpus(text)),
        ..SYSTEM
    },
    NativeOption {
        name: "tolerate-errors",
        help: "Count input/output errors instead of ending the job.",
        detail: "Default: the first error ends it. A full file system always ends it.",
        example: "tolerate-errors = true",
        other_tools: "fio continue_on_error=io",
        set: |job, text| assign(&mut job.tolerate_errors, values::parse_flag(text)),
        ..SYSTEM
    },
    NativeOption {
        name: "for-hosts",
        value: "NAMES",
        help: "Hosts that run this job, by name or rank.",
        detail: "Default: all. This lets some hosts write while others read.",
        example: "for-hosts = \"0,1\"",
        other_tools: "",
        set: |job, text| {
            job.hosts = text.split(',').map(|name| name.trim().to_owned()).collect();
            if job.hosts.iter().any(String::is_empty) {
                return Err("must be names or numbers with commas between them".into());
            }
            Ok(())
        },
        ..SYSTEM
    },
    NativeOption {
        name: "divide",
        value: "WHAT",
        help: "What hosts divide among themselves: rate, depth, region.",
        detail: "Default: nothing, so each host runs the whole load of the job. `rate` and `depth` make these values \
        totals of all hosts; `region` gives each host its own part of every shared target.",
        example: "divide = \"rate,region\"",
        other_tools: "",
        set: |job, text| {
            job.divide = DividedSettings::default();
            for word in text.split(',').map(str::trim) {
                match word {
                    "rate" => job.divide.rate = true,
                    "depth" => job.divide.depth = true,
                    "region" => job.divide.region = true,
                    _ => {
                        return Err(format!(
                            "is rate, depth, region or several of them with commas between, not `{word}`"
                        ));
                    }
                }
            }
            Ok(())
        },
        ..SYSTEM
    },
    NativeOption {
        name: "log",
        value: "FILE",
        help: "Log every operation of the measured window as CSV.",
        detail: "Columns: completion time, worker, stream, operation, offset, length, bytes moved, schedule delay, \
        submission and total latency in nanoseconds, error number. Each line has about 60 bytes, so a fast disk \
        fills 1 GB in minutes. Workers wait if the log cannot keep up; the report says how often.",
        example: "log = \"operations.csv\"",
        other_tools: "fio write_lat_log",
        set: |job, text| {
            if text.is_empty() {
                return Err("must name a file".into());
            }
            job.log = Some(text.to_owned());
            Ok(())
        },
        ..SYSTEM
    },
];
