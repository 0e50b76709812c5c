//! Detects virtual disks and rotating disks. The kernel marks a disk as rotational unless its
//! driver clears the flag, and most drivers of virtual disks do not. So `queue/rotational` = 0
//! excludes rotation, but 1 does not prove it; only a report of the disk itself does.

use super::System;

/// Minimum valid rotation rate in SCSI, in revolutions per minute (SBC, block device
/// characteristics page).
const MIN_RPM: u16 = 0x0401;

/// Substrings of virtual disk models (vendor and product), in lower case, and the kind of disk. The
/// first match counts.
const VIRTUAL_MODELS: [(&str, &str); 22] = [
    ("amazon elastic block store", "Amazon EBS volume"),
    ("amazon ec2 nvme instance storage", "Amazon EC2 instance store"),
    ("nvme_card-pd", "Google Persistent Disk or Hyperdisk"),
    ("nvme_card", "Google local SSD"),
    ("persistentdisk", "Google Persistent Disk"),
    ("ephemeraldisk", "Google local SSD"),
    ("msft nvme accelerator", "Azure managed disk"),
    ("microsoft nvme direct disk", "Azure local disk"),
    ("msft virtual", "Hyper-V virtual disk"),
    ("oracle blockvolume", "OCI block volume"),
    ("vmware", "VMware virtual disk"),
    ("vbox", "VirtualBox virtual disk"),
    ("qemu", "QEMU virtual disk"),
    ("red hat virtio", "virtio disk"),
    ("xensrc", "Xen virtual disk"),
    ("parallels", "Parallels virtual disk"),
    ("bhyve", "bhyve virtual disk"),
    ("nutanix", "Nutanix virtual disk"),
    ("do volume", "DigitalOcean volume"),
    ("hc volume", "Hetzner Cloud volume"),
    ("virtual hd", "virtual disk"),
    ("virtual", "virtual disk"),
];

/// Kernel name prefixes of virtual disks whose drivers report no model.
const VIRTUAL_NAMES: [(&str, &str); 2] = [("vd", "virtio disk"), ("xvd", "Xen virtual disk")];

/// The kind of virtual disk, by its kernel name and model; `None` if it may be hardware.
pub(crate) fn virtual_kind(name: &str, model: Option<&str>) -> Option<&'static str> {
    let model = model.unwrap_or_default().to_ascii_lowercase();
    let by_model = VIRTUAL_MODELS.iter().find(|(part, _)| model.contains(part));
    let has_prefix = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
    };
    let by_name = || VIRTUAL_NAMES.iter().find(|(prefix, _)| has_prefix(prefix));
    by_model.or_else(by_name).map(|(_, kind)| *kind)
}

/// True if a device or one of its members has rotating media. A disk is rotational if it is not
/// virtual and its block device characteristics page (VPD B1) reports a rotation rate. Kernels
/// before 6.0 do not expose that page. There the flag of a disk on an ATA or SAS port decides: the
/// kernel sets it from the same page. `model`: the disk's model, if known.
pub(super) fn is_rotational(system: &System, name: &str, model: Option<&str>) -> bool {
    let attribute_path = |file: &str| format!("/sys/class/block/{name}/{file}");
    if !system.read_flag(&attribute_path("queue/rotational")) {
        return false;
    }
    let members = system.list_names(&attribute_path("slaves"));
    if !members.is_empty() {
        let disk_of = |member: &String| match super::blocks::block_device(system, member)?.partition_of {
            Some(disk) => Some(disk),
            None => Some(member.clone()),
        };
        let disks = members.iter().filter_map(disk_of).filter(|disk| disk != name);
        return disks
            .into_iter()
            .any(|disk| is_rotational(system, &disk, super::blocks::model(system, &disk).as_deref()));
    }
    if virtual_kind(name, model).is_some() {
        return false;
    }
    match system.read_bytes(&attribute_path("device/vpd_pgb1")) {
        Some(page) => page.get(4..6).is_some_and(|rate| {
            let rpm = u16::from_be_bytes([rate[0], rate[1]]);
            (MIN_RPM..u16::MAX).contains(&rpm)
        }),
        None => is_on_disk_port(system, &attribute_path("device")),
    }
}

/// True if the disk is on a port of an ATA or SAS controller, not behind an array, a bridge or a
/// network.
fn is_on_disk_port(system: &System, device: &str) -> bool {
    if system.read_trimmed(&format!("{device}/vendor")).as_deref() == Some("ATA") {
        return true;
    }
    let folder = std::fs::canonicalize(system.path(device)).unwrap_or_default();
    folder
        .iter()
        .filter_map(|component| component.to_str())
        .any(|component| component.starts_with("end_device-"))
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn virtual_disks_are_recognised_by_model_and_name() {
        for (name, model, expected) in [
            ("vda", None, Some("virtio disk")),
            ("xvdf", None, Some("Xen virtual disk")),
            ("sda", Some("QEMU HARDDISK"), Some("QEMU virtual disk")),
            ("sda", Some("Msft Virtual Disk"), Some("Hyper-V virtual disk")),
            ("sda", Some("VMware Virtual disk"), Some("VMware virtual disk")),
            ("sda", Some("Google PersistentDisk"), Some("Google Persistent Disk")),
            (
                "nvme0n1",
                Some("nvme_card-pd"),
                Some("Google Persistent Disk or Hyperdisk"),
            ),
            ("nvme1n1", Some("Amazon Elastic Block Store"), Some("Amazon EBS volume")),
            ("nvme0n1", Some("Samsung SSD 980 PRO"), None),
            ("sda", Some("SEAGATE ST4000NM0023"), None),
            ("vd0", None, None),
            ("", None, None),
        ] {
            assert_eq!(virtual_kind(name, model), expected, "{name} {model:?}");
        }
    }

    /// The kernel marks both as rotational, because no driver clears the flag.
    #[test]
    fn a_virtio_disk_and_a_mapping_over_it_are_not_rotational() {
        let trees = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/trees");
        let system = System::from_tree(&trees.join("virtio"));
        let facts = |name: &str| {
            let device = super::super::blocks::block_device(&system, name).unwrap();
            super::super::blocks::device_facts(&system, &device)
        };
        let (disk, mapping) = (facts("vda"), facts("dm-0"));
        assert_eq!(
            (disk.rotational, disk.virtual_kind.as_deref()),
            (false, Some("virtio disk"))
        );
        assert_eq!((mapping.rotational, mapping.virtual_kind), (false, None));
    }

    /// A mapping over a rotating disk is rotational.
    #[test]
    fn a_mapping_is_rotational_if_a_member_is() {
        let (_root, system) = tree(&[
            ("sys/class/block/dm-0/queue/rotational", "1\n"),
            ("sys/class/block/dm-0/slaves/sda1", ""),
            ("sys/class/block/sda1/dev", "8:1\n"),
            ("sys/class/block/sda1/queue/rotational", "1\n"),
            ("sys/class/block/sda1/device/vendor", "ATA\n"),
        ]);
        assert!(is_rotational(&system, "dm-0", None));
    }

    /// `sdX` with the kernel's flag set, and other files.
    fn rotational(name: &str, files: &[(&str, &str)], model: Option<&str>) -> bool {
        let folder = format!("sys/class/block/{name}");
        let mut all = vec![(format!("{folder}/queue/rotational"), "1\n")];
        all.extend(files.iter().map(|(path, text)| (format!("{folder}/{path}"), *text)));
        let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, system) = tree(&all);
        is_rotational(&system, name, model)
    }

    #[test]
    fn only_the_disk_itself_proves_rotation() {
        // 0x1C20 is 7200 rpm. `x` represents byte 1 (0xB1), which is not valid UTF-8; the code does
        // not read it.
        let page = |rate: &'static str| ("device/vpd_pgb1", rate);
        let rotating = page("\0x\0<\u{1c}\u{20}");
        let vendor = |name: &'static str| ("device/vendor", name);
        for (what, name, file, model, expected) in [
            ("a disk", "sda", rotating, None, true),
            ("a rate of 1: no rotation", "sda", page("\0x\0<\0\u{1}"), None, false),
            ("a rate of 0: unknown", "sda", page("\0x\0<\0\0"), None, false),
            ("a truncated page", "sda", page("\0x"), None, false),
            ("virtio", "vda", rotating, None, false),
            ("QEMU", "sda", rotating, Some("QEMU HARDDISK"), false),
            ("an ATA port", "sda", vendor("ATA\n"), Some("ST4000DM004"), true),
            ("VirtualBox", "sda", vendor("ATA\n"), Some("VBOX HARDDISK"), false),
            ("an array", "sda", vendor("DGC\n"), Some("DGC VRAID"), false),
        ] {
            assert_eq!(rotational(name, &[file], model), expected, "{what}");
        }
    }
}
