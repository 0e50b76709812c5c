//! Surveys the targets of a plan in advance. Opens nothing for writing, and creates nothing.

use std::path::Path;

use engine::probe::{self, System};
use engine::{File, FileKind, OpenOptions, sys};
use model::Bytes;
use model::environment::TargetFacts;
use model::plan::{FileTree, Plan, Target, TargetKind};

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
    let facts_with = |kind: &str, size: Bytes| TargetFacts {
        path: target.path.clone(),
        kind: kind.into(),
        size,
        ..TargetFacts::default()
    };
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
    let planned_in = |folder: &Path, kind: &str| TargetFacts {
        devices: probe::devices_under(system, folder).unwrap_or_default(),
        ..folder_facts(system, folder, kind, path)
    };
    if name.is_dir() {
        return planned_in(name, "directory");
    }
    storage_facts(system, name).unwrap_or_else(|| planned_in(super::parent_directory(name), ""))
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
        file_system: probe::file_system(system, folder),
        ..TargetFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that the run will create is on the devices of its directory.
    #[test]
    fn planned_files_have_the_devices_of_their_directory() {
        let system = System::live();
        let folder = env!("CARGO_MANIFEST_DIR");
        let expected = probe::devices_under(&system, Path::new(folder)).unwrap();
        for path in [folder.to_owned(), format!("{folder}/planned.dat")] {
            assert_eq!(path_facts(&system, &path).devices, expected, "{path}");
        }
    }
}
