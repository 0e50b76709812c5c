//! The network between machine and storage was the limit.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure_vs};

/// A link above this share of its speed is full.
const FULL_LINK_SHARE: f64 = 0.90;

pub(super) const NETWORK: Signature = Signature {
    answer: Answer::Network,
    about: "A link to the storage was used to more than 90 % of its speed, or packets were lost or retransmitted.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    let network = input.context.network?;
    if let Some(share) = network.link_share.filter(|share| *share > FULL_LINK_SHARE) {
        let percent = 100.0 * share;
        return Some(
            Symptom::new(format!("the network: its link was used to {percent:.0} % of its speed"))
                .with_evidence(figure_vs(
                    "use of the link",
                    percent,
                    "%",
                    100.0 * FULL_LINK_SHARE,
                    "full",
                ))
                .with_advice("use a faster link, or several paths"),
        );
    }
    let losses = network.losses.filter(|losses| *losses > 0)?;
    Some(
        Symptom::new(format!(
            "the network: {losses} packets were lost or retransmitted during the test"
        ))
        .with_evidence(figure_vs(
            "lost or retransmitted", losses as f64, "packets", 0.0, "a healthy network",
        ))
        .with_advice("check cables, flow control and MTU first"),
    )
}
