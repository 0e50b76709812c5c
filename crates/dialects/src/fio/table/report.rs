//! What is measured and told.

use super::row::*;
use super::special;
use crate::fio::lower::{report as lower, system};
use crate::fio::options::report;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    flag(first(2060), field!(report.group_reporting)).help("One entry for all jobs of a group.")
        .shows("group_reporting", lower::merged),
    boolean(first(2070), field!(report.stats)).default("1").example("0").help("The job appears in reports.")
        .shows("stats", lower::hidden),
    boolean(first(2180), field!(report.clat_percentiles)).default("1").example("0")
        .help("Percentiles of completion latency.").shows("percentiles_of", lower::percentiles_of),
    boolean(first(2190), field!(report.lat_percentiles)).default("0").example("1")
        .help("Percentiles of total latency."),
    boolean(first(2200), field!(report.slat_percentiles)).default("0").example("1")
        .help("Percentiles of submission latency."),
    reals(first(2210), field!(report.percentile_list)).most(100)
        .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99").example("50:99:99.9")
        .help("Which percentiles.").shows("percentile_list", lower::percentile_list),
    int(first(2220), field!(report.significant_figures)).least(1).most(10).default("4").example("6")
        .help("Digits of figures in the normal report.").shows("significant_figures", lower::significant_figures),
    word(first(2300), "unified_rw_reporting", report::Unified::WORDS).default("none").example("mixed")
        .help("Reads, writes and trims are told together.").shows("unified", lower::unified),
    boolean(first(2230), field!(report.disk_util)).default("1").example("0").help("Activity of the devices below."),
    boolean(first(2240), field!(report.gtod_reduce)).default("0").example("1").help("Measure no latencies.")
        .then(special::reduce_clock_calls),
    boolean(first(2250), field!(report.disable_lat)).default("0").example("1").help("Measure no total latency.")
        .shows("disabled", lower::disabled),
    boolean(first(2260), field!(report.disable_clat)).default("0").example("1")
        .help("Measure no completion latency."),
    boolean(first(2270), field!(report.disable_slat)).default("0").example("1")
        .help("Measure no submission latency."),
    boolean(first(2280), field!(report.disable_bw_measurement)).aliases(&["disable_bw"]).default("0").example("1")
        .help("Take no samples of bandwidth."),
    word(first(2410), "kb_base", report::KbBase::WORDS).default("1024").example("1000")
        .help("What k means in sizes and reports.").shows("kb_base", lower::kilo),
    word(first(2420), "unit_base", report::UnitBase::WORDS).default("0").example("8").help("Bytes or bits in reports.")
        .shows("unit_base", lower::unit),
    boolean(second(2040), field!(report.block_error_percentiles)).default("0").example("1")
        .help("Life of blocks until their first error.").means(system::block_lifetimes),
    int(second(2050), field!(report.job_start_clock_id)).default("0").example("1")
        .help("Clock of the start time in reports."),
};
