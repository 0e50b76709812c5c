//! Little's law (1961): operations in flight = rate × latency. In a closed loop, the sum of all
//! latencies must be queue depth × time. A lower sum means that the queue was not full; a higher
//! sum means that fathom miscounted. [`crate::identities`] applies the law to results of any tool;
//! this check uses exact counts, which only fathom's results contain.

use std::collections::BTreeMap;

use model::finding::{Finding, Severity};
use model::fleet::RankFacts;
use model::plan::Control;
use model::results::{InFlight, WorkerResults};

use super::{Check, JobView, has_errors};
use crate::attribution::others_keep_processors_busy;
use crate::identities::{QueueDeviation, QueueFill};

pub(super) const QUEUE_DEPTH: Check = Check {
    rules: &["QD-NOT-ACHIEVED", "LITTLE-MISMATCH"],
    about: "Operations in flight, computed from rate and latency, compared with the requested queue depth.",
    detect: |input, findings| {
        let is_latency_controlled = |control: &Control| matches!(control, Control::LatencyTarget(_));
        for job in input.jobs() {
            if !job.is_closed_loop()
                || job.has_failed()
                || has_errors(job.results)
                || job.plan.control.iter().any(is_latency_controlled)
            {
                continue;
            }
            let observation = input.observation_of(&job);
            let job_finding = judge_job(&job, observation.as_deref().is_some_and(others_keep_processors_busy));
            // A finding about the whole job already covers every rank.
            let is_reported = job_finding.is_some();
            findings.extend(job_finding);
            if let Some(fleet) = input.results.fleet.as_ref().filter(|_| !is_reported) {
                findings.extend(judge_ranks(&job, &fleet.ranks));
            }
        }
    },
};

/// A finding names at most this many ranks.
const MAX_NAMED: usize = 5;

/// Finds ranks whose queue was not full although the job's was. Reports starved ranks in one
/// finding, and ranks whose flushes took the slots in another.
fn judge_ranks(job: &JobView<'_>, ranks: &[RankFacts]) -> Vec<Finding> {
    let mut by_rank: BTreeMap<u32, Vec<&WorkerResults>> = BTreeMap::new();
    for worker in &job.results.workers {
        by_rank.entry(worker.rank).or_default().push(worker);
    }
    if by_rank.len() < 2 {
        return Vec::new();
    }
    let share_before = max_share_before_window(job);
    let (mut starved, mut flushing) = (Vec::new(), Vec::new());
    for (number, workers) in &by_rank {
        let facts = ranks.get(*number as usize).filter(|facts| facts.lost.is_none());
        let (Some(facts), Some(in_flight)) = (facts, InFlight::from_workers(workers.iter().copied())) else {
            continue;
        };
        if QueueFill::from_counts(&in_flight).queue_deviation(share_before) != Some(QueueDeviation::Short) {
            continue;
        }
        let figures = format!(
            "{} (rank {number}) {:.1} of {}",
            facts.host, in_flight.average, in_flight.depth
        );
        match is_explained_by_flushes(&in_flight, share_before) {
            true => flushing.push(format!("{figures}, flushes took {:.1}", in_flight.flushing)),
            false => starved.push(figures),
        }
    }
    let finding = |short: &[String], (why, help): (&str, &str)| {
        let named = short[..short.len().min(MAX_NAMED)].join("; ");
        let omitted = match short.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!("operations in flight on average: {named}{omitted}");
        let finding = Finding::new("QD-NOT-ACHIEVED", Severity::Warning, message).at(&*job.plan.name);
        finding.why(why).help(help)
    };
    let reasons = [(starved, STARVED), (flushing, FLUSHING)].into_iter();
    let finding_reasons = reasons.filter(|(short, _)| !short.is_empty());
    finding_reasons.map(|(short, reason)| finding(&short, reason)).collect()
}

/// The reason why some ranks did not fill their queues, and the recommended action.
const STARVED: (&str, &str) = (
    "these hosts did not keep their queue full, so their results are lower than the target's capacity",
    "check what else runs on these hosts; use more workers there, or fewer on the other hosts",
);
/// The reason for a half-empty queue if other programs used at least half of the processor time.
const WITHOUT_PROCESSOR: (&str, &str) = (
    "other programs kept the processors busy, so fathom could not keep the queue full; the target may be able to do \
        more",
    "stop the programs that use the processors, and repeat the test",
);
/// The reason why flushes left slots without operations, and the recommended action.
const FLUSHING: (&str, &str) = (
    "flushes occupied the other slots",
    "no action needed if the test is meant to flush",
);

/// True if the slots that flushes took explain the missing operations: a flush takes a slot but
/// counts in no latency.
fn is_explained_by_flushes(in_flight: &InFlight, share_before: f64) -> bool {
    let with_flushes = InFlight {
        average: in_flight.average + in_flight.flushing,
        ..*in_flight
    };
    let deviation = QueueFill::from_counts(&with_flushes).queue_deviation(share_before);
    in_flight.flushing > 0.0 && deviation != Some(QueueDeviation::Short)
}

fn judge_job(job: &JobView<'_>, are_processors_taken: bool) -> Option<Finding> {
    let in_flight = job.results.in_flight()?;
    let digits = match in_flight.average {
        average if average < 0.995 => 3,
        average if average < 9.995 => 2,
        _ => 1,
    };
    let mut figures = format!(
        "on average {:.digits$} of {} operations were in flight",
        in_flight.average, in_flight.depth
    );
    if in_flight.flushing > 0.0 {
        figures += &format!("; flushes took {:.digits$}", in_flight.flushing);
    }
    if QueueFill::from_counts(&in_flight).queue_deviation(max_share_before_window(job))? == QueueDeviation::Beyond {
        let finding = Finding::new("LITTLE-MISMATCH", Severity::Error, figures).at(&*job.plan.name);
        let why = "that is more than the queue depth: latencies or counts of this run are wrong";
        let help = "please report this with the saved result; do not use the figures";
        return Some(finding.why(why).help(help));
    }
    let has_one_each = in_flight.depth <= job.results.workers.len() as u64;
    // The plan requests one operation per worker, so the figures are right for it.
    let severity = if has_one_each && !are_processors_taken {
        Severity::Note
    } else {
        Severity::Warning
    };
    let finding = Finding::new("QD-NOT-ACHIEVED", severity, figures).at(&*job.plan.name);
    let (why, help) = if is_explained_by_flushes(&in_flight, max_share_before_window(job)) {
        FLUSHING
    } else if has_one_operation_per_worker(&in_flight, job) {
        (
            "each operation completed inside the submitting call, as on targets in memory and on file systems without \
                asynchronous I/O, so a worker has only one in flight",
            "the rate is valid for this number of workers; for more operations in flight, raise `--workers`",
        )
    } else if are_processors_taken {
        WITHOUT_PROCESSOR
    } else if has_one_each {
        (
            "with one operation in flight, the target is idle while fathom prepares the next one",
            "latency and rate are right for one operation in flight per worker; more workers keep the target busy",
        )
    } else {
        (
            "the queue was not kept full: fathom could not submit fast enough, so the results are lower than the \
                target's capacity at this depth",
            "use more workers, each with a smaller queue depth (`--workers 4 --depth 8`), and leave `engine` at `auto`",
        )
    };
    Some(finding.why(why).help(help))
}

/// True if the workers of a deeper queue had one operation in flight each.
fn has_one_operation_per_worker(in_flight: &InFlight, job: &JobView<'_>) -> bool {
    let workers = job.results.workers.len() as f64;
    in_flight.depth as f64 >= 2.0 * workers && (in_flight.average / workers - 1.0).abs() < 0.02
}

/// Upper bound for operations that started before the window, as a share of the window. Each slot
/// adds at most one whole latency.
fn max_share_before_window(job: &JobView<'_>) -> f64 {
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
    use model::finding::Severity;
    use model::fleet::{Fleet, RankFacts};
    use model::results::{Results, SyncResults};
    use model::seconds::{HostSample, IntervalFacts};
    use model::testing::assert_starts_with;
    use model::{Direction, Nanos};

    fn help(results: &Results) -> String {
        samples::finding(results, "QD-NOT-ACHIEVED").help.expect("advice")
    }

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
    fn a_half_empty_queue_is_reported() {
        let results = samples::closed_loop(32, 16_000, Nanos::millis(1));
        assert!(rules(&results).contains(&"QD-NOT-ACHIEVED".to_owned()));
    }

    #[test]
    fn one_operation_for_each_worker_ends_inside_the_call() {
        let inline = samples::closed_loop(32, 1000, Nanos::millis(1));
        assert_starts_with(&help(&inline), "the rate is valid for this number of workers");
        let half_empty = samples::closed_loop(32, 16_000, Nanos::millis(1));
        assert_starts_with(&help(&half_empty), "use more workers");
    }

    /// The advice was once "more workers" although other programs used the processors.
    #[test]
    fn other_programs_explain_a_half_empty_queue() {
        let mut results = samples::closed_loop(32, 16_000, Nanos::millis(1));
        let length_ns = Nanos::secs(1);
        results.steps[0].jobs[0].seconds = vec![IntervalFacts {
            length_ns,
            ..IntervalFacts::default()
        }];
        results.steps[0].samples = vec![HostSample {
            length_ns,
            cpus_ns: Nanos::secs(2),
            busy_ns: Nanos::secs(2),
            ..HostSample::default()
        }];
        let advice = "stop the programs that use the processors, and repeat the test";
        assert_eq!(help(&results), advice);
    }

    /// Failed operations took slots but count in no latency.
    #[test]
    fn failed_operations_explain_a_half_empty_queue() {
        let mut results = samples::closed_loop(32, 16_000, Nanos::millis(1));
        let stream = &mut results.steps[0].jobs[0].workers[0].streams[0];
        stream.directions[Direction::Read].as_mut().unwrap().errors = 16_000;
        assert!(!rules(&results).contains(&"QD-NOT-ACHIEVED".to_owned()));
    }

    /// Regression: the advice for depth 1 was to use a smaller depth.
    #[test]
    fn advice_for_one_operation_at_a_time_does_not_suggest_less_depth() {
        let help = |depth: u32| help(&samples::closed_loop(depth, 500 * u64::from(depth), Nanos::millis(1)));
        assert!(
            help(1).contains("one operation in flight") && !help(1).contains("depth"),
            "{}",
            help(1)
        );
        let shallow = samples::closed_loop(1, 500, Nanos::millis(1));
        assert_eq!(samples::finding(&shallow, "QD-NOT-ACHIEVED").severity, Severity::Note);
        assert!(help(32).contains("a smaller queue depth"), "{}", help(32));
    }

    /// Half of the queue is missing for a second: 16 × 1 s. Flushes of that duration explain it;
    /// flushes of 1 ms do not.
    #[test]
    fn flushes_explain_the_slots_they_took() {
        let reason_with_flushes = |flushing: Nanos| {
            let mut results = samples::closed_loop(32, 16_000, Nanos::millis(1));
            let mut sync = SyncResults::default();
            (0..16).for_each(|_| sync.latency.record(flushing.0));
            sync.operations = 16;
            results.steps[0].jobs[0].workers[0].streams[0].sync = Some(sync);
            let short = samples::finding(&results, "QD-NOT-ACHIEVED");
            (short.what, short.why.expect("a reason"))
        };
        let (what, reason) = reason_with_flushes(Nanos::secs(1));
        assert_eq!(
            what,
            "on average 16.0 of 32 operations were in flight; flushes took 16.0"
        );
        assert!(reason.starts_with("flushes occupied"), "{reason}");
        let (_, reason) = reason_with_flushes(Nanos::millis(1));
        assert!(reason.contains("could not submit"), "{reason}");
    }

    #[test]
    fn more_than_the_queue_can_hold_is_an_error() {
        let results = samples::closed_loop(32, 33_000, Nanos::millis(1));
        assert!(rules(&results).contains(&"LITTLE-MISMATCH".to_owned()));
    }

    /// 32 operations stalled for 200 ms before the window and completed in it.
    #[test]
    fn a_stall_before_the_window_is_not_a_mismatch() {
        let mut results = samples::closed_loop(32, 31_800, Nanos::millis(1));
        let reads = &mut results.steps[0].jobs[0].workers[0].streams[0].directions.read;
        let reads = reads.as_mut().unwrap();
        reads.total.record_times(200_000_000, 32);
        reads.operations += 32;
        let mismatch = "LITTLE-MISMATCH".to_owned();
        assert!(rules(&results).contains(&mismatch), "without warm-up it is a mismatch");
        results.plan.steps[0].jobs[0].phases.warm_up_ns = Nanos::secs(1);
        assert!(!rules(&results).contains(&mismatch));
    }

    /// Forty hosts, one of which has two operations in flight instead of 32.
    fn one_starved_host() -> Results {
        let mut results = samples::closed_loop(32, 32_000, Nanos::millis(1));
        let starved = samples::closed_loop(32, 2_000, Nanos::millis(1));
        let job = &mut results.steps[0].jobs[0];
        let (full, starved) = (job.workers[0].clone(), starved.steps[0].jobs[0].workers[0].clone());
        job.workers = vec![full; 40];
        job.workers[3] = starved;
        for (rank, worker) in job.workers.iter_mut().enumerate() {
            worker.rank = rank as u32;
        }
        results
    }

    fn split_into_hosts(mut results: Results) -> Results {
        let facts = RankFacts {
            host: "db".into(),
            ..RankFacts::default()
        };
        results.fleet = Some(Fleet {
            ranks: vec![facts; 40],
            ..Fleet::default()
        });
        results
    }

    /// Findings and their reasons, as warnings.
    fn warnings(results: &Results) -> Vec<(String, String)> {
        samples::findings(results, "QD-NOT-ACHIEVED")
            .filter(|finding| finding.severity == Severity::Warning)
            .map(|finding| (finding.what, finding.why.expect("a reason")))
            .collect()
    }

    #[test]
    fn a_starved_host_is_found_among_many() {
        assert_eq!(warnings(&one_starved_host()), []);
        let found = warnings(&split_into_hosts(one_starved_host()));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "operations in flight on average: db (rank 3) 2.0 of 32");
        assert!(found[0].1.starts_with("these hosts did not keep"), "{found:?}");
    }

    /// The rank lacks 30 of its 32 operations for a second. Flushes that took 30 s explain that;
    /// flushes of 1 s do not.
    #[test]
    fn flushes_of_one_host_explain_its_slots() {
        let found = |interval: Nanos| {
            let mut results = one_starved_host();
            let mut sync = SyncResults::default();
            (0..30).for_each(|_| sync.latency.record(interval.0));
            sync.operations = 30;
            results.steps[0].jobs[0].workers[3].streams[0].sync = Some(sync);
            let mut found = warnings(&split_into_hosts(results));
            assert_eq!(found.len(), 1, "{found:?}");
            found.remove(0)
        };
        let (what, why) = found(Nanos::secs(1));
        assert_eq!(
            what,
            "operations in flight on average: db (rank 3) 2.0 of 32, flushes took 30.0"
        );
        assert!(why.starts_with("flushes occupied"), "{why}");
        let (what, why) = found(Nanos(33_333_333));
        assert_eq!(what, "operations in flight on average: db (rank 3) 2.0 of 32");
        assert!(why.starts_with("these hosts did not keep"), "{why}");
    }

    #[test]
    fn few_operations_get_a_wider_bound() {
        // 100 operations at depth 32: those in flight at the edges may be a third of the total.
        let results = samples::closed_loop(32, 40, Nanos::secs(1));
        assert!(!rules(&results).iter().any(|rule| rule.contains("LITTLE")));
    }

    #[test]
    fn a_paced_job_is_not_judged() {
        let results = samples::paced(32, 10_000, Nanos::millis(1));
        assert!(!rules(&results).contains(&"QD-NOT-ACHIEVED".to_owned()));
    }
}
