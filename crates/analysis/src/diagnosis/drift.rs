//! The storage became slower all the time, without a step.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure};
use crate::attribution::Attribution;
use crate::requirement::Metric;
use crate::shifts::{Shift, shift};

/// From this share of the operations on that found every slot taken, the latency is that of a
/// backlog.
const BACKLOG: f64 = 0.5;

pub(super) const DRIFT: Signature = Signature {
    answer: Answer::Drift,
    about: "The rate falls, or the mean latency rises, from the start of the window to its end, without a step: the slope of a \
            least-squares line over sixteen parts of the window is nine standard errors or more.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let (sentence, first, last) = match shift(subject.observation)? {
        Shift::RateDrift { from, to } if to < from => (
            format!("the rate fell from {from:.0} to {to:.0} IOPS over the window, without a step"),
            figure("rate at the start", from, "IOPS"),
            figure("rate at the end", to, "IOPS"),
        ),
        // A rate that is not kept lets operations wait longer and longer, and 1 % of it is enough.
        Shift::Drift { from, to }
            if to > from && (subject.rate_is_kept() || subject.is_closed_loop()) && !only_waits(subject) =>
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
            .show(first)
            .show(last)
            .advise("measure until it no longer changes: `fathom run --until-steady 0.3%`")
            .advise("a disk that fills, fragments or runs warm becomes slower like this"),
    )
}

/// Most operations of a paced load waited for a free slot: their latency tells how far behind the
/// load is.
fn only_waits(subject: &Input<'_>) -> bool {
    Attribution::new(subject.observation, None).is_some_and(|found| found.blocked_share() > BACKLOG)
}
