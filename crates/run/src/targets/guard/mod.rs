//! The guard: decides whether a plan may use a target as it intends.
//!
//! It decides by the *actions* on a path, not by the direction of the jobs, and gives facts as
//! reasons. It always refuses targets in use. The user must name targets with known contents again.
//! Native commands also require this for a blank device or a foreign file; the drop-in modes
//! proceed like the original tool. Reading is always permitted.
//!
//! The guard decides on the open descriptor, by device and inode numbers, so links and aliases make
//! no difference. It never prompts and prints nothing.

mod claims;
mod in_use;
mod intent;
mod list;
mod permissions;
mod reason;
mod signature;
mod subject;

use std::cell::{OnceCell, RefCell};
use std::path::Path;

use engine::probe::{Inventory, Mount, System};
use engine::{DeviceNumber, FileKind, Identity};

pub use claims::{Claim, ClaimError};
pub use intent::{ExistingTarget, Intent};
pub use list::{Listing, ListingKind, WriteAccess, list};
pub use permissions::{ExaminedTargets, Permissions};
pub use reason::{Note, Reason, Refusal, Relation};
pub use signature::{Signature, SignatureKind, find as find_signatures};
pub use subject::{Candidate, Contents};

use super::MarkState;

/// The kind of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// A command of our own.
    Native,
    /// A drop-in mode, which promises to run scripts unchanged.
    DropIn,
}

/// A decision of the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The use is permitted.
    Allowed {
        /// Facts that the user should know.
        notes: Vec<Note>,
    },
    /// The use is refused.
    Refused(Refusal),
}

impl Decision {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Decision::Allowed { .. } => None,
            Decision::Refused(refusal) => Some(refusal),
        }
    }
}

/// Decides about the targets of a command.
///
/// The guard examines the system once, at the first decision about a change. Ask it after opening
/// the targets, or let [`Guard::claim`] open them.
#[derive(Debug)]
pub struct Guard<'a> {
    system: &'a System,
    caller: CallerKind,
    permissions: &'a Permissions,
    inventory: OnceCell<Inventory>,
    /// The claims of this guard. They do not count as uses if a target has a second name.
    claims: RefCell<Vec<Identity>>,
}

impl<'a> Guard<'a> {
    /// A guard that has not examined the system yet.
    pub fn new(system: &'a System, caller: CallerKind, permissions: &'a Permissions) -> Guard<'a> {
        Guard {
            system,
            caller,
            permissions,
            inventory: OnceCell::new(),
            claims: RefCell::default(),
        }
    }

    /// A guard with an inventory, for recorded machines.
    pub fn with_inventory(self, inventory: Inventory) -> Guard<'a> {
        Guard {
            inventory: OnceCell::from(inventory),
            ..self
        }
    }

    /// Decides about an existing target.
    pub fn decide(&self, subject: &Candidate, intent: Intent) -> Decision {
        if !intent.changes() {
            return Decision::Allowed { notes: Vec::new() };
        }
        let mut reasons = in_use::reasons(self.inventory(), subject);
        let mut notes = Vec::new();
        let content_reasons = match subject.kind {
            FileKind::Nothing => Vec::new(),
            FileKind::BlockDevice => self.reasons_for_device(subject, &mut notes),
            FileKind::Regular => self.reasons_for_file(subject, &mut notes),
            // The system removes a directory only if it is empty and no mount point, so nothing can
            // be lost.
            FileKind::Directory if !(intent.includes(Intent::WRITE) || intent.includes(Intent::TRUNCATE)) => Vec::new(),
            FileKind::CharacterDevice | FileKind::Directory | FileKind::Other => self.reasons_for_other(subject),
        };
        // If the target is in use, omit reasons that naming it again would lift, except for its
        // contents.
        let in_use = !reasons.is_empty();
        let matters = |reason: &Reason| !in_use || matches!(reason, Reason::Holds(_) | Reason::HasPartitions { .. });
        reasons.extend(content_reasons.into_iter().filter(matters));
        if !reasons.is_empty() {
            return Decision::Refused(Refusal::new(&subject.path, intent, reasons, self.caller));
        }
        Decision::Allowed { notes }
    }

    /// Decides about a path that does not exist yet.
    pub fn decide_missing(&self, path: &Path, intent: Intent) -> Decision {
        let among_devices = intent.includes(Intent::CREATE) && self.is_among_devices(path);
        match (among_devices, self.caller) {
            (false, _) => Decision::Allowed { notes: Vec::new() },
            // Probably a misspelt device: the file would be created in memory, so it would measure
            // memory.
            (true, CallerKind::Native) => {
                let reasons = vec![Reason::AmongDevices];
                Decision::Refused(Refusal::new(path, intent, reasons, self.caller))
            }
            (true, CallerKind::DropIn) => Decision::Allowed {
                notes: vec![Note::AmongDevices],
            },
        }
    }

    fn inventory(&self) -> &Inventory {
        self.inventory.get_or_init(|| Inventory::take(self.system))
    }

    fn reasons_for_device(&self, subject: &Candidate, notes: &mut Vec<Note>) -> Vec<Reason> {
        let device = match subject.identity {
            Some(Identity::BlockDevice(number)) => self.inventory().device(number),
            _ => None,
        };
        let mut reasons = content_reasons(subject);
        match device {
            None => reasons.push(Reason::NotInSystem),
            Some(_) if self.inventory().shows_only_loop_devices => reasons.push(Reason::NotInSystem),
            Some(device) if !device.partitions.is_empty() => reasons.push(Reason::HasPartitions {
                names: device.partitions.clone(),
            }),
            Some(_) => {}
        }
        self.note_inaccessible_guests(notes);
        if self.permissions.may_destroy(self.system, subject) {
            note_losses(&reasons, notes);
            return Vec::new();
        }
        if reasons.is_empty() {
            match self.caller {
                CallerKind::Native => reasons.push(Reason::DeviceNotNamed),
                CallerKind::DropIn => notes.push(Note::BlankDevice),
            }
        }
        reasons
    }

    fn reasons_for_file(&self, subject: &Candidate, notes: &mut Vec<Note>) -> Vec<Reason> {
        if let Some(kind) = self.kernel_file_system(subject) {
            return vec![Reason::KernelFile { kind }];
        }
        // An empty file has nothing to lose; `mktemp` creates such files.
        let foreign = !matches!(subject.mark, MarkState::Intact { .. }) && subject.size > 0;
        // A file that fathom prepared may have become a disk image since, so its contents also
        // count.
        let mut reasons = content_reasons(subject);
        self.note_inaccessible_guests(notes);
        if self.inventory().shows_only_loop_devices {
            notes.push(Note::DevicesHidden);
        }
        let unresolved = self
            .inventory()
            .devices
            .iter()
            .filter(|device| device.backing().is_some_and(|backing| backing.identity.is_none()));
        let names: Vec<String> = unresolved.map(|device| device.name.clone()).collect();
        if !names.is_empty() {
            notes.push(Note::LoopsUnresolved(names));
        }
        if self.permissions.may_destroy(self.system, subject) {
            note_losses(&reasons, notes);
            reasons.clear();
        }
        if foreign {
            let (size, mark) = (subject.size, subject.mark);
            match self.caller {
                CallerKind::Native if !self.permissions.may_overwrite(self.system, subject) => {
                    reasons.push(Reason::ForeignFile { size, mark });
                }
                CallerKind::Native | CallerKind::DropIn => notes.push(Note::WillOverwrite { size, mark }),
            }
        }
        reasons
    }

    /// The type of the file system, if its files are an interface to the kernel.
    fn kernel_file_system(&self, subject: &Candidate) -> Option<String> {
        const KINDS: [&str; 16] = [
            "proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "efivarfs", "cgroup", "cgroup2", "bpf",
            "pstore", "selinuxfs", "binfmt_misc", "fusectl", "resctrl", "devpts",
        ];
        let Some(Identity::File { device, .. }) = subject.identity else {
            return None;
        };
        let is_mount_of_file = |mount: &&Mount| mount.number == device;
        let mount = self.inventory().mounts.iter().find(is_mount_of_file)?;
        KINDS.contains(&mount.fs_type.as_str()).then(|| mount.fs_type.clone())
    }

    /// Memory of the kernel, tapes, generic SCSI: a write there can have any effect.
    fn reasons_for_other(&self, subject: &Candidate) -> Vec<Reason> {
        let harmless = matches!(subject.identity, Some(Identity::CharacterDevice(number)) if is_sink(number));
        if harmless || self.permissions.may_destroy(self.system, subject) {
            return Vec::new();
        }
        vec![Reason::NotStorage]
    }

    fn note_inaccessible_guests(&self, notes: &mut Vec<Note>) {
        let hidden = &self.inventory().inaccessible_guests;
        if !hidden.is_empty() {
            notes.push(Note::InaccessibleGuests(hidden.clone()));
        }
    }

    fn is_among_devices(&self, path: &Path) -> bool {
        let folder = crate::targets::parent_directory(path);
        let resolved = if self.system.is_live() {
            std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
        } else {
            folder.to_owned()
        };
        let through = self
            .inventory()
            .mounts
            .iter()
            .filter(|mount| resolved.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.len());
        through.is_some_and(|mount| mount.fs_type == "devtmpfs")
    }
}

fn content_reasons(subject: &Candidate) -> Vec<Reason> {
    match &subject.contents {
        Contents::Known(signatures) => signatures.iter().cloned().map(Reason::Holds).collect(),
        Contents::Unknown { why } => vec![Reason::UnreadableContents { why: why.clone() }],
    }
}

fn note_losses(reasons: &[Reason], notes: &mut Vec<Note>) {
    for reason in reasons {
        if let Reason::Holds(signature) = reason {
            notes.push(Note::WillDestroy(signature.clone()));
        }
    }
}

/// True for `/dev/null`, `/dev/zero` and `/dev/full`, which discard all data.
fn is_sink(number: DeviceNumber) -> bool {
    number.major == 1 && matches!(number.minor, 3 | 5 | 7)
}
