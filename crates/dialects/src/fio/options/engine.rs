//! Options that only some engines have.

use super::row::*;
use super::special;
use super::typed::PrioritySplit;
use crate::fio::values::Unit;
use model::PerDirection;
use model::plan::LookCall;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Engine {
    pub userspace_reap: bool,
    pub libaio_vectored: bool,
    pub hipri: bool,
    pub hipri_percentage: i64,
    pub uncached: i64,
    pub nowait: bool,
    pub fixedbufs: bool,
    pub registerfiles: bool,
    pub sqthread_poll: bool,
    pub sqthread_poll_cpu: Option<i64>,
    pub nonvectored: Option<i64>,
    pub force_async: i64,
    pub cmdprio_percentage: PerDirection<u64>,
    pub cmdprio_class: PerDirection<u64>,
    pub cmdprio: PerDirection<u64>,
    pub cmdprio_hint: PerDirection<u64>,
    pub cmdprio_bssplit: Option<PerDirection<Vec<PrioritySplit>>>,
    pub thp: i64,
    pub no_completion_thread: bool,
    pub cpuload: i64,
    pub cpuchunks: i64,
    pub cpumode: CpuMode,
    pub exit_on_io_done: bool,
    pub program: Option<String>,
    pub arguments: Option<String>,
    pub grace_time: i64,
    pub std_redirect: bool,
    pub stat_type: LookCall,
}

/// What a processor does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuMode {
    /// It spins.
    #[default]
    Noop,
    /// It sorts numbers.
    Qsort,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    flag(first(0), "userspace_reap", |job| &mut job.engine.userspace_reap)
        .engines(&["libaio"])
        .without_effect("completions are always taken from shared memory where the kernel offers it")
        .help("Take completions from shared memory without a call."),
    boolean(first(0), "libaio_vectored", |job| &mut job.engine.libaio_vectored)
        .default("0")
        .engines(&["libaio"])
        .without_effect("an operation has one buffer, and a vector of one is the same")
        .help("Use vectored operations.")
        .example("1"),
    flag(first(0), "hipri", |job| &mut job.engine.hipri)
        .engines(&["pvsync2", "io_uring"])
        .help("Ask the device for completions rather than wait for interrupts."),
    int(first(0), "hipri_percentage", |job| &mut job.engine.hipri_percentage)
        .least(0)
        .most(100)
        .default("100")
        .engines(&["pvsync2"])
        .help("Share of operations for which that holds, in percent.")
        .example("50"),
    int(first(0), "uncached", |job| &mut job.engine.uncached)
        .least(0)
        .most(1)
        .default("0")
        .engines(&["pvsync2", "io_uring"])
        .help("Drop pages from the cache when the operation is done.")
        .example("1"),
    boolean(first(0), "nowait", |job| &mut job.engine.nowait)
        .default("0")
        .engines(&["pvsync2", "libaio", "io_uring"])
        .help("Fail rather than wait for something.")
        .example("1"),
    flag(first(0), "fixedbufs", |job| &mut job.engine.fixedbufs)
        .engines(&["io_uring"])
        .without_effect("buffers are always registered")
        .help("Register the buffers."),
    flag(first(0), "registerfiles", |job| &mut job.engine.registerfiles)
        .engines(&["io_uring"])
        .without_effect("files are always registered, unless they are opened and closed while the job runs")
        .help("Register the files."),
    flag(first(0), "sqthread_poll", |job| &mut job.engine.sqthread_poll)
        .engines(&["io_uring"])
        .help("A thread of the kernel takes operations."),
    optional_int(first(0), "sqthread_poll_cpu", |job| &mut job.engine.sqthread_poll_cpu)
        .engines(&["io_uring"])
        .help("Processor of that thread.")
        .example("1"),
    optional_int(first(0), "nonvectored", |job| &mut job.engine.nonvectored)
        .engines(&["io_uring"])
        .without_effect("operations are never vectored")
        .help("Use operations with one buffer.")
        .example("1"),
    int(first(0), "force_async", |job| &mut job.engine.force_async)
        .default("0")
        .engines(&["io_uring"])
        .help("Hand every n-th operation to a kernel thread.")
        .example("4"),
    per_direction(
        first(0),
        "cmdprio_percentage",
        |job| &mut job.engine.cmdprio_percentage,
        Unit::Bytes,
    )
    .least(0)
    .most(100)
    .engines(&["libaio", "io_uring"])
    .help("Share of operations with a higher priority, in percent.")
    .example("10"),
    per_direction(
        first(0),
        "cmdprio_class",
        |job| &mut job.engine.cmdprio_class,
        Unit::Bytes,
    )
    .least(0)
    .most(3)
    .engines(&["libaio", "io_uring"])
    .help("Class of that priority.")
    .example("1"),
    per_direction(first(0), "cmdprio", |job| &mut job.engine.cmdprio, Unit::Bytes)
        .least(0)
        .most(7)
        .engines(&["libaio", "io_uring"])
        .help("That priority.")
        .example("0"),
    per_direction(
        first(0),
        "cmdprio_hint",
        |job| &mut job.engine.cmdprio_hint,
        Unit::Bytes,
    )
    .least(0)
    .most(1023)
    .engines(&["libaio", "io_uring"])
    .help("Hint to go with it.")
    .example("1"),
    special(first(0), "cmdprio_bssplit", special::priorities)
        .engines(&["libaio", "io_uring"])
        .help("Share of operations with a priority by block size: size/percent, or size/percent/class/level/hint.")
        .example("4k/10:64k/50/2/7"),
    refused(third(0), "md_per_io_size", "int")
        .engines(&["io_uring"])
        .help("Bytes of metadata of an operation.")
        .example("64"),
    refused(third(0), "pi_act", "int")
        .engines(&["io_uring"])
        .help("Who adds protection information.")
        .example("1"),
    refused(third(0), "pi_chk", "text")
        .engines(&["io_uring"])
        .help("Which protection information is checked.")
        .example("GUARD"),
    refused(third(0), "apptag", "int")
        .engines(&["io_uring"])
        .help("Application tag.")
        .example("1"),
    refused(third(0), "apptag_mask", "int")
        .engines(&["io_uring"])
        .help("Mask of the application tag.")
        .example("1"),
    int(first(0), "thp", |job| &mut job.engine.thp)
        .default("0")
        .engines(&["mmap"])
        .help("Ask for large pages.")
        .example("1"),
    flag(first(0), "no_completion_thread", |job| {
        &mut job.engine.no_completion_thread
    })
    .engines(&["windowsaio"])
    .without_effect("completions are always taken by the job itself")
    .help("Take completions on the job's own thread."),
    int(second(0), "cpuload", |job| &mut job.engine.cpuload)
        .default("0")
        .engines(&["cpuio"])
        .help("Share of processor time to use, in percent.")
        .example("50"),
    int(second(0), "cpuchunks", |job| &mut job.engine.cpuchunks)
        .default("50000")
        .engines(&["cpuio"])
        .help("Length of a spell of work in microseconds.")
        .example("1000"),
    word(
        second(0),
        "cpumode",
        &[
            Word::new("noop", "NOOP instructions", |job| job.engine.cpumode = CpuMode::Noop),
            Word::new("qsort", "QSORT computation", |job| job.engine.cpumode = CpuMode::Qsort),
        ],
    )
    .default("noop")
    .engines(&["cpuio"])
    .help("What the processor does.")
    .example("qsort"),
    boolean(second(0), "exit_on_io_done", |job| &mut job.engine.exit_on_io_done)
        .default("0")
        .engines(&["cpuio"])
        .help("End when other jobs have ended.")
        .example("1"),
    text(second(0), "program", |job| &mut job.engine.program)
        .engines(&["exec"])
        .help("Program to run.")
        .example("/bin/true"),
    text(second(0), "arguments", |job| &mut job.engine.arguments)
        .engines(&["exec"])
        .help("Its arguments.")
        .example("-v"),
    int(second(0), "grace_time", |job| &mut job.engine.grace_time)
        .default("1")
        .engines(&["exec"])
        .help("Seconds that it has to end.")
        .example("5"),
    boolean(second(0), "std_redirect", |job| &mut job.engine.std_redirect)
        .default("1")
        .engines(&["exec"])
        .help("Its output goes to files.")
        .example("0"),
    word(
        second(0),
        "stat_type",
        &[
            Word::new("stat", "Use stat(2)", |job| job.engine.stat_type = LookCall::Stat),
            Word::new("lstat", "Use lstat(2)", |job| job.engine.stat_type = LookCall::Lstat),
            Word::new("statx", "Use statx(2) if exists", |job| {
                job.engine.stat_type = LookCall::Statx
            }),
        ],
    )
    .default("stat")
    .engines(&["filestat", "dirstat"])
    .help("The call that looks up a name.")
    .example("lstat"),
];
