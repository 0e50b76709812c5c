//! Files and devices, with their preparation and cleanup.

use std::path::Path;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::FileTree;
use super::simulated::SimulatedDevice;
use crate::content::Content;
use crate::units::Bytes;

/// Index of a target in [`super::Plan::targets`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TargetId(pub u32);

/// A file or device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Path as the user wrote it.
    pub path: String,
    /// Its expected kind.
    pub kind: TargetKind,
    /// How to create or fill it before the run.
    #[serde(default)]
    pub prepare: Prepare,
    /// What happens to it after the last job that uses it.
    #[serde(default)]
    pub at_end: TargetCleanup,
}

/// The kind of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a plan has few targets, and tests write simulated ones by hand"
)]
pub enum TargetKind {
    /// Detected when it is opened: a regular file or a block device.
    #[default]
    Path,
    /// A placeholder of a profile that was not replaced; it cannot run.
    Template {
        /// Number of the placeholder.
        number: u32,
    },
    /// A name of a file or directory that the engine itself creates, looks up or removes.
    Name {
        /// Bytes that count for an operation on it.
        size: Bytes,
        /// A directory of that name is created before the run if missing.
        directory: bool,
    },
    /// A directory in which the run creates a file tree.
    Tree {
        /// Directories and files of the tree.
        tree: FileTree,
    },
    /// Nothing, for the null engine.
    Nothing {
        /// Its pretended size.
        size: Bytes,
    },
    /// A simulated device.
    Simulated {
        /// Speed, limits and disturbances to simulate.
        device: SimulatedDevice,
    },
}

/// The preparation of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "prepare", rename_all = "snake_case")]
pub enum Prepare {
    /// It must exist; nothing is changed.
    #[default]
    Existing,
    /// Native: a file of this size full of real data, without holes or unwritten extents. Reused if
    /// it is marked as such. In a directory, a temporary file is created. Devices are used
    /// unchanged.
    Filled {
        /// Size of the file; absent: that of an existing file, otherwise 1 GiB or 5 % of the free
        /// space, whichever is smaller.
        #[serde(default)]
        size: Option<Bytes>,
    },
    /// DiskSpd `-c`: an existing file is truncated and written again.
    Recreate {
        /// Size of the file.
        size: Bytes,
        /// What to write to the file.
        content: Content,
    },
    /// fio: replaces or extends a file that is too small.
    LayOut {
        /// Minimum size.
        size: Bytes,
        /// How space is allocated.
        allocate: AllocateMode,
        /// Its contents; absent: nothing is written, the file is only allocated.
        content: Option<Content>,
        /// Bytes per write.
        block: u32,
        /// Keep and extend an existing file instead of replacing it.
        extend: bool,
        /// Flush when done.
        flush: bool,
        /// Lay it out only when the job opens it.
        on_open: bool,
        /// A missing file may be created.
        may_create: bool,
    },
}

impl TargetKind {
    /// True if the path of the target is a name in a file system.
    pub(crate) fn has_name(&self) -> bool {
        matches!(
            self,
            TargetKind::Path | TargetKind::Name { .. } | TargetKind::Tree { .. }
        )
    }
}

impl Prepare {
    /// The size that a file is given.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Prepare::Existing => None,
            Prepare::Filled { size } => *size,
            Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Some(*size),
        }
    }
}

/// How space for a file is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocateMode {
    /// Not at all.
    None,
    /// `fallocate`.
    Native,
    /// `posix_fallocate`.
    Posix,
    /// `fallocate` without changing the size.
    KeepSize,
    /// `ftruncate`.
    Truncate,
}

/// When targets are prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrepareWhen {
    /// All before the first step.
    #[default]
    BeforeAll,
    /// Those of a step before that step, each time (DiskSpd `-c`).
    EachStep,
}

/// The cleanup of a target after its last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetCleanup {
    /// Keeps it if the user named it; removes a temporary file.
    #[default]
    KeepNamed,
    /// It stays.
    Keep,
    /// It is removed.
    Remove,
    /// Also removed after every pass (fio `unlink_each_loop`).
    RemoveEachPass,
}

/// The target or file set of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum StreamTarget {
    /// One target.
    One {
        /// Index of the target in the plan.
        target: TargetId,
    },
    /// A set of files of which each operation picks one (fio `nrfiles`).
    Files {
        /// Indexes of the files in the plan.
        targets: Vec<TargetId>,
        /// Maximum number of open files.
        open_at_once: u32,
        /// How the next file is chosen.
        service: FileService,
        /// Operations before another file is picked.
        operations: u64,
    },
}

impl Default for StreamTarget {
    /// The first target of the plan.
    fn default() -> Self {
        StreamTarget::one(0)
    }
}

impl StreamTarget {
    /// The target with this number.
    pub fn one(number: u32) -> StreamTarget {
        StreamTarget::One {
            target: TargetId(number),
        }
    }

    /// A set of files. The next file is picked after `operations` operations.
    pub fn files(targets: Vec<TargetId>, open_at_once: u32, service: FileService, operations: u64) -> StreamTarget {
        StreamTarget::Files {
            targets,
            open_at_once,
            service,
            operations,
        }
    }

    /// The targets, in order.
    pub fn ids(&self) -> &[TargetId] {
        match self {
            StreamTarget::One { target } => std::slice::from_ref(target),
            StreamTarget::Files { targets, .. } => targets,
        }
    }
}

/// How the next file of a set is chosen (fio `file_service_type`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "service", rename_all = "snake_case")]
pub enum FileService {
    /// In turn.
    RoundRobin,
    /// Any.
    Random,
    /// One file until it is done, then the next.
    Sequential,
    /// By Zipf's law.
    Zipf {
        /// θ.
        theta: f64,
    },
    /// By Pareto's law.
    Pareto {
        /// h.
        h: f64,
    },
    /// By a normal distribution.
    Normal {
        /// Standard deviation in percent.
        deviation_percent: f64,
    },
}

/// The part of a target that a stream uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// First byte.
    #[serde(default)]
    pub base: Extent,
    /// Bytes from there; absent: to the end of the target, which the region never exceeds.
    #[serde(default)]
    pub length: Option<Extent>,
}

/// A position or length: `bytes` plus `percent` of the target's size, rounded to a multiple of
/// `align`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Fixed part.
    #[serde(default)]
    pub bytes: Bytes,
    /// Part of the target, in percent.
    #[serde(default)]
    pub percent: f64,
    /// Rounding; 0 or 1 for none.
    #[serde(default)]
    pub align: u64,
    /// Round up (fio `offset=N%`) instead of down (fio `size=N%`).
    #[serde(default)]
    pub round_up: bool,
}

impl Extent {
    /// A fixed number of bytes.
    pub fn bytes(bytes: u64) -> Extent {
        Extent {
            bytes: Bytes(bytes),
            ..Extent::default()
        }
    }

    /// The number of bytes on a target of the given size.
    pub fn resolve(&self, target: u64) -> u64 {
        let percent_bytes = if self.percent == 0.0 {
            0
        } else {
            (target as f64 * self.percent / 100.0) as u64
        };
        let sum = self.bytes.0.saturating_add(percent_bytes);
        match (self.align, self.round_up) {
            (0 | 1, _) => sum,
            (align, true) => sum.checked_next_multiple_of(align).unwrap_or(u64::MAX),
            (align, false) => sum - sum % align,
        }
    }
}

impl Region {
    /// A part of a target; without a length, everything after the base.
    pub fn new(base: Extent, length: Option<Extent>) -> Region {
        Region { base, length }
    }

    /// Base and length on a target of the given size.
    pub fn resolve(&self, target: u64) -> (u64, u64) {
        let base = self.base.resolve(target).min(target);
        let rest = target - base;
        (
            base,
            self.length.map_or(rest, |length| length.resolve(target).min(rest)),
        )
    }
}

/// Which targets a plan may have, and what consent is needed to change them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetRules {
    /// The consent that a run needs to overwrite a target.
    pub consent: Consent,
    /// `#1` names a physical drive and `C:` a volume, on systems that have them (DiskSpd).
    pub short_device_names: bool,
    /// Character devices may be targets (fio).
    pub character_devices: bool,
    /// The kernel, not the run, refuses misaligned direct operations (fio).
    pub kernel_checks_alignment: bool,
    /// Recreated files are declared valid instead of written, if the system supports it (DiskSpd).
    pub declare_valid: bool,
    /// Files that are laid out must leave enough space free on their file systems (Vdbench).
    pub checks_growth: bool,
}

impl TargetRules {
    /// True for the rules of native plans.
    pub fn is_default(&self) -> bool {
        *self == TargetRules::default()
    }
}

/// The consent that a run needs to overwrite a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// The user names the target again for this purpose.
    #[default]
    Explicit,
    /// The plan names the target, as in the other tools.
    Implied,
}

/// The directory of a file that fathom creates for one command, or another path unchanged.
///
/// The name of such a file has the numbers of its process, so it does not identify a test.
pub fn lasting_path(path: &str) -> &str {
    temporary_file_directory(path).unwrap_or(path)
}

/// The directory of a file that fathom creates for one command; `None` for another path.
pub fn temporary_file_directory(path: &str) -> Option<&str> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    let numbers = name.strip_prefix("fathom-")?.strip_suffix(".dat")?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_temporary = numbers.split('-').count() == 3 && numbers.split('-').all(is_number);
    let directory = path.parent().filter(|_| is_temporary)?.to_str()?;
    Some(if directory.is_empty() { "." } else { directory })
}

#[cfg(test)]
mod tests {
    use super::lasting_path;

    #[test]
    fn only_names_of_one_command_are_replaced_by_their_directory() {
        assert_eq!(lasting_path("/data/fathom-3766-379532527-0.dat"), "/data");
        assert_eq!(lasting_path("/fathom-3766-379532527-0.dat"), "/");
        assert_eq!(lasting_path("fathom-3766-379532527-0.dat"), ".");
        for other in [
            "/data/test.dat",
            "/data/fathom-new-1-2.dat",
            "/data/fathom-1-2.dat",
            "/dev/nvme0n1",
            "",
        ] {
            assert_eq!(lasting_path(other), other);
        }
    }
}
