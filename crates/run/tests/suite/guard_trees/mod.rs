//! Decisions of the guard on recorded trees of `/proc`, `/sys` and `/dev`, so that tests need no
//! LVM, RAID, ZFS or multipath.
//!
//! `tests/data/trees/README.md` describes the trees. The contents of devices cannot be recorded, so
//! tests define them. Everything else comes from the tree.

mod files;

use engine::probe::System;
use engine::{FileKind, Identity};
use run::targets::MarkState;
use run::targets::guard::{
    CallerKind, Candidate, Contents, Decision, Guard, Intent, ListingKind, Signature, SignatureKind, WriteAccess, list,
};

use crate::prelude::*;

fn load_tree(name: &str) -> System {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/trees")
        .join(name);
    assert!(folder.is_dir(), "tree {name} is missing");
    System::from_tree(&folder)
}

/// A question to the guard. By default, a native command asks to write to a blank, foreign target.
struct Question {
    tree: System,
    subject: Candidate,
    intent: Intent,
    caller: CallerKind,
    permissions: Permissions,
}

fn ask(name: &str, path: &str) -> Question {
    let tree = load_tree(name);
    let identity = tree.identity(path);
    let kind = match identity {
        Some(Identity::BlockDevice(_)) => FileKind::BlockDevice,
        Some(Identity::CharacterDevice(_)) => FileKind::CharacterDevice,
        Some(Identity::File { .. }) => FileKind::Regular,
        None => panic!("{path} is not in the tree {name}"),
    };
    Question {
        tree,
        subject: Candidate {
            path: PathBuf::from(path),
            kind,
            identity,
            size: 1 << 20,
            mark: MarkState::Unmarked,
            contents: Contents::Known(Vec::new()),
            claimed: false,
        },
        intent: Intent::WRITE,
        caller: CallerKind::Native,
        permissions: Permissions::default(),
    }
}

impl Question {
    fn for_drop_in(self) -> Question {
        Question {
            caller: CallerKind::DropIn,
            ..self
        }
    }

    fn with_intent(self, intent: Intent) -> Question {
        Question { intent, ..self }
    }

    fn allow_destroy(mut self, name: &str) -> Question {
        self.permissions.destroy.push(name.into());
        self
    }

    fn allow_overwrite(mut self, name: &str) -> Question {
        self.permissions.overwrite.push(name.into());
        self
    }

    fn with_signature(mut self, kind: SignatureKind, name: &'static str, label: Option<&str>) -> Question {
        let signature = Signature {
            kind,
            name,
            offset: 0,
            label: label.map(str::to_owned),
        };
        match &mut self.subject.contents {
            Contents::Known(found) => found.push(signature),
            Contents::Unknown { .. } => panic!("its contents are unknown"),
        }
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Candidate)) -> Question {
        change(&mut self.subject);
        self
    }

    fn decision(&self) -> Decision {
        Guard::new(&self.tree, self.caller, &self.permissions).decide(&self.subject, self.intent)
    }

    #[track_caller]
    fn assert_refused(&self, reasons: &[&str]) {
        let decision = self.decision();
        let refusal = decision.refusal().expect("the guard refuses");
        let reported: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(reported, reasons, "{:?} by {:?}", self.intent, self.caller);
        assert!(!refusal.help.is_empty());
    }

    /// Checks that a target in use is refused to every caller, even with all permissions.
    #[track_caller]
    fn assert_always_refused(self, reasons: &[&str]) {
        let path = self.subject.path.display().to_string();
        let mut question = self.allow_destroy(&path).allow_overwrite(&path);
        for caller in [CallerKind::Native, CallerKind::DropIn] {
            for intent in [
                Intent::WRITE,
                Intent::TRIM,
                Intent::TRUNCATE,
                Intent::UNLINK,
                Intent::LAY_OUT,
                Intent::PUNCH,
            ] {
                (question.caller, question.intent) = (caller, intent);
                question.assert_refused(reasons);
            }
        }
        question.permissions = Permissions::default();
        question.caller = CallerKind::Native;
        question.with_intent(Intent::READ).assert_allowed(&[]);
    }

    #[track_caller]
    fn assert_help(self, help: &str) {
        assert_eq!(self.decision().refusal().expect("the guard refuses").help, help);
    }

    #[track_caller]
    fn assert_allowed(self, notes: &[&str]) {
        match self.decision() {
            Decision::Allowed { notes: found } => {
                let reported: Vec<String> = found.iter().map(ToString::to_string).collect();
                assert_eq!(reported, notes);
            }
            Decision::Refused(refusal) => panic!("{refusal}"),
        }
    }
}

const NOT_NAMED: &str = "it is a device, and the loss of its contents was not permitted";
const BLANK: &str = "a device without any known mark will be written to";
const FOREIGN: &str = "it is a file of 1 MiB that fathom did not create";
const OVERWRITES: &str = "a file of 1 MiB without a mark of fathom's will be changed";

/// Checks that a target is not in use, so that permission to destroy it is sufficient.
#[track_caller]
fn assert_free(tree: &str, path: &str) {
    ask(tree, path).assert_refused(&[NOT_NAMED]);
    ask(tree, path).allow_destroy(path).assert_allowed(&[]);
    ask(tree, path).for_drop_in().assert_allowed(&[BLANK]);
    ask(tree, path).with_intent(Intent::READ).assert_allowed(&[]);
}

#[test]
fn the_system_disk_and_its_used_partitions_are_refused() {
    ask("system-disk", "/dev/sda").assert_always_refused(&[
        "its partition sda1 is mounted at /boot/efi (vfat)",
        "its partition sda2 is mounted at / (ext4)",
        "the system swaps to its partition sda3",
    ]);
    ask("system-disk", "/dev/sda2").assert_always_refused(&["it is mounted at / (ext4)"]);
    ask("system-disk", "/dev/sda3").assert_always_refused(&["the system swaps to it"]);
    // Another partition of the disk shares no block with them.
    assert_free("system-disk", "/dev/sda4");
    // Aliases are the same device.
    ask("system-disk", "/dev/disk/by-uuid/1234-ABCD").assert_always_refused(&["it is mounted at /boot/efi (vfat)"]);
    ask("system-disk", "/dev/disk/by-id/ata-SYSTEM")
        .assert_help("this system runs from it; choose another target. No option overrides this");
    ask("system-disk", "/dev/sda1")
        .assert_help("unmount it (umount /boot/efi) first, or choose another target; no option overrides this");
}

#[test]
fn members_of_used_volume_groups_are_refused() {
    ask("lvm", "/dev/sda").assert_always_refused(&[
        "its partition sda1 is mounted at /boot (ext4)",
        "its partition sda2 is part of the LVM volume vg0-root (dm-0)",
        "its partition sda2 is part of the LVM volume vg0-swap (dm-1)",
        "its partition sda2 is part of the LVM volume vg0-scratch (dm-2)",
        "dm-0, which is built on it, is mounted at / (ext4)",
        "the system swaps to dm-1, which is built on it",
    ]);
    ask("lvm", "/dev/sdb").assert_always_refused(&["it is part of the LVM volume vg0-scratch (dm-2)"]);
}

#[test]
fn an_unused_logical_volume_is_free_in_a_used_group() {
    assert_free("lvm", "/dev/vg0/scratch");
    ask("lvm", "/dev/mapper/vg0-root").assert_always_refused(&["it is mounted at / (ext4)"]);
    ask("lvm", "/dev/dm-1").assert_always_refused(&["the system swaps to it"]);
    // The permission may use another name of the device.
    ask("lvm", "/dev/dm-2")
        .allow_destroy("/dev/vg0/scratch")
        .assert_allowed(&[]);
    ask("lvm", "/dev/dm-2")
        .allow_destroy("/dev/mapper/vg0-scratch")
        .assert_allowed(&[]);
    ask("lvm", "/dev/dm-2")
        .allow_destroy("/dev/mapper/vg0-root")
        .assert_refused(&[NOT_NAMED]);
}

#[test]
fn an_inactive_physical_volume_needs_permission() {
    let volume = || ask("blank-disk", "/dev/sdb").with_signature(SignatureKind::VolumeManager, "LVM physical", None);
    volume().assert_refused(&["it contains an LVM physical volume"]);
    volume()
        .for_drop_in()
        .assert_refused(&["it contains an LVM physical volume"]);
    volume().assert_help("if everything on it may be lost, name it again: --allow-destroy /dev/sdb");
    volume()
        .for_drop_in()
        .assert_help("if everything on it may be lost, name it again: FATHOM_ALLOW_DESTROY=/dev/sdb");
    volume()
        .allow_destroy("/dev/sdb")
        .assert_allowed(&["an LVM physical volume on it will be lost"]);
    volume()
        .for_drop_in()
        .allow_destroy("/dev/disk/by-id/scsi-BLANK")
        .assert_allowed(&["an LVM physical volume on it will be lost"]);
    volume()
        .allow_destroy("/dev/sda")
        .assert_refused(&["it contains an LVM physical volume"]);
}

#[test]
fn members_of_arrays_are_refused() {
    ask("raid1", "/dev/sdb").assert_always_refused(&[
        "its partition sdb1 is part of the RAID array md0 (raid1)",
        "md0, which is built on it, is mounted at /srv (xfs)",
    ]);
    ask("raid1", "/dev/sdc1").assert_always_refused(&[
        "it is part of the RAID array md0 (raid1)",
        "md0, which is built on it, is mounted at /srv (xfs)",
    ]);
    ask("raid1", "/dev/md0").assert_always_refused(&["it is mounted at /srv (xfs)"]);
    // An array that is assembled but not started uses its members too.
    ask("raid1", "/dev/sdd").assert_always_refused(&["it is part of the RAID array md127"]);
    // An unused array and its partition are free, but a member is in use.
    assert_free("raid1", "/dev/md1p1");
    ask("raid1", "/dev/md1").assert_refused(&["it has partitions: md1p1"]);
    ask("raid1", "/dev/sde").assert_always_refused(&["it is part of the RAID array md1 (raid0)"]);
    // Only its contents identify a member of an array that is not assembled.
    assert_free("raid1", "/dev/sdf");
    ask("raid1", "/dev/sdf")
        .for_drop_in()
        .with_signature(SignatureKind::Raid, "Linux RAID", Some("host:0"))
        .assert_refused(&["it contains a Linux RAID array member \"host:0\""]);
}

#[test]
fn members_of_imported_pools_are_refused() {
    let member = |path, pool| ask("zfs", path).with_signature(SignatureKind::VolumeManager, "ZFS", Some(pool));
    // Only the label shows that an imported pool uses the device.
    member("/dev/sdb1", "tank")
        .allow_destroy("/dev/sdb1")
        .assert_refused(&["it is part of the ZFS pool \"tank\", which is imported"]);
    member("/dev/sdb1", "tank").assert_refused(&[
        "it is part of the ZFS pool \"tank\", which is imported",
        "it contains a ZFS volume \"tank\"",
    ]);
    member("/dev/sdb1", "tank")
        .assert_help("export the pool (zpool export tank) first, or choose another target; no option overrides this");
    // If the label cannot be read, the kernel still refuses exclusive access.
    let claimed = ask("zfs", "/dev/sdb1").with(|subject| subject.claimed = true);
    claimed
        .allow_destroy("/dev/sdb1")
        .assert_refused(&["something else uses it exclusively: a mount, an array, a volume or another program"]);
    member("/dev/sdc1", "old")
        .for_drop_in()
        .assert_refused(&["it contains a ZFS volume \"old\""]);
    member("/dev/sdc1", "old")
        .allow_destroy("/dev/sdc1")
        .assert_allowed(&["a ZFS volume \"old\" on it will be lost"]);
}

#[test]
fn paths_of_multipath_devices_are_refused() {
    let mounted_above = "dm-1, which is built on it, is mounted at /data (xfs)";
    let partition_above = "dm-0, which is built on it, is part of the device-mapper device mpatha-part1 (dm-1)";
    ask("multipath", "/dev/sdb").assert_always_refused(&[
        "it is part of the multipath device mpatha (dm-0)",
        partition_above,
        mounted_above,
    ]);
    // The kernel still shows the partitions of a path, which the multipath device uses too.
    ask("multipath", "/dev/sdb1").assert_always_refused(&[
        "the whole disk sdb is part of the multipath device mpatha (dm-0)",
        partition_above,
        mounted_above,
    ]);
    ask("multipath", "/dev/sdd").assert_always_refused(&["it is part of the multipath device mpathb (dm-2)"]);
    assert_free("multipath", "/dev/mapper/mpathb");
    ask("multipath", "/dev/mapper/mpatha").assert_always_refused(&[
        "it is part of the device-mapper device mpatha-part1 (dm-1)",
        mounted_above,
    ]);
}

#[test]
fn devices_of_open_encrypted_volumes_are_refused() {
    ask("luks", "/dev/sdb1").assert_always_refused(&[
        "it is part of the encrypted volume secret (dm-0)",
        "dm-0, which is built on it, is mounted at /secret (ext4)",
    ]);
    ask("luks", "/dev/mapper/secret").assert_always_refused(&["it is mounted at /secret (ext4)"]);
    let closed = || ask("luks", "/dev/sdc1").with_signature(SignatureKind::Encrypted, "LUKS2", Some("backup"));
    closed()
        .for_drop_in()
        .assert_refused(&["it contains a LUKS2 volume \"backup\""]);
    closed()
        .allow_destroy("/dev/sdc1")
        .assert_allowed(&["a LUKS2 volume \"backup\" on it will be lost"]);
    assert_free("luks", "/dev/sdc1");
}

#[test]
fn active_swap_space_is_refused() {
    ask("swap", "/dev/sda3").assert_always_refused(&["the system swaps to it"]);
    ask("swap", "/dev/disk/by-label/swap").assert_always_refused(&["the system swaps to it"]);
    ask("swap", "/dev/zram0").assert_always_refused(&["the system swaps to it"]);
    ask("swap", "/swap file").assert_always_refused(&["the system swaps to it"]);
    // The system swaps to the whole disk of this partition.
    ask("swap", "/dev/sdb1").assert_always_refused(&["the system swaps to the whole disk sdb"]);
    ask("swap", "/dev/sda3")
        .assert_help("stop using it as swap space (swapoff) first, or choose another target; no option overrides this");
    ask("swap-file", "/swapfile").assert_always_refused(&["the system swaps to it"]);
    // Another hard link to the same file.
    ask("swap-file", "/home/user/alias").assert_always_refused(&["the system swaps to it"]);
    ask("swap-file", "/home/user/data")
        .allow_overwrite("/home/user/data")
        .assert_allowed(&[OVERWRITES]);
    ask("system-disk", "/dev/sda4")
        .for_drop_in()
        .with_signature(SignatureKind::Swap, "swap space", None)
        .assert_refused(&["it contains swap space"]);
}

#[test]
fn files_of_loop_devices_are_refused() {
    const UNRESOLVED: &str = "the backing files of these loop devices are unknown: loop4";
    ask("loop", "/var/lib/images/disk.img").assert_always_refused(&[
        "the loop device /dev/loop0 uses it",
        "the loop device /dev/loop2 uses it",
    ]);
    ask("loop", "/var/lib/images/free.img").assert_always_refused(&["the loop device /dev/loop5 uses it"]);
    ask("loop", "/var/lib/images/other.img")
        .for_drop_in()
        .assert_allowed(&[UNRESOLVED, OVERWRITES]);
    ask("loop", "/dev/loop0").assert_always_refused(&["its partition loop0p1 is mounted at /mnt/image (ext4)"]);
    // Two loop devices use one file.
    ask("loop", "/dev/loop2")
        .assert_always_refused(&["loop0p1, which is built on it, is mounted at /mnt/image (ext4)"]);
    // A block device that a loop device uses, and the loop device.
    ask("loop", "/dev/sdb").assert_always_refused(&["the loop device /dev/loop1 uses it"]);
    assert_free("loop", "/dev/loop1");
    assert_free("loop", "/dev/loop5");
    ask("loop", "/dev/loop6").assert_always_refused(&["sdc, on which it is built, is mounted at /whole (xfs)"]);
    ask("loop", "/dev/loop8")
        .assert_always_refused(&["loop7, which uses the same file, is mounted at /mnt/twin (ext4)"]);
    ask("loop", "/dev/loop9").assert_always_refused(&["a virtual machine has it open (qemu-system-x86, process 4242)"]);
}

#[test]
fn devices_of_caches_are_refused() {
    let above = "bcache0, which is built on it, is mounted at /cached (ext4)";
    for path in ["/dev/sdb", "/dev/sdc"] {
        ask("bcache", path).assert_always_refused(&["it is part of the bcache device bcache0", above]);
    }
    // Registered as a cache that nothing uses yet.
    ask("bcache", "/dev/sdd").assert_always_refused(&["it is part of a bcache set"]);
    ask("bcache", "/dev/bcache0").assert_always_refused(&["it is mounted at /cached (ext4)"]);
}

#[test]
fn disks_of_virtual_machines_are_refused() {
    const HIDDEN: &str = "only root can see whether these virtual machines use it: firecracker (79)";
    let by_qemu = "a virtual machine has it open (qemu-system-x86, process 4242)";
    ask("qemu", "/dev/sdb").assert_always_refused(&[by_qemu]);
    ask("qemu", "/dev/sdb1")
        .assert_always_refused(&["a virtual machine has the whole disk sdb open (qemu-system-x86, process 4242)"]);
    ask("qemu", "/var/lib/vm/guest.qcow2").assert_always_refused(&[by_qemu]);
    ask("qemu", "/dev/mapper/vg0-guest").assert_always_refused(&["a virtual machine has it open (kvm, process 4300)"]);
    ask("qemu", "/dev/sdd").assert_always_refused(&[
        "it is part of the LVM volume vg0-guest (dm-0)",
        "it is part of the LVM volume vg0-free (dm-1)",
        "a virtual machine has dm-0, which is built on it, open (kvm, process 4300)",
    ]);
    ask("qemu", "/dev/sdb")
        .assert_help("stop the virtual machine first, or choose another target; no option overrides this");
    // Other programs may have a device open. An unused volume of the same group is free.
    ask("qemu", "/dev/sdc")
        .allow_destroy("/dev/sdc")
        .assert_allowed(&[HIDDEN]);
    ask("qemu", "/dev/mapper/vg0-free")
        .allow_destroy("/dev/dm-1")
        .assert_allowed(&[HIDDEN]);
    ask("qemu", "/var/lib/vm/other.qcow2")
        .for_drop_in()
        .assert_allowed(&[HIDDEN, OVERWRITES]);
}

#[test]
fn a_blank_disk_needs_permission() {
    assert_free("blank-disk", "/dev/sdb");
    ask("blank-disk", "/dev/sdb")
        .assert_help("if everything on it may be lost, name it again: --allow-destroy /dev/sdb");
    ask("blank-disk", "/dev/sdb")
        .allow_destroy("/dev/disk/by-id/scsi-BLANK")
        .assert_allowed(&[]);
    // Permission for another device or an empty name is not sufficient, nor is permission to
    // overwrite a file.
    for name in ["/dev/sda", "/dev/sdb1", "sdb", "", "/dev/missing"] {
        ask("blank-disk", "/dev/sdb")
            .allow_destroy(name)
            .assert_refused(&[NOT_NAMED]);
    }
    ask("blank-disk", "/dev/sdb")
        .allow_overwrite("/dev/sdb")
        .assert_refused(&[NOT_NAMED]);
}

#[test]
fn an_unreadable_disk_needs_permission() {
    let unread = || {
        ask("blank-disk", "/dev/sdb").with(|subject| {
            subject.contents = Contents::Unknown {
                why: "Input/output error".into(),
            };
        })
    };
    let reason = "cannot examine its contents: Input/output error";
    unread().assert_refused(&[reason]);
    unread().for_drop_in().assert_refused(&[reason]);
    unread().allow_destroy("/dev/sdb").assert_allowed(&[]);
}

#[test]
fn a_disk_with_a_partition_table_needs_permission() {
    let disk = || ask("partition-table", "/dev/sdb").with_signature(SignatureKind::PartitionTable, "GPT", None);
    let reasons = ["it contains a GPT partition table", "it has partitions: sdb1"];
    disk().assert_refused(&reasons);
    disk().for_drop_in().assert_refused(&reasons);
    disk()
        .for_drop_in()
        .allow_destroy("/dev/sdb")
        .assert_allowed(&["a GPT partition table on it will be lost"]);
    // The kernel still has the partitions if the table was overwritten.
    ask("partition-table", "/dev/sdb")
        .for_drop_in()
        .assert_refused(&["it has partitions: sdb1"]);
    // Permission for the disk does not cover its partition, nor the other way around.
    ask("partition-table", "/dev/sdb1")
        .allow_destroy("/dev/sdb")
        .assert_refused(&[NOT_NAMED]);
    disk().allow_destroy("/dev/sdb1").assert_refused(&reasons);
    assert_free("partition-table", "/dev/sdb1");
}

#[test]
fn mounts_in_other_namespaces_and_bind_mounts_are_found() {
    ask("bind-mounts", "/dev/sdb1").assert_always_refused(&[
        "it is mounted at /mnt/disk, /srv/part of it, /etc/app.conf and 2 more places (ext4)",
    ]);
    assert_free("bind-mounts", "/dev/sdb2");
    // Mounted in the namespace of the first process only.
    ask("bind-mounts", "/dev/sdc").assert_always_refused(&["it is mounted at /outside (xfs)"]);
}

#[test]
fn each_device_of_a_mounted_file_system_is_refused() {
    ask("btrfs", "/dev/sdb").assert_always_refused(&["it is mounted at /pool (btrfs)"]);
    ask("btrfs", "/dev/sdc").assert_always_refused(&["it is mounted at /pool (btrfs)"]);
    assert_free("btrfs", "/dev/sdd");
}

#[test]
fn a_device_without_kernel_facts_is_refused() {
    let unseen = || {
        let mut question = ask("system-disk", "/dev/sda4");
        question.tree = load_tree("container");
        question
    };
    let reason = "the kernel shows nothing about this device, so it is unknown whether it is in use";
    unseen().assert_refused(&[reason]);
    unseen().for_drop_in().assert_refused(&[reason]);
}

#[test]
fn a_refusal_is_one_message() {
    let question = ask("lvm", "/dev/sdb").with_intent(Intent::READ | Intent::WRITE);
    assert_eq!(
        question.decision().refusal().unwrap().to_string(),
        "/dev/sdb must not be read and written:\n  it is part of the LVM volume vg0-scratch (dm-2)\n  help: stop \
         the program that uses it first, or choose another target; no option overrides this"
    );
}

/// Compares the list of targets. Writes are allowed (+), need permission (?), or are refused (-).
#[track_caller]
fn check_list(name: &str, expected: &[&str]) {
    let listed = list(&load_tree(name));
    let lines: Vec<String> = listed
        .iter()
        .map(|entry| {
            let write = match &entry.write {
                WriteAccess::Yes => "+".to_owned(),
                WriteAccess::IfNamed(refusal) => format!("? {}", refusal.reasons[0]),
                WriteAccess::No(refusal) => format!("- {}", refusal.reasons[0]),
            };
            let what = match &entry.kind {
                ListingKind::Device(device) => {
                    format!("{} {}", device.kind, device.model.as_deref().unwrap_or("no model"))
                }
                ListingKind::FileSystem(file_system) => file_system.kind.clone(),
            };
            format!("{} ({what}) at [{}]: {write}", entry.path, entry.mounted_at.join(" "))
        })
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_list_of_targets_has_the_decisions_of_the_guard() {
    check_list(
        "blank-disk",
        &[
            "/dev/sda (disk QEMU HARDDISK) at [/ /boot/efi]: - its partition sda1 is mounted at /boot/efi (vfat)",
            "/dev/sda1 (partition QEMU HARDDISK) at [/boot/efi]: - it is mounted at /boot/efi (vfat)",
            "/dev/sda2 (partition QEMU HARDDISK) at [/]: - it is mounted at / (ext4)",
            "/dev/sdb (disk QEMU HARDDISK) at []: ? it is a device, and the loss of its contents was not permitted",
            "/dev/sdc (disk Generic Flash Disk) at []: - the system does not permit writes to it",
            "/ (ext4) at [/]: +",
            "/boot/efi (vfat) at [/boot/efi]: +",
        ],
    );
    let listed = list(&load_tree("partition-table"));
    let disk = listed.iter().find(|entry| entry.path == "/dev/sdb").unwrap();
    assert_eq!(disk.name(), "sdb");
    assert_eq!(disk.size(), Bytes::kib(64));
    assert!(matches!(&disk.contents, Contents::Known(found) if found.len() == 1 && found[0].name == "MBR"));
    assert!(matches!(&disk.write, WriteAccess::IfNamed(refusal) if refusal.reasons.len() == 2));
    let root = listed.iter().find(|entry| entry.path == "/dev/sda2").unwrap();
    assert!(root.read_error.is_some(), "the tree has no image of it");
}

#[test]
fn device_facts_come_from_the_tree() {
    let number = |system: &System, path: &str| match system.identity(path) {
        Some(Identity::BlockDevice(number)) => number,
        other => panic!("{path} is {other:?}"),
    };
    let chain = |name: &str, path: &str| {
        let system = load_tree(name);
        let chain = engine::probe::device_chain(&system, &[number(&system, path)]);
        let words = chain
            .into_iter()
            .map(|device| format!("{} {}", device.name, device.kind));
        words.collect::<Vec<_>>()
    };
    chain("lvm", "/dev/vg0/scratch").assert_is(&["dm-2 device mapper", "sda2 partition", "sdb disk", "sda disk"]);
    chain("raid1", "/dev/md1p1").assert_is(&["md1p1 partition", "md1 RAID", "sde disk"]);
    // A loop device is above the file system of its file.
    chain("loop", "/dev/loop0").assert_is(&["loop0 loop", "sda2 partition", "sda disk"]);
    assert_eq!(chain("loop", "/dev/loop1"), ["loop1 loop", "sdb disk"]);
    let system = load_tree("system-disk");
    let devices = engine::probe::device_chain(&system, &[number(&system, "/dev/sda2")]);
    let [partition, disk] = &devices[..] else {
        panic!("{devices:?}")
    };
    assert_eq!(partition.physical_sector, Bytes(4096));
    assert_eq!(disk.model.as_deref(), Some("QEMU HARDDISK"));
    assert_eq!(disk.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(disk.queue_requests, Some(64));
    assert_eq!(disk.largest_request, Some(Bytes::kib(1280)));
    assert_eq!(disk.write_cache.as_deref(), Some("write back"));
    assert_eq!(disk.size, Bytes::gib(20));
    assert!(!disk.rotational && !disk.polled && disk.numa_node.is_none());
}
