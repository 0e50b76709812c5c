//! CrystalDiskMark's default profile: eight loads with five rounds each, of which the best one is
//! reported.

use model::results::Results;
use model::{Bytes, Direction, Nanos};

/// Rounds of each load.
pub const ROUNDS: u32 = 5;
/// Length of a round.
pub const ROUND_TIME: Nanos = Nanos::secs(5);
/// Size of the test file.
pub const FILE_SIZE: Bytes = Bytes::gib(1);

/// A load of the profile, issued by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Sequential access; otherwise random.
    pub sequential: bool,
    /// Operations in flight.
    pub depth: u32,
}

/// The loads of each direction, in the order of the rows.
pub const LOADS: [Load; 4] = [
    Load {
        sequential: true,
        depth: 8,
    },
    Load {
        sequential: true,
        depth: 1,
    },
    Load {
        sequential: false,
        depth: 32,
    },
    Load {
        sequential: false,
        depth: 1,
    },
];

impl Load {
    /// Label of its row.
    pub fn label(self) -> String {
        let words = if self.sequential { "SEQ    1MiB" } else { "RND    4KiB" };
        format!("{words} (Q={:>3}, T= 1)", self.depth)
    }

    /// Block size.
    pub fn block(self) -> Bytes {
        if self.sequential { Bytes::mib(1) } else { Bytes::kib(4) }
    }
}

/// The best round of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct BestRound {
    /// The tested load.
    pub load: Load,
    /// Read or write.
    pub direction: Direction,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
}

/// The round with the highest throughput for each measured load.
pub fn best_rounds(results: &Results) -> Vec<BestRound> {
    let mut best = Vec::new();
    for direction in [Direction::Read, Direction::Write] {
        for load in LOADS {
            let name = job_name(load, direction);
            let rounds = results.plan.steps.iter().zip(&results.steps).filter(|(plan, _)| {
                let mut jobs = plan.jobs.iter();
                jobs.any(|job| job.name.starts_with(&name))
            });
            let round = |job: &model::results::JobResults| {
                let results = job.directions()[direction].clone()?;
                let seconds = job.measured().as_secs();
                (seconds > 0.0 && results.operations > 0).then(|| BestRound {
                    load,
                    direction,
                    iops: results.operations as f64 / seconds,
                    bytes_per_sec: results.bytes.0 as f64 / seconds,
                    mean_us: results.latency().mean() / 1e3,
                })
            };
            let rounds = rounds.flat_map(|(_, found)| &found.jobs).filter_map(round);
            best.extend(rounds.max_by(|a, b| a.bytes_per_sec.total_cmp(&b.bytes_per_sec)));
        }
    }
    best
}

/// The name of a load's jobs, without the round.
pub fn job_name(load: Load, direction: Direction) -> String {
    let words = if load.sequential { "SEQ1M" } else { "RND4K" };
    format!("{words} Q{}T1 {}", load.depth, direction.word())
}
