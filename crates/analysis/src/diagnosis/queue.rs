//! Operations wait between the program and the device.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure_vs};

pub(super) const QUEUE_ABOVE: Signature = Signature {
    answer: Answer::QueueAbove,
    about: "The kernel counts less than half as many operations in the device as the load has in flight, although \
        I/O is direct and all bytes reach the device.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    if !input.waits_above_device() {
        return None;
    }
    let (device, load) = input.requests_in_device()?;
    let sentence = format!(
        "a queue above the device: {load:.1} operations are in flight, and only {device:.1} of them have reached the device"
    );
    Some(
        Symptom::new(sentence)
            .with_evidence(figure_vs(
                "operations in the device",
                device,
                "",
                load,
                "those in flight",
            ))
            .with_advice(
                "check the I/O scheduler, locks of the file system, throttles, and drivers with a single queue",
            ),
    )
}
