//! Logs of single operations and of averages.

use super::row::*;
use super::special;
use super::typed::{CpuRange, LogName};

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
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

/// The rows of these options.
pub const ROWS: &[Row] = &[
    boolean(first(1840), "per_job_logs", |job| &mut job.logs.per_job_logs)
        .default("1")
        .help("Each clone has log files of its own.")
        .example("0"),
    special(first(1850), "write_bw_log", special::bw_log)
        .help("Log of bandwidth.")
        .example("run"),
    special(first(1870), "write_lat_log", special::lat_log)
        .help("Logs of the latencies.")
        .example("run"),
    special(first(1880), "write_iops_log", special::iops_log)
        .help("Log of operations per second.")
        .example("run"),
    special(first(1940), "write_hist_log", special::hist_log)
        .help("Log of latency histograms.")
        .example("run"),
    int(first(1860), "bwavgtime", |job| &mut job.logs.bwavgtime)
        .default("500")
        .help("Milliseconds of a sample of bandwidth.")
        .example("1000"),
    int(first(1890), "iopsavgtime", |job| &mut job.logs.iopsavgtime)
        .default("500")
        .help("Milliseconds of a sample of operations per second.")
        .example("1000"),
    int(first(1910), "log_avg_msec", |job| &mut job.logs.log_avg_msec)
        .default("0")
        .help("Milliseconds over which a log entry averages; 0 for every operation.")
        .example("500"),
    int(first(1920), "log_hist_msec", |job| &mut job.logs.log_hist_msec)
        .default("0")
        .help("Milliseconds between two histograms.")
        .example("1000"),
    int(second(1930), "log_hist_coarseness", |job| {
        &mut job.logs.log_hist_coarseness
    })
    .least(0)
    .most(6)
    .default("0")
    .help("Halvings of the histogram's resolution.")
    .example("2"),
    word(second(1950), "log_window_value", LOG_WINDOW_VALUE_WORDS)
        .aliases(&["log_max_value"])
        .default("avg")
        .help("What a log entry says of its time.")
        .example("max"),
    int(second(1900), "log_entries", |job| &mut job.logs.log_entries)
        .least(1024)
        .most(1048576)
        .default("1024")
        .without_effect("memory for logs grows as it is needed")
        .help("Entries to reserve memory for.")
        .example("4096"),
    boolean(first(1960), "log_offset", |job| &mut job.logs.log_offset)
        .default("0")
        .help("Add the offset.")
        .example("1"),
    boolean(second(1970), "log_prio", |job| &mut job.logs.log_prio)
        .default("0")
        .help("Add the priority.")
        .example("1"),
    boolean(second(1980), "log_issue_time", |job| &mut job.logs.log_issue_time)
        .default("0")
        .help("Add the time of issue.")
        .example("1"),
    int(second(1990), "log_compression", |job| &mut job.logs.log_compression)
        .least(1024)
        .most(536870912)
        .without_effect("logs take little memory while a job runs")
        .help("Compress when this much has gathered.")
        .example("1m"),
    special(second(2000), "log_compression_cpus", special::log_cpus)
        .without_effect("logs take little memory while a job runs")
        .help("Processors that compress.")
        .example("0-1"),
    boolean(second(2010), "log_store_compressed", |job| {
        &mut job.logs.log_store_compressed
    })
    .default("0")
    .help("Store logs compressed, in files whose names end in .fz; --inflate-log prints them.")
    .example("1"),
    boolean(second(2020), "log_alternate_epoch", |job| {
        &mut job.logs.log_alternate_epoch
    })
    .aliases(&["log_unix_epoch"])
    .default("0")
    .help("Times of the wall clock.")
    .example("1"),
    int(second(2030), "log_alternate_epoch_clock_id", |job| {
        &mut job.logs.log_alternate_epoch_clock_id
    })
    .default("0")
    .help("Number of the kernel's clock that those times are taken from.")
    .example("1"),
];

/// What a log entry says of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    /// `avg`: the mean.
    #[default]
    Average,
    /// `max`: the largest.
    Maximum,
    /// `both`: both.
    Both,
}

const LOG_WINDOW_VALUE_WORDS: &[Word] = &[
    Word::new("avg", "the mean", |job| {
        job.logs.log_window_value = WindowValue::Average
    }),
    Word::new("max", "the largest", |job| {
        job.logs.log_window_value = WindowValue::Maximum
    }),
    Word::new("both", "both", |job| job.logs.log_window_value = WindowValue::Both),
    Word::new("0", "as avg", |job| job.logs.log_window_value = WindowValue::Average),
    Word::new("1", "as max", |job| job.logs.log_window_value = WindowValue::Maximum),
];
