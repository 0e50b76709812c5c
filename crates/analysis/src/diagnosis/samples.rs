//! Sample observations for tests.

use model::observation::{IoStats, Latency, Load, Observation, SeriesPoint};
use model::{Bytes, Nanos, PerDirection};

/// An observation of one minute of 8 KiB reads in a closed loop that kept the queue full.
pub(super) fn closed_loop(depth: u64, iops: f64) -> Observation {
    let flow = IoStats {
        operations: Some((iops * 60.0) as u64),
        bytes: Some(Bytes((iops * 60.0) as u64 * 8192)),
        iops: Some(iops),
        bytes_per_sec: Some(iops * 8192.0),
        latency: Some(Latency {
            mean_ns: Some(depth as f64 / iops * 1e9),
            ..Latency::default()
        }),
        ..IoStats::default()
    };
    Observation {
        load: Load {
            depth: Some(depth),
            block: Some(Bytes::kib(8)),
            read_percent: Some(100.0),
            closed_loop: Some(true),
            direct: Some(true),
            ..Load::default()
        },
        measured_ns: Some(Nanos::secs(60)),
        directions: PerDirection::from_reads(Some(flow.clone())),
        total: flow,
        ..Observation::default()
    }
}

/// The observation with a series of these rates, one per second.
pub(super) fn with_series(mut observation: Observation, rates: &[f64]) -> Observation {
    let point = |(number, rate): (usize, &f64)| SeriesPoint {
        start_ns: Nanos::secs(number as u64),
        length_ns: Nanos::secs(1),
        operations: [*rate as u64, 0, 0],
        bytes: [*rate as u64 * 8192, 0, 0],
        ..SeriesPoint::default()
    };
    observation.series = rates.iter().enumerate().map(point).collect();
    observation
}
