//! Shows fio's progress line, redrawn about once a second, and its message about a signal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dialects::fio::Jobs;
use dialects::fio::flags::Eta;
use model::Direction;
use model::event::{Event, Phase};
use model::mix::Mix;
use model::plan::{Plan, Rate, RateUnit};
use report::formats::fio::eta::{self, Limits, Live, Progress};

use super::super::{print_stderr, print_stdout};
use super::output::Output;
use crate::process::start_thread;

/// How often to check for the file that requests a report.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A file of this name in the temporary directory requests a report.
const REQUEST_FILE: &str = "fio-dump-status";
/// Time before which the line has no estimates.
const ESTIMATE_AFTER: Duration = Duration::from_secs(3);

/// The state of the progress line.
#[derive(Debug)]
pub(super) struct Status {
    shown: bool,
    every: Duration,
    newline: Duration,
    interrupt: &'static AtomicBool,
    is_interruption_shown: bool,
    begun: Instant,
    last: Instant,
    last_newline: Instant,
    width: usize,
    limits: Option<Limits>,
    jobs: Vec<JobProgress>,
}

/// Starts a thread that sets the returned flag when an intermediate report is due: every
/// `--status-interval`, on SIGUSR1, and for the request file.
pub(super) fn start_report_watch(jobs: &Jobs) -> &'static AtomicBool {
    let wanted = engine::sys::signals::catch_report();
    let every = Duration::from_micros(jobs.flags.status_interval_us);
    let watching = start_thread("reports", move || {
        let folder = std::env::var_os("TMPDIR").or_else(|| std::env::var_os("TEMP"));
        let request_file = folder.map_or_else(std::env::temp_dir, Into::into).join(REQUEST_FILE);
        let mut due = Instant::now() + every;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            std::thread::sleep(if every.is_zero() {
                POLL_INTERVAL
            } else {
                left.min(POLL_INTERVAL)
            });
            if !every.is_zero() && Instant::now() >= due {
                due += every;
                wanted.store(true, Ordering::Relaxed);
            }
            if request_file.exists() && std::fs::remove_file(&request_file).is_ok() {
                wanted.store(true, Ordering::Relaxed);
            }
        }
    });
    if let Err(error) = watching {
        let line = format!("fio: no intermediate reports: cannot start a thread: {error}");
        print_stderr(&[line]);
    }
    wanted
}

/// The progress of a job, from its events.
#[derive(Clone, Debug)]
struct JobProgress {
    step: u32,
    job: u32,
    workers: usize,
    files: u32,
    /// Letter of the job while it runs.
    letter: char,
    state: State,
    /// Bytes and operations of each direction since the last line.
    bytes: [u64; 3],
    operations: [u64; 3],
    left: Option<Duration>,
    length: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Delay,
    WarmUp,
    Running,
    Verifying,
    Finishing,
    Ended,
}

impl Status {
    pub(super) fn new(jobs: &Jobs, plan: &Plan, interrupt: &'static AtomicBool) -> Status {
        let flags = &jobs.flags;
        let on_terminal = std::io::stdout().is_terminal();
        let shown = match flags.eta {
            Eta::Always => true,
            Eta::Never => false,
            Eta::Auto => on_terminal && (flags.formats.normal || flags.output.is_some()),
        };
        let now = Instant::now();
        Status {
            shown,
            every: Duration::from_micros(flags.eta_interval_us.max(250_000)),
            newline: Duration::from_micros(flags.eta_newline_us),
            interrupt,
            is_interruption_shown: false,
            begun: now,
            last: now,
            last_newline: now,
            width: 0,
            limits: sum_limits(plan),
            jobs: plan
                .jobs()
                .map(|((step, number), job)| new_job_progress(step, number, job))
                .collect(),
        }
    }

    pub(super) fn handle_event(&mut self, event: &Event, output: &mut Output) {
        self.print_signal(output);
        match event {
            Event::Phase {
                step,
                job,
                phase,
                length_ns,
                ..
            } => {
                if let Some(job_progress) = self.find(*step, *job) {
                    job_progress.state = match phase {
                        Phase::Delay => State::Delay,
                        Phase::WarmUp => State::WarmUp,
                        Phase::Measured | Phase::CoolDown => State::Running,
                        Phase::Verify => State::Verifying,
                        Phase::Draining => State::Finishing,
                    };
                    if *phase == Phase::Measured {
                        job_progress.length = length_ns.map(|length| Duration::from_nanos(length.0));
                    }
                }
            }
            Event::Interval(interval) => {
                if let Some(job_progress) = self.find(interval.step, interval.job) {
                    for (direction, counts) in interval.counts.iter() {
                        job_progress.bytes[direction as usize] += counts.bytes.0;
                        job_progress.operations[direction as usize] += counts.operations;
                    }
                    job_progress.left = interval.left_ns.map(|left| Duration::from_nanos(left.0));
                }
                self.show();
            }
            Event::JobEnded { step, job, .. } => {
                if let Some(job_progress) = self.find(*step, *job) {
                    job_progress.state = State::Ended;
                }
            }
            Event::Preparing { .. } => self.show(),
            Event::Prepared { .. }
            | Event::Ready { .. }
            | Event::Rank(_)
            | Event::Notice { .. }
            | Event::Snapshot { .. } => {}
        }
    }

    /// Ends the line, so that other text can be printed.
    pub(super) fn clear(&mut self) {
        if self.width > 0 {
            let _ = print_stdout("\n");
            self.width = 0;
        }
    }

    /// Ends the line after the run.
    pub(super) fn end(&mut self, output: &mut Output) {
        self.print_signal(output);
        self.clear();
    }

    fn find(&mut self, step: u32, job: u32) -> Option<&mut JobProgress> {
        self.jobs
            .iter_mut()
            .find(|entry| entry.step == step && entry.job == job)
    }

    fn print_signal(&mut self, output: &mut Output) {
        if self.is_interruption_shown || !self.interrupt.load(Ordering::Relaxed) {
            return;
        }
        // Without a signal, a trigger ended the run, for which fio prints nothing.
        if let Some(signal) = engine::sys::signals::stop_signal() {
            self.is_interruption_shown = true;
            output.print_line(&format!("\nfio: terminating on signal {signal}"));
        }
    }

    fn show(&mut self) {
        if !self.shown || self.last.elapsed() < self.every {
            return;
        }
        let line = eta::format_line(&self.live());
        self.last = Instant::now();
        let width = line.chars().count();
        let blanks = " ".repeat(self.width.saturating_sub(width));
        let newline = !self.newline.is_zero() && self.last_newline.elapsed() >= self.newline;
        if newline {
            self.last_newline = Instant::now();
        }
        let end = if newline { '\n' } else { '\r' };
        // A failure to print this line does not matter.
        let _ = print_stdout(&format!("{line}{blanks}{end}"));
        self.width = if newline { 0 } else { width };
    }

    fn live(&mut self) -> Live {
        let seconds = self.last.elapsed().as_secs_f64().max(1e-3);
        let running = |job: &&JobProgress| !matches!(job.state, State::Waiting | State::Ended);
        let mut progress = Progress::default();
        for job in &mut self.jobs {
            progress.states.extend(std::iter::repeat_n(job.shown(), job.workers));
            for direction in Direction::ALL {
                let index = direction as usize;
                progress.kib_per_second[index] += (job.bytes[index] as f64 / 1024.0 / seconds) as u64;
                progress.iops[index] += (job.operations[index] as f64 / seconds) as u64;
            }
            (job.bytes, job.operations) = ([0; 3], [0; 3]);
        }
        let progress = (self.begun.elapsed() >= ESTIMATE_AFTER).then(|| {
            let lefts = self.jobs.iter().filter(running).map(|job| job.left.zip(job.length));
            let longest: Option<(Duration, Duration)> =
                lefts.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
            progress.left_s = longest.map(|(left, _)| left.as_secs());
            progress.percent = longest.map(|(left, length)| {
                100.0 * (1.0 - left.as_secs_f64() / length.as_secs_f64().max(1e-9)).clamp(0.0, 1.0)
            });
            progress
        });
        Live {
            running: self.jobs.iter().filter(running).map(|job| job.workers as u32).sum(),
            files: self.jobs.iter().filter(running).map(|job| job.files).sum(),
            limits: self.limits,
            progress,
        }
    }
}

impl JobProgress {
    fn shown(&self) -> char {
        match self.state {
            State::Waiting => 'P',
            State::Delay => 'C',
            State::WarmUp => '/',
            State::Running => self.letter,
            State::Verifying => 'V',
            State::Finishing => 'f',
            State::Ended => '_',
        }
    }
}

fn new_job_progress(step: usize, number: usize, job: &model::plan::Job) -> JobProgress {
    let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
    let letter = streams().next().map_or('R', |stream| {
        let sequential = matches!(
            stream.pattern.access.first(),
            Some(model::access::Access::Sequential(_)) | Some(model::access::Access::Zones(_)) | None
        );
        let letter = match stream.mix {
            Mix::Only {
                direction: Direction::Read,
            } => 'r',
            Mix::Only {
                direction: Direction::Write,
            } => 'w',
            Mix::Only {
                direction: Direction::Trim,
            }
            | Mix::TrimThenWrite => 'd',
            Mix::Drawn { .. } | Mix::Exact { .. } | Mix::Traced { .. } => 'm',
        };
        if sequential {
            letter.to_ascii_uppercase()
        } else {
            letter
        }
    });
    JobProgress {
        step: step as u32,
        job: number as u32,
        workers: job.workers.len(),
        files: streams().map(|stream| stream.target.ids().len() as u32).sum(),
        letter,
        state: State::Waiting,
        bytes: [0; 3],
        operations: [0; 3],
        left: None,
        length: None,
    }
}

/// Sums the requested rates of all workers.
fn sum_limits(plan: &Plan) -> Option<Limits> {
    let (mut bytes, mut operations) = (0u64, 0u64);
    let streams = plan
        .jobs()
        .flat_map(|(_, job)| &job.workers)
        .flat_map(|worker| &worker.streams);
    for stream in streams {
        let model::plan::Pacing::PerDirection { rates } = &stream.pacing else {
            continue;
        };
        for rate in rates.iter().filter_map(|(_, rate)| *rate) {
            let Rate { amount, unit, .. } = rate;
            match unit {
                RateUnit::Bytes => bytes = bytes.saturating_add(amount),
                RateUnit::Operations => operations = operations.saturating_add(amount),
            }
        }
    }
    match (bytes, operations) {
        (0, 0) => None,
        (0, operations) => Some(Limits::Iops(0, operations)),
        (bytes, _) => Some(Limits::Bandwidth(0, bytes)),
    }
}
