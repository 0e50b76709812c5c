//! The provider's own counters, which show the limit that it enforced.

use model::Nanos;
use model::diagnosis::{Answer, Evidence};
use model::environment::VolumeUse;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure_vs};
use crate::caps::LayerKind;

/// Random bursts can exceed a limit for up to this share of the time.
const MIN_EXCEEDED_SHARE: f64 = 0.05;

pub(super) const PROVIDER: Signature = Signature {
    answer: Answer::Cap,
    about: "The provider of the disk counted that a limit of the volume or instance was exceeded \
        for more than 5 % of the time (Amazon's log page 0xD0).",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    let window = input.context.window_ns;
    if window == Nanos(0) {
        return None;
    }
    let exceeded_limits = |volume: &VolumeUse| {
        [
            (LayerKind::Machine, "operations", volume.instance_iops_exceeded_ns),
            (LayerKind::Machine, "throughput", volume.instance_throughput_exceeded_ns),
            (LayerKind::Disk, "operations", volume.volume_iops_exceeded_ns),
            (LayerKind::Disk, "throughput", volume.volume_throughput_exceeded_ns),
        ]
        .map(|(kind, limit, time)| (kind, limit, time.0 as f64 / window.0 as f64, volume.provider.clone()))
    };
    let exceeded = input.context.volumes.iter().flat_map(exceeded_limits);
    let (kind, limit, share, provider) = exceeded
        .filter(|limit_use| limit_use.2 > MIN_EXCEEDED_SHARE)
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    let layer_name = match kind {
        LayerKind::Machine => "instance",
        _ => "volume",
    };
    let reached_bound = input
        .bounds
        .iter()
        .find(|bound| bound.kind == kind && bound.is_reached());
    let layer = reached_bound.map_or_else(|| format!("{layer_name} ({provider})"), |bound| bound.layer.clone());
    let percent = 100.0 * share.min(1.0);
    let evidence: Evidence = figure_vs(
        &format!("time in which the {layer_name}'s limit of {limit} was exceeded"),
        percent,
        "%",
        100.0 * MIN_EXCEEDED_SHARE,
        "maximum of random bursts",
    );
    let sentence = format!(
        "the limit of {limit} of the {layer_name} was exceeded for {percent:.0} % of the time, according to \
         {provider}'s own counters"
    );
    let help = match kind {
        LayerKind::Machine => "use a larger instance; other volumes would not help",
        _ => "use a larger or faster volume, or several; the instance allows more",
    };
    Some(Symptom {
        layer: Some(layer),
        share: reached_bound.map(|bound| bound.share()),
        confirmed: Some(true),
        ..Symptom::new(sentence).with_evidence(evidence).with_advice(help)
    })
}
