//! Opens files and devices; positioned reads and writes, flushes, trims.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use model::plan::{BypassIo, CacheMode, FileRangeFlags, OpenHint, WriteThrough};
use rustix::fs::{
    Advice, AtFlags, FallocateFlags, Mode, OFlags, StatxFlags, XattrFlags, fadvise, fallocate, fcntl_getfl,
    fcntl_setfl, fdatasync, fsetxattr, fsync, statx,
};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite, pwritev2};

use crate::file::{Access, FileKind, OpenOptions};
use crate::identity::{FileId, FileStamp};

/// Error number: the operation is not supported.
pub const NOT_SUPPORTED: i32 = libc::EOPNOTSUPP;
/// Error number: invalid argument.
pub const INVALID: i32 = libc::EINVAL;
/// Error number: input/output error.
pub const IO_ERROR: i32 = libc::EIO;
/// Error number: no space left.
pub const NO_SPACE: i32 = libc::ENOSPC;
/// Error number: quota exceeded.
pub const OVER_QUOTA: i32 = libc::EDQUOT;
/// Error number: no memory.
pub const NO_MEMORY: i32 = libc::ENOMEM;
/// Error number: permission denied.
pub const ACCESS_DENIED: i32 = libc::EACCES;
/// Error number: operation not permitted.
pub const NOT_PERMITTED: i32 = libc::EPERM;
/// Error number: the file is too large for the file system or a limit.
pub const TOO_LARGE: i32 = libc::EFBIG;
/// Error number: device or resource busy.
pub const BUSY: i32 = libc::EBUSY;
/// Error number: timed out.
pub const TIMED_OUT: i32 = libc::ETIMEDOUT;
/// Error number: read-only file system.
pub const READ_ONLY: i32 = libc::EROFS;

/// Opens a regular file of this user for reading, in a directory where other users may create
/// files. Neither follows links nor blocks. Any other kind of file, or another user's file, is an
/// error.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if it does not exist; otherwise a message with the cause.
pub fn open_own(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path);
    let not_own = |why: &str| {
        let what = format!("cannot use {}: it {why}", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
    };
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return not_own("is a symbolic link");
        }
        opened => opened?,
    };
    let meta = file.metadata()?;
    match meta.is_file() {
        false => not_own("is not a regular file"),
        true if meta.st_uid() != rustix::process::geteuid().as_raw() => not_own("belongs to another user"),
        true => Ok(file),
    }
}

/// Opens a file or block device to inspect it. Does not block if a pipe has replaced it.
pub fn open_without_waiting(path: &Path) -> io::Result<fs::File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file or pipe to write. Fails if no process reads the pipe, instead of waiting for one,
/// and at a link unless `follows_links`.
pub fn open_to_write(options: &mut fs::OpenOptions, path: &Path, follows_links: bool) -> io::Result<fs::File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, !follows_links);
    let file = options
        .custom_flags(flags.bits() as i32)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ENXIO) => io::Error::new(error.kind(), "no process reads this pipe"),
            _ => error,
        })?;
    // Writes wait for room in the pipe.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The open flags that control caching.
pub(super) fn cache_flags(cache: &CacheMode) -> OFlags {
    let direct = if cache.direct { OFlags::DIRECT } else { OFlags::empty() };
    direct
        | match cache.write_through {
            WriteThrough::Off => OFlags::empty(),
            WriteThrough::Data => OFlags::DSYNC,
            WriteThrough::DataAndMetadata => OFlags::SYNC,
        }
}

/// Opens a file or device. Does not block if a pipe has replaced it.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<fs::File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY | cache_flags(&options.cache);
    flags.set(OFlags::EXCL, options.exclusive);
    // A memory map needs read access even if the job only writes.
    let read = options.access != Access::Write || options.cache.mapping.is_some();
    let file = fs::OpenOptions::new()
        .read(read)
        .write(options.access != Access::Read)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    // With O_NONBLOCK, io_uring would fail a read of this file with EAGAIN instead of waiting for
    // the device.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    advise(&file, &options.hint);
    Ok(file)
}

fn advise(file: &fs::File, hint: &OpenHint) {
    if hint.sequential {
        let _ = fadvise(file, 0, None, Advice::Sequential);
    }
    if hint.random {
        let _ = fadvise(file, 0, None, Advice::Random);
    }
    if hint.no_reuse {
        let _ = fadvise(file, 0, None, Advice::NoReuse);
    }
    if let Some(lifetime) = hint.write_lifetime {
        const F_SET_RW_HINT: libc::c_int = 1036;
        let value = u64::from(lifetime);
        // SAFETY: the command reads one u64 behind the pointer, which is live.
        unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &value) };
    }
}

/// Kind, device number (of the block device itself, or of the device under the file system) and
/// size of an open file.
pub fn identify(file: &fs::File) -> io::Result<(FileKind, (u32, u32), u64)> {
    let meta = file.metadata()?;
    let split = |number: u64| (libc::major(number), libc::minor(number));
    if meta.file_type().is_block_device() {
        let size = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
        return Ok((FileKind::BlockDevice, split(meta.st_rdev()), size));
    }
    if meta.is_file() {
        return Ok((FileKind::Regular, split(meta.st_dev()), meta.len()));
    }
    if meta.file_type().is_char_device() {
        return Ok((FileKind::CharacterDevice, split(meta.st_rdev()), 0));
    }
    let kind = match meta.is_dir() {
        true => FileKind::Directory,
        false => FileKind::Other,
    };
    Ok((kind, split(meta.st_dev()), meta.len()))
}

/// Alignment of offsets, lengths and buffers for direct I/O, as the kernel reports it.
pub(crate) fn direct_alignment(file: &fs::File, kind: FileKind) -> u64 {
    if kind == FileKind::BlockDevice {
        let mut size: libc::c_int = 0;
        // SAFETY: BLKSSZGET writes one int behind the pointer, which is live.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::BLKSSZGET as _, &mut size) };
        return if result == 0 && size > 0 { size as u64 } else { 512 };
    }
    // Linux 6.1 and later report the alignment. tmpfs and older kernels do not; 512 is the smallest
    // that can work.
    const STATX_DIOALIGN: u32 = 0x2000;
    let flags = StatxFlags::from_bits_retain(STATX_DIOALIGN);
    match statx(file, "", AtFlags::EMPTY_PATH, flags) {
        Ok(stat) if stat.stx_mask & STATX_DIOALIGN != 0 && stat.stx_dio_offset_align > 0 => {
            u64::from(stat.stx_dio_offset_align.max(stat.stx_dio_mem_align))
        }
        _ => 512,
    }
}

/// The smallest and largest atomic write (`RWF_ATOMIC`); `None` if unsupported. Every power of two
/// in between is atomic too.
pub fn atomic_write_sizes(file: &fs::File) -> Option<(u32, u32)> {
    const STATX_WRITE_ATOMIC: u32 = 0x1_0000;
    let flags = StatxFlags::from_bits_retain(STATX_WRITE_ATOMIC);
    let stat = statx(file, "", AtFlags::EMPTY_PATH, flags).ok()?;
    let is_supported = stat.stx_mask & STATX_WRITE_ATOMIC != 0 && stat.stx_atomic_write_unit_max > 0;
    is_supported.then_some((stat.stx_atomic_write_unit_min, stat.stx_atomic_write_unit_max))
}

/// True if reads with `RWF_NOWAIT` work. Otherwise io_uring hands each read to a kernel thread
/// (io-wq).
pub(crate) fn supports_nowait(file: &fs::File, alignment: u64) -> bool {
    let mut buffer = crate::sys::memory::Mapping::new(alignment.max(4096) as usize, 4096, None);
    let Ok(buffer) = buffer.as_mut() else { return false };
    let mut parts = [io::IoSliceMut::new(buffer.bytes_mut())];
    !matches!(
        preadv2(file, &mut parts, 0, ReadWriteFlags::NOWAIT),
        Err(Errno::OPNOTSUPP | Errno::INVAL)
    )
}

/// Linux has no attribute for temporary files.
pub const SUPPORTS_TEMPORARY: bool = false;

/// Does nothing: each operation has its own priority.
pub(crate) fn set_priority(_file: &fs::File, _priority: u16) -> io::Result<()> {
    Ok(())
}

/// Direct I/O on a network file system bypasses only the local cache.
pub const DIRECT_BYPASSES_LOCAL_CACHE: bool = true;

/// Does nothing, see [`DIRECT_BYPASSES_LOCAL_CACHE`].
///
/// # Errors
/// None.
pub fn bypass_local_cache(_file: &fs::File) -> io::Result<()> {
    Ok(())
}

/// BypassIO exists only on Windows.
///
/// # Errors
/// Always.
pub fn enable_bypass_io(_file: &fs::File, _wanted: BypassIo) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "BypassIO exists only on Windows",
    ))
}

/// Programs can drop the cached pages of a file.
pub const CAN_DROP_CACHE: bool = true;

/// Drops cached pages of a file. Dirty pages stay.
pub fn drop_cache(file: &fs::File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// Reserves space without writing it.
///
/// # Errors
/// The system's error, such as `ENOSPC` or `EOPNOTSUPP`.
pub fn allocate(file: &fs::File, length: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, length)?)
}

/// Linux has no counterpart of `SetFileValidData`.
///
/// # Errors
/// Always `Unsupported`.
pub fn declare_valid(_file: &fs::File, _length: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes transferred, or a negative error number.
#[inline(always)]
fn to_raw_result(result: rustix::io::Result<usize>) -> i64 {
    match result {
        Ok(bytes) => bytes as i64,
        Err(error) => -i64::from(error.raw_os_error()),
    }
}

fn unit_result(result: rustix::io::Result<()>) -> i64 {
    to_raw_result(result.map(|()| 0))
}

/// Reads at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> i64 {
    to_raw_result(pread(file, buffer, offset))
}

/// Writes at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn write_at(file: &fs::File, buffer: &[u8], offset: u64) -> i64 {
    to_raw_result(pwrite(file, buffer, offset))
}

/// `preadv2` with `RWF_*` flags.
pub(crate) fn read_at_with_flags(file: &fs::File, buffer: &mut [u8], offset: u64, flags: u32) -> i64 {
    let flags = ReadWriteFlags::from_bits_retain(flags);
    to_raw_result(preadv2(file, &mut [io::IoSliceMut::new(buffer)], offset, flags))
}

/// `pwritev2` with `RWF_*` flags.
pub(crate) fn write_at_with_flags(file: &fs::File, buffer: &[u8], offset: u64, flags: u32) -> i64 {
    let flags = ReadWriteFlags::from_bits_retain(flags);
    to_raw_result(pwritev2(file, &[io::IoSlice::new(buffer)], offset, flags))
}

/// Allocates a range; `keep_size` leaves the file size unchanged. Returns the length or a negative
/// error number.
pub(crate) fn allocate_range(file: &fs::File, offset: u64, length: u64, keep_size: bool) -> i64 {
    let mut flags = FallocateFlags::empty();
    flags.set(FallocateFlags::KEEP_SIZE, keep_size);
    to_raw_result(fallocate(file, flags, offset, length).map(|()| length as usize))
}

/// Flushes data and metadata. Returns 0 or a negative error number.
pub(crate) fn flush(file: &fs::File) -> i64 {
    unit_result(fsync(file))
}

/// Flushes data. Returns 0 or a negative error number.
pub(crate) fn flush_data(file: &fs::File) -> i64 {
    unit_result(fdatasync(file))
}

/// `sync_file_range`. Returns 0 or a negative error number.
pub(crate) fn flush_range(file: &fs::File, offset: u64, length: u64, flags: FileRangeFlags) -> i64 {
    let mut bits = 0;
    for (set, bit) in [
        (flags.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
        (flags.write, libc::SYNC_FILE_RANGE_WRITE),
        (flags.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER),
    ] {
        bits |= if set { bit } else { 0 };
    }
    let fd = file.as_raw_fd();
    // SAFETY: the call takes numbers only; the descriptor is borrowed from a live file.
    match unsafe { libc::sync_file_range(fd, offset as i64, length as i64, bits) } {
        0 => 0,
        _ => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// Flushes the whole file system of a file.
///
/// # Errors
/// The system's error.
pub fn flush_file_system(file: &fs::File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// Discards a range: `BLKDISCARD` on a device, a punched hole in a file. Returns the length or a
/// negative error number.
pub(crate) fn trim(file: &fs::File, kind: FileKind, offset: u64, length: u64) -> i64 {
    if kind != FileKind::BlockDevice {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        return to_raw_result(fallocate(file, flags, offset, length).map(|()| length as usize));
    }
    let result = discard(file, offset, length);
    if result != -i64::from(libc::EBUSY) {
        return result;
    }
    // The guard holds the device exclusively, so the kernel refuses to discard dirty pages. After a
    // flush it accepts.
    let all_flags = FileRangeFlags {
        wait_before: true,
        write: true,
        wait_after: true,
    };
    match flush_range(file, offset, length, all_flags) {
        0 => discard(file, offset, length),
        _ => result,
    }
}

fn discard(file: &fs::File, offset: u64, length: u64) -> i64 {
    const BLKDISCARD: libc::Ioctl = 0x1277u32 as libc::Ioctl;
    let range = [offset, length];
    let fd = file.as_raw_fd();
    // SAFETY: BLKDISCARD reads two u64 behind the pointer, which is live.
    match unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) } {
        0 => length as i64,
        _ => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// Reserves space without changing the size of the file.
///
/// # Errors
/// The system's error, such as `ENOSPC` or `EOPNOTSUPP`.
pub fn allocate_keeping_size(file: &fs::File, length: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, length)?)
}

/// An extended attribute, if the file has it.
pub fn read_attribute(file: &fs::File, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0u8; 1024];
    let length = rustix::fs::fgetxattr(file, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

/// Sets an extended attribute.
///
/// # Errors
/// The system's error, such as `EOPNOTSUPP` where the file system has none.
pub fn set_attribute(file: &fs::File, name: &str, value: &[u8]) -> io::Result<()> {
    Ok(fsetxattr(file, name, value, XattrFlags::empty())?)
}

/// Identifies a file permanently: device, inode and creation time.
pub fn identity(file: &fs::File) -> Option<String> {
    let flags = StatxFlags::BTIME | StatxFlags::INO;
    let stat = statx(file, "", AtFlags::EMPTY_PATH, flags).ok()?;
    let birth = stat.stx_btime;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    Some(format!(
        "{}:{} {} {}.{:09}",
        device.0, device.1, stat.stx_ino, birth.tv_sec, birth.tv_nsec
    ))
}

/// Takes the exclusive lock of a file, which is held until the file is closed. False if another
/// process holds it.
pub fn try_lock(file: &fs::File) -> bool {
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Takes the advisory lock of a file that will be changed, which is held until the file is closed.
/// `shared` admits others that share it.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another process holds it; other kinds if there are no locks.
pub fn try_lock_for_writing(file: &fs::File, shared: bool) -> io::Result<()> {
    use rustix::fs::FlockOperation as Operation;
    let operation = match shared {
        true => Operation::NonBlockingLockShared,
        false => Operation::NonBlockingLockExclusive,
    };
    Ok(rustix::fs::flock(file, operation)?)
}

/// Always `None`: on Linux an extended attribute marks the file.
pub fn persistent_identity(_file: &fs::File) -> Option<String> {
    None
}

/// Reads id, length and times of an open file.
///
/// # Errors
/// The system's error.
pub fn file_stamp(file: &fs::File) -> io::Result<FileStamp> {
    stamp_from(&file.metadata()?, rustix::fs::fstatvfs(file)?.f_fsid)
}

fn stamp_from(meta: &fs::Metadata, file_system: u64) -> io::Result<FileStamp> {
    Ok(FileStamp {
        id: FileId {
            // Device numbers change at a restart, and most file systems have their own id. Without
            // either, hosts and mounts of one file system would see different numbers.
            file_system: match (file_system, libc::major(meta.st_dev())) {
                (0, 0) => 0,
                (0, _) => meta.st_dev(),
                (number, _) => number,
            },
            number: u128::from(meta.st_ino()),
            born_ns: meta.created().map_or(0, nanoseconds),
        },
        length: meta.len(),
        modified_ns: nanoseconds(meta.modified()?),
        changed_ns: meta
            .st_ctime()
            .saturating_mul(1_000_000_000)
            .saturating_add(meta.st_ctime_nsec()),
    })
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// Removes a file, if the path still leads to the file with this id.
///
/// # Errors
/// The system's error; [`io::ErrorKind::NotFound`] if the path leads to another file.
pub fn remove(path: &Path, id: FileId) -> io::Result<()> {
    let stamp = stamp_from(&fs::metadata(path)?, rustix::fs::statvfs(path)?.f_fsid)?;
    match stamp.id == id {
        true => fs::remove_file(path),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The directory of a file, held open, so that the file can be removed even if its path no longer
/// leads there: after `umount -l`, or when a directory was renamed.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens the directory of a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_parent(path: &Path) -> io::Result<Folder> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(rustix::fs::open(
            folder.unwrap_or(Path::new(".")),
            flags,
            Mode::empty(),
        )?))
    }

    /// Removes the file of this name, if it is the one with this id.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::NotFound`] if it is another file.
    pub fn remove(&self, name: &OsStr, id: FileId) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        match file_stamp(&file)?.id == id {
            true => Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// True if an open file has no name any more.
pub fn is_unlinked(file: &fs::File) -> bool {
    file.metadata().is_ok_and(|meta| meta.st_nlink() == 0)
}

/// Disables read-ahead, for single reads at scattered offsets.
pub fn disable_read_ahead(file: &fs::File) {
    let _ = fadvise(file, 0, None, Advice::Random);
}

/// Opens a file that no process has locked, in order to remove it. Taking the lock prevents other
/// processes from doing the same.
pub fn open_abandoned(path: &Path) -> Option<fs::File> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
    try_lock(&file).then_some(file)
}

/// Opens a file that processes lock together. `None` if one has it for itself.
pub fn open_shared(path: &Path) -> Option<fs::File> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
    // Other errors: the file system has no locks.
    let is_taken = try_lock_for_writing(&file, true).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    (!is_taken).then_some(file)
}

/// Removes a file opened by [`open_abandoned`], if the path still leads to it.
///
/// # Errors
/// The system's error.
pub fn remove_abandoned(file: fs::File, path: &Path) -> io::Result<()> {
    remove(path, file_stamp(&file)?.id)
}

/// Size of the file system at a path, and bytes available there. Unlimited if the file system
/// reports no size.
///
/// # Errors
/// The system's error.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::statvfs(path)?;
    if stat.f_blocks == 0 {
        return Ok((u64::MAX, u64::MAX));
    }
    Ok((stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize))
}

/// Returns how the file system of a path allocates files.
pub fn allocation(path: &Path) -> io::Result<crate::sys::Allocation> {
    /// Network file systems may report their transfer size instead.
    const MAX_BLOCK: u64 = 64 << 10;
    let stat = rustix::fs::statvfs(path)?;
    Ok(crate::sys::Allocation {
        block: match stat.f_frsize {
            block @ 1..=MAX_BLOCK => block,
            _ => 4096,
        },
        files: (stat.f_files > 0).then_some((stat.f_files, stat.f_favail)),
    })
}

/// `statfs` magic numbers of NFS, SMB (three generations), 9P, Ceph, AFS (two), Lustre, OCFS2, GFS2
/// and BeeGFS.
const REMOTE_MAGICS: [u32; 12] = [
    0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x6b41_4653, 0x0bd0_0bd0,
    0x7461_636f, 0x0116_1970, 0x1983_0326,
];
/// The magic number of FUSE, which local and remote file systems share.
const FUSE_MAGIC: u32 = 0x6573_5546;
/// Remote types with that number.
const REMOTE_FUSE_TYPES: [&str; 3] = ["virtiofs", "fuse.glusterfs", "fuse.sshfs"];

/// True if an open file is on another machine: on a network file system with a local cache.
pub fn is_remote(file: &fs::File) -> bool {
    let Ok(stat) = rustix::fs::fstatfs(file) else {
        return false;
    };
    let magic = stat.f_type as u32;
    REMOTE_MAGICS.contains(&magic)
        || magic == FUSE_MAGIC
            && file.metadata().is_ok_and(|meta| {
                let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
                is_remote_fuse(&mounts, (libc::major(meta.st_dev()), libc::minor(meta.st_dev())))
            })
}

/// True if the file system of a device is remote, according to `/proc/self/mountinfo`.
fn is_remote_fuse(mounts: &str, (major, minor): (u32, u32)) -> bool {
    let device = format!("{major}:{minor}");
    mounts.lines().any(|line| {
        let kind = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next());
        line.split(' ').nth(2) == Some(&device) && kind.is_some_and(|kind| REMOTE_FUSE_TYPES.contains(&kind))
    })
}

/// Bytes allocated to a file.
pub fn allocated(meta: &fs::Metadata) -> u64 {
    meta.st_blocks() * 512
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtiofs_is_remote_and_local_fuse_is_not() {
        let mounts = "36 25 0:31 / /home rw,relatime shared:1 - virtiofs home rw\n\
            37 25 0:32 / /mnt/usb rw - fuseblk /dev/sdb1 rw,user_id=0\n\
            38 25 0:33 / /mnt/far rw - fuse.sshfs far:/ rw\n";
        let check = |minor, expected| assert_eq!(is_remote_fuse(mounts, (0, minor)), expected, "0:{minor}");
        check(31, true);
        check(32, false);
        check(33, true);
        check(34, false);
    }
}
