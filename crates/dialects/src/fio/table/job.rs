//! The job as a whole: its name, how often and how long it runs, what it waits for and what ends with it.

use super::row::*;
use super::special;
use crate::fio::lower::{job as lower, report, system};
use crate::fio::options::job;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    text(first(10), field!(job.description)).example("\"nightly run\"").help("A text that reports repeat.")
        .is(field_of_plan!(Text: job.description)),
    text(first(20), field!(job.name)).example("reader")
        .help("Name in reports; generated file names keep that of the section."),
    text(first(30), field!(job.wait_for)).example("writer")
        .help("Begin when all clones of this earlier job have ended."),
    int(first(600), field!(job.numjobs)).default("1").example("4").help("Clones of the job that run side by side."),
    int(first(590), field!(job.loops)).default("1").example("3")
        .help("Times the whole job is carried out, each time in the same order."),
    special(first(610), "startdelay", special::time_range).default("0").example("5-10")
        .help("Wait this long after the common start, or a random time in a range (bare: seconds).")
        .means(lower::start_delay),
    time(first(620), field!(job.runtime), Unit::Seconds).aliases(&["timeout"]).default("0").example("60")
        .help("End after this time, not counting the ramp (bare: seconds)."),
    flag(first(630), field!(job.time_based)).help("Begin anew until the runtime is over."),
    time(first(680), field!(job.ramp_time), Unit::Seconds).default("0").example("2s")
        .help("Carry out the load this long before anything is counted (bare: seconds).").means(lower::warm_up),
    size(second(690), field!(job.ramp_size)).least(1).example("1g")
        .help("Carry out this much before anything is counted."),
    size(first(400), field!(job.number_ios)).default("0").example("100").help("End after this many operations."),
    flag(first(1780), field!(job.exitall)).help("When this job ends, end those that exit_what selects."),
    word(first(1790), "exit_what", job::ExitWhat::WORDS).default("group").example("all")
        .help("Which jobs end with one that has exitall."),
    flag(first(1800), field!(job.exitall_on_error)).help("When this job fails, end those that exit_what selects."),
    flag(first(1810), field!(job.stonewall)).aliases(&["wait_for_previous"])
        .help("Begin when all jobs above have ended, in a new group."),
    flag(first(1820), field!(job.new_group)).help("Begin a new group for reports."),
    flag(first(1830), field!(job.thread)).help("Clones are threads rather than processes.")
        .shows("thread", report::thread),
    boolean(first(1640), field!(job.create_only)).default("0").example("1")
        .help("Prepare the files and do nothing else.").is(field_of_plan!(Flag: job.prepare_only)),
    text(second(1060), field!(job.exec_prerun)).example("\"sync\"")
        .help("Shell command before the job, where FATHOM_ALLOW_EXEC=1 allows it."),
    text(second(1070), field!(job.exec_postrun)).example("\"sync\"")
        .help("Shell command after the job, where FATHOM_ALLOW_EXEC=1 allows it."),
    text(second(1080), field!(job.comm)).example("reader").help("Name of the process in lists of the system.")
        .is(field_of_plan!(Text: worker.placement.name)),
    word(first(2310), "continue_on_error", job::ContinueOnError::WORDS).default("none").example("verify")
        .help("Errors that are counted without ending the job.").means(system::tolerance),
    special(first(210), "ignore_error", special::errors).example("EIO,ENOSPC")
        .help("Errors, by name or number, that are tolerated for reads, writes, verification."),
    boolean(first(2320), field!(job.error_dump)).default("0").example("1").help("Tell of tolerated errors as well.")
        .is(field_of_plan!(Flag: stream.on_error.tell_tolerated)),
    int(second(2460), field!(job.flow)).most(1000).default("0").example("8")
        .help("Share in the operations of all jobs of the same flow: its weight over the sum of theirs.")
        .means(lower::flow),
    int(second(2440), field!(job.flow_id)).default("0").example("1").help("Which flow."),
    ignored(first(2450), "flow_watermark").example("64").help("Gone; a flow has no limit any more.")
        .without_effect("fio has no such thing any more"),
    int(second(2470), field!(job.flow_sleep)).default("0").example("100")
        .help("Pause in microseconds of a job that is ahead of its share."),
    refused(third(2330), "profile", "text").example("tiobench").help("One of fio's built-in workloads."),
};
