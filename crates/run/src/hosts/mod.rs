//! Runs one test on several hosts. It divides the plan, starts all hosts together, merges the
//! results, and handles lost hosts. One process is the coordinator. It divides the plan, measures
//! the clock offsets of the others, starts all at an agreed time, and merges the results. It may
//! execute a share itself (rank 0 of MPI) or none (a management machine). [`Comm`] hides the
//! transport.

mod agent;
mod barrier;
mod comm;
mod coordinator;
mod frames;
mod handshake;
mod intervals;
mod launch;
mod message;
#[cfg(target_os = "linux")]
mod mpi;
mod order;
mod rendezvous;
mod streams;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Clock;
use model::Nanos;
use model::environment::Host;
use model::fleet::{Fleet, Gathering, Rank, RankFacts, Share};
use model::plan::Plan;
use model::results::Results;
use serde::{Deserialize, Serialize};

use crate::targets::guard::Permissions;

pub use crate::error::HostError;
pub use agent::run_agent;
pub use comm::{Comm, Incoming};
pub use coordinator::Coordinator;
pub use handshake::{HANDSHAKE_TIMEOUT, HandshakeError, Role, Session, accept_session, connect_session};
pub use launch::{Launch, detect_launcher};
pub use rendezvous::{Rendezvous, assigned_rank, read_rendezvous};
pub use streams::{Duplex, PROCESS_ENDED, StreamComm};

/// Joins the processes of a launcher through its MPI library.
///
/// # Errors
/// Why the MPI library cannot be used.
#[cfg(target_os = "linux")]
pub fn mpi(launch: &Launch) -> Result<Box<dyn Comm>, String> {
    if launch.libraries.is_empty() {
        return Err("it has no MPI".into());
    }
    Ok(Box::new(mpi::MpiComm::open(launch)?))
}

/// Not supported on this system, where fleets connect over TCP.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn mpi(_: &Launch) -> Result<Box<dyn Comm>, String> {
    Err("MPI is supported only on Linux; use --hosts with `fathom agent --listen`".into())
}

/// How often to check for messages.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a process sends a heartbeat.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A process that sends nothing for this long is lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(6);
/// Minimum interval between partial results, which are sent and written to the journal.
const PARTIAL_RESULTS_INTERVAL: Duration = Duration::from_secs(2);
/// The interval also grows to this fraction of the elapsed time. Partial results grow with the run,
/// but the data sent per second must not.
const PARTIAL_RESULTS_SHARE: u32 = 200;

/// The interval between partial results after a run has taken `elapsed`.
fn partial_results_interval(elapsed: Duration) -> Duration {
    PARTIAL_RESULTS_INTERVAL.max(elapsed / PARTIAL_RESULTS_SHARE)
}

/// Host and settings of a process of a fleet.
#[derive(Clone, Debug)]
pub struct LocalHost<'a> {
    /// Name and facts of the host.
    pub host: Host,
    /// The clock of its runs.
    pub clock: Clock,
    /// Becomes true when the user or the system asks this process to stop.
    pub interrupt: &'a AtomicBool,
    /// Whether programs named in a plan may be run here, and the targets of the runs so far.
    pub permissions: Permissions,
    /// Number of CPUs that the launcher had allowed, if the CPU affinity was widened.
    pub launcher_cpu_count: Option<u32>,
    /// The rank assigned to this process, if processes connect in any order.
    pub assigned_rank: Option<u32>,
}

/// Results of one rank so far, with all facts that merging needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Identifies the run.
    pub run: String,
    /// The rank that measured.
    pub rank: Rank,
    /// The plan of the whole fleet.
    #[serde(with = "json")]
    pub common: Plan,
    /// The jobs of that plan that the rank executed, for each step.
    pub jobs: Vec<Vec<u32>>,
    /// Delay of each step's start after the agreed time.
    #[serde(default)]
    pub starts_ns: Vec<i64>,
    /// How far its clock is ahead of the coordinator's.
    #[serde(default)]
    pub clock_ahead_ns: i64,
    /// Shortest round trip of a message.
    #[serde(default)]
    pub round_trip_ns: Nanos,
    /// Results of this process.
    #[serde(with = "json")]
    pub results: Results,
}

/// Stores results until the coordinator has received them. Errors are ignored, so that a failing
/// journal never fails a test.
pub trait Journal: Sync {
    /// Writes the entry and replaces an earlier one of the same rank and run.
    fn write(&self, entry: &JournalEntry);

    /// Removes the entry.
    fn remove(&self, run: &str, rank: u32);
}

/// Merges the journal entries of a run, if its coordinator could not.
///
/// # Errors
/// A sentence, if there are no entries, or they are of different runs.
pub fn recover(mut entries: Vec<JournalEntry>) -> Result<Results, String> {
    entries.sort_by_key(|entry| entry.rank.number);
    entries.dedup_by_key(|entry| entry.rank.number);
    let Some(first) = entries.first() else {
        return Err("there are no journal entries".into());
    };
    if let Some(other) = entries.iter().find(|entry| entry.run != first.run) {
        return Err(format!(
            "the entries belong to different runs, {} and {}",
            first.run, other.run
        ));
    }
    let (common, rank_count) = (first.common.clone(), first.rank.rank_count);
    let shares: Vec<Share> = entries
        .iter()
        .map(|entry| Share {
            plan: entry.results.plan.clone(),
            jobs: entry.jobs.clone(),
        })
        .collect();
    let mut gathering = Gathering::new(&common, &shares, first.results.clone());
    let mut ranks: Vec<RankFacts> = (0..rank_count)
        .map(|_| RankFacts {
            lost: Some("no journal entry of this rank was found".into()),
            ..RankFacts::default()
        })
        .collect();
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.rank.number).collect();
    for (index, entry) in entries.into_iter().enumerate() {
        let number = entry.rank.number as usize;
        let machine = gathering.add(index as u32, entry.results);
        if let Some(facts) = ranks.get_mut(number) {
            *facts = RankFacts {
                host: entry.rank.host,
                machine,
                clock_ahead_ns: entry.clock_ahead_ns,
                round_trip_ns: entry.round_trip_ns,
                starts_ns: entry.starts_ns,
                ..RankFacts::default()
            };
        }
    }
    let mut results = gathering.finish();
    // Ranks were numbered in the order of the entries, but some entries may be missing.
    for job in results.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        let workers = job.workers.iter_mut().map(|worker| &mut worker.rank);
        let series = job.rank_series.iter_mut().map(|series| &mut series.rank);
        for rank in workers.chain(series) {
            *rank = numbers.get(*rank as usize).copied().unwrap_or(*rank);
        }
    }
    results.fleet = Some(Fleet {
        transport: "journal entries of each host".into(),
        continues_on_loss: false,
        ranks,
    });
    Ok(results)
}

/// The reason when the system cannot start a thread.
fn thread_error(error: std::io::Error) -> String {
    format!("cannot start a thread: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partial results grow with the run. Data of twice the size is sent half as often.
    #[test]
    fn the_data_rate_of_partial_results_does_not_grow() {
        let shortest = PARTIAL_RESULTS_INTERVAL.as_secs();
        for (elapsed, interval) in [(0, shortest), (400, shortest), (3600, 18), (7200, 36)] {
            assert_eq!(
                partial_results_interval(Duration::from_secs(elapsed)),
                Duration::from_secs(interval)
            );
        }
    }
}
