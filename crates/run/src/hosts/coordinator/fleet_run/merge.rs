//! Merges the results of all hosts.

use std::sync::atomic::Ordering;

use model::Nanos;
use model::environment::Environment;
use model::fleet::{Fleet, Gathering, RankFacts};
use model::plan::Plan;
use model::results::{HostResults, Results};

use super::super::HostError;
use super::{AgentEnd, AgentState, FleetRun, FleetState};
use crate::error::RunError;
use crate::results::{nothing_measured, unix_now_ns};

impl FleetRun<'_> {
    /// Merges the results of all ranks.
    pub(in crate::hosts::coordinator) fn results(
        &self,
        plan: &Plan,
        own: Option<Result<Results, RunError>>,
    ) -> Result<Results, RunError> {
        let mut state = self.state();
        self.refuse_failed_start(&state)?;
        let frame = nothing_measured(plan.clone(), &self.context.clock);
        let mut gathering = Gathering::new(plan, self.shares, frame);
        let mut own_results = own.and_then(Result::ok);
        let mut facts = Vec::new();
        for number in 0..state.ranks.len() {
            let agreed = state.agreed.clone();
            facts.push(self.merge_rank(
                number, &mut state.ranks[number], &agreed, &mut own_results, &mut gathering,
            ));
        }
        let mut results = gathering.finish();
        results.interrupted = self.context.interrupt.load(Ordering::Relaxed);
        results.fleet = Some(Fleet {
            transport: self.coordinator.transport(),
            ranks: facts,
            continues_on_loss: self.coordinator.continues_on_loss,
        });
        Ok(results)
    }

    /// Fails if nothing was measured, with the reason of each rank.
    fn refuse_failed_start(&self, state: &FleetState) -> Result<(), RunError> {
        let has_measured = |agent: &AgentState| match &agent.end {
            Some(AgentEnd::Done { .. }) => true,
            Some(AgentEnd::Failed(_)) => false,
            None => agent.partial_results.iter().any(Option::is_some),
        };
        let find_error = |(number, agent): (usize, &AgentState)| {
            let why = match &agent.end {
                Some(AgentEnd::Failed(why)) => Some(why),
                Some(AgentEnd::Done { .. }) => None,
                None => agent.lost.as_ref(),
            }?;
            let host = self.coordinator.rank_label(number as u32);
            let why = why.clone();
            Some(HostError { host, why })
        };
        let mut errors: Vec<HostError> = state.ranks.iter().enumerate().filter_map(find_error).collect();
        let has_started = state.agreed.first().is_some_and(Option::is_some);
        let failed_first = !has_started && !errors.is_empty();
        if !failed_first && state.ranks.iter().any(has_measured) {
            return Ok(());
        }
        // Ranks that stopped because of others have no reason of their own.
        errors.retain(|error| error.why != RunError::Interrupted.to_string());
        let is_lost = |agent: &AgentState| agent.end.is_none() && agent.lost.is_some();
        Err(match errors.is_empty() {
            true => RunError::Interrupted,
            false if has_started && state.ranks.iter().any(is_lost) => RunError::HostsLost(errors),
            false => RunError::Hosts(errors),
        })
    }

    /// Adds the complete or partial results of a rank. Returns the facts about it.
    fn merge_rank(
        &self,
        number: usize,
        agent: &mut AgentState,
        agreed: &[Option<Nanos>],
        own: &mut Option<Results>,
        gathering: &mut Gathering<'_>,
    ) -> RankFacts {
        let peer = self.coordinator.peer(number as u32);
        let to_our_clock = |at_ns: u64| at_ns.wrapping_add_signed(-peer.clock_offset_ns);
        let start = agreed.first().copied().flatten().unwrap_or_default();
        let (results, ended_ns) = match agent.end.take() {
            Some(AgentEnd::Done { results, at_ns }) => {
                let results = own.take().unwrap_or(*results);
                agent.end = Some(AgentEnd::Done {
                    results: Box::new(nothing_measured(Plan::default(), &self.context.clock)),
                    at_ns,
                });
                (Some(results), Some(Nanos(to_our_clock(at_ns)).since(start)))
            }
            Some(AgentEnd::Failed(why)) => {
                agent.lost = Some(why);
                (None, None)
            }
            None => (self.partial_results(number, agent), None),
        };
        let machine = results.and_then(|results| gathering.add(number as u32, results));
        let starts = agent
            .began
            .iter()
            .zip(agreed)
            .filter_map(|(began, agreed)| Some(to_our_clock((*began)?).wrapping_sub((*agreed)?.0) as i64));
        RankFacts {
            host: self.coordinator.host_of_rank(number as u32).name.clone(),
            machine,
            clock_ahead_ns: peer.clock_offset_ns,
            round_trip_ns: peer.round_trip,
            starts_ns: starts.collect(),
            ended_ns,
            widened_from: match &peer.introduction {
                Some(it) => it.widened_from,
                None => self.coordinator.launcher_cpu_count,
            },
            lost: agent.lost.clone().filter(|_| agent.end.is_none()),
        }
    }

    /// The partial results of a lost rank.
    fn partial_results(&self, number: usize, rank: &mut AgentState) -> Option<Results> {
        if rank.partial_results.iter().all(Option::is_none) {
            return None;
        }
        let mut results = nothing_measured(self.shares[number].plan.clone(), &self.context.clock);
        for (step, partial_results) in results.steps.iter_mut().zip(&mut rank.partial_results) {
            if let Some(partial_results) = partial_results.take() {
                *step = partial_results.into_interrupted();
            }
        }
        results.hosts = vec![HostResults {
            environment: Environment {
                host: self.coordinator.host_of_rank(number as u32).clone(),
                ..Environment::default()
            },
            started_unix_ns: unix_now_ns(),
            ended_unix_ns: unix_now_ns(),
            system: None,
            idleness: None,
        }];
        Some(results)
    }
}
