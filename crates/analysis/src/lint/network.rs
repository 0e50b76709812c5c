//! Rules about targets on network file systems: mount options that affect the result.

use model::Bytes;
use model::environment::{FileSystem, TargetFacts};
use model::finding::Severity;
use model::network_mount::mount_option;

use super::{Rule, TargetUse, Test};

/// Below this depth, a single connection is not the limit.
const MIN_CONNECTION_LIMITED_DEPTH: u32 = 32;

/// The targets on NFS, with their mounts.
fn nfs_targets<'a>(test: &'a Test<'a>) -> impl Iterator<Item = (TargetUse<'a>, &'a TargetFacts, &'a FileSystem)> {
    test.known_targets().filter_map(|(usage, facts)| {
        let file_system = facts.file_system.as_ref()?;
        matches!(file_system.kind.as_str(), "nfs" | "nfs4").then_some((usage, facts, file_system))
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "NFS-SMALL-TRANSFERS",
        severity: Severity::Warning,
        about: "The mount's rsize or wsize is smaller than the block size.",
        why: "each operation of the test is split into several requests, and waits for all of them",
        fix: "mount with a larger rsize and wsize, such as 1048576, or test with smaller blocks",
        detect: |rule, test, findings| {
            for (usage, facts, file_system) in nfs_targets(test) {
                for (name, concerned) in [("rsize", usage.reads()), ("wsize", usage.writes())] {
                    let limit = mount_option(&file_system.options, name).and_then(|value| value.parse::<u64>().ok());
                    let longest = usage
                        .streams
                        .iter()
                        .map(|stream| stream.pattern.longest(&stream.mix))
                        .max();
                    if let (true, Some(limit), Some(longest)) = (concerned, limit, longest)
                        && Bytes(limit) < longest
                    {
                        let message = format!("{name}={limit} ({}) is less than the block of {longest}", Bytes(limit));
                        findings.push(rule.finding(message, &facts.path));
                    }
                }
            }
        },
    },
    Rule {
        name: "NFS-OPTIONS",
        severity: Severity::Note,
        about: "The mount has an option that affects the result: sync, noac, soft.",
        why: "sync makes every write wait for the server's disk, noac asks the server for attributes each time, and \
            soft turns \
          delays into errors",
        fix: "test with the options that applications will use",
        detect: |rule, test, findings| {
            for (_, facts, file_system) in nfs_targets(test) {
                let names = ["sync", "noac", "soft"].into_iter();
                let mounts: Vec<&str> = names
                    .filter(|name| mount_option(&file_system.options, name).is_some())
                    .collect();
                if !mounts.is_empty() {
                    findings.push(rule.finding(format!("mounted with {}", mounts.join(",")), &facts.path));
                }
            }
        },
    },
    Rule {
        name: "NFS-ONE-CONNECTION",
        severity: Severity::Note,
        about: "Many operations in flight share one connection to the NFS server.",
        why: "one processor at a time serves a TCP connection, which has a single window",
        fix: "mount with nconnect=4 or more and compare (`fathom ab`)",
        detect: |rule, test, findings| {
            for (usage, facts, file_system) in nfs_targets(test) {
                let depth: u32 = usage.streams.iter().map(|stream| stream.depth).sum();
                let is_tcp = mount_option(&file_system.options, "proto") == Some("tcp");
                if depth >= MIN_CONNECTION_LIMITED_DEPTH
                    && is_tcp
                    && mount_option(&file_system.options, "nconnect").is_none_or(|value| value == "1")
                {
                    findings
                        .push(rule.finding(format!("{depth} operations in flight use one connection"), &facts.path));
                }
            }
        },
    },
];
