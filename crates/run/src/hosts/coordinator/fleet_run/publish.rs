//! Publishes the events of all hosts as events of one run.

use model::event::{Event, RankFigures, RankProgress, RankState as PublishedState};
use model::finding::{Finding, Severity};

use super::{AgentEnd, AgentState, FleetRun, LATE_TIMEOUT};
use crate::error::RunError;
use crate::hosts::intervals::IntervalMerger;

/// Events that wait for events of other ranks, and the states already published.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    intervals: IntervalMerger,
    states: Vec<PublishedState>,
}

impl Publisher {
    fn state(&self, rank: u32) -> PublishedState {
        self.states.get(rank as usize).copied().unwrap_or_default()
    }
}

impl FleetRun<'_> {
    /// Publishes the pending events of the other ranks.
    pub(super) fn publish_pending(&self, published: &mut Publisher, watcher: &mut dyn FnMut(Event)) {
        let (events, ranks_left, states) = {
            let mut state = self.state();
            let states: Vec<PublishedState> = state
                .ranks
                .iter()
                .enumerate()
                .map(|numbered_rank| self.published_state(numbered_rank))
                .collect();
            (std::mem::take(&mut state.events), state.remaining_ranks(), states)
        };
        self.publish_states(&states, published, watcher);
        for (rank, event) in events {
            self.publish_event(rank, event, &ranks_left, published, watcher);
        }
        for interval in published.intervals.take_complete(&ranks_left) {
            watcher(Event::Interval(Box::new(interval)));
        }
    }

    fn published_state(&self, (number, rank): (usize, &AgentState)) -> PublishedState {
        let is_other = !self.coordinator.has_own_rank || number > 0;
        let has_begun = |began: &Vec<Option<u64>>| began.iter().any(Option::is_some);
        match (&rank.lost, &rank.end) {
            (_, Some(AgentEnd::Done { .. })) => PublishedState::Ended,
            (Some(_), _) | (_, Some(AgentEnd::Failed(_))) => PublishedState::Lost,
            (None, None) if is_other && rank.last_message.elapsed() > LATE_TIMEOUT => PublishedState::Late,
            (None, None) if has_begun(&rank.began) => PublishedState::Running,
            (None, None) if rank.ready.is_some() => PublishedState::Ready,
            (None, None) => PublishedState::Preparing,
        }
    }

    /// Publishes changed states, and a finding for each lost rank.
    fn publish_states(&self, states: &[PublishedState], published: &mut Publisher, watcher: &mut dyn FnMut(Event)) {
        if states == published.states {
            return;
        }
        for (number, state_now) in states.iter().enumerate() {
            let before = published.states.get(number);
            if before == Some(state_now) {
                continue;
            }
            let rank = number as u32;
            watcher(self.rank_event(rank, *state_now, None));
            if *state_now == PublishedState::Lost {
                let why = {
                    let state = self.state();
                    let rank_state = &state.ranks[number];
                    match &rank_state.end {
                        // A failure before the start becomes the error of the whole run later.
                        Some(AgentEnd::Failed(_)) if rank_state.began.iter().all(Option::is_none) => None,
                        Some(AgentEnd::Failed(why)) => Some(why.clone()),
                        _ => rank_state.lost.clone(),
                    }
                };
                // A rank that stopped because of another one has no reason of its own.
                if let Some(why) = why.filter(|why| *why != RunError::Interrupted.to_string()) {
                    let what = format!("{} was lost: {why}", self.coordinator.rank_label(rank));
                    let finding = Finding::new("HOST-LOST", Severity::Error, what);
                    watcher(Event::Notice { finding });
                }
            }
        }
        published.states = states.to_vec();
    }

    fn rank_event(&self, rank: u32, state: PublishedState, figures: Option<RankFigures>) -> Event {
        Event::Rank(Box::new(RankProgress {
            rank,
            rank_count: self.shares.len() as u32,
            host: self.coordinator.host_of_rank(rank).name.clone(),
            state,
            figures,
        }))
    }

    /// Publishes an event of one rank as an event of the fleet.
    pub(super) fn publish_event(
        &self,
        rank: u32,
        mut event: Event,
        left: &[u32],
        published: &mut Publisher,
        watcher: &mut dyn FnMut(Event),
    ) {
        let with_host = |target: String| format!("{}: {target}", self.coordinator.host_of_rank(rank).name);
        match event {
            Event::Interval(interval) => {
                let Some((shift, job)) = self.fleet_job(rank, interval.step, interval.job) else {
                    return;
                };
                let figures = RankFigures {
                    job,
                    ..RankFigures::from_interval(&interval)
                };
                watcher(self.rank_event(rank, published.state(rank), Some(figures)));
                let step = interval.step as usize;
                let lacks_job = |rank: &u32| !self.shares[*rank as usize].jobs[step].contains(&job);
                let without_job = (0..self.shares.len() as u32).filter(lacks_job);
                for merged in published.intervals.add(rank, shift, job, *interval, left, without_job) {
                    watcher(Event::Interval(Box::new(merged)));
                }
            }
            Event::Notice { mut finding } => {
                finding.at = Some(with_host(finding.at.unwrap_or_default()));
                watcher(Event::Notice { finding });
            }
            Event::Preparing { ref mut target, .. } | Event::Prepared { ref mut target, .. } => {
                *target = with_host(std::mem::take(target));
                watcher(event);
            }
            // All ranks of a job change phase together, so publish the events of the first.
            Event::Phase { step, ref mut job, .. } => {
                if let Some(number) = self.fleet_job_if_chosen(rank, (step, *job), |ranks| ranks.min()) {
                    *job = number;
                    watcher(event);
                }
            }
            Event::JobEnded { step, ref mut job, .. } => {
                if let Some(number) = self.fleet_job_if_chosen(rank, (step, *job), |ranks| ranks.max()) {
                    *job = number;
                    watcher(event);
                }
            }
            _ => {}
        }
    }

    /// The fleet's number of a rank's job. `None` unless `choose` selects this rank from those that
    /// have the job.
    fn fleet_job_if_chosen(
        &self,
        rank: u32,
        (step, job): (u32, u32),
        choose: impl FnOnce(&mut dyn Iterator<Item = u32>) -> Option<u32>,
    ) -> Option<u32> {
        let (_, number) = self.fleet_job(rank, step, job)?;
        let has_job = |rank: &u32| self.shares[*rank as usize].jobs[step as usize].contains(&number);
        let mut ranks = (0..self.shares.len() as u32).filter(has_job);
        (choose(&mut ranks) == Some(rank)).then_some(number)
    }

    /// Position of a rank's job in the fleet's plan. It consists of the index of the rank's first
    /// target and the number of the job.
    fn fleet_job(&self, rank: u32, step: u32, job: u32) -> Option<(u32, u32)> {
        let jobs = self.shares[rank as usize].jobs.get(step as usize)?;
        Some((self.shifts[rank as usize], *jobs.get(job as usize)?))
    }
}
