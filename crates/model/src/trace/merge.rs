//! Merges several blktrace files into one, ordered by time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::TraceError;
use super::blktrace::{self, RECORD};

/// Lengths of the fields of a record, in their order.
const FIELDS: [usize; 11] = [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2];
/// The position of the time.
const TIME: std::ops::Range<usize> = 8..16;

/// An input of a merge.
pub struct MergeInput<'a> {
    /// Opens it, from its start.
    pub open: Box<dyn Fn() -> io::Result<Box<dyn Read>> + 'a>,
    /// Factor for its times, in percent.
    pub time_percent: f64,
    /// How often it is repeated.
    pub iterations: u32,
}

/// Why traces cannot be merged.
#[derive(Debug)]
pub struct MergeError {
    /// Index of the input that cannot be read; `None` if the output cannot be written.
    pub input: Option<usize>,
    /// Why.
    pub error: TraceError,
}

impl From<io::Error> for MergeError {
    fn from(error: io::Error) -> MergeError {
        MergeError {
            input: None,
            error: error.into(),
        }
    }
}

/// Writes one trace with the records of all inputs, in the byte order of this machine.
///
/// # Errors
/// Errors of reading and writing; of kind `Interrupted` once `stop` is set.
pub fn merge(inputs: &[MergeInput<'_>], out: &mut dyn Write, stop: &AtomicBool) -> Result<(), MergeError> {
    let input_error = |index: usize| {
        move |error| MergeError {
            input: Some(index),
            error,
        }
    };
    let mut sources = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        sources.push(Source::new(input).map_err(input_error(index))?);
    }
    let earliest = |sources: &[Source<'_>]| {
        let heads = sources.iter().enumerate();
        let times = heads.filter_map(|(index, source)| Some((source.head.as_ref()?.0, index)));
        times.min()
    };
    while let Some((_, index)) = earliest(&sources) {
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        let source = &mut sources[index];
        if let Some((_, record)) = source.head.take() {
            out.write_all(&record)?;
        }
        source.advance().map_err(input_error(index))?;
    }
    Ok(())
}

struct Source<'a> {
    input: &'a MergeInput<'a>,
    reader: BufReader<Box<dyn Read>>,
    swapped: bool,
    iterations_left: u32,
    /// Offset added to the times of this iteration.
    shift: u64,
    /// Records of this iteration so far.
    records: u64,
    /// The last time that was read.
    last: u64,
    /// The next record and its time.
    head: Option<(u64, Vec<u8>)>,
}

impl<'a> Source<'a> {
    fn new(input: &'a MergeInput<'a>) -> Result<Source<'a>, TraceError> {
        let mut reader = BufReader::new((input.open)()?);
        let swapped = match blktrace::recognise(reader.fill_buf()?) {
            Some(swapped) => swapped,
            None if reader.buffer().is_empty() => return Err(TraceError::Empty),
            None => return Err(TraceError::Record { record: 1 }),
        };
        let mut source = Source {
            input,
            reader,
            swapped,
            iterations_left: input.iterations.max(1) - 1,
            shift: 0,
            records: 0,
            last: 0,
            head: None,
        };
        source.advance()?;
        Ok(source)
    }

    /// Reads the next record, if there is one.
    fn advance(&mut self) -> Result<(), TraceError> {
        let mut record = vec![0; RECORD];
        while self.reader.fill_buf()?.is_empty() {
            if self.iterations_left == 0 || self.records == 0 {
                return Ok(());
            }
            self.iterations_left -= 1;
            self.reader = BufReader::new((self.input.open)()?);
            (self.shift, self.records) = (self.last, 0);
        }
        self.records += 1;
        self.reader.read_exact(&mut record)?;
        if self.swapped {
            swap_fields(&mut record);
        }
        let parsed = blktrace::parse(&record, false).ok_or(TraceError::Record { record: self.records })?;
        let time = self
            .shift
            .saturating_add((parsed.time as f64 * self.input.time_percent / 100.0) as u64);
        record[TIME].copy_from_slice(&time.to_ne_bytes());
        record.resize(RECORD + parsed.more, 0);
        self.reader.read_exact(&mut record[RECORD..])?;
        self.last = self.last.max(time);
        self.head = Some((time, record));
        Ok(())
    }
}

/// Changes the byte order of every field of a record.
fn swap_fields(record: &mut [u8]) {
    let mut rest = record;
    for length in FIELDS {
        let (field, remaining) = rest.split_at_mut(length);
        field.reverse();
        rest = remaining;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64, sector: u64, more: &[u8]) -> Vec<u8> {
        let mut record = vec![0; RECORD];
        record[..4].copy_from_slice(&0x6561_7407_u32.to_ne_bytes());
        record[TIME].copy_from_slice(&time.to_ne_bytes());
        record[16..24].copy_from_slice(&sector.to_ne_bytes());
        record[46..].copy_from_slice(&(more.len() as u16).to_ne_bytes());
        record.extend(more);
        record
    }

    fn input(bytes: &[u8], time_percent: f64, iterations: u32) -> MergeInput<'_> {
        let owned = bytes.to_vec();
        let open = move || Ok(Box::new(io::Cursor::new(owned.clone())) as Box<dyn Read>);
        MergeInput {
            open: Box::new(open),
            time_percent,
            iterations,
        }
    }

    #[track_caller]
    fn check(inputs: &[MergeInput<'_>], expected: &[Vec<u8>]) {
        let mut out = Vec::new();
        assert!(merge(inputs, &mut out, &AtomicBool::new(false)).is_ok());
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn records_are_ordered_by_time() {
        let a = [record(10, 1, b""), record(30, 2, b"data")].concat();
        let b = [record(20, 3, b""), record(30, 4, b""), record(50, 5, b"")].concat();
        check(
            &[input(&a, 100.0, 1), input(&b, 100.0, 1)],
            &[
                record(10, 1, b""),
                record(20, 3, b""),
                record(30, 2, b"data"),
                record(30, 4, b""),
                record(50, 5, b""),
            ],
        );
        // A runs twice as fast, and two times.
        check(
            &[input(&a, 50.0, 2), input(&b, 100.0, 1)],
            &[
                record(5, 1, b""),
                record(15, 2, b"data"),
                record(20, 1, b""),
                record(20, 3, b""),
                record(30, 2, b"data"),
                record(30, 4, b""),
                record(50, 5, b""),
            ],
        );
    }

    #[test]
    fn the_other_byte_order_is_converted() {
        let mut other = record(7, 9, b"");
        swap_fields(&mut other);
        check(&[input(&other, 100.0, 1)], &[record(7, 9, b"")]);
    }

    #[test]
    fn other_files_are_refused() {
        let good = record(1, 1, b"");
        let long = record(1, 1, b"more");
        let odd = [good.clone(), vec![1; RECORD]].concat();
        for bad in [b"".as_slice(), b"fio version 3 iolog\n", &good[..20], &long[..50], &odd] {
            let outcome = merge(
                &[input(&good, 100.0, 1), input(bad, 100.0, 2)],
                &mut Vec::new(),
                &AtomicBool::new(false),
            );
            assert_eq!(outcome.unwrap_err().input, Some(1), "{bad:?}");
        }
    }
}
