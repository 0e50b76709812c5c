//! Another user shared the storage.

use model::diagnosis::Answer;
use model::observation::Observation;
use model::stats::{median, period};

use super::Signature;
use super::context::Context;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};
use crate::attribution::is_simulated;
use crate::figures::{list_moments, three_digits};

/// Minimum length of the measured window, in seconds.
const MIN_SECONDS: usize = 20;
/// A dip is below this share of the usual rate.
const DIP_BELOW: f64 = 0.80;
/// A dip is also this many deviations of the usual noise below the usual rate.
const MIN_DIP_DEVIATIONS: f64 = 4.0;
/// A single dip may have any cause.
const MIN_DIPS: usize = 2;
/// A dip of this many seconds at the end of the window counts as a new level.
const MAX_LAST_DIP: usize = 10;
/// Maximum share of time in dips. Beyond it, the rate without dips is not the usual rate.
const MAX_DIP_SHARE: f64 = 0.5;

pub(super) const NOISY: Signature = Signature {
    answer: Answer::Noisy,
    about: "The rate dips below 80 % of its usual level several times, at irregular intervals, without stopping, and \
        recovers each time.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    let (level, floor) = level_and_floor(input)?;
    let dips = dips_below(input, floor);
    // The dips do not explain a rate that is missed between them too.
    let requested = input.observation.load.rate_iops.unwrap_or(0.0);
    if dips.is_empty() || level < DIP_BELOW * requested {
        return None;
    }
    let length: f64 = dips.iter().map(|(_, length)| length).sum();
    let moments: Vec<f64> = dips.iter().map(|(at, _)| *at).collect();
    let sentence = format!(
        "others used the same storage: {} dips below {} IOPS at irregular intervals, at {}",
        dips.len(),
        three_digits(floor),
        list_moments(input.observation.started_unix_ns, &moments)
    );
    let symptom = Symptom::new(sentence)
        .with_evidence(figure("usual rate", level, "IOPS"))
        .with_evidence(figure_vs("dips", dips.len() as f64, "", MIN_DIPS as f64, "chance"))
        .with_evidence(figure(
            "time in dips",
            100.0 * length / input.rates_by_second.len() as f64,
            "%",
        ));
    let symptom = match is_simulated(input.observation) {
        true => symptom,
        false => symptom.with_advice("repeat at another time of day: dips at different moments confirm it"),
    };
    Some(symptom.with_advice("judge percentiles over several runs instead of one mean"))
}

/// Finds the start and length, in seconds, of each dip at irregular intervals, as another user of
/// the storage causes them.
pub fn find_dips(observation: &Observation) -> Vec<(f64, f64)> {
    let context = Context::default();
    let input = Input::new(observation, &[], &context);
    level_and_floor(&input).map_or_else(Vec::new, |(_, floor)| dips_below(&input, floor))
}

/// The usual rate, and the rate below which a second belongs to a dip. `None` if the window is too
/// short.
fn level_and_floor(input: &Input<'_>) -> Option<(f64, f64)> {
    let seconds = &input.rates_by_second;
    if seconds.len() < MIN_SECONDS {
        return None;
    }
    let (level, noise) = level_without_dips(seconds);
    Some((level, (DIP_BELOW * level).min(level - MIN_DIP_DEVIATIONS * noise)))
}

fn dips_below(input: &Input<'_>, floor: f64) -> Vec<(f64, f64)> {
    let seconds = &input.rates_by_second;
    // A second without completions is a stall, not another user.
    let stalls = super::stall::find_stalls(input);
    let is_stalled = |second: usize| {
        let (from, to) = (second as f64, second as f64 + 1.0);
        stalls
            .iter()
            .any(|(start, length)| *start < to && start + length > from)
    };
    let low: Vec<bool> = seconds
        .iter()
        .enumerate()
        .map(|(second, value)| *value < floor && !is_stalled(second))
        .collect();
    let mut at = 0;
    let mut dips = Vec::new();
    for run in low.chunk_by(|a, b| a == b) {
        if run[0] {
            dips.push((at as f64, run.len() as f64));
        }
        at += run.len();
    }
    let share = low.iter().filter(|low| **low).count() as f64 / seconds.len() as f64;
    // A dip that lasts to the end is a new level.
    let comes_back = low.iter().rev().take_while(|low| **low).count() < MAX_LAST_DIP;
    let is_noise = dips.len() >= MIN_DIPS
        && share <= MAX_DIP_SHARE
        && period(seconds).is_none()
        && comes_back
        && !is_declining(input, floor);
    match is_noise {
        true => dips,
        false => Vec::new(),
    }
}

/// Median and noise (scaled median deviation) of the seconds without dips.
fn level_without_dips(seconds: &[f64]) -> (f64, f64) {
    let first = median(seconds);
    let calm: Vec<f64> = seconds
        .iter()
        .copied()
        .filter(|value| *value >= DIP_BELOW * first)
        .collect();
    let calm_median = median(&calm);
    let distances: Vec<f64> = calm.iter().map(|value| (value - calm_median).abs()).collect();
    (calm_median, 1.4826 * median(&distances))
}

/// True if the seconds without dips become slower too. Then the device itself is the cause.
fn is_declining(input: &Input<'_>, floor: f64) -> bool {
    // A paced load catches up after a dip; that excess does not belong to the level.
    let requested = input.observation.load.rate_iops.unwrap_or(f64::INFINITY);
    let calm = input.rates_by_second.iter().filter(|value| **value >= floor);
    let calm: Vec<f64> = calm.map(|value| value.min(requested)).collect();
    super::thermal::fitted_decline(&calm).is_some_and(|lost| lost > 0.05)
}
