//! `preadv` and `pwritev`: adjacent requests of one submission to the same file become one call.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sleep::PreciseSleep;
use crate::sys::vectors::Vectors;
use crate::{Engine, File, Setup};

pub(crate) struct Vsync {
    files: Vec<File>,
    buffers: Buffers,
    vectors: Vectors,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Vsync {
    pub(crate) fn open(setup: Setup) -> Result<Vsync, EngineError> {
        Ok(Vsync {
            buffers: Buffers::new(&setup)?,
            vectors: Vectors::new(setup.submit_batch as usize),
            files: setup.files,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// The number of leading requests that one call can serve.
    fn contiguous_count(&self, requests: &[Request]) -> usize {
        let Some(first) = requests.first() else { return 0 };
        if !matches!(first.action, Action::Read | Action::Write) {
            return 1;
        }
        let mut end = first.offset;
        let contiguous = requests.iter().take(Vectors::MAX_BUFFERS).take_while(|next| {
            let contiguous = next.file == first.file && next.action == first.action && next.offset == end;
            end = next.offset + u64::from(next.length);
            contiguous
        });
        contiguous.count()
    }

    fn perform(&mut self, requests: &[Request]) -> i64 {
        let Some(first) = requests.first() else { return 0 };
        let file = &self.files[usize::from(first.file)];
        let Some(handle) = file.handle() else {
            return requests.iter().map(|io| i64::from(io.length)).sum();
        };
        if !matches!(first.action, Action::Read | Action::Write) {
            return file.flush_or_trim(first);
        }
        let mut call = self.vectors.start_call();
        for io in requests {
            // SAFETY: each slot has its own buffer in a mapping that does not move. Nothing else
            // uses the slots of a turn until the turn returns them, which is after the call below.
            unsafe { call.add(self.buffers.prefix(io.slot, io.length as usize)) };
        }
        match first.action {
            Action::Read => call.read_at(handle, first.offset),
            _ => call.write_at(handle, first.offset),
        }
    }
}

impl Engine for Vsync {
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submit_start = self.clock.now();
        batch.submitted = 0;
        if requests.is_empty() && wait_nr > 0 {
            self.sleep.sleep_until(until, &self.clock);
        }
        let mut merged = &requests[..self.contiguous_count(requests)];
        let mut result = self.perform(merged);
        if result < 0 && merged.len() > 1 {
            // The error may belong to any of the requests, so execute them separately.
            merged = &merged[..1];
            result = self.perform(merged);
        }
        batch.reap_time = self.clock.now();
        batch.submit_end = batch.reap_time;
        let mut bytes_left = result;
        for (number, io) in merged.iter().enumerate() {
            // After a short transfer, the caller offers the remaining requests again.
            if number > 0 && bytes_left <= 0 {
                break;
            }
            let transferred = bytes_left.min(i64::from(io.length));
            bytes_left -= transferred.max(0);
            batch.done.push(io.slot, transferred, batch.reap_time);
            batch.submitted += 1;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.get_mut(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = replacement;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Vsync,
            submit_batch: self.submit_batch,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
