//! Dates of entries, as precise as their sources. Callers pass in the current day.

use std::fmt;

use model::JsonSchema;
use serde::{Deserialize, Serialize};

/// Age in months from which an entry is outdated: vendors raise their limits every year or two.
pub const MAX_AGE_MONTHS: i32 = 12;

/// A day, a month or a year: `2026-11-21`, `2025-09`, `2023`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "String")]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: i16,
    month: Option<i8>,
    day: Option<i8>,
}

impl Date {
    /// A day.
    pub fn day(year: i16, month: i8, day: i8) -> Date {
        Date {
            year,
            month: Some(month),
            day: Some(day),
        }
    }

    /// Whole months from this date to another. For a date without day or month, the last day
    /// counts.
    pub fn months_until(self, other: Date) -> i32 {
        let (year, month, day) = (i32::from(self.year), self.month.unwrap_or(12), self.day.unwrap_or(31));
        let (to_year, to_month, to_day) = (
            i32::from(other.year),
            other.month.unwrap_or(12),
            other.day.unwrap_or(31),
        );
        let months = (to_year - year) * 12 + i32::from(to_month) - i32::from(month);
        months - i32::from(to_day < day)
    }

    /// True if the date is at least [`MAX_AGE_MONTHS`] before `today`.
    pub fn is_old_on(self, today: Date) -> bool {
        self.months_until(today) >= MAX_AGE_MONTHS
    }
}

impl TryFrom<String> for Date {
    type Error = String;

    fn try_from(text: String) -> Result<Date, String> {
        let wrong = || format!("`{text}` is not a date; write 2026-11-21, 2026-11 or 2026");
        let mut parts = text.split('-');
        let year = parts.next().filter(|year| year.len() == 4).ok_or_else(wrong)?;
        let mut number = |max: i8| match parts.next() {
            None => Ok(None),
            Some(text) => match text.parse::<i8>() {
                Ok(value) if text.len() == 2 && (1..=max).contains(&value) => Ok(Some(value)),
                _ => Err(wrong()),
            },
        };
        let (month, day) = (number(12)?, number(31)?);
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Date {
            year: year.parse().map_err(|_| wrong())?,
            month,
            day,
        })
    }
}

impl From<Date> for String {
    fn from(date: Date) -> String {
        date.to_string()
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}", self.year)?;
        if let Some(month) = self.month {
            write!(out, "-{month:02}")?;
        }
        match self.day {
            Some(day) => write!(out, "-{day:02}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        Date::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn an_entry_is_old_after_twelve_months() {
        let today = Date::day(2026, 11, 22);
        for (text, old) in [
            ("2026-11-21", false),
            ("2025-11-23", false),
            ("2025-11-22", true),
            // The last possible day counts, because the entry may be that new.
            ("2025-11", false),
            ("2025-10", true),
            ("2025", false),
            ("2024", true),
        ] {
            assert_eq!(date(text).is_old_on(today), old, "{text}");
        }
    }

    #[test]
    fn dates_are_read_as_they_are_written() {
        for text in ["2026-11-21", "2025-09", "2023"] {
            assert_eq!(date(text).to_string(), text);
        }
        for text in [
            "", "26-11-21", "2026-13", "2026-1", "2026-11-32", "2026-11-21-1", "yesterday",
        ] {
            assert!(Date::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
