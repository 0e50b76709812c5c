//! Which processors threads run on.

use super::{FORM, Form, Group, ROW, Scope, Switch, Value};
use crate::diskspd::affinity;
use crate::diskspd::newer::Version;

const PROCESSORS: Switch = Switch {
    group: Group::Processors,
    scope: Scope::TimeSpan,
    ..ROW
};

pub(super) const AFFINITY: Switch = Switch {
    letter: 'a',
    default: "thread i on the i-th active processor",
    detail: "Thread i is bound to entry i of the list, beginning again at its end. Lists of several `-a` are joined; each \
             begins in group 0. A group is 64 processors: processor p of group g is number 64·g + p on Linux.",
    forms: &[
        Form {
            head: "a",
            value: Value::None,
            help: "Threads are bound to all active processors in turn.",
            examples: &["-a"],
            ..FORM
        },
        Form {
            head: "ag",
            value: Value::None,
            help: "The same.",
            examples: &["-ag"],
            ..FORM
        },
        Form {
            head: "a",
            value: Value::Processors,
            help: "Threads are bound to these processors in turn; `g<group>` says the group of those that follow.",
            examples: &["-a0,1,2", "-ag0,0,1,g1,0"],
            ..FORM
        },
        Form {
            head: "a",
            value: Value::ProcessorRanges,
            help: "Ranges stand for their processors, and a group without a list for all of its processors.",
            examples: &["-a0-2", "-ag0"],
            since: Version::V2_3,
            ..FORM
        },
        Form {
            head: "a",
            value: Value::Word(&["c", "s", "cs"]),
            help: "Without a list: one hardware thread of each core before the second of any (c), groups in turn (s).",
            examples: &["-ac", "-as", "-acs"],
            since: Version::V2_3,
            ..FORM
        },
        Form {
            head: "a",
            value: Value::Word(&["p", "P", "e", "E", "up"]),
            help: "Without a list: fast cores first, in each group (p, the default) or over all groups (P); frugal cores \
                   first (e, E); or by number (up).",
            examples: &["-ap", "-aP", "-ae", "-aE", "-aup"],
            since: Version::V2_3,
            ..FORM
        },
    ],
    read: |line, value| {
        let newer = line.is_newer();
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

pub(super) const NO_AFFINITY: Switch = Switch {
    letter: 'n',
    default: "as `-a`",
    detail: "Not with a list of `-a`.",
    forms: &[Form {
        head: "n",
        value: Value::None,
        help: "Threads are bound to no processor.",
        examples: &["-n"],
        ..FORM
    }],
    read: |line, _| {
        line.span.no_affinity = true;
        Ok(())
    },
    ..PROCESSORS
};
