//! Temporary files in a directory that the user named. They are removed at the end of the command.
//!
//! Such a file is locked during its run. An unlocked one is a leftover of a killed run. The next
//! run in the same directory removes a leftover if it has one of our names, is the original file
//! (not a copy) and has its intended length. Other files stay.
//!
//! Some network file systems have locks that other hosts do not see, so a file of another host may
//! look unlocked. There the mark names the start of the host, and only the same host, until it
//! restarts, takes the file for a leftover.
//!
//! On Windows an open file counts as locked, since removal first opens it exclusively. File systems
//! there have no extended attributes, so a note in the user's state directory identifies our file:
//! it is named after the numbers of the volume and the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Identity, sys};
use model::Bytes;
use model::event::Event;
use model::finding::{Finding, Severity};

use super::mark_store;
use super::write_lock::WriteLock;

/// Identifies the file that we created, its intended length and its name. So another file with such
/// a name is never mistaken for it.
const ATTRIBUTE: &str = "user.fathom.own";

/// A temporary file. Dropping it removes the file, unless it is kept.
#[derive(Debug)]
pub struct TempFile {
    path: PathBuf,
    keep: bool,
    /// Descriptor that holds the lock.
    lock: fs::File,
    /// The directory from which it is removed; `None` if this user cannot open it.
    folder: Option<sys::file::Folder>,
    /// Records that this process holds the lock.
    _write_lock: Option<WriteLock>,
    /// The note that identifies the file if attributes cannot.
    note: Option<PathBuf>,
}

/// Path of a temporary file in a directory. `number` distinguishes the files of a run.
pub(super) fn path_in(folder: &Path, number: usize) -> PathBuf {
    // Processes with the same id, on other hosts or in other containers, may use the same
    // directory.
    static BEGUN: OnceLock<u32> = OnceLock::new();
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.subsec_nanos())
    };
    let process_start = BEGUN.get_or_init(now);
    folder.join(format!("fathom-{}-{process_start}-{number}.dat", std::process::id()))
}

/// True if this is the path of a temporary file of this process.
pub(super) fn is_of_this_process(path: &Path, number: usize) -> bool {
    path == path_in(super::parent_directory(path), number)
}

impl TempFile {
    /// Creates an empty file with this intended length, and locks it.
    pub(super) fn create(path: &Path, length: u64, keep: bool) -> io::Result<TempFile> {
        TempFile::create_with_lock(path, length, keep, sys::file::try_lock)
    }

    /// Creates the empty marker of a tree, with a lock that other hosts can share.
    pub(super) fn create_shared_marker(path: &Path) -> io::Result<TempFile> {
        TempFile::create_with_lock(path, 0, false, |file| {
            sys::file::try_lock_for_writing(file, true).is_ok()
        })
    }

    fn create_with_lock(
        path: &Path,
        length: u64,
        keep: bool,
        try_lock: impl Fn(&fs::File) -> bool,
    ) -> io::Result<TempFile> {
        let lock = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        let locked = try_lock(&lock);
        let marked_length = (locked && !keep).then_some(length);
        Ok(TempFile::from_opened(path, lock, keep, marked_length))
    }

    /// A file that is open, and marked as ours if it has an intended length.
    fn from_opened(path: &Path, lock: fs::File, keep: bool, marked_length: Option<u64>) -> TempFile {
        TempFile {
            path: path.to_owned(),
            keep,
            note: marked_length.and_then(|length| mark(&lock, path, length)),
            _write_lock: WriteLock::record_held(&lock),
            folder: sys::file::Folder::open_parent(path).ok(),
            lock,
        }
    }

    /// Identity of the file, to recognise it later.
    pub(super) fn identity(&self) -> Option<Identity> {
        sys::facts::open_file_identity(&self.lock)
    }

    /// Takes over a file that a run of this command has created and left. The file is locked,
    /// marked as ours, and removed on drop. If this program is killed, the next run in its
    /// directory removes it.
    ///
    /// # Errors
    /// The system's error. In that case, the file stays unchanged.
    pub fn adopt(path: &Path) -> io::Result<TempFile> {
        let lock = fs::OpenOptions::new().read(true).write(true).open(path)?;
        let marked_length = match sys::file::try_lock(&lock) {
            true => Some(lock.metadata()?.len()),
            false => None,
        };
        Ok(TempFile::from_opened(path, lock, false, marked_length))
    }

    /// Leaves the file like a killed run, for the next run in its directory.
    pub(super) fn leave(mut self) {
        self.keep = true;
    }
}

/// A temporary file of a killed run, locked; dropping it removes it. `None` if the file is not such
/// a leftover, or has changed.
pub(super) fn open_leftover(path: &Path) -> Option<TempFile> {
    open_own(path, sys::file::open_abandoned, &|_| false)
}

/// The marker of a tree that several hosts use at once. Their lock keeps out runs that use the tree
/// alone, but no other run of several hosts. Other hosts cannot identify a marker on a network file
/// system: they rely on the host that has prepared the tree (`is_prepared`).
pub(super) fn open_shared_marker(path: &Path, is_prepared: bool) -> Option<TempFile> {
    let is_trusted = |file: &fs::File| {
        let is_empty = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        is_prepared && is_empty && sys::file::is_remote(file)
    };
    open_own(path, sys::file::open_shared, &is_trusted)
}

/// A temporary file of fathom, with the lock that `open` takes. `is_trusted` accepts a file that
/// cannot be identified.
fn open_own(
    path: &Path,
    open: fn(&Path) -> Option<fs::File>,
    is_trusted: &dyn Fn(&fs::File) -> bool,
) -> Option<TempFile> {
    let unchanged = |file: &fs::File| identify(file, path) == Leftover::Unchanged || is_trusted(file);
    // Foreign files must not be locked, even for a moment.
    sys::file::open_without_waiting(path).ok().filter(unchanged)?;
    let lock = open(path).filter(unchanged)?;
    Some(TempFile {
        path: path.to_owned(),
        keep: false,
        note: note_path(&lock),
        _write_lock: None,
        folder: sys::file::Folder::open_parent(path).ok(),
        lock,
    })
}

impl TempFile {
    /// Removes it unless it is kept. Returns a finding if it remains.
    pub(super) fn remove(mut self) -> Option<Finding> {
        let error = self.try_remove().err()?;
        let (name, size) = (
            self.path.display(),
            Bytes(self.lock.metadata().map_or(0, |meta| meta.len())),
        );
        let what = match error.kind() {
            io::ErrorKind::NotFound => {
                format!("the test file {name} ({size}) was moved during the test, so it was not removed")
            }
            _ => format!("cannot remove the test file {name} ({size}): {error}"),
        };
        let finding = Finding::new("LEFTOVER", Severity::Warning, what);
        Some(finding.help("remove it if you do not need it"))
    }

    /// Removes it unless it is kept or has no name any more.
    fn try_remove(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.keep, true) || sys::file::is_unlinked(&self.lock) {
            return Ok(());
        }
        let id = sys::file::file_stamp(&self.lock)?.id;
        match (&self.folder, self.path.file_name()) {
            (Some(folder), Some(name)) => folder.remove(name, id)?,
            _ => sys::file::remove(&self.path, id)?,
        }
        remove_note(self.note.as_deref(), &self.path);
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = self.try_remove();
    }
}

/// Marks an open file as ours, if the system permits it. Returns the path of the note, if it needs
/// one.
fn mark(file: &fs::File, path: &Path, length: u64) -> Option<PathBuf> {
    let text = build_mark(file, path, length, lock_scope(file))?;
    if sys::file::set_attribute(file, ATTRIBUTE, text.as_bytes()).is_ok() {
        return None;
    }
    let note = note_path(file)?;
    fs::create_dir_all(note.parent()?).ok()?;
    fs::write(&note, text).ok()?;
    Some(note)
}

fn build_mark(file: &fs::File, path: &Path, length: u64, scope: Option<&str>) -> Option<String> {
    let id = sys::file::file_stamp(file).ok()?.id;
    let name = utf8_file_name(path)?;
    Some(match scope {
        Some(scope) => format!("2 {length} {id} {scope} {name}"),
        None => format!("2 {length} {id} {name}"),
    })
}

/// The start of this host, on a file system whose locks other hosts may not see.
fn lock_scope(file: &fs::File) -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    };
    sys::file::is_remote(file)
        .then(|| BOOT.get_or_init(read).as_deref())
        .flatten()
}

/// The kind of an unlocked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// Ours, unchanged since its run was killed. An empty file has nothing to lose.
    Unchanged,
    /// Ours by its mark, with another length: another program has written to it.
    Changed,
    /// A file that fathom did not create.
    Foreign,
}

/// Classifies the file that has this path now.
fn identify(file: &fs::File, path: &Path) -> Leftover {
    identify_leftover(file, path, lock_scope(file))
}

fn identify_leftover(file: &fs::File, path: &Path, scope: Option<&str>) -> Leftover {
    let mark_found = sys::file::read_attribute(file, ATTRIBUTE).and_then(|bytes| String::from_utf8(bytes).ok());
    let noted = || fs::read_to_string(note_path(file)?).ok();
    let Some((mark_found, meta)) = mark_found.or_else(noted).zip(file.metadata().ok()) else {
        return Leftover::Foreign;
    };
    let length = mark_found
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    match build_mark(file, path, length, scope) {
        Some(mark) if mark != mark_found => Leftover::Foreign,
        Some(_) if meta.len() == length || meta.len() == 0 => Leftover::Unchanged,
        Some(_) => Leftover::Changed,
        None => Leftover::Foreign,
    }
}

/// The path of a file's note.
fn note_path(file: &fs::File) -> Option<PathBuf> {
    Some(
        mark_store::state_folder()?
            .join("own")
            .join(sys::file::persistent_identity(file)?),
    )
}

fn utf8_file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Removes the note of a file. A new file with its own note may have the same number by now.
fn remove_note(note: Option<&Path>, path: &Path) {
    let name = utf8_file_name(path).unwrap_or_default();
    if let Some(note) = note
        && fs::read_to_string(note).is_ok_and(|text| text.split(' ').next_back() == Some(name))
    {
        let _ = fs::remove_file(note);
    }
}

/// True if the name of a file or directory is one of ours, with this suffix.
pub(super) fn has_own_name(path: &Path, suffix: &str) -> bool {
    let numbers = utf8_file_name(path).and_then(|name| name.strip_prefix("fathom-")?.strip_suffix(suffix));
    numbers.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// Removes temporary files of killed runs in the same directory, and reports each.
pub(super) fn remove_leftovers(near: &Path, watcher: &mut dyn FnMut(Event)) {
    let Ok(entries) = fs::read_dir(super::parent_directory(near)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path != near) {
        let ours = has_own_name(&path, ".dat");
        // Foreign files must not be locked, even for a moment.
        let seen = |file: &fs::File| ours && identify(file, &path) != Leftover::Foreign;
        if !sys::file::open_without_waiting(&path).is_ok_and(|file| seen(&file)) {
            continue;
        }
        let Some(file) = sys::file::open_abandoned(&path).filter(seen) else {
            continue;
        };
        let size = Bytes(file.metadata().map(|meta| meta.len()).unwrap_or(0));
        let name = path.display();
        let what = if identify(&file, &path) == Leftover::Changed {
            format!("keeping {name} ({size}), a leftover of a killed run: it has changed since then")
        } else {
            let note = note_path(&file);
            if sys::file::remove_abandoned(file, &path).is_err() {
                continue;
            }
            remove_note(note.as_deref(), &path);
            format!("removed {name} ({size}), a leftover of a killed run")
        };
        watcher(Event::Notice {
            finding: Finding::new("LEFTOVER", Severity::Note, what),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_temporary_file_is_removed_with_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path(), 0);
        let temp_file = TempFile::create(&path, 0, false).unwrap();
        assert!(path.exists());
        assert!(is_of_this_process(&path, 0) && !is_of_this_process(&folder.path().join("fathom-1-1-0.dat"), 0));
        drop(temp_file);
        assert!(!path.exists());
        drop(TempFile::create(&path, 0, true).unwrap());
        assert!(path.exists(), "kept");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_is_removed_from_a_renamed_folder_and_another_file_of_its_name_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        fs::create_dir(&before).unwrap();
        let create = |folder: &Path, number| {
            let path = path_in(folder, number);
            (TempFile::create(&path, 0, false).unwrap(), path)
        };
        let (renamed, _) = create(&before, 0);
        fs::rename(&before, &after).unwrap();
        assert_eq!(renamed.remove(), None);
        assert_eq!(fs::read_dir(&after).unwrap().count(), 0);
        // The user has moved the file, and then another file has its name.
        let (moved, path) = create(&after, 1);
        let kept = after.join("kept");
        fs::rename(&path, &kept).unwrap();
        for name_is_taken in [false, true] {
            if name_is_taken {
                fs::write(&path, b"precious").unwrap();
            }
            let error = sys::file::Folder::open_parent(&path).unwrap().remove(
                path.file_name().unwrap(),
                sys::file::file_stamp(&moved.lock).unwrap().id,
            );
            assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert!(moved.remove().unwrap().what.contains("was moved"));
        assert!(kept.exists() && fs::read(&path).unwrap() == b"precious");
        let (gone, path) = create(&after, 2);
        fs::remove_file(path).unwrap();
        assert_eq!(gone.remove(), None);
    }

    #[test]
    fn an_adopted_file_is_removed_only_by_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path(), 0);
        fs::write(&path, b"data").unwrap();
        let held = TempFile::adopt(&path).unwrap();
        let note = held.note.clone();
        remove_leftovers(&folder.path().join("fathom-1-1.dat"), &mut |_| {});
        assert!(path.exists() && note.iter().all(|note| note.exists()));
        drop(held);
        assert!(!path.exists() && !note.iter().any(|note| note.exists()));
        assert!(TempFile::adopt(&path).is_err(), "no file is created");
    }

    /// Leaves a file without a lock, as a killed run does. `None` on systems that cannot identify
    /// the file as ours.
    fn create_leftover(path: &Path) -> Option<()> {
        let mut temp_file = TempFile::create(path, 4, false).unwrap();
        let marked = identify(&temp_file.lock, path) == Leftover::Unchanged;
        temp_file.keep = true;
        marked.then_some(())
    }

    /// Returns a path that no earlier file had. Notes outlive their files, and Wine reuses file
    /// numbers.
    fn unused_path(folder: &Path) -> PathBuf {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        path_in(folder, NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn count_reported_leftovers(folder: &Path) -> u32 {
        let mut notices = 0;
        remove_leftovers(&path_in(folder, 0), &mut |event| {
            notices += u32::from(matches!(event, Event::Notice { .. }))
        });
        notices
    }

    #[test]
    fn only_our_unlocked_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let [leftover, strangers, locked] = [(); 3].map(|()| unused_path(folder.path()));
        let Some(()) = create_leftover(&leftover) else {
            assert_ne!(std::env::consts::OS, "windows", "notes must be possible");
            return;
        };
        fs::write(&strangers, b"precious").unwrap();
        let held = TempFile::create(&locked, 4, false).unwrap();
        assert_eq!(count_reported_leftovers(folder.path()), 1);
        assert!(!leftover.exists());
        assert!(strangers.exists() && locked.exists());
        drop(held);
        assert_eq!(count_reported_leftovers(folder.path()), 0);
    }

    #[test]
    fn leftovers_with_foreign_data_stay() {
        let folder = tempfile::tempdir().unwrap();
        let leftover = unused_path(folder.path());
        let Some(()) = create_leftover(&leftover) else { return };
        fs::write(&leftover, b"precious").unwrap();
        let copy = unused_path(folder.path());
        create_leftover(&copy).unwrap();
        // Another file has its name and length.
        let other = folder.path().join("other");
        fs::write(&other, b"data").unwrap();
        if let Some(mark) = sys::file::read_attribute(&fs::File::open(&copy).unwrap(), ATTRIBUTE) {
            let other = fs::OpenOptions::new().write(true).open(&other).unwrap();
            sys::file::set_attribute(&other, ATTRIBUTE, &mark).unwrap();
        }
        fs::rename(&other, &copy).unwrap();
        assert_eq!(
            count_reported_leftovers(folder.path()),
            1,
            "one file is reported, and none is removed"
        );
        assert_eq!(fs::read(&leftover).unwrap(), b"precious");
        assert_eq!(fs::read(&copy).unwrap(), b"data");
    }

    /// Where locks hold on one host only, a file of another host, or from before a restart, may be
    /// in use.
    #[test]
    #[cfg(target_os = "linux")]
    fn files_of_other_hosts_stay_where_locks_do_not_reach_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = unused_path(folder.path());
        let Some(()) = create_leftover(&path) else { return };
        let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mark = build_mark(&file, &path, 4, Some("host-a")).unwrap();
        sys::file::set_attribute(&file, ATTRIBUTE, mark.as_bytes()).unwrap();
        assert_eq!(identify_leftover(&file, &path, Some("host-a")), Leftover::Unchanged);
        for scope in [Some("host-b"), None] {
            assert_eq!(identify_leftover(&file, &path, scope), Leftover::Foreign, "{scope:?}");
        }
    }

    /// A note belongs to one file, and a name alone identifies nothing.
    #[cfg(windows)]
    #[test]
    fn another_file_of_that_name_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (unused_path(folder.path()), folder.path().join("other"));
        create_leftover(&path).unwrap();
        let note = note_path(&fs::File::open(&path).unwrap());
        fs::write(&other, b"precious").unwrap();
        fs::remove_file(&path).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(count_reported_leftovers(folder.path()), 0);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        remove_note(note.as_deref(), &path);
        // A file that the user has renamed for another purpose is not removed either.
        let (leftover, renamed) = (unused_path(folder.path()), unused_path(folder.path()));
        create_leftover(&leftover).unwrap();
        fs::rename(&leftover, &renamed).unwrap();
        assert_eq!(count_reported_leftovers(folder.path()), 0);
        assert!(renamed.exists());
        remove_note(note_path(&fs::File::open(&renamed).unwrap()).as_deref(), &leftover);
    }
}
