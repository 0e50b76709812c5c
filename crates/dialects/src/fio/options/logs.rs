//! Logs of operations and averages.

use super::typed::{CpuRange, LogName};

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logs {
    pub per_job_logs: bool,
    pub write_bw_log: Option<LogName>,
    pub write_lat_log: Option<LogName>,
    pub write_iops_log: Option<LogName>,
    pub write_hist_log: Option<LogName>,
    pub bwavgtime: i64,
    pub iopsavgtime: i64,
    pub log_avg_msec: i64,
    pub log_hist_msec: i64,
    pub log_hist_coarseness: i64,
    pub log_window_value: WindowValue,
    pub log_entries: i64,
    pub log_offset: bool,
    pub log_prio: bool,
    pub log_issue_time: bool,
    pub log_compression: i64,
    pub log_compression_cpus: Vec<CpuRange>,
    pub log_store_compressed: bool,
    pub log_alternate_epoch: bool,
    pub log_alternate_epoch_clock_id: i64,
}

choices! {
    /// The value of a log entry.
    WindowValue at logs.log_window_value {
        #[default] Average: "avg" "the mean";
        Maximum: "max" "the largest";
        Both: "both" "both";
        + "0" "as avg" => Average; "1" "as max" => Maximum;
    }
}
