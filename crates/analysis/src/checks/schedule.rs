//! Compares the plan with what happened: rates, due times, the mix of reads and writes.

use model::finding::{Finding, Severity};
use model::mix::Mix;
use model::observation::{Observation, requested_read_percent};
use model::plan::{Pacing, Process, Rate, RateUnit, Stream};
use model::{Direction, Nanos};

use super::steadiness::stalls_set_p99;
use super::{Check, JobView};
use crate::attribution::{is_simulated, others_keep_processors_busy};
use crate::figures::three_digits;

/// Tolerated shortfall of a rate.
const RATE_TOLERANCE: f64 = 0.01;
/// Schedule delays up to this share of the service time are normal.
const MAX_LAG_SHARE: f64 = 0.10;
/// Minimum share of operations due without a free slot for the target to be the cause.
const MIN_BLOCKED_SHARE: f64 = 0.1;
/// Below this share, the target did not delay them.
const MAX_FREE_SHARE: f64 = 0.01;
/// A queue with this average use counts as full.
const FULL_QUEUE_SHARE: f64 = 0.98;
/// Shorter delays come from timers and the scheduler.
const MIN_LAG: Nanos = Nanos::micros(50);
/// Tolerated deviation of a drawn mix, in percentage points.
const MAX_DRIFT_POINTS: f64 = 1.0;

pub(super) const SCHEDULE: Check = Check {
    rules: &["RATE-NOT-KEPT", "SCHED-LAG"],
    about: "Requested rates compared with achieved ones, and how late operations were issued.",
    detect: |input, findings| {
        for job in input.jobs().filter(|job| !job.has_failed()) {
            let observation = input.observation_of(&job);
            findings.extend(find_missed_rate(&job, observation.as_deref()));
            findings.extend(find_schedule_lag(&job, observation.as_deref()));
        }
    },
};

/// The rates of streams and directions; `None` if one has none.
pub(crate) fn requested_rates<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<Vec<Rate>> {
    let mut rates: Vec<Rate> = Vec::new();
    for stream in streams {
        match stream.pacing {
            Pacing::Unpaced => return None,
            Pacing::Together { rate } => rates.push(rate),
            Pacing::PerDirection { rates: by_direction } => {
                for (direction, rate) in by_direction.iter() {
                    match (stream.mix.includes(direction), rate) {
                        (true, Some(rate)) => rates.push(*rate),
                        (true, None) => return None,
                        (false, _) => {}
                    }
                }
            }
        }
    }
    Some(rates)
}

/// The total rate of a job, its unit, and whether its due times are drawn. `None` unless every
/// stream sets a rate in the same unit.
fn requested_rate(job: &JobView<'_>) -> Option<(f64, RateUnit, bool)> {
    let rates = requested_rates(job.streams())?;
    let unit = rates.first()?.unit;
    let has_one_unit = rates.iter().all(|rate| rate.unit == unit);
    let is_drawn = rates.iter().any(|rate| rate.process != Process::Linear);
    has_one_unit.then(|| (rates.iter().map(Rate::per_second).sum(), unit, is_drawn))
}

/// True if every slot was in use when operations were due; `None` if the per-second facts do not
/// show it.
fn were_slots_taken(job: &JobView<'_>) -> Option<bool> {
    let slots: f64 = job.results.workers.iter().map(|worker| f64::from(worker.slots)).sum();
    if job
        .results
        .in_flight()
        .is_some_and(|in_flight| in_flight.average >= FULL_QUEUE_SHARE * slots)
    {
        return Some(true);
    }
    let queues = job.results.seconds.iter().map(|second| &second.queue);
    let (blocked, issued) = queues.fold((0, 0), |(blocked, issued), queue| {
        (blocked + queue.blocked, issued + queue.issued)
    });
    let share = blocked as f64 / issued as f64;
    match issued > 0 {
        true if share >= MIN_BLOCKED_SHARE => Some(true),
        true if share < MAX_FREE_SHARE => Some(false),
        _ => None,
    }
}

fn find_missed_rate(job: &JobView<'_>, observation: Option<&Observation>) -> Option<Finding> {
    let (requested, unit, is_drawn) = requested_rate(job)?;
    let total = job.results.total();
    let (done, word) = match unit {
        RateUnit::Operations => (total.operations as f64, "operations"),
        RateUnit::Bytes => (total.bytes.0 as f64, "bytes"),
    };
    let seconds = job.results.measured().as_secs();
    // Operations in flight at the end of the window are not missing.
    let in_flight_share = job
        .results
        .workers
        .iter()
        .map(|worker| f64::from(worker.slots))
        .sum::<f64>()
        / done.max(1.0);
    // Three standard deviations of the number of drawn arrivals.
    let chance = match is_drawn {
        true => 3.0 / (total.operations as f64).max(1.0).sqrt(),
        false => 0.0,
    };
    if seconds == 0.0 || done / seconds >= requested * (1.0 - RATE_TOLERANCE - in_flight_share - chance) {
        return None;
    }
    let message = format!(
        "the test achieved {} of the requested {requested:.0} {word} per second",
        three_digits(done / seconds)
    );
    let finding = Finding::new("RATE-NOT-KEPT", Severity::Warning, message).at(&*job.plan.name);
    let (why, help) = match were_slots_taken(job) {
        Some(false) => (
            "operations were issued late although slots were free",
            "leave a processor free for each worker, or use more workers; other programs may be using the processors",
        ),
        Some(true) if observation.is_some_and(others_keep_processors_busy) => (
            "other programs kept the processors busy, and every slot was in use when operations were due",
            "stop the programs that use the processors, then repeat: the storage may serve more on an idle machine",
        ),
        Some(true) if observation.is_some_and(is_simulated) => (
            "every slot was in use when operations were due; the response time shows how long they waited",
            "a greater --depth helps only if the target serves more operations in parallel",
        ),
        Some(true) => (
            "every slot was in use when operations were due; the response time shows how long they waited",
            "compare with the limit and the burst credits of the volume that you bought; a greater --depth helps only \
             if the target serves more operations in parallel",
        ),
        None => (
            "operations waited for a free slot; the response time shows how long",
            "compare with the limit and the burst credits of the volume that you bought; if they are not the cause, \
             use more depth or workers",
        ),
    };
    Some(finding.why(why).help(help))
}

fn find_schedule_lag(job: &JobView<'_>, observation: Option<&Observation>) -> Option<Finding> {
    let total = job.results.total();
    let delays = total.schedule_delay.as_ref()?;
    let (delay_p99, service_median) = (delays.quantile(0.99), total.total.quantile(0.5));
    if (delay_p99 as f64) <= MAX_LAG_SHARE * service_median as f64 || Nanos(delay_p99) <= MIN_LAG {
        return None;
    }
    let (delay_p99, service_median) = (Nanos(delay_p99), Nanos(service_median));
    let message = format!(
        "1 % of the operations were issued {delay_p99} or more after they were due (median service {service_median})"
    );
    let finding = Finding::new("SCHED-LAG", Severity::Note, message).at(&*job.plan.name);
    let (why, help) = match were_slots_taken(job) {
        Some(true) => (
            "every slot was in use when they were due; response times start at the due time",
            "the target is the limit; find what it can do: `fathom sweep TARGET --over depth=1..64`",
        ),
        _ if observation.is_some_and(others_keep_processors_busy) => (
            "other programs kept the processors busy, so operations started late; response times start at the due time",
            "stop the programs that use the processors, or measure while they are idle",
        ),
        None if observation.is_some_and(stalls_set_p99) => (
            "they were due during a stall of the storage; response times start at the due time",
            "find the cause of the stalls",
        ),
        Some(false) | None => (
            "the queue was full or the processor busy; response times start at the due time",
            "compare service and response time; if the target is not the limit, use more workers",
        ),
    };
    Some(finding.why(why).help(help))
}

pub(super) const MIX: Check = Check {
    rules: &["MIX-DRIFT"],
    about: "The share of writes compared with the requested one.",
    detect: |input, findings| {
        for job in input.jobs() {
            let workers = job.plan.workers.iter().zip(&job.results.workers);
            let streams = workers.flat_map(|(plan, results)| plan.streams.iter().zip(&results.streams));
            let (mut requested, mut writes, mut all) = (0.0, 0.0, 0.0);
            for (plan, results) in streams {
                let is_drawn = matches!(plan.mix, Mix::Drawn { .. } | Mix::Exact { .. });
                let Some(read_percent) = requested_read_percent(plan).filter(|_| is_drawn) else {
                    continue;
                };
                let count = |direction: Direction| {
                    results.directions[direction]
                        .as_ref()
                        .map_or(0.0, |results| results.operations as f64)
                };
                let operations = count(Direction::Read) + count(Direction::Write);
                requested += operations * (1.0 - read_percent / 100.0);
                writes += count(Direction::Write);
                all += operations;
            }
            if all == 0.0 {
                continue;
            }
            let (share, wanted) = (writes / all, requested / all);
            // Three standard deviations of a share drawn at random.
            let chance_points = 300.0 * (wanted * (1.0 - wanted) / all).sqrt();
            if 100.0 * (share - wanted).abs() > MAX_DRIFT_POINTS + chance_points {
                let (share, wanted) = (100.0 * share, 100.0 * wanted);
                let message = format!("{share:.1} % of the operations were writes, {wanted:.1} % were requested");
                let finding = Finding::new("MIX-DRIFT", Severity::Warning, message).at(&*job.plan.name);
                let has_file_operations = job.streams().any(|stream| stream.files.is_some());
                let (why, help) = match has_file_operations {
                    true => (
                        "operations without a suitable file, such as `create` when all files exist, were replaced by \
                         others",
                        "give the tree more files (`files`), some of them absent at the start (`prefill`), so that \
                         every operation finds one",
                    ),
                    false => (
                        "one direction is slower and fills the queue",
                        "compare the directions separately, or give each a rate of its own",
                    ),
                };
                findings.push(finding.why(why).help(help));
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::histogram::Histogram;
    use model::mix::{Mix, MixRule};
    use model::plan::{Pacing, Process, Rate};
    use model::results::Results;
    use model::seconds::IntervalFacts;
    use model::testing::assert_starts_with;
    use model::{Nanos, PerDirection};

    #[test]
    fn a_rate_that_is_met_is_silent() {
        assert_eq!(
            rules(&samples::paced(32, 10_000, Nanos::millis(1))),
            Vec::<String>::new()
        );
    }

    /// 9,700 of 10,000 are three standard deviations of drawn arrivals.
    #[test]
    fn drawn_arrivals_vary_in_number() {
        let missed = |process| {
            let mut results = samples::paced(32, 9_700, Nanos::millis(1));
            match &mut results.plan.steps[0].jobs[0].workers[0].streams[0].pacing {
                Pacing::Together { rate } => rate.process = process,
                other => panic!("{other:?}"),
            }
            rules(&results).contains(&"RATE-NOT-KEPT".to_owned())
        };
        assert!(missed(Process::Linear) && !missed(Process::Poisson));
    }

    /// 10,000 per second are requested; 9,000 complete, 20 ms late.
    fn late_results() -> Results {
        let mut results = samples::paced(32, 9_000, Nanos::millis(1));
        let mut delays = Histogram::new();
        delays.record_times(20_000_000, 9_000);
        samples::reads(&mut results.steps[0].jobs[0]).schedule_delay = Some(delays);
        results
    }

    #[test]
    fn a_rate_that_is_missed_and_late_operations_are_reported() {
        let found = rules(&late_results());
        assert!(found.contains(&"RATE-NOT-KEPT".to_owned()), "{found:?}");
        assert!(found.contains(&"SCHED-LAG".to_owned()), "{found:?}");
    }

    /// The advice was once "use more workers" although the storage held every slot.
    #[test]
    fn advice_follows_what_the_slots_show() {
        let advice = |blocked: u64| {
            let mut results = late_results();
            let mut second = IntervalFacts::default();
            (second.queue.issued, second.queue.blocked) = (9_000, blocked);
            results.steps[0].jobs[0].seconds = vec![second];
            let help_of = |rule: &str| samples::finding(&results, rule).help.unwrap();
            [help_of("RATE-NOT-KEPT"), help_of("SCHED-LAG")]
        };
        // A target that slows down halfway blocks fewer than half of the operations.
        for blocked in [8_900, 2_200] {
            let help = advice(blocked);
            assert!(help[0].contains("the volume that you bought"), "{help:?}");
            assert!(help[1].contains("the target is the limit"), "{help:?}");
            assert!(help.iter().all(|help| !help.contains("workers")), "{help:?}");
        }
        assert!(advice(0).iter().all(|help| help.contains("use more workers")));
    }

    /// "Slots were free" was once reported with 142 of 144 in flight.
    #[test]
    fn a_full_queue_has_no_free_slots() {
        let mut results = samples::paced(32, 9_000, Nanos::micros(3_550));
        let mut second = IntervalFacts::default();
        (second.queue.issued, second.queue.blocked) = (9_000, 0);
        results.steps[0].jobs[0].seconds = vec![second];
        let missed = samples::finding(&results, "RATE-NOT-KEPT");
        assert_starts_with(missed.why.as_ref().unwrap(), "every slot was in use");
    }

    #[test]
    fn a_mix_far_from_the_requested_one_is_reported() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        results.plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::drawn(30.0, MixRule::Independent);
        // The mix has writes, but none completed.
        assert!(samples::finding(&results, "MIX-DRIFT").help.is_some());
        // The rates request 0.1 % writes.
        let rates = PerDirection::new(Some(Rate::iops(9_990)), Some(Rate::iops(10)), None);
        results.plan.steps[0].jobs[0].workers[0].streams[0].pacing = Pacing::PerDirection { rates };
        assert!(!rules(&results).contains(&"MIX-DRIFT".to_owned()));
    }
}
