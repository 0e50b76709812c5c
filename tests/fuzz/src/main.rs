//! `fathom-fuzz TARGET SECONDS SEED FOLDER`: runs one target, and leaves in FOLDER the input that
//! kills it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fuzz::{Mutator, TARGETS};

/// An input that takes longer is as bad as a panic.
const MAX_TIME: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, seed, folder] = &arguments[..] else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    };
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target of the list");
    let seeds = target.seeds();
    let mut mutator = Mutator::new(seed.parse().expect("a seed"));
    let input = Path::new(folder).join(format!("{name}.input"));
    let length = Duration::from_secs(seconds.parse().expect("seconds"));
    let begun = Instant::now();
    let mut cases = 0u64;
    let mut slowest = Duration::ZERO;
    while begun.elapsed() < length {
        let bytes = mutator.next(&seeds);
        // A parser that overflows the stack leaves nothing but this.
        fs::write(&input, &bytes).expect("the input can be kept");
        let start = Instant::now();
        (target.parse)(&bytes);
        slowest = slowest.max(start.elapsed());
        assert!(
            start.elapsed() < MAX_TIME,
            "{name} takes {:?} for {}",
            start.elapsed(),
            input.display()
        );
        cases += 1;
    }
    println!(
        "{name}: {cases} inputs from {} seeds, the slowest {slowest:?}",
        seeds.len()
    );
    let _ = fs::remove_file(input);
    ExitCode::SUCCESS
}
