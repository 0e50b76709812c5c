//! One option onto one job: which kind of value it has, whether that is within bounds, and what fio says if it is not.

use model::PerDirection;

use super::options::{At, JobOptions, Kind, Row, Status, Word};
use super::show;
use super::values::{self, Number, Unit};

/// What reading may ask of the machine and its files.
pub trait Surroundings {
    /// The text of a job file; `-` is standard input.
    ///
    /// # Errors
    /// The system's words for the reason.
    fn read_job_file(&mut self, path: &str) -> Result<String, String>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Whether a path is a directory.
    ///
    /// # Errors
    /// The system's words for the reason why it cannot be told.
    fn is_directory(&self, path: &str) -> Result<bool, String>;

    /// Opens the file of `--output`.
    ///
    /// # Errors
    /// The system's words for the reason.
    fn open_output(&mut self, path: &str) -> Result<(), String>;

    /// Bytes of a page (`$pagesize`).
    fn page_size(&self) -> u64;

    /// Configured processors (`$ncpus`).
    fn processors(&self) -> u64;

    /// Memory of the machine in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;
}

/// A line to be told, or the place among them of a job's banner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A line for stdout.
    Out(String),
    /// A line for stderr.
    Err(String),
    /// What to do about an error, for a line `hint: …`; fio has no such lines.
    Hint(String),
    /// The banner of the job with this index, which is printed as soon as the job is known to be good.
    Added(usize),
}

/// Why an option is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Its value is wrong; the line that all of them share is still to be said.
    Failed,
    /// All has been said.
    Said,
}

/// What an option answers.
pub type Taken = Result<(), Wrong>;

/// A job that takes options.
pub struct Reader<'a> {
    pub(super) job: &'a mut JobOptions,
    /// Nothing while defaults are filled in, which ask for nothing.
    pub(super) around: Option<&'a mut dyn Surroundings>,
    pub(super) told: &'a mut Vec<Told>,
    /// `--readonly` stood before.
    pub(super) readonly: bool,
}

/// The longest list of numbers with fractions.
const REALS: usize = 20;

impl Reader<'_> {
    /// Takes an option as it was written: without a value, or with one.
    pub(super) fn option(&mut self, row: &Row, written: Option<&str>, in_file: bool) -> Taken {
        let name = row.name;
        match row.status {
            Status::Refused => {
                self.say(format!("fio: option {name} is not supported by this program"));
                return Err(Wrong::Said);
            }
            Status::Supported | Status::WithoutEffect(_) => {}
        }
        let before = self.job.queue.ioengine.clone();
        match written {
            Some(value) => self.value(row, value)?,
            None if row.may_be_bare(in_file) => self.bare(row)?,
            None if matches!(row.kind, Kind::Word(..)) => return Err(self.not_among(row)),
            None => {
                self.say(format!("Option {name} requires an argument"));
                return Err(Wrong::Failed);
            }
        }
        if let Some(then) = row.then {
            then(self.job);
        }
        if self.job.queue.ioengine != before {
            self.job.forget_engine_options();
        }
        Ok(())
    }

    fn bare(&mut self, row: &Row) -> Taken {
        match row.kind {
            Kind::Flag(at) => *at(self.job) = true,
            Kind::Special(read) => read(self, "")?,
            _ => {}
        }
        Ok(())
    }

    /// Takes a value.
    pub(super) fn value(&mut self, row: &Row, text: &str) -> Taken {
        if text.is_empty() {
            return Err(match row.kind {
                Kind::Word(..) => self.not_among(row),
                _ => Wrong::Failed,
            });
        }
        match row.kind {
            Kind::Flag(_) | Kind::Bool(_) | Kind::Int(_) | Kind::OptionalInt(_) => self.first_of_list(row, text)?,
            Kind::Size(_) | Kind::OptionalSize(_) | Kind::Amount(_) | Kind::Time(..) => {
                self.first_of_list(row, text)?
            }
            Kind::PerDirection(at, unit) => self.per_direction(row, text, at, unit)?,
            Kind::Reals(at) => *at(self.job) = self.reals(row, text)?,
            Kind::Real(at) => *at(self.job) = self.reals(row, text)?.first().copied().unwrap_or_default(),
            Kind::Text(at) => *at(self.job) = Some(text.to_string()),
            Kind::Word(words, tail) => self.word(row, words, tail, text)?,
            Kind::Words(words) => {
                for piece in text.split(',') {
                    self.word(row, words, None, piece)?;
                }
            }
            Kind::Special(read) => read(self, text)?,
            Kind::Removed | Kind::Ignored => {
                self.told.push(Told::Out(format!("Option {} is deprecated", row.name)));
                return match row.kind {
                    Kind::Removed => Err(Wrong::Failed),
                    _ => Ok(()),
                };
            }
            Kind::Unread(_) => {}
        }
        Ok(())
    }

    /// A line for stderr.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.told.push(Told::Err(line.into()));
    }

    /// Says what is wrong with a value.
    pub(super) fn fail(&mut self, line: impl Into<String>) -> Wrong {
        self.say(line);
        Wrong::Failed
    }

    /// A size or a count.
    pub(super) fn number(&self, text: &str) -> Result<Number, Wrong> {
        values::number(text, Unit::Bytes, self.job.kb_base()).ok_or(Wrong::Failed)
    }

    /// Every number may be a list to fio: the first is kept, the others are only looked at, and one that is good is enough.
    fn first_of_list(&mut self, row: &Row, text: &str) -> Taken {
        let mut outcome = self.single(row, text, true);
        // A minus sign in front belongs to the number, one further on divides.
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let others = values::split(unsigned, &[',', ':', '-']).into_iter().skip(1);
        for other in others.filter(|other| !other.is_empty()) {
            outcome = outcome.or(self.single(row, other, false));
        }
        outcome
    }

    /// Reads one number, and keeps it if it is to be kept.
    fn single(&mut self, row: &Row, text: &str, keep: bool) -> Taken {
        let kb_base = self.job.kb_base();
        match row.kind {
            Kind::Flag(at) => {
                let value = values::digits(text).ok_or(Wrong::Failed)?;
                keep.then(|| *at(self.job) = value != 0);
            }
            Kind::Bool(at) => {
                let value = values::digits(text).ok_or(Wrong::Failed)?;
                let value = self.bounded(row, value)?;
                keep.then(|| *at(self.job) = value != 0);
            }
            Kind::Int(at) => {
                let value = self.number(text)?.signed();
                let value = self.bounded(row, value)?;
                keep.then(|| *at(self.job) = value);
            }
            Kind::OptionalInt(at) => {
                let value = self.number(text)?.signed();
                let value = self.bounded(row, value)?;
                keep.then(|| *at(self.job) = Some(value));
            }
            Kind::Size(at) => {
                let size = self.number(text)?.raw;
                self.within(row, size)?;
                keep.then(|| *at(self.job) = size);
            }
            Kind::OptionalSize(at) => {
                let size = self.number(text)?.raw;
                keep.then(|| *at(self.job) = Some(size));
            }
            Kind::Amount(at) => {
                let amount = values::amount(text, kb_base).ok_or(Wrong::Failed)?;
                keep.then(|| *at(self.job) = Some(amount));
            }
            Kind::Time(at, unit) => {
                let time = values::number(text, unit, kb_base).ok_or(Wrong::Failed)?;
                keep.then(|| *at(self.job) = time.raw);
            }
            _ => {}
        }
        Ok(())
    }

    fn bounded(&mut self, row: &Row, value: i64) -> Result<i64, Wrong> {
        let name = match row.kind {
            Kind::Bool(_) => String::new(),
            _ => format!("{}: ", row.name),
        };
        if let Some(most) = row.most.filter(|most| value > *most) {
            return Err(self.fail(format!("{name}max value out of range: {value} ({most} max)")));
        }
        // A smallest value of 0 is none to fio, which is how -1 gets through.
        match row.least.filter(|least| *least != 0 && value < *least) {
            Some(least) => Err(self.fail(format!("{name}min value out of range: {value} ({least} min)"))),
            None => Ok(value),
        }
    }

    /// Bounds of numbers that have no sign.
    pub(super) fn within(&mut self, row: &Row, value: u64) -> Taken {
        let (name, bound) = (row.name, |bound: Option<i64>| bound.map(|bound| bound as u64));
        if let Some(most) = bound(row.most).filter(|most| value > *most) {
            return Err(self.fail(format!("{name}: max value out of range: {value} ({most} max)")));
        }
        match bound(row.least).filter(|least| value < *least) {
            Some(least) => Err(self.fail(format!("{name}: min value out of range: {value} ({least} min)"))),
            None => Ok(()),
        }
    }

    fn per_direction(&mut self, row: &Row, text: &str, at: At<PerDirection<u64>>, unit: Unit) -> Taken {
        let (elements, closed) = values::numbers(text, unit, self.job.kb_base());
        let mut values = Vec::new();
        for element in &elements {
            if let Some(number) = element {
                self.within(row, number.raw)?;
            }
            values.push(element.map(|number| number.raw));
        }
        if values.iter().all(Option::is_none) {
            return Err(Wrong::Failed);
        }
        spread(at(self.job), &values, closed);
        Ok(())
    }

    /// The first number has to be one; what is wrong further on is told and left out.
    fn reals(&mut self, row: &Row, text: &str) -> Result<Vec<f64>, Wrong> {
        let most = row.most.unwrap_or(i64::MAX) as f64;
        let mut numbers = Vec::new();
        for (index, piece) in text.split(':').enumerate() {
            if index >= REALS {
                self.say(format!("the list exceeding max length {REALS}"));
                continue;
            }
            match values::real(piece) {
                Some(number) if number > most => {
                    self.say(format!("value out of range: {number:.6} (range max: {most:.6})"));
                }
                Some(number) => {
                    numbers.push(number);
                    continue;
                }
                None => {}
            }
            if index == 0 {
                return Err(Wrong::Failed);
            }
        }
        Ok(numbers)
    }

    /// A word counts up to the first comma or colon. No abbreviations.
    fn word(
        &mut self,
        row: &Row,
        words: &[Word],
        tail: Option<fn(&mut Reader<'_>, &str) -> Taken>,
        text: &str,
    ) -> Taken {
        let given = text.split([',', ':']).next().unwrap_or_default();
        let Some(word) = words.iter().find(|word| word.text == given) else {
            return Err(self.not_among(row));
        };
        (word.set)(self.job);
        match tail {
            Some(read) => read(self, &text[given.len()..]),
            None => Ok(()),
        }
    }

    /// Tells which words there are.
    fn not_among(&mut self, row: &Row) -> Wrong {
        self.told.extend(show::valid_values(row).into_iter().map(Told::Out));
        self.told.push(Told::Out(String::new()));
        Wrong::Failed
    }
}

/// One value goes to all three directions, the second of two to writes and trims. Blank ones keep what was there, and a
/// separator at the end keeps the last from spreading.
pub(super) fn spread<T: Clone>(to: &mut PerDirection<T>, values: &[Option<T>], closed: bool) {
    let slots = [&mut to.read, &mut to.write, &mut to.trim];
    for (index, slot) in slots.into_iter().enumerate() {
        let value = match values.get(index) {
            Some(value) => value.clone(),
            None if closed => None,
            None => values.last().cloned().flatten(),
        };
        if let Some(value) = value {
            *slot = value;
        }
    }
}
