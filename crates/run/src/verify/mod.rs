//! Verification: what is written so that it can be checked, and the check of what is read back.
//!
//! Pure work on buffers. Which blocks were written and are to be read back is kept in [`history`];
//! when that happens is the worker's business.

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
pub(crate) use header::seed_in;
use header::{Form, Header, Wanted};
pub use key_map::KeyMapFile;

/// What is written, and what is expected when it is read back.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    method: VerifyMethod,
    /// Bytes between headers; 0 for one per block.
    interval: usize,
    pattern: Vec<u8>,
    /// Where in it offsets stand.
    pattern_offsets: Vec<u32>,
    /// Bytes after which it starts again; 0 for never.
    pattern_interval: usize,
    form: Form,
    /// Number of the worker, as it stands in headers.
    job: u16,
    /// Where in an interval the header stands.
    header_at: usize,
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
    /// It was discarded since, and has to read as zeros.
    pub(crate) zeros: bool,
}

/// The position, length and fault of a piece that is wrong.
pub(crate) type Fault = (u64, u32, BlockFault);

impl Checker {
    pub(crate) fn new(verify: &Verify, job: u16) -> Checker {
        Checker {
            method: verify.method,
            interval: verify.interval as usize,
            pattern: verify.pattern.clone(),
            pattern_offsets: verify.pattern_offsets.clone(),
            pattern_interval: verify.pattern_interval as usize,
            form: Form::Present,
            job,
            header_at: match verify.method {
                VerifyMethod::Pattern | VerifyMethod::None => 0,
                _ => verify.header_at as usize,
            },
            thorough: !verify.fatal,
        }
    }

    /// The shortest block and interval that leave room for a header.
    pub(crate) fn least_length(&self) -> usize {
        match (self.has_header(), self.header_at) {
            (true, 0) => self.header_bytes(self.form) + 1,
            (true, at) => at + self.header_bytes(self.form),
            (false, _) => 1,
        }
    }

    /// What the header may not stand before, where it does not stand at the beginning: it changes
    /// places with as many bytes.
    pub(crate) fn least_place(&self) -> usize {
        self.header_bytes(self.form)
    }

    /// Where in an interval the header stands.
    pub(crate) fn place(&self) -> usize {
        self.header_at
    }

    /// Bytes of a header with the checksum that follows it.
    fn header_bytes(&self, form: Form) -> usize {
        form.bytes() + checksum::width(self.method)
    }

    fn has_header(&self) -> bool {
        !matches!(self.method, VerifyMethod::Pattern | VerifyMethod::None)
    }

    /// Contents come from a seed; otherwise they are a pattern.
    fn needs_seed(&self) -> bool {
        self.pattern.is_empty()
    }

    /// The seed of the next block, as fio draws it: two numbers, multiplied.
    pub(crate) fn draw_seed(&self, draws: &mut Draws) -> u64 {
        match self.needs_seed() {
            true => u64::from(draws.half(Purpose::Verify)).wrapping_mul(u64::from(draws.half(Purpose::Verify))),
            false => 0,
        }
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

    /// What a block should have held. What was discarded is zeros. Contents of streams that only
    /// read are taken to be random where they are no pattern.
    pub(crate) fn fill_expected(&self, buffer: &mut [u8], block: &Block, filler: Option<&Filler>) {
        if block.zeros {
            return buffer.fill(0);
        }
        let random = Filler::new(&Content::Fresh, 0, engine::fill::random_fill(), Arc::default(), 1);
        self.fill(buffer, &mut block.clone(), 0, filler.unwrap_or(&random));
    }

    fn put_pattern(&self, buffer: &mut [u8], offset: u64) {
        if self.pattern_offsets.is_empty() && self.pattern_interval == 0 {
            return repeat(&self.pattern, buffer);
        }
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = self.pattern_byte(at, offset);
        }
    }

    /// The byte of the pattern at a position in the block at `offset`.
    fn pattern_byte(&self, at: usize, offset: u64) -> u8 {
        let begin = match self.pattern_interval {
            0 => 0,
            interval => at - at % interval,
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
                // fio leaves what does not fill an interval without a header, and does not check
                // it.
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
            exchange(piece, self.header_at, data);
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

    /// Checks a block that was read. Returns each piece that is wrong. The buffer is left as it
    /// was, but is changed meanwhile.
    pub(crate) fn check(&self, buffer: &mut [u8], block: &Block) -> Vec<Fault> {
        if block.zeros {
            let wrong = buffer.iter().position(|byte| *byte != 0);
            let fault = wrong.map(|at| BlockFault::NotZero {
                at: at as u32,
                found: buffer[at],
            });
            return fault
                .map(|fault| (block.offset, block.length, fault))
                .into_iter()
                .collect();
        }
        if self.method == VerifyMethod::None {
            return Vec::new();
        }
        let mut faults = self.check_pieces(buffer, block);
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

    fn check_pieces(&self, buffer: &mut [u8], block: &Block) -> Vec<Fault> {
        let mut faults = Vec::new();
        let interval = self.interval_of(buffer.len());
        for (number, piece) in buffer.chunks_mut(interval).enumerate() {
            let at = number * interval;
            if self.has_header() && piece.len() < interval {
                break;
            }
            let offset = block.offset + at as u64;
            let moved = match self.header_at {
                0 => 0,
                place => self.header_bytes(Form::recognise(&piece[place..])),
            };
            exchange(piece, self.header_at, moved);
            let checked = self.check_piece(piece, at, offset, block);
            exchange(piece, self.header_at, moved);
            if let Err(fault) = checked {
                faults.push((offset, piece.len() as u32, fault));
                if !self.thorough {
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

    /// Holds what stands behind the first `skip` bytes of a piece against the pattern, which
    /// continues from piece to piece.
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

/// Lets the first `length` bytes change places with those from `place` on; nothing happens at the
/// beginning itself.
fn exchange(piece: &mut [u8], place: usize, length: usize) {
    if place > 0 {
        let (front, back) = piece.split_at_mut(place);
        front[..length].swap_with_slice(&mut back[..length]);
    }
}

/// A mismatch with where it was found.
pub(crate) fn mismatch(stream: u32, path: &str, block: &Block, (offset, length, fault): Fault) -> Mismatch {
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
