//! The scenarios of the diagnosis.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::diagnosis::Diagnosis;

use crate::scenario::Scenario;

const FILE: &str = include_str!("diagnosis.toml");
/// Seeds of the repetition, if `FATHOM_SEEDS` does not say otherwise. A hundred take some minutes.
const SEEDS: u64 = 5;

/// What is wrong with an answer.
fn objection(scenario: &Scenario, found: &Diagnosis) -> Option<String> {
    let expected = scenario.part("expect");
    let answer = serde_json::to_value(found.answer).unwrap();
    let answer = answer.as_str().unwrap();
    let text = |name: &str| expected.get(name).map(|value| value.as_str().unwrap());
    let mut wrong = Vec::new();
    if text("answer") != Some(answer) {
        wrong.push(format!("answer {answer}"));
    }
    if let Some(layer) = text("layer")
        && found.layer.as_deref() != Some(layer)
    {
        wrong.push(format!("layer {:?}", found.layer));
    }
    if let Some(confirmed) = expected.get("confirmed")
        && found.confirmed != confirmed.as_bool()
    {
        wrong.push(format!("confirmed {:?}", found.confirmed));
    }
    if let Some(also) = text("also")
        && !found.also.iter().any(|remark| remark.rule == also)
    {
        wrong.push(format!("beside it {:?}", found.also));
    }
    let evidence: Vec<String> = found
        .evidence
        .iter()
        .map(|one| format!("{} {:.4}", one.what, one.value))
        .collect();
    (!wrong.is_empty()).then(|| {
        let (name, sentence) = (&scenario.name, &found.sentence);
        format!("{name}: {} ({sentence}; {})", wrong.join(", "), evidence.join(", "))
    })
}

/// Runs every scenario with every seed on all processors; what is wrong, and how many were judged.
fn judge_all(seeds: std::ops::Range<u64>) -> (Vec<String>, usize) {
    let scenarios = Scenario::all(FILE);
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
                    if let Some(objection) = objection(scenario, &scenario.diagnosis(*seed)) {
                        wrong.lock().unwrap().push(format!("seed {seed}, {objection}"));
                    }
                }
            });
        }
    });
    (wrong.into_inner().unwrap(), work.len())
}

#[test]
fn every_scenario_gets_its_answer() {
    let (wrong, _) = judge_all(1..2);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Chance may spoil a figure, but not the judgement: fewer than one answer of a hundred is wrong, and none of the scenarios is
/// wrong in more than one run of ten.
#[test]
fn answers_do_not_depend_on_chance() {
    let asked = std::env::var("FATHOM_SEEDS").ok();
    let seeds = asked.map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let (wrong, all) = judge_all(2..seeds + 2);
    eprintln!("{} of {all} answers are wrong", wrong.len());
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.len() * 100 < all, "{} of {all} are wrong:\n{shown}", wrong.len());
    for scenario in Scenario::all(FILE) {
        let of_one = wrong
            .iter()
            .filter(|text| text.contains(&format!(", {}: ", scenario.name)));
        assert!(of_one.count() as u64 <= 1 + seeds / 10, "{}:\n{shown}", scenario.name);
    }
}

/// The table is as wide as it is meant to be.
#[test]
fn the_table_covers_every_answer() {
    let scenarios = Scenario::all(FILE);
    let answers: Vec<String> = scenarios
        .iter()
        .map(|scenario| scenario.part("expect")["answer"].as_str().unwrap().to_owned())
        .collect();
    assert!(scenarios.len() >= 60, "{}", scenarios.len());
    assert!(answers.iter().filter(|answer| *answer == "undetermined").count() >= 10);
    for signature in analysis::diagnosis::SIGNATURES {
        let answer = serde_json::to_value(signature.answer).unwrap();
        assert!(
            answers.iter().any(|known| Some(known.as_str()) == answer.as_str()),
            "{answer}"
        );
    }
    let mut names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), scenarios.len(), "two scenarios have one name");
}
