//! The program that measured was the limit itself.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};
use crate::attribution::{Attribution, Fault};

/// A worker above this share of a processor may be the limit.
const BUSY: f64 = 0.90;
/// Above this share of what the engine reaches without any device, the engine is a good part of the
/// time.
const NEAR_CEILING: f64 = 0.70;
/// One of a hundred operations issued later than this share of the usual service time.
const LATE: f64 = 0.10;
/// A delay below this many nanoseconds is that of a timer.
const LATE_NS_MIN: f64 = 50_000.0;
/// The fault of most missing operations.
const MAJORITY: f64 = 0.5;

pub(super) const GENERATOR: Signature = Signature {
    answer: Answer::Generator,
    about: "A worker used more than 90 % of a processor, the rate came within 70 % of what the engine reaches without a \
            device, the queue was not kept full, or in most of the seconds that a paced load missed slots were free and \
            operations were issued late.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    // Who gets the rate he asked for was fast enough.
    if subject.rate_is_kept() {
        return None;
    }
    busy(subject)
        .or_else(|| near_ceiling(subject))
        .or_else(|| not_full(subject))
        .or_else(|| late(subject))
}

fn busy(subject: &Input<'_>) -> Option<Symptom> {
    let generator = subject.observation.generator.filter(|_| !subject.context.polls)?;
    (generator.busiest_worker > BUSY).then(|| {
        let percent = 100.0 * generator.busiest_worker;
        let sentence =
            format!("the program itself was the limit: its busiest worker used {percent:.0} % of a processor");
        Symptom::new(sentence)
            .show(compared(
                "busiest worker",
                percent,
                "% of a processor",
                100.0 * BUSY,
                "what leaves it time to wait",
            ))
            .advise("use more workers, as long as there are idle processors, or larger blocks")
    })
}

fn near_ceiling(subject: &Input<'_>) -> Option<Symptom> {
    let ceiling = subject
        .observation
        .generator?
        .ceiling_iops
        .filter(|ceiling| *ceiling > 0.0)?;
    let rate = subject.rate()?;
    (rate > NEAR_CEILING * ceiling).then(|| {
        let percent = 100.0 * rate / ceiling;
        let sentence = format!(
            "the program itself was a good part of the limit: {percent:.0} % of what it reaches without a device"
        );
        Symptom::new(sentence)
            .show(compared("rate", rate, "IOPS", ceiling, "without a device"))
            .advise("use more workers or larger blocks")
    })
}

fn not_full(subject: &Input<'_>) -> Option<Symptom> {
    // Flushes and pauses empty the queue without anybody being slow.
    if !subject.is_closed_loop() || subject.context.flushes || subject.queue_is_full()? {
        return None;
    }
    let depth = subject.observation.load.depth? as f64;
    let in_flight = subject.fullness()? * depth;
    let sentence = format!("the queue was not kept full: {in_flight:.1} operations in flight of {depth:.0}");
    Some(
        Symptom::new(sentence)
            .show(compared("operations in flight", in_flight, "", depth, "the depth"))
            .advise("use an asynchronous engine, or more workers with less depth each"),
    )
}

/// Seconds in which a paced load was issued late although slots were free. What storage held up, or
/// others, is not the generator's.
fn late(subject: &Input<'_>) -> Option<Symptom> {
    let observation = subject.observation;
    let Some(found) = Attribution::new(observation, None) else {
        return late_on_average(subject);
    };
    let missed = found.missing(Fault::Generator);
    (found.share(Fault::Generator) > MAJORITY && missed > 0.0).then(|| {
        let seconds = found.seconds(Fault::Generator);
        let sentence = format!(
            "the program itself was the limit: in {seconds} of {} missed seconds slots were free and operations were issued late",
            found.missed.len()
        );
        let used = observation.generator.map_or(0.0, |generator| 100.0 * generator.busiest_worker);
        Symptom::new(sentence)
            .show(figure("operations missing in those seconds", missed, ""))
            .show(figure("busiest worker", used, "% of a processor"))
            .advise("use more workers, and leave a processor to each")
    })
}

/// The same for results that do not tell seconds apart.
fn late_on_average(subject: &Input<'_>) -> Option<Symptom> {
    // Late operations with a full queue are the target's doing.
    if subject.queue_is_full()? {
        return None;
    }
    let total = &subject.observation.total;
    let late = total.schedule_delay.as_ref()?.quantile(0.99)?;
    let service = total.latency.as_ref()?.quantile(0.5)?;
    // Half of all operations late tells a slow program; a few late ones are the end of a stall.
    let usual = total.schedule_delay.as_ref()?.quantile(0.5)?;
    (late > LATE * service && late > LATE_NS_MIN && usual > LATE * service).then(|| {
        let sentence = format!(
            "the program could not keep its schedule although the queue had room: half of the operations were issued \
             {:.3} ms or more too late",
            usual / 1e6
        );
        Symptom::new(sentence)
            .show(compared(
                "schedule delay, median",
                usual / 1e6,
                "ms",
                LATE * service / 1e6,
                "a tenth of the median service time",
            ))
            .advise("use more workers, or leave a processor to each")
    })
}
