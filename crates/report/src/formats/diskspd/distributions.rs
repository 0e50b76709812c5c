//! Effective distributions on the real targets: which threads used them, and their ranges.

use model::results::EffectiveShare;

use super::figures::Thread;

/// A distribution and the targets that used it.
pub(super) struct DistributionUse<'a> {
    pub ranges: &'a [EffectiveShare],
    /// Paths, and the threads that used them with this distribution.
    pub users: Vec<(&'a str, Vec<usize>)>,
}

/// Each distinct distribution, in order of first appearance.
pub(super) fn distinct_distributions<'a>(threads: &'a [Thread<'a>]) -> Vec<DistributionUse<'a>> {
    let mut uses: Vec<DistributionUse<'a>> = Vec::new();
    for (number, thread) in threads.iter().enumerate() {
        for row in thread.rows.iter().filter(|row| !row.ranges.is_empty()) {
            // The same distribution on targets of equal size has bit-identical shares.
            let index = uses.iter().position(|shared| shared.ranges == row.ranges);
            let index = index.unwrap_or_else(|| {
                let users = Vec::new();
                uses.push(DistributionUse {
                    ranges: row.ranges,
                    users,
                });
                uses.len() - 1
            });
            let users = &mut uses[index].users;
            match users.iter_mut().find(|(path, _)| *path == row.path) {
                // A thread may use a path twice.
                Some((_, threads)) if threads.last() == Some(&number) => {}
                Some((_, threads)) => threads.push(number),
                None => users.push((&row.path, vec![number])),
            }
        }
    }
    uses
}

/// Joins three or more consecutive numbers: `0 - 5 7 8 10`. DiskSpd prints a single number before a
/// gap twice.
pub(super) fn format_number_ranges(numbers: &[usize]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let length = rest.iter().zip(*first..).take_while(|(number, next)| *number == next);
        let length = length.count();
        let (run, after) = rest.split_at(length);
        match run {
            [first, .., last] if length > 2 => words.push(format!("{first} - {last}")),
            _ => words.extend(run.iter().map(usize::to_string)),
        }
        rest = after;
    }
    words.join(" ")
}

/// The factor that rescales shares to 100 % where the end of the target cut off some ranges.
pub(super) fn rescale_factor(ranges: &[EffectiveShare]) -> Option<f64> {
    let sum: f64 = ranges.iter().map(|range| range.operations_percent).sum();
    (sum > 0.0 && sum < 100.0 - 1e-6).then(|| 100.0 / sum)
}

/// Shares and lengths from offset 0; a hole becomes a range with share 0.
pub(super) fn fill_holes(ranges: &[EffectiveShare]) -> Vec<(f64, u64)> {
    let mut end = 0;
    let mut rows = Vec::new();
    for range in ranges {
        if range.start.0 > end {
            rows.push((0.0, range.start.0 - end));
        }
        rows.push((range.operations_percent, range.length.0));
        end = range.start.0 + range.length.0;
    }
    rows
}

#[cfg(test)]
mod tests {
    use model::Bytes;

    use super::*;

    #[test]
    fn consecutive_threads_are_joined() {
        for (numbers, text) in [
            (&[][..], ""),
            (&[3], "3"),
            (&[0, 2], "0 2"),
            (&[0, 1], "0 1"),
            (&[0, 1, 2], "0 - 2"),
            (&[0, 1, 2, 3, 5, 7, 8, 10, 11, 12], "0 - 3 5 7 8 10 - 12"),
        ] {
            assert_eq!(format_number_ranges(numbers), text);
        }
    }

    #[test]
    fn holes_are_ranges_without_operations() {
        let range = |percent: f64, start: u64, length: u64| EffectiveShare {
            operations_percent: percent,
            start: Bytes(start),
            length: Bytes(length),
        };
        let ranges = [range(60.0, 10, 10), range(20.0, 20, 5), range(10.0, 40, 1)];
        let expected = [(0.0, 10), (60.0, 10), (20.0, 5), (0.0, 15), (10.0, 1)];
        assert_eq!(fill_holes(&ranges), expected);
        assert!((rescale_factor(&ranges).expect("10 % are missing") - 10.0 / 9.0).abs() < 1e-12);
        assert_eq!(rescale_factor(&[range(100.0, 0, 1)]), None);
    }
}
