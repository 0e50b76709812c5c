//! Trees of directories and files, and the operations on them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Bijection;
use crate::block_size::BlockSizes;
use crate::direction::Direction;
use crate::draws::split_mix;
use crate::mix::{Mix, MixRule};
use crate::plan::TargetId;
use crate::units::Bytes;

/// A tree of directories and files. Each directory has `width` subdirectories, down to the last
/// level. Files are in the directories of the last level, or of all levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileTree {
    /// Levels of directories below the root; 0: all files are in the root.
    pub depth: u32,
    /// Directories in each directory above the last level.
    pub width: u32,
    /// Files in each directory that has files.
    #[serde(rename = "files")]
    pub files_per_directory: u32,
    /// Directories of all levels have files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fills_all_levels: bool,
    /// Limits the tree to its first files; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_max: Option<u32>,
    /// `mkdir` and `rmdir` change the directories of the tree, instead of extra directories next to
    /// its files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_directories: bool,
    /// Sizes of the files. With the same seed, a file has the same size in every run.
    pub sizes: BlockSizes,
    /// Share of the files that exist before the test begins, in percent.
    pub prefill: u8,
    /// Seed of the sizes.
    #[serde(default)]
    pub seed: u64,
    /// Sizes are drawn by whole percents, as Vdbench does. The generator is linear congruential,
    /// with 48 bits, from the seed 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draws_percents: bool,
    /// All hosts of a fleet use this one tree; absent: each has its own. The number distinguishes
    /// it from the other shared trees of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
    /// The tree outlives the run; absent: the run creates and removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptTree>,
}

/// The treatment of a kept tree at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptTree {
    /// Its files and directories are removed.
    Emptied,
    /// Files that are too short are removed.
    Completed,
    /// It is used unchanged.
    Existing,
    /// It is removed, with its root.
    Removed,
}

/// An operation on a file of a tree. It is packed into the word that holds the position of other
/// operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperation {
    /// The kind of operation.
    pub kind: FileOperationKind,
    /// Number of the file.
    pub file: u32,
    /// Number of the block that it begins at.
    pub block: u32,
    /// The file currently has its alternative name; `rename` switches between the two.
    pub renamed: bool,
}

impl FileOperation {
    /// Block numbers are below this.
    pub const MAX_BLOCKS: u64 = (1 << FileOperation::BLOCK_BITS) - 1;
    const FILE_BITS: u32 = 28;
    const BLOCK_BITS: u32 = 30;
    const KIND_SHIFT: u32 = FileOperation::FILE_BITS + FileOperation::BLOCK_BITS;

    /// The word that requests carry as their position.
    pub fn pack(self) -> u64 {
        u64::from(self.renamed) << 63
            | (self.kind as u64) << FileOperation::KIND_SHIFT
            | u64::from(self.block) << FileOperation::FILE_BITS
            | u64::from(self.file)
    }

    /// The operation packed by [`FileOperation::pack`].
    pub fn unpack(word: u64) -> FileOperation {
        let bits = |shift: u32, count: u32| (word >> shift & ((1 << count) - 1)) as u32;
        let kind = bits(FileOperation::KIND_SHIFT, 5) as usize;
        FileOperation {
            kind: FileOperationKind::ALL[kind.min(FileOperationKind::ALL.len() - 1)].1,
            file: bits(0, FileOperation::FILE_BITS),
            block: bits(FileOperation::FILE_BITS, FileOperation::BLOCK_BITS),
            renamed: word >> 63 != 0,
        }
    }
}

impl Default for FileTree {
    /// One file in the root.
    fn default() -> FileTree {
        FileTree {
            depth: 0,
            width: 1,
            files_per_directory: 1,
            fills_all_levels: false,
            files_max: None,
            changes_directories: false,
            sizes: BlockSizes::Fixed { size: Bytes(0) },
            prefill: 0,
            seed: 0,
            draws_percents: false,
            shared: None,
            kept: None,
        }
    }
}

impl FileTree {
    /// The maximum number of files.
    pub const MAX_FILES: u64 = 1 << FileOperation::FILE_BITS;

    /// Directories of a level, counted from the root, which is level 0.
    pub fn directories_at(&self, level: u32) -> u64 {
        u64::from(self.width).saturating_pow(level)
    }

    /// The number of directories that hold files.
    pub fn file_directory_count(&self) -> u64 {
        match self.fills_all_levels && self.depth > 0 {
            true => self.directory_count(),
            false => self.directories_at(self.depth),
        }
    }

    /// The number of directories below the root.
    pub fn directory_count(&self) -> u64 {
        let levels = (1..=self.depth).map(|level| self.directories_at(level));
        levels.fold(0, u64::saturating_add)
    }

    /// The number of files, including those that do not exist yet when the test begins.
    pub fn file_count(&self) -> u64 {
        let files = self
            .file_directory_count()
            .saturating_mul(u64::from(self.files_per_directory));
        self.files_max.map_or(files, |max| files.min(u64::from(max)))
    }

    /// The number of files that exist before the test begins.
    pub fn prefilled_count(&self) -> u64 {
        self.file_count() * u64::from(self.prefill) / 100
    }

    /// True if a file exists before the test begins. These files are spread evenly over the tree.
    pub fn is_prefilled(&self, file: u32) -> bool {
        let before = |number: u64| number * u64::from(self.prefill) / 100;
        before(u64::from(file) + 1) > before(u64::from(file))
    }

    /// The size of a file.
    pub fn file_size(&self, file: u32) -> u64 {
        match self.draws_percents {
            true => pick_size(&self.sizes, percent_word(file)),
            false => pick_size(&self.sizes, split_mix(split_mix(self.seed, 1) ^ u64::from(file), 1)),
        }
    }

    /// Bytes of all files, including those that do not exist yet when the test begins.
    pub fn total_size(&self) -> Bytes {
        Bytes(self.sum_of_files(|size| size))
    }

    /// Sums a figure of all files that depends on their sizes.
    fn sum_of_files(&self, figure: impl Fn(u64) -> u64) -> u64 {
        let count = self.file_count();
        match &self.sizes {
            BlockSizes::Fixed { size } => count.saturating_mul(figure(size.0)),
            _ => {
                let figures = (0..count.min(FileTree::MAX_FILES) as u32).map(|file| figure(self.file_size(file)));
                figures.fold(0, u64::saturating_add)
            }
        }
    }

    /// Bytes that the tree takes in a file system with blocks of this size: files are rounded up,
    /// and each directory takes a block.
    pub fn occupied_size(&self, block: u64) -> Bytes {
        let files = self.sum_of_files(|size| size.div_ceil(block.max(1)).saturating_mul(block.max(1)));
        Bytes(files.saturating_add(self.directory_count().saturating_mul(block)))
    }

    /// The number of the directory of a file; `None` for the root.
    pub fn file_directory(&self, file: u32) -> Option<u64> {
        let place = u64::from(file / self.files_per_directory.max(1));
        (self.depth > 0).then(|| self.directory_count() - self.file_directory_count() + place)
    }

    /// The level of a directory, and its number on that level.
    fn level_and_number(&self, directory: u64) -> (u32, u64) {
        let (mut level, mut number) = (1, directory);
        while number >= self.directories_at(level) {
            number -= self.directories_at(level);
            level += 1;
        }
        (level, number)
    }

    /// The number of the directory that a directory is in; `None` for the root.
    pub fn parent_directory(&self, directory: u64) -> Option<u64> {
        let (level, number) = self.level_and_number(directory);
        let above: u64 = (1..level - 1).map(|level| self.directories_at(level)).sum();
        (level > 1).then(|| above + number / u64::from(self.width))
    }

    /// Writes the path of the directory of a file, below the root.
    pub fn write_directory_path(&self, file: u32, path: &mut String) {
        match self.file_directory(file) {
            Some(directory) => self.write_numbered_directory_path(directory, path),
            None => ".".clone_into(path),
        }
    }

    /// Writes the path of a directory, by its number. Directories are numbered level by level.
    pub fn write_numbered_directory_path(&self, directory: u64, path: &mut String) {
        path.clear();
        let (level, number) = self.level_and_number(directory);
        for above in (0..level).rev() {
            push(path, 'd', number / self.directories_at(above));
        }
    }

    /// Counts files, in the order of `file`, until they have this many bytes in total.
    fn count_up_to(&self, bytes: u64, file: impl Fn(u32) -> u32) -> u32 {
        let files = self.file_count().min(FileTree::MAX_FILES) as u32;
        if let BlockSizes::Fixed { size } = &self.sizes {
            return bytes.div_ceil(size.0.max(1)).clamp(1, u64::from(files.max(1))) as u32;
        }
        let mut sum = 0u64;
        let fits = |number: &u32| {
            let is_below = sum < bytes;
            sum = sum.saturating_add(self.file_size(file(*number)));
            is_below
        };
        ((0..files).take_while(fits).count() as u32).max(1)
    }

    /// Limits the tree to its first files that have this many bytes in total.
    #[must_use]
    pub fn limited_to(self, bytes: u64) -> FileTree {
        FileTree {
            files_max: Some(self.count_up_to(bytes, |number| number)),
            ..self
        }
    }

    /// Writes the path of a file below the root.
    pub fn write_file_path(&self, file: u32, renamed: bool, path: &mut String) {
        self.write_directory_path(file, path);
        push(path, if renamed { 'r' } else { 'f' }, u64::from(file));
    }

    /// The path of the operation's target, below the root.
    pub fn operation_path(&self, operation: FileOperation) -> String {
        let mut path = String::new();
        self.write_operation_path(operation, &mut path);
        path
    }

    /// Writes the path of the operation's target, below the root.
    pub fn write_operation_path(&self, operation: FileOperation, path: &mut String) {
        match operation.kind {
            kind if kind.is_on_directory() && self.changes_directories => {
                self.write_numbered_directory_path(u64::from(operation.file), path);
            }
            kind if kind.is_on_directory() => self.write_extra_directory_path(operation.file, path),
            FileOperationKind::Readdir => self.write_directory_path(operation.file, path),
            _ => self.write_file_path(operation.file, operation.renamed, path),
        }
    }

    /// Writes the path of the extra directory that `mkdir` creates next to a file, below the root.
    pub fn write_extra_directory_path(&self, file: u32, path: &mut String) {
        self.write_directory_path(file, path);
        push(path, 'e', u64::from(file));
    }
}

/// True if `name` is one that a tree gives to a file or, with `directory`, to a directory.
pub fn is_tree_name(name: &str, directory: bool) -> bool {
    let prefixes: &[char] = if directory { &['d', 'e'] } else { &['f', 'r'] };
    let digits = name.strip_prefix(prefixes).unwrap_or_default();
    !digits.is_empty() && digits.len() <= 10 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn push(path: &mut String, prefix: char, number: u64) {
    use std::fmt::Write;
    if !path.is_empty() {
        path.push('/');
    }
    // Writing to a string does not fail.
    let _ = write!(path, "{prefix}{number}");
}

/// The size for a random word.
pub fn pick_size(sizes: &BlockSizes, word: u64) -> u64 {
    match sizes {
        BlockSizes::Fixed { size } => size.0,
        BlockSizes::Range { low, high, unaligned } => {
            let step = if *unaligned { 1 } else { low.0.max(1) };
            let steps = (high.0 - low.0.min(high.0)) / step + 1;
            low.0 + word % steps * step
        }
        BlockSizes::Split { entries } => {
            let total: f64 = entries.iter().map(|entry| entry.percent).sum();
            let mut remaining = word as f64 / 2f64.powi(64) * total;
            let drawn = entries.iter().find(|entry| {
                remaining -= entry.percent;
                remaining < 0.0
            });
            drawn.or(entries.last()).map_or(0, |entry| entry.size.0)
        }
    }
}

/// Draws the percent of a file as Vdbench does, scaled to a word. Uses Java's documented generator
/// with the seed 0: each draw is the remainder of its upper 31 bits.
fn percent_word(file: u32) -> u64 {
    const BITS: u32 = 48;
    const MULTIPLIER: u64 = 0x5_deec_e66d;
    const INCREMENT: u64 = 11;
    let cut = |number: u64| number & ((1 << BITS) - 1);
    let step = |state: u64, (factor, term): (u64, u64)| cut(state.wrapping_mul(factor).wrapping_add(term));
    // Any number of steps is one multiplication and one addition.
    let (mut state, mut steps, mut count) = (MULTIPLIER, (MULTIPLIER, INCREMENT), u64::from(file) + 1);
    while count > 0 {
        if count & 1 == 1 {
            state = step(state, steps);
        }
        steps = (cut(steps.0.wrapping_mul(steps.0)), step(steps.1, steps));
        count >>= 1;
    }
    let percent = (state >> (BITS - 31)) % 100;
    // The middle of the percent, so that rounding cannot cross its edges.
    (u64::MAX / 200) * (2 * percent + 1)
}

/// An operation on a file. Each operation opens what it needs and closes it afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOperationKind {
    /// Creates a file and writes it to its full size.
    Create,
    /// Opens and closes a file.
    Open,
    /// Reads a whole file.
    Read,
    /// Reads a block of a file.
    ReadBlock,
    /// Overwrites a whole file.
    Write,
    /// Overwrites a block of a file.
    WriteBlock,
    /// Writes a block at the end of a file.
    Append,
    /// Flushes a file.
    Fsync,
    /// Looks up a file.
    Stat,
    /// Reads the names in the directory of a file.
    Readdir,
    /// Renames a file to its other name in the same directory.
    Rename,
    /// Removes a file.
    Delete,
    /// Makes a directory.
    Mkdir,
    /// Removes a directory that `mkdir` has made.
    Rmdir,
    /// Closes the file of a session.
    Close,
    /// Checks whether a file may be read.
    Access,
    /// Sets the times of a file to the present.
    SetTimes,
    /// Copies a file to its place in another tree, replacing an existing one.
    Copy,
    /// Moves a file to its place in another tree, replacing an existing one.
    Move,
}

/// Existence of the file or directory before and after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It exists before and after.
    Unchanged,
    /// It exists only after.
    Created,
    /// It exists only before.
    Removed,
}

impl FileOperationKind {
    /// Every kind with its name, in the order of lists.
    pub const ALL: [(&'static str, FileOperationKind); 19] = [
        ("create", FileOperationKind::Create),
        ("open", FileOperationKind::Open),
        ("read", FileOperationKind::Read),
        ("read-block", FileOperationKind::ReadBlock),
        ("write", FileOperationKind::Write),
        ("write-block", FileOperationKind::WriteBlock),
        ("append", FileOperationKind::Append),
        ("fsync", FileOperationKind::Fsync),
        ("stat", FileOperationKind::Stat),
        ("readdir", FileOperationKind::Readdir),
        ("rename", FileOperationKind::Rename),
        ("delete", FileOperationKind::Delete),
        ("mkdir", FileOperationKind::Mkdir),
        ("rmdir", FileOperationKind::Rmdir),
        ("close", FileOperationKind::Close),
        ("access", FileOperationKind::Access),
        ("set-times", FileOperationKind::SetTimes),
        ("copy", FileOperationKind::Copy),
        ("move", FileOperationKind::Move),
    ];

    /// Name of the operation in job files and reports.
    pub fn name(self) -> &'static str {
        FileOperationKind::ALL[self as usize].0
    }

    /// The direction under which it is counted; operations that change nothing count as reads.
    pub fn direction(self) -> Direction {
        match self {
            FileOperationKind::Open
            | FileOperationKind::Read
            | FileOperationKind::ReadBlock
            | FileOperationKind::Stat
            | FileOperationKind::Readdir
            | FileOperationKind::Access
            | FileOperationKind::Close => Direction::Read,
            _ => Direction::Write,
        }
    }

    /// Existence of the file or directory before and after.
    pub fn existence(self) -> Existence {
        match self {
            FileOperationKind::Create | FileOperationKind::Mkdir => Existence::Created,
            FileOperationKind::Delete | FileOperationKind::Rmdir | FileOperationKind::Move => Existence::Removed,
            _ => Existence::Unchanged,
        }
    }

    /// True if it writes a file of another tree.
    pub fn needs_destination(self) -> bool {
        matches!(self, FileOperationKind::Copy | FileOperationKind::Move)
    }

    /// True if it works on a directory instead of a file.
    pub fn is_on_directory(self) -> bool {
        matches!(self, FileOperationKind::Mkdir | FileOperationKind::Rmdir)
    }
}

/// The operations of a stream on a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileWork {
    /// Groups of consecutive operations on the same file, each with a share.
    pub groups: Vec<FileGroup>,
    /// The groups follow one another instead of being drawn by their shares.
    pub in_sequence: bool,
    /// Each worker visits its own files in ascending order instead of at random.
    pub in_order: bool,
    /// Workers may use the same files, and with `in_order` each visits all of them. Only for
    /// operations that do not change names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_files: bool,
    /// Prefers the first files: file numbers are exponentially distributed, and their mean is the
    /// file count divided by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub midpoint: Option<f64>,
    /// The tree that files are copied or moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<TargetId>,
    /// With `in_order`: the work ends after one visit to each file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Only these files are used; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
    /// Only this host's part of these files; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FilePart>,
    /// Bytes of a block; in sessions the alignment of positions.
    pub block: Bytes,
    /// Files stay open for several operations. The only group then consists of the operation that
    /// opens them, optionally after a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<FileSession>,
}

/// A random subset of a tree's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// Number of files in the subset.
    pub files: u32,
    /// The seed of the selection.
    pub seed: u64,
}

impl WorkingSet {
    /// Selects enough files to have this many bytes in total.
    pub fn with_size(tree: &FileTree, bytes: u64, seed: u64) -> WorkingSet {
        let order = Bijection::new(tree.file_count(), seed);
        let files = tree.count_up_to(bytes, |number| order.image(u64::from(number)) as u32);
        WorkingSet { files, seed }
    }
}

/// The files of one of several hosts that use the same tree: every `count`-th, from `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePart {
    /// The first file.
    pub index: u32,
    /// The number of hosts.
    pub count: u32,
}

impl FilePart {
    /// The whole tree.
    pub const ALL: FilePart = FilePart { index: 0, count: 1 };

    /// How many of this many files belong to the part.
    pub fn file_count(self, files: u32) -> u32 {
        files.saturating_sub(self.index).div_ceil(self.count.max(1))
    }

    /// The number in the tree of a file of the part.
    pub fn file(self, number: u32) -> u32 {
        number * self.count + self.index
    }
}

/// The operations on a file from opening to closing it. Opening, each transfer and closing are
/// separate operations. Schedules and shares count transfers, or openings if there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileSession {
    /// Its transfers; absent: the file is only opened and closed.
    pub transfers: Option<SessionTransfers>,
}

/// The transfers of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTransfers {
    /// Their sizes.
    pub sizes: BlockSizes,
    /// Positions are random instead of sequential.
    pub random: bool,
    /// Share of writes in percent.
    pub write_percent: u8,
    /// The number of transfers of a session; absent: `percent` decides.
    pub count: Option<u64>,
    /// Bytes of a session as a percentage of the file.
    pub percent: f64,
}

/// Operations on the same file, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileGroup {
    /// Operations of the group, in order.
    #[serde(rename = "steps")]
    pub operations: Vec<FileOperationKind>,
    /// Its share among the groups; ignored in a sequence.
    pub share: u32,
}

impl FileWork {
    /// True if pacing and totals ignore an operation: the opens and closes around transfers.
    pub fn is_unscheduled(&self, kind: FileOperationKind) -> bool {
        let is_transfer = matches!(kind, FileOperationKind::ReadBlock | FileOperationKind::WriteBlock);
        let has_transfers = self.session.as_ref().is_some_and(|session| session.transfers.is_some());
        kind == FileOperationKind::Close || has_transfers && !is_transfer
    }

    /// The distinct operations, in the order of [`FileOperationKind`].
    pub fn kinds(&self) -> Vec<FileOperationKind> {
        let mut kinds: Vec<FileOperationKind> = self.groups.iter().flat_map(|group| group.operations.clone()).collect();
        if let Some(session) = &self.session {
            let writes = session.transfers.as_ref().map(|transfers| transfers.write_percent);
            kinds.extend(
                writes
                    .filter(|writes| *writes < 100)
                    .map(|_| FileOperationKind::ReadBlock),
            );
            kinds.extend(
                writes
                    .filter(|writes| *writes > 0)
                    .map(|_| FileOperationKind::WriteBlock),
            );
            kinds.push(FileOperationKind::Close);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// True if an operation creates, removes or renames files or directories.
    pub fn changes_names(&self) -> bool {
        let mut kinds = self.groups.iter().flat_map(|group| &group.operations);
        kinds.any(|kind| kind.existence() != Existence::Unchanged || *kind == FileOperationKind::Rename)
    }

    /// The shares of reads and writes.
    pub fn mix(&self) -> Mix {
        let transfers = self.session.as_ref().and_then(|session| session.transfers.as_ref());
        if let Some(SessionTransfers { write_percent, .. }) = transfers {
            return match write_percent {
                0 => Mix::READS,
                100 => Mix::WRITES,
                share => Mix::drawn(f64::from(*share), MixRule::Independent),
            };
        }
        let mut counts = [0u64; 2];
        for group in &self.groups {
            let share = if self.in_sequence { 1 } else { u64::from(group.share) };
            for kind in &group.operations {
                counts[usize::from(kind.direction() == Direction::Write)] += share;
            }
        }
        match counts {
            [_, 0] => Mix::READS,
            [0, _] => Mix::WRITES,
            [reads, writes] => Mix::drawn(100.0 * writes as f64 / (reads + writes) as f64, MixRule::Independent),
        }
    }
}

impl std::fmt::Display for FileWork {
    /// Writes the syntax of native jobs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, group) in self.groups.iter().enumerate() {
            let names: Vec<&str> = group.operations.iter().map(|kind| kind.name()).collect();
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{}", names.join("+"))?;
            if !self.in_sequence && self.groups.len() > 1 {
                write!(f, "/{}", group.share)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
