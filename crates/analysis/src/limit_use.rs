//! The use of each limit between a load and its data, as a table. The diagnosis decides which limit
//! binds.

use model::observation::Observation;
use serde::Serialize;

use crate::caps::{self, Demand, LayerKind, Limit, LimitLayer};
use crate::shared_limits::combined_path_limits;

/// The use of one limit by a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitUse {
    /// The layer that has the limit.
    pub layer: String,
    /// The kind of layer.
    pub kind: LayerKind,
    /// The limited quantity.
    #[serde(rename = "of")]
    pub quantity: LimitedQuantity,
    /// The measured use, in the layer's units.
    pub measured: f64,
    /// Maximum of the layer, in the same units.
    pub limit: Limit,
    /// Measured use divided by the limit.
    pub share: f64,
    /// The use is from 3 % below to 5 % above the limit.
    pub met: bool,
    /// The jobs whose operations count, if several ran at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// The source of the limit.
    pub source: String,
}

/// The quantity that a layer limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedQuantity {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    BytesPerSec,
}

/// Lists the use of every limit by a load, the nearest limit first. Concurrent loads count against
/// the limits that they share with it.
pub fn limit_uses(load: &Observation, others: &[&Observation], layers: &[LimitLayer]) -> Vec<LimitUse> {
    let loads = caps::concurrent_loads(load, others);
    let layer_rows = |layer: &LimitLayer| {
        caps::demand(layer, &[load])?;
        Some(layer_bounds(layer, caps::demand(layer, &loads)?))
    };
    let sums = combined_path_limits(&loads, layers);
    let mut rows: Vec<LimitUse> = layers.iter().chain(&sums).filter_map(layer_rows).flatten().collect();
    // The shown share falls where a figure exceeds the largest reading of a limit. Within its
    // range, a limit is just reached.
    let nearness = |row: &LimitUse| row.share.min((row.measured / row.limit.high).max(1.0));
    rows.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    rows
}

fn layer_bounds(layer: &LimitLayer, demand: Demand) -> Vec<LimitUse> {
    let Demand {
        iops,
        bytes_per_sec,
        jobs,
    } = demand;
    let jobs = if jobs.len() > 1 { jobs } else { Vec::new() };
    let standing = |quantity: LimitedQuantity, measured: Option<f64>, limit: Option<Limit>| {
        let (measured, limit) = (measured?, limit?);
        Some(LimitUse {
            layer: layer.name.clone(),
            kind: layer.kind,
            quantity,
            measured,
            limit,
            share: limit.share(measured),
            met: limit.is_reached_by(measured),
            jobs: jobs.clone(),
            source: layer.source.clone(),
        })
    };
    let iops = standing(LimitedQuantity::Iops, Some(iops), layer.iops);
    let bytes = standing(LimitedQuantity::BytesPerSec, bytes_per_sec, layer.bytes_per_sec);
    [iops, bytes].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::Applies;
    use model::Bytes;
    use model::observation::IoStats;

    #[test]
    fn the_nearest_limit_comes_first() {
        let load = Observation {
            total: IoStats {
                iops: Some(1953.30),
                bytes_per_sec: Some(7.63 * 1_048_576.0),
                ..IoStats::default()
            },
            ..Observation::default()
        };
        let layer = |name: &str, iops: f64| LimitLayer {
            name: name.into(),
            iops: Some(Limit::exactly(iops)),
            ..LimitLayer::default()
        };
        let rows = limit_uses(&load, &[], &[layer("4 x P30", 20_000.0), layer("VM", 1920.0)]);
        assert_eq!(rows[0].layer, "VM");
        assert!(rows[0].met && !rows[1].met);
        assert_eq!(format!("{:.1}", 100.0 * rows[0].share), "101.7");
    }

    /// The rows of a limit of 90 and of one between 80 and 100, the nearest first.
    fn rows_of_exact_and_range(iops: f64) -> Vec<LimitUse> {
        let layer = |name: &str, low: f64, high: f64| LimitLayer {
            name: name.into(),
            iops: Some(Limit { low, high }),
            ..LimitLayer::default()
        };
        let mut load = Observation::default();
        load.total.iops = Some(iops);
        limit_uses(&load, &[], &[layer("exact", 90.0, 90.0), layer("range", 80.0, 100.0)])
    }

    #[test]
    fn an_exceeded_limit_is_nearer_than_a_range_that_contains_the_figure() {
        assert_eq!(rows_of_exact_and_range(99.0)[0].layer, "exact");
    }

    #[test]
    fn a_range_that_is_reached_is_nearer_than_an_unmet_limit() {
        let rows = rows_of_exact_and_range(79.0);
        assert!(rows[0].layer == "range" && rows[0].met && !rows[1].met);
    }

    #[test]
    fn long_operations_count_as_several() {
        let mut load = Observation::default();
        load.load.block = Some(Bytes(1 << 20));
        load.total.iops = Some(1000.0);
        let layer = LimitLayer {
            iops: Some(Limit::exactly(4000.0)),
            unit: Some(Bytes(256 << 10)),
            ..LimitLayer::default()
        };
        assert_eq!(limit_uses(&load, &[], std::slice::from_ref(&layer))[0].measured, 4000.0);
        let reads = LimitLayer {
            applies: Applies::Reads,
            ..layer
        };
        assert_eq!(limit_uses(&load, &[], &[reads]), [], "it did not read");
    }
}
