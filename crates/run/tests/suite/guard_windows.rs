//! Decisions of the guard on Windows machines, from written facts about disks and volumes. Only the
//! queries for such facts need Windows; the decisions do not.

use engine::probe::System;
use engine::probe::windows::{
    DYNAMIC_DATA, Disk, EFI_SYSTEM, Extent, Layout, PartitionEntry, PartitionId, PartitionType, RESERVED,
    STORAGE_SPACES, Storage, Volume, VolumeContents,
};
use engine::{DeviceNumber, FileKind, Identity};
use model::environment::Device;
use run::targets::MarkState;
use run::targets::guard::{
    CallerKind, Candidate, Contents, Decision, Guard, Intent, Refusal, Signature, SignatureKind,
};

use crate::prelude::*;

const GIB: u64 = 1 << 30;
/// Basic data, as `PartitionType::Gpt` has it.
const DATA: [u8; 16] = [
    0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7,
];

fn disk(number: u32, types: &[[u8; 16]]) -> Disk {
    let entry = |(index, kind): (usize, &[u8; 16])| PartitionEntry {
        number: index as u32 + 1,
        start: (1 << 20) + index as u64 * GIB,
        length: GIB,
        kind: PartitionType::Gpt(*kind),
        is_bootable: false,
    };
    Disk {
        number,
        facts: Device::default().with(|device| device.size = Bytes(100 * GIB)),
        layout: Some(Layout {
            table: (!types.is_empty()).then(|| "GPT".into()),
            partitions: types.iter().enumerate().map(entry).collect(),
        }),
        offline: Some(false),
        read_only: Some(false),
        clustered: Some(false),
        removable: false,
    }
}

fn volume(disk: u32, partition: u32, at: &[&str], contents: VolumeContents) -> Volume {
    Volume {
        name: format!(r"\\?\Volume{{{disk}-{partition}}}\"),
        partition: Some(PartitionId { disk, partition }),
        extents: Some(vec![Extent {
            disk,
            start: (1 << 20) + u64::from(partition.saturating_sub(1)) * GIB,
            length: GIB,
        }]),
        mounted_at: Some(at.iter().map(ToString::to_string).collect()),
        contents,
        size: GIB,
        read_only: false,
    }
}

fn file_system(kind: &str, serial: u32) -> VolumeContents {
    VolumeContents::FileSystem {
        kind: kind.into(),
        serial,
    }
}

/// Disk 0 is the system disk: EFI, reserved, C:, and a raw partition E:. Disk 1 is empty. Disk 2
/// has a data partition D:.
fn machine() -> Storage {
    Storage {
        disks: vec![
            disk(0, &[EFI_SYSTEM, RESERVED, DATA, DATA]),
            disk(1, &[]),
            disk(2, &[DATA]),
        ],
        volumes: vec![
            volume(0, 1, &[], file_system("FAT32", 1)),
            volume(0, 3, &[r"C:\"], file_system("NTFS", 7)),
            volume(0, 4, &[r"E:\"], VolumeContents::Raw),
            volume(2, 1, &[r"D:\", r"C:\mnt\data\"], file_system("NTFS", 7)),
        ],
        page_files: Some(vec![r"C:\pagefile.sys".into()]),
        system_folder: Some(r"C:\Windows\system32".into()),
        doubts: Vec::new(),
    }
}

fn subject(name: &str, disk: u32, partition: u32) -> Candidate {
    Candidate {
        path: PathBuf::from(name),
        kind: FileKind::BlockDevice,
        identity: Some(Identity::BlockDevice(DeviceNumber::new(disk, partition))),
        size: GIB,
        mark: MarkState::Unmarked,
        contents: Contents::Known(Vec::new()),
        claimed: false,
    }
}

fn decide(storage: &Storage, subject: &Candidate, caller: CallerKind, destroy: bool) -> Decision {
    let tree = System::from_tree(Path::new("nowhere"));
    let permissions = Permissions {
        destroy: destroy
            .then(|| subject.path.display().to_string())
            .into_iter()
            .collect(),
        ..Permissions::default()
    };
    Guard::new(&tree, caller, &permissions)
        .with_inventory(storage.inventory())
        .decide(subject, Intent::WRITE)
}

/// The refusal of a target without permissions.
#[track_caller]
fn refuse(storage: &Storage, subject: &Candidate, caller: CallerKind) -> Refusal {
    match decide(storage, subject, caller, false) {
        Decision::Refused(refusal) => refusal,
        Decision::Allowed { .. } => panic!("it was allowed"),
    }
}

#[track_caller]
fn assert_reasons(refusal: &Refusal, reasons: &[&str]) {
    let texts: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(texts, reasons);
}

/// Reasons against writing from a drop-in, which needs no confirmation for a blank device.
#[track_caller]
fn assert_refused(storage: &Storage, disk: u32, partition: u32, reasons: &[&str]) {
    let refusal = refuse(storage, &subject("X", disk, partition), CallerKind::DropIn);
    assert_reasons(&refusal, reasons);
    assert!(!refusal.can_be_lifted(), "no option overrides this");
}

/// The only reason is that something is not known.
#[track_caller]
fn assert_in_doubt(storage: &Storage, disk: u32, partition: u32, doubt: &str) {
    let reason = format!("cannot determine whether it is in use: {doubt}");
    assert_refused(storage, disk, partition, &[&reason]);
}

#[track_caller]
fn assert_allowed(storage: &Storage, disk: u32, partition: u32) {
    if let Decision::Refused(refusal) = decide(storage, &subject("X", disk, partition), CallerKind::DropIn, false) {
        panic!("{refusal}");
    }
}

#[test]
fn the_system_disk_is_always_refused() {
    let machine = machine();
    let refusal = refuse(&machine, &subject(r"\\.\PhysicalDrive0", 0, 0), CallerKind::Native);
    let reasons = [
        "the running system is started from its partition Harddisk0Partition1",
        "the running system is started from its partition Harddisk0Partition2",
        r"its partition Harddisk0Partition3 is mounted at C:\ (NTFS)",
        "the system swaps to its partition Harddisk0Partition3",
        "the running system runs from its partition Harddisk0Partition3",
        "it has partitions: Harddisk0Partition1, Harddisk0Partition2, Harddisk0Partition3, Harddisk0Partition4",
    ];
    assert_reasons(&refusal, &reasons);
    assert_eq!(
        refusal.help,
        "this system runs from it; choose another target. No option overrides this"
    );
    assert_refused(&machine, 0, 1, &["the running system is started from it"]);
    let mounted = r"it is mounted at C:\ (NTFS)";
    let reasons = [mounted, "the system swaps to it", "the running system runs from it"];
    assert_refused(&machine, 0, 3, &reasons);
}

#[test]
fn a_mounted_file_system_is_a_use_but_a_drive_letter_alone_is_not() {
    let machine = machine();
    assert_allowed(&machine, 0, 4);
    assert_allowed(&machine, 1, 0);
    assert_refused(&machine, 2, 1, &[r"it is mounted at D:\, C:\mnt\data\ (NTFS)"]);
    let refusal = refuse(&machine, &subject(r"\\.\PhysicalDrive2", 2, 0), CallerKind::DropIn);
    assert_eq!(
        refusal.help,
        r"dismount it (mountvol D:\ /P) first, or choose another target; no option overrides this"
    );
}

#[test]
fn a_blank_disk_must_be_named_by_native_commands() {
    let refusal = refuse(&machine(), &subject(r"\\.\PhysicalDrive1", 1, 0), CallerKind::Native);
    assert!(refusal.can_be_lifted());
    assert_eq!(
        refusal.help,
        r"if everything on it may be lost, name it again: --allow-destroy \\.\PhysicalDrive1"
    );
}

#[test]
fn the_contents_of_a_disk_are_a_reason_to_refuse_it() {
    let mut locked = subject("X", 1, 0);
    locked.contents = Contents::Known(vec![Signature {
        kind: SignatureKind::Encrypted,
        name: "BitLocker",
        offset: 3,
        label: None,
    }]);
    let refusal = refuse(&machine(), &locked, CallerKind::DropIn);
    assert_eq!(refusal.reasons[0].to_string(), "it contains a BitLocker volume");
}

/// Each fact that is unknown or bad makes the disk count as in use.
#[test]
fn unknown_facts_of_a_disk_count_as_a_use() {
    let changed = |change: fn(&mut Disk)| {
        let mut machine = machine();
        change(&mut machine.disks[1]);
        // A doubt about disk 1 does not affect a partition of disk 0.
        assert_allowed(&machine, 0, 4);
        machine
    };
    let check = |change: fn(&mut Disk), doubt: &str| assert_in_doubt(&changed(change), 1, 0, doubt);
    check(
        |disk| disk.offline = Some(true),
        "it is offline: a virtual machine or another cluster node may be using it, and Windows does not \
         show its volumes",
    );
    check(
        |disk| disk.offline = None,
        "its driver does not report whether it is offline",
    );
    check(|disk| disk.layout = None, "its partitions could not be read");
    check(
        |disk| disk.clustered = None,
        "its driver does not report whether it belongs to this machine's cluster",
    );
    let clustered = changed(|disk| disk.clustered = Some(true));
    assert_refused(&clustered, 1, 0, &["it is part of a failover cluster"]);
}

#[test]
fn facts_that_windows_does_not_list_are_a_doubt_about_every_disk() {
    let check = |change: fn(&mut Storage), doubt: &str| {
        let mut machine = machine();
        change(&mut machine);
        assert_in_doubt(&machine, 1, 0, doubt);
        assert_in_doubt(&machine, 0, 4, doubt);
    };
    check(
        |machine| machine.page_files = None,
        "Windows did not report where its page files are",
    );
    check(
        |machine| machine.page_files = Some(vec![r"Z:\pagefile.sys".into()]),
        r"the disk of page file Z:\pagefile.sys is unknown",
    );
    check(
        |machine| machine.system_folder = None,
        "Windows did not report which disk it runs from",
    );
    check(
        |machine| machine.doubts = vec!["Windows did not list its volumes: access denied".into()],
        "Windows did not list its volumes: access denied",
    );
    check(
        |machine| {
            let mut lost = volume(9, 9, &[r"S:\"], file_system("NTFS", 7));
            (lost.partition, lost.extents) = (None, None);
            machine.volumes.push(lost);
        },
        r"the disk of volume S:\ is unknown",
    );
    let hidden = decide(&machine(), &subject("X", 5, 0), CallerKind::DropIn, true);
    let texts = hidden.refusal().unwrap().reasons[0].to_string();
    texts.assert_is(
        "cannot determine whether it is in use: the system does not list it as a disk, a partition or a volume",
    );
    let mut nameless = subject("X", 0, 0);
    nameless.identity = None;
    let decision = decide(&machine(), &nameless, CallerKind::DropIn, true);
    assert!(!decision.refusal().unwrap().can_be_lifted());
}

#[test]
fn volumes_that_cannot_be_examined_count_as_in_use() {
    let machine_with = |contents: VolumeContents| {
        let mut machine = machine();
        machine.volumes[2].contents = contents;
        machine
    };
    let locked = "BitLocker has locked it, so its contents are unknown";
    assert_in_doubt(&machine_with(VolumeContents::Locked), 0, 4, locked);
    let unknown = "its contents could not be determined";
    assert_in_doubt(&machine_with(VolumeContents::Unknown), 0, 4, unknown);
    assert_allowed(&machine_with(VolumeContents::NoMedium), 0, 4);
    let mut machine = machine();
    machine.volumes[3].mounted_at = None;
    assert_in_doubt(&machine, 2, 1, "its mount points could not be read");
}

#[test]
fn members_of_pools_and_dynamic_disks_are_in_use() {
    let check = |kind: [u8; 16], reason: &str| {
        let mut machine = machine();
        machine.disks[1] = disk(1, &[kind]);
        let refusal = refuse(&machine, &subject("X", 1, 0), CallerKind::DropIn);
        assert_eq!(refusal.reasons[0].to_string(), reason);
        assert!(!refusal.can_be_lifted());
        // A partition of such a disk is a part of it.
        refuse(&machine, &subject("X", 1, 1), CallerKind::DropIn);
    };
    check(STORAGE_SPACES, "it is part of a pool of Storage Spaces");
    check(DYNAMIC_DATA, "it is part of a group of dynamic disks");
}

/// A volume over two disks uses both, so neither disk may be written to.
#[test]
fn a_spanned_volume_uses_all_of_its_disks() {
    let mut machine = machine();
    let mut spanned = volume(1, 0, &[r"S:\"], file_system("NTFS", 7));
    spanned.partition = None;
    let extent = |disk: u32| Extent {
        disk,
        start: 1 << 20,
        length: GIB,
    };
    spanned.extents = Some(vec![extent(1), extent(3)]);
    machine.volumes.push(spanned);
    machine.disks.push(disk(3, &[]));
    let reasons = [
        r"it is part of the volume S:\",
        r"Volume{1-0}, which is built on it, is mounted at S:\ (NTFS)",
    ];
    for number in [1, 3] {
        assert_refused(&machine, number, 0, &reasons);
    }
}

#[test]
fn a_disk_without_a_partition_table_may_have_a_file_system() {
    let mut machine = machine();
    machine.volumes.push(volume(1, 0, &[r"S:\"], file_system("NTFS", 7)));
    assert_refused(&machine, 1, 0, &[r"it is mounted at S:\ (NTFS)"]);
}

#[test]
fn the_devices_below_a_volume_are_listed() {
    let machine = machine();
    let chain = machine.chain(DeviceNumber::new(2, 1));
    let names = chain.iter().map(|device| format!("{} {}", device.kind, device.name));
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["partition Harddisk2Partition1", "disk PhysicalDrive2"]);
    let inventory = machine.inventory();
    let disk = inventory.device_by_name("PhysicalDrive2").unwrap();
    assert_eq!(disk.path(), r"\\.\PhysicalDrive2");
    // The longest mount point counts.
    assert_eq!(machine.find_volume(r"C:\mnt\data\f.dat"), Some(3));
    assert_eq!(machine.find_volume(r"c:\other"), Some(1));
    assert_eq!(machine.find_volume(r"\\server\share\f"), None);
}
