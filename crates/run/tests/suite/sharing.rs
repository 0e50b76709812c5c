//! File locks and divided operations, which workers share, and priorities within a stream.

use crate::prelude::*;
use crate::support::{QUEUE, run_logged};
use model::plan::{FileLock, Flow, PriorityClass, PriorityRule, WriteThrough};

/// Runs two workers. Returns when each operation of each worker began and ended.
fn spans(lock: FileLock, directions: [Direction; 2], engine: EngineKind) -> Vec<Vec<(Nanos, Nanos)>> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("file");
    fs::write(&path, vec![7; 1 << 20]).expect("the file is written");
    let stream_of = |direction: Direction| {
        let mut one: Stream = stream();
        one.mix = Mix::Only { direction };
        one.cache.write_through = WriteThrough::Data;
        one.lock = lock;
        one
    };
    let workers = directions.map(|direction| worker(vec![stream_of(direction)]));
    let stop = Stop::after_operations(200);
    let mut plan = plan_on(&path, engine, stop, workers.into());
    plan.target_rules.consent = model::plan::Consent::Implied;
    let mut spans = vec![Vec::new(), Vec::new()];
    for operation in run_logged(plan).1 {
        spans[operation.worker as usize].push((operation.issued(), operation.completed));
    }
    assert!(spans.iter().all(|of| of.len() == 200));
    spans
}

fn count_overlaps(spans: &[Vec<(Nanos, Nanos)>]) -> usize {
    let meet = |span: &&(Nanos, Nanos)| spans[1].iter().any(|other| span.0 < other.1 && other.0 < span.1);
    spans[0].iter().filter(meet).count()
}

#[test]
fn a_locked_file_is_used_by_one_worker_at_a_time() {
    use Direction::{Read, Write};
    for (lock, directions) in [
        (FileLock::Exclusive, [Write, Write]),
        (FileLock::Exclusive, [Read, Read]),
        (FileLock::ReadersTogether, [Write, Write]),
        (FileLock::ReadersTogether, [Read, Write]),
    ] {
        let operation_spans = spans(lock, directions, EngineKind::Psync);
        assert_eq!(count_overlaps(&operation_spans), 0, "{lock:?} {directions:?}");
    }
    // Shared readers, and engines with a queue, must end too.
    spans(FileLock::ReadersTogether, [Read, Read], EngineKind::Psync);
    spans(FileLock::Exclusive, [Read, Write], QUEUE);
}

#[test]
fn operations_are_divided_by_weight_at_any_speed_of_the_workers() {
    let counts = |divides: bool| {
        let stream_of = |weight: u32, rate: u64| {
            let mut tested_stream = stream();
            tested_stream.pacing = Pacing::Together { rate: Rate::iops(rate) };
            tested_stream.flow = divides.then_some(Flow {
                id: 1,
                weight,
                pause_ns: Nanos::micros(100),
            });
            tested_stream
        };
        let workers = vec![worker(vec![stream_of(1, 20_000)]), worker(vec![stream_of(3, 300)])];
        let mut plan = plan(device(), Stop::after(Nanos::millis(500)), workers);
        plan.targets[0].kind = TargetKind::Nothing { size: Bytes::mib(1) };
        for worker in &mut plan.steps[0].jobs[0].workers {
            worker.engine.kind = EngineKind::Null;
        }
        let job = run_job(plan);
        let worker_operations = |worker: usize| {
            let stream = &job.workers[worker].streams[0];
            stream.directions.read.as_ref().unwrap().operations
        };
        [worker_operations(0), worker_operations(1)]
    };
    // The slow worker limits the fast one to a third of its operations, and to those of a few
    // milliseconds after its end; alone, the fast one issues 10,000.
    let [fast, slow] = counts(true);
    assert!(fast <= slow / 3 + 1000, "{fast} and {slow}");
    let [fast, slow] = counts(false);
    assert!(fast > slow, "{fast} and {slow}");
}

#[test]
fn operations_are_counted_by_their_priorities() {
    let mut tested_stream = stream();
    tested_stream.depth = 4;
    tested_stream.mix = Mix::Exact { write_percent: 50.0 };
    let rule = |direction, percent, level| PriorityRule {
        direction,
        length: None,
        percent,
        class: PriorityClass::BestEffort,
        level,
        hint: 0,
    };
    tested_stream.priority_rules = vec![
        rule(Direction::Read, 25, 5),
        rule(Direction::Write, 10, 6),
        rule(Direction::Write, 50, 7),
    ];
    let stop = Stop::after_operations(2000);
    let mut plan = plan(device(), stop, vec![worker(vec![tested_stream])]);
    plan.targets[0].kind = TargetKind::Nothing { size: Bytes::mib(1) };
    plan.steps[0].jobs[0].workers[0].engine.kind = EngineKind::Null;
    let job = run_job(plan);
    let directions = job.directions();
    let priority_figures = |direction: Direction| {
        let results = directions[direction].as_ref().unwrap();
        assert_eq!(results.operations, 1000);
        let priorities = results.priorities.iter();
        priorities
            .map(|priority_figures| {
                (
                    priority_figures.class,
                    priority_figures.level,
                    priority_figures.operations,
                    priority_figures.total.n(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(priority_figures(Direction::Read), [(0, 0, 750, 750), (2, 5, 250, 250)]);
    assert_eq!(
        priority_figures(Direction::Write),
        [(0, 0, 400, 400), (2, 6, 100, 100), (2, 7, 500, 500)]
    );
}
