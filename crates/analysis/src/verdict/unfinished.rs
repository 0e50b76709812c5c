//! Counts operations that had not completed when the window ended. Their ages are lower bounds of
//! their latencies: without them, storage that hangs at the end would pass.

use model::histogram::{Histogram, bucket_low};
use model::observation::{IoStats, Latency, Observation, Unfinished};
use model::results::IntervalHistogram;
use model::seconds::IntervalFacts;
use model::{Direction, Nanos, PerDirection};

use super::Case;
use super::estimate;
use super::judgement::{breaks_clause, is_rate};
use crate::figures::count;
use crate::requirement::Clause;

/// An observation and its intervals whose latencies contain the unfinished operations. `None` if
/// all of these are younger than a usual operation is when it completes.
pub(super) fn count_unfinished(
    observation: &Observation,
    intervals: &[IntervalHistogram],
) -> Option<(Observation, Vec<IntervalHistogram>)> {
    let older = PerDirection::from_fn(|direction| older_than_mean(observation, direction));
    let mut all = Histogram::new();
    older.iter().for_each(|(_, ages)| all.merge(ages));
    if all.is_empty() {
        return None;
    }
    let (mut observation, mut intervals) = (observation.clone(), intervals.to_vec());
    add_to_flow(&mut observation.total, &all);
    for (direction, ages) in older.iter().filter(|(_, ages)| !ages.is_empty()) {
        if let Some(flow) = &mut observation.directions[direction] {
            add_to_flow(flow, ages);
        }
        if let Some(last) = intervals.last_mut() {
            last.latency[direction].get_or_insert_default().merge(ages);
        }
    }
    let held = all.n().min(observation.load.depth.unwrap_or(u64::MAX));
    if let Some(last) = observation.seconds.last_mut() {
        add_to_service(&mut last.facts, held, observation.unfinished.in_flight_ns);
    }
    Some((observation, intervals))
}

/// Includes operations that the storage held when the last second ended in its mean service time,
/// because a second without completions would blame the program for every wait.
fn add_to_service(facts: &mut IntervalFacts, held: u64, held_ns: Nanos) {
    let service = (facts.service_ns + held_ns).0 as f64 / (facts.operations + held).max(1) as f64;
    let service_ns = Nanos((service * facts.operations.max(1) as f64) as u64);
    facts.service_ns = facts.service_ns.max(service_ns);
}

/// Ages above the mean latency of the direction. Younger operations show nothing.
fn older_than_mean(observation: &Observation, direction: Direction) -> Histogram {
    let mut older = Histogram::new();
    let Some(ages) = &observation.unfinished.ages[direction] else {
        return older;
    };
    let flow = observation.directions[direction].as_ref().unwrap_or(&observation.total);
    let mean = flow.user_latency().and_then(|latency| latency.mean_ns).unwrap_or(0.0);
    let buckets = ages.buckets().map(|(bucket, count)| (bucket_low(bucket), count));
    for (age, count) in buckets.filter(|(age, _)| *age as f64 > mean) {
        older.record_times(age, count);
    }
    older
}

fn add_to_flow(flow: &mut IoStats, ages: &Histogram) {
    let latency = flow.response.as_mut().or(flow.latency.as_mut());
    if let Some(latency) = latency
        && let Some(histogram) = &mut latency.histogram
    {
        histogram.merge(ages);
        if let Some(counted) = Latency::from_histogram(histogram) {
            *latency = counted;
        }
    }
}

impl Case<'_> {
    /// States that the unfinished operations decide a latency clause, which the completed ones of
    /// `completed` meet.
    pub(super) fn describe_unfinished(&self, completed: &Case<'_>) -> Option<String> {
        let mut latencies = self.clauses.iter().filter(|clause| !is_rate(clause));
        latencies.find(|clause| completed.meets(clause) && !self.meets(clause))?;
        let Unfinished { ages, .. } = &self.observation.unfinished;
        let ages: Vec<&Histogram> = estimate::select_histograms(ages, None).collect();
        let operations: u64 = ages.iter().map(|ages| ages.n()).sum();
        let oldest = ages.iter().map(|ages| ages.max()).max().map(Nanos)?;
        Some(format!(
            "{} had not completed when the window ended, the oldest after {oldest}; they count with the time that \
             they had waited until then",
            count(operations, "operation")
        ))
    }

    /// True if the figure of a clause is known and on its right side.
    fn meets(&self, clause: &Clause) -> bool {
        let estimate = self.estimate(clause);
        estimate.is_ok_and(|estimate| !breaks_clause(clause, estimate.value))
    }
}
