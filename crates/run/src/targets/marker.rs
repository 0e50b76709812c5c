//! The mark of a file that was prepared: it is full of real data, and fathom may write to it.
//!
//! The mark is an extended attribute, written last and after a flush, so an interrupted preparation leaves none. Where the
//! file system has no such attributes, a registry in the user's state directory knows the file by device, inode and birth time
//! (Windows: volume, number, birth time and size), so that another file in its place is not taken for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engine::sys;
use model::Bytes;

const NAME: &str = "user.fathom";
const VERSION: &str = "1";

/// What a mark says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes that were filled.
    pub size: Bytes,
}

/// The mark of a file, if it has one that fits its present size.
pub fn read(path: &Path) -> Option<Mark> {
    let file = fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let text = match sys::file::attribute(&file, NAME) {
        Some(bytes) => String::from_utf8(bytes).ok()?,
        None => registry_line(&file)?,
    };
    let mark = parse(&text)?;
    (mark.size.0 <= length).then_some(mark)
}

/// Marks a file as prepared. Without attributes and without a state directory the file stays unmarked, and is prepared
/// again the next time.
pub fn write(path: &Path, mark: Mark) -> io::Result<()> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let text = format!("{VERSION} {} random", mark.size.0);
    if sys::file::set_attribute(&file, NAME, text.as_bytes()).is_ok() {
        return file.sync_all();
    }
    add_to_registry(&file, &text)
}

/// Takes the mark off: the file is about to hold something else.
pub fn remove(path: &Path) {
    let Ok(file) = fs::OpenOptions::new().read(true).write(true).open(path) else {
        return;
    };
    let _ = sys::file::remove_attribute(&file, NAME);
    let _ = rewrite_registry(&file, None);
}

fn parse(text: &str) -> Option<Mark> {
    let mut words = text.split_ascii_whitespace();
    match (words.next()?, words.next()?, words.next()?) {
        (VERSION, size, "random") => Some(Mark {
            size: Bytes(size.parse().ok()?),
        }),
        _ => None,
    }
}

/// The registry: a line for each file, of its identity and what its mark says.
fn registry() -> Option<PathBuf> {
    Some(state_folder()?.join("prepared"))
}

/// Where what is known of files is kept for later commands of this user.
pub(super) fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = set("XDG_STATE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .or_else(|| set("LOCALAPPDATA"))?;
    Some(state.join("fathom"))
}

fn registry_line(file: &fs::File) -> Option<String> {
    let identity = sys::file::identity(file)?;
    let text = fs::read_to_string(registry()?).ok()?;
    text.lines()
        .find_map(|line| said_of(&identity, line))
        .map(str::to_owned)
}

/// What a line says of a file, if it is of this one.
fn said_of<'a>(identity: &str, line: &'a str) -> Option<&'a str> {
    line.strip_prefix(identity)?.strip_prefix(' ')
}

fn add_to_registry(file: &fs::File, text: &str) -> io::Result<()> {
    rewrite_registry(file, Some(text))
}

/// Replaces the line of a file, in one step, so that a crash leaves the old registry or the new one.
fn rewrite_registry(file: &fs::File, text: Option<&str>) -> io::Result<()> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let (path, identity) = (
        registry().ok_or_else(missing)?,
        sys::file::identity(file).ok_or_else(missing)?,
    );
    if text.is_none() && !path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // One at a time, so that no line is lost; where files cannot be locked, without that.
    let turn = fs::File::create(path.with_extension("lock"))?;
    let _ = turn.lock();
    let old = fs::read_to_string(&path).unwrap_or_default();
    let is_of_file = |line: &str| said_of(&identity, line).is_some();
    if text.is_none() && !old.lines().any(is_of_file) {
        return Ok(());
    }
    let mut new: String = old
        .lines()
        .filter(|line| !is_of_file(line))
        .map(|line| format!("{line}\n"))
        .collect();
    if let Some(text) = text {
        new.push_str(&format!("{identity} {text}\n"));
    }
    let draft = path.with_extension(format!("{}", std::process::id()));
    fs::write(&draft, new)?;
    fs::rename(&draft, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_and_goes_when_the_file_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![1u8; 10_000]).unwrap();
        assert_eq!(read(&path), None);
        let mark = Mark { size: Bytes(10_000) };
        write(&path, mark).unwrap();
        assert_eq!(read(&path), Some(mark));
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(9_999)
            .unwrap();
        assert_eq!(read(&path), None, "a shorter file is not the one that was prepared");
    }

    #[test]
    fn a_removed_mark_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"data").unwrap();
        write(&path, Mark { size: Bytes(4) }).unwrap();
        remove(&path);
        assert_eq!(read(&path), None);
    }

    /// Windows gives a file the time of birth of one that had its name within the last 15 seconds.
    #[cfg(windows)]
    #[test]
    fn another_file_of_the_same_name_size_and_age_is_not_marked() {
        use std::os::windows::fs::FileTimesExt;
        use std::time::{Duration, SystemTime};
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        let born = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for path in [&path, &other] {
            fs::write(path, vec![1u8; 10_000]).unwrap();
            // Wine knows no time of birth and takes that of the last change.
            let times = fs::FileTimes::new().set_created(born).set_modified(born);
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_times(times).unwrap();
        }
        let mark = Mark { size: Bytes(10_000) };
        write(&path, mark).unwrap();
        assert_eq!(read(&path), Some(mark));
        fs::remove_file(&path).unwrap();
        fs::rename(&other, &path).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(
            (meta.created().unwrap(), meta.len()),
            (born, 10_000),
            "it looks the same"
        );
        assert_eq!(read(&path), None);
    }

    #[test]
    fn a_line_is_of_one_file_only() {
        assert_eq!(said_of("5:7 1 100", "5:7 1 100 1 100 random"), Some("1 100 random"));
        assert_eq!(said_of("5:7 1 10", "5:7 1 100 1 100 random"), None);
        assert_eq!(said_of("5:7 1 100", "5:7 1 101 1 100 random"), None);
    }

    #[test]
    fn other_texts_are_no_marks() {
        for text in ["", "1", "1 x random", "2 5 random", "1 5 zeros"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("1 5 random"), Some(Mark { size: Bytes(5) }));
    }
}
