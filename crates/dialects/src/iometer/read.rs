//! The grammar: lines that begin with an apostrophe are keys, and the next line is the value.

use super::config::{Config, DataPattern, Manager, Record, Steps, TestType, Worker};
use super::keys::{Id, KEYS, Key, Section};
use super::spec;
use crate::{Diagnostic, Location};

/// Files before this version have specifications without names.
const NAMED_SPECS: u64 = version_date(1998, 5, 21);
/// Files before this version end a section at an unknown key.
const STRICT_KEYS: u64 = version_date(1999, 2, 17);
/// The first version that Iometer loads without an error.
const FIRST: u64 = version_date(1998, 1, 5);
/// The form of a file without a version.
const NEWEST: u64 = u64::MAX;

/// Ten years: a longer time is a typing error.
const MAX_SECONDS: u64 = 10 * 365 * 86_400;
/// The largest size of a disk and start on it: 512 PiB of sectors of 512 bytes.
const MAX_SECTORS: u64 = 1 << 50;

/// The version number, if it is a date.
const fn version_date(year: u64, month: u64, day: u64) -> u64 {
    year.saturating_mul(10_000)
        .saturating_add(month.saturating_mul(100))
        .saturating_add(day)
}

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Settings of the file.
    pub config: Config,
    /// Problems that Iometer reports without stopping.
    pub warnings: Vec<String>,
}

/// Reads a configuration file.
///
/// # Errors
/// Every problem about it, in Iometer's wording if it has a message.
pub fn read(file: &str, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    // Editors on Windows begin files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut reader = Reader {
        file,
        lines: &lines,
        at: 0,
        end: 0,
        version: NEWEST,
        parsed: Parsed::default(),
        refused: Vec::new(),
    };
    reader.read_version();
    for (section, words) in Section::ALL {
        reader.read_section(section, words);
    }
    reader.check_assigned_specs();
    match reader.refused.is_empty() {
        true => Ok(reader.parsed),
        false => Err(merge_equal(reader.refused)),
    }
}

/// The problems without duplicates, each with the lines where it applies.
fn merge_equal(refused: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut merged: Vec<(Diagnostic, Vec<String>)> = Vec::new();
    for problem in refused {
        let line = problem.at.as_ref().map(|location| location.line.to_string());
        match merged
            .iter_mut()
            .find(|(merged_diagnostic, _)| merged_diagnostic.what == problem.what)
        {
            Some((_, lines)) => lines.extend(line),
            None => merged.push((problem, Vec::new())),
        }
    }
    let merge = |(problem, lines): (Diagnostic, Vec<String>)| match &lines[..] {
        [] => problem,
        lines => {
            let help = problem.help.clone().unwrap_or_default();
            let also = lines.join(", ");
            problem.help(format!("{help}; also line {also}"))
        }
    };
    merged.into_iter().map(merge).collect()
}

/// True if a text is a configuration file.
pub fn is_one(text: &str) -> bool {
    let is_section = |line: &str| Section::ALL.iter().any(|(_, words)| starts_with(line, words));
    let mut keys = text.lines().filter_map(|line| line.trim().strip_prefix('\''));
    // Results also contain access specifications.
    let is_result = |line: &str| starts_with(line, "Target Type,");
    !keys.clone().any(is_result) && keys.any(is_section)
}

/// The state of the parser.
pub(super) struct Reader<'a> {
    file: &'a str,
    lines: &'a [&'a str],
    /// The index of the next line.
    at: usize,
    /// The line that ends the section.
    end: usize,
    version: u64,
    pub(super) parsed: Parsed,
    refused: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// The line that was read last.
    fn location(&self) -> Location {
        let line = self.at.max(1);
        Location {
            file: self.file.to_owned(),
            line,
            text: self.lines.get(line - 1).copied().unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn refuse(&mut self, what: impl Into<String>, help: &str) {
        self.refused.push(Diagnostic::new(what).at(self.location()).help(help));
    }

    /// Refuses a line that [`Reader::list`] skipped.
    pub(super) fn refuse_line(&mut self, text: &str, what: impl Into<String>, help: &str) {
        let end = self.at;
        self.at = self.lines[..end]
            .iter()
            .rposition(|line| std::ptr::eq(*line, text))
            .map_or(end, |index| index + 1);
        self.refuse(what, help);
        self.at = end;
    }

    fn read_version(&mut self) {
        let first = self
            .lines
            .iter()
            .find(|line| !line.is_empty())
            .copied()
            .unwrap_or_default();
        let words = strip(first, "Version");
        let numbers: Vec<u64> = words
            .unwrap_or_default()
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .take(3)
            .collect();
        if let [major, middle, minor] = numbers[..] {
            self.version = match major > 1900 {
                true => version_date(major, middle, minor),
                false => major
                    .saturating_mul(10_000_000_000)
                    .saturating_add(middle.saturating_mul(100_000))
                    .saturating_add(minor),
            };
            self.parsed.config.version = words.unwrap_or_default().trim().to_owned();
        }
        if numbers.len() != 3 || self.version < FIRST {
            self.parsed
                .warnings
                .push("Error restoring file.  Version number earlier than 1998.01.05 or incorrectly formatted.".into());
        }
    }

    /// Finds a section by its first words and reads its keys.
    fn read_section(&mut self, section: Section, words: &str) {
        let is_head = |line: &&str, words: &str| line.strip_prefix('\'').is_some_and(|key| starts_with(key, words));
        let Some(head) = self.lines.iter().position(|line| is_head(line, words)) else {
            return;
        };
        let ends = |line: &&str| {
            Section::ALL
                .iter()
                .any(|(_, words)| is_head(line, words) || is_end_of(line, words))
        };
        self.at = head + 1;
        self.end = self.lines[self.at..]
            .iter()
            .position(ends)
            .map_or(self.lines.len(), |rest| self.at + rest);
        if section == Section::AccessSpecifications && self.version < NAMED_SPECS {
            return spec::read_old(self);
        }
        while let Some(line) = self.next_line() {
            let Some(words) = line.strip_prefix('\'') else { continue };
            if starts_with(words, "End") || starts_with(words, "Version") {
                continue;
            }
            match find_key(section, words) {
                Some(key) => self.take(key),
                None if self.version < STRICT_KEYS => return,
                None => {
                    let name = section.heading();
                    self.refuse(
                        format!("File is improperly formatted.  {name} section contained an unrecognized \"'{words}\" comment."),
                        "remove this line and its value",
                    );
                }
            }
        }
    }

    pub(super) fn next_line(&mut self) -> Option<&'a str> {
        let line = self.lines[..self.end].get(self.at).copied()?;
        self.at += 1;
        Some(line)
    }

    /// The value of a key: headings before it are skipped, and the next key ends the search.
    fn value(&mut self, section: Section) -> &'a str {
        while let Some(line) = self.next_line() {
            let Some(words) = line.strip_prefix('\'') else {
                return line;
            };
            if starts_with(words, "End") || find_key(section, words).is_some() {
                self.at -= 1;
                break;
            }
        }
        ""
    }

    /// The lines up to the next key.
    pub(super) fn list(&mut self) -> Vec<&'a str> {
        let rest = &self.lines[self.at.min(self.end)..self.end];
        let list: Vec<&str> = rest
            .iter()
            .take_while(|line| !line.starts_with('\''))
            .copied()
            .collect();
        self.at += list.len();
        list.into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn take(&mut self, key: &Key) {
        match key.section {
            Section::TestSetup => self.take_setup(key.id),
            Section::ResultsDisplay => self.warn_of_updates(),
            Section::AccessSpecifications if key.id == Id::AccessName => spec::read_name(self),
            Section::AccessSpecifications => spec::read_lines(self),
            Section::ManagerList => self.take_manager(key.id),
        }
    }

    /// Notes that results of updates, which Iometer writes to a file of their own, are not written.
    fn warn_of_updates(&mut self) {
        let key = self.lines[self.at.saturating_sub(1)];
        if key.starts_with("'Record Last Update Results") && self.value(Section::ResultsDisplay).starts_with("ENABLED")
        {
            let warning = "the configuration requests a second result file with the figures of each screen update \
                           (`'Record Last Update Results` is ENABLED); it is not written; the results cover whole \
                           tests";
            self.parsed.warnings.push(warning.to_owned());
        }
    }

    fn take_setup(&mut self, id: Id) {
        let mut value = Value(self.value(Section::TestSetup));
        let line = self.at;
        let setup = &mut self.parsed.config.setup;
        let steps = |value: &mut Value<'_>, has_end: bool| {
            let start = value.count()?;
            let end = if has_end { value.count()? } else { 1 };
            Some(Steps {
                start,
                end,
                step: value.count()?,
                exponential: value.choice(&[("LINEAR", false), ("EXPONENTIAL", true)])?,
            })
        };
        let set = match id {
            Id::Description => {
                setup.description = value.0.to_owned();
                Some(())
            }
            Id::RunTime => (|| {
                let (hours, minutes, seconds) = (value.number()?, value.number()?, value.number()?);
                let minutes = hours.saturating_mul(60).saturating_add(minutes);
                let seconds = minutes.saturating_mul(60).saturating_add(seconds);
                setup.run_seconds = Some(seconds).filter(|seconds| *seconds <= MAX_SECONDS)?;
                Some(())
            })(),
            Id::RampUp => value
                .number()
                .filter(|seconds| *seconds <= MAX_SECONDS)
                .map(|seconds| setup.ramp_up_seconds = seconds),
            Id::DiskWorkers if starts_with(value.0, "NUMBER_OF_CPUS") => Some(()),
            Id::DiskWorkers | Id::OldWorkers => value
                .count()
                .map(|count| setup.disk_workers = Some(count).filter(|count| *count > 0)),
            Id::Record => value.choice(&Record::WORDS).map(|record| setup.record = record),
            Id::WorkerCycling => steps(&mut value, false).map(|steps| setup.workers = steps),
            Id::TargetCycling => steps(&mut value, false).map(|steps| setup.targets = steps),
            Id::DepthCycling => steps(&mut value, true).map(|steps| setup.depth = steps),
            Id::TestType => value
                .choice(&TestType::WORDS)
                .map(|test_type| setup.test_type = test_type),
            _ => Some(()),
        };
        self.refuse_unless(set, line, id);
    }

    fn refuse_unless(&mut self, taken: Option<()>, line: usize, id: Id) {
        if taken.is_some() {
            return;
        }
        self.at = line;
        let key = Key::with_id(id);
        let (name, value) = key.map_or(("", ""), |key| (key.name, key.value));
        let text = self.location().text;
        let numbers = text.split(|letter: char| !letter.is_ascii_digit());
        let large = { numbers }.find(|digits| !digits.is_empty() && is_too_large(id, digits));
        let why = match large {
            Some(digits) => format!("{digits} is too large"),
            // These values are a list of words in backticks.
            None if value.contains('`') => format!("it is not of the form {value}"),
            None => format!("it is not of the form `{value}`"),
        };
        self.refuse(
            format!("cannot read the value of `'{name}`: {why}"),
            "correct the line; docs/iometer.md lists the keys and their values",
        );
    }

    fn take_manager(&mut self, id: Id) {
        if matches!(id, Id::SettingsBegin | Id::TargetsBegin) {
            return;
        }
        if id == Id::AssignedSpecs {
            let specs = self.list();
            let specs: Vec<String> = specs.into_iter().map(str::to_owned).collect();
            return self.change_worker(|worker| worker.specs.extend(specs));
        }
        let mut value = Value(self.value(Section::ManagerList));
        let (line, text) = (self.at, value.0);
        match id {
            Id::Manager => {
                value.number();
                self.parsed.config.managers.push(Manager {
                    name: value.0.trim().to_owned(),
                    line,
                    ..Manager::default()
                });
            }
            Id::Address => {
                if let Some(manager) = self.parsed.config.managers.last_mut() {
                    manager.address = text.to_owned();
                }
            }
            Id::Worker => match self.parsed.config.managers.last_mut() {
                Some(manager) => manager.workers.push(Worker {
                    name: text.to_owned(),
                    outstanding: 1,
                    line,
                    ..Worker::default()
                }),
                None => self.refuse_orphan(),
            },
            Id::WorkerType if starts_with(text, "DISK") => {}
            Id::WorkerType => self.change_worker(|worker| worker.network = text.to_owned()),
            Id::Outstanding => {
                let taken = self.take_outstanding(value);
                self.refuse_unless(taken, line, id);
            }
            Id::Disk => {
                let taken = self.take_disk(value);
                self.refuse_unless(taken, line, id);
            }
            Id::Target => self.change_worker(|worker| worker.targets.push(text.to_owned())),
            Id::TargetType if !starts_with(text, "DISK") => self.change_worker(|worker| {
                if worker.network.is_empty() {
                    worker.network = text.to_owned();
                }
            }),
            _ => {}
        }
    }

    fn take_outstanding(&mut self, mut value: Value<'_>) -> Option<()> {
        let outstanding = value.count()?;
        let tests_connections = value.flag()?;
        let transfers = value.count()?;
        // Files before 1.1.0 have no seed.
        let seed = match value.flag() {
            Some(true) => Some(value.count()?),
            _ => None,
        };
        self.change_worker(|worker| {
            worker.outstanding = outstanding;
            worker.connection = tests_connections.then_some(transfers);
            worker.seed = seed;
        });
        Some(())
    }

    fn take_disk(&mut self, mut value: Value<'_>) -> Option<()> {
        let (size, sector) = (value.number()?, value.number()?);
        if size.max(sector) > MAX_SECTORS {
            return None;
        }
        let pattern = *DataPattern::ALL.get(value.number().unwrap_or(0) as usize)?;
        self.change_worker(|worker| {
            (worker.maximum_size, worker.starting_sector, worker.pattern) = (size, sector, pattern);
        });
        Some(())
    }

    fn change_worker(&mut self, change: impl FnOnce(&mut Worker)) {
        let manager = self.parsed.config.managers.last_mut();
        match manager.and_then(|manager| manager.workers.last_mut()) {
            Some(worker) => change(worker),
            None => self.refuse_orphan(),
        }
    }

    fn refuse_orphan(&mut self) {
        self.refuse(
            "cannot read the manager list: this key belongs to a worker of a manager, but no worker precedes it",
            "put `'Manager ID, manager name` and `'Worker` before it",
        );
    }

    /// Reports unknown names of specifications and drops them.
    fn check_assigned_specs(&mut self) {
        let Parsed { config, warnings } = &mut self.parsed;
        let (specs, managers) = (&config.specs, &mut config.managers);
        for worker in managers.iter_mut().flat_map(|manager| &mut manager.workers) {
            let name = &worker.name;
            worker.specs.retain(|wanted| {
                let is_known = wanted == spec::IDLE || specs.iter().any(|spec| spec.name == *wanted);
                if !is_known {
                    warnings.push(format!(
                        "Error restoring access specification assignments for worker \"{name}\".  Access spec \"{wanted}\" doesn't exist.  Ignoring."
                    ));
                }
                is_known
            });
        }
    }
}

/// True for a number above the maximum of a key.
fn is_too_large(id: Id, digits: &str) -> bool {
    let max = match id {
        Id::RunTime | Id::RampUp => MAX_SECONDS,
        Id::Disk => MAX_SECTORS,
        _ => u64::from(u32::MAX),
    };
    digits.parse::<u64>().map_or(true, |number| number > max)
}

fn find_key(section: Section, words: &str) -> Option<&'static Key> {
    KEYS.iter()
        .find(|key| key.section == section && starts_with(words, key.name))
}

fn is_end_of(line: &str, section: &str) -> bool {
    line.strip_prefix('\'')
        .and_then(|words| strip(words, "End "))
        .is_some_and(|words| starts_with(words, section))
}

pub(super) fn starts_with(text: &str, words: &str) -> bool {
    strip(text, words).is_some()
}

/// The text after a prefix, in either case.
fn strip<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let head = text.get(..words.len())?;
    head.eq_ignore_ascii_case(words).then(|| &text[words.len()..])
}

/// The fields of a value, from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a>(pub(super) &'a str);

impl<'a> Value<'a> {
    /// The next run of digits, and the comma and blanks after it. `None` for a negative number.
    pub(super) fn number(&mut self) -> Option<u64> {
        let start = self.0.find(|letter: char| letter.is_ascii_digit())?;
        if self.0[..start].ends_with('-') {
            return None;
        }
        let rest = &self.0[start..];
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        self.0 = past_separator(&rest[end..]);
        rest[..end].parse().ok()
    }

    /// The same for values of 32 bits.
    pub(super) fn count(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// The next word.
    fn next_word(&mut self) -> &'a str {
        let end = self.0.find([',', ' ', '\t']).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = past_separator(rest);
        word
    }

    /// One of several keywords, or its number.
    pub(super) fn choice<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        let word = self.next_word();
        let named = words.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let numbered = || words.get(word.parse::<usize>().ok()?);
        Some(named.or_else(numbered)?.1)
    }

    fn flag(&mut self) -> Option<bool> {
        self.choice(&[("DISABLED", false), ("ENABLED", true)])
    }

    /// Everything up to the next comma, which is consumed as well.
    pub(super) fn name(&mut self) -> &'a str {
        let (name, rest) = self.0.split_once(',').unwrap_or((self.0, ""));
        self.0 = rest.trim_start();
        name.trim()
    }
}

fn past_separator(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix(',').unwrap_or(text).trim_start()
}
