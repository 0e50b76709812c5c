//! Switches for the affinity of threads.

use super::{EMPTY_ROW, Group, Scope, Switch, Value, form};
use crate::assign;
use crate::diskspd::affinity;
use crate::diskspd::newer::Version;

const PROCESSORS: Switch = Switch {
    group: Group::Processors,
    scope: Scope::TimeSpan,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[AFFINITY, NO_AFFINITY];

const AFFINITY: Switch = Switch {
    letter: 'a',
    default: "thread i on the i-th active processor",
    detail: "Thread i is bound to entry i of the list, which repeats after its end. Lists of \
        several `-a` are joined; each begins in group 0. A group has 64 processors: processor p of \
        group g is number 64·g + p on Linux.",
    forms: &[
        form("a", Value::None, &["-a"]).help("Binds threads to all active processors, round-robin."),
        form("ag", Value::None, &["-ag"]).help("The same."),
        form("a", Value::Processors, &["-a0,1,2", "-ag0,0,1,g1,0"])
            .help("Binds threads to these processors, round-robin; `g<group>` sets the group of the following processors."),
        form("a", Value::ProcessorRanges, &["-a0-2", "-ag0"])
            .help("Ranges include all of their processors, and a group without a list includes all of its processors.")
            .since(Version::V2_3),
        form("a", Value::Word(&["c", "s", "cs"]), &["-ac", "-as", "-acs"])
            .help("Without a list: one hardware thread of each core before the second of any (c), groups round-robin (s).")
            .since(Version::V2_3),
        form(
            "a",
            Value::Word(&["p", "P", "e", "E", "up"]),
            &["-ap", "-aP", "-ae", "-aE", "-aup"],
        )
        .help(
            "Without a list: fast cores first, in each group (p, the default) or over all groups (P); efficiency cores \
                   first (e, E); or by number (up).",
        )
        .since(Version::V2_3),
    ],
    apply: |line, value| {
        let newer = line.accepts_v2_3();
        if newer && !value.is_empty() && line.span.newer.order.read(value) {
            return Ok(());
        }
        let expanded = newer.then(|| affinity::expand(value, &line.env.processors())).flatten();
        let list = affinity::read(expanded.as_deref().unwrap_or(value)).map_err(|why| line.refuse_all(why))?;
        line.span.affinity.extend(list);
        Ok(())
    },
    ..PROCESSORS
};

const NO_AFFINITY: Switch = Switch {
    letter: 'n',
    default: "as `-a`",
    detail: "Not with a list of `-a`.",
    forms: &[form("n", Value::None, &["-n"]).help("Binds threads to no processor.")],
    apply: |line, _| assign(&mut line.span.no_affinity, Ok(true)),
    ..PROCESSORS
};
