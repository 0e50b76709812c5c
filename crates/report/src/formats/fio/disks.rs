//! Counters of the disks under the targets, as fio lists them: the disk instead of its partition,
//! and the member disks below a multi-disk device.

use model::Nanos;
use model::environment::{Device, DeviceUse, TargetFacts};
use model::results::{Results, StepResults};

use super::settings::Settings;

/// Bytes of a sector in the kernel's counters.
const SECTOR: u64 = 512;

/// One disk, or the mean of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Disk {
    pub name: String,
    /// Reads, writes.
    pub operations: [u64; 2],
    pub sectors: [u64; 2],
    pub merges: [u64; 2],
    pub ticks_ms: [u64; 2],
    pub in_queue_ms: u64,
    pub busy_percent: f64,
    /// Disks below this one, such as members of an array.
    pub members: Vec<Disk>,
}

impl Disk {
    fn from_counters(counters: &DeviceUse, elapsed: Nanos) -> Disk {
        let read_and_write = |value: fn(&DeviceUse, usize) -> u64| [value(counters, 0), value(counters, 1)];
        let busy = counters.busy_ns.0 as f64 / elapsed.0.max(1) as f64 * 100.0;
        Disk {
            name: counters.name.clone(),
            operations: read_and_write(|counters, index| counters.operations[index]),
            sectors: read_and_write(|counters, index| counters.bytes[index] / SECTOR),
            merges: read_and_write(|counters, index| counters.merged[index]),
            ticks_ms: read_and_write(|counters, index| counters.time_ns[index].0 / 1_000_000),
            in_queue_ms: counters.weighted_ns.0 / 1_000_000,
            busy_percent: busy.min(100.0),
            members: Vec::new(),
        }
    }

    /// The mean of the members, with the utilization of the busiest; `None` without members.
    pub(super) fn aggregate(&self) -> Option<Disk> {
        let count = self.members.len() as u64;
        if count == 0 {
            return None;
        }
        let mean = |value: fn(&Disk) -> u64| self.members.iter().map(value).sum::<u64>() / count;
        let mean_pair = |value: fn(&Disk) -> [u64; 2]| {
            let sum = |index: usize| self.members.iter().map(|member| value(member)[index]).sum::<u64>();
            [sum(0) / count, sum(1) / count]
        };
        Some(Disk {
            name: String::new(),
            operations: mean_pair(|disk| disk.operations),
            sectors: mean_pair(|disk| disk.sectors),
            merges: mean_pair(|disk| disk.merges),
            ticks_ms: mean_pair(|disk| disk.ticks_ms),
            in_queue_ms: mean(|disk| disk.in_queue_ms),
            busy_percent: self
                .members
                .iter()
                .map(|member| member.busy_percent)
                .fold(0.0, f64::max),
            members: Vec::new(),
        })
    }
}

/// All disks over the whole run; empty if disabled.
pub(super) fn collect_disks(results: &Results, settings: &Settings) -> Vec<Disk> {
    if !settings.disk_use {
        return Vec::new();
    }
    let elapsed = Nanos(results.steps.iter().map(|step| step_length(step).0).sum());
    let mut disks = Vec::new();
    for host in 0..results.hosts.len() {
        let counters = device_counters(results, host as u32);
        let find = |name: &str| counters.iter().find(|counters| counters.name == name);
        let mut seen: Vec<&str> = Vec::new();
        for (name, member_names) in top_devices(results, host, &counters) {
            let Some(disk_facts) = find(name).filter(|_| !seen.contains(&name)) else {
                continue;
            };
            seen.push(name);
            let mut disk = Disk::from_counters(disk_facts, elapsed);
            let members = member_names.iter().filter_map(|name| find(name));
            disk.members = members.map(|counters| Disk::from_counters(counters, elapsed)).collect();
            disks.push(disk);
        }
    }
    disks
}

/// The counters of a host's devices, summed over the steps.
fn device_counters(results: &Results, host: u32) -> Vec<DeviceUse> {
    let mut sums: Vec<DeviceUse> = Vec::new();
    let entries = results.steps.iter().flat_map(|step| &step.devices);
    for entry in entries.filter(|entry| entry.host == host) {
        match sums.iter_mut().find(|sum| sum.name == entry.counters.name) {
            Some(sum) => sum.add(&entry.counters),
            None => sums.push(entry.counters.clone()),
        }
    }
    sums
}

/// The disks of the targets, with their members; all counted devices if the targets are unknown.
fn top_devices<'a>(results: &'a Results, host: usize, counters: &'a [DeviceUse]) -> Vec<(&'a str, Vec<&'a str>)> {
    let facts = &results.hosts[host].environment.targets;
    if facts.iter().all(|facts| facts.devices.is_empty()) {
        return counters
            .iter()
            .map(|counters| (counters.name.as_str(), Vec::new()))
            .collect();
    }
    facts.iter().filter_map(top_device).collect()
}

fn top_device(facts: &TargetFacts) -> Option<(&str, Vec<&str>)> {
    let is_whole_disk = |device: &&Device| device.kind != "partition";
    let mut devices = facts
        .devices
        .iter()
        .filter(is_whole_disk)
        .map(|device| device.name.as_str());
    Some((devices.next()?, devices.collect()))
}

/// Time from the first operation of a step to its last.
fn step_length(step: &StepResults) -> Nanos {
    let workers = || step.jobs.iter().flat_map(|job| &job.workers);
    let ends = workers().map(|worker| worker.started_ns.0 + worker.measured_ns.0);
    let starts = workers().map(|worker| {
        let end = worker.started_ns.0 + worker.measured_ns.0;
        end.saturating_sub(worker.active_ns.0.max(worker.measured_ns.0))
    });
    match (starts.min(), ends.max()) {
        (Some(start), Some(end)) => Nanos(end - start),
        _ => Nanos(0),
    }
}
