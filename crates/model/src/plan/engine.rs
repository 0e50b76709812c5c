//! The choice of an engine, with its options.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// How operations reach the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineChoice {
    /// The interface to the kernel.
    pub kind: EngineKind,
    /// Busy-wait for completions in the driver (`IORING_SETUP_IOPOLL`, `RWF_HIPRI`).
    #[serde(default)]
    pub poll: bool,
    /// A kernel thread picks up submissions (`IORING_SETUP_SQPOLL`).
    #[serde(default)]
    pub submission_thread: bool,
    /// Send every n-th operation directly to kernel workers (`IOSQE_ASYNC`); 0 for none.
    #[serde(default)]
    pub force_async_every: u32,
    /// Registered buffers and files, if the engine supports them.
    #[serde(default = "yes")]
    pub registered: bool,
    /// Each write is atomic (`RWF_ATOMIC`).
    #[serde(default)]
    pub atomic: bool,
    /// A pool of threads, one per unit of queue depth, makes the calls (fio
    /// `io_submit_mode=offload`).
    #[serde(default)]
    pub offload: bool,
    /// The share of polled operations, in percent (`RWF_HIPRI` for some calls only); the others
    /// wait.
    #[serde(default = "all")]
    pub poll_percent: u8,
    /// Pages leave the cache when the operation completes (`RWF_DONTCACHE`).
    #[serde(default)]
    pub uncached: bool,
    /// An operation that would block fails instead (`RWF_NOWAIT`).
    #[serde(default)]
    pub no_wait: bool,
    /// The CPU of the kernel thread that picks up submissions (`IORING_SETUP_SQ_AFF`).
    #[serde(default)]
    pub submission_cpu: Option<u32>,
    /// Memory maps ask for transparent huge pages (fio `thp`).
    #[serde(default)]
    pub huge_maps: bool,
    /// How engines that look up files and directories do so.
    #[serde(rename = "look", default, skip_serializing_if = "is_default_lookup")]
    pub lookup_call: LookupCall,
    /// The work of each operation, for the engine that only uses processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<CpuWork>,
    /// The program, for the engine that runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

fn is_default_lookup(call: &LookupCall) -> bool {
    *call == LookupCall::Stat
}

fn all() -> u8 {
    100
}

impl Default for EngineChoice {
    /// The meaning of an empty choice in a saved plan.
    fn default() -> Self {
        EngineChoice {
            kind: EngineKind::default(),
            poll: false,
            submission_thread: false,
            force_async_every: 0,
            registered: true,
            atomic: false,
            offload: false,
            poll_percent: 100,
            uncached: false,
            no_wait: false,
            submission_cpu: None,
            huge_maps: false,
            lookup_call: LookupCall::Stat,
            work: None,
            program: None,
        }
    }
}

impl EngineChoice {
    /// An engine with default options.
    pub fn new(kind: EngineKind) -> EngineChoice {
        EngineChoice {
            kind,
            ..EngineChoice::default()
        }
    }
}

/// Interfaces through which a worker can issue I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// The engine that suits the target; the results state the reason.
    #[default]
    Auto,
    /// Linux io_uring.
    IoUring,
    /// Linux native AIO.
    Libaio,
    /// A Windows completion port.
    Iocp,
    /// Windows operations with completion routines on their thread (DiskSpd `-x`).
    Routines,
    /// The submission ring of Windows 11 and Windows Server 2025.
    #[serde(rename = "ioring")]
    IoRing,
    /// `pread` and `pwrite`.
    Psync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// A memory map and copies.
    Mmap,
    /// Allocates and frees space instead of moving data: a read allocates without changing the
    /// size, a write allocates and may extend the file, a trim punches a hole (fio `falloc`).
    Falloc,
    /// Truncates or extends files instead of writing: a write makes its offset the end of the file.
    /// Other directions do not exist (fio `ftruncate`).
    Truncate,
    /// Moves data through a pipe: `splice` and `vmsplice`.
    Splice,
    /// `preadv` and `pwritev` of operations that are submitted together and adjacent in a file.
    Vsync,
    /// The operation at the start of a file creates it if it does not exist. Other operations of
    /// the file do nothing and have no latency (fio `filecreate`).
    FileCreate,
    /// Like `FileCreate`, but looks up the file.
    FileStat,
    /// Like `FileCreate`, but removes the file.
    FileDelete,
    /// Like `FileCreate`, for a directory.
    DirectoryCreate,
    /// Like `FileStat`, for a directory.
    DirectoryStat,
    /// Like `FileDelete`, for a directory.
    DirectoryDelete,
    /// Operations on the files of a tree (native `kind = "files"`).
    Files,
    /// Uses processors and moves no data (fio `cpuio`).
    Cpu,
    /// Runs a program alongside the other jobs and moves no data (fio `exec`).
    Program,
    /// Does nothing, to measure the tool itself.
    Null,
    /// A simulated device with its own clock.
    Simulated,
}

/// The systems that have an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// On every system.
    Any,
    /// On Linux.
    Linux,
    /// On Windows.
    Windows,
}

/// The effect of an engine's operations on their target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// They move data.
    Transfer,
    /// They allocate and free space; even reads allocate.
    Allocate,
    /// They truncate or extend files.
    Truncate,
    /// The first operation on a name creates it.
    Create,
    /// The first operation on a name looks it up.
    LookUp,
    /// The first operation on a name removes it.
    Remove,
    /// They work on a tree of files.
    Tree,
    /// They transfer no bytes.
    Compute,
    /// They transfer nothing, but count as transfers.
    Simulate,
}

/// The properties of an engine. A new engine needs a row here, its file, and its arm in
/// `engine::open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The engine that these properties describe.
    pub kind: EngineKind,
    /// The name that users write.
    pub name: &'static str,
    /// Where it exists.
    pub system: System,
    /// The effect of its operations.
    pub effect: Effect,
    /// Each operation ends before the next begins, so at most one is in flight.
    pub synchronous: bool,
    /// The submitting call may complete operations, depending on the target, which the worker
    /// detects.
    pub completes_inline: bool,
    /// The default number of operations per submitting call. Eight saves most of what batching can
    /// save; more would delay the first operation.
    pub default_batch: u32,
    /// It supports atomic writes.
    pub atomic_writes: bool,
    /// It can busy-wait for completions in the driver.
    pub polls: bool,
    /// A pool of threads can make its calls.
    pub offloads: bool,
    /// It needs files opened for an asynchronous Windows queue.
    pub overlapped: bool,
    /// Native jobs may use it; the others are for fio's jobs.
    pub native: bool,
    /// fio's names; the first is used for output.
    pub fio_names: &'static [&'static str],
}

/// An engine that keeps several operations in flight.
const QUEUE: EngineInfo = EngineInfo {
    kind: EngineKind::Auto,
    name: "auto",
    system: System::Any,
    effect: Effect::Transfer,
    synchronous: false,
    completes_inline: false,
    default_batch: 8,
    atomic_writes: false,
    polls: false,
    offloads: false,
    overlapped: false,
    native: true,
    fio_names: &[],
};

/// A Windows queue. It makes one call per operation, so in a batch later operations would wait for
/// earlier ones.
const WINDOWS_QUEUE: EngineInfo = EngineInfo {
    system: System::Windows,
    completes_inline: true,
    default_batch: 1,
    overlapped: true,
    fio_names: &["windowsaio"],
    ..QUEUE
};

/// A synchronous engine for fio's jobs only.
const fn calls(kind: EngineKind, effect: Effect, fio_names: &'static [&'static str]) -> EngineInfo {
    EngineInfo {
        kind,
        name: fio_names[0],
        effect,
        synchronous: true,
        native: false,
        fio_names,
        ..QUEUE
    }
}

/// All engines, in the order of [`EngineKind`].
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo { polls: true, ..QUEUE },
    EngineInfo {
        kind: EngineKind::IoUring,
        name: "io_uring",
        system: System::Linux,
        completes_inline: true,
        atomic_writes: true,
        polls: true,
        offloads: true,
        // fio's queues of other systems and of the C library map to this one.
        fio_names: &["io_uring", "posixaio", "windowsaio"],
        ..QUEUE
    },
    EngineInfo {
        kind: EngineKind::Libaio,
        name: "libaio",
        system: System::Linux,
        completes_inline: true,
        atomic_writes: true,
        offloads: true,
        fio_names: &["libaio"],
        ..QUEUE
    },
    EngineInfo {
        kind: EngineKind::Iocp,
        name: "iocp",
        offloads: true,
        ..WINDOWS_QUEUE
    },
    EngineInfo {
        kind: EngineKind::Routines,
        name: "routines",
        native: false,
        ..WINDOWS_QUEUE
    },
    EngineInfo {
        kind: EngineKind::IoRing,
        name: "ioring",
        default_batch: QUEUE.default_batch,
        ..WINDOWS_QUEUE
    },
    EngineInfo {
        name: "psync",
        offloads: true,
        native: true,
        // On Windows, fio has no names for positioned calls.
        ..calls(
            EngineKind::Psync,
            Effect::Transfer,
            match cfg!(windows) {
                true => &["sync", "psync", "pvsync"],
                false => &["psync", "sync", "pvsync"],
            },
        )
    },
    EngineInfo {
        atomic_writes: true,
        polls: true,
        offloads: true,
        native: true,
        ..calls(EngineKind::Pvsync2, Effect::Transfer, &["pvsync2"])
    },
    EngineInfo {
        native: true,
        ..calls(EngineKind::Mmap, Effect::Transfer, &["mmap"])
    },
    calls(EngineKind::Falloc, Effect::Allocate, &["falloc"]),
    calls(EngineKind::Truncate, Effect::Truncate, &["ftruncate"]),
    EngineInfo {
        system: System::Linux,
        ..calls(EngineKind::Splice, Effect::Transfer, &["splice"])
    },
    EngineInfo {
        system: System::Linux,
        synchronous: false,
        ..calls(EngineKind::Vsync, Effect::Transfer, &["vsync"])
    },
    calls(EngineKind::FileCreate, Effect::Create, &["filecreate"]),
    calls(EngineKind::FileStat, Effect::LookUp, &["filestat"]),
    calls(EngineKind::FileDelete, Effect::Remove, &["filedelete"]),
    calls(EngineKind::DirectoryCreate, Effect::Create, &["dircreate"]),
    calls(EngineKind::DirectoryStat, Effect::LookUp, &["dirstat"]),
    calls(EngineKind::DirectoryDelete, Effect::Remove, &["dirdelete"]),
    EngineInfo {
        name: "files",
        fio_names: &[],
        ..calls(EngineKind::Files, Effect::Tree, &["files"])
    },
    calls(EngineKind::Cpu, Effect::Compute, &["cpuio"]),
    calls(EngineKind::Program, Effect::Compute, &["exec"]),
    EngineInfo {
        kind: EngineKind::Null,
        name: "null",
        effect: Effect::Simulate,
        default_batch: 32,
        atomic_writes: true,
        offloads: true,
        fio_names: &["null"],
        ..QUEUE
    },
    EngineInfo {
        kind: EngineKind::Simulated,
        name: "simulated",
        effect: Effect::Simulate,
        completes_inline: true,
        atomic_writes: true,
        fio_names: &["null"],
        ..QUEUE
    },
];

impl EngineInfo {
    /// True if this system supports it; some versions of the system may lack it.
    pub fn is_here(&self) -> bool {
        match self.system {
            System::Any => true,
            System::Linux => cfg!(target_os = "linux"),
            System::Windows => cfg!(windows),
        }
    }
}

impl EngineKind {
    /// What the engine supports.
    pub fn info(self) -> &'static EngineInfo {
        &ENGINES[self as usize]
    }

    /// The equivalent of the fio engine with this name, preferably on this system.
    pub fn from_fio_name(name: &str) -> Option<EngineKind> {
        let mut candidates = ENGINES.iter().filter(|engine| engine.fio_names.contains(&name));
        let first = candidates.clone().next();
        candidates
            .find(|engine| engine.is_here())
            .or(first)
            .map(|engine| engine.kind)
    }

    /// The name users write.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// True if each operation ends before the next begins, so that at most one is in flight.
    pub fn is_synchronous(self) -> bool {
        self.info().synchronous
    }

    /// True if it creates, looks up or removes files or directories by name, and opens none.
    pub fn is_metadata_engine(self) -> bool {
        self.operation_noun().is_some()
    }

    /// `creation`, `look-up` or `removal`, for engines that work on names.
    pub fn operation_noun(self) -> Option<&'static str> {
        match self.info().effect {
            Effect::Create => Some("creation"),
            Effect::LookUp => Some("look-up"),
            Effect::Remove => Some("removal"),
            Effect::Transfer
            | Effect::Allocate
            | Effect::Truncate
            | Effect::Tree
            | Effect::Compute
            | Effect::Simulate => None,
        }
    }

    /// True if its operations transfer no bytes.
    pub fn transfers_no_data(self) -> bool {
        self.info().effect == Effect::Compute
    }

    /// True if its operations only simulate I/O.
    pub fn simulates_io(self) -> bool {
        self.info().effect == Effect::Simulate
    }
}

/// The system call for the lookup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookupCall {
    /// `stat`, which follows links.
    #[default]
    Stat,
    /// `lstat`, which does not.
    Lstat,
    /// `statx`.
    Statx,
}

/// The work of each operation of the processor engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum CpuWork {
    /// It spins.
    Spin {
        /// Duration of the spin.
        time_ns: Nanos,
    },
    /// Sorts numbers in memory by different keys, and pauses after each sort.
    Sort {
        /// Count of numbers to sort.
        numbers: u64,
        /// The busy share of the time.
        percent: u8,
    },
}

/// A program that runs alongside the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its name or path.
    pub path: String,
    /// Arguments, without the program name.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The file for its standard output, truncated first; absent: the output of this process.
    #[serde(default)]
    pub output: Option<String>,
    /// The same for its standard error.
    #[serde(default)]
    pub errors: Option<String>,
    /// The polling interval.
    pub look_ns: Nanos,
    /// Time from its start until it receives `SIGTERM`.
    pub ends_after_ns: Nanos,
    /// The time from then until `SIGKILL`.
    pub grace_ns: Nanos,
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_its_row() {
        for (number, engine) in ENGINES.iter().enumerate() {
            assert_eq!(engine.kind as usize, number, "{} is in the wrong row", engine.name);
            let namesakes = ENGINES.iter().filter(|other| other.name == engine.name);
            assert_eq!(namesakes.count(), 1, "two engines have the name {}", engine.name);
        }
        assert_eq!(ENGINES.len(), EngineKind::Simulated as usize + 1);
    }

    #[test]
    fn fio_names_select_engines_of_this_system() {
        for (name, linux, windows) in [
            ("io_uring", EngineKind::IoUring, EngineKind::IoUring),
            ("posixaio", EngineKind::IoUring, EngineKind::IoUring),
            ("windowsaio", EngineKind::IoUring, EngineKind::Iocp),
            ("sync", EngineKind::Psync, EngineKind::Psync),
            ("null", EngineKind::Null, EngineKind::Null),
            ("cpuio", EngineKind::Cpu, EngineKind::Cpu),
        ] {
            let expected = if cfg!(windows) { windows } else { linux };
            assert_eq!(EngineKind::from_fio_name(name), Some(expected), "{name}");
        }
        assert_eq!(EngineKind::from_fio_name("rbd"), None);
    }
}
