//! Rows of the option table, and constructors for them.

use model::{Bytes, PerDirection};

use super::reader::{ParseResult, Reader};
use crate::Status;
pub(super) use crate::fio::draft::field_of_plan;
use crate::fio::draft::{Draft, Parts, PlanField};
use crate::fio::options::JobOptions;
pub(super) use crate::fio::options::Word;
use crate::fio::print::Section;
use crate::fio::values::{Amount, Unit};
use crate::notation;

/// Access to the field that stores the value of an option.
pub type FieldAccess<T> = fn(&mut JobOptions) -> &mut T;

/// The name of an option and access to its field.
pub(super) type Field<T> = (&'static str, FieldAccess<T>);

/// The value that reports print for an option.
type ReportValue = fn(&JobOptions) -> Option<String>;

/// The function that prints the value of an option for a section.
type PrintFn = fn(&Section<'_>) -> Option<String>;

/// An option: how it is parsed, lowered, printed and explained.
#[derive(Clone, Copy)]
pub struct Row {
    /// Name in job files. Reports use it even if the user wrote an alias.
    pub name: &'static str,
    /// Position in fio's list, and its importance.
    pub rank: Rank,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The kind of its value, and the field that stores it.
    pub kind: Kind,
    /// The smallest value, for kinds that have one.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
    /// Default, as a user would write it; empty without a default.
    pub default: &'static str,
    /// The engines that have it; empty for an option that every job has.
    pub engines: &'static [&'static str],
    /// Whether it is supported.
    pub status: Status,
    /// Help, one line.
    pub help: &'static str,
    /// A valid value.
    pub example: &'static str,
    /// Command lines with this option, each with the plan fields that it sets, according to the
    /// manual. A test checks each of them; `tests/suite/fio/effects.rs` describes the syntax.
    pub effects: &'static [(&'static str, &'static str)],
    /// Effect on other options.
    pub(in crate::fio) then: Option<fn(&mut JobOptions)>,
    /// The plan field that the option equals.
    pub(in crate::fio) field: Option<PlanField>,
    lower: Option<fn(&mut Draft<'_>)>,
    shows: Option<(&'static str, ReportValue)>,
    print: Option<PrintFn>,
}

/// The position of an option in fio's list, and its importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Position in fio's list of options, in steps of ten; 0 for options of engines, which
    /// have lists of their own.
    pub order: u32,
    /// Importance, from a survey of 356 public job files and command lines: 1 if nearly all
    /// need it, 2 if others need it, 3 if it needs special devices or is hardly used.
    pub tier: u8,
}

/// Kinds of values, each with its field. Times are in microseconds.
#[derive(Clone, Copy)]
pub enum Kind {
    /// No value, or a number that is interpreted as a boolean.
    Flag(FieldAccess<bool>),
    /// 0 or 1.
    Bool(FieldAccess<bool>),
    /// A number, which may have the suffix of a size.
    Int(FieldAccess<i64>),
    /// A number, which may be absent.
    OptionalInt(FieldAccess<Option<i64>>),
    /// A size.
    Size(FieldAccess<u64>),
    /// A size, which may be absent.
    OptionalSize(FieldAccess<Option<u64>>),
    /// A size, a percentage, or a number of zones.
    Amount(FieldAccess<Option<Amount>>),
    /// A time.
    Time(FieldAccess<u64>, Unit),
    /// Up to three numbers: for reads, writes, trims.
    PerDirection(FieldAccess<PerDirection<u64>>, Unit),
    /// Numbers with fractions, between colons.
    Reals(FieldAccess<Vec<f64>>),
    /// One number with a fraction.
    Real(FieldAccess<f64>),
    /// Any text.
    Text(FieldAccess<Option<String>>),
    /// One of these words, and a parser for what follows it.
    Word(&'static [Word], Option<fn(&mut Reader<'_>, &str) -> ParseResult>),
    /// Several of these words, between commas.
    Words(&'static [Word]),
    /// A value with its own parser.
    Special(fn(&mut Reader<'_>, &str) -> ParseResult),
    /// Removed: every use is an error.
    Removed,
    /// Removed: a use is reported and has no effect.
    Ignored,
    /// Not parsed; the kind of value it has in fio.
    Unread(&'static str),
}

impl Row {
    /// Name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether this is its name or an alias.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Whether it may have no value. Logs may be bare only in a file (`in_file`).
    pub(in crate::fio) fn may_be_bare(&self, in_file: bool) -> bool {
        match self.kind {
            Kind::Flag(_) => true,
            Kind::Special(_) => in_file && self.name.starts_with("write_") && self.name.ends_with("_log"),
            _ => false,
        }
    }

    /// Applies it to the parts of a clone.
    pub(in crate::fio) fn lower(&self, draft: &mut Draft<'_>) {
        if let Some(field) = self.field {
            self.fill_field(field, draft.options, &mut draft.parts);
        }
        if let Some(lower) = self.lower {
            lower(draft);
        }
    }

    fn fill_field(&self, field: PlanField, options: &mut JobOptions, parts: &mut Parts) {
        fn set<T>(place: Option<&mut T>, value: T) {
            if let Some(place) = place {
                *place = value;
            }
        }
        let number = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        match (self.kind, field) {
            (Kind::Flag(at) | Kind::Bool(at), PlanField::Flag(to)) => set(to(parts), *at(options)),
            (Kind::Flag(at) | Kind::Bool(at), PlanField::Not(to)) => set(to(parts), !*at(options)),
            (Kind::Int(at), PlanField::Count(to) | PlanField::Size(to)) => set(to(parts), number(*at(options))),
            (Kind::Int(at), PlanField::LongCount(to)) => set(to(parts), at(options).max(&mut 0).unsigned_abs()),
            (Kind::Size(at), PlanField::LongCount(to)) => set(to(parts), *at(options)),
            (Kind::Size(at), PlanField::Bytes(to)) => set(to(parts), Bytes(*at(options))),
            (Kind::OptionalInt(at), PlanField::OptionalCount(to)) => {
                set(to(parts), at(options).and_then(|number| u32::try_from(number).ok()));
            }
            (Kind::Text(at), PlanField::Text(to)) => set(to(parts), at(options).clone()),
            _ => debug_assert!(false, "{} is not a plan field", self.name),
        }
    }

    /// Value for a section of a plan, if the section needs it; empty for a bare flag.
    pub(in crate::fio) fn print(&self, section: &mut Section<'_>) -> Option<String> {
        match (self.print, self.field) {
            (Some(print), _) => print(section),
            (None, Some(field)) => self.print_field(field, &mut section.parts),
            (None, None) => None,
        }
    }

    fn print_field(&self, field: PlanField, parts: &mut Parts) -> Option<String> {
        let positive = |number: u64, word: fn(u64) -> String| (number > 0).then(|| word(number));
        let number = |number: u64| number.to_string();
        match field {
            PlanField::Flag(at) => self.print_switch(*at(parts)?),
            PlanField::Not(at) => self.print_switch(!*at(parts)?),
            PlanField::Count(at) => positive(u64::from(*at(parts)?), number),
            PlanField::LongCount(at) => positive(*at(parts)?, number),
            PlanField::OptionalCount(at) => at(parts)?.map(|count| count.to_string()),
            PlanField::Size(at) => positive(u64::from(*at(parts)?), notation::format_size),
            PlanField::Bytes(at) => positive(at(parts)?.0, notation::format_size),
            PlanField::Text(at) => at(parts)?.clone(),
        }
    }

    fn print_switch(&self, on: bool) -> Option<String> {
        let value = if on { "1" } else { "0" };
        match self.kind {
            Kind::Flag(_) => on.then(String::new),
            _ => (value != self.default).then(|| value.to_owned()),
        }
    }

    /// The name and value that reports print for it.
    pub(in crate::fio) fn shown(&self, options: &JobOptions) -> Option<(&'static str, String)> {
        let (name, value_of) = self.shows?;
        Some((name, value_of(options)?))
    }

    const fn new(rank: Rank, name: &'static str, kind: Kind) -> Row {
        Row {
            name,
            rank,
            aliases: &[],
            kind,
            min: None,
            max: None,
            default: "",
            engines: &[],
            status: Status::Supported,
            help: "",
            example: "",
            effects: &[],
            then: None,
            field: None,
            lower: None,
            shows: None,
            print: None,
        }
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Row {
        self.aliases = aliases;
        self
    }

    pub(super) const fn min(mut self, min: i64) -> Row {
        self.min = Some(min);
        self
    }

    pub(super) const fn max(mut self, max: i64) -> Row {
        self.max = Some(max);
        self
    }

    pub(super) const fn default(mut self, default: &'static str) -> Row {
        self.default = default;
        self
    }

    pub(super) const fn engines(mut self, engines: &'static [&'static str]) -> Row {
        self.engines = engines;
        self
    }

    pub(super) const fn without_effect(mut self, why: &'static str) -> Row {
        self.status = Status::WithoutEffect(why);
        self
    }

    pub(super) const fn help(mut self, help: &'static str) -> Row {
        self.help = help;
        self
    }

    pub(super) const fn example(mut self, example: &'static str) -> Row {
        self.example = example;
        self
    }

    pub(super) const fn effects(mut self, effects: &'static [(&'static str, &'static str)]) -> Row {
        self.effects = effects;
        self
    }

    pub(super) const fn then(mut self, then: fn(&mut JobOptions)) -> Row {
        self.then = Some(then);
        self
    }

    /// The option equals this field of the plan.
    pub(super) const fn plan_field(mut self, field: PlanField) -> Row {
        self.field = Some(field);
        self
    }

    /// The function that lowers an option that is more than a plan field.
    pub(super) const fn lowers_with(mut self, lower: fn(&mut Draft<'_>)) -> Row {
        self.lower = Some(lower);
        self
    }

    /// The name and value that reports print for it.
    pub(super) const fn shows(mut self, name: &'static str, value: ReportValue) -> Row {
        self.shows = Some((name, value));
        self
    }

    /// The function that prints an option that is more than a plan field.
    pub(super) const fn prints(mut self, print: PrintFn) -> Row {
        self.print = Some(print);
        self
    }

    /// The parser for what follows the word.
    pub(super) const fn tail(mut self, read: fn(&mut Reader<'_>, &str) -> ParseResult) -> Row {
        if let Kind::Word(words, _) = self.kind {
            self.kind = Kind::Word(words, Some(read));
        }
        self
    }
}

pub(super) const fn tier1(order: u32) -> Rank {
    Rank { order, tier: 1 }
}

pub(super) const fn tier2(order: u32) -> Rank {
    Rank { order, tier: 2 }
}

pub(super) const fn tier3(order: u32) -> Rank {
    Rank { order, tier: 3 }
}

pub(super) const fn flag(rank: Rank, (name, at): Field<bool>) -> Row {
    Row::new(rank, name, Kind::Flag(at))
}

pub(super) const fn boolean(rank: Rank, (name, at): Field<bool>) -> Row {
    Row::new(rank, name, Kind::Bool(at)).min(0).max(1)
}

pub(super) const fn int(rank: Rank, (name, at): Field<i64>) -> Row {
    Row::new(rank, name, Kind::Int(at))
}

pub(super) const fn optional_int(rank: Rank, (name, at): Field<Option<i64>>) -> Row {
    Row::new(rank, name, Kind::OptionalInt(at))
}

pub(super) const fn size(rank: Rank, (name, at): Field<u64>) -> Row {
    Row::new(rank, name, Kind::Size(at))
}

pub(super) const fn optional_size(rank: Rank, (name, at): Field<Option<u64>>) -> Row {
    Row::new(rank, name, Kind::OptionalSize(at))
}

pub(super) const fn amount(rank: Rank, (name, at): Field<Option<Amount>>) -> Row {
    Row::new(rank, name, Kind::Amount(at))
}

pub(super) const fn time(rank: Rank, (name, at): Field<u64>, unit: Unit) -> Row {
    Row::new(rank, name, Kind::Time(at, unit))
}

pub(super) const fn per_direction(rank: Rank, (name, at): Field<PerDirection<u64>>, unit: Unit) -> Row {
    Row::new(rank, name, Kind::PerDirection(at, unit))
}

pub(super) const fn reals(rank: Rank, (name, at): Field<Vec<f64>>) -> Row {
    Row::new(rank, name, Kind::Reals(at))
}

pub(super) const fn real(rank: Rank, (name, at): Field<f64>) -> Row {
    Row::new(rank, name, Kind::Real(at))
}

pub(super) const fn text(rank: Rank, (name, at): Field<Option<String>>) -> Row {
    Row::new(rank, name, Kind::Text(at))
}

pub(super) const fn keyword(rank: Rank, name: &'static str, words: &'static [Word]) -> Row {
    Row::new(rank, name, Kind::Word(words, None))
}

pub(super) const fn keywords(rank: Rank, name: &'static str, words: &'static [Word]) -> Row {
    Row::new(rank, name, Kind::Words(words))
}

pub(super) const fn special(rank: Rank, name: &'static str, read: fn(&mut Reader<'_>, &str) -> ParseResult) -> Row {
    Row::new(rank, name, Kind::Special(read))
}

pub(super) const fn removed(rank: Rank, name: &'static str) -> Row {
    Row::new(rank, name, Kind::Removed)
}

pub(super) const fn ignored(rank: Rank, name: &'static str) -> Row {
    Row::new(rank, name, Kind::Ignored)
}

pub(super) const fn refused(rank: Rank, name: &'static str, kind: &'static str, needs: &'static str) -> Row {
    let mut row = Row::new(rank, name, Kind::Unread(kind));
    row.status = Status::Refused(needs);
    row
}

/// The option named like this field, with access to the field.
macro_rules! field {
    ($group:ident.$field:ident) => {
        (stringify!($field), |job| &mut job.$group.$field)
    };
}

/// A table of rows, which rustfmt does not reformat.
macro_rules! rows {
    ($($row:expr),* $(,)?) => {
        &[$($row),*]
    };
}

pub(super) use {field, rows};
