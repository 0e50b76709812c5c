//! The scenarios of the verdict.

use super::repeat::{expect_few, judge, seeds};
use super::scenario::Scenario;

const FILE: &str = include_str!("verdict.toml");

/// Outcomes that are right.
fn expected(scenario: &Scenario) -> Vec<String> {
    let list = scenario.part("expect")["outcome"].as_array().unwrap().clone();
    list.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn objection(scenario: &Scenario, seed: u64) -> Option<String> {
    let (outcome, why) = scenario.verdict(seed);
    (!expected(scenario).contains(&outcome)).then(|| format!("{outcome} ({why})"))
}

/// A verdict that should not have been given; to abstain is no fault.
fn wrong_verdict(scenario: &Scenario, seed: u64) -> Option<String> {
    objection(scenario, seed).filter(|outcome| !outcome.starts_with("inconclusive"))
}

#[test]
fn every_promise_is_judged_rightly() {
    let (wrong, _) = judge(&Scenario::all(FILE), 1..2, objection);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn verdicts_do_not_depend_on_chance() {
    let scenarios = Scenario::all(FILE);
    let (wrong, all) = judge(&scenarios, seeds(), wrong_verdict);
    expect_few("verdict", &scenarios, &wrong, all);
}

/// At least ten lie near the edge, where only the right side or none may be taken.
#[test]
fn the_table_covers_the_edge() {
    let scenarios = Scenario::all(FILE);
    let near = scenarios.iter().filter(|scenario| expected(scenario).len() > 1);
    assert!(scenarios.len() >= 25 && near.count() >= 10);
}
