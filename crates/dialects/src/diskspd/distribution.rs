//! Distributions of random operations: parses `-rd` and adds the implicit last range, also for XML
//! profiles. Validation is elsewhere.

use super::numbers;
use super::profile::{Distribution, Range};

/// Parses the value of `-rd`.
///
/// # Errors
/// DiskSpd's error line.
pub(super) fn read(value: &str, block: u32) -> Result<Distribution, String> {
    let (absolute, mut rest) = match (value.strip_prefix("pct"), value.strip_prefix("abs")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err("Unrecognized random distribution type".into()),
    };
    let mut ranges = Vec::new();
    loop {
        let (io_percent, after) = parse_io_share(rest, &ranges)?;
        let (length, after) = match absolute {
            true => parse_length(after, block)?,
            false => parse_target_share(after, &ranges)?,
        };
        ranges.push(Range { io_percent, length });
        match after.strip_prefix(':') {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return Err(format!("Unexpected characters in specification '{after}'")),
        }
    }
    let mut distribution = Distribution { absolute, ranges };
    complete(&mut distribution);
    Ok(distribution)
}

/// Adds the range that brings the shares to 100 percent, if they are below.
///
/// In percent, the range covers the rest of the target; if nothing is left, validation refuses it.
/// In bytes, its length is 0, which extends to the end. DiskSpd adds the range while parsing, so
/// printed profiles show it.
pub fn complete(distribution: &mut Distribution) {
    let ranges = &mut distribution.ranges;
    let shares: u64 = ranges.iter().map(|range| u64::from(range.io_percent)).sum();
    let covered = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.length));
    // The remainder fits into 32 bits.
    let Some(io_percent @ 1..) = 100u64
        .checked_sub(shares)
        .and_then(|remaining| u32::try_from(remaining).ok())
    else {
        return;
    };
    let length = match distribution.absolute {
        true => 0,
        false => 100u64.saturating_sub(covered),
    };
    ranges.push(Range { io_percent, length });
}

/// Parses the share of the operations and the `/` after it. A share of 0 leaves a gap.
fn parse_io_share<'a>(text: &'a str, before: &[Range]) -> Result<(u32, &'a str), String> {
    let remaining = remaining_percent(before.iter().map(|range| range.io_percent));
    let (share, after) =
        parse_percent(text).ok_or_else(|| format!("Invalid integer IO%: must be > 0 and <= {remaining}"))?;
    if share > 100 {
        return Err(format!("Invalid IO% {share}: must be >= 0 and <= {remaining}"));
    }
    let after = after
        .strip_prefix('/')
        .ok_or_else(|| format!("Expected / separator after {share}"))?;
    Ok((share, after))
}

fn parse_target_share<'a>(text: &'a str, before: &[Range]) -> Result<(u64, &'a str), String> {
    let remaining = remaining_percent(before.iter().map(|range| range.length as u32));
    let (share, after) =
        parse_percent(text).ok_or_else(|| format!("Invalid integer Target%: must be > 0 and <= {remaining}"))?;
    if share == 0 || share > 100 {
        return Err(format!("Invalid Target% {share}: must be > 0 and <= {remaining}"));
    }
    Ok((u64::from(share), after))
}

fn parse_length(text: &str, block: u32) -> Result<(u64, &str), String> {
    let (length, after) = numbers::parse_leading_size(text, block)?;
    if length == 0 {
        return Err("Invalid zero length target range".into());
    }
    Ok((length, after))
}

fn parse_percent(text: &str) -> Option<(u32, &str)> {
    let (number, after) = numbers::parse_leading_digits(text).ok()?;
    Some((u32::try_from(number).ok()?, after))
}

/// The remaining percentage that DiskSpd reports: 32 bits unsigned, so it wraps around above 100
/// percent.
fn remaining_percent(shares: impl Iterator<Item = u32>) -> u32 {
    shares.fold(100, u32::wrapping_sub)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, absolute: bool, expected: &[(u32, u64)]) {
        let ranges = expected
            .iter()
            .map(|&(io_percent, length)| Range { io_percent, length })
            .collect();
        assert_eq!(read(value, 4096), Ok(Distribution { absolute, ranges }), "-rd{value}");
    }

    #[test]
    fn ranges_are_read_and_completed() {
        check("pct90/10:0/10:5/20", false, &[(90, 10), (0, 10), (5, 20), (5, 60)]);
        check("pct60/50:40/50", false, &[(60, 50), (40, 50)]);
        check("pct100/10", false, &[(100, 10)]);
        check("pct90/100", false, &[(90, 100), (10, 0)]);
        check("pct50/70:10/70", false, &[(50, 70), (10, 70), (40, 0)]);
        check(
            "abs90/2560b:0/10M:5/1G",
            true,
            &[(90, 2560 << 12), (0, 10 << 20), (5, 1 << 30), (5, 0)],
        );
        check("abs100/64k", true, &[(100, 64 << 10)]);
        check("pct90/10:20/90", false, &[(90, 10), (20, 90)]);
    }

    #[track_caller]
    fn check_refused(value: &str, expected: &str) {
        assert_eq!(read(value, 4096), Err(expected.into()), "-rd{value}");
    }

    #[test]
    fn mistakes_are_reported_as_diskspd_does() {
        check_refused("", "Unrecognized random distribution type");
        check_refused("PCT1/1", "Unrecognized random distribution type");
        check_refused("pct", "Invalid integer IO%: must be > 0 and <= 100");
        check_refused("pct30/10:", "Invalid integer IO%: must be > 0 and <= 70");
        check_refused("pct90/10:90/10:x", "Invalid integer IO%: must be > 0 and <= 4294967216");
        check_refused("pct99999999999/1", "Invalid integer IO%: must be > 0 and <= 100");
        check_refused("pct101/10", "Invalid IO% 101: must be >= 0 and <= 100");
        check_refused("pct50", "Expected / separator after 50");
        check_refused("pct50:1", "Expected / separator after 50");
        check_refused("pct50/", "Invalid integer Target%: must be > 0 and <= 100");
        check_refused("pct50/20:20/x", "Invalid integer Target%: must be > 0 and <= 80");
        check_refused("pct50/0", "Invalid Target% 0: must be > 0 and <= 100");
        check_refused("pct50/101", "Invalid Target% 101: must be > 0 and <= 100");
        check_refused("pct50/10%", "Unexpected characters in specification '%'");
        check_refused("abs50/0", "Invalid zero length target range");
        check_refused("abs50/0k", "Invalid zero length target range");
        check_refused("abs50/", "Invalid integer");
        check_refused(
            "abs50/1x",
            "Invalid size 'x'. Valid: K - KiB, M - MiB, G - GiB, T - TiB, B - block",
        );
        check_refused("abs50/1Mx", "Unexpected characters in specification 'x'");
    }
}
