//! Applies one option to one job: parses its value, checks its bounds, and reports errors as fio
//! does.

use std::sync::LazyLock;

use model::PerDirection;

use super::help;
use super::options::{JobOptions, Word};
use super::table::{self, FieldAccess, Kind, Notice, OptionError, ParseResult, Reader, Row, Status, assign_directions};
use super::values::{self, Amount, Unit};

/// The maximum length of a list of fractions.
const MAX_REALS: usize = 20;

impl JobOptions {
    /// The default of every option.
    pub fn new() -> JobOptions {
        // Parsing some 200 defaults takes longer than parsing a job file.
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
                let result = reader.apply_value(row, row.default);
                debug_assert!(result.is_ok(), "the default of {} is invalid", row.name);
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
    /// Applies an option as the user wrote it, with or without a value.
    pub(super) fn apply_option(&mut self, row: &Row, written: Option<&str>, in_file: bool) -> ParseResult {
        let name = row.name;
        match row.status {
            Status::Refused(_) if written.is_some_and(|value| value == row.default) => return Ok(()),
            Status::Refused(needs) => {
                self.push_stderr_once(format!(
                    "fio: option {name} is not supported by this program: it needs {needs}"
                ));
                return if self.is_dry {
                    Ok(())
                } else {
                    Err(OptionError::Reported)
                };
            }
            Status::Supported | Status::WithoutEffect(_) => {}
        }
        let before = self.job.queue.ioengine.clone();
        match written {
            Some(value) => self
                .apply_value(row, value)
                .map_err(|error| self.explain_read_only(row, error))?,
            None if row.may_be_bare(in_file) => self.apply_bare(row)?,
            None if matches!(row.kind, Kind::Word(..)) => return Err(self.report_unknown_word(row)),
            None => {
                self.push_stderr(format!("Option {name} requires an argument"));
                return Err(OptionError::Failed);
            }
        }
        if let Some(follow_up) = row.then {
            follow_up(self.job);
        }
        if self.job.queue.ioengine != before {
            // Options of the previous engine no longer count.
            self.job.engine = JobOptions::new().engine;
        }
        Ok(())
    }

    /// Explains a valid option that `--readonly` forbids.
    fn explain_read_only(&mut self, row: &Row, error: OptionError) -> OptionError {
        if error != OptionError::ReadOnly {
            return error;
        }
        let name = self.job.job.name.clone().unwrap_or_default();
        self.push_stderr(format!(
            "fio: job <{name}> has write or trim bit set, but fio is in read-only mode"
        ));
        self.push_stderr("Correct format for offending option");
        help::describe_option(row)
            .into_iter()
            .for_each(|line| self.push_stderr(line));
        self.report_unknown_word(row)
    }

    fn apply_bare(&mut self, row: &Row) -> ParseResult {
        match row.kind {
            Kind::Flag(at) => *at(self.job) = true,
            Kind::Special(read) => read(self, "")?,
            _ => {}
        }
        Ok(())
    }

    /// Parses and stores a value.
    pub(super) fn apply_value(&mut self, row: &Row, text: &str) -> ParseResult {
        if text.is_empty() {
            return Err(match row.kind {
                Kind::Word(..) => self.report_unknown_word(row),
                _ => OptionError::Failed,
            });
        }
        match row.kind {
            Kind::Flag(_) | Kind::Bool(_) | Kind::Int(_) | Kind::OptionalInt(_) => {
                self.apply_first_number(row, text)?
            }
            Kind::Size(_) | Kind::OptionalSize(_) | Kind::Amount(_) | Kind::Time(..) => {
                self.apply_first_number(row, text)?
            }
            Kind::PerDirection(at, unit) => self.apply_per_direction(row, text, at, unit)?,
            Kind::Reals(at) => *at(self.job) = self.parse_reals(row, text)?,
            Kind::Real(at) => *at(self.job) = self.parse_reals(row, text)?.first().copied().unwrap_or_default(),
            Kind::Text(at) => *at(self.job) = Some(text.to_string()),
            Kind::Word(words, tail) => self.apply_word(row, words, tail, text)?,
            Kind::Words(words) => {
                for piece in text.split(',') {
                    self.apply_word(row, words, None, piece)?;
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

    /// fio accepts a list for every number: it stores the first, and the list is valid if any
    /// number is.
    fn apply_first_number(&mut self, row: &Row, text: &str) -> ParseResult {
        let mut outcome = self.apply_number(row, text, true);
        // A leading minus sign belongs to the number, a later one separates.
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let others = values::split_at_separators(unsigned, &[',', ':', '-'])
            .into_iter()
            .skip(1);
        for other in others.filter(|other| !other.is_empty()) {
            outcome = outcome.or(self.apply_number(row, other, false));
        }
        outcome
    }

    /// Parses one number, and stores it if `store` is set.
    fn apply_number(&mut self, row: &Row, text: &str, store: bool) -> ParseResult {
        let kb_base = self.job.kb_base();
        match row.kind {
            Kind::Flag(at) => {
                let value = values::parse_decimal_integer(text).ok_or(OptionError::Failed)?;
                store.then(|| *at(self.job) = value != 0);
            }
            Kind::Bool(at) => {
                let value = values::parse_decimal_integer(text).ok_or(OptionError::Failed)?;
                let value = self.check_signed_bounds(row, value)?;
                store.then(|| *at(self.job) = value != 0);
            }
            Kind::Int(at) => {
                let value = self.number(text)?.signed();
                let value = self.check_signed_bounds(row, value)?;
                store.then(|| *at(self.job) = value);
            }
            Kind::OptionalInt(at) => {
                let value = self.number(text)?.signed();
                let value = self.check_signed_bounds(row, value)?;
                store.then(|| *at(self.job) = Some(value));
            }
            Kind::Size(at) => {
                let size = self.number(text)?.raw;
                self.check_bounds(row, size)?;
                store.then(|| *at(self.job) = size);
            }
            Kind::OptionalSize(at) => {
                let size = self.number(text)?.raw;
                self.check_bounds(row, size)?;
                store.then(|| *at(self.job) = Some(size));
            }
            Kind::Amount(at) => {
                let amount = values::parse_amount(text, kb_base).ok_or(OptionError::Failed)?;
                if let Amount::Bytes(bytes) = amount {
                    self.check_bounds(row, bytes)?;
                }
                store.then(|| *at(self.job) = Some(amount));
            }
            Kind::Time(at, unit) => {
                let time = values::parse_number(text, unit, kb_base).ok_or(OptionError::Failed)?;
                self.check_bounds(row, time.raw)?;
                store.then(|| *at(self.job) = time.raw);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_signed_bounds(&mut self, row: &Row, value: i64) -> Result<i64, OptionError> {
        let name = match row.kind {
            Kind::Bool(_) => String::new(),
            _ => format!("{}: ", row.name),
        };
        if let Some(max) = row.max.filter(|max| value > *max) {
            return Err(self.fail(format!("{name}max value out of range: {value} ({max} max)")));
        }
        // fio treats a minimum of 0 as no minimum, so -1 is accepted.
        match row.min.filter(|min| *min != 0 && value < *min) {
            Some(min) => Err(self.fail(format!("{name}min value out of range: {value} ({min} min)"))),
            None => Ok(value),
        }
    }

    fn apply_per_direction(
        &mut self,
        row: &Row,
        text: &str,
        at: FieldAccess<PerDirection<u64>>,
        unit: Unit,
    ) -> ParseResult {
        let (elements, closed) = values::parse_numbers(text, unit, self.job.kb_base());
        let mut values = Vec::new();
        for element in &elements {
            if let Some(number) = element {
                self.check_bounds(row, number.raw)?;
            }
            values.push(element.map(|number| number.raw));
        }
        if values.iter().all(Option::is_none) {
            return Err(OptionError::Failed);
        }
        assign_directions(at(self.job), &values, closed);
        Ok(())
    }

    /// The first number must be valid; later invalid ones are reported and omitted.
    fn parse_reals(&mut self, row: &Row, text: &str) -> Result<Vec<f64>, OptionError> {
        let max = row.max.unwrap_or(i64::MAX) as f64;
        let mut numbers = Vec::new();
        for (index, piece) in text.split(':').enumerate() {
            if index >= MAX_REALS {
                self.push_stderr(format!("the list exceeding max length {MAX_REALS}"));
                continue;
            }
            match values::parse_real(piece) {
                Some(number) if number > max => {
                    self.push_stderr(format!("value out of range: {number:.6} (range max: {max:.6})"));
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

    /// A word ends at the first comma or colon, and cannot be abbreviated.
    fn apply_word(
        &mut self,
        row: &Row,
        words: &[Word],
        tail: Option<fn(&mut Reader<'_>, &str) -> ParseResult>,
        text: &str,
    ) -> ParseResult {
        let first_value = text.split([',', ':']).next().unwrap_or_default();
        let Some(word) = words.iter().find(|word| word.text == first_value) else {
            return Err(self.report_unknown_word(row));
        };
        (word.set)(self.job);
        match tail {
            Some(read) => read(self, &text[first_value.len()..]),
            None => Ok(()),
        }
    }

    /// Reports the valid words.
    fn report_unknown_word(&mut self, row: &Row) -> OptionError {
        self.notices
            .extend(help::valid_values(row).into_iter().map(Notice::Out));
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
