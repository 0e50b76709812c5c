//! Groups of equal workers. A plan lists every worker; a dialect writes one, with a count.

use std::collections::{HashMap, HashSet};

use model::Nanos;
use model::draws::GeneratorChoice;
use model::plan::{DepthScope, Job, Pacing, Region, Stream, StreamTarget, TargetId, Worker};

/// Consecutive equal workers of a job.
#[derive(Clone, Debug)]
pub(super) struct WorkerGroup<'a> {
    pub(super) job: &'a Job,
    pub(super) workers: Vec<&'a Worker>,
}

/// Differences that workers of a group may have, in addition to seed, CPU and position in a shared
/// schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AllowedDifferences {
    /// Each worker has its own region.
    pub(super) regions: bool,
    /// Depths may differ by one, if a shared depth does not divide evenly.
    pub(super) depths: bool,
    /// Each worker starts at another position of a shared region.
    pub(super) starts: bool,
}

/// Groups the workers of a job.
pub(super) fn worker_groups(job: &Job, allowed: AllowedDifferences) -> Vec<WorkerGroup<'_>> {
    let mut worker_groups: Vec<WorkerGroup<'_>> = Vec::new();
    let mut last: Option<Worker> = None;
    for worker in &job.workers {
        let like = without_differences(worker, allowed);
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

/// A copy of the worker without the allowed differences.
pub(super) fn without_differences(worker: &Worker, allowed: AllowedDifferences) -> Worker {
    let mut like = worker.clone();
    like.draws = GeneratorChoice::Native { seed: 0 };
    like.placement.cpus = Vec::new();
    if allowed.depths {
        like.depth = match like.depth {
            DepthScope::PerStream => DepthScope::PerStream,
            DepthScope::Shared { operations: _ } => DepthScope::Shared { operations: 0 },
            alternatives @ DepthScope::PerTarget { .. } => alternatives,
        };
    }
    for stream in &mut like.streams {
        if let Pacing::Together { rate } = &mut stream.pacing {
            rate.phase_ns = Nanos(0);
        }
        if allowed.regions {
            stream.region = Region::default();
        }
        if allowed.depths {
            stream.depth = 0;
        }
        for access in stream.pattern.access.iter_mut().filter(|_| allowed.starts) {
            access.clear_start();
        }
    }
    like
}

impl<'a> WorkerGroup<'a> {
    /// The first worker, as the example of all.
    pub(super) fn worker(&self) -> &'a Worker {
        self.workers[0]
    }

    /// A group for each worker.
    pub(super) fn single_workers(&self) -> Vec<WorkerGroup<'a>> {
        let group_of = |worker: &&'a Worker| WorkerGroup {
            job: self.job,
            workers: vec![*worker],
        };
        self.workers.iter().map(group_of).collect()
    }

    /// The distinct targets of the worker's streams, in order.
    pub(super) fn targets(&self) -> Vec<TargetId> {
        let mut ids: Vec<TargetId> = Vec::new();
        for id in self.worker().streams.iter().flat_map(|stream| stream.target.ids()) {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    /// The CPUs of all workers if each has one CPU, else the CPUs of the first worker.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let lists = || self.workers.iter().map(|worker| &worker.placement.cpus);
        match lists().all(|list| list.len() == 1) {
            true => lists().flatten().copied().collect(),
            false => self.worker().placement.cpus.clone(),
        }
    }

    /// True if every target has the same streams, grouped by target.
    pub(super) fn has_same_streams_per_target(&self) -> bool {
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
        let like = without_differences(self.worker(), AllowedDifferences::default());
        let mut groups = like.streams.chunks(per_target);
        let neutral = |streams: &[Stream]| {
            let mut streams = streams.to_vec();
            for stream in &mut streams {
                stream.target = StreamTarget::One { target: TargetId(0) };
            }
            streams
        };
        let has_one_target = |streams: &[Stream]| streams.iter().all(|stream| stream.target == streams[0].target);
        let first = groups.next().map(neutral);
        like.streams.chunks(per_target).all(has_one_target) && groups.all(|group| Some(neutral(group)) == first)
    }
}

/// Unique names.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The next number for each name. Names are never freed, so smaller numbers stay taken.
    next: HashMap<String, u64>,
    /// Names that were tried.
    #[cfg(test)]
    tries: usize,
}

impl Names {
    /// Returns the name, with a number appended if it is taken.
    pub(super) fn take(&mut self, name: &str) -> String {
        if self.claim(name) {
            return name.to_owned();
        }
        loop {
            let next = self.next.entry(name.to_owned()).or_insert(2);
            let numbered = format!("{name} {next}");
            *next += 1;
            if self.claim(&numbered) {
                return numbered;
            }
        }
    }

    /// Takes a name; false if it is taken already.
    fn claim(&mut self, name: &str) -> bool {
        #[cfg(test)]
        {
            self.tries += 1;
        }
        self.taken.insert(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_equal_names_take_linear_time() {
        const COUNT: usize = 4096;
        let mut names = Names::default();
        assert_eq!(names.take("job 3"), "job 3");
        let taken: Vec<String> = (0..COUNT).map(|_| names.take("job")).collect();
        assert_eq!(taken[..4], ["job", "job 2", "job 4", "job 5"]);
        assert!(names.tries <= 2 * COUNT + 2, "{} names were tried", names.tries);
    }
}
