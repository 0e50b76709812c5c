//! Switches for durations.

use super::{EMPTY_ROW, Group, Pass, Scope, Switch, form, number};
use crate::diskspd::line::{EarlyEnd, Line};
use crate::diskspd::numbers;

/// Fields that the switches of this group share.
const TIME: Switch = Switch {
    group: Group::Time,
    scope: Scope::TimeSpan,
    pass: Pass::Composable,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[DURATION, WARM_UP, COOL_DOWN];

const DURATION: Switch = Switch {
    letter: 'd',
    default: "10",
    detail: "A profile may contain 0, but it cannot be run.",
    forms: &[form("d", number("s"), &["-d60"]).help("Measured seconds.")],
    apply: |line, value| {
        parse_seconds(line, value, "measured duration time (-d)").map(|seconds| line.overrides.duration = Some(seconds))
    },
    ..TIME
};

const WARM_UP: Switch = Switch {
    letter: 'W',
    default: "5",
    detail: "With 0, opening the targets is part of the measured time.",
    forms: &[form("W", number("s"), &["-W30", "-W0"]).help("Seconds of the same load before the measured time.")],
    apply: |line, value| {
        parse_seconds(line, value, "warmup time (-W)").map(|seconds| line.overrides.warm_up = Some(seconds))
    },
    ..TIME
};

const COOL_DOWN: Switch = Switch {
    letter: 'C',
    default: "0",
    detail: "Continues the load while other hosts are still measuring.",
    forms: &[form("C", number("s"), &["-C5"]).help("Seconds of the same load after the measured time.")],
    apply: |line, value| {
        parse_seconds(line, value, "cooldown time (-C)").map(|seconds| line.overrides.cool_down = Some(seconds))
    },
    ..TIME
};

/// Parses a number of seconds; `what` names it in the error.
fn parse_seconds(line: &mut Line<'_>, value: &str, what: &str) -> Result<u32, EarlyEnd> {
    u32::try_from(numbers::parse_integer(value)).map_err(|_| line.refuse(format!("ERROR: invalid {what}: '{value}'")))
}
