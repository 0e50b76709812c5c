//! Limits that control groups of this machine set.

use std::collections::BTreeSet;

use model::environment::{DeviceLimit, Environment};
use model::results::Results;

use crate::caps::{Applies, Layer, LayerKind, Limit};

/// The limits that control groups set for the devices of a job's targets, as layers. Empty if the
/// step has several jobs: they share each limit, so none of them reaches it alone.
pub fn system_layers(results: &Results, step: usize, job: usize) -> Vec<Layer> {
    let alone = results.steps.get(step).is_some_and(|step| step.jobs.len() == 1);
    match results.hosts.first().filter(|_| alone) {
        Some(host) => layers_of_targets(&host.environment, &targets(results, step, job)),
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

fn layers_of_targets(environment: &Environment, targets: &BTreeSet<u32>) -> Vec<Layer> {
    let lies_on = |target: u32, number: &str| {
        let facts = environment.target(target);
        facts.is_some_and(|facts| facts.devices.iter().any(|device| device.number == number))
    };
    let limited = environment.limits.devices.iter().map(|limit| {
        let used_targets = targets.iter().copied().filter(|target| lies_on(*target, &limit.device));
        (limit, used_targets.collect::<BTreeSet<u32>>())
    });
    let (whole, parts): (Vec<_>, Vec<_>) = limited
        .filter(|(_, used_targets)| !used_targets.is_empty())
        .partition(|(_, used_targets)| used_targets == targets);
    let layers = whole
        .into_iter()
        .flat_map(|(limit, _)| layers_of_limit(limit, "device"));
    layers.chain(combined_layers(&parts, targets)).collect()
}

/// If every target is on exactly one limited device, the combined limit is the sum.
fn combined_layers(parts: &[(&DeviceLimit, BTreeSet<u32>)], targets: &BTreeSet<u32>) -> Vec<Layer> {
    let sum = |of: fn(&DeviceLimit) -> Option<u64>| {
        let limited = || parts.iter().filter_map(|(limit, on)| Some((of(limit)?, on)));
        let count: usize = limited().map(|(_, on)| on.len()).sum();
        let covered: BTreeSet<u32> = limited().flat_map(|(_, on)| on).copied().collect();
        // Equal counts and full coverage: each target occurs exactly once.
        (count > 0 && count == targets.len() && covered == *targets).then(|| limited().map(|(value, _)| value).sum())
    };
    let names: Vec<&str> = parts.iter().map(|(limit, _)| limit.device.as_str()).collect();
    let all = DeviceLimit {
        device: names.join(", "),
        read_iops: sum(|limit| limit.read_iops),
        write_iops: sum(|limit| limit.write_iops),
        read_bytes: sum(|limit| limit.read_bytes),
        write_bytes: sum(|limit| limit.write_bytes),
    };
    layers_of_limit(&all, "devices")
}

fn layers_of_limit(limit: &DeviceLimit, word: &str) -> Vec<Layer> {
    let layer = |which: &str, applies: Applies, iops: Option<u64>, bytes: Option<u64>| {
        let exactly = |value: u64| Limit::exactly(value as f64);
        (iops.is_some() || bytes.is_some()).then(|| Layer {
            name: format!("control group, {which} of {word} {}", limit.device),
            kind: LayerKind::ControlGroup,
            iops: iops.map(exactly),
            bytes_per_sec: bytes.map(exactly),
            unit: None,
            applies,
            source: "the system".into(),
            ..Layer::default()
        })
    };
    let reads = layer("reads", Applies::Reads, limit.read_iops, limit.read_bytes);
    let writes = layer("writes", Applies::Writes, limit.write_iops, limit.write_bytes);
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
        let layers = layers_of_targets(&environment, &BTreeSet::from([0]));
        let shown: Vec<_> = layers
            .iter()
            .map(|layer| (layer.applies, layer.iops, layer.bytes_per_sec))
            .collect();
        let reads = (Applies::Reads, Some(Limit::exactly(1000.0)), None);
        assert_eq!(shown, [reads, (Applies::Writes, None, Some(Limit::exactly(5e6)))]);
        assert_eq!(layers_of_targets(&environment, &BTreeSet::new()), []);
    }

    #[test]
    fn devices_that_share_the_load_limit_it_by_their_sum() {
        let limit = |device: &str, read_iops: Option<u64>| DeviceLimit {
            device: device.into(),
            read_iops,
            ..DeviceLimit::default()
        };
        let on = |devices: &[&str]| {
            let device = |number: &&str| Device {
                number: number.to_string(),
                ..Device::default()
            };
            TargetFacts {
                devices: devices.iter().map(device).collect(),
                ..TargetFacts::default()
            }
        };
        let found = |devices: Vec<DeviceLimit>, targets: Vec<TargetFacts>| {
            let all = (0..targets.len() as u32).collect();
            let environment = Environment {
                limits: Limits {
                    devices,
                    ..Limits::default()
                },
                targets,
                ..Environment::default()
            };
            let layers = layers_of_targets(&environment, &all).into_iter();
            layers
                .map(|layer| (layer.name, layer.iops.unwrap().low))
                .collect::<Vec<_>>()
        };
        let both = || vec![limit("7:1", Some(500)), limit("7:2", Some(700))];
        let shared = "control group, reads of devices 7:1, 7:2".to_owned();
        assert_eq!(found(both(), vec![on(&["7:1"]), on(&["7:2"])]), [(shared, 1200.0)]);
        let one = "control group, reads of device 7:1".to_owned();
        assert_eq!(found(both(), vec![on(&["7:1"]), on(&["7:1"])]), [(one, 500.0)]);
        // A target that nothing limits may take any share.
        assert_eq!(found(both(), vec![on(&["7:1"]), on(&["7:2"]), on(&["7:3"])]), []);
        // One that lies on two of them counts for both.
        assert_eq!(found(both(), vec![on(&["7:1", "7:2"]), on(&["7:2", "8:0"])]).len(), 1);
        let unlimited = vec![limit("7:1", Some(500)), limit("7:2", None)];
        assert_eq!(found(unlimited, vec![on(&["7:1"]), on(&["7:2"])]), []);
    }
}
