//! Processes of a test that need the same files, and programs on its devices.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use model::plan::TargetCleanup;
use run::RunHooks;
use run::targets::{Cleanup, Peers};

use crate::prelude::*;

const SIZE: Bytes = Bytes::mib(1);

/// Another process, which creates a file once all processes have examined their targets.
#[derive(Default)]
struct OtherProcess {
    creates: Option<(PathBuf, Bytes)>,
    was_waited_for: AtomicBool,
    removals: Mutex<Vec<Cleanup>>,
    starts: Mutex<Vec<Nanos>>,
}

impl Peers for OtherProcess {
    fn await_examined(&self) {
        if let Some((path, size)) = &self.creates {
            assert!(!path.exists(), "no file is created before");
            fs::write(path, vec![7; size.0 as usize]).unwrap();
        }
    }

    fn wait_for_file(&self, step: u32) {
        assert_eq!(step, 0);
        self.was_waited_for.store(true, Ordering::Relaxed);
    }

    fn await_ended(&self) {}

    fn run_id(&self) -> &str {
        "1-2-3"
    }

    fn defer_cleanup(&self, cleanup: Cleanup) {
        self.removals.lock().unwrap().push(cleanup);
    }

    fn report_start(&self, step: u32, at: Nanos) {
        assert_eq!(step, 0);
        self.starts.lock().unwrap().push(at);
    }
}

/// A plan that creates a file, writes to it, and removes it at the end.
fn plan_with_writes(path: &Path) -> Plan {
    let stop = Stop::after_operations(10);
    let mut plan = plan_on(path, EngineKind::Psync, stop, vec![worker(vec![stream()])]);
    plan.targets[0].prepare = Prepare::Filled { size: Some(SIZE) };
    plan.targets[0].at_end = TargetCleanup::Remove;
    plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::WRITES;
    plan
}

fn run_with(other_process: &OtherProcess, plan: Plan) -> Result<Results, RunError> {
    let (interrupt, permissions) = (AtomicBool::new(false), Permissions::default());
    let context = RunContext::new(ClockStart::now().calibrate(), &interrupt, &permissions);
    let hooks = RunHooks::default().with(|run_hooks| run_hooks.others = Some(other_process));
    run::execute(plan, context.with_hooks(hooks), &mut |_| {})
}

fn target_preparation(results: &Results) -> &str {
    &results.hosts[0].environment.targets[0].prepared
}

#[test]
fn a_file_of_another_process_is_awaited_used_and_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let other_process =
        OtherProcess::default().with(|other_process| other_process.creates = Some((path.clone(), SIZE)));
    let results = run_with(&other_process, plan_with_writes(&path)).unwrap();
    assert!(other_process.was_waited_for.load(Ordering::Relaxed));
    assert!(target_preparation(&results).contains("by another process of this test"));
    assert_eq!(results.steps[0].jobs[0].total().operations, 10);
    assert_eq!(
        other_process.starts.lock().unwrap().len(),
        1,
        "it is reported once that a step has begun"
    );
    drop(other_process);
    assert!(path.exists(), "the process that created it removes it");
}

#[test]
fn a_created_file_stays_until_all_processes_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let other_process = OtherProcess::default();
    let results = run_with(&other_process, plan_with_writes(&path)).unwrap();
    assert!(target_preparation(&results).contains("written for this run"));
    assert!(path.exists(), "others may still use it");
    drop(other_process);
    assert!(!path.exists());
}

#[test]
fn a_file_of_another_size_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let other_process =
        OtherProcess::default().with(|other_process| other_process.creates = Some((path.clone(), Bytes::mib(2))));
    let error = run_with(&other_process, plan_with_writes(&path)).unwrap_err();
    assert!(error.to_string().contains("has replaced it"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), vec![7; 2 << 20], "it is unchanged");
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_uses_the_device_of_a_test_is_named() {
    // Nothing else uses this device. On a shared one, `dd` might transfer too little to be noticed.
    let folder = testbed::need!(testbed::LoopFs::ext4(384 << 20));
    let file = |name: &str| folder.path().join(name).display().to_string();
    fs::write(file("ours"), vec![7; SIZE.0 as usize]).unwrap();
    let mut other = Command::new("dd")
        .args([
            "if=/dev/zero",
            &format!("of={}", file("theirs")),
            "bs=64k",
            "count=4000",
        ])
        .args(["oflag=direct,dsync", "status=none"])
        .spawn()
        .unwrap();
    let stop = Stop::after(Nanos::secs(1));
    let plan = plan_on(file("ours"), EngineKind::Psync, stop, vec![worker(vec![stream()])]);
    let (results, _) = try_run(plan).unwrap();
    let _ = other.kill();
    other.wait().unwrap();
    let Some(device) = results.steps[0].devices.first() else {
        return testbed::skip("no device is known under the directory");
    };
    assert!(device.counters.bytes[1] > 1 << 20, "{device:?}");
    let programs = &results.hosts[0].system.as_ref().unwrap().programs;
    let program = programs.iter().find(|program| program.process == other.id());
    assert_eq!(program.map(|program| program.name.as_str()), Some("dd"), "{programs:?}");
}
