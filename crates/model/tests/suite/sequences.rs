//! Direction, position and length together: no operation leaves its region, has a length that was
//! not configured, or violates its mix.

use std::sync::Arc;

use model::access::{Advance, OnceMethod};
use model::plan::Pattern;
use model::sequence::{Operation, Sequence};
use proptest::prelude::*;

use crate::prelude::*;

const UNIT: u64 = 512;

/// Up to `max` operations of one pass.
fn operations(
    mix: Mix,
    pattern: &Pattern,
    base: u64,
    length: u64,
    form: GeneratorChoice,
    max: usize,
) -> Vec<Operation> {
    let mut draws = form.start();
    let sequence = Sequence::new(mix, pattern, base, length, 4, &Arc::default(), &mut draws);
    let mut sequence = sequence.unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
    let mut all = Vec::new();
    while all.len() < max {
        match sequence.take(&mut draws, 0, 1).first() {
            Some(operation) => all.push(*operation),
            None => break,
        }
    }
    all
}

/// A hole that reaches the end of the area leads back to its base; an operation that ends there, or
/// does not fit, ends the pass (fio).
#[test]
fn a_pass_with_holes_ends_where_an_operation_does_not_fit() {
    let walk = |skip: i64, block: u64, length: u64| {
        let pattern = Pattern {
            access: vec![Access::Sequential(Sequential::default().with(|sequential| {
                (sequential.advance, sequential.at_end) = (Advance::Length { skip }, AtEnd::Finish)
            }))],
            sizes: PerDirection::all(BlockSizes::Fixed { size: Bytes(block) }),
            ..Pattern::default()
        };
        let mix = Mix::Only {
            direction: Direction::Read,
        };
        let form = GeneratorChoice::fio(1, 1);
        let all = operations(mix, &pattern, 0, length, form, 100);
        all.iter().map(|operation| operation.offset / UNIT).collect::<Vec<_>>()
    };
    let every_third: Vec<u64> = (0..85).map(|number| number * 3).collect();
    assert_eq!(walk(512, 1024, 128 * 1024), every_third);
    assert_eq!(walk(1024, 1024, 8 * 1024)[..6], [0, 4, 8, 12, 0, 4]);
    assert_eq!(walk(1024, 512, 8 * 1024), [0, 3, 6, 9, 12, 15]);
}

fn any_sizes() -> impl Strategy<Value = BlockSizes> {
    let fixed = (1u64..64).prop_map(|units| BlockSizes::Fixed {
        size: Bytes(units * UNIT),
    });
    let range = (1u64..16, 0u64..32, any::<bool>()).prop_map(|(low, more, unaligned)| BlockSizes::Range {
        low: Bytes(low * UNIT),
        high: Bytes((low + more) * UNIT),
        unaligned,
    });
    let entries = prop::collection::vec((1u64..32, 1u32..100), 1..5);
    let split = entries.prop_map(|entries| {
        let entries = entries
            .into_iter()
            .map(|(units, percent)| SizeShare::new(Bytes(units * UNIT), f64::from(percent)));
        BlockSizes::Split {
            entries: entries.collect(),
        }
    });
    prop_oneof![fixed, range, split]
}

fn any_mix() -> impl Strategy<Value = Mix> {
    let percent = 0u32..=100;
    prop_oneof![
        (0usize..3).prop_map(|number| Mix::Only {
            direction: Direction::ALL[number]
        }),
        (percent.clone(), 0usize..3).prop_map(|(percent, rule)| Mix::drawn(
            f64::from(percent),
            [MixRule::Independent, MixRule::AfterPosition, MixRule::Redrawn][rule]
        )),
        percent.prop_map(|percent| Mix::Exact {
            write_percent: f64::from(percent)
        }),
        Just(Mix::TrimThenWrite),
    ]
}

fn any_access() -> impl Strategy<Value = Access> {
    let uniform = || Placement::Uniform(Uniform::default());
    prop_oneof![
        Just(Access::Sequential(Sequential::default())),
        Just(Access::Sequential(Sequential {
            at_end: AtEnd::Finish,
            ..Sequential::default()
        })),
        Just(Access::Random { placement: uniform() }),
        Just(Access::random(Placement::Once(Once::default()))),
        (0u8..=100).prop_map(move |percent| Access::Mixed(Mixed::new(
            uniform(),
            PerDirection::all(percent),
            Default::default()
        ))),
    ]
}

/// Also those that cut operations that would run into a used block.
fn any_access_of_dialects() -> impl Strategy<Value = Access> {
    let reduction = prop_oneof![
        Just(Reduction::Lemire),
        Just(Reduction::Modulo),
        Just(Reduction::MultiplyHigh32),
        Just(Reduction::MultiplyHigh64),
    ];
    let map = |reduction| OnceMethod::map(reduction);
    prop_oneof![
        any_access(),
        // A direction may have reached its end while another has not.
        Just(Access::Sequential(Sequential {
            advance: Advance::Length { skip: 8192 },
            at_end: AtEnd::Finish,
            positions: PositionSharing::PerDirection,
            ..Sequential::default()
        })),
        reduction
            .clone()
            .prop_map(|reduction| Access::random(Placement::Uniform(Uniform { reduction }))),
        reduction.prop_map(move |reduction| Access::random(Placement::Once(Once { method: map(reduction) }))),
    ]
}

fn any_form() -> impl Strategy<Value = GeneratorChoice> {
    prop_oneof![
        any::<u64>().prop_map(|seed| GeneratorChoice::Native { seed }),
        any::<u32>().prop_map(|seed| GeneratorChoice::DiskSpd { seed }),
        (any::<u64>(), 1u32..100).prop_map(|(seed, number)| GeneratorChoice::fio(seed, number)),
    ]
}

/// fio 3.33 ends `randwrite` with `bs=4k,8k` on 1 MiB after 51 of 128 blocks, with `bs=4k,16k`
/// after 29 of 64.
#[test]
fn blocks_of_unused_directions_lengthen_the_random_map() {
    let sized = |read, write| {
        let fixed = |kib| BlockSizes::Fixed { size: Bytes::kib(kib) };
        let method = OnceMethod::map(Reduction::MultiplyHigh32);
        let pattern = Pattern {
            access: vec![Access::random(Placement::Once(Once { method }))],
            sizes: PerDirection::new(fixed(read), fixed(write), fixed(write)),
            ..Pattern::default()
        };
        let form = GeneratorChoice::fio(1, 1);
        let only = Mix::Only {
            direction: Direction::Write,
        };
        operations(only, &pattern, 0, 1 << 20, form, 1000)
    };
    let mut early = sized(4, 8);
    assert!((2..128).contains(&early.len()), "{}", early.len());
    assert!(early.iter().all(|operation| operation.length == 8192));
    early.sort_by_key(|operation| operation.offset);
    early.dedup_by_key(|operation| operation.offset);
    // The last number below the end was used, and that ended the pass.
    assert_eq!(early.last().map(|last| last.offset), Some((1 << 20) - 8192));
    assert_eq!(sized(8, 8).len(), 128);
    assert_eq!(sized(16, 8).len(), 128, "larger blocks change nothing");
}

/// True if the length is a configured one; none is cut, since every position leaves room for the
/// longest.
fn allowed(sizes: &BlockSizes, length: u64) -> bool {
    match sizes {
        BlockSizes::Fixed { size } => length == size.0,
        BlockSizes::Range { low, high, unaligned } => {
            (low.0..=high.0).contains(&length) && (*unaligned || length.is_multiple_of(low.0) || length == high.0)
        }
        BlockSizes::Split { entries } => entries.iter().any(|entry| entry.size.0 == length),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_stay_in_their_region_and_have_configured_lengths(
        mix in any_mix(), access in any_access(), form in any_form(),
        sizes in (any_sizes(), any_sizes()), base in 0u64..1 << 40, room in 0u64..1 << 20,
    ) {
        let sizes = PerDirection { read: sizes.0, write: sizes.1.clone(), trim: sizes.1 };
        // All directions share positions, so room for the longest operation is sufficient for all.
        let longest = sizes.iter().map(|(_, sizes)| sizes.max().0).max().unwrap_or(0);
        let length = 2 * longest + room;
        let pattern = Pattern::simple(access, Bytes::kib(4)).with(|pattern| pattern.sizes = sizes);
        let all = operations(mix, &pattern, base, length, form, 300);
        prop_assert!(!all.is_empty());
        for operation in &all {
            let Operation { direction, offset, length: bytes } = *operation;
            prop_assert!(mix.includes(direction), "{operation:?} in {mix:?}");
            prop_assert!(offset >= base && offset + u64::from(bytes) <= base + length, "{operation:?} leaves the region");
            let sizes = &pattern.sizes[direction];
            // The second of a pair has the length of the first.
            prop_assert!(allowed(sizes, u64::from(bytes)), "{operation:?} of {sizes:?}");
        }
        match mix {
            Mix::Exact { write_percent } => {
                let mut writes = 0.0;
                for (number, operation) in all.iter().enumerate() {
                    writes += f64::from(u8::from(operation.direction == Direction::Write));
                    let expected = (number + 1) as f64 * write_percent / 100.0;
                    prop_assert!((writes - expected).abs() < 1.0 + 1e-6, "{writes} of {}", number + 1);
                }
            }
            Mix::TrimThenWrite => {
                for pair in all.chunks_exact(2) {
                    prop_assert_eq!((pair[0].direction, pair[1].direction), (Direction::Trim, Direction::Write));
                    prop_assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
                }
            }
            Mix::Only { .. } | Mix::Drawn { .. } | Mix::Traced { .. } => {}
        }
    }

    #[test]
    fn planning_operations_in_batches_does_not_change_them(
        mix in any_mix(), access in any_access_of_dialects(), sizes in prop_oneof![any_sizes(), Just(BlockSizes::default())],
        form in any_form(), max in 1usize..70,
    ) {
        let pattern = Pattern::simple(access, Bytes::kib(4)).with(|pattern| pattern.sizes = PerDirection::all(sizes));
        let start = || {
            let mut draws = form.start();
            let sequence = Sequence::new(mix, &pattern, 0, 1 << 20, 4, &Arc::default(), &mut draws).expect("it fits");
            (sequence, draws)
        };
        let (mut sequence, mut draws) = start();
        let one_by_one: Vec<Operation> = std::iter::from_fn(|| sequence.next(&mut draws, 0, None)).take(300).collect();
        let (mut sequence, mut draws) = start();
        let mut together = Vec::new();
        while together.len() < one_by_one.len() {
            let taken = sequence.take(&mut draws, 0, max);
            prop_assert!(!taken.is_empty() && taken.len() <= max);
            together.extend_from_slice(taken);
        }
        prop_assert_eq!(&together[..one_by_one.len()], &one_by_one[..]);
        if one_by_one.len() < 300 {
            prop_assert_eq!(together.len(), one_by_one.len());
            prop_assert!(sequence.take(&mut draws, 0, max).is_empty());
        }
    }
}

#[test]
fn drawn_mixes_and_splits_have_their_shares() {
    // Fixed seeds; five standard deviations of 100,000 draws.
    let check = |what: &str, hits: usize, of: usize, share: f64| {
        let deviation = (of as f64 * share * (1.0 - share)).sqrt();
        assert!(
            (hits as f64 - of as f64 * share).abs() <= 5.0 * deviation,
            "{what}: {hits} of {of}"
        );
    };
    let entry = |kib, percent| SizeShare::new(Bytes::kib(kib), percent);
    let placement = Placement::Uniform(Uniform::default());
    let pattern = Pattern {
        sizes: PerDirection::all(BlockSizes::Split {
            entries: vec![entry(4, 60.0), entry(16, 30.0), entry(64, 10.0)],
        }),
        ..Pattern::simple(Access::Random { placement }, Bytes::kib(4))
    };
    for rule in [MixRule::Independent, MixRule::AfterPosition] {
        for write_percent in [1.0, 30.0, 75.0] {
            let mix = Mix::Drawn { write_percent, rule };
            let form = GeneratorChoice::Native { seed: 17 };
            let all = operations(mix, &pattern, 0, 1 << 30, form, 100_000);
            let writes = all.iter().filter(|operation| operation.direction == Direction::Write);
            check("writes", writes.count(), all.len(), write_percent / 100.0);
            for (kib, share) in [(4, 0.6), (16, 0.3), (64, 0.1)] {
                let of_length = all.iter().filter(|operation| operation.length == kib << 10);
                check("lengths", of_length.count(), all.len(), share);
            }
        }
    }
}
