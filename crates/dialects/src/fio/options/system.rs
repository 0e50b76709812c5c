//! Processors, priorities, limits.

use super::row::*;
use super::special;
use super::typed::CpuRange;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct System {
    pub clocksource: Option<ClockSource>,
    pub cpumask: Option<i64>,
    pub cpus_allowed: Vec<CpuRange>,
    pub cpus_allowed_policy: CpuPolicy,
    pub numa_cpu_nodes: Option<String>,
    pub numa_mem_policy: Option<String>,
    pub nice: i64,
    pub prio: Option<i64>,
    pub prioclass: Option<i64>,
    pub priohint: Option<i64>,
    pub uid: Option<i64>,
    pub gid: Option<i64>,
    pub gtod_cpu: Option<i64>,
    pub cgroup: Option<String>,
    pub cgroup_nodelete: bool,
    pub cgroup_weight: Option<i64>,
    pub num_range: i64,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    word(first(700), "clocksource", CLOCKSOURCE_WORDS)
        .without_effect("time always comes from one monotonic clock")
        .help("Accepted; time comes from one monotonic clock.")
        .example("clock_gettime"),
    optional_int(first(1680), "cpumask", |job| &mut job.system.cpumask)
        .help("Processors as the bits of a number.")
        .example("3"),
    special(first(1690), "cpus_allowed", special::cpus)
        .help("Processors as a list.")
        .example("0,2-5"),
    word(first(1700), "cpus_allowed_policy", CPUS_ALLOWED_POLICY_WORDS)
        .default("shared")
        .help("Clones share those processors, or have one each.")
        .example("split"),
    text(second(1710), "numa_cpu_nodes", |job| &mut job.system.numa_cpu_nodes)
        .help("NUMA nodes whose processors are used.")
        .example("0"),
    text(second(1720), "numa_mem_policy", |job| &mut job.system.numa_mem_policy)
        .help("NUMA nodes whose memory is used.")
        .example("bind:0"),
    int(first(1360), "nice", |job| &mut job.system.nice)
        .least(-20)
        .most(19)
        .default("0")
        .help("Nice value.")
        .example("5"),
    optional_int(second(1370), "prio", |job| &mut job.system.prio)
        .least(0)
        .most(7)
        .help("Priority of operations.")
        .example("4"),
    optional_int(second(1380), "prioclass", |job| &mut job.system.prioclass)
        .least(0)
        .most(3)
        .help("Class of that priority.")
        .example("2"),
    optional_int(second(1390), "priohint", |job| &mut job.system.priohint)
        .least(0)
        .most(1023)
        .help("Hint to go with the priority.")
        .example("1"),
    optional_int(second(2390), "uid", |job| &mut job.system.uid)
        .least(0)
        .most(u32::MAX as i64 - 1)
        .help("Number of the user that files are opened as.")
        .example("1000"),
    optional_int(second(2400), "gid", |job| &mut job.system.gid)
        .least(0)
        .most(u32::MAX as i64 - 1)
        .help("Number of the group that files are opened as.")
        .example("1000"),
    optional_int(second(2290), "gtod_cpu", |job| &mut job.system.gtod_cpu)
        .without_effect("reading the clock is no system call, so that no processor need be set apart for it")
        .help("Processor that keeps the time for all.")
        .example("0"),
    text(second(2340), "cgroup", |job| &mut job.system.cgroup)
        .help(
            "Control group for block I/O that clones run in, below the mount of control groups; it is made if need be.",
        )
        .example("fio"),
    boolean(second(2350), "cgroup_nodelete", |job| &mut job.system.cgroup_nodelete)
        .default("0")
        .help("Keep control groups that were made.")
        .example("1"),
    optional_int(second(2360), "cgroup_weight", |job| &mut job.system.cgroup_weight)
        .least(100)
        .most(1000)
        .help("Weight of the control group.")
        .example("500"),
    int(second(2370), "num_range", |job| &mut job.system.num_range)
        .most(256)
        .default("1")
        .help("Ranges that one trim names: no engine here takes more than one.")
        .example("4"),
    refused(third(2380), "gpu_dev_id", "int")
        .default("0")
        .help("Which GPU.")
        .example("0"),
];

/// Clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// `gettimeofday`: the wall clock.
    #[default]
    Gettimeofday,
    /// `clock_gettime`: the monotonic clock.
    ClockGettime,
    /// `cpu`: the counter of the processor.
    Cpu,
}

const CLOCKSOURCE_WORDS: &[Word] = &[
    Word::new("gettimeofday", "the wall clock", |job| {
        job.system.clocksource = Some(ClockSource::Gettimeofday)
    }),
    Word::new("clock_gettime", "the monotonic clock", |job| {
        job.system.clocksource = Some(ClockSource::ClockGettime)
    }),
    Word::new("cpu", "the counter of the processor", |job| {
        job.system.clocksource = Some(ClockSource::Cpu)
    }),
];

/// Who runs on which of the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuPolicy {
    /// `shared`: all on all.
    #[default]
    Shared,
    /// `split`: each on one.
    Split,
}

const CPUS_ALLOWED_POLICY_WORDS: &[Word] = &[
    Word::new("shared", "all on all", |job| {
        job.system.cpus_allowed_policy = CpuPolicy::Shared
    }),
    Word::new("split", "each on one", |job| {
        job.system.cpus_allowed_policy = CpuPolicy::Split
    }),
];
