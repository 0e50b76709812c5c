//! Locks of the files that a run changes. Two runs that write to one file at the same time measure
//! each other, which neither of them could otherwise notice.
//!
//! The lock is advisory: it stops only programs that ask for it. It belongs to a descriptor, so the
//! system releases it even if the process is killed.

use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use engine::{Identity, sys};

/// Files that this process has locked. A study runs several tests on one file, and a temporary file
/// has a lock of its own.
static HELD_LOCKS: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// A lock that lasts while the descriptor is open. Dropping this only forgets that it is ours.
#[derive(Debug)]
pub(crate) struct WriteLock(Identity);

/// Who else may write to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// No other process.
    Alone,
    /// The other processes of this test.
    WithPeers,
}

impl WriteLock {
    /// Locks an open file until it is closed. `None` if the file system has no locks.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process has locked it.
    pub(super) fn take(file: &fs::File, sharing: Sharing) -> io::Result<Option<WriteLock>> {
        let Some(identity) = sys::facts::open_file_identity(file) else {
            return Ok(None);
        };
        let mut held = HELD_LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contains(&identity) {
            match sys::file::try_lock_for_writing(file, sharing == Sharing::WithPeers) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => return Ok(None),
                Ok(()) => {}
            }
        }
        held.push(identity);
        Ok(Some(WriteLock(identity)))
    }

    /// Records that this process holds the lock of a file.
    pub(super) fn record_held(file: &fs::File) -> Option<WriteLock> {
        let identity = sys::facts::open_file_identity(file)?;
        HELD_LOCKS.lock().unwrap_or_else(PoisonError::into_inner).push(identity);
        Some(WriteLock(identity))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        let mut held = HELD_LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.iter().position(|identity| *identity == self.0) {
            held.swap_remove(place);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_other_processes_are_locked_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || fs::File::open(file.path()).unwrap();
        // A lock belongs to a descriptor, so this descriptor acts like another process.
        let stranger = open();
        sys::file::try_lock_for_writing(&stranger, false).unwrap();
        let (mine, second) = (open(), open());
        for sharing in [Sharing::Alone, Sharing::WithPeers] {
            let refused = WriteLock::take(&mine, sharing).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        }
        drop(stranger);
        let first = WriteLock::take(&mine, Sharing::Alone).unwrap();
        assert!(first.is_some() && WriteLock::take(&second, Sharing::Alone).unwrap().is_some());
        assert!(sys::file::try_lock_for_writing(&open(), false).is_err());
        drop((first, mine));
        let peer = open();
        sys::file::try_lock_for_writing(&peer, true).unwrap();
        assert!(WriteLock::take(&second, Sharing::WithPeers).unwrap().is_some());
    }
}
