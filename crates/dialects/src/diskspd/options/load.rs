//! How much at once and how fast.

use super::{FORM, Form, Group, ROW, Scope, Switch, Value, count};
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::newer::Version;
use crate::diskspd::numbers;
use crate::diskspd::profile::ThroughputUnit;

const LOAD: Switch = Switch {
    group: Group::Load,
    ..ROW
};

const LOAD_OF_SPAN: Switch = Switch {
    scope: Scope::TimeSpan,
    ..LOAD
};

pub(super) const REQUESTS: Switch = Switch {
    letter: 'o',
    default: "2",
    detail: "1 means one synchronous call after the other, if the thread has no other target.",
    forms: &[
        Form {
            head: "o",
            value: count("n"),
            help: "Operations that each thread keeps in flight on each of its targets.",
            examples: &["-o32"],
            ..FORM
        },
        Form {
            head: "oc",
            value: count("n"),
            help: "Completions that a thread takes from its queue at once, at most.",
            examples: &["-oc8"],
            since: Version::V2_3,
            ..FORM
        },
    ],
    read: |line, value| {
        if let Some(depth) = value.strip_prefix('c').filter(|_| line.is_newer()) {
            line.span.newer.dequeue = Some(positive(depth)?);
            return Ok(());
        }
        line.target.requests = positive(value)?;
        Ok(())
    },
    ..LOAD
};

pub(super) const THREADS: Switch = Switch {
    letter: 't',
    default: "1",
    detail: "Not with `-F`.",
    forms: &[Form {
        head: "t",
        value: count("n"),
        help: "Threads of each target.",
        examples: &["-t4"],
        ..FORM
    }],
    read: |line, value| {
        line.target.threads = positive(value)?;
        Ok(())
    },
    ..LOAD
};

pub(super) const POOL: Switch = Switch {
    letter: 'F',
    default: "each target has threads of its own",
    detail: "Each of them works on all targets, with `-o` operations in flight on each, or with `-O` in all.",
    forms: &[Form {
        head: "F",
        value: count("n"),
        help: "Threads in all.",
        examples: &["-F8"],
        ..FORM
    }],
    read: |line, value| {
        line.span.threads = positive(value)?;
        Ok(())
    },
    ..LOAD_OF_SPAN
};

pub(super) const COMMON_REQUESTS: Switch = Switch {
    letter: 'O',
    default: "`-o` for each target",
    detail: "Every operation chooses its target anew. Without `-F` it does nothing.",
    forms: &[Form {
        head: "O",
        value: count("n"),
        help: "Operations that each thread of a pool keeps in flight over all targets.",
        examples: &["-O16"],
        ..FORM
    }],
    read: |line, value| {
        line.span.requests = positive(value)?;
        Ok(())
    },
    ..LOAD_OF_SPAN
};

pub(super) const THROUGHPUT: Switch = Switch {
    letter: 'g',
    default: "no limit",
    detail: "Without `i` the number is bytes per millisecond: 1 MB/s is `-g1000`. The limit holds for each thread and each \
             target; what was missed while the device was slow is made up for. Not with `-x` and `-O`.",
    forms: &[
        Form {
            head: "g",
            value: count("n"),
            help: "Bytes per millisecond of each thread on each target.",
            examples: &["-g80000"],
            ..FORM
        },
        Form {
            head: "g",
            value: Value::Iops,
            help: "Operations per second of each thread on each target.",
            examples: &["-g2000i"],
            ..FORM
        },
    ],
    read: |line, value| {
        // Only the last letter tells the unit; the number is read as leniently as all others.
        line.target.throughput_unit = match value.as_bytes().last() {
            Some(b'0'..=b'9') => ThroughputUnit::BytesPerMs,
            Some(b'i') => ThroughputUnit::Iops,
            _ => return Err(EarlyEnd::Wrong),
        };
        line.target.throughput = positive(value)?;
        Ok(())
    },
    ..LOAD
};

pub(super) const BURST: Switch = Switch {
    letter: 'i',
    default: "0",
    detail: "The number is shared among the threads of the target. Needs `-j`; a limit with `-g` overrules both.",
    forms: &[Form {
        head: "i",
        value: count("n"),
        help: "Operations on a target between two pauses.",
        examples: &["-i100"],
        ..FORM
    }],
    read: |line, value| {
        line.target.burst = Some(positive(value)?);
        Ok(())
    },
    ..LOAD
};

pub(super) const THINK: Switch = Switch {
    letter: 'j',
    default: "0",
    detail: "Needs `-i`.",
    forms: &[Form {
        head: "j",
        value: count("ms"),
        help: "Length of the pause between two bursts, in milliseconds.",
        examples: &["-j20"],
        ..FORM
    }],
    read: |line, value| {
        line.target.think_ms = Some(positive(value)?);
        Ok(())
    },
    ..LOAD
};

/// A number above zero. Nothing is said about others but the line that all refusals share.
fn positive(value: &str) -> Result<u32, EarlyEnd> {
    numbers::positive(value).ok_or(EarlyEnd::Wrong)
}
