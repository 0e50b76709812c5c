//! Lists the devices and file systems of this machine, with the guard's decisions.

use engine::probe::{BlockDevice, Inventory, Mount, System, device_chain};
use engine::{FileKind, Identity, sys};
use model::Bytes;
use model::environment::{Device, FileSystem};

use crate::targets::MarkState;
use crate::targets::examine::fillable_bytes;

use super::{CallerKind, Candidate, Contents, Decision, Guard, Intent, Permissions, Reason, Refusal, signature};

/// A device or file system that could be tested.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// Path of the device, or mount point of the file system.
    pub path: String,
    /// A device or a file system, with its name and size.
    pub kind: ListingKind,
    /// Mount points of the device, or of file systems on it.
    pub mounted_at: Vec<String>,
    /// Signatures of file systems, tables and databases found on it.
    pub contents: Contents,
    /// The error of opening it for reading, if any.
    pub read_error: Option<String>,
    /// The guard's decision about writes.
    pub write: WriteAccess,
}

/// The device or file system of a listing.
#[derive(Clone, Debug, PartialEq)]
pub enum ListingKind {
    /// A disk, a partition or another block device.
    Device(Box<Device>),
    /// A mounted file system, on which files can be created.
    FileSystem(FileSystem),
}

/// The guard's decision about writes of a native command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteAccess {
    /// Allowed without further permission.
    Yes,
    /// Allowed if the user names the target again.
    IfNamed(Refusal),
    /// Refused, with the reasons.
    No(Refusal),
}

/// Lists every disk, partition and mounted file system. Opens devices only for reading, and not
/// exclusively.
pub fn list(system: &System) -> Vec<Listing> {
    let permissions = Permissions::default();
    let guard = Guard::new(system, CallerKind::Native, &permissions);
    let inventory = guard.inventory();
    let devices = inventory.devices.iter().filter(|device| device.size > 0);
    let devices = devices.map(|device| list_device(system, &guard, device));
    let file_systems = file_systems(inventory)
        .into_iter()
        .map(|mount| list_mount(system, mount));
    devices.chain(file_systems).collect()
}

fn list_device(system: &System, guard: &Guard<'_>, device: &BlockDevice) -> Listing {
    let path = device.path();
    let opened = system.open(&path);
    let read_error = opened.as_ref().err().map(ToString::to_string);
    let contents = Contents::from_reading(opened.and_then(|mut file| signature::find(&mut file, device.size)));
    let subject = Candidate {
        path: path.clone().into(),
        kind: FileKind::BlockDevice,
        identity: Some(Identity::BlockDevice(device.number)),
        size: device.size,
        mark: MarkState::Unmarked,
        contents: contents.clone(),
        claimed: false,
    };
    let write = match guard.decide(&subject, Intent::WRITE) {
        _ if device.read_only => WriteAccess::No(read_only_refusal(&path)),
        Decision::Allowed { .. } => WriteAccess::Yes,
        Decision::Refused(refusal) if refusal.can_be_lifted() => WriteAccess::IfNamed(refusal),
        Decision::Refused(refusal) => WriteAccess::No(refusal),
    };
    let facts = device_chain(system, &[device.number]).into_iter().next();
    Listing {
        path,
        kind: ListingKind::Device(Box::new(facts.unwrap_or_default())),
        mounted_at: mount_points(guard.inventory(), device),
        contents,
        read_error,
        write,
    }
}

fn read_only_refusal(path: &str) -> Refusal {
    Refusal::new(path.as_ref(), Intent::WRITE, vec![Reason::ReadOnly], CallerKind::Native)
}

/// The mount points of the device and of the devices built on it.
fn mount_points(inventory: &Inventory, device: &BlockDevice) -> Vec<String> {
    let mut mount_points: Vec<String> = Vec::new();
    let mut waiting = vec![device];
    let mut seen = Vec::new();
    while let Some(device) = waiting.pop() {
        if seen.contains(&device.number) {
            continue;
        }
        seen.push(device.number);
        for mount in inventory.mounts_on(device) {
            if !mount_points.contains(&mount.mount_point) {
                mount_points.push(mount.mount_point.clone());
            }
        }
        waiting.extend(inventory.directly_above(device));
    }
    mount_points.sort();
    mount_points
}

/// Types of file systems that have no local device but can be tested with files.
const TYPES_WITHOUT_DEVICE: [&str; 14] = [
    "nfs", "nfs4", "cifs", "smb3", "ceph", "zfs", "virtiofs", "9p", "lustre", "gpfs", "beegfs", "overlay", "ocfs2",
    "gfs2",
];
/// Types of file systems that are always read-only.
const READ_ONLY_TYPES: [&str; 4] = ["squashfs", "erofs", "iso9660", "cramfs"];

/// Selects one mount per file system: the mount of its root, if there is one.
fn file_systems(inventory: &Inventory) -> Vec<&Mount> {
    let mut chosen: Vec<&Mount> = Vec::new();
    for mount in &inventory.mounts {
        let counts = mount.device.is_some() || TYPES_WITHOUT_DEVICE.contains(&mount.fs_type.as_str());
        if !counts || READ_ONLY_TYPES.contains(&mount.fs_type.as_str()) {
            continue;
        }
        match chosen.iter_mut().find(|listed| listed.number == mount.number) {
            Some(listed) if mount.root.len() < listed.root.len() => *listed = mount,
            Some(_) => {}
            None => chosen.push(mount),
        }
    }
    chosen
}

fn list_mount(system: &System, mount: &Mount) -> Listing {
    // Recorded trees do not include free space.
    let space = system
        .is_live()
        .then(|| sys::facts::read_space(mount.mount_point.as_ref()))
        .flatten();
    let (size, available) = space.unwrap_or((0, 0));
    Listing {
        path: mount.mount_point.clone(),
        kind: ListingKind::FileSystem(FileSystem {
            kind: mount.fs_type.clone(),
            mount_point: mount.mount_point.clone(),
            options: mount.options.clone(),
            size: Bytes(size),
            available: Bytes(available),
        }),
        mounted_at: vec![mount.mount_point.clone()],
        contents: Contents::Known(Vec::new()),
        read_error: None,
        write: if mount.is_read_only() {
            WriteAccess::No(read_only_refusal(&mount.mount_point))
        } else {
            WriteAccess::Yes
        },
    }
}

impl Listing {
    /// The kernel's name of the device, or the type of the file system.
    pub fn name(&self) -> &str {
        match &self.kind {
            ListingKind::Device(device) => &device.name,
            ListingKind::FileSystem(file_system) => &file_system.kind,
        }
    }

    /// The largest file that fathom creates on the file system; `None` for a device.
    pub fn max_file_size(&self) -> Option<Bytes> {
        match &self.kind {
            ListingKind::Device(_) => None,
            ListingKind::FileSystem(file_system) => {
                let fillable = fillable_bytes(file_system.size.0, file_system.available.0);
                Some(Bytes(fillable >> 20 << 20))
            }
        }
    }

    /// Size of the device or the file system.
    pub fn size(&self) -> Bytes {
        match &self.kind {
            ListingKind::Device(device) => device.size,
            ListingKind::FileSystem(file_system) => file_system.size,
        }
    }
}
