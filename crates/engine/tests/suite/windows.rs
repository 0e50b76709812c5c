//! Failures on Windows: operations that are refused or fail, and engines that are dropped before
//! their operations have completed.

use std::fs;
use std::path::{Path, PathBuf};

use engine::{Access, EngineError, File, OpenOptions, sys};
use model::Nanos;
use model::plan::{CacheMode, EngineKind, MapFlush, Mapping, OpenHint};
use testbed::{With, need};

use crate::driver::{BLOCK, Job, Rig, pattern, patterned, real_engines, setup};
use crate::test_targets::{TargetKind, open};

const SLOTS: u32 = 32;
const SIZE: u64 = 4 << 20;

/// The engines that keep operations in flight.
const QUEUES: [EngineKind; 2] = [EngineKind::Iocp, EngineKind::Routines];

#[test]
fn drops_with_operations_in_flight_write_nothing_afterwards() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    target.write(0, &vec![1; SIZE as usize]);
    for kind in QUEUES {
        let mut caught = 0;
        for round in 0..200 {
            let mut rig = Rig::new(kind, vec![target.open(kind)], SLOTS);
            let request = |slot: u32| {
                let block = (round * 7 + u64::from(slot) * 13) % (SIZE / u64::from(BLOCK));
                Job::read(block * u64::from(BLOCK)).in_slot(slot)
            };
            let requests: Vec<_> = (0..8).map(request).collect();
            rig.turn(&requests, 0, Nanos::NEVER);
            caught += u64::from(rig.in_flight() > 0);
            drop(rig);
            // Memory allocated right after a drop most likely belonged to the buffers, and must not
            // change.
            let memory = vec![0xa5u8; SLOTS as usize * BLOCK as usize + 4096];
            assert!(memory.iter().all(|byte| *byte == 0xa5), "a dropped engine still wrote");
        }
        // None under Wine, which completes operations on files within the call: there `iocp::tests`
        // has some on pipes.
        testbed::note(format!("{}: in flight in {caught} of 200 drops", kind.name()));
    }
}

#[test]
fn an_impossible_offset_is_refused_and_the_others_complete() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    target.write(0, &patterned(0, 64 * BLOCK as usize, 4));
    for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
        for wrong in 0..8 {
            let mut rig = Rig::new(kind, vec![target.open(kind)], 8);
            let mut jobs: Vec<Job> = (0..64).map(|block| Job::read(block * u64::from(BLOCK))).collect();
            for job in jobs.iter_mut().skip(wrong).step_by(8) {
                job.offset += 1 << 63;
            }
            for done in rig.run(&jobs, |_, _| {}) {
                let name = format!("{}: {:?}", kind.name(), done.job);
                if done.job.offset >= 1 << 63 {
                    assert_eq!(done.result, -i64::from(sys::file::INVALID), "{name}");
                } else {
                    assert_eq!(done.result, i64::from(BLOCK), "{name}");
                    assert!(done.data == patterned(done.job.offset, BLOCK as usize, 4), "{name}");
                }
            }
        }
    }
}

#[test]
fn the_end_of_a_file_yields_fewer_bytes_and_then_none() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    let path = target.path.with_extension("short");
    fs::write(&path, patterned(0, 10_000, 3)).unwrap();
    for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
        let mut rig = Rig::new(kind, vec![open(&path, kind, false, Access::Read)], 4);
        let read_at = |offset: u64| Job::read(offset);
        for (job, result) in [
            (read_at(0), 4096),
            (read_at(8192), 1808),
            (read_at(12_288), 0),
            (read_at(1 << 40), 0),
        ] {
            assert_eq!(rig.one(job), result, "{}: {job:?}", kind.name());
        }
    }
}

#[test]
fn a_file_opened_for_reading_cannot_be_written() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
        let mut rig = Rig::new(kind, vec![target.open_for(kind, Access::Read)], 4);
        let expected = -i64::from(sys::file::ACCESS_DENIED);
        assert_eq!(rig.one(Job::write(0)), expected, "{}", kind.name());
        assert_eq!(rig.one(Job::read(0)), i64::from(BLOCK), "{}", kind.name());
    }
}

/// A small drive, filled up to the last 2 MiB while this exists.
struct NearlyFull {
    folder: PathBuf,
}

impl NearlyFull {
    fn new() -> Option<NearlyFull> {
        let Some(drive) = std::env::var_os("FATHOM_TEST_SMALL_DRIVE") else {
            testbed::note("FATHOM_TEST_SMALL_DRIVE does not name a small drive");
            return None;
        };
        let folder = Path::new(&drive).join("engine suite");
        fs::create_dir_all(&folder).unwrap();
        let filled = NearlyFull { folder };
        let (_, available) = sys::file::space(&filled.folder).unwrap();
        let filler = vec![0; available.saturating_sub(2 << 20) as usize];
        fs::write(filled.folder.join("filler"), filler).unwrap();
        Some(filled)
    }
}

impl Drop for NearlyFull {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_full_drive_is_reported_as_a_result() {
    let full = need!(NearlyFull::new());
    for kind in real_engines() {
        let path = full.folder.join("file");
        // Longer than the free space. A file system without sparse files refuses it here.
        if fs::File::create(&path).unwrap().set_len(8 << 20).is_err() {
            testbed::note("the small drive has no holes");
            return;
        }
        let mut rig = Rig::new(kind, vec![open(&path, kind, false, Access::ReadWrite)], 8);
        let jobs: Vec<Job> = (0..2048).map(|block| Job::write(block * u64::from(BLOCK))).collect();
        let done = rig.run(&jobs, |job, buffer| pattern(buffer, job.offset, 5));
        drop(rig);
        fs::remove_file(&path).unwrap();
        let failed = done.iter().filter(|done| done.result < 0).count();
        assert!(
            (1400..1800).contains(&failed),
            "{}: {failed} of 2048 did not fit",
            kind.name()
        );
        let expected = match kind {
            // The page cannot be allocated; the memory map does not learn why.
            EngineKind::Mmap => -i64::from(sys::file::IO_ERROR),
            _ => -i64::from(sys::file::NO_SPACE),
        };
        for done in &done {
            let result = done.result;
            assert!(
                [i64::from(BLOCK), expected].contains(&result),
                "{}: {result}",
                kind.name()
            );
        }
    }
}

#[test]
fn queue_engines_refuse_a_file_that_was_not_opened_for_them() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    for kind in QUEUES {
        let Err(error) = Rig::open(setup(kind, vec![target.open(EngineKind::Psync)], 4)) else {
            panic!("{} was opened", kind.name());
        };
        assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
    }
}

#[test]
fn engines_of_other_systems_are_reported_as_unavailable() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    for kind in [
        EngineKind::IoUring,
        EngineKind::Libaio,
        EngineKind::Splice,
        EngineKind::Vsync,
    ] {
        let Err(error) = Rig::open(setup(kind, vec![target.open(kind)], 4)) else {
            panic!("{} was opened", kind.name());
        };
        assert!(error.to_string().contains("does not have it"), "{error}");
    }
}

/// The number of an I/O priority: class and level.
fn priority(class: u16, level: u16) -> u16 {
    class << 13 | level
}

#[test]
fn files_have_io_priorities() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    const NORMAL: u16 = 0;
    for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
        for number in [priority(3, 7), priority(2, 7), priority(2, 4), NORMAL] {
            let mut file = target.open(kind);
            file.set_priority(number).unwrap();
            let mut rig = Rig::new(kind, vec![file], 4);
            assert_eq!(rig.one(Job::read(0)), i64::from(BLOCK), "{} {number}", kind.name());
        }
    }
    // There is nothing above the normal one.
    let error = target.open(EngineKind::Psync).set_priority(priority(1, 0)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}

#[test]
fn large_pages_are_allocated_or_the_privilege_is_named() {
    let target = need!(TargetKind::DiskDirect.make(SIZE));
    let mut huge = setup(EngineKind::Iocp, vec![target.open(EngineKind::Iocp)], 8);
    huge.huge_page = Some(0);
    match Rig::open(huge) {
        Ok(mut rig) => {
            rig.run_successfully(&[Job::write(0), Job::read(0)], |job, buffer| {
                pattern(buffer, job.offset, 1)
            });
        }
        Err(error) => {
            let help = error.help().unwrap();
            let words = format!("{error} {help}");
            assert!(matches!(error, EngineError::HugePages { .. }), "{words}");
            let reasons = ["SeLockMemoryPrivilege", "contiguous memory"];
            assert!(reasons.iter().any(|name| words.contains(name)), "{words}");
        }
    }
}

/// A file of several pages, for maps that are written back in this way.
fn mapped(path: &Path, flush: MapFlush, non_temporal: bool) -> Result<Rig, EngineError> {
    let how = OpenOptions {
        hint: OpenHint::default().with(|open_hint| (open_hint.random, open_hint.temporary) = (true, true)),
        ..OpenOptions::new(
            Access::Write,
            CacheMode {
                mapping: Some(Mapping { flush, non_temporal }),
                ..CacheMode::BUFFERED
            },
        )
    };
    Rig::open(setup(EngineKind::Mmap, vec![File::open(path, how).unwrap()], 1))
}

#[test]
fn maps_are_written_back_as_requested() {
    let target = need!(TargetKind::DiskBuffered.make(SIZE));
    let rounds = [(MapFlush::None, false), (MapFlush::None, true), (MapFlush::View, false)];
    for (generation, (flush, non_temporal)) in (1..).zip(rounds) {
        let mut rig = mapped(&target.path, flush, non_temporal).unwrap();
        let jobs: Vec<Job> = (0..64).map(|block| Job::write(block * u64::from(BLOCK))).collect();
        rig.run_successfully(&jobs, |job, buffer| pattern(buffer, job.offset, generation));
        drop(rig);
        let length = 64 * BLOCK as usize;
        assert!(
            target.read(0, length) == patterned(0, length, generation),
            "{flush:?} {non_temporal}"
        );
    }
    for flush in [MapFlush::Lines, MapFlush::LinesWithoutDrain] {
        match mapped(&target.path, flush, false) {
            Ok(_) => testbed::note("the disk is persistent memory"),
            Err(error) => assert!(error.to_string().contains("persistent memory"), "{error}"),
        }
    }
}
