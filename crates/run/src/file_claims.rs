//! Which files of a tree exist, and which of them a worker uses now. The workers of all jobs on the
//! tree share this: two of them work on the same file only where both share it.

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

/// Bytes from here on are a number of workers that share a file, which is present.
const SHARED_BY_ONE: u8 = STATES.len() as u8;

fn state_from(byte: u8) -> FileState {
    STATES.get(usize::from(byte)).copied().unwrap_or(FileState::InUse)
}

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

    /// The states of a tree whose directories do not exist: no file can be made or used.
    pub(crate) fn without_directories(tree: &FileTree) -> FileClaims {
        let lost = || (0..tree.file_count()).map(|_| AtomicU8::new(FileState::Lost as u8));
        FileClaims {
            files: lost().collect(),
            extra: lost().collect(),
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
        let state = state_from(place.load(Ordering::Relaxed));
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

    /// Takes a present file beside others that share it.
    ///
    /// # Errors
    /// The state that it has instead.
    pub(crate) fn share(&self, file: u32) -> Result<FileState, FileState> {
        let next = |byte: u8| match byte {
            byte if byte == FileState::Present as u8 => Some(SHARED_BY_ONE),
            byte if byte >= SHARED_BY_ONE => byte.checked_add(1),
            _ => None,
        };
        let place = self.state(file, false);
        match place.fetch_update(Ordering::Acquire, Ordering::Relaxed, next) {
            Ok(_) => Ok(FileState::Present),
            Err(byte) => Err(state_from(byte)),
        }
    }

    /// Gives back a shared file.
    pub(crate) fn unshare(&self, file: u32) {
        let next = |byte: u8| match byte {
            SHARED_BY_ONE => Some(FileState::Present as u8),
            byte => Some(byte - 1),
        };
        let place = self.state(file, false);
        // The closure gives a value for each byte, so this does not fail.
        let _ = place.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// Gives back a file, in the state that it has now.
    pub(crate) fn release(&self, file: u32, extra: bool, state: FileState) {
        self.state(file, extra).store(state as u8, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use model::Bytes;
    use model::block_size::BlockSizes;

    use super::*;

    fn tree(files: u32) -> FileTree {
        FileTree {
            depth: 0,
            width: 1,
            files_per_directory: files,
            sizes: BlockSizes::Fixed { size: Bytes(1) },
            prefill: 100,
            seed: 0,
            kept: None,
        }
    }

    #[test]
    fn a_shared_file_is_free_again_when_the_last_worker_gives_it_back() {
        let claims = FileClaims::from_existing(&tree(2), |file| file == 0);
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
    fn more_workers_than_a_byte_counts_wait() {
        let claims = FileClaims::new(&tree(1));
        let taken = (0..300).take_while(|_| claims.share(0).is_ok()).count();
        assert_eq!(taken, usize::from(u8::MAX - SHARED_BY_ONE) + 1);
        (0..taken).for_each(|_| claims.unshare(0));
        assert_eq!(claims.claim(0, false, true), Ok(FileState::Present));
    }
}
