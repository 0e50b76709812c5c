//! The folder in which a process creates its resources, and the list of what must be undone.
//!
//! Every process has one folder, which it keeps locked while it lives. Each resource has a record
//! in it that says how to undo it. Dropping the resource undoes it and removes the record; a folder
//! whose lock is free belongs to a dead process, and the next test that finds it undoes what is
//! recorded there.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::tools::{cannot, need_root, run, text};
use crate::Unavailable;

/// A folder of its own on a real file system, removed with its content.
#[derive(Debug)]
pub struct Directory {
    /// Undoes the tmpfs that is mounted on it, if any.
    mounted: Option<Undo>,
    path: PathBuf,
    ground: Arc<Ground>,
}

impl Directory {
    /// An empty folder where the tests may write: below `FATHOM_TEST_DIR` if that is set, else
    /// below the system's folder for temporary files.
    ///
    /// # Errors
    /// [`Unavailable`] if no such folder can be made.
    pub fn new() -> Result<Directory, Unavailable> {
        let ground = Ground::for_this_process()?;
        let path = ground.path.join(format!("d{}", ground.number()));
        fs::create_dir(&path).map_err(cannot(format!("cannot create {}", path.display())))?;
        let mounted = None;
        Ok(Directory { mounted, path, ground })
    }

    /// For tests that do not need a disk: in memory, so that no disk slows them down. Where
    /// mounting is forbidden, or memory has no direct I/O (before Linux 6.6), the same as
    /// [`Directory::new`].
    ///
    /// # Errors
    /// Those of [`Directory::new`].
    pub fn fast() -> Result<Directory, Unavailable> {
        let mut directory = Directory::new()?;
        if directory.mount("tmpfs", "mode=755").is_ok() && !directory.has_direct_io() {
            directory.mounted = None;
        }
        Ok(directory)
    }

    pub(crate) fn mount(&mut self, kind: &str, options: &str) -> Result<(), Unavailable> {
        need_root("mounting a file system")?;
        let path = text(&self.path);
        let undo = Undo::by(Remedy::Unmount(self.path.clone()), &self.ground)?;
        run("mount", &["-t", kind, "-o", options, "fathom-testbed", path])?;
        self.mounted = Some(undo);
        Ok(())
    }

    fn has_direct_io(&self) -> bool {
        let probe = self.path.join("probe");
        let mut options = fs::File::options();
        let opened = options
            .write(true)
            .create(true)
            .custom_flags(libc::O_DIRECT)
            .open(&probe);
        let _ = fs::remove_file(&probe);
        opened.is_ok()
    }

    /// The same, on a file system that is on a disk.
    ///
    /// # Errors
    /// [`Unavailable`] if the folder for tests is in memory or on an overlay.
    pub fn on_disk() -> Result<Directory, Unavailable> {
        let directory = Directory::new()?;
        match directory.file_system() {
            Some(name) if !["tmpfs", "ramfs", "overlay"].contains(&name.as_str()) => Ok(directory),
            name => Err(Unavailable::because(format!(
                "{} is on {}, not on a disk file system; set FATHOM_TEST_DIR",
                base().display(),
                name.as_deref().unwrap_or("unknown")
            ))),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of its file system, such as `ext4`.
    pub fn file_system(&self) -> Option<String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mut best: (usize, Option<String>) = (0, None);
        for line in mounts.lines() {
            let (Some(point), Some((_, rest))) = (line.split(' ').nth(4), line.split_once(" - ")) else {
                continue;
            };
            // The longest mount point wins, and of equal ones the last, which covers the others.
            if self.path.starts_with(point) && point.len() >= best.0 {
                best = (point.len(), rest.split(' ').next().map(str::to_owned));
            }
        }
        best.1
    }

    pub(crate) fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.mounted = None;
        if let Err(error) = fs::remove_dir_all(&self.path) {
            crate::note(format!("{} was not removed: {error}", self.path.display()));
        }
    }
}

/// Where all processes have their folders.
fn base() -> PathBuf {
    std::env::var_os("FATHOM_TEST_DIR")
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join("fathom-testbed")
}

/// The folder of this process.
#[derive(Debug)]
pub(crate) struct Ground {
    path: PathBuf,
    next: AtomicU32,
    /// Held locked while the folder is in use.
    _lock: fs::File,
}

static PRESENT: Mutex<Weak<Ground>> = Mutex::new(Weak::new());

impl Ground {
    /// The folder of this process, created at its first use and removed with the last resource in
    /// it.
    pub(crate) fn for_this_process() -> Result<Arc<Ground>, Unavailable> {
        let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ground) = present.upgrade() {
            return Ok(ground);
        }
        let ground = Arc::new(Ground::make().map_err(cannot(format!("cannot use {}", base().display())))?);
        *present = Arc::downgrade(&ground);
        Ok(ground)
    }

    fn make() -> io::Result<Ground> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(base())?;
        // While this lock is held no other process sweeps, so none treats a folder as dead that is
        // not locked yet.
        let _turn = lock_base()?;
        sweep_dead();
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let path = base().join(format!("{}-{}-{made}", boot(), std::process::id()));
        fs::create_dir(&path)?;
        let lock = fs::File::create(path.join("lock"))?;
        lock.lock()?;
        Ok(Ground {
            path,
            next: AtomicU32::new(0),
            _lock: lock,
        })
    }

    fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let records_left = records(&self.path).next().is_some();
        if !records_left {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Device numbers mean nothing after a restart of the machine, so records are kept apart by boot.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().split('-').next().unwrap_or("boot").to_owned()
}

fn lock_base() -> io::Result<fs::File> {
    let file = fs::File::create(base().join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Undoes what killed processes have left behind. Called automatically when a process creates its
/// first resource.
///
/// # Errors
/// The system's error if the folder of the testbed cannot be used.
pub fn sweep() -> io::Result<()> {
    fs::create_dir_all(base())?;
    let _turn = lock_base()?;
    sweep_dead();
    Ok(())
}

fn sweep_dead() {
    let Ok(entries) = fs::read_dir(base()) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let is_dead = match fs::File::open(path.join("lock")) {
            Ok(lock) => lock.try_lock().is_ok(),
            // It died before it had created anything.
            Err(_) => true,
        };
        if !is_dead {
            continue;
        }
        let of_this_boot = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&boot()));
        let mut left: Vec<PathBuf> = records(&path).collect();
        left.sort();
        let undone = left.iter().rev().all(|record| {
            let remedy = fs::read_to_string(record).ok().and_then(|line| Remedy::parse(&line));
            remedy.is_none_or(|remedy| !of_this_boot || remedy.apply().is_ok()) && fs::remove_file(record).is_ok()
        });
        // Never through a mount that still exists.
        if undone && !mounted_below(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn records(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "undo"))
}

fn mounted_below(folder: &Path) -> bool {
    fs::read_to_string("/proc/self/mountinfo").map_or(true, |mounts| {
        mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(4))
            .any(|point| Path::new(point).starts_with(folder))
    })
}

/// How to undo a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Something is mounted here.
    Unmount(PathBuf),
    /// A loop device over a file of this testbed: its number may have been reused since.
    DetachLoop { device: PathBuf, backing: PathBuf },
    /// A zram device.
    RemoveZram(u32),
    /// A control group.
    RemoveGroup(PathBuf),
    /// A network namespace, and the file that names its hosts.
    DeleteNamespace(String),
}

impl Remedy {
    fn line(&self) -> String {
        match self {
            Remedy::Unmount(path) => format!("unmount\t{}", path.display()),
            Remedy::DetachLoop { device, backing } => format!("loop\t{}\t{}", device.display(), backing.display()),
            Remedy::RemoveZram(number) => format!("zram\t{number}"),
            Remedy::RemoveGroup(path) => format!("group\t{}", path.display()),
            Remedy::DeleteNamespace(name) => format!("namespace\t{name}"),
        }
    }

    fn parse(line: &str) -> Option<Remedy> {
        let mut words = line.trim().split('\t');
        match (words.next()?, words.next()?, words.next()) {
            ("unmount", path, None) => Some(Remedy::Unmount(path.into())),
            ("loop", device, Some(backing)) => Some(Remedy::DetachLoop {
                device: device.into(),
                backing: backing.into(),
            }),
            ("zram", number, None) => Some(Remedy::RemoveZram(number.parse().ok()?)),
            ("group", path, None) => Some(Remedy::RemoveGroup(path.into())),
            ("namespace", name, None) => Some(Remedy::DeleteNamespace(name.into())),
            _ => None,
        }
    }

    fn apply(&self) -> Result<(), Unavailable> {
        match self {
            Remedy::Unmount(path) => unmount(path),
            Remedy::DetachLoop { device, backing } => detach(device, backing),
            Remedy::RemoveZram(number) => with_retries(|| remove_zram(*number)),
            Remedy::RemoveGroup(path) => with_retries(|| match fs::remove_dir(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(cannot(format!("cannot remove {}", path.display()))(error))
                }
                _ => Ok(()),
            }),
            Remedy::DeleteNamespace(name) => {
                let _ = fs::remove_dir_all(Path::new("/etc/netns").join(name));
                match Path::new("/run/netns").join(name).exists() {
                    true => with_retries(|| run("ip", &["netns", "del", name]).map(|_| ())),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Retries, because other programs (udev, blkid) open devices for a moment, and control groups
/// become empty with a delay.
fn with_retries(mut attempt: impl FnMut() -> Result<(), Unavailable>) -> Result<(), Unavailable> {
    for _ in 0..50 {
        if attempt().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    attempt()
}

fn unmount(path: &Path) -> Result<(), Unavailable> {
    let is_mounted = || {
        fs::read_to_string("/proc/self/mountinfo")
            .is_ok_and(|mounts| mounts.lines().any(|line| line.split(' ').nth(4) == Some(text(path))))
    };
    if !is_mounted() {
        return Ok(());
    }
    // An ordinary unmount if possible; else the mount is detached immediately, and gone when its
    // last file is closed. `-f` ends the requests that a dead FUSE server has left unanswered.
    run("umount", &[text(path)])
        .or_else(|_| run("umount", &["-f", "-l", text(path)]))
        .map(|_| ())
}

fn detach(device: &Path, backing: &Path) -> Result<(), Unavailable> {
    let name = device.file_name().unwrap_or_default();
    let present = Path::new("/sys/block").join(name).join("loop/backing_file");
    let is_ours =
        || fs::read_to_string(&present).is_ok_and(|path| path.trim().trim_end_matches(" (deleted)") == text(backing));
    if !is_ours() {
        return Ok(());
    }
    run("losetup", &["-d", text(device)])?;
    // The kernel detaches when the last user has closed the device, which may be another program
    // that examines it.
    with_retries(|| match is_ours() {
        false => Ok(()),
        true => Err(Unavailable::because(format!("{} is still in use", device.display()))),
    })
}

fn remove_zram(number: u32) -> Result<(), Unavailable> {
    let folder = PathBuf::from(format!("/sys/block/zram{number}"));
    if !folder.exists() {
        return Ok(());
    }
    let write = |path: &Path, value: &str| fs::write(path, value).map_err(cannot(path.display()));
    write(&folder.join("reset"), "1")?;
    write(Path::new("/sys/class/zram-control/hot_remove"), &number.to_string())
}

/// Undoes a resource when dropped.
#[derive(Debug)]
pub(crate) struct Undo {
    remedy: Remedy,
    record: PathBuf,
    /// The folder of the record.
    _ground: Arc<Ground>,
}

impl Undo {
    /// Records how to undo a resource, before it is created if its name is known then.
    pub(crate) fn by(remedy: Remedy, ground: &Arc<Ground>) -> Result<Undo, Unavailable> {
        let record = ground.path.join(format!("{:06}.undo", ground.number()));
        if let Err(error) = fs::write(&record, remedy.line()) {
            let _ = remedy.apply();
            return Err(cannot(format!("cannot write {}", record.display()))(error));
        }
        Ok(Undo {
            remedy,
            record,
            _ground: ground.clone(),
        })
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        match self.remedy.apply() {
            Ok(()) => {
                let _ = fs::remove_file(&self.record);
            }
            // The record remains, so that the next process can try again.
            Err(why) => crate::note(format!("not undone: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_survives_being_written_and_read() {
        for remedy in [
            Remedy::Unmount("/tmp/x y".into()),
            Remedy::DetachLoop {
                device: "/dev/loop7".into(),
                backing: "/tmp/file".into(),
            },
            Remedy::RemoveZram(12),
            Remedy::RemoveGroup("/sys/fs/cgroup/blkio/x".into()),
        ] {
            assert_eq!(Remedy::parse(&remedy.line()), Some(remedy));
        }
        assert_eq!(Remedy::parse("zram\tx"), None);
        assert_eq!(Remedy::parse(""), None);
    }
}
