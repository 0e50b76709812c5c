//! Operations on the files of a tree, by paths relative to its root. A directory of the tree may
//! have become a link to files of the user. Only [`TreeRoot::check_access`] and
//! [`TreeRoot::file_size`], which change nothing, follow it. Only this user may change root
//! directories made here.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use model::plan::{CacheMode, is_tree_name};
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_NOW, accessat, fstat,
    mkdirat, openat, openat2, renameat, statat, unlinkat, utimensat,
};
use rustix::io::Errno;

use crate::sys::OpenFor;

/// The system has no `openat2`: Linux before 5.6, and sandboxes that do not know the call. Without
/// this flag, each open would measure a failed call too.
static LACKS_OPENAT2: AtomicBool = AtomicBool::new(false);

/// The directory of a file: the root itself or an open directory below it.
enum Parent<'a> {
    Root(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Root(root) => *root,
            Parent::Below(directory) => directory.as_fd(),
        }
    }
}

/// The root directory of a tree, open.
#[derive(Debug)]
pub struct TreeRoot {
    directory: fs::File,
}

impl TreeRoot {
    /// Creates the root directory, accessible only to this user.
    ///
    /// # Errors
    /// The system's error, such as that the path exists.
    pub fn create(path: &Path) -> io::Result<TreeRoot> {
        fs::DirBuilder::new().mode(0o700).create(path)?;
        TreeRoot::open(path)
    }

    /// Opens a root directory. A symbolic link is refused.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<TreeRoot> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(TreeRoot {
            directory: openat(CWD, path, flags, Mode::empty())?.into(),
        })
    }

    /// Opens a file. `cache` decides whether to bypass the page cache, and when a write counts as
    /// complete.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_file(&self, path: &str, open_for: OpenFor, cache: &CacheMode) -> io::Result<fs::File> {
        let flags = match open_for {
            OpenFor::Read => OFlags::RDONLY,
            OpenFor::Write => OFlags::WRONLY,
            OpenFor::ReadWrite => OFlags::RDWR,
            OpenFor::Create => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            OpenFor::CreateReadWrite => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        // If a pipe has replaced the file, the open or the first transfer fails instead of waiting.
        let special = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags | super::file::cache_flags(cache) | special;
        let mode = match flags.contains(OFlags::CREATE) {
            true => Mode::RUSR | Mode::WUSR,
            false => Mode::empty(),
        };
        Ok(self.open_beneath(path, flags, mode)?.into())
    }

    /// Opens a path without following links in it or entering other mounts.
    fn open_beneath(&self, path: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        if LACKS_OPENAT2.load(Ordering::Relaxed) {
            return self.open_stepwise(path, flags, mode);
        }
        match openat2(&self.directory, path, flags, mode, resolve) {
            // Sandboxes report EPERM, which the file itself may cause as well.
            Err(error @ (Errno::NOSYS | Errno::PERM)) => {
                let opened = self.open_stepwise(path, flags, mode);
                if error == Errno::NOSYS || opened.is_ok() {
                    LACKS_OPENAT2.store(true, Ordering::Relaxed);
                }
                opened
            }
            opened => opened,
        }
    }

    /// [`TreeRoot::open_beneath`] without `openat2`, which opens one directory after the other. It
    /// notices only mounts of other file systems.
    fn open_stepwise(&self, path: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let device = fstat(&self.directory)?.st_dev;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parent = Parent::Root(self.directory.as_fd());
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            let directory = openat(
                &parent,
                part,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let stat = fstat(&directory)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => return Err(Errno::LOOP),
                _ if stat.st_dev != device => return Err(Errno::XDEV),
                _ => parent = Parent::Below(directory),
            }
        }
        let file = openat(parent, name, flags, mode)?;
        match fstat(&file)?.st_dev == device {
            true => Ok(file),
            false => Err(Errno::XDEV),
        }
    }

    /// Splits a path into the directory, opened without following links, and the name in it.
    fn open_parent<'a>(&'a self, path: &'a str) -> rustix::io::Result<(Parent<'a>, &'a str)> {
        match path.rsplit_once('/') {
            Some((directory, name)) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY;
                Ok((Parent::Below(self.open_beneath(directory, flags, Mode::empty())?), name))
            }
            None => Ok((Parent::Root(self.directory.as_fd()), path)),
        }
    }

    /// The size of a file, in bytes.
    ///
    /// # Errors
    /// The system's error.
    pub fn file_size(&self, path: &str) -> io::Result<u64> {
        Ok(statat(&self.directory, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_size as u64)?)
    }

    /// True if the last part of a path is a symbolic link.
    pub fn is_symbolic_link(&self, path: &str) -> bool {
        statat(&self.directory, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    /// Checks that a file may be read.
    ///
    /// # Errors
    /// The system's error, also if reading is not permitted.
    pub fn check_access(&self, path: &str) -> io::Result<()> {
        Ok(accessat(&self.directory, path, Access::READ_OK, AtFlags::empty())?)
    }

    /// Sets the times of a file to the present.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_times(&self, path: &str) -> io::Result<()> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        let (parent, name) = self.open_parent(path)?;
        Ok(utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Lists a directory. Returns the number of entries.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_directory(&self, path: &str) -> io::Result<usize> {
        let mut count = 0;
        for entry in self.list(path)? {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    fn list(&self, path: &str) -> io::Result<Dir> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok(Dir::new(self.open_beneath(path, flags, Mode::empty())?)?)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (old_parent, old_name) = self.open_parent(from)?;
        // Most renames stay in their directory.
        match (from.rsplit_once('/'), to.rsplit_once('/')) {
            (Some((old, _)), Some((new, new_name))) if old == new => {
                Ok(renameat(&old_parent, old_name, &old_parent, new_name)?)
            }
            _ => {
                let (new_parent, new_name) = self.open_parent(to)?;
                Ok(renameat(old_parent, old_name, new_parent, new_name)?)
            }
        }
    }

    /// Moves a file to the same path of another tree, replacing an existing file.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename_to(&self, path: &str, other: &TreeRoot) -> io::Result<()> {
        let ((old_parent, name), (new_parent, _)) = (self.open_parent(path)?, other.open_parent(path)?);
        Ok(renameat(old_parent, name, new_parent, name)?)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_file(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.open_parent(path)?;
        Ok(unlinkat(parent, name, AtFlags::empty())?)
    }

    /// Creates a directory, accessible only to this user.
    ///
    /// # Errors
    /// The system's error.
    pub fn create_directory(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.open_parent(path)?;
        Ok(mkdirat(parent, name, Mode::RWXU)?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_directory(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.open_parent(path)?;
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }

    /// Flushes the file system of the tree.
    ///
    /// # Errors
    /// The system's error.
    pub fn flush_file_system(&self) -> io::Result<()> {
        super::file::flush_file_system(&self.directory)
    }

    /// Removes the files and directories whose names belong to a tree. Symbolic links and all other
    /// entries stay, as do the directories that contain them. Returns how many entries stay, not
    /// counting `marker`, which also stays.
    ///
    /// # Errors
    /// The system's error if the root cannot be read. A directory below it that cannot be read
    /// stays.
    pub fn remove_contents(&self, marker: &str) -> io::Result<usize> {
        let names: Vec<(String, FileType)> = self
            .list(".")?
            .map(|entry| entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.file_type())))
            .collect::<Result<_, _>>()?;
        let mut foreign = 0;
        for (name, kind) in names.iter().filter(|(name, _)| ![".", "..", marker].contains(&&**name)) {
            // Some file systems do not report the type when listing.
            let kind = match kind {
                FileType::Unknown => statat(&self.directory, &**name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => *known,
            };
            let removed = match kind {
                FileType::RegularFile if is_tree_name(name, false) => self.remove_file(name).is_ok(),
                FileType::Directory if is_tree_name(name, true) => {
                    // An unreadable directory stays, with everything in it, as does a mount point.
                    let below = self.open_beneath(name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
                    let below = below.map(|directory| TreeRoot {
                        directory: directory.into(),
                    });
                    let remaining = below.map_or(1, |below| below.remove_contents("").unwrap_or(1));
                    foreign += remaining;
                    remaining > 0 || self.remove_directory(name).is_ok()
                }
                _ => false,
            };
            foreign += usize::from(!removed);
        }
        Ok(foreign)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use testbed::{TmpFs, need};

    use super::*;

    #[test]
    fn nothing_is_changed_in_another_mount() {
        let other = need!(TmpFs::with_size(1 << 20));
        let folder = tempfile::tempdir().unwrap();
        let root = TreeRoot::create(&folder.path().join("tree")).unwrap();
        root.create_directory("d0").unwrap();
        fs::write(other.path().join("f0"), "precious").unwrap();
        let mount_point = folder.path().join("tree/d0");
        let run = |program: &str, words: &[&std::ffi::OsStr]| {
            let status = std::process::Command::new(program).args(words).status();
            assert!(status.unwrap().success(), "{program}");
        };
        run(
            "mount",
            &["--bind".as_ref(), other.path().as_ref(), mount_point.as_ref()],
        );
        let opened = root.open_file("d0/f0", OpenFor::Write, &CacheMode::BUFFERED);
        let stepwise = ["d0", "d0/f0"].map(|path| root.open_stepwise(path, OFlags::RDONLY, Mode::empty()));
        let removed = root.remove_file("d0/f0");
        let remaining = root.remove_contents("");
        run("umount", &[mount_point.as_ref()]);
        let code = |error: io::Error| error.raw_os_error();
        assert_eq!(opened.map(drop).map_err(code), Err(Some(libc::EXDEV)));
        assert_eq!(stepwise.map(Result::err), [Some(Errno::XDEV); 2]);
        assert_eq!(removed.map_err(code), Err(Some(libc::EXDEV)));
        assert!(remaining.unwrap() > 0);
        assert_eq!(fs::read(other.path().join("f0")).unwrap(), b"precious");
    }

    #[test]
    fn nothing_is_changed_through_a_linked_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("tree"), folder.path().join("other"));
        let root = TreeRoot::create(&tree).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("f0"), "precious").unwrap();
        std::os::unix::fs::symlink(&other, tree.join("d0")).unwrap();
        for (path, open_for) in [("d0/f0", OpenFor::Write), ("d0/f1", OpenFor::Create)] {
            let error = root.open_file(path, open_for, &CacheMode::BUFFERED).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
            let stepwise = root.open_stepwise(path, OFlags::WRONLY | OFlags::CREATE, Mode::RUSR);
            assert_eq!(stepwise.map(drop), Err(Errno::LOOP));
        }
        fs::create_dir(other.join("d1")).unwrap();
        fs::write(tree.join("f2"), "").unwrap();
        let second = TreeRoot::create(&folder.path().join("second")).unwrap();
        second.create_directory("d0").unwrap();
        fs::write(folder.path().join("second/d0/f3"), "").unwrap();
        for changed in [
            root.remove_file("d0/f0"),
            root.set_times("d0/f0"),
            root.rename("d0/f0", "f1"),
            root.rename("f2", "d0/f2"),
            root.rename("d0/f0", "d0/f2"),
            second.rename_to("d0/f3", &root),
            root.create_directory("d0/d2"),
            root.remove_directory("d0/d1"),
            root.read_directory("d0").map(|_| ()),
            root.read_directory("d0/d1").map(|_| ()),
        ] {
            let error = changed.unwrap_err().raw_os_error();
            assert!([Some(libc::ELOOP), Some(libc::ENOTDIR)].contains(&error), "{error:?}");
        }
        let mut left: Vec<_> = fs::read_dir(&other)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["d1", "f0"]);
        root.create_directory("d3").unwrap();
        root.rename("f2", "d3/f2").unwrap();
        root.rename("d3/f2", "d3/g2").unwrap();
        root.set_times("d3/g2").unwrap();
        root.open_stepwise("d3/g2", OFlags::RDONLY, Mode::empty()).unwrap();
        root.remove_file("d3/g2").unwrap();
        root.remove_directory("d3").unwrap();
    }

    #[test]
    fn a_pipe_in_place_of_a_file_fails_instead_of_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let root = TreeRoot::create(&folder.path().join("tree")).unwrap();
        let pipe = folder.path().join("tree/f0");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(pipe)
                .status()
                .unwrap()
                .success()
        );
        let (done_tx, done_rx) = channel();
        std::thread::spawn(move || {
            let open = |open_for| root.open_file("f0", open_for, &CacheMode::BUFFERED);
            let read = open(OpenFor::Read).map(|file| super::super::file::read_at(&file, &mut [0; 1], 0));
            done_tx.send((read, open(OpenFor::Write).map(drop))).unwrap();
        });
        let (read, written) = done_rx.recv_timeout(Duration::from_secs(10)).expect("no call waits");
        assert!(read.unwrap() < 0 && written.is_err());
    }
}
