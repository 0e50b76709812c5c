//! Messages between the processes of a fleet.

use model::Nanos;
use model::environment::Host;
use model::event::Event;
use model::fleet::{Rank, Share};
use model::plan::Plan;
use model::results::{Results, StepResults};
use serde::{Deserialize, Serialize};

use super::barrier::Arrival;
use crate::targets::guard::Permissions;

/// Protocol version; raised with each change of the messages.
pub(super) const PROTOCOL: u32 = 6;

/// The first message of each process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Introduction {
    /// See [`PROTOCOL`].
    pub(super) protocol: u32,
    /// Version of the program.
    pub(super) version: String,
    /// Name and facts of its host.
    pub(super) host: Host,
    /// CPUs that it may use.
    #[serde(default)]
    pub(super) cpus: Vec<u32>,
    /// Number of CPUs that the launcher had allowed, if the CPU affinity was widened.
    pub(super) widened_from: Option<u32>,
    /// The rank assigned to it, if processes connect in any order.
    #[serde(default)]
    pub(super) announced: Option<u32>,
}

/// Messages to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// Request for the agent's time, to be sent immediately.
    Clock { number: u32 },
    /// Execute this order.
    Execute(Box<ExecuteRequest>),
    /// Continue preparing targets; see [`Arrival`].
    Continue,
    /// The step may begin at this time of the rank's own clock.
    Begin {
        step: u32,
        at_ns: u64,
        /// Jobs that must not begin, by their numbers in the plan of the fleet.
        cancelled_jobs: Vec<u32>,
    },
    /// Stop, and send the results.
    Stop,
    /// The results have arrived, so the journal entry can be removed.
    ResultsReceived,
    /// The agent is to disconnect.
    Leave,
    /// Heartbeat: the sender is alive.
    Alive,
}

/// The ID of a run. Only digits and `-`, because an agent creates a directory with that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct RunId(String);

impl RunId {
    /// Longer than a timestamp, a process ID and a count together.
    const MAX_LENGTH: usize = 64;

    /// A unique ID from the time, the process ID, and a count of runs.
    pub(super) fn new(unix_ms: u64, process: u32, count: u32) -> RunId {
        RunId(format!("{unix_ms}-{process}-{count}"))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = String;

    fn try_from(text: String) -> Result<RunId, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match is_plain && (1..=RunId::MAX_LENGTH).contains(&text.len()) {
            true => Ok(RunId(text)),
            false => Err(format!(
                "`{}` is not the name of a run, which has only digits and `-`",
                text.escape_debug().take(RunId::MAX_LENGTH).collect::<String>()
            )),
        }
    }
}

/// A rank's share of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ExecuteRequest {
    /// Identifies the run in journals.
    pub(super) run: RunId,
    pub(super) rank: Rank,
    /// The plan of the fleet, before it was divided.
    #[serde(with = "json")]
    pub(super) common: Plan,
    #[serde(with = "json")]
    pub(super) share: Share,
    pub(super) destroy: Vec<String>,
    pub(super) overwrite: Vec<String>,
    /// Later runs reuse the files that it creates in directories. They are removed when the
    /// coordinator disconnects.
    pub(super) shares_files: bool,
    /// How far its clock is ahead of the coordinator's.
    pub(super) clock_ahead_ns: i64,
    /// Shortest round trip of a message.
    pub(super) round_trip_ns: Nanos,
}

impl ExecuteRequest {
    /// Converts job numbers of the fleet's plan to `(step, job)` of our share.
    pub(super) fn to_own_jobs(&self, step: u32, numbers: &[u32]) -> Vec<(usize, usize)> {
        let ours = self.share.jobs.get(step as usize).map_or(&[][..], Vec::as_slice);
        let own_jobs = numbers
            .iter()
            .filter_map(|number| ours.iter().position(|our_number| our_number == number));
        own_jobs.map(|job| (step as usize, job)).collect()
    }

    /// Permissions granted by the user. Each host decides for itself whether programs may run.
    pub(super) fn permissions(&self, local: &Permissions) -> Permissions {
        Permissions {
            destroy: self.destroy.clone(),
            overwrite: self.overwrite.clone(),
            ..local.clone()
        }
    }
}

/// Messages to the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToCoordinator {
    /// The first message.
    Hello(Box<Introduction>),
    /// Response to [`ToAgent::Clock`] with the agent's time.
    Clock { number: u32, at_ns: u64 },
    /// An event on the agent.
    Event(#[serde(with = "json")] Box<Event>),
    /// The agent waits for others while it prepares its targets.
    Arrival(Arrival),
    /// A step is ready to begin.
    Ready { step: u32 },
    /// The first worker of a step began at this time of the agent's clock.
    Began { step: u32, at_ns: u64 },
    /// Results of a step so far.
    PartialResults {
        step: u32,
        #[serde(with = "json")]
        results: Box<StepResults>,
    },
    /// The final results of the rank.
    Done {
        #[serde(with = "json")]
        results: Box<Results>,
        at_ns: u64,
    },
    /// Nothing could be measured.
    Failed { why: String },
    /// Heartbeat: the sender is alive.
    Alive,
}

/// Serializes a message.
pub(super) fn pack<T: Serialize>(message: &T) -> Vec<u8> {
    // Plain data with text keys always serializes.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Deserializes a message.
///
/// # Errors
/// A sentence, if the bytes are not a message.
pub(super) fn unpack<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("it sent an invalid message: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_digits_and_dashes_only() {
        let check = |text: &str, is_name: bool| {
            let read = unpack::<RunId>(serde_json::to_string(text).unwrap().as_bytes());
            assert_eq!(read.is_ok(), is_name, "{text}: {read:?}");
            if is_name {
                assert_eq!(read.unwrap().as_str(), text);
            }
        };
        check("1795519200000-4242-1", true);
        for wrong in [
            "",
            "..",
            "../../etc",
            "1/2",
            "1\\2",
            "C:1",
            "1\u{0}",
            "run",
            "１",
            &"1".repeat(65),
        ] {
            check(wrong, false);
        }
    }
}
