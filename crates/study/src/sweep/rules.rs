//! Which points of a sweep can tell nothing more.

use std::collections::BTreeMap;

use analysis::knee::{Limit, LimitedFigure};
use model::event::EndReason;
use model::observation::Observation;
use model::results::Results;
use model::study::{Parameter, Setting, Varied};

/// A rate that grows by less than this between two points does not grow.
const MIN_GROWTH: f64 = 1.02;
/// A latency that grows by more than this meanwhile is spent waiting.
const WAITING: f64 = 1.5;
/// Beyond that many times the limit, more load is of no interest.
const FAR_BEYOND: f64 = 4.0;
/// Less than this share of an offered rate is not delivered.
const DELIVERED: f64 = 0.95;

/// The first parameter that is a load, with its place.
pub(super) fn load_axis(varied: &[Varied]) -> Option<(usize, Parameter)> {
    let parameters = varied.iter().map(|varied| varied.parameter);
    parameters.enumerate().find(|(_, parameter)| parameter.is_load())
}

/// The load among settings.
pub(super) fn load_of(varied: &[Varied], settings: &[Setting]) -> Option<f64> {
    settings.get(load_axis(varied)?.0)?.number
}

/// True if two points differ at most in their load.
pub(super) fn same_curve(varied: &[Varied], a: &[Setting], b: &[Setting]) -> bool {
    let axis = load_axis(varied).map(|(index, _)| index);
    let others = a.iter().zip(b).enumerate().filter(|(index, _)| Some(*index) != axis);
    others.fold(true, |same, (_, (a, b))| same && a == b)
}

/// True if a run measured for as long as it should, and nothing failed.
pub(crate) fn is_whole(results: &Results) -> bool {
    let jobs = || results.steps.iter().flat_map(|step| &step.jobs);
    let failed = |job: &model::results::JobResults| {
        matches!(job.ended, None | Some(EndReason::Failed)) || job.workers.iter().any(|worker| worker.failure.is_some())
    };
    jobs().next().is_some() && !jobs().any(failed)
}

/// Why a load need not be measured; `None` if it should be. `curve` has what was measured of the
/// same curve, in the order of load, and `device` any result with the device's facts.
pub(super) fn ruled_out(
    parameter: Parameter,
    load: f64,
    curve: &[(f64, Observation)],
    limit: Option<&Limit>,
    device: Option<&Results>,
) -> Option<String> {
    let name = parameter.name();
    if let Some(at) = saturated_at(parameter, curve).filter(|at| load > *at) {
        return Some(match parameter {
            Parameter::Rate => format!("already at {name} {at} what is due is not delivered"),
            _ => format!("up to {name} {at} the rate had stopped rising, and only the latency grew"),
        });
    }
    let limit = limit.and_then(|limit| {
        let beyond = |found: &Observation| {
            limited(limit, found).is_some_and(|value| value > FAR_BEYOND * limit.most_ns.0 as f64)
        };
        let (at, _) = curve.iter().find(|(at, found)| beyond(found) && *at < load)?;
        Some(format!(
            "already at {name} {at} the {} is beyond four times its limit",
            limit.figure
        ))
    });
    limit.or_else(|| beyond_the_queue(parameter, load, curve, device?))
}

/// The load of the second of two successive points that brought no more operations, only more
/// waiting.
fn saturated_at(parameter: Parameter, curve: &[(f64, Observation)]) -> Option<f64> {
    if parameter == Parameter::Rate {
        let missed = |(load, found): &(f64, Observation)| found.total.iops.unwrap_or(0.0) < DELIVERED * load;
        return curve
            .windows(2)
            .find(|pair| pair.iter().all(missed))
            .map(|pair| pair[1].0);
    }
    let figures = |found: &Observation| {
        let mean = found.total.latency.as_ref()?.mean_ns?;
        Some((found.total.iops?, mean))
    };
    let is_flat = |from: &Observation, to: &Observation| match (figures(from), figures(to)) {
        (Some((x, r)), Some((more_x, more_r))) => more_x < MIN_GROWTH * x && more_r > WAITING * r,
        _ => false,
    };
    let found = curve.windows(3).find(|three| {
        let [(_, a), (_, b), (_, c)] = three else { return false };
        is_flat(a, b) && is_flat(b, c)
    });
    found.map(|three| three[2].0)
}

/// The figure that a limit is put on, in nanoseconds.
pub(super) fn limited(limit: &Limit, found: &Observation) -> Option<f64> {
    let latency = found.total.waited()?;
    match limit.figure {
        LimitedFigure::Mean => latency.mean_ns,
        LimitedFigure::Quantile(share) => latency.quantile(share),
    }
}

/// What more than one point beyond the device's own queue tells is about the operating system.
fn beyond_the_queue(parameter: Parameter, load: f64, curve: &[(f64, Observation)], any: &Results) -> Option<String> {
    if !matches!(parameter, Parameter::Depth | Parameter::Workers) {
        return None;
    }
    let holds = queue_of(any)?;
    let in_flight = |found: &Observation| found.load.depth.map(|depth| depth as f64);
    let (at, _) = curve
        .iter()
        .find(|(at, found)| *at < load && in_flight(found).is_some_and(|n| n > holds))?;
    Some(format!(
        "already at {} {at} there is more in flight than the {holds} requests that the device's queue holds",
        parameter.name()
    ))
}

/// Requests that the queues of the devices under the targets hold together.
fn queue_of(results: &Results) -> Option<f64> {
    let mut devices: BTreeMap<&str, f64> = BTreeMap::new();
    for target in &results.hosts.first()?.environment.targets {
        let device = target.devices.first()?;
        let requests = f64::from(device.queue_requests?) * f64::from(device.hardware_queues?);
        devices.insert(&device.name, requests);
    }
    (!devices.is_empty()).then(|| devices.values().sum())
}
