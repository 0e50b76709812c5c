//! Decides which points of a sweep give no new information.

use std::collections::BTreeMap;

use analysis::knee::{Limit, LimitedFigure};
use model::event::EndReason;
use model::observation::{Latency, Observation};
use model::results::Results;
use model::study::{Parameter, Setting, VariedParameter};

/// A rate is flat if it grows by less than this factor between neighbouring points.
const MIN_RATE_GROWTH: f64 = 1.02;
/// Minimum growth of the latency at a flat rate that shows that more load only queues.
const WAITING_GROWTH: f64 = 1.5;
/// More load is not interesting beyond this multiple of the limit.
const LIMIT_FACTOR: f64 = 4.0;
/// An offered rate counts as delivered if at least this share of it was reached.
const DELIVERED_SHARE: f64 = 0.95;

/// The first parameter that is a load, with its index.
pub(super) fn load_axis(varied: &[VariedParameter]) -> Option<(usize, Parameter)> {
    let parameters = varied.iter().map(|varied| varied.parameter);
    parameters.enumerate().find(|(_, parameter)| parameter.is_load())
}

pub(super) fn load_value(varied: &[VariedParameter], settings: &[Setting]) -> Option<f64> {
    settings.get(load_axis(varied)?.0)?.number
}

/// True if two points differ at most in their load.
pub(super) fn same_curve(varied: &[VariedParameter], a: &[Setting], b: &[Setting]) -> bool {
    let axis = load_axis(varied).map(|(index, _)| index);
    let mut other_settings = a.iter().zip(b).enumerate().filter(|(index, _)| Some(*index) != axis);
    other_settings.all(|(_, (a, b))| a == b)
}

/// True if a run measured its full time without failures.
pub(crate) fn is_complete(results: &Results) -> bool {
    let failed = |job: &model::results::JobResults| {
        matches!(job.ended, None | Some(EndReason::Failed)) || job.workers.iter().any(|worker| worker.failure.is_some())
    };
    results.jobs().next().is_some() && !results.jobs().any(failed)
}

/// The reason to skip a load; `None` if it must be measured. `curve` contains the results of the
/// same curve, sorted by load, and `device` any result with facts about the device.
pub(super) fn skip_reason(
    parameter: Parameter,
    load: f64,
    curve: &[(f64, Observation)],
    limit: Option<&Limit>,
    device: Option<&Results>,
) -> Option<String> {
    let name = parameter.name();
    if let Some(at) = saturation_load(parameter, curve).filter(|at| load > *at) {
        return Some(match parameter {
            Parameter::Rate => format!("the target missed the offered rate already at {name} {at}"),
            _ => format!("the rate stopped rising before {name} {at}, and only the latency grew"),
        });
    }
    let limit = limit.and_then(|limit| {
        let is_beyond = |observation: &Observation| {
            limited_figure(limit, observation).is_some_and(|value| value > LIMIT_FACTOR * limit.max_ns.0 as f64)
        };
        // A single point may have been disturbed.
        let (at, _) = curve
            .iter()
            .filter(|(at, found)| is_beyond(found) && *at < load)
            .nth(1)?;
        Some(format!(
            "the {} exceeded four times its limit already at two points, up to {name} {at}",
            limit.figure
        ))
    });
    limit.or_else(|| full_queue_reason(parameter, load, curve, device?))
}

/// The load beyond which more load only queues. It ends two flat increases in a row, or is the
/// second point in a row that did not reach its rate.
fn saturation_load(parameter: Parameter, curve: &[(f64, Observation)]) -> Option<f64> {
    if parameter == Parameter::Rate {
        let missed = |(load, found): &(f64, Observation)| found.total.iops.unwrap_or(0.0) < DELIVERED_SHARE * load;
        return curve
            .windows(2)
            .find(|pair| pair.iter().all(missed))
            .map(|pair| pair[1].0);
    }
    let figures = |observation: &Observation| {
        let mean = observation.total.latency.as_ref()?.mean_ns?;
        Some((observation.total.iops?, mean))
    };
    let is_flat = |from: &Observation, to: &Observation| match (figures(from), figures(to)) {
        (Some((x, r)), Some((more_x, more_r))) => more_x < MIN_RATE_GROWTH * x && more_r > WAITING_GROWTH * r,
        _ => false,
    };
    let plateau = curve.windows(3).find(|three| {
        let [(_, a), (_, b), (_, c)] = three else { return false };
        is_flat(a, b) && is_flat(b, c)
    });
    plateau.map(|three| three[2].0)
}

/// The limited latency, in nanoseconds.
pub(super) fn limited_figure(limit: &Limit, observation: &Observation) -> Option<f64> {
    limited_figure_of(limit, observation.total.user_latency()?)
}

/// The limited figure of a latency, in nanoseconds.
pub(super) fn limited_figure_of(limit: &Limit, latency: &Latency) -> Option<f64> {
    match limit.figure {
        LimitedFigure::Mean => latency.mean_ns,
        LimitedFigure::Quantile(share) => latency.quantile(share),
    }
}

/// The reason to skip a load if the device queues were already full at a lower load.
fn full_queue_reason(parameter: Parameter, load: f64, curve: &[(f64, Observation)], any: &Results) -> Option<String> {
    if !matches!(parameter, Parameter::Depth | Parameter::Workers) {
        return None;
    }
    let capacity = device_queue(any)?;
    let in_flight = |observation: &Observation| observation.load.depth.map(|depth| depth as f64);
    let (at, _) = curve
        .iter()
        .find(|(at, found)| *at < load && in_flight(found).is_some_and(|n| n > capacity))?;
    Some(format!(
        "{} {at} already had more operations in flight than the {capacity} requests of the device's queue",
        parameter.name()
    ))
}

/// Capacity of the queues of all devices under the targets, in requests.
fn device_queue(results: &Results) -> Option<f64> {
    let mut devices: BTreeMap<&str, f64> = BTreeMap::new();
    for target in &results.hosts.first()?.environment.targets {
        let device = target.devices.first()?;
        let requests = f64::from(device.queue_requests?) * f64::from(device.hardware_queues?);
        devices.insert(&device.name, requests);
    }
    (!devices.is_empty()).then(|| devices.values().sum())
}
