//! Finds reports inside other text, such as notes before the JSON or a page around the XML.

use std::ops::Range;

/// Finds fio's last JSON document. With `--status-interval` there are several, each of which
/// includes the figures of the previous ones.
pub(super) fn find_fio_json(text: &str) -> Option<Range<usize>> {
    let mark = text.rfind("\"fio version\"")?;
    let start = text[..mark].rfind('{')?;
    let end = find_object_end(text, start).unwrap_or(text.len());
    Some(start..end)
}

/// The end of the object whose brace is at `start`, exclusive; `None` if it is not closed.
fn find_object_end(text: &str, start: usize) -> Option<usize> {
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

/// Finds the range from the first `<Results>` to the last `</Results>`, or to the end of truncated
/// text.
pub(super) fn find_diskspd_xml(text: &str) -> Option<Range<usize>> {
    const END: &str = "</Results>";
    let start = text.find("<Results>")?;
    // A page about DiskSpd may mention the element. In a report, one of these elements follows.
    let results_text = text[start + "<Results>".len()..].trim_start();
    if !["<System>", "<Profile>", "<TimeSpan>"]
        .iter()
        .any(|tag| results_text.starts_with(tag))
    {
        return None;
    }
    let end = text.rfind(END).map_or(text.len(), |at| at + END.len());
    (end > start).then_some(start..end)
}

/// The number of the line that holds a byte, from 1.
pub(super) fn line_number(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_inside_other_text() {
        let text = "note: {x}\n{\n \"fio version\" : \"a}\\\"\", \"jobs\" : [{}]\n}\nbye {\"x\":1}";
        let found = find_fio_json(text).expect("a document");
        assert!(text[found.clone()].starts_with("{\n \"fio"));
        assert!(text[found].ends_with("[{}]\n}"));
        assert_eq!(find_fio_json("{\"fio version\" : 1, \"jobs\" : ["), Some(0..30));
        assert_eq!(find_fio_json("\"fio version\""), None);
        assert_eq!(line_number("a\nb\nc", 4), 3);
    }
}
