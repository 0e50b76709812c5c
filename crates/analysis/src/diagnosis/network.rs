//! The network between machine and storage was the limit.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared};

/// A link above this share of its speed is full.
const FULL: f64 = 0.90;

pub(super) const NETWORK: Signature = Signature {
    answer: Answer::Network,
    about: "A link to the storage was used to more than 90 % of its speed, or packets were lost or sent again.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let network = subject.context.network?;
    if let Some(share) = network.link_share.filter(|share| *share > FULL) {
        let percent = 100.0 * share;
        return Some(
            Symptom::new(format!("the network: its link was used to {percent:.0} % of its speed"))
                .show(compared("use of the link", percent, "%", 100.0 * FULL, "full"))
                .advise("a faster link, or several paths"),
        );
    }
    let losses = network.losses.filter(|losses| *losses > 0)?;
    Some(
        Symptom::new(format!(
            "the network: {losses} packets were lost or sent again during the test"
        ))
        .show(compared(
            "lost or sent again", losses as f64, "packets", 0.0, "a sound network",
        ))
        .advise("look at cables, flow control and MTU before anything else"),
    )
}
