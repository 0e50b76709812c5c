//! Targets before and after a run: examination, guard, preparation, opening, and removal of
//! temporary files. Reports all errors of all targets before changing anything.

pub mod guard;

mod cleanup;
mod examine;
mod fill;
mod mark_store;
mod marker;
mod names;
mod peer_lock;
mod permit;
mod prepare;
mod shared_files;
mod survey;
mod temp_file;
mod tree;
mod unwritten;
mod write_lock;

use std::io::{Error, ErrorKind};
use std::path::Path;

use engine::sys;
use model::Bytes;

pub use cleanup::Cleanup;
pub use examine::{ExaminedTarget, examine};
pub use fill::FillError;
pub use marker::MarkState;
pub use peer_lock::Peers;
pub(crate) use permit::{HeldTargets, permit};
pub use permit::{Objection, TargetDecision, judge};
pub(crate) use prepare::{Preparation, ReadyTargets, prepare};
pub use shared_files::SharedFiles;
pub use survey::{storage_facts, survey};
pub use temp_file::TempFile;
pub use tree::{SHORT_FILES, kept_file_path};
pub(crate) use write_lock::Sharing;

/// What to do if a file opens only without direct I/O.
pub(crate) const NO_DIRECT_IO: &str =
    "this file system does not support direct I/O: use `cache buffered`, or a file elsewhere";

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is nothing at the path.
    #[error("{path} does not exist")]
    Missing {
        /// Path of the target.
        path: String,
        /// What to do.
        help: String,
    },
    /// The file and its directory do not exist.
    #[error("{0} does not exist")]
    NoParent(String),
    /// The file does not exist, and no size is set with which to create it.
    #[error("{0} does not exist")]
    NoSize(String),
    /// A directory, where a file or device is required.
    #[error("{0} is a directory")]
    Directory(String),
    /// The file is empty, and no size is set with which to fill it.
    #[error("{0} is an empty file")]
    Empty(String),
    /// It cannot be tested.
    #[error("{path} is {kind}")]
    Unsuitable {
        /// Path of the target.
        path: String,
        /// The kind of target.
        kind: &'static str,
        /// What to do.
        help: String,
    },
    /// An existing file is smaller than requested and must not be changed.
    #[error("cannot enlarge {path} from {actual} to {wanted}: it is a file {}", mark.describe())]
    TooSmall {
        /// Path of the file.
        path: String,
        /// Current size of the file.
        actual: Bytes,
        /// The requested size.
        wanted: Bytes,
        /// The state of its mark.
        mark: MarkState,
    },
    /// Preparation would fill the file system.
    #[error(
        "cannot create {wanted} at {path}: this would {} ({available} of {total} are available)",
        examine::broken_rule(total.0, available.0)
    )]
    WouldFillFileSystem {
        /// Path of the file to create.
        path: String,
        /// The requested size.
        wanted: Bytes,
        /// Available bytes.
        available: Bytes,
        /// Size of the file system.
        total: Bytes,
    },
    /// The file system lacks the space. Nothing was changed.
    #[error("cannot write {wanted} to {path}: its file system has {available} left")]
    NoSpace {
        /// Path of the file to fill.
        path: String,
        /// The requested size.
        wanted: Bytes,
        /// Available bytes.
        available: Bytes,
    },
    /// The path now leads to another file or device than the permitted one, or the file has
    /// changed.
    #[error("cannot use {path}: it was changed, or another file or device has replaced it since it was examined")]
    Replaced {
        /// Path that leads elsewhere now.
        path: String,
    },
    /// The system cannot examine the path.
    #[error("cannot examine {path}: {source}")]
    Examine {
        /// Path that cannot be examined.
        path: String,
        /// The system's error.
        source: Error,
    },
    /// The guard refuses a file that another process of this test has just created.
    #[error("{why}")]
    Refused {
        /// Path of the refused file.
        path: String,
        /// Reasons of the guard, and its remedy.
        why: Box<guard::Refusal>,
    },
    /// Preparation failed.
    #[error(transparent)]
    Fill(#[from] FillError),
}

/// Why the system cannot examine a path.
fn cannot_examine(path: impl std::fmt::Display) -> impl Fn(Error) -> TargetError {
    let path = path.to_string();
    move |source| TargetError::Examine {
        path: path.clone(),
        source,
    }
}

impl TargetError {
    fn replaced(path: &Path) -> TargetError {
        TargetError::Replaced {
            path: path.display().to_string(),
        }
    }

    fn unsuitable(path: impl std::fmt::Display, kind: &'static str, help: impl Into<String>) -> TargetError {
        TargetError::Unsuitable {
            path: path.to_string(),
            kind,
            help: help.into(),
        }
    }

    fn missing(path: &str, help: &str) -> TargetError {
        TargetError::Missing {
            path: path.to_owned(),
            help: help.to_owned(),
        }
    }

    /// What the user can do about the error, if anything.
    pub fn help(&self) -> Option<String> {
        match self {
            TargetError::Missing { help, .. } | TargetError::Unsuitable { help, .. } => Some(help.clone()),
            TargetError::NoParent(_) => Some("check the spelling; the parent directory does not exist either".into()),
            // A file among the devices would be in memory, so fathom creates none there.
            TargetError::NoSize(path) if Path::new(path).starts_with("/dev") => {
                Some("check the spelling, and that the device is attached (`fathom targets` lists the devices)".into())
            }
            TargetError::NoSize(_) => Some("check the spelling, or set a size so that fathom creates the file".into()),
            TargetError::Directory(_) => {
                Some("name a file in it, or set a size so that fathom creates one there".into())
            }
            TargetError::Empty(_) => Some("set a size so that fathom fills it, or name another file".into()),
            TargetError::TooSmall {
                mark: MarkState::Unfinished,
                ..
            } => Some("if no other run uses it, remove it, so that fathom creates it again".into()),
            TargetError::TooSmall { .. } => {
                Some("name another file, or omit the size to use the file unchanged".into())
            }
            TargetError::WouldFillFileSystem { available, total, .. } => {
                let size_max = examine::fillable_bytes(total.0, available.0) >> 20 << 20;
                Some(match size_max {
                    0 => "free some space, or test on another file system".into(),
                    size_max => format!("a size of up to {} is possible here", Bytes(size_max)),
                })
            }
            TargetError::NoSpace { .. } => Some("free some space, or set a smaller size".into()),
            TargetError::Examine { path, source } if source.kind() == ErrorKind::PermissionDenied => {
                let help = match path.starts_with("/dev/") {
                    true => sys::native_facts::PRIVILEGED,
                    false => sys::native_facts::PRIVILEGED_FILE,
                };
                Some(help.into())
            }
            TargetError::Examine { .. } | TargetError::Replaced { .. } | TargetError::Refused { .. } => None,
            TargetError::Fill(FillError::NoDirect(_)) => Some(NO_DIRECT_IO.into()),
            TargetError::Fill(error) => match error.errno() {
                Some(sys::file::NO_SPACE) => Some("free some space, or set a smaller size".into()),
                Some(sys::file::TOO_LARGE) => Some("raise the limit (ulimit -f), or use a smaller size".into()),
                Some(sys::file::ACCESS_DENIED | sys::file::NOT_PERMITTED) => {
                    Some("choose a location that this user may write to, or run as root".into())
                }
                Some(sys::file::READ_ONLY) => {
                    Some("the file system is mounted read-only; choose another location".into())
                }
                Some(number) if Error::from_raw_os_error(number).kind() == ErrorKind::AlreadyExists => {
                    Some(match error.path().filter(|path| Path::new(path).is_symlink()) {
                        Some(path) => format!("{path} is a link to a missing file; remove it, or name another file"),
                        None => "another run has just created it; name another file".into(),
                    })
                }
                _ => None,
            },
        }
    }
}

/// The preparation of a target.
#[derive(Clone, Debug, PartialEq)]
pub enum PrepareAction {
    /// It is used unchanged.
    UseUnchanged,
    /// A marked file is reused.
    Reuse {
        /// Bytes of random data in it.
        size: Bytes,
    },
    /// A file is created and filled.
    Create {
        /// Size of the new file.
        size: Bytes,
        /// It is removed at the end.
        temporary: bool,
    },
    /// A directory is created.
    CreateDirectory,
    /// A tree of files is created, and removed at the end.
    CreateTree {
        /// Directories below its root.
        directories: u64,
        /// Files that exist at first.
        files: u64,
    },
    /// A marked file is extended.
    Extend {
        /// Current size.
        from: Bytes,
        /// Size afterwards.
        to: Bytes,
    },
    /// An existing file is truncated and rewritten.
    Rewrite {
        /// Size afterwards.
        size: Bytes,
    },
}

/// The directory of a file; for a bare name, the current directory.
pub(crate) fn parent_directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
