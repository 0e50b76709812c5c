//! Control group limits of this process, versions 1 and 2 (cgroups(7)). Limits of parent groups
//! apply too, so each limit is the minimum over all ancestors. A container sees its own group as
//! the root, so limits above it are invisible.

use model::Bytes;
use model::environment::{DeviceLimit, Limits};

use super::System;
use super::mounts::{Mount, own_mounts_containing};

/// A limit of a device: its key in version 2, its file in version 1, and its field.
type LimitField = (&'static str, &'static str, fn(&mut DeviceLimit) -> &mut Option<u64>);
const DEVICE_LIMITS: [LimitField; 4] = [
    ("riops", "read_iops_device", |device| &mut device.read_iops),
    ("wiops", "write_iops_device", |device| &mut device.write_iops),
    ("rbps", "read_bps_device", |device| &mut device.read_bytes),
    ("wbps", "write_bps_device", |device| &mut device.write_bytes),
];

/// The limits of this process.
pub fn read_limits(system: &System) -> Limits {
    let mut limits = Limits::default();
    for (controller, folders) in controller_groups(system) {
        for folder in folders {
            match controller.as_str() {
                "" => read_version_2(system, &folder, &mut limits),
                controller => read_version_1(system, controller, &folder, &mut limits),
            }
        }
    }
    limits.devices.sort_by(|a, b| a.device.cmp(&b.device));
    limits
}

/// Reads the I/O limits of this process repeatedly, but finds its groups only once.
#[derive(Clone, Debug, Default)]
pub struct DeviceLimitReader {
    folders: Vec<String>,
}

impl DeviceLimitReader {
    /// Finds the groups of this process.
    pub fn new(system: &System) -> DeviceLimitReader {
        DeviceLimitReader {
            folders: own_groups(system, "blkio"),
        }
    }

    /// The current limits, ordered by device.
    pub fn read(&self, system: &System) -> Vec<DeviceLimit> {
        let mut limits = Limits::default();
        for folder in &self.folders {
            read_io_max(system, folder, &mut limits);
            read_version_1(system, "blkio", folder, &mut limits);
        }
        limits.devices.sort_by(|a, b| a.device.cmp(&b.device));
        limits.devices
    }
}

/// Directories of this process's control groups with a controller, innermost first: the version 2
/// group, then the version 1 group of the controller.
pub(super) fn own_groups(system: &System, controller: &str) -> Vec<String> {
    let groups = controller_groups(system).into_iter();
    let of_controller = groups.filter(|(name, _)| name.is_empty() || name == controller);
    of_controller.flat_map(|(_, folders)| folders).collect()
}

/// Each controller with the directories of this process's control group, innermost first. The
/// version 2 group has an empty name.
fn controller_groups(system: &System) -> Vec<(String, Vec<String>)> {
    let mounts = own_mounts_containing(system, " - cgroup");
    let groups = system.read_text("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        for controller in controllers.split(',') {
            let has = |mount: &&Mount| match controller {
                "" => mount.fs_type == "cgroup2",
                _ => mount.fs_type == "cgroup" && mount.super_options.split(',').any(|option| option == controller),
            };
            let mount = mounts.iter().find(has);
            found.extend(mount.map(|mount| (controller.to_owned(), group_directories(mount, group))));
        }
    }
    found
}

/// The directories of a group and its ancestors, innermost first.
fn group_directories(mount: &Mount, group: &str) -> Vec<String> {
    let path_in_mount = match mount.root.as_str() {
        "/" => group,
        // In a container only part of the hierarchy is mounted.
        root => group.strip_prefix(root).unwrap_or(""),
    };
    let mut folder = format!("{}{}", mount.mount_point, path_in_mount.trim_end_matches('/'));
    let mut folders = vec![folder.clone()];
    while folder.len() > mount.mount_point.len() {
        folder.truncate(folder.rfind('/').unwrap_or(0).max(mount.mount_point.len()));
        folders.push(folder.clone());
    }
    folders
}

fn read_version_2(system: &System, folder: &str, limits: &mut Limits) {
    if let Some(text) = system.read_trimmed(&format!("{folder}/cpu.max"))
        && let Some((quota, period)) = text.split_once(' ')
    {
        limit_cpus(limits, quota.parse().ok(), period.parse().ok());
    }
    if let Some(bytes) = system.read_value(&format!("{folder}/memory.max")) {
        set_min(&mut limits.memory, Bytes(bytes));
    }
    read_io_max(system, folder, limits);
}

fn read_io_max(system: &System, folder: &str, limits: &mut Limits) {
    for line in system
        .read_text(&format!("{folder}/io.max"))
        .unwrap_or_default()
        .lines()
    {
        let mut words = line.split_ascii_whitespace();
        let Some(device) = words.next() else { continue };
        let device = device_limit(limits, device);
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let field = DEVICE_LIMITS.iter().find(|(name, ..)| *name == key);
            if let (Some((.., field)), Ok(value)) = (field, value.parse()) {
                set_min(field(device), value);
            }
        }
    }
}

fn read_version_1(system: &System, controller: &str, folder: &str, limits: &mut Limits) {
    let file_path = |file: &str| format!("{folder}/{file}");
    match controller {
        "cpu" => {
            let (quota, period) = (
                system.read_value(&file_path("cpu.cfs_quota_us")),
                system.read_value(&file_path("cpu.cfs_period_us")),
            );
            limit_cpus(limits, quota, period);
        }
        "memory" => {
            // Without a limit the file contains the largest multiple of the page size.
            if let Some(bytes) = system.read_value(&file_path("memory.limit_in_bytes"))
                && bytes < i64::MAX as u64 - (1 << 20)
            {
                set_min(&mut limits.memory, Bytes(bytes));
            }
        }
        "blkio" => {
            for (_, file, field) in DEVICE_LIMITS {
                let text = system
                    .read_text(&file_path(&format!("blkio.throttle.{file}")))
                    .unwrap_or_default();
                for (number, value) in text.lines().filter_map(|line| line.split_once(' ')) {
                    let Ok(value) = value.trim().parse() else { continue };
                    set_min(field(device_limit(limits, number)), value);
                }
            }
        }
        _ => {}
    }
}

fn limit_cpus(limits: &mut Limits, quota: Option<f64>, period: Option<f64>) {
    if let (Some(quota), Some(period)) = (quota, period)
        && quota > 0.0
        && period > 0.0
    {
        let cpus = quota / period;
        limits.cpus = Some(limits.cpus.map_or(cpus, |limit| limit.min(cpus)));
    }
}

fn set_min<T: Ord + Copy>(limit: &mut Option<T>, value: T) {
    *limit = Some(limit.map_or(value, |old| old.min(value)));
}

fn device_limit<'a>(limits: &'a mut Limits, number: &str) -> &'a mut DeviceLimit {
    let index = match limits.devices.iter().position(|device| device.device == number) {
        Some(index) => index,
        None => {
            limits.devices.push(DeviceLimit {
                device: number.to_owned(),
                ..DeviceLimit::default()
            });
            limits.devices.len() - 1
        }
    };
    &mut limits.devices[index]
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn version_2_uses_the_lowest_limit_of_all_ancestors() {
        let (_root, system) = tree(&[
            ("proc/self/cgroup", "0::/user.slice/job\n"),
            (
                "proc/self/mountinfo",
                "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
            (
                "sys/fs/cgroup/user.slice/job/io.max",
                "8:16 rbps=max wbps=1048576 riops=max wiops=200\n",
            ),
            (
                "sys/fs/cgroup/user.slice/io.max",
                "8:16 rbps=max wbps=max riops=max wiops=100\n",
            ),
        ]);
        let limits = read_limits(&system);
        assert_eq!(limits.cpus, Some(1.5));
        assert_eq!(limits.memory, Some(Bytes::gib(1)));
        assert_eq!(
            limits.devices,
            [DeviceLimit {
                device: "8:16".into(),
                write_iops: Some(100),
                write_bytes: Some(1_048_576),
                ..Default::default()
            }]
        );
        assert_eq!(DeviceLimitReader::new(&system).read(&system), limits.devices);
    }

    #[test]
    fn version_1_in_a_container_with_a_partial_hierarchy() {
        let (_root, system) = tree(&[
            (
                "proc/self/cgroup",
                "5:blkio:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:memory:/docker/abc\n0::/\n",
            ),
            (
                "proc/self/mountinfo",
                "31 1 0:30 /docker/abc /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n\
                 32 1 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 33 1 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            ),
            (
                "sys/fs/cgroup/blkio/blkio.throttle.read_iops_device",
                "254:0 1000\n8:0 5\n",
            ),
            ("sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "254:0 1048576\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let limits = read_limits(&system);
        assert_eq!(limits.cpus, Some(2.0));
        assert_eq!(limits.memory, None);
        assert_eq!(limits.devices.len(), 2);
        let device = &limits.devices[0];
        assert_eq!(
            (device.device.as_str(), device.read_iops, device.write_bytes),
            ("254:0", Some(1000), Some(1_048_576))
        );
        assert_eq!(DeviceLimitReader::new(&system).read(&system), limits.devices);
    }

    #[test]
    fn without_groups_there_are_no_limits() {
        let (_root, system) = tree(&[]);
        assert_eq!(read_limits(&system), Limits::default());
    }
}
