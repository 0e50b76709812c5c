//! Checks for rates that the device's link, its disk arms or a known limit do not allow.

use model::environment::{Device, TargetFacts};
use model::finding::{Finding, Severity};
use model::observation::Observation;

use super::{Check, CheckInput};
use crate::caps::{LayerKind, LimitLayer};
use crate::diagnosis::{Bound, KnownBurst, bounds, cgroup_layers};

/// No disk arm reaches this many random reads per second. Seek and rotation take milliseconds, so
/// even a deep queue on a small range gives only 300 to 400.
const MAX_DISK_ARM_IOPS: f64 = 1000.0;
/// Factor by which counters and clocks may overstate a rate. The speed of a link is exact.
const LINK_TOLERANCE: f64 = 1.05;
/// A rate above this multiple of a limit was served by a cache. Bursts and rounding exceed a limit
/// only slightly.
const CACHE_FACTOR: f64 = 1.5;

pub(super) const PLAUSIBLE: Check = Check {
    rules: &["IMPLAUSIBLE"],
    about: "The rate of direct I/O compared with the maximum of the device's link, or of a disk arm.",
    detect: |input, findings| {
        let host = input.results.hosts.first();
        let virtual_machine = host.is_some_and(|host| host.environment.host.hypervisor.is_some());
        for_each_direct_job(input, |observation, facts| {
            let disks = known_disks(facts);
            // The SATA or SAS link of a virtual disk is fictitious: an emulated AHCI disk reports
            // 1.5 Gbit/s at any real speed.
            if !virtual_machine || disks.iter().all(|disk| disk.name.starts_with("nvme")) {
                findings.extend(check_link_speed(observation, &disks));
            }
            // A disk that a hypervisor reports as rotating may be of any kind.
            if !virtual_machine {
                findings.extend(check_disk_arms(observation, &disks));
            }
        });
    },
};

pub(super) const CACHE_HIT: Check = Check {
    rules: &["DEVICE-CACHE-HIT"],
    about: "The rate of direct I/O compared with known limits of disks: far beyond them, a cache served it.",
    detect: |input, findings| {
        for (step, job, observation) in input.observations() {
            findings.extend(detect_cache_hit(
                &observation,
                &cgroup_layers(input.results, step, job),
                &[],
            ));
        }
    },
};

/// Reports a rate so far beyond the limit of a disk, burst credits included, that a cache must have
/// served it.
///
/// Limits of control groups do not count. They throttle I/O before it reaches any cache of the
/// device, so a rate beyond such a limit only shows that the limit did not apply.
pub fn detect_cache_hit(observation: &Observation, layers: &[LimitLayer], bursts: &[KnownBurst]) -> Option<Finding> {
    // BUFFERED reports the page cache.
    if observation.load.direct == Some(false) {
        return None;
    }
    let ceiling = |bound: &Bound| {
        let is_of_bound = |burst: &&KnownBurst| burst.layer == bound.layer && burst.counts == bound.counts;
        bursts
            .iter()
            .find(is_of_bound)
            .map_or(bound.limit.high, |burst| burst.ceiling.max(bound.limit.high))
    };
    let bounds = bounds(observation, &[], layers);
    let bound = bounds
        .iter()
        .filter(|bound| bound.kind == LayerKind::Disk)
        .find(|bound| bound.used > CACHE_FACTOR * ceiling(bound))?;
    let message = format!(
        "{:.0} {} are {:.0} % of the limit of {}",
        bound.used,
        bound.unit(),
        100.0 * bound.used / ceiling(bound),
        bound.layer
    );
    let finding = Finding::new("DEVICE-CACHE-HIT", Severity::Warning, message).at(&*observation.name);
    let finding = finding.why(
        "a cache of the device, the host or a controller served the I/O: the \
        figures describe that cache, and only until it is full",
    );
    Some(finding.help(
        "test a range several times as large as the cache, or measure for longer; if there is no cache, another \
         limit applies",
    ))
}

/// Calls `detect` for every job with direct I/O on real targets, with the facts of the targets.
fn for_each_direct_job(input: &CheckInput<'_>, mut detect: impl FnMut(&Observation, &[&TargetFacts])) {
    let facts_of = |number: &u32| input.results.hosts.first()?.environment.target(*number);
    let observations = input.observations();
    for (step, job, observation) in observations.filter(|(_, _, observation)| observation.load.direct == Some(true)) {
        let workers = &input.results.steps[step].jobs[job].workers;
        if workers.iter().any(|worker| worker.engine.kind.simulates_io()) {
            continue;
        }
        let streams = workers.iter().flat_map(|worker| &worker.streams);
        let mut numbers: Vec<u32> = streams.flat_map(|stream| stream.targets.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let facts: Vec<&TargetFacts> = numbers.iter().filter_map(facts_of).collect();
        if facts.len() == numbers.len() {
            detect(&observation, &facts);
        }
    }
}

/// The disks below all targets, each listed once; empty if the disks of any target are unknown.
fn known_disks<'a>(facts: &[&'a TargetFacts]) -> Vec<&'a Device> {
    let mut listed_disks: Vec<&Device> = Vec::new();
    for target in facts {
        let before = listed_disks.len();
        let disks = || target.devices.iter().filter(|device| device.kind == "disk");
        if disks().next().is_none() {
            return Vec::new();
        }
        for disk in disks() {
            if !listed_disks[..before].iter().any(|other| other.name == disk.name) {
                listed_disks.push(disk);
            }
        }
    }
    listed_disks
}

fn check_link_speed(observation: &Observation, disks: &[&Device]) -> Option<Finding> {
    let links: Option<Vec<u64>> = disks.iter().map(|disk| disk.link_bytes_per_sec).collect();
    let limit = links.filter(|links| !links.is_empty())?.iter().sum::<u64>() as f64;
    // A link is full duplex: each direction has the full speed.
    let one_way =
        |flow: &Option<model::observation::IoStats>| flow.as_ref().and_then(|flow| flow.bytes_per_sec).unwrap_or(0.0);
    let used = one_way(&observation.directions.read).max(one_way(&observation.directions.write));
    (used > LINK_TOLERANCE * limit).then(|| {
        let message = format!(
            "{:.0} MB/s were transferred in one direction, but the link of {} has only {:.0} MB/s",
            used / 1e6,
            join_names(disks),
            limit / 1e6
        );
        implausible_finding(
            message,
            observation,
            "data beyond the speed of the link comes from memory, so the figures do not describe the device",
        )
    })
}

fn check_disk_arms(observation: &Observation, disks: &[&Device]) -> Option<Finding> {
    let all_rotate = !disks.is_empty() && disks.iter().all(|disk| disk.rotational);
    // Only reads count, because the disk's cache absorbs and reorders writes.
    let reads = observation.directions.read.as_ref()?.iops?;
    let limit = MAX_DISK_ARM_IOPS * disks.len() as f64;
    (all_rotate && observation.load.random == Some(true) && reads > limit).then(|| {
        let message = format!(
            "{reads:.0} random reads per second from {}, a rotating disk",
            join_names(disks)
        );
        implausible_finding(
            message,
            observation,
            "a disk arm reaches a few hundred per second: a cache served the reads, or the name hides an array or \
             flash",
        )
    })
}

fn implausible_finding(what: String, observation: &Observation, why: &str) -> Finding {
    let finding = Finding::new("IMPLAUSIBLE", Severity::Warning, what).at(&*observation.name);
    let help = "test a range several times as large as all caches on the path, filled with incompressible data";
    finding.why(why).help(help)
}

fn join_names(disks: &[&Device]) -> String {
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use model::environment::{Device, DeviceLimit, TargetFacts};
    use model::observation::Observation;
    use model::plan::CacheMode;
    use model::results::Results;
    use model::{Bytes, Nanos};

    use super::super::samples::{self, rules};
    use super::*;
    use crate::caps::Limit;
    use crate::diagnosis::Counts;

    /// Results of one second with this number of direct 4 KiB reads on these disks.
    fn results_on(operations: u64, disks: &[Device]) -> Results {
        let mut results = samples::closed_loop(32, operations, Nanos(32_000_000_000 / operations));
        results.plan.steps[0].jobs[0].workers[0].streams[0].cache = CacheMode {
            direct: true,
            ..CacheMode::BUFFERED
        };
        results.hosts[0].environment.targets = vec![TargetFacts {
            devices: disks.to_vec(),
            ..TargetFacts::default()
        }];
        results
    }

    fn disk(name: &str) -> Device {
        Device {
            name: name.into(),
            kind: "disk".into(),
            ..Device::default()
        }
    }

    fn has_finding(results: &Results, rule: &str) -> bool {
        rules(results).contains(&rule.to_owned())
    }

    #[test]
    fn an_implausibly_fast_rotating_disk_is_reported() {
        let spins = |name: &str| Device {
            rotational: true,
            ..disk(name)
        };
        assert!(has_finding(&results_on(1100, &[spins("sda")]), "IMPLAUSIBLE"));
        assert!(!has_finding(&results_on(900, &[spins("sda")]), "IMPLAUSIBLE"));
        assert!(
            !has_finding(&results_on(1100, &[spins("sda"), spins("sdb")]), "IMPLAUSIBLE"),
            "two disks"
        );
        assert!(
            !has_finding(&results_on(1100, &[disk("sda")]), "IMPLAUSIBLE"),
            "not a rotating disk"
        );
        let mut guest = results_on(1100, &[spins("vda")]);
        guest.hosts[0].environment.host.hypervisor = Some("KVM".into());
        assert!(
            !has_finding(&guest, "IMPLAUSIBLE"),
            "a virtual disk may report rotation falsely"
        );
        let mut cached = results_on(1100, &[spins("sda")]);
        cached.plan.steps[0].jobs[0].workers[0].streams[0].cache = CacheMode::BUFFERED;
        assert!(!has_finding(&cached, "IMPLAUSIBLE"), "other rules cover the page cache");
    }

    #[test]
    fn a_rate_beyond_the_link_speed_is_reported() {
        // 4096 bytes × 100,000 = 409.6 MB/s.
        let linked = |rate: u64| Device {
            link_bytes_per_sec: Some(rate),
            ..disk("nvme0n1")
        };
        assert!(has_finding(&results_on(100_000, &[linked(380_000_000)]), "IMPLAUSIBLE"));
        assert!(
            !has_finding(&results_on(100_000, &[linked(400_000_000)]), "IMPLAUSIBLE"),
            "within the tolerance"
        );
        let second = Device {
            name: "nvme1n1".into(),
            ..linked(380_000_000)
        };
        assert!(
            !has_finding(&results_on(100_000, &[linked(380_000_000), second]), "IMPLAUSIBLE"),
            "two links"
        );
        assert!(
            !has_finding(&results_on(100_000, &[disk("nvme0n1")]), "IMPLAUSIBLE"),
            "unknown link"
        );
        // A SATA disk, on bare metal and in a virtual machine.
        let sata = || Device {
            name: "sda".into(),
            ..linked(150_000_000)
        };
        assert!(has_finding(&results_on(100_000, &[sata()]), "IMPLAUSIBLE"));
        let guest = |disk: Device| {
            let mut results = results_on(100_000, &[disk]);
            results.hosts[0].environment.host.hypervisor = Some("KVM".into());
            results
        };
        assert!(
            !has_finding(&guest(sata()), "IMPLAUSIBLE"),
            "the link of a virtual SATA disk is fictitious"
        );
        assert!(has_finding(&guest(linked(380_000_000)), "IMPLAUSIBLE"));
    }

    #[test]
    fn a_rate_above_a_control_group_limit_is_not_a_cache_hit() {
        let mut results = results_on(
            1000,
            &[Device {
                number: "8:0".into(),
                ..disk("sda")
            }],
        );
        results.hosts[0].environment.limits.devices = vec![DeviceLimit {
            device: "8:0".into(),
            read_iops: Some(100),
            ..DeviceLimit::default()
        }];
        assert!(!has_finding(&results, "DEVICE-CACHE-HIT"));
    }

    #[test]
    fn a_rate_from_burst_credits_is_not_a_cache_hit() {
        let observation = Observation::from_results(&results_on(3000, &[disk("sda")]), 0, 0).unwrap();
        let layer = LimitLayer {
            name: "gp2".into(),
            kind: LayerKind::Disk,
            iops: Some(Limit::exactly(300.0)),
            unit: Some(Bytes::kib(256)),
            ..LimitLayer::default()
        };
        assert!(detect_cache_hit(&observation, std::slice::from_ref(&layer), &[]).is_some());
        let burst = KnownBurst {
            layer: "gp2".into(),
            counts: Counts::Operations,
            ceiling: 3000.0,
            refill: 300.0,
            bucket: 5.4e6,
        };
        assert!(detect_cache_hit(&observation, std::slice::from_ref(&layer), &[burst]).is_none());
        let machine = LimitLayer {
            kind: LayerKind::Machine,
            ..layer
        };
        assert!(
            detect_cache_hit(&observation, &[machine], &[]).is_none(),
            "a cache of the machine can serve more than its limit"
        );
    }
}
