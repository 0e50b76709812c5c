//! Switches for profiles, events, tracing and experiments.

use super::{EMPTY_ROW, Pass, Scope, Switch, Value, form, number};
use crate::assign;
use crate::diskspd::line::{EarlyEnd, EventRole, Line, ParseResult};
use crate::diskspd::numbers;
use crate::diskspd::profile::Etw;

pub(super) const ROWS: &[Switch] = &[PROFILE, EVENTS, TRACING, EXPERIMENTS];

const PROFILE: Switch = Switch {
    letter: 'X',
    scope: Scope::Profile,
    default: "none",
    detail: "Can be combined only with `-:`, `-C`, `-d`, `-R`, `-v`, `-W` and `-z`, which override \
        all time spans of the file. Targets on the line replace the slots `*1`, `*2`, … of the \
        file.",
    forms: &[form("X", Value::ProfilePath, &["-Xprofile.xml"]).help("Runs the XML profile in this file.")],
    pass: Pass::First,
    apply: |line, value| assign(&mut line.overrides.profile_path, Ok(Some(value.to_string()))),
    ..EMPTY_ROW
};

const EVENTS: Switch = Switch {
    letter: 'y',
    scope: Scope::Process,
    default: "none",
    detail: "A missing event is created; another process sets it with `-ye`.",
    forms: &[
        form("ys", Value::EventName, &["-ysbegun"]).help("Sets this event when the measured time begins."),
        form("yf", Value::EventName, &["-yfended"]).help("Sets this event when the measured time ends."),
        form("yr", Value::EventName, &["-yrgo"]).help("Waits for this event before the warm-up."),
        form("yp", Value::EventName, &["-ypstop"]).help("Ends the run when another process sets this event."),
        form("ye", Value::EventName, &["-yego"]).help("Sets this event, which must exist, and ends with exit code 1."),
    ],
    apply: |line, value| {
        let (role, what, name) = match value.as_bytes().first() {
            Some(b's') => (EventRole::Start, "start notification", &value[1..]),
            Some(b'f') => (EventRole::Finish, "finish notification", &value[1..]),
            Some(b'r') => (EventRole::Wait, "wait-for-start", &value[1..]),
            Some(b'p') => (EventRole::Stop, "force-stop", &value[1..]),
            Some(b'e') => return signal(line, &value[1..]),
            _ => return Err(EarlyEnd::Invalid),
        };
        if let Err(why) = line.env.open_event(role, name) {
            line.system_errors.push(why);
            line.stderr
                .push(format!("Error creating/opening {what} event: '{name}'"));
            return Err(EarlyEnd::Exit(1));
        }
        line.events.set(role, name);
        Ok(())
    },
    ..EMPTY_ROW
};

fn signal(line: &mut Line<'_>, name: &str) -> ParseResult {
    if let Err(why) = line.env.signal_event(name) {
        line.system_errors.extend(Some(why).filter(|why| !why.is_empty()));
        line.stderr.push(format!("Error opening event '{name}'"));
        return Err(EarlyEnd::Exit(1));
    }
    // DiskSpd's spelling, which scripts may match.
    line.stdout.push(format!("Succesfully set event: '{name}'"));
    line.only_signal = true;
    Ok(())
}

const NO_TRACING: &str = "kernel events are not traced; the report has no such section";

const TRACING: Switch = Switch {
    letter: 'e',
    scope: Scope::Profile,
    default: "off",
    forms: &[
        form("e", Value::Word(&["p", "q", "s", "c"]), &["-ep", "-eq", "-es", "-ec"])
            .help("Kernel events: paged memory (p), clock by performance counter (q), system timer (s) or cycles (c).")
            .without_effect(NO_TRACING),
        form(
            "e",
            Value::Word(&[
                "PROCESS", "THREAD", "IMAGE_LOAD", "DISK_IO", "MEMORY_PAGE_FAULTS", "MEMORY_HARD_FAULTS", "NETWORK",
                "REGISTRY",
            ]),
            &["-eDISK_IO"],
        )
        .help("Kernel event class to trace.")
        .without_effect(NO_TRACING),
    ],
    apply: |line, value| {
        let mut etw = line.etw.unwrap_or_default();
        *tracing(&mut etw, value).ok_or(EarlyEnd::Invalid)? = true;
        line.etw = Some(etw);
        Ok(())
    },
    ..EMPTY_ROW
};

/// The flag that a value of `-e` enables. After a lower-case letter the rest is ignored.
fn tracing<'a>(etw: &'a mut Etw, value: &str) -> Option<&'a mut bool> {
    Some(match value {
        "PROCESS" => &mut etw.process,
        "THREAD" => &mut etw.thread,
        "IMAGE_LOAD" => &mut etw.image_load,
        "DISK_IO" => &mut etw.disk_io,
        "MEMORY_PAGE_FAULTS" => &mut etw.memory_page_faults,
        "MEMORY_HARD_FAULTS" => &mut etw.memory_hard_faults,
        "NETWORK" => &mut etw.network,
        "REGISTRY" => &mut etw.registry,
        _ => match value.as_bytes().first()? {
            b'p' => &mut etw.use_paged_memory,
            b'q' => &mut etw.use_perf_timer,
            b's' => &mut etw.use_system_timer,
            b'c' => &mut etw.use_cycles_counter,
            _ => return None,
        },
    })
}

const EXPERIMENTS: Switch = Switch {
    letter: ':',
    scope: Scope::Profile,
    default: "0",
    detail: "Bit 0 makes a thread that `-g` throttles sleep until the next operation is due; fathom \
        always does so. Other bits have no meaning.",
    forms: &[form(":", number("n"), &["-:1"])
        .help("Bit mask of experiments.")
        .without_effect("throttled threads always sleep until the next operation is due")],
    pass: Pass::Composable,
    apply: |line, value| {
        let flags = numbers::parse_integer(value) as u32;
        assign(&mut line.overrides.experiment_flags, Ok(Some(flags)))
    },
    ..EMPTY_ROW
};
