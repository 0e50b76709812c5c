//! What the system counted beside the test: losses of the network, processors that were held back.

use model::Nanos;
use model::finding::{Finding, Severity};

use super::Check;

/// Share of the run for which a control group may have held the program back.
const HELD_BACK: f64 = 0.01;

pub(super) const NETWORK: Check = Check {
    rules: &["NET-LOSS"],
    about: "Packets that interfaces lost and segments that TCP sent again while the test ran.",
    look: |subject, findings| {
        for host in &subject.results.hosts {
            let Some(system) = &host.system else { continue };
            let mut lost: Vec<String> = system
                .losses
                .iter()
                .map(|interface| {
                    format!(
                        "{}: {} errors, {} dropped",
                        interface.name, interface.errors, interface.dropped
                    )
                })
                .collect();
            if let Some([sent, again]) = system.tcp_segments.filter(|[_, again]| *again > 0) {
                lost.push(format!("{again} of {sent} TCP segments were sent again"));
            }
            // Storage that is attached here needs no network.
            let remote = host.environment.targets.iter().any(is_remote);
            if !lost.is_empty() {
                let severity = if remote { Severity::Warning } else { Severity::Note };
                let finding = Finding::new("NET-LOSS", severity, lost.join("; ")).at(&*host.environment.host.name);
                let finding = finding
                    .why("what is lost is sent again after a while: storage behind a network then has long latencies");
                findings.push(finding.help(
                    "nothing needs to be done where the storage is local; otherwise look for full queues and bad links",
                ));
            }
        }
    },
};

fn is_remote(target: &model::environment::TargetFacts) -> bool {
    const NETWORKED: [&str; 8] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "ceph",
        "glusterfs",
        "fuse.glusterfs",
        "lustre",
    ];
    let kind = target.file_system.as_ref().map_or("", |system| system.kind.as_str());
    NETWORKED.contains(&kind)
        || target
            .devices
            .iter()
            .any(|device| device.name.starts_with("nbd") || device.name.starts_with("rbd"))
}

pub(super) const HELD: Check =
    Check {
        rules: &["THROTTLED-CPU"],
        about: "Time for which a control group or heat held processors back.",
        look: |subject, findings| {
            for host in &subject.results.hosts {
                let Some(system) = &host.system else { continue };
                let run = Nanos(host.ended_unix_ns.saturating_sub(host.started_unix_ns));
                let mut what = Vec::new();
                if let Some(held) = system
                    .throttled_ns
                    .filter(|held| held.0 as f64 > run.0 as f64 * HELD_BACK)
                {
                    what.push(format!("the control group held this program back for {held} of {run}"));
                }
                if let Some(times) = system.thermal_events.filter(|times| *times > 0) {
                    what.push(format!(
                        "processors were slowed {times} times because they were too hot"
                    ));
                }
                if !what.is_empty() {
                    let finding = Finding::new("THROTTLED-CPU", Severity::Warning, what.join("; "))
                        .at(&*host.environment.host.name);
                    let finding = finding
                        .why("operations that wait for a processor look like operations that wait for the device");
                    findings.push(finding.help(
                        "raise the limit (`cpu.max`, `cpu.cfs_quota_us`), use fewer threads, or cool the machine",
                    ));
                }
            }
        },
    };

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::environment::{FileSystem, InterfaceLosses, SystemUse, TargetFacts};
    use model::finding::Severity;

    use super::super::{check, samples};

    fn with(system: SystemUse, file_system: &str) -> Vec<(String, Severity)> {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        let host = &mut results.hosts[0];
        (host.started_unix_ns, host.ended_unix_ns) = (0, 1_000_000_000);
        host.system = Some(system);
        host.environment.targets = vec![TargetFacts {
            file_system: Some(FileSystem {
                kind: file_system.into(),
                ..FileSystem::default()
            }),
            ..TargetFacts::default()
        }];
        check(&results)
            .into_iter()
            .map(|finding| (finding.rule, finding.severity))
            .collect()
    }

    #[test]
    fn losses_matter_where_the_storage_is_remote() {
        let lost = SystemUse {
            tcp_segments: Some([1000, 3]),
            losses: vec![InterfaceLosses {
                name: "eth0".into(),
                errors: 0,
                dropped: 2,
            }],
            ..SystemUse::default()
        };
        assert_eq!(with(lost.clone(), "nfs4"), [("NET-LOSS".to_owned(), Severity::Warning)]);
        assert_eq!(with(lost, "ext4"), [("NET-LOSS".to_owned(), Severity::Note)]);
        let whole = SystemUse {
            tcp_segments: Some([1000, 0]),
            ..SystemUse::default()
        };
        assert_eq!(with(whole, "nfs4"), []);
    }

    #[test]
    fn processors_that_were_held_back() {
        let held = |throttled_ns: Nanos| SystemUse {
            throttled_ns: Some(throttled_ns),
            ..SystemUse::default()
        };
        assert_eq!(
            with(held(Nanos::millis(11)), "ext4"),
            [("THROTTLED-CPU".to_owned(), Severity::Warning)]
        );
        assert_eq!(with(held(Nanos::millis(10)), "ext4"), []);
        let hot = SystemUse {
            thermal_events: Some(1),
            ..SystemUse::default()
        };
        assert_eq!(with(hot, "ext4"), [("THROTTLED-CPU".to_owned(), Severity::Warning)]);
    }
}
