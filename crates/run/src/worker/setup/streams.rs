//! The streams of a worker: their operations, cells and contents.

use engine::Engine;
use model::content::Filler;
use model::draws::{Draws, GeneratorChoice, Purpose};
use model::file_choice::FileChoice;
use model::mix::Mix;
use model::plan::{DepthScope, Stream, StreamTarget, TargetId, Worker as WorkerPlan};
use model::sequence::Sequence;
use model::{Bytes, Direction, PerDirection};

use super::{Assignment, OpenedStream, ReadyTarget};
use crate::setup_error::SetupError;
use crate::worker::features::{FileSet, FileSets};
use crate::worker::slots::SlotPool;
use crate::worker::stream::LiveStream;
use crate::worker::{CellKey, CellKind};

/// The longest read or write of a stream. A trim needs no buffer, but the write after it in
/// trim-and-write has the same length.
pub(super) fn max_buffer(stream: &Stream) -> usize {
    let directions: &[Direction] = match stream.mix {
        Mix::TrimThenWrite => &[Direction::Trim],
        _ => &[Direction::Read, Direction::Write],
    };
    let lengths = directions
        .iter()
        .filter(|direction| stream.mix.includes(**direction))
        .map(|direction| stream.pattern.longest_in(*direction).0 as usize);
    lengths.max().unwrap_or(1)
}

/// The streams of a worker with `slots` slots, and the file sets of these streams.
pub(super) fn build(
    assignment: &Assignment<'_>,
    keys: &[CellKey],
    opened: &[OpenedStream],
    slots: u32,
    draws: &mut Draws,
) -> Result<(Vec<LiveStream>, Option<FileSets>), SetupError> {
    let (mut streams, mut sets) = (Vec::new(), Vec::new());
    for (number, (stream, opened)) in assignment.worker.streams.iter().zip(opened).enumerate() {
        let (sequence, set) = sequence_and_set(assignment, stream, opened, slots, draws)?;
        let cell = |kind: CellKind| {
            let mut keys = keys.iter();
            let cell = keys.position(|key| key.stream as usize == number && key.kind == kind);
            cell.unwrap_or(0) as u32
        };
        let writes = stream.mix.includes(Direction::Write);
        sets.push(set);
        streams.push(LiveStream {
            sequence,
            file: opened.first(),
            cells: PerDirection::from_fn(|direction| cell(CellKind::Moves(direction))),
            sync_cell: cell(CellKind::Sync),
            filler: writes.then(|| filler_for(assignment, stream, number)),
            uncached: opened.uncached.clone(),
            passes: 0,
            idle_pass: false,
            done: false,
            gate: None,
        });
    }
    Ok((streams, FileSets::from_streams(sets)))
}

/// The operations of a stream on its target. With several files, they are those on the first file,
/// and the file set.
fn sequence_and_set(
    assignment: &Assignment<'_>,
    stream: &Stream,
    opened: &OpenedStream,
    slots: u32,
    draws: &mut Draws,
) -> Result<(Sequence, Option<FileSet>), SetupError> {
    let depth = if assignment.worker.depth == DepthScope::PerStream {
        stream.depth
    } else {
        slots
    };
    let sequence_on = |target: &ReadyTarget, draws: &mut Draws| {
        let (base, length) = stream.region.resolve(target.size);
        let shared = &target.shared;
        Sequence::new(stream.mix, &stream.pattern, base, length, depth, shared, draws).map_err(|source| {
            SetupError::Access {
                path: target.name(),
                size: Bytes(target.size),
                source,
            }
        })
    };
    if stream.replay.is_some() || stream.files.is_some() {
        return Ok((Sequence::empty(stream.mix), None));
    }
    let target = |id: &TargetId| &assignment.targets[id.0 as usize];
    match &stream.target {
        StreamTarget::One { target: id } => Ok((sequence_on(target(id), draws)?, None)),
        StreamTarget::Files {
            targets,
            open_at_once,
            service,
            operations,
        } => {
            let sequences = targets.iter().map(|id| sequence_on(target(id), draws));
            let mut sequences = sequences.collect::<Result<Vec<_>, _>>()?;
            // fio draws the offsets of all files of a job from one generator, in the order of use.
            if matches!(assignment.worker.draws, GeneratorChoice::Fio { .. }) {
                sequences.iter_mut().for_each(Sequence::plan_one_by_one);
            }
            let choice = FileChoice::new(*service, *operations, *open_at_once, targets.len(), draws);
            let targets = targets.iter().map(|id| target(id).clone()).collect();
            let engine = assignment.worker.engine.kind;
            let (set, first) = FileSet::new(choice, sequences, targets, (stream, engine), opened);
            Ok((first, Some(set)))
        }
    }
}

fn filler_for(assignment: &Assignment<'_>, stream: &Stream, number: usize) -> Filler {
    let mut draws = assignment.worker.draws.start();
    let seed = draws.next_u64(Purpose::Content).wrapping_add(number as u64);
    let step = if stream.cache.direct { 512 } else { 1 };
    Filler::new(
        &stream.content,
        seed,
        engine::fill::random_fill(),
        assignment.sources.source(&stream.content),
        step,
    )
}

/// Fills every buffer once, and drops fillers whose buffers then stay constant.
pub(super) fn fill_buffers(pools: &[SlotPool], streams: &mut [LiveStream], plan: &WorkerPlan, engine: &mut dyn Engine) {
    let one_generator = matches!(plan.draws, GeneratorChoice::DiskSpd { .. });
    for pool in pools {
        for number in pool.streams.clone() {
            let (stream, plan) = (&mut streams[number], &plan.streams[number]);
            let Some(filler) = &mut stream.filler else { continue };
            if one_generator && plan.content.draws() {
                stream.sequence.plan_one_by_one();
            }
            let length = max_buffer(plan);
            for slot in &pool.free[..] {
                filler.prepare(&mut engine.buffer(*slot)[..length]);
            }
            if plan.content.changes_each_write() || plan.verify.is_some() {
                continue;
            }
            // A read, or a write of another stream, would change the buffer.
            if !pool.shared && !plan.mix.includes(Direction::Read) {
                stream.filler = None;
            } else {
                filler.enable_refill();
            }
        }
    }
}
