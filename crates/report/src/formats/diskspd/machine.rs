//! Processors as Windows numbers them (groups of 64, CPUs and cores from 0), and their load.

use std::collections::{BTreeMap, BTreeSet};

use model::environment::{CoreUse, Cpu, LogicalCpu};
use model::results::{Results, StepResults};

/// CPUs of a Windows processor group.
const GROUP: u32 = 64;

/// The processors of the first host.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuTopology {
    pub cpus: Vec<CpuPlace>,
}

/// A logical CPU: its group, core, node and socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuPlace {
    /// Number over the whole machine.
    cpu: u32,
    pub socket: u32,
    pub node: u32,
    pub group: u32,
    /// Core within the group.
    pub core: u32,
    pub efficiency_class: u8,
    /// Number within the group.
    pub number: u32,
}

/// Use of a CPU in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub usage: f64,
    pub user: f64,
    pub kernel: f64,
    pub idle: f64,
}

impl CpuTopology {
    pub(super) fn from_results(results: &Results) -> CpuTopology {
        let Some(host) = results.hosts.first() else {
            return CpuTopology::default();
        };
        // A system without topology may still count processor time.
        let counted = results.steps.iter().flat_map(cores_of_first_host).map(|core| core.cpu);
        CpuTopology {
            cpus: place_cpus(&host.environment.cpu, counted.collect()),
        }
    }

    /// Counts the distinct values of a property of the CPUs.
    pub(super) fn count<T: Ord>(&self, key: impl Fn(&CpuPlace) -> T) -> usize {
        self.cpus.iter().map(key).collect::<BTreeSet<T>>().len()
    }

    pub(super) fn cores(&self) -> usize {
        self.count(|place| (place.group, place.core))
    }

    /// True if a core has several hardware threads.
    pub(super) fn has_threads(&self) -> bool {
        self.cores() < self.cpus.len()
    }

    /// The class of the fastest cores; 0 if all are equal.
    pub(super) fn highest_class(&self) -> u8 {
        let classes = self.cpus.iter().map(|place| place.efficiency_class);
        classes.max().unwrap_or(0)
    }

    pub(super) fn is_heterogeneous(&self) -> bool {
        self.highest_class() > 0
    }

    /// The load of each CPU in a step. CPUs without counters are shown as idle, so that the table
    /// has all rows.
    pub(super) fn shares(&self, step: &StepResults) -> Vec<Shares> {
        let used: BTreeMap<u32, &CoreUse> = cores_of_first_host(step).map(|core| (core.cpu, core)).collect();
        let cpu_shares = |place: &CpuPlace| {
            used.get(&place.cpu)
                .map_or_else(Shares::idle, |core| Shares::from_use(core))
        };
        self.cpus.iter().map(cpu_shares).collect()
    }
}

fn cores_of_first_host(step: &StepResults) -> impl Iterator<Item = &CoreUse> {
    step.cores
        .iter()
        .filter(|entry| entry.host == 0)
        .map(|entry| &entry.core)
}

/// Numbers the CPUs. Without a topology each is a core of the same socket.
fn place_cpus(cpu: &Cpu, counted: BTreeSet<u32>) -> Vec<CpuPlace> {
    let single_cpu = |cpu: u32| LogicalCpu {
        cpu,
        core: cpu,
        ..LogicalCpu::default()
    };
    let mut listed: Vec<LogicalCpu> = match (cpu.topology.is_empty(), counted.is_empty()) {
        (false, _) => cpu.topology.clone(),
        (true, false) => counted.into_iter().map(single_cpu).collect(),
        (true, true) => (0..cpu.logical).map(single_cpu).collect(),
    };
    listed.sort_by_key(|cpu| cpu.cpu);
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let place = |listed: LogicalCpu| {
        let group = listed.cpu / GROUP;
        let group_cores = cores.entry(group).or_default();
        let core = group_cores
            .iter()
            .position(|core| *core == listed.core)
            .unwrap_or_else(|| {
                group_cores.push(listed.core);
                group_cores.len() - 1
            });
        CpuPlace {
            cpu: listed.cpu,
            socket: listed.socket,
            node: listed.node,
            group,
            core: core as u32,
            efficiency_class: listed.efficiency_class,
            number: listed.cpu % GROUP,
        }
    };
    listed.into_iter().map(place).collect()
}

impl Shares {
    fn idle() -> Shares {
        Shares {
            idle: 100.0,
            ..Shares::default()
        }
    }

    /// DiskSpd's arithmetic: kernel time includes idle time, as in Windows, and also interrupts and
    /// stolen time.
    fn from_use(core: &CoreUse) -> Shares {
        let idle = core.idle_ns.0 as f64;
        let kernel = (core.system_ns + core.interrupt_ns + core.stolen_ns).0 as f64 + idle;
        let user = core.user_ns.0 as f64;
        let total = kernel + user;
        if total <= 0.0 {
            return Shares::idle();
        }
        let (idle, user) = (100.0 * idle / total, 100.0 * user / total);
        let kernel = 100.0 * kernel / total - idle;
        Shares {
            usage: kernel + user,
            user,
            kernel,
            idle,
        }
    }

    /// The unweighted mean over CPUs.
    pub(super) fn average(shares: &[Shares]) -> Shares {
        let n = shares.len().max(1) as f64;
        let mean = |value: fn(&Shares) -> f64| shares.iter().map(value).sum::<f64>() / n;
        Shares {
            usage: mean(|shares| shares.usage),
            user: mean(|shares| shares.user),
            kernel: mean(|shares| shares.kernel),
            idle: mean(|shares| shares.idle),
        }
    }
}

/// A bit mask of CPUs for each group.
pub(super) fn group_masks<'a>(cpus: impl IntoIterator<Item = &'a CpuPlace>) -> BTreeMap<u32, u64> {
    let mut masks = BTreeMap::new();
    for place in cpus {
        *masks.entry(place.group).or_default() |= 1u64 << place.number;
    }
    masks
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use testbed::With;

    use super::*;

    #[test]
    fn groups_hold_64_processors_numbered_from_0() {
        let cpu = |cpu: u32| LogicalCpu {
            cpu,
            core: cpu / 2,
            socket: cpu / 64,
            node: cpu / 64,
            efficiency_class: 0,
        };
        let listed = Cpu {
            topology: (0..128).map(cpu).collect(),
            ..Cpu::default()
        };
        let places = place_cpus(&listed, BTreeSet::new());
        let last = places[127];
        assert_eq!((last.group, last.number, last.core, last.socket), (1, 63, 31, 1));
        let machine = CpuTopology { cpus: places };
        assert_eq!((machine.cores(), machine.count(|place| place.group)), (64, 2));
        assert!(machine.has_threads());
        assert_eq!(group_masks(&machine.cpus)[&1], u64::MAX);
    }

    #[test]
    fn without_a_topology_each_processor_is_a_core() {
        let listed = Cpu::default().with(|cpu| cpu.logical = 3);
        assert_eq!(place_cpus(&listed, BTreeSet::new()).len(), 3);
        let counted = place_cpus(&listed, BTreeSet::from([0, 2]));
        assert_eq!((counted.len(), counted[1].number, counted[1].core), (2, 2, 1));
    }

    #[test]
    fn interrupts_and_stolen_time_count_as_kernel_time() {
        let core = CoreUse {
            cpu: 0,
            user_ns: Nanos(20),
            system_ns: Nanos(10),
            interrupt_ns: Nanos(5),
            stolen_ns: Nanos(5),
            idle_ns: Nanos(60),
        };
        let shares = Shares::from_use(&core);
        let assert_near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
        assert_near(shares.user, 20.0);
        assert_near(shares.kernel, 20.0);
        assert_near(shares.usage, 40.0);
        assert_near(shares.idle, 60.0);
        assert_eq!(Shares::from_use(&CoreUse::default()), Shares::idle());
        assert_near(Shares::average(&[shares, Shares::idle()]).idle, 80.0);
        assert_eq!(Shares::average(&[]), Shares::default());
    }
}
