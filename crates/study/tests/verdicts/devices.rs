//! Simulated devices with known performance.

use model::plan::{
    CacheContents, SimulatedCache, SimulatedDevice, SimulatedLayer, SimulatedNeighbour, SimulatedPause,
    SimulatedService, SimulatedWriteBuffer,
};
use model::{Bytes, Nanos};

/// The figure that a row of the table promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Promised {
    /// A mean latency at this rate.
    Mean { rate: f64 },
    /// A percentile at this rate.
    Quantile { name: &'static str, rate: f64 },
    /// A rate alone.
    Rate,
}

/// A device and the kind of its promise.
pub struct Case {
    pub name: &'static str,
    pub promised: Promised,
    /// The device for a window that begins and ends at these seconds.
    pub device: fn(f64, f64) -> SimulatedDevice,
    /// Percent of the operations that read.
    pub reads: f64,
    /// The operations that the device completes until a time if `rate` operations are due per
    /// second. This gives the true rate.
    pub delivers: Option<fn(rate: f64, until: f64) -> f64>,
    /// Credits: ceiling, refill, bucket.
    pub credits: Option<(f64, f64, f64)>,
}

fn base(service: SimulatedService, servers: u32) -> SimulatedDevice {
    SimulatedDevice {
        size: Bytes::gib(4),
        servers,
        service,
        ..SimulatedDevice::default()
    }
}

fn constant(micros: u64, servers: u32) -> SimulatedDevice {
    let time_ns = Nanos::micros(micros);
    base(SimulatedService::Constant { time_ns }, servers)
}

fn exponential(micros: u64, servers: u32) -> SimulatedDevice {
    let mean_ns = Nanos::micros(micros);
    base(SimulatedService::Exponential { mean_ns }, servers)
}

fn lognormal(micros: u64, sigma: f64, servers: u32) -> SimulatedDevice {
    let median_ns = Nanos::micros(micros);
    base(SimulatedService::Lognormal { median_ns, sigma }, servers)
}

fn bimodal(fast: u64, slow: u64, slow_share: f64) -> SimulatedDevice {
    let (fast_ns, slow_ns) = (Nanos::micros(fast), Nanos::micros(slow));
    base(
        SimulatedService::Bimodal {
            fast_ns,
            slow_ns,
            slow_share,
        },
        64,
    )
}

fn stalls(device: SimulatedDevice, at: impl Iterator<Item = f64>, length: f64) -> SimulatedDevice {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let pause = |at: f64| SimulatedPause::new(nanos(at), nanos(length));
    SimulatedDevice {
        stalls: at.map(pause).collect(),
        ..device
    }
}

fn periodic(device: SimulatedDevice, every: f64, length: f64) -> SimulatedDevice {
    stalls(device, (0..200).map(|number| 2.5 + every * f64::from(number)), length)
}

fn credits(rate: u64, burst: u64, bucket: u64) -> SimulatedDevice {
    SimulatedDevice {
        layers: vec![SimulatedLayer {
            rate,
            burst,
            bucket,
            ..SimulatedLayer::default()
        }],
        ..constant(500, 64)
    }
}

fn neighbour(device: SimulatedDevice, every: u64, length: u64, slower: f64) -> SimulatedDevice {
    SimulatedDevice {
        neighbour: Some(SimulatedNeighbour {
            interval_ns: Nanos::millis(every),
            length_ns: Nanos::millis(length),
            slowdown: slower,
        }),
        ..device
    }
}

fn mean(name: &'static str, rate: f64, device: fn(f64, f64) -> SimulatedDevice) -> Case {
    Case {
        name,
        promised: Promised::Mean { rate },
        device,
        reads: 100.0,
        delivers: None,
        credits: None,
    }
}

fn quantile(name: &'static str, of: &'static str, rate: f64, device: fn(f64, f64) -> SimulatedDevice) -> Case {
    Case {
        promised: Promised::Quantile { name: of, rate },
        ..mean(name, rate, device)
    }
}

fn rate(name: &'static str, device: fn(f64, f64) -> SimulatedDevice, delivers: fn(f64, f64) -> f64) -> Case {
    Case {
        promised: Promised::Rate,
        delivers: Some(delivers),
        ..mean(name, 0.0, device)
    }
}

/// All devices with their promises.
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
pub fn all() -> Vec<Case> {
    vec![
        mean("constant 2 ms", 1000.0, |_, _| constant(2000, 64)),
        mean("uniform 1 to 3 ms", 1000.0, |_, _| {
            base(
                SimulatedService::Uniform {
                    low_ns: Nanos::millis(1),
                    high_ns: Nanos::millis(3),
                },
                64,
            )
        }),
        mean("lognormal 1 ms, sigma 0.5", 2000.0, |_, _| lognormal(1000, 0.5, 64)),
        quantile("lognormal 1 ms, sigma 0.5", "p99", 2000.0, |_, _| {
            lognormal(1000, 0.5, 64)
        }),
        mean("exponential 2 ms", 1000.0, |_, _| exponential(2000, 64)),
        mean("cache 90 % 50 us, 10 % 5 ms", 2000.0, |_, _| bimodal(50, 5000, 0.1)),
        mean("95 % 0.3 ms, 5 % 45 ms", 4000.0, |_, _| bimodal(300, 45_000, 0.05)),
        mean("20 ms, 256 wide", 2000.0, |_, _| constant(20_000, 256)),
        mean("one server, utilisation 0.5", 500.0, |_, _| exponential(1000, 1)),
        mean("one server, utilisation 0.7", 700.0, |_, _| exponential(1000, 1)),
        quantile("one server, utilisation 0.7", "p99", 700.0, |_, _| exponential(1000, 1)),
        mean("one server, utilisation 0.9", 4500.0, |_, _| exponential(200, 1)),
        mean("one server, utilisation 0.95", 9500.0, |_, _| exponential(100, 1)),
        mean("capped at 1,000, 700 requested", 700.0, |_, _| SimulatedDevice {
            iops_cap: 1000,
            ..lognormal(500, 0.5, 64)
        }),
        mean("cache in front of 2 ms, 60 % hits", 1000.0, |_, _| SimulatedDevice {
            cache: Some(SimulatedCache {
                holds: CacheContents::Share { hits: 0.6 },
                time_ns: Nanos::micros(80),
            }),
            ..lognormal(2000, 0.3, 64)
        }),
        Case {
            reads: 0.0,
            ..mean("write buffer that holds", 500.0, |_, _| SimulatedDevice {
                write_buffer: Some(SimulatedWriteBuffer {
                    size: Bytes::gib(4),
                    slowdown: 5.0,
                }),
                ..lognormal(300, 0.4, 16)
            })
        },
        mean("drift of 0.1 % a second", 1000.0, |_, _| SimulatedDevice {
            drift_per_second: 0.001,
            ..lognormal(1000, 0.3, 64)
        }),
        mean("stall of 0.1 s every 5 s", 1000.0, |_, _| {
            periodic(lognormal(1000, 0.3, 64), 5.0, 0.1)
        }),
        quantile("one stall of 0.6 s", "p99.9", 1000.0, |from, to| {
            stalls(lognormal(1000, 0.3, 64), std::iter::once((from + to) / 2.0), 0.6)
        }),
        mean("neighbour, 1.3 times slower", 1000.0, |_, _| {
            neighbour(lognormal(1000, 0.3, 64), 2000, 500, 1.3)
        }),
        rate(
            "cap of 1,000",
            |_, _| SimulatedDevice {
                iops_cap: 1000,
                ..constant(500, 64)
            },
            |rate, until| rate.min(1000.0) * until,
        ),
        rate(
            "one server of 1 ms",
            |_, _| exponential(1000, 1),
            |rate, until| rate.min(1000.0) * until,
        ),
        rate(
            "four servers, lognormal",
            |_, _| lognormal(4000, 0.5, 4),
            |rate, until| rate.min(4.0 / (0.004 * (0.125f64).exp())) * until,
        ),
        rate(
            "200 ms, 256 wide",
            |_, _| constant(200_000, 256),
            |rate, until| rate.min(1280.0) * until,
        ),
        rate(
            "cap of 1,000 refilled every 100 ms",
            |_, _| SimulatedDevice {
                layers: vec![SimulatedLayer {
                    rate: 1000,
                    quantum_ns: Nanos::millis(100),
                    ..SimulatedLayer::default()
                }],
                ..constant(500, 64)
            },
            |rate, until| rate.min(1000.0) * until,
        ),
        Case {
            credits: Some((2000.0, 500.0, 120_000.0)),
            ..rate(
                "500, bursts to 2,000, credits of 120,000",
                |_, _| credits(500, 2000, 120_000),
                |rate, until| (rate.min(2000.0) * until).min(500.0 * until + 120_000.0),
            )
        },
        Case {
            reads: 0.0,
            ..rate(
                "2,000, from 200,000 writes on 400",
                |_, _| SimulatedDevice {
                    write_buffer: Some(SimulatedWriteBuffer {
                        size: Bytes(200_000 * 4096),
                        slowdown: 5.0,
                    }),
                    ..constant(1000, 2)
                },
                |rate, until| {
                    let full = 200_000.0 / rate.min(2000.0);
                    rate.min(2000.0) * until.min(full) + rate.min(400.0) * (until - full).max(0.0)
                },
            )
        },
        rate(
            "1,000, drift of 0.1 % a second",
            |_, _| SimulatedDevice {
                drift_per_second: 0.001,
                ..constant(1000, 1)
            },
            |rate, until| {
                // The capacity falls below the rate at some time; what is due then piles up.
                let falls = ((1000.0 / rate - 1.0) / 0.001).clamp(0.0, until);
                rate * falls + 1e6 * ((1.0 + 0.001 * until) / (1.0 + 0.001 * falls)).ln()
            },
        ),
        rate(
            "1,000, stall of 0.3 s every 10 s",
            |_, _| periodic(constant(2000, 2), 10.0, 0.3),
            |rate, until| rate.min(970.0) * until,
        ),
    ]
}
