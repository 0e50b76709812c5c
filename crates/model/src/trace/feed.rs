//! Reads a trace in pieces.

use std::io::{ErrorKind, Read};

use super::{Entry, Reader, TraceError};

/// Bytes read at a time; larger than any line or record.
const PIECE_BYTES: usize = 256 << 10;

/// Reads the entries of a trace from any source, keeping one piece in memory.
#[derive(Debug)]
pub struct Feed<R> {
    source: R,
    reader: Reader,
    piece: Vec<u8>,
    /// The number of valid bytes in the piece.
    filled: usize,
    ended: bool,
}

impl<R: Read> Feed<R> {
    /// A feed from the beginning.
    pub fn new(source: R, reader: Reader) -> Feed<R> {
        Feed {
            source,
            reader,
            piece: vec![0; PIECE_BYTES],
            filled: 0,
            ended: false,
        }
    }

    /// Adds the entries of the next piece. False if there are none.
    ///
    /// # Errors
    /// [`TraceError`] if the trace cannot be read further.
    pub fn next(&mut self, entries: &mut Vec<Entry>, notes: &mut Vec<String>) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        match self.source.read(&mut self.piece[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let used = self
            .reader
            .read(&self.piece[..self.filled], self.ended, entries, notes)?;
        self.piece.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.ended && self.filled > 0 {
            notes.push("fio: iolog short read".into());
        }
        Ok(!self.ended)
    }

    /// The reader, with its state so far.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }
}
