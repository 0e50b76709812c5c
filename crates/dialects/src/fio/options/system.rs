//! Processors, priorities, limits.

use super::typed::CpuRange;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
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

choices! {
    /// How clones are assigned to processors.
    CpuPolicy at system.cpus_allowed_policy {
        #[default] Shared: "shared" "every clone on all of them";
        Split: "split" "each clone on one of them";
    }
}

/// Clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// `gettimeofday`: the wall clock.
    #[default]
    Gettimeofday,
    /// `clock_gettime`: the monotonic clock.
    ClockGettime,
    /// `cpu`: the CPU's cycle counter.
    Cpu,
}
