//! Effects on what is read and written.

use model::access::{
    Access, Between, BlockList, Every, Mixed, Normal, Once, OnceMethod, Pareto, Placement, RangeBasis, Ranges, Uniform,
    Zipf,
};
use model::block_size::BlockSizes;
use model::draws::{DrawsForm, Reduction};
use model::mix::Mix;
use model::plan::{Extent, Plan, Prepare, TargetKind};
use model::{Bytes, PerDirection};

use super::{Effect, FRESH, K, M, fixed, job, laid_out, read_bytes, sizes, stream, target, worker};

fn placement(plan: &Plan) -> Option<&Placement> {
    match &stream(plan).pattern.access[..] {
        [Access::Random { placement }] => Some(placement),
        _ => None,
    }
}

fn skip(plan: &Plan) -> Option<i64> {
    match &stream(plan).pattern.access[..] {
        [Access::Sequential(walk)] => match walk.advance {
            model::access::Advance::Length { skip } => Some(skip),
            _ => None,
        },
        _ => None,
    }
}

fn zones(plan: &Plan) -> Option<&model::access::Zones> {
    match &stream(plan).pattern.access[..] {
        [Access::Zones(zones)] => Some(zones),
        _ => None,
    }
}

const MIB: &str = "--size=1m";

pub const PATTERN: &[Effect] = &[
    ("rw", "--rw=randwrite", |plan| {
        stream(plan).mix == Mix::WRITES && placement(plan).is_some() && stream(plan).hint.random
    }),
    ("rw", "--rw=trimwrite --size=1m", |plan| {
        stream(plan).mix == Mix::TrimThenWrite && job(plan).stop.bytes == Some(Bytes(2 * M))
    }),
    ("rw", "--rw=write:8k", |plan| {
        skip(plan) == Some(8192)
            && matches!(&stream(plan).pattern.access[..], [Access::Sequential(walk)] if walk.at_end == model::access::AtEnd::Wrap)
    }),
    ("rw", "--rw=randread:4", |plan| {
        matches!(
            &stream(plan).pattern.access[..],
            [Access::Every(Every {
                operations: 4,
                between: Between::Continue,
                ..
            })]
        )
    }),
    ("rw", "--rw=write --size=1m", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { content: None, .. })
    }),
    ("rw", "--rw=randread --zonemode=strided --zonesize=64k", |plan| {
        zones(plan).is_some_and(|zones| zones.within.is_some())
    }),
    ("rw_sequencer", "--rw=randread:4 --rw_sequencer=identical", |plan| {
        matches!(
            &stream(plan).pattern.access[..],
            [Access::Every(Every {
                between: Between::Repeat,
                ..
            })]
        )
    }),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70",
        |plan| matches!(stream(plan).mix, Mix::Drawn { write_percent, .. } if write_percent == 30.0),
    ),
    (
        "rwmixwrite",
        "--rw=randrw --rwmixwrite=20",
        |plan| matches!(stream(plan).mix, Mix::Drawn { write_percent, .. } if write_percent == 20.0),
    ),
    ("size", MIB, |plan| {
        laid_out(plan) == M && read_bytes(plan) == Extent::bytes(M) && job(plan).stop.bytes == Some(Bytes(M))
    }),
    ("size", "--filename=dev --bs=8k --size=50%", |plan| {
        let length = read_bytes(plan);
        (length.percent, length.align) == (50.0, 8192) && job(plan).stop.region_percent == Some(100)
    }),
    ("size", "--ioengine=null --size=1m", |plan| {
        target(plan).kind == TargetKind::Nothing { size: Bytes(M) }
    }),
    ("size", "--nrfiles=3 --size=40k --bs=4k", |plan| {
        // The byte that is left over is less than a block.
        sizes(plan) == [13653; 3] && read_bytes(plan) == Extent::bytes(13653)
    }),
    ("size", "--nrfiles=3 --size=32 --bs=1", |plan| {
        // Two are left over, and go to the first two.
        sizes(plan) == [11, 11, 10] && stream(plan).region.length.is_none()
    }),
    ("io_size", "--size=1m --io_size=4m", |plan| {
        job(plan).stop.bytes == Some(Bytes(4 * M))
            && job(plan).stop.passes.is_none()
            && read_bytes(plan) == Extent::bytes(M)
    }),
    ("io_size", "--filename=dev --io_size=50%", |plan| {
        job(plan).stop.region_percent == Some(50)
    }),
    ("offset", "--size=1m --offset=64k", |plan| {
        stream(plan).region.base == Extent::bytes(64 * K) && laid_out(plan) == M + 64 * K
    }),
    ("offset", "--filename=dev --offset=25% --bs=8k", |plan| {
        let base = stream(plan).region.base;
        (base.percent, base.align, base.round_up) == (25.0, 8192, true)
    }),
    (
        "offset_increment",
        "--filename=f --size=64k --offset_increment=1m --numjobs=2",
        |plan| job(plan).workers[1].streams[0].region.base == Extent::bytes(M),
    ),
    (
        "offset_align",
        "--filename=dev --offset=25% --offset_align=64k",
        |plan| stream(plan).region.base.align == 64 * K,
    ),
    ("bs", "--bs=8k,16k", |plan| {
        fixed(plan)
            == PerDirection {
                read: 8 * K,
                write: 16 * K,
                trim: 16 * K,
            }
    }),
    ("bs", "--size=1m --bs=64k", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { block: 65536, .. })
    }),
    ("ba", "--rw=randread --bs=4k --ba=2k", |plan| {
        stream(plan).pattern.alignment == PerDirection::all(Bytes(2048))
            && matches!(placement(plan), Some(Placement::Uniform(_)))
    }),
    ("bsrange", "--bsrange=4k-64k", |plan| {
        stream(plan).pattern.sizes.read
            == BlockSizes::Range {
                low: Bytes(4 * K),
                high: Bytes(64 * K),
                unaligned: false,
            }
    }),
    ("bsrange", "--bsrange=8k-8k", |plan| fixed(plan).read == 8 * K),
    ("bssplit", "--bssplit=4k/60:64k/40", |plan| {
        match &stream(plan).pattern.sizes.read {
            // The rarest first.
            BlockSizes::Split { entries } => {
                let entries: Vec<_> = entries.iter().map(|entry| (entry.size.0, entry.percent)).collect();
                entries == [(64 * K, 40.0), (4 * K, 60.0)]
            }
            _ => false,
        }
    }),
    ("bs_unaligned", "--bsrange=4k-64k --bs_unaligned", |plan| {
        matches!(
            stream(plan).pattern.sizes.read,
            BlockSizes::Range { unaligned: true, .. }
        )
    }),
    ("bs_is_seq_rand", "--rw=write --bs=4k,64k --bs_is_seq_rand=1", |plan| {
        stream(plan).pattern.sizes_by_place && fixed(plan).read == 4 * K && fixed(plan).write == 64 * K
    }),
    ("randrepeat", "--randrepeat=0", |plan| {
        plan.seed == FRESH && worker(plan).draws == DrawsForm::PerPurpose { seed: FRESH, number: 1 }
    }),
    ("randseed", "--randseed=42", |plan| {
        plan.seed == 42 && worker(plan).draws == DrawsForm::PerPurpose { seed: 42, number: 1 }
    }),
    ("randseed", "--randrepeat=0 --randseed=42", |plan| plan.seed == 42),
    ("norandommap", "--rw=randread --norandommap", |plan| {
        placement(plan)
            == Some(&Placement::Uniform(Uniform {
                reduction: Reduction::MultiplyHigh32,
            }))
    }),
    ("softrandommap", "--rw=randread --softrandommap=1", |plan| {
        let method = OnceMethod::Map {
            reduction: Reduction::MultiplyHigh32,
            optional: true,
        };
        placement(plan) == Some(&Placement::Once(Once { method }))
    }),
    ("random_generator", "--rw=randread --random_generator=lfsr", |plan| {
        placement(plan)
            == Some(&Placement::Once(Once {
                method: OnceMethod::Bijection,
            }))
    }),
    (
        "random_generator",
        "--rw=randread --random_generator=tausworthe64",
        |plan| {
            let method = OnceMethod::Map {
                reduction: Reduction::MultiplyHigh64,
                optional: false,
            };
            placement(plan) == Some(&Placement::Once(Once { method }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zipf:1.2:0.3",
        |plan| {
            placement(plan)
                == Some(&Placement::Zipf(Zipf {
                    theta: 1.2,
                    center: Some(0.3),
                }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=pareto:0.3",
        |plan| placement(plan) == Some(&Placement::Pareto(Pareto { h: 0.3, center: None })),
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=normal:20",
        |plan| {
            placement(plan)
                == Some(&Placement::Normal(Normal {
                    deviation_percent: 20.0,
                    center: 0.5,
                }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zoned:60/10:40/90",
        |plan| match placement(plan) {
            Some(Placement::Ranges(Ranges {
                basis: RangeBasis::Percent,
                shares,
                ..
            })) => {
                let shares: Vec<_> = shares
                    .read
                    .iter()
                    .map(|share| (share.operations_percent, share.span))
                    .collect();
                shares == [(60.0, 10.0), (40.0, 90.0)]
            }
            _ => false,
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zoned_abs:60/1m:40/9m",
        |plan| {
            matches!(
                placement(plan),
                Some(Placement::Ranges(Ranges {
                    basis: RangeBasis::Bytes,
                    ..
                }))
            )
        },
    ),
    (
        "random_sequence_stride",
        "--rw=randread --random_distribution=sequence:2,0,1 --random_sequence_stride=1",
        |plan| {
            placement(plan)
                == Some(&Placement::List(BlockList {
                    blocks: vec![2, 0, 1],
                    moving: true,
                }))
        },
    ),
    (
        "percentage_random",
        "--rw=randread --percentage_random=50,20",
        |plan| match &stream(plan).pattern.access[..] {
            [Access::Mixed(Mixed { random_percent, .. })] => {
                *random_percent
                    == PerDirection {
                        read: 50,
                        write: 20,
                        trim: 20,
                    }
            }
            _ => false,
        },
    ),
    (
        "zonemode",
        "--zonemode=strided --zonesize=8k --zonerange=16k --zoneskip=32k",
        |plan| zones(plan).is_some(),
    ),
    ("zonesize", "--zonemode=strided --zonesize=8k", |plan| {
        zones(plan).is_some_and(|zones| (zones.work, zones.range) == (Bytes(8 * K), Bytes(8 * K)))
    }),
    ("zonesize", "--zonemode=strided --zonesize=8k --zonerange=16k", |plan| {
        zones(plan).is_some_and(|zones| zones.work == Bytes(8 * K))
    }),
    (
        "zonerange",
        "--zonemode=strided --zonesize=8k --zonerange=16k",
        |plan| zones(plan).is_some_and(|zones| zones.range == Bytes(16 * K)),
    ),
    ("zoneskip", "--zonemode=strided --zonesize=8k --zoneskip=32k", |plan| {
        zones(plan).is_some_and(|zones| zones.skip == Bytes(32 * K))
    }),
];
