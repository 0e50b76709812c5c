//! What makes two paths, links or descriptors the same thing: numbers, never spellings.

use std::fmt;
use std::str::FromStr;

/// Major and minor number of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

/// What makes a file or device the same as another one, however it was reached: by a link, an alias in `/dev/disk/by-id`,
/// a bind mount or a second hard link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A block device, by its own number.
    BlockDevice(DeviceNumber),
    /// A character device, by its own number.
    CharacterDevice(DeviceNumber),
    /// Anything that lies on a file system.
    File {
        /// Number of the file system's device. On Windows the serial number of the volume is the major number.
        device: DeviceNumber,
        /// Number of the file there.
        inode: u64,
    },
}

impl DeviceNumber {
    /// The device with these numbers.
    pub const fn new(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber { major, minor }
    }
}

impl From<(u32, u32)> for DeviceNumber {
    fn from((major, minor): (u32, u32)) -> DeviceNumber {
        DeviceNumber { major, minor }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A text that is not `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a device number is written major:minor")]
pub struct NotADeviceNumber;

impl FromStr for DeviceNumber {
    type Err = NotADeviceNumber;
    fn from_str(text: &str) -> Result<DeviceNumber, NotADeviceNumber> {
        let (major, minor) = text.trim().split_once(':').ok_or(NotADeviceNumber)?;
        match (major.parse(), minor.parse()) {
            (Ok(major), Ok(minor)) => Ok(DeviceNumber { major, minor }),
            _ => Err(NotADeviceNumber),
        }
    }
}
