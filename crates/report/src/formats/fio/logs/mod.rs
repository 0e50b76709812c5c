//! fio's log files: bandwidth, latencies, IOPS and histograms of each worker.
//!
//! A log file is made from one of two sources, because of the amount of data:
//!
//! * Without an averaging time, a file has a line for every operation. The job must keep its
//!   [`operation_log`](model::plan::Job::operation_log), which is written during the run and read
//!   here line by line.
//! * Averages and histograms use the sums that workers keep during the run: the job's
//!   [`windows`](model::plan::Job::windows) for latencies and histograms, an interval series for
//!   bandwidth and IOPS. One hour at a million operations per second fills 250 GB as an operation
//!   log; sums need one entry per window.
//!
//! # What a request needs in the plan
//!
//! | request | plan |
//! | --- | --- |
//! | `averaging_time` and `latency` | `Job::windows` of that length |
//! | `averaging_time` and `bandwidth` or `iops` | a grid ([`GridScope::Stream`](model::plan::GridScope::Stream)) of [`LogRequest::effective_bandwidth_sample`] or [`LogRequest::effective_iops_sample`] |
//! | `histogram` and `histogram_interval` | `Job::windows` of that length with `histograms` |
//! | no `average`, and `bandwidth`, `latency` or `iops` | `Job::operation_log` |
//!
//! A latency that the job disabled (`disabled`, see the parent module) has no file; without clat
//! there are no histograms. A worker whose engine has no submission latency has an empty slat file.
//!
//! # Intended differences from fio
//! * The time of a histogram is the end of its window, and its block size is the mean of the
//!   window's operations; fio takes both from the last operation.
//! * Bandwidth and IOPS of an incomplete last window are divided by its actual length.
//! * A priority that only some operations have is not printed, because results do not record the
//!   priority of single operations.
//! * Verify reads after the measured window have no lines.

mod averages;
mod operations;
mod totals;

use std::io::{self, Write};

use model::plan::{Job, LatencyPoints, Plan, Priority, PriorityClass, Worker};
use model::results::{JobResults, Results, WorkerResults};
use model::{Direction, Nanos};

use super::settings::JobSettings;

pub use operations::write_operations;
pub use totals::{total_file_name, write_total};

/// The requested logs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// Prefix of the names of bandwidth logs (`write_bw_log`); `None` for no such log.
    pub bandwidth: Option<String>,
    /// Prefix of logs of the three latencies (`write_lat_log`).
    pub latency: Option<String>,
    /// Prefix of logs of operations per second (`write_iops_log`).
    pub iops: Option<String>,
    /// Prefix of histogram logs (`write_hist_log`).
    pub histogram: Option<String>,
    /// Each worker has its own files; otherwise all workers append to the same ones
    /// (`per_job_logs`).
    pub per_job: bool,
    /// Averaging time of a line (`log_avg_msec`); `None` for a line per operation.
    pub averaging_time: Option<Nanos>,
    /// Length of a sample of bandwidth (`bwavgtime`).
    pub bandwidth_sample_time: Nanos,
    /// Length of a sample of operations per second (`iopsavgtime`).
    pub iops_sample_time: Nanos,
    /// The value of an averaged line (`log_window_value`).
    pub value: WindowValue,
    /// A column with the offset (`log_offset`).
    pub offset: bool,
    /// Print the class and level of the priority, instead of only a flag for the real-time class
    /// (`log_prio`).
    pub priority: bool,
    /// A column with the time of issue (`log_issue_time`).
    pub issue_time: bool,
    /// Time between two histograms (`log_hist_msec`); `None` for an empty file.
    pub histogram_interval: Option<Nanos>,
    /// How many times neighbouring bins are merged in pairs (`log_hist_coarseness`), 0 to 6.
    pub coarseness: u32,
    /// Print clock times instead of times since the start (`log_unix_epoch`,
    /// `log_alternate_epoch`). The value is how far, in nanoseconds, that clock is ahead of Unix
    /// time.
    pub clock_ahead_ns: Option<i64>,
    /// Files are compressed (`log_store_compressed`), and their names end in `.fz`.
    pub compressed: bool,
}

impl Default for LogRequest {
    /// fio's defaults: no log.
    fn default() -> LogRequest {
        LogRequest {
            bandwidth: None,
            latency: None,
            iops: None,
            histogram: None,
            per_job: true,
            averaging_time: None,
            bandwidth_sample_time: Nanos::millis(500),
            iops_sample_time: Nanos::millis(500),
            value: WindowValue::Average,
            offset: false,
            priority: false,
            issue_time: false,
            histogram_interval: None,
            coarseness: 0,
            clock_ahead_ns: None,
            compressed: false,
        }
    }
}

impl LogRequest {
    /// Length of the samples of an averaged bandwidth log: at most the averaging time.
    pub fn effective_bandwidth_sample(&self) -> Nanos {
        self.bandwidth_sample_time
            .min(self.averaging_time.unwrap_or(Nanos::NEVER))
    }

    /// Length of the samples of an averaged log of operations per second.
    pub fn effective_iops_sample(&self) -> Nanos {
        self.iops_sample_time.min(self.averaging_time.unwrap_or(Nanos::NEVER))
    }

    /// True if a log has a line for each operation; the job must then keep its operation log.
    pub fn needs_operation_log(&self) -> bool {
        self.averaging_time.is_none() && (self.bandwidth.is_some() || self.latency.is_some() || self.iops.is_some())
    }

    fn prefix(&self, kind: LogKind) -> Option<&str> {
        let prefix = match kind {
            LogKind::Bandwidth => &self.bandwidth,
            LogKind::Submission | LogKind::Completion | LogKind::Total => &self.latency,
            LogKind::Iops => &self.iops,
            LogKind::Histogram => &self.histogram,
        };
        prefix.as_deref()
    }
}

/// The value of a line of an averaged log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    /// Mean of the operations in the window.
    #[default]
    Average,
    /// The largest value.
    Maximum,
    /// Both, in two columns.
    MeanAndMax,
}

/// The kind of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// KiB per second; for single operations, as in fio, units of 1000 bytes per second.
    Bandwidth,
    /// slat.
    Submission,
    /// clat.
    Completion,
    /// lat.
    Total,
    /// Operations per second.
    Iops,
    /// Histograms of clat.
    Histogram,
}

impl LogKind {
    /// Every kind.
    pub const ALL: [LogKind; 6] = [
        LogKind::Bandwidth,
        LogKind::Submission,
        LogKind::Completion,
        LogKind::Total,
        LogKind::Iops,
        LogKind::Histogram,
    ];

    /// Name in file names.
    pub fn file_name_part(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Submission => "slat",
            LogKind::Completion => "clat",
            LogKind::Total => "lat",
            LogKind::Iops => "iops",
            LogKind::Histogram => "clat_hist",
        }
    }
}

/// One log of one worker.
#[derive(Clone, Debug)]
pub struct LogFile<'a> {
    /// Name of the file, without the suffix that its writer may add.
    pub name: String,
    /// Append to an existing file, which several workers may share.
    pub appended: bool,
    /// Compress the content.
    pub compressed: bool,
    /// What the log records.
    pub kind: LogKind,
    /// Index of its job over all steps.
    pub job: usize,
    request: &'a LogRequest,
    source: Source<'a>,
}

/// The worker that a log describes, with its planned job and its results.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    job: &'a Job,
    job_results: Option<&'a JobResults>,
    /// Number in its job.
    worker_index: usize,
    /// Milliseconds to add to all times.
    epoch_ms: u64,
}

/// A log that a plan writes.
struct PlannedLog<'a> {
    name: String,
    kind: LogKind,
    request: &'a LogRequest,
    job: usize,
    planned: &'a Job,
    /// Number of the worker in its job.
    worker: usize,
}

/// Names of the log files that a test writes.
pub fn names(plan: &Plan, requests: &[Option<LogRequest>]) -> Vec<String> {
    let planned = planned_logs(plan, requests).into_iter();
    planned.map(|log| log.name).collect()
}

fn planned_logs<'a>(plan: &'a Plan, requests: &'a [Option<LogRequest>]) -> Vec<PlannedLog<'a>> {
    let mut logs = Vec::new();
    // fio numbers the workers of all jobs consecutively, from 1.
    let mut running_number = 0;
    for (job, (_, planned)) in plan.jobs().enumerate() {
        let enabled = JobSettings::for_job(plan, job).enabled;
        for worker in 0..planned.workers.len() {
            running_number += 1;
            let Some(Some(request)) = requests.get(job) else {
                continue;
            };
            for kind in LogKind::ALL {
                let disabled = match kind {
                    LogKind::Bandwidth | LogKind::Iops => false,
                    LogKind::Submission => !enabled.slat,
                    LogKind::Completion | LogKind::Histogram => !enabled.clat,
                    LogKind::Total => !enabled.lat,
                };
                let Some(prefix) = request.prefix(kind).filter(|_| !disabled) else {
                    continue;
                };
                let part = kind.file_name_part();
                let extension = if request.compressed { "log.fz" } else { "log" };
                logs.push(PlannedLog {
                    name: match request.per_job {
                        true => format!("{prefix}_{part}.{running_number}.{extension}"),
                        false => format!("{prefix}_{part}.{extension}"),
                    },
                    kind,
                    request,
                    job,
                    planned,
                    worker,
                });
            }
        }
    }
    logs
}

/// Lists the log files of all workers, in plan order. `requests` has an entry for each job of the
/// plan, over all steps.
pub fn list_files<'a>(results: &'a Results, requests: &'a [Option<LogRequest>]) -> Vec<LogFile<'a>> {
    let positions: Vec<(usize, usize)> = results.plan.jobs().map(|(position, _)| position).collect();
    let log_file = |log: PlannedLog<'a>| {
        let (step, index) = positions[log.job];
        let job_results = results.steps.get(step).and_then(|step| step.jobs.get(index));
        LogFile {
            name: log.name,
            appended: !log.request.per_job,
            compressed: log.request.compressed,
            kind: log.kind,
            job: log.job,
            request: log.request,
            source: Source {
                job: log.planned,
                job_results,
                worker_index: log.worker,
                epoch_ms: match log.request.clock_ahead_ns {
                    Some(ahead) => epoch_ms(
                        results,
                        job_results.and_then(|job_results| job_results.workers.get(log.worker)),
                        ahead,
                    ),
                    None => 0,
                },
            },
        }
    };
    planned_logs(&results.plan, requests)
        .into_iter()
        .map(log_file)
        .collect()
}

/// Start of a worker's measurement, in milliseconds since the epoch, on a clock that is `ahead_ns`
/// ahead of Unix time.
fn epoch_ms(results: &Results, worker: Option<&WorkerResults>, ahead_ns: i64) -> u64 {
    let Some(worker) = worker else { return 0 };
    let host = results.hosts.get(worker.host as usize);
    let run = host.map_or(0, |host| host.started_unix_ns);
    (run + worker.started_ns.0).saturating_add_signed(ahead_ns) / 1_000_000
}

impl LogFile<'_> {
    /// True if it needs the operation log of its job ([`write_operations`]), not only results.
    pub fn needs_operation_log(&self) -> bool {
        self.request.averaging_time.is_none() && self.kind != LogKind::Histogram
    }

    /// Writes a log of averages or histograms; nothing for a log that needs operations.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        match (self.kind, self.request.averaging_time, self.request.histogram_interval) {
            (LogKind::Histogram, _, Some(every)) => averages::write_histograms(self, every, out),
            (LogKind::Histogram, _, None) | (_, None, _) => Ok(()),
            (_, Some(average), _) => averages::write(self, average, out),
        }
    }

    /// True if the file stays empty.
    fn is_empty(&self) -> bool {
        self.kind == LogKind::Submission
            && self
                .source
                .planned()
                .is_none_or(|worker| worker.latency != LatencyPoints::AfterCall)
    }
}

impl<'a> Source<'a> {
    fn planned(&self) -> Option<&'a Worker> {
        self.job.workers.get(self.worker_index)
    }

    fn worker(&self) -> Option<&'a WorkerResults> {
        self.job_results?.workers.get(self.worker_index)
    }
}

/// One line of a log that is not a histogram.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Time since the start of the measured window.
    time_ms: u64,
    value: u64,
    /// The maximum, if both mean and maximum are printed.
    maximum: Option<u64>,
    direction: u64,
    size: u32,
    offset: u64,
    priority: Option<Priority>,
    issued_ns: u64,
}

impl Entry {
    fn write(&self, file: &LogFile, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}, {}", file.source.epoch_ms + self.time_ms, self.value)?;
        if let Some(maximum) = self.maximum {
            write!(out, ", {maximum}")?;
        }
        write!(out, ", {}, {}", self.direction, self.size)?;
        if file.request.offset {
            write!(out, ", {}", self.offset)?;
        }
        match file.request.priority {
            true => write!(out, ", 0x{:04x}", priority_value(self.priority))?,
            false => write!(out, ", {}", u8::from(is_real_time(self.priority)))?,
        }
        if file.request.issue_time {
            write!(out, ", {}", self.issued_ns)?;
        }
        writeln!(out)
    }
}

fn is_real_time(priority: Option<Priority>) -> bool {
    priority.is_some_and(|priority| priority.class == PriorityClass::RealTime)
}

/// A priority in the kernel's encoding: class and level in one number.
fn priority_value(priority: Option<Priority>) -> u16 {
    let Some(priority) = priority else { return 0 };
    let class = match priority.class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    };
    class << 13 | u16::from(priority.level)
}

/// fio's number for a direction.
fn direction_number(direction: Direction) -> u64 {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}
