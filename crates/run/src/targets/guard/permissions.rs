//! The permissions of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::probe::System;
use engine::sys::facts::{read_birth_number, read_identity};
use engine::{File, Identity};

use super::Candidate;

/// What the user permits to be destroyed. A name is any path of the target.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Devices and files whose contents may be destroyed (`--allow-destroy`,
    /// `FATHOM_ALLOW_DESTROY`).
    pub destroy: Vec<String>,
    /// Foreign files that may be overwritten (`--allow-overwrite`).
    pub overwrite: Vec<String>,
    /// Programs that a plan names may be run (`FATHOM_ALLOW_EXEC`).
    pub programs: bool,
    /// Targets of all runs of the command, because a permission is for one file or disk.
    pub examined: ExaminedTargets,
}

/// The file or disk that was first examined at each path. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ExaminedTargets(Arc<Mutex<BTreeMap<PathBuf, Recorded>>>);

/// Identity and birth number of a recorded file or disk. Together they differ for every file that
/// later has the same path, even if it has the same inode number.
type Recorded = (Option<Identity>, u64);

impl ExaminedTargets {
    /// Records the target of an examined path. False if an earlier run had another one there.
    pub(crate) fn record(&self, path: &Path, file: &File) -> bool {
        let current = (file.identity(), file.handle().map_or(0, read_birth_number));
        let mut targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *targets.entry(path.to_owned()).or_insert(current) == current
    }
}

impl Permissions {
    /// Adds the value of a variable such as `FATHOM_ALLOW_DESTROY`. It has one path, or several
    /// separated by commas.
    pub fn allow_destroy_list(&mut self, text: &str) {
        // A path may contain a comma, so the whole text is a name too.
        let names = text.split(',').map(str::trim).chain([text.trim()]);
        for name in names.filter(|name| !name.is_empty()) {
            if !self.destroy.iter().any(|permitted| permitted == name) {
                self.destroy.push(name.to_owned());
            }
        }
    }

    /// True if the user names this existing file as one that may be overwritten.
    pub(crate) fn may_replace(&self, path: &Path) -> bool {
        let identity = read_identity(path);
        let mut names = self.overwrite.iter().chain(&self.destroy);
        identity.is_some() && names.any(|name| read_identity(Path::new(name)) == identity)
    }

    pub(super) fn may_destroy(&self, system: &System, subject: &Candidate) -> bool {
        is_named(&self.destroy, system, subject)
    }

    /// Permission to destroy includes permission to overwrite.
    pub(super) fn may_overwrite(&self, system: &System, subject: &Candidate) -> bool {
        is_named(&self.overwrite, system, subject) || self.may_destroy(system, subject)
    }
}

/// Names are compared by the identity of their targets. The subject is open, so its numbers cannot
/// be reused.
fn is_named(names: &[String], system: &System, subject: &Candidate) -> bool {
    names.iter().any(|name| {
        let named_identity: Option<Identity> = system.identity(name);
        match (named_identity, subject.identity) {
            (Some(named), Some(identity)) => named == identity,
            // Drives on Windows have no identity, so only the same spelling certainly names the
            // same drive.
            (None, None) => subject.path.to_str() == Some(name),
            _ => false,
        }
    })
}
