//! Parses numbers and ranges, and formats numbers as in Vdbench's reports.

/// `iorate=max` as the reports show it.
pub const MAX_RATE: f64 = 9_999_988.0;

/// Larger numbers are not exact.
pub const MAX_NUMBER: f64 = 9_007_199_254_740_992.0;

/// A number with its suffix; a percentage is negative. With `minutes`, `m` means minutes instead of
/// mebibytes.
pub fn parse_number(text: &str, minutes: bool) -> Option<f64> {
    parse_any_number(text, minutes).filter(|value| value.abs() <= MAX_NUMBER)
}

/// True for a number that is too large to be exact.
pub fn is_too_large(text: &str) -> bool {
    parse_any_number(text, false).is_some_and(|value| value.abs() > MAX_NUMBER)
}

fn parse_any_number(text: &str, minutes: bool) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let body = match lower.strip_suffix('b') {
        Some(rest) if rest.ends_with(['k', 'm', 'g', 't']) => rest,
        _ => &lower,
    };
    let factor = match body.chars().last()? {
        'k' => 1024.0,
        'm' if minutes => 60.0,
        'm' => 1_048_576.0,
        'g' => 1_073_741_824.0,
        't' => 1_099_511_627_776.0,
        'h' => 3600.0,
        '%' => -1.0,
        _ => return parse_plain_number(body),
    };
    Some(parse_plain_number(&body[..body.len() - 1])? * factor)
}

/// Digits with a sign, a point and an exponent, as in Java; not the words that a float may have.
fn parse_plain_number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = text.parse().ok()?;
    is_plain.then_some(value)
}

/// A name with the number of `count=` in place of its mask or star, or after it.
pub fn append_number(text: &str, number: Option<u64>) -> String {
    let Some(number) = number else {
        return text.to_owned();
    };
    if let Some((before, rest)) = text.split_once('%')
        && let Some((width, after)) = rest.split_once('d')
        && width.chars().all(|c| c.is_ascii_digit())
    {
        let digits: usize = width.parse().unwrap_or(0);
        let pad = if width.starts_with('0') { "0" } else { " " };
        let number = number.to_string();
        return format!(
            "{before}{}{number}{after}",
            pad.repeat(digits.min(32).saturating_sub(number.len()))
        );
    }
    match text.split_once('*') {
        Some((before, after)) => format!("{before}{number}{after}"),
        None => format!("{text}{number}"),
    }
}

/// The values between `first` and `last`, rising or falling: by a step, or doubled or halved each
/// time for `d`.
pub fn expand_range(first: f64, last: f64, step: &str) -> Option<Vec<f64>> {
    const MAX_VALUES: usize = 100_000;
    let mut values = Vec::new();
    let mut value = first;
    let doubling = step.eq_ignore_ascii_case("d");
    let increment = if doubling { 0.0 } else { parse_number(step, false)? };
    if doubling && first <= 0.0 || !doubling && increment <= 0.0 {
        return None;
    }
    let falls = last < first;
    while (if falls { value >= last } else { value <= last }) && values.len() < MAX_VALUES {
        values.push(value);
        value = match (doubling, falls) {
            (true, true) => value / 2.0,
            (true, false) => value * 2.0,
            (false, true) => value - increment,
            (false, false) => value + increment,
        };
    }
    (!values.is_empty() && values.len() < MAX_VALUES).then_some(values)
}

/// `sd1` to `sd4`: texts with the same beginning and a rising number at their end.
pub fn name_range(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |text: &str| {
        let at = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        Some((text[..at].to_owned(), text[at..].parse::<u32>().ok()?, text.len() - at))
    };
    let ((stem, from, width), (last_stem, to, _)) = (split(first)?, split(last)?);
    let fits = stem == last_stem && from < to && to - from < 100_000;
    let pad = if first[stem.len()..].starts_with('0') { width } else { 0 };
    fits.then(|| (from..=to).map(|number| format!("{stem}{number:0pad$}")).collect())
}

/// A number as `For loops:` shows it: in the largest unit that leaves at least 1, without needless
/// decimals.
pub fn format_loop_value(value: f64) -> String {
    if value < 0.0 {
        return format!("{}%", format_trimmed(-value));
    }
    let mut rest = value;
    let mut unit = "";
    for next in ["k", "m", "g", "t", "p"] {
        if rest < 1024.0 {
            break;
        }
        rest /= 1024.0;
        unit = next;
    }
    format!("{}{unit}", format_trimmed(rest))
}

fn format_trimmed(value: f64) -> String {
    // Halves are rounded up, as Java does.
    let text = format!("{:.3}", (value * 1000.0).round() / 1000.0);
    text.strip_suffix(".000").unwrap_or(&text).to_owned()
}

/// A rate as start lines and loops show it.
pub fn format_rate(rate: f64) -> String {
    match rate {
        _ if rate == MAX_RATE => "max".into(),
        _ if rate < 0.0 => format!("{}%", format_trimmed(-rate)),
        _ => format!("{}", rate as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes() {
        for (text, value) in [
            ("4k", 4096.0),
            ("4KB", 4096.0),
            ("1.5m", 1_572_864.0),
            ("50%", -50.0),
            ("2h", 7200.0),
            ("10", 10.0),
            ("1e2", 100.0),
            ("1.5E1k", 15_360.0),
        ] {
            assert_eq!(parse_number(text, false), Some(value), "{text}");
        }
        assert_eq!(parse_number("2m", true), Some(120.0));
        let too_large = ["99999999999t", "99999999999999999999", "1e400", "4k", "x"].map(is_too_large);
        assert_eq!(too_large, [true, true, true, false, false]);
        for text in ["", "k", "abc", "1e", "1e400", "nan", "4q", "inf", "99999999999t"] {
            assert_eq!(parse_number(text, false), None, "{text}");
        }
    }

    #[test]
    fn ranges_step_double_and_halve() {
        assert_eq!(expand_range(10.0, 50.0, "20"), Some(vec![10.0, 30.0, 50.0]));
        assert_eq!(
            expand_range(5.0, 100.0, "19"),
            Some(vec![5.0, 24.0, 43.0, 62.0, 81.0, 100.0])
        );
        assert_eq!(expand_range(100.0, 0.0, "40"), Some(vec![100.0, 60.0, 20.0]));
        assert_eq!(expand_range(1.0, 6.0, "d"), Some(vec![1.0, 2.0, 4.0]));
        assert_eq!(expand_range(4.0, 1.0, "d"), Some(vec![4.0, 2.0, 1.0]));
        assert_eq!(expand_range(0.0, 4.0, "d"), None);
        assert_eq!(expand_range(1.0, 4.0, "0"), None);
        assert_eq!(
            name_range("sd1", "sd3"),
            Some(vec!["sd1".into(), "sd2".into(), "sd3".into()])
        );
        assert_eq!(
            name_range("sd08", "sd10"),
            Some(vec!["sd08".into(), "sd09".into(), "sd10".into()])
        );
        assert_eq!(name_range("my", "disk"), None);
    }

    #[test]
    fn loops_show_sizes_in_short() {
        for (value, text) in [
            (512.0, "512"),
            (4096.0, "4k"),
            (1_572_864.0, "1.500m"),
            (-50.0, "50%"),
            (1024.0, "1k"),
        ] {
            assert_eq!(format_loop_value(value), text);
        }
        assert_eq!(format_rate(MAX_RATE), "max");
        assert_eq!(format_rate(-70.0), "70%");
    }
}
