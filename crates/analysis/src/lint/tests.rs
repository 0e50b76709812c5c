//! Every rule accepts a sound test, and reports a test with the rule's defect.

mod case;

use std::collections::BTreeSet;

use model::access::{Access, Sequential};
use model::block_size::BlockSizes;
use model::content::Content;
use model::environment::{Allocation, DeviceLimit, Health, IdleState, LogicalCpu};
use model::finding::Severity;
use model::mix::{Mix, MixRule};
use model::plan::{EngineKind, Extent, Prepare, PresetUse, Rate, Stop};
use model::testing::assert_starts_with;
use model::{Bytes, Nanos};

use case::{Case, GIB, sound, warmed};

use super::{Intent, Warmed, filter_silenced, rules};
use crate::caps::{Limit, LimitLayer};

/// A mix of 100 % writes is a write-only load too.
#[test]
fn a_mix_of_only_writes_counts_as_write_only() {
    let mut case = sound();
    (case.workload.workers, case.workload.depth) = (1, 1);
    case.part().mix = Mix::Exact { write_percent: 100.0 };
    assert!(case.rules().contains("SIMPLE-TEST"));
    case.part().mix = Mix::Exact { write_percent: 99.0 };
    assert!(!case.rules().contains("SIMPLE-TEST"));
    case.part().mix = Mix::WRITES;
    // The preset describes the purpose of the load.
    case.change = Some(|plan| plan.origin.preset = Some(PresetUse::default()));
    let rules = case.rules();
    assert!(
        !rules.contains("SIMPLE-TEST") && !rules.contains("WRITE-ONLY-SUITE"),
        "{rules:?}"
    );
}

/// The dialect has already reduced the depth to 1, and reports the requested depth.
#[test]
fn a_depth_reduced_by_the_dialect_is_reported() {
    let mut case = sound();
    case.workload.engine.kind = EngineKind::Psync;
    case.workload.depth = 1;
    assert!(!case.rules().contains("SYNC-ENGINE"));
    case.purpose.capped_depths = vec![("job".into(), 32)];
    assert_eq!(
        case.finding("SYNC-ENGINE").unwrap().what,
        "depth 32 with the engine psync"
    );
}

#[test]
fn one_thread_is_singular() {
    let mut case = sound();
    case.purpose.intent = Some(Intent::MaxIops);
    (case.workload.workers, case.workload.depth) = (1, 1);
    let found = case.finding("SYNC-FEW-THREADS").unwrap();
    assert_eq!(found.what, "1 thread with one operation each");
}

/// A test below 60 s gets a finding; if it judges a promise, a test below 300 s.
#[test]
fn a_minute_suffices_unless_the_test_judges_a_promise() {
    let severity = |seconds: u64, promised: Option<f64>| {
        let mut case = sound();
        case.workload.stop = Stop::after(Nanos::secs(seconds));
        case.purpose.promised_iops = promised;
        case.finding("SHORT-RUN").map(|finding| finding.severity)
    };
    assert_eq!(severity(29, None), Some(Severity::Warning));
    assert_eq!(severity(30, None), Some(Severity::Note));
    assert_eq!(severity(59, None), Some(Severity::Note));
    assert_eq!(severity(60, None), None);
    assert_eq!(severity(299, Some(1000.0)), Some(Severity::Warning));
    assert_eq!(severity(300, Some(1000.0)), None);
}

/// Reports of interrupted runs contain the finding too, although the measured time differs from the
/// planned time.
#[test]
fn short_run_describes_the_plan() {
    let mut case = sound();
    case.workload.stop = Stop::after(Nanos::secs(30));
    assert_eq!(case.finding("SHORT-RUN").unwrap().what, "the plan measures only 30 s");
}

#[test]
fn a_sound_test_has_no_findings() {
    let found = sound().findings();
    assert!(found.is_empty(), "{found:#?}");
}

type Defect = fn(&mut Case);

/// A defect for each rule.
const DEFECTS: &[(&str, Defect)] = &[
    ("TARGET-IS-DIR", |case| {
        case.facts().kind = "directory".into();
        case.target.prepare = Prepare::Existing;
    }),
    ("SPACE", |case| case.create_file(Bytes(301 * GIB))),
    ("FILL-80", |case| case.create_file(Bytes(201 * GIB))),
    ("FS-EMPTY", |case| case.file_system().available = Bytes(451 * GIB)),
    ("IN-MEMORY", |case| case.file_system().kind = "tmpfs".into()),
    ("IN-MEMORY", |case| case.device().name = "zram0".into()),
    ("IN-MEMORY", |case| {
        case.facts().stored_in = vec!["ext4".into(), "tmpfs".into()]
    }),
    ("SPARSE", |case| {
        case.facts().allocation = Some(Allocation {
            unwritten: Bytes(GIB),
            ..Allocation::default()
        });
    }),
    ("NOT-PREALLOC", |case| {
        case.target.prepare = Prepare::Existing;
        case.add_holes();
    }),
    ("LAYOUT-TIME", |case| case.create_file(Bytes(12_000_000_000))),
    ("FILE-LT-2xRAM", |case| {
        case.workload.cache.direct = false;
        case.environment.memory = Bytes(51 * GIB);
    }),
    ("FILE-GT-HOSTCACHE", |case| {
        case.purpose.intent = Some(Intent::CachedReads);
        case.purpose.host_cache = Some(Bytes(99 * GIB));
    }),
    ("SHORT-STROKE", |case| {
        case.device().rotational = true;
        case.device().size = Bytes(2001 * GIB);
    }),
    ("SNAPSHOT-RESTORED-COLD", |case| {
        case.device().model = Some("Amazon Elastic Block Store".into())
    }),
    ("CACHE-COLD", |case| {
        case.purpose.intent = Some(Intent::CachedReads);
        case.purpose.warmed = warmed("boot-0", &[(0, 100 * GIB, false)]);
    }),
    ("NOT-COORDINATOR", |case| case.facts().owner = Some("node2".into())),
    ("TARGET-NOT-ON-POOL", |case| {
        case.more_targets = 1;
        let local = case.environment.targets[0].clone();
        case.facts().owner = Some("NODE1".into());
        case.environment.targets.push(local);
    }),
    ("FEW-TARGETS", |case| {
        case.purpose.intent = Some(Intent::MaxIops);
        case.device().model = Some("DellEMC PowerStore".into());
    }),
    ("SEQ-OVERLAP", |case| {
        case.part().access = Access::Sequential(Sequential::default());
        // By default the workers of a native job have different starts.
        case.change = Some(|plan| {
            let workers = &mut plan.steps[0].jobs[0].workers;
            workers[1].streams = workers[0].streams.clone();
        });
    }),
    ("SYNC-ENGINE", |case| case.workload.engine.kind = EngineKind::Psync),
    ("SYNC-FEW-THREADS", |case| {
        case.purpose.intent = Some(Intent::MaxIops);
        case.workload.depth = 1;
    }),
    ("BUFFERED", |case| case.workload.cache.direct = false),
    ("COMPRESSIBLE-DATA", |case| case.part().content = Content::Counting),
    ("SIMPLE-TEST", |case| {
        (case.workload.workers, case.workload.depth) = (1, 1);
        case.part().mix = Mix::WRITES;
    }),
    ("WRITE-ONLY-SUITE", |case| case.part().mix = Mix::WRITES),
    ("BW-SMALL-BLOCK", |case| {
        case.purpose.intent = Some(Intent::MaxThroughput)
    }),
    ("BW-RANDOM", |case| {
        case.purpose.intent = Some(Intent::MaxThroughput);
        case.part().sizes = BlockSizes::Fixed { size: Bytes(1 << 20) };
    }),
    ("SEQ-SMALL", |case| {
        case.workload.workers = 1;
        case.part().access = Access::Sequential(Sequential::default());
    }),
    ("QD-GT-DEVICE", |case| case.device().queue_requests = Some(31)),
    ("MIX-NOT-PINNED", |case| {
        case.change = Some(|plan| {
            let stream = &mut plan.steps[0].jobs[0].workers[0].streams[0];
            stream.mix = Mix::drawn(30.0, MixRule::Redrawn);
            let rates = model::PerDirection {
                read: Some(Rate::iops(700)),
                write: Some(Rate::iops(400)),
                trim: None,
            };
            stream.pacing = model::plan::Pacing::PerDirection { rates };
        });
    }),
    ("NFS-SMALL-TRANSFERS", |case| {
        mount_by_nfs(case, "rw,vers=4.1,rsize=4096,wsize=1048576,proto=tcp,nconnect=4");
    }),
    ("NFS-OPTIONS", |case| {
        mount_by_nfs(case, "rw,vers=4.1,soft,proto=tcp,nconnect=4,sync")
    }),
    ("NFS-ONE-CONNECTION", |case| {
        mount_by_nfs(case, "rw,vers=4.1,proto=tcp");
        case.workload.depth = 32;
    }),
    ("SHORT-RUN", |case| case.workload.stop = Stop::after(Nanos::secs(59))),
    ("SIZE-ENDS-RUN", |case| case.workload.stop.passes = Some(1)),
    ("NO-WARMUP", |case| case.workload.phases.warm_up_ns = Nanos(0)),
    ("BURST-WINDOW", |case| case.purpose.burst_ns = Some(Nanos::secs(330))),
    ("UNCAPPED-SLA", |case| case.purpose.promised_latency_ns = Some(3e6)),
    ("UNDERSIZED-CONCURRENCY", |case| {
        case.purpose.promised_iops = Some(12_000.0);
        case.purpose.promised_latency_ns = Some(3e6);
        case.workload.rate = Some(Rate::iops(12_000));
    }),
    ("BW-BINDS-FIRST", |case| {
        case.purpose.promised_iops = Some(5_000.0);
        case.part().sizes = BlockSizes::Fixed { size: Bytes(64 << 10) };
        case.purpose.layers = vec![LimitLayer {
            name: "P30".into(),
            bytes_per_sec: Some(Limit::exactly(200e6)),
            ..LimitLayer::default()
        }];
    }),
    ("RATE-ABOVE-LIMIT", |case| {
        case.workload.rate = Some(Rate::iops(5_001));
        case.limit_iops(5_000.0);
    }),
    ("THREADS-GT-CORES", |case| case.workload.workers = 9),
    ("POWER-PLAN", |case| {
        let (name, exit_ns) = ("C6".into(), Nanos::micros(133));
        case.environment.cpu.deepest_idle = Some(IdleState { name, exit_ns });
    }),
    ("E-CORES", |case| {
        let cpu = |cpu: u32| LogicalCpu {
            cpu,
            core: cpu,
            efficiency_class: (cpu % 2) as u8,
            ..LogicalCpu::default()
        };
        case.environment.cpu.topology = (0..8).map(cpu).collect();
    }),
    ("REMOTE-NUMA", |case| {
        case.environment.cpu.numa_nodes = 2;
        case.device().numa_node = Some(1);
    }),
    ("BUSY-DISK", |case| case.add_background_io([300, 120, 0])),
    ("CGROUP-LIMIT", |case| {
        case.limit_device(DeviceLimit {
            read_bytes: Some(1 << 20),
            ..DeviceLimit::default()
        });
    }),
    ("DEGRADED-RAID", |case| {
        let problems = vec!["1 of 2 members is missing".into()];
        case.device().health = Some(Health {
            source: "md".into(),
            problems,
            ..Health::default()
        });
    }),
];

fn mount_by_nfs(case: &mut Case, options: &str) {
    let file_system = case.file_system();
    (file_system.kind, file_system.options) = ("nfs4".into(), options.into());
}

#[test]
fn every_rule_reports_its_defect() {
    for (name, add_defect) in DEFECTS {
        let mut case = sound();
        add_defect(&mut case);
        assert!(case.rules().contains(*name), "{name}: {:?}", case.rules());
    }
    let covered: BTreeSet<&str> = DEFECTS.iter().map(|(name, _)| *name).collect();
    let all: BTreeSet<&str> = rules().map(|rule| rule.name).collect();
    assert_eq!(covered, all);
}

/// The media under a virtual disk are unknown, so the finding is only about the region.
#[test]
fn a_small_region_of_a_virtual_disk_is_a_note() {
    let mut case = sound();
    case.device().rotational = false;
    case.device().virtual_kind = Some("virtio disk".into());
    case.device().size = Bytes(500_000 * GIB);
    let finding = case.finding("SHORT-STROKE").expect("0.02 %");
    assert_eq!(finding.severity, Severity::Note);
    assert!(
        finding.what.starts_with("the file covers 0.02 % of the disk (")
            && finding.what.ends_with("; results describe that region only"),
        "{}",
        finding.what
    );
    assert!(!format!("{finding:?}").contains("heads"), "{finding:?}");
    case.device().size = Bytes(2_000_000 * GIB);
    let finding = case.finding("SHORT-STROKE").expect("0.005 %");
    assert_starts_with(&finding.what, "the file covers less than 0.01 % of the disk");
    case.device().size = Bytes(2000 * GIB);
    assert!(!case.rules().contains("SHORT-STROKE"), "5 %");
}

#[test]
fn a_well_mounted_nfs_target_has_no_findings() {
    let mut case = sound();
    mount_by_nfs(
        &mut case,
        "rw,vers=4.1,rsize=8192,wsize=1048576,hard,proto=tcp,nconnect=4",
    );
    case.workload.depth = 32;
    let rules = case.rules();
    assert!(!rules.iter().any(|rule| rule.starts_with("NFS-")), "{rules:?}");
}

/// Just inside each threshold; the cases above are just outside.
const WITHIN_THRESHOLDS: &[(&str, Defect)] = &[
    ("FILL-80", |case| case.create_file(Bytes(200 * GIB))),
    ("FS-EMPTY", |case| case.file_system().available = Bytes(450 * GIB)),
    ("SHORT-STROKE", |case| {
        case.device().rotational = true;
        case.device().size = Bytes(2000 * GIB);
    }),
    ("FILE-LT-2xRAM", |case| {
        case.workload.cache.direct = false;
        case.environment.memory = Bytes(50 * GIB);
    }),
    ("LAYOUT-TIME", |case| case.create_file(Bytes(11_999_999_999))),
    ("SHORT-RUN", |case| case.workload.stop = Stop::after(Nanos::secs(60))),
    ("SIZE-ENDS-RUN", |case| {
        case.workload.stop.passes = Some(1);
        case.workload.stop.repeat_until_time = true;
    }),
    ("BURST-WINDOW", |case| case.purpose.burst_ns = Some(Nanos::secs(329))),
    // The limit of another job.
    ("BW-BINDS-FIRST", |case| {
        case.purpose.promised_iops = Some(5_000.0);
        case.purpose.layers = vec![LimitLayer {
            bytes_per_sec: Some(Limit::exactly(1e6)),
            job: Some("other".into()),
            ..LimitLayer::default()
        }];
    }),
    ("UNDERSIZED-CONCURRENCY", |case| {
        case.purpose.promised_iops = Some(10_666.0);
        case.purpose.promised_latency_ns = Some(3e6);
    }),
    ("QD-GT-DEVICE", |case| case.device().queue_requests = Some(32)),
    ("RATE-ABOVE-LIMIT", |case| {
        case.workload.rate = Some(Rate::iops(5_000));
        case.limit_iops(5_000.0);
    }),
    ("THREADS-GT-CORES", |case| case.workload.workers = 8),
    ("FILE-GT-HOSTCACHE", |case| {
        case.purpose.intent = Some(Intent::CachedReads);
        case.purpose.host_cache = Some(Bytes(100 * GIB));
    }),
    // In two parts, one of them through the page cache.
    ("CACHE-COLD", |case| {
        case.purpose.intent = Some(Intent::CachedReads);
        case.purpose.warmed = warmed("boot-1", &[(40 * GIB, 100 * GIB, true), (0, 50 * GIB, false)]);
    }),
    ("BUSY-DISK", |case| case.add_background_io([60, 40, 0])),
    // 700 of 1000 operations are reads: 5.7 MB/s.
    ("CGROUP-LIMIT", |case| {
        case.workload.rate = Some(Rate::iops(1000));
        case.limit_device(DeviceLimit {
            read_iops: Some(700),
            read_bytes: Some(700 * (8 << 10)),
            ..DeviceLimit::default()
        });
    }),
    // A limit of another device, and a write limit for a test that only reads.
    ("CGROUP-LIMIT", |case| {
        case.part().mix = Mix::READS;
        case.limit_device(DeviceLimit {
            write_iops: Some(10),
            ..DeviceLimit::default()
        });
        case.environment.limits.devices.push(DeviceLimit {
            device: "8:16".into(),
            read_iops: Some(10),
            ..DeviceLimit::default()
        });
    }),
    // 42 operations per second of others are less than 1 % of the requested rate.
    ("BUSY-DISK", |case| {
        case.workload.rate = Some(Rate::iops(5000));
        case.add_background_io([300, 120, 0]);
    }),
    // Threads have different starts.
    ("SEQ-OVERLAP", |case| {
        case.part().access = Access::Sequential(Sequential::default());
        case.change = Some(|plan| {
            let workers = &mut plan.steps[0].jobs[0].workers;
            workers[1].streams = workers[0].streams.clone();
            workers[1].streams[0].region.base = Extent::bytes(50 * GIB);
        });
    }),
    // A newly created file has no holes when the test begins.
    ("IN-MEMORY", |case| case.device().name = "ramdisk".into()),
    ("IN-MEMORY", |case| case.facts().stored_in = vec!["ext4".into()]),
    ("SPARSE", |case| {
        let (size, content) = (Bytes(100 * GIB), Content::Zeros);
        case.target.prepare = Prepare::Recreate { size, content };
        case.add_holes();
    }),
];

#[test]
fn tests_within_thresholds_have_no_findings() {
    for (name, change) in WITHIN_THRESHOLDS {
        let mut case = sound();
        change(&mut case);
        assert!(!case.rules().contains(*name), "{name}");
    }
}

#[test]
fn azure_p30_at_64_kib_is_limited_by_its_throughput() {
    let mut case = sound();
    case.purpose.promised_iops = Some(5_000.0);
    case.part().sizes = BlockSizes::Fixed { size: Bytes(64 << 10) };
    let bytes_per_sec = Some(Limit::exactly(200e6));
    case.purpose.layers = vec![LimitLayer {
        name: "P30".into(),
        bytes_per_sec,
        ..LimitLayer::default()
    }];
    let finding = case.finding("BW-BINDS-FIRST").expect("the limit binds");
    // 200·10⁶ / 65,536
    assert!(finding.what.contains("3052 IOPS"), "{}", finding.what);
}

/// A full file system matters only if the test makes it noticeably fuller, or if hardly any space
/// is left. The file system has 500 GiB.
#[test]
fn small_tests_matter_only_on_nearly_full_file_systems() {
    let severity = |size, available: u64| {
        let mut case = sound();
        case.file_system().available = Bytes(available * GIB);
        case.create_file(size);
        case.finding("FILL-80").map(|finding| finding.severity)
    };
    assert_eq!(severity(Bytes(5 * GIB), 50), None);
    assert_eq!(severity(Bytes(6 * GIB), 50), Some(Severity::Error));
    assert_eq!(severity(Bytes(5 * GIB), 29), Some(Severity::Warning));
}

#[test]
fn silenced_rules_are_skipped() {
    let mut case = sound();
    case.workload.cache.direct = false;
    let remaining = filter_silenced(case.findings(), &["buffered".into()]);
    assert!(remaining.iter().all(|finding| finding.rule != "BUFFERED"));
    assert_eq!(remaining.len() + 1, case.findings().len());
}

#[test]
fn names_are_unique() {
    let names: Vec<&str> = rules().map(|rule| rule.name).collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
}

/// Reports why a cache is cold.
#[test]
fn a_cold_cache_finding_states_the_reason() {
    let find_reason = |change: fn(&mut Case)| {
        let mut case = sound();
        case.purpose.intent = Some(Intent::CachedReads);
        case.purpose.warmed = warmed("boot-1", &[(0, 100 * GIB, false)]);
        change(&mut case);
        case.finding("CACHE-COLD")
            .map_or_else(String::new, |finding| finding.what)
    };
    assert_eq!(find_reason(|_| ()), "");
    assert!(find_reason(|case| case.purpose.warmed.clear()).contains("no warm-up of the cache is recorded"));
    assert!(
        find_reason(|case| case.environment.host.boot_id = Some("boot-2".into()))
            .contains("before the last start of the machine")
    );
    assert!(find_reason(|case| case.environment.host.boot_id = None).contains("whether the machine was restarted"));
    assert!(
        find_reason(|case| case.purpose.warmed = vec![Some(Warmed::default())])
            .contains("whether the machine was restarted")
    );
    let gap =
        find_reason(|case| case.purpose.warmed = warmed("boot-1", &[(0, GIB, false), (2 * GIB, 100 * GIB, false)]));
    assert!(gap.contains(&format!("at byte {GIB}")), "{gap}");
    assert!(
        find_reason(|case| case.workload.cache.direct = false)
            .contains("bypassed the page cache, but the test reads through it")
    );
    // The reverse is fine: reads through the page cache also warm the host's cache.
    assert_eq!(
        find_reason(|case| case.purpose.warmed = warmed("boot-1", &[(0, 100 * GIB, true)])),
        ""
    );
    // Only the ranges that the test reads must be warm; a test that only writes needs no warm
    // cache.
    assert_eq!(
        find_reason(|case| {
            case.workload.offset = Bytes(GIB);
            case.purpose.warmed = warmed("boot-1", &[(GIB, 100 * GIB, false)]);
        }),
        ""
    );
    assert_eq!(
        find_reason(|case| {
            case.part().mix = Mix::WRITES;
            case.purpose.warmed.clear();
        }),
        ""
    );
}
