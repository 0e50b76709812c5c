//! fio's latency statistics: minimum, maximum, mean, deviation and percentiles, in a fitting unit.

use model::histogram::Histogram;

use super::bins;

/// The statistics of a latency in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub deviation: f64,
}

/// Nanoseconds, microseconds or milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Nano,
    Micro,
    Milli,
}

impl Spread {
    pub(super) fn from_histogram(histogram: &Histogram) -> Spread {
        Spread {
            count: histogram.n(),
            min: histogram.min(),
            max: histogram.max(),
            mean: histogram.mean(),
            deviation: histogram.sample_deviation(),
        }
    }

    /// The largest unit in which neither the minimum nor the deviation rounds to 0.
    pub(super) fn scale(&self) -> Scale {
        match self {
            _ if self.min > 2_000_000 && self.max > 99_999_999 && self.deviation > 1_000_000.0 => Scale::Milli,
            _ if self.min > 2_000 && self.max > 99_999 && self.deviation > 1_000.0 => Scale::Micro,
            _ => Scale::Nano,
        }
    }
}

impl Scale {
    pub(super) fn word(self) -> &'static str {
        match self {
            Scale::Nano => "nsec",
            Scale::Micro => "usec",
            Scale::Milli => "msec",
        }
    }

    pub(super) fn divisor(self) -> u64 {
        match self {
            Scale::Nano => 1,
            Scale::Micro => 1_000,
            Scale::Milli => 1_000_000,
        }
    }
}

/// Percentiles in a fitting unit, each with its percentage. As in fio, each division by 1000 rounds
/// up.
pub(super) fn scale_percentiles(histogram: &Histogram, list: &[f64]) -> (Scale, Vec<(f64, u64)>) {
    let values = bins::percentiles_of_bins(histogram, list);
    let (smallest, largest) = (values.first().copied(), values.last().copied());
    let (smallest, largest) = (smallest.unwrap_or(0), largest.unwrap_or(0));
    let scale = match () {
        () if smallest > 2_000_000 && largest > 99_999_999 => Scale::Milli,
        () if smallest > 2_000 && largest > 99_999 => Scale::Micro,
        () => Scale::Nano,
    };
    let scaled = |value: u64| match scale {
        Scale::Nano => value,
        Scale::Micro => value.div_ceil(1000),
        Scale::Milli => value.div_ceil(1000).div_ceil(1000),
    };
    let values = values.into_iter().map(scaled);
    (scale, list.iter().copied().zip(values).collect())
}
