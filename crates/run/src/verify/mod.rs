//! Verification: what is written so that it can be checked, and the check of what is read back.
//!
//! Pure work on buffers. Which blocks were written and are to be read back is kept in [`history`]; when that happens is the
//! worker's business.

mod checksum;
mod header;
pub(crate) mod history;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::Bytes;
use model::content::{Content, Filler, repeat};
use model::mismatch::{BlockFault, Mismatch};
use model::plan::{Verify, VerifyMethod};

use checksum::Checksum;
use header::{Form, Header, Wanted};

/// What is written, and what is expected when it is read back.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    method: VerifyMethod,
    /// Bytes between headers; 0 for one per block.
    interval: usize,
    pattern: Vec<u8>,
    /// Where in it offsets stand.
    pattern_offsets: Vec<u32>,
    /// It begins anew in every interval.
    pattern_of_interval: bool,
    form: Form,
    /// Number of the worker, as it stands in headers.
    job: u16,
    /// The rest of a block is looked at after a mismatch, too.
    thorough: bool,
}

/// A block as it was written or will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Seed of its contents, where it is known.
    pub(crate) seed: Option<u64>,
    /// Number of the write, where it is known.
    pub(crate) number: Option<u64>,
    /// Hash of all of its bytes, where the method says too little of them.
    pub(crate) hash: Option<u64>,
}

impl Checker {
    pub(crate) fn new(verify: &Verify, job: u16) -> Checker {
        Checker {
            method: verify.method,
            interval: verify.interval as usize,
            pattern: verify.pattern.clone(),
            pattern_offsets: verify.pattern_offsets.clone(),
            pattern_of_interval: verify.pattern_of_interval,
            form: Form::Present,
            job,
            thorough: !verify.fatal,
        }
    }

    /// The shortest block and interval that leave room for a header.
    pub(crate) fn least_length(&self) -> usize {
        match self.has_header() {
            true => self.form.bytes() + checksum::width(self.method) + 1,
            false => 1,
        }
    }

    fn has_header(&self) -> bool {
        !matches!(self.method, VerifyMethod::Pattern | VerifyMethod::None)
    }

    /// Contents come from a seed; otherwise they are a pattern.
    pub(crate) fn needs_seed(&self) -> bool {
        self.pattern.is_empty()
    }

    /// Fills the buffer of a block that is about to be written.
    pub(crate) fn fill(&self, buffer: &mut [u8], block: &mut Block, time_ns: u64, filler: &Filler) {
        match self.needs_seed() {
            true => filler.fill_from_seed(buffer, block.seed.unwrap_or(0)),
            false => self.put_pattern(buffer, block.offset),
        }
        if self.has_header() {
            self.put_headers(buffer, block, time_ns);
        }
        if checksum::is_weak(self.method) {
            block.hash = Some(xxhash_rust::xxh64::xxh64(buffer, 0));
        }
    }

    /// What a block should have held. Contents of streams that only read are taken to be random where they are no pattern.
    pub(crate) fn fill_expected(&self, buffer: &mut [u8], block: &Block, filler: Option<&Filler>) {
        let random = Filler::new(&Content::Fresh, 0, engine::fill::random_fill(), Arc::default(), 1);
        self.fill(buffer, &mut block.clone(), 0, filler.unwrap_or(&random));
    }

    fn put_pattern(&self, buffer: &mut [u8], offset: u64) {
        if self.pattern_offsets.is_empty() && !self.pattern_of_interval {
            return repeat(&self.pattern, buffer);
        }
        let interval = self.interval_of(buffer.len());
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = self.pattern_byte(at, interval, offset);
        }
    }

    /// The byte of the pattern at a position in the block at `offset`.
    fn pattern_byte(&self, at: usize, interval: usize, offset: u64) -> u8 {
        let begin = match self.pattern_of_interval {
            true => at - at % interval.max(1),
            false => 0,
        };
        let place = (at - begin) % self.pattern.len();
        let within = |start: &&u32| (**start as usize..**start as usize + 8).contains(&place);
        match self.pattern_offsets.iter().find(within) {
            Some(start) => (offset + begin as u64).to_ne_bytes()[place - *start as usize],
            None => self.pattern[place],
        }
    }

    fn put_headers(&self, buffer: &mut [u8], block: &Block, time_ns: u64) {
        let begin = self.form.bytes();
        let data = begin + checksum::width(self.method);
        let interval = self.interval_of(buffer.len());
        for (number, piece) in buffer.chunks_mut(interval).enumerate() {
            if piece.len() < interval {
                // fio leaves what does not fill an interval without a header, and does not check it.
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
            let sum = Checksum::of(self.method, &piece[data..]);
            piece[begin..data].copy_from_slice(sum.bytes());
        }
    }

    /// Bytes between headers in a block of this length.
    fn interval_of(&self, length: usize) -> usize {
        match self.interval {
            0 => length,
            interval if interval <= length => interval,
            _ => length,
        }
    }

    /// Checks a block that was read. Returns the position, length and fault of each piece that is wrong.
    pub(crate) fn check(&self, buffer: &[u8], block: &Block) -> Vec<(u64, u32, BlockFault)> {
        let mut faults = Vec::new();
        if self.method == VerifyMethod::None {
            return faults;
        }
        let interval = self.interval_of(buffer.len());
        for (number, piece) in buffer.chunks(interval).enumerate() {
            let at = number * interval;
            if self.has_header() && piece.len() < interval {
                break;
            }
            let offset = block.offset + at as u64;
            if let Err(fault) = self.check_piece(piece, at, offset, block) {
                faults.push((offset, piece.len() as u32, fault));
                if !self.thorough {
                    break;
                }
            }
        }
        if faults.is_empty()
            && let Some(expected) = block.hash
        {
            let found = xxhash_rust::xxh64::xxh64(buffer, 0);
            if found != expected {
                let fault = BlockFault::Checksum {
                    method: self.method,
                    found: found.to_be_bytes().into(),
                    expected: expected.to_be_bytes().into(),
                };
                faults.push((block.offset, block.length, fault));
            }
        }
        faults
    }

    fn check_piece(&self, piece: &[u8], at: usize, offset: u64, block: &Block) -> Result<(), BlockFault> {
        if !self.has_header() {
            return self.check_pattern(piece, at, 0, block);
        }
        let wanted = Wanted {
            length: piece.len() as u32,
            seed: block.seed,
            offset,
            number: block.number,
        };
        let form = Header::check(piece, &wanted)?;
        let begin = form.bytes();
        match self.method {
            VerifyMethod::PatternWithHeader => return self.check_pattern(piece, at, begin, block),
            VerifyMethod::Header if !self.pattern.is_empty() => return self.check_pattern(piece, at, begin, block),
            _ => {}
        }
        let data = begin + checksum::width(self.method);
        let sum = Checksum::of(self.method, &piece[data..]);
        if sum.bytes() == &piece[begin..data] {
            return Ok(());
        }
        Err(BlockFault::Checksum {
            method: self.method,
            found: sum.bytes().into(),
            expected: piece[begin..data].into(),
        })
    }

    /// Holds what stands behind the first `skip` bytes of a piece against the pattern, which goes on from piece to piece.
    fn check_pattern(&self, piece: &[u8], at: usize, skip: usize, block: &Block) -> Result<(), BlockFault> {
        if self.pattern.is_empty() {
            return Ok(());
        }
        let interval = self.interval_of(block.length as usize);
        let expected = (at + skip..).map(|at| self.pattern_byte(at, interval, block.offset));
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

/// A mismatch with where it was found.
pub(crate) fn mismatch(
    stream: u32,
    path: &str,
    block: &Block,
    (offset, length, fault): (u64, u32, BlockFault),
) -> Mismatch {
    Mismatch {
        stream,
        path: path.to_owned(),
        offset: Bytes(offset),
        length,
        block_offset: Bytes(block.offset),
        block_length: block.length,
        fault,
    }
}
