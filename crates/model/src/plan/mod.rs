//! The plan of a test, into which every dialect is lowered. Plan → **steps**, one after another →
//! **jobs**, side by side → **workers**, a thread each → **streams**. The plan lists the streams of
//! every worker explicitly, because DiskSpd thread pools and fio clones multiply counts in
//! different ways. Reports echo the user's input from [`Origin`].

mod check;
mod control;
mod engine;
mod files;
mod load;
mod operation;
mod origin;
mod phases;
mod replay;
mod series;
mod simulated;
mod storage_path;
mod target;
mod tree_key_blocks;
mod workload;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::block_size::BlockSizes;
use crate::caps::LimitLayer;
use crate::content::Content;
use crate::direction::{Direction, PerDirection};
use crate::draws::GeneratorChoice;
use crate::mix::Mix;
use crate::units::Bytes;

pub use check::{PlanError, PlanFault};
pub use control::{Control, LatencyTarget, MinimumRate, Precision, SteadyState, TrackedMetric};
pub use engine::{CpuWork, ENGINES, Effect, EngineChoice, EngineInfo, EngineKind, LookupCall, Program, System};
pub use files::{
    Existence, FileGroup, FileOperation, FileOperationKind, FilePart, FileSession, FileTree, FileWork, KeptTree,
    SessionTransfers, WorkingSet, is_tree_name, pick_size,
};
pub use load::{CatchUp, Flow, Pacing, Process, Rate, RateProfile, RateSpan, RateUnit, Think, ThinkCount};
pub use operation::{
    BypassIo, CacheMode, ErrorPolicy, FileLock, FileRangeFlags, FlushKind, KeyBlocks, KeyJournal, MapFlush, Mapping,
    OpenHint, Priority, PriorityClass, PriorityRule, SyncRule, TrimWritten, Verify, VerifyMethod, WriteThrough,
};
pub use origin::{Dialect, JobEcho, Origin, Presentation, PresetUse};
pub use phases::{Dependency, EndPropagation, Phases, Span, Stop};
pub use replay::{Replay, TraceForm, TraceSkip};
pub use series::{Grid, GridScope, Windows};
pub use simulated::{
    CacheContents, SimulatedCache, SimulatedCount, SimulatedDevice, SimulatedFault, SimulatedGarbageCollection,
    SimulatedLayer, SimulatedNeighbour, SimulatedPause, SimulatedService, SimulatedWriteBuffer,
};
pub use storage_path::{CachePath, StoragePath};
pub use target::{
    AllocateMode, Consent, Extent, FileService, Prepare, PrepareWhen, Region, StreamTarget, Target, TargetCleanup,
    TargetId, TargetKind, TargetRules, lasting_path, temporary_file_directory,
};
pub use tree_key_blocks::TreeKeyBlocks;
pub use workload::{DepthPer, Workload, WorkloadPart};

/// A whole test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// A short name for reports.
    pub name: String,
    /// The seed of every random decision, printed with the results.
    pub seed: u64,
    /// Files and devices.
    pub targets: Vec<Target>,
    /// When targets are prepared.
    #[serde(default)]
    pub prepare: PrepareWhen,
    /// Targets that are prepared only before the first step, regardless of `prepare` and the steps
    /// (DiskSpd `PrecreateFiles`).
    #[serde(default)]
    pub prepare_once: Vec<TargetId>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// How jobs are grouped in reports.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// The interval series to record.
    #[serde(default)]
    pub grids: Vec<Grid>,
    /// Limits between the program and its data that the user stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitLayer>,
    /// Which targets are permitted, and what consent is needed to change them.
    #[serde(default, skip_serializing_if = "TargetRules::is_default")]
    pub target_rules: TargetRules,
    /// The user's input, for reports that echo it.
    #[serde(default)]
    pub origin: Origin,
}

/// Jobs that run side by side. All end before the next step begins (DiskSpd time span, fio
/// stonewall group).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Work done side by side.
    pub jobs: Vec<Job>,
    /// When this step prepares its targets, if different from the plan.
    #[serde(default)]
    pub prepare: Option<PrepareWhen>,
}

/// Workers that share phases, a stop rule and a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Shown in reports.
    pub name: String,
    /// Free text.
    #[serde(default)]
    pub description: Option<String>,
    /// Start delay, warm-up, measured window, cool-down.
    pub phases: Phases,
    /// The end of the measured window.
    pub stop: Stop,
    /// Jobs of the same step that must end before this one starts.
    #[serde(default)]
    pub after: Vec<Dependency>,
    /// The jobs that end together with this one.
    #[serde(default)]
    pub ends_with: EndPropagation,
    /// Rules that watch the intervals and act on the job.
    #[serde(default)]
    pub control: Vec<Control>,
    /// The file for a log with a line for every operation.
    #[serde(default)]
    pub operation_log: Option<String>,
    /// The file to which a trace of all issued operations is appended, in fio's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Latencies of each worker to record by window, in addition to the interval series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Windows>,
    /// Only prepare its targets (fio `create_only`).
    #[serde(default)]
    pub prepare_only: bool,
    /// The I/O scheduler to set for the devices under its targets, from the job's step on; absent:
    /// unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// The job ends when no job that moves data is running or waiting (fio `exit_on_io_done`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_with_io: bool,
    /// Names or ranks of the hosts that execute this job, in a fleet; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The settings that its hosts divide among themselves; each host has everything else in full.
    #[serde(default, skip_serializing_if = "DividedSettings::is_nothing")]
    pub divide: DividedSettings,
    /// The storage between the job and its disks.
    #[serde(default, skip_serializing_if = "StoragePath::is_unknown")]
    pub storage: StoragePath,
    /// The threads that execute the job.
    pub workers: Vec<Worker>,
}

/// The settings that hosts divide among themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DividedSettings {
    /// Rates are totals of all hosts.
    #[serde(default)]
    pub rate: bool,
    /// Queue depths are totals of all hosts.
    #[serde(default)]
    pub depth: bool,
    /// Each host has its own part of each target.
    #[serde(default)]
    pub region: bool,
}

impl DividedSettings {
    /// Nothing is divided.
    pub fn is_nothing(&self) -> bool {
        *self == DividedSettings::default()
    }
}

/// A thread that issues I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// How operations reach the kernel.
    pub engine: EngineChoice,
    /// The kind of queue depth.
    pub depth: DepthScope,
    /// How operations are submitted and awaited.
    #[serde(default)]
    pub batching: Batching,
    /// The source of its random decisions.
    pub draws: GeneratorChoice,
    /// The placement of the thread.
    #[serde(default)]
    pub placement: ThreadPlacement,
    /// The memory of its buffers.
    #[serde(default)]
    pub memory: Memory,
    /// The time stamps of submission and completion latency.
    #[serde(default)]
    pub latency: LatencyPoints,
    /// What the worker reads and writes: targets with access patterns.
    pub streams: Vec<Stream>,
}

/// A target or file set with its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// The target or file set.
    pub target: StreamTarget,
    /// The part of each target that is used.
    #[serde(default)]
    pub region: Region,
    /// Share of each direction.
    pub mix: Mix,
    /// Positions and lengths of its operations.
    pub pattern: Pattern,
    /// Contents of writes.
    #[serde(default)]
    pub content: Content,
    /// The cache mode of the target.
    #[serde(default)]
    pub cache: CacheMode,
    /// Hints for the system when the target is opened.
    #[serde(default)]
    pub hint: OpenHint,
    /// When data is flushed.
    #[serde(default)]
    pub sync: SyncRule,
    /// When operations are due.
    #[serde(default)]
    pub pacing: Pacing,
    /// How the target rate varies over time.
    #[serde(rename = "course", default, skip_serializing_if = "Option::is_none")]
    pub rate_profile: Option<RateProfile>,
    /// Pauses.
    #[serde(default)]
    pub think: Option<Think>,
    /// Operations to keep in flight; used where [`Worker::depth`] is per stream.
    pub depth: u32,
    /// Share of the worker's operations; used where the depth is shared.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// I/O priority.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// The reaction to a failed operation.
    #[serde(default)]
    pub on_error: ErrorPolicy,
    /// Verification.
    #[serde(default)]
    pub verify: Option<Verify>,
    /// I/O priorities for parts of its operations.
    #[serde(rename = "priorities", default, skip_serializing_if = "Vec::is_empty")]
    pub priority_rules: Vec<PriorityRule>,
    /// How the stream locks files against other streams.
    #[serde(default, skip_serializing_if = "FileLock::is_none")]
    pub lock: FileLock,
    /// How the stream shares operations with other streams of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Its operations come from a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The operations on its target, if that is a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileWork>,
    /// Number of operations after which its target is closed and reopened, with none in flight.
    /// Positions then restart (Iometer's test connection rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopen_every: Option<u32>,
}

fn default_weight() -> u32 {
    1
}

impl Default for Stream {
    /// Uniform random reads of 4 KiB from all of the first target, one at a time.
    fn default() -> Self {
        Stream {
            target: StreamTarget::default(),
            region: Region::default(),
            mix: Mix::READS,
            pattern: Pattern::default(),
            content: Content::default(),
            cache: CacheMode::BUFFERED,
            hint: OpenHint::default(),
            sync: SyncRule::default(),
            pacing: Pacing::Unpaced,
            rate_profile: None,
            think: None,
            depth: 1,
            weight: 1,
            priority: None,
            on_error: ErrorPolicy::default(),
            verify: None,
            priority_rules: Vec::new(),
            lock: FileLock::None,
            flow: None,
            replay: None,
            files: None,
            reopen_every: None,
        }
    }
}

impl Stream {
    /// The pattern that a direction uses.
    pub fn access(&self, direction: Direction) -> &Access {
        let index = usize::from(self.pattern.access_index[direction]);
        self.pattern.access.get(index).unwrap_or(&self.pattern.access[0])
    }

    /// The length of all operations of a direction, if it is constant.
    pub fn fixed_length(&self, direction: Direction) -> Option<u64> {
        match &self.pattern.sizes[direction] {
            BlockSizes::Fixed { size } => Some(size.0),
            BlockSizes::Range { .. } | BlockSizes::Split { .. } => None,
        }
    }

    /// The alignment of positions.
    pub fn alignment(&self, direction: Direction) -> u64 {
        match self.pattern.alignment[direction].0 {
            0 => self.pattern.shortest(&self.mix).0,
            alignment => alignment,
        }
    }
}

/// Positions and lengths of a stream's operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pattern {
    /// The access patterns in use. Directions that share a pattern share its state: position, map
    /// of used blocks.
    pub access: Vec<Access>,
    /// The index of the pattern of each direction.
    #[serde(rename = "access_of", default)]
    pub access_index: PerDirection<u8>,
    /// Lengths of the operations of each direction.
    pub sizes: PerDirection<BlockSizes>,
    /// Positions are multiples of this, from the base of the region; 0: of the shortest length.
    #[serde(default)]
    pub alignment: PerDirection<Bytes>,
    /// Every position leaves room for the longest length (native, DiskSpd). Otherwise it leaves
    /// room for the shortest, and the length is drawn to fit (fio).
    #[serde(default = "default_true")]
    pub whole_blocks: bool,
    /// Operations that continue a run have the lengths of reads, and operations at random positions
    /// those of writes, regardless of their direction (fio `bs_is_seq_rand`).
    #[serde(rename = "sizes_by_place", default)]
    pub sizes_by_seq_rand: bool,
}

fn default_true() -> bool {
    true
}

impl Default for Pattern {
    /// Uniform random blocks of 4 KiB.
    fn default() -> Self {
        Pattern::simple(Access::default(), Bytes::kib(4))
    }
}

impl Pattern {
    /// One pattern and one length for all directions.
    pub fn simple(access: Access, size: Bytes) -> Pattern {
        Pattern {
            access: vec![access],
            access_index: PerDirection::default(),
            sizes: PerDirection::all(BlockSizes::Fixed { size }),
            alignment: PerDirection::default(),
            whole_blocks: true,
            sizes_by_seq_rand: false,
        }
    }

    /// The longest operation of any direction that `mix` can issue.
    pub fn longest(&self, mix: &Mix) -> Bytes {
        mix.directions()
            .map(|direction| self.longest_in(direction))
            .max()
            .unwrap_or_default()
    }

    /// The shortest operation of any direction that `mix` can issue.
    pub fn shortest(&self, mix: &Mix) -> Bytes {
        mix.directions()
            .map(|direction| self.shortest_in(direction))
            .min()
            .unwrap_or_default()
    }

    /// The longest operation of a direction.
    pub fn longest_in(&self, direction: Direction) -> Bytes {
        match self.sizes_by_seq_rand {
            true => self.sizes.read.max().max(self.sizes.write.max()),
            false => self.sizes[direction].max(),
        }
    }

    /// The shortest operation of a direction.
    pub fn shortest_in(&self, direction: Direction) -> Bytes {
        match self.sizes_by_seq_rand {
            true => self.sizes.read.min().min(self.sizes.write.min()),
            false => self.sizes[direction].min(),
        }
    }
}

/// The scope of the queue depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "depth", rename_all = "snake_case")]
pub enum DepthScope {
    /// Each stream has its own depth and slots (DiskSpd `-o`, fio `iodepth`).
    #[default]
    PerStream,
    /// All streams share one depth; each operation picks its stream by weight (DiskSpd `-O`,
    /// weighted native streams).
    Shared {
        /// Operations to keep in flight.
        operations: u32,
    },
    /// Each target has the depth of its streams, which are alternatives. For each burst, the worker
    /// draws one alternative by weight for all targets. The alternative's think setting gives the
    /// pause before the burst and the length of the burst (Iometer).
    PerTarget {
        /// The number of consecutive streams per target, equal for all targets.
        alternatives: u32,
    },
}

/// How operations are submitted and awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batching {
    /// The maximum number of operations per submitting call; absent: 8, or 1 if operations complete
    /// inside it.
    #[serde(default)]
    pub submit: Option<u32>,
    /// Number of completions to wait for when the queue is full (fio `iodepth_batch_complete_min`);
    /// absent: 1. 0 polls.
    #[serde(default)]
    pub complete_min: Option<u32>,
    /// The maximum number of completions reaped in one turn; absent: unlimited.
    #[serde(default)]
    pub complete_max: Option<u32>,
    /// Refill only if at most this many are in flight (fio `iodepth_low`); absent: immediately.
    #[serde(default)]
    pub refill_below: Option<u32>,
    /// Each completion issues the next operation of its slot. If streams share a depth, the first
    /// stream issues the first operation of each slot (DiskSpd `-x`).
    #[serde(default)]
    pub completion_routines: bool,
    /// An operation that overlaps one in flight waits for it to complete (fio `serialize_overlap`).
    #[serde(default)]
    pub serialize_overlap: bool,
    /// Count the waits of the worker ([`crate::results::Waits`]), which costs a little per turn.
    #[serde(default)]
    pub count_waits: bool,
}

/// Where a worker's thread runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlacement {
    /// CPUs it may use; empty: all.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// In a fleet, its index in the round-robin assignment of the host's CPUs. Each host's share of
    /// the plan has the assigned CPU in `cpus`.
    #[serde(rename = "turn", default, skip_serializing_if = "Option::is_none")]
    pub round_robin_index: Option<u32>,
    /// NUMA nodes whose CPUs it may use, in addition to `cpus`; empty: all.
    #[serde(default)]
    pub cpu_nodes: Vec<u32>,
    /// The NUMA policy of its memory; absent: that of the process.
    #[serde(default)]
    pub memory_nodes: Option<MemoryNodes>,
    /// The name of the thread in the system; absent: a default.
    #[serde(default)]
    pub name: Option<String>,
    /// `nice` value.
    #[serde(default)]
    pub nice: Option<i8>,
    /// The user id with which it opens files; absent: that of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// The group id with which it opens files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Control group that it belongs to while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<ControlGroup>,
}

/// A control group of the kernel for block I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroup {
    /// Its path below the place where control groups are mounted. It is created if missing.
    pub path: String,
    /// Its share of the I/O relative to others, 100 to 1000; absent: unchanged.
    #[serde(default)]
    pub weight: Option<u32>,
    /// The group stays after the run even if the run created it.
    #[serde(default)]
    pub keep: bool,
}

/// Which NUMA nodes memory comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum MemoryNodes {
    /// The node of the requesting CPU, others when it is full.
    Default,
    /// The node of the requesting CPU.
    Local,
    /// The preferred node, and others when it is full.
    Prefer {
        /// NUMA node to use first.
        node: u32,
    },
    /// Only these nodes.
    Bind {
        /// NUMA nodes that may be used.
        nodes: Vec<u32>,
    },
    /// Round-robin over these nodes, page by page.
    Interleave {
        /// NUMA nodes, in order of use.
        nodes: Vec<u32>,
    },
}

/// The memory of a worker's buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Huge pages from the reserved pool; an error if there are none.
    #[serde(default)]
    pub huge_pages: bool,
    /// Size of a huge page, a power of two; 0 means 2 MiB.
    #[serde(rename = "huge_page", default, skip_serializing_if = "is_zero")]
    pub huge_page_size: Bytes,
    /// Alignment of each buffer in bytes; 0 means the page size.
    #[serde(default)]
    pub alignment: u32,
    /// Additional memory that the worker pins while it runs, to leave less for caches (fio
    /// `lockmem`).
    #[serde(default)]
    pub pinned: Bytes,
}

fn is_zero(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

/// The time stamps of submission and completion latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyPoints {
    /// Submission latency runs from queued to just before the submitting call. Completion latency
    /// runs from there to reaped. A device that completes inside the submitting call counts as
    /// completion.
    #[default]
    BeforeCall,
    /// Like `BeforeCall`, but interval series show completion latency instead of total latency or
    /// response time (DiskSpd).
    CompletionInSeries,
    /// Submission latency runs from queued to the return of the submitting call. Completion latency
    /// runs from there to reaped (fio's slat and clat).
    AfterCall,
}

/// A set of jobs that reports show as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Shown in reports.
    pub name: String,
    /// Jobs as (step, job) indexes.
    pub jobs: Vec<(u32, u32)>,
    /// Show the members as one entry (fio `group_reporting`).
    pub merged: bool,
}

impl Plan {
    /// All jobs with their (step, job) index.
    pub fn jobs(&self) -> impl Iterator<Item = ((usize, usize), &Job)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(step, s)| s.jobs.iter().enumerate().map(move |(job, j)| ((step, job), j)))
    }

    /// The workers of all jobs.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.jobs().flat_map(|(_, job)| &job.workers)
    }

    /// The streams on a target, each with its worker.
    pub fn streams_on(&self, target: TargetId) -> impl Iterator<Item = (&Worker, &Stream)> {
        let streams = self
            .workers()
            .flat_map(|worker| worker.streams.iter().map(move |stream| (worker, stream)));
        streams.filter(move |(_, stream)| stream.target.ids().contains(&target))
    }

    /// True if this step prepares the target again, because every step does.
    pub fn prepares_anew(&self, step: usize, target: TargetId) -> bool {
        let when = self.steps[step].prepare.unwrap_or(self.prepare);
        when == PrepareWhen::EachStep && !self.prepare_once.contains(&target) && self.uses(step, target)
    }

    /// True if a step uses a target.
    pub fn uses(&self, step: usize, target: TargetId) -> bool {
        let workers = self.steps[step].jobs.iter().flat_map(|job| &job.workers);
        let mut streams = workers.flat_map(|worker| &worker.streams);
        streams.any(|stream| stream.target.ids().contains(&target))
    }

    /// For each target, true if a step uses it.
    pub fn used_targets(&self) -> Vec<bool> {
        let mut used = vec![false; self.targets.len()];
        let streams = self.workers().flat_map(|worker| &worker.streams);
        for id in streams.flat_map(|stream| stream.target.ids()) {
            used[id.0 as usize] = true;
        }
        used
    }

    /// Removes unused targets and renumbers the others.
    pub fn retain_targets(&mut self, is_used: &[bool]) {
        let mut next_id = 0;
        let assign_id = |stays: &bool| {
            let new_id = TargetId(next_id);
            next_id += u32::from(*stays);
            stays.then_some(new_id)
        };
        let new_ids: Vec<Option<TargetId>> = is_used.iter().map(assign_id).collect();
        let mut flags = is_used.iter();
        self.targets.retain(|_| flags.next().is_some_and(|stays| *stays));
        let new_id = |id: &TargetId| new_ids[id.0 as usize];
        self.prepare_once = self.prepare_once.iter().filter_map(new_id).collect();
        let workers = self
            .steps
            .iter_mut()
            .flat_map(|step| &mut step.jobs)
            .flat_map(|job| &mut job.workers);
        for stream in workers.flat_map(|worker| &mut worker.streams) {
            match &mut stream.target {
                StreamTarget::One { target } => *target = new_id(target).unwrap_or(*target),
                StreamTarget::Files { targets, .. } => *targets = targets.iter().filter_map(new_id).collect(),
            }
        }
    }

    /// The target with the given index.
    pub fn target(&self, id: TargetId) -> &Target {
        &self.targets[id.0 as usize]
    }
}

impl Job {
    /// True if a worker moves data, or simulates that.
    pub fn moves_data(&self) -> bool {
        self.workers
            .iter()
            .any(|worker| !worker.engine.kind.transfers_no_data())
    }

    /// True if it measures until its rate is steady.
    pub fn awaits_steady_state(&self) -> bool {
        self.control.iter().any(|rule| matches!(rule, Control::SteadyState(_)))
    }

    /// The configured queue depth of the job over all its workers.
    pub fn depth(&self) -> u64 {
        self.workers.iter().map(|worker| u64::from(worker.slots())).sum()
    }
}

impl Worker {
    /// The configured queue depth of the worker.
    pub fn slots(&self) -> u32 {
        match self.depth {
            DepthScope::PerStream => self.streams.iter().map(|stream| stream.depth).sum(),
            DepthScope::Shared { operations } => operations,
            DepthScope::PerTarget { alternatives } => {
                let first = self.streams.iter().step_by(alternatives.max(1) as usize);
                first.map(|stream| stream.depth).sum()
            }
        }
    }
}
