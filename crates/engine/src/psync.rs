//! Positioned reads and writes, one at a time. Engine psync calls `pread` and `pwrite`; engine
//! pvsync2 calls `preadv2` and `pwritev2` with flags for each call (polling, nowait, uncached,
//! atomic).

use crate::batch::{Action, Request};
use crate::buffers::Buffers;
use crate::error::EngineError;
use crate::flags::CallFlags;
use crate::sync_calls::SyncCalls;
use crate::sys;
use crate::{File, Setup};

/// Engine psync, or pvsync2 if `FLAGS`: every call then passes `RWF_*` flags. The choice at compile
/// time saves a branch per operation.
pub(crate) struct Psync<const FLAGS: bool> {
    files: Vec<File>,
    buffers: Buffers,
    flags: CallFlags,
    poll: bool,
}

impl<const FLAGS: bool> Psync<FLAGS> {
    pub(crate) fn open(setup: Setup) -> Result<Psync<FLAGS>, EngineError> {
        let buffers = Buffers::new(&setup)?;
        Ok(Psync {
            files: setup.files,
            buffers,
            flags: CallFlags::new(&setup.choice),
            poll: setup.choice.poll,
        })
    }

    #[inline(never)]
    fn perform_general(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read | Action::Write => {
                let buffer = self.buffers.prefix(io.slot, io.length as usize);
                self.flags.transfer(handle, buffer, io)
            }
            _ => file.flush_or_trim(io),
        }
    }
}

impl<const FLAGS: bool> SyncCalls for Psync<FLAGS> {
    #[inline(always)]
    fn perform(&mut self, io: &Request) -> i64 {
        if FLAGS {
            return self.perform_general(io);
        }
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read => sys::file::read_at(handle, self.buffers.prefix(io.slot, io.length as usize), io.offset),
            Action::Write => sys::file::write_at(handle, self.buffers.prefix(io.slot, io.length as usize), io.offset),
            _ => self.perform_general(io),
        }
    }

    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        Some((&mut self.files, &mut self.buffers))
    }

    fn features(&self) -> Vec<String> {
        self.poll.then(|| "polled completion".to_owned()).into_iter().collect()
    }
}
