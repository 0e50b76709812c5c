//! The lines of a specification from the streams of a worker.

use std::cmp::Reverse;

use model::access::{Access, Advance, Between, WritePointers, Zones};
use model::block_size::BlockSizes;
use model::plan::{DepthScope, Stream, TargetId, Think, Worker};
use model::{Direction, PerDirection};

use crate::convert::shares::stream_shares;
use crate::convert::words;
use crate::iometer::config::SpecLine;

/// Targets of a worker in their order, and the streams of the first, which are those of all.
pub(super) fn targets_and_streams(worker: &Worker) -> (Vec<TargetId>, &[Stream]) {
    let streams = &worker.streams[..];
    let ids = |streams: &[Stream]| -> Vec<TargetId> {
        let all = streams.iter().flat_map(|stream| stream.target.ids());
        all.copied().collect()
    };
    match worker.depth {
        DepthScope::PerTarget { alternatives } => {
            let streams_per_target = (alternatives as usize).clamp(1, streams.len());
            let targets = streams
                .chunks(streams_per_target)
                .flat_map(|alternatives| ids(&alternatives[..1]));
            (targets.collect(), &streams[..streams_per_target])
        }
        DepthScope::Shared { .. } if streams.len() > 1 => {
            let mut distinct: Vec<TargetId> = Vec::new();
            for id in ids(streams) {
                if !distinct.contains(&id) {
                    distinct.push(id);
                }
            }
            let first = streams.iter().take_while(|stream| stream.target == streams[0].target);
            (distinct, &streams[..first.count()])
        }
        DepthScope::Shared { .. } | DepthScope::PerStream => (ids(streams), &streams[..1]),
    }
}

/// The lines of the specification of a worker.
pub(super) fn lines_of_worker(worker: &Worker) -> Vec<SpecLine> {
    let (_, streams) = targets_and_streams(worker);
    let amounts = stream_shares(streams);
    let total: f64 = amounts.iter().sum();
    let mut shares = Vec::new();
    let mut lines = Vec::new();
    for (stream, amount) in streams.iter().zip(amounts) {
        let weight = match total > 0.0 {
            true => amount / total,
            false => 1.0 / streams.len() as f64,
        };
        for (share, line) in lines_of_stream(stream) {
            shares.push(share * weight);
            lines.push(line);
        }
    }
    for (line, percent) in lines.iter_mut().zip(whole_percents(&shares)) {
        line.percent = percent;
    }
    lines.retain(|line| line.percent > 0);
    lines
}

/// Whole percents that add up to 100.
fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let exact = |share: &f64| (share * 100.0 * 1e9).round() / 1e9;
    let mut percents: Vec<u32> = shares.iter().map(|share| exact(share) as u32).collect();
    let missing = 100_u32.saturating_sub(percents.iter().sum()) as usize;
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|index| Reverse((exact(&shares[*index]).fract() * 1e9) as u64));
    order.into_iter().take(missing).for_each(|index| percents[index] += 1);
    percents
}

/// Transfers of one direction and size, with their share.
#[derive(Clone, Copy)]
struct Transfers {
    share: f64,
    reads: f64,
    size: u64,
    random: u32,
    align: u64,
}

/// Lines of a stream with their shares: a line for each size where percents allow that, else one
/// for each direction and size.
fn lines_of_stream(stream: &Stream) -> Vec<(f64, SpecLine)> {
    let split = transfers(stream);
    let mut merged: Vec<Transfers> = Vec::new();
    let key = |transfers: &Transfers| (transfers.size, transfers.random, transfers.align);
    for transfers in &split {
        match merged.iter_mut().find(|similar| key(similar) == key(transfers)) {
            Some(similar) => {
                let share = similar.share + transfers.share;
                similar.reads = (similar.reads * similar.share + transfers.reads * transfers.share) / share;
                similar.share = share;
            }
            None => merged.push(*transfers),
        }
    }
    let is_whole = |fraction: f64| (fraction * 100.0 - (fraction * 100.0).round()).abs() < 1e-6;
    let are_whole = |all: &[Transfers]| {
        all.iter()
            .all(|transfers| is_whole(transfers.share) && is_whole(transfers.reads))
    };
    let chosen = match are_whole(&split) && !are_whole(&merged) {
        true => split,
        false => merged,
    };
    let pause = |think: Think| (think.pause_ns.0.div_ceil(1_000_000), think.operations.max(1));
    let (delay, burst) = stream.think.map_or((0, 1), pause);
    let line = |transfers: Transfers| {
        let line = SpecLine {
            size: u32::try_from(transfers.size).unwrap_or(u32::MAX),
            percent: 0,
            reads: (transfers.reads * 100.0).round() as u32,
            random: transfers.random,
            delay: u32::try_from(delay).unwrap_or(u32::MAX),
            burst,
            align: u32::try_from(transfers.align).unwrap_or(u32::MAX),
            reply: 0,
        };
        (transfers.share, line)
    };
    chosen.into_iter().map(line).collect()
}

fn transfers(stream: &Stream) -> Vec<Transfers> {
    let mix = words::resulting_mix(stream);
    let writes = mix.write_share() / 100.0;
    let shares = match mix.includes(Direction::Trim) && !mix.includes(Direction::Write) {
        // Trims become writes.
        true => PerDirection::new(0.0, 0.0, 1.0),
        false => PerDirection::new(1.0 - writes, writes, 0.0),
    };
    let mut found = Vec::new();
    for (direction, share) in shares.iter().filter(|(_, share)| **share > 0.0) {
        let reads = if direction == Direction::Read { 1.0 } else { 0.0 };
        for (size, size_share) in list_sizes(&stream.pattern.sizes[direction]) {
            found.push(Transfers {
                share: share * size_share,
                reads,
                size,
                random: random_percent(stream.access(direction), direction),
                align: align(stream, direction, size),
            });
        }
    }
    found
}

/// Sizes with their shares. A range becomes its shortest size.
fn list_sizes(sizes: &BlockSizes) -> Vec<(u64, f64)> {
    match sizes {
        BlockSizes::Fixed { size } => vec![(size.0, 1.0)],
        BlockSizes::Range { low, .. } => vec![(low.0, 1.0)],
        BlockSizes::Split { entries } => {
            let total: f64 = entries.iter().map(|entry| entry.percent).sum();
            entries
                .iter()
                .map(|entry| (entry.size.0, entry.percent / total))
                .collect()
        }
    }
}

fn random_percent(access: &Access, direction: Direction) -> u32 {
    match access {
        Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => 0,
        Access::Random { .. } => 100,
        Access::Mixed(mixed) => u32::from(mixed.random_percent[direction]).min(100),
        Access::Every(every) => match every.between {
            Between::Continue => (100 / every.operations.max(1)).min(100),
            Between::Repeat => 100,
        },
        Access::Zones(Zones { within, .. }) | Access::WritePointers(WritePointers { within, .. }) => {
            if within.is_some() { 100 } else { 0 }
        }
    }
}

/// The alignment of a line; 0 for a sector.
fn align(stream: &Stream, direction: Direction, size: u64) -> u64 {
    const SECTOR: u64 = 512;
    let alignment = stream.alignment(direction);
    let of_region = stream.region.base.align;
    let Access::Sequential(walk) = stream.access(direction) else {
        return match alignment == SECTOR && of_region == 0 {
            true => 0,
            false => alignment,
        };
    };
    let step = match walk.advance {
        Advance::Stride => alignment,
        Advance::Length { skip } => size.saturating_add_signed(skip),
        Advance::RandomGap { min, .. } => size.saturating_add(min),
    };
    match step == size {
        true if of_region > 1 && size.is_multiple_of(of_region) => of_region,
        true if size.is_multiple_of(SECTOR) => 0,
        _ => step,
    }
}
