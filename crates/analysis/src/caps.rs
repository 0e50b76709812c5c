//! What loads ask of the limits between a program and its data: of one load, and of all loads that
//! share a limit.

use model::Direction;
use model::observation::{Flow, Observation};

pub use model::caps::{ABOVE, Applies, BELOW, Layer, LayerKind, Limit};

/// What loads ask of a layer per second, counted as the layer counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Operations; a long one counts as several where the layer has a unit.
    pub iops: f64,
    /// Bytes, where known.
    pub bytes_per_sec: Option<f64>,
    /// Names of the jobs whose operations count, each once.
    pub jobs: Vec<String>,
}

/// What these loads ask of a layer together. They must have run at the same time; loads that the
/// layer does not cover are left out. `None` if none of them counts, or if the figures of one that
/// does are missing: the sum would be too small.
pub fn demand(layer: &Layer, loads: &[&Observation]) -> Option<Demand> {
    let mut sum: Option<Demand> = None;
    for load in loads.iter().filter(|load| layer.covers(&load.name, &load.load.storage)) {
        let flows = flows(layer, load)?;
        for (flow, copies) in flows {
            let (iops, bytes) = figures(layer, flow, load)?;
            let so_far = sum.get_or_insert_with(|| Demand {
                bytes_per_sec: Some(0.0),
                ..Demand::default()
            });
            so_far.iops += copies * iops;
            so_far.bytes_per_sec = so_far.bytes_per_sec.zip(bytes).map(|(sum, one)| sum + copies * one);
            if !so_far.jobs.contains(&load.name) {
                so_far.jobs.push(load.name.clone());
            }
        }
    }
    sum
}

/// The flows of a load that count against a layer, each with the device operations that one of its
/// operations causes; empty if the load does nothing of the kind. `None` if the source does not
/// tell reads and writes apart and it matters.
fn flows<'a>(layer: &Layer, load: &'a Observation) -> Option<Vec<(&'a Flow, f64)>> {
    let copies = |direction: Direction| layer.copies(direction, &load.load.storage);
    let is_same_for_all = Direction::ALL.into_iter().all(|direction| copies(direction) == 1.0);
    if layer.applies == Applies::All && is_same_for_all {
        return Some(vec![(&load.total, 1.0)]);
    }
    let split: Vec<(Direction, &Flow)> = load
        .directions
        .iter()
        .filter_map(|(direction, flow)| Some((direction, flow.as_ref()?)))
        .collect();
    let split = match (split.is_empty(), load.load.read_percent) {
        (false, _) => split,
        (true, Some(100.0)) => vec![(Direction::Read, &load.total)],
        (true, Some(0.0)) => vec![(Direction::Write, &load.total)],
        (true, _) => return None,
    };
    let counts = |direction: Direction| match layer.applies {
        Applies::All => true,
        Applies::Reads => direction == Direction::Read,
        Applies::Writes => direction == Direction::Write,
    };
    let counted = split.into_iter().filter(|(direction, _)| counts(*direction));
    Some(counted.map(|(direction, flow)| (flow, copies(direction))).collect())
}

/// Operations as the layer counts them, and bytes, of one flow per second.
fn figures(layer: &Layer, flow: &Flow, load: &Observation) -> Option<(f64, Option<f64>)> {
    let rate = rate(flow, load)?;
    let bytes = flow.bytes_per_sec.or_else(|| {
        let counted = || Some(flow.bytes?.0 as f64 / load.measured_ns?.as_secs());
        let by_block = || Some(rate * load.load.block?.0 as f64);
        counted().or_else(by_block)
    });
    // Where lengths differ or are not known, the mean stands for all.
    let length = load
        .load
        .block
        .map(|block| block.0 as f64)
        .or(bytes.map(|bytes| bytes / rate));
    let units = match (layer.unit.filter(|unit| unit.0 > 0), length) {
        (Some(unit), Some(length)) => (length / unit.0 as f64).ceil().max(1.0),
        _ => 1.0,
    };
    Some((rate * units, bytes))
}

/// Operations per second of a flow, as stated or counted; `None` if there were none or neither is
/// known.
pub fn rate(flow: &Flow, load: &Observation) -> Option<f64> {
    let counted = || Some(flow.operations? as f64 / load.measured_ns?.as_secs());
    flow.iops.or_else(counted).filter(|rate| *rate > 0.0)
}

/// A load, and those of `others` that ran at the same time: only such rates add up.
pub fn at_once<'a>(load: &'a Observation, others: &[&'a Observation]) -> Vec<&'a Observation> {
    let ran = others.iter().copied().filter(|other| load.ran_with(other));
    std::iter::once(load).chain(ran).collect()
}
