//! Targets that all runs of a study share. They are prepared once, and removed at the end if
//! temporary.

use std::path::PathBuf;

use model::Bytes;
use model::event::Event;
use model::plan::{Plan, Prepare, TargetCleanup};

use super::{PrepareAction, TargetError, TempFile, examine};

/// The files that a study has created in directories. Dropping it removes them.
#[derive(Debug, Default)]
pub struct SharedFiles {
    files: Vec<CreatedFile>,
}

#[derive(Debug)]
struct CreatedFile {
    /// The directory as the user named it, and the target's number in its plan. Two targets in one
    /// directory are two files.
    folder: String,
    number: usize,
    path: PathBuf,
    size: Bytes,
    keep: bool,
    held: Option<TempFile>,
}

impl SharedFiles {
    /// Replaces each directory target by a file in it. The first run creates the file, and the
    /// others use it.
    ///
    /// # Errors
    /// Every target that cannot be used.
    pub fn assign_paths(&mut self, plan: &mut Plan) -> Result<(), Vec<TargetError>> {
        self.assign_known(plan);
        for examined in examine(plan)? {
            let PrepareAction::Create { size, temporary: true } = examined.action else {
                continue;
            };
            let target = &plan.targets[examined.number];
            self.files.push(CreatedFile {
                folder: target.path.clone(),
                number: examined.number,
                path: examined.path,
                size,
                keep: target.at_end == TargetCleanup::Keep,
                held: None,
            });
        }
        self.assign_known(plan);
        Ok(())
    }

    fn assign_known(&self, plan: &mut Plan) {
        for (number, target) in plan.targets.iter_mut().enumerate() {
            let existing = self
                .files
                .iter()
                .find(|made| made.number == number && made.folder == target.path);
            let Some(made) = existing else { continue };
            if let Prepare::Filled { size } = &mut target.prepare {
                *size = Some(size.map_or(made.size, |asked| asked.max(made.size)));
                target.path = made.path.display().to_string();
            }
        }
    }

    /// Watches a run, and takes over each created file.
    pub fn adopt_created(&mut self, event: &Event) {
        let Event::Prepared { target, .. } = event else { return };
        let made = self
            .files
            .iter_mut()
            .find(|made| made.path.display().to_string() == *target);
        if let Some(made) = made.filter(|made| made.held.is_none() && !made.keep) {
            // A file that cannot be taken over stays; its name and size were reported at its
            // creation.
            made.held = TempFile::adopt(&made.path).ok();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use model::Nanos;
    use model::plan::{Target, TargetKind};

    use super::*;

    fn plan(folder: &str, size: Option<Bytes>) -> Plan {
        Plan {
            targets: vec![Target {
                path: folder.into(),
                kind: TargetKind::Path,
                prepare: Prepare::Filled { size },
                at_end: TargetCleanup::KeepNamed,
            }],
            ..Plan::default()
        }
    }

    #[test]
    fn all_runs_use_the_file_that_the_first_run_created() {
        let folder = std::env::temp_dir().join(format!("fathom-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let name = folder.display().to_string();
        let mut files = SharedFiles::default();
        let mut first = plan(&name, Some(Bytes::mib(1)));
        files.assign_paths(&mut first).unwrap();
        let file = PathBuf::from(&first.targets[0].path);
        assert_eq!(file.parent(), Some(&*folder));
        std::fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        files.adopt_created(&Event::Prepared {
            target: file.display().to_string(),
            how: String::new(),
            took_ns: Nanos(0),
        });
        let mut second = plan(&name, None);
        files.assign_paths(&mut second).unwrap();
        assert_eq!(second.targets, first.targets);
        drop(files);
        assert!(!file.exists());
        std::fs::remove_dir(&folder).unwrap();
    }
}
