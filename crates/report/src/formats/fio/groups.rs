//! The sums of each reporting group.

use model::PerDirection;

use super::entries::Entry;
use super::figures::Figures;
use super::settings::{Unified, Units};

/// Totals of the entries of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupTotals {
    pub number: usize,
    /// The units of its last entry.
    pub units: Units,
    pub unified: Unified,
    pub parts: PerDirection<Option<Total>>,
}

/// One direction of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub bytes: u64,
    /// All bytes divided by the longest run time.
    pub bytes_per_second: u64,
    /// Bandwidth of the slowest and the fastest entry.
    pub slowest: u64,
    pub fastest: u64,
    pub shortest_ms: u64,
    pub longest_ms: u64,
}

impl Total {
    fn from_figures(figures: &Figures) -> Option<Total> {
        let rate = figures.bytes_per_second();
        (figures.runtime_ms > 0).then_some(Total {
            bytes: figures.bytes,
            bytes_per_second: rate,
            slowest: rate,
            fastest: rate,
            shortest_ms: figures.runtime_ms,
            longest_ms: figures.runtime_ms,
        })
    }

    /// Merges the same direction of two entries: all bytes divided by the longest run time.
    fn merge_entry(self, other: Total) -> Total {
        let sum = self.widen_range(other);
        Total {
            bytes_per_second: (u128::from(sum.bytes) * 1000 / u128::from(sum.longest_ms)) as u64,
            ..sum
        }
    }

    /// Merges two directions: their bandwidths are added.
    fn add_direction(self, other: Total) -> Total {
        Total {
            bytes_per_second: self.bytes_per_second + other.bytes_per_second,
            ..self.widen_range(other)
        }
    }

    fn widen_range(self, other: Total) -> Total {
        Total {
            bytes: self.bytes + other.bytes,
            bytes_per_second: self.bytes_per_second,
            slowest: self.slowest.min(other.slowest),
            fastest: self.fastest.max(other.fastest),
            shortest_ms: self.shortest_ms.min(other.shortest_ms),
            longest_ms: self.longest_ms.max(other.longest_ms),
        }
    }
}

impl GroupTotals {
    /// All directions together; `None` if nothing ran.
    pub(super) fn together(&self) -> Option<Total> {
        let parts = self.parts.iter().filter_map(|(_, part)| *part);
        parts.reduce(Total::add_direction)
    }
}

/// The groups in the order of their numbers.
pub(super) fn groups(entries: &[Entry]) -> Vec<GroupTotals> {
    let mut groups: Vec<GroupTotals> = Vec::new();
    for entry in entries {
        let known = groups.iter().position(|group| group.number == entry.group);
        let index = known.unwrap_or_else(|| {
            groups.push(GroupTotals {
                number: entry.group,
                units: entry.settings.units,
                unified: entry.settings.unified,
                parts: PerDirection::default(),
            });
            groups.len() - 1
        });
        let group = &mut groups[index];
        group.units = entry.settings.units;
        group.unified = entry.settings.unified;
        for (direction, figures) in entry.parts.iter() {
            let known = &mut group.parts[direction];
            *known = match (*known, Total::from_figures(figures)) {
                (Some(known), Some(new)) => Some(known.merge_entry(new)),
                (known, new) => known.or(new),
            };
        }
    }
    groups.sort_by_key(|group| group.number);
    groups
}
