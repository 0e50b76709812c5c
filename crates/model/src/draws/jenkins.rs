//! Bob Jenkins' public-domain “small” generator, 64-bit form with three rotations: the one that
//! DiskSpd uses.

/// The generator state. Each thread of a DiskSpd run owns one, seeded with seed + thread number.
#[derive(Clone, Debug)]
pub struct Jenkins {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl Jenkins {
    /// Seeds the generator and discards its first twenty outputs, as its author recommends.
    pub fn new(seed: u64) -> Jenkins {
        let mut generator = Jenkins {
            a: 0xf1ea_5eed,
            b: seed,
            c: seed,
            d: seed,
        };
        for _ in 0..20 {
            generator.next();
        }
        generator
    }

    /// The next 64 bits.
    #[inline(always)]
    #[allow(
        clippy::should_implement_trait,
        reason = "an endless source of numbers, not an iterator that may end"
    )]
    pub fn next(&mut self) -> u64 {
        let e = self.a.wrapping_sub(self.b.rotate_left(7));
        self.a = self.b ^ self.c.rotate_left(13);
        self.b = self.c.wrapping_add(self.d.rotate_left(37));
        self.c = self.d.wrapping_add(e);
        self.d = e.wrapping_add(self.a);
        self.d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_are_those_recorded_from_diskspd() {
        let check = |seed: u64, expected: [u64; 3]| {
            let mut generator = Jenkins::new(seed);
            assert_eq!(
                [generator.next(), generator.next(), generator.next()],
                expected,
                "seed {seed}"
            );
        };
        check(0, [0x4b39c42db38fcdf5, 0xaee2c9e919833f29, 0x30611cd75d0254ce]);
        check(1, [0xae735ca10d060948, 0x8e16aa0268563732, 0x8f061cf1eaa2da64]);
        check(12345, [0x741bfd79f1b3f9c5, 0xb0789af63a105c04, 0xd86680c44e5af7d4]);
        check(4294967295, [0xe17780b918d7f209, 0xa6fccfe370c7479a, 0xea06f983e5008753]);
    }
}
