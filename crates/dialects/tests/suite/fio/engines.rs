//! Engines that do something else than moving data: what each of their options does to the plan.

use dialects::fio::engines;
use model::access::Access;
use model::plan::{CpuWork, EngineKind, LookCall, Prepare, Program, Stop, StreamTarget, TargetKind, ThinkCount};
use model::{Bytes, Nanos};

use crate::fio::effects::{Effect, job, lowered, stream, target, words, worker};

fn program(plan: &model::plan::Plan) -> Program {
    worker(plan).engine.program.clone().unwrap_or_default()
}

/// What options of such engines do.
pub const ENGINES: &[Effect] = &[
    ("ioengine", "--ioengine=ftruncate --size=1m --rw=write", |plan| {
        worker(plan).engine.kind == EngineKind::Truncate
    }),
    ("ioengine", "--ioengine=splice --size=1m", |plan| {
        worker(plan).engine.kind == EngineKind::Splice
    }),
    ("ioengine", "--ioengine=vsync --size=1m --iodepth=8", |plan| {
        worker(plan).engine.kind == EngineKind::Vsync && stream(plan).depth == 8
    }),
    ("ioengine", "--ioengine=filecreate --filesize=8k", |plan| {
        worker(plan).engine.kind == EngineKind::FileCreate
            && target(plan).kind
                == TargetKind::Name {
                    size: Bytes(8192),
                    directory: false,
                }
            && target(plan).prepare == Prepare::Existing
    }),
    ("ioengine", "--ioengine=filestat --filesize=8k", |plan| {
        worker(plan).engine.kind == EngineKind::FileStat
            && target(plan).kind == TargetKind::Path
            && matches!(target(plan).prepare, Prepare::LayOut { size: Bytes(8192), .. })
    }),
    ("ioengine", "--ioengine=filedelete --filesize=8k", |plan| {
        worker(plan).engine.kind == EngineKind::FileDelete && matches!(target(plan).prepare, Prepare::LayOut { .. })
    }),
    ("ioengine", "--ioengine=dircreate", |plan| {
        worker(plan).engine.kind == EngineKind::DirectoryCreate && is_directory(plan) == Some(false)
    }),
    ("ioengine", "--ioengine=dirstat", |plan| {
        worker(plan).engine.kind == EngineKind::DirectoryStat && is_directory(plan) == Some(true)
    }),
    ("ioengine", "--ioengine=dirdelete", |plan| {
        worker(plan).engine.kind == EngineKind::DirectoryDelete && is_directory(plan) == Some(true)
    }),
    (
        "stat_type",
        "--ioengine=filestat --filesize=4k --stat_type=lstat",
        |plan| worker(plan).engine.look == LookCall::Lstat,
    ),
    ("stat_type", "--ioengine=dirstat --stat_type=statx", |plan| {
        worker(plan).engine.look == LookCall::Statx
    }),
    ("cpuload", "--ioengine=cpuio --cpuload=25 --cpuchunks=1000", |plan| {
        let think = stream(plan).think;
        think.is_some_and(|think| {
            (think.pause_ns, think.operations, think.count) == (Nanos::millis(3), 1, ThinkCount::Completed)
        })
    }),
    ("cpuload", "--ioengine=cpuio --cpumode=qsort --cpuload=30", |plan| {
        matches!(worker(plan).engine.work, Some(CpuWork::Sort { percent: 30, .. }))
    }),
    ("cpuchunks", "--ioengine=cpuio --cpuload=100 --cpuchunks=700", |plan| {
        worker(plan).engine.work
            == Some(CpuWork::Spin {
                time_ns: Nanos::micros(700),
            })
    }),
    ("cpumode", "--ioengine=cpuio --cpuload=50 --cpumode=qsort", |plan| {
        matches!(worker(plan).engine.work, Some(CpuWork::Sort { .. })) && stream(plan).think.is_none()
    }),
    (
        "exit_on_io_done",
        "--ioengine=cpuio --cpuload=50 --exit_on_io_done=1",
        |plan| job(plan).ends_with_io,
    ),
    ("program", "--ioengine=exec --program=/bin/true", |plan| {
        program(plan).path == "/bin/true"
    }),
    (
        "arguments",
        "--ioengine=exec --program=p --arguments=-n_%n_-t_%r --runtime=5",
        |plan| program(plan).arguments == ["-n_x_-t_5"],
    ),
    ("runtime", "--ioengine=exec --program=p --runtime=5", |plan| {
        program(plan).ends_after_ns == Nanos::secs(5)
    }),
    ("grace_time", "--ioengine=exec --program=p --grace_time=7", |plan| {
        program(plan).grace_ns == Nanos::secs(7)
    }),
    ("std_redirect", "--ioengine=exec --program=p --std_redirect=0", |plan| {
        (program(plan).output, program(plan).errors) == (None, None)
    }),
    ("name", "--name=y --ioengine=exec --program=p", |plan| {
        program(plan).output.as_deref() == Some("y.stdout") && program(plan).errors.as_deref() == Some("y.stderr")
    }),
    ("number_ios", "--ioengine=exec --program=p --number_ios=3", |plan| {
        job(plan).stop.operations == Some(3)
    }),
    ("runtime", "--ioengine=cpuio --cpuload=50 --runtime=5", |plan| {
        job(plan).stop.after_ns == Some(Nanos::secs(5))
    }),
];

fn is_directory(plan: &model::plan::Plan) -> Option<bool> {
    match target(plan).kind {
        TargetKind::Name { directory, .. } => Some(directory),
        _ => None,
    }
}

fn plan(line: &str) -> model::plan::Plan {
    let lowered = lowered(&words(line)).unwrap_or_else(|| panic!("{line} is refused"));
    lowered.plan.check().unwrap();
    lowered.plan
}

#[test]
fn names_are_worked_on_from_their_start() {
    let plan = plan("--ioengine=filecreate --nrfiles=3 --size=48k --offset=4k --rw=randrw --fsync=1");
    let stream = stream(&plan);
    assert!(matches!(&stream.pattern.access[..], [Access::Sequential(_)]));
    assert_eq!(stream.region.base.resolve(1 << 20), 0);
    // What is not opened has nothing to flush.
    assert_eq!(stream.sync, Default::default());
    assert!(matches!(&stream.target, StreamTarget::Files { targets, .. } if targets.len() == 3));
}

#[test]
fn work_goes_on_until_its_time_is_over() {
    let stop = |line: &str| job(&plan(line)).stop;
    let timed = Stop {
        after_ns: Some(Nanos::secs(5)),
        ..Stop::default()
    };
    assert_eq!(
        stop("--ioengine=cpuio --cpuload=50 --size=4k --loops=3 --runtime=5"),
        timed
    );
    let counted = stop("--ioengine=exec --program=p --number_ios=3");
    assert_eq!(counted.operations, Some(3));
    assert!(counted.after_ns > Some(Nanos::secs(86400)));
}

#[test]
fn a_program_is_told_what_its_job_is() {
    let line = "--name=job --ioengine=exec --program=p \"--arguments=-a %n  %r\" --runtime=90";
    let program = program(&plan(line));
    assert_eq!(program.arguments, ["-a", "job", "90"]);
    assert_eq!(program.output.as_deref(), Some("job.stdout"));
    assert_eq!(program.errors.as_deref(), Some("job.stderr"));
    assert_eq!(program.grace_ns, Nanos::secs(1));
}

#[test]
fn engines_need_to_be_told_what_to_do() {
    for (line, engine) in [("--ioengine=cpuio", "cpuio"), ("--ioengine=exec", "exec")] {
        let unusable = lowered(&words(line)).unwrap().unusable;
        let [one] = &unusable[..] else { panic!("{unusable:?}") };
        assert_eq!((one.errno, one.function.as_str()), (22, engine));
        assert_eq!(one.line, format!("fio: io engine {engine} init failed."));
    }
}

#[test]
fn devices_are_no_names() {
    for engine in ["filecreate", "filestat", "filedelete", "dirstat"] {
        assert!(
            lowered(&words(&format!("--ioengine={engine} --filename=f"))).is_some(),
            "{engine}"
        );
        assert!(
            lowered(&words(&format!("--ioengine={engine} --filename=dev"))).is_none(),
            "{engine}"
        );
    }
}

#[test]
fn what_moves_no_data_cannot_be_verified() {
    for engine in [
        "filecreate",
        "filestat",
        "filedelete",
        "dircreate",
        "ftruncate",
        "cpuio",
    ] {
        let line = format!("--ioengine={engine} --size=4k --rw=write");
        assert!(lowered(&words(&line)).is_some(), "{line}");
        let line = format!("{line} --verify=crc32c");
        assert!(lowered(&words(&line)).is_none(), "{line}");
    }
}

#[test]
fn whatever_can_be_loaded_is_carried_out() {
    for engine in engines::ENGINES.iter().filter(|engine| engine.is_here()) {
        let name = engine.name;
        let lowered = lowered(&words(&format!("--ioengine={name} --size=4k --rw=write")));
        let kind = worker(&lowered.unwrap_or_else(|| panic!("{name} is refused")).plan)
            .engine
            .kind;
        let is_plain = ["sync", "psync", "pvsync"].contains(&name);
        assert_eq!(kind == EngineKind::Psync, is_plain, "{name}: {kind:?}");
    }
}
