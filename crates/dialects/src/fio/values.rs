//! Parses numbers like fio, including its quirks: `ki` is 1024 but `kib` is 1000, `1.5g` is 1, and
//! an unknown time unit means microseconds. Existing scripts depend on these rules.

use super::expression;

/// The unit of a number, which decides its suffixes and its meaning without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, or a plain count: suffixes are powers of 1024 or 1000.
    Bytes,
    /// Time in microseconds; a bare number is seconds.
    Seconds,
    /// Time in microseconds; a bare number is microseconds.
    Microseconds,
}

/// A number or percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The value; negative numbers wrap. Like fio, it stores a percentage n as -1 - n.
    pub raw: u64,
    /// The text ends with `%`.
    pub percent: bool,
}

/// An amount that may depend on the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file or device.
    Percent(u64),
    /// Zones of a zoned device.
    Zones(u64),
}

impl Number {
    fn plain(raw: u64) -> Number {
        Number { raw, percent: false }
    }

    /// The value as a signed number, as options of kind "int" use it.
    pub fn signed(self) -> i64 {
        self.raw as i64
    }
}

/// Parses a number. `kb_base` is 1024 or 1000. `None` if the text does not begin with a digit.
pub fn parse_number(text: &str, unit: Unit, kb_base: u64) -> Option<Number> {
    if text.starts_with('(') {
        return expression::evaluate(text, unit, kb_base).map(Number::plain);
    }
    let value = parse_integer(text)? as u64;
    match unit {
        Unit::Bytes => {
            let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
            let suffix = unit_suffix(unsigned);
            if suffix.starts_with('%') {
                return Some(Number {
                    raw: u64::MAX.wrapping_sub(value),
                    percent: true,
                });
            }
            Some(Number::plain(value.wrapping_mul(size_factor(suffix, kb_base))))
        }
        Unit::Seconds | Unit::Microseconds => {
            Some(Number::plain(value.wrapping_mul(time_factor(unit_suffix(text), unit))))
        }
    }
}

/// An amount: a size, a percentage, or a number of zones with `z` at the end.
pub fn parse_amount(text: &str, kb_base: u64) -> Option<Amount> {
    if let Some(zones) = text.strip_suffix(['z', 'Z']) {
        let digits = !zones.is_empty() && zones.bytes().all(|byte| byte.is_ascii_digit());
        return digits.then(|| zones.parse().ok().map(Amount::Zones)).flatten();
    }
    let number = parse_number(text, Unit::Bytes, kb_base)?;
    Some(match number.percent {
        true => Amount::Percent(u64::MAX - number.raw),
        false => Amount::Bytes(number.raw),
    })
}

/// Whether a number is negative, and its digits.
fn split_sign(text: &str) -> (bool, &str) {
    let text = text.trim_start();
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The leading integer, as C's `strtoll` reads it; hexadecimal after `0x`.
fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_hexdigit()) => (16, rest),
        _ => (10, digits),
    };
    let end = digits
        .find(|letter: char| !letter.is_digit(radix))
        .unwrap_or(digits.len());
    // As in C, the maximum means an overflow, so it is refused as well.
    let value = i64::from_str_radix(digits.get(..end)?, radix).ok()?;
    (value != i64::MAX).then_some(if negative { -value } else { value })
}

/// The leading integer as C's `%d` reads it: no suffix, no hexadecimal, and -1 on overflow.
pub fn parse_decimal_integer(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let value: i64 = digits[..end].parse().unwrap_or(-1);
    Some(if negative { -value } else { value })
}

/// The suffix after the leading digits. Without leading digits (a blank or a sign) there is no
/// suffix.
fn unit_suffix(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match rest.len() < text.len() {
        true => rest,
        false => "",
    }
}

/// The factor of a size suffix; 1 for an unknown one.
pub(super) fn size_factor(suffix: &str, kb_base: u64) -> u64 {
    let suffix = suffix.to_ascii_lowercase();
    let power = match suffix.bytes().next() {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        _ => return 1,
    };
    let other_base = if kb_base == 1000 { 1024 } else { 1000 };
    // The three-letter suffixes use the other base.
    let base: u64 = if suffix[1..].starts_with("ib") {
        other_base
    } else {
        kb_base
    };
    base.pow(power)
}

/// The factor from a time suffix to microseconds.
pub(super) fn time_factor(suffix: &str, unit: Unit) -> u64 {
    if !suffix.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return if unit == Unit::Seconds { 1_000_000 } else { 1 };
    }
    let suffix = suffix.to_ascii_lowercase();
    match suffix.as_str() {
        "d" => 86_400_000_000,
        "h" => 3_600_000_000,
        "m" => 60_000_000,
        "s" => 1_000_000,
        milliseconds if milliseconds.starts_with("ms") => 1000,
        // Microseconds, and every unknown suffix, including `sec` and `min`.
        _ => 1,
    }
}

/// Splits a list at separators outside of parentheses.
pub fn split_at_separators<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && separators.contains(&letter) => {
                pieces.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// The elements of a numeric list, at most three; `None` for an invalid or empty one. A leading
/// minus sign belongs to its number. The second value: the list ends with a separator, so its last
/// value does not spread.
pub fn parse_numbers(text: &str, unit: Unit, kb_base: u64) -> (Vec<Option<Number>>, bool) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let mut pieces = split_at_separators(unsigned, &[',', ':', '-']);
    let closed = pieces.len() > 1 && pieces.last() == Some(&"");
    if closed {
        pieces.pop();
    }
    let sign = text.len() - unsigned.len();
    if let Some(first) = pieces.first_mut() {
        *first = &text[..sign + first.len()];
    }
    let read = pieces.iter().take(3).map(|piece| parse_number(piece, unit, kb_base));
    (read.collect(), closed)
}

/// Splits at colons; `\:` is a colon within a name.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ':' => names.push(String::new()),
            '\\' if letters.peek() == Some(&':') => letters
                .next()
                .into_iter()
                .for_each(|colon| push_to_last(&mut names, colon)),
            _ => push_to_last(&mut names, letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn push_to_last(names: &mut [String], letter: char) {
    if let Some(name) = names.last_mut() {
        name.push(letter);
    }
}

/// The leading fraction of `text`, as C's `%f` reads it, without exponents.
pub fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let mut point = false;
    let digits = text[sign..].find(|letter: char| match letter {
        '.' => std::mem::replace(&mut point, true),
        _ => !letter.is_ascii_digit(),
    });
    let number: f64 = text[..digits.map_or(text.len(), |at| at + sign)].parse().ok()?;
    number.is_finite().then_some(number)
}
