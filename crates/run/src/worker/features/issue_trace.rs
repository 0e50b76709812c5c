//! What a worker issues, written down so that it can be repeated. Workers that want nothing of this only ask whether they do.

use engine::Action;
use model::Nanos;
use model::trace::iolog;

use crate::issue_trace::{Line, LogWriter};
use crate::worker::Worker;

/// A trace on its way out.
#[derive(Debug)]
pub(crate) struct Tracing {
    log: LogWriter,
    /// Number of the target behind each file of the engine.
    targets: Vec<u32>,
    /// Times count from here.
    start: Nanos,
}

impl Worker<'_> {
    /// Has the worker write down what it issues. `targets` are those of the files of its engine.
    pub(crate) fn attach_issue_trace(&mut self, log: LogWriter) {
        debug_assert!(self.features.careful, "a job that is traced is careful from the start");
        self.features.tracing = Some(Box::new(Tracing {
            log,
            targets: std::mem::take(&mut self.features.targets_of_files),
            start: Nanos(0),
        }));
    }

    /// The files that are open from the start.
    pub(crate) fn begin_trace(&mut self, start: Nanos) {
        let Some(tracing) = &mut self.features.tracing else {
            return;
        };
        tracing.start = start;
        // Those of a trace are opened where it says so.
        if self.io.streams.iter().all(|stream| stream.replay.is_none()) {
            self.trace_files(iolog::Action::Open, start);
        }
    }

    /// The files that are open to the end.
    pub(crate) fn end_trace(&mut self) {
        if self.features.tracing.is_none() {
            return;
        }
        let now = self.io.engine.now();
        self.trace_files(iolog::Action::Close, now);
    }

    fn trace_files(&mut self, action: iolog::Action, at: Nanos) {
        let mut open: Vec<u16> = (0..self.io.streams.len())
            .flat_map(|number| self.open_files_of(number))
            .collect();
        open.sort_unstable();
        open.dedup();
        let Some(tracing) = &mut self.features.tracing else {
            return;
        };
        let mut told: Vec<u32> = Vec::new();
        for place in open {
            // The same target may be open in several ways.
            let target = tracing.targets[usize::from(place)];
            if !told.contains(&target) {
                told.push(target);
                self.features.stalled_on_log |= tracing.write(at, target, action, None);
            }
        }
    }

    /// A file was opened in this place of the engine while the worker runs.
    pub(crate) fn trace_opened(&mut self, place: u16) {
        self.trace_file(place, iolog::Action::Open);
    }

    /// The file in this place of the engine was closed.
    pub(crate) fn trace_closed(&mut self, place: u16) {
        self.trace_file(place, iolog::Action::Close);
    }

    fn trace_file(&mut self, place: u16, action: iolog::Action) {
        let at = self.io.batch.reaped;
        let Some(tracing) = &mut self.features.tracing else {
            return;
        };
        let target = tracing.targets[usize::from(place)];
        self.features.stalled_on_log |= tracing.write(at, target, action, None);
    }

    /// Another target takes this place of the engine.
    pub(crate) fn trace_takes_place(&mut self, place: u16, target: u32) {
        if let Some(tracing) = &mut self.features.tracing {
            tracing.targets[usize::from(place)] = target;
        }
    }

    /// An operation was queued, or a flush, whose length is 0.
    #[inline(never)]
    pub(crate) fn trace_queued(&mut self, place: u16, action: Action, offset: u64, length: u32) {
        let at = self.io.batch.reaped;
        let Some(tracing) = &mut self.features.tracing else {
            return;
        };
        let word = match action {
            Action::Read => iolog::Action::Move(model::Direction::Read),
            Action::Write => iolog::Action::Move(model::Direction::Write),
            Action::Trim => iolog::Action::Move(model::Direction::Trim),
            Action::Flush => iolog::Action::Sync,
            Action::FlushData => iolog::Action::DataSync,
            // No trace has a word for it, and fio leaves it out.
            Action::FlushRange(_) => return,
        };
        let target = tracing.targets[usize::from(place)];
        self.features.stalled_on_log |= tracing.write(at, target, word, Some((offset, length)));
    }
}

impl Tracing {
    fn write(&mut self, at: Nanos, target: u32, action: iolog::Action, place: Option<(u64, u32)>) -> bool {
        self.log.write(Line {
            at: at.since(self.start),
            target,
            action,
            place,
        })
    }
}
