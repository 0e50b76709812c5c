//! Loop devices over files.

use std::fs;
use std::path::{Path, PathBuf};

use super::ground::{Directory, Remedy, Undo};
use super::tools::{cannot, need_root, run, text};
use crate::Unavailable;

/// A loop device, detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    /// Declared first: the device is removed before its file.
    _undo: Undo,
    path: PathBuf,
    backing: PathBuf,
    _directory: Directory,
}

/// How a loop device is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopOptions {
    /// The device reads and writes its file with direct I/O, and so takes requests without
    /// blocking.
    pub direct_io: bool,
    /// Writes are refused.
    pub read_only: bool,
    /// Bytes in a logical sector; 512 if zero.
    pub sector_bytes: u32,
}

impl LoopOptions {
    /// Bypasses the page cache of the file below.
    pub const DIRECT: LoopOptions = LoopOptions {
        direct_io: true,
        read_only: false,
        sector_bytes: 0,
    };
}

impl LoopDevice {
    /// A device over a new sparse file of this many bytes, in memory if possible, so that only the
    /// test's own limits slow it down.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or a free device.
    pub fn with_size(bytes: u64, options: LoopOptions) -> Result<LoopDevice, Unavailable> {
        let directory = Directory::fast()?;
        let backing = directory.path().join("disk");
        let file = fs::File::create(&backing).map_err(cannot("cannot create a backing file"))?;
        file.set_len(bytes).map_err(cannot("cannot size a backing file"))?;
        LoopDevice::attach(&backing, options, directory)
    }

    /// As [`LoopDevice::with_size`], but without holes, so that reads need I/O.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or a free device.
    pub fn filled(bytes: u64, options: LoopOptions) -> Result<LoopDevice, Unavailable> {
        let directory = Directory::fast()?;
        let backing = directory.path().join("disk");
        fs::write(&backing, vec![0xa5; bytes as usize]).map_err(cannot("cannot fill a backing file"))?;
        LoopDevice::attach(&backing, options, directory)
    }

    /// A device over an existing file, such as one of a [`crate::FaultFs`]. The file must outlive
    /// the device.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or a free device.
    pub fn over(backing: &Path, options: LoopOptions) -> Result<LoopDevice, Unavailable> {
        LoopDevice::attach(backing, options, Directory::new()?)
    }

    fn attach(backing: &Path, options: LoopOptions, directory: Directory) -> Result<LoopDevice, Unavailable> {
        need_root("a loop device")?;
        let direct = format!("--direct-io={}", if options.direct_io { "on" } else { "off" });
        let sector = options.sector_bytes.max(512).to_string();
        let mut arguments = vec!["--find", "--show", &direct, "--sector-size", &sector];
        if options.read_only {
            arguments.push("--read-only");
        }
        arguments.push(text(backing));
        let path = PathBuf::from(run("losetup", &arguments)?);
        let remedy = Remedy::DetachLoop {
            device: path.clone(),
            backing: backing.to_owned(),
        };
        Ok(LoopDevice {
            _undo: Undo::by(remedy, directory.ground())?,
            path,
            backing: backing.to_owned(),
            _directory: directory,
        })
    }

    /// The device, such as `/dev/loop0`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file under it.
    pub fn backing(&self) -> &Path {
        &self.backing
    }
}
