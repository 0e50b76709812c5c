//! The sums of each reporting group.

use model::PerDirection;

use super::entries::Entry;
use super::figures::Figures;
use super::settings::{Unified, Units};

/// Totals of the entries of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupTotals {
    pub number: usize,
    /// fio prints a group in the units of its last job.
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
    pub bandwidth_min: u64,
    pub bandwidth_max: u64,
    pub runtime_ms_min: u64,
    pub runtime_ms_max: u64,
}

impl Total {
    fn from_figures(figures: &Figures) -> Option<Total> {
        let rate = figures.bytes_per_second();
        (figures.runtime_ms > 0).then_some(Total {
            bytes: figures.bytes,
            bytes_per_second: rate,
            bandwidth_min: rate,
            bandwidth_max: rate,
            runtime_ms_min: figures.runtime_ms,
            runtime_ms_max: figures.runtime_ms,
        })
    }

    /// Merges the same direction of two entries: all bytes divided by the longest run time.
    fn merge_entry(self, other: Total) -> Total {
        let sum = self.combine(other);
        Total {
            bytes_per_second: (u128::from(sum.bytes) * 1000 / u128::from(sum.runtime_ms_max)) as u64,
            ..sum
        }
    }

    /// Merges two directions: their bandwidths are added.
    fn add_direction(self, other: Total) -> Total {
        Total {
            bytes_per_second: self.bytes_per_second + other.bytes_per_second,
            ..self.combine(other)
        }
    }

    fn combine(self, other: Total) -> Total {
        Total {
            bytes: self.bytes + other.bytes,
            bytes_per_second: self.bytes_per_second,
            bandwidth_min: self.bandwidth_min.min(other.bandwidth_min),
            bandwidth_max: self.bandwidth_max.max(other.bandwidth_max),
            runtime_ms_min: self.runtime_ms_min.min(other.runtime_ms_min),
            runtime_ms_max: self.runtime_ms_max.max(other.runtime_ms_max),
        }
    }
}

impl GroupTotals {
    /// All directions together; `None` if nothing ran.
    pub(super) fn sum_of_directions(&self) -> Option<Total> {
        let parts = self.parts.iter().filter_map(|(_, part)| *part);
        parts.reduce(Total::add_direction)
    }
}

/// The groups in the order of their numbers.
pub(super) fn groups(entries: &[Entry]) -> Vec<GroupTotals> {
    let mut groups: Vec<GroupTotals> = Vec::new();
    for entry in entries {
        let position = groups.iter().position(|group| group.number == entry.group);
        let index = position.unwrap_or_else(|| {
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
            let direction_part = &mut group.parts[direction];
            *direction_part = match (*direction_part, Total::from_figures(figures)) {
                (Some(direction_part), Some(new)) => Some(direction_part.merge_entry(new)),
                (direction_part, new) => direction_part.or(new),
            };
        }
    }
    groups.sort_by_key(|group| group.number);
    groups
}
