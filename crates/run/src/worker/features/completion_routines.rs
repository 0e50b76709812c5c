//! Completion routines (DiskSpd `-x`): each completion issues the next operation of its slot, and
//! if streams share a pool, the first operation of each slot goes to the first stream.

use model::plan::Worker as Plan;

/// Every completion issues the next operation.
#[derive(Debug)]
pub(crate) struct CompletionRoutines;

impl CompletionRoutines {
    pub(crate) fn from_plan(plan: &Plan) -> Option<CompletionRoutines> {
        plan.batching.completion_routines.then_some(CompletionRoutines)
    }
}
