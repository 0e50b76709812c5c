//! Rules about duration: short runs, warm-up, bursts.

use model::Nanos;
use model::finding::Severity;
use model::plan::{Job, TargetKind};

use super::{Rule, all_streams};

/// Minimum window; a shorter one shows only an order of magnitude.
const MIN_WINDOW: Nanos = Nanos::secs(60);
/// A window of at least this, the default of `fathom run`, is sufficient for a first look.
const MIN_WINDOW_FOR_FIRST_LOOK: Nanos = Nanos::secs(30);
/// Minimum window to judge a promise.
const MIN_WINDOW_FOR_PROMISE: Nanos = Nanos::secs(300);

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "SHORT-RUN",
        severity: Severity::Warning,
        about: "The measured window is shorter than 60 s (a note from 30 s), or than 300 s if a \
            promise is judged.",
        why: "outliers, caches and other programs have more effect in a short window",
        fix: "measure for at least 60 s, 120 s for published figures, 300 s for a promise (`--time`; fio: runtime; DiskSpd: -d)",
        detect: |rule, test, findings| {
            let promised = test.purpose.promised_iops.is_some() || test.purpose.promised_latency_ns.is_some();
            for job in test.jobs().filter(|job| uses_real_targets(test, job)) {
                let Some(time) = job.stop.after_ns else { continue };
                if time >= if promised { MIN_WINDOW_FOR_PROMISE } else { MIN_WINDOW } {
                    continue;
                }
                let word = if time < MIN_WINDOW { "only " } else { "" };
                let severity = match promised || time < MIN_WINDOW_FOR_FIRST_LOOK {
                    true => Severity::Warning,
                    false => Severity::Note,
                };
                let message = format!("the plan measures {word}{time}");
                findings.push(rule.finding_with_severity(severity, message, &job.name));
            }
        },
    },
    Rule {
        name: "NO-WARMUP",
        severity: Severity::Note,
        about: "There is no warm-up: the measured window begins with the first operation.",
        why: "the first seconds fill caches and wake up devices, so they differ from the rest of the run",
        fix: "add a warm-up of some seconds (`--warm-up`; fio: ramp_time; DiskSpd: -W)",
        detect: |rule, test, findings| {
            for job in test.jobs().filter(|job| uses_real_targets(test, job)) {
                let has_warm_up = job.phases.warm_up_ns > Nanos(0) || job.phases.warm_up_bytes.is_some();
                if !has_warm_up && job.stop.after_ns.is_some() {
                    findings.push(rule.finding("there is no warm-up", &job.name));
                }
            }
        },
    },
    Rule {
        name: "SIZE-ENDS-RUN",
        severity: Severity::Note,
        about: "A job ends with its size, operations or passes, even if its time is not over.",
        why: "the measured window is then shorter than planned, and shorter on faster storage",
        fix: "limit only the time, or repeat the load until the time is over (fio time_based)",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let stop = &job.stop;
                let has_amount = stop.bytes.is_some() || stop.region_percent.is_some();
                let has_count = stop.operations.is_some() || stop.passes.is_some();
                if let Some(time) = stop
                    .after_ns
                    .filter(|_| !stop.repeat_until_time && (has_amount || has_count))
                {
                    let message = format!("the job may end before its time of {time}");
                    findings.push(rule.finding(message, &job.name));
                }
            }
        },
    },
    Rule {
        name: "BURST-WINDOW",
        severity: Severity::Warning,
        about: "The storage has burst credits, and the test is shorter than a burst from full credits.",
        why: "the test shows only the burst; the rate after the credits are used up is lower",
        fix: "measure for longer than the burst, or use up the credits first",
        detect: |rule, test, findings| {
            let Some(burst) = test.purpose.burst_ns else { return };
            for job in test.jobs().filter(|job| uses_real_targets(test, job)) {
                let Some(time) = job.stop.after_ns else { continue };
                let total = job.phases.warm_up_ns + time;
                if total <= burst {
                    let message = format!("the test runs for {total}, and a burst from full credits lasts {burst}");
                    findings.push(rule.finding(message, &job.name));
                }
            }
        },
    },
];

/// True if the job uses files or devices, not only simulated ones.
fn uses_real_targets(test: &super::Test<'_>, job: &Job) -> bool {
    let mut ids = all_streams(job).flat_map(|stream| stream.target.ids());
    ids.any(|id| {
        test.plan
            .targets
            .get(id.0 as usize)
            .is_some_and(|target| target.kind == TargetKind::Path)
    })
}
