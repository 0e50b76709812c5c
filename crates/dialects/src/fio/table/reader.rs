//! The state while a job's options are parsed: the job so far, the environment, and notices for the
//! user.

use model::PerDirection;

use super::Row;
use crate::bounds;
use crate::fio::options::JobOptions;
use crate::fio::values::{self, Number, Unit};

/// Queries about the machine and its files while options are parsed.
pub trait ParseEnv {
    /// The text of a job file; `-` is standard input.
    ///
    /// # Errors
    /// The system's error text.
    fn read_job_file(&mut self, path: &str) -> Result<String, String>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Whether a path is a directory.
    ///
    /// # Errors
    /// The system's error text if it is unknown.
    fn is_directory(&self, path: &str) -> Result<bool, String>;

    /// Opens the file of `--output`.
    ///
    /// # Errors
    /// The system's error text.
    fn open_output(&mut self, path: &str) -> Result<(), String>;

    /// Bytes of a page (`$pagesize`).
    fn page_size(&self) -> u64;

    /// Configured processors (`$ncpus`).
    fn processors(&self) -> u64;

    /// Memory of the machine in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;

    /// The highest configured CPU number; `None` if the job is for another machine.
    fn max_cpu(&self) -> Option<u32> {
        None
    }

    /// Whether the machine has a NUMA node; true if the job is for another machine.
    fn has_numa_node(&self, _node: u32) -> bool {
        true
    }
}

/// A line to print, or the position of a job's banner among the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A line for stdout.
    Out(String),
    /// A line for stderr.
    Err(String),
    /// A hint, printed as `hint: …`; fio has no such lines.
    Hint(String),
    /// The banner of the job with this index, which is printed once the job is valid.
    Added(usize),
}

/// Why an option is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// Its value is wrong; the caller reports `failed parsing`.
    Failed,
    /// The error is reported already.
    Reported,
    /// The option writes, but `--readonly` precedes it.
    ReadOnly,
}

/// The result of applying an option.
pub type ParseResult = Result<(), OptionError>;

/// Applies options to a job.
pub struct Reader<'a> {
    pub(in crate::fio) job: &'a mut JobOptions,
    /// Absent for defaults, which need no environment.
    pub(in crate::fio) env: Option<&'a mut dyn ParseEnv>,
    pub(in crate::fio) notices: &'a mut Vec<Notice>,
    /// `--readonly` precedes.
    pub(in crate::fio) readonly: bool,
    /// `--parse-only` or `--showcmd`: this machine is not examined.
    pub(in crate::fio) is_dry: bool,
    /// `--debug=parse` precedes.
    pub(in crate::fio) debugs_parsing: bool,
}

impl Reader<'_> {
    /// A line for stderr.
    pub(in crate::fio) fn push_stderr(&mut self, line: impl Into<String>) {
        self.notices.push(Notice::Err(line.into()));
    }

    /// Adds a line for stderr, once: clones of a section would repeat it.
    pub(in crate::fio) fn push_stderr_once(&mut self, line: String) {
        let line = Notice::Err(line);
        if !self.notices.contains(&line) {
            self.notices.push(line);
        }
    }

    /// Reports an invalid value.
    pub(in crate::fio) fn fail(&mut self, line: impl Into<String>) -> OptionError {
        self.push_stderr(line);
        OptionError::Failed
    }

    /// The machine that limits values; `None` if the job will not run on it.
    pub(in crate::fio) fn machine(&self) -> Option<&dyn ParseEnv> {
        self.env.as_deref().filter(|_| !self.is_dry)
    }

    /// The highest valid CPU number.
    pub(in crate::fio) fn max_cpu(&self) -> u32 {
        self.machine().and_then(ParseEnv::max_cpu).unwrap_or(bounds::MAX_CPU)
    }

    /// Reports a CPU number beyond the highest.
    pub(in crate::fio) fn fail_on_cpu(&mut self, cpu: i64) -> OptionError {
        let max = self.max_cpu();
        self.fail(format!("fio: CPU {cpu} too large (max={max})"))
    }

    /// A size or a count.
    pub(in crate::fio) fn number(&self, text: &str) -> Result<Number, OptionError> {
        values::parse_number(text, Unit::Bytes, self.job.kb_base()).ok_or(OptionError::Failed)
    }

    /// Checks the bounds of an unsigned number. A negative one, which wraps, is too small.
    pub(in crate::fio) fn check_bounds(&mut self, row: &Row, value: u64) -> ParseResult {
        let name = row.name;
        if let Some(max) = row.max.filter(|max| value > *max as u64) {
            return Err(self.fail(format!("{name}: max value out of range: {value} ({max} max)")));
        }
        let signed = value as i64;
        match row.min.filter(|min| signed < *min) {
            Some(least) => Err(self.fail(format!("{name}: min value out of range: {signed} ({least} min)"))),
            None => Ok(()),
        }
    }
}

/// Assigns values to the three directions. A single value applies to all; the second of two applies
/// to writes and trims. Blank values change nothing. After a trailing separator (`closed`), the
/// last value applies to one direction only.
pub(in crate::fio) fn assign_directions<T: Clone>(target: &mut PerDirection<T>, values: &[Option<T>], closed: bool) {
    let slots = [&mut target.read, &mut target.write, &mut target.trim];
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
