//! Runs on trees of files, and the jobs that they become.
//!
//! Each FWD has a job for each of its FSDs and operations, with a worker for each thread. Threads
//! keep a file open for the number of blocks in `stopafter=`; a rate does not count opening and
//! closing.

use std::collections::{BTreeMap, BTreeSet};

use model::block_size::{BlockSizes, SizeShare};
use model::draws::GeneratorChoice;
use model::plan::{
    DepthScope, EngineChoice, EngineKind, Existence, FileGroup, FileOperationKind, FilePart, FileSession, FileTree,
    FileWork, Flow, Job, KeptTree, Prepare, SessionTransfers, Step, Stop, Stream, SyncRule, Target, TargetCleanup,
    TargetId, TargetKind, Worker, WorkingSet,
};
use model::{Bytes, Nanos};

use super::definitions::{Parameters, Rd, Transfer};
use super::file_refusals::refuse_files;
use super::files::{FormatWords, Fsd, Fwd, OPERATIONS, TreeFormat, find_operation};
use super::lower::{JobLabel, Lowering, derive_seed, end_on_failure, escape_path, flow_id, host_names};
use super::runs::{Run, RunRate};
use super::streams::{DIRECT_FLAGS, cache_mode, file_stream, gcd};
use super::workloads::{divide_skew, find_named, matches_name};
use crate::Diagnostic;

/// A format that still runs then will never end.
const MAX_FORMAT_SECONDS: u64 = 100 * 24 * 3600;

/// How long a thread ahead of its share sleeps. Polling threads would take the processors from
/// those behind.
const SHARE_PAUSE: Nanos = Nanos::micros(100);

/// The trees and workloads of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRun {
    /// `format=`.
    pub format: FormatWords,
    /// Its workloads with their share of the operations in percent.
    pub fwds: Vec<(Fwd, f64)>,
    /// Their FSDs in order of definition.
    pub fsds: Vec<Fsd>,
    /// `operations=` of the RD.
    pub operations: Vec<usize>,
    /// The run itself creates trees.
    pub makes: Option<TreeFormat>,
    /// It reads only key blocks that are known from an earlier run.
    pub recovers: bool,
}

/// The operation of one job of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FileLoad<'a> {
    /// Number of its FWD in the run.
    pub number: usize,
    /// Its FWD.
    pub fwd: &'a Fwd,
    /// Its FSD.
    pub fsd: &'a Fsd,
    /// The host that executes it; `None` is this process.
    pub rank: Option<usize>,
    /// Index of the operation in `OPERATIONS`.
    pub operation: usize,
    /// Percent of the operations.
    pub share: f64,
    /// Operations in parallel.
    pub threads: u32,
}

impl FileRun {
    /// The file run of an RD; `None` if it is not on files.
    pub(super) fn from_rd(rd: &Rd, parameters: &Parameters) -> Result<Option<FileRun>, String> {
        if rd.fwds.is_empty() {
            return Ok(None);
        }
        let mut fwds = find_named(&rd.fwds, &parameters.fwds, |fwd| &fwd.name)
            .map_err(|wanted| format!("Could not find fwd={wanted} for rd={}", rd.name))?;
        find_named(&rd.fsds, &parameters.fsds, |fsd| &fsd.name)
            .map_err(|wanted| format!("Could not find fsd={wanted} for rd={}", rd.name))?;
        if !rd.fsds.is_empty() {
            fwds.iter_mut().for_each(|fwd| fwd.fsds.clone_from(&rd.fsds));
        }
        let (mut fwds, total) = divide_skew(fwds, |fwd| fwd.skew);
        if (total - 100.0).abs() > 0.0001 {
            return Err(format!("Total skew must add up to 100: {total:?}"));
        }
        let used = |fsd: &&Fsd| fwds.iter().any(|(fwd, _)| fwd.uses(fsd));
        let mut fsds: Vec<Fsd> = parameters.fsds.iter().filter(used).cloned().collect();
        for (fwd, _) in &mut fwds {
            fwd.ranks = parameters.ranks(&fwd.hosts);
        }
        for fsd in &mut fsds {
            let users = fwds.iter().filter(|(fwd, _)| fwd.uses(fsd));
            fsd.ranks = users.flat_map(|(fwd, _)| fwd.ranks.clone()).collect();
            fsd.ranks.sort_unstable();
            fsd.ranks.dedup();
            if fsd.ranks.len() > 1 && !fsd.is_shared {
                return Err(format!(
                    "Multiple hosts may only be requested for an FSD when 'shared=yes' is specified. rd={}",
                    rd.name
                ));
            }
        }
        Ok(Some(FileRun {
            format: rd.format,
            fsds,
            operations: rd.operations.clone(),
            makes: None,
            recovers: false,
            fwds,
        }))
    }

    /// The hosts of an FWD on an FSD. One host creates and removes a whole tree.
    fn ranks_of(&self, fwd: &Fwd, fsd: &Fsd) -> Vec<Option<usize>> {
        match self.makes.is_some() || fwd.ranks.is_empty() {
            true => vec![fsd.rank()],
            false => fwd.ranks.iter().copied().map(Some).collect(),
        }
    }

    /// Returns one load for each operation of each FWD on each of its hosts.
    pub fn loads(&self) -> Vec<FileLoad<'_>> {
        let mut loads = Vec::new();
        for (number, (fwd, share)) in self.fwds.iter().enumerate() {
            let is_selected = |fsd: &&Fsd| fwd.fsds.iter().any(|wanted| matches_name(wanted, &fsd.name));
            let fsds: Vec<&Fsd> = self.fsds.iter().filter(is_selected).collect();
            let own_operation = [fwd.operation];
            // Percentages of reads replace operations.
            let operations = if self.operations.is_empty() || fwd.rdpct.is_some() {
                &own_operation[..]
            } else {
                &self.operations
            };
            let places = fsds.iter().flat_map(|fsd| {
                let ranks = self.ranks_of(fwd, fsd).into_iter();
                ranks.map(|rank| (*fsd, rank))
            });
            let places: Vec<(&Fsd, Option<usize>)> = places.collect();
            let parts = (places.len() * operations.len()).max(1);
            for (fsd, rank) in places {
                loads.extend(operations.iter().map(|operation| FileLoad {
                    number,
                    fwd,
                    fsd,
                    rank,
                    operation: *operation,
                    share: share / parts as f64,
                    threads: (fwd.threads / parts as u32).max(1),
                }));
            }
        }
        loads
    }

    /// Enforces the shares of FWDs under `fwdrate=max`: their threads count operations together,
    /// and those ahead wait. While they wait they hold files, so there must be others for the rest.
    fn flow(&self, run: &Run, load: &FileLoad<'_>, set: Option<WorkingSet>) -> Result<Option<Flow>, Diagnostic> {
        let is_skewed = { self.fwds.iter() }.any(|(fwd, _)| fwd.skew.is_some_and(|skew| skew < 100.0));
        if !is_skewed || self.makes.is_some() || !matches!(run.rate, RunRate::Max | RunRate::Curve) {
            return Ok(None);
        }
        let all: u64 = self.loads().iter().map(|load| u64::from(load.threads)).sum();
        let threads = load.useful_threads(None, set);
        let files = load.object_count(None, set)
            / if load.has_own_files(None) {
                u64::from(threads)
            } else {
                1
            };
        let ranks: BTreeSet<Option<usize>> = self.loads().iter().map(|load| load.rank).collect();
        if ranks.iter().any(|rank| !self.has_same_shares(*rank, load.rank)) {
            return Err(run.unsupported(
                "`skew=` under `fwdrate=max` or `curve` on hosts with different workloads",
                "set a rate for the run, or use every FWD on every host, with as many FSDs",
            ));
        }
        if !load.shares_files(None) && files <= all {
            return Err(run.unsupported(
                "`skew=` under `fwdrate=max` or `curve` with few files",
                &format!(
                    "set a rate for the run, or use more files than threads in fsd={}",
                    load.fsd.name
                ),
            ));
        }
        Ok(Some(Flow {
            id: flow_id(load.rank),
            weight: (load.share * 1e6 / f64::from(threads)).round().max(1.0) as u32,
            pause_ns: SHARE_PAUSE,
        }))
    }

    /// True if two hosts have the same operations, so that each can enforce the shares alone.
    fn has_same_shares(&self, first: Option<usize>, second: Option<usize>) -> bool {
        let shares_on = |rank: Option<usize>| {
            let mut shares = BTreeMap::new();
            for load in self.loads().into_iter().filter(|load| load.rank == rank) {
                *shares.entry((load.number, load.operation)).or_insert(0) += (load.share * 1e6).round() as i64;
            }
            shares
        };
        shares_on(first) == shares_on(second)
    }

    /// True if the run may have nothing left to do before its time is over.
    pub fn can_run_out(&self) -> bool {
        self.makes.is_some() || self.loads().iter().any(|load| load.fwd.once || load.changes_names())
    }

    /// Sets a varying parameter.
    pub(super) fn set(&mut self, field: &str, value: f64) {
        let fwds = self.fwds.iter_mut().map(|(fwd, _)| fwd);
        match field {
            "xfersize" => fwds.for_each(|fwd| fwd.xfersize = Transfer::One(value as u64)),
            "threads" => fwds.for_each(|fwd| fwd.threads = value as u32),
            "rdpct" => fwds.for_each(|fwd| fwd.rdpct = Some(value.abs() as u8)),
            "operation" => self.operations = vec![value as usize],
            "depth" => self.fsds.iter_mut().for_each(|fsd| fsd.depth = value as u32),
            "width" => self.fsds.iter_mut().for_each(|fsd| fsd.width = value as u32),
            "files" => self.fsds.iter_mut().for_each(|fsd| fsd.files = value as u32),
            "sizes" => self
                .fsds
                .iter_mut()
                .for_each(|fsd| fsd.sizes = vec![(value as u64, 100.0)]),
            "totalsize" => self.fsds.iter_mut().for_each(|fsd| fsd.total = Some(value as u64)),
            "wss" => self
                .fsds
                .iter_mut()
                .for_each(|fsd| fsd.working_set = Some(value as u64)),
            _ => {}
        }
    }
}

impl Fwd {
    /// True if it reads or writes an FSD, or copies to it.
    fn uses(&self, fsd: &Fsd) -> bool {
        let mut wanted = self.fsds.iter().chain(&self.target);
        wanted.any(|wanted| matches_name(wanted, &fsd.name))
    }
}

impl Fsd {
    /// The first host that uses it; `None` is this process.
    pub fn rank(&self) -> Option<usize> {
        self.ranks.first().copied()
    }

    /// Returns the shape of its directories and files.
    pub fn tree(&self) -> FileTree {
        match self.total {
            Some(bytes) => self.whole_tree().limited_to(bytes),
            None => self.whole_tree(),
        }
    }

    /// True if its tree cannot be created: `totalsize=` limits files, not directories.
    pub(super) fn has_too_many_directories(&self) -> bool {
        self.whole_tree().directory_count() > FileTree::MAX_FILES
    }

    pub(super) fn describe_directories(&self) -> String {
        let Fsd { depth, width, .. } = self;
        let max = FileTree::MAX_FILES;
        format!("a tree of depth={depth} and width={width} has more than {max} directories")
    }

    /// Its tree without the limit of `totalsize=`.
    pub fn whole_tree(&self) -> FileTree {
        FileTree {
            depth: self.depth,
            width: self.width,
            files_per_directory: self.files,
            fills_all_levels: self.fills_all_levels,
            changes_directories: true,
            sizes: split(&self.sizes),
            draws_percents: self.sizes.len() > 1 && self.sizes.iter().all(|(_, percent)| percent.fract() == 0.0),
            // The tree is the same in every run.
            kept: Some(KeptTree::Existing),
            ..FileTree::default()
        }
    }

    /// The files that a run uses, if not all.
    pub fn working_set(&self, seed: u64) -> Option<WorkingSet> {
        let bytes = self.working_set?;
        Some(WorkingSet::with_size(&self.tree(), bytes, seed))
    }
}

pub(super) fn operation(name: &str) -> usize {
    find_operation(name).expect("a row of OPERATIONS")
}

fn split(sizes: &[(u64, f64)]) -> BlockSizes {
    match sizes {
        [(size, _)] => BlockSizes::Fixed { size: Bytes(*size) },
        _ => BlockSizes::Split {
            entries: sizes
                .iter()
                .map(|(size, percent)| SizeShare {
                    size: Bytes(*size),
                    percent: *percent,
                })
                .collect(),
        },
    }
}

impl FileLoad<'_> {
    /// True if it creates or removes files or directories.
    fn changes_names(&self) -> bool {
        self.fwd.rdpct.is_none() && self.kind().existence() != Existence::Unchanged
    }

    /// True if its threads take files that other threads use.
    fn shares_files(&self, makes: Option<TreeFormat>) -> bool {
        self.fwd.shares_files && makes.is_none() && !self.changes_names() && !self.kind().needs_destination()
    }

    /// Number of files or directories among which its threads choose.
    fn object_count(&self, makes: Option<TreeFormat>, set: Option<WorkingSet>) -> u64 {
        let tree = self.fsd.tree();
        let all = match self.kind().is_on_directory() {
            true => tree.directory_count(),
            false => set.map_or(tree.file_count(), |set| u64::from(set.files)),
        };
        match self.part(makes) {
            None => all,
            Some(part) => u64::from(part.file_count(u32::try_from(all).unwrap_or(u32::MAX))),
        }
    }

    /// The files of its host, if several hosts share the tree.
    pub(super) fn part(&self, makes: Option<TreeFormat>) -> Option<FilePart> {
        let ranks = &self.fsd.ranks;
        let index = ranks.iter().position(|rank| Some(*rank) == self.rank)? as u32;
        let count = ranks.len() as u32;
        (makes.is_none() && count > 1).then_some(FilePart { index, count })
    }

    /// True if its threads take files round-robin, each having its own.
    fn has_own_files(&self, makes: Option<TreeFormat>) -> bool {
        !self.shares_files(makes) && (makes.is_some() || !self.fwd.selects_at_random)
    }

    /// Number of threads that have a file of their own, if each needs one.
    fn useful_threads(&self, makes: Option<TreeFormat>, set: Option<WorkingSet>) -> u32 {
        let files = self.object_count(makes, set).clamp(1, u64::from(u32::MAX)) as u32;
        match self.has_own_files(makes) {
            true => self.threads.min(files),
            false => self.threads,
        }
    }

    /// The open flags in effect.
    fn flags<'a>(&'a self, run: &'a Run) -> &'a [String] {
        let flag_lists = [&run.flags, &self.fwd.flags, &self.fsd.flags].into_iter();
        flag_lists
            .into_iter()
            .find(|flags| !flags.is_empty())
            .map_or(&[], Vec::as_slice)
    }

    fn has_flag(&self, run: &Run, names: &[&str]) -> bool {
        self.flags(run).iter().any(|flag| names.contains(&flag.as_str()))
    }

    pub(super) fn is_direct(&self, run: &Run) -> bool {
        self.has_flag(run, DIRECT_FLAGS)
    }

    pub(super) fn name(&self) -> &'static str {
        OPERATIONS[self.operation].0
    }

    /// The kind of operation that it counts as.
    pub(super) fn kind(&self) -> FileOperationKind {
        OPERATIONS[self.operation].1
    }

    /// Percentage of reads among its transfers.
    pub(super) fn read_percent(&self) -> f64 {
        match self.fwd.rdpct {
            Some(percent) => f64::from(percent),
            None if self.writes() => 0.0,
            None => 100.0,
        }
    }

    /// True if its files are opened for writing.
    pub fn writes(&self) -> bool {
        let writes = [FileOperationKind::WriteBlock, FileOperationKind::Create];
        self.requested().iter().any(|kind| writes.contains(kind))
    }

    /// True for operations that a rate counts.
    pub fn requested(&self) -> Vec<FileOperationKind> {
        match self.fwd.rdpct {
            Some(_) => vec![FileOperationKind::ReadBlock, FileOperationKind::WriteBlock],
            None => vec![self.kind()],
        }
    }

    /// The operations of its threads.
    fn work(&self, run: &Run, makes: Option<TreeFormat>, seed: u64) -> Result<FileWork, Diagnostic> {
        let fwd = self.fwd;
        let operations = match self.kind() {
            _ if fwd.rdpct.is_some() => vec![FileOperationKind::Open],
            FileOperationKind::WriteBlock if fwd.deletes_first => {
                vec![FileOperationKind::Delete, FileOperationKind::Create]
            }
            FileOperationKind::ReadBlock | FileOperationKind::WriteBlock | FileOperationKind::Close => {
                vec![FileOperationKind::Open]
            }
            kind => vec![kind],
        };
        let sizes = match &fwd.xfersize {
            Transfer::One(size) => vec![(*size, 100.0)],
            Transfer::Shares(shares) => shares.clone(),
            Transfer::Steps(..) => {
                return Err(run.unsupported(
                    "an `xfersize=` of three numbers on files",
                    "list sizes with percentages",
                ));
            }
        };
        let transfers = |write_percent: u8| SessionTransfers {
            sizes: split(&sizes),
            random: fwd.is_random && makes.is_none(),
            write_percent,
            count: fwd.stopafter.filter(|blocks| *blocks > 0.0).map(|blocks| blocks as u64),
            percent: fwd.stopafter.filter(|share| *share < 0.0).map_or(100.0, |share| -share),
        };
        let written = match (makes, fwd.rdpct, self.name()) {
            (Some(_), _, "create") => Some(100),
            (None, Some(reads), _) => Some(100 - reads),
            (None, None, "read") => Some(0),
            (None, None, "write") => Some(100),
            _ => None,
        };
        let opens = [FileOperationKind::Open, FileOperationKind::Create];
        let is_session = operations.last().is_some_and(|last| opens.contains(last));
        Ok(FileWork {
            groups: vec![FileGroup { operations, share: 1 }],
            in_sequence: false,
            in_order: makes.is_some() || !fwd.selects_at_random,
            shares_files: self.shares_files(makes),
            midpoint: fwd.poisson.filter(|_| makes.is_none()),
            destination: None,
            once: fwd.once,
            working_set: self.fsd.working_set(seed).filter(|_| makes.is_none()),
            part: self.part(makes),
            // Positions are multiples of every size.
            block: Bytes(sizes.iter().fold(0, |unit, (size, _)| gcd(unit, *size)).max(1)),
            session: is_session.then(|| FileSession {
                transfers: written.map(transfers),
            }),
        })
    }
}

impl Lowering<'_> {
    /// The step of a run on files.
    pub(super) fn file_step(&mut self, run: &Run, files: &FileRun) -> Result<(), Diagnostic> {
        refuse_files(run, files)?;
        let bytes = run.byte_limit(None)?;
        let all_threads: u64 = files.loads().iter().map(|load| u64::from(load.threads)).sum();
        let mut jobs = Vec::new();
        // The same files for all FWDs of a run, and others for the next run.
        let seed_of_files = derive_seed(self.seed, self.steps.len() as u64);
        for (index, load) in files.loads().iter().enumerate() {
            let target = self.tree_target(run, (load.fsd, load.rank), files.makes)?;
            let work = FileWork {
                destination: self.destination(run, files, load)?,
                ..load.work(run, files.makes, seed_of_files)?
            };
            let threads = load.useful_threads(files.makes, work.working_set);
            let flow = files.flow(run, load, work.working_set)?;
            let cache = cache_mode(|names| load.has_flag(run, names));
            let sync = SyncRule {
                on_close: load.has_flag(run, &["fsync"]),
                ..SyncRule::default()
            };
            let seed = derive_seed(self.seed, (self.steps.len() * 4096 + index) as u64);
            let worker = |thread: u32| {
                let share = load.share / f64::from(threads);
                Worker {
                    engine: EngineChoice {
                        kind: EngineKind::Files,
                        ..EngineChoice::default()
                    },
                    depth: DepthScope::PerStream,
                    draws: GeneratorChoice::Native {
                        seed: derive_seed(seed, u64::from(thread)),
                    },
                    streams: vec![Stream {
                        flow,
                        cache,
                        sync,
                        ..file_stream(
                            run,
                            &work,
                            target,
                            (share, load.fsd.tree().total_size(), threads),
                            thread,
                        )
                    }],
                    ..Worker::default()
                }
            };
            let mut workers: Vec<Worker> = (0..threads).map(worker).collect();
            self.parameters.validate(&load.fsd.name, &mut workers, files.recovers);
            jobs.push(Job {
                hosts: host_names(load.rank),
                name: load.fwd.name.clone(),
                phases: run.phases(run.ends_with_data()),
                stop: Stop {
                    bytes: bytes.map(|bytes| Bytes((bytes / all_threads.max(1)).max(1))),
                    // A format ends when no file is left to create.
                    after_ns: Some(Nanos::secs(run.measured_seconds().unwrap_or(MAX_FORMAT_SECONDS))),
                    ..Stop::default()
                },
                workers,
                ..Job::default()
            });
            self.workload_of.push((0..threads).map(|_| vec![load.number]).collect());
            self.job_labels.push(JobLabel {
                report_files: vec![load.fsd.name.clone(), load.fwd.name.clone()],
                rank: load.rank,
            });
        }
        end_on_failure(&mut jobs);
        self.steps.push(Step { jobs, prepare: None });
        Ok(())
    }

    /// The tree to which files are copied or moved.
    fn destination(&mut self, run: &Run, files: &FileRun, load: &FileLoad<'_>) -> Result<Option<TargetId>, Diagnostic> {
        if files.makes.is_some() || load.fwd.rdpct.is_some() || !load.kind().needs_destination() {
            return Ok(None);
        }
        let operation = load.name();
        let named = load.fwd.target.as_ref();
        let Some(to) = files.fsds.iter().find(|fsd| Some(&fsd.name) == named) else {
            let message = format!("`operation={operation}` without `target=`");
            return Err(run.unsupported(&message, &format!("set `target=` in fwd={}", load.fwd.name)));
        };
        if to.anchor == load.fsd.anchor || to.tree() != load.fsd.tree() || to.ranks != load.fsd.ranks {
            let message = format!("`operation={operation}` from fsd={} to fsd={}", load.fsd.name, to.name);
            let help = "use separate anchors, the same host, and the same `depth=`, `width=`, `files=`, \
                        `sizes=` and `totalsize=`";
            return Err(run.unsupported(&message, help));
        }
        self.tree_target(run, (to, load.rank), None).map(Some)
    }

    /// The number of an FSD's target on a host.
    fn tree_target(
        &mut self,
        run: &Run,
        (fsd, rank): (&Fsd, Option<usize>),
        makes: Option<TreeFormat>,
    ) -> Result<TargetId, Diagnostic> {
        let tree = FileTree {
            kept: Some(match makes {
                None => KeptTree::Existing,
                Some(TreeFormat::All | TreeFormat::Directories) => KeptTree::Emptied,
                Some(TreeFormat::Restart) => KeptTree::Completed,
                Some(TreeFormat::Clean) => KeptTree::Removed,
            }),
            ..fsd.tree()
        };
        let path = escape_path(rank, &fsd.anchor);
        if let Some(number) = self.known_target(rank, &path) {
            let is_same = |existing: &FileTree| {
                FileTree {
                    kept: None,
                    ..existing.clone()
                } == FileTree {
                    kept: None,
                    ..tree.clone()
                }
            };
            return match &self.targets[number].kind {
                TargetKind::Tree { tree: existing } if is_same(existing) => Ok(TargetId(number as u32)),
                _ => Err(run.unsupported(
                    &format!("two trees in {}", fsd.anchor),
                    "use a separate anchor for each FSD",
                )),
            };
        }
        if fsd.has_too_many_directories() {
            return Err(run.unsupported(&fsd.describe_directories(), "use a smaller `depth=` or `width=`"));
        }
        if tree.file_count() == 0 || tree.file_count() > FileTree::MAX_FILES {
            let message = format!("a tree of {} files (fsd={})", tree.file_count(), fsd.name);
            return Err(run.unsupported(&message, &format!("it can have 1 to {}", FileTree::MAX_FILES)));
        }
        // A shared tree counts once.
        if rank == fsd.rank() {
            self.lun_bytes = self.lun_bytes.saturating_add(tree.total_size().0);
        }
        Ok(self.add_target(
            rank,
            Target {
                path,
                kind: TargetKind::Tree { tree },
                prepare: Prepare::Existing,
                at_end: TargetCleanup::Keep,
            },
        ))
    }
}
