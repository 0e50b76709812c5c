//! Processor cycles between operations (fio `thinkcycles`).

use model::plan::Worker as Plan;

use super::EndedOperation;

/// Cycles that each operation of a stream is followed by.
#[derive(Debug)]
pub(crate) struct Compute {
    cycles: Vec<u64>,
    /// Cycles were spent since the worker last asked.
    pub(super) stalled: bool,
}

impl Compute {
    pub(crate) fn from_plan(plan: &Plan) -> Option<Compute> {
        let cycles = plan
            .streams
            .iter()
            .map(|stream| stream.think.map_or(0, |think| think.cycles_each));
        let cycles: Vec<u64> = cycles.collect();
        cycles
            .iter()
            .any(|cycles| *cycles > 0)
            .then_some(Compute { cycles, stalled: false })
    }

    pub(super) fn on_completed(&mut self, ended: &EndedOperation) {
        let cycles = self.cycles[ended.record.stream as usize];
        if cycles > 0 && ended.direction.is_some() {
            engine::clock::spin_cycles(cycles);
            self.stalled = true;
        }
    }
}
