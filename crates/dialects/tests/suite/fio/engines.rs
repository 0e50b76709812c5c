//! Engines that do something other than moving data.

use dialects::fio::engines;
use model::Nanos;
use model::access::Access;
use model::plan::{EngineKind, Stop, StreamTarget};

use crate::fio::effects::{job, lowered, split_words, stream, worker};

fn plan(line: &str) -> model::plan::Plan {
    let lowered = lowered(&split_words(line)).unwrap_or_else(|| panic!("{line} is refused"));
    lowered.plan.check().unwrap();
    lowered.plan
}

#[test]
fn name_engines_use_every_name_from_the_first() {
    let plan = plan("--ioengine=filecreate --nrfiles=3 --size=48k --offset=4k --rw=randrw --fsync=1");
    let stream = stream(&plan);
    assert!(matches!(&stream.pattern.access[..], [Access::Sequential(_)]));
    assert_eq!(stream.region.base.resolve(1 << 20), 0);
    // Files that are not opened have nothing to flush.
    assert_eq!(stream.sync, Default::default());
    assert!(matches!(&stream.target, StreamTarget::Files { targets, .. } if targets.len() == 3));
}

#[test]
fn engines_without_data_run_until_their_time_is_over() {
    let stop = |line: &str| job(&plan(line)).stop;
    let timed = Stop::after(Nanos::secs(5));
    assert_eq!(
        stop("--ioengine=cpuio --cpuload=50 --size=4k --loops=3 --runtime=5"),
        timed
    );
    let counted = stop("--ioengine=exec --program=p --number_ios=3");
    assert_eq!(counted.operations, Some(3));
    assert!(counted.after_ns > Some(Nanos::secs(86400)));
}

#[test]
fn a_program_receives_its_job() {
    let line = "--name=job --ioengine=exec --program=p \"--arguments=-a %n  %r\" --runtime=90";
    let program = worker(&plan(line)).engine.program.clone().unwrap();
    assert_eq!(program.arguments, ["-a", "job", "90"]);
    assert_eq!(program.output.as_deref(), Some("job.stdout"));
    assert_eq!(program.errors.as_deref(), Some("job.stderr"));
    assert_eq!(program.grace_ns, Nanos::secs(1));
}

#[test]
fn engines_that_lack_their_command_are_unusable() {
    for (line, engine) in [("--ioengine=cpuio", "cpuio"), ("--ioengine=exec", "exec")] {
        let unusable = lowered(&split_words(line)).unwrap().unusable;
        let [error] = &unusable[..] else { panic!("{unusable:?}") };
        assert_eq!((error.errno, error.function.as_str()), (22, engine));
        assert_eq!(error.line, format!("fio: io engine {engine} init failed."));
    }
}

#[test]
fn devices_are_refused_as_names() {
    for engine in ["filecreate", "filestat", "filedelete", "dirstat"] {
        assert!(
            lowered(&split_words(&format!("--ioengine={engine} --filename=f"))).is_some(),
            "{engine}"
        );
        assert!(
            lowered(&split_words(&format!("--ioengine={engine} --filename=dev"))).is_none(),
            "{engine}"
        );
    }
}

#[test]
fn engines_that_transfer_no_data_cannot_verify() {
    for engine in [
        "filecreate", "filestat", "filedelete", "dircreate", "ftruncate", "cpuio",
    ] {
        let line = format!("--ioengine={engine} --size=4k --rw=write");
        assert!(lowered(&split_words(&line)).is_some(), "{line}");
        let line = format!("{line} --verify=crc32c");
        assert!(lowered(&split_words(&line)).is_none(), "{line}");
    }
}

#[test]
fn every_loadable_engine_is_executed() {
    for engine in engines::ENGINES.iter().filter(|engine| engine.is_loadable()) {
        let name = engine.name;
        let lowered = lowered(&split_words(&format!("--ioengine={name} --size=4k --rw=write")));
        let kind = worker(&lowered.unwrap_or_else(|| panic!("{name} is refused")).plan)
            .engine
            .kind;
        let is_plain = ["sync", "psync", "pvsync"].contains(&name);
        assert_eq!(kind == EngineKind::Psync, is_plain, "{name}: {kind:?}");
    }
}
