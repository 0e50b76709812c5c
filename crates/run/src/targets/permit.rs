//! Asks the guard about every target, and keeps the descriptor on which it decided.

use std::cell::Cell;

use engine::FileKind;
use engine::probe::System;
use model::plan::{Consent, Plan, TargetId};

use super::examine::{check_growth, examine_one, inspect_mark};
use super::guard::{
    CallerKind, Claim, ClaimError, Decision, ExistingTarget, Guard, Intent, Note, Permissions, Reason, Refusal,
};
use super::marker::MarkState;
use super::write_lock::{Sharing, WriteLock};
use super::{ExaminedTarget, PrepareAction, TargetError, cannot_examine, examine};

/// The guard's decision about a target.
#[derive(Clone, Debug)]
pub struct TargetDecision {
    /// The examined target, with its preparation.
    pub examined: ExaminedTarget,
    /// All intended actions of the plan.
    pub intent: Intent,
    /// Whether the guard permits these actions, and why.
    pub decision: Decision,
}

/// An objection to a plan before it starts.
#[derive(Debug)]
pub enum Objection {
    /// Targets that cannot be used.
    Unusable(Vec<TargetError>),
    /// Targets that the guard refuses.
    Refused(Vec<Refusal>),
}

/// Permitted targets, each held open so that the decision stays valid.
#[derive(Debug)]
pub(crate) struct HeldTargets {
    pub(crate) targets: Vec<(ExaminedTarget, Option<Claim>)>,
    /// Notes with their paths.
    pub(crate) notes: Vec<(String, Note)>,
    _locks: Vec<WriteLock>,
}

impl HeldTargets {
    /// Closes targets that are only used by name, once they are ready. An open file would survive
    /// its removal.
    pub(crate) fn close_names(&mut self, plan: &Plan) {
        for (examined, claim) in &mut self.targets {
            let id = TargetId(examined.number as u32);
            let mut streams = plan.streams_on(id);
            if !streams.any(|(worker, _)| !worker.engine.kind.is_metadata_engine()) {
                *claim = None;
            }
        }
    }
}

/// Asks the guard about every target. Changes nothing, and opens nothing for writing.
///
/// # Errors
/// Every [`TargetError`], if a target cannot be used at all.
pub fn judge(plan: &Plan, permissions: &Permissions) -> Result<Vec<TargetDecision>, Vec<TargetError>> {
    Ok(request_all(plan, permissions)?
        .into_iter()
        .map(|(target_decision, _)| target_decision)
        .collect())
}

/// Asks the guard, and holds the permitted targets open. Locks the files that the plan changes.
pub(crate) fn permit(plan: &Plan, permissions: &Permissions, sharing: Sharing) -> Result<HeldTargets, Objection> {
    let mut answers = request_all(plan, permissions).map_err(Objection::Unusable)?;
    let locks = answers
        .iter_mut()
        .filter_map(|answer| lock(answer, caller_kind(plan), sharing))
        .collect();
    let refusals: Vec<Refusal> = answers
        .iter()
        .filter_map(|(target_decision, _)| target_decision.decision.refusal().cloned())
        .collect();
    if !refusals.is_empty() {
        return Err(Objection::Refused(refusals));
    }
    let mut permitted = HeldTargets {
        targets: Vec::new(),
        notes: Vec::new(),
        _locks: locks,
    };
    for (target_decision, claim) in answers {
        if let Decision::Allowed { notes } = target_decision.decision {
            let path = target_decision.examined.path.display().to_string();
            let notes = notes.into_iter().map(|note| (path.clone(), note));
            permitted.notes.extend(notes);
        }
        permitted.targets.push((target_decision.examined, claim));
    }
    Ok(permitted)
}

type Answer = (TargetDecision, Option<Claim>);

/// Locks a permitted file that the plan changes. If another process has locked it, refuses it, or
/// notes this where the original tool proceeds.
fn lock((target, claim): &mut Answer, caller: CallerKind, sharing: Sharing) -> Option<WriteLock> {
    let file = claim.as_ref().and_then(|claim| claim.file().handle())?;
    let is_changed = target.intent.changes() && target.examined.kind == Some(FileKind::Regular);
    match is_changed.then(|| WriteLock::take(file, sharing))? {
        Ok(lock) => return lock,
        // The coordinator of this test may hold it.
        Err(_) if sharing == Sharing::WithPeers => {}
        Err(_) => match (caller, &mut target.decision) {
            (CallerKind::Native, decision) => {
                let path = &target.examined.path;
                *decision = Decision::Refused(Refusal::new(path, target.intent, vec![Reason::Locked], caller));
            }
            (CallerKind::DropIn, Decision::Allowed { notes }) => notes.push(Note::Locked),
            (CallerKind::DropIn, Decision::Refused(_)) => {}
        },
    }
    None
}

/// Asks again about a target that was created in the meantime, and holds it open.
pub(super) fn permit_again(
    plan: &Plan,
    number: usize,
    permissions: &Permissions,
) -> Result<(ExaminedTarget, Option<Claim>), TargetError> {
    let system = System::live();
    let guard = Guard::new(&system, caller_kind(plan), permissions);
    let (target_decision, claim) = request_one(plan, &guard, examine_one(plan, number, &plan.targets[number])?)?;
    match target_decision.decision {
        Decision::Allowed { .. } => Ok((target_decision.examined, claim)),
        Decision::Refused(refusal) => Err(TargetError::Refused {
            path: plan.targets[number].path.clone(),
            why: Box::new(refusal),
        }),
    }
}

fn caller_kind(plan: &Plan) -> CallerKind {
    match plan.target_rules.consent {
        Consent::Explicit => CallerKind::Native,
        Consent::Implied => CallerKind::DropIn,
    }
}

fn request_all(plan: &Plan, permissions: &Permissions) -> Result<Vec<Answer>, Vec<TargetError>> {
    let system = System::live();
    let guard = Guard::new(&system, caller_kind(plan), permissions);
    let (mut answers, mut errors) = (Vec::new(), Vec::new());
    let targets = examine(plan)?;
    if plan.target_rules.checks_growth {
        check_growth(&targets)?;
    }
    for examined in targets {
        match request_one(plan, &guard, examined) {
            Ok(answer) => answers.push(answer),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(answers) } else { Err(errors) }
}

fn request_one(plan: &Plan, guard: &Guard<'_>, examined: ExaminedTarget) -> Result<Answer, TargetError> {
    let existing = examined.kind.map(|kind| ExistingTarget {
        kind,
        size: examined.size,
    });
    let mut intent = Intent::for_target(plan, TargetId(examined.number as u32), existing);
    // A marked file may have less data than its length.
    if matches!(examined.action, PrepareAction::Extend { .. }) {
        intent |= Intent::LAY_OUT | Intent::WRITE;
    }
    let target_decision = |examined, decision| TargetDecision {
        examined,
        intent,
        decision,
    };
    if examined.kind.is_none() {
        let decision = guard.decide_missing(&examined.path, intent);
        return Ok((target_decision(examined, decision), None));
    }
    // The examined file may have been changed or replaced since.
    let mark = Cell::new(examined.mark);
    let inspect = |file: &engine::File| {
        let inspect = |file| inspect_mark(plan, examined.number, file);
        mark.set(file.handle().map_or(MarkState::Unmarked, inspect));
        mark.get()
    };
    let claim = guard.claim(&examined.path, intent, inspect);
    if matches!(examined.mark, MarkState::Intact { .. }) && mark.get() != examined.mark {
        return Err(TargetError::replaced(&examined.path));
    }
    let examined = ExaminedTarget {
        mark: mark.get(),
        ..examined
    };
    match claim {
        Ok(claim) => {
            let notes = claim.notes.clone();
            Ok((target_decision(examined, Decision::Allowed { notes }), Some(claim)))
        }
        Err(ClaimError::Replaced) => Err(TargetError::replaced(&examined.path)),
        Err(ClaimError::Refused(refusal)) => Ok((target_decision(examined, Decision::Refused(refusal)), None)),
        Err(ClaimError::Open(error)) => match guard.decide_unopened(&examined.path, intent) {
            Decision::Refused(refusal) => Ok((target_decision(examined, Decision::Refused(refusal)), None)),
            Decision::Allowed { .. } => Err(cannot_examine(error.path.display())(error.source)),
        },
    }
}
