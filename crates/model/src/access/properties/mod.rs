//! Tests the guarantees of every pattern with random parameters. A pattern stays within its area,
//! keeps its alignment, covers what it claims to cover and has the configured shares. A new variant
//! needs one line in [`every_pattern`].

mod shares;

use proptest::prelude::*;

use super::*;
use crate::draws::{GeneratorChoice, Purpose, Reduction};
use crate::units::Bytes;

/// A thousand blocks of 4 KiB.
const THOUSAND: Area = Area {
    base: 1 << 20,
    length: 1000 * 4096,
    block: 4096,
    alignment: 4096,
};
/// An area of 1 TiB.
const LARGE: Area = Area {
    length: 1 << 40,
    ..THOUSAND
};

/// A value of every variant, with the name that a failure shows.
fn every_pattern() -> Vec<(&'static str, Access)> {
    let mut patterns = vec![
        ("sequential", Access::Sequential(Sequential::default())),
        (
            "sequential by length, one pass",
            Access::Sequential(Sequential {
                advance: Advance::Length { skip: 0 },
                at_end: AtEnd::Finish,
                positions: PositionSharing::PerDirection,
                ..Sequential::default()
            }),
        ),
        ("interlocked", Access::Interlocked(Interlocked {})),
        ("parallel", Access::Parallel(Parallel::default())),
    ];
    for (name, placement) in every_placement() {
        patterns.push((name, Access::Random { placement }));
    }
    for (name, continuation) in [
        ("mixed by stride", Continuation::Stride),
        ("mixed by length", Continuation::Length),
        ("mixed by aligned length", Continuation::Aligned),
        ("mixed by shared length", Continuation::Shared),
    ] {
        let random_percent = PerDirection::new(30, 70, 50);
        let mixed = Mixed::new(Placement::default(), random_percent, continuation);
        patterns.push((name, Access::Mixed(mixed)));
    }
    for (name, between) in [
        ("every fifth, continuing", Between::Continue),
        ("every fifth, repeating", Between::Repeat),
    ] {
        patterns.push((name, every(5, between)));
    }
    for (name, within) in [
        ("zones in order", None),
        ("zones at random", Some(Placement::default())),
        ("zones, each block once", Some(Placement::Once(Once::default()))),
    ] {
        patterns.push((
            name,
            Access::Zones(Zones {
                work: Bytes::kib(96),
                range: Bytes::kib(128),
                skip: Bytes::kib(64),
                within,
                positions: PositionSharing::Shared,
            }),
        ));
    }
    patterns
}

fn every(operations: u32, between: Between) -> Access {
    Access::Every(Every {
        placement: Placement::default(),
        operations,
        between,
    })
}

fn every_placement() -> Vec<(&'static str, Placement)> {
    let map = |reduction| {
        Placement::Once(Once {
            method: OnceMethod::map(reduction),
        })
    };
    let reduced = |reduction| Placement::Uniform(Uniform { reduction });
    vec![
        ("uniform", reduced(Reduction::Lemire)),
        ("uniform by remainder", reduced(Reduction::Modulo)),
        ("uniform by product of halves", reduced(Reduction::MultiplyHigh32)),
        ("uniform by product", reduced(Reduction::MultiplyHigh64)),
        ("once by bijection", Placement::Once(Once::default())),
        ("once by map", map(Reduction::MultiplyHigh32)),
        (
            "percent ranges",
            percent_ranges(RangesRule::Native, &[(10.0, 20.0), (0.0, 30.0), (90.0, 50.0)]),
        ),
        (
            "DiskSpd percent ranges",
            percent_ranges(RangesRule::Diskspd, &[(10.0, 20.0), (0.0, 30.0), (90.0, 50.0)]),
        ),
        (
            "byte ranges",
            ranges(RangeBasis::Bytes, RangesRule::Native, &[(25.0, 65_536.0), (75.0, 0.0)]),
        ),
        ("zipf", zipf(1.2, None)),
        ("zipf round a centre", zipf(0.8, Some(0.75))),
        ("pareto", Placement::Pareto(Pareto { h: 0.2, center: None })),
        (
            "normal",
            Placement::Normal(Normal {
                deviation_percent: 20.0,
                center: 0.5,
            }),
        ),
        (
            "list",
            Placement::List(BlockList {
                blocks: vec![7, 0, 3],
                moving: true,
            }),
        ),
    ]
}

fn zipf(theta: f64, center: Option<f64>) -> Placement {
    Placement::Zipf(Zipf { theta, center })
}

fn percent_ranges(rule: RangesRule, shares: &[(f64, f64)]) -> Placement {
    ranges(RangeBasis::Percent, rule, shares)
}

fn ranges(basis: RangeBasis, rule: RangesRule, shares: &[(f64, f64)]) -> Placement {
    let shares = shares
        .iter()
        .map(|(operations_percent, span)| RangeShare::new(*operations_percent, *span));
    Placement::Ranges(Ranges::new(basis, rule, PerDirection::all(shares.collect())))
}

/// True if a position is the end of the previous operation, so that it is aligned only if lengths
/// are multiples of the alignment.
fn follows_lengths(access: &Access) -> bool {
    match access {
        Access::Sequential(sequential) => sequential.advance != Advance::Stride,
        Access::Mixed(mixed) => mixed.continuation != Continuation::Stride,
        Access::Every(every) => every.between == Between::Continue,
        Access::Zones(zones) => zones.within.is_none(),
        Access::Interlocked(_) | Access::Parallel(_) | Access::Random { .. } | Access::WritePointers(_) => false,
    }
}

/// A cursor with its generators, which returns one position after another.
struct Walk {
    cursor: Cursor,
    draws: Draws,
}

impl Walk {
    fn new(access: &Access, areas: PerDirection<Area>, form: GeneratorChoice) -> Walk {
        let mut draws = form.start();
        let cursor = access.cursor(areas, 4, &Arc::default(), &mut draws);
        let cursor = cursor.unwrap_or_else(|error| panic!("{access:?}: {error}"));
        Walk { cursor, draws }
    }

    /// The next position in the current pass, for an operation of one block.
    fn next(&mut self, direction: Direction, slot: u32, length: u64) -> Option<(Position, u64)> {
        let position = self.cursor.next(&mut self.draws, PositionRequest { direction, slot })?;
        let length = self.cursor.claim(position, direction, length as u32);
        Some((position, u64::from(length)))
    }

    /// Makes this many reads of one block each, in as many passes as necessary.
    fn reads(mut self, area: Area, count: usize) -> Vec<Position> {
        let mut positions = Vec::with_capacity(count);
        while positions.len() < count {
            match self.next(Direction::Read, 0, area.block) {
                Some((position, _)) => positions.push(position),
                None => self.cursor.restart(&mut self.draws),
            }
        }
        positions
    }
}

fn reads(access: &Access, area: Area, seed: u64, count: usize) -> Vec<Position> {
    walk(access, area, seed).reads(area, count)
}

/// A walk of all directions in the same area.
fn walk(access: &Access, area: Area, seed: u64) -> Walk {
    Walk::new(access, PerDirection::all(area), GeneratorChoice::Native { seed })
}

fn any_form() -> impl Strategy<Value = GeneratorChoice> {
    prop_oneof![
        any::<u64>().prop_map(|seed| GeneratorChoice::Native { seed }),
        any::<u32>().prop_map(|seed| GeneratorChoice::DiskSpd { seed }),
        (any::<u64>(), 1u32..100).prop_map(|(seed, number)| GeneratorChoice::fio(seed, number)),
    ]
}

/// Areas from one block to a few hundred positions, whose ends are rarely multiples of a block.
fn any_area() -> impl Strategy<Value = Area> {
    (0u64..1 << 30, 1u64..33, 1u64..33, 0u64..400, 0u64..20_000).prop_map(|(base, block, step, positions, rest)| {
        let (block, alignment) = (block * 512, step * 512);
        Area {
            base,
            length: block + positions * alignment + rest % alignment,
            block,
            alignment,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pattern_is_aligned_and_within_its_area(
        area in any_area(), blocks in 1u64..4, form in any_form(), directions in any::<u64>(),
    ) {
        for (name, access) in every_pattern() {
            // Positions in a zone are measured from its start; zones here begin at multiples of a
            // power of two.
            let area = match access {
                Access::Zones(_) => Area { alignment: area.alignment.next_power_of_two(), ..area },
                _ => area,
            };
            let area = match follows_lengths(&access) {
                true => Area { block: area.alignment * blocks, length: area.length + area.alignment * blocks, ..area },
                false => area,
            };
            // A zone holds at least one block.
            if matches!(access, Access::Zones(_)) && area.block > 128 << 10 {
                continue;
            }
            let mut walk = Walk::new(&access, PerDirection::all(area), form);
            for number in 0..300u32 {
                let direction = Direction::ALL[((directions >> (number % 60)) % 3) as usize];
                let Some((position, length)) = walk.next(direction, number % 4, area.block) else {
                    walk.cursor.restart(&mut walk.draws);
                    continue;
                };
                let relative = position.offset.checked_sub(area.base);
                let relative = relative.unwrap_or_else(|| panic!("{name}: {position:?} is before {area:?}"));
                prop_assert!(relative + area.block <= area.length, "{name}: {position:?} leaves {area:?}");
                prop_assert!(relative.is_multiple_of(area.alignment), "{name}: {position:?} is not aligned in {area:?}");
                prop_assert!(length > 0 && length <= area.block, "{name}: {length} bytes");
            }
        }
    }

    #[test]
    fn directions_with_different_blocks_stay_within_the_area(
        area in any_area(), blocks in (1u64..17, 1u64..17), form in any_form(), directions in any::<u64>(),
    ) {
        let area_of_blocks = |blocks: u64| Area { block: blocks * 512, alignment: blocks * 512, length: area.length + 16 * 512, ..area };
        let areas = PerDirection { read: area_of_blocks(blocks.0), write: area_of_blocks(blocks.1), trim: area_of_blocks(blocks.0) };
        for (name, access) in every_pattern() {
            if Area::common(&areas).check(0).is_err() || matches!(access, Access::Zones(_)) {
                continue;
            }
            let mut walk = Walk::new(&access, areas, form);
            for number in 0..200u32 {
                let direction = Direction::ALL[((directions >> (number % 60)) % 3) as usize];
                let area = areas[direction];
                let Some((position, _)) = walk.next(direction, number % 4, area.block) else {
                    walk.cursor.restart(&mut walk.draws);
                    continue;
                };
                let end = position.offset - area.base + area.block;
                prop_assert!(position.offset >= area.base && end <= area.length, "{name}: {position:?} leaves {areas:?}");
                // A run continues where an operation in another direction began or ended.
                if !matches!(access, Access::Every(_)) && !follows_lengths(&access) {
                    prop_assert!((position.offset - area.base).is_multiple_of(area.alignment), "{name}: {position:?}");
                }
            }
        }
    }

    #[test]
    fn a_pass_without_repetition_visits_every_position_once(area in any_area(), form in any_form()) {
        // If blocks are longer than their distance, a map of used blocks truncates them; a
        // bijection repeats no position.
        let area_of_blocks = Area { block: area.alignment, length: area.length.max(area.alignment), ..area };
        for (name, placement) in every_placement() {
            let area = match &placement {
                Placement::Once(Once { method: OnceMethod::Bijection }) => area,
                Placement::Once(_) => area_of_blocks,
                _ => continue,
            };
            let mut walk = Walk::new(&Access::Random { placement }, PerDirection::all(area), form);
            let mut orders = Vec::new();
            for _ in 0..3 {
                let mut order = Vec::new();
                while let Some((position, _)) = walk.next(Direction::Read, 0, area.block) {
                    order.push(position.offset);
                }
                let mut sorted = order.clone();
                sorted.sort_unstable();
                let all: Vec<u64> = (0..area.positions()).map(|position| area.offset(position)).collect();
                prop_assert_eq!(sorted, all, "{}", name);
                orders.push(order);
                walk.cursor.restart(&mut walk.draws);
            }
            if area.positions() > 50 {
                prop_assert!(orders[0] != orders[1] && orders[1] != orders[2], "{name}: two passes alike");
            }
        }
    }

    #[test]
    fn varying_lengths_tile_the_area(
        units in 1u64..500, lengths in prop::collection::vec(1u64..9, 1..40), form in any_form(),
    ) {
        let area = Area { base: 1 << 20, length: units * 512, block: 512, alignment: 512 };
        let method = OnceMethod::map(Reduction::MultiplyHigh32);
        let access = Access::random(Placement::Once(Once { method }));
        let mut walk = Walk::new(&access, PerDirection::all(area), form);
        let mut used = vec![false; units as usize];
        let mut lengths = lengths.into_iter().cycle();
        while let Some(position) = walk.cursor.next(&mut walk.draws, PositionRequest { direction: Direction::Write, slot: 0 }) {
            let first = (position.offset - area.base) / 512;
            let wanted = lengths.next().expect("the walk must wrap around").min(units - first);
            let length = walk.cursor.claim(position, Direction::Write, (wanted * 512) as u32) / 512;
            for block in first..first + u64::from(length) {
                prop_assert!(!std::mem::replace(&mut used[block as usize], true), "block {block} twice");
            }
        }
        prop_assert!(used.iter().all(|used| *used), "a block was not visited");
    }

    #[test]
    fn ordered_passes_visit_every_position_once_per_round(area in any_area(), rounds in 1usize..4) {
        let count = area.positions() as usize;
        let expected: Vec<u64> = (0..area.positions()).map(|position| area.offset(position)).collect();
        for access in [
            Access::Sequential(Sequential::default()),
            Access::Sequential(Sequential { at_end: AtEnd::Finish, ..Sequential::default() }),
            Access::Interlocked(Interlocked {}),
            Access::Parallel(Parallel::default()),
        ] {
            let positions = reads(&access, area, 1, count * rounds);
            for round in positions.chunks(count) {
                prop_assert_eq!(round.iter().map(|position| position.offset).collect::<Vec<_>>(), expected.clone());
            }
        }
    }

    #[test]
    fn zones_visit_one_window_after_another(
        work in 1u64..40, range in 1u64..40, skip in 0u64..40, windows in 1u64..6, random in any::<bool>(),
    ) {
        let unit = 4096;
        let (stride, block) = (range + skip, unit);
        let area = Area { base: 0, length: (stride * windows) * unit, block, alignment: unit };
        let within = random.then(Placement::default);
        let access = Access::Zones(Zones {
            work: Bytes(work * unit),
            range: Bytes(range * unit),
            skip: Bytes(skip * unit),
            within,
            positions: PositionSharing::Shared,
        });
        for (number, position) in reads(&access, area, 5, (work * windows * 2) as usize).iter().enumerate() {
            let window = number as u64 / work % windows;
            let relative = position.offset / unit - window * stride;
            prop_assert!(relative < range, "operation {number} is not in window {window}");
            if !random {
                prop_assert_eq!(relative, number as u64 % work % range);
            }
        }
    }
}

#[test]
fn directions_share_the_block_numbers_of_a_map() {
    let (small, large) = (Area::of_blocks(0, 16 * 4096, 4096), Area::of_blocks(0, 16 * 4096, 8192));
    let method = OnceMethod::map(Reduction::MultiplyHigh32);
    let access = Access::random(Placement::Once(Once { method }));
    let areas = PerDirection::new(small, large, large);
    let mut walk = Walk::new(&access, areas, GeneratorChoice::Native { seed: 3 });
    let mut used = [false; 16];
    let turns = [(Direction::Read, small), (Direction::Write, large)]
        .into_iter()
        .cycle();
    let mut last = Direction::Read;
    for (direction, area) in turns {
        last = direction;
        let Some((position, length)) = walk.next(direction, 0, area.block) else {
            break;
        };
        assert_eq!(length, area.block, "no operation is truncated");
        let number = (position.offset / area.block) as usize;
        assert!(!std::mem::replace(&mut used[number], true), "number {number} twice");
    }
    // A write found none of the eight numbers of large blocks free, although some beyond them are.
    assert_eq!(last, Direction::Write);
    assert!(used.iter().any(|used| !*used), "{used:?}");
    assert_eq!(
        walk.next(Direction::Read, 0, small.block),
        None,
        "the pass must stay finished"
    );
    walk.cursor.restart(&mut walk.draws);
    assert!(walk.next(Direction::Write, 0, large.block).is_some());
}

#[test]
fn only_every_nth_operation_is_random() {
    for operations in [1u32, 2, 7] {
        for between in [Between::Continue, Between::Repeat] {
            let access = every(operations, between);
            let positions = reads(&access, LARGE, 11, 7000);
            for (number, position) in positions.iter().enumerate() {
                let random = (number as u32).is_multiple_of(operations);
                assert_eq!(position.continues, !random, "operation {number} of every {operations}");
                let step = if between == Between::Continue { 4096 } else { 0 };
                if !random {
                    assert_eq!(position.offset, positions[number - 1].offset + step);
                }
            }
        }
    }
}

#[test]
fn a_list_is_visited_in_order_and_moves_if_configured() {
    let list = |moving| {
        Access::random(Placement::List(BlockList {
            blocks: vec![9, 1, 4],
            moving,
        }))
    };
    let blocks = |moving| {
        let positions = reads(&list(moving), THOUSAND, 1, 9);
        let blocks = positions
            .iter()
            .map(|position| (position.offset - THOUSAND.base) / 4096);
        blocks.collect::<Vec<_>>()
    };
    assert_eq!(blocks(false), [9, 1, 4, 9, 1, 4, 9, 1, 4]);
    assert_eq!(blocks(true), [9, 1, 4, 12, 4, 7, 15, 7, 10]);
}

#[test]
fn the_seed_determines_the_places() {
    for (name, access) in every_pattern() {
        let reads_with = |seed| reads(&access, THOUSAND, seed, 500);
        assert_eq!(reads_with(1), reads_with(1), "{name}");
        let drawn = match &access {
            Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => false,
            Access::Random {
                placement: Placement::List(_),
            } => false,
            Access::Zones(zones) => zones.within.is_some(),
            Access::WritePointers(zones) => zones.within.is_some(),
            Access::Random { .. } | Access::Mixed(_) | Access::Every(_) => true,
        };
        assert_eq!(reads_with(1) != reads_with(2), drawn, "{name}");
    }
}

#[test]
fn only_patterns_that_end_reach_an_end() {
    for (name, access) in every_pattern() {
        let mut walk = walk(&access, THOUSAND, 1);
        // Ten times the number of positions is more than enough to find the end.
        let ended = (0..10_000).any(|_| walk.next(Direction::Read, 0, 4096).is_none());
        assert_eq!(ended, access.is_finite(), "{name}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let bad = [
        Access::random(zipf(0.0, None)),
        Access::random(zipf(-1.0, None)),
        Access::random(zipf(f64::NAN, None)),
        Access::random(zipf(1.0, Some(1.5))),
        Access::random(Placement::Pareto(Pareto { h: 0.0, center: None })),
        Access::random(Placement::Pareto(Pareto { h: 1.0, center: None })),
        Access::random(Placement::Normal(Normal {
            deviation_percent: 101.0,
            center: 0.5,
        })),
        Access::random(Placement::List(BlockList {
            blocks: Vec::new(),
            moving: false,
        })),
        Access::random(percent_ranges(RangesRule::Native, &[(0.0, 100.0)])),
        Access::Mixed(Mixed::new(
            Placement::default(),
            PerDirection::all(101),
            Continuation::Stride,
        )),
        every(0, Between::Continue),
        Access::Zones(Zones {
            work: Bytes(0),
            range: Bytes::kib(64),
            skip: Bytes(0),
            within: None,
            positions: PositionSharing::Shared,
        }),
    ];
    let refused = |access: &Access, area| {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        access.cursor(PerDirection::all(area), 1, &Arc::default(), &mut draws)
    };
    for access in &bad {
        assert!(refused(access, THOUSAND).is_err(), "{access:?}");
    }
    // Every pattern refuses an area without room for one block, and a block of 0 bytes.
    for (name, access) in every_pattern() {
        let short = Area {
            length: 4095,
            ..THOUSAND
        };
        let error = refused(&access, short).expect_err(name);
        assert!(matches!(error, AccessError::TooSmall { .. }), "{name}: {error}");
        let nothing = Area { block: 0, ..THOUSAND };
        assert!(refused(&access, nothing).is_err(), "{name}");
    }
}

#[test]
fn purposes_do_not_affect_each_other() {
    // In native draws, a draw for the mix between two positions does not change the positions.
    let access = Access::default();
    let offsets = reads(&access, THOUSAND, 5, 100);
    let mut walk = walk(&access, THOUSAND, 5);
    for expected in offsets {
        walk.draws.next_u64(Purpose::Mix);
        assert_eq!(
            walk.next(Direction::Read, 0, 4096).map(|(position, _)| position),
            Some(expected)
        );
    }
}
