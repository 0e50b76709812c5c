//! Keys of a Windows console.

use std::io;
use std::time::Duration;

use ratatui_crossterm::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::Key;

/// The keyboard.
#[derive(Debug)]
pub(super) struct Keys;

impl Keys {
    pub(super) fn new() -> io::Result<Keys> {
        Ok(Keys)
    }

    /// Waits for a key with an action, up to a time limit.
    pub(super) fn wait(&mut self, at_most: Duration) -> io::Result<Option<Key>> {
        if !event::poll(at_most)? {
            return Ok(None);
        }
        Ok(parse_key(&event::read()?))
    }
}

fn parse_key(event: &Event) -> Option<Key> {
    let Event::Key(key) = event else {
        return None;
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        // A console also reports released keys.
        _ if key.kind != KeyEventKind::Press => None,
        KeyCode::Char('c') if control => Some(Key::Interrupt),
        KeyCode::Char('l') if control => Some(Key::Redraw),
        KeyCode::Char('q' | 'Q') if !control => Some(Key::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_crossterm::crossterm::event::KeyEvent;

    #[test]
    fn keys_have_actions_when_they_are_pressed() {
        let (none, shift, control) = (KeyModifiers::NONE, KeyModifiers::SHIFT, KeyModifiers::CONTROL);
        let check = |code: KeyCode, modifiers: KeyModifiers, expected: Option<Key>| {
            let meaning_of = |kind| parse_key(&Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)));
            assert_eq!(meaning_of(KeyEventKind::Press), expected, "{code:?} {modifiers:?}");
            assert_eq!(meaning_of(KeyEventKind::Release), None, "{code:?} {modifiers:?}");
        };
        check(KeyCode::Char('q'), none, Some(Key::Quit));
        check(KeyCode::Char('Q'), shift, Some(Key::Quit));
        check(KeyCode::Char('q'), control, None);
        check(KeyCode::Char('c'), control, Some(Key::Interrupt));
        check(KeyCode::Char('c'), none, None);
        check(KeyCode::Char('l'), control, Some(Key::Redraw));
        check(KeyCode::Char('l'), none, None);
        // Windows has no job control.
        check(KeyCode::Char('z'), control, None);
        check(KeyCode::Esc, none, None);
        assert_eq!(parse_key(&Event::Resize(80, 25)), None);
    }
}
