//! Reports inside other text: notes before the JSON, a page around the XML.

use std::ops::Range;

/// The last JSON document with fio's mark in it: with `--status-interval` several follow one
/// another, each of them with all that the ones before have.
pub(super) fn json_of_fio(text: &str) -> Option<Range<usize>> {
    let mark = text.rfind("\"fio version\"")?;
    let start = text[..mark].rfind('{')?;
    let end = end_of_object(text, start).unwrap_or(text.len());
    Some(start..end)
}

/// The byte behind the brace that closes the one at `start`; `None` if it is never closed.
fn end_of_object(text: &str, start: usize) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (index, byte) in text.bytes().enumerate().skip(start) {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b'{') => depth += 1,
            (false, b'}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// From the first `<Results>` to the last `</Results>`, or to the end where it was cut off.
pub(super) fn xml_of_diskspd(text: &str) -> Option<Range<usize>> {
    const END: &str = "</Results>";
    let start = text.find("<Results>")?;
    // A page about DiskSpd may name the element; a report continues with one of these.
    let behind = text[start + "<Results>".len()..].trim_start();
    if !["<System>", "<Profile>", "<TimeSpan>"]
        .iter()
        .any(|tag| behind.starts_with(tag))
    {
        return None;
    }
    let end = text.rfind(END).map_or(text.len(), |at| at + END.len());
    (end > start).then_some(start..end)
}

/// Number of the line, from 1, in which a byte stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_in_what_surrounds_them() {
        let text = "note: {x}\n{\n \"fio version\" : \"a}\\\"\", \"jobs\" : [{}]\n}\nbye {\"x\":1}";
        let found = json_of_fio(text).expect("there is one");
        assert!(text[found.clone()].starts_with("{\n \"fio"));
        assert!(text[found].ends_with("[{}]\n}"));
        assert_eq!(json_of_fio("{\"fio version\" : 1, \"jobs\" : ["), Some(0..30));
        assert_eq!(json_of_fio("\"fio version\""), None);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
