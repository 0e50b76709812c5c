//! One option onto one job: which kind of value it has, whether that is within bounds, and what fio
//! says if it is not.

use std::sync::LazyLock;

use model::PerDirection;

use super::options::{JobOptions, Word};
use super::show;
use super::table::{self, FieldAccess, Kind, Notice, OptionError, ParseResult, Reader, Row, Status, spread};
use super::values::{self, Unit};

/// The longest list of numbers with fractions.
const REALS: usize = 20;

impl JobOptions {
    /// The value of every option that is not given.
    pub fn new() -> JobOptions {
        // Reading some 200 defaults takes longer than a job file does.
        static BUILT_IN: LazyLock<JobOptions> = LazyLock::new(|| {
            let mut options = JobOptions::empty();
            let mut notices = Vec::new();
            let mut reader = Reader {
                job: &mut options,
                env: None,
                notices: &mut notices,
                readonly: false,
                is_dry: true,
                debugs_parsing: false,
            };
            for row in table::rows().filter(|row| !row.default.is_empty()) {
                let taken = reader.value(row, row.default);
                debug_assert!(taken.is_ok(), "the default of {} is not a value of it", row.name);
            }
            options.adjust_defaults();
            options
        });
        BUILT_IN.clone()
    }
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions::new()
    }
}

impl Reader<'_> {
    /// Takes an option as it was written: without a value, or with one.
    pub(super) fn option(&mut self, row: &Row, written: Option<&str>, in_file: bool) -> ParseResult {
        let name = row.name;
        match row.status {
            Status::Refused(_) if written.is_some_and(|value| value == row.default) => return Ok(()),
            Status::Refused(needs) => {
                self.say_once(format!(
                    "fio: option {name} is not supported by this program: it needs {needs}"
                ));
                return if self.is_dry { Ok(()) } else { Err(OptionError::Said) };
            }
            Status::Supported | Status::WithoutEffect(_) => {}
        }
        let before = self.job.queue.ioengine.clone();
        match written {
            Some(value) => self.value(row, value).map_err(|wrong| self.described(row, wrong))?,
            None if row.may_be_bare(in_file) => self.bare(row)?,
            None if matches!(row.kind, Kind::Word(..)) => return Err(self.not_among(row)),
            None => {
                self.say(format!("Option {name} requires an argument"));
                return Err(OptionError::Failed);
            }
        }
        if let Some(then) = row.then {
            then(self.job);
        }
        if self.job.queue.ioengine != before {
            // What was said to the other engine counts no more.
            self.job.engine = JobOptions::new().engine;
        }
        Ok(())
    }

    /// Explains an option whose value is good, but not together with `--readonly`.
    fn described(&mut self, row: &Row, wrong: OptionError) -> OptionError {
        if wrong != OptionError::ReadOnly {
            return wrong;
        }
        let name = self.job.job.name.clone().unwrap_or_default();
        self.say(format!(
            "fio: job <{name}> has write or trim bit set, but fio is in read-only mode"
        ));
        self.say("Correct format for offending option");
        show::description(row).into_iter().for_each(|line| self.say(line));
        self.not_among(row)
    }

    fn bare(&mut self, row: &Row) -> ParseResult {
        match row.kind {
            Kind::Flag(at) => *at(self.job) = true,
            Kind::Special(read) => read(self, "")?,
            _ => {}
        }
        Ok(())
    }

    /// Takes a value.
    pub(super) fn value(&mut self, row: &Row, text: &str) -> ParseResult {
        if text.is_empty() {
            return Err(match row.kind {
                Kind::Word(..) => self.not_among(row),
                _ => OptionError::Failed,
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
                self.notices
                    .push(Notice::Out(format!("Option {} is deprecated", row.name)));
                return match row.kind {
                    Kind::Removed => Err(OptionError::Failed),
                    _ => Ok(()),
                };
            }
            Kind::Unread(_) => {}
        }
        Ok(())
    }

    /// Every number may be a list to fio: the first is kept, the others are only looked at, and one
    /// that is good is enough.
    fn first_of_list(&mut self, row: &Row, text: &str) -> ParseResult {
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
    fn single(&mut self, row: &Row, text: &str, keep: bool) -> ParseResult {
        let kb_base = self.job.kb_base();
        match row.kind {
            Kind::Flag(at) => {
                let value = values::digits(text).ok_or(OptionError::Failed)?;
                keep.then(|| *at(self.job) = value != 0);
            }
            Kind::Bool(at) => {
                let value = values::digits(text).ok_or(OptionError::Failed)?;
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
                let amount = values::amount(text, kb_base).ok_or(OptionError::Failed)?;
                keep.then(|| *at(self.job) = Some(amount));
            }
            Kind::Time(at, unit) => {
                let time = values::number(text, unit, kb_base).ok_or(OptionError::Failed)?;
                keep.then(|| *at(self.job) = time.raw);
            }
            _ => {}
        }
        Ok(())
    }

    fn bounded(&mut self, row: &Row, value: i64) -> Result<i64, OptionError> {
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

    fn per_direction(&mut self, row: &Row, text: &str, at: FieldAccess<PerDirection<u64>>, unit: Unit) -> ParseResult {
        let (elements, closed) = values::numbers(text, unit, self.job.kb_base());
        let mut values = Vec::new();
        for element in &elements {
            if let Some(number) = element {
                self.within(row, number.raw)?;
            }
            values.push(element.map(|number| number.raw));
        }
        if values.iter().all(Option::is_none) {
            return Err(OptionError::Failed);
        }
        spread(at(self.job), &values, closed);
        Ok(())
    }

    /// The first number has to be one; what is wrong further on is reported and left out.
    fn reals(&mut self, row: &Row, text: &str) -> Result<Vec<f64>, OptionError> {
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
                return Err(OptionError::Failed);
            }
        }
        Ok(numbers)
    }

    /// A word counts up to the first comma or colon. No abbreviations.
    fn word(
        &mut self,
        row: &Row,
        words: &[Word],
        tail: Option<fn(&mut Reader<'_>, &str) -> ParseResult>,
        text: &str,
    ) -> ParseResult {
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
    fn not_among(&mut self, row: &Row) -> OptionError {
        self.notices
            .extend(show::valid_values(row).into_iter().map(Notice::Out));
        self.notices.push(Notice::Out(String::new()));
        OptionError::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_rows() {
        let options = JobOptions::new();
        assert_eq!((options.pattern.bs.read, options.pattern.bs.trim), (4096, 4096));
        assert_eq!(options.queue.iodepth, 1);
        assert!(options.report.clat_percentiles && !options.queue.direct && options.queue.buffered);
        assert_eq!(options.report.percentile_list.len(), 17);
    }
}
