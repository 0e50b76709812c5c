//! Effects on what jobs share, and on traces.

use model::block_size::BlockSizes;
use model::mix::Mix;
use model::plan::{AtEndOfJob, FileLock, Flow, Plan, Prepare, Replay, Stop, TargetKind, TraceForm, TraceSkip};
use model::{Bytes, Nanos};

use super::{Effect, job, paths, stream, target};

/// Something of the trace that is carried out.
fn replayed(plan: &Plan, how: fn(&Replay) -> bool) -> bool {
    stream(plan).replay.as_ref().is_some_and(how)
}

pub const SHARED: &[Effect] = &[
    ("lockfile", "--lockfile=exclusive", |plan| {
        stream(plan).lock == FileLock::Exclusive
    }),
    ("lockfile", "--lockfile=readwrite", |plan| {
        stream(plan).lock == FileLock::ReadersTogether
    }),
    ("flow", "--flow=8", |plan| {
        stream(plan).flow
            == Some(Flow {
                id: 0,
                weight: 8,
                pause_ns: Nanos(0),
            })
    }),
    ("flow_id", "--flow=8 --flow_id=3", |plan| {
        stream(plan).flow.is_some_and(|flow| flow.id == 3)
    }),
    ("flow_sleep", "--flow=8 --flow_sleep=100", |plan| {
        stream(plan)
            .flow
            .is_some_and(|flow| flow.pause_ns == Nanos::micros(100))
    }),
    ("write_iolog", "--write_iolog=out", |plan| {
        job(plan).trace.as_deref() == Some("out")
    }),
    ("read_iolog", "--read_iolog=trace", |plan| {
        let lengths = &stream(plan).pattern.sizes;
        let sizes = |low, high| BlockSizes::Range {
            low: Bytes(low),
            high: Bytes(high),
            unaligned: true,
        };
        paths(plan) == ["f", "y"]
            && stream(plan).mix
                == Mix::Traced {
                    reads: true,
                    writes: true,
                    trims: false,
                }
            && lengths.read == sizes(512, 8192)
            && lengths.write == BlockSizes::Fixed { size: Bytes(4096) }
            && job(plan).stop.passes == Some(1)
            && job(plan).stop.bytes.is_none()
            && plan.targets[0].prepare == Prepare::Existing
            && matches!(
                plan.targets[1].prepare,
                Prepare::LayOut {
                    size: Bytes(0),
                    may_create: true,
                    ..
                }
            )
            && replayed(plan, |replay| {
                let usual = Replay {
                    trace: "trace".into(),
                    form: TraceForm::FioText,
                    files: ["f", "y"].map(String::from).to_vec(),
                    redirected: false,
                    flushes: true,
                    without_times: false,
                    speed_percent: 100,
                    scale: 1,
                    align: 0,
                    skip: TraceSkip::default(),
                };
                *replay == usual
            })
    }),
    // Clones take the traces in turn.
    ("read_iolog", "--numjobs=3 --read_iolog=trace:other", |plan| {
        let workers = &job(plan).workers;
        let names = workers
            .iter()
            .map(|worker| worker.streams[0].replay.as_ref().map(|replay| &*replay.trace));
        names.eq([Some("trace"), Some("other"), Some("trace")])
    }),
    ("read_iolog", "--read_iolog=records --ioengine=libaio", |plan| {
        paths(plan) == ["dev"]
            && stream(plan).depth == 2
            && stream(plan).cache.direct
            && replayed(plan, |replay| {
                replay.form == TraceForm::Blktrace { swapped: false } && replay.files == ["8:16"]
            })
    }),
    (
        "iodepth",
        "--read_iolog=records --ioengine=libaio --iodepth=7",
        |plan| stream(plan).depth == 7,
    ),
    ("direct", "--read_iolog=records --direct=0", |plan| {
        !stream(plan).cache.direct && stream(plan).replay.is_some()
    }),
    ("bs", "--read_iolog=records --bs=512", |plan| {
        !stream(plan).cache.direct && stream(plan).replay.is_some()
    }),
    ("runtime", "--read_iolog=trace --runtime=3", |plan| {
        job(plan).stop.after_ns == Some(Nanos::secs(3))
    }),
    (
        "allow_file_create",
        "--read_iolog=trace --allow_file_create=0",
        |plan| matches!(plan.targets[1].prepare, Prepare::LayOut { may_create: false, .. }),
    ),
    ("unlink", "--read_iolog=trace --unlink=1", |plan| {
        plan.targets[0].at_end == AtEndOfJob::Remove
    }),
    ("unlink_each_loop", "--read_iolog=trace --unlink_each_loop=1", |plan| {
        plan.targets[0].at_end == AtEndOfJob::Remove
    }),
    ("ioengine", "--read_iolog=trace --ioengine=null", |plan| {
        matches!(target(plan).kind, TargetKind::Nothing { .. })
    }),
    ("end_fsync", "--read_iolog=trace --end_fsync=1", |plan| {
        stream(plan).sync.at_end
    }),
    ("fsync_on_close", "--read_iolog=trace --fsync_on_close=1", |plan| {
        stream(plan).sync.on_close
    }),
    ("end_syncfs", "--read_iolog=trace --end_syncfs=1", |plan| {
        stream(plan).sync.file_system_at_end
    }),
    ("replay_no_stall", "--read_iolog=trace --replay_no_stall=1", |plan| {
        replayed(plan, |replay| replay.without_times)
    }),
    ("replay_redirect", "--read_iolog=trace --replay_redirect=f", |plan| {
        paths(plan) == ["f"] && replayed(plan, |replay| replay.redirected && replay.files == ["f"])
    }),
    ("replay_scale", "--read_iolog=trace --replay_scale=2", |plan| {
        replayed(plan, |replay| replay.scale == 2)
    }),
    ("replay_align", "--read_iolog=trace --replay_align=4k", |plan| {
        replayed(plan, |replay| replay.align == 4096)
    }),
    (
        "replay_time_scale",
        "--read_iolog=trace --replay_time_scale=50",
        |plan| replayed(plan, |replay| replay.speed_percent == 50),
    ),
    ("replay_skip", "--read_iolog=trace --replay_skip=write,sync", |plan| {
        stream(plan).mix
            == Mix::Traced {
                reads: true,
                writes: false,
                trims: false,
            }
            && replayed(plan, |replay| {
                !replay.flushes
                    && replay.skip
                        == TraceSkip {
                            writes: true,
                            flushes: true,
                            ..TraceSkip::default()
                        }
            })
    }),
    ("replay_skip", "--read_iolog=trace --replay_skip=read,trim", |plan| {
        replayed(plan, |replay| {
            replay.skip.reads && replay.skip.trims && !replay.skip.writes && !replay.skip.flushes
        })
    }),
    // Neither sizes nor numbers end it before it is through.
    (
        "read_iolog",
        "--read_iolog=trace --size=1m --number_ios=5 --loops=3",
        |plan| {
            let once = Stop {
                passes: Some(1),
                ..Stop::default()
            };
            job(plan).stop == once
        },
    ),
    ("direct", "--read_iolog=trace --direct=1", |plan| {
        stream(plan).cache.direct && stream(plan).replay.is_some()
    }),
];
