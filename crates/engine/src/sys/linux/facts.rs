//! Facts about paths and open files: identity, space, allocation.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use model::Bytes;
use model::environment::Allocation;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::file::FileKind;
use crate::identity::{DeviceNumber, Identity};

/// Identity of the file or device at a path; `None` if it does not exist or is not accessible.
pub fn read_identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|meta| identity(&meta))
}

/// Identity of an open file.
pub fn open_file_identity(file: &fs::File) -> Option<Identity> {
    file.metadata().ok().map(|meta| identity(&meta))
}

fn identity(meta: &fs::Metadata) -> Identity {
    let number = |raw: u64| DeviceNumber::new(libc::major(raw), libc::minor(raw));
    if meta.file_type().is_block_device() {
        return Identity::BlockDevice(number(meta.st_rdev()));
    }
    if meta.file_type().is_char_device() {
        return Identity::CharacterDevice(number(meta.st_rdev()));
    }
    Identity::File {
        device: number(meta.st_dev()),
        inode: meta.st_ino(),
    }
}

/// Distinguishes an open file or disk from earlier ones with the same [`Identity`]: the birth time
/// of a file, the sequence number of a disk. 0 where the system does not know it, and on overlayfs.
pub fn read_birth_number(file: &fs::File) -> u64 {
    /// Which medium a device has, such as the file behind a loop device (linux/fs.h).
    const BLKGETDISKSEQ: libc::Ioctl = 0x8008_1280_u32 as libc::Ioctl;
    /// The type of overlayfs (linux/magic.h).
    const OVERLAYFS: i64 = 0x794c_7630;
    let Ok(meta) = file.metadata() else { return 0 };
    if !meta.file_type().is_block_device() {
        // The first write to a file of a lower layer copies it, and the copy has a later birth.
        if rustix::fs::fstatfs(file).is_ok_and(|stat| stat.f_type == OVERLAYFS) {
            return 0;
        }
        let born = meta.created().ok();
        let age = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
        return age.map_or(0, |age| age.as_nanos() as u64);
    }
    let mut number = 0_u64;
    // SAFETY: the kernel writes 64 bits, and the number is borrowed for the length of the call.
    let _ = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETDISKSEQ, &raw mut number) };
    number
}

/// Kind of the file at a path, following links.
///
/// # Errors
/// The system's error, such as that the path does not exist.
pub fn read_file_kind(path: &Path) -> io::Result<FileKind> {
    let kind = fs::metadata(path)?.file_type();
    Ok(match () {
        () if kind.is_file() => FileKind::Regular,
        () if kind.is_dir() => FileKind::Directory,
        () if kind.is_block_device() => FileKind::BlockDevice,
        () if kind.is_char_device() => FileKind::CharacterDevice,
        () => FileKind::Other,
    })
}

/// The file or device behind a loop device; `None` if it is free, or this user may not open it.
/// The kernel knows the file itself, even if its path differs in this mount namespace.
pub fn loop_backing(path: &Path) -> Option<Identity> {
    const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
    /// The beginning of `struct loop_info64` (linux/loop.h), and its length in words.
    const DEVICE: usize = 0;
    const INODE: usize = 1;
    const OWN_DEVICE: usize = 2;
    const WORDS: usize = 29;
    let file = super::file::open_without_waiting(path).ok()?;
    if !file.metadata().ok()?.file_type().is_block_device() {
        return None;
    }
    let mut info = [0_u64; WORDS];
    // SAFETY: the kernel writes a `struct loop_info64`, which is as long as the array, and the
    // array is borrowed for the length of the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, info.as_mut_ptr()) } != 0 {
        return None;
    }
    let number = |raw: u64| DeviceNumber::new(libc::major(raw), libc::minor(raw));
    Some(match info[OWN_DEVICE] {
        0 => Identity::File {
            device: number(info[DEVICE]),
            inode: info[INODE],
        },
        device => Identity::BlockDevice(number(device)),
    })
}

/// True if a path names a device even if it does not exist. On Linux, device names look like other
/// names.
pub fn names_a_device(_: &Path) -> bool {
    false
}

/// Size of the file system at a path, and bytes available to unprivileged programs.
pub fn read_space(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((
        stat.f_blocks.saturating_mul(stat.f_frsize),
        stat.f_bavail.saturating_mul(stat.f_frsize),
    ))
}

/// Allocation of a regular file: from its extents if the file system reports them, otherwise from
/// its holes.
pub fn read_allocation(file: &fs::File, size: u64) -> Option<Allocation> {
    match map_extents(file, size) {
        Ok(allocation) => Some(allocation),
        // tmpfs, NFS, ZFS and others do not report extents.
        Err(_) => find_holes(file, size).ok(),
    }
}

/// Head of `struct fiemap` (linux/fiemap.h).
#[derive(Default)]
#[repr(C)]
struct MapHead {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct MapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_2: [u32; 3],
}

const EXTENTS_AT_ONCE: usize = 256;
/// Counting stops here: 10 million extents take about a second.
const MAX_EXTENTS: u64 = 1 << 20;
const LAST: u32 = 0x1;
const UNWRITTEN: u32 = 0x800;

#[repr(C)]
struct ExtentMap {
    head: MapHead,
    extents: [MapExtent; EXTENTS_AT_ONCE],
}

impl ExtentMap {
    /// Fills the map from `start` on. Returns its extents.
    fn read(&mut self, file: &fs::File, start: u64) -> io::Result<&[MapExtent]> {
        // _IOWR('f', 11, struct fiemap); it contains the size of the head alone.
        const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;
        self.head = MapHead {
            start,
            length: u64::MAX - start,
            room: EXTENTS_AT_ONCE as u32,
            ..MapHead::default()
        };
        let pointer: *mut ExtentMap = self;
        // SAFETY: the kernel reads and writes the head and writes at most `room` extents behind it;
        // the structure holds exactly that many, has the layout of `struct fiemap`, and is borrowed
        // for the length of the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, pointer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(&self.extents[..(self.head.mapped as usize).min(EXTENTS_AT_ONCE)])
    }
}

fn map_extents(file: &fs::File, size: u64) -> io::Result<Allocation> {
    let mut map = Box::new(ExtentMap {
        head: MapHead::default(),
        extents: [MapExtent::default(); EXTENTS_AT_ONCE],
    });
    let mut allocation = Allocation::default();
    let (mut covered, mut start) = (0u64, 0u64);
    // Extents adjacent both in the file and on the device count as one, regardless of how the file
    // system splits them.
    let mut end_before = None;
    'all: while allocation.extents < MAX_EXTENTS {
        let extents = map.read(file, start)?;
        if extents.is_empty() {
            break;
        }
        for extent in extents {
            let end = extent.logical.saturating_add(extent.length);
            if extent.logical >= size || end <= start {
                break 'all;
            }
            let overlap = end.min(size) - extent.logical.max(start);
            covered += overlap;
            if extent.flags & UNWRITTEN != 0 {
                allocation.unwritten.0 += overlap;
            }
            if end_before != Some((extent.logical, extent.physical)) {
                allocation.extents += 1;
            }
            end_before = Some((end, extent.physical.saturating_add(extent.length)));
            start = end;
            if extent.flags & LAST != 0 {
                break 'all;
            }
        }
    }
    if allocation.extents >= MAX_EXTENTS {
        return Err(io::ErrorKind::Unsupported.into());
    }
    allocation.holes = Bytes(size.saturating_sub(covered));
    Ok(allocation)
}

fn find_holes(file: &fs::File, size: u64) -> io::Result<Allocation> {
    let before = seek(file, SeekFrom::Current(0))?;
    let result = walk_holes(file, size);
    seek(file, SeekFrom::Start(before))?;
    result
}

fn walk_holes(file: &fs::File, size: u64) -> io::Result<Allocation> {
    let (mut data, mut position) = (0u64, 0u64);
    let mut allocation = Allocation::default();
    while position < size && allocation.extents < MAX_EXTENTS {
        let start = match seek(file, SeekFrom::Data(position)) {
            Ok(start) => start,
            // The rest is a hole.
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(start))?.min(size);
        if end <= start {
            break;
        }
        data += end - start;
        allocation.extents += 1;
        position = end;
    }
    allocation.holes = Bytes(size.saturating_sub(data));
    Ok(allocation)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn file_with(parts: &[u64], size: u64, at: &Path) -> fs::File {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(at)
            .unwrap();
        file.set_len(size).unwrap();
        for offset in parts {
            file.write_all_at(&[1; 65536], *offset).unwrap();
        }
        file.sync_all().unwrap();
        file
    }

    /// Both methods must agree; the file system may support only one.
    #[test]
    fn holes_are_found_by_extents_and_by_seeking() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_with(&[0, 1 << 20], 4 << 20, &folder.path().join("file"));
        let by_seeking = find_holes(&file, 4 << 20).unwrap();
        assert_eq!(by_seeking.holes, Bytes((4 << 20) - 131_072));
        assert_eq!(by_seeking.extents, 2);
        if let Ok(by_extents) = map_extents(&file, 4 << 20) {
            assert_eq!(by_extents.holes, by_seeking.holes);
            assert_eq!(by_extents.unwritten, Bytes(0));
        }
    }

    #[test]
    fn reserved_space_counts_as_unwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = file_with(&[], 0, &path);
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).is_err() {
            return;
        }
        let facts = read_allocation(&file, 1 << 20).unwrap();
        assert_eq!(facts.holes.0 + facts.unwritten.0, 1 << 20, "{facts:?}");
    }

    #[test]
    fn an_empty_file_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_with(&[], 0, &folder.path().join("file"));
        assert_eq!(read_allocation(&file, 0), Some(Allocation::default()));
    }

    /// A second run of a command must accept the file that its first run has written to.
    #[test]
    fn the_birth_number_of_an_overlay_survives_the_first_write() {
        let Some(overlay) = testbed::need(testbed::Overlay::with_file(b"data")) else {
            return;
        };
        let read_ids = || {
            let file = fs::File::open(overlay.file()).unwrap();
            (open_file_identity(&file), read_birth_number(&file))
        };
        let before = read_ids();
        fs::OpenOptions::new().append(true).open(overlay.file()).unwrap();
        assert_eq!(read_ids(), before);
    }

    #[test]
    fn links_have_the_identity_of_their_target() {
        let folder = tempfile::tempdir().unwrap();
        let (path, hard, soft) = (
            folder.path().join("a"),
            folder.path().join("b"),
            folder.path().join("c"),
        );
        let file = file_with(&[], 1, &path);
        fs::hard_link(&path, &hard).unwrap();
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        let expected = open_file_identity(&file);
        assert!(expected.is_some());
        assert_eq!(read_identity(&hard), expected);
        assert_eq!(read_identity(&soft), expected);
        assert_eq!(
            read_identity(Path::new("/dev/null")),
            Some(Identity::CharacterDevice(DeviceNumber::new(1, 3)))
        );
        assert_eq!(read_identity(&folder.path().join("missing")), None);
    }
}
