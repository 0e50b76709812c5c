//! Identifies files and devices by numbers, never by paths.

use std::fmt;
use std::str::FromStr;

/// Major and minor number of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

/// Identifies a file or device, regardless of the path that leads to it: a link, an alias in
/// `/dev/disk/by-id`, a bind mount or a second hard link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A block device, by its own number.
    BlockDevice(DeviceNumber),
    /// A character device, by its own number.
    CharacterDevice(DeviceNumber),
    /// Anything on a file system.
    File {
        /// Number of the file system's device. On Windows the serial number of the volume is the
        /// major number.
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

/// The text is not `major:minor`.
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

/// Identifies a file permanently: a later file with the same inode number has another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Number of the file system, stable across restarts where possible.
    pub file_system: u64,
    /// Number of the file there.
    pub number: u128,
    /// Creation time in nanoseconds since 1970; 0 where the file system does not record it, and on
    /// Windows.
    pub born_ns: i64,
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}@{}", self.file_system, self.number, self.born_ns)
    }
}

/// Metadata of a file. Equal stamps show that nothing was written in between, within the file
/// system's time resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Identity of the file: its file system and file number.
    pub id: FileId,
    /// Length in bytes.
    pub length: u64,
    /// Time of the last change of the contents, in nanoseconds since 1970. Programs can set it.
    pub modified_ns: i64,
    /// Time of the last change of contents or metadata. Programs cannot set it.
    pub changed_ns: i64,
}
