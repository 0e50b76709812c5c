//! Decides the direction of the next operation.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::draws::{Draws, Purpose};

/// How a stream divides its operations between directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mix", rename_all = "snake_case")]
pub enum Mix {
    /// One direction only.
    Only {
        /// That direction.
        direction: Direction,
    },
    /// Each operation is drawn.
    Drawn {
        /// Share of writes in percent.
        write_percent: f64,
        /// When and how it is drawn.
        rule: MixRule,
    },
    /// Error diffusion: at every moment the share is exact to one operation. `verify` uses it.
    Exact {
        /// Share of writes in percent.
        write_percent: f64,
    },
    /// A block is trimmed, then the same block is written (fio `trimwrite`).
    TrimThenWrite,
    /// The trace decides; these are its directions.
    Traced {
        /// Reads.
        reads: bool,
        /// Writes.
        writes: bool,
        /// Trims.
        trims: bool,
    },
}

/// When and how the direction of an operation is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixRule {
    /// Before the position, independently for each operation.
    Independent,
    /// After the position, as `(draw mod 100) + 1 ≤ share`; in mixed patterns all operations of a
    /// sequential run have the type of the first (DiskSpd).
    #[serde(rename = "after_place")]
    AfterPosition,
    /// Before the position, and only when the current direction has reached its count of
    /// operations, which each change of direction recomputes (fio).
    Redrawn,
}

impl Mix {
    /// Reads only.
    pub const READS: Mix = Mix::Only {
        direction: Direction::Read,
    };
    /// Writes only.
    pub const WRITES: Mix = Mix::Only {
        direction: Direction::Write,
    };

    /// Each operation is drawn.
    pub fn drawn(write_percent: f64, rule: MixRule) -> Mix {
        Mix::Drawn { write_percent, rule }
    }

    /// True if operations of this direction can occur.
    pub fn includes(&self, direction: Direction) -> bool {
        match self {
            Mix::Only { direction: only } => *only == direction,
            Mix::Drawn { write_percent, .. } | Mix::Exact { write_percent } => match direction {
                Direction::Read => *write_percent < 100.0,
                Direction::Write => *write_percent > 0.0,
                Direction::Trim => false,
            },
            Mix::TrimThenWrite => direction != Direction::Read,
            Mix::Traced { reads, writes, trims } => match direction {
                Direction::Read => *reads,
                Direction::Write => *writes,
                Direction::Trim => *trims,
            },
        }
    }

    /// The directions that can occur.
    pub fn directions(self) -> impl Iterator<Item = Direction> {
        Direction::ALL
            .into_iter()
            .filter(move |direction| self.includes(*direction))
    }

    /// The share of writes, as a percentage of reads and writes.
    pub fn write_share(&self) -> f64 {
        match self {
            Mix::Only { direction } if *direction == Direction::Write => 100.0,
            Mix::Only { .. } => 0.0,
            Mix::Drawn { write_percent, .. } | Mix::Exact { write_percent } => *write_percent,
            Mix::TrimThenWrite => 100.0,
            Mix::Traced { reads, writes, .. } => match (reads, writes) {
                (true, true) => 50.0,
                (true, false) => 0.0,
                (false, _) => 100.0,
            },
        }
    }

    /// The mix in its initial state.
    pub fn start(self) -> MixCursor {
        let write_percent = self.write_share();
        let kind = match self {
            Mix::Only { direction } => Kind::Only(direction),
            Mix::Drawn { .. } if write_percent <= 0.0 => Kind::Only(Direction::Read),
            Mix::Drawn { .. } if write_percent >= 100.0 => Kind::Only(Direction::Write),
            Mix::Drawn { rule, .. } => match rule {
                // The share as a 64-bit threshold: 2^64 × share, exact to 2^-53.
                MixRule::Independent => Kind::Threshold((write_percent / 100.0 * 18_446_744_073_709_551_616.0) as u64),
                MixRule::AfterPosition => Kind::AfterPosition,
                MixRule::Redrawn => Kind::Redrawn,
            },
            Mix::Exact { .. } => Kind::Exact,
            Mix::TrimThenWrite => Kind::TrimThenWrite,
            // Never used: the trace decides.
            Mix::Traced { .. } => Kind::Only(Direction::Read),
        };
        MixCursor {
            kind,
            write_percent,
            present: Direction::Read,
            issued: [0; 2],
            target: 0,
            debt: 0.0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Only(Direction),
    Threshold(u64),
    AfterPosition,
    Redrawn,
    Exact,
    TrimThenWrite,
}

/// The state of a mix.
#[derive(Clone, Debug)]
pub struct MixCursor {
    kind: Kind,
    write_percent: f64,
    /// The direction of the last operation.
    present: Direction,
    /// Operations issued so far: reads, writes.
    issued: [u64; 2],
    /// The number of operations in the current direction after which it is redrawn (fio's rule).
    target: u64,
    /// The fraction of a write that is due (error diffusion).
    debt: f64,
}

/// A mix with independent draws.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IndependentMix {
    Only(Direction),
    Threshold(u64),
}

impl IndependentMix {
    #[inline(always)]
    pub(crate) fn draw(self, draws: &mut Draws) -> Direction {
        match self {
            IndependentMix::Only(direction) => direction,
            IndependentMix::Threshold(threshold) if draws.next_u64(Purpose::Mix) < threshold => Direction::Write,
            IndependentMix::Threshold(_) => Direction::Read,
        }
    }
}

impl MixCursor {
    /// The mix, if its draws are independent.
    pub(crate) fn independent(&self) -> Option<IndependentMix> {
        match self.kind {
            Kind::Only(direction) => Some(IndependentMix::Only(direction)),
            Kind::Threshold(threshold) => Some(IndependentMix::Threshold(threshold)),
            _ => None,
        }
    }

    /// The direction of the next operation, or `None` if it is decided after the position.
    #[inline(always)]
    pub fn draw_before_position(&mut self, draws: &mut Draws) -> Option<Direction> {
        match self.kind {
            Kind::Only(direction) => Some(direction),
            Kind::Threshold(threshold) => Some(if draws.next_u64(Purpose::Mix) < threshold {
                Direction::Write
            } else {
                Direction::Read
            }),
            Kind::AfterPosition => None,
            _ => Some(self.next_stateful(draws)),
        }
    }

    #[inline(never)]
    fn next_stateful(&mut self, draws: &mut Draws) -> Direction {
        match self.kind {
            Kind::Exact => {
                self.debt += self.write_percent / 100.0;
                // The tolerance prevents sums such as ten times 0.1 from losing an operation to
                // rounding.
                self.present = if self.debt >= 1.0 - 1e-9 {
                    self.debt -= 1.0;
                    Direction::Write
                } else {
                    Direction::Read
                };
            }
            Kind::TrimThenWrite => {
                self.present = if self.present == Direction::Trim {
                    Direction::Write
                } else {
                    Direction::Trim
                };
            }
            Kind::Redrawn => {
                if self.issued[self.present as usize] >= self.target {
                    let read_percent = 100 - self.write_percent as u64;
                    let roll = 1 + ((u64::from(draws.next_u32(Purpose::Mix)) * 100) >> 32);
                    let drawn = if roll <= read_percent {
                        Direction::Read
                    } else {
                        Direction::Write
                    };
                    if drawn != self.present {
                        let percent = if drawn == Direction::Read {
                            read_percent
                        } else {
                            100 - read_percent
                        };
                        self.target = self.issued[self.present as usize] * percent / 100;
                        self.present = drawn;
                    }
                }
                self.issued[self.present as usize] += 1;
            }
            Kind::Only(_) | Kind::Threshold(_) | Kind::AfterPosition => {}
        }
        self.present
    }

    /// The direction of an operation whose position is known.
    #[inline]
    pub fn draw_after_position(&mut self, draws: &mut Draws, continues: bool) -> Direction {
        if !continues {
            self.draw_type(draws);
        }
        self.present
    }

    /// Draws the type of the next operations (DiskSpd's rule).
    pub fn draw_type(&mut self, draws: &mut Draws) {
        let roll = draws.next_u32(Purpose::Mix) % 100 + 1;
        self.present = if f64::from(roll) <= self.write_percent {
            Direction::Write
        } else {
            Direction::Read
        };
    }

    /// Undoes the last direction, because its operation will not be issued.
    pub(crate) fn undo_last(&mut self) {
        match self.kind {
            Kind::Exact => {
                self.debt -= self.write_percent / 100.0;
                if self.present == Direction::Write {
                    self.debt += 1.0;
                }
            }
            // The pair did not start, so a trim is due again.
            Kind::TrimThenWrite => self.present = Direction::Write,
            Kind::Only(_) | Kind::Threshold(_) | Kind::AfterPosition | Kind::Redrawn => {}
        }
    }

    /// Begins another pass. fio's rules restart; shares continue.
    pub(crate) fn restart(&mut self) {
        if let Kind::Redrawn | Kind::TrimThenWrite = self.kind {
            (self.present, self.issued, self.target) = (Direction::Read, [0; 2], 0);
        }
    }

    /// True if the second of a pair is due, which repeats the position of the first.
    #[inline(always)]
    pub fn repeats_place(&self) -> bool {
        matches!(self.kind, Kind::TrimThenWrite) && self.present == Direction::Write
    }

    /// True if the direction is decided after the position.
    pub fn decides_late(&self) -> bool {
        matches!(self.kind, Kind::AfterPosition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::GeneratorChoice;

    fn count_writes(mix: Mix, operations: u32) -> u32 {
        let mut draws = GeneratorChoice::Native { seed: 9 }.start();
        let mut cursor = mix.start();
        (0..operations)
            .filter(|_| cursor.draw_before_position(&mut draws) == Some(Direction::Write))
            .count() as u32
    }

    #[test]
    fn a_drawn_mix_is_close_to_its_share() {
        let writes = count_writes(Mix::drawn(30.0, MixRule::Independent), 100_000);
        assert!((29_400..30_600).contains(&writes), "{writes}");
    }

    #[test]
    fn an_exact_mix_is_within_one_operation_at_every_moment() {
        for percent in [1.0, 10.0, 30.0, 33.3, 70.0, 99.0] {
            let mut draws = GeneratorChoice::Native { seed: 9 }.start();
            let mut cursor = Mix::Exact { write_percent: percent }.start();
            let mut writes = 0.0;
            for operation in 1..=10_000 {
                writes += f64::from(u8::from(
                    cursor.draw_before_position(&mut draws) == Some(Direction::Write),
                ));
                let owed = f64::from(operation) * percent / 100.0;
                assert!(
                    (owed - writes).abs() <= 1.0,
                    "{percent} % after {operation}: {writes} for {owed}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_scale_need_no_draws() {
        assert_eq!(count_writes(Mix::drawn(0.0, MixRule::Redrawn), 50), 0);
        assert_eq!(count_writes(Mix::drawn(100.0, MixRule::Independent), 50), 50);
    }
}
