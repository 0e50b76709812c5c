//! Streams that verify, on a file that they may overwrite.

use std::os::unix::fs::FileExt;

use model::access::{Once, OnceMethod, PositionSharing, Uniform};
use model::draws::Reduction;
use model::operation_log::LoggedOperation;
use model::plan::Consent;
use model::results::WorkerResults;
use testbed::Unavailable;

use super::{plan_on, run_job, stream, worker};
use crate::prelude::*;

pub const BLOCK: u64 = 4096;
pub const BLOCKS: u64 = 64;

pub fn sequential() -> Access {
    Access::Sequential(Sequential {
        at_end: AtEnd::Finish,
        positions: PositionSharing::PerDirection,
        ..Sequential::default()
    })
}

pub fn random_once() -> Access {
    let method = OnceMethod::map(Reduction::MultiplyHigh32);
    Access::random(Placement::Once(Once { method }))
}

pub fn random() -> Access {
    let reduction = Reduction::MultiplyHigh32;
    Access::random(Placement::Uniform(Uniform { reduction }))
}

pub fn build_stream(mix: Mix, access: Access, verify: Verify) -> Stream {
    Stream {
        mix,
        pattern: Pattern::simple(access, Bytes(BLOCK)),
        verify: Some(verify),
        ..stream()
    }
}

pub fn writes(access: Access, verify: Verify) -> Stream {
    build_stream(Mix::WRITES, access, verify)
}

pub fn reads(access: Access, verify: Verify) -> Stream {
    build_stream(Mix::READS, access, verify)
}

pub fn pass() -> Stop {
    Stop::after_passes(1)
}

/// A file of zeros to write to.
pub struct VerifiedFile {
    pub directory: tempfile::TempDir,
    pub file: PathBuf,
}

impl VerifiedFile {
    pub fn new() -> VerifiedFile {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, vec![0; (BLOCK * BLOCKS) as usize]).unwrap();
        VerifiedFile { directory, file }
    }

    pub fn plan(&self, stop: Stop, stream: Stream) -> Plan {
        let mut tested_worker = worker(vec![stream]);
        tested_worker.draws = GeneratorChoice::fio(0x89, 1);
        let mut plan = plan_on(&self.file, EngineKind::Psync, stop, vec![tested_worker]);
        // The file exists already, and may be overwritten.
        plan.target_rules.consent = Consent::Implied;
        plan
    }

    pub fn run(&self, stream: Stream) -> JobResults {
        run_job(self.plan(pass(), stream))
    }

    /// Runs a stream. Returns its results, and a letter for the direction of each operation, in
    /// order of completion.
    pub fn run_logged(&self, stop: Stop, stream: Stream) -> (JobResults, String) {
        let (job, operations) = super::run_logged(self.plan(stop, stream));
        let letter = |operation: &LoggedOperation| &operation.direction.map_or("flush", Direction::word)[..1];
        (job, operations.iter().map(letter).collect())
    }

    /// Writes the file with fio.
    pub fn write_with_fio(&self, options: &str) -> Result<(), Unavailable> {
        let line = "--name=j --filename=f --size=256k --bs=4k --rw=write --do_verify=0 --verify_state_save=0";
        let mut fio = Command::new("fio");
        fio.args(line.split(' '))
            .args(options.split(' '))
            .arg("--output=/dev/null");
        let output = fio.current_dir(self.directory.path()).output();
        let output = output.map_err(|error| Unavailable::because(format!("`fio` cannot be run: {error}")))?;
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options}: {messages}");
        Ok(())
    }

    pub fn flip(&self, at: u64) {
        flip(&self.file, at);
    }
}

pub fn flip(file: &Path, at: u64) {
    let file = fs::File::options().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

pub fn operations(job: &JobResults, direction: Direction) -> u64 {
    job.directions()[direction].as_ref().map_or(0, |found| found.operations)
}

pub fn only_worker(job: &JobResults) -> &WorkerResults {
    assert_eq!(job.workers.len(), 1);
    &job.workers[0]
}

#[track_caller]
pub fn assert_clean(job: &JobResults, what: &str) {
    let worker = only_worker(job);
    assert_eq!(worker.failure, None, "{what}");
    assert_eq!((worker.mismatch_count, worker.mismatches.len()), (0, 0), "{what}");
    assert_eq!(job.ended, Some(EndReason::Done), "{what}");
}
