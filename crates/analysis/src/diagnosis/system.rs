//! Limits that this machine itself knows of.

use std::collections::BTreeSet;

use model::environment::{DeviceLimit, Environment};
use model::results::Results;

use crate::caps::{Applies, Layer, LayerKind, Limit};

/// The limits that control groups put on the devices of a job's targets, as layers. None for a job that shares its step
/// with others: they share the limit too, and none of them reaches it alone.
pub fn system_layers(results: &Results, step: usize, job: usize) -> Vec<Layer> {
    let alone = results.steps.get(step).is_some_and(|step| step.jobs.len() == 1);
    match results.hosts.first().filter(|_| alone) {
        Some(host) => of_targets(&host.environment, &targets(results, step, job)),
        None => Vec::new(),
    }
}

/// Indexes of the targets that a job uses.
fn targets(results: &Results, step: usize, job: usize) -> BTreeSet<u32> {
    let plan = results.plan.steps.get(step).and_then(|step| step.jobs.get(job));
    let workers = plan.into_iter().flat_map(|job| &job.workers);
    let streams = workers.flat_map(|worker| &worker.streams);
    streams.flat_map(|stream| stream.target.ids()).map(|id| id.0).collect()
}

fn of_targets(environment: &Environment, targets: &BTreeSet<u32>) -> Vec<Layer> {
    let facts = targets
        .iter()
        .filter_map(|target| environment.targets.get(*target as usize));
    let used: BTreeSet<&str> = facts
        .flat_map(|facts| &facts.devices)
        .map(|device| device.number.as_str())
        .collect();
    let limits = environment.limits.devices.iter();
    limits
        .filter(|limit| used.contains(limit.device.as_str()))
        .flat_map(of_limit)
        .collect()
}

fn of_limit(limit: &DeviceLimit) -> Vec<Layer> {
    let one = |word: &str, applies: Applies, iops: Option<u64>, bytes: Option<u64>| {
        let exactly = |value: u64| Limit::exactly(value as f64);
        (iops.is_some() || bytes.is_some()).then(|| Layer {
            name: format!("control group, {word} of device {}", limit.device),
            kind: LayerKind::ControlGroup,
            iops: iops.map(exactly),
            bytes_per_sec: bytes.map(exactly),
            unit: None,
            applies,
            source: "the system".into(),
        })
    };
    let reads = one("reads", Applies::Reads, limit.read_iops, limit.read_bytes);
    let writes = one("writes", Applies::Writes, limit.write_iops, limit.write_bytes);
    reads.into_iter().chain(writes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::environment::{Device, Limits, TargetFacts};

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
        let layers = of_targets(&environment, &BTreeSet::from([0]));
        let shown: Vec<_> = layers
            .iter()
            .map(|layer| (layer.applies, layer.iops, layer.bytes_per_sec))
            .collect();
        let reads = (Applies::Reads, Some(Limit::exactly(1000.0)), None);
        assert_eq!(shown, [reads, (Applies::Writes, None, Some(Limit::exactly(5e6)))]);
        assert_eq!(of_targets(&environment, &BTreeSet::new()), []);
    }
}
