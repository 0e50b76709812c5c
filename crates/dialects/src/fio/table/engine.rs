//! Options of single engines.

use model::plan::{CpuWork, LookupCall};

use super::row::*;
use super::special;
use crate::fio::lower::{priorities, special as special_engines};
use crate::fio::options::engine;
use crate::fio::print;
use crate::fio::values::Unit;

/// The requirement of options for protection information.
const PROTECTION: &str = "a drive whose format has protection information";

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    flag(tier1(0), field!(engine.userspace_reap)).engines(&["libaio"])
        .help("Reap completions from shared memory, without a system call.")
        .without_effect("completions are always reaped from shared memory if the kernel allows it"),
    boolean(tier1(0), field!(engine.libaio_vectored)).engines(&["libaio"]).default("0").example("1")
        .help("Use vectored operations.")
        .without_effect("an operation has one buffer, so a vector makes no difference"),
    flag(tier1(0), field!(engine.hipri)).engines(&["pvsync2", "io_uring"])
        .help("Poll for completions instead of waiting for interrupts.")
        .plan_field(field_of_plan!(Flag: worker.engine.poll))
        .effects(&[("--ioengine=io_uring --hipri", "worker.engine.poll=true")]),
    int(tier1(0), field!(engine.hipri_percentage)).engines(&["pvsync2"]).min(0).max(100).default("100")
        .example("50").help("Share of operations to poll for, in percent.")
        .lowers_with(|draft| {
            draft.parts.worker.engine.poll_percent = draft.options.engine.hipri_percentage.clamp(0, 100) as u8;
        })
        .prints(|section| print::non_default(section.worker().engine.poll_percent, 100))
        .effects(&[("--ioengine=pvsync2 --hipri --hipri_percentage=30", "worker.engine.poll_percent=30")]),
    int(tier1(0), field!(engine.uncached)).engines(&["pvsync2", "io_uring"]).min(0).max(1).default("0")
        .example("1").help("Drop pages from the cache after the operation.")
        .lowers_with(|draft| draft.parts.worker.engine.uncached = draft.options.engine.uncached != 0)
        .prints(|section| print::on(section.worker().engine.uncached))
        .effects(&[("--ioengine=pvsync2 --uncached=1", "worker.engine.uncached=true")]),
    boolean(tier1(0), field!(engine.nowait)).engines(&["pvsync2", "libaio", "io_uring"]).default("0").example("1")
        .help("Fail operations that would block (RWF_NOWAIT).").plan_field(field_of_plan!(Flag: worker.engine.no_wait))
        .effects(&[("--ioengine=io_uring --nowait=1", "worker.engine.no_wait=true")]),
    flag(tier1(0), field!(engine.fixedbufs)).engines(&["io_uring"]).help("Use registered buffers.")
        .without_effect("buffers are always registered"),
    flag(tier1(0), field!(engine.registerfiles)).engines(&["io_uring"]).help("Use registered files.")
        .without_effect("files are always registered, unless the job opens and closes them"),
    flag(tier1(0), field!(engine.sqthread_poll)).engines(&["io_uring"])
        .help("Let a kernel thread poll the submission queue (SQPOLL).")
        .plan_field(field_of_plan!(Flag: worker.engine.submission_thread))
        .effects(&[("--ioengine=io_uring --sqthread_poll", "worker.engine.submission_thread=true")]),
    optional_int(tier1(0), field!(engine.sqthread_poll_cpu)).engines(&["io_uring"]).example("1")
        .help("CPU of the SQPOLL thread.").plan_field(field_of_plan!(OptionalCount: worker.engine.submission_cpu))
        .effects(&[("--ioengine=io_uring --sqthread_poll --sqthread_poll_cpu=1", "worker.engine.submission_cpu=1")]),
    optional_int(tier1(0), field!(engine.nonvectored)).engines(&["io_uring"]).example("1")
        .help("Use operations with one buffer.")
        .without_effect("operations are never vectored"),
    int(tier1(0), field!(engine.force_async)).engines(&["io_uring"]).default("0").example("4")
        .help("Execute every n-th operation in a kernel thread.")
        .plan_field(field_of_plan!(Count: worker.engine.force_async_every))
        .effects(&[("--ioengine=io_uring --force_async=4", "worker.engine.force_async_every=4")]),
    per_direction(tier1(0), field!(engine.cmdprio_percentage), Unit::Bytes).engines(&["libaio", "io_uring"]).min(0)
        .max(100).example("10").help("Share of operations with a higher priority, in percent.")
        .lowers_with(priorities::lower_rules)
        .prints(|section| print::engine::common_rule_value(section, |rule| u64::from(rule.percent)))
        .effects(&[
            (
                "--ioengine=libaio --direct=1 --cmdprio_percentage=10",
                "stream.priorities=[{class:real_time,direction:read,hint:0,length:null,level:0,percent:10}]",
            ),
        ]),
    per_direction(tier1(0), field!(engine.cmdprio_class), Unit::Bytes).engines(&["libaio", "io_uring"]).min(0)
        .max(3).example("1").help("Class of the cmdprio priority.")
        .prints(|section| print::engine::common_rule_value(section, |rule| u64::from(print::engine::class_number(rule.class))))
        .effects(&[
            (
                "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio_class=3",
                "stream.priorities=[{class:idle,direction:read,hint:0,length:null,level:0,percent:10}]",
            ),
        ]),
    per_direction(tier1(0), field!(engine.cmdprio), Unit::Bytes).engines(&["libaio", "io_uring"]).min(0).max(7)
        .example("0").help("Level of the cmdprio priority.")
        .prints(|section| print::engine::common_rule_value(section, |rule| u64::from(rule.level)))
        .effects(&[
            (
                "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio=5",
                "stream.priorities=[{class:real_time,direction:read,hint:0,length:null,level:5,percent:10}]",
            ),
        ]),
    per_direction(tier1(0), field!(engine.cmdprio_hint), Unit::Bytes).engines(&["libaio", "io_uring"]).min(0)
        .max(1023).example("1").help("Hint of the cmdprio priority.")
        .prints(|section| print::engine::common_rule_value(section, |rule| u64::from(rule.hint)))
        .effects(&[
            (
                "--ioengine=libaio --direct=1 --cmdprio_percentage=10 --cmdprio_hint=3",
                "stream.priorities=[{class:real_time,direction:read,hint:3,length:null,level:0,percent:10}]",
            ),
        ]),
    special(tier1(0), "cmdprio_bssplit", special::parse_priorities).engines(&["libaio", "io_uring"])
        .example("4k/10:64k/50/2/7")
        .help("Share of operations with a priority by block size: size/percent, or size/percent/class/level/hint.")
        .prints(print::engine::cmdprio_bssplit)
        .effects(&[
            (
                "--ioengine=io_uring --rw=randrw --cmdprio_bssplit=4k/10:64k/30/2/7/5,8k/50 --cmdprio_class=1,3",
                "stream.priorities=[{class:real_time,direction:read,hint:0,length:4096,level:0,percent:10},\
                 {class:best_effort,direction:read,hint:5,length:65536,level:7,percent:30},{class:idle,\
                 direction:write,hint:0,length:8192,level:0,percent:50}]",
            ),
        ]),
    refused(tier3(0), "md_per_io_size", "int", PROTECTION).engines(&["io_uring"]).example("64")
        .help("Metadata bytes per operation."),
    refused(tier3(0), "pi_act", "int", PROTECTION).engines(&["io_uring"]).example("1").help("Whether \
        the drive adds protection information."),
    refused(tier3(0), "pi_chk", "text", PROTECTION).engines(&["io_uring"]).example("GUARD")
        .help("The protection information to check."),
    refused(tier3(0), "apptag", "int", PROTECTION).engines(&["io_uring"]).example("1").help("Application tag."),
    refused(tier3(0), "apptag_mask", "int", PROTECTION).engines(&["io_uring"]).example("1").help("Mask of the application tag."),
    int(tier1(0), field!(engine.thp)).engines(&["mmap"]).default("0").example("1").help("Use huge pages.")
        .lowers_with(|draft| draft.parts.worker.engine.huge_maps = draft.options.engine.thp != 0)
        .prints(|section| print::on(section.worker().engine.huge_maps))
        .effects(&[("--ioengine=mmap --thp=1", "worker.engine.huge_maps=true")]),
    flag(tier1(0), field!(engine.no_completion_thread)).engines(&["windowsaio"])
        .help("Reap completions in the job's own thread.")
        .without_effect("the job's own thread always reaps completions"),
    int(tier2(0), field!(engine.cpuload)).engines(&["cpuio"]).default("0").example("50")
        .help("Share of processor time to use, in percent.").lowers_with(special_engines::lower_work)
        .prints(print::engine::cpuload)
        .effects(&[
            (
                "--ioengine=cpuio --cpuload=25 --cpuchunks=1000",
                "stream.think.pause_ns=3000000; stream.think.operations=1; stream.think.count=completed",
            ),
            (
                "--ioengine=cpuio --cpumode=qsort --cpuload=30",
                "worker.engine.work.work=sort; worker.engine.work.percent=30",
            ),
        ]),
    int(tier2(0), field!(engine.cpuchunks)).engines(&["cpuio"]).default("50000").example("1000")
        .help("Duration of a unit of work, in microseconds.").prints(print::engine::cpuchunks)
        .effects(&[
            ("--ioengine=cpuio --cpuload=100 --cpuchunks=700", "worker.engine.work={time_ns:700000,work:spin}"),
        ]),
    keyword(tier2(0), "cpumode", engine::CpuMode::WORDS)
        .engines(&["cpuio"]).default("noop").example("qsort").help("The kind of work.")
        .prints(|section| matches!(section.worker().engine.work, Some(CpuWork::Sort { .. })).then(|| "qsort".into()))
        .effects(&[
            ("--ioengine=cpuio --cpuload=50 --cpumode=qsort", "worker.engine.work.work=sort; stream.think=null"),
        ]),
    boolean(tier2(0), field!(engine.exit_on_io_done)).engines(&["cpuio"]).default("0").example("1")
        .help("End after all I/O jobs have ended.").lowers_with(special_engines::lower_ends_with_io)
        .prints(|section| print::on(section.job().ends_with_io))
        .effects(&[("--ioengine=cpuio --cpuload=50 --exit_on_io_done=1", "job.ends_with_io=true")]),
    text(tier2(0), field!(engine.program)).engines(&["exec"]).example("/bin/true").help("Program to run.")
        .lowers_with(special_engines::lower_program)
        .prints(|section| Some(print::engine::program(section)?.path.clone()).filter(|path| !path.is_empty()))
        .effects(&[("--ioengine=exec --program=/bin/true", "worker.engine.program.path=/bin/true")]),
    text(tier2(0), field!(engine.arguments)).engines(&["exec"]).example("-v").help("Its arguments.")
        .prints(|section| Some(print::engine::program(section)?.arguments.join(" ")).filter(|text| !text.is_empty()))
        .effects(&[
            (
                "--ioengine=exec --program=p --arguments=-n_%n_-t_%r --runtime=5",
                "worker.engine.program.arguments=[-n_x_-t_5]",
            ),
        ]),
    int(tier2(0), field!(engine.grace_time)).engines(&["exec"]).default("1").example("5")
        .help("Seconds until a program that does not terminate is killed.")
        .prints(|section| Some((print::engine::program(section)?.grace_ns.0 / 1_000_000_000).to_string()))
        .effects(&[("--ioengine=exec --program=p --grace_time=7", "worker.engine.program.grace_ns=7000000000")]),
    boolean(tier2(0), field!(engine.std_redirect)).engines(&["exec"]).default("1").example("0")
        .help("Redirect its output to files.")
        .prints(|section| print::off(print::engine::program(section)?.output.is_some()))
        .effects(&[
            (
                "--ioengine=exec --program=p --std_redirect=0",
                "worker.engine.program.output=null; worker.engine.program.errors=null",
            ),
        ]),
    keyword(tier2(0), "stat_type", STAT_TYPE_WORDS)
        .engines(&["filestat", "dirstat"]).default("stat").example("lstat").help("The system call for the lookup.")
        .lowers_with(|draft| draft.parts.worker.engine.lookup_call = draft.options.engine.stat_type)
        .prints(print::engine::stat_type)
        .effects(&[
            ("--ioengine=filestat --filesize=4k --stat_type=lstat", "worker.engine.look=lstat"),
            ("--ioengine=dirstat --stat_type=statx", "worker.engine.look=statx"),
        ]),
};

const STAT_TYPE_WORDS: &[Word] = &[
    Word::new("stat", "Use stat(2)", |job| job.engine.stat_type = LookupCall::Stat),
    Word::new("lstat", "Use lstat(2)", |job| job.engine.stat_type = LookupCall::Lstat),
    Word::new("statx", "Use statx(2) if exists", |job| {
        job.engine.stat_type = LookupCall::Statx
    }),
];
