//! Operations that are looked at one by one when they have ended: where one may have taken too long, is logged, or issues
//! the next by itself. Workers that want nothing of this never come here.

use engine::{Slot, sys};
use model::event::Phase;
use model::results::{FailedOperation, Failure, TooSlow};
use model::{Bytes, Direction, Nanos};

use crate::operation_log::{Line, LogWriter};
use crate::worker::Worker;
use crate::worker::recorder::{Run, SlotRecord};

impl Worker<'_> {
    /// Lets the worker log its operations. For jobs that have a log.
    pub(crate) fn attach_operation_log(&mut self, log: LogWriter) {
        debug_assert!(self.features.careful, "a job with a log is careful from the start");
        self.features.log = Some(log);
    }

    /// Counts what a turn has brought and frees its slots, one operation after the other.
    #[inline(never)]
    pub(crate) fn reap_each(&mut self) {
        let reaped = self.io.batch.reaped;
        for index in 0..self.io.batch.done.len() {
            let completion = self.io.batch.done[index];
            let pool = self.io.slots.get(completion.slot).pool as usize;
            self.reap_with_features(completion.slot, completion.result, reaped);
            self.io.pools[pool].give_back(completion.slot);
            if self.io.batching.options.completion_routines && self.lifecycle.timeline.phase() != Phase::Draining {
                // The slot just freed is the one that is used next.
                self.io.round = self.io.round.wrapping_add(1);
                self.issue_from(pool);
            }
        }
        self.after_reaping(reaped);
    }

    /// Counts what the turn that has just ended waited for. To be called before its operations are reaped.
    #[inline(never)]
    pub(crate) fn count_wait(&mut self, at_least: u32, until: Nanos) {
        let ended = self.io.batch.done.len();
        let waits = &mut self.io.recorder.waits;
        if at_least == 0 {
            waits.looks += 1;
            waits.completions_per_look[ended.min(7)] += 1;
        } else if self.io.in_flight + self.io.batch.submitted == 0 {
            waits.slept += 1;
        } else if self.io.one_at_a_time {
            // Each call waits for its own operation; that is no wait for a queue.
        } else if until == Nanos::NEVER {
            waits.completion += 1;
        } else {
            waits.throttled += 1;
        }
    }

    /// Counts one operation.
    pub(crate) fn reap_with_features(&mut self, slot: Slot, result: i64, at: Nanos) {
        let record = *self.io.slots.get(slot);
        let direction = self.direction_of(&record);
        let total = at.since(record.queued);
        let policy = &self.context.plan.streams[record.stream as usize].on_error;
        let most = direction.and_then(|direction| policy.latency_ns_max[direction]);
        let too_slow = most.filter(|most| result >= 0 && total > *most);
        let error = match too_slow {
            Some(_) => sys::file::TIMED_OUT,
            None => (-result).max(0) as i32,
        };
        if let Some(overlap) = &mut self.features.overlap {
            overlap.ended(slot);
        }
        if let (Some(lives), Some(direction)) = (&mut self.io.streams[record.stream as usize].lives, direction) {
            lives.ended(direction, record.offset, (result, record.length));
        }
        let timed = !self.features.works_on_names || record.offset == 0;
        if timed {
            self.log(&record, direction, result, error, at);
        }
        if let Some(most_ns) = too_slow {
            let took_ns = total;
            self.reap_too_slow(slot, direction, TooSlow { took_ns, most_ns }, (result, at));
        } else if !timed {
            self.io.recorder.count_untimed(record.key as u32, record.length);
        } else if result == i64::from(record.length) {
            let mut run = Run::starting_with(&record);
            (run.operations, run.bytes) = (1, u64::from(record.length));
            self.io.recorder.count(&run, at);
            if self.features.prioritised {
                self.count_by_priority(&record, direction, run, at);
            }
        } else {
            self.reap_exception(slot, result, at);
        }
        let cycles = self.context.plan.streams[record.stream as usize]
            .think
            .map_or(0, |think| think.cycles_each);
        if cycles > 0 && direction.is_some() {
            engine::clock::spin_cycles(cycles);
            // That is no operation's time.
            self.features.stalled_on_log = true;
        }
        // A mismatch may end the worker; the operation itself has been counted by then.
        if self.features.verifies {
            self.verify_ended(slot, &record, result);
        }
    }

    /// Counts an operation with those that have its I/O priority too.
    #[inline(never)]
    fn count_by_priority(&mut self, record: &SlotRecord, direction: Option<Direction>, mut run: Run, at: Nanos) {
        let priority = self.features.priorities_of_files[usize::from(record.file)];
        let of_stream = &self.io.streams[record.stream as usize].priorities;
        let cell = direction
            .zip(of_stream.as_ref())
            .and_then(|(direction, of_stream)| of_stream.cell(direction, priority));
        if let Some(cell) = cell {
            run.key = u64::from(cell);
            self.io.recorder.count(&run, at);
        }
    }

    /// Keeps a line of an operation that ended in the measured window.
    fn log(&mut self, record: &SlotRecord, direction: Option<Direction>, result: i64, error: i32, at: Nanos) {
        let Some(log) = &mut self.features.log else { return };
        if self.lifecycle.timeline.phase() != Phase::Measured {
            return;
        }
        let paced = self.io.recorder.cells[record.key as u32 as usize].paced.is_some();
        self.features.stalled_on_log |= log.write(Line {
            completed: at.since(self.lifecycle.measured.start),
            stream: record.stream,
            direction,
            offset: record.offset,
            length: record.length,
            moved: result.max(0) as u32,
            schedule_delay: paced.then(|| record.queued.since(record.due)),
            submission: record.issued.since(record.queued),
            total: at.since(record.queued),
            error,
        });
    }

    /// An operation that took longer than it may has failed, whatever it brought. The one that ends the worker is counted all
    /// the same: its data were moved.
    #[cold]
    fn reap_too_slow(
        &mut self,
        slot: Slot,
        direction: Option<Direction>,
        too_slow: TooSlow,
        (moved, at): (i64, Nanos),
    ) {
        let record = *self.io.slots.get(slot);
        if self.tolerates(slot, &record, direction, sys::file::TIMED_OUT) {
            return;
        }
        let mut run = Run::starting_with(&record);
        (run.operations, run.bytes) = (1, moved as u64);
        self.io.recorder.count(&run, at);
        let TooSlow { took_ns, most_ns } = too_slow;
        let verb = direction.map_or("flush", Direction::word);
        let path = self.io.errors.files[usize::from(record.file)].0.clone();
        self.fail(Failure {
            what: format!("a {verb} took {took_ns}, longer than the {most_ns} that it may take"),
            at: format!("{path}, {} bytes at offset {}", record.length, record.offset),
            errno: Some(sys::file::TIMED_OUT),
            operation: direction.map(|direction| FailedOperation {
                slot: slot.0,
                stream: record.stream,
                direction,
                path,
                offset: Bytes(record.offset),
                length: record.length,
                too_slow: Some(too_slow),
            }),
            help: None,
        });
    }
}
