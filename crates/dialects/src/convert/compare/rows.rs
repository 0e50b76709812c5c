//! The table of comparisons: a row for every path of a serialised plan. A path begins with its part
//! of the plan: `job.stop.bytes`. A test requires a row for every path of the published schema, so
//! that a new field cannot be forgotten. A row that covers several fields compares the whole value,
//! or destructures it in `words` without `..`.

use model::Nanos;
use model::plan::{Control, Dialect};
use serde_json::Value as Json;

use super::parts::{self, compare_by_direction, equivalent_if, optional, text_if};
use super::{Pair, StreamContext};
use crate::convert::words;

/// A row of the table.
pub(super) struct Row {
    /// The paths that the row covers, with all paths below. The value at the first one is compared.
    pub(super) paths: &'static str,
    pub(super) names: Names,
    pub(super) impact: Impact,
    pub(super) check: Check,
}

/// The option's name in the native dialect, fio and DiskSpd; empty if absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names([&'static str; 3]);

/// How a difference affects the test.
#[derive(Clone, Copy)]
pub(super) enum Impact {
    /// The test changes.
    Lost,
    /// The test is the same; the other dialect expresses it in another way.
    Equivalent,
    /// A property of the dialect, not of the job, so it is reported once.
    DialectWide,
    /// Depends on both values.
    Computed(fn(&Pair<'_>) -> Impact),
}

/// How values are compared. An original value whose description is empty accepts any converted
/// value.
pub(super) enum Check {
    /// A text or a number.
    Text,
    /// A number; 0 means that the setting is absent.
    Positive,
    /// A number of bytes; 0 means that the setting is absent.
    Size,
    /// A time.
    Time,
    /// A flag, with its description if true.
    Flag(&'static str),
    /// A value, with a function that describes it.
    Value(fn(&Json) -> String),
    /// Describes a stream; the second argument is the original stream. Equal texts mean equal
    /// settings.
    Words(fn(&StreamContext<'_>, &StreamContext<'_>) -> String),
    /// Compares both streams, and describes a difference.
    Pair(fn(&Pair<'_>) -> Option<(String, String)>),
    /// Compared in [`super::compare`], for the whole plan.
    Whole,
    /// Not compared.
    Ignored,
}

use Check::{Flag, Ignored, Pair as Both, Positive, Size, Text, Time, Value, Whole, Words};
use Impact::{Computed, DialectWide, Equivalent, Lost};

impl Names {
    pub(super) fn in_dialect(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Native => self.0[0],
            Dialect::Fio => self.0[1],
            Dialect::Diskspd => self.0[2],
            Dialect::Iometer | Dialect::Vdbench => "",
        }
    }

    /// The name of the setting in messages about a test in this dialect: Vdbench's parameter, or
    /// the native option if no other name is known.
    pub(super) fn subject(self, dialect: Dialect) -> &'static str {
        let native = self.0[0];
        let parameter = VDBENCH_NAMES.iter().find(|(option, _)| *option == native);
        match (dialect, parameter) {
            (Dialect::Vdbench, Some((_, parameter))) => parameter,
            (Dialect::Vdbench | Dialect::Iometer, _) => native,
            _ => self.in_dialect(dialect),
        }
    }
}

impl Check {
    /// Describes a value.
    pub(super) fn describe(&self, value: &Json) -> String {
        match (self, value) {
            (Value(words), value) => words(value),
            (Flag(words), Json::Bool(true)) => (*words).to_owned(),
            (Text, value) => format_with_prefix(value, ""),
            (Positive, Json::Number(number)) if number.as_u64() != Some(0) => number.to_string(),
            (Size, Json::Number(bytes)) if bytes.as_u64() != Some(0) => {
                words::format_size(bytes.as_u64().unwrap_or(u64::MAX))
            }
            (Time, Json::Number(nanos)) => words::format_time(Nanos(nanos.as_u64().unwrap_or(u64::MAX))),
            _ => String::new(),
        }
    }
}

// Names of settings that the parent module compares.
pub(super) const SEED_OPTIONS: Names = Names(["seed", "randseed", "-z"]);
pub(super) const CAP_OPTIONS: Names = Names(["cap", "", ""]);
pub(super) const JOB_OPTIONS: Names = Names(["job", "section", "target"]);
pub(super) const STEP_OPTIONS: Names = Names(["step", "stonewall", "TimeSpan"]);

/// A text or a number with a prefix.
fn format_with_prefix(value: &Json, before: &str) -> String {
    match value {
        Json::String(text) if !(text.is_empty() && before.is_empty()) => format!("{before}{text}"),
        Json::Number(number) => format!("{before}{number}"),
        _ => String::new(),
    }
}

/// Native options with Vdbench's parameters.
const VDBENCH_NAMES: &[(&str, &str)] = &[
    ("depth", "threads"),
    ("time", "elapsed"),
    ("warm-up", "warmup"),
    ("block", "xfersize"),
    ("read, write, trim", "rdpct"),
    ("access", "seekpct"),
    ("rate", "iorate"),
    ("arrivals", "distribution"),
    ("share", "skew"),
    ("offset, size", "range, offset"),
    ("tolerate-errors", "data_errors"),
    ("job", "sd, wd"),
    ("step", "rd"),
    ("target", "lun"),
    ("cache", "openflags"),
];

/// No dialect has a name for it.
const NAMELESS: [&str; 3] = [""; 3];

/// One row per line: paths, names, impact and check.
macro_rules! rows {
    ($($paths:literal $names:tt => $impact:expr, $check:expr;)*) => {
        &[$(Row { paths: $paths, names: Names($names), impact: $impact, check: $check }),*]
    };
}

/// Rows that make up the load, with the option that replaces each.
pub(super) const LOAD: &[(&str, &str)] = &[
    ("stream.weight", ""),
    ("stream.region", ""),
    ("stream.mix", "read"),
    ("stream.pattern.access stream.pattern.access_of", ""),
    ("stream.pattern.sizes", "block"),
    ("stream.pacing", "rate"),
    ("stream.course", "rate"),
];

/// All rows, in the order in which differences are listed.
pub(super) const ROWS: &[Row] = rows! {
    // How results are shown.
    "plan.name plan.groups plan.grids job.name" NAMELESS => Equivalent, Ignored;
    // The original text does not belong to the test.
    "plan.origin" NAMELESS => Equivalent, Ignored;
    // The user gives permissions, in the way of each tool.
    "plan.target_rules" NAMELESS => Equivalent, Ignored;
    "plan.limits" ["cap", "", ""] => Lost, Whole;
    "plan.seed" ["seed", "randseed", "-z"] => Lost, Whole;
    "job.storage" ["path, role, replicas, hops", "", ""] => Lost, Words(|at, _| words::describe_storage(&at.job.storage));
    "job.prepare_only" ["", "create_only", ""] => Lost, Flag("it only creates its files");
    "job.ends_with_io" ["", "exit_on_io_done", ""] => Lost, Flag("it ends when all other I/O ends");
    "job.hosts" ["for-hosts", "", ""] => Lost, Words(|at, _| at.job.hosts.join(", "));
    "job.divide" ["divide", "", ""] => Lost, Words(|at, _| words::divided_resources(at.job.divide));
    "job.description" ["", "description", ""] => Equivalent, Text;
    "job.phases.start_delay" ["start-delay", "startdelay", ""] => Lost, Words(parts::describe_start_delay);
    "job.phases.warm_up_ns" ["warm-up", "ramp_time", "-W"] => Lost, Time;
    "job.phases.warm_up_bytes" ["", "ramp_size", ""] => Lost, Size;
    "job.phases.cool_down_ns" ["cool-down", "", "-C"] => Lost, Time;
    "job.stop.bytes job.stop.rounds job.stop.repeat_until_time" ["bytes", "io_size", ""] => Lost, Both(parts::compare_bytes);
    "job.stop.region_percent" ["bytes", "io_size", ""] => Lost, Both(parts::compare_region_percent);
    "job.stop.operations" ["operations", "number_ios", ""] => Lost, Both(parts::compare_operations);
    "job.stop.passes" ["passes", "loops", ""] => Lost, Both(parts::compare_passes);
    "job.stop.passes" ["operations, bytes, passes", "number_ios, io_size, loops", ""] => Lost, Both(parts::compare_total);
    "job.stop.rounds" ["passes", "loops, time_based", ""] => Lost, Both(parts::compare_rounds);
    "job.stop.counts_all" ["", "ramp_time", ""] => Lost, Words(parts::describe_counted_warm_up);
    "job.stop.after_ns" ["time", "runtime", "-d"] =>
        Lost, Words(|at, _| at.job.stop.after_ns.map_or("no time limit".into(), words::format_time));
    "job.after" ["after", "wait_for", ""] => Lost, Words(parts::describe_after);
    "job.ends_with.jobs job.ends_with.plan_always" ["", "exitall", ""] => Lost, Words(parts::describe_ends_jobs);
    "job.ends_with.workers" ["", "exitall", ""] => Lost, Words(|at, wanted| {
        let ends = at.job.ends_with.workers && wanted.job.workers.len() > 1;
        text_if(ends, "the first worker that ends stops the others")
    });
    "job.ends_with.on_failure job.ends_with.workers_on_failure job.ends_with.plan" ["", "exitall_on_error", ""] =>
        DialectWide, Words(parts::describe_failure);
    "job.control" ["until-precision", "", ""] =>
        Lost, Words(|at, _| parts::describe_control_rules(at, |rule| matches!(rule, Control::Precision(_))));
    "job.control" ["until-steady", "steadystate", ""] =>
        Lost, Words(|at, _| parts::describe_control_rules(at, |rule| matches!(rule, Control::SteadyState(_))));
    "job.control" ["latency-target", "latency_target", ""] =>
        Lost, Words(|at, _| parts::describe_control_rules(at, |rule| matches!(rule, Control::LatencyTarget(_))));
    "job.control" ["", "rate_min, rate_iops_min", ""] =>
        Lost, Words(|at, _| parts::describe_control_rules(at, |rule| matches!(rule, Control::MinimumRate(_))));
    "job.operation_log" ["log", "write_lat_log", ""] => Lost, Text;
    "job.scheduler" ["", "ioscheduler", ""] => Lost, Text;
    "job.trace" ["", "write_iolog", ""] => Lost, Text;
    "job.windows" ["log", "write_lat_log", ""] =>
        Lost, Words(|at, _| text_if(!at.job.windows.is_empty(), "latencies logged per window"));
    "worker.engine.poll_percent" ["poll", "hipri", ""] => Lost, Words(|at, _| {
        let percent = at.worker.engine.poll_percent;
        text_if(percent != 100, &format!("{percent} % of the operations are polled"))
    });
    "worker.engine.uncached" ["", "uncached", ""] => Lost, Flag("pages are dropped from the cache immediately");
    "worker.engine.no_wait" ["", "nowait", ""] => Lost, Flag("an operation that would block fails");
    "worker.engine.submission_cpu" ["submission-thread", "sqthread_poll", ""] =>
        Lost, Value(|cpu| format_with_prefix(cpu, "a kernel thread on CPU "));
    "worker.engine.huge_maps" ["", "thp", ""] => Lost, Flag("memory maps with huge pages");
    "worker.engine.look" ["", "stat_type", ""] =>
        Lost, Words(|at, _| format!("{:?}", at.worker.engine.lookup_call).to_lowercase());
    "worker.engine.work" ["", "cpumode", ""] => Lost, Words(parts::describe_cpu_work);
    "worker.engine.program" ["", "program", ""] =>
        Lost, Value(|program| format_with_prefix(&program["path"], "running "));
    // How calls refer to a buffer; every dialect leaves this to its engine.
    "worker.engine.registered" NAMELESS => Equivalent, Ignored;
    "worker.engine.kind" ["engine", "ioengine", "-o, -u"] => Computed(parts::engine_impact), Both(parts::compare_engine);
    "worker.engine.poll" ["poll", "hipri", ""] => Lost, Flag("polling in the driver");
    "worker.engine.submission_thread" ["submission-thread", "sqthread_poll", ""] =>
        Lost, Flag("a kernel thread that submits");
    "worker.engine.force_async_every" ["", "force_async", ""] => Lost, Positive;
    "worker.engine.atomic" ["", "atomic", ""] => Lost, Flag("atomic writes");
    "worker.engine.offload" ["", "io_submit_mode", ""] => Lost, Flag("a thread pool submits");
    "worker.depth stream.depth" ["depth", "iodepth", "-o, -O"] => Lost, Words(parts::describe_depth);
    "stream.weight" ["share", "", "Weight"] => Lost, Both(parts::compare_weights);
    "worker.batching.serialize_overlap" ["", "serialize_overlap", ""] =>
        Lost, Flag("overlapping operations wait for each other");
    "worker.batching.submit" ["batch", "iodepth_batch", ""] => Lost, Words(parts::describe_batch);
    "worker.batching.complete_min" ["", "iodepth_batch_complete", ""] => Lost, Text;
    "worker.batching.complete_max" ["", "iodepth_batch_complete", ""] => Lost, Text;
    "worker.batching.refill_below" ["", "iodepth_low", ""] => Lost, Text;
    "worker.batching.completion_routines" ["", "", "-x"] => Equivalent, Flag("completion routines");
    // A figure for the report.
    "worker.batching.count_waits" NAMELESS => Equivalent, Ignored;
    "worker.draws" NAMELESS => DialectWide, Both(parts::compare_random_generators);
    "worker.draws" ["seed", "randseed", "-z"] => Lost, Both(parts::compare_seeds);
    "worker.placement.cpus" ["cpus", "cpus_allowed", "-a, -n"] =>
        Computed(|pair| equivalent_if(pair.wanted.worker.placement.cpus.is_empty())), Words(parts::describe_cpus);
    // No dialect has it: it is set when several hosts execute a plan.
    "worker.placement.turn" NAMELESS => Equivalent, Ignored;
    "worker.placement.cpu_nodes" ["", "numa_cpu_nodes", ""] =>
        Lost, Words(|at, _| words::format_cpus(&at.worker.placement.cpu_nodes));
    "worker.placement.memory_nodes" ["", "numa_mem_policy", ""] =>
        Lost, Words(|at, _| optional(&at.worker.placement.memory_nodes, words::format_memory_nodes));
    "worker.placement.name" ["", "comm", ""] => Lost, Text;
    "worker.placement.nice" ["", "nice", ""] => Lost, Text;
    "worker.placement.user" ["", "uid", ""] => Lost, Text;
    "worker.placement.group" ["", "gid", ""] => Lost, Text;
    "worker.placement.control_group" ["", "cgroup, cgroup_weight, cgroup_nodelete", ""] =>
        Lost, Words(|at, _| optional(&at.worker.placement.control_group, words::describe_control_group));
    "worker.memory.pinned" ["", "lockmem", ""] => Lost, Size;
    "worker.memory.huge_pages" ["", "mem", "-l"] => Lost, Flag("huge pages");
    "worker.memory.huge_page" ["", "hugepage-size", ""] => Lost, Size;
    "worker.memory.alignment" ["", "iomem_align", ""] => Lost, Positive;
    "worker.latency" NAMELESS => DialectWide, Words(parts::describe_latency);
    "stream.target.target stream.target.targets target.path" ["target", "filename", "target"] =>
        Lost, Both(parts::compare_paths);
    "stream.target.open_at_once stream.target.service stream.target.operations"
        ["target", "nrfiles, file_service_type", "target"] => Lost, Both(parts::compare_file_choice);
    "target.kind" ["target", "filename", "target"] => Lost, Words(parts::describe_target_kind);
    "target.prepare.size" ["size", "size", "-c"] => Lost, Both(parts::compare_file_size);
    "target.prepare" ["target", "filename", "-c"] => DialectWide, Both(parts::compare_preparation);
    "plan.prepare plan.prepare_once step.prepare" ["target", "filename", "-c"] =>
        Lost, Both(parts::compare_recreation_per_step);
    "target.at_end" ["keep", "unlink", ""] => Lost, Both(parts::compare_file_removal);
    "stream.region" ["offset, size", "offset, size", "-B, -f"] => Lost, Both(parts::compare_region);
    "stream.mix" ["read, write, trim", "rw, rwmixwrite", "-w"] => Lost, Both(parts::compare_mix);
    "stream.mix.rule" ["read, write, trim", "rw, rwmixwrite", "-w"] => Equivalent, Both(parts::compare_runs);
    "stream.pattern.sizes_by_place" ["", "bs_is_seq_rand", ""] =>
        Lost, Flag("the block size depends on whether the position is random");
    "stream.pattern.access stream.pattern.access_of" ["access", "rw, random_distribution", "-r, -s, -T, -p"] =>
        Lost, Both(|pair| compare_by_direction(pair, words::describe_access));
    "stream.pattern.access" ["access", "rw, random_distribution", "-r, -s, -T, -p"] => Equivalent, Both(parts::compare_positions);
    "stream.pattern.sizes" ["block", "bs, bsrange, bssplit", "-b"] =>
        Lost, Both(|pair| {
            compare_by_direction(pair, |stream, direction| words::format_sizes(&stream.pattern.sizes[direction]))
        });
    "stream.pattern.alignment" ["align", "blockalign", "-r"] => Lost, Both(parts::compare_alignment);
    "stream.pattern.whole_blocks" ["block", "bs, bsrange, bssplit", "-b"] => Equivalent, Both(parts::compare_whole_blocks);
    "stream.content" ["content", "buffer_pattern, refill_buffers", "-Z"] =>
        Computed(parts::content_impact), Words(parts::describe_content);
    "stream.cache.direct" ["cache", "direct, sync", "-S"] =>
        Lost, Words(|at, _| format!("{} the page cache", if at.stream.cache.direct { "bypassing" } else { "through" }));
    "stream.cache.write_through" ["cache", "direct, sync", "-S"] =>
        Computed(parts::write_through_impact), Words(parts::describe_write_through);
    "stream.cache.local_only" ["cache", "direct, sync", "-S"] =>
        Lost, Flag("the server caches, the client does not");
    "stream.cache.bypass_io" ["", "", "-Sy, -SY"] => Lost, Text;
    "stream.cache.mapping" ["cache", "ioengine=mmap", "-Sm, -N"] =>
        Lost, Words(parts::describe_mapping);
    "stream.cache.drop_before" ["", "invalidate", ""] => Equivalent, Words(parts::describe_cache_drop);
    "stream.cache.fill_before" ["", "pre_read", ""] => Lost, Flag("files are read into the cache first");
    "stream.hint.sequential" ["", "fadvise_hint", "-fr, -fs, -ft"] =>
        Computed(parts::hint_impact), Flag("a hint of sequential access");
    "stream.hint.random" ["", "fadvise_hint", "-fr, -fs, -ft"] =>
        Computed(parts::hint_impact), Flag("a hint of random access");
    "stream.hint.temporary" ["", "fadvise_hint", "-fr, -fs, -ft"] =>
        Computed(parts::hint_impact), Flag("a hint of a temporary file");
    "stream.hint.no_reuse" ["", "fadvise_hint", "-fr, -fs, -ft"] =>
        Computed(parts::hint_impact), Flag("a hint of data that is used once");
    "stream.hint.write_lifetime" ["", "write_hint", ""] => Lost, Text;
    "stream.sync" ["flush-every, flush, flush-at-end", "fsync, fdatasync, end_fsync", ""] =>
        Lost, Words(|at, wanted| text_if(wanted.writes(), &words::describe_flushes(&at.stream.sync)));
    "stream.pacing" ["rate", "rate, rate_iops", "-g"] => Lost, Both(parts::compare_rate);
    "stream.pacing" ["rate", "rate, rate_iops", "-g"] => Equivalent, Both(parts::compare_schedules);
    "stream.pacing.rate.process stream.pacing.rates" ["arrivals", "rate_process", ""] => Lost, Both(parts::compare_arrivals);
    "stream.pacing.rate.catch_up" ["catch-up", "", ""] => Lost, Both(parts::compare_catch_up);
    "stream.course" NAMELESS => Lost, Words(|at, _| optional(&at.stream.rate_profile, |_| "a rate that varies".into()));
    "stream.think" ["pause, pause-after", "thinktime", "-i, -j"] => Lost, Words(|at, _| words::describe_pauses(at.stream.think));
    "stream.think.count" ["pause, pause-after", "thinktime", "-i, -j"] => Lost, Both(parts::compare_counted_pauses);
    "stream.priority" ["", "prioclass, prio", "-I"] => Lost, Words(|at, _| words::describe_priority(at.stream.priority));
    "stream.priorities" ["", "cmdprio_percentage, cmdprio_bssplit", ""] =>
        Lost, Words(|at, _| words::describe_priority_rules(&at.stream.priority_rules));
    "stream.lock" ["", "lockfile", ""] => Lost, Words(|at, _| words::describe_file_lock(at.stream.lock));
    "stream.flow" ["", "flow", ""] => Lost, Words(|at, _| optional(&at.stream.flow, words::describe_flow));
    "stream.files" ["mix, sequence, order", "", ""] => Lost, Words(|at, _| optional(&at.stream.files, words::describe_file_work));
    "stream.reopen_every" NAMELESS =>
        Lost, Words(|at, _| optional(&at.stream.reopen_every, |every| format!("reopened every {every} operations")));
    "stream.replay" ["", "read_iolog", ""] => Lost, Words(|at, _| optional(&at.stream.replay, words::replay));
    "stream.on_error.tolerate_read stream.on_error.tolerate_write stream.on_error.tolerate_verify \
     stream.on_error.errors_max"
        ["tolerate-errors", "continue_on_error, ignore_error", ""] =>
        Computed(parts::errors_impact), Words(|at, _| words::describe_errors(&at.stream.on_error));
    "stream.on_error.full_is_end" ["", "fill_device", ""] => Lost, Flag("a full file system ends \
        the job without an error");
    "stream.on_error.latency_ns_max" ["", "max_latency", ""] => Lost, Words(parts::describe_latency_max);
    // Only messages about errors.
    "stream.on_error.tell_tolerated stream.on_error.block_lifetimes" NAMELESS => Equivalent, Ignored;
    // The path of the state file follows from the job name.
    "stream.verify.state_file stream.verify.directory" NAMELESS => Equivalent, Ignored;
    "stream.verify" ["", "verify", ""] => Lost, Both(parts::compare_verify);
};
