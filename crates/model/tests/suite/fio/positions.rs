//! Combinations of positions and lengths that were never recorded: parts of a target, sizes and
//! zones of each direction, loops, pairs, runs, file sets, windows.

use std::collections::{BTreeMap, BTreeSet};

use model::access::{Between, BlockList, Every, RangeShare, Ranges, RangesRule, Zones};
use model::plan::FileService;

use super::parts::{
    K, M, MAP, NO_MAP, amount, assert_share, assert_tiles, clone, every, file, files, fixed, job, offsets,
    partly_random, pattern, plan, random, reads, region, sequential, single, stream,
};
use crate::drive::{Issued, execute, only_worker, whole};
use crate::prelude::*;

/// `offset=10%`, `offset_increment=20%`, `size=20%` for four clones of one device: percentages of a
/// size that the plan does not know. Positions are rounded up and amounts down to whole blocks, so
/// that adjacent clones do not overlap.
#[test]
fn clones_divide_a_target_by_percent() {
    let percent = |percent: f64, round_up: bool| Extent {
        percent,
        align: 4 * K,
        round_up,
        ..Extent::default()
    };
    let workers = (0..4u32).map(|number| {
        let region = Region {
            base: percent(10.0 + 20.0 * f64::from(number), true),
            length: Some(percent(20.0, false)),
        };
        let pattern = pattern(random(MAP), fixed(4 * K));
        clone(number + 1, stream(0, reads(30.0), pattern, region))
    });
    let stop = Stop::default().with(|stop| (stop.region_percent, stop.passes) = (Some(100), Some(1)));
    let steps = vec![vec![job("clones", stop, workers.collect())]];
    let plan = whole(plan("clones", vec![file("/dev/x", 0)], steps));
    // 10 % of 1000 blocks are 100, of 1003 and a half 100.35, and so on.
    let targets = [
        (1000 * 4 * K, [100, 300, 500, 700]),
        (1003 * 4 * K + 2 * K, [101, 302, 502, 703]),
    ];
    for (size, bases) in targets {
        for (issued, base) in execute(&plan, 0, 0, &[size], 1000).iter().zip(bases) {
            let (start, end) = (base * 4 * K, (base + 200) * 4 * K);
            assert_tiles(issued, start, end, &format!("clone at {base} of {size}"));
        }
    }
}

/// An increment in percent with an offset in bytes, and the last clone beyond the end: nothing is
/// left for it.
#[test]
fn a_region_never_reaches_beyond_its_target() {
    let check = |base: Extent, length: Option<Extent>, size: u64, expected: (u64, u64)| {
        let found = Region { base, length }.resolve(size);
        assert_eq!(found, expected, "{base:?} {length:?} of {size}");
    };
    let mixed = |bytes: u64, percent: f64, align: u64, round_up: bool| Extent {
        bytes: Bytes(bytes),
        percent,
        align,
        round_up,
    };
    check(Extent::bytes(0), None, 1000, (0, 1000));
    check(Extent::bytes(400), Some(Extent::bytes(700)), 1000, (400, 600));
    check(Extent::bytes(4000), Some(Extent::bytes(1)), 1000, (1000, 0));
    check(mixed(100, 25.0, 0, false), None, 1000, (350, 650));
    check(mixed(100, 25.0, 64, false), None, 1000, (320, 680));
    check(mixed(100, 25.0, 64, true), None, 1000, (384, 616));
    let half = Some(mixed(0, 50.0, 512, false));
    check(mixed(0, 100.0, 512, true), half, 1000, (1000, 0));
    check(mixed(0, 50.0, 512, true), half, 4096, (2048, 2048));
    check(mixed(u64::MAX, 50.0, 0, false), None, 4096, (4096, 0));
    check(mixed(u64::MAX, 0.0, 4096, true), None, 4096, (4096, 0));
}

/// `bssplit=4k/20:64k/80,512/50:1k/50` in one stream.
#[test]
fn block_sizes_differ_by_direction() {
    let split = |entries: &[(u64, f64)]| BlockSizes::Split {
        entries: entries
            .iter()
            .map(|(size, percent)| SizeShare::new(Bytes(*size), *percent))
            .collect(),
    };
    let blocks = pattern(random(NO_MAP), fixed(4 * K));
    let mut sized = stream(0, reads(60.0), blocks, region(4 * K, 16 * M));
    sized.pattern.sizes.read = split(&[(4 * K, 20.0), (64 * K, 80.0)]);
    sized.pattern.sizes.write = split(&[(512, 50.0), (K, 50.0)]);
    let plan = single("bssplit", amount(1 << 40, None), sized, 32 * M);
    let issued = only_worker(&plan, &[32 * M], 20_000);
    let mut counts: BTreeMap<(u8, u32), usize> = BTreeMap::new();
    for Issued { operation, .. } in &issued {
        *counts.entry((operation.direction as u8, operation.length)).or_default() += 1;
        let is_read = operation.direction == Direction::Read;
        let step = if is_read { 4 * K } else { 512 };
        assert!((operation.offset - 4 * K).is_multiple_of(step), "{operation:?}");
        assert!(operation.offset >= 4 * K && operation.offset + u64::from(operation.length) <= 16 * M + 4 * K);
    }
    let reads_seen = counts[&(0, 4096)] + counts[&(0, 65_536)];
    assert_eq!(counts.values().sum::<usize>(), 20_000, "no other lengths: {counts:?}");
    assert_share(reads_seen, 20_000, 0.6, "reads");
    // 15 of 4096 positions have no room for 64 KiB: 0.3 % of them are shortened.
    assert_share(counts[&(0, 65_536)], reads_seen, 0.8 * (1.0 - 15.0 / 4096.0), "64 KiB");
    assert_share(counts[&(1, 512)], 20_000 - reads_seen, 0.5, "512 B");
}

/// `zoned:60/10:30/20:10/70,10/50:90/50` and `zoned_abs`: each direction has its own zones.
#[test]
fn zones_differ_by_direction() {
    const N: usize = 20_000;
    let zones = |basis: RangeBasis, of: [&[(f64, f64)]; 2]| {
        let shares = |list: &[(f64, f64)]| -> Vec<RangeShare> {
            list.iter()
                .map(|(operations_percent, span)| RangeShare::new(*operations_percent, *span))
                .collect()
        };
        Placement::Ranges(Ranges {
            basis,
            rule: RangesRule::Native,
            shares: PerDirection::new(shares(of[0]), shares(of[1]), Vec::new()),
        })
    };
    let check = |placement: Placement, within: [&[(u64, u64, f64)]; 2]| {
        let pattern = pattern(random(placement), fixed(4 * K));
        let zoned = stream(0, reads(50.0), pattern, region(M, 10 * M));
        let plan = single("zoned", amount(1 << 40, None), zoned, 11 * M);
        let issued = only_worker(&plan, &[11 * M], N);
        for (direction, parts) in [Direction::Read, Direction::Write].into_iter().zip(within) {
            let operations = issued.iter().map(|issued| issued.operation);
            let operations = operations.filter(|operation| operation.direction == direction);
            let blocks: Vec<u64> = operations.map(|operation| (operation.offset - M) / (4 * K)).collect();
            let mut counted = 0;
            for (from, to, share) in parts {
                let blocks_inside = blocks.iter().copied().filter(|block| (*from..*to).contains(block));
                let inside: Vec<u64> = blocks_inside.collect();
                assert_share(inside.len(), blocks.len(), *share, direction.word());
                counted += inside.len();
                // Both ends of each part are reached.
                let reached = (inside.iter().min().unwrap() - from) + (to - inside.iter().max().unwrap());
                assert!(reached < (to - from) / 20, "{direction:?} {from}..{to}");
            }
            assert_eq!(counted, blocks.len(), "{direction:?}: some are elsewhere");
        }
    };
    let reads: &[(f64, f64)] = &[(60.0, 10.0), (30.0, 20.0), (10.0, 70.0)];
    let percent = zones(RangeBasis::Percent, [reads, &[(10.0, 50.0), (90.0, 50.0)]]);
    let reads: &[(u64, u64, f64)] = &[(0, 256, 0.6), (256, 768, 0.3), (768, 2560, 0.1)];
    check(percent, [reads, &[(0, 1280, 0.1), (1280, 2560, 0.9)]]);
    let (mib, four_mib) = ((1 << 20) as f64, (4 << 20) as f64);
    let (reads, writes) = ([(50.0, mib), (50.0, four_mib)], [(95.0, four_mib), (5.0, mib)]);
    let absolute = zones(RangeBasis::Bytes, [&reads, &writes]);
    let (reads, writes) = ([(0, 256, 0.5), (256, 1280, 0.5)], [(0, 1024, 0.95), (1024, 1280, 0.05)]);
    check(absolute, [&reads, &writes]);
}

/// fio begins every pass with the same draws: the second repeats the first, regardless of the
/// pattern's state.
#[test]
fn loops_repeat_their_sequence() {
    let range = BlockSizes::range(Bytes::kib(4), Bytes::kib(16));
    let pairs = PerDirection::new(10, 90, 0);
    let walks = [
        ("randrw", reads(70.0), pattern(random(MAP), fixed(4 * K))),
        ("randrw bsrange", reads(40.0), pattern(random(MAP), range.clone())),
        ("rw", reads(50.0), pattern(sequential(0), fixed(4 * K))),
        ("trimwrite", Mix::TrimThenWrite, pattern(sequential(0), fixed(4 * K))),
        ("randtrimwrite bsrange", Mix::TrimThenWrite, pattern(random(MAP), range)),
        (
            "randrw percentage_random=10,90",
            reads(50.0),
            pattern(partly_random(pairs), fixed(4 * K)),
        ),
        (
            "randread:3",
            Mix::READS,
            pattern(every(3, Between::Continue), fixed(4 * K)),
        ),
    ];
    for (name, mix, pattern) in walks {
        let looped = stream(0, mix, pattern, region(0, 256 * K));
        let once = single(name, amount(1 << 40, Some(1)), looped.clone(), 256 * K);
        let two_loops = single(name, amount(1 << 40, Some(2)), looped, 256 * K);
        let [first, both] = [once, two_loops].map(|plan| {
            let issued = only_worker(&plan, &[256 * K], 10_000).into_iter();
            issued.map(|issued| issued.operation).collect::<Vec<_>>()
        });
        assert!(first.len() > 20, "{name}");
        assert_eq!(both, [first.clone(), first].concat(), "{name}");
    }
}

/// A block is trimmed and then written, with the same length, in every pass.
#[test]
fn trims_and_writes_come_in_pairs() {
    let range = BlockSizes::range(Bytes::kib(4), Bytes::kib(32));
    for (name, access, passes) in [("trimwrite", sequential(0), 3), ("randtrimwrite", random(MAP), 3)] {
        let pairs = stream(0, Mix::TrimThenWrite, pattern(access, range.clone()), region(64 * K, M));
        let plan = single(name, amount(1 << 40, Some(passes)), pairs, 2 * M);
        let issued = only_worker(&plan, &[2 * M], 100_000);
        let (trims, writes): (Vec<Issued>, Vec<Issued>) = issued
            .iter()
            .partition(|issued| issued.operation.direction == Direction::Trim);
        assert_eq!(trims.len(), writes.len());
        for (number, pair) in issued.chunks(2).enumerate() {
            let [trim, write] = [pair[0].operation, pair[1].operation];
            assert_eq!(trim.direction, Direction::Trim, "{name} {number}");
            assert_eq!(write.direction, Direction::Write, "{name} {number}");
            assert_eq!(trim.offset, write.offset, "{name} {number}");
            assert_eq!(trim.length, write.length, "{name} {number}");
        }
        assert_tiles(&trims[..trims.len() / 3], 64 * K, M + 64 * K, name);
    }
}

/// `percentage_random=20,80`: each direction continues from its own last operation, the first from
/// the base.
#[test]
fn partly_random_directions_have_their_own_position() {
    const N: usize = 20_000;
    let percent = PerDirection::new(20, 80, 100);
    let walk = stream(
        0,
        reads(50.0),
        pattern(partly_random(percent), fixed(4 * K)),
        region(0, 1 << 30),
    );
    let plan = single("percentage_random", amount(1 << 40, None), walk, 1 << 30);
    let issued = only_worker(&plan, &[1 << 30], N);
    for (direction, share) in [(Direction::Read, 0.8), (Direction::Write, 0.2)] {
        let of = issued.iter().filter(|issued| issued.operation.direction == direction);
        let mut expected = 0;
        let (mut continued, mut all) = (0, 0);
        for Issued { operation, .. } in of {
            continued += usize::from(operation.offset == expected);
            expected = operation.offset + u64::from(operation.length);
            all += 1;
        }
        assert_share(continued, all, share, direction.word());
    }
}

/// `nrfiles=3` with each service that finishes its files, also with only two files open at a time.
#[test]
fn file_sets_are_served_in_their_order() {
    let set_of = |open_at_once: u32, service: FileService, operations: u64, access: Access| Stream {
        target: StreamTarget::files((0..3).map(TargetId).collect(), open_at_once, service, operations),
        ..stream(0, Mix::READS, pattern(access, fixed(4 * K)), Region::default())
    };
    let set = |service: FileService, operations: u64, access: Access| set_of(3, service, operations, access);
    let sizes = [32 * K, 32 * K, 16 * K];
    let check = |name: &str, stream: Stream, expected: &[u32]| {
        let targets = files(3, 32 * K);
        let plan = whole(plan(
            name,
            targets,
            vec![vec![job(name, amount(1 << 30, Some(1)), vec![clone(1, stream)])]],
        ));
        let issued = only_worker(&plan, &sizes, 1000);
        for (file, size) in sizes.iter().enumerate() {
            let of_file = issued.iter().filter(|issued| issued.target.0 == file as u32);
            let of: Vec<Issued> = of_file.copied().collect();
            assert_tiles(&of, 0, *size, &format!("{name}, file {file}"));
        }
        let order: Vec<u32> = issued.iter().map(|issued| issued.target.0).collect();
        if !expected.is_empty() {
            assert_eq!(order, expected, "{name}");
        }
        order
    };
    let in_turn = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 1];
    check("roundrobin", set(FileService::RoundRobin, 1, sequential(0)), &in_turn);
    let by_three = [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 0, 0, 1, 1];
    check("roundrobin:3", set(FileService::RoundRobin, 3, random(MAP)), &by_three);
    let one_by_one = [vec![0; 8], vec![1; 8], vec![2; 4]].concat();
    check("sequential", set(FileService::Sequential, 1, random(MAP)), &one_by_one);
    let two_open = [[0, 1].repeat(8), vec![2; 4]].concat();
    let stream = set_of(2, FileService::RoundRobin, 1, sequential(0));
    check("openfiles=2", stream, &two_open);
    let drawn = check("random", set(FileService::Random, 1, random(MAP)), &[]);
    assert_ne!(drawn, in_turn);
}

/// Windows: random ones in which each block is used once, and windows with a position for each
/// direction.
#[test]
fn windows_move_over_the_region() {
    let zones = |within: Option<Placement>, work: u64| {
        Access::Zones(Zones {
            work: Bytes(work),
            range: Bytes(32 * K),
            skip: Bytes(32 * K),
            within,
            positions: PositionSharing::PerDirection,
        })
    };
    let walk = |mix: Mix, access: Access| stream(0, mix, pattern(access, fixed(4 * K)), region(0, 256 * K));
    let visiting = walk(Mix::READS, zones(Some(MAP), 16 * K));
    let plan = single("strided randread", amount(256 * K, None), visiting, 256 * K);
    let visited = offsets(&only_worker(&plan, &[256 * K], 1000));
    assert_eq!(visited.len(), 16 * 4);
    for (number, visit) in visited.chunks(4).enumerate() {
        let window = number as u64 % 4 * 64 * K;
        assert!(
            visit.iter().all(|offset| (window..window + 32 * K).contains(offset)),
            "visit {number}: {visit:?}"
        );
        let blocks: BTreeSet<_> = visit.iter().collect();
        assert_eq!(blocks.len(), 4, "visit {number}: a block twice");
    }
    // More work than a window holds: when its blocks are used up, it starts again.
    let repeating = walk(Mix::WRITES, zones(Some(MAP), 64 * K));
    let plan = single("strided randwrite", amount(64 * K, None), repeating, 256 * K);
    let visited = offsets(&only_worker(&plan, &[256 * K], 1000));
    for half in visited.chunks(8) {
        let blocks: BTreeSet<u64> = half.iter().copied().collect();
        assert!(blocks.into_iter().eq((0..8).map(|block| block * 4 * K)), "{half:?}");
    }
    let both = walk(reads(50.0), zones(None, 32 * K));
    let plan = single("strided rw", amount(128 * K, None), both, 256 * K);
    let issued = only_worker(&plan, &[256 * K], 1000);
    for (number, visit) in issued.chunks(8).enumerate() {
        for direction in [Direction::Read, Direction::Write] {
            let of = visit.iter().filter(|issued| issued.operation.direction == direction);
            let expected = (0..).map(|block| number as u64 * 64 * K + block * 4 * K);
            let mut pairs = of.map(|issued| issued.operation.offset).zip(expected);
            assert!(pairs.all(|(offset, expected)| offset == expected), "visit {number}");
        }
    }
}

/// `randread:8` with varying lengths, and a list that advances: the corner cases of both.
#[test]
fn runs_jump_at_the_end_and_lists_wrap_around() {
    let range = BlockSizes::range(Bytes::kib(4), Bytes::kib(16));
    let runs = Access::Every(Every {
        placement: NO_MAP,
        operations: 8,
        between: Between::Continue,
    });
    let walk = stream(0, Mix::READS, pattern(runs, range), region(0, 64 * M));
    let plan = single("randread:8", amount(1 << 40, None), walk, 64 * M);
    let issued = only_worker(&plan, &[64 * M], 8000);
    let jumps = issued
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0].operation.offset + u64::from(pair[0].operation.length) != pair[1].operation.offset);
    let jumps: Vec<usize> = jumps.map(|(number, _)| number + 1).collect();
    // A run that reaches the end of the file also jumps; 1000 runs of about 80 KiB in 64 MiB make
    // about one such jump.
    let within_runs = jumps.iter().filter(|number| !number.is_multiple_of(8)).count();
    assert!(within_runs < 8, "{within_runs}");
    assert!(jumps.len() - within_runs > 990, "{}", jumps.len());

    let list = Placement::List(BlockList {
        blocks: vec![3, 0, 14],
        moving: true,
    });
    let walk = stream(0, Mix::READS, pattern(random(list), fixed(4 * K)), region(0, 64 * K));
    let plan = single("random_sequence_stride", amount(12 * 4 * K, None), walk, 64 * K);
    let offsets = offsets(&only_worker(&plan, &[64 * K], 100)).into_iter();
    let blocks: Vec<u64> = offsets.map(|offset| offset / (4 * K)).collect();
    // After the last block it wraps around.
    assert_eq!(blocks, [3, 0, 14, 6, 3, 1, 9, 6, 4, 12, 9, 7]);
}
