//! The sequences that were recorded from DiskSpd 2.2.0.

use std::path::PathBuf;

use model::access::{Access, Interlocked, RangeBasis};
use model::content::Content;
use model::plan::{Depth, Stream, TargetId, Worker};
use model::{Bytes, Direction};

use super::parts::{MODULO, job, mixed, one, plan, random, ranges, region, sequential, stream, worker};
use super::rules::{Buffer, Target as Rules, Thread, Walk};
use crate::drive::{Issued, execute, only_worker, whole};

struct Recording {
    arguments: String,
    /// Names and sizes of the targets.
    files: Vec<(String, u64)>,
    /// Operations of each thread: target, write or read, offset.
    threads: Vec<Vec<(usize, bool, u64)>>,
}

fn recording(case: &str) -> Recording {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/diskspd/offsets")
        .join(case);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let offsets = read("offsets.txt");
    let mut lines = offsets.lines();
    let (_, files) = lines.next().unwrap().split_once("files: ").unwrap();
    let files = files.split(", ").map(|file| {
        let (name, size) = file.split_once('=').unwrap();
        (name.to_owned(), size.parse().unwrap())
    });
    let mut threads = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let thread: usize = words[0].parse().unwrap();
        threads.resize(threads.len().max(thread + 1), Vec::new());
        threads[thread].push((words[1].parse().unwrap(), words[2] == "W", words[3].parse().unwrap()));
    }
    Recording {
        arguments: read("argv.txt").split_whitespace().collect::<Vec<_>>().join(" "),
        files: files.collect(),
        threads,
    }
}

fn shown(issued: &[Issued]) -> Vec<(usize, bool, u64)> {
    let each = issued.iter().map(|issued| {
        let operation = issued.operation;
        (issued.stream, operation.direction == Direction::Write, operation.offset)
    });
    each.collect()
}

/// `workers` is what the arguments mean.
fn check_recorded(case: &str, arguments: &str, workers: Vec<Worker>) {
    let recording = recording(case);
    assert_eq!(recording.arguments, arguments, "{case}");
    let names: Vec<&str> = recording.files.iter().map(|(name, _)| name.as_str()).collect();
    let sizes: Vec<u64> = recording.files.iter().map(|(_, size)| *size).collect();
    let plan = whole(plan(case, &names, vec![job(workers)]));
    let issued = execute(&plan, 0, 0, &sizes, 64);
    assert_eq!(issued.len(), recording.threads.len(), "{case}: threads");
    for (thread, (issued, recorded)) in issued.iter().zip(&recording.threads).enumerate() {
        assert_eq!(recorded.len(), 64, "{case}: the recording of thread {thread} is cut");
        assert_eq!(&shown(issued), recorded, "{case}: thread {thread}");
    }
}

#[test]
fn recorded_random_and_sequential_sequences_are_reproduced() {
    const K: u64 = 1024;
    let check = check_recorded;
    check(
        "01-random-read",
        "-d1 -W0 -b4k -r -o1 m1.dat",
        one(0, stream(0, random(), 4 * K, 0, 0)),
    );
    check(
        "02-random-write-mix-seed7",
        "-d1 -W0 -b4k -r -w30 -z7 -o1 m1.dat",
        one(7, stream(0, random(), 4 * K, 0, 30)),
    );
    check(
        "03-random-bounds-alignment",
        "-d1 -W0 -b4k -r1k -B100k:600k -o1 m1.dat",
        one(
            0,
            Stream {
                region: region(100 * K, 600 * K),
                ..stream(0, random(), 4 * K, K, 0)
            },
        ),
    );
    check(
        "04-random-block-above-alignment",
        "-d1 -W0 -b64k -r4k -o1 odd.dat",
        one(0, stream(0, random(), 64 * K, 4 * K, 0)),
    );
    check(
        "05-sequential-wrap-odd-size",
        "-d1 -W0 -b64k -s -o1 odd.dat",
        one(0, stream(0, sequential(0), 64 * K, 0, 0)),
    );
    check(
        "06-sequential-stride-wrap",
        "-d1 -W0 -b64k -s96k -o1 odd.dat",
        one(0, stream(0, sequential(0), 64 * K, 96 * K, 0)),
    );
    check(
        "07-sequential-small-stride",
        "-d1 -W0 -b64k -s48k -f500k -B10k -o1 odd.dat",
        one(
            0,
            Stream {
                region: region(10 * K, 490 * K),
                ..stream(0, sequential(0), 64 * K, 48 * K, 0)
            },
        ),
    );
    check(
        "08-thread-stride",
        "-d1 -W0 -b64k -s -T300k -t2 -o1 m1.dat",
        (0..2)
            .map(|thread| {
                let access = sequential(u64::from(thread) * 300 * K);
                worker(thread, Depth::PerStream, vec![stream(0, access, 64 * K, 0, 0)])
            })
            .collect(),
    );
    check(
        "09-interlocked-one-thread",
        "-d1 -W0 -b64k -si96k -o1 odd.dat",
        one(0, stream(0, Access::Interlocked(Interlocked {}), 64 * K, 96 * K, 0)),
    );
    check(
        "17-two-threads-seeds",
        "-d1 -W0 -b4k -r -w50 -t2 -o1 -z100 m1.dat",
        (0..2)
            .map(|thread| worker(100 + thread, Depth::PerStream, vec![stream(0, random(), 4 * K, 0, 50)]))
            .collect(),
    );
}

#[test]
fn recorded_mixtures_and_distributions_are_reproduced() {
    const M: u64 = 1 << 20;
    let percent = |shares: &[(u32, u64)]| ranges(RangeBasis::Percent, shares);
    let placed = |placement| Access::Random { placement };
    let check = check_recorded;
    check(
        "10-mixed-random-40",
        "-d1 -W0 -b4k -rs40 -w50 -o1 m1.dat",
        one(0, stream(0, mixed(40, MODULO), 4096, 0, 50)),
    );
    // What the shares leave over goes to the rest of the target.
    check(
        "11-distribution-percent",
        "-d1 -W0 -b4k -r -rdpct90/10:0/10:5/20 -o1 m1.dat",
        one(
            0,
            stream(0, placed(percent(&[(90, 10), (0, 10), (5, 20), (5, 60)])), 4096, 0, 0),
        ),
    );
    check(
        "12-distribution-percent-degenerate",
        "-d1 -W0 -b4k -r -rdpct10/1:10/1:80/98 -w50 -o1 k100.dat",
        one(
            0,
            stream(0, placed(percent(&[(10, 1), (10, 1), (80, 98)])), 4096, 0, 50),
        ),
    );
    // The third range begins at the end of the target and is dropped; all lengths are aligned, so
    // nothing is trimmed.
    let absolute = ranges(RangeBasis::Bytes, &[(60, M), (0, M), (20, 2 * M), (20, 32 * M)]);
    check(
        "13-distribution-absolute-trimmed",
        "-d1 -W0 -b4k -r -rdabs60/1M:0/1M:20/2M:20/32M -o1 m2.dat",
        one(0, stream(0, placed(absolute), 4096, 0, 0)),
    );
    check(
        "14-mixed-with-distribution",
        "-d1 -W0 -b4k -rs50 -rdpct80/20 -z3 -o1 m10.dat",
        one(3, stream(0, mixed(50, percent(&[(80, 20), (20, 80)])), 4096, 0, 0)),
    );
}

#[test]
fn recorded_queues_buffers_and_pools_are_reproduced() {
    let check = check_recorded;
    check(
        "15-async-random-queue4",
        "-d1 -W0 -b4k -r -w50 -o4 m1.dat",
        one(
            0,
            Stream {
                depth: 4,
                ..stream(0, random(), 4096, 0, 50)
            },
        ),
    );
    let source = Content::Source {
        size: Bytes::kib(64),
        file: None,
    };
    check(
        "16-write-source-buffer",
        "-d1 -W0 -b4k -r -w50 -Z64k -o1 m1.dat",
        one(
            0,
            Stream {
                content: source,
                ..stream(0, random(), 4096, 0, 50)
            },
        ),
    );
    check(
        "18-pool-equal-weights",
        "-d1 -W0 -b4k -r -F2 -O1 m1.dat m2.dat",
        (0..2)
            .map(|thread| {
                let streams = vec![stream(0, random(), 4096, 0, 0), stream(1, random(), 4096, 0, 0)];
                worker(thread, Depth::Shared { operations: 1 }, streams)
            })
            .collect(),
    );
    let weighted = vec![
        Stream {
            weight: 30,
            ..stream(0, random(), 4096, 4096, 0)
        },
        Stream {
            weight: 70,
            ..stream(1, sequential(0), 8192, 0, 40)
        },
    ];
    check(
        "19-pool-weighted",
        "-Xweights.xml",
        vec![worker(5, Depth::Shared { operations: 1 }, weighted)],
    );
    check(
        "21-random-write-data",
        "-d1 -W0 -b4k -r -w50 -Zr -o1 m1.dat",
        one(
            0,
            Stream {
                content: Content::Drawn,
                ..stream(0, random(), 4096, 0, 50)
            },
        ),
    );
}

/// DiskSpd 2.2 sends every request of a pool without a common queue to the thread's first target,
/// against its own documentation and its earlier versions. That recording tells the draws, though,
/// and the targets are 1 and 2 MiB: the same draw modulo 1 MiB is the same offset on both.
#[test]
fn requests_of_a_pool_use_their_own_targets() {
    let case = "20-pool-without-O-first-target-only";
    let recording = recording(case);
    assert_eq!(recording.arguments, "-d1 -W0 -b4k -r -F1 -o1 m1.dat m2.dat");
    let streams = vec![stream(0, random(), 4096, 0, 0), stream(1, random(), 4096, 0, 0)];
    let plan = whole(plan(
        case,
        &["m1.dat", "m2.dat"],
        vec![job(vec![worker(0, Depth::PerStream, streams)])],
    ));
    let issued = only_worker(&plan, &[1 << 20, 2 << 20], 64);
    for (number, (issued, (_, _, offset))) in issued.iter().zip(&recording.threads[0]).enumerate() {
        assert_eq!(issued.target, TargetId(number as u32 % 2), "operation {number}");
        assert_eq!(issued.operation.offset % (1 << 20), *offset, "operation {number}");
    }
    let beyond = issued
        .iter()
        .filter(|issued| issued.operation.offset >= 1 << 20)
        .count();
    assert!(
        beyond > 8,
        "the second half of the second target is used too: {beyond} of 32"
    );
}

/// The second writing-down of the rules is worth something only if it reproduces the recordings
/// too.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn the_plain_rules_reproduce_the_recordings() {
    let check = |case: &str, seeds: &[u32], common: Option<u32>, targets: &[Rules]| {
        let recording = recording(case);
        for (thread, recorded) in recording.threads.iter().enumerate() {
            let targets = targets.iter().zip(&recording.files).map(|(target, (_, size))| Rules {
                size: *size,
                start: target.start * thread as u64,
                ..target.clone()
            });
            let mut rules = Thread::new(seeds[thread], targets.collect(), common, false);
            let mut shared = vec![0; recording.files.len()];
            for (number, (target, write, offset)) in recorded.iter().enumerate() {
                let (expected_target, _, is_write, expected) = rules.next(&mut shared);
                assert_eq!(
                    (expected_target, is_write, expected),
                    (*target, *write, *offset),
                    "{case}: {number}"
                );
            }
        }
    };
    let random = Rules {
        random: 100,
        ..Rules::default()
    };
    let ranged = |absolute: bool, ranges: &[(u64, u64)]| Rules {
        ranges: ranges.to_vec(),
        absolute,
        ..random.clone()
    };
    check(
        "02-random-write-mix-seed7",
        &[7],
        None,
        &[Rules {
            write: 30,
            ..random.clone()
        }],
    );
    let bounded = Rules {
        base: 100 << 10,
        end: 700 << 10,
        alignment: 1024,
        ..random.clone()
    };
    check("03-random-bounds-alignment", &[0], None, &[bounded]);
    let stride = Rules {
        block: 64 << 10,
        alignment: 48 << 10,
        base: 10 << 10,
        end: 500 << 10,
        ..Rules::default()
    };
    check("07-sequential-small-stride", &[0], None, &[stride]);
    let threads = Rules {
        block: 64 << 10,
        start: 300 << 10,
        ..Rules::default()
    };
    check("08-thread-stride", &[0, 1], None, &[threads]);
    let interlocked = Rules {
        block: 64 << 10,
        alignment: 96 << 10,
        walk: Walk::Interlocked,
        ..Rules::default()
    };
    check("09-interlocked-one-thread", &[0], None, &[interlocked]);
    check(
        "10-mixed-random-40",
        &[0],
        None,
        &[Rules {
            random: 40,
            write: 50,
            ..Rules::default()
        }],
    );
    check(
        "11-distribution-percent",
        &[0],
        None,
        &[ranged(false, &[(90, 10), (0, 10), (5, 20), (5, 60)])],
    );
    let degenerate = Rules {
        write: 50,
        ..ranged(false, &[(10, 1), (10, 1), (80, 98)])
    };
    check("12-distribution-percent-degenerate", &[0], None, &[degenerate]);
    let absolute = ranged(true, &[(60, 1 << 20), (0, 1 << 20), (20, 2 << 20), (20, 32 << 20)]);
    check("13-distribution-absolute-trimmed", &[0], None, &[absolute]);
    let both = Rules {
        random: 50,
        ..ranged(false, &[(80, 20), (20, 80)])
    };
    check("14-mixed-with-distribution", &[3], None, &[both]);
    let source = Rules {
        write: 50,
        buffer: Buffer::Source,
        ..random.clone()
    };
    check("16-write-source-buffer", &[0], None, &[source]);
    check(
        "18-pool-equal-weights",
        &[0, 1],
        Some(1),
        &[random.clone(), random.clone()],
    );
    let weighted = [
        Rules {
            weight: 30,
            ..random.clone()
        },
        Rules {
            weight: 70,
            block: 8192,
            write: 40,
            ..Rules::default()
        },
    ];
    check("19-pool-weighted", &[5], Some(1), &weighted);
    check(
        "21-random-write-data",
        &[0],
        None,
        &[Rules {
            write: 50,
            buffer: Buffer::Random,
            ..random
        }],
    );
}
