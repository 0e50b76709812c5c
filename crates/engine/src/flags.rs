//! Flags of single calls: polling, nowait, uncached, atomic writes.

use std::fs;

use model::plan::EngineChoice;

use crate::batch::{Action, Request};
use crate::sys;

/// Flags of `preadv2`, `pwritev2` and similar calls (`RWF_*`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallFlags {
    /// Flags of every read.
    pub(crate) read: u32,
    /// Flags of every write.
    pub(crate) write: u32,
    /// Percentage of operations that poll.
    poll_percent: u8,
    /// Percent accumulated since the last operation that polled.
    accumulated_percent: u8,
}

impl CallFlags {
    const POLL: u32 = 1;
    const NO_WAIT: u32 = 8;
    const ATOMIC: u32 = 0x40;
    const UNCACHED: u32 = 0x80;

    pub(crate) fn new(choice: &EngineChoice) -> CallFlags {
        let set = |enabled: bool, flag: u32| if enabled { flag } else { 0 };
        let flags = set(choice.no_wait, Self::NO_WAIT) | set(choice.uncached, Self::UNCACHED);
        CallFlags {
            read: flags,
            write: flags | set(choice.atomic, Self::ATOMIC),
            poll_percent: if choice.poll { choice.poll_percent.min(100) } else { 0 },
            accumulated_percent: 0,
        }
    }

    /// True if no call needs flags.
    pub(crate) fn are_empty(&self) -> bool {
        self.read | self.write == 0 && self.poll_percent == 0
    }

    /// Reads into the buffer or writes it. Returns bytes, or a negative error number.
    #[inline(always)]
    pub(crate) fn transfer(&mut self, file: &fs::File, buffer: &mut [u8], request: &Request) -> i64 {
        let poll = self.next_poll_flag();
        match request.action {
            Action::Read => sys::file::read_at_with_flags(file, buffer, request.offset, self.read | poll),
            _ => sys::file::write_at_with_flags(file, buffer, request.offset, self.write | poll),
        }
    }

    /// The polling flag for the next operation. Polled operations are spread evenly.
    fn next_poll_flag(&mut self) -> u32 {
        self.accumulated_percent += self.poll_percent;
        if self.accumulated_percent < 100 {
            return 0;
        }
        self.accumulated_percent -= 100;
        Self::POLL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_is_spread_over_the_calls() {
        for percent in [0, 1, 30, 100] {
            let mut flags = CallFlags::new(&EngineChoice {
                poll: true,
                poll_percent: percent,
                ..EngineChoice::default()
            });
            let polled = (0..1000).filter(|_| flags.next_poll_flag() == CallFlags::POLL).count();
            assert_eq!(polled, usize::from(percent) * 10);
        }
    }
}
