//! Streams on sets of files: the order of files, the number of open files, and the end of a pass.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::access::PositionSharing;
use model::plan::FileService;

use crate::prelude::*;

const BLOCK: usize = 4096;

/// Returns a stream that writes four files of four blocks once.
fn set_stream(open_at_once: u32, service: FileService, operations: u64) -> Stream {
    let sequential = Access::Sequential(Sequential {
        at_end: AtEnd::Finish,
        positions: PositionSharing::PerDirection,
        ..Sequential::default()
    });
    Stream {
        target: StreamTarget::files((0..4).map(TargetId).collect(), open_at_once, service, operations),
        mix: Mix::WRITES,
        content: Content::Stamped,
        pattern: Pattern::simple(sequential, Bytes(BLOCK as u64)),
        ..stream()
    }
}

fn one_pass() -> Stop {
    Stop::after_passes(1)
}

/// Returns a plan for a stream on four files in a directory.
fn plan_on_files(directory: &Path, engine: EngineKind, stop: Stop, stream: Stream) -> Plan {
    let mut tested_worker = worker(vec![stream]);
    tested_worker.engine.kind = engine;
    // Use the seed of fio's first clone, so that random orders match fio's logs.
    tested_worker.draws = GeneratorChoice::fio(0x89, 1);
    let mut plan = plan(device(), stop, vec![tested_worker]);
    plan.targets = (0..4)
        .map(|number| {
            let path = directory.join(number.to_string());
            fs::write(&path, vec![0; 4 * BLOCK]).unwrap();
            testing::file(&path.display().to_string())
        })
        .collect();
    // Permit writes to the existing files.
    plan.target_rules.consent = model::plan::Consent::Implied;
    plan
}

/// Returns the files in the order in which their blocks were written, according to their stamps.
fn write_order(directory: &Path) -> Vec<usize> {
    let mut stamps: Vec<(u64, usize)> = Vec::new();
    for number in 0..4 {
        for block in fs::read(directory.join(number.to_string())).unwrap().chunks(BLOCK) {
            let stamp = u64::from_le_bytes(block[504..512].try_into().unwrap());
            assert_ne!(stamp, 0, "a block of file {number} was not written");
            stamps.push((stamp, number));
        }
    }
    stamps.sort_unstable();
    stamps.into_iter().map(|(_, number)| number).collect()
}

/// Returns the digits of a text as numbers.
fn parse_digits(text: &str) -> Vec<usize> {
    text.bytes().map(|digit| usize::from(digit - b'0')).collect()
}

/// fio 3.33 logged these orders for the same job.
#[test]
fn every_service_has_the_order_of_fio() {
    let cases: [(FileService, u64, u32, &str); 7] = [
        (FileService::RoundRobin, 1, 2, "0101010123232323"),
        (FileService::RoundRobin, 2, 2, "0011001122332233"),
        (FileService::Sequential, 1, 2, "0000111122223333"),
        (FileService::RoundRobin, 1, 4, "0123012301230123"),
        (FileService::Random, 1, 4, "3300202323112011"),
        (FileService::Random, 3, 4, "3333000022221111"),
        (FileService::Random, 1, 2, "3300033110121222"),
    ];
    for engine in [EngineKind::Psync, EngineKind::IoUring, EngineKind::Pvsync2] {
        for (service, operations, open, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            let tested_stream = set_stream(open, service, operations);
            let job = run_job(plan_on_files(directory.path(), engine, one_pass(), tested_stream));
            let what = format!("{engine:?} {service:?}:{operations} with {open} open");
            assert_eq!(write_order(directory.path()), parse_digits(expected), "{what}");
            assert_eq!(job.total().operations, 16, "{what}");
            assert_eq!(job.workers[0].streams[0].targets, [0, 1, 2, 3]);
            assert!(job.workers[0].failure.is_none());
        }
    }
}

#[test]
fn deep_queues_write_every_block_once() {
    for (engine, open) in [
        (EngineKind::IoUring, 4),
        (EngineKind::IoUring, 1),
        (EngineKind::Libaio, 2),
        (EngineKind::IoUring, 3),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let tested_stream = set_stream(open, FileService::RoundRobin, 1).with(|tested_stream| tested_stream.depth = 8);
        let job = run_job(plan_on_files(directory.path(), engine, one_pass(), tested_stream));
        assert_eq!(write_order(directory.path()).len(), 16);
        assert_eq!((job.total().operations, job.total().bytes), (16, Bytes(16 * 4096)));
    }
}

/// Executes a plan. Returns the maximum number of descriptors that this process had of files in a
/// directory.
fn max_open(directory: &Path, plan: Plan) -> (usize, JobResults) {
    let (has_ended, max) = (AtomicBool::new(false), AtomicUsize::new(0));
    let count = || {
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        open.filter(|path| path.starts_with(directory)).count()
    };
    let watch = || {
        while !has_ended.load(Ordering::Relaxed) {
            // While descriptors are counted, one file may be closed and another opened. So take the
            // smaller of two counts.
            max.fetch_max(count().min(count()), Ordering::Relaxed);
        }
    };
    let job = std::thread::scope(|scope| {
        scope.spawn(watch);
        let job = run_job(plan);
        has_ended.store(true, Ordering::Relaxed);
        job
    });
    (max.load(Ordering::Relaxed), job)
}

#[test]
fn the_limit_of_open_files_holds() {
    for open in [1, 2, 4] {
        let directory = tempfile::tempdir().unwrap();
        let mut tested_stream = set_stream(open, FileService::RoundRobin, 1);
        tested_stream.pacing = Pacing::Together { rate: Rate::iops(200) };
        let plan = plan_on_files(directory.path(), EngineKind::Psync, one_pass(), tested_stream);
        let (max, job) = max_open(directory.path(), plan);
        assert_eq!(job.total().operations, 16);
        // The guard keeps each of the four files open until the end.
        assert_eq!(max, 4 + open as usize, "{open} may be open");
    }
}

#[test]
fn passes_and_bytes_count_over_all_files() {
    let directory = tempfile::tempdir().unwrap();
    let two_passes = Stop::after_passes(2);
    for open in [4, 1] {
        let tested_stream = set_stream(open, FileService::Sequential, 1);
        let job = run_job(plan_on_files(
            directory.path(),
            EngineKind::Psync,
            two_passes,
            tested_stream,
        ));
        assert_eq!(job.total().operations, 32, "two passes with {open} open");
    }
    let half = Stop::default().with(|stop| stop.region_percent = Some(50));
    let tested_stream = set_stream(4, FileService::RoundRobin, 1);
    let job = run_job(plan_on_files(directory.path(), EngineKind::Psync, half, tested_stream));
    assert_eq!(job.total().operations, 8, "half of the sum of all files");
}

#[test]
fn skewed_sets_continue_until_their_bytes_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let stop = Stop::after_bytes(Bytes(400 * 4096));
    for service in [
        FileService::Zipf { theta: 1.2 },
        FileService::Pareto { h: 0.2 },
        FileService::Normal {
            deviation_percent: 20.0,
        },
    ] {
        let tested_stream = set_stream(4, service, 1);
        let job = run_job(plan_on_files(directory.path(), EngineKind::Psync, stop, tested_stream));
        assert_eq!(job.total().operations, 400, "{service:?}");
    }
}

/// Files of different sizes on a simulated device: the small files finish first.
#[test]
fn finished_files_are_skipped() {
    let sizes = [8u64, 2, 4, 1];
    let mut tested_stream = set_stream(4, FileService::RoundRobin, 1);
    tested_stream.pattern.sizes = PerDirection::all(BlockSizes::Fixed { size: Bytes(4096) });
    tested_stream.depth = 3;
    tested_stream.sync = SyncRule::default().with(|sync_rule| (sync_rule.every_writes, sync_rule.at_end) = (5, true));
    let mut plan = plan(device(), one_pass(), vec![worker(vec![tested_stream])]);
    plan.targets = sizes
        .map(|blocks| {
            let device = device().with(|device| device.size = Bytes(blocks * 4096));
            testing::target("simulated", TargetKind::Simulated { device })
        })
        .to_vec();
    let job = run_job(plan);
    assert_eq!(job.total().operations, 15);
    let stream = &job.workers[0].streams[0];
    assert_eq!(stream.sync.as_ref().map(|sync| sync.operations), Some(3));
}
