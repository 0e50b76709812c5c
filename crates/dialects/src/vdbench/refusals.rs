//! Refuses runs with settings that cannot be honoured.

use super::runs::{Run, RunRate};
use crate::Diagnostic;

/// Unsupported combinations of `iorate=` and `priority=` of workloads.
fn unsupported_priorities(run: &Run) -> Option<&'static str> {
    let wds = || run.workloads.iter().map(|(wd, _)| wd);
    let unpaced = || wds().filter(|wd| wd.rate.is_none());
    match wds().find_map(|wd| wd.rate) {
        None => wds()
            .any(|wd| wd.priority.is_some())
            .then_some("`priority=` where no WD has `iorate=`"),
        Some(_) if run.rate != RunRate::Max => Some("`iorate=` of a WD in a run with a rate other than `max`"),
        Some(_) if unpaced().count() > 1 => Some("several WDs without `iorate=` together with one that has it"),
        Some(_) if unpaced().any(|wd| wds().any(|prioritized| prioritized.priority > wd.priority)) => {
            Some("a WD without `iorate=` whose `priority=` precedes that of another WD")
        }
        Some(_) => None,
    }
}

pub(super) fn check_supported(run: &Run) -> Result<(), Diagnostic> {
    if let Some(reason) = unsupported_priorities(run) {
        return Err(run.unsupported(reason, "set a rate in the RD, and shares (`skew=`) in its WDs"));
    }
    if run.dedup.is_some_and(|dedup| !run.has_transfers_of(dedup.unit)) {
        let message = "transfers that are not multiples of `dedupunit=`";
        return Err(run.unsupported(message, "set `dedupunit=` to a size that divides them"));
    }
    if run.elapsed.is_none() && run.files.is_none() {
        return Err(run.unsupported("a run that would not end", "set `elapsed=`"));
    }
    Ok(())
}
