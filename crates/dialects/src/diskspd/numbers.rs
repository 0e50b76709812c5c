//! Numbers as DiskSpd reads them: integers as leniently as C's `atoi`, sizes strictly. These
//! functions are independent of switches.

/// An integer by the rules of C's `atoi`: blanks, a sign, digits; the rest is ignored. Without
/// digits it is 0. Scripts depend on this: `-d10s` and `-t4x` occur.
pub(super) fn parse_integer(text: &str) -> i32 {
    let (negative, digits) = strip_sign(text);
    let magnitude = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1 << 31));
    let value = if negative { -magnitude } else { magnitude };
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// An integer above zero.
pub(super) fn parse_positive(text: &str) -> Option<u32> {
    u32::try_from(parse_integer(text)).ok().filter(|number| *number > 0)
}

/// A seed by the rules of C's `strtoul`: a negative number wraps, an overflow becomes the maximum,
/// and nothing may follow.
pub(super) fn parse_seed(text: &str) -> Option<u32> {
    let (negative, digits) = strip_sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match digits.parse::<u32>() {
        Ok(value) if negative => value.wrapping_neg(),
        Ok(value) => value,
        Err(_) => u32::MAX,
    })
}

/// Strips blanks and the sign; true if it is a minus.
fn strip_sign(text: &str) -> (bool, &str) {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Parses a text that is a size: digits and at most one of the letters K, M, G, T and B, the last
/// for blocks.
///
/// # Errors
/// DiskSpd's error line.
pub(super) fn parse_size(text: &str, block: u32) -> Result<u64, String> {
    let (number, after) = parse_leading_digits(text)?;
    let Some(letter) = after.chars().next() else {
        return Ok(number);
    };
    let unit = unit_factor(letter, block).ok_or_else(|| invalid_unit(letter))?;
    if after.len() > letter.len_utf8() {
        return Err("Unrecognized characters after size specification".into());
    }
    apply_unit(number, letter, unit)
}

/// Parses the size at the start of a text; also returns the rest.
///
/// # Errors
/// DiskSpd's error line.
pub(super) fn parse_leading_size(text: &str, block: u32) -> Result<(u64, &str), String> {
    let (number, after) = parse_leading_digits(text)?;
    match after.chars().next() {
        Some(letter) => match unit_factor(letter, block) {
            Some(unit) => Ok((apply_unit(number, letter, unit)?, &after[1..])),
            // A letter is an invalid unit; anything else is a separator.
            None if letter.is_alphabetic() => Err(invalid_unit(letter)),
            None => Ok((number, after)),
        },
        None => Ok((number, after)),
    }
}

/// Parses the decimal number at the start; also returns the rest.
pub(super) fn parse_leading_digits(text: &str) -> Result<(u64, &str), String> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..end].parse().map_err(|_| "Invalid integer".to_string())?;
    Ok((number, &text[end..]))
}

fn unit_factor(letter: char, block: u32) -> Option<u64> {
    Some(match letter.to_ascii_uppercase() {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        'T' => 1 << 40,
        'B' => u64::from(block),
        _ => return None,
    })
}

fn invalid_unit(letter: char) -> String {
    format!("Invalid size '{letter}'. Valid: K - KiB, M - MiB, G - GiB, T - TiB, B - block")
}

fn apply_unit(number: u64, letter: char, unit: u64) -> Result<u64, String> {
    number.checked_mul(unit).ok_or_else(|| {
        // DiskSpd's spelling, which scripts may match.
        format!("Overflow applying multipler '{}'", letter.to_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_c_does() {
        for (text, expected) in [
            ("10", 10),
            ("4x", 4),
            ("abc", 0),
            ("", 0),
            ("007", 7),
            (" \t+5", 5),
            ("-5s", -5),
            ("--5", 0),
            ("99999999999999999999", i32::MAX),
            ("-99999999999999999999", i32::MIN),
            ("2147483648", i32::MAX),
        ] {
            assert_eq!(parse_integer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn seeds_wrap_and_saturate() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-1", Some(u32::MAX)),
            ("+7", Some(7)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", Some(u32::MAX)),
            ("-5000000000", Some(u32::MAX)),
            ("1x", None),
            ("abc", None),
            ("-", None),
        ] {
            assert_eq!(parse_seed(text), expected, "{text:?}");
        }
    }

    #[track_caller]
    fn assert_size(text: &str, expected: Result<u64, &str>) {
        assert_eq!(parse_size(text, 4096), expected.map_err(str::to_string), "{text:?}");
    }

    #[test]
    fn sizes_are_strict() {
        assert_size("512", Ok(512));
        assert_size("4k", Ok(4096));
        assert_size("3M", Ok(3 << 20));
        assert_size("2g", Ok(2 << 30));
        assert_size("1T", Ok(1 << 40));
        assert_size("10b", Ok(40960));
        assert_size("18446744073709551615", Ok(u64::MAX));
        for text in ["", "k", "-1", " 1", "18446744073709551616", "99999999999999999999999"] {
            assert_size(text, Err("Invalid integer"));
        }
        let invalid_unit = "Invalid size 'x'. Valid: K - KiB, M - MiB, G - GiB, T - TiB, B - block";
        assert_size("1x", Err(invalid_unit));
        assert_size("0xff", Err(invalid_unit));
        assert_size("1.5k", Err(&invalid_unit.replace("'x'", "'.'")));
        assert_size("4KB", Err("Unrecognized characters after size specification"));
        assert_size("16777216T", Err("Overflow applying multipler 'T'"));
        assert_size("18446744073709551615b", Err("Overflow applying multipler 'B'"));
    }

    #[test]
    fn separators_may_follow_some_sizes() {
        assert_eq!(parse_leading_size("1M:2M", 512), Ok((1 << 20, ":2M")));
        assert_eq!(parse_leading_size("7:", 512), Ok((7, ":")));
        assert_eq!(parse_leading_size("1Mx", 512), Ok((1 << 20, "x")));
        assert_eq!(parse_leading_size("2b", 512), Ok((1024, "")));
        assert!(parse_leading_size("1x", 512).is_err_and(|why| why.starts_with("Invalid size 'x'")));
        assert_eq!(parse_leading_size(":5", 512), Err("Invalid integer".into()));
    }
}
