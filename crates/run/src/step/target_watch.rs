//! Detects target files that are removed, replaced or truncated while a step uses them, and devices
//! that become smaller. I/O on an open file still succeeds then, but no longer on the data under
//! test.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::probe::{System, accessible_bytes};
use engine::{DeviceNumber, Identity, sys};
use model::event::Event;
use model::finding::{Finding, Severity, TARGET_LOST};
use model::plan::{Effect, Plan, Target, TargetCleanup};

use super::StepContext;
use crate::worker::{ReadyKind, ReadyTarget};

/// File systems on local devices whose calls ask other hosts or programs.
const SLOW_FILE_SYSTEMS: [&str; 3] = ["fuse", "gfs2", "ocfs2"];
/// Driver number of loop devices, whose file may be on a server (linux/major.h).
const LOOP_MAJOR: u32 = 7;
/// The number of targets that are checked at each poll. Other local ones are checked only at the
/// end.
const MAX_POLLED: usize = 16;

/// The shortest time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The target files and devices of a step.
pub(super) struct TargetWatch {
    targets: Vec<WatchedTarget>,
    polled: Instant,
}

struct WatchedTarget {
    path: PathBuf,
    identity: Identity,
    /// Bytes that can be accessed at the start.
    size: u64,
    /// The kernel knows the size without asking a server, which may hang.
    is_local: bool,
}

impl TargetWatch {
    pub(super) fn new(context: &StepContext<'_>, step: usize, targets: &[ReadyTarget]) -> TargetWatch {
        let mut stays_whole = whole_targets(&context.plan, step).into_iter();
        let mut watched = |number: usize| {
            let stays_whole = stays_whole.next().unwrap_or(false);
            let (target, facts) = (&targets[number], &context.facts[number]);
            let (ReadyKind::Path(path), Some(identity)) = (&target.what, target.identity) else {
                return None;
            };
            let is_local_file = || {
                facts.file_system.as_ref().is_some_and(|file_system| {
                    !file_system.is_remote() && !SLOW_FILE_SYSTEMS.iter().any(|kind| file_system.kind.starts_with(kind))
                })
            };
            let (size, is_local) = match identity {
                Identity::File { .. } => (facts.size.0, is_local_file()),
                Identity::BlockDevice(number) => (read_device_bytes(number)?, number.major != LOOP_MAJOR),
                Identity::CharacterDevice(_) => return None,
            };
            stays_whole.then(|| WatchedTarget {
                path: path.clone(),
                identity,
                size,
                is_local,
            })
        };
        TargetWatch {
            targets: (0..targets.len()).filter_map(&mut watched).collect(),
            polled: Instant::now(),
        }
    }

    /// Reports the targets that are lost now, each once.
    pub(super) fn poll(&mut self, watcher: &mut dyn FnMut(Event)) {
        // Windows would have to open each file.
        if cfg!(not(windows)) && self.polled.elapsed() >= POLL_INTERVAL {
            self.polled = Instant::now();
            let mut checked = 0..MAX_POLLED;
            self.report_lost(|target| checked.next().is_some() && target.is_local, watcher);
        }
    }

    /// Reports lost targets at the end of the step: all local ones, and a few on servers.
    /// `responds` is false if an operation never returned; then a call on a server might not return
    /// either.
    pub(super) fn finish(mut self, responds: bool, watcher: &mut dyn FnMut(Event)) {
        let mut remote = 0..MAX_POLLED;
        self.report_lost(|target| target.is_local || responds && remote.next().is_some(), watcher);
    }

    fn report_lost(&mut self, mut is_checked: impl FnMut(&WatchedTarget) -> bool, watcher: &mut dyn FnMut(Event)) {
        self.targets.retain(|target| {
            let how = is_checked(target).then(|| target.loss()).flatten();
            if let Some(how) = &how {
                let what = format!("{} {how} during the test", target.path.display());
                watcher(Event::Notice {
                    finding: lost_target_finding(what),
                });
            }
            how.is_none()
        });
    }
}

fn read_device_bytes(number: DeviceNumber) -> Option<u64> {
    accessible_bytes(&System::live(), number)
}

/// The finding about a target that another program removed, replaced or truncated.
pub fn lost_target_finding(what: String) -> Finding {
    let finding = Finding::new(TARGET_LOST, Severity::Error, what);
    let finding = finding.why("from then on, operations did not reach the target under test");
    finding.help("repeat the test while no other program changes the target")
}

impl WatchedTarget {
    /// How the target was lost; `None` if it is unchanged, or its state is unknown.
    fn loss(&self) -> Option<String> {
        if let Identity::BlockDevice(number) = self.identity {
            let size = read_device_bytes(number).filter(|size| *size < self.size)?;
            return Some(format!("became smaller ({size} of {} bytes)", self.size));
        }
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

/// For each target, true if a step uses it, and no step until then removes or truncates it.
fn whole_targets(plan: &Plan, step: usize) -> Vec<bool> {
    let mut is_used = vec![false; plan.targets.len()];
    let is_kept = |target: &Target| target.at_end != TargetCleanup::RemoveEachPass;
    let mut is_whole: Vec<bool> = plan.targets.iter().map(is_kept).collect();
    for (number, planned) in plan.steps[..=step].iter().enumerate() {
        for worker in planned.jobs.iter().flat_map(|job| &job.workers) {
            let effect = worker.engine.kind.info().effect;
            let changes = matches!(effect, Effect::Truncate | Effect::Remove);
            for id in worker.streams.iter().flat_map(|stream| stream.target.ids()) {
                is_used[id.0 as usize] |= number == step;
                is_whole[id.0 as usize] &= !changes;
            }
        }
    }
    is_used
        .iter()
        .zip(is_whole)
        .map(|(used, whole)| *used && whole)
        .collect()
}

#[cfg(test)]
mod tests {
    use model::plan::{EngineKind, Stop, Stream, StreamTarget, TargetId};
    use model::testing;

    use super::*;

    /// A file that an earlier step truncated is shorter than at its preparation.
    #[test]
    fn targets_that_a_step_truncates_are_not_watched_afterwards() {
        let step = |engine: EngineKind, target: u32| {
            let target = StreamTarget::One {
                target: TargetId(target),
            };
            let stream = Stream {
                target,
                ..Stream::default()
            };
            let mut worker = testing::worker(vec![stream]);
            worker.engine.kind = engine;
            testing::step(vec![testing::job("j", Stop::default(), vec![worker])])
        };
        let steps = vec![
            step(EngineKind::Psync, 0),
            step(EngineKind::Truncate, 0),
            step(EngineKind::Psync, 0),
            step(EngineKind::Psync, 1),
        ];
        let plan = testing::plan("p", vec![testing::file("a"), testing::file("b")], steps);
        let whole: Vec<_> = (0..4).map(|step| whole_targets(&plan, step)).collect();
        assert_eq!(whole, [[true, false], [false, false], [false, false], [false, true]]);
    }
}
