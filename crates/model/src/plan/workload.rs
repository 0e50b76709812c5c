//! A compact description of a workload, from which a job is built. The native dialect and the
//! studies use it. Other dialects multiply threads differently and build jobs directly.

use super::{
    Batching, CacheMode, Control, DepthScope, EngineChoice, ErrorPolicy, Extent, Job, Pacing, Pattern, Phases, Rate,
    Region, Stop, Stream, StreamTarget, SyncRule, TargetId, Think, ThreadPlacement, Worker,
};
use crate::access::{Access, Placement};
use crate::block_size::BlockSizes;
use crate::content::Content;
use crate::direction::PerDirection;
use crate::draws::{GeneratorChoice, split_mix};
use crate::mix::Mix;
use crate::units::Bytes;

/// The load of a job, before it is divided among workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Shown in reports.
    pub name: String,
    /// Targets; each worker uses all of them.
    pub targets: Vec<TargetId>,
    /// Kinds of operation, with their shares; most workloads have one.
    pub parts: Vec<WorkloadPart>,
    /// Threads.
    pub workers: u32,
    /// Operations in flight.
    pub depth: u32,
    /// The scope of the depth.
    pub depth_per: DepthPer,
    /// The size of the used part of each target.
    pub size: Option<Bytes>,
    /// The offset of the used part of each target.
    pub offset: Bytes,
    /// Caches.
    pub cache: CacheMode,
    /// Flushes.
    pub sync: SyncRule,
    /// The schedule of the whole job.
    pub rate: Option<Rate>,
    /// Pauses.
    pub think: Option<Think>,
    /// How operations reach the kernel.
    pub engine: EngineChoice,
    /// How many operations are submitted and reaped at a time.
    pub batching: Batching,
    /// CPUs for the threads, round-robin. Empty: no binding.
    pub cpus: Vec<u32>,
    /// Phases.
    pub phases: Phases,
    /// The stop conditions.
    pub stop: Stop,
    /// Rules that stop the job or set its depth while it runs.
    pub control: Vec<Control>,
    /// Error numbers of failures to tolerate.
    pub tolerate: Vec<i32>,
    /// Seed of the plan.
    pub seed: u64,
}

/// One kind of operation of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPart {
    /// Share of the operations.
    pub weight: u32,
    /// Where operations go.
    pub access: Access,
    /// Read or write.
    pub mix: Mix,
    /// Their lengths.
    pub sizes: BlockSizes,
    /// Positions are multiples of this; 0 means the shortest length.
    pub alignment: Bytes,
    /// Contents of writes.
    pub content: Content,
}

/// The scope of a workload's queue depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthPer {
    /// Each worker, over all its targets.
    #[default]
    Worker,
    /// Each target of each worker.
    Target,
    /// The job: it is divided among the workers.
    Job,
}

impl Workload {
    /// Random reads of 4 KiB bypassing the page cache, one at a time.
    pub fn new(name: &str, targets: Vec<TargetId>, stop: Stop) -> Workload {
        Workload {
            name: name.into(),
            targets,
            parts: vec![WorkloadPart::default()],
            workers: 1,
            depth: 1,
            depth_per: DepthPer::Worker,
            size: None,
            offset: Bytes(0),
            cache: CacheMode::DIRECT,
            sync: SyncRule::default(),
            rate: None,
            think: None,
            engine: EngineChoice::default(),
            batching: Batching::default(),
            cpus: Vec::new(),
            phases: Phases::default(),
            stop,
            control: Vec::new(),
            tolerate: Vec::new(),
            seed: 1,
        }
    }

    /// Builds the job. `first` is the plan-wide number of its first worker, so that all workers
    /// make different random decisions.
    pub fn build_job(&self, first: u32) -> Job {
        let workers = (0..self.workers)
            .map(|index| self.build_worker(index, first + index))
            .collect();
        Job {
            name: self.name.clone(),
            phases: self.phases,
            stop: self.stop_of_worker(),
            control: self.control.clone(),
            workers,
            ..Job::default()
        }
    }

    /// The stop rule of a worker: its share of the job's operations and bytes, rounded up.
    fn stop_of_worker(&self) -> Stop {
        let share = |total: u64| total.div_ceil(u64::from(self.workers.max(1)));
        Stop {
            operations: self.stop.operations.map(share),
            bytes: self.stop.bytes.map(|bytes| Bytes(share(bytes.0))),
            ..self.stop
        }
    }

    fn build_worker(&self, index: u32, number: u32) -> Worker {
        // A paced stream needs a rate above 0, so parts of weight 0 are left out.
        let parts = || self.parts.iter().filter(|part| part.weight > 0 || self.rate.is_none());
        let weights: u64 = parts().map(|part| u64::from(part.weight)).sum();
        let is_even = parts().all(|part| u64::from(part.weight) * parts().count() as u64 == weights);
        let targets = self.targets.len() as u32;
        let mut streams = Vec::new();
        for target in &self.targets {
            for part in parts() {
                let rate = self.rate.map(|rate| {
                    let position = streams.len() as u32 * self.workers + index;
                    match is_even {
                        true => rate.share(position, self.workers * targets * parts().count() as u32),
                        false => rate
                            .share(position, self.workers * targets)
                            .weighted(part.weight, weights),
                    }
                });
                streams.push(self.build_stream(part, *target, index, rate));
            }
        }
        let depth = match self.depth_per {
            DepthPer::Target => DepthScope::PerStream,
            DepthPer::Worker if streams.len() == 1 => DepthScope::PerStream,
            DepthPer::Worker => DepthScope::Shared { operations: self.depth },
            DepthPer::Job => {
                // The first workers receive the remainder.
                let (quotient, remainder) = (self.depth / self.workers.max(1), self.depth % self.workers.max(1));
                let share = (quotient + u32::from(index < remainder)).max(1);
                streams.iter_mut().for_each(|stream| stream.depth = share);
                if streams.len() == 1 {
                    DepthScope::PerStream
                } else {
                    DepthScope::Shared { operations: share }
                }
            }
        };
        let cpus = match self.cpus.len() {
            0 => Vec::new(),
            count => vec![self.cpus[index as usize % count]],
        };
        Worker {
            engine: self.engine.clone(),
            depth,
            batching: self.batching,
            draws: GeneratorChoice::Native {
                seed: split_mix(self.seed, u64::from(number) + 1),
            },
            placement: ThreadPlacement {
                cpus,
                ..ThreadPlacement::default()
            },
            streams,
            ..Worker::default()
        }
    }

    fn build_stream(&self, part: &WorkloadPart, target: TargetId, index: u32, rate: Option<Rate>) -> Stream {
        Stream {
            target: StreamTarget::One { target },
            region: self.region(part, index),
            mix: part.mix,
            pattern: Pattern {
                access: vec![part.access.clone()],
                sizes: PerDirection::all(part.sizes.clone()),
                alignment: PerDirection::all(part.alignment),
                ..Pattern::default()
            },
            content: part.content.clone(),
            cache: self.cache,
            sync: self.sync,
            pacing: rate.map_or(Pacing::Unpaced, |rate| Pacing::Together { rate }),
            think: self.think,
            depth: self.depth,
            weight: part.weight,
            on_error: ErrorPolicy {
                tolerate_read: self.tolerate.clone(),
                tolerate_write: self.tolerate.clone(),
                ..ErrorPolicy::default()
            },
            ..Stream::default()
        }
    }

    /// The region of a worker. Workers divide the target if access is sequential or visits each
    /// block once; otherwise each uses all of it.
    fn region(&self, part: &WorkloadPart, index: u32) -> Region {
        let divided = match &part.access {
            Access::Sequential(_)
            | Access::Random {
                placement: Placement::Once(_),
            } => self.workers > 1,
            _ => false,
        };
        let align = part.alignment.0.max(part.sizes.max().0);
        if !divided {
            return Region {
                base: Extent::bytes(self.offset.0),
                length: self.size.map(|size| Extent::bytes(size.0)),
            };
        }
        let (index, workers) = (u64::from(index), u64::from(self.workers));
        match self.size {
            Some(size) => {
                let edge = |part: u64| {
                    let edge = (u128::from(size.0) * u128::from(part) / u128::from(workers)) as u64;
                    edge - edge % align
                };
                let (from, to) = (edge(index), edge(index + 1));
                Region::new(Extent::bytes(self.offset.0 + from), Some(Extent::bytes(to - from)))
            }
            None => {
                let share = |parts: u64| Extent {
                    percent: 100.0 * parts as f64 / workers as f64,
                    align,
                    ..Extent::default()
                };
                Region {
                    base: Extent {
                        bytes: self.offset,
                        ..share(index)
                    },
                    length: Some(share(1)),
                }
            }
        }
    }
}

impl Default for WorkloadPart {
    fn default() -> Self {
        WorkloadPart {
            weight: 1,
            access: Access::default(),
            mix: Mix::READS,
            sizes: BlockSizes::default(),
            alignment: Bytes(0),
            content: Content::Fresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Sequential;
    use crate::units::Nanos;

    fn workload() -> Workload {
        Workload::new("test", vec![TargetId(0)], Stop::after(Nanos::secs(1)))
    }

    #[test]
    fn sequential_workers_tile_the_target() {
        for (size, workers) in [(Some(Bytes::mib(10)), 3), (None, 7), (None, 2)] {
            let mut walk = Workload {
                size,
                workers,
                ..workload()
            };
            walk.parts[0].access = Access::Sequential(Sequential::default());
            walk.parts[0].sizes = BlockSizes::Fixed { size: Bytes::kib(64) };
            let target = Bytes::mib(10).0;
            let job = walk.build_job(0);
            let areas: Vec<_> = job
                .workers
                .iter()
                .map(|worker| worker.streams[0].region.resolve(target))
                .collect();
            assert_eq!(areas[0].0, 0);
            for pair in areas.windows(2) {
                let (end, next) = (pair[0].0 + pair[0].1, pair[1].0);
                assert!(end <= next && next - end < 65_536 * 2, "{areas:?}");
            }
            assert!(areas.iter().all(|(base, _)| base.is_multiple_of(65_536)));
        }
    }

    #[test]
    fn depth_and_rate_of_the_job_are_divided_exactly() {
        let shared = Workload {
            depth: 10,
            depth_per: DepthPer::Job,
            workers: 4,
            rate: Some(Rate::iops(1000)),
            ..workload()
        };
        let job = shared.build_job(0);
        assert_eq!(job.depth(), 10);
        let rates = job.workers.iter().map(|worker| match worker.streams[0].pacing {
            Pacing::Together { rate } => rate.per_second(),
            _ => 0.0,
        });
        assert!((rates.sum::<f64>() - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn parts_divide_the_rate_by_their_shares() {
        let part = |weight| WorkloadPart {
            weight,
            ..WorkloadPart::default()
        };
        let job = Workload {
            parts: vec![part(60), part(0), part(40)],
            workers: 2,
            rate: Some(Rate::iops(500)),
            ..workload()
        }
        .build_job(0);
        let rates = job.workers.iter().flat_map(|worker| &worker.streams);
        let rates = rates.map(|stream| match stream.pacing {
            Pacing::Together { rate } => rate.per_second(),
            _ => 0.0,
        });
        assert_eq!(rates.collect::<Vec<_>>(), [150.0, 100.0, 150.0, 100.0]);
    }

    #[test]
    fn several_targets_share_the_depth_of_a_worker() {
        let both = Workload {
            targets: vec![TargetId(0), TargetId(1)],
            depth: 8,
            ..workload()
        };
        assert_eq!(both.build_job(0).workers[0].depth, DepthScope::Shared { operations: 8 });
        let workload = Workload {
            depth_per: DepthPer::Target,
            ..both
        };
        assert_eq!(workload.build_job(0).depth(), 16);
    }

    #[test]
    fn all_workers_draw_different_numbers() {
        let many = Workload {
            workers: 100,
            ..workload()
        };
        let seeds: std::collections::HashSet<_> = many
            .build_job(3)
            .workers
            .iter()
            .map(|w| format!("{:?}", w.draws))
            .collect();
        assert_eq!(seeds.len(), 100);
    }
}
