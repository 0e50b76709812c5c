//! Files and devices as an engine uses them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::plan::{CacheMode, OpenHint};

use crate::batch::{Action, Request};
use crate::identity::Identity;
use crate::sys;

/// An open file or device.
#[derive(Debug)]
pub struct File {
    handle: Option<fs::File>,
    path: PathBuf,
    kind: FileKind,
    device: (u32, u32),
    size: u64,
    direct_alignment: u64,
    options: OpenOptions,
    priority: u16,
    simulated_device: Option<u32>,
}

/// The kind of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device.
    BlockDevice,
    /// A character device, such as `/dev/null`.
    CharacterDevice,
    /// No file, for engines that use none.
    Nothing,
    /// A directory.
    Directory,
    /// A socket or pipe.
    Other,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Intended access.
    pub access: Access,
    /// Which caches are used.
    pub cache: CacheMode,
    /// Access hints, such as sequential.
    pub hint: OpenHint,
    /// Claim a block device for this process (`O_EXCL`).
    pub exclusive: bool,
    /// Opens for asynchronous I/O on Windows (`FILE_FLAG_OVERLAPPED`), see
    /// [`crate::needs_overlapped`]; ignored elsewhere.
    pub overlapped: bool,
}

impl OpenOptions {
    /// Options without hints or an exclusive claim, for synchronous I/O.
    pub fn new(access: Access, cache: CacheMode) -> OpenOptions {
        OpenOptions {
            access,
            cache,
            hint: OpenHint::default(),
            exclusive: false,
            overlapped: false,
        }
    }

    /// Options for reading facts about a file, with or without claiming it.
    pub fn to_inspect(exclusive: bool) -> OpenOptions {
        OpenOptions {
            exclusive,
            ..OpenOptions::new(Access::Read, CacheMode::BUFFERED)
        }
    }
}

/// Intended access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes and trims.
    Write,
    /// Both.
    ReadWrite,
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {path}: {source}")]
pub struct OpenError {
    /// Path that could not be opened.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
    /// True if the file opens without direct I/O, which was requested.
    pub only_direct_fails: bool,
}

impl OpenError {
    /// An error that does not depend on direct I/O.
    pub fn new(path: &Path, source: io::Error) -> OpenError {
        OpenError {
            path: path.to_owned(),
            source,
            only_direct_fails: false,
        }
    }
}

impl File {
    /// Opens a file or device.
    ///
    /// # Errors
    /// [`OpenError`] with the system's reason.
    pub fn open(path: &Path, options: OpenOptions) -> Result<File, OpenError> {
        let handle = sys::file::open(path, &options).map_err(|source| {
            let buffered = OpenOptions {
                cache: CacheMode {
                    direct: false,
                    ..options.cache
                },
                ..options
            };
            let only_direct_fails = options.cache.direct
                && source.raw_os_error() == Some(sys::file::INVALID)
                && sys::file::open(path, &buffered).is_ok();
            OpenError {
                only_direct_fails,
                ..OpenError::new(path, source)
            }
        })?;
        let (kind, device, size) = sys::file::identify(&handle).map_err(|source| OpenError::new(path, source))?;
        let direct_alignment = sys::file::direct_alignment(&handle, kind);
        Ok(File {
            handle: Some(handle),
            path: path.to_owned(),
            kind,
            device,
            direct_alignment,
            options,
            ..File::placeholder(size)
        })
    }

    /// A path that is not opened, for engines that create, look up or delete it. It need not exist.
    pub fn named(path: &Path, size: u64) -> File {
        File {
            path: path.to_owned(),
            ..File::placeholder(size)
        }
    }

    /// A placeholder of the given size, for engines that use no file.
    pub fn placeholder(size: u64) -> File {
        let options = OpenOptions::new(Access::ReadWrite, CacheMode::default());
        File {
            handle: None,
            path: PathBuf::new(),
            kind: FileKind::Nothing,
            device: (0, 0),
            size,
            direct_alignment: 1,
            options,
            priority: 0,
            simulated_device: None,
        }
    }

    /// A simulated device of the given size, by its index in the [`crate::Simulation`].
    pub fn simulated(device: u32, size: u64) -> File {
        File {
            simulated_device: Some(device),
            ..File::placeholder(size)
        }
    }

    /// The index in the [`crate::Simulation`], if this is a simulated device.
    pub(crate) fn simulated_device(&self) -> Option<u32> {
        self.simulated_device
    }

    /// The path used to open it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Regular file, block device, or another kind.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Major and minor number: of the block device itself, or of the device under the file system.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// Size in bytes at the time of opening.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The multiple to which direct I/O must align offsets, lengths and buffers.
    pub fn direct_alignment(&self) -> u64 {
        self.direct_alignment
    }

    /// The options used to open it.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Sets the I/O priority of operations on this file, in the kernel's encoding: class × 2¹³ +
    /// level; 0 means the priority of the thread. On Linux only io_uring and native AIO apply it.
    /// On Windows it belongs to the open file, so every engine applies it.
    ///
    /// # Errors
    /// The system's error, where the priority belongs to the open file.
    pub fn set_priority(&mut self, priority: u16) -> io::Result<()> {
        self.priority = priority;
        match &self.handle {
            Some(handle) if priority != 0 => sys::file::set_priority(handle, priority),
            _ => Ok(()),
        }
    }

    /// The I/O priority of operations through this file.
    pub fn priority(&self) -> u16 {
        self.priority
    }

    /// True if reads can be started without blocking, so io_uring needs no kernel threads.
    pub fn supports_nowait(&self) -> bool {
        match &self.handle {
            #[cfg(target_os = "linux")]
            Some(handle) => sys::file::supports_nowait(handle, self.direct_alignment),
            #[cfg(not(target_os = "linux"))]
            Some(_) => false,
            None => false,
        }
    }

    /// Identity of the file or device, independent of the path used to open it; `None` for a
    /// placeholder.
    pub fn identity(&self) -> Option<Identity> {
        self.handle.as_ref().and_then(sys::facts::open_file_identity)
    }

    /// The system's handle; `None` for a placeholder.
    pub fn handle(&self) -> Option<&fs::File> {
        self.handle.as_ref()
    }

    /// Executes a flush or trim, neither of which needs a buffer. Returns the trimmed bytes, 0 for
    /// a flush, or a negative error number.
    pub(crate) fn flush_or_trim(&self, io: &Request) -> i64 {
        let Some(handle) = &self.handle else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Flush => sys::file::flush(handle),
            Action::FlushData => sys::file::flush_data(handle),
            Action::FlushRange(flush) => sys::file::flush_range(handle, io.offset, u64::from(io.length), flush.into()),
            Action::Trim => sys::file::trim(handle, self.kind, io.offset, u64::from(io.length)),
            Action::Read | Action::Write => -i64::from(sys::file::INVALID),
        }
    }
}

#[cfg(all(test, windows))]
impl File {
    /// Wraps an open overlapped handle.
    pub(crate) fn from_handle(handle: fs::File) -> File {
        let mut file = File::placeholder(0);
        (file.handle, file.kind, file.options.overlapped) = (Some(handle), FileKind::Other, true);
        file
    }
}

#[cfg(target_os = "linux")]
impl File {
    /// The descriptor, or −1 for a placeholder.
    pub(crate) fn descriptor(&self) -> i32 {
        self.handle.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Another process could replace an examined target with a pipe before it is opened.
    #[test]
    fn opening_a_named_pipe_does_not_wait() {
        use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let options = OpenOptions::to_inspect(false);
        let read = File::open(&path, options).unwrap();
        assert_eq!(read.kind(), FileKind::Other);
        let flags = fcntl_getfl(read.handle().unwrap()).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
        drop(read);
        let access = Access::Write;
        let error = File::open(&path, OpenOptions { access, ..options }).unwrap_err();
        assert_eq!(error.source.raw_os_error(), Some(libc::ENXIO));
    }
}
