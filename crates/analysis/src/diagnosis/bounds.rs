//! Every known limit in terms of this load: how many of its operations it allows, and how much of
//! it was used.

use model::diagnosis::LayerUse;
use model::observation::Observation;

use super::context::Counts;
use crate::caps::{self, Demand, Layer, LayerKind, Limit};
use crate::shared_limits::sums_beyond_one_path;

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
    /// The jobs whose operations count.
    pub(crate) jobs: Vec<String>,
    pub(super) source: String,
}

impl Bound {
    /// The use lies at the limit.
    pub(crate) fn is_met(&self) -> bool {
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
    pub(crate) fn is_exceeded(&self) -> bool {
        self.limit.is_exceeded_by(self.used)
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

/// All limits that concern the load, the least first. Limits that it shares with loads beside it
/// are held against the sum.
pub(crate) fn bounds(observation: &Observation, others: &[&Observation], layers: &[Layer]) -> Vec<Bound> {
    let mut found: Vec<Bound> = own_rate(observation).into_iter().collect();
    let Some(total) = rate(observation) else {
        return found;
    };
    let loads = caps::at_once(observation, others);
    let sums = sums_beyond_one_path(&loads, layers);
    for layer in layers.iter().chain(&sums) {
        // What it does nothing against itself does not limit it.
        if caps::demand(layer, &[observation]).is_some()
            && let Some(demand) = caps::demand(layer, &loads)
        {
            found.extend(of_layer(layer, demand, total));
        }
    }
    found.sort_by(|a, b| a.allows.total_cmp(&b.allows));
    found
}

/// Operations per second of the whole load.
pub(super) fn rate(observation: &Observation) -> Option<f64> {
    caps::rate(&observation.total, observation)
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
        jobs: Vec::new(),
        source: "the test itself".into(),
    })
}

/// What a layer allows a load that does `total` operations per second, if all loads that share the
/// layer grow alike.
pub(crate) fn of_layer(layer: &Layer, demand: Demand, total: f64) -> Vec<Bound> {
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
        allows: total * limit.low / used,
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
            limit: bound.limit.low,
            used: bound.used,
            share: bound.share(),
            met: bound.is_met(),
            jobs: match &bound.jobs[..] {
                [] | [_] => Vec::new(),
                several => several.to_vec(),
            },
            source: bound.source.clone(),
            ..LayerUse::default()
        }
    }
}

/// The table of limits. What lies beyond the least of them is stranded: no load of this shape can
/// reach it.
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
        stranded: stranded(bound),
        binds: first == Some(bound.allows),
        ..LayerUse::from(bound)
    };
    bounds.iter().map(one).collect()
}
