//! Small plans and results for the tests of all crates. Unspecified values have plain defaults.

use crate::environment::Environment;
use crate::plan::{Job, Plan, Step, Stop, Stream, Target, TargetKind, VerifyMethod, Worker};
use crate::results::{HostResults, Results, StepResults, Tool};

/// Every method of verification, with fio's name.
pub const VERIFY_METHODS: [(VerifyMethod, &str); 18] = [
    (VerifyMethod::Md5, "md5"),
    (VerifyMethod::Crc64, "crc64"),
    (VerifyMethod::Crc32, "crc32"),
    (VerifyMethod::Crc32c, "crc32c"),
    (VerifyMethod::Crc16, "crc16"),
    (VerifyMethod::Crc7, "crc7"),
    (VerifyMethod::Sha1, "sha1"),
    (VerifyMethod::Sha256, "sha256"),
    (VerifyMethod::Sha512, "sha512"),
    (VerifyMethod::Sha3_224, "sha3-224"),
    (VerifyMethod::Sha3_256, "sha3-256"),
    (VerifyMethod::Sha3_384, "sha3-384"),
    (VerifyMethod::Sha3_512, "sha3-512"),
    (VerifyMethod::Xxhash, "xxhash"),
    (VerifyMethod::Header, "meta"),
    (VerifyMethod::Pattern, "pattern"),
    (VerifyMethod::PatternWithHeader, "pattern_hdr"),
    (VerifyMethod::None, "null"),
];

/// A target that is used unchanged.
pub fn target(path: &str, kind: TargetKind) -> Target {
    Target {
        path: path.into(),
        kind,
        ..Target::default()
    }
}

/// A target whose kind is detected when it is opened.
pub fn file(path: &str) -> Target {
    target(path, TargetKind::Path)
}

/// A worker with these streams.
pub fn worker(streams: Vec<Stream>) -> Worker {
    Worker {
        streams,
        ..Worker::default()
    }
}

/// A job of these workers, without warm-up.
pub fn job(name: &str, stop: Stop, workers: Vec<Worker>) -> Job {
    Job {
        name: name.into(),
        stop,
        workers,
        ..Job::default()
    }
}

/// One step of these jobs.
pub fn step(jobs: Vec<Job>) -> Step {
    Step {
        jobs,
        ..Step::default()
    }
}

/// A plan of these steps.
pub fn plan(name: &str, targets: Vec<Target>, steps: Vec<Step>) -> Plan {
    Plan {
        name: name.into(),
        targets,
        steps,
        ..Plan::default()
    }
}

/// A host with its start and end in wall-clock nanoseconds.
pub fn host(environment: Environment, (started_unix_ns, ended_unix_ns): (u64, u64)) -> HostResults {
    HostResults {
        environment,
        started_unix_ns,
        ended_unix_ns,
        system: None,
        idleness: None,
    }
}

/// Results of a whole run of a plan.
pub fn results(plan: Plan, hosts: Vec<HostResults>, steps: Vec<StepResults>) -> Results {
    let tool = Tool {
        name: "fathom".into(),
        version: "0".into(),
        engine_revision: 1,
    };
    Results::new(tool, plan, hosts, steps)
}

/// Asserts that a text has this part; the failure shows both.
#[track_caller]
pub fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is missing in\n{text}");
}

/// Asserts that a text begins with this part; the failure shows both.
#[track_caller]
pub fn assert_starts_with(text: &str, part: &str) {
    assert!(text.starts_with(part), "`{part}` is not the beginning of\n{text}");
}
