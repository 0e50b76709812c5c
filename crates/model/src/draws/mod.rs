//! Random numbers for the decisions of a worker. A worker has one [`Draws`]. In the DiskSpd form a
//! single generator serves all decisions, so their *order* affects the result. In the native and
//! fio forms each [`Purpose`] has its own generator, so draws for one purpose do not change the
//! others. Access patterns own no generator. The same seed and plan give each worker the same
//! operations on every engine.

mod jenkins;
mod tausworthe;

use crate::JsonSchema;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
use serde::{Deserialize, Serialize};

pub use jenkins::Jenkins;
pub use tausworthe::Tausworthe;

/// The purpose of a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Selects the stream of a worker that issues next.
    Stream = 0,
    /// Read or write.
    Mix = 1,
    /// The position of a random operation.
    Offset = 2,
    /// Random or sequential, in mixed patterns.
    Jump = 3,
    /// The range of a stepped distribution.
    Range = 4,
    /// The length of a read.
    SizeRead = 5,
    /// The length of a write.
    SizeWrite = 6,
    /// The length of a trim.
    SizeTrim = 7,
    /// The gap to the next arrival of a Poisson schedule of reads.
    GapRead = 8,
    /// The same for writes.
    GapWrite = 9,
    /// The same for trims.
    GapTrim = 10,
    /// The content of a write buffer.
    Content = 11,
    /// The next file of a set.
    File = 12,
    /// The start delay of a worker, from a range.
    Delay = 13,
    /// The seed of a block that will be verified.
    Verify = 14,
    /// The size of a file, from a range.
    FileSize = 15,
    /// Whether a written block will be discarded.
    Trim = 16,
}

const PURPOSES: usize = 17;

/// The difference between the seeds of neighbouring ranks: 2⁶⁴ divided by the golden ratio, so that
/// all seeds are distinct and far apart.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Word `index` of SplitMix64 with this seed, counted from 1: neighbouring seeds or indices yield
/// unrelated words.
pub(crate) fn split_mix(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add(index.wrapping_mul(SEED_STEP));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Which generators a worker draws from, with their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum GeneratorChoice {
    /// xoshiro256++ for each purpose, seeded from the plan's seed and the number of the worker in
    /// the plan.
    Native {
        /// The seed of this worker.
        seed: u64,
    },
    /// One generator for everything (DiskSpd). Its 32-bit seed is the seed of the time span plus
    /// the thread number.
    #[serde(rename = "single")]
    DiskSpd {
        /// The seed of this worker.
        seed: u32,
    },
    /// taus88 for each purpose (fio).
    #[serde(rename = "per_purpose")]
    Fio {
        /// `randseed`, 0x89 by default.
        seed: u64,
        /// The number of the clone in the run, counting from 1 over all jobs.
        number: u32,
        /// Writes draw their lengths from the seed of reads, as in fio with `verify`, so that a
        /// later job that only reads visits the same blocks.
        #[serde(rename = "same_sizes", default, skip_serializing_if = "std::ops::Not::not")]
        writes_use_read_size_seed: bool,
    },
}

impl Default for GeneratorChoice {
    fn default() -> Self {
        GeneratorChoice::Native { seed: 0 }
    }
}

impl GeneratorChoice {
    /// fio's generators for this clone.
    pub fn fio(seed: u64, number: u32) -> GeneratorChoice {
        GeneratorChoice::Fio {
            seed,
            number,
            writes_use_read_size_seed: false,
        }
    }

    /// The generators in their initial state.
    pub fn start(self) -> Draws {
        match self {
            GeneratorChoice::Native { seed } => Draws::Native(Box::new(NativeDraws::new(seed))),
            GeneratorChoice::DiskSpd { seed } => Draws::DiskSpd(Jenkins::new(u64::from(seed))),
            GeneratorChoice::Fio {
                seed,
                number,
                writes_use_read_size_seed,
            } => Draws::Fio(Box::new(FioDraws::new(seed, number, writes_use_read_size_seed))),
        }
    }

    /// The form of the same worker on another rank of a fleet, with its own reproducible decisions.
    /// Rank 0 decides like a single host.
    #[must_use]
    pub fn for_rank(self, rank: u32) -> GeneratorChoice {
        let step = SEED_STEP.wrapping_mul(u64::from(rank));
        match self {
            GeneratorChoice::Native { seed } => GeneratorChoice::Native {
                seed: seed.wrapping_add(step),
            },
            GeneratorChoice::DiskSpd { seed } => GeneratorChoice::DiskSpd {
                seed: seed.wrapping_add((step >> 32) as u32),
            },
            GeneratorChoice::Fio {
                seed,
                number,
                writes_use_read_size_seed,
            } => GeneratorChoice::Fio {
                seed: seed.wrapping_add(step),
                number,
                writes_use_read_size_seed,
            },
        }
    }
}

/// The generators of one worker.
#[derive(Clone, Debug)]
pub enum Draws {
    /// See [`GeneratorChoice::Native`].
    Native(Box<NativeDraws>),
    /// See [`GeneratorChoice::DiskSpd`].
    DiskSpd(Jenkins),
    /// See [`GeneratorChoice::Fio`].
    Fio(Box<FioDraws>),
}

/// One xoshiro256++ for each purpose.
#[derive(Clone, Debug)]
pub struct NativeDraws {
    generators: [Xoshiro256PlusPlus; PURPOSES],
}

impl NativeDraws {
    fn new(seed: u64) -> Self {
        let mut seeds = SplitMix64::seed_from_u64(seed);
        NativeDraws {
            generators: std::array::from_fn(|_| Xoshiro256PlusPlus::seed_from_u64(seeds.next_u64())),
        }
    }
}

/// One taus88 for each purpose, with fio's seeds, so that equal jobs visit equal offsets.
#[derive(Clone, Debug)]
pub struct FioDraws {
    generators: [Tausworthe; PURPOSES],
    seed: u64,
    number: u32,
    writes_use_read_size_seed: bool,
}

/// The seeds of a clone, as fio derives them from `randseed` and the number of the clone in the
/// run, counting from 1: seed i is `randseed × M^(4 + i) × number + i`, `M = 0x9e370001`.
pub fn fio_seeds(seed: u64, number: u32) -> [u64; 24] {
    const M: u64 = 0x9e37_0001;
    let mut state = seed.wrapping_mul(M).wrapping_mul(M).wrapping_mul(M).wrapping_mul(M);
    std::array::from_fn(|index| {
        let seed = state.wrapping_mul(u64::from(number)).wrapping_add(index as u64);
        state = state.wrapping_mul(M);
        seed
    })
}

impl FioDraws {
    fn new(seed: u64, number: u32, writes_use_read_size_seed: bool) -> Self {
        let mut seeds = fio_seeds(seed, number);
        // The index of each purpose's seed in `fio_seeds`.
        const LIST_INDEX: [usize; PURPOSES] = [5, 4, 6, 10, 16, 0, 1, 2, 15, 17, 18, 9, 5, 13, 3, 7, 8];
        if writes_use_read_size_seed {
            seeds[LIST_INDEX[Purpose::SizeWrite as usize]] = seeds[LIST_INDEX[Purpose::SizeRead as usize]];
        }
        FioDraws {
            generators: std::array::from_fn(|purpose| Tausworthe::new(seeds[LIST_INDEX[purpose]] as u32)),
            seed,
            number,
            writes_use_read_size_seed,
        }
    }
}

impl Draws {
    /// 64 random bits (two 32-bit draws where the generator has 32 bits).
    #[inline(always)]
    pub fn next_u64(&mut self, purpose: Purpose) -> u64 {
        match self {
            Draws::Native(draws) => draws.generators[purpose as usize].next_u64(),
            Draws::DiskSpd(generator) => generator.next(),
            Draws::Fio(draws) => {
                let generator = &mut draws.generators[purpose as usize];
                let low = u64::from(generator.next());
                low | u64::from(generator.next()) << 32
            }
        }
    }

    /// 32 random bits: the high half of a 64-bit draw, or one draw of a 32-bit generator.
    #[inline(always)]
    pub fn next_u32(&mut self, purpose: Purpose) -> u32 {
        match self {
            Draws::Native(draws) => (draws.generators[purpose as usize].next_u64() >> 32) as u32,
            Draws::DiskSpd(generator) => generator.next() as u32,
            Draws::Fio(draws) => draws.generators[purpose as usize].next(),
        }
    }

    /// Starts another pass. fio's generators restart, because fio repeats its operations with
    /// `loops` and `io_size`; the others continue.
    pub fn begin_pass(&mut self) {
        if let Draws::Fio(draws) = self {
            **draws = FioDraws::new(draws.seed, draws.number, draws.writes_use_read_size_seed);
        }
    }

    /// The state of the generator for a purpose, if it is fio's.
    pub fn generator_state(&self, purpose: Purpose) -> Option<[u32; 3]> {
        match self {
            Draws::Fio(draws) => Some(draws.generators[purpose as usize].state()),
            Draws::Native(_) | Draws::DiskSpd(_) => None,
        }
    }

    /// Sets each value to `value_of(number)`, with a number below `count` drawn as in
    /// [`Draws::next_below`]. Faster than single calls.
    #[inline(always)]
    pub(crate) fn fill_below<'a>(
        &mut self,
        purpose: Purpose,
        (count, reduction): (u64, Reduction),
        values: impl Iterator<Item = &'a mut u64>,
        mut value_of: impl FnMut(u64) -> u64,
    ) {
        match (&mut *self, reduction) {
            (Draws::Native(draws), Reduction::Lemire) => {
                // Work on a copy, which the compiler keeps in registers.
                let mut generator = draws.generators[purpose as usize].clone();
                for value in values {
                    let mut product = u128::from(generator.next_u64()) * u128::from(count);
                    if (product as u64) < count {
                        let threshold = count.wrapping_neg() % count;
                        while (product as u64) < threshold {
                            product = u128::from(generator.next_u64()) * u128::from(count);
                        }
                    }
                    *value = value_of((product >> 64) as u64);
                }
                draws.generators[purpose as usize] = generator;
            }
            (Draws::Fio(draws), Reduction::MultiplyHigh32) => {
                let mut generator = draws.generators[purpose as usize].clone();
                for value in values {
                    *value = value_of(multiply_high_32(generator.next(), count));
                }
                draws.generators[purpose as usize] = generator;
            }
            _ => values.for_each(|value| *value = value_of(self.next_below(purpose, count, reduction))),
        }
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn next_f64(&mut self, purpose: Purpose) -> f64 {
        (self.next_u64(purpose) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in 0 … `count` − 1 by the given rule. `count` must not be 0.
    #[inline(always)]
    pub fn next_below(&mut self, purpose: Purpose, count: u64, reduction: Reduction) -> u64 {
        match reduction {
            Reduction::Lemire => {
                let mut product = u128::from(self.next_u64(purpose)) * u128::from(count);
                if (product as u64) < count {
                    let threshold = count.wrapping_neg() % count;
                    while (product as u64) < threshold {
                        product = u128::from(self.next_u64(purpose)) * u128::from(count);
                    }
                }
                (product >> 64) as u64
            }
            Reduction::Modulo => self.next_u64(purpose) % count,
            Reduction::MultiplyHigh32 => multiply_high_32(self.next_u32(purpose), count),
            Reduction::MultiplyHigh64 => ((u128::from(self.next_u64(purpose)) * u128::from(count)) >> 64) as u64,
        }
    }
}

/// See [`Reduction::MultiplyHigh32`].
#[inline(always)]
fn multiply_high_32(half: u32, count: u64) -> u64 {
    ((u128::from(half) * u128::from(count)) >> 32) as u64
}

/// How random bits become a number below a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Multiply and keep the high half, redrawing the few values that would bias it (Lemire 2019,
    /// “Fast Random Integer Generation in an Interval”): exactly uniform.
    #[default]
    Lemire,
    /// Remainder (DiskSpd).
    Modulo,
    /// High half of a 32-bit draw times the bound (fio's `tausworthe`).
    MultiplyHigh32,
    /// High half of a 64-bit draw times the bound (fio's `tausworthe64`).
    MultiplyHigh64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that χ² of 16 cells over 160,000 draws stays below the 99.99 % quantile for 15
    /// degrees of freedom (44.3).
    fn assert_uniform(form: GeneratorChoice, reduction: Reduction) {
        let mut draws = form.start();
        let mut cells = [0u32; 16];
        for _ in 0..160_000 {
            cells[draws.next_below(Purpose::Offset, 16, reduction) as usize] += 1;
        }
        let chi2: f64 = cells
            .iter()
            .map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        assert!(chi2 < 44.3, "{form:?} {reduction:?}: {chi2}");
    }

    #[test]
    fn every_form_and_reduction_is_uniform() {
        for form in [
            GeneratorChoice::Native { seed: 1 },
            GeneratorChoice::DiskSpd { seed: 1 },
            GeneratorChoice::fio(0x89, 1),
        ] {
            for reduction in [
                Reduction::Lemire,
                Reduction::Modulo,
                Reduction::MultiplyHigh32,
                Reduction::MultiplyHigh64,
            ] {
                assert_uniform(form, reduction);
            }
        }
    }

    #[test]
    fn purposes_are_independent_streams() {
        let mut draws = GeneratorChoice::Native { seed: 5 }.start();
        let mut other = GeneratorChoice::Native { seed: 5 }.start();
        other.next_u64(Purpose::Mix);
        assert_eq!(draws.next_u64(Purpose::Offset), other.next_u64(Purpose::Offset));
        assert_ne!(draws.next_u64(Purpose::Mix), draws.next_u64(Purpose::Offset));
    }
}
