//! Operations on trees of files: counts match the files on the disk, and only created files are
//! removed.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use model::plan::{FileGroup, FileOperationKind, FileTree, FileWork};

use crate::prelude::*;
use crate::support::create_folder;

fn tree(prefill: u8) -> FileTree {
    FileTree {
        depth: 2,
        width: 3,
        files_per_directory: 10,
        sizes: BlockSizes::Fixed { size: Bytes(5000) },
        prefill,
        seed: 1,
        ..FileTree::default()
    }
}

fn group(operations: &[FileOperationKind]) -> FileGroup {
    FileGroup {
        operations: operations.to_vec(),
        share: 1,
    }
}

/// Returns a plan of a job on a tree. Without `operations`, it runs until no operation is possible.
fn plan_on_tree(
    folder: &Path,
    tree: FileTree,
    groups: &[&[FileOperationKind]],
    workers: usize,
    operations: Option<u64>,
) -> Plan {
    let mut tested_stream = stream();
    let work = FileWork {
        groups: groups.iter().map(|operations| group(operations)).collect(),
        block: Bytes::kib(4),
        ..FileWork::default()
    };
    tested_stream.mix = work.mix();
    tested_stream.pattern.sizes = PerDirection::all(BlockSizes::Fixed { size: Bytes::kib(8) });
    tested_stream.files = Some(work);
    let stop = Stop {
        operations,
        // Without a time limit, a job with a number of operations also completes on a slow disk.
        after_ns: operations.is_none().then_some(Nanos::secs(20)),
        ..Stop::default()
    };
    let workers = (0..workers).map(|_| worker(vec![tested_stream.clone()])).collect();
    let mut plan = plan_on(folder, EngineKind::Files, stop, workers);
    plan.targets[0].kind = TargetKind::Tree { tree };
    plan
}

/// Returns the files below a directory with their sizes, without the marker of a tree.
fn list_files(at: &Path) -> Vec<(PathBuf, u64)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(at).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(list_files(&entry.path())),
            false => all.push((entry.path(), entry.metadata().unwrap().len())),
        }
    }
    all.retain(|(path, _)| !path.ends_with("fathom-0-0.dat"));
    all
}

/// Returns the root of the tree in a directory.
fn find_root(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .find(|path| path.extension().is_some_and(|end| end == "tree"))
        .unwrap()
}

/// Executes a plan. Calls `inspect` after each job, before anything is removed.
fn run_and_inspect(plan: Plan, mut inspect: impl FnMut()) -> (Results, Vec<String>) {
    let mut notices = Vec::new();
    let results = run_watched(plan, &Permissions::default(), &mut |event| match event {
        Event::JobEnded { .. } => inspect(),
        Event::Notice { finding } => notices.push(finding.what),
        _ => {}
    });
    (results.expect("the plan can run"), notices)
}

/// Returns the operations and bytes of each kind of operation.
fn count_by_kind(results: &Results) -> BTreeMap<&'static str, (u64, u64)> {
    let operations = results.steps[0].jobs[0].file_operations();
    let count = |operation: &model::results::FileOperationResults| {
        let results = &operation.results;
        assert_eq!(results.total.n(), results.operations, "each has a latency");
        (operation.kind.name(), (results.operations, results.bytes.0))
    };
    operations.iter().map(count).collect()
}

#[test]
fn every_created_file_is_on_the_disk() {
    let folder = create_folder();
    let mut seen = Vec::new();
    let plan = plan_on_tree(folder.path(), tree(0), &[&[FileOperationKind::Create]], 3, None);
    let (results, _) = run_and_inspect(plan, || seen = list_files(folder.path()));
    assert_eq!(count_by_kind(&results)["create"], (90, 90 * 5000));
    assert_eq!(seen.len(), 90);
    assert_eq!(seen.iter().map(|file| file.1).sum::<u64>(), 90 * 5000);
    let job = &results.steps[0].jobs[0];
    assert_eq!(job.ended, Some(EndReason::Done), "there was nothing left to create");
    assert_eq!((job.total().operations, job.total().bytes), (90, Bytes(90 * 5000)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the tree is removed");
}

/// The other groups take the operations of a group without a file, in proportion to their shares.
#[test]
fn a_group_without_a_file_does_not_change_the_proportion_of_the_others() {
    use FileOperationKind::{Append, Create, Stat};
    let folder = create_folder();
    let groups: &[&[FileOperationKind]] = &[&[Create], &[Append], &[Stat]];
    let mut plan = plan_on_tree(folder.path(), tree(100), groups, 1, Some(3000));
    let work = plan.steps[0].jobs[0].workers[0].streams[0].files.as_mut().unwrap();
    for (group, share) in work.groups.iter_mut().zip([50, 1, 49]) {
        group.share = share;
    }
    let (results, _) = run_and_inspect(plan, || {});
    let counts = count_by_kind(&results);
    let appended = counts["append"].0;
    assert_eq!(appended + counts["stat"].0, 3000);
    assert!((20..150).contains(&appended), "2 % of 3000 are 60, not {appended}");
}

#[test]
fn remaining_files_match_the_counts_of_creates_and_deletes() {
    use FileOperationKind::{
        Append, Create, Delete, Fsync, Mkdir, Open, Read, ReadBlock, Readdir, Rename, Rmdir, Stat,
    };
    let folder = create_folder();
    let groups: &[&[FileOperationKind]] = &[
        &[Create, Fsync],
        &[Delete],
        &[Rename],
        &[Open, Read, ReadBlock],
        &[Append],
        &[Stat],
        &[Readdir],
        &[Mkdir],
        &[Rmdir],
        &[FileOperationKind::Write, FileOperationKind::WriteBlock],
    ];
    let (mut files, mut directories) = (Vec::new(), 0);
    let plan = plan_on_tree(folder.path(), tree(50), groups, 4, Some(1000));
    let (results, _) = run_and_inspect(plan, || {
        files = list_files(folder.path());
        let mut find = Command::new("find");
        let listed = find.arg(folder.path()).args(["-type", "d", "-name", "e*"]).output();
        directories = listed.unwrap().stdout.split(|byte| *byte == b'\n').count() as u64 - 1;
    });
    let counts = count_by_kind(&results);
    assert_eq!(counts.values().map(|count| count.0).sum::<u64>(), 4000);
    assert_eq!(files.len() as u64, 45 + counts["create"].0 - counts["delete"].0);
    assert_eq!(directories, counts["mkdir"].0 - counts["rmdir"].0);
    assert_eq!(counts["append"].1, counts["append"].0 * 4096);
    assert_eq!(counts["write"].1, counts["write"].0 * 5000);
    assert_eq!(counts["stat"].1 + counts["rename"].1 + counts["fsync"].1, 0);
    assert!(counts["fsync"].0 <= counts["create"].0 && counts["create"].0 - counts["fsync"].0 <= 4);
    assert_eq!(results.findings, []);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the tree is removed");
}

#[test]
fn steps_share_a_tree_and_its_states() {
    let folder = create_folder();
    let mut plan = plan_on_tree(folder.path(), tree(0), &[&[FileOperationKind::Create]], 2, None);
    for kind in [FileOperationKind::Stat, FileOperationKind::Delete] {
        let operations = (kind == FileOperationKind::Stat).then_some(45);
        let mut later = plan_on_tree(folder.path(), tree(0), &[&[kind]], 2, operations);
        for worker in &mut later.steps[0].jobs[0].workers {
            worker.streams[0].files.as_mut().unwrap().in_order = true;
        }
        plan.steps.push(later.steps.remove(0));
    }
    let mut left = Vec::new();
    let (results, _) = run_and_inspect(plan, || left.push(list_files(folder.path()).len()));
    assert_eq!(left, [90, 90, 0]);
    let operations: Vec<u64> = results.steps.iter().map(|step| step.jobs[0].operations()).collect();
    assert_eq!(operations, [90, 90, 90]);
}

#[test]
fn only_created_files_are_removed() {
    let (folder, elsewhere) = (create_folder(), create_folder());
    let precious = elsewhere.path().join("f1");
    fs::write(&precious, "precious").unwrap();
    let mut roots = Vec::new();
    let plan = plan_on_tree(folder.path(), tree(100), &[&[FileOperationKind::Stat]], 1, Some(10));
    let (results, _) = run_and_inspect(plan, || {
        let root = find_root(folder.path());
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(root.join("d0")).unwrap().mode() & 0o777, 0o700);
        fs::write(root.join("d0/notes.txt"), "mine").unwrap();
        symlink(&precious, root.join("d1/f99")).unwrap();
        symlink(elsewhere.path(), root.join("d9")).unwrap();
        roots.push(root);
    });
    let root = &roots[0];
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(fs::read_to_string(root.join("d0/notes.txt")).unwrap(), "mine");
    assert!(root.join("d1/f99").is_symlink() && root.join("d9").is_symlink());
    assert!(!root.join("d2").exists() && list_files(&root.join("d0")).len() == 1);
    let what: Vec<&str> = results.findings.iter().map(|finding| &*finding.what).collect();
    assert!(what.iter().any(|what| what.contains("3 of its entries")), "{what:?}");
    // The next run reports the tree again, and removes none of its foreign entries.
    let again = plan_on_tree(folder.path(), tree(100), &[&[FileOperationKind::Stat]], 1, Some(10));
    let (_, notices) = run_and_inspect(again, || {});
    assert!(
        notices.iter().any(|what| what.contains("3 of its entries")),
        "{notices:?}"
    );
    assert_eq!(list_files(root).len(), 3);
    // Without foreign entries, the next run removes the tree.
    for name in ["d0/notes.txt", "d1/f99", "d9"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    let last = plan_on_tree(folder.path(), tree(100), &[&[FileOperationKind::Stat]], 1, Some(10));
    let (_, notices) = run_and_inspect(last, || {});
    assert!(notices.iter().any(|what| what.starts_with("removed ")), "{notices:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_with_the_name_of_a_tree_but_without_its_mark_stays() {
    let folder = create_folder();
    let foreign = folder.path().join("fathom-1-2-3.tree");
    fs::create_dir_all(foreign.join("d0")).unwrap();
    fs::write(foreign.join("d0/f0"), "precious").unwrap();
    fs::write(foreign.join("fathom-0-0.dat"), "").unwrap();
    let plan = plan_on_tree(folder.path(), tree(100), &[&[FileOperationKind::Stat]], 1, Some(10));
    run_and_inspect(plan, || {});
    assert_eq!(fs::read_to_string(foreign.join("d0/f0")).unwrap(), "precious");
}

#[test]
fn a_failed_operation_names_its_file() {
    check_failed_operation(FileOperationKind::Read, "read failed: No such file");
    check_failed_operation(FileOperationKind::Append, "append failed: No such file");
}

fn check_failed_operation(kind: FileOperationKind, expected: &str) {
    let folder = create_folder();
    let plan = plan_on_tree(folder.path(), tree(100), &[&[kind]], 1, Some(100_000));
    let results = run_watched(plan, &Permissions::default(), &mut |event| {
        if matches!(event, Event::Ready { .. }) {
            fs::remove_dir_all(find_root(folder.path()).join("d0")).unwrap();
        }
    });
    let results = results.expect("the run itself does not fail");
    let failure = &results.steps[0].jobs[0].workers[0].failure;
    let failure = failure.as_ref().expect("files are gone");
    assert!(failure.what.starts_with(expected), "{failure:?}");
    assert!(failure.location.contains(".tree/d0/d"), "{failure:?}");
}

#[test]
fn operations_that_change_names_cannot_share_files() {
    let folder = create_folder();
    for (kind, is_refused) in [
        (FileOperationKind::Stat, false),
        (FileOperationKind::Delete, true),
        (FileOperationKind::Rename, true),
    ] {
        let mut plan = plan_on_tree(folder.path(), tree(100), &[&[kind]], 2, Some(20));
        for worker in &mut plan.steps[0].jobs[0].workers {
            worker.streams[0].files.as_mut().unwrap().shares_files = true;
        }
        assert_eq!(plan.check().is_err(), is_refused, "{kind:?}");
    }
}
