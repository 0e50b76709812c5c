//! Engines whose operations transfer no data. They create, look up and remove files, use the
//! processor, or run programs.

use model::plan::Worker as WorkerPlan;

use crate::worker::slots::SlotRecord;

/// How operations of such an engine are counted.
#[derive(Debug)]
pub(crate) struct Dataless {
    /// Only the operation at the start of a file has an effect. The others have no latency.
    is_metadata_engine: bool,
    /// Operations count no bytes.
    transfers_no_data: bool,
}

impl Dataless {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<Dataless> {
        let dataless = Dataless {
            is_metadata_engine: plan.engine.kind.is_metadata_engine(),
            transfers_no_data: plan.engine.kind.transfers_no_data(),
        };
        (dataless.is_metadata_engine || dataless.transfers_no_data).then_some(dataless)
    }

    /// The bytes that are counted for an operation of this length.
    pub(super) fn counted_bytes(&self, length: u32) -> u32 {
        if self.transfers_no_data { 0 } else { length }
    }

    /// True if the operation has a latency.
    pub(super) fn is_timed(&self, record: &SlotRecord) -> bool {
        !self.is_metadata_engine || record.offset == 0
    }
}
