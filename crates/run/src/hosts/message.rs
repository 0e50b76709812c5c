//! What the processes of a fleet tell each other.

use model::Nanos;
use model::environment::Host;
use model::event::Event;
use model::fleet::{Rank, Share};
use model::plan::Plan;
use model::results::{Results, StepResults};
use serde::{Deserialize, Serialize};

use super::barrier::Arrival;
use crate::targets::guard::Permissions;

/// Raised whenever the messages change.
pub(super) const PROTOCOL: u32 = 4;

/// Who a process is: the first message of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Introduction {
    /// See [`PROTOCOL`].
    pub(super) protocol: u32,
    /// Version of the program.
    pub(super) version: String,
    /// Its host.
    pub(super) host: Host,
    /// Processors that it may use.
    #[serde(default)]
    pub(super) cpus: Vec<u32>,
    /// Processors that the launcher had left it, where that was widened.
    pub(super) widened_from: Option<u32>,
    /// The number that was assigned to it, where these come in any order.
    #[serde(default)]
    pub(super) announced: Option<u32>,
}

/// To a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// What time is it? Answered at once.
    Clock { number: u32 },
    /// Carry this out.
    CarryOut(Box<Order>),
    /// It has waited long enough for others, with its targets.
    GoOn,
    /// The step may begin at this time of the rank's own clock.
    Begin {
        step: u32,
        at_ns: u64,
        /// Jobs of the plan of the whole that must not.
        called_off: Vec<u32>,
    },
    /// Stop, and tell what was measured.
    Stop,
    /// What was measured arrived; what was kept of it can go.
    Arrived,
    /// There is nothing more to do.
    Leave,
    /// A sign of life.
    Alive,
}

/// The name of a run: digits and `-` only, because an agent makes a folder of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct RunId(String);

impl RunId {
    /// Longer than the clock, a process and a count are together.
    const MAX_LENGTH: usize = 64;

    /// A name that no other run has: of this moment, this process, and its `count`-th run.
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
                "`{}` does not name a run: only digits and `-` do",
                text.escape_debug().take(RunId::MAX_LENGTH).collect::<String>()
            )),
        }
    }
}

/// What a rank is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// Names the run, for what is kept of it.
    pub(super) run: RunId,
    pub(super) rank: Rank,
    /// The plan of the whole, before it was shared.
    pub(super) common: Plan,
    pub(super) share: Share,
    pub(super) destroy: Vec<String>,
    pub(super) overwrite: Vec<String>,
    /// Files that it makes in directories are for the runs that follow too, and go when the process
    /// that leads has left.
    pub(super) holds_files: bool,
    /// How far its clock is ahead of that of the process that leads.
    pub(super) clock_ahead_ns: i64,
    /// Shortest time of a message there and back.
    pub(super) round_trip_ns: Nanos,
}

impl Order {
    /// Which jobs of ours these of the plan of the whole are, with their step.
    pub(super) fn own_jobs(&self, step: u32, numbers: &[u32]) -> Vec<(usize, usize)> {
        let ours = self.share.jobs.get(step as usize).map_or(&[][..], Vec::as_slice);
        let found = numbers
            .iter()
            .filter_map(|number| ours.iter().position(|one| one == number));
        found.map(|job| (step as usize, job)).collect()
    }

    /// What the user allows; that programs may run is each host's own to say.
    pub(super) fn permissions(&self, programs: bool) -> Permissions {
        Permissions {
            destroy: self.destroy.clone(),
            overwrite: self.overwrite.clone(),
            programs,
        }
    }
}

/// To the process that leads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToCoordinator {
    /// The first thing that is said.
    Hello(Box<Introduction>),
    /// An answer: the time there.
    Clock { number: u32, at_ns: u64 },
    /// Something happened there.
    Event(Box<Event>),
    /// It waits for others, with its targets.
    Arrival(Arrival),
    /// A step is ready, and waits.
    Ready { step: u32 },
    /// Its first worker really began at this time of the rank's own clock.
    Began { step: u32, at_ns: u64 },
    /// What was measured so far.
    SoFar { step: u32, results: Box<StepResults> },
    /// All is done.
    Done { results: Box<Results>, at_ns: u64 },
    /// Nothing could be measured.
    Failed { why: String },
    /// A sign of life.
    Alive,
}

/// A message as bytes.
pub(super) fn pack<T: Serialize>(message: &T) -> Vec<u8> {
    // Plain data with text keys: there is nothing in it that could not be written.
    serde_json::to_vec(message).unwrap_or_default()
}

/// A message of these bytes.
///
/// # Errors
/// A sentence, if it is none.
pub(super) fn unpack<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("it sent what cannot be understood: {error}"))
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
