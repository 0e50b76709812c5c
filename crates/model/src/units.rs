//! Bytes and nanoseconds, and their syntax in native job files and flags. Model and engines count
//! only in bytes, nanoseconds and operations. Units follow IEC: `KiB` is 1024 and `kB` is 1000. A
//! bare `k` is 1024, as in every storage tool. The dialects have their own unit rules.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of bytes, or a position in a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A length of time, or an instant counted from the origin of a clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Bytes {
    /// `count` times 1024 bytes.
    pub const fn kib(count: u64) -> Bytes {
        Bytes(count << 10)
    }
    /// `count` times 1024² bytes.
    pub const fn mib(count: u64) -> Bytes {
        Bytes(count << 20)
    }
    /// `count` times 1024³ bytes.
    pub const fn gib(count: u64) -> Bytes {
        Bytes(count << 30)
    }
}

impl Nanos {
    /// Later than any instant a run can reach.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// `count` microseconds.
    pub const fn micros(count: u64) -> Nanos {
        Nanos(count.saturating_mul(1_000))
    }
    /// `count` milliseconds.
    pub const fn millis(count: u64) -> Nanos {
        Nanos(count.saturating_mul(1_000_000))
    }
    /// `count` seconds.
    pub const fn secs(count: u64) -> Nanos {
        Nanos(count.saturating_mul(1_000_000_000))
    }
    /// The value in seconds, for rates.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The time since `earlier`; zero if `earlier` is later.
    #[inline(always)]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    /// Saturates, so that a sum with [`Nanos::NEVER`] is `NEVER`.
    #[inline(always)]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

const BINARY: [(&str, u64); 5] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl fmt::Display for Bytes {
    /// The largest binary unit that divides the value, else that unit with two decimals: `4 KiB`,
    /// `1.50 GiB`, `513 B`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = BINARY
            .iter()
            .find(|(_, unit)| self.0 >= *unit)
            .copied()
            .unwrap_or(("B", 1));
        let text = if self.0.is_multiple_of(unit) {
            format!("{} {name}", self.0 / unit)
        } else {
            format!("{:.2} {name}", self.0 as f64 / unit as f64)
        };
        out.pad(&text)
    }
}

impl fmt::Display for Nanos {
    /// Up to three digits in the unit that suits the number: `12.3 us`, `1.5 ms`, `2 s`, `5 min`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        let text = match nanos {
            0..1_000 => format!("{nanos} ns"),
            1_000..1_000_000 => format_scaled(nanos, 1e3, "us"),
            1_000_000..1_000_000_000 => format_scaled(nanos, 1e6, "ms"),
            _ if nanos.is_multiple_of(3_600_000_000_000) => format!("{} h", nanos / 3_600_000_000_000),
            _ if nanos.is_multiple_of(60_000_000_000) => format!("{} min", nanos / 60_000_000_000),
            _ => format_scaled(nanos, 1e9, "s"),
        };
        out.pad(&text)
    }
}

fn format_scaled(nanos: u64, unit: f64, name: &str) -> String {
    let value = nanos as f64 / unit;
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let digits = format!("{value:.decimals$}");
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits} {name}")
}

/// Why a size, a time or a rate is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text does not start with a number.
    #[error("`{0}` does not start with a number")]
    NoNumber(String),
    /// The unit is not in the list.
    #[error("`{unit}` is not a unit here; use one of {known}")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The valid units.
        known: &'static str,
    },
    /// The value is negative, not a number, or does not fit in 64 bits.
    #[error("`{0}` is too large or not a usable number")]
    OutOfRange(String),
    /// The value is not a whole number of bytes or nanoseconds.
    #[error("`{0}` is not a whole number of {1}")]
    NotWhole(String, &'static str),
}

/// Splits `4.5 KiB` into the number and the unit.
fn number_and_unit(text: &str) -> Result<(f64, &str), UnitError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(end);
    let digits = digits.replace('_', "");
    let number: f64 = digits.parse().map_err(|_| UnitError::NoNumber(text.to_owned()))?;
    Ok((number, unit.trim()))
}

fn whole(number: f64, unit: u64, text: &str, what: &'static str) -> Result<u64, UnitError> {
    let value = number * unit as f64;
    if !value.is_finite() || !(0.0..=9.0e18).contains(&value) {
        return Err(UnitError::OutOfRange(text.to_owned()));
    }
    // Numbers up to 2^53 are exact in f64; larger ones occur only as round figures such as `8 PiB`.
    if (value - value.round()).abs() > 1e-6 * value.max(1.0) {
        return Err(UnitError::NotWhole(text.to_owned(), what));
    }
    Ok(value.round() as u64)
}

/// Bytes in one of the units `B`, `KiB` … `PiB` (1024) or `kB` … `PB` (1000); `k`, `m`, `g`, `t`,
/// `p` alone are 1024.
fn byte_unit(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let (prefix, base) = match lower.strip_suffix('b') {
        None => (lower.as_str(), 1024u64),
        Some(rest) => match rest.strip_suffix('i') {
            Some(prefix) => (prefix, 1024),
            None => (rest, 1000),
        },
    };
    let prefix = prefix.strip_suffix('i').unwrap_or(prefix);
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|p| *p == prefix)?;
    Some(base.pow(power as u32))
}

impl FromStr for Bytes {
    type Err = UnitError;
    /// Reads `4096`, `4k`, `4KiB`, `4kB` (4000), `1.5 GiB`.
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let (number, unit) = number_and_unit(text)?;
        let factor = byte_unit(unit).ok_or_else(|| UnitError::UnknownUnit {
            unit: unit.to_owned(),
            known: "k, m, g, t or KiB, MiB, GiB, TiB (1024), kB, MB, GB, TB (1000), B",
        })?;
        whole(number, factor, text, "bytes").map(Bytes)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    /// Reads `60` (seconds), `60s`, `250ms`, `80us`, `5 min`, `2h`.
    fn from_str(text: &str) -> Result<Nanos, UnitError> {
        let (number, unit) = number_and_unit(text)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "s" | "sec" | "second" | "seconds" => 1_000_000_000,
            "ns" => 1,
            "us" | "µs" | "usec" => 1_000,
            "ms" | "msec" => 1_000_000,
            "m" | "min" | "minute" | "minutes" => 60_000_000_000,
            "h" | "hour" | "hours" => 3_600_000_000_000,
            _ => {
                return Err(UnitError::UnknownUnit {
                    unit: unit.to_owned(),
                    known: "ns, us, ms, s, m, h",
                });
            }
        };
        whole(number, factor, text, "nanoseconds").map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_by_iec() {
        let check = |text: &str, expected: u64| assert_eq!(text.parse::<Bytes>().unwrap().0, expected, "{text}");
        check("4096", 4096);
        check("4k", 4096);
        check("4KiB", 4096);
        check("4ki", 4096);
        check("4kB", 4000);
        check("1.5 GiB", 3 << 29);
        check("10TB", 10_000_000_000_000);
        check("1_000", 1000);
        for bad in ["", "KiB", "-4k", "4x", "0.3", "99999999999999TiB", "4k4"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_parsed_with_seconds_as_default() {
        let check = |text: &str, expected: u64| assert_eq!(text.parse::<Nanos>().unwrap().0, expected, "{text}");
        check("60", 60_000_000_000);
        check("250ms", 250_000_000);
        check("1.5us", 1_500);
        check("2 min", 120_000_000_000);
        check("1h", 3_600_000_000_000);
        for bad in ["", "s", "-1s", "1 day", "0.5ns"] {
            assert!(bad.parse::<Nanos>().is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_shown_in_a_suitable_unit() {
        let sizes = [
            (0, "0 B"),
            (513, "513 B"),
            (4096, "4 KiB"),
            (1536 << 20, "1.50 GiB"),
            (1 << 40, "1 TiB"),
        ];
        for (bytes, expected) in sizes {
            assert_eq!(Bytes(bytes).to_string(), expected);
        }
        let times = [
            (999, "999 ns"),
            (12_340, "12.3 us"),
            (1_500_000, "1.5 ms"),
            (2_000_000_000, "2 s"),
        ];
        for (nanos, expected) in times {
            assert_eq!(Nanos(nanos).to_string(), expected);
        }
        assert_eq!(Nanos::secs(300).to_string(), "5 min");
        assert_eq!(Nanos::secs(7200).to_string(), "2 h");
        assert_eq!(Nanos(119_600_000_000).to_string(), "120 s");
    }
}
