//! Each target for a number of inputs that does not depend on the speed of the machine.

use fuzz::{Mutator, TARGETS};

/// Inputs of each target.
const INPUTS: u32 = 1_000;

#[test]
fn no_input_makes_a_parser_panic() {
    for target in TARGETS {
        let seeds = target.seeds();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        seeds.iter().for_each(|seed| (target.parse)(seed));
        let mut mutator = Mutator::new(1);
        for _ in 0..INPUTS {
            (target.parse)(&mutator.next(&seeds));
        }
    }
}
