//! What a plan can say and a run cannot yet do. It is refused before anything starts, never silently left out.

use model::plan::{Plan, PlanFault, Stream, Worker};

/// Every part of the plan that would not be carried out.
pub(crate) fn faults(plan: &Plan) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for (_, job) in plan.jobs() {
        let mut add = |what: &str| {
            let fault = PlanFault {
                at: format!("job `{}`", job.name),
                what: format!("{what} cannot be carried out yet"),
            };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        };
        for worker in &job.workers {
            of_worker(worker, &mut add);
            worker.streams.iter().for_each(|stream| of_stream(stream, &mut add));
        }
    }
    faults
}

fn of_worker(worker: &Worker, add: &mut impl FnMut(&str)) {
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
}

fn of_stream(stream: &Stream, add: &mut impl FnMut(&str)) {
    if stream.verify.is_some() {
        add("the verification of what was written");
    }
    if stream.hint.temporary {
        add("the hint that a file is temporary");
    }
}
