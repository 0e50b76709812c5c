//! The kinds of target that tests use.

use std::fmt;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use engine::{Access, File, OpenOptions, needs_overlapped};
use model::plan::{CacheMode, EngineChoice, EngineKind, Mapping};
use testbed::{Directory, Unavailable, With};
#[cfg(target_os = "linux")]
use testbed::{LoopDevice, LoopOptions, TmpFs, Zram};

/// A kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A file on a disk, bypassing the cache.
    DiskDirect,
    /// A file on a disk, through the cache.
    DiskBuffered,
    /// A file in memory.
    #[cfg(target_os = "linux")]
    TmpFs,
    /// A loop device, bypassing the cache, that takes requests without waiting.
    #[cfg(target_os = "linux")]
    Loop,
    /// Compressed memory as a block device, bypassing the cache: operations complete inside the
    /// call.
    #[cfg(target_os = "linux")]
    Zram,
}

/// A target, removed when dropped.
pub struct Target {
    pub kind: TargetKind,
    pub path: PathBuf,
    _thing: Thing,
}

#[expect(dead_code, reason = "held for their Drop")]
enum Thing {
    Directory(Directory),
    #[cfg(target_os = "linux")]
    TmpFs(TmpFs),
    #[cfg(target_os = "linux")]
    Loop(LoopDevice),
    #[cfg(target_os = "linux")]
    Zram(Zram),
}

impl TargetKind {
    pub const ALL: &[TargetKind] = &[
        TargetKind::DiskDirect,
        TargetKind::DiskBuffered,
        #[cfg(target_os = "linux")]
        TargetKind::TmpFs,
        #[cfg(target_os = "linux")]
        TargetKind::Loop,
        #[cfg(target_os = "linux")]
        TargetKind::Zram,
    ];

    /// Creates a target with this many zero bytes, a multiple of the page size.
    pub fn make(self, bytes: u64) -> Result<Target, Unavailable> {
        let (path, thing) = match self {
            TargetKind::DiskDirect | TargetKind::DiskBuffered => {
                let directory = Directory::on_disk()?;
                (directory.path().join("file"), Thing::Directory(directory))
            }
            #[cfg(target_os = "linux")]
            TargetKind::TmpFs => {
                // Space for the copies that tests create next to it.
                let tmpfs = TmpFs::with_size(2 * bytes + (1 << 20))?;
                (tmpfs.path().join("file"), Thing::TmpFs(tmpfs))
            }
            #[cfg(target_os = "linux")]
            TargetKind::Loop => {
                let device = LoopDevice::with_size(bytes, LoopOptions::DIRECT)?;
                (device.path().to_owned(), Thing::Loop(device))
            }
            #[cfg(target_os = "linux")]
            TargetKind::Zram => {
                let zram = Zram::with_size(bytes)?;
                (zram.path().to_owned(), Thing::Zram(zram))
            }
        };
        if !self.is_device() {
            let zeros = vec![0; bytes as usize];
            fs::write(&path, zeros).map_err(|error| Unavailable::because(format!("{}: {error}", path.display())))?;
        }
        Ok(Target {
            kind: self,
            path,
            _thing: thing,
        })
    }

    pub fn is_device(self) -> bool {
        match self {
            TargetKind::DiskDirect | TargetKind::DiskBuffered => false,
            #[cfg(target_os = "linux")]
            TargetKind::TmpFs => false,
            #[cfg(target_os = "linux")]
            TargetKind::Loop | TargetKind::Zram => true,
        }
    }

    pub fn is_direct(self) -> bool {
        self == TargetKind::DiskDirect || self.is_device()
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

impl Target {
    /// Opens the target as an engine of this kind requires.
    pub fn open(&self, kind: EngineKind) -> File {
        open(&self.path, kind, self.kind.is_direct(), Access::ReadWrite)
    }

    pub fn open_for(&self, kind: EngineKind, access: Access) -> File {
        open(&self.path, kind, self.kind.is_direct(), access)
    }

    /// Reads from the target without an engine.
    pub fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        read(&self.path, offset, length)
    }

    /// Writes to the target without an engine.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let mut file = fs::File::options().write(true).open(&self.path).unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        file.write_all(bytes).unwrap();
        file.sync_all().unwrap();
    }
}

pub fn read(path: &Path, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut file = fs::File::open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.read_exact(&mut bytes).unwrap();
    bytes
}

/// Opens a path as an engine of this kind requires.
pub fn open(path: &Path, kind: EngineKind, direct: bool, access: Access) -> File {
    try_open(path, kind, direct, access).unwrap()
}

pub fn try_open(path: &Path, kind: EngineKind, direct: bool, access: Access) -> Result<File, engine::OpenError> {
    let mapped = kind == EngineKind::Mmap;
    let choice = EngineChoice::new(kind);
    let cache = CacheMode {
        direct: direct && !mapped,
        mapping: mapped.then(Mapping::default),
        ..CacheMode::BUFFERED
    };
    File::open(
        path,
        OpenOptions::new(access, cache).with(|open_options| open_options.overlapped = needs_overlapped(&choice, 2)),
    )
}
