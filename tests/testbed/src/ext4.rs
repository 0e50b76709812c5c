//! ext4 file systems on loop devices.

use std::path::Path;

use crate::Unavailable;
use crate::ground::{Directory, Remedy, Undo};
use crate::loop_device::{LoopDevice, LoopOptions};
use crate::tools::{run, text};

/// A mounted ext4 file system on a loop device of its own, gone when dropped.
#[derive(Debug)]
pub struct Ext4 {
    /// Declared first: it is unmounted before its mount point and its device go.
    _undo: Undo,
    directory: Directory,
    device: LoopDevice,
}

impl Ext4 {
    /// A file system on a device of this many bytes, part of which it needs for itself.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `losetup` or `mkfs.ext4`, or where mounting is forbidden.
    pub fn of_size(bytes: u64) -> Result<Ext4, Unavailable> {
        let options = LoopOptions {
            direct_io: true,
            ..LoopOptions::default()
        };
        let device = LoopDevice::of_size(bytes, options)?;
        // No blocks kept for root, who runs these tests and is to meet a full file system.
        run("mkfs.ext4", &["-q", "-F", "-m", "0", text(device.path())])?;
        let directory = Directory::new()?;
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        run("mount", &["-t", "ext4", text(device.path()), text(directory.path())])?;
        Ok(Ext4 {
            _undo: undo,
            directory,
            device,
        })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The device it lies on.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }
}
