//! How fast: rates, pauses, limits of latency.

use super::row::*;
use super::special;
use crate::fio::lower::{pace as lower, system};
use crate::fio::options::pace;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    time(first(1400), field!(pace.thinktime), Unit::Microseconds).default("0").example("500")
        .help("Pause after operations (bare: microseconds).").means(lower::pauses),
    time(second(1410), field!(pace.thinktime_spin), Unit::Microseconds).default("0").example("100")
        .help("Part of the pause that is spent computing (bare: microseconds)."),
    int(first(1420), field!(pace.thinktime_blocks)).default("1").example("8").help("Operations between two pauses."),
    word(second(1430), "thinktime_blocks_type", pace::ThinkBlocks::WORDS).default("complete").example("issue")
        .help("Which operations count towards a pause."),
    time(second(1440), field!(pace.thinktime_iotime), Unit::Seconds).default("0").example("1")
        .help("Time of operations between two pauses (bare: seconds)."),
    int(second(1450), field!(pace.thinkcycles)).default("0").example("1000")
        .help("Processor cycles to burn after each operation."),
    per_direction(first(1460), field!(pace.rate), Unit::Bytes).example("10m,5m")
        .help("Bytes per second of each clone and direction.").means(lower::pacing),
    per_direction(first(1470), field!(pace.rate_min), Unit::Bytes).aliases(&["ratemin"]).example("1m")
        .help("Bytes per second below which the job fails."),
    word(first(1480), "rate_process", pace::RateProcess::WORDS).default("linear").example("poisson")
        .help("How operations are spaced in time."),
    int(second(1490), field!(pace.rate_cycle)).aliases(&["ratecycle"]).default("1000").example("500")
        .help("Milliseconds over which a minimum is judged."),
    boolean(second(1500), field!(pace.rate_ignore_thinktime)).default("0").example("1")
        .help("Do not make up for pauses."),
    per_direction(first(1510), field!(pace.rate_iops), Unit::Bytes).example("700,300")
        .help("Operations per second of each clone and direction."),
    per_direction(first(1520), field!(pace.rate_iops_min), Unit::Bytes).example("100")
        .help("Operations per second below which the job fails."),
    per_direction(first(1530), field!(pace.max_latency), Unit::Microseconds).example("10ms")
        .help("Latency at which the job fails (bare: microseconds).").means(system::latency_max),
    time(first(1540), field!(pace.latency_target), Unit::Microseconds).default("0").example("20ms")
        .help("Latency to keep while the depth is sought (bare: microseconds).").means(lower::control),
    time(first(1550), field!(pace.latency_window), Unit::Microseconds).default("0").example("500ms")
        .help("Time over which that is judged (bare: microseconds)."),
    real(first(1560), field!(pace.latency_percentile)).most(100).default("100").example("95")
        .help("Share of operations that have to keep it, in percent."),
    boolean(first(1570), field!(pace.latency_run)).default("0").example("1")
        .help("Go on adjusting the depth until the runtime is over."),
    word(first(2480), "steadystate", pace::Criterion::WORDS).tail(special::steady_state).aliases(&["ss"])
        .default("iops_slope:0.01%").example("iops:5%")
        .help("End when this measure no longer changes by more than the limit."),
    time(first(2490), field!(pace.steadystate_duration), Unit::Seconds).aliases(&["ss_dur"]).default("0")
        .example("10").help("Time over which a steady state is judged (bare: seconds)."),
    time(first(2500), field!(pace.steadystate_ramp_time), Unit::Seconds).aliases(&["ss_ramp"]).default("0")
        .example("5").help("Time before that begins (bare: seconds)."),
    time(first(2510), field!(pace.steadystate_check_interval), Unit::Seconds).aliases(&["ss_interval"]).default("1")
        .example("2").help("Time between two samples of it (bare: seconds)."),
};
