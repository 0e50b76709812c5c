//! Validates a plan: invalid indexes, jobs that never end, parameters out of range. Collects all
//! faults, not only the first. Other code checks whether targets exist and may be used.

use std::path::{Component, Path};

use super::{
    Control, DepthScope, EngineKind, FileGroup, FileOperation, FileOperationKind, FileTree, FileWork, Job, Pacing,
    Plan, PriorityRule, Rate, Stop, Stream, StreamTarget, SyncRule, TargetId, TargetKind, Worker,
};
use crate::block_size::BlockSizes;
use crate::content::Content;
use crate::mix::Mix;
use crate::units::Bytes;
use crate::visible::excerpt;

/// All faults of an invalid plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(.0))]
pub struct PlanError(pub Vec<PlanFault>);

fn list(faults: &[PlanFault]) -> String {
    faults.iter().map(PlanFault::to_string).collect::<Vec<_>>().join("\n")
}

/// A fault of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct PlanFault {
    /// The part of the plan.
    pub at: String,
    /// The fault and its remedy.
    pub what: String,
}

/// The most characters of a job's name. Reports pad names to the width of a column.
const MAX_NAME: usize = 1000;
/// The maximum queue depth of a worker.
const MAX_WORKER_DEPTH: u64 = 1 << 20;

impl Plan {
    /// Validates the plan.
    ///
    /// # Errors
    /// [`PlanError`] with every fault.
    pub fn check(&self) -> Result<(), PlanError> {
        let mut faults = Faults {
            at: "the plan".into(),
            list: Vec::new(),
        };
        if self.jobs().next().is_none() {
            faults.add("there is no job");
        }
        for (index, target) in self.targets.iter().enumerate() {
            faults.at = match &*target.path {
                "" => format!("target {index}"),
                path => format!("target {index} ({path})"),
            };
            match &target.kind {
                TargetKind::Template { number } => {
                    faults.add(format!("target *{number} of the profile has no path; set one"));
                }
                TargetKind::Simulated { device } if device.servers == 0 => {
                    faults.add("a simulated device needs at least one server");
                }
                TargetKind::Simulated { device } if device.service.is_instant() => {
                    faults.add("a simulated device needs a service time above 0: its clock stops without one");
                }
                TargetKind::Tree { tree } => match tree.file_count() {
                    0 => faults.add("a tree needs at least one file"),
                    count if count.max(tree.directory_count()) > FileTree::MAX_FILES => faults.add(format!(
                        "a tree of {count} files is too large; the maximum is {}",
                        FileTree::MAX_FILES
                    )),
                    _ => {}
                },
                TargetKind::Path if target.path.is_empty() => faults.add("the path is empty"),
                _ => {}
            }
        }
        for grid in &self.grids {
            faults.at = "interval series".into();
            if grid.length_ns.0 < 1_000_000 {
                faults.add(format!(
                    "an interval of {} is too short; the shortest is 1 ms",
                    grid.length_ns
                ));
            }
        }
        let mut logs: Vec<(&str, &str)> = Vec::new();
        for ((step, index), job) in self.jobs() {
            faults.at = format!("job `{}`", job.name);
            if let Some(log) = &job.operation_log {
                let is_same = |other: &str| path_parts(other).eq(path_parts(log));
                if let Some((_, other)) = logs.iter().find(|(path, _)| is_same(path)) {
                    faults.add(format!(
                        "job `{other}` already logs its operations in {log}; name another file"
                    ));
                }
                logs.push((log, &job.name));
            }
            for windows in job.windows.iter().filter(|windows| windows.length_ns.0 < 1_000_000) {
                faults.add(format!(
                    "a window of {} is too short; the shortest is 1 ms",
                    windows.length_ns
                ));
            }
            self.check_job(job, index, self.steps[step].jobs.len(), &mut faults);
        }
        if faults.list.is_empty() {
            Ok(())
        } else {
            Err(PlanError(faults.list))
        }
    }

    fn check_job(&self, job: &Job, index: usize, jobs: usize, faults: &mut Faults) {
        if job.workers.is_empty() {
            faults.add("the job has no worker");
        }
        let length = job.name.chars().count();
        if length > MAX_NAME {
            faults.at = format!("job `{}`", excerpt(&job.name));
            faults.add(format!("its name has {length} characters; use at most {MAX_NAME}"));
        }
        check_stop(&job.stop, faults);
        check_passes(job, faults);
        let replays = |worker: &Worker| worker.streams.iter().any(|stream| stream.replay.is_some());
        let repeats = job.stop.repeat_until_time || job.stop.passes.is_some_and(|passes| passes > 1);
        if repeats && job.workers.iter().any(replays) {
            faults.add("a trace is replayed only once: end the job after one pass");
        }
        let references = job.after.iter().map(|d| d.0).chain(job.ends_with.jobs.iter().copied());
        for reference in references.chain(job.ends_with.on_failure.iter().copied()) {
            if reference as usize >= jobs {
                faults.add(format!(
                    "the job refers to job {reference} of its step, which has {jobs}"
                ));
            }
        }
        // A job may wait only for earlier jobs, which rules out cycles.
        for dependency in &job.after {
            if dependency.0 as usize >= index {
                faults.add(format!(
                    "the job waits for job {}, which is not an earlier one",
                    dependency.0
                ));
            }
        }
        for control in &job.control {
            check_control(control, faults);
        }
        let at = std::mem::take(&mut faults.at);
        for (number, worker) in job.workers.iter().enumerate() {
            faults.at = format!("{at}, worker {number}");
            self.check_worker(worker, faults);
        }
        faults.at = at;
    }

    fn check_worker(&self, worker: &Worker, faults: &mut Faults) {
        if worker.streams.is_empty() {
            faults.add("the worker has no stream");
        }
        let slots = match worker.depth {
            DepthScope::PerStream => worker.streams.iter().map(|stream| u64::from(stream.depth)).sum(),
            DepthScope::Shared { operations } => u64::from(operations),
            DepthScope::PerTarget { alternatives } => {
                if alternatives == 0 || !worker.streams.len().is_multiple_of(alternatives as usize) {
                    faults.add("all its targets need the same number of alternatives");
                }
                u64::from(worker.slots())
            }
        };
        if slots == 0 && !worker.streams.is_empty() {
            faults.add("its queue depth is 0; it must be at least 1");
        }
        if slots > MAX_WORKER_DEPTH {
            faults.add(format!(
                "a queue depth of {slots} is too large; the maximum per worker is {MAX_WORKER_DEPTH}"
            ));
        }
        if worker.depth != DepthScope::PerStream && worker.streams.iter().all(|stream| stream.weight == 0) {
            faults.add("none of its streams has a weight above 0");
        }
        if worker.batching.submit == Some(0) {
            faults.add("the worker must submit at least 1 operation at a time");
        }
        if worker.batching.complete_max == Some(0) {
            faults.add("the worker must reap at least 1 completion at a time");
        }
        for stream in &worker.streams {
            self.check_stream(stream, faults);
            check_sharing(stream, faults);
        }
        self.check_files(worker, faults);
        let replays = worker.streams.iter().filter(|stream| stream.replay.is_some());
        if worker.streams.len() > 1 && replays.count() > 0 {
            faults.add("a stream that replays a trace must be the only stream of its worker");
        }
    }

    /// Checks that operations on files have the files engine, a tree and a separate worker.
    fn check_files(&self, worker: &Worker, faults: &mut Faults) {
        let is_tree = |id: &TargetId| {
            let target = self.targets.get(id.0 as usize);
            target.is_some_and(|target| matches!(target.kind, TargetKind::Tree { .. }))
        };
        let ids = worker.streams.iter().flat_map(|stream| stream.target.ids());
        let on_tree = ids.filter(|id| is_tree(id)).count();
        let works: Vec<&FileWork> = worker
            .streams
            .iter()
            .filter_map(|stream| stream.files.as_ref())
            .collect();
        let engine = worker.engine.kind == EngineKind::Files;
        match (works[..].first(), engine, on_tree, worker.streams.len()) {
            (None, false, 0, _) => {}
            (Some(work), true, 1, 1) => {
                if work
                    .groups
                    .iter()
                    .all(|group| group.share == 0 || group.operations.is_empty())
                {
                    faults.add("none of its operations on files has a share above 0");
                }
                if work.groups.iter().any(|group| group.operations.is_empty()) || work.block.0 == 0 {
                    faults.add("a group of operations on files has no operation, or its block is 0");
                }
                let opens = |group: &FileGroup| {
                    matches!(
                        group.operations[..],
                        [FileOperationKind::Open | FileOperationKind::Create]
                            | [FileOperationKind::Delete, FileOperationKind::Create]
                    )
                };
                if work.session.is_some() && !matches!(&work.groups[..], [group] if opens(group)) {
                    faults.add("a file session must begin with opening or creating a file");
                }
                let closes = |group: &FileGroup| group.operations.contains(&FileOperationKind::Close);
                if work.groups.iter().any(closes) {
                    faults.add("`close` is not allowed: a file session closes its file itself");
                }
                let mut block_counts = self.targets.iter().filter_map(|target| match &target.kind {
                    TargetKind::Tree { tree } => Some(tree.sizes.max().0 / work.block.0.max(1)),
                    _ => None,
                });
                if block_counts.any(|blocks| blocks > FileOperation::MAX_BLOCKS) {
                    faults.add("a file of a tree has too many blocks: use larger blocks or smaller files");
                }
                if work.shares_files && work.changes_names() {
                    faults.add("operations that create, remove or rename files cannot share files");
                }
                self.check_destination(&worker.streams[0], work, faults);
                if worker.slots() > 1 {
                    faults.add("operations on files run one at a time: the queue depth must be 1");
                }
            }
            _ => faults.add("operations on files need the engine `files`, one stream, and one tree"),
        }
    }

    /// Checks that files are copied and moved only between trees of the same shape.
    fn check_destination(&self, stream: &Stream, work: &FileWork, faults: &mut Faults) {
        let shape = |id: &TargetId| match &self.targets.get(id.0 as usize)?.kind {
            TargetKind::Tree { tree } => Some(FileTree {
                kept: None,
                ..tree.clone()
            }),
            _ => None,
        };
        let is_needed = work.kinds().iter().any(|kind| kind.needs_destination());
        let destination = work.destination.as_ref().filter(|id| !stream.target.ids().contains(id));
        if is_needed != work.destination.is_some()
            || is_needed
                && (destination.is_none() || destination.and_then(shape) != stream.target.ids().first().and_then(shape))
        {
            faults.add("files are copied and moved to another tree of the same shape");
        }
    }

    fn check_stream(&self, stream: &Stream, faults: &mut Faults) {
        if stream.target.ids().is_empty() {
            faults.add("a stream has no target");
        }
        for id in stream.target.ids() {
            if id.0 as usize >= self.targets.len() {
                faults.add(format!("there is no target {}", id.0));
            }
        }
        if let StreamTarget::Files { open_at_once: 0, .. } | StreamTarget::Files { operations: 0, .. } = stream.target {
            faults.add("a file set needs at least one open file and one operation per file");
        }
        if let Mix::Drawn { write_percent, .. } | Mix::Exact { write_percent } = stream.mix
            && !(0.0..=100.0).contains(&write_percent)
        {
            faults.add(format!(
                "the share of writes must be 0 to 100 percent, not {write_percent}"
            ));
        }
        for (direction, index) in stream.pattern.access_index.iter() {
            if stream.mix.includes(direction) && usize::from(*index) >= stream.pattern.access.len() {
                faults.add(format!("{}s have no access pattern", direction.word()));
            }
        }
        for direction in stream.mix.directions() {
            check_sizes(&stream.pattern.sizes[direction], faults);
        }
        match &stream.content {
            Content::Pattern { bytes } if bytes.is_empty() => faults.add("the pattern to write is empty"),
            Content::Source { size, .. } if *size < stream.pattern.longest(&stream.mix) => {
                faults.add(format!("the source of write data, {size}, is smaller than a block"));
            }
            _ => {}
        }
        match &stream.pacing {
            Pacing::Unpaced => {}
            Pacing::Together { rate } => check_rate(rate, faults),
            Pacing::PerDirection { rates } => {
                for (direction, rate) in rates.iter() {
                    if let Some(rate) = rate {
                        check_rate(rate, faults);
                        if !stream.mix.includes(direction) {
                            faults.add(format!("a rate for {}s that never occur", direction.word()));
                        }
                    }
                }
            }
        }
        if let Some(think) = &stream.think
            && think.pause_ns.0 > 0
            && think.operations == 0
            && think.after_ns.is_none()
        {
            faults.add("a pause needs at least one operation, or a time, before it");
        }
    }
}

/// The parts of a path that name different files; `./log.csv` is `log.csv`.
fn path_parts(path: &str) -> impl Iterator<Item = Component<'_>> {
    Path::new(path)
        .components()
        .filter(|component| !matches!(component, Component::CurDir))
}

fn check_stop(stop: &Stop, faults: &mut Faults) {
    let counts = stop.bytes.is_some() || stop.operations.is_some() || stop.passes.is_some();
    if stop.after_ns.is_none() && stop.region_percent.is_none() && !counts {
        faults.add("nothing ends it: set a time, bytes, operations or passes");
    }
    if stop.repeat_until_time && stop.after_ns.is_none() {
        faults.add("the job repeats until its time is over, but has no time");
    }
    let zero = [
        stop.after_ns.map(|t| t.0),
        stop.bytes.map(|b| b.0),
        stop.region_percent.map(u64::from),
        stop.operations,
        stop.passes.map(u64::from),
    ];
    if zero.contains(&Some(0)) {
        faults.add("the job would end immediately: times, bytes, operations and passes must be above 0");
    }
}

/// Checks priority rules, flow weights and traces.
fn check_sharing(stream: &Stream, faults: &mut Faults) {
    let some_are_closed = matches!(
        &stream.target,
        StreamTarget::Files { targets, open_at_once, .. } if (*open_at_once as usize) < targets.len()
    );
    if !stream.priority_rules.is_empty() && some_are_closed {
        faults.add("operations cannot have different priorities while some of its files are closed");
    }
    for rule in &stream.priority_rules {
        let applies_to_same = |other: &&PriorityRule| (other.direction, other.length) == (rule.direction, rule.length);
        let sum: u32 = stream
            .priority_rules
            .iter()
            .filter(applies_to_same)
            .map(|rule| u32::from(rule.percent))
            .sum();
        if sum > 100 {
            faults.add(format!(
                "priority shares of the same operations add up to {sum} percent; the maximum is 100"
            ));
        }
        if rule.level > 7 || rule.hint > 1023 {
            faults.add("the level of a priority is 0 to 7, its hint 0 to 1023");
        }
    }
    if stream.flow.is_some_and(|flow| flow.weight == 0) {
        faults.add("a share in a flow needs a weight above 0");
    }
    if let Some(profile) = &stream.rate_profile
        && !(profile.is_valid() && matches!(stream.pacing, Pacing::Together { .. }))
    {
        faults.add("a varying rate needs one schedule for all directions, and spans whose mean is the rate");
    }
    let is_plain = matches!(stream.target, StreamTarget::One { .. })
        && stream.sync == SyncRule::default()
        && stream.priority_rules.is_empty()
        && stream.verify.is_none()
        && stream.replay.is_none()
        && stream.files.is_none();
    if stream.reopen_every.is_some_and(|every| every == 0 || !is_plain) {
        faults.add(
            "only a single target without flushes, priority rules, verification or trace can be reopened, after at \
            least 1 operation",
        );
    }
    let Some(replay) = &stream.replay else {
        if matches!(stream.mix, Mix::Traced { .. }) {
            faults.add("the mix takes its operations from a trace, but no trace is set");
        }
        return;
    };
    if !matches!(stream.mix, Mix::Traced { .. }) {
        faults.add("a stream that replays a trace takes its mix from the trace");
    }
    if stream.verify.is_some() {
        faults.add("writes of a trace cannot be verified");
    }
    if !stream.priority_rules.is_empty() {
        faults.add("operations of a trace have the priority of their stream");
    }
    if replay.files.len() != stream.target.ids().len() {
        faults.add("a trace needs a target for each of its files");
    }
    if replay.speed_percent == 0 {
        faults.add("the speed of a trace must be above 0 percent");
    }
    if replay.align > 0 && !replay.align.is_power_of_two() {
        faults.add("the alignment of a trace must be a power of two");
    }
}

/// Checks that a job does not depend on the end of a pass that never ends.
fn check_passes(job: &Job, faults: &mut Faults) {
    let Stop {
        after_ns: None,
        bytes: None,
        region_percent: None,
        operations: None,
        passes: Some(_),
        ..
    } = job.stop
    else {
        return;
    };
    let endless = |stream: &Stream| {
        if stream.replay.is_some() {
            // A trace ends by itself.
            return false;
        }
        let mut patterns = stream.mix.directions().filter_map(|direction| {
            let index = usize::from(stream.pattern.access_index[direction]);
            stream.pattern.access.get(index)
        });
        patterns.any(|access| !access.is_finite())
    };
    if job.workers.iter().flat_map(|worker| &worker.streams).any(endless) {
        faults.add(
            "the job ends after a number of passes, but a pass of its access pattern never ends: set a time as well",
        );
    }
}

fn check_sizes(sizes: &BlockSizes, faults: &mut Faults) {
    let max_size = Bytes(u64::from(u32::MAX) & !4095);
    if sizes.min().0 == 0 {
        faults.add("the block size must be above 0");
    }
    if sizes.max() > max_size {
        faults.add(format!(
            "a block size of {} is too large; it must be below {}",
            sizes.max(),
            Bytes::gib(4)
        ));
    }
    match sizes {
        BlockSizes::Range { low, high, .. } if low > high => {
            faults.add(format!(
                "the block size range {low} to {high} must start with the smaller size"
            ));
        }
        BlockSizes::Split { entries } => {
            let sum: f64 = entries.iter().map(|entry| entry.percent).sum();
            if entries.iter().any(|entry| entry.percent < 0.0) || sum <= 0.0 {
                faults.add("the shares of a block size split must add up to more than 0 percent");
            }
        }
        _ => {}
    }
}

fn check_rate(rate: &Rate, faults: &mut Faults) {
    if rate.amount == 0 || rate.per_ns.0 == 0 {
        faults.add("a rate must be above 0");
    }
}

fn check_control(control: &Control, faults: &mut Faults) {
    match control {
        Control::Precision(rule) if !(rule.percent > 0.0 && rule.percent < 100.0) => {
            faults.add(format!(
                "a precision must be above 0 and below 100 percent, not {}",
                rule.percent
            ));
        }
        Control::SteadyState(rule) => {
            if rule.interval_ns.0 == 0 || rule.window_ns <= rule.interval_ns {
                faults.add("the steady-state window must be longer than its interval, and both above 0");
            }
            if rule.limit.is_nan() || rule.limit < 0.0 {
                faults.add("the steady-state limit must not be negative");
            }
        }
        Control::LatencyTarget(rule) => {
            if rule.target_ns.0 == 0 || rule.window_ns.0 == 0 {
                faults.add("a latency target needs a latency and a window above 0");
            }
            if !(rule.percentile > 0.0 && rule.percentile <= 100.0) {
                faults.add("the percentile of a latency target must be above 0 and at most 100");
            }
        }
        _ => {}
    }
}

struct Faults {
    at: String,
    list: Vec<PlanFault>,
}

impl Faults {
    fn add(&mut self, what: impl Into<String>) {
        let fault = PlanFault {
            at: self.at.clone(),
            what: what.into(),
        };
        // A fault that hundreds of workers share is reported once, for the first worker.
        if !self.list.iter().any(|listed| listed.what == fault.what) {
            self.list.push(fault);
        }
    }
}
