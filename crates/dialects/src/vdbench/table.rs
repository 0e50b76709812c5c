//! Defines the rows of the table of parameters. Parser, checks and `docs/vdbench.md` follow from
//! them.

use super::rows::ROWS;

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

/// Support of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is implemented.
    Supported,
    /// It is parsed and checked; the reason why it has no effect.
    WithoutEffect(&'static str),
    /// A run with it is refused; the reason. `-s` prints its plan nevertheless.
    Refused(&'static str),
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
    /// Its section.
    pub section: Section,
    /// The whole name.
    pub name: &'static str,
    /// The parameter for which it is another name, or its own name.
    pub canonical_name: &'static str,
    /// It must not be abbreviated.
    pub exact: bool,
    /// The kind of value.
    pub kind: Kind,
    /// The default.
    pub default: &'static str,
    /// Its support.
    pub status: Status,
    /// Its meaning.
    pub help: &'static str,
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
    /// The group of the section's definitions: files have groups in this order.
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
