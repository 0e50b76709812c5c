//! Limits that control groups impose on the devices of a job.

use std::collections::BTreeSet;

use model::Direction;
use model::environment::{DeviceLimit, Environment};
use model::results::{JobResults, Results};
use model::seconds::HostSample;

use crate::caps::{Applies, LayerKind, Limit, LimitLayer};

/// The control group limits for the devices of a job's targets, as layers. Empty if the step has
/// several jobs: they share each limit, so none of them reaches it alone.
pub fn cgroup_layers(results: &Results, step: usize, job: usize) -> Vec<LimitLayer> {
    let jobs = results.steps.get(step).map(|step| &step.jobs[..]);
    let (Some([job_results]), Some(host)) = (jobs, results.hosts.first()) else {
        return Vec::new();
    };
    let limits = limit_ranges(&host.environment, &results.steps[step].samples);
    layers_of_targets(&host.environment, &limits, &targets(results, step, job), job_results)
}

/// The lowest and the highest values of a limit during a step.
type LimitRange = (DeviceLimit, DeviceLimit);

/// The range of each device's limits during a step. A limit that was absent at any time is omitted.
fn limit_ranges(environment: &Environment, samples: &[HostSample]) -> Vec<LimitRange> {
    let mut ranges: Vec<LimitRange> = environment
        .limits
        .devices
        .iter()
        .map(|limit| (limit.clone(), limit.clone()))
        .collect();
    for changed in samples
        .iter()
        .filter(|sample| sample.host == 0)
        .filter_map(|sample| sample.changed_limits.as_ref())
    {
        for (low, high) in &mut ranges {
            let now = changed
                .iter()
                .find(|limit| limit.device == low.device)
                .cloned()
                .unwrap_or_default();
            for (bound, choose, now) in [(low, u64::min as fn(u64, u64) -> u64, &now), (high, u64::max, &now)] {
                let update = |bound: Option<u64>, now: Option<u64>| Some(choose(bound?, now?));
                bound.read_iops = update(bound.read_iops, now.read_iops);
                bound.write_iops = update(bound.write_iops, now.write_iops);
                bound.read_bytes = update(bound.read_bytes, now.read_bytes);
                bound.write_bytes = update(bound.write_bytes, now.write_bytes);
            }
        }
    }
    ranges
}

/// Indexes of the targets that a job uses.
fn targets(results: &Results, step: usize, job: usize) -> BTreeSet<u32> {
    let job_plan = results.plan.steps.get(step).and_then(|step| step.jobs.get(job));
    let workers = job_plan.into_iter().flat_map(|job| &job.workers);
    let streams = workers.flat_map(|worker| &worker.streams);
    streams.flat_map(|stream| stream.target.ids()).map(|id| id.0).collect()
}

fn layers_of_targets(
    environment: &Environment,
    limits: &[LimitRange],
    targets: &BTreeSet<u32>,
    job: &JobResults,
) -> Vec<LimitLayer> {
    let lies_on = |target: u32, number: &str| {
        let facts = environment.target(target);
        facts.is_some_and(|facts| facts.devices.iter().any(|device| device.number == number))
    };
    let limits = limits.iter().flat_map(|limit| {
        let limited = targets
            .iter()
            .copied()
            .filter(|target| lies_on(*target, &limit.0.device));
        let limited: BTreeSet<u32> = limited.collect();
        let layers = layers_of_limit(limit).into_iter();
        layers.filter_map(move |(direction, layer)| {
            let share = match limited.len() {
                0 => None,
                count if count == targets.len() => Some(1.0),
                _ => share_of_targets(job, direction, &limited),
            }?;
            Some(LimitLayer {
                share: Some(share),
                ..layer
            })
        })
    });
    limits.filter(|layer| layer.share > Some(0.0)).collect()
}

/// The share of a job's operations on some of its targets. `None` if there were no operations, or
/// if a stream also used other targets.
fn share_of_targets(job: &JobResults, direction: Direction, targets: &BTreeSet<u32>) -> Option<f64> {
    let (mut theirs, mut total) = (0, 0);
    for stream in job.workers.iter().flat_map(|worker| &worker.streams) {
        let operations = stream.directions[direction]
            .as_ref()
            .map_or(0, |counted| counted.operations);
        let is_limited = |target: &u32| targets.contains(target);
        total += operations;
        if stream.targets.iter().all(is_limited) {
            theirs += operations;
        } else if stream.targets.iter().any(is_limited) {
            return None;
        }
    }
    (total > 0).then(|| theirs as f64 / total as f64)
}

fn layers_of_limit((low, high): &LimitRange) -> Vec<(Direction, LimitLayer)> {
    let layer = |direction: Direction,
                 applies: Applies,
                 iops: fn(&DeviceLimit) -> Option<u64>,
                 bytes: fn(&DeviceLimit) -> Option<u64>| {
        let range = |select: fn(&DeviceLimit) -> Option<u64>| {
            Some(Limit {
                low: select(low)? as f64,
                high: select(high)? as f64,
            })
        };
        let (iops, bytes) = (range(iops), range(bytes));
        let layer = LimitLayer {
            name: format!("control group, {}s of device {}", direction.word(), low.device),
            kind: LayerKind::ControlGroup,
            iops,
            bytes_per_sec: bytes,
            applies,
            source: "the system".into(),
            ..LimitLayer::default()
        };
        (iops.is_some() || bytes.is_some()).then_some((direction, layer))
    };
    let reads = layer(
        Direction::Read,
        Applies::Reads,
        |limit| limit.read_iops,
        |limit| limit.read_bytes,
    );
    let writes = layer(
        Direction::Write,
        Applies::Writes,
        |limit| limit.write_iops,
        |limit| limit.write_bytes,
    );
    reads.into_iter().chain(writes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::environment::{Device, Limits, TargetFacts};
    use model::results::{DirectionResults, StreamResults, WorkerResults};

    #[test]
    fn only_limits_of_the_devices_in_use_are_layers() {
        let limit = |device: &str, reads: Option<u64>, written: Option<u64>| DeviceLimit {
            device: device.into(),
            read_iops: reads,
            write_bytes: written,
            ..DeviceLimit::default()
        };
        let environment = Environment {
            limits: Limits {
                devices: vec![limit("254:0", Some(1000), Some(5_000_000)), limit("8:0", Some(7), None)],
                ..Limits::default()
            },
            targets: vec![TargetFacts {
                devices: vec![Device {
                    number: "254:0".into(),
                    ..Device::default()
                }],
                ..TargetFacts::default()
            }],
            ..Environment::default()
        };
        let limits = limit_ranges(&environment, &[]);
        let layers = layers_of_targets(&environment, &limits, &BTreeSet::from([0]), &JobResults::default());
        let shown: Vec<_> = layers
            .iter()
            .map(|layer| (layer.applies, layer.iops, layer.bytes_per_sec))
            .collect();
        let reads = (Applies::Reads, Some(Limit::exactly(1000.0)), None);
        assert_eq!(shown, [reads, (Applies::Writes, None, Some(Limit::exactly(5e6)))]);
        assert_eq!(
            layers_of_targets(&environment, &limits, &BTreeSet::new(), &JobResults::default()),
            []
        );
        // Halved in the middle, then without a limit on bytes.
        let changed = |limits: Vec<DeviceLimit>| HostSample {
            changed_limits: Some(limits),
            ..HostSample::default()
        };
        let samples = [
            changed(vec![limit("254:0", Some(500), Some(5_000_000))]),
            changed(vec![limit("254:0", Some(1000), None)]),
        ];
        let limits = limit_ranges(&environment, &samples);
        let layers = layers_of_targets(&environment, &limits, &BTreeSet::from([0]), &JobResults::default());
        let shown: Vec<_> = layers.iter().map(|layer| (layer.applies, layer.iops)).collect();
        assert_eq!(
            shown,
            [(
                Applies::Reads,
                Some(Limit {
                    low: 500.0,
                    high: 1000.0
                })
            )]
        );
    }

    #[test]
    fn a_limit_counts_the_operations_of_its_targets() {
        let limit = |device: &str, read_iops: Option<u64>| DeviceLimit {
            device: device.into(),
            read_iops,
            ..DeviceLimit::default()
        };
        let target_on = |devices: &[&str]| {
            let device = |number: &&str| Device {
                number: number.to_string(),
                ..Device::default()
            };
            TargetFacts {
                devices: devices.iter().map(device).collect(),
                ..TargetFacts::default()
            }
        };
        let stream = |(targets, operations): &(Vec<u32>, u64)| {
            let mut stream = StreamResults {
                targets: targets.clone(),
                ..StreamResults::default()
            };
            stream.directions[Direction::Read] = Some(DirectionResults {
                operations: *operations,
                ..DirectionResults::default()
            });
            stream
        };
        let found = |devices: &[DeviceLimit], targets: &[TargetFacts], streams: &[(Vec<u32>, u64)]| {
            let target_ids = (0..targets.len() as u32).collect();
            let environment = Environment {
                limits: Limits {
                    devices: devices.to_vec(),
                    ..Limits::default()
                },
                targets: targets.to_vec(),
                ..Environment::default()
            };
            let worker = WorkerResults {
                streams: streams.iter().map(stream).collect(),
                ..WorkerResults::default()
            };
            let job = JobResults {
                workers: vec![worker],
                ..JobResults::default()
            };
            let limits = limit_ranges(&environment, &[]);
            let layers = layers_of_targets(&environment, &limits, &target_ids, &job).into_iter();
            let shown = layers.map(|layer| {
                let device = layer
                    .name
                    .strip_prefix("control group, reads of device ")
                    .unwrap()
                    .to_owned();
                (device, layer.iops.unwrap().low, layer.share.unwrap())
            });
            shown.collect::<Vec<_>>()
        };
        let (a, b) = (limit("7:1", Some(500)), limit("7:2", Some(700)));
        let evenly = [(vec![0], 500), (vec![1], 500)];
        let row = |device: &str, limit: f64, share: f64| (device.to_owned(), limit, share);
        let rows = [row("7:1", 500.0, 0.5), row("7:2", 700.0, 0.5)];
        let apart = [target_on(&["7:1"]), target_on(&["7:2"])];
        assert_eq!(found(&[a.clone(), b.clone()], &apart, &evenly), rows);
        let first = [a.clone()];
        assert_eq!(
            found(&first, &[target_on(&["7:1"]), target_on(&["7:1"])], &evenly),
            [row("7:1", 500.0, 1.0)]
        );
        // One of four operations goes to the limited device.
        let unevenly = [(vec![0], 300), (vec![1], 900)];
        assert_eq!(found(&first, &apart, &unevenly), [row("7:1", 500.0, 0.25)]);
        // Results do not record how a stream divides its operations.
        assert_eq!(found(&first, &apart, &[(vec![0, 1], 900)]), []);
        // A target on two limited devices counts for both.
        let two = [target_on(&["7:1", "7:2"]), target_on(&["7:2", "8:0"])];
        assert_eq!(
            found(&[a, b], &two, &evenly),
            [row("7:1", 500.0, 0.5), row("7:2", 700.0, 1.0)]
        );
    }
}
