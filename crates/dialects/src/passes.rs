//! The operations that a stream issues in a pass over its region.

use model::access::{Access, Advance, AtEnd, OnceMethod, Placement, PositionSharing};
use model::plan::Stream;
use model::{Direction, PerDirection};

/// The operations of one pass over an area; `None` if it has no end, or random numbers decide it.
pub(crate) fn operations_per_pass(stream: &Stream, area: u64) -> Option<f64> {
    let direction = stream.mix.directions().next()?;
    let length = stream.fixed_length(direction);
    match stream.access(direction) {
        Access::Sequential(walk) if walk.at_end == AtEnd::Wrap => None,
        // Random numbers decide which direction reaches the end first.
        Access::Sequential(walk)
            if walk.positions == PositionSharing::PerDirection && stream.mix.directions().count() > 1 =>
        {
            None
        }
        Access::Sequential(walk) => match (walk.advance, length) {
            // A gap beyond the end wraps; only an operation at the end ends the pass.
            (Advance::Length { skip: 1.. }, _) => {
                let length = length?;
                let distance = step(walk.advance, length)?;
                let rest = area.checked_sub(walk.start.0)?.checked_sub(length)?;
                rest.is_multiple_of(distance)
                    .then(|| operations_per_sweep(stream, area))?
            }
            _ => operations_per_sweep(stream, area),
        },
        Access::Random {
            placement: Placement::Once(once),
        } => match (once.method, length) {
            (OnceMethod::Map { .. }, None) => Some(area as f64 / mean_length(stream)),
            _ => Some(count_positions(stream, area, stream.alignment(direction))),
        },
        _ => None,
    }
}

/// The operations of a walk from its start to the end of the area; `None` if it goes backwards, or
/// lengths vary.
pub(crate) fn operations_per_sweep(stream: &Stream, area: u64) -> Option<f64> {
    let direction = stream.mix.directions().next()?;
    let Access::Sequential(walk) = stream.access(direction) else {
        return None;
    };
    let area = area.saturating_sub(walk.start.0);
    match (walk.advance, stream.fixed_length(direction)) {
        (Advance::Stride, _) => Some(count_positions(stream, area, stream.alignment(direction))),
        (Advance::Length { skip: 0 }, None) => Some(area as f64 / mean_length(stream)),
        (advance, Some(length)) => Some(count_positions(stream, area, step(advance, length)?)),
        (Advance::Length { .. } | Advance::RandomGap { .. }, None) => None,
    }
}

/// The distance between starts of operations of one length.
fn step(advance: Advance, length: u64) -> Option<u64> {
    match advance {
        Advance::Stride | Advance::RandomGap { .. } => None,
        Advance::Length { skip } => length.checked_add_signed(skip).filter(|step| *step > 0),
    }
}

/// The positions of operations in an area, a step apart.
fn count_positions(stream: &Stream, area: u64, step: u64) -> f64 {
    let block = match stream.pattern.whole_blocks {
        true => stream.pattern.longest(&stream.mix).0,
        false => stream.pattern.shortest(&stream.mix).0,
    };
    area.checked_sub(block).map_or(0, |room| room / step.max(1) + 1) as f64
}

/// The mean length of a stream's operations.
pub(crate) fn mean_length(stream: &Stream) -> f64 {
    let writes = stream.mix.write_share();
    let (reads, trims) = match stream.mix.includes(Direction::Trim) {
        true => (0.0, 100.0 - writes),
        false => (100.0 - writes, 0.0),
    };
    let shares = PerDirection::new(reads, writes, trims);
    let means = shares
        .iter()
        .map(|(direction, share)| share / 100.0 * stream.pattern.sizes[direction].mean());
    means.sum::<f64>().max(1.0)
}
