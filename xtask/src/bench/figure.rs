//! A measured figure with its goal.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) row: &'static str,
    /// Description of the measurement.
    pub(crate) what: String,
    #[serde(rename = "wanted")]
    pub(crate) goal: Goal,
    /// Its value; absent if it could not be measured.
    pub(crate) found: Option<f64>,
    /// Unit; empty for ratios.
    pub(crate) unit: &'static str,
    /// The absolute figures, or the reason for a missing value.
    #[serde(rename = "beside")]
    pub(crate) detail: String,
    /// The figure of each pair, in order.
    pub(crate) samples: Vec<f64>,
}

/// The goal of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
    /// No goal; only recorded.
    Nothing,
}

impl Goal {
    /// The goal as text, with the unit.
    pub(crate) fn describe(self, unit: &str) -> String {
        match self {
            Goal::AtLeast(min) => format!("≥ {}", amount(min, unit)),
            Goal::AtMost(max) => format!("≤ {}", amount(max, unit)),
            Goal::Between(min, max) => format!("{} – {}", amount(min, ""), amount(max, unit)),
            Goal::Nothing => "–".to_owned(),
        }
    }

    /// Compares a value with the goal.
    pub(crate) fn verdict(self, found: f64) -> Verdict {
        let missed = |bound: f64| Verdict::Missed(((found - bound) / bound).abs());
        match self {
            Goal::Nothing => Verdict::Recorded,
            Goal::AtLeast(min) | Goal::Between(min, _) if found < min => missed(min),
            Goal::AtMost(max) | Goal::Between(_, max) if found > max => missed(max),
            Goal::AtLeast(_) | Goal::AtMost(_) | Goal::Between(..) => Verdict::Met,
        }
    }
}

/// How a figure compares with its goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Met,
    /// Missed by this share of the bound.
    Missed(f64),
    Recorded,
}

impl Figure {
    /// A figure that was measured.
    pub(crate) fn new(row: &'static str, what: impl Into<String>, goal: Goal, found: Option<f64>) -> Figure {
        Figure {
            row,
            what: what.into(),
            goal,
            found,
            unit: "",
            detail: String::new(),
            samples: Vec::new(),
        }
    }

    /// A row that could not be measured.
    pub(crate) fn absent(row: &'static str, why: impl std::fmt::Display) -> Figure {
        Figure::new(row, "not measured", Goal::Nothing, None).with_detail(why.to_string())
    }

    pub(crate) fn unit(self, unit: &'static str) -> Figure {
        Figure { unit, ..self }
    }

    pub(crate) fn with_detail(self, detail: impl Into<String>) -> Figure {
        Figure {
            detail: detail.into(),
            ..self
        }
    }

    pub(crate) fn samples(self, samples: Vec<f64>) -> Figure {
        Figure { samples, ..self }
    }

    pub(crate) fn verdict(&self) -> String {
        match self.found.map(|found| self.goal.verdict(found)) {
            None => "not measured".to_owned(),
            Some(Verdict::Met) => "met".to_owned(),
            // A share of 0 is meaningless.
            Some(Verdict::Missed(by)) if !by.is_finite() => "missed".to_owned(),
            Some(Verdict::Missed(by)) => format!("missed by {} %", digits(by * 100.0)),
            Some(Verdict::Recorded) => "recorded".to_owned(),
        }
    }
}

/// A figure with its unit: `1.31×`, `187`, `3.2 µs`.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    match unit {
        "" => digits(value),
        "×" => format!("{}×", digits(value)),
        unit => format!("{} {unit}", digits(value)),
    }
}

/// Formats three significant digits.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => grouped(value.round()),
        size if size >= 10.0 => trimmed(format!("{value:.1}")),
        size if size >= 1.0 => trimmed(format!("{value:.2}")),
        size if size >= 0.01 => trimmed(format!("{value:.3}")),
        _ => format!("{value:.1e}"),
    }
}

fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Adds commas between thousands.
fn grouped(whole: f64) -> String {
    let text = format!("{:.0}", whole.abs());
    let mut out = if whole < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_itself_is_met() {
        assert_eq!(Goal::AtLeast(2.0).verdict(2.0), Verdict::Met);
        assert_eq!(Goal::AtMost(2.0).verdict(2.0), Verdict::Met);
        assert_eq!(Goal::Between(0.9, 1.1).verdict(1.0), Verdict::Met);
        assert_eq!(Goal::Nothing.verdict(7.0), Verdict::Recorded);
    }

    #[test]
    fn a_miss_has_its_extent() {
        assert_eq!(Goal::AtLeast(2.0).verdict(1.0), Verdict::Missed(0.5));
        assert_eq!(Goal::AtMost(2.0).verdict(3.0), Verdict::Missed(0.5));
        assert_eq!(Goal::Between(1.0, 2.0).verdict(2.5), Verdict::Missed(0.25));
        let figure = Figure::new("null", "x", Goal::AtLeast(8.0), Some(6.0));
        assert_eq!(figure.verdict(), "missed by 25 %");
        let figure = Figure::new("counts", "x", Goal::AtMost(0.0), Some(6.0));
        assert_eq!(figure.verdict(), "missed");
    }

    #[test]
    fn numbers_have_their_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.003, "3.0e-3"),
            (0.6512, "0.651"),
            (1.0, "1"),
            (2.345, "2.35"),
            (12.34, "12.3"),
            (187.2, "187"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(digits(value), text);
        }
        assert_eq!(amount(1.5, "×"), "1.5×");
        assert_eq!(amount(3.0, "µs"), "3 µs");
    }
}
