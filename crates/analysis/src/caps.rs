//! The demand of concurrent loads on the layers between a program and its data.

use model::Direction;
use model::observation::{IoStats, Observation};

pub use model::caps::{Applies, LayerKind, Limit, LimitLayer, TOLERANCE_ABOVE, TOLERANCE_BELOW};

/// Demand on a layer per second, in the layer's own units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Operations; a long one counts as several if the layer has a unit.
    pub iops: f64,
    /// Bytes, if known.
    pub bytes_per_sec: Option<f64>,
    /// Names of the jobs whose operations count, each once.
    pub jobs: Vec<String>,
}

/// The total demand of concurrent loads on a layer, without loads that it does not cover. `None` if
/// it covers none, or if a figure of a covered load is missing, which would make the sum too small.
pub fn demand(layer: &LimitLayer, loads: &[&Observation]) -> Option<Demand> {
    let mut sum: Option<Demand> = None;
    for load in loads.iter().filter(|load| layer.covers(&load.name, &load.load.storage)) {
        let flows = counted_flows(layer, load)?;
        for (flow, copies) in flows {
            let (iops, bytes) = counted_rates(layer, flow, load)?;
            let total = sum.get_or_insert_with(|| Demand {
                bytes_per_sec: Some(0.0),
                ..Demand::default()
            });
            let counted = copies * layer.share.unwrap_or(1.0);
            total.iops += counted * iops;
            total.bytes_per_sec = total
                .bytes_per_sec
                .zip(bytes)
                .map(|(sum, per_job)| sum + counted * per_job);
            if !total.jobs.contains(&load.name) {
                total.jobs.push(load.name.clone());
            }
        }
    }
    sum
}

/// The flows of a load that count against a layer, with their device operations per operation;
/// empty if none counts. `None` if reads and writes must be separate but the source does not
/// separate them.
fn counted_flows<'a>(layer: &LimitLayer, load: &'a Observation) -> Option<Vec<(&'a IoStats, f64)>> {
    let copies = |direction: Direction| layer.copies(direction, &load.load.storage);
    let is_same_for_all = Direction::ALL.into_iter().all(|direction| copies(direction) == 1.0);
    if layer.applies == Applies::All && is_same_for_all {
        return Some(vec![(&load.total, 1.0)]);
    }
    let split: Vec<(Direction, &IoStats)> = load
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

/// Operations in the layer's units, and bytes, of one flow per second.
fn counted_rates(layer: &LimitLayer, flow: &IoStats, load: &Observation) -> Option<(f64, Option<f64>)> {
    let rate = flow_iops(flow, load)?;
    let bytes = flow.bytes_per_sec.or_else(|| {
        let counted = || Some(flow.bytes?.0 as f64 / load.measured_ns?.as_secs());
        let by_block = || Some(rate * load.load.block?.0 as f64);
        counted().or_else(by_block)
    });
    // If lengths differ or are unknown, the mean is used.
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

/// Operations per second of a flow, stated or counted; `None` if zero or unknown.
pub fn flow_iops(flow: &IoStats, load: &Observation) -> Option<f64> {
    let counted = || Some(flow.operations? as f64 / load.measured_ns?.as_secs());
    flow.iops.or_else(counted).filter(|rate| *rate > 0.0)
}

/// A load and the loads of `others` that ran at the same time; only their rates add up.
pub fn concurrent_loads<'a>(load: &'a Observation, others: &[&'a Observation]) -> Vec<&'a Observation> {
    let concurrent = others.iter().copied().filter(|other| load.is_concurrent_with(other));
    std::iter::once(load).chain(concurrent).collect()
}
