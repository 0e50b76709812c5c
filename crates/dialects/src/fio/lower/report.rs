//! Lowers samples, logs and display settings, under the names that reports use.

use model::Nanos;
use model::plan::Windows;

use super::queue;
use crate::fio::draft::Draft;
use crate::fio::options::JobOptions;
use crate::fio::options::report::{Unified, UnitBase};
use crate::fio::print::{join_chosen, non_default};

/// The windows of latency and histogram logs.
pub(in crate::fio) fn lower_windows(draft: &mut Draft<'_>) {
    let logs = &draft.options.logs;
    let mut windows: Vec<Windows> = Vec::new();
    let mut add = |length_ms: i64, histograms: bool| {
        let length_ns = Nanos::millis(length_ms.max(0) as u64);
        match windows.iter_mut().find(|window| window.length_ns == length_ns) {
            Some(window) => window.histograms |= histograms,
            None => windows.push(Windows { length_ns, histograms }),
        }
    };
    if logs.write_lat_log.is_some() && logs.log_avg_msec > 0 {
        add(logs.log_avg_msec, false);
    }
    if logs.write_hist_log.is_some() && logs.log_hist_msec > 0 {
        add(logs.log_hist_msec, true);
    }
    draft.parts.job.windows = windows;
}

pub(in crate::fio) fn bandwidth_sample(options: &JobOptions) -> Nanos {
    sample(options, options.logs.bwavgtime, options.logs.write_bw_log.is_some())
}

pub(in crate::fio) fn iops_sample(options: &JobOptions) -> Nanos {
    sample(options, options.logs.iopsavgtime, options.logs.write_iops_log.is_some())
}

/// The length of a sample: the log's interval if that is shorter.
fn sample(options: &JobOptions, given_ms: i64, logged: bool) -> Nanos {
    let configured = given_ms.max(1) as u64;
    Nanos::millis(match options.logs.log_avg_msec {
        log if log > 0 && logged => configured.min(log as u64),
        _ => configured,
    })
}

pub(in crate::fio) fn unit(options: &JobOptions) -> Option<String> {
    match options.report.unit_base {
        UnitBase::Automatic => None,
        UnitBase::Bytes => Some("8".into()),
        UnitBase::Bits => Some("1".into()),
    }
}

pub(in crate::fio) fn percentile_names(options: &JobOptions) -> Option<String> {
    let report = &options.report;
    let names = join_chosen([
        ("slat", report.slat_percentiles),
        ("clat", report.clat_percentiles),
        ("lat", report.lat_percentiles),
    ]);
    names.or(Some("none".into()))
}

pub(in crate::fio) fn disabled(options: &JobOptions) -> Option<String> {
    let report = &options.report;
    join_chosen([
        ("slat", report.disable_slat),
        ("clat", report.disable_clat),
        ("lat", report.disable_lat),
    ])
}

pub(in crate::fio) fn unified(options: &JobOptions) -> Option<String> {
    let word = match options.report.unified_rw_reporting {
        Unified::None => "none",
        Unified::Mixed => "mixed",
        Unified::Both => "both",
    };
    Some(word.into())
}

/// The configured depth, where the effective one differs.
pub(in crate::fio) fn depth(options: &JobOptions) -> Option<String> {
    non_default(options.queue.iodepth, i64::from(queue::depth(options)))
}
