//! Workers that do the same. A plan lists every worker; the dialects write one and say how many of
//! them there are.

use model::Nanos;
use model::draws::DrawsForm;
use model::plan::{Depth, Job, Pacing, Region, StreamTarget, TargetId, Worker};

/// Workers of a job that are alike, one after the other.
#[derive(Clone, Debug)]
pub(super) struct WorkerGroup<'a> {
    pub(super) job: &'a Job,
    pub(super) workers: Vec<&'a Worker>,
}

/// In what workers that are alike may differ, beside seed, processor and the place in a common
/// schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Apart {
    /// Each has a region of its own.
    pub(super) regions: bool,
    /// What does not divide evenly of a common depth makes a difference of one.
    pub(super) depths: bool,
    /// Each begins somewhere else in a common region.
    pub(super) starts: bool,
}

/// The groups of a job.
pub(super) fn worker_groups(job: &Job, apart: Apart) -> Vec<WorkerGroup<'_>> {
    let mut worker_groups: Vec<WorkerGroup<'_>> = Vec::new();
    let mut last: Option<Worker> = None;
    for worker in &job.workers {
        let like = likeness(worker, apart);
        match (&last, worker_groups.last_mut()) {
            (Some(before), Some(group)) if *before == like => group.workers.push(worker),
            _ => worker_groups.push(WorkerGroup {
                job,
                workers: vec![worker],
            }),
        }
        last = Some(like);
    }
    worker_groups
}

/// The worker without what may differ.
pub(super) fn likeness(worker: &Worker, apart: Apart) -> Worker {
    let mut like = worker.clone();
    like.draws = DrawsForm::Native { seed: 0 };
    like.placement.cpus = Vec::new();
    if apart.depths {
        like.depth = match like.depth {
            Depth::PerStream => Depth::PerStream,
            Depth::Shared { operations: _ } => Depth::Shared { operations: 0 },
            alternatives @ Depth::PerTarget { .. } => alternatives,
        };
    }
    for stream in &mut like.streams {
        if let Pacing::Together { rate } = &mut stream.pacing {
            rate.phase_ns = Nanos(0);
        }
        if apart.regions {
            stream.region = Region::default();
        }
        if apart.depths {
            stream.depth = 0;
        }
        for access in stream.pattern.access.iter_mut().filter(|_| apart.starts) {
            access.clear_start();
        }
    }
    like
}

impl<'a> WorkerGroup<'a> {
    /// The first worker, which stands for the others.
    pub(super) fn worker(&self) -> &'a Worker {
        self.workers[0]
    }

    /// The same workers, each for itself.
    pub(super) fn apart(&self) -> Vec<WorkerGroup<'a>> {
        let one = |worker: &&'a Worker| WorkerGroup {
            job: self.job,
            workers: vec![*worker],
        };
        self.workers.iter().map(one).collect()
    }

    /// Every target of the worker's streams, each once, in order.
    pub(super) fn targets(&self) -> Vec<TargetId> {
        let mut ids: Vec<TargetId> = Vec::new();
        for id in self.worker().streams.iter().flat_map(|stream| stream.target.ids()) {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    /// The processors of its workers if each has one; those of the first otherwise.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let lists = || self.workers.iter().map(|worker| &worker.placement.cpus);
        match lists().all(|list| list.len() == 1) {
            true => lists().flatten().copied().collect(),
            false => self.worker().placement.cpus.clone(),
        }
    }

    /// Streams by target, where every target has the same ones: those of the first target stand for
    /// all.
    pub(super) fn is_a_product(&self) -> bool {
        let streams = &self.worker().streams;
        if streams.len() > 1
            && streams
                .iter()
                .any(|stream| matches!(stream.target, StreamTarget::Files { .. }))
        {
            return false;
        }
        let per_target = streams.len() / self.targets().len().max(1);
        if matches!(streams[0].target, StreamTarget::Files { .. }) {
            return true;
        }
        if per_target * self.targets().len() != streams.len() {
            return false;
        }
        let like = likeness(
            self.worker(),
            Apart {
                regions: false,
                depths: false,
                starts: false,
            },
        );
        let mut groups = like.streams.chunks(per_target);
        let neutral = |streams: &[model::plan::Stream]| {
            let mut streams = streams.to_vec();
            for stream in &mut streams {
                stream.target = StreamTarget::One { target: TargetId(0) };
            }
            streams
        };
        let of_one = |streams: &[model::plan::Stream]| streams.iter().all(|stream| stream.target == streams[0].target);
        let first = groups.next().map(neutral);
        like.streams.chunks(per_target).all(of_one) && groups.all(|group| Some(neutral(group)) == first)
    }
}

/// Names that are not there yet.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The name, with a number behind it where it is taken.
    pub(super) fn take(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name} {number}"));
        let free = std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !self.0.contains(name));
        let name = free.unwrap_or_default();
        self.0.push(name.clone());
        name
    }
}
