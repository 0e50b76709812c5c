//! What the targets hold and what lies in front of them: holes that no device is asked for, the page cache.

use model::Direction;
use model::finding::{Finding, Severity};
use model::plan::EngineKind;

use super::Check;

pub(super) const ALLOCATION: Check = Check {
    rules: &["HOLES"],
    about: "Parts of files that were never written: reading them needs no device.",
    look: |subject, findings| {
        let reads = |target: u32| {
            subject.jobs().any(|job| {
                job.streams().any(|stream| {
                    let meets = stream.target.ids().iter().any(|id| id.0 == target);
                    meets && stream.mix.includes(Direction::Read)
                })
            })
        };
        for environment in subject.environments() {
            for (number, facts) in environment.targets.iter().enumerate() {
                let Some(space) = facts.allocation else { continue };
                let nowhere = space.holes.0 + space.unwritten.0;
                if nowhere == 0 || !reads(number as u32) {
                    continue;
                }
                let share = 100.0 * nowhere as f64 / facts.size.0.max(1) as f64;
                let what = format!("{share:.1} % of the file was never written: reads there need no device");
                let finding = Finding::new("HOLES", Severity::Warning, what).at(&*facts.path);
                let finding = finding.why("the figures are too good");
                findings.push(finding.help("give a `size` and a new name, so that fathom fills the file with data"));
            }
        }
    },
};

pub(super) const CACHED: Check = Check {
    rules: &["BUFFERED"],
    about: "Whether the page cache lies between the test and the device.",
    look: |subject, findings| {
        for job in subject.jobs() {
            let real = job
                .results
                .workers
                .iter()
                .any(|worker| !matches!(worker.engine.kind, EngineKind::Null | EngineKind::Simulated));
            if real && job.streams().any(|stream| !stream.cache.direct) {
                let what = "operations go through the page cache";
                let finding = Finding::new("BUFFERED", Severity::Note, what).at(&*job.plan.name);
                let finding =
                    finding.why("reads may come from memory, and writes count as done before they are on disk");
                findings.push(finding.help("leave `cache` at `direct` to measure the device"));
            }
        }
    },
};

pub(super) const OWNER: Check = Check {
    rules: &["OWNER-MOVED"],
    about: "Whether the node of a cluster that owns a volume changed while the test ran.",
    look: |subject, findings| {
        for facts in subject.environments().flat_map(|environment| &environment.targets) {
            let (Some(before), Some(after)) = (&facts.owner, &facts.owner_after) else {
                continue;
            };
            if !before.eq_ignore_ascii_case(after) {
                let what = format!("the volume belonged to {before} when the test began, and to {after} at its end");
                let finding = Finding::new("OWNER-MOVED", Severity::Warning, what).at(&*facts.path);
                let finding =
                    finding.why("from then on operations went over the network, or no longer did: two tests in one");
                findings.push(finding.help("run it again, and keep the volume where it is meanwhile"));
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::environment::{Allocation, TargetFacts};
    use model::plan::{CacheMode, EngineKind};
    use model::{Bytes, Nanos};

    #[test]
    fn holes_are_told() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.hosts[0].environment.targets = vec![TargetFacts {
            size: Bytes::mib(100),
            allocation: Some(Allocation {
                holes: Bytes::mib(50),
                unwritten: Bytes(0),
                extents: 2,
            }),
            ..TargetFacts::default()
        }];
        assert_eq!(rules(&results), ["HOLES"]);
        results.hosts[0].environment.targets[0].allocation = Some(Allocation::default());
        assert_eq!(rules(&results), Vec::<String>::new());
    }

    #[test]
    fn the_page_cache_is_named() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.plan.steps[0].jobs[0].workers[0].streams[0].cache = CacheMode::BUFFERED;
        assert_eq!(rules(&results), ["BUFFERED"]);
        results.steps[0].jobs[0].workers[0].engine.kind = EngineKind::Null;
        assert_eq!(rules(&results), Vec::<String>::new());
    }

    #[test]
    fn a_volume_that_changes_its_owner() {
        let owned = |before: Option<&str>, after: Option<&str>| {
            let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
            results.hosts[0].environment.targets = vec![TargetFacts {
                owner: before.map(Into::into),
                owner_after: after.map(Into::into),
                ..TargetFacts::default()
            }];
            rules(&results)
        };
        assert_eq!(owned(Some("node1"), Some("node2")), ["OWNER-MOVED"]);
        assert_eq!(owned(Some("node1"), Some("NODE1")), Vec::<String>::new());
        assert_eq!(owned(Some("node1"), None), Vec::<String>::new());
        assert_eq!(owned(None, Some("node2")), Vec::<String>::new());
    }
}
