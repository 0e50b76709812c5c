//! The scenarios of the verdict.

use super::repeat::{check_all, expect_few, seeds};
use super::scenario::Scenario;

const FILE: &str = include_str!("verdict.toml");

/// The correct outcomes.
fn expected(scenario: &Scenario) -> Vec<String> {
    let list = scenario.part("expect")["outcome"].as_array().unwrap().clone();
    list.iter()
        .map(|outcome| outcome.as_str().unwrap().to_owned())
        .collect()
}

/// Describes an incorrect verdict.
fn check_verdict(scenario: &Scenario, seed: u64) -> Option<String> {
    let (outcome, why) = scenario.verdict(seed);
    (!expected(scenario).contains(&outcome)).then(|| format!("{outcome} ({why})"))
}

/// Describes an incorrect verdict. To abstain is never an error.
fn check_decided_verdict(scenario: &Scenario, seed: u64) -> Option<String> {
    check_verdict(scenario, seed).filter(|outcome| !outcome.starts_with("inconclusive"))
}

#[test]
fn every_requirement_gets_a_correct_verdict() {
    let (wrong, _) = check_all(&Scenario::parse_all(FILE), 1..2, check_verdict);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn verdicts_do_not_depend_on_chance() {
    let scenarios = Scenario::parse_all(FILE);
    let (wrong, all) = check_all(&scenarios, seeds(), check_decided_verdict);
    expect_few("verdict", &scenarios, &wrong, all);
}

/// Near the limit, only the right verdict or none is correct.
#[test]
fn the_table_covers_requirements_near_the_limit() {
    let scenarios = Scenario::parse_all(FILE);
    let near = scenarios.iter().filter(|scenario| expected(scenario).len() > 1);
    assert!(scenarios.len() >= 25 && near.count() >= 10);
}
