//! Lowers directions, positions and lengths.

use model::access::{
    Access, Advance, Aged, AtEnd, Between, BlockList, Continuation, EarlyReset, Every, Mixed, Normal, Once, OnceMethod,
    Pareto, Placement, PositionSharing, RangeBasis, RangeShare, Ranges, RangesRule, Sequential, Uniform, WritePointers,
    Zipf, Zones,
};
use model::block_size::{BlockSizes, SizeShare};
use model::draws::Reduction;
use model::mix::{Mix, MixRule};
use model::plan::Pattern;
use model::{Bytes, Direction, PerDirection};

use super::{queue, special};
use crate::fio::draft::Draft;
use crate::fio::options::JobOptions;
use crate::fio::options::pattern::{Generator, Rw, Sequencer};
use crate::fio::options::typed::{Distribution, Split, Zone};
use crate::fio::options::verify::Checksum;
use crate::fio::options::zones::ZoneMode;
use crate::fio::values::Amount;

pub(in crate::fio) fn mix(options: &JobOptions) -> Mix {
    let only = |direction| Mix::Only { direction };
    match options.pattern.rw {
        Rw::Read | Rw::RandRead => only(Direction::Read),
        Rw::Write | Rw::RandWrite => only(Direction::Write),
        Rw::Trim | Rw::RandTrim => only(Direction::Trim),
        Rw::TrimWrite | Rw::RandTrimWrite => Mix::TrimThenWrite,
        Rw::ReadWrite | Rw::RandReadWrite => Mix::Drawn {
            write_percent: 100.0 - options.pattern.rwmixread as f64,
            rule: MixRule::Redrawn,
        },
    }
}

pub(in crate::fio) fn lower_positions(draft: &mut Draft<'_>) {
    draft.parts.stream.pattern = match queue::kind(draft.options).is_metadata_engine() {
        true => special::pattern(draft.options),
        false => pattern(draft.options),
    };
}

pub(in crate::fio) fn pattern(options: &JobOptions) -> Pattern {
    Pattern {
        access: vec![access(options)],
        sizes: sizes(options),
        alignment: options.pattern.ba.map(|bytes| Bytes(*bytes)),
        whole_blocks: false,
        ..Pattern::default()
    }
}

/// Lengths of each direction.
pub(in crate::fio) fn sizes(options: &JobOptions) -> PerDirection<BlockSizes> {
    let pattern = &options.pattern;
    let sizes_of = |direction: Direction| {
        let split = &pattern.bssplit[direction];
        let range = pattern.bsrange[direction];
        if !split.is_empty() {
            let entry = |entry: &Split| SizeShare {
                size: Bytes(entry.bytes),
                percent: entry.percent as f64,
            };
            // fio's cumulative distribution begins with the rarest size. The order decides which
            // size a random number selects.
            let mut entries: Vec<SizeShare> = split.iter().map(entry).collect();
            entries.sort_by(|a, b| a.percent.total_cmp(&b.percent));
            return BlockSizes::Split { entries };
        }
        if range.low < range.high {
            return BlockSizes::Range {
                low: Bytes(range.low),
                high: Bytes(range.high),
                unaligned: pattern.bs_unaligned,
            };
        }
        let size = match range.low {
            0 => pattern.bs[direction],
            low => low,
        };
        BlockSizes::Fixed { size: Bytes(size) }
    };
    PerDirection::from_fn(sizes_of)
}

/// Rejects unsupported zones.
pub(in crate::fio) fn check_zones(draft: &mut Draft<'_>) {
    let zones = &draft.options.zones;
    let (mode, size) = (zones.zonemode, zones.zonesize);
    let no_bytes = matches!(zones.zoneskip, Some(Amount::Percent(_) | Amount::Zones(_)));
    match mode {
        ZoneMode::None if size > 0 => draft.push_error("fio: zonesize needs zonemode=strided"),
        ZoneMode::Zoned => check_write_pointers(draft),
        ZoneMode::Strided if size == 0 => draft.push_error("fio: zonemode=strided needs a zonesize"),
        ZoneMode::None | ZoneMode::Strided => {}
    }
    if no_bytes && mode != ZoneMode::Zoned {
        draft.refuse("a zoneskip that is not a number of bytes");
    }
}

/// Rejects options that do not work with `zonemode=zbd`. The job defines the zones; the target has
/// none.
fn check_write_pointers(draft: &mut Draft<'_>) {
    let JobOptions {
        zones, pattern, verify, ..
    } = &*draft.options;
    let capacity = zones.zonecapacity;
    let is_plain = pattern.percentage_random.iter().all(|(_, percent)| *percent >= 100) && pattern.rw_step == 0;
    let why = match () {
        () if zones.zonesize == 0 => "zonemode=zbd needs a zonesize: the target is not zoned".to_owned(),
        () if zones.zonesize < 512 => "zone size must be at least 512 bytes for zonemode=zbd".to_owned(),
        () if capacity > zones.zonesize => {
            format!(
                "job parameter zonecapacity {capacity} is larger than zone size {}",
                zones.zonesize
            )
        }
        () if !matches!(zones.zoneskip, None | Some(Amount::Bytes(0))) => {
            "zoneskip with zonemode=zbd is not supported by this program".to_owned()
        }
        () if mix(draft.options).includes(Direction::Trim) => {
            "trims with zonemode=zbd are not supported by this program: zones are reset when they are full".to_owned()
        }
        () if verify.verify != Checksum::Off => "verify with zonemode=zbd is not supported by this program".to_owned(),
        () if !is_plain => "rw with a number, or percentage_random, cannot be combined with zonemode=zbd".to_owned(),
        () if (zones.zone_reset_threshold > 0.0) != (zones.zone_reset_frequency > 0.0) => {
            "zone_reset_threshold and zone_reset_frequency need each other".to_owned()
        }
        () => return,
    };
    draft.push_error(format!("fio: {why}"));
}

/// Rejects options that contradict `sprandom`.
pub(in crate::fio) fn check_aging(draft: &mut Draft<'_>) {
    let JobOptions { zones, pattern, .. } = &*draft.options;
    if !zones.sprandom {
        return;
    }
    let fixed = sizes(draft.options)
        .iter()
        .all(|(_, sizes)| matches!(sizes, BlockSizes::Fixed { .. }));
    let requirement = match () {
        () if pattern.rw != Rw::RandWrite => "rw=randwrite",
        () if !matches!(pattern.distribution, Distribution::Even) => "random_distribution=random",
        () if draft.is_option_set("random_generator") && pattern.random_generator != Generator::Lfsr => {
            "random_generator=lfsr"
        }
        () if draft.is_option_set("norandommap") && !pattern.norandommap => "norandommap=1, which sprandom sets itself",
        () if !fixed => "one block size",
        () if !(zones.spr_op > 0.0 && zones.spr_op < 1.0) => "spr_op between 0 and 1",
        () => return,
    };
    draft.push_error(format!("fio: sprandom needs {requirement}"));
}

pub(in crate::fio) fn check_ranges(draft: &mut Draft<'_>) {
    if draft.options.system.num_range > 1 {
        draft.push_error("fio: num_range: no engine of this program trims more than one range at a time; omit it");
    }
}

/// The shortest length that the job can issue.
pub(in crate::fio) fn shortest_block(options: &JobOptions) -> u64 {
    pattern(options).shortest(&mix(options)).0.max(1)
}

fn access(options: &JobOptions) -> Access {
    let pattern = &options.pattern;
    if options.zones.zonemode == ZoneMode::Strided {
        return Access::Zones(Zones {
            work: Bytes(options.zones.zonesize),
            range: Bytes(match options.zones.zonerange {
                0 => options.zones.zonesize,
                range => range,
            }),
            skip: Bytes(match options.zones.zoneskip {
                Some(Amount::Bytes(bytes)) => bytes,
                _ => 0,
            }),
            within: pattern.rw.is_random().then(|| placement(options)),
            positions: PositionSharing::PerDirection,
        });
    }
    if options.zones.zonemode == ZoneMode::Zoned {
        return Access::WritePointers(write_pointers(options));
    }
    if !pattern.rw.is_random() {
        return Access::Sequential(Sequential {
            advance: Advance::Length { skip: pattern.rw_step },
            at_end: AtEnd::Finish,
            positions: PositionSharing::PerDirection,
            ..Sequential::default()
        });
    }
    let percent = pattern.percentage_random.map(|percent| (*percent).min(100) as u8);
    if percent.iter().any(|(_, percent)| *percent < 100) {
        return Access::Mixed(Mixed::new(placement(options), percent, Continuation::Length));
    }
    match u32::try_from(pattern.rw_step) {
        Ok(operations) if operations > 1 => Access::Every(Every {
            placement: placement(options),
            operations,
            between: match pattern.rw_sequencer {
                Sequencer::Sequential => Between::Continue,
                Sequencer::Identical => Between::Repeat,
            },
        }),
        _ => Access::Random {
            placement: placement(options),
        },
    }
}

fn write_pointers(options: &JobOptions) -> WritePointers {
    let zones = &options.zones;
    let limits = [zones.max_open_zones, zones.job_max_open_zones].into_iter();
    WritePointers {
        zone: Bytes(zones.zonesize),
        capacity: Bytes(match zones.zonecapacity {
            0 => zones.zonesize,
            capacity => capacity,
        }),
        read_beyond: zones.read_beyond_wp,
        open: limits
            .filter(|limit| *limit > 0)
            .min()
            .unwrap_or(0)
            .min(u32::MAX.into()) as u32,
        reset: (zones.zone_reset_threshold > 0.0).then_some(EarlyReset {
            above: zones.zone_reset_threshold,
            share: zones.zone_reset_frequency,
        }),
        within: options.pattern.rw.is_random().then(|| placement(options)),
    }
}

fn placement(options: &JobOptions) -> Placement {
    let pattern = &options.pattern;
    let reduction = match pattern.random_generator {
        Generator::Tausworthe | Generator::Lfsr => Reduction::MultiplyHigh32,
        Generator::Tausworthe64 => Reduction::MultiplyHigh64,
    };
    match &pattern.distribution {
        Distribution::Even => uniform_placement(options, reduction),
        Distribution::Zipf { theta, center } => Placement::Zipf(Zipf {
            theta: *theta,
            center: *center,
        }),
        Distribution::Pareto { h, center } => Placement::Pareto(Pareto { h: *h, center: *center }),
        Distribution::Normal { deviation, center } => Placement::Normal(Normal {
            deviation_percent: *deviation,
            center: center.unwrap_or(0.5),
        }),
        Distribution::Zoned(zones) => range_placement(RangeBasis::Percent, zones),
        Distribution::ZonedAbsolute(zones) => range_placement(RangeBasis::Bytes, zones),
        Distribution::Sequence(blocks) => Placement::List(BlockList {
            blocks: blocks.clone(),
            moving: pattern.random_sequence_stride,
        }),
    }
}

fn uniform_placement(options: &JobOptions, reduction: Reduction) -> Placement {
    let (pattern, zones) = (&options.pattern, &options.zones);
    if zones.sprandom {
        return Placement::Aged(Aged {
            regions: zones.spr_num_regions as u32,
            spare: zones.spr_op,
            cache: Bytes(zones.spr_cs),
        });
    }
    if pattern.random_generator == Generator::Lfsr {
        return Placement::Once(Once {
            method: OnceMethod::Bijection,
        });
    }
    // A block map can only hold block-aligned positions.
    let own_alignment = pattern.ba.iter().any(|(direction, bytes)| {
        let size = sizes(options)[direction].min().0;
        *bytes != 0 && *bytes != size
    });
    match pattern.norandommap || own_alignment {
        true => Placement::Uniform(Uniform { reduction }),
        false => Placement::Once(Once {
            method: OnceMethod::Map {
                reduction,
                optional: pattern.softrandommap,
            },
        }),
    }
}

fn range_placement(basis: RangeBasis, zones: &PerDirection<Vec<Zone>>) -> Placement {
    let shares = zones.map(|zones| {
        let share = |zone: &Zone| RangeShare::new(zone.access as f64, zone.size as f64);
        zones.iter().map(share).collect()
    });
    Placement::Ranges(Ranges::new(basis, RangesRule::Native, shares))
}
