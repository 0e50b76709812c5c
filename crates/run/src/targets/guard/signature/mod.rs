//! Recognises the contents of a device or file by signatures near its beginning and end.
//!
//! The signatures belong to file systems, volume managers, databases and disk images. They only
//! lead to a refusal without permission, so doubtful ones count too. But random and patterned test
//! data must not match, so every rule checks at least 32 bits. Only the name and a label are
//! interpreted.

mod databases;
mod file_systems;
mod magic;
mod mbr;
#[cfg(test)]
mod tests;
mod volumes;

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

/// A signature that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// File system, partition table, database and so on.
    pub kind: SignatureKind,
    /// Name, such as `ext4`.
    pub name: &'static str,
    /// Position of its first byte.
    pub offset: u64,
    /// The user's name for it: a label, a pool, a volume.
    pub label: Option<String>,
}

/// Kinds of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignatureKind {
    /// A file system.
    FileSystem,
    /// A partition table.
    PartitionTable,
    /// A part of something larger: LVM, ZFS, bcache, Ceph.
    VolumeManager,
    /// A member of an array.
    Raid,
    /// An encrypted volume.
    Encrypted,
    /// Swap space or a hibernated system.
    Swap,
    /// The disk of a virtual machine.
    DiskImage,
    /// Data of a database.
    Database,
}

impl Signature {
    fn new(kind: SignatureKind, name: &'static str, offset: u64, label: Option<String>) -> Signature {
        Signature {
            kind,
            name,
            offset,
            label,
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) || sounds_like_a_vowel(name) {
            "an"
        } else {
            "a"
        };
        match self.kind {
            SignatureKind::FileSystem => write!(f, "{article} {name} file system")?,
            SignatureKind::PartitionTable => write!(f, "{article} {name} partition table")?,
            SignatureKind::VolumeManager | SignatureKind::Encrypted => write!(f, "{article} {name} volume")?,
            SignatureKind::Raid => write!(f, "{article} {name} array member")?,
            SignatureKind::Swap => f.write_str(name)?,
            SignatureKind::DiskImage => write!(f, "{article} {name} disk image")?,
            SignatureKind::Database => write!(f, "{article} {name} data file")?,
        }
        match &self.label {
            Some(label) => write!(f, " \"{label}\""),
            None => Ok(()),
        }
    }
}

/// True if a name is read letter by letter and begins with a vowel sound, as in "an LVM volume".
fn sounds_like_a_vowel(name: &str) -> bool {
    ["XFS", "NTFS", "F2FS", "HFS", "LVM", "LMDB", "MBR", "SGI", "MD "]
        .iter()
        .any(|word| name.starts_with(word))
}

/// Bytes examined at the beginning: the last signature there is VMFS at 2 MiB.
const HEAD: u64 = (2 << 20) + (64 << 10);
/// Bytes examined at the end. Two ZFS labels of 256 KiB, aligned down to 256 KiB, fit.
const TAIL: u64 = 768 << 10;
/// The unit of reads. With it, a file open for direct I/O can be examined too.
const UNIT: u64 = 4096;

/// Finds all signatures in a file or device of the given size.
///
/// # Errors
/// The error of the first failed read: unread data was not examined.
pub fn find(source: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Signature>> {
    let view = View::read(source, size)?;
    let mut signatures = Vec::new();
    magic::find(&view, &mut signatures);
    file_systems::find(&view, &mut signatures);
    volumes::find(&view, &mut signatures);
    databases::find(&view, &mut signatures);
    mbr::find(&view, &mut signatures);
    // A backup copy at the end is redundant.
    let mut unique: Vec<Signature> = Vec::new();
    for signature in signatures {
        if !unique
            .iter()
            .any(|listed| (listed.kind, listed.name) == (signature.kind, signature.name))
        {
            unique.push(signature);
        }
    }
    Ok(unique)
}

/// The beginning and the end of a file or device.
struct View {
    size: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_start: u64,
}

impl View {
    fn read(source: &mut (impl Read + Seek), size: u64) -> io::Result<View> {
        let head = read_range(source, 0, size.min(HEAD))?;
        let tail_start = size.saturating_sub(TAIL) / UNIT * UNIT;
        let tail = if size > HEAD {
            read_range(source, tail_start, size - tail_start)?
        } else {
            Vec::new()
        };
        Ok(View {
            size,
            head,
            tail,
            tail_start,
        })
    }

    /// The bytes at an offset, if they were read.
    fn at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let find_range = |bytes: &'_ [u8], start: u64| -> Option<std::ops::Range<usize>> {
            let first = usize::try_from(offset.checked_sub(start)?).ok()?;
            let end = first.checked_add(length)?;
            (end <= bytes.len()).then_some(first..end)
        };
        match find_range(&self.head, 0) {
            Some(range) => Some(&self.head[range]),
            None => find_range(&self.tail, self.tail_start).map(|range| &self.tail[range]),
        }
    }

    fn has(&self, offset: u64, bytes: &[u8]) -> bool {
        self.at(offset, bytes.len()) == Some(bytes)
    }

    /// An offset counted back from the end.
    fn before_end(&self, distance: u64) -> Option<u64> {
        self.size.checked_sub(distance)
    }

    fn byte(&self, offset: u64) -> Option<u8> {
        self.at(offset, 1).map(|bytes| bytes[0])
    }

    fn little_u16(&self, offset: u64) -> Option<u16> {
        let bytes = self.at(offset, 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn little_u32(&self, offset: u64) -> Option<u32> {
        let bytes = self.at(offset, 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn big_u16(&self, offset: u64) -> Option<u16> {
        let bytes = self.at(offset, 2)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    }

    fn big_u32(&self, offset: u64) -> Option<u32> {
        let bytes = self.at(offset, 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    fn is_zero(&self, offset: u64, length: usize) -> bool {
        self.at(offset, length)
            .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    /// A label: text up to the first zero byte; `None` if it is not printable.
    fn label(&self, offset: u64, length: usize) -> Option<String> {
        let bytes = self.at(offset, length)?;
        let text = bytes.split(|byte| *byte == 0).next()?;
        let text = std::str::from_utf8(text).ok()?.trim();
        let printable = !text.is_empty() && !text.chars().any(char::is_control);
        printable.then(|| text.to_owned())
    }
}

/// Reads a range that begins on a unit; less at the end of the file.
fn read_range(source: &mut (impl Read + Seek), start: u64, length: u64) -> io::Result<Vec<u8>> {
    let rounded_length = length.next_multiple_of(UNIT) as usize;
    let mut buffer = vec![0u8; rounded_length + UNIT as usize];
    // Direct I/O needs an aligned buffer too.
    let skip = buffer.as_ptr().align_offset(UNIT as usize).min(UNIT as usize);
    source.seek(SeekFrom::Start(start))?;
    let mut filled = 0;
    while filled < rounded_length {
        match source.read(&mut buffer[skip + filled..skip + rounded_length]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let filled = filled.min(length as usize);
    buffer.copy_within(skip..skip + filled, 0);
    buffer.truncate(filled);
    Ok(buffer)
}
