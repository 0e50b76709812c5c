//! Splits a plan into sections of a job file: clones with one stream each.

use model::Bytes;
use model::plan::{Dependency, DepthScope, Extent, FileService, Job, Plan, Region, Step, Stream, StreamTarget, Worker};

use crate::convert::shares;
use crate::convert::worker_groups::{AllowedDifferences, Names, WorkerGroup, worker_groups};
use crate::fio::print::increment;

/// Returns a plan with a job for each section, whose workers have one stream each.
pub(super) fn split_into_sections(plan: &Plan) -> Plan {
    let mut sections = Sections {
        plan,
        names: Names::default(),
    };
    let steps = plan.steps.iter().map(|step| sections.step(step)).collect();
    Plan { steps, ..plan.clone() }
}

struct Sections<'a> {
    plan: &'a Plan,
    names: Names,
}

impl Sections<'_> {
    fn step(&mut self, step: &Step) -> Step {
        // The last section of each job, for jobs that depend on it.
        let mut last_of: Vec<u32> = Vec::new();
        let mut sections: Vec<Job> = Vec::new();
        for job in &step.jobs {
            sections.extend(self.job(job, &last_of));
            last_of.push(sections.len() as u32 - 1);
        }
        let all: Vec<u32> = (0..sections.len() as u32).collect();
        for section in &mut sections {
            for list in [&mut section.ends_with.jobs, &mut section.ends_with.on_failure] {
                if !list.is_empty() {
                    list.clone_from(&all);
                }
            }
        }
        Step {
            jobs: sections,
            ..step.clone()
        }
    }

    /// Splits a job into sections. A section can name one dependency: the last.
    fn job(&mut self, job: &Job, last_of: &[u32]) -> Vec<Job> {
        let allowed = AllowedDifferences {
            regions: true,
            depths: false,
            starts: true,
        };
        let mut all: Vec<Vec<Worker>> = Vec::new();
        for group in worker_groups(job, allowed) {
            all.extend(self.clone_groups(&group));
        }
        let several = all.len() > 1;
        let last = job.after.last().and_then(|after| last_of.get(after.0 as usize));
        let sections = all.into_iter().enumerate().map(|(index, workers)| {
            let name = section_name(&job.name);
            let name = match several {
                true => format!("{name} {}", index + 1),
                false => name,
            };
            Job {
                name: self.names.take(&name),
                after: last.copied().map(Dependency).into_iter().collect(),
                workers,
                ..job.clone()
            }
        });
        sections.collect()
    }

    /// The clones for a group of workers: one section if clones can have the workers' regions, else
    /// a section for each worker.
    fn clone_groups(&mut self, group: &WorkerGroup<'_>) -> Vec<Vec<Worker>> {
        let mut groups: Vec<Vec<Worker>> = Vec::new();
        for worker in &group.workers {
            let streams = streams(group, worker);
            groups.resize_with(groups.len().max(streams.len()), Vec::new);
            for (group, stream) in groups.iter_mut().zip(streams) {
                group.push(Worker {
                    streams: vec![self.with_whole_region(stream)],
                    ..(*worker).clone()
                });
            }
        }
        let spread = groups.into_iter().flat_map(|group| match increment(&group).is_some() {
            true => vec![group],
            false => group.into_iter().map(|worker| vec![worker]).collect(),
        });
        spread.collect()
    }

    /// Converts a region to bytes or whole percents, as fio needs.
    fn with_whole_region(&self, stream: Stream) -> Stream {
        let first = stream.target.ids().first();
        let size = first.and_then(|id| self.plan.target(*id).prepare.size());
        let whole = |extent| whole_extent(extent, size);
        Stream {
            region: Region {
                base: whole(stream.region.base),
                length: stream.region.length.map(whole),
            },
            ..stream
        }
    }
}

/// The streams of a worker for clones: targets that share a depth become one file set.
fn streams(group: &WorkerGroup<'_>, worker: &Worker) -> Vec<Stream> {
    let targets = group.targets();
    let product = group.has_same_streams_per_target() && worker.streams.len() == targets.len() && targets.len() > 1;
    let even = worker
        .streams
        .iter()
        .all(|stream| stream.weight == worker.streams[0].weight);
    let one_stream = worker.streams.len() == 1;
    if !product || one_stream || !even {
        let weights: u32 = worker.streams.iter().map(|stream| stream.weight).sum();
        let depth = |stream: &Stream| match worker.depth {
            DepthScope::PerStream => stream.depth,
            DepthScope::PerTarget { alternatives } => (stream.depth / alternatives.max(1)).max(1),
            DepthScope::Shared { operations } if one_stream => operations,
            DepthScope::Shared { operations } => {
                let share = u64::from(operations) * u64::from(stream.weight) / u64::from(weights.max(1));
                u32::try_from(share).unwrap_or(u32::MAX).max(1)
            }
        };
        let streams = worker.streams.iter().map(|stream| Stream {
            depth: depth(stream),
            ..stream.clone()
        });
        return streams.collect();
    }
    let (service, depth) = match worker.depth {
        DepthScope::Shared { operations } => (FileService::Random, operations),
        DepthScope::PerStream | DepthScope::PerTarget { .. } => (FileService::RoundRobin, worker.slots()),
    };
    vec![Stream {
        target: StreamTarget::Files {
            open_at_once: targets.len() as u32,
            targets,
            service,
            operations: 1,
        },
        depth,
        pacing: shares::multiply_pacing(&worker.streams[0], worker.streams.len() as u64),
        ..worker.streams[0].clone()
    }]
}

/// Converts an extent to bytes, or to whole percents of the file.
fn whole_extent(extent: Extent, size: Option<Bytes>) -> Extent {
    match (extent.percent, size) {
        (0.0, _) => extent,
        (percent, _) if percent.fract() == 0.0 && extent.bytes.0 == 0 => extent,
        (_, Some(size)) => Extent::bytes(extent.resolve(size.0)),
        (percent, None) => Extent {
            bytes: Bytes(0),
            percent: percent.round(),
            ..extent
        },
    }
}

/// Removes characters that end a section name: brackets and comment signs.
fn section_name(name: &str) -> String {
    let kept: String = name
        .chars()
        .map(|letter| match letter {
            '[' | ']' | ';' | '#' | '$' => '_',
            control if control.is_control() => '_',
            letter => letter,
        })
        .collect();
    match kept.trim() {
        "" => "job".into(),
        name if name.starts_with("global") => format!("job {name}"),
        name => name.to_owned(),
    }
}
