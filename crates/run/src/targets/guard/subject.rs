//! The facts of a target on which the guard decides.

use std::io;
use std::path::{Path, PathBuf};

use engine::{Access, File, FileKind, Identity};

use super::signature::{self, Signature};
use crate::targets::MarkState;

/// A target, as seen through its open descriptor.
///
/// The fields are public so that recorded trees can be tested without a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The user's path, for messages.
    pub path: PathBuf,
    /// The kind of target.
    pub kind: FileKind,
    /// Identity, to compare it with other names.
    pub identity: Option<Identity>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether fathom created it and it is unchanged since.
    pub mark: MarkState,
    /// Signatures of file systems, tables and databases found in it.
    pub contents: Contents,
    /// Something has claimed the device exclusively (`EBUSY` for `O_EXCL`).
    pub claimed: bool,
}

/// The contents of a file or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These signatures; without any it may be blank, or have unrecognised data.
    Known(Vec<Signature>),
    /// It could not be examined.
    Unknown {
        /// Why it could not be read, for a message.
        why: String,
    },
}

impl Candidate {
    /// The facts of an open file, whose contents are examined through the same descriptor.
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

    /// The facts of something that must not be opened, such as a tape or pipe.
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
        if file.options().access == Access::Write {
            return Contents::Unknown {
                why: "it was opened for writing only".into(),
            };
        }
        Contents::from_reading(signature::find(&mut &*handle, file.size()))
    }

    pub(super) fn from_reading(result: io::Result<Vec<Signature>>) -> Contents {
        match result {
            Ok(signatures) => Contents::Known(signatures),
            Err(error) => Contents::Unknown { why: error.to_string() },
        }
    }
}
