//! blktrace's binary records: 48 bytes each, in the byte order of the recording machine, some
//! followed by more data. A replay issues the queued requests: reads, writes, discards and flushes
//! as the block layer received them, before merging and splitting.

use super::{Entry, EntryAction, Reader, TraceError};
use crate::direction::Direction;

/// Bytes of a record.
pub const RECORD: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Addresses count in sectors.
const SECTOR: u64 = 512;
/// Maximum plausible depth; beyond it, completion records must have been lost.
const MAX_PLAUSIBLE_DEPTH: u32 = 1024;

/// Kinds of actions, in the lower half of their word.
const QUEUED: u32 = 1;
const MERGED_BEHIND: u32 = 2;
const MERGED_BEFORE: u32 = 3;
const COMPLETED: u32 = 8;
/// Categories, in the upper half.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// Recognises a blktrace file by its first bytes; `Some(true)` if its byte order differs from this
/// machine's.
pub fn recognise(start: &[u8]) -> Option<bool> {
    let word: [u8; 4] = start.get(..4)?.try_into().ok()?;
    let magic = u32::from_ne_bytes(word);
    let fits = |magic: u32| magic & 0xffff_ff00 == MAGIC;
    match (fits(magic), fits(magic.swap_bytes())) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}

/// The name of a device in a plan, from its numbers.
pub fn device_name(major: u32, minor: u32) -> String {
    format!("{major}:{minor}")
}

/// The numbers of a device, from its name.
pub fn device_numbers(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The number of requests in flight, by direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Depth {
    now: [u32; 3],
    max: [u32; 3],
    /// Whether requests were queued.
    was_queued: [bool; 3],
}

impl Depth {
    fn record_action(&mut self, action: u32, direction: Direction) {
        let in_flight = &mut self.now[direction as usize];
        match action & 0xffff {
            QUEUED => {
                *in_flight += 1;
                self.was_queued[direction as usize] = true;
            }
            MERGED_BEHIND | MERGED_BEFORE => *in_flight = in_flight.saturating_sub(1),
            COMPLETED => {
                let max = &mut self.max[direction as usize];
                *max = (*max).max(*in_flight);
                *in_flight = in_flight.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// The deepest of the directions that occurred.
    pub(super) fn max(&self) -> u32 {
        let depths = self.max.iter().zip(self.was_queued);
        let depths = depths.filter(|(_, was_queued)| *was_queued).map(|(max, _)| *max);
        depths.max().unwrap_or(1).clamp(1, MAX_PLAUSIBLE_DEPTH)
    }
}

/// The relevant fields of a record.
pub(super) struct Record {
    pub(super) time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    /// Bytes of data after it.
    pub(super) more: usize,
}

impl Reader {
    pub(super) fn read_records(
        &mut self,
        bytes: &[u8],
        swapped: bool,
        entries: &mut Vec<Entry>,
        notes: &mut Vec<String>,
    ) -> Result<usize, TraceError> {
        let mut used = 0;
        while let Some(start) = bytes.get(used..used + RECORD) {
            let record = parse(start, swapped).ok_or(TraceError::Record { record: self.line + 1 })?;
            let length = RECORD + record.more;
            if bytes.len() < used + length {
                break;
            }
            used += length;
            self.line += 1;
            self.read_record(&record, entries, notes)?;
        }
        Ok(used)
    }

    fn read_record(
        &mut self,
        record: &Record,
        entries: &mut Vec<Entry>,
        notes: &mut Vec<String>,
    ) -> Result<(), TraceError> {
        let action = record.action;
        if action & NOTIFY != 0 {
            return Ok(());
        }
        let direction = match (action & DISCARD != 0, action & WRITE != 0) {
            (true, _) => Direction::Trim,
            (false, true) => Direction::Write,
            (false, false) => Direction::Read,
        };
        self.depth.record_action(action, direction);
        if action & 0xffff != QUEUED {
            return Ok(());
        }
        let gap = self.times.next_gap(record.time);
        let length = match self.align {
            0 => record.bytes,
            align => u64::from(record.bytes).next_multiple_of(align).min(u64::from(u32::MAX)) as u32,
        };
        let flushes = action & FLUSH != 0 && direction != Direction::Trim;
        let what = match flushes {
            true => (!self.skip.flushes).then_some(EntryAction::Flush { data_only: false }),
            false if length == 0 => {
                let note = "fio: ignoring zero byte block trace";
                if !notes.iter().any(|listed| listed == note) {
                    notes.push(note.into());
                }
                None
            }
            false => self.transfer_entry(direction, record.sector.saturating_mul(SECTOR), length),
        };
        let Some(what) = what else { return Ok(()) };
        let name = device_name(record.device >> 20, record.device & 0xf_ffff);
        let Some(file) = self.names.add(&name) else {
            return Err(TraceError::Changed(format!("device {name}")));
        };
        // The first request of a device opens it.
        if self.names.open[file as usize] == 0 {
            self.names.open[file as usize] = 1;
            let (what, gap) = (EntryAction::Open, crate::Nanos(0));
            entries.push(Entry { file, what, gap });
        }
        entries.push(Entry { file, what, gap });
        Ok(())
    }
}

pub(super) fn parse(bytes: &[u8], swapped: bool) -> Option<Record> {
    let word = |at: usize| {
        let word = u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        Some(if swapped { word.swap_bytes() } else { word })
    };
    let long = |at: usize| {
        let long = u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?);
        Some(if swapped { long.swap_bytes() } else { long })
    };
    if word(0)? != MAGIC | VERSION {
        return None;
    }
    let payload_length = u16::from_ne_bytes(bytes.get(46..48)?.try_into().ok()?);
    Some(Record {
        time: long(8)?,
        sector: long(16)?,
        bytes: word(24)?,
        action: word(28)?,
        device: word(36)?,
        more: usize::from(if swapped {
            payload_length.swap_bytes()
        } else {
            payload_length
        }),
    })
}
