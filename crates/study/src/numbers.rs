//! Formats numbers for the sentences of studies.

use model::Nanos;

/// Formats a number with at least three significant digits, and commas between thousands.
pub(crate) fn format_number(value: f64) -> String {
    let text = match value >= 100.0 {
        true => value.round().to_string(),
        false => format!("{value:.1}"),
    };
    // Thousands are grouped as in the tables.
    let (integer, decimals) = text.split_once('.').unwrap_or((text.as_str(), ""));
    let mut grouped = String::new();
    for (index, digit) in integer.chars().enumerate() {
        if index > 0 && (integer.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match decimals {
        "" => grouped,
        decimals => format!("{grouped}.{decimals}"),
    }
}

/// Nanoseconds in the unit that keeps them readable.
pub(crate) fn format_time(ns: f64) -> String {
    Nanos(ns.round() as u64).to_string()
}

/// Formats bytes per second in both units, to avoid confusion.
pub(crate) fn format_throughput(bytes_per_sec: f64) -> String {
    let (mib, mb) = (bytes_per_sec / f64::from(1 << 20), bytes_per_sec / 1e6);
    format!("{} MiB/s ({} MB/s)", format_two_decimals(mib), format_two_decimals(mb))
}

fn format_two_decimals(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else {
        format_number(value)
    }
}
