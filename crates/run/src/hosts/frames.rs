//! Frames: messages on a byte stream, authenticated if the handshake yielded keys.
//!
//! A frame is a head of 4 bytes (payload length, and whether the message continues in the next
//! frame) and the payload. With a seal, an HMAC-SHA256 tag follows the head, and another one the
//! payload. Each tag also covers the number of the frame, with a key of this connection and
//! direction, so modified, replayed, dropped, reordered or reflected frames fail the check. A frame
//! without a payload ends the stream.

use std::io::{self, BufReader, BufWriter, Read, Write};

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Longest payload of a frame.
const MAX_FRAME: usize = 64 << 20;
/// Longest message, over several frames: the complete results of a large test.
const MAX_MESSAGE: usize = 1 << 30;
/// Set in the head of a frame whose message continues in the next one.
const CONTINUES: u32 = 1 << 31;
const TAG_BYTES: usize = 32;

/// Authenticates the frames of one direction.
pub(super) struct Seal {
    key: Hmac<Sha256>,
    /// Number of the next frame.
    frame: u64,
}

/// The part of a frame that a tag authenticates.
#[derive(Clone, Copy)]
enum FramePart {
    Head = 0,
    Payload = 1,
}

impl Seal {
    pub(super) fn new(key: Hmac<Sha256>) -> Seal {
        Seal { key, frame: 0 }
    }

    fn mac(&self, part: FramePart, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        mac.update(&self.frame.to_le_bytes());
        mac.update(&[part as u8]);
        mac.update(bytes);
        mac
    }

    fn verify(&self, part: FramePart, bytes: &[u8], tag: &[u8]) -> io::Result<()> {
        self.mac(part, bytes).verify_slice(tag).map_err(|_| {
            invalid(format!(
                "frame {} of the connection was changed, repeated, dropped or inserted in transit: \
                 connect directly or through ssh",
                self.frame
            ))
        })
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads messages from a connection and checks their tags.
pub(super) struct MessageReader {
    source: BufReader<Box<dyn Read + Send>>,
    seal: Option<Seal>,
}

impl MessageReader {
    pub(super) fn new(source: Box<dyn Read + Send>, seal: Option<Seal>) -> MessageReader {
        MessageReader {
            source: BufReader::new(source),
            seal,
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// `UnexpectedEof` at the end, `InvalidData` with a sentence if the data is not a valid
    /// message.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        while self.read_frame(&mut message)? {}
        Ok(message)
    }

    /// Appends the payload of a frame. True if the message continues in the next one.
    fn read_frame(&mut self, message: &mut Vec<u8>) -> io::Result<bool> {
        let mut head = [0; 4];
        self.source.read_exact(&mut head)?;
        self.check_tag(FramePart::Head, &head)?;
        let head = u32::from_le_bytes(head);
        let (length, continues) = ((head & !CONTINUES) as usize, head & CONTINUES != 0);
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let begin = message.len();
        if length > MAX_FRAME || begin + length > MAX_MESSAGE {
            return Err(invalid(format!(
                "a frame of {length} bytes after {begin} bytes of its message is too long (the maximum is {} MiB, and \
                 {} MiB per message): the sender is another version of fathom",
                MAX_FRAME >> 20,
                MAX_MESSAGE >> 20
            )));
        }
        // Allocate for the received bytes, not for the announced length.
        let read = self.source.by_ref().take(length as u64).read_to_end(message)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.check_tag(FramePart::Payload, &message[begin..])?;
        if let Some(seal) = &mut self.seal {
            seal.frame += 1;
        }
        Ok(continues)
    }

    fn check_tag(&mut self, part: FramePart, bytes: &[u8]) -> io::Result<()> {
        let Some(seal) = &self.seal else { return Ok(()) };
        let mut tag = [0; TAG_BYTES];
        self.source.read_exact(&mut tag)?;
        seal.verify(part, bytes, &tag)
    }
}

/// Writes messages with their tags to a connection.
pub(super) struct MessageWriter {
    sink: BufWriter<Box<dyn Write + Send>>,
    seal: Option<Seal>,
}

impl MessageWriter {
    pub(super) fn new(sink: Box<dyn Write + Send>, seal: Option<Seal>) -> MessageWriter {
        MessageWriter {
            sink: BufWriter::new(sink),
            seal,
        }
    }

    /// Writes a message.
    ///
    /// # Errors
    /// Those of the stream, and `InvalidInput` for a message that is too long.
    pub(super) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > MAX_MESSAGE {
            let why = format!("a message of {} bytes is too long to send", message.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut frames = message.chunks(MAX_FRAME).peekable();
        while let Some(payload) = frames.next() {
            let continues = if frames.peek().is_some() { CONTINUES } else { 0 };
            self.write_part(FramePart::Head, &(payload.len() as u32 | continues).to_le_bytes())?;
            self.write_part(FramePart::Payload, payload)?;
            if let Some(seal) = &mut self.seal {
                seal.frame += 1;
            }
        }
        self.sink.flush()
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// Those of the stream.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.write_part(FramePart::Head, &0_u32.to_le_bytes())?;
        self.sink.flush()
    }

    fn write_part(&mut self, part: FramePart, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        match &self.seal {
            Some(seal) => self.sink.write_all(&seal.mac(part, bytes).finalize().into_bytes()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
