//! The content of writes. Zeros, patterns and repeated blocks make compressing and deduplicating
//! storage look faster than it is, so every native write carries fresh random data. The generator
//! is xoshiro256+ in eight lanes, which a vector unit computes at the speed of a memory copy. The
//! engine crate compiles it for the CPU's instruction set.

use std::sync::Arc;

use crate::JsonSchema;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use serde::{Deserialize, Serialize};

use crate::draws::{Draws, Purpose};
use crate::units::{Bytes, Nanos};

/// The content of writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "content", rename_all = "snake_case")]
pub enum Content {
    /// New random data for each write: neither compressible nor a duplicate.
    #[default]
    Fresh,
    /// New random data for each write, from the worker's own generator (DiskSpd `-Zr`).
    Drawn,
    /// Buffers are filled once with random data. Each write stamps offset and time into every 512
    /// bytes (fio).
    Stamped,
    /// Buffers are filled once with random data and then reused.
    Once,
    /// Zeros.
    Zeros,
    /// The bytes 0 … 255 repeating (DiskSpd).
    Counting,
    /// These bytes repeating.
    Pattern {
        /// The bytes; not empty.
        bytes: Vec<u8>,
    },
    /// Random data of which a part is constant.
    Compressible {
        /// Constant part in percent.
        percent: u8,
        /// Size of the unit whose first `percent` is constant; 0 for the whole block.
        chunk: u32,
        /// The bytes of the constant part; empty for zeros.
        #[serde(default)]
        pattern: Vec<u8>,
    },
    /// Random data of which some buffers repeat earlier ones.
    Duplicated {
        /// Repeated buffers in percent.
        percent: u8,
        /// Number of different buffers to repeat; 0 repeats only the last one.
        #[serde(default)]
        working_set: u64,
        /// All streams with this flag have the same working set (fio `dedupe_global`).
        #[serde(rename = "shared", default)]
        shared_working_set: bool,
        /// A part of every buffer is constant.
        #[serde(default)]
        constant: Option<ConstantPart>,
    },
    /// Excerpts of a source buffer that all workers share (DiskSpd `-Z<size>`).
    Source {
        /// Size of the source.
        size: Bytes,
        /// File it is read from; random data if absent.
        #[serde(default)]
        file: Option<String>,
    },
}

/// The part of random data that is constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConstantPart {
    /// In percent.
    pub percent: u8,
    /// Size of the unit whose first `percent` is constant; 0 for the whole block.
    pub chunk: u32,
    /// The bytes; empty for zeros.
    #[serde(default)]
    pub pattern: Vec<u8>,
}

impl Content {
    /// True if a buffer changes before each write.
    pub fn changes_each_write(&self) -> bool {
        match self {
            Content::Once | Content::Zeros | Content::Counting | Content::Pattern { .. } => false,
            Content::Fresh
            | Content::Drawn
            | Content::Stamped
            | Content::Compressible { .. }
            | Content::Duplicated { .. }
            | Content::Source { .. } => true,
        }
    }

    /// True if filling a buffer draws from the worker's generators.
    pub fn draws(&self) -> bool {
        match self {
            Content::Drawn | Content::Duplicated { .. } | Content::Source { .. } => true,
            Content::Once
            | Content::Zeros
            | Content::Counting
            | Content::Pattern { .. }
            | Content::Fresh
            | Content::Stamped
            | Content::Compressible { .. } => false,
        }
    }

    /// Writes the constant part of the content, if there is one, to each chunk of a buffer.
    fn write_constant_part(&self, buffer: &mut [u8]) {
        let (percent, chunk, pattern) = match self {
            Content::Compressible {
                percent,
                chunk,
                pattern,
            } => (*percent, *chunk, pattern),
            Content::Duplicated {
                constant: Some(part), ..
            } => (part.percent, part.chunk, &part.pattern),
            _ => return,
        };
        let chunk = if chunk == 0 {
            buffer.len().max(1)
        } else {
            chunk as usize
        };
        for piece in buffer.chunks_mut(chunk) {
            let constant = piece.len() * usize::from(percent.min(100)) / 100;
            repeat(pattern, &mut piece[..constant]);
        }
    }
}

/// xoshiro256+ (Blackman and Vigna 2018) in eight independent lanes.
#[derive(Clone, Debug)]
pub struct WideRandom {
    lanes: [[u64; 8]; 4],
}

impl WideRandom {
    /// Seeds all lanes from one number.
    pub fn new(seed: u64) -> WideRandom {
        let mut seed_generator = SplitMix64::seed_from_u64(seed);
        WideRandom {
            lanes: std::array::from_fn(|_| std::array::from_fn(|_| seed_generator.next_u64())),
        }
    }

    /// Fills a buffer with random bytes.
    #[inline(always)]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let [mut a, mut b, mut c, mut d] = self.lanes;
        let (chunks, rest) = buffer.as_chunks_mut::<64>();
        for chunk in chunks {
            chunk.copy_from_slice(Self::block(&mut a, &mut b, &mut c, &mut d).as_flattened());
        }
        if !rest.is_empty() {
            let block = Self::block(&mut a, &mut b, &mut c, &mut d);
            rest.copy_from_slice(&block.as_flattened()[..rest.len()]);
        }
        self.lanes = [a, b, c, d];
    }

    #[inline(always)]
    fn block(a: &mut [u64; 8], b: &mut [u64; 8], c: &mut [u64; 8], d: &mut [u64; 8]) -> [[u8; 8]; 8] {
        let mut out = [[0u8; 8]; 8];
        for lane in 0..8 {
            out[lane] = a[lane].wrapping_add(d[lane]).to_le_bytes();
            let shifted = b[lane] << 17;
            c[lane] ^= a[lane];
            d[lane] ^= b[lane];
            b[lane] ^= c[lane];
            a[lane] ^= d[lane];
            c[lane] ^= shifted;
            d[lane] = d[lane].rotate_left(45);
        }
        out
    }
}

/// A function that fills a buffer from a [`WideRandom`]: [`WideRandom::fill`], compiled for an
/// instruction set.
pub type RandomFill = fn(&mut WideRandom, &mut [u8]);

/// A source buffer, which workers share. A `Vec` inside, because an `Arc<[u8]>` made of it would be
/// a second copy.
pub type Source = Arc<Vec<u8>>;

/// A source is filled in pieces of this size, each a multiple of what a generator returns.
const SOURCE_PIECE: usize = 16 << 20;

/// Returns the source buffer of a [`Content::Source`], or an empty one for other contents. Repeats
/// `file` to fill it; without `file` it holds random data. Returns `None` if interrupted:
/// gigabytes take seconds to fill.
pub fn source(
    content: &Content,
    file: &[u8],
    fill_random: RandomFill,
    is_interrupted: &dyn Fn() -> bool,
) -> Option<Source> {
    let Content::Source { size, .. } = content else {
        return Some(Source::default());
    };
    let mut bytes = vec![0u8; size.0 as usize];
    // The fixed seed gives every run the same source, as in DiskSpd.
    let mut random = WideRandom::new(0);
    // A piece begins where the file does.
    let piece = match file.len() {
        0 => SOURCE_PIECE,
        length => length * (SOURCE_PIECE / length).max(1),
    };
    for chunk in bytes.chunks_mut(piece) {
        if is_interrupted() {
            return None;
        }
        match file {
            [] => fill_random(&mut random, chunk),
            _ => repeat(file, chunk),
        }
    }
    Some(Arc::new(bytes))
}

/// The seed of a working set that streams share.
const SHARED_SET_SEED: u64 = 0xded0_b5e7_0000_0001;

/// Fills the write buffers of one worker.
#[derive(Clone, Debug)]
pub struct Filler {
    content: Content,
    random: WideRandom,
    fill_random: RandomFill,
    seed: u64,
    /// Buffers created so far, each from its own seed (duplicated contents only).
    buffers_created: u64,
    /// Refill the buffer before each write even if the content is constant.
    refill_each_write: bool,
    source: Source,
    /// Source offsets are rounded down to this (the sector, for direct I/O).
    source_step: u64,
}

impl Filler {
    /// A filler for the given contents. `source` is the result of [`source()`], which all fillers
    /// of a step share.
    pub fn new(content: &Content, seed: u64, fill_random: RandomFill, source: Source, source_step: u64) -> Filler {
        Filler {
            content: content.clone(),
            random: WideRandom::new(seed ^ 0x05ee_d0fb_0ffe_4500),
            fill_random,
            seed,
            buffers_created: 0,
            refill_each_write: false,
            source,
            source_step: source_step.max(1),
        }
    }

    /// Fills a buffer for the first time.
    pub fn prepare(&mut self, buffer: &mut [u8]) {
        match &self.content {
            Content::Zeros => buffer.fill(0),
            Content::Counting => {
                const BYTE_RAMP: [u8; 256] = {
                    let (mut count, mut byte) = ([0; 256], 0);
                    while byte < 256 {
                        count[byte] = byte as u8;
                        byte += 1;
                    }
                    count
                };
                buffer
                    .chunks_mut(256)
                    .for_each(|chunk| chunk.copy_from_slice(&BYTE_RAMP[..chunk.len()]));
            }
            Content::Pattern { bytes } => repeat(bytes, buffer),
            _ => (self.fill_random)(&mut self.random, buffer),
        }
    }

    /// Refills buffers before each write from now on: reads or other streams also use and overwrite
    /// them.
    pub fn enable_refill(&mut self) {
        self.refill_each_write = true;
    }

    /// Fills a buffer for a write at `offset`. [`Filler::prepare`] has already written constant
    /// contents.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8], offset: u64, now: Nanos, draws: &mut Draws) {
        match &self.content {
            Content::Fresh => (self.fill_random)(&mut self.random, buffer),
            Content::Once | Content::Zeros | Content::Counting | Content::Pattern { .. } => {
                if self.refill_each_write {
                    self.prepare(buffer);
                }
            }
            Content::Stamped => stamp(buffer, offset, now),
            Content::Drawn => fill_from_draws(buffer, draws),
            Content::Compressible { .. } => {
                (self.fill_random)(&mut self.random, buffer);
                self.content.write_constant_part(buffer);
            }
            Content::Duplicated {
                percent,
                working_set,
                shared_working_set: shared,
                ..
            } => {
                let may_repeat = self.buffers_created > 0 || *shared;
                let repeats = may_repeat && draws.next_u32(Purpose::Content) % 100 < u32::from(*percent);
                let (seed, number) = match (repeats, *working_set) {
                    (false, _) => {
                        self.buffers_created += 1;
                        (self.seed, self.buffers_created)
                    }
                    (true, 0) => (self.seed, self.buffers_created),
                    // The fixed seed gives all streams the same set.
                    (true, set) if *shared => (SHARED_SET_SEED, 1 + draws.next_u64(Purpose::Content) % set),
                    (true, set) => (
                        self.seed,
                        1 + draws.next_u64(Purpose::Content) % set.min(self.buffers_created),
                    ),
                };
                let mut random = WideRandom::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                (self.fill_random)(&mut random, buffer);
                self.content.write_constant_part(buffer);
            }
            Content::Source { .. } => {
                let room = (self.source.len() - buffer.len().min(self.source.len())) as u64 + 1;
                let mut start = u64::from(draws.next_u32(Purpose::Content)) % room;
                start -= start % self.source_step;
                let rest = &self.source[start as usize..];
                let length = buffer.len().min(rest.len());
                buffer[..length].copy_from_slice(&rest[..length]);
            }
        }
    }

    /// Fills a buffer reproducibly from a seed, for blocks to be verified. Keeps the constant part
    /// of the content; the rest is random.
    pub fn fill_from_seed(&self, buffer: &mut [u8], seed: u64) {
        (self.fill_random)(&mut WideRandom::new(seed), buffer);
        self.content.write_constant_part(buffer);
    }
}

/// Repeats a pattern over a buffer; zeros, if it is empty.
pub fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    if pattern.is_empty() {
        buffer.fill(0);
        return;
    }
    for chunk in buffer.chunks_mut(pattern.len()) {
        chunk.copy_from_slice(&pattern[..chunk.len()]);
    }
}

/// Writes offset and time into each 512 bytes, so that no two writes are equal.
fn stamp(buffer: &mut [u8], offset: u64, now: Nanos) {
    for (index, sector) in buffer.chunks_exact_mut(512).enumerate() {
        sector[..8].copy_from_slice(&(offset + 512 * index as u64).to_le_bytes());
        sector[504..].copy_from_slice(&now.0.to_le_bytes());
    }
}

/// Fills a buffer with the same number of draws as DiskSpd, so that later offsets match. While more
/// than sixteen words remain, five draws yield sixteen words; each of the last takes one draw.
fn fill_from_draws(buffer: &mut [u8], draws: &mut Draws) {
    let mut words = buffer.chunks_exact_mut(8);
    let mut words_left = words.len();
    let mut put = |value: u64| {
        if let Some(word) = words.next() {
            word.copy_from_slice(&value.to_le_bytes());
        }
    };
    while words_left > 16 {
        let seeds: [u64; 5] = std::array::from_fn(|_| draws.next_u64(Purpose::Content));
        for index in 0..16u32 {
            let (first, second) = (
                seeds[index as usize % 5],
                seeds[(index as usize + 1 + index as usize / 5) % 5],
            );
            put(first ^ second.rotate_left(1 + index * 3));
        }
        words_left -= 16;
    }
    for _ in 0..words_left {
        put(draws.next_u64(Purpose::Content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::GeneratorChoice;

    fn filled(content: Content, length: usize, times: usize) -> Vec<Vec<u8>> {
        let mut draws = GeneratorChoice::Native { seed: 4 }.start();
        let mut filler = Filler::new(
            &content,
            11,
            WideRandom::fill,
            source(&content, b"", WideRandom::fill, &|| false).unwrap(),
            1,
        );
        let mut buffer = vec![0u8; length];
        filler.prepare(&mut buffer);
        (0..times)
            .map(|i| {
                filler.fill(&mut buffer, (i * length) as u64, Nanos(i as u64), &mut draws);
                buffer.clone()
            })
            .collect()
    }

    fn one_bit_share(bytes: &[u8]) -> f64 {
        bytes.iter().map(|b| f64::from(b.count_ones())).sum::<f64>() / (bytes.len() * 8) as f64
    }

    #[test]
    fn fresh_data_is_random_and_never_repeats() {
        let blocks = filled(Content::Fresh, 4096, 100);
        let all: Vec<u8> = blocks.concat();
        assert!((one_bit_share(&all) - 0.5).abs() < 0.002, "{}", one_bit_share(&all));
        let sectors: std::collections::HashSet<&[u8]> = all.chunks(512).collect();
        assert_eq!(sectors.len(), 800);
    }

    #[test]
    fn a_partial_lane_is_filled_to_its_end() {
        let block = &filled(Content::Fresh, 1000, 1)[0];
        assert!(block[936..].iter().any(|b| *b != 0));
    }

    #[test]
    fn constant_contents() {
        assert!(filled(Content::Zeros, 512, 2).concat().iter().all(|b| *b == 0));
        let counting = &filled(Content::Counting, 1024, 1)[0];
        assert!(counting.iter().enumerate().all(|(i, b)| *b == (i % 256) as u8));
        let pattern = &filled(Content::Pattern { bytes: b"abc".to_vec() }, 512, 1)[0];
        assert_eq!(&pattern[..7], b"abcabca");
    }

    #[test]
    fn stamps_make_writes_differ() {
        let blocks = filled(Content::Stamped, 1024, 2);
        assert_ne!(blocks[0][..8], blocks[0][512..520]);
        assert_ne!(blocks[0], blocks[1]);
        assert_eq!(blocks[0][8..504], blocks[1][8..504]);
    }

    #[test]
    fn compressible_share_is_exact_in_each_chunk() {
        let content = Content::Compressible {
            percent: 75,
            chunk: 512,
            pattern: Vec::new(),
        };
        for chunk in filled(content, 4096, 3).concat().chunks(512) {
            assert!(chunk[..384].iter().all(|b| *b == 0));
            assert!(chunk[384..].iter().any(|b| *b != 0));
        }
    }

    #[test]
    fn duplicates_are_close_to_their_share() {
        for working_set in [0, 20] {
            let blocks = filled(
                Content::Duplicated {
                    percent: 50,
                    working_set,
                    shared_working_set: false,
                    constant: None,
                },
                64,
                2000,
            );
            let different: std::collections::HashSet<&Vec<u8>> = blocks.iter().collect();
            assert!((900..1100).contains(&different.len()), "{}", different.len());
        }
    }

    #[test]
    fn partly_constant_duplicates_have_both_shares() {
        let constant_part = ConstantPart {
            percent: 50,
            chunk: 64,
            pattern: b"x".to_vec(),
        };
        let content = Content::Duplicated {
            percent: 50,
            working_set: 20,
            shared_working_set: false,
            constant: Some(constant_part),
        };
        let blocks = filled(content, 128, 2000);
        let different: std::collections::HashSet<&Vec<u8>> = blocks.iter().collect();
        assert!((900..1100).contains(&different.len()), "{}", different.len());
        for chunk in blocks.concat().chunks(64) {
            assert!(chunk[..32].iter().all(|byte| *byte == b'x'));
            assert!(chunk[32..].iter().any(|byte| *byte != b'x'));
        }
    }

    #[test]
    fn only_flagged_streams_share_a_working_set() {
        // The two fillers have different seeds.
        let blocks_of = |seed: u64, shared: bool| {
            let content = Content::Duplicated {
                percent: 50,
                working_set: 8,
                shared_working_set: shared,
                constant: None,
            };
            let mut draws = GeneratorChoice::Native { seed }.start();
            let mut filler = Filler::new(&content, seed, WideRandom::fill, Arc::default(), 1);
            let mut buffer = [0u8; 64];
            let mut block = |_| {
                filler.fill(&mut buffer, 0, Nanos(0), &mut draws);
                buffer
            };
            (0..400).map(&mut block).collect::<std::collections::HashSet<_>>()
        };
        for (shared, common) in [(false, 0), (true, 8)] {
            let (first, second) = (blocks_of(3, shared), blocks_of(4, shared));
            assert_eq!(first.intersection(&second).count(), common, "shared: {shared}");
        }
    }

    #[test]
    fn a_source_is_filled_in_pieces_and_can_be_interrupted() {
        let size = SOURCE_PIECE + 1000;
        let content = Content::Source {
            size: Bytes(size as u64),
            file: None,
        };
        let mut complete = vec![0; size];
        WideRandom::new(0).fill(&mut complete);
        assert!(*source(&content, b"", WideRandom::fill, &|| false).unwrap() == complete);
        repeat(b"abc", &mut complete);
        assert!(*source(&content, b"abc", WideRandom::fill, &|| false).unwrap() == complete);
        assert!(source(&content, b"", WideRandom::fill, &|| true).is_none());
    }

    #[test]
    fn excerpts_stay_within_the_source() {
        let content = Content::Source {
            size: Bytes(1000),
            file: None,
        };
        let source = {
            let mut bytes = vec![0u8; 1000];
            WideRandom::new(0).fill(&mut bytes);
            bytes
        };
        for block in filled(content, 300, 50) {
            assert!(source.windows(300).any(|window| window == block));
        }
    }
}
