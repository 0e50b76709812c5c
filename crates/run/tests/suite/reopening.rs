//! Streams that close and reopen their target while they are measured.

use crate::prelude::*;

const BLOCK: u64 = 4096;

/// Runs a worker with these streams. Returns the number of completed connections of each stream,
/// and the blocks of the file that were written.
fn run(engine: EngineKind, depth: DepthScope, operations: u64, streams: Vec<Stream>) -> (Vec<u64>, Vec<usize>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("target").display().to_string();
    fs::write(&path, vec![0; 16 * BLOCK as usize]).unwrap();
    let tested_worker = worker(streams).with(|tested_worker| tested_worker.depth = depth);
    let mut plan = plan_on(&path, engine, Stop::after_operations(operations), vec![tested_worker]);
    plan.target_rules.consent = model::plan::Consent::Implied;
    let job = run_job(plan);
    let [found] = &job.workers[..] else { panic!("{job:?}") };
    assert_eq!(job.total().operations, operations, "{engine:?}");
    assert_eq!(&found.failure, &None, "{engine:?}");
    let connections = found.streams.iter().map(|stream| {
        let connections = stream.connections.as_ref().expect("it is reopened");
        assert_eq!(connections.operations, connections.latency.n());
        assert!(connections.operations == 0 || connections.latency.min() > 0);
        connections.operations
    });
    let file = fs::read(&path).unwrap();
    let blocks = file.chunks(BLOCK as usize).enumerate();
    let written = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0));
    (connections.collect(), written.map(|(number, _)| number).collect())
}

fn sequential(mix: Mix, every: u32, depth: u32) -> Stream {
    Stream {
        mix,
        depth,
        content: Content::Stamped,
        pattern: Pattern::simple(Access::Sequential(Sequential::default()), Bytes(BLOCK)),
        reopen_every: Some(every),
        ..stream()
    }
}

/// The last connection is still open at the end, so it is not counted.
#[test]
fn positions_restart_in_each_connection() {
    for engine in [EngineKind::Psync, EngineKind::IoUring, EngineKind::Libaio] {
        for (every, depth, connections, last) in [(3, 1, 3, 3), (5, 4, 2, 5), (1, 8, 11, 1)] {
            let found = run(
                engine,
                DepthScope::PerStream,
                12,
                vec![sequential(Mix::WRITES, every, depth)],
            );
            let expected = (vec![connections], (0..last).collect::<Vec<usize>>());
            assert_eq!(found, expected, "{engine:?}, every {every} at depth {depth}");
        }
    }
}

/// With `Depth::PerTarget`, the streams of a target share its connections, even if one reads and
/// the other writes.
#[test]
fn streams_of_a_target_share_its_connections() {
    let streams = vec![sequential(Mix::READS, 4, 2), sequential(Mix::WRITES, 4, 2)];
    let depth = DepthScope::PerTarget { alternatives: 2 };
    let (connections, written) = run(EngineKind::IoUring, depth, 40, streams);
    assert_eq!(connections, [9, 0]);
    assert!(written.len() <= 4, "{written:?}");
}

#[test]
fn reopening_after_zero_operations_is_refused() {
    let plain = worker(vec![stream().with(|stream| stream.reopen_every = Some(0))]);
    let refused = plan_on("/x", EngineKind::Psync, Stop::after(Nanos::secs(1)), vec![plain]).check();
    assert!(refused.unwrap_err().to_string().contains("can be reopened"));
}
