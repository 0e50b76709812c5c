//! Shows DiskSpd's console during a run: verbose lines, progress dots, the message about Ctrl-C.
//! Sets and awaits named events.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dialects::diskspd::{EventRole, Profile, assign_threads};
use jiff::Zoned;
use model::event::{Event, Phase};
use model::plan::Plan;
use model::results::Results;

use super::super::{print_stderr, print_stdout};
use super::local_env::LocalEnv;
use crate::screen::Screen;

#[derive(Debug)]
pub struct Console<'a> {
    profile: &'a Profile,
    /// CPUs of each thread of each time span.
    cpus: Vec<Vec<Option<u32>>>,
    usable: Vec<u32>,
    env: &'a LocalEnv,
    interrupt: &'static AtomicBool,
    /// True if Ctrl-C was reported.
    is_interruption_shown: bool,
    dots: Dots,
    /// Start of the measured time; `None` outside it.
    measuring: Option<Instant>,
    finished: usize,
    /// fathom's progress line, on a terminal if DiskSpd itself prints nothing.
    screen: Screen,
}

/// Progress dots: one for every N operations of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Dots {
    every: u64,
    threads: u64,
    operations: u64,
    printed: u64,
}

impl<'a> Console<'a> {
    pub fn new(profile: &'a Profile, plan: &Plan, env: &'a LocalEnv, interrupt: &'static AtomicBool) -> Console<'a> {
        let cpus = plan.steps.iter().map(|step| {
            let workers = step.jobs.iter().flat_map(|job| &job.workers);
            workers.map(|worker| worker.placement.cpus.first().copied()).collect()
        });
        let cpus: Vec<Vec<Option<u32>>> = cpus.collect();
        let silent = profile.verbose || profile.progress > 0 || !std::io::stderr().is_terminal();
        Console {
            profile,
            dots: Dots {
                every: u64::from(profile.progress),
                threads: cpus.iter().map(|step| step.len() as u64).max().unwrap_or(1),
                ..Dots::default()
            },
            cpus,
            usable: engine::sys::thread::usable_cpus(),
            env,
            interrupt,
            is_interruption_shown: false,
            measuring: None,
            finished: 0,
            screen: {
                let mut screen = Screen::line(silent);
                screen.begin(plan, None);
                screen
            },
        }
    }

    /// Prints the lines before the first time span.
    pub fn begin(&mut self) {
        self.print_span(0);
    }

    /// Handles an event. Blocks the run while it waits for a named event.
    pub fn handle_event(&mut self, event: &Event) {
        self.screen.handle_event(event);
        self.print_interrupt();
        match event {
            Event::Ready { step, .. } => {
                self.print_threads(*step as usize);
                let interrupted = || self.interrupt.load(Ordering::Relaxed);
                if let Some(event) = self.env.event(EventRole::Wait) {
                    event.wait(interrupted);
                }
            }
            Event::Phase { step, phase, .. } => self.print_phase(*step as usize, *phase),
            Event::Interval(interval) => {
                let operations: u64 = interval.counts.iter().map(|(_, counts)| counts.operations).sum();
                self.dots.operations += operations;
                let min_due = self.dots.min_due();
                self.dots.print(min_due);
            }
            Event::JobEnded { step, .. } => {
                self.stop_measuring();
                self.print_verbose("finished test...");
                self.finished = *step as usize + 1;
                self.print_span(self.finished);
            }
            Event::Preparing { .. }
            | Event::Prepared { .. }
            | Event::Rank(_)
            | Event::Notice { .. }
            | Event::Snapshot { .. } => {}
        }
    }

    /// Prints the remaining dots, whose number is known only at the end.
    pub fn end(mut self, results: Option<&Results>) {
        self.screen.clear();
        self.print_interrupt();
        if let Some(results) = results.filter(|_| self.dots.every > 0) {
            let count_done = self.dots.count_done(results);
            self.dots.print(count_done);
        }
    }

    fn print_interrupt(&mut self) {
        // A named event stops a run without a message.
        let is_stopped_by_signal = engine::sys::signals::stop_signal().is_some();
        if self.interrupt.load(Ordering::Relaxed) && is_stopped_by_signal && !self.is_interruption_shown {
            self.is_interruption_shown = true;
            self.screen.clear();
            put("\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n");
        }
    }

    fn print_phase(&mut self, step: usize, phase: Phase) {
        let span = &self.profile.time_spans[step];
        match phase {
            Phase::WarmUp if span.warm_up > 0 => {
                self.print_verbose(&format!("starting warm up for {}s...", span.warm_up))
            }
            Phase::Measured => {
                self.print_processors();
                self.print_verbose(&format!("starting measurements for {}s...", span.duration));
                self.measuring = Some(Instant::now());
                self.signal(EventRole::Start);
            }
            Phase::CoolDown => {
                self.stop_measuring();
                self.print_verbose(&format!("starting cool down for {}s...", span.cool_down));
            }
            Phase::Delay | Phase::WarmUp | Phase::Verify | Phase::Draining => {}
        }
    }

    fn stop_measuring(&mut self) {
        let Some(since) = self.measuring.take() else { return };
        let seconds = since.elapsed().as_secs_f64();
        self.print_verbose(&format!("stopped measurements, total measured time {seconds:.2}s..."));
        self.print_processors();
        self.signal(EventRole::Finish);
    }

    fn signal(&self, role: EventRole) {
        let Some(event) = self.env.event(role) else { return };
        if let Err(error) = event.set() {
            print_stderr(&[format!("WARNING: an event could not be set: {error}")]);
        }
    }

    /// Prints the lines before the threads of a time span start.
    fn print_span(&self, number: usize) {
        let Some(span) = self.profile.time_spans.get(number) else {
            return;
        };
        self.print_verbose(&format!("Generating requests for timespan {}.", number + 1));
        for target in &span.targets {
            if let Some(size) = target.file_size.filter(|size| *size > 0) {
                self.print_verbose(&format!("Creating file '{}' of size {size}.", target.path));
            }
        }
    }

    fn print_threads(&self, step: usize) {
        if !self.profile.verbose {
            return;
        }
        let span = &self.profile.time_spans[step];
        let list = assign_threads(span);
        for (number, uses) in list.iter().enumerate() {
            self.print_verbose(&format!("creating thread {number}"));
            for target_use in uses {
                let path = &span.targets[target_use.target].path;
                self.print_verbose(&format!(
                    "thread {number} is relative thread {} for {path}",
                    target_use.relative
                ));
            }
        }
        for (number, uses) in list.iter().enumerate() {
            if let Some(cpu) = self.cpus[step].get(number).copied().flatten() {
                let (group, cpu) = (cpu / 64, cpu % 64);
                self.print_verbose(&format!("thread {number}: affinitizing to Group {group} / CPU {cpu}"));
            }
            let seed = span.seed.wrapping_add(number as u32);
            for target_use in uses {
                let target = &span.targets[target_use.target];
                let (path, relative) = (&target.path, target_use.relative);
                self.print_verbose(&format!(
                    "thread {number}: file '{path}' relative thread {relative} (random seed: {seed})"
                ));
                let pattern = match target.random_percent {
                    0 if target.interlocked => "interlocked sequential IO".to_owned(),
                    0 => "sequential IO".to_owned(),
                    percent => format!("{percent}% random IO"),
                };
                self.print_verbose(&format!("thread {number}: {pattern}"));
            }
            self.print_verbose(&format!("thread {number}: waiting for a signal to start"));
        }
        for number in 0..list.len() {
            self.print_verbose(&format!("thread {number}: received signal to start"));
        }
    }

    fn print_processors(&self) {
        let mut groups: Vec<(u32, usize)> = Vec::new();
        for cpu in &self.usable {
            match groups.iter_mut().find(|(group, _)| *group == cpu / 64) {
                Some((_, count)) => *count += 1,
                None => groups.push((cpu / 64, 1)),
            }
        }
        for (group, count) in groups {
            self.print_verbose(&format!(
                "get system perf info: queried for Group {group} ({count} CPUs)"
            ));
        }
    }

    /// Prints a line of `-v` with the local time.
    fn print_verbose(&self, what: &str) {
        if self.profile.verbose {
            put(&format!("{}: {what}\n", Zoned::now().strftime("%Y-%m-%dT%H:%M:%S")));
        }
    }
}

impl Dots {
    /// Counts the dots that are certainly due: each thread may have an incomplete one.
    fn min_due(&self) -> u64 {
        let full = self.operations.checked_div(self.every).unwrap_or(0);
        full.saturating_sub(self.threads.saturating_sub(1))
    }

    /// Counts the dots for the operations of each thread, in all phases.
    fn count_done(&self, results: &Results) -> u64 {
        let threads = results.workers().map(|worker| {
            let streams = worker.streams.iter().flat_map(|stream| stream.lifetime.iter());
            let operations: u64 = streams.map(|(_, counts)| counts.operations).sum();
            operations.checked_div(self.every).unwrap_or(0)
        });
        threads.sum()
    }

    fn print(&mut self, upto: u64) {
        if self.every > 0 && upto > self.printed {
            put(&".".repeat((upto - self.printed) as usize));
            self.printed = upto;
        }
    }
}

/// Prints text. A failure is ignored here: writing the report fails too, and is reported.
fn put(text: &str) {
    let _ = print_stdout(text);
}
