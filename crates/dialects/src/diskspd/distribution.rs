//! What a distribution says without saying it: where the operations go that its ranges leave over. The command line and
//! XML profiles share it; what makes a distribution valid is not decided here.

use super::profile::{Distribution, Range};

/// Adds the range that brings the shares to 100 percent, if they are below.
///
/// In percent it covers the rest of the target, or nothing if none is left; in bytes its length 0 reaches to the end.
/// DiskSpd adds it while reading, so that printed profiles show it.
pub fn complete(distribution: &mut Distribution) {
    let shares: u64 = distribution
        .ranges
        .iter()
        .map(|range| u64::from(range.io_percent))
        .sum();
    let covered = distribution
        .ranges
        .iter()
        .fold(0u64, |sum, range| sum.saturating_add(range.length));
    // What is left of 100 fits.
    let Some(io_percent @ 1..) = 100u64.checked_sub(shares).and_then(|left| u32::try_from(left).ok()) else {
        return;
    };
    let length = if distribution.absolute {
        0
    } else {
        100u64.saturating_sub(covered)
    };
    distribution.ranges.push(Range { io_percent, length });
}
