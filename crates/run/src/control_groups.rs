//! Control groups for block I/O. A run creates and enters them, sets their weight, and removes them
//! at its end. With version 1 of the kernel's control groups, each worker thread enters its own
//! group. Version 2 keeps the threads of a process together for I/O, so the whole process enters,
//! and all workers must have the same group; other plans are refused. Existing groups are not
//! removed.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use model::plan::{ControlGroup, Plan};

use crate::setup_error::{SetupError, SystemSetting};

/// Pause between attempts to remove a group. Threads leave it only shortly after their end.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);
const REMOVAL_ATTEMPTS: u32 = 100;

/// The control groups of a run. Dropping it removes the groups that it created.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    hierarchy: Option<Hierarchy>,
    /// Whether all workers have the same group.
    common: bool,
    created: Mutex<CreatedGroups>,
}

#[derive(Debug, Default)]
struct CreatedGroups {
    groups: Vec<PathBuf>,
    /// The previous group of the whole process.
    before: Option<PathBuf>,
}

/// The mount of control groups for block I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// Version 1, with the controller `blkio`.
    Threads(PathBuf),
    /// Version 2.
    Processes(PathBuf),
}

impl Hierarchy {
    /// Finds the mount of control groups in `/proc/mounts`: version 1 first, like fio.
    fn parse(mounts: &str) -> Option<Hierarchy> {
        let mounts = || {
            mounts.lines().filter_map(|line| {
                let mut words = line.split(' ').skip(1);
                Some((words.next()?, words.next()?, words.next()?))
            })
        };
        let has_block_io = |options: &str| options.split(',').any(|option| option == "blkio");
        let first = mounts().find(|(_, kind, options)| *kind == "cgroup" && has_block_io(options));
        let second = || mounts().find(|(_, kind, _)| *kind == "cgroup2");
        match first {
            Some((at, ..)) => Some(Hierarchy::Threads(at.into())),
            None => second().map(|(at, ..)| Hierarchy::Processes(at.into())),
        }
    }

    fn root(&self) -> &Path {
        match self {
            Hierarchy::Threads(root) | Hierarchy::Processes(root) => root,
        }
    }

    /// Names of the weight file, the most likely first.
    fn weight_file_names(&self) -> &'static [&'static str] {
        match self {
            Hierarchy::Threads(_) => &["blkio.weight", "blkio.bfq.weight"],
            Hierarchy::Processes(_) => &["io.weight", "io.bfq.weight"],
        }
    }
}

impl ControlGroups {
    /// The control groups of a plan. Changes nothing yet.
    pub(crate) fn from_plan(plan: &Plan) -> ControlGroups {
        let workers = plan.workers();
        let groups: Vec<_> = workers.map(|worker| &worker.placement.control_group).collect();
        let has_groups = groups.iter().any(|group| group.is_some());
        let mounts = has_groups.then(|| fs::read_to_string("/proc/mounts").ok()).flatten();
        ControlGroups {
            hierarchy: mounts.as_deref().and_then(Hierarchy::parse),
            common: groups.windows(2).all(|pair| pair[0] == pair[1]),
            created: Mutex::new(CreatedGroups::default()),
        }
    }

    /// Moves the calling thread into a group, which is created if missing.
    ///
    /// # Errors
    /// [`SetupError`] with the refusal of the system.
    pub(crate) fn enter(&self, group: &ControlGroup) -> Result<(), SetupError> {
        let path = &group.path;
        let failed = |what: String| {
            move |source| SetupError::SystemSetting {
                setting: SystemSetting::ControlGroup,
                what,
                source,
            }
        };
        let Some(hierarchy) = &self.hierarchy else {
            let help = "mount them: mount -t cgroup2 none /sys/fs/cgroup";
            return Err(SetupError::unsupported("control groups are not mounted", help));
        };
        let below = Path::new(path.trim_start_matches('/'));
        let is_normal = |component: Component<'_>| matches!(component, Component::Normal(_));
        if !below.components().all(is_normal) {
            return Err(SetupError::unsupported(
                format!("the control group `{path}` has `.` or `..` in its name"),
                "specify its path relative to the cgroup mount point",
            ));
        }
        let folder = hierarchy.root().join(below);
        self.create(&folder, group.keep)
            .map_err(failed(format!("cannot create the control group {}", folder.display())))?;
        if let Some(weight) = group.weight {
            set_weight(&folder, hierarchy.weight_file_names(), weight).map_err(failed(format!(
                "cannot set the weight of the control group {}",
                folder.display()
            )))?;
        }
        let entered = match hierarchy {
            // 0 means the writing process.
            Hierarchy::Threads(_) => write_existing(&folder.join("tasks"), "0"),
            Hierarchy::Processes(_) if !self.common => {
                return Err(SetupError::unsupported(
                    "version 2 of control groups puts all threads of a program in one group for \
                     I/O, but the jobs name different groups",
                    "use the same cgroup for all jobs, or run one fathom process per cgroup",
                ));
            }
            Hierarchy::Processes(root) => self.enter_together(root, &folder),
        };
        entered.map_err(failed(format!("cannot enter the control group {}", folder.display())))
    }

    /// Creates a group, and records it for removal.
    fn create(&self, folder: &Path, keep: bool) -> io::Result<()> {
        let Ok(mut created) = self.created.lock() else {
            return Ok(());
        };
        match fs::create_dir(folder) {
            Ok(()) if keep => Ok(()),
            Ok(()) => {
                created.groups.push(folder.to_owned());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves the whole process into a group, once.
    fn enter_together(&self, root: &Path, folder: &Path) -> io::Result<()> {
        let Ok(mut created) = self.created.lock() else {
            return Ok(());
        };
        if created.before.is_some() {
            return Ok(());
        }
        let current = fs::read_to_string("/proc/self/cgroup")?;
        let current = current.lines().find_map(|line| line.strip_prefix("0::/"));
        write_existing(&folder.join("cgroup.procs"), "0")?;
        created.before = Some(root.join(current.unwrap_or_default()));
        Ok(())
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        let Ok(created) = self.created.get_mut() else { return };
        if let Some(before) = created.before.take() {
            let _ = write_existing(&before.join("cgroup.procs"), "0");
        }
        for folder in created.groups.drain(..).rev() {
            for _ in 0..REMOVAL_ATTEMPTS {
                match fs::remove_dir(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(REMOVAL_PAUSE),
                    _ => break,
                }
            }
        }
    }
}

/// Sets the weight in the first of these files that exists.
fn set_weight(folder: &Path, files: &[&str], weight: u32) -> io::Result<()> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for file in files {
        outcome = write_existing(&folder.join(file), &weight.to_string());
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    outcome
}

/// Writes to an existing file only. If a control group lacks the file, the kernel does not support
/// it.
fn write_existing(file: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    fs::OpenOptions::new()
        .write(true)
        .open(file)?
        .write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_with_block_io_is_found() {
        let check = |mounts: &str, expected: Option<Hierarchy>| assert_eq!(Hierarchy::parse(mounts), expected);
        let first = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n\
                     cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                     cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n";
        check(first, Some(Hierarchy::Threads("/sys/fs/cgroup/blkio".into())));
        let second = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        check(second, Some(Hierarchy::Processes("/sys/fs/cgroup".into())));
        check("proc /proc proc rw 0 0\n", None);
    }

    #[test]
    fn group_paths_are_relative_to_the_mount() {
        let groups = |folder: &Path| ControlGroups {
            hierarchy: Some(Hierarchy::Threads(folder.to_owned())),
            common: true,
            created: Mutex::default(),
        };
        let folder = tempfile::tempdir().unwrap();
        let group = |path: &str| ControlGroup {
            path: path.into(),
            ..ControlGroup::default()
        };
        let refused = groups(&folder.path().join("blkio")).enter(&group("../out"));
        assert!(matches!(refused, Err(SetupError::Unsupported { .. })), "{refused:?}");
        // The kernel does not manage this directory, so there is nothing to write to, and the
        // created directory is removed again.
        let unmanaged = groups(folder.path());
        assert!(matches!(
            unmanaged.enter(&group("/in")),
            Err(SetupError::SystemSetting { .. })
        ));
        assert!(folder.path().join("in").is_dir());
        drop(unmanaged);
        assert!(!folder.path().join("in").exists());
    }
}
