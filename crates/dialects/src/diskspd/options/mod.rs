//! The table of DiskSpd's switches. The parser, the help and `docs/diskspd.md` are derived from it.

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
pub use crate::Status;

/// A switch: a letter and its forms.
#[derive(Clone, Copy)]
pub struct Switch {
    /// Letter after the `-`.
    pub letter: char,
    /// Group in the help.
    pub group: Group,
    /// The part of a profile that it applies to.
    pub scope: Scope,
    /// Default value, as the help shows it.
    pub default: &'static str,
    /// Further help: units, repetitions, differences between systems.
    pub detail: &'static str,
    /// Accepted forms, such as with and without a value.
    pub forms: &'static [Form],
    pub(super) pass: Pass,
    /// Parses and applies the value.
    pub(super) apply: fn(&mut Line<'_>, &str) -> ParseResult,
}

/// A form of a switch: fixed letters, then a value.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The fixed letters.
    pub head: &'static str,
    /// The kind of value after them.
    pub value: Value,
    /// Help, one line.
    pub help: &'static str,
    /// Valid arguments, covering each kind of value.
    pub examples: &'static [&'static str],
    /// The first version that has it.
    pub since: Version,
    /// Whether it is supported on Linux.
    pub linux: Status,
    /// Whether it is supported on Windows.
    pub windows: Status,
}

/// The value after the letters of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// A decimal number.
    Integer {
        /// Placeholder of the number, in help texts.
        name: &'static str,
        /// Smallest accepted number.
        min: u32,
        /// Largest accepted number.
        max: u32,
    },
    /// A size above zero; 0 only if `zero`.
    Size {
        /// 0 is valid.
        zero: bool,
    },
    /// A size, a colon and another size.
    BaseAndLength,
    /// A size, a comma and the name of a file.
    SizeAndFile,
    /// A number above zero followed by `i`.
    Iops,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Processors, with group numbers among them.
    Processors,
    /// Processors as above, also as ranges; a group number may stand without a list.
    ProcessorRanges,
    /// A number above zero, with an optional `n` before it and an optional `p` after it.
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

/// The part of a profile that a switch applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The process, not the profile.
    Process,
    /// The whole profile.
    Profile,
    /// The time span; a command line has one.
    TimeSpan,
    /// Every target on the line.
    Target,
}

/// Groups of switches, in the order of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Positions.
    Access,
    /// Contents and creation of targets.
    Write,
    /// Depth, threads and rates.
    Load,
    /// Durations.
    Time,
    /// Caches, flushes, interfaces.
    System,
    /// Processors.
    Processors,
    /// Reporting.
    Report,
    /// Profiles, events and others.
    Others,
}

/// When a switch is applied. A pass is complete before the next begins, regardless of the order on
/// the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// In the first pass; allowed with `-X`.
    Composable,
    /// In the first pass: `-b`, on which later switches depend, and `-X` itself.
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
            Group::Access => "Positions",
            Group::Write => "Contents and creation",
            Group::Load => "Depth, threads and rates",
            Group::Time => "Durations",
            Group::System => "Caches, flushes and interfaces",
            Group::Processors => "Processors",
            Group::Report => "Reporting",
            Group::Others => "Profiles, events and others",
        }
    }
}

impl Scope {
    /// The scope in words.
    pub fn label(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Profile => "profile",
            Scope::TimeSpan => "time span",
            Scope::Target => "targets",
        }
    }
}

impl Value {
    /// The placeholder of the value in help texts.
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
    const fn help(mut self, help: &'static str) -> Form {
        self.help = help;
        self
    }

    const fn since(mut self, version: Version) -> Form {
        self.since = version;
        self
    }

    const fn on_linux(mut self, status: Status) -> Form {
        self.linux = status;
        self
    }

    /// It has no effect on any system, for this reason.
    const fn without_effect(mut self, why: &'static str) -> Form {
        self.linux = Status::WithoutEffect(why);
        self.windows = Status::WithoutEffect(why);
        self
    }

    /// True if an argument has this form. This checks its letters and first digit only.
    pub(super) fn matches(&self, switch: &str) -> bool {
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

    /// Formats its syntax, with a placeholder for the value.
    pub fn usage(&self) -> String {
        format!("-{}{}", self.head, self.value.placeholder())
    }
}

impl Switch {
    /// True if the letter requires a value. An argument that follows a lone letter is then probably
    /// that value.
    pub(super) fn needs_value(&self) -> bool {
        let forms_of_2_2 = || self.forms.iter().filter(|form| form.since == Version::V2_2);
        forms_of_2_2().count() > 0 && forms_of_2_2().all(|form| form.head.len() == 1 && form.value != Value::None)
    }

    /// True if the switch has no value and ignores what follows the letter.
    pub(super) fn ignores_value(&self) -> bool {
        matches!(self.forms, [form] if form.value == Value::None && form.head.len() == 1)
    }
}

/// All switches, in the order of the help.
pub fn switches() -> impl Iterator<Item = &'static Switch> {
    let groups = [
        access::ROWS,
        write::ROWS,
        load::ROWS,
        time::ROWS,
        system::ROWS,
        processors::ROWS,
        report::ROWS,
        others::ROWS,
    ];
    groups.into_iter().flatten()
}

impl Switch {
    /// True if this version has the switch.
    pub(super) fn is_in(&self, version: Version) -> bool {
        self.forms.iter().any(|form| form.since <= version)
    }
}

/// Finds a switch by its letter, which is case-sensitive.
pub fn find_switch(letter: char) -> Option<&'static Switch> {
    switches().find(|switch| switch.letter == letter)
}

/// Default fields of a row, for struct update syntax.
const EMPTY_ROW: Switch = Switch {
    letter: '\0',
    group: Group::Others,
    scope: Scope::Target,
    default: "",
    detail: "",
    forms: &[],
    pass: Pass::Second,
    apply: |_, _| Ok(()),
};

/// A form of all versions, supported on all systems.
const fn form(head: &'static str, value: Value, examples: &'static [&'static str]) -> Form {
    Form {
        head,
        value,
        help: "",
        examples,
        since: Version::V2_2,
        linux: Status::Supported,
        windows: Status::Supported,
    }
}

/// A value of at least 1.
const fn count(name: &'static str) -> Value {
    Value::Integer {
        name,
        min: 1,
        max: i32::MAX as u32,
    }
}

/// A value of at least 0.
const fn number(name: &'static str) -> Value {
    Value::Integer {
        name,
        min: 0,
        max: i32::MAX as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_complete() {
        for switch in switches() {
            let letter = switch.letter;
            assert!(!switch.forms.is_empty() && !switch.default.is_empty(), "-{letter}");
            for form in switch.forms {
                let usage = form.usage();
                assert!(form.head.starts_with(letter) && form.help.ends_with('.'), "{usage}");
                assert!(!form.examples.is_empty(), "{usage}");
                for example in form.examples {
                    assert!(example.starts_with(&format!("-{}", form.head)), "{example} of {usage}");
                }
            }
        }
        let letters: std::collections::HashSet<_> = switches().map(|switch| switch.letter).collect();
        assert_eq!(letters.len(), switches().count(), "two rows have the same letter");
    }
}
