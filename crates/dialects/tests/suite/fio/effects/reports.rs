//! Effects on reports.

use model::Nanos;
use model::plan::Windows;

use super::{Effect, fixed, grids, job, shown};

/// A window of logs.
fn window(length_ms: u64, histograms: bool) -> Windows {
    Windows {
        length_ns: Nanos::millis(length_ms),
        histograms,
    }
}

pub const REPORTS: &[Effect] = &[
    ("group_reporting", "--group_reporting", |plan| {
        plan.groups[0].merged && shown(plan, "group_reporting.0") == Some("true")
    }),
    ("stats", "--stats=0", |plan| shown(plan, "stats.0") == Some("false")),
    ("clat_percentiles", "--clat_percentiles=0", |plan| {
        shown(plan, "percentiles_of.0") == Some("none")
    }),
    ("lat_percentiles", "--lat_percentiles=1", |plan| {
        shown(plan, "percentiles_of.0") == Some("clat,lat")
    }),
    ("slat_percentiles", "--slat_percentiles=1", |plan| {
        shown(plan, "percentiles_of.0") == Some("slat,clat")
    }),
    ("percentile_list", "--percentile_list=50:99.9", |plan| {
        shown(plan, "percentile_list.0") == Some("50:99.9")
    }),
    ("significant_figures", "--significant_figures=6", |plan| {
        shown(plan, "significant_figures.0") == Some("6")
    }),
    ("unified_rw_reporting", "--unified_rw_reporting=mixed", |plan| {
        shown(plan, "unified.0") == Some("mixed")
    }),
    ("unified_rw_reporting", "--unified_rw_reporting=2", |plan| {
        shown(plan, "unified.0") == Some("both")
    }),
    ("disk_util", "--disk_util=0", |plan| {
        shown(plan, "disk_util") == Some("false")
    }),
    ("gtod_reduce", "--gtod_reduce=1", |plan| {
        shown(plan, "disabled.0") == Some("slat,clat,lat") && shown(plan, "percentiles_of.0") == Some("none")
    }),
    ("disable_lat", "--disable_lat=1", |plan| {
        shown(plan, "disabled.0") == Some("lat")
    }),
    ("disable_clat", "--disable_clat=1", |plan| {
        shown(plan, "disabled.0") == Some("clat")
    }),
    ("disable_slat", "--disable_slat=1", |plan| {
        shown(plan, "disabled.0") == Some("slat")
    }),
    ("kb_base", "--kb_base=1000 --bs=4k", |plan| {
        fixed(plan).read == 4000 && shown(plan, "kb_base.0") == Some("1000")
    }),
    ("unit_base", "--unit_base=1", |plan| {
        shown(plan, "unit_base.0") == Some("1")
    }),
    ("unit_base", "--unit_base=8", |plan| {
        shown(plan, "unit_base.0") == Some("8")
    }),
    ("bwavgtime", "--bwavgtime=250", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("250") && grids(plan) == [250, 500]
    }),
    ("iopsavgtime", "--iopsavgtime=250", |plan| {
        shown(plan, "iops_sample_ms.0") == Some("250") && grids(plan) == [250, 500]
    }),
    ("write_bw_log", "--write_bw_log=a --log_avg_msec=100", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("100")
    }),
    ("write_iops_log", "--write_iops_log=a --log_avg_msec=100", |plan| {
        shown(plan, "iops_sample_ms.0") == Some("100")
    }),
    ("log_avg_msec", "--write_bw_log=a --log_avg_msec=100", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("100") && grids(plan) == [100, 500]
    }),
    ("write_lat_log", "--write_lat_log=a --log_avg_msec=100", |plan| {
        job(plan).windows == [window(100, false)]
    }),
    ("log_avg_msec", "--write_lat_log=a --log_avg_msec=100", |plan| {
        job(plan).windows == [window(100, false)]
    }),
    ("write_hist_log", "--write_hist_log=a --log_hist_msec=200", |plan| {
        job(plan).windows == [window(200, true)]
    }),
    ("log_hist_msec", "--write_hist_log=a --log_hist_msec=200", |plan| {
        job(plan).windows == [window(200, true)]
    }),
    // Windows of the same length are the same.
    (
        "write_hist_log",
        "--write_lat_log=a --log_avg_msec=200 --write_hist_log=a --log_hist_msec=200",
        |plan| job(plan).windows == [window(200, true)],
    ),
];
