//! Atomic file writes: a file appears complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

/// The flag that ends the wait for the reader of a pipe, and the call that reports the wait.
type Wait = (&'static AtomicBool, fn(&Path));

static WAIT: OnceLock<Wait> = OnceLock::new();
/// How often that flag is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Ends every wait for the reader of a pipe, now and later, once `flag` is set. Each wait begins
/// with a call of `report`.
pub fn stop_waiting_on(flag: &'static AtomicBool, report: fn(&Path)) {
    let _ = WAIT.set((flag, report));
}

/// Writes a temporary file in the same directory, flushes it, and renames it. An existing file
/// stays unchanged until then. A pipe or terminal is written to directly; the reader of a pipe is
/// awaited until the flag of [`stop_waiting_on`] is set.
///
/// # Errors
/// I/O errors, and `InvalidInput` if the path is a block device or a directory, which must be a
/// mistake.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    write_whole_with(path, |file| file.write_all(content))
}

/// As [`write_whole`], for content that is written in pieces.
///
/// # Errors
/// As [`write_whole`], or `write` fails.
pub fn write_whole_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    if fs::metadata(path).is_ok_and(|meta| is_stream(&meta)) {
        return write(&mut open_stream(path)?);
    }
    let mut temp_file = TempFile::create_for(path)?;
    write(temp_file.file())?;
    Ok(temp_file.finish()?.rename_into_place()?)
}

/// Opens a pipe or terminal. The call waits for the reader of a pipe, so a thread makes it.
fn open_stream(path: &Path) -> io::Result<File> {
    let (opened_tx, opened_rx) = mpsc::channel();
    let place = path.to_owned();
    let mut report = WAIT.get().map(|(_, report)| report);
    std::thread::Builder::new().spawn(move || opened_tx.send(fs::OpenOptions::new().write(true).open(place)))?;
    loop {
        // A reader that exists already is found even if the flag is set.
        let opened = opened_rx.recv_timeout(POLL_INTERVAL);
        match opened {
            Ok(file) => return file,
            Err(_) if WAIT.get().is_some_and(|(flag, _)| flag.load(Ordering::Relaxed)) => {
                return Err(io::Error::other("interrupted: no process reads this pipe"));
            }
            Err(_) => {
                if let Some(report) = report.take() {
                    report(path);
                }
            }
        }
    }
}

/// Names of temporary files: prefix, process ID, random text, suffix.
const PREFIX: &str = ".fathom-";
const SUFFIX: &str = ".part";
/// Younger temporary files might not be locked yet.
const MIN_AGE: Duration = Duration::from_secs(1);
/// Age from which an unlocked temporary file counts as abandoned. Only used if it is unknown
/// whether its process is alive.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// A file being written, under a temporary name in the directory of its final path; removed on
/// drop.
#[derive(Debug)]
pub(crate) struct TempFile {
    file: tempfile::NamedTempFile,
    place: PathBuf,
}

/// A temporary file that is complete, flushed and closed.
#[derive(Debug)]
pub(crate) struct CompleteTempFile {
    name: tempfile::TempPath,
    place: PathBuf,
}

impl TempFile {
    /// Creates a temporary file for `path`, with the permissions and the owner of the file that it
    /// will replace.
    ///
    /// # Errors
    /// The file cannot be created. `InvalidInput` if `path` exists and is not a regular file, which
    /// a rename would replace.
    pub(crate) fn create_for(path: &Path) -> io::Result<TempFile> {
        // Replace the target of a symbolic link, not the link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let replaced = fs::metadata(&place).ok();
        if let Some(meta) = replaced.as_ref().filter(|meta| !meta.is_file()) {
            let what = if meta.is_dir() {
                "a directory"
            } else {
                "a device or pipe"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}")));
        }
        let folder = parent_directory(&place);
        let file = create_temp_file(folder).map_err(|error| explain_missing_folder(error, folder))?;
        if let Some(meta) = replaced {
            keep_access(file.as_file(), &meta);
        }
        Ok(TempFile { file, place })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Flushes the content.
    ///
    /// # Errors
    /// The content cannot be flushed.
    pub(crate) fn finish(self) -> io::Result<CompleteTempFile> {
        self.file.as_file().sync_all()?;
        Ok(CompleteTempFile {
            name: self.file.into_temp_path(),
            place: self.place,
        })
    }
}

impl CompleteTempFile {
    /// Temporary name.
    pub(crate) fn path(&self) -> &Path {
        &self.name
    }

    /// Renames the file to its final path and replaces an existing one.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub(crate) fn rename_into_place(self) -> io::Result<()> {
        self.name.persist(&self.place).map_err(|error| error.error)?;
        // The rename, too, must survive a power cut; some systems cannot flush a directory.
        let _ = File::open(parent_directory(&self.place)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn parent_directory(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn create_temp_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    remove_abandoned(folder);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The default permissions of new files; the umask still applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    // If files cannot be locked, the age and the process ID in the name must suffice.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes temporary files of killed processes. Such a file is unlocked, and its process is gone;
/// or it is old, and the state of its process is unknown.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(process_id) else {
            continue;
        };
        let min_age = match is_alive(process) {
            Some(true) => continue,
            Some(false) => MIN_AGE,
            None => ABANDONED_AGE,
        };
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = modified
            .and_then(|at| at.elapsed().ok())
            .is_some_and(|age| age > min_age);
        if !is_old {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process ID in the name of a temporary file.
fn process_id(name: &str) -> Option<u32> {
    let middle = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    middle.split_once('-')?.0.parse().ok()
}

/// True if a process is alive; `None` if unknown.
fn is_alive(process: u32) -> Option<bool> {
    cfg!(target_os = "linux").then(|| Path::new("/proc").join(process.to_string()).exists())
}

/// Adds the missing directory to the system's error, which does not name it.
fn explain_missing_folder(error: io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(
            io::ErrorKind::NotFound,
            format!("the directory {} does not exist", folder.display()),
        ),
        _ => error,
    }
}

/// Gives a file the permissions and the owner of another. Only root can change the owner.
#[cfg(unix)]
fn keep_access(file: &File, replaced: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    // A change of the owner clears the set-user-ID bits, so it comes first.
    let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    let _ = file.set_permissions(replaced.permissions());
}

#[cfg(not(unix))]
fn keep_access(_: &File, _: &fs::Metadata) {}

#[cfg(unix)]
fn is_stream(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = meta.file_type();
    kind.is_char_device() || kind.is_fifo() || kind.is_socket()
}

#[cfg(not(unix))]
fn is_stream(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_without_leftovers() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("a");
        write_whole(&path, b"one").expect("written");
        write_whole(&path, b"two").expect("written again");
        assert_eq!(fs::read(&path).expect("read"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    /// The next write removes temporary files of killed processes, and only those.
    #[test]
    #[cfg(target_os = "linux")]
    fn temporary_files_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let part_path = |process: u32| folder.path().join(format!("{PREFIX}{process}-abc{SUFFIX}"));
        let (dead, alive) = (part_path(u32::MAX), part_path(std::process::id()));
        for path in [&dead, &alive] {
            let file = File::create(path).expect("made");
            let long_ago = std::time::SystemTime::now() - 10 * MIN_AGE;
            file.set_modified(long_ago).expect("made older");
        }
        write_whole(&folder.path().join("a"), b"one").expect("written");
        assert!(!dead.exists() && alive.exists());
    }

    #[test]
    #[cfg(not(target_os = "linux"))]
    fn temporary_files_without_a_known_process_are_removed_after_an_hour() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let create_part = |name: &str, age: Duration| {
            let path = folder.path().join(format!("{PREFIX}1-{name}{SUFFIX}"));
            let file = File::create(&path).expect("made");
            file.set_modified(std::time::SystemTime::now() - age)
                .expect("made older");
            (path, file)
        };
        let ((left, _), (young, _)) = (
            create_part("left", 2 * ABANDONED_AGE),
            create_part("young", ABANDONED_AGE / 2),
        );
        let (held, lock) = create_part("held", 2 * ABANDONED_AGE);
        lock.lock().expect("locked");
        write_whole(&folder.path().join("a"), b"one").expect("written");
        assert!(!left.exists() && young.exists() && held.exists());
    }

    #[test]
    fn a_missing_folder_and_a_directory_are_errors() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let missing = folder.path().join("no/such/place");
        assert!(write_whole(&missing, b"x").is_err());
        assert_eq!(
            write_whole(folder.path(), b"x").expect_err("a directory").kind(),
            io::ErrorKind::InvalidInput
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("a");
        fs::write(&path, b"old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("private");
        write_whole(&path, b"new").expect("written again");
        let meta = fs::metadata(&path).expect("metadata");
        assert_eq!((meta.permissions().mode() & 0o777, meta.len()), (0o600, 3));
    }

    /// A log of fio once replaced the device that its name linked to.
    #[cfg(unix)]
    #[test]
    fn no_device_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let link = folder.path().join("log");
        std::os::unix::fs::symlink("/dev/null", &link).expect("linked");
        let error = TempFile::create_for(&link).expect_err("a device");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_written_directly() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, b"old").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        write_whole(&link, b"new").expect("written");
        assert_eq!(fs::read(&real).expect("read"), b"new");
        assert!(fs::symlink_metadata(&link).expect("metadata").is_symlink());
        write_whole(Path::new("/dev/null"), b"gone").expect("a character device takes it");
    }
}
