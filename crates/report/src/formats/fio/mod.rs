//! fio's outputs: the normal report, JSON, JSON+, terse, and the text of the line that is shown
//! while jobs run.
//!
//! The form is that of version 3.42; public parsers go by labels, positions, key order and number
//! types. `entries` turns results into fio's figures, once for all outputs; `normal`, `json` and
//! `terse` only print. What the user asked for is echoed from [`Origin`](model::plan::Origin): this
//! module knows no option.
//!
//! # How plans are read
//! A job of the plan is a section of a job file and its workers are the clones (`numjobs`). Each
//! worker is a report entry; all workers of the jobs of a merged [`Group`](model::plan::Group) are
//! one (`group_reporting`), which has name, description, start and settings of its first member and
//! the options of its last. Groups are numbered in the order of
//! [`Plan::groups`](model::plan::Plan::groups); without any, each step is a group.
//!
//! | fio | results |
//! | --- | --- |
//! | slat, clat, lat | submission, completion and total latency; slat only of workers with `LatencyPoints::AfterCall`, which an asynchronous engine has |
//! | runtime, job_runtime | `measured_ns` of the worker in ms, rounded up and down. Reads that check what was written, after that, took `verified_ns`; a job has run for both |
//! | bw and iops samples | the series by stream of 500 ms (`GridScope::Stream`); without one there are no samples |
//! | latency_target, steadystate | the rule of the job's `control` and the outcome with the same index. The lists of a steady state are the series whose length is the rule's interval |
//! | continue_on_error | a stream that tolerates an error |
//! | submit, complete | the batches of [`Distribution::record_batch`](model::results::Distribution::record_batch); an engine that does nothing, one at a time, has none |
//!
//! # What a plan's origin must hold
//! * `profile`: the banner lines (`NAME: (g=0): rw=read, bs=(R) …` and `...`), for [`preamble()`].
//! * `jobs`: for each job in plan order the options of its section, with canonical names, as
//!   written. The name of an entry is that of the job in the plan.
//! * `global_options`: those of all global sections together.
//! * `presentation.kilo`, `bits` (`unit_base=1`), `significant_figures`, `percentiles`, `unified`.
//! * `presentation.percentiles_of`: which of `slat`, `clat` and `lat` get percentiles. Empty:
//!   `clat`; for none, any other word, such as `none`.
//! * `presentation.disabled`: which of `slat`, `clat` and `lat` are not shown (`disable_clat`,
//!   `gtod_reduce`). Without clat there are no latency classes either.
//! * `presentation.other`, by name; with `.0`, `.1` … behind it a value holds for the job of that
//!   number only, counted in plan order over all steps, and comes first:
//!
//! | name | value |
//! | --- | --- |
//! | `fio_version` | the version to show instead of `fio-3.42`; not by job |
//! | `pid` | the number shown as process of every entry; not by job |
//! | `utc_offset_s` | seconds that local time is ahead of UTC; not by job |
//! | `disk_util` | `false`: no disk statistics; not by job |
//! | `terse_version` | 2 to 5 for the format `fio-terse`; 3 without; not by job |
//! | `kb_base`, `unit_base`, `significant_figures` | instead of the fields of `presentation` |
//! | `percentile_list` | percentages with colons between them |
//! | `percentiles_of`, `disabled` | words with commas between them |
//! | `unified` | `none`, `mixed` or `both` |
//! | `iodepth` | the queue depth to show, where it is not the one in effect (a synchronous engine) |
//! | `group_reporting` | `true` or `false` instead of what the group says; only neighbours that have it become one |
//! | `stats` | `false`: the job is in no report |
//! | `thread` | `true`: its workers are announced as threads |
//! | `job_start_ahead_ns` | nanoseconds that the clock of `job_start` is ahead of the time since 1970 (`job_start_clock_id`) |
//! | `idle_prof` | `percpu`: idleness of each processor, where it was measured, and not only of all together; not by job |
//! | `bw_sample_ms`, `iops_sample_ms` | length of the windows of samples (`bwavgtime`, `iopsavgtime`) instead of 500 |
//!
//! # Plans that are not fio's
//! Their reports show what was measured and nothing else: no latency target where there is no rule
//! for one, no shares of depths, submissions and completions that were not counted. Workers are
//! threads, and the normal report begins with the tool that measured. `fio version` of JSON and
//! terse names the form, for programs choose by it how to read.
//!
//! # Where it differs from fio on purpose
//! * Latencies are folded into fio's bins without loss. Where the end of a class of the latency
//!   distribution (10 µs, 750 ns) lies within one of our buckets, the middle of the bucket decides:
//!   at most 0.4 % away.
//! * Means and deviations are computed from exact sums, not step by step.
//! * Where a backlog of writes is checked while others go on, the reads took the measured window
//!   too; fio divides them by the time of the check at the end. Processor time is that of the
//!   measured window, and so are its percentages.
//! * Nothing is dropped, so those counts are 0. The place in an error text is `file:fathom:0`.
//! * A job with `stats=0` leaves no empty entry behind, and there is no part by priority and no
//!   `block`.
//! * Clones are threads of one process: every entry shows the same number as its process.

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

/// Writes what fio prints before anything runs: banners, version, number of workers.
///
/// # Errors
/// `out` cannot be written to.
pub fn preamble(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    preamble::write(plan, out)
}

/// Writes the part of the preamble behind the banners: version, number of workers.
///
/// # Errors
/// `out` cannot be written to.
pub fn starting(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    preamble::starting(plan, out)
}

/// What `--idle-prof=calibrate` prints.
///
/// # Errors
/// `out` cannot be written to.
pub fn calibration(idleness: &Idleness, out: &mut dyn Write) -> io::Result<()> {
    normal::write_calibration(out, idleness)
}

/// The line that says that the files of a job are laid out; `bytes` is the size of all of them.
pub fn laying_out(job: &str, files: u64, bytes: u64) -> String {
    preamble::laying_out(job, files, bytes)
}

/// Writes the normal report, from the empty line on that separates it from the preamble.
///
/// # Errors
/// `out` cannot be written to.
pub fn normal(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    normal::write(results, out)
}

/// Writes preamble and normal report, as a whole run prints them.
///
/// # Errors
/// `out` cannot be written to.
pub fn text(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    match settings::is_of_fio(&results.plan) {
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

/// Writes the terse report in the version that the plan's origin asks for.
///
/// # Errors
/// `out` cannot be written to.
pub fn terse(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    terse::write(results, settings::Settings::from_plan(&results.plan).terse_version, out)
}
