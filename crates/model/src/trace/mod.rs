//! Traces: operations that are written down one by one, with their times. What a run writes so that
//! it can be repeated, and what a run that repeats one reads again.
//!
//! The forms are fio's text (versions 2 and 3) and the binary records of blktrace. A trace may be
//! larger than memory: it is read in pieces, by the same reader for a look at what is in it and for
//! carrying it out.

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

/// One entry of a trace, as a replay wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the file that it is about, in [`Replay::files`].
    pub file: u32,
    /// What is done.
    pub what: What,
    /// How long after the entry before it.
    pub gap: Nanos,
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Data is moved or trimmed.
    Move(Operation),
    /// Written data is made stable.
    Flush {
        /// Without metadata that is not needed to read it.
        data_only: bool,
    },
    /// The file is opened.
    Open,
    /// The file is closed.
    Close,
    /// Nothing more happens before so much time has passed since the start.
    WaitUntil(Nanos),
}

/// Why a trace cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system's error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It ends before its first line, or with a part of a record.
    #[error("it is empty")]
    Empty,
    /// The first line names no version that is known.
    #[error("its first line names neither version 2 nor version 3 of fio's form")]
    Version,
    /// A line without end.
    #[error("line {line} is longer than {most} bytes")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The longest that is read.
        most: usize,
    },
    /// A file that no line before has added.
    #[error("line {line} names {name}, which no line before has added")]
    Unknown {
        /// Number of the line or record, from 1.
        line: u64,
        /// The file.
        name: String,
    },
    /// A file that is not open.
    #[error("line {line} uses {name}, which is not open there")]
    NotOpen {
        /// Number of the line, from 1.
        line: u64,
        /// The file.
        name: String,
    },
    /// A record that does not begin as records of blktrace do.
    #[error("record {record} is not a record of blktrace, or is of another version")]
    Record {
        /// Its number, from 1.
        record: u64,
    },
    /// The trace has changed since it was looked at.
    #[error("{0} was not there when the trace was first looked at")]
    Changed(String),
}

/// What turns the bytes of a trace into entries.
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
    /// Queued and completed requests, where the trace tells of them.
    depth: blktrace::Depth,
}

/// The files of a trace.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
    /// How often each is open.
    open: Vec<u32>,
    /// Files of the trace that were added so far.
    added: Vec<bool>,
    /// All of them are the first.
    redirected: bool,
    /// New names are taken up.
    collects: bool,
}

/// The times of a trace, as a replay wants them.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// That of the entry before.
    last: u64,
    /// They count.
    count: bool,
    /// How much faster than recorded, in percent.
    speed_percent: u64,
}

impl Times {
    /// The time from the entry before to this one. The first that has a time waits for nothing, and
    /// times that go back count as none, as in fio.
    fn gap(&mut self, time_ns: u64) -> Nanos {
        let last = std::mem::replace(&mut self.last, time_ns);
        if last == 0 || !self.count || time_ns < last {
            return Nanos(0);
        }
        let scaled = u128::from(time_ns - last) * 100 / u128::from(self.speed_percent.max(1));
        Nanos(scaled.try_into().unwrap_or(u64::MAX))
    }
}

impl Names {
    /// Takes up a name. `None` if it is new and none may be.
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
    /// A reader from the beginning of a trace, which knows the files that the replay names.
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
            version: iolog::Version::Unknown,
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

    /// The same for a trace whose files are not known yet: they are collected.
    pub(crate) fn collecting(replay: &Replay) -> Reader {
        let mut reader = Reader::new(replay);
        reader.names.collects = true;
        reader
    }

    /// Reads what is whole of `bytes`. Returns how many of them that was. Remarks are what fio says
    /// of lines that it leaves out.
    ///
    /// # Errors
    /// [`TraceError`] if there is no going on.
    pub fn read(
        &mut self,
        bytes: &[u8],
        ended: bool,
        entries: &mut Vec<Entry>,
        remarks: &mut Vec<String>,
    ) -> Result<usize, TraceError> {
        match self.form {
            TraceForm::FioText => self.read_lines(bytes, ended, entries, remarks),
            TraceForm::Blktrace { swapped } => self.read_records(bytes, swapped, entries, remarks),
        }
    }

    /// The position that a replay uses for one in the trace.
    fn position(&self, offset: u64) -> u64 {
        let scaled = offset / self.scale;
        match self.align {
            0 => scaled,
            align => scaled & !(align - 1),
        }
    }

    /// The entry that moves data, unless there is none to move or it is left out.
    fn move_of(&self, direction: Direction, offset: u64, length: u32) -> Option<What> {
        let left_out = match direction {
            Direction::Read => self.skip.reads,
            Direction::Write => self.skip.writes,
            Direction::Trim => self.skip.trims,
        };
        (!left_out && length > 0).then(|| {
            What::Move(Operation {
                direction,
                offset: self.position(offset),
                length,
            })
        })
    }
}

#[cfg(test)]
mod tests;
