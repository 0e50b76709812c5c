//! Numbers as fio reads them: lenient in places, and never corrected. `ki` is 1024 but `kib` is
//! 1000, `1.5g` is 1, and an unknown unit of time means microseconds; scripts measure with these
//! rules, whatever their authors meant.

use super::expression;

/// What a number counts, which decides what may follow it and what it means without that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, or a plain count: suffixes are powers of 1024 or 1000.
    Bytes,
    /// Time in microseconds; a bare number is seconds.
    Seconds,
    /// Time in microseconds; a bare number is microseconds.
    Microseconds,
}

/// A number with what is needed to tell a percentage from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The value, negative numbers wrapped. A percentage of n is kept as fio keeps it: -1 - n.
    pub raw: u64,
    /// It was written with `%`.
    pub percent: bool,
}

/// An amount that may depend on the size of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// That many bytes.
    Bytes(u64),
    /// That part of the file or device.
    Percent(u64),
    /// That many zones of a zoned device.
    Zones(u64),
}

impl Number {
    fn plain(raw: u64) -> Number {
        Number { raw, percent: false }
    }

    /// As options of kind "int" see it.
    pub fn signed(self) -> i64 {
        self.raw as i64
    }
}

/// Reads a number. `kb_base` is 1024 or 1000. Nothing if it does not begin with one.
pub fn number(text: &str, unit: Unit, kb_base: u64) -> Option<Number> {
    if text.starts_with('(') {
        return expression::evaluate(text, unit, kb_base).map(Number::plain);
    }
    let value = integer(text)? as u64;
    match unit {
        Unit::Bytes => {
            let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
            let suffix = suffix(unsigned);
            if suffix.starts_with('%') {
                return Some(Number {
                    raw: u64::MAX.wrapping_sub(value),
                    percent: true,
                });
            }
            Some(Number::plain(value.wrapping_mul(size_factor(suffix, kb_base))))
        }
        Unit::Seconds | Unit::Microseconds => Some(Number::plain(value.wrapping_mul(time_factor(suffix(text), unit)))),
    }
}

/// An amount: a size, a percentage, or a number of zones with `z` at the end.
pub fn amount(text: &str, kb_base: u64) -> Option<Amount> {
    if let Some(zones) = text.strip_suffix(['z', 'Z']) {
        let digits = !zones.is_empty() && zones.bytes().all(|byte| byte.is_ascii_digit());
        return digits.then(|| zones.parse().ok().map(Amount::Zones)).flatten();
    }
    let number = number(text, Unit::Bytes, kb_base)?;
    Some(match number.percent {
        true => Amount::Percent(u64::MAX - number.raw),
        false => Amount::Bytes(number.raw),
    })
}

/// Digits in front, after blanks and a sign, as C's `strtoll` takes them; hexadecimal after `0x`.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_hexdigit()) => (16, rest),
        _ => (10, digits),
    };
    let end = digits
        .find(|letter: char| !letter.is_digit(radix))
        .unwrap_or(digits.len());
    // The largest value is what an overflow leaves behind, and is refused with it.
    let value = i64::from_str_radix(digits.get(..end)?, radix).ok()?;
    (value != i64::MAX).then_some(if negative { -value } else { value })
}

/// The digits in front as C's `%d` takes them: no suffix, no hexadecimal, and -1 for more than
/// there is room for.
pub fn digits(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let value: i64 = digits[..end].parse().unwrap_or(-1);
    Some(if negative { -value } else { value })
}

/// What follows the digits that `text` begins with. Without such digits (a blank or a sign in
/// front) there is no suffix.
fn suffix(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match rest.len() < text.len() {
        true => rest,
        false => "",
    }
}

/// What a suffix multiplies a size with. Whatever is not known counts as none.
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
    // The three-letter forms are the ones of the other base.
    let base: u64 = if suffix[1..].starts_with("ib") {
        other_base
    } else {
        kb_base
    };
    base.pow(power)
}

/// What a suffix multiplies a time with, to microseconds.
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
        // Microseconds, and everything that is not known: `sec` and `min` among it.
        _ => 1,
    }
}

/// Pieces of a list between separators; those within parentheses do not separate.
pub fn split<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
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

/// The elements of a numeric list, at most three; nothing where one is empty or no number. A minus
/// sign in front belongs to its number. The second value says that the list ends with a separator,
/// which keeps its last value from spreading.
pub fn numbers(text: &str, unit: Unit, kb_base: u64) -> (Vec<Option<Number>>, bool) {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let mut pieces = split(unsigned, &[',', ':', '-']);
    let closed = pieces.len() > 1 && pieces.last() == Some(&"");
    if closed {
        pieces.pop();
    }
    let sign = text.len() - unsigned.len();
    if let Some(first) = pieces.first_mut() {
        *first = &text[..sign + first.len()];
    }
    let read = pieces.iter().take(3).map(|piece| number(piece, unit, kb_base));
    (read.collect(), closed)
}

/// Colons divide; `\:` is one of the name itself.
pub fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ':' => names.push(String::new()),
            '\\' if letters.peek() == Some(&':') => {
                letters.next().into_iter().for_each(|colon| last(&mut names, colon))
            }
            _ => last(&mut names, letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn last(names: &mut [String], letter: char) {
    if let Some(name) = names.last_mut() {
        name.push(letter);
    }
}

/// A number with a fraction at the front of `text`, as C's `%f` reads it, without exponents.
pub fn real(text: &str) -> Option<f64> {
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
