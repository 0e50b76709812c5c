//! Bounds of the numbers in a saved file. Reports add them up without further checks, so a file
//! with an impossible count is refused when it is read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use model::Nanos;
use model::results::{JobResults, Results};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The largest number: 36 years in nanoseconds, an exbibyte in bytes.
const MAX_NUMBER: u64 = 1 << 60;
/// The largest sum of all numbers with the same key, so that no sum of some of them overflows.
const MAX_SUM: u64 = 1 << 62;
/// What a file describes rather than counts: contents and positions of blocks, limits.
const NOT_COUNTED: [&str; 7] = [
    "mismatches", "failure", "tolerated", "volumes", "changed_limits", "control", "block_lifetimes",
];
/// Intervals of a series that may be missing at its end, because nothing completed in them.
const MAX_MISSING_INTERVALS: u64 = 1 << 20;

/// The measurements of a saved run, or of the runs of a study.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    steps: Counts,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[expect(dead_code, reason = "read only to be checked")]
    results: Document,
}

/// Reads a document only to check the size of its numbers.
///
/// # Errors
/// A message that names the field.
pub(crate) fn check_numbers(text: &[u8]) -> serde_json::Result<()> {
    serde_json::from_slice::<Document>(text).map(drop)
}

/// Checks that the interval lengths of a run suit its measured time.
///
/// # Errors
/// A message that names the field.
pub(crate) fn check_intervals(results: &Results) -> Result<(), String> {
    for (step_number, step) in results.steps.iter().enumerate() {
        for (job_number, job) in step.jobs.iter().enumerate() {
            check_job(job).map_err(|why| format!("steps[{step_number}].jobs[{job_number}].{why}"))?;
        }
    }
    Ok(())
}

fn check_job(job: &JobResults) -> Result<(), String> {
    for (number, series) in job.series.iter().enumerate() {
        let held = series.points.iter().map(|(_, points)| points.len()).max().unwrap_or(0);
        check_length(series.length_ns, job.measured(), held).map_err(|why| format!("series[{number}].{why}"))?;
    }
    // The last interval may be shorter; also one of a worker that ended in it, if the other workers
    // joined theirs to the next.
    let held = job.histograms.len();
    let series_length = match job.lost_intervals {
        0 => held.saturating_sub(1),
        _ => 0,
    };
    for (number, interval) in job.histograms.iter().enumerate().take(series_length) {
        check_length(interval.length_ns, job.measured(), held).map_err(|why| format!("histograms[{number}].{why}"))?;
    }
    Ok(())
}

/// Checks the length of an interval against the time that `held` such intervals divide.
fn check_length(length: Nanos, whole: Nanos, held: usize) -> Result<(), String> {
    let count = whole.0 / length.0.max(1);
    match count > held as u64 + MAX_MISSING_INTERVALS {
        true => Err(format!(
            "length_ns: {length} divides {whole} into {count} intervals, more than the file holds"
        )),
        false => Ok(()),
    }
}

/// Any JSON value whose numbers are small enough.
#[derive(Default)]
struct Counts;

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
        let sums = RefCell::default();
        let steps = CheckedValue { key: "", sums: &sums };
        steps
            .deserialize(deserializer)
            .map_err(|error| D::Error::custom(format!("steps{error}")))?;
        Ok(Counts)
    }
}

/// A value with its key. An array passes its key on to its elements.
#[derive(Clone, Copy)]
struct CheckedValue<'a> {
    key: &'a str,
    sums: &'a RefCell<HashMap<String, u64>>,
}

impl<'de> DeserializeSeed<'de> for CheckedValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CheckedValue<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        if number > MAX_NUMBER {
            return Err(E::custom(format!(": {number} is more than 2^60")));
        }
        // Times saturate where they are added up; extremes are not added up.
        if self.key.ends_with("_ns") || matches!(self.key, "min" | "max" | "l") {
            return Ok(());
        }
        let mut sums = self.sums.borrow_mut();
        if !sums.contains_key(self.key) {
            sums.insert(self.key.to_owned(), 0);
        }
        let sum = sums.get_mut(self.key).expect("inserted above");
        *sum += number;
        match *sum > MAX_SUM {
            true => Err(E::custom(": all such values add up to more than 2^62")),
            false => Ok(()),
        }
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let next = values.next_element_seed(self);
            match next.map_err(|error| A::Error::custom(format!("[{index}]{error}")))? {
                Some(()) => index += 1,
                None => return Ok(()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key::<String>()? {
            if NOT_COUNTED.contains(&key.as_str()) {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = CheckedValue {
                key: &key,
                sums: self.sums,
            };
            let checked = fields.next_value_seed(value);
            checked.map_err(|error| A::Error::custom(format!(".{key}{error}")))?;
        }
        Ok(())
    }
}
