//! The load generator itself was the limit.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};
use crate::attribution::{Attribution, Fault};
use crate::checks::busiest_worker;
use crate::figures::format_time;

/// A worker above this share of a processor may be the limit.
const BUSY_WORKER_SHARE: f64 = 0.90;
/// Maximum share of the engine's rate without a device. Above it, the engine itself takes a large
/// part of the time.
const MAX_CEILING_SHARE: f64 = 0.70;
/// Maximum p99 of the schedule delay, as a share of the median service time.
const MAX_DELAY_SHARE: f64 = 0.10;
/// Shorter delays come from timers.
const MIN_DELAY_NS: f64 = 50_000.0;
/// Minimum share of the missing operations for a fault to be the answer.
const MIN_FAULT_SHARE: f64 = 0.5;

pub(super) const GENERATOR: Signature = Signature {
    answer: Answer::Generator,
    about: "A worker used more than 90 % of a processor, the rate was above 70 % of what the engine reaches without \
        a device, the queue was not full, or in most missed seconds of a paced load slots were free and operations \
        were issued late.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    // A generator that met its rate was fast enough.
    if input.is_rate_met() {
        return None;
    }
    detect_busy_worker(input)
        .or_else(|| detect_engine_ceiling(input))
        .or_else(|| detect_underfilled_queue(input))
        .or_else(|| detect_late_issue(input))
}

fn detect_busy_worker(input: &Input<'_>) -> Option<Symptom> {
    let busiest = busiest_worker(input.observation).filter(|_| !input.context.polls)?;
    (busiest > BUSY_WORKER_SHARE).then(|| {
        let percent = 100.0 * busiest;
        let sentence =
            format!("the program itself was the limit: its busiest worker used {percent:.0} % of a processor");
        Symptom::new(sentence)
            .with_evidence(figure_vs(
                "busiest worker",
                percent,
                "% of a processor",
                100.0 * BUSY_WORKER_SHARE,
                "the maximum that leaves time to wait",
            ))
            .with_advice("use more workers if processors are idle, or larger blocks")
    })
}

fn detect_engine_ceiling(input: &Input<'_>) -> Option<Symptom> {
    let ceiling = input
        .observation
        .generator?
        .ceiling_iops
        .filter(|ceiling| *ceiling > 0.0)?;
    let rate = input.rate()?;
    (rate > MAX_CEILING_SHARE * ceiling).then(|| {
        let percent = 100.0 * rate / ceiling;
        let sentence = format!(
            "the program itself was a large part of the limit: {percent:.0} % of what it reaches without a device"
        );
        Symptom::new(sentence)
            .with_evidence(figure_vs("rate", rate, "IOPS", ceiling, "without a device"))
            .with_advice("use more workers or larger blocks")
    })
}

fn detect_underfilled_queue(input: &Input<'_>) -> Option<Symptom> {
    // Flushes and pauses empty the queue even if the generator is fast enough.
    if !input.is_closed_loop() || input.context.flushes || input.is_queue_full()? {
        return None;
    }
    let depth = input.observation.load.depth? as f64;
    let in_flight = input.queue_fill()? * depth;
    let sentence = format!("the queue was not kept full: {in_flight:.1} operations in flight of {depth:.0}");
    let (sentence, advice) = match input.observation.load.direct {
        Some(false) => (
            format!("{sentence}, because the operating system's cache was in use and completes operations at once"),
            "repeat without the operating system's cache",
        ),
        _ => (
            sentence,
            "use more workers, each with a smaller queue depth; check that the engine is asynchronous",
        ),
    };
    Some(
        Symptom::new(sentence)
            .with_evidence(figure_vs("operations in flight", in_flight, "", depth, "the depth"))
            .with_advice(advice),
    )
}

/// Finds seconds in which a paced load was issued late although slots were free. Delays caused by
/// the storage or other programs do not count.
fn detect_late_issue(input: &Input<'_>) -> Option<Symptom> {
    let observation = input.observation;
    let Some(attribution) = Attribution::new(observation, None) else {
        return detect_late_issue_on_average(input);
    };
    let missed = attribution.missing_operations(Fault::Generator);
    (attribution.share(Fault::Generator) > MIN_FAULT_SHARE && missed > 0.0).then(|| {
        let seconds = attribution.seconds(Fault::Generator);
        let sentence = format!(
            "the program itself was the limit: in {seconds} of {} missed seconds slots were free and operations were issued late",
            attribution.missed.len()
        );
        let used = observation.generator.map_or(0.0, |generator| 100.0 * generator.busiest_worker);
        Symptom::new(sentence)
            .with_evidence(figure("operations missing in those seconds", missed, ""))
            .with_evidence(figure("busiest worker", used, "% of a processor"))
            .with_advice("use more workers, and leave a processor free for each")
    })
}

/// Finds late operations in results without per-second facts.
fn detect_late_issue_on_average(input: &Input<'_>) -> Option<Symptom> {
    // If the queue was full, the target made operations late.
    if input.is_queue_full()? {
        return None;
    }
    let total = &input.observation.total;
    let late = total.schedule_delay.as_ref()?.quantile(0.99)?;
    let service = total.latency.as_ref()?.quantile(0.5)?;
    // A slow program delays half of all operations; a stall delays only a few.
    let median = total.schedule_delay.as_ref()?.quantile(0.5)?;
    (late > MAX_DELAY_SHARE * service && late > MIN_DELAY_NS && median > MAX_DELAY_SHARE * service).then(|| {
        let sentence = format!(
            "the program could not keep its schedule although the queue had room: half of the operations were issued \
             {} or more too late",
            format_time(median)
        );
        Symptom::new(sentence)
            .with_evidence(figure_vs(
                "schedule delay, median",
                median / 1e6,
                "ms",
                MAX_DELAY_SHARE * service / 1e6,
                "a tenth of the median service time",
            ))
            .with_advice("use more workers, or leave a processor free for each")
    })
}
