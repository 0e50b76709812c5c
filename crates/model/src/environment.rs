//! The environment of a test: facts that may explain its figures.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The machine and the targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Name, kernel and memory of the machine.
    pub host: Host,
    /// Model, count and topology of its processors.
    pub cpu: Cpu,
    /// Memory in bytes.
    pub memory: Bytes,
    /// The clock behind every figure.
    pub clock: Clock,
    /// Limits of the system on this process.
    #[serde(default)]
    pub limits: Limits,
    /// One entry for each target of the plan on this machine, in plan order.
    #[serde(default)]
    pub targets: Vec<TargetFacts>,
    /// The plan's numbers of these targets, ascending; empty: the first ones. In a fleet each
    /// machine has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_numbers: Vec<u32>,
    /// The activity of other programs before the test; absent if it was not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BackgroundIo>,
    /// The number of processors to which an MPI launcher had bound this process, before it removed
    /// that binding. With several processes, each rank has its own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened_from: Option<u32>,
}

impl Environment {
    /// The facts of a target of the plan on this machine.
    pub fn target(&self, number: u32) -> Option<&TargetFacts> {
        let place = match self.target_numbers.is_empty() {
            true => number as usize,
            false => self.target_numbers.binary_search(&number).ok()?,
        };
        self.targets.get(place)
    }

    /// Each target of this machine with its number in the plan.
    pub fn numbered_targets(&self) -> impl Iterator<Item = (u32, &TargetFacts)> {
        let number = |place: usize| self.target_numbers.get(place).copied().unwrap_or(place as u32);
        let targets = self.targets.iter().enumerate();
        targets.map(move |(place, facts)| (number(place), facts))
    }
}

/// I/O of other programs on the targets' devices before the test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundIo {
    /// The time of observation.
    pub watched_ns: Nanos,
    /// The devices that were busy.
    pub devices: Vec<DeviceUse>,
    /// The programs with the most I/O, the busiest first.
    #[serde(default)]
    pub programs: Vec<BusyProgram>,
}

/// A program that reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyProgram {
    /// Its process id.
    pub process: u32,
    /// Program name of the process.
    pub name: String,
    /// Bytes that it caused to be read from and written to devices.
    pub bytes: Bytes,
}

/// How the names of kernel threads begin, as far as they do I/O.
const KERNEL_THREADS: [&str; 12] = [
    "kworker/", "kswapd", "kcompactd", "khugepaged", "ksoftirqd/", "jbd2/", "xfsaild/", "btrfs-", "dmcrypt_write",
    "irq/", "rcu_", "txg_",
];

/// True for the name of a kernel thread. It does the I/O of programs, and a user cannot stop it.
pub fn is_kernel_thread(name: &str) -> bool {
    // Such as `loop0` and `md127_raid1`, but not `md5sum`.
    let is_numbered = |start: &str| {
        let number = name.strip_prefix(start).unwrap_or_default();
        let rest = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
        rest.len() < number.len() && (rest.is_empty() || rest.starts_with('_'))
    };
    // On Windows, the process of the kernel is `System`.
    name == "System"
        || is_numbered("loop")
        || is_numbered("md")
        || KERNEL_THREADS.iter().any(|start| name.starts_with(start))
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and release.
    pub system: String,
    /// Kernel version.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Changes at every boot.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// The hypervisor, if this is a virtual machine.
    #[serde(default)]
    pub hypervisor: Option<String>,
    /// The cloud that rents it out, by its firmware (DMI), such as `Amazon EC2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<String>,
    /// The cloud's name for its size, such as `m6i.large`, if the firmware has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
}

/// Processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Model name.
    pub model: String,
    /// Logical CPUs that are online.
    pub logical: u32,
    /// CPUs that this process may use.
    pub usable: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Frequency governor of the first CPU.
    #[serde(default)]
    pub governor: Option<String>,
    /// The topology of the logical CPUs, sorted by number; empty if unknown.
    #[serde(default)]
    pub topology: Vec<LogicalCpu>,
    /// The deepest idle state that the system may enter, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deepest_idle: Option<IdleState>,
}

/// A state in which an idle processor saves power.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Time to leave it.
    pub exit_ns: Nanos,
}

/// The place of a logical CPU in the topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogicalCpu {
    /// CPU number, as the kernel counts.
    pub cpu: u32,
    /// Its core, counted over the whole machine from 0; hardware threads of one core share it.
    pub core: u32,
    /// Its socket, counted from 0.
    pub socket: u32,
    /// Its NUMA node.
    pub node: u32,
    /// 0 for the most efficient kind of core, more for faster kinds; always 0 if all are equal.
    #[serde(default)]
    pub efficiency_class: u8,
}

/// The clock of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `tsc`, `cntvct`, `clock_gettime`, `performance_counter` or `simulated`.
    pub source: String,
    /// Why this source was chosen.
    pub reason: String,
    /// Ticks per second; 0 where the source counts in nanoseconds.
    pub frequency_hz: u64,
    /// Time of one reading.
    pub reading_ns: f64,
    /// Its drift from the system's monotonic clock during the run, in parts per million.
    #[serde(default)]
    pub drift_ppm: Option<f64>,
}

/// Limits of the system on this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Processor time that the control group allows, in CPUs.
    #[serde(default)]
    pub cpus: Option<f64>,
    /// Memory that the control group allows.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// I/O limits of the control group.
    #[serde(default)]
    pub devices: Vec<DeviceLimit>,
}

/// An I/O limit of a control group on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceLimit {
    /// `major:minor`.
    pub device: String,
    /// Reads per second.
    #[serde(default)]
    pub read_iops: Option<u64>,
    /// Writes per second.
    #[serde(default)]
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    #[serde(default)]
    pub read_bytes: Option<u64>,
    /// Bytes written per second.
    #[serde(default)]
    pub write_bytes: Option<u64>,
}

/// The facts of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Path as opened, links resolved.
    pub path: String,
    /// `file`, `block device`, `nothing` or `simulated`.
    pub kind: String,
    /// Size in bytes when the test began.
    pub size: Bytes,
    /// Offsets, lengths and buffers of direct I/O must be multiples of this.
    pub direct_alignment: Bytes,
    /// How it was prepared, in words.
    #[serde(default)]
    pub prepared: String,
    /// The file system that contains it.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
    /// The devices under it: first its own, then those below that one.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// What holds the data of an overlay or a loop device: types of file systems, or the page
    /// cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored_in: Vec<String>,
    /// The allocation of its space, if known.
    #[serde(default)]
    pub allocation: Option<Allocation>,
    /// The cluster's name of its volume, if it is on a cluster volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_volume: Option<String>,
    /// The cluster node that owns the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The same after the test, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_after: Option<String>,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type, such as `ext4`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount options.
    pub options: String,
    /// Size.
    pub size: Bytes,
    /// Bytes that a program without privileges may still use.
    pub available: Bytes,
}

/// Types of file systems whose data is on another machine.
const NETWORK_FILE_SYSTEMS: [&str; 13] = [
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.glusterfs", "lustre", "9p", "fuse.sshfs", "afs", "gpfs",
    "beegfs",
];

impl FileSystem {
    /// True if its data is on another machine. That of virtiofs is on the host of the virtual
    /// machine, which no network separates.
    pub fn is_remote(&self) -> bool {
        NETWORK_FILE_SYSTEMS.contains(&self.kind.as_str())
    }
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// Size.
    pub size: Bytes,
    /// Logical sector.
    pub logical_sector: Bytes,
    /// Physical sector.
    pub physical_sector: Bytes,
    /// True for a hard disk, according to the disk itself and not to a hypervisor's default.
    pub rotational: bool,
    /// The kind of virtual disk, such as `virtio disk` or `Amazon EBS volume`; absent for
    /// hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_kind: Option<String>,
    /// Vendor and model.
    #[serde(default)]
    pub model: Option<String>,
    /// I/O scheduler in use.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// Requests that the kernel queues for it.
    #[serde(default)]
    pub queue_requests: Option<u32>,
    /// Hardware queues, each of that many requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_queues: Option<u32>,
    /// Largest request the kernel sends it.
    #[serde(default)]
    pub largest_request: Option<Bytes>,
    /// `write back` or `write through`.
    #[serde(default)]
    pub write_cache: Option<String>,
    /// Its driver can be polled for completions.
    #[serde(default)]
    pub polled: bool,
    /// NUMA node it is attached to.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// The bandwidth of its link in one direction, if known: of the PCI Express lanes for NVMe, of
    /// the negotiated speed for SATA and SAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_sec: Option<u64>,
    /// `disk`, `partition`, `loop`, `device mapper`, `RAID`, `bcache` or `compressed memory`; empty
    /// where not known.
    #[serde(default)]
    pub kind: String,
    /// The kernel refuses writes to it.
    #[serde(default)]
    pub read_only: bool,
    /// Its backing if sysfs names no device: the file of a loop device, the name of a mapping.
    #[serde(default)]
    pub detail: Option<String>,
    /// Its health, from the device or the system; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// The same after the test; absent if it was not examined again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_after: Option<Health>,
}

/// The health of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// The source, such as `NVMe health log`, `SMART` or `md`.
    pub source: String,
    /// Problems, in words; empty if there are none.
    #[serde(rename = "complaints")]
    pub problems: Vec<String>,
    /// Temperature in degrees Celsius.
    #[serde(default)]
    pub celsius: Option<i32>,
    /// The share of the rated endurance that is used, in percent; may exceed 100.
    #[serde(default)]
    pub used_percent: Option<u32>,
    /// The remaining spare blocks, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u32>,
    /// Media and data errors so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Reallocated sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reallocated_sectors: Option<u64>,
    /// Unreadable sectors that wait for reallocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_sectors: Option<u64>,
    /// Transfer errors of its link so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_errors: Option<u64>,
}

/// The allocation of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allocation {
    /// Bytes never written: the file system reads them without I/O.
    pub holes: Bytes,
    /// Bytes reserved but never written: also read without I/O.
    pub unwritten: Bytes,
    /// The number of unwritten bytes is unknown and may be higher. This happens on Windows if a
    /// file system does not report the valid data length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritten_unknown: bool,
    /// Separate extents.
    pub extents: u64,
}

/// The kernel's counters of a block device, as differences over a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// Kernel name.
    pub name: String,
    /// Indexes of the plan's targets on the device.
    pub targets: Vec<u32>,
    /// Requests completed: reads, writes, discards.
    pub operations: [u64; 3],
    /// Bytes transferred: read, written, discarded.
    pub bytes: [u64; 3],
    /// Requests merged into others: reads, writes, discards.
    pub merged: [u64; 3],
    /// Time spent by requests: read, written, discarded.
    pub time_ns: [Nanos; 3],
    /// Flush requests.
    pub flushes: u64,
    /// Time during which the device was busy.
    pub busy_ns: Nanos,
    /// Time-weighted number of requests in the device and its queue.
    pub weighted_ns: Nanos,
}

impl DeviceUse {
    /// Adds counters of the same device over another window.
    pub fn add(&mut self, other: &DeviceUse) {
        for direction in 0..3 {
            self.operations[direction] += other.operations[direction];
            self.bytes[direction] += other.bytes[direction];
            self.merged[direction] += other.merged[direction];
            self.time_ns[direction] += other.time_ns[direction];
        }
        self.flushes += other.flushes;
        self.busy_ns += other.busy_ns;
        self.weighted_ns += other.weighted_ns;
    }
}

/// Counters of the system over a run, apart from devices and processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemUse {
    /// TCP segments sent, and retransmitted.
    #[serde(default)]
    pub tcp_segments: Option<[u64; 2]>,
    /// Network interfaces with losses.
    #[serde(default)]
    pub losses: Vec<InterfaceLosses>,
    /// Time for which the control group throttled this process.
    #[serde(default)]
    pub throttled_ns: Option<Nanos>,
    /// Thermal throttling events of processors.
    #[serde(default)]
    pub thermal_events: Option<u64>,
    /// Other programs with the most I/O during the run, on any device, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<BusyProgram>,
    /// The processes of this test, so that several on one machine do not report each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_processes: Vec<u32>,
}

/// Losses of a network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceLosses {
    /// Kernel name of the interface, such as `eth0`.
    pub name: String,
    /// Packets or frames with errors.
    pub errors: u64,
    /// Packets that were dropped.
    pub dropped: u64,
}

/// Time of one logical CPU over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreUse {
    /// Number of the CPU.
    pub cpu: u32,
    /// In user mode.
    pub user_ns: Nanos,
    /// In the kernel, without interrupts.
    pub system_ns: Nanos,
    /// In interrupt handlers.
    pub interrupt_ns: Nanos,
    /// Time that the hypervisor gave to other machines.
    pub stolen_ns: Nanos,
    /// Idle, with or without pending I/O.
    pub idle_ns: Nanos,
}

/// The provider's counters of a virtual disk, as differences over a window: the same load seen by
/// the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeUse {
    /// Kernel name of the device.
    pub name: String,
    /// Indexes of the plan's targets on the device.
    pub targets: Vec<u32>,
    /// The provider of the log page, such as `Amazon EBS`.
    pub provider: String,
    /// Operations: reads, writes.
    pub operations: [u64; 2],
    /// Bytes: read, written.
    pub bytes: [u64; 2],
    /// Time that operations took: reads, writes.
    pub time_ns: [Nanos; 2],
    /// Time in which the operations exceeded the volume's limit.
    pub volume_iops_exceeded_ns: Nanos,
    /// Time in which the bytes exceeded the volume's limit.
    pub volume_throughput_exceeded_ns: Nanos,
    /// Time in which the operations exceeded the instance's limit for all its volumes.
    pub instance_iops_exceeded_ns: Nanos,
    /// Time in which the bytes exceeded the instance's limit for all its volumes.
    pub instance_throughput_exceeded_ns: Nanos,
    /// Operations in its queue at the end of the window.
    pub queue_length: u64,
    /// Latencies of reads there.
    #[serde(default)]
    pub read_latency: Vec<VolumeLatency>,
    /// Latencies of writes there.
    #[serde(default)]
    pub write_latency: Vec<VolumeLatency>,
}

/// One class of a provider's histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeLatency {
    /// Shortest time of the class.
    pub low_ns: Nanos,
    /// Longest.
    pub high_ns: Nanos,
    /// Operations in it.
    pub count: u64,
}
