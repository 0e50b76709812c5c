//! Formats numbers for sentences. The `report` crate formats the numbers of tables.

/// Formats a rate: from 100 on rounded, with thousands separators; below that like
/// [`format_number`].
pub(crate) fn format_rate(value: f64) -> String {
    if value < 99.95 {
        return format_number(value);
    }
    let digits = three_digits(value);
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a load or a factor: rounded from 100 on; below, with one decimal unless it is 0.
pub(crate) fn format_number(value: f64) -> String {
    let text = match value {
        v if v >= 99.95 => format!("{}", v.round()),
        v => format!("{v:.1}"),
    };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A number with the singular or plural of a word: `1 slot`, `2 slots`.
pub(crate) fn count(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Formats a time with three digits.
pub(crate) fn format_time(ns: f64) -> String {
    model::Nanos(ns.round().max(0.0) as u64).to_string()
}

/// Rounds to three significant digits.
pub fn round_to_three_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.abs().max(f64::MIN_POSITIVE).log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// A number with three significant digits.
pub(crate) fn three_digits(value: f64) -> String {
    format_number(round_to_three_digits(value))
}

/// A change as signed percent, or as a factor: `+36 %`, `-0.40 %`, `12 times`.
pub(crate) fn format_change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    // Near -100 % more digits are needed, so that a small remainder is not rounded to nothing.
    let left = ratio * 100.0;
    match percent.abs() {
        size if size < 0.005 => "0 %".into(),
        _ if ratio >= 4.0 => format!("{} times", three_digits(ratio)),
        _ if left > 0.0 && left < 9.5 => format!("{:+.*} %", (-left.log10()).ceil().clamp(1.0, 6.0) as usize, percent),
        size if size >= 9.95 => format!("{percent:+.0} %"),
        size if size >= 0.995 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(format_rate(146_234.4), "146,000");
        assert_eq!(format_rate(99.96), "100");
        assert_eq!(format_rate(8.0), "8");
        assert_eq!(format_number(4.866), "4.9");
        assert_eq!(format_number(105.2), "105");
        assert_eq!(format_time(33_333.3), "33.3 us");
        assert_eq!(
            [0, 1, 2].map(|number| count(number, "slot")),
            ["0 slots", "1 slot", "2 slots"]
        );
        assert_eq!(format_change(1.3644), "+36 %");
        assert_eq!(format_change(0.996), "-0.40 %");
        assert_eq!(format_change(0.95), "-5.0 %");
        assert_eq!(format_change(0.002), "-99.8 %");
        assert_eq!(format_change(0.000_5), "-99.95 %");
        assert_eq!(format_change(0.0), "-100 %");
        assert_eq!(format_change(0.999_999), "0 %");
    }
}
