//! Why a worker could not be set up, and what to do about it.

use std::io::ErrorKind;
use std::sync::Arc;

use engine::{EngineError, OpenError};
use model::Bytes;
use model::access::AccessError;

use crate::targets::NO_DIRECT_IO;

/// Why a worker could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A target cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The engine cannot start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The access pattern does not fit the target.
    #[error("cannot test {path} ({size}): {source}")]
    Access {
        /// Path of the target.
        path: String,
        /// Size of the target.
        size: Bytes,
        /// Why the pattern does not fit.
        source: AccessError,
    },
    /// Misaligned lengths or offsets for direct I/O.
    #[error("cannot use direct I/O on {path}: {what} of {size} bytes, but it needs multiples of {alignment} bytes")]
    Alignment {
        /// Path of the target.
        path: String,
        /// The misaligned value: `blocks`, `an alignment` or `an offset`.
        what: &'static str,
        /// The misaligned number of bytes.
        size: u64,
        /// The required alignment.
        alignment: u64,
    },
    /// The plan bypasses the client cache of a network file system. This file system is local.
    #[error("cannot bypass the client cache of {path}: it is not on a network file system")]
    NotRemote {
        /// Path of the target.
        path: String,
    },
    /// The file with write data cannot be read.
    #[error("cannot read write data from {path}: {source}")]
    Content {
        /// Path of the file with the write data.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The trace to replay cannot be read. Nothing was issued.
    #[error("cannot read the trace {path}: {source}")]
    Trace {
        /// Path of the trace.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A log cannot be written. Nothing was issued.
    #[error("cannot write the {what} {path}: {source}")]
    Log {
        /// Kind of log, for the message.
        what: &'static str,
        /// Path of the log.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The verify state of an earlier run cannot be read.
    #[error("cannot read the verification state {path}: {source}")]
    State {
        /// Path of the state file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// An unsupported combination of settings.
    #[error("{what}")]
    Unsupported {
        /// The problem, in a sentence.
        what: String,
        /// What the user can do instead.
        help: String,
    },
    /// The system cannot start another thread.
    #[error("cannot start another thread: {}", os_error_text(.0))]
    Thread(std::io::Error),
    /// RLIMIT_AS is too low for the workers.
    #[error(
        "cannot start {workers} workers: they need {needed} of address space, and its limit (RLIMIT_AS) leaves {free}"
    )]
    AddressSpace {
        /// The number of workers in the step.
        workers: usize,
        /// The address space that they need.
        needed: Bytes,
        /// The address space that is left.
        free: Bytes,
    },
    /// A setting of the system cannot be changed as requested.
    #[error("{what}: {source}")]
    SystemSetting {
        /// The setting that could not be changed.
        setting: SystemSetting,
        /// The requested value.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A failure that several workers share.
    #[error(transparent)]
    Common(Arc<SetupError>),
    /// The thread's CPU binding, NUMA policy, priority or user cannot be set.
    #[error("{what}: {source}")]
    Placement {
        /// The requested value.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

fn os_error_text(error: &std::io::Error) -> String {
    error.raw_os_error().map_or(error.to_string(), engine::os_error_name)
}

/// Settings of the system that a run changes while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemSetting {
    /// The control group of a worker.
    ControlGroup,
    /// The I/O scheduler of a device.
    Scheduler,
}

impl SetupError {
    /// An unsupported request of a plan.
    pub(crate) fn unsupported(what: impl Into<String>, help: impl Into<String>) -> SetupError {
        SetupError::Unsupported {
            what: what.into(),
            help: help.into(),
        }
    }

    /// The remedy, if known.
    pub fn help(&self) -> Option<String> {
        match self {
            SetupError::Open(error) if error.only_direct_fails => Some(NO_DIRECT_IO.into()),
            SetupError::Open(error) => match error.source.kind() {
                ErrorKind::PermissionDenied => Some("use a target that this user may open, or run as root".into()),
                ErrorKind::NotFound => Some("it existed when the run began; find out what removed it".into()),
                ErrorKind::ReadOnlyFilesystem => {
                    Some("it is read-only: choose another target, or a job that only reads".into())
                }
                _ => None,
            },
            SetupError::Engine(error) => error.help(),
            SetupError::Access {
                source: AccessError::TooSmall { .. },
                ..
            } => Some("use a larger target, smaller blocks or a smaller offset".into()),
            SetupError::Alignment { what, alignment, .. } => Some(match *what {
                "blocks" => format!("use a block size that is a multiple of {alignment}, or `cache buffered`"),
                _ => format!("use a multiple of {alignment}, or `cache buffered`"),
            }),
            SetupError::Thread(_) => Some("use fewer workers, or raise the limit (ulimit -u)".into()),
            SetupError::AddressSpace { .. } => Some("use fewer workers, or raise the limit (ulimit -v)".into()),
            SetupError::Unsupported { help, .. } => Some(help.clone()),
            SetupError::State { .. } => Some(
                "first run the job that writes, with the same name and in the same directory, or remove \
                 verify_state_load"
                    .into(),
            ),
            SetupError::Log { path, source, .. } if source.kind() == ErrorKind::AlreadyExists => Some(format!(
                "name another file, or allow it: --allow-overwrite {path}; the existing one was not changed"
            )),
            SetupError::Log { .. } => Some("name another file; the existing one was not changed".into()),
            SetupError::NotRemote { .. } => {
                Some("bypass every cache (`cache direct`, DiskSpd `-Su`), or use a file on a network share".into())
            }
            SetupError::SystemSetting { setting, source, .. } => match (setting, source.kind()) {
                (_, ErrorKind::PermissionDenied) => Some("run as root, or remove this setting".into()),
                (SystemSetting::Scheduler, _) => {
                    Some("the file queue/scheduler of the device below /sys/block lists its schedulers".into())
                }
                (SystemSetting::ControlGroup, _) => None,
            },
            SetupError::Common(why) => why.help(),
            SetupError::Access { .. }
            | SetupError::Content { .. }
            | SetupError::Trace { .. }
            | SetupError::Placement { .. } => None,
        }
    }
}
