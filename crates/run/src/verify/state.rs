//! The verify state of a job for a later check. It records the progress of the job's writes, in the
//! file format of fio 3.33 (version 3).
//!
//! | bytes | contents |
//! | --- | --- |
//! | 0, 8, 16 | version, length and CRC-32C of the data after this header of 24 bytes |
//! | 24, 32, 36 | number of last completed writes; queue depth; files |
//! | 40, 48 | writes that were issued; index, 0 |
//! | 56, 64 | kind of the offset generator, its state |
//! | 112 | name of the job, 64 bytes |
//! | 176 … | file and offset of each completed write, the last first |
//!
//! All numbers are little-endian. As many of the last issued writes as the queue depth may have
//! been in flight. They are checked only if the list contains them.

use std::collections::VecDeque;
use std::io;

use super::checksum::crc32c;

/// The supported version.
const VERSION: u64 = 3;
const HEADER: usize = 24;
/// Bytes after the header and before the list of completed writes.
const FIXED: usize = 152;
const NAME: usize = 64;
/// The maximum queue depth; a larger value means a damaged state file.
const MAX_DEPTH: usize = 1 << 20;

/// A completed write: the index of the file within the stream, and the offset.
pub(crate) type CompletedWrite = (u32, u64);

/// The progress of a stream's writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Number of issued writes.
    pub(crate) issued: u64,
    /// Queue depth.
    pub(crate) depth: u32,
    pub(crate) files: u32,
    /// The last completed writes, latest first. At most as many as the queue depth.
    pub(crate) completed: VecDeque<CompletedWrite>,
    /// State of the generator of offsets.
    pub(crate) generator: [u32; 3],
}

impl Progress {
    /// Creates the progress before the first write.
    pub(crate) fn new(depth: u32, files: u32) -> Progress {
        Progress {
            depth,
            files,
            completed: VecDeque::with_capacity(depth as usize),
            ..Progress::default()
        }
    }

    /// Records a completed write.
    pub(crate) fn record_completed(&mut self, write: CompletedWrite) {
        if self.completed.len() >= self.depth as usize {
            self.completed.pop_back();
        }
        self.completed.push_front(write);
    }

    /// True if a write is recorded as completed. `number` counts writes from 0.
    pub(crate) fn includes(&self, number: u64, write: CompletedWrite) -> bool {
        let certainly_done = self.issued.saturating_sub(u64::from(self.depth));
        number < certainly_done || number < self.issued && self.completed.contains(&write)
    }

    /// Returns the bytes of the state file of a job with this name.
    pub(crate) fn to_bytes(&self, name: &str) -> Vec<u8> {
        let mut state = Vec::with_capacity(FIXED + 16 * self.completed.len());
        state.extend((self.completed.len() as u64).to_le_bytes());
        state.extend(self.depth.to_le_bytes());
        state.extend(self.files.to_le_bytes());
        state.extend(self.issued.to_le_bytes());
        state.extend([0; 16]);
        self.generator.iter().for_each(|word| state.extend(word.to_le_bytes()));
        state.resize(FIXED - NAME, 0);
        // The last byte stays 0 as a terminator.
        state.extend(name.bytes().take(NAME - 1));
        state.resize(FIXED, 0);
        for (file, offset) in &self.completed {
            state.extend(u64::from(*file).to_le_bytes());
            state.extend(offset.to_le_bytes());
        }
        let header = [VERSION, state.len() as u64, u64::from(crc32c(&state))];
        let mut bytes = header.map(u64::to_le_bytes).concat();
        bytes.extend(state);
        bytes
    }

    /// Parses a state file.
    ///
    /// # Errors
    /// It is truncated, of another version, or damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Progress> {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let invalid_data = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        if bytes.len() < HEADER {
            return invalid_data("it is too short for a state file".into());
        }
        let (version, length, sum) = (long(0), long(8), long(16));
        if version != VERSION {
            return invalid_data(format!(
                "it has version {version} of the format, but only version {VERSION} is supported"
            ));
        }
        let state = &bytes[HEADER..];
        if length != state.len() as u64 || state.len() < FIXED {
            return invalid_data(format!(
                "it should have {length} bytes after its header but has {}",
                state.len()
            ));
        }
        if sum != u64::from(crc32c(state)) {
            return invalid_data("its checksum does not match its contents".into());
        }
        let (count, sizes) = (long(HEADER) as usize, long(HEADER + 8));
        let depth = sizes as u32;
        if count != (state.len() - FIXED) / 16 || depth as usize > MAX_DEPTH {
            return invalid_data(format!("it lists {count} writes in {} bytes", state.len() - FIXED));
        }
        let write = |index: usize| {
            let at = HEADER + FIXED + 16 * index;
            (long(at) as u32, long(at + 8))
        };
        Ok(Progress {
            issued: long(HEADER + 16),
            depth,
            files: (sizes >> 32) as u32,
            completed: (0..count).map(write).collect(),
            generator: [0, 4, 8].map(|at| long(HEADER + 40 + at) as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that fio 3.33 saved after five random writes at queue depth 1: `--name=j/x
    /// --randseed=7 --number_ios=5`.
    fn saved_by_fio() -> Vec<u8> {
        let mut bytes = vec![0; 192];
        let mut put = |at: usize, data: &[u8]| bytes[at..at + data.len()].copy_from_slice(data);
        put(0, &[3]);
        put(8, &[0xa8]);
        put(16, &[0xca, 0xf2, 0x52, 0x9d]);
        put(24, &[1]);
        put(32, &[1, 0, 0, 0, 1]);
        put(40, &[5]);
        put(
            64,
            &[0x69, 0x57, 0xdc, 0x4e, 0xdc, 0x97, 0x89, 0x7f, 0x7e, 0x75, 0xb6, 0x57],
        );
        put(112, b"j/x");
        put(184, &[0, 0x60]);
        bytes
    }

    #[test]
    fn state_files_have_the_bytes_of_fio() {
        let bytes = saved_by_fio();
        let progress = Progress::from_bytes(&bytes).unwrap();
        let expected = Progress {
            issued: 5,
            depth: 1,
            files: 1,
            completed: [(0, 0x6000)].into(),
            generator: [0x4edc_5769, 0x7f89_97dc, 0x57b6_757e],
        };
        assert_eq!(progress, expected);
        assert_eq!(progress.to_bytes("j/x"), bytes);
    }

    #[test]
    fn damaged_and_unknown_state_files_are_refused() {
        let valid = saved_by_fio();
        let change = |at: usize| {
            let mut wrong = valid.clone();
            wrong[at] ^= 7;
            wrong
        };
        for (wrong, message) in [
            (valid[..10].to_vec(), "too short"),
            (change(0), "version 4"),
            (valid[..180].to_vec(), "168 bytes"),
            (change(100), "checksum"),
        ] {
            let error = Progress::from_bytes(&wrong).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn only_completed_writes_are_included() {
        let mut progress = Progress::new(2, 1);
        for offset in [0, 4, 8, 12] {
            progress.record_completed((0, offset));
        }
        progress.issued = 5;
        assert_eq!(progress.completed, [(0, 12), (0, 8)]);
        // Three writes are certainly done, the fourth is recorded as done, and the fifth was in
        // flight.
        let included = (0..7).map(|number| progress.includes(number, (0, number * 4)));
        assert_eq!(
            included.collect::<Vec<_>>(),
            [true, true, true, true, false, false, false]
        );
    }
}
