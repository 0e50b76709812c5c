//! Checks the processes of a fleet: simultaneous start, equal machines, equal rates.

use std::collections::BTreeMap;

use model::Nanos;
use model::environment::{Device, TargetFacts};
use model::finding::{Finding, Severity};
use model::fleet::RankFacts;
use model::results::{JobResults, WorkerResults};

use super::{Check, CheckInput};

/// A start skew above this share of the window is a warning.
const WARNING_SKEW_SHARE: f64 = 0.01;
/// Smaller skews are never reported.
const MIN_SKEW: Nanos = Nanos::millis(5);
/// A skew of at least this is a note, even in a long window.
const NOTE_SKEW: Nanos = Nanos::millis(50);
/// A rank with less than this share of the median is a straggler.
const STRAGGLER_SHARE: f64 = 0.8;
/// Smaller differences of memory are not reported.
const MEMORY_TOLERANCE: f64 = 0.05;

pub(super) const LOST: Check = Check {
    rules: &["HOST-LOST"],
    about: "Hosts of a test that were lost before it ended.",
    detect: |input, findings| {
        let others_continue = input
            .results
            .fleet
            .as_ref()
            .is_some_and(|fleet| fleet.continues_on_loss);
        let ranks = input
            .results
            .fleet
            .iter()
            .flat_map(|fleet| fleet.ranks.iter().enumerate());
        for (number, facts) in ranks {
            let Some(why) = &facts.lost else { continue };
            let message = format!("this host was lost: {why}");
            let finding =
                Finding::new("HOST-LOST", Severity::Error, message).at(format!("{} (rank {number})", facts.host));
            let finding = finding.why(match facts.machine {
                Some(_) if others_continue => {
                    "the figures include its measurements until shortly before the loss; the other hosts \
                    continued without it. Totals are divided by the longest window, so they are \
                    lower than the rate with all hosts"
                }
                Some(_) => {
                    "the figures include its measurements until shortly before the loss; fathom then stopped \
                    the other hosts. Totals are divided by the longest window, so they may be lower \
                    than the rate with all hosts"
                }
                None => "the figures include none of its measurements",
            });
            findings.push(finding.help(
                "examine that host; `fathom recover` reads the results that \
                the hosts saved locally",
            ));
        }
    },
};

pub(super) const START_SKEW: Check = Check {
    rules: &["START-SKEW"],
    about: "Whether the processes of a test on several hosts started at the same time.",
    detect: |input, findings| {
        let Some(fleet) = &input.results.fleet else { return };
        for step in 0..input.results.steps.len() {
            let starts = || fleet.ranks.iter().filter_map(|rank| rank.starts_ns.get(step));
            let (Some(first), Some(last)) = (starts().min(), starts().max()) else {
                continue;
            };
            let (skew, measured) = (Nanos((last - first) as u64), longest_window(input, step));
            let is_far = measured.0 > 0 && skew.0 as f64 > WARNING_SKEW_SHARE * measured.0 as f64;
            if skew < MIN_SKEW || !is_far && skew < NOTE_SKEW {
                continue;
            }
            let severity = if is_far { Severity::Warning } else { Severity::Note };
            let finding = Finding::new(
                "START-SKEW",
                severity,
                format!("the hosts started up to {skew} apart, and measured for {measured}"),
            );
            let finding =
                finding.why("during that time only some hosts loaded the storage, so the total mixes two loads");
            findings.push(finding.help(
                "measure for longer, with a warm-up; look for other programs on late hosts, since \
                busy processors delay the start",
            ));
        }
    },
};

fn longest_window(input: &CheckInput<'_>, step: usize) -> Nanos {
    let jobs = input.results.steps[step].jobs.iter();
    jobs.map(JobResults::measured).max().unwrap_or_default()
}

pub(super) const HOST_DIFFERENCES: Check = Check {
    rules: &["HOSTS-DIFFER"],
    about: "Differences between the hosts of a test.",
    detect: |input, findings| {
        let Some((first, others)) = input.results.hosts.split_first() else {
            return;
        };
        for other in others {
            let (first_environment, other_environment) = (&first.environment, &other.environment);
            // A lost host reported no environment.
            if other_environment.cpu.logical == 0 {
                continue;
            }
            let mut differences = Vec::new();
            let mut compare = |what: &str, mine: &str, theirs: &str| {
                if mine != theirs {
                    differences.push(format!("{what} {theirs} instead of {mine}"));
                }
            };
            compare("kernel", &first_environment.host.kernel, &other_environment.host.kernel);
            compare("system", &first_environment.host.system, &other_environment.host.system);
            compare("processor", &first_environment.cpu.model, &other_environment.cpu.model);
            compare(
                "usable processors",
                &first_environment.cpu.usable.to_string(),
                &other_environment.cpu.usable.to_string(),
            );
            let governor =
                |environment: &model::environment::Environment| environment.cpu.governor.clone().unwrap_or_default();
            compare("governor", &governor(first_environment), &governor(other_environment));
            let (mine, theirs) = (first_environment.memory.0 as f64, other_environment.memory.0 as f64);
            if (mine - theirs).abs() > MEMORY_TOLERANCE * mine {
                compare(
                    "memory",
                    &first_environment.memory.to_string(),
                    &other_environment.memory.to_string(),
                );
            }
            for (mine, theirs) in first_environment.targets.iter().zip(&other_environment.targets) {
                for ((what, mine), (_, theirs)) in comparable_facts(mine).into_iter().zip(comparable_facts(theirs)) {
                    if mine != theirs {
                        let words = format!("{what} {theirs} instead of {mine}");
                        // Several targets on one disk have the same difference: report it once.
                        if !differences.contains(&words) {
                            differences.push(words);
                        }
                    }
                }
            }
            if differences.is_empty() {
                continue;
            }
            let message = format!(
                "differs from {}: {}",
                first.environment.host.name,
                differences.join(", ")
            );
            let finding = Finding::new("HOSTS-DIFFER", Severity::Note, message).at(&*other_environment.host.name);
            let finding =
                finding.why("different results of these hosts may come from the hosts instead of the storage");
            findings.push(finding.help("use identical hosts, or expect different figures from this host"));
        }
    },
};

/// Facts about a target that should be the same on two hosts; names and paths may differ.
fn comparable_facts(target: &TargetFacts) -> Vec<(&'static str, String)> {
    let system = target.file_system.as_ref();
    let device = target.devices.first();
    let or_unknown = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".into());
    let device_fact = |fact: &dyn Fn(&Device) -> Option<String>| or_unknown(device.and_then(fact));
    vec![
        ("kind of target", target.kind.clone()),
        ("file system", or_unknown(system.map(|system| system.kind.clone()))),
        (
            "mount options",
            or_unknown(system.map(|system| drop_paths(&system.options))),
        ),
        ("kind of device", device_fact(&|device| Some(device.kind.clone()))),
        ("model of the device", device_fact(&|device| device.model.clone())),
        (
            "size of the device",
            device_fact(&|device| Some(device.size.to_string())),
        ),
        (
            "physical sector",
            device_fact(&|device| Some(device.physical_sector.to_string())),
        ),
        ("I/O scheduler", device_fact(&|device| device.scheduler.clone())),
        (
            "requests of the queue",
            device_fact(&|device| device.queue_requests.map(|count| count.to_string())),
        ),
        ("write cache", device_fact(&|device| device.write_cache.clone())),
    ]
}

/// Mount options without paths, which differ between containers on layered file systems.
fn drop_paths(options: &str) -> String {
    let kept = options.split(',').filter(|option| !option.contains('/'));
    kept.collect::<Vec<_>>().join(",")
}

pub(super) const STRAGGLERS: Check = Check {
    rules: &["STRAGGLER"],
    about: "Hosts of a test that were much slower than the others.",
    detect: |input, findings| {
        let Some(fleet) = &input.results.fleet else { return };
        for job in input.jobs() {
            // A paced rate does not show the speed of a host.
            if !job.is_closed_loop() {
                continue;
            }
            let mut rates = rates_by_rank(&job.results.workers);
            rates.retain(|(rank, _)| (*rank as usize) < fleet.ranks.len());
            if rates.len() < 2 {
                continue;
            }
            rates.sort_by(|a, b| a.1.total_cmp(&b.1));
            // With two hosts, the faster one is the reference.
            let median = rates[rates.len() / 2].1;
            for (rank, rate) in rates.iter().filter(|(_, rate)| *rate < STRAGGLER_SHARE * median) {
                let facts: &RankFacts = &fleet.ranks[*rank as usize];
                if facts.lost.is_some() {
                    continue;
                }
                let message = format!(
                    "{} (rank {rank}) reached {rate:.0} operations per second, {:.0} % of the median host",
                    facts.host,
                    100.0 * rate / median
                );
                let finding = Finding::new("STRAGGLER", Severity::Warning, message).at(&*job.plan.name);
                let finding = finding.why("the total does not show that one host is slower than the others");
                findings.push(finding.help(
                    "run the test on that host alone and on another host alone, to find out whether the host, its \
                     path to the storage or the ownership of the volume is the cause",
                ));
            }
        }
    },
};

/// Operations per second of each rank with measurements.
fn rates_by_rank(workers: &[WorkerResults]) -> Vec<(u32, f64)> {
    let mut by_rank: BTreeMap<u32, (Nanos, u64)> = BTreeMap::new();
    for worker in workers {
        let (longest, operations) = by_rank.entry(worker.rank).or_default();
        *longest = worker.measured_ns.max(*longest);
        for (_, direction) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
            *operations += direction.as_ref().map_or(0, |results| results.operations);
        }
    }
    let measured = by_rank.into_iter().filter(|(_, (longest, _))| longest.0 > 0);
    measured
        .map(|(rank, (longest, operations))| (rank, operations as f64 / longest.as_secs()))
        .collect()
}

#[cfg(test)]
mod tests {
    use model::environment::FileSystem;
    use model::fleet::{Fleet, RankFacts};
    use model::testing::assert_contains;

    use super::super::samples;
    use super::*;

    /// Findings for ranks with these operations in a window of 10 s, and these starts.
    fn check_ranks(operations: &[u64], starts: &[i64]) -> Vec<String> {
        let mut results = samples::closed_loop(4, 1000, Nanos::millis(1));
        let job = &mut results.steps[0].jobs[0];
        let worker = job.workers[0].clone();
        job.workers = operations
            .iter()
            .enumerate()
            .map(|(rank, operations)| {
                let mut worker = worker.clone();
                (worker.rank, worker.measured_ns) = (rank as u32, Nanos::secs(10));
                let read = worker.streams[0].directions.read.get_or_insert_with(Default::default);
                read.operations = *operations;
                worker.streams[0].directions.write = None;
                worker
            })
            .collect();
        let worker = results.plan.steps[0].jobs[0].workers[0].clone();
        results.plan.steps[0].jobs[0].workers = vec![worker; operations.len()];
        results.fleet = Some(Fleet {
            continues_on_loss: false,
            transport: "pipes".into(),
            ranks: starts
                .iter()
                .map(|start| RankFacts {
                    host: "h".into(),
                    starts_ns: vec![*start],
                    ..RankFacts::default()
                })
                .collect(),
        });
        let mut findings = Vec::new();
        for check in [&START_SKEW, &STRAGGLERS] {
            (check.detect)(&CheckInput::new(&results), &mut findings);
        }
        findings
            .iter()
            .map(|finding| format!("{:?} {}", finding.severity, finding.rule))
            .collect()
    }

    #[test]
    fn late_and_slow_hosts_are_reported() {
        let check = |operations: &[u64], starts: &[i64], expected: &[&str]| {
            assert_eq!(check_ranks(operations, starts), expected, "{operations:?} {starts:?}");
        };
        check(&[1000, 1000, 990], &[0, 100_000, 80_000], &[]);
        check(&[1000, 700, 1010], &[0, 0, 0], &["Warning STRAGGLER"]);
        check(&[1000, 810], &[0, 0], &[]);
        check(&[1000, 790], &[0, 0], &["Warning STRAGGLER"]);
        // 1 % of 10 s is 100 ms.
        check(&[1000, 1000], &[0, 101_000_000], &["Warning START-SKEW"]);
        check(&[1000, 1000], &[-60_000_000, 0], &["Note START-SKEW"]);
        check(&[1000, 1000], &[0, 40_000_000], &[]);
    }

    #[test]
    fn differences_between_machines_are_reported_once() {
        let mut results = samples::closed_loop(4, 1000, Nanos::millis(1));
        let host = results.hosts[0].clone();
        let mut two = host.clone();
        two.environment.host.name = "two".into();
        (two.environment.cpu.logical, two.environment.cpu.usable) = (64, 48);
        results.hosts[0].environment.cpu.logical = 64;
        results.hosts[0].environment.cpu.usable = 64;
        let mut lost = host;
        lost.environment = Default::default();
        results.hosts.extend([two, lost]);
        let mut findings = Vec::new();
        (HOST_DIFFERENCES.detect)(&CheckInput::new(&results), &mut findings);
        assert_eq!(findings.len(), 1);
        assert_contains(&findings[0].what, "usable processors 48 instead of 64");
    }

    #[test]
    fn the_storage_below_the_targets_is_compared() {
        let target_on = |name: &str, options: &str, scheduler: &str| {
            let target = TargetFacts {
                path: format!("/{name}/file"),
                file_system: Some(FileSystem {
                    kind: "xfs".into(),
                    options: options.into(),
                    mount_point: format!("/{name}"),
                    ..FileSystem::default()
                }),
                devices: vec![Device {
                    name: name.into(),
                    scheduler: Some(scheduler.into()),
                    ..Device::default()
                }],
                ..TargetFacts::default()
            };
            // Two files on the same disk.
            vec![target.clone(), target]
        };
        let words = |of_second: Vec<TargetFacts>| {
            let mut results = samples::closed_loop(4, 1000, Nanos::millis(1));
            results.hosts[0].environment.cpu.logical = 2;
            results.hosts[0].environment.targets = target_on("a", "rw", "none");
            let mut two = results.hosts[0].clone();
            two.environment.targets = of_second;
            results.hosts.push(two);
            let mut findings = Vec::new();
            (HOST_DIFFERENCES.detect)(&CheckInput::new(&results), &mut findings);
            findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        // Another name and place are expected.
        assert_eq!(
            words(target_on("b", "rw,upperdir=/layers/b", "none")),
            Vec::<String>::new()
        );
        let differences = words(target_on("b", "rw,noatime", "mq-deadline"));
        assert_eq!(differences.len(), 1);
        let expected = "mount options rw,noatime instead of rw, I/O scheduler mq-deadline instead of none";
        assert!(differences[0].ends_with(expected), "{differences:?}");
    }
}
