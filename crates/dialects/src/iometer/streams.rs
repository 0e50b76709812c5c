//! The streams of one target: the lines of a specification as mixes, sizes, patterns and pauses.
//!
//! Lines whose transfers differ only in size and direction are one stream, whose draws have the
//! same distribution. All others are alternatives, and the worker chooses one at random for each
//! burst.

use model::access::{Access, Continuation, Mixed, Placement, Sequential, Uniform};
use model::block_size::{BlockSizes, SizeShare};
use model::mix::{Mix, MixRule};
use model::plan::{Pattern, Stream, Think, ThinkCount};
use model::{Bytes, Nanos, PerDirection};

use super::config::SpecLine;

/// The streams of a target for the lines of a specification: one, or one for each line. `sector` is
/// the alignment that 0 means. The caller sets target, depth and contents.
pub(super) fn create_streams(lines: &[SpecLine], sector: u32) -> Vec<Stream> {
    let lines: Vec<SpecLine> = lines.iter().filter(|line| line.percent > 0).copied().collect();
    match fit_one_stream(&lines) {
        true => vec![stream(&lines, sector)],
        false => {
            let create_stream = |line: &SpecLine| Stream {
                weight: line.percent,
                think: Some(create_think(line)),
                ..stream(&[*line], sector)
            };
            lines.iter().map(create_stream).collect()
        }
    }
}

/// True if the order of draws does not matter: each transfer is drawn independently, and its
/// direction determines its position.
fn fit_one_stream(lines: &[SpecLine]) -> bool {
    let [first, rest @ ..] = lines else { return true };
    let can_share_stream = |line: &SpecLine| line.burst == 1 && line.delay == 0 && line.align == first.align;
    rest.is_empty()
        || lines.iter().all(can_share_stream) && random_shares(lines).iter().all(|(_, share)| share.is_some())
}

/// The share of random transfers of each direction, if its lines agree.
fn random_shares(lines: &[SpecLine]) -> PerDirection<Option<u8>> {
    let random_share_where = |has: fn(&&SpecLine) -> bool| {
        let mut shares = lines.iter().filter(has).map(|line| line.random as u8);
        let first = shares.next();
        let agree = shares.all(|share| Some(share) == first);
        (first, agree)
    };
    let (reads, writes) = (
        random_share_where(|line| line.reads > 0),
        random_share_where(|line| line.reads < 100),
    );
    let share_or_other = |own: (Option<u8>, bool), other: (Option<u8>, bool)| match own {
        (_, false) => None,
        (Some(share), true) => Some(share),
        // There is no such transfer.
        (None, true) => other.0,
    };
    PerDirection::new(share_or_other(reads, writes), share_or_other(writes, reads), Some(0))
}

fn stream(lines: &[SpecLine], sector: u32) -> Stream {
    let first = lines.first().copied();
    let align = match first.map_or(0, |line| line.align) {
        0 => sector,
        align => align,
    };
    let weighted_sum = |value: fn(&SpecLine) -> u32| -> f64 {
        lines
            .iter()
            .map(|line| f64::from(line.percent * value(line)))
            .sum::<f64>()
    };
    let total = weighted_sum(|_| 100).max(1.0);
    let write_percent = weighted_sum(|line| 100 - line.reads) / total * 100.0;
    let mix = match write_percent {
        percent if percent <= 0.0 => Mix::READS,
        percent if percent >= 100.0 => Mix::WRITES,
        write_percent => Mix::drawn(write_percent, MixRule::Independent),
    };
    let (reads, writes) = (
        block_sizes(lines, |line| line.reads),
        block_sizes(lines, |line| 100 - line.reads),
    );
    let sizes = PerDirection {
        read: reads.clone().or(writes.clone()).unwrap_or_default(),
        write: writes.or(reads).unwrap_or_default(),
        trim: BlockSizes::default(),
    };
    let random = random_shares(lines);
    let jumps = [random.read.unwrap_or(0), random.write.unwrap_or(0)];
    let one_size = match (&sizes.read, &sizes.write) {
        (BlockSizes::Fixed { size }, other) if *other == (BlockSizes::Fixed { size: *size }) => Some(size.0),
        _ => None,
    };
    let placement = Placement::Uniform(Uniform::default());
    let (access, alignment) = match (jumps, one_size) {
        ([100, 100], _) => (Access::Random { placement }, u64::from(align)),
        ([0, 0], Some(size)) => {
            let step = size.next_multiple_of(u64::from(align));
            (Access::Sequential(Sequential::default()), step)
        }
        _ => {
            let random_percent = PerDirection::new(jumps[0], jumps[1], 0);
            let access = Access::Mixed(Mixed::new(placement, random_percent, Continuation::Aligned));
            (access, u64::from(align))
        }
    };
    let delays = |line: &SpecLine| lines.len() == 1 && line.delay > 0;
    Stream {
        mix,
        pattern: Pattern {
            access: vec![access],
            sizes,
            alignment: PerDirection::all(Bytes(alignment)),
            ..Pattern::default()
        },
        think: first.as_ref().filter(|line| delays(line)).map(create_think),
        ..Stream::default()
    }
}

/// The sizes of a direction with their shares; absent if there is no such transfer.
fn block_sizes(lines: &[SpecLine], value: fn(&SpecLine) -> u32) -> Option<BlockSizes> {
    let mut entries: Vec<SizeShare> = Vec::new();
    for line in lines {
        let (size, weight) = (Bytes(u64::from(line.size)), line.percent * value(line));
        match entries.iter_mut().find(|entry| entry.size == size) {
            Some(entry) => entry.percent += f64::from(weight),
            None if weight > 0 => entries.push(SizeShare::new(size, f64::from(weight))),
            None => {}
        }
    }
    let total: f64 = entries.iter().map(|entry| entry.percent).sum();
    entries.iter_mut().for_each(|entry| entry.percent *= 100.0 / total);
    match &entries[..] {
        [] => None,
        [transfer] => Some(BlockSizes::Fixed { size: transfer.size }),
        _ => Some(BlockSizes::Split { entries }),
    }
}

/// The pause and the length of a burst.
fn create_think(line: &SpecLine) -> Think {
    Think::new(Nanos::millis(u64::from(line.delay)), line.burst, ThinkCount::Issued)
}
