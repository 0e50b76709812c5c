//! More depth does not raise the rate, and no known limit explains it.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::input::Input;
use super::symptom::{Symptom, latency_vs_unloaded};
use crate::caps::concurrent_loads;
use crate::figures::three_digits;

/// A latency of this multiple of the unloaded latency is mostly waiting.
const MIN_LATENCY_GROWTH: f64 = 3.0;

pub(super) const SATURATED: Signature = Signature {
    answer: Answer::Saturated,
    about: "Twice the depth did not raise the rate, so the added operations only waited; or the queue was full and \
        the latency three times that of a single operation. No known limit explains the rate, and the operations \
        wait in the device.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    if !input.has_one_level() || input.waits_above_device() {
        return None;
    }
    let rate = input.rate()?;
    let comparison = input.comparison();
    let symptom = match (comparison, input.context.unloaded_ns) {
        // Waiting operations prove a limit, even if flushes emptied the queue at times, or the
        // report does not state whether the loop was closed.
        (Some(comparison), _) => {
            let is_saturated = matches!(comparison.verdict, Verdict::Limit | Verdict::Decline);
            is_saturated.then(|| comparison.to_symptom())?
        }
        (None, Some(unloaded_ns)) if input.is_closed_loop() && input.is_queue_full()? => {
            let latency = input.mean_latency()?;
            (latency >= MIN_LATENCY_GROWTH * unloaded_ns)
                .then(Symptom::default)?
                .with_evidence(latency_vs_unloaded(latency, unloaded_ns))
        }
        (None, _) => return None,
    };
    let loads = concurrent_loads(input.observation, &input.context.others);
    let concurrent_jobs: Vec<&str> = loads[1..].iter().map(|load| &*load.name).collect();
    let rate = three_digits(rate);
    let mut sentence = match concurrent_jobs.is_empty() {
        true => format!("the device delivers at most {rate} IOPS; also possible: an unknown limit in front of it"),
        false => format!(
            "while {} ran, this job reached at most {rate} IOPS",
            concurrent_jobs.join(" and ")
        ),
    };
    if let Some(comparison) = comparison.filter(|comparison| comparison.verdict == Verdict::Decline) {
        sentence += &format!(
            "; at {:.1} times the depth it delivered {:.0} % less",
            comparison.depth,
            100.0 * (1.0 - comparison.rate)
        );
    }
    let symptom = match concurrent_jobs.is_empty() {
        true => symptom
            .with_advice(
                "reduce the depth: the rate stays the same and latency falls; only a faster device delivers more",
            )
            .with_advice(format!("if this is a limit, state it: --cap iops={rate:.0}")),
        false => symptom.with_advice("measure this job alone to see what the device delivers to it"),
    };
    Some(Symptom { sentence, ..symptom })
}

#[cfg(test)]
mod tests {
    use model::observation::Concurrency;
    use model::testing::assert_starts_with;

    use super::super::samples::closed_loop;
    use super::super::{Answer, Context, diagnose};

    /// Two jobs share a device of 2,000 IOPS. The rate of one job is not a limit of the device.
    #[test]
    fn a_share_of_a_device_is_not_its_limit() {
        let job = |name: &str, depth: u64, iops: f64| {
            let mut job = closed_loop(depth, iops);
            (job.name, job.concurrency) = (name.into(), Some(Concurrency::default()));
            job
        };
        let (shallow, deeper) = (job("a", 16, 1600.0), job("a", 32, 1600.0));
        let other = job("b", 4, 400.0);
        let mut context = Context {
            deeper: Some(&deeper),
            ..Context::default()
        };
        let diagnosis = diagnose(&shallow, &[], &context);
        assert_starts_with(&diagnosis.sentence, "the device delivers");
        context.others = vec![&other];
        let with_other_job = diagnose(&shallow, &[], &context);
        assert_eq!(with_other_job.answer, Answer::Saturated);
        assert_eq!(
            with_other_job.sentence,
            "while b ran, this job reached at most 1600 IOPS"
        );
        assert!(
            !with_other_job.advice.iter().any(|advice| advice.contains("--cap")),
            "{:?}",
            with_other_job.advice
        );
    }
}
