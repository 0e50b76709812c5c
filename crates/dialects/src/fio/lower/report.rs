//! What reports repeat and how they show it, and what is noted about a job.

use model::plan::{Dialect, Grid, GridScope, JobEcho, Origin, Presentation, Windows};
use model::{Direction, Nanos};

use super::job::us;
use super::{Lowering, pattern, queue};
use crate::fio::jobs::{Job, Jobs};
use crate::fio::options::JobOptions;
use crate::fio::options::pattern::Rw;
use crate::fio::options::report::{KbBase, Unified, UnitBase};
use crate::fio::options::verify::Checksum;

/// The interval series that samples and steady states are taken from.
pub(super) fn grids(jobs: &Jobs) -> Vec<Grid> {
    let mut lengths: Vec<Nanos> = Vec::new();
    for job in &jobs.jobs {
        let options = &job.options;
        let pace = &options.pace;
        lengths.push(bandwidth_sample(options));
        lengths.push(iops_sample(options));
        if pace.steadystate_duration > 0 {
            lengths.push(us(pace.steadystate_check_interval));
        }
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths.retain(|length| *length >= Nanos::millis(1));
    let grid = |length_ns| Grid {
        length_ns,
        scope: GridScope::Stream,
    };
    lengths.into_iter().map(grid).collect()
}

/// The windows whose latencies and histograms go into logs.
pub(super) fn windows(options: &JobOptions) -> Vec<Windows> {
    let logs = &options.logs;
    let mut windows: Vec<Windows> = Vec::new();
    let mut add = |length_ms: i64, histograms: bool| {
        let length_ns = Nanos::millis(length_ms.max(0) as u64);
        match windows.iter_mut().find(|known| known.length_ns == length_ns) {
            Some(known) => known.histograms |= histograms,
            None => windows.push(Windows { length_ns, histograms }),
        }
    };
    if logs.write_lat_log.is_some() && logs.log_avg_msec > 0 {
        add(logs.log_avg_msec, false);
    }
    if logs.write_hist_log.is_some() && logs.log_hist_msec > 0 {
        add(logs.log_hist_msec, true);
    }
    windows
}

fn bandwidth_sample(options: &JobOptions) -> Nanos {
    sample(options, options.logs.bwavgtime, options.logs.write_bw_log.is_some())
}

fn iops_sample(options: &JobOptions) -> Nanos {
    sample(options, options.logs.iopsavgtime, options.logs.write_iops_log.is_some())
}

/// Time of a sample: that of the log, where one is written and it is shorter.
fn sample(options: &JobOptions, given_ms: i64, logged: bool) -> Nanos {
    let own = given_ms.max(1) as u64;
    Nanos::millis(match options.logs.log_avg_msec {
        log if log > 0 && logged => own.min(log as u64),
        _ => own,
    })
}

impl Lowering<'_> {
    pub(super) fn origin(&self) -> Origin {
        let echo = |job: &Job| JobEcho {
            name: job.name().to_owned(),
            options: job.given.clone(),
        };
        let mut presentation = Presentation::default();
        let mut set = |name: &str, value: String| presentation.other.push((name.to_owned(), value));
        set("pid", self.here.process.to_string());
        set("utc_offset_s", self.here.utc_offset_s.to_string());
        set("terse_version", self.jobs.flags.terse_version.to_string());
        if self.jobs.jobs.iter().all(|job| !job.options.report.disk_util) {
            set("disk_util", "false".into());
        }
        for (number, job) in self.jobs.jobs.iter().enumerate() {
            for (name, value) in settings(&job.options) {
                set(&format!("{name}.{number}"), value);
            }
        }
        Origin {
            dialect: Dialect::Fio,
            arguments: self.here.arguments.to_vec(),
            jobs: self.jobs.jobs.iter().map(echo).collect(),
            global_options: self.jobs.globals.clone(),
            presentation,
            ..Origin::default()
        }
    }

    /// Where a job gives figures that mean something else than they seem to.
    pub(super) fn notes_of(&mut self, job: &Job) {
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
        let ratio = |rates: model::PerDirection<u64>| rates.read * (100 - pattern.rwmixread.clamp(0, 100) as u64);
        let other = |rates: model::PerDirection<u64>| rates.write * pattern.rwmixread.clamp(0, 100) as u64;
        let kept = ratio(pace.rate) == other(pace.rate) && ratio(pace.rate_iops) == other(pace.rate_iops);
        if mixed && (paced(Direction::Read) || paced(Direction::Write)) && !kept {
            note(format!(
                "the rates are those of each direction, so the mix follows from them and not from rwmixread={}",
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
            note("without time_based the job ends as soon as its size is done, even if its runtime is not over".into());
        }
        let data = &options.data;
        let verified = options.verify.verify != Checksum::Off && options.verify.do_verify;
        if data.trim_percentage > 0 && (data.trim_backlog == 0 || !verified) {
            note("trim_percentage discards nothing without trim_backlog and a verification after the writes".into());
        }
        if !options.queue.direct
            && pattern::mix(options).includes(Direction::Read)
            && !super::files::is_diskless(options)
        {
            note("reads go through the page cache (direct=0): what is cached is not read from the device".into());
        }
    }
}

/// Settings of the report of a job, by the names that reports know.
fn settings(options: &JobOptions) -> Vec<(&'static str, String)> {
    let report = &options.report;
    let mut settings: Vec<(&'static str, String)> = Vec::new();
    let mut set = |name: &'static str, value: String| settings.push((name, value));
    set("group_reporting", report.group_reporting.to_string());
    set("thread", options.job.thread.to_string());
    if !report.stats {
        set("stats", "false".into());
    }
    if report.kb_base == KbBase::Decimal {
        set("kb_base", "1000".into());
    }
    match report.unit_base {
        UnitBase::Automatic => {}
        UnitBase::Bytes => set("unit_base", "8".into()),
        UnitBase::Bits => set("unit_base", "1".into()),
    }
    set("significant_figures", report.significant_figures.to_string());
    let list: Vec<String> = report.percentile_list.iter().map(ToString::to_string).collect();
    set("percentile_list", list.join(":"));
    let of = [
        ("slat", report.slat_percentiles),
        ("clat", report.clat_percentiles),
        ("lat", report.lat_percentiles),
    ];
    let of: Vec<&str> = of.iter().filter(|(_, shown)| *shown).map(|(name, _)| *name).collect();
    set(
        "percentiles_of",
        match of.is_empty() {
            true => "none".into(),
            false => of.join(","),
        },
    );
    let disabled = [
        ("slat", report.disable_slat),
        ("clat", report.disable_clat),
        ("lat", report.disable_lat),
    ];
    let disabled: Vec<&str> = disabled
        .iter()
        .filter(|(_, disabled)| *disabled)
        .map(|(name, _)| *name)
        .collect();
    if !disabled.is_empty() {
        set("disabled", disabled.join(","));
    }
    set(
        "unified",
        match report.unified_rw_reporting {
            Unified::None => "none",
            Unified::Mixed => "mixed",
            Unified::Both => "both",
        }
        .into(),
    );
    if queue::depth(options) as i64 != options.queue.iodepth {
        set("iodepth", options.queue.iodepth.to_string());
    }
    set("bw_sample_ms", (bandwidth_sample(options).0 / 1_000_000).to_string());
    set("iops_sample_ms", (iops_sample(options).0 / 1_000_000).to_string());
    settings
}
