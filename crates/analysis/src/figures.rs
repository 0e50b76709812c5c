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

/// Formats a moment of the measured window: `14:54:21 UTC (25.0 s)`. Without a known start, it has
/// no time of day: `25.0 s`.
pub(crate) fn format_moment(start_unix_ns: Option<u64>, at_secs: f64, decimals: usize) -> String {
    let position = format!("{at_secs:.decimals$} s");
    match start_unix_ns {
        Some(start) => {
            let unix_secs = start.saturating_add((at_secs * 1e9) as u64) / 1_000_000_000;
            let (hours, minutes, seconds) = (unix_secs / 3600 % 24, unix_secs / 60 % 60, unix_secs % 60);
            format!("{hours:02}:{minutes:02}:{seconds:02} UTC ({position})")
        }
        None => position,
    }
}

/// A list names at most this many moments.
const MAX_MOMENTS: usize = 5;

/// Lists moments of the measured window: `7.0 s, 15.0 s and later`.
pub(crate) fn list_moments(start_unix_ns: Option<u64>, moments: &[f64]) -> String {
    let named = moments.iter().take(MAX_MOMENTS);
    let named: Vec<String> = named.map(|at| format_moment(start_unix_ns, *at, 1)).collect();
    let suffix = if moments.len() > MAX_MOMENTS { " and later" } else { "" };
    format!("{}{suffix}", named.join(", "))
}

/// Describes stalls, from their starts and lengths in seconds. The form is `for 0.4 to 0.8 s, 5
/// times (5 % of the time), at 7.0 s, 15.0 s`.
pub(crate) fn describe_stalls(start_unix_ns: Option<u64>, stalls: &[(f64, f64)], window_secs: f64) -> String {
    let moments: Vec<f64> = stalls.iter().map(|(at, _)| *at).collect();
    let moments = list_moments(start_unix_ns, &moments);
    let lengths = || stalls.iter().map(|(_, length)| *length);
    let [shortest, longest] =
        [lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max)].map(|length| format!("{length:.1}"));
    let range = match shortest == longest {
        true => longest,
        false => format!("{shortest} to {longest}"),
    };
    if stalls.len() < 2 {
        return format!("for {range} s, at {moments}");
    }
    let share = three_digits(100.0 * lengths().sum::<f64>() / window_secs.max(1e-9));
    format!(
        "for {range} s, {} times ({share} % of the time), at {moments}",
        stalls.len()
    )
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
pub fn format_change(ratio: f64) -> String {
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
    fn moments_have_a_time_of_day_if_it_is_known() {
        let start = Some(1_795_964_034_635_392_157);
        assert_eq!(format_moment(start, 25.0, 1), "14:54:19 UTC (25.0 s)");
        assert_eq!(format_moment(None, 25.04, 0), "25 s");
        let stalls = [(7.0, 0.8), (15.0, 0.4)];
        assert_eq!(
            describe_stalls(None, &stalls, 60.0),
            "for 0.4 to 0.8 s, 2 times (2 % of the time), at 7.0 s, 15.0 s"
        );
        assert_eq!(
            describe_stalls(start, &stalls[..1], 60.0),
            "for 0.8 s, at 14:54:01 UTC (7.0 s)"
        );
        assert!(list_moments(None, &[1.0; 6]).ends_with("1.0 s and later"));
    }

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
