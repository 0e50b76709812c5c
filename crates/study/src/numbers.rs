//! Numbers in the sentences of studies.

use model::Nanos;

/// A figure with three or more digits and commas between thousands.
pub(crate) fn rounded(value: f64) -> String {
    let digits = if value >= 100.0 { 0 } else { 1 };
    let text = if digits == 0 {
        format!("{}", value.round())
    } else {
        format!("{value:.1}")
    };
    // Groups of three from the right, as in the tables.
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match rest {
        "" => grouped,
        rest => format!("{grouped}.{rest}"),
    }
}

/// Nanoseconds in the unit that keeps them readable.
pub(crate) fn time(ns: f64) -> String {
    Nanos(ns.round() as u64).to_string()
}

/// Bytes per second in both units, so that none has to be guessed.
pub(crate) fn throughput(bytes_per_sec: f64) -> String {
    let (mib, mb) = (bytes_per_sec / f64::from(1 << 20), bytes_per_sec / 1e6);
    format!("{} MiB/s ({} MB/s)", two(mib), two(mb))
}

fn two(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else {
        rounded(value)
    }
}
