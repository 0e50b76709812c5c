//! Formats numbers like fio: as many digits as fit, then a prefix, then a unit.
//! `tests/data/fio/numbers.tsv` has numbers that fio wrote.

/// The scale and unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Maximum characters of the number, including the decimal point.
    pub figures: usize,
    /// Prefixes of 1024 (`Ki`) instead of 1000 (`k`).
    pub binary: bool,
    /// The value is in units of 1024 (or 1000), so that it starts with the first prefix.
    pub thousands: bool,
    /// Unit to print after the number.
    pub unit: Unit,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing.
    None,
    /// `B`.
    Bytes,
    /// `B/s`.
    BytesPerSecond,
    /// `bit/s`; the value is still in bytes.
    BitsPerSecond,
}

impl Unit {
    fn word(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::BitsPerSecond => "bit/s",
        }
    }
}

const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

impl Style {
    /// Decimal prefixes and no unit: IOPS, and the smallest and largest latency.
    pub fn plain(figures: usize) -> Style {
        Style {
            figures,
            binary: false,
            thousands: false,
            unit: Unit::None,
        }
    }

    /// Formats a number in this style.
    pub fn write(self, value: u64) -> String {
        let divisor: u128 = if self.binary { 1024 } else { 1000 };
        // A count of bits may exceed 64 bits.
        let mut integer_part = u128::from(value) * if self.unit == Unit::BitsPerSecond { 8 } else { 1 };
        let mut prefix = usize::from(self.thousands);
        let mut remainder = None;
        while count_digits(integer_part) > self.figures && prefix + 1 < PREFIXES.len() {
            remainder = Some(integer_part % divisor);
            integer_part /= divisor;
            prefix += 1;
        }
        let number = match remainder {
            None => integer_part.to_string(),
            Some(rest) => format_with_decimals(integer_part, rest, divisor, self.figures),
        };
        format!("{number}{}{}", self.prefix(prefix), self.unit.word())
    }

    fn prefix(self, index: usize) -> String {
        match (index, self.binary) {
            (0, _) => String::new(),
            (_, false) => PREFIXES[index].to_owned(),
            (_, true) => format!("{}i", PREFIXES[index].to_uppercase()),
        }
    }
}

/// Formats a number with the decimals that fit; none if only the point would fit.
fn format_with_decimals(whole: u128, rest: u128, divisor: u128, figures: usize) -> String {
    let room = figures.saturating_sub(count_digits(whole));
    if room <= 1 {
        return (whole + u128::from(rest >= divisor / 2)).to_string();
    }
    let decimals = format!("{:.*}", room - 1, rest as f64 / divisor as f64);
    // Rounding may carry into the integer: 9.999 becomes 10.00, a character longer.
    let carried = u128::from(decimals.starts_with('1'));
    format!("{}{}", whole + carried, &decimals[1..])
}

fn count_digits(value: u128) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}
