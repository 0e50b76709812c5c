//! Positioned reads and writes, one at a time: `pread`/`pwrite`, or `preadv2`/`pwritev2` where polling is wanted.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys;
use crate::{Engine, File, Setup};

pub(crate) struct Psync {
    files: Vec<File>,
    buffers: Buffers,
    with_flags: bool,
    flags: CallFlags,
    poll: bool,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Psync {
    pub(crate) fn open(setup: Setup) -> Result<Psync, EngineError> {
        let with_flags = setup.choice.kind == EngineKind::Pvsync2;
        let buffers = Buffers::new(&setup)?;
        Ok(Psync {
            files: setup.files,
            buffers,
            with_flags,
            flags: CallFlags::new(&setup.choice),
            poll: setup.choice.poll,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read => sys::file::read_at(handle, self.buffers.of(io.slot, io.length as usize), io.offset),
            Action::Write => sys::file::write_at(handle, self.buffers.of(io.slot, io.length as usize), io.offset),
            _ => self.perform_other(io),
        }
    }

    #[inline(never)]
    fn perform_other(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read => {
                let buffer = self.buffers.of(io.slot, io.length as usize);
                sys::file::read_at_with_flags(handle, buffer, io.offset, self.flags.read | self.flags.poll())
            }
            Action::Write => {
                let buffer = self.buffers.of(io.slot, io.length as usize);
                sys::file::write_at_with_flags(handle, buffer, io.offset, self.flags.write | self.flags.poll())
            }
            _ => file.without_buffer(io),
        }
    }
}

impl Psync {
    #[inline(always)]
    fn one_after_the_other(
        &mut self,
        requests: &[Request],
        until: Nanos,
        done: &mut Batch,
        perform: impl Fn(&mut Psync, &Request) -> i64,
    ) {
        let mut last = done.reaped;
        done.done.in_turn(requests, |request| {
            let result = perform(self, request);
            last = self.clock.now();
            (
                Completion {
                    slot: request.slot,
                    result,
                    at: last,
                },
                last < until,
            )
        });
        done.reaped = last;
    }
}

impl Engine for Psync {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = if done.chained { done.reaped } else { self.clock.now() };
        if requests.is_empty() {
            if at_least > 0 {
                self.sleep.until(until, &self.clock);
            }
            done.reaped = self.clock.now();
        }
        if self.with_flags {
            self.one_after_the_other(requests, until, done, Psync::perform_other);
        } else {
            self.one_after_the_other(requests, until, done, Psync::perform);
        }
        done.submitted = done.done.len() as u32;
        done.returned = done.reaped;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.whole(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = with;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        let kind = if self.with_flags {
            EngineKind::Pvsync2
        } else {
            EngineKind::Psync
        };
        let features = if self.poll {
            vec!["polled completion".into()]
        } else {
            Vec::new()
        };
        EngineUsed {
            kind,
            features,
            submit_batch: 1,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
