//! Engine, queue depth, caches and buffers.

use super::typed::SyncFileRange;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    pub ioengine: String,
    pub iodepth: i64,
    pub iodepth_batch: i64,
    pub iodepth_batch_complete_min: i64,
    pub iodepth_batch_complete_max: i64,
    pub iodepth_low: i64,
    pub serialize_overlap: bool,
    pub io_submit_mode: SubmitMode,
    pub direct: bool,
    pub buffered: bool,
    pub atomic: bool,
    pub sync: Sync,
    pub fsync: i64,
    pub fdatasync: i64,
    pub sync_file_range: SyncFileRange,
    pub write_barrier: i64,
    pub end_fsync: bool,
    pub end_syncfs: bool,
    pub fsync_on_close: bool,
    pub write_hint: WriteHint,
    pub mem: Memory,
    pub iomem_align: i64,
    pub hugepage_size: i64,
    pub lockmem: u64,
    pub ioscheduler: Option<String>,
    pub mem_path: Option<String>,
}

choices! {
    /// The thread that submits operations.
    SubmitMode at queue.io_submit_mode {
        #[default] Inline: "inline" "the job itself";
        Offload: "offload" "one of a pool";
    }

    /// The state that each write waits for.
    Sync at queue.sync {
        #[default] None: "none" "nothing", "0" "as none";
        Sync: "sync" "data and metadata", "1" "as sync";
        DataSync: "dsync" "data";
    }

    /// How long written data is expected to live.
    WriteHint at queue.write_hint {
        #[default] None: "none" "no hint";
        Short: "short" "short";
        Medium: "medium" "medium";
        Long: "long" "long";
        Extreme: "extreme" "longest";
    }

    /// Memory type of the buffers.
    Memory at queue.mem {
        #[default] Malloc: "malloc" "the allocator";
        Shm: "shm" "shared memory";
        ShmHuge: "shmhuge" "shared memory in huge pages";
        Mmap: "mmap" "a private mapping";
        MmapShared: "mmapshared" "a shared mapping";
        MmapHuge: "mmaphuge" "a mapping of huge pages";
        CudaMalloc: "cudamalloc" "a GPU";
    }
}
