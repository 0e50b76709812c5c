//! The table of DiskSpd's switches. A row is all that a switch needs here: parser, help and
//! `docs/diskspd.md` follow from it.

mod access;
mod load;
mod others;
mod processors;
mod report;
mod system;
mod time;
mod write;

use super::line::{Line, ParseResult};
use super::newer::Version;

/// A letter behind the dash, with all that may follow it.
#[derive(Clone, Copy)]
pub struct Switch {
    /// The letter.
    pub letter: char,
    /// Where it is listed.
    pub group: Group,
    /// What it applies to.
    pub scope: Scope,
    /// What holds without it.
    pub default: &'static str,
    /// More than the forms say: units, what wins when it is repeated, particulars of a system.
    pub detail: &'static str,
    /// Its forms.
    pub forms: &'static [Form],
    pub(super) pass: Pass,
    /// Takes what follows the letter.
    pub(super) read: fn(&mut Line<'_>, &str) -> ParseResult,
}

/// A form of a switch: fixed letters, then a value.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The letters behind the dash that are always there.
    pub head: &'static str,
    /// What follows them.
    pub value: Value,
    /// What it means, in one line.
    pub help: &'static str,
    /// Arguments that work; every kind of value is among them.
    pub examples: &'static [&'static str],
    /// The first DiskSpd that has it.
    pub since: Version,
    /// What becomes of it on Linux.
    pub linux: Status,
    /// What becomes of it on Windows.
    pub windows: Status,
}

/// What follows the letters of a form. The name stands for it in help texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// A decimal number.
    Integer {
        /// What stands for it.
        name: &'static str,
        /// The smallest.
        least: u32,
        /// The largest.
        most: u32,
    },
    /// A size above zero, or from zero.
    Size {
        /// 0 means something.
        zero: bool,
    },
    /// A size, a colon and another size.
    BaseAndLength,
    /// A size, a comma and the name of a file.
    SizeAndFile,
    /// A number above zero with an `i` behind it.
    Iops,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Processors, with group numbers among them.
    Processors,
    /// The same with ranges of processors, and groups without a list.
    ProcessorRanges,
    /// A number above zero, with letters around it.
    RingBatch,
    /// Ranges in percent.
    PercentRanges,
    /// Ranges in bytes.
    AbsoluteRanges,
    /// The name of an event.
    EventName,
    /// The path of a profile.
    ProfilePath,
}

/// What a switch applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The process: it is no part of a profile.
    Process,
    /// The whole profile.
    Profile,
    /// The time span; a command line has one.
    TimeSpan,
    /// Every target on the line.
    Target,
}

/// What becomes of a form on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Supported,
    /// It is accepted and shown in profiles; the reason why nothing follows from it.
    WithoutEffect(&'static str),
    /// A run with it is refused; the reason.
    Refused(&'static str),
}

/// Groups of switches, in the order of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Which places are read and written.
    Access,
    /// What is written, and into what.
    Write,
    /// How much at once and how fast.
    Load,
    /// How long.
    Time,
    /// How the system is asked.
    System,
    /// Which processors.
    Processors,
    /// What is reported.
    Report,
    /// The rest.
    Others,
}

/// When a switch acts. An earlier pass is over before the next begins, wherever on the line its
/// switches stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// In the first pass, also beside `-X`.
    Composable,
    /// In the first pass: `-b`, which later switches refer to, and `-X` itself.
    First,
    /// In the second pass.
    Second,
}

impl Group {
    /// All of them, in the order of the help.
    pub const ALL: &'static [Group] = &[
        Group::Access,
        Group::Write,
        Group::Load,
        Group::Time,
        Group::System,
        Group::Processors,
        Group::Report,
        Group::Others,
    ];

    /// Heading in help texts.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Access => "Where operations go",
            Group::Write => "What is written",
            Group::Load => "How much at once, and how fast",
            Group::Time => "How long",
            Group::System => "How the system is asked",
            Group::Processors => "Which processors",
            Group::Report => "Reporting",
            Group::Others => "Profiles, events, the rest",
        }
    }
}

impl Scope {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Profile => "profile",
            Scope::TimeSpan => "time span",
            Scope::Target => "targets",
        }
    }
}

impl Value {
    /// What stands for the value in help texts.
    pub fn placeholder(self) -> String {
        match self {
            Value::None => String::new(),
            Value::Integer { name, .. } => format!("<{name}>"),
            Value::Size { .. } => "<size>".into(),
            Value::BaseAndLength => "<base>:<length>".into(),
            Value::SizeAndFile => "<size>,<file>".into(),
            Value::Iops => "<n>i".into(),
            Value::Word([word]) => (*word).to_string(),
            Value::Word(words) => format!("<{}>", words.join("|")),
            Value::Processors => "<cpu>,g<group>,<cpu>,...".into(),
            Value::ProcessorRanges => "<cpu>-<cpu>,g<group>,...".into(),
            Value::RingBatch => "[n]<batch>[p]".into(),
            Value::PercentRanges => "<io%>/<target%>:...".into(),
            Value::AbsoluteRanges => "<io%>/<size>:...".into(),
            Value::EventName => "<name>".into(),
            Value::ProfilePath => "<file>".into(),
        }
    }
}

impl Form {
    /// An argument is of this form, by its letters and its first digit.
    pub(super) fn may_be(&self, switch: &str) -> bool {
        let rest = switch.strip_prefix(self.head);
        rest.is_some_and(|rest| match self.value {
            Value::None => rest.is_empty(),
            Value::Word(words) => words.contains(&rest),
            Value::Size { .. } | Value::Integer { .. } => rest.starts_with(|c: char| c.is_ascii_digit()),
            Value::RingBatch => rest.starts_with(|c: char| c.is_ascii_digit() || c == 'n'),
            Value::Processors => rest.starts_with(|c: char| c.is_ascii_digit() || c == 'g') && !rest.contains('-'),
            Value::ProcessorRanges => rest.contains('-'),
            _ => true,
        })
    }

    /// How it is written, with a placeholder for its value.
    pub fn written(&self) -> String {
        format!("-{}{}", self.head, self.value.placeholder())
    }
}

impl Switch {
    /// A value has to follow the letter, so that a lone letter was probably meant to be followed by
    /// the next argument.
    pub(super) fn needs_value(&self) -> bool {
        let of_2_2 = || self.forms.iter().filter(|form| form.since == Version::V2_2);
        of_2_2().count() > 0 && of_2_2().all(|form| form.head.len() == 1 && form.value != Value::None)
    }

    /// Nothing may follow the letter; whatever does is not looked at.
    pub(super) fn ignores_value(&self) -> bool {
        matches!(self.forms, [form] if form.value == Value::None && form.head.len() == 1)
    }
}

/// All switches.
pub const SWITCHES: &[Switch] = &[
    access::BLOCK,
    access::RANDOM,
    access::SEQUENTIAL,
    access::BASE,
    access::END,
    access::THREAD_STRIDE,
    access::PARALLEL,
    access::SEED,
    write::WRITE,
    write::CONTENTS,
    write::CREATE,
    load::REQUESTS,
    load::THREADS,
    load::POOL,
    load::COMMON_REQUESTS,
    load::THROUGHPUT,
    load::BURST,
    load::THINK,
    time::DURATION,
    time::WARM_UP,
    time::COOL_DOWN,
    system::CACHE,
    system::OLD_UNCACHED,
    system::FLUSH,
    system::COMPLETION_ROUTINES,
    system::RING,
    system::LARGE_PAGES,
    system::PRIORITY,
    processors::AFFINITY,
    processors::NO_AFFINITY,
    report::HELP,
    report::FORMAT,
    report::LATENCY,
    report::BUCKETS,
    report::VERBOSE,
    report::PROGRESS,
    others::PROFILE,
    others::EVENTS,
    others::TRACING,
    others::EXPERIMENTS,
];

impl Switch {
    /// The DiskSpd of this version has it.
    pub(super) fn is_in(&self, version: Version) -> bool {
        self.forms.iter().any(|form| form.since <= version)
    }
}

/// The switch of a letter. Capitals are letters of their own.
pub fn find(letter: char) -> Option<&'static Switch> {
    SWITCHES.iter().find(|switch| switch.letter == letter)
}

/// A row with everything empty, for those below to fill in.
const ROW: Switch = Switch {
    letter: '\0',
    group: Group::Others,
    scope: Scope::Target,
    default: "",
    detail: "",
    forms: &[],
    pass: Pass::Second,
    read: |_, _| Ok(()),
};

/// A form with everything empty, supported everywhere.
const FORM: Form = Form {
    head: "",
    value: Value::None,
    help: "",
    examples: &[],
    since: Version::V2_2,
    linux: Status::Supported,
    windows: Status::Supported,
};

/// A count from 1.
const fn count(name: &'static str) -> Value {
    Value::Integer {
        name,
        least: 1,
        most: i32::MAX as u32,
    }
}

/// A number from 0.
const fn number(name: &'static str) -> Value {
    Value::Integer {
        name,
        least: 0,
        most: i32::MAX as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_whole() {
        for switch in SWITCHES {
            let letter = switch.letter;
            assert!(!switch.forms.is_empty() && !switch.default.is_empty(), "-{letter}");
            for form in switch.forms {
                let written = form.written();
                assert!(form.head.starts_with(letter) && form.help.ends_with('.'), "{written}");
                assert!(!form.examples.is_empty(), "{written}");
                for example in form.examples {
                    assert!(
                        example.starts_with(&format!("-{}", form.head)),
                        "{example} of {written}"
                    );
                }
            }
        }
        let letters: std::collections::HashSet<_> = SWITCHES.iter().map(|switch| switch.letter).collect();
        assert_eq!(letters.len(), SWITCHES.len(), "a letter stands twice");
    }
}
