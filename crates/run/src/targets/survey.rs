//! Surveys the targets of a plan in advance. Opens nothing for writing, and creates nothing.

use std::path::Path;

use engine::probe::{self, System};
use engine::{File, FileKind, OpenOptions, sys};
use model::Bytes;
use model::environment::TargetFacts;
use model::plan::{FileTree, Plan, Target, TargetKind};

use super::prepare::facts_without_file;

/// The facts of each target of a plan, in plan order. A missing target has the facts of its
/// directory, with its devices, and no kind.
pub fn survey(plan: &Plan) -> Vec<TargetFacts> {
    let system = System::live();
    plan.targets
        .iter()
        .map(|target| examine(&system, plan, target))
        .collect()
}

fn examine(system: &System, plan: &Plan, target: &Target) -> TargetFacts {
    let facts_with = |kind: &str, size: Bytes| facts_without_file(target, kind, size);
    match &target.kind {
        TargetKind::Nothing { size } => facts_with("nothing", *size),
        TargetKind::Simulated { device } => facts_with("simulated", device.size),
        TargetKind::Template { .. } | TargetKind::Name { .. } => facts_with("", Bytes(0)),
        TargetKind::Tree { tree } => tree_facts(system, &target.path, tree),
        TargetKind::Path => {
            let opened = super::names::path_to_open(&target.path, plan.target_rules, cfg!(windows));
            path_facts(system, &opened.display().to_string())
        }
    }
}

/// The facts of a tree and of the file system that it is on.
pub(super) fn tree_facts(system: &System, path: &str, tree: &FileTree) -> TargetFacts {
    TargetFacts {
        size: tree.total_size(),
        ..folder_facts(system, Path::new(path), "tree", path)
    }
}

fn path_facts(system: &System, path: &str) -> TargetFacts {
    let name = Path::new(path);
    if name.is_dir() {
        return folder_facts(system, name, "directory", path);
    }
    storage_facts(system, name).unwrap_or_else(|| folder_facts(system, super::parent_directory(name), "", path))
}

/// The facts of a file or block device, which is opened for reading. Other kinds are not opened: a
/// pipe would wait for its other end, and opening a terminal or a tape has side effects.
pub fn storage_facts(system: &System, path: &Path) -> Option<TargetFacts> {
    let kind = sys::facts::read_file_kind(path).ok()?;
    if !matches!(kind, FileKind::Regular | FileKind::BlockDevice) {
        return None;
    }
    let file = File::open(path, OpenOptions::to_inspect(false)).ok()?;
    Some(probe::read_target_facts(system, &file, ""))
}

/// The facts of a directory, for a target to create in it.
fn folder_facts(system: &System, folder: &Path, kind: &str, path: &str) -> TargetFacts {
    TargetFacts {
        path: path.to_owned(),
        kind: kind.into(),
        ..probe::folder(system, folder)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// What the run will create is on the devices of its directory, here of an overlay.
    #[test]
    fn planned_targets_have_the_devices_of_their_directory() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap();
        let Some(engine::Identity::File { device, .. }) = sys::facts::read_identity(&folder) else {
            panic!("no identity");
        };
        let mounts = format!(
            "1 0 {device} / / rw - overlay o rw,lowerdir=/low,upperdir=/up\n\
             2 1 8:1 / /up rw - ext4 /dev/sda1 rw\n"
        );
        let files = [
            ("proc/self/mountinfo", &*mounts),
            ("stat", "file 8:1 5 /up\n"),
            ("sys/class/block/sda1/dev", "8:1\n"),
        ];
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let system = System::from_tree(&folder);
        let folder = folder.to_str().unwrap();
        for facts in [
            path_facts(&system, folder),
            path_facts(&system, &format!("{folder}/planned.dat")),
            folder_facts(&system, Path::new(folder), "tree", folder),
        ] {
            assert_eq!(facts.devices[0].name, "sda1");
            assert_eq!(facts.stored_in, ["ext4"]);
        }
    }
}
