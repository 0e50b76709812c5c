//! How fast: rates, pauses, limits of latency.

use super::row::*;
use super::special;
use crate::fio::values::Unit;
use model::PerDirection;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Pace {
    pub thinktime: u64,
    pub thinktime_spin: u64,
    pub thinktime_blocks: i64,
    pub thinktime_blocks_type: ThinkBlocks,
    pub thinktime_iotime: u64,
    pub thinkcycles: i64,
    pub rate: PerDirection<u64>,
    pub rate_min: PerDirection<u64>,
    pub rate_process: RateProcess,
    pub rate_cycle: i64,
    pub rate_ignore_thinktime: bool,
    pub rate_iops: PerDirection<u64>,
    pub rate_iops_min: PerDirection<u64>,
    pub max_latency: PerDirection<u64>,
    pub latency_target: u64,
    pub latency_window: u64,
    pub latency_percentile: f64,
    pub latency_run: bool,
    pub steadystate: Criterion,
    pub steadystate_duration: u64,
    pub steadystate_ramp_time: u64,
    pub steadystate_check_interval: u64,
    pub steadystate_limit: f64,
    pub steadystate_percent: bool,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    time(
        first(1400),
        "thinktime",
        |job| &mut job.pace.thinktime,
        Unit::Microseconds,
    )
    .default("0")
    .help("Pause after operations (bare: microseconds).")
    .example("500"),
    time(
        second(1410),
        "thinktime_spin",
        |job| &mut job.pace.thinktime_spin,
        Unit::Microseconds,
    )
    .default("0")
    .help("Part of the pause that is spent computing (bare: microseconds).")
    .example("100"),
    int(first(1420), "thinktime_blocks", |job| &mut job.pace.thinktime_blocks)
        .default("1")
        .help("Operations between two pauses.")
        .example("8"),
    word(second(1430), "thinktime_blocks_type", THINKTIME_BLOCKS_TYPE_WORDS)
        .default("complete")
        .help("Which operations count towards a pause.")
        .example("issue"),
    time(
        second(1440),
        "thinktime_iotime",
        |job| &mut job.pace.thinktime_iotime,
        Unit::Seconds,
    )
    .default("0")
    .help("Time of operations between two pauses (bare: seconds).")
    .example("1"),
    int(second(1450), "thinkcycles", |job| &mut job.pace.thinkcycles)
        .default("0")
        .help("Processor cycles to burn after each operation.")
        .example("1000"),
    per_direction(first(1460), "rate", |job| &mut job.pace.rate, Unit::Bytes)
        .help("Bytes per second of each clone and direction.")
        .example("10m,5m"),
    per_direction(first(1470), "rate_min", |job| &mut job.pace.rate_min, Unit::Bytes)
        .aliases(&["ratemin"])
        .help("Bytes per second below which the job fails.")
        .example("1m"),
    word(first(1480), "rate_process", RATE_PROCESS_WORDS)
        .default("linear")
        .help("How operations are spaced in time.")
        .example("poisson"),
    int(second(1490), "rate_cycle", |job| &mut job.pace.rate_cycle)
        .aliases(&["ratecycle"])
        .default("1000")
        .help("Milliseconds over which a minimum is judged.")
        .example("500"),
    boolean(second(1500), "rate_ignore_thinktime", |job| {
        &mut job.pace.rate_ignore_thinktime
    })
    .default("0")
    .help("Do not make up for pauses.")
    .example("1"),
    per_direction(first(1510), "rate_iops", |job| &mut job.pace.rate_iops, Unit::Bytes)
        .help("Operations per second of each clone and direction.")
        .example("700,300"),
    per_direction(
        first(1520),
        "rate_iops_min",
        |job| &mut job.pace.rate_iops_min,
        Unit::Bytes,
    )
    .help("Operations per second below which the job fails.")
    .example("100"),
    per_direction(
        first(1530),
        "max_latency",
        |job| &mut job.pace.max_latency,
        Unit::Microseconds,
    )
    .help("Latency at which the job fails (bare: microseconds).")
    .example("10ms"),
    time(
        first(1540),
        "latency_target",
        |job| &mut job.pace.latency_target,
        Unit::Microseconds,
    )
    .default("0")
    .help("Latency to keep while the depth is sought (bare: microseconds).")
    .example("20ms"),
    time(
        first(1550),
        "latency_window",
        |job| &mut job.pace.latency_window,
        Unit::Microseconds,
    )
    .default("0")
    .help("Time over which that is judged (bare: microseconds).")
    .example("500ms"),
    real(first(1560), "latency_percentile", |job| {
        &mut job.pace.latency_percentile
    })
    .most(100)
    .default("100")
    .help("Share of operations that have to keep it, in percent.")
    .example("95"),
    boolean(first(1570), "latency_run", |job| &mut job.pace.latency_run)
        .default("0")
        .help("Go on adjusting the depth until the runtime is over.")
        .example("1"),
    word(first(2480), "steadystate", STEADYSTATE_WORDS)
        .tail(special::steady_state)
        .aliases(&["ss"])
        .default("iops_slope:0.01%")
        .help("End when this measure no longer changes by more than the limit.")
        .example("iops:5%"),
    time(
        first(2490),
        "steadystate_duration",
        |job| &mut job.pace.steadystate_duration,
        Unit::Seconds,
    )
    .aliases(&["ss_dur"])
    .default("0")
    .help("Time over which a steady state is judged (bare: seconds).")
    .example("10"),
    time(
        first(2500),
        "steadystate_ramp_time",
        |job| &mut job.pace.steadystate_ramp_time,
        Unit::Seconds,
    )
    .aliases(&["ss_ramp"])
    .default("0")
    .help("Time before that begins (bare: seconds).")
    .example("5"),
    time(
        first(2510),
        "steadystate_check_interval",
        |job| &mut job.pace.steadystate_check_interval,
        Unit::Seconds,
    )
    .aliases(&["ss_interval"])
    .default("1")
    .help("Time between two samples of it (bare: seconds).")
    .example("2"),
];

/// Which operations count towards a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkBlocks {
    /// `complete`: those that completed.
    #[default]
    Complete,
    /// `issue`: those that were issued.
    Issue,
}

const THINKTIME_BLOCKS_TYPE_WORDS: &[Word] = &[
    Word::new("complete", "those that completed", |job| {
        job.pace.thinktime_blocks_type = ThinkBlocks::Complete
    }),
    Word::new("issue", "those that were issued", |job| {
        job.pace.thinktime_blocks_type = ThinkBlocks::Issue
    }),
];

/// How operations are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateProcess {
    /// `linear`: evenly.
    #[default]
    Linear,
    /// `poisson`: at random, with exponential gaps.
    Poisson,
}

const RATE_PROCESS_WORDS: &[Word] = &[
    Word::new("linear", "evenly", |job| job.pace.rate_process = RateProcess::Linear),
    Word::new("poisson", "at random, with exponential gaps", |job| {
        job.pace.rate_process = RateProcess::Poisson
    }),
];

/// What has to be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// `iops`: largest deviation of operations per second.
    Iops,
    /// `iops_slope`: slope of operations per second.
    #[default]
    IopsSlope,
    /// `bw`: largest deviation of bandwidth.
    Bw,
    /// `bw_slope`: slope of bandwidth.
    BwSlope,
    /// `lat`: largest deviation of latency.
    Lat,
    /// `lat_slope`: slope of latency.
    LatSlope,
}

const STEADYSTATE_WORDS: &[Word] = &[
    Word::new("iops", "largest deviation of operations per second", |job| {
        job.pace.steadystate = Criterion::Iops
    }),
    Word::new("iops_slope", "slope of operations per second", |job| {
        job.pace.steadystate = Criterion::IopsSlope
    }),
    Word::new("bw", "largest deviation of bandwidth", |job| {
        job.pace.steadystate = Criterion::Bw
    }),
    Word::new("bw_slope", "slope of bandwidth", |job| {
        job.pace.steadystate = Criterion::BwSlope
    }),
    Word::new("lat", "largest deviation of latency", |job| {
        job.pace.steadystate = Criterion::Lat
    }),
    Word::new("lat_slope", "slope of latency", |job| {
        job.pace.steadystate = Criterion::LatSlope
    }),
];
