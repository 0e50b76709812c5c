//! Detects other programs that made a paced load miss its rate or raised its latencies.

use model::diagnosis::Answer;

use super::Signature;
use super::context::Question;
use super::input::Input;
use super::processor::{describe_served_rate, is_too_short};
use super::symptom::{Symptom, figure};
use crate::attribution::{Attribution, Fault, describe_fault, disturbance, other_activity};

/// Other programs are the answer if they explain at least this share of the missing operations.
const MIN_DECISIVE_SHARE: f64 = 0.5;
/// What follows if others used the processors.
pub(super) const WAITED_FOR_PROCESSOR: &str = ", so operations waited for a processor; the storage may be faster";
/// Above this share, the verdict on a missed promise is INCONCLUSIVE and names the other programs.
const MIN_DISTURBING_SHARE: f64 = 0.1;

pub(super) const OTHER_PROGRAMS: Signature = Signature {
    answer: Answer::Processor,
    about: "A paced load missed its rate in seconds in which its threads waited for processors that other programs \
        used. For a missed latency promise, this must hold in at least half of all seconds.",
    detect: |input| detect(input, Fault::OtherCpu),
};

pub(super) const OTHER_IO: Signature = Signature {
    answer: Answer::Noisy,
    about: "A paced load missed its rate in seconds in which other programs moved as many bytes on the device as \
        were missing. For a missed latency promise, this must hold in at least half of all seconds.",
    detect: |input| detect(input, Fault::OtherIo),
};

fn detect(input: &Input<'_>, fault: Fault) -> Option<Symptom> {
    if is_too_short(input) {
        return None;
    }
    let (seconds, total_text, share) = match input.context.question {
        Question::MissedLatency => disturbed_seconds(input, fault)?,
        Question::Limit | Question::MissedRate => missed_seconds(input, fault)?,
    };
    let activity = other_activity(input.observation, |at| seconds.contains(&at));
    let (effect, advice) = match fault {
        Fault::OtherIo => (
            "",
            "stop the programs that use the device, or measure while they are idle",
        ),
        _ => (
            WAITED_FOR_PROCESSOR,
            "stop the programs that use the processors, or measure while they are idle",
        ),
    };
    let count = seconds.len().to_string();
    let period = match count == total_text {
        true => format!("in all {count} seconds"),
        false => format!("in {count} of {total_text} seconds"),
    };
    let served = describe_served_rate(input);
    let sentence = format!("{served}{period} {}{effect}", describe_fault(fault, &activity));
    Some(
        Symptom::new(sentence)
            .with_evidence(figure("explained by other programs", 100.0 * share, "%"))
            .with_advice(advice),
    )
}

/// Returns the start times of missed seconds with this fault, the count of all missed seconds as
/// text, and the fault's share of the missing operations.
fn missed_seconds(input: &Input<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let attribution = Attribution::new(input.observation, None)?;
    // No answer if the load caught up, or if the storage alone explains the miss.
    if input.is_rate_met() && input.context.question == Question::Limit || attribution.storage_alone_fails(0.0) {
        return None;
    }
    let min_share = match input.context.question {
        Question::Limit => MIN_DECISIVE_SHARE,
        Question::MissedRate | Question::MissedLatency => MIN_DISTURBING_SHARE,
    };
    let share = attribution.share(fault);
    if share <= min_share || attribution.main_other_fault() != Some(fault) {
        return None;
    }
    let seconds = attribution.missed.iter().filter(|missed| missed.fault == fault);
    Some((
        seconds.map(|missed| missed.at).collect(),
        format!("{} missed", attribution.missed.len()),
        share,
    ))
}

/// Returns the start times of seconds whose latencies have this fault, the count of all seconds as
/// text, and the share of these seconds.
pub(super) fn disturbed_seconds(input: &Input<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let observation = input.observation;
    let starts = observation.seconds.iter().map(|second| second.facts.start_ns.as_secs());
    let seconds: Vec<f64> = starts
        .filter(|at| disturbance(observation, *at, None) == Some(fault))
        .collect();
    let all = observation.seconds.len();
    let share = seconds.len() as f64 / all as f64;
    (share >= MIN_DECISIVE_SHARE).then(|| (seconds, all.to_string(), share))
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::observation::Observation;

    use super::super::samples::closed_loop;
    use super::super::{Answer, Context, Question, diagnose};
    use super::*;
    use crate::attribution::tests::second;

    /// Other programs use the processors in the first of four seconds.
    fn answer(operations: [u64; 4], question: Question) -> Answer {
        let mut observation = closed_loop(32, operations.iter().sum::<u64>() as f64 / 4.0);
        (observation.load.rate_iops, observation.load.closed_loop) = (Some(1000.0), Some(false));
        observation.seconds = (0..)
            .zip(operations)
            .map(|(number, n)| second(number, n, 0.99, 0.99))
            .collect();
        let first = &mut observation.seconds[0];
        first.facts.threads.run_delay_ns = Nanos::millis(600);
        (first.hosts[0].busy_ns, first.hosts[0].own_ns) = (Nanos::millis(1950), Nanos::millis(100));
        let context = Context {
            question,
            ..Context::default()
        };
        diagnose(&observation, &[], &context).answer
    }

    #[test]
    fn other_programs_explain_only_missed_operations() {
        assert_eq!(answer([500, 1000, 1000, 1000], Question::Limit), Answer::Processor);
        // Caught up.
        assert_eq!(answer([800, 1070, 1070, 1060], Question::Limit), Answer::Cap);
    }

    /// A window of 0.3 s once had "0.7 of 1 processors".
    #[test]
    fn a_short_window_has_all_processors_of_the_machine() {
        let mut short = second(0, 300, 0.5, 0.0);
        (short.facts.length_ns, short.hosts[0].length_ns) = (Nanos::millis(300), Nanos::millis(300));
        (short.hosts[0].cpus_ns, short.hosts[0].busy_ns) = (Nanos::millis(600), Nanos::millis(300));
        let observation = Observation {
            seconds: vec![short],
            ..Observation::default()
        };
        assert_eq!(
            describe_fault(Fault::OtherCpu, &other_activity(&observation, |_| true)),
            "other programs used 1.0 of 2 processors"
        );
    }

    #[test]
    fn a_window_below_a_second_does_not_show_other_programs() {
        // Half of the due operations complete, and the thread waits for most of the time.
        let answer = |length_ms: u64| {
            let mut observation = closed_loop(32, 500.0);
            (observation.load.rate_iops, observation.load.closed_loop) = (Some(1000.0), Some(false));
            let mut only = second(0, length_ms / 2, 0.99, 0.99);
            only.facts.length_ns = Nanos::millis(length_ms);
            only.facts.threads.run_delay_ns = Nanos::millis(length_ms * 6 / 10);
            let host = &mut only.hosts[0];
            (host.length_ns, host.cpus_ns) = (Nanos::millis(length_ms), Nanos::millis(2 * length_ms));
            (host.busy_ns, host.own_ns) = (Nanos::millis(2 * length_ms), Nanos::millis(length_ms / 10));
            observation.seconds = vec![only];
            diagnose(&observation, &[], &Context::default()).answer
        };
        assert_eq!(answer(1000), Answer::Processor);
        assert_ne!(answer(300), Answer::Processor);
    }

    #[test]
    fn other_programs_do_not_excuse_failing_storage() {
        assert_eq!(answer([500, 960, 960, 960], Question::MissedRate), Answer::Processor);
        assert_ne!(answer([500, 500, 500, 500], Question::MissedRate), Answer::Processor);
    }
}
