//! The sequences recorded from DiskSpd 2.2.0, compared with the reference rules. The tests of its
//! dialect drive the plans of their command lines.

use std::path::PathBuf;

use super::rules::{Buffer, Target as Rules, Thread, Walk};
use crate::prelude::*;

struct Recording {
    /// Names and sizes of the targets.
    files: Vec<(String, u64)>,
    /// Operations of each thread: target, write or read, offset.
    threads: Vec<Vec<(usize, bool, u64)>>,
}

fn recording(case: &str) -> Recording {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/diskspd/offsets")
        .join(case);
    let offsets = std::fs::read_to_string(folder.join("offsets.txt")).unwrap();
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
        files: files.collect(),
        threads,
    }
}

/// The reference rules are useful only if they, too, reproduce the recordings.
#[test]
fn the_reference_rules_reproduce_the_recordings() {
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
                assert_eq!(expected_target, *target, "{case}: {number}");
                assert_eq!(is_write, *write, "{case}: {number}");
                assert_eq!(expected, *offset, "{case}: {number}");
            }
        }
    };
    let random = Rules::default().with(|rules| rules.random = 100);
    let ranged = |absolute: bool, ranges: &[(u64, u64)]| Rules {
        ranges: ranges.to_vec(),
        absolute,
        ..random.clone()
    };
    let writes = random.clone().with(|rules| rules.write = 30);
    check("02-random-write-mix-seed7", &[7], None, &[writes]);
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
    let threads = Rules::default().with(|rules| (rules.block, rules.start) = (64 << 10, 300 << 10));
    check("08-thread-stride", &[0, 1], None, &[threads]);
    let interlocked = Rules::default()
        .with(|rules| (rules.block, rules.alignment, rules.walk) = (64 << 10, 96 << 10, Walk::Interlocked));
    check("09-interlocked-one-thread", &[0], None, &[interlocked]);
    let mixed = Rules::default().with(|rules| (rules.random, rules.write) = (40, 50));
    check("10-mixed-random-40", &[0], None, &[mixed]);
    let percent = ranged(false, &[(90, 10), (0, 10), (5, 20), (5, 60)]);
    check("11-distribution-percent", &[0], None, &[percent]);
    let degenerate = ranged(false, &[(10, 1), (10, 1), (80, 98)]).with(|rules| rules.write = 50);
    check("12-distribution-percent-degenerate", &[0], None, &[degenerate]);
    let absolute = ranged(true, &[(60, 1 << 20), (0, 1 << 20), (20, 2 << 20), (20, 32 << 20)]);
    check("13-distribution-absolute-trimmed", &[0], None, &[absolute]);
    let both = ranged(false, &[(80, 20), (20, 80)]).with(|rules| rules.random = 50);
    check("14-mixed-with-distribution", &[3], None, &[both]);
    let source = random
        .clone()
        .with(|rules| (rules.write, rules.buffer) = (50, Buffer::Source));
    check("16-write-source-buffer", &[0], None, &[source]);
    let equal = [random.clone(), random.clone()];
    check("18-pool-equal-weights", &[0, 1], Some(1), &equal);
    let weighted = [
        random.clone().with(|rules| rules.weight = 30),
        Rules::default().with(|rules| (rules.weight, rules.block, rules.write) = (70, 8192, 40)),
    ];
    check("19-pool-weighted", &[5], Some(1), &weighted);
    let random_data = random.with(|rules| (rules.write, rules.buffer) = (50, Buffer::Random));
    check("21-random-write-data", &[0], None, &[random_data]);
}
