//! Why an engine could not start or continue.

use model::Bytes;
use model::plan::EngineKind;

use crate::probe::{FreeMemory, MemoryLimit};
use crate::sys;

/// Why an engine could not start or continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The system lacks the engine or forbids it.
    #[error("the {} engine cannot be used: {why}", .kind.name())]
    Unavailable {
        /// The engine that cannot be used.
        kind: EngineKind,
        /// Why it is unavailable.
        why: String,
        /// Advice on what to do.
        help: String,
    },
    /// There is not enough memory for the buffers.
    #[error("cannot allocate {slots} buffers of {each} ({needed} in all): {free}")]
    Memory {
        /// Number of buffers.
        slots: u32,
        /// Bytes in each.
        each: Bytes,
        /// Bytes in all.
        needed: Bytes,
        /// Available memory.
        free: FreeMemory,
    },
    /// Too few huge pages, or no permission to use them.
    #[error("cannot allocate {needed} of buffers in huge pages: {}", .refusal.map_or(TOO_FEW_HUGE_PAGES, |(why, _)| why))]
    HugePages {
        /// Bytes in all.
        needed: Bytes,
        /// Cause and remedy, if the pool of huge pages is not the cause.
        refusal: Option<(&'static str, &'static str)>,
    },
    /// A system call of the engine failed.
    #[error("{call} failed: {}", os_error_name(*.errno))]
    System {
        /// Name of the failed system call.
        call: &'static str,
        /// The error number.
        errno: i32,
    },
}

const TOO_FEW_HUGE_PAGES: &str = match cfg!(windows) {
    true => "the system has not enough contiguous memory left",
    false => "the system has not reserved enough of them",
};

impl EngineError {
    /// An engine that cannot be used here.
    pub fn unavailable(kind: EngineKind, why: impl Into<String>, help: impl Into<String>) -> EngineError {
        EngineError::Unavailable {
            kind,
            why: why.into(),
            help: help.into(),
        }
    }

    /// An engine that an internal error prevents.
    pub(crate) fn internal(kind: EngineKind, why: impl Into<String>) -> EngineError {
        EngineError::unavailable(kind, why, "this is an internal error; please report it")
    }

    /// A system call that failed with this error number.
    pub fn system(call: &'static str, errno: i32) -> EngineError {
        EngineError::System { call, errno }
    }

    /// A failed system call, from the thread's last OS error.
    pub fn last_os_error(call: &'static str) -> EngineError {
        EngineError::system(call, std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// The remedy, if known.
    pub fn help(&self) -> Option<String> {
        match self {
            EngineError::Unavailable { help, .. } => Some(help.clone()),
            EngineError::Memory { free, .. } => {
                let raise = match &free.limit {
                    MemoryLimit::Machine => "",
                    MemoryLimit::AddressSpace => ", or raise the limit",
                    MemoryLimit::ControlGroup(_) => ", or raise the limit of the control group",
                };
                Some(format!(
                    "reduce the queue depth, the block size or the number of workers{raise}"
                ))
            }
            EngineError::HugePages {
                refusal: Some((_, help)),
                ..
            } => Some((*help).into()),
            EngineError::HugePages { .. } if cfg!(windows) => {
                Some("run soon after a restart, reduce the queue depth or block size, or do not use huge pages".into())
            }
            EngineError::HugePages { needed, .. } => Some(format!(
                "reserve some for each worker (2 MiB pages: sysctl vm.nr_hugepages={} for one), or do not use huge \
                 pages",
                needed.0.div_ceil(2 << 20).max(1)
            )),
            EngineError::System { .. } => None,
        }
    }

    /// The system's error number, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            EngineError::System { errno, .. } => Some(*errno),
            EngineError::Memory { .. } | EngineError::HugePages { .. } => Some(sys::file::NO_MEMORY),
            EngineError::Unavailable { .. } => None,
        }
    }
}

/// An error as the result of an operation: its negative number.
pub(crate) fn operation_result(error: &std::io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(sys::file::IO_ERROR))
}

/// The system's message for an error number, such as `No space left on device`.
pub fn os_error_name(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    // The standard library appends the error number; our messages add it only where it helps.
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
