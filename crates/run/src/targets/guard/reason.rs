//! Reasons for refusals, and notes on permitted targets.

use std::fmt;
use std::path::{Path, PathBuf};

use engine::probe::{BlockDevice, BlockKind, Process};
use model::finding::Severity;

use super::{CallerKind, Intent, Signature};
use crate::targets::MarkState;

/// A refusal: its reasons and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path the user gave.
    pub path: PathBuf,
    /// The intended actions.
    pub intent: Intent,
    /// All reasons, the most severe first. Never empty.
    pub reasons: Vec<Reason>,
    /// What the user can do to permit the test.
    pub help: String,
}

/// How a device that is in use is related to the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is the target itself.
    Itself,
    /// The target is a partition of it.
    Disk(String),
    /// It is a partition of the target.
    Partition(String),
    /// It is built on the target or on a part of it.
    BuiltOn(String),
    /// The target is built on it.
    Beneath(String),
    /// It shows the same file.
    SameFile(String),
}

/// One reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A file system on it is mounted.
    Mounted {
        /// Which related device is mounted.
        what: Relation,
        /// Type of the file system.
        kind: String,
        /// The mount points; a device can have many.
        at: Vec<String>,
    },
    /// It is used as swap space.
    Swap {
        /// Which related device is swap space.
        what: Relation,
    },
    /// Another device is built on it.
    Held {
        /// Which related device has a holder.
        what: Relation,
        /// A description of the other device.
        by: String,
    },
    /// A loop device shows it.
    LoopDevice {
        /// Which related device backs the loop device.
        what: Relation,
        /// The loop device.
        by: String,
    },
    /// A virtual machine has it open.
    VirtualMachine {
        /// Which related device is open.
        what: Relation,
        /// Process of the virtual machine.
        process: Process,
    },
    /// It belongs to a ZFS pool that is imported.
    ZfsPool {
        /// Name of the pool.
        pool: String,
    },
    /// The running system needs it.
    System {
        /// Which related device the system needs.
        what: Relation,
        /// `runs from` or `is started from`.
        how: &'static str,
    },
    /// It is unknown whether it is in use, so it counts as used.
    InDoubt {
        /// Which related device may be in use.
        what: Relation,
        /// The unknown fact.
        why: String,
    },
    /// Something has claimed it exclusively.
    Claimed,
    /// Another process has locked it: a run that changes it, too.
    Locked,
    /// It has known contents.
    Holds(Signature),
    /// The kernel knows partitions on it, even if its first bytes show none.
    HasPartitions {
        /// Names of the partitions.
        names: Vec<String>,
    },
    /// The contents could not be read.
    UnreadableContents {
        /// Why it could not be read.
        why: String,
    },
    /// The kernel shows nothing about the device, so it might be in use.
    NotInSystem,
    /// It is a device, and the user did not permit the loss of its contents.
    DeviceNotNamed,
    /// It is a file that fathom did not create, or that has changed since.
    ForeignFile {
        /// Size of the file in bytes.
        size: u64,
        /// What its mark shows.
        mark: MarkState,
    },
    /// It is neither a file nor a block device. The effect of writing is unknown.
    NotStorage,
    /// It is a kernel interface: a write changes system settings.
    KernelFile {
        /// Type of the file system, such as `proc`.
        kind: String,
    },
    /// A file would be created among the devices, in memory. The device is missing or misspelt.
    AmongDevices,
    /// It is read-only. Only listings report this: a run would get the system's error.
    ReadOnly,
}

/// The permission that overrides a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequiredPermission {
    /// None can: stop the programs that use it first.
    Never,
    /// Naming it again as something that may be destroyed.
    Destroy,
    /// Naming it again as a file that may be overwritten.
    Overwrite,
}

impl Reason {
    /// True if the target is in use, which no permission lifts.
    pub fn is_in_use(&self) -> bool {
        match self {
            Reason::Mounted { .. }
            | Reason::Swap { .. }
            | Reason::Held { .. }
            | Reason::LoopDevice { .. }
            | Reason::VirtualMachine { .. }
            | Reason::ZfsPool { .. }
            | Reason::System { .. }
            | Reason::InDoubt { .. }
            | Reason::Claimed
            | Reason::Locked => true,
            Reason::Holds(_)
            | Reason::HasPartitions { .. }
            | Reason::UnreadableContents { .. }
            | Reason::NotInSystem
            | Reason::DeviceNotNamed
            | Reason::ForeignFile { .. }
            | Reason::NotStorage
            | Reason::KernelFile { .. }
            | Reason::AmongDevices
            | Reason::ReadOnly => false,
        }
    }

    /// The name of its rule in findings.
    pub fn rule(&self) -> &'static str {
        match self {
            Reason::Mounted { .. } => "MOUNTED",
            Reason::Swap { .. }
            | Reason::Held { .. }
            | Reason::LoopDevice { .. }
            | Reason::VirtualMachine { .. }
            | Reason::ZfsPool { .. }
            | Reason::Claimed
            | Reason::Locked => "IN-USE",
            Reason::System { .. } => "SYSTEM-DISK",
            Reason::InDoubt { .. } => "IN-DOUBT",
            Reason::Holds(_) | Reason::HasPartitions { .. } | Reason::UnreadableContents { .. } => "FS-SIGNATURE",
            Reason::ForeignFile { .. } => "OVERWRITE-PROD-FILE",
            Reason::DeviceNotNamed => "NOT-NAMED",
            Reason::NotInSystem
            | Reason::NotStorage
            | Reason::KernelFile { .. }
            | Reason::AmongDevices
            | Reason::ReadOnly => "NOT-STORAGE",
        }
    }

    pub(super) fn required_permission(&self) -> RequiredPermission {
        match self {
            Reason::ForeignFile { .. } => RequiredPermission::Overwrite,
            Reason::KernelFile { .. } | Reason::AmongDevices | Reason::ReadOnly => RequiredPermission::Never,
            other if other.is_in_use() => RequiredPermission::Never,
            _ => RequiredPermission::Destroy,
        }
    }
}

impl Refusal {
    /// True if naming the target again would lift the refusal.
    pub fn can_be_lifted(&self) -> bool {
        self.reasons
            .iter()
            .all(|reason| reason.required_permission() != RequiredPermission::Never)
    }

    pub(in crate::targets) fn new(path: &Path, intent: Intent, reasons: Vec<Reason>, caller: CallerKind) -> Refusal {
        let help = help(path, &reasons, caller);
        Refusal {
            path: path.to_owned(),
            intent,
            reasons,
            help,
        }
    }
}

/// The reason that is hardest to lift determines the remedy.
fn help(path: &Path, reasons: &[Reason], caller: CallerKind) -> String {
    let path = path.display();
    let hardest = reasons.iter().min_by_key(|reason| reason.required_permission());
    let Some(hardest) = hardest else { return String::new() };
    let mark = match hardest {
        Reason::ForeignFile { mark, .. } => *mark,
        _ => MarkState::Unmarked,
    };
    match (hardest.required_permission(), caller) {
        (RequiredPermission::Never, _) => release(reasons, hardest),
        (RequiredPermission::Destroy, CallerKind::Native) => {
            format!("if everything on it may be lost, name it again: --allow-destroy {path}")
        }
        (RequiredPermission::Destroy, CallerKind::DropIn) => {
            format!("if everything on it may be lost, name it again: FATHOM_ALLOW_DESTROY={path}")
        }
        (RequiredPermission::Overwrite, CallerKind::Native) if mark == MarkState::Unfinished => format!(
            "if no other run uses it, remove it, so that fathom creates it again; or, if its contents may be lost, \
             name it again: --allow-overwrite {path}"
        ),
        (RequiredPermission::Overwrite, CallerKind::Native) if mark == MarkState::PartlyIntact => format!(
            "test only the same part again (`--size`), or remove the file, so that fathom creates it again; or, if \
             its contents may be lost, name it again: --allow-overwrite {path}"
        ),
        (RequiredPermission::Overwrite, CallerKind::Native) => {
            format!("if its contents may be lost, name it again: --allow-overwrite {path}")
        }
        // The drop-in modes never refuse a file for this reason alone.
        (RequiredPermission::Overwrite, CallerKind::DropIn) => format!("name it again: FATHOM_ALLOW_DESTROY={path}"),
    }
}

/// How to end the use of a target.
fn release(reasons: &[Reason], hardest: &Reason) -> String {
    let runs_the_system = |reason: &Reason| match reason {
        Reason::Mounted { at, .. } => at.iter().any(|place| place == "/"),
        Reason::System { .. } => true,
        _ => false,
    };
    if reasons.iter().any(runs_the_system) {
        return "this system runs from it; choose another target. No option overrides this".into();
    }
    let first = match hardest {
        Reason::Mounted { at, .. } => {
            let place = at.first().map_or("", String::as_str);
            match place.starts_with('/') {
                true => format!("unmount it (umount {place})"),
                // A letter or directory of Windows.
                false => format!("dismount it (mountvol {place} /P)"),
            }
        }
        Reason::InDoubt { why, .. } if why.contains("offline") => "bring it online (Set-Disk -IsOffline $false)".into(),
        Reason::InDoubt { .. } => {
            return "run as administrator, who can see more, or choose another target; no option overrides this".into();
        }
        Reason::Swap { .. } => "stop using it as swap space (swapoff)".into(),
        Reason::LoopDevice { by, .. } => format!("detach the loop device (losetup -d {by})"),
        Reason::VirtualMachine { .. } => "stop the virtual machine".into(),
        Reason::ZfsPool { pool } => format!("export the pool (zpool export {pool})"),
        Reason::Locked => "wait until it ends".into(),
        Reason::AmongDevices => return "check the spelling, and that the device is attached".into(),
        Reason::KernelFile { .. } | Reason::ReadOnly => return "choose another target".into(),
        _ => "stop the program that uses it".into(),
    };
    let first = match hardest {
        Reason::Locked => first,
        _ => format!("{first} first"),
    };
    format!("{first}, or choose another target; no option overrides this")
}

impl fmt::Display for Refusal {
    /// The refusal, a line for each reason, and the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must not be {}:", self.path.display(), self.intent)?;
        for reason in &self.reasons {
            write!(f, "\n  {reason}")?;
        }
        write!(f, "\n  help: {}", self.help)
    }
}

/// The maximum number of mount points in a sentence.
const MAX_MOUNT_POINTS: usize = 3;

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Mounted { what, kind, at } => {
                let mount_points = at[..at.len().min(MAX_MOUNT_POINTS)].join(", ");
                let omitted = match at.len().saturating_sub(MAX_MOUNT_POINTS) {
                    0 => String::new(),
                    more => format!(" and {more} more places"),
                };
                write!(
                    f,
                    "{} is mounted at {mount_points}{omitted} ({kind})",
                    what.to_inline_text()
                )
            }
            Reason::Swap { what } => write!(f, "the system swaps to {what}"),
            Reason::Held { what, by } => write!(f, "{} is part of {by}", what.to_inline_text()),
            Reason::LoopDevice { what, by } => write!(f, "the loop device {by} uses {what}"),
            Reason::VirtualMachine { what, process } => write!(
                f,
                "a virtual machine has {} open ({}, process {})",
                what.to_inline_text(),
                process.name,
                process.id
            ),
            Reason::ZfsPool { pool } => write!(f, "it is part of the ZFS pool \"{pool}\", which is imported"),
            Reason::System { what, how } => write!(f, "the running system {how} {what}"),
            Reason::InDoubt {
                what: Relation::Itself,
                why,
            } => {
                write!(f, "cannot determine whether it is in use: {why}")
            }
            Reason::InDoubt { what, why } => {
                write!(f, "cannot determine whether {} is in use: {why}", what.to_inline_text())
            }
            Reason::Claimed => {
                f.write_str("something else uses it exclusively: a mount, an array, a volume or another program")
            }
            Reason::Locked => f.write_str("another run is writing to it, or another program has locked it"),
            Reason::Holds(signature) => write!(f, "it contains {signature}"),
            Reason::HasPartitions { names } => write!(f, "it has partitions: {}", names.join(", ")),
            Reason::UnreadableContents { why } => write!(f, "cannot examine its contents: {why}"),
            Reason::NotInSystem => {
                f.write_str("the kernel shows nothing about this device, so it is unknown whether it is in use")
            }
            Reason::DeviceNotNamed => f.write_str("it is a device, and the loss of its contents was not permitted"),
            Reason::ForeignFile { size, mark } => {
                write!(f, "it is a file of {} {}", model::Bytes(*size), mark.describe())
            }
            Reason::NotStorage => f.write_str("it is neither a file nor a block device"),
            Reason::KernelFile { kind } => {
                write!(f, "it is a kernel interface ({kind}): a write changes system settings")
            }
            Reason::AmongDevices => {
                f.write_str("no such device exists; a file would be created in its place, in memory")
            }
            Reason::ReadOnly => f.write_str("the system does not permit writes to it"),
        }
    }
}

impl Relation {
    /// Text for the middle of a longer sentence.
    fn to_inline_text(&self) -> String {
        match self {
            Relation::Itself | Relation::Disk(_) | Relation::Partition(_) => self.to_string(),
            Relation::BuiltOn(_) | Relation::Beneath(_) | Relation::SameFile(_) => format!("{self},"),
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::Itself => f.write_str("it"),
            Relation::Disk(name) => write!(f, "the whole disk {name}"),
            Relation::Partition(name) => write!(f, "its partition {name}"),
            Relation::BuiltOn(name) => write!(f, "{name}, which is built on it"),
            Relation::Beneath(name) => write!(f, "{name}, on which it is built"),
            Relation::SameFile(name) => write!(f, "{name}, which uses the same file"),
        }
    }
}

/// The holder of a device, in the terms of its subsystem.
pub(super) fn describe_holder(holder: &BlockDevice) -> String {
    let name = &holder.name;
    match &holder.kind {
        BlockKind::Mapping { name: mapping, uuid } => {
            let made_by = |prefix: &str| uuid.starts_with(prefix);
            if made_by("LVM-") {
                format!("the LVM volume {mapping} ({name})")
            } else if made_by("CRYPT-") {
                format!("the encrypted volume {mapping} ({name})")
            } else if made_by("mpath-") {
                format!("the multipath device {mapping} ({name})")
            } else if made_by("DMRAID-") {
                format!("the firmware RAID {mapping} ({name})")
            } else {
                format!("the device-mapper device {mapping} ({name})")
            }
        }
        BlockKind::Raid { level } if level.is_empty() => format!("the RAID array {name}"),
        BlockKind::Raid { level } => format!("the RAID array {name} ({level})"),
        BlockKind::Bcache => format!("the bcache device {name}"),
        BlockKind::Volume { at: Some(at) } => format!("the volume {at}"),
        BlockKind::Volume { at: None }
        | BlockKind::Disk
        | BlockKind::Partition
        | BlockKind::Loop { .. }
        | BlockKind::Memory => {
            format!("the device {name}")
        }
    }
}

/// A note on a permitted target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The contents of the target will be lost, as the user permitted.
    WillDestroy(Signature),
    /// A file that fathom did not create, or that has changed since, will be changed.
    WillOverwrite {
        /// Size of the file in bytes.
        size: u64,
        /// What its mark shows.
        mark: MarkState,
    },
    /// A device without any known mark will be written to, as the original tool would.
    BlankDevice,
    /// A file will be created among the devices, in memory.
    AmongDevices,
    /// Another process has locked it: a run that changes it, too.
    Locked,
    /// The open files of these virtual machines cannot be examined: one might use it.
    InaccessibleGuests(Vec<Process>),
    /// The backing files of these loop devices are unknown, so one might be this file.
    LoopsUnresolved(Vec<String>),
    /// The system shows no devices, so a loop device might use this file.
    DevicesHidden,
}

impl Note {
    /// A file among the devices is rarely intended. Two runs on one file measure each other.
    pub(crate) fn severity(&self) -> Severity {
        match self {
            Note::AmongDevices | Note::Locked => Severity::Warning,
            _ => Severity::Note,
        }
    }

    /// Why it matters and what to do, if the run changes what was on the target.
    pub(crate) fn consequence(&self) -> Option<(&'static str, &'static str)> {
        let is_lost = matches!(
            self,
            Note::WillDestroy(_) | Note::WillOverwrite { .. } | Note::BlankDevice
        );
        is_lost.then_some((
            "the test overwrites what was there",
            "no action needed if it may be lost; otherwise test a separate file (`--target FILE --size SIZE`)",
        ))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::WillDestroy(signature) => write!(f, "{signature} on it will be lost"),
            Note::WillOverwrite { size, mark } => {
                let mark_name = match mark {
                    MarkState::Unmarked => "without a mark of fathom's",
                    other => other.describe(),
                };
                write!(f, "a file of {} {mark_name} will be changed", model::Bytes(*size))
            }
            Note::BlankDevice => f.write_str("a device without any known mark will be written to"),
            Note::AmongDevices => f.write_str("no such device exists; a file is created in its place, in memory"),
            Note::Locked => f.write_str(
                "another run is writing to it, too, so the figures of both are wrong (or another program has locked it)",
            ),
            Note::InaccessibleGuests(processes) => {
                let names: Vec<String> = processes
                    .iter()
                    .map(|process| format!("{} ({})", process.name, process.id))
                    .collect();
                write!(
                    f,
                    "only root can see whether these virtual machines use it: {}",
                    names.join(", ")
                )
            }
            Note::DevicesHidden => {
                f.write_str("/sys shows no devices here, so it is unknown whether a loop device uses this file")
            }
            Note::LoopsUnresolved(names) => write!(
                f,
                "the backing files of these loop devices are unknown: {}",
                names.join(", ")
            ),
        }
    }
}
