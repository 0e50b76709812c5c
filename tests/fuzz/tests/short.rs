//! Runs each target on a number of inputs that does not depend on the speed of the machine.

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

/// Inputs that once made a parser panic.
#[test]
fn inputs_of_former_panics() {
    const INPUTS: [(&str, &[u8]); 1] = [
        // The sizes of all files together exceed 64 bits.
        (
            "fio-job",
            b"[files]\ndirectory=d17\nnrfiles=4\nfilesize=25%6k\x0bopenfiles=",
        ),
    ];
    for (name, input) in INPUTS {
        let target = TARGETS
            .iter()
            .find(|target| target.name == name)
            .expect("a target of that name");
        (target.parse)(input);
    }
}
