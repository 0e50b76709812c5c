//! Everything a worker needs before it starts: its files, its engine, its buffers, its streams.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use engine::{Batch, Clock, EngineError, File, Identity, OpenError, Setup, Simulation, Slot, choose, sys};
use model::access::AccessError;
use model::content::Filler;
use model::draws::{Draws, DrawsForm};
use model::event::Phase;
use model::file_choice::FileChoice;
use model::mix::Mix;
use model::plan::{
    Depth, EngineChoice, EngineKind, Job, LatencyPoints, Pacing, Priority, Stream, StreamTarget, TargetId,
    Worker as Plan,
};
use model::sequence::Sequence;
use model::{Bytes, Direction, Nanos, PerDirection};

use super::file_set::FileSet;
use super::lives::{Lives, MOST_BLOCKS};
use super::meter::Meter;
use super::opening::{Opened, OpenedStream, check_alignment, direct_alignment_of, open_files, prepare_caches};
use super::playback::Playback;
use super::priorities;
use super::read_back::load_state;
use super::recorder::{Grids, SlotTable};
use super::sharing::{LiveFlow, Locks};
use super::stream::{Gate, LiveStream, flushes};
use super::timeline::Timeline;
use super::verification::{self, BetweenRounds, Verification};
use super::windows::WindowRoom;
use super::{
    AT_ONCE, AT_ONCE_BYTES, Budget, CellKey, CellKind, Inbox, Inline, Lane, Measured, PROBE_TURNS, Requests, Worker,
    mailbox,
};
use crate::control::JobControl;
use crate::control_groups::ControlGroups;
use crate::file_lock::FileLock;
use crate::flow::Flows;
use crate::sources::Sources;
use crate::trace_source::TraceSource;
use crate::verify::Checker;
use crate::verify::pool::Pool;

/// Rows of interval series beyond those of one interval that a recorder holds for each cell: an interval may be joined to the
/// next.
const SPARE_ROWS: u64 = 128;
/// The same for windows, which take more memory.
const SPARE_WINDOWS: u64 = 16;

/// What a worker is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'plan> {
    pub(crate) job: &'plan Job,
    pub(crate) worker: &'plan Plan,
    pub(crate) targets: &'plan [ReadyTarget],
    pub(crate) control: &'plan JobControl,
    pub(crate) clock: Clock,
    /// How often recorders are exchanged.
    pub(crate) interval: Nanos,
    /// Lengths of the interval series.
    pub(crate) grids: &'plan [Nanos],
    /// There are processors to spare for spinning.
    pub(crate) spin: bool,
    /// Direct I/O that the target does not take is refused before the start.
    pub(crate) checks_alignment: bool,
    /// What writes are taken from, where they are.
    pub(crate) sources: &'plan Sources,
    pub(crate) control_groups: &'plan ControlGroups,
    /// What streams of the step divide among themselves.
    pub(crate) flows: &'plan Flows,
    pub(crate) simulation: &'plan Simulation,
    /// Number of the worker in its step.
    pub(crate) number: u32,
}

/// A target after preparation.
#[derive(Clone, Debug)]
pub(crate) struct ReadyTarget {
    pub(crate) what: ReadyKind,
    /// Which file or device was judged and prepared.
    pub(crate) identity: Option<Identity>,
    pub(crate) size: u64,
    /// The position that interlocked streams of a step share.
    pub(crate) shared_position: Arc<AtomicU64>,
    /// The lock that streams of a step take where they want one.
    pub(crate) lock: Arc<FileLock>,
}

/// What a target turned out to be.
#[derive(Clone, Debug)]
pub(crate) enum ReadyKind {
    Path(PathBuf),
    Nothing,
    Simulated {
        /// Its place in the simulation of the run.
        device: u32,
    },
}

/// Why a worker could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A target cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The engine cannot start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The access pattern does not fit the target.
    #[error("{path}: {source}")]
    Access {
        /// The target.
        path: String,
        /// Its size.
        size: Bytes,
        /// Why not.
        source: AccessError,
    },
    /// Direct I/O with lengths or offsets that the target does not take.
    #[error("direct I/O in {what} of {size} bytes does not fit {path}, which takes multiples of {alignment} bytes")]
    Alignment {
        /// The target.
        path: String,
        /// What does not fit: `blocks`, `an alignment` or `an offset`.
        what: &'static str,
        /// Its size.
        size: u64,
        /// What it would have to be a multiple of.
        alignment: u64,
    },
    /// Only the local cache of a remote file system should be bypassed, and this one is local.
    #[error("{path} lies on this machine: there is no local cache of a remote file system to bypass")]
    NotRemote {
        /// The target.
        path: String,
    },
    /// The file that write data should come from cannot be read.
    #[error("cannot read write data from {path}: {source}")]
    Content {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The trace that is to be carried out cannot be read. Nothing was issued.
    #[error("cannot read the trace {path}: {source}")]
    Trace {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A log cannot be written. Nothing was issued.
    #[error("cannot write the {what} {path}: {source}")]
    Log {
        /// What it is.
        what: &'static str,
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// What an earlier run recorded of its writes cannot be read.
    #[error("cannot read the verification state {path}: {source}")]
    State {
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Two wishes that do not go together here.
    #[error("{what}")]
    Unfit {
        /// What does not go, in a sentence.
        what: String,
        /// What would.
        help: String,
    },
    /// The system cannot start another thread.
    #[error("the system cannot start another thread: {0}")]
    Thread(std::io::Error),
    /// A setting of the system cannot be as it was asked for.
    #[error("{what}: {source}")]
    Setting {
        /// Which.
        setting: Setting,
        /// What was asked.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// What keeps several workers from being set up.
    #[error(transparent)]
    Common(Arc<SetupError>),
    /// The thread cannot be placed as asked.
    #[error("{what}: {source}")]
    Placement {
        /// What was asked.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Settings of the system that a run changes while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The control group of a worker.
    ControlGroup,
    /// The I/O scheduler of a device.
    Scheduler,
}

impl SetupError {
    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            SetupError::Open(error) if error.only_direct_fails => {
                Some("this file system takes no direct I/O: use `cache buffered`, or a file elsewhere".into())
            }
            SetupError::Open(error) => match error.source.kind() {
                ErrorKind::PermissionDenied => Some("choose what this user may open so, or run as root".into()),
                ErrorKind::NotFound => Some("it was there when the run began; look for what removed it".into()),
                ErrorKind::ReadOnlyFilesystem => Some("it is read-only: choose another target, or only read".into()),
                _ => None,
            },
            SetupError::Engine(error) => error.help(),
            SetupError::Access {
                source: AccessError::TooSmall { .. },
                ..
            } => Some("use a larger target or smaller blocks".into()),
            SetupError::Alignment { what, alignment, .. } => Some(match *what {
                "blocks" => format!("use a block size that is a multiple of {alignment}, or `cache buffered`"),
                _ => format!("use a multiple of {alignment}, or `cache buffered`"),
            }),
            SetupError::Thread(_) => Some("use fewer workers, or raise the limit (ulimit -u)".into()),
            SetupError::Unfit { help, .. } => Some(help.clone()),
            SetupError::State { .. } => Some(
                "run the job that writes first, with the same name and in the same directory, or do without verify_state_load".into(),
            ),
            SetupError::Log { .. } => Some("name another file; what is there now was not touched".into()),
            SetupError::NotRemote { .. } => {
                Some("bypass every cache (`cache direct`, DiskSpd `-Su`), or use a file on a network share".into())
            }
            SetupError::Setting { setting, source, .. } => match (setting, source.kind()) {
                (_, ErrorKind::PermissionDenied) => Some("run as root, or do without".into()),
                (Setting::Scheduler, _) => {
                    Some("its file queue/scheduler below /sys/block lists those that it has".into())
                }
                (Setting::ControlGroup, _) => None,
            },
            SetupError::Common(why) => why.help(),
            SetupError::Access { .. }
            | SetupError::Content { .. }
            | SetupError::Trace { .. }
            | SetupError::Placement { .. } => None,
        }
    }
}

impl Assignment<'_> {
    /// The cells that operations of this worker are counted in.
    pub(crate) fn cells(&self) -> Vec<CellKey> {
        let completion_in_series = self.worker.latency == LatencyPoints::CompletionInSeries;
        let in_windows = !self.job.windows.is_empty();
        let mut keys = Vec::new();
        for (number, stream) in self.worker.streams.iter().enumerate() {
            let stream_number = number as u32;
            for direction in occurring(stream) {
                let paced = match &stream.pacing {
                    Pacing::Unpaced => false,
                    Pacing::Together { .. } => true,
                    Pacing::PerDirection { rates } => rates[direction].is_some(),
                };
                keys.push(CellKey {
                    stream: stream_number,
                    kind: CellKind::Moves(direction),
                    paced,
                    completion_in_series,
                    in_windows,
                });
            }
            for direction in occurring(stream) {
                for priority in priorities::numbers_of(stream, direction) {
                    keys.push(CellKey {
                        stream: stream_number,
                        kind: CellKind::OfPriority(direction, priority),
                        paced: false,
                        completion_in_series,
                        in_windows: false,
                    });
                }
            }
            if flushes(&stream.sync) || stream.replay.as_ref().is_some_and(|replay| replay.flushes) {
                keys.push(CellKey {
                    stream: stream_number,
                    kind: CellKind::Sync,
                    paced: false,
                    completion_in_series,
                    in_windows,
                });
            }
        }
        keys
    }
}

/// The directions that operations of a stream have. What was written is read back as reads of the same stream, and discarded
/// as trims of it.
pub(super) fn occurring(stream: &Stream) -> impl Iterator<Item = Direction> {
    let verified = |direction: Direction| match (&stream.verify, direction) {
        (Some(_), Direction::Read) => true,
        (Some(verify), Direction::Trim) => verify.trims.is_some() && stream.mix.includes(Direction::Write),
        (Some(_), Direction::Write) | (None, _) => false,
    };
    let occurs = move |direction: &Direction| stream.mix.includes(*direction) || verified(*direction);
    Direction::ALL.into_iter().filter(occurs)
}

/// Opens files and engine and makes everything ready. To be called on the worker's own thread: rings belong to a thread.
pub(crate) fn set_up<'plan>(given: &Assignment<'plan>) -> Result<(Worker<'plan>, Inbox), SetupError> {
    let plan = given.worker;
    place_thread(plan, given.control_groups)?;
    let pinned = pin_memory(plan)?;
    let slots = plan.slots();
    let opened = open_files(given)?;
    // fio leaves it to the system, which refuses the first operation.
    let checked = plan
        .streams
        .iter()
        .zip(&opened.streams)
        .filter(|_| given.checks_alignment);
    for (stream, of_stream) in checked {
        let files = of_stream.files.iter().map(|file| &opened.files[usize::from(*file)]);
        files.into_iter().try_for_each(|file| check_alignment(stream, file))?;
    }
    prepare_caches(given, &opened)?;
    let (choice, reason) = choose_engine(given, &opened.files, slots);
    check_choice(plan, &choice, &opened)?;
    check_simulated(given, &choice)?;
    let waits = choice.kind.is_synchronous() && !choice.offload;
    let one_at_a_time = waits || choice.kind == EngineKind::Null && slots == 1;
    let buffer_bytes = plan.streams.iter().map(longest_buffer).max().unwrap_or(1);
    let plain = is_plain(given);
    let keeps_buffers = plan.streams.iter().any(|stream| stream.mix.includes(Direction::Write));
    // A completion that issues the next operation by itself makes a call for it.
    let submit = if plan.batching.completion_routines {
        Some(1)
    } else {
        plan.batching.submit
    };
    let (slots, submit_batch) = if one_at_a_time {
        // Whatever depth was asked for, one operation is in flight. More slots only save turns.
        let at_once = match (plain, keeps_buffers) {
            (false, _) => 1,
            (true, false) => AT_ONCE,
            // Their buffers must stay in the cache between being filled and being written.
            (true, true) => (AT_ONCE_BYTES / buffer_bytes).clamp(1, AT_ONCE),
        };
        (plan.streams.len().max(at_once) as u32, at_once)
    } else {
        let usual = choice.kind.info().default_batch as usize;
        (slots, submit.map_or(usual, |batch| batch as usize).min(slots as usize))
    };
    let mut draws = plan.draws.start();
    let keys = given.cells();
    let mut streams = live_streams(given, &keys, &opened.streams, slots, &mut draws)?;
    let plays = streams.iter().any(|stream| stream.playback.is_some());
    let of_sets = streams
        .iter()
        .any(|stream| stream.set.as_ref().is_some_and(|set| set.exchanges_files()));
    let exchanges_files = of_sets || plays;
    let files_for_messages = opened.files.iter().map(for_messages).collect();
    let locks = locks_of(given, &opened, slots);
    let split_stamps = plan.latency == LatencyPoints::AfterCall && !waits;
    let probes = choice.kind.info().completes_inline && !choice.offload;
    let setup = Setup {
        slots,
        one_at_a_time,
        one_buffer: one_at_a_time && !keeps_buffers,
        submit_batch: submit_batch as u32,
        complete_max: plan.batching.complete_max,
        buffer_bytes,
        buffer_alignment: plan.memory.alignment as usize,
        huge_page: plan.memory.huge_pages.then_some(plan.memory.huge_page.0 as usize),
        files: opened.files,
        exchanges_files,
        split_stamps,
        spin: given.spin,
        clock: given.clock,
        simulated: (choice.kind == EngineKind::Simulated)
            .then(|| given.simulation.worker(given.number, simulated_devices(given))),
        seed: draws.clone().word(model::draws::Purpose::Delay),
        choice,
    };
    let simulated = setup.simulated.clone();
    let mut engine = engine::open(setup)?;
    let lanes = lanes_of(plan, slots, one_at_a_time);
    for lane in &lanes {
        fill_buffers(lane, &mut streams, plan, engine.as_mut());
    }
    let (recorder, outbox, inbox) = mailbox(
        &keys,
        (
            keys.len() * rows_per_cell(given),
            WindowRoom::new(&given.job.windows, keys.len(), given.interval, SPARE_WINDOWS),
        ),
        simulated.is_some(),
    );
    let paced = plan.streams.iter().any(|stream| stream.pacing != Pacing::Unpaced);
    let meter = Meter::new(paced, lanes.len(), simulated.is_some());
    let full_budget = Budget {
        operations: given.job.stop.operations.unwrap_or(u64::MAX),
        bytes: byte_budget(given),
    };
    let map_bytes = streams.iter().map(LiveStream::extra_bytes).sum();
    let mut batch = Batch::new(slots);
    // Waiting for a lock takes its time, which is no operation's.
    batch.chained = one_at_a_time && locks.is_none();
    let worker = Worker {
        engine,
        simulated,
        batch,
        draws,
        draws_form: plan.draws,
        gated: false,
        meter,
        exchanges_files,
        streams,
        lanes,
        slots: SlotTable::new(slots),
        requests: Requests::new(slots as usize),
        in_flight: 0,
        round: 0,
        batching: plan.batching,
        submit_batch,
        usual_batch: submit_batch,
        inline: Inline {
            in_a_row: 0,
            probes_left: if probes && submit.is_none() { PROBE_TURNS } else { 0 },
            seen: false,
        },
        next_lane: 0,
        learns_inline: probes && submit.is_none(),
        works_on_names: plan.engine.kind.works_on_names(),
        moves_nothing: plan.engine.kind.moves_nothing(),
        refilling: true,
        one_at_a_time,
        plain,
        careful: is_careful(given),
        pen: None,
        held_up: false,
        overlap: plan.batching.serialize_overlap.then(Box::default),
        tracing: None,
        targets_of_files: opened.targets,
        priorities_of_files: opened.priorities,
        prioritised: plan.streams.iter().any(|stream| !priorities::rules(stream).is_empty()),
        locks,
        flows: given.flows,
        divides: plan.streams.iter().any(|stream| stream.flow.is_some()),
        plays,
        winding_down: false,
        split_stamps,
        next_due: Nanos::NEVER,
        budget: Budget::OPEN,
        full_budget,
        passes: given.job.stop.passes,
        all_done: false,
        repeat_until_time: given.job.stop.repeat_until_time,
        rounds_left: given.job.stop.rounds.unwrap_or(1),
        timeline: Timeline::new(&given.job.phases, &given.job.stop, Nanos(0), given.interval),
        interval: given.interval,
        boundary: Nanos(0),
        grids: Grids::new(given.grids, &given.job.windows, keys.len()),
        recorder,
        outbox,
        control: given.control,
        commands_seen: 0,
        measured: Measured::default(),
        warm_up_bytes_left: given.job.phases.warm_up_bytes.map(|bytes| bytes.0),
        warm_up_bytes_before: 0,
        first_issue: Nanos(0),
        end_reason: None,
        failure: None,
        verifies: plan.streams.iter().any(|stream| stream.verify.is_some()),
        mismatches: Vec::new(),
        mismatch_count: 0,
        tolerated: Vec::new(),
        _pinned: pinned,
        verification: (Nanos(0), Nanos(0)),
        between_rounds: BetweenRounds::default(),
        trims_the_rest: false,
        plan,
        job: given.job,
        files: files_for_messages,
        engine_reason: reason,
        map_bytes,
    };
    Ok((worker, inbox))
}

/// One stream that nothing holds back: not paced, without pauses or flushes, limited by time or operations only, whose
/// operations are all alike but for reads among writes.
fn is_plain(given: &Assignment<'_>) -> bool {
    let worker = given.worker;
    let [stream] = &worker.streams[..] else { return false };
    matches!(stream.target, StreamTarget::One { .. })
        && stream.pacing == Pacing::Unpaced
        && stream.think.is_none()
        && !flushes(&stream.sync)
        && given.job.stop.bytes.is_none()
        && given.job.stop.region_percent.is_none()
        && stream.flow.is_none()
        && stream.mix != Mix::TrimThenWrite
        && !is_careful(given)
        && worker.batching.refill_below.is_none()
        && !worker.engine.kind.works_on_names()
        && !worker.engine.kind.moves_nothing()
        && !matches!(worker.draws, DrawsForm::Single { .. })
}

/// Single operations must be looked at when they end.
fn is_careful(given: &Assignment<'_>) -> bool {
    let streams = &given.worker.streams;
    given.job.operation_log.is_some()
        || given.job.trace.is_some()
        || streams
            .iter()
            .any(|stream| stream.replay.is_some() || !stream.lock.is_none())
        || streams.iter().any(|stream| !priorities::rules(stream).is_empty())
        || given.worker.batching.completion_routines
        || given.worker.batching.count_waits
        || given.worker.batching.serialize_overlap
        || streams
            .iter()
            .any(|stream| stream.think.is_some_and(|think| think.cycles_each > 0))
        || streams.iter().any(|stream| stream.verify.is_some())
        || streams.iter().any(|stream| stream.on_error.block_lifetimes)
        || streams
            .iter()
            .any(|stream| stream.on_error.latency_ns_max.iter().any(|(_, most)| most.is_some()))
}

/// Bytes that the worker may issue, where the plan bounds them.
fn byte_budget(given: &Assignment<'_>) -> u64 {
    let regions = given.worker.streams.iter().flat_map(|stream| {
        let targets = stream.target.ids().iter();
        targets.map(|id| stream.region.resolve(given.targets[id.0 as usize].size).1)
    });
    let region: u128 = regions.map(u128::from).sum();
    let stop = &given.job.stop;
    let part = stop
        .region_percent
        .map(|percent| (region * u128::from(percent) / 100).try_into().unwrap_or(u64::MAX));
    let bytes = stop.bytes.map(|bytes| bytes.0);
    bytes.into_iter().chain(part).min().unwrap_or(u64::MAX)
}

/// Rows of interval series that end between two exchanges of recorders.
fn rows_per_cell(given: &Assignment<'_>) -> usize {
    let each = given.grids.iter().map(|length| given.interval.0 / length.0.max(1) + 2);
    (each.sum::<u64>() + SPARE_ROWS) as usize
}

/// Memory that is kept from others while the worker runs.
fn pin_memory(plan: &Plan) -> Result<Option<engine::Pinned>, SetupError> {
    let bytes = plan.memory.pinned;
    if bytes.0 == 0 {
        return Ok(None);
    }
    let pinned = engine::Pinned::new(bytes.0).map_err(|source| SetupError::Placement {
        what: format!("{bytes} of memory cannot be pinned"),
        source,
    })?;
    Ok(Some(pinned))
}

fn place_thread(plan: &Plan, control_groups: &ControlGroups) -> Result<(), SetupError> {
    let failed = |what: String| move |source| SetupError::Placement { what, source };
    let placement = &plan.placement;
    let mut cpus = placement.cpus.clone();
    for node in &placement.cpu_nodes {
        cpus.extend(sys::thread::cpus_of_node(*node).map_err(failed(format!("there is no NUMA node {node}")))?);
    }
    if !cpus.is_empty() {
        sys::thread::pin_to(&cpus).map_err(failed(format!("a worker cannot be bound to the CPUs {cpus:?}")))?;
    }
    if let Some(nodes) = &placement.memory_nodes {
        sys::thread::take_memory_from(nodes).map_err(failed(format!(
            "a worker cannot take its memory from NUMA nodes as asked ({nodes:?})"
        )))?;
    }
    if let Some(name) = &placement.name {
        sys::thread::set_name(name);
    }
    if let Some(nice) = placement.nice {
        sys::thread::set_nice(nice).map_err(failed(format!("a worker cannot get the nice value {nice}")))?;
    }
    let set_priority = |priority: Priority| {
        sys::thread::set_io_priority(priorities::class_number(priority.class), priority.level, priority.hint)
            .map_err(failed("a worker cannot get its I/O priority".to_owned()))
    };
    // Better refused here than by the first operation.
    let own: Vec<Priority> = all_priorities(plan).collect();
    if has_own_priorities(plan) && sys::thread::HAVE_IO_PRIORITY {
        own.iter().try_for_each(|priority| set_priority(*priority))?;
    }
    match common_priority(plan) {
        Some(priority) => set_priority(priority)?,
        None if own.is_empty() => {}
        None => sys::thread::set_io_priority(0, 0, 0).map_err(failed("an I/O priority cannot be given back".into()))?,
    }
    sys::thread::sharpen_timers();
    if let Some(group) = &placement.control_group {
        control_groups.enter(group)?;
    }
    // Last: what comes before may be a matter for root.
    if placement.user.is_some() || placement.group.is_some() {
        let id = |id: Option<u32>| id.map_or("the same".into(), |id| id.to_string());
        sys::thread::act_as(placement.user, placement.group).map_err(failed(format!(
            "a worker cannot act as user {} and group {}",
            id(placement.user),
            id(placement.group)
        )))?;
    }
    Ok(())
}

/// The I/O priority of the thread: where it is that of every operation, and threads have one. Otherwise each operation
/// carries its own, by the file that it goes to.
fn common_priority(plan: &Plan) -> Option<Priority> {
    if !sys::thread::HAVE_IO_PRIORITY {
        return None;
    }
    let first = plan.streams.first()?.priority?;
    let common = first.percent >= 100 && plan.streams.iter().all(|stream| stream.priority == Some(first));
    common.then_some(first)
}

/// True if operations carry I/O priorities of their own.
pub(super) fn has_own_priorities(plan: &Plan) -> bool {
    let of_streams = common_priority(plan).is_none() && plan.streams.iter().any(|stream| stream.priority.is_some());
    of_streams || plan.streams.iter().any(|stream| !priorities::rules(stream).is_empty())
}

/// Every priority that some operation can have.
fn all_priorities(plan: &Plan) -> impl Iterator<Item = Priority> {
    plan.streams.iter().flat_map(|stream| {
        let of_rules = stream.priorities.iter().map(|rule| Priority {
            class: rule.class,
            level: rule.level,
            hint: rule.hint,
            percent: rule.percent,
        });
        stream.priority.into_iter().chain(of_rules)
    })
}

/// Can the engine do all that is wanted of it with these files?
fn check_choice(plan: &Plan, choice: &EngineChoice, opened: &Opened) -> Result<(), SetupError> {
    let name = choice.kind.name();
    let unfit = |what: String, help: &str| {
        Err(SetupError::Unfit {
            what,
            help: help.to_owned(),
        })
    };
    let of_calls = sys::thread::HAVE_IO_PRIORITY && has_own_priorities(plan);
    if of_calls && (choice.kind.is_synchronous() || choice.offload) {
        return unfit(
            format!("the {name} engine gives all operations of a worker the same I/O priority"),
            "use the engine io_uring or libaio, or one priority for the whole worker",
        );
    }
    if !choice.atomic {
        return Ok(());
    }
    if !choice.kind.info().atomic_writes {
        return unfit(
            format!("the {name} engine knows no writes that happen whole or not at all"),
            "use the engine pvsync2, io_uring or libaio",
        );
    }
    let writing = plan.streams.iter().zip(&opened.streams);
    for (stream, of_stream) in writing.filter(|(stream, _)| stream.mix.includes(Direction::Write)) {
        let file = &opened.files[usize::from(of_stream.first())];
        let (path, Some(handle)) = (file.path().display(), file.handle()) else {
            continue;
        };
        if !stream.cache.direct {
            return unfit(
                "writes that happen whole or not at all cannot go through the page cache".into(),
                "use direct I/O",
            );
        }
        let Some((low, high)) = sys::file::atomic_write_sizes(handle) else {
            return unfit(
                format!("{path} offers no writes that happen whole or not at all"),
                "kernel (6.11 or later), file system and device must all know them; choose another target, or do without",
            );
        };
        let pattern = &stream.pattern;
        let sizes = [
            pattern.shortest_of(Direction::Write),
            pattern.longest_of(Direction::Write),
        ];
        for size in sizes.map(|size| size.0) {
            if !size.is_power_of_two() || !(u64::from(low)..=u64::from(high)).contains(&size) {
                return unfit(
                    format!(
                        "writes of {size} bytes cannot happen whole or not at all on {path}, which takes powers of two \
                         from {low} to {high}"
                    ),
                    "use such a block size",
                );
            }
        }
    }
    Ok(())
}

/// Refuses what would mix simulated time with the time of this machine.
fn check_simulated(given: &Assignment<'_>, choice: &EngineChoice) -> Result<(), SetupError> {
    if choice.kind != EngineKind::Simulated {
        return Ok(());
    }
    let streams = &given.worker.streams;
    let targets = streams.iter().flat_map(|stream| stream.target.ids());
    let mut targets = targets.map(|id| &given.targets[id.0 as usize]);
    if let Some(other) = targets.find(|target| !matches!(target.what, ReadyKind::Simulated { .. })) {
        return Err(SetupError::Unfit {
            what: format!("one worker cannot use simulated devices and {} together", other.name()),
            help: "use a job of its own for each".into(),
        });
    }
    if streams.iter().any(|stream| !stream.lock.is_none()) {
        return Err(SetupError::Unfit {
            what: "locks of files are not simulated".into(),
            help: "remove the lock, or use a real file".into(),
        });
    }
    Ok(())
}

fn choose_engine(given: &Assignment<'_>, files: &[File], slots: u32) -> (EngineChoice, String) {
    let asked = &given.worker.engine;
    if asked.kind != EngineKind::Auto {
        return (asked.clone(), String::new());
    }
    if !simulated_devices(given).is_empty() {
        let choice = EngineChoice {
            kind: EngineKind::Simulated,
            ..asked.clone()
        };
        return (choice, "the target is simulated".into());
    }
    let choice = choose(files, slots);
    let (kind, reason) = if choice.kind == EngineKind::Iocp && given.worker.batching.completion_routines {
        (EngineKind::Routines, "completion routines are asked for".to_owned())
    } else if choice.kind != EngineKind::Psync || cfg!(windows) {
        (choice.kind, choice.reason)
    } else if has_own_priorities(given.worker) {
        let reason = "each operation has an I/O priority of its own";
        (EngineKind::IoUring, reason.to_owned())
    } else if asked.atomic {
        let reason = "writes that happen whole or not at all need its flags";
        (EngineKind::Pvsync2, reason.to_owned())
    } else {
        (choice.kind, choice.reason)
    };
    (EngineChoice { kind, ..asked.clone() }, reason)
}

/// The simulated devices that a worker uses, each once, in the order of its streams.
fn simulated_devices(given: &Assignment<'_>) -> Vec<u32> {
    let ids = given.worker.streams.iter().flat_map(|stream| stream.target.ids());
    let mut devices = Vec::new();
    for id in ids {
        if let ReadyKind::Simulated { device } = given.targets[id.0 as usize].what
            && !devices.contains(&device)
        {
            devices.push(device);
        }
    }
    devices
}

/// Trims need no buffer.
fn longest_buffer(stream: &Stream) -> usize {
    let of = [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|direction| stream.mix.includes(*direction));
    of.map(|direction| stream.pattern.longest_of(direction).0 as usize)
        .max()
        .unwrap_or(1)
}

fn live_streams(
    given: &Assignment<'_>,
    keys: &[CellKey],
    opened: &[OpenedStream],
    slots: u32,
    draws: &mut Draws,
) -> Result<Vec<LiveStream>, SetupError> {
    let cell = |stream: usize, kind: CellKind| {
        keys.iter()
            .position(|key| key.stream as usize == stream && key.kind == kind)
            .unwrap_or(0) as u32
    };
    let mut streams = Vec::new();
    for (number, (stream, opened)) in given.worker.streams.iter().zip(opened).enumerate() {
        let (sequence, set) = sequence_and_set(given, stream, opened, slots, draws)?;
        let of_priorities: Vec<(Direction, u16, u32)> = keys
            .iter()
            .zip(0..)
            .filter(|(key, _)| key.stream as usize == number)
            .filter_map(|(key, cell)| match key.kind {
                CellKind::OfPriority(direction, priority) => Some((direction, priority, cell)),
                CellKind::Moves(_) | CellKind::Sync => None,
            })
            .collect();
        streams.push(LiveStream {
            sequence,
            set,
            file: opened.first(),
            priorities: opened.priorities_of(0, &of_priorities),
            playback: playback_of(given, stream, opened)?,
            flow: None,
            cells: PerDirection {
                read: cell(number, CellKind::Moves(Direction::Read)),
                write: cell(number, CellKind::Moves(Direction::Write)),
                trim: cell(number, CellKind::Moves(Direction::Trim)),
            },
            sync_cell: cell(number, CellKind::Sync),
            verification: verification_of(given, stream, slots)?,
            lives: lives_of(given, stream)?,
            filler: if stream.mix.includes(Direction::Write) {
                Some(filler_of(given, stream, number))
            } else {
                None
            },
            passes: 0,
            idle_pass: false,
            done: false,
            gate: None,
        });
    }
    Ok(streams)
}

/// The operations of a stream: on its target, or on the first of its files and the set of all of them.
fn sequence_and_set(
    given: &Assignment<'_>,
    stream: &Stream,
    opened: &OpenedStream,
    slots: u32,
    draws: &mut Draws,
) -> Result<(Sequence, Option<Box<FileSet>>), SetupError> {
    let depth = if given.worker.depth == Depth::PerStream {
        stream.depth
    } else {
        slots
    };
    let sequence_on = |target: &ReadyTarget, draws: &mut Draws| {
        let (base, length) = stream.region.resolve(target.size);
        let shared = &target.shared_position;
        Sequence::new(stream.mix, &stream.pattern, base, length, depth, shared, draws).map_err(|source| {
            SetupError::Access {
                path: target.name(),
                size: Bytes(target.size),
                source,
            }
        })
    };
    if stream.replay.is_some() {
        return Ok((Sequence::nothing(stream.mix), None));
    }
    let target = |id: &TargetId| &given.targets[id.0 as usize];
    match &stream.target {
        StreamTarget::One { target: id } => Ok((sequence_on(target(id), draws)?, None)),
        StreamTarget::Files {
            targets,
            open_at_once,
            service,
            operations,
        } => {
            let sequences = targets.iter().map(|id| sequence_on(target(id), draws));
            let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
            let choice = FileChoice::new(*service, *operations, *open_at_once, targets.len(), draws);
            let targets = targets.iter().map(|id| target(id).clone()).collect();
            let (set, first) = FileSet::new(choice, sequences, targets, opened);
            Ok((first, Some(Box::new(set))))
        }
    }
}

/// The trace that a stream carries out, if it does.
fn playback_of(
    given: &Assignment<'_>,
    stream: &Stream,
    opened: &OpenedStream,
) -> Result<Option<Box<Playback>>, SetupError> {
    let Some(replay) = &stream.replay else {
        return Ok(None);
    };
    let source = TraceSource::open(replay, given.job.workers.len()).map_err(|source| SetupError::Trace {
        path: replay.trace.clone(),
        source,
    })?;
    let targets = stream
        .target
        .ids()
        .iter()
        .map(|id| given.targets[id.0 as usize].clone());
    Ok(Some(Box::new(Playback::new(source, stream, targets, opened))))
}

/// The locks that the worker takes, if a stream of it wants any.
fn locks_of(given: &Assignment<'_>, opened: &Opened, slots: u32) -> Option<Box<Locks>> {
    let streams = &given.worker.streams;
    if streams.iter().all(|stream| stream.lock.is_none()) {
        return None;
    }
    // Streams that use the same file in the same way share its place; if one of them locks, it is locked for both.
    let wanted = |place: usize| {
        let of_place = streams.iter().zip(&opened.streams).filter(|(_, opened)| {
            let of_rules = opened.rules.iter().flat_map(|(_, files)| files);
            let mut files = opened.files.iter().chain(of_rules);
            files.any(|file| usize::from(*file) == place)
        });
        of_place.map(|(stream, _)| stream.lock).max().unwrap_or_default()
    };
    let of_files = opened.targets.iter().enumerate().map(|(place, target)| {
        let lock = Arc::clone(&given.targets[*target as usize].lock);
        (*target, lock, wanted(place))
    });
    Some(Box::new(Locks::new(of_files.collect(), slots as usize)))
}

/// The verification of a stream, if it wants one. `slots` are those of the worker.
fn verification_of(
    given: &Assignment<'_>,
    stream: &Stream,
    slots: u32,
) -> Result<Option<Box<Verification>>, SetupError> {
    let Some(verify) = &stream.verify else { return Ok(None) };
    let number = match given.worker.draws {
        DrawsForm::PerPurpose { number, .. } => number as u16,
        DrawsForm::Native { .. } | DrawsForm::Single { .. } => 0,
    };
    let recorded = match verify.load_state {
        true => Some(load_state(verify).map_err(|(path, source)| SetupError::State {
            path: path.display().to_string(),
            source,
        })?),
        false => None,
    };
    let pool = match verify.threads {
        0 => None,
        threads => {
            let checker = Checker::new(verify, number);
            let (buffers, length) = ((slots + threads) as usize, longest_buffer(stream));
            let pool = Pool::new(&checker, threads as usize, &verify.processors, buffers, length);
            Some(pool.map_err(|source| SetupError::Placement {
                what: match verify.processors.is_empty() {
                    true => format!("{threads} threads that check cannot be started"),
                    false => format!("threads that check cannot be bound to the CPUs {:?}", verify.processors),
                },
                source,
            })?)
        }
    };
    let rest = verification::Given {
        slots,
        number,
        recorded,
        pool,
    };
    let verification = Verification::new(given.worker, stream, verify, given.job, rest);
    let shortest = match verify.interval {
        0 => stream.pattern.shortest(&stream.mix).0,
        interval => u64::from(interval),
    };
    let least = verification.least_length() as u64;
    if shortest < least {
        return Err(SetupError::Unfit {
            what: format!("blocks of {shortest} bytes leave no room for the header that verification needs"),
            help: format!("use blocks and verification intervals of at least {least} bytes, or verify a pattern"),
        });
    }
    if let Some((place, least)) = verification.misplaced() {
        return Err(SetupError::Unfit {
            what: format!(
                "a header cannot stand {place} bytes from the beginning, where it would overlap its own place"
            ),
            help: format!("use a place of at least {least} bytes"),
        });
    }
    Ok(Some(Box::new(verification)))
}

/// The lives of the blocks of a stream, if they are asked for.
fn lives_of(given: &Assignment<'_>, stream: &Stream) -> Result<Option<Box<Lives>>, SetupError> {
    if !stream.on_error.block_lifetimes {
        return Ok(None);
    }
    let unfit = |what: String, help: &str| SetupError::Unfit {
        what,
        help: help.into(),
    };
    let StreamTarget::One { target } = stream.target else {
        let what = "the lives of blocks are kept for one file, and the stream has several";
        return Err(unfit(
            what.into(),
            "use one file, or do without block_error_percentiles",
        ));
    };
    let (base, length) = stream.region.resolve(given.targets[target.0 as usize].size);
    let block = stream.pattern.shortest_of(Direction::Trim).0.max(1);
    let count = length / block;
    if count > MOST_BLOCKS {
        let what = format!("the lives of {count} blocks cannot be kept, which is more than {MOST_BLOCKS}");
        return Err(unfit(
            what,
            "use larger trims or a smaller size, or do without block_error_percentiles",
        ));
    }
    Ok(Some(Box::new(Lives::new(base, block, count))))
}

/// What messages say of a file of the engine.
pub(super) fn for_messages(file: &File) -> (String, Option<u64>) {
    (file.path().display().to_string(), direct_alignment_of(file))
}

impl ReadyTarget {
    /// What messages call it.
    pub(super) fn name(&self) -> String {
        match &self.what {
            ReadyKind::Path(path) => path.display().to_string(),
            ReadyKind::Nothing => "null target".into(),
            ReadyKind::Simulated { .. } => "simulated device".into(),
        }
    }
}

fn filler_of(given: &Assignment<'_>, stream: &Stream, number: usize) -> Filler {
    let mut draws = given.worker.draws.start();
    let seed = draws.word(model::draws::Purpose::Content).wrapping_add(number as u64);
    let step = if stream.cache.direct { 512 } else { 1 };
    Filler::new(
        &stream.content,
        seed,
        engine::fill::random_fill(),
        given.sources.source(&stream.content),
        step,
    )
}

/// A lane for each stream, or one for all.
fn lanes_of(plan: &Plan, slots: u32, one_at_a_time: bool) -> Vec<Lane> {
    let lane = |streams: std::ops::Range<usize>, first_slot: u32, count: u32| {
        let mut sum = 0;
        let weights = streams
            .clone()
            .map(|stream| {
                sum += u64::from(plan.streams[stream].weight);
                sum
            })
            .collect();
        Lane {
            shared: streams.len() > 1,
            streams,
            weights,
            // Last in, first out: slot 0 lies on top.
            free: (first_slot..first_slot + count).rev().map(Slot).collect(),
            free_count: count as usize,
            reserve: 0,
            first_slot,
        }
    };
    match plan.depth {
        Depth::Shared { .. } => vec![lane(0..plan.streams.len(), 0, slots)],
        Depth::PerStream => {
            let each = slots / (plan.streams.len() as u32).max(1);
            let mut first = 0;
            let of = plan.streams.iter().enumerate().map(|(index, stream)| {
                let count = if one_at_a_time { each } else { stream.depth };
                let lane = lane(index..index + 1, first, count);
                first += count;
                lane
            });
            of.collect()
        }
    }
}

/// Fills every buffer once, and drops fillers whose buffers then stay as they are.
fn fill_buffers(lane: &Lane, streams: &mut [LiveStream], plan: &Plan, engine: &mut dyn engine::Engine) {
    let alone = lane.streams.len() == 1;
    for number in lane.streams.clone() {
        let stream = &mut streams[number];
        let Some(filler) = &mut stream.filler else { continue };
        let length = longest_buffer(&plan.streams[number]);
        for slot in &lane.free[..] {
            filler.prepare(&mut engine.buffer(*slot)[..length]);
        }
        if plan.streams[number].content.changes_each_write() || stream.verification.is_some() {
            continue;
        }
        // A read, or a write of another stream, would leave something else in the buffer.
        if alone && !plan.streams[number].mix.includes(Direction::Read) {
            stream.filler = None;
        } else {
            filler.prepare_each_time();
        }
    }
}

impl Worker<'_> {
    /// Sets everything that counts from the start of the job.
    pub(super) fn set_start(&mut self, start: Nanos) {
        self.timeline = Timeline::new(&self.job.phases, &self.job.stop, start, self.interval);
        for (stream, plan) in self.streams.iter_mut().zip(&self.plan.streams) {
            stream.gate = Gate::new(plan, start, &mut self.draws);
        }
        for (stream, plan) in self.streams.iter_mut().zip(&self.plan.streams) {
            stream.flow = plan.flow.map(|flow| LiveFlow::new(self.flows.join(flow)));
            if let Some(playback) = &mut stream.playback {
                playback.start(start);
            }
        }
        self.gated = self.exchanges_files || self.streams.iter().any(|stream| stream.gate.is_some());
        self.recorder.phase = self.timeline.phase();
        debug_assert!(matches!(self.timeline.phase(), Phase::WarmUp | Phase::Measured));
    }
}
