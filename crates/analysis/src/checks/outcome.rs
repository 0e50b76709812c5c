//! Checks the outcome of the run: failures, tolerated errors, interruptions, unavailable features.

use std::collections::BTreeMap;

use model::finding::{Finding, Severity};
use model::results::Results;

use super::Check;
use crate::identities::short_transfers_finding;

pub(super) const OUTCOME: Check = Check {
    rules: &[
        "WORKER-FAILED", "IO-ERRORS", "SHORT-TRANSFERS", "INTERRUPTED", "NOTHING-MEASURED",
    ],
    about: "Failed workers, tolerated failed operations, interrupted runs.",
    detect: |input, findings| {
        for job in input.jobs() {
            for worker in &job.results.workers {
                let Some(failure) = &worker.failure else { continue };
                let finding = Finding::new("WORKER-FAILED", Severity::Error, &*failure.what);
                let at = format!("{}, worker {}: {}", job.plan.name, worker.worker, failure.location);
                let why = "the worker stopped; figures cover the time until then";
                findings.push(Finding {
                    help: failure.help.clone(),
                    ..finding.at(at).why(why)
                });
            }
            for (direction, counts) in job.results.directions().iter() {
                let Some(counts) = counts else { continue };
                let word = direction.word();
                if counts.errors > 0 {
                    let message = match counts.errors {
                        1 => format!("1 {word} operation failed and was tolerated"),
                        errors => format!("{errors} {word} operations failed and were tolerated"),
                    };
                    let finding = Finding::new("IO-ERRORS", Severity::Error, message).at(&*job.plan.name);
                    let number = counts
                        .first_error
                        .map(|number| format!("the first error number is {number}"));
                    findings.push(Finding { why: number, ..finding });
                }
                if counts.short > 0 {
                    let finding = short_transfers_finding(counts.short, &format!("{word} operation"));
                    findings.push(finding.at(&*job.plan.name));
                }
            }
            if job.results.ended.is_some() && job.results.operations() == 0 && !job.has_failed() {
                let message = "not a single operation completed in the measured window";
                let finding = Finding::new("NOTHING-MEASURED", Severity::Error, message).at(&*job.plan.name);
                findings.push(finding.help(nothing_measured_help(input.results)));
            }
        }
        if input.results.interrupted {
            let message = "the run was interrupted; figures cover the time until then";
            findings.push(Finding::new("INTERRUPTED", Severity::Warning, message));
        }
    },
};

/// The advice if no operation completed: measure for longer, unless the run ended early.
fn nothing_measured_help(results: &Results) -> &'static str {
    let ranks = results.fleet.iter().flat_map(|fleet| &fleet.ranks);
    match () {
        () if ranks.into_iter().any(|rank| rank.lost.is_some()) => {
            "repeat the test once the lost host is back, or without it"
        }
        () if results.interrupted => "let the test run to its end",
        () => "measure for longer",
    }
}

pub(super) const NOT_HONOURED: Check = Check {
    rules: &["NOT-HONOURED", "SYNC-ENGINE"],
    about: "Requested or default features that were unavailable, with the reason.",
    detect: |input, findings| {
        for job in input.jobs() {
            let mut workers_by_feature: BTreeMap<&str, u32> = BTreeMap::new();
            for worker in &job.results.workers {
                worker
                    .engine
                    .unavailable_features
                    .iter()
                    .for_each(|what| *workers_by_feature.entry(what).or_default() += 1);
            }
            for what in workers_by_feature.keys() {
                findings.push(Finding::new("NOT-HONOURED", Severity::Note, *what).at(&*job.plan.name));
            }
            let workers = job.plan.workers.iter().zip(&job.results.workers);
            let mut limited_workers = workers
                .filter(|(plan, results)| results.engine.kind.is_synchronous() && plan.slots() > results.slots.max(1));
            if let Some((plan, results)) = limited_workers.next() {
                let engine = results.engine.kind.name();
                let message = format!("{engine} has one operation in flight at a time, not {}", plan.slots());
                let finding = Finding::new("SYNC-ENGINE", Severity::Warning, message).at(&*job.plan.name);
                let engine_reason = &results.engine.reason;
                let why = match engine_reason.is_empty() {
                    true => "the requested queue depth is not reached".to_owned(),
                    false => format!("chosen because {engine_reason}"),
                };
                findings.push(
                    finding
                        .why(why)
                        .help("use one worker for each operation in flight, or another engine"),
                );
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::Nanos;
    use model::fleet::{Fleet, RankFacts};
    use model::plan::EngineKind;
    use model::results::Failure;

    fn rules_after(change: impl FnOnce(&mut model::results::Results)) -> Vec<String> {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        change(&mut results);
        rules(&results)
    }

    #[test]
    fn a_clean_run_has_no_findings() {
        assert_eq!(rules_after(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn each_problem_has_its_rule() {
        let check_rule = |change: &dyn Fn(&mut model::results::Results), rule: &str| {
            let rules = rules_after(change);
            assert!(rules.contains(&rule.to_owned()), "{rule} in {rules:?}");
        };
        check_rule(&|results| results.interrupted = true, "INTERRUPTED");
        check_rule(
            &|results| samples::reads(&mut results.steps[0].jobs[0]).errors = 3,
            "IO-ERRORS",
        );
        check_rule(
            &|results| samples::reads(&mut results.steps[0].jobs[0]).short = 1,
            "SHORT-TRANSFERS",
        );
        let failure = Failure {
            errno: Some(5),
            ..Failure::new("read failed", "offset 0")
        };
        check_rule(
            &|results| results.steps[0].jobs[0].workers[0].failure = Some(failure.clone()),
            "WORKER-FAILED",
        );
        check_rule(
            &|results| {
                results.steps[0].jobs[0].workers[0].engine.unavailable_features = vec!["no registered buffers".into()]
            },
            "NOT-HONOURED",
        );
        check_rule(
            &|results| {
                let worker = &mut results.steps[0].jobs[0].workers[0];
                (worker.engine.kind, worker.slots) = (EngineKind::Psync, 1);
            },
            "SYNC-ENGINE",
        );
        check_rule(
            &|results| results.steps[0].jobs[0].workers[0].streams.clear(),
            "NOTHING-MEASURED",
        );
    }

    /// Advice to measure for longer would not help if a host was lost or the user stopped the test.
    #[test]
    fn the_help_if_nothing_was_measured_names_the_cause() {
        let help_after = |change: &dyn Fn(&mut model::results::Results)| {
            let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
            results.steps[0].jobs[0].workers[0].streams.clear();
            change(&mut results);
            samples::finding(&results, "NOTHING-MEASURED").help.unwrap()
        };
        assert_eq!(help_after(&|_| ()), "measure for longer");
        assert_eq!(
            help_after(&|results| results.interrupted = true),
            "let the test run to its end"
        );
        let lost = RankFacts {
            lost: Some("its process has ended".into()),
            ..RankFacts::default()
        };
        let fleet = Fleet {
            continues_on_loss: false,
            transport: "TCP".into(),
            ranks: vec![RankFacts::default(), lost],
        };
        let help = help_after(&|results| {
            results.interrupted = true;
            results.fleet = Some(fleet.clone());
        });
        assert!(help.contains("lost host"), "{help}");
    }
}
