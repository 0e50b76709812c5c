//! A look at the targets of a plan before anything is done: nothing is opened for writing, nothing is made.

use std::path::Path;

use engine::probe::{self, System};
use engine::{Access, File, OpenHow};
use model::Bytes;
use model::environment::TargetFacts;
use model::plan::{CacheMode, OpenHint, Plan, Target, TargetKind};

/// What is known of each target of a plan, in plan order. One that does not exist yet has the facts of the folder in which it
/// would be made, and no kind.
pub fn survey(plan: &Plan) -> Vec<TargetFacts> {
    let system = System::live();
    plan.targets.iter().map(|target| look(&system, target)).collect()
}

fn look(system: &System, target: &Target) -> TargetFacts {
    let of_kind = |kind: &str, size: Bytes| TargetFacts {
        path: target.path.clone(),
        kind: kind.into(),
        size,
        ..TargetFacts::default()
    };
    match &target.kind {
        TargetKind::Nothing { size } => of_kind("nothing", *size),
        TargetKind::Simulated { device } => of_kind("simulated", device.size),
        TargetKind::Template { .. } | TargetKind::Name { .. } => of_kind("", Bytes(0)),
        TargetKind::Path => path(system, &target.path),
    }
}

fn path(system: &System, path: &str) -> TargetFacts {
    let how = OpenHow {
        access: Access::Read,
        cache: CacheMode::BUFFERED,
        hint: OpenHint::default(),
        exclusive: false,
    };
    let name = Path::new(path);
    if name.is_dir() {
        return around(system, name, "directory", path);
    }
    // Pipes and the like would make us wait for somebody at the other end.
    let storage = std::fs::metadata(name).is_ok_and(|meta| meta.is_file() || is_device(&meta));
    let opened = storage.then(|| File::open(name, how).ok()).flatten();
    match opened {
        Some(file) => probe::target(system, &file, ""),
        None => around(system, parent(name), "", path),
    }
}

#[cfg(unix)]
fn is_device(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &std::fs::Metadata) -> bool {
    false
}

/// The folder that a file would be made in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The facts of a folder, for what would be made in it.
fn around(system: &System, folder: &Path, kind: &str, path: &str) -> TargetFacts {
    TargetFacts {
        path: path.to_owned(),
        kind: kind.into(),
        file_system: probe::file_system(system, folder),
        ..TargetFacts::default()
    }
}
