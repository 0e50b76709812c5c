//! Compressed memory as a block device.

use std::fs;
use std::path::{Path, PathBuf};

use super::ground::{Ground, Remedy, Undo};
use super::tools::{cannot, need_root};
use crate::Unavailable;

/// A zram device, removed when dropped. It is always a new one; existing ones are never touched.
#[derive(Debug)]
pub struct Zram {
    _undo: Undo,
    path: PathBuf,
    settings: PathBuf,
}

impl Zram {
    /// A device of this many bytes.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where the kernel has no zram.
    pub fn with_size(bytes: u64) -> Result<Zram, Unavailable> {
        need_root("a zram device")?;
        let ground = Ground::for_this_process()?;
        // Reading the file creates the device, so its number is known only then.
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")
            .map_err(cannot("no zram device can be added"))?
            .trim()
            .parse()
            .map_err(|_| Unavailable::because("the kernel returned no number for the new zram device"))?;
        let undo = Undo::by(Remedy::RemoveZram(number), &ground)?;
        let settings = PathBuf::from(format!("/sys/block/zram{number}"));
        let device = Zram {
            _undo: undo,
            path: PathBuf::from(format!("/dev/zram{number}")),
            settings,
        };
        device.set("disksize", bytes)?;
        Ok(device)
    }

    /// Limits it to this many bytes of compressed data, beyond which writes fail with an I/O error.
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel does not know this.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), Unavailable> {
        self.set("mem_limit", bytes)
    }

    fn set(&self, name: &str, value: u64) -> Result<(), Unavailable> {
        let path = self.settings.join(name);
        fs::write(&path, value.to_string()).map_err(cannot(format!("cannot set {}", path.display())))
    }

    /// The device, such as `/dev/zram1`.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
