//! Prints directions, positions and lengths.

use model::access::{
    Access, Advance, Aged, Between, OnceMethod, Placement, RangeBasis, RangeShare, Ranges, WritePointers, Zones,
};
use model::block_size::BlockSizes;
use model::mix::Mix;
use model::{Bytes, Direction, PerDirection};

use super::{Section, bare, list, on};
use crate::notation::format_size;

/// The mix, rounded to whole percents.
pub(super) fn mix(section: &Section<'_>) -> Mix {
    match section.stream().mix {
        mix @ (Mix::Drawn { .. } | Mix::Exact { .. }) => match mix.write_share().round() {
            0.0 => Mix::READS,
            100.0 => Mix::WRITES,
            write_percent => Mix::Exact { write_percent },
        },
        mix => mix,
    }
}

fn first_direction(section: &Section<'_>) -> Direction {
    section.stream().mix.directions().next().unwrap_or(Direction::Read)
}

/// The pattern of the first direction; fio has one for all directions.
fn access<'a>(section: &Section<'a>) -> &'a Access {
    section.stream().access(first_direction(section))
}

/// Whether positions are sequential.
pub(super) fn is_sequential(section: &Section<'_>) -> bool {
    match access(section) {
        Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => true,
        Access::Zones(zones) => zones.within.is_none(),
        Access::WritePointers(zones) => zones.within.is_none(),
        Access::Random { .. } | Access::Mixed(_) | Access::Every(_) => false,
    }
}

/// The gap between two sequential operations, in bytes.
fn skip(section: &Section<'_>) -> i64 {
    let (stream, direction) = (section.stream(), first_direction(section));
    let stride = || {
        let length = stream.fixed_length(direction);
        let alignment = i64::try_from(stream.alignment(direction)).unwrap_or(i64::MAX);
        length.map_or(0, |length| alignment.saturating_sub_unsigned(length))
    };
    match access(section) {
        Access::Sequential(is_sequential) => match is_sequential.advance {
            Advance::Stride => stride(),
            Advance::Length { skip } => skip,
            Advance::RandomGap { min, .. } => i64::try_from(min).unwrap_or(i64::MAX),
        },
        Access::Interlocked(_) | Access::Parallel(_) => stride(),
        Access::Random { .. } | Access::Mixed(_) | Access::Every(_) | Access::Zones(_) | Access::WritePointers(_) => 0,
    }
}

pub(in crate::fio) fn rw(section: &Section<'_>) -> Option<String> {
    let mix = mix(section);
    let direction = match mix {
        Mix::TrimThenWrite => "trimwrite",
        _ if mix.includes(Direction::Read) && mix.includes(Direction::Write) => "rw",
        _ if mix.includes(Direction::Write) => "write",
        _ if mix.includes(Direction::Trim) && !mix.includes(Direction::Read) => "trim",
        _ => "read",
    };
    let tail = match (access(section), skip(section)) {
        (Access::Every(every), _) => format!(":{}", every.operations),
        (_, 0) => String::new(),
        (_, skip) if skip < 0 => format!(":-{}", format_size(skip.unsigned_abs())),
        (_, skip) => format!(":{}", format_size(skip as u64)),
    };
    let order = if is_sequential(section) { "" } else { "rand" };
    Some(format!("{order}{direction}{tail}"))
}

pub(in crate::fio) fn rw_sequencer(section: &Section<'_>) -> Option<String> {
    match access(section) {
        Access::Every(every) if every.between == Between::Repeat => Some("identical".into()),
        _ => None,
    }
}

pub(in crate::fio) fn rwmixwrite(section: &Section<'_>) -> Option<String> {
    let mix = mix(section);
    let share = mix.write_share();
    let is_mixed = mix.includes(Direction::Read) && mix.includes(Direction::Write);
    (is_mixed && share != 50.0).then(|| share.to_string())
}

pub(in crate::fio) fn percentage_random(section: &Section<'_>) -> Option<String> {
    match access(section) {
        Access::Mixed(mixed) => Some(list(&mixed.random_percent, u8::to_string)),
        _ => None,
    }
}

/// The placement of random positions.
fn placement<'a>(section: &Section<'a>) -> Option<&'a Placement> {
    match access(section) {
        Access::Random { placement } => Some(placement),
        Access::Mixed(mixed) => Some(&mixed.placement),
        Access::Every(every) => Some(&every.placement),
        Access::Zones(zones) => zones.within.as_ref(),
        Access::WritePointers(zones) => zones.within.as_ref(),
        Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => None,
    }
}

/// Whether all shares are whole numbers that add up to 100.
fn are_whole_percents(ranges: &Ranges) -> bool {
    let is_whole = |value: f64| value.fract() == 0.0 && value >= 0.0;
    ranges.shares.iter().all(|(_, list)| {
        let sum = |value: fn(&RangeShare) -> f64| list.iter().map(value).sum::<f64>();
        let percent = ranges.basis == RangeBasis::Percent;
        list.iter()
            .all(|share| is_whole(share.operations_percent) && is_whole(share.span))
            && (list.is_empty()
                || sum(|share| share.operations_percent) == 100.0 && (!percent || sum(|share| share.span) == 100.0))
    })
}

pub(in crate::fio) fn norandommap(section: &Section<'_>) -> Option<String> {
    bare(match placement(section) {
        Some(Placement::Uniform(_)) => true,
        Some(Placement::Ranges(ranges)) => !are_whole_percents(ranges),
        _ => false,
    })
}

pub(in crate::fio) fn softrandommap(section: &Section<'_>) -> Option<String> {
    on(match placement(section) {
        Some(Placement::Once(once)) => matches!(once.method, OnceMethod::Map { optional: true, .. }),
        _ => false,
    })
}

pub(in crate::fio) fn random_distribution(section: &Section<'_>) -> Option<String> {
    let center = |center: Option<f64>| center.map(|at| format!(":{at}")).unwrap_or_default();
    match placement(section)? {
        Placement::Uniform(_) | Placement::Once(_) | Placement::Aged(_) => None,
        Placement::Ranges(ranges) if !are_whole_percents(ranges) => None,
        Placement::Ranges(ranges) => {
            let (kind, unit): (_, fn(f64) -> String) = match ranges.basis {
                RangeBasis::Percent => ("zoned", |span| span.to_string()),
                RangeBasis::Bytes => ("zoned_abs", |span| format_size(span as u64)),
            };
            let entries_of = |shares: &Vec<RangeShare>| {
                let entries = shares
                    .iter()
                    .map(|share| format!("{}/{}", share.operations_percent, unit(share.span)));
                entries.collect::<Vec<_>>().join(":")
            };
            Some(format!("{kind}:{}", list(&ranges.shares, entries_of)))
        }
        Placement::Zipf(zipf) => Some(format!("zipf:{}{}", zipf.theta, center(zipf.center))),
        Placement::Pareto(pareto) => Some(format!("pareto:{}{}", pareto.h, center(pareto.center))),
        Placement::Normal(normal) => {
            let at = Some(normal.center).filter(|at| *at != 0.5);
            Some(format!("normal:{}{}", normal.deviation_percent, center(at)))
        }
        Placement::List(list) => {
            let blocks = list.blocks.iter().map(u64::to_string).collect::<Vec<_>>();
            Some(format!("sequence:{}", blocks.join(",")))
        }
    }
}

pub(in crate::fio) fn random_sequence_stride(section: &Section<'_>) -> Option<String> {
    on(matches!(placement(section), Some(Placement::List(list)) if list.moving))
}

pub(in crate::fio) fn zones<'a>(section: &Section<'a>) -> Option<&'a Zones> {
    match access(section) {
        Access::Zones(zones) => Some(zones),
        _ => None,
    }
}

pub(in crate::fio) fn write_pointers<'a>(section: &Section<'a>) -> Option<&'a WritePointers> {
    match access(section) {
        Access::WritePointers(zones) => Some(zones),
        _ => None,
    }
}

pub(in crate::fio) fn zonemode(section: &Section<'_>) -> Option<String> {
    match access(section) {
        Access::Zones(_) => Some("strided".into()),
        Access::WritePointers(_) => Some("zbd".into()),
        _ => None,
    }
}

pub(in crate::fio) fn zonesize(section: &Section<'_>) -> Option<String> {
    match access(section) {
        Access::Zones(zones) => Some(format_size(zones.work.0)),
        Access::WritePointers(zones) => Some(format_size(zones.zone.0)),
        _ => None,
    }
}

pub(in crate::fio) fn aged<'a>(section: &Section<'a>) -> Option<&'a Aged> {
    match placement(section) {
        Some(Placement::Aged(aged)) => Some(aged),
        _ => None,
    }
}

/// The option that can express the lengths of all directions.
enum Lengths {
    Fixed,
    Range,
    Split,
}

fn lengths(section: &Section<'_>) -> Lengths {
    let sizes = &section.stream().pattern.sizes;
    let kinds: Vec<_> = sizes.iter().map(|(_, sizes)| std::mem::discriminant(sizes)).collect();
    match &sizes.read {
        _ if kinds.iter().any(|kind| *kind != kinds[0]) => Lengths::Split,
        BlockSizes::Fixed { .. } => Lengths::Fixed,
        BlockSizes::Range { .. } => Lengths::Range,
        BlockSizes::Split { .. } => Lengths::Split,
    }
}

pub(in crate::fio) fn bs(section: &Section<'_>) -> Option<String> {
    let word = list(&section.stream().pattern.sizes, |sizes| format_size(sizes.max().0));
    (matches!(lengths(section), Lengths::Fixed) && word != "4k").then_some(word)
}

pub(in crate::fio) fn bsrange(section: &Section<'_>) -> Option<String> {
    let range = |sizes: &BlockSizes| format!("{}-{}", format_size(sizes.min().0), format_size(sizes.max().0));
    matches!(lengths(section), Lengths::Range).then(|| list(&section.stream().pattern.sizes, range))
}

pub(in crate::fio) fn bs_unaligned(section: &Section<'_>) -> Option<String> {
    let unaligned = matches!(
        section.stream().pattern.sizes.read,
        BlockSizes::Range { unaligned: true, .. }
    );
    bare(unaligned && matches!(lengths(section), Lengths::Range))
}

pub(in crate::fio) fn bssplit(section: &Section<'_>) -> Option<String> {
    matches!(lengths(section), Lengths::Split).then(|| list(&section.stream().pattern.sizes, split))
}

/// Sizes and their shares, rounded to whole percents that add up to 100.
fn split(sizes: &BlockSizes) -> String {
    let entries = match sizes {
        BlockSizes::Fixed { size } => vec![(*size, 100.0)],
        BlockSizes::Range { low, high, .. } => vec![(*low, 50.0), (*high, 50.0)],
        BlockSizes::Split { entries } => {
            let total: f64 = entries.iter().map(|entry| entry.percent).sum();
            let rounded_percent = |percent: f64| (percent / total * 100.0).round();
            let mut entries: Vec<(Bytes, f64)> = entries
                .iter()
                .map(|entry| (entry.size, rounded_percent(entry.percent)))
                .collect();
            let rest = 100.0 - entries.iter().map(|(_, percent)| percent).sum::<f64>();
            if let Some((_, largest)) = entries
                .iter_mut()
                .max_by(|(_, entries_of), (_, other)| entries_of.total_cmp(other))
            {
                *largest += rest;
            }
            entries
        }
    };
    let entries = entries
        .iter()
        .map(|(length, percent)| format!("{}/{percent}", format_size(length.0)));
    entries.collect::<Vec<_>>().join(":")
}

/// For sequential positions, `rw` contains the alignment.
pub(in crate::fio) fn blockalign(section: &Section<'_>) -> Option<String> {
    let stream = section.stream();
    let min_size = stream.pattern.shortest(&stream.mix);
    let is_sequential = matches!(
        access(section),
        Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_)
    );
    let differs = |bytes: &Bytes| !is_sequential && *bytes != Bytes(0) && *bytes != min_size;
    let alignment = stream
        .pattern
        .alignment
        .map(|bytes| if differs(bytes) { *bytes } else { Bytes(0) });
    let word = |bytes: &Bytes| format_size(if bytes.0 == 0 { min_size.0 } else { bytes.0 });
    (alignment != PerDirection::default()).then(|| list(&alignment, word))
}
