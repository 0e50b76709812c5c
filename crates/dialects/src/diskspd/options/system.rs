//! How the system is asked: caches, flushes, interfaces, priorities.

use super::{FORM, Form, Group, ROW, Scope, Status, Switch, Value};
use crate::diskspd::line::{EarlyEnd, Line, ParseResult};
use crate::diskspd::newer::{Ring, Version};
use crate::diskspd::numbers;
use crate::diskspd::profile::{Cache, FlushType};
use model::plan::BypassIo;

const SYSTEM: Switch = Switch {
    group: Group::System,
    ..ROW
};

pub(super) const CACHE: Switch = Switch {
    letter: 'S',
    default: "cached",
    detail: "Cache mode, write-through and memory mapping are three choices, and each may be made once on the line. \
             Letters combine in any order, in one or in several switches.",
    forms: &[
        Form {
            head: "S",
            value: Value::None,
            help: "Bypasses the software cache; the same as `-Su`.",
            examples: &["-S"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["b"]),
            help: "Uses the software cache, as without `-S`.",
            examples: &["-Sb"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["h", "uw", "wu"]),
            help: "Bypasses the software cache and writes through to the medium.",
            examples: &["-Sh", "-Suw"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["m", "mb", "mw"]),
            help: "Copies to and from a memory map; with `w` past the processor's caches.",
            examples: &["-Sm", "-Smw"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["r", "rw"]),
            help: "Bypasses the local cache of a network file system.",
            examples: &["-Sr"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["u"]),
            help: "Bypasses the software cache.",
            examples: &["-Su"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["w", "bw", "wb"]),
            help: "Writes through to the medium.",
            examples: &["-Sw", "-Sbw"],
            ..FORM
        },
        Form {
            head: "S",
            value: Value::Word(&["y", "Y"]),
            help: "BypassIO: reads bypass the filters of the file system (y), and the volume's drivers too (Y).",
            examples: &["-Sy", "-SY"],
            since: Version::V2_3,
            linux: Status::Refused("BypassIO is a part of Windows"),
            windows: Status::Supported,
        },
    ],
    read: |line, value| {
        if value.is_empty() {
            line.once(
                !line.given.cache && !line.given.mapped,
                || "ERROR: -S conflicts with earlier specification of cache mode",
            )?;
            line.choose_cache(Cache::Unbuffered);
        }
        value.chars().try_for_each(|letter| cache_letter(line, letter))
    },
    ..SYSTEM
};

fn cache_letter(line: &mut Line<'_>, letter: char) -> ParseResult {
    let (cache, through, mapped) = (line.given.cache, line.given.write_through, line.given.mapped);
    let unbuffered = line.target.cache == Cache::Unbuffered;
    match letter {
        'b' => {
            line.once(
                !cache,
                || "ERROR: -Sb conflicts with earlier specification of cache mode",
            )?;
            line.choose_cache(Cache::Cached);
        }
        'h' => {
            line.once(
                !(cache || through || mapped),
                || "ERROR: -Sh conflicts with earlier specification of cache/writethrough/memory mapped",
            )?;
            line.choose_cache(Cache::Unbuffered);
            line.choose_write_through();
        }
        'm' => {
            line.once(
                !(mapped || unbuffered),
                || "ERROR: -Sm conflicts with earlier specification of memory mapped IO/unbuffered IO",
            )?;
            (line.target.memory_mapped, line.given.mapped) = (true, true);
        }
        'r' => {
            line.once(
                !cache,
                || "ERROR: -Sr conflicts with earlier specification of cache mode",
            )?;
            line.choose_cache(Cache::NoLocal);
        }
        'u' => {
            line.once(
                !(cache || mapped),
                || "ERROR: -Su conflicts with earlier specification of cache mode/memory mapped IO",
            )?;
            line.choose_cache(Cache::Unbuffered);
        }
        'w' => {
            // The missing colon is DiskSpd's.
            line.once(
                !through,
                || "ERROR -Sw conflicts with earlier specification of write through",
            )?;
            line.choose_write_through();
        }
        'y' if line.is_newer() => line.span.newer.bypass = Some(BypassIo::Partial),
        'Y' if line.is_newer() => line.span.newer.bypass = Some(BypassIo::Full),
        _ => return Err(line.refuse("ERROR: unrecognized option provided to -S")),
    }
    Ok(())
}

impl Line<'_> {
    fn once(&mut self, free: bool, complaint: fn() -> &'static str) -> ParseResult {
        if free { Ok(()) } else { Err(self.refuse(complaint())) }
    }

    fn choose_cache(&mut self, cache: Cache) {
        self.target.cache = cache;
        self.given.cache = true;
    }

    fn choose_write_through(&mut self) {
        self.target.write_through = true;
        self.given.write_through = true;
    }
}

pub(super) const OLD_UNCACHED: Switch = Switch {
    letter: 'h',
    default: "cached",
    detail: "",
    forms: &[Form {
        head: "h",
        value: Value::None,
        help: "The old way to write `-Sh`.",
        examples: &["-h"],
        ..FORM
    }],
    read: |line, _| {
        // Memory mapping is not looked at, unlike `-Sh`; validation refuses the two together.
        line.once(
            !(line.given.cache || line.given.write_through),
            || "ERROR: -h conflicts with earlier specification of cache/writethrough",
        )?;
        line.choose_cache(Cache::Unbuffered);
        line.choose_write_through();
        Ok(())
    },
    ..SYSTEM
};

pub(super) const FLUSH: Switch = Switch {
    letter: 'N',
    default: "nothing is flushed",
    detail: "Needs `-Sm`; does nothing where writes go through. The letter may be a capital.",
    forms: &[
        Form {
            head: "N",
            value: Value::Word(&["v"]),
            help: "Writes the pages of a memory map back after each write.",
            examples: &["-Nv"],
            ..FORM
        },
        Form {
            head: "N",
            value: Value::Word(&["n", "i"]),
            help: "Writes cache lines back after each write and drains them (n), or does not wait (i).",
            examples: &["-Nn", "-Ni"],
            linux: Status::Refused("it needs a map of persistent memory"),
            ..FORM
        },
    ],
    read: |line, value| {
        line.target.flush = Some(match value {
            "v" | "V" => FlushType::ViewOfFile,
            "n" | "N" => FlushType::NonVolatileMemory,
            "i" | "I" => FlushType::NonVolatileMemoryNoDrain,
            _ => return Err(EarlyEnd::Wrong),
        });
        Ok(())
    },
    ..SYSTEM
};

pub(super) const COMPLETION_ROUTINES: Switch = Switch {
    letter: 'x',
    scope: Scope::TimeSpan,
    default: "completion port",
    detail: "Linux uses the same queue in both cases; only the report differs. Not with `-g` and `-Sm`.",
    forms: &[Form {
        head: "x",
        value: Value::None,
        help: "Operations are completed by routines instead of a completion port.",
        examples: &["-x"],
        ..FORM
    }],
    read: |line, _| {
        line.span.completion_routines = true;
        Ok(())
    },
    ..SYSTEM
};

pub(super) const RING: Switch = Switch {
    letter: 'u',
    scope: Scope::TimeSpan,
    default: "chosen for the target",
    detail: "A Windows without IoRing (before Windows 11 and Windows Server 2025) refuses it. `n` registers no buffers. What \
             `p` behind the number stands for is not published: a profile keeps it, and a run with it is refused.",
    forms: &[
        Form {
            head: "u",
            value: Value::None,
            help: "Operations go through the system's submission ring: io_uring on Linux, IoRing on Windows.",
            examples: &["-u"],
            since: Version::V2_3,
            ..FORM
        },
        Form {
            head: "u",
            value: Value::RingBatch,
            help: "The same, with this many operations handed over at once.",
            examples: &["-u8", "-un16"],
            since: Version::V2_3,
            ..FORM
        },
    ],
    read: |line, value| {
        line.span.newer.ring = Some(Ring::read(value).ok_or(EarlyEnd::Wrong)?);
        Ok(())
    },
    ..SYSTEM
};

pub(super) const LARGE_PAGES: Switch = Switch {
    letter: 'l',
    default: "usual pages",
    detail: "Linux takes them from its reserved pool (`vm.nr_hugepages`); none left is an error. Windows wants the account to hold \
             the privilege to lock pages in memory.",
    forms: &[Form {
        head: "l",
        value: Value::None,
        help: "Buffers lie in large pages.",
        examples: &["-l"],
        ..FORM
    }],
    read: |line, _| {
        line.target.large_pages = true;
        Ok(())
    },
    ..SYSTEM
};

pub(super) const PRIORITY: Switch = Switch {
    letter: 'I',
    default: "3",
    detail: "Linux: 1 is the idle class, 2 best effort 7, 3 leaves the priority alone. Only some schedulers heed it.",
    forms: &[Form {
        head: "I",
        value: Value::Integer {
            name: "n",
            least: 1,
            most: 3,
        },
        help: "Priority of the operations: 1 very low, 2 low, 3 normal.",
        examples: &["-I1", "-I3"],
        ..FORM
    }],
    read: |line, value| {
        line.target.priority = match numbers::integer(value) {
            priority @ 1..=3 => priority as u8,
            _ => return Err(EarlyEnd::Wrong),
        };
        Ok(())
    },
    ..SYSTEM
};
