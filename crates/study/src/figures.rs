//! The figures of a step that studies report.

use model::Nanos;
use model::results::Results;

/// Figures of the only job of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) iops: f64,
    pub(crate) mib_per_sec: f64,
    pub(crate) median: Nanos,
    pub(crate) p99: Nanos,
    /// CPUs that the generator kept busy, in user and kernel mode.
    pub(crate) busy_cpus: f64,
    pub(crate) cpu_per_operation: Nanos,
}

impl Figures {
    /// Figures of a step; `None` if it measured nothing or has several jobs.
    pub(crate) fn from_results(results: &Results, step: usize) -> Option<Figures> {
        let [job] = results.steps.get(step)?.jobs.as_slice() else {
            return None;
        };
        let seconds = job.measured().as_secs();
        let total = job.total();
        if total.operations == 0 || seconds <= 0.0 {
            return None;
        }
        let latency = total.latency();
        let busy = job.usage().cpu().0;
        Some(Figures {
            iops: total.operations as f64 / seconds,
            mib_per_sec: total.bytes.0 as f64 / seconds / f64::from(1 << 20),
            median: Nanos(latency.quantile(0.5)),
            p99: Nanos(latency.quantile(0.99)),
            busy_cpus: busy as f64 / 1e9 / seconds,
            cpu_per_operation: Nanos(busy / total.operations),
        })
    }
}
