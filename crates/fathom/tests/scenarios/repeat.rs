//! Every scenario with every seed, on all processors.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scenario::Scenario;

/// Seeds of a repetition, if `FATHOM_SEEDS` does not say otherwise. A hundred take some minutes.
const SEEDS: u64 = 5;

/// The seeds of a repetition. The table itself runs with the first.
pub fn seeds() -> Range<u64> {
    let asked = std::env::var("FATHOM_SEEDS").ok();
    2..asked.map_or(SEEDS, |seeds| seeds.parse().unwrap()) + 2
}

/// What is wrong with the answers to these scenarios, and how many were judged.
pub fn judge(
    scenarios: &[Scenario],
    seeds: Range<u64>,
    objection: impl Fn(&Scenario, u64) -> Option<String> + Sync,
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
                    if let Some(objection) = objection(scenario, *seed) {
                        let text = format!("seed {seed}, {}: {objection}", scenario.name);
                        wrong.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    (wrong.into_inner().unwrap(), work.len())
}

/// Fewer than one answer of a hundred is wrong, and none of the scenarios is wrong in more than one
/// run of ten.
pub fn expect_few(what: &str, scenarios: &[Scenario], wrong: &[String], all: usize) {
    eprintln!("{what}: {} of {all} answers are wrong", wrong.len());
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.len() * 100 < all, "{} of {all} are wrong:\n{shown}", wrong.len());
    let seeds = all / scenarios.len();
    for scenario in scenarios {
        let of_one = wrong
            .iter()
            .filter(|text| text.contains(&format!(", {}: ", scenario.name)));
        assert!(of_one.count() <= 1 + seeds / 10, "{}:\n{shown}", scenario.name);
    }
}
