//! Rules about how long it takes: runs that are too short, warm-up, bursts.

use model::Nanos;
use model::finding::Severity;
use model::plan::{Job, TargetKind};

use super::{Rule, streams_of};

/// Below this a run shows an order of magnitude.
const EXPLORATORY: Nanos = Nanos::secs(60);
/// What promises are judged by.
const FOR_PROMISES: Nanos = Nanos::secs(300);

pub(super) const SHORT_RUN: Rule = Rule {
    name: "SHORT-RUN",
    severity: Severity::Warning,
    about: "The measured window is shorter than 60 s, or than 300 s where a promise is judged.",
    why: "outliers, caches and the work of others weigh more in a short window",
    fix: "measure for a minute at least, two for figures that are to be shown, five for a promise",
    detect: |rule, test, findings| {
        let promised = test.purpose.promised_iops.is_some() || test.purpose.promised_latency_ns.is_some();
        for job in test.jobs().filter(|job| is_real(test, job)) {
            let Some(time) = job.stop.after_ns else { continue };
            if time >= if promised { FOR_PROMISES } else { EXPLORATORY } {
                continue;
            }
            let word = if time < EXPLORATORY { "only " } else { "" };
            findings.push(rule.found(format!("the plan measures {word}{time}"), &job.name));
        }
    },
};

pub(super) const NO_WARM_UP: Rule = Rule {
    name: "NO-WARMUP",
    severity: Severity::Note,
    about: "The measured window begins with the first operation.",
    why: "the first seconds fill caches and wake up what sleeps: they are not what follows",
    fix: "give it a warm-up of some seconds",
    detect: |rule, test, findings| {
        for job in test.jobs().filter(|job| is_real(test, job)) {
            let warms = job.phases.warm_up_ns > Nanos(0) || job.phases.warm_up_bytes.is_some();
            if !warms && job.stop.after_ns.is_some() {
                findings.push(rule.found("there is no warm-up", &job.name));
            }
        }
    },
};

pub(super) const BURST_WINDOW: Rule = Rule {
    name: "BURST-WINDOW",
    severity: Severity::Warning,
    about: "The storage has burst credits, and the test is shorter than a burst from full credits.",
    why: "the test shows the burst; what remains when the credits are gone is less",
    fix: "measure for longer than the burst, or use up the credits first",
    detect: |rule, test, findings| {
        let Some(burst) = test.purpose.burst_ns else { return };
        for job in test.jobs().filter(|job| is_real(test, job)) {
            let Some(time) = job.stop.after_ns else { continue };
            let whole = job.phases.warm_up_ns + time;
            if whole <= burst {
                let what = format!("{whole} of I/O, and a burst from full credits lasts {burst}");
                findings.push(rule.found(what, &job.name));
            }
        }
    },
};

/// The job uses files or devices, not only simulated ones.
fn is_real(test: &super::Test<'_>, job: &Job) -> bool {
    let mut ids = streams_of(job).flat_map(|stream| stream.target.ids());
    ids.any(|id| {
        test.plan
            .targets
            .get(id.0 as usize)
            .is_some_and(|target| target.kind == TargetKind::Path)
    })
}
