//! Limits on a thread's I/O, with the block controller of control groups (version 1).

use std::fs;
use std::path::{Path, PathBuf};

use super::ground::{Ground, Remedy, Undo};
use super::tools::{cannot, device_number, need_root};
use crate::Unavailable;

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";

/// A control group that limits the I/O of the threads in it.
#[derive(Debug)]
pub struct Throttle {
    _undo: Undo,
    group: PathBuf,
}

/// A quantity that may be limited, per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Reads.
    ReadOperations(u64),
    /// Writes.
    WriteOperations(u64),
    /// Bytes read.
    ReadBytes(u64),
    /// Bytes written.
    WriteBytes(u64),
}

/// While this exists, its thread is in the group.
#[derive(Debug)]
pub struct Throttled<'a> {
    home: PathBuf,
    _throttle: &'a Throttle,
}

impl Throttle {
    /// A group without limits.
    ///
    /// # Errors
    /// [`Unavailable`] without root or without the controller.
    pub fn new() -> Result<Throttle, Unavailable> {
        need_root("a control group")?;
        if !Path::new(CONTROLLER).join("blkio.throttle.read_bps_device").exists() {
            return Err(Unavailable::because(format!(
                "there is no block controller at {CONTROLLER}"
            )));
        }
        let ground = Ground::for_this_process()?;
        let group = (0..)
            .map(|number| Path::new(CONTROLLER).join(format!("fathom-testbed-{}-{number}", std::process::id())))
            .find(|path| !path.exists())
            .expect("there are more numbers than groups");
        let undo = Undo::by(Remedy::RemoveGroup(group.clone()), &ground)?;
        fs::create_dir(&group).map_err(cannot(format!("cannot create {}", group.display())))?;
        Ok(Throttle { _undo: undo, group })
    }

    /// Sets a limit on a device; 0 lifts it.
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel refuses.
    pub fn set(&self, device: &Path, limit: Limit) -> Result<(), Unavailable> {
        let (name, value) = match limit {
            Limit::ReadOperations(value) => ("read_iops", value),
            Limit::WriteOperations(value) => ("write_iops", value),
            Limit::ReadBytes(value) => ("read_bps", value),
            Limit::WriteBytes(value) => ("write_bps", value),
        };
        let number = device_number(device).map_err(cannot(device.display()))?;
        let path = self.group.join(format!("blkio.throttle.{name}_device"));
        fs::write(&path, format!("{}:{} {value}", number.0, number.1)).map_err(cannot(path.display()))
    }

    /// Puts the calling thread into the group until the guard is dropped, on the same thread.
    /// Threads that it starts meanwhile stay in the group.
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel refuses.
    pub fn enter(&self) -> Result<Throttled<'_>, Unavailable> {
        let groups = fs::read_to_string("/proc/thread-self/cgroup").map_err(cannot("/proc/thread-self/cgroup"))?;
        let home = groups
            .lines()
            .find_map(|line| line.split_once(":blkio:").map(|(_, path)| path.trim_start_matches('/')))
            .unwrap_or("");
        move_this_thread(&self.group)?;
        Ok(Throttled {
            home: Path::new(CONTROLLER).join(home),
            _throttle: self,
        })
    }
}

impl Drop for Throttled<'_> {
    fn drop(&mut self) {
        if let Err(why) = move_this_thread(&self.home) {
            crate::note(why);
        }
    }
}

fn move_this_thread(group: &Path) -> Result<(), Unavailable> {
    // Zero means the writing thread.
    fs::write(group.join("tasks"), "0").map_err(cannot(format!("cannot enter {}", group.display())))
}
