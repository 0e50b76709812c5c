//! Other processes: those of the same test, which want the same files, and programs that use its
//! devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{plan_on, stream, worker};
use engine::clock::ClockStart;
use model::mix::Mix;
use model::plan::{AtEndOfJob, EngineKind, Plan, Prepare, Stop};
use model::results::Results;
use model::{Bytes, Nanos};
use run::targets::guard::Permissions;
use run::targets::{Cleanup, Peers};
use run::{RunContext, RunError, RunHooks};

const SIZE: Bytes = Bytes::mib(1);

/// Another process, which makes a file once all have looked.
#[derive(Default)]
struct Another {
    makes: Option<(PathBuf, Bytes)>,
    was_waited_for: AtomicBool,
    removals: Mutex<Vec<Cleanup>>,
    starts: Mutex<Vec<Nanos>>,
}

impl Peers for Another {
    fn await_examined(&self) {
        if let Some((path, size)) = &self.makes {
            assert!(!path.exists(), "nothing is made before");
            fs::write(path, vec![7; size.0 as usize]).unwrap();
        }
    }

    fn wait_for_file(&self, step: u32) {
        assert_eq!(step, 0);
        self.was_waited_for.store(true, Ordering::Relaxed);
    }

    fn defer_cleanup(&self, cleanup: Cleanup) {
        self.removals.lock().unwrap().push(cleanup);
    }

    fn began(&self, step: u32, at: Nanos) {
        assert_eq!(step, 0);
        self.starts.lock().unwrap().push(at);
    }
}

/// Writes to a file that has to be made, and goes at the end.
fn writes(path: &Path) -> Plan {
    let stop = Stop::after_operations(10);
    let mut plan = plan_on(
        &path.display().to_string(),
        EngineKind::Psync,
        stop,
        vec![worker(vec![stream()])],
    );
    plan.targets[0].prepare = Prepare::Filled { size: Some(SIZE) };
    plan.targets[0].at_end = AtEndOfJob::Remove;
    plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::WRITES;
    plan
}

fn beside(another: &Another, plan: Plan) -> Result<Results, RunError> {
    let (interrupt, permissions) = (AtomicBool::new(false), Permissions::default());
    let context = RunContext::new(ClockStart::now().calibrate(), &interrupt, &permissions);
    let hooks = RunHooks {
        others: Some(another),
        ..RunHooks::default()
    };
    run::execute(plan, context.with_hooks(hooks), &mut |_| {})
}

fn prepared(results: &Results) -> &str {
    &results.hosts[0].environment.targets[0].prepared
}

#[test]
fn what_another_makes_is_waited_for_used_and_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let another = Another {
        makes: Some((path.clone(), SIZE)),
        ..Another::default()
    };
    let results = beside(&another, writes(&path)).unwrap();
    assert!(another.was_waited_for.load(Ordering::Relaxed));
    assert!(prepared(&results).contains("by another process of this test"));
    assert_eq!(results.steps[0].jobs[0].total().operations, 10);
    assert_eq!(
        another.starts.lock().unwrap().len(),
        1,
        "it is reported once that a step has begun"
    );
    drop(another);
    assert!(path.exists(), "the process that made it removes it");
}

#[test]
fn what_was_made_here_stays_until_all_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let another = Another::default();
    let results = beside(&another, writes(&path)).unwrap();
    assert!(prepared(&results).contains("written for this run"));
    assert!(path.exists(), "others may still use it");
    drop(another);
    assert!(!path.exists());
}

#[test]
fn a_file_of_another_size_is_a_strangers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat");
    let another = Another {
        makes: Some((path.clone(), Bytes::mib(2))),
        ..Another::default()
    };
    let error = beside(&another, writes(&path)).unwrap_err();
    assert!(error.to_string().contains("was replaced"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), vec![7; 2 << 20], "it is as it was");
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_uses_the_device_of_a_test_is_named() {
    // A device of its own: another may serve less than `dd` needs to be seen.
    let Some(folder) = testbed::need(testbed::LoopFs::ext4(384 << 20)) else {
        return;
    };
    let file = |name: &str| folder.path().join(name).display().to_string();
    fs::write(file("ours"), vec![7; SIZE.0 as usize]).unwrap();
    let mut other = std::process::Command::new("dd")
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
    let plan = plan_on(&file("ours"), EngineKind::Psync, stop, vec![worker(vec![stream()])]);
    let (results, _) = crate::support::try_run(plan).unwrap();
    let _ = other.kill();
    other.wait().unwrap();
    let Some(device) = results.steps[0].devices.first() else {
        return testbed::skip("no device is known to lie under the directory");
    };
    assert!(device.counters.bytes[1] > 1 << 20, "{device:?}");
    let programs = &results.hosts[0].system.as_ref().unwrap().programs;
    let named = programs.iter().find(|program| program.process == other.id());
    assert_eq!(named.map(|program| program.name.as_str()), Some("dd"), "{programs:?}");
}
