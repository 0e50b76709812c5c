//! Switches for caches, flushes, interfaces and priorities.

use super::{EMPTY_ROW, Group, Scope, Status, Switch, Value, form};
use crate::assign;
use crate::diskspd::line::{EarlyEnd, Line, ParseResult};
use crate::diskspd::newer::{Ring, Version};
use crate::diskspd::numbers;
use crate::diskspd::profile::{Cache, FlushType};
use model::plan::BypassIo;

const SYSTEM: Switch = Switch {
    group: Group::System,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[
    CACHE, OLD_UNCACHED, FLUSH, COMPLETION_ROUTINES, RING, LARGE_PAGES, PRIORITY,
];

const CACHE: Switch = Switch {
    letter: 'S',
    default: "cached",
    detail: "Cache mode, write-through and memory mapping are three choices; each may be set once. \
        Letters combine in any order, in one or several switches.",
    forms: &[
        form("S", Value::None, &["-S"]).help("Bypasses the software cache; the same as `-Su`."),
        form("S", Value::Word(&["b"]), &["-Sb"]).help("Uses the software cache, as without `-S`."),
        form("S", Value::Word(&["h", "uw", "wu"]), &["-Sh", "-Suw"])
            .help("Bypasses the software cache, and writes through to the medium."),
        form("S", Value::Word(&["m", "mb", "mw"]), &["-Sm", "-Smw"])
            .help("Copies to and from a memory map; `w` bypasses the processor's caches."),
        form("S", Value::Word(&["r", "rw"]), &["-Sr"]).help("Bypasses the local cache of a network file system."),
        form("S", Value::Word(&["u"]), &["-Su"]).help("Bypasses the software cache."),
        form("S", Value::Word(&["w", "bw", "wb"]), &["-Sw", "-Sbw"]).help("Writes through to the medium."),
        form("S", Value::Word(&["y", "Y"]), &["-Sy", "-SY"])
            .help("BypassIO: reads bypass the filters of the file system (y), and the volume's drivers too (Y).")
            .since(Version::V2_3)
            .on_linux(Status::Refused("BypassIO exists only on Windows")),
    ],
    apply: |line, value| {
        if value.is_empty() {
            line.require(
                !line.seen.cache && !line.seen.mapped,
                "ERROR: -S conflicts with earlier specification of cache mode",
            )?;
            line.choose_cache(Cache::Unbuffered);
        }
        value.chars().try_for_each(|letter| cache_letter(line, letter))
    },
    ..SYSTEM
};

fn cache_letter(line: &mut Line<'_>, letter: char) -> ParseResult {
    let (cache, write_through, mapped) = (line.seen.cache, line.seen.write_through, line.seen.mapped);
    let unbuffered = line.target.cache == Cache::Unbuffered;
    match letter {
        'b' => {
            line.require(!cache, "ERROR: -Sb conflicts with earlier specification of cache mode")?;
            line.choose_cache(Cache::Cached);
        }
        'h' => {
            line.require(
                !(cache || write_through || mapped),
                "ERROR: -Sh conflicts with earlier specification of cache/writethrough/memory mapped",
            )?;
            line.choose_cache(Cache::Unbuffered);
            line.choose_write_through();
        }
        'm' => {
            line.require(
                !(mapped || unbuffered),
                "ERROR: -Sm conflicts with earlier specification of memory mapped IO/unbuffered IO",
            )?;
            (line.target.memory_mapped, line.seen.mapped) = (true, true);
        }
        'r' => {
            line.require(!cache, "ERROR: -Sr conflicts with earlier specification of cache mode")?;
            line.choose_cache(Cache::NoLocal);
        }
        'u' => {
            line.require(
                !(cache || mapped),
                "ERROR: -Su conflicts with earlier specification of cache mode/memory mapped IO",
            )?;
            line.choose_cache(Cache::Unbuffered);
        }
        'w' => {
            // The missing colon is DiskSpd's.
            line.require(
                !write_through,
                "ERROR -Sw conflicts with earlier specification of write through",
            )?;
            line.choose_write_through();
        }
        'y' if line.accepts_v2_3() => line.span.newer.bypass = Some(BypassIo::Partial),
        'Y' if line.accepts_v2_3() => line.span.newer.bypass = Some(BypassIo::Full),
        _ => return Err(line.refuse("ERROR: unrecognized option provided to -S")),
    }
    Ok(())
}

impl Line<'_> {
    fn require(&mut self, condition: bool, problem: &str) -> ParseResult {
        if condition { Ok(()) } else { Err(self.refuse(problem)) }
    }

    fn choose_cache(&mut self, cache: Cache) {
        self.target.cache = cache;
        self.seen.cache = true;
    }

    fn choose_write_through(&mut self) {
        self.target.write_through = true;
        self.seen.write_through = true;
    }
}

const OLD_UNCACHED: Switch = Switch {
    letter: 'h',
    default: "cached",
    forms: &[form("h", Value::None, &["-h"]).help("The old way to write `-Sh`.")],
    apply: |line, _| {
        // Unlike `-Sh` this does not check memory mapping; validation refuses the combination.
        line.require(
            !(line.seen.cache || line.seen.write_through),
            "ERROR: -h conflicts with earlier specification of cache/writethrough",
        )?;
        line.choose_cache(Cache::Unbuffered);
        line.choose_write_through();
        Ok(())
    },
    ..SYSTEM
};

const FLUSH: Switch = Switch {
    letter: 'N',
    default: "nothing is flushed",
    detail: "Needs `-Sm`; has no effect with write-through. The letter may be a capital.",
    forms: &[
        form("N", Value::Word(&["v"]), &["-Nv"]).help("Writes back the pages of a memory map after each write."),
        form("N", Value::Word(&["n", "i"]), &["-Nn", "-Ni"])
            .help("Writes back cache lines after each write, and drains them (n) or does not (i).")
            .on_linux(Status::Refused("needs a map of persistent memory")),
    ],
    apply: |line, value| {
        line.target.flush = Some(match value {
            "v" | "V" => FlushType::ViewOfFile,
            "n" | "N" => FlushType::NonVolatileMemory,
            "i" | "I" => FlushType::NonVolatileMemoryNoDrain,
            _ => return Err(EarlyEnd::Invalid),
        });
        Ok(())
    },
    ..SYSTEM
};

const COMPLETION_ROUTINES: Switch = Switch {
    letter: 'x',
    scope: Scope::TimeSpan,
    default: "completion port",
    detail: "Linux uses the same queue in both cases; only the report differs. Not with `-g` and `-Sm`.",
    forms: &[form("x", Value::None, &["-x"]).help("Uses I/O completion routines instead of a completion port.")],
    apply: |line, _| assign(&mut line.span.completion_routines, Ok(true)),
    ..SYSTEM
};

const RING: Switch = Switch {
    letter: 'u',
    scope: Scope::TimeSpan,
    default: "chosen for the target",
    detail: "Refused by Windows without IoRing (before Windows 11 and Windows Server 2025). `n` \
        registers no buffers. The meaning of `p` after the number is not published: a profile keeps \
        it, and a run with it is refused.",
    forms: &[
        form("u", Value::None, &["-u"])
            .help("Operations go through the system's submission ring: io_uring on Linux, IoRing on Windows.")
            .since(Version::V2_3),
        form("u", Value::RingBatch, &["-u8", "-un16"])
            .help("The same, with this many operations per submission.")
            .since(Version::V2_3),
    ],
    apply: |line, value| {
        assign(
            &mut line.span.newer.ring,
            Ring::read(value).ok_or(EarlyEnd::Invalid).map(Some),
        )
    },
    ..SYSTEM
};

const LARGE_PAGES: Switch = Switch {
    letter: 'l',
    default: "normal pages",
    detail: "Linux takes them from its reserved pool (`vm.nr_hugepages`); an empty pool is an \
        error. On Windows the account needs the privilege to lock pages in memory.",
    forms: &[form("l", Value::None, &["-l"]).help("Allocates buffers in large pages.")],
    apply: |line, _| assign(&mut line.target.large_pages, Ok(true)),
    ..SYSTEM
};

const PRIORITY: Switch = Switch {
    letter: 'I',
    default: "3",
    detail: "Linux: 1 is the idle class, 2 best effort 7, 3 leaves the priority unchanged. Only \
        some I/O schedulers honour it.",
    forms: &[form(
        "I",
        Value::Integer {
            name: "n",
            min: 1,
            max: 3,
        },
        &["-I1", "-I3"],
    )
    .help("Priority of the operations: 1 very low, 2 low, 3 normal.")],
    apply: |line, value| {
        line.target.priority = match numbers::parse_integer(value) {
            priority @ 1..=3 => priority as u8,
            _ => return Err(EarlyEnd::Invalid),
        };
        Ok(())
    },
    ..SYSTEM
};
