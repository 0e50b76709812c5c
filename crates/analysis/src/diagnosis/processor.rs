//! The processors of this machine were the limit.

use model::diagnosis::{Answer, Remark};
use model::observation::CoreShare;
use model::stats::median;

use super::input::Input;
use super::symptom::{Symptom, compared, figure};
use super::{Signature, remark};
use crate::attribution::{Attribution, Fault, describe_fault, others};

/// A processor above this share of its time is full.
const FULL: f64 = 0.95;
/// A full processor that works for the kernel at least so much carries interrupts and the paths of
/// I/O.
const KERNEL: f64 = 0.5;
/// Workers that use less of a processor than this do not wait for one.
const IDLE_WORKER: f64 = 0.25;
/// Others keep the processors busy from this share of their time on.
const OTHERS: f64 = 0.3;
/// Threads lacked a processor if they waited for one for this share of their time.
const WAITED: f64 = 0.1;
/// A worker that uses this share of a processor leaves it no time to wait.
const BUSY: f64 = 0.9;
/// Kernel time of one processor above that many times the median is skewed ...
const SKEW: f64 = 3.0;
/// ... if it is at least this share of its time.
const FELT: f64 = 0.10;

pub(super) const PROCESSOR: Signature = Signature {
    answer: Answer::Processor,
    about: "All processors were more than 95 % busy, or one was that spends at least half of its time in the kernel, where \
            interrupts and the paths of I/O run; and this program's threads waited for a processor, or used all of one. \
            Processors that other programs keep busy are named as theirs.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let cores = &subject.observation.cores;
    if cores.is_empty() || subject.rate_is_kept() || sleeps_at_a_limit(subject) || storage_missed_beside_others(subject)
    {
        return None;
    }
    let full = |core: &&CoreShare| core.busy() > FULL;
    let in_kernel = cores.iter().filter(full).find(|core| core.kernel >= KERNEL);
    let busiest = cores.iter().max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
    let all = cores.iter().all(|core| full(&core));
    if let Some(sign) = used_by_others(subject, busiest.busy(), all || in_kernel.is_some()) {
        return Some(sign);
    }
    if !waited_to_run(subject) {
        return None;
    }
    let (core, sentence) = match in_kernel {
        Some(core) => (
            core,
            format!(
                "processor {} was full, {:.0} % of its time in the kernel: interrupts and the paths of I/O were the limit",
                core.cpu,
                100.0 * core.kernel
            ),
        ),
        None if all => (busiest, "every processor of this machine was full".to_owned()),
        None => return None,
    };
    Some(
        Symptom::new(sentence)
            .show(compared(
                &format!("processor {}", core.cpu),
                100.0 * core.busy(),
                "% busy",
                100.0 * FULL,
                "full",
            ))
            .advise(
                "spread interrupts and workers over more processors, or use larger blocks; stop other programs on this machine",
            ),
    )
}

/// Processors that other programs keep busy while our threads wait for one: theirs is named, with
/// its share.
fn used_by_others(subject: &Input<'_>, busiest: f64, full: bool) -> Option<Symptom> {
    let others = others(subject.observation, |_| true);
    let theirs = others.cpu_share.max(others.stolen_share);
    if !full || theirs <= OTHERS || theirs <= others.own_share || share_waited(subject)? < WAITED {
        return None;
    }
    let sentence = describe_fault(Fault::OtherCpu, &others) + ": operations waited for them, not for the storage";
    Some(
        Symptom::new(sentence)
            .show(compared(
                "busiest processor",
                100.0 * busiest,
                "% busy",
                100.0 * FULL,
                "full",
            ))
            .show(figure(
                "other programs",
                100.0 * others.cpu_share,
                "% of all processors",
            ))
            .advise("stop the other programs, or measure while they are idle"),
    )
}

/// Our own threads were held up for lack of a processor, or it is not known whether they were.
fn waited_to_run(subject: &Input<'_>) -> bool {
    let used = subject.observation.generator.map(|generator| generator.busiest_worker);
    share_waited(subject).is_none_or(|waited| waited >= WAITED) || used.is_some_and(|used| used >= BUSY)
}

/// The share of their time for which our threads could have run and waited for a processor.
fn share_waited(subject: &Input<'_>) -> Option<f64> {
    let seconds = &subject.observation.seconds;
    let workers = f64::from(subject.observation.load.workers?.max(1));
    let waited: f64 = seconds
        .iter()
        .map(|second| second.facts.threads.run_delay_ns.as_secs())
        .sum();
    let all: f64 = seconds.iter().map(|second| second.facts.length_ns.as_secs()).sum();
    (all > 0.0).then(|| waited / (workers * all))
}

/// A load that lies at a known limit and whose workers sleep nearly all the time is held by that
/// limit, whatever else uses the processors.
fn sleeps_at_a_limit(subject: &Input<'_>) -> bool {
    let sleeps = |generator: model::observation::Generator| generator.busiest_worker < IDLE_WORKER;
    subject.observation.generator.is_some_and(sleeps) && subject.bounds.iter().any(|bound| bound.is_met())
}

/// Other programs kept the processors busier than this one did, and most of what is missing is
/// still the storage's: it was in the storage while the processors were busy.
fn storage_missed_beside_others(subject: &Input<'_>) -> bool {
    let Some(attribution) = Attribution::new(subject.observation, None) else {
        return false;
    };
    let others = others(subject.observation, |_| true);
    others.cpu_share > others.own_share && attribution.share(Fault::Storage) > 0.5
}

/// One processor does most of the kernel's work.
pub(super) fn skew(subject: &Input<'_>) -> Option<Remark> {
    let cores = &subject.observation.cores;
    if cores.len() < 3 {
        return None;
    }
    let shares: Vec<f64> = cores.iter().map(|core| core.kernel).collect();
    let middle = median(&shares);
    let most = cores.iter().max_by(|a, b| a.kernel.total_cmp(&b.kernel))?;
    (most.kernel >= FELT && most.kernel > SKEW * middle).then(|| {
        let what = format!(
            "processor {} spent {:.1} % of its time in the kernel, the others {:.1} %: interrupts go to one processor",
            most.cpu,
            100.0 * most.kernel,
            100.0 * middle
        );
        remark("D-IRQ-SKEW", what)
    })
}
