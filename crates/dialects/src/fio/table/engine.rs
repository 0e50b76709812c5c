//! Options that only some engines have.

use model::plan::LookCall;

use super::row::*;
use super::special;
use crate::fio::lower::{priorities, queue, special as special_engines};
use crate::fio::options::engine;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    flag(first(0), field!(engine.userspace_reap)).engines(&["libaio"])
        .help("Take completions from shared memory without a call.")
        .without_effect("completions are always taken from shared memory where the kernel offers it"),
    boolean(first(0), field!(engine.libaio_vectored)).engines(&["libaio"]).default("0").example("1")
        .help("Use vectored operations.")
        .without_effect("an operation has one buffer, and a vector of one is the same"),
    flag(first(0), field!(engine.hipri)).engines(&["pvsync2", "io_uring"])
        .help("Ask the device for completions rather than wait for interrupts.")
        .is(field_of_plan!(Flag: worker.engine.poll)),
    int(first(0), field!(engine.hipri_percentage)).engines(&["pvsync2"]).least(0).most(100).default("100")
        .example("50").help("Share of operations for which that holds, in percent.").means(queue::poll_percent),
    int(first(0), field!(engine.uncached)).engines(&["pvsync2", "io_uring"]).least(0).most(1).default("0")
        .example("1").help("Drop pages from the cache when the operation is done.").means(queue::uncached),
    boolean(first(0), field!(engine.nowait)).engines(&["pvsync2", "libaio", "io_uring"]).default("0").example("1")
        .help("Fail rather than wait for something.").is(field_of_plan!(Flag: worker.engine.no_wait)),
    flag(first(0), field!(engine.fixedbufs)).engines(&["io_uring"]).help("Register the buffers.")
        .without_effect("buffers are always registered"),
    flag(first(0), field!(engine.registerfiles)).engines(&["io_uring"]).help("Register the files.")
        .without_effect("files are always registered, unless they are opened and closed while the job runs"),
    flag(first(0), field!(engine.sqthread_poll)).engines(&["io_uring"])
        .help("A thread of the kernel takes operations.").is(field_of_plan!(Flag: worker.engine.submission_thread)),
    optional_int(first(0), field!(engine.sqthread_poll_cpu)).engines(&["io_uring"]).example("1")
        .help("Processor of that thread.").is(field_of_plan!(OptionalCount: worker.engine.submission_cpu)),
    optional_int(first(0), field!(engine.nonvectored)).engines(&["io_uring"]).example("1")
        .help("Use operations with one buffer.")
        .without_effect("operations are never vectored"),
    int(first(0), field!(engine.force_async)).engines(&["io_uring"]).default("0").example("4")
        .help("Hand every n-th operation to a kernel thread.")
        .is(field_of_plan!(Count: worker.engine.force_async_every)),
    per_direction(first(0), field!(engine.cmdprio_percentage), Unit::Bytes).engines(&["libaio", "io_uring"]).least(0)
        .most(100).example("10").help("Share of operations with a higher priority, in percent.")
        .means(priorities::rules),
    per_direction(first(0), field!(engine.cmdprio_class), Unit::Bytes).engines(&["libaio", "io_uring"]).least(0)
        .most(3).example("1").help("Class of that priority."),
    per_direction(first(0), field!(engine.cmdprio), Unit::Bytes).engines(&["libaio", "io_uring"]).least(0).most(7)
        .example("0").help("That priority."),
    per_direction(first(0), field!(engine.cmdprio_hint), Unit::Bytes).engines(&["libaio", "io_uring"]).least(0)
        .most(1023).example("1").help("Hint to go with it."),
    special(first(0), "cmdprio_bssplit", special::priorities).engines(&["libaio", "io_uring"])
        .example("4k/10:64k/50/2/7")
        .help("Share of operations with a priority by block size: size/percent, or size/percent/class/level/hint."),
    refused(third(0), "md_per_io_size", "int").engines(&["io_uring"]).example("64")
        .help("Bytes of metadata of an operation."),
    refused(third(0), "pi_act", "int").engines(&["io_uring"]).example("1").help("Who adds protection information."),
    refused(third(0), "pi_chk", "text").engines(&["io_uring"]).example("GUARD")
        .help("Which protection information is checked."),
    refused(third(0), "apptag", "int").engines(&["io_uring"]).example("1").help("Application tag."),
    refused(third(0), "apptag_mask", "int").engines(&["io_uring"]).example("1").help("Mask of the application tag."),
    int(first(0), field!(engine.thp)).engines(&["mmap"]).default("0").example("1").help("Ask for large pages.")
        .means(queue::huge_maps),
    flag(first(0), field!(engine.no_completion_thread)).engines(&["windowsaio"])
        .help("Take completions on the job's own thread.")
        .without_effect("completions are always taken by the job itself"),
    int(second(0), field!(engine.cpuload)).engines(&["cpuio"]).default("0").example("50")
        .help("Share of processor time to use, in percent.").means(special_engines::work),
    int(second(0), field!(engine.cpuchunks)).engines(&["cpuio"]).default("50000").example("1000")
        .help("Length of a spell of work in microseconds."),
    word(second(0), "cpumode", engine::CpuMode::WORDS)
        .engines(&["cpuio"]).default("noop").example("qsort").help("What the processor does."),
    boolean(second(0), field!(engine.exit_on_io_done)).engines(&["cpuio"]).default("0").example("1")
        .help("End when other jobs have ended.").means(special_engines::ends_with_io),
    text(second(0), field!(engine.program)).engines(&["exec"]).example("/bin/true").help("Program to run.")
        .means(special_engines::program),
    text(second(0), field!(engine.arguments)).engines(&["exec"]).example("-v").help("Its arguments."),
    int(second(0), field!(engine.grace_time)).engines(&["exec"]).default("1").example("5")
        .help("Seconds that it has to end."),
    boolean(second(0), field!(engine.std_redirect)).engines(&["exec"]).default("1").example("0")
        .help("Its output goes to files."),
    word(second(0), "stat_type", STAT_TYPE_WORDS)
        .engines(&["filestat", "dirstat"]).default("stat").example("lstat").help("The call that looks up a name.")
        .means(queue::look),
};

const STAT_TYPE_WORDS: &[Word] = &[
    Word::new("stat", "Use stat(2)", |job| job.engine.stat_type = LookCall::Stat),
    Word::new("lstat", "Use lstat(2)", |job| job.engine.stat_type = LookCall::Lstat),
    Word::new("statx", "Use statx(2) if exists", |job| {
        job.engine.stat_type = LookCall::Statx
    }),
];
