//! Decodes bytes to text. Reports come from Windows consoles, PowerShell redirections and web
//! pages.

/// A text and its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text as UTF-8.
    pub text: String,
    /// Encoding, in words.
    pub encoding: &'static str,
}

/// Decodes UTF-8 and UTF-16, with or without a byte order mark. Other bytes are in a Windows code
/// page. Reports use only its ASCII half, so bytes above it become the characters with the same
/// number.
pub fn decode(bytes: &[u8]) -> Decoded {
    let with_encoding = |text: String, encoding| Decoded { text, encoding };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => with_encoding(String::from_utf8_lossy(rest).into_owned(), "UTF-8"),
        [0xff, 0xfe, rest @ ..] => with_encoding(decode_utf16(rest, u16::from_le_bytes), "UTF-16"),
        [0xfe, 0xff, rest @ ..] => with_encoding(decode_utf16(rest, u16::from_be_bytes), "UTF-16"),
        _ if looks_like_utf16(bytes, 1) => with_encoding(decode_utf16(bytes, u16::from_le_bytes), "UTF-16"),
        _ if looks_like_utf16(bytes, 0) => with_encoding(decode_utf16(bytes, u16::from_be_bytes), "UTF-16"),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => with_encoding(text.to_owned(), "UTF-8"),
            Err(_) => with_encoding(
                bytes.iter().copied().map(char::from).collect(),
                "a single-byte code page",
            ),
        },
    }
}

fn decode_utf16(bytes: &[u8], to_u16: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| to_u16([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// True if most even or odd bytes at the start are zero: Latin letters in UTF-16 without a mark.
fn looks_like_utf16(bytes: &[u8], from: usize) -> bool {
    const SAMPLE_LEN: usize = 256;
    let every_second = || bytes.iter().skip(from).step_by(2).take(SAMPLE_LEN);
    let looks_like_utf16 = every_second().filter(|byte| **byte == 0).count();
    bytes.len() >= 4 && looks_like_utf16 * 10 > every_second().count() * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_encodings_are_decoded() {
        let text = "Results for timespan 1:\r\n\u{2013}";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let marked = |mark: &[u8], rest: &[u8]| [mark, rest].concat();
        for bytes in [
            marked(&[0xff, 0xfe], &little),
            marked(&[0xfe, 0xff], &big),
            little.clone(),
            big.clone(),
            marked(&[0xef, 0xbb, 0xbf], text.as_bytes()),
            text.as_bytes().to_vec(),
        ] {
            assert_eq!(decode(&bytes).text, text);
        }
        // Only the half character at the end is lost.
        assert!(decode(&little[..little.len() - 1]).text.starts_with("Results"));
    }

    #[test]
    fn code_pages_keep_all_characters_of_reports() {
        let decoded = decode(b"Caf\xe9 path: 'x'");
        assert_eq!(decoded.text, "Caf\u{e9} path: 'x'");
        assert_eq!(decoded.encoding, "a single-byte code page");
        assert_eq!(decode(b"").text, "");
    }
}
