//! Checks for contradictions within a job, or with the jobs above it.

use model::{Direction, PerDirection};

use super::jobs::Job;
use super::options::JobOptions;
use super::session::{ExitCode, Session};
use super::values::Amount;

/// Stops at the first contradiction. Warnings stop only with `--warnings-fatal`.
pub(super) fn check_job(session: &mut Session<'_>, job: &Job) -> Result<(), ExitCode> {
    let options = &job.options;
    if session.read.flags.readonly && options.pattern.rw.changes_data() {
        return Err(session.halt("fio: trim and write operations are not allowed with the --readonly parameter."));
    }
    check_waits(session, job)?;
    check_rates(session, options)?;
    if let Some(Amount::Bytes(size)) = options.pattern.size {
        let min = smallest_block(options);
        // A negative size is compared as signed, so it is too small as well.
        let size = size as i64;
        if size < 0 || size != 0 && (size as u64) < min {
            return Err(session.halt(format!(
                "fio: size too small, must not be less than minimum block size: {size} < {min}"
            )));
        }
    }
    if options.job.time_based && options.job.runtime == 0 {
        session.push_stderr("fio: time_based requires a runtime/timeout setting");
        if session.read.flags.warnings_fatal {
            return Err(ExitCode(1));
        }
    }
    check_group(session, job)?;
    if options.job.numjobs <= 0 {
        session.push_stderr("error: maximum number of jobs reached.");
        return Err(session.halt("error: failed to setup shm segment"));
    }
    Ok(())
}

fn check_waits(session: &mut Session<'_>, job: &Job) -> Result<(), ExitCode> {
    let Some(name) = &job.options.job.wait_for else {
        return Ok(());
    };
    let name_of_job = job.name();
    if name_of_job == name {
        return Err(session.halt(format!(
            "{name_of_job}: a job cannot wait for itself (wait_for={name})."
        )));
    }
    if !session.read.jobs.iter().any(|other| other.name() == name) {
        return Err(session.halt(format!("{name_of_job}: waitee job {name} unknown.")));
    }
    Ok(())
}

fn check_rates(session: &mut Session<'_>, options: &JobOptions) -> Result<(), ExitCode> {
    let pace = &options.pace;
    let any = |rates: PerDirection<u64>| rates != PerDirection::default();
    if any(pace.rate) && any(pace.rate_iops) {
        return Err(session.halt("fio: rate and rate_iops are mutually exclusive"));
    }
    let mut exceeded = false;
    for direction in Direction::ALL {
        let below = |rates: PerDirection<u64>, min: PerDirection<u64>| {
            rates[direction] != 0 && rates[direction] < min[direction]
        };
        if below(pace.rate, pace.rate_min) || below(pace.rate_iops, pace.rate_iops_min) {
            session.push_stderr(format!("fio: minimum rate exceeds rate, ddir {}", direction as usize));
            exceeded = true;
        }
    }
    if exceeded { Err(ExitCode(1)) } else { Ok(()) }
}

/// Bytes of the smallest block that the job reads or writes.
fn smallest_block(options: &JobOptions) -> u64 {
    let pattern = &options.pattern;
    let min_of = |direction: Direction| {
        let split = pattern.bssplit[direction].iter().map(|split| split.bytes).min();
        let range = Some(pattern.bsrange[direction].low).filter(|low| *low != 0);
        split.or(range).unwrap_or(pattern.bs[direction])
    };
    Direction::ALL.into_iter().map(min_of).min().unwrap_or(0)
}

/// Jobs of a group must report the same kind of percentiles.
fn check_group(session: &mut Session<'_>, job: &Job) -> Result<(), ExitCode> {
    let Some(above) = session.read.jobs.last() else {
        return Ok(());
    };
    let is_grouped = above.options.report.group_reporting
        && job.options.report.group_reporting
        && !job.options.job.new_group
        && !job.waits();
    if is_grouped && above.options.report.lat_percentiles != job.options.report.lat_percentiles {
        let line = format!("fio: lat_percentiles in job: {} differs from group", job.name());
        return Err(session.halt(line));
    }
    Ok(())
}
