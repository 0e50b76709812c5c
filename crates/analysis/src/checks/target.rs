//! Checks the targets: never-written ranges (read without the device), the page cache, and the
//! owning cluster node.

use model::Direction;
use model::finding::{Finding, Severity};
use model::plan::Prepare;

use super::Check;

pub(super) const ALLOCATION: Check = Check {
    rules: &["HOLES", "UNWRITTEN-UNKNOWN"],
    about: "Parts of files that were never written: reading them needs no I/O.",
    detect: |input, findings| {
        let reads = |target: u32| {
            input.jobs().any(|job| {
                job.streams().any(|stream| {
                    let uses_target = stream.target.ids().iter().any(|id| id.0 == target);
                    uses_target && stream.mix.includes(Direction::Read)
                })
            })
        };
        for environment in input.environments() {
            for (number, facts) in environment.numbered_targets() {
                let Some(allocation) = facts.allocation else { continue };
                if !reads(number) {
                    continue;
                }
                let prepare = input
                    .results
                    .plan
                    .targets
                    .get(number as usize)
                    .map(|target| &target.prepare);
                let existed = matches!(prepare, Some(Prepare::Existing | Prepare::LayOut { .. }));
                if allocation.unwritten_unknown && existed {
                    let message = "the file system does not report which part of the file has been written";
                    let finding = Finding::new("UNWRITTEN-UNKNOWN", Severity::Note, message).at(&*facts.path);
                    let finding = finding.why(
                        "reads of never-written parts need no I/O, so the \
                        figures may be too good",
                    );
                    findings.push(finding.help(
                        "set `size` and a new file name, so that fathom creates the file and fills it with data",
                    ));
                }
                let never_written = allocation.holes.0 + allocation.unwritten.0;
                if never_written == 0 {
                    continue;
                }
                let (what, help) = match facts.kind.as_str() {
                    "block device" => (
                        "file of the loop device",
                        "write the whole device first: `fathom precondition`",
                    ),
                    _ => (
                        "file",
                        "set `size` and a new file name, so that fathom creates the file and fills it with data",
                    ),
                };
                let share = 100.0 * never_written as f64 / facts.size.0.max(1) as f64;
                let message = format!("{share:.1} % of the {what} was never written: reads there need no I/O");
                let finding = Finding::new("HOLES", Severity::Warning, message).at(&*facts.path);
                let finding = finding.why("the figures are too good");
                findings.push(finding.help(help));
            }
        }
    },
};

pub(super) const CACHED: Check = Check {
    rules: &["BUFFERED"],
    about: "Whether operations went through the page cache.",
    detect: |input, findings| {
        for job in input.jobs() {
            let real = job
                .results
                .workers
                .iter()
                .any(|worker| !worker.engine.kind.simulates_io());
            if real && job.streams().any(|stream| !stream.cache.direct) {
                let message = "operations go through the page cache";
                let finding = Finding::new("BUFFERED", Severity::Note, message).at(&*job.plan.name);
                let finding =
                    finding.why("reads may come from memory, and writes count as complete before they reach the disk");
                findings.push(finding.help(match job.streams().any(|stream| stream.files.is_some()) {
                    true => "use a tree larger than the memory, and `fsync`, to measure the device",
                    false => "use the default `cache = \"direct\"` to measure the device",
                }));
            }
        }
    },
};

pub(super) const OWNER: Check = Check {
    rules: &["OWNER-MOVED"],
    about: "Whether a volume moved to another cluster node during the test.",
    detect: |input, findings| {
        for facts in input.environments().flat_map(|environment| &environment.targets) {
            let (Some(before), Some(after)) = (&facts.owner, &facts.owner_after) else {
                continue;
            };
            if !before.eq_ignore_ascii_case(after) {
                let message =
                    format!("the volume belonged to {before} at the start of the test and to {after} at its end");
                let finding = Finding::new("OWNER-MOVED", Severity::Warning, message).at(&*facts.path);
                let finding =
                    finding.why("only some of the operations crossed the network, so the result mixes two loads");
                findings.push(finding.help(match &facts.cluster_volume {
                    Some(name) => format!(
                        "repeat the test without moving the volume; Move-ClusterSharedVolume -Name \
                         \"{name}\" -Node {before} moves it back"
                    ),
                    None => "repeat the test without moving the volume".into(),
                }));
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::environment::{Allocation, TargetFacts};
    use model::plan::{CacheMode, EngineKind, Prepare};
    use model::testing::assert_contains;
    use model::{Bytes, Nanos};

    #[test]
    fn holes_are_reported() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.hosts[0].environment.targets = vec![TargetFacts {
            size: Bytes::mib(100),
            allocation: Some(Allocation {
                holes: Bytes::mib(50),
                extents: 2,
                ..Allocation::default()
            }),
            ..TargetFacts::default()
        }];
        assert_eq!(rules(&results), ["HOLES"]);
        results.hosts[0].environment.targets[0].allocation = Some(Allocation::default());
        assert_eq!(rules(&results), Vec::<String>::new());
    }

    /// Known holes are still reported; for files that existed before, the unknown part is reported
    /// once.
    #[test]
    fn an_unknown_end_of_valid_data_is_reported() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        let facts = TargetFacts {
            size: Bytes::mib(100),
            allocation: Some(Allocation {
                unwritten_unknown: true,
                ..Allocation::default()
            }),
            ..TargetFacts::default()
        };
        results.hosts[0].environment.targets = vec![facts];
        results.plan.targets[0].prepare = Prepare::Existing;
        assert_eq!(rules(&results), ["UNWRITTEN-UNKNOWN"]);
        let allocation = &mut results.hosts[0].environment.targets[0].allocation;
        allocation.as_mut().unwrap().holes = Bytes::mib(50);
        assert_eq!(rules(&results), ["UNWRITTEN-UNKNOWN", "HOLES"]);
        results.plan.targets[0].prepare = Prepare::Filled { size: None };
        assert_eq!(rules(&results), ["HOLES"]);
    }

    #[test]
    fn use_of_the_page_cache_is_reported() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.plan.steps[0].jobs[0].workers[0].streams[0].cache = CacheMode::BUFFERED;
        assert_eq!(rules(&results), ["BUFFERED"]);
        results.steps[0].jobs[0].workers[0].engine.kind = EngineKind::Null;
        assert_eq!(rules(&results), Vec::<String>::new());
    }

    #[test]
    fn a_moved_volume_is_reported() {
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
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.hosts[0].environment.targets = vec![TargetFacts {
            cluster_volume: Some("Cluster Disk 1".into()),
            owner: Some("node1".into()),
            owner_after: Some("node2".into()),
            ..TargetFacts::default()
        }];
        let help = crate::check(&results)[0].help.clone().unwrap();
        assert_contains(&help, "Move-ClusterSharedVolume -Name \"Cluster Disk 1\" -Node node1");
        assert_eq!(owned(Some("node1"), Some("NODE1")), Vec::<String>::new());
        assert_eq!(owned(Some("node1"), None), Vec::<String>::new());
        assert_eq!(owned(None, Some("node2")), Vec::<String>::new());
    }
}
