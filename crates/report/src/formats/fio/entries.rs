//! Entries of fio's reports: one for each worker, or for a whole group with `group_reporting`.
//! Every figure is computed once for all formats.

use std::sync::LazyLock;

use model::access::Access;
use model::block_lifetimes::BlockLifetimes;
use model::histogram::Histogram;
use model::plan::{EngineKind, Job, LatencyPoints, Plan, Stream, Worker};
use model::results::{Distribution, JobResults, Results, WorkerResults};
use model::{Direction, Nanos, PerDirection};

use super::bins::{self, LatencyClasses};
use super::control::{self, Steady, Target};
use super::errors::{self, EntryError, Tolerated};
use super::figures::{self, Figures};
use super::lifetimes;
use super::settings::{JobSettings, Unified, is_fio_plan};

/// Options as name and value.
type Options = [(String, String)];

/// One entry of a report.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub group: usize,
    pub members: usize,
    /// The options of the last member.
    pub options: &'a Options,
    pub settings: JobSettings,
    /// Time of its first operation on the configured clock, by default Unix time.
    pub started_ms: u64,
    /// With mixed reporting all figures are under read.
    pub parts: PerDirection<Figures>,
    /// All directions together, if requested in addition.
    pub together: Option<Figures>,
    pub flushes: u64,
    pub flush_latency: Histogram,
    pub cpu: CpuUse,
    /// Shares in percent for each of the [`DEPTHS`] and [`BATCHES`], if counted.
    pub depth: Option<[f64; 7]>,
    pub submitted: Option<[f64; 7]>,
    pub completed: Option<[f64; 7]>,
    pub classes: LatencyClasses,
    pub error: Option<EntryError>,
    pub tolerated: Option<Tolerated>,
    pub target: Option<Target>,
    pub lifetimes: Option<BlockLifetimes>,
    pub steady: Option<Steady>,
    /// Number of zone resets, if the job works in zones of a zoned device.
    pub zone_resets: Option<u64>,
}

/// Results of a job that never started.
static NEVER_STARTED: LazyLock<JobResults> = LazyLock::new(JobResults::default);

/// Names of the classes of queue depths: 1, 2–3, 4–7 and so on.
pub(super) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Names of the classes of operations per call: none, 1–4, 5–8 and so on.
pub(super) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// Processor time, context switches and page faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuUse {
    /// Sum of the run times of all members, verification included.
    pub runtime_ms: u64,
    user_ms: u64,
    system_ms: u64,
    pub switches: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
}

impl CpuUse {
    pub(super) fn user_percent(&self) -> f64 {
        bins::percent_of(self.user_ms, self.runtime_ms, 0.0)
    }

    pub(super) fn system_percent(&self) -> f64 {
        bins::percent_of(self.system_ms, self.runtime_ms, 0.0)
    }

    fn add(&mut self, worker: &WorkerResults) {
        let ms = |time: Nanos| time.0 / 1_000_000;
        let mut usage = worker.usage;
        usage.add(worker.verified_usage);
        self.runtime_ms += ms(worker.measured_ns + worker.verified_ns);
        self.user_ms += ms(usage.user_ns);
        self.system_ms += ms(usage.system_ns);
        self.switches += usage.voluntary_switches + usage.involuntary_switches;
        self.major_faults += usage.major_faults;
        self.minor_faults += usage.minor_faults;
    }
}

impl Entry<'_> {
    /// True for an entry without I/O, which the normal report omits.
    pub(super) fn is_idle(&self) -> bool {
        let idle = |figures: &Figures| figures.bytes == 0 && figures.issued == 0;
        self.parts.iter().all(|(_, figures)| idle(figures))
    }

    /// The figures of all directions, with their names in reports.
    pub(super) fn rows(&self) -> Vec<(&'static str, Direction, &Figures)> {
        if self.settings.unified == Unified::Mixed {
            return vec![("mixed", Direction::Read, &self.parts.read)];
        }
        let parts = self.parts.iter();
        parts
            .map(|(direction, figures)| (direction.word(), direction, figures))
            .collect()
    }
}

/// A worker that becomes part of an entry.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub job: &'a Job,
    pub job_results: &'a JobResults,
    /// Index of the job over all steps.
    pub number: usize,
    pub index: usize,
    /// Absent if it never started.
    pub worker: Option<&'a WorkerResults>,
}

impl Member<'_> {
    /// The worker in the plan. All hosts that run the same plan have the same workers.
    fn planned(&self) -> Option<&Worker> {
        self.job.workers.get(self.index % self.job.workers.len().max(1))
    }

    /// True if it reads during the measured window: by its mix, or to verify a backlog.
    pub(super) fn reads_while_measuring(&self) -> bool {
        let backlog = |stream: &Stream| stream.verify.as_ref().is_some_and(|verify| verify.backlog > 0);
        let reads = |stream: &Stream| stream.mix.includes(Direction::Read) || backlog(stream);
        self.planned().is_none_or(|worker| worker.streams.iter().any(reads))
    }

    /// True for engines whose operations fio does not measure, only the time to open a file.
    pub(super) fn is_metadata_engine(&self) -> bool {
        self.planned()
            .is_some_and(|worker| worker.engine.kind.is_metadata_engine())
    }

    /// True if it works in zones that are written sequentially.
    pub(super) fn is_zoned(&self) -> bool {
        let streams = self.planned().into_iter().flat_map(|worker| &worker.streams);
        let mut patterns = streams.flat_map(|stream| &stream.pattern.access);
        patterns.any(|access| matches!(access, Access::WritePointers(_)))
    }

    /// Only engines that submit and wait separately have a submission latency.
    pub(super) fn has_slat(&self) -> bool {
        self.planned()
            .is_some_and(|worker| worker.latency == LatencyPoints::AfterCall)
    }
}

/// All entries in fio's order.
pub(super) fn collect_entries(results: &Results) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut open: Vec<Member> = Vec::new();
    let mut open_group = None;
    for (number, ((step, index), job)) in results.plan.jobs().enumerate() {
        let settings = JobSettings::for_job(&results.plan, number);
        let job_results = results.steps.get(step).and_then(|step| step.jobs.get(index));
        // fio lists jobs that never started with zeros.
        let job_results = job_results.or_else(|| is_fio_plan(&results.plan).then_some(&NEVER_STARTED));
        let (Some(job_results), true) = (job_results, settings.reported) else {
            continue;
        };
        let (group, merged) = find_group(&results.plan, (step, index));
        let merged = settings.merged.unwrap_or(merged);
        for member in members(job, job_results, number) {
            // `group_reporting` adds a job to the previous one in its group, even if that one lacks
            // the option.
            if open_group != Some(group) || !merged {
                entries.extend(Entry::from_members(results, open_group, &open));
                open.clear();
            }
            open.push(member);
            open_group = Some(group);
        }
    }
    entries.extend(Entry::from_members(results, open_group, &open));
    entries
}

/// Merges several runs into one entry, with the percentiles of the first.
pub(super) fn combine_clients<'a>(name: &'a str, all: &[&'a Results]) -> Option<Entry<'a>> {
    let mut every: Vec<Member> = Vec::new();
    for results in all {
        for (number, ((step, index), job)) in results.plan.jobs().enumerate() {
            let job_results = results.steps.get(step).and_then(|step| step.jobs.get(index));
            if let Some(job_results) = job_results.filter(|_| JobSettings::for_job(&results.plan, number).reported) {
                every.extend(members(job, job_results, number));
            }
        }
    }
    let group = all
        .last()
        .and_then(|results| collect_entries(results).last().map(|entry| entry.group));
    let entry = Entry::from_members(all.first()?, Some(group?), &every)?;
    Some(Entry {
        name,
        description: None,
        options: &[],
        target: None,
        lifetimes: None,
        steady: None,
        ..entry
    })
}

fn members<'a>(job: &'a Job, job_results: &'a JobResults, number: usize) -> impl Iterator<Item = Member<'a>> {
    let count = job_results.workers.len().max(job.workers.len());
    (0..count).map(move |index| Member {
        job,
        job_results,
        number,
        index,
        worker: job_results.workers.get(index),
    })
}

/// The number of a job's group, and whether its members form one entry. Without groups, each step
/// is a group.
fn find_group(plan: &Plan, job: (usize, usize)) -> (usize, bool) {
    let job = (job.0 as u32, job.1 as u32);
    let group = plan
        .groups
        .iter()
        .enumerate()
        .find(|(_, group)| group.jobs.contains(&job));
    group.map_or((job.0 as usize, false), |(number, group)| (number, group.merged))
}

impl<'a> Entry<'a> {
    fn from_members(results: &'a Results, group: Option<usize>, members: &[Member<'a>]) -> Option<Entry<'a>> {
        let (first, last) = (members.first()?, members.last()?);
        let settings = JobSettings::for_job(&results.plan, first.number);
        let mut sums = Sums::default();
        members.iter().for_each(|member| sums.add(member, &settings));
        let operations = sums.parts.iter().map(|(_, figures)| figures.operations).sum();
        let issued = sums.parts.iter().map(|(_, figures)| figures.issued).sum();
        let mut completion = Histogram::new();
        for (_, figures) in sums.parts.iter().filter(|_| !first.is_metadata_engine()) {
            completion.merge(&figures.latency.clat);
        }
        let mut combined = (settings.unified == Unified::Both).then(Figures::default);
        if let Some(combined) = &mut combined {
            sums.parts.iter().for_each(|(_, figures)| combined.add(figures));
        }
        let echo = results.plan.origin.jobs.get(last.number);
        // fio prints these lines even if all counts are 0.
        let is_fio = is_fio_plan(&results.plan);
        let counted = |counts: [u64; 7]| (is_fio || counts.iter().any(|count| *count > 0)).then_some(counts);
        Some(Entry {
            name: &first.job.name,
            description: first.job.description.as_deref(),
            group: group?,
            members: members.len(),
            options: echo.map_or(&[], |echo| &echo.options),
            started_ms: started_ms(results, first, settings.start_ahead_ns),
            together: combined,
            flushes: sums.flushes,
            flush_latency: sums.flush_latency,
            cpu: sums.cpu,
            depth: counted(sums.depth).map(|counts| counts.map(|count| bins::percent_of(count, issued, 0.1))),
            submitted: counted(sums.submitted).map(percent_of_counts),
            completed: counted(sums.completed).map(percent_of_counts),
            classes: LatencyClasses::from_histogram(&completion, operations),
            error: members.iter().find_map(errors::member_error),
            tolerated: errors::count_tolerated_errors(members),
            lifetimes: lifetimes::add_lifetimes(members),
            target: control::evaluate_target(last, &settings, is_fio),
            steady: control::evaluate_steady_state(last),
            zone_resets: first.is_zoned().then_some(sums.zone_resets),
            parts: sums.parts,
            settings,
        })
    }
}

fn percent_of_counts(counts: [u64; 7]) -> [f64; 7] {
    let total = counts.iter().sum();
    counts.map(|count| bins::percent_of(count, total, 0.1))
}

fn started_ms(results: &Results, member: &Member, ahead_ns: i64) -> u64 {
    let Some(worker) = member.worker else { return 0 };
    let host = results.hosts.get(worker.host as usize);
    let run = host.map_or(0, |host| host.started_unix_ns);
    // Warm-up is I/O too.
    let start = worker.started_ns.0.saturating_sub(member.job.phases.warm_up_ns.0);
    (run + start).saturating_add_signed(ahead_ns) / 1_000_000
}

/// Sums over the members of an entry.
#[derive(Default)]
struct Sums {
    parts: PerDirection<Figures>,
    flushes: u64,
    flush_latency: Histogram,
    cpu: CpuUse,
    depth: [u64; 7],
    submitted: [u64; 7],
    completed: [u64; 7],
    zone_resets: u64,
}

impl Sums {
    fn add(&mut self, member: &Member, settings: &JobSettings) {
        let Some(worker) = member.worker else { return };
        self.zone_resets += worker.zone_resets;
        let worker_figures = figures::worker_figures(member, worker, settings);
        let operations: u64 = worker_figures.iter().map(|(_, figures)| figures.issued).sum();
        let done: u64 = worker_figures.iter().map(|(_, figures)| figures.operations).sum();
        let failed = operations.saturating_sub(done);
        for direction in Direction::ALL {
            self.parts[direction].add(&worker_figures[direction]);
        }
        let mut flushes = 0;
        for sync in worker.streams.iter().filter_map(|stream| stream.sync.as_ref()) {
            flushes += sync.operations;
            self.flush_latency.merge(&sync.latency);
        }
        self.flushes += flushes;
        self.cpu.add(worker);
        self.add_depth(&worker.depth, (operations, failed), flushes);
        // fio does not count calls of its null engine if each is one operation.
        if worker.engine.kind != EngineKind::Null || member.has_slat() {
            add_batches(&mut self.submitted, &worker.submitted);
            add_batches(&mut self.completed, &worker.completed);
        }
    }

    fn add_depth(&mut self, depth: &Distribution, (operations, failed): (u64, u64), flushes: u64) {
        if depth.classes.is_empty() {
            // At depth 1 only successful operations are counted.
            self.depth[0] += failed;
        }
        for (class, count) in depth.classes.iter().enumerate().skip(1) {
            self.depth[(class - 1).min(6)] += count;
        }
        // fio counts flushes in the classes but not in the total of the percentages. A flush waits
        // for all earlier operations, so its depth is 1.
        let counted: u64 = depth.classes.iter().skip(1).sum();
        if counted == 0 {
            return;
        }
        self.depth[0] += (operations + flushes).saturating_sub(counted.max(operations));
    }
}

fn add_batches(sums: &mut [u64; 7], batches: &Distribution) {
    for (class, count) in batches.classes.iter().enumerate() {
        sums[batch_class(class)] += count;
    }
}

/// fio's class for one of ours: 0, then 1–4, 5–8, 9–16 and so on.
fn batch_class(class: usize) -> usize {
    match class {
        0 => 0,
        1..=3 => 1,
        larger => (larger - 2).min(6),
    }
}
