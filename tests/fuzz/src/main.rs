//! `fathom-fuzz TARGET SECONDS SEED FOLDER`: runs one target, and leaves the input that crashes it
//! in FOLDER.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fuzz::{Mutator, TARGETS};

/// An input that needs more processor time than this is as bad as a panic.
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
        // After a stack overflow in the parser, only this file remains.
        fs::write(&input, &bytes).expect("the input can be kept");
        let start = processor_time(begun);
        (target.parse)(&bytes);
        let taken = processor_time(begun).saturating_sub(start);
        slowest = slowest.max(taken);
        assert!(taken < MAX_TIME, "{name} takes {taken:?} for {}", input.display());
        cases += 1;
    }
    println!(
        "{name}: {cases} inputs from {} seeds, the slowest {slowest:?}",
        seeds.len()
    );
    let _ = fs::remove_file(input);
    ExitCode::SUCCESS
}

/// Processor time of this program. Wall-clock time would depend on the load of the machine; it is
/// the fallback where the system does not report processor time.
fn processor_time(begun: Instant) -> Duration {
    let first_field = |text: String| text.split_whitespace().next()?.parse().ok();
    let used = fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(first_field);
    used.map_or(begun.elapsed(), Duration::from_nanos)
}
