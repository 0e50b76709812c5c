//! Allocates and frees space instead of transferring data, one range at a time. A read allocates
//! without changing the size of the file, a write allocates and may extend it, a trim punches a
//! hole.

use model::plan::EngineKind;

use crate::batch::{Action, Request};
use crate::buffers::Buffers;
use crate::error::EngineError;
use crate::file::FileKind;
use crate::sync_calls::SyncCalls;
use crate::sys;
use crate::{File, Setup};

pub(crate) struct Falloc {
    files: Vec<File>,
    /// Never written; callers fill a buffer before each write.
    buffers: Buffers,
}

impl Falloc {
    pub(crate) fn open(setup: Setup) -> Result<Falloc, EngineError> {
        let is_unsupported = |file: &&File| !matches!(file.kind(), FileKind::Regular | FileKind::Nothing);
        if let Some(file) = setup.files.iter().find(is_unsupported) {
            return Err(EngineError::unavailable(
                EngineKind::Falloc,
                format!(
                    "cannot allocate space in {}: it is not a regular file",
                    file.path().display()
                ),
                "name a regular file",
            ));
        }
        Ok(Falloc {
            buffers: Buffers::new(&setup)?,
            files: setup.files,
        })
    }
}

impl SyncCalls for Falloc {
    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read => sys::file::allocate_range(handle, io.offset, u64::from(io.length), true),
            Action::Write => sys::file::allocate_range(handle, io.offset, u64::from(io.length), false),
            _ => file.flush_or_trim(io),
        }
    }

    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        Some((&mut self.files, &mut self.buffers))
    }
}
