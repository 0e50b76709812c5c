//! Switches for depth, threads and rates.

use super::{EMPTY_ROW, Group, Scope, Switch, Value, count, form};
use crate::assign;
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::newer::Version;
use crate::diskspd::numbers;
use crate::diskspd::profile::ThroughputUnit;

const LOAD: Switch = Switch {
    group: Group::Load,
    ..EMPTY_ROW
};

const LOAD_OF_SPAN: Switch = Switch {
    scope: Scope::TimeSpan,
    ..LOAD
};

pub(super) const ROWS: &[Switch] = &[REQUESTS, THREADS, POOL, COMMON_REQUESTS, THROUGHPUT, BURST, THINK];

const REQUESTS: Switch = Switch {
    letter: 'o',
    default: "2",
    detail: "1 means synchronous calls, one at a time, if the thread has no other target.",
    forms: &[
        form("o", count("n"), &["-o32"]).help("Operations that each thread keeps in flight on each of its targets."),
        form("oc", count("n"), &["-oc8"])
            .help("Maximum completions that a thread takes from its queue in one call.")
            .since(Version::V2_3),
    ],
    apply: |line, value| {
        if let Some(depth) = value.strip_prefix('c').filter(|_| line.accepts_v2_3()) {
            line.span.newer.dequeue = Some(positive(depth)?);
            return Ok(());
        }
        line.target.requests = positive(value)?;
        Ok(())
    },
    ..LOAD
};

const THREADS: Switch = Switch {
    letter: 't',
    default: "1",
    detail: "Not with `-F`.",
    forms: &[form("t", count("n"), &["-t4"]).help("Threads of each target.")],
    apply: |line, value| assign(&mut line.target.threads, positive(value)),
    ..LOAD
};

const POOL: Switch = Switch {
    letter: 'F',
    default: "each target has threads of its own",
    detail: "Each of them works on all targets, with `-o` operations in flight on each, or with `-O` in all.",
    forms: &[form("F", count("n"), &["-F8"]).help("Total number of threads.")],
    apply: |line, value| assign(&mut line.span.threads, positive(value)),
    ..LOAD_OF_SPAN
};

const COMMON_REQUESTS: Switch = Switch {
    letter: 'O',
    default: "`-o` for each target",
    detail: "Every operation chooses its target anew. Without `-F` it does nothing.",
    forms: &[form("O", count("n"), &["-O16"])
        .help("Operations that each thread of a pool keeps in flight over all targets.")],
    apply: |line, value| assign(&mut line.span.requests, positive(value)),
    ..LOAD_OF_SPAN
};

const THROUGHPUT: Switch = Switch {
    letter: 'g',
    default: "no limit",
    detail: "Without `i` the number is bytes per millisecond: 1 MB/s is `-g1000`. The limit holds for each thread and each \
             target; afterwards a thread catches up on what a slow device made it miss. Not with `-x` and `-O`.",
    forms: &[
        form("g", count("n"), &["-g80000"]).help("Bytes per millisecond of each thread on each target."),
        form("g", Value::Iops, &["-g2000i"]).help("Operations per second of each thread on each target."),
    ],
    apply: |line, value| {
        // Only the last letter decides the unit; the number is parsed as leniently as all others.
        line.target.throughput_unit = match value.as_bytes().last() {
            Some(b'0'..=b'9') => ThroughputUnit::BytesPerMs,
            Some(b'i') => ThroughputUnit::Iops,
            _ => return Err(EarlyEnd::Invalid),
        };
        line.target.throughput = positive(value)?;
        Ok(())
    },
    ..LOAD
};

const BURST: Switch = Switch {
    letter: 'i',
    default: "0",
    detail: "The number is shared among the threads of the target. Needs `-j`; a limit with `-g` overrules both.",
    forms: &[form("i", count("n"), &["-i100"]).help("Operations on a target between two pauses.")],
    apply: |line, value| assign(&mut line.target.burst, positive(value).map(Some)),
    ..LOAD
};

const THINK: Switch = Switch {
    letter: 'j',
    default: "0",
    detail: "Needs `-i`.",
    forms: &[form("j", count("ms"), &["-j20"]).help("Length of the pause between two bursts, in milliseconds.")],
    apply: |line, value| assign(&mut line.target.think_ms, positive(value).map(Some)),
    ..LOAD
};

/// Parses a number above zero. An invalid one is reported only by the common error line.
fn positive(value: &str) -> Result<u32, EarlyEnd> {
    numbers::parse_positive(value).ok_or(EarlyEnd::Invalid)
}
