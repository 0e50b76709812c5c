//! Counts operations above the latency limit as failed (fio `max_latency`).

use engine::sys;
use model::plan::Worker as WorkerPlan;
use model::results::{FailedOperation, Failure, TooSlow};
use model::{Direction, Nanos, PerDirection};

use super::EndedOperation;
use crate::worker::io_loop::IoLoop;

/// The maximum latency of each stream and direction.
#[derive(Debug)]
pub(crate) struct LatencyLimits {
    streams: Vec<PerDirection<Option<Nanos>>>,
}

impl LatencyLimits {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<LatencyLimits> {
        let streams: Vec<_> = plan
            .streams
            .iter()
            .map(|stream| stream.on_error.latency_ns_max)
            .collect();
        let limited = |limits: &PerDirection<Option<Nanos>>| limits.iter().any(|(_, limit)| limit.is_some());
        streams.iter().any(limited).then_some(LatencyLimits { streams })
    }

    /// The excess of a successful operation over its limit.
    pub(super) fn check_latency(&self, ended: &EndedOperation) -> Option<TooSlow> {
        let limit = self.streams[ended.record.stream as usize][ended.direction?]?;
        let took = ended.total();
        (ended.result >= 0 && took > limit).then_some(TooSlow {
            latency_ns: took,
            limit_ns: limit,
        })
    }
}

/// Counts an operation that was too slow. The operation that ends the worker also counts as usual,
/// because its data was transferred.
#[cold]
pub(super) fn reap_too_slow(io: &mut IoLoop, ended: &EndedOperation, too_slow: TooSlow) {
    let EndedOperation {
        slot,
        record,
        direction,
        ..
    } = ended;
    if io.try_tolerate(*slot, record, *direction, sys::file::TIMED_OUT) {
        return;
    }
    io.recorder.count(&ended.run(ended.result as u64), ended.at);
    let TooSlow { latency_ns, limit_ns } = too_slow;
    let verb = direction.map_or("flush", Direction::word);
    let failed = |direction| FailedOperation {
        too_slow: Some(too_slow),
        ..io.errors.failed_operation(*slot, record, direction)
    };
    let failure = Failure {
        errno: Some(sys::file::TIMED_OUT),
        operation: direction.map(failed),
        ..Failure::new(
            format!("a {verb} took {latency_ns}, longer than the limit of {limit_ns}"),
            io.errors.describe_location(record),
        )
    };
    io.fail(failure);
}
