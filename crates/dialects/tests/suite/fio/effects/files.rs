//! Effects on when jobs begin and end, and on files.

use model::draws::DrawsForm;
use model::plan::{AllocateMode, AtEndOfJob, Dependency, Extent, FileService, Plan, Prepare, StreamTarget, Worker};
use model::{Bytes, Nanos};

use super::{Effect, K, M, job, laid_out, lowered, paths, read_bytes, shown, sizes, stream, target, words};

fn files(plan: &Plan) -> Option<(u32, FileService, u64)> {
    match &stream(plan).target {
        StreamTarget::Files {
            open_at_once,
            service,
            operations,
            ..
        } => Some((*open_at_once, *service, *operations)),
        StreamTarget::One { .. } => None,
    }
}

const DRAWN: &str = "--nrfiles=3 --filesize=1m-8m --size=30m";

pub const JOBS_AND_FILES: &[Effect] = &[
    ("description", "--description=nightly", |plan| {
        job(plan).description.as_deref() == Some("nightly")
    }),
    ("name", "--name=y --size=4k", |plan| {
        job(plan).name == "y" && target(plan).path == "y.0.0"
    }),
    ("wait_for", "--size=4k --name=a --name=b --wait_for=a", |plan| {
        plan.steps[0].jobs[1].after == [Dependency(0)]
    }),
    (
        "wait_for",
        "--size=4k --name=a --name=b --name=c --stonewall --wait_for=a",
        |plan| {
            plan.steps.len() == 2 && plan.steps[1].jobs[0].after.is_empty() && plan.origin.jobs[2].options.len() == 3
        },
    ),
    ("numjobs", "--numjobs=3", |plan| {
        let number = |worker: &Worker| match worker.draws {
            DrawsForm::PerPurpose { seed, number } => (seed, number),
            _ => (0, 0),
        };
        job(plan)
            .workers
            .iter()
            .map(number)
            .eq([(0x89, 1), (0x89, 2), (0x89, 3)])
            && paths(plan) == ["x.0.0", "x.1.0", "x.2.0"]
    }),
    ("loops", "--loops=3", |plan| job(plan).stop.rounds == Some(3)),
    ("startdelay", "--startdelay=5-10", |plan| {
        let delay = job(plan).phases.start_delay;
        (delay.low_ns, delay.high_ns) == (Nanos::secs(5), Nanos::secs(10))
    }),
    ("runtime", "--runtime=2m", |plan| {
        job(plan).stop.after_ns == Some(Nanos::secs(120))
    }),
    ("runtime", "--runtime=30 --time_based", |plan| {
        job(plan).stop.repeat_until_time
    }),
    ("time_based", "--runtime=30 --time_based", |plan| {
        job(plan).stop.repeat_until_time
    }),
    ("ramp_time", "--ramp_time=500ms", |plan| {
        job(plan).phases.warm_up_ns == Nanos::millis(500)
    }),
    ("ramp_time", "--ramp_size=1m --ramp_time=3", |plan| {
        job(plan).phases.warm_up_ns == Nanos::secs(3)
    }),
    ("ramp_size", "--ramp_size=1m", |plan| {
        job(plan).phases.warm_up_bytes == Some(Bytes(M)) && job(plan).phases.warm_up_ns >= Nanos::secs(86400)
    }),
    ("number_ios", "--number_ios=100", |plan| {
        job(plan).stop.operations == Some(100)
    }),
    ("exitall", "--size=4k --name=a --exitall --name=b", |plan| {
        let ends = &job(plan).ends_with;
        ends.jobs == [1] && ends.workers && !ends.plan_always
    }),
    ("exitall", "--size=4k --name=a --exitall --exit_what=all", |plan| {
        job(plan).ends_with.plan_always
    }),
    (
        "exit_what",
        "--size=4k --name=a --exitall --exit_what=all --name=b --new_group",
        |plan| job(plan).ends_with.jobs == [1] && job(plan).ends_with.plan_always,
    ),
    (
        "exit_what",
        "--size=4k --name=a --exitall --exit_what=stonewall --name=b --new_group",
        |plan| job(plan).ends_with.jobs == [1] && !job(plan).ends_with.plan_always,
    ),
    (
        "exitall_on_error",
        "--size=4k --name=a --exitall_on_error --name=b",
        |plan| {
            let ends = &job(plan).ends_with;
            ends.on_failure == [1] && ends.workers_on_failure && ends.jobs.is_empty()
        },
    ),
    (
        "exitall_on_error",
        "--size=4k --name=a --exitall_on_error --exit_what=all",
        |plan| job(plan).ends_with.plan,
    ),
    ("stonewall", "--size=4k --name=a --name=b --stonewall", |plan| {
        plan.steps.len() == 2 && plan.groups.len() == 2
    }),
    ("new_group", "--size=4k --name=a --name=b --new_group", |plan| {
        plan.steps.len() == 1 && plan.groups.len() == 2
    }),
    ("thread", "--thread", |plan| shown(plan, "thread.0") == Some("true")),
    ("continue_on_error", "--continue_on_error=io", |plan| {
        let rule = &stream(plan).on_error;
        rule.tolerate_read == [5, 84] && rule.tolerate_write == [5, 84] && rule.tolerate_verify.is_empty()
    }),
    ("continue_on_error", "--continue_on_error=verify", |plan| {
        let rule = &stream(plan).on_error;
        rule.tolerate_read.is_empty() && rule.tolerate_verify == [5, 84]
    }),
    ("ignore_error", "--ignore_error=EIO,ENOSPC:122,EILSEQ", |plan| {
        let rule = &stream(plan).on_error;
        rule.tolerate_read == [5] && rule.tolerate_write == [28, 122] && rule.tolerate_verify == [84]
    }),
    ("filename", "--filename=a:b", |plan| paths(plan) == ["a", "b"]),
    ("filename", "--directory=d:e --filename=a --numjobs=2", |plan| {
        paths(plan) == ["d/a"]
    }),
    ("directory", "--directory=d:e --numjobs=3", |plan| {
        paths(plan) == ["d/x.0.0", "e/x.1.0", "d/x.2.0"]
    }),
    ("directory", "--directory=d --filename=a", |plan| paths(plan) == ["d/a"]),
    (
        "filename_format",
        "--filename_format=$JOBNAME-$filenum.$jobnum",
        |plan| paths(plan) == ["x-0.0"],
    ),
    ("nrfiles", "--nrfiles=3 --size=3m", |plan| {
        paths(plan) == ["x.0.0", "x.0.1", "x.0.2"] && laid_out(plan) == M && read_bytes(plan) == Extent::bytes(M)
    }),
    ("nrfiles", "--nrfiles=2 --size=64k --name=dev", |plan| {
        paths(plan) == ["dev.0.0", "dev.0.1"]
    }),
    (
        "file_service_type",
        "--nrfiles=2 --size=1m --file_service_type=random:8",
        |plan| files(plan) == Some((2, FileService::Random, 8)),
    ),
    (
        "file_service_type",
        "--nrfiles=2 --size=1m --file_service_type=zipf:1.3",
        |plan| files(plan) == Some((2, FileService::Zipf { theta: 1.3 }, 1)),
    ),
    (
        "file_service_type",
        "--nrfiles=2 --size=1m --file_service_type=sequential",
        |plan| files(plan) == Some((2, FileService::Sequential, 1)),
    ),
    (
        "file_service_type",
        "--nrfiles=2 --size=1m --file_service_type=pareto:0.3",
        |plan| files(plan) == Some((2, FileService::Pareto { h: 0.3 }, 1)),
    ),
    (
        "file_service_type",
        "--nrfiles=2 --size=1m --file_service_type=gauss:5",
        |plan| files(plan) == Some((2, FileService::Normal { deviation_percent: 5.0 }, 1)),
    ),
    ("openfiles", "--nrfiles=4 --size=1m --openfiles=2", |plan| {
        files(plan) == Some((2, FileService::RoundRobin, 1))
    }),
    ("filesize", "--filesize=2m --size=1m", |plan| laid_out(plan) == 2 * M),
    ("filesize", DRAWN, |plan| {
        // As fio 3.33 makes them.
        sizes(plan) == [2_105_344, 3_330_048, 3_227_648] && stream(plan).region.length.is_none()
    }),
    (
        "filesize",
        "--numjobs=2 --nrfiles=3 --filesize=10k-100k --bs=1k --size=100k",
        |plan| sizes(plan) == [22_528, 37_888, 36_864, 35_840, 90_112, 23_552],
    ),
    (
        "randrepeat",
        "--randrepeat=0 --nrfiles=3 --filesize=1m-8m --size=30m",
        |plan| sizes(plan) != [2_105_344, 3_330_048, 3_227_648],
    ),
    (
        "randseed",
        "--randseed=42 --nrfiles=3 --filesize=1m-8m --size=30m",
        |plan| {
            let usual = lowered(&words(DRAWN)).unwrap();
            sizes(plan).len() == 3 && sizes(plan) != sizes(&usual.plan)
        },
    ),
    ("fallocate", "--size=1m --fallocate=keep", |plan| {
        matches!(
            target(plan).prepare,
            Prepare::LayOut {
                allocate: AllocateMode::KeepSize,
                ..
            }
        )
    }),
    ("fallocate", "--size=1m --fallocate=0", |plan| {
        matches!(
            target(plan).prepare,
            Prepare::LayOut {
                allocate: AllocateMode::None,
                ..
            }
        )
    }),
    ("fadvise_hint", "--rw=randread --fadvise_hint=0", |plan| {
        !stream(plan).hint.sequential && !stream(plan).hint.random
    }),
    ("fadvise_hint", "--rw=read --fadvise_hint=random", |plan| {
        stream(plan).hint.random
    }),
    ("overwrite", "--rw=write --size=1m --overwrite=1", |plan| {
        matches!(&target(plan).prepare, Prepare::LayOut { content: Some(_), .. })
    }),
    (
        "file_append",
        "--rw=write --filename=f --size=64k --file_append=1",
        |plan| {
            stream(plan).region.base == Extent::bytes(128 * K)
                && matches!(target(plan).prepare, Prepare::LayOut { size: Bytes(size), extend: true, .. } if size == 192 * K)
        },
    ),
    ("fill_device", "--rw=write --fill_device=1", |plan| {
        stream(plan).on_error.full_is_end
    }),
    ("create_fsync", "--size=1m --create_fsync=0", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { flush: false, .. })
    }),
    ("create_on_open", "--size=1m --create_on_open=1", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { on_open: true, .. })
    }),
    ("allow_file_create", "--size=1m --allow_file_create=0", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { may_create: false, .. })
    }),
    ("pre_read", "--pre_read=1", |plan| {
        stream(plan).cache.fill_before && !stream(plan).cache.drop_before
    }),
    ("invalidate", "--invalidate=0", |plan| !stream(plan).cache.drop_before),
    ("unlink", "--unlink=1", |plan| target(plan).at_end == AtEndOfJob::Remove),
    ("unlink_each_loop", "--unlink_each_loop=1", |plan| {
        target(plan).at_end == AtEndOfJob::RemoveEachPass
    }),
    ("create_only", "--size=1m --create_only=1", |plan| {
        job(plan).prepare_only
    }),
    ("opendir", "--opendir=d", |plan| paths(plan) == ["d/a", "d/b"]),
    ("filename", "--filename=f --opendir=d", |plan| {
        paths(plan) == ["f", "d/a", "d/b"]
    }),
    ("filename", "--opendir=d --filename=f", |plan| {
        paths(plan) == ["d/a", "d/b", "f"]
    }),
    ("error_dump", "--error_dump=1", |plan| {
        stream(plan).on_error.tell_tolerated
    }),
    ("fadvise_hint", "--fadvise_hint=noreuse", |plan| {
        stream(plan).hint.no_reuse
    }),
];
