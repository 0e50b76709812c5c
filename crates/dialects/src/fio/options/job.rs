//! The job as a whole: its name, how often and how long it runs, what it waits for and what ends with it.

use super::row::*;
use super::special;
use super::typed::Delay;
use crate::fio::values::Unit;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Job {
    pub description: Option<String>,
    pub name: Option<String>,
    pub wait_for: Option<String>,
    pub numjobs: i64,
    pub loops: i64,
    pub startdelay: Delay,
    pub runtime: u64,
    pub time_based: bool,
    pub ramp_time: u64,
    pub ramp_size: u64,
    pub number_ios: u64,
    pub exitall: bool,
    pub exit_what: ExitWhat,
    pub exitall_on_error: bool,
    pub stonewall: bool,
    pub new_group: bool,
    pub thread: bool,
    pub create_only: bool,
    pub exec_prerun: Option<String>,
    pub exec_postrun: Option<String>,
    pub comm: Option<String>,
    pub continue_on_error: ContinueOnError,
    pub ignore_error: Vec<Vec<String>>,
    pub error_dump: bool,
    pub flow: i64,
    pub flow_id: i64,
    pub flow_sleep: i64,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    text(first(10), "description", |job| &mut job.job.description)
        .help("A text that reports repeat.")
        .example("\"nightly run\""),
    text(first(20), "name", |job| &mut job.job.name)
        .help("Name in reports; generated file names keep that of the section.")
        .example("reader"),
    text(first(30), "wait_for", |job| &mut job.job.wait_for)
        .help("Begin when all clones of this earlier job have ended.")
        .example("writer"),
    int(first(600), "numjobs", |job| &mut job.job.numjobs)
        .default("1")
        .help("Clones of the job that run side by side.")
        .example("4"),
    int(first(590), "loops", |job| &mut job.job.loops)
        .default("1")
        .help("Times the whole job is carried out, each time in the same order.")
        .example("3"),
    special(first(610), "startdelay", special::time_range)
        .default("0")
        .help("Wait this long after the common start, or a random time in a range (bare: seconds).")
        .example("5-10"),
    time(first(620), "runtime", |job| &mut job.job.runtime, Unit::Seconds)
        .aliases(&["timeout"])
        .default("0")
        .help("End after this time, not counting the ramp (bare: seconds).")
        .example("60"),
    flag(first(630), "time_based", |job| &mut job.job.time_based).help("Begin anew until the runtime is over."),
    time(first(680), "ramp_time", |job| &mut job.job.ramp_time, Unit::Seconds)
        .default("0")
        .help("Carry out the load this long before anything is counted (bare: seconds).")
        .example("2s"),
    size(second(690), "ramp_size", |job| &mut job.job.ramp_size)
        .least(1)
        .help("Carry out this much before anything is counted.")
        .example("1g"),
    size(first(400), "number_ios", |job| &mut job.job.number_ios)
        .default("0")
        .help("End after this many operations.")
        .example("100"),
    flag(first(1780), "exitall", |job| &mut job.job.exitall)
        .help("When this job ends, end those that exit_what selects."),
    word(first(1790), "exit_what", EXIT_WHAT_WORDS)
        .default("group")
        .help("Which jobs end with one that has exitall.")
        .example("all"),
    flag(first(1800), "exitall_on_error", |job| &mut job.job.exitall_on_error)
        .help("When this job fails, end those that exit_what selects."),
    flag(first(1810), "stonewall", |job| &mut job.job.stonewall)
        .aliases(&["wait_for_previous"])
        .help("Begin when all jobs above have ended, in a new group."),
    flag(first(1820), "new_group", |job| &mut job.job.new_group).help("Begin a new group for reports."),
    flag(first(1830), "thread", |job| &mut job.job.thread).help("Clones are threads rather than processes."),
    boolean(first(1640), "create_only", |job| &mut job.job.create_only)
        .default("0")
        .help("Prepare the files and do nothing else.")
        .example("1"),
    text(second(1060), "exec_prerun", |job| &mut job.job.exec_prerun)
        .help("Shell command before the job, where FATHOM_ALLOW_EXEC=1 allows it.")
        .example("\"sync\""),
    text(second(1070), "exec_postrun", |job| &mut job.job.exec_postrun)
        .help("Shell command after the job, where FATHOM_ALLOW_EXEC=1 allows it.")
        .example("\"sync\""),
    text(second(1080), "comm", |job| &mut job.job.comm)
        .help("Name of the process in lists of the system.")
        .example("reader"),
    word(first(2310), "continue_on_error", CONTINUE_ON_ERROR_WORDS)
        .default("none")
        .help("Errors that are counted without ending the job.")
        .example("verify"),
    special(first(210), "ignore_error", special::errors)
        .help("Errors, by name or number, that are tolerated for reads, writes, verification.")
        .example("EIO,ENOSPC"),
    boolean(first(2320), "error_dump", |job| &mut job.job.error_dump)
        .default("0")
        .help("Tell of tolerated errors as well.")
        .example("1"),
    int(second(2460), "flow", |job| &mut job.job.flow)
        .most(1000)
        .default("0")
        .help("Share in the operations of all jobs of the same flow: its weight over the sum of theirs.")
        .example("8"),
    int(second(2440), "flow_id", |job| &mut job.job.flow_id)
        .default("0")
        .help("Which flow.")
        .example("1"),
    ignored(first(2450), "flow_watermark")
        .without_effect("fio has no such thing any more")
        .help("Gone; a flow has no limit any more.")
        .example("64"),
    int(second(2470), "flow_sleep", |job| &mut job.job.flow_sleep)
        .default("0")
        .help("Pause in microseconds of a job that is ahead of its share.")
        .example("100"),
    refused(third(2330), "profile", "text")
        .help("One of fio's built-in workloads.")
        .example("tiobench"),
];

/// Which jobs end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// `group`: those of the same group.
    #[default]
    Group,
    /// `stonewall`: all that run now.
    Stonewall,
    /// `all`: all, also those that wait.
    All,
}

const EXIT_WHAT_WORDS: &[Word] = &[
    Word::new("group", "those of the same group", |job| {
        job.job.exit_what = ExitWhat::Group
    }),
    Word::new("stonewall", "all that run now", |job| {
        job.job.exit_what = ExitWhat::Stonewall
    }),
    Word::new("all", "all, also those that wait", |job| {
        job.job.exit_what = ExitWhat::All
    }),
];

/// Errors that do not end a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContinueOnError {
    /// `none`: every error ends the job.
    #[default]
    None,
    /// `read`: errors of reads are counted.
    Read,
    /// `write`: errors of writes are counted.
    Write,
    /// `io`: errors of reads and writes are counted.
    Io,
    /// `verify`: mismatches are counted.
    Verify,
    /// `all`: all of them are counted.
    All,
}

const CONTINUE_ON_ERROR_WORDS: &[Word] = &[
    Word::new("none", "every error ends the job", |job| {
        job.job.continue_on_error = ContinueOnError::None
    }),
    Word::new("read", "errors of reads are counted", |job| {
        job.job.continue_on_error = ContinueOnError::Read
    }),
    Word::new("write", "errors of writes are counted", |job| {
        job.job.continue_on_error = ContinueOnError::Write
    }),
    Word::new("io", "errors of reads and writes are counted", |job| {
        job.job.continue_on_error = ContinueOnError::Io
    }),
    Word::new("verify", "mismatches are counted", |job| {
        job.job.continue_on_error = ContinueOnError::Verify
    }),
    Word::new("all", "all of them are counted", |job| {
        job.job.continue_on_error = ContinueOnError::All
    }),
    Word::new("0", "as none", |job| job.job.continue_on_error = ContinueOnError::None),
    Word::new("1", "as all", |job| job.job.continue_on_error = ContinueOnError::All),
];
