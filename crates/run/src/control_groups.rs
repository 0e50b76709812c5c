//! Control groups for block I/O that workers run in: made, entered, given a weight, and removed
//! when the run is over.
//!
//! Version 1 of the kernel's control groups lets each thread be in a group of its own, so workers
//! enter one by one. Version 2 keeps the threads of a process together where I/O is concerned:
//! there the whole program enters, which is right only if all workers want the same group; other
//! plans are refused on such a machine. Groups that were there before stay.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use model::plan::{ControlGroup, Plan};

use crate::setup_error::{Setting, SetupError};

/// A thread that has ended leaves its group a moment later.
const LEAVING: Duration = Duration::from_millis(10);
const LOOKS: u32 = 100;

/// The control groups of a run. What it made is removed when this goes, whatever ended the run.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    hierarchy: Option<Hierarchy>,
    /// All workers want the same.
    common: bool,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    groups: Vec<PathBuf>,
    /// Where the whole program was before.
    before: Option<PathBuf>,
}

/// Where control groups for block I/O are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// Version 1, with the controller `blkio`.
    Threads(PathBuf),
    /// Version 2.
    Processes(PathBuf),
}

impl Hierarchy {
    /// Version 1 first, as fio looks for it.
    fn parse(mounts: &str) -> Option<Hierarchy> {
        let mounts = || {
            mounts.lines().filter_map(|line| {
                let mut words = line.split(' ').skip(1);
                Some((words.next()?, words.next()?, words.next()?))
            })
        };
        let block = |options: &str| options.split(',').any(|option| option == "blkio");
        let first = mounts().find(|(_, kind, options)| *kind == "cgroup" && block(options));
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

    /// Files that may hold the weight, the likeliest first.
    fn weights(&self) -> &'static [&'static str] {
        match self {
            Hierarchy::Threads(_) => &["blkio.weight", "blkio.bfq.weight"],
            Hierarchy::Processes(_) => &["io.weight", "io.bfq.weight"],
        }
    }
}

impl ControlGroups {
    /// Nothing is changed yet.
    pub(crate) fn from_plan(plan: &Plan) -> ControlGroups {
        let workers = plan.jobs().flat_map(|(_, job)| &job.workers);
        let mut wanted = workers.map(|worker| &worker.placement.control_group);
        let first = wanted.next();
        let mounts = plan
            .jobs()
            .flat_map(|(_, job)| &job.workers)
            .any(|worker| worker.placement.control_group.is_some())
            .then(|| fs::read_to_string("/proc/mounts").ok())
            .flatten();
        ControlGroups {
            hierarchy: mounts.as_deref().and_then(Hierarchy::parse),
            common: wanted.all(|other| Some(other) == first),
            made: Mutex::new(Made::default()),
        }
    }

    /// Puts the calling thread into a group, which is made if it is not there.
    ///
    /// # Errors
    /// [`SetupError`] with what the system refused.
    pub(crate) fn enter(&self, group: &ControlGroup) -> Result<(), SetupError> {
        let path = &group.path;
        let failed = |what: String| {
            move |source| SetupError::Setting {
                setting: Setting::ControlGroup,
                what,
                source,
            }
        };
        let unfit = |what: String, help: &str| SetupError::unfit(what, help);
        let Some(hierarchy) = &self.hierarchy else {
            let help = "mount them: mount -t cgroup2 none /sys/fs/cgroup";
            return Err(unfit("control groups are not mounted".into(), help));
        };
        let below = Path::new(path.trim_start_matches('/'));
        let named = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !below.components().all(named) {
            return Err(unfit(
                format!("the control group `{path}` has `.` or `..` in its name"),
                "give its path below the place where control groups are mounted",
            ));
        }
        let folder = hierarchy.root().join(below);
        self.make(&folder, group.keep)
            .map_err(failed(format!("the control group {} cannot be made", folder.display())))?;
        if let Some(weight) = group.weight {
            set_weight(&folder, hierarchy.weights(), weight).map_err(failed(format!(
                "the control group {} takes no weight",
                folder.display()
            )))?;
        }
        let entered = match hierarchy {
            // 0 is the writing process.
            Hierarchy::Threads(_) => put(&folder.join("tasks"), "0"),
            Hierarchy::Processes(_) if !self.common => {
                return Err(unfit(
                    "version 2 of control groups keeps the threads of a program together where I/O is concerned, and not all \
                     jobs are to be in the same group"
                        .into(),
                    "give all jobs the same cgroup, or start a program for each group",
                ));
            }
            Hierarchy::Processes(root) => self.enter_together(root, &folder),
        };
        entered.map_err(failed(format!(
            "the control group {} cannot be entered",
            folder.display()
        )))
    }

    /// Makes a group and remembers that it was made.
    fn make(&self, folder: &Path, keep: bool) -> io::Result<()> {
        let Ok(mut made) = self.made.lock() else { return Ok(()) };
        match fs::create_dir(folder) {
            Ok(()) if keep => Ok(()),
            Ok(()) => {
                made.groups.push(folder.to_owned());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Puts the whole program into a group, once.
    fn enter_together(&self, root: &Path, folder: &Path) -> io::Result<()> {
        let Ok(mut made) = self.made.lock() else { return Ok(()) };
        if made.before.is_some() {
            return Ok(());
        }
        let present = fs::read_to_string("/proc/self/cgroup")?;
        let present = present.lines().find_map(|line| line.strip_prefix("0::/"));
        put(&folder.join("cgroup.procs"), "0")?;
        made.before = Some(root.join(present.unwrap_or_default()));
        Ok(())
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        let Ok(made) = self.made.get_mut() else { return };
        if let Some(before) = made.before.take() {
            let _ = put(&before.join("cgroup.procs"), "0");
        }
        for folder in made.groups.drain(..).rev() {
            for _ in 0..LOOKS {
                match fs::remove_dir(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(LEAVING),
                    _ => break,
                }
            }
        }
    }
}

/// Sets the weight by the first of these files that is there.
fn set_weight(folder: &Path, files: &[&str], weight: u32) -> io::Result<()> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for file in files {
        outcome = put(&folder.join(file), &weight.to_string());
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    outcome
}

/// Writes to a file that must be there: what is not in a control group's folder, the kernel does
/// not have.
fn put(file: &Path, text: &str) -> io::Result<()> {
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
    fn groups_are_named_below_their_mount() {
        let groups = |folder: &Path| ControlGroups {
            hierarchy: Some(Hierarchy::Threads(folder.to_owned())),
            common: true,
            made: Mutex::default(),
        };
        let folder = tempfile::tempdir().unwrap();
        let group = |path: &str| ControlGroup {
            path: path.into(),
            ..ControlGroup::default()
        };
        let refused = groups(&folder.path().join("blkio")).enter(&group("../out"));
        assert!(matches!(refused, Err(SetupError::Unfit { .. })), "{refused:?}");
        // No kernel keeps this folder, so there is nothing to write to, and what was made is
        // removed again.
        let unmade = groups(folder.path());
        assert!(matches!(unmade.enter(&group("/in")), Err(SetupError::Setting { .. })));
        assert!(folder.path().join("in").is_dir());
        drop(unmade);
        assert!(!folder.path().join("in").exists());
    }
}
