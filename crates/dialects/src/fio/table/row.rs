//! What a row of the table says, and short ways to write one.

use model::{Bytes, PerDirection};

use super::reader::{ParseResult, Reader};
pub(super) use crate::fio::draft::field_of_plan;
use crate::fio::draft::{Draft, Parts, PlanField};
use crate::fio::options::JobOptions;
pub(super) use crate::fio::options::Word;
use crate::fio::print::Section;
use crate::fio::values::{Amount, Unit};
use crate::notation;

/// Where the value of an option lies.
pub type FieldAccess<T> = fn(&mut JobOptions) -> &mut T;

/// An option with the place of its value.
pub(super) type Field<T> = (&'static str, FieldAccess<T>);

/// What reports say of an option.
type Setting = fn(&JobOptions) -> Option<String>;

/// How a section of a plan is written as the value of an option.
type Print = fn(&Section<'_>) -> Option<String>;

/// What has to do with an option.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name in job files, and in reports whatever alias was written.
    pub name: &'static str,
    /// Its place in fio's own list, and how much it matters.
    pub rank: Rank,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What kind of value it has, and where that goes.
    pub kind: Kind,
    /// The smallest value, for kinds that have one.
    pub least: Option<i64>,
    /// The largest value.
    pub most: Option<i64>,
    /// What holds without it, as it would be written; empty if nothing does.
    pub default: &'static str,
    /// The engines that have it; none of them for an option that every job has.
    pub engines: &'static [&'static str],
    /// What becomes of it.
    pub status: Status,
    /// What it means, in a line.
    pub help: &'static str,
    /// A value that works.
    pub example: &'static str,
    /// Command lines that have it, each with what their plan then holds and would not hold without
    /// it, as the manual has it. A test looks for each of them; `tests/suite/fio/effects.rs` says
    /// how they are written.
    pub effects: &'static [(&'static str, &'static str)],
    /// What follows for other options when it is given.
    pub(in crate::fio) then: Option<fn(&mut JobOptions)>,
    /// The field of the plan that it is.
    pub(in crate::fio) field: Option<PlanField>,
    lower: Option<fn(&mut Draft<'_>)>,
    shows: Option<(&'static str, Setting)>,
    print: Option<Print>,
}

/// The place of an option among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Where it stands in fio's list of options, in steps of ten; 0 for options of engines, which
    /// have lists of their own.
    pub order: u32,
    /// How much it matters, by a survey of 356 public job files and command lines: 1 for what
    /// nearly all of them need, 2 for what the rest of them needs, 3 for what takes special devices
    /// or is hardly used.
    pub tier: u8,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Supported,
    /// It is accepted; the reason why nothing follows from it.
    WithoutEffect(&'static str),
    /// It is recognised and refused unless it has its default; what it would need.
    Refused(&'static str),
}

/// Kinds of values, and where they go. Times are in microseconds.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Nothing, or a number that is 0 or not.
    Flag(FieldAccess<bool>),
    /// 0 or 1.
    Bool(FieldAccess<bool>),
    /// A number, which may have the suffix of a size.
    Int(FieldAccess<i64>),
    /// The same, where none is something else than 0.
    OptionalInt(FieldAccess<Option<i64>>),
    /// A size.
    Size(FieldAccess<u64>),
    /// The same, where none is something else than 0.
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
    /// One of these words; what follows a colon behind it.
    Word(&'static [Word], Option<fn(&mut Reader<'_>, &str) -> ParseResult>),
    /// Several of these words, between commas.
    Words(&'static [Word]),
    /// With a grammar of its own.
    Special(fn(&mut Reader<'_>, &str) -> ParseResult),
    /// Gone: every use is an error.
    Removed,
    /// Gone: it is said and nothing follows.
    Ignored,
    /// Not read here; the kind of value it has in fio.
    Unread(&'static str),
}

impl Row {
    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// One of its names is this.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// It may stand without a value. `in_file` is where the bare names of logs are meant to work.
    pub(in crate::fio) fn may_be_bare(&self, in_file: bool) -> bool {
        match self.kind {
            Kind::Flag(_) => true,
            Kind::Special(_) => in_file && self.name.starts_with("write_") && self.name.ends_with("_log"),
            _ => false,
        }
    }

    /// Carries it into the parts of a clone.
    pub(in crate::fio) fn lower(&self, draft: &mut Draft<'_>) {
        if let Some(field) = self.field {
            self.fill(field, draft.options, &mut draft.parts);
        }
        if let Some(lower) = self.lower {
            lower(draft);
        }
    }

    fn fill(&self, field: PlanField, options: &mut JobOptions, parts: &mut Parts) {
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
            _ => debug_assert!(false, "{} is not a field of a plan", self.name),
        }
    }

    /// Its value for a section of a plan, if the section needs it; empty for one that stands alone.
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
            PlanField::Size(at) => positive(u64::from(*at(parts)?), notation::size),
            PlanField::Bytes(at) => positive(at(parts)?.0, notation::size),
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

    /// What reports say of it: a name that they know, and its value.
    pub(in crate::fio) fn shown(&self, options: &JobOptions) -> Option<(&'static str, String)> {
        let (name, value) = self.shows?;
        Some((name, value(options)?))
    }

    const fn new(rank: Rank, name: &'static str, kind: Kind) -> Row {
        Row {
            name,
            rank,
            aliases: &[],
            kind,
            least: None,
            most: None,
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

    pub(super) const fn least(mut self, least: i64) -> Row {
        self.least = Some(least);
        self
    }

    pub(super) const fn most(mut self, most: i64) -> Row {
        self.most = Some(most);
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

    /// It is this field of the plan, and nothing more.
    pub(super) const fn is(mut self, field: PlanField) -> Row {
        self.field = Some(field);
        self
    }

    /// What it means for a clone, beside what other options say.
    pub(super) const fn means(mut self, lower: fn(&mut Draft<'_>)) -> Row {
        self.lower = Some(lower);
        self
    }

    /// What reports show of it, by the name that they know.
    pub(super) const fn shows(mut self, name: &'static str, value: Setting) -> Row {
        self.shows = Some((name, value));
        self
    }

    /// How a plan is written as its value, where that does not follow from a field of the plan.
    pub(super) const fn prints(mut self, print: Print) -> Row {
        self.print = Some(print);
        self
    }

    /// What follows the letters of a word's value.
    pub(super) const fn tail(mut self, read: fn(&mut Reader<'_>, &str) -> ParseResult) -> Row {
        if let Kind::Word(words, _) = self.kind {
            self.kind = Kind::Word(words, Some(read));
        }
        self
    }
}

pub(super) const fn first(order: u32) -> Rank {
    Rank { order, tier: 1 }
}

pub(super) const fn second(order: u32) -> Rank {
    Rank { order, tier: 2 }
}

pub(super) const fn third(order: u32) -> Rank {
    Rank { order, tier: 3 }
}

pub(super) const fn flag(rank: Rank, (name, at): Field<bool>) -> Row {
    Row::new(rank, name, Kind::Flag(at))
}

pub(super) const fn boolean(rank: Rank, (name, at): Field<bool>) -> Row {
    Row::new(rank, name, Kind::Bool(at)).least(0).most(1)
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

pub(super) const fn word(rank: Rank, name: &'static str, words: &'static [Word]) -> Row {
    Row::new(rank, name, Kind::Word(words, None))
}

pub(super) const fn words(rank: Rank, name: &'static str, words: &'static [Word]) -> Row {
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

/// The option of a field's name, with the place of its value.
macro_rules! field {
    ($group:ident.$field:ident) => {
        (stringify!($field), |job| &mut job.$group.$field)
    };
}

/// A table of rows, in lines as long as they need to be.
macro_rules! rows {
    ($($row:expr),* $(,)?) => {
        &[$($row),*]
    };
}

pub(super) use {field, rows};
