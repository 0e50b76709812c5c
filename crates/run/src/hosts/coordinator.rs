//! The coordinator: divides plans among the ranks of a fleet and merges their results.

mod fleet_run;

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::Nanos;
use model::environment::Host;
use model::event::Event;
use model::fleet::{Rank, Share, merge_shares};
use model::plan::Plan;
use model::results::Results;

use self::fleet_run::FleetRun;
use super::comm::{Comm, Incoming};
use super::message::{ExecuteRequest, Introduction, PROTOCOL, RunId, ToAgent, ToCoordinator, pack, unpack};
use super::order::{RenumberedComm, sort_by_number};
use super::{HostError, Journal, LocalHost, POLL_INTERVAL};
use crate::context::RunContext;
use crate::error::RunError;
use crate::pipeline::check;
use crate::results::unix_now_ns;
use crate::targets::SharedFiles;

/// Time within which agents must join.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Clock readings requested from each agent before a run.
const CLOCK_PROBES: u32 = 40;
/// Time allowed for all readings of one agent, from its first answer. An interrupted coordinator
/// waits as long for that answer, others for [`CLEANUP_TIMEOUT`].
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long agents may clean up before they answer.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Facts about another process.
#[derive(Clone, Debug, Default)]
struct Peer {
    introduction: Option<Introduction>,
    /// How far its clock is ahead of the coordinator's.
    clock_offset_ns: i64,
    round_trip: Nanos,
    lost_reason: Option<String>,
}

/// Executes plans on all ranks of a fleet.
pub struct Coordinator {
    comm: RenumberedComm,
    /// This process is rank 0 and executes a share itself.
    has_own_rank: bool,
    host: Host,
    /// Number of CPUs that the launcher allowed, if the affinity was widened.
    launcher_cpu_count: Option<u32>,
    /// Indexed by process number; the first is this process.
    peers: Vec<Peer>,
    runs: u32,
    continues_on_loss: bool,
    /// Names without a directory are relative to the working directory of each process.
    relative_to_each_process: bool,
    /// A plan may have no job for some ranks.
    allows_idle_ranks: bool,
    /// Files that our own rank creates in directories; present if several runs share them.
    shared_files: Option<SharedFiles>,
}

impl std::fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Coordinator of {} by {}", self.peers.len(), self.comm.describe())
    }
}

impl Coordinator {
    /// A coordinator of agents that have not introduced themselves.
    fn without_introductions(comm: Box<dyn Comm>, has_own_rank: bool) -> Coordinator {
        Coordinator {
            peers: vec![Peer::default(); comm.size() as usize],
            comm: RenumberedComm::new(comm),
            has_own_rank,
            host: Host::default(),
            launcher_cpu_count: None,
            runs: 0,
            continues_on_loss: false,
            relative_to_each_process: false,
            allows_idle_ranks: false,
            shared_files: None,
        }
    }

    /// Waits until all agents have joined. `names` are their host names until they introduce
    /// themselves.
    ///
    /// # Errors
    /// Hosts that did not join, or that cannot take part.
    pub fn new(
        comm: Box<dyn Comm>,
        has_own_rank: bool,
        local: &LocalHost<'_>,
        names: &[String],
    ) -> Result<Coordinator, Vec<HostError>> {
        let mut coordinator = Coordinator::without_introductions(comm, has_own_rank);
        coordinator.host = local.host.clone();
        coordinator.launcher_cpu_count = local.launcher_cpu_count;
        let count_missing = |coordinator: &Coordinator| {
            let agents = coordinator.peers.iter().skip(1);
            agents
                .filter(|peer| peer.introduction.is_none() && peer.lost_reason.is_none())
                .count()
        };
        let start = Instant::now();
        while count_missing(&coordinator) > 0
            && start.elapsed() < JOIN_TIMEOUT
            && !local.interrupt.load(Ordering::Relaxed)
        {
            match coordinator.comm.receive(POLL_INTERVAL) {
                Some(Incoming::Message { from, bytes }) => {
                    if let Ok(ToCoordinator::Hello(introduction)) = unpack(&bytes) {
                        coordinator.peers[from as usize].introduction = Some(*introduction);
                    }
                }
                Some(Incoming::Lost { process, why }) => coordinator.peers[process as usize].lost_reason = Some(why),
                None => {}
            }
        }
        let mut errors = Vec::new();
        coordinator.sort_by_announced_number().map_err(|fault| vec![fault])?;
        for (process, peer) in coordinator.peers.iter().enumerate().skip(1) {
            let why = match (&peer.introduction, &peer.lost_reason) {
                (_, Some(why)) => Some(why.clone()),
                (None, _) => Some(format!("the host did not join within {} s", JOIN_TIMEOUT.as_secs())),
                (Some(introduction), None) => version_mismatch(introduction),
            };
            let expected_name = names.get(process - 1).cloned();
            let host = peer
                .introduction
                .as_ref()
                .map(|introduction| introduction.host.name.clone())
                .or(expected_name);
            errors.extend(why.map(|why| HostError {
                host: host.unwrap_or_else(|| format!("process {process}")),
                why,
            }));
        }
        match errors.is_empty() {
            true => Ok(coordinator),
            false => Err(errors),
        }
    }

    /// Sorts the processes by their announced numbers instead of the order in which they joined.
    fn sort_by_announced_number(&mut self) -> Result<(), HostError> {
        let announced = |peer: &Peer| peer.introduction.as_ref()?.announced;
        let announced: Vec<Option<u32>> = self.peers.iter().map(announced).collect();
        match sort_by_number(&announced) {
            Ok(None) => Ok(()),
            Ok(Some(order)) => {
                let peers = order.iter().map(|from| self.peers[*from as usize].clone());
                self.peers = peers.collect();
                self.comm.reorder(order);
                Ok(())
            }
            Err(duplicate) => {
                let processes = (0..announced.len()).filter(|process| announced[*process] == Some(duplicate));
                let hosts: Vec<String> = processes
                    .map(|process| self.host_facts(process as u32).name.clone())
                    .collect();
                Err(HostError {
                    host: hosts.join(" and "),
                    why: format!(
                        "these hosts have the same rank {duplicate}: set FATHOM_RANK to a different number on each"
                    ),
                })
            }
        }
    }

    /// If a rank is lost during the measurement, the others continue instead of stopping.
    #[must_use]
    pub fn with_continue_on_loss(mut self, continues_on_loss: bool) -> Coordinator {
        self.continues_on_loss = continues_on_loss;
        self
    }

    /// Makes names without a directory relative to the working directory of each process. By
    /// default, they are relative to the coordinator's.
    #[must_use]
    pub fn with_relative_names(mut self) -> Coordinator {
        self.relative_to_each_process = true;
        self
    }

    /// Accepts plans without a job for some ranks, which then wait for the others. By default, a
    /// rank without a job is a mistake of the user.
    #[must_use]
    pub fn with_idle_ranks(mut self) -> Coordinator {
        self.allows_idle_ranks = true;
        self
    }

    /// Lets later runs reuse the files that ranks create in directories. Disconnecting removes
    /// them.
    pub fn keep_files(&mut self) {
        self.shared_files.get_or_insert_default();
    }

    /// The host of a rank.
    pub fn host_of_rank(&self, rank: u32) -> &Host {
        self.host_facts(rank + self.first_process())
    }

    /// Number of processes that execute a share.
    pub fn rank_count(&self) -> u32 {
        self.peers.len() as u32 - self.first_process()
    }

    /// Describes the transport of messages.
    pub fn transport(&self) -> String {
        self.comm.describe()
    }

    /// The number of the process that is rank 0.
    fn first_process(&self) -> u32 {
        u32::from(!self.has_own_rank)
    }

    fn rank(&self, number: u32) -> Rank {
        Rank {
            number,
            rank_count: self.rank_count(),
            host: self.host_of_rank(number).name.clone(),
        }
    }

    /// Facts about the process of a rank.
    fn peer(&self, rank: u32) -> &Peer {
        &self.peers[(rank + self.first_process()) as usize]
    }

    fn host_facts(&self, process: u32) -> &Host {
        match &self.peers[process as usize].introduction {
            Some(introduction) => &introduction.host,
            None => &self.host,
        }
    }

    fn rank_label(&self, rank: u32) -> String {
        format!("{} (rank {rank})", self.host_of_rank(rank).name)
    }

    /// The merged plan of all ranks.
    ///
    /// # Errors
    /// A rank for which the plan has no share.
    pub fn merge_plans(&self, plan: &Plan) -> Result<Plan, RunError> {
        Ok(merge_shares(plan, &self.shares(plan)?))
    }

    fn shares(&self, plan: &Plan) -> Result<Vec<Share>, RunError> {
        let folder = std::env::current_dir().ok().filter(|_| !self.relative_to_each_process);
        let folder = folder.as_deref().and_then(std::path::Path::to_str);
        let hosts: Vec<String> = (0..self.rank_count())
            .map(|rank| self.host_of_rank(rank).name.clone())
            .collect();
        let share = |number: u32| {
            let rank = self.rank(number);
            let share = Share::for_rank(plan, &rank, &hosts, folder).and_then(|share| {
                if !self.allows_idle_ranks {
                    share.refuse_idle(&rank)?;
                }
                Ok(share)
            });
            let share = share.map_err(|why| {
                RunError::Hosts(vec![HostError {
                    host: self.rank_label(number),
                    why,
                }])
            });
            let cpus = match &self.peer(number).introduction {
                Some(introduction) => introduction.cpus.clone(),
                None => engine::sys::thread::usable_cpus(),
            };
            share.map(|share| share.with_round_robin_cpus(&cpus))
        };
        (0..self.rank_count()).map(share).collect()
    }

    /// Executes a plan on all ranks.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured at all.
    pub fn execute(
        &mut self,
        plan: Plan,
        context: RunContext<'_>,
        journal: &dyn Journal,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        check(&plan)?;
        self.runs += 1;
        let lost: Vec<HostError> = (0..self.rank_count())
            .filter_map(|rank| {
                let why = self.peer(rank).lost_reason.clone()?;
                let host = self.rank_label(rank);
                Some(HostError { host, why })
            })
            .collect();
        if !lost.is_empty() {
            // All hosts took part in the previous run.
            return Err(match self.runs {
                1 => RunError::Hosts(lost),
                _ => RunError::HostsLost(lost),
            });
        }
        let shares = self.shares(&plan)?;
        self.measure_clock_offsets(&context, CLOCK_PROBES);
        let run = RunId::new(unix_now_ns() / 1_000_000, std::process::id(), self.runs);
        let execute_request = |number: u32| ExecuteRequest {
            run: run.clone(),
            rank: self.rank(number),
            common: plan.clone(),
            share: shares[number as usize].clone(),
            destroy: context.permissions.destroy.clone(),
            overwrite: context.permissions.overwrite.clone(),
            shares_files: self.shared_files.is_some(),
            clock_ahead_ns: self.peer(number).clock_offset_ns,
            round_trip_ns: self.peer(number).round_trip,
        };
        for rank in u32::from(self.has_own_rank)..self.rank_count() {
            self.send(rank, &ToAgent::Execute(Box::new(execute_request(rank))));
        }
        let own_request = self.has_own_rank.then(|| execute_request(0));
        let mut shared_files = self.shared_files.take();
        let fleet_run = FleetRun::new(self, &shares, context);
        let own_rank = match &own_request {
            Some(request) => fleet_run.run_own_share(request, journal, &mut shared_files, watcher),
            None => {
                fleet_run.with_listener(|| fleet_run.run_without_share(watcher))?;
                None
            }
        };
        let results = fleet_run.results(&plan, own_rank);
        let state = fleet_run.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (rank, rank_state) in state.ranks.iter().enumerate() {
            if rank_state.end.is_some() && !(self.has_own_rank && rank == 0) {
                self.send(rank as u32, &ToAgent::ResultsReceived);
            }
            let process = rank + self.first_process() as usize;
            if self.peers[process].lost_reason.is_none() {
                self.peers[process].lost_reason.clone_from(&rank_state.lost);
            }
        }
        // Agents reply to clock probes only after their cleanup. Wait for that, so that the next
        // test finds renewed marks.
        self.measure_clock_offsets(&context, 1);
        self.shared_files = shared_files;
        if self.has_own_rank {
            journal.remove(run.as_str(), 0);
        }
        let results = results?;
        if context.hooks.snapshots.is_some() {
            for (step, results) in results.steps.iter().enumerate() {
                watcher(Event::Snapshot {
                    step: step as u32,
                    last: true,
                    results: Box::new(results.clone()),
                });
            }
        }
        Ok(results)
    }

    fn send(&self, rank: u32, message: &ToAgent) {
        self.comm.send(rank + self.first_process(), &pack(message));
    }

    /// Measures the clock offset of each agent, from the probe with the shortest round trip.
    fn measure_clock_offsets(&mut self, context: &RunContext<'_>, probes: u32) {
        let clock = &context.clock;
        self.comm.set_low_latency(true);
        // All agents clean up at the same time.
        let cleanup_begun = Instant::now();
        for process in 1..self.peers.len() as u32 {
            let (begun, mut first_answer) = (Instant::now(), None::<Instant>);
            let is_overdue = |first_answer: Option<Instant>| match first_answer {
                None if !context.interrupt.load(Ordering::Relaxed) => {
                    cleanup_begun.elapsed() >= CLEANUP_TIMEOUT && begun.elapsed() >= CLOCK_TIMEOUT
                }
                _ => first_answer.unwrap_or(begun).elapsed() >= CLOCK_TIMEOUT,
            };
            let mut best: Option<(Nanos, i64)> = None;
            for number in 0..probes {
                let sent = clock.now();
                self.comm.send(process, &pack(&ToAgent::Clock { number }));
                while !is_overdue(first_answer) && self.peers[process as usize].lost_reason.is_none() {
                    let (from, bytes) = match self.comm.receive(Duration::from_millis(5)) {
                        Some(Incoming::Message { from, bytes }) => (from, bytes),
                        Some(Incoming::Lost { process: lost, why }) => {
                            self.peers[lost as usize].lost_reason.get_or_insert(why);
                            continue;
                        }
                        None => continue,
                    };
                    let received = clock.now();
                    match unpack(&bytes) {
                        Ok(ToCoordinator::Clock {
                            number: answered,
                            at_ns,
                        }) if from == process && answered == number => {
                            first_answer.get_or_insert_with(Instant::now);
                            let round_trip = received - sent;
                            let middle = sent.0 + round_trip.0 / 2;
                            if best.is_none_or(|(shortest, _)| round_trip < shortest) {
                                best = Some((round_trip, at_ns.wrapping_sub(middle) as i64));
                            }
                            break;
                        }
                        Ok(ToCoordinator::Failed { why }) => {
                            self.peers[from as usize].lost_reason.get_or_insert(why);
                        }
                        _ => {}
                    }
                }
            }
            let peer = &mut self.peers[process as usize];
            match best {
                // A single probe only waits for the agent.
                Some(_) if probes == 1 => {}
                Some((round_trip, offset)) => (peer.round_trip, peer.clock_offset_ns) = (round_trip, offset),
                None => {
                    peer.lost_reason
                        .get_or_insert_with(|| "the host does not respond to clock requests".into());
                }
            }
        }
        self.comm.set_low_latency(false);
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        for process in 1..self.peers.len() as u32 {
            self.comm.send(process, &pack(&ToAgent::Leave));
        }
        self.comm.close();
    }
}

/// Why a process cannot take part.
fn version_mismatch(introduction: &Introduction) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    (introduction.protocol != PROTOCOL || introduction.version != ours).then(|| {
        format!(
            "the host runs fathom {} (protocol {}), but this host runs {ours} (protocol \
             {PROTOCOL}): install the same version on all hosts",
            introduction.version, introduction.protocol
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::targets::guard::Permissions;

    /// An agent that answers only after its cleanup.
    struct BusyAgent {
        idle_at: Instant,
        asked: Mutex<Vec<u32>>,
    }

    impl Comm for BusyAgent {
        fn process_number(&self) -> u32 {
            0
        }
        fn size(&self) -> u32 {
            2
        }
        fn describe(&self) -> String {
            "test".into()
        }
        fn send(&self, _: u32, message: &[u8]) {
            if let Ok(ToAgent::Clock { number }) = unpack(message) {
                self.asked.lock().unwrap().push(number);
            }
        }
        fn receive(&self, timeout: Duration) -> Option<Incoming> {
            let mut asked = self.asked.lock().unwrap();
            if asked.is_empty() || Instant::now() < self.idle_at {
                std::thread::sleep(timeout);
                return None;
            }
            let number = asked.remove(0);
            let bytes = pack(&ToCoordinator::Clock { number, at_ns: 0 });
            Some(Incoming::Message { from: 1, bytes })
        }
        fn mark_lost(&self, _: u32) {}
        fn close(&self) {}
    }

    #[test]
    fn an_agent_with_a_long_cleanup_is_not_lost() {
        let (interrupt, permissions) = (AtomicBool::new(false), Permissions::default());
        let agent = BusyAgent {
            idle_at: Instant::now() + CLOCK_TIMEOUT + Duration::from_millis(300),
            asked: Mutex::default(),
        };
        let mut coordinator = Coordinator::without_introductions(Box::new(agent), true);
        let context = RunContext::new(engine::clock::ClockStart::now().calibrate(), &interrupt, &permissions);
        coordinator.measure_clock_offsets(&context, 3);
        assert_eq!(coordinator.peers[1].lost_reason, None);
    }
}
