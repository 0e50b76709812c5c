//! Rows of the parameter table, which drives the parser and the checks and generates
//! `docs/vdbench.md`.

use super::rows::ROWS;
pub use crate::Status;

/// A group of parameters, in the order in which files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Before any definition.
    General,
    /// `hd=`.
    Host,
    /// `rg=`.
    Replay,
    /// `fsd=`.
    Fsd,
    /// `sd=`.
    Sd,
    /// `wd=`.
    Wd,
    /// `fwd=`.
    Fwd,
    /// `rd=`.
    Rd,
}

/// The kind of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Runs on SDs.
    Raw,
    /// Runs on trees of files.
    Files,
}

impl RunKind {
    /// The runs, with the parameter that selects them.
    pub fn describe(self) -> &'static str {
        match self {
            RunKind::Raw => "raw runs (`wd=`)",
            RunKind::Files => "runs on files (`fwd=`)",
        }
    }
}

/// The kind of value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, which are never read as numbers.
    Words,
    /// Numbers; words only if it accepts some.
    Numbers,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind of definition that takes the parameter.
    pub section: Section,
    /// The full name; users may abbreviate it.
    pub name: &'static str,
    /// The name under which the value is stored: another parameter for an alias.
    pub canonical_name: &'static str,
    /// True if the name must not be abbreviated.
    pub exact: bool,
    /// The kind of value.
    pub kind: Kind,
    /// Default value, as the page shows it.
    pub default: &'static str,
    /// Whether fathom implements the parameter.
    pub status: Status,
    /// One sentence for the page.
    pub help: &'static str,
    /// The only kind of runs that it affects; absent if it affects all.
    pub runs: Option<RunKind>,
}

pub(super) const fn row(
    section: Section,
    kind: Kind,
    name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Row {
    Row {
        section,
        name,
        canonical_name: name,
        exact: false,
        kind,
        default,
        status: Status::Supported,
        help,
        runs: None,
    }
}

impl Row {
    pub(super) const fn exact(self) -> Row {
        Row { exact: true, ..self }
    }

    pub(super) const fn as_alias_of(self, field: &'static str) -> Row {
        Row {
            canonical_name: field,
            ..self
        }
    }

    pub(super) const fn only_raw(self) -> Row {
        Row {
            runs: Some(RunKind::Raw),
            ..self
        }
    }

    pub(super) const fn only_files(self) -> Row {
        Row {
            runs: Some(RunKind::Files),
            ..self
        }
    }

    pub(super) const fn refused(self, why: &'static str) -> Row {
        Row {
            status: Status::Refused(why),
            ..self
        }
    }

    pub(super) const fn without_effect(self, why: &'static str) -> Row {
        Row {
            status: Status::WithoutEffect(why),
            ..self
        }
    }
}

/// The row of a keyword: the first one that it abbreviates.
pub fn find(section: Section, keyword: &str) -> Option<&'static Row> {
    let rows_in_section = || ROWS.iter().filter(move |row| row.section == section);
    let exact_match = rows_in_section().find(|row| row.name == keyword);
    exact_match
        .or_else(|| rows_in_section().find(|row| !row.exact && keyword.len() >= 2 && row.name.starts_with(keyword)))
}

impl Section {
    /// Position of the section in a file: ranks must not decrease.
    pub fn rank(self) -> u8 {
        match self {
            Section::General => 0,
            Section::Host => 1,
            Section::Replay | Section::Fsd | Section::Sd => 2,
            Section::Wd | Section::Fwd => 3,
            Section::Rd => 4,
        }
    }

    /// The section whose definitions begin with a keyword.
    pub fn from_keyword(keyword: &str) -> Option<Section> {
        Some(match keyword {
            "hd" => Section::Host,
            "rg" => Section::Replay,
            "fsd" => Section::Fsd,
            "sd" => Section::Sd,
            "wd" => Section::Wd,
            "fwd" => Section::Fwd,
            "rd" => Section::Rd,
            _ => return None,
        })
    }
}
