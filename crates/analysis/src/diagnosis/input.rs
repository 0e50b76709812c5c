//! The load that is judged, with what follows from its figures.

use model::diagnosis::{Evidence, Remark};
use model::observation::Observation;
use model::stats::{Segment, segments};

use super::bounds::{self, Bound};
use super::confirm::{Comparison, Verdict, compare};
use super::context::Context;
use super::remark;
use super::symptom::{compared, figure};
use crate::caps::{Layer, LayerKind};

/// A queue counts as full from this share of its depth on.
const FULL: f64 = 0.95;
/// Fewest values of a part of the series with a level of its own.
const MIN_SEGMENT: usize = 10;
/// Levels that differ by less are one level.
const SAME_LEVEL: f64 = 0.08;
/// The device sees less than this share of the load: the rest waits above it.
const MOSTLY_ABOVE: f64 = 0.5;

pub(super) struct Input<'a> {
    pub(super) observation: &'a Observation,
    pub(super) context: &'a Context<'a>,
    /// The least first.
    pub(super) bounds: Vec<Bound>,
    /// The same limits with what was used of them at twice the depth.
    pub(super) deeper_bounds: Vec<Bound>,
    /// Operations per second in each interval of the series as it came, in order.
    pub(super) fine: Vec<f64>,
    /// Length of those intervals in seconds.
    pub(super) fine_secs: f64,
    /// The same second by second.
    pub(super) seconds: Vec<f64>,
    /// Parts of `seconds` with a level of their own; empty where the series is too short to tell.
    pub(super) segments: Vec<Segment>,
}

impl<'a> Input<'a> {
    pub(super) fn new(observation: &'a Observation, layers: &[Layer], context: &'a Context<'a>) -> Input<'a> {
        let (fine, fine_secs) = fine(observation);
        let seconds = by_second(&fine, fine_secs);
        Input {
            segments: levels(&seconds),
            bounds: bounds::bounds(observation, &context.others, layers),
            deeper_bounds: context
                .deeper
                .map(|deeper| bounds::bounds(deeper, &context.others_deeper, layers))
                .unwrap_or_default(),
            observation,
            context,
            fine,
            fine_secs,
            seconds,
        }
    }

    pub(super) fn rate(&self) -> Option<f64> {
        bounds::rate(self.observation)
    }

    pub(super) fn mean_latency(&self) -> Option<f64> {
        self.observation.total.latency.as_ref()?.mean_ns
    }

    /// Operations in flight as a share of the depth (Little's law).
    pub(super) fn fullness(&self) -> Option<f64> {
        let in_flight = self.rate()? * self.mean_latency()? / 1e9;
        Some(in_flight / self.observation.load.depth.filter(|depth| *depth > 0)? as f64)
    }

    /// Whether the queue was kept full; unknown where a figure is missing.
    pub(super) fn queue_is_full(&self) -> Option<bool> {
        let operations = self.observation.total.operations.unwrap_or(u64::MAX) as f64;
        let edge = self.observation.load.depth? as f64 / operations.max(1.0);
        Some(self.fullness()? >= FULL - edge)
    }

    /// The load got the rate that it asked for, so nothing kept it from more.
    pub(super) fn rate_is_kept(&self) -> bool {
        self.bounds
            .iter()
            .any(|bound| bound.kind == LayerKind::Application && (bound.is_met() || bound.used > bound.limit.high))
    }

    /// The closed loop that experiments with the depth need.
    pub(super) fn is_closed_loop(&self) -> bool {
        self.observation.load.closed_loop == Some(true)
    }

    pub(super) fn comparison(&self) -> Option<Comparison> {
        // The load that is judged may be either of the two.
        let other = self.context.deeper?;
        compare(self.observation, other).or_else(|| compare(other, self.observation))
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.comparison().map(|comparison| comparison.verdict)
    }

    /// The whole window had one level: its totals describe one state.
    pub(super) fn is_level(&self) -> bool {
        self.segments.len() <= 1
    }

    /// The first and the last level, and when the last began, in seconds. A rate that came back to
    /// its first level has neither risen nor fallen.
    pub(super) fn shift(&self) -> Option<(f64, f64, f64)> {
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        let differ = (first.level - last.level).abs() >= SAME_LEVEL * first.level.max(last.level);
        (self.segments.len() > 1 && differ).then_some((first.level, last.level, last.start as f64))
    }

    /// Percent of the operations that write.
    pub(super) fn write_percent(&self) -> Option<f64> {
        let measured = self.observation.read_percent();
        let reads = measured.or(self.observation.load.read_percent)?;
        Some(100.0 - reads)
    }

    /// Operations in the device as the kernel counts them, and those of the load; only where the
    /// two can be compared: past the operating system's cache, and with all bytes reaching the
    /// device.
    pub(super) fn in_device(&self) -> Option<(f64, f64)> {
        let device = self.observation.device?;
        let in_flight = self.rate()? * self.mean_latency()? / 1e9;
        let bytes = self.observation.total.bytes_per_sec?;
        let all_arrives = device.bytes_per_sec >= 0.9 * bytes && device.bytes_per_sec <= 1.1 * bytes;
        if self.observation.load.direct != Some(true) || !all_arrives || device.iops <= 0.0 {
            return None;
        }
        // Neighbours that the kernel joined are one request.
        let joined = (self.rate()? / device.iops).max(1.0);
        Some((device.in_flight * joined, in_flight))
    }

    /// Most of the load waits somewhere above the device.
    pub(super) fn waits_above(&self) -> bool {
        self.in_device()
            .is_some_and(|(device, load)| load >= 4.0 && device < MOSTLY_ABOVE * load)
    }

    /// Figures that every answer shows, where they are not there yet.
    pub(super) fn add_basics(&self, evidence: &mut Vec<Evidence>) {
        let mut add = |one: Evidence| {
            if !evidence.iter().any(|there| there.what == one.what) {
                evidence.push(one);
            }
        };
        if let Some(rate) = self.rate() {
            add(figure("rate", rate, "IOPS"));
        }
        if let Some(latency) = self.mean_latency() {
            // Reports show the response time of a paced load, which is longer.
            let what = match self.observation.total.response {
                Some(_) => "mean service time",
                None => "mean latency",
            };
            add(figure(what, latency / 1e6, "ms"));
        }
        if let (Some(full), Some(depth)) = (self.fullness(), self.observation.load.depth) {
            let depth = depth as f64;
            add(compared("operations in flight", full * depth, "", depth, "the depth"));
        }
        if let Some(comparison) = self.comparison() {
            comparison.evidence().into_iter().for_each(&mut add);
        }
    }

    /// Figures that cannot all be true.
    pub(super) fn contradictions(&self) -> Vec<Remark> {
        let mut found = Vec::new();
        let operations = self.observation.total.operations.unwrap_or(u64::MAX) as f64;
        if let (Some(full), Some(depth)) = (self.fullness(), self.observation.load.depth)
            && full > 1.02 + depth as f64 / operations
        {
            let what = format!(
                "{:.1} operations in flight are more than the depth of {depth} allows: a figure of this report is wrong",
                full * depth as f64
            );
            found.push(remark("LITTLE-MISMATCH", what));
        }
        found
    }

    /// What could not be judged.
    pub(super) fn missing(&self) -> Vec<String> {
        let observation = self.observation;
        let mut missing = Vec::new();
        let mut lacks = |is: bool, what: &str| {
            if is {
                missing.push(what.to_owned());
            }
        };
        lacks(self.rate().is_none(), "limits: there is no rate");
        lacks(
            self.mean_latency().is_none(),
            "the queue: there is no latency (Little's law)",
        );
        lacks(observation.load.depth.is_none(), "the queue: there is no queue depth");
        lacks(
            observation.load.closed_loop.is_none(),
            "the generator: it is unknown whether a rate was set",
        );
        lacks(
            observation.cores.is_empty() && observation.generator.is_none(),
            "generator and processors: there are no processor times",
        );
        lacks(
            self.seconds.len() < 2 * MIN_SEGMENT,
            "bursts, cliffs and declines: there is no series of at least 20 s",
        );
        lacks(
            !self.bounds.iter().any(|bound| bound.kind != LayerKind::Application),
            "limits: none is known; name those of machine and disks with --vm, --disk or --cap",
        );
        missing
    }
}

/// The series as it came, without an incomplete end: operations per second, and seconds of an
/// interval.
fn fine(observation: &Observation) -> (Vec<f64>, f64) {
    let Some(first) = observation.series.first() else {
        return (Vec::new(), 0.0);
    };
    let length = first.length_ns;
    let whole = observation.series.iter().take_while(|point| point.length_ns == length);
    (whole.map(|point| point.iops()).collect(), length.as_secs())
}

/// Means over a second each. A series of longer intervals is taken as it is.
fn by_second(fine: &[f64], fine_secs: f64) -> Vec<f64> {
    if fine_secs <= 0.0 {
        return Vec::new();
    }
    let together = ((1.0 / fine_secs).round() as usize).max(1);
    fine.chunks_exact(together)
        .map(|chunk| chunk.iter().sum::<f64>() / together as f64)
        .collect()
}

/// Parts with a level of their own; neighbours that differ by little are joined.
fn levels(seconds: &[f64]) -> Vec<Segment> {
    if seconds.len() < 2 * MIN_SEGMENT {
        return Vec::new();
    }
    let mut ends: Vec<usize> = segments(seconds, MIN_SEGMENT).iter().map(|one| one.end).collect();
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
            .filter(|(_, distance)| *distance < SAME_LEVEL || distance.is_nan());
        match closest {
            Some((index, _)) => {
                ends.remove(index);
            }
            None => return parts,
        }
    }
}
