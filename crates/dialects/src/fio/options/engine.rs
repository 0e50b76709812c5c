//! Options that only some engines have.

use super::typed::PrioritySplit;
use model::PerDirection;
use model::plan::LookupCall;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub stat_type: LookupCall,
}

choices! {
    /// The work of a processor.
    CpuMode at engine.cpumode {
        #[default] Noop: "noop" "NOOP instructions";
        Qsort: "qsort" "QSORT computation";
    }
}
