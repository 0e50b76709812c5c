//! Which processors threads run on.

use super::{FORM, Form, Group, ROW, Scope, Switch, Value};
use crate::diskspd::affinity;

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
    ],
    read: |line, value| {
        if value.starts_with('c') {
            return Err(line.refuse_newer("-ac"));
        }
        let list = affinity::read(value).map_err(|why| line.refuse_all(why))?;
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
