//! The rows, in the order of the record.

mod cached;
mod counts;
mod device;
mod fleet;
mod floor;
mod freeze;
mod in_place;
mod instructions;
mod layout;
mod little;
mod null;
mod quick;
mod rate;
mod scale;
mod sparse;
mod start;
mod tmpfs;
mod zram;

use super::BenchError;
use super::child::{self, Usage};
use super::contest::{Bench, Comparison, Contender, Rounds, compare, ours, per_second, theirs, time};
use super::figure::Goal::{self, AtLeast, AtMost, Between, Nothing};
use super::figure::{Figure, digits};
use super::outcome::Outcome;
use super::places::HOT_BYTES;
use super::statistics::median;
use super::tools::Tool;
use super::work::{Access, Until, Work};

/// Measures a row; is given its name.
type Row = fn(&Bench, &'static str) -> Result<Vec<Figure>, BenchError>;

/// Every row by its name.
pub(crate) const ROWS: &[(&str, Row)] = &[
    ("null", null::measure),
    ("cached", cached::measure),
    ("device", device::measure),
    ("zram", zram::measure),
    ("tmpfs", tmpfs::measure),
    ("instructions", instructions::measure),
    ("scale", scale::measure),
    ("start", start::measure),
    ("in place", in_place::measure),
    ("floor", floor::measure),
    ("sparse", sparse::measure),
    ("layout", layout::measure),
    ("little", little::measure),
    ("rate", rate::measure),
    ("freeze", freeze::measure),
    ("counts", counts::measure),
    ("quick", quick::measure),
    ("fleet", fleet::measure),
];

fn ratio(row: &'static str, what: &str, goal: Goal, comparison: Comparison) -> Figure {
    Figure::new(row, what, goal, comparison.ratio)
        .unit("×")
        .with_detail(comparison.detail)
        .samples(comparison.samples)
}

/// The ratios of several comparisons.
fn ratios<const N: usize>(row: &'static str, found: [(&str, Goal, Comparison); N]) -> Vec<Figure> {
    found
        .map(|(what, goal, comparison)| ratio(row, what, goal, comparison))
        .to_vec()
}
