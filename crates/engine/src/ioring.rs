//! The engine on the submission ring of Windows (IoRing): what a system must have for it, and why
//! it is refused where that lacks.
//!
//! The engine is that of the other queues. Reads, writes and flushes go through the ring, all of a
//! turn in one call; trims have no place there and are executed where they stand.

use model::plan::EngineKind;
use windows_sys::Win32::Storage::FileSystem::{IORING_VERSION_1, IORING_VERSION_3};

use crate::Setup;
use crate::error::{EngineError, os_error_name};
use crate::file::Access;
use crate::iocp::Queued;
use crate::sys::ioring::{Calls, Capabilities, Ring};

const HELP: &str = "use a completion port: `--engine auto`, or DiskSpd's line without -u";

/// Why this system has no ring that could be used so, if it has none.
pub(crate) fn refusal(writes: bool) -> Option<EngineError> {
    objection(capabilities(), writes).map(|why| EngineError::unavailable(EngineKind::IoRing, why, HELP))
}

pub(crate) fn open(setup: Setup) -> Result<Queued<Ring>, EngineError> {
    let writes = setup.files.iter().any(|file| file.how().access != Access::Read);
    if let Some(error) = refusal(writes) {
        return Err(error);
    }
    if let Some(error) = capabilities()
        .and_then(Result::ok)
        .and_then(|can| too_deep(can, setup.slots))
    {
        return Err(error);
    }
    Queued::open(setup)
}

/// What rings can do here; absent where there are none.
fn capabilities() -> Option<Result<Capabilities, u32>> {
    Calls::load().map(|calls| calls.capabilities())
}

fn objection(here: Option<Result<Capabilities, u32>>, writes: bool) -> Option<String> {
    match here {
        None => Some("this system has no IoRing, which came with Windows 11 and Windows Server 2025".into()),
        Some(Err(error)) => Some(format!(
            "this system does not tell what its IoRing can do: {}",
            os_error_name(error as i32)
        )),
        Some(Ok(can)) if can.version < IORING_VERSION_1 => Some("the IoRing of this system can do nothing yet".into()),
        Some(Ok(can)) if writes && !can.writes => Some(format!(
            "the IoRing of this system is version {} and can only read; writes need version 3, which came with Windows 11 22H2 and \
             Windows Server 2025",
            version(can)
        )),
        Some(Ok(_)) => None,
    }
}

/// The number that version 3 has is 300.
fn version(can: Capabilities) -> i32 {
    match can.version {
        IORING_VERSION_3.. => can.version / 100,
        version => version,
    }
}

/// Every operation in flight must have room among those whose ends are not looked at yet.
fn too_deep(can: Capabilities, slots: u32) -> Option<EngineError> {
    (slots > can.completions).then(|| {
        EngineError::unavailable(
            EngineKind::IoRing,
            format!(
                "a queue depth of {slots} is beyond what a ring can hold, {}",
                can.completions
            ),
            "lower the queue depth, or spread it over more workers",
        )
    })
}

#[cfg(test)]
mod tests;
