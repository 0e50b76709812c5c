//! File systems on loop devices.

use std::path::Path;

use super::ground::{Directory, Remedy, Undo};
use super::loop_device::{LoopDevice, LoopOptions};
use super::tools::{run, text};
use crate::Unavailable;

/// A mounted file system on a loop device of its own, removed when dropped.
#[derive(Debug)]
pub struct LoopFs {
    /// Declared first: it is unmounted before its mount point and its device are removed.
    _undo: Undo,
    directory: Directory,
    device: LoopDevice,
}

impl LoopFs {
    /// An ext4 of this many bytes, part of which it needs for itself.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or `mkfs.ext4`, or where mounting is forbidden.
    pub fn ext4(bytes: u64) -> Result<LoopFs, Unavailable> {
        // No blocks reserved for root, who runs these tests and must meet a full file system.
        LoopFs::make("ext4", &["mkfs.ext4", "-q", "-F", "-m", "0"], bytes)
    }

    /// An ext4 whose inodes have no room for fractions of a second.
    ///
    /// # Errors
    /// Those of [`LoopFs::ext4`].
    pub fn ext4_with_whole_seconds(bytes: u64) -> Result<LoopFs, Unavailable> {
        LoopFs::make("ext4", &["mkfs.ext4", "-q", "-F", "-m", "0", "-I", "128"], bytes)
    }

    /// An XFS of this many bytes, at least 300 MiB.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or `mkfs.xfs`, or where mounting is forbidden.
    pub fn xfs(bytes: u64) -> Result<LoopFs, Unavailable> {
        LoopFs::make("xfs", &["mkfs.xfs", "-q", "-f"], bytes)
    }

    /// A Btrfs of this many bytes, at least 128 MiB.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or `mkfs.btrfs`, or where the kernel has no Btrfs or
    /// forbids mounting.
    pub fn btrfs(bytes: u64) -> Result<LoopFs, Unavailable> {
        LoopFs::make("btrfs", &["mkfs.btrfs", "-q", "-f"], bytes)
    }

    fn make(kind: &str, format: &[&str], bytes: u64) -> Result<LoopFs, Unavailable> {
        let device = LoopDevice::with_size(bytes, LoopOptions::DIRECT)?;
        run(format[0], &[&format[1..], &[text(device.path())]].concat())?;
        let directory = Directory::new()?;
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        run("mount", &["-t", kind, text(device.path()), text(directory.path())])?;
        Ok(LoopFs {
            _undo: undo,
            directory,
            device,
        })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The device that holds it.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }
}
