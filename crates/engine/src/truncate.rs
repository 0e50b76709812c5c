//! Truncates and extends files instead of writing them: a write makes its offset the end of the
//! file.

use crate::batch::{Action, Request};
use crate::buffers::Buffers;
use crate::error::{EngineError, operation_result};
use crate::sync_calls::SyncCalls;
use crate::sys;
use crate::{File, Setup};

pub(crate) struct Truncate {
    files: Vec<File>,
    /// Never written; callers fill a buffer before each write.
    buffers: Buffers,
}

impl Truncate {
    pub(crate) fn open(setup: Setup) -> Result<Truncate, EngineError> {
        Ok(Truncate {
            buffers: Buffers::new(&setup)?,
            files: setup.files,
        })
    }
}

impl SyncCalls for Truncate {
    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        match (io.action, file.handle()) {
            (_, None) => i64::from(io.length),
            (Action::Write, Some(handle)) => match handle.set_len(io.offset) {
                Ok(()) => i64::from(io.length),
                Err(error) => operation_result(&error),
            },
            // As in fio, no other operation is supported here, not even flushes.
            (Action::Read | Action::Trim | Action::Flush | Action::FlushData | Action::FlushRange(_), Some(_)) => {
                -i64::from(sys::file::INVALID)
            }
        }
    }

    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        Some((&mut self.files, &mut self.buffers))
    }
}
