//! Ends a job with an error if it is too slow (fio `rate_min`, `rate_iops_min`).

use model::Nanos;
use model::event::Interval;
use model::plan::MinimumRate;
use model::results::ControlOutcome;

use super::{Action, figure, tracked_name};

/// The rate is not checked before this time, as in fio.
const RATE_GRACE: Nanos = Nanos::secs(2);

#[derive(Debug)]
pub(crate) struct RateFloor {
    rule: MinimumRate,
    workers: u32,
    /// The sums of rate × length and of lengths over the current cycle.
    sum: f64,
    length: Nanos,
    missed: Option<f64>,
}

impl RateFloor {
    pub(crate) fn new(rule: MinimumRate, workers: u32) -> RateFloor {
        RateFloor {
            rule,
            workers,
            sum: 0.0,
            length: Nanos(0),
            missed: None,
        }
    }

    pub(crate) fn on_interval(&mut self, interval: &Interval) -> Action {
        if interval.start_ns < RATE_GRACE {
            return Action::Continue;
        }
        self.sum += figure(interval, self.rule.metric, self.rule.direction) * interval.length_ns.as_secs();
        self.length += interval.length_ns;
        if self.length < self.rule.cycle_ns {
            return Action::Continue;
        }
        let average = self.sum / self.length.as_secs();
        (self.sum, self.length) = (0.0, Nanos(0));
        let minimum = self.rule.min_per_sec * f64::from(self.workers);
        if average >= minimum {
            return Action::Continue;
        }
        self.missed = Some(average);
        Action::End(format!(
            "{} fell to {average:.0}, below the minimum of {minimum:.0}",
            self.figure_name()
        ))
    }

    fn figure_name(&self) -> String {
        match self.rule.direction {
            None => tracked_name(self.rule.metric).to_owned(),
            Some(direction) => format!("{} of {}s", tracked_name(self.rule.metric), direction.word()),
        }
    }

    pub(crate) fn outcome(&self) -> ControlOutcome {
        let minimum = self.rule.min_per_sec * f64::from(self.workers);
        let detail = match self.missed {
            Some(average) => format!("fell to {average:.0}"),
            None => "kept".into(),
        };
        ControlOutcome {
            rule: format!("at least {minimum:.0} {}", self.figure_name()),
            attained: self.missed.is_none(),
            detail,
            series: self.missed.into_iter().collect(),
            depth: None,
        }
    }
}
