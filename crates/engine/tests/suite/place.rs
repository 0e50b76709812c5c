//! Where the data of a test lies.

use std::fmt;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use engine::{Access, File, OpenHow};
use model::plan::{CacheMode, EngineKind, Mapping, OpenHint};
use testbed::{Directory, LoopDevice, LoopOptions, TmpFs, Unavailable, Zram};

/// A kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file on a disk, past the cache.
    DiskDirect,
    /// A file on a disk, through the cache.
    DiskBuffered,
    /// A file in memory.
    TmpFs,
    /// A loop device, past the cache, that takes requests without waiting.
    Loop,
    /// Compressed memory as a block device, past the cache: operations are done inside the call.
    Zram,
}

/// A target, removed when dropped.
pub struct Target {
    pub place: Place,
    pub path: PathBuf,
    _thing: Thing,
}

#[expect(dead_code, reason = "held for their Drop")]
enum Thing {
    Directory(Directory),
    TmpFs(TmpFs),
    Loop(LoopDevice),
    Zram(Zram),
}

impl Place {
    pub const ALL: [Place; 5] = [
        Place::DiskDirect,
        Place::DiskBuffered,
        Place::TmpFs,
        Place::Loop,
        Place::Zram,
    ];

    /// A target of this many bytes, all zero, a multiple of the page size.
    pub fn make(self, bytes: u64) -> Result<Target, Unavailable> {
        let (path, thing) = match self {
            Place::DiskDirect | Place::DiskBuffered => {
                let directory = Directory::on_disk()?;
                (directory.path().join("file"), Thing::Directory(directory))
            }
            Place::TmpFs => {
                // Room for the copies that tests lay beside it.
                let tmpfs = TmpFs::of_size(2 * bytes + (1 << 20))?;
                (tmpfs.path().join("file"), Thing::TmpFs(tmpfs))
            }
            Place::Loop => {
                let options = LoopOptions {
                    direct_io: true,
                    ..LoopOptions::default()
                };
                let device = LoopDevice::of_size(bytes, options)?;
                (device.path().to_owned(), Thing::Loop(device))
            }
            Place::Zram => {
                let zram = Zram::of_size(bytes)?;
                (zram.path().to_owned(), Thing::Zram(zram))
            }
        };
        if !self.is_device() {
            let zeros = vec![0; bytes as usize];
            fs::write(&path, zeros).map_err(|error| Unavailable::because(format!("{}: {error}", path.display())))?;
        }
        Ok(Target {
            place: self,
            path,
            _thing: thing,
        })
    }

    pub fn is_device(self) -> bool {
        matches!(self, Place::Loop | Place::Zram)
    }

    pub fn is_direct(self) -> bool {
        matches!(self, Place::DiskDirect | Place::Loop | Place::Zram)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

impl Target {
    /// Opened as an engine of this kind wants it.
    pub fn open(&self, kind: EngineKind) -> File {
        open(&self.path, kind, self.place.is_direct(), Access::ReadWrite)
    }

    pub fn open_for(&self, kind: EngineKind, access: Access) -> File {
        open(&self.path, kind, self.place.is_direct(), access)
    }

    /// What is there, read by someone who knows nothing of engines.
    pub fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        read(&self.path, offset, length)
    }

    /// Writes by someone who knows nothing of engines.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let file = fs::File::options().write(true).open(&self.path).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }
}

pub fn read(path: &Path, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fs::File::open(path).unwrap().read_exact_at(&mut bytes, offset).unwrap();
    bytes
}

/// Opens a path as an engine of this kind wants it.
pub fn open(path: &Path, kind: EngineKind, direct: bool, access: Access) -> File {
    try_open(path, kind, direct, access).unwrap()
}

pub fn try_open(path: &Path, kind: EngineKind, direct: bool, access: Access) -> Result<File, engine::OpenError> {
    let mapped = kind == EngineKind::Mmap;
    let cache = CacheMode {
        direct: direct && !mapped,
        mapping: mapped.then(Mapping::default),
        ..CacheMode::BUFFERED
    };
    File::open(
        path,
        OpenHow {
            access,
            cache,
            hint: OpenHint::default(),
            exclusive: false,
        },
    )
}
