//! Runs of engines that work on names, and of programs.

use std::time::Duration;

use crate::prelude::*;
use crate::support::{create_folder, try_run_permitted};
use model::access::Advance;
use model::plan::Program;
use testbed::{LoopDevice, LoopOptions};

/// One sequential pass from start to end.
fn single_pass() -> (Stop, Worker) {
    let mut tested_stream = stream();
    tested_stream.pattern.access = vec![Access::Sequential(Sequential::default().with(|sequential| {
        (sequential.advance, sequential.at_end) = (Advance::Length { skip: 0 }, AtEnd::Finish)
    }))];
    let stop = Stop::after_passes(1);
    (stop, worker(vec![tested_stream]))
}

/// One pass of an engine over a name.
fn plan_of_pass(path: &str, kind: EngineKind) -> Plan {
    let (stop, worker) = single_pass();
    plan_on(path, kind, stop, vec![worker])
}

/// The user permits overwriting this file.
fn permit_overwriting(path: &str) -> Permissions {
    Permissions::default().with(|permissions| permissions.overwrite = vec![path.into()])
}

#[test]
fn all_operations_of_a_file_are_counted_but_only_one_has_a_latency() {
    let folder = create_folder();
    let path = folder.path().join("file");
    fs::write(&path, vec![1; 16384]).unwrap();
    let name = path.display().to_string();
    let refused = try_run(plan_of_pass(&name, EngineKind::FileDelete)).expect_err("the file is not ours");
    assert!(refused.to_string().contains("--allow-overwrite"), "{refused}");
    assert!(path.exists());
    for (kind, there) in [(EngineKind::FileStat, true), (EngineKind::FileDelete, false)] {
        let (results, _) =
            try_run_permitted(plan_of_pass(&name, kind), &permit_overwriting(&name)).expect("it is permitted");
        let total = results.steps[0].jobs[0].total();
        assert_eq!((total.operations, total.bytes), (4, Bytes(16384)), "{}", kind.name());
        assert_eq!(total.total.n(), 1, "{}", kind.name());
        assert_eq!(path.exists(), there, "{}", kind.name());
    }
}

/// A permission is for the target of the first run, not for a later one of the same name.
#[test]
fn a_target_that_was_replaced_between_two_runs_is_refused() {
    let folder = create_folder();
    let (path, new) = (folder.path().join("file"), folder.path().join("new"));
    fs::write(&path, vec![1; 16384]).unwrap();
    fs::write(&new, vec![2; 16384]).unwrap();
    assert_refused_once_replaced(&path, || fs::rename(&new, &path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), vec![2; 16384]);
    let device = need!(LoopDevice::with_size(1 << 20, LoopOptions::default()));
    let losetup = |arguments: [&Path; 2]| Command::new("losetup").args(arguments).status().unwrap().success();
    assert_refused_once_replaced(device.path(), || {
        assert!(losetup([Path::new("-d"), device.path()]));
        // The device is detached only when its last user closes it.
        assert!((0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            losetup([device.path(), device.backing()])
        }));
    });
}

fn assert_refused_once_replaced(path: &Path, replace: impl FnOnce()) {
    let name = path.display().to_string();
    let mut plan = plan_of_pass(&name, EngineKind::Psync);
    plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::WRITES;
    let permissions = Permissions::default().with(|permissions| permissions.destroy = vec![name]);
    for _ in 0..2 {
        try_run_permitted(plan.clone(), &permissions).expect("it is permitted");
    }
    replace();
    let refused = try_run_permitted(plan, &permissions).expect_err("it was replaced");
    assert!(refused.to_string().contains("has replaced it since"), "{refused}");
}

#[test]
fn a_file_is_not_held_open_while_it_is_removed() {
    let folder = create_folder();
    let path = folder.path().join("file");
    fs::write(&path, vec![1; 4096]).unwrap();
    let path = path.display().to_string();
    let gone = format!("{path} (deleted)");
    let mut checks = 0;
    let deletion = plan_of_pass(&path, EngineKind::FileDelete);
    let ran = run_watched(deletion, &permit_overwriting(&path), &mut |event| {
        if matches!(event, Event::JobEnded { .. }) {
            checks += 1;
            let open = fs::read_dir("/proc/self/fd").expect("this is Linux").flatten();
            let mut names = open.filter_map(|entry| fs::read_link(entry.path()).ok());
            assert!(!names.any(|name| name.display().to_string() == gone));
        }
    });
    ran.expect("the file can be removed");
    assert_eq!(checks, 1);
}

#[test]
fn devices_are_not_created_looked_up_or_removed() {
    for kind in [EngineKind::FileCreate, EngineKind::FileStat, EngineKind::FileDelete] {
        let mut plan = plan_of_pass("/dev/null", kind);
        plan.targets[0].kind = TargetKind::Name {
            size: Bytes::kib(4),
            directory: false,
        };
        let error = try_run(plan).expect_err("a device is not accepted as a name");
        assert!(error.to_string().contains("/dev/null is a device"), "{error}");
    }
}

#[test]
fn programs_of_a_plan_run_only_if_permitted() {
    let folder = create_folder();
    let mark = folder.path().join("mark");
    let (_, mut runner) = single_pass();
    runner.engine.kind = EngineKind::Program;
    runner.engine.program = Some(Program {
        path: "touch".into(),
        arguments: vec![mark.display().to_string()],
        look_ns: Nanos::millis(200),
        ends_after_ns: Nanos::secs(60),
        grace_ns: Nanos::secs(60),
        ..Program::default()
    });
    let stop = Stop::after_operations(6);
    let mut plan = plan(device(), stop, vec![runner]);
    plan.targets[0].kind = TargetKind::Nothing { size: Bytes::kib(4) };
    let run = |programs: bool| {
        let permissions = Permissions::default().with(|permissions| permissions.programs = programs);
        try_run_permitted(plan.clone(), &permissions)
    };
    let error = run(false).expect_err("writing was not allowed");
    assert!(
        error.to_string().contains("it runs touch with the rights of this user"),
        "{error}"
    );
    assert!(!mark.exists());
    let (results, _) = run(true).expect("it is allowed");
    let total = results.steps[0].jobs[0].total();
    assert_eq!((total.operations, total.bytes, total.total.n()), (6, Bytes(0), 6));
    assert!(mark.exists());
}

#[test]
fn trims_are_looked_up_like_any_other_block() {
    let folder = create_folder();
    let path = folder.path().join("file");
    fs::write(&path, vec![1; 8192]).unwrap();
    let mut plan = plan_of_pass(&path.display().to_string(), EngineKind::FileStat);
    plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::Only {
        direction: Direction::Trim,
    };
    let total = run_job(plan).total().into_owned();
    assert_eq!((total.operations, total.total.n()), (2, 1));
    assert_eq!(
        fs::read(&path).expect("it still exists"),
        vec![1; 8192],
        "nothing is trimmed"
    );
}
