//! The shares of a worker's streams in its operations, and their rates.

use model::plan::{Pacing, Rate, RateUnit, Stream};
use model::{Direction, Nanos};

/// A direction whose sizes and positions a stream has.
pub(super) fn pattern_direction(stream: &Stream) -> Direction {
    match stream.mix.includes(Direction::Read) {
        true => Direction::Read,
        false => Direction::Write,
    }
}

/// The rates of a stream, of all its directions.
pub(super) fn list_rates(stream: &Stream) -> Vec<Rate> {
    match stream.pacing {
        Pacing::Unpaced => Vec::new(),
        Pacing::Together { rate } => vec![rate],
        Pacing::PerDirection { rates } => rates.iter().filter_map(|(_, rate)| *rate).collect(),
    }
}

/// The pacing of a file set of this number of targets, each of which has the pacing of the stream.
pub(super) fn multiply_pacing(stream: &Stream, targets: u64) -> Pacing {
    let times = |rate: Rate| Rate {
        amount: rate.amount.saturating_mul(targets),
        ..rate
    };
    match stream.pacing {
        Pacing::Unpaced => Pacing::Unpaced,
        Pacing::Together { rate } => Pacing::Together { rate: times(rate) },
        Pacing::PerDirection { rates } => Pacing::PerDirection {
            rates: rates.map(|rate| (*rate).map(times)),
        },
    }
}

/// The rates of a stream, in operations.
pub(super) fn list_operation_rates(stream: &Stream) -> Vec<Rate> {
    let block = stream.fixed_length(pattern_direction(stream)).unwrap_or(4096).max(1);
    let in_operations = |rate: Rate| match rate.unit {
        RateUnit::Operations => rate,
        RateUnit::Bytes => Rate {
            per_ns: Nanos(rate.per_ns.0.saturating_mul(block)),
            unit: RateUnit::Operations,
            ..rate
        },
    };
    list_rates(stream).into_iter().map(in_operations).collect()
}

/// True if rates determine the shares of streams, so that weights have no effect.
pub(super) fn are_paced(streams: &[Stream]) -> bool {
    streams.iter().all(|stream| stream.pacing != Pacing::Unpaced)
}

/// The part of each stream in the operations of its worker: its rate, or its weight.
pub(super) fn stream_shares(streams: &[Stream]) -> Vec<f64> {
    let rate = |stream: &Stream| list_operation_rates(stream).iter().map(Rate::per_second).sum();
    let amount = |stream: &Stream| match are_paced(streams) {
        true => rate(stream),
        false => f64::from(stream.weight),
    };
    streams.iter().map(amount).collect()
}

/// Whole numbers for the shares of the streams of a worker: their weights, or percents.
pub(super) fn integer_weights(streams: &[Stream]) -> Vec<u32> {
    const SCALES: [f64; 5] = [1.0, 100.0, 1000.0, 10_000.0, 1e6];
    let amounts = stream_shares(streams);
    let total: f64 = amounts.iter().sum();
    let weights: Vec<u32> = streams.iter().map(|stream| stream.weight).collect();
    let sum: f64 = weights.iter().copied().map(f64::from).sum();
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let mut pairs = amounts.iter().zip(&weights);
    if pairs.all(|(amount, weight)| is_near(amount / total, f64::from(*weight) / sum)) {
        return weights;
    }
    let is_whole = |share: f64| is_near(share, share.round());
    let fits = |scale: &&f64| amounts.iter().all(|amount| is_whole(amount / total * **scale));
    let scale = SCALES.iter().find(fits).copied().unwrap_or(1e6);
    amounts
        .iter()
        .map(|amount| (amount / total * scale).round() as u32)
        .collect()
}
