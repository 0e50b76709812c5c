//! What is known beside the observation and the layers.

use model::Nanos;
use model::environment::VolumeUse;
use model::observation::Observation;
use model::plan::{EngineKind, Job};
use model::results::Results;

/// What is known beside the observation and the layers. Everything may be absent.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// The same load at another depth.
    pub deeper: Option<&'a Observation>,
    /// The other loads of the same source: those that ran at the same time share its limits.
    pub others: Vec<&'a Observation>,
    /// The same loads at twice the depth.
    pub others_deeper: Vec<&'a Observation>,
    /// The same load on the same fresh device at another rate, from its start: when a step comes
    /// there tells its cause.
    pub other_rate: Option<&'a Observation>,
    /// What the provider of the disks counted, and over which time.
    pub volumes: Vec<VolumeUse>,
    /// That time.
    pub window_ns: Nanos,
    /// Credits that layers are known to have.
    pub bursts: Vec<KnownBurst>,
    /// The network between machine and storage, where there is one.
    pub network: Option<Network>,
    /// How hot the device became.
    pub temperature: Option<Temperature>,
    /// Mean latency of one operation at a time, where it was measured.
    pub unloaded_ns: Option<f64>,
    /// The workers take a whole processor by design: they poll.
    pub polls: bool,
    /// The load stops for flushes, which hold up the queue and are in no latency.
    pub flushes: bool,
    /// What the answer is for.
    pub question: Question,
}

/// What a diagnosis is to explain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// What limits the load.
    #[default]
    Limit,
    /// Why a promised rate was not reached. `fathom verify` asks it, which has no second depth to
    /// offer.
    MissedRate,
    /// Why a latency is beyond its limit although the rate was kept: the rate itself explains
    /// nothing.
    MissedLatency,
}

/// Credits of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownBurst {
    /// The layer.
    pub layer: String,
    /// What is counted.
    pub counts: Counts,
    /// Per second, as long as there are credits.
    pub ceiling: f64,
    /// Per second, for ever: what refills the bucket.
    pub refill: f64,
    /// Credits of a full bucket.
    pub bucket: f64,
}

/// What credits or limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Operations.
    Operations,
    /// Bytes.
    Bytes,
}

/// A network over the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Share of the link's speed that was used, in the busier direction.
    pub link_share: Option<f64>,
    /// Packets or frames that were lost or sent again.
    pub losses: Option<u64>,
}

/// A device's temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// The highest seen, in degrees Celsius.
    pub highest: f64,
    /// From which on it slows down.
    pub limit: f64,
}

impl Context<'_> {
    /// What the results tell of a job.
    pub fn for_job(results: &Results, step: usize, job: usize) -> Context<'static> {
        let mut context = Context::default();
        let asked = results.plan.steps.get(step).and_then(|step| step.jobs.get(job));
        if let Some(asked) = asked {
            context.flushes = flushes(asked);
            context.polls = polls(asked);
        }
        if let Some(found) = results.steps.get(step) {
            context.volumes = found.volumes.iter().map(|entry| entry.volume.clone()).collect();
            context.window_ns = found.observed_ns;
            // Neither takes processor time that would say anything about a device.
            context.polls |= found.jobs.get(job).is_some_and(|job| {
                let kinds = job.workers.iter().map(|worker| worker.engine.kind);
                kinds.into_iter().any(EngineKind::pretends)
            });
        }
        context
    }
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
