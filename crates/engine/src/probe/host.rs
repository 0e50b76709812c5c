//! The machine and its processors.

use std::io::Read;
use std::sync::OnceLock;

use model::environment::{Cpu, Host, LogicalCpu};

use super::System;
use super::cloud::read_dmi;
use super::environment::deepest_idle;
use crate::sys;

/// Facts about the machine. The live machine is read once, at the first call.
pub fn host(system: &System) -> Host {
    static LIVE: OnceLock<Host> = OnceLock::new();
    match system.is_live() {
        true => LIVE.get_or_init(|| read_host(system)).clone(),
        false => read_host(system),
    }
}

fn read_host(system: &System) -> Host {
    if let Some(reported) = system.is_live().then(sys::native_facts::host).flatten() {
        return reported;
    }
    let from_environment = || std::env::var("COMPUTERNAME").unwrap_or_default();
    let cloud = super::cloud::cloud(system);
    // CPUID is more precise than the firmware, which names the cloud.
    let by_processor = system.is_live().then(sys::hypervisor::hypervisor).flatten();
    Host {
        name: system
            .read_trimmed("/proc/sys/kernel/hostname")
            .unwrap_or_else(from_environment),
        system: release(system).unwrap_or_else(|| std::env::consts::OS.to_owned()),
        kernel: system.read_trimmed("/proc/sys/kernel/osrelease").unwrap_or_default(),
        architecture: std::env::consts::ARCH.to_owned(),
        boot_id: system.read_trimmed("/proc/sys/kernel/random/boot_id"),
        hypervisor: by_processor
            .filter(|name| *name != "unknown")
            .map(str::to_owned)
            .or_else(|| detect_hypervisor(system)),
        cloud: cloud.map(|cloud| cloud.name().to_owned()),
        machine_type: super::cloud::machine_type(system),
    }
}

fn release(system: &System) -> Option<String> {
    let text = system
        .read_text("/etc/os-release")
        .or_else(|| system.read_text("/usr/lib/os-release"))?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let name = value("PRETTY_NAME").or_else(|| value("NAME"))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// Firmware vendors or products of virtual machines, and the hypervisor's common name.
const HYPERVISORS: [(&str, &str); 18] = [
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("Tencent Cloud", "Tencent Cloud"),
    ("DigitalOcean", "DigitalOcean"),
    ("Hetzner", "Hetzner Cloud"),
    ("Scaleway", "Scaleway"),
    ("OpenStack", "OpenStack"),
    ("Nutanix", "Nutanix AHV"),
    ("Parallels", "Parallels"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation", "Hyper-V"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
];

/// The hypervisor, if any. On x86 a CPU flag decides: the same firmware vendors also make
/// bare-metal machines.
fn detect_hypervisor(system: &System) -> Option<String> {
    let block = first_processor(system);
    let flags = field(&block, "flags");
    let virtual_processor = flags.map(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let xen = system.read_trimmed("/sys/hypervisor/type");
    if virtual_processor == Some(false) && xen.is_none() {
        return None;
    }
    let firmware = format!(
        "{} {}",
        read_dmi(system, "sys_vendor"),
        read_dmi(system, "product_name")
    );
    let hypervisor = HYPERVISORS.iter().find(|(word, _)| firmware.contains(word));
    // Without the flag (Arm), the vendor proves nothing if it also sells hardware.
    let sells_hardware = ["Microsoft Corporation", "Google", "Amazon EC2"].map(str::to_owned);
    let sure = virtual_processor == Some(true) || !sells_hardware.iter().any(|word| firmware.starts_with(word));
    match hypervisor {
        Some((_, name)) if sure => Some((*name).to_owned()),
        _ => xen.or_else(|| (virtual_processor == Some(true)).then(|| "unknown".to_owned())),
    }
}

/// Facts about the processors.
pub fn cpu(system: &System) -> Cpu {
    if let Some(reported) = system.is_live().then(sys::native_facts::cpu).flatten() {
        return reported;
    }
    let block = first_processor(system);
    let model = field(&block, "model name").or_else(|| field(&block, "cpu model"));
    let list = |path: &str| system.read_trimmed(path).map(|list| parse_cpu_list(&list));
    let (online, nodes) = (
        list("/sys/devices/system/cpu/online"),
        list("/sys/devices/system/node/online"),
    );
    let usable = sys::thread::usable_cpus().len() as u32;
    let known_to_std = || std::thread::available_parallelism().map_or(0, |count| count.get() as u32);
    Cpu {
        model: model
            .or_else(|| field(&block, "cpu"))
            .map(str::to_owned)
            .or_else(|| arm_core(&block))
            .unwrap_or_default(),
        logical: online.as_ref().map_or_else(known_to_std, |list| list.len() as u32),
        usable: if usable > 0 { usable } else { known_to_std() },
        numa_nodes: nodes.as_ref().map_or(1, |list| list.len() as u32),
        governor: system.read_trimmed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        topology: read_logical_cpus(system, &online.unwrap_or_default(), &nodes.unwrap_or_default()),
        deepest_idle: deepest_idle(system),
    }
}

/// Topology of the online CPUs. The kernel numbers cores per socket and with gaps, so they are
/// renumbered.
fn read_logical_cpus(system: &System, online: &[u32], nodes: &[u32]) -> Vec<LogicalCpu> {
    let cpus_of = |node: u32| system.read_trimmed(&format!("/sys/devices/system/node/node{node}/cpulist"));
    let nodes: Vec<(u32, Vec<u32>)> = nodes
        .iter()
        .map(|node| {
            (
                *node,
                cpus_of(*node).map(|list| parse_cpu_list(&list)).unwrap_or_default(),
            )
        })
        .collect();
    let (mut cores, mut sockets) = (Vec::new(), Vec::new());
    let capacities = read_capacities(system, online);
    let mut classes = capacities.clone();
    classes.sort_unstable();
    classes.dedup();
    let place = |(cpu, capacity): (u32, u32)| {
        let read_topology = |what: &str| -> Option<u32> {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{what}");
            system.read_trimmed(&path)?.parse().ok()
        };
        let socket = read_topology("physical_package_id").unwrap_or(0);
        // A CPU whose core is unknown counts as a core of its own.
        let core = (socket, read_topology("core_id").unwrap_or(cpu));
        LogicalCpu {
            cpu,
            core: find_or_push(&mut cores, core),
            socket: find_or_push(&mut sockets, socket),
            node: nodes
                .iter()
                .find(|(_, cpus)| cpus.contains(&cpu))
                .map_or(0, |(node, _)| *node),
            efficiency_class: classes.iter().position(|class| *class == capacity).unwrap_or(0) as u8,
        }
    };
    online.iter().copied().zip(capacities).map(place).collect()
}

/// Returns the index of an item in the list, appending a new item.
fn find_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let number = list.iter().position(|other| *other == item).unwrap_or(list.len());
    if number == list.len() {
        list.push(item);
    }
    number as u32
}

/// Relative speed of each CPU: `cpu_capacity`, or the list of fast cores on x86 hybrids. All
/// numbers are equal if the CPUs do not differ.
fn read_capacities(system: &System, online: &[u32]) -> Vec<u32> {
    let capacity = |cpu: &u32| system.read_trimmed(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"));
    if online.first().and_then(capacity).is_some() {
        let capacities = online.iter().map(|cpu| capacity(cpu)?.parse().ok());
        return capacities.map(Option::unwrap_or_default).collect();
    }
    let fast = system.read_trimmed("/sys/devices/cpu_core/cpus");
    let fast = fast.map(|list| parse_cpu_list(&list)).unwrap_or_default();
    online.iter().map(|cpu| u32::from(fast.contains(cpu))).collect()
}

/// Parses a list of numbers such as `0-3,8`.
pub(crate) fn parse_cpu_list(list: &str) -> Vec<u32> {
    let parse_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => first..last.saturating_add(1),
            _ => 0..0,
        }
    };
    list.trim().split(',').flat_map(parse_range).collect()
}

/// Reads the lines of `/proc/cpuinfo` about the first processor. The whole file takes milliseconds
/// on a machine with 128 processors, because the kernel queries the frequency of each.
fn first_processor(system: &System) -> String {
    let Ok(mut file) = system.open("/proc/cpuinfo") else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let mut piece = [0u8; 4096];
    while bytes.len() < 16 * piece.len() && !bytes.windows(2).any(|pair| pair == b"\n\n") {
        match file.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    text.split("\n\n").next().unwrap_or_default().to_owned()
}

/// ARM vendors and cores by their numbers in MIDR_EL1, for servers and similar machines.
const ARM_CORES: [(u32, u32, &str); 26] = [
    (0x41, 0xd03, "Arm Cortex-A53"),
    (0x41, 0xd05, "Arm Cortex-A55"),
    (0x41, 0xd07, "Arm Cortex-A57"),
    (0x41, 0xd08, "Arm Cortex-A72"),
    (0x41, 0xd09, "Arm Cortex-A73"),
    (0x41, 0xd0a, "Arm Cortex-A75"),
    (0x41, 0xd0b, "Arm Cortex-A76"),
    (0x41, 0xd0c, "Arm Neoverse-N1"),
    (0x41, 0xd40, "Arm Neoverse-V1"),
    (0x41, 0xd41, "Arm Cortex-A78"),
    (0x41, 0xd42, "Arm Cortex-A78AE"),
    (0x41, 0xd49, "Arm Neoverse-N2"),
    (0x41, 0xd4a, "Arm Neoverse-E1"),
    (0x41, 0xd4f, "Arm Neoverse-V2"),
    (0x41, 0xd84, "Arm Neoverse-V3"),
    (0x41, 0xd8e, "Arm Neoverse-N3"),
    (0x42, 0x516, "Broadcom ThunderX2"),
    (0x43, 0x0a1, "Cavium ThunderX"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x46, 0x001, "Fujitsu A64FX"),
    (0x48, 0xd01, "HiSilicon TaiShan v110"),
    (0x4e, 0x004, "NVIDIA Carmel"),
    (0x51, 0xc00, "Qualcomm Falkor"),
    (0x6d, 0xd49, "Microsoft Azure Cobalt 100"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1A"),
];

/// The name of an ARM core, for which the kernel reports only numbers.
fn arm_core(block: &str) -> Option<String> {
    let number = |name: &str| u32::from_str_radix(field(block, name)?.strip_prefix("0x")?, 16).ok();
    let (maker, part) = (number("CPU implementer")?, number("CPU part")?);
    let core = ARM_CORES
        .iter()
        .find(|(core_maker, core, _)| (*core_maker, *core) == (maker, part));
    Some(core.map_or_else(
        || format!("ARM implementer {maker:#04x}, part {part:#05x}"),
        |(_, _, name)| (*name).to_owned(),
    ))
}

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn cpu_lists_are_parsed() {
        for (list, count) in [("0", 1), ("0-3", 4), ("0-3,8,10-11", 7), ("", 0), ("x", 0), ("3-1", 0)] {
            assert_eq!(parse_cpu_list(list).len(), count, "{list}");
        }
    }

    #[test]
    fn the_hypervisor_is_named_by_flag_and_firmware() {
        let flagged = "processor\t: 0\nmodel name\t: Model\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\n";
        let bare = "processor\t: 0\nmodel name\t: Model\nflags\t\t: fpu sse\n\n";
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\n\n";
        for (cpuinfo, vendor, product, expected) in [
            (flagged, "QEMU", "Standard PC (Q35 + ICH9, 2009)", Some("QEMU")),
            (flagged, "Microsoft Corporation", "Virtual Machine\n", Some("Hyper-V")),
            (flagged, "Amazon EC2", "m5.large", Some("Amazon EC2")),
            (bare, "Amazon EC2", "m5.metal", None),
            (bare, "Microsoft Corporation", "Surface Laptop", None),
            (flagged, "", "", Some("unknown")),
            (arm, "QEMU", "KVM Virtual Machine", Some("QEMU")),
            (arm, "Ampere(R)", "Mt. Jade", None),
        ] {
            let (_root, system) = tree(&[
                ("proc/cpuinfo", cpuinfo),
                ("sys/class/dmi/id/sys_vendor", vendor),
                ("sys/class/dmi/id/product_name", product),
            ]);
            assert_eq!(detect_hypervisor(&system).as_deref(), expected, "{vendor} {product}");
        }
    }

    #[test]
    fn only_the_first_processor_is_read() {
        let mut text = String::from("processor\t: 0\nmodel name\t: First\n\n");
        text.push_str(&"processor\t: 1\nmodel name\t: Second\n\n".repeat(5000));
        let (_root, system) = tree(&[
            ("proc/cpuinfo", &text),
            ("sys/devices/system/cpu/online", "0-127\n"),
            ("sys/devices/system/node/online", "0-1\n"),
        ]);
        assert!(first_processor(&system).len() < 8192);
        let cpu = cpu(&system);
        assert_eq!((cpu.model.as_str(), cpu.logical, cpu.numa_nodes), ("First", 128, 2));
    }

    #[test]
    fn an_arm_core_is_named_by_its_numbers() {
        let text = |maker: &str, part: &str| {
            format!(
                "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd cpuid\nCPU implementer\t: {maker}\nCPU architecture: 8\n\
                 CPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: 1\n\nprocessor\t: 1\n"
            )
        };
        for (cpuinfo, expected) in [
            (text("0x41", "0xd0c"), "Arm Neoverse-N1"),
            (text("0x6d", "0xd49"), "Microsoft Azure Cobalt 100"),
            (text("0x61", "0x022"), "ARM implementer 0x61, part 0x022"),
            ("processor\t: 0\n".to_owned(), ""),
        ] {
            let (_root, system) = tree(&[("proc/cpuinfo", &cpuinfo)]);
            assert_eq!(cpu(&system).model, expected);
        }
    }

    #[test]
    fn threads_of_a_core_are_distinguished_from_cores() {
        let mut files = vec![
            ("sys/devices/system/cpu/online".to_owned(), "0-3,6".to_owned()),
            ("sys/devices/system/node/online".to_owned(), "0-1".to_owned()),
            ("sys/devices/system/node/node0/cpulist".to_owned(), "0-2".to_owned()),
            ("sys/devices/system/node/node1/cpulist".to_owned(), "3,6".to_owned()),
            ("sys/devices/cpu_core/cpus".to_owned(), "0-1".to_owned()),
        ];
        // Two threads of a fast core, two efficient cores of the same socket, one core of another
        // socket with the same core number.
        for (cpu, core, socket) in [(0, 8, 0), (1, 8, 0), (2, 16, 0), (3, 17, 0), (6, 8, 1)] {
            let file = |what: &str| format!("sys/devices/system/cpu/cpu{cpu}/topology/{what}");
            files.push((file("core_id"), format!("{core}\n")));
            files.push((file("physical_package_id"), format!("{socket}\n")));
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let (_root, system) = tree(&files);
        let topology = cpu(&system).topology;
        let described = topology
            .iter()
            .map(|c| (c.cpu, c.core, c.socket, c.node, c.efficiency_class));
        assert_eq!(
            described.collect::<Vec<_>>(),
            [
                (0, 0, 0, 0, 1),
                (1, 0, 0, 0, 1),
                (2, 1, 0, 0, 0),
                (3, 2, 0, 1, 0),
                (6, 3, 1, 1, 0)
            ]
        );
    }

    #[test]
    fn the_release_is_the_pretty_name() {
        let (_root, system) = tree(&[("etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"X 12 (y)\"\n")]);
        assert_eq!(host(&system).system, "X 12 (y)");
    }
}
