//! What the guard knows of the target it is asked about.

use std::io;
use std::path::{Path, PathBuf};

use engine::{Access, File, FileKind, Identity};

use super::signature::{self, Signature};
use crate::targets::MarkState;

/// A target, as its open descriptor shows it.
///
/// The fields are open so that a recorded tree can be asked about without a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The path the user gave, for messages and for repeating it.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// What makes it the same as another name for it.
    pub identity: Option<Identity>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether fathom made it, and it is unchanged since.
    pub mark: MarkState,
    /// What was found in it.
    pub contents: Contents,
    /// The kernel has lent the device to something that wants it alone (`EBUSY` for `O_EXCL`).
    pub claimed: bool,
}

/// What was found in a file or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These marks; none: it may be blank, or hold data without a mark.
    Known(Vec<Signature>),
    /// It could not be looked at.
    Unknown {
        /// Why, in words.
        why: String,
    },
}

impl Candidate {
    /// The facts of an open file, its contents looked at through the same descriptor.
    pub fn from_file(file: &File, mark: MarkState) -> Candidate {
        Candidate {
            path: file.path().to_owned(),
            kind: file.kind(),
            identity: file.identity(),
            size: file.size(),
            mark,
            contents: Contents::from_file(file),
            claimed: false,
        }
    }

    /// Something that must not be opened only to be looked at, such as a tape or a pipe.
    pub(super) fn unopened(path: &Path, kind: FileKind, identity: Option<Identity>) -> Candidate {
        Candidate {
            path: path.to_owned(),
            kind,
            identity,
            size: 0,
            mark: MarkState::Unmarked,
            contents: Contents::Known(Vec::new()),
            claimed: false,
        }
    }
}

impl Contents {
    fn from_file(file: &File) -> Contents {
        let Some(handle) = file.handle() else {
            return Contents::Known(Vec::new());
        };
        match file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {}
            FileKind::CharacterDevice | FileKind::Directory | FileKind::Nothing | FileKind::Other => {
                return Contents::Known(Vec::new());
            }
        }
        if file.how().access == Access::Write {
            return Contents::Unknown {
                why: "it was opened for writing only".into(),
            };
        }
        Contents::from_reading(signature::find(&mut &*handle, file.size()))
    }

    pub(super) fn from_reading(result: io::Result<Vec<Signature>>) -> Contents {
        match result {
            Ok(found) => Contents::Known(found),
            Err(error) => Contents::Unknown { why: error.to_string() },
        }
    }
}
