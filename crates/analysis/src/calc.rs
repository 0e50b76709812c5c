//! Calculations that storage engineers do by hand: Little's law, bandwidth, samples for a
//! percentile, burst credits.

use model::stats::support;
use serde::Serialize;

/// Ratio of the planned queue depth to the average of Little's law.
pub const HEADROOM: f64 = 1.25;

/// The three figures of Little's law (1961): in flight = rate × latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LittlesLaw {
    /// Operations per second.
    pub iops: f64,
    /// Mean latency in seconds.
    pub latency_sec: f64,
    /// Operations in flight on average.
    pub in_flight: f64,
    /// Queue depth to plan for: ⌈in flight × 1.25⌉.
    pub depth_with_headroom: f64,
}

/// Computes the third figure from the other two; `None` unless exactly two are given and positive.
pub fn solve_littles_law(iops: Option<f64>, latency_sec: Option<f64>, in_flight: Option<f64>) -> Option<LittlesLaw> {
    let (iops, latency_sec, in_flight) = match (positive(iops)?, positive(latency_sec)?, positive(in_flight)?) {
        (Some(iops), Some(latency), None) => (iops, latency, iops * latency),
        (Some(iops), None, Some(depth)) => (iops, depth / iops, depth),
        (None, Some(latency), Some(depth)) => (depth / latency, latency, depth),
        _ => return None,
    };
    Some(LittlesLaw {
        iops,
        latency_sec,
        in_flight,
        // Rounding error turns 0.003 × 4000 × 1.25 into slightly more than 15.
        depth_with_headroom: (in_flight * HEADROOM - 1e-9).ceil(),
    })
}

/// `Some(figure)` if it is absent or positive; `None` if it is unusable.
fn positive(figure: Option<f64>) -> Option<Option<f64>> {
    match figure {
        Some(value) if !(value > 0.0 && value.is_finite()) => None,
        figure => Some(figure),
    }
}

/// Rate, length and throughput: bytes per second = operations per second × bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bandwidth {
    /// Operations per second.
    pub iops: f64,
    /// Bytes per operation.
    pub block_bytes: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
}

/// Computes the third figure from the other two; `None` unless exactly two are given and positive.
pub fn bandwidth(iops: Option<f64>, block_bytes: Option<f64>, bytes_per_sec: Option<f64>) -> Option<Bandwidth> {
    let (iops, block_bytes, bytes_per_sec) = match (positive(iops)?, positive(block_bytes)?, positive(bytes_per_sec)?) {
        (Some(iops), Some(block), None) => (iops, block, iops * block),
        (Some(iops), None, Some(bytes)) => (iops, bytes / iops, bytes),
        (None, Some(block), Some(bytes)) => (bytes / block, block, bytes),
        _ => return None,
    };
    Some(Bandwidth {
        iops,
        block_bytes,
        bytes_per_sec,
    })
}

/// The operations that a percentile needs, and the time that they take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Samples {
    /// The percentile as a share: 0.9999 for p99.99.
    pub share: f64,
    /// Minimum number of operations for a two-sided 95 % interval: ⌈ln 0.025 / ln p⌉.
    pub interval_exists: u64,
    /// Number of operations with ten beyond the percentile: read it with its interval.
    pub weak: u64,
    /// Number of operations with a hundred beyond the percentile.
    pub good: u64,
    /// Seconds to reach the latter at the given rate.
    pub good_after_sec: f64,
}

/// The operations that a percentile needs at a rate; `None` unless 0 < share < 1 and the rate is
/// positive.
pub fn samples(share: f64, iops: f64) -> Option<Samples> {
    if !(share > 0.0 && share < 1.0 && iops > 0.0 && iops.is_finite()) {
        return None;
    }
    // Round like `support`, so that the two never contradict each other.
    let operations_needed = |count: f64| (count / (1.0 - share) - 1e-6 * count).ceil() as u64;
    let good = operations_needed(100.0);
    debug_assert_eq!(support(share, good), model::stats::Support::Good);
    Some(Samples {
        share,
        interval_exists: (0.025f64.ln() / share.ln()).ceil() as u64,
        weak: operations_needed(10.0),
        good,
        good_after_sec: good as f64 / iops,
    })
}

/// A bucket of burst credits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Burst {
    /// Seconds until a full bucket is empty at the ceiling: B / (b − r). Absent if the refill keeps
    /// up.
    pub lasts_sec: Option<f64>,
    /// Seconds from empty to full without any load: B / r. Absent without a refill.
    pub refills_sec: Option<f64>,
}

/// The duration of a full bucket of `capacity` at `ceiling` per second with `refill` per second.
/// All are in the same unit. `None` for figures that are not positive (the refill may be 0).
pub fn burst_times(capacity: f64, refill: f64, ceiling: f64) -> Option<Burst> {
    let usable = capacity > 0.0 && ceiling > 0.0 && refill >= 0.0;
    (usable && capacity.is_finite() && ceiling.is_finite() && refill.is_finite()).then(|| Burst {
        lasts_sec: (ceiling > refill).then(|| capacity / (ceiling - refill)),
        refills_sec: (refill > 0.0).then(|| capacity / refill),
    })
}

/// The block size in bytes above which the bandwidth limit binds instead of the IOPS limit: bs* =
/// bandwidth / IOPS. `None` unless both are positive.
pub fn crossover_block_size(bytes_per_sec: f64, iops: f64) -> Option<f64> {
    (bytes_per_sec > 0.0 && iops > 0.0).then(|| bytes_per_sec / iops)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    #[track_caller]
    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} for {expected}");
    }

    #[test]
    fn any_two_figures_of_littles_law_give_the_third() {
        // 4,000 IOPS at 3 ms: 12 in flight, planned as 15.
        let promise = solve_littles_law(Some(4000.0), Some(0.003), None).unwrap();
        near(promise.in_flight, 12.0, 1e-9);
        assert_eq!(promise.depth_with_headroom, 15.0);
        // 1 ms of service: 1,000 a second for each thread, 10,000 for ten.
        near(
            solve_littles_law(None, Some(0.001), Some(1.0)).unwrap().iops,
            1000.0,
            1e-9,
        );
        near(
            solve_littles_law(None, Some(0.001), Some(10.0)).unwrap().iops,
            10_000.0,
            1e-9,
        );
        // 107,000 IOPS at depth 64: 0.598 ms.
        near(
            solve_littles_law(Some(107_000.0), None, Some(64.0))
                .unwrap()
                .latency_sec,
            0.000_598,
            1e-6,
        );
        for wrong in [
            solve_littles_law(Some(1.0), None, None),
            solve_littles_law(Some(1.0), Some(1.0), Some(1.0)),
            solve_littles_law(Some(0.0), Some(1.0), None),
            solve_littles_law(Some(f64::NAN), Some(1.0), None),
        ] {
            assert_eq!(wrong, None);
        }
    }

    #[test]
    fn any_two_figures_of_a_bandwidth_give_the_third() {
        // 125 × 8 KiB and 2 × 512 KiB are a MiB/s or nearly; 125 × 512 kB are 64 MB/s.
        near(
            bandwidth(Some(125.0), Some(8000.0), None).unwrap().bytes_per_sec,
            1e6,
            0.0,
        );
        near(
            bandwidth(Some(2.0), Some(512.0 * 1024.0), None).unwrap().bytes_per_sec,
            MIB,
            0.0,
        );
        near(
            bandwidth(Some(125.0), Some(512_000.0), None).unwrap().bytes_per_sec,
            64e6,
            0.0,
        );
        near(bandwidth(None, Some(8192.0), Some(MIB)).unwrap().iops, 128.0, 0.0);
        near(
            bandwidth(Some(2.0), None, Some(MIB)).unwrap().block_bytes,
            524_288.0,
            0.0,
        );
        assert_eq!(bandwidth(Some(1.0), None, None), None);
    }

    #[test]
    fn percentiles_need_the_time_of_the_published_table() {
        let check = |share: f64, exists: u64, weak: u64, good: u64, seconds: [f64; 3]| {
            for (iops, seconds) in [1e3, 4e3, 1e5].into_iter().zip(seconds) {
                let found = samples(share, iops).unwrap();
                assert_eq!((found.interval_exists, found.weak, found.good), (exists, weak, good));
                near(found.good_after_sec, seconds, 1e-6 * seconds);
            }
        };
        check(0.99, 368, 1_000, 10_000, [10.0, 2.5, 0.1]);
        check(0.999, 3_688, 10_000, 100_000, [100.0, 25.0, 1.0]);
        check(0.9999, 36_887, 100_000, 1_000_000, [1000.0, 250.0, 10.0]);
        check(0.99999, 368_887, 1_000_000, 10_000_000, [10_000.0, 2500.0, 100.0]);
        check(
            0.999999,
            3_688_878,
            10_000_000,
            100_000_000,
            [100_000.0, 25_000.0, 1000.0],
        );
        assert_eq!(samples(1.0, 1000.0), None);
        assert_eq!(samples(0.99, 0.0), None);
    }

    #[test]
    fn bursts_last_for_the_published_time() {
        // gp2: 3 per GiB and at least 100, up to 3,000; 5.4 million credits.
        for (gib, seconds) in [
            (33.0, 1862.0),
            (100.0, 2000.0),
            (334.0, 2703.0),
            (750.0, 7200.0),
            (900.0, 18_000.0),
        ] {
            let refill = f64::max(100.0, 3.0 * gib);
            near(
                burst_times(5.4e6, refill, 3000.0).unwrap().lasts_sec.unwrap(),
                seconds,
                1.0,
            );
        }
        // st1 and sc1 of 1 TiB: 1 TiB of credits, in MiB.
        near(burst_times(MIB, 40.0, 250.0).unwrap().lasts_sec.unwrap(), 4993.0, 1.0);
        near(burst_times(MIB, 12.0, 80.0).unwrap().lasts_sec.unwrap(), 15_420.0, 1.0);
        // Azure: half an hour at 3,500; refilled in 14.1 h (P4), 3.0 h (P10), 15.7 min (P20).
        for (refill, hours) in [(120.0, 14.083), (500.0, 3.0), (2300.0, 15.652 / 60.0)] {
            let credits = (3500.0 - refill) * 1800.0;
            let found = burst_times(credits, refill, 3500.0).unwrap();
            near(found.lasts_sec.unwrap(), 1800.0, 1e-6);
            near(found.refills_sec.unwrap() / 3600.0, hours, 0.001);
        }
        assert_eq!(burst_times(5.4e6, 3000.0, 3000.0).unwrap().lasts_sec, None);
        assert_eq!(burst_times(5.4e6, 0.0, 3000.0).unwrap().refills_sec, None);
        assert_eq!(burst_times(0.0, 1.0, 2.0), None);
    }

    #[test]
    fn limits_cross_at_their_quotient() {
        for (bytes, iops, kib) in [
            (200e6, 5000.0, 39.1),
            (150e6, 2300.0, 63.7),
            (250e6, 7500.0, 32.6),
            (900e6, 20_000.0, 43.95),
            (125.0 * MIB, 3000.0, 42.7),
            (1000.0 * MIB, 40_000.0, 25.6),
        ] {
            near(crossover_block_size(bytes, iops).unwrap() / 1024.0, kib, 0.06);
        }
        assert_eq!(crossover_block_size(0.0, 1.0), None);
    }
}
