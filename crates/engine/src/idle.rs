//! Measures processor idleness by work that runs only while nothing else is runnable. A thread on
//! each processor first times a unit of work, then runs such units at the lowest priority. The
//! number of completed units shows the idle time. fio measures it in the same way (`--idle-prof`).
//! Unlike the kernel's accounting, this method notices work that slows the processor without
//! occupying it, such as a hyper-thread's work on the same core.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use model::Nanos;
use model::results::{CpuIdleness, Idleness};

use crate::sys;

/// Rounds in one unit of work: a few microseconds.
const ROUNDS: u32 = 4096;
/// Timings from which the median is taken.
const TIMINGS: usize = 10;
/// Units per timing, so that the cost of the clock is negligible.
const UNITS_PER_TIMING: u32 = 10;

/// Threads that measure how idle the processors are.
#[derive(Debug)]
pub struct IdleProfile {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Processor and time of one unit there.
    unit_ns: Vec<(u32, f64)>,
    started: Instant,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Units completed by each thread.
    done: Vec<AtomicU64>,
    started: Mutex<bool>,
    start: Condvar,
}

impl IdleProfile {
    /// Times the unit on each processor that this process may use. Takes a few milliseconds, during
    /// which the processors should be idle.
    ///
    /// # Errors
    /// The system's error if a thread cannot be started, pinned or given the lowest priority.
    pub fn new() -> io::Result<IdleProfile> {
        let cpus = sys::thread::usable_cpus();
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            done: cpus.iter().map(|_| AtomicU64::new(0)).collect(),
            started: Mutex::new(false),
            start: Condvar::new(),
        });
        let (result_sender, results) = channel();
        let mut profile = IdleProfile {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            unit_ns: Vec::new(),
            started: Instant::now(),
        };
        for (index, cpu) in cpus.iter().enumerate() {
            let (shared, result_sender, cpu) = (Arc::clone(&shared), result_sender.clone(), *cpu);
            let body = move || run_thread(cpu, &shared, index, result_sender);
            let thread = std::thread::Builder::new().name(format!("idle {cpu}"));
            profile.threads.push(thread.spawn(body)?);
        }
        drop(result_sender);
        profile.unit_ns = collect_units(&results)?;
        Ok(profile)
    }

    /// Starts counting. Later calls have no effect.
    pub fn start_counting(&mut self) {
        if !self.shared.release_threads() {
            self.started = Instant::now();
        }
    }

    /// Idleness since [`IdleProfile::start_counting`].
    pub fn snapshot(&self) -> Idleness {
        let elapsed = self.started.elapsed().as_nanos().max(1) as f64;
        let cpu_idleness = |((cpu, unit_ns), done): (&(u32, f64), &AtomicU64)| CpuIdleness {
            cpu: *cpu,
            percent: (done.load(Ordering::Relaxed) as f64 * unit_ns / elapsed * 100.0).min(100.0),
        };
        let units = || self.unit_ns.iter().map(|(_, unit_ns)| *unit_ns);
        let count = self.unit_ns.len().max(1) as f64;
        let mean = units().sum::<f64>() / count;
        let squares = units().map(|unit_ns| (unit_ns - mean).powi(2)).sum::<f64>();
        Idleness {
            cpus: self.unit_ns.iter().zip(&self.shared.done).map(cpu_idleness).collect(),
            unit_ns_mean: mean,
            unit_ns_deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
        }
    }
}

impl Drop for IdleProfile {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.release_threads();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Lets the threads start counting. True if they were already counting.
    fn release_threads(&self) -> bool {
        let before = self
            .started
            .lock()
            .is_ok_and(|mut started| std::mem::replace(&mut *started, true));
        self.start.notify_all();
        before
    }

    /// Waits for the release. False if the thread should exit instead.
    fn wait(&self) -> bool {
        let Ok(started) = self.started.lock() else { return false };
        let waited = self.start.wait_while(started, |started| !*started);
        waited.is_ok() && !self.stop.load(Ordering::Relaxed)
    }
}

/// Collects the time of a unit on each processor, ordered by processor.
fn collect_units(results: &Receiver<io::Result<(u32, f64)>>) -> io::Result<Vec<(u32, f64)>> {
    let mut units = results.iter().collect::<io::Result<Vec<_>>>()?;
    units.sort_by_key(|(cpu, _)| *cpu);
    Ok(units)
}

/// Body of a thread: times the unit, reports it, waits for the release, and works until stopped.
fn run_thread(cpu: u32, shared: &Shared, index: usize, result_sender: Sender<io::Result<(u32, f64)>>) {
    let prepared = sys::thread::pin_to(&[cpu]).map(|()| time_unit());
    // Sending fails if the caller gave up because of another thread.
    let prepared = prepared.and_then(|time| sys::thread::run_only_when_idle().map(|()| time));
    let reported = result_sender.send(prepared.map(|time| (cpu, time.0 as f64 / f64::from(UNITS_PER_TIMING))));
    // The receiver ends when the last sender is dropped.
    drop(result_sender);
    if reported.is_err() || !shared.wait() {
        return;
    }
    let mut state = u64::from(cpu) + 1;
    let mut done = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        state = run_unit(state);
        done += 1;
        shared.done[index].store(done, Ordering::Relaxed);
    }
}

/// Times [`UNITS_PER_TIMING`] units. Returns the median, which a few interruptions do not change.
fn time_unit() -> Nanos {
    let mut state = 1;
    let mut times: Vec<u64> = (0..TIMINGS)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..UNITS_PER_TIMING {
                state = run_unit(state);
            }
            started.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    Nanos(times[TIMINGS / 2])
}

/// Computes one unit of work: a chain of dependent multiplications.
#[inline(never)]
fn run_unit(mut state: u64) -> u64 {
    for _ in 0..ROUNDS {
        state = std::hint::black_box(state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    state
}
