//! Bursts of a worker (Iometer): its current alternative on all targets, and its pauses.

use model::Nanos;
use model::draws::{Draws, Purpose, Reduction};
use model::plan::{DepthScope, Think, Worker as WorkerPlan};

/// The bursts of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    /// Cumulative weights of the alternatives.
    weights: Vec<u64>,
    /// Pause and length of each.
    bursts: Vec<Option<Think>>,
    current: usize,
    /// Remaining operations of the current burst.
    left: u32,
    /// No operation is issued before this time.
    closed_until: Nanos,
}

impl Bursts {
    /// The bursts of a worker whose targets have alternatives.
    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<Bursts> {
        let DepthScope::PerTarget { alternatives } = plan.depth else {
            return None;
        };
        let first = || plan.streams.iter().take(alternatives as usize);
        let mut sum = 0;
        let weights = first().map(|stream| {
            sum += u64::from(stream.weight);
            sum
        });
        Some(Bursts {
            weights: weights.collect(),
            bursts: first().map(|stream| stream.think).collect(),
            current: 0,
            left: 0,
            closed_until: Nanos(0),
        })
    }

    /// The alternative of the next operation.
    ///
    /// # Errors
    /// The end of the pause, if there is one now.
    pub(crate) fn choose_alternative(&mut self, now: Nanos, draws: &mut Draws) -> Result<usize, Nanos> {
        if self.left == 0 {
            self.begin(now, draws);
        }
        match now < self.closed_until {
            true => Err(self.closed_until),
            false => Ok(self.current),
        }
    }

    fn begin(&mut self, now: Nanos, draws: &mut Draws) {
        let total = self.weights.last().copied().unwrap_or(1);
        let drawn = draws.next_below(Purpose::Stream, total, Reduction::Lemire);
        self.current = self.weights.partition_point(|cumulative| *cumulative <= drawn);
        let burst = self.bursts.get(self.current).copied().flatten();
        self.left = burst.map_or(1, |burst| burst.operations.max(1));
        self.closed_until = now + burst.map_or(Nanos(0), |burst| burst.pause_ns);
    }

    /// Counts an issued operation.
    pub(crate) fn count_issued(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use model::draws::GeneratorChoice;
    use model::plan::{Stream, ThinkCount};

    use super::*;

    fn stream(weight: u32, operations: u32, pause_ns: u64) -> Stream {
        Stream {
            weight,
            think: Some(Think::new(Nanos(pause_ns), operations, ThinkCount::Issued)),
            ..Stream::default()
        }
    }

    #[test]
    fn a_burst_keeps_its_alternative_and_begins_with_its_pause() {
        // Two targets with the same three alternatives, one of which is never drawn.
        let streams = [stream(30, 4, 0), stream(0, 1, 0), stream(70, 2, 50)];
        let plan = WorkerPlan {
            depth: DepthScope::PerTarget { alternatives: 3 },
            streams: [streams.clone(), streams].concat(),
            ..WorkerPlan::default()
        };
        let mut bursts = Bursts::from_plan(&plan).expect("it has alternatives");
        let mut draws = GeneratorChoice::Native { seed: 7 }.start();
        let (mut now, mut counts) = (Nanos(0), [0u32; 3]);
        for _ in 0..1000 {
            let first = match bursts.choose_alternative(now, &mut draws) {
                Ok(first) => first,
                Err(later) => {
                    assert_eq!(later, now + Nanos(50));
                    now = later;
                    bursts.choose_alternative(now, &mut draws).expect("the pause is over")
                }
            };
            let length = [4, 0, 2][first];
            for _ in 0..length {
                assert_eq!(bursts.choose_alternative(now, &mut draws), Ok(first));
                bursts.count_issued();
            }
            counts[first] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((270..330).contains(&counts[0]), "{counts:?}");
    }
}
