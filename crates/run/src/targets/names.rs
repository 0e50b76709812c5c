//! Targets that engines create, look up or remove by name.

use std::io::ErrorKind;
use std::path::PathBuf;

use engine::{FileKind, sys};
use model::plan::{Plan, Target, TargetId, TargetRules};

use super::examine::identify;
use super::prepare::schedule_removal;
use super::{ExaminedTarget, MarkState, Preparation, PrepareAction, ReadyTargets, TargetError, cannot_examine};

/// The path by which a target is opened. Windows has two short names of devices: `#n` for a
/// physical drive, and a letter with a colon for a volume instead of its current directory.
pub(super) fn path_to_open(path: &str, rules: TargetRules, windows: bool) -> PathBuf {
    if windows && rules.short_device_names {
        let drive = path.strip_prefix('#').filter(|number| is_number(number));
        if let Some(number) = drive {
            return PathBuf::from(format!(r"\\.\PhysicalDrive{number}"));
        }
        if matches!(path.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic()) {
            return PathBuf::from(format!(r"\\.\{path}"));
        }
    }
    PathBuf::from(path)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Examines a name, which need not exist.
pub(super) fn examine_name(
    plan: &Plan,
    number: usize,
    target: &Target,
    directory: bool,
) -> Result<ExaminedTarget, TargetError> {
    let path = PathBuf::from(&target.path);
    let (kind, size) = match sys::facts::read_file_kind(&path) {
        Ok(FileKind::Directory) => (Some(FileKind::Directory), 0),
        Ok(_) => {
            let seen = identify(&path, &target.path, |_| MarkState::Unmarked)?;
            (Some(seen.kind), seen.size)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (None, 0),
        Err(error) => return Err(cannot_examine(&target.path)(error)),
    };
    let action = match directory && kind.is_none() {
        true => PrepareAction::CreateDirectory,
        false => PrepareAction::UseUnchanged,
    };
    Ok(ExaminedTarget::new((plan, number), path, kind, size, action))
}

/// Refuses devices as names for metadata engines.
pub(super) fn check_for_engines(
    plan: &Plan,
    target: &Target,
    examined: ExaminedTarget,
) -> Result<ExaminedTarget, TargetError> {
    let id = TargetId(examined.number as u32);
    let device = matches!(examined.kind, Some(FileKind::BlockDevice | FileKind::CharacterDevice));
    let mut streams = plan.streams_on(id);
    match device && streams.any(|(worker, _)| worker.engine.kind.is_metadata_engine()) {
        false => Ok(examined),
        true => Err(TargetError::unsuitable(
            &target.path,
            "a device",
            "this engine creates, looks up and removes files and directories; name one of these",
        )),
    }
}

impl Preparation<'_> {
    /// Creates the directory that an engine looks up or removes, if required.
    pub(super) fn make_name_ready(&self, number: usize, ready: &mut ReadyTargets) -> Result<PathBuf, TargetError> {
        let Some((examined, _)) = self.permitted_target(number) else {
            return Ok(PathBuf::new());
        };
        if examined.action == PrepareAction::CreateDirectory
            && let Err(source) = sys::names::create_directory(&examined.path)
            // Two jobs may need the same directory.
            && source.kind() != ErrorKind::AlreadyExists
        {
            return Err(cannot_examine(examined.path.display())(source));
        }
        schedule_removal(&self.plan.targets[number], examined, None, &mut ready.cleanup);
        Ok(examined.path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_device_names_are_expanded_on_windows() {
        let short = TargetRules {
            short_device_names: true,
            ..TargetRules::default()
        };
        let check = |path: &str, expected: &str| {
            assert_eq!(path_to_open(path, short, true), PathBuf::from(expected));
            for (rules, windows) in [(short, false), (TargetRules::default(), true)] {
                assert_eq!(path_to_open(path, rules, windows), PathBuf::from(path), "{path}");
            }
        };
        check("#1", r"\\.\PhysicalDrive1");
        check("f:", r"\\.\f:");
        check("#1x", "#1x");
        check("#", "#");
        check("f:x", "f:x");
        check(r"F:\", r"F:\");
        check("1:", "1:");
        check(r"\\server\share\f", r"\\server\share\f");
    }
}
