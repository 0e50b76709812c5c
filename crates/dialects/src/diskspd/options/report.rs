//! What is reported, and how.

use super::{FORM, Form, Group, Pass, ROW, Scope, Switch, Value, count};
use crate::diskspd::line::EarlyEnd;
use crate::diskspd::newer::Version;
use crate::diskspd::numbers;
use crate::diskspd::profile::ResultFormat;

const REPORT: Switch = Switch {
    group: Group::Report,
    scope: Scope::Profile,
    ..ROW
};

pub(super) const HELP: Switch = Switch {
    letter: '?',
    scope: Scope::Process,
    default: "none",
    detail: "Quote it for the shell: `'-?'`.",
    forms: &[Form {
        head: "?",
        value: Value::None,
        help: "This help.",
        examples: &["-?"],
        ..FORM
    }],
    read: |_, _| Err(EarlyEnd::Help),
    ..REPORT
};

pub(super) const FORMAT: Switch = Switch {
    letter: 'R',
    default: "text",
    detail: "Also beside `-X`. `-Rp` and a format may be two switches.",
    forms: &[
        Form {
            head: "R",
            value: Value::Word(&["text", "xml"]),
            help: "Form of the report.",
            examples: &["-Rtext", "-Rxml"],
            ..FORM
        },
        Form {
            head: "Rp",
            value: Value::None,
            help: "Prints the profile instead of running it.",
            examples: &["-Rp"],
            ..FORM
        },
        Form {
            head: "Rp",
            value: Value::Word(&["text", "xml"]),
            help: "Prints the profile in this form.",
            examples: &["-Rptext", "-Rpxml"],
            ..FORM
        },
        Form {
            head: "Rs",
            value: Value::None,
            help: "Prints what is known of the machine and runs nothing. No target is needed.",
            examples: &["-Rs"],
            since: Version::V2_3,
            ..FORM
        },
        Form {
            head: "Rs",
            value: Value::Word(&["text", "xml"]),
            help: "The same in this form.",
            examples: &["-Rstext", "-Rsxml"],
            since: Version::V2_3,
            ..FORM
        },
    ],
    pass: Pass::Composable,
    read: |line, value| {
        let profile = value.strip_prefix('p');
        let system = value.strip_prefix('s').filter(|_| line.is_newer());
        let of_part = profile.or(system);
        match of_part.unwrap_or(value) {
            "text" => line.composed.format = Some(ResultFormat::Text),
            "xml" => line.composed.format = Some(ResultFormat::Xml),
            "" if of_part.is_some() => {}
            "" => return Err(line.refuse("ERROR: unspecified results format -R: use [p]<text|xml>")),
            other => return Err(line.refuse(format!("ERROR: invalid results format (-R): '{other}'"))),
        }
        line.composed.print_only |= profile.is_some();
        line.composed.system_only |= system.is_some();
        Ok(())
    },
    ..REPORT
};

pub(super) const LATENCY: Switch = Switch {
    letter: 'L',
    scope: Scope::TimeSpan,
    default: "off",
    detail: "",
    forms: &[Form {
        head: "L",
        value: Value::None,
        help: "Latencies: means, deviations, percentiles.",
        examples: &["-L"],
        ..FORM
    }],
    read: |line, _| {
        line.span.latency = true;
        Ok(())
    },
    ..REPORT
};

pub(super) const BUCKETS: Switch = Switch {
    letter: 'D',
    scope: Scope::TimeSpan,
    default: "off; 1000 ms",
    detail: "The XML report has a line for each interval.",
    forms: &[
        Form {
            head: "D",
            value: Value::None,
            help: "Deviation of the operations per second, over intervals.",
            examples: &["-D"],
            ..FORM
        },
        Form {
            head: "D",
            value: count("ms"),
            help: "The same, with the interval in milliseconds.",
            examples: &["-D250"],
            ..FORM
        },
    ],
    read: |line, value| {
        line.span.iops_deviation = true;
        line.span.bucket_ms = numbers::positive(value).unwrap_or(line.span.bucket_ms);
        Ok(())
    },
    ..REPORT
};

pub(super) const VERBOSE: Switch = Switch {
    letter: 'v',
    default: "off",
    detail: "",
    forms: &[
        Form {
            head: "v",
            value: Value::None,
            help: "Tells on stdout what is going on.",
            examples: &["-v"],
            ..FORM
        },
        Form {
            head: "vs",
            value: Value::None,
            help: "Statistics of how threads waited.",
            examples: &["-vs"],
            ..FORM
        },
    ],
    pass: Pass::Composable,
    read: |line, value| {
        match value {
            "" => line.composed.verbose = true,
            // Recorded runs show that this does not turn the other on.
            "s" => line.composed.verbose_stats = true,
            _ => return Err(line.refuse(format!("ERROR: invalid verbose mode (-v): '{value}'"))),
        }
        Ok(())
    },
    ..REPORT
};

pub(super) const PROGRESS: Switch = Switch {
    letter: 'P',
    default: "off; 65536",
    detail: "The dots are on stdout, also before an XML report.",
    forms: &[
        Form {
            head: "P",
            value: Value::None,
            help: "A dot for every 65536 operations of a thread.",
            examples: &["-P"],
            ..FORM
        },
        Form {
            head: "P",
            value: count("n"),
            help: "A dot for every n operations of a thread.",
            examples: &["-P5000"],
            ..FORM
        },
    ],
    read: |line, value| {
        line.progress = numbers::positive(value).unwrap_or(65536);
        Ok(())
    },
    ..REPORT
};
