//! Watches the jobs of a step. It starts them when they are due, gathers their recorders, and stops
//! them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::Nanos;
use model::event::{EndReason, Event, Phase};
use model::finding::{Finding, Severity};
use model::plan::Job;
use model::results::Failure;

use super::StepState;
use super::counters::CounterMonitor;
use super::launch::{JobState, LiveJob, LiveWorker};
use super::results::internal_error;
use super::target_watch::TargetWatch;
use crate::line_log::LineLog;
use crate::worker::ReadyTarget;

/// How long a thread takes to end after its last message, or slightly less.
const JOIN_GRACE: Duration = Duration::from_micros(50);
/// The polling interval while a phase may begin or end, or a rule controls jobs.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The polling interval while jobs only measure. Each poll wakes a processor that the workers could
/// use.
const MEASURING_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time between the last worker's readiness and the start. All workers are waiting when it ends.
const START_MARGIN: Nanos = Nanos::micros(500);
/// How long a snapshot waits for recorders. Workers send them once a second, unless they hang in an
/// operation.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(1250);
/// A worker that continues this long after the end of its job is abandoned.
const STUCK_TIMEOUT: Duration = Duration::from_secs(30);

impl<'a> StepState<'a> {
    /// Runs the jobs until all of them have ended.
    pub(super) fn watch(&mut self, targets: &[ReadyTarget], watcher: &mut dyn FnMut(Event)) -> CounterMonitor<'a> {
        let context = self.context;
        let mut monitor = CounterMonitor::start(context);
        let mut target_watch = TargetWatch::new(context, self.number, targets);
        let (mut snapshots_asked, mut start_published, mut resumed_at) = (VecDeque::new(), false, None);
        loop {
            (0..self.jobs.len()).for_each(|job| self.start_if_due(job, watcher));
            self.resume_simulation(&mut resumed_at);
            (0..self.jobs.len()).for_each(|job| self.poll_job(job, watcher));
            self.stop_io_dependent_jobs();
            start_published = start_published || self.publish_start();
            // This machine's activity does not affect a simulated device.
            if !context.simulated {
                monitor.poll(&self.jobs);
            }
            let snapshots = context.hooks.snapshots;
            if snapshots.is_some_and(|wanted| wanted.swap(false, Ordering::Relaxed)) {
                snapshots_asked.push_back((Instant::now(), context.clock.now()));
            }
            let due = snapshots_asked.iter().take_while(|asked| self.is_snapshot_due(**asked));
            let due = due.count();
            if due > 0 {
                snapshots_asked.drain(..due);
                watcher(self.snapshot(&monitor));
            }
            if self.jobs.iter().all(LiveJob::has_ended) {
                break;
            }
            target_watch.poll(watcher);
            if context.interrupt.load(Ordering::Relaxed) {
                self.jobs.iter_mut().for_each(|job| job.stop(EndReason::Interrupted));
            }
            if context
                .hooks
                .finished
                .is_some_and(|finished| finished.load(Ordering::Relaxed))
            {
                self.jobs.iter_mut().for_each(|job| job.stop(EndReason::Done));
            }
            if context.simulated {
                // Simulated time does not advance while this thread sleeps.
                std::thread::yield_now();
            } else {
                let is_controlled = self.step_plan.jobs.iter().any(|job| !job.control.is_empty());
                self.wait_for_wake(match monitor.is_measuring() && !is_controlled {
                    true => MEASURING_POLL_INTERVAL,
                    false => POLL_INTERVAL,
                });
            }
        }
        if !context.simulated {
            monitor.close();
        }
        let mut workers = self.jobs.iter().flat_map(|job| &job.workers);
        target_watch.finish(workers.all(|worker| worker.lost.is_none()), watcher);
        monitor
    }

    /// Starts a job whose predecessors have ended.
    fn start_if_due(&mut self, index: usize, watcher: &mut dyn FnMut(Event)) {
        let job_plan = &self.step_plan.jobs[index];
        let is_free = job_plan
            .after
            .iter()
            .all(|predecessor| self.jobs[predecessor.0 as usize].has_ended());
        let job = &mut self.jobs[index];
        if job.state != JobState::Waiting || !is_free {
            return;
        }
        // Simulated time does not advance during the start of a job.
        let simulated_start = self.context.simulation.start(job.worker_numbers());
        let start = match self.context.simulated {
            true => simulated_start,
            false => self.context.clock.now() + START_MARGIN,
        };
        job.state = JobState::Running;
        let delay = job_plan.phases.start_delay.low_ns;
        job.gate.open(Some(start + delay));
        if delay > Nanos(0) {
            watcher(Event::Phase {
                step: self.number as u32,
                job: index as u32,
                name: job_plan.name.clone(),
                phase: Phase::Delay,
                length_ns: Some(delay),
            });
        }
    }

    /// Resumes simulated time once all consequences of a worker's end are done. Until then it does
    /// not advance, so that they happen at the time of that end.
    fn resume_simulation(&self, resumed_at: &mut Option<usize>) {
        // The end of a cancelled job may start another.
        if self.jobs.iter().any(|job| job.state == JobState::Cancelled) {
            return;
        }
        let ended = || self.jobs.iter().flat_map(LiveJob::ended_worker_numbers);
        let count = ended().count();
        if *resumed_at != Some(count) {
            *resumed_at = Some(count);
            self.context.simulation.resume(ended());
        }
    }

    /// Publishes the start of this step to the other hosts. Returns whether it is published.
    fn publish_start(&self) -> bool {
        let (Some(others), Some(began)) = (
            self.context.hooks.others,
            self.jobs.iter().filter_map(|job| job.control.first_start()).min(),
        ) else {
            return false;
        };
        // Simulated devices have their own clock, by which all workers start at the same time.
        let at = match self.context.simulated {
            true => self.context.clock.now(),
            false => began,
        };
        others.report_start(self.number as u32, at);
        true
    }

    /// Gathers the recorders of a job's workers, publishes intervals, and detects the workers' end.
    fn poll_job(&mut self, index: usize, watcher: &mut dyn FnMut(Event)) {
        let job_plan = &self.step_plan.jobs[index];
        let (step_number, job_number) = (self.number as u32, index as u32);
        let job = &mut self.jobs[index];
        if job.state == JobState::Waiting || job.has_ended() {
            return;
        }
        job.gather.drain();
        let phase = job.gather.phase();
        if phase != job.published_phase {
            job.published_phase = phase;
            watcher(Event::Phase {
                step: step_number,
                job: job_number,
                name: job_plan.name.clone(),
                phase,
                length_ns: planned_length(job_plan, phase),
            });
        }
        job.join_ended_workers();
        if job.failed && job_plan.ends_with.workers_on_failure {
            job.stop(EndReason::Failed);
        }
        if job_plan.ends_with.workers && job.workers.iter().any(|worker| worker.thread.is_none()) {
            job.stop(EndReason::OtherJob);
        }
        let is_over = job.workers.iter().all(|worker| worker.thread.is_none());
        job.flush_log(is_over);
        for mut interval in job
            .gather
            .finished_intervals(step_number, job_number, job_plan, is_over)
        {
            if let Some(depth) = job.control.depth() {
                let slots = job_plan
                    .workers
                    .iter()
                    .map(|worker| u64::from(worker.slots().min(depth)));
                interval.depth = slots.sum();
            }
            job.governor.on_interval(&interval, &job.control);
            watcher(Event::Interval(Box::new(interval)));
        }
        job.gather.release();
        if is_over {
            job.state = JobState::Ended {
                ran: job.state == JobState::Running,
            };
            watcher(Event::JobEnded {
                step: step_number,
                job: job_number,
                reason: job.end_reason(),
            });
            self.stop_dependent_jobs(index);
        } else if let Some(finding) = job.abandon_stuck_workers() {
            watcher(Event::Notice { finding });
        }
    }

    /// Stops the jobs that the plan ends together with this one.
    fn stop_dependent_jobs(&mut self, index: usize) {
        let ends_with = &self.step_plan.jobs[index].ends_with;
        let failed = self.jobs[index].failed;
        let on_failure = ends_with.on_failure.iter().filter(|_| failed);
        for dependent in ends_with.jobs.iter().chain(on_failure) {
            if *dependent as usize != index {
                self.jobs[*dependent as usize].stop(EndReason::OtherJob);
            }
        }
    }

    /// Stops jobs that end with the I/O of others, once that I/O is done. As in fio, they continue
    /// while a later step still has I/O.
    fn stop_io_dependent_jobs(&mut self) {
        let mut later = self.context.plan.steps[self.number + 1..]
            .iter()
            .flat_map(|step| &step.jobs);
        let mut moving = self
            .step_plan
            .jobs
            .iter()
            .zip(&self.jobs)
            .filter(|(job_plan, _)| job_plan.moves_data())
            .peekable();
        if moving.peek().is_none() || !moving.all(|(_, job)| job.has_ended()) || later.any(Job::moves_data) {
            return;
        }
        for (job_plan, job) in self.step_plan.jobs.iter().zip(&mut self.jobs) {
            if job_plan.ends_with_io && !job.has_ended() {
                job.stop(EndReason::OtherJob);
            }
        }
    }

    /// True if all data of the jobs until a moment has arrived. Also true if the wait takes too
    /// long.
    fn is_snapshot_due(&self, (asked, moment): (Instant, Nanos)) -> bool {
        let is_known = |job: &LiveJob| job.state != JobState::Running || job.gather.has_data_until(moment);
        self.jobs.iter().all(is_known) || asked.elapsed() > SNAPSHOT_TIMEOUT
    }

    /// Waits until a worker has ended, or until the next poll is due.
    fn wait_for_wake(&self, timeout: Duration) {
        let ended = || {
            let workers = self.jobs.iter().flat_map(|job| &job.workers);
            workers.filter(|worker| worker.is_finished()).count()
        };
        let before = ended();
        match self.wake_rx.recv_timeout(timeout) {
            Err(RecvTimeoutError::Timeout) => {}
            // All threads have sent their last message.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(JOIN_GRACE),
            Ok(()) => {
                let woken = 1 + self.wake_rx.try_iter().count();
                // The message is the last action of a thread; then the system takes a moment to end
                // it.
                for _ in 0..20 {
                    if ended() >= before + woken {
                        break;
                    }
                    std::thread::sleep(JOIN_GRACE);
                }
            }
        }
    }
}

/// The length of a phase, if the plan limits it by time.
fn planned_length(job_plan: &Job, phase: Phase) -> Option<Nanos> {
    match phase {
        Phase::WarmUp => Some(job_plan.phases.warm_up_ns).filter(|length| *length > Nanos(0)),
        Phase::Measured => job_plan.stop.after_ns,
        Phase::CoolDown => Some(job_plan.phases.cool_down_ns),
        Phase::Delay | Phase::Verify | Phase::Draining => None,
    }
}

impl LiveWorker {
    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl LiveJob {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, JobState::Ended { .. })
    }

    /// Numbers of its workers among all workers of the step.
    pub(super) fn worker_numbers(&self) -> Range<usize> {
        self.first_worker..self.first_worker + self.workers.len()
    }

    /// Numbers of the workers whose threads have ended or were abandoned.
    fn ended_worker_numbers(&self) -> impl Iterator<Item = usize> {
        let numbers = self.worker_numbers().zip(&self.workers);
        numbers
            .filter(|(_, worker)| worker.thread.is_none())
            .map(|(number, _)| number)
    }

    pub(super) fn stop(&mut self, reason: EndReason) {
        if self.stopping_since.is_none() {
            self.stopping_since = Some(Instant::now());
            self.control.stop(reason);
            if self.state == JobState::Waiting {
                self.gate.open(None);
                self.state = JobState::Cancelled;
            }
        }
    }

    /// Joins threads that have ended.
    fn join_ended_workers(&mut self) {
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if !worker.is_finished() {
                continue;
            }
            let Some(thread) = worker.thread.take() else { continue };
            match thread.join() {
                Ok(ended) => {
                    self.failed |= ended.failure.is_some();
                    worker.outcome = Some(ended);
                }
                Err(panic) => {
                    self.failed = true;
                    worker.lost = Some(internal_error(number, panic.as_ref()));
                }
            }
            self.gather.mark_ended(number);
        }
    }

    /// Ends the job if its log cannot be written. A finished job completes its log.
    fn flush_log(&mut self, over: bool) {
        if over {
            for failure in self.logs.iter_mut().filter_map(LineLog::finish) {
                self.failed = true;
                if let Some(worker) = self.workers.first_mut() {
                    worker.lost.get_or_insert(failure);
                }
            }
        } else if self.logs.iter().any(LineLog::has_failed) {
            self.stop(EndReason::Failed);
        }
    }

    /// Abandons workers whose operations never return, which would delay the report forever.
    fn abandon_stuck_workers(&mut self) -> Option<Finding> {
        let due = match (self.stopping_since, self.published_phase) {
            (Some(since), _) => since,
            (None, Phase::Draining) => {
                self.stopping_since = Some(Instant::now());
                return None;
            }
            _ => return None,
        };
        if due.elapsed() < STUCK_TIMEOUT {
            return None;
        }
        let mut stuck = 0;
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if worker.thread.take().is_some() {
                let what = "its operations never completed".to_owned();
                let help = Some("check `dmesg` and the health of the device".to_owned());
                worker.lost = Some(Failure {
                    help,
                    ..Failure::new(what, format!("worker {number}"))
                });
                self.failed = true;
                self.gather.mark_ended(number);
                stuck += 1;
            }
        }
        (stuck > 0).then(|| {
            let what = match stuck {
                1 => "1 worker was abandoned: its operations never completed".to_owned(),
                _ => format!("{stuck} workers were abandoned: their operations never completed"),
            };
            Finding::new("STUCK", Severity::Error, what)
        })
    }
}
