//! Documents as written by the user, typed but not interpreted.

use std::collections::BTreeSet;

use model::access::{Access, Placement};
use model::block_size::BlockSizes;
use model::caps::LimitLayer;
use model::content::Content;
use model::plan::{
    Control, DepthPer, DividedSettings, EngineKind, FlushKind, PresetUse, Process, RateUnit, SimulatedDevice,
    StoragePath, WriteThrough,
};
use model::{Bytes, Nanos};

use super::files::FileSpec;
use super::presets::PresetInfo;

/// A whole job file, or the jobs of a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Name of the test.
    pub name: Option<String>,
    /// Seed of all random decisions.
    pub seed: Option<u64>,
    /// Jobs in the order written.
    pub jobs: Vec<JobSpec>,
    /// Simulated devices by name.
    pub simulated: Vec<SimulatedSpec>,
    /// The file, if it came from one.
    pub file: Option<String>,
    /// The arguments, if it came from a command line.
    pub arguments: Vec<String>,
    /// Limits that jobs of the file share.
    pub caps: Vec<LimitLayer>,
    /// The question that the test answers.
    pub objective: Option<String>,
    /// Its `[preset]` table, if any.
    pub preset_info: Option<PresetInfo>,
    /// The preset that was run, with its changed options; absent for a user's copy of a preset.
    pub preset: Option<PresetUse>,
}

/// A simulated device with the name that targets use for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedSpec {
    /// Targets refer to it as `simulated:NAME`.
    pub name: String,
    /// Speed, limits and disturbances.
    pub device: SimulatedDevice,
}

with_defaults! {
    /// One job.
    #[derive(Clone, Debug, PartialEq)]
    pub struct JobSpec {
        /// The line in its file, from 1; 0 on a command line.
        pub line: usize,
        /// The name in reports.
        pub name: Option<String>,
        /// Paths, `null` or `simulated:NAME`.
        pub targets: Vec<String>,
        /// Bytes of each target to use, or to create.
        pub size: Option<Bytes>,
        /// Bytes to skip at the start.
        pub offset: Bytes,
        /// Keep files that were created in a directory.
        pub keep: bool,
        /// The operations of a job without parts.
        pub part: PartSpec,
        /// Weighted parts.
        pub parts: Vec<PartSpec>,
        /// Threads.
        pub workers: u32 = 1,
        /// Operations in flight; 1 by default.
        pub depth: Option<u32>,
        /// Whether the depth is per worker, target or job.
        pub depth_per: DepthPer = DepthPer::Worker,
        /// Bypass the page cache.
        pub direct: bool = true,
        /// When a write counts as complete.
        pub write_through: WriteThrough = WriteThrough::Off,
        /// Use a memory map.
        pub mapped: bool,
        /// Flush after this many writes; 0: never.
        pub flush_every: u32,
        /// System call that flushes.
        pub flush_kind: FlushKind = FlushKind::Data,
        /// Flush at the end.
        pub flush_at_end: bool,
        /// Amount and unit per second.
        pub rate: Option<(u64, RateUnit)>,
        /// How due times are spaced.
        pub arrivals: Process = Process::Linear,
        /// Longest delay that a paced job catches up; absent: any.
        pub catch_up: Option<Nanos>,
        /// Pause between bursts of operations.
        pub pause: Option<Nanos>,
        /// Operations of a burst.
        pub pause_after: u32 = 1,
        /// Engine.
        pub engine: EngineKind = EngineKind::Auto,
        /// Busy-wait for completions.
        pub poll: bool,
        /// A kernel thread submits.
        pub submission_thread: bool,
        /// Operations per submitting call.
        pub batch: Option<u32>,
        /// CPUs for the threads.
        pub cpus: Vec<u32>,
        /// Length of the measured window.
        pub time: Option<Nanos>,
        /// I/O before it.
        pub warm_up: Option<Nanos>,
        /// I/O after it.
        pub cool_down: Nanos,
        /// Pause before the first operation.
        pub start_delay: Nanos,
        /// End after this many operations of the job.
        pub operations: Option<u64>,
        /// End after this many bytes of the job.
        pub bytes: Option<Bytes>,
        /// End after this many passes.
        pub passes: Option<u32>,
        /// Control rules.
        pub control: Vec<Control>,
        /// Failed operations do not end the job.
        pub tolerate_errors: bool,
        /// Log file with a line for each operation.
        pub log: Option<String>,
        /// Hosts that the job is for; none: all.
        pub hosts: Vec<String>,
        /// Quantities that hosts divide among them.
        pub divide: DividedSettings,
        /// The storage below the job.
        pub storage: StoragePath,
        /// Limits of this job alone.
        pub caps: Vec<LimitLayer>,
        /// Jobs of one step run side by side; steps follow one another.
        pub step: u32 = 1,
        /// The job of the same step that must end first.
        pub after: Option<String>,
        /// Operations are on files of a tree.
        pub on_files: bool,
        /// The tree and the operations on it.
        pub files: FileSpec,
        /// Names of the options that were written.
        pub written: BTreeSet<&'static str>,
    }
}

impl JobSpec {
    /// The weighted parts, or the only part of a job without them.
    pub(crate) fn effective_parts(&self) -> &[PartSpec] {
        match self.parts.is_empty() {
            true => std::slice::from_ref(&self.part),
            false => &self.parts,
        }
    }
}

with_defaults! {
    /// One kind of operation.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PartSpec {
        /// Share of the operations.
        pub share: u32 = 1,
        /// Where operations go.
        pub access: Access = Access::random(Placement::Uniform(Default::default())),
        /// Share of reads in percent.
        pub read_percent: f64 = 100.0,
        /// Trims instead of writes.
        pub trim: bool,
        /// The share of reads is exact.
        pub exact_mix: bool,
        /// Lengths.
        pub sizes: BlockSizes,
        /// Alignment; absent: the shortest length.
        pub alignment: Option<Bytes>,
        /// Contents of writes.
        pub content: Content = Content::Fresh,
    }
}
