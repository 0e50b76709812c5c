//! The engine of a worker: its choice, its requirements, and its batches.

use engine::sys::OpenFor;
use engine::{File, Setup, TreeSetup, choose, sys};
use model::Direction;
use model::draws::{Draws, Purpose};
use model::plan::{
    CacheMode, Effect, EngineChoice, EngineKind, FileOperationKind, FileWork, LatencyPoints, Worker as WorkerPlan,
};

use super::streams::max_buffer;
use super::thread::has_own_priorities;
use super::{Assignment, OpenedFiles, ReadyKind};
use crate::setup_error::SetupError;
use crate::worker::batching::Batching;
use crate::worker::io_loop::{IssuePath, MAX_IN_TURN};

/// Maximum bytes written per turn of a synchronous engine.
const MAX_BYTES_IN_TURN: usize = 64 << 10;

/// The engine that was chosen.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    choice: EngineChoice,
    /// The reason, if the plan leaves the engine open.
    pub(super) reason: String,
    /// It executes one operation after another, regardless of the configured depth.
    pub(super) one_at_a_time: bool,
    /// Slots that streams and features need.
    pub(super) slots: u32,
}

/// The number of slots, and of operations per turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches {
    pub(super) slots: u32,
    pub(super) submit: usize,
    /// True if the worker may adapt the size of a batch.
    pub(super) adapts: bool,
}

impl Choice {
    /// Chooses the engine, and refuses one that does not support the plan with these files.
    pub(super) fn choose(assignment: &Assignment<'_>, opened: &OpenedFiles) -> Result<Choice, SetupError> {
        let plan = assignment.worker;
        let (choice, reason) = choose_engine(assignment, &opened.files, plan.slots());
        check_choice(plan, &choice, opened)?;
        check_simulated(assignment, &choice)?;
        let is_plain_null = choice.kind == EngineKind::Null && !choice.offload;
        // A simulated device stands in for the engine of the plan.
        let is_synchronous = [&choice, &plan.engine].into_iter().any(waits_for_completion);
        let one_at_a_time = is_synchronous || is_plain_null && plan.slots() == 1;
        Ok(Choice {
            slots: match one_at_a_time {
                true => plan.streams.len() as u32,
                false => plan.slots(),
            },
            choice,
            reason,
            one_at_a_time,
        })
    }

    /// The batches of a worker on this path. Slots beyond the depth only save turns.
    pub(super) fn batches(&self, plan: &WorkerPlan, path: IssuePath) -> Batches {
        // A completion routine makes a call for each next operation.
        let operations_per_turn = match plan.batching.completion_routines {
            true => Some(1),
            false => plan.batching.submit,
        };
        let adapts = self.completes_inside() && operations_per_turn.is_none();
        if !self.one_at_a_time {
            let default = self.choice.kind.info().default_batch;
            let submit = operations_per_turn.unwrap_or(default) as usize;
            return Batches {
                slots: self.slots,
                submit: submit.min(self.slots as usize),
                adapts,
            };
        }
        let submit = match (path, needs_stable_buffers(plan)) {
            // All completions of a simulated turn have the same time.
            _ if self.choice.kind == EngineKind::Simulated => 1,
            (IssuePath::General, _) => 1,
            (IssuePath::Batches, false) => MAX_IN_TURN,
            // Buffers should stay in the cache between filling and writing.
            (IssuePath::Batches, true) => (MAX_BYTES_IN_TURN / buffer_bytes(plan)).clamp(1, MAX_IN_TURN),
        };
        Batches {
            slots: self.slots.max(submit as u32),
            submit,
            adapts,
        }
    }

    /// True if the engine may complete operations inside the submitting call.
    fn completes_inside(&self) -> bool {
        self.choice.kind.info().completes_inline && !self.choice.offload
    }

    /// True if each turn takes a stamp between submitting and waiting.
    fn splits_stamps(&self, plan: &WorkerPlan) -> bool {
        plan.latency == LatencyPoints::AfterCall && !waits_for_completion(&self.choice)
    }

    /// How operations are submitted.
    pub(super) fn batching(&self, plan: &WorkerPlan, batches: &Batches) -> Batching {
        Batching::new(&plan.batching, batches.submit, batches.adapts, self.splits_stamps(plan))
    }

    /// The set-up parameters of the engine.
    pub(super) fn setup(
        &self,
        assignment: &Assignment<'_>,
        batches: &Batches,
        files: Vec<File>,
        exchanges_files: bool,
        draws: &Draws,
    ) -> Setup {
        let plan = assignment.worker;
        let simulated = self.choice.kind == EngineKind::Simulated;
        let work = plan.streams.iter().find_map(|stream| stream.files.as_ref());
        Setup {
            slots: batches.slots,
            depth_is_one: self.one_at_a_time,
            one_buffer: self.one_at_a_time && !needs_stable_buffers(plan),
            submit_batch: batches.submit as u32,
            complete_max: plan.batching.complete_max,
            buffer_bytes: buffer_bytes(plan),
            buffer_alignment: plan.memory.alignment as usize,
            huge_page: plan.memory.huge_pages.then_some(plan.memory.huge_page_size.0 as usize),
            files,
            exchanges_files,
            split_stamps: self.splits_stamps(plan),
            spin: assignment.spin,
            clock: assignment.clock,
            simulated: simulated.then(|| {
                let devices = simulated_devices(assignment);
                assignment.simulation.worker(assignment.number, devices)
            }),
            tree: assignment.tree().zip(work).map(|((tree, _), work)| TreeSetup {
                tree: tree.clone(),
                block: work.block.0,
                session_access: open_for(work, is_validated(plan)),
                cache: plan.streams.first().map_or(CacheMode::BUFFERED, |stream| stream.cache),
                flush_on_close: plan.streams.iter().any(|stream| stream.sync.on_close),
                destination: assignment
                    .destination()
                    .map(|(tree, _)| std::sync::Arc::clone(&tree.root)),
            }),
            seed: draws.clone().next_u64(Purpose::Delay),
            choice: self.choice.clone(),
        }
    }
}

/// True if the worker compares its reads with the last write of each key block.
fn is_validated(plan: &WorkerPlan) -> bool {
    let mut verified = plan.streams.iter().filter_map(|stream| stream.verify.as_ref());
    verified.any(|verify| verify.keys.is_some())
}

/// The access for which the sessions of a worker open their files. Data validation also reads what
/// they write.
fn open_for(work: &FileWork, is_validated: bool) -> Option<OpenFor> {
    let session = work.session.as_ref()?;
    let creates = matches!(&work.groups[..], [group] if group.operations.last() == Some(&FileOperationKind::Create));
    Some(match &session.transfers {
        Some(_) if creates && is_validated => OpenFor::CreateReadWrite,
        _ if creates => OpenFor::Create,
        None => OpenFor::Read,
        Some(transfers) => match transfers.write_percent {
            0 => OpenFor::Read,
            100 if !is_validated => OpenFor::Write,
            _ => OpenFor::ReadWrite,
        },
    })
}

/// True if the engine returns only when an operation has completed.
fn waits_for_completion(choice: &EngineChoice) -> bool {
    choice.kind.is_synchronous() && !choice.offload
}

/// True if buffers must keep their contents from queueing to execution.
fn needs_stable_buffers(plan: &WorkerPlan) -> bool {
    plan.streams.iter().any(|stream| stream.mix.includes(Direction::Write))
}

/// Bytes of each buffer of a worker.
pub(crate) fn buffer_bytes(plan: &WorkerPlan) -> usize {
    plan.streams.iter().map(max_buffer).max().unwrap_or(1)
}

/// Checks that the engine supports the plan with these files.
fn check_choice(plan: &WorkerPlan, choice: &EngineChoice, opened: &OpenedFiles) -> Result<(), SetupError> {
    let name = choice.kind.name();
    let unsupported = |what: String, help: &str| Err(SetupError::unsupported(what, help));
    let of_calls = sys::thread::SUPPORTS_IO_PRIORITY && has_own_priorities(plan);
    if of_calls && (choice.kind.is_synchronous() || choice.offload) {
        return unsupported(
            format!("the {name} engine gives all operations of a worker the same I/O priority"),
            "use engine io_uring or libaio, or one priority for the whole worker",
        );
    }
    if !choice.atomic {
        return Ok(());
    }
    if !choice.kind.info().atomic_writes {
        return unsupported(
            format!("the {name} engine does not support atomic writes"),
            "use engine pvsync2, io_uring or libaio",
        );
    }
    let writing = plan.streams.iter().zip(&opened.streams);
    for (stream, of_stream) in writing.filter(|(stream, _)| stream.mix.includes(Direction::Write)) {
        let file = &opened.files[usize::from(of_stream.first())];
        let (path, Some(handle)) = (file.path().display(), file.handle()) else {
            continue;
        };
        if !stream.cache.direct {
            return unsupported("atomic writes cannot use the page cache".into(), "use direct I/O");
        }
        let Some((low, high)) = sys::file::atomic_write_sizes(handle) else {
            return unsupported(
                format!("{path} does not support atomic writes"),
                "kernel (6.11 or later), file system and device must all support them; choose \
                 another target, or disable atomic writes",
            );
        };
        let pattern = &stream.pattern;
        let sizes = [
            pattern.shortest_in(Direction::Write),
            pattern.longest_in(Direction::Write),
        ];
        for size in sizes.map(|size| size.0) {
            if !size.is_power_of_two() || !(u64::from(low)..=u64::from(high)).contains(&size) {
                return unsupported(
                    format!(
                        "atomic writes of {size} bytes are not possible on {path}, which supports \
                         powers of two from {low} to {high}"
                    ),
                    "use such a block size",
                );
            }
        }
    }
    Ok(())
}

/// Refuses a mix of simulated time and time of this machine.
fn check_simulated(assignment: &Assignment<'_>, choice: &EngineChoice) -> Result<(), SetupError> {
    if choice.kind != EngineKind::Simulated {
        return Ok(());
    }
    let streams = &assignment.worker.streams;
    let targets = streams.iter().flat_map(|stream| stream.target.ids());
    let mut targets = targets.map(|id| &assignment.targets[id.0 as usize]);
    if let Some(other) = targets.find(|target| !matches!(target.what, ReadyKind::Simulated { .. })) {
        return Err(SetupError::unsupported(
            format!("one worker cannot use simulated devices and {} together", other.name()),
            "use a separate job for each",
        ));
    }
    if streams.iter().any(|stream| !stream.lock.is_none()) {
        return Err(SetupError::unsupported(
            "locks of files are not simulated",
            "remove the lock, or use a real file",
        ));
    }
    Ok(())
}

fn choose_engine(assignment: &Assignment<'_>, files: &[File], slots: u32) -> (EngineChoice, String) {
    let requested = &assignment.worker.engine;
    let transfers = requested.kind.info().effect == Effect::Transfer;
    if transfers && !simulated_devices(assignment).is_empty() {
        let choice = EngineChoice {
            kind: EngineKind::Simulated,
            offload: false,
            ..requested.clone()
        };
        return (choice, "the target is simulated".into());
    }
    if requested.kind != EngineKind::Auto {
        return (requested.clone(), String::new());
    }
    let choice = choose(files, slots);
    let mut offload = requested.offload;
    let (kind, reason) = if choice.kind == EngineKind::Iocp && assignment.worker.batching.completion_routines {
        (EngineKind::Routines, "the plan requests completion routines".to_owned())
    } else if choice.kind != EngineKind::Psync || cfg!(windows) {
        (choice.kind, choice.reason)
    } else if has_own_priorities(assignment.worker) {
        let reason = "each operation has its own I/O priority";
        (EngineKind::IoUring, reason.to_owned())
    } else if requested.atomic {
        let reason = "atomic writes need its flags";
        (EngineKind::Pvsync2, reason.to_owned())
    } else {
        offload |= choice.offload;
        (choice.kind, choice.reason)
    };
    let choice = EngineChoice {
        kind,
        offload,
        ..requested.clone()
    };
    (choice, reason)
}

/// The simulated devices that a worker uses, each once, in the order of its streams.
fn simulated_devices(assignment: &Assignment<'_>) -> Vec<u32> {
    let ids = assignment.worker.streams.iter().flat_map(|stream| stream.target.ids());
    let mut devices = Vec::new();
    for id in ids {
        if let ReadyKind::Simulated { device } = assignment.targets[id.0 as usize].what
            && !devices.contains(&device)
        {
            devices.push(device);
        }
    }
    devices
}
