//! Which files of a tree exist, and which of them a worker uses now. The workers of all jobs on the
//! tree share this: no two of them ever work on the same file.

use std::sync::atomic::{AtomicU8, Ordering};

use model::plan::FileTree;

/// What is known of a file, or of the directory that `mkdir` makes beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileState {
    Absent,
    Present,
    /// Present, with its second name.
    Renamed,
    /// A worker uses it.
    InUse,
    /// An operation that would change it has failed, so nothing is certain. It is not used again.
    Lost,
}

const STATES: [FileState; 5] = [
    FileState::Absent,
    FileState::Present,
    FileState::Renamed,
    FileState::InUse,
    FileState::Lost,
];

/// The states of all files.
#[derive(Debug)]
pub(crate) struct FileClaims {
    files: Box<[AtomicU8]>,
    /// Those of the directories that `mkdir` makes.
    extra: Box<[AtomicU8]>,
}

impl FileClaims {
    /// The states of a tree that was just made.
    pub(crate) fn new(tree: &FileTree) -> FileClaims {
        FileClaims::from_existing(tree, |file| tree.is_prefilled(file))
    }

    /// The states of a tree of which these files exist.
    pub(crate) fn from_existing(tree: &FileTree, exists: impl Fn(u32) -> bool) -> FileClaims {
        let state = |exists: bool| AtomicU8::new(exists as u8);
        let files = 0..tree.file_count() as u32;
        FileClaims {
            extra: files.clone().map(|_| state(false)).collect(),
            files: files.map(|file| state(exists(file))).collect(),
        }
    }

    fn state(&self, file: u32, extra: bool) -> &AtomicU8 {
        let states = if extra { &self.extra } else { &self.files };
        &states[file as usize]
    }

    /// Takes a file for the caller alone if it exists or not, as wanted.
    ///
    /// # Errors
    /// The state that it has instead.
    pub(crate) fn claim(&self, file: u32, extra: bool, present: bool) -> Result<FileState, FileState> {
        let place = self.state(file, extra);
        let state = STATES[usize::from(place.load(Ordering::Relaxed))];
        let fits = match state {
            FileState::Absent => !present,
            FileState::Present | FileState::Renamed => present,
            FileState::InUse | FileState::Lost => false,
        };
        if !fits {
            return Err(state);
        }
        // What the worker before has done to the file happened before what the caller does to it.
        let (from, to) = (state as u8, FileState::InUse as u8);
        match place.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(state),
            Err(_) => Err(FileState::InUse),
        }
    }

    /// Gives back a file, in the state that it has now.
    pub(crate) fn release(&self, file: u32, extra: bool, state: FileState) {
        self.state(file, extra).store(state as u8, Ordering::Release);
    }
}
