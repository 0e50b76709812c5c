//! Processor cycles between operations (fio `thinkcycles`).

use model::plan::Worker as WorkerPlan;

use super::EndedOperation;

/// CPU cycles to spin after each operation, by stream.
#[derive(Debug)]
pub(crate) struct ThinkCycles {
    cycles: Vec<u64>,
    /// Set if cycles were spun since the worker last checked.
    pub(super) stalled: bool,
}

impl ThinkCycles {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<ThinkCycles> {
        let cycles = plan
            .streams
            .iter()
            .map(|stream| stream.think.map_or(0, |think| think.cycles_each));
        let cycles: Vec<u64> = cycles.collect();
        cycles
            .iter()
            .any(|cycles| *cycles > 0)
            .then_some(ThinkCycles { cycles, stalled: false })
    }

    pub(super) fn on_completed(&mut self, ended: &EndedOperation) {
        let cycles = self.cycles[ended.record.stream as usize];
        if cycles > 0 && ended.direction.is_some() {
            engine::clock::spin_cycles(cycles);
            self.stalled = true;
        }
    }
}
