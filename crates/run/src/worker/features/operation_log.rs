//! A line of the operation log for each operation that completes in the measured window.

use model::Nanos;
use model::plan::Job;

use super::EndedOperation;
use crate::operation_log::Line;
pub(super) use crate::operation_log::LogWriter;
use crate::worker::io_loop::IoLoop;

/// The worker's writer for the log of its job.
#[derive(Debug, Default)]
pub(crate) struct OperationLog {
    /// Attached before the worker starts.
    pub(super) log: Option<LogWriter>,
    /// The start of the measured window, while it lasts.
    pub(super) window_start: Option<Nanos>,
    /// Whether the log was full since the last check.
    pub(super) stalled: bool,
}

impl OperationLog {
    pub(crate) fn from_plan(job: &Job) -> Option<OperationLog> {
        job.operation_log.is_some().then(OperationLog::default)
    }

    pub(super) fn on_completed(&mut self, io: &IoLoop, ended: &EndedOperation, error: i32) {
        let (Some(log), Some(window_start)) = (&mut self.log, self.window_start) else {
            return;
        };
        let record = &ended.record;
        let paced = io.recorder.cells[record.key as u32 as usize].paced.is_some();
        self.stalled |= log.write(Line {
            completed: ended.at.since(window_start),
            stream: record.stream,
            direction: ended.direction,
            offset: record.offset,
            length: record.length,
            moved: ended.result.max(0) as u32,
            schedule_delay: paced.then(|| record.queued.since(record.due)),
            submission: record.issued.since(record.queued),
            total: ended.total(),
            error,
        });
    }
}
