//! The key blocks of a tree's files. A worker loads the keys of a file when it opens the file, and
//! saves them before other workers may claim it. So only one worker has the keys of a file, and
//! memory contains only the keys of files in use.

use model::plan::{FileOperation, FileOperationKind, KeyBlocks as KeyBlocksPlan, TreeKeyBlocks};

use super::{EndedOperation, KeyBlocks};
use crate::worker::io_loop::IoLoop;
use crate::worker::setup::Assignment;

/// The key blocks of a worker's tree, and the file that it uses.
#[derive(Debug)]
pub(super) struct TreeKeys {
    blocks: TreeKeyBlocks,
    /// Size in bytes of the blocks by which operations are numbered.
    unit: u64,
    /// Minimum length of a key block. A shorter one at the end of a file has no room for a header,
    /// so it is not compared.
    min_length: u64,
    /// The file whose keys are loaded, and its first key block.
    current: Option<(u32, u64)>,
}

impl TreeKeys {
    pub(super) fn from_plan(assignment: &Assignment<'_>, plan: &KeyBlocksPlan, min_length: u64) -> Option<TreeKeys> {
        let work = assignment.worker.streams.first()?.files.as_ref()?;
        let (tree, _) = assignment.tree()?;
        Some(TreeKeys {
            blocks: TreeKeyBlocks::new(&tree.shape, u64::from(plan.length)),
            unit: work.block.0,
            min_length,
            current: None,
        })
    }

    /// Returns the position of the current file in the map.
    pub(super) fn file_start(&self) -> u64 {
        self.current.map_or(0, |(_, first)| first * self.blocks.length())
    }

    /// Returns the position of a read or write in the map.
    pub(super) fn address(&self, word: u64) -> Option<u64> {
        let operation = FileOperation::unpack(word);
        let is_current = self.current.is_some_and(|(file, _)| file == operation.file);
        (is_current && is_transfer(operation.kind)).then(|| self.file_start() + u64::from(operation.block) * self.unit)
    }

    /// Returns the offset of a read of the blocks that an operation writes.
    pub(super) fn read_offset(&self, word: u64) -> u64 {
        let operation = FileOperation {
            kind: FileOperationKind::ReadBlock,
            ..FileOperation::unpack(word)
        };
        operation.pack()
    }
}

fn is_transfer(kind: FileOperationKind) -> bool {
    matches!(kind, FileOperationKind::ReadBlock | FileOperationKind::WriteBlock)
}

impl KeyBlocks {
    /// Prepares an operation on a whole file of a tree. Returns false for a read or write of
    /// blocks.
    pub(super) fn prepare_file(&mut self, io: &mut IoLoop, word: u64) -> bool {
        let Some(tree) = &mut self.tree else { return false };
        let operation = FileOperation::unpack(word);
        if is_transfer(operation.kind) {
            return false;
        }
        let (forgets, loads) = match operation.kind {
            // If the process is killed before the operation, no keys of a missing file must remain.
            FileOperationKind::Create | FileOperationKind::Delete => (true, true),
            FileOperationKind::Open => (false, true),
            _ => (false, false),
        };
        let mut result = Ok(());
        if loads && tree.current.map(|(file, _)| file) != Some(operation.file) {
            let mut keys = tree.blocks.file_blocks(operation.file);
            let (size, length) = (tree.blocks.tree().file_size(operation.file), tree.blocks.length());
            let end = keys.start * length + size;
            tree.current = Some((operation.file, keys.start));
            if !size.is_multiple_of(length) && size % length < tree.min_length {
                keys.end -= 1;
            }
            result = self.map.load(keys, end);
        }
        if forgets && result.is_ok() {
            result = self.map.forget();
        }
        if let Err(error) = result {
            self.report_map_error(io, &error);
        }
        true
    }

    /// Saves the keys of the current file, before other workers may claim it.
    pub(super) fn unload_file(&mut self, io: &mut IoLoop) {
        let Some(tree) = &mut self.tree else { return };
        tree.current = None;
        if let Err(error) = self.map.save() {
            self.report_map_error(io, &error);
        }
    }

    /// Fills the buffer with zeros after the end of a file that is too short. Returns false if the
    /// read failed.
    pub(super) fn zero_missing_end(&mut self, io: &mut IoLoop, ended: &EndedOperation) -> bool {
        let Some(read) = usize::try_from(ended.result).ok().filter(|_| self.tree.is_some()) else {
            return false;
        };
        let length = ended.record.length as usize;
        io.engine.buffer(ended.slot)[read.min(length)..length].fill(0);
        true
    }
}
