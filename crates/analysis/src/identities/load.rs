//! Compares the measured operations in flight (by Little's law), rate and mix with the requested
//! load.

use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::InFlight;
use serde::Serialize;

use super::Rule;

/// A queue counts as full if its fill deviates from the depth by at most this share.
const TOLERANCE: f64 = 0.01;
/// From this share of its depth on, a queue counts as full.
const MIN_FULL_SHARE: f64 = 0.95;
/// Tolerated deviation of the mix, in percentage points.
const MAX_DRIFT_POINTS: f64 = 1.0;

/// The operations in flight by Little's law (1961), compared with the depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueFill {
    /// Rate × mean latency, at most the depth unless it exceeds that beyond the tolerance.
    pub in_flight: f64,
    /// Queue depth, if known.
    pub depth: Option<u64>,
    /// Operations in flight divided by the depth.
    pub share: Option<f64>,
    /// Tolerated deviation of `share` from 1, including rounding and the edges of the window.
    pub tolerance: f64,
}

/// Computes the operations in flight of a load; `None` if the rate or the latency is unknown.
pub fn estimate_queue_fill(load: &Observation) -> Option<QueueFill> {
    let mut in_flight = load.in_flight()?;
    let mean = load.total.latency.as_ref()?.mean_ns?;
    let depth = load.load.depth.filter(|depth| *depth > 0);
    let edges = depth
        .zip(load.total.operations)
        .map_or(0.0, |(depth, operations)| depth as f64 / operations.max(1) as f64);
    let tolerance = TOLERANCE + edges + mean_rounding(load, mean);
    // Operations in flight at the start of the window count with their whole latency.
    if let Some(depth) = depth
        .map(|depth| depth as f64)
        .filter(|depth| in_flight <= depth * (1.0 + tolerance))
    {
        in_flight = in_flight.min(depth);
    }
    Some(QueueFill {
        in_flight,
        depth,
        share: depth.map(|depth| in_flight / depth as f64),
        tolerance,
    })
}

/// Rounding error of a printed mean, as a share of the mean. DiskSpd and Vdbench print thousandths
/// of a millisecond.
fn mean_rounding(load: &Observation, mean: f64) -> f64 {
    match load.tool.as_str() {
        "DiskSpd" | "Vdbench" if mean > 0.0 => 500.0 / mean,
        _ => 0.0,
    }
}

/// The deviation of a queue from a full one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum QueueDeviation {
    /// More operations were in flight than there are slots, so one of the figures is wrong.
    Beyond,
    /// The queue was not full.
    Short,
}

impl QueueFill {
    /// The deviation of the queue from a full one; `None` if it was full or the depth is unknown.
    /// Shares above 1 have `extra_tolerance` in addition.
    pub(crate) fn queue_deviation(&self, extra_tolerance: f64) -> Option<QueueDeviation> {
        let share = self.share?;
        if share > 1.0 + self.tolerance + extra_tolerance {
            return Some(QueueDeviation::Beyond);
        }
        (share < (1.0 - self.tolerance).min(MIN_FULL_SHARE)).then_some(QueueDeviation::Short)
    }

    /// The operations in flight that fathom counted exactly, instead of rate × latency.
    pub(crate) fn from_counts(in_flight: &InFlight) -> QueueFill {
        QueueFill {
            in_flight: in_flight.average,
            depth: Some(in_flight.depth),
            share: Some(in_flight.average / in_flight.depth as f64),
            tolerance: TOLERANCE + in_flight.depth as f64 / in_flight.operations.max(1) as f64,
        }
    }
}

pub(super) const QUEUE_DEPTH: Rule = Rule {
    names: &["QD-NOT-ACHIEVED", "LITTLE-MISMATCH"],
    about: "Operations in flight (rate × latency), compared with the queue depth.",
    detect: |load, _, findings| findings.extend(check_queue_depth(load)),
};

fn check_queue_depth(load: &Observation) -> Option<Finding> {
    let queue_fill = estimate_queue_fill(load)?;
    let depth = queue_fill.depth?;
    let message = format!(
        "on average {:.2} of {depth} operations were in flight",
        queue_fill.in_flight
    );
    match queue_fill.queue_deviation(0.0)? {
        QueueDeviation::Beyond => {
            let finding = Finding::new("LITTLE-MISMATCH", Severity::Error, message).at(&*load.name);
            let why = "that is more than the queue depth: the rate, latency or depth in this report is wrong, or \
                       they come from different runs";
            return Some(
                finding
                    .why(why)
                    .help("check the queue depth, the number of threads and the unit of the latency"),
            );
        }
        // A paced load leaves slots free intentionally.
        QueueDeviation::Short if load.load.closed_loop != Some(true) => return None,
        QueueDeviation::Short => {}
    }
    let finding = Finding::new("QD-NOT-ACHIEVED", Severity::Warning, message).at(&*load.name);
    let (why, help) = match load.load.direct {
        Some(false) => (
            "operations completed inside the system call: the operating system's cache served them",
            "bypass the cache: -Sh for DiskSpd, direct=1 for fio",
        ),
        Some(true) | None => (
            "the queue was not kept full: threads could not issue operations fast enough, or the engine waits for \
             each operation",
            "use more threads with less depth each, or an asynchronous engine",
        ),
    };
    Some(finding.why(why).help(help))
}

/// Rounding error of the operations in flight that Vdbench prints, with one decimal.
const IN_FLIGHT_ROUNDING: f64 = 0.05;

pub(super) const STATED_IN_FLIGHT: Rule = Rule {
    names: &["IN-FLIGHT-MISMATCH"],
    about: "Operations in flight that the report states, compared with rate × latency.",
    detect: |load, _, findings| {
        let (Some(stated_in_flight), Some(counted)) = (load.stated.in_flight, load.in_flight()) else {
            return;
        };
        let mean = load.total.latency.as_ref().and_then(|latency| latency.mean_ns);
        let allowed =
            IN_FLIGHT_ROUNDING + (TOLERANCE + mean_rounding(load, mean.unwrap_or(0.0))) * counted.max(stated_in_flight);
        // Response times of a paced load may start when an operation is due, before it is in
        // flight. Rate × latency then exceeds the operations in flight, which is not an error.
        let difference = match load.load.closed_loop {
            Some(false) => stated_in_flight - counted,
            _ => (counted - stated_in_flight).abs(),
        };
        if difference > allowed {
            let message = format!(
                "rate × latency gives {counted:.2} operations in flight; the report states {stated_in_flight:.2}"
            );
            // Only a warning: tools count operations in flight differently.
            let finding = Finding::new("IN-FLIGHT-MISMATCH", Severity::Warning, message).at(&*load.name);
            let finding = finding.why(
                "by Little's law the two must be equal: rate, latency or queue depth may have been edited, mistyped \
                 or taken from another run",
            );
            findings.push(finding.help("use the original report of the tool"));
        }
    },
};

/// Minimum share of the requested rate that must complete.
const MIN_RATE_SHARE: f64 = 0.97;

pub(super) const RATE: Rule = Rule {
    names: &["RATE-NOT-KEPT"],
    about: "The measured rate, compared with the requested one.",
    detect: |load, _, findings| {
        let (Some(requested), Some(measured)) = (load.load.rate_iops, load.total.iops) else {
            return;
        };
        // Vdbench draws arrival times at random, so their number varies. Allow three standard
        // deviations.
        let arrivals = load.measured_ns.map(|time| requested * time.as_secs());
        let chance = match arrivals.filter(|_| load.tool == "Vdbench") {
            Some(arrivals) => 3.0 / arrivals.max(1.0).sqrt(),
            None => 0.0,
        };
        if measured < (MIN_RATE_SHARE - chance) * requested {
            let share = 100.0 * measured / requested;
            let message =
                format!("{requested:.0} operations per second were requested, {measured:.0} ({share:.1} %) completed");
            let finding = Finding::new("RATE-NOT-KEPT", Severity::Warning, message).at(&*load.name);
            let finding = finding.why(
                "the target or the path to it is slower than the requested rate, or the queue depth was too small",
            );
            findings.push(finding.help(
                "check the operations in flight: if every slot was in use, increase the queue depth and repeat the \
                 test",
            ));
        }
    },
};

pub(super) const MIX: Rule = Rule {
    names: &["MIX-DRIFT"],
    about: "The measured share of writes, compared with the requested one.",
    detect: |load, _, findings| {
        let (Some(requested), Some(measured)) = (load.load.read_percent, load.read_percent()) else {
            return;
        };
        let (requested, measured) = (100.0 - requested, 100.0 - measured);
        let share = requested / 100.0;
        // Allow three standard deviations, because each operation's direction is drawn at random.
        let by_rate = || Some(load.total.iops? * load.measured_ns?.as_secs());
        let operations = load.total.operations.map(|n| n as f64).or_else(by_rate);
        let chance = operations.map_or(0.0, |n| 300.0 * (share * (1.0 - share) / n.max(1.0)).sqrt());
        if (measured - requested).abs() > MAX_DRIFT_POINTS + chance {
            let message = format!("{measured:.1} % of the operations were writes, {requested:.1} % were requested");
            let finding = Finding::new("MIX-DRIFT", Severity::Warning, message).at(&*load.name);
            let finding = finding.why("the figures come from a different load than the one described");
            findings.push(finding.help(
                "fio: with randrw, rate= or rate_iops= set each direction separately; DiskSpd: check -w; \
                Vdbench: -v reads blocks before it writes them",
            ));
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{has_rule, rules, sound};
    use super::*;

    #[test]
    fn only_a_queue_that_is_not_full_has_a_finding() {
        let measured = estimate_queue_fill(&sound()).expect("a complete load");
        assert_eq!((measured.in_flight, measured.depth), (64.0, Some(64)));
        let mut load = sound();
        load.load.depth = Some(63);
        assert!(has_rule(&load, "LITTLE-MISMATCH"), "1.6 % too many");
        load.load.depth = Some(128);
        assert!(has_rule(&load, "QD-NOT-ACHIEVED"));
        load.load.closed_loop = Some(false);
        assert_eq!(rules(&load), ["MAX-ONE-SAMPLE"], "a paced load");
        load.load.closed_loop = None;
        assert_eq!(rules(&load), ["MAX-ONE-SAMPLE"], "an unknown depth");
    }

    /// The edges of the window can raise the product above the depth.
    #[test]
    fn within_the_tolerance_no_more_than_the_depth_is_in_flight() {
        let figures = |mean_ns: f64| {
            let mut load = sound();
            load.total.latency.as_mut().expect("latencies").mean_ns = Some(mean_ns);
            let found = estimate_queue_fill(&load).expect("a complete load");
            (found.in_flight, found.share)
        };
        assert_eq!(figures(2.01e6), (64.0, Some(1.0)));
        assert_eq!(figures(4e6), (128.0, Some(2.0)), "impossible");
    }

    #[test]
    fn stated_operations_in_flight_are_compared_with_littles_law() {
        let mut load = sound();
        load.stated.in_flight = Some(64.6);
        assert_eq!(rules(&load), ["MAX-ONE-SAMPLE"], "0.05 and 1 % of 64.6 make 0.696");
        load.stated.in_flight = Some(64.8);
        assert!(has_rule(&load, "IN-FLIGHT-MISMATCH"));
        let mismatch = |load: &Observation| has_rule(load, "IN-FLIGHT-MISMATCH");
        load.load.closed_loop = Some(false);
        assert!(mismatch(&load), "more operations in flight than the latency explains");
        load.stated.in_flight = Some(30.0);
        assert!(!mismatch(&load), "the others were due but not in flight");
        load.load.closed_loop = Some(true);
        assert!(mismatch(&load));
        load.total.latency = None;
        assert!(
            !has_rule(&load, "IN-FLIGHT-MISMATCH"),
            "no rate and latency to compare with"
        );
    }

    #[test]
    fn a_missed_rate_or_mix_is_reported() {
        let mut load = sound();
        // 200 requested arrivals vary by ± 42. A rate of 86.5 (173 arrivals) is within that, and
        // one of 75 (150 arrivals) is not.
        let mut drawn = Observation {
            measured_ns: Some(model::Nanos::secs(2)),
            ..sound()
        };
        drawn.load.rate_iops = Some(100.0);
        for (tool, iops, is_missed) in [("Vdbench", 86.5, false), ("Vdbench", 75.0, true), ("fio", 86.5, true)] {
            (drawn.tool, drawn.total.iops) = (tool.into(), Some(iops));
            assert_eq!(has_rule(&drawn, "RATE-NOT-KEPT"), is_missed, "{tool} {iops}");
        }
        (load.load.rate_iops, load.load.closed_loop) = (Some(40_000.0), Some(false));
        assert!(has_rule(&load, "RATE-NOT-KEPT"));
        load.load.rate_iops = Some(32_100.0);
        assert!(!has_rule(&load, "RATE-NOT-KEPT"));
        load.load.read_percent = Some(70.0);
        assert!(has_rule(&load, "MIX-DRIFT"));
        load.load.read_percent = Some(99.5);
        assert!(!has_rule(&load, "MIX-DRIFT"));
    }
}
