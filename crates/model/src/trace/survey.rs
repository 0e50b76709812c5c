//! What is in a trace: looked at before it is replayed, so that files, buffers and directions
//! are known.

use std::io::Read;

use super::{Feed, Reader, TraceError, What};
use crate::direction::PerDirection;
use crate::plan::Replay;

/// More remarks than these are counted only.
const MAX_REMARKS: usize = 20;

/// What is in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// What it calls its files, in the order in which they come up.
    pub files: Vec<String>,
    /// Number and lengths of the operations of each direction, where there are any.
    pub moves: PerDirection<Option<Extremes>>,
    /// Flushes.
    pub flushes: u64,
    /// Waits of their own.
    pub waits: u64,
    /// The most requests that were in flight at a time, where it tells of their ends.
    pub depth: u32,
    /// What is to be said of entries that are left out.
    pub remarks: Vec<String>,
}

/// How many, and how long.
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
    /// Looks through a trace, as it will be replayed. Files need not be known.
    ///
    /// # Errors
    /// [`TraceError`] if it cannot be read to its end.
    pub fn read(source: impl Read, replay: &Replay) -> Result<Survey, TraceError> {
        let mut feed = Feed::new(source, Reader::collecting(replay));
        let mut survey = Survey::default();
        let (mut entries, mut remarks, mut further) = (Vec::new(), Vec::new(), 0);
        let mut goes_on = true;
        while goes_on {
            goes_on = feed.next(&mut entries, &mut remarks)?;
            for entry in entries.drain(..) {
                survey.count(entry.what);
            }
            for remark in remarks.drain(..) {
                match survey.remarks.len() < MAX_REMARKS {
                    true => survey.remarks.push(remark),
                    false => further += 1,
                }
            }
        }
        if further > 0 {
            survey
                .remarks
                .push(format!("{further} more lines of the trace like these"));
        }
        survey.files = feed.reader().names.list.clone();
        survey.depth = feed.reader().depth.most();
        Ok(survey)
    }

    fn count(&mut self, what: What) {
        match what {
            What::Move(operation) => {
                let length = operation.length;
                let known = &mut self.moves[operation.direction];
                *known = Some(match *known {
                    None => Extremes {
                        operations: 1,
                        shortest: length,
                        longest: length,
                    },
                    Some(known) => Extremes {
                        operations: known.operations + 1,
                        shortest: known.shortest.min(length),
                        longest: known.longest.max(length),
                    },
                });
            }
            What::Flush { .. } => self.flushes += 1,
            What::WaitUntil(_) => self.waits += 1,
            What::Open | What::Close => {}
        }
    }
}
