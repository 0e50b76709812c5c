//! Tracks which files and directories of a tree exist, and which ones workers use. The workers of
//! all jobs on the tree use the same state, so two workers use one file only if both share it.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use model::plan::{Existence, FileOperationKind, FileTree};

/// The state of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileState {
    Absent,
    Present,
    /// Present, with its second name.
    Renamed,
    /// A worker uses it.
    InUse,
    /// Its state is uncertain after a failed operation. It is not used again.
    Lost,
    /// Its parent directory is absent.
    WithoutDirectory,
    /// It is a directory with entries.
    NotEmpty,
}

impl FileState {
    /// Returns whether it exists; `None` if that is uncertain.
    pub(crate) fn exists(self) -> Option<bool> {
        match self {
            FileState::Absent => Some(false),
            FileState::Present | FileState::Renamed | FileState::NotEmpty => Some(true),
            FileState::InUse | FileState::Lost | FileState::WithoutDirectory => None,
        }
    }
}

const STATES: [FileState; 5] = [
    FileState::Absent,
    FileState::Present,
    FileState::Renamed,
    FileState::InUse,
    FileState::Lost,
];

/// The byte of a present file that one worker shares. Each higher value means one more worker.
const SHARED_BY_ONE: u8 = STATES.len() as u8;

fn state_from_byte(byte: u8) -> FileState {
    STATES.get(usize::from(byte)).copied().unwrap_or(FileState::InUse)
}

/// The states of all files and directories of a tree.
#[derive(Debug)]
pub(crate) struct FileClaims {
    tree: FileTree,
    files: Box<[AtomicU8]>,
    directories: Box<[DirectoryState]>,
    /// The number of workers that currently create or remove files or directories, by
    /// [`supplier_index`].
    suppliers: [AtomicU32; 4],
}

/// The state of a directory that operations may create: absent, in use, lost, or its number of
/// entries plus one.
#[derive(Debug)]
struct DirectoryState(AtomicU32);

impl DirectoryState {
    const ABSENT: u32 = 0;
    const EMPTY: u32 = 1;
    const IN_USE: u32 = u32::MAX;
    const LOST: u32 = u32::MAX - 1;

    fn new(exists: bool) -> DirectoryState {
        DirectoryState(AtomicU32::new(if exists { Self::EMPTY } else { Self::ABSENT }))
    }

    fn state(&self) -> FileState {
        match self.0.load(Ordering::Relaxed) {
            Self::ABSENT => FileState::Absent,
            Self::EMPTY => FileState::Present,
            Self::IN_USE => FileState::InUse,
            Self::LOST => FileState::Lost,
            _ => FileState::NotEmpty,
        }
    }

    /// Counts a created or removed entry.
    fn count_entry(&self, added: bool) -> Result<(), FileState> {
        let next = |count: u32| match count {
            Self::ABSENT | Self::IN_USE | Self::LOST => None,
            count => Some(if added { count + 1 } else { count - 1 }),
        };
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next) {
            Ok(_) => Ok(()),
            Err(Self::IN_USE) => Err(FileState::InUse),
            Err(_) => Err(FileState::WithoutDirectory),
        }
    }
}

/// Returns the index in [`FileClaims::suppliers`]; `None` for operations that create and remove
/// nothing.
fn supplier_index(directories: bool, existence: Existence) -> Option<usize> {
    let removes = match existence {
        Existence::Unchanged => return None,
        Existence::Created => false,
        Existence::Removed => true,
    };
    Some(usize::from(directories) * 2 + usize::from(removes))
}

impl FileClaims {
    /// Creates the states of a newly created tree.
    pub(crate) fn new(tree: &FileTree) -> FileClaims {
        let state = |file| match tree.is_prefilled(file) {
            true => FileState::Present,
            false => FileState::Absent,
        };
        FileClaims::from_existing(tree, state, |_| true)
    }

    /// Creates the states of an existing tree from the states of its files and directories.
    pub(crate) fn from_existing(
        tree: &FileTree,
        state: impl Fn(u32) -> FileState,
        has_directory: impl Fn(u64) -> bool,
    ) -> FileClaims {
        let files = 0..tree.file_count() as u32;
        let claims = FileClaims {
            directories: match tree.changes_directories {
                true => (0..tree.directory_count())
                    .map(|directory| DirectoryState::new(has_directory(directory)))
                    .collect(),
                false => files.clone().map(|_| DirectoryState::new(false)).collect(),
            },
            files: files.map(|file| AtomicU8::new(state(file) as u8)).collect(),
            suppliers: Default::default(),
            tree: tree.clone(),
        };
        for number in (0..claims.files.len()).filter(|number| claims.files[*number].load(Ordering::Relaxed) > 0) {
            claims.count_in_parent(number as u32, false, true).ok();
        }
        for number in
            (0..claims.directories.len()).filter(|number| claims.directories[*number].state() != FileState::Absent)
        {
            claims.count_in_parent(number as u32, true, true).ok();
        }
        claims
    }

    /// Returns the number of files or of directories.
    pub(crate) fn count(&self, directories: bool) -> u32 {
        if directories {
            self.directories.len() as u32
        } else {
            self.files.len() as u32
        }
    }

    /// Counts a file or directory in its parent directory, if directories change.
    fn count_in_parent(&self, number: u32, is_directory: bool, added: bool) -> Result<(), FileState> {
        let parent = match (self.tree.changes_directories, is_directory) {
            (false, _) => None,
            (true, false) => self.tree.file_directory(number),
            (true, true) => self.tree.parent_directory(u64::from(number)),
        };
        parent.map_or(Ok(()), |parent| self.directories[parent as usize].count_entry(added))
    }

    /// Records that a worker starts or stops such operations. Other workers may wait for them.
    pub(crate) fn set_supplier(&self, kind: FileOperationKind, is_supplier: bool) {
        if let Some(place) = supplier_index(kind.is_on_directory(), kind.existence()) {
            match is_supplier {
                true => self.suppliers[place].fetch_add(1, Ordering::AcqRel),
                false => self.suppliers[place].fetch_sub(1, Ordering::AcqRel),
            };
        }
    }

    /// Returns the number of workers that create or remove files or directories.
    pub(crate) fn supplier_count(&self, directories: bool, existence: Existence) -> u32 {
        supplier_index(directories, existence).map_or(0, |place| self.suppliers[place].load(Ordering::Acquire))
    }

    /// Claims a file or directory exclusively if it is present or absent, as required.
    ///
    /// # Errors
    /// Its actual state.
    pub(crate) fn claim(&self, number: u32, is_directory: bool, present: bool) -> Result<FileState, FileState> {
        let state = match is_directory {
            true => self.claim_directory(&self.directories[number as usize].0, present)?,
            false => self.claim_file(&self.files[number as usize], present)?,
        };
        // Count the new entry in its parent directory now, so that no worker removes the parent.
        if state == FileState::Absent
            && let Err(why) = self.count_in_parent(number, is_directory, true)
        {
            self.store(number, is_directory, FileState::Absent);
            return Err(why);
        }
        Ok(state)
    }

    fn claim_file(&self, place: &AtomicU8, present: bool) -> Result<FileState, FileState> {
        let state = state_from_byte(place.load(Ordering::Relaxed));
        let fits = match state {
            FileState::Absent => !present,
            FileState::Present | FileState::Renamed => present,
            _ => false,
        };
        if !fits {
            return Err(state);
        }
        // Acquire: the previous worker's operations on the file happen before the caller's.
        let (from, to) = (state as u8, FileState::InUse as u8);
        match place.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(state),
            Err(_) => Err(FileState::InUse),
        }
    }

    fn claim_directory(&self, place: &AtomicU32, present: bool) -> Result<FileState, FileState> {
        let (from, state) = match present {
            true => (DirectoryState::EMPTY, FileState::Present),
            false => (DirectoryState::ABSENT, FileState::Absent),
        };
        let claimed = place.compare_exchange(from, DirectoryState::IN_USE, Ordering::Acquire, Ordering::Relaxed);
        claimed
            .map(|_| state)
            .map_err(|found| DirectoryState(AtomicU32::new(found)).state())
    }

    /// Claims a file exclusively, whether it is present or absent.
    ///
    /// # Errors
    /// Its actual state.
    pub(crate) fn claim_in_any_state(&self, file: u32) -> Result<FileState, FileState> {
        match self.claim(file, false, false) {
            Err(FileState::Present | FileState::Renamed) => self.claim(file, false, true),
            claimed => claimed,
        }
    }

    /// Claims a present file that other workers may share.
    ///
    /// # Errors
    /// Its actual state.
    pub(crate) fn share(&self, file: u32) -> Result<FileState, FileState> {
        let next = |byte: u8| match byte {
            byte if byte == FileState::Present as u8 => Some(SHARED_BY_ONE),
            byte if byte >= SHARED_BY_ONE => byte.checked_add(1),
            _ => None,
        };
        let place = &self.files[file as usize];
        match place.fetch_update(Ordering::Acquire, Ordering::Relaxed, next) {
            Ok(_) => Ok(FileState::Present),
            Err(byte) => Err(state_from_byte(byte)),
        }
    }

    /// Releases a shared file.
    pub(crate) fn unshare(&self, file: u32) {
        let next = |byte: u8| match byte {
            SHARED_BY_ONE => Some(FileState::Present as u8),
            byte => Some(byte - 1),
        };
        let place = &self.files[file as usize];
        // The closure returns a value for each byte, so the update cannot fail.
        let _ = place.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// Releases a file or directory and sets its new state.
    pub(crate) fn release(&self, number: u32, is_directory: bool, state: FileState) {
        if state == FileState::Absent {
            // This cannot fail: the parent exists, because this entry counts there. A directory
            // stays in use until the store below, so `has_empty_directory` does not miss it.
            self.count_in_parent(number, is_directory, false).ok();
        }
        self.store(number, is_directory, state);
    }

    /// True if a directory is empty, or is being created or removed.
    pub(crate) fn has_empty_directory(&self) -> bool {
        let is_free = |state| matches!(state, FileState::Present | FileState::InUse);
        self.directories.iter().any(|directory| is_free(directory.state()))
    }

    fn store(&self, number: u32, is_directory: bool, state: FileState) {
        if !is_directory {
            return self.files[number as usize].store(state as u8, Ordering::Release);
        }
        let word = match state {
            FileState::Absent => DirectoryState::ABSENT,
            FileState::Lost => DirectoryState::LOST,
            _ => DirectoryState::EMPTY,
        };
        self.directories[number as usize].0.store(word, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use model::Bytes;
    use model::block_size::BlockSizes;

    use super::*;

    fn tree(files: u32) -> FileTree {
        FileTree {
            files_per_directory: files,
            sizes: BlockSizes::Fixed { size: Bytes(1) },
            prefill: 100,
            ..FileTree::default()
        }
    }

    fn first_is_present(file: u32) -> FileState {
        if file == 0 {
            FileState::Present
        } else {
            FileState::Absent
        }
    }

    #[test]
    fn a_shared_file_can_be_claimed_after_its_last_worker_releases_it() {
        let claims = FileClaims::from_existing(&tree(2), first_is_present, |_| true);
        for _ in 0..2 {
            assert_eq!(claims.share(0), Ok(FileState::Present));
        }
        assert_eq!(claims.share(1), Err(FileState::Absent));
        assert_eq!(claims.claim(0, false, true), Err(FileState::InUse));
        claims.unshare(0);
        assert_eq!(claims.claim(0, false, true), Err(FileState::InUse));
        claims.unshare(0);
        assert_eq!(claims.claim(0, false, true), Ok(FileState::Present));
        assert_eq!(claims.share(0), Err(FileState::InUse));
    }

    #[test]
    fn a_file_is_in_use_for_workers_beyond_the_maximum_of_its_counter() {
        let claims = FileClaims::new(&tree(1));
        let claimed = (0..300).take_while(|_| claims.share(0).is_ok()).count();
        assert_eq!(claimed, usize::from(u8::MAX - SHARED_BY_ONE) + 1);
        (0..claimed).for_each(|_| claims.unshare(0));
        assert_eq!(claims.claim(0, false, true), Ok(FileState::Present));
    }

    #[test]
    fn directories_are_removed_only_if_empty() {
        let tree = FileTree {
            depth: 2,
            width: 2,
            changes_directories: true,
            ..tree(1)
        };
        // Directories 0 and 1, with 2 to 5 inside them; file 0 is in directory 2.
        let claims = FileClaims::from_existing(&tree, first_is_present, |directory| directory < 3);
        assert_eq!((claims.count(true), claims.count(false)), (6, 4));
        for directory in [0, 2] {
            assert_eq!(claims.claim(directory, true, true), Err(FileState::NotEmpty));
        }
        // Directory 3 is absent.
        assert_eq!(claims.claim(1, false, false), Err(FileState::WithoutDirectory));
        assert_eq!(claims.claim(3, true, false), Ok(FileState::Absent));
        // Directory 3 is being created.
        assert_eq!(claims.claim(1, false, false), Err(FileState::InUse));
        claims.release(3, true, FileState::Present);
        assert_eq!(claims.claim(1, false, false), Ok(FileState::Absent));
        // File 1 is being created in it.
        assert_eq!(claims.claim(3, true, true), Err(FileState::NotEmpty));
        claims.release(1, false, FileState::Absent);
        for (number, is_directory) in [(0, false), (3, true), (2, true), (0, true)] {
            let claimed = claims.claim(number, is_directory, true);
            assert_eq!(claimed, Ok(FileState::Present), "{number}");
            claims.release(number, is_directory, FileState::Absent);
        }
        // Directory 1 exists, directory 0 does not.
        assert_eq!(claims.claim(4, true, false), Ok(FileState::Absent));
        assert_eq!(claims.claim(2, true, false), Err(FileState::WithoutDirectory));
    }
}
