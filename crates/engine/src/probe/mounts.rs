//! Mounted file systems, from `/proc/self/mountinfo` (its format: proc(5)).

use super::System;
use crate::identity::{DeviceNumber, Identity};

/// A mount of a file system or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number that `stat` returns for files of the mount. On some file systems it belongs to
    /// no device.
    pub number: DeviceNumber,
    /// Block device, if any and known.
    pub device: Option<DeviceNumber>,
    /// The mounted directory or file within the file system; `/` for all of it.
    pub root: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Type of the file system, such as `ext4`.
    pub fs_type: String,
    /// The source that was passed to `mount`, such as a device.
    pub source: String,
    /// Options of the mount.
    pub options: String,
    /// Options of the file system.
    pub super_options: String,
}

impl Mount {
    /// True if it is read-only.
    pub fn is_read_only(&self) -> bool {
        let has = |options: &str| options.split(',').any(|option| option == "ro");
        has(&self.options) || has(&self.super_options)
    }
}

/// Mounts of this process, and of process 1 if they differ and are readable: a device mounted only
/// outside the container is in use too.
pub(super) fn own_and_init_mounts(system: &System) -> Vec<Mount> {
    let mut mounts = own_mounts(system);
    let namespace = |process: &str| system.read_link(&format!("/proc/{process}/ns/mnt"));
    let init_namespace = namespace("1");
    if init_namespace.is_some() && init_namespace != namespace("self") {
        let text = system.read_text("/proc/1/mountinfo").unwrap_or_default();
        mounts.extend(text.lines().filter_map(|line| parse_mount(system, line)));
    }
    mounts
}

/// Mounts of this process, to find the file system of a path.
pub(super) fn own_mounts(system: &System) -> Vec<Mount> {
    own_mounts_containing(system, "")
}

/// Mounts of this process whose line contains `substring`: most lines need not be parsed.
pub(super) fn own_mounts_containing(system: &System, substring: &str) -> Vec<Mount> {
    let text = system.read_text("/proc/self/mountinfo").unwrap_or_default();
    let lines = text.lines().filter(|line| line.contains(substring));
    lines.filter_map(|line| parse_mount(system, line)).collect()
}

/// Parses a line of `mountinfo`.
fn parse_mount(system: &System, line: &str) -> Option<Mount> {
    let (first, second) = line.split_once(" - ")?;
    let mut words = first.split(' ').skip(2);
    let number: DeviceNumber = words.next()?.parse().ok()?;
    let (root, mount_point) = (unescape(words.next()?), unescape(words.next()?));
    let options = words.next()?.to_owned();
    let mut words = second.split(' ');
    let (fs_type, source) = (words.next()?.to_owned(), unescape(words.next()?));
    Some(Mount {
        device: find_mount_device(system, number, &source),
        number,
        root,
        mount_point,
        fs_type,
        source,
        options,
        super_options: words.next().unwrap_or_default().to_owned(),
    })
}

/// The device of a mount. Btrfs, ZFS and network file systems have a number with major 0, which
/// belongs to no device.
fn find_mount_device(system: &System, number: DeviceNumber, source: &str) -> Option<DeviceNumber> {
    if number.major != 0 {
        return Some(number);
    }
    if !source.starts_with("/dev/") {
        return None;
    }
    match system.identity(source) {
        Some(Identity::BlockDevice(number)) => Some(number),
        _ => None,
    }
}

/// Decodes the kernel's octal escapes for space, tab, line feed and backslash.
pub(super) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut unescaped = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let value = digits
            .filter(|digits| digits.iter().all(|digit| (b'0'..b'8').contains(digit)))
            .map(|digits| {
                digits
                    .iter()
                    .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'))
            });
        match value.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                unescaped.push(byte);
                at += 4;
            }
            None => {
                unescaped.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&unescaped).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn mountinfo_lines_are_parsed() {
        let text = "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n\
                    30 22 0:44 /@home /home\\040of\\040us ro - btrfs /dev/sdb1 rw,subvol=/@home\n\
                    31 22 0:45 / /net rw - nfs4 server:/export rw\n\
                    broken line\n";
        let (_root, system) = tree(&[("proc/self/mountinfo", text), ("stat", "block 8:17 /dev/sdb1\n")]);
        let mounts = own_and_init_mounts(&system);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[0].device, Some(DeviceNumber::new(8, 2)));
        assert_eq!(mounts[0].super_options, "rw,errors=remount-ro");
        assert!(!mounts[0].is_read_only());
        assert_eq!(mounts[1].mount_point, "/home of us");
        assert_eq!(mounts[1].root, "/@home");
        assert_eq!(mounts[1].device, Some(DeviceNumber::new(8, 17)));
        assert!(mounts[1].is_read_only());
        assert_eq!(mounts[2].device, None);
    }

    #[test]
    fn octal_escapes_are_decoded() {
        for (text, unescaped) in [
            ("", ""),
            ("a", "a"),
            (r"a\040b", "a b"),
            (r"\134", r"\"),
            (r"a\04", r"a\04"),
            (r"a\999", r"a\999"),
            (r"\777", r"\777"),
            (r"\303\274", "ü"),
        ] {
            assert_eq!(unescape(text), unescaped, "{text}");
        }
    }
}
