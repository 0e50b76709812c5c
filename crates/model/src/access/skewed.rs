//! Skewed and bell-shaped distributions: Zipf, Pareto, normal. A bijection spreads ranks over the
//! target, so that hot blocks are not adjacent. With a centre, the hottest rank is there instead,
//! and the others follow upwards with wrap-around.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area, require};
use crate::direction::PerDirection;
use crate::draws::{Draws, Purpose};

/// Zipf's law: rank k is chosen with a probability proportional to k^−θ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Zipf {
    /// θ, above 0. The larger, the hotter the first ranks.
    pub theta: f64,
    /// Position of the hottest rank, as a fraction of the area; spread by a hash if absent.
    #[serde(default)]
    pub center: Option<f64>,
}

/// Pareto's self-similar law: a fraction `h` of the positions receives 1 − `h` of the operations,
/// and so on within each part (Gray et al., “Quickly Generating Billion-Record Synthetic
/// Databases”, SIGMOD 1994).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pareto {
    /// `h`, between 0 and 1 (0.2 is the 80/20 rule).
    pub h: f64,
    /// The hottest position, as a fraction of the area; spread by a hash if absent.
    #[serde(default)]
    pub center: Option<f64>,
}

/// A bell of the given width. Positions beyond one end come back in at the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Normal {
    /// Standard deviation as a percentage of the area.
    pub deviation_percent: f64,
    /// Middle of the bell, as a fraction of the area.
    #[serde(default = "half")]
    pub center: f64,
}

fn half() -> f64 {
    0.5
}

fn check_center(center: Option<f64>) -> Result<(), AccessError> {
    let value = center.unwrap_or(0.5);
    let is_valid = (0.0..=1.0).contains(&value);
    require(is_valid, "the centre of a distribution", "between 0 and 1", value)
}

/// Maps ranks to positions: by multiplication with an odd constant modulo a power of two (with
/// cycle walking), or by a shift.
#[derive(Clone, Copy, Debug)]
struct Spread {
    positions: u64,
    mask: u64,
    start: u64,
    by_hash: bool,
}

impl Spread {
    fn new(area: &Area, center: Option<f64>, draws: &mut Draws) -> Spread {
        let positions = area.positions();
        let mask = positions.next_power_of_two().max(2) - 1;
        Spread {
            positions,
            mask,
            start: match center {
                Some(center) => ((center * positions as f64) as u64).min(positions - 1),
                None => draws.next_u64(Purpose::Range) % positions,
            },
            by_hash: center.is_none(),
        }
    }

    fn position(&self, rank: u64) -> u64 {
        if !self.by_hash {
            return (self.start + rank) % self.positions;
        }
        let mut x = rank;
        loop {
            x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) & self.mask;
            if x < self.positions {
                return (x + self.start) % self.positions;
            }
        }
    }
}

impl Zipf {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<ZipfCursor, AccessError> {
        let area = Area::common(&areas).check(0)?;
        let is_valid = self.theta > 0.0 && self.theta.is_finite();
        require(is_valid, "theta of a zipf distribution", "above 0", self.theta)?;
        check_center(self.center)?;
        let spread = Spread::new(&area, self.center, draws);
        Ok(ZipfCursor {
            area,
            spread,
            ranks: ZipfRanks::new(area.positions(), self.theta),
        })
    }
}

/// Draws positions by Zipf's law.
#[derive(Clone, Debug)]
pub struct ZipfCursor {
    area: Area,
    spread: Spread,
    ranks: ZipfRanks,
}

impl ZipfCursor {
    pub(super) fn next(&mut self, draws: &mut Draws) -> u64 {
        self.area.offset(self.spread.position(self.ranks.draw(draws) - 1))
    }
}

/// Exact Zipf ranks 1 … n by rejection-inversion, without tables (Hörmann and
/// Derflinger 1996, “Rejection-inversion to generate variates from monotone discrete
/// distributions”).
#[derive(Clone, Debug)]
struct ZipfRanks {
    theta: f64,
    count: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl ZipfRanks {
    fn new(count: u64, theta: f64) -> ZipfRanks {
        let mut ranks = ZipfRanks {
            theta,
            count: count as f64,
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
        };
        ranks.integral_first = ranks.integral(1.5) - 1.0;
        ranks.integral_last = ranks.integral(count as f64 + 0.5);
        ranks.shortcut = 2.0 - ranks.integral_inverse(ranks.integral(2.5) - ranks.density(2.0));
        ranks
    }

    /// ∫ t^−θ dt from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over(log * (1.0 - self.theta)) * log
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    fn integral_inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.theta)).max(-1.0);
        (ln1p_over(t) * y).exp()
    }

    fn draw(&self, draws: &mut Draws) -> u64 {
        loop {
            let integral =
                self.integral_last + draws.next_f64(Purpose::Offset) * (self.integral_first - self.integral_last);
            let x = self.integral_inverse(integral);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.shortcut || integral >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}

/// (e^x − 1)/x, also near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0 * (1.0 + x / 3.0)
    }
}

/// ln(1 + x)/x, also near 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x * (0.5 - x / 3.0)
    }
}

impl Pareto {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<ParetoCursor, AccessError> {
        let area = Area::common(&areas).check(0)?;
        let is_valid = self.h > 0.0 && self.h < 1.0;
        require(is_valid, "h of a pareto distribution", "between 0 and 1", self.h)?;
        check_center(self.center)?;
        let spread = Spread::new(&area, self.center, draws);
        Ok(ParetoCursor {
            area,
            spread,
            exponent: self.h.ln() / (1.0 - self.h).ln(),
        })
    }
}

/// Draws positions by Pareto's law.
#[derive(Clone, Debug)]
pub struct ParetoCursor {
    area: Area,
    spread: Spread,
    exponent: f64,
}

impl ParetoCursor {
    pub(super) fn next(&mut self, draws: &mut Draws) -> u64 {
        let positions = self.spread.positions;
        let rank = (positions as f64 * draws.next_f64(Purpose::Offset).powf(self.exponent)) as u64;
        self.area.offset(self.spread.position(rank.min(positions - 1)))
    }
}

impl Normal {
    pub(super) fn cursor(&self, areas: PerDirection<Area>) -> Result<NormalCursor, AccessError> {
        let area = Area::common(&areas).check(0)?;
        let percent = self.deviation_percent;
        let is_valid = (0.0..=100.0).contains(&percent);
        require(
            is_valid,
            "the deviation of a normal distribution",
            "0 to 100 percent",
            percent,
        )?;
        check_center(Some(self.center))?;
        Ok(NormalCursor {
            area,
            deviation: percent / 100.0,
            center: self.center,
        })
    }
}

/// Draws positions from a bell.
#[derive(Clone, Debug)]
pub struct NormalCursor {
    area: Area,
    deviation: f64,
    center: f64,
}

impl NormalCursor {
    pub(super) fn next(&mut self, draws: &mut Draws) -> u64 {
        // Box–Muller; the draw of 1 − u ensures that the logarithm is finite.
        let radius = (-2.0 * (1.0 - draws.next_f64(Purpose::Offset)).ln()).sqrt();
        let angle = std::f64::consts::TAU * draws.next_f64(Purpose::Offset);
        let fraction = (self.center + self.deviation * radius * angle.cos()).rem_euclid(1.0);
        let positions = self.area.positions();
        self.area
            .offset(((fraction * positions as f64) as u64).min(positions - 1))
    }
}
