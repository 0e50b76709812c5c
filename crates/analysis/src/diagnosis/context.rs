//! Facts for a diagnosis in addition to the observation and the layers.

use model::Nanos;
use model::environment::VolumeUse;
use model::event::Phase;
use model::observation::Observation;
use model::plan::{EngineKind, Job};
use model::results::{JobResults, Results};

/// Facts for a diagnosis in addition to the observation and the layers. Each may be absent.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// The same load at another depth.
    pub deeper: Option<&'a Observation>,
    /// Other loads of the same source. Those that ran at the same time share the limits.
    pub others: Vec<&'a Observation>,
    /// The other loads at twice the depth.
    pub others_deeper: Vec<&'a Observation>,
    /// The same load at another rate on the same device in its initial state. The time of its step
    /// shows the cause.
    pub other_rate: Option<&'a Observation>,
    /// The disk provider's own counters.
    pub volumes: Vec<VolumeUse>,
    /// The duration of the provider's counters.
    pub window_ns: Nanos,
    /// Known burst credits of the layers.
    pub bursts: Vec<KnownBurst>,
    /// Operations per second in each whole second of the warm-up.
    pub warm_up_rates: Vec<f64>,
    /// The network between machine and storage, if there is one.
    pub network: Option<Network>,
    /// Temperature of the device.
    pub temperature: Option<Temperature>,
    /// Mean latency of one operation at a time, if measured.
    pub unloaded_ns: Option<f64>,
    /// The workers use a whole processor by design, because they poll.
    pub polls: bool,
    /// The test measured until it met its steady-state rule.
    pub awaits_steady_state: bool,
    /// The load waits for flushes, which empty the queue but count in no latency.
    pub flushes: bool,
    /// The test was to be repeated at twice the depth. Advice to do that would lead in a circle.
    pub tried_twice_the_depth: bool,
    /// The question to answer.
    pub question: Question,
}

/// The question that a diagnosis answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// The limit of the load.
    #[default]
    Limit,
    /// The cause of a missed rate. `fathom verify` asks this, and measures at only one depth.
    MissedRate,
    /// The cause of an exceeded latency limit. The rate was met, so it is not an explanation.
    MissedLatency,
}

/// Credits of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownBurst {
    /// Name of the layer with the credits.
    pub layer: String,
    /// The unit of the credits.
    pub counts: Counts,
    /// Per second, while credits last.
    pub ceiling: f64,
    /// Per second, sustained: the refill of the bucket.
    pub refill: f64,
    /// Credits of a full bucket.
    pub bucket: f64,
}

/// The unit of credits or limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Operations.
    Operations,
    /// Bytes.
    Bytes,
}

/// Network figures of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Share of the link's speed that was used, in the busier direction.
    pub link_share: Option<f64>,
    /// Packets or frames that were lost or retransmitted.
    pub losses: Option<u64>,
}

/// A device's temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// The highest temperature, in degrees Celsius.
    pub highest: f64,
    /// The temperature from which the device throttles.
    pub limit: f64,
}

/// What a repetition at twice the depth adds to the name of its job.
pub const TWICE_THE_DEPTH: &str = ", twice the depth";

impl Context<'_> {
    /// The facts in the saved results of a job.
    pub fn for_job(results: &Results, step: usize, job: usize) -> Context<'static> {
        let mut context = Context::default();
        let planned = results.plan.steps.get(step).and_then(|step| step.jobs.get(job));
        if let Some(planned) = planned {
            let repetition = planned.name.clone() + TWICE_THE_DEPTH;
            let mut jobs = results.plan.steps.iter().flat_map(|step| &step.jobs);
            context.tried_twice_the_depth =
                planned.name.ends_with(TWICE_THE_DEPTH) || jobs.any(|job| job.name == repetition);
            context.awaits_steady_state = planned.awaits_steady_state();
            context.flushes = flushes(planned);
            context.polls = polls(planned);
        }
        if let Some(step_results) = results.steps.get(step) {
            context.warm_up_rates = step_results.jobs.get(job).map(warm_up_rates).unwrap_or_default();
            context.volumes = step_results.volumes.iter().map(|entry| entry.volume.clone()).collect();
            context.window_ns = step_results.observed_ns;
            // Simulated engines do not show how a device uses the processor.
            context.polls |= step_results.jobs.get(job).is_some_and(|job| {
                let kinds = job.workers.iter().map(|worker| worker.engine.kind);
                kinds.into_iter().any(EngineKind::simulates_io)
            });
        }
        context
    }
}

/// Operations per second in each whole second of the warm-up.
fn warm_up_rates(job: &JobResults) -> Vec<f64> {
    let (mut rates, mut operations, mut length) = (Vec::new(), 0.0, 0.0);
    for interval in job.around.iter().filter(|interval| interval.phase == Phase::WarmUp) {
        operations += interval
            .counts
            .iter()
            .map(|(_, counts)| counts.operations as f64)
            .sum::<f64>();
        length += interval.length_ns.as_secs();
        if length >= 0.999 {
            rates.push(operations / length);
            (operations, length) = (0.0, 0.0);
        }
    }
    rates
}

fn flushes(job: &Job) -> bool {
    let streams = job.workers.iter().flat_map(|worker| &worker.streams);
    streams.into_iter().any(|stream| {
        let sync = &stream.sync;
        sync.every_writes > 0 || sync.data_every_writes > 0 || sync.file_range.is_some()
    })
}

fn polls(job: &Job) -> bool {
    job.workers.iter().any(|worker| {
        let engine = &worker.engine;
        engine.poll || engine.submission_thread || worker.batching.complete_min == Some(0)
    })
}
