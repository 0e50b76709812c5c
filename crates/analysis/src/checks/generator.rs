//! Checks the measurement itself: worker CPU time, stolen time, clock drift, lost intervals.

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::Observation;

use super::{Check, JobView};
use crate::figures::count;

/// A worker that uses more than this share of a processor may be the limit itself.
const BUSY_WORKER_SHARE: f64 = 0.90;
/// In a shorter window, the system's time of a thread is too coarse.
const MIN_WINDOW: Nanos = Nanos::millis(10);
/// Maximum share of stolen processor time that does not disturb latencies.
const MAX_STOLEN_SHARE: f64 = 0.01;
/// Maximum drift between fathom's clock and the system's.
const MAX_DRIFT_PPM: f64 = 100.0;

pub(super) const PROCESSOR: Check = Check {
    rules: &["GEN-CPU", "STOLEN-TIME"],
    about: "Processor time of the workers, and time that the hypervisor took for others.",
    detect: |input, findings| {
        findings.extend(input.jobs().filter_map(|job| find_busy_worker(&job)));
        for (plan, step) in input.steps() {
            let window = step.observed_ns.0 as f64 * step.cores.len() as f64;
            let stolen: f64 = step.cores.iter().map(|core| core.core.stolen_ns.0 as f64).sum();
            if window > 0.0 && stolen / window > MAX_STOLEN_SHARE {
                let share = 100.0 * stolen / window;
                let message =
                    format!("the hypervisor gave {share:.1} % of the processor time to other virtual machines");
                let names = plan.jobs.iter().map(|job| job.name.as_str());
                let job_names = names.collect::<Vec<_>>().join(" and ");
                let finding = Finding::new("STOLEN-TIME", Severity::Warning, message).at(job_names);
                let help = "repeat the test, or use a machine that does not share its processors";
                findings.push(
                    finding
                        .why("latencies include time in which this machine did not run")
                        .help(help),
                );
            }
        }
    },
};

fn find_busy_worker(job: &JobView<'_>) -> Option<Finding> {
    let is_polling = job.plan.workers.iter().any(|worker| {
        let engine = &worker.engine;
        engine.poll || engine.submission_thread || worker.batching.complete_min == Some(0)
    });
    // Polling and spinning use a whole processor by design. A simulated engine does no I/O, so the
    // processor is its expected limit.
    let is_simulated = |worker: &model::results::WorkerResults| worker.engine.kind.simulates_io();
    if is_polling || !job.is_closed_loop() || job.results.workers.iter().any(is_simulated) {
        return None;
    }
    let share =
        |worker: &model::results::WorkerResults| worker.usage.cpu().0 as f64 / (worker.measured_ns.0 as f64).max(1.0);
    let busiest = job
        .results
        .workers
        .iter()
        .max_by(|a, b| share(a).total_cmp(&share(b)))?;
    if share(busiest) <= BUSY_WORKER_SHARE || busiest.measured_ns < MIN_WINDOW {
        return None;
    }
    let total = busiest.usage.cpu().0.max(1) as f64;
    let (percent, user_percent) = (100.0 * share(busiest), 100.0 * busiest.usage.user_ns.0 as f64 / total);
    let message = format!(
        "worker {} used {percent:.0} % of a processor ({user_percent:.0} % of that in this program, the rest in the \
            kernel)",
        busiest.worker
    );
    let finding = Finding::new("GEN-CPU", Severity::Warning, message).at(&*job.plan.name);
    let why = "the processor is the limit; the target may be able to do more";
    Some(finding.why(why).help("use more workers, if processors are idle"))
}

/// The share of a processor that the busiest worker of a load used. `None` if it is unknown, or if
/// the window is too short to count processor time.
pub(crate) fn busiest_worker(observation: &Observation) -> Option<f64> {
    let is_long = observation.measured_ns.is_none_or(|length| length >= MIN_WINDOW);
    let generator = observation.generator.filter(|_| is_long)?;
    Some(generator.busiest_worker)
}

pub(super) const CLOCK: Check = Check {
    rules: &["CLOCK"],
    about: "fathom's clock compared with the system's at both ends of the run.",
    detect: |input, findings| {
        for environment in input.environments() {
            let Some(drift) = environment.clock.drift_ppm.filter(|drift| drift.abs() > MAX_DRIFT_PPM) else {
                continue;
            };
            let message = format!("the clock drifted by {drift:.0} ppm from the system's");
            let finding = Finding::new("CLOCK", Severity::Warning, message).at(&*environment.clock.source);
            findings.push(
                finding
                    .why("latencies and rates have the same error")
                    .help("set FATHOM_CLOCK=system and repeat"),
            );
        }
    },
};

pub(super) const INTERVALS: Check = Check {
    rules: &["LOST-INTERVALS", "LOG-WAITS", "TRACE-WAITS"],
    about: "Intervals that were merged because they were not collected in time; waits for the operation log or for a \
        trace.",
    detect: |input, findings| {
        for job in input.jobs() {
            let rows: u64 = job.results.workers.iter().map(|worker| worker.merged_rows).sum();
            let lost = job.results.lost_intervals + rows;
            if lost > 0 {
                let message = format!("{} merged into the next one", count(lost, "interval"));
                let finding = Finding::new("LOST-INTERVALS", Severity::Note, message).at(&*job.plan.name);
                findings.push(finding.why("the totals are complete; the time series has fewer points"));
            }
            if job.results.log_waits > 0 {
                let message = format!(
                    "workers waited {} for the operation log or the trace that they write",
                    count(job.results.log_waits, "time")
                );
                let finding = Finding::new("LOG-WAITS", Severity::Warning, message).at(&*job.plan.name);
                findings.push(
                    finding
                        .why("the log slowed the test down")
                        .help("put the log on another, faster disk"),
                );
            }
            let waits: u64 = job.results.workers.iter().map(|worker| worker.trace_waits).sum();
            if waits > 0 {
                let message = format!("workers waited {} for the trace that they replay", count(waits, "time"));
                let finding = Finding::new("TRACE-WAITS", Severity::Warning, message).at(&*job.plan.name);
                findings.push(
                    finding
                        .why("operations were issued later than recorded in the trace")
                        .help("put the trace on another, faster disk, or leave a processor free to read it"),
                );
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::Nanos;
    use model::environment::CoreUse;
    use model::results::HostCoreUse;

    #[test]
    fn an_undisturbed_run_has_no_findings() {
        let results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        assert_eq!(rules(&results), Vec::<String>::new());
    }

    #[test]
    fn each_measurement_problem_is_reported() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        let worker = &mut results.steps[0].jobs[0].workers[0];
        worker.usage.user_ns = Nanos::millis(700);
        worker.usage.system_ns = Nanos::millis(250);
        worker.merged_rows = 2;
        results.hosts[0].environment.clock.drift_ppm = Some(-250.0);
        results.steps[0].observed_ns = Nanos::secs(1);
        results.steps[0].cores = vec![HostCoreUse {
            host: 0,
            core: CoreUse {
                stolen_ns: Nanos::millis(20),
                ..CoreUse::default()
            },
        }];
        let found = rules(&results);
        for rule in ["GEN-CPU", "STOLEN-TIME", "CLOCK", "LOST-INTERVALS"] {
            assert!(found.contains(&rule.to_owned()), "{rule} in {found:?}");
        }
        // 19200000 % of a processor was once reported.
        results.steps[0].jobs[0].workers[0].measured_ns = Nanos(1);
        assert!(!rules(&results).contains(&"GEN-CPU".to_owned()));
    }
}
