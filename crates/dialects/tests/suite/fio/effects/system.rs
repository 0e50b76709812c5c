//! Effects on how the system is asked.

use model::plan::{
    EngineKind, LatencyPoints, MemoryNodes, Plan, Priority, PriorityClass, PriorityRule, TargetKind, WriteThrough,
};
use model::{Bytes, Direction};

use super::{Effect, K, M, job, shown, stream, target, worker};

pub const SYSTEM: &[Effect] = &[
    ("ioengine", "--ioengine=libaio --iodepth=8", |plan| {
        let worker = worker(plan);
        worker.engine.kind == EngineKind::Libaio
            && worker.latency == LatencyPoints::AfterCall
            && stream(plan).depth == 8
    }),
    ("ioengine", "--ioengine=mmap", |plan| {
        worker(plan).engine.kind == EngineKind::Mmap
    }),
    ("ioengine", "--ioengine=null --iodepth=8", |plan| {
        worker(plan).engine.kind == EngineKind::Null && worker(plan).latency == LatencyPoints::AfterCall
    }),
    ("ioengine", "--ioengine=null --size=1m", |plan| {
        target(plan).kind == TargetKind::Nothing { size: Bytes(M) }
    }),
    ("iodepth", "--ioengine=io_uring --iodepth=32", |plan| {
        stream(plan).depth == 32
    }),
    ("iodepth", "--ioengine=null --iodepth=4", |plan| {
        worker(plan).latency == LatencyPoints::AfterCall
    }),
    ("iodepth", "--ioengine=psync --iodepth=16", |plan| {
        stream(plan).depth == 1 && shown(plan, "iodepth.0") == Some("16")
    }),
    (
        "iodepth_batch",
        "--ioengine=libaio --iodepth=32 --iodepth_batch=8",
        |plan| worker(plan).batching.submit == Some(8),
    ),
    (
        "iodepth_batch",
        "--ioengine=libaio --iodepth=32 --iodepth_batch=0",
        |plan| worker(plan).batching.submit == Some(32),
    ),
    (
        "iodepth_batch_complete_min",
        "--ioengine=libaio --iodepth=32 --iodepth_batch_complete_min=4",
        |plan| worker(plan).batching.complete_min == Some(4),
    ),
    (
        "iodepth_batch_complete_max",
        "--ioengine=libaio --iodepth=32 --iodepth_batch_complete_max=16",
        |plan| worker(plan).batching.complete_max == Some(16),
    ),
    (
        "iodepth_low",
        "--ioengine=libaio --iodepth=32 --iodepth_low=16",
        |plan| worker(plan).batching.refill_below == Some(16),
    ),
    ("io_submit_mode", "--iodepth=4 --io_submit_mode=offload", |plan| {
        worker(plan).engine.offload && stream(plan).depth == 4
    }),
    ("direct", "--direct=1", |plan| stream(plan).cache.direct),
    ("buffered", "--buffered=0", |plan| stream(plan).cache.direct),
    ("atomic", "--rw=write --direct=1 --atomic=1", |plan| {
        worker(plan).engine.atomic
    }),
    ("sync", "--rw=write --sync=dsync", |plan| {
        stream(plan).cache.write_through == WriteThrough::Data
    }),
    ("sync", "--rw=write --sync=1", |plan| {
        stream(plan).cache.write_through == WriteThrough::DataAndMetadata
    }),
    ("fsync", "--rw=write --fsync=32", |plan| {
        stream(plan).sync.every_writes == 32
    }),
    ("rw", "--rw=write --fsync=32", |plan| {
        stream(plan).sync.every_writes == 32
    }),
    ("fdatasync", "--rw=randrw --fdatasync=1", |plan| {
        stream(plan).sync.data_every_writes == 1
    }),
    (
        "sync_file_range",
        "--rw=write --sync_file_range=wait_before,write:8",
        |plan| {
            let Some((every, flags)) = stream(plan).sync.file_range else {
                return false;
            };
            every == 8 && flags.wait_before && flags.write && !flags.wait_after
        },
    ),
    ("end_fsync", "--rw=write --end_fsync=1", |plan| stream(plan).sync.at_end),
    ("end_syncfs", "--rw=write --end_syncfs=1", |plan| {
        stream(plan).sync.file_system_at_end
    }),
    ("fsync_on_close", "--rw=write --fsync_on_close=1", |plan| {
        stream(plan).sync.on_close
    }),
    ("write_hint", "--rw=write --write_hint=short", |plan| {
        stream(plan).hint.write_lifetime == Some(2)
    }),
    ("mem", "--mem=mmaphuge", |plan| worker(plan).memory.huge_pages),
    ("hugepage-size", "--mem=mmaphuge --hugepage-size=4m", |plan| {
        worker(plan).memory.huge_page == Bytes(4 * M)
    }),
    ("mem", "--mem=shmhuge --hugepage-size=1g", |plan| {
        worker(plan).memory.huge_page == Bytes(K * M)
    }),
    ("ioscheduler", "--ioscheduler=none", |plan| {
        job(plan).scheduler.as_deref() == Some("none")
    }),
    ("cgroup", "--cgroup=a/b", |plan| {
        let group = worker(plan).placement.control_group.as_ref();
        group.is_some_and(|group| group.path == "a/b" && group.weight.is_none() && !group.keep)
    }),
    ("cgroup_weight", "--cgroup=a --cgroup_weight=500", |plan| {
        let group = worker(plan).placement.control_group.as_ref();
        group.is_some_and(|group| group.weight == Some(500))
    }),
    ("cgroup_nodelete", "--cgroup=a --cgroup_nodelete=1", |plan| {
        let group = worker(plan).placement.control_group.as_ref();
        group.is_some_and(|group| group.keep)
    }),
    ("iomem_align", "--iomem_align=8k", |plan| {
        worker(plan).memory.alignment == 8192
    }),
    ("cpumask", "--cpumask=5", |plan| worker(plan).placement.cpus == [0, 2]),
    ("cpus_allowed", "--cpus_allowed=0,2-4", |plan| {
        worker(plan).placement.cpus == [0, 2, 3, 4]
    }),
    (
        "cpus_allowed_policy",
        "--cpus_allowed=4,6 --cpus_allowed_policy=split --numjobs=3",
        |plan| {
            let cpus = job(plan).workers.iter().map(|worker| worker.placement.cpus.clone());
            cpus.eq([vec![4], vec![6], vec![4]])
        },
    ),
    ("nice", "--nice=-5", |plan| worker(plan).placement.nice == Some(-5)),
    ("prio", "--prio=4", |plan| {
        stream(plan)
            .priority
            .is_some_and(|given| given.level == 4 && given.class == PriorityClass::BestEffort)
    }),
    ("prioclass", "--prioclass=1", |plan| {
        stream(plan)
            .priority
            .is_some_and(|given| given.class == PriorityClass::RealTime && given.percent == 100)
    }),
    ("prioclass", "--prioclass=3 --prio=2", |plan| {
        stream(plan)
            .priority
            .is_some_and(|given| given.class == PriorityClass::Idle)
    }),
    ("hipri", "--ioengine=io_uring --hipri", |plan| worker(plan).engine.poll),
    ("sqthread_poll", "--ioengine=io_uring --sqthread_poll", |plan| {
        worker(plan).engine.submission_thread
    }),
    ("force_async", "--ioengine=io_uring --force_async=4", |plan| {
        worker(plan).engine.force_async_every == 4
    }),
    (
        "cmdprio_percentage",
        "--ioengine=libaio --direct=1 --cmdprio_percentage=10",
        |plan| rules(plan) == [rule(Direction::Read, None, 10, (PriorityClass::RealTime, 0, 0))],
    ),
    (
        "cmdprio_class",
        "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio_class=3",
        |plan| rules(plan) == [rule(Direction::Read, None, 10, (PriorityClass::Idle, 0, 0))],
    ),
    (
        "cmdprio",
        "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio=5",
        |plan| rules(plan) == [rule(Direction::Read, None, 10, (PriorityClass::RealTime, 5, 0))],
    ),
    (
        "cmdprio_hint",
        "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio_hint=3",
        |plan| rules(plan) == [rule(Direction::Read, None, 10, (PriorityClass::RealTime, 0, 3))],
    ),
    (
        "cmdprio_bssplit",
        "--ioengine=io_uring --rw=randrw --cmdprio_bssplit=4k/10:64k/30/2/7/5,8k/50 --cmdprio_class=1,3",
        |plan| {
            rules(plan)
                == [
                    rule(Direction::Read, Some(4 * K), 10, (PriorityClass::RealTime, 0, 0)),
                    rule(Direction::Read, Some(64 * K), 30, (PriorityClass::BestEffort, 7, 5)),
                    rule(Direction::Write, Some(8 * K), 50, (PriorityClass::Idle, 0, 0)),
                ]
        },
    ),
    (
        "rw",
        "--rw=randrw --ioengine=libaio --direct=1 --cmdprio_percentage=20,10 --cmdprio=1,2 --cmdprio_class=1,2",
        |plan| {
            rules(plan)
                == [
                    rule(Direction::Read, None, 20, (PriorityClass::RealTime, 1, 0)),
                    rule(Direction::Write, None, 10, (PriorityClass::BestEffort, 2, 0)),
                ]
        },
    ),
    (
        "hipri_percentage",
        "--ioengine=pvsync2 --hipri --hipri_percentage=30",
        |plan| worker(plan).engine.poll_percent == 30,
    ),
    ("uncached", "--ioengine=pvsync2 --uncached=1", |plan| {
        worker(plan).engine.uncached
    }),
    ("nowait", "--ioengine=io_uring --nowait=1", |plan| {
        worker(plan).engine.no_wait
    }),
    ("thp", "--ioengine=mmap --thp=1", |plan| worker(plan).engine.huge_maps),
    (
        "sqthread_poll_cpu",
        "--ioengine=io_uring --sqthread_poll --sqthread_poll_cpu=1",
        |plan| worker(plan).engine.submission_cpu == Some(1),
    ),
    (
        "serialize_overlap",
        "--ioengine=libaio --iodepth=8 --serialize_overlap=1",
        |plan| worker(plan).batching.serialize_overlap,
    ),
    ("numa_cpu_nodes", "--numa_cpu_nodes=0-1,3", |plan| {
        worker(plan).placement.cpu_nodes == [0, 1, 3]
    }),
    ("numa_mem_policy", "--numa_mem_policy=bind:0,2", |plan| {
        worker(plan).placement.memory_nodes == Some(MemoryNodes::Bind { nodes: vec![0, 2] })
    }),
    ("comm", "--comm=walker", |plan| {
        worker(plan).placement.name.as_deref() == Some("walker")
    }),
    ("uid", "--uid=1000", |plan| worker(plan).placement.user == Some(1000)),
    ("gid", "--gid=100", |plan| worker(plan).placement.group == Some(100)),
    ("lockmem", "--lockmem=8m", |plan| {
        worker(plan).memory.pinned == Bytes(8 * M)
    }),
    // Alone it is one of the usual class.
    ("priohint", "--priohint=5", |plan| {
        let hinted = Priority {
            class: PriorityClass::BestEffort,
            level: 0,
            hint: 5,
            percent: 100,
        };
        stream(plan).priority == Some(hinted)
    }),
];

fn rules(plan: &Plan) -> &[PriorityRule] {
    &stream(plan).priorities
}

fn rule(
    direction: Direction,
    length: Option<u64>,
    percent: u8,
    (class, level, hint): (PriorityClass, u8, u16),
) -> PriorityRule {
    PriorityRule {
        direction,
        length: length.map(Bytes),
        percent,
        class,
        level,
        hint,
    }
}
