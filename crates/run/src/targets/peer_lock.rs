//! Files that several processes of one test want: one of them makes it, the others wait and then
//! use it.
//!
//! Two hosts may share one file system or have one each. So all look first; then each makes what it
//! found missing, and where two make the same file the system lets only one of them have it.

use std::sync::atomic::Ordering;

use model::{Bytes, Nanos};

use super::cleanup::Cleanup;
use super::guard::Permissions;
use super::marker::{self, MarkState};
use super::prepare::made_on_open;
use super::{Action, FillError, Preparation, ReadyTargets, TargetError, permit};

/// How a target was made ready, in words.
pub(super) const MADE_ELSEWHERE: &str = "written for this run by another process of this test";

/// The other processes that execute parts of the same test, as preparation sees them.
pub trait Peers: Sync {
    /// All targets were looked at here and may be used. Returns once the others are as far: until
    /// then no file is made.
    fn await_examined(&self);

    /// Another one is making a file that a step needs here too. Returns once none is being made, or
    /// the test is to stop.
    fn wait_for_file(&self, step: u32);

    /// What goes at the end: others may use it until they have ended.
    fn defer_cleanup(&self, cleanup: Cleanup);

    /// The first worker of a step has really begun here, at this time of the run's clock.
    fn began(&self, step: u32, at: Nanos);
}

impl std::fmt::Debug for dyn Peers + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Peers")
    }
}

impl ReadyTargets {
    pub(super) fn was_made_elsewhere(&self, number: usize) -> bool {
        self.elsewhere.iter().any(|(one, _)| one.number == number)
    }
}

impl Preparation<'_> {
    /// Examines again a target that another process of the test has made since all examined it. It
    /// is used as it is, and the process that made it removes it. Returns how it was made ready, in
    /// words.
    pub(super) fn look_again(
        &self,
        number: usize,
        permissions: &Permissions,
        ready: &mut ReadyTargets,
    ) -> Result<String, TargetError> {
        let name = &self.plan.targets[number].path;
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(FillError::Interrupted(name.clone()).into());
        }
        // The mark of the one that has made it is not seen everywhere, and may be gone: it is about
        // to be written to.
        let mut permissions = permissions.clone();
        permissions.overwrite.push(name.clone());
        let (mut one, claim) = permit::again(self.plan, number, &permissions)?;
        if one.kind.is_none() {
            return Err(TargetError::Missing {
                path: name.clone(),
                help: "another process of this test was making it and has not kept it".into(),
            });
        }
        // Anything of another size was made by another program, and what was said for ours does not
        // hold for it.
        let planned = self.permitted.iter().find(|(one, _)| one.number == number);
        let planned = match planned.map(|(one, _)| &one.action) {
            Some(Action::Create { .. }) if made_on_open(&self.plan.targets[number]).is_some() => 0,
            Some(Action::Create { size, .. }) => size.0,
            _ => one.size,
        };
        if one.size != planned {
            return Err(TargetError::Replaced { path: name.clone() });
        }
        one.action = Action::UseAsItIs;
        // The process that made it renews its mark, and must know that less of it is random data
        // then.
        if self.spoils(number)
            && let Some(file) = claim.as_ref().and_then(|claim| claim.file().handle())
        {
            let _ = marker::begin_beside_others(file, Bytes(0));
        }
        one.mark = MarkState::Unmarked;
        ready.elsewhere.push((one, claim));
        Ok(MADE_ELSEWHERE.to_owned())
    }
}
