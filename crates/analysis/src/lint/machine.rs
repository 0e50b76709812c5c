//! Rules about the machine: processors, power saving, other programs, health.

use model::finding::Severity;
use model::observation::{rate_iops, target_rate};
use model::plan::{Step, TargetId, ThreadPlacement};
use model::{Bytes, Direction, Nanos};

use super::{Rule, all_streams};
use crate::attribution::name_programs;
use crate::figures::count;

/// Maximum exit time of an idle state; a longer one shows in the latency of single operations.
const MAX_IDLE_EXIT: Nanos = Nanos::micros(50);
/// Above this share of the test's rate, I/O of other programs disturbs it. Without a rate, the
/// limit is `MAX_OTHERS_IOPS`.
const MAX_OTHERS_SHARE: f64 = 0.01;
const MAX_OTHERS_IOPS: f64 = 10.0;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "THREADS-GT-CORES",
        severity: Severity::Note,
        about: "More threads issue I/O at the same time than processors are available.",
        why: "threads wait for a processor, and the wait counts as latency",
        fix: "use fewer threads and a larger queue depth",
        detect: |rule, test, findings| {
            let usable = test.environment.cpu.usable as usize;
            for step in &test.plan.steps {
                let threads: usize = step.jobs.iter().map(|job| job.workers.len()).sum();
                if usable > 0 && threads > usable {
                    let message = format!("{threads} threads on {}", count(usable as u64, "processor"));
                    findings.push(rule.finding(message, step.jobs.first().map_or("", |job| &job.name)));
                }
            }
        },
    },
    Rule {
        name: "POWER-PLAN",
        severity: Severity::Note,
        about: "Processors may slow down or sleep deeply (frequency governor `powersave`, idle states of over 50 µs).",
        why: "waking up adds to the latency of the next operation, especially at low queue depths",
        fix: "use the governor `performance`, and disable deep idle states during the test",
        detect: |rule, test, findings| {
            let cpu = &test.environment.cpu;
            if cpu.governor.as_deref() == Some("powersave") {
                findings.push(rule.finding("the frequency governor is `powersave`", &cpu.model));
            }
            if let Some(state) = cpu.deepest_idle.as_ref().filter(|state| state.exit_ns > MAX_IDLE_EXIT) {
                let message = format!(
                    "processors may enter idle state {}, which takes {} to leave",
                    state.name, state.exit_ns
                );
                findings.push(rule.finding(message, &cpu.model));
            }
        },
    },
    Rule {
        name: "E-CORES",
        severity: Severity::Note,
        about: "The machine has different kinds of cores, and threads are not pinned.",
        why: "a thread on an efficiency core issues less and has longer latencies, so figures depend on where threads \
            happen to run",
        fix: "pin the threads to cores of one kind",
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
                findings.push(rule.finding("the machine has efficiency and performance cores", &job.name));
            }
        },
    },
    Rule {
        name: "REMOTE-NUMA",
        severity: Severity::Note,
        about: "The device is attached to one of several NUMA nodes, and threads may run on the others.",
        why: "I/O from threads on other nodes crosses the link between NUMA nodes",
        fix: "pin the threads to the device's NUMA node",
        detect: |rule, test, findings| {
            if test.environment.cpu.numa_nodes < 2 {
                return;
            }
            for job in test.jobs() {
                let ids = || all_streams(job).flat_map(|stream| stream.target.ids());
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
                        format!("{name} is attached to node {node}, and threads may run on any node"),
                        &job.name,
                    ));
                }
            }
        },
    },
    Rule {
        name: "BUSY-DISK",
        severity: Severity::Warning,
        about: "Before the test, other programs used the target's devices at more than 1 % of the requested rate (10 \
            operations per second if no rate is requested).",
        why: "their operations and those of the test slow each other down: the figures are worse than without them, \
            and other work suffers",
        fix: "stop the programs that use the disk; never test a disk in production",
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
                    let programs = name_programs(&before.programs, Bytes(device.bytes.iter().sum()));
                    let message = format!(
                        "before the test, for {}, other programs did {iops:.0} operations per second on {}{programs}",
                        before.watched_ns, device.name
                    );
                    findings.push(rule.finding(message, &device.name));
                }
            }
        },
    },
    Rule {
        name: "CGROUP-LIMIT",
        severity: Severity::Warning,
        about: "A control group limits the device under a target to less than the test requests.",
        why: "the figures will show this limit instead of the storage's",
        fix: "raise or remove the limit (`io.max`, `blkio.throttle.*`, or the container's limit), unless you want to \
            measure the limited performance",
        detect: |rule, test, findings| {
            for limit in &test.environment.limits.devices {
                let reads = (Direction::Read, limit.read_iops, limit.read_bytes);
                for (direction, iops, bytes) in [reads, (Direction::Write, limit.write_iops, limit.write_bytes)] {
                    let demands = test
                        .plan
                        .steps
                        .iter()
                        .map(|step| sum_demand(test, step, &limit.device, direction));
                    let demands: Vec<_> = demands.filter(|demand| demand.longest.0 > 0).collect();
                    let exceeds = |allowed: u64, size: fn(&Demand) -> u64| {
                        demands.iter().any(|demand| {
                            demand
                                .iops
                                .is_none_or(|iops| iops * size(demand) as f64 > allowed as f64)
                        })
                    };
                    let iops = iops
                        .filter(|allowed| exceeds(*allowed, |_| 1))
                        .map(|allowed| allowed.to_string());
                    let bytes = bytes.filter(|allowed| exceeds(*allowed, |demand| demand.longest.0));
                    let allowed: Vec<String> = iops
                        .into_iter()
                        .chain(bytes.map(|bytes| Bytes(bytes).to_string()))
                        .collect();
                    if !allowed.is_empty() {
                        let message = format!(
                            "{}s are limited to {} per second",
                            direction.word(),
                            allowed.join(" and ")
                        );
                        findings.push(rule.finding(message, &format!("device {}", limit.device)));
                    }
                }
            }
        },
    },
    Rule {
        name: "DEGRADED-RAID",
        severity: Severity::Warning,
        about: "A device under a target reports bad health: a degraded array, exhausted spare blocks, a critical \
            warning.",
        why: "rebuilds and repairs use part of the device's performance, and failing devices become slower",
        fix: "let the array rebuild or replace the device before you measure",
        detect: |rule, test, findings| {
            for (_, facts) in test.known_targets() {
                for device in &facts.devices {
                    let reported_problems = device.health.as_ref().map(|health| (&health.source, &health.problems));
                    for (source, problem) in reported_problems
                        .into_iter()
                        .flat_map(|(source, list)| list.iter().map(move |c| (source, c)))
                    {
                        findings.push(rule.finding(format!("{}: {problem} ({source})", device.name), &facts.path));
                    }
                }
            }
        },
    },
];

/// The total rate of the first step's jobs; `None` if one of them is unpaced.
fn requested_iops(test: &super::Test<'_>) -> Option<f64> {
    let jobs = &test.plan.steps.first()?.jobs;
    jobs.iter()
        .map(rate_iops)
        .sum::<Option<f64>>()
        .filter(|rate| *rate > 0.0)
}

/// The load of a step on a device in one direction.
struct Demand {
    /// Operations per second; absent without a rate.
    iops: Option<f64>,
    /// The longest operation; 0 if there is none.
    longest: Bytes,
}

fn sum_demand(test: &super::Test<'_>, step: &Step, device: &str, direction: Direction) -> Demand {
    let lies_on_device = |id: &&TargetId| {
        let facts = test.environment.target(id.0);
        facts.is_some_and(|facts| facts.devices.iter().any(|device_use| device_use.number == device))
    };
    let mut demand = Demand {
        iops: Some(0.0),
        longest: Bytes(0),
    };
    for stream in step
        .jobs
        .iter()
        .flat_map(all_streams)
        .filter(|stream| stream.mix.includes(direction))
    {
        let targets = stream.target.ids();
        let on_device = targets.iter().filter(lies_on_device).count();
        if on_device == 0 {
            continue;
        }
        let share = match direction {
            Direction::Write => stream.mix.write_share(),
            Direction::Read | Direction::Trim => 100.0 - stream.mix.write_share(),
        };
        let device_share = share / 100.0 * on_device as f64 / targets.len() as f64;
        demand.iops = demand
            .iops
            .zip(target_rate(stream))
            .map(|(sum, rate)| sum + rate * device_share);
        demand.longest = demand.longest.max(stream.pattern.longest_in(direction));
    }
    demand
}
