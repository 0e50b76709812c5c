//! Measures the use of a worker's queue slots and thread. The figures are evidence for the cause of
//! a missed rate. Slots are measured only if a stream is paced, once per round of the loop; the
//! thread's counters are read when recorders are exchanged.

use engine::sys;
use model::Nanos;
use model::seconds::{QueueUse, ThreadUse};

use super::slots::SlotPool;

/// The measurements of a worker between two exchanges of its recorder.
#[derive(Debug)]
pub(super) struct Meter {
    /// Some stream is paced.
    pub(super) paced: bool,
    queue: QueueUse,
    /// Slots are measured up to here.
    accounted: Nanos,
    /// The number of available and used slots since then.
    slots: u64,
    in_use: u64,
    pools: Vec<PoolState>,
    /// Absent on a simulated clock, for which the thread's time is meaningless.
    thread: Option<ThreadMeter>,
}

/// A pool since the last round.
#[derive(Clone, Copy, Debug, Default)]
struct PoolState {
    /// Every slot is in use.
    full: bool,
    /// Operations due before this time are late although a slot was free.
    late_until: Nanos,
}

#[derive(Debug)]
struct ThreadMeter {
    run_delay: sys::thread::RunDelay,
    /// Counters at the last exchange.
    last_use: ThreadUse,
}

impl Meter {
    /// A meter for a worker with this number of pools. The measured thread must create it.
    pub(super) fn new(paced: bool, pools: usize, simulated: bool) -> Meter {
        Meter {
            paced,
            queue: QueueUse::default(),
            accounted: Nanos(0),
            slots: 0,
            in_use: 0,
            pools: vec![PoolState::default(); pools],
            thread: (!simulated).then(|| ThreadMeter {
                run_delay: sys::thread::RunDelay::open(),
                last_use: ThreadUse::default(),
            }),
        }
    }

    /// Adds the time up to `now` with the slots of the last update.
    pub(super) fn add_time(&mut self, now: Nanos) {
        let elapsed = now.since(self.accounted).0;
        let full = self.pools.iter().filter(|pool| pool.full).count() as u64;
        self.queue.slots_ns.0 += self.slots * elapsed;
        self.queue.in_use_ns.0 += self.in_use * elapsed;
        self.queue.queues_ns.0 += self.pools.len() as u64 * elapsed;
        self.queue.full_ns.0 += full * elapsed;
        self.accounted = self.accounted.max(now);
    }

    /// Adds the time up to `now`, and takes the current slots from `pools`.
    pub(super) fn update(&mut self, pools: &[SlotPool], now: Nanos) {
        self.add_time(now);
        (self.slots, self.in_use) = (0, 0);
        for (state, pool) in self.pools.iter_mut().zip(pools) {
            let slots = (pool.free.len() - pool.reserve) as u64;
            let free = pool.free_count.saturating_sub(pool.reserve) as u64;
            self.slots += slots;
            self.in_use += slots.saturating_sub(free);
            state.full = free == 0;
        }
    }

    /// Counts a pool's operation that was due at `due` and is issued at `now`.
    #[inline(always)]
    pub(super) fn count_issue(&mut self, pool: usize, due: Nanos, now: Nanos) {
        self.queue.issued += 1;
        if due >= now {
            return;
        }
        let (wait, state) = (now.since(due), &mut self.pools[pool]);
        if state.full && due > state.late_until {
            self.queue.blocked += 1;
            self.queue.blocked_ns += wait;
            self.queue.blocked_ns_max = self.queue.blocked_ns_max.max(wait);
        } else {
            self.queue.late_ns += wait;
            state.late_until = now;
        }
    }

    /// The measurements since the last call, up to `now`.
    pub(super) fn take(&mut self, now: Nanos) -> (QueueUse, ThreadUse) {
        if self.paced {
            self.add_time(now);
        }
        let thread = self.thread.as_mut().map(ThreadMeter::take).unwrap_or_default();
        (std::mem::take(&mut self.queue), thread)
    }
}

impl ThreadMeter {
    fn take(&mut self) -> ThreadUse {
        let usage = sys::thread::usage();
        let thread_use = ThreadUse {
            cpu_ns: usage.cpu(),
            run_delay_ns: self.run_delay.read().unwrap_or(self.last_use.run_delay_ns),
            involuntary_switches: usage.involuntary_switches,
        };
        let used = thread_use.since(&self.last_use);
        self.last_use = thread_use;
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Slot;

    fn pool(slots: u32, free: usize) -> SlotPool {
        SlotPool {
            streams: 0..1,
            shared: false,
            weights: Vec::new(),
            free: (0..slots).map(Slot).collect(),
            free_count: free,
            reserve: 0,
            first_slot: 0,
        }
    }

    fn meter(pools: usize) -> Meter {
        Meter::new(true, pools, true)
    }

    #[test]
    fn slots_are_accounted_by_their_past_state() {
        let mut meter = meter(1);
        meter.update(&[pool(4, 3)], Nanos(100));
        meter.update(&[pool(4, 0)], Nanos(200));
        let (queue, _) = meter.take(Nanos(500));
        // The first 100 ns have no slots yet; then 1 of 4 for 100 ns, and 4 of 4 for 300 ns.
        assert_eq!((queue.slots_ns, queue.in_use_ns), (Nanos(1600), Nanos(1300)));
        assert_eq!((queue.queues_ns, queue.full_ns), (Nanos(500), Nanos(300)));
        assert_eq!(meter.take(Nanos(500)).0, QueueUse::default());
    }

    #[test]
    fn a_delayed_operation_is_blocked_by_a_full_queue_and_late_otherwise() {
        let mut meter = meter(1);
        meter.update(&[pool(2, 0)], Nanos(100));
        meter.count_issue(0, Nanos(150), Nanos(200));
        meter.update(&[pool(2, 1)], Nanos(200));
        meter.count_issue(0, Nanos(210), Nanos(300));
        let (queue, _) = meter.take(Nanos(300));
        assert_eq!(
            (queue.blocked, queue.blocked_ns, queue.blocked_ns_max),
            (1, Nanos(50), Nanos(50))
        );
        assert_eq!((queue.issued, queue.late_ns), (2, Nanos(90)));
    }

    #[test]
    fn the_backlog_of_a_late_worker_is_late_too() {
        let mut meter = meter(1);
        meter.update(&[pool(2, 2)], Nanos(0));
        // The worker wakes at 1000 and fills the queue with operations that were due long before.
        meter.count_issue(0, Nanos(100), Nanos(1000));
        meter.count_issue(0, Nanos(200), Nanos(1000));
        meter.update(&[pool(2, 0)], Nanos(1000));
        meter.count_issue(0, Nanos(300), Nanos(1100));
        let (queue, _) = meter.take(Nanos(1100));
        assert_eq!((queue.blocked, queue.late_ns), (0, Nanos(900 + 800 + 800)));
    }
}
