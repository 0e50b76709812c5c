//! What each option does to the plan. Every entry is a command line with that option and what fio's manual says the plan must
//! then hold; without the option it must not hold, or the entry would show nothing. `cargo xtask mutate fio` goes further: it
//! takes the option away in each line of `lower/` that reads it, and this table has to notice.

use std::collections::HashSet;
use std::path::Path;

use dialects::Diagnostic;
use dialects::fio::options::{Kind, Row, Status, rows};
use dialects::fio::{Disk, Found, FoundKind, Here, Lowered, Reading, TraceFile, lower};
use model::access::{
    Access, Between, BlockList, Every, Mixed, Normal, Once, OnceMethod, Pareto, Placement, RangeBasis, Ranges, Uniform,
    Zipf,
};
use model::block_size::BlockSizes;
use model::content::{ConstantPart, Content};
use model::draws::{DrawsForm, Reduction};
use model::mix::Mix;
use model::plan::{
    AllocateMode, AtEndOfJob, Control, Dependency, EngineKind, Extent, FileLock, FileService, Flow, Job, LatencyPoints,
    Pacing, Plan, Prepare, PriorityClass, PriorityRule, Process, Rate, Replay, Stream, StreamTarget, Target,
    TargetKind, Think, ThinkCount, TraceForm, TraceSkip, Tracked, Verify, VerifyMethod, Worker, WriteThrough,
};
use model::{Bytes, Direction, Nanos, PerDirection};

use crate::support::{Around, split};

const K: u64 = 1024;
const M: u64 = 1024 * K;
/// The seed that nobody knows before.
const FRESH: u64 = 7;

/// A file `f` of 128 KiB, a device `dev` of 1 MiB, and `bytes`, which holds `ab`.
pub struct FakeDisk;

impl Disk for FakeDisk {
    fn look(&self, path: &str) -> Option<Found> {
        let (kind, size) = match path {
            "f" => (FoundKind::File, 128 * K),
            "dev" => (FoundKind::Device, M),
            "bytes" => (FoundKind::File, 2),
            "trace" | "other" | "records" => (FoundKind::File, 100),
            _ => return None,
        };
        Some(Found { kind, size })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "bytes" => Ok(b"ab".to_vec()),
            _ => Err("No such file or directory".into()),
        }
    }

    fn below(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        let bytes = match path {
            "trace" => TRACE.as_bytes().to_vec(),
            "other" => b"fio version 2 iolog\nz add\nz open\nz read 0 512\nz close\n".to_vec(),
            "records" => records(),
            _ => return Err("No such file or directory".into()),
        };
        Ok(TraceFile {
            path: path.into(),
            bytes: Box::new(std::io::Cursor::new(bytes)),
        })
    }

    fn device(&self, major: u32, minor: u32) -> Option<String> {
        ((major, minor) == (8, 16)).then(|| "dev".into())
    }
}

/// Of two files, of which only `f` is there.
const TRACE: &str = "fio version 3 iolog\n1 f add\n1 y add\n2 f open\n3 f read 0 8192\n4 y open\n5 y write 4096 4096\n\
                     6 f read 8192 512\n7 f sync 0 0\n";

/// Two reads of the device 8:16 as blktrace writes them, both in flight at once.
fn records() -> Vec<u8> {
    let record = |time: u64, sector: u64, action: u32| {
        let mut record = Vec::new();
        record.extend(0x6561_7407_u32.to_ne_bytes());
        record.extend(1_u32.to_ne_bytes());
        record.extend(time.to_ne_bytes());
        record.extend(sector.to_ne_bytes());
        record.extend(4096_u32.to_ne_bytes());
        record.extend((action | 1 << 16).to_ne_bytes());
        record.extend(1_u32.to_ne_bytes());
        record.extend((8_u32 << 20 | 16).to_ne_bytes());
        record.extend([0; 8]);
        record
    };
    [record(1, 0, 1), record(2, 8, 1), record(3, 0, 8), record(4, 8, 8)].concat()
}

/// What a command line means here; nothing if it is not even read.
fn attempt(words: &[String]) -> Option<Result<Lowered, Vec<Diagnostic>>> {
    let mut around = Around {
        folders: ["d", "e"].map(String::from).to_vec(),
        ..Around::default()
    };
    let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
    let Reading::Run(jobs) = around.read(&borrowed) else {
        return None;
    };
    let here = Here {
        arguments: words,
        disk: &FakeDisk,
        fresh_seed: FRESH,
        process: 1,
        utc_offset_s: 0,
    };
    Some(lower(&jobs, here))
}

/// What a command line means here; nothing if it is refused.
pub fn lowered(words: &[String]) -> Option<Lowered> {
    attempt(words)?.ok()
}

/// An option, words of a command line that have it, and what their plan must hold.
pub type Effect = (&'static str, &'static str, fn(&Plan) -> bool);

pub fn job(plan: &Plan) -> &Job {
    &plan.steps[0].jobs[0]
}

pub fn worker(plan: &Plan) -> &Worker {
    &job(plan).workers[0]
}

pub fn stream(plan: &Plan) -> &Stream {
    &worker(plan).streams[0]
}

pub fn target(plan: &Plan) -> &Target {
    plan.target(stream(plan).target.ids()[0])
}

fn paths(plan: &Plan) -> Vec<&str> {
    plan.targets.iter().map(|target| target.path.as_str()).collect()
}

fn verify(plan: &Plan) -> &Verify {
    stream(plan).verify.as_ref().unwrap()
}

fn is_verified(plan: &Plan, how: fn(&Verify) -> bool) -> bool {
    stream(plan).verify.as_ref().is_some_and(how)
}

/// What of duplicated data is constant.
fn constant_part(plan: &Plan) -> Option<&ConstantPart> {
    match &stream(plan).content {
        Content::Duplicated { constant, .. } => constant.as_ref(),
        _ => None,
    }
}

/// A setting of the report.
fn shown<'p>(plan: &'p Plan, name: &str) -> Option<&'p str> {
    let other = &plan.origin.presentation.other;
    let found = other.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

fn placement(plan: &Plan) -> Option<&Placement> {
    match &stream(plan).pattern.access[..] {
        [Access::Random { placement }] => Some(placement),
        _ => None,
    }
}

fn skip(plan: &Plan) -> Option<i64> {
    match &stream(plan).pattern.access[..] {
        [Access::Sequential(walk)] => match walk.advance {
            model::access::Advance::Length { skip } => Some(skip),
            _ => None,
        },
        _ => None,
    }
}

fn zones(plan: &Plan) -> Option<&model::access::Zones> {
    match &stream(plan).pattern.access[..] {
        [Access::Zones(zones)] => Some(zones),
        _ => None,
    }
}

fn fixed(plan: &Plan) -> PerDirection<u64> {
    stream(plan).pattern.sizes.map(|sizes| match sizes {
        BlockSizes::Fixed { size } => size.0,
        _ => 0,
    })
}

fn laid_out(plan: &Plan) -> u64 {
    match target(plan).prepare {
        Prepare::LayOut { size, .. } => size.0,
        _ => 0,
    }
}

fn rates(plan: &Plan) -> PerDirection<Option<Rate>> {
    match stream(plan).pacing {
        Pacing::PerDirection { rates } => rates,
        _ => PerDirection::default(),
    }
}

fn think(plan: &Plan, how: fn(&Think) -> bool) -> bool {
    stream(plan).think.as_ref().is_some_and(how)
}

fn latency_target(plan: &Plan, how: fn(&model::plan::LatencyTarget) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::LatencyTarget(rule)] if how(rule))
}

fn steady(plan: &Plan, how: fn(&model::plan::SteadyState) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::SteadyState(rule)] if how(rule))
}

fn least(plan: &Plan, how: fn(&model::plan::MinimumRate) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::MinimumRate(rule)] if how(rule))
}

fn grids(plan: &Plan) -> Vec<u64> {
    plan.grids.iter().map(|grid| grid.length_ns.0 / 1_000_000).collect()
}

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

fn read_bytes(plan: &Plan) -> Extent {
    stream(plan).region.length.unwrap_or_default()
}

const MIB: &str = "--size=1m";

/// Sizes of all files.
fn sizes(plan: &Plan) -> Vec<u64> {
    let sizes = plan.targets.iter().map(|target| match target.prepare {
        Prepare::LayOut { size, .. } => size.0,
        _ => 0,
    });
    sizes.collect()
}

const DRAWN: &str = "--nrfiles=3 --filesize=1m-8m --size=30m";

/// Effects on when jobs begin and end, and on files.
const JOBS_AND_FILES: &[Effect] = &[
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
];

/// Effects on what is read and written.
const PATTERN: &[Effect] = &[
    ("rw", "--rw=randwrite", |plan| {
        stream(plan).mix == Mix::WRITES && placement(plan).is_some() && stream(plan).hint.random
    }),
    ("rw", "--rw=trimwrite --size=1m", |plan| {
        stream(plan).mix == Mix::TrimThenWrite && job(plan).stop.bytes == Some(Bytes(2 * M))
    }),
    ("rw", "--rw=write:8k", |plan| {
        skip(plan) == Some(8192)
            && matches!(&stream(plan).pattern.access[..], [Access::Sequential(walk)] if walk.at_end == model::access::AtEnd::Wrap)
    }),
    ("rw", "--rw=randread:4", |plan| {
        matches!(
            &stream(plan).pattern.access[..],
            [Access::Every(Every {
                operations: 4,
                between: Between::Continue,
                ..
            })]
        )
    }),
    ("rw", "--rw=write --size=1m", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { content: None, .. })
    }),
    ("rw", "--rw=randread --zonemode=strided --zonesize=64k", |plan| {
        zones(plan).is_some_and(|zones| zones.within.is_some())
    }),
    ("rw_sequencer", "--rw=randread:4 --rw_sequencer=identical", |plan| {
        matches!(
            &stream(plan).pattern.access[..],
            [Access::Every(Every {
                between: Between::Repeat,
                ..
            })]
        )
    }),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70",
        |plan| matches!(stream(plan).mix, Mix::Drawn { write_percent, .. } if write_percent == 30.0),
    ),
    (
        "rwmixwrite",
        "--rw=randrw --rwmixwrite=20",
        |plan| matches!(stream(plan).mix, Mix::Drawn { write_percent, .. } if write_percent == 20.0),
    ),
    ("size", MIB, |plan| {
        laid_out(plan) == M && read_bytes(plan) == Extent::bytes(M) && job(plan).stop.bytes == Some(Bytes(M))
    }),
    ("size", "--filename=dev --bs=8k --size=50%", |plan| {
        let length = read_bytes(plan);
        (length.percent, length.align) == (50.0, 8192) && job(plan).stop.region_percent == Some(100)
    }),
    ("size", "--ioengine=null --size=1m", |plan| {
        target(plan).kind == TargetKind::Nothing { size: Bytes(M) }
    }),
    ("size", "--nrfiles=3 --size=40k --bs=4k", |plan| {
        // The byte that is left over is less than a block.
        sizes(plan) == [13653; 3] && read_bytes(plan) == Extent::bytes(13653)
    }),
    ("size", "--nrfiles=3 --size=32 --bs=1", |plan| {
        // Two are left over, and go to the first two.
        sizes(plan) == [11, 11, 10] && stream(plan).region.length.is_none()
    }),
    ("io_size", "--size=1m --io_size=4m", |plan| {
        job(plan).stop.bytes == Some(Bytes(4 * M))
            && job(plan).stop.passes.is_none()
            && read_bytes(plan) == Extent::bytes(M)
    }),
    ("io_size", "--filename=dev --io_size=50%", |plan| {
        job(plan).stop.region_percent == Some(50)
    }),
    ("offset", "--size=1m --offset=64k", |plan| {
        stream(plan).region.base == Extent::bytes(64 * K) && laid_out(plan) == M + 64 * K
    }),
    ("offset", "--filename=dev --offset=25% --bs=8k", |plan| {
        let base = stream(plan).region.base;
        (base.percent, base.align, base.round_up) == (25.0, 8192, true)
    }),
    (
        "offset_increment",
        "--filename=f --size=64k --offset_increment=1m --numjobs=2",
        |plan| job(plan).workers[1].streams[0].region.base == Extent::bytes(M),
    ),
    (
        "offset_align",
        "--filename=dev --offset=25% --offset_align=64k",
        |plan| stream(plan).region.base.align == 64 * K,
    ),
    ("bs", "--bs=8k,16k", |plan| {
        fixed(plan)
            == PerDirection {
                read: 8 * K,
                write: 16 * K,
                trim: 16 * K,
            }
    }),
    ("bs", "--size=1m --bs=64k", |plan| {
        matches!(target(plan).prepare, Prepare::LayOut { block: 65536, .. })
    }),
    ("ba", "--rw=randread --bs=4k --ba=2k", |plan| {
        stream(plan).pattern.alignment == PerDirection::all(Bytes(2048))
            && matches!(placement(plan), Some(Placement::Uniform(_)))
    }),
    ("bsrange", "--bsrange=4k-64k", |plan| {
        stream(plan).pattern.sizes.read
            == BlockSizes::Range {
                low: Bytes(4 * K),
                high: Bytes(64 * K),
                unaligned: false,
            }
    }),
    ("bsrange", "--bsrange=8k-8k", |plan| fixed(plan).read == 8 * K),
    ("bssplit", "--bssplit=4k/60:64k/40", |plan| {
        match &stream(plan).pattern.sizes.read {
            // The rarest first.
            BlockSizes::Split { entries } => {
                let entries: Vec<_> = entries.iter().map(|entry| (entry.size.0, entry.percent)).collect();
                entries == [(64 * K, 40.0), (4 * K, 60.0)]
            }
            _ => false,
        }
    }),
    ("bs_unaligned", "--bsrange=4k-64k --bs_unaligned", |plan| {
        matches!(
            stream(plan).pattern.sizes.read,
            BlockSizes::Range { unaligned: true, .. }
        )
    }),
    ("bs_is_seq_rand", "--rw=write --bs=4k,64k --bs_is_seq_rand=1", |plan| {
        stream(plan).pattern.sizes_by_place && fixed(plan).read == 4 * K && fixed(plan).write == 64 * K
    }),
    ("randrepeat", "--randrepeat=0", |plan| {
        plan.seed == FRESH && worker(plan).draws == DrawsForm::PerPurpose { seed: FRESH, number: 1 }
    }),
    ("randseed", "--randseed=42", |plan| {
        plan.seed == 42 && worker(plan).draws == DrawsForm::PerPurpose { seed: 42, number: 1 }
    }),
    ("randseed", "--randrepeat=0 --randseed=42", |plan| plan.seed == 42),
    ("norandommap", "--rw=randread --norandommap", |plan| {
        placement(plan)
            == Some(&Placement::Uniform(Uniform {
                reduction: Reduction::MultiplyHigh32,
            }))
    }),
    ("softrandommap", "--rw=randread --softrandommap=1", |plan| {
        let method = OnceMethod::Map {
            reduction: Reduction::MultiplyHigh32,
            optional: true,
        };
        placement(plan) == Some(&Placement::Once(Once { method }))
    }),
    ("random_generator", "--rw=randread --random_generator=lfsr", |plan| {
        placement(plan)
            == Some(&Placement::Once(Once {
                method: OnceMethod::Bijection,
            }))
    }),
    (
        "random_generator",
        "--rw=randread --random_generator=tausworthe64",
        |plan| {
            let method = OnceMethod::Map {
                reduction: Reduction::MultiplyHigh64,
                optional: false,
            };
            placement(plan) == Some(&Placement::Once(Once { method }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zipf:1.2:0.3",
        |plan| {
            placement(plan)
                == Some(&Placement::Zipf(Zipf {
                    theta: 1.2,
                    center: Some(0.3),
                }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=pareto:0.3",
        |plan| placement(plan) == Some(&Placement::Pareto(Pareto { h: 0.3, center: None })),
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=normal:20",
        |plan| {
            placement(plan)
                == Some(&Placement::Normal(Normal {
                    deviation_percent: 20.0,
                    center: 0.5,
                }))
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zoned:60/10:40/90",
        |plan| match placement(plan) {
            Some(Placement::Ranges(Ranges {
                basis: RangeBasis::Percent,
                shares,
                ..
            })) => {
                let shares: Vec<_> = shares
                    .read
                    .iter()
                    .map(|share| (share.operations_percent, share.span))
                    .collect();
                shares == [(60.0, 10.0), (40.0, 90.0)]
            }
            _ => false,
        },
    ),
    (
        "random_distribution",
        "--rw=randread --random_distribution=zoned_abs:60/1m:40/9m",
        |plan| {
            matches!(
                placement(plan),
                Some(Placement::Ranges(Ranges {
                    basis: RangeBasis::Bytes,
                    ..
                }))
            )
        },
    ),
    (
        "random_sequence_stride",
        "--rw=randread --random_distribution=sequence:2,0,1 --random_sequence_stride=1",
        |plan| {
            placement(plan)
                == Some(&Placement::List(BlockList {
                    blocks: vec![2, 0, 1],
                    moving: true,
                }))
        },
    ),
    (
        "percentage_random",
        "--rw=randread --percentage_random=50,20",
        |plan| match &stream(plan).pattern.access[..] {
            [Access::Mixed(Mixed { random_percent, .. })] => {
                *random_percent
                    == PerDirection {
                        read: 50,
                        write: 20,
                        trim: 20,
                    }
            }
            _ => false,
        },
    ),
    (
        "zonemode",
        "--zonemode=strided --zonesize=8k --zonerange=16k --zoneskip=32k",
        |plan| zones(plan).is_some(),
    ),
    ("zonesize", "--zonemode=strided --zonesize=8k", |plan| {
        zones(plan).is_some_and(|zones| (zones.work, zones.range) == (Bytes(8 * K), Bytes(8 * K)))
    }),
    ("zonesize", "--zonemode=strided --zonesize=8k --zonerange=16k", |plan| {
        zones(plan).is_some_and(|zones| zones.work == Bytes(8 * K))
    }),
    (
        "zonerange",
        "--zonemode=strided --zonesize=8k --zonerange=16k",
        |plan| zones(plan).is_some_and(|zones| zones.range == Bytes(16 * K)),
    ),
    ("zoneskip", "--zonemode=strided --zonesize=8k --zoneskip=32k", |plan| {
        zones(plan).is_some_and(|zones| zones.skip == Bytes(32 * K))
    }),
];

/// Effects on how the system is asked.
const SYSTEM: &[Effect] = &[
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

/// Something of the trace that is carried out.
fn replayed(plan: &Plan, how: fn(&Replay) -> bool) -> bool {
    stream(plan).replay.as_ref().is_some_and(how)
}

/// Effects on what jobs share, and on traces.
const SHARED: &[Effect] = &[
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
];

/// Effects on speed and limits.
const PACE: &[Effect] = &[
    ("thinktime", "--thinktime=500", |plan| {
        think(plan, |think| think.pause_ns == Nanos::micros(500))
    }),
    ("thinktime_spin", "--thinktime=500 --thinktime_spin=100", |plan| {
        think(plan, |think| {
            think.spin_ns == Nanos::micros(100) && think.pause_ns == Nanos::micros(500)
        })
    }),
    ("thinktime_spin", "--thinktime_spin=100", |plan| {
        think(plan, |think| {
            think.spin_ns == Nanos::micros(100) && think.pause_ns == Nanos::micros(100)
        })
    }),
    ("thinktime_blocks", "--thinktime=500 --thinktime_blocks=8", |plan| {
        think(plan, |think| think.operations == 8)
    }),
    (
        "thinktime_blocks",
        "--thinktime=500 --thinktime_iotime=1 --thinktime_blocks=1",
        |plan| think(plan, |think| think.operations == 1),
    ),
    (
        "thinktime_blocks_type",
        "--thinktime=500 --thinktime_blocks_type=issue",
        |plan| think(plan, |think| think.count == ThinkCount::Issued),
    ),
    ("thinktime_iotime", "--thinktime=500 --thinktime_iotime=2", |plan| {
        think(plan, |think| {
            think.after_ns == Some(Nanos::secs(2)) && think.operations == 0
        })
    }),
    ("rate", "--rw=randrw --rate=10m,5m", |plan| {
        let rates = rates(plan);
        (rates.read, rates.write, rates.trim) == (Some(Rate::bytes(10 * M)), Some(Rate::bytes(5 * M)), None)
    }),
    ("rw", "--rw=write --rate=10m,5m", |plan| {
        rates(plan).read.is_none() && rates(plan).write == Some(Rate::bytes(5 * M))
    }),
    ("rate_min", "--rate_min=1m", |plan| {
        least(plan, |rule| {
            (rule.of, rule.direction, rule.least, rule.cycle_ns)
                == (Tracked::Throughput, Some(Direction::Read), M as f64, Nanos::secs(1))
        })
    }),
    ("rw", "--rw=write --rate_min=1m", |plan| {
        least(plan, |rule| rule.direction == Some(Direction::Write))
    }),
    ("rate_process", "--rate_iops=100 --rate_process=poisson", |plan| {
        rates(plan).read.is_some_and(|rate| rate.process == Process::Poisson)
    }),
    ("rate_cycle", "--rate_min=1m --rate_cycle=500", |plan| {
        least(plan, |rule| rule.cycle_ns == Nanos::millis(500))
    }),
    (
        "rate_ignore_thinktime",
        "--rate=1m --thinktime=500 --rate_ignore_thinktime=1",
        |plan| think(plan, |think| think.shifts_schedule),
    ),
    ("rate_iops", "--rw=randrw --rate_iops=700,300", |plan| {
        (rates(plan).read, rates(plan).write) == (Some(Rate::iops(700)), Some(Rate::iops(300)))
    }),
    ("rate_iops", "--bsrange=4k-64k --rate_iops=100", |plan| {
        // Converted with the smallest length.
        rates(plan).read == Some(Rate::bytes(100 * 4 * K))
    }),
    ("rate_iops_min", "--rate_iops_min=100", |plan| {
        least(plan, |rule| (rule.of, rule.least) == (Tracked::Iops, 100.0))
    }),
    ("max_latency", "--max_latency=10ms,20ms", |plan| {
        let most = stream(plan).on_error.latency_ns_max;
        (most.read, most.write) == (Some(Nanos::millis(10)), Some(Nanos::millis(20)))
    }),
    ("latency_target", "--latency_target=20ms --latency_window=5s", |plan| {
        latency_target(plan, |rule| {
            rule.target_ns == Nanos::millis(20) && rule.percentile == 100.0
        })
    }),
    ("latency_window", "--latency_target=20ms --latency_window=5s", |plan| {
        latency_target(plan, |rule| rule.window_ns == Nanos::secs(5))
    }),
    (
        "latency_percentile",
        "--latency_target=20ms --latency_window=5s --latency_percentile=99.5",
        |plan| latency_target(plan, |rule| rule.percentile == 99.5),
    ),
    (
        "latency_run",
        "--latency_target=20ms --latency_window=5s --latency_run=1",
        |plan| latency_target(plan, |rule| rule.keep_running),
    ),
    ("steadystate", "--ss=bw:12 --ss_dur=10", |plan| {
        steady(plan, |rule| {
            (rule.of, rule.slope, rule.limit, rule.percent) == (Tracked::Throughput, false, 12.0, false)
        })
    }),
    ("steadystate", "--steadystate=lat_slope:5% --ss_dur=10", |plan| {
        steady(plan, |rule| {
            (rule.of, rule.slope, rule.limit, rule.percent) == (Tracked::Latency, true, 5.0, true)
        })
    }),
    (
        "steadystate_duration",
        "--ss=iops:5% --steadystate_duration=10",
        |plan| steady(plan, |rule| rule.window_ns == Nanos::secs(10)) && grids(plan) == [500, 1000],
    ),
    (
        "steadystate_ramp_time",
        "--ss=iops:5% --ss_dur=10 --steadystate_ramp_time=3",
        |plan| steady(plan, |rule| rule.ramp_ns == Nanos::secs(3)),
    ),
    (
        "steadystate_check_interval",
        "--ss=iops:5% --ss_dur=10 --steadystate_check_interval=2",
        |plan| steady(plan, |rule| rule.interval_ns == Nanos::secs(2)) && grids(plan) == [500, 2000],
    ),
];

/// Effects on what is written and checked.
const DATA: &[Effect] = &[
    ("zero_buffers", "--rw=write --zero_buffers", |plan| {
        stream(plan).content == Content::Zeros
    }),
    ("refill_buffers", "--rw=write --refill_buffers", |plan| {
        stream(plan).content == Content::Fresh
    }),
    ("scramble_buffers", "--rw=write --scramble_buffers=0", |plan| {
        stream(plan).content == Content::Once
    }),
    ("buffer_pattern", "--rw=write --buffer_pattern=0xdead'bytes'", |plan| {
        stream(plan).content
            == Content::Pattern {
                bytes: vec![0xde, 0xad, b'a', b'b'],
            }
    }),
    (
        "buffer_compress_percentage",
        "--rw=write --buffer_compress_percentage=50",
        |plan| {
            stream(plan).content
                == Content::Compressible {
                    percent: 50,
                    chunk: 512,
                    pattern: Vec::new(),
                }
        },
    ),
    (
        "buffer_compress_percentage",
        "--rw=write --buffer_compress_percentage=100",
        |plan| stream(plan).content == Content::Zeros,
    ),
    (
        "buffer_compress_chunk",
        "--rw=write --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
        |plan| matches!(stream(plan).content, Content::Compressible { chunk: 4096, .. }),
    ),
    ("dedupe_percentage", "--rw=write --dedupe_percentage=30", |plan| {
        stream(plan).content
            == Content::Duplicated {
                percent: 30,
                working_set: 0,
                shared: false,
                constant: None,
            }
    }),
    (
        "dedupe_percentage",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
        |plan| {
            let constant = constant_part(plan);
            constant.is_some_and(|part| (part.percent, part.chunk) == (50, 512))
        },
    ),
    (
        "buffer_compress_percentage",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
        |plan| constant_part(plan).is_some_and(|part| part.percent == 50),
    ),
    (
        "buffer_compress_chunk",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
        |plan| constant_part(plan).is_some_and(|part| part.chunk == 4096),
    ),
    (
        "buffer_pattern",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_pattern=0xab",
        |plan| constant_part(plan).is_some_and(|part| part.pattern == [0xab]),
    ),
    (
        "dedupe_global",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
        |plan| matches!(stream(plan).content, Content::Duplicated { shared: true, .. }),
    ),
    (
        "dedupe_mode",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
        |plan| matches!(stream(plan).content, Content::Duplicated { shared: true, .. }),
    ),
    (
        "dedupe_mode",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            // 5 % of 1024 blocks.
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "size",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "dedupe_working_set_percentage",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_working_set_percentage=50",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 512,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "filesize",
        "--rw=write --filesize=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    ("verify", "--rw=write --verify=crc32c", |plan| {
        is_verified(plan, |verify| verify.method == VerifyMethod::Crc32c) && stream(plan).content == Content::Fresh
    }),
    ("verify", "--rw=write --verify=sha3-256", |plan| {
        is_verified(plan, |verify| verify.method == VerifyMethod::Sha3_256)
    }),
    ("do_verify", "--rw=write --verify=md5 --do_verify=0", |plan| {
        !verify(plan).after_writes
    }),
    ("rw", "--rw=write --verify=md5", |plan| verify(plan).after_writes),
    (
        "verify_interval",
        "--rw=write --bs=64k --verify=md5 --verify_interval=4k",
        |plan| verify(plan).interval == 4096,
    ),
    (
        "verify_pattern",
        "--rw=write --verify=pattern --verify_pattern=0xab",
        |plan| verify(plan).pattern == [0xab],
    ),
    ("verify_fatal", "--rw=write --verify=md5 --verify_fatal=1", |plan| {
        verify(plan).fatal
    }),
    ("verify_dump", "--rw=write --verify=md5 --verify_dump=1", |plan| {
        verify(plan).dump
    }),
    ("verify_async", "--rw=write --verify=md5 --verify_async=4", |plan| {
        verify(plan).threads == 4
    }),
    (
        "verify_backlog",
        "--rw=write --verify=md5 --verify_backlog=1k",
        |plan| verify(plan).backlog == 1024,
    ),
    (
        "verify_backlog_batch",
        "--rw=write --verify=md5 --verify_backlog=1k --verify_backlog_batch=64",
        |plan| verify(plan).backlog_batch == 64,
    ),
    ("verify_only", "--rw=write --verify=md5 --verify_only", |plan| {
        verify(plan).only
    }),
    (
        "verify_header_seed",
        "--rw=write --verify=md5 --verify_header_seed=0",
        |plan| verify(plan).any_seed,
    ),
    (
        "verify_write_sequence",
        "--rw=write --verify=md5 --verify_write_sequence=0",
        |plan| verify(plan).any_order,
    ),
    (
        "verify_state_save",
        "--rw=write --verify=md5 --verify_state_save=0",
        |plan| !verify(plan).save_state,
    ),
    (
        "verify_state_save",
        "--rw=write --verify=md5 --verify_state_save=0",
        |plan| verify(plan).state_file.is_empty(),
    ),
    ("name", "--name=a/b --rw=write --verify=md5", |plan| {
        is_verified(plan, |verify| verify.state_file == "local-a.b-0-verify.state")
    }),
    ("numjobs", "--rw=write --verify=md5 --numjobs=2", |plan| {
        let second = &job(plan).workers.get(1).map(|worker| &worker.streams[0]);
        let verify = second.and_then(|stream| stream.verify.as_ref());
        verify.is_some_and(|verify| verify.state_file == "local-x-1-verify.state")
    }),
    (
        "verify_state_load",
        "--rw=read --verify=md5 --verify_state_load=1",
        |plan| {
            is_verified(plan, |verify| {
                verify.load_state && verify.state_file == "local-x-0-verify.state"
            })
        },
    ),
    (
        "verify_async",
        "--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1",
        |plan| verify(plan).threads == 2,
    ),
    (
        "verify_async_cpus",
        "--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1",
        |plan| verify(plan).processors == [0, 1],
    ),
    ("verify_offset", "--rw=write --verify=md5 --verify_offset=512", |plan| {
        verify(plan).header_at == 512
    }),
    (
        "verify_policy",
        "--rw=write --verify=md5 --verify_policy=fsynced",
        |plan| verify(plan).flushed_only,
    ),
    (
        "experimental_verify",
        "--rw=write --verify=md5 --experimental_verify=1",
        |plan| verify(plan).work_out_again,
    ),
    ("trim_percentage", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.percent == 20))
    }),
    ("trim_backlog", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.backlog == 64))
    }),
    ("trim_backlog_batch", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.batch == 8))
    }),
    ("trim_verify_zero", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| !trims.read_as_zeros))
    }),
    (
        "block_error_percentiles",
        "--rw=trimwrite --block_error_percentiles=1",
        |plan| stream(plan).on_error.block_lifetimes,
    ),
    ("rw", "--rw=trimwrite --block_error_percentiles=1", |plan| {
        stream(plan).on_error.block_lifetimes
    }),
];

/// Written blocks that are discarded.
const TRIMS: &str = "--rw=randtrimwrite --verify=md5 --trim_percentage=20 --trim_backlog=64 --trim_backlog_batch=8 \
                     --trim_verify_zero=0";

/// Effects on reports.
const REPORTS: &[Effect] = &[
    ("group_reporting", "--group_reporting", |plan| {
        plan.groups[0].merged && shown(plan, "group_reporting.0") == Some("true")
    }),
    ("stats", "--stats=0", |plan| shown(plan, "stats.0") == Some("false")),
    ("clat_percentiles", "--clat_percentiles=0", |plan| {
        shown(plan, "percentiles_of.0") == Some("none")
    }),
    ("lat_percentiles", "--lat_percentiles=1", |plan| {
        shown(plan, "percentiles_of.0") == Some("clat,lat")
    }),
    ("slat_percentiles", "--slat_percentiles=1", |plan| {
        shown(plan, "percentiles_of.0") == Some("slat,clat")
    }),
    ("percentile_list", "--percentile_list=50:99.9", |plan| {
        shown(plan, "percentile_list.0") == Some("50:99.9")
    }),
    ("significant_figures", "--significant_figures=6", |plan| {
        shown(plan, "significant_figures.0") == Some("6")
    }),
    ("unified_rw_reporting", "--unified_rw_reporting=mixed", |plan| {
        shown(plan, "unified.0") == Some("mixed")
    }),
    ("unified_rw_reporting", "--unified_rw_reporting=2", |plan| {
        shown(plan, "unified.0") == Some("both")
    }),
    ("disk_util", "--disk_util=0", |plan| {
        shown(plan, "disk_util") == Some("false")
    }),
    ("gtod_reduce", "--gtod_reduce=1", |plan| {
        shown(plan, "disabled.0") == Some("slat,clat,lat") && shown(plan, "percentiles_of.0") == Some("none")
    }),
    ("disable_lat", "--disable_lat=1", |plan| {
        shown(plan, "disabled.0") == Some("lat")
    }),
    ("disable_clat", "--disable_clat=1", |plan| {
        shown(plan, "disabled.0") == Some("clat")
    }),
    ("disable_slat", "--disable_slat=1", |plan| {
        shown(plan, "disabled.0") == Some("slat")
    }),
    ("kb_base", "--kb_base=1000 --bs=4k", |plan| {
        fixed(plan).read == 4000 && shown(plan, "kb_base.0") == Some("1000")
    }),
    ("unit_base", "--unit_base=1", |plan| {
        shown(plan, "unit_base.0") == Some("1")
    }),
    ("unit_base", "--unit_base=8", |plan| {
        shown(plan, "unit_base.0") == Some("8")
    }),
    ("bwavgtime", "--bwavgtime=250", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("250") && grids(plan) == [250, 500]
    }),
    ("iopsavgtime", "--iopsavgtime=250", |plan| {
        shown(plan, "iops_sample_ms.0") == Some("250") && grids(plan) == [250, 500]
    }),
    ("write_bw_log", "--write_bw_log=a --log_avg_msec=100", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("100")
    }),
    ("write_iops_log", "--write_iops_log=a --log_avg_msec=100", |plan| {
        shown(plan, "iops_sample_ms.0") == Some("100")
    }),
    ("log_avg_msec", "--write_bw_log=a --log_avg_msec=100", |plan| {
        shown(plan, "bw_sample_ms.0") == Some("100") && grids(plan) == [100, 500]
    }),
];

fn effects() -> impl Iterator<Item = &'static Effect> {
    [
        JOBS_AND_FILES,
        PATTERN,
        SYSTEM,
        SHARED,
        PACE,
        DATA,
        REPORTS,
        crate::engines::ENGINES,
    ]
    .into_iter()
    .flatten()
}

/// An option, words of a command line that have it, and what is said because of it.
type Saying = (&'static str, &'static str, &'static str);

/// What readers of figures are told. The line of iodepth is fio's own, the others are notes of ours.
const SAYINGS: &[Saying] = &[
    (
        "cgroup_weight",
        "--cgroup_weight=500",
        "x: cgroup_weight and cgroup_nodelete have no effect without cgroup",
    ),
    (
        "cgroup_nodelete",
        "--cgroup_nodelete=1",
        "x: cgroup_weight and cgroup_nodelete have no effect without cgroup",
    ),
    (
        "iodepth",
        "--ioengine=psync --iodepth=16",
        "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1",
    ),
    (
        "iodepth",
        "--ioengine=psync --iodepth=16",
        "x: iodepth=16 has no effect with the synchronous engine psync: one operation is in flight at a time",
    ),
    (
        "ioengine",
        "--ioengine=sync --iodepth=16",
        "x: iodepth=16 has no effect with the synchronous engine sync: one operation is in flight at a time",
    ),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70 --rate=5m,5m",
        "x: the rates are those of each direction, so the mix follows from them and not from rwmixread=70",
    ),
    (
        "rw",
        "--rw=randrw --rate=6m,5m",
        "x: the rates are those of each direction, so the mix follows from them and not from rwmixread=50",
    ),
    (
        "rate",
        "--rw=randrw --rate=6m,5m",
        "x: the rates are those of each direction, so the mix follows from them and not from rwmixread=50",
    ),
    (
        "rate_iops",
        "--rw=randrw --rate_iops=700,300",
        "x: the rates are those of each direction, so the mix follows from them and not from rwmixread=50",
    ),
    (
        "runtime",
        "--runtime=30",
        "x: without time_based the job ends as soon as its size is done, even if its runtime is not over",
    ),
    (
        "trim_percentage",
        "--rw=trimwrite --verify=md5 --trim_percentage=20",
        "x: trim_percentage discards nothing without trim_backlog and a verification after the writes",
    ),
    (
        "read_iolog",
        "--read_iolog=trace --rw=write --bs=8k --loops=3",
        "x: the trace says what is done, and nothing follows from loops, rw, bs",
    ),
    (
        "name",
        "--name=x --direct=0",
        "x: reads go through the page cache (direct=0): what is cached is not read from the device",
    ),
];

/// Command lines that nothing is said of, because of the option.
const SILENCES: &[Saying] = &[
    ("direct", "--direct=1", "page cache"),
    ("time_based", "--runtime=30 --time_based", "without time_based"),
    (
        "steadystate_duration",
        "--runtime=30 --ss=iops:5% --ss_dur=10",
        "without time_based",
    ),
    ("rw", "--rw=write", "page cache"),
    ("ioengine", "--ioengine=null", "page cache"),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70 --rate_iops=700,300",
        "rwmixread",
    ),
    ("rwmixread", "--rw=randrw --rwmixread=70 --rate=7m,3m", "rwmixread"),
    ("ioengine", "--ioengine=libaio --iodepth=16", "has no effect"),
    ("trim_backlog", TRIMS, "discards nothing"),
    ("verify", TRIMS, "discards nothing"),
];

/// Options that do not go together here, and the line about them.
const COMPLAINTS: &[Saying] = &[
    (
        "filesize",
        "--filesize=8m-1m --size=8m",
        "fio: filesize: the range from 8 MiB to 1 MiB ends before it begins",
    ),
    (
        "hugepage-size",
        "--mem=mmaphuge --hugepage-size=3m",
        "fio: hugepage-size=3145728, which is no power of two, is not supported by this program",
    ),
    (
        "buffer_pattern",
        "--buffer_pattern='missing'",
        "fio: buffer_pattern: cannot read 'missing': No such file or directory",
    ),
    (
        "num_range",
        "--rw=trim --num_range=4",
        "fio: num_range: no engine of this program names more than one range in a trim; leave it out",
    ),
    (
        "cmdprio_percentage",
        "--ioengine=libaio --cmdprio_percentage=10 --cmdprio_bssplit=4k/10",
        "fio: cmdprio_percentage and cmdprio_bssplit options are mutually exclusive",
    ),
    (
        "read_iolog",
        "--read_iolog=missing",
        "fopen read iolog: No such file or directory (missing)",
    ),
    (
        "read_iolog",
        "--read_iolog=dev",
        "fio: read_iolog: dev: it is no regular file: save the trace in one, or give it on standard input (`-`)",
    ),
    (
        "verify",
        "--read_iolog=trace --verify=md5",
        "fio: verify beside read_iolog is not supported by this program; leave one of them out",
    ),
    (
        "directory",
        "--directory=d --read_iolog=trace",
        "fio: directory beside read_iolog: a trace names its files with their paths; leave directory out",
    ),
    (
        "create_only",
        "--create_only=1 --read_iolog=trace",
        "fio: create_only beside read_iolog is not supported by this program; leave one of them out",
    ),
    (
        "cmdprio_percentage",
        "--ioengine=libaio --cmdprio_percentage=10 --read_iolog=trace",
        "fio: cmdprio_percentage or cmdprio_bssplit beside read_iolog is not supported by this program",
    ),
    (
        "replay_skip",
        "--read_iolog=trace --replay_skip=read,write",
        "fio: read_iolog: trace: there is nothing in it to carry out",
    ),
    (
        "ignore_error",
        "--ignore_error=EWRONG",
        "fio: ignore_error: `EWRONG` is no error this program knows; give its number",
    ),
];

/// Options that act in the program and not in the plan: the test that shows each, and its file.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "num_range",
        "crates/dialects/tests/fio/effects.rs",
        "every_saying_follows_from_its_option",
    ),
    (
        "exec_prerun",
        "crates/fathom/tests/fio/endings.rs",
        "commands_of_a_job_need_permission",
    ),
    (
        "exec_postrun",
        "crates/fathom/tests/fio/endings.rs",
        "commands_of_a_job_need_permission",
    ),
    (
        "comm",
        "crates/fathom/tests/fio/options.rs",
        "threads_have_the_name_that_was_given",
    ),
    (
        "opendir",
        "crates/dialects/tests/fio/lowering.rs",
        "directories_stand_for_their_files",
    ),
    (
        "filetype",
        "crates/dialects/tests/fio/lowering.rs",
        "files_have_to_be_of_the_kind_that_was_said",
    ),
    (
        "allow_mounted_write",
        "crates/fathom/tests/fio/endings.rs",
        "a_mounted_device_is_not_written_to_whatever_is_said",
    ),
    (
        "serialize_overlap",
        "crates/dialects/tests/fio/lowering.rs",
        "overlapping_operations_are_kept_apart_if_asked",
    ),
    (
        "thinkcycles",
        "crates/fathom/tests/fio/options.rs",
        "cycles_are_burned_between_operations_and_not_in_them",
    ),
    (
        "verify_pattern_interval",
        "crates/dialects/tests/fio/lowering.rs",
        "patterns_may_hold_offsets",
    ),
    (
        "numa_cpu_nodes",
        "crates/dialects/tests/fio/lowering.rs",
        "threads_and_memory_are_placed",
    ),
    (
        "numa_mem_policy",
        "crates/dialects/tests/fio/lowering.rs",
        "threads_and_memory_are_placed",
    ),
    (
        "priohint",
        "crates/dialects/tests/fio/lowering.rs",
        "priorities_reach_the_operations",
    ),
    (
        "uid",
        "crates/fathom/tests/fio/endings.rs",
        "whoever_may_not_open_it_is_told_so",
    ),
    (
        "gid",
        "crates/fathom/tests/fio/endings.rs",
        "whoever_may_not_open_it_is_told_so",
    ),
    (
        "create_only",
        "crates/fathom/tests/fio/options.rs",
        "files_can_be_made_and_left_alone",
    ),
    (
        "error_dump",
        "crates/fathom/tests/fio/options.rs",
        "tolerated_errors_are_told_if_asked",
    ),
    (
        "lockmem",
        "crates/fathom/tests/fio/options.rs",
        "memory_is_pinned_while_the_job_runs",
    ),
    (
        "log_hist_coarseness",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_window",
    ),
    (
        "log_window_value",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_window",
    ),
    (
        "log_alternate_epoch",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_window",
    ),
    (
        "log_hist_msec",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_window",
    ),
    (
        "write_hist_log",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_window",
    ),
    (
        "log_prio",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_operation",
    ),
    (
        "log_issue_time",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_operation",
    ),
    (
        "log_offset",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_operation",
    ),
    (
        "write_lat_log",
        "crates/fathom/tests/fio/logs.rs",
        "a_line_for_each_operation",
    ),
    (
        "per_job_logs",
        "crates/fathom/tests/fio/logs.rs",
        "which_files_there_are",
    ),
    (
        "disable_bw_measurement",
        "crates/fathom/tests/fio/logs.rs",
        "which_files_there_are",
    ),
    (
        "hipri_percentage",
        "crates/dialects/tests/fio/lowering.rs",
        "engines_are_told_their_own_options",
    ),
    (
        "uncached",
        "crates/dialects/tests/fio/lowering.rs",
        "engines_are_told_their_own_options",
    ),
    (
        "nowait",
        "crates/fathom/tests/fio/options.rs",
        "calls_that_must_not_wait_fail_instead",
    ),
    (
        "log_store_compressed",
        "crates/fathom/tests/fio/logs.rs",
        "compressed_logs_come_back",
    ),
    (
        "log_alternate_epoch_clock_id",
        "crates/fathom/tests/fio/logs.rs",
        "times_are_those_of_the_clock_that_was_asked_for",
    ),
    (
        "job_start_clock_id",
        "crates/fathom/tests/fio/logs.rs",
        "times_are_those_of_the_clock_that_was_asked_for",
    ),
    (
        "sqthread_poll_cpu",
        "crates/fathom/tests/fio/options.rs",
        "the_thread_of_the_kernel_is_bound",
    ),
    (
        "thp",
        "crates/dialects/tests/fio/lowering.rs",
        "engines_are_told_their_own_options",
    ),
];

/// Rows that say more than is done: they are read, accepted, and nothing follows from them yet.
pub const NOTHING_FOLLOWS: &[&str] = &[];

fn row(name: &str) -> &'static Row {
    rows()
        .find(|row| row.is_called(name))
        .unwrap_or_else(|| panic!("there is no option {name}"))
}

/// The words of an entry; a job is begun where none is.
pub fn words(line: &str) -> Vec<String> {
    let mut words = split(line);
    if !words.iter().any(|word| word.starts_with("--name=")) {
        words.insert(0, "--name=x".into());
    }
    words
}

/// The same without every word that gives an option.
fn without(words: &[String], option: &str) -> Vec<String> {
    let row = row(option);
    let gives = |word: &&String| {
        let name = word.trim_start_matches('-').split('=').next().unwrap();
        row.is_called(name)
    };
    let gone = words.iter().filter(gives).count();
    assert!(gone > 0, "{words:?} has no {option}");
    words.iter().filter(|word| !gives(word)).cloned().collect()
}

#[test]
fn every_option_does_what_fio_says() {
    let mut wrong = Vec::new();
    for (option, line, holds) in effects() {
        match lowered(&words(line)) {
            Some(lowered) if holds(&lowered.plan) => {}
            Some(_) => wrong.push(format!("{option}: {line}")),
            None => wrong.push(format!("{option}: {line} is refused")),
        }
    }
    assert!(wrong.is_empty(), "the plan does not say so:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_holds_without_its_option() {
    let mut idle = Vec::new();
    for (option, line, holds) in effects() {
        let blanked = lowered(&without(&words(line), option));
        if blanked.is_some_and(|lowered| holds(&lowered.plan)) {
            idle.push(format!("{option}: {line}"));
        }
    }
    assert!(idle.is_empty(), "the same without the option:\n{}", idle.join("\n"));
}

/// Everything that is said of a command line: lines for stdout and notes, or the complaints it is refused with.
fn said(words: &[String]) -> Vec<String> {
    match attempt(words) {
        Some(Ok(lowered)) => [lowered.said, lowered.notes].concat(),
        Some(Err(complaints)) => complaints.into_iter().map(|complaint| complaint.what).collect(),
        None => Vec::new(),
    }
}

#[test]
fn every_saying_follows_from_its_option() {
    let mut wrong = Vec::new();
    for (option, line, saying) in SAYINGS.iter().chain(COMPLAINTS) {
        let (with, without) = (words(line), without(&words(line), option));
        let holds = |words: &[String]| said(words).iter().any(|said| said == saying);
        if !holds(&with) || holds(&without) {
            wrong.push(format!("{option}: {line}: {:?}", said(&with)));
        }
    }
    for (option, line, saying) in SILENCES {
        let (with, without) = (words(line), without(&words(line), option));
        let silent = |words: &[String]| !said(words).iter().any(|said| said.contains(saying));
        if !silent(&with) || silent(&without) {
            wrong.push(format!("{option}: {line}: {:?}", said(&with)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_option_is_in_a_list() {
    let shown: HashSet<&str> = effects().map(|(option, ..)| row(option).name).collect();
    let (mut missing, mut twice) = (Vec::new(), Vec::new());
    for row in rows() {
        let elsewhere = ELSEWHERE.iter().any(|(option, ..)| *option == row.name);
        let nothing = NOTHING_FOLLOWS.contains(&row.name);
        let listed = match row.status {
            Status::Supported => matches!(row.kind, Kind::Removed) || shown.contains(row.name) || elsewhere || nothing,
            Status::WithoutEffect(_) | Status::Later | Status::Refused => true,
        };
        if !listed {
            missing.push(row.name);
        }
        let told = nothing && (shown.contains(row.name) || elsewhere || row.status != Status::Supported);
        if told {
            twice.push(row.name);
        }
    }
    assert!(missing.is_empty(), "in none of the lists: {missing:?}");
    assert!(
        twice.is_empty(),
        "told to do nothing, and something else as well: {twice:?}"
    );
}

#[test]
fn tests_of_other_places_are_there() {
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (option, file, test) in ELSEWHERE {
        assert!(rows().any(|row| row.is_called(option)), "{option}");
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}()")), "{option}: no {test} in {file}");
    }
}
