//! Combinations that were never recorded, compared with the reference rules.

use std::collections::BTreeSet;

use model::access::{Interlocked, Parallel};
use model::plan::{
    CacheMode, EngineChoice, EngineKind, MapFlush, Mapping, Memory, OpenHint, Prepare, PrepareWhen, Priority,
    PriorityClass, TargetKind, ThreadPlacement, WriteThrough,
};

use super::parts::{MODULO, job, mixed, one, plan, random, ranges, region, sequential, stream, worker, writes};
use super::rules::{Buffer, Io, Target as Rules, Thread, Walk};
use crate::drive::{build_pattern, execute, only_worker, whole};
use crate::prelude::*;

const M: u64 = 1 << 20;
const OPERATIONS: usize = 500;

/// Threads of the reference rules: seed, targets, requests in a common queue.
type Threads = Vec<(u32, Vec<Rules>, Option<u32>)>;

/// Compares a time span of a plan with the reference rules, thread by thread. `sizes` are those of
/// the plan's targets.
fn check_by_rules(plan: &Plan, step: usize, sizes: &[u64], threads: Threads) {
    let name = format!("{}, time span {step}", plan.name);
    let workers = &plan.steps[step].jobs[0].workers;
    assert_eq!(workers.len(), threads.len(), "{name}");
    let issued = execute(plan, step, 0, sizes, OPERATIONS);
    let routines = workers[0].batching.completion_routines;
    let mut rules: Vec<Thread> = threads
        .into_iter()
        .map(|(seed, targets, common)| Thread::new(seed, targets, common, routines))
        .collect();
    let mut shared = vec![0; 8];
    for number in 0..OPERATIONS {
        for (thread, rules) in rules.iter_mut().enumerate() {
            let issued = issued[thread][number];
            let is_write = issued.operation.direction == Direction::Write;
            let got: Io = (issued.stream, issued.slot, is_write, issued.operation.offset);
            let expected = rules.next(&mut shared);
            assert_eq!(got, expected, "{name}: thread {thread}, operation {number}");
        }
    }
}

/// `-X` profile: three threads choose among their own targets of three, each with its own weights.
#[test]
fn threads_of_a_pool_choose_among_their_own_targets() {
    let streams = [
        stream(0, random(), 4096, 512, 30),
        stream(1, sequential(0), 64 << 10, 0, 0),
        stream(2, mixed(40, MODULO), 8192, 0, 50).with(|stream| stream.region = region(M, 2 * M)),
    ];
    let rules = [
        Rules::default().with(|rules| (rules.random, rules.alignment, rules.write) = (100, 512, 30)),
        Rules::default().with(|rules| (rules.size, rules.block) = (3 * M + 512, 64 << 10)),
        Rules {
            size: 10 * M,
            base: M,
            end: 3 * M,
            random: 40,
            block: 8192,
            write: 50,
            ..Rules::default()
        },
    ];
    // A weight for the thread, or else the target's own (1, 5, 1).
    let given: [&[(usize, u32)]; 3] = [&[(0, 10), (2, 1)], &[(0, 1), (1, 5), (2, 1)], &[(1, 2)]];
    let mut workers = Vec::new();
    let mut threads = Threads::new();
    for (thread, given) in given.iter().enumerate() {
        let seed = 77 + thread as u32;
        let chosen = given.iter().map(|(number, weight)| Stream {
            weight: *weight,
            ..streams[*number].clone()
        });
        workers.push(worker(seed, DepthScope::Shared { operations: 4 }, chosen.collect()));
        let chosen = given.iter().map(|(number, weight)| Rules {
            weight: u64::from(*weight),
            ..rules[*number].clone()
        });
        threads.push((seed, chosen.collect(), Some(4)));
    }
    let files = ["m1.dat", "m2.dat", "m3.dat"];
    let plan = whole(plan("thread targets", &files, vec![job(workers)]));
    let sizes = [M, 3 * M + 512, 10 * M];
    check_by_rules(&plan, 0, &sizes, threads);
    let issued = execute(&plan, 0, 0, &sizes, 11_000);
    let first = issued[0].iter().filter(|issued| issued.target == TargetId(0)).count();
    // 10 of 11, and five standard deviations.
    assert!((9_850..=10_150).contains(&first), "{first} of 11000");
    assert!(issued[2].iter().all(|issued| issued.target == TargetId(1)));
}

/// Three time spans that share a path, recreate it with other sizes and contents, and have their
/// own seeds.
#[test]
fn each_time_span_has_its_own_targets_and_seeds() {
    let span = |workers| Job {
        phases: Phases::default().with(|phases| (phases.warm_up_ns, phases.cool_down_ns) = (Nanos(0), Nanos::secs(2))),
        ..job(workers)
    };
    let spread = ranges(RangeBasis::Percent, &[(70, 10), (0, 30), (30, 60)]);
    let ranged = stream(1, Access::random(spread), 8192, 4096, 40);
    let zeros = stream(2, random(), 512, 0, 100).with(|stream| stream.content = Content::Zeros);
    let spans = vec![
        span(one(1, stream(0, sequential(0), 64 << 10, 0, 0))),
        span((9..11).flat_map(|seed| one(seed, ranged.clone())).collect()),
        span(one(5, zeros)),
    ];
    let mut plan = plan("time spans", &["a.dat", "b.dat", "a.dat"], spans);
    let recreate = |size: u64, content: Content| Prepare::Recreate {
        size: Bytes(size),
        content,
    };
    plan.targets[0].prepare = recreate(5 * M, Content::Counting);
    plan.targets[2].prepare = recreate(M, Content::Zeros);
    let plan = whole(plan);
    let sizes = [5 * M, 7 * M + 123, M];
    let sequential = Rules::default().with(|rules| (rules.size, rules.block) = (sizes[0], 64 << 10));
    check_by_rules(&plan, 0, &sizes, vec![(1, vec![sequential], None)]);
    let spread = Rules {
        size: sizes[1],
        block: 8192,
        alignment: 4096,
        random: 100,
        write: 40,
        ranges: vec![(70, 10), (0, 30), (30, 60)],
        ..Rules::default()
    };
    let threads = vec![(9, vec![spread.clone()], None), (10, vec![spread], None)];
    check_by_rules(&plan, 1, &sizes, threads);
    let writes = Rules::default().with(|rules| (rules.block, rules.random, rules.write) = (512, 100, 100));
    check_by_rules(&plan, 2, &sizes, vec![(5, vec![writes], None)]);
}

/// `-rdpct` and `-rdabs` with holes and tails, bounds, alignments and mixtures.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn distributions_are_within_bounds() {
    let check = |name: &str, seed: u32, access: Access, stream_of: Stream, rules: Rules| {
        let stream = Stream {
            pattern: build_pattern(access, rules.block, rules.alignment),
            mix: writes(rules.write),
            ..stream_of
        };
        let plan = whole(plan(name, &["d.dat"], vec![job(one(seed, stream))]));
        check_by_rules(&plan, 0, &[rules.size], vec![(seed, vec![rules], None)]);
    };
    let whole_target = stream(0, random(), 4096, 0, 0);
    let percent = |shares: &[(u32, u64)]| Access::random(ranges(RangeBasis::Percent, shares));
    let bounded = whole_target.clone().with(|stream| stream.region = region(M, 6 * M));
    check(
        "-b16k -r8k -w25 -B1M:6M -z42 -rdpct90/10:0/10",
        42,
        percent(&[(90, 10), (0, 10), (10, 80)]),
        bounded,
        Rules {
            size: 64 * M,
            base: M,
            end: 7 * M,
            block: 16 << 10,
            alignment: 8 << 10,
            random: 100,
            write: 25,
            ranges: vec![(90, 10), (0, 10), (10, 80)],
            ..Rules::default()
        },
    );
    // Only a base: the area ends with the target, which ends inside the second range. The third is
    // dropped. (With blocks longer than the alignment, DiskSpd would issue the last of them beyond
    // the end; fathom leaves room.)
    let absolute: &[(u32, u64)] = &[(50, M), (10, 2 * M), (40, 0)];
    check(
        "-b4k -r4k -w50 -B512k -rdabs50/1M:10/2M",
        0,
        Access::random(ranges(RangeBasis::Bytes, absolute)),
        Stream {
            region: Region::new(Extent::bytes(512 << 10), None),
            ..whole_target.clone()
        },
        Rules {
            size: 2 * M,
            base: 512 << 10,
            alignment: 4 << 10,
            random: 100,
            write: 50,
            ranges: vec![(50, M), (10, 2 * M), (40, 0)],
            absolute: true,
            ..Rules::default()
        },
    );
    check(
        "-b4k -rs75 -r16k -w40 -z3 -rdpct50/10:30/30",
        3,
        mixed(75, ranges(RangeBasis::Percent, &[(50, 10), (30, 30), (20, 60)])),
        whole_target.clone(),
        Rules {
            size: 3 * M,
            alignment: 16 << 10,
            random: 75,
            write: 40,
            ranges: vec![(50, 10), (30, 30), (20, 60)],
            ..Rules::default()
        },
    );
    // Ranges of a few percent of thirty positions: boundaries are between positions, ranges are
    // joined, passed on and extended. (Where two in a row contain no position, DiskSpd loses the
    // share of the first; fathom keeps both.)
    let narrow: [&[(u32, u64)]; 4] = [
        &[(5, 4), (20, 3), (5, 2), (40, 9), (30, 82)],
        &[(50, 1), (50, 99)],
        &[(10, 3), (10, 3), (10, 4), (70, 90)],
        &[(25, 2), (0, 1), (25, 3), (0, 1), (50, 93)],
    ];
    for shares in narrow {
        check(
            &format!("-b4k -r -rdpct{shares:?} on 30 blocks"),
            8,
            percent(shares),
            whole_target.clone(),
            Rules {
                size: 30 * 4096,
                random: 100,
                ranges: shares.iter().map(|(io, span)| (u64::from(*io), *span)).collect(),
                ..Rules::default()
            },
        );
    }
}

/// `-T`, `-si` and `-p`: three ways to divide a sequential pass, each with its wrap-around, on
/// targets of odd size.
#[test]
fn sequential_walks_are_divided_among_threads_and_requests() {
    // After the first wrap-around every thread continues from the beginning, not from its own
    // start.
    let strided = |thread: u32| Rules {
        size: 3 * M + 700,
        block: 128 << 10,
        alignment: 96 << 10,
        start: u64::from(thread) * (256 << 10),
        write: 10,
        ..Rules::default()
    };
    let workers = (0..4).flat_map(|thread| {
        let rules = strided(thread);
        one(
            thread,
            stream(0, sequential(rules.start), rules.block, rules.alignment, 10),
        )
    });
    let plan_t = whole(plan("-s96k -T256k -t4", &["odd.dat"], vec![job(workers.collect())]));
    let threads = (0..4).map(|thread| (thread, vec![strided(thread)], None));
    check_by_rules(&plan_t, 0, &[3 * M + 700], threads.collect());

    let shared = Rules {
        size: M + 5,
        block: 32 << 10,
        walk: Walk::Interlocked,
        write: 50,
        ..Rules::default()
    };
    let interlocked = stream(0, Access::Interlocked(Interlocked {}), 32 << 10, 0, 50);
    let workers = (0..3).flat_map(|thread| one(thread, interlocked.clone()));
    let plan_si = whole(plan("-si -t3", &["m.dat"], vec![job(workers.collect())]));
    let threads = (0..3).map(|thread| (thread, vec![shared.clone()], None));
    check_by_rules(&plan_si, 0, &[M + 5], threads.collect());
    // Three threads together cover 32 blocks in 33 operations.
    let issued = execute(&plan_si, 0, 0, &[M + 5], 11).concat();
    let first_round: BTreeSet<u64> = issued.iter().map(|issued| issued.operation.offset).collect();
    assert_eq!(first_round.len(), 32);

    let parallel = stream(0, Access::Parallel(Parallel::default()), 8192, 12_288, 0)
        .with(|stream| (stream.depth, stream.region) = (4, region(4096, M)));
    let rules = Rules {
        size: 4 * M,
        base: 4096,
        end: M + 4096,
        block: 8192,
        alignment: 12_288,
        walk: Walk::Parallel,
        requests: 4,
        ..Rules::default()
    };
    let plan_p = whole(plan("-p -o4", &["m.dat"], vec![job(one(0, parallel))]));
    check_by_rules(&plan_p, 0, &[4 * M], vec![(0, vec![rules], None)]);
}

/// Two targets with three requests and one request in a pool without a common queue, with every
/// kind of draw in between.
#[test]
fn one_generator_serves_all_streams_of_a_thread() {
    let source = Content::Source {
        size: Bytes(M),
        file: Some("entropy.bin".into()),
    };
    let streams = vec![
        stream(0, mixed(30, MODULO), 4096, 512, 35).with(|stream| (stream.depth, stream.content) = (3, Content::Drawn)),
        stream(1, random(), 8192, 0, 60).with(|stream| (stream.content, stream.cache) = (source, CacheMode::DIRECT)),
    ];
    let workers = vec![worker(12345, DepthScope::PerStream, streams)];
    let plan = whole(plan("-F1 -Zr", &["a.dat", "b.dat"], vec![job(workers)]));
    let rules = vec![
        Rules {
            alignment: 512,
            random: 30,
            write: 35,
            buffer: Buffer::Random,
            requests: 3,
            ..Rules::default()
        },
        Rules {
            size: 2 * M,
            block: 8192,
            random: 100,
            write: 60,
            buffer: Buffer::Source,
            ..Rules::default()
        },
    ];
    check_by_rules(&plan, 0, &[M, 2 * M], vec![(12345, rules, None)]);
}

/// `-x`: the first operation of each request goes to the first target without a draw.
#[test]
fn completion_routines_start_at_the_first_target() {
    let streams = vec![stream(0, random(), 4096, 0, 0), stream(1, random(), 4096, 0, 50)];
    let mut with_routines = worker(0, DepthScope::Shared { operations: 8 }, streams);
    with_routines.batching.completion_routines = true;
    let plan = whole(plan("-x -F1 -O8", &["a.dat", "b.dat"], vec![job(vec![with_routines])]));
    let random = Rules::default().with(|rules| rules.random = 100);
    let rules = vec![
        random.clone(),
        Rules {
            size: 2 * M,
            write: 50,
            ..random
        },
    ];
    check_by_rules(&plan, 0, &[M, 2 * M], vec![(0, rules, Some(8))]);
    let issued = only_worker(&plan, &[M, 2 * M], 100);
    assert!(issued[..8].iter().all(|issued| issued.stream == 0));
    assert!(issued[8..].iter().any(|issued| issued.stream == 1));
}

/// `-g` in both units, per thread and target. An operation is issued only when its own bytes are
/// covered too, so the first one waits, and the k-th is issued at k × block / rate.
#[test]
fn throttles_delay_by_bytes_and_by_operations() {
    let check = |name: &str, rate: Rate, block: u64, due_ns: fn(u64) -> u64| {
        let throttled = stream(0, random(), block, 0, 50)
            .with(|stream| (stream.pacing, stream.depth) = (Pacing::Together { rate }, 8));
        let plan = whole(plan(name, &["t.dat"], vec![job(one(0, throttled))]));
        for (number, issued) in only_worker(&plan, &[M], 1000).iter().enumerate() {
            assert_eq!(issued.due.0, due_ns(number as u64 + 1), "{name}: operation {number}");
        }
    };
    let bytes_per_ms = |bytes: u64, block: u64| Rate {
        per_ns: Nanos::millis(1),
        phase_ns: Nanos(block * 1_000_000 / bytes),
        ..Rate::bytes(bytes)
    };
    check("-g80 -b4k", bytes_per_ms(80, 4096), 4096, |k| k * 4096 * 1_000_000 / 80);
    check("-g65536 -b64k", bytes_per_ms(65_536, 65_536), 65_536, |k| k * 1_000_000);
    let operations = Rate::iops(3).with(|rate| rate.phase_ns = Nanos(1_000_000_000 / 3));
    // DiskSpd's own arithmetic rounds this to 0 bytes per millisecond, which means no throttle.
    check("-g3i -b512", operations, 512, |k| {
        (k - 1) * 1_000_000_000 / 3 + 333_333_333
    });
}

/// `-i` is a total for the target, divided among its threads; other requests stay in flight during
/// the pause.
#[test]
fn bursts_are_divided_among_threads() {
    let (burst, pause_ns) = (100u32, Nanos::millis(20));
    for threads in [1u32, 3, 7, 200] {
        let operations = (burst / threads).max(1);
        let think = Think::new(pause_ns, operations, ThinkCount::Issued);
        let bursts = stream(0, random(), 4096, 0, 0).with(|stream| (stream.think, stream.depth) = (Some(think), 2));
        let workers = (0..threads).flat_map(|thread| one(thread, bursts.clone()));
        let plan = whole(plan("-i100 -j20", &["b.dat"], vec![job(workers.collect())]));
        for issued in execute(&plan, 0, 0, &[M], 250) {
            for (number, issued) in issued.iter().enumerate() {
                let pauses = number as u64 / u64::from(operations);
                let due = pauses * pause_ns.0;
                assert_eq!(issued.due.0, due, "{threads} threads, operation {number}");
            }
        }
    }
}

/// Everything that does not change positions: affinity over groups, caches, maps, flushes, hints,
/// priorities, pages, interval series, creation of files at their largest size.
#[test]
fn other_settings_do_not_disturb_the_pattern() {
    use MapFlush::{Lines, LinesWithoutDrain, View};
    // -ag0,1,3,g1,0,2: threads take the entries round-robin; a group holds 64 processors.
    let processors = [(0u32, 1u32), (0, 3), (1, 0), (1, 2)];
    let flushes = [View, Lines, LinesWithoutDrain, MapFlush::None];
    let priorities = [(PriorityClass::Idle, 7), (PriorityClass::BestEffort, 7)];
    let workers = (0..5u32).map(|thread| {
        let flush = flushes[thread as usize % 4];
        let mapped = CacheMode {
            mapping: Some(Mapping {
                flush,
                non_temporal: thread == 1,
            }),
            ..CacheMode::BUFFERED
        };
        let written_through = CacheMode {
            write_through: WriteThrough::DataAndMetadata,
            local_only: thread == 3,
            ..CacheMode::DIRECT
        };
        let priority = priorities.get(thread as usize).map(|(class, level)| Priority {
            class: *class,
            level: *level,
            percent: 100,
            hint: 0,
        });
        let streams = vec![
            Stream {
                cache: mapped,
                hint: OpenHint::default().with(|open_hint| (open_hint.random, open_hint.temporary) = (true, true)),
                ..stream(0, random(), 4096, 0, 50)
            },
            stream(1, sequential(0), 4096, 0, 50)
                .with(|stream| (stream.cache, stream.priority) = (written_through, priority)),
        ];
        let (group, processor) = processors[thread as usize % processors.len()];
        Worker {
            engine: EngineChoice::new(EngineKind::Auto),
            placement: ThreadPlacement::default()
                .with(|thread_placement| thread_placement.cpus = vec![group * 64 + processor]),
            memory: Memory::default().with(|memory| memory.huge_pages = true),
            ..worker(thread, DepthScope::PerStream, streams)
        }
    });
    let mut plan = plan("settings", &["a.dat", "b.dat"], vec![job(workers.collect())]);
    plan.prepare = PrepareWhen::BeforeAll;
    // UseMaxSize: one file, as large as its largest mention.
    plan.targets[0].prepare = Prepare::Recreate {
        size: Bytes(8 * M),
        content: Content::Counting,
    };
    plan.grids = vec![Grid::new(Nanos::millis(250), GridScope::Stream)];
    plan.steps[0].prepare = Some(PrepareWhen::EachStep);
    let plan = whole(plan);
    let sizes = [8 * M, M];
    let rules = vec![
        Rules::default().with(|rules| (rules.size, rules.random, rules.write) = (8 * M, 100, 50)),
        Rules::default().with(|rules| rules.write = 50),
    ];
    let threads = (0..5).map(|thread| (thread, rules.clone(), None));
    check_by_rules(&plan, 0, &sizes, threads.collect());
}

/// A profile with open slots can be saved and shown, but not run.
#[test]
fn a_template_is_not_a_complete_plan() {
    let mut plan = plan("template", &["*1"], vec![job(one(0, stream(0, random(), 4096, 0, 0)))]);
    plan.targets[0].kind = TargetKind::Template { number: 1 };
    let error = plan.check().unwrap_err().to_string();
    assert!(error.contains("*1") && error.contains("no path; set one"), "{error}");
    let saved = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&saved).unwrap(), plan);
}
