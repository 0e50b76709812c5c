//! Switches for contents and the creation of targets.

use super::{EMPTY_ROW, Group, Switch, Value, form};
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::numbers;
use crate::diskspd::profile::Source;

const WRITING: Switch = Switch {
    group: Group::Write,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[WRITE, CONTENTS, CREATE];

const WRITE: Switch = Switch {
    letter: 'w',
    default: "0",
    detail: "A bare `-w` is refused.",
    forms: &[form(
        "w",
        Value::Integer {
            name: "pct",
            min: 0,
            max: 100,
        },
        &["-w0", "-w30", "-w100"],
    )
    .help("Percentage of writes, drawn at random.")],
    apply: |line, value| {
        if value.is_empty() {
            return Err(line.refuse("ERROR: no write ratio passed to -w"));
        }
        match numbers::parse_integer(value) {
            share @ 0..=100 => line.target.write_percent = share as u8,
            _ => return Err(line.refuse("ERROR: write ratio passed to -w must be between 0 and 100 (percent)")),
        }
        Ok(())
    },
    ..WRITING
};

const CONTENTS: Switch = Switch {
    letter: 'Z',
    default: "the bytes 0 to 255, repeated",
    detail: "`-Zr` applies to the time span; `-Z` overrides it. A buffer of `-Z<size>` is at least \
        as large as a block, and each write takes its bytes from a random position in it. A file \
        that is shorter than the buffer is repeated.",
    forms: &[
        form("Z", Value::None, &["-Z"]).help("Writes zeros."),
        form("Zr", Value::None, &["-Zr"]).help("Writes new random bytes each time."),
        form("Z", Value::Size { zero: false }, &["-Z20M", "-Z2b"])
            .help("Takes write data from a buffer of this size, filled with random bytes."),
        form("Z", Value::SizeAndFile, &["-Z20M,random.bin"])
            .help("Takes write data from a buffer of this size, filled from a file."),
    ],
    apply: |line, value| {
        match value {
            "" => line.target.zero_buffers = true,
            "r" => line.span.random_write_data = true,
            _ => {
                let (size, file) = value.split_once(',').unwrap_or((value, ""));
                let size = match line.parse_size(size) {
                    Ok(size) if size > 0 => size,
                    _ => return Err(line.refuse("ERROR: invalid size passed to -Z")),
                };
                let file = (!file.is_empty()).then(|| file.to_string());
                line.target.source = Some(Source { size, file });
            }
        }
        Ok(())
    },
    ..WRITING
};

const CREATE: Switch = Switch {
    letter: 'c',
    default: "the target must exist",
    detail: "An existing file is truncated and recreated before each time span, also for a run that \
        only reads. Devices are left as they are. 0 creates nothing.",
    forms: &[form("c", Value::Size { zero: true }, &["-c1G", "-c1000b"]).help("Creates file targets of this size.")],
    apply: |line, value| {
        if value.is_empty() {
            return Err(EarlyEnd::Invalid);
        }
        match line.parse_size(value) {
            Ok(size) => line.target.file_size = Some(size),
            Err(_) => return Err(line.refuse("ERROR: invalid target size passed to -c")),
        }
        Ok(())
    },
    ..WRITING
};
