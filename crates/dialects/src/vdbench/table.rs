//! What a row of the table of parameters says. Parser, checks and `docs/vdbench.md` follow from the
//! rows.

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

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Supported,
    /// It is read and checked; the reason why nothing follows from it.
    WithoutEffect(&'static str),
    /// A run with it is refused; the reason. `-s` prints its plan all the same.
    Refused(&'static str),
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, which are never read as numbers.
    Words,
    /// Numbers; words only where it has some.
    Numbers,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it belongs.
    pub section: Section,
    /// The whole name.
    pub name: &'static str,
    /// The parameter that it is another name of, or its own.
    pub field: &'static str,
    /// It may not be abbreviated.
    pub exact: bool,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it.
    pub default: &'static str,
    /// What becomes of it.
    pub status: Status,
    /// What it means.
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
        field: name,
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

    pub(super) const fn alias_of(self, field: &'static str) -> Row {
        Row { field, ..self }
    }

    pub(super) const fn refused(self, why: &'static str) -> Row {
        Row {
            status: Status::Refused(why),
            ..self
        }
    }

    pub(super) const fn idle(self, why: &'static str) -> Row {
        Row {
            status: Status::WithoutEffect(why),
            ..self
        }
    }
}

/// The row of a keyword: the first one that it abbreviates.
pub fn find(section: Section, keyword: &str) -> Option<&'static Row> {
    let of_section = || ROWS.iter().filter(move |row| row.section == section);
    let whole = of_section().find(|row| row.name == keyword);
    whole.or_else(|| of_section().find(|row| !row.exact && keyword.len() >= 2 && row.name.starts_with(keyword)))
}

impl Section {
    /// The group that its definitions belong to: files have groups in this order.
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
    pub fn of_keyword(keyword: &str) -> Option<Section> {
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
