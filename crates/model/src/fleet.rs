//! One test on several hosts: divides the plan among them and merges their results. A *rank* is a
//! process of the test, as in MPI; usually each host has one. The merged plan has the shares of all
//! ranks side by side, with workers and targets in rank order. So depth, rates and counts are sums
//! over workers, as on one host.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::TargetFacts;
use crate::plan::{
    DepthScope, DividedSettings, Extent, FilePart, FileTree, Job, Pacing, Plan, Rate, Region, Stream, StreamTarget,
    Target, TargetId, TargetKind,
};
use crate::results::{HostDeviceUse, HostResults, RankSeries, Results, StepResults};
use crate::units::{Bytes, Nanos};

/// Divided parts of a target begin at multiples of this many bytes.
const PART_ALIGNMENT: u64 = 1 << 20;
/// The minimum part of a region.
const MIN_PART: u64 = 4096;
/// The maximum number of hosts named in a sentence.
const MAX_NAMED: usize = 8;

/// One of the processes that execute a test together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// The number of ranks.
    #[serde(rename = "of")]
    pub rank_count: u32,
    /// Name of its host.
    pub host: String,
}

/// The processes that executed a test together, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// The transport of messages, in words.
    pub transport: String,
    /// All ranks in order, including lost ones.
    pub ranks: Vec<RankFacts>,
    /// The other ranks continued after one was lost, instead of stopping.
    #[serde(rename = "goes_on", default)]
    pub continues_on_loss: bool,
}

impl Fleet {
    /// The participants: `2 processes on db1, db2`, with at most the first hosts.
    pub fn describe(&self) -> String {
        let mut hosts: Vec<&str> = self.ranks.iter().map(|rank| rank.host.as_str()).collect();
        hosts.sort_unstable();
        let processes = match self.ranks.len() {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        format!("{processes} on {}", list_hosts(hosts))
    }
}

/// The first of these hosts, each once, and the number of others.
fn list_hosts(mut names: Vec<&str>) -> String {
    names.dedup();
    match names.len().saturating_sub(MAX_NAMED) {
        0 => names.join(", "),
        omitted => format!("{} and {omitted} more", names[..MAX_NAMED].join(", ")),
    }
}

/// Facts of a rank apart from its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankFacts {
    /// Name of its host.
    pub host: String,
    /// Index of its machine among the hosts of the results; absent if it sent no results.
    pub machine: Option<u32>,
    /// How far its clock is ahead of the coordinator's, in nanoseconds.
    pub clock_ahead_ns: i64,
    /// Shortest round-trip time of a message; half of it bounds the error of `clock_ahead_ns`.
    pub round_trip_ns: Nanos,
    /// The start of each step on that host, in nanoseconds after the agreed time, by the
    /// coordinator's clock.
    #[serde(default)]
    pub starts_ns: Vec<i64>,
    /// Its end, from the agreed start of the first step; absent if it was lost.
    #[serde(default)]
    pub ended_ns: Option<Nanos>,
    /// The number of processors to which its launcher had bound it, before it removed that binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widened_from: Option<u32>,
    /// Why it was lost, in a sentence. The results may include its measurements until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// The part of a plan that one rank executes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The plan that it executes.
    pub plan: Plan,
    /// For each step, the numbers of its jobs in the common plan.
    pub jobs: Vec<Vec<u32>>,
}

impl Share {
    /// Computes the share of a rank: its targets with expanded names (`%h` is the host, `%r` the
    /// rank, `%%` a percent sign), its jobs, random decisions and part of divided values. `hosts`
    /// are the hosts of all ranks, in order. Relative names are below `folder`.
    ///
    /// # Errors
    /// A sentence, if a value cannot be divided among the ranks, or a job is for a host that does
    /// not take part. A rank without jobs is no error: see [`Share::refuse_idle`].
    pub fn for_rank(plan: &Plan, rank: &Rank, hosts: &[String], folder: Option<&str>) -> Result<Share, String> {
        let mut mine = plan.clone();
        for target in &mut mine.targets {
            if target.kind.has_name() {
                target.path = make_absolute(&expand_name(&target.path, rank), folder);
            }
        }
        let parts = divide_trees(plan, rank, hosts)?;
        let mut jobs = Vec::new();
        for step in &mut mine.steps {
            step.jobs.iter().try_for_each(|job| check_hosts_exist(job, hosts))?;
            let job_numbers: Vec<u32> = (0..step.jobs.len() as u32)
                .filter(|number| is_for(&step.jobs[*number as usize].hosts, rank.number, &rank.host))
                .collect();
            let place = |old: u32| Some(job_numbers.iter().position(|number| *number == old)? as u32);
            let old = std::mem::take(&mut step.jobs);
            for mut job in job_numbers.iter().map(|number| old[*number as usize].clone()) {
                job.after = job
                    .after
                    .iter()
                    .filter_map(|target| place(target.0))
                    .map(crate::plan::Dependency)
                    .collect();
                for list in [&mut job.ends_with.jobs, &mut job.ends_with.on_failure] {
                    *list = list.iter().filter_map(|target| place(*target)).collect();
                }
                for file in [&mut job.operation_log, &mut job.trace].into_iter().flatten() {
                    *file = make_absolute(&format!("{}.{}", expand_name(file, rank), rank.number), folder);
                }
                let sharers = sharers(&job.hosts, rank, hosts);
                for stream in job.workers.iter_mut().flat_map(|worker| &mut worker.streams) {
                    divide(stream, job.divide, sharers).map_err(|why| format!("job `{}`: {why}", job.name))?;
                    let part = parts.iter().find(|(id, _)| stream.target.ids().contains(id));
                    if let (Some(work), Some((_, part))) = (&mut stream.files, part) {
                        work.part = Some(*part);
                    }
                }
                for worker in &mut job.workers {
                    worker.draws = worker.draws.for_rank(rank.number);
                    if let (true, DepthScope::Shared { operations }) = (job.divide.depth, &mut worker.depth) {
                        *operations = divide_evenly(*operations, sharers)
                            .ok_or_else(|| too_few(&job.name, *operations, sharers))?;
                    }
                }
                step.jobs.push(job);
            }
            jobs.push(job_numbers);
        }
        remove_unused_targets(plan, &mut mine);
        // Groups describe the jobs of the whole plan.
        mine.groups.clear();
        Ok(Share { plan: mine, jobs })
    }

    /// True if the rank has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.jobs.iter().all(Vec::is_empty)
    }

    /// Refuses a share without jobs.
    ///
    /// # Errors
    /// A sentence, if the rank has nothing to do.
    pub fn refuse_idle(&self, rank: &Rank) -> Result<(), String> {
        if !self.is_idle() {
            return Ok(());
        }
        let what = format!("rank {} on {} has no job", rank.number, rank.host);
        Err(format!("{what}: remove that host, or name it in the `hosts` of a job"))
    }

    /// The same share, for threads that take the processors of this host round-robin.
    #[must_use]
    pub fn with_round_robin_cpus(mut self, cpus: &[u32]) -> Share {
        let jobs = self.plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
        for placement in jobs
            .flat_map(|job| &mut job.workers)
            .map(|worker| &mut worker.placement)
        {
            if let Some(turn) = placement.round_robin_index.take() {
                let cpu = cpus.get(turn as usize % cpus.len().max(1));
                placement.cpus = cpu.copied().into_iter().collect();
            }
        }
        self
    }
}

/// Removes targets that only jobs of other hosts use.
fn remove_unused_targets(plan: &Plan, mine: &mut Plan) {
    let is_used: Vec<bool> = plan
        .used_targets()
        .into_iter()
        .zip(mine.used_targets())
        .map(|(used, me)| me || !used)
        .collect();
    mine.retain_targets(&is_used);
}

/// The position of a rank among those that share a job, and their number.
fn sharers(host_names: &[String], rank: &Rank, hosts: &[String]) -> (u32, u32) {
    if host_names.is_empty() {
        return (rank.number, rank.rank_count);
    }
    let has_it = |number: &u32| is_for(host_names, *number, &hosts[*number as usize]);
    let all: Vec<u32> = (0..hosts.len() as u32).filter(has_it).collect();
    let before = all.iter().filter(|number| **number < rank.number).count();
    (before as u32, all.len() as u32)
}

/// The rank's files of each tree that it shares with others. All jobs on a tree divide it in the
/// same way, so that a rank knows the state of its files in every step.
fn divide_trees(plan: &Plan, rank: &Rank, hosts: &[String]) -> Result<Vec<(TargetId, FilePart)>, String> {
    let mut parts = Vec::new();
    for (target, id) in plan.targets.iter().zip((0..).map(TargetId)) {
        let TargetKind::Tree {
            tree: tree @ FileTree { shared: Some(_), .. },
        } = &target.kind
        else {
            continue;
        };
        let uses_tree = |job: &Job| {
            let mut streams = job.workers.iter().flat_map(|worker| &worker.streams);
            streams.any(|stream| stream.target.ids().contains(&id))
        };
        let jobs: Vec<&Job> = plan.jobs().map(|(_, job)| job).filter(|job| uses_tree(job)).collect();
        let is_user = |number: &u32| {
            jobs.iter()
                .any(|job| is_for(&job.hosts, *number, &hosts[*number as usize]))
        };
        let users: Vec<u32> = (0..hosts.len() as u32).filter(is_user).collect();
        let count = users.len() as u32;
        if tree.file_count() < u64::from(count) {
            return Err(format!(
                "the tree in {} has fewer files ({}) than hosts ({count}) that share it",
                target.path,
                tree.file_count()
            ));
        }
        if let Some(index) = users.iter().position(|user| *user == rank.number)
            && count > 1
        {
            let index = index as u32;
            parts.push((id, FilePart { index, count }));
        }
    }
    Ok(parts)
}

/// True if the job is for this rank: a job without names is for all. A name is a host name or a
/// rank number.
fn is_for(host_names: &[String], number: u32, host: &str) -> bool {
    host_names.is_empty()
        || host_names
            .iter()
            .any(|name| name == host || *name == number.to_string())
}

/// Checks every name, because one that matches no host would silently skip a part of the job.
fn check_hosts_exist(job: &Job, hosts: &[String]) -> Result<(), String> {
    let takes_part = |name: &String| {
        (0..)
            .zip(hosts)
            .any(|(number, host)| is_for(std::slice::from_ref(name), number, host))
    };
    let Some(name) = job.hosts.iter().find(|name| !takes_part(name)) else {
        return Ok(());
    };
    Err(format!(
        "job `{}` is for `{name}`, which is neither a host nor a rank of this fleet: name one of {}, or a \
         number below {}",
        job.name,
        list_hosts(hosts.iter().map(String::as_str).collect()),
        hosts.len()
    ))
}

fn too_few(job: &str, depth: u32, (_, count): (u32, u32)) -> String {
    format!("job `{job}`: cannot divide a queue depth of {depth} among {count} ranks; use at least {count}")
}

/// A part of a number, so that all parts sum to it; `None` if it would be 0.
fn divide_evenly(whole: u32, (index, count): (u32, u32)) -> Option<u32> {
    let share = whole / count.max(1) + u32::from(index < whole % count.max(1));
    (share > 0).then_some(share)
}

fn divide(stream: &mut Stream, divided: DividedSettings, sharers: (u32, u32)) -> Result<(), String> {
    if divided.depth {
        stream.depth = divide_evenly(stream.depth, sharers).ok_or_else(|| {
            let (depth, count) = (stream.depth, sharers.1);
            format!("cannot divide a queue depth of {depth} among {count} ranks; use at least {count}")
        })?;
    }
    if divided.rate {
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
    if divided.region {
        stream.region = part_of_region(&stream.region, sharers)?;
    }
    Ok(())
}

/// Divides a rate by stretching its period. The ranks start staggered, so that their sum is as even
/// as a single schedule.
fn divide_rate(rate: &mut Rate, (index, count): (u32, u32)) {
    let gap = rate.per_ns.0 / rate.amount.max(1);
    rate.per_ns = Nanos(rate.per_ns.0.saturating_mul(u64::from(count)));
    rate.phase_ns += Nanos(gap.saturating_mul(u64::from(index)));
}

fn part_of_region(region: &Region, (index, count): (u32, u32)) -> Result<Region, String> {
    let (index, count) = (u64::from(index), u64::from(count.max(1)));
    match &region.length {
        Some(length) if length.percent == 0.0 => part_of_bytes(region, *length, index, count),
        Some(length) => Ok(part_of_percents(region, *length, index, count)),
        None if region.base.bytes.0 == 0 => {
            let rest = Extent {
                percent: 100.0 - region.base.percent,
                ..region.base
            };
            let own_region = part_of_percents(region, rest, index, count);
            // The last rank gets the remainder.
            let length = own_region.length.filter(|_| index + 1 < count);
            Ok(Region { length, ..own_region })
        }
        None => {
            let what = "cannot divide a region from an offset in bytes to the end";
            Err(format!("{what}; also specify its length"))
        }
    }
}

/// The parts are adjacent: every byte belongs to one part.
fn part_of_bytes(region: &Region, length: Extent, index: u64, count: u64) -> Result<Region, String> {
    let total = length.resolve(0);
    let unit = match total / count {
        0..MIN_PART => {
            let part_min = Bytes(MIN_PART * count);
            return Err(format!(
                "cannot divide a region of {} among {count} ranks; use at least {part_min}",
                Bytes(total)
            ));
        }
        MIN_PART..PART_ALIGNMENT => MIN_PART,
        _ => PART_ALIGNMENT,
    };
    let edge = |part: u64| match part == count {
        true => total,
        false => (u128::from(total) * u128::from(part) / u128::from(count)) as u64 / unit * unit,
    };
    let (from, to) = (edge(index), edge(index + 1));
    Ok(Region {
        base: Extent {
            bytes: Bytes(region.base.bytes.0 + from),
            ..region.base
        },
        length: Some(Extent::bytes(to - from)),
    })
}

/// Divides by percent, because only each host knows the size of its target.
fn part_of_percents(region: &Region, length: Extent, index: u64, count: u64) -> Region {
    let align = region.base.align.max(PART_ALIGNMENT);
    let times = |extent: Extent, factor: u64| Extent {
        bytes: Bytes(extent.bytes.0 / count * factor + extent.bytes.0 % count * factor / count),
        percent: extent.percent * factor as f64 / count as f64,
        align,
        round_up: false,
    };
    let before = times(length, index);
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

/// Replaces the placeholders of a name by the values of the rank.
pub fn expand_name(text: &str, rank: &Rank) -> String {
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

fn make_absolute(path: &str, folder: Option<&str>) -> String {
    let is_absolute = path.starts_with(['/', '\\']) || path.get(1..2) == Some(":");
    match folder {
        Some(folder) if !is_absolute && !path.is_empty() => format!("{}/{path}", folder.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

/// Merges the shares of all ranks into one plan.
pub fn merge_shares(common: &Plan, shares: &[Share]) -> Plan {
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

pub(crate) fn shift_targets(target: &mut StreamTarget, by: u32) {
    match target {
        StreamTarget::One { target } => target.0 += by,
        StreamTarget::Files { targets, .. } => targets.iter_mut().for_each(|target| target.0 += by),
    }
}

/// Merges the results of ranks. Add them in rank order, which becomes the order of workers.
#[derive(Debug)]
pub struct Gathering<'a> {
    results: Results,
    shares: &'a [Share],
    /// The index of each rank's first target in the merged plan.
    shifts: Vec<u32>,
    /// Index of each machine by its name and boot.
    machines: BTreeMap<(String, Option<String>), u32>,
    /// The indexes of a machine's counters in a step.
    counted: BTreeMap<(usize, u32), CounterRanges>,
}

/// The indexes of a machine's counters in a step.
#[derive(Clone, Debug, Default)]
struct CounterRanges {
    devices: Range<usize>,
    devices_measured: Range<usize>,
    samples: Range<usize>,
}

/// The index of each rank's first target in the merged plan.
pub fn shifts(shares: &[Share]) -> Vec<u32> {
    let mut before = 0;
    let rank_share = |share: &Share| {
        let shift = before;
        before += share.plan.targets.len() as u32;
        shift
    };
    shares.iter().map(rank_share).collect()
}

impl<'a> Gathering<'a> {
    /// Empty results of the merged plan, based on `frame`.
    pub fn new(common: &Plan, shares: &'a [Share], frame: Results) -> Gathering<'a> {
        let plan = merge_shares(common, shares);
        Gathering {
            results: Results {
                steps: plan.steps.iter().map(StepResults::not_started).collect(),
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

    /// Adds the results of a rank and returns the index of its machine. A machine with several
    /// ranks has its devices and processors counted once.
    pub fn add(&mut self, rank: u32, mut theirs: Results) -> Option<u32> {
        let share = self.shares.get(rank as usize)?;
        let shift = *self.shifts.get(rank as usize)?;
        let host = theirs.hosts.drain(..).next()?;
        let machine = self.find_or_add_machine(host, shift, &share.plan.targets);
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
                // The counters belong to the machine; each rank reports its own targets on the
                // devices.
                Some(places) => {
                    add_targets_to_devices(&mut into.devices[places.devices.clone()], from.devices);
                    add_targets_to_devices(
                        &mut into.devices_measured[places.devices_measured.clone()],
                        from.devices_measured,
                    );
                    // Processes of the fleet do not count as other programs.
                    for (mine, theirs) in into.samples[places.samples.clone()].iter_mut().zip(from.samples) {
                        mine.own_ns += theirs.own_ns;
                    }
                }
                None if from.has_counters() => {
                    let ranges = add_machine_counters(into, from, machine);
                    self.counted.insert((number, machine), ranges);
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

    /// Finds or adds the machine of a rank.
    fn find_or_add_machine(&mut self, mut host: HostResults, shift: u32, targets: &[Target]) -> u32 {
        let mut facts = std::mem::take(&mut host.environment.targets);
        facts.resize(targets.len(), TargetFacts::default());
        let environment_host = &host.environment.host;
        let key = (environment_host.name.clone(), environment_host.boot_id.clone());
        let hosts = &mut self.results.hosts;
        let machine = *self.machines.entry(key).or_insert(hosts.len() as u32);
        match hosts.get_mut(machine as usize) {
            Some(existing) => {
                existing.started_unix_ns = existing.started_unix_ns.min(host.started_unix_ns);
                existing.ended_unix_ns = existing.ended_unix_ns.max(host.ended_unix_ns);
                // Of a lost rank only the machine name is known.
                let own_processes = host.system.iter().flat_map(|system| system.own_processes.clone());
                let samples = existing.system.iter_mut();
                samples.for_each(|sample| sample.own_processes.extend(own_processes.clone()));
                if existing.environment.cpu.logical == 0 {
                    let mine = std::mem::replace(&mut existing.environment, host.environment);
                    (existing.environment.targets, existing.environment.target_numbers) =
                        (mine.targets, mine.target_numbers);
                    existing.system = host.system;
                }
            }
            None => hosts.push(host),
        }
        let environment = &mut hosts[machine as usize].environment;
        environment.target_numbers.extend(shift..shift + facts.len() as u32);
        environment.targets.append(&mut facts);
        machine
    }

    /// Completes the merged results.
    pub fn finish(self) -> Results {
        self.results
    }
}

/// Adds targets, and the reads of another process, to devices that are already counted.
fn add_targets_to_devices(mine: &mut [HostDeviceUse], theirs: Vec<HostDeviceUse>) {
    for theirs_entry in theirs {
        if let Some(mine) = mine
            .iter_mut()
            .find(|mine| mine.counters.name == theirs_entry.counters.name)
        {
            mine.counters.targets.extend(theirs_entry.counters.targets);
            // Each process counts its own reads, although all see the same device.
            let own_reads = mine.own_reads.zip(theirs_entry.own_reads);
            mine.own_reads = own_reads.map(|(mine, theirs)| Bytes(mine.0 + theirs.0));
        }
    }
}

fn add_machine_counters(into: &mut StepResults, mut from: StepResults, machine: u32) -> CounterRanges {
    let devices = from.devices.iter_mut().chain(&mut from.devices_measured);
    devices.for_each(|device| device.host = machine);
    from.cores.iter_mut().for_each(|core| core.host = machine);
    from.volumes.iter_mut().for_each(|volume| volume.host = machine);
    from.network_mounts.iter_mut().for_each(|mount| mount.host = machine);
    from.samples.iter_mut().for_each(|sample| sample.host = machine);
    let mut ranges = CounterRanges {
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
    ranges.samples.end = into.samples.len();
    ranges.devices.end = into.devices.len();
    ranges.devices_measured.end = into.devices_measured.len();
    ranges
}

#[cfg(test)]
mod tests;
