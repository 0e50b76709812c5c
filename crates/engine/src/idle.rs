//! How idle processors are, measured by work that is done only while nothing else wants to run.
//!
//! A thread on each processor first measures how long a unit of work takes there, and then does one
//! after the other at the lowest priority there is. What it gets done, in units, is the time that
//! was left over. This is fio's measure (`--idle-prof`): unlike the kernel's accounting it notices
//! work that slows the processor down without occupying it, such as that of a sibling thread of the
//! same core.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use model::Nanos;
use model::results::{CpuIdleness, Idleness};

use crate::sys;

/// Rounds of the work that are one unit: some microseconds.
const ROUNDS: u32 = 4096;
/// A unit is timed so often before it is used as a measure.
const TIMINGS: usize = 10;
/// Each time over that many units, so that the clock does not count.
const UNITS_EACH: u32 = 10;

/// Threads that measure how idle the processors are.
#[derive(Debug)]
pub struct IdleProfile {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// What each thread found a unit to take.
    unit_ns: Vec<(u32, f64)>,
    begun: Instant,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Units that each thread has done.
    done: Vec<AtomicU64>,
    begun: Mutex<bool>,
    begin: Condvar,
}

impl IdleProfile {
    /// Measures the unit on each processor that this process may use. Takes a few milliseconds, in
    /// which the processors should have nothing else to do.
    ///
    /// # Errors
    /// The system's, where a thread cannot be started, bound to its processor or given the lowest
    /// priority.
    pub fn new() -> io::Result<IdleProfile> {
        let cpus = sys::thread::usable_cpus();
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            done: cpus.iter().map(|_| AtomicU64::new(0)).collect(),
            begun: Mutex::new(false),
            begin: Condvar::new(),
        });
        let (answer, answers) = channel();
        let mut profile = IdleProfile {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            unit_ns: Vec::new(),
            begun: Instant::now(),
        };
        for (number, cpu) in cpus.iter().enumerate() {
            let (shared, answer, cpu) = (Arc::clone(&shared), answer.clone(), *cpu);
            let body = move || measure(cpu, &shared, number, answer);
            let thread = std::thread::Builder::new().name(format!("idle {cpu}"));
            profile.threads.push(thread.spawn(body)?);
        }
        drop(answer);
        profile.unit_ns = units(&answers)?;
        Ok(profile)
    }

    /// Begins to count, unless that was done before.
    pub fn begin(&mut self) {
        if !self.shared.let_go() {
            self.begun = Instant::now();
        }
    }

    /// How idle the processors were from then up to now.
    pub fn so_far(&self) -> Idleness {
        let elapsed = self.begun.elapsed().as_nanos().max(1) as f64;
        let of = |((cpu, unit), done): (&(u32, f64), &AtomicU64)| CpuIdleness {
            cpu: *cpu,
            percent: (done.load(Ordering::Relaxed) as f64 * unit / elapsed * 100.0).min(100.0),
        };
        let units = || self.unit_ns.iter().map(|(_, unit)| *unit);
        let count = self.unit_ns.len().max(1) as f64;
        let mean = units().sum::<f64>() / count;
        let squares = units().map(|unit| (unit - mean).powi(2)).sum::<f64>();
        Idleness {
            cpus: self.unit_ns.iter().zip(&self.shared.done).map(of).collect(),
            unit_ns_mean: mean,
            unit_ns_deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
        }
    }
}

impl Drop for IdleProfile {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.let_go();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// True if they had been let go before.
    fn let_go(&self) -> bool {
        let before = self
            .begun
            .lock()
            .is_ok_and(|mut begun| std::mem::replace(&mut *begun, true));
        self.begin.notify_all();
        before
    }

    /// False if there is nothing to count.
    fn wait(&self) -> bool {
        let Ok(begun) = self.begun.lock() else { return false };
        let waited = self.begin.wait_while(begun, |begun| !*begun);
        waited.is_ok() && !self.stop.load(Ordering::Relaxed)
    }
}

/// What a unit takes on each processor, in their order.
fn units(answers: &Receiver<io::Result<(u32, f64)>>) -> io::Result<Vec<(u32, f64)>> {
    let mut units = answers.iter().collect::<io::Result<Vec<_>>>()?;
    units.sort_by_key(|(cpu, _)| *cpu);
    Ok(units)
}

/// The life of a thread: it measures the unit, answers, waits for the others, and does units until
/// it is asked to stop.
fn measure(cpu: u32, shared: &Shared, number: usize, answer: Sender<io::Result<(u32, f64)>>) {
    let prepared = sys::thread::pin_to(&[cpu]).map(|()| timed_unit());
    // The caller may have given up for another thread's error.
    let answered = match prepared.and_then(|unit| sys::thread::run_only_when_idle().map(|()| unit)) {
        Ok(unit) => answer.send(Ok((cpu, unit.0 as f64 / f64::from(UNITS_EACH)))),
        Err(error) => answer.send(Err(error)),
    };
    // The last of them that goes tells that all have answered.
    drop(answer);
    if answered.is_err() || !shared.wait() {
        return;
    }
    let mut state = u64::from(cpu) + 1;
    let mut done = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        state = unit(state);
        done += 1;
        shared.done[number].store(done, Ordering::Relaxed);
    }
}

/// The time of [`UNITS_EACH`] units: the median, since whatever else runs can only make it longer.
fn timed_unit() -> Nanos {
    let mut state = 1;
    let mut times: Vec<u64> = (0..TIMINGS)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..UNITS_EACH {
                state = unit(state);
            }
            begun.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    Nanos(times[TIMINGS / 2])
}

/// One unit of work: a chain of multiplications that nothing can shorten.
#[inline(never)]
fn unit(mut state: u64) -> u64 {
    for _ in 0..ROUNDS {
        state = std::hint::black_box(state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    state
}
