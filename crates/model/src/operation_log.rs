//! The format of a log of single operations, from which other logs are derived. The log has a line
//! for each operation that ended in the measured window, with comma-separated columns. Times are in
//! nanoseconds.

use crate::direction::Direction;
use crate::units::Nanos;

/// The first line.
pub const HEADER: &str = "completed_ns,worker,stream,operation,offset,length,moved,schedule_delay_ns,submission_ns,\
                          total_ns,error\n";

/// A parsed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOperation {
    /// When it was reaped, from the start of the worker's measured window.
    pub completed: Nanos,
    /// Number of the worker in its job.
    pub worker: u32,
    /// Number of the stream in its worker.
    pub stream: u32,
    /// Absent for flushes.
    pub direction: Option<Direction>,
    /// First byte.
    pub offset: u64,
    /// Bytes requested.
    pub length: u32,
    /// Bytes transferred.
    pub moved: u32,
    /// Due → queued, if it was paced.
    pub schedule_delay: Option<Nanos>,
    /// Queued → issued.
    pub submission: Nanos,
    /// Queued → reaped.
    pub total: Nanos,
    /// Error number; 0 if it succeeded.
    pub error: i32,
}

impl LoggedOperation {
    /// Parses a line after the header. `None` if it is malformed.
    pub fn parse(line: &str) -> Option<LoggedOperation> {
        let mut columns = line.trim_end_matches('\n').split(',');
        let mut next = || columns.next();
        let operation = LoggedOperation {
            completed: Nanos(next()?.parse().ok()?),
            worker: next()?.parse().ok()?,
            stream: next()?.parse().ok()?,
            direction: direction(next()?)?,
            offset: next()?.parse().ok()?,
            length: next()?.parse().ok()?,
            moved: next()?.parse().ok()?,
            schedule_delay: optional(next()?)?.map(Nanos),
            submission: Nanos(next()?.parse().ok()?),
            total: Nanos(next()?.parse().ok()?),
            error: optional(next()?)?.unwrap_or(0) as i32,
        };
        next().is_none().then_some(operation)
    }

    /// Issued → reaped.
    pub fn completion(&self) -> Nanos {
        self.total.since(self.submission)
    }

    /// When it was issued, from the start of the measured window; 0 if earlier.
    pub fn issued(&self) -> Nanos {
        self.completed.since(self.completion())
    }

    /// True if it counts among the operations of its direction.
    pub fn counts(&self) -> bool {
        self.direction.is_some() && self.error == 0 && self.moved > 0
    }
}

fn direction(word: &str) -> Option<Option<Direction>> {
    let direction = Direction::ALL.into_iter().find(|direction| direction.word() == word);
    match word {
        "flush" => Some(None),
        _ => direction.map(Some),
    }
}

/// An optional number.
fn optional(text: &str) -> Option<Option<u64>> {
    match text {
        "" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_parsed() {
        let read = LoggedOperation {
            completed: Nanos(5_000_000),
            worker: 2,
            stream: 1,
            direction: Some(Direction::Write),
            offset: 8192,
            length: 4096,
            moved: 2048,
            schedule_delay: Some(Nanos(7)),
            submission: Nanos(100),
            total: Nanos(1100),
            error: 0,
        };
        assert_eq!(
            LoggedOperation::parse("5000000,2,1,write,8192,4096,2048,7,100,1100,\n"),
            Some(read)
        );
        assert_eq!((read.completion(), read.issued()), (Nanos(1000), Nanos(4_999_000)));
        assert!(read.counts());
        let flush = LoggedOperation::parse("5,0,0,flush,0,0,0,,0,9,").unwrap();
        assert_eq!((flush.direction, flush.schedule_delay), (None, None));
        assert_eq!(flush.issued(), Nanos(0), "it was issued before the window began");
        assert!(!flush.counts());
        let failed = LoggedOperation::parse("5,0,0,read,0,4096,0,,0,9,110").unwrap();
        assert_eq!(failed.error, 110);
        assert!(!failed.counts());
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            HEADER,
            "5,0,0,read,0,4096,4096,,0,9",
            "5,0,0,read,0,4096,4096,,0,9,,",
            "5,0,0,erase,0,4096,4096,,0,9,",
            "5,0,0,read,0,4096,4096,,0,,",
        ] {
            assert_eq!(LoggedOperation::parse(line), None, "{line}");
        }
    }
}
