//! The device was too hot.

use model::diagnosis::Answer;
use model::stats::fit_line;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// The rate falls by at least this share over the window.
const FALLS: f64 = 0.05;

pub(super) const THERMAL: Signature = Signature {
    answer: Answer::Thermal,
    about: "The rate declines while the device is as hot as it may become.",
    detect,
};

pub(super) fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let temperature = subject.context.temperature.filter(|is| is.highest >= is.limit)?;
    let lost = decline(&subject.seconds)?;
    (lost >= FALLS).then(|| {
        let sentence = format!(
            "the device was too hot: it reached {:.0} °C, and the rate fell by {:.0} %",
            temperature.highest,
            100.0 * lost
        );
        Symptom::new(sentence)
            .show(compared(
                "temperature", temperature.highest, "°C", temperature.limit, "where it slows down",
            ))
            .show(figure("decline over the window", 100.0 * lost, "%"))
            .advise("cool the device; what it does cold it does for minutes only")
    })
}

/// By what share a series falls from its beginning to its end, along the line through it.
pub(super) fn decline(seconds: &[f64]) -> Option<f64> {
    if seconds.len() < 20 {
        return None;
    }
    let line = fit_line(seconds);
    let n = seconds.len() as f64;
    let mean = model::stats::mean(seconds);
    let begin = mean - line.slope * (n - 1.0) / 2.0;
    (begin > 0.0).then(|| -line.slope * (n - 1.0) / begin)
}
