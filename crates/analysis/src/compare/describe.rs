//! Describes parts of a plan exactly: different settings have different texts.

use model::block_size::BlockSizes;
use model::mix::{Mix, MixRule};
use model::plan::{
    CacheMode, CatchUp, Extent, FlushKind, Pacing, Process, Rate, RateUnit, Region, SyncRule, Think, ThinkCount,
    WriteThrough,
};
use model::{Bytes, Nanos, PerDirection};

/// A number of bytes without rounding.
fn bytes(count: Bytes) -> String {
    let text = count.to_string();
    match text.contains('.') {
        true => format!("{} bytes", count.0),
        false => text,
    }
}

/// A time without rounding.
fn time(length: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let exact_unit = units
        .iter()
        .find(|(unit, _)| length.0 > 0 && length.0.is_multiple_of(*unit));
    match exact_unit {
        Some((unit, name)) => format!("{} {name}", length.0 / unit),
        None => format!("{} ns", length.0),
    }
}

/// One text if all directions are equal, otherwise one for each.
fn directions<T: PartialEq>(values: &PerDirection<T>, describe: impl Fn(&T) -> String) -> String {
    let PerDirection { read, write, trim } = values;
    match read == write && write == trim {
        true => describe(read),
        false => format!(
            "reads {}, writes {}, trims {}",
            describe(read),
            describe(write),
            describe(trim)
        ),
    }
}

/// Joins the parts whose condition holds.
fn join_enabled(parts: &[(bool, String)], none: &str) -> String {
    let present = parts
        .iter()
        .filter(|(enabled, _)| *enabled)
        .map(|(_, text)| text.clone());
    let present: Vec<String> = present.collect();
    match present.is_empty() {
        true => none.to_owned(),
        false => present.join(", "),
    }
}

/// Describes the part of a target.
pub(super) fn region(region: &Region) -> String {
    let Region { base, length } = region;
    let from = match *base == Extent::default() {
        true => "the start".to_owned(),
        false => extent(base),
    };
    match (length, from.as_str()) {
        (None, "the start") => "all".into(),
        (None, _) => format!("from {from} to the end"),
        (Some(length), _) => format!("{} from {from}", extent(length)),
    }
}

fn extent(extent: &Extent) -> String {
    let Extent {
        bytes: fixed,
        percent,
        align,
        round_up,
    } = *extent;
    let sum = match (fixed.0, percent) {
        (_, 0.0) => bytes(fixed),
        (0, _) => format!("{percent} %"),
        _ => format!("{} and {percent} %", bytes(fixed)),
    };
    match (align, round_up) {
        (0 | 1, _) => sum,
        (align, true) => format!("{sum} (rounded up to a multiple of {})", bytes(Bytes(align))),
        (align, false) => format!("{sum} (rounded down to a multiple of {})", bytes(Bytes(align))),
    }
}

/// Describes block sizes.
pub(super) fn sizes(sizes: &PerDirection<BlockSizes>) -> String {
    directions(sizes, |sizes| match sizes {
        BlockSizes::Fixed { size } => bytes(*size),
        BlockSizes::Range { low, high, unaligned } => {
            let form = if *unaligned { ", of every length" } else { "" };
            format!("{} to {}{form}", bytes(*low), bytes(*high))
        }
        BlockSizes::Split { entries } => {
            let described = entries
                .iter()
                .map(|entry| format!("{} % {}", entry.percent, bytes(entry.size)));
            described.collect::<Vec<_>>().join(" / ")
        }
    })
}

/// Describes the mix of reads, writes and trims.
pub(super) fn mix(mix: &Mix) -> String {
    match mix {
        Mix::Only { direction } => format!("{}s", direction.word()),
        Mix::Drawn { write_percent, rule } => {
            let rule = match rule {
                MixRule::Independent => "drawn before the position",
                MixRule::AfterPosition => "drawn after the position",
                MixRule::Redrawn => "redrawn when a share is reached",
            };
            format!("{write_percent} % writes, {rule}")
        }
        Mix::Exact { write_percent } => format!("exactly {write_percent} % writes"),
        Mix::TrimThenWrite => "trims, each followed by a write".into(),
        Mix::Traced { reads, writes, trims } => {
            let named = |enabled: bool, word: &str| (enabled, word.to_owned());
            let parts = [named(*reads, "reads"), named(*writes, "writes"), named(*trims, "trims")];
            format!("of a trace: {}", join_enabled(&parts, "nothing"))
        }
    }
}

/// Describes how the stream uses caches.
pub(super) fn cache(cache: &CacheMode) -> String {
    let CacheMode {
        direct,
        write_through,
        local_only,
        bypass_io,
        mapping,
        drop_before,
        fill_before,
    } = cache;
    let page_cache = if *direct { "bypassed" } else { "used" };
    let through = match write_through {
        WriteThrough::Off => String::new(),
        WriteThrough::Data => "data written through".into(),
        WriteThrough::DataAndMetadata => "data and metadata written through".into(),
    };
    let mapped = mapping
        .as_ref()
        .map(|mapping| format!("mapped into memory: {}", humanize_debug(mapping)));
    join_enabled(
        &[
            (*direct || !*local_only, page_cache.to_owned()),
            (!through.is_empty(), through),
            (*local_only, "local cache of a network file system bypassed".into()),
            (
                bypass_io.is_some(),
                format!(
                    "by BypassIO, {}",
                    bypass_io.as_ref().map(humanize_debug).unwrap_or_default()
                ),
            ),
            (mapped.is_some(), mapped.unwrap_or_default()),
            (*drop_before, "emptied before".into()),
            (*fill_before, "filled before".into()),
        ],
        page_cache,
    )
}

/// Describes when data is flushed.
pub(super) fn flushes(rule: &SyncRule) -> String {
    let SyncRule {
        every_writes,
        kind,
        data_every_writes,
        file_range,
        at_end,
        on_close,
        file_system_at_end,
    } = rule;
    let data_only = *kind == FlushKind::Data;
    let range = file_range
        .as_ref()
        .map(|(writes, flags)| format!("of the range after {writes} writes ({})", humanize_debug(flags)));
    let uses_kind = *every_writes > 0 || *at_end || *on_close;
    join_enabled(
        &[
            (*every_writes > 0, format!("after {every_writes} writes")),
            (
                *data_every_writes > 0,
                format!("of data after {data_every_writes} writes"),
            ),
            (range.is_some(), range.unwrap_or_default()),
            (*at_end, "at the end".into()),
            (*on_close, "at each close".into()),
            (*file_system_at_end, "of the file system at the end".into()),
            (uses_kind && data_only, "data only (fdatasync)".into()),
        ],
        "never",
    )
}

/// Describes when operations are due.
pub(super) fn pacing(pacing: &Pacing) -> String {
    match pacing {
        Pacing::Unpaced => "as fast as possible".into(),
        Pacing::Together { rate: of } => rate(of),
        Pacing::PerDirection { rates } => directions(rates, |of| match of {
            Some(of) => rate(of),
            None => "as fast as possible".into(),
        }),
    }
}

fn rate(rate: &Rate) -> String {
    let Rate {
        amount,
        per_ns,
        unit,
        process,
        catch_up,
        phase_ns,
    } = *rate;
    let amount = match unit {
        RateUnit::Operations => format!("{amount} operations"),
        RateUnit::Bytes => bytes(Bytes(amount)),
    };
    let late = match catch_up {
        CatchUp::Unlimited => String::new(),
        CatchUp::Within(within) => format!("at most {} late", time(within)),
    };
    join_enabled(
        &[
            (true, format!("{amount} per {}", time(per_ns))),
            (process == Process::Poisson, "Poisson arrivals".into()),
            (process == Process::Uniform, "at uniform random gaps".into()),
            (!late.is_empty(), late),
            (phase_ns.0 > 0, format!("the first after {}", time(phase_ns))),
        ],
        "",
    )
}

/// Describes pauses between operations.
pub(super) fn pauses(think: &Option<Think>) -> String {
    let Some(think) = think else { return "none".into() };
    let Think {
        pause_ns,
        spin_ns,
        operations,
        after_ns,
        count,
        shifts_schedule,
        cycles_each,
    } = *think;
    let counted = match count {
        ThinkCount::Issued => "issued",
        ThinkCount::Completed => "completed",
    };
    let after = after_ns.map(|after| format!("or {} of I/O", time(after)));
    join_enabled(
        &[
            (
                true,
                format!("{} after {operations} {counted} operations", time(pause_ns)),
            ),
            (after.is_some(), after.unwrap_or_default()),
            (spin_ns.0 > 0, format!("{} of it spinning", time(spin_ns))),
            (shifts_schedule, "the schedule is shifted by the pauses".into()),
            (
                cycles_each > 0,
                format!("{cycles_each} cycles of computing after each operation"),
            ),
        ],
        "",
    )
}

/// Turns the `Debug` form of any value into words: `RoundRobin { start_at: 4 }` becomes `round
/// robin (start at 4)`.
pub(super) fn humanize_debug<T: std::fmt::Debug>(value: &T) -> String {
    let written = format!("{value:?}");
    let mut words: Vec<String> = Vec::new();
    // Omit the brackets of wrappers such as `Some(…)` and `Nanos(…)`.
    let mut shown: Vec<bool> = Vec::new();
    let mut rest = written.as_str();
    while let Some(first) = rest.chars().next() {
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.' || letter == '-';
        let length = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            _ if is_name(first) => rest.find(|letter| !is_name(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, remainder) = rest.split_at(length);
        rest = remainder;
        match (token, first) {
            ("{" | "(" | "[", _) => {
                let follows_text = words.last().is_some_and(|word| !word.ends_with('('));
                let only_wraps = words.last().is_some_and(String::is_empty);
                if only_wraps {
                    words.pop();
                }
                shown.push(follows_text && !only_wraps);
                if follows_text && !only_wraps {
                    words.push("(".into());
                }
            }
            ("}" | ")" | "]", _) => {
                if shown.pop() == Some(true) {
                    words.push(")".into());
                }
            }
            (",", _) => words.push(",".into()),
            (":" | " ", _) => {}
            ("Some" | "Nanos" | "Bytes", _) => words.push(String::new()),
            _ if is_name(first) => words.push(humanize_name(token)),
            _ => words.push(token.to_owned()),
        }
    }
    let mut text = String::new();
    for word in words {
        let is_attached = text.is_empty() || text.ends_with('(') || matches!(word.as_str(), ")" | ",");
        text += if is_attached { "" } else { " " };
        text += &word;
    }
    text
}

/// Turns `AtEnd` and `at_end` into `at end`.
fn humanize_name(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        match letter {
            '_' => text.push(' '),
            _ => text.extend(letter.to_lowercase()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::access::{Access, Placement, Uniform};

    #[test]
    fn region_texts_are_exact() {
        let check = |base: Extent, length: Option<Extent>, expected: &str| {
            assert_eq!(region(&Region { base, length }), expected);
        };
        let part = |percent: f64| Extent {
            percent,
            ..Extent::default()
        };
        check(Extent::default(), None, "all");
        check(Extent::bytes(4096), None, "from 4 KiB to the end");
        check(Extent::bytes(4097), None, "from 4097 bytes to the end");
        check(Extent::default(), Some(part(50.0)), "50 % from the start");
        let aligned = Extent {
            align: 512,
            ..part(12.5)
        };
        check(
            part(1.0),
            Some(aligned),
            "12.5 % (rounded down to a multiple of 512 B) from 1 %",
        );
    }

    #[test]
    fn no_rust_syntax_is_left() {
        let random = Access::random(Placement::Uniform(Uniform::default()));
        let all = [
            humanize_debug(&vec![random]),
            humanize_debug(&SyncRule::default()),
            humanize_debug(&Some(Nanos(5))),
            humanize_debug(&Pacing::default()),
        ];
        for text in &all {
            assert!(!text.contains(['{', '}', ':', '[', ']']), "{text}");
            assert!(!text.contains(char::is_uppercase), "{text}");
            assert_eq!(text.matches('(').count(), text.matches(')').count(), "{text}");
        }
        assert_eq!(all[2], "5");
        assert!(all[0].starts_with("random (placement uniform"), "{}", all[0]);
    }
}
