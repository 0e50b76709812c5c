//! I/O priorities of a share of a job's operations.

use model::plan::{PriorityClass, PriorityRule};
use model::{Bytes, Direction};

use super::pattern;
use crate::fio::draft::{Draft, push_error};

/// The directions for which fio has priorities.
const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

/// The class with this kernel number.
pub(super) fn class_from_number(number: i64) -> PriorityClass {
    match number {
        1 => PriorityClass::RealTime,
        3 => PriorityClass::Idle,
        _ => PriorityClass::BestEffort,
    }
}

/// Lowers `cmdprio_percentage` or `cmdprio_bssplit` to priority rules; class, level and hint come
/// from their own options.
pub(in crate::fio) fn lower_rules(draft: &mut Draft<'_>) {
    let engine_options = &draft.options.engine;
    let mix = pattern::mix(draft.options);
    let has_percentage = DIRECTIONS
        .into_iter()
        .any(|direction| engine_options.cmdprio_percentage[direction] > 0);
    if has_percentage && engine_options.cmdprio_bssplit.is_some() {
        push_error(
            draft.errors,
            "fio: cmdprio_percentage and cmdprio_bssplit options are mutually exclusive",
        );
    }
    let default_priority = |direction: Direction| {
        let class = match engine_options.cmdprio_class[direction] {
            0 => 1,
            class => class,
        };
        (
            class,
            engine_options.cmdprio[direction],
            engine_options.cmdprio_hint[direction],
        )
    };
    let rule = |direction, length, percent: u64, (number, level, hint): (u64, u64, u64)| PriorityRule {
        direction,
        length,
        percent: percent.min(100) as u8,
        class: class_from_number(number as i64),
        level: level.min(7) as u8,
        hint: hint.min(1023) as u16,
    };
    let mut rules = Vec::new();
    for direction in DIRECTIONS.into_iter().filter(|direction| mix.includes(*direction)) {
        let percent = engine_options.cmdprio_percentage[direction];
        if percent > 0 {
            rules.push(rule(direction, None, percent, default_priority(direction)));
        }
        let splits = engine_options
            .cmdprio_bssplit
            .iter()
            .flat_map(|splits| &splits[direction]);
        for split in splits.filter(|split| split.percent > 0) {
            let priority = split.priority.unwrap_or(default_priority(direction));
            rules.push(rule(direction, Some(Bytes(split.bytes)), split.percent, priority));
        }
    }
    draft.parts.stream.priority_rules = rules;
}
