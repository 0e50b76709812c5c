//! The guarantees of every engine, on every kind of target.

use std::fs;
use std::time::{Duration, Instant};

use engine::{Access, Action, File, RangeFlush, Slot, sys};
use model::Nanos;
use model::plan::{EngineKind, FileRangeFlags};
#[cfg(target_os = "linux")]
use testbed::{LoopDevice, LoopOptions, TmpFs};
use testbed::{With, need};

use crate::driver::{BLOCK, Job, Rig, emulated, engines, pattern, patterned, reads, real_engines, setup, shuffled};
use crate::test_targets::{Target, TargetKind, open};

const DEPTHS: [u32; 6] = [1, 2, 3, 8, 32, 128];
const BLOCKS: u64 = 300;
const SIZE: u64 = BLOCKS * BLOCK as u64;

const NOT_SUPPORTED: i64 = -(sys::file::NOT_SUPPORTED as i64);
const RANGE: FileRangeFlags = FileRangeFlags {
    wait_before: true,
    write: true,
    wait_after: true,
};

/// The kinds of target that this machine has.
fn targets(bytes: u64) -> impl Iterator<Item = Target> {
    TargetKind::ALL
        .iter()
        .filter_map(move |target_kind| need(target_kind.make(bytes)))
}

/// A placeholder for engines that use no file, a real file for the others.
fn file_for(kind: EngineKind, target: &Target) -> File {
    match kind {
        EngineKind::Null => File::placeholder(SIZE),
        EngineKind::Simulated => File::simulated(0, SIZE),
        _ => target.open(kind),
    }
}

fn all_blocks(make: fn(u64) -> Job) -> Vec<Job> {
    shuffled(BLOCKS)
        .into_iter()
        .map(|block| make(block * u64::from(BLOCK)))
        .collect()
}

#[test]
fn written_data_can_be_read_from_the_target() {
    for target in targets(SIZE) {
        for kind in real_engines() {
            for (generation, depth) in DEPTHS.into_iter().enumerate() {
                let generation = generation as u64 + kind as u64 * 16;
                let mut rig = Rig::new(kind, vec![target.open(kind)], depth);
                rig.run_successfully(&all_blocks(Job::write), |job, buffer| {
                    pattern(buffer, job.offset, generation)
                });
                drop(rig);
                assert!(
                    target.read(0, SIZE as usize) == patterned(0, SIZE as usize, generation),
                    "{} on {} at depth {depth}",
                    kind.name(),
                    target.kind
                );
            }
        }
    }
}

#[test]
fn data_written_by_others_is_read() {
    for target in targets(SIZE) {
        for (generation, depth) in DEPTHS.into_iter().enumerate() {
            let generation = generation as u64;
            target.write(0, &patterned(0, SIZE as usize, generation));
            for kind in real_engines() {
                let mut rig = Rig::new(kind, vec![target.open(kind)], depth);
                for done in rig.run_successfully(&all_blocks(Job::read), |_, _| {}) {
                    assert!(
                        done.data == patterned(done.job.offset, BLOCK as usize, generation),
                        "{} on {} at depth {depth}: {:?}",
                        kind.name(),
                        target.kind,
                        done.job
                    );
                }
            }
        }
    }
}

#[test]
fn engines_that_transfer_nothing_have_the_same_guarantees() {
    for kind in [EngineKind::Null, EngineKind::Simulated] {
        for depth in DEPTHS {
            for depth_is_one in [false, true] {
                let file = match kind {
                    EngineKind::Simulated => File::simulated(0, SIZE),
                    _ => File::placeholder(SIZE),
                };
                let mut setup = setup(kind, vec![file], depth);
                setup.depth_is_one = depth_is_one && kind == EngineKind::Null;
                let mut rig = Rig::open(setup).unwrap();
                let mut jobs = all_blocks(Job::read);
                jobs.extend(all_blocks(Job::write));
                jobs.push(Job::flush(Action::Flush));
                jobs.push(Job::trim(0, BLOCK));
                rig.run_successfully(&jobs, |_, _| {});
            }
        }
    }
}

#[test]
fn every_operation_uses_the_file_it_names() {
    for target in targets(SIZE) {
        if target.kind.is_device() {
            continue;
        }
        let other = target.path.with_extension("other");
        fs::write(&other, vec![0; SIZE as usize]).unwrap();
        for kind in real_engines() {
            let direct = target.kind.is_direct();
            let files = vec![target.open(kind), open(&other, kind, direct, Access::ReadWrite)];
            let mut rig = Rig::new(kind, files, 8);
            let generation = 40 + kind as u64 * 2;
            let jobs: Vec<Job> = all_blocks(Job::write)
                .into_iter()
                .flat_map(|job| [job, job.in_file(1)])
                .collect();
            rig.run_successfully(&jobs, |job, buffer| {
                pattern(buffer, job.offset, generation + u64::from(job.file))
            });
            let there = |path| crate::test_targets::read(path, 0, SIZE as usize);
            assert!(there(&target.path) == patterned(0, SIZE as usize, generation));
            assert!(there(&other) == patterned(0, SIZE as usize, generation + 1));
        }
    }
}

#[test]
fn each_slot_has_its_own_buffer() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    target.write(0, &patterned(0, SIZE as usize, 1));
    for kind in engines() {
        for (alignment, bytes) in [(1, 1), (4096, 4096), (65536, 512), (512, 12_345)] {
            let setup = setup(kind, vec![file_for(kind, &target)], 16)
                .with(|setup| (setup.buffer_alignment, setup.buffer_bytes) = (alignment, bytes));
            let mut rig = Rig::open(setup).unwrap();
            let mut ranges = Vec::new();
            for slot in 0..16 {
                let buffer = rig.engine.buffer(Slot(slot));
                let start = buffer.as_ptr() as usize;
                assert_eq!(buffer.len(), bytes, "{}", kind.name());
                assert_eq!(start % alignment.max(4096), 0, "{}", kind.name());
                ranges.push(start..start + bytes);
                buffer.fill(slot as u8);
            }
            ranges.sort_by_key(|range| range.start);
            assert!(
                ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
                "{}",
                kind.name()
            );
            if bytes == 4096 {
                // A read into one slot changes no other slot's buffer.
                rig.turn(&[Job::read(0).in_slot(5)], 1, Nanos::NEVER);
                for slot in (0..16).filter(|slot| *slot != 5) {
                    assert!(rig.engine.buffer(Slot(slot)).iter().all(|byte| *byte == slot as u8));
                }
            }
        }
    }
}

#[test]
fn a_deadline_with_nothing_in_flight_is_a_sleep() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    for kind in engines() {
        for spin in [false, true] {
            let setup = setup(kind, vec![file_for(kind, &target)], 4).with(|setup| setup.spin = spin);
            let mut rig = Rig::open(setup).unwrap();
            for length in [Nanos(0), Nanos::micros(50), Nanos::millis(3), Nanos::millis(30)] {
                let start = rig.engine.now();
                rig.sleep(start + length);
                let slept = rig.engine.now().since(start);
                // The engine guarantees that it does not end early; ending on time depends on the
                // machine.
                assert!(
                    slept >= length && slept < length + Nanos::secs(5),
                    "{} {slept}",
                    kind.name()
                );
            }
            // A deadline in the past causes no delay.
            rig.turn(&[], 1, Nanos(0));
            // The engine still works.
            assert_eq!(rig.one(Job::read(0)), i64::from(BLOCK), "{}", kind.name());
        }
    }
}

#[test]
fn a_turn_with_nothing_in_flight_does_not_wait() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    for kind in engines() {
        let mut rig = Rig::new(kind, vec![file_for(kind, &target)], 4);
        rig.turn(&[], 0, Nanos::NEVER);
        rig.turn(&[], 0, Nanos(0));
        rig.turn(&[], 3, Nanos::NEVER);
        let later = rig.engine.now() + Nanos::secs(100);
        let start = rig.engine.now();
        rig.turn(&[], 0, later);
        assert!(rig.engine.now().since(start) < Nanos::secs(50), "{}", kind.name());
    }
}

#[test]
fn a_turn_waits_for_the_requested_completions() {
    for target in targets(SIZE) {
        for kind in engines() {
            for spin in [false, true] {
                let mut setup = setup(kind, vec![file_for(kind, &target)], 16);
                (setup.spin, setup.submit_batch) = (spin, 16);
                let mut rig = Rig::open(setup).unwrap();
                for at_least in [0, 1, 5, 16] {
                    for until in [Nanos::NEVER, rig.engine.now() + Nanos::secs(60)] {
                        let requests = reads(16);
                        let mut ended = rig.turn(&requests, at_least, until).len();
                        assert!(ended >= at_least as usize, "{} on {}", kind.name(), target.kind);
                        while ended < 16 {
                            ended += rig.turn(&[], 1, until).len();
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn batches_do_not_exceed_the_requested_size() {
    for target in targets(SIZE) {
        for kind in engines().filter(|kind| !kind.is_synchronous()) {
            for most in [1, 3, 16] {
                let mut setup = setup(kind, vec![file_for(kind, &target)], 16);
                setup.complete_max = Some(most);
                let mut rig = Rig::open(setup).unwrap();
                let requests = reads(16);
                let mut waiting = &requests[..];
                let mut ended = 0;
                while ended < 16 {
                    let now = rig.turn(waiting, 16, Nanos::NEVER).len();
                    assert!((1..=most as usize).contains(&now), "{} {now}", kind.name());
                    waiting = &waiting[rig.batch.submitted as usize..];
                    ended += now;
                }
                rig.run_successfully(&all_blocks(Job::read), |_, _| {});
            }
        }
    }
}

#[test]
fn completions_are_found_without_waiting() {
    for target in targets(SIZE) {
        for kind in engines() {
            for split in [false, true] {
                // A deadline may be given although the turn does not wait.
                for until in [Nanos::NEVER, Nanos::secs(1 << 30)] {
                    let setup = setup(kind, vec![file_for(kind, &target)], 16).with(|setup| setup.split_stamps = split);
                    let mut rig = Rig::open(setup).unwrap();
                    let requests = reads(16);
                    let mut ended = rig.turn(&requests, 0, until).len();
                    let start = Instant::now();
                    while ended < 16 && kind != EngineKind::Simulated {
                        ended += rig.turn(&[], 0, until).len();
                        let name = format!("{} on {}, split: {split}", kind.name(), target.kind);
                        assert!(
                            start.elapsed() < Duration::from_secs(20),
                            "{name}: {ended} of 16 were found"
                        );
                    }
                }
            }
        }
    }
}

/// The flushes of this system.
fn flushes() -> Vec<Action> {
    let mut flushes = vec![Action::Flush, Action::FlushData];
    if cfg!(target_os = "linux") {
        flushes.push(Action::FlushRange(RangeFlush::from(RANGE)));
    }
    flushes
}

#[test]
fn flushes_work() {
    for target in targets(SIZE) {
        for kind in engines() {
            let mut rig = Rig::new(kind, vec![file_for(kind, &target)], 8);
            for action in flushes() {
                rig.run_successfully(&[Job::write(0)], |job, buffer| pattern(buffer, job.offset, 3));
                let result = rig.one(Job::flush(action));
                assert_eq!(result, 0, "{} on {}: {action:?}", kind.name(), target.kind);
            }
        }
    }
}

#[test]
fn trims_succeed_or_are_reported_as_unsupported() {
    for target in targets(SIZE) {
        for kind in engines() {
            target.write(0, &patterned(0, SIZE as usize, 7));
            let mut rig = Rig::new(kind, vec![file_for(kind, &target)], 8);
            // Trims may be longer than a buffer.
            let (start, length) = (8 * BLOCK, 16 * BLOCK);
            let result = rig.one(Job::trim(u64::from(start), length));
            let name = format!("{} on {}", kind.name(), target.kind);
            assert!([i64::from(length), NOT_SUPPORTED].contains(&result), "{name}: {result}");
            drop(rig);
            if matches!(kind, EngineKind::Null | EngineKind::Simulated) || result == NOT_SUPPORTED {
                continue;
            }
            let there = target.read(0, SIZE as usize);
            let (start, end) = (start as usize, (start + length) as usize);
            let expected = patterned(0, SIZE as usize, 7);
            assert!(
                there[..start] == expected[..start] && there[end..] == expected[end..],
                "{name}"
            );
            // Windows only guarantees that the content is no longer needed.
            let discarded = || there[start..end].iter().all(|byte| *byte == 0);
            assert!(cfg!(windows) || discarded(), "{name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn errors_do_not_affect_the_rest_of_their_batch() {
    for target_kind in [TargetKind::DiskDirect, TargetKind::Loop] {
        let Some(target) = need(target_kind.make(SIZE)) else {
            continue;
        };
        target.write(0, &patterned(0, SIZE as usize, 4));
        for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
            for wrong in 0..8 {
                let mut rig = Rig::new(kind, vec![target.open(kind)], 8);
                let mut jobs: Vec<Job> = (0..8).map(|block| Job::read(block * u64::from(BLOCK))).collect();
                jobs[wrong].offset += 1;
                for done in rig.run(&jobs, |_, _| {}) {
                    let name = format!("{} on {target_kind}: {:?}", kind.name(), done.job);
                    if done.job == jobs[wrong] {
                        assert_eq!(done.result, -i64::from(libc::EINVAL), "{name}");
                    } else {
                        assert_eq!(done.result, i64::from(BLOCK), "{name}");
                        assert!(done.data == patterned(done.job.offset, BLOCK as usize, 4), "{name}");
                    }
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_is_reported_as_a_result() {
    for kind in real_engines() {
        let tmpfs = need!(TmpFs::with_size(1 << 20));
        let path = tmpfs.path().join("file");
        // A hole for which the file system has no space.
        fs::File::create(&path).unwrap().set_len(4 << 20).unwrap();
        let mut rig = Rig::new(kind, vec![open(&path, kind, false, Access::ReadWrite)], 8);
        let jobs: Vec<Job> = (0..1024).map(|block| Job::write(block * u64::from(BLOCK))).collect();
        let done = rig.run(&jobs, |job, buffer| pattern(buffer, job.offset, 5));
        let full = done.iter().filter(|done| done.result < 0).count();
        assert!(
            (700..=800).contains(&full),
            "{}: {full} of 1024 did not fit",
            kind.name()
        );
        let expected = match kind {
            // The page cannot be allocated; the memory map does not learn why.
            EngineKind::Mmap => -i64::from(libc::EIO),
            _ => -i64::from(libc::ENOSPC),
        };
        for done in &done {
            assert!(
                [i64::from(BLOCK), expected].contains(&done.result),
                "{}: {}",
                kind.name(),
                done.result
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_device_is_reported_as_a_result() {
    let options = LoopOptions {
        read_only: true,
        ..LoopOptions::default()
    };
    let device = need!(LoopDevice::with_size(SIZE, options));
    for kind in real_engines() {
        // Root may open it for writing.
        let Ok(file) = crate::test_targets::try_open(device.path(), kind, true, Access::ReadWrite) else {
            testbed::note("a read-only device cannot be opened for writing here");
            return;
        };
        let setup = setup(kind, vec![file], 4);
        let mut rig = match Rig::open(setup) {
            Ok(rig) => rig,
            Err(error) => {
                assert_eq!(kind, EngineKind::Mmap, "{error}");
                assert!(error.to_string().contains("cannot map"), "{error}");
                continue;
            }
        };
        assert_eq!(rig.one(Job::read(0)), i64::from(BLOCK), "{}", kind.name());
        let result = rig.one(Job::write(0));
        assert_eq!(result, -i64::from(libc::EPERM), "{}", kind.name());
    }
}

#[test]
fn operations_one_at_a_time_stop_at_the_deadline() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    for kind in engines().filter(|kind| kind.is_synchronous() || *kind == EngineKind::Null) {
        let setup = setup(kind, vec![file_for(kind, &target)], 32).with(|setup| setup.depth_is_one = true);
        let mut rig = Rig::open(setup).unwrap();
        let requests = reads(32);
        // All of them, at least one, and everything in between: the rig checks the rest.
        assert_eq!(rig.turn(&requests, 1, Nanos::NEVER).len(), 32, "{}", kind.name());
        assert_eq!(rig.turn(&requests, 1, Nanos(0)).len(), 1, "{}", kind.name());
        let mut stopped_midway = 0;
        // System calls are slow under Wine and in an emulator.
        let step_ns = if cfg!(windows) || emulated() { 2_000 } else { 20 };
        for step in 0..2000 {
            let until = rig.engine.now() + Nanos(step_ns * (step % 500));
            let ended = rig.turn(&requests, 1, until).len();
            stopped_midway += u32::from(ended > 1 && ended < 32);
            for (at, request) in requests[..ended].iter().enumerate() {
                assert_eq!(rig.batch.done[at].slot, request.slot);
            }
        }
        // These operations do nothing, and together take less than a tick of Windows' clock.
        let too_short = cfg!(windows) && kind == EngineKind::Null;
        assert!(
            stopped_midway > 0 || too_short,
            "{}: no deadline fell between two operations",
            kind.name()
        );
    }
}

#[test]
fn chained_turns_begin_where_the_last_one_ended() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    for kind in engines().filter(|kind| kind.is_synchronous() || *kind == EngineKind::Null) {
        let mut rig = Rig::new(kind, vec![file_for(kind, &target)], 4);
        rig.turn(&[Job::read(0).in_slot(0)], 1, Nanos::NEVER);
        rig.batch.chained = true;
        for _ in 0..100 {
            let last = rig.batch.reap_time;
            rig.turn(&[Job::read(0).in_slot(0)], 1, Nanos::NEVER);
            assert_eq!(rig.batch.submit_start, last, "{}", kind.name());
        }
    }
}

#[test]
fn engines_describe_what_they_use() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    for kind in engines() {
        let rig = Rig::new(kind, vec![file_for(kind, &target)], 8);
        let used = rig.engine.describe();
        assert_eq!(used.kind, kind);
        let inline = kind.is_synchronous() || matches!(kind, EngineKind::Null | EngineKind::Vsync);
        assert_eq!(used.inline, inline, "{}", kind.name());
    }
}

#[test]
fn mixed_batches_complete() {
    for target in targets(SIZE) {
        for kind in engines() {
            for split in [false, true] {
                let setup = setup(kind, vec![file_for(kind, &target)], 8).with(|setup| setup.split_stamps = split);
                let mut rig = Rig::open(setup).unwrap();
                let trim = Job::trim(8 * u64::from(BLOCK), BLOCK);
                for round in 0..8 {
                    // The trim takes each position in the batch once.
                    let mut jobs = vec![Job::read(0); 7];
                    jobs.insert(round, trim);
                    jobs.extend(flushes().into_iter().map(Job::flush));
                    rig.run(&jobs, |_, _| {});
                    let requests: Vec<_> = (0..8).map(|slot| jobs[slot as usize].in_slot(slot)).collect();
                    // The turn requests all completions, although the engine may not accept all
                    // requests: then it must not wait for the others.
                    let mut ended = rig.turn(&requests, 8, Nanos::NEVER).len();
                    let mut taken = rig.batch.submitted as usize;
                    while ended < 8 {
                        ended += rig.turn(&requests[taken..], 8, Nanos::NEVER).len();
                        taken += rig.batch.submitted as usize;
                    }
                }
            }
        }
    }
}
