//! Completion routines (DiskSpd `-x`): each completion issues the next operation of its slot. If
//! streams share a pool, the first stream issues the first operation of each slot.

use model::plan::Worker as WorkerPlan;

/// Every completion issues the next operation.
#[derive(Debug)]
pub(crate) struct CompletionRoutines;

impl CompletionRoutines {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<CompletionRoutines> {
        plan.batching.completion_routines.then_some(CompletionRoutines)
    }
}
