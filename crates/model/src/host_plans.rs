//! Separate plans for several hosts, executed together. The plans are merged into one, and its
//! results are split by host again. Steps with the same number run side by side: all hosts begin
//! each step together.

use crate::fleet::shift_targets;
use crate::plan::{Plan, Step, TargetId};
use crate::results::{HostDeviceUse, HostResults, JobResults, Results, StepResults};

/// A plan for each host, in the order of their ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPlans {
    plans: Vec<Plan>,
}

impl HostPlans {
    /// Takes the plans, without unused targets.
    pub fn new(mut plans: Vec<Plan>) -> HostPlans {
        for plan in &mut plans {
            plan.retain_targets(&plan.used_targets());
        }
        HostPlans { plans }
    }

    /// The plan of each host.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Merges the plans into one. `%` in names is escaped, because these plans have no
    /// placeholders.
    pub fn merge(&self) -> Plan {
        let Some(first) = self.plans.first() else {
            return Plan::default();
        };
        let mut merged = Plan {
            targets: Vec::new(),
            prepare_once: Vec::new(),
            steps: Vec::new(),
            groups: Vec::new(),
            ..first.clone()
        };
        merged.origin.profile = self.plans.iter().flat_map(|plan| plan.origin.profile.clone()).collect();
        merged.steps.resize_with(self.step_count(), Step::default);
        for (rank, plan) in self.plans.iter().enumerate() {
            let shift = merged.targets.len() as u32;
            merged.targets.extend(plan.targets.iter().cloned().map(|mut target| {
                if target.kind.has_name() {
                    target.path = target.path.replace('%', "%%");
                }
                target
            }));
            let shifted = plan.prepare_once.iter().map(|id| TargetId(id.0 + shift));
            merged.prepare_once.extend(shifted);
            for grid in &plan.grids {
                if !merged.grids.contains(grid) {
                    merged.grids.push(*grid);
                }
            }
            for (step, into) in plan.steps.iter().zip(&mut merged.steps) {
                let before = into.jobs.len() as u32;
                into.prepare = into.prepare.or(step.prepare);
                for job in &step.jobs {
                    let mut job = job.clone();
                    job.hosts = vec![rank.to_string()];
                    job.after.iter_mut().for_each(|dependency| dependency.0 += before);
                    for list in [&mut job.ends_with.jobs, &mut job.ends_with.on_failure] {
                        list.iter_mut().for_each(|index| *index += before);
                    }
                    for stream in job.workers.iter_mut().flat_map(|worker| &mut worker.streams) {
                        shift_targets(&mut stream.target, shift);
                    }
                    into.jobs.push(job);
                }
            }
            for group in &plan.groups {
                let mut group = group.clone();
                for (step, job) in &mut group.jobs {
                    *job += self.jobs_before(rank, *step as usize);
                }
                merged.groups.push(group);
            }
        }
        self.merge_recorded_options(&mut merged);
        merged
    }

    fn step_count(&self) -> usize {
        self.plans.iter().map(|plan| plan.steps.len()).max().unwrap_or(0)
    }

    /// Number of jobs of a step that belong to lower ranks.
    fn jobs_before(&self, rank: usize, step: usize) -> u32 {
        let jobs_of = |plan: &Plan| plan.steps.get(step).map_or(0, |step| step.jobs.len());
        self.plans[..rank].iter().map(jobs_of).sum::<usize>() as u32
    }

    /// Merges the recorded user options, in job order. The name of a report setting for a single
    /// job ends in that job's number.
    fn merge_recorded_options(&self, merged: &mut Plan) {
        let origin = &mut merged.origin;
        let numbered = |name: &str| {
            let (name, number) = name.rsplit_once('.')?;
            Some((name.to_owned(), number.parse::<usize>().ok()?))
        };
        origin.presentation.other.retain(|(name, _)| numbered(name).is_none());
        origin.jobs.clear();
        let mut next = vec![0; self.plans.len()];
        for step in 0..self.step_count() {
            for (plan, next) in self.plans.iter().zip(&mut next) {
                for _ in plan.steps.get(step).into_iter().flat_map(|step| &step.jobs) {
                    for (name, value) in &plan.origin.presentation.other {
                        if let Some((name, _)) = numbered(name).filter(|(_, number)| number == next) {
                            let name = format!("{name}.{}", origin.jobs.len());
                            origin.presentation.other.push((name, value.clone()));
                        }
                    }
                    origin
                        .jobs
                        .push(plan.origin.jobs.get(*next).cloned().unwrap_or_default());
                    *next += 1;
                }
            }
        }
    }

    /// Splits `results` of the merged plan by rank: what each host measured, with its own plan.
    pub fn split_results(&self, results: &Results) -> Vec<Results> {
        let mut shift = 0;
        let mut devices = Vec::new();
        for (rank, plan) in self.plans.iter().enumerate() {
            let rank_facts = results.fleet.as_ref().and_then(|fleet| fleet.ranks.get(rank));
            let machine = rank_facts.and_then(|facts| facts.machine);
            let targets = shift..shift + plan.targets.len() as u32;
            shift = targets.end;
            let mut host = machine.and_then(|machine| results.hosts.get(machine as usize)).cloned();
            if let Some(HostResults { environment, .. }) = &mut host {
                let facts = environment
                    .targets
                    .iter()
                    .skip(targets.start as usize)
                    .take(plan.targets.len());
                environment.targets = facts.cloned().collect();
            }
            let step = |(number, step): (usize, &Step)| {
                let results_of_step = results.steps.get(number);
                self.step_of_host(
                    rank,
                    (number, step),
                    results_of_step.filter(|_| machine.is_some()),
                    machine,
                    &targets,
                )
            };
            let steps = plan.steps.iter().enumerate().map(step).collect();
            devices.push(Results {
                interrupted: results.interrupted,
                ..Results::new(results.tool.clone(), plan.clone(), host.into_iter().collect(), steps)
            });
        }
        devices
    }

    fn step_of_host(
        &self,
        rank: usize,
        (number, step): (usize, &Step),
        results_of_step: Option<&StepResults>,
        machine: Option<u32>,
        targets: &std::ops::Range<u32>,
    ) -> StepResults {
        let Some(results_of_step) = results_of_step else {
            return StepResults::not_started(step);
        };
        let before = self.jobs_before(rank, number) as usize;
        let jobs = results_of_step.jobs.iter().skip(before).take(step.jobs.len()).cloned();
        let devices = |list: &[HostDeviceUse]| {
            let mut devices = of_machine(list, machine, |device| &mut device.host);
            for device in &mut devices {
                let target_indices = device.counters.targets.iter();
                device.counters.targets = target_indices.filter_map(|id| target_of_host(*id, targets)).collect();
            }
            devices
        };
        StepResults {
            jobs: jobs.map(|job| job_of_host(job, targets)).collect(),
            devices: devices(&results_of_step.devices),
            devices_measured: devices(&results_of_step.devices_measured),
            cores: of_machine(&results_of_step.cores, machine, |core| &mut core.host),
            volumes: of_machine(&results_of_step.volumes, machine, |volume| &mut volume.host),
            network_mounts: of_machine(&results_of_step.network_mounts, machine, |mount| &mut mount.host),
            observed_ns: results_of_step.observed_ns,
            samples: of_machine(&results_of_step.samples, machine, |sample| &mut sample.host),
        }
    }
}

/// The entries of a machine, which becomes the first host.
fn of_machine<T: Clone>(list: &[T], machine: Option<u32>, host: impl Fn(&mut T) -> &mut u32) -> Vec<T> {
    let mut list = list.to_vec();
    list.retain_mut(|entry| Some(std::mem::take(host(entry))) == machine);
    list
}

fn target_of_host(target: u32, targets: &std::ops::Range<u32>) -> Option<u32> {
    targets.contains(&target).then(|| target - targets.start)
}

fn job_of_host(mut job: JobResults, targets: &std::ops::Range<u32>) -> JobResults {
    for worker in &mut job.workers {
        (worker.host, worker.rank) = (0, 0);
        for stream in &mut worker.streams {
            stream.targets = stream
                .targets
                .iter()
                .filter_map(|id| target_of_host(*id, targets))
                .collect();
        }
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;
    use crate::plan::{Dependency, Group, Job, Stop, Workload};
    use crate::testing;

    /// A plan of one step, with a job for each of these targets; the second target is unused.
    fn plan(paths: [&str; 3]) -> Plan {
        let job = |number: u32, target: u32| {
            let name = format!("{}-{number}", paths[0]);
            let stop = Stop::after(Nanos::secs(1));
            Job {
                after: if number > 0 { vec![Dependency(0)] } else { Vec::new() },
                ..Workload::new(&name, vec![TargetId(target)], stop).build_job(0)
            }
        };
        let steps = vec![testing::step(vec![job(0, 0), job(1, 2)])];
        let mut plan = Plan {
            groups: vec![Group {
                name: paths[0].into(),
                jobs: vec![(0, 1)],
                merged: false,
            }],
            ..testing::plan("", paths.map(testing::file).to_vec(), steps)
        };
        let echo = |name: &str| (name.to_owned(), paths[0].to_owned());
        plan.origin.presentation.other = ["pid", "thread.0", "thread.1"].map(echo).to_vec();
        plan
    }

    #[test]
    fn plans_are_merged_side_by_side() {
        let plans = HostPlans::new(vec![plan(["a", "b", "c%h"]), plan(["d", "e", "f"])]);
        let merged = plans.merge();
        let paths: Vec<&str> = merged.targets.iter().map(|target| target.path.as_str()).collect();
        assert_eq!(paths, ["a", "c%%h", "d", "f"]);
        let jobs: Vec<(&str, &str, u32, Vec<u32>)> = merged.steps[0]
            .jobs
            .iter()
            .map(|job| {
                let target = job.workers[0].streams[0].target.ids()[0].0;
                let after = job.after.iter().map(|job_id| job_id.0).collect();
                (job.name.as_str(), job.hosts[0].as_str(), target, after)
            })
            .collect();
        let expected = [
            ("a-0", "0", 0, vec![]),
            ("a-1", "0", 1, vec![0]),
            ("d-0", "1", 2, vec![]),
            ("d-1", "1", 3, vec![2]),
        ];
        assert_eq!(jobs, expected);
        let groups: Vec<_> = merged.groups.iter().map(|group| group.jobs[0]).collect();
        assert_eq!(groups, [(0, 1), (0, 3)]);
        let other = |name: &str| {
            let mut merged_options = merged.origin.presentation.other.iter();
            merged_options
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        let results_of_step = ["pid", "thread.1", "thread.2", "thread.4"].map(other);
        assert_eq!(results_of_step, [Some("a"), Some("a"), Some("d"), None]);
    }
}
