//! One test on several hosts: who does what, a common start, one result, and what is left when a
//! host is lost.
//!
//! One process leads: it shares the plan out, measures how far the clocks of the others are from
//! its own, lets all begin at one agreed moment, and puts the results together. It may execute a
//! part itself (rank 0 of MPI) or none (a management machine). What carries the messages is behind
//! [`Comm`]; nothing outside of this folder knows what it is.

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

pub use crate::error::HostFault;
pub use agent::run_agent;
pub use comm::{Comm, Incoming};
pub use coordinator::Coordinator;
pub use handshake::{HANDSHAKE_TIMEOUT, HandshakeError, Role, Session, accept_session, connect_session};
pub use launch::{Launch, detect_launcher};
pub use rendezvous::{Rendezvous, announced_rank, rendezvous};
pub use streams::{Duplex, PROCESS_ENDED, StreamComm};

/// Joins the processes of a launcher through its library.
///
/// # Errors
/// Why that cannot be done.
#[cfg(target_os = "linux")]
pub fn mpi(launch: &Launch) -> Result<Box<dyn Comm>, String> {
    if launch.libraries.is_empty() {
        return Err("it does not bring MPI with it".into());
    }
    Ok(Box::new(mpi::MpiComm::open(launch)?))
}

/// Joins the processes of a launcher through its library: not on this system, where fleets are
/// joined over TCP.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn mpi(_: &Launch) -> Result<Box<dyn Comm>, String> {
    Err("MPI is joined on Linux only; use --hosts with `fathom agent --listen`".into())
}

/// How often is looked whether something came.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Signs of life come this often.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A process of which nothing was heard for so long is lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(6);
/// What was measured so far is reported and kept this often,
const PARTIAL_RESULTS_INTERVAL: Duration = Duration::from_secs(2);
/// but no oftener than once in this part of the time that a run has taken: it grows with that time,
/// and what is reported in a second must not.
const PARTIAL_RESULTS_SHARE: u32 = 200;

/// How long after the last time the next follows, in a run that began so long ago.
fn partial_results_interval(run: Duration) -> Duration {
    PARTIAL_RESULTS_INTERVAL.max(run / PARTIAL_RESULTS_SHARE)
}

/// Where a process of a fleet is and what it may use.
#[derive(Clone, Debug)]
pub struct LocalHost<'a> {
    /// Its host.
    pub host: Host,
    /// The clock of its runs.
    pub clock: Clock,
    /// Becomes true when the user or the system asks this process to stop.
    pub interrupt: &'a AtomicBool,
    /// Programs that a plan names may be run here.
    pub programs: bool,
    /// Processors that the launcher had left it, where that was widened.
    pub widened_from: Option<u32>,
    /// The number that was assigned to it, where these come in any order.
    pub announced: Option<u32>,
}

/// What one rank has measured so far, with all that is needed to put it together with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Names the run.
    pub run: String,
    /// Who measured it.
    pub rank: Rank,
    /// The plan of the whole.
    pub common: Plan,
    /// Which jobs of it the rank had, for each step.
    pub jobs: Vec<Vec<u32>>,
    /// When each step began, after the agreed moment.
    #[serde(default)]
    pub starts_ns: Vec<i64>,
    /// How far its clock is ahead of that of the process that leads.
    #[serde(default)]
    pub clock_ahead_ns: i64,
    /// Shortest time of a message there and back.
    #[serde(default)]
    pub round_trip_ns: Nanos,
    /// What was measured.
    pub results: Results,
}

/// Where what was measured is kept until it has arrived. Errors are its own: nothing that could go
/// wrong here is to stand between a test and its results.
pub trait Journal: Sync {
    /// Keeps this in the place of what was kept before of the same rank and run.
    fn keep(&self, kept: &JournalEntry);

    /// It is no longer needed.
    fn forget(&self, run: &str, rank: u32);
}

/// Puts together what the ranks of one run have kept, where the process that leads could not.
///
/// # Errors
/// A sentence, if there is nothing, or it is of different runs.
pub fn recover(mut kept: Vec<JournalEntry>) -> Result<Results, String> {
    kept.sort_by_key(|one| one.rank.number);
    kept.dedup_by_key(|one| one.rank.number);
    let Some(first) = kept.first() else {
        return Err("nothing was kept there".into());
    };
    if let Some(other) = kept.iter().find(|one| one.run != first.run) {
        return Err(format!("the runs {} and {} are different ones", first.run, other.run));
    }
    let (common, of) = (first.common.clone(), first.rank.of);
    let shares: Vec<Share> = kept
        .iter()
        .map(|one| Share {
            plan: one.results.plan.clone(),
            jobs: one.jobs.clone(),
        })
        .collect();
    let mut all = Gathering::new(&common, &shares, first.results.clone());
    let mut ranks: Vec<RankFacts> = (0..of)
        .map(|_| RankFacts {
            lost: Some("nothing that it kept was found".into()),
            ..RankFacts::default()
        })
        .collect();
    let numbers: Vec<u32> = kept.iter().map(|one| one.rank.number).collect();
    for (place, one) in kept.into_iter().enumerate() {
        let number = one.rank.number as usize;
        let machine = all.add(place as u32, one.results);
        if let Some(facts) = ranks.get_mut(number) {
            *facts = RankFacts {
                host: one.rank.host,
                machine,
                clock_ahead_ns: one.clock_ahead_ns,
                round_trip_ns: one.round_trip_ns,
                starts_ns: one.starts_ns,
                ..RankFacts::default()
            };
        }
    }
    let mut results = all.finish();
    // They were counted as they came; some may be missing.
    for job in results.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        let workers = job.workers.iter_mut().map(|worker| &mut worker.rank);
        let series = job.rank_series.iter_mut().map(|series| &mut series.rank);
        for rank in workers.chain(series) {
            *rank = numbers.get(*rank as usize).copied().unwrap_or(*rank);
        }
    }
    results.fleet = Some(Fleet {
        transport: "what was kept on each host".into(),
        goes_on: false,
        ranks,
    });
    Ok(results)
}

/// The system starts no more threads.
fn no_thread(error: std::io::Error) -> String {
    format!("no thread can be started: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is reported so far grows with the time that a run has taken: twice as much is reported
    /// half as often.
    #[test]
    fn what_is_reported_in_a_second_does_not_grow() {
        assert_eq!(partial_results_interval(Duration::ZERO), PARTIAL_RESULTS_INTERVAL);
        assert_eq!(
            partial_results_interval(Duration::from_secs(400)),
            PARTIAL_RESULTS_INTERVAL
        );
        assert_eq!(
            partial_results_interval(Duration::from_secs(3600)),
            Duration::from_secs(18)
        );
        assert_eq!(
            partial_results_interval(Duration::from_secs(7200)),
            Duration::from_secs(36)
        );
    }
}
