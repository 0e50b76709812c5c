//! Device health, as reported by devices and kernel drivers. Sources: software RAID, states of SCSI
//! and NVMe devices, error counts of ext4, and, for root, the health log of NVMe devices and SMART
//! of ATA disks. No sleeping device is woken. A device that reports nothing has unknown health, not
//! good health.

use model::environment::Health;

use super::System;
use super::blocks::{BlockDevice, BlockKind, block_device};
use super::{ata_health, nvme_health};

/// Health of a device, by its kernel name; `None` if nothing reports it.
pub fn read_health(system: &System, name: &str) -> Option<Health> {
    device_health(system, &block_device(system, name)?)
}

/// Health of a device; `None` if nothing reports it.
pub(super) fn device_health(system: &System, device: &BlockDevice) -> Option<Health> {
    let disk = device.partition_of.as_deref().unwrap_or(&device.name);
    let mut reports: Vec<(&str, Vec<String>)> = Vec::new();
    if matches!(device.kind, BlockKind::Raid { .. }) {
        reports.push(("md", raid_problems(system, disk)));
    }
    reports.extend(driver_problems(system, disk).map(|problems| ("driver", problems)));
    reports.extend(ext4_problems(system, &device.name).map(|problems| ("ext4", problems)));
    let log = system.cached_health(disk, || {
        nvme_health::read(disk).or_else(|| ata_health::read(system, disk))
    });
    let log = log.unwrap_or_default();
    if !log.source.is_empty() {
        reports.push((&log.source, log.problems.clone()));
    }
    let sources: Vec<&str> = reports.iter().map(|(source, _)| *source).collect();
    (!reports.is_empty()).then(|| Health {
        source: sources.join(", "),
        problems: reports.into_iter().flat_map(|(_, problems)| problems).collect(),
        celsius: read_temperature(system, disk).or(log.celsius),
        ..log
    })
}

/// Linux software RAID (`Documentation/admin-guide/md.rst`).
fn raid_problems(system: &System, name: &str) -> Vec<String> {
    let attribute_path = |file: &str| format!("/sys/class/block/{name}/md/{file}");
    let mut problems = Vec::new();
    let missing = system
        .read_value::<u32>(&attribute_path("degraded"))
        .filter(|missing| *missing > 0);
    if let Some(missing) = missing {
        let members = system.read_value::<u32>(&attribute_path("raid_disks")).unwrap_or(0);
        problems.push(format!("{missing} of {members} members are missing"));
    }
    let busy = system
        .read_trimmed(&attribute_path("sync_action"))
        .filter(|action| action != "idle" && action != "frozen");
    if let Some(action) = busy {
        problems.push(format!("it is performing `{action}`"));
    }
    if let Some(state) = system
        .read_trimmed(&attribute_path("array_state"))
        .filter(|state| is_bad(state))
    {
        problems.push(format!("its state is `{state}`"));
    }
    problems
}

fn is_bad(state: &str) -> bool {
    matches!(state, "broken" | "inactive" | "suspended" | "clear")
}

/// State reported by the driver: `running` for SCSI and ATA, `live` for NVMe.
fn driver_problems(system: &System, disk: &str) -> Option<Vec<String>> {
    let state = system.read_trimmed(&format!("/sys/class/block/{disk}/device/state"))?;
    let well = matches!(state.as_str(), "running" | "live");
    Some(if well {
        Vec::new()
    } else {
        vec![format!("the driver reports the state `{state}`")]
    })
}

/// Errors of a mounted ext4 since its last check.
fn ext4_problems(system: &System, name: &str) -> Option<Vec<String>> {
    let errors: u64 = system.read_value(&format!("/sys/fs/ext4/{name}/errors_count"))?;
    Some(if errors == 0 {
        Vec::new()
    } else {
        vec![format!("ext4 has recorded {errors} errors on it")]
    })
}

/// Temperature in °C, from the sensor of an NVMe controller or a drive.
fn read_temperature(system: &System, disk: &str) -> Option<i32> {
    let device = format!("/sys/class/block/{disk}/device");
    let sensors = |folder: String| -> Vec<String> {
        let monitors = system
            .list_names(&folder)
            .into_iter()
            .filter(|name| name.starts_with("hwmon"));
        monitors.map(|name| format!("{folder}/{name}/temp1_input")).collect()
    };
    let mut paths = sensors(device.clone());
    paths.extend(sensors(format!("{device}/hwmon")));
    let thousandths = paths.iter().find_map(|path| system.read_value::<i32>(path))?;
    Some(thousandths / 1000)
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    fn health_in_tree(files: &[(&str, &str)], name: &str) -> Option<Health> {
        let (_root, system) = tree(files);
        device_health(&system, &block_device(&system, name).expect("it is there"))
    }

    #[test]
    fn a_rebuilding_array_is_reported() {
        let health = health_in_tree(
            &[
                ("sys/class/block/md0/dev", "9:0\n"),
                ("sys/class/block/md0/md/level", "raid1\n"),
                ("sys/class/block/md0/md/raid_disks", "2\n"),
                ("sys/class/block/md0/md/degraded", "1\n"),
                ("sys/class/block/md0/md/sync_action", "recover\n"),
                ("sys/class/block/md0/md/array_state", "active\n"),
            ],
            "md0",
        );
        let problems = ["1 of 2 members are missing", "it is performing `recover`"];
        assert_eq!(
            health.map(|health| health.problems),
            Some(problems.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn failed_drives_are_reported() {
        let nvme = [
            ("sys/class/block/nvme0n1/dev", "259:0\n"),
            ("sys/class/block/nvme0n1/device/state", "live\n"),
        ];
        assert_eq!(
            health_in_tree(&nvme, "nvme0n1").map(|health| health.problems),
            Some(Vec::new())
        );
        let disk = [
            ("sys/class/block/sda/dev", "8:0\n"),
            ("sys/class/block/sda/device/state", "offline\n"),
        ];
        assert_eq!(
            health_in_tree(&disk, "sda").map(|health| health.problems.len()),
            Some(1)
        );
        let warm = [
            ("sys/class/block/nvme0n1/dev", "259:0\n"),
            ("sys/class/block/nvme0n1/device/state", "live\n"),
            ("sys/class/block/nvme0n1/device/hwmon1/temp1_input", "71850\n"),
        ];
        assert_eq!(
            health_in_tree(&warm, "nvme0n1").and_then(|health| health.celsius),
            Some(71)
        );
    }

    #[test]
    fn a_silent_device_has_no_health() {
        assert_eq!(health_in_tree(&[("sys/class/block/loop0/dev", "7:0\n")], "loop0"), None);
    }
}
