//! Uses processor time and transfers no data: each operation is a period of work.

use model::Nanos;
use model::plan::{CpuWork, EngineKind};

use crate::Setup;
use crate::batch::Request;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sync_calls::SyncCalls;

/// More numbers than this would test memory instead of the processor.
const MAX_NUMBERS: u64 = 1 << 24;

pub(crate) struct Cpu {
    work: CpuWork,
    clock: Clock,
    numbers: Vec<u32>,
    seed: u64,
    paused_until: Nanos,
}

impl Cpu {
    pub(crate) fn open(setup: Setup) -> Result<Cpu, EngineError> {
        let Some(work) = setup.choice.work else {
            return Err(EngineError::internal(EngineKind::Cpu, "the processor load is missing"));
        };
        let count = match work {
            CpuWork::Spin { .. } => 0,
            CpuWork::Sort { numbers, .. } => numbers.min(MAX_NUMBERS),
        };
        Ok(Cpu {
            work,
            clock: setup.clock,
            numbers: vec![0; count as usize],
            seed: setup.seed | 1,
            paused_until: Nanos(0),
        })
    }

    fn spin(&self, time: Nanos) {
        let end = self.clock.now() + time;
        while self.clock.now() < end {
            std::hint::spin_loop();
        }
    }

    /// Sorts new numbers each time: an already sorted list would be no work.
    fn sort(&mut self, percent: u8) {
        let start = self.clock.now();
        for number in &mut self.numbers {
            // Marsaglia's xorshift: the quality of the numbers does not matter.
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            *number = self.seed as u32;
        }
        self.numbers.sort_unstable();
        self.numbers.sort_unstable_by_key(|number| number.swap_bytes());
        self.numbers.sort_unstable_by(|a, b| b.cmp(a));
        std::hint::black_box(&self.numbers);
        let (end, percent) = (self.clock.now(), u64::from(percent.clamp(1, 100)));
        self.paused_until = end + Nanos(end.since(start).0 * (100 - percent) / percent);
    }
}

impl SyncCalls for Cpu {
    fn paused_until(&self) -> Nanos {
        self.paused_until
    }

    fn perform(&mut self, io: &Request) -> i64 {
        match self.work {
            CpuWork::Spin { time_ns } => self.spin(time_ns),
            CpuWork::Sort { percent, .. } => self.sort(percent),
        }
        i64::from(io.length)
    }
}
