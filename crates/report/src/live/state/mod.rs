//! The data of the live view, from events and machine counters. Rates are sums over the last
//! intervals of the running jobs. Ended jobs stay until the next step begins.

mod schedule;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::environment::{CoreUse, DeviceUse};
use model::event::{DeviceUnder, Event, Interval, Phase, RankFigures, RankProgress, RankState};
use model::finding::Severity;
use model::histogram::Histogram;
use model::plan::Plan;

use model::{Bytes, Direction, Nanos, PerDirection};
use schedule::{PlannedStep, Schedule};

/// Number of intervals to keep for sparklines, more than a wide terminal can show.
const MAX_HISTORY: usize = 400;
/// Number of messages to keep.
const MAX_MESSAGES: usize = 50;

/// The data of the live view of one run.
#[derive(Debug, Default)]
pub struct State {
    schedule: Schedule,
    jobs: BTreeMap<(u32, u32), JobState>,
    /// The ranks, if several processes execute the run.
    ranks: BTreeMap<u32, RankEntry>,
    preparing: Option<Preparation>,
    devices: Vec<DeviceUnder>,
    machine: Option<Machine>,
    history: VecDeque<Rates>,
    messages: VecDeque<(Severity, String)>,
    stopping: bool,
    /// A step has begun since the last call of `take_step_begun`.
    step_begun: bool,
}

/// Counters of the machine over a short time, read by the caller.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The time between the two readings.
    pub length: Nanos,
    /// Use of each CPU between the readings.
    pub cores: Vec<CoreUse>,
    /// The devices under the targets.
    pub devices: Vec<DeviceUse>,
}

/// State of a job, created by its first event.
#[derive(Debug)]
struct JobState {
    name: String,
    phase: Phase,
    phase_left: Option<Nanos>,
    last: Option<Interval>,
    /// End of the last interval, from the start of its phase.
    phase_time: Nanos,
    /// Number of resets of the statistics.
    epoch: u32,
    measured_latency: PerDirection<Option<Histogram>>,
    measured_counts: PerDirection<model::event::Counts>,
    measured_time: Nanos,
    ended: bool,
}

/// A target that is being written before the test.
#[derive(Clone, Debug)]
pub(super) struct Preparation {
    pub(super) target: String,
    pub(super) done: Bytes,
    pub(super) total: Bytes,
    pub(super) left: Nanos,
}

/// Operations and bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) iops: f64,
    pub(super) bytes_per_sec: f64,
}

/// Average operations in flight, and the configured depth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct InFlight {
    pub(super) average: f64,
    pub(super) depth: u64,
    /// The job is paced, so the depth is only an upper limit.
    pub(super) paced: bool,
}

/// A target, a group of files or a job with its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rates: Rates,
    /// Mean latency; `None` if no operation completed.
    pub(super) mean_ns: Option<f64>,
}

/// Kernel counters of a device, and the I/O of this test on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceRow {
    pub(super) name: String,
    pub(super) kernel: Rates,
    pub(super) busy_percent: f64,
    pub(super) device_queue_depth: f64,
    /// `None` if a stream has files on several devices.
    pub(super) test_rates: Option<Rates>,
}

/// The state of a rank.
#[derive(Debug, Default)]
struct RankEntry {
    host: String,
    state: RankState,
    /// The last interval of each job.
    figures: BTreeMap<(u32, u32), RankFigures>,
}

impl RankEntry {
    fn apply(&mut self, now: &RankProgress) {
        self.host.clone_from(&now.host);
        self.state = now.state;
        self.figures
            .extend(now.figures.map(|figures| ((figures.step, figures.job), figures)));
    }
}

/// A rank in a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankRow {
    pub(super) rank: u32,
    pub(super) host: String,
    pub(super) state: RankState,
    /// Sum over its jobs; `None` before its first interval.
    pub(super) iops: Option<f64>,
    /// The highest p99 among its jobs.
    pub(super) p99_ns: Option<u64>,
}

/// Progress of the whole plan, if all its steps end by time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress {
    pub(super) done: Nanos,
    pub(super) total: Nanos,
}

impl Rates {
    fn add(&mut self, other: Rates) {
        self.iops += other.iops;
        self.bytes_per_sec += other.bytes_per_sec;
    }
}

impl State {
    /// Starts another run, keeping messages. `run_label` identifies it among several runs.
    pub fn begin(&mut self, plan: &Plan, run_label: Option<String>) {
        self.schedule = Schedule::from_plan(plan, run_label);
        self.jobs.clear();
        self.ranks.clear();
        self.history.clear();
        self.devices.clear();
        (self.preparing, self.machine) = (None, None);
    }

    /// Applies an event. Returns true if the view changes.
    pub fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::Preparing {
                target,
                done,
                total,
                left_ns,
            } => {
                self.preparing = Some(Preparation {
                    target: target.clone(),
                    done: *done,
                    total: *total,
                    left: *left_ns,
                });
            }
            Event::Prepared { .. } => self.preparing = None,
            Event::Ready { step, devices } => {
                self.schedule.step = *step as usize;
                self.jobs.clear();
                self.ranks.values_mut().for_each(|rank| rank.figures.clear());
                self.history.clear();
                (self.preparing, self.machine, self.step_begun) = (None, None, true);
                self.devices.clone_from(devices);
            }
            Event::Phase {
                step,
                job,
                name,
                phase,
                length_ns,
            } => {
                let job = self.jobs.entry((*step, *job)).or_insert_with(|| JobState::new(name));
                (job.phase, job.phase_left) = (*phase, *length_ns);
            }
            Event::Interval(interval) => {
                let key = (interval.step, interval.job);
                let job = self.jobs.entry(key).or_insert_with(|| JobState::new(&interval.name));
                if !job.apply(interval) {
                    return true;
                }
                // Intervals of concurrent jobs end at about the same time, so the first job's
                // interval adds one sample for all.
                if self.jobs.iter().find(|(_, job)| !job.ended).map(|(key, _)| *key) == Some(key) {
                    let current = self.current_rates();
                    self.history.push_back(self.sum_directions(&current));
                    if self.history.len() > MAX_HISTORY {
                        self.history.pop_front();
                    }
                }
            }
            Event::JobEnded { step, job, .. } => {
                if let Some(job) = self.jobs.get_mut(&(*step, *job)) {
                    (job.ended, job.phase_left) = (true, None);
                }
            }
            Event::Rank(now) => self.ranks.entry(now.rank).or_default().apply(now),
            Event::Snapshot { .. } | Event::Notice { .. } => return false,
        }
        true
    }

    /// Stores the machine counters since the last call.
    pub fn set_machine(&mut self, machine: Machine) {
        self.machine = Some(machine);
    }

    /// Returns true once per step. The caller then restarts its counters, so that they do not
    /// include the previous step.
    pub fn take_step_begun(&mut self) -> bool {
        std::mem::take(&mut self.step_begun)
    }

    /// Adds a message: a finding, or progress of a command.
    pub fn push_message(&mut self, severity: Severity, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.messages.push_back((severity, line.to_owned()));
            if self.messages.len() > MAX_MESSAGES {
                self.messages.pop_front();
            }
        }
    }

    /// Marks the run as stopping.
    pub fn mark_stopping(&mut self) {
        self.stopping = true;
    }

    /// Kernel names of the devices under the targets of the step that runs.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().map(|device| device.name.as_str())
    }

    /// Length of an interval, if known.
    pub fn interval_length(&self) -> Option<Nanos> {
        let last_intervals = self.shown_jobs().filter_map(|(_, job)| job.last.as_ref());
        last_intervals.map(|interval| interval.length_ns).max()
    }

    /// The running jobs, or all jobs of the step if none is running.
    fn shown_jobs(&self) -> impl Iterator<Item = (&(u32, u32), &JobState)> {
        let all_ended = self.jobs.values().all(|job| job.ended);
        self.jobs.iter().filter(move |(_, job)| all_ended || !job.ended)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// True if a job is in a phase that reports intervals.
    pub(super) fn expects_intervals(&self) -> bool {
        let produces_intervals = |job: &JobState| {
            let phases = [
                Phase::WarmUp,
                Phase::Measured,
                Phase::CoolDown,
                Phase::Verify,
                Phase::Draining,
            ];
            !job.ended && phases.contains(&job.phase)
        };
        self.preparing.is_none() && self.jobs.values().any(produces_intervals)
    }

    pub(super) fn preparing(&self) -> Option<&Preparation> {
        self.preparing.as_ref()
    }

    /// Name of the running jobs.
    pub(super) fn title(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (_, job) in self.shown_jobs() {
            if !names.contains(&job.name.as_str()) {
                names.push(&job.name);
            }
        }
        match names.as_slice() {
            [] => self.schedule.name.clone(),
            [name] => (*name).to_owned(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        }
    }

    pub(super) fn run_label(&self) -> Option<&str> {
        self.schedule.run_label.as_deref()
    }

    /// Number of the step and of all steps.
    pub(super) fn step(&self) -> (usize, usize) {
        (self.schedule.step + 1, self.schedule.steps.len())
    }

    /// The phase, in words.
    pub(super) fn phase(&self) -> &'static str {
        if self.preparing.is_some() {
            return "preparing";
        }
        let jobs = || self.jobs.values();
        match jobs().filter(|job| !job.ended).map(|job| job.phase).max() {
            Some(phase) => phase.label(),
            None if jobs().next().is_some() => "ended",
            None => "starting",
        }
    }

    /// Time left in the phase.
    pub(super) fn time_left(&self) -> Option<Nanos> {
        let running = self.shown_jobs().filter_map(|(_, job)| job.phase_left);
        running.max().filter(|time_left| time_left.0 > 0)
    }

    /// Progress of the plan.
    pub(super) fn progress(&self) -> Option<Progress> {
        let lengths: Option<Vec<Nanos>> = self.schedule.steps.iter().map(|step| step.length).collect();
        let lengths = lengths.filter(|lengths| !lengths.is_empty())?;
        let total: u64 = lengths.iter().map(|length| length.0).sum();
        let before: u64 = lengths.iter().take(self.schedule.step).map(|length| length.0).sum();
        let step = self.schedule.steps.get(self.schedule.step)?;
        let length = lengths[self.schedule.step].0;
        let all_ended = !self.jobs.is_empty() && self.jobs.values().all(|job| job.ended);
        let step_time = if all_ended {
            length
        } else {
            self.time_in_step(step).0.min(length)
        };
        Some(Progress {
            done: Nanos(before + step_time),
            total: Nanos(total),
        })
    }

    /// Time since the start of the step.
    fn time_in_step(&self, step: &PlannedStep) -> Nanos {
        let elapsed = |((_, number), job): (&(u32, u32), &JobState)| {
            let planned = step.jobs.get(*number as usize)?;
            let start = planned.starts?;
            let measured = start + planned.delay + planned.warm_up;
            let in_phase = |phase: Phase| {
                let last = job.last.as_ref().filter(|last| last.phase == phase);
                last.map_or(Nanos(0), |_| job.phase_time)
            };
            Some(match job.phase {
                Phase::Delay => start,
                Phase::WarmUp => start + planned.delay + in_phase(Phase::WarmUp),
                Phase::Measured => measured + in_phase(Phase::Measured),
                Phase::CoolDown | Phase::Verify | Phase::Draining => measured + planned.measured.unwrap_or_default(),
            })
        };
        self.shown_jobs().filter_map(elapsed).max().unwrap_or_default()
    }

    /// Rates of the last interval.
    pub(super) fn current_rates(&self) -> PerDirection<Rates> {
        let mut current = PerDirection::<Rates>::default();
        for (_, job) in self.shown_jobs() {
            let Some(last) = &job.last else { continue };
            for (direction, counts) in last.counts.iter() {
                current[direction].add(per_second(counts.operations, counts.bytes, last.length_ns));
            }
        }
        current
    }

    /// Rates of the measured window so far; `None` before it.
    pub(super) fn measured_rates(&self) -> Option<PerDirection<Rates>> {
        let mut sum = PerDirection::<Rates>::default();
        let mut is_measured = false;
        for (_, job) in self.shown_jobs().filter(|(_, job)| job.measured_time.0 > 0) {
            is_measured = true;
            for (direction, counts) in job.measured_counts.iter() {
                sum[direction].add(per_second(counts.operations, counts.bytes, job.measured_time));
            }
        }
        is_measured.then_some(sum)
    }

    /// All directions together.
    pub(super) fn sum_directions(&self, rates: &PerDirection<Rates>) -> Rates {
        let mut sum = Rates::default();
        rates.iter().for_each(|(_, rates)| sum.add(*rates));
        sum
    }

    /// Rates of the intervals so far, the newest last.
    pub(super) fn history(&self) -> impl ExactSizeIterator<Item = &Rates> {
        self.history.iter()
    }

    /// Latencies of the last interval.
    pub(super) fn latency_now(&self, direction: Direction) -> Option<Histogram> {
        let intervals = self.shown_jobs().filter_map(|(_, job)| job.last.as_ref());
        merge_histograms(intervals.filter_map(|last| last.latency[direction].as_ref()))
    }

    /// Latencies of the measured window so far.
    pub(super) fn measured_latency(&self, direction: Direction) -> Option<Histogram> {
        merge_histograms(
            self.shown_jobs()
                .filter_map(|(_, job)| job.measured_latency[direction].as_ref()),
        )
    }

    /// Length of the last interval and of the measured window so far.
    pub(super) fn window_lengths(&self) -> (Option<Nanos>, Nanos) {
        let measured = self.shown_jobs().map(|(_, job)| job.measured_time).max();
        (self.interval_length(), measured.unwrap_or_default())
    }

    /// Operations in flight, over the last interval.
    pub(super) fn in_flight(&self) -> Option<InFlight> {
        let mut in_flight = InFlight::default();
        for ((step, number), job) in self.shown_jobs() {
            let Some(last) = job.last.as_ref().filter(|last| last.length_ns.0 > 0) else {
                continue;
            };
            in_flight.average += last.in_flight_ns.0 as f64 / last.length_ns.0 as f64;
            in_flight.depth += last.depth;
            let planned = self.schedule.steps.get(*step as usize);
            let planned = planned.and_then(|step| step.jobs.get(*number as usize));
            in_flight.paced |= planned.is_some_and(|planned| planned.paced);
        }
        (in_flight.depth > 0).then_some(in_flight)
    }

    /// Jobs, if several run side by side.
    pub(super) fn jobs(&self) -> Vec<Row> {
        let rows: Vec<Row> = self
            .shown_jobs()
            .filter_map(|(_, job)| {
                let last = job.last.as_ref()?;
                let direction_counts = last.counts.iter().map(|(_, counts)| counts);
                let (operations, bytes) = direction_counts.fold((0, 0), |sum, counts| {
                    (sum.0 + counts.operations, sum.1 + counts.bytes.0)
                });
                let latency = last.total_latency();
                Some(Row {
                    name: job.name.clone(),
                    rates: per_second(operations, Bytes(bytes), last.length_ns),
                    mean_ns: (!latency.is_empty()).then(|| latency.mean()),
                })
            })
            .collect();
        if rows.len() > 1 { rows } else { Vec::new() }
    }

    /// Targets, if there are several.
    pub(super) fn targets(&self) -> Vec<Row> {
        let rows = self.target_rows();
        if rows.len() < 2 {
            return Vec::new();
        }
        let named = |(targets, row): (Vec<u32>, Row)| Row {
            name: self.target_name(&targets),
            ..row
        };
        rows.into_iter().map(named).collect()
    }

    fn target_name(&self, targets: &[u32]) -> String {
        let first = targets
            .first()
            .and_then(|first| self.schedule.targets.get(*first as usize));
        match (first, targets.len()) {
            (Some(first), 1) => first.clone(),
            (Some(first), count) => format!("{first} and {} more files", count - 1),
            (None, _) => "unnamed".into(),
        }
    }

    /// Figures of each target, or file set of a stream, over the last interval.
    fn target_rows(&self) -> BTreeMap<Vec<u32>, Row> {
        let mut sums: BTreeMap<Vec<u32>, (Rates, f64, f64)> = BTreeMap::new();
        for ((step, number), job) in self.shown_jobs() {
            let Some(last) = &job.last else { continue };
            let mut add = |targets: &[u32], counts: &PerDirection<model::event::Counts>, latency: f64| {
                let direction_counts = counts.iter().map(|(_, counts)| counts);
                let (operations, bytes) = direction_counts.fold((0, 0), |sum, counts| {
                    (sum.0 + counts.operations, sum.1 + counts.bytes.0)
                });
                let target_sum = sums.entry(targets.to_vec()).or_default();
                target_sum.0.add(per_second(operations, Bytes(bytes), last.length_ns));
                target_sum.1 += latency;
                target_sum.2 += operations as f64;
            };
            for target in &last.targets {
                add(&target.targets, &target.counts, target.latency_ns.0 as f64);
            }
            let planned = self.schedule.steps.get(*step as usize);
            let planned = planned.and_then(|step| step.jobs.get(*number as usize));
            if let Some(planned) = planned.filter(|_| last.targets.is_empty()) {
                let latencies = last.latency.iter().filter_map(|(_, latency)| latency.as_ref());
                let latency_sum: f64 = latencies.map(|histogram| histogram.sum() as f64).sum();
                add(&planned.targets, &last.counts, latency_sum);
            }
        }
        let row = |(rates, latency, operations): (Rates, f64, f64)| Row {
            name: String::new(),
            rates,
            mean_ns: (operations > 0.0).then(|| latency / operations),
        };
        sums.into_iter().map(|(targets, sum)| (targets, row(sum))).collect()
    }

    /// Utilization of each processor in percent, with its number.
    pub(super) fn cores(&self) -> Vec<(u32, f64)> {
        let cores = self.machine.iter().flat_map(|machine| &machine.cores);
        let busy = |core: &CoreUse| {
            let busy = core.user_ns + core.system_ns + core.interrupt_ns + core.stolen_ns;
            let total = busy + core.idle_ns;
            (total.0 > 0).then(|| (core.cpu, 100.0 * busy.0 as f64 / total.0 as f64))
        };
        cores.filter_map(busy).collect()
    }

    /// Kernel counters of devices, and the I/O of this test on them.
    pub(super) fn device_rows(&self) -> Vec<DeviceRow> {
        let Some(machine) = self.machine.as_ref().filter(|machine| machine.length.0 > 0) else {
            return Vec::new();
        };
        let target_rows = self.target_rows();
        let row = |device: &DeviceUse| {
            let targets_on_device = &self.devices.iter().find(|listed| listed.name == device.name)?.targets;
            // Unknown before the first interval.
            let mut test_rates = (!target_rows.is_empty()).then(Rates::default);
            for (targets, row) in &target_rows {
                let on_device = targets
                    .iter()
                    .filter(|target| targets_on_device.contains(target))
                    .count();
                match on_device {
                    0 => {}
                    _ if on_device == targets.len() => {
                        test_rates.iter_mut().for_each(|test_rates| test_rates.add(row.rates))
                    }
                    _ => test_rates = None,
                }
            }
            let length = machine.length.0 as f64;
            Some(DeviceRow {
                name: device.name.clone(),
                kernel: per_second(
                    device.operations.iter().sum(),
                    Bytes(device.bytes.iter().sum()),
                    machine.length,
                ),
                busy_percent: (100.0 * device.busy_ns.0 as f64 / length).min(100.0),
                device_queue_depth: device.weighted_ns.0 as f64 / length,
                test_rates,
            })
        };
        machine.devices.iter().filter_map(row).collect()
    }

    /// Returns all ranks. If there are more than `max`, ranks to show come first: lost ones, late
    /// ones, then those whose rate is furthest from the median.
    pub(super) fn sorted_rank_rows(&self, max: usize) -> Vec<RankRow> {
        let row = |(rank, entry): (&u32, &RankEntry)| RankRow {
            rank: *rank,
            host: entry.host.clone(),
            state: entry.state,
            iops: (!entry.figures.is_empty()).then(|| entry.figures.values().map(|figures| figures.iops).sum()),
            p99_ns: entry.figures.values().filter_map(|figures| figures.p99_ns).max(),
        };
        let mut rows: Vec<RankRow> = self.ranks.iter().map(row).collect();
        if rows.len() <= max {
            return rows;
        }
        let mut rates: Vec<f64> = rows.iter().filter_map(|row| row.iops).collect();
        rates.sort_by(f64::total_cmp);
        let median = rates.get(rates.len() / 2).copied().unwrap_or_default();
        let deviation = |row: &RankRow| match row.state {
            RankState::Lost => f64::INFINITY,
            RankState::Late => f64::MAX,
            _ => row.iops.map_or(0.0, |iops| (iops - median).abs()),
        };
        rows.sort_by(|a, b| deviation(b).total_cmp(&deviation(a)));
        rows
    }

    /// Number of hosts, and number of lost ranks.
    pub(super) fn host_counts(&self) -> Option<(usize, usize)> {
        let names: BTreeSet<&str> = self.ranks.values().map(|rank| rank.host.as_str()).collect();
        let lost = self.ranks.values().filter(|rank| rank.state == RankState::Lost);
        (!names.is_empty()).then(|| (names.len(), lost.count()))
    }

    /// Messages, the newest last.
    pub(super) fn messages(&self) -> impl Iterator<Item = &(Severity, String)> {
        self.messages.iter()
    }
}

impl JobState {
    fn new(name: &str) -> JobState {
        JobState {
            name: name.to_owned(),
            phase: Phase::Delay,
            phase_left: None,
            last: None,
            phase_time: Nanos(0),
            epoch: 0,
            measured_latency: PerDirection::default(),
            measured_counts: PerDirection::default(),
            measured_time: Nanos(0),
            ended: false,
        }
    }

    /// Adds an interval. Returns false for the short remainder of a phase: its rates are
    /// meaningless, so the previous ones stay.
    fn apply(&mut self, interval: &Interval) -> bool {
        if interval.epoch != self.epoch {
            // Statistics were reset, so earlier figures are discarded.
            (self.measured_latency, self.measured_counts) = Default::default();
            (self.epoch, self.measured_time) = (interval.epoch, Nanos(0));
        }
        if interval.phase == Phase::Measured {
            self.measured_time += interval.length_ns;
            for direction in Direction::ALL {
                self.measured_counts[direction].add(interval.counts[direction]);
                if let Some(latency) = &interval.latency[direction] {
                    self.measured_latency[direction].get_or_insert_default().merge(latency);
                }
            }
        }
        // The last interval of warm-up may arrive after the phase has changed.
        if interval.phase >= self.phase {
            (self.phase, self.phase_left) = (interval.phase, interval.left_ns);
        }
        let is_remainder =
            |last: &Interval| last.phase == interval.phase && interval.length_ns.0 < last.length_ns.0 / 4;
        self.phase_time = interval.start_ns + interval.length_ns;
        if self.last.as_ref().is_some_and(is_remainder) {
            return false;
        }
        self.last = Some(interval.clone());
        true
    }
}

fn merge_histograms<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Option<Histogram> {
    histograms.fold(None, |sum, value| {
        let mut sum = sum.unwrap_or_default();
        sum.merge(value);
        Some(sum)
    })
}

fn per_second(operations: u64, bytes: Bytes, length: Nanos) -> Rates {
    let seconds = length.as_secs().max(1e-9);
    Rates {
        iops: operations as f64 / seconds,
        bytes_per_sec: bytes.0 as f64 / seconds,
    }
}

#[cfg(test)]
mod tests;
