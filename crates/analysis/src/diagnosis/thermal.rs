//! The device was too hot.

use model::diagnosis::Answer;
use model::stats::fit_line;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};

/// Minimum decline of the rate over the window, as a share.
const MIN_DECLINE: f64 = 0.05;

pub(super) const THERMAL: Signature = Signature {
    answer: Answer::Thermal,
    about: "The rate declines while the device is at its maximum temperature.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    let temperature = input
        .context
        .temperature
        .filter(|temperature| temperature.highest >= temperature.limit)?;
    let lost = fitted_decline(&input.rates_by_second)?;
    (lost >= MIN_DECLINE).then(|| {
        let sentence = format!(
            "the device was too hot: it reached {:.0} °C, and the rate fell by {:.0} %",
            temperature.highest,
            100.0 * lost
        );
        Symptom::new(sentence)
            .with_evidence(figure_vs(
                "temperature", temperature.highest, "°C", temperature.limit, "throttling temperature",
            ))
            .with_evidence(figure("decline over the window", 100.0 * lost, "%"))
            .with_advice("cool the device; it keeps its initial rate only while it is cool")
    })
}

/// The share by which a fitted line falls from its start to its end.
pub(super) fn fitted_decline(seconds: &[f64]) -> Option<f64> {
    if seconds.len() < 20 {
        return None;
    }
    let line = fit_line(seconds);
    let n = seconds.len() as f64;
    let mean = model::stats::mean(seconds);
    let begin = mean - line.slope * (n - 1.0) / 2.0;
    (begin > 0.0).then(|| -line.slope * (n - 1.0) / begin)
}
