//! Every target before the guard: what the plan will do to it, whether it may, and the descriptor
//! that this was decided on.

use std::cell::Cell;

use engine::probe::System;
use model::plan::{Consent, Plan, TargetId};

use super::examine::examine_one;
use super::guard::{CallerKind, Claim, ClaimError, Decision, Existing, Guard, Intent, Note, Permissions, Refusal};
use super::marker::{self, MarkState};
use super::{Action, Examined, TargetError, examine};

/// What the guard says of a target.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What was found, and what will be done to make it ready.
    pub examined: Examined,
    /// Everything that the plan will do to it.
    pub intent: Intent,
    /// The answer.
    pub decision: Decision,
}

/// What speaks against a plan before it begins.
#[derive(Debug)]
pub enum Objection {
    /// Targets that cannot be used.
    Unusable(Vec<TargetError>),
    /// Targets that the guard does not give away.
    Refused(Vec<Refusal>),
}

/// Targets that may be used, each held open so that what was decided stays true.
#[derive(Debug)]
pub(crate) struct Permitted {
    pub(crate) targets: Vec<(Examined, Option<Claim>)>,
    /// What is worth knowing, with the path it is about.
    pub(crate) notes: Vec<(String, Note)>,
}

impl Permitted {
    /// Lets go of targets that are only worked on by their names, once they are ready. A file that
    /// is held open is not gone when it is removed.
    pub(crate) fn let_go_of_names(&mut self, plan: &Plan) {
        for (examined, claim) in &mut self.targets {
            let id = TargetId(examined.number as u32);
            let mut workers = plan.jobs().flat_map(|(_, job)| &job.workers);
            let opens = workers.any(|worker| {
                let mut streams = worker.streams.iter();
                !worker.engine.kind.is_metadata_engine() && streams.any(|stream| stream.target.ids().contains(&id))
            });
            if !opens {
                *claim = None;
            }
        }
    }
}

/// Asks the guard about every target. Nothing is changed, and nothing is opened for writing.
///
/// # Errors
/// Every [`TargetError`], if any target cannot be used at all.
pub fn judge(plan: &Plan, permissions: &Permissions) -> Result<Vec<Judged>, Vec<TargetError>> {
    Ok(ask(plan, permissions)?.into_iter().map(|(judged, _)| judged).collect())
}

/// Asks the guard, and holds what it gives away.
pub(crate) fn permit(plan: &Plan, permissions: &Permissions) -> Result<Permitted, Objection> {
    let answers = ask(plan, permissions).map_err(Objection::Unusable)?;
    let refusals: Vec<Refusal> = answers
        .iter()
        .filter_map(|(judged, _)| judged.decision.refusal().cloned())
        .collect();
    if !refusals.is_empty() {
        return Err(Objection::Refused(refusals));
    }
    let mut permitted = Permitted {
        targets: Vec::new(),
        notes: Vec::new(),
    };
    for (judged, claim) in answers {
        if let Decision::Allowed { notes } = judged.decision {
            let path = judged.examined.path.display().to_string();
            let notes = notes.into_iter().map(|note| (path.clone(), note));
            permitted.notes.extend(notes);
        }
        permitted.targets.push((judged.examined, claim));
    }
    Ok(permitted)
}

type Answer = (Judged, Option<Claim>);

/// Asks once more about one target, which was made meanwhile, and holds it.
pub(super) fn again(
    plan: &Plan,
    number: usize,
    permissions: &Permissions,
) -> Result<(Examined, Option<Claim>), TargetError> {
    let system = System::live();
    let guard = Guard::new(&system, caller_of(plan), permissions);
    let (judged, claim) = ask_about(plan, &guard, examine_one(plan, number, &plan.targets[number])?)?;
    match judged.decision {
        Decision::Allowed { .. } => Ok((judged.examined, claim)),
        Decision::Refused(refusal) => Err(TargetError::Refused {
            path: plan.targets[number].path.clone(),
            why: Box::new(refusal),
        }),
    }
}

fn caller_of(plan: &Plan) -> CallerKind {
    match plan.target_rules.consent {
        Consent::Explicit => CallerKind::Native,
        Consent::Implied => CallerKind::DropIn,
    }
}

fn ask(plan: &Plan, permissions: &Permissions) -> Result<Vec<Answer>, Vec<TargetError>> {
    let system = System::live();
    let guard = Guard::new(&system, caller_of(plan), permissions);
    let (mut answers, mut errors) = (Vec::new(), Vec::new());
    for examined in examine(plan)? {
        match ask_about(plan, &guard, examined) {
            Ok(answer) => answers.push(answer),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(answers) } else { Err(errors) }
}

fn ask_about(plan: &Plan, guard: &Guard<'_>, examined: Examined) -> Result<Answer, TargetError> {
    let existing = examined.kind.map(|kind| Existing {
        kind,
        size: examined.size,
    });
    let mut intent = Intent::for_target(plan, TargetId(examined.number as u32), existing);
    // A file of ours may hold less than its length says.
    if matches!(examined.action, Action::Extend { .. }) {
        intent |= Intent::LAY_OUT | Intent::WRITE;
    }
    let judged = |examined, decision| Judged {
        examined,
        intent,
        decision,
    };
    if examined.kind.is_none() {
        let decision = guard.decide_missing(&examined.path, intent);
        return Ok((judged(examined, decision), None));
    }
    // The file that was examined may have changed or been replaced since.
    let mark = Cell::new(examined.mark);
    let inspect = |file: &engine::File| {
        mark.set(file.handle().map_or(MarkState::Unmarked, marker::inspect));
        mark.get()
    };
    let claim = guard.claim(&examined.path, intent, inspect);
    if matches!(examined.mark, MarkState::Intact { .. }) && mark.get() != examined.mark {
        return Err(TargetError::Replaced {
            path: examined.path.display().to_string(),
        });
    }
    let examined = Examined {
        mark: mark.get(),
        ..examined
    };
    match claim {
        Ok(claim) => {
            let notes = claim.notes.clone();
            Ok((judged(examined, Decision::Allowed { notes }), Some(claim)))
        }
        Err(ClaimError::Refused(refusal)) => Ok((judged(examined, Decision::Refused(refusal)), None)),
        Err(ClaimError::Open(error)) => match guard.decide_unopened(&examined.path, intent) {
            Decision::Refused(refusal) => Ok((judged(examined, Decision::Refused(refusal)), None)),
            Decision::Allowed { .. } => Err(TargetError::Look {
                path: error.path.display().to_string(),
                source: error.source,
            }),
        },
    }
}
