//! fio options for measurement and reports.

use super::row::*;
use super::special;
use crate::fio::lower::{report as lower, system};
use crate::fio::options::report;
use crate::fio::print;

/// Rows of the option table for measurement and reports.
pub const ROWS: &[Row] = rows! {
    flag(tier1(2060), field!(report.group_reporting)).help("Report all jobs of a group as one.")
        .shows("group_reporting", |options| Some(options.report.group_reporting.to_string()))
        .prints(|section| print::bare(section.clones().len() > 1))
        .effects(&[("--group_reporting", "plan.groups.*.merged=[true]; shown.group_reporting.0=true")]),
    boolean(tier1(2070), field!(report.stats)).default("1").example("0").help("Include the job in reports.")
        .shows("stats", |options| (!options.report.stats).then(|| "false".into()))
        .effects(&[("--stats=0", "shown.stats.0=false")]),
    boolean(tier1(2180), field!(report.clat_percentiles)).default("1").example("0")
        .help("Report percentiles of completion latency.").shows("percentiles_of", lower::percentile_names)
        .effects(&[("--clat_percentiles=0", "shown.percentiles_of.0=none")]),
    boolean(tier1(2190), field!(report.lat_percentiles)).default("0").example("1")
        .help("Report percentiles of total latency.")
        .effects(&[("--lat_percentiles=1", "shown.percentiles_of.0=clat,lat")]),
    boolean(tier1(2200), field!(report.slat_percentiles)).default("0").example("1")
        .help("Report percentiles of submission latency.")
        .effects(&[("--slat_percentiles=1", "shown.percentiles_of.0=slat,clat")]),
    reals(tier1(2210), field!(report.percentile_list)).max(100)
        .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99").example("50:99:99.9")
        .help("Percentiles to report.")
        .shows("percentile_list", |options| {
            Some(options.report.percentile_list.iter().map(f64::to_string).collect::<Vec<_>>().join(":"))
        })
        .effects(&[("--percentile_list=50:99.9", "shown.percentile_list.0=50:99.9")]),
    int(tier1(2220), field!(report.significant_figures)).min(1).max(10).default("4").example("6")
        .help("Significant digits in the normal report.")
        .shows("significant_figures", |options| Some(options.report.significant_figures.to_string()))
        .effects(&[("--significant_figures=6", "shown.significant_figures.0=6")]),
    keyword(tier1(2300), "unified_rw_reporting", report::Unified::WORDS).default("none").example("mixed")
        .help("Report reads, writes and trims together.").shows("unified", lower::unified)
        .effects(&[
            ("--unified_rw_reporting=mixed", "shown.unified.0=mixed"),
            ("--unified_rw_reporting=2", "shown.unified.0=both"),
        ]),
    boolean(tier1(2230), field!(report.disk_util)).default("1").example("0").help("Report the \
        utilisation of the devices.")
        .effects(&[("--disk_util=0", "shown.disk_util=false")]),
    boolean(tier1(2240), field!(report.gtod_reduce)).default("0").example("1").help("Measure no latencies.")
        .then(special::reduce_clock_calls)
        .effects(&[("--gtod_reduce=1", "shown.disabled.0=slat,clat,lat; shown.percentiles_of.0=none")]),
    boolean(tier1(2250), field!(report.disable_lat)).default("0").example("1").help("Measure no total latency.")
        .shows("disabled", lower::disabled)
        .effects(&[("--disable_lat=1", "shown.disabled.0=lat")]),
    boolean(tier1(2260), field!(report.disable_clat)).default("0").example("1")
        .help("Measure no completion latency.")
        .effects(&[("--disable_clat=1", "shown.disabled.0=clat")]),
    boolean(tier1(2270), field!(report.disable_slat)).default("0").example("1")
        .help("Measure no submission latency.")
        .effects(&[("--disable_slat=1", "shown.disabled.0=slat")]),
    boolean(tier1(2280), field!(report.disable_bw_measurement)).aliases(&["disable_bw"]).default("0").example("1")
        .help("Do not sample bandwidth."),
    keyword(tier1(2410), "kb_base", report::KbBase::WORDS).default("1024").example("1000")
        .help("Multiplier of `k` in sizes and reports.")
        .shows("kb_base", |options| (options.report.kb_base == report::KbBase::Decimal).then(|| "1000".into()))
        .effects(&[("--kb_base=1000 --bs=4k", "stream.pattern.sizes.read.size=4000; shown.kb_base.0=1000")]),
    keyword(tier1(2420), "unit_base", report::UnitBase::WORDS).default("0").example("8").help("Unit of rates in reports: bytes or bits.")
        .shows("unit_base", lower::unit)
        .effects(&[
            ("--unit_base=1", "shown.unit_base.0=1"),
            ("--unit_base=8", "shown.unit_base.0=8"),
        ]),
    boolean(tier2(2040), field!(report.block_error_percentiles)).default("0").example("1")
        .help("Report the lifetime of blocks until their first error.").lowers_with(system::lower_block_lifetimes)
        .prints(|section| print::on(section.stream().on_error.block_lifetimes))
        .effects(&[("--rw=trimwrite --block_error_percentiles=1", "stream.on_error.block_lifetimes=true")]),
    int(tier2(2050), field!(report.job_start_clock_id)).default("0").example("1")
        .help("ID of the clock for the job's start time in reports."),
};
