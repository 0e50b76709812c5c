//! The streams of a workload on an SD: addresses, sizes, hits, schedules.

use model::access::{
    Access, Advance, AtEnd, Continuation, Mixed, Placement, RangeBasis, RangeShare, Ranges, RangesRule, Sequential,
    Uniform,
};
use model::block_size::{BlockSizes, SizeShare};
use model::content::Content;
use model::mix::{Mix, MixRule};
use model::plan::{
    CacheMode, Extent, FileWork, Pacing, Pattern, Process, Rate, RateProfile, RateSpan, Region, Stream, StreamTarget,
    SyncRule, TargetId, WriteThrough,
};
use model::{Bytes, Nanos, PerDirection};

use super::data::content;
use super::definitions::{Sd, Transfer, Wd};
use super::runs::{Run, RunRate};
use crate::Diagnostic;

/// The size of an SD that is known only on another host, which then uses all of it.
pub(super) const WHOLE: u64 = 1 << 62;

/// The open flags that ask for direct I/O.
pub(super) const DIRECT_FLAGS: &[&str] = &["o_direct", "directio"];

/// The cache mode of open flags. `has` is true if one of the names is set.
pub(super) fn cache_mode(has: impl Fn(&[&str]) -> bool) -> CacheMode {
    CacheMode {
        direct: has(DIRECT_FLAGS),
        write_through: match (has(&["o_sync", "o_rsync"]), has(&["o_dsync"])) {
            (true, _) => WriteThrough::DataAndMetadata,
            (false, true) => WriteThrough::Data,
            (false, false) => WriteThrough::Off,
        },
        ..CacheMode::BUFFERED
    }
}

/// The first byte and the end of `range=`: a percentage, or bytes above 200.
pub(super) fn range_bytes((low, high): (f64, f64), size: u64) -> (f64, f64) {
    match high <= 200.0 {
        true => (size as f64 * low / 100.0, size as f64 * high / 100.0),
        false => (low, high),
    }
}

/// The error of a region that is too short for its transfers.
pub(super) fn too_small(what: &str, block: u64) -> Diagnostic {
    Diagnostic::new("Insufficient amount of lun size specified").help(format!(
        "{what} needs room for two transfers of {block} bytes: use a larger `size=` or `range=`, or a smaller `xfersize=`"
    ))
}

/// A part of a workload on an SD, executed by one stream.
pub(super) struct Piece {
    /// Share of the workload, of 1.
    pub(super) share: f64,
    pub(super) region: (u64, u64),
    pub(super) mix: Mix,
    pub(super) access: Access,
    pub(super) sizes: BlockSizes,
    pub(super) align: u64,
}

pub(super) fn mix(reads: f64) -> Mix {
    match reads {
        _ if reads >= 100.0 => Mix::READS,
        _ if reads <= 0.0 => Mix::WRITES,
        _ => Mix::Drawn {
            write_percent: 100.0 - reads,
            rule: MixRule::Independent,
        },
    }
}

pub(super) fn access(run: &Run, wd: &Wd) -> Result<Access, Diagnostic> {
    let uniform = match wd.poisson {
        None => Placement::Uniform(Uniform::default()),
        Some(midpoint) => Placement::Ranges(falling_ranges(midpoint)),
    };
    let sequential = |advance: Advance, at_end: AtEnd| {
        Access::Sequential(Sequential {
            advance,
            at_end,
            ..Sequential::default()
        })
    };
    Ok(match (wd.stride, wd.seekpct) {
        (Some((min, max)), 1..) if min == max => sequential(Advance::Length { skip: min as i64 }, AtEnd::Wrap),
        (Some((min, max)), 1..) if min < max => sequential(Advance::RandomGap { min, max }, AtEnd::Wrap),
        (Some(_), 1..) => return Err(run.unsupported("a `stride=` that falls", "use `stride=(min,max)`")),
        (_, ..0) => sequential(Advance::Length { skip: 0 }, AtEnd::Finish),
        (_, 0) => sequential(Advance::Length { skip: 0 }, AtEnd::Wrap),
        (None, 100..) => Access::Random { placement: uniform },
        (None, percent) => Access::Mixed(Mixed {
            placement: uniform,
            random_percent: PerDirection::all(percent as u8),
            continuation: Continuation::Shared,
        }),
    })
}

/// An exponential that falls from the start of the region to its end, in steps of one percent.
fn falling_ranges(midpoint: f64) -> Ranges {
    const STEPS: u32 = 100;
    let below = |fraction: f64| (1.0 - (-midpoint * fraction).exp()) / (1.0 - (-midpoint).exp());
    let steps = (0..STEPS).map(|step| {
        let (from, to) = (
            f64::from(step) / f64::from(STEPS),
            f64::from(step + 1) / f64::from(STEPS),
        );
        RangeShare::new(100.0 * (below(to) - below(from)), 100.0 / f64::from(STEPS))
    });
    Ranges::new(
        RangeBasis::Percent,
        RangesRule::Native,
        PerDirection::all(steps.collect()),
    )
}

/// Share, percent of reads and region of hits and misses.
pub(super) fn split_hit_area(
    run: &Run,
    sd: &Sd,
    wd: &Wd,
    low: u64,
    high: u64,
) -> Result<Vec<(f64, f64, u64, u64)>, Diagnostic> {
    let (reads, (of_reads, of_writes)) = (f64::from(wd.rdpct), wd.hits);
    if of_reads == 0.0 && of_writes == 0.0 {
        return Ok(vec![(1.0, reads, low, high)]);
    }
    if sd.hitarea == 0 || low + sd.hitarea >= high {
        let help = format!("rd={}: make `hitarea=` smaller than what sd={} uses", run.name, sd.name);
        return Err(Diagnostic::new("Negative seek range. ").help(help));
    }
    let build_part = |of_reads: f64, of_writes: f64, low: u64, high: u64| {
        let (reads, writes) = (reads * of_reads / 1e4, (100.0 - reads) * of_writes / 1e4);
        let share = reads + writes;
        (share, if share > 0.0 { 100.0 * reads / share } else { 0.0 }, low, high)
    };
    let border = low + sd.hitarea;
    Ok(vec![
        build_part(of_reads, of_writes, low, border),
        build_part(100.0 - of_reads, 100.0 - of_writes, border, high),
    ])
}

/// Share, sizes and alignment of the streams that a workload's transfer sizes need. Random
/// transfers are aligned to their own size, so each size is a stream.
pub(super) fn sizes(run: &Run, sd: &Sd, wd: &Wd, is_random: bool) -> Result<Vec<(f64, BlockSizes, u64)>, Diagnostic> {
    const MAX_SIZES: u64 = 4096;
    let entry = |size: u64, percent: f64| SizeShare {
        size: Bytes(size),
        percent,
    };
    match &wd.xfersize {
        Transfer::One(size) => Ok(vec![(1.0, BlockSizes::Fixed { size: Bytes(*size) }, sd.align)]),
        Transfer::Shares(shares) if is_random => Ok(shares
            .iter()
            .map(|(size, percent)| (percent / 100.0, BlockSizes::Fixed { size: Bytes(*size) }, sd.align))
            .collect()),
        Transfer::Shares(shares) => {
            let entries = shares.iter().map(|(size, percent)| entry(*size, *percent)).collect();
            Ok(vec![(1.0, BlockSizes::Split { entries }, sd.align)])
        }
        Transfer::Steps(min, max, align) => {
            if sd.align != *align {
                let message = format!(
                    "The 'sd={},lun={},align=xxx' parameter must be set to the same alignment value used in \
                     'xfersize=(min,max,align)' ({align})",
                    sd.name, sd.lun
                );
                return Err(Diagnostic::new(message));
            }
            let count = (max - min) / align.max(&512) + 1;
            if count > MAX_SIZES {
                return Err(run.unsupported("an `xfersize=` of more than 4096 sizes", "use a larger step"));
            }
            let entries = (0..count)
                .map(|number| entry(min + number * align, 100.0 / count as f64))
                .collect();
            Ok(vec![(1.0, BlockSizes::Split { entries }, *align)])
        }
    }
}

/// The part of a region that random transfers with `align=` use. Vdbench never uses the last place
/// of the region.
pub(super) fn aligned_length(length: u64, size: u64, align: u64) -> u64 {
    let places = length.saturating_sub(size).checked_div(align);
    match places.filter(|places| *places > 0) {
        Some(places) => (places - 1) * align + size,
        None => length,
    }
}

pub(super) fn stream(
    run: &Run,
    sd: &Sd,
    wd: &Wd,
    target: TargetId,
    percent: f64,
    generator: u64,
    piece: Piece,
) -> Stream {
    let flags = [&run.flags, &wd.flags, &sd.flags]
        .into_iter()
        .find(|flags| !flags.is_empty());
    let has = |names: &[&str]| flags.is_some_and(|flags| flags.iter().any(|flag| names.contains(&flag.as_str())));
    let weight = ((percent * 10_000.0).round() as u32).max(1);
    let transfers = piece.region.1 / piece.sizes.max().0.max(1);
    let pacing = match run.rate {
        _ if wd.rate.is_some() => pacing(run, wd.rate.unwrap_or(0.0) * piece.share, generator),
        RunRate::Number(rate) => pacing(run, rate * percent / 100.0, generator),
        RunRate::Variable => pacing(run, run.mean_rate() * percent / 100.0, generator),
        RunRate::Max | RunRate::Curve | RunRate::OfLast(_) => Pacing::Unpaced,
    };
    let others = || run.workloads.iter().filter(|(wd, _)| wd.sds.contains(&sd.name));
    let has_unpaced = wd.rate.is_some() && others().any(|(wd, _)| wd.rate.is_none());
    Stream {
        rate_profile: run.rate_course(),
        target: StreamTarget::One { target },
        region: Region {
            base: Extent::bytes(piece.region.0),
            // The end of a region is rounded down to whole blocks.
            length: (piece.region.1 < WHOLE / 2).then(|| Extent::bytes(piece.region.1)),
        },
        mix: piece.mix,
        pattern: Pattern {
            access: vec![piece.access],
            sizes: PerDirection::all(piece.sizes),
            alignment: PerDirection::all(Bytes(piece.align)),
            ..Pattern::default()
        },
        content: content(run.compratio, run.dedup, transfers).unwrap_or(Content::Once),
        cache: cache_mode(has),
        sync: SyncRule {
            at_end: has(&["fsync"]),
            ..SyncRule::default()
        },
        // A schedule determines shares by itself; streams without one use the slots that are left.
        weight: match pacing {
            Pacing::Unpaced => weight,
            _ if has_unpaced => 0,
            _ => 1,
        },
        on_error: run.on_error.clone(),
        pacing,
        ..Stream::default()
    }
}

impl Run {
    /// The mean of the rates of its list.
    pub(super) fn mean_rate(&self) -> f64 {
        let seconds: u64 = self.course.iter().map(|(_, seconds)| seconds).sum();
        let operations = self.course.iter().map(|(rate, seconds)| rate * *seconds as f64);
        operations.sum::<f64>() / seconds.max(1) as f64
    }

    /// The list as shares of its mean.
    pub(super) fn rate_course(&self) -> Option<RateProfile> {
        let mean = self.mean_rate();
        let spans = self.course.iter().map(|(rate, seconds)| RateSpan {
            length_ns: Nanos::secs(*seconds),
            percent: rate / mean * 100.0,
        });
        (!self.course.is_empty()).then(|| RateProfile {
            spans: spans.collect(),
            at_once: self.at_once,
        })
    }
}

/// A schedule of this rate, as an exact fraction.
pub(super) fn pacing(run: &Run, rate: f64, generator: u64) -> Pacing {
    const PARTS: u64 = 1_000_000;
    let (amount, time) = ((rate * PARTS as f64).round().max(1.0) as u64, PARTS * 1_000_000_000);
    let common = gcd(amount, time);
    let process = match run.distribution.as_str() {
        _ if run.at_once => Process::Linear,
        "uniform" => Process::Uniform,
        "deterministic" => Process::Linear,
        _ => Process::Poisson,
    };
    Pacing::Together {
        rate: Rate {
            per_ns: Nanos(time / common),
            process,
            phase_ns: match process {
                // All are due at the start of a second.
                Process::Linear if run.rate == RunRate::Variable => Nanos(0),
                Process::Linear => Nanos::micros(100_000 + 100 * generator),
                Process::Poisson | Process::Uniform => Nanos(0),
            },
            ..Rate::iops(amount / common)
        },
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The stream of a thread with this percentage of the operations. All threads together write `size`
/// bytes, each a part with its own duplicates.
pub(super) fn file_stream(
    run: &Run,
    work: &FileWork,
    target: TargetId,
    (share, size, threads): (f64, Bytes, u32),
    thread: u32,
) -> Stream {
    let transfers = work.session.as_ref().and_then(|session| session.transfers.as_ref());
    let largest = match (transfers, work.destination) {
        (Some(transfers), _) => transfers.sizes.max(),
        // The buffer for copying files.
        (None, Some(_)) => work.block,
        (None, None) => Bytes(512),
    };
    let mix: Mix = work.mix();
    Stream {
        rate_profile: run.rate_course(),
        target: StreamTarget::One { target },
        mix,
        pattern: Pattern {
            sizes: PerDirection::all(BlockSizes::Fixed { size: largest }),
            alignment: PerDirection::all(Bytes(0)),
            ..Pattern::default()
        },
        content: content(run.compratio, run.dedup, size.0 / largest.0.max(1) / u64::from(threads))
            .unwrap_or(Content::Once),
        pacing: match run.rate {
            RunRate::Number(rate) => pacing(run, rate * share / 100.0, u64::from(thread)),
            RunRate::Variable => pacing(run, run.mean_rate() * share / 100.0, u64::from(thread)),
            RunRate::Max | RunRate::Curve | RunRate::OfLast(_) => Pacing::Unpaced,
        },
        files: Some(work.clone()),
        ..Stream::default()
    }
}
