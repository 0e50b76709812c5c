//! Targets: finds the file or device of this machine that a name in the configuration file means.

use model::Bytes;
use model::content::Content;
use model::plan::{Prepare, Target, TargetCleanup};

use super::command_line::Arguments;
use super::config::DataPattern;
use crate::Diagnostic;

/// The file in the root of a file system.
const FILE: &str = "iobw.tst";
/// A sector, unless the name implies another size.
const SECTOR: u64 = 512;
/// A sector of a Linux file system is its block.
const LINUX_SECTOR: u64 = 4096;

/// Queries about the machine.
pub trait Machine {
    /// True if a host name or address is this machine's.
    fn is_here(&self, name: &str) -> bool;
    /// The kind of file at a path.
    fn find(&self, path: &str) -> PathFacts;
    /// True if a file system is mounted at a path.
    fn is_mount_point(&self, path: &str) -> bool;
    /// True if nothing will be run: names that do not exist here are then used unchanged.
    fn is_only_read(&self) -> bool;
    /// Free bytes on the file system of a directory.
    fn free_bytes(&self, folder: &str) -> Option<u64>;
    /// Processors.
    fn cpus(&self) -> u32;
}

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFacts {
    /// The path does not exist.
    Nothing,
    /// A directory.
    Directory,
    /// A file of this size.
    File(u64),
    /// A device, or anything else that is not a file.
    Device,
}

/// A target that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedTarget {
    pub(super) path: String,
    pub(super) sector: u64,
    /// The name means nothing here, and is used unchanged because nothing will be run.
    pub(super) is_unmapped: bool,
}

/// Finds targets.
pub(super) struct Finder<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) machine: &'a dyn Machine,
    pub(super) windows: bool,
}

impl Finder<'_> {
    /// The file or device that a name means.
    pub(super) fn find(&self, name: &str) -> Result<ResolvedTarget, Diagnostic> {
        let sector = sector_size(name);
        let mapped = self.arguments.maps.iter().find(|(from, _)| is_meant(from, name));
        let (path, is_unmapped) = match mapped {
            Some((_, path)) => (path.clone(), false),
            None if is_path(name, self.windows) || self.arguments.targets.iter().any(|path| path == name) => {
                (name.to_owned(), false)
            }
            None => match self.own(name) {
                Some(own) => (own, false),
                None if self.machine.is_only_read() => (name.to_owned(), true),
                None => return Err(missing_target_error(name)),
            },
        };
        let path = match self.machine.find(&path) {
            PathFacts::Directory => format!("{}/{FILE}", path.trim_end_matches(['/', '\\'])),
            _ => path,
        };
        Ok(ResolvedTarget {
            path,
            sector,
            is_unmapped,
        })
    }

    /// The file or device of a name without a map.
    fn own(&self, name: &str) -> Option<String> {
        if self.windows {
            return windows_path(name);
        }
        if let Some((mount_point, _)) = name.rsplit_once(" [") {
            return self.machine.is_mount_point(mount_point).then(|| mount_point.to_owned());
        }
        let device = format!("/dev/{name}");
        (is_device_name(name) && self.machine.find(&device) == PathFacts::Device).then_some(device)
    }

    /// The target of a plan. `wanted` is the largest region of all workers in bytes, 0 for the
    /// whole.
    pub(super) fn prepared(&self, path: &str, wanted: u64) -> Result<Target, Diagnostic> {
        let prepare = match self.machine.find(path) {
            PathFacts::File(bytes) if bytes > 0 => Prepare::Existing,
            PathFacts::Device | PathFacts::Directory => Prepare::Existing,
            PathFacts::Nothing if self.machine.is_only_read() && wanted == 0 => Prepare::Existing,
            PathFacts::Nothing if path.starts_with("/dev/") || path.starts_with('\\') => Prepare::Existing,
            PathFacts::Nothing | PathFacts::File(_) => Prepare::Filled {
                size: Some(self.size(path, wanted)?),
            },
        };
        Ok(Target {
            path: path.to_owned(),
            prepare,
            at_end: TargetCleanup::Keep,
            ..Target::default()
        })
    }

    fn size(&self, path: &str, wanted: u64) -> Result<Bytes, Diagnostic> {
        if let Some(size) = self.arguments.size {
            return Ok(size);
        }
        if wanted > 0 {
            return Ok(Bytes(wanted));
        }
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let free = self
            .machine
            .free_bytes(folder)
            .map(|free| format!(" ({} are free)", Bytes(free)));
        let message = format!(
            "cannot prepare {path}: its maximum size is 0, for which Iometer fills the file system{}; fathom fills none",
            free.unwrap_or_default()
        );
        Err(Diagnostic::new(message)
            .help("set the file size, for example --size 10GiB, or a maximum size in the configuration"))
    }
}

/// The size of a sector of a target.
pub(crate) fn sector_size(name: &str) -> u64 {
    match name.starts_with('/') && name.ends_with(']') {
        true => LINUX_SECTOR,
        false => SECTOR,
    }
}

/// True if a name is a path. Iometer itself has no such names; `fathom convert` writes them.
pub(crate) fn is_path(name: &str, windows: bool) -> bool {
    let begins = ["/", "./", "../"].iter().any(|start| name.starts_with(start));
    let on_drive = || drive_prefix(name).is_some_and(|drive| name[drive.len()..].starts_with('\\') && name.len() > 3);
    begins && !name.ends_with(']') || windows && on_drive()
}

/// Iometer's name of the disk at a path.
pub(crate) fn disk_name(path: &str) -> Option<String> {
    let disk = path.strip_prefix(r"\\.\PhysicalDrive");
    let device = path.strip_prefix("/dev/").filter(|name| is_device_name(name));
    disk.map(|number| format!("PHYSICALDRIVE:{number}"))
        .or(device.map(str::to_owned))
}

fn is_device_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', ' ', '.'])
}

/// The plan's buffer contents for Iometer's data patterns.
pub(super) fn create_content(pattern: DataPattern, seed: u64) -> Content {
    match pattern {
        DataPattern::Repeating => Content::Pattern {
            bytes: vec![(seed % 255) as u8 + 1],
        },
        DataPattern::Once => Content::Once,
        DataPattern::Random => Content::Fresh,
    }
}

fn missing_target_error(name: &str) -> Diagnostic {
    let message =
        format!("Error loading the ICF file.  A worker is assigned a target, \"{name}\", that isn't available.");
    let short = drive_prefix(name).unwrap_or(name);
    Diagnostic::new(message).help(format!("map it: `--map \"{short}=DIRECTORY\"`, a file or a device"))
}

/// True if the left side of a map matches a target: its whole name, its drive, or its mount point.
pub(super) fn is_meant(from: &str, name: &str) -> bool {
    let drives = drive_prefix(from).zip(drive_prefix(name));
    let is_drive = drives.is_some_and(|(a, b)| a.eq_ignore_ascii_case(b));
    let point = name.rsplit_once(" [").map(|(point, _)| point);
    from.eq_ignore_ascii_case(name) || is_drive || Some(from) == point
}

/// The drive at the start of a Windows name: `C:` of a file system, `10:` of a whole disk.
fn drive_prefix(name: &str) -> Option<&str> {
    let (drive, _) = name.split_once(':')?;
    let is_letter = drive.len() == 1 && drive.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_number = !drive.is_empty() && drive.bytes().all(|digit| digit.is_ascii_digit());
    (is_letter || is_number).then(|| &name[..=drive.len()])
}

fn windows_path(name: &str) -> Option<String> {
    let disk = |number: &str| format!(r"\\.\PhysicalDrive{}", number.trim());
    if let Some(number) = name.strip_prefix("PHYSICALDRIVE:") {
        return Some(disk(number));
    }
    let drive = drive_prefix(name)?;
    Some(match drive.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => disk(drive.trim_end_matches(':')),
        false => format!("{drive}\\"),
    })
}
