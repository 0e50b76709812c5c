//! Verification in complete runs on real files: written data is read back and checked, and
//! corrupted data is found.

use crate::prelude::*;
use crate::support::verified::{
    BLOCK, BLOCKS, VerifiedFile, assert_clean, flip, only_worker, operations, pass, random, random_once, reads,
    sequential, writes,
};
use model::block_size::SizeShare;
use model::event::Phase;
use model::mismatch::{BlockFault, HeaderField};
use model::plan::{FileService, VerifyMethod};
use model::testing::VERIFY_METHODS;

const EILSEQ: i32 = 84;

fn verify(method: VerifyMethod) -> Verify {
    let has_pattern = matches!(method, VerifyMethod::Pattern | VerifyMethod::PatternWithHeader);
    Verify::new(method).with(|verify| {
        (verify.pattern, verify.after_writes) = (if has_pattern { vec![0xab, 0x12] } else { Vec::new() }, true)
    })
}

#[test]
fn written_data_is_read_back_after_the_writes() {
    for (method, name) in VERIFY_METHODS {
        for (access, interval) in [(sequential(), 0), (random_once(), 1024), (random(), 2048)] {
            let target = VerifiedFile::new();
            let what = format!("{name} every {interval} bytes");
            let verify = verify(method).with(|verify| verify.interval = interval);
            let stop = pass().with(|stop| stop.bytes = Some(Bytes(BLOCK * BLOCKS)));
            let repeats = access == random();
            let job = run_job(target.plan(stop, writes(access, verify)));
            assert_clean(&job, &what);
            let (read, written) = (operations(&job, Direction::Read), operations(&job, Direction::Write));
            assert_eq!(written, BLOCKS, "{what}");
            // If a block was written several times, only its last write can be verified.
            let is_whole = read == BLOCKS;
            let is_part = read < BLOCKS && read > BLOCKS / 2;
            assert!(if repeats { is_part } else { is_whole }, "{what}: {read}");
            let worker = only_worker(&job);
            assert!(worker.verified_ns > Nanos(0) && worker.measured_ns > Nanos(0), "{what}");
            let in_writes = worker.streams[0].lifetime.write.operations;
            assert_eq!(in_writes, BLOCKS);
        }
    }
}

#[test]
fn the_verify_phase_is_reported() {
    let target = VerifiedFile::new();
    let (_, events) = try_run(target.plan(pass(), writes(sequential(), verify(VerifyMethod::Crc32c)))).unwrap();
    for phase in [Phase::Measured, Phase::Verify] {
        let is_there = |event: &Event| matches!(event, Event::Interval(interval) if interval.phase == phase);
        assert!(events.iter().any(is_there), "{phase:?}: {events:?}");
    }
}

#[test]
fn nothing_is_read_back_unless_requested() {
    let target = VerifiedFile::new();
    let verify = verify(VerifyMethod::Crc32c).with(|verify| verify.after_writes = false);
    let job = target.run(writes(sequential(), verify));
    assert_eq!(operations(&job, Direction::Read), 0);
    assert_eq!(only_worker(&job).verified_ns, Nanos(0));
}

#[test]
fn a_corrupted_block_is_found_at_its_offset() {
    for (method, name) in VERIFY_METHODS {
        let target = VerifiedFile::new();
        assert_clean(&target.run(writes(sequential(), verify(method))), name);
        assert_clean(&target.run(reads(sequential(), verify(method))), name);
        let at = match method {
            // fio's SHA-512 covers only the last bytes, those in an incomplete block of the hash.
            VerifyMethod::Sha512 => 18 * BLOCK - 1,
            VerifyMethod::Header => 17 * BLOCK + 20,
            _ => 17 * BLOCK + 3000,
        };
        target.flip(at);
        let job = target.run(reads(sequential(), verify(method)));
        if method == VerifyMethod::None {
            assert_clean(&job, name);
            continue;
        }
        let worker = only_worker(&job);
        let errno = worker.failure.as_ref().map(|failure| failure.errno);
        assert_eq!(errno, Some(Some(EILSEQ)), "{name}");
        assert_eq!(worker.mismatch_count, 1, "{name}");
        let mismatch = &worker.mismatches[0];
        assert_eq!((mismatch.offset, mismatch.length), (Bytes(17 * BLOCK), 4096), "{name}");
        assert_eq!(mismatch.block_offset, Bytes(17 * BLOCK), "{name}");
        assert_eq!(mismatch.block_length, 4096, "{name}");
        assert_eq!(mismatch.path, target.file.display().to_string());
        assert_eq!(job.ended, Some(EndReason::Failed), "{name}");
        // The worker counts the completion that fails, then ends.
        assert_eq!(operations(&job, Direction::Read), 18, "{name}");
    }
}

#[test]
fn tolerated_mismatches_are_counted_and_the_run_continues() {
    let target = VerifiedFile::new();
    assert_clean(&target.run(writes(sequential(), verify(VerifyMethod::Md5))), "written");
    let wrong = [3u64, 9, 40];
    wrong.iter().for_each(|block| target.flip(block * BLOCK + 77));
    let mut tolerant = reads(sequential(), verify(VerifyMethod::Md5));
    tolerant.on_error.tolerate_verify = vec![EILSEQ];
    let job = target.run(tolerant.clone());
    let read = job.directions().read.unwrap();
    assert_eq!(read.operations, BLOCKS);
    assert_eq!(read.errors, 3);
    assert_eq!(read.first_error, Some(EILSEQ));
    let found = only_worker(&job).mismatches.iter();
    let offsets: Vec<u64> = found.map(|found| found.offset.0 / BLOCK).collect();
    assert_eq!(offsets, wrong);
    assert_eq!(only_worker(&job).failure, None);
    // A fatal mismatch is not tolerated.
    tolerant.verify.as_mut().unwrap().fatal = true;
    let job = target.run(tolerant);
    assert_eq!(only_worker(&job).mismatch_count, 1);
    assert!(only_worker(&job).failure.is_some());
}

#[test]
fn a_fatal_mismatch_stops_the_check_of_its_block() {
    for (fatal, expected) in [(false, 2), (true, 1)] {
        let target = VerifiedFile::new();
        let verify = verify(VerifyMethod::Crc64).with(|verify| (verify.interval, verify.fatal) = (512, fatal));
        assert_clean(&target.run(writes(sequential(), verify.clone())), "written");
        target.flip(5 * BLOCK + 600);
        target.flip(5 * BLOCK + 3000);
        let job = target.run(reads(sequential(), verify));
        assert_eq!(only_worker(&job).mismatch_count, expected, "fatal: {fatal}");
        let first = &only_worker(&job).mismatches[0];
        assert_eq!((first.offset, first.length), (Bytes(5 * BLOCK + 512), 512));
        assert_eq!(first.block_offset, Bytes(5 * BLOCK));
        let method = VerifyMethod::Crc64;
        assert!(matches!(first.fault, BlockFault::Checksum { method: found, .. } if found == method));
    }
}

/// With `only`, a job issues no writes. It recomputes them and finds data that has changed since.
#[test]
fn verify_only_writes_nothing_and_finds_changed_data() {
    let target = VerifiedFile::new();
    let verify_only = verify(VerifyMethod::Crc32c).with(|verify| verify.only = true);
    let stream = writes(random_once(), verify(VerifyMethod::Crc32c));
    assert_clean(&target.run(stream), "written");
    let before = fs::read(&target.file).unwrap();
    let job = target.run(writes(random_once(), verify_only.clone()));
    assert_clean(&job, "verified");
    assert_eq!(operations(&job, Direction::Write), 0);
    assert_eq!(operations(&job, Direction::Read), BLOCKS);
    assert!(before == fs::read(&target.file).unwrap(), "the file has changed");
    target.flip(11 * BLOCK + 100);
    let job = target.run(writes(random_once(), verify_only.clone()));
    assert_eq!(only_worker(&job).mismatches[0].offset, Bytes(11 * BLOCK));
    // With another seed the headers differ, unless seeds are ignored.
    let other = |any_seed: bool, any_order: bool| {
        let verify = verify_only
            .clone()
            .with(|verify| (verify.any_seed, verify.any_order) = (any_seed, any_order));
        let mut plan = target.plan(pass(), writes(random_once(), verify));
        plan.steps[0].jobs[0].workers[0].draws = GeneratorChoice::fio(5, 1);
        let job = run_job(plan);
        only_worker(&job).mismatches.first().map(|found| match &found.fault {
            BlockFault::Header { field, .. } => Some(*field),
            _ => None,
        })
    };
    target.flip(11 * BLOCK + 100);
    assert_eq!(other(false, true), Some(Some(HeaderField::Seed)));
    // Another seed gives another order of writes.
    assert_eq!(other(true, false), Some(Some(HeaderField::Number)));
    assert_eq!(other(true, true), None);
}

#[test]
fn a_backlog_is_read_back_between_writes() {
    for batch in [0, 4] {
        let target = VerifiedFile::new();
        let verify = verify(VerifyMethod::Crc32c).with(|verify| (verify.backlog, verify.backlog_batch) = (16, batch));
        let (job, order) = target.run_logged(pass(), writes(random_once(), verify));
        assert_clean(&job, "backlog");
        assert_eq!(operations(&job, Direction::Write), BLOCKS);
        assert_eq!(operations(&job, Direction::Read), BLOCKS, "the rest is read at the end");
        let written = "w".repeat(16);
        if batch == 0 {
            assert_eq!(order, (written + &"r".repeat(16)).repeat(4));
            assert_eq!(only_worker(&job).verified_ns, Nanos(0), "nothing is left for the end");
        } else {
            // When 16 writes are in the backlog, 4 are verified; 4 more writes fill it again.
            assert!(order.starts_with(&(written + &"rrrrwwww".repeat(3))), "{order}");
            assert!(only_worker(&job).verified_ns > Nanos(0));
        }
    }
}

#[test]
fn jobs_that_end_by_time_read_back_only_their_backlog() {
    for backlog in [0, 8] {
        let target = VerifiedFile::new();
        let stop = pass().with(|stop| (stop.repeat_until_time, stop.after_ns) = (true, Some(Nanos::millis(100))));
        let verify = verify(VerifyMethod::Xxhash).with(|verify| verify.backlog = backlog);
        let job = run_job(target.plan(stop, writes(random_once(), verify)));
        let worker = only_worker(&job);
        assert_eq!((&worker.failure, worker.mismatch_count), (&None, 0));
        assert_eq!(job.ended, Some(EndReason::Time));
        assert_eq!(operations(&job, Direction::Read) > 0, backlog > 0);
        assert_eq!(worker.verified_ns, Nanos(0));
    }
}

#[test]
fn deep_queues_with_a_rate_and_mixed_sizes_are_verified() {
    for engine in [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync] {
        let target = VerifiedFile::new();
        let mut tested_plan = writes(
            random_once(),
            verify(VerifyMethod::Crc32c)
                .with(|verify| (verify.backlog, verify.backlog_batch, verify.interval) = (10, 3, 1024)),
        );
        tested_plan.depth = 16;
        tested_plan.pattern.whole_blocks = false;
        let share = |size: u64| SizeShare::new(Bytes(size), 50.0);
        tested_plan.pattern.sizes = PerDirection::all(BlockSizes::Split {
            entries: vec![share(1024), share(4096)],
        });
        tested_plan.pacing = Pacing::Together {
            rate: Rate::iops(20_000),
        };
        let mut plan = target.plan(pass(), tested_plan);
        plan.steps[0].jobs[0].workers[0].engine.kind = engine;
        let job = run_job(plan);
        assert_clean(&job, &format!("{engine:?}"));
        let directions = job.directions();
        let (read, write) = (directions.read.unwrap(), directions.write.unwrap());
        assert_eq!(read.operations, write.operations, "{engine:?}");
        assert_eq!(read.bytes, write.bytes, "{engine:?}");
        assert_eq!(write.bytes, Bytes(BLOCK * BLOCKS), "{engine:?}");
    }
}

#[test]
fn file_sets_are_verified_file_by_file() {
    for open_at_once in [3, 1] {
        let target = VerifiedFile::new();
        let mut tested_plan = writes(random_once(), verify(VerifyMethod::Sha1));
        tested_plan.depth = 4;
        tested_plan.target =
            StreamTarget::files((0..3).map(TargetId).collect(), open_at_once, FileService::RoundRobin, 1);
        let mut plan = target.plan(pass(), tested_plan.clone());
        plan.steps[0].jobs[0].workers[0].engine.kind = EngineKind::IoUring;
        for number in 1..3 {
            let path = target.directory.path().join(format!("g{number}"));
            fs::copy(&target.file, &path).unwrap();
            let mut target = plan.targets[0].clone();
            target.path = path.display().to_string();
            plan.targets.push(target);
        }
        let job = run_job(plan.clone());
        assert_clean(&job, "set");
        assert_eq!(operations(&job, Direction::Write), 3 * BLOCKS);
        assert_eq!(operations(&job, Direction::Read), 3 * BLOCKS);
        flip(Path::new(&plan.targets[2].path), 7 * BLOCK + 200);
        let stream = &mut plan.steps[0].jobs[0].workers[0].streams[0];
        stream.verify.as_mut().unwrap().only = true;
        let job = run_job(plan.clone());
        let mismatch = &only_worker(&job).mismatches[0];
        assert_eq!(mismatch.path, plan.targets[2].path);
        assert_eq!(mismatch.offset, Bytes(7 * BLOCK));
    }
}

#[test]
fn received_and_expected_data_is_dumped() {
    let target = VerifiedFile::new();
    let name = format!("dump-{}", std::process::id());
    let file = target.directory.path().join(&name);
    fs::rename(&target.file, &file).unwrap();
    let target = VerifiedFile { file, ..target };
    let stream = writes(sequential(), verify(VerifyMethod::Crc16));
    assert_clean(&target.run(stream), "written");
    let right = fs::read(&target.file).unwrap();
    target.flip(2 * BLOCK + 1000);
    for dump in [false, true] {
        let verify = verify(VerifyMethod::Crc16).with(|verify| verify.dump = dump);
        target.run(reads(sequential(), verify));
        let read_saved = |kind: &str| {
            let path = format!("{name}.{}.{kind}", 2 * BLOCK);
            let bytes = fs::read(&path).ok();
            let _ = fs::remove_file(path);
            bytes
        };
        let (received, expected) = (read_saved("received"), read_saved("expected"));
        assert_eq!((received.is_some(), expected.is_some()), (dump, dump));
        if let (Some(received), Some(expected)) = (received, expected) {
            let block = &right[2 * BLOCK as usize..3 * BLOCK as usize];
            let differs: Vec<usize> = (50..4096).filter(|at| received[*at] != block[*at]).collect();
            assert_eq!(differs, [1000]);
            // Skip the header: its time of writing differs, and so do fields that depend on it.
            assert!(expected[50..] == block[50..]);
        }
    }
}

#[test]
fn data_that_fio_wrote_is_verified() {
    // fio 3.33 does not support a pattern after a header.
    for (method, name) in VERIFY_METHODS.into_iter().filter(|(_, name)| *name != "pattern_hdr") {
        let target = VerifiedFile::new();
        let pattern = match verify(method).pattern.is_empty() {
            true => "",
            false => " --verify_pattern=0xab12",
        };
        need!(target.write_with_fio(&format!("--verify={name}{pattern}")));
        assert_clean(&target.run(reads(sequential(), verify(method))), name);
        target.flip(21 * BLOCK + 5);
        let job = target.run(reads(sequential(), verify(method)));
        let offset = only_worker(&job).mismatches.first().map(|mismatch| mismatch.offset);
        let expected = (method != VerifyMethod::None).then_some(Bytes(21 * BLOCK));
        assert_eq!(offset, expected, "{name}");
    }
}
