//! The intended actions of a plan on a target.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use engine::FileKind;
use model::Direction;
use model::plan::{Effect, EngineKind, Plan, Prepare, Target, TargetCleanup, TargetId, TargetKind};

/// A set of actions on a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Intent(u8);

/// What exists at the path of a target before the plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExistingTarget {
    /// Kind of file or device.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
}

impl Intent {
    /// It is read.
    pub const READ: Intent = Intent(1);
    /// It is written to.
    pub const WRITE: Intent = Intent(2);
    /// It is truncated.
    pub const TRUNCATE: Intent = Intent(4);
    /// It is removed.
    pub const UNLINK: Intent = Intent(8);
    /// Ranges of it are discarded.
    pub const TRIM: Intent = Intent(16);
    /// Holes are punched into it.
    pub const PUNCH: Intent = Intent(32);
    /// It is allocated or filled before the run.
    pub const LAY_OUT: Intent = Intent(64);
    /// It is created.
    pub const CREATE: Intent = Intent(128);

    /// All actions of a plan on a target, regardless of the job's direction. For example, fio
    /// replaces a file that is too small even for a read-only job, and DiskSpd `-c` truncates one
    /// even with `-w0`.
    pub fn for_target(plan: &Plan, id: TargetId, existing: Option<ExistingTarget>) -> Intent {
        let mut intent = Intent::default();
        let Some(target) = plan.targets.get(id.0 as usize) else {
            return intent;
        };
        let regular = existing.is_none_or(|existing| existing.kind == FileKind::Regular);
        for (worker, stream) in plan.streams_on(id) {
            intent |= Intent::for_engine(worker.engine.kind);
            if worker.engine.kind.is_metadata_engine() {
                continue;
            }
            for (direction, does) in [
                (Direction::Read, Intent::READ),
                (Direction::Write, Intent::WRITE),
                (Direction::Trim, if regular { Intent::PUNCH } else { Intent::TRIM }),
            ] {
                let discards_written = direction == Direction::Trim
                    && stream.mix.includes(Direction::Write)
                    && stream.verify.as_ref().is_some_and(|verify| verify.trims.is_some());
                if stream.mix.includes(direction) || discards_written {
                    intent |= does;
                }
            }
        }
        intent |= Intent::for_preparation(target, existing);
        // None of the tools removes devices.
        if regular && matches!(target.at_end, TargetCleanup::Remove | TargetCleanup::RemoveEachPass) {
            intent |= Intent::UNLINK;
        }
        intent
    }

    /// The actions of an engine on its targets, regardless of direction.
    fn for_engine(engine: EngineKind) -> Intent {
        match engine.info().effect {
            // Even its reads allocate.
            Effect::Allocate => Intent::WRITE,
            Effect::Truncate => Intent::TRUNCATE,
            Effect::Create | Effect::Tree => Intent::CREATE,
            Effect::LookUp => Intent::READ,
            Effect::Remove => Intent::UNLINK,
            Effect::Transfer | Effect::Compute | Effect::Simulate => Intent::default(),
        }
    }

    fn for_preparation(target: &Target, existing: Option<ExistingTarget>) -> Intent {
        if let TargetKind::Name { directory, .. } = target.kind {
            return match directory && existing.is_none() {
                true => Intent::CREATE,
                false => Intent::default(),
            };
        }
        let made = Intent::CREATE | Intent::LAY_OUT;
        let size = match existing {
            None if target.prepare == Prepare::Existing => return Intent::default(),
            None => return made,
            Some(target) if target.kind != FileKind::Regular => return Intent::default(),
            Some(target) => target.size,
        };
        match &target.prepare {
            Prepare::Existing => Intent::default(),
            // A file that is large enough is used unchanged.
            Prepare::Filled { size: min_size } if size > 0 && min_size.is_none_or(|min_size| size >= min_size.0) => {
                Intent::default()
            }
            Prepare::Filled { .. } => Intent::LAY_OUT | Intent::WRITE,
            Prepare::Recreate { .. } => Intent::TRUNCATE | Intent::LAY_OUT,
            Prepare::LayOut { size: min_size, .. } if size >= min_size.0 => Intent::default(),
            Prepare::LayOut { extend: true, .. } => Intent::LAY_OUT | Intent::WRITE,
            Prepare::LayOut { .. } => Intent::UNLINK | made,
        }
    }

    /// True if everything in `other` is in this set.
    pub fn includes(self, other: Intent) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if existing data could be changed or lost.
    pub fn changes(self) -> bool {
        self.0 & !(Intent::READ.0 | Intent::CREATE.0) != 0
    }
}

impl BitOr for Intent {
    type Output = Intent;
    fn bitor(self, other: Intent) -> Intent {
        Intent(self.0 | other.0)
    }
}

impl BitOrAssign for Intent {
    fn bitor_assign(&mut self, other: Intent) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In chronological order.
        let words = [
            (Intent::CREATE, "created"),
            (Intent::TRUNCATE, "truncated"),
            (Intent::LAY_OUT, "filled with data"),
            (Intent::READ, "read"),
            (Intent::WRITE, "written"),
            (Intent::TRIM, "trimmed"),
            (Intent::PUNCH, "punched"),
            (Intent::UNLINK, "removed"),
        ];
        let words_in_set: Vec<&str> = words
            .into_iter()
            .filter(|(part, _)| self.includes(*part))
            .map(|(_, word)| word)
            .collect();
        match words_in_set.split_last() {
            None => f.write_str("left alone"),
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_are_described_in_words() {
        for (intent, words, changes) in [
            (Intent::default(), "left alone", false),
            (Intent::READ, "read", false),
            (Intent::READ | Intent::CREATE, "created and read", false),
            (
                Intent::READ | Intent::WRITE | Intent::TRIM,
                "read, written and trimmed",
                true,
            ),
            (Intent::LAY_OUT, "filled with data", true),
        ] {
            assert_eq!(intent.to_string(), words);
            assert_eq!(intent.changes(), changes, "{words}");
        }
    }
}
