//! Operations that have not completed at the end of the measured window. Their latencies are
//! unknown, but not shorter than their ages: without these, a target that hangs at the end looks
//! fast.

use engine::Slot;
use model::histogram::Histogram;
use model::{Direction, Nanos};

use super::io_loop::{IoLoop, IssuePath, MAX_IN_TURN};
use super::recorder::cell_for;

/// The unfinished operations of one direction of a stream.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) stream: u32,
    pub(crate) direction: Direction,
    /// Ages of those in flight, or due but not issued: from due if paced, otherwise from queued.
    pub(crate) ages: Histogram,
    /// The time within the window that they were in flight, added up.
    pub(crate) in_flight: Nanos,
}

/// Collects the unfinished operations of the window from `start` to `end`. Completions that are not
/// counted yet ended after it. If all work `is_done`, nothing more is due.
pub(super) fn collect_unfinished(io: &IoLoop, (start, end): (Nanos, Nanos), is_done: bool) -> Vec<Unfinished> {
    let mut found = Vec::new();
    for slot in occupied_slots(io) {
        let record = io.slots.get(slot);
        let Some(cell) = io.recorder.cells.get(record.key as u32 as usize) else {
            continue;
        };
        let Some(direction) = cell.direction else { continue };
        let unfinished = entry(&mut found, record.stream, direction);
        if cell.paced.is_some() {
            unfinished.ages.record(end.since(record.due).0);
        } else if !io.one_at_a_time {
            unfinished.ages.record(end.since(record.queued).0);
        }
        if !io.one_at_a_time {
            unfinished.in_flight += end.since(record.queued.max(start));
        }
    }
    if let Some((stream, direction, since, is_paced)) = running_operation(io) {
        let unfinished = entry(&mut found, stream, direction);
        if !is_paced {
            unfinished.ages.record(end.since(since).0);
        }
        unfinished.in_flight += end.since(since.max(start));
    }
    // A stream that has spent its budget or its passes owes nothing.
    let streams = io.streams.iter().enumerate();
    for (number, stream) in streams.filter(|(_, stream)| !is_done && !stream.done) {
        let Some(gate) = &stream.gate else { continue };
        gate.each_overdue(end, |direction, age, count| {
            let unfinished = entry(&mut found, number as u32, direction);
            unfinished.ages.record_times(age.0, count);
        });
    }
    found.retain(|unfinished| !unfinished.ages.is_empty());
    found.iter_mut().for_each(|unfinished| unfinished.ages.pack());
    found
}

fn entry(found: &mut Vec<Unfinished>, stream: u32, direction: Direction) -> &mut Unfinished {
    let is_same = |known: &Unfinished| (known.stream, known.direction) == (stream, direction);
    let index = found.iter().position(is_same).unwrap_or_else(|| {
        found.push(Unfinished {
            stream,
            direction,
            ages: Histogram::new(),
            in_flight: Nanos(0),
        });
        found.len() - 1
    });
    &mut found[index]
}

/// The slots that hold an operation.
fn occupied_slots(io: &IoLoop) -> impl Iterator<Item = Slot> {
    io.pools.iter().flat_map(|pool| {
        let mut free: Vec<u32> = pool.free[..pool.free_count].iter().map(|slot| slot.0).collect();
        free.sort_unstable();
        let slots = pool.first_slot..pool.first_slot + pool.free.len() as u32;
        slots.filter(move |slot| free.binary_search(slot).is_err()).map(Slot)
    })
}

/// The operation of a synchronous engine that crosses the end of the window: stream, direction,
/// start, and whether it is paced. Plain jobs keep no records of their slots.
fn running_operation(io: &IoLoop) -> Option<(u32, Direction, Nanos, bool)> {
    let (index, since) = io.running?;
    let record = io.slots.get(io.batch.done.get(index)?.slot);
    let cell = match (io.path, &io.streams[..], io.requests.first(MAX_IN_TURN).get(index)) {
        (IssuePath::Batches, [stream], Some(request)) => cell_for(&stream.cells, request.action),
        _ => record.key as u32,
    };
    let cell = io.recorder.cells.get(cell as usize)?;
    Some((record.stream, cell.direction?, since, cell.paced.is_some()))
}
