//! What a plan can say and a run cannot yet do. It is refused before anything starts, never silently left out.

use model::content::Content;
use model::plan::{Control, Plan, PlanFault, Stream, StreamTarget, Worker};

/// Every part of the plan that would not be carried out.
pub(crate) fn faults(plan: &Plan) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for (_, job) in plan.jobs() {
        if job.operation_log.is_some() {
            let what = "a log of single operations cannot be carried out yet".to_owned();
            faults.push(PlanFault {
                at: format!("job `{}`", job.name),
                what,
            });
        }
        let mut add = |what: &str| {
            let fault = PlanFault {
                at: format!("job `{}`", job.name),
                what: format!("{what} cannot be carried out yet"),
            };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        };
        if job.stop.region_percent.is_some() {
            add("an end after a part of the region");
        }
        for control in &job.control {
            if matches!(control, Control::MinimumRate(rule) if rule.direction.is_some()) {
                add("a least rate for one direction");
            }
        }
        for worker in &job.workers {
            of_worker(worker, &mut add);
            worker.streams.iter().for_each(|stream| of_stream(stream, &mut add));
        }
    }
    faults
}

fn of_worker(worker: &Worker, add: &mut impl FnMut(&str)) {
    if worker.batching.completion_routines {
        add("a completion that issues the next operation by itself");
    }
    if worker.engine.atomic {
        add("a write that happens whole or not at all");
    }
    if worker.engine.offload {
        add("a pool of threads that makes the calls");
    }
    let mapped = worker
        .streams
        .iter()
        .filter(|stream| stream.cache.mapping.is_some())
        .count();
    if mapped > 0 && mapped < worker.streams.len() {
        add("a worker with mapped and other streams");
    }
    let first = worker.streams.first().and_then(|stream| stream.priority);
    if worker.streams.iter().any(|stream| stream.priority != first) {
        add("a worker whose streams have different I/O priorities");
    }
}

fn of_stream(stream: &Stream, add: &mut impl FnMut(&str)) {
    if let StreamTarget::Files { .. } = stream.target {
        add("a set of files that share one queue");
    }
    if stream.verify.is_some() {
        add("the verification of what was written");
    }
    if stream.sync.data_every_writes > 0 {
        add("a second flush rule");
    }
    if stream.think.is_some_and(|think| think.after_ns.is_some()) {
        add("a pause after a time of I/O");
    }
    if stream.on_error.latency_ns_max.iter().any(|(_, most)| most.is_some()) {
        add("a longest latency");
    }
    if stream.cache.local_only {
        add("bypassing only the local cache of a network file system");
    }
    if stream.hint.temporary {
        add("the hint that a file is temporary");
    }
    if stream.priority.is_some_and(|priority| priority.percent < 100) {
        add("an I/O priority for a part of the operations");
    }
    if matches!(stream.content, Content::Source { size, .. } if size.0 > 1 << 32) {
        add("a source of write data above 4 GiB");
    }
}
