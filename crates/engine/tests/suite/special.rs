//! Engines that do something other than transferring data, and one that merges operations: the
//! effect of each, observed from outside.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use engine::{Access, Action, EngineError, File, Request};
use model::Nanos;
use model::plan::{CpuWork, EngineKind, LookupCall, Program};
use testbed::{Directory, With};

use crate::driver::{BLOCK, Job, Rig, clock, setup};
use crate::test_targets;

const ENOENT: i64 = 2;
const EEXIST: i64 = 17;
const EINVAL: i64 = 22;

/// Executes one operation.
fn execute(rig: &mut Rig, request: Request) -> i64 {
    let ended = rig.turn(&[request], 1, Nanos::NEVER);
    assert_eq!(ended.len(), 1);
    ended[0].1.result
}

/// The results of the operation at the start of a name, and of one after it.
fn on_name(rig: &mut Rig) -> i64 {
    let result = execute(rig, Job::read(0).in_slot(0));
    // Operations on the rest of the file do nothing and cannot fail.
    assert_eq!(execute(rig, Job::read(4096).in_slot(0)), 4096);
    // Neither can a flush.
    assert_eq!(execute(rig, Job::flush(Action::Flush).in_slot(0)), 0);
    result
}

fn open_by_name(kind: EngineKind, path: &Path) -> Rig {
    Rig::new(kind, vec![File::named(path, 8192)], 1)
}

#[test]
fn files_are_created_looked_up_and_removed_by_name() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("file");
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileStat, &path)), -ENOENT);
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileDelete, &path)), -ENOENT);
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileCreate, &path)), 4096);
    let meta = fs::metadata(&path).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o600));
    // An existing file stays unchanged.
    fs::write(&path, "kept").unwrap();
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileCreate, &path)), 4096);
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileStat, &path)), 4096);
    assert_eq!(on_name(&mut open_by_name(EngineKind::FileDelete, &path)), 4096);
    assert!(!path.exists());
}

#[test]
fn directories_are_created_looked_up_and_removed_by_name() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("inner");
    assert_eq!(on_name(&mut open_by_name(EngineKind::DirectoryStat, &path)), -ENOENT);
    assert_eq!(on_name(&mut open_by_name(EngineKind::DirectoryCreate, &path)), 4096);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert_eq!(on_name(&mut open_by_name(EngineKind::DirectoryCreate, &path)), -EEXIST);
    assert_eq!(on_name(&mut open_by_name(EngineKind::DirectoryStat, &path)), 4096);
    // A directory that is not empty is not removed.
    fs::write(path.join("file"), "").unwrap();
    assert!(on_name(&mut open_by_name(EngineKind::DirectoryDelete, &path)) < 0);
    fs::remove_file(path.join("file")).unwrap();
    assert_eq!(on_name(&mut open_by_name(EngineKind::DirectoryDelete, &path)), 4096);
    assert!(!path.exists());
}

#[test]
fn only_one_call_does_not_follow_links() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    for (look, result) in [
        (LookupCall::Stat, -ENOENT),
        (LookupCall::Statx, -ENOENT),
        (LookupCall::Lstat, 4096),
    ] {
        let mut setup = setup(EngineKind::FileStat, vec![File::named(&path, 8192)], 1);
        setup.choice.lookup_call = look;
        assert_eq!(on_name(&mut Rig::open(setup).unwrap()), result, "{look:?}");
    }
}

#[test]
fn a_created_file_stays_open_only_until_the_next_operation() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("file");
    let open = || {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
        descriptors
            .filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path))
            .count()
    };
    let mut rig = open_by_name(EngineKind::FileCreate, &path);
    assert_eq!(execute(&mut rig, Job::write(0).in_slot(0)), 4096);
    assert_eq!(open(), 1);
    assert_eq!(execute(&mut rig, Job::write(4096).in_slot(0)), 4096);
    assert_eq!(open(), 0);
}

#[test]
fn writes_extend_a_file_and_other_operations_fail() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, vec![7; 16384]).unwrap();
    let file = test_targets::open(&path, EngineKind::Truncate, false, Access::ReadWrite);
    let mut rig = Rig::new(EngineKind::Truncate, vec![file], 1);
    for (job, result, size) in [
        (Job::write(8192), 4096, 8192),
        (Job::write(65536), 4096, 65536),
        (Job::write(0), 4096, 0),
        (Job::write(4096), 4096, 4096),
        (Job::read(0), -EINVAL, 4096),
        (Job::trim(0, 4096), -EINVAL, 4096),
        (Job::flush(Action::Flush), -EINVAL, 4096),
    ] {
        assert_eq!(execute(&mut rig, job.in_slot(0)), result, "{job:?}");
        assert_eq!(fs::metadata(&path).unwrap().len(), size, "{job:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), vec![0; 4096], "no data is written");
}

/// Read and write calls of this thread so far, as the kernel counts them.
fn calls() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let number = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    (number("syscr:"), number("syscw:"))
}

#[test]
fn adjacent_operations_in_one_batch_are_one_call() {
    let folder = Directory::new().unwrap();
    let path = folder.path().join("file");
    let bytes: Vec<u8> = (0..64 * BLOCK).map(|index| (index / BLOCK) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let block = |number: u64| Job::read(number * u64::from(BLOCK));
    let back = |number: u64| Job::write(number * u64::from(BLOCK));
    // Operations that are submitted together, and how many of them the first call covers.
    for (jobs, taken) in [
        (vec![block(0), block(1), block(2), block(3)], 4),
        (vec![block(0), block(1), block(3), block(4)], 2),
        (vec![block(1), block(0)], 1),
        (vec![block(0), back(1), back(2)], 1),
        (vec![back(5), back(6), block(7)], 2),
        (vec![block(0), block(1).in_file(1)], 1),
        (vec![Job::flush(Action::Flush), block(0)], 1),
        (vec![block(62), block(63), block(64)], 2),
    ] {
        let open = || test_targets::open(&path, EngineKind::Vsync, false, Access::ReadWrite);
        let mut rig = Rig::new(EngineKind::Vsync, vec![open(), open()], 4);
        for (slot, job) in jobs.iter().enumerate().filter(|(_, job)| job.action == Action::Write) {
            rig.engine
                .buffer(engine::Slot(slot as u32))
                .fill((job.offset / u64::from(BLOCK)) as u8);
        }
        let requests: Vec<Request> = (0..).zip(&jobs).map(|(slot, job)| job.in_slot(slot)).collect();
        let before = calls();
        let ended = rig.turn(&requests, 1, Nanos::NEVER);
        let after = calls();
        assert_eq!(ended.len(), taken, "{jobs:?}");
        for (request, completion) in &ended {
            assert_eq!(completion.result, i64::from(request.length), "{jobs:?}");
            if request.action == Action::Read {
                let data = rig.engine.buffer(request.slot).to_vec();
                assert_eq!(
                    data,
                    test_targets::read(&path, request.offset, BLOCK as usize),
                    "{jobs:?}"
                );
            }
        }
        // Reading the counters costs one or two read calls itself.
        let writes = u64::from(jobs[0].action == Action::Write);
        assert_eq!(after.1 - before.1, writes, "{jobs:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

fn cpu(work: CpuWork) -> Rig {
    let setup = setup(EngineKind::Cpu, vec![File::placeholder(4096)], 1)
        .with(|setup| (setup.buffer_bytes, setup.choice.work) = (0, Some(work)));
    Rig::open(setup).unwrap()
}

#[test]
fn a_processor_spins_for_the_given_time() {
    let time = Nanos::millis(3);
    let mut rig = cpu(CpuWork::Spin { time_ns: time });
    for _ in 0..5 {
        let before = clock().now();
        assert_eq!(execute(&mut rig, Job::flush(Action::Flush).in_slot(0)), 0);
        let took = clock().now().since(before);
        assert!(took >= time, "{took}");
    }
}

#[test]
fn a_processor_that_sorts_rests_in_between() {
    let sort = |percent| CpuWork::Sort { numbers: 4096, percent };
    let mut rig = cpu(sort(1));
    let first = rig.turn(&[Job::flush(Action::Flush).in_slot(0)], 1, Nanos::NEVER);
    let took = first[0].1.at.since(rig.batch.submit_start);
    // It rests 99 times as long; the deadline comes first.
    let end = first[0].1.at;
    let request = Job::flush(Action::Flush).in_slot(0);
    rig.engine
        .submit_and_reap(&[request], 1, end + Nanos(took.0), &mut rig.batch)
        .unwrap();
    assert_eq!((rig.batch.submitted, rig.batch.done.len()), (0, 0));
    let mut turns = 0;
    while rig.batch.submitted == 0 {
        rig.engine
            .submit_and_reap(&[request], 1, Nanos::NEVER, &mut rig.batch)
            .unwrap();
        turns += 1;
        assert!(turns < 1000);
    }
    let rested = rig.batch.submit_start.since(end);
    // Time that the turn takes in addition to sorting is not included.
    assert!(rested.0 >= 50 * took.0, "{rested} after {took}");
    let mut busy = cpu(sort(100));
    for _ in 0..3 {
        assert_eq!(execute(&mut busy, request), 0);
    }
}

fn program(path: &str, arguments: &[&str], folder: &Path) -> Program {
    let file = |name: &str| Some(folder.join(name).to_str().unwrap().to_owned());
    Program {
        path: path.into(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        output: file("out"),
        errors: file("err"),
        look_ns: Nanos::millis(1),
        ends_after_ns: Nanos::millis(50),
        grace_ns: Nanos::millis(100),
    }
}

fn running(program: Program) -> Rig {
    let setup = setup(EngineKind::Program, vec![File::placeholder(4096)], 1)
        .with(|setup| (setup.buffer_bytes, setup.choice.program) = (0, Some(program)));
    Rig::open(setup).unwrap()
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_program_runs_with_its_arguments_and_its_output_is_stored() {
    let folder = Directory::new().unwrap();
    let mut rig = running(program(
        "sh",
        &["-c", "echo $0; echo $1 >&2", "one", "two"],
        folder.path(),
    ));
    let look = Job::flush(Action::Flush).in_slot(0);
    let patience = Instant::now() + Duration::from_secs(20);
    while !folder.path().join("err").exists() || read_text(&folder.path().join("err")).is_empty() {
        assert_eq!(execute(&mut rig, look), 0);
        assert!(Instant::now() < patience);
    }
    drop(rig);
    assert_eq!(read_text(&folder.path().join("out")), "one\n");
    assert_eq!(read_text(&folder.path().join("err")), "two\n");
}

#[test]
fn a_program_is_terminated_and_then_killed() {
    let look = Job::flush(Action::Flush).in_slot(0);
    // One program that ends when it is asked to, and one that does not.
    for (script, said) in [
        (
            "trap 'echo asked; exit' TERM; echo up; while :; do sleep 0.01; done",
            "up\nasked\n",
        ),
        ("trap '' TERM; echo up; while :; do sleep 0.01; done", "up\n"),
    ] {
        let folder = Directory::new().unwrap();
        let out = folder.path().join("out");
        let asked = program("sh", &["-c", script], folder.path()).with(|asked| asked.ends_after_ns = Nanos::secs(3600));
        let mut rig = running(asked);
        assert_eq!(execute(&mut rig, look), 0);
        while read_text(&out).is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(rig);
        assert_eq!(read_text(&out), said, "{script}");
        let left = fs::metadata(&out).unwrap().len();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(fs::metadata(&out).unwrap().len(), left);
    }
}

#[test]
fn a_missing_program_is_an_error() {
    let folder = Directory::new().unwrap();
    let mut rig = running(program("/nowhere/program", &[], folder.path()));
    assert_eq!(execute(&mut rig, Job::flush(Action::Flush).in_slot(0)), -ENOENT);
}

#[test]
fn engines_without_a_command_report_an_error() {
    for kind in [EngineKind::Cpu, EngineKind::Program] {
        let Err(error) = Rig::open(setup(kind, vec![File::placeholder(4096)], 1)) else {
            panic!("{} was opened", kind.name());
        };
        assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
    }
}
