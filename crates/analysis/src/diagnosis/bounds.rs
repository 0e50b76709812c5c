//! Every known limit in terms of this load: how many of its operations it allows, and how much of it was used.

use model::diagnosis::LayerUse;
use model::observation::{Flow, Observation};

use super::context::Counts;
use crate::caps::{Applies, Layer, LayerKind, Limit};

/// How far a rate that the test itself asks for may be missed or exceeded: schedules are exact.
const OWN_RATE: f64 = 0.01;

/// One figure of one layer.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) layer: String,
    pub(crate) kind: LayerKind,
    pub(crate) counts: Counts,
    /// In the layer's own unit.
    pub(crate) limit: Limit,
    /// What was used of it, in the same unit.
    pub(crate) used: f64,
    /// Operations per second of the whole load that it allows.
    pub(super) allows: f64,
    pub(super) source: String,
}

impl Bound {
    /// The use lies at the limit.
    pub(super) fn is_met(&self) -> bool {
        self.is_met_by(self.used)
    }

    /// The same for another use.
    pub(super) fn is_met_by(&self, used: f64) -> bool {
        match self.kind {
            LayerKind::Application => (used / self.limit.low - 1.0).abs() <= OWN_RATE,
            LayerKind::ControlGroup | LayerKind::Machine | LayerKind::Disk | LayerKind::Link => {
                self.limit.is_met_by(used)
            }
        }
    }

    /// More passed than it should let through.
    pub(super) fn is_exceeded(&self) -> bool {
        self.used > self.limit.high * (1.0 + crate::caps::ABOVE)
    }

    pub(super) fn share(&self) -> f64 {
        self.limit.share(self.used)
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self.counts {
            Counts::Operations => "IOPS",
            Counts::Bytes => "bytes/s",
        }
    }
}

/// All limits that concern the load, the least first.
pub(crate) fn bounds(observation: &Observation, layers: &[Layer]) -> Vec<Bound> {
    let mut found: Vec<Bound> = own_rate(observation).into_iter().collect();
    for layer in layers {
        let flow = match layer.applies {
            Applies::All => Some(&observation.total),
            Applies::Reads => observation.directions.read.as_ref(),
            Applies::Writes => observation.directions.write.as_ref(),
        };
        let (Some(flow), Some(total)) = (flow, rate(observation)) else {
            continue;
        };
        found.extend(of_layer(layer, flow, total, observation));
    }
    found.sort_by(|a, b| a.allows.total_cmp(&b.allows));
    found
}

/// Operations per second of the whole load.
pub(super) fn rate(observation: &Observation) -> Option<f64> {
    rate_of(&observation.total, observation)
}

fn rate_of(flow: &Flow, observation: &Observation) -> Option<f64> {
    let counted = || Some(flow.operations? as f64 / observation.measured_ns?.as_secs());
    flow.iops.or_else(counted).filter(|rate| *rate > 0.0)
}

fn own_rate(observation: &Observation) -> Option<Bound> {
    let (asked, used) = (observation.load.rate_iops?, rate(observation)?);
    (asked > 0.0).then(|| Bound {
        layer: "the rate that the test asks for".into(),
        kind: LayerKind::Application,
        counts: Counts::Operations,
        limit: Limit::exactly(asked),
        used,
        allows: asked,
        source: "the test itself".into(),
    })
}

fn of_layer(layer: &Layer, flow: &Flow, total: f64, observation: &Observation) -> Vec<Bound> {
    let Some(rate) = rate_of(flow, observation) else {
        return Vec::new();
    };
    let bytes = flow.bytes_per_sec.or_else(|| {
        let counted = || Some(flow.bytes?.0 as f64 / observation.measured_ns?.as_secs());
        let by_block = || Some(rate * observation.load.block?.0 as f64);
        counted().or_else(by_block)
    });
    let mut found = Vec::new();
    let mut push = |counts: Counts, limit: Limit, used: f64| {
        found.push(Bound {
            layer: layer.name.clone(),
            kind: layer.kind,
            counts,
            limit,
            used,
            allows: total * limit.low / used,
            source: layer.source.clone(),
        });
    };
    if let Some(limit) = layer.iops {
        // Longer operations count as several. Where lengths differ or are not told, the mean stands for all.
        let length = observation
            .load
            .block
            .map(|block| block.0 as f64)
            .or(bytes.map(|bytes| bytes / rate));
        let units = match (layer.unit.filter(|unit| unit.0 > 0), length) {
            (Some(unit), Some(length)) => (length / unit.0 as f64).ceil().max(1.0),
            _ => 1.0,
        };
        push(Counts::Operations, limit, rate * units);
    }
    if let (Some(limit), Some(bytes)) = (layer.bytes_per_sec, bytes.filter(|bytes| *bytes > 0.0)) {
        push(Counts::Bytes, limit, bytes);
    }
    found
}

/// The table of limits. What lies beyond the least of them is stranded: no load of this shape can reach it.
pub(super) fn uses(bounds: &[Bound]) -> Vec<LayerUse> {
    // A rate that the test asks for strands nothing: the next test may ask for more.
    let least = bounds
        .iter()
        .find(|bound| bound.kind != LayerKind::Application && !bound.is_exceeded());
    let stranded = |bound: &Bound| {
        let beyond = bound.limit.low * (1.0 - least?.allows / bound.allows);
        (bound.kind != LayerKind::Application && beyond > 0.001 * bound.limit.low).then_some(beyond)
    };
    let first = bounds.first().map(|first| first.allows);
    let one = |bound: &Bound| LayerUse {
        layer: bound.layer.clone(),
        unit: bound.unit().to_owned(),
        limit: bound.limit.low,
        used: bound.used,
        share: bound.share(),
        stranded: stranded(bound),
        binds: first == Some(bound.allows),
        source: bound.source.clone(),
    };
    bounds.iter().map(one).collect()
}
