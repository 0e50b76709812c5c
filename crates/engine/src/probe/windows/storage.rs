//! Disks, volumes and page files as Windows reports them, and the inventory of block devices that
//! follows.
//!
//! `STORAGE_DEVICE_NUMBER` gives a disk and its partitions their numbers: the disk is the major
//! number and the partition the minor one, 0 for the whole disk. A volume that is a partition has
//! that partition's number, regardless of the letter, mount point or GUID that names it. A volume
//! with several extents, or with an unknown location, has a number of its own.
//!
//! Every unknown fact becomes a doubt about the disks that it may affect, and the guard treats a
//! doubt as a use.

use model::Bytes;
use model::environment::{Device, FileSystem};

use crate::identity::{DeviceNumber, Identity};
use crate::probe::blocks::{BlockDevice, BlockKind};
use crate::probe::inventory::{Inventory, Use, UseKind};
use crate::probe::mounts::Mount;
use crate::probe::swaps::Swap;

/// Everything about storage at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// Disks, in ascending order of number.
    pub disks: Vec<Disk>,
    /// All volumes of the system.
    pub volumes: Vec<Volume>,
    /// Paths of the page files (`C:\pagefile.sys`); absent if Windows did not report them.
    pub page_files: Option<Vec<String>>,
    /// The path that the system runs from (`C:\Windows\system32`); absent if it was not reported.
    pub system_folder: Option<String>,
    /// Unknown facts that concern no particular disk.
    pub doubts: Vec<String>,
}

/// A physical drive, or what a driver presents as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// The number in `\\.\PhysicalDriveN`.
    pub number: u32,
    /// Facts that the disk reports about itself.
    pub facts: Device,
    /// Partitions; `None` if they could not be read.
    pub layout: Option<Layout>,
    /// The disk is offline; `None` if the driver does not report it.
    pub offline: Option<bool>,
    /// The disk is read-only; `None` if the driver does not report it.
    pub read_only: Option<bool>,
    /// The disk belongs to a failover cluster; `None` if the driver does not report it.
    pub clustered: Option<bool>,
    /// The disk is removable.
    pub removable: bool,
}

/// The partition table of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// `MBR` or `GPT`; `None` if the disk has no table.
    pub table: Option<String>,
    /// Partitions in the table.
    pub partitions: Vec<PartitionEntry>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionEntry {
    /// Number; 0 for one that Windows does not show.
    pub number: u32,
    /// First byte on the disk.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Type in the table.
    pub kind: PartitionType,
    /// The table marks it as bootable.
    pub is_bootable: bool,
}

/// The type of a partition in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionType {
    /// The type byte of an MBR entry.
    Mbr(u8),
    /// The type GUID of a GPT entry, in on-disk byte order.
    Gpt([u8; 16]),
    /// Neither an MBR nor a GPT entry.
    Unknown,
}

/// A range of a disk that a volume occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of the disk.
    pub disk: u32,
    /// First byte there.
    pub start: u64,
    /// Length.
    pub length: u64,
}

/// Numbers of a disk and a partition; 0 is the whole disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionId {
    /// Number of the disk.
    pub disk: u32,
    /// Number of the partition.
    pub partition: u32,
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// `\\?\Volume{GUID}\`.
    pub name: String,
    /// The partition that the volume occupies, if it is exactly one.
    pub partition: Option<PartitionId>,
    /// Extents; `None` if unknown.
    pub extents: Option<Vec<Extent>>,
    /// Mount points: `F:\`, `C:\mnt\data\`; `None` if unknown.
    pub mounted_at: Option<Vec<String>>,
    /// What the volume holds: a file system or something else.
    pub contents: VolumeContents,
    /// Size in bytes.
    pub size: u64,
    /// It is read-only.
    pub read_only: bool,
}

/// Contents of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VolumeContents {
    /// A file system that Windows has mounted.
    FileSystem {
        /// Such as `NTFS`, `ReFS` or `CSVFS`.
        kind: String,
        /// The serial number.
        serial: u32,
    },
    /// No known file system.
    Raw,
    /// No medium.
    NoMedium,
    /// It could not be determined.
    #[default]
    Unknown,
    /// BitLocker has locked it.
    Locked,
}

/// EFI system partition.
pub const EFI_SYSTEM: [u8; 16] = guid(0xc12a_7328, 0xf81f, 0x11d2, 0xba4b_00a0_c93e_c93b);
/// Reserved by Windows.
pub const RESERVED: [u8; 16] = guid(0xe3c9_e316, 0x0b5c, 0x4db8, 0x817d_f92d_f002_15ae);
/// Data of a dynamic disk.
pub const DYNAMIC_DATA: [u8; 16] = guid(0xaf9b_60a0, 0x1431, 0x4f62, 0xbc68_3311_714a_69ad);
/// The database of a dynamic disk.
pub const DYNAMIC_DATABASE: [u8; 16] = guid(0x5808_c8aa, 0x7e8f, 0x42e0, 0x85d2_e1e9_0434_cfb3);
/// A member of a Storage Spaces pool.
pub const STORAGE_SPACES: [u8; 16] = guid(0xe75c_af8f, 0xf680, 0x4cee, 0xafa3_b001_e56e_fc2d);
/// Data of a failover cluster about the disk.
pub const CLUSTER: [u8; 16] = guid(0xdb97_dba9, 0x0840, 0x4bae, 0x97f0_ffb9_a327_c7e1);

/// A GUID in on-disk byte order: the first three groups little-endian, the rest as written.
const fn guid(first: u32, second: u16, third: u16, rest: u64) -> [u8; 16] {
    let (a, b, c, d) = (
        first.to_le_bytes(),
        second.to_le_bytes(),
        third.to_le_bytes(),
        rest.to_be_bytes(),
    );
    [
        a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7],
    ]
}

impl Disk {
    /// Name: `PhysicalDrive0`.
    pub fn name(&self) -> String {
        format!("PhysicalDrive{}", self.number)
    }

    fn number(&self) -> DeviceNumber {
        DeviceNumber::new(self.number, 0)
    }
}

/// The name of a partition: `Harddisk0Partition2`.
fn partition_name(disk: u32, partition: u32) -> String {
    format!("Harddisk{disk}Partition{partition}")
}

impl Volume {
    /// The number of a volume that is not a partition of a single disk.
    fn number_without_partition(index: usize) -> DeviceNumber {
        DeviceNumber::new(u32::MAX, index as u32)
    }

    /// The name without the prefix of all volume names: `Volume{GUID}`.
    fn short_name(&self) -> String {
        self.name.trim_start_matches(r"\\?\").trim_end_matches('\\').to_owned()
    }

    /// The first place where it is mounted.
    fn mount_point(&self) -> Option<&String> {
        self.mounted_at.iter().flatten().next()
    }

    /// False for an empty drive.
    fn has_medium(&self) -> bool {
        self.contents != VolumeContents::NoMedium
    }

    fn is_on_disk(&self, disk: u32) -> bool {
        let touches_disk = |extents: &Vec<Extent>| extents.iter().any(|extent| extent.disk == disk);
        match (&self.extents, self.partition) {
            (Some(extents), _) => touches_disk(extents),
            (None, Some(id)) => id.disk == disk,
            (None, None) => false,
        }
    }
}

impl Storage {
    /// The partition that a volume occupies, if a known disk lists it.
    fn known_partition(&self, volume: &Volume) -> Option<PartitionId> {
        let is_listed = |id: &PartitionId| {
            let layout = self.disk(id.disk).and_then(|disk| disk.layout.as_ref());
            layout.is_some_and(|layout| layout.partitions.iter().any(|entry| entry.number == id.partition))
        };
        volume.partition.filter(|id| id.partition > 0 && is_listed(id))
    }

    /// The number of a volume.
    fn device_number(&self, index: usize) -> DeviceNumber {
        let volume = &self.volumes[index];
        match (self.known_partition(volume), volume.partition) {
            (Some(id), _) => DeviceNumber::new(id.disk, id.partition),
            // A disk without a partition table may contain a file system.
            (None, Some(id)) if id.partition == 0 && self.disk(id.disk).is_some() => DeviceNumber::new(id.disk, 0),
            _ => Volume::number_without_partition(index),
        }
    }

    fn disk(&self, number: u32) -> Option<&Disk> {
        self.disks.iter().find(|disk| disk.number == number)
    }

    fn contains_path(volume: &Volume, path: &str) -> bool {
        let starts = |mount_point: &String| {
            let head = path.get(..mount_point.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(mount_point))
        };
        volume.mounted_at.iter().flatten().any(starts)
    }

    /// The volume of a path: the one whose mount point is its longest prefix.
    pub fn find_volume(&self, path: &str) -> Option<usize> {
        let path = path
            .strip_prefix(r"\\?\")
            .filter(|rest| !rest.starts_with("Volume{"))
            .unwrap_or(path);
        let length = |volume: &Volume| {
            let mount_points = volume.mounted_at.iter().flatten();
            let fitting = mount_points.filter(|mount_point| {
                let head = path.get(..mount_point.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(mount_point))
                    || format!("{path}\\").eq_ignore_ascii_case(mount_point)
            });
            let by_guid = path.starts_with(volume.name.as_str()).then_some(volume.name.len());
            fitting.map(String::len).max().or(by_guid)
        };
        let volumes = self.volumes.iter().enumerate();
        let matching = volumes.filter_map(|(index, volume)| Some((length(volume)?, index)));
        matching.max_by_key(|(length, _)| *length).map(|(_, index)| index)
    }

    /// Lists the block devices and their uses.
    pub fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        inventory.is_complete = true;
        for disk in &self.disks {
            self.add_disk(disk, &mut inventory);
        }
        for (index, volume) in self
            .volumes
            .iter()
            .enumerate()
            .filter(|(_, volume)| volume.has_medium())
        {
            self.add_volume(index, volume, &mut inventory);
        }
        self.add_page_files(&mut inventory);
        self.add_system_use(&mut inventory);
        let doubts = self.doubts.iter().map(|doubt| Use::doubt(None, doubt));
        inventory.uses.extend(doubts);
        inventory.devices.sort_by_key(|device| device.number);
        inventory
    }

    fn add_disk(&self, disk: &Disk, inventory: &mut Inventory) {
        let name = disk.name();
        let entries = disk.layout.as_ref().map_or(&[][..], |layout| &layout.partitions);
        let numbered: Vec<&PartitionEntry> = entries.iter().filter(|entry| entry.number > 0).collect();
        let name_of = |entry: &&PartitionEntry| partition_name(disk.number, entry.number);
        inventory.devices.push(BlockDevice {
            name: name.clone(),
            number: disk.number(),
            size: disk.facts.size.0,
            partitions: numbered.iter().map(name_of).collect(),
            read_only: disk.read_only == Some(true),
            removable: disk.removable,
            ..BlockDevice::default()
        });
        for entry in &numbered {
            inventory.devices.push(BlockDevice {
                name: name_of(entry),
                number: DeviceNumber::new(disk.number, entry.number),
                size: entry.length,
                kind: BlockKind::Partition,
                partition_of: Some(name.clone()),
                read_only: disk.read_only == Some(true),
                removable: disk.removable,
                ..BlockDevice::default()
            });
        }
        let mut parts: Vec<&str> = entries
            .iter()
            .filter_map(|entry| group_of_partition_type(entry.kind))
            .collect();
        parts.extend((disk.clustered == Some(true)).then_some("a failover cluster"));
        parts.dedup();
        let parts = parts.into_iter().map(|holder| Use {
            device: Some(disk.number()),
            kind: UseKind::MemberOf(holder.to_owned()),
        });
        inventory.uses.extend(parts);
        let mut doubt = |what: &str| inventory.uses.push(Use::doubt(Some(disk.number()), what));
        match disk.offline {
            Some(true) => doubt(
                "it is offline: a virtual machine or another cluster node may be using it, and \
                 Windows does not show its volumes",
            ),
            Some(false) => {}
            None => doubt("its driver does not report whether it is offline"),
        }
        if disk.clustered.is_none() {
            doubt("its driver does not report whether it belongs to this machine's cluster");
        }
        if disk.layout.is_none() {
            doubt("its partitions could not be read");
        }
    }

    fn add_volume(&self, index: usize, volume: &Volume, inventory: &mut Inventory) {
        let number = self.device_number(index);
        if number == Volume::number_without_partition(index) {
            self.add_composite_volume(index, volume, inventory);
        }
        let mut doubt = |what: &str| inventory.uses.push(Use::doubt(Some(number), what));
        match (&volume.contents, &volume.mounted_at) {
            // A drive letter alone does not mean that a volume without a file system is in use.
            (VolumeContents::Raw | VolumeContents::NoMedium, _) => {}
            (_, None) => doubt("its mount points could not be read"),
            (VolumeContents::FileSystem { kind, serial }, Some(mount_points)) => {
                inventory.mounts.extend(mount_points.iter().map(|mount_point| Mount {
                    number: DeviceNumber::new(*serial, 0),
                    device: Some(number),
                    root: "/".into(),
                    mount_point: mount_point.clone(),
                    fs_type: kind.clone(),
                    source: volume.name.clone(),
                    options: if volume.read_only { "ro" } else { "rw" }.into(),
                    super_options: String::new(),
                }));
            }
            (VolumeContents::Locked, _) => doubt("BitLocker has locked it, so its contents are unknown"),
            (VolumeContents::Unknown, _) => doubt("its contents could not be determined"),
        }
    }

    /// Adds a volume that is not a single partition. It consists of the partitions that hold its
    /// extents, or of whole disks.
    fn add_composite_volume(&self, index: usize, volume: &Volume, inventory: &mut Inventory) {
        let name = volume.short_name();
        let mut lower_devices: Vec<String> = Vec::new();
        for extent in volume.extents.iter().flatten() {
            let Some(disk) = self.disk(extent.disk) else { continue };
            let entries = disk.layout.iter().flat_map(|layout| &layout.partitions);
            let contains_extent = |entry: &&PartitionEntry| {
                entry.number > 0
                    && entry.start <= extent.start
                    && extent.start < entry.start.saturating_add(entry.length)
            };
            let partition = entries.into_iter().find(contains_extent);
            let lower_device = partition.map_or_else(|| disk.name(), |entry| partition_name(disk.number, entry.number));
            if !lower_devices.contains(&lower_device) {
                lower_devices.push(lower_device);
            }
        }
        // Without extents, the disks that it uses are unknown.
        if lower_devices.is_empty() {
            let mount_point = volume.mount_point().unwrap_or(&volume.name);
            let doubt = format!("the disk of volume {mount_point} is unknown");
            inventory.uses.push(Use::doubt(None, doubt));
        }
        for device in &mut inventory.devices {
            if lower_devices.contains(&device.name) {
                device.part_of.push(name.clone());
            }
        }
        inventory.devices.push(BlockDevice {
            name,
            number: Volume::number_without_partition(index),
            size: volume.size,
            kind: BlockKind::Volume {
                at: volume.mount_point().cloned(),
            },
            made_of: lower_devices,
            read_only: volume.read_only,
            ..BlockDevice::default()
        });
    }

    fn add_page_files(&self, inventory: &mut Inventory) {
        let Some(paths) = &self.page_files else {
            let doubt = "Windows did not report where its page files are";
            inventory.uses.push(Use::doubt(None, doubt));
            return;
        };
        for path in paths {
            let device = self.find_volume(path).map(|index| self.device_number(index));
            inventory.swaps.push(Swap {
                path: path.clone(),
                identity: device.map(Identity::BlockDevice),
            });
            if device.is_none() {
                let doubt = format!("the disk of page file {path} is unknown");
                inventory.uses.push(Use::doubt(None, doubt));
            }
        }
    }

    /// Adds the volume that Windows runs from, and the boot partitions on the same disks.
    fn add_system_use(&self, inventory: &mut Inventory) {
        let folder = self.system_folder.as_deref();
        let index = folder.and_then(|folder| {
            self.volumes
                .iter()
                .position(|volume| Storage::contains_path(volume, folder))
        });
        let Some(index) = index else {
            let doubt = "Windows did not report which disk it runs from";
            inventory.uses.push(Use::doubt(None, doubt));
            return;
        };
        let volume = &self.volumes[index];
        inventory.uses.push(Use {
            device: Some(self.device_number(index)),
            kind: UseKind::System("runs from"),
        });
        for disk in self.disks.iter().filter(|disk| volume.is_on_disk(disk.number)) {
            let entries = disk.layout.iter().flat_map(|layout| &layout.partitions);
            let is_boot_partition = |entry: &&PartitionEntry| {
                let by_type = matches!(entry.kind, PartitionType::Gpt(EFI_SYSTEM | RESERVED));
                entry.number > 0 && (by_type || entry.is_bootable)
            };
            inventory
                .uses
                .extend(entries.filter(is_boot_partition).map(|entry| Use {
                    device: Some(DeviceNumber::new(disk.number, entry.number)),
                    kind: UseKind::System("is started from"),
                }));
        }
    }

    /// The facts of a device and of the devices below it, nearest first.
    pub fn chain(&self, number: DeviceNumber) -> Vec<Device> {
        let inventory = self.inventory();
        let Some(device) = inventory.device(number) else {
            return Vec::new();
        };
        let mut chain = vec![self.device_facts(device)];
        let mut next = 0;
        let mut names = vec![device.name.clone()];
        while let Some(name) = names.get(next).cloned() {
            next += 1;
            let Some(device) = inventory.device_by_name(&name) else {
                continue;
            };
            for lower in device.partition_of.iter().chain(&device.made_of) {
                if let Some(device) = inventory.device_by_name(lower).filter(|_| !names.contains(lower)) {
                    names.push(lower.clone());
                    chain.push(self.device_facts(device));
                }
            }
        }
        chain
    }

    /// Facts about a device of the inventory. A partition has the sectors, the cache and the model
    /// of its disk.
    fn device_facts(&self, device: &BlockDevice) -> Device {
        let of_disk = self
            .disk(device.number.major)
            .map(|disk| disk.facts.clone())
            .unwrap_or_default();
        let (kind, detail) = match &device.kind {
            BlockKind::Disk => ("disk", of_disk.detail.clone()),
            BlockKind::Partition => ("partition", None),
            _ => ("volume", None),
        };
        Device {
            name: device.name.clone(),
            number: device.number.to_string(),
            size: Bytes(device.size),
            kind: kind.into(),
            detail,
            read_only: device.read_only,
            ..of_disk
        }
    }

    /// The devices under a volume.
    pub fn under_volume(&self, index: usize) -> Vec<Device> {
        self.chain(self.device_number(index))
    }

    /// The file system of a volume, without its space.
    pub fn file_system(&self, index: usize) -> Option<FileSystem> {
        let volume = &self.volumes[index];
        let VolumeContents::FileSystem { kind, .. } = &volume.contents else {
            return None;
        };
        Some(FileSystem {
            kind: kind.clone(),
            mount_point: volume.mount_point().unwrap_or(&volume.name).clone(),
            options: if volume.read_only { "ro" } else { "rw" }.into(),
            ..FileSystem::default()
        })
    }
}

/// The group to which a disk with a partition of this type belongs.
fn group_of_partition_type(kind: PartitionType) -> Option<&'static str> {
    match kind {
        PartitionType::Gpt(DYNAMIC_DATA | DYNAMIC_DATABASE) | PartitionType::Mbr(0x42) => {
            Some("a group of dynamic disks")
        }
        PartitionType::Gpt(STORAGE_SPACES) | PartitionType::Mbr(0xe7) => Some("a pool of Storage Spaces"),
        PartitionType::Gpt(CLUSTER) => Some("a failover cluster"),
        PartitionType::Gpt(_) | PartitionType::Mbr(_) | PartitionType::Unknown => None,
    }
}
