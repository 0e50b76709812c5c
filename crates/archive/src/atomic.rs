//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file under a temporary name beside its place, flushes it, and renames it. An earlier file of that name stays
/// as it is until then. A pipe or terminal is written to directly.
///
/// # Errors
/// Whatever the system says; and an error of kind `InvalidInput` where the path is a block device or a directory, which
/// are never meant.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Ok(meta) = fs::metadata(path) {
        if is_stream(&meta) {
            return fs::OpenOptions::new().write(true).open(path)?.write_all(content);
        }
        if !meta.is_file() {
            let what = if meta.is_dir() {
                "a directory"
            } else {
                "no regular file"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}")));
        }
    }
    let mut part = Part::beside(path)?;
    part.file().write_all(content)?;
    part.finish()?.into_place()
}

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
        // The name, too, shall survive a power cut; where a directory cannot be flushed, the system does it in its own time.
        let _ = File::open(folder_of(&self.place)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn in_folder(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fathom-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program makes its files; the user's mask still applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
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
