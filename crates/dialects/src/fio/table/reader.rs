//! What a job's options are read with: the job so far, what may be asked, and what is to be
//! reported.

use model::PerDirection;

use super::Row;
use crate::bounds;
use crate::fio::options::JobOptions;
use crate::fio::values::{self, Number, Unit};

/// What reading may ask of the machine and its files.
pub trait ParseEnv {
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
    /// The system's words for the reason why it is unknown.
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

    /// The highest number of a configured CPU; unknown where a job is read for another machine.
    fn max_cpu(&self) -> Option<u32> {
        None
    }

    /// Whether the machine has a NUMA node; true where a job is read for another machine.
    fn has_numa_node(&self, _node: u32) -> bool {
        true
    }
}

/// A line to be reported, or the place among them of a job's banner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A line for stdout.
    Out(String),
    /// A line for stderr.
    Err(String),
    /// What to do about an error, for a line `hint: …`; fio has no such lines.
    Hint(String),
    /// The banner of the job with this index, which is printed as soon as the job is known to be
    /// good.
    Added(usize),
}

/// Why an option is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// Its value is wrong; the line that all of them share is still to be said.
    Failed,
    /// All has been said.
    Said,
    /// It would write, and `--readonly` stands before it.
    ReadOnly,
}

/// What an option answers.
pub type ParseResult = Result<(), OptionError>;

/// A job that takes options.
pub struct Reader<'a> {
    pub(in crate::fio) job: &'a mut JobOptions,
    /// Nothing while defaults are filled in, which ask for nothing.
    pub(in crate::fio) env: Option<&'a mut dyn ParseEnv>,
    pub(in crate::fio) notices: &'a mut Vec<Notice>,
    /// `--readonly` stood before.
    pub(in crate::fio) readonly: bool,
    /// `--parse-only` or `--showcmd`: nothing is looked at on this machine.
    pub(in crate::fio) is_dry: bool,
    /// `--debug=parse` stood before.
    pub(in crate::fio) debugs_parsing: bool,
}

impl Reader<'_> {
    /// A line for stderr.
    pub(in crate::fio) fn say(&mut self, line: impl Into<String>) {
        self.notices.push(Notice::Err(line.into()));
    }

    /// A line for stderr, unless it is among the lines already: each clone of a section has the
    /// options of all.
    pub(in crate::fio) fn say_once(&mut self, line: String) {
        let line = Notice::Err(line);
        if !self.notices.contains(&line) {
            self.notices.push(line);
        }
    }

    /// Says what is wrong with a value.
    pub(in crate::fio) fn fail(&mut self, line: impl Into<String>) -> OptionError {
        self.say(line);
        OptionError::Failed
    }

    /// The machine that values are compared with; `None` where nothing is to run on it.
    pub(in crate::fio) fn machine(&self) -> Option<&dyn ParseEnv> {
        self.env.as_deref().filter(|_| !self.is_dry)
    }

    /// The highest number of a CPU that can be named.
    pub(in crate::fio) fn max_cpu(&self) -> u32 {
        self.machine().and_then(ParseEnv::max_cpu).unwrap_or(bounds::MAX_CPU)
    }

    /// Refuses a CPU beyond the highest.
    pub(in crate::fio) fn fail_on_cpu(&mut self, cpu: i64) -> OptionError {
        let max = self.max_cpu();
        self.fail(format!("fio: CPU {cpu} too large (max={max})"))
    }

    /// A size or a count.
    pub(in crate::fio) fn number(&self, text: &str) -> Result<Number, OptionError> {
        values::number(text, Unit::Bytes, self.job.kb_base()).ok_or(OptionError::Failed)
    }

    /// Bounds of numbers that have no sign.
    pub(in crate::fio) fn within(&mut self, row: &Row, value: u64) -> ParseResult {
        let (name, bound) = (row.name, |bound: Option<i64>| bound.map(|bound| bound as u64));
        if let Some(most) = bound(row.most).filter(|most| value > *most) {
            return Err(self.fail(format!("{name}: max value out of range: {value} ({most} max)")));
        }
        match bound(row.least).filter(|least| value < *least) {
            Some(least) => Err(self.fail(format!("{name}: min value out of range: {value} ({least} min)"))),
            None => Ok(()),
        }
    }
}

/// One value goes to all three directions, the second of two to writes and trims. Blank ones keep
/// what was there, and a separator at the end keeps the last from spreading.
pub(in crate::fio) fn spread<T: Clone>(to: &mut PerDirection<T>, values: &[Option<T>], closed: bool) {
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
