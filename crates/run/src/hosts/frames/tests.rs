use std::sync::{Arc, Mutex};

use hmac::KeyInit;

use super::*;

/// A byte sink that keeps what a writer wrote.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<u8>>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn seal(key: &[u8]) -> Option<Seal> {
    Some(Seal::new(Hmac::new_from_slice(key).unwrap()))
}

/// Writes messages as one side of a connection would. Returns the frames of each message.
fn write_frames(key: &[u8], messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let wire = Wire::default();
    let mut writer = MessageWriter::new(Box::new(wire.clone()), seal(key));
    let write = |message: &&[u8]| {
        writer.write(message).unwrap();
        std::mem::take(&mut *wire.0.lock().unwrap())
    };
    messages.iter().map(write).collect()
}

/// Reads messages until the first error. Returns both.
fn read_messages(key: &[u8], bytes: &[u8]) -> (Vec<Vec<u8>>, io::Error) {
    let mut reader = MessageReader::new(Box::new(io::Cursor::new(bytes.to_vec())), seal(key));
    let mut messages = Vec::new();
    loop {
        match reader.read() {
            Ok(message) => messages.push(message),
            Err(error) => return (messages, error),
        }
    }
}

const MESSAGES: [&[u8]; 3] = [b"first", b"second", b"third"];

#[test]
fn every_changed_bit_of_a_frame_is_detected() {
    let frames = write_frames(b"key", &MESSAGES);
    let (messages, end) = read_messages(b"key", &frames.concat());
    assert_eq!(messages, MESSAGES);
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    for position in 0..frames[1].len() {
        for bit in 0..8 {
            let mut changed = frames.clone();
            changed[1][position] ^= 1 << bit;
            let (messages, why) = read_messages(b"key", &changed.concat());
            assert_eq!(messages, MESSAGES[..1], "byte {position}, bit {bit}");
            assert_eq!(why.kind(), io::ErrorKind::InvalidData, "byte {position}, bit {bit}");
            assert!(
                why.to_string().contains("frame 1 of the connection was changed"),
                "{why}"
            );
        }
    }
}

#[test]
fn repeated_dropped_reordered_and_reflected_frames_are_detected() {
    let frames = write_frames(b"key", &MESSAGES);
    let check = |order: &[usize], taken: usize| {
        let bytes: Vec<u8> = order.iter().flat_map(|frame| frames[*frame].clone()).collect();
        let (messages, why) = read_messages(b"key", &bytes);
        assert_eq!(messages, MESSAGES[..taken], "{order:?}");
        assert_eq!(why.kind(), io::ErrorKind::InvalidData, "{order:?}");
    };
    check(&[0, 0, 1, 2], 1);
    check(&[0, 2], 1);
    check(&[1, 0, 2], 0);
    check(&[0, 1, 0], 2);
    // Frames that this side has sent have the key of the other direction.
    let (messages, why) = read_messages(b"other key", &frames.concat());
    assert!(messages.is_empty());
    assert_eq!(why.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_payload_is_not_accepted_as_a_head() {
    // The payload looks like a head. Its tag is moved to the place of the head's tag.
    let frames = write_frames(b"key", &[&[4, 0, 0, 0]]);
    let mut swapped = frames[0].clone();
    swapped.copy_within(40..72, 4);
    let (messages, why) = read_messages(b"key", &swapped);
    assert!(messages.is_empty());
    assert_eq!(why.kind(), io::ErrorKind::InvalidData);
}

/// A source with the head of a frame only. Reading the payload panics.
struct HeadOnly {
    head: io::Cursor<[u8; 4]>,
}

impl Read for HeadOnly {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.head.read(bytes)? {
            0 => panic!("the payload of an oversized frame is read"),
            count => Ok(count),
        }
    }
}

#[test]
fn oversized_frames_are_refused_before_they_are_read() {
    for length in [(64 << 20) + 1, (1_u32 << 31) - 1] {
        let head = io::Cursor::new(length.to_le_bytes());
        let mut reader = MessageReader::new(Box::new(HeadOnly { head }), None);
        let why = reader.read().unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidData);
        assert!(why.to_string().contains("is too long (the maximum is 64 MiB"), "{why}");
    }
}

#[test]
fn long_messages_take_several_frames() {
    let long: Vec<u8> = (0..(64_usize << 20) + 5).map(|byte| (byte >> 12) as u8).collect();
    for key in [None, Some(b"key")] {
        let wire = Wire::default();
        let mut writer = MessageWriter::new(Box::new(wire.clone()), key.and_then(|key| seal(key)));
        writer.write(&long).unwrap();
        writer.write(b"short").unwrap();
        writer.finish().unwrap();
        let bytes = std::mem::take(&mut *wire.0.lock().unwrap());
        assert_eq!(bytes[..4], [0, 0, 0, 0x84], "64 MiB, and the message continues");
        let mut reader = MessageReader::new(Box::new(io::Cursor::new(bytes)), key.and_then(|key| seal(key)));
        assert!(reader.read().unwrap() == long);
        assert_eq!(reader.read().unwrap(), b"short");
        assert_eq!(reader.read().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
