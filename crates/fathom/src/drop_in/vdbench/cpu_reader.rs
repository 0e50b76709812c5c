//! Processor times at the arrival of events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::probe::CoreTimes;

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

    /// Returns the present times.
    pub fn read(&mut self) -> Arc<CoreTimes> {
        if self.read.elapsed() > CpuReader::MAX_AGE {
            *self = CpuReader::new();
        }
        Arc::clone(&self.last)
    }
}
