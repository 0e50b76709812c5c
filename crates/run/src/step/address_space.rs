//! Checks that the threads of a step fit into a limited address space (`ulimit -v`). Neither the
//! standard library nor the allocator survives a lack of it.

use std::sync::Arc;

use engine::probe::address_space_free;
use model::Bytes;
use model::plan::{Step, Worker};

use crate::error::WorkerFault;
use crate::setup_error::SetupError;
use crate::worker::buffer_bytes;

/// Address space of a worker without its buffers. It has 2 MiB of stack, up to about 50 histograms
/// of 34 KiB, and the results at its end.
const PER_WORKER: u64 = 4 << 20;
/// Address space for everything else: the report, other threads, the growth of the heap.
const RESERVE: u64 = 64 << 20;

/// Finds the workers that no longer fit into the address space after the preceding ones.
pub(super) fn find_excess(step: &Step) -> Vec<WorkerFault> {
    let Some(free) = address_space_free() else {
        return Vec::new();
    };
    let buffers = |worker: &Worker| u64::from(worker.slots()).saturating_mul(buffer_bytes(worker) as u64);
    let mut needed = RESERVE;
    let mut excess = Vec::new();
    for (job, plan) in step.jobs.iter().enumerate() {
        for (number, worker) in plan.workers.iter().enumerate() {
            // If its buffers alone do not fit, the error of its engine is more precise.
            let buffers = Some(buffers(worker)).filter(|bytes| *bytes <= free.0).unwrap_or(0);
            needed = needed.saturating_add(PER_WORKER).saturating_add(buffers);
            if needed > free.0 {
                excess.push((job, number));
            }
        }
    }
    let workers = step.jobs.iter().map(|job| job.workers.len()).sum();
    let why = Arc::new(SetupError::AddressSpace {
        workers,
        needed: Bytes(needed),
        free,
    });
    let fault = |(job, worker)| WorkerFault {
        job,
        worker,
        why: SetupError::Common(Arc::clone(&why)),
    };
    excess.into_iter().map(fault).collect()
}
