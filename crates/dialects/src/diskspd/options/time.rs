//! How long it takes.

use super::{FORM, Form, Group, Pass, ROW, Scope, Switch, number};
use crate::diskspd::line::{EarlyEnd, Line};
use crate::diskspd::numbers;

const TIME: Switch = Switch {
    group: Group::Time,
    scope: Scope::TimeSpan,
    pass: Pass::Composable,
    ..ROW
};

pub(super) const DURATION: Switch = Switch {
    letter: 'd',
    default: "10",
    detail: "0 is accepted in profiles; a run with it is refused.",
    forms: &[Form {
        head: "d",
        value: number("s"),
        help: "Measured seconds.",
        examples: &["-d60"],
        ..FORM
    }],
    read: |line, value| {
        line.composed.duration = Some(seconds(line, value, "measured duration time (-d)")?);
        Ok(())
    },
    ..TIME
};

pub(super) const WARM_UP: Switch = Switch {
    letter: 'W',
    default: "5",
    detail: "With 0, opening the targets is part of the measured time.",
    forms: &[Form {
        head: "W",
        value: number("s"),
        help: "Seconds of the same load before the measured time.",
        examples: &["-W30", "-W0"],
        ..FORM
    }],
    read: |line, value| {
        line.composed.warm_up = Some(seconds(line, value, "warmup time (-W)")?);
        Ok(())
    },
    ..TIME
};

pub(super) const COOL_DOWN: Switch = Switch {
    letter: 'C',
    default: "0",
    detail: "Keeps the load up while other hosts still measure.",
    forms: &[Form {
        head: "C",
        value: number("s"),
        help: "Seconds of the same load after the measured time.",
        examples: &["-C5"],
        ..FORM
    }],
    read: |line, value| {
        line.composed.cool_down = Some(seconds(line, value, "cooldown time (-C)")?);
        Ok(())
    },
    ..TIME
};

fn seconds(line: &mut Line<'_>, value: &str, what: &str) -> Result<u32, EarlyEnd> {
    u32::try_from(numbers::integer(value)).map_err(|_| line.refuse(format!("ERROR: invalid {what}: '{value}'")))
}
