//! Processor times: read at the arrival of events, and in percent for rows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::probe::CoreTimes;
use model::environment::CoreUse;
use model::results::{HostCoreUse, Results};
use report::formats::vdbench::Cpu;

/// Reads the processor times when events arrive.
pub struct CpuReader {
    last: Arc<CoreTimes>,
    read: Instant,
}

impl CpuReader {
    /// Events of an interval arrive together, one for each job, so one reading serves them all.
    const MAX_AGE: Duration = Duration::from_millis(10);

    pub fn new() -> CpuReader {
        CpuReader {
            last: Arc::new(CoreTimes::read()),
            read: Instant::now(),
        }
    }

    pub fn read(&mut self) -> Arc<CoreTimes> {
        if self.read.elapsed() > CpuReader::MAX_AGE {
            *self = CpuReader::new();
        }
        Arc::clone(&self.last)
    }
}

/// Returns the processor time between two readings, in percent.
pub fn cpu_between(end: &CoreTimes, start: &CoreTimes) -> Cpu {
    cpu_of_cores(&end.since(start))
}

/// Returns the processor time of the selected hosts during the time in which all jobs measured.
pub fn cpu_of_hosts(results: &Results, is_wanted: impl Fn(&HostCoreUse) -> bool) -> Cpu {
    let cores = results.steps.iter().flat_map(|step| &step.cores);
    let selected_cores: Vec<CoreUse> = cores.filter(|core| is_wanted(core)).map(|core| core.core).collect();
    match selected_cores.is_empty() {
        true => Cpu::default(),
        false => cpu_of_cores(&selected_cores),
    }
}

fn cpu_of_cores(cores: &[CoreUse]) -> Cpu {
    let (mut user, mut system, mut idle) = (0, 0, 0);
    for core in cores {
        user += core.user_ns.0;
        system += core.system_ns.0 + core.interrupt_ns.0;
        idle += core.idle_ns.0;
    }
    let total = (user + system + idle).max(1) as f64;
    Cpu {
        user: 100.0 * user as f64 / total,
        system: 100.0 * system as f64 / total,
        idle: 100.0 * idle as f64 / total,
    }
}
