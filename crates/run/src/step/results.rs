//! Builds the results of a step, at its end and earlier, from its jobs.

use model::Bytes;
use model::event::{EndReason, Event};
use model::plan::Job;
use model::results::{EffectiveShare, Failure, JobResults, StepResults, WorkerResults};
use model::sequence::effective_ranges;

use super::StepState;
use super::counters::CounterMonitor;
use super::launch::{JobState, LiveJob};
use crate::gather::WorkerTotals;
use crate::line_log::LineLog;
use crate::worker::{ReadyTarget, WorkerOutcome};

impl StepState<'_> {
    /// The results of a step whose jobs have all ended.
    pub(super) fn into_results(self, monitor: CounterMonitor<'_>, targets: &[ReadyTarget]) -> StepResults {
        let mut results = monitor.into_results();
        for (job_plan, job) in self.step_plan.jobs.iter().zip(self.jobs) {
            let mut job = job.into_results(job_plan);
            record_effective_ranges(job_plan, &mut job, targets);
            results.jobs.push(job);
        }
        results
    }

    /// The results of the jobs so far.
    pub(super) fn snapshot(&self, monitor: &CounterMonitor<'_>) -> Event {
        let jobs = self.jobs.iter().zip(&self.step_plan.jobs);
        let results = StepResults {
            devices: monitor.devices_since_start(),
            jobs: jobs.map(|(job, job_plan)| job.partial_results(job_plan)).collect(),
            ..StepResults::default()
        };
        Event::Snapshot {
            step: self.number as u32,
            last: false,
            results: Box::new(results),
        }
    }
}

/// Records which ranges of a stepped distribution were in effect on the real targets.
fn record_effective_ranges(job_plan: &Job, results: &mut JobResults, targets: &[ReadyTarget]) {
    let workers = job_plan.workers.iter().zip(&mut results.workers);
    for (stream, results) in workers.flat_map(|(worker, results)| worker.streams.iter().zip(&mut results.streams)) {
        let Some(target) = stream.target.ids().first().and_then(|id| targets.get(id.0 as usize)) else {
            continue;
        };
        let (base, length) = stream.region.resolve(target.size);
        let ranges = effective_ranges(stream.mix, &stream.pattern, base, length);
        let share = |range: model::access::EffectiveRange| EffectiveShare {
            operations_percent: range.operations,
            start: Bytes(range.start),
            length: Bytes(range.length),
        };
        results.effective_ranges = ranges.into_iter().map(share).collect();
    }
}

impl LiveJob {
    /// Why the job ended.
    pub(super) fn end_reason(&self) -> EndReason {
        let mut reasons = self.workers.iter().map(|worker| match (&worker.outcome, &worker.lost) {
            (Some(ended), None) => ended.reason.clone(),
            _ => EndReason::Failed,
        });
        let first = reasons.next().unwrap_or(EndReason::Done);
        // A failure is more important than the end reasons of others.
        reasons.fold(
            first,
            |kept, reason| if reason == EndReason::Failed { reason } else { kept },
        )
    }

    /// The results before the end.
    fn partial_results(&self, job_plan: &Job) -> JobResults {
        let (totals, series) = self.gather.partial_results(job_plan);
        let workers = totals.into_iter().zip(&self.workers).enumerate();
        let workers = workers.map(|(number, ((totals, start, end), worker))| {
            let mut results = worker_results(number as u32, &worker.outcome, worker.lost.clone(), totals);
            if worker.outcome.is_none() {
                (results.started_ns, results.measured_ns) = (start, end.since(start));
                results.slots = job_plan.workers[number].slots();
                if results.depth.classes.is_empty() {
                    results.count_one_at_a_time();
                }
            }
            results
        });
        JobResults {
            name: job_plan.name.clone(),
            workers: workers.collect(),
            series,
            control: self.governor.outcomes(),
            ..JobResults::default()
        }
    }

    fn into_results(mut self, job_plan: &Job) -> JobResults {
        let reason = self.end_reason();
        let ran = self.state == JobState::Ended { ran: true };
        let windows = self.gather.take_windows();
        let totals = self.gather.take_totals(job_plan);
        let mut results = JobResults {
            name: job_plan.name.clone(),
            lost_intervals: self.gather.lost_intervals(),
            log_waits: self.logs.iter().map(LineLog::wait_count).sum(),
            ended: ran.then_some(reason),
            control: self.governor.outcomes(),
            windows,
            ..JobResults::default()
        };
        for (number, (worker, totals)) in self.workers.into_iter().zip(totals).enumerate() {
            results
                .workers
                .push(worker_results(number as u32, &worker.outcome, worker.lost, totals));
        }
        let measured = results.measured();
        results.series = self.gather.take_series(job_plan, measured);
        results.histograms = self.gather.take_histograms();
        results.seconds = self.gather.take_seconds();
        results
    }
}

/// Unfinished operations are recorded if one is older than this multiple of the mean latency, which
/// those of a steady run are not.
const KEPT_AGE_FACTOR: f64 = 2.0;

fn worker_results(
    number: u32,
    outcome: &Option<WorkerOutcome>,
    lost: Option<Failure>,
    totals: WorkerTotals,
) -> WorkerResults {
    let mut results = WorkerResults {
        worker: number,
        streams: totals.streams,
        depth: totals.depth,
        submitted: totals.submitted,
        completed: totals.completed,
        waits: totals.waits,
        usage: totals.usage,
        failure: lost,
        ..WorkerResults::default()
    };
    let Some(ended) = outcome else { return results };
    let features = &ended.features;
    results.engine = ended.engine.clone();
    results.started_ns = ended.measured.start;
    // Verification between rounds does not count towards the measured time of the writes.
    results.measured_ns = ended
        .measured
        .end
        .since(ended.measured.start + features.verify_time_between_rounds);
    (results.verified_ns, results.verified_usage) = (features.verify_time, features.verify_usage);
    results.block_lifetimes = features.lifetimes.clone();
    results.not_kept = features.unsaved_states.clone();
    results.compared_blocks = features.compared_blocks;
    results.phantom_writes = features.phantom_writes;
    (results.mismatches, results.mismatch_count) = (features.mismatches.clone(), features.mismatch_count);
    results.active_ns = ended.active;
    results.slots = ended.slots;
    results.usage = ended.measured.usage;
    results.map_bytes = Bytes(ended.map_bytes);
    results.failure = ended.failure.clone().or(results.failure);
    results.tolerated = ended.tolerated.clone();
    results.merged_rows = ended.joined_rows;
    results.trace_waits = features.trace_waits;
    results.zone_resets = ended.zone_resets;
    for (stream, direction, count) in &ended.measured.late {
        if let Some(direction) = &mut results.streams[*stream as usize].directions[*direction] {
            direction.late += count;
        }
    }
    for unfinished in &ended.measured.unfinished {
        let directions = &mut results.streams[unfinished.stream as usize].directions;
        if let Some(direction) = &mut directions[unfinished.direction]
            && unfinished.ages.max() as f64 > KEPT_AGE_FACTOR * direction.latency().mean()
        {
            direction.unfinished = Some(unfinished.ages.clone());
            direction.unfinished_ns = unfinished.in_flight;
        }
    }
    // With one operation at a time these are constant, so they are not counted during I/O.
    if results.depth.classes.is_empty() {
        results.count_one_at_a_time();
    }
    results
}

pub(super) fn internal_error(worker: usize, panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    Failure {
        help: Some("please report it with the plan that caused it".into()),
        ..Failure::new(
            format!("internal error: {}", text.unwrap_or("unknown")),
            format!("worker {worker}"),
        )
    }
}
