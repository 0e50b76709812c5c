//! Compares the amounts that end a job: operations, bytes and passes. Dialects state the same
//! amount in different ways, so the operations that follow from all rules are compared as well.

use model::Direction;
use model::access::{Access, Advance};
use model::block_size::BlockSizes;
use model::mix::Mix;
use model::plan::{Dialect, Stop, Stream};

use super::{Difference, difference, difference_if, optional};
use crate::convert::compare::{Pair, StreamContext, known_size, multiply_rounds};
use crate::convert::words;
use crate::passes::{mean_length, operations_per_pass, operations_per_sweep};

/// Estimates of jobs with random lengths may differ by this share.
const ESTIMATE_TOLERANCE: f64 = 0.15;

pub(in crate::convert::compare) fn compare_bytes(pair: &Pair<'_>) -> Difference {
    compare_stop_rule(pair, |at| {
        optional(&effective_stop(at).bytes, |bytes| {
            format!("{} by each worker", words::format_size(bytes.0))
        })
    })
}

pub(in crate::convert::compare) fn compare_region_percent(pair: &Pair<'_>) -> Difference {
    compare_stop_rule(pair, |at| {
        optional(&effective_stop(at).region_percent, |percent| {
            format!("{percent} % of the region")
        })
    })
}

pub(in crate::convert::compare) fn compare_operations(pair: &Pair<'_>) -> Difference {
    compare_stop_rule(pair, |at| {
        optional(&effective_stop(at).operations, |count| {
            format!("{count} by each worker")
        })
    })
}

pub(in crate::convert::compare) fn compare_passes(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = compare_stop_rule(pair, |at| optional(&effective_stop(at).passes, u32::to_string))?;
    match (pair.from, wanted.as_str()) {
        // These dialects have no name for it.
        (Dialect::Vdbench | Dialect::Iometer, "1") => difference("it ends after a pass over its region", got),
        (Dialect::Vdbench | Dialect::Iometer, _) => difference(format!("it ends after {wanted} passes"), got),
        _ => difference(wanted, got),
    }
}

/// Compares one of the rules that end a job, unless all rules together mean the same operations.
fn compare_stop_rule(pair: &Pair<'_>, describe: fn(&StreamContext<'_>) -> String) -> Difference {
    let (wanted, got) = (describe(&pair.wanted), describe(&pair.got));
    match wanted.is_empty() || wanted == got || issues_same_amount(pair) {
        true => None,
        false => difference(wanted, got),
    }
}

/// Compares the operations that each worker issues, unless a rule that ends the job already
/// differs.
pub(in crate::convert::compare) fn compare_total(pair: &Pair<'_>) -> Difference {
    let rules: [fn(&Pair<'_>) -> Difference; 5] = [
        compare_bytes,
        compare_region_percent,
        compare_operations,
        compare_passes,
        super::compare_region,
    ];
    if issues_same_amount(pair) || rules.iter().any(|rule| rule(pair).is_some()) {
        return None;
    }
    let size = *sizes(pair).first()?;
    match (issued(&pair.wanted, size), issued(&pair.got, size)) {
        (Some(wanted), Some(got)) => difference(wanted.describe(), got.describe()),
        (Some(wanted), None) if pair.got.job.stop.after_ns.is_none() => difference(wanted.describe(), "no end"),
        (None, Some(got)) if is_unlimited(&pair.wanted) => difference("operations: no limit", got.describe()),
        _ => None,
    }
}

/// Compares whether an amount that is less than a pass repeats from the beginning.
pub(in crate::convert::compare) fn compare_rounds(pair: &Pair<'_>) -> Difference {
    let size = *sizes(pair).first()?;
    let repeats = |at: &StreamContext<'_>| {
        let stop = at.job.stop;
        let until_time = stop.repeat_until_time && stop.after_ns.is_some();
        let (_, area) = at.stream.region.resolve(size);
        let round = amount(at, &Stop { rounds: None, ..stop }, size);
        let sweep = operations_per_sweep(at.stream, area);
        let is_part = round.zip(sweep).is_some_and(|(round, sweep)| round.operations < sweep);
        (until_time || stop.rounds.unwrap_or(1) > 1) && is_part
    };
    difference_if(repeats(&pair.wanted), repeats(&pair.got), |repeats| match repeats {
        true => "each of several rounds passes over the same part from the beginning",
        false => "passes continue",
    })
}

/// Returns the stop rules that decide. If rounds repeat until the time ends, counts do not decide;
/// bytes or a region share equal to the passes are redundant.
fn effective_stop(at: &StreamContext<'_>) -> Stop {
    let mut stop = multiply_rounds(at.job.stop);
    if stop.repeat_until_time && stop.after_ns.is_some() {
        (stop.bytes, stop.region_percent, stop.operations, stop.passes) = (None, None, None, None);
    }
    if repeats_passes(at.stream, &stop) {
        stop.bytes = None;
    }
    if visits_each_byte_once(at.stream)
        && stop
            .passes
            .is_some_and(|passes| stop.region_percent == Some(100 * passes))
    {
        stop.region_percent = None;
    }
    stop
}

/// True if the bytes of a job only repeat its passes.
pub(in crate::convert) fn repeats_passes(stream: &Stream, stop: &Stop) -> bool {
    let length = stream.region.length.filter(|length| length.percent == 0.0);
    let files = stream.target.ids().len() as u64;
    let (Some(bytes), Some(passes), Some(length)) = (stop.bytes, stop.passes, length) else {
        return false;
    };
    let of_passes = length.bytes.0.checked_mul(files * u64::from(passes));
    Some(bytes.0) == of_passes && visits_each_byte_once(stream)
}

/// True if a pass moves each byte of the region once: blocks of one length without gaps or
/// overlaps.
fn visits_each_byte_once(stream: &Stream) -> bool {
    let pattern = &stream.pattern;
    let size = match &pattern.sizes[Direction::Read] {
        BlockSizes::Fixed { size } => *size,
        _ => return false,
    };
    let has_gaps = |access: &Access| match access {
        Access::Sequential(sequential) => {
            sequential.start.0 > 0 || !matches!(sequential.advance, Advance::Stride | Advance::Length { skip: 0 })
        }
        _ => !access.visits_once(),
    };
    let is_uneven = |direction: Direction| {
        pattern.sizes[direction] != BlockSizes::Fixed { size } || stream.alignment(direction) != size.0
    };
    let length = stream.region.length.map_or(0, |length| length.bytes.0);
    length.is_multiple_of(size.0.max(1))
        && !pattern.access.iter().any(has_gaps)
        && !stream.mix.directions().any(is_uneven)
}

/// The operations of a worker until its counts end it.
#[derive(Clone, Copy, Debug)]
struct IssuedAmount {
    operations: f64,
    bytes: f64,
    /// No random number decides them.
    is_exact: bool,
}

impl IssuedAmount {
    fn describe(&self) -> String {
        let about = if self.is_exact { "" } else { "about " };
        let size = words::format_size(self.bytes.round() as u64);
        format!("{about}{:.0} operations, {size}, by each worker", self.operations)
    }

    fn is_near(&self, other: &IssuedAmount) -> bool {
        let tolerance = match self.is_exact && other.is_exact {
            true => 1e-9,
            false => ESTIMATE_TOLERANCE,
        };
        let is_near = |a: f64, b: f64| (a - b).abs() <= tolerance * a.max(b);
        is_near(self.operations, other.operations) && is_near(self.bytes, other.bytes)
    }
}

fn issues_same_amount(pair: &Pair<'_>) -> bool {
    let is_same = |size: &u64| match (issued(&pair.wanted, *size), issued(&pair.got, *size)) {
        (Some(wanted), Some(got)) => wanted.is_near(&got),
        _ => false,
    };
    sizes(pair).iter().all(is_same)
}

/// The size of the target, or several to compare if it is unknown.
fn sizes(pair: &Pair<'_>) -> Vec<u64> {
    known_size(pair.wanted.target).map_or_else(|| vec![100 << 40, 300 << 40], |size| vec![size])
}

/// True if no count ends the job.
fn is_unlimited(at: &StreamContext<'_>) -> bool {
    let stop = at.job.stop;
    let has_count = stop.bytes.is_some() || stop.region_percent.is_some() || stop.operations.is_some();
    !(has_count || stop.passes.is_some()) || stop.repeat_until_time && stop.after_ns.is_some()
}

/// What a worker issues on targets of this size; `None` if no count ends it, or the number is
/// unknown.
fn issued(at: &StreamContext<'_>, size: u64) -> Option<IssuedAmount> {
    let stop = multiply_rounds(at.job.stop);
    let repeats = stop.repeat_until_time && stop.after_ns.is_some();
    amount(at, &stop, size).filter(|_| !repeats)
}

fn amount(at: &StreamContext<'_>, stop: &Stop, size: u64) -> Option<IssuedAmount> {
    let (worker, stream) = (at.worker, at.stream);
    let is_alike = |other: &Stream| {
        other.pattern == stream.pattern && other.mix == stream.mix && other.region.length == stream.region.length
    };
    let is_known = stream.replay.is_none() && stream.files.is_none() && stream.mix != Mix::TrimThenWrite;
    if !is_known || !worker.streams.iter().all(is_alike) {
        return None;
    }
    let (_, area) = stream.region.resolve(size);
    let targets: usize = worker.streams.iter().map(|stream| stream.target.ids().len()).sum();
    let lengths = stream.mix.directions().map(|direction| stream.fixed_length(direction));
    let lengths: Vec<Option<u64>> = lengths.collect();
    let is_exact = lengths.iter().all(|length| length.is_some() && *length == lengths[0]);
    let length = mean_length(stream);
    let pass = operations_per_pass(stream, area);
    let all = targets as f64;
    let share = |percent: u32| area as f64 * all * f64::from(percent) / 100.0;
    let byte_limits = [stop.bytes.map(|bytes| bytes.0 as f64), stop.region_percent.map(share)];
    let of_bytes = byte_limits.into_iter().flatten().map(|bytes| match is_exact {
        true => (bytes / length).ceil(),
        false => bytes / length,
    });
    let of_passes = stop
        .passes
        .zip(pass)
        .map(|(passes, pass)| f64::from(passes) * pass * all);
    let counts = of_bytes
        .chain(of_passes)
        .chain(stop.operations.map(|count| count as f64));
    let operations = counts.min_by(f64::total_cmp)?;
    Some(IssuedAmount {
        operations,
        bytes: operations * length,
        is_exact,
    })
}
