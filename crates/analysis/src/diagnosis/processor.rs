//! The processors of this machine were the limit.

use model::diagnosis::{Answer, Remark};
use model::observation::CoreShare;
use model::stats::median;

use super::sign::{Sign, held};
use super::subject::Subject;
use super::{Signature, remark};

/// A processor above this share of its time is full.
const FULL: f64 = 0.95;
/// A full processor that works for the kernel at least so much carries interrupts and the paths of I/O.
const KERNEL: f64 = 0.5;
/// Workers that use less of a processor than this do not wait for one.
const IDLE_WORKER: f64 = 0.25;
/// Kernel time of one processor above so many times the median is skewed ...
const SKEW: f64 = 3.0;
/// ... if it is at least this share of its time.
const FELT: f64 = 0.10;

pub(super) const PROCESSOR: Signature = Signature {
    answer: Answer::Processor,
    about: "All processors were more than 95 % busy, or one was that spends at least half of its time in the kernel, where \
            interrupts and the paths of I/O run.",
    look,
};

fn look(subject: &Subject<'_>) -> Option<Sign> {
    let cores = &subject.observation.cores;
    if cores.is_empty() || subject.rate_is_kept() || sleeps_at_a_limit(subject) {
        return None;
    }
    let full = |core: &&CoreShare| core.busy() > FULL;
    let in_kernel = cores.iter().filter(full).find(|core| core.kernel >= KERNEL);
    let busiest = cores.iter().max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
    let all = cores.iter().all(|core| full(&core));
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
        Sign::new(sentence)
            .show(held(
                &format!("processor {}", core.cpu),
                100.0 * core.busy(),
                "% busy",
                100.0 * FULL,
                "full",
            ))
            .advise(
                "spread interrupts and workers over more processors, or use larger blocks; stop what else runs here",
            ),
    )
}

/// A load that lies at a known limit and whose workers sleep nearly all the time is held by that limit, whoever else
/// uses the processors.
fn sleeps_at_a_limit(subject: &Subject<'_>) -> bool {
    let sleeps = |generator: model::observation::Generator| generator.busiest_worker < IDLE_WORKER;
    subject.observation.generator.is_some_and(sleeps) && subject.bounds.iter().any(|bound| bound.is_met())
}

/// One processor does most of the kernel's work.
pub(super) fn skew(subject: &Subject<'_>) -> Option<Remark> {
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
