//! Checks whether a launcher bound the processes to few processors, so that fathom removed the
//! binding.

use model::environment::Environment;
use model::finding::{Finding, Severity};

use super::{Check, CheckInput};

/// A finding names at most this many processes.
const MAX_LISTED: usize = 4;

pub(super) const AFFINITY_WIDENED: Check = Check {
    rules: &["AFFINITY-WIDENED"],
    about: "Whether a launcher bound the processes of the test to fewer processors than they may use.",
    detect: |input, findings| {
        let mut restricted: Vec<String> = input.environments().filter_map(describe_host).collect();
        restricted.extend(describe_ranks(input));
        if restricted.is_empty() {
            return;
        }
        let omitted = restricted.len().saturating_sub(MAX_LISTED);
        restricted.truncate(MAX_LISTED);
        let mut text = restricted.join(", ");
        if omitted > 0 {
            text += &format!(", and {omitted} more");
        }
        let finding = Finding::new(
            "AFFINITY-WIDENED",
            Severity::Note,
            format!("the launcher had bound processes to fewer processors than exist: {text}; fathom used all of them"),
        );
        let finding =
            finding.why("MPI launchers bind each process to one processor, which all its workers would have shared");
        findings.push(finding.help(
            "to restrict the test to some processors, set `cpus` in the job or use a control group; \
            FATHOM_FLEET=off keeps the launcher's binding",
        ));
    },
};

/// Describes a test with a single process, which has no fleet.
fn describe_host(environment: &Environment) -> Option<String> {
    Some(describe(&environment.host.name, environment.widened_from?, environment))
}

fn describe_ranks(input: &CheckInput<'_>) -> Vec<String> {
    let ranks = input
        .results
        .fleet
        .iter()
        .flat_map(|fleet| fleet.ranks.iter().enumerate());
    let describe_rank = |(number, facts): (usize, &model::fleet::RankFacts)| {
        let host = input.results.hosts.get(facts.machine? as usize)?;
        let name = format!("{} (rank {number})", facts.host);
        Some(describe(&name, facts.widened_from?, &host.environment))
    };
    ranks.filter_map(describe_rank).collect()
}

fn describe(name: &str, from: u32, environment: &Environment) -> String {
    format!("{name} {from} of {}", environment.cpu.usable)
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::fleet::{Fleet, RankFacts};
    use model::results::Results;
    use model::testing::assert_contains;

    use super::super::samples;
    use super::*;

    fn find_bindings(results: &Results) -> Vec<String> {
        let mut findings = Vec::new();
        (AFFINITY_WIDENED.detect)(&CheckInput::new(results), &mut findings);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn processes_that_were_bound_are_named() {
        let mut results = samples::closed_loop(4, 1000, Nanos::millis(1));
        assert_eq!(find_bindings(&results), [""; 0]);
        let environment = &mut results.hosts[0].environment;
        (environment.host.name, environment.cpu.usable) = ("db1".into(), 8);
        environment.widened_from = Some(1);
        let expected = |what: &str| {
            [format!(
                "the launcher had bound processes to fewer processors than exist: {what}; fathom used all of them"
            )]
        };
        assert_eq!(find_bindings(&results), expected("db1 1 of 8"));
        results.hosts[0].environment.widened_from = None;
        let rank = |widened_from| RankFacts {
            host: "db1".into(),
            machine: Some(0),
            widened_from,
            ..RankFacts::default()
        };
        results.fleet = Some(Fleet {
            ranks: vec![rank(Some(2)), rank(None), rank(Some(1))],
            ..Fleet::default()
        });
        assert_eq!(
            find_bindings(&results),
            expected("db1 (rank 0) 2 of 8, db1 (rank 2) 1 of 8")
        );
        results.fleet = Some(Fleet {
            ranks: vec![rank(Some(1)); 6],
            ..Fleet::default()
        });
        assert_contains(&find_bindings(&results)[0], "(rank 3) 1 of 8, and 2 more;");
    }
}
