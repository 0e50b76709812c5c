//! Files that several processes of a test need. One creates a file; the others wait and then use
//! it. It is unknown whether two hosts share a file system. So all processes first examine their
//! targets; then each creates missing files, and if two create the same file, only one succeeds.

use std::sync::atomic::Ordering;

use model::{Bytes, Nanos};

use super::cleanup::Cleanup;
use super::guard::Permissions;
use super::marker::{self, MarkState};
use super::prepare::size_created_on_open;
use super::{FillError, Preparation, PrepareAction, ReadyTargets, TargetError, permit};

/// Description of a target that another process has created.
pub(super) const CREATED_BY_PEER: &str = "written for this run by another process of this test";

/// The other processes of a test, for preparing targets.
pub trait Peers: Sync {
    /// Called when all targets are examined and permitted here. Returns once the others have done
    /// the same; until then no file is created.
    fn await_examined(&self);

    /// Called when another process creates a file that a step needs here. Returns once no file is
    /// being created, or the test must stop.
    fn wait_for_file(&self, step: u32);

    /// Called when the work on a file tree that others use has ended here. Returns once the others
    /// have ended as well, or the test must stop.
    fn await_ended(&self);

    /// Identifies the run, and is the same in all its processes: digits and `-`.
    fn run_id(&self) -> &str;

    /// Defers cleanup until all processes have ended, because others may use the files.
    fn defer_cleanup(&self, cleanup: Cleanup);

    /// Called when the first worker of a step has started here. `at` is its time by the run's
    /// clock.
    fn report_start(&self, step: u32, at: Nanos);
}

impl std::fmt::Debug for dyn Peers + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Peers")
    }
}

impl ReadyTargets {
    pub(super) fn was_created_by_peer(&self, number: usize) -> bool {
        self.created_by_peers
            .iter()
            .any(|(examined, _)| examined.number == number)
    }
}

impl Preparation<'_> {
    /// Examines a target again that another process of the test has created in the meantime. The
    /// target is used unchanged, and its creator removes it. Returns a description of its
    /// preparation.
    pub(super) fn reexamine(
        &self,
        number: usize,
        permissions: &Permissions,
        ready: &mut ReadyTargets,
    ) -> Result<String, TargetError> {
        let name = &self.plan.targets[number].path;
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(FillError::Interrupted(name.clone()).into());
        }
        // The creator's mark is not visible everywhere, and may already be replaced because the
        // file will be written to.
        let mut permissions = permissions.clone();
        permissions.overwrite.push(name.clone());
        let (mut examined, claim) = permit::permit_again(self.plan, number, &permissions)?;
        if examined.kind.is_none() {
            let help = "another process of this test was creating it but did not keep it";
            return Err(TargetError::missing(name, help));
        }
        // A file of another size was created by another program and is not permitted.
        let planned = match self.permitted_target(number).map(|(examined, _)| &examined.action) {
            Some(PrepareAction::Create { .. }) if size_created_on_open(&self.plan.targets[number]).is_some() => 0,
            Some(PrepareAction::Create { size, .. }) => size.0,
            _ => examined.size,
        };
        if examined.size != planned {
            return Err(TargetError::Replaced { path: name.clone() });
        }
        examined.action = PrepareAction::UseUnchanged;
        // The creator renews its mark, and must know that less of the file is random data then.
        if self.spoils_random_data(number)
            && let Some(file) = claim.as_ref().and_then(|claim| claim.file().handle())
        {
            let _ = marker::begin_shared(file, Bytes(0));
        }
        examined.mark = MarkState::Unmarked;
        ready.created_by_peers.push((examined, claim));
        Ok(CREATED_BY_PEER.to_owned())
    }
}
