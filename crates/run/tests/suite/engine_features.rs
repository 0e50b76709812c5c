//! Features that only some engines and targets have. They are I/O priorities of single operations,
//! atomic writes, and a pool of threads that make the calls.

use model::plan::{CacheMode, Priority, PriorityClass};

use crate::prelude::*;
use crate::support::create_folder;

fn target() -> (tempfile::TempDir, String) {
    let directory = create_folder();
    let path = directory.path().join("target");
    (directory, path.display().to_string())
}

/// A thousand operations on a file that fathom creates.
fn plan(path: &str, kind: EngineKind, workers: Vec<Worker>) -> Plan {
    let mut plan = plan_on(path, kind, Stop::after_operations(1000), workers);
    plan.targets[0].prepare = Prepare::Filled {
        size: Some(Bytes::mib(1)),
    };
    plan
}

/// The engines of this system that keep operations in flight.
fn asynchronous() -> Vec<EngineKind> {
    match cfg!(windows) {
        true => vec![EngineKind::Iocp, EngineKind::Routines],
        false => vec![EngineKind::IoUring, EngineKind::Libaio],
    }
}

#[test]
fn operations_have_their_own_priorities() {
    let (_directory, path) = target();
    let priority = |level, percent| {
        Some(Priority {
            class: PriorityClass::BestEffort,
            level,
            hint: 0,
            percent,
        })
    };
    let (mut high, mut low) = (stream(), stream());
    (high.priority, low.priority) = (priority(0, 30), priority(7, 100));
    (high.depth, low.depth) = (4, 4);
    high.mix = Mix::drawn(50.0, MixRule::Independent);
    let both = vec![worker(vec![high, low])];
    for kind in asynchronous().into_iter().chain([EngineKind::Null]) {
        let (_directory, path) = target();
        let job = run_job(plan(&path, kind, both.clone()));
        assert_eq!(job.workers[0].failure, None, "{}", kind.name());
        assert_eq!(job.total().operations, 1000, "{}", kind.name());
    }
    // On Windows every engine supports this, because the priority belongs to the open file.
    if !cfg!(windows) {
        let error = try_run(plan(&path, EngineKind::Psync, both)).unwrap_err();
        assert!(error.to_string().contains("same I/O priority"), "{error}");
    }
    // At one operation at a time, the choice must still be an engine that supports priorities.
    let prioritized = stream().with(|stream| stream.priority = priority(3, 50));
    let job = run_job(plan(&path, EngineKind::Auto, vec![worker(vec![prioritized])]));
    let expected = match cfg!(windows) {
        true => EngineKind::Psync,
        false => EngineKind::IoUring,
    };
    assert_eq!(job.workers[0].engine.kind, expected);
    assert_eq!(job.total().operations, 1000);
}

#[cfg_attr(windows, ignore = "this system has no such writes")]
#[test]
fn atomic_writes_are_done_or_refused_with_the_reason() {
    let (_directory, path) = target();
    let run = |kind, cache| {
        let tested_stream =
            stream().with(|tested_stream| (tested_stream.mix, tested_stream.cache) = (Mix::WRITES, cache));
        let atomic = worker(vec![tested_stream]).with(|atomic| atomic.engine.atomic = true);
        try_run(plan(&path, kind, vec![atomic]))
    };
    for kind in [
        EngineKind::IoUring,
        EngineKind::Libaio,
        EngineKind::Pvsync2,
        EngineKind::Auto,
    ] {
        let error = run(kind, CacheMode::BUFFERED).unwrap_err().to_string();
        assert!(error.contains("page cache"), "{error}");
        match run(kind, CacheMode::DIRECT) {
            Ok((results, _)) => {
                let job = &results.steps[0].jobs[0];
                assert_eq!(job.workers[0].failure, None);
                assert_eq!(job.total().operations, 1000);
            }
            Err(error) => assert!(error.to_string().contains("does not support atomic writes"), "{error}"),
        }
    }
    let error = run(EngineKind::Psync, CacheMode::DIRECT).unwrap_err().to_string();
    assert!(error.contains("the psync engine"), "{error}");
}

/// An engine that the system lacks is reported before anything is created.
#[test]
fn an_engine_of_another_system_is_refused_before_anything_is_created() {
    let (_directory, path) = target();
    let Some(refusal) = engine::unsupported_reason(EngineKind::IoRing, true) else {
        // This version of Windows has the engine.
        let job = run_job(plan(&path, EngineKind::IoRing, vec![worker(vec![stream()])]));
        assert_eq!(job.total().operations, 1000);
        return;
    };
    let writes = stream().with(|writes| writes.mix = Mix::WRITES);
    let error = try_run(plan(&path, EngineKind::IoRing, vec![worker(vec![writes])])).unwrap_err();
    assert_eq!(error.to_string(), refusal.to_string());
    assert!(
        error
            .to_string()
            .contains("the ioring engine cannot be used: this system"),
        "{error}"
    );
    assert!(!Path::new(&path).exists());
    for kind in [EngineKind::Psync, EngineKind::Auto] {
        assert_eq!(engine::unsupported_reason(kind, true), None);
    }
}

/// With a pool of threads, a synchronous engine has several operations in flight.
#[test]
fn a_pool_of_threads_makes_the_calls() {
    for offload in [false, true] {
        let (_directory, path) = target();
        let mut tested_stream = stream();
        tested_stream.depth = 4;
        // With few cores, a read from the page cache can end before the worker continues.
        tested_stream.cache = CacheMode::DIRECT;
        tested_stream.mix = Mix::drawn(30.0, MixRule::Independent);
        let pooled = worker(vec![tested_stream]).with(|pooled| pooled.engine.offload = offload);
        let job = run_job(plan(&path, EngineKind::Psync, vec![pooled]));
        let worker = &job.workers[0];
        assert_eq!(worker.failure, None);
        assert_eq!(job.total().operations, 1000);
        // Distributions begin with the class of none in flight.
        let deepest = worker.depth.classes.iter().rposition(|count| *count > 0);
        assert_eq!(deepest.unwrap() > 1, offload, "{:?}", worker.depth);
        assert_eq!(worker.slots, if offload { 4 } else { 1 });
        let listed = worker
            .engine
            .features
            .iter()
            .any(|feature| feature.contains("pool of 4 threads"));
        assert_eq!((worker.engine.kind, listed), (EngineKind::Psync, offload));
    }
    // The null engine makes no calls, but its operations still go through the pool.
    let pooled = worker(vec![stream()]).with(|pooled| pooled.engine.offload = true);
    let (_directory, path) = target();
    let job = run_job(plan(&path, EngineKind::Null, vec![pooled]));
    assert_eq!(job.workers[0].failure, None);
    assert_eq!(job.total().operations, 1000);
    let (_directory, path) = target();
    let mapped = worker(vec![stream()]).with(|mapped| mapped.engine.offload = true);
    let error = try_run(plan(&path, EngineKind::Mmap, vec![mapped])).unwrap_err();
    assert!(error.to_string().contains("pool of threads"), "{error}");
}
