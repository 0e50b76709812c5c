//! Block devices and their users at one moment.

use super::blocks::{BlockDevice, block_devices, is_hidden};
use super::guests::{OpenFile, Process, guest_files};
use super::mounts::{Mount, own_and_init_mounts};
use super::swaps::{Swap, read_swaps};
use super::{BlockKind, System};
use crate::identity::{DeviceNumber, Identity};

/// Block devices and their users at one moment.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Block devices, sorted by name.
    pub devices: Vec<BlockDevice>,
    /// Mounted file systems.
    pub mounts: Vec<Mount>,
    /// Swap space in use.
    pub swaps: Vec<Swap>,
    /// Files and devices that virtual machines have open.
    pub guest_files: Vec<OpenFile>,
    /// Virtual machines whose open files are not accessible.
    pub inaccessible_guests: Vec<Process>,
    /// Imported ZFS pools.
    pub zfs_pools: Vec<String>,
    /// True if the list is complete; a device that is not in it may be in use, unseen.
    pub is_complete: bool,
    /// Only loop devices are visible (a container), so other uses of the host's devices are
    /// unknown.
    pub shows_only_loop_devices: bool,
    /// Uses that no device, mount or swap space above reveals.
    pub uses: Vec<Use>,
    /// For each mounted btrfs, the names of its devices; the mount itself names only one.
    btrfs_members: Vec<Vec<String>>,
}

/// A use of a device that the other fields of an inventory do not show, for example on Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The device; `None` if any device may be affected.
    pub device: Option<DeviceNumber>,
    /// The kind of use.
    pub kind: UseKind,
}

impl Use {
    /// A doubt about a device; `None` for a doubt about any device.
    pub(super) fn doubt(device: Option<DeviceNumber>, what: impl Into<String>) -> Use {
        let kind = UseKind::MayBeInUse(what.into());
        Use { device, kind }
    }
}

/// The kind of use of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// The device is a member of this group.
    MemberOf(String),
    /// The system runs or boots from it; the verb for messages: `runs from` or `is started from`.
    System(&'static str),
    /// The device may be in use, because this fact is unknown.
    MayBeInUse(String),
}

impl Inventory {
    /// Reads the inventory. Takes a few milliseconds: a handful of files per device, and the names
    /// of all processes.
    pub fn take(system: &System) -> Inventory {
        if let Some(storage) = system.storage() {
            return storage.inventory();
        }
        let (guest_files, inaccessible_guests) = guest_files(system);
        let btrfs_ids = system.list_names("/sys/fs/btrfs").into_iter();
        Inventory {
            devices: block_devices(system),
            mounts: own_and_init_mounts(system),
            swaps: read_swaps(system),
            guest_files,
            inaccessible_guests,
            zfs_pools: zfs_pools(system),
            is_complete: false,
            shows_only_loop_devices: is_hidden(system),
            uses: Vec::new(),
            btrfs_members: btrfs_ids
                .map(|id| system.list_names(&format!("/sys/fs/btrfs/{id}/devices")))
                .filter(|names| !names.is_empty())
                .collect(),
        }
    }

    /// The device with a number.
    pub fn device(&self, number: DeviceNumber) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| device.number == number)
    }

    /// The device with a kernel name.
    pub fn device_by_name(&self, name: &str) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Mounts of the file system on a device, including one that spans several devices.
    pub fn mounts_on<'a>(&'a self, device: &'a BlockDevice) -> impl Iterator<Item = &'a Mount> {
        let partners: Vec<DeviceNumber> = self
            .btrfs_members
            .iter()
            .filter(|names| names.contains(&device.name))
            .flatten()
            .filter_map(|name| self.device_by_name(name))
            .map(|partner| partner.number)
            .chain([device.number])
            .collect();
        let is_on_device = move |mount: &&Mount| mount.device.is_some_and(|number| partners.contains(&number));
        self.mounts.iter().filter(is_on_device)
    }

    /// Swap space on a device or file.
    pub fn swaps_on(&self, identity: Identity) -> impl Iterator<Item = &Swap> {
        self.swaps.iter().filter(move |swap| swap.identity == Some(identity))
    }

    /// Other uses of a device; `None` for those that may affect any device.
    pub fn other_uses(&self, device: Option<DeviceNumber>) -> impl Iterator<Item = &UseKind> {
        self.uses
            .iter()
            .filter(move |usage| usage.device == device)
            .map(|usage| &usage.kind)
    }

    /// Loop devices backed by a device or file.
    pub fn loops_over(&self, identity: Identity) -> impl Iterator<Item = &BlockDevice> {
        let is_backed_by_it = move |device: &&BlockDevice| {
            device
                .backing()
                .is_some_and(|backing| backing.identity == Some(identity))
        };
        self.devices.iter().filter(is_backed_by_it)
    }

    /// Virtual machines that have a device or file open.
    pub fn guests_using(&self, identity: Identity) -> impl Iterator<Item = &Process> {
        let open_file = self
            .guest_files
            .iter()
            .filter(move |open_file| open_file.identity == identity);
        open_file.map(|open_file| &open_file.process)
    }

    /// The devices directly below a device: its disk, its members, the backing device of a loop
    /// device.
    pub fn directly_beneath(&self, device: &BlockDevice) -> Vec<&BlockDevice> {
        let names = device.partition_of.iter().chain(&device.made_of);
        let mut devices: Vec<&BlockDevice> = names.filter_map(|name| self.device_by_name(name)).collect();
        if let BlockKind::Loop { backing: Some(backing) } = &device.kind
            && let Some(Identity::BlockDevice(number)) = backing.identity
        {
            devices.extend(self.device(number));
        }
        devices
    }

    /// The devices directly above a device: partitions, holders, loop devices.
    pub fn directly_above(&self, device: &BlockDevice) -> Vec<&BlockDevice> {
        let names = device.partitions.iter().chain(&device.part_of);
        let mut devices: Vec<&BlockDevice> = names.filter_map(|name| self.device_by_name(name)).collect();
        devices.extend(self.loops_over(Identity::BlockDevice(device.number)));
        devices
    }
}

/// Imported ZFS pools, from the statistics directories of the ZFS module. Their members show
/// nothing in sysfs.
fn zfs_pools(system: &System) -> Vec<String> {
    let folder = "/proc/spl/kstat/zfs";
    let names = system.list_names(folder).into_iter();
    names
        .filter(|name| system.path(&format!("{folder}/{name}")).is_dir())
        .collect()
}
