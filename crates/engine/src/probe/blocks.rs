//! Block devices and how they are stacked, from `/sys/class/block`.

use std::path::Path;

use model::Bytes;
use model::environment::Device;

use super::System;
use super::rotation::{is_rotational, virtual_kind};
use crate::identity::{DeviceNumber, Identity};

/// A block device and its relations to others, by the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDevice {
    /// Kernel name, such as `sda1`.
    pub name: String,
    /// Major and minor number.
    pub number: DeviceNumber,
    /// Size in bytes.
    pub size: u64,
    /// Disk, partition, or a device on top of others.
    pub kind: BlockKind,
    /// The disk of this partition.
    pub partition_of: Option<String>,
    /// Kernel names of the partitions of this disk.
    pub partitions: Vec<String>,
    /// Devices below it (`slaves`).
    pub made_of: Vec<String>,
    /// Devices above it (`holders`).
    pub part_of: Vec<String>,
    /// It is read-only.
    pub read_only: bool,
    /// It has removable media.
    pub removable: bool,
    /// Registered with bcache, as cache or backing device.
    pub is_bcache_member: bool,
}

/// The kind of a block device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BlockKind {
    /// Hardware, or a device that the kernel shows as such.
    #[default]
    Disk,
    /// Part of a disk.
    Partition,
    /// A loop device.
    Loop {
        /// The backing file; `None` if the device is free.
        backing: Option<Backing>,
    },
    /// A mapping of the device mapper: LVM, LUKS, multipath and others.
    Mapping {
        /// Name in `/dev/mapper`.
        name: String,
        /// UUID, which names the creator: `LVM-…`, `CRYPT-…`, `mpath-…`.
        uuid: String,
    },
    /// Linux software RAID.
    Raid {
        /// Such as `raid1`.
        level: String,
    },
    /// A cached device.
    Bcache,
    /// Memory, compressed (zram) or not (brd).
    Memory,
    /// A Windows volume that is not a partition of one disk: it is spanned or striped, or its
    /// location is unknown.
    Volume {
        /// First mount point.
        at: Option<String>,
    },
}

/// The backing file or device of a loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backing {
    /// The path, as the kernel shows it.
    pub path: String,
    /// Identity from the kernel, or else from the file at that path; `None` for a deleted
    /// file, or in a container.
    pub identity: Option<Identity>,
}

impl BlockDevice {
    /// Path of the device. Linux kernel names have `!` for a slash. Windows devices are opened
    /// below `\\.\` and volumes below `\\?\`; no Linux kernel name starts like these.
    pub fn path(&self) -> String {
        let is_windows_name = |word: &str| self.name.starts_with(word);
        if matches!(self.kind, BlockKind::Volume { .. }) {
            return format!(r"\\?\{}", self.name);
        }
        if is_windows_name("PhysicalDrive") || is_windows_name("Harddisk") {
            return format!(r"\\.\{}", self.name);
        }
        format!("/dev/{}", self.name.replace('!', "/"))
    }

    /// The backing file or device of a loop device.
    pub fn backing(&self) -> Option<&Backing> {
        match &self.kind {
            BlockKind::Loop { backing } => backing.as_ref(),
            _ => None,
        }
    }
}

/// All block devices that have a number, sorted by name.
pub(super) fn block_devices(system: &System) -> Vec<BlockDevice> {
    if is_hidden(system) {
        return loop_devices(system);
    }
    let names = system.list_names("/sys/class/block");
    names.iter().filter_map(|name| block_device(system, name)).collect()
}

/// True if the system shows no block devices, as in a container without sysfs.
pub(super) fn is_hidden(system: &System) -> bool {
    !system.exists("/sys/class/block")
}

/// The loop devices in use that have a device node.
fn loop_devices(system: &System) -> Vec<BlockDevice> {
    let names = system.list_names("/dev");
    let in_use = names
        .into_iter()
        .filter(|name| is_numbered(name, "loop"))
        .filter_map(|name| {
            let path = format!("/dev/{name}");
            let (Some(Identity::BlockDevice(number)), Some(backing)) =
                (system.identity(&path), system.loop_backing(&path))
            else {
                return None;
            };
            let backing = Backing {
                path: "a file".into(),
                identity: Some(backing),
            };
            Some(BlockDevice {
                name,
                number,
                kind: BlockKind::Loop { backing: Some(backing) },
                ..BlockDevice::default()
            })
        });
    in_use.collect()
}

/// True for a word and a number: `loop0`.
fn is_numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word)
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The kernel's name of a block device.
pub(super) fn kernel_name(system: &System, number: DeviceNumber) -> Option<String> {
    let link = system.read_link(&format!("/sys/dev/block/{number}"));
    if let Some(name) = link.as_deref().and_then(last_part) {
        return Some(name);
    }
    // Recorded trees omit these links, because not every file system can store their names.
    let names = system.list_names("/sys/class/block");
    names
        .into_iter()
        .find(|name| system.read_value(&format!("/sys/class/block/{name}/dev")) == Some(number))
}

fn last_part(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

pub(super) fn block_device(system: &System, name: &str) -> Option<BlockDevice> {
    let folder = format!("/sys/class/block/{name}");
    let attribute_path = |file: &str| format!("{folder}/{file}");
    // The paths of a multipath NVMe namespace are hidden: they have no device node.
    if system.read_flag(&attribute_path("hidden")) {
        return None;
    }
    let number = system.read_value(&attribute_path("dev"))?;
    let is_partition = system.exists(&attribute_path("partition"));
    let partition_of = is_partition.then(|| find_parent_disk(system, &folder)).flatten();
    let partitions = if partition_of.is_some() {
        Vec::new()
    } else {
        let names = system.list_names(&folder).into_iter();
        names
            .filter(|part| part.starts_with(name) && system.exists(&attribute_path(&format!("{part}/partition"))))
            .collect()
    };
    Some(BlockDevice {
        name: name.to_owned(),
        number,
        size: system
            .read_value::<u64>(&attribute_path("size"))
            .unwrap_or(0)
            .saturating_mul(512),
        kind: detect_kind(system, name, partition_of.is_some()),
        partition_of,
        partitions,
        made_of: system.list_names(&attribute_path("slaves")),
        part_of: system.list_names(&attribute_path("holders")),
        read_only: system.read_flag(&attribute_path("ro")),
        removable: system.read_flag(&attribute_path("removable")),
        is_bcache_member: system.exists(&attribute_path("bcache")) && !name.starts_with("bcache"),
    })
}

/// The disk of a partition: the partition's link in `/sys/class/block` leads to a subdirectory of
/// its disk.
fn find_parent_disk(system: &System, folder: &str) -> Option<String> {
    last_part(system.read_link(folder)?.parent()?)
}

fn detect_kind(system: &System, name: &str, is_partition: bool) -> BlockKind {
    let attribute_path = |file: &str| format!("/sys/class/block/{name}/{file}");
    if is_partition {
        return BlockKind::Partition;
    }
    if let Some(mapping) = system.read_trimmed(&attribute_path("dm/name")) {
        return BlockKind::Mapping {
            name: mapping,
            uuid: system.read_trimmed(&attribute_path("dm/uuid")).unwrap_or_default(),
        };
    }
    if system.exists(&attribute_path("md")) {
        return BlockKind::Raid {
            level: system.read_trimmed(&attribute_path("md/level")).unwrap_or_default(),
        };
    }
    let numbered = |word: &str| is_numbered(name, word);
    if numbered("loop") {
        let backing = system
            .read_trimmed(&attribute_path("loop/backing_file"))
            .map(|path| Backing {
                identity: system
                    .loop_backing(&format!("/dev/{name}"))
                    .or_else(|| system.identity(&path)),
                path,
            });
        return BlockKind::Loop { backing };
    }
    if numbered("bcache") {
        return BlockKind::Bcache;
    }
    if numbered("zram") || numbered("ram") {
        return BlockKind::Memory;
    }
    BlockKind::Disk
}

/// Facts about a block device that may explain results.
pub(super) fn device_facts(system: &System, device: &BlockDevice) -> Device {
    // A partition has no queue of its own.
    let disk = device.partition_of.as_deref().unwrap_or(&device.name);
    let attribute_path = |file: &str| format!("/sys/class/block/{disk}/{file}");
    let model = model(system, disk);
    let queue = |file: &str| format!("/sys/class/block/{disk}/queue/{file}");
    let bytes = |file: &str| Bytes(system.read_value(&queue(file)).unwrap_or(0));
    let detail = match &device.kind {
        BlockKind::Loop { backing } => backing.as_ref().map(|backing| backing.path.clone()),
        BlockKind::Mapping { name, .. } => Some(name.clone()),
        BlockKind::Raid { level } => Some(level.clone()),
        BlockKind::Disk | BlockKind::Partition | BlockKind::Bcache | BlockKind::Memory | BlockKind::Volume { .. } => {
            None
        }
    };
    Device {
        name: device.name.clone(),
        number: device.number.to_string(),
        size: Bytes(device.size),
        logical_sector: bytes("logical_block_size"),
        physical_sector: bytes("physical_block_size"),
        rotational: is_rotational(system, disk, model.as_deref()),
        virtual_kind: virtual_kind(disk, model.as_deref()).map(str::to_owned),
        model,
        scheduler: system
            .read_trimmed(&queue("scheduler"))
            .and_then(|text| active_scheduler(&text).map(str::to_owned)),
        queue_requests: system.read_value(&queue("nr_requests")),
        // Single-queue drivers without blk-mq have no such directory.
        hardware_queues: Some(system.list_names(&attribute_path("mq")).len() as u32).filter(|count| *count > 0),
        largest_request: system
            .read_value::<u64>(&queue("max_sectors_kb"))
            .map(|kib| Bytes(kib.saturating_mul(1024))),
        write_cache: system.read_trimmed(&queue("write_cache")),
        polled: system.read_flag(&queue("io_poll")),
        numa_node: numa_node(system, &attribute_path("device")),
        link_bytes_per_sec: pcie_bandwidth(system, &attribute_path("device/device"))
            .or_else(|| sata_sas_bandwidth(system, &attribute_path("device"))),
        kind: kind_name(&device.kind).into(),
        read_only: device.read_only,
        detail,
        health: super::health::device_health(system, device),
        health_after: None,
    }
}

/// Bandwidth of a PCI Express link in one direction, after line coding (8b/10b up to 5 GT/s,
/// 128b/130b beyond). Packet headers are ignored, so the result is an upper bound.
fn pcie_bandwidth(system: &System, device: &str) -> Option<u64> {
    let speed = system.read_trimmed(&format!("{device}/current_link_speed"))?;
    let giga: f64 = speed.split(' ').next()?.parse().ok()?;
    let lanes: u32 = system.read_value(&format!("{device}/current_link_width"))?;
    let coding = if giga <= 5.0 { 8.0 / 10.0 } else { 128.0 / 130.0 };
    let rate = giga * 1e9 / 8.0 * coding * f64::from(lanes);
    (rate > 0.0).then_some(rate as u64)
}

/// Bandwidth of a SATA or SAS link in one direction. The directory of a disk is below that of its
/// port: `…/ata3/host2/…` with the link `link3`, or `…/port-0:1/end_device-0:1/…`, where the PHYs
/// are siblings of the end device.
fn sata_sas_bandwidth(system: &System, device: &str) -> Option<u64> {
    let folder = std::fs::canonicalize(system.path(device)).ok()?;
    let parts: Vec<&str> = folder.iter().filter_map(|part| part.to_str()).collect();
    let numbered = |part: &&str| part.strip_prefix("ata").is_some_and(|rest| rest.parse::<u32>().is_ok());
    if let Some(port) = parts.iter().rev().find(|part| numbered(part)) {
        let number = &port["ata".len()..];
        return sata_sas_lane_bytes_per_sec(
            &system.read_trimmed(&format!("/sys/class/ata_link/link{number}/sata_spd"))?,
        );
    }
    // Behind an expander, use the port nearest to the disk.
    let end = parts.iter().rposition(|part| part.starts_with("end_device-"))?;
    let port: std::path::PathBuf = folder.iter().take(end).collect();
    let lanes = std::fs::read_dir(port).ok()?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.starts_with("phy-").then_some(())?;
        sata_sas_lane_bytes_per_sec(&system.read_trimmed(&format!("/sys/class/sas_phy/{name}/negotiated_linkrate"))?)
    });
    Some(lanes.sum()).filter(|sum| *sum > 0)
}

/// Parses `6.0 Gbps` or `12.0 Gbit`, and applies line coding: 8b/10b up to 12, 128b/150b (with
/// error correction) beyond.
fn sata_sas_lane_bytes_per_sec(text: &str) -> Option<u64> {
    let giga: f64 = text
        .strip_suffix(" Gbps")
        .or_else(|| text.strip_suffix(" Gbit"))?
        .parse()
        .ok()?;
    let coding = if giga <= 12.0 { 8.0 / 10.0 } else { 128.0 / 150.0 };
    let rate = giga * 1e9 / 8.0 * coding;
    (rate >= 1.0).then_some(rate as u64)
}

fn kind_name(kind: &BlockKind) -> &'static str {
    match kind {
        BlockKind::Disk => "disk",
        BlockKind::Partition => "partition",
        BlockKind::Loop { .. } => "loop",
        BlockKind::Mapping { .. } => "device mapper",
        BlockKind::Raid { .. } => "RAID",
        BlockKind::Bcache => "bcache",
        BlockKind::Memory => "compressed memory",
        BlockKind::Volume { .. } => "volume",
    }
}

/// Vendor and model of a disk. SCSI and ATA report both, NVMe the model, memory cards a name.
pub(super) fn model(system: &System, disk: &str) -> Option<String> {
    let word = |file: &str| system.read_trimmed(&format!("/sys/class/block/{disk}/device/{file}"));
    let model = word("model").or_else(|| word("name"))?;
    match word("vendor") {
        // "ATA" names the kernel's translation layer, and virtio reports a PCI id.
        Some(vendor) if vendor != "ATA" && !vendor.starts_with("0x") => Some(format!("{vendor} {model}")),
        _ => Some(model),
    }
}

/// The I/O scheduler in brackets: `none [mq-deadline] kyber`.
pub fn active_scheduler(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(name, _)| name)
}

/// NUMA node of the nearest ancestor that has one, usually the PCI device. The kernel writes −1 for
/// none.
fn numa_node(system: &System, device: &str) -> Option<u32> {
    let mut folder = std::fs::canonicalize(system.path(device)).ok()?;
    for _ in 0..8 {
        if let Ok(text) = std::fs::read_to_string(folder.join("numa_node")) {
            return text.trim().parse().ok();
        }
        if !folder.pop() {
            break;
        }
    }
    None
}

/// Bytes of a block device that can be accessed now; `None` if unknown. A loop device notices only
/// on request (`losetup -c`) that the file under it became shorter, so that file counts as well.
pub fn accessible_bytes(system: &System, device: DeviceNumber) -> Option<u64> {
    let attribute = |name: &str| format!("/sys/dev/block/{device}/{name}");
    let size = 512 * system.read_value::<u64>(&attribute("size"))?;
    let backing_bytes = || {
        let path = system.read_trimmed(&attribute("loop/backing_file"))?;
        let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let offset = system.read_value::<u64>(&attribute("loop/offset")).unwrap_or(0);
        Some(meta.len().saturating_sub(offset))
    };
    Some(backing_bytes().map_or(size, |backing| size.min(backing)))
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn the_scheduler_in_brackets_is_active() {
        for (text, expected) in [
            ("none [mq-deadline] kyber bfq\n", Some("mq-deadline")),
            ("[none]", Some("none")),
            ("[none]\n", Some("none")),
            ("none\n", None),
            ("", None),
        ] {
            assert_eq!(active_scheduler(text), expected, "{text}");
        }
    }

    #[test]
    fn a_slash_in_a_name_is_an_exclamation_mark_in_sysfs() {
        let device = BlockDevice {
            name: "cciss!c0d0".into(),
            number: DeviceNumber::new(104, 0),
            ..BlockDevice::default()
        };
        assert_eq!(device.path(), "/dev/cciss/c0d0");
    }

    #[test]
    fn the_link_of_an_nvme_device() {
        let link_speed = |speed: &str, width: &str| {
            let (_root, system) = tree(&[
                ("sys/class/block/nvme0n1/dev", "259:0\n"),
                ("sys/class/block/nvme0n1/device/device/current_link_speed", speed),
                ("sys/class/block/nvme0n1/device/device/current_link_width", width),
            ]);
            device_facts(&system, &block_device(&system, "nvme0n1").unwrap()).link_bytes_per_sec
        };
        assert_eq!(link_speed("8.0 GT/s PCIe\n", "4\n"), Some(3_938_461_538));
        assert_eq!(link_speed("5.0 GT/s PCIe\n", "2\n"), Some(1_000_000_000));
        assert_eq!(link_speed("Unknown\n", "4\n"), None);
        assert_eq!(link_speed("16.0 GT/s PCIe\n", "0\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_links_of_sata_and_sas_disks() {
        use std::os::unix::fs::symlink;
        let link_speed = |folder: &str, files: &[(&str, &str)]| {
            let (root, system) = tree(&[&[("sys/class/block/sda/dev", "8:0\n")], files].concat());
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
            symlink(root.path().join(folder), root.path().join("sys/class/block/sda/device")).unwrap();
            device_facts(&system, &block_device(&system, "sda").unwrap()).link_bytes_per_sec
        };
        let sata = "sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0";
        let link = |speed| {
            [
                ("sys/class/ata_link/link3/sata_spd", speed),
                ("sys/class/ata_link/link2/sata_spd", "1.5 Gbps\n"),
            ]
        };
        assert_eq!(link_speed(sata, &link("6.0 Gbps\n")), Some(600_000_000));
        assert_eq!(link_speed(sata, &link("3.0 Gbps\n")), Some(300_000_000));
        assert_eq!(link_speed(sata, &link("<unknown>\n")), None);
        let host = "sys/devices/pci0000:00/0000:3b:00.0/host0";
        let sas = format!("{host}/port-0:0/expander-0:0/port-0:0:3/end_device-0:0:3/target0:0:3/0:0:3:0");
        let near = format!("{host}/port-0:0/expander-0:0/port-0:0:3/phy-0:0:3/uevent");
        let far = format!("{host}/port-0:0/phy-0:1/uevent");
        let rate = |rate| {
            [
                (&*near, ""),
                (&*far, ""),
                ("sys/class/sas_phy/phy-0:0:3/negotiated_linkrate", rate),
                ("sys/class/sas_phy/phy-0:1/negotiated_linkrate", "3.0 Gbit\n"),
            ]
        };
        assert_eq!(link_speed(&sas, &rate("12.0 Gbit\n")), Some(1_200_000_000));
        assert_eq!(link_speed(&sas, &rate("22.5 Gbit\n")), Some(2_400_000_000));
        assert_eq!(link_speed(&sas, &rate("Unknown\n")), None);
        assert_eq!(link_speed("sys/devices/virtual/x", &[]), None);
    }
}
