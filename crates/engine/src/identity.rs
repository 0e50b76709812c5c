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

/// What makes a file or device the same as another one, however it was reached: by a link, an alias
/// in `/dev/disk/by-id`, a bind mount or a second hard link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A block device, by its own number.
    BlockDevice(DeviceNumber),
    /// A character device, by its own number.
    CharacterDevice(DeviceNumber),
    /// Anything that lies on a file system.
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

/// A file and no other, now or later: the file that takes its number after it was removed is
/// another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The file system, by a number that outlives a restart where there is one.
    pub file_system: u64,
    /// Number of the file there.
    pub number: u128,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not keep it, and
    /// on Windows.
    pub born_ns: i64,
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}@{}", self.file_system, self.number, self.born_ns)
    }
}

/// What a file system keeps of a file beside its contents. Two equal stamps show that nothing was
/// written between them, as far as its times are fine enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Which file.
    pub id: FileId,
    /// Its length in bytes.
    pub length: u64,
    /// When its contents last changed, in nanoseconds since 1970. Programs can set it.
    pub modified_ns: i64,
    /// When its contents or anything else about it last changed. Programs cannot set it.
    pub changed_ns: i64,
}
