//! What single calls are asked for beside where and how much: polling, no waiting, no caching, no
//! tearing.

use model::plan::EngineChoice;

/// Flags of `preadv2`, `pwritev2` and their like (`RWF_*`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallFlags {
    /// Those of every read.
    pub(crate) read: u32,
    /// Those of every write.
    pub(crate) write: u32,
    /// Share of operations that are polled for, in percent.
    poll_percent: u8,
    /// Percent that have come together since the last such operation.
    sum: u8,
}

impl CallFlags {
    const POLL: u32 = 1;
    const NO_WAIT: u32 = 8;
    const ATOMIC: u32 = 0x40;
    const UNCACHED: u32 = 0x80;

    pub(crate) fn new(choice: &EngineChoice) -> CallFlags {
        let set = |asked: bool, flag: u32| if asked { flag } else { 0 };
        let both = set(choice.no_wait, Self::NO_WAIT) | set(choice.uncached, Self::UNCACHED);
        CallFlags {
            read: both,
            write: both | set(choice.atomic, Self::ATOMIC),
            poll_percent: if choice.poll { choice.poll_percent.min(100) } else { 0 },
            sum: 0,
        }
    }

    /// No call needs flags.
    pub(crate) fn are_empty(&self) -> bool {
        self.read | self.write == 0 && self.poll_percent == 0
    }

    /// The flag for polling, for as many of the operations as want it, evenly spread.
    pub(crate) fn poll(&mut self) -> u32 {
        self.sum += self.poll_percent;
        if self.sum < 100 {
            return 0;
        }
        self.sum -= 100;
        Self::POLL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_calls_polls() {
        for percent in [0, 1, 30, 100] {
            let mut flags = CallFlags::new(&EngineChoice {
                poll: true,
                poll_percent: percent,
                ..EngineChoice::default()
            });
            let polled = (0..1000).filter(|_| flags.poll() == CallFlags::POLL).count();
            assert_eq!(polled, usize::from(percent) * 10);
        }
    }
}
