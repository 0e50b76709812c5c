//! taus88: L'Ecuyer's maximally equidistributed combined Tausworthe generator (Mathematics of
//! Computation 65, 1996), seeded the way fio seeds it.

/// The generator state; 32 bits a draw.
#[derive(Clone, Debug)]
pub struct Tausworthe {
    a: u32,
    b: u32,
    c: u32,
}

impl Tausworthe {
    /// The state that fio makes from a 32-bit seed, with its first six outputs discarded.
    pub fn new(seed: u32) -> Tausworthe {
        // The components must be larger than 1, 7 and 15; smaller seeds are raised past those
        // values.
        let raised = |value: u32, min: u32| {
            if value < min { value.wrapping_add(min) } else { value }
        };
        let step = |value: u32| value.wrapping_mul(69069) ^ seed;
        let a = raised(step(53), 1);
        let b = raised(step(a), 7);
        let c = raised(step(b), 15);
        let mut generator = Tausworthe { a, b, c };
        for _ in 0..6 {
            generator.next();
        }
        generator
    }

    /// The three words of the generator's state.
    pub(super) fn state(&self) -> [u32; 3] {
        [self.a, self.b, self.c]
    }

    /// The next 32 bits.
    #[inline(always)]
    #[allow(
        clippy::should_implement_trait,
        reason = "an endless source of numbers, not an iterator that may end"
    )]
    pub fn next(&mut self) -> u32 {
        let component = |s: u32, q: u32, p: u32, keep: u32, shift: u32| ((s & keep) << shift) ^ (((s << q) ^ s) >> p);
        self.a = component(self.a, 13, 19, 0xffff_fffe, 12);
        self.b = component(self.b, 2, 25, 0xffff_fff8, 4);
        self.c = component(self.c, 3, 11, 0xffff_fff0, 17);
        self.a ^ self.b ^ self.c
    }
}
