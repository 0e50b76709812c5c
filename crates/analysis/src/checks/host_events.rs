//! Events on the hosts during the test: lost packets, throttled CPUs, devices whose health
//! declined.

use std::collections::BTreeSet;

use model::environment::{Device, DeviceLimit, FileSystem, Health};
use model::finding::{Finding, Severity};
use model::seconds::HostSample;
use model::{Bytes, Nanos};

use super::Check;

/// Throttling by a control group below this share of the run is not reported.
const MAX_THROTTLED_SHARE: f64 = 0.01;

pub(super) const PACKET_LOSS: Check = Check {
    rules: &["NET-LOSS"],
    about: "Packets that interfaces lost and segments that TCP retransmitted during the test.",
    detect: |input, findings| {
        for host in &input.results.hosts {
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
            if let Some([sent, retransmitted]) = system.tcp_segments.filter(|[_, again]| *again > 0) {
                lost.push(format!("{retransmitted} of {sent} TCP segments were retransmitted"));
            }
            // Local storage needs no network.
            let remote = host.environment.targets.iter().any(is_remote);
            if !lost.is_empty() {
                let severity = if remote { Severity::Warning } else { Severity::Note };
                let finding = Finding::new("NET-LOSS", severity, lost.join("; ")).at(&*host.environment.host.name);
                let finding = finding.why(
                    "lost packets are retransmitted after a delay, so storage behind a network then has long \
                        latencies",
                );
                findings
                    .push(finding.help(
                        "no action needed if the storage is local; otherwise look for full queues and bad links",
                    ));
            }
        }
    },
};

fn is_remote(target: &model::environment::TargetFacts) -> bool {
    target.file_system.as_ref().is_some_and(FileSystem::is_remote)
        || target
            .devices
            .iter()
            .any(|device| device.name.starts_with("nbd") || device.name.starts_with("rbd"))
}

pub(super) const CPU_THROTTLING: Check =
    Check {
        rules: &["THROTTLED-CPU"],
        about: "Time for which a control group or heat throttled processors.",
        detect: |input, findings| {
            for host in &input.results.hosts {
                let Some(system) = &host.system else { continue };
                let run = Nanos(host.ended_unix_ns.saturating_sub(host.started_unix_ns));
                let mut message = Vec::new();
                if let Some(held) = system
                    .throttled_ns
                    .filter(|held| held.0 as f64 > run.0 as f64 * MAX_THROTTLED_SHARE)
                {
                    message.push(format!("the control group throttled this program for {held} of {run}"));
                }
                if let Some(times) = system.thermal_events.filter(|times| *times > 0) {
                    message.push(format!("processors were throttled {times} times because of heat"));
                }
                if !message.is_empty() {
                    let finding = Finding::new("THROTTLED-CPU", Severity::Warning, message.join("; "))
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

pub(super) const DEVICE_HEALTH: Check = Check {
    rules: &["HEALTH-CHANGED"],
    about: "Whether the health that devices report got worse during the test.",
    detect: |input, findings| {
        let mut seen: Vec<&str> = Vec::new();
        for facts in input.environments().flat_map(|environment| &environment.targets) {
            for device in &facts.devices {
                if seen.contains(&device.name.as_str()) {
                    continue;
                }
                seen.push(&device.name);
                findings.extend(find_health_change(device));
            }
        }
    },
};

pub(super) const LIMIT_CHANGED: Check = Check {
    rules: &["LIMIT-CHANGED"],
    about: "Whether the I/O limits of the control group changed during the test.",
    detect: |input, findings| {
        for step in &input.results.steps {
            for (number, host) in input.results.hosts.iter().enumerate() {
                let devices = host.environment.targets.iter().flat_map(|target| &target.devices);
                let devices: BTreeSet<&str> = devices.map(|device| device.number.as_str()).collect();
                let samples = step.samples.iter().filter(|sample| sample.host as usize == number);
                let samples: Vec<&HostSample> = samples.filter(|sample| sample.changed_limits.is_some()).collect();
                for device in devices.into_iter().filter(|_| !samples.is_empty()) {
                    let before = &host.environment.limits.devices;
                    findings.extend(find_limit_changes(device, before, &samples));
                }
            }
        }
    },
};

/// Finds the changes of each limit of a device.
fn find_limit_changes(device: &str, before: &[DeviceLimit], samples: &[&HostSample]) -> Option<Finding> {
    let rate = |value: u64| format!("{value} per second");
    let bytes = |value: u64| format!("{} per second", Bytes(value));
    type Field = (&'static str, fn(&DeviceLimit) -> Option<u64>, fn(u64) -> String);
    let fields: [Field; 4] = [
        ("reads", |limit| limit.read_iops, rate),
        ("writes", |limit| limit.write_iops, rate),
        ("bytes read", |limit| limit.read_bytes, bytes),
        ("bytes written", |limit| limit.write_bytes, bytes),
    ];
    let changes = fields.into_iter().filter_map(|(what, value, show)| {
        let find = |limits: &[DeviceLimit]| limits.iter().find(|limit| limit.device == device).and_then(value);
        let show = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), show);
        let mut last = find(before);
        let mut text = format!("{what}: {} at the start", show(last));
        let mut has_changed = false;
        for sample in samples {
            let current = find(sample.changed_limits.as_deref().unwrap_or_default());
            if current != last {
                let at = (sample.start_ns + sample.length_ns).as_secs();
                text += &format!(", {} from {at:.0} s on", show(current));
                (last, has_changed) = (current, true);
            }
        }
        has_changed.then_some(text)
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return None;
    }
    let message = format!("the limits of the control group changed: {}", changes.join("; "));
    let finding = Finding::new("LIMIT-CHANGED", Severity::Warning, message).at(format!("device {device}"));
    let finding = finding.why("the figures mix different limits, none of which is the storage's");
    Some(finding.help("repeat the test with constant limits (`io.max`, `blkio.throttle.*`)"))
}

/// Finds health problems and link errors that are new since the test began.
fn find_health_change(device: &Device) -> Option<Finding> {
    let (before, after) = (device.health.as_ref()?, device.health_after.as_ref()?);
    let new = |problem: &&String| !before.problems.contains(problem);
    let mut problems: Vec<String> = after.problems.iter().filter(new).cloned().collect();
    let link_errors = |health: &Health| health.link_errors;
    if let Some(more) = link_errors(after)
        .zip(link_errors(before))
        .and_then(|(after, before)| after.checked_sub(before))
        && more > 0
    {
        problems.push(format!("{more} transfers to the device were corrupted and repeated"));
    }
    if problems.is_empty() {
        return None;
    }
    let finding = Finding::new("HEALTH-CHANGED", Severity::Warning, problems.join("; ")).at(&*device.name);
    let finding = finding.why("the problem began during the test, and its repairs or retransmissions cost time");
    Some(finding.help("check `dmesg`; replace the cable or the device, or let an array rebuild, then repeat the test"))
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::environment::{Device, DeviceLimit, FileSystem, Health, InterfaceLosses, SystemUse, TargetFacts};
    use model::finding::Severity;
    use model::seconds::HostSample;

    use super::super::{check, samples};

    fn check_system_use(system: SystemUse, file_system: &str) -> Vec<(String, Severity)> {
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
    fn losses_matter_if_the_storage_is_remote() {
        let lost = SystemUse {
            tcp_segments: Some([1000, 3]),
            losses: vec![InterfaceLosses {
                name: "eth0".into(),
                errors: 0,
                dropped: 2,
            }],
            ..SystemUse::default()
        };
        for kind in ["nfs4", "beegfs"] {
            assert_eq!(
                check_system_use(lost.clone(), kind),
                [("NET-LOSS".to_owned(), Severity::Warning)]
            );
        }
        assert_eq!(
            check_system_use(lost, "ext4"),
            [("NET-LOSS".to_owned(), Severity::Note)]
        );
        let system_use = SystemUse {
            tcp_segments: Some([1000, 0]),
            ..SystemUse::default()
        };
        assert_eq!(check_system_use(system_use, "nfs4"), []);
    }

    #[test]
    fn throttled_processors_are_reported() {
        let throttled_for = |throttled_ns: Nanos| SystemUse {
            throttled_ns: Some(throttled_ns),
            ..SystemUse::default()
        };
        assert_eq!(
            check_system_use(throttled_for(Nanos::millis(11)), "ext4"),
            [("THROTTLED-CPU".to_owned(), Severity::Warning)]
        );
        assert_eq!(check_system_use(throttled_for(Nanos::millis(10)), "ext4"), []);
        let hot = SystemUse {
            thermal_events: Some(1),
            ..SystemUse::default()
        };
        assert_eq!(
            check_system_use(hot, "ext4"),
            [("THROTTLED-CPU".to_owned(), Severity::Warning)]
        );
    }

    #[test]
    fn a_limit_that_changes_during_the_test_is_reported() {
        let reads = |device: &str, read_iops: Option<u64>| DeviceLimit {
            device: device.into(),
            read_iops,
            ..DeviceLimit::default()
        };
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        let environment = &mut results.hosts[0].environment;
        environment.limits.devices = vec![reads("7:0", Some(4000)), reads("8:0", Some(50))];
        environment.targets = vec![TargetFacts {
            devices: vec![Device {
                number: "7:0".into(),
                ..Device::default()
            }],
            ..TargetFacts::default()
        }];
        let describe_finding = |changes: &[(u64, Option<u64>)]| {
            let sample = |(second, limit): &(u64, Option<u64>)| HostSample {
                start_ns: Nanos::secs(*second),
                length_ns: Nanos::secs(1),
                changed_limits: Some(vec![reads("7:0", *limit), reads("8:0", Some(*second))]),
                ..HostSample::default()
            };
            let mut results = results.clone();
            results.steps[0].samples = changes.iter().map(sample).collect();
            samples::findings(&results, "LIMIT-CHANGED")
                .next()
                .map(|finding| finding.what)
        };
        assert_eq!(
            describe_finding(&[(9, Some(2000)), (19, Some(4000)), (24, None)]).unwrap(),
            "the limits of the control group changed: reads: 4000 per second at the start, 2000 per second from 10 s \
             on, 4000 per second from 20 s on, no limit from 25 s on"
        );
        // The limit of another device is irrelevant.
        assert_eq!(describe_finding(&[(9, Some(4000))]), None);
        assert_eq!(describe_finding(&[]), None);
    }

    #[test]
    fn a_decline_in_health_is_reported_once() {
        let health = |problems: &[&str], link_errors: Option<u64>| Health {
            source: "SMART".into(),
            problems: problems.iter().map(ToString::to_string).collect(),
            link_errors,
            ..Health::default()
        };
        let new_problems = |before: Option<Health>, after: Option<Health>| {
            let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
            let target = TargetFacts {
                devices: vec![Device {
                    name: "sda".into(),
                    health: before,
                    health_after: after,
                    ..Device::default()
                }],
                ..TargetFacts::default()
            };
            results.hosts[0].environment.targets = vec![target.clone(), target];
            samples::findings(&results, "HEALTH-CHANGED")
                .map(|finding| finding.what)
                .collect::<Vec<_>>()
        };
        let well = || Some(health(&["8 sectors wait"], Some(3)));
        assert_eq!(new_problems(well(), well()), Vec::<String>::new());
        assert_eq!(new_problems(well(), None), Vec::<String>::new());
        assert_eq!(new_problems(None, well()), Vec::<String>::new());
        assert_eq!(
            new_problems(
                well(),
                Some(health(&["8 sectors wait", "it is about to fail"], Some(5)))
            ),
            ["it is about to fail; 2 transfers to the device were corrupted and repeated"]
        );
        // A decreasing counter was reset.
        assert_eq!(new_problems(well(), Some(health(&[], Some(0)))), Vec::<String>::new());
        assert_eq!(new_problems(well(), Some(health(&[], None))), Vec::<String>::new());
    }
}
