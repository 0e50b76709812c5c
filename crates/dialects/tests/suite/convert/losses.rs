//! Nothing is dropped silently: every change of a plan is visible in the text, or it is listed.

use dialects::convert::{self, Conversion};
use model::access::{Access, Between, Every, Mixed, Placement, Zones};
use model::block_size::{BlockSizes, SizeShare};
use model::content::Content;
use model::mix::Mix;
use model::plan::{
    BypassIo, CatchUp, Control, Dialect, FileRangeFlags, FileService, Job, LatencyTarget, MapFlush, Mapping,
    MemoryNodes, MinimumRate, Pacing, Plan, Precision, Prepare, Priority, PriorityClass, Process, Rate, SteadyState,
    Stop, Stream, StreamTarget, TargetCleanup, TargetId, Think, ThinkCount, TrackedMetric, Verify, VerifyMethod,
    Worker, WriteThrough,
};
use model::{Bytes, Direction, Nanos, PerDirection};
use testbed::With;

use crate::convert::support::{flags, job_file};

/// A job that reads and writes through the cache, so that every part of a plan matters in it.
fn base() -> Plan {
    flags(
        "--target /mnt/a.dat --size 1g --read 50 --block 8k --depth 4 --time 10s --warm-up 1s --cache buffered --rate 100iops",
    )
}

type Change = (&'static str, fn(&mut Plan));

fn job(plan: &mut Plan) -> &mut Job {
    &mut plan.steps[0].jobs[0]
}

fn worker(plan: &mut Plan) -> &mut Worker {
    &mut job(plan).workers[0]
}

fn files(plan: &mut Plan, service: FileService, operations: u64) {
    plan.targets
        .push(plan.targets[0].clone().with(|target| target.path = "/mnt/c.dat".into()));
    stream(plan).target = StreamTarget::files(vec![TargetId(0), TargetId(1)], 1, service, operations);
}

fn stream(plan: &mut Plan) -> &mut Stream {
    &mut worker(plan).streams[0]
}

/// A change of every part of a test. `compare` has the parts that are left out, with the reasons.
const CHANGES: &[Change] = &[
    ("seed", |plan| plan.seed = 1 << 40),
    ("path", |plan| plan.targets[0].path = "/mnt/b.dat".into()),
    ("removed", |plan| plan.targets[0].at_end = TargetCleanup::Remove),
    ("file size", |plan| {
        plan.targets[0].prepare = Prepare::Filled {
            size: Some(Bytes::gib(3)),
        }
    }),
    ("another step", |plan| plan.steps.push(plan.steps[0].clone())),
    ("another job", |plan| {
        let job = job(plan).clone();
        plan.steps[0].jobs.push(job);
    }),
    ("another worker", |plan| job(plan).workers.extend_from_within(..)),
    ("another stream", |plan| {
        let other = Stream {
            mix: Mix::READS,
            depth: 9,
            ..stream(plan).clone()
        };
        worker(plan).streams.push(other);
    }),
    ("description", |plan| job(plan).description = Some("text".into())),
    ("start delay", |plan| {
        job(plan).phases.start_delay.high_ns = Nanos::secs(3)
    }),
    ("warm-up", |plan| job(plan).phases.warm_up_ns = Nanos::millis(1500)),
    ("warm-up in bytes", |plan| {
        job(plan).phases.warm_up_bytes = Some(Bytes::gib(1))
    }),
    ("cool-down", |plan| job(plan).phases.cool_down_ns = Nanos::millis(1)),
    ("time", |plan| job(plan).stop = Stop::after(Nanos::millis(2500))),
    ("bytes", |plan| job(plan).stop.bytes = Some(Bytes(12345))),
    ("region percent", |plan| job(plan).stop.region_percent = Some(50)),
    ("operations", |plan| job(plan).stop.operations = Some(12345)),
    ("passes", |plan| job(plan).stop.passes = Some(2)),
    ("amount with the warm-up", |plan| job(plan).stop.counts_all = true),
    ("ends others", |plan| {
        let job = job(plan).clone();
        plan.steps[0].jobs.push(job);
        plan.steps[0].jobs[1].ends_with.jobs = vec![0];
    }),
    ("failure", |plan| job(plan).ends_with.on_failure = vec![0, 1]),
    ("precision", |plan| {
        let rule = Precision {
            metric: TrackedMetric::Iops,
            percent: 2.0,
            at_least_ns: Nanos::secs(10),
        };
        job(plan).control.push(Control::Precision(rule));
    }),
    ("steady state", |plan| {
        let rule = SteadyState {
            metric: TrackedMetric::Throughput,
            slope: false,
            limit: 5.0,
            percent: false,
            window_ns: Nanos::secs(7),
            interval_ns: Nanos::secs(2),
            ramp_ns: Nanos::secs(3),
        };
        job(plan).control.push(Control::SteadyState(rule));
    }),
    ("latency target", |plan| {
        let rule = LatencyTarget {
            target_ns: Nanos::millis(3),
            window_ns: Nanos::millis(50),
            percentile: 95.0,
            keep_running: true,
        };
        job(plan).control.push(Control::LatencyTarget(rule));
    }),
    ("minimum rate", |plan| {
        let rule = MinimumRate {
            metric: TrackedMetric::Iops,
            direction: Some(Direction::Write),
            min_per_sec: 5.0,
            cycle_ns: Nanos::secs(2),
        };
        job(plan).control.push(Control::MinimumRate(rule));
    }),
    ("log", |plan| job(plan).operation_log = Some("ops.csv".into())),
    ("engine", |plan| {
        worker(plan).engine.kind = model::plan::EngineKind::Libaio
    }),
    ("poll", |plan| worker(plan).engine.poll = true),
    ("submission thread", |plan| worker(plan).engine.submission_thread = true),
    ("force async", |plan| worker(plan).engine.force_async_every = 7),
    ("atomic", |plan| worker(plan).engine.atomic = true),
    ("offload", |plan| worker(plan).engine.offload = true),
    ("depth", |plan| stream(plan).depth = 5),
    ("batch", |plan| worker(plan).batching.submit = Some(3)),
    ("completions", |plan| worker(plan).batching.complete_min = Some(3)),
    ("most completions", |plan| worker(plan).batching.complete_max = Some(3)),
    ("refill", |plan| worker(plan).batching.refill_below = Some(3)),
    ("completion routines", |plan| {
        worker(plan).batching.completion_routines = true
    }),
    ("cpus", |plan| worker(plan).placement.cpus = vec![3]),
    ("several cpus", |plan| worker(plan).placement.cpus = vec![2, 3]),
    ("memory node", |plan| {
        worker(plan).placement.memory_nodes = Some(MemoryNodes::Bind { nodes: vec![1] })
    }),
    ("nice", |plan| worker(plan).placement.nice = Some(5)),
    ("huge pages", |plan| worker(plan).memory.huge_pages = true),
    ("huge page size", |plan| {
        worker(plan).memory.huge_page_size = Bytes::mib(4)
    }),
    ("control group", |plan| {
        worker(plan).placement.control_group = Some(model::plan::ControlGroup {
            path: "a".into(),
            weight: Some(200),
            keep: false,
        })
    }),
    ("scheduler", |plan| job(plan).scheduler = Some("none".into())),
    ("buffer alignment", |plan| worker(plan).memory.alignment = 8192),
    ("files", |plan| files(plan, FileService::Random, 3)),
    ("skewed files", |plan| files(plan, FileService::Zipf { theta: 1.5 }, 1)),
    ("base", |plan| stream(plan).region.base.bytes = Bytes::mib(1)),
    ("percent", |plan| stream(plan).region.base.percent = 12.5),
    ("length", |plan| {
        stream(plan).region.length.as_mut().unwrap().bytes = Bytes::mib(77)
    }),
    ("mix", |plan| {
        stream(plan).mix = Mix::drawn(12.5, model::mix::MixRule::Independent)
    }),
    ("exact mix", |plan| {
        stream(plan).mix = Mix::Exact { write_percent: 50.0 }
    }),
    ("trims", |plan| {
        stream(plan).mix = Mix::Only {
            direction: Direction::Trim,
        }
    }),
    ("trims and writes", |plan| stream(plan).mix = Mix::TrimThenWrite),
    ("each block once", |plan| {
        let placement = Placement::Once(Default::default());
        stream(plan).pattern.access = vec![Access::Random { placement }];
    }),
    ("sequential", |plan| {
        stream(plan).pattern.access = vec![Access::Sequential(Default::default())]
    }),
    ("sequential with a start", |plan| {
        let walk = model::access::Sequential {
            start: Bytes::mib(1),
            ..Default::default()
        };
        stream(plan).pattern.access = vec![Access::Sequential(walk)];
    }),
    ("interlocked", |plan| {
        stream(plan).pattern.access = vec![Access::Interlocked(Default::default())]
    }),
    ("parallel", |plan| {
        stream(plan).pattern.access = vec![Access::Parallel(Default::default())]
    }),
    ("list", |plan| {
        let placement = Placement::List(model::access::BlockList {
            blocks: vec![1, 5, 3],
            moving: true,
        });
        stream(plan).pattern.access = vec![Access::Random { placement }];
    }),
    ("normal with a centre", |plan| {
        let placement = Placement::Normal(model::access::Normal {
            deviation_percent: 3.0,
            center: 0.25,
        });
        stream(plan).pattern.access = vec![Access::Random { placement }];
    }),
    ("every third", |plan| {
        let every = Every {
            placement: Placement::Uniform(Default::default()),
            operations: 3,
            between: Between::Repeat,
        };
        stream(plan).pattern.access = vec![Access::Every(every)];
    }),
    ("zones", |plan| {
        let zones = Zones {
            work: Bytes::mib(1),
            range: Bytes::mib(2),
            skip: Bytes::mib(3),
            within: None,
            positions: Default::default(),
        };
        stream(plan).pattern.access = vec![Access::Zones(zones)];
    }),
    ("jumps by direction", |plan| {
        let random_percent = PerDirection::new(30, 60, 100);
        let mixed = Mixed {
            placement: Placement::Uniform(Default::default()),
            random_percent,
            continuation: Default::default(),
        };
        stream(plan).pattern.access = vec![Access::Mixed(mixed)];
    }),
    ("patterns by direction", |plan| {
        stream(plan).pattern.access.push(Access::Sequential(Default::default()));
        stream(plan).pattern.access_index.write = 1;
    }),
    ("lengths by direction", |plan| {
        stream(plan).pattern.sizes.write = BlockSizes::Fixed { size: Bytes(512) }
    }),
    ("any length", |plan| {
        // fio counts a rate of operations of several lengths in bytes.
        stream(plan).pacing = Pacing::Unpaced;
        stream(plan).pattern.sizes = PerDirection::all(BlockSizes::Range {
            low: Bytes(512),
            high: Bytes(4096),
            unaligned: true,
        });
    }),
    ("shares of lengths", |plan| {
        let entries = vec![SizeShare::new(Bytes(4096), 33.3), SizeShare::new(Bytes(8192), 66.7)];
        stream(plan).pattern.sizes = PerDirection::all(BlockSizes::Split { entries });
    }),
    ("alignment", |plan| stream(plan).pattern.alignment.write = Bytes::mib(1)),
    ("pattern", |plan| {
        stream(plan).content = Content::Pattern {
            bytes: vec![0xab, 0xcd],
        }
    }),
    ("compressible", |plan| {
        stream(plan).content = Content::Compressible {
            percent: 40,
            chunk: 4096,
            pattern: vec![1],
        };
    }),
    ("duplicated", |plan| {
        stream(plan).content = Content::Duplicated {
            percent: 40,
            working_set: 100,
            shared_working_set: false,
            constant: None,
        }
    }),
    ("source", |plan| {
        stream(plan).content = Content::Source {
            size: Bytes::mib(1),
            file: Some("x".into()),
        }
    }),
    ("same data", |plan| stream(plan).content = Content::Once),
    ("direct", |plan| stream(plan).cache.direct = true),
    ("write-through", |plan| {
        stream(plan).cache.write_through = WriteThrough::DataAndMetadata
    }),
    ("local cache", |plan| stream(plan).cache.local_only = true),
    ("drivers", |plan| stream(plan).cache.bypass_io = Some(BypassIo::Full)),
    ("map", |plan| {
        stream(plan).cache.mapping = Some(Mapping {
            flush: MapFlush::Lines,
            non_temporal: false,
        });
    }),
    ("dropped", |plan| stream(plan).cache.drop_before = true),
    ("filled", |plan| stream(plan).cache.fill_before = true),
    ("hint", |plan| stream(plan).hint.sequential = true),
    ("hint of a temporary file", |plan| stream(plan).hint.temporary = true),
    ("lifetime", |plan| stream(plan).hint.write_lifetime = Some(3)),
    ("fsync", |plan| {
        (stream(plan).sync.every_writes, stream(plan).sync.kind) = (3, model::plan::FlushKind::Full)
    }),
    ("fdatasync", |plan| {
        (stream(plan).sync.every_writes, stream(plan).sync.kind) = (5, model::plan::FlushKind::Full);
        stream(plan).sync.data_every_writes = 3;
    }),
    ("file range", |plan| {
        stream(plan).sync.file_range = Some((
            3,
            FileRangeFlags {
                wait_before: false,
                write: true,
                wait_after: false,
            },
        ));
    }),
    ("flush at the end", |plan| stream(plan).sync.at_end = true),
    ("flush on close", |plan| stream(plan).sync.on_close = true),
    ("flush of the file system", |plan| {
        stream(plan).sync.file_system_at_end = true
    }),
    ("rate", |plan| {
        stream(plan).pacing = Pacing::Together {
            rate: Rate::bytes(1 << 20),
        }
    }),
    ("no rate", |plan| stream(plan).pacing = Pacing::Unpaced),
    ("rate of reads", |plan| {
        let rates = PerDirection::new(Some(Rate::iops(70)), None, None);
        stream(plan).pacing = Pacing::PerDirection { rates };
    }),
    ("arrivals", |plan| {
        stream(plan).pacing = Pacing::Together {
            rate: Rate {
                process: Process::Poisson,
                ..Rate::iops(100)
            },
        };
    }),
    ("catch-up", |plan| {
        let rate = Rate {
            catch_up: CatchUp::Within(Nanos::secs(1)),
            ..Rate::iops(100)
        };
        stream(plan).pacing = Pacing::Together { rate };
    }),
    ("pause", |plan| stream(plan).think = Some(think())),
    ("spinning", |plan| {
        stream(plan).think = Some(Think {
            spin_ns: Nanos::micros(500),
            ..think()
        })
    }),
    ("pause after a time", |plan| {
        stream(plan).think = Some(Think {
            after_ns: Some(Nanos::secs(2)),
            ..think()
        })
    }),
    ("shifted schedule", |plan| {
        stream(plan).think = Some(Think {
            shifts_schedule: true,
            ..think()
        })
    }),
    ("priority", |plan| {
        stream(plan).priority = Some(Priority {
            class: PriorityClass::RealTime,
            level: 3,
            percent: 20,
            hint: 0,
        });
    }),
    ("errors", |plan| stream(plan).on_error.tolerate_read = vec![5]),
    ("errors of checks", |plan| {
        stream(plan).on_error.tolerate_verify = vec![84]
    }),
    ("full", |plan| stream(plan).on_error.stop_when_full = true),
    ("longest", |plan| {
        stream(plan).on_error.latency_ns_max.read = Some(Nanos::secs(1))
    }),
    ("verify", |plan| stream(plan).verify = Some(verify())),
];

fn think() -> Think {
    Think::new(Nanos::millis(2), 3, ThinkCount::Completed)
}

fn verify() -> Verify {
    Verify {
        interval: 4096,
        pattern: vec![7],
        after_writes: true,
        backlog: 5,
        backlog_batch: 2,
        any_seed: true,
        any_order: true,
        save_state: true,
        fatal: true,
        dump: true,
        threads: 2,
        ..Verify::new(VerifyMethod::Crc32c)
    }
}

/// All losses and differences that a conversion lists.
fn listed(of: &Conversion) -> Vec<String> {
    of.lost.iter().chain(&of.differs).map(ToString::to_string).collect()
}

#[test]
fn every_change_is_visible_or_listed() {
    for dialect in [Dialect::Native, Dialect::Fio, Dialect::Diskspd, Dialect::Iometer] {
        let before = convert::convert_to(dialect, &base());
        let is_silent = |(name, change): &&Change| {
            let mut plan = base();
            change(&mut plan);
            let after = convert::convert_to(dialect, &plan);
            // A dialect without rates lists the rate, not how it is kept.
            let is_part_of_rate = dialect == Dialect::Iometer && ["arrivals", "catch-up"].contains(name);
            !is_part_of_rate && after.text == before.text && listed(&after) == listed(&before)
        };
        let silent: Vec<&str> = CHANGES.iter().filter(is_silent).map(|(name, _)| *name).collect();
        assert!(
            silent.is_empty(),
            "{silent:?} are silently dropped by {dialect:?}:\n{}",
            before.text
        );
    }
}

/// If two plans have the same text, one of them does not survive the round trip, and its difference
/// is listed.
#[test]
fn differences_after_a_round_trip_are_listed() {
    for (name, change) in CHANGES {
        let mut plan = base();
        change(&mut plan);
        let ours = convert::to_native(&plan);
        let again = std::panic::catch_unwind(|| crate::convert::support::native_again(&ours));
        let same = again.is_ok_and(|again| {
            crate::convert::support::without_origin(&again) == crate::convert::support::without_origin(&plan)
        });
        assert!(same || !listed(&ours).is_empty(), "{name}:\n{}", ours.text);
    }
}

/// Regression: the text was "nothing of 1t".
#[test]
fn a_simulated_device_becomes_fios_null_engine() {
    let job = "[[job]]\ntarget = \"simulated:disk\"\n[simulated.disk]\nsize = \"1t\"\nservice = \"1ms\"\n";
    let found = listed(&convert::convert_to(Dialect::Fio, &job_file(job)));
    let named = |line: &String| line.ends_with("fio: the null engine, 1 TiB");
    assert!(found.iter().any(named), "{found:#?}");
}

/// fio answers "Inappropriate ioctl for device" there.
#[test]
fn trims_of_a_file_are_lost_in_fio() {
    for (target, lost) in [("/mnt/a.dat", true), ("/dev/nvme0n1", false)] {
        let job = format!("[[job]]\ntarget = \"{target}\"\nsize = \"1g\"\ntrim = true\nengine = \"io_uring\"\n");
        let found = listed(&convert::convert_to(Dialect::Fio, &job_file(&job)));
        let named = |line: &String| line.contains("trims of a file");
        assert_eq!(found.iter().any(named), lost, "{target}: {found:#?}");
    }
}

/// fio has options for these changes: the text contains them, and no loss is listed.
#[test]
fn changes_with_an_fio_option_are_written() {
    let lines = [
        ("description", "description=text"),
        ("start delay", "startdelay=0s-3s"),
        ("warm-up", "ramp_time=1500ms"),
        ("ends others", "exitall"),
        ("warm-up in bytes", "ramp_size=1g"),
        ("bytes", "io_size=12345"),
        ("operations", "number_ios=12345"),
        ("steady state", "steadystate=bw:5"),
        ("latency target", "latency_target=3ms"),
        ("minimum rate", "rate_iops_min=,5"),
        ("poll", "hipri"),
        ("submission thread", "sqthread_poll"),
        ("force async", "force_async=7"),
        ("atomic", "atomic=1"),
        ("offload", "io_submit_mode=offload"),
        ("completions", "iodepth_batch_complete_min=3"),
        ("most completions", "iodepth_batch_complete_max=3"),
        ("refill", "iodepth_low=3"),
        ("several cpus", "cpus_allowed=2-3"),
        ("memory node", "numa_mem_policy=bind:1"),
        ("nice", "nice=5"),
        ("huge pages", "mem=mmaphuge"),
        ("buffer alignment", "iomem_align=8k"),
        ("files", "file_service_type=random:3"),
        ("skewed files", "file_service_type=zipf:1.5"),
        ("list", "random_distribution=sequence:1,5,3"),
        ("normal with a centre", "random_distribution=normal:3:0.25"),
        ("every third", "rw=randrw:3"),
        ("zones", "zonesize=1m"),
        ("jumps by direction", "percentage_random=30,60,100"),
        ("lengths by direction", "bs=8k,512,8k"),
        ("any length", "bs_unaligned"),
        ("pattern", "buffer_pattern=0xabcd"),
        ("compressible", "buffer_compress_chunk=4k"),
        ("write-through", "sync=sync"),
        ("filled", "pre_read=1"),
        ("hint", "fadvise_hint=sequential"),
        ("lifetime", "write_hint=medium"),
        ("fsync", "fsync=3"),
        ("fdatasync", "fdatasync=3"),
        ("file range", "sync_file_range=write:3"),
        ("flush at the end", "end_fsync=1"),
        ("flush on close", "fsync_on_close=1"),
        ("flush of the file system", "end_syncfs=1"),
        ("rate of reads", "rate_iops=70,"),
        ("arrivals", "rate_process=poisson"),
        ("spinning", "thinktime_spin=500us"),
        ("pause after a time", "thinktime_iotime=2s"),
        ("shifted schedule", "rate_ignore_thinktime=1"),
        ("errors", "continue_on_error=read"),
        ("full", "fill_device=1"),
        ("longest", "max_latency=1s,,"),
        ("verify", "verify_backlog=5"),
    ];
    for (name, line) in lines {
        let (_, change) = CHANGES.iter().find(|(known, _)| *known == name).unwrap();
        let mut plan = base();
        change(&mut plan);
        let written = convert::to_fio(&plan);
        assert!(
            written.text.lines().any(|written| written == line),
            "{name}: {line} in\n{}",
            written.text
        );
        assert_eq!(written.lost, [], "{name}\n{}", written.text);
        crate::convert::support::fio_again(&written);
    }
}
