//! Targets that engines make, look up or remove by their names.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use engine::{FileKind, sys};
use model::plan::{Plan, Target, TargetId, Worker};

use super::{Action, Examined, Preparation, ReadyTargets, TargetError, directions, identify, note_end};

/// Looks at a name. Nothing need be there.
pub(super) fn examine_name(
    plan: &Plan,
    number: usize,
    target: &Target,
    directory: bool,
) -> Result<Examined, TargetError> {
    let path = PathBuf::from(&target.path);
    let look = |source| TargetError::Look {
        path: target.path.clone(),
        source,
    };
    let (kind, size) = match fs::metadata(&path) {
        Ok(meta) if meta.is_dir() => (Some(FileKind::Directory), 0),
        Ok(_) => identify(&path, &target.path).map(|(kind, size)| (Some(kind), size))?,
        Err(error) if error.kind() == ErrorKind::NotFound => (None, 0),
        Err(error) => return Err(look(error)),
    };
    Ok(Examined {
        number,
        path,
        kind,
        size,
        action: match directory && kind.is_none() {
            true => Action::CreateDirectory,
            false => Action::UseAsItIs,
        },
        directions: directions(plan, TargetId(number as u32)),
    })
}

/// Names of devices are not for making and removing.
pub(super) fn fits_engines(plan: &Plan, target: &Target, one: Examined) -> Result<Examined, TargetError> {
    let id = TargetId(one.number as u32);
    let device = matches!(one.kind, Some(FileKind::BlockDevice | FileKind::CharacterDevice));
    let mut workers = plan.jobs().flat_map(|(_, job)| &job.workers);
    let by_name = |worker: &Worker| {
        let mut streams = worker.streams.iter();
        worker.engine.kind.works_on_names() && streams.any(|stream| stream.target.ids().contains(&id))
    };
    match device && workers.any(by_name) {
        false => Ok(one),
        true => Err(TargetError::Unfit {
            path: target.path.clone(),
            what: "a device",
            help: "this engine makes, looks up and removes files and directories; name one".into(),
        }),
    }
}

impl Preparation<'_> {
    /// Makes the directory that an engine is to look up or remove, where that is wanted.
    pub(super) fn make_name_ready(&self, number: usize, ready: &mut ReadyTargets) -> Result<PathBuf, TargetError> {
        let Some((one, _)) = self.one(number) else {
            return Ok(PathBuf::new());
        };
        if one.action == Action::CreateDirectory
            && let Err(source) = sys::names::create_directory(&one.path)
            // Two jobs may want the same.
            && source.kind() != ErrorKind::AlreadyExists
        {
            return Err(TargetError::Look {
                path: one.path.display().to_string(),
                source,
            });
        }
        note_end(&self.plan.targets[number], one, ready);
        Ok(one.path.clone())
    }
}
