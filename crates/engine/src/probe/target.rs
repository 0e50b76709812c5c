//! Facts about a target: its file system, its devices, its allocation.

use std::path::Path;

use model::Bytes;
use model::environment::{Allocation, Device, FileSystem, TargetFacts};

use super::blocks::{block_device, device_facts, kernel_name};
use super::mounts::{Mount, own_mounts, unescape};
use super::{BlockKind, System};
use crate::file::{File, FileKind};
use crate::identity::{DeviceNumber, Identity};
use crate::sys;

/// Maximum number of devices under one target. A longer chain indicates a loop.
const MAX_DEVICES: usize = 64;

/// Facts about an open file or device. `prepared` describes its preparation, for the report.
pub fn read_target_facts(system: &System, file: &File, prepared: &str) -> TargetFacts {
    let resolved = sys::native_facts::resolve_links(file.path()).unwrap_or_else(|_| file.path().to_owned());
    let mut facts = TargetFacts {
        path: resolved.display().to_string(),
        kind: kind_name(file.kind()).into(),
        size: Bytes(file.size()),
        direct_alignment: Bytes(file.direct_alignment()),
        prepared: prepared.into(),
        ..TargetFacts::default()
    };
    let number = DeviceNumber::from(file.device());
    let mounts = own_mounts(system);
    let mut target_mount = None;
    match file.kind() {
        FileKind::Regular => {
            if let Some((file_system, devices)) = sys::native_facts::file_system(&resolved) {
                (facts.file_system, facts.devices) = (Some(file_system), devices);
            } else if let Some(mount) = find_mount(&mounts, &resolved, number) {
                target_mount = Some(mount);
                facts.devices = device_chain(system, &device_numbers(system, mount, &mounts));
                facts.file_system = Some(read_file_system(mount, &resolved));
            }
            facts.allocation = file
                .handle()
                .and_then(|handle| sys::facts::read_allocation(handle, file.size()));
            let cluster = sys::native_facts::cluster_volume(&resolved);
            (facts.cluster_volume, facts.owner) = cluster.map(|volume| (volume.name, volume.owner)).unzip();
        }
        FileKind::BlockDevice => {
            facts.devices = device_chain(system, &[number]);
            facts.allocation = facts
                .devices
                .first()
                .and_then(|device| loop_allocation(system, &device.name));
        }
        FileKind::CharacterDevice | FileKind::Directory | FileKind::Nothing | FileKind::Other => {}
    }
    facts.stored_in = find_stores(system, &mounts, target_mount, &facts.devices);
    facts
}

/// The allocation of the file of a loop device: reads of its holes need no I/O.
fn loop_allocation(system: &System, device: &str) -> Option<Allocation> {
    let device = block_device(system, device)?;
    let backing = device.backing()?;
    // Another file, or a pipe, may have the name by now.
    let file = sys::names::open_nonblocking(Path::new(&backing.path)).ok()?;
    let is_backing = backing.identity.is_some() && sys::facts::open_file_identity(&file) == backing.identity;
    let meta = file.metadata().ok().filter(|meta| is_backing && meta.is_file())?;
    sys::facts::read_allocation(&file, meta.len())
}

fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Regular => "file",
        FileKind::BlockDevice => "block device",
        FileKind::CharacterDevice => "character device",
        FileKind::Directory => "directory",
        FileKind::Nothing => "nothing",
        FileKind::Other => "other",
    }
}

/// The file system of an existing path; links are resolved.
pub fn file_system(system: &System, path: &Path) -> Option<FileSystem> {
    let resolved = std::fs::canonicalize(path).ok()?;
    if system.is_live()
        && let Some((file_system, _)) = sys::native_facts::file_system(&resolved)
    {
        return Some(file_system);
    }
    let mounts = own_mounts(system);
    let mount = mount_of_file(&mounts, &resolved, sys::facts::read_identity(&resolved))?;
    Some(read_file_system(mount, &resolved))
}

/// File system, devices and stores of an existing directory, for a target to create in it.
pub fn folder(system: &System, path: &Path) -> TargetFacts {
    let mounts = own_mounts(system);
    let resolved = std::fs::canonicalize(path).ok();
    let own_mount = resolved.and_then(|path| mount_of_file(&mounts, &path, sys::facts::read_identity(&path)));
    let devices = devices_under(system, path).unwrap_or_default();
    TargetFacts {
        file_system: file_system(system, path),
        stored_in: find_stores(system, &mounts, own_mount, &devices),
        devices,
        ..TargetFacts::default()
    }
}

fn read_file_system(mount: &Mount, path: &Path) -> FileSystem {
    let (size, available) = sys::facts::read_space(path).unwrap_or((0, 0));
    let mut options = mount.options.clone();
    for option in mount.super_options.split(',') {
        if !options.split(',').any(|listed| listed == option) {
            options.push(',');
            options.push_str(option);
        }
    }
    FileSystem {
        kind: mount.fs_type.clone(),
        mount_point: mount.mount_point.clone(),
        options,
        size: Bytes(size),
        available: Bytes(available),
    }
}

/// The mount of a path: the longest mount point that is a prefix of it. Among equal mount points,
/// the latest hides the others. Mounts with the file's device number take precedence, because the
/// list also contains hidden mounts.
fn find_mount<'a>(mounts: &'a [Mount], path: &Path, number: DeviceNumber) -> Option<&'a Mount> {
    let longest = |candidates: &mut dyn Iterator<Item = &'a Mount>| {
        candidates
            .filter(|mount| path.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.len())
    };
    let mut same_device = mounts.iter().filter(|mount| mount.number == number);
    longest(&mut same_device).or_else(|| longest(&mut mounts.iter()))
}

/// The mount of the file at a path with this identity.
fn mount_of_file<'a>(mounts: &'a [Mount], path: &Path, identity: Option<Identity>) -> Option<&'a Mount> {
    match identity? {
        Identity::File { device, .. } => find_mount(mounts, path, device),
        Identity::BlockDevice(_) | Identity::CharacterDevice(_) => None,
    }
}

/// The mounts with the layers of an overlay, the writable one first; none for other file systems.
/// A layer that this process cannot see, as in a container, has no mount.
fn overlay_layer_mounts<'a>(system: &System, mount: &Mount, mounts: &'a [Mount]) -> Vec<Option<&'a Mount>> {
    if mount.fs_type != "overlay" {
        return Vec::new();
    }
    // The options may contain relative paths; try the mount point and each directory above it as
    // their base.
    let find = |layer: &str| {
        Path::new(&mount.mount_point).ancestors().find_map(|folder| {
            let path = folder.join(unescape(layer));
            mount_of_file(mounts, &path, system.identity(path.to_str()?))
        })
    };
    let options = |prefix: &'static str| {
        let all = mount.super_options.split(',');
        all.filter_map(move |option| option.strip_prefix(prefix))
    };
    let paths = ["upperdir=", "lowerdir=", "lowerdir+="].into_iter().flat_map(options);
    paths.flat_map(|paths| paths.split(':')).map(find).collect()
}

/// What holds the data of an overlay or of loop devices: file systems, or the page cache.
fn find_stores(system: &System, mounts: &[Mount], target_mount: Option<&Mount>, devices: &[Device]) -> Vec<String> {
    let visible_layers = |mount: &Mount| overlay_layer_mounts(system, mount, mounts).into_iter().flatten();
    let mut backing_mounts: Vec<&Mount> = target_mount.into_iter().flat_map(visible_layers).collect();
    let mut stores = Vec::new();
    for name in devices.iter().map(|device| &device.name) {
        let Some(BlockKind::Loop { backing: Some(backing) }) = block_device(system, name).map(|device| device.kind)
        else {
            continue;
        };
        backing_mounts.extend(mount_of_file(mounts, Path::new(&backing.path), backing.identity));
        if system.read_value(&format!("/sys/class/block/{name}/loop/dio")) == Some(0) {
            stores.push("the page cache".to_owned());
        }
    }
    let mut next = 0;
    while next < backing_mounts.len().min(MAX_DEVICES) {
        backing_mounts.extend(visible_layers(backing_mounts[next]));
        next += 1;
    }
    stores.extend(backing_mounts.iter().map(|mount| mount.fs_type.clone()));
    stores
}

/// The devices of a file system; for an overlay, the devices of its first layer, if visible.
fn device_numbers(system: &System, mount: &Mount, mounts: &[Mount]) -> Vec<DeviceNumber> {
    if mount.fs_type == "btrfs"
        && let Some(number) = mount.device
        && let Some(name) = kernel_name(system, number)
    {
        let spanned = system.list_names("/sys/fs/btrfs").into_iter();
        let devices = spanned
            .map(|id| system.list_names(&format!("/sys/fs/btrfs/{id}/devices")))
            .find(|names| names.contains(&name));
        let read_device_number = |name: &String| system.read_value(&format!("/sys/class/block/{name}/dev"));
        return devices.map_or(vec![number], |names| {
            names.iter().filter_map(read_device_number).collect()
        });
    }
    if mount.fs_type == "overlay" {
        let first = overlay_layer_mounts(system, mount, mounts).into_iter().next().flatten();
        return first.and_then(|mount| mount.device).into_iter().collect();
    }
    mount.device.into_iter().collect()
}

/// These devices and the ones below them, without duplicates, the nearest first.
pub fn device_chain(system: &System, numbers: &[DeviceNumber]) -> Vec<Device> {
    if let Some(storage) = system.storage() {
        return numbers.iter().flat_map(|number| storage.chain(*number)).collect();
    }
    let mut chain: Vec<Device> = Vec::new();
    let mut names: Vec<String> = numbers
        .iter()
        .filter_map(|number| kernel_name(system, *number))
        .collect();
    let mut next = 0;
    while next < names.len().min(MAX_DEVICES) {
        let name = names[next].clone();
        next += 1;
        let Some(device) = block_device(system, &name) else {
            continue;
        };
        chain.push(device_facts(system, &device));
        let mut lower: Vec<String> = device.partition_of.iter().chain(&device.made_of).cloned().collect();
        if let BlockKind::Loop { backing: Some(backing) } = &device.kind {
            lower.extend(devices_under_backing(system, &backing.path, backing.identity));
        }
        for name in lower {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    chain
}

/// The devices under a block device, file or directory, the nearest first. `None` if the path does
/// not exist; empty if no device is known.
pub fn devices_under(system: &System, path: &Path) -> Option<Vec<Device>> {
    if system.is_live()
        && let Some((_, devices)) = sys::native_facts::file_system(path)
    {
        return Some(devices);
    }
    let resolved = std::fs::canonicalize(path).ok()?;
    Some(match sys::facts::read_identity(&resolved)? {
        Identity::BlockDevice(number) => device_chain(system, &[number]),
        Identity::CharacterDevice(_) => Vec::new(),
        Identity::File { device, .. } => {
            let mounts = own_mounts(system);
            let mount = find_mount(&mounts, &resolved, device);
            mount.map_or(Vec::new(), |mount| {
                device_chain(system, &device_numbers(system, mount, &mounts))
            })
        }
    })
}

fn devices_under_backing(system: &System, path: &str, identity: Option<Identity>) -> Vec<String> {
    let numbers = match identity {
        Some(Identity::BlockDevice(number)) => vec![number],
        identity => {
            let mounts = own_mounts(system);
            let mount = mount_of_file(&mounts, Path::new(path), identity);
            mount.map_or(Vec::new(), |mount| device_numbers(system, mount, &mounts))
        }
    };
    numbers
        .iter()
        .filter_map(|number| kernel_name(system, *number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    fn mounts(text: &str) -> Vec<Mount> {
        let (_root, system) = tree(&[("proc/self/mountinfo", text)]);
        own_mounts(&system)
    }

    #[test]
    fn finds_the_mount_of_a_path() {
        let mounts = mounts(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 8:2 / /home rw - xfs /dev/sda2 rw\n\
             3 1 0:40 /@ /data rw - btrfs /dev/sdb rw\n\
             4 1 8:3 / /home rw - ext4 /dev/sda3 rw\n",
        );
        for (path, number, expected) in [
            ("/etc/passwd", (8, 1), Some("8:1")),
            // The later mount hides the earlier one.
            ("/home/user/file", (8, 3), Some("8:3")),
            ("/homework", (8, 1), Some("8:1")),
            // A btrfs subvolume has its own device number.
            ("/data/file", (0, 99), Some("0:40")),
        ] {
            let mount = find_mount(&mounts, Path::new(path), DeviceNumber::from(number));
            assert_eq!(
                mount.map(|mount| mount.number.to_string()).as_deref(),
                expected,
                "{path}"
            );
        }
    }

    // An overlay's directories may be relative, and Windows joins paths with `\`.
    #[cfg(not(windows))]
    #[test]
    fn the_data_of_overlays_and_loop_devices_is_found() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 0:39 / /t/tm rw - tmpfs t rw\n\
            3 1 0:40 / /t/ov rw - overlay o rw,lowerdir=low,upperdir=tm/u,workdir=tm/w\n\
            4 1 0:41 / /t/up rw - overlay o rw,lowerdir=/t/ov\n";
        for (dio, expected) in [("0\n", &["the page cache", "tmpfs"][..]), ("1\n", &["tmpfs"])] {
            let (_root, system) = tree(&[
                ("proc/self/mountinfo", mounts),
                (
                    "stat",
                    "file 8:1 5 /t/low\nfile 0:39 7 /t/tm/u\nfile 0:40 8 /t/ov\nfile 0:39 9 /t/tm/img\n",
                ),
                ("sys/class/block/loop0/dev", "7:0\n"),
                ("sys/class/block/loop0/loop/backing_file", "/t/tm/img\n"),
                ("sys/class/block/loop0/loop/dio", dio),
            ]);
            let mounts = own_mounts(&system);
            let chain = device_chain(&system, &[DeviceNumber::from((7, 0))]);
            assert_eq!(find_stores(&system, &mounts, None, &chain), expected);
            let stores = |mount: usize| find_stores(&system, &mounts, Some(&mounts[mount]), &[]);
            assert_eq!(stores(2), ["tmpfs", "ext4"]);
            assert_eq!(stores(3), ["overlay", "tmpfs", "ext4"]);
            assert!(stores(0).is_empty());
        }
    }

    /// In a container the directories of the overlay are often outside its mounts.
    #[test]
    fn an_invisible_writable_layer_is_not_replaced_by_a_lower_one() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 8:2 / /low rw - ext4 /dev/sdb1 rw\n\
            3 1 0:40 / /ov rw - overlay o rw,lowerdir=/low,upperdir=/up,workdir=/work\n";
        let devices = |stat: &str| {
            let (_root, system) = tree(&[("proc/self/mountinfo", mounts), ("stat", stat)]);
            let mounts = own_mounts(&system);
            device_numbers(&system, &mounts[2], &mounts)
        };
        assert_eq!(devices("file 8:2 5 /low\nfile 8:1 6 /up\n"), [DeviceNumber::new(8, 1)]);
        assert_eq!(devices("file 8:2 5 /low\n"), []);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn facts_about_a_file_on_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1u8; 8192]).unwrap();
        let options = crate::OpenOptions::to_inspect(false);
        let file = File::open(&path, options).unwrap();
        let facts = read_target_facts(&System::live(), &file, "by the test");
        assert_eq!((facts.kind.as_str(), facts.size), ("file", Bytes(8192)));
        let file_system = facts.file_system.unwrap();
        assert!(file_system.size >= file_system.available);
        assert!(path.starts_with(&file_system.mount_point));
    }
}
