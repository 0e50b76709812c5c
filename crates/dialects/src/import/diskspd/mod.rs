//! Parts common to DiskSpd's two reports: the settings of a time span, and the load that they mean.
//! `-o` counts per target and thread, `-t` is threads per target, `-F` is threads for all targets.

mod command;
mod settings;
pub(super) mod text;
mod text_tables;
pub(super) mod xml;

use model::observation::{Latency, Load};
use model::{Bytes, Nanos};

pub(super) use command::parse_load as load_of_command;

/// Settings of a time span that the report contains.
#[derive(Clone, Debug, Default)]
struct Settings {
    number: u32,
    duration_s: Option<u64>,
    warm_up_s: Option<u64>,
    measures_latency: bool,
    /// Threads of the pool (`-F`).
    pool_threads: Option<u32>,
    /// Requests of each pool thread over all targets (`-O`).
    pool_requests: Option<u32>,
    targets: Vec<TargetSettings>,
    /// The last line of the last target was read: nothing is truncated.
    complete: bool,
}

/// Settings of a target.
#[derive(Clone, Debug, Default)]
struct TargetSettings {
    path: String,
    read_percent: Option<f64>,
    block: Option<u64>,
    random: Option<bool>,
    requests: Option<u32>,
    threads: Option<u32>,
    bypasses_cache: Option<bool>,
    writes_through: Option<bool>,
    limit: Option<Throttle>,
    pauses: bool,
    size: Option<u64>,
}

/// The limit of each thread on a target (`-g`).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Throttle {
    Iops(f64),
    BytesPerMs(f64),
}

impl Settings {
    /// The load of these settings. `threads` is the number of threads in the results.
    fn load(&self, threads: Option<u32>) -> Load {
        let pool = self.pool(threads);
        let workers = pool.or_else(|| self.sum(|target| target.threads.map(u64::from)).map(|sum| sum as u32));
        let depth = match (pool, self.pool_requests) {
            (Some(threads), Some(requests)) if requests > 0 => Some(u64::from(threads) * u64::from(requests)),
            (Some(threads), _) => self
                .sum(|target| target.requests.map(u64::from))
                .map(|requests| requests * u64::from(threads)),
            (None, _) => self.sum(|target| Some(u64::from(target.requests?) * u64::from(target.threads?))),
        };
        let limited = self.targets.iter().any(|target| target.limit.is_some());
        let pauses = self.targets.iter().any(|target| target.pauses);
        Load {
            targets: self.targets.iter().map(|target| target.path.clone()).collect(),
            workers: workers.or(threads),
            depth,
            block: self.same(|target| target.block).map(Bytes),
            read_percent: self.same(|target| target.read_percent),
            random: self.same(|target| target.random),
            closed_loop: self.complete.then_some(!limited && !pauses),
            rate_iops: limited.then(|| self.rate(pool)).flatten(),
            direct: self.same(|target| target.bypasses_cache),
            warm_up_ns: self.warm_up_s.map(Nanos::secs),
            size: self.same(|target| target.size).map(Bytes),
            ..Load::default()
        }
    }

    /// Threads of the pool. Reports before 2.1 do not mention a pool; they only omit the threads
    /// per file.
    fn pool(&self, threads: Option<u32>) -> Option<u32> {
        let silent = self.complete && self.targets.iter().all(|target| target.threads.is_none());
        self.pool_threads.or(threads.filter(|_| silent))
    }

    fn rate(&self, pool: Option<u32>) -> Option<f64> {
        let target_rate = |target: &TargetSettings| {
            let threads = f64::from(pool.or(target.threads)?);
            match target.limit? {
                Throttle::Iops(iops) => Some(threads * iops),
                Throttle::BytesPerMs(bytes) => Some(threads * bytes * 1000.0 / target.block? as f64),
            }
        };
        self.targets.iter().map(target_rate).sum()
    }

    fn sum(&self, value: impl Fn(&TargetSettings) -> Option<u64>) -> Option<u64> {
        let sum: Option<u64> = self.targets.iter().map(value).sum();
        sum.filter(|_| !self.targets.is_empty())
    }

    /// The value that all targets share; `None` if they differ or one is unknown.
    fn same<T: PartialEq>(&self, value: impl Fn(&TargetSettings) -> Option<T>) -> Option<T> {
        let mut values = self.targets.iter().map(value);
        let first = values.next()??;
        values.all(|value| value.as_ref() == Some(&first)).then_some(first)
    }
}

/// The size of the targets, if it is the same for all.
fn same_size(mut sizes: impl Iterator<Item = u64>) -> Option<Bytes> {
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(Bytes(first))
}

/// A latency with these values at shares; those at 0 and 1 are the minimum and the maximum.
fn latency_of(quantiles: &[(f64, f64)]) -> Latency {
    let value_at = |wanted: f64| {
        let entry = quantiles.iter().find(|(share, _)| *share == wanted);
        entry.map(|(_, value)| *value)
    };
    let inner = quantiles.iter().filter(|(share, _)| *share > 0.0 && *share < 1.0);
    Latency {
        min_ns: value_at(0.0),
        max_ns: value_at(1.0),
        quantiles: inner.copied().collect(),
        ..Latency::default()
    }
}

/// Converts milliseconds, the unit of latencies in every DiskSpd report.
fn from_ms(value: f64) -> f64 {
    value * 1e6
}

/// Converts seconds with a fraction.
fn from_seconds(value: f64) -> Nanos {
    Nanos((value * 1e9).round() as u64)
}
