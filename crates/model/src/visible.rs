//! Escapes external text for display. Otherwise a file or job name could move the cursor, forge a
//! line or reverse the text after it.

use std::borrow::Cow;

/// The maximum length of an excerpt, in characters.
pub const MAX_EXCERPT: usize = 60;

/// Replaces every control character and direction mark by an escape such as `\u001b`, which JSON
/// and TOML decode.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden)
}

/// Like [`visible`], but keeps line ends and tabs.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escape(text, |letter| is_hidden(letter) && !matches!(letter, '\n' | '\t'))
}

/// Escapes only control characters, and keeps those that lay out a report: line ends, tabs and the
/// return to the start of a line. All printable text stays as in the other tool's report.
pub fn visible_report(text: &str) -> Cow<'_, str> {
    escape(text, |letter| {
        letter.is_control() && !matches!(letter, '\n' | '\t' | '\r')
    })
}

/// Shortens a text to one line of at most [`MAX_EXCERPT`] characters, to quote in a message.
pub fn excerpt(text: &str) -> String {
    let mut excerpt: String = text.chars().take(MAX_EXCERPT).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    visible(&excerpt).into_owned()
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '\n' if is_escaped(letter) => out.push_str("\\n"),
            '\t' if is_escaped(letter) => out.push_str("\\t"),
            '\r' if is_escaped(letter) => out.push_str("\\r"),
            _ if is_escaped(letter) => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// True for control characters, direction marks, embeddings, overrides and isolates, separators of
/// lines and paragraphs, and zero-width characters.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Quotes a word for the shell if it contains a special character.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,=+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("/a/b-c.dat"), "/a/b-c.dat");
        assert_eq!(shell_word("iops>=1000,p99<=5ms"), "'iops>=1000,p99<=5ms'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn hostile_characters_become_escapes() {
        assert_eq!(visible("disk 70 % \u{e9} \u{4e2d}"), "disk 70 % \u{e9} \u{4e2d}");
        assert_eq!(visible("a\u{1b}[2Jb\u{7f}\u{9b}c"), "a\\u001b[2Jb\\u007f\\u009bc");
        assert_eq!(visible("x\nerror: y\r\tz"), "x\\nerror: y\\r\\tz");
        assert_eq!(visible("\u{202e}dsp.exe\u{2066}"), "\\u202edsp.exe\\u2066");
        assert_eq!(visible_lines("a\n\tb\r\u{7}"), "a\n\tb\\r\\u0007");
        assert_eq!(
            visible_report("a\n\tb\r\u{7}\u{9b}\u{202e}"),
            "a\n\tb\r\\u0007\\u009b\u{202e}"
        );
    }

    #[test]
    fn json_decodes_the_escapes() {
        let back: String = serde_json::from_str(&format!("\"{}\"", visible("a\u{9b}\u{202e}"))).unwrap();
        assert_eq!(back, "a\u{9b}\u{202e}");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(excerpt(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(excerpt(&"\u{e9}".repeat(5000)), "\u{e9}".repeat(60) + "…");
    }
}
