//! The JSON report, and JSON+ with the bins of each histogram.

use std::io::{self, Write};

use model::Direction;
use model::histogram::Histogram;
use model::plan::TrackedMetric;
use model::results::{Idleness, Results};

use super::bins::{self, CLASS_ENDS, LAST_CLASS_END_MS};
use super::clock::End;
use super::control::Steady;
use super::disks::{Disk, collect_disks};
use super::entries::{BATCHES, DEPTHS, Entry, collect_entries};
use super::figures::{Figures, PriorityFigures};
use super::groups::{GroupTotals, groups};
use super::latency::Spread;
use super::lifetimes;
use super::markup::{Object, Value};
use super::normal::{idleness, mean_of_samples, metric_name};
use super::settings::{JobSettings, Settings, Unified};

/// fio prints no ETA for runs shorter than this, even after they end.
const NO_ESTIMATE_BELOW_S: u64 = 3;
const NO_ESTIMATE: u64 = i32::MAX as u64;

pub(super) fn write(results: &Results, with_bins: bool, out: &mut dyn Write) -> io::Result<()> {
    let settings = Settings::from_plan(&results.plan);
    let entries = collect_entries(results);
    let groups = groups(&entries);
    let end = End::from_results(results, &settings);
    let mut document = Object::new();
    document.text("fio version", settings.version.clone());
    document.integer("timestamp", end.unix_ms / 1000);
    document.integer("timestamp_ms", end.unix_ms);
    document.text("time", end.text.clone());
    let origin = &results.plan.origin;
    if !origin.global_options.is_empty() {
        document.object("global options", options_to_object(&origin.global_options));
    }
    let jobs = entries.iter().map(|entry| {
        let group = groups.iter().find(|group| group.number == entry.group);
        let form = Form {
            entry,
            group,
            with_bins,
        };
        Value::Object(form.job(Some(&end)))
    });
    document.put("jobs", Value::Array(jobs.collect()));
    let disks = collect_disks(results, &settings);
    if !disks.is_empty() {
        let disks_with_members = disks.iter().flat_map(|disk| std::iter::once(disk).chain(&disk.members));
        document.put(
            "disk_util",
            Value::Array(
                disks_with_members
                    .map(|disk| Value::Object(disk_object(disk)))
                    .collect(),
            ),
        );
    }
    if let Some(idleness) = idleness(results) {
        document.object("cpu_idleness", idleness_object(idleness, settings.per_cpu_idleness));
    }
    document.write(out)
}

fn idleness_object(idleness: &Idleness, per_cpu: bool) -> Object<'static> {
    let mut object = Object::new();
    object.real("system", idleness.percent());
    for cpu in idleness.cpus.iter().filter(|_| per_cpu) {
        object.real(format!("cpu-{}", cpu.cpu), cpu.percent);
    }
    object.real("unit_mean", idleness.unit_ns_mean / 1000.0);
    object.real("unit_stddev", idleness.unit_ns_deviation / 1000.0);
    object
}

pub(super) fn options_to_object(options: &[(String, String)]) -> Object<'_> {
    let mut object = Object::new();
    for (name, value) in options {
        object.text(name.as_str(), value.as_str());
    }
    object
}

/// An entry to be written, with its group.
pub(super) struct Form<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) group: Option<&'a GroupTotals>,
    pub(super) with_bins: bool,
}

impl<'a> Form<'a> {
    /// The object of an entry; without `end` it has neither `eta` nor `elapsed`.
    pub(super) fn job(&self, end: Option<&End>) -> Object<'a> {
        let entry = self.entry;
        let mut job = Object::new();
        job.text("jobname", entry.name);
        job.integer("groupid", entry.group as u64);
        job.integer("job_start", entry.started_ms);
        job.integer(
            "error",
            entry
                .error
                .as_ref()
                .map_or(0, |error| error.number.unsigned_abs().into()),
        );
        if let Some(end) = end {
            let estimated = end.elapsed_s >= NO_ESTIMATE_BELOW_S;
            job.integer("eta", if estimated { 0 } else { NO_ESTIMATE });
            job.integer("elapsed", end.elapsed_s);
        }
        if !entry.options.is_empty() {
            job.object("job options", options_to_object(entry.options));
        }
        for (name, direction, figures) in entry.rows() {
            let total = self.group.and_then(|group| group.parts[direction]);
            job.object(
                name,
                self.direction(figures, total.map_or(0, |total| total.bytes_per_second)),
            );
        }
        // One object for flushes in all directions, which fio omits with mixed reporting.
        if entry.settings.unified != Unified::Mixed {
            job.object("sync", self.flushes());
        }
        if let Some(together) = &entry.together {
            let total = self.group.and_then(GroupTotals::sum_of_directions);
            job.object(
                "mixed",
                self.direction(together, total.map_or(0, |total| total.bytes_per_second)),
            );
        }
        self.put_counters(&mut job);
        self.put_control(&mut job);
        job
    }

    fn direction(&self, figures: &Figures, group: u64) -> Object<'a> {
        let mut object = Object::new();
        object.integer("io_bytes", figures.bytes);
        object.integer("io_kbytes", figures.bytes >> 10);
        object.integer("bw_bytes", figures.bytes_per_second());
        object.integer("bw", figures.bytes_per_second() >> 10);
        object.real("iops", figures.exact_iops());
        object.integer("runtime", figures.runtime_ms);
        object.integer("total_ios", figures.issued);
        object.integer("short_ios", figures.short);
        object.integer("drop_ios", 0);
        let (latency, wanted) = (&figures.latency, self.entry.settings.percentiles_of);
        object.object("slat_ns", self.latency(&latency.slat, wanted.slat));
        object.object("clat_ns", self.latency(&latency.clat, wanted.clat));
        object.object("lat_ns", self.latency(&latency.lat, wanted.lat));
        self.put_priorities(&mut object, figures);
        object.integer("bw_min", figures.bandwidth.min);
        object.integer("bw_max", figures.bandwidth.max);
        object.real("bw_agg", figures.percent_of_group(group));
        object.real("bw_mean", figures.bandwidth.mean);
        object.real("bw_dev", figures.bandwidth.deviation());
        object.integer("bw_samples", figures.bandwidth.count);
        object.integer("iops_min", figures.iops.min);
        object.integer("iops_max", figures.iops.max);
        object.real("iops_mean", figures.iops.mean);
        object.real("iops_stddev", figures.iops.deviation());
        object.integer("iops_samples", figures.iops.count);
        object
    }

    fn put_priorities(&self, object: &mut Object<'a>, figures: &Figures) {
        let wanted = self.entry.settings.percentiles_of;
        let to_json = |figures: &PriorityFigures| {
            let mut object = Object::new();
            object.integer("prioclass", figures.class.into());
            object.integer("prio", figures.level.into());
            object.integer("priohint", figures.hint.into());
            let name = if wanted.lat { "lat_ns" } else { "clat_ns" };
            object.object(name, self.latency(&figures.latency, wanted.clat || wanted.lat));
            Value::Object(object)
        };
        let priorities = figures.by_priority();
        if !priorities.is_empty() {
            object.put("prios", Value::Array(priorities.into_iter().map(to_json).collect()));
        }
    }

    fn latency(&self, histogram: &Histogram, percentiles: bool) -> Object<'a> {
        let spread = Spread::from_histogram(histogram);
        let mut object = Object::new();
        object.integer("min", spread.min);
        object.integer("max", spread.max);
        object.real("mean", spread.mean);
        object.real("stddev", spread.deviation);
        object.integer("N", spread.count);
        if !percentiles || spread.count == 0 {
            return object;
        }
        let list = &self.entry.settings.percentiles;
        let mut values = Object::new();
        for (percent, value) in list.iter().zip(bins::percentiles_of_bins(histogram, list)) {
            values.integer(format!("{percent:.6}"), value);
        }
        object.object("percentile", values);
        if self.with_bins {
            let mut counts = Object::new();
            for (bin, count) in bins::count_bins(histogram) {
                counts.integer(bins::bin_value(bin).to_string(), count);
            }
            object.object("bins", counts);
        }
        object
    }

    fn flushes(&self) -> Object<'a> {
        let JobSettings { percentiles_of, .. } = &self.entry.settings;
        let mut object = Object::new();
        object.integer("total_ios", self.entry.flushes);
        let percentiles = percentiles_of.clat || percentiles_of.lat;
        object.object("lat_ns", self.latency(&self.entry.flush_latency, percentiles));
        object
    }

    fn put_counters(&self, job: &mut Object<'a>) {
        let entry = self.entry;
        job.integer("job_runtime", entry.cpu.runtime_ms);
        job.real("usr_cpu", entry.cpu.user_percent());
        job.real("sys_cpu", entry.cpu.system_percent());
        job.integer("ctx", entry.cpu.switches);
        job.integer("majf", entry.cpu.major_faults);
        job.integer("minf", entry.cpu.minor_faults);
        for (name, classes, counted) in [
            ("iodepth_level", DEPTHS, &entry.depth),
            ("iodepth_submit", BATCHES, &entry.submitted),
            ("iodepth_complete", BATCHES, &entry.completed),
        ] {
            if let Some(counted) = counted {
                job.object(name, shares_to_object(classes.map(str::to_owned), counted));
            }
        }
        let ends = || CLASS_ENDS.iter().map(u64::to_string);
        job.object("latency_ns", shares_to_object(ends(), &entry.classes.ns));
        job.object("latency_us", shares_to_object(ends(), &entry.classes.us));
        let ms = ends().chain([LAST_CLASS_END_MS.to_string(), format!(">={LAST_CLASS_END_MS}")]);
        job.object("latency_ms", shares_to_object(ms, &entry.classes.ms));
    }

    fn put_control(&self, job: &mut Object<'a>) {
        let entry = self.entry;
        if let Some(tolerated) = entry.tolerated {
            job.integer("total_err", tolerated.total);
            job.integer("first_error", tolerated.first.unsigned_abs().into());
        }
        if let Some(target) = &entry.target {
            job.integer("latency_depth", target.depth.into());
            job.integer("latency_target", target.target.0);
            job.integer("latency_target_ns", target.target.0);
            job.real("latency_percentile", target.percentile);
            job.integer("latency_window", target.window.0 / 1000);
            job.integer("latency_window_us", target.window.0 / 1000);
        }
        if let Some(description) = entry.description {
            job.text("desc", description);
        }
        if let Some(block_lifetimes) = &entry.lifetimes {
            job.object(
                "block",
                lifetimes::lifetimes_to_object(block_lifetimes, &entry.settings.percentiles),
            );
        }
        if let Some(steady) = &entry.steady {
            job.object("steadystate", steady_object(steady));
        }
    }
}

fn shares_to_object<'a>(names: impl IntoIterator<Item = String>, shares: &[f64]) -> Object<'a> {
    let mut object = Object::new();
    for (name, share) in names.into_iter().zip(shares) {
        object.real(name, *share);
    }
    object
}

fn steady_object<'a>(steady: &Steady) -> Object<'a> {
    let rule = &steady.rule;
    let metric_name = metric_name(rule.metric);
    let slope = if rule.slope { "_slope" } else { "" };
    let percent = if rule.percent { "%" } else { "" };
    let list = |values: &[u64]| Value::Array(values.iter().copied().map(Value::Integer).collect());
    let mut data = Object::new();
    data.integer("bw_mean", mean_of_samples(&steady.bandwidth));
    data.integer("iops_mean", mean_of_samples(&steady.iops));
    if rule.metric == TrackedMetric::Latency {
        data.integer("lat_mean", mean_of_samples(&steady.latency));
        data.put("lat_ns", list(&steady.latency));
    }
    data.put("iops", list(&steady.iops));
    data.put("bw", list(&steady.bandwidth));
    let mut object = Object::new();
    object.text("ss", format!("{metric_name}{slope}:{:.6}{percent}", rule.limit));
    object.integer("duration", rule.window_ns.0 / 1_000_000_000);
    object.integer("attained", steady.attained.into());
    object.text("criterion", format!("{:.6}{percent}", steady.criterion));
    object.real("max_deviation", steady.deviation);
    object.real("slope", steady.slope);
    object.object("data", data);
    object
}

pub(super) fn disk_object(disk: &Disk) -> Object<'_> {
    let mut object = Object::new();
    object.text("name", disk.name.as_str());
    // fio spells this key differently for aggregates.
    put_disk(&mut object, disk, "", "write_merges");
    if let Some(aggregate) = disk.aggregate() {
        put_disk(&mut object, &aggregate, "aggr_", "write_merge");
    }
    object
}

fn put_disk(object: &mut Object, disk: &Disk, prefix: &str, write_merges: &str) {
    let [read, write] = [Direction::Read, Direction::Write].map(|direction| direction as usize);
    let mut put = |name: &str, value: u64| object.integer(format!("{prefix}{name}"), value);
    put("read_ios", disk.operations[read]);
    put("write_ios", disk.operations[write]);
    put("read_sectors", disk.sectors[read]);
    put("write_sectors", disk.sectors[write]);
    put("read_merges", disk.merges[read]);
    put(write_merges, disk.merges[write]);
    put("read_ticks", disk.ticks_ms[read]);
    put("write_ticks", disk.ticks_ms[write]);
    put("in_queue", disk.in_queue_ms);
    object.real(format!("{prefix}util"), disk.busy_percent);
}
