//! Detects target files that are removed, replaced or truncated while a step uses them. I/O on an
//! open file still succeeds then, but no longer on the data under test.

use std::io::ErrorKind;
use std::path::PathBuf;

use engine::{Identity, sys};
use model::event::Event;
use model::finding::{Finding, Severity};
use model::plan::{Effect, Plan, TargetCleanup, TargetId};

use super::StepContext;
use crate::worker::{ReadyKind, ReadyTarget};

/// Rule of the finding.
const TARGET_LOST: &str = "TARGET-LOST";
/// The number of files that are checked at each poll. The others are checked only at the end.
const MAX_POLLED: usize = 16;

/// The target files of a step.
pub(super) struct TargetWatch {
    files: Vec<WatchedFile>,
}

struct WatchedFile {
    path: PathBuf,
    identity: Identity,
    size: u64,
    /// The kernel knows the size without asking a server, which may hang.
    is_local: bool,
}

impl TargetWatch {
    pub(super) fn new(context: &StepContext<'_>, step: usize, targets: &[ReadyTarget]) -> TargetWatch {
        let watched = |number: usize| {
            let (target, facts) = (&targets[number], &context.facts[number]);
            let (ReadyKind::Path(path), Some(identity @ Identity::File { .. })) = (&target.what, target.identity)
            else {
                return None;
            };
            let file_system = facts.file_system.as_ref();
            stays_whole(&context.plan, step, number).then(|| WatchedFile {
                path: path.clone(),
                identity,
                size: facts.size.0,
                is_local: file_system.is_some_and(|it| !it.is_remote() && !it.kind.starts_with("fuse")),
            })
        };
        TargetWatch {
            files: (0..targets.len()).filter_map(watched).collect(),
        }
    }

    /// Reports the files that are lost now, each once.
    pub(super) fn poll(&mut self, watcher: &mut dyn FnMut(Event)) {
        // Windows would have to open each file.
        if cfg!(not(windows)) {
            self.report_lost(MAX_POLLED, |file| file.is_local, watcher);
        }
    }

    /// Reports lost files at the end of the step. `responds` is false if an operation never
    /// returned; then a call on a server might not return either.
    pub(super) fn finish(mut self, responds: bool, watcher: &mut dyn FnMut(Event)) {
        self.report_lost(usize::MAX, |file| responds || file.is_local, watcher);
    }

    fn report_lost(&mut self, count: usize, is_checked: impl Fn(&WatchedFile) -> bool, watcher: &mut dyn FnMut(Event)) {
        let mut number = 0;
        self.files.retain(|file| {
            number += 1;
            let how = (number <= count && is_checked(file)).then(|| file.loss()).flatten();
            if let Some(how) = &how {
                let what = format!("{} {how} during the test", file.path.display());
                let finding = Finding::new(TARGET_LOST, Severity::Error, what);
                let finding = finding.why("from then on, operations did not reach the file under test");
                let finding = finding.help("repeat the test while no other program changes the file");
                watcher(Event::Notice { finding });
            }
            how.is_none()
        });
    }
}

impl WatchedFile {
    /// How the file was lost; `None` if it is unchanged, or its state is unknown.
    fn loss(&self) -> Option<String> {
        let meta = match std::fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(error) => return (error.kind() == ErrorKind::NotFound).then(|| "was removed or renamed".into()),
        };
        let identity = sys::facts::read_identity(&self.path);
        match () {
            () if identity.is_some_and(|identity| identity != self.identity) => {
                Some("was replaced by another file".into())
            }
            () if meta.len() < self.size => Some(format!("became shorter ({} of {} bytes)", meta.len(), self.size)),
            () => None,
        }
    }
}

/// True if a step uses a target and neither removes nor truncates it.
fn stays_whole(plan: &Plan, step: usize, number: usize) -> bool {
    let id = TargetId(number as u32);
    let workers = plan.steps[step].jobs.iter().flat_map(|job| &job.workers);
    let mut engines = workers
        .filter(|worker| worker.streams.iter().any(|stream| stream.target.ids().contains(&id)))
        .map(|worker| worker.engine.kind.info().effect)
        .peekable();
    let is_used = engines.peek().is_some();
    is_used
        && plan.targets[number].at_end != TargetCleanup::RemoveEachPass
        && !engines.any(|effect| matches!(effect, Effect::Truncate | Effect::Remove))
}
