//! The load under diagnosis, and figures derived from it.

use model::diagnosis::{DiagnosisNote, Evidence};
use model::observation::Observation;
use model::stats::{Segment, segments};

use super::bounds::{self, Bound};
use super::confirm::{Comparison, Verdict, compare};
use super::context::{Context, Question};
use super::note;
use super::symptom::{figure, figure_vs};
use crate::caps::{LayerKind, LimitLayer};

/// From this share of its depth on, a queue counts as full. The time between a completion and the
/// next submission then costs at most a tenth of the rate, and something else limits the load.
const FULL_QUEUE_SHARE: f64 = 0.90;
/// Minimum length of a level.
const MIN_LEVEL_SECONDS: usize = 10;
/// Levels that differ by less are merged.
const MIN_LEVEL_DIFFERENCE: f64 = 0.08;
/// Minimum share of the load in the device. Below it, most of the load waits above the device.
const MIN_SHARE_IN_DEVICE: f64 = 0.5;

pub(super) struct Input<'a> {
    pub(super) observation: &'a Observation,
    pub(super) context: &'a Context<'a>,
    /// The tightest first.
    pub(super) bounds: Vec<Bound>,
    /// The same limits, with their use at twice the depth.
    pub(super) deeper_bounds: Vec<Bound>,
    /// Operations per second in each interval of the original series.
    pub(super) interval_rates: Vec<f64>,
    pub(super) interval_secs: f64,
    pub(super) rates_by_second: Vec<f64>,
    /// Levels of `rates_by_second`; empty if the series is too short.
    pub(super) levels: Vec<Segment>,
}

impl<'a> Input<'a> {
    pub(super) fn new(observation: &'a Observation, layers: &[LimitLayer], context: &'a Context<'a>) -> Input<'a> {
        let (interval_rates, interval_secs) = interval_rates(observation);
        let seconds = mean_by_second(&interval_rates, interval_secs);
        Input {
            levels: find_levels(&seconds),
            bounds: bounds::bounds(observation, &context.others, layers),
            deeper_bounds: context
                .deeper
                .map(|deeper| bounds::bounds(deeper, &context.others_deeper, layers))
                .unwrap_or_default(),
            observation,
            context,
            interval_rates,
            interval_secs,
            rates_by_second: seconds,
        }
    }

    pub(super) fn rate(&self) -> Option<f64> {
        bounds::total_iops(self.observation)
    }

    pub(super) fn mean_latency(&self) -> Option<f64> {
        self.observation.total.latency.as_ref()?.mean_ns
    }

    /// Operations in flight as a share of the depth (Little's law).
    pub(super) fn queue_fill(&self) -> Option<f64> {
        let in_flight = self.rate()? * self.mean_latency()? / 1e9;
        Some(in_flight / self.observation.load.depth.filter(|depth| *depth > 0)? as f64)
    }

    /// True if the queue was kept full; `None` if a figure is missing.
    pub(super) fn is_queue_full(&self) -> Option<bool> {
        let operations = self.observation.total.operations.unwrap_or(u64::MAX) as f64;
        let edge = self.observation.load.depth? as f64 / operations.max(1.0);
        Some(self.queue_fill()? >= FULL_QUEUE_SHARE - edge)
    }

    /// True if the load reached its requested rate, so that nothing limited it.
    pub(super) fn is_rate_met(&self) -> bool {
        self.bounds
            .iter()
            .any(|bound| bound.kind == LayerKind::Application && (bound.is_reached() || bound.used > bound.limit.high))
    }

    pub(super) fn is_closed_loop(&self) -> bool {
        self.observation.load.closed_loop == Some(true)
    }

    pub(super) fn comparison(&self) -> Option<Comparison> {
        // The diagnosed load may be the shallower or the deeper one.
        let deeper = self.context.deeper?;
        compare(self.observation, deeper).or_else(|| compare(deeper, self.observation))
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.comparison().map(|comparison| comparison.verdict)
    }

    /// True if `fathom run --confirm` may show more: nothing was tried at another depth yet.
    pub(super) fn may_repeat_deeper(&self) -> bool {
        self.context.question == Question::Limit && !self.context.tried_twice_the_depth && self.verdict().is_none()
    }

    /// True if the whole window had one level, so that its totals describe one state.
    pub(super) fn has_one_level(&self) -> bool {
        self.levels.len() <= 1
    }

    /// The first level, the last level, and when the last began, in seconds; `None` if the rate
    /// returned to its first level.
    pub(super) fn first_and_last_level(&self) -> Option<(f64, f64, f64)> {
        let (first, last) = (self.levels.first()?, self.levels.last()?);
        let differ = (first.level - last.level).abs() >= MIN_LEVEL_DIFFERENCE * first.level.max(last.level);
        (self.levels.len() > 1 && differ).then_some((first.level, last.level, last.start as f64))
    }

    /// Percent of the operations that write.
    pub(super) fn write_percent(&self) -> Option<f64> {
        let measured = self.observation.read_percent();
        let reads = measured.or(self.observation.load.read_percent)?;
        Some(100.0 - reads)
    }

    /// Operations in the device by the kernel's count, and operations in flight. `None` unless
    /// comparable: direct I/O, with all bytes reaching the device.
    pub(super) fn requests_in_device(&self) -> Option<(f64, f64)> {
        let device = self.observation.device?;
        let in_flight = self.rate()? * self.mean_latency()? / 1e9;
        let bytes = self.observation.total.bytes_per_sec?;
        let all_arrives = device.bytes_per_sec >= 0.9 * bytes && device.bytes_per_sec <= 1.1 * bytes;
        if self.observation.load.direct != Some(true) || !all_arrives || device.iops <= 0.0 {
            return None;
        }
        // The kernel merges adjacent operations into one request.
        let joined = (self.rate()? / device.iops).max(1.0);
        Some((device.in_flight * joined, in_flight))
    }

    /// True if most of the load waits above the device.
    pub(super) fn waits_above_device(&self) -> bool {
        self.requests_in_device()
            .is_some_and(|(device, load)| load >= 4.0 && device < MIN_SHARE_IN_DEVICE * load)
    }

    /// Adds the figures that every answer shows, unless they are present.
    pub(super) fn add_basic_evidence(&self, evidence: &mut Vec<Evidence>) {
        let mut add = |item: Evidence| {
            if !evidence.iter().any(|there| there.what == item.what) {
                evidence.push(item);
            }
        };
        if let Some(rate) = self.rate() {
            add(figure("rate", rate, "IOPS"));
        }
        if let Some(latency) = self.mean_latency() {
            // Reports show the response time of a paced load, which is longer.
            let latency_name = match self.observation.total.response {
                Some(_) => "mean service time",
                None => "mean latency",
            };
            add(figure(latency_name, latency / 1e6, "ms"));
        }
        if let (Some(full), Some(depth)) = (self.queue_fill(), self.observation.load.depth) {
            let depth = depth as f64;
            // Operations that began before the window can add slightly more than the depth.
            add(figure_vs(
                "operations in flight",
                full.min(1.0) * depth,
                "",
                depth,
                "the depth",
            ));
        }
        if let Some(comparison) = self.comparison() {
            comparison.evidence().into_iter().for_each(&mut add);
        }
    }

    /// Figures that contradict each other.
    pub(super) fn contradictions(&self) -> Vec<DiagnosisNote> {
        let mut contradictions = Vec::new();
        let operations = self.observation.total.operations.unwrap_or(u64::MAX) as f64;
        if let (Some(full), Some(depth)) = (self.queue_fill(), self.observation.load.depth)
            && full > 1.02 + depth as f64 / operations
        {
            let sentence = format!(
                "{:.1} operations in flight are more than the depth of {depth} allows: a figure of this report is wrong",
                full * depth as f64
            );
            contradictions.push(note("LITTLE-MISMATCH", sentence));
        }
        contradictions
    }

    /// The parts that cannot be judged, with the missing inputs.
    pub(super) fn missing_inputs(&self) -> Vec<String> {
        let observation = self.observation;
        let mut missing = Vec::new();
        let mut add_if = |absent: bool, what: &str| {
            if absent {
                missing.push(what.to_owned());
            }
        };
        add_if(self.rate().is_none(), "limits: no measured rate");
        add_if(
            self.mean_latency().is_none(),
            "queue depth: no mean latency, which Little's law needs",
        );
        add_if(observation.load.depth.is_none(), "queue depth: no configured depth");
        add_if(
            observation.load.closed_loop.is_none(),
            "load generator: unknown whether a target rate was set",
        );
        add_if(
            observation.cores.is_empty() && observation.generator.is_none(),
            "load generator and CPUs: no CPU times",
        );
        add_if(
            self.rates_by_second.len() < 2 * MIN_LEVEL_SECONDS,
            "bursts, cliffs and declines: no time series of at least 20 s",
        );
        add_if(
            !self.bounds.iter().any(|bound| bound.kind != LayerKind::Application),
            "limits: none is known; set the limits of machine and disks with --vm, --disk or --cap",
        );
        missing
    }
}

/// Rates of the original series without an incomplete last interval, and the interval length.
fn interval_rates(observation: &Observation) -> (Vec<f64>, f64) {
    let Some(first) = observation.series.first() else {
        return (Vec::new(), 0.0);
    };
    let length = first.length_ns;
    let full_points = observation.series.iter().take_while(|point| point.length_ns == length);
    (full_points.map(|point| point.iops()).collect(), length.as_secs())
}

/// Means per second. A series with longer intervals stays unchanged.
fn mean_by_second(interval_rates: &[f64], interval_secs: f64) -> Vec<f64> {
    if interval_secs <= 0.0 {
        return Vec::new();
    }
    let per_second = ((1.0 / interval_secs).round() as usize).max(1);
    interval_rates
        .chunks_exact(per_second)
        .map(|chunk| chunk.iter().sum::<f64>() / per_second as f64)
        .collect()
}

/// Splits the series into levels and merges neighbours that differ little.
fn find_levels(seconds: &[f64]) -> Vec<Segment> {
    if seconds.len() < 2 * MIN_LEVEL_SECONDS {
        return Vec::new();
    }
    let mut ends: Vec<usize> = segments(seconds, MIN_LEVEL_SECONDS)
        .iter()
        .map(|segment| segment.end)
        .collect();
    loop {
        let starts = std::iter::once(&0).chain(&ends);
        let parts: Vec<Segment> = starts
            .zip(&ends)
            .map(|(start, end)| Segment::new(seconds, *start, *end))
            .collect();
        let distance = |pair: &[Segment]| (pair[0].level - pair[1].level).abs() / pair[0].level.max(pair[1].level);
        let closest = parts
            .windows(2)
            .map(distance)
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, distance)| *distance < MIN_LEVEL_DIFFERENCE || distance.is_nan());
        match closest {
            Some((index, _)) => {
                ends.remove(index);
            }
            None => return parts,
        }
    }
}
