//! How operations reach the kernel: which engine, and how it is used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// How operations reach the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineChoice {
    /// Which engine.
    pub kind: EngineKind,
    /// Busy-wait for completions in the driver (`IORING_SETUP_IOPOLL`, `RWF_HIPRI`).
    #[serde(default)]
    pub poll: bool,
    /// A kernel thread picks up submissions (`IORING_SETUP_SQPOLL`).
    #[serde(default)]
    pub submission_thread: bool,
    /// Hand every n-th operation straight to kernel workers; 0 for none (`IOSQE_ASYNC`).
    #[serde(default)]
    pub force_async_every: u32,
    /// Registered buffers and files, where the engine knows them.
    #[serde(default = "yes")]
    pub registered: bool,
    /// Each write happens whole or not at all (`RWF_ATOMIC`).
    #[serde(default)]
    pub atomic: bool,
    /// A pool of threads, as many as the queue is deep, makes the calls (fio `io_submit_mode=offload`).
    #[serde(default)]
    pub offload: bool,
    /// Share of operations that are polled for, in percent; the others wait (`RWF_HIPRI` of some calls only).
    #[serde(default = "all")]
    pub poll_percent: u8,
    /// Pages leave the cache when the operation is done (`RWF_DONTCACHE`).
    #[serde(default)]
    pub uncached: bool,
    /// An operation that would have to wait for something fails instead (`RWF_NOWAIT`).
    #[serde(default)]
    pub no_wait: bool,
    /// The CPU of the kernel thread that picks up submissions (`IORING_SETUP_SQ_AFF`).
    #[serde(default)]
    pub submission_cpu: Option<u32>,
    /// Memory maps ask for transparent huge pages (fio `thp`).
    #[serde(default)]
    pub huge_maps: bool,
    /// How the names of files and directories are looked up, for the engines that do this.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub look: LookCall,
    /// What the processor does, for the engine that only uses processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<CpuWork>,
    /// What is run, for the engine that runs a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

fn is_usual(call: &LookCall) -> bool {
    *call == LookCall::Stat
}

fn all() -> u8 {
    100
}

impl Default for EngineChoice {
    /// What an empty choice in a saved plan means.
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
            look: LookCall::Stat,
            work: None,
            program: None,
        }
    }
}

/// The engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// The one that fits the target, with the reason in the results.
    #[default]
    Auto,
    /// Linux io_uring.
    IoUring,
    /// Linux native AIO.
    Libaio,
    /// A completion port of Windows.
    Iocp,
    /// The same operations of Windows, each of which calls a routine of its thread when it has ended (DiskSpd `-x`).
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
    /// Space is allocated and given back instead of data moved: a read allocates without changing the size, a write
    /// allocates and may extend, a trim punches a hole (fio `falloc`).
    Falloc,
    /// Files are cut or extended instead of written: a write makes its position the end of the file; there are no others
    /// (fio `ftruncate`).
    Truncate,
    /// Data goes through a pipe: `splice` and `vmsplice`.
    Splice,
    /// `preadv` and `pwritev` of operations that were handed over together and lie one behind the other in a file.
    Vsync,
    /// The operation at the start of a file makes it, if it is not there; the others of that file do nothing, and have no
    /// latency (fio `filecreate`).
    FileCreate,
    /// The same, which looks the file up.
    FileStat,
    /// The same, which removes it.
    FileDelete,
    /// The same, which makes a directory.
    DirectoryCreate,
    /// The same, which looks a directory up.
    DirectoryStat,
    /// The same, which removes a directory.
    DirectoryDelete,
    /// Processors are used and no data is moved (fio `cpuio`).
    Cpu,
    /// A program runs beside the others and no data is moved (fio `exec`).
    Program,
    /// Nothing is done: measures the tool itself.
    Null,
    /// A simulated device with its own clock.
    Simulated,
}

impl EngineKind {
    /// Every engine that can be asked for by name, with that name.
    pub const NAMED: [(EngineKind, &'static str); 23] = [
        (EngineKind::Auto, "auto"),
        (EngineKind::IoUring, "io_uring"),
        (EngineKind::Libaio, "libaio"),
        (EngineKind::Iocp, "iocp"),
        (EngineKind::Routines, "routines"),
        (EngineKind::IoRing, "ioring"),
        (EngineKind::Psync, "psync"),
        (EngineKind::Pvsync2, "pvsync2"),
        (EngineKind::Mmap, "mmap"),
        (EngineKind::Falloc, "falloc"),
        (EngineKind::Truncate, "ftruncate"),
        (EngineKind::Splice, "splice"),
        (EngineKind::Vsync, "vsync"),
        (EngineKind::FileCreate, "filecreate"),
        (EngineKind::FileStat, "filestat"),
        (EngineKind::FileDelete, "filedelete"),
        (EngineKind::DirectoryCreate, "dircreate"),
        (EngineKind::DirectoryStat, "dirstat"),
        (EngineKind::DirectoryDelete, "dirdelete"),
        (EngineKind::Cpu, "cpuio"),
        (EngineKind::Program, "exec"),
        (EngineKind::Null, "null"),
        (EngineKind::Simulated, "simulated"),
    ];

    /// The name users write.
    pub fn name(self) -> &'static str {
        Self::NAMED
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("auto", |(_, name)| name)
    }

    /// True if each operation ends before the next begins, so that no more than one is ever in flight.
    pub fn is_synchronous(self) -> bool {
        match self {
            EngineKind::Psync
            | EngineKind::Pvsync2
            | EngineKind::Mmap
            | EngineKind::Falloc
            | EngineKind::Truncate
            | EngineKind::Splice
            | EngineKind::FileCreate
            | EngineKind::FileStat
            | EngineKind::FileDelete
            | EngineKind::DirectoryCreate
            | EngineKind::DirectoryStat
            | EngineKind::DirectoryDelete
            | EngineKind::Cpu
            | EngineKind::Program => true,
            EngineKind::Auto
            | EngineKind::IoUring
            | EngineKind::Libaio
            | EngineKind::Iocp
            | EngineKind::Routines
            | EngineKind::IoRing
            | EngineKind::Vsync
            | EngineKind::Null
            | EngineKind::Simulated => false,
        }
    }

    /// True if it makes, looks up or removes files or directories by their names, and opens none.
    pub fn works_on_names(self) -> bool {
        self.act().is_some()
    }

    /// What it does to the names that it works on, in a word.
    pub fn act(self) -> Option<&'static str> {
        match self {
            EngineKind::FileCreate | EngineKind::DirectoryCreate => Some("creation"),
            EngineKind::FileStat | EngineKind::DirectoryStat => Some("look-up"),
            EngineKind::FileDelete | EngineKind::DirectoryDelete => Some("removal"),
            _ => None,
        }
    }

    /// True if its operations stand for no bytes at all.
    pub fn moves_nothing(self) -> bool {
        matches!(self, EngineKind::Cpu | EngineKind::Program)
    }

    /// True if a user may ask for it in a job of our own; the others are what fio's jobs ask for.
    pub fn is_native(self) -> bool {
        matches!(
            self,
            EngineKind::Auto
                | EngineKind::IoUring
                | EngineKind::Libaio
                | EngineKind::Iocp
                | EngineKind::IoRing
                | EngineKind::Psync
                | EngineKind::Pvsync2
                | EngineKind::Mmap
                | EngineKind::Null
                | EngineKind::Simulated
        )
    }
}

/// The call that looks up a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookCall {
    /// `stat`, which follows links.
    #[default]
    Stat,
    /// `lstat`, which does not.
    Lstat,
    /// `statx`.
    Statx,
}

/// What a processor does, operation after operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum CpuWork {
    /// It spins.
    Spin {
        /// For so long.
        time_ns: Nanos,
    },
    /// It sorts numbers in memory, up and down and by different keys, and rests after each time.
    Sort {
        /// How many.
        numbers: u64,
        /// The part of the time in which it does not rest.
        percent: u8,
    },
}

/// A program that runs beside the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its name or path.
    pub path: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The file that its output goes to, emptied before; absent: where ours goes.
    #[serde(default)]
    pub output: Option<String>,
    /// The same for its errors.
    #[serde(default)]
    pub errors: Option<String>,
    /// How often it is looked at.
    pub look_ns: Nanos,
    /// When it is asked to end (`SIGTERM`), from its start.
    pub ends_after_ns: Nanos,
    /// How long it then has before it is ended (`SIGKILL`).
    pub grace_ns: Nanos,
}

fn yes() -> bool {
    true
}
