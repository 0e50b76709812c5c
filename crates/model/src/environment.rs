//! What surrounded a test: facts that could explain its figures.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The machine and the targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The machine.
    pub host: Host,
    /// Its processors.
    pub cpu: Cpu,
    /// Memory in bytes.
    pub memory: Bytes,
    /// The clock behind every figure.
    pub clock: Clock,
    /// Limits that the system puts on this process.
    #[serde(default)]
    pub limits: Limits,
    /// One entry for each target of the plan that this machine has to do with, in plan order.
    #[serde(default)]
    pub targets: Vec<TargetFacts>,
    /// Which targets of the plan these are, ascending; empty: the first ones. Of a test on several
    /// machines each has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_numbers: Vec<u32>,
    /// What others did to the devices before the test began; absent where it was not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Processors that a launcher of MPI had left this process, where that was all that it had
    /// started and it took all that it may have. Of several processes each has its own number,
    /// which is said of its rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened_from: Option<u32>,
}

impl Environment {
    /// What is known of a target of the plan on this machine.
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

/// What others did to the devices under the targets before the test began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Before {
    /// How long was looked.
    pub watched_ns: Nanos,
    /// The devices that were busy with anything.
    pub devices: Vec<DeviceUse>,
    /// Programs that read or wrote most in that time, the busiest first: their names and numbers.
    #[serde(default)]
    pub programs: Vec<BusyProgram>,
}

/// A program that reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyProgram {
    /// Its number.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Bytes that it caused to be read from and written to devices.
    pub bytes: Bytes,
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
    /// The cloud that it is rented from, by its firmware (DMI), such as `Amazon EC2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<String>,
    /// The cloud's name for its size, such as `m6i.large`, where the firmware has it.
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
    /// Where each logical CPU sits, in ascending order of number; empty where the system does not
    /// tell.
    #[serde(default)]
    pub topology: Vec<LogicalCpu>,
    /// The deepest idle state that the system may enter, where it tells.
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

/// Where a logical CPU sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogicalCpu {
    /// Its number.
    pub cpu: u32,
    /// Its core, counted over the whole machine from 0; hardware threads of one core share it.
    pub core: u32,
    /// Its socket, counted from 0.
    pub socket: u32,
    /// Its NUMA node.
    pub node: u32,
    /// 0 for the most frugal kind of core, more for faster kinds; 0 throughout where all are alike.
    #[serde(default)]
    pub efficiency_class: u8,
}

/// The clock of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `tsc`, `cntvct`, `clock_gettime`, `performance_counter` or `simulated`.
    pub source: String,
    /// Why that one.
    pub reason: String,
    /// Ticks per second; 0 where the source counts in nanoseconds.
    pub frequency_hz: u64,
    /// Time of one reading.
    pub reading_ns: f64,
    /// How far it went from the system's monotonic clock during the run, in parts per million.
    #[serde(default)]
    pub drift_ppm: Option<f64>,
}

/// Limits that the system puts on this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// CPUs' worth of time that the control group allows.
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

/// What is known of a target.
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
    /// The file system it lies on.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
    /// The devices under it: the first is its own, the others lie beneath that one.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// How its space is allocated, where the file system tells.
    #[serde(default)]
    pub allocation: Option<Allocation>,
    /// The cluster's name for the volume that it lies on, where that is one of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_volume: Option<String>,
    /// The node of a cluster that owns the volume, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The same when the test had ended.
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
    /// It has platters that turn: the disk itself says so, and no hypervisor's default.
    pub rotational: bool,
    /// What kind of virtual disk it is, such as `virtio disk` or `Amazon EBS volume`; absent for
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
    /// Hardware queues, each with that many requests.
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
    /// What its link carries one way, where the system tells: of NVMe devices the lanes of PCI
    /// Express, of SATA and SAS disks the speed that was agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_sec: Option<u64>,
    /// `disk`, `partition`, `loop`, `device mapper`, `RAID`, `bcache` or `compressed memory`; empty
    /// where not known.
    #[serde(default)]
    pub kind: String,
    /// The kernel takes no writes for it.
    #[serde(default)]
    pub read_only: bool,
    /// What it is made of where sysfs names no device: the backing file of a loop device, the name
    /// of a mapping.
    #[serde(default)]
    pub detail: Option<String>,
    /// What it or the system says of its health; absent where neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// The same when the test had ended; absent where it was not examined again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_after: Option<Health>,
}

/// The health of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Where this comes from, such as `NVMe health log`, `SMART` or `md`.
    pub source: String,
    /// What is wrong, in words; empty if nothing is.
    pub complaints: Vec<String>,
    /// Temperature in degrees Celsius.
    #[serde(default)]
    pub celsius: Option<i32>,
    /// Share of the promised life that is used up, in percent; may go beyond 100.
    #[serde(default)]
    pub used_percent: Option<u32>,
    /// Spare blocks that are left, in percent of those it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u32>,
    /// Errors of its media, or of the data on them, that it has met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Sectors that spare ones stand in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reallocated_sectors: Option<u64>,
    /// Sectors that could not be read and wait to be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_sectors: Option<u64>,
    /// Transfers that were garbled on the way to it, since it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_errors: Option<u64>,
}

/// How the space of a file is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allocation {
    /// Bytes never written: reads come from nowhere.
    pub holes: Bytes,
    /// Bytes reserved but never written: reads need no device either.
    pub unwritten: Bytes,
    /// How many those are is not known, and there may be more. So it is on Windows where a file
    /// system does not say up to where a file holds valid data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritten_unknown: bool,
    /// Separate extents.
    pub extents: u64,
}

/// Counters of the kernel for one block device, as differences over a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// Kernel name.
    pub name: String,
    /// Indexes of the plan's targets that lie on it.
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

/// What the system counted over a run beside devices and processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemUse {
    /// Segments that TCP sent, and those of them that it had to send again.
    #[serde(default)]
    pub tcp_segments: Option<[u64; 2]>,
    /// Network interfaces that lost anything.
    #[serde(default)]
    pub losses: Vec<InterfaceLosses>,
    /// Time for which the control group kept this process from running.
    #[serde(default)]
    pub throttled_ns: Option<Nanos>,
    /// Times at which a processor slowed down because it was too hot.
    #[serde(default)]
    pub thermal_events: Option<u64>,
    /// Other programs that read or wrote most meanwhile, the busiest first; on whichever device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<BusyProgram>,
    /// The processes of this test: where several carried it out on one machine, each is another
    /// program to the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_processes: Vec<u32>,
}

/// What a network interface lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceLosses {
    /// Its name.
    pub name: String,
    /// Packets or frames with errors.
    pub errors: u64,
    /// Those that were dropped.
    pub dropped: u64,
}

/// Time of one logical CPU over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreUse {
    /// Number of the CPU.
    pub cpu: u32,
    /// In programs.
    pub user_ns: Nanos,
    /// In the kernel, without interrupts.
    pub system_ns: Nanos,
    /// In interrupt handlers.
    pub interrupt_ns: Nanos,
    /// Taken by the hypervisor for others.
    pub stolen_ns: Nanos,
    /// Idle, waiting for I/O or not.
    pub idle_ns: Nanos,
}

/// What the provider of a virtual disk counts for it, as differences over a window: the other
/// side's view of the same load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeUse {
    /// Kernel name of the device.
    pub name: String,
    /// Indexes of the plan's targets that lie on it.
    pub targets: Vec<u32>,
    /// Whose page it is, such as `Amazon EBS`.
    pub provider: String,
    /// Operations: reads, writes.
    pub operations: [u64; 2],
    /// Bytes: read, written.
    pub bytes: [u64; 2],
    /// Time that operations took: reads, writes.
    pub time_ns: [Nanos; 2],
    /// Time in which more operations were asked for than the volume allows.
    pub volume_iops_exceeded_ns: Nanos,
    /// Time in which more bytes were asked for than the volume allows.
    pub volume_throughput_exceeded_ns: Nanos,
    /// Time in which more operations were asked for than the instance allows for all of its
    /// volumes.
    pub instance_iops_exceeded_ns: Nanos,
    /// Time in which more bytes were asked for than the instance allows for all of its volumes.
    pub instance_throughput_exceeded_ns: Nanos,
    /// Operations in its queue at the end of the window.
    pub queue_length: u64,
    /// How long reads took there.
    #[serde(default)]
    pub read_latency: Vec<VolumeLatency>,
    /// How long writes took there.
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
