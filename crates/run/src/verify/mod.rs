//! Verification: generates the data of writes and checks the data of reads. It works only on
//! buffers. [`history`] records the blocks to verify, and the worker decides when to read them.

mod checksum;
mod header;
pub(crate) mod history;
pub(crate) mod key_check;
pub(crate) mod key_map;
pub(crate) mod pool;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::Bytes;
use model::content::{Content, Filler, repeat};
use model::draws::{Draws, Purpose};
use model::mismatch::{BlockFault, Mismatch};
use model::plan::{Verify, VerifyMethod};

use checksum::Checksum;
pub use checksum::compute as compute_checksum;
pub(crate) use header::read_seed;
use header::{ExpectedHeader, Form, Header};
pub use key_map::KeyMapFile;

/// Generates and checks the data of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    method: VerifyMethod,
    /// Bytes between headers; 0 for one per block.
    interval: usize,
    pattern: Vec<u8>,
    /// The positions in the pattern at which a block's offset is written.
    pattern_offsets: Vec<u32>,
    /// Bytes after which the pattern restarts; 0 for never.
    pattern_interval: usize,
    form: Form,
    /// Number of the worker, written to headers.
    job: u16,
    /// The position of the header in an interval.
    header_at: usize,
    /// Whether to check the rest of a block after a mismatch.
    checks_all_pieces: bool,
}

/// A block to write or check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The seed of its contents, if known.
    pub(crate) seed: Option<u64>,
    /// The write number, if known.
    pub(crate) number: Option<u64>,
    /// A hash of all its bytes, if fio's checksum misses most errors.
    pub(crate) hash: Option<u64>,
    /// The block was discarded, and must read as zeros.
    pub(crate) zeros: bool,
}

/// The position, length and fault of a mismatching piece.
pub(crate) type Fault = (u64, u32, BlockFault);

impl Checker {
    pub(crate) fn new(verify: &Verify, job: u16) -> Checker {
        Checker {
            method: verify.method,
            interval: verify.interval as usize,
            pattern: verify.pattern.clone(),
            pattern_offsets: verify.pattern_offsets.clone(),
            pattern_interval: verify.pattern_interval as usize,
            form: Form::Current,
            job,
            header_at: match verify.method {
                VerifyMethod::Pattern | VerifyMethod::None => 0,
                _ => verify.header_at as usize,
            },
            checks_all_pieces: !verify.fatal,
        }
    }

    /// Returns the minimum length of blocks and intervals.
    pub(crate) fn min_length(&self) -> usize {
        match (self.has_header(), self.header_at) {
            (true, 0) => self.header_bytes(self.form) + 1,
            (true, at) => at + self.header_bytes(self.form),
            (false, _) => 1,
        }
    }

    /// Returns the minimum position of a header that is not at the start. The header is swapped
    /// with the bytes at the start, so it must not overlap them.
    pub(crate) fn min_header_offset(&self) -> usize {
        self.header_bytes(self.form)
    }

    /// Returns the position of the header in an interval.
    pub(crate) fn header_position(&self) -> usize {
        self.header_at
    }

    /// Returns the length of a header with the checksum that follows it.
    fn header_bytes(&self, form: Form) -> usize {
        form.bytes() + checksum::width(self.method)
    }

    fn has_header(&self) -> bool {
        !matches!(self.method, VerifyMethod::Pattern | VerifyMethod::None)
    }

    /// True if contents come from a seed instead of a pattern.
    fn needs_seed(&self) -> bool {
        self.pattern.is_empty()
    }

    /// Draws the seed of the next block as fio does: the product of two random numbers.
    pub(crate) fn draw_seed(&self, draws: &mut Draws) -> u64 {
        match self.needs_seed() {
            true => u64::from(draws.next_u32(Purpose::Verify)).wrapping_mul(u64::from(draws.next_u32(Purpose::Verify))),
            false => 0,
        }
    }

    /// Fills the buffer of a block before its write.
    pub(crate) fn fill(&self, buffer: &mut [u8], block: &mut Block, time_ns: u64, filler: &Filler) {
        match self.needs_seed() {
            true => filler.fill_from_seed(buffer, block.seed.unwrap_or(0)),
            false => self.write_pattern(buffer, block.offset),
        }
        if self.has_header() {
            self.write_headers(buffer, block, time_ns);
        }
        if checksum::needs_extra_hash(self.method) {
            block.hash = Some(xxhash_rust::xxh64::xxh64(buffer, 0));
        }
    }

    /// Fills a buffer with the expected data of a block: zeros if it was discarded. For read-only
    /// streams, contents other than a pattern are assumed to be random.
    pub(crate) fn fill_expected(&self, buffer: &mut [u8], block: &Block, filler: Option<&Filler>) {
        if block.zeros {
            return buffer.fill(0);
        }
        let random = Filler::new(&Content::Fresh, 0, engine::fill::random_fill(), Arc::default(), 1);
        self.fill(buffer, &mut block.clone(), 0, filler.unwrap_or(&random));
    }

    fn write_pattern(&self, buffer: &mut [u8], offset: u64) {
        if self.pattern_offsets.is_empty() && self.pattern_interval == 0 {
            return repeat(&self.pattern, buffer);
        }
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = self.pattern_byte(at, offset);
        }
    }

    /// Returns the byte of the pattern at a position in the block at `offset`.
    fn pattern_byte(&self, at: usize, offset: u64) -> u8 {
        let start = match self.pattern_interval {
            0 => 0,
            interval => at - at % interval,
        };
        let place = (at - start) % self.pattern.len();
        let contains = |field: &&u32| (**field as usize..**field as usize + 8).contains(&place);
        match self.pattern_offsets.iter().find(contains) {
            Some(field) => (offset + start as u64).to_ne_bytes()[place - *field as usize],
            None => self.pattern[place],
        }
    }

    fn write_headers(&self, buffer: &mut [u8], block: &Block, time_ns: u64) {
        let begin = self.form.bytes();
        let data = begin + checksum::width(self.method);
        let interval = self.header_interval(buffer.len());
        for (number, piece) in buffer.chunks_mut(interval).enumerate() {
            if piece.len() < interval {
                // As in fio, a partial interval has no header and is not checked.
                break;
            }
            let header = Header {
                length: piece.len() as u32,
                seed: block.seed.unwrap_or(0),
                offset: block.offset + (number * interval) as u64,
                time_ns,
                number: block.number.unwrap_or(0),
                job: self.job,
            };
            header.write(self.form, self.method, piece);
            let sum = Checksum::compute(self.method, &piece[data..]);
            piece[begin..data].copy_from_slice(sum.bytes());
            swap_bytes(piece, self.header_at, data);
        }
    }

    /// Returns the bytes between headers in a block of this length.
    fn header_interval(&self, length: usize) -> usize {
        match self.interval {
            0 => length,
            interval if interval <= length => interval,
            _ => length,
        }
    }

    /// Checks a block that was read. Returns the mismatching pieces. The buffer is modified
    /// temporarily and restored.
    pub(crate) fn check(&self, buffer: &mut [u8], block: &Block) -> Vec<Fault> {
        if block.zeros {
            let wrong = buffer.iter().position(|byte| *byte != 0);
            let fault = wrong.map(|at| BlockFault::NotZero {
                at: at as u32,
                found: buffer[at],
            });
            return Vec::from_iter(fault.map(|fault| (block.offset, block.length, fault)));
        }
        if self.method == VerifyMethod::None {
            return Vec::new();
        }
        let mut faults = self.check_pieces(buffer, block);
        if faults.is_empty()
            && let Some(expected) = block.hash
        {
            let hash = xxhash_rust::xxh64::xxh64(buffer, 0);
            if hash != expected {
                let fault = BlockFault::Checksum {
                    method: self.method,
                    found: hash.to_be_bytes().into(),
                    expected: expected.to_be_bytes().into(),
                };
                faults.push((block.offset, block.length, fault));
            }
        }
        faults
    }

    fn check_pieces(&self, buffer: &mut [u8], block: &Block) -> Vec<Fault> {
        let mut faults = Vec::new();
        let interval = self.header_interval(buffer.len());
        for (number, piece) in buffer.chunks_mut(interval).enumerate() {
            let at = number * interval;
            if self.has_header() && piece.len() < interval {
                break;
            }
            let offset = block.offset + at as u64;
            let moved = match self.header_at {
                0 => 0,
                place => self.header_bytes(Form::detect(&piece[place..])),
            };
            swap_bytes(piece, self.header_at, moved);
            let checked = self.check_piece(piece, at, offset, block);
            swap_bytes(piece, self.header_at, moved);
            if let Err(fault) = checked {
                faults.push((offset, piece.len() as u32, fault));
                if !self.checks_all_pieces {
                    break;
                }
            }
        }
        faults
    }

    fn check_piece(&self, piece: &[u8], at: usize, offset: u64, block: &Block) -> Result<(), BlockFault> {
        if !self.has_header() {
            return self.check_pattern(piece, at, 0, block);
        }
        let expected_fields = ExpectedHeader {
            length: piece.len() as u32,
            seed: block.seed,
            offset,
            number: block.number,
        };
        let form = Header::check(piece, &expected_fields)?;
        let begin = form.bytes();
        match self.method {
            VerifyMethod::PatternWithHeader => return self.check_pattern(piece, at, begin, block),
            VerifyMethod::Header if !self.pattern.is_empty() => return self.check_pattern(piece, at, begin, block),
            _ => {}
        }
        let data = begin + checksum::width(self.method);
        let sum = Checksum::compute(self.method, &piece[data..]);
        if sum.bytes() == &piece[begin..data] {
            return Ok(());
        }
        Err(BlockFault::Checksum {
            method: self.method,
            found: sum.bytes().into(),
            expected: piece[begin..data].into(),
        })
    }

    /// Compares a piece after its first `skip` bytes with the pattern, which continues from piece
    /// to piece.
    fn check_pattern(&self, piece: &[u8], at: usize, skip: usize, block: &Block) -> Result<(), BlockFault> {
        if self.pattern.is_empty() {
            return Ok(());
        }
        let expected = (at + skip..).map(|at| self.pattern_byte(at, block.offset));
        let pairs = piece[skip..].iter().zip(expected).enumerate();
        match pairs.into_iter().find(|(_, (found, expected))| *found != expected) {
            None => Ok(()),
            Some((index, (found, expected))) => Err(BlockFault::Pattern {
                at: (skip + index) as u32,
                found: *found,
                expected,
                bad_bits: (found ^ expected).count_ones(),
            }),
        }
    }
}

/// Swaps the first `length` bytes with those at `position`. Does nothing if `position` is 0.
fn swap_bytes(piece: &mut [u8], position: usize, length: usize) {
    if position > 0 {
        let (front, back) = piece.split_at_mut(position);
        front[..length].swap_with_slice(&mut back[..length]);
    }
}

/// Creates the report of a mismatch.
pub(crate) fn report_mismatch(stream: u32, path: &str, block: &Block, (offset, length, fault): Fault) -> Mismatch {
    Mismatch {
        stream,
        path: path.to_owned(),
        offset: Bytes(offset),
        length,
        block_offset: Bytes(block.offset),
        block_length: block.length,
        write_number: None,
        fault,
    }
}
