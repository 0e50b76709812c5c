//! fio's outputs: the normal report, JSON, JSON+, terse, and the status line.
//!
//! The layout follows version 3.42, because public parsers rely on labels, positions, key order
//! and number types. `entries` computes fio's figures once for all outputs; `normal`, `json` and
//! `terse` only print. The user's settings are echoed from [`Origin`](model::plan::Origin): this
//! module parses no options.
//!
//! # How plans map to reports
//! A job of the plan is a section of a job file, and its workers are the clones (`numjobs`). Each
//! worker is a report entry. All workers of a merged [`Group`](model::plan::Group) form one entry
//! (`group_reporting`), with the name, description, start and settings of its first member and the
//! options of its last. Groups are numbered in the order of
//! [`Plan::groups`](model::plan::Plan::groups); without groups, each step is one.
//!
//! | fio | results |
//! | --- | --- |
//! | slat, clat, lat | submission, completion and total latency; slat only for workers with `LatencyPoints::AfterCall`, which asynchronous engines have |
//! | runtime, job_runtime | `measured_ns` of the worker in ms, rounded up and down. Verify reads afterwards took `verified_ns`, which `job_runtime` includes |
//! | bw and iops samples | the series by stream of 500 ms (`GridScope::Stream`); without one there are no samples |
//! | latency_target, steadystate | a rule in the job's `control`, and the outcome with the same index. The lists of a steady state come from the series with the rule's interval |
//! | continue_on_error | a stream that tolerates errors |
//! | submit, complete | the batches of [`Distribution::record_batch`](model::results::Distribution::record_batch); the null engine has none at depth 1 |
//!
//! # What a plan's origin must hold
//! * `profile`: the banner lines (`NAME: (g=0): rw=read, bs=(R) …` and `...`), for [`preamble()`].
//! * `jobs`: for each job in plan order, the options of its section with canonical names and values
//!   as written. An entry has the name of its job in the plan.
//! * `global_options`: the options of all global sections.
//! * `presentation.kilo`, `bits` (`unit_base=1`), `significant_figures`, `percentiles`, `unified`.
//! * `presentation.percentiles_of`: which of `slat`, `clat` and `lat` get percentiles. Empty:
//!   `clat`; for none, any other word, such as `none`.
//! * `presentation.disabled`: which of `slat`, `clat` and `lat` are omitted (`disable_clat`,
//!   `gtod_reduce`). Without clat there are no latency classes either.
//! * `presentation.other`, by name. A name with the suffix `.0`, `.1` … applies only to the job
//!   with that index over all steps, and takes precedence:
//!
//! | name | value |
//! | --- | --- |
//! | `fio_version` | the version to print instead of `fio-3.42`; for the whole report |
//! | `pid` | the process ID to print in every entry; for the whole report |
//! | `utc_offset_s` | seconds that local time is ahead of UTC; for the whole report |
//! | `disk_util` | `false`: no disk statistics; for the whole report |
//! | `terse_version` | 2 to 5 for the format `fio-terse`, by default 3; for the whole report |
//! | `kb_base`, `unit_base`, `significant_figures` | instead of the fields of `presentation` |
//! | `percentile_list` | percentages, separated by colons |
//! | `percentiles_of`, `disabled` | names, separated by commas |
//! | `unified` | `none`, `mixed` or `both` |
//! | `iodepth` | the queue depth to print if it differs from the effective one (synchronous engines) |
//! | `group_reporting` | `true` or `false` instead of the group's setting; only adjacent jobs with `true` are merged |
//! | `stats` | `false`: the job is omitted from reports |
//! | `thread` | `true`: its workers are announced as threads |
//! | `job_start_ahead_ns` | nanoseconds that the clock of `job_start` is ahead of Unix time (`job_start_clock_id`) |
//! | `idle_prof` | `percpu`: the idleness of each CPU too, not only of all together; for the whole report |
//! | `bw_sample_ms`, `iops_sample_ms` | length of the windows of samples (`bwavgtime`, `iopsavgtime`) instead of 500 |
//!
//! # Plans that are not fio's
//! Their reports contain only what was measured: no latency target without a rule for one, and no
//! shares of depths, submissions and completions that were not counted. Workers are threads, and
//! the normal report begins with the tool that measured. `fio version` in JSON and terse is the
//! version of the layout, by which programs choose their parser.
//!
//! # Intended differences from fio
//! * Our latency buckets fit exactly into fio's bins. Where a class of the latency distribution
//!   ends within a bucket (10 µs, 750 ns), the middle of the bucket decides, at most 0.4 % away.
//! * Means and deviations are computed from exact sums instead of incrementally.
//! * With a verify backlog, reads also take place in the measured window, which their run time
//!   includes; fio divides them by the time of the final verification. Processor time and its
//!   percentages refer to the measured window.
//! * No operations are dropped, so those counts are 0. The location in an error text is
//!   `file:fathom:0`.
//! * A job with `stats=0` leaves no empty entry.
//! * Clones are threads of one process, so every entry has the same process ID.

pub mod bins;
pub mod clients;
mod clock;
pub mod codes;
mod control;
mod disks;
mod entries;
pub mod errors;
pub mod eta;
mod figures;
mod groups;
mod json;
mod latency;
mod lifetimes;
pub mod logs;
mod markup;
mod normal;
pub mod numbers;
mod preamble;
mod samples;
mod settings;
mod terse;

use std::io::{self, Write};

use model::plan::Plan;
use model::results::{Idleness, Results};

/// Writes what fio prints before jobs start: banners, version, number of workers.
///
/// # Errors
/// `out` cannot be written to.
pub fn preamble(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    preamble::write(plan, out)
}

/// Writes the preamble after the banners: version and number of workers.
///
/// # Errors
/// `out` cannot be written to.
pub fn starting(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    preamble::write_starting(plan, out)
}

/// Writes the output of `--idle-prof=calibrate`.
///
/// # Errors
/// `out` cannot be written to.
pub fn calibration(idleness: &Idleness, out: &mut dyn Write) -> io::Result<()> {
    normal::write_calibration(out, idleness)
}

/// Formats the line that announces the layout of a job's files; `bytes` is their total size.
pub fn laying_out(job: &str, files: u64, bytes: u64) -> String {
    preamble::laying_out(job, files, bytes)
}

/// Writes the normal report, including the empty line that separates it from the preamble.
///
/// # Errors
/// `out` cannot be written to.
pub fn normal(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    normal::write(results, out)
}

/// Writes preamble and normal report.
///
/// # Errors
/// `out` cannot be written to.
pub fn text(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    match settings::is_fio_plan(&results.plan) {
        true => preamble(&results.plan, out)?,
        false => preamble::write_foreign(results, out)?,
    }
    normal(results, out)
}

/// Writes the JSON report.
///
/// # Errors
/// `out` cannot be written to.
pub fn json(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    json::write(results, false, out)
}

/// Writes the JSON report with the bins of each histogram (`json+`).
///
/// # Errors
/// `out` cannot be written to.
pub fn json_plus(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    json::write(results, true, out)
}

/// Writes the terse report in the version that the plan's origin requests.
///
/// # Errors
/// `out` cannot be written to.
pub fn terse(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    terse::write(results, settings::Settings::from_plan(&results.plan).terse_version, out)
}
