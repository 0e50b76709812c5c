//! What a plan can say and a run cannot yet do. It is refused before anything starts, never silently left out.

use model::plan::{Plan, PlanFault, Stream};

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
            worker.streams.iter().for_each(|stream| of_stream(stream, &mut add));
        }
    }
    faults
}

fn of_stream(stream: &Stream, add: &mut impl FnMut(&str)) {
    if stream.hint.temporary {
        add("the hint that a file is temporary");
    }
}
