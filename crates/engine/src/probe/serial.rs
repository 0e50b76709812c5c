//! Serial numbers of block devices, which are stable across restarts.

use super::System;
use crate::identity::DeviceNumber;

/// Files with the serial number, the most reliable first.
const SERIAL_FILES: [&str; 4] = ["wwid", "device/wwid", "serial", "device/serial"];

/// Serial number or world-wide name of a whole device; `None` if unknown, and for partitions.
pub fn serial(system: &System, device: DeviceNumber) -> Option<String> {
    let folder = format!("/sys/dev/block/{}:{}", device.major, device.minor);
    let serial = SERIAL_FILES
        .iter()
        .filter_map(|place| system.read_trimmed(&format!("{folder}/{place}")));
    serial
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .find(|text| !text.is_empty())
}

/// The kernel's disk sequence number. It changes when a loop device gets another file or a device
/// number another disk, and restarts at boot.
pub fn sequence(system: &System, device: DeviceNumber) -> Option<u64> {
    let path = format!("/sys/dev/block/{}:{}/diskseq", device.major, device.minor);
    system.read_trimmed(&path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn the_serial_number_is_found() {
        let (disk, other) = (DeviceNumber::new(259, 0), DeviceNumber::new(7, 0));
        let serial_file = ("sys/dev/block/259:0/device/serial", "S4EW  0123 \n");
        let (_root, system) = tree(&[serial_file]);
        assert_eq!(serial(&system, disk).as_deref(), Some("S4EW 0123"));
        assert_eq!((serial(&system, other), sequence(&system, other)), (None, None));
        let (_root, system) = tree(&[
            serial_file,
            ("sys/dev/block/7:0/diskseq", "42\n"),
            ("sys/dev/block/259:0/wwid", "eui.0025385"),
        ]);
        assert_eq!(sequence(&system, other), Some(42));
        assert_eq!(serial(&system, disk).as_deref(), Some("eui.0025385"));
    }
}
