//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writes a file under a temporary name beside its place, flushes it, and renames it. An earlier
/// file of that name stays as it is until then. A pipe or terminal is written to directly.
///
/// # Errors
/// Whatever the system says; and an error of kind `InvalidInput` where the path is a block device
/// or a directory, which are never meant.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    write_whole_with(path, |file| file.write_all(content))
}

/// As [`write_whole`], for what is not at hand all at once.
///
/// # Errors
/// As [`write_whole`], and those of `write`.
pub fn write_whole_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    if let Ok(meta) = fs::metadata(path) {
        if is_stream(&meta) {
            return write(&mut fs::OpenOptions::new().write(true).open(path)?);
        }
        if !meta.is_file() {
            let what = if meta.is_dir() {
                "a directory"
            } else {
                "no regular file"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}")).into());
        }
    }
    let mut part = Part::beside(path)?;
    write(part.file())?;
    Ok(part.finish()?.into_place()?)
}

/// Names of parts: this, the process, something random, and the end.
const PREFIX: &str = ".fathom-";
const SUFFIX: &str = ".part";
/// Younger ones may not have their lock yet.
const SETTLED: Duration = Duration::from_secs(1);
/// Where it is unknown whether its process is alive, a part that is not locked is older than this
/// before it counts as left.
const LEFT: Duration = Duration::from_secs(3600);

/// A file on its way, under a temporary name beside its place; gone if it is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    file: tempfile::NamedTempFile,
    place: PathBuf,
}

/// A part that is complete and on the disk. It holds no file open.
#[derive(Debug)]
pub(crate) struct WholePart {
    name: tempfile::TempPath,
    place: PathBuf,
}

impl Part {
    /// Makes one.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn beside(path: &Path) -> io::Result<Part> {
        // A link is followed, so that the file it names is replaced and not the link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = folder_of(&place);
        let file = in_folder(folder).map_err(|error| named(error, folder))?;
        Ok(Part { file, place })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Flushes what was written.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn finish(self) -> io::Result<WholePart> {
        self.file.as_file().sync_all()?;
        Ok(WholePart {
            name: self.file.into_temp_path(),
            place: self.place,
        })
    }
}

impl WholePart {
    /// Its temporary name.
    pub(crate) fn path(&self) -> &Path {
        &self.name
    }

    /// Gives the file its name, in the place of an earlier one.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn into_place(self) -> io::Result<()> {
        self.name.persist(&self.place).map_err(|error| error.error)?;
        // The name, too, shall survive a power cut; where a directory cannot be flushed, the system
        // does it in its own time.
        let _ = File::open(folder_of(&self.place)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn in_folder(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    sweep(folder);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program makes its files; the user's mask still applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    // Where files cannot be locked, the age and the process in the name have to do.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes parts that killed processes have left: their lock is free, and the process in their name
/// is gone, or they are old where whether it lives is unknown.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(process_of) else {
            continue;
        };
        let least = match is_alive(process) {
            Some(true) => continue,
            Some(false) => SETTLED,
            None => LEFT,
        };
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > least);
        if !is_old {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that made a part of this name.
fn process_of(name: &str) -> Option<u32> {
    let middle = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    middle.split_once('-')?.0.parse().ok()
}

/// Absent where unknown.
fn is_alive(process: u32) -> Option<bool> {
    cfg!(target_os = "linux").then(|| Path::new("/proc").join(process.to_string()).exists())
}

/// The system says only that something does not exist, and the file itself need not.
fn named(error: io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(
            io::ErrorKind::NotFound,
            format!("the folder {} does not exist", folder.display()),
        ),
        _ => error,
    }
}

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
    fn replaces_a_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("a");
        write_whole(&path, b"one").expect("written");
        write_whole(&path, b"two").expect("written again");
        assert_eq!(fs::read(&path).expect("read"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    /// What a killed process has left goes with the next file; what a living one writes stays.
    #[test]
    #[cfg(target_os = "linux")]
    fn parts_of_the_dead_are_removed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let part = |process: u32| folder.path().join(format!("{PREFIX}{process}-abc{SUFFIX}"));
        let (dead, alive) = (part(u32::MAX), part(std::process::id()));
        for path in [&dead, &alive] {
            let file = File::create(path).expect("made");
            let long_ago = std::time::SystemTime::now() - 10 * SETTLED;
            file.set_modified(long_ago).expect("made older");
        }
        write_whole(&folder.path().join("a"), b"one").expect("written");
        assert!(!dead.exists() && alive.exists());
    }

    #[test]
    #[cfg(not(target_os = "linux"))]
    fn parts_without_a_holder_are_removed_in_time() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let part = |name: &str, age: Duration| {
            let path = folder.path().join(format!("{PREFIX}1-{name}{SUFFIX}"));
            let file = File::create(&path).expect("made");
            file.set_modified(std::time::SystemTime::now() - age)
                .expect("made older");
            (path, file)
        };
        let ((left, _), (young, _)) = (part("left", 2 * LEFT), part("young", LEFT / 2));
        let (held, lock) = part("held", 2 * LEFT);
        lock.lock().expect("locked");
        write_whole(&folder.path().join("a"), b"one").expect("written");
        assert!(!left.exists() && young.exists() && held.exists());
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
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
    fn follows_a_link_and_writes_to_a_pipe() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, b"old").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        write_whole(&link, b"new").expect("written");
        assert_eq!(fs::read(&real).expect("read"), b"new");
        assert!(fs::symlink_metadata(&link).expect("looked at").is_symlink());
        write_whole(Path::new("/dev/null"), b"gone").expect("a character device takes it");
    }
}
