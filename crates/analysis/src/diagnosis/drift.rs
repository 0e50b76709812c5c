//! The storage became steadily slower, without a step.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure};
use crate::attribution::Attribution;
use crate::figures::three_digits;
use crate::requirement::Metric;
use crate::shifts::{Shift, shift};

/// Minimum share of operations due without a free slot for the latency to show a backlog.
const MIN_BLOCKED_SHARE: f64 = 0.5;

pub(super) const DRIFT: Signature = Signature {
    answer: Answer::Drift,
    about: "The rate falls or the mean latency rises over the whole window without a step: the slope of a \
        least-squares line through sixteen parts of the window is at least nine standard errors.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    let (sentence, first, last) = match shift(input.observation)? {
        Shift::RateDrift { from, to } if to < from => (
            format!(
                "the rate fell from {} to {} IOPS over the window, without a step",
                three_digits(from),
                three_digits(to)
            ),
            figure("rate at the start", from, "IOPS"),
            figure("rate at the end", to, "IOPS"),
        ),
        // If the rate is missed by even 1 %, operations wait longer and longer, so the latency
        // proves nothing.
        Shift::LatencyDrift { from, to }
            if to > from && (input.is_rate_met() || input.is_closed_loop()) && !is_mostly_backlog(input) =>
        {
            (
                format!(
                    "the latency rose from {} to {} over the window, without a step",
                    Metric::Mean.show(from),
                    Metric::Mean.show(to)
                ),
                figure("latency at the start", from / 1e6, "ms"),
                figure("latency at the end", to / 1e6, "ms"),
            )
        }
        _ => return None,
    };
    Some(
        Symptom::new(sentence)
            .with_evidence(first)
            .with_evidence(last)
            .with_advice(match input.context.awaits_steady_state {
                true => "`fathom run --until-steady` permitted this drift: repeat with a smaller limit",
                false => "measure until the rate no longer changes: `fathom run --until-steady 0.3%`",
            })
            .with_advice("disks become slower like this as they fill, fragment or heat up"),
    )
}

/// True if most operations of a paced load waited for a free slot. The latency then shows the
/// backlog.
fn is_mostly_backlog(input: &Input<'_>) -> bool {
    Attribution::new(input.observation, None).is_some_and(|attribution| attribution.blocked_share() > MIN_BLOCKED_SHARE)
}
