//! Little's law (1961): operations in flight = rate × latency. A closed loop keeps its queue full, so the sum of all
//! latencies must be queue depth × time. Less means that the queue was not kept full; more means that we count wrongly.

use model::finding::{Finding, Severity};
use model::plan::Control;

use super::{Check, JobView};

/// Share of the depth by which a full queue may seem less or more than full.
const TOLERANCE: f64 = 0.01;

pub(super) const LITTLE: Check = Check {
    rules: &["QD-NOT-ACHIEVED", "LITTLE-MISMATCH"],
    about: "Operations in flight, from rate and latency, against the queue depth that was asked for.",
    look: |subject, findings| findings.extend(subject.jobs().filter_map(|job| judge(&job))),
};

/// Operations in flight on average by Little's law, beside the depth that the engines kept.
pub(super) struct InFlight {
    pub(super) average: f64,
    pub(super) depth: f64,
    pub(super) completed: f64,
}

/// Each worker counts with the depth it had and over its own window. `None` if nothing was measured.
pub(super) fn in_flight(job: &JobView<'_>) -> Option<InFlight> {
    let (mut latency, mut area, mut depth, mut completed, mut longest) = (0.0, 0.0, 0.0, 0.0, 0.0f64);
    for worker in &job.results.workers {
        let window = worker.measured_ns.0 as f64;
        area += f64::from(worker.slots) * window;
        depth += f64::from(worker.slots);
        longest = longest.max(window);
        for (_, direction) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
            let Some(direction) = direction else { continue };
            latency += direction.total.sum() as f64;
            completed += direction.operations as f64;
        }
    }
    if completed == 0.0 || area == 0.0 {
        return None;
    }
    Some(InFlight {
        average: latency / area * depth,
        depth,
        completed,
    })
}

fn judge(job: &JobView<'_>) -> Option<Finding> {
    let steered = |control: &Control| matches!(control, Control::LatencyTarget(_));
    let flushes = |worker: &model::results::WorkerResults| worker.streams.iter().any(|stream| stream.sync.is_some());
    if !job.is_closed_loop() || job.has_failed() || job.plan.control.iter().any(steered) {
        return None;
    }
    let found = in_flight(job)?;
    let ratio = found.average / found.depth;
    let bound = TOLERANCE + found.depth / found.completed;
    let figures = format!(
        "{:.2} operations were in flight on average, of {}",
        found.average, found.depth
    );
    if ratio > 1.0 + bound {
        let finding = Finding::new("LITTLE-MISMATCH", Severity::Error, figures).at(&*job.plan.name);
        let why = "more than the queue holds: latencies or counts of this run are wrong";
        let help = "please report this with the saved result; do not use the figures";
        return Some(finding.why(why).help(help));
    }
    if ratio < 1.0 - bound {
        let finding = Finding::new("QD-NOT-ACHIEVED", Severity::Warning, figures).at(&*job.plan.name);
        // Flushes hold up the queue and are no part of any latency.
        let (why, help) = if job.results.workers.iter().any(flushes) {
            (
                "the queue was empty while flushes were under way",
                "nothing is wrong if that is what you test",
            )
        } else {
            (
                "the queue was not kept full: the program could not issue operations fast enough, so the figures are \
                 lower than what the target can do at this depth",
                "use more workers with less depth each, larger blocks, or leave `engine` to `auto`",
            )
        };
        return Some(finding.why(why).help(help));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::Nanos;

    #[test]
    fn a_full_queue_is_silent() {
        let results = samples::closed_loop(32, 32_000, Nanos::millis(1));
        assert!(
            !rules(&results)
                .iter()
                .any(|rule| rule.contains("QD") || rule.contains("LITTLE"))
        );
    }

    #[test]
    fn a_queue_that_is_half_empty_is_told() {
        let results = samples::closed_loop(32, 16_000, Nanos::millis(1));
        assert!(rules(&results).contains(&"QD-NOT-ACHIEVED".to_owned()));
    }

    #[test]
    fn more_than_the_queue_can_hold_is_an_error() {
        let results = samples::closed_loop(32, 33_000, Nanos::millis(1));
        assert!(rules(&results).contains(&"LITTLE-MISMATCH".to_owned()));
    }

    #[test]
    fn few_operations_get_a_wider_bound() {
        // 100 operations at depth 32: those in flight at the edges may make a third of the whole.
        let results = samples::closed_loop(32, 40, Nanos::secs(1));
        assert!(!rules(&results).iter().any(|rule| rule.contains("LITTLE")));
    }

    #[test]
    fn a_paced_job_is_not_judged() {
        let results = samples::paced(32, 10_000, Nanos::millis(1));
        assert!(!rules(&results).contains(&"QD-NOT-ACHIEVED".to_owned()));
    }
}
