//! Opens files and devices; positioned reads and writes, flushes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};

use model::plan::{BypassIo, FileRangeFlags, WriteThrough};
use windows_sys::Win32::Foundation::{ERROR_INVALID_FUNCTION, HANDLE};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_TEMPORARY, FILE_BASIC_INFO, FILE_DISPOSITION_INFO, FILE_FLAG_NO_BUFFERING,
    FILE_FLAG_OVERLAPPED, FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN, FILE_FLAG_WRITE_THROUGH,
    FILE_GENERIC_READ, FILE_IO_PRIORITY_HINT_INFO, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FileDispositionInfo, FileIoPriorityHintInfo, IoPriorityHintLow, IoPriorityHintNormal, IoPriorityHintVeryLow,
    SetFileInformationByHandle,
};
use windows_sys::Win32::System::Ioctl::{
    FS_BPIO_OP_ENABLE, FSBPIO_OUTFL_COMPATIBLE_STORAGE_DRIVER, FSCTL_FILE_LEVEL_TRIM, FSCTL_MANAGE_BYPASS_IO,
    IOCTL_STORAGE_MANAGE_DATA_SET_ATTRIBUTES,
};

use super::{device_types, ioctl, prepare};
use crate::error::operation_result;
use crate::file::{Access, FileKind, OpenOptions};
use crate::identity::{FileId, FileStamp};

/// Error number: the operation is not supported.
pub const NOT_SUPPORTED: i32 = 50;
/// Error number: invalid parameter.
pub const INVALID: i32 = 87;
/// Error number: input/output error.
pub const IO_ERROR: i32 = 1117;
/// Error number: disk full.
pub const NO_SPACE: i32 = 112;
/// Error number: quota exceeded.
pub const OVER_QUOTA: i32 = 1295;
/// Error number: no memory.
pub const NO_MEMORY: i32 = 8;
/// Error number: access denied.
pub const ACCESS_DENIED: i32 = 5;
/// Error number: a required privilege is not held.
pub const NOT_PERMITTED: i32 = 1314;
/// Error number: the file is too large.
pub const TOO_LARGE: i32 = 223;
/// Error number: the resource is in use.
pub const BUSY: i32 = 170;
/// Error number: write protected.
pub const READ_ONLY: i32 = 19;
/// Error number: it took too long.
pub const TIMED_OUT: i32 = 1460;

/// Opens a file of this user for reading. On Windows its directory belongs to the user.
///
/// # Errors
/// The system's error.
pub fn open_own(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

/// Files can be marked temporary (DiskSpd `-ft`).
pub const SUPPORTS_TEMPORARY: bool = true;

/// Flags and attributes for `CreateFileW`, which uses the attributes only for new files.
fn flags_and_attributes(options: &OpenOptions) -> (u32, u32) {
    let flags = [
        (options.cache.direct, FILE_FLAG_NO_BUFFERING),
        (
            options.cache.write_through != WriteThrough::Off,
            FILE_FLAG_WRITE_THROUGH,
        ),
        (options.hint.sequential, FILE_FLAG_SEQUENTIAL_SCAN),
        (options.hint.random, FILE_FLAG_RANDOM_ACCESS),
        (options.overlapped, FILE_FLAG_OVERLAPPED),
    ];
    let attributes = [(options.hint.temporary, FILE_ATTRIBUTE_TEMPORARY)];
    let combine_set = |wanted: &[(bool, u32)]| {
        let set = wanted.iter().filter(|(set, _)| *set);
        set.fold(0, |flags, (_, flag)| flags | flag)
    };
    (combine_set(&flags), combine_set(&attributes))
}

/// Opens a file or disk to inspect it.
///
/// # Errors
/// The system's error.
pub fn open_without_waiting(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

/// Opens a file to write. Follows links: creating one needs a privilege or the developer mode.
pub fn open_to_write(options: &mut fs::OpenOptions, path: &Path, _: bool) -> io::Result<fs::File> {
    options.open(path)
}

/// Opens a file or device, shared with other users.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<fs::File> {
    let (flags, attributes) = flags_and_attributes(options);
    // A memory map needs read access even where only writes are wanted.
    let read = options.access != Access::Write || options.cache.mapping.is_some();
    fs::OpenOptions::new()
        .read(read)
        .write(options.access != Access::Read)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
        .attributes(attributes)
        .custom_flags(flags)
        .open(path)
}

/// Kind, device number (disk and partition, or volume) and size of an open file.
pub fn identify(file: &fs::File) -> io::Result<(FileKind, (u32, u32), u64)> {
    device_types::identify(file)
}

/// Alignment of offsets, lengths and buffers for unbuffered I/O.
pub(crate) fn direct_alignment(file: &fs::File, kind: FileKind) -> u64 {
    device_types::direct_alignment(file, kind)
}

/// False: Windows passes unbuffered I/O on to the server, so it bypasses more than the local cache.
pub const DIRECT_BYPASSES_LOCAL_CACHE: bool = false;

/// Disables the redirector's local buffering for an open file on a server (Windows 8 and later).
///
/// # Errors
/// The system's error, such as that the file is not on a server.
pub fn bypass_local_cache(file: &fs::File) -> io::Result<()> {
    /// `IOCTL_LMR_DISABLE_LOCAL_BUFFERING`.
    const DISABLE_LOCAL_BUFFERING: u32 = 0x14_0390;
    ioctl::device_io_control(file, DISABLE_LOCAL_BUFFERING, &[], 0).map(drop)
}

/// Enables BypassIO for the reads of an open file (Windows 11 and later).
///
/// # Errors
/// The system's error, or the driver that prevents it and why.
pub fn enable_bypass_io(file: &fs::File, wanted: BypassIo) -> io::Result<()> {
    /// Sizes of `FS_BPIO_INPUT` and of `FS_BPIO_OUTPUT`.
    const INPUT_BYTES: usize = 24;
    const OUTPUT_BYTES: usize = 352;
    let mut input = [0; INPUT_BYTES];
    input[..4].copy_from_slice(&FS_BPIO_OP_ENABLE.to_ne_bytes());
    let output = ioctl::device_io_control(file, FSCTL_MANAGE_BYPASS_IO, &input, OUTPUT_BYTES)?;
    check_bypass_io(&output.bytes, wanted)
}

/// Checks the output of FSCTL_MANAGE_BYPASS_IO (`FS_BPIO_OUTPUT`, by offsets; text lengths are in
/// UTF-16 units).
fn check_bypass_io(output: &[u8], wanted: BypassIo) -> io::Result<()> {
    let number = |at: usize| {
        output
            .get(at..at + 4)
            .map_or(0, |bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let text = |at: usize| {
        let units = output.get(at + 2..).unwrap_or_default().as_chunks::<2>().0;
        let units: Vec<u16> = units.iter().map(|unit| u16::from_ne_bytes(*unit)).collect();
        let length = (number(at) & 0xFFFF) as usize;
        String::from_utf16_lossy(&units[..length.min(units.len())])
    };
    let (flags, status) = (number(4), number(24));
    let covers_volume = flags & FSBPIO_OUTFL_COMPATIBLE_STORAGE_DRIVER as u32 != 0;
    if status == 0 && (covers_volume || wanted == BypassIo::Partial) {
        return Ok(());
    }
    let driver = Some(text(28)).filter(|name| !name.is_empty());
    let reason = Some(text(94)).filter(|text| !text.is_empty());
    let driver = driver.unwrap_or_else(|| "a driver of the volume".into());
    let reason = reason.unwrap_or_else(|| format!("status {status:#x}"));
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{driver} does not support it: {reason}"),
    ))
}

/// Sets the I/O priority of an open file: class × 2¹³ + level, in Linux's encoding. The idle class
/// maps to Windows' lowest priority, level 7 of best effort to the one above, all others to normal.
///
/// # Errors
/// The system's error; `Unsupported` for the real-time class.
pub(crate) fn set_priority(file: &fs::File, priority: u16) -> io::Result<()> {
    /// The call requires an alignment of eight bytes.
    #[repr(align(8))]
    struct Aligned(FILE_IO_PRIORITY_HINT_INFO);
    let hint = match (priority >> 13, priority & 7) {
        (1, _) => return Err(io::ErrorKind::Unsupported.into()),
        (3, _) => IoPriorityHintVeryLow,
        (2, 7) => IoPriorityHintLow,
        _ => IoPriorityHintNormal,
    };
    let wanted = Aligned(FILE_IO_PRIORITY_HINT_INFO { PriorityHint: hint });
    let (place, length) = (&raw const wanted.0, size_of::<FILE_IO_PRIORITY_HINT_INFO>() as u32);
    let handle: HANDLE = file.as_raw_handle();
    // SAFETY: the handle belongs to a live file, and the structure is live and of the type that
    // belongs to the class.
    ioctl::check(unsafe { SetFileInformationByHandle(handle, FileIoPriorityHintInfo, place.cast(), length) })
}

/// Windows programs cannot drop the cached pages of a file.
pub const CAN_DROP_CACHE: bool = false;

/// Does nothing, see [`CAN_DROP_CACHE`].
pub fn drop_cache(_file: &fs::File) {}

/// Sets the length; space is allocated when it is written.
///
/// # Errors
/// The system's error.
pub fn allocate(file: &fs::File, length: u64) -> io::Result<()> {
    prepare::set_length(file, length)
}

/// Declares a file valid up to a length without writing it, which needs a privilege.
///
/// # Errors
/// The system's error; then the file must be written instead.
pub fn declare_valid(file: &fs::File, length: u64) -> io::Result<()> {
    prepare::declare_valid(file, length)
}

fn to_raw_result(result: io::Result<usize>) -> i64 {
    match result {
        Ok(bytes) => bytes as i64,
        Err(error) => operation_result(&error),
    }
}

/// Reads at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> i64 {
    to_raw_result(file.seek_read(buffer, offset))
}

/// Writes at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn write_at(file: &fs::File, buffer: &[u8], offset: u64) -> i64 {
    to_raw_result(file.seek_write(buffer, offset))
}

/// Same as [`read_at`]: Windows has no polled calls.
pub(crate) fn read_at_with_flags(file: &fs::File, buffer: &mut [u8], offset: u64, _flags: u32) -> i64 {
    read_at(file, buffer, offset)
}

/// Same as [`write_at`]: Windows has no polled calls.
pub(crate) fn write_at_with_flags(file: &fs::File, buffer: &[u8], offset: u64, _flags: u32) -> i64 {
    write_at(file, buffer, offset)
}

/// Not supported.
pub(crate) fn allocate_range(_file: &fs::File, _offset: u64, _length: u64, _keep_size: bool) -> i64 {
    -i64::from(NOT_SUPPORTED)
}

/// Flushes data and metadata. Returns 0 or a negative error number.
pub(crate) fn flush(file: &fs::File) -> i64 {
    to_raw_result(file.sync_all().map(|()| 0))
}

/// Flushes data. Returns 0 or a negative error number.
pub(crate) fn flush_data(file: &fs::File) -> i64 {
    to_raw_result(file.sync_data().map(|()| 0))
}

/// Not supported.
pub(crate) fn flush_range(_file: &fs::File, _offset: u64, _length: u64, _flags: FileRangeFlags) -> i64 {
    -i64::from(NOT_SUPPORTED)
}

/// Flushes the file, because flushing a whole file system needs privileges.
///
/// # Errors
/// The system's error.
pub fn flush_file_system(file: &fs::File) -> io::Result<()> {
    file.sync_all()
}

/// Discards a range: of a disk or volume by a data set attribute, of a file by a file-level trim.
/// Returns the length or a negative error number.
pub(crate) fn trim(file: &fs::File, kind: FileKind, offset: u64, length: u64) -> i64 {
    let sent = match kind {
        FileKind::BlockDevice => trim_device(file, offset, length),
        _ => trim_file(file, offset, length),
    };
    match sent {
        Ok(()) => length as i64,
        // Devices without this control return ERROR_INVALID_FUNCTION.
        Err(error) if error.raw_os_error() == Some(ERROR_INVALID_FUNCTION as i32) => -i64::from(NOT_SUPPORTED),
        Err(error) => operation_result(&error),
    }
}

fn trim_device(file: &fs::File, offset: u64, length: u64) -> io::Result<()> {
    /// `DeviceDsmAction_Trim`.
    const TRIM: u32 = 1;
    /// `DEVICE_DSM_FLAG_TRIM_NOT_FS_ALLOCATED`: the range belongs to no file system. The guard
    /// permits writes only to such devices.
    const NOT_FS_ALLOCATED: u32 = 0x8000_0000;
    /// Bytes of DEVICE_MANAGE_DATA_SET_ATTRIBUTES; ranges begin at a multiple of eight.
    const HEAD: u32 = 28;
    const RANGES: u32 = HEAD.next_multiple_of(8);
    /// Bytes of DEVICE_DATA_SET_RANGE.
    const RANGE: u32 = 16;
    let mut input = Vec::with_capacity((RANGES + RANGE) as usize);
    for number in [HEAD, TRIM, NOT_FS_ALLOCATED, 0, 0, RANGES, RANGE] {
        input.extend(number.to_le_bytes());
    }
    input.resize(RANGES as usize, 0);
    input.extend(offset.to_le_bytes());
    input.extend(length.to_le_bytes());
    ioctl::device_io_control(file, IOCTL_STORAGE_MANAGE_DATA_SET_ATTRIBUTES, &input, 0).map(drop)
}

fn trim_file(file: &fs::File, offset: u64, length: u64) -> io::Result<()> {
    // FILE_LEVEL_TRIM: a key (zero for none), the number of ranges, and offset and length of each.
    let (key, ranges) = (0u32.to_le_bytes(), 1u32.to_le_bytes());
    let input = [
        &key[..],
        &ranges[..],
        &offset.to_le_bytes()[..],
        &length.to_le_bytes()[..],
    ]
    .concat();
    ioctl::device_io_control(file, FSCTL_FILE_LEVEL_TRIM, &input, 0).map(drop)
}

/// Reserves space without changing the size of the file.
///
/// # Errors
/// The system's error.
pub fn allocate_keeping_size(file: &fs::File, length: u64) -> io::Result<()> {
    prepare::reserve(file, length)
}

/// Extended attributes are not used on Windows.
pub fn read_attribute(_file: &fs::File, _name: &str) -> Option<Vec<u8>> {
    None
}

/// Extended attributes are not used on Windows.
///
/// # Errors
/// Always `Unsupported`.
pub fn set_attribute(_file: &fs::File, _name: &str, _value: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Identifies a file: volume and file number, creation time and size. The time alone is weak,
/// because a new file inherits the creation time of a just deleted file of the same name
/// (tunnelling), and some file systems reuse file numbers.
pub fn identity(file: &fs::File) -> Option<String> {
    use std::os::windows::fs::MetadataExt;
    let (meta, (volume, number)) = (file.metadata().ok()?, device_types::volume_and_file_number(file)?);
    let (born, size) = (meta.creation_time(), meta.file_size());
    Some(format!("{volume:x}:{number:x} {born} {size}"))
}

/// Identifies a file while it exists: volume and file number.
pub fn persistent_identity(file: &fs::File) -> Option<String> {
    let (volume, number) = device_types::volume_and_file_number(file)?;
    Some(format!("{volume:x}-{number:x}"))
}

/// Reads id, length and times of an open file.
///
/// # Errors
/// The system's error.
pub fn file_stamp(file: &fs::File) -> io::Result<FileStamp> {
    let (volume, number) = device_types::volume_and_file_number(file).ok_or_else(io::Error::last_os_error)?;
    let times = ioctl::query_file_info::<FILE_BASIC_INFO>(file)?;
    Ok(FileStamp {
        id: FileId {
            file_system: volume,
            number,
            // NTFS and ReFS never reuse a number. Other file systems may report the time of the
            // last change as creation time.
            born_ns: 0,
        },
        length: file.metadata()?.len(),
        modified_ns: unix_ns(times.LastWriteTime),
        changed_ns: unix_ns(times.ChangeTime),
    })
}

/// Converts from units of 100 ns since 1601.
fn unix_ns(steps: i64) -> i64 {
    steps.saturating_sub(116_444_736_000_000_000).saturating_mul(100)
}

/// Removes a file, if the path still leads to the file with this id.
///
/// # Errors
/// The system's error; [`io::ErrorKind::NotFound`] if the path leads to another file.
pub fn remove(path: &Path, id: FileId) -> io::Result<()> {
    let file = fs::OpenOptions::new()
        .access_mode(FILE_GENERIC_READ | DELETE)
        .open(path)?;
    match file_stamp(&file)?.id == id {
        true => remove_abandoned(file, path),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The directory of a file. It cannot be renamed while a file in it is open.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The directory of a file.
    ///
    /// # Errors
    /// None.
    pub fn open_parent(path: &Path) -> io::Result<Folder> {
        Ok(Folder(path.parent().unwrap_or(Path::new("")).to_owned()))
    }

    /// Removes the file of this name, if it is the one with this id.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn remove(&self, name: &OsStr, id: FileId) -> io::Result<()> {
        remove(&self.0.join(name), id)
    }
}

/// False: a file keeps its name while it is open.
pub fn is_unlinked(_: &fs::File) -> bool {
    false
}

/// Does nothing: read-ahead is set when a handle is opened.
pub fn disable_read_ahead(_file: &fs::File) {}

/// Always succeeds: every open file counts as locked, since [`open_abandoned`] opens files
/// exclusively.
pub fn try_lock(_file: &fs::File) -> bool {
    true
}

/// Locks nothing: a lock of this system would stop the operations on the file.
///
/// # Errors
/// None.
pub fn try_lock_for_writing(_file: &fs::File, _shared: bool) -> io::Result<()> {
    Ok(())
}

/// Opens a file that no other process has open, in order to remove it. Other processes cannot open
/// it meanwhile.
pub fn open_abandoned(path: &Path) -> Option<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.access_mode(FILE_GENERIC_READ | DELETE).share_mode(0);
    options.open(path).ok()
}

/// Opens a file that processes have open together. `None` if one has it for itself.
pub fn open_shared(path: &Path) -> Option<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.access_mode(FILE_GENERIC_READ).share_mode(FILE_SHARE_READ);
    options.open(path).ok()
}

/// Removes a file opened by [`open_abandoned`], even if it was renamed.
///
/// # Errors
/// The system's error.
pub fn remove_abandoned(file: fs::File, _path: &Path) -> io::Result<()> {
    // The file is deleted when it is closed, at the end of this function.
    prepare::set(&file, FileDispositionInfo, &FILE_DISPOSITION_INFO { DeleteFile: true })
}

/// Size of the volume of a path, and bytes available there.
///
/// # Errors
/// The system's error.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
    let path = ioctl::to_wide(path);
    let (mut available, mut total, mut free) = (0u64, 0u64, 0u64);
    // SAFETY: the path ends with a zero, and the call writes three live words.
    ioctl::check(unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &mut available, &mut total, &mut free) })?;
    Ok((total, available))
}

/// Returns how the file system of a path allocates files: in clusters, without a limit of files.
pub fn allocation(_: &Path) -> io::Result<crate::sys::Allocation> {
    Ok(crate::sys::Allocation {
        block: 4096,
        files: None,
    })
}

/// The smallest and largest atomic write: Windows has none.
pub fn atomic_write_sizes(_file: &fs::File) -> Option<(u32, u32)> {
    None
}

/// True if an open file is on another machine.
pub fn is_remote(file: &fs::File) -> bool {
    device_types::is_remote(file)
}

/// Bytes allocated to a file, estimated by its size.
pub fn allocated(meta: &fs::Metadata) -> u64 {
    meta.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Access;
    use model::plan::CacheMode;

    /// Outputs as documented: the driver is at offset 28, the reason at offset 94.
    #[test]
    fn the_driver_that_prevents_bypass_io_is_reported() {
        let output = |flags: i32, status: u32, driver: &str, reason: &str| {
            let mut bytes = vec![0; 352];
            bytes[4..8].copy_from_slice(&flags.to_ne_bytes());
            bytes[24..28].copy_from_slice(&status.to_ne_bytes());
            for (at, text) in [(28, driver), (94, reason)] {
                let units: Vec<u16> = text.encode_utf16().collect();
                bytes[at..at + 2].copy_from_slice(&(units.len() as u16).to_ne_bytes());
                for (number, unit) in units.iter().enumerate() {
                    let at = at + 2 + 2 * number;
                    bytes[at..at + 2].copy_from_slice(&unit.to_ne_bytes());
                }
            }
            bytes
        };
        let judge = |output: &[u8], wanted| check_bypass_io(output, wanted).map_err(|error| error.to_string());
        let whole = output(FSBPIO_OUTFL_COMPATIBLE_STORAGE_DRIVER, 0, "", "");
        assert_eq!(judge(&whole, BypassIo::Full), Ok(()));
        let partial = output(0, 0, "volmgr.sys", "no NVMe");
        assert_eq!(judge(&partial, BypassIo::Partial), Ok(()));
        let expected = "volmgr.sys does not support it: no NVMe";
        assert_eq!(judge(&partial, BypassIo::Full), Err(expected.into()));
        let vetoed = output(0, 0xC000_00BB, "av.sys", "it must see every read");
        let expected = "av.sys does not support it: it must see every read";
        assert_eq!(judge(&vetoed, BypassIo::Partial), Err(expected.into()));
        // A truncated output names nothing, and is not read past its end.
        let expected = "a driver of the volume does not support it: status 0xc00000bb";
        assert_eq!(judge(&vetoed[..28], BypassIo::Partial), Err(expected.into()));
    }

    #[test]
    fn flags_follow_from_cache_and_hints() {
        let plain = OpenOptions::new(Access::ReadWrite, CacheMode::BUFFERED);
        let open_with = |change: &dyn Fn(&mut OpenOptions)| {
            let mut options = plain;
            change(&mut options);
            flags_and_attributes(&options)
        };
        let direct: &dyn Fn(&mut OpenOptions) = &|options| options.cache.direct = true;
        let through: &dyn Fn(&mut OpenOptions) = &|options| options.cache.write_through = WriteThrough::Data;
        let table: [(&dyn Fn(&mut OpenOptions), (u32, u32)); 10] = [
            (&|_| {}, (0, 0)),
            (direct, (0x2000_0000, 0)),
            (through, (0x8000_0000, 0)),
            (
                &|options| options.cache.write_through = WriteThrough::DataAndMetadata,
                (0x8000_0000, 0),
            ),
            (&|options| (direct(options), through(options)).1, (0xa000_0000, 0)),
            (&|options| options.hint.sequential = true, (0x0800_0000, 0)),
            (&|options| options.hint.random = true, (0x1000_0000, 0)),
            (&|options| options.hint.temporary = true, (0, 0x100)),
            (&|options| options.overlapped = true, (0x4000_0000, 0)),
            // Windows has no equivalent of these.
            (
                &|options| (options.hint.no_reuse, options.exclusive, options.cache.local_only) = (true, true, true),
                (0, 0),
            ),
        ];
        for (number, (change, expected)) in table.into_iter().enumerate() {
            assert_eq!(open_with(change), expected, "row {number}");
        }
    }

    #[test]
    fn an_open_file_is_not_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let held = fs::File::create(&path).unwrap();
        assert!(open_abandoned(&path).is_none());
        drop(held);
        let left = open_abandoned(&path).unwrap();
        assert!(fs::File::open(&path).is_err(), "the lock must exclude others");
        remove_abandoned(left, &path).unwrap();
        assert!(!path.exists());
    }
}
