//! What is written, and into what.

use super::{FORM, Form, Group, ROW, Switch, Value};
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::numbers;
use crate::diskspd::profile::Source;

const WRITING: Switch = Switch {
    group: Group::Write,
    ..ROW
};

pub(super) const WRITE: Switch = Switch {
    letter: 'w',
    default: "0",
    detail: "The value is needed: a bare `-w` is refused.",
    forms: &[Form {
        head: "w",
        value: Value::Integer {
            name: "pct",
            least: 0,
            most: 100,
        },
        help: "Percentage of writes, drawn at random.",
        examples: &["-w0", "-w30", "-w100"],
        ..FORM
    }],
    read: |line, value| {
        if value.is_empty() {
            return Err(line.refuse("ERROR: no write ratio passed to -w"));
        }
        match numbers::integer(value) {
            share @ 0..=100 => line.target.write_percent = share as u8,
            _ => return Err(line.refuse("ERROR: write ratio passed to -w must be between 0 and 100 (percent)")),
        }
        Ok(())
    },
    ..WRITING
};

pub(super) const CONTENTS: Switch = Switch {
    letter: 'Z',
    default: "the bytes 0 to 255, over and over",
    detail: "`-Zr` applies to the time span; `-Z` wins over it. A buffer of `-Z<size>` is no smaller than a block, and each \
             write takes its bytes from a random place of it; what a shorter file lacks is its beginning again.",
    forms: &[
        Form {
            head: "Z",
            value: Value::None,
            help: "Writes zeros.",
            examples: &["-Z"],
            ..FORM
        },
        Form {
            head: "Zr",
            value: Value::None,
            help: "Writes new random bytes each time.",
            examples: &["-Zr"],
            ..FORM
        },
        Form {
            head: "Z",
            value: Value::Size { zero: false },
            help: "Writes parts of a buffer of this size, filled with random bytes.",
            examples: &["-Z20M", "-Z2b"],
            ..FORM
        },
        Form {
            head: "Z",
            value: Value::SizeAndFile,
            help: "Writes parts of a buffer of this size, filled from a file.",
            examples: &["-Z20M,random.bin"],
            ..FORM
        },
    ],
    read: |line, value| {
        match value {
            "" => line.target.zero_buffers = true,
            "r" => line.span.random_write_data = true,
            _ => {
                let (size, file) = value.split_once(',').unwrap_or((value, ""));
                let size = match line.size(size) {
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

pub(super) const CREATE: Switch = Switch {
    letter: 'c',
    default: "the target must exist",
    detail: "An existing file is truncated and made anew, before each time span, also for a run that only reads. Devices \
             are left as they are. 0 makes nothing.",
    forms: &[Form {
        head: "c",
        value: Value::Size { zero: true },
        help: "Makes file targets of this size.",
        examples: &["-c1G", "-c1000b"],
        ..FORM
    }],
    read: |line, value| {
        if value.is_empty() {
            return Err(EarlyEnd::Wrong);
        }
        match line.size(value) {
            Ok(size) => line.target.file_size = Some(size),
            Err(_) => return Err(line.refuse("ERROR: invalid target size passed to -c")),
        }
        Ok(())
    },
    ..WRITING
};
