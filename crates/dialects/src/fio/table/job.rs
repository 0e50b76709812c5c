//! Name, duration and dependencies of a job.

use super::row::*;
use super::special;
use crate::fio::lower::{job as lower, system};
use crate::fio::options::job;
use crate::fio::print;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    text(tier1(10), field!(job.description)).example("\"nightly run\"").help("Description for reports.")
        .plan_field(field_of_plan!(Text: job.description))
        .prints(|section| Some(section.job().description.as_ref()?.replace(['\n', '\r'], " ")))
        .effects(&[("--description=nightly", "job.description=nightly")]),
    text(tier1(20), field!(job.name)).example("reader")
        .help("Name in reports; generated file names still use the section's name.")
        .effects(&[
            ("--name=y --size=4k", "job.name=y; target.path=y.0.0"),
            ("--name=a/b --rw=write --verify=md5", "stream.verify.state_file=local-a.b-0-verify.state"),
            (
                "--name=y --ioengine=exec --program=p",
                "worker.engine.program.output=y.stdout; worker.engine.program.errors=y.stderr",
            ),
        ]),
    text(tier1(30), field!(job.wait_for)).example("writer")
        .help("Start after all clones of this earlier job have ended.").prints(print::job::wait_for)
        .effects(&[
            ("--size=4k --name=a --name=b --wait_for=a", "plan.steps.0.jobs.1.after=[0]"),
            (
                "--size=4k --name=a --name=b --name=c --stonewall --wait_for=a",
                "plan.steps.*.jobs.*.after=[[[],[]],[[]]]; plan.origin.jobs.2.options.*.0=[name,stonewall,wait_for]",
            ),
        ]),
    int(tier1(600), field!(job.numjobs)).default("1").example("4").help("Number of concurrent clones of the job.")
        .prints(|section| print::non_default(section.clones().len(), 1))
        .effects(&[
            (
                "--numjobs=3",
                "job.workers.*.draws.number=[1,2,3]; job.workers.*.draws.seed=[137,137,137]; \
                 plan.targets.*.path=[x.0.0,x.1.0,x.2.0]",
            ),
            (
                "--rw=write --verify=md5 --numjobs=2",
                "job.workers.*.streams.0.verify.state_file=[local-x-0-verify.state,local-x-1-verify.state]",
            ),
        ]),
    int(tier1(590), field!(job.loops)).default("1").example("3")
        .help("Number of repetitions, each in the same order.").prints(print::job::loops)
        .effects(&[("--loops=3", "job.stop.rounds=3")]),
    special(tier1(610), "startdelay", special::time_range).min(0).default("0").example("5-10")
        .help("Delay after the common start, or a range to draw it from (default unit: seconds).")
        .lowers_with(lower::lower_start_delay).prints(print::job::startdelay)
        .effects(&[("--startdelay=5-10", "job.phases.start_delay={high_ns:10000000000,low_ns:5000000000}")]),
    time(tier1(620), field!(job.runtime), Unit::Seconds).aliases(&["timeout"]).default("0").example("60")
        .help("End after this time, excluding the ramp time (default unit: seconds).")
        .prints(|section| print::job::time_limit(section).map(print::format_micros))
        .effects(&[
            ("--runtime=2m", "job.stop.after_ns=120000000000"),
            ("--runtime=30 --time_based", "job.stop.repeat_until_time=true"),
            ("--read_iolog=trace --runtime=3", "job.stop.after_ns=3000000000"),
            ("--ioengine=exec --program=p --runtime=5", "worker.engine.program.ends_after_ns=5000000000"),
            ("--ioengine=cpuio --cpuload=50 --runtime=5", "job.stop.after_ns=5000000000"),
        ]),
    flag(tier1(630), field!(job.time_based)).help("Repeat the job until the runtime is over.")
        .prints(print::job::time_based)
        .effects(&[("--runtime=30 --time_based", "job.stop.repeat_until_time=true")]),
    time(tier1(680), field!(job.ramp_time), Unit::Seconds).min(0).default("0").example("2s")
        .help("Warm-up time before measuring (default unit: seconds).").lowers_with(lower::lower_warm_up)
        .prints(|section| print::time(section.job().phases.warm_up_ns))
        .effects(&[
            ("--ramp_time=500ms", "job.phases.warm_up_ns=500000000"),
            ("--ramp_size=1m --ramp_time=3", "job.phases.warm_up_ns=3000000000"),
        ]),
    size(tier2(690), field!(job.ramp_size)).min(1).example("1g")
        .help("Warm-up amount before measuring.")
        .prints(|section| section.job().phases.warm_up_bytes.and_then(|bytes| print::size(bytes.0)))
        .effects(&[("--ramp_size=1m", "job.phases.warm_up_bytes=1048576; job.phases.warm_up_ns>86399999999999")]),
    size(tier1(400), field!(job.number_ios)).default("0").example("100").help("End after this many operations.")
        .prints(print::job::number_ios)
        .effects(&[
            ("--number_ios=100", "job.stop.operations=100"),
            ("--ioengine=exec --program=p --number_ios=3", "job.stop.operations=3"),
        ]),
    flag(tier1(1780), field!(job.exitall)).help("End the jobs of exit_what when this job ends.")
        .prints(print::job::exitall)
        .effects(&[
            (
                "--size=4k --name=a --exitall --name=b",
                "job.ends_with.jobs=[1]; job.ends_with.workers=true; job.ends_with.plan_always=false",
            ),
            ("--size=4k --name=a --exitall --exit_what=all", "job.ends_with.plan_always=true"),
        ]),
    keyword(tier1(1790), "exit_what", job::ExitWhat::WORDS).default("group").example("all")
        .help("The jobs that exitall ends.").prints(print::job::exit_what)
        .effects(&[
            (
                "--size=4k --name=a --exitall --exit_what=all --name=b --new_group",
                "job.ends_with.jobs=[1]; job.ends_with.plan_always=true",
            ),
            (
                "--size=4k --name=a --exitall --exit_what=stonewall --name=b --new_group",
                "job.ends_with.jobs=[1]; job.ends_with.plan_always=false",
            ),
        ]),
    flag(tier1(1800), field!(job.exitall_on_error)).help("End the jobs of exit_what when this job fails.")
        .prints(print::job::exitall_on_error)
        .effects(&[
            (
                "--size=4k --name=a --exitall_on_error --name=b",
                "job.ends_with.on_failure=[1]; job.ends_with.workers_on_failure=true; job.ends_with.jobs=[]",
            ),
            ("--size=4k --name=a --exitall_on_error --exit_what=all", "job.ends_with.plan=true"),
        ]),
    flag(tier1(1810), field!(job.stonewall)).aliases(&["wait_for_previous"])
        .help("Start after all jobs above have ended, in a new group.")
        .prints(|section| print::bare(section.step > 0 && section.index == 0))
        .effects(&[
            (
                "--size=4k --name=a --name=b --stonewall",
                "plan.steps.*.jobs.*.name=[[a],[b]]; plan.groups.*.name=[0,1]",
            ),
        ]),
    flag(tier1(1820), field!(job.new_group)).help("Start a new reporting group.")
        .effects(&[
            ("--size=4k --name=a --name=b --new_group", "plan.steps.*.jobs.*.name=[[a,b]]; plan.groups.*.name=[0,1]"),
        ]),
    flag(tier1(1830), field!(job.thread)).aliases(&["threads"]).help("Run clones as threads instead of processes.")
        .shows("thread", |options| Some(options.job.thread.to_string()))
        .effects(&[("--thread", "shown.thread.0=true")]),
    boolean(tier1(1640), field!(job.create_only)).default("0").example("1")
        .help("Only prepare the files.").plan_field(field_of_plan!(Flag: job.prepare_only))
        .effects(&[("--size=1m --create_only=1", "job.prepare_only=true")]),
    text(tier2(1060), field!(job.exec_prerun)).example("\"sync\"")
        .help("Shell command before the job; needs FATHOM_ALLOW_EXEC=1."),
    text(tier2(1070), field!(job.exec_postrun)).example("\"sync\"")
        .help("Shell command after the job; needs FATHOM_ALLOW_EXEC=1."),
    text(tier2(1080), field!(job.comm)).example("reader").help("Process name in system tools.")
        .plan_field(field_of_plan!(Text: worker.placement.name))
        .effects(&[("--comm=walker", "worker.placement.name=walker")]),
    keyword(tier1(2310), "continue_on_error", job::ContinueOnError::WORDS).default("none").example("verify")
        .help("Errors that do not end the job.").lowers_with(system::lower_tolerance)
        .prints(print::system::continue_on_error)
        .effects(&[
            (
                "--continue_on_error=io",
                "stream.on_error.tolerate_read=[5,84]; stream.on_error.tolerate_write=[5,84]; \
                 stream.on_error.tolerate_verify=[]",
            ),
            (
                "--continue_on_error=verify",
                "stream.on_error.tolerate_read=[]; stream.on_error.tolerate_verify=[5,84]",
            ),
        ]),
    special(tier1(210), "ignore_error", special::parse_errors).example("EIO,ENOSPC")
        .help("Tolerated errors of reads, writes and verification, by name or number.")
        .prints(print::system::ignore_error)
        .effects(&[
            (
                "--ignore_error=EIO,ENOSPC:122,EILSEQ",
                "stream.on_error.tolerate_read=[5]; stream.on_error.tolerate_write=[28,122]; \
                 stream.on_error.tolerate_verify=[84]",
            ),
        ]),
    boolean(tier1(2320), field!(job.error_dump)).default("0").example("1").help("Report tolerated errors too.")
        .plan_field(field_of_plan!(Flag: stream.on_error.report_tolerated))
        .effects(&[("--error_dump=1", "stream.on_error.tell_tolerated=true")]),
    int(tier2(2460), field!(job.flow)).max(1000).default("0").example("8")
        .help("Weight of the job among the jobs of the same flow.")
        .lowers_with(lower::lower_flow).prints(|section| section.stream().flow.map(|flow| flow.weight.to_string()))
        .effects(&[("--flow=8", "stream.flow={id:0,pause_ns:0,weight:8}")]),
    int(tier2(2440), field!(job.flow_id)).default("0").example("1").help("Id of the flow.")
        .prints(|section| section.stream().flow.map(|flow| flow.id.to_string()))
        .effects(&[("--flow=8 --flow_id=3", "stream.flow.id=3")]),
    ignored(tier1(2450), "flow_watermark").example("64").help("Removed from fio; has no effect.")
        .without_effect("fio has removed it"),
    int(tier2(2470), field!(job.flow_sleep)).default("0").example("100")
        .help("Pause of a job that is ahead of its share, in microseconds.")
        .prints(|section| section.stream().flow.and_then(|flow| print::positive(flow.pause_ns.0 / 1000)))
        .effects(&[("--flow=8 --flow_sleep=100", "stream.flow.pause_ns=100000")]),
    text(tier2(2330), field!(job.profile)).example("tiobench")
        .help("Built-in workload: tiobench. Only on the command line.")
        .without_effect("it adds jobs, and works only on the command line"),
};
