//! Charts of the use of resources: processors, devices, operations in flight.

use std::collections::BTreeMap;

use model::observation::Observation;
use model::results::{HostResults, JobResults, Results, StepResults};

use super::ChartScope;
use crate::html::chart::{Axis, Chart, Form, Series, Tone, X};
use crate::summary::{DeviceSummary, Transfers};

/// Maximum number of bars in a chart.
const MAX_BARS: usize = 1024;
/// Maximum number of jobs with a colour of their own in the chart of rate and latency.
const MAX_NAMED_POINTS: usize = 8;

/// Creates the chart of CPU use while all jobs of a step were measuring.
pub(super) fn core_chart(scope: &ChartScope, step: &StepResults, hosts: &[HostResults]) -> Option<Chart> {
    if step.observed_ns.0 == 0 || step.cores.is_empty() {
        return None;
    }
    if step.cores.len() > MAX_BARS {
        return None;
    }
    let several = step.cores.iter().any(|core| core.host != 0);
    let host = |number: u32| {
        hosts
            .get(number as usize)
            .map_or("", |host| &host.environment.host.name)
    };
    let name = |core: &model::results::HostCoreUse| match several {
        true => format!("{} CPU {}", host(core.host), core.core.cpu),
        false => format!("CPU {}", core.core.cpu),
    };
    let window = step.observed_ns.0 as f64;
    type Part = fn(&model::environment::CoreUse) -> model::Nanos;
    let parts: [(&str, Part, Tone); 4] = [
        ("programs", |core| core.user_ns, Tone::Read),
        ("kernel", |core| core.system_ns, Tone::Write),
        ("interrupts", |core| core.interrupt_ns, Tone::Trim),
        ("stolen (hypervisor)", |core| core.stolen_ns, Tone::Limit),
    ];
    let cpu_time_series = |(words, cpu_part, tone): (&str, Part, Tone)| {
        let bars = step
            .cores
            .iter()
            .map(|core| (name(core), Some(100.0 * cpu_part(&core.core).0 as f64 / window)));
        Series::over_names(words, Form::Stack, bars).tone(tone)
    };
    Some(Chart {
        id: scope.id("cores"),
        title: scope.title("Processors"),
        about: "Use of each logical CPU while all jobs were measuring, including this program. A single full bar can limit the whole test.".into(),
        x: Axis::names("processor"),
        y: Axis::from_zero("busy", "%"),
        series: parts.into_iter().map(cpu_time_series).collect(),
        ..Chart::default()
    })
}

/// Creates the chart that compares this program's counts with the kernel's, which should be equal.
pub(super) fn counter_chart(scope: &ChartScope, device: &DeviceSummary) -> Option<Chart> {
    let ours = device.ours?;
    let kernel = Transfers {
        reads: device.kernel.reads + device.merged[0],
        writes: device.kernel.writes + device.merged[1],
        ..device.kernel
    };
    let bars = |transfers: Transfers| {
        let named = [("reads", transfers.reads), ("writes", transfers.writes)];
        named.map(|(name, value)| (name.to_owned(), Some(value as f64)))
    };
    Some(Chart {
        id: scope.id(&format!("counters-{}", crate::html::to_identifier(&device.full_name()))),
        title: scope.title(&format!("Operations counted by this program and by the kernel: {}", device.full_name())),
        about: "Operations over the whole step. If the two counts differ, a cache served requests, the kernel split requests, or another program used the device."
            .into(),
        x: Axis::names(""),
        y: Axis::from_zero("operations", ""),
        series: vec![
            Series::over_names("this program", Form::Bars, bars(ours)).tone(Tone::Read),
            Series::over_names("the kernel, with merged requests", Form::Bars, bars(kernel)).tone(Tone::Other),
        ],
        ..Chart::default()
    })
}

/// A measured point in the chart of rate and latency.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanePoint {
    /// Name of the load.
    pub name: String,
    /// Operations per second.
    pub iops: f64,
    /// Mean latency in nanoseconds, from issue to completion.
    pub mean_ns: f64,
}

impl PlanePoint {
    /// The point of a load; `None` if its rate or latency is unknown.
    pub fn from_observation(observation: &Observation) -> Option<PlanePoint> {
        Some(PlanePoint {
            name: observation.name.clone(),
            iops: observation.total.iops.filter(|iops| *iops > 0.0)?,
            mean_ns: observation.total.latency.as_ref()?.mean_ns.filter(|mean| *mean > 0.0)?,
        })
    }
}

/// Creates the chart of rate and latency, with lines of equal operations in flight, by Little's
/// law. `None` for a single point, which would show nothing.
pub fn plane_chart(id: &str, title: &str, points: &[PlanePoint]) -> Option<Chart> {
    let min = points.iter().map(|point| point.iops).fold(f64::INFINITY, f64::min);
    let max = points.iter().map(|point| point.iops).fold(0.0, f64::max);
    if points.len() < 2 || max <= 0.0 {
        return None;
    }
    let (unit, ns) = crate::html::chart::time_unit(points.iter().map(|point| point.mean_ns).fold(0.0, f64::max));
    let in_flight = |point: &PlanePoint| point.iops * point.mean_ns / 1e9;
    let fewest = points.iter().map(in_flight).fold(f64::INFINITY, f64::min);
    let deepest = points.iter().map(in_flight).fold(0.0, f64::max);
    let (low, high) = (min / 3.0, max * 3.0);
    // Powers of four around the measured numbers in flight.
    let from = (fewest.max(1e-3).log(4.0).floor() as i32).max(-2);
    let to = deepest.max(1e-3).log(4.0).ceil() as i32;
    let mut series: Vec<Series> = (from..=to.max(from))
        .map(|power| {
            let depth = 4f64.powi(power);
            let name = format!("{} in flight", trim_zeros(depth));
            Series::new(
                name,
                Form::Guide,
                [low, high].map(|iops| (iops, depth / iops * 1e9 / ns)),
            )
            .tone(Tone::Other)
        })
        .collect();
    let mut measured = Series::new(
        "measured",
        Form::Points,
        points.iter().map(|point| (point.iops, point.mean_ns / ns)),
    );
    measured.words = points
        .iter()
        .map(|point| format!("{}: {} in flight", point.name, trim_zeros(in_flight(point))))
        .collect();
    measured.tone = Tone::Total;
    series.push(measured);
    Some(Chart {
        id: id.into(),
        title: title.into(),
        about: "By Little's law, operations in flight = rate × mean latency; on each thin line their number is constant. Where points rise steeply, latency grows but the \
                rate does not: the device is saturated. Lower right is better."
            .into(),
        x: Axis::log("rate", "IOPS"),
        y: Axis::log("mean latency", unit),
        series,
        ..Chart::default()
    })
}

/// Creates the chart of rate and latency of separate jobs: a point for each, and no line between
/// them, because they are no curve.
pub fn plane_chart_of_jobs(id: &str, title: &str, points: &[PlanePoint]) -> Option<Chart> {
    let mut chart = plane_chart(id, title, points)?;
    chart.about = "Each point is a job. By Little's law, operations in flight = rate × mean latency; on each thin \
        line their number is constant. Lower right is better."
        .into();
    let mut jobs = chart.series.pop()?;
    jobs.form = Form::Dots;
    if points.len() > MAX_NAMED_POINTS {
        jobs.name = "jobs".into();
        chart.series.push(jobs);
        return Some(chart);
    }
    let job = |(at, point): (usize, &PlanePoint)| Series {
        name: point.name.clone(),
        form: Form::Dots,
        x: vec![jobs.x[at].clone()],
        y: vec![jobs.y[at]],
        words: vec![jobs.words[at].clone()],
        ..Series::default()
    };
    chart.series.extend(points.iter().enumerate().map(job));
    Some(chart)
}

fn trim_zeros(value: f64) -> String {
    match value {
        value if value >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Name, operations per second and MB/s of each target; empty if a stream has several targets.
pub(super) fn rates_by_target(results: &Results, job_results: &JobResults) -> Vec<(String, f64, f64)> {
    let mut sums: BTreeMap<u32, (u32, f64, f64)> = BTreeMap::new();
    for worker in &job_results.workers {
        let seconds = worker.measured_ns.as_secs();
        for stream in &worker.streams {
            let [target] = stream.targets[..] else {
                return Vec::new();
            };
            let (mut operations, mut bytes) = (0.0, 0.0);
            for (_, direction) in stream.directions.iter() {
                if let Some(direction) = direction.as_ref().filter(|_| seconds > 0.0) {
                    operations += direction.operations as f64 / seconds;
                    bytes += direction.bytes.0 as f64 / seconds / 1e6;
                }
            }
            let sum = sums.entry(target).or_insert((worker.rank, 0.0, 0.0));
            *sum = (sum.0, sum.1 + operations, sum.2 + bytes);
        }
    }
    let name = |target: u32, rank: u32| {
        let target = results.plan.targets.get(target as usize);
        let path = target.map_or("", |target| &target.path);
        // Each host may have a different target of the same name.
        let rank_of = |fleet: &'_ model::fleet::Fleet| {
            let facts = fleet.ranks.get(rank as usize)?;
            Some(format!("{rank} {}: {path}", facts.host))
        };
        let of_rank = results.fleet.as_ref().and_then(rank_of);
        of_rank.unwrap_or_else(|| path.to_owned())
    };
    sums.into_iter()
        .map(|(target, (rank, operations, bytes))| (name(target, rank), operations, bytes))
        .collect()
}

/// Creates the chart of the rates of each target, if a job has several.
pub(super) fn target_chart(scope: &ChartScope, targets: &[(String, f64, f64)]) -> Option<Chart> {
    if !(2..=MAX_BARS).contains(&targets.len()) {
        return None;
    }
    let bars = |value: fn(&(String, f64, f64)) -> f64| {
        targets
            .iter()
            .map(move |target| (target.0.clone(), Some(value(target))))
    };
    Some(Chart {
        id: scope.id("targets"),
        title: scope.title("By target"),
        about: "The load of each target. Unequal bars under an even load point to a slower target.".into(),
        x: Axis::names("target"),
        y: Axis::from_zero("IOPS", "IOPS"),
        right: Some(Axis::from_zero("throughput", "MB/s")),
        series: vec![
            Series::over_names("IOPS", Form::Bars, bars(|target| target.1)).tone(Tone::Total),
            Series {
                x: targets.iter().map(|target| X::Name(target.0.clone())).collect(),
                ..Series::over_names("MB/s", Form::Dots, bars(|target| target.2))
                    .tone(Tone::Other)
                    .at_right()
            },
        ],
        ..Chart::default()
    })
}
