//! The verification of a worker's streams.

use std::io::Read as _;

use engine::sys::file::open_without_waiting;
use model::draws::GeneratorChoice;
use model::plan::{Stream, Verify};

use super::Assignment;
use super::streams::max_buffer;
use crate::setup_error::SetupError;
use crate::verify::Checker;
use crate::verify::pool::CheckerPool;
use crate::verify::state::Progress;
use crate::worker::features::{StreamVerification, Verification, VerifySetup};

impl Verification {
    /// The verification of the streams that have one. `slots` is the number of slots of the worker.
    pub(in crate::worker) fn from_plan(
        assignment: &Assignment<'_>,
        slots: u32,
    ) -> Result<Option<Verification>, SetupError> {
        let streams = assignment.worker.streams.iter().map(|stream| {
            let verify = stream.verify.as_ref().filter(|verify| verify.keys.is_none());
            verify
                .map(|verify| create_for_stream(assignment, stream, verify, slots))
                .transpose()
        });
        let streams = streams.collect::<Result<_, _>>()?;
        Ok(Verification::from_streams(streams, &assignment.job.name))
    }
}

fn create_for_stream(
    assignment: &Assignment<'_>,
    stream: &Stream,
    verify: &Verify,
    slots: u32,
) -> Result<StreamVerification, SetupError> {
    let number = match assignment.worker.draws {
        GeneratorChoice::Fio { number, .. } => number as u16,
        GeneratorChoice::Native { .. } | GeneratorChoice::DiskSpd { .. } => 0,
    };
    let setup = VerifySetup {
        slots,
        number,
        recorded: load_recorded_progress(verify)?,
        checkers: create_checkers(stream, verify, number, slots)?,
    };
    let verification = StreamVerification::new(assignment.worker, stream, verify, assignment.job, setup);
    let shortest = match verify.interval {
        0 => stream.pattern.shortest(&stream.mix).0,
        interval => u64::from(interval),
    };
    let min = verification.min_length() as u64;
    if shortest < min {
        return Err(SetupError::unsupported(
            format!("blocks of {shortest} bytes have no room for the verification header"),
            format!("use blocks and verification intervals of at least {min} bytes, or verify a pattern"),
        ));
    }
    if let Some((place, min)) = verification.find_misplaced_header() {
        return Err(SetupError::unsupported(
            format!(
                "a verification header cannot be {place} bytes from the beginning, where it \
                would overlap its own position"
            ),
            format!("use an offset of at least {min} bytes"),
        ));
    }
    Ok(verification)
}

/// Loads the recorded progress of an earlier run, if only that is checked.
fn load_recorded_progress(verify: &Verify) -> Result<Option<Progress>, SetupError> {
    if !verify.load_state {
        return Ok(None);
    }
    let path = verify.state_path();
    let progress = open_without_waiting(&path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Progress::from_bytes(&bytes)
    });
    progress.map(Some).map_err(|source| SetupError::State {
        path: path.display().to_string(),
        source,
    })
}

/// Creates the checker threads, unless the worker checks by itself.
fn create_checkers<T: Send + 'static>(
    stream: &Stream,
    verify: &Verify,
    number: u16,
    slots: u32,
) -> Result<Option<CheckerPool<T>>, SetupError> {
    let threads = verify.threads;
    if threads == 0 {
        return Ok(None);
    }
    let checker = Checker::new(verify, number);
    let (buffers, length) = ((slots + threads) as usize, max_buffer(stream));
    let pool = CheckerPool::new(&checker, threads as usize, &verify.processors, buffers, length);
    pool.map(Some).map_err(|source| SetupError::Placement {
        what: match verify.processors.is_empty() {
            true => format!("cannot start {threads} checker threads"),
            false => format!("cannot bind checker threads to the CPUs {:?}", verify.processors),
        },
        source,
    })
}
