//! The scenarios of the diagnosis.

use super::repeat::{check_all, expect_few, seeds};
use super::scenario::Scenario;

const FILE: &str = include_str!("diagnosis.toml");

/// Describes the errors in the answer to a scenario.
fn check_answer(scenario: &Scenario, seed: u64) -> Option<String> {
    let found = scenario.diagnosis(seed);
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
        wrong.push(format!("also {:?}", found.also));
    }
    let evidence: Vec<String> = found
        .evidence
        .iter()
        .map(|evidence| format!("{} {:.4}", evidence.what, evidence.value))
        .collect();
    (!wrong.is_empty()).then(|| {
        let sentence = &found.sentence;
        format!("{} ({sentence}; {})", wrong.join(", "), evidence.join(", "))
    })
}

#[test]
fn every_scenario_gets_its_answer() {
    let (wrong, _) = check_all(&Scenario::parse_all(FILE), 1..2, check_answer);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Random variation may change figures, but not the answer.
#[test]
fn answers_do_not_depend_on_chance() {
    let scenarios = Scenario::parse_all(FILE);
    let (wrong, all) = check_all(&scenarios, seeds(), check_answer);
    expect_few("diagnosis", &scenarios, &wrong, all);
}

/// The table has enough scenarios, at least one for every answer, and unique names.
#[test]
fn the_table_covers_every_answer() {
    let scenarios = Scenario::parse_all(FILE);
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
    assert_eq!(names.len(), scenarios.len(), "two scenarios have the same name");
}
