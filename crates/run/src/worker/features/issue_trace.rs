//! The trace of the operations that a worker issues, for replay.

use engine::{Action, Request};
use model::plan::Job;
use model::trace::iolog;
use model::{Direction, Nanos};

use crate::issue_trace::Line;
pub(super) use crate::issue_trace::LogWriter;

/// The worker's writer for the trace of its job.
#[derive(Debug)]
pub(crate) struct IssueTrace {
    /// Attached before the worker starts.
    pub(super) log: Option<LogWriter>,
    /// Number of the target behind each file of the engine.
    targets: Vec<u32>,
    /// The origin of times.
    start: Nanos,
    /// Whether the log was full since the last check.
    pub(super) stalled: bool,
}

impl IssueTrace {
    /// `targets` has the target of each file of the engine.
    pub(crate) fn from_plan(job: &Job, targets: &[u32]) -> Option<IssueTrace> {
        job.trace.as_ref().map(|_| IssueTrace {
            log: None,
            targets: targets.to_vec(),
            start: Nanos(0),
            stalled: false,
        })
    }

    /// Records the files that are open at the start.
    pub(super) fn at_start(&mut self, open: &[u16], start: Nanos) {
        self.start = start;
        self.write_files(iolog::Action::Open, open, start);
    }

    /// Records the files that are open at the end.
    pub(super) fn at_end(&mut self, open: &[u16], now: Nanos) {
        self.write_files(iolog::Action::Close, open, now);
    }

    fn write_files(&mut self, action: iolog::Action, places: &[u16], at: Nanos) {
        let mut written: Vec<u32> = Vec::new();
        for place in places {
            // The same target may be open several times.
            let target = self.targets[usize::from(*place)];
            if !written.contains(&target) {
                written.push(target);
                self.write(at, *place, action, None);
            }
        }
    }

    /// Called when another target takes over this file index of the engine.
    pub(super) fn set_target(&mut self, place: u16, target: u32) {
        self.targets[usize::from(place)] = target;
    }

    /// Records a queued request.
    #[inline(never)]
    pub(crate) fn on_queued(&mut self, request: &Request, at: Nanos) {
        let action = match request.action {
            Action::Read => iolog::Action::Move(Direction::Read),
            Action::Write => iolog::Action::Move(Direction::Write),
            Action::Trim => iolog::Action::Move(Direction::Trim),
            Action::Flush => iolog::Action::Sync,
            Action::FlushData => iolog::Action::DataSync,
            // Traces cannot express it, so fio omits it.
            Action::FlushRange(_) => return,
        };
        self.write(at, request.file, action, Some((request.offset, request.length)));
    }

    pub(super) fn write(&mut self, at: Nanos, file: u16, action: iolog::Action, place: Option<(u64, u32)>) {
        let Some(log) = &mut self.log else { return };
        self.stalled |= log.write(Line {
            at: at.since(self.start),
            target: self.targets[usize::from(file)],
            action,
            place,
        });
    }
}
