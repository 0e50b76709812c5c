//! Why an engine could not start or go on.

use model::Bytes;
use model::plan::EngineKind;

/// Why an engine could not start or go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The system does not have it or does not allow it.
    #[error("the {} engine cannot be used: {why}", .kind.name())]
    Unavailable {
        /// The engine.
        kind: EngineKind,
        /// Why not.
        why: String,
        /// What to do.
        help: String,
    },
    /// There is not enough memory for the buffers.
    #[error("{slots} buffers of {each} need {needed} of memory, but {available} are available")]
    Memory {
        /// How many buffers.
        slots: u32,
        /// Bytes in each.
        each: Bytes,
        /// Bytes in all.
        needed: Bytes,
        /// Bytes that may be had.
        available: Bytes,
    },
    /// There are not enough huge pages for the buffers.
    #[error("{needed} of buffers are to lie in huge pages, and the system has none to give")]
    HugePages {
        /// Bytes in all.
        needed: Bytes,
    },
    /// A system call of the engine failed.
    #[error("{call} failed: {}", os_error_name(*.errno))]
    System {
        /// The call.
        call: &'static str,
        /// The error number.
        errno: i32,
    },
}

impl EngineError {
    /// An engine that cannot be used here.
    pub fn unavailable(kind: EngineKind, why: impl Into<String>, help: impl Into<String>) -> EngineError {
        EngineError::Unavailable {
            kind,
            why: why.into(),
            help: help.into(),
        }
    }

    /// A system call that failed, from the error it left behind.
    pub fn last_os_error(call: &'static str) -> EngineError {
        EngineError::System {
            call,
            errno: std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        }
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            EngineError::Unavailable { help, .. } => Some(help.clone()),
            EngineError::Memory { .. } => Some("lower the queue depth, the block size or the number of workers".into()),
            EngineError::HugePages { .. } => {
                Some("reserve some, such as with `sysctl vm.nr_hugepages=64`, or do without them".into())
            }
            EngineError::System { .. } => None,
        }
    }

    /// The error number, if it came from the system.
    pub fn errno(&self) -> Option<i32> {
        match self {
            EngineError::System { errno, .. } => Some(*errno),
            EngineError::Unavailable { .. } | EngineError::Memory { .. } | EngineError::HugePages { .. } => None,
        }
    }
}

/// The system's words for an error number, such as `No space left on device`.
pub fn os_error_name(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    // std appends the number; messages of ours name it only where it helps.
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
