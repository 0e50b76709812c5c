//! What the parts of a plan are called in each dialect, so that what is lost is told in the words it was written in.

use model::plan::Dialect;

/// A part of a plan with its names. Empty where a dialect has none: then the description has to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    native: &'static str,
    fio: &'static str,
    diskspd: &'static str,
}

const fn field(native: &'static str, fio: &'static str, diskspd: &'static str) -> Field {
    Field { native, fio, diskspd }
}

impl Field {
    pub(super) fn name(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Native => self.native,
            Dialect::Fio => self.fio,
            Dialect::Diskspd => self.diskspd,
        }
    }
}

pub(super) fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Native => "native",
        Dialect::Fio => "fio",
        Dialect::Diskspd => "DiskSpd",
    }
}

pub(super) const SEED: Field = field("seed", "randseed", "-z");
pub(super) const DRAWS: Field = field("", "", "");
pub(super) const LATENCY: Field = field("", "", "");
pub(super) const STRUCTURE: Field = field("job", "section", "target");
pub(super) const STEPS: Field = field("step", "stonewall", "TimeSpan");
pub(super) const TARGET: Field = field("target", "filename", "target");
pub(super) const FILES: Field = field("target", "nrfiles, file_service_type", "target");
pub(super) const FILE_SIZE: Field = field("size", "size", "-c");
pub(super) const PREPARE: Field = field("target", "filename", "-c");
pub(super) const AT_END: Field = field("keep", "unlink", "");
pub(super) const REGION: Field = field("offset, size", "offset, size", "-B, -f");
pub(super) const MIX: Field = field("read, write, trim", "rw, rwmixwrite", "-w");
pub(super) const ACCESS: Field = field("access", "rw, random_distribution", "-r, -s, -T, -p");
pub(super) const SIZES: Field = field("block", "bs, bsrange, bssplit", "-b");
pub(super) const ALIGNMENT: Field = field("align", "blockalign", "-r");
pub(super) const CONTENT: Field = field("content", "buffer_pattern, refill_buffers", "-Z");
pub(super) const CACHE: Field = field("cache", "direct, sync", "-S");
pub(super) const MAPPED: Field = field("cache", "ioengine=mmap", "-Sm, -N");
pub(super) const DROP_BEFORE: Field = field("", "invalidate", "");
pub(super) const FILL_BEFORE: Field = field("", "pre_read", "");
pub(super) const HINT: Field = field("", "fadvise_hint", "-fr, -fs, -ft");
pub(super) const LIFETIME: Field = field("", "write_hint", "");
pub(super) const FLUSH: Field = field("flush-every, flush, flush-at-end", "fsync, fdatasync, end_fsync", "");
pub(super) const RATE: Field = field("rate", "rate, rate_iops", "-g");
pub(super) const ARRIVALS: Field = field("arrivals", "rate_process", "");
pub(super) const CATCH_UP: Field = field("catch-up", "", "");
pub(super) const PAUSE: Field = field("pause, pause-after", "thinktime", "-i, -j");
pub(super) const DEPTH: Field = field("depth", "iodepth", "-o, -O");
pub(super) const WEIGHT: Field = field("share", "", "Weight");
pub(super) const PRIORITY: Field = field("", "prioclass, prio", "-I");
pub(super) const PRIORITIES: Field = field("", "cmdprio_percentage, cmdprio_bssplit", "");
pub(super) const FILE_LOCK: Field = field("", "lockfile", "");
pub(super) const FLOW: Field = field("", "flow", "");
pub(super) const REPLAY: Field = field("", "read_iolog", "");
pub(super) const TRACE: Field = field("", "write_iolog", "");
pub(super) const ERRORS: Field = field("tolerate-errors", "continue_on_error, ignore_error", "");
pub(super) const FULL: Field = field("", "fill_device", "");
pub(super) const MAX_LATENCY: Field = field("", "max_latency", "");
pub(super) const VERIFY: Field = field("", "verify", "");
pub(super) const ENGINE: Field = field("engine", "ioengine", "-o, -u");
pub(super) const POLL: Field = field("poll", "hipri", "");
pub(super) const SUBMISSION_THREAD: Field = field("submission-thread", "sqthread_poll", "");
pub(super) const FORCE_ASYNC: Field = field("", "force_async", "");
pub(super) const ATOMIC: Field = field("", "atomic", "");
pub(super) const OFFLOAD: Field = field("", "io_submit_mode", "");
pub(super) const BATCH: Field = field("batch", "iodepth_batch", "");
pub(super) const BATCH_COMPLETE: Field = field("", "iodepth_batch_complete", "");
pub(super) const REFILL: Field = field("", "iodepth_low", "");
pub(super) const ROUTINES: Field = field("", "", "-x");
pub(super) const CPUS: Field = field("cpus", "cpus_allowed", "-a, -n");
pub(super) const MEMORY_NODE: Field = field("", "numa_mem_policy", "");
pub(super) const NICE: Field = field("", "nice", "");
pub(super) const CPU_NODES: Field = field("", "numa_cpu_nodes", "");
pub(super) const THREAD_NAME: Field = field("", "comm", "");
pub(super) const PINNED: Field = field("", "lockmem", "");
pub(super) const UNCACHED: Field = field("", "uncached", "");
pub(super) const NO_WAIT: Field = field("", "nowait", "");
pub(super) const HUGE_MAPS: Field = field("", "thp", "");
pub(super) const LOOK: Field = field("", "stat_type", "");
pub(super) const WORK: Field = field("", "cpumode", "");
pub(super) const PROGRAM: Field = field("", "program", "");
pub(super) const HOSTS: Field = field("for-hosts", "", "");
pub(super) const DIVIDE: Field = field("divide", "", "");
pub(super) const STORAGE: Field = field("path, role, replicas, hops", "", "");
pub(super) const LIMITS: Field = field("cap", "", "");
pub(super) const ENDS_WITH_IO: Field = field("", "exit_on_io_done", "");
pub(super) const SIZES_BY_PLACE: Field = field("", "bs_is_seq_rand", "");
pub(super) const OVERLAP: Field = field("", "serialize_overlap", "");
pub(super) const PREPARE_ONLY: Field = field("", "create_only", "");
pub(super) const USER: Field = field("", "uid", "");
pub(super) const GROUP: Field = field("", "gid", "");
pub(super) const CONTROL_GROUP: Field = field("", "cgroup, cgroup_weight, cgroup_nodelete", "");
pub(super) const SCHEDULER: Field = field("", "ioscheduler", "");
pub(super) const HUGE_PAGE: Field = field("", "hugepage-size", "");
pub(super) const HUGE_PAGES: Field = field("", "mem", "-l");
pub(super) const BUFFER_ALIGNMENT: Field = field("", "iomem_align", "");
pub(super) const START_DELAY: Field = field("start-delay", "startdelay", "");
pub(super) const WARM_UP: Field = field("warm-up", "ramp_time", "-W");
pub(super) const WARM_UP_BYTES: Field = field("", "ramp_size", "");
pub(super) const COOL_DOWN: Field = field("cool-down", "", "-C");
pub(super) const TIME: Field = field("time", "runtime", "-d");
pub(super) const BYTES: Field = field("bytes", "io_size", "");
pub(super) const OPERATIONS: Field = field("operations", "number_ios", "");
pub(super) const PASSES: Field = field("passes", "loops", "");
pub(super) const AFTER: Field = field("after", "wait_for", "");
pub(super) const ENDS_OTHERS: Field = field("", "exitall", "");
pub(super) const ON_FAILURE: Field = field("", "exitall_on_error", "");
pub(super) const UNTIL_PRECISION: Field = field("until-precision", "", "");
pub(super) const UNTIL_STEADY: Field = field("until-steady", "steadystate", "");
pub(super) const LATENCY_TARGET: Field = field("latency-target", "latency_target", "");
pub(super) const MINIMUM_RATE: Field = field("", "rate_min, rate_iops_min", "");
pub(super) const OPERATION_LOG: Field = field("log", "write_lat_log", "");
pub(super) const DESCRIPTION: Field = field("", "description", "");
