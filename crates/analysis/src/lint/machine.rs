//! Rules about the machine: processors, power, neighbours, health.

use model::Nanos;
use model::finding::Severity;
use model::observation::rate_iops;
use model::plan::ThreadPlacement;

use super::{Rule, streams_of};

/// A longer exit from an idle state shows in the latency of single operations.
const MAX_IDLE_EXIT: Nanos = Nanos::micros(50);
/// I/O of other programs above this share of the test's rate disturbs it; without a rate, above
/// this many operations per second.
const MAX_OTHERS_SHARE: f64 = 0.01;
const MAX_OTHERS_IOPS: f64 = 10.0;

pub(super) const THREADS: Rule = Rule {
    name: "THREADS-GT-CORES",
    severity: Severity::Note,
    about: "More threads issue I/O at a time than there are processors for them.",
    why: "they wait for one another, and that wait is part of the latencies",
    fix: "use fewer threads and a larger queue depth",
    detect: |rule, test, findings| {
        let usable = test.environment.cpu.usable as usize;
        for step in &test.plan.steps {
            let threads: usize = step.jobs.iter().map(|job| job.workers.len()).sum();
            if usable > 0 && threads > usable {
                let what = format!("{threads} threads on {usable} processors");
                findings.push(rule.finding(what, step.jobs.first().map_or("", |job| &job.name)));
            }
        }
    },
};

pub(super) const POWER_SAVING: Rule = Rule {
    name: "POWER-PLAN",
    severity: Severity::Note,
    about: "Processors may slow down or sleep deeply (frequency governor `powersave`, idle states of over 50 µs).",
    why: "waking up is part of the latency of the next operation, above all at low queue depths",
    fix: "use the governor `performance`, and forbid deep idle states while you measure",
    detect: |rule, test, findings| {
        let cpu = &test.environment.cpu;
        if cpu.governor.as_deref() == Some("powersave") {
            findings.push(rule.finding("the frequency governor is `powersave`", &cpu.model));
        }
        if let Some(state) = cpu.deepest_idle.as_ref().filter(|state| state.exit_ns > MAX_IDLE_EXIT) {
            let what = format!(
                "processors may sleep in {}, which takes {} to leave",
                state.name, state.exit_ns
            );
            findings.push(rule.finding(what, &cpu.model));
        }
    },
};

pub(super) const EFFICIENCY_CORES: Rule = Rule {
    name: "E-CORES",
    severity: Severity::Note,
    about: "The processors are of different kinds, and threads are not placed.",
    why: "a thread on a frugal core issues less and has longer latencies: figures depend on where it happened to run",
    fix: "place the threads on cores of one kind",
    detect: |rule, test, findings| {
        let classes = || test.environment.cpu.topology.iter().map(|cpu| cpu.efficiency_class);
        if classes().min() == classes().max() {
            return;
        }
        let placed = |placement: &ThreadPlacement| placement != &ThreadPlacement::default();
        for job in test
            .jobs()
            .filter(|job| job.workers.iter().any(|worker| !placed(&worker.placement)))
        {
            findings.push(rule.finding("there are frugal and fast cores", &job.name));
        }
    },
};

pub(super) const REMOTE_NODE: Rule = Rule {
    name: "REMOTE-NUMA",
    severity: Severity::Note,
    about: "The device is attached to one of several memory nodes, and threads may run on the others.",
    why: "every operation then crosses the link between them",
    fix: "place the threads on the node of the device",
    detect: |rule, test, findings| {
        if test.environment.cpu.numa_nodes < 2 {
            return;
        }
        for job in test.jobs() {
            let ids = || streams_of(job).flat_map(|stream| stream.target.ids());
            let facts = ids().filter_map(|id| test.environment.targets.get(id.0 as usize));
            let node = facts
                .flat_map(|facts| &facts.devices)
                .find_map(|device| Some((device.numa_node?, &device.name)));
            let is_unplaced = job
                .workers
                .iter()
                .any(|worker| worker.placement == ThreadPlacement::default());
            if let Some((node, name)) = node.filter(|_| is_unplaced) {
                findings.push(rule.finding(
                    format!("{name} is attached to node {node}, and threads run anywhere"),
                    &job.name,
                ));
            }
        }
    },
};

pub(super) const BUSY_DISK: Rule = Rule {
    name: "BUSY-DISK",
    severity: Severity::Warning,
    about: "Others used the devices under the targets before the test began, by more than 1 % of the rate that it asks for.",
    why: "their operations and those of the test slow each other down: the figures are wrong, and their work suffers",
    fix: "stop what loads the disk; never test a disk in production",
    detect: |rule, test, findings| {
        let Some(before) = test
            .environment
            .before
            .as_ref()
            .filter(|before| before.watched_ns > Nanos(0))
        else {
            return;
        };
        let seconds = before.watched_ns.as_secs();
        let requested = test.purpose.promised_iops.or_else(|| requested_iops(test));
        let max_iops = requested.map_or(MAX_OTHERS_IOPS, |iops| iops * MAX_OTHERS_SHARE);
        for device in &before.devices {
            let iops = device.operations.iter().sum::<u64>() as f64 / seconds;
            if iops > max_iops {
                let programs: Vec<String> = before
                    .programs
                    .iter()
                    .take(3)
                    .map(|program| format!("{} (pid {})", program.name, program.process))
                    .collect();
                let by = if programs.is_empty() {
                    String::new()
                } else {
                    format!("; busiest: {}", programs.join(", "))
                };
                let what = format!("{iops:.0} operations per second of others in {}{by}", before.watched_ns);
                findings.push(rule.finding(what, &device.name));
            }
        }
    },
};

/// The total rate of the first step's jobs; `None` if one of them is unpaced.
fn requested_iops(test: &super::Test<'_>) -> Option<f64> {
    let jobs = &test.plan.steps.first()?.jobs;
    jobs.iter()
        .map(rate_iops)
        .sum::<Option<f64>>()
        .filter(|rate| *rate > 0.0)
}

pub(super) const UNHEALTHY: Rule = Rule {
    name: "DEGRADED-RAID",
    severity: Severity::Warning,
    about: "A device under a target reports bad health: a degraded array, spare blocks used up, a critical warning.",
    why: "rebuilding and repairing take their share of the device, and what fails is slower before it is gone",
    fix: "let the array rebuild or replace the device before you measure",
    detect: |rule, test, findings| {
        for (_, facts) in test.known_targets() {
            for device in &facts.devices {
                let complaints = device
                    .health
                    .as_ref()
                    .map(|health| (&health.source, &health.complaints));
                for (source, complaint) in complaints
                    .into_iter()
                    .flat_map(|(source, list)| list.iter().map(move |c| (source, c)))
                {
                    findings.push(rule.finding(format!("{}: {complaint} ({source})", device.name), &facts.path));
                }
            }
        }
    },
};
