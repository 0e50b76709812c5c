//! Named events, which are set once and are visible to all processes. An event disappears with the
//! last process that has it open.
//!
//! Windows has them in the kernel. On Linux each is a small file in the directory of shared memory.
//! Processes that have the event open hold a lock on the file; a second file marks the event as
//! set. Every user can create files in that directory, so only regular files of this user count:
//! links are not followed, and existing files are never written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::sys::{facts, file::open_own};

/// How often a waiting process checks the event.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug)]
pub struct NamedEvent {
    path: PathBuf,
    /// Locked while this process has the event open. The system releases the lock if the process is
    /// killed.
    file: Arc<File>,
}

impl NamedEvent {
    /// Opens the event of this name, or creates it.
    ///
    /// # Errors
    /// The file cannot be created or locked, or is not a regular file of this user.
    pub fn open_or_create(name: &str) -> io::Result<NamedEvent> {
        let path = event_path(name);
        loop {
            let file = match open_own(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => match create_new(&path) {
                    // Another process created it first.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    made => made?,
                },
                opened => opened?,
            };
            if file.try_lock().is_ok() {
                // The event is new, or left over from a killed process.
                remove(&mark_path(&path))?;
                file.unlock()?;
            }
            file.lock_shared()?;
            // The last owner might have removed the file in between.
            if facts::open_file_identity(&file) == facts::read_identity(&path) {
                let file = Arc::new(file);
                return Ok(NamedEvent { path, file });
            }
        }
    }

    /// Sets an existing event permanently.
    ///
    /// # Errors
    /// The file that marks it as set cannot be created.
    pub fn set_existing(name: &str) -> io::Result<()> {
        let path = event_path(name);
        match open_own(&path)?.try_lock() {
            Ok(()) => Err(io::ErrorKind::NotFound.into()),
            Err(fs::TryLockError::WouldBlock) => mark(&path),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Sets the event permanently.
    ///
    /// # Errors
    /// The file that marks it as set cannot be created.
    pub fn set(&self) -> io::Result<()> {
        mark(&self.path)
    }

    pub fn is_set(&self) -> bool {
        open_own(&mark_path(&self.path)).is_ok()
    }

    /// Waits until the event is set, or until `should_stop` returns true.
    pub fn wait(&self, should_stop: impl Fn() -> bool) {
        while !self.is_set() && !should_stop() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Closes the event, and removes it if no other process has it open.
    pub fn close(&self) {
        let alone = self.file.unlock().is_ok() && self.file.try_lock().is_ok();
        if alone {
            let _ = remove(&mark_path(&self.path));
            let _ = remove(&self.path);
        }
    }
}

/// Creates a new file; fails if the path exists, even as a dangling link.
fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

fn mark(path: &Path) -> io::Result<()> {
    match create_new(&mark_path(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match open_own(&mark_path(path)) {
            // The owner has just closed the event.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened.map(drop),
        },
        made => made.map(drop),
    }
}

/// Returns the path of the file that marks an event as set. No event file has this name.
fn mark_path(path: &Path) -> PathBuf {
    path.with_added_extension("%set")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn event_path(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() {
        shared.to_owned()
    } else {
        std::env::temp_dir()
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let letters = name.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    folder.join(format!("diskspd-event-{}", letters.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a name that no other process uses.
    fn name(of: &str) -> String {
        format!(r"Global\test {}/{of}", std::process::id())
    }

    #[test]
    fn an_event_is_shared_by_name_and_removed_with_the_last_owner() {
        let name = name("seen");
        assert!(NamedEvent::set_existing(&name).is_err());
        let made = NamedEvent::open_or_create(&name).unwrap();
        let found = NamedEvent::open_or_create(&name).unwrap();
        assert!(!made.is_set() && !found.is_set());
        made.wait(|| true);
        let setter = std::thread::spawn(move || {
            found.set().unwrap();
            found
        });
        made.wait(|| false);
        let found = setter.join().unwrap();
        made.close();
        assert!(found.is_set(), "closing it in one process keeps it for the others");
        NamedEvent::set_existing(&name).unwrap();
        found.close();
        assert!(NamedEvent::set_existing(&name).is_err());
        assert!(!event_path(&name).exists() && !mark_path(&event_path(&name)).exists());
    }

    #[test]
    fn files_left_by_a_killed_process_are_not_an_event() {
        let name = name("left");
        // A killed process releases the lock but leaves the files.
        create_new(&event_path(&name)).unwrap();
        mark(&event_path(&name)).unwrap();
        assert!(NamedEvent::set_existing(&name).is_err());
        let made = NamedEvent::open_or_create(&name).unwrap();
        assert!(!made.is_set());
        NamedEvent::set_existing(&name).unwrap();
        assert!(made.is_set());
        made.close();
    }
    /// Every user can create files in the directory, and a test may run as root.
    #[cfg(unix)]
    #[test]
    fn files_of_other_users_are_neither_used_nor_changed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let name = name("link");
        let path = event_path(&name);
        let unchanged = || assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");

        let link_to = |at: &Path, to: &Path| std::os::unix::fs::symlink(to, at).unwrap();
        for to in [&precious, &folder.path().join("new")] {
            link_to(&path, to);
            let error = NamedEvent::open_or_create(&name).unwrap_err().to_string();
            assert!(error.contains("is a symbolic link"), "{error}");
            assert!(NamedEvent::set_existing(&name).is_err());
            assert!(!folder.path().join("new").exists());
            unchanged();
            fs::remove_file(&path).unwrap();
        }
        fs::create_dir(&path).unwrap();
        let error = NamedEvent::open_or_create(&name).unwrap_err().to_string();
        assert!(error.contains("is not a regular file"), "{error}");
        fs::remove_dir(&path).unwrap();

        let made = NamedEvent::open_or_create(&name).unwrap();
        link_to(&mark_path(&path), &precious);
        assert!(made.set().is_err() && NamedEvent::set_existing(&name).is_err());
        assert!(!made.is_set());
        unchanged();
        made.close();
        assert!(!path.exists() && !mark_path(&path).is_symlink());
        unchanged();
    }
}
