//! Everything a worker needs before it starts: its files, its engine, its buffers, its streams.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use engine::{Access, Batch, Clock, EngineError, File, Identity, OpenError, OpenHow, Setup, Slot, choose, sys};
use model::access::AccessError;
use model::content::{Content, Filler};
use model::draws::{Draws, DrawsForm};
use model::event::Phase;
use model::mix::Mix;
use model::plan::{
    Depth, EngineChoice, EngineKind, Job, LatencyPoints, Pacing, PriorityClass, SimulatedDevice, Stream, StreamTarget,
    Worker as Plan,
};
use model::sequence::Sequence;
use model::{Bytes, Direction, Nanos, PerDirection};

use super::recorder::{Grids, SlotTable};
use super::stream::{Gate, LiveStream};
use super::timeline::Timeline;
use super::{
    AT_ONCE, AT_ONCE_BYTES, Budget, CellKey, CellKind, Inbox, Inline, Lane, Measured, PROBE_TURNS, Requests,
    USUAL_BATCH, Worker, mailbox,
};
use crate::control::JobControl;

/// Rows of interval series that one recorder holds for each cell.
const ROWS_PER_CELL: usize = 256;

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
}

/// What a target turned out to be.
#[derive(Clone, Debug)]
pub(crate) enum ReadyKind {
    Path(PathBuf),
    Nothing,
    Simulated(SimulatedDevice),
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
    /// The file that write data should come from cannot be read.
    #[error("cannot read write data from {path}: {source}")]
    Content {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system cannot start another thread.
    #[error("the system cannot start another thread: {0}")]
    Thread(std::io::Error),
    /// The thread cannot be placed as asked.
    #[error("{what}: {source}")]
    Placement {
        /// What was asked.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
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
            SetupError::Access { .. } | SetupError::Content { .. } | SetupError::Placement { .. } => None,
        }
    }
}

impl Assignment<'_> {
    /// The cells that operations of this worker are counted in.
    pub(crate) fn cells(&self) -> Vec<CellKey> {
        let mut keys = Vec::new();
        for (number, stream) in self.worker.streams.iter().enumerate() {
            let stream_number = number as u32;
            for direction in Direction::ALL
                .into_iter()
                .filter(|direction| stream.mix.includes(*direction))
            {
                let paced = match &stream.pacing {
                    Pacing::Unpaced => false,
                    Pacing::Together { .. } => true,
                    Pacing::PerDirection { rates } => rates[direction].is_some(),
                };
                keys.push(CellKey {
                    stream: stream_number,
                    kind: CellKind::Moves(direction),
                    paced,
                });
            }
            if stream.sync.every_writes > 0 || stream.sync.file_range.is_some() {
                keys.push(CellKey {
                    stream: stream_number,
                    kind: CellKind::Sync,
                    paced: false,
                });
            }
        }
        keys
    }
}

/// Opens files and engine and makes everything ready. To be called on the worker's own thread: rings belong to a thread.
pub(crate) fn set_up<'plan>(given: &Assignment<'plan>) -> Result<(Worker<'plan>, Inbox), SetupError> {
    let plan = given.worker;
    place_thread(plan)?;
    let slots = plan.slots();
    let (files, file_of) = open_files(given)?;
    for (stream, file) in plan.streams.iter().zip(&file_of) {
        check_alignment(stream, &files[*file as usize])?;
    }
    prepare_caches(plan, &files, &file_of)?;
    let (choice, reason) = choose_engine(given, &files, slots);
    let one_at_a_time = choice.kind.is_synchronous() || choice.kind == EngineKind::Null && slots == 1;
    let buffer_bytes = plan.streams.iter().map(longest_buffer).max().unwrap_or(1);
    let plain = is_plain(given);
    let keeps_buffers = plan.streams.iter().any(|stream| stream.mix.includes(Direction::Write));
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
        let usual = if choice.kind == EngineKind::Null {
            AT_ONCE
        } else {
            USUAL_BATCH
        };
        (
            slots,
            plan.batching
                .submit
                .map_or(usual, |batch| batch as usize)
                .min(slots as usize),
        )
    };
    let mut draws = plan.draws.start();
    let keys = given.cells();
    let mut streams = live_streams(given, &keys, &file_of, slots, &mut draws)?;
    let files_for_messages = files
        .iter()
        .map(|file| (file.path().display().to_string(), direct_alignment_of(file)))
        .collect();
    let split_stamps = plan.latency == LatencyPoints::AfterCall && !choice.kind.is_synchronous();
    let probes = matches!(
        choice.kind,
        EngineKind::IoUring | EngineKind::Libaio | EngineKind::Simulated
    );
    let setup = Setup {
        slots,
        one_at_a_time,
        one_buffer: one_at_a_time && !keeps_buffers,
        submit_batch: submit_batch as u32,
        buffer_bytes,
        buffer_alignment: plan.memory.alignment as usize,
        huge_pages: plan.memory.huge_pages,
        files,
        split_stamps,
        spin: given.spin,
        clock: given.clock,
        simulated: simulated_device(given),
        seed: draws.clone().word(model::draws::Purpose::Delay),
        choice,
    };
    let patient = setup.choice.kind == EngineKind::Simulated;
    let mut engine = engine::open(setup)?;
    let lanes = lanes_of(plan, slots, one_at_a_time);
    for lane in &lanes {
        fill_buffers(lane, &mut streams, plan, engine.as_mut());
    }
    let (recorder, outbox, inbox) = mailbox(&keys, keys.len() * ROWS_PER_CELL, patient);
    let full_budget = Budget {
        operations: given.job.stop.operations.unwrap_or(u64::MAX),
        bytes: given.job.stop.bytes.map_or(u64::MAX, |bytes| bytes.0),
    };
    let map_bytes = streams.iter().map(|stream| stream.sequence.extra_bytes()).sum();
    let mut batch = Batch::new(slots);
    batch.chained = one_at_a_time;
    let worker = Worker {
        engine,
        batch,
        draws,
        draws_form: plan.draws,
        gated: false,
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
            probes_left: if probes && plan.batching.submit.is_none() {
                PROBE_TURNS
            } else {
                0
            },
            seen: false,
        },
        learns_inline: probes && plan.batching.submit.is_none(),
        refilling: true,
        one_at_a_time,
        plain,
        winding_down: false,
        split_stamps,
        next_due: Nanos::NEVER,
        budget: Budget::OPEN,
        full_budget,
        passes: given.job.stop.passes,
        all_done: false,
        repeat_until_time: given.job.stop.repeat_until_time,
        timeline: Timeline::new(&given.job.phases, &given.job.stop, Nanos(0), given.interval),
        interval: given.interval,
        boundary: Nanos(0),
        grids: Grids::new(given.grids, keys.len()),
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
        plan,
        job: given.job,
        files: files_for_messages,
        engine_reason: reason,
        map_bytes,
    };
    Ok((worker, inbox))
}

/// One stream that nothing holds back: not paced, without pauses or flushes, limited by time or operations only.
fn is_plain(given: &Assignment<'_>) -> bool {
    let worker = given.worker;
    let [stream] = &worker.streams[..] else { return false };
    stream.pacing == Pacing::Unpaced
        && stream.think.is_none()
        && stream.sync.every_writes == 0
        && stream.sync.file_range.is_none()
        && given.job.stop.bytes.is_none()
        && worker.batching.refill_below.is_none()
        && !matches!(worker.draws, DrawsForm::Single { .. })
}

fn place_thread(plan: &Plan) -> Result<(), SetupError> {
    let failed = |what: String| move |source| SetupError::Placement { what, source };
    let placement = &plan.placement;
    if !placement.cpus.is_empty() {
        sys::thread::pin_to(&placement.cpus).map_err(failed(format!(
            "a worker cannot be bound to the CPUs {:?}",
            placement.cpus
        )))?;
    }
    if let Some(node) = placement.memory_node {
        sys::thread::bind_memory_to(node).map_err(failed(format!(
            "the memory of a worker cannot be bound to NUMA node {node}"
        )))?;
    }
    if let Some(nice) = placement.nice {
        sys::thread::set_nice(nice).map_err(failed(format!("a worker cannot get the nice value {nice}")))?;
    }
    if let Some(priority) = plan.streams.first().and_then(|stream| stream.priority) {
        let class = match priority.class {
            PriorityClass::RealTime => 1,
            PriorityClass::BestEffort => 2,
            PriorityClass::Idle => 3,
        };
        sys::thread::set_io_priority(class, priority.level)
            .map_err(failed("a worker cannot get its I/O priority".to_owned()))?;
    }
    sys::thread::sharpen_timers();
    Ok(())
}

/// Empties or fills the page cache for the streams that want it.
fn prepare_caches(plan: &Plan, files: &[File], file_of: &[u16]) -> Result<(), SetupError> {
    for (stream, file) in plan.streams.iter().zip(file_of) {
        let file = &files[usize::from(*file)];
        let Some(handle) = file.handle() else { continue };
        let failed = |source| {
            SetupError::Open(OpenError {
                path: file.path().to_owned(),
                source,
                only_direct_fails: false,
            })
        };
        if stream.cache.drop_before {
            handle.sync_data().map_err(failed)?;
            sys::file::drop_cache(handle);
        }
        if stream.cache.fill_before {
            let mut reader = std::fs::File::open(file.path()).map_err(failed)?;
            std::io::copy(&mut reader, &mut std::io::sink()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Opens each target once for each way of using it. Returns the files, and the index of each stream's.
fn open_files(given: &Assignment<'_>) -> Result<(Vec<File>, Vec<u16>), SetupError> {
    let mut files: Vec<File> = Vec::new();
    let mut opened: Vec<(u32, OpenHow)> = Vec::new();
    let mut file_of = Vec::new();
    for stream in &given.worker.streams {
        let StreamTarget::One { target } = &stream.target else {
            // Refused before any worker is made.
            continue;
        };
        let access = match (stream.mix.includes(Direction::Read), writes(&stream.mix)) {
            (true, true) => Access::ReadWrite,
            (false, true) => Access::Write,
            _ => Access::Read,
        };
        let how = OpenHow {
            access,
            cache: stream.cache,
            hint: stream.hint,
            exclusive: false,
        };
        let known = opened.iter().position(|entry| *entry == (target.0, how));
        let index = match known {
            Some(index) => index,
            None => {
                let ready = &given.targets[target.0 as usize];
                files.push(match &ready.what {
                    ReadyKind::Path(path) => open_judged(path, how, ready.identity)?,
                    ReadyKind::Nothing | ReadyKind::Simulated(_) => File::nothing(ready.size),
                });
                opened.push((target.0, how));
                files.len() - 1
            }
        };
        file_of.push(index as u16);
    }
    Ok((files, file_of))
}

/// Opens the file that was judged, and no other that has taken its place since.
fn open_judged(path: &Path, how: OpenHow, judged: Option<Identity>) -> Result<File, OpenError> {
    let file = File::open(path, how)?;
    if judged.is_some() && file.identity() != judged {
        return Err(OpenError {
            path: path.to_owned(),
            source: std::io::Error::other("another file or device has taken its place since it was judged"),
            only_direct_fails: false,
        });
    }
    Ok(file)
}

fn writes(mix: &Mix) -> bool {
    mix.includes(Direction::Write) || mix.includes(Direction::Trim)
}

fn direct_alignment_of(file: &File) -> Option<u64> {
    file.how().cache.direct.then(|| file.direct_alignment())
}

/// Direct I/O takes only multiples of a sector. Better said before the test than by the first operation.
fn check_alignment(stream: &Stream, file: &File) -> Result<(), SetupError> {
    let Some(alignment) = direct_alignment_of(file) else {
        return Ok(());
    };
    let check = |what: &'static str, size: u64| {
        if size.is_multiple_of(alignment) {
            return Ok(());
        }
        Err(SetupError::Alignment {
            path: file.path().display().to_string(),
            what,
            size,
            alignment,
        })
    };
    for direction in [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|d| stream.mix.includes(*d))
    {
        let sizes = &stream.pattern.sizes[direction];
        check("blocks", sizes.min().0)?;
        check("blocks", sizes.max().0)?;
        check("an alignment", stream.pattern.alignment[direction].0)?;
    }
    check("an offset", stream.region.base.resolve(file.size()))
}

fn choose_engine(given: &Assignment<'_>, files: &[File], slots: u32) -> (EngineChoice, String) {
    let asked = &given.worker.engine;
    if asked.kind != EngineKind::Auto {
        return (asked.clone(), String::new());
    }
    if simulated_device(given).is_some() {
        let choice = EngineChoice {
            kind: EngineKind::Simulated,
            ..asked.clone()
        };
        return (choice, "the target is simulated".into());
    }
    let choice = choose(files, slots);
    (
        EngineChoice {
            kind: choice.kind,
            ..asked.clone()
        },
        choice.reason,
    )
}

fn simulated_device(given: &Assignment<'_>) -> Option<SimulatedDevice> {
    given
        .worker
        .streams
        .iter()
        .flat_map(|stream| stream.target.ids())
        .find_map(|id| match &given.targets[id.0 as usize].what {
            ReadyKind::Simulated(device) => Some(device.clone()),
            ReadyKind::Path(_) | ReadyKind::Nothing => None,
        })
}

/// Trims need no buffer.
fn longest_buffer(stream: &Stream) -> usize {
    let of = [Direction::Read, Direction::Write]
        .into_iter()
        .filter(|direction| stream.mix.includes(*direction));
    of.map(|direction| stream.pattern.sizes[direction].max().0 as usize)
        .max()
        .unwrap_or(1)
}

fn live_streams(
    given: &Assignment<'_>,
    keys: &[CellKey],
    file_of: &[u16],
    slots: u32,
    draws: &mut Draws,
) -> Result<Vec<LiveStream>, SetupError> {
    let cell = |stream: usize, kind: CellKind| {
        keys.iter()
            .position(|key| key.stream as usize == stream && key.kind == kind)
            .unwrap_or(0) as u32
    };
    let mut streams = Vec::new();
    for (number, (stream, file)) in given.worker.streams.iter().zip(file_of).enumerate() {
        let target = &given.targets[stream.target.ids()[0].0 as usize];
        let (base, length) = stream.region.resolve(target.size);
        let depth = if given.worker.depth == Depth::PerStream {
            stream.depth
        } else {
            slots
        };
        let sequence = Sequence::new(
            stream.mix,
            &stream.pattern,
            base,
            length,
            depth,
            &target.shared_position,
            draws,
        )
        .map_err(|source| SetupError::Access {
            path: target.name(),
            source,
        })?;
        streams.push(LiveStream {
            sequence,
            file: *file,
            cells: PerDirection {
                read: cell(number, CellKind::Moves(Direction::Read)),
                write: cell(number, CellKind::Moves(Direction::Write)),
                trim: cell(number, CellKind::Moves(Direction::Trim)),
            },
            sync_cell: cell(number, CellKind::Sync),
            filler: if stream.mix.includes(Direction::Write) {
                Some(filler_of(given, stream, number)?)
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

impl ReadyTarget {
    fn name(&self) -> String {
        match &self.what {
            ReadyKind::Path(path) => path.display().to_string(),
            ReadyKind::Nothing => "null target".into(),
            ReadyKind::Simulated(_) => "simulated device".into(),
        }
    }
}

fn filler_of(given: &Assignment<'_>, stream: &Stream, number: usize) -> Result<Filler, SetupError> {
    let source = match &stream.content {
        Content::Source { size, file: Some(path) } => read_source(path, *size)?,
        _ => Vec::new(),
    };
    let mut draws = given.worker.draws.start();
    let seed = draws.word(model::draws::Purpose::Content).wrapping_add(number as u64);
    let step = if stream.cache.direct { 512 } else { 1 };
    Ok(Filler::new(
        &stream.content,
        seed,
        engine::fill::random_fill(),
        &source,
        step,
    ))
}

fn read_source(path: &str, size: Bytes) -> Result<Vec<u8>, SetupError> {
    use std::io::Read;
    let failed = |source| SetupError::Content {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .map_err(failed)?
        .take(size.0)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
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
        if plan.streams[number].content.changes_each_write() {
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
        self.gated = self.streams.iter().any(|stream| stream.gate.is_some());
        self.recorder.phase = self.timeline.phase();
        debug_assert!(matches!(self.timeline.phase(), Phase::WarmUp | Phase::Measured));
    }
}
