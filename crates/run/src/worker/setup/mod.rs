//! Everything a worker needs before it starts: its thread, files, engine, streams and features.

mod engine;
mod files;
mod streams;
mod thread;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ::engine::{Batch, Clock, Identity, OpenTree, Simulation};
use model::access::SharedAccess;
use model::plan::{DepthScope, FileWork, Job, LatencyPoints, Pacing, Stream, Worker as WorkerPlan};
use model::{Direction, Nanos};

use super::bursts::Bursts;
use super::errors::ErrorLog;
use super::features::{Features, priorities};
use super::io_loop::{Budget, IoLoop, IssuePath, PaceState};
use super::lifecycle::Lifecycle;
use super::meter::Meter;
use super::recorder::Grids;
use super::requests::Requests;
use super::slots::{SlotPool, SlotTable};
use super::stream::{LiveStream, flushes};
use super::windows::WindowRoom;
use super::{CellKey, CellKind, Context, Inbox, RecorderSetup, Worker, create_mailbox};
use crate::control::JobControl;
use crate::control_groups::ControlGroups;
use crate::file_claims::FileClaims;
use crate::file_lock::FileLock;
use crate::flow::Flows;
use crate::setup_error::SetupError;
use crate::sources::Sources;

pub(crate) use engine::buffer_bytes;
pub(super) use files::{OpenedFiles, OpenedStream, open_target};

/// A recorder has spare rows of interval series for this many more exchanges. They are needed if an
/// interval is merged with the next.
const SPARE_EXCHANGES: u64 = 8;
/// The maximum number of spare rows of interval series per cell.
const MAX_SPARE_ROWS: u64 = 128;
/// Spare windows, which take more memory.
const SPARE_WINDOWS: u64 = 16;

/// The data from which a worker is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'plan> {
    pub(crate) job: &'plan Job,
    pub(crate) worker: &'plan WorkerPlan,
    pub(crate) targets: &'plan [ReadyTarget],
    pub(crate) control: &'plan Arc<JobControl>,
    pub(crate) clock: Clock,
    /// How often recorders are exchanged.
    pub(crate) interval: Nanos,
    /// Lengths of the interval series.
    pub(crate) grids: &'plan [Nanos],
    /// There are enough processors for spinning.
    pub(crate) spin: bool,
    /// Refuse misaligned direct I/O before the start.
    pub(crate) checks_alignment: bool,
    /// Source buffers of writes.
    pub(crate) sources: &'plan Sources,
    pub(crate) control_groups: &'plan ControlGroups,
    /// The flows of the step.
    pub(crate) flows: &'plan Flows,
    /// Error count that the workers of the step share, for `errors_max`.
    pub(crate) errors: &'plan Arc<AtomicU64>,
    pub(crate) simulation: &'plan Simulation,
    /// Number of the worker in its step.
    pub(crate) number: u32,
}

/// A target after preparation.
#[derive(Clone, Debug)]
pub(crate) struct ReadyTarget {
    pub(crate) what: ReadyKind,
    /// The file or device that was examined and prepared.
    pub(crate) identity: Option<Identity>,
    pub(crate) size: u64,
    /// The access state that all workers share.
    pub(crate) shared: Arc<SharedAccess>,
    /// The lock for streams of a step, if the plan has one.
    pub(crate) lock: Arc<FileLock>,
}

/// Kinds of prepared targets.
#[derive(Clone, Debug)]
pub(crate) enum ReadyKind {
    Path(PathBuf),
    Nothing,
    Tree {
        path: PathBuf,
        tree: OpenTree,
        /// Which files exist and which are in use.
        claims: Arc<FileClaims>,
    },
    Simulated {
        /// The index of the device in the simulation of the run.
        device: u32,
    },
}

/// Opens files and engine and sets everything up. Call it on the worker's own thread: rings belong
/// to a thread. The worker is boxed, because each move would touch more of the thread's stack.
pub(crate) fn set_up<'plan>(assignment: &Assignment<'plan>) -> Result<(Box<Worker<'plan>>, Inbox), SetupError> {
    let plan = assignment.worker;
    thread::place(plan, assignment.control_groups)?;
    let pinned = thread::pin_memory(plan)?;
    let mut opened = files::open(assignment)?;
    let choice = engine::Choice::choose(assignment, &opened)?;
    let keys = assignment.cell_keys();
    let mut draws = plan.draws.start();
    let (mut streams, sets) = streams::build(assignment, &keys, &opened.streams, choice.slots, &mut draws)?;
    let features = Features::from_plan(assignment, &keys, &opened, sets, choice.slots)?;
    let path = IssuePath::choose(plan, features.is_none());
    let batches = choice.batches(plan, path);
    let map_bytes = extra_bytes(&streams, features.as_ref());
    let holds_locks = features.as_ref().is_some_and(Features::holds_locks);
    let errors = ErrorLog::new(assignment, &opened.files);
    let exchanges_files = features.as_ref().is_some_and(Features::exchanges_files);
    let files = std::mem::take(&mut opened.files);
    let setup = choice.setup(assignment, &batches, files, exchanges_files, &draws);
    let simulated = setup.simulated.clone();
    let mut engine = ::engine::open(setup)?;
    let pools = SlotPool::for_plan(plan, batches.slots, choice.one_at_a_time);
    streams::fill_buffers(&pools, &mut streams, plan, engine.as_mut());
    let recorders = RecorderSetup {
        keys: &keys,
        rows: keys.len() * rows_per_cell(assignment),
        windows: WindowRoom::new(&assignment.job.windows, keys.len(), assignment.interval, SPARE_WINDOWS),
        one_at_a_time: choice.one_at_a_time,
    };
    let (recorder, outbox, inbox) = create_mailbox(&recorders, simulated.is_some());
    let paced = plan.streams.iter().any(|stream| stream.pacing != Pacing::Unpaced);
    let mut batch = Batch::new(batches.slots);
    // Waiting for a lock takes time that counts for no operation.
    batch.chained = choice.one_at_a_time && !holds_locks;
    let worker = Box::new(Worker {
        io: IoLoop {
            engine,
            batch,
            draws,
            slots: SlotTable::new(batches.slots, &pools, &streams),
            streams,
            requests: Requests::new(batches.slots as usize),
            in_flight: 0,
            round: 0,
            path,
            one_at_a_time: choice.one_at_a_time,
            batching: choice.batching(plan, &batches),
            pacing: PaceState {
                gated: false,
                next_due: Nanos::NEVER,
                meter: Meter::new(paced, pools.len(), simulated.is_some()),
            },
            pools,
            boundary: Nanos(0),
            bursts: Bursts::from_plan(plan),
            budget: Budget::UNLIMITED,
            passes: assignment.job.stop.passes,
            // Verification recomputes writes pass by pass, so passes must repeat.
            repeats_draws: !assignment.job.stop.repeat_until_time
                || plan.streams.iter().any(|stream| stream.verify.is_some()),
            winding_down: false,
            running: None,
            recorder,
            errors,
        },
        lifecycle: Lifecycle::new(
            assignment,
            compute_budget(assignment),
            Grids::new(assignment.grids, &assignment.job.windows, keys.len()),
            outbox,
        ),
        features: features.map(Box::new),
        context: Context {
            plan,
            job: assignment.job,
            control: assignment.control,
            flows: assignment.flows,
            simulated,
            _pinned: pinned,
            engine_reason: choice.reason,
            map_bytes,
        },
    });
    Ok((worker, inbox))
}

impl IssuePath {
    /// Chooses the fast path for streams that nothing delays, each with its own slots. They have no
    /// features, pacing, pauses or flushes. With `fill_device`, no operation may follow a write
    /// that finds no space.
    fn choose(plan: &WorkerPlan, no_features: bool) -> IssuePath {
        let own_slots = plan.depth == DepthScope::PerStream || plan.streams.len() == 1;
        let free = |stream: &Stream| {
            let is_delayed = stream.think.is_some() || flushes(&stream.sync) || stream.on_error.stop_when_full;
            stream.pacing == Pacing::Unpaced && !is_delayed
        };
        match no_features && own_slots && plan.streams.iter().all(free) {
            true => IssuePath::Batches,
            false => IssuePath::General,
        }
    }
}

impl Assignment<'_> {
    /// The tree that the worker works on, with the states of its files.
    pub(crate) fn tree(&self) -> Option<(&OpenTree, &Arc<FileClaims>)> {
        self.find_tree(*self.worker.streams.first()?.target.ids().first()?)
    }

    /// The tree that the worker copies or moves files to.
    pub(crate) fn destination(&self) -> Option<(&OpenTree, &Arc<FileClaims>)> {
        self.find_tree(self.worker.streams.first()?.files.as_ref()?.destination?)
    }

    fn find_tree(&self, target: model::plan::TargetId) -> Option<(&OpenTree, &Arc<FileClaims>)> {
        match &self.targets[target.0 as usize].what {
            ReadyKind::Tree { tree, claims, .. } => Some((tree, claims)),
            _ => None,
        }
    }

    /// The cells that count the operations of this worker.
    pub(crate) fn cell_keys(&self) -> Vec<CellKey> {
        let completion_in_series = self.worker.latency == LatencyPoints::CompletionInSeries;
        let in_windows = !self.job.windows.is_empty();
        let mut keys = Vec::new();
        for (stream, number) in self.worker.streams.iter().zip(0..) {
            let key = |kind| CellKey {
                stream: number,
                kind,
                paced: false,
                completion_in_series,
                in_windows: false,
            };
            for direction in occurring_directions(stream) {
                let paced = match &stream.pacing {
                    Pacing::Unpaced => false,
                    Pacing::Together { .. } => true,
                    Pacing::PerDirection { rates } => rates[direction].is_some(),
                };
                keys.push(CellKey {
                    paced,
                    in_windows,
                    ..key(CellKind::Moves(direction))
                });
            }
            for direction in occurring_directions(stream) {
                for priority in priorities::priority_numbers(stream, direction) {
                    keys.push(key(CellKind::Priority(direction, priority)));
                }
            }
            for kind in stream.files.iter().flat_map(FileWork::kinds) {
                keys.push(CellKey {
                    paced: stream.pacing != Pacing::Unpaced,
                    ..key(CellKind::FileOperation(kind))
                });
            }
            let has_flushes = flushes(&stream.sync) || stream.replay.as_ref().is_some_and(|replay| replay.flushes);
            if has_flushes {
                keys.push(CellKey {
                    in_windows,
                    ..key(CellKind::Sync)
                });
            }
            if stream.reopen_every.is_some() {
                keys.push(key(CellKind::Connection));
            }
        }
        keys
    }
}

/// The directions of a stream's operations, including reads and trims of verification.
fn occurring_directions(stream: &Stream) -> impl Iterator<Item = Direction> {
    let verified = |direction: Direction| match (&stream.verify, direction) {
        (Some(_), Direction::Read) => true,
        (Some(verify), Direction::Trim) => verify.trims.is_some() && stream.mix.includes(Direction::Write),
        (Some(_), Direction::Write) | (None, _) => false,
    };
    let occurs = move |direction: &Direction| stream.mix.includes(*direction) || verified(*direction);
    Direction::ALL.into_iter().filter(occurs)
}

/// Bytes of additional memory of the patterns of all streams.
fn extra_bytes(streams: &[LiveStream], features: Option<&Features>) -> u64 {
    let sequences: u64 = streams.iter().map(|stream| stream.sequence.extra_bytes()).sum();
    sequences + features.map_or(0, Features::extra_bytes)
}

/// The budget of the worker.
fn compute_budget(assignment: &Assignment<'_>) -> Budget {
    let regions = assignment.worker.streams.iter().flat_map(|stream| {
        let targets = stream.target.ids().iter();
        targets.map(|id| stream.region.resolve(assignment.targets[id.0 as usize].size).1)
    });
    let region: u128 = regions.map(u128::from).sum();
    let stop = &assignment.job.stop;
    let percent_bytes = stop
        .region_percent
        .map(|percent| (region * u128::from(percent) / 100).try_into().unwrap_or(u64::MAX));
    let bytes = stop.bytes.map(|bytes| bytes.0);
    Budget {
        operations: stop.operations.unwrap_or(u64::MAX),
        bytes: bytes.into_iter().chain(percent_bytes).min().unwrap_or(u64::MAX),
    }
}

/// Rows of interval series that end between two exchanges of recorders.
fn rows_per_cell(assignment: &Assignment<'_>) -> usize {
    let ends = assignment.grids.iter();
    let rows: u64 = ends.map(|length| assignment.interval.0 / length.0.max(1) + 2).sum();
    (rows + (rows * SPARE_EXCHANGES).min(MAX_SPARE_ROWS)) as usize
}

impl ReadyTarget {
    /// Name in messages.
    pub(crate) fn name(&self) -> String {
        match &self.what {
            ReadyKind::Path(path) | ReadyKind::Tree { path, .. } => path.display().to_string(),
            ReadyKind::Nothing => "null target".into(),
            ReadyKind::Simulated { .. } => "simulated device".into(),
        }
    }
}
