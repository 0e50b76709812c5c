//! Fills buffers with random contents at the speed of a memory copy. The wide generator is compiled
//! for several instruction sets; the best one that this CPU supports is used.

use model::content::{RandomFill, WideRandom};

/// The fastest fill function that this CPU supports.
pub fn random_fill() -> RandomFill {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
        {
            return x86::avx512;
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return x86::avx2;
        }
    }
    WideRandom::fill
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use model::content::WideRandom;

    pub(super) fn avx512(random: &mut WideRandom, buffer: &mut [u8]) {
        // SAFETY: `random_fill` returns this function only if the CPU has these features.
        unsafe { fill_with_avx512(random, buffer) }
    }

    pub(super) fn avx2(random: &mut WideRandom, buffer: &mut [u8]) {
        // SAFETY: `random_fill` returns this function only if the CPU has this feature.
        unsafe { fill_with_avx2(random, buffer) }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn fill_with_avx512(random: &mut WideRandom, buffer: &mut [u8]) {
        random.fill(buffer);
    }

    #[target_feature(enable = "avx2")]
    fn fill_with_avx2(random: &mut WideRandom, buffer: &mut [u8]) {
        random.fill(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_generates_the_same_bytes() {
        let mut filled = vec![0u8; 10_000];
        let mut fast = vec![0u8; 10_000];
        WideRandom::new(7).fill(&mut filled);
        random_fill()(&mut WideRandom::new(7), &mut fast);
        assert_eq!(filled, fast);
    }
}
