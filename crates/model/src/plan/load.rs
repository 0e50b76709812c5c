//! Rates, schedules and pauses.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::{Direction, PerDirection};
use crate::mix::Mix;
use crate::units::Nanos;

/// When the operations of a stream are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pacing", rename_all = "snake_case")]
pub enum Pacing {
    /// As soon as a slot is free (closed loop).
    #[default]
    Unpaced,
    /// One schedule for the stream; the mix decides the direction of each operation.
    Together {
        /// Rate of all operations together.
        rate: Rate,
    },
    /// A schedule for each direction that has one; the others are unpaced (fio `rate`,
    /// `rate_iops`). The direction that is due first issues next, so the mix follows from the
    /// rates.
    PerDirection {
        /// A rate for each direction that is paced.
        rates: PerDirection<Option<Rate>>,
    },
}

impl Pacing {
    /// The schedule of each direction. A common schedule is divided by the mix.
    pub fn by_direction(self, mix: &Mix) -> PerDirection<Option<Rate>> {
        match self {
            Pacing::Unpaced => PerDirection::default(),
            Pacing::PerDirection { rates } => rates,
            Pacing::Together { rate } => {
                let mut rates = PerDirection::default();
                let writes = mix.write_share() / 100.0;
                for direction in mix.directions() {
                    let share = match (mix, direction) {
                        (Mix::Only { .. }, _) => 1.0,
                        (Mix::TrimThenWrite, _) => 0.5,
                        (_, Direction::Write) => writes,
                        _ => 1.0 - writes,
                    };
                    // A resolution that suits any rate without overflow.
                    let per_ns = Nanos((rate.per_ns.0 as f64 / share) as u64);
                    rates[direction] = Some(Rate { per_ns, ..rate });
                }
                rates
            }
        }
    }
}

/// A schedule of due times, which do not depend on when operations complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// `amount` operations or bytes are due every `per_ns` nanoseconds. The fraction is exact, so
    /// that the shares of workers add up to the total.
    pub amount: u64,
    /// Period in which `amount` is due.
    pub per_ns: Nanos,
    /// What `amount` counts.
    pub unit: RateUnit,
    /// Evenly or at random.
    #[serde(default)]
    pub process: Process,
    /// The treatment of operations that could not be issued in time.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Delay of the first operation, so that workers that share a rate do not issue at the same
    /// moment.
    #[serde(default)]
    pub phase_ns: Nanos,
}

/// How the rate of a stream varies over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateProfile {
    /// The spans from the start of I/O on, repeated after the last.
    pub spans: Vec<RateSpan>,
    /// All operations of a second are due at its start (Vdbench `distribution=spike`).
    #[serde(default)]
    pub at_once: bool,
}

/// A time with one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSpan {
    /// Duration of the rate.
    pub length_ns: Nanos,
    /// Rate of the span in percent of the stream's rate, which is the mean of all spans.
    pub percent: f64,
}

impl RateProfile {
    /// True if the mean of its spans is the rate of the stream.
    pub fn is_valid(&self) -> bool {
        let sum = |value: fn(&RateSpan) -> f64| self.spans.iter().map(value).sum::<f64>();
        let (length, area) = (
            sum(|span| span.length_ns.0 as f64),
            sum(|span| span.length_ns.0 as f64 * span.percent),
        );
        let mean = area / length;
        (mean - 100.0).abs() < 1e-6 && self.spans.iter().all(|span| span.percent >= 0.0)
    }
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateUnit {
    /// Operations.
    Operations,
    /// Bytes.
    Bytes,
}

/// How due times are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Evenly.
    #[default]
    Linear,
    /// With exponentially distributed gaps, like those of independent users.
    Poisson,
    /// With gaps uniformly distributed between zero and twice the mean (Vdbench
    /// `distribution=uniform`).
    Uniform,
}

/// The treatment of operations that could not be issued in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They are issued as fast as possible, and their latency is measured from their due times.
    #[default]
    Unlimited,
    /// The schedule never falls further behind than this; dropped operations count as late.
    Within(
        /// The longest delay.
        Nanos,
    ),
}

impl Rate {
    /// `operations` per second, evenly.
    pub fn iops(operations: u64) -> Rate {
        Rate {
            amount: operations,
            per_ns: Nanos::secs(1),
            unit: RateUnit::Operations,
            process: Process::Linear,
            catch_up: CatchUp::Unlimited,
            phase_ns: Nanos(0),
        }
    }

    /// `bytes` per second, evenly.
    pub fn bytes(bytes: u64) -> Rate {
        Rate {
            unit: RateUnit::Bytes,
            ..Rate::iops(bytes)
        }
    }

    /// Returns the rate of worker `index` if `count` workers divide this rate. Each worker starts
    /// one interval of the total rate after the one before it, so that they alternate.
    pub fn share(self, index: u32, count: u32) -> Rate {
        let count = u64::from(count.max(1));
        let per_ns = Nanos(self.per_ns.0.saturating_mul(count));
        let phase_ns = Nanos(self.per_ns.0.saturating_mul(u64::from(index)) / self.amount.max(1));
        Rate {
            per_ns,
            phase_ns,
            ..self
        }
    }

    /// Returns the rate of a stream with `weight` out of `total`, as a fraction in lowest terms.
    #[must_use]
    pub fn weighted(self, weight: u32, total: u64) -> Rate {
        let (mut amount, mut time) = (
            u128::from(self.amount) * u128::from(weight),
            u128::from(self.per_ns.0) * u128::from(total.max(1)),
        );
        let common = greatest_divisor(amount, time).max(1);
        (amount, time) = (amount / common, time / common);
        // Larger numbers differ by less than the clock resolves.
        let excess = (128 - amount.max(time).leading_zeros()).saturating_sub(60);
        Rate {
            amount: (amount >> excess).max(1) as u64,
            per_ns: Nanos((time >> excess).max(1) as u64),
            ..self
        }
    }

    /// Operations or bytes per second.
    pub fn per_second(&self) -> f64 {
        self.amount as f64 / self.per_ns.as_secs()
    }
}

fn greatest_divisor(a: u128, b: u128) -> u128 {
    match b {
        0 => a,
        _ => greatest_divisor(b, a % b),
    }
}

/// Divides operations among streams: no stream of a flow exceeds its weighted share of the
/// operations that the flow has issued (fio `flow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// The number of the flow.
    pub id: i64,
    /// Its share is its weight divided by the sum over all running streams.
    pub weight: u32,
    /// The pause of a stream that is ahead of its share, with nothing in flight; 0 for none (fio
    /// `flow_sleep`).
    #[serde(default)]
    pub pause_ns: Nanos,
}

/// Pauses between operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Think {
    /// Length of a pause.
    pub pause_ns: Nanos,
    /// Part of the pause that is spent spinning.
    #[serde(default)]
    pub spin_ns: Nanos,
    /// Operations between pauses; 0 if only `after_ns` triggers them.
    pub operations: u32,
    /// A pause also follows after this much time of I/O, if that comes first (fio
    /// `thinktime_iotime`).
    #[serde(default)]
    pub after_ns: Option<Nanos>,
    /// Which operations count.
    pub count: ThinkCount,
    /// A paced stream does not catch up after its pauses (fio `rate_ignore_thinktime`).
    #[serde(default)]
    pub shifts_schedule: bool,
    /// Processor cycles to spin after each operation (fio `thinkcycles`).
    #[serde(default)]
    pub cycles_each: u64,
}

impl Think {
    /// A pause after this many operations.
    pub fn new(pause_ns: Nanos, operations: u32, count: ThinkCount) -> Think {
        Think {
            pause_ns,
            spin_ns: Nanos(0),
            operations,
            after_ns: None,
            count,
            shifts_schedule: false,
            cycles_each: 0,
        }
    }
}

/// Which operations count towards a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkCount {
    /// Those issued; others stay in flight during the pause (DiskSpd `-i`, `-j`).
    Issued,
    /// Those completed; the pause begins when nothing is in flight (fio `thinktime`).
    Completed,
}
