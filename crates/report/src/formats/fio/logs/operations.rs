//! Logs with a line for each operation, converted from the operation log of a job.

use std::io::{self, BufRead, Write};

use model::operation_log::{HEADER, LoggedOperation};
use model::plan::Priority;

use super::{Entry, LogFile, LogKind, direction_number};

/// Writes several logs in one pass over the operation log, each to its own writer. All `files` must
/// belong to the same job and need operations.
///
/// Failed operations and flushes have no line, because results do not count them either.
///
/// # Errors
/// The log cannot be read, a writer fails, or the log is malformed (`InvalidData`).
pub fn write_operations<W: Write>(files: &mut [(LogFile, W)], log: &mut dyn BufRead) -> io::Result<()> {
    let mut line = String::new();
    log.read_line(&mut line)?;
    if line != HEADER {
        return Err(invalid_log("its first line is not the header of an operation log"));
    }
    loop {
        line.clear();
        if log.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let operation =
            LoggedOperation::parse(&line).ok_or_else(|| invalid_log(&format!("cannot parse the line `{line}`")))?;
        for (file, out) in files.iter_mut().filter(|(file, _)| file.includes_operation(&operation)) {
            if let Some(entry) = create_entry(file, &operation) {
                entry.write(file, out)?;
            }
        }
    }
}

fn invalid_log(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl LogFile<'_> {
    fn includes_operation(&self, operation: &LoggedOperation) -> bool {
        operation.worker as usize == self.source.worker_index && operation.counts() && !self.is_empty()
    }
}

fn create_entry(file: &LogFile, operation: &LoggedOperation) -> Option<Entry> {
    let value = match file.kind {
        LogKind::Bandwidth => kilobytes_per_second(operation),
        LogKind::Submission => operation.submission.0,
        LogKind::Completion => operation.completion().0,
        LogKind::Total => operation.total.0,
        LogKind::Iops => 1,
        LogKind::Histogram => return None,
    };
    Some(Entry {
        time_ms: operation.completed.0 / 1_000_000,
        value,
        maximum: None,
        direction: direction_number(operation.direction?),
        size: operation.moved,
        offset: operation.offset,
        priority: stream_priority(file, operation),
        // fio fills this column only for latencies that begin or end at the device.
        issued_ns: match file.kind {
            LogKind::Submission | LogKind::Completion => operation.issued().0,
            LogKind::Bandwidth | LogKind::Total | LogKind::Iops | LogKind::Histogram => 0,
        },
    })
}

/// The bandwidth of one operation: its size divided by its completion latency, rounded down. fio
/// uses units of 1000 bytes here, and KiB everywhere else.
fn kilobytes_per_second(operation: &LoggedOperation) -> u64 {
    let latency = operation.completion().0;
    (u64::from(operation.moved) * 1_000_000)
        .checked_div(latency)
        .unwrap_or(0)
}

/// The priority of the operation's stream, if all operations of that stream have it.
fn stream_priority(file: &LogFile, operation: &LoggedOperation) -> Option<Priority> {
    let stream = file.source.planned()?.streams.get(operation.stream as usize)?;
    stream.priority.filter(|priority| priority.percent >= 100)
}
