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
    use std::fs;

    use super::*;

    #[test]
    fn the_serial_number_is_found() {
        let root = std::env::temp_dir().join(format!("fathom-serial-{}", std::process::id()));
        let folder = |number: &str| root.join("sys/dev/block").join(number);
        fs::create_dir_all(folder("259:0").join("device")).expect("a folder for the test");
        fs::create_dir_all(folder("7:0")).expect("a folder for the test");
        fs::write(folder("259:0").join("device/serial"), "S4EW  0123 \n").expect("a file for the test");
        let system = System::from_tree(&root);
        let number = |major, minor| DeviceNumber::new(major, minor);
        assert_eq!(serial(&system, number(259, 0)).as_deref(), Some("S4EW 0123"));
        assert_eq!(
            (serial(&system, number(7, 0)), sequence(&system, number(7, 0))),
            (None, None)
        );
        fs::write(folder("7:0").join("diskseq"), "42\n").expect("a file for the test");
        assert_eq!(sequence(&system, number(7, 0)), Some(42));
        fs::write(folder("259:0").join("wwid"), "eui.0025385").expect("a file for the test");
        assert_eq!(serial(&system, number(259, 0)).as_deref(), Some("eui.0025385"));
        fs::remove_dir_all(root).expect("the folder exists");
    }
}
