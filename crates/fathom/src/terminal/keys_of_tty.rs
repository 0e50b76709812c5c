//! Keys of a terminal in raw mode. Crossterm's reader loops forever if the terminal is lost, so
//! these few keys are read without it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use engine::sys::terminal::{Waited, wait_for_keys};

use super::Key;

/// The controlling terminal of the process, independent of its standard input.
#[derive(Debug)]
pub(super) struct Keys(File);

impl Keys {
    pub(super) fn new() -> io::Result<Keys> {
        File::open("/dev/tty").map(Keys)
    }

    /// Waits for a key with an action, up to a time limit.
    pub(super) fn wait(&mut self, at_most: Duration) -> io::Result<Option<Key>> {
        match wait_for_keys(self.0.as_fd(), at_most) {
            Waited::Nothing => return Ok(None),
            Waited::Gone => return Err(io::ErrorKind::UnexpectedEof.into()),
            Waited::Typed => {}
        }
        let mut typed = [0; 64];
        match self.0.read(&mut typed)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(parse_key(&typed[..count])),
        }
    }
}

/// Finds the first key with an action. Ignores escape sequences such as arrow keys, whose letters
/// are not keys.
fn parse_key(typed: &[u8]) -> Option<Key> {
    let keys = typed.iter().take_while(|byte| **byte != 0x1b);
    let key = |byte: &u8| match byte {
        b'q' | b'Q' => Some(Key::Quit),
        0x03 => Some(Key::Interrupt),
        0x1a => Some(Key::Suspend),
        0x0c => Some(Key::Redraw),
        _ => None,
    };
    keys.into_iter().find_map(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_actions_and_escape_sequences_none() {
        assert_eq!(parse_key(b"q"), Some(Key::Quit));
        assert_eq!(parse_key(b"xyQ"), Some(Key::Quit));
        assert_eq!(parse_key(b"\x03"), Some(Key::Interrupt));
        assert_eq!(parse_key(b"\x1a"), Some(Key::Suspend));
        assert_eq!(parse_key(b"\x0c"), Some(Key::Redraw));
        // The 1 of a keypad in application mode.
        assert_eq!(parse_key(b"\x1bOq"), None);
        assert_eq!(parse_key("ä\n".as_bytes()), None);
    }
}
