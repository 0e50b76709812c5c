//! fio's text format: a line for each entry, after a first line with the version. Version 3: `TIME
//! FILE ACTION [OFFSET LENGTH]`, with the time in microseconds since the start. Version 2 has `FILE
//! wait MILLISECONDS 0` instead of times. Actions are `add`, `open` and `close`, and with a range
//! `read`, `write`, `trim`, `sync` and `datasync`.

use super::{Entry, EntryAction, Reader, TraceError};
use crate::direction::Direction;
use crate::units::Nanos;

/// The first line of written traces.
pub const HEADER: &str = "fio version 3 iolog\n";
const VERSION_2: &str = "fio version 2 iolog";
const VERSION_3: &str = "fio version 3 iolog";
/// The maximum length of a line.
pub const MAX_LINE_BYTES: usize = 4096;

/// Which version a trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// The first line was not read yet.
    NotYetRead,
    Two,
    Three,
}

/// The action of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Announces a file that later lines name.
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
    /// Data is moved.
    Move(Direction),
    /// It is flushed.
    Sync,
    /// Flush without unneeded metadata.
    DataSync,
}

impl Action {
    /// The word for this action in a log line.
    pub fn word(self) -> &'static str {
        match self {
            Action::Add => "add",
            Action::Open => "open",
            Action::Close => "close",
            Action::Move(direction) => direction.word(),
            Action::Sync => "sync",
            Action::DataSync => "datasync",
        }
    }
}

/// Offset and length of a transfer.
type ByteRange = (u64, u32);

impl Reader {
    pub(super) fn read_lines(
        &mut self,
        bytes: &[u8],
        ended: bool,
        entries: &mut Vec<Entry>,
        notes: &mut Vec<String>,
    ) -> Result<usize, TraceError> {
        let mut used = 0;
        while used < bytes.len() {
            let remaining = &bytes[used..];
            let (line, length) = match remaining.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&remaining[..end], end + 1),
                None if ended => (remaining, remaining.len()),
                None if remaining.len() > MAX_LINE_BYTES => return Err(self.too_long()),
                None => break,
            };
            if line.len() > MAX_LINE_BYTES {
                return Err(self.too_long());
            }
            used += length;
            self.line += 1;
            let line = String::from_utf8_lossy(line);
            if self.version == Version::NotYetRead {
                self.version = parse_version(&line)?;
            } else {
                self.read_line(&line, entries, notes)?;
            }
        }
        if ended && self.version == Version::NotYetRead {
            return Err(TraceError::Empty);
        }
        Ok(used)
    }

    fn too_long(&self) -> TraceError {
        TraceError::Line {
            line: self.line + 1,
            max: MAX_LINE_BYTES,
        }
    }

    fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>, notes: &mut Vec<String>) -> Result<(), TraceError> {
        let mut fields = line.split_ascii_whitespace();
        let three = self.version == Version::Three;
        let time = match three {
            true => fields.next().and_then(parse_number),
            false => Some(0),
        };
        let (name, action) = (fields.next(), fields.next());
        let numbers = (fields.next(), fields.next());
        let range = match numbers {
            (Some(offset), Some(length)) => parse_number(offset).zip(parse_number(length)).map(Some),
            (None, None) => Some(None),
            // As in fio, anything that is not a number ends the line.
            (Some(other), _) if !other.starts_with(|first: char| first.is_ascii_digit()) => Some(None),
            _ => None,
        };
        let (Some(time_us), Some(name), Some(action), Some(range)) = (time, name, action, range) else {
            // Traces of several clones in one file contain more first lines.
            if !line.starts_with(VERSION_3) && !line.starts_with(VERSION_2) {
                let version = if three { 3 } else { 2 };
                notes.push(format!("bad iolog{version}: {line}"));
            }
            return Ok(());
        };
        let gap = self.times.next_gap(time_us.saturating_mul(1000));
        let entry = match range {
            None => self.read_file_action(name, action, notes)?,
            Some((offset, length)) => {
                let range = (offset, length.try_into().unwrap_or(u32::MAX));
                self.read_transfer(name, action, range, notes)?
            }
        };
        entries.extend(entry.map(|(file, what)| Entry { file, what, gap }));
        Ok(())
    }

    /// Interprets a line without an offset.
    fn read_file_action(
        &mut self,
        name: &str,
        action: &str,
        notes: &mut Vec<String>,
    ) -> Result<Option<(u32, EntryAction)>, TraceError> {
        match action {
            "add" => {
                let added = self.names.add(name);
                added.map(|_| None).ok_or_else(|| TraceError::Changed(name.to_owned()))
            }
            "open" => {
                let file = self.file(name)?;
                let times = &mut self.names.open[file as usize];
                *times += 1;
                Ok((*times == 1).then_some((file, EntryAction::Open)))
            }
            "close" => {
                let file = self.file(name)?;
                let times = &mut self.names.open[file as usize];
                let closes = *times == 1;
                *times = times.saturating_sub(1);
                Ok(closes.then_some((file, EntryAction::Close)))
            }
            other => {
                notes.push(format!("fio: bad iolog file action: {other}"));
                Ok(None)
            }
        }
    }

    fn read_transfer(
        &mut self,
        name: &str,
        action: &str,
        (offset, length): ByteRange,
        notes: &mut Vec<String>,
    ) -> Result<Option<(u32, EntryAction)>, TraceError> {
        let direction = match action {
            "read" => Some(Direction::Read),
            "write" => Some(Direction::Write),
            "trim" => Some(Direction::Trim),
            "sync" | "datasync" => None,
            "wait" if self.version == Version::Three => {
                notes.push(format!("iolog: ignoring wait command with version 3 for file {name}"));
                return Ok(None);
            }
            "wait" => {
                let until = Nanos(offset.saturating_mul(1_000_000));
                return Ok(self.times.count.then_some((0, EntryAction::WaitUntil(until))));
            }
            other => {
                notes.push(format!("fio: bad iolog file action: {other}"));
                return Ok(None);
            }
        };
        let file = self.file(name)?;
        if self.names.open[file as usize] == 0 {
            return Err(TraceError::NotOpen {
                line: self.line,
                name: name.to_owned(),
            });
        }
        let data_only = action == "datasync";
        let what = match direction {
            Some(direction) => self.transfer_entry(direction, offset, length),
            // As in fio, skipping `sync` does not skip `datasync`.
            None => (data_only || !self.skip.flushes).then_some(EntryAction::Flush { data_only }),
        };
        Ok(what.map(|what| (file, what)))
    }

    fn file(&self, name: &str) -> Result<u32, TraceError> {
        self.names.find(name).ok_or_else(|| TraceError::Unknown {
            line: self.line,
            name: name.to_owned(),
        })
    }
}

fn parse_version(line: &str) -> Result<Version, TraceError> {
    if line.starts_with(VERSION_3) {
        Ok(Version::Three)
    } else if line.starts_with(VERSION_2) {
        Ok(Version::Two)
    } else {
        Err(TraceError::Version)
    }
}

fn parse_number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// Appends a line of version 3 to a text.
pub fn append_line(text: &mut Vec<u8>, time_us: u64, file: &str, action: Action, range: Option<ByteRange>) {
    append_number(text, time_us);
    for word in [file, action.word()] {
        text.push(b' ');
        text.extend_from_slice(word.as_bytes());
    }
    if let Some((offset, length)) = range {
        text.push(b' ');
        append_number(text, offset);
        text.push(b' ');
        append_number(text, u64::from(length));
    }
    text.push(b'\n');
}

/// Appends a number, several times faster than the formatting of the standard library.
pub fn append_number(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first_digit = digits.len();
    loop {
        first_digit -= 1;
        digits[first_digit] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first_digit..]);
}
