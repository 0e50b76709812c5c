//! How operations reach the kernel: which engine, and how it is used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// `pread` and `pwrite`.
    Psync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// A memory map and copies.
    Mmap,
    /// Space is allocated and given back instead of data moved: a read allocates without changing the size, a write
    /// allocates and may extend, a trim punches a hole (fio `falloc`).
    Falloc,
    /// Nothing is done: measures the tool itself.
    Null,
    /// A simulated device with its own clock.
    Simulated,
}

impl EngineKind {
    /// Every engine that can be asked for by name, with that name.
    pub const NAMED: [(EngineKind, &'static str); 9] = [
        (EngineKind::Auto, "auto"),
        (EngineKind::IoUring, "io_uring"),
        (EngineKind::Libaio, "libaio"),
        (EngineKind::Psync, "psync"),
        (EngineKind::Pvsync2, "pvsync2"),
        (EngineKind::Mmap, "mmap"),
        (EngineKind::Falloc, "falloc"),
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
        matches!(
            self,
            EngineKind::Psync | EngineKind::Pvsync2 | EngineKind::Mmap | EngineKind::Falloc
        )
    }
}

fn yes() -> bool {
    true
}
