//! One test on several hosts: which part of a plan each of them executes, and how their results
//! become one.
//!
//! A *rank* is one process of the test, as MPI calls it; usually there is one on each host. The
//! plan of the whole is the plans of the ranks side by side: the workers of a job are those of all
//! ranks in rank order, and so are the targets. So depth, rates and counts of the whole are what
//! they are on one host: sums over its workers.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::TargetFacts;
use crate::plan::{
    Depth, Divide, Extent, Job, Pacing, Plan, Rate, Region, Stream, StreamTarget, Target, TargetId, TargetKind,
};
use crate::results::{HostDeviceUse, HostResults, JobResults, RankSeries, Results, StepResults};
use crate::units::{Bytes, Nanos};

/// Parts of a target that hosts divide among them begin at multiples of this many bytes.
const PART_ALIGNMENT: u64 = 1 << 20;
/// No part of a region is smaller.
const MIN_PART: u64 = 4096;
/// Hosts that a sentence names at most.
const MAX_NAMED: usize = 8;

/// One of the processes that execute a test together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// Name of its host.
    pub host: String,
}

/// The processes that executed a test together, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// What carried messages, in words.
    pub transport: String,
    /// Each rank in order, those that were lost too.
    pub ranks: Vec<RankFacts>,
    /// Those that were left went on where one was lost, instead of stopping.
    #[serde(default)]
    pub goes_on: bool,
}

impl Fleet {
    /// Who took part: `2 processes on db1, db2`. Of many hosts the first are named.
    pub fn words(&self) -> String {
        let mut hosts: Vec<&str> = self.ranks.iter().map(|rank| rank.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let more = hosts.len().saturating_sub(MAX_NAMED);
        hosts.truncate(MAX_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let processes = match self.ranks.len() {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        format!("{processes} on {}{more}", hosts.join(", "))
    }
}

/// What is known of a rank beside its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankFacts {
    /// Name of its host.
    pub host: String,
    /// Index of its machine among the hosts of the results; absent where nothing came from it.
    pub machine: Option<u32>,
    /// How far its clock is ahead of that of the process that leads, in nanoseconds.
    pub clock_ahead_ns: i64,
    /// Shortest time of a message there and back; half of it bounds the error of `clock_ahead_ns`.
    pub round_trip_ns: Nanos,
    /// When each step began there, in nanoseconds after the agreed moment, by the clock of the
    /// process that leads.
    #[serde(default)]
    pub starts_ns: Vec<i64>,
    /// When it had ended, from the agreed start of the first step; absent if it was lost.
    #[serde(default)]
    pub ended_ns: Option<Nanos>,
    /// Processors that it may use, where its launcher had left it fewer: that many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened_from: Option<u32>,
    /// Why it was lost, in a sentence; what it had measured before may be in the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// The part of a plan that one rank executes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What it executes.
    pub plan: Plan,
    /// For each step, which jobs of the common plan these are.
    pub jobs: Vec<Vec<u32>>,
}

impl Share {
    /// The part of a rank: targets by its own names (`%h` is the host, `%r` the rank, `%%` a
    /// percent sign), the jobs that are for it, random decisions of its own, and its part of what
    /// is divided. `hosts` are those of all ranks, in order. A name without a directory of its own
    /// is one below `folder`.
    ///
    /// # Errors
    /// A sentence, if something cannot be divided among that many, or a job is for a host that does
    /// not take part.
    pub fn for_rank(plan: &Plan, rank: &Rank, hosts: &[String], folder: Option<&str>) -> Result<Share, String> {
        let mut mine = plan.clone();
        for target in &mut mine.targets {
            let named = matches!(
                target.kind,
                TargetKind::Path | TargetKind::Name { .. } | TargetKind::Tree { .. }
            );
            if named {
                target.path = absolute(&own_name(&target.path, rank), folder);
            }
        }
        let mut jobs = Vec::new();
        for step in &mut mine.steps {
            step.jobs.iter().try_for_each(|job| all_take_part(job, hosts))?;
            let kept: Vec<u32> = (0..step.jobs.len() as u32)
                .filter(|number| is_for(&step.jobs[*number as usize].hosts, rank.number, &rank.host))
                .collect();
            let place = |old: u32| kept.iter().position(|number| *number == old).map(|new| new as u32);
            let old = std::mem::take(&mut step.jobs);
            for mut job in kept.iter().map(|number| old[*number as usize].clone()) {
                job.after = job
                    .after
                    .iter()
                    .filter_map(|one| place(one.0))
                    .map(crate::plan::Dependency)
                    .collect();
                for list in [&mut job.ends_with.jobs, &mut job.ends_with.on_failure] {
                    *list = list.iter().filter_map(|one| place(*one)).collect();
                }
                for file in [&mut job.operation_log, &mut job.trace].into_iter().flatten() {
                    *file = absolute(&format!("{}.{}", own_name(file, rank), rank.number), folder);
                }
                let sharers = sharers(&job.hosts, rank, hosts);
                for stream in job.workers.iter_mut().flat_map(|worker| &mut worker.streams) {
                    divide(stream, job.divide, sharers).map_err(|why| format!("job `{}`: {why}", job.name))?;
                }
                for worker in &mut job.workers {
                    worker.draws = worker.draws.of_rank(rank.number);
                    if let (true, Depth::Shared { operations }) = (job.divide.depth, &mut worker.depth) {
                        *operations =
                            part(*operations, sharers).ok_or_else(|| too_few(&job.name, *operations, sharers))?;
                    }
                }
                step.jobs.push(job);
            }
            jobs.push(kept);
        }
        leave_out_targets_of_others(plan, &mut mine);
        // Groups are about the jobs of the whole.
        mine.groups.clear();
        if mine.steps.iter().all(|step| step.jobs.is_empty()) {
            let what = format!("no job is for rank {} on {}", rank.number, rank.host);
            return Err(format!(
                "{what}: leave that host out, or name it in the `hosts` of a job"
            ));
        }
        Ok(Share { plan: mine, jobs })
    }

    /// The same, where threads that take the processors of their host in turn have those of this
    /// one.
    #[must_use]
    pub fn with_turns_among(mut self, cpus: &[u32]) -> Share {
        let jobs = self.plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
        for placement in jobs
            .flat_map(|job| &mut job.workers)
            .map(|worker| &mut worker.placement)
        {
            if let Some(turn) = placement.turn.take() {
                let cpu = cpus.get(turn as usize % cpus.len().max(1));
                placement.cpus = cpu.copied().into_iter().collect();
            }
        }
        self
    }
}

/// Targets that only jobs of other hosts use are none of this one's.
fn leave_out_targets_of_others(plan: &Plan, mine: &mut Plan) {
    let stay: Vec<bool> = plan
        .uses_of_targets()
        .into_iter()
        .zip(mine.uses_of_targets())
        .map(|(all, me)| me || !all)
        .collect();
    mine.keep_targets(&stay);
}

/// The number of a rank among those that share a job, and how many these are.
fn sharers(named: &[String], rank: &Rank, hosts: &[String]) -> (u32, u32) {
    if named.is_empty() {
        return (rank.number, rank.of);
    }
    let has_it = |number: &u32| is_for(named, *number, &hosts[*number as usize]);
    let all: Vec<u32> = (0..hosts.len() as u32).filter(has_it).collect();
    let before = all.iter().filter(|number| **number < rank.number).count();
    (before as u32, all.len() as u32)
}

/// A job without names is for all; a name is that of a host or the number of a rank.
fn is_for(named: &[String], number: u32, host: &str) -> bool {
    named.is_empty() || named.iter().any(|one| one == host || *one == number.to_string())
}

/// A name that no host has would silently leave a part of the job undone.
fn all_take_part(job: &Job, hosts: &[String]) -> Result<(), String> {
    let takes_part = |name: &String| {
        (0..)
            .zip(hosts)
            .any(|(number, host)| is_for(std::slice::from_ref(name), number, host))
    };
    let Some(name) = job.hosts.iter().find(|name| !takes_part(name)) else {
        return Ok(());
    };
    let mut known = hosts.to_vec();
    known.dedup();
    let more = known.len().saturating_sub(MAX_NAMED);
    known.truncate(MAX_NAMED);
    let known = known.join(", ")
        + &if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
    Err(format!(
        "job `{}` is for `{name}`, which is neither the name of a host nor the number of a rank here: name one of {known}, or a number below {}",
        job.name,
        hosts.len()
    ))
}

fn too_few(job: &str, depth: u32, (_, of): (u32, u32)) -> String {
    format!("job `{job}`: a queue depth of {depth} cannot be divided among {of} ranks; ask for at least {of}")
}

/// A part of a number, so that all parts add up to it; `None` if that would be 0.
fn part(whole: u32, (number, of): (u32, u32)) -> Option<u32> {
    let part = whole / of.max(1) + u32::from(number < whole % of.max(1));
    (part > 0).then_some(part)
}

fn divide(stream: &mut Stream, what: Divide, sharers: (u32, u32)) -> Result<(), String> {
    if what.depth {
        stream.depth = part(stream.depth, sharers).ok_or_else(|| {
            let (depth, of) = (stream.depth, sharers.1);
            format!("a queue depth of {depth} cannot be divided among {of} ranks; ask for at least {of}")
        })?;
    }
    if what.rate {
        match &mut stream.pacing {
            Pacing::Unpaced => {}
            Pacing::Together { rate } => divide_rate(rate, sharers),
            Pacing::PerDirection { rates } => {
                for rate in [&mut rates.read, &mut rates.write, &mut rates.trim]
                    .into_iter()
                    .flatten()
                {
                    divide_rate(rate, sharers);
                }
            }
        }
    }
    if what.region {
        stream.region = part_of_region(&stream.region, sharers)?;
    }
    Ok(())
}

/// The same number of operations is due in a time that is longer; the ranks begin one after the
/// other, so that all together are as even as one.
fn divide_rate(rate: &mut Rate, (number, of): (u32, u32)) {
    let gap = rate.per_ns.0 / rate.amount.max(1);
    rate.per_ns = Nanos(rate.per_ns.0.saturating_mul(u64::from(of)));
    rate.phase_ns += Nanos(gap.saturating_mul(u64::from(number)));
}

fn part_of_region(region: &Region, (number, of): (u32, u32)) -> Result<Region, String> {
    let (number, of) = (u64::from(number), u64::from(of.max(1)));
    match &region.length {
        Some(length) if length.percent == 0.0 => part_of_bytes(region, *length, number, of),
        Some(length) => Ok(part_of_percents(region, *length, number, of)),
        None if region.base.bytes.0 == 0 => {
            let rest = Extent {
                percent: 100.0 - region.base.percent,
                ..region.base
            };
            let part = part_of_percents(region, rest, number, of);
            // What does not divide evenly is the last one's.
            let length = part.length.filter(|_| number + 1 < of);
            Ok(Region { length, ..part })
        }
        None => {
            let what = "a region from an offset in bytes to the end cannot be divided";
            Err(format!("{what}; give its length too"))
        }
    }
}

/// The parts follow one another without a gap: every byte belongs to a part.
fn part_of_bytes(region: &Region, length: Extent, number: u64, of: u64) -> Result<Region, String> {
    let whole = length.resolve(0);
    let unit = match whole / of {
        0..MIN_PART => {
            let least = Bytes(MIN_PART * of);
            return Err(format!(
                "a region of {} cannot be divided among {of} ranks; give at least {least}",
                Bytes(whole)
            ));
        }
        MIN_PART..PART_ALIGNMENT => MIN_PART,
        _ => PART_ALIGNMENT,
    };
    let edge = |part: u64| match part == of {
        true => whole,
        false => (u128::from(whole) * u128::from(part) / u128::from(of)) as u64 / unit * unit,
    };
    let (from, to) = (edge(number), edge(number + 1));
    Ok(Region {
        base: Extent {
            bytes: Bytes(region.base.bytes.0 + from),
            ..region.base
        },
        length: Some(Extent::bytes(to - from)),
    })
}

/// How large the target is becomes known on each host only.
fn part_of_percents(region: &Region, length: Extent, number: u64, of: u64) -> Region {
    let align = region.base.align.max(PART_ALIGNMENT);
    let times = |extent: Extent, by: u64| Extent {
        bytes: Bytes(extent.bytes.0 / of * by + extent.bytes.0 % of * by / of),
        percent: extent.percent * by as f64 / of as f64,
        align,
        round_up: false,
    };
    let before = times(length, number);
    Region {
        base: Extent {
            bytes: Bytes(region.base.bytes.0 + before.bytes.0),
            percent: region.base.percent + before.percent,
            align,
            round_up: false,
        },
        length: Some(times(length, 1)),
    }
}

/// A name of a file or host list with the rank's own words in it.
pub fn own_name(text: &str, rank: &Rank) -> String {
    let (mut out, mut letters) = (String::new(), text.chars().peekable());
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('%', Some('h')) => out += &rank.host,
            ('%', Some('r')) => out += &rank.number.to_string(),
            ('%', Some('%')) => out.push('%'),
            _ => {
                out.push(letter);
                continue;
            }
        }
        letters.next();
    }
    out
}

fn absolute(path: &str, folder: Option<&str>) -> String {
    let is_whole = path.starts_with(['/', '\\']) || path.get(1..2) == Some(":");
    match folder {
        Some(folder) if !is_whole && !path.is_empty() => format!("{}/{path}", folder.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

/// The plan of the whole: the parts of all ranks side by side.
pub fn whole(common: &Plan, shares: &[Share]) -> Plan {
    let mut plan = common.clone();
    plan.targets = Vec::new();
    plan.prepare_once.clear();
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        job.workers.clear();
    }
    for share in shares {
        let shift = plan.targets.len() as u32;
        for target in &share.plan.prepare_once {
            plan.prepare_once.push(TargetId(target.0 + shift));
        }
        for (step, (mine, numbers)) in share.plan.steps.iter().zip(&share.jobs).enumerate() {
            for (job, number) in mine.jobs.iter().zip(numbers) {
                let into = &mut plan.steps[step].jobs[*number as usize];
                into.workers.extend(job.workers.iter().cloned().map(|mut worker| {
                    for stream in &mut worker.streams {
                        shift_targets(&mut stream.target, shift);
                    }
                    worker
                }));
            }
        }
        plan.targets.extend(share.plan.targets.iter().cloned());
    }
    plan
}

fn shift_targets(target: &mut StreamTarget, by: u32) {
    match target {
        StreamTarget::One { target } => target.0 += by,
        StreamTarget::Files { targets, .. } => targets.iter_mut().for_each(|target| target.0 += by),
    }
}

/// Puts the results of ranks together. Feed it in rank order: sums do not depend on it, the order
/// of workers does. What it takes is the same for each rank, however many there are.
#[derive(Debug)]
pub struct Gathering<'a> {
    results: Results,
    shares: &'a [Share],
    /// Where the targets of each rank begin in the plan of the whole.
    shifts: Vec<u32>,
    /// Index of each machine by its name and boot.
    machines: BTreeMap<(String, Option<String>), u32>,
    /// Where the counters of a machine are in a step.
    counted: BTreeMap<(usize, u32), Counted>,
}

/// The places of a machine's devices among those of a step.
#[derive(Clone, Debug, Default)]
struct Counted {
    devices: Range<usize>,
    devices_measured: Range<usize>,
    samples: Range<usize>,
}

/// Where the targets of each rank begin in the plan of the whole.
pub fn shifts(shares: &[Share]) -> Vec<u32> {
    let mut before = 0;
    let one = |share: &Share| {
        let shift = before;
        before += share.plan.targets.len() as u32;
        shift
    };
    shares.iter().map(one).collect()
}

impl<'a> Gathering<'a> {
    /// Nothing yet; `tool` and the plan's frame are taken from `common` and the first results that
    /// are added.
    pub fn new(common: &Plan, shares: &'a [Share], frame: Results) -> Gathering<'a> {
        let plan = whole(common, shares);
        let job = |job: &Job| JobResults {
            name: job.name.clone(),
            ..JobResults::default()
        };
        let steps = plan.steps.iter().map(|step| StepResults {
            jobs: step.jobs.iter().map(job).collect(),
            ..StepResults::default()
        });
        Gathering {
            results: Results {
                steps: steps.collect(),
                plan,
                hosts: Vec::new(),
                findings: Vec::new(),
                interrupted: false,
                ..frame
            },
            shares,
            shifts: shifts(shares),
            machines: BTreeMap::new(),
            counted: BTreeMap::new(),
        }
    }

    /// Adds the results of a rank; returns the index of its machine. A machine on which another
    /// rank was before counts its devices and processors only once.
    pub fn add(&mut self, rank: u32, mut theirs: Results) -> Option<u32> {
        let share = self.shares.get(rank as usize)?;
        let shift = *self.shifts.get(rank as usize)?;
        let host = theirs.hosts.drain(..).next()?;
        let machine = self.machine(host, shift, &share.plan.targets);
        self.results.interrupted |= theirs.interrupted;
        let ours = &mut self.results;
        ours.findings.extend(theirs.findings);
        let steps = ours.steps.iter_mut().zip(theirs.steps).zip(&share.jobs);
        for (number, ((into, mut from), numbers)) in steps.enumerate() {
            into.observed_ns = into.observed_ns.max(from.observed_ns);
            let jobs = std::mem::take(&mut from.jobs);
            for device in from.devices.iter_mut().chain(&mut from.devices_measured) {
                device.counters.targets.iter_mut().for_each(|target| *target += shift);
            }
            match self.counted.get(&(number, machine)) {
                // The counters are those of the machine; what lies on its devices is reported by
                // each rank for itself.
                Some(places) => {
                    lie_on(&mut into.devices[places.devices.clone()], from.devices);
                    lie_on(
                        &mut into.devices_measured[places.devices_measured.clone()],
                        from.devices_measured,
                    );
                    // The other processes of a fleet are no strangers.
                    for (mine, theirs) in into.samples[places.samples.clone()].iter_mut().zip(from.samples) {
                        mine.own_ns += theirs.own_ns;
                    }
                }
                None if from.has_counters() => {
                    let places = count(into, from, machine);
                    self.counted.insert((number, machine), places);
                }
                None => {}
            }
            for (mut job, number) in jobs.into_iter().zip(numbers) {
                let into = &mut into.jobs[*number as usize];
                let so_far = into.workers.len() as u32;
                for worker in &mut job.workers {
                    worker.worker += so_far;
                    (worker.host, worker.rank) = (machine, rank);
                    for stream in &mut worker.streams {
                        stream.targets.iter_mut().for_each(|target| *target += shift);
                    }
                }
                job.rank_series = RankSeries::from_job(rank, &job).into_iter().collect();
                into.add(job);
            }
        }
        Some(machine)
    }

    /// The machine of a rank: one that is known already, or a new one.
    fn machine(&mut self, mut host: HostResults, shift: u32, targets: &[Target]) -> u32 {
        let mut facts = std::mem::take(&mut host.environment.targets);
        facts.resize(targets.len(), TargetFacts::default());
        let of = &host.environment.host;
        let key = (of.name.clone(), of.boot_id.clone());
        let hosts = &mut self.results.hosts;
        let machine = *self.machines.entry(key).or_insert(hosts.len() as u32);
        match hosts.get_mut(machine as usize) {
            Some(one) => {
                one.started_unix_ns = one.started_unix_ns.min(host.started_unix_ns);
                one.ended_unix_ns = one.ended_unix_ns.max(host.ended_unix_ns);
                // Of a rank that was lost only the name of its machine is known.
                let own = host.system.iter().flat_map(|system| system.own_processes.clone());
                let known = one.system.iter_mut();
                known.for_each(|known| known.own_processes.extend(own.clone()));
                if one.environment.cpu.logical == 0 {
                    let mine = std::mem::replace(&mut one.environment, host.environment);
                    (one.environment.targets, one.environment.target_numbers) = (mine.targets, mine.target_numbers);
                    one.system = host.system;
                }
            }
            None => hosts.push(host),
        }
        let environment = &mut hosts[machine as usize].environment;
        environment.target_numbers.extend(shift..shift + facts.len() as u32);
        environment.targets.append(&mut facts);
        machine
    }

    /// What came of all of them.
    pub fn finish(self) -> Results {
        self.results
    }
}

/// More targets lie on devices that are counted already.
fn lie_on(mine: &mut [HostDeviceUse], theirs: Vec<HostDeviceUse>) {
    for one in theirs {
        if let Some(mine) = mine.iter_mut().find(|mine| mine.counters.name == one.counters.name) {
            mine.counters.targets.extend(one.counters.targets);
        }
    }
}

/// Adds the counters of a machine.
fn count(into: &mut StepResults, mut from: StepResults, machine: u32) -> Counted {
    let devices = from.devices.iter_mut().chain(&mut from.devices_measured);
    devices.for_each(|one| one.host = machine);
    from.cores.iter_mut().for_each(|one| one.host = machine);
    from.volumes.iter_mut().for_each(|one| one.host = machine);
    from.network_mounts.iter_mut().for_each(|one| one.host = machine);
    from.samples.iter_mut().for_each(|one| one.host = machine);
    let mut places = Counted {
        devices: into.devices.len()..0,
        devices_measured: into.devices_measured.len()..0,
        samples: into.samples.len()..0,
    };
    into.devices.append(&mut from.devices);
    into.devices_measured.append(&mut from.devices_measured);
    into.cores.append(&mut from.cores);
    into.volumes.append(&mut from.volumes);
    into.network_mounts.append(&mut from.network_mounts);
    into.samples.append(&mut from.samples);
    places.samples.end = into.samples.len();
    places.devices.end = into.devices.len();
    places.devices_measured.end = into.devices_measured.len();
    places
}

#[cfg(test)]
mod tests;
