//! Switches for reports.

use super::{EMPTY_ROW, Group, Pass, Scope, Switch, Value, count, form};
use crate::assign;
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::newer::Version;
use crate::diskspd::numbers;
use crate::diskspd::profile::ResultFormat;

const REPORT: Switch = Switch {
    group: Group::Report,
    scope: Scope::Profile,
    ..EMPTY_ROW
};

pub(super) const ROWS: &[Switch] = &[HELP, FORMAT, LATENCY, BUCKETS, VERBOSE, PROGRESS];

const HELP: Switch = Switch {
    letter: '?',
    scope: Scope::Process,
    default: "none",
    detail: "Quote it for the shell: `'-?'`.",
    forms: &[form("?", Value::None, &["-?"]).help("This help.")],
    apply: |_, _| Err(EarlyEnd::Help),
    ..REPORT
};

const FORMAT: Switch = Switch {
    letter: 'R',
    default: "text",
    detail: "Also allowed with `-X`. `-Rp` and a format may be two switches.",
    forms: &[
        form("R", Value::Word(&["text", "xml"]), &["-Rtext", "-Rxml"]).help("Format of the report."),
        form("Rp", Value::None, &["-Rp"]).help("Prints the profile instead of running it."),
        form("Rp", Value::Word(&["text", "xml"]), &["-Rptext", "-Rpxml"]).help("Prints the profile in this format."),
        form("Rs", Value::None, &["-Rs"])
            .help("Prints system information and runs nothing. Needs no target.")
            .since(Version::V2_3),
        form("Rs", Value::Word(&["text", "xml"]), &["-Rstext", "-Rsxml"])
            .help("The same in this format.")
            .since(Version::V2_3),
    ],
    pass: Pass::Composable,
    apply: |line, value| {
        let profile = value.strip_prefix('p');
        let system = value.strip_prefix('s').filter(|_| line.accepts_v2_3());
        let format = profile.or(system);
        match format.unwrap_or(value) {
            "text" => line.overrides.format = Some(ResultFormat::Text),
            "xml" => line.overrides.format = Some(ResultFormat::Xml),
            "" if format.is_some() => {}
            "" => return Err(line.refuse("ERROR: unspecified results format -R: use [p]<text|xml>")),
            other => return Err(line.refuse(format!("ERROR: invalid results format (-R): '{other}'"))),
        }
        line.overrides.print_only |= profile.is_some();
        line.overrides.system_only |= system.is_some();
        Ok(())
    },
    ..REPORT
};

const LATENCY: Switch = Switch {
    letter: 'L',
    scope: Scope::TimeSpan,
    default: "off",
    forms: &[form("L", Value::None, &["-L"]).help("Latencies: means, deviations, percentiles.")],
    apply: |line, _| assign(&mut line.span.latency, Ok(true)),
    ..REPORT
};

const BUCKETS: Switch = Switch {
    letter: 'D',
    scope: Scope::TimeSpan,
    default: "off; 1000 ms",
    detail: "The XML report has a line for each interval.",
    forms: &[
        form("D", Value::None, &["-D"]).help("Deviation of the operations per second, over intervals."),
        form("D", count("ms"), &["-D250"]).help("The same, with the interval in milliseconds."),
    ],
    apply: |line, value| {
        line.span.iops_deviation = true;
        line.span.bucket_ms = numbers::parse_positive(value).unwrap_or(line.span.bucket_ms);
        Ok(())
    },
    ..REPORT
};

const VERBOSE: Switch = Switch {
    letter: 'v',
    default: "off",
    forms: &[
        form("v", Value::None, &["-v"]).help("Prints progress messages to stdout."),
        form("vs", Value::None, &["-vs"]).help("Statistics of how threads waited."),
    ],
    pass: Pass::Composable,
    apply: |line, value| {
        match value {
            "" => line.overrides.verbose = true,
            // Recorded runs show that `-vs` does not turn on `-v`.
            "s" => line.overrides.verbose_stats = true,
            _ => return Err(line.refuse(format!("ERROR: invalid verbose mode (-v): '{value}'"))),
        }
        Ok(())
    },
    ..REPORT
};

const PROGRESS: Switch = Switch {
    letter: 'P',
    default: "off; 65536",
    detail: "The dots are on stdout, also before an XML report.",
    forms: &[
        form("P", Value::None, &["-P"]).help("A dot for every 65536 operations of a thread."),
        form("P", count("n"), &["-P5000"]).help("A dot for every n operations of a thread."),
    ],
    apply: |line, value| assign(&mut line.progress, Ok(numbers::parse_positive(value).unwrap_or(65536))),
    ..REPORT
};
