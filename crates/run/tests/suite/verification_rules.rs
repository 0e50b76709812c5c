//! Rules of verification besides reading back, in complete runs on real files. These are headers at
//! other offsets, checker threads, flushed writes only, rounds, states for a later check, and
//! blocks that are discarded again.

use crate::prelude::*;
use crate::support::verified::{
    BLOCK, BLOCKS, VerifiedFile, assert_clean, build_stream, operations, pass, random, random_once, reads, sequential,
    writes,
};
use model::block_lifetimes::{BlockLife, BlockState};
use model::plan::{TrimWritten, VerifyMethod};
use run::SetupError;

impl VerifiedFile {
    /// A verification that keeps its state next to the file.
    fn with_state(&self) -> Verify {
        Verify {
            state_file: "state".into(),
            directory: self.directory.path().display().to_string(),
            ..verify()
        }
    }
}

fn verify() -> Verify {
    Verify::new(VerifyMethod::Crc32c).with(|verify| verify.after_writes = true)
}

#[test]
fn headers_may_be_at_another_offset() {
    let target = VerifiedFile::new();
    let verify = verify().with(|verify| (verify.interval, verify.header_at) = (1024, 512));
    assert_clean(&target.run(writes(random_once(), verify.clone())), "written");
    let bytes = fs::read(&target.file).unwrap();
    for piece in bytes.chunks(1024) {
        assert_ne!(piece[..2], [0xca, 0xac]);
        assert_eq!(piece[512..515], [0xca, 0xac, 0x81]);
    }
    target.flip(5 * BLOCK + 1024 + 900);
    let reads = reads(random_once(), verify.clone());
    let mismatch = &target.run(reads).workers[0].mismatches[0];
    assert_eq!(mismatch.offset, Bytes(5 * BLOCK + 1024));
    // A header that would overlap its own place.
    let close = Verify {
        header_at: 50,
        ..verify
    };
    let refused = try_run(target.plan(pass(), writes(sequential(), close))).unwrap_err();
    let why = |fault: &run::WorkerFault| matches!(fault.why, SetupError::Unsupported { .. });
    assert!(
        matches!(&refused, RunError::Setup(faults) if why(&faults[0])),
        "{refused}"
    );
}

#[test]
fn headers_that_fio_wrote_at_another_offset_are_found() {
    let target = VerifiedFile::new();
    need!(target.write_with_fio("--verify=md5 --verify_offset=512"));
    for (header_at, clean) in [(512, true), (0, false)] {
        let verify = verify().with(|verify| (verify.method, verify.header_at) = (VerifyMethod::Md5, header_at));
        let job = target.run(reads(sequential(), verify));
        assert_eq!(job.workers[0].mismatches.is_empty(), clean, "at {header_at}");
    }
}

#[test]
fn checker_threads_find_the_same_mismatches() {
    let usual = engine::sys::thread::usable_cpus()[0];
    for (threads, processors) in [(0, vec![]), (1, vec![]), (3, vec![usual])] {
        let target = VerifiedFile::new();
        let verify = verify().with(|verify| (verify.threads, verify.processors) = (threads, processors));
        let deep = writes(random_once(), verify.clone()).with(|deep| deep.depth = 8);
        let mut plan = target.plan(pass(), deep);
        plan.steps[0].jobs[0].workers[0].engine.kind = EngineKind::IoUring;
        let job = run_job(plan);
        assert_clean(&job, &format!("{threads} threads"));
        assert_eq!(operations(&job, Direction::Read), BLOCKS);
        [7u64, 20, 33].iter().for_each(|block| target.flip(block * BLOCK + 100));
        let mut tolerant = reads(random_once(), verify);
        tolerant.on_error.tolerate_verify = vec![84];
        let job = target.run(tolerant.clone());
        let mismatches = job.workers[0].mismatches.iter();
        let mut block_numbers: Vec<u64> = mismatches.map(|mismatch| mismatch.offset.0 / BLOCK).collect();
        block_numbers.sort_unstable();
        assert_eq!(block_numbers, [7, 20, 33], "{threads} threads");
        assert_eq!(job.directions().read.unwrap().errors, 3);
        tolerant.on_error.tolerate_verify.clear();
        let job = target.run(tolerant);
        assert_eq!(job.ended, Some(EndReason::Failed), "{threads} threads");
    }
    let nowhere = verify().with(|verify| (verify.threads, verify.processors) = (2, vec![1000]));
    let target = VerifiedFile::new();
    let refused = try_run(target.plan(pass(), writes(sequential(), nowhere))).unwrap_err();
    assert!(refused.to_string().contains("1000"), "{refused}");
}

#[test]
fn each_round_is_read_back_before_the_next() {
    for work_out_again in [false, true] {
        let target = VerifiedFile::new();
        let verify = verify().with(|verify| verify.work_out_again = work_out_again);
        let stop = pass().with(|stop| stop.rounds = Some(3));
        // The log ends with the measured window, which the last check follows.
        let (job, directions) = target.run_logged(stop, writes(random_once(), verify));
        assert_clean(&job, "rounds");
        assert_eq!(operations(&job, Direction::Write), 3 * BLOCKS);
        assert_eq!(operations(&job, Direction::Read), 3 * BLOCKS);
        let worker = &job.workers[0];
        assert!(worker.verified_ns > Nanos(0) && worker.measured_ns > Nanos(0));
        let letters = |letter: &str| letter.repeat(BLOCKS as usize);
        let round = letters("w") + &letters("r");
        assert_eq!(directions, round.repeat(2) + &letters("w"));
    }
}

/// Recomputed writes equal recorded writes, whether blocks are written once or repeatedly.
#[test]
fn recomputed_writes_equal_recorded_writes() {
    let mixed = Mix::drawn(40.0, MixRule::Redrawn);
    for (mix, access, operations_of_both) in [
        (Mix::WRITES, sequential(), Some(BLOCKS)),
        (Mix::WRITES, random_once(), Some(BLOCKS)),
        (Mix::WRITES, random(), Some(3 * BLOCKS)),
        (mixed, random_once(), Some(BLOCKS)),
    ] {
        let read_back = [false, true].map(|work_out_again| {
            let target = VerifiedFile::new();
            let verify = verify().with(|verify| verify.work_out_again = work_out_again);
            let stop = Stop::default()
                .with(|stop| (stop.operations, stop.passes) = (operations_of_both, access.is_finite().then_some(1)));
            let job = run_job(target.plan(stop, build_stream(mix, access.clone(), verify)));
            assert_clean(&job, &format!("{mix:?} {access:?} {work_out_again}"));
            (operations(&job, Direction::Write), operations(&job, Direction::Read))
        });
        assert_eq!(read_back[0], read_back[1], "{mix:?} {access:?}");
        assert!(read_back[0].1 > 0);
    }
}

#[test]
fn only_flushed_data_is_read_back_on_request() {
    for (flushed_only, every, at_end, expected) in [
        (false, 20, false, BLOCKS),
        (true, 20, false, 60),
        (true, 0, false, 0),
        (true, 20, true, BLOCKS),
    ] {
        let target = VerifiedFile::new();
        let verify = verify().with(|verify| verify.flushed_only = flushed_only);
        let mut stream = writes(random_once(), verify);
        (stream.sync.every_writes, stream.sync.at_end) = (every, at_end);
        let job = target.run(stream);
        assert_clean(&job, "flushed");
        assert_eq!(
            operations(&job, Direction::Read),
            expected,
            "{flushed_only}, every {every}, at the end: {at_end}"
        );
    }
}

#[test]
fn the_state_contains_the_progress_of_the_writes() {
    let target = VerifiedFile::new();
    let saved = target
        .with_state()
        .with(|verify| (verify.save_state, verify.after_writes) = (true, false));
    let state = target.directory.path().join("state");
    let stop = pass().with(|stop| stop.operations = Some(40));
    run_job(target.plan(stop, writes(random_once(), saved.clone())));
    assert_eq!(fs::read(&state).unwrap()[40], 40, "writes issued");
    // Later blocks were not written, and are not checked.
    let load = target.with_state().with(|verify| verify.load_state = true);
    let job = target.run(reads(random_once(), load.clone()));
    assert_clean(&job, "reads");
    assert_eq!(operations(&job, Direction::Read), 40);
    let replay = load
        .clone()
        .with(|verify| (verify.only, verify.save_state) = (true, true));
    let before = fs::read(&state).unwrap();
    let job = target.run(writes(random_once(), replay));
    assert_clean(&job, "replay");
    assert_eq!(operations(&job, Direction::Read), 40);
    assert_eq!(fs::read(&state).unwrap(), before, "a replay writes nothing");
    let all = load.clone().with(|verify| verify.load_state = false);
    let job = target.run(reads(random_once(), all));
    assert_eq!(job.ended, Some(EndReason::Failed));
    // Without a valid state, the run does not begin.
    for broken in [true, false] {
        match broken {
            true => fs::write(&state, "?").unwrap(),
            false => fs::remove_file(&state).unwrap(),
        }
        let refused = try_run(target.plan(pass(), writes(random_once(), load.clone()))).unwrap_err();
        assert!(refused.to_string().contains("verification state"), "{refused}");
    }
    // A state that cannot be saved is reported.
    let nowhere = Verify {
        directory: target.directory.path().join("missing").display().to_string(),
        ..saved
    };
    let (results, _) = try_run(target.plan(pass(), writes(random_once(), nowhere))).unwrap();
    let is_reported = |finding: &model::finding::Finding| finding.what.contains("cannot save the progress");
    assert!(results.findings.iter().any(is_reported));
}

fn trims(percent: u8, backlog: u64, batch: u64, read_as_zeros: bool) -> Verify {
    Verify {
        trims: Some(TrimWritten {
            percent,
            backlog,
            batch,
            read_as_zeros,
        }),
        ..verify()
    }
}

#[test]
fn written_blocks_are_discarded_and_read_as_zeros() {
    for (engine, depth) in [(EngineKind::Psync, 1), (EngineKind::IoUring, 8)] {
        for access in [random_once(), random()] {
            let target = VerifiedFile::new();
            let stream = writes(access, trims(100, 16, 0, true)).with(|stream| stream.depth = depth);
            let stop = Stop::after_operations(BLOCKS);
            let mut plan = target.plan(stop, stream);
            plan.steps[0].jobs[0].workers[0].engine.kind = engine;
            let job = run_job(plan);
            assert_clean(&job, "trimmed");
            let (trimmed, read) = (operations(&job, Direction::Trim), operations(&job, Direction::Read));
            assert!(trimmed > 0 && read > 0, "{trimmed} {read}");
            let bytes = fs::read(&target.file).unwrap();
            let mut blocks = bytes.chunks(BLOCK as usize);
            assert!(blocks.any(|block| block.iter().all(|byte| *byte == 0)));
        }
    }
}

#[test]
fn shares_and_batches_of_discarded_blocks_equal_those_of_fio() {
    // The counts of fio 3.33 for 64 blocks; half of them are chosen by the same draws.
    for (verify, trimmed, read) in [
        (trims(100, 16, 4, true), 64, BLOCKS),
        (trims(50, 16, 0, true), 30, BLOCKS),
        (trims(100, 64, 0, false), 64, 0),
        (trims(100, 0, 0, true), 0, BLOCKS),
    ] {
        let target = VerifiedFile::new();
        let job = target.run(writes(random_once(), verify));
        assert_clean(&job, "trimmed");
        assert_eq!(operations(&job, Direction::Trim), trimmed);
        assert_eq!(operations(&job, Direction::Read), read);
    }
}

#[test]
fn lifetimes_of_blocks_are_counted() {
    let target = VerifiedFile::new();
    let mut stream = build_stream(Mix::TrimThenWrite, sequential(), verify());
    stream.verify = None;
    stream.on_error.block_lifetimes = true;
    let stop = Stop::after_operations(2 * BLOCKS * 2 + 21);
    let mut plan = target.plan(stop, stream.clone());
    plan.steps[0].jobs[0].stop.passes = None;
    let job = run_job(plan);
    let lives = &job.workers[0].block_lifetimes.as_ref().unwrap().lives;
    let life = |state, trims, blocks| BlockLife { state, trims, blocks };
    // All blocks twice, then ten blocks once more; the next block was only trimmed.
    let expected = [
        life(BlockState::Written, 2, BLOCKS - 11),
        life(BlockState::Trimmed, 3, 1),
        life(BlockState::Written, 3, 10),
    ];
    assert_eq!(lives[..], expected);
    // More blocks than fio tracks.
    stream.pattern = Pattern::simple(sequential(), Bytes(8));
    let refused = try_run(target.plan(pass(), stream)).unwrap_err();
    assert!(refused.to_string().contains("32768 blocks"), "{refused}");
}
