//! Errors of an entry in fio's words.

use model::event::EndReason;
use model::plan::{Control, ErrorPolicy};

use super::entries::Member;

/// `EIO`: what fio reports where the system gave no number.
const UNNAMED: i32 = 5;

/// The first error of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryError {
    pub number: i32,
    /// The part of fio that met it.
    place: String,
}

/// What was tolerated, where anything may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tolerated {
    pub total: u64,
    pub first: i32,
}

impl EntryError {
    /// What stands in brackets behind the number.
    pub(super) fn text(&self) -> String {
        format!("file:fathom:0, func={}, error={}", self.place, words(self.number))
    }
}

/// What the system says of an error number.
pub(super) fn words(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// What ended a worker, or the first error that it tolerated.
pub(super) fn of_member(member: &Member) -> Option<EntryError> {
    let worker = member.worker?;
    if let Some(failure) = &worker.failure {
        let place = match failure.operation {
            Some(_) => "io_u error",
            None => failure.what.as_str(),
        };
        return Some(EntryError {
            number: failure.errno.unwrap_or(UNNAMED),
            place: place.to_owned(),
        });
    }
    let directions = worker.streams.iter().flat_map(|stream| stream.directions.iter());
    let mut tolerated = directions.filter_map(|(_, found)| found.as_ref()?.first_error);
    if let Some(number) = tolerated.next() {
        let place = "io_u error".to_owned();
        return Some(EntryError { number, place });
    }
    let paced = member.job.control.iter();
    let has_minimum = paced.filter(|rule| matches!(rule, Control::MinimumRate(_))).count() > 0;
    (has_minimum && member.found.ended == Some(EndReason::Failed)).then(|| EntryError {
        number: UNNAMED,
        place: "check_min_rate".to_owned(),
    })
}

/// Errors that were passed over; `None` where none of the jobs may.
pub(super) fn tolerated(members: &[Member]) -> Option<Tolerated> {
    let streams = members
        .iter()
        .flat_map(|member| member.job.workers.iter().flat_map(|worker| &worker.streams));
    if !streams.map(|stream| &stream.on_error).any(may_go_on) {
        return None;
    }
    let mut sum = Tolerated::default();
    for member in members {
        let Some(worker) = member.worker else { continue };
        for (_, found) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
            let Some(found) = found else { continue };
            sum.total += found.errors;
            if sum.first == 0 {
                sum.first = found.first_error.unwrap_or(0);
            }
        }
        if let Some(failure) = &worker.failure {
            // What was too much to go on is counted as well.
            sum.total += u64::from(failure.operation.is_some());
            if sum.first == 0 {
                sum.first = failure.errno.unwrap_or(UNNAMED);
            }
        }
    }
    Some(sum)
}

fn may_go_on(policy: &ErrorPolicy) -> bool {
    !(policy.tolerate_read.is_empty() && policy.tolerate_write.is_empty() && policy.tolerate_verify.is_empty())
}
