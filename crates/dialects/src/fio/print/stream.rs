//! Prints caches, contents, flushes, rates and pauses.

use model::content::{ConstantPart, Content};
use model::plan::{FlushKind, Process, Rate, RateUnit, WriteThrough};
use model::{Direction, PerDirection};

use super::job::has_writes;
use super::{Section, bare, join_chosen, non_default, off, pattern, positive};
use crate::notation::{format_hexadecimal, format_size};

pub(in crate::fio) fn sync(section: &Section<'_>) -> Option<String> {
    match section.stream().cache.write_through {
        WriteThrough::Off => None,
        WriteThrough::Data => Some("dsync".into()),
        WriteThrough::DataAndMetadata => Some("sync".into()),
    }
}

/// With direct I/O nothing is cached, so fio's default is kept.
pub(in crate::fio) fn invalidate(section: &Section<'_>) -> Option<String> {
    let cache = section.stream().cache;
    off(cache.drop_before || cache.direct || cache.fill_before)
}

pub(in crate::fio) fn fadvise_hint(section: &Section<'_>) -> Option<String> {
    let (hint, is_sequential) = (section.stream().hint, pattern::is_sequential(section));
    let word = match (hint.sequential, hint.random) {
        _ if hint.no_reuse => "noreuse",
        // With direct I/O, hints have no effect.
        (false, false) if section.stream().cache.direct => return None,
        (true, _) if is_sequential => return None,
        (false, true) if !is_sequential => return None,
        (true, _) => "sequential",
        (false, true) => "random",
        (false, false) => "0",
    };
    Some(word.into())
}

pub(in crate::fio) fn write_hint(section: &Section<'_>) -> Option<String> {
    // The kernel's numbers: 0 and 1 mean "no hint".
    let words = ["none", "none", "short", "medium", "long", "extreme"];
    let life = section.stream().hint.write_lifetime?;
    Some(words.get(usize::from(life)).unwrap_or(&"none").to_string())
}

/// The content of writes, if there are any.
pub(in crate::fio) fn content<'a>(section: &Section<'a>) -> Option<&'a Content> {
    has_writes(section).then_some(&section.stream().content)
}

pub(in crate::fio) fn refill_buffers(section: &Section<'_>) -> Option<String> {
    bare(matches!(
        content(section),
        Some(Content::Fresh | Content::Drawn | Content::Source { .. } | Content::Compressible { .. })
    ))
}

/// The part of random data that is constant.
pub(in crate::fio) fn constant(section: &Section<'_>) -> Option<ConstantPart> {
    match content(section)? {
        Content::Compressible {
            percent,
            chunk,
            pattern,
        } => Some(ConstantPart {
            percent: *percent,
            chunk: *chunk,
            pattern: pattern.clone(),
        }),
        Content::Duplicated { constant, .. } => constant.clone(),
        _ => None,
    }
}

pub(in crate::fio) fn buffer_pattern(section: &Section<'_>) -> Option<String> {
    let bytes = match content(section)? {
        Content::Counting => (0..=255).collect(),
        Content::Pattern { bytes } => bytes.clone(),
        _ => constant(section)?.pattern,
    };
    (!bytes.is_empty()).then(|| format!("0x{}", format_hexadecimal(&bytes)))
}

pub(in crate::fio) fn buffer_compress_chunk(section: &Section<'_>) -> Option<String> {
    let part = constant(section)?;
    (part.chunk != 512).then(|| format_size(u64::from(part.chunk)))
}

pub(in crate::fio) fn dedupe_percentage(section: &Section<'_>) -> Option<String> {
    match content(section)? {
        Content::Duplicated { percent, .. } => Some(percent.to_string()),
        _ => None,
    }
}

pub(in crate::fio) fn fsync(section: &Section<'_>) -> Option<String> {
    let sync = section.stream().sync;
    positive(u64::from(sync.every_writes)).filter(|_| sync.kind == FlushKind::Full)
}

pub(in crate::fio) fn fdatasync(section: &Section<'_>) -> Option<String> {
    let sync = section.stream().sync;
    positive(u64::from(match sync.kind {
        FlushKind::Data if sync.every_writes > 0 => sync.every_writes,
        FlushKind::Full | FlushKind::Data => sync.data_every_writes,
    }))
}

pub(in crate::fio) fn sync_file_range(section: &Section<'_>) -> Option<String> {
    let (every, flags) = section.stream().sync.file_range?;
    let words = [
        ("wait_before", flags.wait_before),
        ("write", flags.write),
        ("wait_after", flags.wait_after),
    ];
    Some(format!("{}:{every}", join_chosen(words).unwrap_or_default()))
}

fn rates(section: &Section<'_>) -> PerDirection<Option<Rate>> {
    let stream = section.stream();
    stream.pacing.by_direction(&pattern::mix(section))
}

/// The rates in a unit, in whole operations or bytes per second.
pub(in crate::fio) fn rate_in(section: &Section<'_>, unit: RateUnit, word: fn(u64) -> String) -> Option<String> {
    let rates = rates(section);
    rates
        .iter()
        .find_map(|(_, rate)| *rate)
        .filter(|rate| rate.unit == unit)?;
    let per_second = |direction: Direction| {
        let rate = rates[direction]?;
        Some(word(rate.per_second().round().max(1.0) as u64))
    };
    let used: Vec<Direction> = section.stream().mix.directions().collect();
    let rate_of_directions = Direction::ALL.map(|direction| per_second(direction).unwrap_or_default());
    let list = rate_of_directions.join(",").trim_end_matches(',').to_owned();
    Some(match used[..] {
        // A single number applies to the directions in use.
        [only] => per_second(only).unwrap_or_default(),
        // A trailing comma keeps it from applying to writes.
        [_, _, ..] if rates.write.is_none() => list + ",",
        _ => list,
    })
}

pub(in crate::fio) fn rate_process(section: &Section<'_>) -> Option<String> {
    let rate = rates(section).iter().find_map(|(_, rate)| *rate)?;
    (rate.process == Process::Poisson).then(|| "poisson".into())
}

pub(in crate::fio) fn thinktime_blocks(section: &Section<'_>) -> Option<String> {
    let think = section.stream().think?;
    // With `thinktime_iotime` the default is 0 blocks.
    let default = if think.after_ns.is_some() { 0 } else { 1 };
    non_default(think.operations, default)
}
