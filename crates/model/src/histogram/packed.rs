//! Packed histograms: only the buckets in use, with variable-length counts. With all counters, a
//! histogram has 34 KiB. A long run stores one for each direction of every interval and several for
//! each worker, most with a few hundred buckets in use. Packed, a bucket takes two to three bytes.

use std::iter::Peekable;

/// The buckets in use.
#[derive(Debug, Default)]
pub(super) struct PackedBuckets {
    /// For each bucket in use, ascending: its distance from the previous one (the first: from
    /// bucket 0), and its count; both as LEB128.
    bytes: Box<[u8]>,
}

impl PackedBuckets {
    /// Packs non-empty buckets with their counts, ascending.
    pub(super) fn new(buckets: impl Iterator<Item = (usize, u64)>) -> PackedBuckets {
        let mut bytes = Vec::new();
        let mut before = 0;
        for (bucket, count) in buckets {
            write_number(&mut bytes, (bucket - before) as u64);
            write_number(&mut bytes, count);
            before = bucket;
        }
        PackedBuckets { bytes: bytes.into() }
    }

    /// The buckets with their counts, ascending.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut rest = &*self.bytes;
        let mut bucket = 0;
        std::iter::from_fn(move || {
            bucket += read_number(&mut rest)? as usize;
            Some((bucket, read_number(&mut rest)?))
        })
    }
}

/// The buckets of two histograms together, ascending.
pub(super) struct MergedBuckets<L: Iterator, R: Iterator> {
    left: Peekable<L>,
    right: Peekable<R>,
}

impl<L: Iterator, R: Iterator> MergedBuckets<L, R> {
    pub(super) fn new(left: L, right: R) -> MergedBuckets<L, R> {
        MergedBuckets {
            left: left.peekable(),
            right: right.peekable(),
        }
    }
}

impl<L, R> Iterator for MergedBuckets<L, R>
where
    L: Iterator<Item = (usize, u64)>,
    R: Iterator<Item = (usize, u64)>,
{
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let place = |next: Option<&(usize, u64)>| next.map_or(usize::MAX, |(bucket, _)| *bucket);
        let bucket = place(self.left.peek()).min(place(self.right.peek()));
        let left_bucket = self.left.next_if(|next| next.0 == bucket);
        let right = self.right.next_if(|next| next.0 == bucket);
        let count = |found: Option<(usize, u64)>| found.map_or(0, |(_, count)| count);
        (left_bucket.is_some() || right.is_some()).then(|| (bucket, count(left_bucket) + count(right)))
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        bytes.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number from the start of `rest`; `None` at its end.
fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & !(1 << 7)) << shift;
        if byte >> 7 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::histogram::{Histogram, bucket_index};

    /// Latencies of all magnitudes, including some beyond the last bucket, with the number of
    /// occurrences.
    fn histogram() -> impl Strategy<Value = Histogram> {
        let value = (0u32..44, 0u64..1 << 20).prop_map(|(shift, low)| (1u64 << shift) + low);
        let times = (0u32..20).prop_map(|shift| 1u64 << shift);
        prop::collection::vec((value, times), 0..200).prop_map(|list| {
            let mut histogram = Histogram::ready();
            for (value, times) in list {
                histogram.record_times(value, times);
            }
            histogram
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost(histogram in histogram(), at in any::<u64>()) {
            let packed = histogram.clone();
            prop_assert!(packed.counts.is_empty());
            prop_assert_eq!(&packed, &histogram);
            prop_assert_eq!((packed.n(), packed.sum()), (histogram.n(), histogram.sum()));
            for value in [0, at, at >> 20, at >> 40, histogram.min(), histogram.max()] {
                prop_assert_eq!(packed.count_up_to(value), histogram.count_up_to(value));
                prop_assert_eq!(packed.count_in(bucket_index(value)), histogram.count_in(bucket_index(value)));
                prop_assert_eq!(packed.value_of_rank(value), histogram.value_of_rank(value));
            }
            let mut unpacked = packed;
            unpacked.unpack();
            prop_assert_eq!(&unpacked.counts, &histogram.counts);
        }

        #[test]
        fn merging_equals_merging_dense_ones(mut a in histogram(), b in histogram()) {
            let mut packed = a.clone();
            packed.merge_packed(&b);
            let mut from_packed = a.clone();
            from_packed.merge(&b.clone());
            a.merge(&b);
            prop_assert_eq!(&packed, &a);
            prop_assert_eq!(&from_packed, &a);
            prop_assert_eq!(packed.packed.bytes, a.clone().packed.bytes);
        }

        #[test]
        fn the_saved_form_is_that_of_a_histogram(histogram in histogram()) {
            let text = serde_json::to_string(&histogram).unwrap();
            let packed: Histogram = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&packed, &histogram);
            prop_assert_eq!(serde_json::to_string(&packed).unwrap(), text);
        }
    }

    /// Workers count in such a histogram, which must never allocate then.
    #[test]
    fn a_histogram_with_counters_keeps_them() {
        let mut histogram = Histogram::ready();
        let counters = histogram.counts.as_ptr();
        for value in [0, 1 << 20, 1 << 40, u64::MAX] {
            histogram.record(value);
        }
        histogram.clear();
        histogram.record(7);
        assert_eq!((histogram.counts.as_ptr(), histogram.n()), (counters, 1));
    }

    #[test]
    fn zeros_are_counted_zeros() {
        let mut counted = Histogram::new();
        counted.record_times(0, 5);
        assert_eq!(Histogram::zeros(5), counted);
    }

    #[test]
    fn a_typical_interval_takes_less_than_a_kilobyte() {
        let mut histogram = Histogram::new();
        // A second with 100,000 operations between 50 and 150 µs: 61 buckets of 256 ns, 128 of 512
        // and 19 of 1024.
        (0..100_000u64).for_each(|number| histogram.record(50_000 + number));
        histogram.pack();
        assert!(histogram.counts.is_empty());
        assert_eq!(histogram.buckets().count(), 61 + 128 + 19);
        assert!(histogram.packed.bytes.len() < 1000, "{}", histogram.packed.bytes.len());
    }
}
