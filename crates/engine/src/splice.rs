//! Reads and writes through a pipe, one at a time. Data moves from file to pipe without passing
//! through the program, and from memory to pipe without a copy if the kernel supports it.

use crate::batch::{Action, Request};
use crate::buffers::Buffers;
use crate::error::EngineError;
use crate::sync_calls::SyncCalls;
use crate::sys::{self, pipe::Pipe};
use crate::{File, Setup};

pub(crate) struct Splice {
    files: Vec<File>,
    buffers: Buffers,
    pipe: Pipe,
}

impl Splice {
    pub(crate) fn open(setup: Setup) -> Result<Splice, EngineError> {
        Ok(Splice {
            buffers: Buffers::new(&setup)?,
            pipe: Pipe::new()?,
            files: setup.files,
        })
    }
}

impl SyncCalls for Splice {
    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        let (slot, length) = (io.slot, io.length as usize);
        let result = match io.action {
            Action::Read => self
                .pipe
                .read_from(handle, self.buffers.prefix(slot, length), io.offset),
            Action::Write => self.pipe.write_to(handle, self.buffers.prefix(slot, length), io.offset),
            Action::Trim | Action::Flush | Action::FlushData | Action::FlushRange(_) => return file.flush_or_trim(io),
        };
        if result < 0 {
            // Data left in the pipe belongs to the failed operation, so use a new pipe.
            match Pipe::new() {
                Ok(pipe) => self.pipe = pipe,
                Err(error) => return -i64::from(error.errno().unwrap_or(sys::file::IO_ERROR)),
            }
        }
        result
    }

    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        Some((&mut self.files, &mut self.buffers))
    }
}
