//! The guard on recorded trees: machines with LVM, RAID, ZFS, multipath and more, none of which
//! need exist here.
//!
//! The trees are described in `tests/data/trees/README.md`. What stands on a device is handed in,
//! since a device cannot be recorded; everything else is read from the tree.

mod files;

use std::path::{Path, PathBuf};

use engine::probe::System;
use engine::{FileKind, Identity};
use run::targets::MarkState;
use run::targets::guard::{
    CallerKind, Candidate, Contents, Decision, Guard, Intent, ListingKind, Permissions, Signature, SignatureKind,
    WriteAccess, list,
};

fn tree(name: &str) -> System {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/trees")
        .join(name);
    assert!(folder.is_dir(), "there is no tree {name}");
    System::from_tree(&folder)
}

/// A question to the guard. What is not said is usual: a native command wants to write to a blank,
/// foreign target.
struct Ask {
    tree: System,
    subject: Candidate,
    intent: Intent,
    caller: CallerKind,
    permissions: Permissions,
}

fn ask(name: &str, path: &str) -> Ask {
    let tree = tree(name);
    let identity = tree.identity(path);
    let kind = match identity {
        Some(Identity::BlockDevice(_)) => FileKind::BlockDevice,
        Some(Identity::CharacterDevice(_)) => FileKind::CharacterDevice,
        Some(Identity::File { .. }) => FileKind::Regular,
        None => panic!("{path} is not in the tree {name}"),
    };
    Ask {
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

impl Ask {
    fn drop_in(self) -> Ask {
        Ask {
            caller: CallerKind::DropIn,
            ..self
        }
    }

    fn wants(self, intent: Intent) -> Ask {
        Ask { intent, ..self }
    }

    fn destroy(mut self, name: &str) -> Ask {
        self.permissions.destroy.push(name.into());
        self
    }

    fn overwrite(mut self, name: &str) -> Ask {
        self.permissions.overwrite.push(name.into());
        self
    }

    fn holds(mut self, kind: SignatureKind, name: &'static str, label: Option<&str>) -> Ask {
        let signature = Signature {
            kind,
            name,
            offset: 0,
            label: label.map(str::to_owned),
        };
        match &mut self.subject.contents {
            Contents::Known(found) => found.push(signature),
            Contents::Unknown { .. } => panic!("it cannot be looked at"),
        }
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Candidate)) -> Ask {
        change(&mut self.subject);
        self
    }

    fn decision(&self) -> Decision {
        Guard::new(&self.tree, self.caller, &self.permissions).decide(&self.subject, self.intent)
    }

    #[track_caller]
    fn refused(self, reasons: &[&str]) {
        let decision = self.decision();
        let refusal = decision.refusal().expect("it was allowed");
        let said: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(said, reasons);
        assert!(!refusal.help.is_empty());
    }

    #[track_caller]
    fn helped(self, help: &str) {
        assert_eq!(self.decision().refusal().expect("it was allowed").help, help);
    }

    #[track_caller]
    fn allowed(self, notes: &[&str]) {
        match self.decision() {
            Decision::Allowed { notes: found } => {
                let said: Vec<String> = found.iter().map(ToString::to_string).collect();
                assert_eq!(said, notes);
            }
            Decision::Refused(refusal) => panic!("{refusal}"),
        }
    }
}

const NOT_NAMED: &str = "it is a device, and the loss of its contents was not permitted";
const BLANK: &str = "a device without any known mark will be written to";
const FOREIGN: &str = "it is a file of 1 MiB that fathom did not create";
const OVERWRITES: &str = "a file of 1 MiB without a mark of fathom's will be changed";

/// In use: for every caller, and whatever is named again.
#[track_caller]
fn always_refused(tree: &str, path: &str, reasons: &[&str]) {
    for caller in [CallerKind::Native, CallerKind::DropIn] {
        for intent in [
            Intent::WRITE,
            Intent::TRIM,
            Intent::TRUNCATE,
            Intent::UNLINK,
            Intent::LAY_OUT,
            Intent::PUNCH,
        ] {
            let mut question = ask(tree, path).destroy(path).overwrite(path).wants(intent);
            question.caller = caller;
            question.refused(reasons);
        }
    }
    ask(tree, path).wants(Intent::READ).allowed(&[]);
}

/// Not in use: it only has to be named.
#[track_caller]
fn free(tree: &str, path: &str) {
    ask(tree, path).refused(&[NOT_NAMED]);
    ask(tree, path).destroy(path).allowed(&[]);
    ask(tree, path).drop_in().allowed(&[BLANK]);
    ask(tree, path).wants(Intent::READ).allowed(&[]);
}

#[test]
fn the_system_disk_and_its_parts() {
    always_refused(
        "system-disk",
        "/dev/sda",
        &[
            "its partition sda1 is mounted at /boot/efi (vfat)",
            "its partition sda2 is mounted at / (ext4)",
            "the system swaps to its partition sda3",
        ],
    );
    always_refused("system-disk", "/dev/sda2", &["it is mounted at / (ext4)"]);
    always_refused("system-disk", "/dev/sda3", &["the system swaps to it"]);
    // A neighbour on the same disk shares no block with them.
    free("system-disk", "/dev/sda4");
    // Aliases are the same device.
    always_refused(
        "system-disk",
        "/dev/disk/by-uuid/1234-ABCD",
        &["it is mounted at /boot/efi (vfat)"],
    );
    ask("system-disk", "/dev/disk/by-id/ata-SYSTEM")
        .helped("this system runs from it; choose another target. No option overrides this");
    ask("system-disk", "/dev/sda1")
        .helped("unmount it (umount /boot/efi) first, or choose another target; no option overrides this");
}

#[test]
fn volume_groups() {
    always_refused(
        "lvm",
        "/dev/sda",
        &[
            "its partition sda1 is mounted at /boot (ext4)",
            "its partition sda2 is part of the LVM volume vg0-root (dm-0)",
            "its partition sda2 is part of the LVM volume vg0-swap (dm-1)",
            "its partition sda2 is part of the LVM volume vg0-scratch (dm-2)",
            "dm-0, which is built on it, is mounted at / (ext4)",
            "the system swaps to dm-1, which is built on it",
        ],
    );
    always_refused("lvm", "/dev/sdb", &["it is part of the LVM volume vg0-scratch (dm-2)"]);
}

#[test]
fn an_unused_volume_is_free_although_its_group_is_not() {
    free("lvm", "/dev/vg0/scratch");
    always_refused("lvm", "/dev/mapper/vg0-root", &["it is mounted at / (ext4)"]);
    always_refused("lvm", "/dev/dm-1", &["the system swaps to it"]);
    // Named by another of its names.
    ask("lvm", "/dev/dm-2").destroy("/dev/vg0/scratch").allowed(&[]);
    ask("lvm", "/dev/dm-2").destroy("/dev/mapper/vg0-scratch").allowed(&[]);
    ask("lvm", "/dev/dm-2")
        .destroy("/dev/mapper/vg0-root")
        .refused(&[NOT_NAMED]);
}

#[test]
fn a_physical_volume_without_a_running_volume_must_be_named() {
    let volume = || ask("blank-disk", "/dev/sdb").holds(SignatureKind::VolumeManager, "LVM physical", None);
    volume().refused(&["it contains an LVM physical volume"]);
    volume().drop_in().refused(&["it contains an LVM physical volume"]);
    volume().helped("if everything on it may be lost, name it again: --allow-destroy /dev/sdb");
    volume()
        .drop_in()
        .helped("if everything on it may be lost, name it again: FATHOM_ALLOW_DESTROY=/dev/sdb");
    volume()
        .destroy("/dev/sdb")
        .allowed(&["an LVM physical volume on it will be lost"]);
    volume()
        .drop_in()
        .destroy("/dev/disk/by-id/scsi-BLANK")
        .allowed(&["an LVM physical volume on it will be lost"]);
    volume()
        .destroy("/dev/sda")
        .refused(&["it contains an LVM physical volume"]);
}

#[test]
fn arrays() {
    always_refused(
        "raid1",
        "/dev/sdb",
        &[
            "its partition sdb1 is part of the RAID array md0 (raid1)",
            "md0, which is built on it, is mounted at /srv (xfs)",
        ],
    );
    always_refused(
        "raid1",
        "/dev/sdc1",
        &[
            "it is part of the RAID array md0 (raid1)",
            "md0, which is built on it, is mounted at /srv (xfs)",
        ],
    );
    always_refused("raid1", "/dev/md0", &["it is mounted at /srv (xfs)"]);
    // Assembled but not started: the members are held all the same.
    always_refused("raid1", "/dev/sdd", &["it is part of the RAID array md127"]);
    // An unused array is free, and its partition; its member is not.
    free("raid1", "/dev/md1p1");
    ask("raid1", "/dev/md1").refused(&["it has partitions: md1p1"]);
    always_refused("raid1", "/dev/sde", &["it is part of the RAID array md1 (raid0)"]);
    // A member of an array that is not assembled shows only by what it holds.
    free("raid1", "/dev/sdf");
    ask("raid1", "/dev/sdf")
        .drop_in()
        .holds(SignatureKind::Raid, "Linux RAID", Some("host:0"))
        .refused(&["it contains a Linux RAID array member \"host:0\""]);
}

#[test]
fn pools() {
    let member = |path, pool| ask("zfs", path).holds(SignatureKind::VolumeManager, "ZFS", Some(pool));
    // Nothing but the label tells that an imported pool uses the device.
    member("/dev/sdb1", "tank")
        .destroy("/dev/sdb1")
        .refused(&["it is part of the ZFS pool \"tank\", which is imported"]);
    member("/dev/sdb1", "tank").refused(&[
        "it is part of the ZFS pool \"tank\", which is imported",
        "it contains a ZFS volume \"tank\"",
    ]);
    member("/dev/sdb1", "tank")
        .helped("export the pool (zpool export tank) first, or choose another target; no option overrides this");
    // The kernel's own word, where the label cannot be read.
    let claimed = ask("zfs", "/dev/sdb1").with(|subject| subject.claimed = true);
    claimed
        .destroy("/dev/sdb1")
        .refused(&["something else uses it exclusively: a mount, an array, a volume or another program"]);
    member("/dev/sdc1", "old")
        .drop_in()
        .refused(&["it contains a ZFS volume \"old\""]);
    member("/dev/sdc1", "old")
        .destroy("/dev/sdc1")
        .allowed(&["a ZFS volume \"old\" on it will be lost"]);
}

#[test]
fn multipath() {
    let mounted_above = "dm-1, which is built on it, is mounted at /data (xfs)";
    let partition_above = "dm-0, which is built on it, is part of the device-mapper device mpatha-part1 (dm-1)";
    always_refused(
        "multipath",
        "/dev/sdb",
        &[
            "it is part of the multipath device mpatha (dm-0)",
            partition_above,
            mounted_above,
        ],
    );
    // The kernel still shows the partitions of a path; they lie beneath the multipath device too.
    always_refused(
        "multipath",
        "/dev/sdb1",
        &[
            "the whole disk sdb is part of the multipath device mpatha (dm-0)",
            partition_above,
            mounted_above,
        ],
    );
    always_refused(
        "multipath",
        "/dev/sdd",
        &["it is part of the multipath device mpathb (dm-2)"],
    );
    free("multipath", "/dev/mapper/mpathb");
    always_refused(
        "multipath",
        "/dev/mapper/mpatha",
        &[
            "it is part of the device-mapper device mpatha-part1 (dm-1)",
            mounted_above,
        ],
    );
}

#[test]
fn encrypted_volumes() {
    always_refused(
        "luks",
        "/dev/sdb1",
        &[
            "it is part of the encrypted volume secret (dm-0)",
            "dm-0, which is built on it, is mounted at /secret (ext4)",
        ],
    );
    always_refused("luks", "/dev/mapper/secret", &["it is mounted at /secret (ext4)"]);
    let closed = || ask("luks", "/dev/sdc1").holds(SignatureKind::Encrypted, "LUKS2", Some("backup"));
    closed().drop_in().refused(&["it contains a LUKS2 volume \"backup\""]);
    closed()
        .destroy("/dev/sdc1")
        .allowed(&["a LUKS2 volume \"backup\" on it will be lost"]);
    free("luks", "/dev/sdc1");
}

#[test]
fn swap_space() {
    always_refused("swap", "/dev/sda3", &["the system swaps to it"]);
    always_refused("swap", "/dev/disk/by-label/swap", &["the system swaps to it"]);
    always_refused("swap", "/dev/zram0", &["the system swaps to it"]);
    always_refused("swap", "/swap file", &["the system swaps to it"]);
    // A partition of a disk that is swapped to as a whole.
    always_refused("swap", "/dev/sdb1", &["the system swaps to the whole disk sdb"]);
    ask("swap", "/dev/sda3")
        .helped("stop using it as swap space (swapoff) first, or choose another target; no option overrides this");
    always_refused("swap-file", "/swapfile", &["the system swaps to it"]);
    // Another hard link to the same file.
    always_refused("swap-file", "/home/user/alias", &["the system swaps to it"]);
    ask("swap-file", "/home/user/data")
        .overwrite("/home/user/data")
        .allowed(&[OVERWRITES]);
    ask("system-disk", "/dev/sda4")
        .drop_in()
        .holds(SignatureKind::Swap, "swap space", None)
        .refused(&["it contains swap space"]);
}

#[test]
fn loop_devices() {
    const UNRESOLVED: &str = "the backing files of these loop devices are unknown: loop4";
    always_refused(
        "loop",
        "/var/lib/images/disk.img",
        &[
            "the loop device /dev/loop0 uses it",
            "the loop device /dev/loop2 uses it",
        ],
    );
    always_refused(
        "loop",
        "/var/lib/images/free.img",
        &["the loop device /dev/loop5 uses it"],
    );
    ask("loop", "/var/lib/images/other.img")
        .drop_in()
        .allowed(&[UNRESOLVED, OVERWRITES]);
    always_refused(
        "loop",
        "/dev/loop0",
        &["its partition loop0p1 is mounted at /mnt/image (ext4)"],
    );
    // Two loop devices over one file.
    always_refused(
        "loop",
        "/dev/loop2",
        &["loop0p1, which is built on it, is mounted at /mnt/image (ext4)"],
    );
    // A device beneath a loop device, and the loop device.
    always_refused("loop", "/dev/sdb", &["the loop device /dev/loop1 uses it"]);
    free("loop", "/dev/loop1");
    free("loop", "/dev/loop5");
    always_refused(
        "loop",
        "/dev/loop6",
        &["sdc, on which it is built, is mounted at /whole (xfs)"],
    );
    always_refused(
        "loop",
        "/dev/loop8",
        &["loop7, which uses the same file, is mounted at /mnt/twin (ext4)"],
    );
    always_refused(
        "loop",
        "/dev/loop9",
        &["a virtual machine has it open (qemu-system-x86, process 4242)"],
    );
}

#[test]
fn caches() {
    let above = "bcache0, which is built on it, is mounted at /cached (ext4)";
    for path in ["/dev/sdb", "/dev/sdc"] {
        always_refused("bcache", path, &["it is part of the bcache device bcache0", above]);
    }
    // Registered as a cache that nothing uses yet.
    always_refused("bcache", "/dev/sdd", &["it is part of a bcache set"]);
    always_refused("bcache", "/dev/bcache0", &["it is mounted at /cached (ext4)"]);
}

#[test]
fn virtual_machines() {
    const HIDDEN: &str = "only root can see whether these virtual machines use it: firecracker (79)";
    let by_qemu = "a virtual machine has it open (qemu-system-x86, process 4242)";
    always_refused("qemu", "/dev/sdb", &[by_qemu]);
    always_refused(
        "qemu",
        "/dev/sdb1",
        &["a virtual machine has the whole disk sdb open (qemu-system-x86, process 4242)"],
    );
    always_refused("qemu", "/var/lib/vm/guest.qcow2", &[by_qemu]);
    always_refused(
        "qemu",
        "/dev/mapper/vg0-guest",
        &["a virtual machine has it open (kvm, process 4300)"],
    );
    always_refused(
        "qemu",
        "/dev/sdd",
        &[
            "it is part of the LVM volume vg0-guest (dm-0)",
            "it is part of the LVM volume vg0-free (dm-1)",
            "a virtual machine has dm-0, which is built on it, open (kvm, process 4300)",
        ],
    );
    ask("qemu", "/dev/sdb")
        .helped("stop the virtual machine first, or choose another target; no option overrides this");
    // Another program may have a device open, and a neighbour in the same group is free.
    ask("qemu", "/dev/sdc").destroy("/dev/sdc").allowed(&[HIDDEN]);
    ask("qemu", "/dev/mapper/vg0-free")
        .destroy("/dev/dm-1")
        .allowed(&[HIDDEN]);
    ask("qemu", "/var/lib/vm/other.qcow2")
        .drop_in()
        .allowed(&[HIDDEN, OVERWRITES]);
}

#[test]
fn a_blank_disk() {
    free("blank-disk", "/dev/sdb");
    ask("blank-disk", "/dev/sdb").helped("if everything on it may be lost, name it again: --allow-destroy /dev/sdb");
    ask("blank-disk", "/dev/sdb")
        .destroy("/dev/disk/by-id/scsi-BLANK")
        .allowed(&[]);
    // Naming another device, or nothing, is no permission; nor is allowing a file to be
    // overwritten.
    for name in ["/dev/sda", "/dev/sdb1", "sdb", "", "/dev/missing"] {
        ask("blank-disk", "/dev/sdb").destroy(name).refused(&[NOT_NAMED]);
    }
    ask("blank-disk", "/dev/sdb")
        .overwrite("/dev/sdb")
        .refused(&[NOT_NAMED]);
}

#[test]
fn a_disk_that_cannot_be_looked_at() {
    let unread = || {
        ask("blank-disk", "/dev/sdb").with(|subject| {
            subject.contents = Contents::Unknown {
                why: "Input/output error".into(),
            };
        })
    };
    let reason = "cannot examine its contents: Input/output error";
    unread().refused(&[reason]);
    unread().drop_in().refused(&[reason]);
    unread().destroy("/dev/sdb").allowed(&[]);
}

#[test]
fn a_disk_with_only_a_partition_table() {
    let disk = || ask("partition-table", "/dev/sdb").holds(SignatureKind::PartitionTable, "GPT", None);
    let reasons = ["it contains a GPT partition table", "it has partitions: sdb1"];
    disk().refused(&reasons);
    disk().drop_in().refused(&reasons);
    disk()
        .drop_in()
        .destroy("/dev/sdb")
        .allowed(&["a GPT partition table on it will be lost"]);
    // Even where the table itself was overwritten, the kernel remembers.
    ask("partition-table", "/dev/sdb")
        .drop_in()
        .refused(&["it has partitions: sdb1"]);
    // Naming the disk does not name its partition, nor the other way round.
    ask("partition-table", "/dev/sdb1")
        .destroy("/dev/sdb")
        .refused(&[NOT_NAMED]);
    disk().destroy("/dev/sdb1").refused(&reasons);
    free("partition-table", "/dev/sdb1");
}

#[test]
fn mounts_in_other_places() {
    always_refused(
        "bind-mounts",
        "/dev/sdb1",
        &["it is mounted at /mnt/disk, /srv/part of it, /etc/app.conf and 2 more places (ext4)"],
    );
    free("bind-mounts", "/dev/sdb2");
    // Mounted in the namespace of the first process only.
    always_refused("bind-mounts", "/dev/sdc", &["it is mounted at /outside (xfs)"]);
}

#[test]
fn a_file_system_that_spans_devices() {
    always_refused("btrfs", "/dev/sdb", &["it is mounted at /pool (btrfs)"]);
    always_refused("btrfs", "/dev/sdc", &["it is mounted at /pool (btrfs)"]);
    free("btrfs", "/dev/sdd");
}

#[test]
fn a_device_that_the_kernel_shows_nothing_about() {
    let unseen = || {
        let mut question = ask("system-disk", "/dev/sda4");
        question.tree = tree("container");
        question
    };
    let reason = "the kernel shows nothing about this device, so it is unknown whether it is in use";
    unseen().refused(&[reason]);
    unseen().drop_in().refused(&[reason]);
}

#[test]
fn a_refusal_reads_as_one_message() {
    let question = ask("lvm", "/dev/sdb").wants(Intent::READ | Intent::WRITE);
    assert_eq!(
        question.decision().refusal().unwrap().to_string(),
        "/dev/sdb must not be read and written:\n  it is part of the LVM volume vg0-scratch (dm-2)\n  help: stop \
         the program that uses it first, or choose another target; no option overrides this"
    );
}

/// Paths, names, what is mounted, and whether writing is possible at once (+), if named (?), or not
/// (-).
#[track_caller]
fn check_list(name: &str, expected: &[&str]) {
    let listed = list(&tree(name));
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
fn the_list_of_targets() {
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
    let listed = list(&tree("partition-table"));
    let disk = listed.iter().find(|entry| entry.path == "/dev/sdb").unwrap();
    assert_eq!(disk.name(), "sdb");
    assert_eq!(disk.size(), model::Bytes::kib(64));
    assert!(matches!(&disk.contents, Contents::Known(found) if found.len() == 1 && found[0].name == "MBR"));
    assert!(matches!(&disk.write, WriteAccess::IfNamed(refusal) if refusal.reasons.len() == 2));
    let root = listed.iter().find(|entry| entry.path == "/dev/sda2").unwrap();
    assert!(root.read_error.is_some(), "the tree holds no image of it");
}

#[test]
fn facts_about_devices_come_from_the_tree() {
    let number = |system: &System, path: &str| match system.identity(path) {
        Some(Identity::BlockDevice(number)) => number,
        other => panic!("{path} is {other:?}"),
    };
    let chain = |name: &str, path: &str| {
        let system = tree(name);
        let chain = engine::probe::device_chain(&system, &[number(&system, path)]);
        let words = chain
            .into_iter()
            .map(|device| format!("{} {}", device.name, device.kind));
        words.collect::<Vec<_>>()
    };
    assert_eq!(
        chain("lvm", "/dev/vg0/scratch"),
        ["dm-2 device mapper", "sda2 partition", "sdb disk", "sda disk"]
    );
    assert_eq!(
        chain("raid1", "/dev/md1p1"),
        ["md1p1 partition", "md1 RAID", "sde disk"]
    );
    // A loop device lies on the file system of the file that it shows.
    assert_eq!(
        chain("loop", "/dev/loop0"),
        ["loop0 loop", "sda2 partition", "sda disk"]
    );
    assert_eq!(chain("loop", "/dev/loop1"), ["loop1 loop", "sdb disk"]);
    let system = tree("system-disk");
    let devices = engine::probe::device_chain(&system, &[number(&system, "/dev/sda2")]);
    let [partition, disk] = &devices[..] else {
        panic!("{devices:?}")
    };
    assert_eq!(partition.physical_sector, model::Bytes(4096));
    assert_eq!(disk.model.as_deref(), Some("QEMU HARDDISK"));
    assert_eq!(disk.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(
        (disk.queue_requests, disk.largest_request),
        (Some(64), Some(model::Bytes::kib(1280)))
    );
    assert_eq!(disk.write_cache.as_deref(), Some("write back"));
    assert_eq!(disk.size, model::Bytes::gib(20));
    assert!(!disk.rotational && !disk.polled && disk.numa_node.is_none());
}
