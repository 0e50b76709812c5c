//! Turns a diagnosis into a finding of a plain run. Only clear causes are reported, so a healthy
//! run has none.

use model::diagnosis::{Answer, Diagnosis};
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::Results;

use super::bounds::REQUESTED_RATE;
use super::burst::IN_WARM_UP;
use super::context::Context;
use super::processor::OTHER_PROGRAMS_FIGURE;
use super::{cgroup_layers, diagnose};

/// Shorter stalls are not reported.
const MIN_STALL_SECS: f64 = 1.0;

/// Diagnoses a job with the limits of its control groups.
pub(crate) fn diagnosis_finding(
    results: &Results,
    (step, job): (usize, usize),
    observation: &Observation,
) -> Option<Finding> {
    // A lost agent may still run, and its CPU time would count as another program's.
    let mut ranks = results.fleet.iter().flat_map(|fleet| &fleet.ranks);
    let has_lost = ranks.any(|rank| rank.lost.is_some());
    let layers = cgroup_layers(results, step, job);
    let diagnosis = diagnose(observation, &layers, &Context::for_job(results, step, job));
    let reported = finding(&diagnosis).filter(|_| diagnosis.answer != Answer::Processor || !has_lost);
    reported.map(|finding| finding.at(&*observation.name))
}

fn finding(diagnosis: &Diagnosis) -> Option<Finding> {
    let is_before_window = diagnosis.sentence.contains(IN_WARM_UP);
    let severity = match diagnosis.answer {
        // A requested rate is not a problem.
        Answer::Cap if diagnosis.layer.as_deref() == Some(REQUESTED_RATE) => return None,
        Answer::Cap => Severity::Note,
        Answer::BurstEnd | Answer::SlcCliff if is_before_window => Severity::Note,
        Answer::BurstEnd | Answer::SlcCliff | Answer::ThrottleQuantum | Answer::Thermal | Answer::GarbageCollection => {
            Severity::Warning
        }
        Answer::Stall => {
            let longest = diagnosis
                .evidence
                .iter()
                .find(|evidence| evidence.what == "longest stall");
            longest.filter(|longest| longest.value >= MIN_STALL_SECS)?;
            Severity::Warning
        }
        Answer::Noisy => Severity::Note,
        // GEN-CPU reports processors that fathom itself kept busy.
        Answer::Processor
            if diagnosis
                .evidence
                .iter()
                .any(|evidence| evidence.what == OTHER_PROGRAMS_FIGURE) =>
        {
            Severity::Warning
        }
        // Other checks report these causes, or they are not a problem.
        Answer::Generator
        | Answer::Processor
        | Answer::Saturated
        | Answer::LatencyBound
        | Answer::QueueAbove
        | Answer::Drift
        | Answer::Network
        | Answer::Undetermined => return None,
    };
    let finding = Finding::new(diagnosis.answer.rule(), severity, diagnosis.sentence.clone());
    let why = "performance changed during the window, so its mean describes no part of it";
    let finding = match diagnosis.answer {
        Answer::Cap => finding,
        Answer::Processor => finding.why("latencies include that wait, and the rate may be lower because of it"),
        _ if is_before_window => {
            finding.why("a load that ends before the fall is served faster than these figures show")
        }
        _ => finding.why(why),
    };
    Some(match diagnosis.advice.first() {
        Some(advice) => finding.help(advice.clone()),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use model::diagnosis::Evidence;

    use super::*;

    /// Processors that fathom kept busy belong to GEN-CPU.
    #[test]
    fn processors_kept_busy_by_others_are_reported() {
        let found = |figure: &str| {
            finding(&Diagnosis {
                answer: Answer::Processor,
                evidence: vec![Evidence {
                    what: figure.into(),
                    ..Evidence::default()
                }],
                ..Diagnosis::default()
            })
        };
        assert_eq!(found("other programs").unwrap().rule, "D-CPU");
        assert_eq!(found("processor 1"), None);
    }
}
