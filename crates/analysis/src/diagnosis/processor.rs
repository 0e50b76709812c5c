//! Detects that the processors of this machine were the limit.

use model::diagnosis::Answer;
use model::observation::CoreShare;

use super::Signature;
use super::bounds::Bound;
use super::input::Input;
use super::other_programs::{WAITED_FOR_PROCESSOR, disturbed_seconds};
use super::symptom::{Symptom, figure, figure_vs};
use crate::attribution::{Attribution, Fault, describe_fault, is_simulated, other_activity};
use crate::caps::LayerKind;

/// A processor that is busy for more than this share of the time is full.
const FULL_SHARE: f64 = 0.95;
/// Minimum kernel share for a full processor to be attributed to interrupts and the I/O path.
const MIN_KERNEL_SHARE: f64 = 0.5;
/// A worker that uses less than this share of a processor is idle, so it does not wait for one.
const IDLE_WORKER_SHARE: f64 = 0.25;
/// Minimum share of processor time for other programs to count as keeping full processors busy.
const MIN_OTHERS_SHARE: f64 = 0.3;
/// From this share on, they count even if a processor was idle for a time.
const MIN_MAIN_OTHERS_SHARE: f64 = 0.5;
/// Minimum share of their time that threads must wait for a processor to count as short of
/// processors.
const MIN_WAITED_SHARE: f64 = 0.1;
/// A worker that uses at least this share of a processor is busy.
const BUSY_WORKER_SHARE: f64 = 0.9;

/// A shorter window does not show what used the processors during it.
const MIN_WINDOW_SECS: f64 = 0.999;

/// The storage is at fault if it caused more than this share of the operations that were due but
/// did not complete.
const MIN_STORAGE_SHARE: f64 = 0.5;

/// Name of the evidence figure for processor time that other programs used.
pub(super) const OTHER_PROGRAMS_FIGURE: &str = "other programs";

pub(super) const BUSY_PROCESSORS: Signature = Signature {
    answer: Answer::Processor,
    about: "Other programs or virtual machines kept the processors busy, and fathom's threads waited for one: at \
        least 10 % of their time, or, if a paced load reached its rate, 2 % in at least half of the seconds.",
    detect: detect_busy_processors,
};

pub(super) const PROCESSOR: Signature = Signature {
    answer: Answer::Processor,
    about: "All processors were more than 95 % busy, or one was, with at least half of its time in \
        the kernel (interrupts, I/O path). In addition, fathom's threads waited for a processor or \
        used 90 % of one.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    let cores = &input.observation.cores;
    if cores.is_empty() || input.is_rate_met() || !may_be_limit(input) || !may_have_waited(input) {
        return None;
    }
    let busiest = cores.iter().max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
    let (core, sentence) = match full_in_kernel(cores) {
        Some(core) => (
            core,
            format!(
                "processor {} was fully busy and spent {:.0} % of its time in the kernel: interrupts and the I/O path \
                 were the limit",
                core.cpu,
                100.0 * core.kernel
            ),
        ),
        None if cores.iter().all(is_full) => (busiest, "every processor of this machine was fully busy".to_owned()),
        None => return None,
    };
    Some(
        Symptom::new(sentence)
            .with_evidence(figure_vs(
                &format!("processor {}", core.cpu),
                100.0 * core.busy().min(1.0),
                "% busy",
                100.0 * FULL_SHARE,
                "full",
            ))
            .with_advice(
                "spread interrupts and workers over more processors, or use larger blocks; stop other programs on \
                 this machine",
            ),
    )
}

fn is_full(core: &CoreShare) -> bool {
    core.busy() > FULL_SHARE
}

fn full_in_kernel(cores: &[CoreShare]) -> Option<&CoreShare> {
    cores
        .iter()
        .find(|core| is_full(core) && core.kernel >= MIN_KERNEL_SHARE)
}

/// Detects other programs that kept the processors busy while fathom's threads waited for one.
fn detect_busy_processors(input: &Input<'_>) -> Option<Symptom> {
    let others = other_activity(input.observation, |_| true);
    let theirs = others.cpu_share.max(others.stolen_share);
    let cores = &input.observation.cores;
    let are_full = !cores.is_empty() && cores.iter().all(is_full) || full_in_kernel(cores).is_some();
    let min_share = if are_full {
        MIN_OTHERS_SHARE
    } else {
        MIN_MAIN_OTHERS_SHARE
    };
    let is_short = theirs > min_share && theirs > others.own_share;
    // A simulated device is not faster on an idle machine.
    if !is_short || is_too_short(input) || is_simulated(input.observation) || !may_be_limit(input) {
        return None;
    }
    // A load that reached its rate waited less, but each wait counts in its latencies.
    match input.is_rate_met() {
        true => disturbed_seconds(input, Fault::OtherCpu).map(|_| ())?,
        false if waited_share(input)? < MIN_WAITED_SHARE => return None,
        false => {}
    }
    let sentence = describe_served_rate(input) + &describe_fault(Fault::OtherCpu, &others) + WAITED_FOR_PROCESSOR;
    // STOLEN-TIME already reports stolen time. Under a different name, `diagnosis_finding` does not
    // report it again.
    let (figure_name, advice) = match others.stolen_share > others.cpu_share {
        true => (
            "other machines",
            "use a machine that does not share its processors, or measure at another time",
        ),
        false => (
            OTHER_PROGRAMS_FIGURE,
            "stop the programs that use the processors, or measure while they are idle",
        ),
    };
    let mut symptom = Symptom::new(sentence)
        .with_evidence(figure(figure_name, 100.0 * theirs, "% of all processors"))
        .with_advice(advice);
    if let Some(waited) = waited_share(input) {
        let waited = figure("wait for a processor", 100.0 * waited, "% of the time of each worker");
        symptom = symptom.with_evidence(waited);
    }
    Some(symptom)
}

/// True if the window is too short to show what used the processors during it: their samples begin
/// and end a little earlier or later.
pub(super) fn is_too_short(input: &Input<'_>) -> bool {
    let seconds = input.observation.seconds.iter();
    seconds.map(|second| second.facts.length_ns.as_secs()).sum::<f64>() < MIN_WINDOW_SECS
}

/// States that the load reached its rate, before the cause of its latencies; else empty.
pub(super) fn describe_served_rate(input: &Input<'_>) -> String {
    let requested = input.observation.load.rate_iops.filter(|_| input.is_rate_met());
    requested.map_or(String::new(), |rate| {
        format!("the requested {rate:.0} IOPS were served, but ")
    })
}

/// True unless a known limit or the storage explains the rate although others used the processors.
fn may_be_limit(input: &Input<'_>) -> bool {
    !has_reached_limit_with_idle_workers(input) && !is_storage_at_fault(input)
}

/// True if fathom's threads waited for a processor or saturated one, or if their waiting time is
/// unknown.
fn may_have_waited(input: &Input<'_>) -> bool {
    let used = input.observation.generator.map(|generator| generator.busiest_worker);
    waited_share(input).is_none_or(|waited| waited >= MIN_WAITED_SHARE)
        || used.is_some_and(|used| used >= BUSY_WORKER_SHARE)
}

/// The share of their time that fathom's threads were runnable but not running (run delay).
fn waited_share(input: &Input<'_>) -> Option<f64> {
    let seconds = &input.observation.seconds;
    let workers = f64::from(input.observation.load.workers?.max(1));
    let waited: f64 = seconds
        .iter()
        .map(|second| second.facts.threads.run_delay_ns.as_secs())
        .sum();
    let all: f64 = seconds.iter().map(|second| second.facts.length_ns.as_secs()).sum();
    (all > 0.0).then(|| waited / (workers * all))
}

/// True if the load has reached a known limit while its workers mostly sleep. Then that limit is
/// the cause, even if other programs use the processors.
fn has_reached_limit_with_idle_workers(input: &Input<'_>) -> bool {
    let sleeps = |generator: model::observation::GeneratorCost| generator.busiest_worker < IDLE_WORKER_SHARE;
    let is_reached = |bound: &Bound| bound.kind != LayerKind::Application && bound.is_reached();
    input.observation.generator.is_some_and(sleeps) && input.bounds.iter().any(is_reached)
}

/// True if the storage caused most of the missing operations, although other programs used more of
/// the processors than fathom.
fn is_storage_at_fault(input: &Input<'_>) -> bool {
    let Some(attribution) = Attribution::new(input.observation, None) else {
        return false;
    };
    let others = other_activity(input.observation, |_| true);
    others.cpu_share > others.own_share && attribution.share(Fault::Storage) > MIN_STORAGE_SHARE
}
