//! What the user has named again.

use engine::Identity;
use engine::probe::System;

use super::Candidate;

/// What the user allows to be destroyed, by name. A name is any path that leads to the thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Devices and files whose contents may be lost, whatever they are (`--allow-destroy`,
    /// `FATHOM_ALLOW_DESTROY`).
    pub destroy: Vec<String>,
    /// Files that may be overwritten although fathom did not make them (`--allow-overwrite`).
    pub overwrite: Vec<String>,
    /// Programs that a plan names may be run (`FATHOM_ALLOW_EXEC`).
    pub programs: bool,
}

impl Permissions {
    /// Adds what a variable such as `FATHOM_ALLOW_DESTROY` holds: one path, or several with commas
    /// between them.
    pub fn allow_destroy_list(&mut self, text: &str) {
        // A path may hold a comma itself, so the whole text is a name too.
        let names = text.split(',').map(str::trim).chain([text.trim()]);
        for name in names.filter(|name| !name.is_empty()) {
            if !self.destroy.iter().any(|known| known == name) {
                self.destroy.push(name.to_owned());
            }
        }
    }

    pub(super) fn may_destroy(&self, system: &System, subject: &Candidate) -> bool {
        named(&self.destroy, system, subject)
    }

    /// Who may destroy a file may overwrite it.
    pub(super) fn may_overwrite(&self, system: &System, subject: &Candidate) -> bool {
        named(&self.overwrite, system, subject) || self.may_destroy(system, subject)
    }
}

/// Names are compared by what they lead to now: the subject is open, so its numbers cannot come to
/// mean something else.
fn named(names: &[String], system: &System, subject: &Candidate) -> bool {
    names.iter().any(|name| {
        let other: Option<Identity> = system.identity(name);
        match (other, subject.identity) {
            (Some(other), Some(identity)) => other == identity,
            // Drives on Windows have no number of their own; only the same spelling is certainly
            // the same drive.
            (None, None) => subject.path.to_str() == Some(name),
            _ => false,
        }
    })
}
