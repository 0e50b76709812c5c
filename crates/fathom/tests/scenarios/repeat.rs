//! Checks every scenario with every seed, on all processors.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scenario::Scenario;

/// Number of seeds of a repetition, unless `FATHOM_SEEDS` is set. A hundred take some minutes.
const SEEDS: u64 = 5;

/// The seeds of a repetition. The table itself runs with seed 1.
pub fn seeds() -> Range<u64> {
    let number = std::env::var("FATHOM_SEEDS").ok();
    2..number.map_or(SEEDS, |seeds| seeds.parse().unwrap()) + 2
}

/// Checks scenarios with these seeds. Returns the errors and the number of checks.
pub fn check_all(
    scenarios: &[Scenario],
    seeds: Range<u64>,
    check: impl Fn(&Scenario, u64) -> Option<String> + Sync,
) -> (Vec<String>, usize) {
    let work: Vec<(usize, u64)> = seeds
        .flat_map(|seed| (0..scenarios.len()).map(move |scenario| (scenario, seed)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((scenario, seed)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let scenario = &scenarios[*scenario];
                    if let Some(error) = check(scenario, *seed) {
                        let text = format!("seed {seed}, {}: {error}", scenario.name);
                        wrong.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    (wrong.into_inner().unwrap(), work.len())
}

/// Expects that fewer than one of a hundred answers is wrong. No scenario may be wrong in more than
/// one of ten runs.
pub fn expect_few(table: &str, scenarios: &[Scenario], wrong: &[String], all: usize) {
    eprintln!("{table}: {} of {all} answers are wrong", wrong.len());
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.len() * 100 < all, "{} of {all} are wrong:\n{shown}", wrong.len());
    let seeds = all / scenarios.len();
    for scenario in scenarios {
        let of_scenario = wrong
            .iter()
            .filter(|text| text.contains(&format!(", {}: ", scenario.name)));
        assert!(of_scenario.count() <= 1 + seeds / 10, "{}:\n{shown}", scenario.name);
    }
}
