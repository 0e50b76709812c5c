//! Surveys a trace before its replay to find its files, directions and buffer sizes.

use std::collections::BTreeSet;
use std::io::Read;

use super::{Entry, EntryAction, Feed, Reader, TraceError};
use crate::direction::{Direction, PerDirection};
use crate::plan::Replay;

/// Maximum number of remarks stored; further ones are only counted.
const MAX_NOTES: usize = 20;

/// The contents of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The names of its files, in order of appearance.
    pub files: Vec<String>,
    /// Number and lengths of the operations of each direction that occurs.
    pub moves: PerDirection<Option<Extremes>>,
    /// The numbers of the files that it trims.
    pub trimmed: BTreeSet<u32>,
    /// Flushes.
    pub flushes: u64,
    /// Explicit waits.
    pub waits: u64,
    /// The maximum number of requests in flight, if the trace records completions.
    pub depth: u32,
    /// Messages about skipped entries.
    pub notes: Vec<String>,
}

/// The number of operations and the range of their lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// Operations.
    pub operations: u64,
    /// Bytes of the shortest.
    pub shortest: u32,
    /// Bytes of the longest.
    pub longest: u32,
}

impl Survey {
    /// Surveys a trace in the same way as the replay will read it. Its files need not be known.
    ///
    /// # Errors
    /// [`TraceError`] if it cannot be read to its end.
    pub fn read(source: impl Read, replay: &Replay) -> Result<Survey, TraceError> {
        let mut feed = Feed::new(source, Reader::collecting(replay));
        let mut survey = Survey::default();
        let (mut entries, mut notes, mut further) = (Vec::new(), Vec::new(), 0);
        let mut has_more = true;
        while has_more {
            has_more = feed.next(&mut entries, &mut notes)?;
            for entry in entries.drain(..) {
                survey.count(&entry);
            }
            for note in notes.drain(..) {
                match survey.notes.len() < MAX_NOTES {
                    true => survey.notes.push(note),
                    false => further += 1,
                }
            }
        }
        if further > 0 {
            survey.notes.push(format!("{further} more such lines in the trace"));
        }
        survey.files = feed.reader().names.list.clone();
        survey.depth = feed.reader().depth.max();
        Ok(survey)
    }

    fn count(&mut self, entry: &Entry) {
        match entry.what {
            EntryAction::Move(operation) => {
                if operation.direction == Direction::Trim {
                    self.trimmed.insert(entry.file);
                }
                let length = operation.length;
                let extremes = &mut self.moves[operation.direction];
                *extremes = Some(match *extremes {
                    None => Extremes {
                        operations: 1,
                        shortest: length,
                        longest: length,
                    },
                    Some(extremes) => Extremes {
                        operations: extremes.operations + 1,
                        shortest: extremes.shortest.min(length),
                        longest: extremes.longest.max(length),
                    },
                });
            }
            EntryAction::Flush { .. } => self.flushes += 1,
            EntryAction::WaitUntil(_) => self.waits += 1,
            EntryAction::Open | EntryAction::Close => {}
        }
    }
}
