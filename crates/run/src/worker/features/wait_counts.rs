//! Counts the waits of the worker (DiskSpd's verbose statistics).

use model::Nanos;
use model::plan::Worker as WorkerPlan;

use crate::worker::io_loop::IoLoop;

/// Counts how each turn of the worker waited.
#[derive(Debug)]
pub(crate) struct WaitCounts;

impl WaitCounts {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<WaitCounts> {
        plan.batching.count_waits.then_some(WaitCounts)
    }

    /// Called after a turn that waited for `at_least` completions until `until`, before reaping.
    #[inline(never)]
    pub(super) fn after_turn(&self, io: &mut IoLoop, at_least: u32, until: Nanos) {
        let completed = io.batch.done.len();
        let waits = &mut io.recorder.waits;
        if at_least == 0 {
            waits.polls += 1;
            waits.completions_per_poll[completed.min(7)] += 1;
        } else if io.in_flight + io.batch.submitted == 0 {
            waits.slept += 1;
        } else if io.one_at_a_time {
            // Each call waits for its own operation, which is not a wait for the queue.
        } else if until == Nanos::NEVER {
            waits.completion += 1;
        } else {
            waits.throttled += 1;
        }
    }
}
