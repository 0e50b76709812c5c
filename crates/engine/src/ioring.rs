//! The engine on Windows' submission ring (IoRing). This file checks what the system must support
//! and reports what is missing. The engine itself is the same as for the other queues. Reads,
//! writes and flushes of a turn go through the ring in one call; trims are executed synchronously.

use model::plan::EngineKind;
use windows_sys::Win32::Storage::FileSystem::{IORING_VERSION_1, IORING_VERSION_3};

use crate::Setup;
use crate::error::{EngineError, os_error_name};
use crate::file::Access;
use crate::iocp::QueueEngine;
use crate::sys::ioring::{Calls, Capabilities, Ring};

const HELP: &str = "use a completion port: `--engine auto`, or the DiskSpd command line without -u";

/// Why this system has no usable ring, if so.
pub(crate) fn unsupported_reason(writes: bool) -> Option<EngineError> {
    missing_capability(capabilities(), writes).map(|why| EngineError::unavailable(EngineKind::IoRing, why, HELP))
}

pub(crate) fn open(setup: Setup) -> Result<QueueEngine<Ring>, EngineError> {
    let writes = setup.files.iter().any(|file| file.options().access != Access::Read);
    if let Some(error) = unsupported_reason(writes) {
        return Err(error);
    }
    if let Some(error) = capabilities()
        .and_then(Result::ok)
        .and_then(|capabilities| depth_error(capabilities, setup.slots))
    {
        return Err(error);
    }
    QueueEngine::open(setup)
}

/// The capabilities of rings; `None` where there are none.
fn capabilities() -> Option<Result<Capabilities, u32>> {
    Calls::load().map(|calls| calls.capabilities())
}

fn missing_capability(capabilities: Option<Result<Capabilities, u32>>, writes: bool) -> Option<String> {
    match capabilities {
        None => Some("this system has no IoRing; it requires Windows 11 or Windows Server 2025".into()),
        Some(Err(error)) => Some(format!(
            "this system does not report the capabilities of its IoRing: {}",
            os_error_name(error as i32)
        )),
        Some(Ok(capabilities)) if capabilities.version < IORING_VERSION_1 => {
            Some("the IoRing of this system supports no operations".into())
        }
        Some(Ok(capabilities)) if writes && !capabilities.writes => Some(format!(
            "the IoRing of this system is version {} and can only read; writes need version 3 \
             (Windows 11 22H2, Windows Server 2025)",
            version(capabilities)
        )),
        Some(Ok(_)) => None,
    }
}

/// Normalizes the version number: version 3 is reported as 300.
fn version(capabilities: Capabilities) -> i32 {
    match capabilities.version {
        IORING_VERSION_3.. => capabilities.version / 100,
        version => version,
    }
}

/// Every operation in flight needs room in the completion queue.
fn depth_error(capabilities: Capabilities, slots: u32) -> Option<EngineError> {
    (slots > capabilities.completions).then(|| {
        EngineError::unavailable(
            EngineKind::IoRing,
            format!(
                "a queue depth of {slots} exceeds the capacity of a ring, {}",
                capabilities.completions
            ),
            "reduce the queue depth, or spread it over more workers",
        )
    })
}

#[cfg(test)]
mod tests;
