//! Numbers the key blocks of a tree's files, for data validation.

use std::ops::Range;

use super::FileTree;

/// The key blocks of a tree: each file's blocks follow the previous file's.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeKeyBlocks {
    tree: FileTree,
    length: u64,
    /// The first block of every [`TreeKeyBlocks::START_INTERVAL`]th file.
    starts: Vec<u64>,
    count: u64,
}

impl TreeKeyBlocks {
    /// Only every 64th start is stored, to save memory; sizes of the files in between are added up.
    const START_INTERVAL: u32 = 64;

    /// The key blocks of `length` bytes of all files.
    pub fn new(tree: &FileTree, length: u64) -> TreeKeyBlocks {
        let mut key_blocks = TreeKeyBlocks {
            tree: tree.clone(),
            length: length.max(1),
            starts: Vec::new(),
            count: 0,
        };
        for file in 0..key_blocks.file_count() {
            if file.is_multiple_of(Self::START_INTERVAL) {
                key_blocks.starts.push(key_blocks.count);
            }
            key_blocks.count = key_blocks.count.saturating_add(key_blocks.count_in(file));
        }
        key_blocks
    }

    /// The files whose blocks are counted.
    pub fn tree(&self) -> &FileTree {
        &self.tree
    }

    /// Bytes of a key block; the last one of a file may be shorter.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The number of files.
    pub fn file_count(&self) -> u32 {
        self.tree.file_count().min(FileTree::MAX_FILES) as u32
    }

    /// The number of key blocks of all files.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of key blocks of a file.
    pub fn count_in(&self, file: u32) -> u64 {
        self.tree.file_size(file).div_ceil(self.length)
    }

    /// The key blocks of a file.
    pub fn file_blocks(&self, file: u32) -> Range<u64> {
        let earlier_files = file / Self::START_INTERVAL * Self::START_INTERVAL..file;
        let start = self.starts[(file / Self::START_INTERVAL) as usize];
        let start = earlier_files.fold(start, |start, other| start + self.count_in(other));
        start..start + self.count_in(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::block_size::{BlockSizes, SizeShare};

    #[test]
    fn each_file_begins_where_the_previous_one_ends() {
        let size_share = |size: u64| SizeShare::new(Bytes(size), 50.0);
        let tree = FileTree {
            files_per_directory: 200,
            sizes: BlockSizes::Split {
                entries: vec![size_share(1), size_share(9000)],
            },
            ..FileTree::default()
        };
        let blocks = TreeKeyBlocks::new(&tree, 4096);
        let mut end = 0;
        for file in 0..200 {
            let range = blocks.file_blocks(file);
            assert_eq!(range.start, end, "file {file}");
            assert_eq!(range.end - range.start, if tree.file_size(file) == 1 { 1 } else { 3 });
            end = range.end;
        }
        assert_eq!(blocks.count(), end);
        assert!((201..600).contains(&end), "both sizes occur");
    }
}
