//! Writes a log during a job, with a line for every completed operation.

use model::operation_log::HEADER;
use model::trace::iolog::append_number;
use model::{Direction, Nanos};

use crate::line_log::{self, LogFormat};

/// A worker's writer.
pub(crate) type LogWriter = line_log::LogWriter<Line>;

/// A line of the log: one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// When it was reaped, as time since the start of the measured window.
    pub(crate) completed: Nanos,
    pub(crate) stream: u32,
    /// Absent for flushes.
    pub(crate) direction: Option<Direction>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Bytes transferred.
    pub(crate) moved: u32,
    /// Due → queued, if the operation was paced.
    pub(crate) schedule_delay: Option<Nanos>,
    /// Queued → issued.
    pub(crate) submission: Nanos,
    /// Queued → reaped.
    pub(crate) total: Nanos,
    /// Error number; 0 if it did not fail.
    pub(crate) error: i32,
}

/// The format of the operation log, which replaces the file.
pub(crate) fn log_format() -> LogFormat {
    LogFormat {
        name: "operation log",
        header: HEADER,
        ..LogFormat::default()
    }
}

impl line_log::Line for Line {
    const PLACEHOLDER: Line = Line {
        completed: Nanos(0),
        stream: 0,
        direction: None,
        offset: 0,
        length: 0,
        moved: 0,
        schedule_delay: None,
        submission: Nanos(0),
        total: Nanos(0),
        error: 0,
    };

    fn put(&self, worker: usize, _: &LogFormat, text: &mut Vec<u8>) {
        put(text, self.completed.0);
        put(text, worker as u64);
        put(text, u64::from(self.stream));
        text.extend_from_slice(self.direction.map_or("flush", Direction::word).as_bytes());
        text.push(b',');
        put(text, self.offset);
        put(text, u64::from(self.length));
        put(text, u64::from(self.moved));
        match self.schedule_delay {
            Some(delay) => put(text, delay.0),
            None => text.push(b','),
        }
        put(text, self.submission.0);
        put(text, self.total.0);
        if self.error != 0 {
            append_number(text, u64::from(self.error.unsigned_abs()));
        }
        text.push(b'\n');
    }
}

/// Appends a number and a comma.
fn put(text: &mut Vec<u8>, number: u64) {
    append_number(text, number);
    text.push(b',');
}
