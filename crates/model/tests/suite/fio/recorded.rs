//! The sequences that were recorded from fio 3.42.
//!
//! Positions drawn by `lfsr`, `tausworthe64`, `zipf`, `pareto`, `normal` and `zoned` are not
//! promised to come in fio's order, but with its properties; those six lines are checked for them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use model::access::{
    Access, Between, BlockList, Normal, Once, OnceMethod, Pareto, Placement, Positions, RangeBasis, RangeShare, Ranges,
    RangesRule, Zipf, Zones,
};
use model::block_size::{BlockSizes, SizeShare};
use model::draws::{DrawsForm, Reduction};
use model::mix::Mix;
use model::plan::{Plan, Stop, Stream, Worker};
use model::{Bytes, Direction, PerDirection};

use super::parts::{
    K, MAP, NO_MAP, amount, clone, every, file, fixed, job, partly_random, pattern, plan, random, reads, region,
    sequential, stream,
};
use crate::drive::{Issued, execute, whole};

/// Direction letters and offsets in KiB of each clone, as recorded for these options.
fn recording(options: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fio/offsets.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != options);
    assert!(lines.next().is_some(), "there is no recording of {options}");
    lines
        .take_while(|line| !line.starts_with("--"))
        .map(|line| line.trim().to_owned())
        .collect()
}

fn shown(issued: &[Issued]) -> String {
    let each = issued.iter().map(|issued| {
        let letter = match issued.operation.direction {
            Direction::Read => 'R',
            Direction::Write => 'W',
            Direction::Trim => 'T',
        };
        format!("{letter}{}", issued.operation.offset as f64 / 1024.0)
    });
    each.collect::<Vec<_>>().join(" ")
}

fn plan_of(options: &str, stop: Stop, streams: Vec<Stream>) -> Plan {
    let clones = streams
        .into_iter()
        .zip(1..)
        .map(|(stream, number)| clone(number, stream));
    let workers: Vec<Worker> = clones.collect();
    whole(plan(
        options,
        vec![file("f", 128 * K)],
        vec![vec![job("t", stop, workers)]],
    ))
}

/// One clone for each stream, on a file of 128 KiB; the operations must be those recorded, to the
/// last.
fn check(options: &str, stop: Stop, streams: Vec<Stream>) {
    let plan = plan_of(options, stop, streams);
    let issued = execute(&plan, 0, 0, &[128 * K], 100);
    let shown: Vec<String> = issued.iter().map(|issued| shown(issued)).collect();
    assert_eq!(shown, recording(options), "{options}");
}

fn reading(access: Access, size: u64) -> Stream {
    stream(0, Mix::READS, pattern(access, fixed(4 * K)), region(0, size))
}

fn once(size: u64) -> Stop {
    amount(size, Some(1))
}

#[test]
fn random_positions_and_their_map() {
    let map = || vec![reading(random(MAP), 64 * K)];
    check("--rw=randread --size=64k --bs=4k", once(64 * K), map());
    check(
        "--rw=randread --size=64k --bs=4k --numjobs=2",
        once(64 * K),
        [map(), map()].concat(),
    );
    check(
        "--rw=randread --size=64k --bs=4k --loops=2",
        amount(128 * K, Some(2)),
        map(),
    );
    let unmapped = vec![reading(random(NO_MAP), 64 * K)];
    check("--rw=randread --size=64k --bs=4k --norandommap", once(64 * K), unmapped);
    let behind = Stream {
        region: region(64 * K, 64 * K),
        ..map().remove(0)
    };
    check(
        "--rw=randread --size=64k --bs=4k --offset=64k --filesize=128k",
        once(64 * K),
        vec![behind],
    );
    // The half block at the end is not used: seven operations end the pass, 4 KiB before the amount
    // is reached.
    let partial = stream(0, Mix::READS, pattern(random(MAP), fixed(8 * K)), region(0, 60 * K));
    check("--rw=randread --size=60k --bs=8k", once(60 * K), vec![partial]);
    let mut finer = reading(random(NO_MAP), 64 * K);
    finer.pattern.alignment = PerDirection::all(Bytes(2 * K));
    check(
        "--rw=randread --size=64k --bs=4k --norandommap --blockalign=2k",
        once(64 * K),
        vec![finer],
    );
    let seeded = [
        (1, "--rw=randread --size=64k --bs=4k --randseed=1"),
        (12345, "--rw=randread --size=64k --bs=4k --randseed=12345"),
    ];
    for (seed, options) in seeded {
        let mut plan = plan_of(options, once(64 * K), map());
        plan.steps[0].jobs[0].workers[0].draws = DrawsForm::per_purpose(seed, 1);
        let issued = execute(&plan, 0, 0, &[128 * K], 100);
        assert_eq!([shown(&issued[0])], recording(options)[..], "{options}");
    }
}

#[test]
fn lengths_that_vary() {
    let sized = |sizes: BlockSizes| vec![stream(0, Mix::READS, pattern(random(MAP), sizes), region(0, 64 * K))];
    let range = BlockSizes::Range {
        low: Bytes::kib(4),
        high: Bytes::kib(16),
        unaligned: false,
    };
    check(
        "--rw=randread --size=64k --bs=4k --bsrange=4k-16k",
        once(64 * K),
        sized(range),
    );
    let half = |size: u64| SizeShare {
        size: Bytes(size),
        percent: 50.0,
    };
    let split = BlockSizes::Split {
        entries: vec![half(4 * K), half(8 * K)],
    };
    check(
        "--rw=randread --size=64k --bs=4k --bssplit=4k/50:8k/50",
        once(64 * K),
        sized(split),
    );
}

#[test]
fn mixed_directions() {
    let mixed = |access: Access, mix: Mix| vec![stream(0, mix, pattern(access, fixed(4 * K)), region(0, 64 * K))];
    check(
        "--rw=randrw --size=64k --bs=4k",
        once(64 * K),
        mixed(random(MAP), reads(50.0)),
    );
    check(
        "--rw=randrw --size=64k --bs=4k --rwmixread=70",
        once(64 * K),
        mixed(random(MAP), reads(70.0)),
    );
    check(
        "--rw=rw --size=64k --bs=4k --rwmixread=70",
        once(64 * K),
        mixed(sequential(0), reads(70.0)),
    );
    check(
        "--rw=rw --size=64k --bs=4k --rwmixwrite=20",
        once(64 * K),
        mixed(sequential(0), reads(80.0)),
    );
    let pairs = |access| {
        let pattern = pattern(access, fixed(4 * K));
        vec![stream(0, Mix::TrimThenWrite, pattern, region(0, 16 * K))]
    };
    // Each byte counts twice.
    check("--rw=trimwrite --size=16k --bs=4k", once(32 * K), pairs(sequential(0)));
    check(
        "--rw=randtrimwrite --size=16k --bs=4k",
        once(32 * K),
        pairs(random(MAP)),
    );
}

#[test]
fn partly_random_walks() {
    let options = "--rw=randread:4 --size=64k --bs=4k";
    check(
        options,
        once(64 * K),
        vec![reading(every(4, Between::Continue), 64 * K)],
    );
    let options = "--rw=randread:4 --rw_sequencer=identical --size=64k --bs=4k";
    check(options, once(64 * K), vec![reading(every(4, Between::Repeat), 64 * K)]);
    let options = "--rw=randread --size=64k --bs=4k --percentage_random=50";
    check(
        options,
        once(64 * K),
        vec![reading(partly_random(PerDirection::all(50)), 64 * K)],
    );
    let list = Placement::List(BlockList {
        blocks: vec![2, 0, 1],
        moving: false,
    });
    let options = "--rw=randread --size=64k --bs=4k --random_distribution=sequence:2,0,1 --io_size=32k";
    check(options, once(32 * K), vec![reading(random(list), 64 * K)]);
}

#[test]
fn sequential_walks_and_amounts() {
    let options = "--rw=read:8k --size=128k --bs=4k --io_size=64k";
    check(options, once(64 * K), vec![reading(sequential(8 * K as i64), 128 * K)]);
    let backwards = Stream {
        region: region(64 * K, 64 * K),
        ..reading(sequential(-4096), 64 * K)
    };
    check(
        "--rw=read:-4k --size=64k --bs=4k --offset=64k --filesize=128k",
        once(64 * K),
        vec![backwards],
    );
    let write = Stream {
        mix: Mix::WRITES,
        ..reading(sequential(0), 64 * K)
    };
    check(
        "--rw=write --size=64k --bs=4k --io_size=96k",
        amount(96 * K, None),
        vec![write],
    );
    let few = Stop {
        operations: Some(5),
        ..once(64 * K)
    };
    check(
        "--rw=read --size=64k --bs=4k --number_ios=5",
        few,
        vec![reading(sequential(0), 64 * K)],
    );
    let strided = Access::Zones(Zones {
        work: Bytes(8 * K),
        range: Bytes(16 * K),
        skip: Bytes(16 * K),
        within: None,
        positions: Positions::PerDirection,
    });
    let options =
        "--rw=read --size=64k --bs=4k --zonemode=strided --zonesize=8k --zonerange=16k --zoneskip=16k --io_size=32k";
    check(options, amount(32 * K, None), vec![reading(strided, 64 * K)]);
    // `filename` was given, so that `nrfiles` means nothing: there is one file.
    check(
        "--rw=read --size=32k --bs=4k --nrfiles=2",
        once(32 * K),
        vec![reading(sequential(0), 32 * K)],
    );
    check(
        "--rw=randread --size=32k --bs=4k --nrfiles=2",
        once(32 * K),
        vec![reading(random(MAP), 32 * K)],
    );
}

fn offsets(plan: &Plan, most: usize) -> Vec<u64> {
    let issued = execute(plan, 0, 0, &[128 * K], most).remove(0);
    issued.iter().map(|issued| issued.operation.offset).collect()
}

/// The generators that are not promised in fio's order visit each block once, and the same ones
/// every time.
#[test]
fn other_generators_visit_each_block_once() {
    let map = OnceMethod::Map {
        reduction: Reduction::MultiplyHigh64,
        optional: false,
    };
    let generators = [
        (
            "--rw=randread --size=64k --bs=4k --random_generator=lfsr",
            OnceMethod::Bijection,
        ),
        ("--rw=randread --size=64k --bs=4k --random_generator=tausworthe64", map),
    ];
    for (options, method) in generators {
        let placed = random(Placement::Once(Once { method }));
        let plan = plan_of(options, once(64 * K), vec![reading(placed, 64 * K)]);
        let visited = offsets(&plan, 100);
        assert_eq!(visited, offsets(&plan, 100), "{options} twice");
        let sorted: BTreeSet<u64> = visited.iter().copied().collect();
        assert_eq!(visited.len(), 16, "{options}: {visited:?}");
        assert!(
            sorted.into_iter().eq((0..16).map(|block| block * 4 * K)),
            "{options}: {visited:?}"
        );
        let recorded = recording(options).remove(0);
        let recorded: BTreeSet<&str> = recorded.split(' ').collect();
        assert_eq!(recorded.len(), 16, "fio's order differs, its blocks do not");
    }
}

/// Over many operations the four distributions put as many operations where fio's laws put them.
#[test]
fn other_distributions_keep_their_shares() {
    const DRAWS: u64 = 20_000;
    // The share of the operations that go to the `count` positions used most.
    let busiest = |options: &str, placement: Placement| {
        assert!(recording(options).len() == 1);
        let plan = plan_of(
            options,
            amount(DRAWS * 4 * K, None),
            vec![reading(random(placement), 64 * K)],
        );
        let visited = offsets(&plan, DRAWS as usize);
        assert_eq!(visited, offsets(&plan, DRAWS as usize), "{options} twice");
        let mut counts = [0u64; 16];
        visited
            .iter()
            .for_each(|offset| counts[(offset / (4 * K)) as usize] += 1);
        let by_position = counts;
        counts.sort_unstable_by(|one, other| other.cmp(one));
        (by_position, counts)
    };
    let near = |count: u64, share: f64, what: &str| {
        let expected = share * DRAWS as f64;
        let deviation = (expected * (1.0 - share)).sqrt();
        assert!(
            (count as f64 - expected).abs() < 5.0 * deviation,
            "{what}: {count} for {expected}"
        );
    };
    let zipf = Placement::Zipf(Zipf {
        theta: 1.2,
        center: None,
    });
    let (_, counts) = busiest(
        "--rw=randread --size=64k --bs=4k --random_distribution=zipf:1.2 --io_size=64k",
        zipf,
    );
    let sum: f64 = (1..=16).map(|rank| f64::from(rank).powf(-1.2)).sum();
    for rank in 1..=4u32 {
        near(counts[rank as usize - 1], f64::from(rank).powf(-1.2) / sum, "zipf");
    }

    let pareto = Placement::Pareto(Pareto { h: 0.3, center: None });
    let (_, counts) = busiest(
        "--rw=randread --size=64k --bs=4k --random_distribution=pareto:0.3 --io_size=64k",
        pareto,
    );
    let exponent = 0.7f64.ln() / 0.3f64.ln();
    for top in [1usize, 4, 8] {
        let share = (top as f64 / 16.0).powf(exponent);
        near(counts[..top].iter().sum(), share, "pareto");
    }

    let normal = Placement::Normal(Normal {
        deviation_percent: 20.0,
        center: 0.5,
    });
    let (by_position, _) = busiest(
        "--rw=randread --size=64k --bs=4k --random_distribution=normal:20 --io_size=64k",
        normal,
    );
    // Positions 5 to 10 are 6/32 of the area on either side of the middle: ±0.9375 deviations hold
    // 65.148 %. What lies beyond the ends (1.24 %) comes in again at the other end, far from the
    // middle.
    near(by_position[5..11].iter().sum(), 0.65148, "normal");

    let share = |operations: f64, span: f64| RangeShare {
        operations_percent: operations,
        span,
    };
    let zoned = Placement::Ranges(Ranges {
        basis: RangeBasis::Percent,
        rule: RangesRule::Native,
        shares: PerDirection::all(vec![share(60.0, 10.0), share(30.0, 20.0), share(10.0, 70.0)]),
    });
    let (by_position, _) = busiest(
        "--rw=randread --size=64k --bs=4k --random_distribution=zoned:60/10:30/20:10/70 --io_size=64k",
        zoned,
    );
    // 10 % of 16 blocks end within the second; it belongs to the next range.
    near(by_position[0], 0.6, "zoned");
    near(by_position[1..4].iter().sum(), 0.3, "zoned");
    near(by_position[4..].iter().sum(), 0.1, "zoned");
}

/// No recording is left out: 28 lines are promised exactly, six by their properties.
#[test]
fn every_recording_is_used() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fio/offsets.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let this = include_str!("recorded.rs");
    let options: Vec<&str> = text.lines().filter(|line| line.starts_with("--")).collect();
    assert_eq!(options.len(), 34);
    for line in options {
        assert!(this.contains(&format!("{line:?}")), "{line} is not used here");
    }
}
