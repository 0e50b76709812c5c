use std::collections::BTreeSet;

use super::*;
use crate::block_size::SizeShare;

fn tree(depth: u32, width: u32, files: u32, prefill: u8) -> FileTree {
    FileTree {
        depth,
        width,
        files_per_directory: files,
        sizes: BlockSizes::Fixed { size: Bytes(10) },
        prefill,
        seed: 1,
        ..FileTree::default()
    }
}

#[test]
fn every_file_has_its_own_path_in_a_directory_of_the_last_level() {
    let tree = tree(2, 3, 4, 100);
    assert_eq!(
        (tree.directory_count(), tree.file_directory_count(), tree.file_count()),
        (12, 9, 36)
    );
    let mut path = String::new();
    let mut seen = BTreeSet::new();
    for file in 0..36 {
        tree.write_file_path(file, false, &mut path);
        assert_eq!(path.matches('/').count(), 2, "{path}");
        assert!(seen.insert(path.clone()));
    }
    tree.write_file_path(35, true, &mut path);
    assert_eq!(path, "d2/d8/r35");
    tree.write_extra_directory_path(0, &mut path);
    assert_eq!(path, "d0/d0/e0");
    let flat = FileTree { depth: 0, ..tree };
    flat.write_file_path(3, false, &mut path);
    assert_eq!((flat.directory_count(), flat.file_count(), &*path), (0, 4, "./f3"));
}

#[test]
fn files_are_in_all_directories_or_end_at_a_total_size() {
    let tree = FileTree {
        fills_all_levels: true,
        ..tree(2, 2, 3, 100)
    };
    assert_eq!((tree.directory_count(), tree.file_count()), (6, 18));
    let paths: Vec<String> = (0..18)
        .map(|file| {
            let mut path = String::new();
            tree.write_file_path(file, false, &mut path);
            path
        })
        .collect();
    assert_eq!(
        (&*paths[0], &*paths[5], &*paths[6], &*paths[17]),
        ("d0/f0", "d1/f5", "d0/d0/f6", "d1/d3/f17")
    );
    let parents: Vec<Option<u64>> = (0..6).map(|directory| tree.parent_directory(directory)).collect();
    assert_eq!(parents, [None, None, Some(0), Some(0), Some(1), Some(1)]);
    // Files have 10 bytes.
    for (bytes, files) in [(0, 1), (10, 1), (45, 5), (1000, 18)] {
        assert_eq!(tree.clone().limited_to(bytes).file_count(), files, "{bytes}");
        let set = WorkingSet::with_size(&tree, bytes, 3);
        assert_eq!(u64::from(set.files), files, "{bytes}");
    }
    let mixed = FileTree {
        sizes: BlockSizes::range(Bytes(4), Bytes(16)),
        ..tree
    };
    let limited = mixed.limited_to(60);
    let last = limited.file_size(limited.file_count() as u32 - 1);
    assert!((60..60 + last).contains(&limited.total_size().0), "{limited:?}");
}

/// The first draws of `Random(0).nextInt(100)`: 60, 48, 29, 47, 15, 53, 91, 61, 19, 54. Of the
/// first 20, 8 are below 50, so a tree that Vdbench recorded has 896 KiB.
#[test]
fn sizes_by_percent_are_those_of_vdbench() {
    let share = |kib, percent| SizeShare::new(Bytes::kib(kib), percent);
    let tree = FileTree {
        sizes: BlockSizes::Split {
            entries: vec![share(16, 50.0), share(64, 50.0)],
        },
        draws_percents: true,
        ..tree(2, 2, 5, 0)
    };
    let large: Vec<u32> = (0..10).filter(|file| tree.file_size(*file) == 65_536).collect();
    assert_eq!(large, [0, 5, 6, 7, 9]);
    assert_eq!((tree.file_count(), tree.total_size()), (20, Bytes::kib(896)));
}

#[test]
fn a_prefill_has_the_given_number_of_files_evenly_spread() {
    for prefill in [0, 1, 33, 80, 100] {
        let tree = tree(1, 10, 70, prefill);
        let existing = |files: std::ops::Range<u32>| files.filter(|file| tree.is_prefilled(*file)).count() as u64;
        assert_eq!(existing(0..700), tree.prefilled_count());
        assert_eq!(tree.prefilled_count(), 7 * u64::from(prefill));
        assert!(existing(0..350).abs_diff(existing(350..700)) <= 1);
    }
}

#[test]
fn sizes_follow_their_distribution() {
    let mut tree = tree(0, 1, 10_000, 100);
    assert_eq!(tree.total_size(), Bytes(100_000));
    tree.sizes = BlockSizes::range(Bytes::kib(4), Bytes::kib(16));
    let sizes: BTreeSet<u64> = (0..10_000).map(|file| tree.file_size(file)).collect();
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [4096, 8192, 12288, 16384]);
    let mean = tree.total_size().0 as f64 / 10_000.0;
    assert!((mean - 10240.0).abs() < 100.0, "{mean}");
}

#[test]
fn a_tree_takes_whole_blocks_of_the_file_system() {
    let mut tree = tree(1, 10, 1000, 100);
    tree.sizes = BlockSizes::Fixed { size: Bytes(1) };
    assert_eq!(tree.total_size(), Bytes(10_000));
    assert_eq!(tree.occupied_size(4096), Bytes((10_000 + 10) * 4096));
    tree.sizes = BlockSizes::Fixed { size: Bytes(4097) };
    assert_eq!(tree.occupied_size(4096), Bytes((20_000 + 10) * 4096));
    tree.sizes = BlockSizes::range(Bytes(512), Bytes(1024));
    assert_eq!(tree.occupied_size(4096), Bytes((10_000 + 10) * 4096));
}

#[test]
fn operations_survive_a_round_trip_and_names_are_recognised() {
    for (number, (_, kind)) in FileOperationKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
        let operation = FileOperation {
            kind,
            file: FileTree::MAX_FILES as u32 - 1,
            block: 0x3fff_fffe,
            renamed: number % 2 == 0,
        };
        assert_eq!(FileOperation::unpack(operation.pack()), operation);
    }
    for (name, file, directory) in [
        ("f12", true, false),
        ("r0", true, false),
        ("d7", false, true),
        ("e7", false, true),
        ("f", false, false),
        ("notes", false, false),
        ("f1.txt", false, false),
    ] {
        assert_eq!((is_tree_name(name, false), is_tree_name(name, true)), (file, directory));
    }
}
