//! Opens targets so that the guard's decision stays valid.

use std::path::Path;

use engine::{File, FileKind, Identity, OpenError, OpenOptions, sys};

use super::{CallerKind, Candidate, Contents, Decision, Guard, Intent, Note, Refusal};
use crate::targets::MarkState;

/// A permitted target.
///
/// It keeps the target open. A block device is held exclusively: while the claim exists, the kernel
/// does not mount it or add it to an array or volume. The descriptor is only for reading. A writer
/// opens another one, not exclusively, and checks that both have the same identity.
#[derive(Debug)]
pub struct Claim {
    file: File,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// Why a target could not be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It cannot be opened for reading.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The path leads to another target than before, in this command or while it was opened.
    #[error("another file or device has replaced it since it was examined")]
    Replaced,
    /// The guard refuses.
    #[error("{0}")]
    Refused(Refusal),
}

impl Claim {
    /// The descriptor on which the decision is based.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Guard<'_> {
    /// Opens an existing target for reading, and decides on the open descriptor. A block device
    /// that would be changed is opened exclusively. Opens nothing for writing, so the call is
    /// harmless. `inspect` checks the mark of the open file.
    ///
    /// # Errors
    /// [`ClaimError`] if the target cannot be opened or must not be used in this way.
    pub fn claim(
        &self,
        path: &Path,
        intent: Intent,
        inspect: impl FnOnce(&File) -> MarkState,
    ) -> Result<Claim, ClaimError> {
        let identity = sys::facts::read_identity(path);
        // Opening a pipe waits for its other end, and opening a tape or a watchdog has side
        // effects.
        if let Some(kind) = kind_not_to_open(path, identity)
            && let Decision::Refused(refusal) = self.decide(&Candidate::unopened(path, kind, identity), intent)
        {
            return Err(ClaimError::Refused(refusal));
        }
        let is_exclusive = intent.changes() && matches!(identity, Some(Identity::BlockDevice(_)));
        let (file, claimed) = match File::open(path, OpenOptions::to_inspect(is_exclusive)) {
            Ok(file) => (file, false),
            Err(error) if is_exclusive && error.source.raw_os_error() == Some(sys::file::BUSY) => {
                let ours = identity.is_some_and(|identity| self.claims.borrow().contains(&identity));
                (File::open(path, OpenOptions::to_inspect(false))?, !ours)
            }
            Err(error) => return Err(error.into()),
        };
        // The original tools may replace their files between runs, as does a run that removes them.
        let must_stay = self.caller == CallerKind::Native && !intent.includes(Intent::UNLINK);
        if file.identity() != identity || must_stay && !self.permissions.examined.record(path, &file) {
            return Err(ClaimError::Replaced);
        }
        if !intent.changes() {
            // Reading is always permitted, so do not inspect the contents.
            return Ok(Claim {
                file,
                notes: Vec::new(),
            });
        }
        let mark = inspect(&file);
        let subject = Candidate {
            claimed,
            ..Candidate::from_file(&file, mark)
        };
        match self.decide(&subject, intent) {
            Decision::Allowed { notes } => {
                if is_exclusive {
                    self.claims.borrow_mut().extend(identity);
                }
                Ok(Claim { file, notes })
            }
            Decision::Refused(refusal) => Err(ClaimError::Refused(refusal)),
        }
    }

    /// Decides about a block device that this user cannot open, from the system's facts.
    pub fn decide_unopened(&self, path: &Path, intent: Intent) -> Decision {
        let identity = sys::facts::read_identity(path);
        if !matches!(identity, Some(Identity::BlockDevice(_))) {
            return Decision::Allowed { notes: Vec::new() };
        }
        let mut subject = Candidate::unopened(path, FileKind::BlockDevice, identity);
        subject.contents = Contents::Unknown {
            why: "this user may not open it".into(),
        };
        self.decide(&subject, intent)
    }
}

fn kind_not_to_open(path: &Path, identity: Option<Identity>) -> Option<FileKind> {
    match identity {
        Some(Identity::CharacterDevice(_)) => Some(FileKind::CharacterDevice),
        Some(Identity::BlockDevice(_)) | None => None,
        Some(Identity::File { .. }) => {
            let kind = sys::facts::read_file_kind(path).ok()?;
            (!matches!(kind, FileKind::Regular | FileKind::Directory)).then_some(FileKind::Other)
        }
    }
}
