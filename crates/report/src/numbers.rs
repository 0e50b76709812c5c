//! Formats numbers for people. Programs get plain digits.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::Nanos;

/// Formats a count with commas between thousands.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Converts an RFC 3339 or DiskSpd timestamp to local time with its zone.
///
/// fio's timestamps are already local, in an unknown zone, and are only reformatted. Other text
/// stays unchanged.
pub fn local_time(moment: &str) -> String {
    let parse_diskspd = |moment| DateTime::strptime("%Y/%m/%d %H:%M:%S UTC", moment)?.to_zoned(TimeZone::UTC);
    let parse_fio = |moment| DateTime::strptime("%a %b %e %H:%M:%S %Y", moment);
    let timestamp = moment.parse::<Timestamp>();
    match timestamp.or_else(|_| parse_diskspd(moment).map(|zoned| zoned.timestamp())) {
        Ok(timestamp) => timestamp
            .to_zoned(TimeZone::system())
            .strftime("%Y-%m-%d %H:%M %Z")
            .to_string(),
        Err(_) => parse_fio(moment).map_or_else(
            |_| moment.to_owned(),
            |moment| moment.strftime("%Y-%m-%d %H:%M").to_string(),
        ),
    }
}

/// Words before numbers that are names instead of counts.
const WORDS_BEFORE_NAMES: [&str; 4] = ["pid", "port", "line", "seed"];

/// Adds commas between thousands to the numbers of a sentence, except in dates, names and
/// fractions.
pub fn group_thousands(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + 8);
    let is_digit = |letter: &char| letter.is_ascii_digit();
    let mut rest = words;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let digits: String = from.chars().take_while(is_digit).collect();
        let after = &from[digits.len()..];
        out += before;
        let stands_alone = |letter: Option<char>| {
            !letter.is_some_and(|letter| letter.is_alphanumeric() || "-_/:.,=\\".contains(letter))
        };
        let mut following = after.chars();
        let next = following.next();
        let is_end = match next {
            // The end of a sentence or clause; in names such as `1.txt` a letter follows.
            Some('.' | ',') => following.next().is_none_or(|letter| !letter.is_alphabetic()),
            next => stands_alone(next),
        };
        let word = out.trim_end().rsplit(' ').next().unwrap_or_default();
        // The value of an option must stay a number that the option accepts.
        let named = word.starts_with("--") || WORDS_BEFORE_NAMES.iter().any(|ending| word.ends_with(ending));
        let groups = digits.len() > 3 && stands_alone(out.chars().next_back()) && is_end && !named;
        out += &match digits.parse() {
            Ok(value) if groups => count(value),
            _ => digits.clone(),
        };
        rest = after;
    }
    out + rest
}

/// Formats a rate: no decimals from 100, one from 10, two below.
pub fn rate(value: f64) -> String {
    match value {
        v if v >= 99.95 => count(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Formats a rate with three significant digits, for tables with many rates.
pub fn format_rough(value: f64) -> String {
    // Below 1000, `rate` writes at most three digits as well.
    let unit = 10f64.powf((value.max(100.0).log10() - 2.0).floor());
    if value < 1000.0 {
        rate(value)
    } else {
        rate((value / unit).round() * unit)
    }
}

/// Formats a throughput in MB/s or MiB/s: no decimals from 1000, one from 10, two below.
pub fn throughput(value: f64) -> String {
    match value {
        v if v >= 999.95 => count(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Formats a time with three significant digits: `12.3 us`.
pub fn format_time(nanos: f64) -> String {
    Nanos(nanos.round() as u64).to_string()
}

/// A length rounded up to whole seconds, for the time that is left.
pub(crate) fn whole_seconds(length: Nanos) -> Nanos {
    Nanos(length.0.div_ceil(1_000_000_000) * 1_000_000_000)
}

/// Formats a duration like a clock: `15 ms`, `4.2 s`, `1:05`, `2:00:00`.
pub fn duration(length: Nanos) -> String {
    let seconds = length.as_secs().round() as u64;
    match seconds {
        _ if length < Nanos::secs(1) && length > Nanos(0) => length.to_string(),
        0..60 if length.0.is_multiple_of(1_000_000_000) => format!("{seconds} s"),
        0..60 => format!("{} s", (length.as_secs() * 10.0).round() / 10.0),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// Formats a duration within a sentence: `15 ms`, `4.2 s`, `5 min`, `1:05 min`, `2 h`.
pub fn duration_with_unit(length: Nanos) -> String {
    let seconds = length.as_secs().round() as u64;
    match seconds {
        0..60 => duration(length),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min", duration(length)),
        _ if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        _ => format!("{} h", duration(length)),
    }
}

/// Formats a number with the singular or plural of a word.
pub fn pluralize(number: u64, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{} {word}s", count(number))
    }
}

/// Formats a time that may be negative.
pub fn signed_time(ns: i64) -> String {
    match ns {
        0.. => format_time(ns as f64),
        _ => format!("-{}", format_time(-ns as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_thousands_skips_names_and_fractions() {
        for (ungrouped, grouped) in [
            ("iops >= 60000", "iops >= 60,000"),
            (
                "35306 (35293 to 35318) is below 60000 (>= 59400 passes)",
                "35,306 (35,293 to 35,318) is below 60,000 (>= 59,400 passes)",
            ),
            (
                "79999 operations; 1000000 are needed.",
                "79,999 operations; 1,000,000 are needed.",
            ),
            ("3999.9 IOPS of 4000, p99.9999", "3,999.9 IOPS of 4,000, p99.9999"),
            (
                "on 2026-11-27 by cargo (pid 2743), /dev/sd1234, port 7744, Standard_E6400",
                "on 2026-11-27 by cargo (pid 2743), /dev/sd1234, port 7744, Standard_E6400",
            ),
            ("1,234,567 and 0.12345", "1,234,567 and 0.12345"),
            (
                "repeat with --rate 2000, 4000 are due",
                "repeat with --rate 2000, 4,000 are due",
            ),
        ] {
            assert_eq!(group_thousands(ungrouped), grouped);
        }
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
    }

    #[test]
    fn small_rates_keep_their_digits() {
        assert_eq!(rate(123_456.4), "123,456");
        assert_eq!(rate(99.94), "99.9");
        assert_eq!(rate(99.96), "100");
        assert_eq!(rate(9.994), "9.99");
        assert_eq!(format_rough(123_456.4), "123,000");
        assert_eq!(format_rough(999.6), "1,000");
        assert_eq!((format_rough(12.34), format_rough(0.0)), ("12.3".into(), "0.00".into()));
        assert_eq!(throughput(512.34), "512.3");
        assert_eq!(throughput(0.5), "0.50");
        assert_eq!(throughput(999.94), "999.9");
        assert_eq!(throughput(1251.07), "1,251");
    }

    #[test]
    fn durations_look_like_a_clock() {
        assert_eq!(duration(Nanos(0)), "0 s");
        assert_eq!(duration(Nanos::millis(15)), "15 ms");
        assert_eq!(duration(Nanos::secs(4)), "4 s");
        assert_eq!(duration(Nanos::millis(4_200)), "4.2 s");
        assert_eq!(duration(Nanos::secs(65)), "1:05");
        assert_eq!(duration(Nanos::millis(120_400)), "2:00");
        assert_eq!(duration(Nanos::secs(7_200)), "2:00:00");
    }
}
