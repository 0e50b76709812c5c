//! Shares of streams in a flow (fio `flow`): a stream ahead of its share waits.

use model::Nanos;
use model::plan::{DepthScope, Flow, Worker as WorkerPlan};

use crate::flow::{Flows, Share};
use crate::worker::io_loop::IoLoop;

/// Default interval at which a stream ahead of its share checks again. It is short enough for the
/// fastest devices.
const POLL_INTERVAL: Nanos = Nanos::micros(2);

/// The shares of a worker's streams.
#[derive(Debug)]
pub(crate) struct FlowShares {
    plans: Vec<Option<Flow>>,
    /// Joined when the worker starts.
    streams: Vec<Option<StreamShare>>,
    /// Streams draw from one pool: the share of the first applies to all.
    is_shared: bool,
}

#[derive(Debug)]
struct StreamShare {
    share: Share,
    /// The stream does not check again before this time.
    sleeps_until: Nanos,
}

impl FlowShares {
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<FlowShares> {
        let plans: Vec<_> = plan.streams.iter().map(|stream| stream.flow).collect();
        plans.iter().any(Option::is_some).then_some(FlowShares {
            plans,
            streams: Vec::new(),
            is_shared: matches!(plan.depth, DepthScope::Shared { .. }),
        })
    }

    /// Joins the flows of the streams.
    pub(super) fn join(&mut self, flows: &Flows) {
        let share = |flow: &Flow| StreamShare {
            share: flows.join(*flow),
            sleeps_until: Nanos(0),
        };
        self.streams = self.plans.iter().map(|flow| flow.as_ref().map(share)).collect();
    }

    /// Counts an operation of a stream.
    pub(super) fn on_issued(&mut self, number: usize) {
        let number = if self.is_shared { 0 } else { number };
        if let Some(stream) = &mut self.streams[number] {
            stream.share.count();
        }
    }

    /// True if a stream is ahead of its share. In that case, schedules the next check.
    #[inline(never)]
    pub(super) fn wait_if_ahead(&mut self, io: &mut IoLoop, number: usize) -> bool {
        let now = io.batch.reap_time;
        let next_due = &mut io.pacing.next_due;
        let Some(stream) = &mut self.streams[number] else {
            return false;
        };
        if now < stream.sleeps_until {
            *next_due = (*next_due).min(stream.sleeps_until);
            return true;
        }
        if !stream.share.is_exceeded() {
            return false;
        }
        let pause = stream.share.pause();
        if pause == Nanos(0) {
            *next_due = (*next_due).min(now + POLL_INTERVAL);
        } else if io.in_flight == 0 && io.requests.is_empty() {
            stream.sleeps_until = now + pause;
            *next_due = (*next_due).min(stream.sleeps_until);
        }
        // Otherwise the worker would sleep once everything in flight has completed.
        true
    }
}
