//! Converts every known limit to operations per second of the load, with the share in use.

use model::diagnosis::LayerUse;
use model::observation::Observation;

use super::context::Counts;
use crate::caps::{self, Demand, LayerKind, Limit, LimitLayer};
use crate::shared_limits::combined_path_limits;

/// The name of the limit that the test sets itself.
pub(super) const REQUESTED_RATE: &str = "the requested rate";
/// Tolerance around the requested rate; narrow, because schedules are exact.
const REQUESTED_RATE_TOLERANCE: f64 = 0.01;

/// One limit of one layer, on operations or on bytes.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) layer: String,
    pub(crate) kind: LayerKind,
    pub(crate) counts: Counts,
    /// In the layer's own unit.
    pub(crate) limit: Limit,
    /// Measured use, in the same unit.
    pub(crate) used: f64,
    /// The rate of the whole load at which this limit is reached.
    pub(crate) allowed_iops: f64,
    /// The jobs whose operations count.
    pub(crate) jobs: Vec<String>,
    pub(super) source: String,
}

impl Bound {
    pub(crate) fn is_reached(&self) -> bool {
        self.is_reached_by(self.used)
    }

    pub(super) fn is_reached_by(&self, used: f64) -> bool {
        match self.kind {
            LayerKind::Application => (used / self.limit.low - 1.0).abs() <= REQUESTED_RATE_TOLERANCE,
            LayerKind::ControlGroup | LayerKind::Machine | LayerKind::Disk | LayerKind::Link => {
                self.limit.is_reached_by(used)
            }
        }
    }

    /// True if the load exceeded the limit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.limit.is_exceeded_by(self.used)
    }

    /// True if the limit was changed during the test.
    pub(crate) fn is_variable(&self) -> bool {
        self.kind == LayerKind::ControlGroup && self.limit.high > self.limit.low
    }

    pub(crate) fn share(&self) -> f64 {
        self.limit.share(self.used)
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self.counts {
            Counts::Operations => "IOPS",
            Counts::Bytes => "bytes/s",
        }
    }
}

/// All limits that apply to the load, the tightest first. A limit shared with concurrent loads is
/// compared with their sum.
pub(crate) fn bounds(observation: &Observation, others: &[&Observation], layers: &[LimitLayer]) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = requested_rate_bound(observation).into_iter().collect();
    let Some(total) = total_iops(observation) else {
        return bounds;
    };
    let loads = caps::concurrent_loads(observation, others);
    let sums = combined_path_limits(&loads, layers);
    for layer in layers.iter().chain(&sums) {
        // Skips layers that this load does not use.
        if caps::demand(layer, &[observation]).is_some()
            && let Some(demand) = caps::demand(layer, &loads)
        {
            bounds.extend(layer_bounds(layer, demand, total));
        }
    }
    bounds.sort_by(|a, b| a.allowed_iops.total_cmp(&b.allowed_iops));
    bounds
}

/// Operations per second of the whole load.
pub(super) fn total_iops(observation: &Observation) -> Option<f64> {
    caps::flow_iops(&observation.total, observation)
}

fn requested_rate_bound(observation: &Observation) -> Option<Bound> {
    let (requested, used) = (observation.load.rate_iops?, total_iops(observation)?);
    (requested > 0.0).then(|| Bound {
        layer: REQUESTED_RATE.into(),
        kind: LayerKind::Application,
        counts: Counts::Operations,
        limit: Limit::exactly(requested),
        used,
        allowed_iops: requested,
        jobs: Vec::new(),
        source: "the test itself".into(),
    })
}

/// The limits of a layer for a load of `total` operations per second. Assumes that all loads on the
/// layer grow in proportion.
pub(crate) fn layer_bounds(layer: &LimitLayer, demand: Demand, total: f64) -> Vec<Bound> {
    let Demand {
        iops,
        bytes_per_sec,
        jobs,
    } = demand;
    let bound = |counts: Counts, limit: Limit, used: f64| Bound {
        layer: layer.name.clone(),
        kind: layer.kind,
        counts,
        limit,
        used,
        allowed_iops: total * limit.low / used,
        jobs: jobs.clone(),
        source: layer.source.clone(),
    };
    let operations = layer.iops.map(|limit| bound(Counts::Operations, limit, iops));
    let bytes = bytes_per_sec.filter(|bytes| *bytes > 0.0);
    let bytes = layer
        .bytes_per_sec
        .zip(bytes)
        .map(|(limit, used)| bound(Counts::Bytes, limit, used));
    operations.into_iter().chain(bytes).collect()
}

impl From<&Bound> for LayerUse {
    fn from(bound: &Bound) -> LayerUse {
        LayerUse {
            layer: bound.layer.clone(),
            unit: bound.unit().to_owned(),
            limit: bound.limit.compared_with(bound.used),
            used: bound.used,
            share: bound.share(),
            met: bound.is_reached(),
            jobs: match &bound.jobs[..] {
                [] | [_] => Vec::new(),
                several => several.to_vec(),
            },
            source: bound.source.clone(),
            ..LayerUse::default()
        }
    }
}

/// Builds the table of limits. Capacity beyond the tightest limit is stranded: no load of this
/// shape can use it.
pub(super) fn layer_uses(bounds: &[Bound]) -> Vec<LayerUse> {
    // A requested rate strands nothing, because the next test may request more.
    let tightest = bounds
        .iter()
        .find(|bound| bound.kind != LayerKind::Application && !bound.is_exceeded());
    let stranded = |bound: &Bound| {
        let beyond = bound.limit.low * (1.0 - tightest?.allowed_iops / bound.allowed_iops);
        (bound.kind != LayerKind::Application && beyond > 0.001 * bound.limit.low).then_some(beyond)
    };
    let first = bounds.first().map(|first| first.allowed_iops);
    let layer_use = |bound: &Bound| LayerUse {
        stranded: stranded(bound),
        binds: first == Some(bound.allowed_iops),
        ..LayerUse::from(bound)
    };
    bounds.iter().map(layer_use).collect()
}
