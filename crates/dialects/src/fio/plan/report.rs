//! Builds the origin of a plan, for reports, and the notes on jobs.

use model::plan::{Dialect, Grid, GridScope, JobEcho, Origin, Presentation};
use model::{Direction, Nanos};

use super::Lowering;
use crate::fio::draft::from_micros;
use crate::fio::jobs::{Job, Jobs};
use crate::fio::lower::report::{bandwidth_sample, iops_sample};
use crate::fio::lower::{pattern, queue};
use crate::fio::options::pattern::Rw;
use crate::fio::options::verify::Checksum;
use crate::fio::table;

/// The interval series for samples and steady states.
pub(super) fn grids(jobs: &Jobs) -> Vec<Grid> {
    let mut lengths: Vec<Nanos> = Vec::new();
    for job in &jobs.jobs {
        let options = &job.options;
        let pace = &options.pace;
        lengths.push(bandwidth_sample(options));
        lengths.push(iops_sample(options));
        if pace.steadystate_duration > 0 {
            lengths.push(from_micros(pace.steadystate_check_interval));
        }
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths.retain(|length| *length >= Nanos::millis(1));
    let grid = |length_ns| Grid::new(length_ns, GridScope::Stream);
    lengths.into_iter().map(grid).collect()
}

impl Lowering<'_> {
    pub(super) fn origin(&self) -> Origin {
        let echo = |job: &Job| JobEcho {
            name: job.name().to_owned(),
            options: job.given.clone(),
        };
        let mut presentation = Presentation::default();
        let mut set = |name: &str, value: String| presentation.other.push((name.to_owned(), value));
        set("pid", self.env.process.to_string());
        set("utc_offset_s", self.env.utc_offset_s.to_string());
        set("terse_version", self.jobs.flags.terse_version.to_string());
        if self.jobs.jobs.iter().all(|job| !job.options.report.disk_util) {
            set("disk_util", "false".into());
        }
        for (number, job) in self.jobs.jobs.iter().enumerate() {
            for (name, value) in table::rows().filter_map(|row| row.shown(&job.options)) {
                set(&format!("{name}.{number}"), value);
            }
        }
        Origin {
            dialect: Dialect::Fio,
            arguments: self.env.arguments.to_vec(),
            jobs: self.jobs.jobs.iter().map(echo).collect(),
            global_options: self.jobs.globals.clone(),
            presentation,
            ..Origin::default()
        }
    }

    /// Notes options that make the figures misleading.
    pub(super) fn add_notes(&mut self, job: &Job) {
        let options = &job.options;
        let (pace, pattern) = (&options.pace, &options.pattern);
        let mut note = |text: String| {
            let note = format!("{}: {text}", job.name());
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        };
        let system = &options.system;
        if system.cgroup.is_none() && (system.cgroup_weight.is_some() || system.cgroup_nodelete) {
            note("cgroup_weight and cgroup_nodelete have no effect without cgroup".into());
        }
        let mixed = matches!(pattern.rw, Rw::ReadWrite | Rw::RandReadWrite);
        let paced = |direction: Direction| pace.rate[direction] > 0 || pace.rate_iops[direction] > 0;
        let share = |rate: u64, percent: i64| u128::from(rate) * percent as u128;
        let weighted_read = |rates: model::PerDirection<u64>| share(rates.read, 100 - pattern.rwmixread.clamp(0, 100));
        let weighted_write = |rates: model::PerDirection<u64>| share(rates.write, pattern.rwmixread.clamp(0, 100));
        let keeps_mix = weighted_read(pace.rate) == weighted_write(pace.rate)
            && weighted_read(pace.rate_iops) == weighted_write(pace.rate_iops);
        if mixed && (paced(Direction::Read) || paced(Direction::Write)) && !keeps_mix {
            note(format!(
                "each direction has its own rate, so the mix follows from the rates, not from rwmixread={}",
                pattern.rwmixread
            ));
        }
        if !queue::is_asynchronous(options) && options.queue.iodepth > 1 && queue::depth(options) == 1 {
            note(format!(
                "iodepth={} has no effect with the synchronous engine {}: one operation is in flight at a time",
                options.queue.iodepth, options.queue.ioengine
            ));
        }
        if options.job.runtime > 0 && !options.job.time_based && options.pace.steadystate_duration == 0 {
            note("without time_based the job ends after its size, even before its runtime".into());
        }
        let data = &options.data;
        let verified = options.verify.verify != Checksum::Off && options.verify.do_verify;
        if data.trim_percentage > 0 && (data.trim_backlog == 0 || !verified) {
            note("trim_percentage has no effect without trim_backlog and verification after the writes".into());
        }
        if !options.queue.direct
            && pattern::mix(options).includes(Direction::Read)
            && !super::files::is_diskless(options)
        {
            note("reads go through the page cache (direct=0): cached data is not read from the device".into());
        }
    }
}
