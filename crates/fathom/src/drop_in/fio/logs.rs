//! Writes the logs of jobs: bandwidth, operations per second, latencies, histograms.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dialects::fio::options::logs::WindowValue as Value;
use dialects::fio::options::typed::LogName;
use dialects::fio::{Job, Jobs};
use model::plan::Plan;
use model::results::Results;
use model::{Direction, Nanos};
use report::formats::fio::logs::{LogRequest, WindowValue, total_file_name};
use tempfile::TempDir;

/// The requested logs, and a temporary directory for records of single operations.
#[derive(Debug)]
pub(super) struct Logs {
    requests: Vec<Option<LogRequest>>,
    /// Prefix of the names of the logs of totals.
    total: Option<String>,
    /// Removed with its content on drop.
    _operations: Option<TempDir>,
}

impl Logs {
    /// Reads the requested logs. The plan records single operations if a log has a line for each.
    ///
    /// # Errors
    /// The message, if the directory for single operations cannot be created.
    pub(super) fn from_jobs(jobs: &Jobs, plan: &mut Plan) -> Result<Logs, String> {
        let requests = jobs.jobs.iter().map(read_request).collect::<Result<Vec<_>, _>>()?;
        let mut operations = None;
        let plans = plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
        for (number, (job, request)) in plans.zip(&requests).enumerate() {
            if !request.as_ref().is_some_and(LogRequest::needs_operation_log) {
                continue;
            }
            let folder = match &operations {
                Some(folder) => folder,
                None => &*operations.insert(tempfile::tempdir().map_err(|error| {
                    format!(
                        "fio: cannot log operations in {}: {error}",
                        std::env::temp_dir().display()
                    )
                })?),
            };
            job.operation_log = Some(folder.path().join(format!("{number}.log")).display().to_string());
        }
        Ok(Logs {
            requests,
            total: jobs.flags.bandwidth_log.clone(),
            _operations: operations,
        })
    }

    /// Paths of the logs that [`Logs::write`] writes for a plan.
    ///
    /// # Errors
    /// The message, if a path is a directory, device or pipe, which a log would replace.
    pub(super) fn paths(&self, plan: &Plan) -> Result<BTreeSet<PathBuf>, String> {
        let of_jobs = report::formats::fio::logs::names(plan, &self.requests).into_iter();
        let totals = self.total.iter();
        let totals = totals.flat_map(|prefix| Direction::ALL.map(|direction| total_file_name(prefix, direction)));
        let paths: BTreeSet<_> = of_jobs.chain(totals).map(PathBuf::from).collect();
        let is_special = |path: &&PathBuf| path.metadata().is_ok_and(|meta| !meta.is_file());
        match paths.iter().find(is_special) {
            Some(path) => Err(format!(
                "fio: cannot write a log to {}: it is not a regular file",
                path.display()
            )),
            None => Ok(paths),
        }
    }

    /// Writes the logs into the working directory: all logs of jobs, or none.
    ///
    /// # Errors
    /// The message, if a log cannot be written.
    pub(super) fn write(&self, results: &Results) -> Result<(), String> {
        self.write_of_host(results, "")
    }

    /// Writes the logs of another host, with `suffix` at the end of their names.
    ///
    /// # Errors
    /// As [`Logs::write`].
    pub(super) fn write_of_host(&self, results: &Results, suffix: &str) -> Result<(), String> {
        let failed = |error| format!("fio: cannot write logs: {error}");
        if self.requests.iter().any(Option::is_some) {
            archive::write_fio_logs_with_suffix(results, &self.requests, Path::new(""), suffix).map_err(failed)?;
        }
        if let Some(prefix) = &self.total {
            archive::write_fio_totals(results, prefix, Path::new("")).map_err(failed)?;
        }
        Ok(())
    }
}

/// Reads the offset from Unix time of the clock that an option names.
///
/// # Errors
/// The message, if the system lacks this clock.
pub(super) fn clock_ahead(option: &str, number: i64) -> Result<i64, String> {
    engine::sys::clock::ahead_of_wall_clock(number)
        .map_err(|_| format!("fio: {option}={number}: the system has no such clock for elapsed time"))
}

fn read_request(job: &Job) -> Result<Option<LogRequest>, String> {
    let (logs, report) = (&job.options.logs, &job.options.report);
    let prefix = |name: &Option<LogName>| {
        name.as_ref().map(|name| match name {
            LogName::OfJob => job.name().to_owned(),
            LogName::Named(name) => name.clone(),
        })
    };
    let rates = !(report.disable_bw_measurement || report.gtod_reduce);
    let millis = |value: i64| Nanos::millis(value.max(0) as u64);
    let some = |length: Nanos| (length > Nanos(0)).then_some(length);
    let request = LogRequest {
        bandwidth: prefix(&logs.write_bw_log).filter(|_| rates),
        latency: prefix(&logs.write_lat_log),
        iops: prefix(&logs.write_iops_log).filter(|_| rates),
        histogram: prefix(&logs.write_hist_log),
        per_job: logs.per_job_logs,
        averaging_time: some(millis(logs.log_avg_msec)),
        bandwidth_sample_time: millis(logs.bwavgtime),
        iops_sample_time: millis(logs.iopsavgtime),
        value: match logs.log_window_value {
            Value::Average => WindowValue::Average,
            Value::Maximum => WindowValue::Maximum,
            Value::Both => WindowValue::MeanAndMax,
        },
        offset: logs.log_offset,
        priority: logs.log_prio,
        issue_time: logs.log_issue_time,
        histogram_interval: some(millis(logs.log_hist_msec)),
        coarseness: logs.log_hist_coarseness.clamp(0, 6) as u32,
        clock_ahead_ns: match logs.log_alternate_epoch {
            true => Some(clock_ahead(
                "log_alternate_epoch_clock_id",
                logs.log_alternate_epoch_clock_id,
            )?),
            false => None,
        },
        compressed: logs.log_store_compressed,
    };
    let any = [&request.bandwidth, &request.latency, &request.iops, &request.histogram];
    Ok(any.iter().any(|prefix| prefix.is_some()).then_some(request))
}
