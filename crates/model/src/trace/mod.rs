//! Traces: recorded operations with their times, which a run writes and a replay reads. The formats
//! are fio's text (versions 2 and 3) and blktrace's binary records. A trace may exceed memory, so
//! it is read in pieces. The survey and the replay use the same reader.

pub mod blktrace;
pub mod iolog;

mod feed;
mod merge;
mod survey;

use std::collections::HashMap;

pub use feed::Feed;
pub use merge::{MergeError, MergeInput, merge};
pub use survey::{Extremes, Survey};

use crate::direction::Direction;
use crate::plan::{Replay, TraceForm};
use crate::sequence::Operation;
use crate::units::Nanos;

/// An entry of a trace, prepared for replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number of its file in [`Replay::files`].
    pub file: u32,
    /// What the entry does with the file.
    pub what: EntryAction,
    /// The time since the previous entry.
    pub gap: Nanos,
}

/// The action of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// Data is moved or trimmed.
    Move(Operation),
    /// A flush.
    Flush {
        /// A data flush (`fdatasync`).
        data_only: bool,
    },
    /// The file is opened.
    Open,
    /// The file is closed.
    Close,
    /// A wait until this time since the start.
    WaitUntil(Nanos),
}

/// Why reading a trace failed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system's error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The trace ends before its first line, or within a record.
    #[error("it is empty")]
    Empty,
    /// The first line has an unknown version.
    #[error("its first line names neither version 2 nor version 3 of fio's form")]
    Version,
    /// A line that is too long.
    #[error("line {line} is longer than {max} bytes")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The maximum length.
        max: usize,
    },
    /// A file that no earlier line added.
    #[error("line {line} names {name}, which no line before has added")]
    Unknown {
        /// Number of the line or record, from 1.
        line: u64,
        /// Name of the file that the line uses.
        name: String,
    },
    /// A file that is not open.
    #[error("line {line} uses {name}, which is not open there")]
    NotOpen {
        /// Number of the line, from 1.
        line: u64,
        /// Name of the file that is not open.
        name: String,
    },
    /// A record without blktrace's magic number.
    #[error("record {record} is not a blktrace record, or has another version")]
    Record {
        /// Its number, from 1.
        record: u64,
    },
    /// The trace has changed since the survey.
    #[error("{0} was not there when the trace was first looked at")]
    Changed(String),
}

/// Parses the bytes of a trace into entries.
#[derive(Clone, Debug)]
pub struct Reader {
    form: TraceForm,
    names: Names,
    times: Times,
    scale: u64,
    align: u64,
    skip: crate::plan::TraceSkip,
    /// Lines or records so far.
    line: u64,
    version: iolog::Version,
    /// Queued and completed requests, if the trace has them.
    depth: blktrace::Depth,
}

/// The files of a trace.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The open count of each.
    open: Vec<u32>,
    /// The files added so far.
    added: Vec<bool>,
    /// All of them map to the first.
    redirected: bool,
    /// New names are accepted.
    collects: bool,
}

/// The times of a trace, scaled for the replay.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// The time of the previous entry.
    last: u64,
    /// Whether times are respected.
    count: bool,
    /// How much faster than recorded, in percent.
    speed_percent: u64,
}

impl Times {
    /// The time since the previous entry. As in fio, it is 0 for the first entry with a time and
    /// for decreasing times.
    fn next_gap(&mut self, time_ns: u64) -> Nanos {
        let last = std::mem::replace(&mut self.last, time_ns);
        if last == 0 || !self.count || time_ns < last {
            return Nanos(0);
        }
        let scaled = u128::from(time_ns - last) * 100 / u128::from(self.speed_percent.max(1));
        Nanos(scaled.try_into().unwrap_or(u64::MAX))
    }
}

impl Names {
    /// Adds a name and returns its number. `None` if it is new and new names are not accepted.
    fn add(&mut self, name: &str) -> Option<u32> {
        if self.redirected {
            self.added[0] = true;
            return Some(0);
        }
        if let Some(number) = self.numbers.get(name) {
            self.added[*number as usize] = true;
            return Some(*number);
        }
        if !self.collects {
            return None;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.open.push(0);
        self.added.push(true);
        Some(number)
    }

    fn find(&self, name: &str) -> Option<u32> {
        let number = if self.redirected { 0 } else { *self.numbers.get(name)? };
        self.added[number as usize].then_some(number)
    }
}

impl Reader {
    /// A reader for the beginning of a trace, with the files that the replay names.
    pub fn new(replay: &Replay) -> Reader {
        let list = replay.files.clone();
        let numbers = list.iter().zip(0..).map(|(name, number)| (name.clone(), number));
        Reader {
            form: replay.form,
            times: Times {
                last: 0,
                count: !replay.without_times,
                speed_percent: u64::from(replay.speed_percent),
            },
            scale: u64::from(replay.scale.max(1)),
            align: u64::from(replay.align),
            skip: replay.skip,
            line: 0,
            version: iolog::Version::NotYetRead,
            depth: blktrace::Depth::default(),
            names: Names {
                numbers: numbers.collect(),
                open: vec![0; list.len()],
                added: vec![false; list.len()],
                redirected: replay.redirected,
                collects: false,
                list,
            },
        }
    }

    /// A reader that collects the files of a trace.
    pub(crate) fn collecting(replay: &Replay) -> Reader {
        let mut reader = Reader::new(replay);
        reader.names.collects = true;
        reader
    }

    /// Parses the complete lines or records in `bytes`, and returns their length. Remarks are fio's
    /// messages about skipped lines.
    ///
    /// # Errors
    /// [`TraceError`] if the trace cannot be read further.
    pub fn read(
        &mut self,
        bytes: &[u8],
        ended: bool,
        entries: &mut Vec<Entry>,
        notes: &mut Vec<String>,
    ) -> Result<usize, TraceError> {
        match self.form {
            TraceForm::FioText => self.read_lines(bytes, ended, entries, notes),
            TraceForm::Blktrace { swapped } => self.read_records(bytes, swapped, entries, notes),
        }
    }

    /// Converts a position in the trace to one in the replay.
    fn position(&self, offset: u64) -> u64 {
        let scaled = offset / self.scale;
        match self.align {
            0 => scaled,
            align => scaled & !(align - 1),
        }
    }

    /// The entry of a transfer; `None` if it is empty or skipped.
    fn transfer_entry(&self, direction: Direction, offset: u64, length: u32) -> Option<EntryAction> {
        let left_out = match direction {
            Direction::Read => self.skip.reads,
            Direction::Write => self.skip.writes,
            Direction::Trim => self.skip.trims,
        };
        (!left_out && length > 0).then(|| EntryAction::Move(Operation::new(direction, self.position(offset), length)))
    }
}

#[cfg(test)]
mod tests;
