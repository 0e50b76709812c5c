//! Little's law (1961): operations in flight = rate × latency. A closed loop keeps its queue full, so the sum of all
//! latencies must be queue depth × time. Less means that the queue was not kept full; more means that we count wrongly. The law and its
//! bounds are those for any tool, [`crate::identities`]; what is known of our own run beyond that is here.

use model::finding::{Finding, Severity};
use model::plan::Control;

use super::{Check, JobView};
use crate::identities::{Filled, Little};

pub(super) const LITTLE: Check = Check {
    rules: &["QD-NOT-ACHIEVED", "LITTLE-MISMATCH"],
    about: "Operations in flight, from rate and latency, against the queue depth that was asked for.",
    look: |subject, findings| findings.extend(subject.jobs().filter_map(|job| judge(&job))),
};

fn judge(job: &JobView<'_>) -> Option<Finding> {
    let steered = |control: &Control| matches!(control, Control::LatencyTarget(_));
    let flushes = |worker: &model::results::WorkerResults| worker.streams.iter().any(|stream| stream.sync.is_some());
    if !job.is_closed_loop() || job.has_failed() || job.plan.control.iter().any(steered) {
        return None;
    }
    let found = job.results.in_flight()?;
    let digits = if found.depth < 10 { 3 } else { 1 };
    let figures = format!(
        "{:.digits$} operations were in flight on average, of {}",
        found.average, found.depth
    );
    let severity = match Little::exact(&found).filled(before_the_window(job))? {
        Filled::Beyond => {
            let finding = Finding::new("LITTLE-MISMATCH", Severity::Error, figures).at(&*job.plan.name);
            let why = "more than the queue holds: latencies or counts of this run are wrong";
            let help = "please report this with the saved result; do not use the figures";
            return Some(finding.why(why).help(help));
        }
        Filled::Short(severity) => severity,
    };
    let finding = Finding::new("QD-NOT-ACHIEVED", severity, figures).at(&*job.plan.name);
    // Flushes hold up the queue and are no part of any latency.
    let (why, help) = if job.results.workers.iter().any(flushes) {
        (
            "the queue was empty while flushes were under way",
            "nothing is wrong if that is what you test",
        )
    } else if severity == Severity::Note {
        (
            "handing operations over and making the data of writes take their time; the target can do a little more",
            "nothing needs to be done",
        )
    } else {
        (
            "the queue was not kept full: the program could not issue operations fast enough, so the figures are \
                 lower than what the target can do at this depth",
            "use more workers with less depth each, larger blocks, or leave `engine` to `auto`",
        )
    };
    Some(finding.why(why).help(help))
}

/// Operations that were in flight when the measured window began count with their whole latency, part of which lies before
/// it: at most the longest of them for each place in the queue, as a share of the window.
fn before_the_window(job: &JobView<'_>) -> f64 {
    let phases = &job.plan.phases;
    let measured = job.results.measured().0;
    if phases.warm_up_ns.0 == 0 && phases.warm_up_bytes.is_none() || measured == 0 {
        return 0.0;
    }
    job.results.total().total.max() as f64 / measured as f64
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

    /// 32 operations stood still for 200 ms before the window and ended in it.
    #[test]
    fn a_stall_before_the_window_is_no_mismatch() {
        let mut results = samples::closed_loop(32, 31_800, Nanos::millis(1));
        let reads = &mut results.steps[0].jobs[0].workers[0].streams[0].directions.read;
        let reads = reads.as_mut().unwrap();
        reads.total.record_times(200_000_000, 32);
        reads.operations += 32;
        let mismatch = "LITTLE-MISMATCH".to_owned();
        assert!(
            rules(&results).contains(&mismatch),
            "without warm-up nothing explains it"
        );
        results.plan.steps[0].jobs[0].phases.warm_up_ns = Nanos::secs(1);
        assert!(!rules(&results).contains(&mismatch));
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
