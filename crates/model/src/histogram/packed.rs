//! Compact histograms: only the buckets in use, with variable-length counts. A dense histogram has
//! 34 KiB. A long run stores one for each direction of every interval, most with a few hundred
//! buckets in use. Packed, a bucket takes two to three bytes.

use std::iter::Peekable;

use serde::{Deserialize, Serialize};

use super::{BUCKETS, Histogram, SavedHistogram, bucket_of};

/// A read-only compact histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SavedHistogram", into = "SavedHistogram")]
pub struct PackedHistogram {
    /// For each bucket in use, ascending: its distance from the previous one (the first: from
    /// bucket 0), and its count; both as LEB128.
    bytes: Box<[u8]>,
    n: u64,
    min: u64,
    max: u64,
    sum: u128,
    sum_squares: u128,
}

impl PackedHistogram {
    /// How many values were counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The number of values in buckets up to and including that of `value`.
    pub fn count_up_to(&self, value: u64) -> u64 {
        let last = bucket_of(value);
        let up_to = self.buckets().take_while(|(bucket, _)| *bucket <= last);
        up_to.map(|(_, count)| count).sum()
    }

    /// Non-empty buckets with their counts, ascending; the last may be [`BUCKETS`] for the
    /// overflow.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut rest = &*self.bytes;
        let mut bucket = 0;
        std::iter::from_fn(move || {
            bucket += read_number(&mut rest)? as usize;
            Some((bucket, read_number(&mut rest)?))
        })
    }

    /// Unpacks it into a full histogram, which has quantiles.
    pub fn unpack(&self) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge_packed(self);
        histogram
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &PackedHistogram) {
        let bytes = pack(Merged {
            left: self.buckets().peekable(),
            right: other.buckets().peekable(),
        });
        *self = PackedHistogram {
            bytes,
            n: self.n + other.n,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum: self.sum + other.sum,
            sum_squares: self.sum_squares.saturating_add(other.sum_squares),
        };
    }
}

impl Histogram {
    /// Adds the values of `other`.
    pub fn merge_packed(&mut self, other: &PackedHistogram) {
        for (bucket, count) in other.buckets() {
            self.counts[bucket.min(BUCKETS)] += count;
        }
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }
}

impl From<&Histogram> for PackedHistogram {
    fn from(histogram: &Histogram) -> PackedHistogram {
        PackedHistogram {
            bytes: pack(histogram.buckets()),
            n: histogram.n,
            min: histogram.min,
            max: histogram.max,
            sum: histogram.sum,
            sum_squares: histogram.sum_squares,
        }
    }
}

impl From<PackedHistogram> for SavedHistogram {
    fn from(packed: PackedHistogram) -> SavedHistogram {
        packed.unpack().into()
    }
}

impl TryFrom<SavedHistogram> for PackedHistogram {
    type Error = String;

    fn try_from(saved: SavedHistogram) -> Result<PackedHistogram, String> {
        Ok((&Histogram::try_from(saved)?).into())
    }
}

/// In files it looks like any other histogram.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for PackedHistogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Histogram::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        Histogram::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Histogram::json_schema(generator)
    }
}

/// The buckets of two histograms together, ascending.
struct Merged<L: Iterator, R: Iterator> {
    left: Peekable<L>,
    right: Peekable<R>,
}

impl<L, R> Iterator for Merged<L, R>
where
    L: Iterator<Item = (usize, u64)>,
    R: Iterator<Item = (usize, u64)>,
{
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let place = |next: Option<&(usize, u64)>| next.map_or(usize::MAX, |(bucket, _)| *bucket);
        let bucket = place(self.left.peek()).min(place(self.right.peek()));
        let left = self.left.next_if(|next| next.0 == bucket);
        let right = self.right.next_if(|next| next.0 == bucket);
        let count = |found: Option<(usize, u64)>| found.map_or(0, |(_, count)| count);
        (left.is_some() || right.is_some()).then(|| (bucket, count(left) + count(right)))
    }
}

fn pack(buckets: impl Iterator<Item = (usize, u64)>) -> Box<[u8]> {
    let mut bytes = Vec::new();
    let mut before = 0;
    for (bucket, count) in buckets {
        write_number(&mut bytes, (bucket - before) as u64);
        write_number(&mut bytes, count);
        before = bucket;
    }
    bytes.into()
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

    use super::*;

    /// Latencies of all magnitudes, including some beyond the last bucket, with the number of
    /// occurrences.
    fn histogram() -> impl Strategy<Value = Histogram> {
        let value = (0u32..44, 0u64..1 << 20).prop_map(|(shift, low)| (1u64 << shift) + low);
        let times = (0u32..20).prop_map(|shift| 1u64 << shift);
        prop::collection::vec((value, times), 0..200).prop_map(|list| {
            let mut histogram = Histogram::new();
            for (value, times) in list {
                histogram.record_times(value, times);
            }
            histogram
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost(histogram in histogram(), at in any::<u64>()) {
            let packed = PackedHistogram::from(&histogram);
            prop_assert_eq!(packed.unpack(), histogram.clone());
            prop_assert_eq!((packed.n(), packed.sum()), (histogram.n(), histogram.sum()));
            for value in [0, at, at >> 20, at >> 40, histogram.min(), histogram.max()] {
                prop_assert_eq!(packed.count_up_to(value), histogram.count_up_to(value));
            }
        }

        #[test]
        fn merging_equals_merging_dense_ones(a in histogram(), b in histogram()) {
            let mut packed = PackedHistogram::from(&a);
            packed.merge(&PackedHistogram::from(&b));
            let mut dense = a;
            dense.merge(&b);
            prop_assert_eq!(&packed.unpack(), &dense);
            prop_assert_eq!(packed, PackedHistogram::from(&dense));
        }

        #[test]
        fn the_saved_form_is_that_of_a_histogram(histogram in histogram()) {
            let text = serde_json::to_string(&histogram).unwrap();
            let packed: PackedHistogram = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&packed, &PackedHistogram::from(&histogram));
            prop_assert_eq!(serde_json::to_string(&packed).unwrap(), text);
        }
    }

    #[test]
    fn a_typical_interval_takes_less_than_a_kilobyte() {
        let mut histogram = Histogram::new();
        // A second with 100,000 operations between 50 and 150 µs: 61 buckets of 256 ns, 128 of 512
        // and 19 of 1024.
        (0..100_000u64).for_each(|number| histogram.record(50_000 + number));
        let packed = PackedHistogram::from(&histogram);
        assert_eq!(packed.buckets().count(), 61 + 128 + 19);
        assert!(packed.bytes.len() < 1000, "{}", packed.bytes.len());
    }
}
