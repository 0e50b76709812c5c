//! Axes of a chart: the range of values, the position of a value, and the positions of ticks.

use crate::html::chart::{Axis, Scale};
use crate::numbers::group_thousands;

/// Space beyond the outermost values, as a share of the axis.
const MARGIN: f64 = 0.05;
/// Target number of ticks.
const TICKS: f64 = 5.0;

/// An axis with its ends, which are numbers, logarithms, or positions of names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A tick: its position from 0 to 1, and its label.
pub(super) type PlacedTick = (f64, String);

impl Span {
    /// Spans the values of an axis of numbers, without a margin if `tight`.
    pub(super) fn from_numbers(axis: &Axis, values: impl Iterator<Item = f64>, tight: bool) -> Span {
        let is_log = axis.scale == Scale::Log;
        let usable = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let placed = usable.map(|value| if is_log { value.log10() } else { value });
        let (mut low, mut high) = placed.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if axis.from_zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if high - low < 1e-9 * high.abs().max(1e-9) {
            let half = if is_log { 0.3 } else { (0.5 * high.abs()).max(0.5) };
            (low, high) = (low - half, high + half);
            low = if axis.from_zero && low < 0.0 { 0.0 } else { low };
        } else if !tight {
            let margin = MARGIN * (high - low);
            low -= if axis.from_zero && low == 0.0 { 0.0 } else { margin };
            high += if axis.from_zero && high == 0.0 { 0.0 } else { margin };
        }
        Span {
            scale: axis.scale,
            low,
            high,
        }
    }

    pub(super) fn from_names(count: usize) -> Span {
        Span {
            scale: Scale::Names,
            low: 0.0,
            high: count.max(1) as f64,
        }
    }

    /// The position of a value: 0 at the low end, 1 at the high end. `None` for a value without a
    /// logarithm on a logarithmic axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => return None,
            Scale::Names => value + 0.5,
        };
        let place = (value - self.low) / (self.high - self.low);
        place.is_finite().then_some(place)
    }

    /// Ticks at round values, in rising order.
    pub(super) fn ticks(&self) -> Vec<PlacedTick> {
        let values = match self.scale {
            Scale::Names => Vec::new(),
            Scale::Linear => tick_multiples(self.low, self.high),
            Scale::Log => self.round_powers(),
        };
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let step = values
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(f64::INFINITY, f64::min);
        let placed = values.iter().filter_map(|value| {
            let (step, largest) = match self.scale {
                Scale::Log => (step.min(*value), *value),
                Scale::Linear | Scale::Names => (step, largest),
            };
            Some((self.place(*value)?, label(*value, step, largest)))
        });
        placed
            .filter(|(place, _)| (-1e-9..=1.0 + 1e-9).contains(place))
            .collect()
    }

    /// 1, 2 and 5 times powers of ten; only the powers over a wide range, and linear steps within a
    /// narrow one.
    fn round_powers(&self) -> Vec<f64> {
        let decades = self.high - self.low;
        let factors: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let every = (decades / 7.0).ceil().max(1.0) as i32;
        let kept = powers.filter(|power| power.rem_euclid(every) == 0);
        let candidates = kept.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        let is_in_range = |value: &f64| (self.low..=self.high).contains(&value.log10());
        let values: Vec<f64> = candidates.filter(is_in_range).collect();
        match values.len() {
            0..=2 => tick_multiples(10f64.powf(self.low), 10f64.powf(self.high)),
            _ => values,
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, about [`TICKS`] of them.
fn tick_multiples(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.99)
        .unwrap_or(rough);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|multiple| multiple as f64 * step).collect()
}

/// Formats a value with the digits that distinguish it from its neighbour at `step`. `largest`
/// selects the unit: thousands (`k`) or millions (`M`).
fn label(value: f64, step: f64, largest: f64) -> String {
    let (unit, suffix) = match largest {
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{:.digits$}", value / unit);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    match value {
        0.0 => "0".into(),
        _ => format!("{}{suffix}", group_thousands(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick_labels(axis: &Axis, values: &[f64], tight: bool) -> Vec<String> {
        let span = Span::from_numbers(axis, values.iter().copied(), tight);
        span.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_values() {
        let time = Axis::linear("time", "s");
        assert_eq!(tick_labels(&time, &[0.0, 30.0], true), ["0", "10", "20", "30"]);
        assert_eq!(tick_labels(&time, &[-2.0, 5.0], true), ["-2", "0", "2", "4"]);
        let rate = Axis::from_zero("rate", "IOPS");
        assert_eq!(
            tick_labels(&rate, &[310_000.0, 250_000.0], false),
            ["0", "100k", "200k", "300k"]
        );
        assert_eq!(tick_labels(&rate, &[1.0, 0.25], false), ["0", "0.5", "1"]);
        assert_eq!(
            tick_labels(&rate, &[2_400_000.0], false),
            ["0", "0.5M", "1M", "1.5M", "2M", "2.5M"]
        );
        let latency = Axis::log("latency", "ms");
        assert_eq!(
            tick_labels(&latency, &[0.09, 1.1], false),
            ["0.1", "0.2", "0.5", "1"],
            "factors of 1, 2 and 5"
        );
        assert_eq!(
            tick_labels(&latency, &[0.5, 50_000.0], false),
            ["1", "10", "100", "1,000", "10k"]
        );
        assert_eq!(
            tick_labels(&latency, &[110.0, 140.0], true),
            ["110", "120", "130", "140"]
        );
    }

    #[test]
    fn equal_values_still_have_an_axis() {
        for axis in [Axis::linear("x", ""), Axis::log("x", ""), Axis::from_zero("x", "")] {
            for values in [&[][..], &[7.0], &[0.0, 0.0], &[f64::NAN], &[-1.0, -1.0]] {
                let span = Span::from_numbers(&axis, values.iter().copied(), false);
                assert!(
                    span.low < span.high && span.low.is_finite(),
                    "{axis:?} {values:?} {span:?}"
                );
                assert!(span.ticks().len() <= 12, "{axis:?} {values:?}");
            }
        }
    }
}
