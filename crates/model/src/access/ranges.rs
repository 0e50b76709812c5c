//! Distributes shares of the operations over shares of the target (DiskSpd `-rdpct`, fio `zoned`)
//! or ranges of bytes (`-rdabs`, `zoned_abs`).

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose, Reduction};

/// A stepped distribution. Ranges follow one another from the base of the area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranges {
    /// The unit of `span`.
    pub basis: RangeBasis,
    /// How ranges become aligned positions.
    #[serde(default)]
    pub rule: RangesRule,
    /// The ranges. A direction without its own list uses the first list of another direction.
    pub shares: PerDirection<Vec<RangeShare>>,
}

/// The unit of a range's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RangeBasis {
    /// Percent of the area.
    Percent,
    /// Bytes; 0 means up to the end.
    Bytes,
}

/// One range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RangeShare {
    /// Share of the operations, in percent; 0 makes a hole.
    pub operations_percent: f64,
    /// Percent of the area, or bytes.
    pub span: f64,
}

/// How ranges become aligned positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RangesRule {
    /// Edges are rounded to positions; a range without a position passes its share to its
    /// neighbour.
    #[default]
    Native,
    /// DiskSpd's effective ranges, with its draws reduced by remainder.
    Diskspd,
}

/// A range on a real area: `[start, start + length)` from the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveRange {
    /// Share of the operations, as a percentage of all operations.
    pub operations: f64,
    /// First byte, from the base.
    pub start: u64,
    /// Bytes; a multiple of the alignment.
    pub length: u64,
}

impl RangeShare {
    /// A range with its share of the operations in percent.
    pub fn new(operations_percent: f64, span: f64) -> RangeShare {
        RangeShare {
            operations_percent,
            span,
        }
    }
}

impl Ranges {
    /// Ranges of each direction with their shares.
    pub fn new(basis: RangeBasis, rule: RangesRule, shares: PerDirection<Vec<RangeShare>>) -> Ranges {
        Ranges { basis, rule, shares }
    }

    pub(super) fn cursor(&self, areas: PerDirection<Area>) -> Result<RangesCursor, AccessError> {
        let mut tables = PerDirection::<Vec<Step>>::default();
        for direction in Direction::ALL {
            let area = areas[direction].check(0)?;
            let ranges = self.effective(&area, direction);
            if ranges.is_empty() {
                return Err(AccessError::EmptyRanges(area.block));
            }
            let mut sum = 0.0;
            tables[direction] = ranges
                .iter()
                .map(|range| {
                    sum += range.operations;
                    Step {
                        upto: sum,
                        start: range.start,
                        length: range.length,
                    }
                })
                .collect();
        }
        Ok(RangesCursor {
            areas,
            tables,
            rule: self.rule,
        })
    }

    /// The ranges that remain on a real area, aligned and without holes. Reports show them.
    pub fn effective(&self, area: &Area, direction: Direction) -> Vec<EffectiveRange> {
        match self.basis {
            RangeBasis::Percent => self.effective_percent(area, direction),
            RangeBasis::Bytes => self.effective_bytes(area, direction),
        }
    }

    fn effective_shares(&self, direction: Direction) -> &[RangeShare] {
        let direct = &self.shares[direction];
        let lists = std::iter::once(direct).chain(self.shares.iter().map(|(_, list)| list));
        lists.into_iter().find(|list| !list.is_empty()).unwrap_or(direct)
    }

    /// DiskSpd's rule, which native runs also use. A range without an aligned position is merged
    /// with a neighbour that has only one, or with the next range.
    fn effective_percent(&self, area: &Area, direction: Direction) -> Vec<EffectiveRange> {
        let (span, step) = (area.span(), area.alignment);
        let mut effective: Vec<EffectiveRange> = Vec::new();
        let mut carry = 0.0;
        let mut covered = 0.0;
        for share in self.effective_shares(direction) {
            let from = covered;
            covered += share.span;
            if share.operations_percent <= 0.0 {
                continue;
            }
            let position_at = |percent: f64| ((percent * span as f64) / 100.0).floor() as u64;
            let mut begin = position_at(from);
            // The tolerance prevents sums such as 33.3 + 33.3 + 33.4 from losing the last position
            // to rounding.
            let mut end = if covered >= 100.0 - 1e-9 {
                span
            } else {
                begin + position_at(share.span)
            };
            end -= end % step;
            if end < begin {
                match effective.last_mut() {
                    Some(last) if last.start == end => last.operations += share.operations_percent,
                    // DiskSpd loses the first share if two such ranges are adjacent.
                    _ => carry += share.operations_percent,
                }
                continue;
            }
            begin -= begin % step;
            if begin < end
                && let Some(last) = effective.last_mut()
                && last.start == begin
            {
                begin += step;
                last.length += step;
                if begin == span {
                    carry += share.operations_percent;
                    continue;
                }
                if begin == end {
                    last.operations += share.operations_percent;
                    continue;
                }
            }
            if carry > 0.0
                && let Some(last) = effective.last_mut()
                && last.operations < share.operations_percent
            {
                last.operations += carry;
                carry = 0.0;
            }
            effective.push(EffectiveRange {
                operations: share.operations_percent + carry,
                start: begin,
                length: end - begin,
            });
            carry = 0.0;
        }
        if carry > 0.0
            && let Some(last) = effective.last_mut()
        {
            last.operations += carry;
            last.length = span - last.start;
        }
        // If both edges of a range round to the same position, the position belongs to it, unless
        // the next range was merged into it above.
        for range in effective.iter_mut().filter(|range| range.length == 0) {
            (range.start, range.length) = (range.start.min(span - step), step);
        }
        effective
    }

    fn effective_bytes(&self, area: &Area, direction: Direction) -> Vec<EffectiveRange> {
        let mut effective = Vec::new();
        let mut start = 0u64;
        for share in self.effective_shares(direction) {
            if start >= area.length {
                break;
            }
            let to_end = area.length - start;
            let requested = share.span as u64;
            let length = if requested == 0 || requested > to_end {
                to_end
            } else {
                requested
            };
            // In DiskSpd the last block of an unaligned range may exceed the target; here ranges
            // stay aligned.
            let first = start.next_multiple_of(area.alignment);
            let last = (start + length).min(area.span());
            if share.operations_percent > 0.0 && first < last {
                let length = (last - first).next_multiple_of(area.alignment);
                effective.push(EffectiveRange {
                    operations: share.operations_percent,
                    start: first,
                    length,
                });
            }
            start += length;
        }
        effective
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    upto: f64,
    start: u64,
    length: u64,
}

/// Draws positions from stepped distributions.
#[derive(Clone, Debug)]
pub struct RangesCursor {
    areas: PerDirection<Area>,
    tables: PerDirection<Vec<Step>>,
    rule: RangesRule,
}

impl RangesCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> u64 {
        let area = &self.areas[direction];
        let table = &self.tables[direction];
        let total = table.last().map_or(100.0, |step| step.upto);
        // DiskSpd draws the offset before the range; for the other forms the order does not matter.
        let word = draws.next_u64(Purpose::Offset);
        let (level, reduction) = match self.rule {
            RangesRule::Diskspd => (
                (draws.next_u64(Purpose::Range) % total as u64) as f64,
                Reduction::Modulo,
            ),
            RangesRule::Native => (draws.next_f64(Purpose::Range) * total, Reduction::MultiplyHigh64),
        };
        let step = table
            .iter()
            .find(|step| level < step.upto)
            .unwrap_or(&table[table.len() - 1]);
        area.base + area.reduce(word, step.start, step.length, reduction)
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        self.tables
            .iter()
            .map(|(_, table)| (table.len() * size_of::<Step>()) as u64)
            .sum()
    }
}
