//! Lowers a run: a step with a job for each SD. A job has one worker, whose depth is the SD's
//! threads, and a stream for each workload on the SD: threads belong to the SD, and each workload
//! has one position on it.

use model::access::{Access, Advance, Sequential};
use model::block_size::BlockSizes;
use model::content::Content;
use model::draws::GeneratorChoice;
use model::plan::{
    AllocateMode, Consent, DepthScope, Dialect, EndPropagation, EngineChoice, EngineKind, Flow, Grid, GridScope, Job,
    Origin, Plan, Prepare, Step, Stop, Stream, Target, TargetCleanup, TargetId, TargetKind, TargetRules, Worker,
};
use model::{Bytes, Nanos};

use super::VdbenchEnv;
use super::data::{content, write_pattern};
use super::definitions::{Parameters, Sd, Transfer, Wd};
use super::refusals::check_supported;
use super::runs::{Run, RunRate};
use super::streams::{
    Piece, WHOLE, access, aligned_length, mix, range_bytes, sizes, split_hit_area, stream, too_small,
};
use super::tree_formats::with_tree_formats;
use crate::Diagnostic;

/// A lowered run.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The plan of the run.
    pub plan: Plan,
    /// For each job, worker and stream: the number of its workload in the run.
    pub workload_of: Vec<Vec<Vec<usize>>>,
    /// For each job: its place in reports.
    pub job_labels: Vec<JobLabel>,
    /// Total size of all SDs in bytes.
    pub lun_bytes: u64,
    /// Number of bytes (`maxdata=`) after which the run ends, one interval later. The plan does not
    /// contain this limit.
    pub max_bytes: Option<u64>,
}

/// The place of a job in reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobLabel {
    /// Its SD, or its FSD and FWD.
    pub report_files: Vec<String>,
    /// Its host; `None` is this process.
    pub rank: Option<usize>,
}

/// Lowers one run. SDs that are too small must have been laid out before.
///
/// # Errors
/// The unsupported setting.
pub fn lower(run: &Run, parameters: &Parameters, env: &dyn VdbenchEnv, seed: u64) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering::new(parameters, env, seed);
    lowering.lower_step(run)?;
    let max_bytes = lowering.byte_limit(run)?;
    let mut lowered = lowering.finish(&run.name);
    if max_bytes.is_some() {
        let jobs = lowered.plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
        jobs.for_each(|job| job.stop.bytes = None);
    }
    Ok(Lowered { max_bytes, ..lowered })
}

/// Lowers each run to a step, for commands other than the drop-in. Omits rates that depend on
/// measured rates, and returns a sentence for each omission.
///
/// # Errors
/// The unsupported setting.
pub fn lower_all(
    runs: &[Run],
    parameters: &Parameters,
    env: &dyn VdbenchEnv,
    seed: u64,
) -> Result<(Plan, Vec<String>), Diagnostic> {
    let mut lowering = Lowering::new(parameters, env, seed);
    let mut omissions = Vec::new();
    for run in &with_tree_formats(runs, parameters) {
        match run.rate {
            RunRate::OfLast(percent) => {
                omissions.push(format!("rd={}: {percent} % of the last observed rate", run.name));
                continue;
            }
            RunRate::Curve => omissions.push(format!(
                "rd={}: points of `iorate=curve`: their rates depend on the result of its first run",
                run.name
            )),
            RunRate::Max | RunRate::Number(_) | RunRate::Variable => {}
        }
        lowering.lower_step(run)?;
    }
    Ok((lowering.finish("vdbench").plan, omissions))
}

pub(super) fn grids(interval: u64) -> Vec<Grid> {
    let grid = |seconds, scope| Grid::new(Nanos::secs(seconds), scope);
    vec![grid(1, GridScope::Job), grid(interval, GridScope::Stream)]
}

pub(super) fn target_rules() -> TargetRules {
    TargetRules {
        consent: Consent::Implied,
        checks_growth: true,
        ..TargetRules::default()
    }
}

pub(super) fn origin() -> Origin {
    Origin {
        dialect: Dialect::Vdbench,
        ..Origin::default()
    }
}

pub(super) fn derive_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn create_worker(streams: Vec<Stream>, depth: u32, seed: u64) -> Worker {
    Worker {
        engine: EngineChoice {
            kind: if depth == 1 {
                EngineKind::Psync
            } else {
                EngineKind::Auto
            },
            ..EngineChoice::default()
        },
        depth: match streams.len() {
            1 => DepthScope::PerStream,
            _ => DepthScope::Shared { operations: depth },
        },
        draws: GeneratorChoice::Native { seed },
        streams,
        ..Worker::default()
    }
}

/// The state of lowering.
pub(super) struct Lowering<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) env: &'a dyn VdbenchEnv,
    pub(super) seed: u64,
    pub(super) targets: Vec<Target>,
    pub(super) steps: Vec<Step>,
    /// The host of each target.
    target_ranks: Vec<Option<usize>>,
    /// SDs already counted in `lun_bytes`: several hosts may use the same SD.
    counted_sds: Vec<String>,
    pub(super) workload_of: Vec<Vec<Vec<usize>>>,
    pub(super) job_labels: Vec<JobLabel>,
    interval: u64,
    pub(super) lun_bytes: u64,
}

impl<'a> Lowering<'a> {
    fn new(parameters: &'a Parameters, env: &'a dyn VdbenchEnv, seed: u64) -> Lowering<'a> {
        Lowering {
            parameters,
            env,
            seed,
            targets: Vec::new(),
            steps: Vec::new(),
            target_ranks: Vec::new(),
            counted_sds: Vec::new(),
            workload_of: Vec::new(),
            job_labels: Vec::new(),
            interval: 1,
            lun_bytes: 0,
        }
    }

    fn finish(self, name: &str) -> Lowered {
        let mut plan = Plan {
            name: name.to_owned(),
            seed: self.seed,
            targets: self.targets,
            steps: self.steps,
            grids: grids(self.interval),
            target_rules: target_rules(),
            origin: origin(),
            ..Plan::default()
        };
        write_pattern(&mut plan, self.parameters.general.pattern.as_ref());
        Lowered {
            plan,
            workload_of: self.workload_of,
            job_labels: self.job_labels,
            lun_bytes: self.lun_bytes,
            max_bytes: None,
        }
    }

    /// The number of bytes that ends a run.
    fn byte_limit(&self, run: &Run) -> Result<Option<u64>, Diagnostic> {
        let is_share = run.maxdata.as_ref().is_some_and(|maxdata| maxdata.bytes.abs() <= 100.0);
        let unknown = { run.sds.iter() }.find(|sd| self.sd_size(sd).is_ok_and(|size| size >= WHOLE));
        if let Some(sd) = unknown.filter(|_| is_share) {
            return Err(size_on_other_hosts(sd));
        }
        let sizes = run
            .sds
            .iter()
            .filter_map(|sd| self.sd_size(sd).ok().filter(|size| *size < WHOLE));
        run.byte_limit(run.files.is_none().then(|| sizes.sum()))
    }

    fn lower_step(&mut self, run: &Run) -> Result<(), Diagnostic> {
        self.interval = run.interval;
        check_supported(run)?;
        if let Some(files) = &run.files {
            return self.file_step(run, files);
        }
        if self.parameters.general.concatenates {
            return self.concatenated_step(run);
        }
        let mut sds_of_hosts: Vec<(Sd, Option<usize>)> = Vec::new();
        for sd in &run.sds {
            let places = self.parameters.places(run, sd);
            self.parameters.check_places(run, sd, &places)?;
            let part_for_host = |(number, rank): (usize, &Option<usize>)| (sd.part(number, places.len()), *rank);
            sds_of_hosts.extend(places.iter().enumerate().map(part_for_host));
        }
        // A workload has a generator for each of its SDs on each of its hosts.
        let generators = |(wd, _): &(Wd, f64)| {
            let parts_with_workload =
                { sds_of_hosts.iter() }.filter(|(sd, rank)| self.parameters.runs_on(wd, sd, *rank));
            parts_with_workload.count()
        };
        let generators: Vec<usize> = run.workloads.iter().map(generators).collect();
        let part_count = sds_of_hosts.len() as u64;
        let mut jobs = Vec::new();
        for (number, (sd, rank)) in sds_of_hosts.iter().enumerate() {
            let (mut workers, workloads) = self.lower_workers(run, (sd, *rank), number, &generators)?;
            self.parameters.validate(&sd.name, &mut workers, false);
            let worker_count = workers.len() as u64;
            let workloads_on_sd = { run.workloads.iter() }.filter(|(wd, _)| self.parameters.runs_on(wd, sd, *rank));
            let ends_at_eof =
                workloads_on_sd.clone().count() > 0 && workloads_on_sd.clone().all(|(wd, _)| wd.seekpct < 0);
            self.job_labels.push(JobLabel {
                report_files: vec![sd.name.clone()],
                rank: *rank,
            });
            jobs.push(Job {
                hosts: host_names(*rank),
                name: sd.name.clone(),
                phases: run.phases(run.ends_with_data()),
                stop: Stop {
                    passes: ends_at_eof.then_some(1),
                    ..self.build_stop(run, part_count * worker_count)?
                },
                workers,
                ..Job::default()
            });
            self.workload_of.push(workloads);
        }
        let ends_at_eof = |job: &Job| job.stop.passes.is_some();
        let has_several_hosts = sds_of_hosts.iter().any(|(_, rank)| *rank != sds_of_hosts[0].1);
        if has_several_hosts && jobs.iter().any(ends_at_eof) && !jobs.iter().all(ends_at_eof) {
            return Err(run.unsupported(
                "`seekpct=eof` together with other work on several hosts",
                "move it to a separate run",
            ));
        }
        if jobs.iter().any(|job| !ends_at_eof(job)) {
            let eof_jobs: Vec<usize> = (0..jobs.len()).filter(|job| ends_at_eof(&jobs[*job])).collect();
            if let [single] = eof_jobs[..] {
                jobs[single].ends_with.jobs = (0..jobs.len() as u32).filter(|job| *job != single as u32).collect();
            } else if !eof_jobs.is_empty() {
                return Err(run.unsupported(
                    "several SDs with `seekpct=eof` together with others",
                    "move them to a separate run",
                ));
            }
        }
        if has_unenforced_shares(run) {
            self.enforce_shares(run, &mut jobs, &sds_of_hosts)?;
        }
        end_on_failure(&mut jobs);
        self.steps.push(Step { jobs, prepare: None });
        Ok(())
    }

    /// Enforces the shares of workloads under `iorate=max` too: on one SD by weights, over several
    /// by counting operations together. Each host counts separately, so all hosts need the same
    /// workloads.
    fn enforce_shares(
        &self,
        run: &Run,
        jobs: &mut [Job],
        sds_of_hosts: &[(Sd, Option<usize>)],
    ) -> Result<(), Diagnostic> {
        let on_host = |rank: Option<usize>| sds_of_hosts.iter().filter(move |(_, part_rank)| *part_rank == rank);
        let generators = |wd: &Wd, rank: Option<usize>| {
            let parts_with_workload = on_host(rank).filter(|(sd, _)| self.parameters.runs_on(wd, sd, rank));
            parts_with_workload.count()
        };
        let has_same_generators = |wd: &Wd| {
            { sds_of_hosts.iter() }.all(|(_, rank)| generators(wd, *rank) == generators(wd, sds_of_hosts[0].1))
        };
        if !run.workloads.iter().all(|(wd, _)| has_same_generators(wd)) {
            return Err(run.unsupported(
                "`skew=` under `iorate=max` on hosts with different workloads",
                "set a rate for the run, or use every WD on every host, on the same number of SDs",
            ));
        }
        for (job, (_, rank)) in jobs.iter_mut().zip(sds_of_hosts) {
            for worker in job.workers.iter_mut().filter(|_| on_host(*rank).count() > 1) {
                share_by_counting(worker, *rank);
            }
        }
        Ok(())
    }

    pub(super) fn build_stop(&self, run: &Run, workers: u64) -> Result<Stop, Diagnostic> {
        let eof_workload_count = run.workloads.iter().filter(|(wd, _)| wd.seekpct < 0).count();
        if eof_workload_count > 0 && eof_workload_count < run.workloads.len() {
            let separate = run.sds.iter().all(|sd| {
                let workloads_on_sd = || run.workloads.iter().filter(|(wd, _)| wd.sds.contains(&sd.name));
                workloads_on_sd().all(|(wd, _)| wd.seekpct < 0) || workloads_on_sd().all(|(wd, _)| wd.seekpct >= 0)
            });
            if !separate {
                return Err(run.unsupported("workloads with and without `seekpct=eof` on one SD", "use separate SDs"));
            }
        }
        let bytes = self.byte_limit(run)?;
        Ok(Stop {
            after_ns: Some(Nanos::secs(run.measured_seconds().unwrap_or(0))),
            bytes: bytes.map(|bytes| Bytes(bytes / workers.max(1))),
            ..Stop::default()
        })
    }

    /// The size of an SD; [`WHOLE`] if only another host can tell.
    pub(super) fn sd_size(&self, sd: &Sd) -> Result<u64, Diagnostic> {
        let mut hosts = self.parameters.hosts.iter();
        if sd.size.is_none() && hosts.any(|host| !host.is_local && sd.hosts.contains(&host.label)) {
            return Ok(WHOLE);
        }
        let size = sd.size.or_else(|| self.env.read_size(&sd.lun)).filter(|size| *size > 0);
        size.ok_or_else(|| {
            Diagnostic::new("No lun or file size available.")
                .help(format!("set `size=` in sd={}, or create {}", sd.name, sd.lun))
        })
    }

    /// Returns the number of an SD's target, and adds the target if it is new. A file that is too
    /// short is laid out, unless an earlier step has done so.
    pub(super) fn prepare_target(&mut self, sd: &Sd, size: u64, rank: Option<usize>) -> TargetId {
        let path = escape_path(rank, &sd.lun);
        if let Some(target) = self.known_target(rank, &path) {
            return TargetId(target as u32);
        }
        let is_file = !sd.lun.starts_with("/dev/");
        // Each host of a fleet examines its own files.
        let is_short = rank.is_some() || self.env.read_size(&sd.lun).unwrap_or(0) < size;
        let general = &self.parameters.general;
        let block = general.format_block.unwrap_or(131_072).max(512);
        if !self.counted_sds.contains(&sd.name) && size < WHOLE {
            self.counted_sds.push(sd.name.clone());
            self.lun_bytes = self.lun_bytes.saturating_add(size);
        }
        let target = Target {
            path,
            kind: TargetKind::Path,
            prepare: match is_file && is_short && size < WHOLE && general.format != Some(false) && !general.concatenates
            {
                true => Prepare::LayOut {
                    size: Bytes(size),
                    allocate: AllocateMode::None,
                    content: content(general.compratio, general.dedup, size / block).or(Some(Content::Fresh)),
                    block: block as u32,
                    extend: true,
                    flush: false,
                    on_open: false,
                    may_create: true,
                },
                false => Prepare::Existing,
            },
            at_end: TargetCleanup::Keep,
        };
        self.add_target(rank, target)
    }

    /// The number of a target of a host, if it has one with this path.
    pub(super) fn known_target(&self, rank: Option<usize>, path: &str) -> Option<usize> {
        let mut targets = self.targets.iter().zip(&self.target_ranks);
        targets.position(|(target, target_rank)| target.path == path && *target_rank == rank)
    }

    pub(super) fn add_target(&mut self, rank: Option<usize>, target: Target) -> TargetId {
        self.targets.push(target);
        self.target_ranks.push(rank);
        TargetId(self.targets.len() as u32 - 1)
    }

    /// The workers of an SD on a host.
    fn lower_workers(
        &mut self,
        run: &Run,
        (sd, rank): (&Sd, Option<usize>),
        number: usize,
        generators: &[usize],
    ) -> Result<(Vec<Worker>, Vec<Vec<usize>>), Diagnostic> {
        let size = self.sd_size(sd)?;
        let target = self.prepare_target(sd, size, rank);
        let seed = derive_seed(self.seed, (self.steps.len() * 4096 + number) as u64);
        let workloads = run.workloads.iter().enumerate();
        let workloads_on_sd: Vec<(usize, Wd, f64)> = workloads
            .filter(|(_, (wd, _))| self.parameters.runs_on(wd, sd, rank))
            .map(|(index, (wd, share))| {
                let count = generators[index] as f64;
                let rate = wd.rate.map(|rate| rate / count);
                (index, Wd { rate, ..wd.clone() }, share / count)
            })
            .collect();
        if let Some((index, wd, _)) = workloads_on_sd.iter().find(|(_, wd, _)| wd.streams.is_some()) {
            return self.build_stream_workers(run, sd, wd, *index, target, seed);
        }
        let (mut streams, mut workloads) = (Vec::new(), Vec::new());
        for (index, wd, share) in &workloads_on_sd {
            for piece in self.pieces(run, sd, wd)? {
                streams.push(stream(
                    run,
                    sd,
                    wd,
                    target,
                    share * piece.share,
                    (number + *index) as u64,
                    piece,
                ));
                workloads.push(*index);
            }
        }
        streams.iter_mut().for_each(|stream| stream.depth = sd.threads);
        Ok((vec![create_worker(streams, sd.threads, seed)], vec![workloads]))
    }

    /// A worker for each of a workload's `streams=`, with its part of the SD and of the threads.
    fn build_stream_workers(
        &self,
        run: &Run,
        sd: &Sd,
        wd: &Wd,
        index: usize,
        target: TargetId,
        seed: u64,
    ) -> Result<(Vec<Worker>, Vec<Vec<usize>>), Diagnostic> {
        let streams = wd.streams.unwrap_or(1);
        if run.workloads.len() > 1 {
            return Err(run.unsupported("`streams=` together with other workloads", "move it to a separate run"));
        }
        if run.rate != RunRate::Max {
            return Err(Diagnostic::new("Use of the streams= parameter requires iorate=max"));
        }
        if !sd.threads.is_multiple_of(streams) {
            let message = format!(
                "'threads={}' must be a multiple of the amount of streams={streams}",
                sd.threads
            );
            return Err(Diagnostic::new(message));
        }
        let Transfer::One(block) = wd.xfersize else {
            return Err(run.unsupported(
                "`streams=` with several transfer sizes",
                "set `xfersize=` to a single size",
            ));
        };
        let (low, high) = self.regions(sd, wd)?[0];
        let stream_bytes = (high - low) / u64::from(streams) / block * block;
        if stream_bytes < block {
            return Err(too_small(
                &format!("each of the streams={streams} of sd={}", sd.name),
                block,
            ));
        }
        let workers = (0..streams).map(|number| {
            let piece = Piece {
                share: 1.0,
                region: (low + stream_bytes * u64::from(number), stream_bytes),
                mix: mix(f64::from(wd.rdpct)),
                access: Access::Sequential(Sequential {
                    advance: Advance::Length { skip: 0 },
                    ..Sequential::default()
                }),
                sizes: BlockSizes::Fixed { size: Bytes(block) },
                align: 0,
            };
            let depth = sd.threads / streams;
            let mut stream = stream(run, sd, wd, target, 100.0, 0, piece);
            stream.depth = depth;
            create_worker(vec![stream], depth, derive_seed(seed, u64::from(number)))
        });
        Ok((workers.collect(), vec![vec![index]; streams as usize]))
    }

    /// The largest transfer size that any workload or loop of the parameter file uses on an SD.
    pub(super) fn max_transfer_size(&self, sd: &Sd, wd: &Wd) -> u64 {
        let max_of_transfer = |transfer: &Transfer| match transfer {
            Transfer::One(size) => *size,
            Transfer::Shares(shares) => shares.iter().map(|(size, _)| *size).max().unwrap_or(512),
            Transfer::Steps(_, max, _) => *max,
        };
        let wds_on_sd = self.parameters.wds.iter().filter(|wd| wd.sds.contains(&sd.name));
        let loops = self
            .parameters
            .rds
            .iter()
            .flat_map(|rd| &rd.loops)
            .filter(|(field, _)| *field == "xfersize");
        let loops = loops.flat_map(|(_, values)| values).map(|value| *value as u64);
        wds_on_sd
            .map(|wd| max_of_transfer(&wd.xfersize))
            .chain([max_of_transfer(&wd.xfersize)])
            .chain(loops)
            .max()
            .unwrap_or(4096)
            .max(512)
    }

    /// Byte ranges of an SD that a workload uses: two if the range wraps around.
    fn regions(&self, sd: &Sd, wd: &Wd) -> Result<Vec<(u64, u64)>, Diagnostic> {
        let size = self.sd_size(sd)?;
        let block = self.max_transfer_size(sd, wd);
        let round_down = |bytes: u64| bytes / block * block;
        // The first block of a device contains its label.
        let start = if sd.lun.starts_with("/dev/") { block } else { 0 };
        let range = wd.range.or(sd.range);
        let needs_size = range.is_some()
            || wd.poisson.is_some()
            || wd.streams.is_some()
            || wd.hits != (0.0, 0.0)
            || self.parameters.general.dedup.is_some();
        if size == WHOLE && needs_size {
            return Err(size_on_other_hosts(sd));
        }
        let range = range.unwrap_or((0.0, 100.0));
        let (low, high) = range_bytes(range, size);
        let (low, high) = (round_down(low.max(0.0) as u64).max(start), high as u64);
        let end = size.saturating_sub(sd.offset);
        let mut ranges = vec![(low, round_down(high.min(size)).min(end))];
        if range.1 <= 200.0 && high > size {
            ranges.push((start, round_down(high - size).min(end)));
        }
        let length: u64 = ranges.iter().map(|(low, high)| high.saturating_sub(*low)).sum();
        if length < 2 * block {
            return Err(too_small(&format!("sd={}", sd.name), block));
        }
        ranges.retain(|(low, high)| high > low);
        Ok(ranges
            .into_iter()
            .map(|(low, high)| (low + sd.offset, high + sd.offset))
            .collect())
    }

    /// The streams of a workload on an SD.
    fn pieces(&self, run: &Run, sd: &Sd, wd: &Wd) -> Result<Vec<Piece>, Diagnostic> {
        let mut pieces = Vec::new();
        let regions = self.regions(sd, wd)?;
        let access = access(run, wd)?;
        let is_random = wd.seekpct == 100 && wd.stride.is_none();
        if regions.len() > 1 && (!is_random || wd.poisson.is_some()) {
            return Err(run.unsupported(
                "a `range=` or `hotband=` beyond 100 % with sequential work or `poisson`",
                "use two SDs",
            ));
        }
        let total: u64 = regions.iter().map(|(low, high)| high - low).sum();
        for (low, high) in regions {
            let region_share = (high - low) as f64 / total as f64;
            for (share, reads, low, high) in split_hit_area(run, sd, wd, low, high)? {
                for (size_share, sizes, align) in sizes(run, sd, wd, is_random)? {
                    let length = match (&access, &sizes) {
                        (Access::Random { .. }, BlockSizes::Fixed { size }) => {
                            aligned_length(high - low, size.0, align)
                        }
                        _ => high - low,
                    };
                    pieces.push(Piece {
                        share: region_share * share * size_share,
                        region: (low, length),
                        mix: mix(reads),
                        access: access.clone(),
                        sizes,
                        align,
                    });
                }
            }
        }
        pieces.retain(|piece| piece.share > 0.0);
        Ok(pieces)
    }
}

/// The path of a target in a plan. In a fleet, a plan replaces `%h` and `%r` in paths, so `%` is
/// escaped.
pub(super) fn escape_path(rank: Option<usize>, path: &str) -> String {
    match rank {
        Some(_) => path.replace('%', "%%"),
        None => path.to_owned(),
    }
}

/// The hosts of a job for one rank; none for this process.
pub(super) fn host_names(rank: Option<usize>) -> Vec<String> {
    rank.map(|rank| rank.to_string()).into_iter().collect()
}

/// A failed worker ends the whole run.
pub(super) fn end_on_failure(jobs: &mut [Job]) {
    let count = jobs.len() as u32;
    for (number, job) in (0..).zip(jobs) {
        job.ends_with = EndPropagation {
            workers_on_failure: true,
            plan: true,
            on_failure: (0..count).filter(|other| *other != number).collect(),
            ..std::mem::take(&mut job.ends_with)
        };
    }
}

/// True if a run has shares of workloads, and no rates that enforce them.
pub(super) fn has_unenforced_shares(run: &Run) -> bool {
    let has_rates = run.workloads.iter().any(|(wd, _)| wd.rate.is_some());
    run.controlled && !has_rates && !matches!(run.rate, RunRate::Number(_) | RunRate::Variable)
}

/// The flow in which the streams of a host count their operations.
pub(super) fn flow_id(rank: Option<usize>) -> i64 {
    rank.map_or(1, |rank| rank as i64 + 1)
}

/// Makes all workers of a host count their operations together. The streams of a worker divide the
/// worker's share by their weights.
pub(super) fn share_by_counting(worker: &mut Worker, rank: Option<usize>) {
    let weight = worker.streams.iter().map(|stream| stream.weight).sum();
    let (id, pause_ns) = (flow_id(rank), Nanos(0));
    worker.streams[0].flow = Some(Flow { id, weight, pause_ns });
}

fn size_on_other_hosts(sd: &Sd) -> Diagnostic {
    let message = format!("cannot read the size of sd={}: it is on other hosts", sd.name);
    Diagnostic::new(message).help(format!(
        "set `size=` in sd={}: `range=`, `hotband=`, `poisson`, `streams=`, `rhpct=`, `whpct=`, `dedupratio=` and a \
         `maxdata=` in SD sizes need it",
        sd.name
    ))
}
