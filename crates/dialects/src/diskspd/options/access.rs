//! Switches for positions and their order.

use super::{EMPTY_ROW, Group, Pass, Scope, Status, Switch, Value, form, number};
use crate::assign;
use crate::diskspd::line::{EarlyEnd, Line, ParseResult};
use crate::diskspd::newer::{Separation, Version};
use crate::diskspd::{distribution, numbers};

const ACCESS: Switch = Switch {
    group: Group::Access,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[BLOCK, RANDOM, SEQUENTIAL, BASE, END, THREAD_STRIDE, PARALLEL, SEED];

const SIZE: Value = Value::Size { zero: false };
const SIZE_OR_ZERO: Value = Value::Size { zero: true };

const BLOCK: Switch = Switch {
    letter: 'b',
    default: "64K",
    detail: "Applies to the whole line, also to sizes in blocks before it. The maximum is \
        4294967294 bytes; a run with 0 is refused.",
    forms: &[
        form("b", SIZE_OR_ZERO, &["-b4K", "-b512", "-b1M"]).help("Bytes per operation."),
        form("bs", Value::Word(&["p", "n"]), &["-bsp", "-bsn"])
            .help(
                "Places buffers so that their page directory entries are in different cache lines (p), or as \
    the system allocates them (n).",
            )
            .since(Version::V2_3),
        form("bs", SIZE, &["-bs64K"])
            .help("Places buffers at least this far apart, rounded to a power of two of at most 1 GiB.")
            .since(Version::V2_3),
    ],
    pass: Pass::First,
    apply: |line, value| {
        if let Some(distance) = value.strip_prefix('s').filter(|_| line.accepts_v2_3()) {
            let read = Separation::read(distance, line.target.block).ok();
            line.span.newer.separation = match read.filter(|read| read.bytes() <= Separation::MAX) {
                None => return Err(line.refuse("ERROR: invalid buffer separation passed to -bs")),
                separation => separation,
            };
            return Ok(());
        }
        match line.parse_size(value) {
            Ok(size) if size < u64::from(u32::MAX) => line.target.block = size as u32,
            _ => return Err(line.refuse("ERROR: invalid block size passed to -b")),
        }
        Ok(())
    },
    ..ACCESS
};

const RANDOM: Switch = Switch {
    letter: 'r',
    default: "sequential",
    detail: "Positions are aligned to the given size, or to the block size, counted from the base \
        (`-B`). `-rs100` is the same as `-r`. Ranges are consecutive from the base on; a share of 0 \
        % leaves a gap; the rest of the target gets what is missing to 100 %. A second `-rd` \
        replaces the first.",
    forms: &[
        form("r", Value::None, &["-r"]).help("Random positions, aligned to the block size."),
        form("r", SIZE, &["-r8K", "-r2b"]).help("Random positions with this alignment."),
        form(
            "rs",
            Value::Integer {
                name: "pct",
                min: 1,
                max: 100,
            },
            &["-rs30", "-rs100"],
        )
        .help("Percentage of random positions; the others follow their predecessor."),
        form(
            "rdpct",
            Value::PercentRanges,
            &["-rdpct90/10:0/10:5/20", "-rdpct100/100"],
        )
        .help("Shares of the operations that go to shares of the target, in percent."),
        form(
            "rdabs",
            Value::AbsoluteRanges,
            &["-rdabs90/10G:0/10M:5/1G", "-rdabs100/64b"],
        )
        .help("Shares of the operations, in percent, for ranges of the target in bytes."),
    ],
    apply: |line, value| match value.as_bytes().first() {
        Some(b's') => random_share(line, &value[1..]),
        Some(b'd') => {
            let distribution = distribution::read(&value[1..], line.target.block);
            line.target.distribution = Some(distribution.map_err(|why| line.refuse(why))?);
            Ok(())
        }
        _ => random(line, value),
    },
    ..ACCESS
};

fn random(line: &mut Line<'_>, value: &str) -> ParseResult {
    let alignment = match value {
        "" => u64::from(line.target.block),
        _ => above_zero(line, value, "ERROR: invalid alignment passed to -r")?,
    };
    if !line.has_targets {
        return Ok(());
    }
    match (line.target.alignment, line.target.random_percent) {
        (0, 0) => line.target.random_percent = 100,
        // `-rs` has set the percentage.
        (0, _) => {}
        (_, 0) => return Err(line.refuse("ERROR: sequential IO (-s) conflicts with random IO (-r/-rs)")),
        _ => return Err(line.refuse("ERROR: random IO (-r) specified multiple times")),
    }
    line.target.alignment = alignment;
    Ok(())
}

fn random_share(line: &mut Line<'_>, value: &str) -> ParseResult {
    if value.is_empty() {
        return Err(line.refuse("ERROR: no random percentage passed to -rs"));
    }
    let share = numbers::parse_integer(value);
    if !(1..=100).contains(&share) {
        return Err(line.refuse("ERROR: random percentage passed to -rs should be between 1 and 100"));
    }
    if !line.has_targets {
        return Ok(());
    }
    match (line.target.alignment, line.target.random_percent) {
        (0, 0) | (_, 100) => line.target.random_percent = share as u8,
        (_, 0) => {
            return Err(
                line.refuse("ERROR: use -r to specify IO alignment when using mixed random/sequential IO (-rs)")
            );
        }
        _ => return Err(line.refuse("ERROR: mixed random/sequential IO (-rs) specified multiple times")),
    }
    Ok(())
}

const SEQUENTIAL: Switch = Switch {
    letter: 's',
    default: "stride of the block size",
    detail: "With `-si` the threads of a target share one sequence; without it each thread walks \
        through the target. Stride and alignment are one value, so `-s` and `-r` exclude each \
        other. A stride of 0 means the default.",
    forms: &[
        form("s", Value::None, &["-s"]).help("Sequential positions, block by block."),
        form("s", SIZE_OR_ZERO, &["-s128K", "-s2b"]).help("Sequential positions with this stride."),
        form("si", Value::None, &["-si"]).help("All threads of a target share one sequential position."),
        form("si", SIZE_OR_ZERO, &["-si64K"]).help("The same, with this stride."),
    ],
    apply: |line, value| {
        let size = value.strip_prefix('i');
        line.target.interlocked |= size.is_some();
        let stride = match size.unwrap_or(value) {
            "" => u64::from(line.target.block),
            size => match line.parse_size(size) {
                Ok(stride) => stride,
                Err(_) => return Err(line.refuse("ERROR: invalid stride size passed to -s")),
            },
        };
        if !line.has_targets {
            return Ok(());
        }
        match (line.target.alignment, line.target.random_percent) {
            (0, 0) => line.target.alignment = stride,
            (_, 0) => return Err(line.refuse("ERROR: sequential IO (-s) specified multiple times")),
            (_, 100) => return Err(line.refuse("ERROR: sequential IO (-s) conflicts with random IO (-r/-rs)")),
            _ => return Err(line.refuse("ERROR: use -r to specify IO alignment for -rs")),
        }
        Ok(())
    },
    ..ACCESS
};

const BASE: Switch = Switch {
    letter: 'B',
    default: "0",
    detail: "Allowed once. The length is measured from the base and sets the same end as `-f`; 0 means no base.",
    forms: &[
        form("B", SIZE_OR_ZERO, &["-B1G", "-B10b"]).help("First byte that is used."),
        form("B", Value::BaseAndLength, &["-B1G:512M"]).help(
            "First byte that is used, and the \
            number of bytes from there.",
        ),
    ],
    apply: |line, value| {
        if value.is_empty() {
            return Err(EarlyEnd::Invalid);
        }
        if std::mem::replace(&mut line.seen.base, true) {
            return Err(line.refuse("ERROR: base target offset (-Bbase[:length]) can only be specified once"));
        }
        let (base, after) = match numbers::parse_leading_size(value, line.target.block) {
            Ok(read) => read,
            Err(why) => {
                line.stderr.push(why);
                return Err(line.refuse("ERROR: invalid base target offset passed to -B"));
            }
        };
        line.target.base = base;
        match after.strip_prefix(':') {
            Some(length) => end_by_length(line, length),
            None if after.is_empty() => Ok(()),
            None => Err(line.refuse("ERROR: unexpected characters after -Bbase; use ':' to separate -Bbase:length")),
        }
    },
    ..ACCESS
};

const ONE_END: &str = "ERROR: maximum target offset (-Bbase:length or -fsize) can only be specified once";

fn end_by_length(line: &mut Line<'_>, length: &str) -> ParseResult {
    if length.is_empty() {
        return Err(line.refuse("ERROR: -Bbase:length - no length provided"));
    }
    if std::mem::replace(&mut line.seen.end, true) {
        return Err(line.refuse(ONE_END));
    }
    let end = line
        .parse_size(length)
        .ok()
        .and_then(|length| line.target.base.checked_add(length));
    line.target.end = end.ok_or_else(|| line.refuse("ERROR: invalid target length passed to -B"))?;
    Ok(())
}

const END: Switch = Switch {
    letter: 'f',
    default: "the end of the target; no hints",
    detail: "A value that begins with a digit is a size; it is allowed once, and not with a length \
        of `-B`; 0 means no limit. The letters are hints for opening the target. They may be \
        combined and repeated.",
    forms: &[
        form("f", SIZE_OR_ZERO, &["-f1G", "-f1000b"]).help("End of the used area (exclusive)."),
        form("f", Value::Word(&["r", "s", "rs"]), &["-fr", "-fs", "-frs"])
            .help("Hint that access will be random (r) or sequential (s)."),
        form("f", Value::Word(&["t", "rt"]), &["-ft"])
            .help("Hint that the file is temporary.")
            .on_linux(Status::WithoutEffect("files have no such attribute")),
    ],
    apply: |line, value| {
        match value.as_bytes().first() {
            Some(b'0'..=b'9') => return end(line, value),
            Some(_) if value.bytes().all(|letter| b"rst".contains(&letter)) => {}
            _ => return Err(EarlyEnd::Invalid),
        }
        line.target.random_access |= value.contains('r');
        line.target.sequential_scan |= value.contains('s');
        line.target.temporary_file |= value.contains('t');
        Ok(())
    },
    ..ACCESS
};

fn end(line: &mut Line<'_>, value: &str) -> ParseResult {
    if std::mem::replace(&mut line.seen.end, true) {
        return Err(line.refuse(ONE_END));
    }
    match line.parse_size(value) {
        Ok(end) => line.target.end = end,
        Err(_) => return Err(line.refuse("ERROR: invalid max target size passed to -f")),
    }
    Ok(())
}

const THREAD_STRIDE: Switch = Switch {
    letter: 'T',
    default: "0",
    detail: "Thread i of a target starts i strides after the base. At the end of the area it wraps \
        to the beginning. Needs more than one thread and no `-r`.",
    forms: &[
        form("T", SIZE, &["-T256M", "-T1b"]).help("Distance between the start positions of the threads of a target.")
    ],
    apply: |line, value| {
        let stride = above_zero(line, value, "ERROR: invalid offset passed to -T");
        assign(&mut line.target.thread_stride, stride)
    },
    ..ACCESS
};

const PARALLEL: Switch = Switch {
    letter: 'p',
    default: "requests of a thread share its position",
    detail: "Not with `-r` and `-si`; needs `-o` above 1.",
    forms: &[form("p", Value::None, &["-p"])
        .help("Each request of a thread follows its own sequence, so all of them work near the same position.")],
    apply: |line, _| assign(&mut line.target.parallel, Ok(true)),
    ..ACCESS
};

const SEED: Switch = Switch {
    letter: 'z',
    scope: Scope::TimeSpan,
    default: "0",
    detail: "Thread i uses the seed plus i. The same seed gives the same operations as in DiskSpd.",
    forms: &[
        form("z", Value::None, &["-z"]).help("Takes the seed from the milliseconds since boot."),
        form("z", number("seed"), &["-z42", "-z4294967295"]).help("Seed of all random numbers."),
    ],
    pass: Pass::Composable,
    apply: |line, value| {
        let seed = match value {
            "" => Some(line.env.milliseconds_since_boot() as u32),
            _ => numbers::parse_seed(value),
        };
        if seed.is_none() {
            return Err(line.refuse(format!(
                "ERROR: invalid random seed value '{value}' specified - must be a valid 32 bit integer"
            )));
        }
        line.overrides.seed = seed;
        Ok(())
    },
    ..ACCESS
};

/// Parses a size above zero; `problem` follows the error of the size itself.
fn above_zero(line: &mut Line<'_>, value: &str, problem: &str) -> Result<u64, EarlyEnd> {
    match line.parse_size(value) {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(line.refuse(problem)),
    }
}
