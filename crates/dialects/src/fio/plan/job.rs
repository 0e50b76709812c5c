//! Stop rules, dependencies and groups of jobs.

use model::Bytes;
use model::access::Access;
use model::plan::{Dependency, EndPropagation, Group, Stop};

use super::Lowering;
use crate::fio::draft::from_micros;
use crate::fio::jobs::Job;
use crate::fio::lower::pattern;
use crate::fio::options::job::ExitWhat;
use crate::fio::options::pattern::Rw;
use crate::fio::values::Amount;

/// The operations per block: two if it is trimmed and written.
fn operations_per_block(rw: Rw) -> u64 {
    match rw {
        Rw::TrimWrite | Rw::RandTrimWrite => 2,
        _ => 1,
    }
}

impl Lowering<'_> {
    /// The stop rule of a job, whose clones are lowered already.
    pub(super) fn stop(&self, job: &Job) -> Stop {
        let (options, pattern) = (&job.options.job, &job.options.pattern);
        let times = operations_per_block(pattern.rw);
        let mut stop = Stop {
            after_ns: Some(from_micros(options.runtime)).filter(|time| time.0 > 0),
            operations: Some(options.number_ios).filter(|operations| *operations > 0),
            rounds: u32::try_from(options.loops).ok().filter(|loops| *loops > 1),
            repeat_until_time: options.time_based && options.runtime > 0,
            counts_all: true,
            ..Stop::default()
        };
        let amount = pattern
            .io_size
            .or(pattern.size)
            .filter(|amount| !matches!(amount, Amount::Bytes(0)));
        match amount {
            // The job completes its pass, even beyond its size.
            _ if job.options.zones.sprandom => {}
            Some(Amount::Bytes(bytes)) => stop.bytes = Some(Bytes(bytes.saturating_mul(times))),
            Some(Amount::Percent(percent)) if pattern.io_size.is_some() => {
                stop.region_percent = Some(percent as u32 * times as u32);
            }
            Some(Amount::Percent(_) | Amount::Zones(_)) | None => stop.region_percent = Some(100 * times as u32),
        }
        // A job that visits each block once ends when no block is left, even if the amount is
        // larger.
        let mut needs_more_passes = match pattern.io_size {
            Some(Amount::Bytes(bytes)) => self.area.is_some_and(|area| bytes > area),
            Some(Amount::Percent(percent)) => percent > 100,
            Some(Amount::Zones(_)) | None => false,
        };
        // Each loop passes over the area once; further passes follow until the amount is reached.
        if let (true, Some(rounds), Some(area @ 1..), Some(bytes)) =
            (needs_more_passes, stop.rounds, self.area, stop.bytes)
        {
            let needed = bytes.0.div_ceil(area.saturating_mul(times));
            stop.rounds = Some(rounds.max(needed.min(u32::MAX.into()) as u32));
            stop.bytes = Some(Bytes(area.saturating_mul(times)));
            needs_more_passes = false;
        }
        let may_end = |access: &Access| matches!(access, Access::Sequential(_)) || access.is_finite();
        let ends_after_pass = pattern::pattern(&job.options).access.iter().all(may_end);
        stop.passes = (ends_after_pass && !needs_more_passes).then_some(1);
        stop
    }

    /// The jobs of the same step that a job waits for; jobs of earlier steps have ended.
    pub(super) fn lower_dependencies(&self, index: usize, job: &Job) -> Vec<Dependency> {
        let Some(name) = &job.options.job.wait_for else {
            return Vec::new();
        };
        let step = self.places[index].0;
        let earlier = self.jobs.jobs[..index].iter().zip(&self.places);
        let waited_for = earlier.filter(|(other, place)| other.name() == name && place.0 == step);
        waited_for.map(|(_, place)| Dependency(place.1 as u32)).collect()
    }

    /// Sets which jobs end with others.
    pub(super) fn set_end_rules(&mut self) {
        for (index, job) in self.jobs.jobs.iter().enumerate() {
            let options = &job.options.job;
            let place = self.places[index];
            // Only jobs that end others iterate over all jobs, because this takes quadratic time.
            let ends_others = options.exitall || options.exitall_on_error;
            let others: Vec<u32> = (0..if ends_others { self.jobs.jobs.len() } else { 0 })
                .filter(|other| *other != index && self.places[*other].0 == place.0)
                .filter(|other| match options.exit_what {
                    ExitWhat::Group => self.groups[*other] == self.groups[index],
                    ExitWhat::Stonewall | ExitWhat::All => true,
                })
                .map(|other| self.places[other].1 as u32)
                .collect();
            let exits_all = options.exit_what == ExitWhat::All;
            self.steps[place.0].jobs[place.1].ends_with = EndPropagation {
                jobs: if options.exitall { others.clone() } else { Vec::new() },
                on_failure: if options.exitall_on_error { others } else { Vec::new() },
                workers: options.exitall,
                workers_on_failure: options.exitall_on_error,
                plan: options.exitall_on_error && exits_all,
                plan_always: options.exitall && exits_all,
            };
        }
    }

    pub(super) fn plan_groups(&self) -> Vec<Group> {
        // Group numbers ascend, so members of a group are adjacent.
        let mut groups: Vec<Group> = Vec::new();
        let jobs = self.groups.iter().zip(&self.places).zip(&self.jobs.jobs);
        for ((number, place), job) in jobs {
            if groups.len() <= *number {
                groups.push(Group {
                    name: number.to_string(),
                    jobs: Vec::new(),
                    merged: true,
                });
            }
            let group = &mut groups[*number];
            group.jobs.push((place.0 as u32, place.1 as u32));
            group.merged &= job.options.report.group_reporting;
        }
        groups
    }
}
